// Which outputs of a large case are looked at.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "judge/sample.h"

static void small_cases_are_checked_whole(void **state) {
    (void)state;
    assert_false(kg_sample_needed(1000000, 1, KG_EFFORT_USUAL));
    assert_true(kg_sample_needed(1 << 27, 1, KG_EFFORT_USUAL));
    assert_true(kg_sample_needed(4096 * 4096, 4096, KG_EFFORT_USUAL));
    assert_false(kg_sample_needed(1000000, 1, KG_EFFORT_LOOK));
    assert_true(kg_sample_needed(1 << 24, 1, KG_EFFORT_LOOK));
    assert_false(kg_sample_needed(1 << 24, 1, KG_EFFORT_USUAL));
    assert_false(kg_sample_needed((int64_t)1 << 30, 4096, KG_EFFORT_FULL));
    assert_true(kg_sample_needed(((int64_t)1 << 31) + 1, 1, KG_EFFORT_FULL));
}

static void indices_ascend_and_include_both_ends(void **state) {
    (void)state;
    int64_t *v, total = (int64_t)1 << 27;
    size_t n = kg_sample_indices(total, 1, 42, &v);
    assert_true(n > 4000 && n <= 8192 + 16);
    assert_int_equal(v[0], 0);
    assert_int_equal(v[n - 1], total - 1);
    for (size_t i = 1; i < n; i++) assert_true(v[i] > v[i - 1]);
    free(v);
}

// A kernel that leaves a hundredth of the output unwritten is seen with probability 1 - 0.99^n.
static void every_hundredth_of_the_range_is_hit(void **state) {
    (void)state;
    int64_t *v, total = (int64_t)1 << 27;
    size_t n = kg_sample_indices(total, 1, 7, &v);
    int hits[100] = {0};
    for (size_t i = 0; i < n; i++) hits[v[i] * 100 / total]++;
    for (int i = 0; i < 100; i++) assert_true(hits[i] > 0);
    free(v);
}

// What a 32-bit counter never comes to is a hundred thousandth of all, and a fifth of what is looked at.
static void what_lies_past_2_to_31_is_looked_at(void **state) {
    (void)state;
    int64_t *v, total = ((int64_t)1 << 31) + 12345;
    size_t n = kg_sample_indices(total, 1, 42, &v), past = 0;
    for (size_t i = 0; i < n; i++) past += v[i] > INT32_MAX;
    assert_true(past > n / 5 && past < n / 3);
    assert_int_equal(v[n - 1], total - 1);
    free(v);
}

static void another_seed_draws_others(void **state) {
    (void)state;
    int64_t *a, *b;
    size_t n = kg_sample_indices(1 << 27, 1, 1, &a), m = kg_sample_indices(1 << 27, 1, 2, &b);
    size_t same = 0;
    for (size_t i = 0; i < n && i < m; i++) same += a[i] == b[i];
    assert_true(same < 10);
    free(a);
    free(b);
}

static void costly_rows_are_sampled_within_the_budget(void **state) {
    (void)state;
    int64_t *v;
    size_t n = kg_sample_indices(32 * (int64_t)65536, 131072.0 * 65536, 3, &v);
    assert_true(n >= 1 && n <= 16);  // one run: its row is computed once
    assert_true(v[n - 1] - v[0] < 16);
    free(v);
    n = kg_sample_indices(4096 * 4096, 4096, 3, &v);
    assert_true((double)n * 4096 < 5e7);
    free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_are_checked_whole),
        cmocka_unit_test(indices_ascend_and_include_both_ends),
        cmocka_unit_test(every_hundredth_of_the_range_is_hit),
        cmocka_unit_test(what_lies_past_2_to_31_is_looked_at),
        cmocka_unit_test(another_seed_draws_others),
        cmocka_unit_test(costly_rows_are_sampled_within_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
