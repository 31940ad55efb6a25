// Intervals cover, the stopping rule stops, clocks agree when they should.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "measure/measure.h"

// Uniform in [0, 1) by run, batch and use.
static double draw(uint64_t run, uint64_t batch, uint64_t use) {
    return kg_philox4x32(run, batch, use).v[0] / 4294967296.0;
}
static double bell(uint64_t run, uint64_t batch, uint64_t use) {
    double s = 0;
    for (uint64_t k = 0; k < 4; k++) s += draw(run, batch, 4 * use + k);
    return (s - 2) * 1.7320508075688772;
}

// Calls of 100 us: the machine drifts by 3 % a batch and 1 % more on either side, calls scatter by 2 %, one in 20 is
// slow.
static kg_samples simulate(uint64_t run, int side, int batches, double factor) {
    kg_samples s = {0};
    for (int b = 0; b < batches; b++) {
        const double shared = 1 + 0.03 * bell(run, (uint64_t)b, 0),
                     own = 1 + 0.01 * bell(run, (uint64_t)b, 1 + (uint64_t)side);
        for (int i = 0; i < 8; i++) {
            const uint64_t use = 10 + 2 * (uint64_t)(16 * side + i);
            const double slow = draw(run, (uint64_t)b, 4 * (use + 1)) < 0.05 ? 1.5 : 1;
            kg_samples_add(&s, 1e-4 * factor * shared * own * slow * (1 + 0.02 * bell(run, (uint64_t)b, use)), b);
        }
    }
    return s;
}

static double coverage(int batches, double truth) {
    enum { RUNS = 300 };
    int covered = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        kg_samples base = simulate(run, 0, batches, truth), cand = simulate(run, 1, batches, 1);
        const kg_interval i = kg_ratio_interval(&base, &cand);
        covered += i.lo <= truth && truth <= i.hi;
        kg_samples_free(&base);
        kg_samples_free(&cand);
    }
    return (double)covered / RUNS;
}

// The same kernel against itself has ratio 1: of 300 runs at most 7 % may miss it.
static void ratios_cover_the_truth(void **state) {
    (void)state;
    assert_true(coverage(5, 1) >= 0.93);
    assert_true(coverage(10, 1) >= 0.93);
    assert_true(coverage(25, 1) >= 0.93);
    assert_true(coverage(10, 1.7) >= 0.93);
}

// And they say something: 10 batches tell 5 % apart.
static void ratios_are_narrow(void **state) {
    (void)state;
    kg_samples base = simulate(1, 0, 10, 1), cand = simulate(1, 1, 10, 1);
    const kg_interval i = kg_ratio_interval(&base, &cand);
    assert_true(i.hi / i.lo < 1.05 * 1.01);  // one percent is what two processes always get
    const kg_interval again = kg_ratio_interval(&base, &cand);
    assert_true(i.lo == again.lo && i.mid == again.mid && i.hi == again.hi);
    kg_samples_free(&base);
    kg_samples_free(&cand);
}

static kg_samples constant(double seconds, int batches) {
    kg_samples s = {0};
    for (int i = 0; i < 3 * batches; i++) kg_samples_add(&s, seconds, i / 3);
    return s;
}

static void means_by_hand(void **state) {
    (void)state;
    assert_true(kg_median((double[]){3, 1, 2}, 3) == 2);
    assert_true(kg_median((double[]){4, 1, 2, 3}, 4) == 2.5);
    assert_true(isnan(kg_median(NULL, 0)));
    kg_samples one = constant(1e-3, 5), two = constant(2e-3, 5), eight = constant(8e-3, 5);
    const kg_samples *base[] = {&two, &eight}, *cand[] = {&one, &one};
    assert_true(fabs(kg_geomean_interval(base, cand, 2).mid - 4) < 1e-12);                   // sqrt(2 * 8)
    assert_true(fabs(kg_geomean_fixed((double[]){5e-4, 8e-3}, base, 2).mid - 0.5) < 1e-12);  // sqrt(1/4 * 1)
    assert_true(fabs(kg_median_interval(&two).mid - 2e-3) < 1e-15);
    kg_samples_free(&one), kg_samples_free(&two), kg_samples_free(&eight);
}

static void measuring_stops(void **state) {
    (void)state;
    const kg_stop_rule rule = {.rel_width = 0.02, .min_batches = 5, .max_batches = 40, .budget_s = 1};
    kg_samples quiet = constant(1e-3, 10), noisy = simulate(3, 0, 10, 1);
    assert_false(kg_enough(&rule, &quiet, NULL, NAN, 4, 0.1));    // too few batches
    assert_true(kg_enough(&rule, &quiet, NULL, NAN, 10, 0.1));    // settled
    assert_false(kg_enough(&rule, &noisy, NULL, NAN, 10, 0.1));   // 3 % of drift are not within 2 %
    assert_true(kg_enough(&rule, &noisy, NULL, NAN, 40, 0.1));    // but batches are limited,
    assert_true(kg_enough(&rule, &noisy, NULL, NAN, 10, 1.1));    // and so is time
    assert_true(kg_enough(&rule, &quiet, &quiet, 0.8, 10, 0.1));  // 1 is clear of 0.8
    kg_samples_free(&quiet);
    kg_samples_free(&noisy);
}

// 100 calls of 10 us; 2 us a call and 60 us a batch of overhead; the same again and 5 % as slack.
static void clocks_agree_within_the_slack(void **state) {
    (void)state;
    const double overhead = 100 * 2e-6 + 60e-6;
    assert_true(kg_clocks_compare(1e-3, 1.26e-3, overhead, 100, 2e-6, 60e-6, 0.05).agree);
    assert_false(kg_clocks_compare(0.5e-3, 1.26e-3, overhead, 100, 2e-6, 60e-6, 0.05).agree);  // half was left out
    assert_true(kg_clocks_compare(2e-3, 1.26e-3, overhead, 100, 2e-6, 60e-6, 0.05).agree);     // harms itself only
    assert_true(fabs(kg_clocks_compare(1e-3, 1.26e-3, overhead, 100, 2e-6, 60e-6, 0.05).excess_s) < 1e-12);
    assert_false(kg_clocks_compare(NAN, 1.26e-3, overhead, 100, 2e-6, 60e-6, 0.05).agree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ratios_cover_the_truth), cmocka_unit_test(ratios_are_narrow),
                                       cmocka_unit_test(means_by_hand), cmocka_unit_test(measuring_stops),
                                       cmocka_unit_test(clocks_agree_within_the_slack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
