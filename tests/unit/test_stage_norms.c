// Stages of fused operations that spread, order or measure: values and errors by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/stages.h"

static const kg_rung f32 = {0x1p-24, 0x1p-24, false};

static void near(double got, double want) { assert_true(fabs(got - want) <= 1e-14 * (1 + fabs(want))); }

// Deviations of 1, 2, 3, 4: 1.5, 0.5, 0.5, 1.5; their squares add up to 5.
static void variance(void **state) {
    (void)state;
    kg_term x[4] = {{1, 3, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}};
    const kg_stage s = {4, x};
    const kg_term biased = kg_stage_variance(&f32, &s, 4), unbiased = kg_stage_variance(&f32, &s, 3);
    near(biased.value, 1.25);
    near(unbiased.value, 5.0 / 3);
    near(biased.local, (2 * 1.5 + 3 * 0x1p-24) * 3 / 4 + 2 * 1.25);
}

static void largest(void **state) {
    (void)state;
    kg_term x[3] = {{1, 1, 0}, {5, 2, 0}, {3, 100, 0}};
    const kg_stage s = {3, x};
    kg_term m = kg_stage_max(&f32, &s);
    assert_true(m.value == 5 && m.local == 2);
    x[0] = (kg_term){5 - 0x1p-22, 4, 1};  // within its error of 5
    m = kg_stage_max(&f32, &s);
    assert_true(m.value == 5 && m.local == 4 && m.acc == 1);
    x[0].value = NAN;
    assert_true(isnan(kg_stage_max(&f32, &s).value));
    x[0].value = x[1].value = x[2].value = -INFINITY;
    assert_true(kg_stage_max(&f32, &s).value == -INFINITY);
}

// Two values that their errors cannot tell apart: what they are normalised to is uncertain, and no NaN.
static void uncertain_spread(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        kg_term x[2] = {{1, 4, k}, {1 + 0x1p-30, 4, k}}, y[2] = {{1e-9, 0x1p4, 0}, {0, 0x1p4, 0}};
        kg_stage s = {2, x}, t = {2, y};
        kg_stage_layer_norm(&f32, &s, 1e-30, NULL, NULL);
        kg_stage_rms_norm(&f32, &t, 1e-30, NULL);
        for (int i = 0; i < 2; i++) {
            const double e = kg_term_error(&f32, x[i]), of_root = kg_term_error(&f32, y[i]);
            assert_true(e > 1 && isfinite(e));
            assert_true(of_root > 1 && of_root < 8);
        }
    }
}

static double norm(const double *x, int n, double p) {
    double s = 0;
    for (int i = 0; i < n; i++) s += pow(fabs(x[i]), p);
    return pow(s, 1 / p);
}

static void p_norms(void **state) {
    (void)state;
    kg_term x[2] = {{3, 0, 0}, {-4, 0, 0}};
    const kg_stage s = {2, x};
    near(kg_stage_p_norm(&f32, &s, 1).value, 7);
    near(kg_stage_p_norm(&f32, &s, 2).value, 5);
    near(kg_stage_p_norm(&f32, &s, 3).value, cbrt(91));
    near(kg_stage_p_norm(&f32, &s, INFINITY).value, 4);
    near(kg_stage_p_norm(&f32, &s, 0.5).value, (sqrt(3) + 2) * (sqrt(3) + 2));
    x[0].value = NAN;
    assert_true(isnan(kg_stage_p_norm(&f32, &s, INFINITY).value));
}

// Errors far larger than an element, and a norm of nothing but errors.
static void p_norms_move_as_far_as_errors_say(void **state) {
    (void)state;
    static const double powers[] = {0.5, 1, 1.5, 2, 3, INFINITY};
    for (int k = 0; k < 6; k++)
        for (int zero = 0; zero < 2; zero++) {
            const double p = powers[k], e = 0.01, big = zero ? 0 : 2;
            kg_term x[3] = {{0, e * 0x1p24, 0}, {1e-4 * !zero, e * 0x1p24, 0}, {big, e * 0x1p24, 0}};
            const kg_stage s = {3, x};
            const kg_term n = kg_stage_p_norm(&f32, &s, p);
            const double worst[3] = {e, x[1].value + e, big + e};
            const double moved = isinf(p) ? worst[2] - n.value : norm(worst, 3, p) - n.value;
            const double bound = kg_term_error(&f32, n);
            assert_true(moved <= bound * (1 + 1e-9) && bound < 1.01 * moved + 1e-4);
        }
}

static void constants(void **state) {
    (void)state;
    const kg_term x = {3, 2, 4}, z = kg_term_normalise(&f32, x, 1, 4);
    near(z.value, 1);
    near(z.local, 0.5 * 2 + KG_LAMBDA + 2 * 0.5 * (3 + 1));
    near(z.acc, 0.5 * 4);
    const kg_rung fine = {0x1p-11, 0x1p-24, false};  // tf32 in front, float32 behind
    const kg_term y = kg_term_normalise(&fine, x, 1, 4);
    near(y.local, 0.5 * 2);
    near(y.acc, 0.5 * 4 + KG_LAMBDA + 2 * 0.5 * (3 + 1));
}

// torch.nn.functional.selu and silu in float64.
static void activations(void **state) {
    (void)state;
    near(kg_selu_point(1).value, 1.0507009873554805);
    near(kg_selu_point(-1).value, -1.1113307378125625);
    near(kg_silu_point(1).value, 0.7310585786300049);
    near(kg_silu_point(-2).value, -0.2384058440442351);
    assert_true(isnan(kg_silu_point(-INFINITY).value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variance),
        cmocka_unit_test(largest),
        cmocka_unit_test(uncertain_spread),
        cmocka_unit_test(p_norms),
        cmocka_unit_test(p_norms_move_as_far_as_errors_say),
        cmocka_unit_test(constants),
        cmocka_unit_test(activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
