// Full cases for kernels that count or address elements in 32 bits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle.h"
#include "task/families.h"
#include "task/large_cases.h"

static bool is_input(const kg_task *t, const kg_case *c, int i) {
    return t->params[i].role == KG_IN && kg_arg_is_tensor(&c->args[i]);
}

static int64_t outputs_of_largest(const char *name, int64_t *reached) {
    kg_cases b;
    int64_t most = 0;
    *reached = 0;
    const kg_task *t = kg_task_find(name);
    assert_int_equal(kg_task_cases(t, KG_CASES_FULL, &b, NULL), 0);
    for (size_t k = 0; k < b.n; k++) {
        const kg_case *c = &b.items[k];
        if (c->n_outs && kg_numel(&c->outs[0]) > most) most = kg_numel(&c->outs[0]);
        for (int i = 0; i < c->n_args; i++)
            if (is_input(t, c, i) && kg_is_sparse(&c->args[i].tensor)) *reached |= (int64_t)1 << i;
    }
    kg_cases_free(&b);
    return most;
}

static void outputs_pass_2_to_31_and_inputs_lie_as_far_apart(void **state) {
    (void)state;
    static const char *const names[] = {"relu",       "add",         "softmax",    "matmul", "conv2d",
                                        "mean",       "max",         "layer_norm", "sum",    "cross_entropy",
                                        "avg_pool1d", "batch_norm",  "mul_int8",   "erf",    "gather",
                                        "bmm_w8a8",   "grid_sample", "conv2d_w8a8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t far;
        const int64_t most = outputs_of_largest(names[i], &far);
        if (most <= INT32_MAX) fail_msg("%s: no output of more than 2^31 elements: %lld", names[i], (long long)most);
        if (!(far & 1)) fail_msg("%s: its first input never has elements more than 2^31 apart", names[i]);
    }
}

// In tensors of several dimensions each fits an int, and so does every stride: libraries take no more. Nor does a case
// take more than half of an 80 GB card, so that a result of the candidate's own has room.
static void libraries_can_take_them(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        kg_cases b;
        assert_int_equal(kg_task_cases(t, KG_CASES_FULL, &b, NULL), 0);
        for (size_t k = 0; k < b.n; k++) {
            const kg_case *c = &b.items[k];
            if (!kg_case_is_large(c)) continue;
            if (kg_case_input_bytes(c, t) + kg_case_output_bytes(c, t) > (size_t)32 << 30)
                fail_msg("%s: \"%s\" is too large", t->name, c->name);
            for (int p = 0; p < c->n_args; p++)
                for (int d = 0; kg_arg_is_tensor(&c->args[p]) && d < c->args[p].tensor.ndim; d++) {
                    const kg_tensor *x = &c->args[p].tensor;
                    if (x->stride[d] > INT32_MAX || (x->ndim > 1 && x->shape[d] > INT32_MAX))
                        fail_msg("%s: \"%s\" has a size or stride past int", t->name, c->name);
                }
        }
        kg_cases_free(&b);
    }
}

static void quick_cases_are_small(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++) {
        kg_cases b;
        assert_int_equal(kg_task_cases(kg_task_at(i), KG_CASES_QUICK, &b, NULL), 0);
        for (size_t k = 0; k < b.n; k++)
            if (kg_case_is_large(&b.items[k])) fail_msg("%s: %s", kg_task_at(i)->name, b.items[k].name);
        kg_cases_free(&b);
    }
}

// Sums stay as long as they are: 2 and 3 terms of the tasks' own small cases. But for a case with a single output.
static void where_outputs_are_many_none_is_made_of_more(void **state) {
    (void)state;
    static const char *const names[] = {"softmax", "mean", "matmul", "layer_norm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const kg_task *t = kg_task_find(names[i]);
        kg_cases b;
        assert_int_equal(kg_task_cases(t, KG_CASES_FULL, &b, NULL), 0);
        for (size_t k = 0; k < b.n; k++)
            if (kg_case_largest(&b.items[k]) > INT32_MAX && kg_numel(&b.items[k].outs[0]) > 1)
                assert_true(t->reach(t, &b.items[k]) <= 16);
        kg_cases_free(&b);
    }
}

static bool is_long(const kg_case *c) { return kg_case_is_large(c) && strstr(c->name, "last nan"); }

