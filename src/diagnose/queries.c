// Queries, compiled once. What a repair looks for it looks for again in every variant of every source.
#include <stdlib.h>
#include <string.h>

#include "diagnose/internal.h"

// Some texts hold a name of the source, of which there is no end: then all go, and those still in use come again.
#define MOST 1024

typedef struct {
    kg_grammar grammar;
    char *text;
    kg_query *query;  // NULL: it is none
} compiled;

struct kg_queries {
    compiled *items;
    size_t n;
};

kg_queries *kg_queries_open(void) { return kg_alloc(sizeof(kg_queries)); }

static void forget(kg_queries *q) {
    for (size_t i = 0; i < q->n; i++) {
        free(q->items[i].text);
        kg_query_free(q->items[i].query);
    }
    q->n = 0;
}

void kg_queries_close(kg_queries *q) {
    if (!q) return;
    forget(q);
    free(q->items);
    free(q);
}

const kg_query *kg_queries_get(kg_queries *q, kg_grammar g, const char *text) {
    for (size_t i = 0; i < q->n; i++)
        if (q->items[i].grammar == g && !strcmp(q->items[i].text, text)) return q->items[i].query;
    if (q->n == MOST) forget(q);
    kg_error err = {0};
    q->items = kg_realloc(q->items, (q->n + 1) * sizeof *q->items);
    q->items[q->n] = (compiled){g, kg_strdup(text), kg_query_compile(g, text, &err)};
    kg_error_clear(&err);
    return q->items[q->n++].query;
}
