// cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor
//
// With log p = log_softmax over the classes. Class targets: terms -weight[t] log p[t], 0 for ignore_index; mean divides
// by the sum of the weights that counted. Probability targets (input's shape, floating): -sum_c weight[c] target[c] log
// p[c]; mean divides by the number of samples.
//
// Bounds. log p = (x - m) - log S: x - m rounds, log S errs by S's relative error, which is that of exp (KG_LAMBDA), of
// the x - m in it on average, and of the sum. Kernels that keep m + log S round that too.
#include "task/losses.h"
#include "task/shared.h"

int kg_cross_entropy_cases(kg_cases *b) { return kg_class_loss_cases(b, KG_NORMAL(0, 2), true); }

typedef struct {
    kg_view input, target, weight;
    kg_groups lines;
    int64_t step, target_step, ignore;
    bool classes;
    kg_groups target_lines;
} loss;

static double weight_of(const loss *l, int64_t class) { return l->weight.data ? kg_at(&l->weight, class) : 1; }

static double slack(const kg_softmax *s, double x) {
    return KG_LAMBDA + 2 * s->spread + 2 * (fabs(x) + fabs(s->largest) + fabs(log(s->sum)));
}

static kg_loss_term of_class(const loss *l, int64_t index) {
    const int64_t class = kg_load_int(l->target.desc.dtype, l->target.data, kg_offset(&l->target.desc, index));
    if (class == l->ignore) return (kg_loss_term){0};
    const kg_softmax s = kg_softmax_of(&l->input, &l->lines, index);
    const double x = kg_at_offset(&l->input, kg_group_start(&l->lines, index) + class * l->step),
                 w = weight_of(l, class);
    const double v = w * (log(s.sum) - (x - s.largest));
    return (kg_loss_term){
        .value = v, .local = w * slack(&s, x) + 2 * fabs(v), .acc = w * s.sum_acc / s.sum, .weight = w};
}

static kg_loss_term of_probabilities(const loss *l, int64_t index) {
    const kg_softmax s = kg_softmax_of(&l->input, &l->lines, index);
    const int64_t x_at = kg_group_start(&l->lines, index), p_at = kg_group_start(&l->target_lines, index);
    kg_sum_t sum = {0};
    double factors = 0;
    for (int64_t c = 0; c < l->lines.count; c++) {
        const double x = kg_at_offset(&l->input, x_at + c * l->step);
        const double f = weight_of(l, c) * kg_at_offset(&l->target, p_at + c * l->target_step);
        const double v = f * (log(s.sum) - (x - s.largest));
        kg_sum_add_point(&sum, (kg_point){v, fabs(f) * slack(&s, x) + 2 * fabs(v)});
        factors += fabs(f);
    }
    return (kg_loss_term){.value = kg_sum_value(&sum),
                          .local = kg_sum_local(&sum),
                          .acc = kg_sum_acc(&sum) + factors * s.sum_acc / s.sum,
                          .weight = 1};
}

static kg_loss_term term(int64_t index, void *ctx) {
    const loss *l = ctx;
    return l->classes ? of_class(l, index) : of_probabilities(l, index);
}

int kg_cross_entropy_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view input = kg_call_view(call, "input"), target = kg_call_view(call, "target");
    const int dim = kg_class_dim(&input.desc);
    loss l = {.input = input,
              .target = target,
              .weight = kg_call_view(call, "weight"),
              .lines = kg_groups_of(&input.desc, 1 << dim),
              .step = input.desc.stride[dim],
              .ignore = call->c->args[KG_LOSS_IGNORE].i,
              .classes = kg_target_is_classes(call->c)};
    if (!l.classes) {
        l.target_lines = kg_groups_of(&target.desc, 1 << dim);
        l.target_step = target.desc.stride[dim];
    }
    kg_loss_ref(ref, kg_reduction_of(&call->c->args[KG_LOSS_REDUCTION]), kg_is_half(input.desc.dtype), l.lines.lines,
                term, &l);
    return 0;
}

double kg_cross_entropy_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[KG_LOSS_INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

void kg_cross_entropy_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[KG_LOSS_INPUT].tensor);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 3 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const char kg_cross_entropy_body[] =
    "// Each output alone: its own term, or all of them.\n"
    "const bool none = kg_same(reduction, \"none\"), mean = kg_same(reduction, \"mean\");\n"
    "const bool classes = target->dtype.code == kDLInt;\n"
    "const int64_t dim = input->ndim == 1 ? 0 : 1, n = kg_dim(input, dim), step = kg_stride(input, dim);\n"
    "const int64_t terms = kg_elements(input) / n;\n"
    "double sum = 0, weights = 0;\n"
    "for (int64_t k = none ? i : 0; k < (none ? i + 1 : terms); k++) {\n"
    "    const int64_t from = kg_line(input, dim, k), t = classes ? (int64_t)kg_get(target, k) : 0;\n"
    "    if (classes && t == ignore_index) continue;\n"
    "    double largest = kg_get_at(input, from), s = 0;\n"
    "    for (int64_t c = 1; c < n; c++) largest = fmax(largest, kg_get_at(input, from + c * step));\n"
    "    for (int64_t c = 0; c < n; c++) s += exp(kg_get_at(input, from + c * step) - largest);\n"
    "    for (int64_t c = classes ? t : 0; c < (classes ? t + 1 : n); c++) {\n"
    "        const double w = weight ? kg_get(weight, c) : 1.0;\n"
    "        const double p = classes ? 1.0 : kg_get_at(target, kg_line(target, dim, k) + c * kg_stride(target, dim));\n"
    "        sum += w * p * (log(s) - (kg_get_at(input, from + c * step) - largest));\n"
    "        if (classes) weights += w;\n"
    "    }\n"
    "    if (!classes) weights += 1;\n"
    "}\n"
    "kg_put(out, i, mean ? sum / weights : sum);\n";

const kg_task kg_task_kbx_cross_entropy = {
    .name = "cross_entropy",
    .suite = "kbx",
    .category = "Loss",
    .signature = "cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean') -> Tensor",
    .summary =
        "Negated logarithm of the softmax at the target classes (or averaged over target probabilities), weighted, and "
        "its mean or sum.",
    .params = kg_params_class_loss,
    .infer = kg_class_loss_infer,
    .oracle = kg_cross_entropy_oracle,
    .work = kg_cross_entropy_work,
    .c_body = kg_cross_entropy_body,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = kg_cross_entropy_cases,
    .reach = kg_cross_entropy_reach,
    .torch_baseline = "F.cross_entropy",
};
