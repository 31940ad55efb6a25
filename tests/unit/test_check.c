// What the check says of outputs that are right, wrong in one place, unwritten, or overrun.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "judge/check.h"

typedef struct {
    kg_device *device;
    const kg_task *task;
    kg_cases cases;
    const kg_case *c;
    kg_layout layout;
    kg_arena *in, *out;
    uint64_t seed;
    float *x, *y;  // input and right answer
    int64_t n;
} bench;

static const kg_case *case_named(const kg_cases *b, const char *name) {
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->items[i].name, name) == 0) return &b->items[i];
    return NULL;
}

static void fill(bench *b, const kg_place *p, kg_fill f, uint64_t seed) {
    assert_int_equal(b->device->ops->fill(p->writable ? b->out : b->in, kg_place_extent(p, 0), &f, seed, NULL), 0);
}

static int open_bench(void **state) {
    bench *b = kg_alloc(sizeof *b);
    *state = b;
    b->seed = 5;
    assert_int_equal(kg_device_open("cpu", &b->device, NULL), 0);
    b->task = kg_task_find("relu");
    assert_int_equal(kg_task_cases(b->task, KG_CASES_QUICK, &b->cases, NULL), 0);
    b->c = case_named(&b->cases, "f32[1023]");
    assert_non_null(b->c);
    b->layout = kg_layout_make(b->task, b->c, 1, SIZE_MAX);
    const kg_device_ops *ops = b->device->ops;
    assert_int_equal(ops->arena_create(b->device, b->layout.in_bytes, false, &b->in, NULL), 0);
    assert_int_equal(ops->arena_create(b->device, b->layout.out_bytes, true, &b->out, NULL), 0);
    // As a session does: guards hold bytes of poison, the output its own.
    kg_extent whole = {0, KG_U8, (int64_t)b->layout.out_bytes};
    assert_int_equal(ops->fill(b->out, whole, &(kg_fill){.kind = KG_FILL_POISON}, 0, NULL), 0);
    fill(b, &b->layout.outs[0], (kg_fill){.kind = KG_FILL_POISON}, 0);
    b->n = 1023;
    b->x = kg_alloc((size_t)b->n * sizeof *b->x);
    b->y = kg_alloc((size_t)b->n * sizeof *b->y);
    fill(b, &b->layout.args[0], b->c->args[0].fill, kg_tensor_seed(b->seed, 0, 0));
    kg_fill_range(&b->c->args[0].fill, KG_F32, kg_tensor_seed(b->seed, 0, 0), 0, b->n, b->x);
    for (int64_t i = 0; i < b->n; i++) b->y[i] = b->x[i] > 0 ? b->x[i] : 0;
    return 0;
}

static int close_bench(void **state) {
    bench *b = *state;
    b->device->ops->arena_destroy(b->in);
    b->device->ops->arena_destroy(b->out);
    b->device->ops->close(b->device);
    kg_cases_free(&b->cases);
    free(b->x);
    free(b->y);
    free(b);
    return 0;
}

static kg_check check_after(bench *b, const float *y, size_t n) {
    assert_int_equal(b->device->ops->upload(b->out, b->layout.outs[0].offset, y, n * sizeof *y, NULL), 0);
    kg_check_request r = {.task = b->task,
                          .c = b->c,
                          .layout = &b->layout,
                          .in = b->in,
                          .out = b->out,
                          .seeds = &b->seed,
                          .n_seeds = 1,
                          .native = true};
    kg_check k;
    assert_int_equal(kg_check_outputs(&r, &k, NULL), 0);
    return k;
}

static void right_answer_is_right_at_fp32(void **state) {
    bench *b = *state;
    kg_check k = check_after(b, b->y, (size_t)b->n);
    assert_true(k.error_over_bound <= 1);
    assert_null(k.where);
    assert_int_equal(k.unwritten, 0);
    assert_false(k.guard_broken);
    assert_int_equal(kg_check_rung(&k, kg_check_required(b->task, b->c)), KG_PREC_FP32);
    kg_check_free(&k);
}

static void one_wrong_element_is_named(void **state) {
    bench *b = *state;
    b->y[700] += 0.5f;
    kg_check k = check_after(b, b->y, (size_t)b->n);
    assert_true(k.error_over_bound > 1);
    assert_non_null(strstr(k.where, "out[700]"));
    kg_check_free(&k);
}

