// Dot products with a running error analysis, eight outputs at a time.
//
// value  sum of a_k b_k in fp64 (compensated where the inputs are fp64).
//
// acc    what accumulating in float32 adds (units of u = 2^-24): 8 sqrt(sum_k (s_k^2 + q_k)) as in sum.c, and what
//        matrix units add. They truncate where they add to the accumulator, once for at least eight products (wgmma and
//        mma of tf32 take K = 8, of half precision 16; that they truncate is measured by Fasi, Higham, Mikaitis,
//        Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021). A truncation errs by half a
//        unit in the last place on average, at most u |s|, always towards zero: so it adds up to u sum |s_k| / 8.
//
// local  what rounding the inputs to the working precision adds (units of its u). Rounding to nearest errs by at most u
//        for each factor, independently: 4 sqrt(q_n) is over six deviations, and 2 max |a b| covers a sum dominated
//        by one term. Truncating inputs, as matrix units do with a float32 that is given to them as tf32, errs by at
//        most u for each factor on average, always towards zero: 2 |value|. Half-precision inputs are exact there and
//        need none of it: a kernel may round the answer once more before it stores it, |value|. Long products it may
//        also split into a few pieces and round each piece's sum before adding them, as cuBLAS does by default
//        (PyTorch's allow_fp16_reduced_precision_reduction and its bf16 twin; seen on an H200 at K = 2048: 0.8 u
//        sqrt(q_n)): 2 sqrt(q_n). Accumulating in half precision errs by about 0.4 n u in the typical output, and is
//        still seen.
#include "oracle/product.h"

#include <string.h>

#define SPLIT_FROM 256  // shorter products no library was seen to split

kg_lanes kg_lanes_start(kg_dtype inputs) {
    return (kg_lanes){.exact = inputs == KG_F64, .half = inputs == KG_F16 || inputs == KG_BF16};
}

// TwoSum (Knuth) and the product's error by FMA: s + lo carries twice the precision.
static void add_exactly(kg_lanes *l, int lane, double a, double b, double p) {
    const double s = l->s[lane], t = s + p, z = t - s;
    const double error = (s - (t - z)) + (p - z) + fma(a, b, -p);
    if (isfinite(error)) l->lo[lane] += error;
    l->s[lane] = t;
}

void kg_lanes_add(kg_lanes *l, const double *a, const double (*b)[KG_LANES], int64_t n) {
    l->n += n;
    for (int64_t k = 0; k < n; k++) {
        double p[KG_LANES], square[KG_LANES];
        for (int i = 0; i < KG_LANES; i++) p[i] = a[k] * b[k][i];
        if (l->exact)
            for (int i = 0; i < KG_LANES; i++) add_exactly(l, i, a[k], b[k][i], p[i]);
        else
            for (int i = 0; i < KG_LANES; i++) l->s[i] += p[i];
        for (int i = 0; i < KG_LANES; i++) {
            square[i] = p[i] * p[i];
            l->q[i] += square[i];
            l->partial[i] += l->s[i] * l->s[i] + l->q[i];
            l->path[i] += fabs(l->s[i]);
        }
        for (int i = 0; i < KG_LANES; i++) l->largest[i] = square[i] > l->largest[i] ? square[i] : l->largest[i];
    }
}

double kg_lanes_value(const kg_lanes *l, int lane) { return l->s[lane] + l->lo[lane]; }

double kg_lanes_local(const kg_lanes *l, int lane) {
    const double value = fabs(kg_lanes_value(l, lane));
    if (l->half) return value + (l->n < SPLIT_FROM ? 0 : 2 * sqrt(l->q[lane]));
    return 4 * sqrt(l->q[lane]) + 2 * sqrt(l->largest[lane]) + 2 * value;
}

double kg_lanes_acc(const kg_lanes *l, int lane) {
    return l->n < 2 ? 0 : 8 * sqrt(l->partial[lane]) + l->path[lane] / 8;
}

// ---- reading --------------------------------------------------------------------------------------
static double from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

// A half's exponent and fraction in a float's place are the value times 2^-112, denormals too.
static double from_half(const uint16_t *h) {
    if ((*h & 0x7c00) == 0x7c00) return kg_load(KG_F16, h, 0);
    const double magnitude = from_bits((uint32_t)(*h & 0x7fff) << 13) * 0x1p112;
    return *h & 0x8000 ? -magnitude : magnitude;
}

void kg_load_line(const kg_view *v, int64_t at, int64_t step, int64_t n, double *to, int64_t to_step) {
    const float *f32 = (const float *)v->data + at;
    const uint16_t *half = (const uint16_t *)v->data + at;
    switch (v->desc.dtype) {
    case KG_F32:
        for (int64_t k = 0; k < n; k++) to[k * to_step] = (double)f32[k * step];
        return;
    case KG_F16:
        for (int64_t k = 0; k < n; k++) to[k * to_step] = from_half(&half[k * step]);
        return;
    case KG_BF16:
        for (int64_t k = 0; k < n; k++) to[k * to_step] = from_bits((uint32_t)half[k * step] << 16);
        return;
    default:
        for (int64_t k = 0; k < n; k++) to[k * to_step] = kg_load(v->desc.dtype, v->data, at + k * step);
    }
}

