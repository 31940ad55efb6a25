// Integer cases leave alpha out: PyTorch wants an integer there, and C has double.
#include "task/scaled.h"

#include <math.h>
#include <string.h>

#define INPUT_OTHER \
    {.name = "input", .kind = KG_P_TENSOR}, { .name = "other", .kind = KG_P_TENSOR }
#define ALPHA \
    { .name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .number = 1 }
#define OUT \
    { .name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG }
const kg_param kg_params_scaled[] = {INPUT_OTHER, ALPHA, OUT, {.name = NULL}};
const kg_param kg_params_scaled_gelu[] = {
    INPUT_OTHER,
    ALPHA,
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    OUT,
    {.name = NULL}};
static const char *const operands[] = {"input", "other", NULL};

// ---- cases ------------------------------------------------------------------------------------------
static bool is_timed(const kg_cases *b) { return b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA; }

static kg_case *pair(kg_cases *b, kg_dtype t, kg_dtype other, double alpha) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(33, 65), KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "other", other, KG_SHAPE(65), KG_NORMAL(0.5, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}

bool kg_may_scale(double alpha, kg_dtype t) { return kg_dtype_is_float(t) || alpha == rint(alpha); }

int kg_scaled_infer(const kg_task *t, kg_case *c) {
    if (kg_infer_broadcast(t, c)) return -1;
    return kg_may_scale(kg_case_arg(c, t, "alpha")->f, c->outs[0].dtype) ? 0 : -1;
}

int kg_scaled_cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    const kg_nary_family f = {
        .params = operands, .dtypes = dtypes, .fill = KG_NORMAL(0.5, 1), .number = 2.5, .mixed = true};
    kg_nary_cases(b, &f);
    if (is_timed(b)) return 0;
    pair(b, KG_F32, KG_F32, -1.75);
    pair(b, KG_F32, KG_F32, 0);
    pair(b, KG_F16, KG_F16, 0.5);
    kg_set_number(pair(b, KG_F32, KG_F32, 3), b->task, "other", 0.375);
    return 0;
}

// No infinities, as for gelu itself: see activations.c.
static void without_specials(kg_cases *b) {
    for (size_t i = 0; i < b->n; i++)
        for (int k = 0; k < b->items[i].n_args; k++)
            if (b->items[i].args[k].fill.kind == KG_FILL_SPECIALS) b->items[i].args[k].fill = KG_UNIFORM(-6, 6);
}

static kg_case *formed(kg_cases *b, kg_dtype t, kg_dtype other, double alpha, const char *approximate) {
    kg_case *c = pair(b, t, other, alpha);
    kg_set_str(c, b->task, "approximate", approximate);
    return c;
}

int kg_scaled_gelu_cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    const kg_nary_family f = {.params = operands, .dtypes = dtypes, .fill = KG_NORMAL(0.5, 1.5)};
    kg_nary_cases(b, &f);
    without_specials(b);
    if (is_timed(b)) return 0;
    pair(b, KG_F32, KG_F32, -1.75);
    pair(b, KG_F32, KG_F32, 0);
    pair(b, KG_F16, KG_F16, 0.5);
    pair(b, KG_F32, KG_F16, 2);
    pair(b, KG_I64, KG_F32, 1)->args[0].fill = KG_INTEGERS(-3, 3);
    formed(b, KG_F32, KG_F32, 1, "tanh");
    formed(b, KG_F32, KG_F32, -0.5, "tanh");
    formed(b, KG_F32, KG_F32, 2.5, "none");
    formed(b, KG_F64, KG_F64, 0.75, "tanh");
    formed(b, KG_BF16, KG_BF16, 0.5, "tanh");
    kg_set_number(pair(b, KG_F32, KG_F32, 3), b->task, "other", 0.375);
    kg_set_number(formed(b, KG_F32, KG_F32, -2, "tanh"), b->task, "other", 0.25);
    pair(b, KG_F32, KG_F32, 1)->args[0].fill = (kg_fill){KG_FILL_CONST, NAN, 0};  // NaN stays
    return 0;
}

int kg_scaled_gelu_infer(const kg_task *t, kg_case *c) {
    return kg_infer_broadcast(t, c) || !kg_dtype_is_float(c->outs[0].dtype) ? -1 : 0;
}

// ---- oracles ----------------------------------------------------------------------------------------
typedef struct {
    double factor;
    bool tanh_form;
} options;

static kg_point sum_of(double input, double scaled) {
    return kg_point_make(input + scaled, fabs(input) + fabs(scaled));
}
static kg_point sum_at(const double *x, const void *ctx) { return sum_of(x[0], ((const options *)ctx)->factor * x[1]); }

// gelu' = Phi + x phi; the tanh form's differs by less than a hundredth.
kg_point kg_scaled_gelu_point(double input, double other, double factor, bool tanh_form) {
    const kg_point z = sum_of(input, factor * other);
    kg_point p = kg_gelu_point(z.value, tanh_form);
    const double slope = fabs(kg_normal_cdf(z.value) + z.value * kg_normal_pdf(z.value));
    if (isfinite(p.value) && isfinite(z.value)) p.local += z.local * (slope + (fabs(z.value) < 6 ? 0.01 : 0));
    return p;
}
static kg_point gelu_at(const double *x, const void *ctx) {
    const options *o = ctx;
    return kg_scaled_gelu_point(x[0], x[1], o->factor, o->tanh_form);
}

static options options_of(const kg_call *call, double sign) {
    return (options){.factor = sign * kg_call_arg(call, "alpha")->f};
}

int kg_scaled_oracle(const kg_call *call, kg_ref *ref, double sign) {
    const options o = options_of(call, sign);
    if (kg_map(call, ref, 2, operands, sum_at, &o)) return -1;
    kg_ref_half(call, ref, 1 / KG_LAMBDA);  // alpha * other may be rounded
    return 0;
}

int kg_scaled_gelu_oracle(const kg_call *call, kg_ref *ref, double sign) {
    options o = options_of(call, sign);
    o.tanh_form = strcmp(kg_call_arg(call, "approximate")->s, "tanh") == 0;
    return kg_map(call, ref, 2, operands, gelu_at, &o);
}

// ---- work -------------------------------------------------------------------------------------------
static double plain_of(const kg_task *t, const kg_case *c) { return kg_case_arg(c, t, "alpha")->f == 1 ? 1 : 2; }
void kg_scaled_work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, plain_of(t, c), 0); }
void kg_scaled_gelu_work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 2 + plain_of(t, c), 1);
}
