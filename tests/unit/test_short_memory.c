// What a kernel's "out of memory" says of it, and what it says of the machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "judge/trial.h"

#define GB ((size_t)1 << 30)

static const char *const torch_cpu =
    "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 byte";
static const char *const torch_cuda = "OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 GiB";

// relu of 2^31 + 64 float32: 16 GiB of tensors.
static kg_case large_relu(void) {
    kg_case c = {.n_args = 1, .n_outs = 1, .name = "large", .large = true};
    const int64_t shape[] = {((int64_t)1 << 31) + 64};
    c.args[0].kind = KG_P_TENSOR;
    c.args[0].tensor = c.outs[0] = kg_tensor_contiguous(KG_F32, 1, shape);
    return c;
}

static bool excused(const kg_case *c, size_t free_bytes, const char *why) {
    kg_judge judge = {.info = {.free_bytes = free_bytes}};
    kg_trial t = {.judge = &judge, .not_checked = json_array()};
    const bool is = kg_trial_lacked_memory(&t, c, why);
    assert_int_equal(json_array_size(t.not_checked), is);
    json_decref(t.not_checked);
    return is;
}

static void a_large_case_on_a_small_machine_says_nothing(void **state) {
    (void)state;
    const kg_case c = large_relu();
    assert_true(excused(&c, 24 * GB, torch_cpu));
    assert_true(excused(&c, 40 * GB, torch_cuda));
}

static void where_there_is_room_the_kernel_took_too_much(void **state) {
    (void)state;
    const kg_case c = large_relu();
    assert_false(excused(&c, 80 * GB, torch_cuda));
}

static void no_other_failure_is_excused(void **state) {
    (void)state;
    const kg_case c = large_relu();
    assert_false(excused(&c, 24 * GB, "ValueError: wrong"));
    assert_false(excused(&c, 24 * GB, "CUDA_ERROR_ILLEGAL_ADDRESS"));
}

static void a_small_case_needs_no_excuse(void **state) {
    (void)state;
    kg_case c = large_relu();
    const int64_t shape[] = {1025};
    c.large = false;
    c.args[0].tensor = c.outs[0] = kg_tensor_contiguous(KG_F32, 1, shape);
    assert_false(excused(&c, 1000, torch_cpu));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_case_on_a_small_machine_says_nothing),
        cmocka_unit_test(where_there_is_room_the_kernel_took_too_much),
        cmocka_unit_test(no_other_failure_is_excused),
        cmocka_unit_test(a_small_case_needs_no_excuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
