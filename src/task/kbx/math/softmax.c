// softmax(input, dim, dtype=None) -> Tensor
//
// y_i = exp(x_i - m) / S, S = sum_j exp(x_j - m), m the largest. dtype: the input is cast to it first.
//
// Bounds. x_i - m rounds, u |x_i - m|, and so in every term of S: weighted with y that is their average. exp itself and
// the division are KG_LAMBDA. S is a sum of positive terms: acc_S / S relative (src/oracle/sum.c), which stays below
// 1e-4 for 131,072 equal values. In half precision kernels compute in float32 (PyTorch does), so all of it is charged
// there.
#include "oracle/reduce.h"
#include "task/shared.h"

const kg_param kg_softmax_params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, DIM, DTYPE };
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0, 2));
    kg_set_int(c, b->task, "dim", dim);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(1, 1), 1);
    add(b, F32(17), 0);
    add(b, F32(33, 65), 1);
    add(b, F32(33, 65), 0);
    add(b, F32(33, 65), -1);
    add(b, F32(3, 1025), 1);
    add(b, F32(1031, 5), 0);
    add(b, F32(2, 65537), 1);
    add(b, F32(5, 7, 33), 1);
    add(b, F32(0, 5), 1);
    add(b, F32(5, 0), 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), 1);
    add(b, F32(17, 257), 1)->args[INPUT].fill = KG_NORMAL(1000, 3);   // exp overflows unless the largest is taken off
    add(b, F32(17, 257), 1)->args[INPUT].fill = KG_NORMAL(-1000, 3);  // and underflows
    add(b, F32(33, 65), 1)->args[INPUT].fill = KG_OUTLIERS(0, 1);
    add(b, F32(400, 3), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 1027)), 1);
    kg_set_dtype(add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(17, 129)), 1), b->task, "dtype", KG_F32);
    kg_set_dtype(add(b, F32(17, 129), 0), b->task, "dtype", KG_F64);
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 4097; n = n * 4 + 1) add(b, F32(7, n), 1);
    add(b, F32(3, 131072), 1);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0);
    add(b, F32(2, 3, 4, 5, 6), -3);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 2);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0);
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(5, 4099)), 1);
    add(b, F32(33, 65), 1)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, -3, 0};
    kg_set_dtype(add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(17, 129)), 1), b->task, "dtype", KG_F32);
}

int kg_softmax_cases(kg_cases *b) {
    switch (b->level) {
    case KG_CASES_QUICK:
    case KG_CASES_FULL:
        quick(b);
        kg_large_logits_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    case KG_TIMED_CUDA:
        for (int64_t n = 16; n <= 524288; n *= 2) add(b, F32(1024, n), 1);
        return 0;
    default:
        for (int64_t n = 16; n <= 16384; n *= 4) add(b, F32(1024, n), 1);
        return 0;
    }
}
#undef F32

int kg_softmax_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (kg_wrap_dim(c->args[DIM].i, in->ndim) < 0) return -1;
    const kg_dtype d = c->args[DTYPE].none ? in->dtype : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s);
    if (!kg_dtype_is_float(d)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(d, in->ndim, in->shape);
    return 0;
}

int kg_softmax_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_tensor *out = &call->c->outs[0];
    const int dim = kg_wrap_dim(call->c->args[DIM].i, out->ndim);
    const kg_groups g = kg_groups_of(&in.desc, 1 << dim);
    kg_softmax_cache cache = {0};
    if (kg_softmax_cache_make(&cache, ref->n)) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        const kg_softmax *s = kg_softmax_cached(&cache, &in, &g, kg_line_index(out, dim, ref->index[k]));
        const double d = kg_at(&in, ref->index[k]) - s->largest, y = exp(d) / s->sum;
        if (isnan(y)) kg_ref_put(ref, k, false, y, 0, 0, 0);
        else
            kg_ref_put(ref, k, kg_is_half(in.desc.dtype), y, y == 0 ? 0 : y * (KG_LAMBDA + 2 * fabs(d) + 2 * s->spread),
                       y, y * s->sum_acc / s->sum);
    }
    kg_softmax_cache_free(&cache);
    return 0;
}

double kg_softmax_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    return in->ndim ? fmax(1, (double)in->shape[kg_wrap_dim(c->args[DIM].i, in->ndim)]) : 1;
}

// Largest, subtraction, sum, division: four plain operations an element.
void kg_softmax_work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 4, 1); }

const char kg_softmax_body[] =
    "const int64_t n = kg_dim(input, dim), from = kg_line(input, dim, i), to = kg_line(out, dim, i);\n"
    "const int64_t step = kg_stride(input, dim), to_step = kg_stride(out, dim);\n"
    "double largest = kg_get_at(input, from), sum = 0;\n"
    "for (int64_t k = 1; k < n; k++) largest = fmax(largest, kg_get_at(input, from + k * step));\n"
    "for (int64_t k = 0; k < n; k++) sum += exp(kg_get_at(input, from + k * step) - largest);\n"
    "for (int64_t k = 0; k < n; k++)\n"
    "    kg_put_at(out, to + k * to_step, exp(kg_get_at(input, from + k * step) - largest) / sum);\n";

const kg_task kg_task_kbx_softmax = {
    .name = "softmax",
    .suite = "kbx",
    .category = "Math",
    .signature = "softmax(input, dim, dtype=None) -> Tensor",
    .summary = "Exponentials along dim, scaled to add up to 1." KG_SOFTMAX_NAN,
    KG_OPERATION(softmax),
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = kg_softmax_cases,
    .reach = kg_softmax_reach,
    .torch_baseline = "torch.softmax",
    .cpu_baseline = "onednn",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, dim) : 0",
};
