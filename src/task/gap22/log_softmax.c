// log_softmax(input, dim, dtype=None) -> Tensor
//
// (x - m) - log S, S = sum_j exp(x_j - m), m the largest. dtype: the input is cast to it first.
//
// Bounds: kg_log_softmax_put.
#include "oracle/reduce.h"
#include "task/activations.h"
#include "task/shared.h"

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL)
        kg_large_logits_cases(b);  // first what no constant answers
    if (b->level != KG_TIMED_CUDA) return kg_softmax_cases(b);
    for (int i = 0; i < 2; i++) {  // the published sizes: data/gap22_published.csv
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F16, KG_SHAPE(i ? 4096 : 512, i ? 32768 : 1024), KG_NORMAL(0, 2));
        kg_set_int(c, b->task, "dim", 1);
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_tensor *out = &call->c->outs[0];
    const int dim = kg_wrap_dim(kg_call_arg(call, "dim")->i, out->ndim);
    const kg_groups g = kg_groups_of(&in.desc, 1 << dim);
    kg_softmax_cache cache = {0};
    if (kg_softmax_cache_make(&cache, ref->n)) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        const kg_softmax *s = kg_softmax_cached(&cache, &in, &g, kg_line_index(out, dim, ref->index[k]));
        kg_log_softmax_put(ref, k, kg_is_half(in.desc.dtype), s, kg_at(&in, ref->index[k]));
    }
    kg_softmax_cache_free(&cache);
    return 0;
}

const kg_task kg_task_gap22_log_softmax = {
    .name = "log_softmax",
    .suite = "gap22",
    .category = "Math",
    .signature = "log_softmax(input, dim, dtype=None) -> Tensor",
    .summary = "The logarithm of the softmax along dim." KG_SOFTMAX_NAN,
    .params = kg_softmax_params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_softmax_infer,
    .oracle = oracle,
    .work = kg_softmax_work,
    .reach = kg_softmax_reach,
    .torch_baseline = "torch.log_softmax",
    // oneDNN's is right to tf32 only (seen on f32[1,1] and f32[1024,16]): no CPU library.
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, dim) : 0",
    .c_body =
        "const int64_t n = kg_dim(input, dim), from = kg_line(input, dim, i), to = kg_line(out, dim, i);\n"
        "const int64_t step = kg_stride(input, dim), to_step = kg_stride(out, dim);\n"
        "double largest = kg_get_at(input, from), sum = 0;\n"
        "for (int64_t k = 1; k < n; k++) largest = fmax(largest, kg_get_at(input, from + k * step));\n"
        "for (int64_t k = 0; k < n; k++) sum += exp(kg_get_at(input, from + k * step) - largest);\n"
        "for (int64_t k = 0; k < n; k++)\n"
        "    kg_put_at(out, to + k * to_step, kg_get_at(input, from + k * step) - largest - log(sum));\n",
};
