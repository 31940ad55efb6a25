// Outputs judged by what must hold: bounds, and the tests of random numbers. Their limits against numbers from a
// source; that good generators pass and the mistakes people make do not.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/chance.h"
#include "oracle/fourier.h"
#include "task/dropout.h"

static kg_holds start(void) {
    return (kg_holds){
        .task = kg_task_find("fused_hardshrink_dropout"), .lock = PTHREAD_MUTEX_INITIALIZER, .at_required = -1};
}
// What was found, which is then forgotten.
static bool holds(kg_holds *h) {
    const bool so = h->at_required <= 1;
    assert_true(so == !h->where);
    free(h->where);
    *h = start();
    return so;
}

static double uniform(uint64_t seed, uint64_t i) {
    const kg_philox r = kg_philox4x32(seed, i, 0);
    return ((double)r.v[0] + (double)r.v[1] * 0x1p-32) * 0x1p-32;
}

static void a_number_is_held_to_its_bound(void **state) {
    (void)state;
    kg_holds h = start();
    // float32: u = 2^-24, and half the spacing of denormals doubled beside it.
    kg_hold(&h, KG_F32, 1 + 0x1p-23, 1, 2, 0, "x");
    assert_true(h.at_required > 0.99 && h.at_required <= 1);
    assert_true(holds(&h));
    kg_hold(&h, KG_F32, 1 + 0x1.1p-23, 1, 2, 0, "x[%d]", 3);
    assert_non_null(strstr(h.where, "x[3] is 1.00000013, not 1"));
    assert_true(h.worst[KG_PREC_FP32] > 1 && h.worst[KG_PREC_TF32] < 1);
    assert_false(holds(&h));
    kg_hold_true(&h, false, "not %s", "so");
    assert_string_equal(h.where, "not so");
    assert_false(holds(&h));
    kg_hold_below(&h, NAN, 1, "a statistic that is none");
    assert_false(holds(&h));
}

// P(K <= 350) = 8.08e-22 and P(K <= 400) = 1.364e-10 for Binomial(1000, 1/2): exact sums of binomial coefficients.
static void counts_have_exact_tails(void **state) {
    (void)state;
    kg_holds h = start();
    kg_hold_count(&h, 350, 1000, 0.5, 0.5, 1e-20, "kept");
    assert_false(holds(&h));
    kg_hold_count(&h, 400, 1000, 0.5, 0.5, 2.6e-10, "kept");
    assert_true(holds(&h));
    kg_hold_count(&h, 400, 1000, 0.5, 0.5, 3e-10, "kept");
    assert_false(holds(&h));
    kg_hold_count(&h, 600, 1000, 0.5, 0.5, 2.6e-10, "kept");
    assert_true(holds(&h));
    kg_hold_count(&h, 600, 1000, 0.5, 0.5, 3e-10, "kept");
    assert_false(holds(&h));
    kg_hold_count(&h, 0, 0, 0.5, 0.5, KG_ALARM, "kept");
    assert_true(holds(&h));
    kg_hold_count(&h, 1, 9, 0, 0, KG_ALARM, "kept");
    assert_false(holds(&h));
    kg_hold_count(&h, 8, 9, 1, 1, KG_ALARM, "kept");
    assert_false(holds(&h));
}

static void correlations_are_sums_over_pairs(void **state) {
    (void)state;
    const double x[] = {1, 2, 3}, y[] = {4, -5, 6};
    size_t n;
    double *r = kg_correlations(x, y, 3, &n);
    assert_int_equal(n, 8);
    assert_true(fabs(r[0] - 12) < 1e-12);      // 4 - 10 + 18
    assert_true(fabs(r[1] - 7) < 1e-12);       // 1 * -5 + 2 * 6
    assert_true(fabs(r[2] - 6) < 1e-12);       // 1 * 6
    assert_true(fabs(r[n - 1] + 7) < 1e-12);   // 2 * 4 + 3 * -5
    assert_true(fabs(r[n - 2] - 12) < 1e-12);  // 3 * 4
    free(r);
}

enum { N = 20011 };

static kg_answer alone(void) { return (kg_answer){.seed = 5}; }

static void uniform_numbers_pass(void **state) {
    (void)state;
    static double x[N];
    for (uint64_t seed = 0; seed < 40; seed++) {
        kg_holds h = start();
        void *kept = NULL;
        kg_answer a = alone();
        a.kept = &kept;
        for (uint64_t call = 0; call < 2; call++) {
            for (size_t i = 0; i < N; i++) x[i] = uniform(2 * seed + call, i);
            assert_int_equal(kg_hold_uniform_calls(&h, &a, x, N, 0x1p-20, "x"), 0);
        }
        free(kept);
        assert_true(holds(&h));
    }
}

