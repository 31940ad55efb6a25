// Taps between elements: the weights of both kernels against numbers worked out by hand, what happens at the ends, and
// which elements a rounding may choose.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/resample.h"

static kg_position at(double x) { return (kg_position){.at = x, .error = 0, .slack = 0}; }

static void assert_taps(const kg_taps *t, int n, int64_t first, const double *weight) {
    assert_int_equal(t->n, n);
    for (int k = 0; k < n; k++) {
        assert_int_equal(t->at[k], first + k);
        assert_true(fabs(t->weight[k] - weight[k]) < 1e-15);
    }
}

static void linear_weights(void **state) {
    (void)state;
    const kg_taps t = kg_taps_linear(at(2.25)), below = kg_taps_linear(at(-0.5));
    assert_taps(&t, 2, 2, (const double[]){0.75, 0.25});
    assert_taps(&below, 2, -1, (const double[]){0.5, 0.5});
}

// Keys's polynomials with a = -3/4. At 1/2: 1.25/8 - 2.25/4 + 1 = 0.59375 and, at 3/2, -0.75 (3.375 - 11.25 + 12 - 4) =
// -0.09375. At 1/4 and 5/4: 1.25/64 - 2.25/16 + 1 = 0.87890625, -0.75 (1.953125 - 7.8125 + 10 - 4) = -0.10546875; the
// other two from their distances 3/4 and 7/4: 0.26171875, -0.03515625.
static void cubic_weights(void **state) {
    (void)state;
    const kg_taps middle = kg_taps_cubic(at(4.5)), quarter = kg_taps_cubic(at(0.25)), element = kg_taps_cubic(at(3));
    assert_taps(&middle, 4, 3, (const double[]){-0.09375, 0.59375, 0.59375, -0.09375});
    assert_taps(&quarter, 4, -1, (const double[]){-0.10546875, 0.87890625, 0.26171875, -0.03515625});
    assert_taps(&element, 4, 2, (const double[]){0, 1, 0, 0});
}

static void ends(void **state) {
    (void)state;
    kg_taps clamped = kg_taps_cubic(at(0.25)), dropped = clamped;
    kg_taps_clamp(&clamped, 2);
    assert_int_equal(clamped.at[0], 0);
    assert_int_equal(clamped.at[3], 1);
    kg_taps_drop(&dropped, 2);
    assert_int_equal(dropped.at[0], -1);
    assert_int_equal(dropped.at[1], 0);
    assert_int_equal(dropped.at[3], -1);
}

// A position on an integer but for its slack may be rounded down either way; far from one it may not.
static void roundings(void **state) {
    (void)state;
    assert_int_equal(kg_taps_floor(3, 0).n, 1);
    assert_int_equal(kg_taps_floor(3.5, 0.1).n, 1);
    const kg_taps above = kg_taps_floor(3.05, 0.1), below = kg_taps_floor(2.95, 0.1);
    assert_int_equal(above.n, 2);
    assert_int_equal(above.at[0], 3);
    assert_int_equal(above.at[1], 2);
    assert_int_equal(below.n, 2);
    assert_int_equal(below.at[0], 2);
    assert_int_equal(below.at[1], 3);
}

// Two by two elements 1 2 / 3 5 in their middle and at a corner that is not there.
static void values(void **state) {
    (void)state;
    const float x[] = {1, 2, 3, 5};
    const kg_view v = {kg_tensor_contiguous(KG_F32, KG_SHAPE(2, 2)), x};
    kg_taps t[2] = {kg_taps_linear(at(0.5)), kg_taps_linear(at(0.25))};
    const kg_weighted middle = kg_taps_weighted(&v, 0, 2, t);
    assert_true(fabs(middle.value - (0.5 * (0.75 * 1 + 0.25 * 2) + 0.5 * (0.75 * 3 + 0.25 * 5))) < 1e-15);
    assert_true(middle.magnitude == middle.value);
    t[0] = t[1] = kg_taps_linear(at(1.5));
    kg_taps_drop(&t[0], 2), kg_taps_drop(&t[1], 2);
    assert_true(kg_taps_weighted(&v, 0, 2, t).value == 1.25);
    t[0] = kg_taps_floor(1, 0), t[1] = kg_taps_floor(1, 0.1);  // 5, or 3 beside it
    const kg_point either = kg_taps_picked(&v, 0, 2, t);
    assert_true(either.value == 4);
    assert_true(either.local * 0x1p-24 >= 1 && either.local * 0x1p-24 < 1.001);
}

// A number or an infinity, by the rounding of a position: neither is held against a kernel.
static void either_special(void **state) {
    (void)state;
    const float x[] = {1, -INFINITY, 3, NAN};
    const kg_view v = {kg_tensor_contiguous(KG_F32, KG_SHAPE(4)), x};
    const kg_taps infinite = kg_taps_floor(1, 0.1), sure = kg_taps_floor(1, 0), nan = kg_taps_floor(3, 0.1);
    assert_true(kg_taps_picked(&v, 0, 1, &infinite).local == KG_ANY_ANSWER);
    assert_true(kg_taps_picked(&v, 0, 1, &nan).local == KG_ANY_ANSWER);
    assert_true(kg_taps_picked(&v, 0, 1, &sure).value == -INFINITY);
    assert_true(kg_taps_picked(&v, 0, 1, &sure).local == 0);
}

// Horner's scheme in float32 on [1, 2], as PyTorch and the examples have it: its roundings add up where the weight
// ends.
static float outer_weight(float s) {
    const float a = -0.75f;
    return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
}

static void outer_weights_round_within_their_error(void **state) {
    (void)state;
    double worst = 0;
    for (int k = 1; k < 1 << 16; k++) {
        const float s = (float)(1 + fmod(k * 0.6180339887498949, 1));  // all bits of it used
        const kg_taps taps = kg_taps_cubic((kg_position){.at = 4 + (double)s});
        const double off = fabs((double)outer_weight(s) - taps.weight[0]) / 0x1p-24;
        assert_true(off <= taps.error[0]);
        worst = fmax(worst, off);
    }
    assert_true(worst > 16);  // 19.9 were seen of four million
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_weights),
        cmocka_unit_test(cubic_weights),
        cmocka_unit_test(ends),
        cmocka_unit_test(roundings),
        cmocka_unit_test(values),
        cmocka_unit_test(either_special),
        cmocka_unit_test(outer_weights_round_within_their_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
