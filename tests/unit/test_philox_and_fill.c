// Philox against its published answers, and every fill kind: element by element equal to the range version, from any
// start, in every dtype; distributions as documented.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

// Known answers of Random123 1.14.0, file kat_vectors, "philox4x32 10".
static void philox_known_answers(void **state) {
    (void)state;
    static const struct {
        uint64_t key, lo, hi;
        uint32_t v[4];
    } kat[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {0xffffffffffffffffu,
         0xffffffffffffffffu,
         0xffffffffffffffffu,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822u,
         0x85a308d3243f6a88u,
         0x0370734413198a2eu,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof kat / sizeof *kat; i++) {
        const kg_philox r = kg_philox4x32(kat[i].key, kat[i].lo, kat[i].hi);
        for (int k = 0; k < 4; k++) assert_int_equal(r.v[k], kat[i].v[k]);
    }
}

static const kg_fill kinds[] = {
    {KG_FILL_ZERO, 0, 0},         {KG_FILL_CONST, 1.5, 0},    {KG_FILL_NORMAL, 0.5, 2},   {KG_FILL_UNIFORM, -1, 3},
    {KG_FILL_INT, -5, 9},         {KG_FILL_OUTLIERS, 0.1, 1}, {KG_FILL_SPECIALS, 0.3, 2}, {KG_FILL_LOGSCALE, -30, 20},
    {KG_FILL_LOGSCALE, -126, -1}, {KG_FILL_TIES, 0, 0},       {KG_FILL_POISON, 0, 0},     {KG_FILL_SHUFFLE, 37, 5},
    {KG_FILL_SHUFFLE, 1000, 1},   {KG_FILL_CHOICE, 100, 37},  {KG_FILL_CHOICE, 1, 1},     {KG_FILL_CHOICE, 1507, 0},
    {KG_FILL_RAISED, 17, 9},      {KG_FILL_CYCLIC, -5, 9},    {KG_FILL_SYMMETRIC, -7, 3}, {KG_FILL_HERMITIAN, -7, 3},
    {KG_FILL_LOWER, 6, 2},        {KG_FILL_UPPER, -6, 2},     {KG_FILL_EXCHANGED, -6, 2}, {KG_FILL_RANK_ONE, 12, 0.1},
};

// A start inside an odd block must give the same elements: the judge fills and checks in pieces.
static void range_equals_elements(void **state) {
    (void)state;
    enum { N = 1500 };
    uint64_t range[N], pieces[N], one[1];
    for (size_t f = 0; f < sizeof kinds / sizeof *kinds; f++)
        for (int t = 0; t < KG_DTYPES; t++) {
            const size_t size = kg_dtype_size(t);
            const uint64_t seed = 0x123456789abcdef0u + (uint64_t)t;
            const int64_t first = 7;
            kg_fill_range(&kinds[f], t, seed, first, N, range);
            kg_fill_range(&kinds[f], t, seed, first, 514, pieces);
            kg_fill_range(&kinds[f], t, seed, first + 514, N - 514, (char *)pieces + 514 * size);
            assert_memory_equal(range, pieces, N * size);
            if (kinds[f].kind == KG_FILL_POISON || kinds[f].kind == KG_FILL_SPECIALS) continue;  // NaN payloads
            for (int64_t i = 0; i < N; i++) {
                kg_store(t, one, 0, kg_fill_value(&kinds[f], t, seed, first + i));
                assert_memory_equal(one, (char *)range + (size_t)i * size, size);
            }
        }
}

static void normal_is_bell_shaped(void **state) {
    (void)state;
    enum { N = 1 << 18 };
    float *v = malloc(N * sizeof *v);
    const kg_fill f = {KG_FILL_NORMAL, 2, 3};
    kg_fill_range(&f, KG_F32, 42, 0, N, v);
    double sum = 0, square = 0, fourth = 0;
    int inside = 0;
    for (int i = 0; i < N; i++) {
        const double d = (v[i] - 2.0) / 3.0;
        sum += d;
        square += d * d;
        fourth += d * d * d * d;
        inside += fabs(d) < 1;
    }
    // Standard errors at 2^18 draws: mean 0.002, variance 0.0025. Kurtosis of a sum of four uniforms is 3 - 1.2/4.
    assert_true(fabs(sum / N) < 0.01);
    assert_true(fabs(square / N - 1) < 0.015);
    assert_true(fabs(fourth / N - 2.7) < 0.05);
    assert_true(fabs((double)inside / N - 0.676) < 0.02);
    free(v);
}

static void kinds_keep_their_ranges(void **state) {
    (void)state;
    enum { N = 20000 };
    static float v[N];
    int seen[15] = {0}, outliers = 0, specials = 0, octaves[8] = {0};
    kg_fill_range(&kinds[4], KG_F32, 1, 0, N, v);
    for (int i = 0; i < N; i++) seen[(int)v[i] + 5]++;
    for (int i = 0; i < 15; i++) assert_in_range(seen[i], N / 15 - 200, N / 15 + 200);
    kg_fill_range(&kinds[3], KG_F32, 1, 0, N, v);
    for (int i = 0; i < N; i++) assert_true(v[i] >= -1 && v[i] <= 3);
    kg_fill_range(&(kg_fill){KG_FILL_OUTLIERS, 0, 1}, KG_F32, 1, 0, N, v);
    for (int i = 0; i < N; i++) outliers += fabsf(v[i]) > 4;  // a sum of four uniforms ends at 3.47
    assert_in_range(outliers, N / 64 - 70, N / 64 + 70);
    kg_fill_range(&(kg_fill){KG_FILL_LOGSCALE, -4, 4}, KG_F32, 1, 0, N, v);
    for (int i = 0; i < N; i++) {
        const int e = ilogbf(v[i]);
        assert_in_range(e + 4, 0, 7);
        octaves[e + 4]++;
    }
    for (int i = 0; i < 8; i++) assert_in_range(octaves[i], N / 8 - 250, N / 8 + 250);
    kg_fill_range(&(kg_fill){KG_FILL_SPECIALS, 0, 1}, KG_F32, 1, 0, 72, v);
    int nan = 0, inf = 0, zero = 0, denormal = 0, most = 0;
    for (int i = 0; i < 72; i++) {
        nan += isnan(v[i]);
        inf += isinf(v[i]) != 0;
        zero += v[i] == 0;
        denormal += fpclassify(v[i]) == FP_SUBNORMAL;
        most += fabsf(v[i]) == 0x1.fffffep127f;
        specials += i % 8 == 0;
    }
    assert_int_equal(specials, 9);  // one in eight of 72: each of the nine once
    assert_int_equal(nan, 1);
    assert_int_equal(inf, 2);
    assert_int_equal(zero, 2);
    assert_int_equal(denormal, 2);
    assert_int_equal(most, 2);
}

// Every value once in every full turn of a line; any `a` neighbours distinct; lines and seeds in orders of their own.
static void shuffles_are_permutations(void **state) {
    (void)state;
    static const int64_t ranges[] = {1, 2, 3, 5, 64, 100, 4097};
    static int32_t v[3 * 4097 * 2], other[3 * 4097 * 2];
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        for (int64_t stride = 1; stride <= 2; stride++) {
            const int64_t a = ranges[k];
            const kg_fill f = {KG_FILL_SHUFFLE, (double)a, (double)stride};
            kg_fill_range(&f, KG_I32, 77, 0, 3 * a * stride, v);
            kg_fill_range(&f, KG_I32, 78, 0, 3 * a * stride, other);
            unsigned char *seen = calloc((size_t)a, 1);
            for (int64_t i = 0; i < a; i++) {
                const int32_t x = v[(a / 2 + i) * stride];  // across the end of a turn
                assert_in_range(x, 0, a - 1);
                assert_int_equal(seen[x]++, 0);
            }
            free(seen);
            if (a < 64) continue;
            assert_memory_not_equal(v, other, (size_t)a * sizeof *v);
            int same = 0, fixed = 0;
            for (int64_t i = 0; i < a; i++)
                same += v[i * stride] == v[i * stride + stride - 1], fixed += v[i * stride] == i;
            assert_true(fixed < 8);  // Poisson of mean 1
            if (stride == 2) assert_true(same < 8);
        }
}

// The stated number, whatever the seed; and each place as often as any other: 400 draws of 30 in 100.
static void choices_are_exact(void **state) {
    (void)state;
    enum { A = 100, B = 30, SEEDS = 400 };
    const kg_fill f = {KG_FILL_CHOICE, A, B};
    int hits[A] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint8_t v[2 * A];
        int n[2] = {0};
        kg_fill_range(&f, KG_BOOL, seed * 0x9e3779b97f4a7c15u, 0, 2 * A, v);
        for (int i = 0; i < 2 * A; i++) n[i / A] += v[i], hits[i % A] += i < A ? v[i] : 0;
        assert_int_equal(n[0], B);
        assert_int_equal(n[1], B);
    }
    for (int i = 0; i < A; i++) assert_in_range(hits[i], SEEDS * B / A - 55, SEEDS * B / A + 55);  // six deviations
}

