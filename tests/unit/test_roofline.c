// Speed of light, the floor below it, and the screens, by numbers worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "screen/screen.h"

// About an H200: copy 4.29e12 bytes/s, fp32 6e13, tf32 4e14, fp16 8e14 operations/s, launch 1.4 us.
static kg_ceilings h200(void) {
    kg_ceilings c = {.read_bytes_s = NAN,
                     .write_bytes_s = NAN,
                     .copy_bytes_s = 4.29e12,
                     .launch_s = 1.4e-6,
                     .one_core_copy_bytes_s = NAN,
                     .one_core_fp32_ops_s = NAN,
                     .cache_bytes_s = NAN};
    for (int u = 0; u < 8; u++) c.ops_s[u] = NAN;
    c.ops_s[KG_U_FP32] = 6e13, c.ops_s[KG_U_TF32] = 4e14, c.ops_s[KG_U_FP16] = 8e14;
    return c;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

// 2^27 floats read and written: 2^30 bytes / 4.29e12 = 250.29 us.
static void copies_are_bound_by_memory(void **state) {
    (void)state;
    const kg_ceilings c = h200();
    const kg_work w = {.bytes_read = 0x1p29, .bytes_written = 0x1p29, .ops[KG_U_FP32] = 0x1p27};
    const kg_sol s = kg_roofline_sol(&w, &c, KG_PREC_FP32, KG_F32);
    assert_true(near(s.seconds, 0x1p30 / 4.29e12));
    assert_int_equal(s.bound, KG_BOUND_MEMORY);
    assert_string_equal(kg_bound_name(s.bound), "memory");
}

// A product of 4096: 2 * 4096^3 operations are 2.29 ms in fp32, 344 us where the answer only needs tf32.
static void products_are_charged_what_they_show(void **state) {
    (void)state;
    const kg_ceilings c = h200();
    const double ops = 2.0 * 4096 * 4096 * 4096;
    const kg_work w = {.bytes_read = 2 * 0x1p26, .bytes_written = 0x1p26, .ops[KG_U_FP32] = ops};
    const kg_sol full = kg_roofline_sol(&w, &c, KG_PREC_FP32, KG_F32),
                 tf32 = kg_roofline_sol(&w, &c, KG_PREC_TF32, KG_F32);
    assert_true(near(full.seconds, ops / 6e13) && near(tf32.seconds, ops / 4e14));
    assert_int_equal(full.bound, KG_BOUND_COMPUTE);
}

// 65,536 floats: 0.12 us of memory beneath a launch of 1.4 us.
static void small_sizes_are_latency(void **state) {
    (void)state;
    const kg_ceilings c = h200();
    const kg_work w = {.bytes_read = 0x1p18, .bytes_written = 0x1p18};
    const kg_sol s = kg_roofline_sol(&w, &c, KG_PREC_FP32, KG_F32);
    assert_true(near(s.seconds, 1.4e-6));
    assert_int_equal(s.bound, KG_BOUND_LATENCY);
}

// DESIGN.md's measured times of honest copies on an H200 (50 MiB of cache): none is below the floor; a tenth of them
// is.
static void the_floor_accuses_nobody_honest(void **state) {
    (void)state;
    const kg_ceilings c = h200();
    static const struct {
        double floats, seconds;
    } honest[] = {{65536, 2.5e-6}, {1048576, 5.6e-6}, {16777216, 53.4e-6}, {134217728, 404.2e-6}};
    for (int i = 0; i < 4; i++) {
        const kg_work w = {.bytes_read = honest[i].floats * 4, .bytes_written = honest[i].floats * 4};
        for (int cold = 0; cold < 2; cold++)
            assert_true(kg_roofline_floor(&w, &c, 0x1p20 * 50, cold) < honest[i].seconds / 1.5);
    }
    const kg_work large = {.bytes_read = 0x1p29, .bytes_written = 0x1p29};
    assert_true(kg_roofline_floor(&large, &c, 0x1p20 * 50, true) > 404.2e-6 / 10);
    // Winograd does a quarter of the operations: 0.6 of the fp32 time is no lie.
    const kg_work conv = {.bytes_read = 1e6, .bytes_written = 1e6, .ops[KG_U_FP32] = 1e12};
    assert_true(kg_roofline_floor(&conv, &c, 0x1p20 * 50, true) < 1e12 / 8e14);
}

static void ceilings_survive_the_store(void **state) {
    (void)state;
    kg_ceilings c = h200(), back;
    c.source = kg_strdup("kgate 0.1 \"quoted\"");
    char *json = kg_ceilings_to_json(&c);
    assert_int_equal(kg_ceilings_from_json(json, &back, NULL), 0);
    assert_true(back.copy_bytes_s == 4.29e12 && isnan(back.read_bytes_s) && back.ops_s[KG_U_FP16] == 8e14);
    assert_string_equal(back.source, c.source);
    kg_error err = {0};
    assert_int_equal(kg_ceilings_from_json("[1", &back, &err), -1);
    kg_error_clear(&err);
    free(json);
    kg_ceilings_free(&c), kg_ceilings_free(&back);
}

static void screens_decide_by_the_interval(void **state) {
    (void)state;
    bool sure;
    assert_int_equal(kg_screen_decide((kg_interval){0.9, 0.85, 0.95}, 0.8, &sure), KG_SCREEN_PASS);
    assert_true(sure);
    assert_int_equal(kg_screen_decide((kg_interval){0.8, 0.8, 0.9}, 0.8, &sure), KG_SCREEN_PASS);
    assert_true(sure);
    assert_int_equal(kg_screen_decide((kg_interval){0.79, 0.7, 0.85}, 0.8, &sure), KG_SCREEN_FAIL);
    assert_false(sure);
    assert_int_equal(kg_screen_decide((kg_interval){NAN, NAN, NAN}, 0.8, &sure), KG_SCREEN_NONE);
    const kg_thresholds t = kg_thresholds_default();
    assert_true(t.lre_min == 0.80 && t.util_min[KG_BOUND_MEMORY] == 0.35 && t.util_min[KG_BOUND_COMPUTE] == 0.60);
}

// A device that gives half of its memory and a quarter of its arithmetic; more than all, or nobody knows, is all.
static void grants_lower_the_rates(void **state) {
    (void)state;
    const kg_ceilings c = h200(), less = kg_ceilings_granted(&c, (kg_grant){0.5, 0.25}),
                      same = kg_ceilings_granted(&c, (kg_grant){1.5, NAN});
    assert_true(near(less.copy_bytes_s, 4.29e12 / 2) && near(less.ops_s[KG_U_FP32], 6e13 / 4));
    assert_true(near(less.ops_s[KG_U_FP16], 8e14 / 4) && isnan(less.ops_s[KG_U_FP64]) && less.launch_s == c.launch_s);
    assert_true(same.copy_bytes_s == c.copy_bytes_s && same.ops_s[KG_U_FP32] == c.ops_s[KG_U_FP32]);
}

// DESIGN.md's table.
static void classes(void **state) {
    (void)state;
    assert_string_equal(kg_class_of(KG_SCREEN_PASS, KG_SCREEN_PASS, false), "none");
    assert_string_equal(kg_class_of(KG_SCREEN_PASS, KG_SCREEN_FAIL, false), "library-gap");
    assert_string_equal(kg_class_of(KG_SCREEN_FAIL, KG_SCREEN_PASS, true), "library-ahead");
    assert_string_equal(kg_class_of(KG_SCREEN_FAIL, KG_SCREEN_FAIL, true), "authoring-defect");
    assert_string_equal(kg_class_of(KG_SCREEN_FAIL, KG_SCREEN_FAIL, false), "structural-residual");
    assert_null(kg_class_of(KG_SCREEN_NONE, KG_SCREEN_NONE, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_bound_by_memory), cmocka_unit_test(products_are_charged_what_they_show),
        cmocka_unit_test(small_sizes_are_latency),    cmocka_unit_test(the_floor_accuses_nobody_honest),
        cmocka_unit_test(ceilings_survive_the_store), cmocka_unit_test(screens_decide_by_the_interval),
        cmocka_unit_test(grants_lower_the_rates),     cmocka_unit_test(classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
