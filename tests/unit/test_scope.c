// A narrower contract keeps the cases within it and no others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "judge/scope.h"

static size_t kept(const char *task, const char *text, const char *name, bool *has) {
    kg_scope s;
    kg_cases b;
    size_t n = 0;
    assert_int_equal(kg_scope_parse(text, &s, NULL), 0);
    assert_int_equal(kg_task_cases(kg_task_find(task), KG_CASES_QUICK, &b, NULL), 0);
    *has = false;
    for (size_t i = 0; i < b.n; i++) {
        if (!kg_scope_allows(&s, &b.items[i])) continue;
        n++;
        *has = *has || strcmp(b.items[i].name, name) == 0;
    }
    kg_cases_free(&b);
    return n;
}

static void nothing_said_keeps_everything(void **state) {
    (void)state;
    bool has;
    size_t all = kept("relu", NULL, "f32[33,65] strides [1,33]", &has);
    assert_true(has);
    assert_true(all >= 20);
}

static void dtype_and_layout_are_kept_to(void **state) {
    (void)state;
    bool has;
    size_t all = kept("relu", "", "f32[1023]", &has);
    size_t some = kept("relu", "f32,contiguous,nonempty", "f32[1023]", &has);
    assert_true(has);
    assert_true(some < all);
    kept("relu", "f32,contiguous", "f32[33,65] strides [1,33]", &has);
    assert_false(has);
    kept("relu", "f16", "f32[1023]", &has);
    assert_false(has);
    kept("relu", "f32,nonempty", "f32[0]", &has);
    assert_false(has);
}

static void finite_leaves_out_what_is_filled_with_nan(void **state) {
    (void)state;
    bool has;
    kept("lu", "f32", "f32[6,5] nan", &has);
    assert_true(has);
    kept("lu", "f32,finite", "f32[6,5] nan", &has);
    assert_false(has);
}

static void large_and_small_are_the_two_halves(void **state) {
    (void)state;
    kg_scope small, large;
    kg_cases b;
    size_t n = 0;
    assert_int_equal(kg_scope_parse("small", &small, NULL), 0);
    assert_int_equal(kg_scope_parse("large", &large, NULL), 0);
    assert_int_equal(kg_task_cases(kg_task_find("relu"), KG_CASES_FULL, &b, NULL), 0);
    for (size_t i = 0; i < b.n; i++) {
        const bool is = kg_scope_allows(&large, &b.items[i]);
        assert_true(is != kg_scope_allows(&small, &b.items[i]));
        n += is;
    }
    assert_int_equal(n, 2);  // many elements, and elements far apart
    kg_cases_free(&b);
}

static void unknown_word_is_refused(void **state) {
    (void)state;
    kg_scope s;
    kg_error e = {0};
    assert_int_equal(kg_scope_parse("f32,fast", &s, &e), -1);
    assert_int_equal(e.code, KG_ERR_USAGE);
    assert_non_null(strstr(e.text, "fast"));
    kg_error_clear(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_keeps_everything),
        cmocka_unit_test(dtype_and_layout_are_kept_to),
        cmocka_unit_test(finite_leaves_out_what_is_filled_with_nan),
        cmocka_unit_test(large_and_small_are_the_two_halves),
        cmocka_unit_test(unknown_word_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
