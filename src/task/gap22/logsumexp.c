// logsumexp(input, dim, keepdim=False) -> Tensor
//
// m + log S, S = sum_j exp(x_j - m), m the largest; an infinite m as it is. Over nothing: -inf.
//
// Bounds. log S errs by S's relative error: that of exp (KG_LAMBDA), of the x - m in it on average, and of the sum. log
// S and the last sum round. An unfused half-precision kernel stores x - m, exp, S and log S besides: PyTorch on CUDA,
// which has no correct digit left where m and log S cancel.
#include "task/gap22_reductions.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    const kg_reduction_family f = {.dtypes = dtypes,
                                   .fill = KG_NORMAL(0, 2),
                                   .empty = true,
                                   .logarithm = true,
                                   .timed = KG_F32,
                                   .sizes = {{512, 1024}, {8192, 16384}}};
    return kg_reduction_cases(b, &f);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_reduction_groups(call);
    const bool half = kg_is_half(in.desc.dtype);
    for (size_t k = 0; k < ref->n; k++) {
        const kg_softmax s = kg_softmax_of(&in, &g, ref->index[k]);
        const double log_sum = log(s.sum), v = s.largest + log_sum;
        const double stored = fabs(v) + (half ? 2 + s.spread + fabs(log_sum) : 0);
        if (!isfinite(s.largest)) kg_ref_put(ref, k, false, s.largest, 0, 0, 0);
        else
            kg_ref_put(ref, k, half, v, KG_LAMBDA + 2 * s.spread + 2 * (fabs(s.largest) + fabs(log_sum)) + fabs(v),
                       stored, s.sum_acc / s.sum);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[KG_RED_INPUT].tensor);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 3 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_gap22_logsumexp = {
    .name = "logsumexp",
    .suite = "gap22",
    .category = "Reduce",
    .signature = "logsumexp(input, dim, keepdim=False) -> Tensor",
    .summary = "The logarithm of the sum of exponentials over dim, an int or a tuple of ints.",
    .params = kg_params_reduction,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_reduction_infer_empty,
    .oracle = oracle,
    .work = work,
    .reach = kg_reduction_reach,
    .torch_baseline = "torch.logsumexp",
    .c_body = KG_REDUCTION_WALK
    "double largest = log(0.0), sum = 0;\n"
    "for (int64_t k = 0; k < n; k++) {\n" KG_REDUCTION_ELEMENT
    "    const double x = kg_get_at(input, at);\n"
    "    if (x > largest || x != x) largest = largest != largest ? largest : x;\n"
    "}\n"
    "for (int64_t k = 0; k < n; k++) {\n" KG_REDUCTION_ELEMENT
    "    sum += exp(kg_get_at(input, at) - largest);\n"
    "}\n"
    "kg_put(out, i, largest - largest == 0 ? largest + log(sum) : largest);\n",
};
