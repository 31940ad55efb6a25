// alpha * (A @ B) + beta * C by rows. Error analysis: src/oracle/product.c; what is shared: updates.h.
#include "task/updates.h"

#include <stdlib.h>

#include "base/parallel.h"
#include "oracle/reduce.h"

#define WORTH_THREADS 4e6  // products

kg_view kg_turned(const kg_view *v) {
    kg_view r = *v;
    for (int i = 0; i < 2; i++) {
        r.desc.shape[i] = v->desc.shape[1 - i];
        r.desc.stride[i] = v->desc.stride[1 - i];
    }
    return r;
}

kg_view kg_as_row(const kg_view *v) {
    kg_view r = *v;
    r.desc.ndim = 2;
    r.desc.shape[0] = 1, r.desc.shape[1] = v->desc.shape[0];
    r.desc.stride[0] = v->desc.shape[0], r.desc.stride[1] = v->desc.stride[0];
    return r;
}

int kg_update_row_make(kg_update_row *r, int64_t p) {
    double *space = malloc(4 * (size_t)p * sizeof *space + 1);
    r->index = malloc((size_t)p * sizeof *r->index + 1);
    r->value = space;
    if (!space || !r->index) {
        kg_update_row_free(r);
        return -1;
    }
    r->local = space + p, r->acc = space + 2 * p, r->product = space + 3 * p;
    return 0;
}

void kg_update_row_free(kg_update_row *r) {
    free(r->index);
    free(r->value);
}

typedef struct {
    const kg_update *u;
    int64_t row;
    kg_update_row *r;
    const double *weight;
    double *g;
} job;

static int row_range(size_t first, size_t last, void *ctx) {
    const job *j = ctx;
    const kg_update *u = j->u;
    const kg_tensor out = kg_tensor_contiguous(u->a.desc.dtype, KG_SHAPE(u->a.desc.shape[0], u->b.desc.shape[1]));
    kg_update_row *r = j->r;
    for (size_t k = first; k < last; k++) r->index[k] = j->row * out.shape[1] + (int64_t)k;
    kg_ref part = {0, last - first, r->index + first, r->value + first, r->local + first, r->acc + first};
    const bool half = kg_is_half(out.dtype);
    kg_matmul_ref(&u->a, &u->b, &out, &part);
    for (size_t k = first; k < last; k++) {
        const int64_t at = j->row * u->c.desc.stride[0] + (int64_t)k * u->c.desc.stride[1];
        const double product = u->alpha * r->value[k], addend = u->beta * kg_at_offset(&u->c, at);
        r->product[k] = product;
        r->value[k] = product + addend;
        // Each part may be rounded before they are added: to scale it, and to store it. Not as tf32, which only the
        // product may be.
        const double rounded = 2 * fabs(product) + 2 * fabs(addend);
        r->local[k] = fabs(u->alpha) * r->local[k] + (half ? rounded : 0);
        r->acc[k] = fabs(u->alpha) * r->acc[k] + rounded;
    }
    return 0;
}

static size_t grain(double products, size_t n) { return products > WORTH_THREADS && n > 64 ? 64 : n + 1; }

void kg_update_row_of(const kg_update *u, int64_t row, kg_update_row *r) {
    job j = {.u = u, .row = row, .r = r};
    const size_t p = (size_t)u->b.desc.shape[1];
    kg_parallel(p, grain((double)p * (double)u->b.desc.shape[0], p), row_range, &j);
}

static int weigh_range(size_t first, size_t last, void *ctx) {
    const job *j = ctx;
    const kg_view *b = &j->u->b;
    double x[KG_TILE];
    for (size_t k = first; k < last; k++) {
        double sum = 0;
        for (int64_t c = 0; c < b->desc.shape[1]; c += KG_TILE) {
            const int64_t n = b->desc.shape[1] - c < KG_TILE ? b->desc.shape[1] - c : KG_TILE;
            const int64_t at = (int64_t)k * b->desc.stride[0] + c * b->desc.stride[1];
            kg_load_line(b, at, b->desc.stride[1], n, x, 1);
            for (int64_t i = 0; i < n; i++) sum += x[i] * j->weight[c + i];
        }
        j->g[k] = j->u->alpha * sum;
    }
    return 0;
}

void kg_update_weigh(const kg_update *u, const double *weight, double *g) {
    job j = {.u = u, .weight = weight, .g = g};
    const size_t m = (size_t)u->b.desc.shape[0];
    kg_parallel(m, grain((double)m * (double)u->b.desc.shape[1], m), weigh_range, &j);
}

double kg_update_shared2(const kg_update *u, int64_t row, const double *g) {
    double sum = 0;
    for (int64_t k = 0; k < u->a.desc.shape[1]; k++) {
        const double e = kg_at_offset(&u->a, row * u->a.desc.stride[0] + k * u->a.desc.stride[1]) * g[k];
        sum += e * e;
    }
    return sum;
}

void kg_update_put(kg_ref *ref, size_t k, bool half, const kg_sum_t *sum, double shared2, double product, double acc2) {
    ref->value[k] = kg_sum_value(sum);
    ref->local[k] = kg_sum_local(sum) + (half ? 0 : 4 * sqrt(shared2) + 2 * fabs(product));
    ref->acc[k] = kg_sum_acc(sum) + 2 * sqrt(acc2);
}
