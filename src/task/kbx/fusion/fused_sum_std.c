// fused_sum_std(input, dim=None, keepdim=False, dtype=None, correction=1, out=None) -> Tensor
//
// Sums over dim (None: all), then the standard deviation of all the sums: one number, 0-dimensional whatever keepdim
// says, as the published reference has it. dtype: input is cast to it first. Degrees of freedom are
// max(0, sums - correction), and 0 / 0 is NaN as in torch.std (the reference gives 0 there: its formula says
// otherwise).
//
// Bounds. Each sum errs as sum.c says, and where half precision stores the sums by their rounding; folds.h carries both
// to the spread.
#include <stdlib.h>

#include "task/activations.h"
#include "task/folds.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = "correction", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, KEEPDIM, DTYPE, CORRECTION };

static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.25, 1));
    return c;
}
static kg_case *corrected(kg_cases *b, kg_case *c, int64_t correction) {
    kg_set_int(c, b->task, "correction", correction);
    return c;
}
static kg_case *rows(kg_cases *b, kg_dtype t, kg_fill fill) {
    kg_case *c = kg_over(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(33, 65))), KG_INTS(1));
    c->args[INPUT].fill = fill;
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        // The public sizes, 2^12 to 2^24, in rows of 256: one sum alone has no deviation to compute.
        const bool cuda = b->level == KG_TIMED_CUDA;
        for (int e = cuda ? 12 : 14; e <= 24; e += cuda ? 1 : 2)
            kg_over(b, add(b, F32((int64_t)1 << (e - 8), 256)), KG_INTS(1));
        return 0;
    }
    const kg_fold_family f = {.add = add, .tuples = true, .empty = true};
    kg_fold_cases(b, &f);
    corrected(b, add(b, F32(33, 65)), 0);  // one sum: 0
    corrected(b, kg_over(b, add(b, F32(33, 65)), KG_INTS(0)), 0);
    corrected(b, kg_over(b, add(b, F32(9, 65)), KG_INTS(1)), 3);
    corrected(b, kg_over(b, add(b, F32(5, 65)), KG_INTS(1)), 5);  // nothing left: infinity
    rows(b, KG_F32, KG_NORMAL(100, 1));                           // sums far from 0
    rows(b, KG_F32, KG_OUTLIERS(0, 1));
    rows(b, KG_F32, (kg_fill){KG_FILL_CONST, NAN, 0});
    kg_set_dtype(rows(b, KG_I32, KG_INTEGERS(-100, 100)), b->task, "dtype", KG_F32);
    kg_set_dtype(rows(b, KG_F32, KG_NORMAL(0.25, 1)), b->task, "dtype", KG_F64);
    kg_set_dtype(rows(b, KG_F16, KG_NORMAL(0.25, 1)), b->task, "dtype", KG_F32);
    kg_set_tensor(rows(b, KG_F32, KG_NORMAL(0.25, 1)), b->task, "out", KG_F32, 0, NULL, (kg_fill){0});
    return 0;
}
#undef F32

static kg_dtype dtype_of(const kg_case *c) {
    return c->args[DTYPE].none ? c->args[INPUT].tensor.dtype : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s);
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_fold_infer(t, c, &c->args[INPUT].tensor, dtype_of(c))) return -1;
    c->outs[0] = kg_tensor_contiguous(dtype_of(c), 0, NULL);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_groups g;
    const kg_view in = kg_fold_input(call, &g);
    const kg_dtype to = call->c->outs[0].dtype;
    const bool exact = to == KG_F64;
    const size_t n = (size_t)g.lines;
    double *sum = malloc((3 * n + 1) * sizeof *sum);
    if (!sum) return -1;
    double *local = sum + n, *acc = sum + 2 * n;
    for (size_t k = 0; k < n; k++) {
        const kg_total t = kg_group_total(&in, &g, (int64_t)k, exact);
        sum[k] = kg_total_value(&t);
        acc[k] = kg_total_acc(&t);
        local[k] = kg_total_local(&t);
    }
    for (size_t k = 0; k < ref->n; k++) {
        kg_deviation s = {.y.exact = exact, .offset.exact = exact, .square.exact = exact};
        // Inputs that half precision holds are not rounded again.
        kg_deviation_add(&s, (int64_t)n, sum, kg_is_half(to) ? NULL : local, acc);
        kg_deviation_put(&s, call->c->args[CORRECTION].i, ref, k, to);
    }
    free(sum);
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[INPUT].tensor));
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_fold_work(t, c, w, 1, 0); }

const kg_task kg_task_kbx_fused_sum_std = {
    .name = "fused_sum_std",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_sum_std(input, dim=None, keepdim=False, dtype=None, correction=1, out=None) -> Tensor",
    .summary = "Standard deviation of the sums over the dimensions dim; a single number.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, dim=None, keepdim=False, dtype=None, correction=1, out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "(torch.std(torch.sum(input, dim, keepdim, dtype=dtype), correction=correction))",
    .c_body =
        "// Walks all sums twice: for their mean, then for the squares.\n"
        "int64_t sums = 1, count = 1;\n"
        "for (int d = 0; d < input->ndim; d++) {\n"
        "    bool reduced = !dim || dim->n == 0;\n"
        "    for (int64_t j = 0; dim && j < dim->n; j++)\n"
        "        reduced = reduced || dim->v[j] == d || dim->v[j] + input->ndim == d;\n"
        "    if (reduced) count *= input->shape[d];\n"
        "    else sums *= input->shape[d];\n"
        "}\n"
        "double mean = 0, squares = 0;\n"
        "for (int pass = 0; pass < 2; pass++) {\n"
        "    for (int64_t s = 0; s < sums; s++) {\n"
        "        double sum = 0;\n"
        "        for (int64_t k = 0; k < count; k++) {\n"
        "            int64_t at = 0, r = k, rest = s;\n"
        "            for (int d = input->ndim - 1; d >= 0; d--) {\n"
        "                bool reduced = !dim || dim->n == 0;\n"
        "                for (int64_t j = 0; dim && j < dim->n; j++)\n"
        "                    reduced = reduced || dim->v[j] == d || dim->v[j] + input->ndim == d;\n"
        "                at += (reduced ? r : rest) % input->shape[d] * kg_stride(input, d);\n"
        "                if (reduced) r /= input->shape[d];\n"
        "                else rest /= input->shape[d];\n"
        "            }\n"
        "            sum += kg_get_at(input, at);\n"
        "        }\n"
        "        if (pass == 0) mean += sum;\n"
        "        else squares += (sum - mean) * (sum - mean);\n"
        "    }\n"
        "    if (pass == 0) mean /= (double)sums;\n"
        "}\n"
        "const int64_t freedom = sums - correction;\n"
        "kg_put(out, i, sqrt((sums ? squares : NAN) / (double)(freedom > 0 ? freedom : 0)));\n",
};
