// Integers, scales, what may be one off, and exact sums of products: by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "oracle/quantise.h"

static kg_quants quantised(const double *x, int64_t n, double largest, const kg_grid *g) {
    kg_quants q;
    assert_int_equal(kg_quants_make(&q, n), 0);
    kg_quantise(&q, x, NULL, n, largest, 0, g);
    return q;
}

// 127 / 127 = 1: values are their own integers, ties are open, and 1e-4 beside a tie of 3.5 is not.
static void ties_may_be_either(void **state) {
    (void)state;
    const double x[] = {127, -127, 0, 3.5, 3.5001, -0.5, 2.4};
    kg_quants q = quantised(x, 7, 127, &kg_int8_grids[0]);
    const int want[] = {127, -127, 0, 4, 4, 0, 2}, off[] = {0, 0, 0, 1, 0, 1, 0};
    assert_true(q.scale == 1);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(q.q[i], want[i]);
        assert_int_equal(q.off[i], off[i]);
    }
    assert_int_equal(q.n_open, 2);
    kg_quants_free(&q);
}

// 3.5 (1 + 1e-6) is 3.5e-6 beside the tie; 8 u 3.5 is 1.7e-6, and 1e-8 on a scale of 0.01 is 1e-6 of it.
static void near_is_what_float_quotients_and_kept_scales_may_err_by(void **state) {
    (void)state;
    const double one = 3.5 * (1 + 1e-6), small = 0.01 * 3.5 * (1 + 1e-6);
    kg_quants q = quantised(&one, 1, 127, &kg_int8_grids[0]);
    assert_int_equal(q.off[0], 0);
    kg_quants_free(&q);
    q = quantised(&small, 1, 1.27, &kg_int8_grids[0]);
    assert_int_equal(q.off[0], 1);
    kg_quants_free(&q);
}

static void grids_clamp(void **state) {
    (void)state;
    const double x[] = {128, -128, 127.2, -127.2};
    const struct {
        const kg_grid *g;
        int want[4];
    } c[] = {{&kg_int8_grids[2], {127, -128, 127, -127}}, {&kg_int8_grids[3], {127, -127, 127, -127}}};
    for (int k = 0; k < 2; k++) {
        kg_quants q = quantised(x, 4, 128, c[k].g);
        for (int i = 0; i < 4; i++) assert_int_equal(q.q[i], c[k].want[i]);
        kg_quants_free(&q);
    }
    // 127.5 (PyTorch's observers): the largest is always a tie; above it is clamped, below it -127 or -128.
    kg_quants q = quantised((const double[]){127.5, -127.5}, 2, 127.5, &kg_int8_grids[1]);
    assert_int_equal(q.q[0], 127);
    assert_int_equal(q.off[0], 0);
    assert_int_equal(q.q[1], -128);
    assert_int_equal(q.off[1], 1);
    kg_quants_free(&q);
}

// 0.7 / 7 in half precision is 0.0999755859375; 0.25 over it is 2.50061..., in half 2.5: a tie, though 2.5006 is none.
static void half_quotients_make_ties(void **state) {
    (void)state;
    kg_grid g = kg_int4_grids[0];
    const double x = 0.25;
    g.half_scale = true;
    kg_quants q = quantised(&x, 1, 0.7, &g);
    assert_true(q.scale == 0.0999755859375);
    assert_int_equal(q.q[0], 3);
    assert_int_equal(q.off[0], 0);
    kg_quants_free(&q);
    g.half_quotient = true;
    q = quantised(&x, 1, 0.7, &g);
    assert_int_equal(q.off[0], 1);
    kg_quants_free(&q);
}

// A scale of 1 that may be half as large: 3 may be 6.
static void smaller_scales_make_larger_integers(void **state) {
    (void)state;
    const double x = 3;
    kg_quants q;
    assert_int_equal(kg_quants_make(&q, 1), 0);
    kg_quantise(&q, &x, NULL, 1, 127, 0.5, &kg_int8_grids[0]);
    assert_int_equal(q.q[0], 3);
    assert_int_equal(q.off[0], 3);
    kg_quants_free(&q);
}

static void zeros_have_scale_zero(void **state) {
    (void)state;
    kg_quants q = quantised((const double[]){0, -0.0}, 2, 0, &kg_int8_grids[0]);
    const kg_quant_value v = kg_dequantise(&q, &q, kg_quant_dot(&q, &q, 2));
    assert_true(q.scale == 0 && v.value == 0 && v.slack == 0 && v.arithmetic == 0);
    kg_quants_free(&q);
}

// (127, 3.5 open, 10) . (1, 5, 0.5 open): 127 + 20 + 0; slack 1 * 5 + 1 * 10.
static void sums_are_exact_and_open_integers_slack(void **state) {
    (void)state;
    kg_quants a = quantised((const double[]){127, 3.5, 10}, 3, 127, &kg_int8_grids[0]);
    kg_quants b = quantised((const double[]){1, 5, 0.5}, 3, 127, &kg_int8_grids[0]);
    kg_quant_sum s = kg_quant_dot(&a, &b, 3);
    assert_true(s.sum == 147 && s.slack == 15);
    kg_quants_free(&a);
    kg_quants_free(&b);
    const int64_t n = 300000;  // beyond 2^31
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = 127;
    a = quantised(x, n, 127, &kg_int8_grids[0]);
    s = kg_quant_dot(&a, &a, n);
    assert_true(s.sum == 127.0 * 127 * 300000);
    kg_quants_free(&a);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_may_be_either),
        cmocka_unit_test(near_is_what_float_quotients_and_kept_scales_may_err_by),
        cmocka_unit_test(grids_clamp),
        cmocka_unit_test(half_quotients_make_ties),
        cmocka_unit_test(smaller_scales_make_larger_integers),
        cmocka_unit_test(zeros_have_scale_zero),
        cmocka_unit_test(sums_are_exact_and_open_integers_slack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