// Each kind's structure: what is added where, what is equal to what, what is 0; matrices behind the first differ from
// it.
static void matrices_have_their_structure(void **state) {
    (void)state;
    enum { N = 7 };
    static const kg_fill_kind all[] = {KG_FILL_RAISED, KG_FILL_CYCLIC, KG_FILL_SYMMETRIC, KG_FILL_HERMITIAN,
                                       KG_FILL_LOWER,  KG_FILL_UPPER,  KG_FILL_EXCHANGED};
    float real[2 * N * N], parts[2 * N * N];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        kg_fill_range(&(kg_fill){all[k], N, 100}, KG_F32, 5, 0, 2 * N * N, real);
        kg_fill_range(&(kg_fill){all[k], -N, 100}, KG_F32, 5, 0, 2 * N * N, parts);
        const bool symmetric =
            all[k] == KG_FILL_SYMMETRIC || all[k] == KG_FILL_HERMITIAN || all[k] == KG_FILL_EXCHANGED;
        const float sign = all[k] == KG_FILL_HERMITIAN ? -1 : 1;
        for (int r = 0; r < N; r++)
            for (int c = 0; c < N; c++) {
                const int at = r * N + c, mirror = c * N + r;
                const bool raised = all[k] == KG_FILL_CYCLIC      ? c == (r + 1) % N
                                    : all[k] == KG_FILL_EXCHANGED ? c == N - 1 - r
                                                                  : c == r;
                const bool none = (all[k] == KG_FILL_LOWER && c > r) || (all[k] == KG_FILL_UPPER && c < r);
                assert_true(raised == (real[at] > 50) && raised == (parts[2 * at] > 50));
                assert_true(none == (real[at] == 0) && none == (parts[2 * at] == 0));
                assert_true((real[at] == real[N * N + at]) == none);
                if (symmetric) assert_true(real[at] == real[mirror] && parts[2 * at] == parts[2 * mirror]);
                if (symmetric && r != c) assert_true(parts[2 * at + 1] == sign * parts[2 * mirror + 1]);
            }
    }
    kg_fill_range(&(kg_fill){KG_FILL_RANK_ONE, N, 0.5}, KG_F32, 5, 0, N * N, real);
    const double minor =
        (double)real[2] * real[N + 3] - (double)real[3] * real[N + 2];  // rows 0 and 1, columns 2 and 3
    assert_true(fabs(minor) < 1e-6 && real[2] != 0 && real[0] != 0);
}

