// fused_cos_signbit(input) -> (Tensor, Tensor)
//
// The sign bit is that of the cosine as computed: where the exact one is nearer to 0 than an honest kernel errs,
// either is right, and so it is for NaN, whose sign IEEE 754 does not define.
#include "task/pointwise.h"

static const char *const outputs[] = {"cosine", "sign", NULL};

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_NORMAL(0, 4), .wide = KG_LOGSCALE(-12, 10)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -9, 9);
    return 0;
}

static kg_point cosine_at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = cos(*x);
    return isnan(v) ? kg_point_exact(v) : kg_point_make(v, *x * sin(*x));
}

// The allowed difference of a bool is local itself: 1/2 about 1/2 is either.
static kg_point sign_at(double x, kg_dtype cosine) {
    const kg_point p = cosine_at(&x, NULL);
    const bool either = !(fabs(p.value) > kg_dtype_unit(cosine) * p.local);
    return (kg_point){either ? 0.5 : signbit(p.value) != 0, either ? 0.5 : 0};
}

static int signs(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    for (size_t k = 0; k < ref->n; k++) {
        const kg_point p = sign_at(kg_at(&in, ref->index[k]), call->c->outs[0].dtype);
        ref->value[k] = p.value;
        ref->local[k] = p.local;
        ref->acc[k] = 0;
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    return ref->out == 0 ? kg_pointwise_oracle(call, ref, cosine_at) : signs(call, ref);
}

static int infer(const kg_task *t, kg_case *c) {
    kg_infer_two_floats(t, c);
    c->outs[1].dtype = KG_BOOL;
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }

const kg_task kg_task_kbx_fused_cos_signbit = {
    .name = "fused_cos_signbit",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_cos_signbit(input) -> (Tensor, Tensor)",
    .summary = "Cosine of each element, and whether its sign bit is set.",
    .params = kg_params_input,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input: (lambda y: (y, torch.signbit(y)))(torch.cos(input))",
    .c_items = "kg_elements(input)",
    .c_body =
        "const double y = cos(kg_get(input, i));\n"
        "kg_put(cosine, i, y);\n"
        "kg_put(sign, i, signbit(y) != 0);\n",
};
