// Window o reaches from o stride - padding to `kernel` elements further, but not past the padding behind; with
// ceil_mode one more window may begin, when it does so before the end of the input. An average divides by the elements
// of the window, padding among them unless count_include_pad is false.
//
// Bounds: the terms' own errors, the sum (src/oracle/sum.c), the division, by n or with 1/n: folds.h. An average of
// elements as they are stores nothing in between, so in half precision only its own rounding counts there.
#include "task/pool1d.h"

enum { MOST = 256 };  // elements of a window at a time

typedef struct {
    int64_t kernel, stride, padding;
    bool ceil_mode, count_pad;
} pool;

static pool pool_of(const kg_task *t, const kg_case *c) {
    const kg_arg *stride = kg_case_arg(c, t, "stride"), *ceil_mode = kg_case_arg(c, t, "ceil_mode");
    const kg_arg *count_pad = kg_case_arg(c, t, "count_include_pad");
    pool p = {.kernel = kg_case_arg(c, t, "kernel_size")->i, .padding = kg_case_arg(c, t, "padding")->i};
    p.stride = stride->none ? p.kernel : stride->i;
    p.ceil_mode = ceil_mode && ceil_mode->i;
    p.count_pad = !count_pad || count_pad->i;
    return p;
}

// ---- cases ------------------------------------------------------------------------------------------
kg_case *kg_pool1d_case(kg_cases *b, kg_tensor input, int64_t kernel) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_dtype_is_float(input.dtype) ? KG_NORMAL(0.5, 1) : KG_INTEGERS(-9, 9));
    kg_set_int(c, b->task, "kernel_size", kernel);
    return c;
}

static kg_case *with(kg_cases *b, kg_tensor input, int64_t kernel, int64_t stride, int64_t padding) {
    kg_case *c = kg_pool1d_case(b, input, kernel);
    kg_set_int(c, b->task, "stride", stride);
    kg_set_int(c, b->task, "padding", padding);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void shapes(kg_cases *b) {
    kg_pool1d_case(b, F32(2, 3, 17), 2);
    kg_pool1d_case(b, F32(2, 3, 17), 3);
    kg_pool1d_case(b, F32(3, 65), 4);  // no batch
    kg_pool1d_case(b, F32(2, 3, 17), 17);
    kg_pool1d_case(b, F32(2, 3, 17), 1);  // the identity
    kg_pool1d_case(b, F32(1, 1, 1), 1);
    kg_pool1d_case(b, F32(0, 3, 17), 3);
    kg_pool1d_case(b, F32(1, 2, 4099), 513);
    kg_pool1d_case(b, F32(1, 2, 5003), 5003);
    with(b, F32(1, 1, 5003), 3, 1, 1);
    with(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(2, 3, 31)), 3, 2, 1)->args[0].fill = KG_WIDE_INTEGERS;
    kg_set_none(kg_pool1d_case(b, F32(2, 3, 17), 5), b->task, "stride");
    with(b, F32(2, 3, 31), 3, 1, 0);
    with(b, F32(2, 3, 31), 3, 2, 0);
    with(b, F32(2, 3, 31), 2, 5, 0);  // elements between the windows
    with(b, F32(2, 3, 31), 3, 1, 1);
    with(b, F32(2, 3, 31), 4, 3, 2);
    with(b, F32(2, 3, 5), 8, 3, 4);  // longer than the input
    with(b, F32(7, 33, 257), 5, 2, 2);
    kg_set_int(kg_pool1d_case(b, F32(2, 3, 31), 4), b->task, "padding", 2);
    with(b, kg_tensor_transposed(KG_F32, KG_SHAPE(3, 5, 33), 1, 2), 3, 2, 1);
    with(b, kg_tensor_transposed(KG_F32, KG_SHAPE(4, 5, 4), 0, 2), 2, 1, 1);
    with(b, kg_tensor_stepped(KG_F32, KG_SHAPE(2, 3, 65), 3), 4, 2, 1);
    with(b, F32(2, 3, 129), 5, 3, 2)->args[0].fill = KG_OUTLIERS(0.5, 1);
    // Windows that meet one special value each: no sum overflows on the way.
    with(b, F32(2, 3, 200), 7, 3, 2)->args[0].fill = KG_SPECIALS(0.5, 1);
}