static void poison_is_signalling(void **state) {
    (void)state;
    const kg_fill f = {KG_FILL_POISON, 0, 0};
    uint64_t bits = 0;
    kg_fill_range(&f, KG_F32, 0, 0, 1, &bits);
    assert_int_equal(bits, 0x7fa5a5a5);  // exponent all ones, quiet bit 22 clear
    kg_fill_range(&f, KG_I32, 0, 0, 1, &bits);
    assert_int_equal(bits, 0xa5a5a5a5);
    bits = 0;
    kg_fill_range(&f, KG_F16, 0, 0, 1, &bits);
    assert_int_equal(bits & 0x7e00, 0x7c00);
    assert_true(isnan(kg_fill_value(&f, KG_F16, 0, 0)));
}

// One value worked out by hand from the recipe in fill.c and the first known answer: w0 = 6627e8d5, w1 = e169c58d.
// s = e8d5 + 6627 + c58d + e169, in decimals 59605 + 26151 + 50573 + 57705 = 194034;
// e = (w0 ^ w1 >> 7) & 63 = 15h ^ 0bh = 30; x = 64 * 194034 + 30 - 8388511 = 4029695.
static void normal_by_hand(void **state) {
    (void)state;
    const kg_fill f = {KG_FILL_NORMAL, 0, 2421581.7};  // scale 1: the value is x itself
    assert_true(kg_fill_value(&f, KG_F32, 0, 0) == 4029695.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),          cmocka_unit_test(range_equals_elements),
        cmocka_unit_test(normal_is_bell_shaped),         cmocka_unit_test(kinds_keep_their_ranges),
        cmocka_unit_test(poison_is_signalling),          cmocka_unit_test(normal_by_hand),
        cmocka_unit_test(shuffles_are_permutations),     cmocka_unit_test(choices_are_exact),
        cmocka_unit_test(matrices_have_their_structure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
