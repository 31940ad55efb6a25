// Edits of a source.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

static void add(kg_edits *e, size_t from, size_t to, char *text) {
    e->items = kg_realloc(e->items, (e->n + 1) * sizeof *e->items);
    e->items[e->n] = (kg_edit){from, to, text, e->n};
    e->n++;
}

static char *formatted(const char *fmt, va_list ap) {
    kg_text t = {0};
    kg_text_add(&t, "%s", "");
    kg_text_addv(&t, fmt, ap);
    return t.data;
}

void kg_edit_replace(kg_edits *e, size_t from, size_t to, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(e, from, to, formatted(fmt, ap));
    va_end(ap);
}

void kg_edit_node(kg_edits *e, TSNode n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(e, ts_node_start_byte(n), ts_node_end_byte(n), formatted(fmt, ap));
    va_end(ap);
}

void kg_edit_argument(kg_edits *e, TSNode arguments, const char *fmt, ...) {
    uint32_t n = kg_children(arguments);
    while (n && kg_node_is(kg_child(arguments, n - 1), "comment")) n--;
    const size_t at = n ? ts_node_end_byte(kg_child(arguments, n - 1)) : ts_node_start_byte(arguments) + 1;
    va_list ap;
    va_start(ap, fmt);
    char *text = formatted(fmt, ap);
    va_end(ap);
    add(e, at, at, kg_format("%s%s", n ? ", " : "", text));
    free(text);
}

void kg_edits_free(kg_edits *e) {
    for (size_t i = 0; i < e->n; i++) free(e->items[i].text);
    free(e->items);
    *e = (kg_edits){0};
}

void kg_edits_take(kg_edits *e, kg_edits *from) {
    for (size_t i = 0; i < from->n; i++) add(e, from->items[i].from, from->items[i].to, from->items[i].text);
    from->n = 0;
}

static int by_place(const void *a, const void *b) {
    const kg_edit *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

char *kg_edits_apply(kg_edits *e, const char *source, size_t len) {
    kg_text t = {0};
    size_t at = 0;
    kg_text_add(&t, "%s", "");
    if (e->n) qsort(e->items, e->n, sizeof *e->items, by_place);
    for (size_t i = 0; i < e->n; i++) {
        if (e->items[i].from < at || e->items[i].to > len) {
            kg_text_free(&t);
            return NULL;
        }
        kg_text_add_bytes(&t, source + at, e->items[i].from - at);
        kg_text_add(&t, "%s", e->items[i].text);
        at = e->items[i].to;
    }
    kg_text_add_bytes(&t, source + at, len - at);
    return t.data;
}

int kg_not_repaired(char **why, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *said = formatted(fmt, ap);
    va_end(ap);
    free(*why);
    *why = said;
    return -1;
}

char *kg_rewritten(const kg_syntax *s, kg_edits *inner, size_t from, size_t to) {
    for (size_t i = 0; i < inner->n; i++) {
        if (inner->items[i].from < from) return NULL;
        inner->items[i].from -= from;
        inner->items[i].to -= from;
    }
    return kg_edits_apply(inner, s->text + from, to - from);
}

int kg_repaired(bool made, char **why, const char *otherwise) {
    if (!made) return *why ? -1 : kg_not_repaired(why, "%s", otherwise);
    free(*why);
    *why = NULL;
    return 0;
}

void kg_keep_first(char **why, char *also) {
    if (also && !*why) *why = also;
    else free(also);
}

void kg_add_deeper(kg_text *out, const char *text, int deeper) {
    for (const char *p = text; *p; p++) {
        kg_text_add(out, "%c", *p);
        if (*p == '\n' && p[1] != '\n') kg_text_add(out, "%*s", deeper, "");
    }
}
