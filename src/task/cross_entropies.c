// The cross entropy's oracle.
//
// Bounds. log p = (x - m) - log S: x - m rounds, log S errs by S's relative error, which is that of exp (KG_LAMBDA), of
// the x - m in it on average, and of the sum. Kernels that keep m + log S round that too. Taken twice, an error e of
// log p goes on as e and its average, weighted with p, whose log p are spread + log S on average; and the second time
// rounds as well. In half precision fused kernels may store log p, twice, and each of the few steps that make a term of
// it.
#include "task/losses.h"

typedef struct {
    kg_view input, target, weight;
    kg_groups lines;
    int64_t step, target_step, ignore;
    bool classes, half;
    double smoothing;
    kg_cross_entropy_form form;
    kg_groups target_lines;
} loss;

static double weight_of(const loss *l, int64_t class) { return l->weight.data ? kg_at(&l->weight, class) : 1; }

typedef struct {
    double value, local, stored, acc;  // of -log p
} surprise;

static surprise surprise_of(const loss *l, const kg_softmax *s, double x) {
    const double log_sum = fabs(log(s->sum)), relative = s->sum_acc / s->sum;
    surprise r = {.value = log(s->sum) - (x - s->largest), .acc = relative};
    r.local = KG_LAMBDA + 2 * s->spread + 2 * (fabs(x) + fabs(s->largest) + log_sum);
    if (l->form != KG_CROSS_ENTROPY_TWICE) return r;
    const double average = KG_LAMBDA + 4 * s->spread + 2 * (2 * fabs(s->largest) + log_sum);
    r.local += average + KG_LAMBDA + 2 * s->spread + 2 * (fabs(r.value) + log_sum);
    r.stored = s->spread + log_sum;
    r.acc = 3 * relative;
    return r;
}

static kg_loss_term weighed(const loss *l, double factor, const surprise *s) {
    const double v = factor * s->value, size = fabs(factor);
    if (!l->half || l->form == KG_CROSS_ENTROPY_PLAIN)
        return (kg_loss_term){.value = v, .local = size * s->local + 2 * fabs(v), .acc = size * s->acc};
    return (kg_loss_term){
        .value = v, .local = size * s->stored + 6 * fabs(v), .acc = size * (s->acc + s->local) + 2 * fabs(v)};
}

// What -log p of a class counts in a sample's term.
static double factor_of(const loss *l, int64_t class, int64_t target, int64_t target_at) {
    const double p =
        l->classes ? (class == target ? 1 : 0) : kg_at_offset(&l->target, target_at + class * l->target_step);
    return weight_of(l, class) * (p * (1 - l->smoothing) + l->smoothing / (double)l->lines.count);
}

static kg_loss_term over_classes(const loss *l, int64_t index, int64_t target) {
    const kg_softmax s = kg_softmax_of(&l->input, &l->lines, index);
    const int64_t x_at = kg_group_start(&l->lines, index);
    const int64_t target_at = l->classes ? 0 : kg_group_start(&l->target_lines, index);
    const bool one = l->classes && l->smoothing == 0;  // the others' -log p do not count, not even as infinity times 0
    kg_sum_t sum = {0};
    double acc = 0;
    for (int64_t c = one ? target : 0; c < (one ? target + 1 : l->lines.count); c++) {
        const surprise p = surprise_of(l, &s, kg_at_offset(&l->input, x_at + c * l->step));
        const kg_loss_term t = weighed(l, factor_of(l, c, target, target_at), &p);
        kg_sum_add_point(&sum, (kg_point){t.value, t.local});
        acc += t.acc;
    }
    if (one) return (kg_loss_term){kg_sum_value(&sum), sum.largest, acc, weight_of(l, target)};
    return (kg_loss_term){.value = kg_sum_value(&sum),
                          .local = kg_sum_local(&sum),
                          .acc = kg_sum_acc(&sum) + acc,
                          .weight = l->classes ? weight_of(l, target) : 1};
}

static kg_loss_term term(int64_t index, void *ctx) {
    const loss *l = ctx;
    if (!l->classes) return over_classes(l, index, -1);
    const int64_t class = kg_load_int(l->target.desc.dtype, l->target.data, kg_offset(&l->target.desc, index));
    return class == l->ignore ? (kg_loss_term){0} : over_classes(l, index, class);
}

int kg_cross_entropy_ref(const kg_call *call, kg_ref *ref, kg_cross_entropy_form form) {
    const kg_param *params = call->task->params;
    const kg_view input = kg_call_view(call, params[KG_LOSS_INPUT].name);
    const kg_view target = kg_call_view(call, params[KG_LOSS_TARGET].name);
    const kg_arg *smoothing = kg_case_arg(call->c, call->task, "label_smoothing");
    const int dim = kg_class_dim(&input.desc);
    loss l = {.input = input,
              .target = target,
              .weight = kg_call_view(call, "weight"),
              .lines = kg_groups_of(&input.desc, 1 << dim),
              .step = input.desc.stride[dim],
              .ignore = kg_call_arg(call, "ignore_index")->i,
              .classes = kg_target_is_classes(call->c),
              .half = kg_is_half(input.desc.dtype),
              .smoothing = smoothing ? smoothing->f : 0,
              .form = form};
    if (!l.classes) {
        l.target_lines = kg_groups_of(&target.desc, 1 << dim);
        l.target_step = target.desc.stride[dim];
    }
    // Fused forms' terms say themselves what is stored.
    kg_loss_ref(ref, kg_reduction_of(kg_call_arg(call, "reduction")), l.half && form == KG_CROSS_ENTROPY_PLAIN,
                l.lines.lines, term, &l);
    return 0;
}
