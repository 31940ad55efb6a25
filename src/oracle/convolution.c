// Products of C / groups * R * S terms, the zeros outside the image among them.
#include "oracle/convolution.h"

#include <string.h>

#include "base/parallel.h"

typedef struct {
    const kg_conv *c;
    int64_t channels, rows, cols;  // of a filter: C / groups, R, S
    int64_t height, width;
    int64_t x_step[4], w_step[4];
} conv;

// Outputs (n, o, p, q) .. (n, o, p, q + lanes - 1).
typedef struct {
    int64_t n, o, p, q, group;
    int lanes;
} place;

static conv steps_of(const kg_conv *c) {
    const kg_tensor *x = &c->x.desc, *w = &c->w.desc;
    const int batch = x->ndim - 3;
    conv v = {.c = c, .channels = w->shape[1], .rows = w->shape[2], .cols = w->shape[3]};
    v.height = x->shape[batch + 1], v.width = x->shape[batch + 2];
    for (int k = 0; k < 4; k++) {
        v.w_step[k] = w->stride[k];
        v.x_step[k] = k == 0 && !batch ? 0 : x->stride[k - 1 + batch];
    }
    return v;
}

static place locate(const kg_conv *c, const kg_ref *ref, size_t k) {
    const int batch = c->out.ndim - 3;
    const int64_t width = c->out.shape[batch + 2], height = c->out.shape[batch + 1], filters = c->out.shape[batch];
    int64_t rest = ref->index[k];
    place at = {.lanes = 1};
    at.q = rest % width, rest /= width;
    at.p = rest % height, rest /= height;
    at.o = rest % filters, at.n = rest / filters;
    at.group = at.o / (filters / c->groups);
    while (at.lanes < KG_LANES && at.q + at.lanes < width && k + (size_t)at.lanes < ref->n &&
           ref->index[k + (size_t)at.lanes] == ref->index[k] + at.lanes)
        at.lanes++;
    return at;
}

// Term (channel, r, s) of the outputs at a place: the weight, and the input that meets it in each lane.
static double term(const conv *v, const place *at, int64_t channel, int64_t r, int64_t s, double *x) {
    const kg_conv *c = v->c;
    const int64_t y = at->p * c->stride[0] - c->padding[0] + r * c->dilation[0];
    const int64_t left = at->q * c->stride[1] - c->padding[1] + s * c->dilation[1];
    const int64_t line = at->n * v->x_step[0] + (at->group * v->channels + channel) * v->x_step[1] + y * v->x_step[2];
    for (int i = 0; i < at->lanes; i++) {
        const int64_t z = left + i * c->stride[1];
        const bool inside = y >= 0 && y < v->height && z >= 0 && z < v->width;
        x[i] = inside ? kg_at_offset(&c->x, line + z * v->x_step[3]) : 0;
    }
    return kg_at_offset(&c->w, at->o * v->w_step[0] + channel * v->w_step[1] + r * v->w_step[2] + s * v->w_step[3]);
}

static kg_lanes convolve(const conv *v, const place *at) {
    double w[KG_TILE], x[KG_TILE][KG_LANES];
    memset(x, 0, sizeof x);
    kg_lanes l = kg_lanes_start(v->c->x.desc.dtype);
    int64_t n = 0;
    for (int64_t channel = 0; channel < v->channels; channel++)
        for (int64_t r = 0; r < v->rows; r++)
            for (int64_t s = 0; s < v->cols; s++) {
                w[n] = term(v, at, channel, r, s, x[n]);
                if (++n < KG_TILE) continue;
                kg_lanes_add(&l, w, (const double(*)[KG_LANES])x, n);
                n = 0;
            }
    kg_lanes_add(&l, w, (const double(*)[KG_LANES])x, n);
    return l;
}

double kg_conv_terms(const kg_tensor *weight) {
    return (double)(weight->shape[1] * weight->shape[2] * weight->shape[3]);
}

void kg_conv_ref(const kg_conv *c, kg_ref *ref) {
    const conv v = steps_of(c);
    for (size_t k = 0; k < ref->n;) {
        const place at = locate(c, ref, k);
        const kg_lanes l = convolve(&v, &at);
        const double added = c->bias.data ? kg_at(&c->bias, at.o) : 0;
        for (int i = 0; i < at.lanes; i++, k++) {
            const double product = kg_lanes_value(&l, i);
            ref->value[k] = product + added;
            ref->local[k] = kg_lanes_local(&l, i) + fabs(added);
            ref->acc[k] = kg_lanes_acc(&l, i) + fabs(product) + kg_start_acc(added, l.n);
        }
    }
}

typedef struct {
    const kg_conv *c;
    const kg_ref *ref;
} whole;

static int piece(size_t first, size_t last, void *ctx) {
    const whole *w = ctx;
    const kg_ref *r = w->ref;
    kg_ref part = {r->out, last - first, r->index + first, r->value + first, r->local + first, r->acc + first};
    kg_conv_ref(w->c, &part);
    return 0;
}

int kg_conv_part(kg_ref *ref, void *ctx) {
    const kg_conv *c = ctx;
    whole w = {c, ref};
    const bool large = (double)ref->n * kg_conv_terms(&c->w.desc) > 1e8;
    return kg_parallel(ref->n, large ? 4096 : ref->n + 1, piece, &w);
}
