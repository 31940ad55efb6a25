// Losses over classes: parameters, cases, reductions.
#include "task/losses.h"

#include <string.h>

const kg_param kg_params_class_loss[] = {{.name = "input", .kind = KG_P_TENSOR},
                                         {.name = "target", .kind = KG_P_TENSOR},
                                         KG_LOSS_WEIGHT,
                                         KG_LOSS_IGNORE_INDEX,
                                         KG_LOSS_REDUCTION,
                                         {.name = NULL}};
const char *const kg_outputs_loss[] = {"out", NULL};

kg_reduction kg_reduction_of(const kg_arg *reduction) {
    if (strcmp(reduction->s, "none") == 0) return KG_REDUCE_NONE;
    return strcmp(reduction->s, "sum") == 0 ? KG_REDUCE_SUM : KG_REDUCE_MEAN;
}

bool kg_target_is_classes(const kg_case *c) { return !kg_dtype_is_float(c->args[KG_LOSS_TARGET].tensor.dtype); }

// ---- reductions -------------------------------------------------------------------------------------
// Kernels may store every term before they add them up: `stored` is a half-precision rounding of each. Errors of the
// terms are independent and add like a random walk, except those that come from one cause (acc: they do not, so they
// add).
typedef struct {
    kg_sum_t values, weights;
    double acc, stored2, stored_most;
} totals;

static void add_term(totals *t, kg_loss_term term) {
    kg_sum_add_point(&t->values, (kg_point){term.value, term.local});
    kg_sum_add(&t->weights, term.weight);
    t->acc += term.acc;
    t->stored2 += term.value * term.value;
    t->stored_most = fmax(t->stored_most, fabs(term.value));
}

static void put_total(kg_ref *ref, size_t k, bool half, bool mean, const totals *t) {
    const double by = mean ? kg_sum_value(&t->weights) : 1, value = kg_sum_value(&t->values) / by;
    if (!isfinite(value)) {
        kg_ref_put(ref, k, false, value, 0, 0, 0);
        return;
    }
    const double weights = mean ? fabs(value) * kg_sum_acc(&t->weights) / by : 0;
    kg_ref_put(ref, k, half, value, kg_sum_local(&t->values) / by + 4 * fabs(value),
               (4 * sqrt(t->stored2) + 2 * t->stored_most) / by + fabs(value),
               (kg_sum_acc(&t->values) + t->acc) / by + weights);
}

void kg_loss_ref(kg_ref *ref, kg_reduction reduction, bool half, int64_t terms, kg_loss_fn f, void *ctx) {
    for (size_t k = 0; k < ref->n; k++) {
        if (reduction == KG_REDUCE_NONE) {
            const kg_loss_term t = f(ref->index[k], ctx);
            const bool finite = isfinite(t.value);
            kg_ref_put(ref, k, half && finite, t.value, finite ? t.local : 0, finite ? 2 * fabs(t.value) : 0,
                       finite ? t.acc : 0);
            continue;
        }
        totals t = {0};
        // A NaN decides. Cases of 2^31 terms have it last, so that their sum takes no minutes.
        const kg_loss_term last = terms ? f(terms - 1, ctx) : (kg_loss_term){0};
        if (isnan(last.value)) add_term(&t, last);
        else
            for (int64_t i = 0; i < terms; i++) add_term(&t, f(i, ctx));
        put_total(ref, k, half, reduction == KG_REDUCE_MEAN, &t);
    }
}

// ---- cases ------------------------------------------------------------------------------------------
static const char *target_name(const kg_cases *b) { return b->task->params[KG_LOSS_TARGET].name; }

