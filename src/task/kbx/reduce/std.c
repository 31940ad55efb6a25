// std(input, dim=None, *, correction=1, keepdim=False, out=None) -> Tensor
//
// sqrt(sum (x - mean)^2 / max(0, n - correction)): NaN where that is 0/0, infinity where something is divided by 0.
//
// Bounds. The variance v errs by dv (src/oracle/moments.c: two-pass and Welford; not sum x^2 - n mean^2, which loses
// mean^2/v times as much), so its root by sqrt(v + dv) - sqrt(v) <= min(dv / (2 sqrt v), sqrt dv).
#include "oracle/reduce.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "correction", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, CORRECTION, KEEPDIM };
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 2));
    return c;
}
static kg_case *over(kg_cases *b, kg_case *c, int n, const int64_t *dims) {
    kg_set_ints(c, b->task, "dim", n, dims);
    c->args[DIM].scalar = n == 1;
    return c;
}
static kg_case *corrected(kg_cases *b, kg_case *c, int64_t correction) {
    kg_set_int(c, b->task, "correction", correction);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(5));
    add(b, F32(1));                   // NaN: one element has no spread
    corrected(b, add(b, F32(1)), 0);  // 0
    add(b, F32(1025));
    add(b, F32(4097));
    corrected(b, add(b, F32(1025)), 0);
    corrected(b, over(b, add(b, F32(9, 7)), KG_INTS(1)), 2);
    add(b, F32(33, 65));
    over(b, add(b, F32(33, 65)), 0, NULL);  // () is all of them, as None is
    over(b, add(b, F32(33, 65)), KG_INTS(0));
    kg_set_bool(over(b, add(b, F32(33, 65)), KG_INTS(-1)), b->task, "keepdim", true);
    over(b, add(b, F32(5, 7, 11)), KG_INTS(0, 2));
    over(b, add(b, F32(0, 5)), KG_INTS(0));  // NaN: nothing
    over(b, add(b, F32(0, 5)), KG_INTS(1));  // no results
    over(b, add(b, F32(1031, 5)), KG_INTS(1));
    over(b, add(b, F32(7, 9, 301)), KG_INTS(1));
    over(b, add(b, F32(5, 4099)), KG_INTS(0));
    over(b, add(b, F32(5003, 3)), KG_INTS(0));
    over(b, add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1)), KG_INTS(1));
    over(b, add(b, F32(17, 1000)), KG_INTS(1))->args[INPUT].fill = KG_NORMAL(1000, 1);
    over(b, add(b, F32(17, 1000)), KG_INTS(1))->args[INPUT].fill = KG_NORMAL(10000, 1);
    over(b, add(b, F32(64, 33)), KG_INTS(1))->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    // No largest finite values, whose squares overflow in float32 and not in every honest kernel.
    over(b, add(b, F32(9, 3)), KG_INTS(1))->args[INPUT].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};
    kg_set_tensor(over(b, add(b, F32(9, 43)), KG_INTS(0)), b->task, "out", KG_F32, KG_SHAPE(43), KG_NORMAL(0, 1));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        over(b, add(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 1027))), KG_INTS(1));
    over(b, add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(5, 131))), KG_INTS(1))->args[INPUT].fill = KG_WIDE_INTEGERS;
    // One special value a row, none so large that its square overflows in float32.
    over(b, add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(65, 8))), KG_INTS(1))->args[INPUT].fill = KG_SPECIALS(0.5, 1);
    corrected(b, over(b, add(b, F32(9, 3)), KG_INTS(1)), 5);  // infinity: no degrees of freedom are left
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
    add(b, F32(65537));
    kg_set_bool(add(b, F32(9, 31)), b->task, "keepdim", true);
    over(b, add(b, F32(2, 3, 4, 5, 6)), KG_INTS(-4, 3));
    add(b, F32(100))->args[INPUT].fill = (kg_fill){KG_FILL_CONST, 3.25, 0};
    over(b, add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3)), KG_INTS(-1));
    corrected(b, over(b, add(b, F32(9, 7)), KG_INTS(1)), 7);  // divided by 0: infinity
    over(b, add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(5, 4099))), KG_INTS(1))->args[INPUT].fill = KG_NORMAL(100, 1);
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
        add(b, kg_tensor_contiguous(KG_F32, 1, &n));
    }
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const int mask = kg_reduced_dims(&c->args[DIM], in->ndim);
    if (mask < 0 || !kg_dtype_is_float(in->dtype)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_reduced_shape(in, mask, c->args[KEEPDIM].i, in->dtype);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_groups_of(&in.desc, kg_reduced_dims(&call->c->args[DIM], in.desc.ndim));
    const double dof = fmax(0, (double)(g.count - call->c->args[CORRECTION].i));
    for (size_t k = 0; k < ref->n; k++) {
        const kg_spread s = kg_group_spread(&in, &g, ref->index[k]);
        const double sd = sqrt(s.m2 / dof), dv = kg_spread_variance_acc(&s, dof);
        const double inputs = sd > 0 ? s.rounding / (sd * dof) : 0;
        if (isfinite(sd))
            kg_ref_put(ref, k, kg_is_half(in.desc.dtype), sd, KG_LAMBDA * sd + 2 * inputs, sd,
                       sd > 0 ? fmin(dv / (2 * sd), sqrt(dv / s.u)) : sqrt(dv / s.u));
        else kg_ref_put(ref, k, false, sd, 0, 0, 0);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * fmax(1, (double)kg_numel(&c->args[INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

// Welford aside, three operations an element: subtract, square, add; and the sum.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 1);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 4 * (double)kg_numel(&c->args[INPUT].tensor);
}

const kg_task kg_task_kbx_std = {
    .name = "std",
    .suite = "kbx",
    .category = "Reduce",
    .signature = "std(input, dim=None, *, correction=1, keepdim=False, out=None) -> Tensor",
    .summary = "The standard deviation over the dimensions dim (None: all), with n - correction degrees of freedom.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "torch.std",
    .c_body =
        "// Element r of the group behind output i: reduced dimensions count r down, kept ones i.\n"
        "int64_t count = 1;\n"
        "for (int d = 0; d < input->ndim; d++) count *= input->shape[d];\n"
        "count /= kg_elements(out);\n"
        "double mean = 0, squares = 0;\n"
        "for (int pass = 0; pass < 2; pass++) {\n"
        "    for (int64_t k = 0; k < count; k++) {\n"
        "        int64_t at = 0, r = k, rest = i;\n"
        "        for (int d = input->ndim - 1; d >= 0; d--) {\n"
        "            bool reduced = !dim || dim->n == 0;\n"
        "            for (int64_t j = 0; dim && j < dim->n; j++)\n"
        "                reduced = reduced || dim->v[j] == d || dim->v[j] + input->ndim == d;\n"
        "            at += (reduced ? r : rest) % input->shape[d] * kg_stride(input, d);\n"
        "            if (reduced) r /= input->shape[d];\n"
        "            else rest /= input->shape[d];\n"
        "        }\n"
        "        const double x = kg_get_at(input, at);\n"
        "        if (pass == 0) mean += x;\n"
        "        else squares += (x - mean) * (x - mean);\n"
        "    }\n"
        "    if (pass == 0) mean /= (double)count;\n"
        "}\n"
        "const int64_t freedom = count - correction;\n"
        "kg_put(out, i, sqrt((count ? squares : NAN) / (double)(freedom > 0 ? freedom : 0)));\n",
};