static void modes(kg_cases *b, kg_dtype t) {
    static const int64_t options[][4] = {{31, 4, 3, 1}, {30, 3, 2, 0}, {8, 3, 2, 1}, {5, 8, 3, 4}, {12, 3, 5, 1}};
    if (!kg_case_arg(kg_case_add(b), b->task, "ceil_mode")) {
        b->n--;
        return;
    }
    b->n--;
    const size_t n = t == KG_F32 ? sizeof options / sizeof *options : 1;
    for (size_t i = 0; i < n; i++)
        for (int k = 1; k < 4; k++) {
            const int64_t *o = options[i];
            kg_case *c = with(b, kg_tensor_contiguous(t, KG_SHAPE(2, 3, o[0])), o[1], o[2], o[3]);
            if (k & 1) kg_set_bool(c, b->task, "ceil_mode", true);
            if (k & 2) kg_set_bool(c, b->task, "count_include_pad", false);
        }
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1) with(b, F32(2, 3, n), n < 7 ? n : 7, 2, n < 7 ? 0 : 3);
    with(b, F32(1, 1, 65537), 65537, 1, 0);
    with(b, F32(1, 3, 4099), 1025, 7, 512)->args[0].fill = KG_NORMAL(1000, 1);
    with(b, kg_tensor_expanded(KG_F32, KG_SHAPE(5, 7, 33), 0), 3, 2, 1);
    with(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(2, 3, 2049)), 1025, 512, 512);
    with(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(2, 3, 200)), 7, 3, 2)->args[0].fill = KG_SPECIALS(0.5, 1);
}
#undef F32

void kg_pool1d_cases(kg_cases *b, const kg_dtype *dtypes) {
    shapes(b);
    modes(b, KG_F32);
    for (const kg_dtype *t = dtypes + 1; *t != KG_DTYPES; t++) {
        with(b, kg_tensor_contiguous(*t, KG_SHAPE(2, 3, 65)), 5, 2, 1);
        with(b, kg_tensor_contiguous(*t, KG_SHAPE(3, 1023)), 256, 64, 128);
        if (b->level == KG_CASES_FULL) modes(b, *t);
    }
    if (b->level == KG_CASES_FULL) full(b);
}

// ---- shapes -----------------------------------------------------------------------------------------
int kg_pool1d_infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[0].tensor;
    const pool p = pool_of(t, c);
    if (in->ndim < 2 || in->ndim > 3 || p.kernel < 1 || p.stride < 1 || p.padding < 0 || 2 * p.padding > p.kernel)
        return -1;
    const int64_t length = in->shape[in->ndim - 1], room = length + 2 * p.padding - p.kernel;
    if (room < 0 || length == 0) return -1;
    int64_t windows = (room + (p.ceil_mode ? p.stride - 1 : 0)) / p.stride + 1, shape[KG_MAX_NDIM];
    if ((windows - 1) * p.stride >= length + p.padding) windows--;
    for (int i = 0; i < in->ndim; i++) shape[i] = in->shape[i];
    shape[in->ndim - 1] = windows;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_float_of(in->dtype), in->ndim, shape);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
static void add_window(kg_mean *m, const pool *p, const kg_view *in, kg_line_t line, int64_t o, kg_pool1d_fn f) {
    const int64_t from = o * p->stride - p->padding, end = line.n + p->padding;
    const int64_t to = from + p->kernel < end ? from + p->kernel : end;
    double x[MOST], term[MOST], local[MOST] = {0};
    for (int64_t k = from; k < to;) {
        const bool outside = k < 0 || k >= line.n;
        int64_t n = 0;
        for (; n < MOST && k < to && (k < 0 || k >= line.n) == outside; n++, k++)
            x[n] = outside ? 0 : kg_at_offset(in, line.start + k * line.step);
        if (outside && !p->count_pad) continue;
        if (outside || !f) kg_mean_add(m, n, x, (const double[MOST]){0});
        else {
            f(x, n, term, local);
            kg_mean_add(m, n, term, local);
        }
    }
}

int kg_pool1d_oracle(const kg_call *call, kg_ref *ref, kg_pool1d_fn f) {
    const kg_view in = kg_call_view(call, "input");
    const kg_tensor *out = &call->c->outs[0];
    const pool p = pool_of(call->task, call->c);
    const int last = out->ndim - 1;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k];
        kg_mean m = {.terms.exact = out->dtype == KG_F64};
        add_window(&m, &p, &in, kg_line_of(&in.desc, last, i / out->shape[last]), i % out->shape[last], f);
        const double n = (double)m.terms.n, mean = kg_total_value(&m.terms) / n;
        if (f || !isfinite(mean)) kg_mean_put(&m, ref, k, in.desc.dtype, out->dtype);
        else kg_ref_put(ref, k, kg_is_half(out->dtype), mean, 2 * fabs(mean), fabs(mean), kg_total_acc(&m.terms) / n);
    }
    return 0;
}

double kg_pool1d_reach(const kg_task *t, const kg_case *c) { return (double)pool_of(t, c).kernel; }

// Windows further apart than they are long leave elements out, which need not be read.
void kg_pool1d_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special) {
    const pool p = pool_of(t, c);
    const double read = fmin(1, (double)p.kernel / (double)p.stride), n = read * (double)kg_numel(&c->args[0].tensor);
    kg_work_map(t, c, w, fmin((double)p.kernel, 2.0 * (double)p.stride), 0);
    w->bytes_read *= read;
    w->ops[kg_plain_unit(c->outs[0].dtype)] += plain * n;
    w->ops[KG_U_SPECIAL] += special * n;
}
