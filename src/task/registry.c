// The tasks that were compiled in, by name.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "task/task.h"

#define KG_TASK(symbol) extern const kg_task symbol;
#include "tasks.inc"
#undef KG_TASK
#define KG_TASK(symbol) &symbol,
static const kg_task *const all[] = {
#include "tasks.inc"
    NULL};
#undef KG_TASK

size_t kg_task_count(void) { return sizeof all / sizeof *all - 1; }

static int by_suite_then_name(const kg_task *a, const kg_task *b) {
    const int suite = strcmp(a->suite, b->suite);
    if (suite) return suite;
    const int folded = strcasecmp(a->name, b->name);
    return folded ? folded : strcmp(a->name, b->name);
}

// The list is in the order of the files; a task's place is the number of tasks before it. Nothing to keep sorted.
const kg_task *kg_task_at(size_t i) {
    for (const kg_task *const *t = all; *t; t++) {
        size_t before = 0;
        for (const kg_task *const *o = all; *o; o++) before += by_suite_then_name(*o, *t) < 0;
        if (before == i) return *t;
    }
    return NULL;
}

static const kg_task *find_with(const char *name, int (*same)(const char *, const char *)) {
    const char *slash = strchr(name, '/');
    const kg_task *found = NULL;
    for (const kg_task *const *t = all; *t; t++) {
        if (slash) {
            const size_t n = (size_t)(slash - name);
            if (strlen((*t)->suite) != n || strncmp((*t)->suite, name, n) != 0) continue;
        }
        if (same(slash ? slash + 1 : name, (*t)->name) != 0) continue;
        // A bare name that two suites share means the first suite's, kbx.
        if (!found || strcmp((*t)->suite, "kbx") == 0) found = *t;
    }
    return found;
}

// gap22_relu, as a file may be named, is gap22/relu.
static const kg_task *find_with_prefix(const char *name) {
    for (const kg_task *const *t = all; *t; t++) {
        const size_t n = strlen((*t)->suite);
        if (strncasecmp(name, (*t)->suite, n) == 0 && name[n] == '_' && strcasecmp(name + n + 1, (*t)->name) == 0)
            return *t;
    }
    return NULL;
}

const kg_task *kg_task_find(const char *name) {
    const kg_task *t = find_with(name, strcmp);
    if (!t) t = find_with(name, strcasecmp);
    return t ? t : find_with_prefix(name);
}

char *kg_task_label(const kg_task *t) {
    return kg_task_find(t->name) == t ? kg_strdup(t->name) : kg_format("%s/%s", t->suite, t->name);
}

// ---- near names ---------------------------------------------------------------------------------------
// Levenshtein distance with one row, letters compared without case.
static size_t distance(const char *a, const char *b) {
    const size_t n = strlen(b);
    size_t *row = kg_alloc((n + 1) * sizeof *row);
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const size_t above = row[j + 1];
            size_t best = diagonal + (strncasecmp(&a[i], &b[j], 1) != 0);
            if (above + 1 < best) best = above + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            row[j + 1] = best;
            diagonal = above;
        }
    }
    const size_t d = row[n];
    free(row);
    return d;
}

char *kg_task_suggest(const char *name) {
    enum { MOST = 3 };
    const kg_task *near[MOST] = {0};
    size_t score[MOST], n = 0;
    const size_t length = strlen(name);
    if (length > 200) return NULL;
    const size_t limit = length / 3 < 2 ? 2 : length / 3;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        const size_t edits = distance(name, t->name);
        if (edits > limit || edits >= length) continue;
        // The task that the bare name means comes before its namesake in another suite.
        const size_t d = 2 * edits + (kg_task_find(t->name) != t);
        size_t at = n;
        while (at > 0 && score[at - 1] > d) at--;
        if (at == MOST) continue;
        if (n < MOST) n++;
        for (size_t k = n - 1; k > at; k--) near[k] = near[k - 1], score[k] = score[k - 1];
        near[at] = t;
        score[at] = d;
    }
    if (n == 0) return NULL;
    kg_text out = {0};
    kg_text_add(&out, "did you mean ");
    for (size_t k = 0; k < n; k++) {
        char *label = kg_task_label(near[k]);
        kg_text_add(&out, "%s%s", k == 0 ? "" : k + 1 == n ? " or " : ", ", label);
        free(label);
    }
    kg_text_add(&out, "?");
    return out.data;
}
