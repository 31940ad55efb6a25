// The softmax of a line: what softmax and the cross entropy share.
#include <stdlib.h>

#include "oracle/reduce.h"

enum { PIECE = 1024 };

typedef struct {
    kg_softmax s;
    kg_total total;
    double weighted;
} exponentials;

static void largest_chunk(const double *x, int64_t n, void *ctx) {
    double *largest = ctx;
    for (int64_t k = 0; k < n; k++)
        if (!(x[k] <= *largest) && !isnan(*largest)) *largest = x[k];
}

static void exp_chunk(const double *x, int64_t n, void *ctx) {
    exponentials *e = ctx;
    double term[PIECE];
    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t m = n - first < PIECE ? n - first : PIECE;
        for (int64_t k = 0; k < m; k++) {
            const double d = x[first + k] - e->s.largest;
            term[k] = exp(d);
            if (term[k] > 0) e->weighted -= term[k] * d;
        }
        kg_total_add(&e->total, term, m);
    }
}

kg_softmax kg_softmax_of(const kg_view *v, const kg_groups *g, int64_t line) {
    exponentials e = {.s = {.line = line, .largest = -INFINITY}, .total.exact = v->desc.dtype == KG_F64};
    kg_group_fold(v, g, line, largest_chunk, &e.s.largest);
    kg_group_fold(v, g, line, exp_chunk, &e);
    e.s.sum = kg_total_value(&e.total);
    e.s.sum_acc = kg_total_acc(&e.total);
    e.s.spread = e.weighted / e.s.sum;
    return e.s;
}

int kg_softmax_cache_make(kg_softmax_cache *c, size_t outputs) {
    c->n = outputs > 0 ? (int64_t)outputs : 1;
    c->line = malloc((size_t)c->n * sizeof *c->line);
    for (int64_t i = 0; c->line && i < c->n; i++) c->line[i].line = -1;
    return c->line ? 0 : -1;
}

const kg_softmax *kg_softmax_cached(kg_softmax_cache *c, const kg_view *v, const kg_groups *g, int64_t line) {
    kg_softmax *s = &c->line[line % c->n];
    if (s->line != line) *s = kg_softmax_of(v, g, line);
    return s;
}

void kg_softmax_cache_free(kg_softmax_cache *c) { free(c->line); }

void kg_log_softmax_put(kg_ref *ref, size_t k, bool half, const kg_softmax *s, double x) {
    const double log_sum = log(s->sum), v = (x - s->largest) - log_sum;
    if (isfinite(v))
        kg_ref_put(ref, k, half, v, KG_LAMBDA + 2 * s->spread + 2 * (fabs(x) + fabs(s->largest) + fabs(log_sum)),
                   fabs(v), s->sum_acc / s->sum);
    else kg_ref_put(ref, k, false, v, 0, 0, 0);
}
