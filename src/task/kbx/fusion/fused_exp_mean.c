// fused_exp_mean(input, dim=None, keepdim=False, dtype=None, out=None) -> Tensor
//
// dtype: of the mean. The exponentials may be taken before or after the cast to it; both are right, so the coarser of
// the two is charged. Condition |x| of exp.
#include "task/activations.h"
#include "task/folds.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, KEEPDIM, DTYPE };

static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.25, 1));
    return c;
}

static kg_case *rows(kg_cases *b, kg_dtype t, kg_fill fill) {
    kg_case *c = kg_over(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(9, 65))), KG_INTS(1));
    c->args[INPUT].fill = fill;
    return c;
}

static int cases(kg_cases *b) {
    const kg_fold_family f = {.add = add, .tuples = true, .empty = true, .out = true};
    kg_fold_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    rows(b, KG_F32, KG_NORMAL(60, 3));
    rows(b, KG_F32, KG_NORMAL(-60, 3));
    rows(b, KG_F32, KG_OUTLIERS(0, 0.03));
    rows(b, KG_F32, KG_SPECIALS(0, 1));
    kg_over(b, add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(300, 3))), KG_INTS(1))->args[INPUT].fill =
        KG_SPECIALS(0, 1);
    rows(b, KG_I32, KG_INTEGERS(-3, 3));
    kg_set_dtype(rows(b, KG_I64, KG_INTEGERS(-3, 3)), b->task, "dtype", KG_F64);
    kg_set_dtype(rows(b, KG_F32, KG_NORMAL(0, 1)), b->task, "dtype", KG_F64);
    kg_set_dtype(rows(b, KG_F16, KG_NORMAL(0, 1)), b->task, "dtype", KG_F32);
    kg_set_dtype(rows(b, KG_F32, KG_NORMAL(0, 1)), b->task, "dtype", KG_F16);
    kg_set_dtype(rows(b, KG_F64, KG_NORMAL(0, 1)), b->task, "dtype", KG_F32);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    return kg_fold_infer(t, c, in,
                         c->args[DTYPE].none ? kg_float_of(in->dtype) : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s));
}

static void chunk(const double *x, int64_t n, void *ctx) {
    double term[1024], local[1024];
    for (int64_t k = 0; k < n; k++) {
        const kg_point p = kg_exp_point(x[k]);
        term[k] = p.value;
        local[k] = p.local;
    }
    kg_mean_add(ctx, n, term, local);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_groups g;
    const kg_view in = kg_fold_input(call, &g);
    const kg_dtype to = call->c->outs[0].dtype;
    for (size_t k = 0; k < ref->n; k++) {
        kg_mean m = {.terms.exact = to == KG_F64};
        kg_group_fold(&in, &g, ref->index[k], chunk, &m);
        kg_mean_put(&m, ref, k, in.desc.dtype, to);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_fold_work(t, c, w, 1, 1); }

const kg_task kg_task_kbx_fused_exp_mean = {
    .name = "fused_exp_mean",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_exp_mean(input, dim=None, keepdim=False, dtype=None, out=None) -> Tensor",
    .summary = "Mean over the dimensions dim (None: all) of each element's exponential.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_fold_reach,
    .torch_baseline =
        "lambda input, dim=None, keepdim=False, dtype=None, out=None: "
        "torch.mean(torch.exp(input), dim, keepdim, dtype=dtype, out=out)",
    .c_body = KG_FOLD_WALK("input", "double sum = 0;\n", "    sum += exp(kg_get_at(input, at));\n",
                           "kg_put(out, i, sum / (double)count);\n"),
};
