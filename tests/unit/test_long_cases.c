// Axes that a task's own cases have short are long in one that is added.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/task.h"

// The longest axis d from the last of parameter i, among tensors of n dimensions.
static int64_t longest(const char *task, kg_case_level level, int i, int n, int d) {
    const kg_task *t = kg_task_find(task);
    kg_cases b;
    int64_t most = 0;
    assert_int_equal(kg_task_cases(t, level, &b, NULL), 0);
    for (size_t k = 0; k < b.n; k++) {
        const kg_tensor *x = &b.items[k].args[i].tensor;
        if (b.items[k].large || !kg_arg_is_tensor(&b.items[k].args[i]) || x->ndim != n) continue;
        if (x->shape[n - 1 - d] > most) most = x->shape[n - 1 - d];
    }
    kg_cases_free(&b);
    return most;
}

typedef struct {
    const char *task;
    int i, n, d;
    int64_t least;
} axis;

static void all_are_long(const axis *a, size_t n) {
    for (size_t k = 0; k < n; k++)
        if (longest(a[k].task, KG_CASES_QUICK, a[k].i, a[k].n, a[k].d) < a[k].least)
            fail_msg("%s: axis -%d of parameter %d is short", a[k].task, a[k].d + 1, a[k].i);
}

// Heads and sequences of attention, images of a convolution, rows, batches and what stands before them; a partner that
// grows with it, a table that indices reach into.
static void batches_rows_and_channels_are_long(void **state) {
    (void)state;
    static const axis axes[] = {{"attention", 0, 4, 3, 1031},  {"gap22/attention", 0, 4, 3, 1031},
                                {"conv2d", 0, 4, 3, 1031},     {"conv2d", 0, 4, 1, 1031},
                                {"conv2d", 1, 4, 3, 1031},     {"abs", 0, 4, 1, 1031},
                                {"abs", 0, 4, 2, 1031},        {"abs", 0, 4, 3, 1031},
                                {"softmax", 0, 3, 2, 1031},    {"det", 0, 4, 3, 1031},
                                {"solve", 1, 4, 3, 1031},      {"matmul", 0, 4, 2, 1031},
                                {"batch_norm", 3, 1, 0, 1031}, {"cross_entropy", 0, 3, 2, 1031},
                                {"embedding", 1, 2, 1, 1031},  {"layer_norm", 0, 2, 1, 1031}};
    all_are_long(axes, sizeof axes / sizeof *axes);
    assert_true(longest("relu", KG_CASES_FULL, 0, 6, 5) >= 1031);
}

// The tasks' own: class weights, groups, a row of v, windows past a table of eight; what indices reach into.
static void weights_windows_and_tables_are_longer_than_usual(void **state) {
    (void)state;
    static const axis axes[] = {{"cross_entropy", 2, 1, 0, 1031},
                                {"nll_loss", 2, 1, 0, 1031},
                                {"attention", 2, 3, 0, 256},
                                {"conv2d", 1, 4, 0, 11},
                                {"conv2d", 1, 4, 1, 11},
                                {"fused_gelu_conv2d", 1, 4, 0, 11},
                                {"conv_transpose2d", 1, 4, 1, 11},
                                {"fused_add_mul_groupnorm", 2, 1, 0, 1031},
                                {"attention_w8a8", 0, 3, 0, 256},
                                {"matmul_w8a8", 0, 2, 1, 4099},
                                {"fused_repeat_interleave_log_softmax", 0, 2, 1, 4099},
                                {"scatter", 0, 3, 2, 1031},
                                {"AdamW", 0, 3, 2, 1031},
                                {"grid_sample_with_affine", 1, 3, 2, 1031}};
    all_are_long(axes, sizeof axes / sizeof *axes);
}

// What a sum or a window is made of does not grow: 1,031 filter rows would be unrolled by many a kernel.
static void filters_stay_as_they_are(void **state) {
    (void)state;
    assert_true(longest("conv2d", KG_CASES_FULL, 1, 4, 0) < 64);
    assert_true(longest("conv2d", KG_CASES_FULL, 1, 4, 1) < 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_rows_and_channels_are_long),
                                       cmocka_unit_test(weights_windows_and_tables_are_longer_than_usual),
                                       cmocka_unit_test(filters_stay_as_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
