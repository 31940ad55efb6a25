// Tasks with several readings: each allowed one is right, a mixture of two is not, and what is wrong in a known way is
// called so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "judge/check.h"
#include "judge/inputs.h"
#include "oracle/oracle.h"

#define CASE "f32[2,32,128] mat2=f32[2,128,24]"

typedef struct {
    kg_device *device;
    const kg_task *task;
    kg_cases cases;
    const kg_case *c;
    kg_layout layout;
    kg_arena *in, *out;
    uint64_t seed;
    size_t n;
    float *y;
} bench;

static int open_bench(void **state) {
    bench *b = kg_alloc(sizeof *b);
    *state = b;
    b->seed = 5;
    b->task = kg_task_find("bmm_w8a8");
    assert_int_equal(kg_device_open("cpu", &b->device, NULL), 0);
    assert_int_equal(kg_task_cases(b->task, KG_CASES_QUICK, &b->cases, NULL), 0);
    for (size_t i = 0; i < b->cases.n; i++)
        if (!strcmp(b->cases.items[i].name, CASE)) b->c = &b->cases.items[i];
    assert_non_null(b->c);
    b->layout = kg_layout_make(b->task, b->c, 1, SIZE_MAX);
    const kg_device_ops *ops = b->device->ops;
    assert_int_equal(ops->arena_create(b->device, b->layout.in_bytes, false, &b->in, NULL), 0);
    assert_int_equal(ops->arena_create(b->device, b->layout.out_bytes, true, &b->out, NULL), 0);
    const kg_extent whole = {0, KG_U8, (int64_t)b->layout.out_bytes};
    assert_int_equal(ops->fill(b->out, whole, &(kg_fill){.kind = KG_FILL_POISON}, 0, NULL), 0);
    for (int i = 0; i < b->c->n_args; i++)
        assert_int_equal(ops->fill(b->in, kg_place_extent(&b->layout.args[i], 0), &b->c->args[i].fill,
                                   kg_tensor_seed(b->seed, 0, i), NULL),
                         0);
    b->n = (size_t)kg_numel(&b->c->outs[0]);
    b->y = kg_alloc(b->n * sizeof *b->y);
    return 0;
}

static int close_bench(void **state) {
    bench *b = *state;
    b->device->ops->arena_destroy(b->in);
    b->device->ops->arena_destroy(b->out);
    b->device->ops->close(b->device);
    kg_cases_free(&b->cases);
    free(b->y);
    free(b);
    return 0;
}

// Elements first.. of the answer by one reading.
static void answer(bench *b, const kg_reading *reading, size_t first) {
    kg_inputs *in = NULL;
    assert_int_equal(kg_inputs_make(b->task, b->c, &b->layout, 0, &b->seed, 1, NULL, &in, NULL), 0);
    kg_call call = *kg_inputs_call(in);
    call.reading = reading;
    double *v = kg_alloc(3 * b->n * sizeof *v);
    int64_t *index = kg_alloc(b->n * sizeof *index);
    for (size_t i = 0; i < b->n; i++) index[i] = (int64_t)i;
    kg_ref ref = {0, b->n, index, v, v + b->n, v + 2 * b->n};
    assert_int_equal(kg_oracle(&call, &ref), 0);
    for (size_t i = first; i < b->n; i++) b->y[i] = (float)v[i];
    free(v);
    free(index);
    kg_inputs_free(in);
}

static kg_check check(bench *b) {
    const kg_device_ops *ops = b->device->ops;
    assert_int_equal(ops->upload(b->out, b->layout.outs[0].offset, b->y, b->n * sizeof *b->y, NULL), 0);
    const kg_check_request r = {.task = b->task,
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

static void every_allowed_reading_is_right_and_named(void **state) {
    bench *b = *state;
    size_t allowed = 0;
    for (const kg_reading *r = b->task->readings; r->name; r++) {
        if (r->wrong) continue;
        answer(b, r, 0);
        kg_check k = check(b);
        assert_true(k.error_over_bound <= 1);
        // "absmax/128" is met by "absmax/128 without -128" too, where the largest value is positive.
        assert_int_equal(strncmp(r->name, k.reading, strlen(k.reading)), 0);
        kg_check_free(&k);
        allowed++;
    }
    assert_int_equal(allowed, 36);  // nine pairs of grains, four divisors
}

static void half_of_one_and_half_of_another_is_wrong(void **state) {
    bench *b = *state;
    answer(b, &b->task->readings[0], 0);
    answer(b, &b->task->readings[1], b->n / 2);
    kg_check k = check(b);
    assert_true(k.error_over_bound > 1);
    assert_string_equal(k.reading, b->task->readings[0].name);  // the one that it began with
    assert_null(strstr(k.where, "without quantisation"));
    kg_check_free(&k);
    answer(b, &b->task->readings[0], 0);
    answer(b, &b->task->readings[1], b->n - 24);  // a last row by another scale
    k = check(b);
    assert_true(k.error_over_bound > 1);
    kg_check_free(&k);
}

static void a_reading_that_is_not_allowed_is_explained(void **state) {
    bench *b = *state;
    const kg_reading *r = b->task->readings;
    while (!r->wrong) r++;
    answer(b, r, 0);
    kg_check k = check(b);
    assert_true(k.error_over_bound > 1);
    assert_non_null(strstr(k.where, "; the output is the product without quantisation"));
    kg_check_free(&k);
    b->y[100] += 1;  // and then it is no longer that either
    k = check(b);
    assert_null(strstr(k.where, "without quantisation"));
    kg_check_free(&k);
}

#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_BENCH(every_allowed_reading_is_right_and_named),
        WITH_BENCH(half_of_one_and_half_of_another_is_wrong),
        WITH_BENCH(a_reading_that_is_not_allowed_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
