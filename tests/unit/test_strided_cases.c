// Every input of every task is strided in some case, its last dimension too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "task/families.h"
#include "task/strided_cases.h"

static void every_second_element_the_other_way_round(void **state) {
    (void)state;
    const kg_tensor t = kg_tensor_scattered(KG_F32, KG_SHAPE(3, 1, 5));
    assert_int_equal(t.stride[0], 2);
    assert_int_equal(t.stride[1], 6);
    assert_int_equal(t.stride[2], 6);
    assert_int_equal(kg_span_bytes(&t), (2 * 2 + 4 * 6 + 1) * 4);
}

static bool is_scattered(const kg_arg *a) {
    if (a->none || a->absent || a->scalar) return false;
    for (int d = a->tensor.ndim - 1; d >= 0; d--)
        if (a->tensor.shape[d] > 1) return a->tensor.stride[d] != 1;
    return false;
}

static bool seen(const kg_cases *b, int param) {
    for (size_t k = 0; k < b->n; k++)
        if (is_scattered(&b->items[k].args[param])) return true;
    return false;
}

static void every_input_is_strided_somewhere(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        kg_cases b;
        assert_int_equal(kg_task_cases(t, KG_CASES_QUICK, &b, NULL), 0);
        for (int p = 0; t->params[p].name; p++) {
            if (t->params[p].kind != KG_P_TENSOR || t->params[p].role != KG_IN || t->params[p].native_only) continue;
            if (strcmp(t->name, "logspace") == 0) continue;  // start and end have one element
            if (!seen(&b, p)) fail_msg("%s: no case has a strided %s", t->name, t->params[p].name);
        }
        kg_cases_free(&b);
    }
}

// A replay names a quick case among the full ones.
static void full_cases_hold_the_quick_ones(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        kg_cases quick, full;
        assert_int_equal(kg_task_cases(t, KG_CASES_QUICK, &quick, NULL), 0);
        assert_int_equal(kg_task_cases(t, KG_CASES_FULL, &full, NULL), 0);
        for (size_t k = 0, j; k < quick.n; k++) {
            for (j = 0; j < full.n && strcmp(quick.items[k].name, full.items[j].name) != 0;) j++;
            if (j == full.n) fail_msg("%s: \"%s\" is no full case", t->name, quick.items[k].name);
        }
        kg_cases_free(&quick);
        kg_cases_free(&full);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_second_element_the_other_way_round),
        cmocka_unit_test(every_input_is_strided_somewhere),
        cmocka_unit_test(full_cases_hold_the_quick_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
