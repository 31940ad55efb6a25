// Lists of candidates, one JSON object a line, read one line at a time.
//
//     {"file": "softmax.py", "predict": "import triton..."}                       KernelBench-X
//     {"task": "softmax", "code": "...", "method": "...", "round": 2}
//
// "language" may name the language where the code does not show it.
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "candidate/internal.h"

struct kg_lines {
    FILE *f;
    char *name;
    size_t number, only;
    bool given, done;
};

typedef enum { LINE_END, LINE_TEXT, LINE_TOO_LONG, LINE_UNREADABLE } line_kind;

kg_lines *kg_lines_open(FILE *f, const char *name, size_t only) {
    kg_lines *l = kg_alloc(sizeof *l);
    l->f = f;
    l->name = kg_utf8(name, strlen(name));
    l->only = only;
    return l;
}

void kg_lines_close(kg_lines *l) {
    if (!l) return;
    if (l->f != stdin) fclose(l->f);
    free(l->name);
    free(l);
}

// One line without its newline. A line above the limit is read to its end and kept no further.
static line_kind read_line(FILE *f, kg_text *t) {
    size_t n = 0;
    int c;
    char chunk[4096];
    size_t have = 0;
    bool too_long = false;
    while ((c = getc_unlocked(f)) != EOF && c != '\n') {
        n++;
        if (too_long) continue;
        chunk[have++] = (char)c;
        if (have == sizeof chunk) {
            too_long = t->len + have > KG_SOURCE_LIMIT;
            if (!too_long) kg_text_add_bytes(t, chunk, have);
            have = 0;
        }
    }
    if (too_long) return LINE_TOO_LONG;
    kg_text_add_bytes(t, chunk, have);
    if (c == EOF && ferror(f)) return LINE_UNREADABLE;
    return c == EOF && !n ? LINE_END : LINE_TEXT;
}

static bool is_blank(const kg_text *t) {
    for (size_t i = 0; i < t->len; i++)
        if (!strchr(" \t\r", t->data[i]) || !t->data[i]) return false;
    return true;
}

static void skip_bom(kg_text *t) {
    if (t->len < 3 || memcmp(t->data, "\xEF\xBB\xBF", 3) != 0) return;
    memmove(t->data, t->data + 3, t->len - 2);
    t->len -= 3;
}

static char *text_of(const json_t *v) {
    if (json_is_string(v)) return kg_utf8(json_string_value(v), json_string_length(v));
    if (json_is_integer(v)) return kg_format("%lld", (long long)json_integer_value(v));
    return NULL;
}

static void from_object(const json_t *o, const char *task, kg_language language, kg_candidate *c) {
    const json_t *code = json_object_get(o, "code");
    if (!code) code = json_object_get(o, "predict");
    c->task = text_of(json_object_get(o, "task"));
    c->method = text_of(json_object_get(o, "method"));
    c->round = text_of(json_object_get(o, "round"));
    const char *file = json_string_value(json_object_get(o, "file"));
    const char *lang = json_string_value(json_object_get(o, "language"));
    if (!json_is_string(code)) {
        if (task) {
            free(c->task);
            c->task = kg_utf8(task, strlen(task));
        } else if (!c->task && file) c->task = kg_stem(file);
        kg_fail(&c->problem, KG_ERR_CANDIDATE, "%s: no \"code\" or \"predict\" with the source as a string", c->path);
        return;
    }
    c->source_len = json_string_length(code);
    c->source = kg_alloc(c->source_len + 1);
    memcpy(c->source, json_string_value(code), c->source_len);
    if (language == KG_LANG_UNKNOWN && lang) language = kg_language_parse(lang);
    kg_candidate_finish(c, task, language, file);
}

static void malformed(kg_candidate *c, char *why) {
    c->malformed = true;
    kg_fail(&c->problem, KG_ERR_CANDIDATE, "%s: %s", c->path, why);
    free(why);
}

static void from_line(const kg_text *t, const char *task, kg_language language, kg_candidate *c) {
    json_error_t e;
    json_t *o = json_loadb(t->data, t->len, JSON_ALLOW_NUL, &e);
    if (json_is_object(o)) from_object(o, task, language, c);
    else if (o) malformed(c, kg_strdup("not a JSON object, as a line of a list must be"));
    else malformed(c, kg_format("bad JSON at column %d: %s", e.column, e.text));
    json_decref(o);
}

static bool wanted(const kg_lines *l) { return !l->only || l->number == l->only; }

static bool skipped(const kg_lines *l, line_kind k, const kg_text *t) {
    return !wanted(l) || (k == LINE_TEXT && is_blank(t));
}

static int at_end(kg_lines *l, kg_candidate *c) {
    l->done = true;
    if (l->given) return 0;
    c->path = l->only ? kg_format("%s:%zu", l->name, l->only) : kg_strdup(l->name);
    kg_fail(
        &c->problem, KG_ERR_USAGE, "%s: %s", c->path,
        l->only ? "the list has no candidate on that line" : "an empty list: a candidate is one JSON object a line");
    return 1;
}

static int from_text(kg_lines *l, line_kind k, const kg_text *t, const char *task, kg_language language,
                     kg_candidate *c) {
    l->given = true;
    l->done = l->only || k == LINE_UNREADABLE;
    c->path = kg_format("%s:%zu", l->name, l->number);
    c->listed = !l->only;
    if (k == LINE_TOO_LONG) malformed(c, kg_strdup("a line above 64 MiB: no kernel is"));
    else if (k == LINE_UNREADABLE) kg_fail(&c->problem, KG_ERR_CANNOT, "%s: %s", c->path, strerror(errno));
    else from_line(t, task, language, c);
    return 1;
}

int kg_lines_next(kg_lines *l, const char *task, kg_language language, kg_candidate *c) {
    memset(c, 0, sizeof *c);
    int found = -1;
    while (!l->done && found < 0) {
        kg_text t = {0};
        line_kind k = read_line(l->f, &t);
        l->number += k != LINE_END;
        if (l->number == 1) skip_bom(&t);
        if (k == LINE_END) found = at_end(l, c);
        else if (!skipped(l, k, &t)) found = from_text(l, k, &t, task, language, c);
        kg_text_free(&t);
    }
    return found > 0;
}
