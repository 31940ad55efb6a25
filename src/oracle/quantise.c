#include "oracle/quantise.h"

#include <stdlib.h>
#include <string.h>

const kg_grid kg_int8_grids[KG_GRIDS] = {{.levels = 127, .low = -127, .high = 127},
                                         {.levels = 127.5, .low = -128, .high = 127},
                                         {.levels = 128, .low = -128, .high = 127},
                                         {.levels = 128, .low = -127, .high = 127}};
const kg_grid kg_int4_grids[KG_GRIDS] = {{.levels = 7, .low = -7, .high = 7},
                                         {.levels = 7.5, .low = -8, .high = 7},
                                         {.levels = 8, .low = -8, .high = 7},
                                         {.levels = 8, .low = -7, .high = 7}};

#define QUOTIENT_ERROR (8 * 0x1p-24)
#define KEEPS_FROM_0   1e-8

// ---- largest values -----------------------------------------------------------------------------------
double kg_largest(const double *x, int64_t n) {
    double largest = 0;
    for (int64_t k = 0; k < n; k++) largest = fabs(x[k]) > largest ? fabs(x[k]) : largest;
    return largest;
}

static void largest_chunk(const double *x, int64_t n, void *ctx) {
    double *largest = ctx;
    *largest = fmax(*largest, kg_largest(x, n));
}

int kg_maxima_of(kg_maxima *m, const kg_view *v, int mask) {
    const kg_groups g = kg_groups_of(&v->desc, mask);
    *m = (kg_maxima){.n = g.lines, .each = calloc((size_t)g.lines + 1, sizeof *m->each)};
    if (!m->each) return -1;
    for (int64_t i = 0; i < g.lines; i++) {
        kg_group_each(v, &g, i, largest_chunk, &m->each[i]);
        m->all = fmax(m->all, m->each[i]);
    }
    return 0;
}

void kg_maxima_free(kg_maxima *m) {
    free(m->each);
    m->each = NULL;
}

// ---- a line of integers -------------------------------------------------------------------------------
int kg_quants_make(kg_quants *q, int64_t n) {
    const size_t size = (size_t)n + 1;
    *q = (kg_quants){.open = malloc(size * (sizeof *q->open + sizeof *q->q + sizeof *q->off))};
    if (!q->open) return -1;
    q->q = (int16_t *)(q->open + size);
    q->off = (uint8_t *)(q->q + size);
    return 0;
}

void kg_quants_free(kg_quants *q) {
    free(q->open);
    q->open = NULL;
}

static double half(double x) {
    uint16_t h;
    kg_store(KG_F16, &h, 0, x);
    return kg_load(KG_F16, &h, 0);
}

static void take_scale(kg_quants *q, double largest, double largest_error, const kg_grid *grid) {
    const double scale = largest / grid->levels;
    q->scale = grid->half_scale ? half(scale) : scale;
    q->scale_error = 0;
    if (!(q->scale > 0)) return;
    // Near the middle of two halves an honest quotient may round to either.
    const double error = QUOTIENT_ERROR + largest_error;
    const double least = half(scale * (1 - error)), most = half(scale * (1 + error));
    q->scale_error = KEEPS_FROM_0 / q->scale;
    q->scale_error += grid->half_scale ? fmax(most - q->scale, q->scale - least) / q->scale : largest_error;
}

// The integer of r, and what it may be off when r is anything between r - error and r + error.
static int integer(double r, double error, const kg_grid *g, uint8_t *off) {
    const double to_tie = fabs(r - floor(r) - 0.5);
    double least = r - error, most = r + error;
    // Rounding |r| <= 8 to half precision moves it by 2^-9 at most.
    if (g->half_quotient && to_tie - error < 0x1p-7) least = half(least), r = half(r), most = half(most);
    const double here = fmin(fmax(rint(r), g->low), g->high);
    least = fmin(fmax(ceil(least - 0.5), g->low), g->high);
    most = fmin(fmax(floor(most + 0.5), g->low), g->high);
    *off = (uint8_t)fmin(255, fmax(most - here, here - least));
    return (int)here;
}

void kg_quantise(kg_quants *q, const double *x, const double *error, int64_t n, double largest, double largest_error,
                 const kg_grid *grid) {
    take_scale(q, largest, largest_error, grid);
    q->n_open = 0;
    // A scale that is e smaller makes the quotient 1 / (1 - e) times as large.
    const double e = fmin(q->scale_error, 0.9), relative = QUOTIENT_ERROR + e / (1 - e);
    const double per_unit = q->scale > 0 ? 1 / ((1 - e) * q->scale) : 0;
    for (int64_t k = 0; k < n; k++) {
        const double r = q->scale > 0 ? x[k] / q->scale : 0;
        q->q[k] = (int16_t)integer(r, relative * fabs(r) + (error ? error[k] * per_unit : 0), grid, &q->off[k]);
        if (q->off[k]) q->open[q->n_open++] = (int32_t)k;
    }
}

kg_quant_sum kg_quant_dot(const kg_quants *a, const kg_quants *b, int64_t n) {
    int64_t sum = 0, slack = 0;
    for (int64_t k = 0; k < n; k += 65536) {  // products of int8 fit 32 bits that often
        const int64_t end = n - k < 65536 ? n : k + 65536;
        int32_t part = 0;
        for (int64_t i = k; i < end; i++) part += a->q[i] * b->q[i];
        sum += part;
    }
    for (int64_t i = 0; i < a->n_open; i++) slack += a->off[a->open[i]] * (abs(b->q[a->open[i]]) + b->off[a->open[i]]);
    for (int64_t i = 0; i < b->n_open; i++) slack += b->off[b->open[i]] * abs(a->q[b->open[i]]);
    return (kg_quant_sum){(double)sum, (double)slack};
}

static kg_quant_value in_any_precision(const kg_sum_t *s, double unit) {
    return (kg_quant_value){unit * kg_sum_value(s), unit * KG_ANY_PRECISION * kg_sum_local(s),
                            unit * 0x1p-24 * kg_sum_acc(s)};
}

kg_quant_value kg_plain_product(const double *a, const double *b, int64_t n) {
    kg_sum_t s = {0};
    for (int64_t k = 0; k < n; k++) kg_dot_add(&s, a[k], b[k]);
    return in_any_precision(&s, 1);
}

kg_quant_value kg_float_product(const kg_quants *a, const kg_quants *b, int64_t n) {
    kg_sum_t s = {0};
    for (int64_t k = 0; k < n; k++) kg_dot_add(&s, a->q[k], b->q[k]);
    kg_quant_value v = in_any_precision(&s, a->scale * b->scale);
    v.slack += kg_dequantise(a, b, kg_quant_dot(a, b, n)).slack;
    return v;
}
