// Conversions: every 16-bit pattern round trips, roundings go to nearest even (checked against the CPU's own F16
// arithmetic through float, and against integer reasoning for bfloat16).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static void sixteen_bits_round_trip(void **state) {
    (void)state;
    static const kg_dtype types[] = {KG_F16, KG_BF16};
    for (int k = 0; k < 2; k++)
        for (uint32_t h = 0; h < 65536; h++) {
            const uint16_t in = (uint16_t)h;
            const double v = kg_load(types[k], &in, 0);
            uint16_t out = 0;
            kg_store(types[k], &out, 0, v);
            if (isnan(v)) assert_true(isnan(kg_load(types[k], &out, 0)));
            else assert_int_equal(out, in);
        }
}

// Between neighbours a < b of a format lies the tie (a + b) / 2: it goes to the even pattern, anything past it to the
// nearer one. All neighbours, both formats, denormals included.
static void sixteen_bits_round_to_nearest_even(void **state) {
    (void)state;
    static const struct {
        kg_dtype t;
        uint16_t inf;
    } f[] = {{KG_F16, 0x7c00}, {KG_BF16, 0x7f80}};
    for (int k = 0; k < 2; k++)
        for (uint16_t h = 0; h + 1 < f[k].inf; h++) {
            const uint16_t next = (uint16_t)(h + 1);
            const double a = kg_load(f[k].t, &h, 0), b = kg_load(f[k].t, &next, 0), tie = a + (b - a) / 2;
            uint16_t out;
            kg_store(f[k].t, &out, 0, tie);
            assert_int_equal(out, h & 1 ? next : h);
            kg_store(f[k].t, &out, 0, nextafter(tie, INFINITY));
            assert_int_equal(out, next);
            kg_store(f[k].t, &out, 0, -nextafter(tie, 0));
            assert_int_equal(out, h | 0x8000);
        }
}

static void overflow_is_ieee(void **state) {
    (void)state;
    uint16_t h;
    kg_store(KG_F16, &h, 0, 65519.996);  // below the tie 65520 between 65504 and 2^16
    assert_int_equal(h, 0x7bff);
    kg_store(KG_F16, &h, 0, 65520.0);
    assert_int_equal(h, 0x7c00);
    kg_store(KG_BF16, &h, 0, -1e300);
    assert_int_equal(h, 0xff80);
    kg_store(KG_F16, &h, 0, 0x1p-25);  // tie between 0 and the least denormal: even is 0
    assert_int_equal(h, 0);
    kg_store(KG_F16, &h, 0, 0x1.000001p-25);
    assert_int_equal(h, 1);
    // A double that a detour through float would round twice: 1 + 2^-11 + 2^-40.
    kg_store(KG_F16, &h, 0, 1 + 0x1p-11 + 0x1p-40);
    assert_int_equal(h, 0x3c01);
}

static void integers_clamp(void **state) {
    (void)state;
    int8_t b;
    int64_t q;
    uint8_t u;
    kg_store(KG_I8, &b, 0, 300);
    assert_int_equal(b, 127);
    kg_store(KG_I8, &b, 0, -2.5);
    assert_int_equal(b, -2);
    kg_store(KG_U8, &u, 0, -1);
    assert_int_equal(u, 0);
    kg_store(KG_I64, &q, 0, 1e30);
    assert_true(q == INT64_MAX);
    kg_store(KG_BOOL, &u, 0, 0.25);
    assert_int_equal(u, 1);
    q = (1ll << 53) + 1;
    assert_true(kg_load_int(KG_I64, &q, 0) == (1ll << 53) + 1);
}

// The fast conversions of kg_fill_range against kg_store, over every float exponent.
static void fills_round_as_stores_do(void **state) {
    (void)state;
    enum { N = 200000 };
    float *v = malloc(N * sizeof *v);
    uint16_t *half = malloc(N * sizeof *half);
    const kg_fill f = {KG_FILL_LOGSCALE, -40, 20};
    static const kg_dtype types[] = {KG_F16, KG_BF16};
    for (int k = 0; k < 2; k++) {
        kg_fill_range(&f, KG_F32, 9, 0, N, v);
        kg_fill_range(&f, types[k], 9, 0, N, half);
        for (int i = 0; i < N; i++) {
            uint16_t want;
            kg_store(types[k], &want, 0, (double)v[i]);
            assert_int_equal(half[i], want);
        }
    }
    free(v);
    free(half);
}

static void names_parse(void **state) {
    (void)state;
    for (int t = 0; t < KG_DTYPES; t++) {
        assert_int_equal(kg_dtype_parse(kg_dtype_name(t)), t);
        assert_int_equal(kg_dtype_parse(kg_dtype_short(t)), t);
    }
    assert_int_equal(kg_dtype_parse("torch.bfloat16"), KG_BF16);
    assert_int_equal(kg_dtype_parse("float12"), -1);
    assert_true(kg_dtype_unit(KG_BF16) == 1.0 / 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits_round_trip),  cmocka_unit_test(sixteen_bits_round_to_nearest_even),
        cmocka_unit_test(overflow_is_ieee),         cmocka_unit_test(integers_clamp),
        cmocka_unit_test(fills_round_as_stores_do), cmocka_unit_test(names_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
