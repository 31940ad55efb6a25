// mean(input, dim, keepdim=False, *, dtype=None, out=None) -> Tensor
//
// dim: an int, a tuple, or None and () for all dimensions. dtype: inputs are cast to it first; integers and bool have
// no mean without one. The mean of nothing is NaN. Bounds: a sum's (src/oracle/sum.c) over n, and two roundings more:
// PyTorch stores the sum before it divides.
#include "oracle/reduce.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .nullable = true},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, KEEPDIM, DTYPE };
static const char *const outputs[] = {"out", NULL};

static kg_fill values(kg_dtype t) {
    if (kg_dtype_is_float(t)) return KG_NORMAL(0.5, 1);
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : KG_INTEGERS(-50, 100);
}

// n < 0: None; n == 0: the bare int *dims.
static kg_case *add(kg_cases *b, kg_tensor input, int n, const int64_t *dims) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, values(input.dtype));
    if (n < 0) {
        kg_set_none(c, b->task, "dim");
    } else {
        kg_set_ints(c, b->task, "dim", n ? n : 1, dims);
        c->args[DIM].scalar = n == 0;
    }
    return c;
}
static kg_case *along(kg_cases *b, kg_tensor input, int64_t dim) { return add(b, input, 0, &dim); }
static kg_case *cast(kg_cases *b, kg_dtype from, kg_dtype to, int64_t dim) {
    kg_case *c = along(b, kg_tensor_contiguous(from, KG_SHAPE(35, 129)), dim);
    kg_set_dtype(c, b->task, "dtype", to);
    return c;
}
static const kg_fill nans = {KG_FILL_CONST, NAN, 0}, infinities = {KG_FILL_CONST, INFINITY, 0};

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    along(b, F32(3), 0);
    along(b, F32(1), 0);
    along(b, F32(1025), -1);
    along(b, F32(65537), 0);
    add(b, F32(33, 65), -1, NULL);
    kg_set_ints(add(b, F32(33, 65), -1, NULL), b->task, "dim", 0, NULL);  // () is all of them, as None is
    along(b, F32(33, 65), 0);
    kg_set_bool(along(b, F32(33, 65), 1), b->task, "keepdim", true);
    kg_set_bool(add(b, F32(5, 7, 11), KG_INTS(0, 2)), b->task, "keepdim", true);
    add(b, F32(5, 7, 11), KG_INTS(1, -1));
    along(b, F32(0, 5), 0);  // the mean of nothing: NaN
    along(b, F32(0, 5), 1);  // no means
    along(b, F32(7, 9, 301), 1);
    along(b, F32(1031, 5), 1);
    along(b, F32(5, 4099), 0);
    along(b, F32(5003, 3), 0);
    along(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1);
    along(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), -1);
    along(b, F32(64, 33), 1)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    along(b, F32(300, 1), 1)->args[INPUT].fill = KG_SPECIALS(0.5, 1);
    along(b, F32(9, 33), 1)->args[INPUT].fill = nans;
    along(b, F32(9, 33), 0)->args[INPUT].fill = infinities;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        along(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 1027)), 1);
    along(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(5, 131)), 1)->args[INPUT].fill = KG_WIDE_INTEGERS;
    cast(b, KG_F32, KG_F64, 1);
    cast(b, KG_F16, KG_F32, 1);
    cast(b, KG_I32, KG_F32, 0);
    cast(b, KG_I64, KG_F64, 1);
    cast(b, KG_BOOL, KG_F32, 1);
    // Sums of the largest finite values are finite where they are cast first.
    kg_case *c = along(b, F32(300, 7), 1);
    kg_set_dtype(c, b->task, "dtype", KG_F64);
    c->args[INPUT].fill = KG_SPECIALS(0.5, 1);
    kg_set_tensor(along(b, F32(9, 43), 0), b->task, "out", KG_F32, KG_SHAPE(43), KG_NORMAL(0, 1));
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        along(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]), 0);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), -1, NULL);
    add(b, F32(0), -1, NULL);
    add(b, F32(2, 3, 4, 5, 6), KG_INTS(0, 2, 4));
    add(b, F32(2, 3, 4, 5, 6), KG_INTS(-4, 3));
    kg_set_bool(add(b, F32(9, 31), -1, NULL), b->task, "keepdim", true);
    along(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0);
    along(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1);
    along(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(3, 8200)), 1);
    along(b, F32(3, 100003), 1)->args[INPUT].fill = KG_NORMAL(0, 1);
    cast(b, KG_BF16, KG_F32, 0)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
}
#undef F32

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    static const int cpu[] = {14, 17, 20, 22, 24, 25};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 16 : 6); i++) {
        const int64_t n = (int64_t)1 << (cuda ? 12 + i : cpu[i]);
        along(b, kg_tensor_contiguous(KG_F32, 1, &n), 0);
    }
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const int mask = kg_reduced_dims(&c->args[DIM], in->ndim);
    const kg_dtype d = c->args[DTYPE].none ? in->dtype : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s);
    if (mask < 0 || !kg_dtype_is_float(d)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_reduced_shape(in, mask, c->args[KEEPDIM].i, d);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_tensor *out = &call->c->outs[0];
    const kg_groups g = kg_groups_of(&in.desc, kg_reduced_dims(&call->c->args[DIM], in.desc.ndim));
    const double n = (double)g.count;
    for (size_t k = 0; k < ref->n; k++) {
        const kg_total t = kg_group_total(&in, &g, ref->index[k], out->dtype == KG_F64);
        const double v = g.count ? kg_total_value(&t) / n : NAN;
        if (isfinite(v))
            kg_ref_put(ref, k, kg_is_half(in.desc.dtype), v, kg_total_local(&t) / n, 2 * fabs(v), kg_total_acc(&t) / n);
        else kg_ref_put(ref, k, false, v, 0, 0, 0);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 1, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] += (double)kg_numel(&c->args[INPUT].tensor);
}

const kg_task kg_task_kbx_mean = {
    .name = "mean",
    .suite = "kbx",
    .category = "Reduce",
    .signature = "mean(input, dim, keepdim=False, *, dtype=None, out=None) -> Tensor",
    .summary = "The mean over the dimensions dim (None: all), of the input cast to dtype.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "torch.mean",
    .c_body =
        "// Element r of the group that output i averages: reduced dimensions count r down, kept ones i.\n"
        "int64_t count = 1;\n"
        "for (int d = 0; d < input->ndim; d++) count *= input->shape[d];\n"
        "count /= kg_elements(out);\n"
        "double sum = 0;\n"
        "for (int64_t k = 0; k < count; k++) {\n"
        "    int64_t at = 0, r = k, rest = i;\n"
        "    for (int d = input->ndim - 1; d >= 0; d--) {\n"
        "        bool reduced = !dim || dim->n == 0;\n"
        "        for (int64_t j = 0; dim && j < dim->n; j++)\n"
        "            reduced = reduced || dim->v[j] == d || dim->v[j] + input->ndim == d;\n"
        "        at += (reduced ? r : rest) % input->shape[d] * kg_stride(input, d);\n"
        "        if (reduced) r /= input->shape[d];\n"
        "        else rest /= input->shape[d];\n"
        "    }\n"
        "    sum += kg_get_at(input, at);\n"
        "}\n"
        "kg_put(out, i, count ? sum / (double)count : NAN);\n",
};
