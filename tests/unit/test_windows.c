// Pooling windows: how many there are, and which elements lie in each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/windows.h"

static void is(kg_span s, int64_t from, int64_t n, int64_t step) {
    assert_int_equal(s.from, from);
    assert_int_equal(s.n, n);
    assert_int_equal(s.step, step);
}

// torch.nn.MaxPool2d((3, 2), stride=(2, 1)) of 50 by 32, its documentation's example: 24 by 31.
static void counts(void **state) {
    (void)state;
    assert_int_equal(kg_window_count(&(kg_window){3, 2, 0, 1, false}, 50), 24);
    assert_int_equal(kg_window_count(&(kg_window){2, 1, 0, 1, false}, 32), 31);
    assert_int_equal(kg_window_count(&(kg_window){3, 2, 0, 1, false}, 6), 2);
    assert_int_equal(kg_window_count(&(kg_window){3, 2, 0, 1, true}, 6), 3);
    // A fourth window would start at 6, behind five elements and one of padding.
    assert_int_equal(kg_window_count(&(kg_window){2, 2, 1, 1, true}, 5), 3);
    assert_int_equal(kg_window_count(&(kg_window){3, 1, 0, 2, false}, 7), 3);
    assert_int_equal(kg_window_count(&(kg_window){2, 2, 0, 1, false}, 1), 0);
    assert_int_equal(kg_window_count(&(kg_window){2, 2, 0, 1, true}, 1), 1);
}

static void spans(void **state) {
    (void)state;
    is(kg_window_span(&(kg_window){3, 2, 0, 1, false}, 6, 1), 2, 3, 1);
    is(kg_window_span(&(kg_window){3, 2, 0, 1, true}, 6, 2), 4, 2, 1);
    is(kg_window_span(&(kg_window){3, 1, 1, 1, false}, 6, 0), 0, 2, 1);
    is(kg_window_span(&(kg_window){3, 1, 1, 2, false}, 6, 0), 1, 2, 2);
    is(kg_window_span(&(kg_window){3, 1, 1, 2, false}, 6, 3), 2, 2, 2);
}

// Ten elements in three windows: [0, 4), [3, 7), [6, 10).
static void adaptive(void **state) {
    (void)state;
    is(kg_adaptive_span(10, 3, 0), 0, 4, 1);
    is(kg_adaptive_span(10, 3, 1), 3, 4, 1);
    is(kg_adaptive_span(10, 3, 2), 6, 4, 1);
    is(kg_adaptive_span(3, 7, 6), 2, 1, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(spans),
        cmocka_unit_test(adaptive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