#define add kg_class_loss_case
kg_case *add(kg_cases *b, kg_fill fill, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    const int dim = kg_class_dim(&input);
    kg_set_strided(c, b->task, b->task->params[KG_LOSS_INPUT].name, input, fill);
    kg_tensor target = kg_reduced_shape(&input, 1 << dim, false, KG_I64);
    kg_set_strided(c, b->task, target_name(b), target, KG_INTEGERS(0, (double)(input.shape[dim] - 1)));
    return c;
}
static kg_case *reduced(kg_cases *b, kg_case *c, const char *reduction) {
    kg_set_str(c, b->task, "reduction", reduction);
    return c;
}
static kg_case *weighted(kg_cases *b, kg_case *c) {
    const kg_tensor *in = &c->args[KG_LOSS_INPUT].tensor;
    kg_set_tensor(c, b->task, "weight", in->dtype, KG_SHAPE(in->shape[kg_class_dim(in)]), KG_UNIFORM(0.25, 2));
    return c;
}
static kg_case *ignoring(kg_cases *b, kg_case *c, int64_t index) {
    kg_set_int(c, b->task, "ignore_index", index);
    return c;
}
// target and weight as views of larger tensors.
static kg_case *stepped(kg_cases *b, kg_case *c) {
    const kg_arg *target = &c->args[KG_LOSS_TARGET], *weight = kg_case_arg(c, b->task, "weight");
    kg_set_strided(c, b->task, target_name(b),
                   kg_tensor_stepped(target->tensor.dtype, target->tensor.ndim, target->tensor.shape, 3), target->fill);
    kg_set_strided(c, b->task, "weight", kg_tensor_stepped(weight->tensor.dtype, 1, weight->tensor.shape, 2),
                   weight->fill);
    return c;
}
static kg_case *probable(kg_cases *b, kg_case *c) {
    const kg_tensor *in = &c->args[KG_LOSS_INPUT].tensor;
    kg_set_tensor(c, b->task, target_name(b), in->dtype, in->ndim, in->shape, KG_UNIFORM(0, 1));
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void shaped(kg_cases *b, kg_fill fill, bool probabilities) {
    add(b, fill, F32(17));       // one sample, no batch
    add(b, fill, F32(3, 5, 7));  // a class for each of 7 places
    reduced(b, weighted(b, add(b, fill, F32(3, 5, 7))), "none");
    weighted(b, add(b, fill, F32(3, 5, 7)));
    reduced(b, add(b, fill, F32(2, 1031, 3)), "none");  // many classes, which do not lie side by side
    ignoring(b, weighted(b, add(b, fill, F32(2, 3, 4, 5))), 1);
    reduced(b, ignoring(b, add(b, fill, F32(3, 5, 7)), 2), "none");
    reduced(b, weighted(b, add(b, fill, F32(17))), "sum");
    reduced(b, add(b, fill, kg_tensor_transposed(KG_F32, KG_SHAPE(3, 5, 7), 1, 2)), "none");
    if (!probabilities) return;
    probable(b, add(b, fill, F32(3, 5, 7)));
    reduced(b, probable(b, weighted(b, add(b, fill, F32(3, 5, 7)))), "none");
    reduced(b, probable(b, add(b, fill, F32(17))), "sum");
}

static void quick(kg_cases *b, kg_fill fill) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, fill, F32(1, 3));
    add(b, fill, F32(33, 10));
    reduced(b, add(b, fill, F32(33, 10)), "none");
    reduced(b, add(b, fill, F32(33, 10)), "sum");
    weighted(b, add(b, fill, F32(33, 10)));
    reduced(b, weighted(b, add(b, fill, F32(33, 10))), "none");
    weighted(b, add(b, fill, F32(33, 1031)));
    ignoring(b, add(b, fill, F32(65, 4)), 1);
    ignoring(b, reduced(b, weighted(b, add(b, fill, F32(65, 4))), "sum"), 1);
    ignoring(b, weighted(b, add(b, fill, F32(65, 4))), 1);  // the mean leaves out its weight
    ignoring(b, add(b, fill, F32(65, 4)), -1)->args[KG_LOSS_TARGET].fill = KG_INTEGERS(-1, 3);
    reduced(b, add(b, fill, F32(5, 4)), "sum")->args[KG_LOSS_TARGET].fill = KG_INTEGERS(-100, -100);  // by default
    reduced(b, ignoring(b, add(b, fill, F32(65, 4)), 2), "none");
    ignoring(b, add(b, fill, F32(9, 1)), 0);  // all ignored: 0 / 0
    reduced(b, add(b, fill, F32(0, 5)), "sum");
    add(b, fill, F32(257, 1000));
    add(b, fill, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 10), 0, 1));
    stepped(b, weighted(b, add(b, fill, F32(35, 10))));
    reduced(b, add(b, fill, F32(33, 257)), "none")->args[KG_LOSS_INPUT].fill = KG_OUTLIERS(0, 1);  // exp overflows
    for (size_t i = 0; i < KG_HARD_LOGITS; i++)
        reduced(b, add(b, kg_hard_logits[i].fill, kg_tensor_contiguous(KG_F32, 2, kg_hard_logits[i].shape)), "none");
    add(b, fill, F32(4099, 3));
    reduced(b, add(b, fill, F32(200, 3)), "none")->args[KG_LOSS_INPUT].fill = KG_SPECIALS(0, 1);
    // Nothing of a sample that is ignored shows.
    reduced(b, ignoring(b, add(b, fill, F32(200, 3)), 1), "none")->args[KG_LOSS_INPUT].fill = KG_SPECIALS(0, 1);
    add(b, fill, F32(33, 10))->args[KG_LOSS_INPUT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    reduced(b, add(b, fill, F32(33, 10)), "sum")->args[KG_LOSS_INPUT].fill = (kg_fill){KG_FILL_CONST, -INFINITY, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, fill, kg_tensor_contiguous(others[i], KG_SHAPE(65, 33)));
        reduced(b, add(b, fill, kg_tensor_contiguous(others[i], KG_SHAPE(65, 33))), "none");
        reduced(b, weighted(b, add(b, fill, kg_tensor_contiguous(others[i], KG_SHAPE(65, 33)))), "none");
    }
    weighted(b, add(b, fill, kg_tensor_contiguous(KG_F64, KG_SHAPE(65, 33))));
}

