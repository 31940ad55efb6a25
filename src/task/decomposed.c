#include "task/decomposed.h"

#include "oracle/product.h"

kg_case *kg_decomposed_case(kg_cases *b, kg_tensor a, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, b->task->params[0].name, a, fill);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static void plain(kg_cases *b, kg_tensor a) { kg_decomposed_case(b, a, KG_NORMAL(0, 1)); }

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_C64, KG_F64, KG_C128};
    plain(b, F32(5, 5));
    plain(b, F32(1, 1));
    plain(b, F32(2, 2));
    plain(b, F32(1, 9));
    plain(b, F32(9, 1));
    plain(b, F32(33, 65));
    plain(b, F32(65, 33));
    plain(b, F32(64, 64));
    plain(b, F32(0, 5));
    plain(b, F32(5, 0));
    plain(b, F32(3, 4, 5));
    plain(b, F32(2, 3, 6, 4));
    plain(b, F32(11, 3, 2));
    plain(b, F32(0, 3, 3));
    plain(b, kg_tensor_transposed(KG_F32, KG_SHAPE(19, 14), 0, 1));
    plain(b, kg_tensor_transposed(KG_F32, KG_SHAPE(4, 9, 3), 0, 2));
    plain(b, kg_tensor_stepped(KG_F32, KG_SHAPE(11, 16), 2));
    plain(b, kg_tensor_expanded(KG_F32, KG_SHAPE(3, 6, 6), 0));
    kg_decomposed_case(b, OF(KG_F64, 9, 6), KG_WIDE_INTEGERS);
    kg_decomposed_case(b, F32(40, 10), KG_NEARLY_DEPENDENT);
    kg_decomposed_case(b, F32(10, 40), KG_NEARLY_DEPENDENT);
    kg_decomposed_case(b, F32(24, 24), KG_OUTLIERS(0, 1));
    kg_decomposed_case(b, F32(20, 16), KG_LOGSCALE(-15, 15));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const kg_dtype t = others[i];
        plain(b, OF(t, 17, 13));
        plain(b, OF(t, 13, 17));
        plain(b, OF(t, 2, 8, 8));
        if (t == KG_C64) plain(b, OF(t, 1, 1));
        kg_decomposed_case(b, OF(t, 40, 10), KG_NEARLY_DEPENDENT);
        if (t == KG_C64) plain(b, kg_tensor_transposed(t, KG_SHAPE(7, 12), 0, 1));
    }
}

static void full(kg_cases *b) {
    plain(b, F32(128, 96));
    plain(b, F32(100, 128));
    plain(b, F32(190, 170));  // looked at by Freivalds' method, as the timed ones
    plain(b, F32(31, 257));
    plain(b, F32(257, 31));
    plain(b, F32(50, 3, 3));
    plain(b, F32(2, 1, 3, 17, 16));
    plain(b, OF(KG_F64, 96, 96));
    plain(b, OF(KG_C64, 64, 80));
    plain(b, OF(KG_C128, 48, 32));
    plain(b, kg_tensor_stepped(KG_C64, KG_SHAPE(12, 9), 3));
    plain(b, kg_tensor_transposed(KG_C128, KG_SHAPE(3, 9, 5), 1, 2));
    kg_decomposed_case(b, OF(KG_F64, 33, 33), KG_LOGSCALE(-40, 40));
    kg_decomposed_case(b, OF(KG_C64, 20, 20), KG_OUTLIERS(0, 1));
    kg_decomposed_case(b, F32(30, 30), (kg_fill){KG_FILL_TIES, 0, 0});
    kg_decomposed_case(b, F32(16, 16), KG_LOGSCALE(-60, -40));
    kg_decomposed_case(b, F32(16, 16), KG_LOGSCALE(30, 50));
}
#undef F32
#undef OF

void kg_decomposed_cases(kg_cases *b) {
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
}

void kg_decomposed_timed(kg_cases *b, int n, const int64_t *sizes) {
    for (int i = 0; i < n; i++) plain(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(sizes[i], sizes[i])));
}

kg_tensor kg_decomposed_shape(const kg_tensor *a, kg_dtype t, int64_t rows, int64_t cols) {
    int64_t shape[KG_MAX_NDIM];
    for (int d = 0; d < a->ndim; d++) shape[d] = d < a->ndim - 2 ? a->shape[d] : d == a->ndim - 2 ? rows : cols;
    return kg_tensor_contiguous(t, a->ndim, shape);
}

int kg_decomposed_size(const kg_case *c, int64_t *m, int64_t *n) {
    const kg_tensor *a = &c->args[0].tensor;
    // One dimension is left for the parts of complex numbers.
    if (a->ndim < 2 || a->ndim == KG_MAX_NDIM || !kg_dtype_is_float(kg_dtype_part(a->dtype))) return -1;
    *m = a->shape[a->ndim - 2];
    *n = a->shape[a->ndim - 1];
    return 0;
}

double kg_elimination(double m, double n) {
    const double k = fmin(m, n);
    return m * n * k - (m + n) * k * k / 2 + k * k * k / 3;
}

void kg_decomposed_work(const kg_task *t, const kg_case *c, kg_work *w, double madds) {
    const kg_tensor *a = &c->args[0].tensor;
    const double count = (double)kg_factor_count(a), parts = kg_dtype_is_complex(a->dtype) ? 4 : 1;
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_product_unit(kg_dtype_part(a->dtype))] = 2 * parts * madds * count;
}
