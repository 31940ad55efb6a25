// erfc_sqrt(input) -> (Tensor, Tensor)
//
// Condition of erfc: 2 x exp(-x^2) / sqrt(pi), in relative terms 2 x^2 at large x. Far right the answer is small and 1
// - erf(x) has lost it, as it must not: being accurate there is what erfc is for.
#include "task/pointwise.h"

static const char *const outputs[] = {"complement", "root", NULL};

static int cases(kg_cases *b) {
    const kg_unary_family f = {.dtypes = kg_floats_and_ints, .fill = KG_UNIFORM(-1, 4), .wide = KG_LOGSCALE(-12, 3)};
    kg_unary_cases(b, &f);
    kg_small_integers(b, -3, 9);
    return 0;
}

static kg_point first_at(const double *x, const void *ctx) {
    (void)ctx;
    const double v = erfc(*x);
    return isfinite(*x) ? kg_point_make(v, *x * exp(-*x * *x) * M_2_SQRTPI) : kg_point_exact(v);
}

static kg_point second_at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_sqrt_point(*x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    return kg_pointwise_oracle(call, ref, ref->out == 0 ? first_at : second_at);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 2); }

const kg_task kg_task_kbx_erfc_sqrt = {
    .name = "erfc_sqrt",
    .suite = "kbx",
    .category = "Math",
    .signature = "erfc_sqrt(input) -> (Tensor, Tensor)",
    .summary = "Complementary error function of each element, and its square root (NaN below zero).",
    .params = kg_params_input,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_two_floats,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input: (torch.erfc(input), torch.sqrt(input))",
    .c_items = "kg_elements(input)",
    .c_body =
        "const double x = kg_get(input, i);\n"
        "kg_put(complement, i, erfc(x));\n"
        "kg_put(root, i, sqrt(x));\n",
};