static void zeros_and_the_input_itself_fail(void **state) {
    bench *b = *state;
    kg_check k = check_after(b, b->x, (size_t)b->n);
    assert_true(k.error_over_bound > 1);
    kg_check_free(&k);
    float *zeros = kg_alloc((size_t)b->n * sizeof *zeros);
    k = check_after(b, zeros, (size_t)b->n);
    assert_true(k.error_over_bound > 1);
    kg_check_free(&k);
    free(zeros);
}

static void missing_tail_is_counted(void **state) {
    bench *b = *state;
    kg_check k = check_after(b, b->y, (size_t)b->n - 3);
    assert_int_equal(k.unwritten, 3);
    assert_true(k.error_over_bound > 1);
    kg_check_free(&k);
}

static void write_past_the_end_is_seen(void **state) {
    bench *b = *state;
    float *longer = kg_alloc((size_t)(b->n + 1) * sizeof *longer);
    memcpy(longer, b->y, (size_t)b->n * sizeof *longer);
    kg_check k = check_after(b, longer, (size_t)b->n + 1);
    assert_true(k.guard_broken);
    assert_non_null(strstr(k.where, "beside the output"));
    kg_check_free(&k);
    free(longer);
}

static void answer_to_other_values_fails(void **state) {
    bench *b = *state;
    b->seed = 6;
    fill(b, &b->layout.args[0], b->c->args[0].fill, kg_tensor_seed(b->seed, 0, 0));
    kg_check k = check_after(b, b->y, (size_t)b->n);
    assert_true(k.error_over_bound > 1);
    kg_check_free(&k);
}

static void the_best_rung_that_errors_keep_is_reported(void **state) {
    (void)state;
    kg_check k = {.worst = {[KG_PREC_FP64] = 1e9, [KG_PREC_FP32] = 300, [KG_PREC_TF32] = 4, [KG_PREC_FP16] = 0.7}};
    assert_int_equal(kg_check_rung(&k, KG_PREC_FP32), KG_PREC_FP16);
    k.worst[KG_PREC_TF32] = 0.9;
    assert_int_equal(kg_check_rung(&k, KG_PREC_TF32), KG_PREC_TF32);
}

// index_fill_(dim, x, index, value) has no outputs, and its first argument is a number.
static void in_place_the_overwritten_tensor_decides(void **state) {
    (void)state;
    static const kg_precision required[KG_DTYPES] = {
        [KG_F64] = KG_PREC_FP64,  [KG_F32] = KG_PREC_FP32,  [KG_F16] = KG_PREC_FP16,  [KG_BF16] = KG_PREC_FP16,
        [KG_I64] = KG_PREC_EXACT, [KG_I32] = KG_PREC_EXACT, [KG_I16] = KG_PREC_EXACT, [KG_I8] = KG_PREC_EXACT,
        [KG_U8] = KG_PREC_EXACT,  [KG_BOOL] = KG_PREC_EXACT};
    const kg_task *t = kg_task_find("index_fill_");
    bool seen[KG_DTYPES] = {false};
    kg_cases b;
    assert_int_equal(kg_task_cases(t, KG_CASES_QUICK, &b, NULL), 0);
    for (size_t i = 0; i < b.n; i++) {
        const kg_dtype d = kg_case_arg(&b.items[i], t, "x")->tensor.dtype;
        assert_int_equal(kg_check_required(t, &b.items[i]), required[d]);
        seen[d] = true;
    }
    for (int d = 0; d < KG_DTYPES; d++) assert_true(seen[d]);
    kg_cases_free(&b);
}

#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_BENCH(right_answer_is_right_at_fp32),
        WITH_BENCH(one_wrong_element_is_named),
        WITH_BENCH(zeros_and_the_input_itself_fail),
        WITH_BENCH(missing_tail_is_counted),
        WITH_BENCH(write_past_the_end_is_seen),
        WITH_BENCH(answer_to_other_values_fails),
        cmocka_unit_test(the_best_rung_that_errors_keep_is_reported),
        cmocka_unit_test(in_place_the_overwritten_tensor_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