// Known to an eighth only, which is more than the side of one of the 16 x 16 cells.
static void coarse_uniform_numbers_pass(void **state) {
    (void)state;
    static double x[N];
    kg_holds h = start();
    const kg_answer a = alone();
    for (size_t i = 0; i < N; i++) x[i] = floor(uniform(9, i) * 8) / 8 + uniform(10, i) / 8;
    assert_int_equal(kg_hold_uniform_calls(&h, &a, x, N, 0.125, "x"), 0);
    assert_true(holds(&h));
    assert_int_equal(kg_hold_uniform_calls(&h, &a, x, N, 0.25, "x"), 0);
    assert_true(holds(&h));
}

typedef double (*generator)(size_t i);
static double square(size_t i) { return uniform(1, i) * uniform(1, i); }
static double in_pairs(size_t i) { return uniform(1, i / 2); }
static double again(size_t i) { return uniform(1, i % 1000); }
static double tent(size_t i) { return i % 2 ? fabs(2 * uniform(1, i - 1) - 1) : uniform(1, i); }  // uncorrelated
static double even(size_t i) { return ((double)i + 0.5) / N; }

static void others_do_not(void **state) {
    (void)state;
    static const generator all[] = {square, in_pairs, again, tent, even};
    static double x[N];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        kg_holds h = start();
        const kg_answer a = alone();
        for (size_t i = 0; i < N; i++) x[i] = all[k](i);
        assert_int_equal(kg_hold_uniform_calls(&h, &a, x, N, 0x1p-20, "x"), 0);
        assert_false(holds(&h));
    }
}

static bool mask_holds(double p, bool (*kept)(size_t i, uint64_t call), void **earlier, uint64_t call) {
    static signed char mask[N];
    kg_holds h = start();
    kg_answer a = alone();
    a.kept = earlier;
    for (size_t i = 0; i < N; i++) mask[i] = kept(i, call);
    assert_int_equal(kg_mask_holds(&h, &a, mask, N, p), 0);
    return holds(&h);
}

static bool good(size_t i, uint64_t call) { return uniform(call, i) >= 0.1; }
static bool biased(size_t i, uint64_t call) { return uniform(call, i) >= 0.12; }
static bool in_rows(size_t i, uint64_t call) { return uniform(call, i / 64) >= 0.1; }
static bool in_columns(size_t i, uint64_t call) { return uniform(call, i % 129) >= 0.1; }
static bool every_1024(size_t i, uint64_t call) { return uniform(call, i % 1024) >= 0.1; }
static bool pattern(size_t i, uint64_t call) { return (i * 7 + call) % 10 != 0; }
static bool constant(size_t i, uint64_t call) {
    (void)call;
    return uniform(1, i) >= 0.1;
}
static bool shifted(size_t i, uint64_t call) { return uniform(1, i + 77 * call) >= 0.1; }

static void masks_that_vary_pass_and_no_others(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        void *kept = NULL;
        assert_true(mask_holds(0.1, good, &kept, 2 * seed));
        assert_true(mask_holds(0.1, good, &kept, 2 * seed + 1));
        free(kept);
    }
    assert_false(mask_holds(0.1, biased, NULL, 0));
    assert_false(mask_holds(0.1, in_rows, NULL, 0));
    assert_false(mask_holds(0.1, in_columns, NULL, 0));
    assert_false(mask_holds(0.1, every_1024, NULL, 0));
    assert_false(mask_holds(0.1, pattern, NULL, 0));
    void *kept = NULL;
    assert_true(mask_holds(0.1, constant, &kept, 0));
    assert_false(mask_holds(0.1, constant, &kept, 1));
    free(kept);
    kept = NULL;
    assert_true(mask_holds(0.1, shifted, &kept, 0));
    assert_false(mask_holds(0.1, shifted, &kept, 1));
    free(kept);
}

