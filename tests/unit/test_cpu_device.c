// The CPU device: values, poison, and memory that a reader cannot write or shrink.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"

static int set_up(void **state) { return kg_device_open("cpu", (kg_device **)state, NULL); }
static int tear_down(void **state) {
    kg_device *d = *state;
    d->ops->close(d);
    return 0;
}

static void fill_is_the_same_function_everywhere(void **state) {
    kg_device *d = *state;
    kg_arena *a;
    enum { N = 300000 };
    kg_extent e = {1024, KG_F32, N};
    kg_fill f = {KG_FILL_NORMAL, 1, 2};
    assert_int_equal(d->ops->arena_create(d, 1024 + N * 4, true, &a, NULL), 0);
    assert_int_equal(d->ops->fill(a, e, &f, 77, NULL), 0);
    int64_t index[] = {0, 65535, 65536, 65537, 299999};
    float got[5];
    assert_int_equal(d->ops->gather(a, e, 5, index, got, NULL), 0);
    for (int i = 0; i < 5; i++) assert_true(got[i] == (float)kg_fill_value(&f, KG_F32, 77, index[i]));
    index[4] = N;
    assert_int_equal(d->ops->gather(a, e, 5, index, got, NULL), -1);
    e.count = N + 4096;
    assert_int_equal(d->ops->fill(a, e, &f, 77, NULL), -1);
    d->ops->arena_destroy(a);
}

// Few elements far apart: 8 GiB of inputs take the pages of three of them.
static void elements_far_apart_take_no_memory(void **state) {
    kg_device *d = *state;
    kg_arena *a;
    const kg_extent e = {512, KG_F32, ((int64_t)1 << 31) + 1};
    const kg_fill f = {KG_FILL_NORMAL, 1, 2};
    const int64_t index[] = {0, 1 << 30, (int64_t)1 << 31}, outside = e.count;
    float got[3];
    struct stat of;
    assert_int_equal(d->ops->arena_create(d, 512 + (size_t)e.count * 4, false, &a, NULL), 0);
    assert_int_equal(d->ops->fill_at(a, e, 3, index, &f, 77, NULL), 0);
    assert_int_equal(d->ops->gather(a, e, 3, index, got, NULL), 0);
    for (int i = 0; i < 3; i++) assert_true(got[i] == (float)kg_fill_value(&f, KG_F32, 77, index[i]));
    assert_int_equal(fstat(d->ops->arena_info(a).fd, &of), 0);
    assert_true(of.st_blocks * 512 < 32 << 20);  // three pages, 2 MiB each where they are huge
    assert_int_equal(d->ops->fill_at(a, e, 1, &outside, &f, 77, NULL), -1);
    d->ops->arena_destroy(a);
}

static void poison_is_counted(void **state) {
    kg_device *d = *state;
    kg_arena *a;
    kg_extent e = {0, KG_F16, 100000};
    kg_fill poison = {.kind = KG_FILL_POISON};
    uint64_t n;
    assert_int_equal(d->ops->arena_create(d, 200000, true, &a, NULL), 0);
    assert_int_equal(d->ops->fill(a, e, &poison, 0, NULL), 0);
    assert_int_equal(d->ops->upload(a, 2000, "\0\0\0\0", 4, NULL), 0);
    assert_int_equal(d->ops->count_poison(a, e, &n, NULL), 0);
    assert_int_equal(n, 99998);
    assert_int_equal(d->ops->evict(a, 200000, NULL), 0);
    assert_int_equal(d->ops->count_poison(a, e, &n, NULL), 0);
    assert_int_equal(n, 99998);
    d->ops->arena_destroy(a);
}

static void readers_can_only_read(void **state) {
    kg_device *d = *state;
    kg_arena *a;
    float x = 3;
    assert_int_equal(d->ops->arena_create(d, 8192, false, &a, NULL), 0);
    kg_arena_info info = d->ops->arena_info(a);
    assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, info.fd, 0) == MAP_FAILED);
    char *reopened = kg_format("/proc/self/fd/%d", info.fd);
    int fd = open(reopened, O_RDWR);
    if (fd >= 0) {
        assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
        assert_true(pwrite(fd, "x", 1, 0) < 0);
        assert_int_equal(ftruncate(fd, 0), -1);
        close(fd);
    }
    free(reopened);
    const float *seen = mmap(NULL, 4096, PROT_READ, MAP_SHARED, info.fd, 0);
    assert_true(seen != MAP_FAILED);
    assert_int_equal(mprotect((void *)seen, 4096, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(d->ops->upload(a, 0, &x, sizeof x, NULL), 0);
    assert_true(*seen == 3);
    munmap((void *)seen, 4096);
    d->ops->arena_destroy(a);
}

static void unknown_devices_are_told_what_is_here(void **state) {
    (void)state;
    static const char *const wrong[] = {"cpu:1", "cuda:99", "cud", "cpu:", "cpu:x", "", "cpu:99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kg_error e = {0};
        kg_device *d;
        assert_int_equal(kg_device_open(wrong[i], &d, &e), -1);
        assert_int_equal(e.code, KG_ERR_CANNOT);
        assert_non_null(strstr(e.text, "here, only cpu"));
        kg_error_clear(&e);
    }
}

// Ceilings of any machine of this century, in orders of magnitude: a wrong unit or count shows, and a test machine
// whose processors others share (seen: two cores together at less than 0.4 of one) passes.
static void ceilings_are_plausible(void **state) {
    kg_device *d = *state;
    kg_ceilings c;
    assert_int_equal(d->ops->measure(d, &c, NULL, NULL, NULL), 0);
    assert_true(c.one_core_fp32_ops_s > 3e8 && c.one_core_fp32_ops_s < 1e13);
    assert_true(c.ops_s[KG_U_FP32] > 0.02 * c.one_core_fp32_ops_s && c.ops_s[KG_U_FP32] < 1e16);
    assert_true(c.ops_s[KG_U_FP64] > 0.02 * c.ops_s[KG_U_FP32] && c.ops_s[KG_U_FP64] < 10 * c.ops_s[KG_U_FP32]);
    assert_true(c.copy_bytes_s > 3e7 && c.read_bytes_s > 3e7 && c.write_bytes_s > 3e7);
    assert_true(c.launch_s > 0 && c.launch_s < 0.1);  // waking a thread
    assert_true(isnan(c.ops_s[KG_U_SPECIAL]));
    // And a look at what of them is given now, twice: the second finds its memory laid out.
    for (int i = 0; i < 2; i++) {
        kg_grant g = {NAN, NAN};
        bool alone;
        assert_int_equal(d->ops->glance(d, &c, &g, &alone, NULL), 0);
        assert_true(g.memory > 1e-3 && g.memory < 50 && g.compute > 1e-3 && g.compute < 50);
    }
    free(c.source);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fill_is_the_same_function_everywhere),
                                       cmocka_unit_test(elements_far_apart_take_no_memory),
                                       cmocka_unit_test(poison_is_counted),
                                       cmocka_unit_test(readers_can_only_read),
                                       cmocka_unit_test(unknown_devices_are_told_what_is_here),
                                       cmocka_unit_test(ceilings_are_plausible)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
