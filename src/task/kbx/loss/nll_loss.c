// nll_loss(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor
//
// Terms -weight[t] input[n, t]; those of ignore_index are 0 and have no weight. mean divides by the sum of weights.
#include <math.h>

#include "task/losses.h"

static int cases(kg_cases *b) { return kg_class_loss_cases(b, KG_NORMAL(-3, 1), 0); }  // log-probabilities

static int infer(const kg_task *t, kg_case *c) { return kg_target_is_classes(c) ? kg_class_loss_infer(t, c) : -1; }

typedef struct {
    kg_view input, target, weight;
    kg_groups lines;
    int64_t step, ignore;
} loss;

static kg_loss_term term(int64_t index, void *ctx) {
    const loss *l = ctx;
    const int64_t class = kg_load_int(l->target.desc.dtype, l->target.data, kg_offset(&l->target.desc, index));
    if (class == l->ignore) return (kg_loss_term){0};
    const double w = l->weight.data ? kg_at(&l->weight, class) : 1;
    const double x = kg_at_offset(&l->input, kg_group_start(&l->lines, index) + class * l->step), v = -w * x;
    return (kg_loss_term){.value = v, .local = 2 * fabs(v), .weight = w};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view input = kg_call_view(call, "input");
    const int dim = kg_class_dim(&input.desc);
    loss l = {.input = input,
              .target = kg_call_view(call, "target"),
              .weight = kg_call_view(call, "weight"),
              .lines = kg_groups_of(&input.desc, 1 << dim),
              .step = input.desc.stride[dim],
              .ignore = kg_call_arg(call, "ignore_index")->i};
    kg_loss_ref(ref, kg_reduction_of(kg_call_arg(call, "reduction")), kg_is_half(input.desc.dtype),
                kg_numel(&l.target.desc), term, &l);
    return 0;
}

static double terms_of(const kg_case *c) { return (double)kg_numel(&c->args[KG_LOSS_TARGET].tensor); }

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, terms_of(c) / fmax(1, (double)kg_numel(&c->outs[0])));
}

// One input element of every sample: the others need not be read.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = terms_of(c), size = (double)kg_dtype_size(c->args[KG_LOSS_INPUT].tensor.dtype);
    *w = (kg_work){.bytes_read = n * (size + (double)kg_dtype_size(c->args[KG_LOSS_TARGET].tensor.dtype)),
                   .bytes_written = (double)kg_case_output_bytes(c, t)};
    const kg_arg *weight = kg_case_arg(c, t, "weight");
    if (!weight->none) w->bytes_read += (double)kg_span_bytes(&weight->tensor);
    w->bytes_read = fmin(w->bytes_read, (double)kg_case_input_bytes(c, t));  // expanded inputs are read once
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 2 * n;
}

const kg_task kg_task_kbx_nll_loss = {
    .name = "nll_loss",
    .suite = "kbx",
    .category = "Loss",
    .signature = "nll_loss(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor",
    .summary = "Negated log-probabilities of the target classes, weighted, and their mean or sum.",
    .params = kg_params_class_loss,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.nll_loss",
    .c_body =
        "// Each output alone: its own term, or all of them.\n"
        "const bool none = kg_same(reduction, \"none\"), mean = kg_same(reduction, \"mean\");\n"
        "const int64_t terms = kg_elements(target), dim = input->ndim == 1 ? 0 : 1;\n"
        "double sum = 0, weights = 0;\n"
        "for (int64_t k = none ? i : 0; k < (none ? i + 1 : terms); k++) {\n"
        "    const int64_t c = (int64_t)kg_get(target, k);\n"
        "    if (c == ignore_index) continue;\n"
        "    const double w = weight ? kg_get(weight, c) : 1.0;\n"
        "    sum -= w * kg_get_at(input, kg_line(input, dim, k) + c * kg_stride(input, dim));\n"
        "    weights += w;\n"
        "}\n"
        "kg_put(out, i, mean ? sum / weights : sum);\n",
};
