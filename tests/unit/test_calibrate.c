// Thresholds from labelled points, on points where the answer can be read off.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
//
#include <cmocka.h>

#include "screen/calibrate.h"

static const kg_labelled apart[] = {
    {"a", KG_BOUND_MEMORY, 0.1, 0.05, true},  {"a", KG_BOUND_MEMORY, 0.9, 0.60, false},
    {"b", KG_BOUND_MEMORY, 0.4, 0.10, true},  {"b", KG_BOUND_MEMORY, 1.6, 0.80, false},
    {"c", KG_BOUND_COMPUTE, 0.3, 0.45, true}, {"c", KG_BOUND_COMPUTE, 1.0, 0.80, false},
};
#define N (sizeof apart / sizeof *apart)

static void lies_in_the_middle_of_the_gap(void **state) {
    (void)state;
    kg_fit f = kg_fit_threshold(apart, N, KG_BY_LRE, KG_ANY_BOUND);
    assert_true(fabs(f.threshold - 0.6) < 1e-12);  // sqrt(0.4 * 0.9)
    assert_true(f.lo == 0.4 && f.hi == 0.9 && f.n == 6);
    assert_int_equal(kg_misplaced(&f.at), 0);
    assert_true(kg_precision_rate(&f.at) == 1 && kg_recall_rate(&f.at) == 1);
}

static void bounds_have_their_own(void **state) {
    (void)state;
    kg_fit memory = kg_fit_threshold(apart, N, KG_BY_UTILIZATION, KG_BOUND_MEMORY);
    kg_fit compute = kg_fit_threshold(apart, N, KG_BY_UTILIZATION, KG_BOUND_COMPUTE);
    assert_true(fabs(memory.threshold - sqrt(0.10 * 0.60)) < 1e-12);
    assert_true(fabs(compute.threshold - 0.6) < 1e-12);  // sqrt(0.45 * 0.80)
}

// A slow kernel above a good one: no threshold misplaces none.
static void what_cannot_be_told_apart_is_counted(void **state) {
    (void)state;
    static const kg_labelled mixed[] = {{"a", KG_BOUND_MEMORY, 0.5, 0.5, true},
                                        {"b", KG_BOUND_MEMORY, 0.7, 0.7, false},
                                        {"c", KG_BOUND_MEMORY, 0.8, 0.8, true},
                                        {"d", KG_BOUND_MEMORY, 1.2, 0.9, false}};
    kg_fit f = kg_fit_threshold(mixed, 4, KG_BY_LRE, KG_ANY_BOUND);
    assert_int_equal(kg_misplaced(&f.at), 1);
    assert_true(f.lo == 0.8 && f.hi == 1.2);  // the wider of the two gaps that misplace one
    assert_true(fabs(kg_precision_rate(&f.at) - 2.0 / 3) < 1e-12);
}

static void an_operator_is_judged_by_the_others(void **state) {
    (void)state;
    kg_confusion c = kg_leave_one_out(apart, N, KG_BY_LRE, KG_ANY_BOUND);
    // Without b: between 0.3 and 0.9, so 0.52 flags b's 0.4. Without a or c: between 0.4 and 1.0, 0.4 and 0.9.
    assert_int_equal(c.flagged_slow, 3);
    assert_int_equal(kg_misplaced(&c), 0);
    c = kg_leave_one_out(apart, N, KG_BY_UTILIZATION, KG_BOUND_COMPUTE);
    assert_int_equal(c.flagged_slow + c.missed_slow + c.flagged_good + c.passed_good, 0);  // c alone has that bound
}

static void one_label_gives_none(void **state) {
    (void)state;
    assert_true(isnan(kg_fit_threshold(apart, 1, KG_BY_LRE, KG_ANY_BOUND).threshold));
    assert_true(isnan(kg_fit_threshold(apart, 0, KG_BY_LRE, KG_ANY_BOUND).threshold));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies_in_the_middle_of_the_gap),
        cmocka_unit_test(bounds_have_their_own),
        cmocka_unit_test(what_cannot_be_told_apart_is_counted),
        cmocka_unit_test(an_operator_is_judged_by_the_others),
        cmocka_unit_test(one_label_gives_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
