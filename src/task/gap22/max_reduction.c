// max_reduction(input, dim, keepdim=False) -> Tensor
//
// The largest value over dim, without where it stands; NaN is larger than everything. Exact.
#include "task/gap22_reductions.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_U8, KG_DTYPES};
    const kg_reduction_family f = {
        .dtypes = dtypes, .fill = KG_NORMAL(0, 1), .timed = KG_F16, .sizes = {{1024, 1024}, {8192, 32768}}};
    return kg_reduction_cases(b, &f);
}

static void largest_chunk(const double *x, int64_t n, void *ctx) {
    double most = *(double *)ctx;
    for (int64_t k = 0; k < n; k++)
        if (!(x[k] <= most) && !isnan(most)) most = x[k];
    *(double *)ctx = most;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_reduction_groups(call);
    for (size_t k = 0; k < ref->n; k++) {
        ref->value[k] = -INFINITY;
        kg_group_fold(&in, &g, ref->index[k], largest_chunk, &ref->value[k]);
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = (double)kg_numel(&c->args[KG_RED_INPUT].tensor);
}

const kg_task kg_task_gap22_max_reduction = {
    .name = "max_reduction",
    .suite = "gap22",
    .category = "Reduce",
    .signature = "max_reduction(input, dim, keepdim=False) -> Tensor",
    .summary = "The largest value over dim, an int or a tuple of ints; NaN is largest.",
    .params = kg_params_reduction,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_reduction_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_reduction_reach,
    .torch_baseline = "torch.amax",
    .c_body = KG_REDUCTION_WALK
    "double largest = 0;\n"
    "for (int64_t k = 0; k < n; k++) {\n" KG_REDUCTION_ELEMENT
    "    const double x = kg_get_at(input, at);\n"
    "    if (k == 0 || x > largest || x != x) largest = largest != largest ? largest : x;\n"
    "}\n"
    "kg_put(out, i, largest);\n",
};
