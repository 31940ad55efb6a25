#include "task/adaptive_pools.h"

// ---- cases ----------------------------------------------------------------------------------------
static void quick(kg_cases *b, kg_pool_add add) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
    add(b, F32(2, 3, 32, 32), 2, 16, 16);
    add(b, F32(1, 3, 17, 31), 2, 5, 7);    // uneven, overlapping windows
    add(b, F32(3, 17, 31), 2, 5, 7);       // no batch
    add(b, F32(2, 5, 19, 23), 1, 4, 0);    // a bare int
    add(b, F32(2, 5, 19, 23), 1, 1, 0);    // global
    add(b, F32(1, 2, 3, 5), 2, 7, 9);      // more outputs than inputs
    add(b, F32(2, 3, 11, 13), 2, 11, 13);  // the identity
    add(b, F32(1, 1, 1, 1), 2, 1, 1);
    add(b, F32(0, 3, 8, 8), 2, 4, 4);
    add(b, F32(1, 1, 257, 1023), 2, 2, 3);
    add(b, F32(3, 65, 1), 2, 8, 1);
    add(b, F32(1, 3, 41, 43), 2, 40, 39);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 31), 2, 3), 2, 5, 7);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 4, 9, 4), 1, 3), 2, 3, 2);
    add(b, F32(1, 3, 40, 40), 2, 7, 7)->args[0].fill = KG_OUTLIERS(0.5, 1);
    add(b, F32(1, 2, 5003, 2), 2, 1, 1);
    add(b, F32(1, 2, 2, 5003), 2, 1, 1);
    add(b, F32(1, 1, 4099, 2), 2, 4099, 1);
    add(b, F32(1, 3, 9, 8), 2, 4, 3)->args[0].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, F32(1, 3, 9, 8), 2, 4, 3)->args[0].fill = (kg_fill){KG_FILL_CONST, -INFINITY, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(2, 3, 33, 29)), 2, 6, 5);
}

static void full(kg_cases *b, kg_pool_add add) {
    for (int64_t s = 1; s <= 13; s += 3) add(b, F32(2, 3, 13, 29), 2, s, 14 - s);
    add(b, F32(1, 2, 512, 512), 1, 1, 0);
    add(b, F32(4, 64, 56, 56), 1, 7, 0);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(2, 3, 33, 29), 2), 2, 6, 5);
    add(b, F32(1, 3, 40, 40), 2, 7, 7)->args[0].fill = KG_SPECIALS(0, 1);
    add(b, F32(1, 3, 400, 400), 2, 3, 3)->args[0].fill = KG_NORMAL(1000, 1);
}
#undef F32

int kg_adaptive_cases(kg_cases *b, kg_pool_add add) {
    quick(b, add);
    if (b->level == KG_CASES_FULL) full(b, add);
    return 0;
}

// ---- shapes and means -----------------------------------------------------------------------------
int kg_adaptive_shape(const kg_tensor *in, const kg_arg *output_size, kg_tensor *out) {
    if (in->ndim < 3 || in->ndim > 4 || output_size->n < 1 || output_size->n > 2) return -1;
    int64_t shape[4];
    for (int i = 0; i < in->ndim; i++) shape[i] = in->shape[i];
    for (int k = 0; k < 2; k++) {
        const int axis = in->ndim - 2 + k;
        shape[axis] = output_size->ints[output_size->n == 1 ? 0 : k];
        if (shape[axis] < 0 || in->shape[axis] == 0) return -1;
    }
    *out = kg_tensor_contiguous(in->dtype, in->ndim, shape);
    return 0;
}

// The division, by n or by 1 / n or by each side in turn, rounds up to four times.
kg_term kg_adaptive_mean(const kg_rung *r, const kg_view *in, const kg_tensor *pooled, int64_t index) {
    int64_t at[KG_MAX_NDIM];
    kg_coords(pooled, index, at);
    const int y = pooled->ndim - 2, x = pooled->ndim - 1;
    const kg_span rows = kg_adaptive_span(in->desc.shape[y], pooled->shape[y], at[y]);
    const kg_span columns = kg_adaptive_span(in->desc.shape[x], pooled->shape[x], at[x]);
    kg_sum_t s = {0};
    for (int64_t i = 0; i < rows.n; i++)
        for (int64_t k = 0; k < columns.n; k++) {
            at[y] = rows.from + i, at[x] = columns.from + k;
            kg_sum_add(&s, kg_at_offset(in, kg_offset_at(&in->desc, at)));
        }
    const double n = (double)s.n, mean = kg_sum_value(&s) / n, divided = 4 * fabs(mean);
    return (kg_term){mean, r->half ? 0 : divided, kg_sum_acc(&s) / n + (r->half ? divided : 0)};
}

double kg_adaptive_window(const kg_tensor *in, const kg_tensor *pooled) {
    double n = 1;
    for (int i = pooled->ndim - 2; i < pooled->ndim; i++)
        if (pooled->shape[i] > 0) n *= fmax(1, ceil((double)in->shape[i] / (double)pooled->shape[i]));
    return n;
}
