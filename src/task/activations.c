// Parameters, cases and oracles of the operations of activations.h.
#include "task/pointwise.h"

#include <string.h>

#include "oracle/reduce.h"

const kg_param kg_params_input_out[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
const kg_param kg_params_input_inplace[] = {{.name = "input", .kind = KG_P_TENSOR},
                                            {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                            {.name = NULL}};
const kg_param kg_params_gelu[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    {.name = NULL}};
const kg_param kg_params_mul[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
const char *const kg_outputs_out[] = {"out", NULL};

static const kg_dtype floats[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
static const kg_dtype floats_and_i32[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_DTYPES};
static const kg_dtype floats_and_ints[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};

static kg_unary_family family(kg_fill fill, kg_fill wide) { return (kg_unary_family){.fill = fill, .wide = wide}; }

static void unary(kg_cases *b, kg_dtype only, const kg_dtype *all, kg_unary_family f) {
    const kg_dtype one[] = {only, KG_DTYPES};
    f.dtypes = only == KG_DTYPES ? all : one;
    kg_unary_cases(b, &f);
}

static bool is_timed(const kg_cases *b) { return b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA; }
static kg_dtype principal(kg_dtype only) { return only == KG_DTYPES ? KG_F32 : only; }

int kg_relu_cases(kg_cases *b, kg_dtype only) {
    // Deviation 1 around 0.25: a wrong sign, or the input itself, cannot pass by chance in three elements.
    unary(b, only, floats_and_ints, family(KG_NORMAL(0.25, 1), KG_LOGSCALE(-20, 15)));
    if (is_timed(b)) return 0;
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", principal(only), KG_SHAPE(1025), KG_NORMAL(0, 1));
    kg_set_bool(c, b->task, "inplace", true);
    c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", kg_tensor_transposed(principal(only), KG_SHAPE(33, 65), 0, 1), KG_NORMAL(0, 1));
    kg_set_bool(c, b->task, "inplace", true);
    return 0;
}

static void gelu_with(kg_cases *b, const char *approximate, kg_dtype t, int64_t n, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, 1, &n, fill);
    kg_set_str(c, b->task, "approximate", approximate);
}

int kg_gelu_cases(kg_cases *b, kg_dtype only) {
    // No infinities: x Phi(x) is -inf * 0 at one end, and PyTorch's own versions disagree (at inf: NaN on the CPU in
    // float32, inf in float16).
    kg_unary_family f = family(KG_NORMAL(0, 2), KG_LOGSCALE(-20, 4));
    f.no_specials = true;
    unary(b, only, floats, f);
    if (is_timed(b)) return 0;
    const kg_dtype t = principal(only);
    // The two forms differ by up to 4.7e-4 near |x| = 2: on the left, where GELU is small, half precision too tells
    // them apart.
    gelu_with(b, "tanh", t, 4099, KG_NORMAL(0, 2));
    gelu_with(b, "tanh", t, 1021, KG_UNIFORM(-3.5, -1.5));
    gelu_with(b, "none", t, 1021, KG_UNIFORM(-3.5, -1.5));
    gelu_with(b, "none", t, 33, (kg_fill){KG_FILL_CONST, NAN, 0});
    gelu_with(b, "tanh", t, 33, (kg_fill){KG_FILL_CONST, NAN, 0});
    gelu_with(b, "tanh", t, 1024, KG_OUTLIERS(0, 1));
    gelu_with(b, "none", t, 1023, KG_NORMAL(0, 2));
    if (b->level == KG_CASES_FULL) {
        gelu_with(b, "tanh", t, 0, KG_NORMAL(0, 2));
        gelu_with(b, "tanh", t, 65537, KG_LOGSCALE(-20, 4));
        gelu_with(b, "none", t, 65537, KG_UNIFORM(-8, 8));
    }
    return 0;
}

int kg_tanh_cases(kg_cases *b, kg_dtype only) {
    unary(b, only, floats_and_i32, family(KG_NORMAL(0, 1.5), KG_LOGSCALE(-12, 5)));
    return 0;
}

int kg_sigmoid_cases(kg_cases *b, kg_dtype only) {
    unary(b, only, floats_and_i32, family(KG_NORMAL(0, 3), KG_LOGSCALE(-12, 7)));
    return 0;
}

static const char *const mul_params[] = {"input", "other", NULL};

int kg_mul_cases(kg_cases *b, kg_dtype only) {
    const kg_dtype one[] = {only, KG_DTYPES};
    const bool all = only == KG_DTYPES;
    const kg_nary_family f = {.params = mul_params,
                              .dtypes = all ? floats_and_ints : one,
                              .fill = KG_NORMAL(0.5, 1),
                              .number = 2.5,
                              .mixed = all};
    kg_nary_cases(b, &f);
    return 0;
}

static void square(kg_cases *b, kg_dtype t, int64_t n) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(n, n), KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "other", t, KG_SHAPE(n, n), KG_NORMAL(0.5, 1));
}

int kg_mul_variant_cases(kg_cases *b, kg_dtype only) {
    if (!is_timed(b)) {
        kg_mul_cases(b, only);
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", only, KG_SHAPE(1025), KG_NORMAL(0.5, 1));
        kg_set_number(c, b->task, "other", 2.5);
        return 0;
    }
    for (int64_t n = 256; n <= (b->level == KG_TIMED_CUDA ? 8192 : 4096); n *= 2) square(b, only, n);
    return 0;
}

// ---- oracles ----------------------------------------------------------------------------------------
static const char *const input[] = {"input"};

static kg_point relu_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_relu_point(*x);
}
static kg_point gelu_at(const double *x, const void *ctx) { return kg_gelu_point(*x, ctx != NULL); }
static kg_point tanh_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_tanh_point(*x);
}
static kg_point sigmoid_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_sigmoid_point(*x);
}
// One rounding.
static kg_point mul_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_flushed_factors(kg_point_make(x[0] * x[1], x[0] * x[1]), x[0], x[1]);
}