static kg_ref *answer(const kg_task *t, const kg_case *c, const void *const *data, kg_ref *ref) {
    static const int64_t first[] = {0};
    static double value, local, acc;
    *ref = (kg_ref){.n = 1, .index = first, .value = &value, .local = &local, .acc = &acc};
    kg_call call = {.task = t, .c = c};
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i])) call.args[i] = (kg_view){.desc = c->args[i].tensor, .data = data[i]};
    assert_int_equal(kg_oracle(&call, ref), 0);
    return ref;
}

// A single output made of more than 2^31 elements: rows of memory, of which the last one alone is NaN and begins past
// 2^31. What the first 2^31 elements make is a number, so that a kernel which stops there is wrong. The oracle says so
// at once but for argmax, which counts.
static void one_output_of_2_to_31_elements_needs_the_last_row(void **state) {
    (void)state;
    static const char *const names[] = {
        "argmax", "gap22/argmax",   "min_gelu",       "fused_gelu_min", "sum",           "mean",
        "std",    "fused_exp_mean", "fused_add_mean", "fused_gelu_std", "fused_sum_std", "mse_loss",
        "kl_div", "max_reduction",  "mean_reduction", "logsumexp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const kg_task *t = kg_task_find(names[i]);
        kg_cases b;
        size_t k = 0;
        assert_int_equal(kg_task_cases(t, KG_CASES_FULL, &b, NULL), 0);
        while (k < b.n && !is_long(&b.items[k])) k++;
        if (k == b.n) fail_msg("%s: no output is made of 2^31 elements", names[i]);
        const kg_case *c = &b.items[k];
        const kg_tensor *x = &c->args[0].tensor;
        const int64_t rows = kg_numel(x) / x->shape[x->ndim - 1], row = x->shape[x->ndim - 1];
        assert_int_equal(kg_numel(&c->outs[0]), 1);
        assert_int_equal(x->stride[x->ndim - 1], 0);
        assert_true((rows - 1) * row > INT32_MAX);
        assert_true(kg_case_input_bytes(c, t) < 1 << 20);
        float values[2][5000] = {{0}};
        const void *data[KG_MAX_ARGS] = {values[0], values[1]};
        assert_true(rows < 5000);
        for (int p = 0; p < 2 && kg_arg_is_tensor(&c->args[p]); p++)
            kg_fill_range(&c->args[p].fill, KG_F32, 7, 0, rows, values[p]);
        for (int64_t r = 0; r < rows; r++) assert_int_equal(isnan(values[0][r]), r == rows - 1);
        uint32_t bits;
        memcpy(&bits, &values[0][rows - 1], sizeof bits);
        assert_int_equal(bits, 0x7fffffff);  // as a GPU fills it
        kg_ref ref;
        if (strstr(names[i], "argmax")) {
            kg_cases_free(&b);
            continue;
        }
        assert_true(isnan(*answer(t, c, data, &ref)->value));
        kg_case less = *c;  // without its last row, and no longer than it need be
        for (int p = 0; p < 2 && kg_arg_is_tensor(&less.args[p]); p++) {
            kg_tensor *part = &less.args[p].tensor;
            if (part->shape[0] == rows) part->shape[0]--;
            part->shape[part->ndim - 1] = 3;
        }
        assert_int_equal(t->infer(t, &less), 0);
        assert_true(isfinite(*answer(t, &less, data, &ref)->value));
        kg_cases_free(&b);
    }
}

// A loss of rows of classes has no row of 2^26 of them: a softmax keeps its row on the chip.
static void no_row_of_classes_is_that_long(void **state) {
    (void)state;
    static const char *const names[] = {"cross_entropy", "gap22/cross_entropy", "fused_cross_entropy_log_softmax"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kg_cases b;
        assert_int_equal(kg_task_cases(kg_task_find(names[i]), KG_CASES_FULL, &b, NULL), 0);
        for (size_t k = 0; k < b.n; k++) assert_false(is_long(&b.items[k]));
        kg_cases_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_pass_2_to_31_and_inputs_lie_as_far_apart),
        cmocka_unit_test(libraries_can_take_them),
        cmocka_unit_test(quick_cases_are_small),
        cmocka_unit_test(where_outputs_are_many_none_is_made_of_more),
        cmocka_unit_test(one_output_of_2_to_31_elements_needs_the_last_row),
        cmocka_unit_test(no_row_of_classes_is_that_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