static void with_probabilities(kg_cases *b, kg_fill fill) {
    probable(b, add(b, fill, F32(33, 10)));
    reduced(b, probable(b, weighted(b, add(b, fill, F32(33, 10)))), "none");
    reduced(b, probable(b, weighted(b, add(b, fill, F32(5, 1031)))), "none");
    kg_case *c = reduced(b, probable(b, add(b, fill, F32(33, 10))), "none");
    kg_set_strided(c, b->task, target_name(b), kg_tensor_transposed(KG_F32, KG_SHAPE(33, 10), 0, 1),
                   c->args[KG_LOSS_TARGET].fill);
    probable(b, weighted(b, add(b, fill, F32(33, 10))));  // the mean counts samples, not weights
}

static kg_case *smoothed(kg_cases *b, kg_case *c, double smoothing) {
    kg_set_float(c, b->task, "label_smoothing", smoothing);
    return c;
}
static void with_smoothing(kg_cases *b, kg_fill fill, bool probabilities, bool flat) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    smoothed(b, add(b, fill, F32(33, 10)), 0.25);
    smoothed(b, add(b, fill, F32(33, 10)), 1);
    smoothed(b, reduced(b, add(b, fill, F32(33, 10)), "none"), 0.1);
    smoothed(b, weighted(b, add(b, fill, F32(33, 10))), 0.5);  // the mean counts the target's weight alone
    smoothed(b, reduced(b, weighted(b, add(b, fill, F32(33, 10))), "sum"), 0.5);
    smoothed(b, reduced(b, weighted(b, add(b, fill, F32(5, 1031))), "none"), 0.5);
    smoothed(b, ignoring(b, weighted(b, add(b, fill, F32(65, 4))), 2), 0.5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        smoothed(b, weighted(b, add(b, fill, kg_tensor_contiguous(others[i], KG_SHAPE(65, 33)))), 0.25);
    if (!flat) smoothed(b, ignoring(b, weighted(b, add(b, fill, F32(3, 5, 7))), 1), 0.25);
    if (!probabilities) return;
    smoothed(b, probable(b, add(b, fill, F32(33, 10))), 0.25);
    smoothed(b, reduced(b, probable(b, weighted(b, add(b, fill, F32(33, 10)))), "none"), 0.5);
}

static void full(kg_cases *b, kg_fill fill, bool flat) {
    add(b, fill, F32(0, 5));  // mean of nothing: NaN
    if (!flat) reduced(b, weighted(b, add(b, fill, F32(2, 3, 4, 5))), "mean");
    add(b, fill, F32(2, 50257));
}

int kg_class_loss_cases(kg_cases *b, kg_fill fill, unsigned which) {
    const bool probabilities = which & KG_LOSS_PROBABILITIES, flat = which & KG_LOSS_FLAT;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b, fill);
        if (!flat) shaped(b, fill, probabilities);
        if (probabilities) with_probabilities(b, fill);
        if (which & KG_LOSS_SMOOTHED) with_smoothing(b, fill, probabilities, flat);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b, fill, flat);
        return 0;
    }
    if (b->level == KG_TIMED_CUDA)
        for (int64_t n = 256; n <= 32768; n *= 2) add(b, fill, F32(n, 1000));
    else
        for (int64_t n = 16; n <= 16384; n *= 4) add(b, fill, F32(n, 1000));
    return 0;
}
#undef F32
#undef add

int kg_class_loss_infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[KG_LOSS_INPUT].tensor, *target = &c->args[KG_LOSS_TARGET].tensor;
    const bool classes = kg_target_is_classes(c);
    if (in->ndim < 1 || !kg_dtype_is_float(in->dtype)) return -1;
    const kg_tensor terms = kg_reduced_shape(in, 1 << kg_class_dim(in), false, in->dtype);
    if (kg_numel(target) != kg_numel(classes ? &terms : in) || target->ndim != in->ndim - (classes ? 1 : 0)) return -1;
    const bool none = kg_reduction_of(kg_case_arg(c, t, "reduction")) == KG_REDUCE_NONE;
    c->n_outs = 1;
    c->outs[0] = none ? terms : kg_tensor_contiguous(in->dtype, 0, NULL);
    return 0;
}