// ---- matmul ---------------------------------------------------------------------------------------
int kg_matmul_shape(const kg_tensor *a, const kg_tensor *b, kg_tensor *out) {
    if (a->ndim == 0 || b->ndim == 0) return -1;
    if (a->shape[a->ndim - 1] != b->shape[b->ndim > 1 ? b->ndim - 2 : 0]) return -1;
    kg_tensor batch_a = *a, batch_b = *b, batch;
    batch_a.ndim = a->ndim > 2 ? a->ndim - 2 : 0;
    batch_b.ndim = b->ndim > 2 ? b->ndim - 2 : 0;
    if (kg_broadcast(&batch_a, &batch_b, &batch)) return -1;
    if (batch.ndim + 2 > KG_MAX_NDIM) return -1;
    int n = batch.ndim;
    if (a->ndim > 1) batch.shape[n++] = a->shape[a->ndim - 2];
    if (b->ndim > 1) batch.shape[n++] = b->shape[b->ndim - 1];
    *out = kg_tensor_contiguous(a->dtype, n, batch.shape);
    return 0;
}

static int64_t step_of(const kg_tensor *t, int dim) { return t->shape[dim] == 1 ? 0 : t->stride[dim]; }

kg_matmul_at kg_matmul_locate(const kg_tensor *a, const kg_tensor *b, const kg_tensor *out, int64_t logical) {
    kg_matmul_at r = {.k = a->shape[a->ndim - 1], .a_step = a->stride[a->ndim - 1], .columns = 1};
    r.b_step = b->stride[b->ndim > 1 ? b->ndim - 2 : 0];
    int d = out->ndim - 1, da = a->ndim - 2, db = b->ndim - 2;
    if (b->ndim > 1) {
        r.column_step = b->stride[db + 1];
        r.b = logical % out->shape[d] * r.column_step;
        r.columns = out->shape[d] - logical % out->shape[d];
        logical /= out->shape[d--];
    }
    if (a->ndim > 1) {
        r.a = logical % out->shape[d] * a->stride[da];
        logical /= out->shape[d--];
    }
    for (da--, db--; d >= 0; d--, da--, db--) {
        const int64_t x = logical % out->shape[d];
        logical /= out->shape[d];
        if (da >= 0) r.a += x * step_of(a, da);
        if (db >= 0) r.b += x * step_of(b, db);
    }
    return r;
}

// How many of the next references are columns one after the other in one row.
static int run_length(const kg_ref *ref, size_t k, int64_t columns) {
    int n = 1;
    while (n < KG_LANES && n < columns && k + (size_t)n < ref->n && ref->index[k + (size_t)n] == ref->index[k] + n) n++;
    return n;
}

static kg_lanes dot(const kg_view *a, const kg_view *b, const kg_matmul_at *at, int lanes) {
    double row[KG_TILE], tile[KG_TILE][KG_LANES];
    kg_lanes l = kg_lanes_start(a->desc.dtype);
    memset(tile, 0, sizeof tile);
    for (int64_t k = 0; k < at->k; k += KG_TILE) {
        const int64_t n = at->k - k < KG_TILE ? at->k - k : KG_TILE;
        kg_load_line(a, at->a + k * at->a_step, at->a_step, n, row, 1);
        if (at->column_step == 1)
            for (int64_t i = 0; i < n; i++) kg_load_line(b, at->b + (k + i) * at->b_step, 1, lanes, tile[i], 1);
        else
            for (int i = 0; i < lanes; i++)
                kg_load_line(b, at->b + i * at->column_step + k * at->b_step, at->b_step, n, &tile[0][i], KG_LANES);
        kg_lanes_add(&l, row, (const double(*)[KG_LANES])tile, n);
    }
    return l;
}

void kg_matmul_ref(const kg_view *a, const kg_view *b, const kg_tensor *out, kg_ref *ref) {
    for (size_t k = 0; k < ref->n;) {
        const kg_matmul_at at = kg_matmul_locate(&a->desc, &b->desc, out, ref->index[k]);
        const int lanes = run_length(ref, k, at.columns);
        const kg_lanes l = dot(a, b, &at, lanes);
        for (int i = 0; i < lanes; i++, k++) {
            ref->value[k] = kg_lanes_value(&l, i);
            ref->local[k] = kg_lanes_local(&l, i);
            ref->acc[k] = kg_lanes_acc(&l, i);
        }
    }
}

kg_unit kg_product_unit(kg_dtype t) {
    switch (t) {
    case KG_F64: return KG_U_FP64;
    case KG_F16:
    case KG_BF16: return KG_U_FP16;
    default: return KG_U_FP32;
    }
}