int kg_relu_oracle(const kg_call *call, kg_ref *ref) { return kg_map(call, ref, 1, input, relu_at, NULL); }
int kg_gelu_oracle(const kg_call *call, kg_ref *ref) {
    const char *form = kg_call_arg(call, "approximate")->s;
    if (kg_map(call, ref, 1, input, gelu_at, strcmp(form, "tanh") == 0 ? form : NULL)) return -1;
    const kg_dtype t = call->c->outs[ref->out].dtype;
    for (size_t k = 0; (t == KG_F16 || t == KG_BF16) && k < ref->n; k++) {
        ref->acc[k] = KG_GELU_HALF * ref->local[k];
        ref->local[k] = 0;
    }
    return 0;
}
// Half-precision steps: what rounds e = exp(2x) moves the answer v by half (1 - v^2) of it. Its argument 2x log2 e
// rounds twice, the exponential is good to two units (ex2.approx.ftz.bf16x2: 2^-7, PTX ISA) and is stored. Of the forms
// (e - 1) / (e + 1), 1 - 2 / (e + 1) and 2 sigmoid(2x) - 1 the last rounds most behind it, 2 (1 + |v|).
static kg_point tanh_half_at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = tanh(*x), slope = (1 - v) * (1 + v);
    if (!isfinite(*x)) return kg_point_exact(v);
    return (kg_point){v, (2 * fabs(*x) + 1.5) * slope + 2 * (1 + fabs(v))};
}
int kg_tanh_oracle(const kg_call *call, kg_ref *ref) {
    return kg_map(call, ref, 1, input, kg_is_half(call->c->outs[ref->out].dtype) ? tanh_half_at : tanh_at, NULL);
}
// Half-precision steps: the exponential, good to two units (ex2.approx.ftz.bf16x2: 2^-7, PTX ISA), its argument times
// log2 e, the sum and the reciprocal. A factor of 1.05 in the exponential is not among them.
int kg_sigmoid_oracle(const kg_call *call, kg_ref *ref) {
    if (kg_map(call, ref, 1, input, sigmoid_at, NULL)) return -1;
    kg_ref_half(call, ref, 0.5);
    return 0;
}
int kg_mul_oracle(const kg_call *call, kg_ref *ref) {
    if (kg_map(call, ref, 2, mul_params, mul_at, NULL)) return -1;
    kg_ref_half(call, ref, 0);
    return 0;
}

void kg_work_one_op(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }
void kg_work_one_special(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 1); }
