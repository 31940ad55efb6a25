#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static void *or_end(void *p, size_t bytes) {
    if (p) return p;
    fprintf(stderr, "kgate: out of memory for %zu bytes: free some and run again\n", bytes);
    exit(KG_ERR_CANNOT);
}

void *kg_alloc(size_t bytes) { return or_end(calloc(1, bytes ? bytes : 1), bytes); }

void *kg_realloc(void *p, size_t bytes) { return or_end(realloc(p, bytes ? bytes : 1), bytes); }

char *kg_strdup(const char *s) {
    const size_t n = strlen(s) + 1;
    return memcpy(kg_alloc(n), s, n);
}
