#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "measure/measure.h"

void kg_samples_add(kg_samples *s, double seconds, int batch) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->v = kg_realloc(s->v, s->cap * sizeof *s->v);
        s->batch = kg_realloc(s->batch, s->cap * sizeof *s->batch);
    }
    s->v[s->n] = seconds;
    s->batch[s->n++] = batch;
}

void kg_samples_free(kg_samples *s) {
    free(s->v);
    free(s->batch);
    *s = (kg_samples){0};
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double kg_median(const double *v, size_t n) {
    if (n == 0) return NAN;
    double *sorted = kg_alloc(n * sizeof *sorted);
    memcpy(sorted, v, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    double m = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    free(sorted);
    return m;
}
