// Options that a task's own cases ask for one at a time meet in cases that are added, and those are the task's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "task/task.h"

static kg_cases cases_of(const char *task, kg_case_level level) {
    kg_cases b;
    assert_int_equal(kg_task_cases(kg_task_find(task), level, &b, NULL), 0);
    return b;
}

typedef struct {
    const char *task;
    const char *has[4];  // in the name of one case
    const char *lacks;   // and not this
} meeting;

static bool is_one(const kg_case *c, const meeting *m) {
    for (int i = 0; i < 4 && m->has[i]; i++)
        if (!strstr(c->name, m->has[i])) return false;
    return !m->lacks || !strstr(c->name, m->lacks);
}

static void all_meet(const meeting *m, size_t n) {
    for (size_t k = 0; k < n; k++) {
        kg_cases b = cases_of(m[k].task, KG_CASES_QUICK);
        bool found = false;
        for (size_t i = 0; i < b.n; i++) found = found || is_one(&b.items[i], &m[k]);
        if (!found) fail_msg("%s: no case has %s and %s", m[k].task, m[k].has[0], m[k].has[1]);
        kg_cases_free(&b);
    }
}

// Each is a path on which a kernel was seen to forget an option, and passed.
static void options_meet_paths(void **state) {
    (void)state;
    static const meeting all[] = {
        {"div", {"f32[2,3,5,7] other=f32[2,3,5,7]", "rounding_mode="}, NULL},
        {"add", {"f32[", "strides", "alpha="}, NULL},
        {"std", {"f32[5,7,11]", "correction=", "keepdim=True"}, NULL},
        {"softmax", {"[5,7,33]", "dim=0"}, NULL},
        {"gap22/layer_norm", {"f16[", "eps="}, NULL},
        {"gap22/layer_norm", {"[4,5,7]", "weight=f", "bias=None"}, NULL},
        {"interpolate", {"f32[", "strides", "scale_factor="}, NULL},
        {"grid_sample", {"f32[", "strides", "padding_mode=reflection"}, NULL},
        {"conv2d", {"f16[", "stride=", "dilation="}, NULL},
        {"kl_div", {"f32[", "strides", "log_target=True"}, NULL},
        {"AdamW", {"f16[", "weight_decay="}, NULL},
    };
    all_meet(all, sizeof all / sizeof *all);
}

static void none_has(const char *task, const meeting *m) {
    kg_cases b = cases_of(task, KG_CASES_FULL);
    for (size_t i = 0; i < b.n; i++)
        if (is_one(&b.items[i], m)) fail_msg("%s: %s", task, b.items[i].name);
    kg_cases_free(&b);
}

// What PyTorch refuses, and what the values of a case were not made for.
static void what_does_not_go_together_stays_apart(void **state) {
    (void)state;
    none_has("interpolate", &(meeting){"", {"mode=nearest", "align_corners=True"}, NULL});
    none_has("interpolate", &(meeting){"", {"f32[2,3,9,11]", "size=(31,)"}, NULL});
    none_has("add", &(meeting){"", {"i32[515] other=i64", "alpha=-1.75"}, NULL});
    none_has("solve_symmetric_ldl", &(meeting){"", {"c64", "exchanged", "hermitian=True"}, NULL});
    none_has("determinant_lu", &(meeting){"", {"cyclic", "pivot=False"}, NULL});
    none_has("fused_hstack_div", &(meeting){"", {"tensors_3="}, "tensors_2="});
}

// A failure is replayed by its case's name, in another process; what is quick is full too.
static void names_are_the_same_in_every_run(void **state) {
    (void)state;
    kg_cases quick = cases_of("grid_sample", KG_CASES_QUICK), again = cases_of("grid_sample", KG_CASES_QUICK);
    kg_cases full = cases_of("grid_sample", KG_CASES_FULL);
    assert_int_equal(quick.n, again.n);
    for (size_t i = 0; i < quick.n; i++) {
        bool found = false;
        assert_string_equal(quick.items[i].name, again.items[i].name);
        for (size_t k = 0; k < full.n; k++) found = found || strcmp(full.items[k].name, quick.items[i].name) == 0;
        if (!found) fail_msg("%s is not among the full cases", quick.items[i].name);
    }
    kg_cases_free(&quick);
    kg_cases_free(&again);
    kg_cases_free(&full);
}

static void out_is_of_the_results_shape(void **state) {
    (void)state;
    static const char *const tasks[] = {"std", "mean", "fused_gelu_conv2d", "logspace"};
    for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
        const kg_task *task = kg_task_find(tasks[t]);
        kg_cases b = cases_of(tasks[t], KG_CASES_FULL);
        for (size_t i = 0; i < b.n; i++) {
            const kg_arg *out = kg_case_arg(&b.items[i], task, "out");
            if (!kg_arg_is_tensor(out)) continue;
            assert_int_equal(out->tensor.dtype, b.items[i].outs[0].dtype);
            assert_int_equal(kg_numel(&out->tensor), kg_numel(&b.items[i].outs[0]));
        }
        kg_cases_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_meet_paths),
        cmocka_unit_test(what_does_not_go_together_stays_apart),
        cmocka_unit_test(names_are_the_same_in_every_run),
        cmocka_unit_test(out_is_of_the_results_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
