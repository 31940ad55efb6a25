// mean_reduction(input, dim, keepdim=False) -> Tensor
//
// The sum over dim, divided by the number of elements; over nothing: NaN.
//
// Bounds: the sum's (src/oracle/sum.c), over n, and the division's rounding.
#include "task/gap22_reductions.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    const kg_reduction_family f = {.dtypes = dtypes,
                                   .fill = KG_NORMAL(0.5, 1),
                                   .empty = true,
                                   .timed = KG_F32,
                                   .sizes = {{1024, 1024}, {8192, 32768}}};
    return kg_reduction_cases(b, &f);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_reduction_groups(call);
    for (size_t k = 0; k < ref->n; k++) {
        const kg_total t = kg_group_total(&in, &g, ref->index[k], false);
        const double n = (double)g.count, v = kg_total_value(&t) / n;
        if (isfinite(v))
            kg_ref_put(ref, k, kg_is_half(in.desc.dtype), v, kg_total_local(&t) / n + 2 * fabs(v), fabs(v),
                       kg_total_acc(&t) / n);
        else kg_ref_put(ref, k, false, v, 0, 0, 0);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 1, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] += (double)kg_numel(&c->args[KG_RED_INPUT].tensor);
}

const kg_task kg_task_gap22_mean_reduction = {
    .name = "mean_reduction",
    .suite = "gap22",
    .category = "Reduce",
    .signature = "mean_reduction(input, dim, keepdim=False) -> Tensor",
    .summary = "The mean over dim, an int or a tuple of ints.",
    .params = kg_params_reduction,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_reduction_infer_empty,
    .oracle = oracle,
    .work = work,
    .reach = kg_reduction_reach,
    .torch_baseline = "torch.mean",
    .c_body = KG_REDUCTION_WALK
    "double sum = 0;\n"
    "for (int64_t k = 0; k < n; k++) {\n" KG_REDUCTION_ELEMENT
    "    sum += kg_get_at(input, at);\n"
    "}\n"
    "kg_put(out, i, sum / (double)n);\n",
};