// Sums of the terms 1, 2, 3 with p = 1/4: mean 6, variance (1 + 4 + 9) / 3; fourth moment by enumeration.
static void moments_of_a_sum_with_terms_dropped(void **state) {
    (void)state;
    const double a[] = {1, 2, 3}, p = 0.25;
    const kg_dropped_sum s = kg_dropped_sum_of(a, 3, p);
    double mean = 0, variance = 0, fourth = 0;
    for (int m = 0; m < 8; m++) {
        double x = 0, chance = 1;
        for (int k = 0; k < 3; k++) {
            chance *= m >> k & 1 ? 1 - p : p;
            x += m >> k & 1 ? a[k] / (1 - p) : 0;
        }
        mean += chance * x;
        variance += chance * (x - 6) * (x - 6);
        fourth += chance * pow(x - 6, 4);
    }
    assert_true(fabs(s.mean - 6) < 1e-14 && fabs(mean - 6) < 1e-14);
    assert_true(fabs(s.variance - 14.0 / 3) < 1e-14 && fabs(variance - 14.0 / 3) < 1e-13);
    assert_true(fabs(s.fourth - fourth) < 1e-12 * fourth);
    assert_true(fabs(s.proxy - 14 * 16.0 / 36) < 1e-13 && s.least == 0 && fabs(s.most - 8) < 1e-14);
}

// how: 0 as it should be, 1 nothing dropped, 2 not scaled, 3 the same mask in both of a pair.
static bool sums_hold(int how) {
    enum { SUMS = 512, TERMS = 40 };
    static double found[SUMS], slack[SUMS], a[TERMS];
    static kg_dropped_sum expected[SUMS];
    for (size_t i = 0; i < SUMS; i++) {
        found[i] = 0;
        for (size_t k = 0; k < TERMS; k++) {
            a[k] = uniform(3, k) - 0.4;
            const bool kept = uniform(4, (how == 3 ? i / 2 : i) * TERMS + k) >= 0.5;
            found[i] += how == 1 ? a[k] : kept ? a[k] * (how == 2 ? 1 : 2) : 0;
        }
        expected[i] = kg_dropped_sum_of(a, TERMS, 0.5);
    }
    kg_holds h = start();
    kg_hold_dropped_sums(&h, found, slack, expected, SUMS, "sums");
    return holds(&h);
}

static void sums_with_terms_dropped_spread_as_they_should(void **state) {
    (void)state;
    assert_true(sums_hold(0));
    for (int how = 1; how <= 3; how++) assert_false(sums_hold(how));
}

static void least_squares_find_the_terms(void **state) {
    (void)state;
    const double b[] = {1, 0, 1, 2, 0, 1, 1, -1}, y[] = {3, 4, 7, 2};  // 3 b[0] + 4 b[1]
    double z[2], rest[4];
    kg_decoder *d = kg_decoder_make(b, 2, 4);
    kg_decode(d, y, z, rest);
    assert_true(fabs(z[0] - 3) < 1e-13 && fabs(z[1] - 4) < 1e-13);
    for (int j = 0; j < 4; j++) assert_true(fabs(rest[j]) < 1e-12);
    kg_decoder_free(d);
    const double same[] = {1, 2, 2, 4};
    assert_null(kg_decoder_make(same, 2, 2));
}

static void windows_see_what_comes_again(void **state) {
    (void)state;
    const kg_tensor shape = kg_tensor_contiguous(KG_F32, KG_SHAPE(300, 7001));
    int64_t *index;
    const size_t n = kg_windows(&shape, 10000, 9, &index);
    assert_in_range(n, 5000, 12000);
    assert_int_equal(index[0], 0);
    assert_int_equal(index[n - 1], 300 * 7001 - 1);
    for (size_t i = 1; i < n; i++) assert_true(index[i] > index[i - 1]);
    // As far apart as a row, and as 2^15.
    size_t rows = 0, powers = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && index[k] - index[i] <= 32768; k++) {
            rows += index[k] - index[i] == 7001;
            powers += index[k] - index[i] == 32768;
        }
    assert_true(rows > 100 && powers > 100);
    free(index);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_number_is_held_to_its_bound),
                                       cmocka_unit_test(counts_have_exact_tails),
                                       cmocka_unit_test(correlations_are_sums_over_pairs),
                                       cmocka_unit_test(uniform_numbers_pass),
                                       cmocka_unit_test(coarse_uniform_numbers_pass),
                                       cmocka_unit_test(others_do_not),
                                       cmocka_unit_test(masks_that_vary_pass_and_no_others),
                                       cmocka_unit_test(moments_of_a_sum_with_terms_dropped),
                                       cmocka_unit_test(sums_with_terms_dropped_spread_as_they_should),
                                       cmocka_unit_test(least_squares_find_the_terms),
                                       cmocka_unit_test(windows_see_what_comes_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
