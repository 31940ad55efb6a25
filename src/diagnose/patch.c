// What differs between two texts, as `diff -u` writes it: by a longest common subsequence of their lines.
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"

#define CONTEXT 3

typedef struct {
    const char **at;
    size_t *len;  // with the line's end
    size_t n;
} lines;

static lines split(const char *text) {
    lines l = {.at = kg_alloc(sizeof *l.at), .len = kg_alloc(sizeof *l.len)};
    while (*text) {
        const size_t n = strcspn(text, "\n"), with_end = n + (text[n] == '\n');
        l.at = kg_realloc(l.at, (l.n + 1) * sizeof *l.at);
        l.len = kg_realloc(l.len, (l.n + 1) * sizeof *l.len);
        l.at[l.n] = text;
        l.len[l.n++] = with_end;
        text += with_end;
    }
    return l;
}

static bool same(const lines *a, size_t i, const lines *b, size_t k) {
    return a->len[i] == b->len[k] && memcmp(a->at[i], b->at[k], a->len[i]) == 0;
}

// '=' both, '-' of a, '+' of b; in order. Owned by the caller.
static char *script_of(const lines *a, const lines *b) {
    const size_t w = b->n + 1;
    uint32_t *best = kg_alloc((a->n + 1) * w * sizeof *best);
    for (size_t i = a->n; i-- > 0;)
        for (size_t k = b->n; k-- > 0;) {
            const uint32_t down = best[(i + 1) * w + k], right = best[i * w + k + 1];
            best[i * w + k] = same(a, i, b, k) ? best[(i + 1) * w + k + 1] + 1 : down > right ? down : right;
        }
    kg_text t = {0};
    kg_text_add(&t, "%s", "");
    for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
        if (i < a->n && k < b->n && same(a, i, b, k)) kg_text_add(&t, "="), i++, k++;
        else if (k == b->n || (i < a->n && best[(i + 1) * w + k] >= best[i * w + k + 1])) kg_text_add(&t, "-"), i++;
        else kg_text_add(&t, "+"), k++;
    }
    free(best);
    return t.data;
}

static void add_line(kg_text *t, char sign, const char *line, size_t len) {
    kg_text_add(t, "%c%.*s", sign, (int)len, line);
    if (!len || line[len - 1] != '\n') kg_text_add(t, "\n\\ No newline at end of file\n");
}

// Steps [from, to) of the script; i and k: the lines of either side where it begins.
static void add_hunk(kg_text *t, const lines *a, const lines *b, const char *script, size_t from, size_t to, size_t i,
                     size_t k) {
    size_t n = 0, m = 0;
    for (size_t s = from; s < to; s++) n += script[s] != '+', m += script[s] != '-';
    kg_text_add(t, "@@ -%zu,%zu +%zu,%zu @@\n", n ? i + 1 : i, n, m ? k + 1 : k, m);
    for (size_t s = from; s < to; s++) {
        if (script[s] == '+') add_line(t, '+', b->at[k], b->len[k]), k++;
        else {
            add_line(t, script[s] == '=' ? ' ' : '-', a->at[i], a->len[i]), i++;
            k += script[s] == '=';
        }
    }
}

static void add_hunks(kg_text *t, const lines *a, const lines *b, const char *script) {
    const size_t n = strlen(script);
    for (size_t s = 0, i = 0, k = 0; s < n;) {
        if (script[s] == '=') {
            s++, i++, k++;
            continue;
        }
        const size_t before = i < CONTEXT ? i : CONTEXT;
        size_t to = s, quiet = 0;
        for (size_t e = s; e < n && quiet <= 2 * CONTEXT; e++) {
            quiet = script[e] == '=' ? quiet + 1 : 0;
            if (!quiet) to = e + 1;
        }
        const size_t end = to + CONTEXT < n ? to + CONTEXT : n;
        add_hunk(t, a, b, script, s - before, end, i - before, k - before);
        for (; s < end; s++) i += script[s] != '+', k += script[s] != '-';
    }
}

char *kg_unified_diff(const char *name, const char *before, const char *after) {
    lines a = split(before), b = split(after);
    kg_text t = {0};
    kg_text_add(&t, "%s", "");
    if (strcmp(before, after) != 0) {
        char *script = script_of(&a, &b);
        kg_text_add(&t, "--- %s\n+++ %s\n", name, name);
        add_hunks(&t, &a, &b, script);
        free(script);
    }
    free(a.at), free(a.len), free(b.at), free(b.len);
    return t.data;
}
