// Fractional max pooling: where windows start, against numbers worked out by hand, and the random numbers that outputs
// are in keeping with, against those that made them, in exact arithmetic and in float32.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "oracle/fractional.h"

static const kg_start_kind plain[2] = {KG_START_PLAIN, KG_START_PLAIN};

static double uniform(uint64_t seed, uint64_t i) {
    const kg_philox r = kg_philox4x32(seed, i, 0);
    return ((double)r.v[0] + (double)r.v[1] * 0x1p-32) * 0x1p-32;
}

// 10 elements, 6 windows of 2: a = 8/5. At u = 1/2 (i + u) a is 0.8, 2.4, 4, 5.6, 7.2.
static void windows_start_at_the_multiples(void **state) {
    (void)state;
    const kg_fractional d = {10, 2, 6}, one = {7, 3, 1}, close = {6, 2, 5};
    static const int64_t at_zero[] = {0, 1, 3, 4, 6, 8}, at_half[] = {0, 2, 4, 5, 7, 8};
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(kg_fractional_start(&d, 0, i), at_zero[i]);
        assert_int_equal(kg_fractional_start(&d, 0.5, i), at_half[i]);
    }
    assert_int_equal(kg_fractional_start(&one, 0.25, 0), 4);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(kg_fractional_start(&close, 0.7, i), i);
}

// f = frac(8 u / 5) is below 3/5 in two of the eight fifths' intervals: for u below 3/8, and from 5/8 on.
static void the_fraction_is_not_uniform(void **state) {
    (void)state;
    const kg_fractional d = {10, 2, 6};
    assert_float_equal(kg_fractional_rank(&d, 0.6), 0.75, 1e-15);
    assert_float_equal(kg_fractional_rank(&d, 0.3), 0.375, 1e-15);
    assert_float_equal(kg_fractional_rank(&d, 0.8), 0.875, 1e-15);
    assert_float_equal(kg_fractional_rank(&d, 1), 1, 1e-15);
    // Window 1: i a = 1.6, so its upper start begins at f = 0.4, rank 1/2; with no rounding, at once.
    const kg_start s = kg_fractional_window(&d, 1, 0, KG_START_PLAIN);
    assert_int_equal(s.lower, 1);
    assert_float_equal(s.from, 0.5, 1e-15);
    assert_float_equal(s.to, 0.5, 1e-15);
}

// Ranks drawn for starts, which are all that is known of the outputs. Small pools look at all outputs, large ones at
// some. 1, 0 or -1 as kg_rank_pairs_draw.
static int ranks_of(const kg_fractional dims[2], const int64_t *rows, const int64_t *columns, double unit,
                    const kg_start_kind kinds[2], const double random[2], double rank[2]) {
    kg_rank_pairs p;
    assert_int_equal(kg_rank_pairs_make(&p, dims, unit, kinds), 0);
    const int64_t stride = dims[0].out > 100 ? 97 : 1;
    for (int64_t i = 0; i < dims[0].out; i++)
        for (int64_t j = i % stride; j < dims[1].out; j += stride) {
            bool may[2][2];
            for (int k = 0; k < 4; k++)
                may[k / 2][k % 2] = rows[i] == p.rows[i].lower + k / 2 && columns[j] == p.columns[j].lower + k % 2;
            kg_rank_pairs_note(&p, i, j, may);
        }
    const int found = kg_rank_pairs_draw(&p, random, rank);
    kg_rank_pairs_free(&p);
    return found;
}

static void drawn_ranks_make_the_same_starts_and_are_uniform(void **state) {
    (void)state;
    const kg_fractional dims[2] = {{10, 2, 6}, {23, 3, 9}};
    enum { N = 4000 };
    int cells[4][4] = {{0}};
    for (uint64_t n = 0; n < N; n++) {
        const double u[2] = {uniform(1, n), uniform(2, n)}, random[2] = {uniform(3, n), uniform(4, n)};
        int64_t starts[2][9];
        double rank[2];
        for (int k = 0; k < 2; k++)
            for (int64_t i = 0; i < dims[k].out; i++) starts[k][i] = kg_fractional_start(&dims[k], u[k], i);
        assert_int_equal(ranks_of(dims, starts[0], starts[1], 0, plain, random, rank), 1);
        for (int k = 0; k < 2; k++)
            for (int64_t i = 0; i < dims[k].out; i++) {
                const kg_start s = kg_fractional_window(&dims[k], i, 0, KG_START_PLAIN);
                assert_int_equal(s.lower + (rank[k] >= s.from), starts[k][i]);
            }
        cells[(int)(rank[0] * 4)][(int)(rank[1] * 4)]++;
    }
    // 250 expected, standard deviation 15.3.
    for (int i = 0; i < 16; i++) assert_in_range(cells[i / 4][i % 4], 250 - 77, 250 + 77);
}

static void starts_of_no_number_are_found(void **state) {
    (void)state;
    const kg_fractional dims[2] = {{10, 2, 6}, {10, 2, 6}};
    const int64_t good[] = {0, 1, 3, 4, 6, 8},
                  wrong[][6] = {{0, 1, 4, 4, 6, 8},   // window 2 goes up before window 1 does
                                {1, 1, 3, 4, 6, 8},   // the first is moved
                                {0, 1, 3, 4, 6, 7},   // the last is
                                {0, 0, 3, 4, 6, 8}};  // before both places
    const double random[2] = {0.3, 0.6};
    double rank[2];
    assert_int_equal(ranks_of(dims, good, good, 0x1p-24, plain, random, rank), 1);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(ranks_of(dims, good, wrong[k], 0x1p-24, plain, random, rank), 0);
        assert_int_equal(ranks_of(dims, wrong[k], good, 0x1p-24, plain, random, rank), 0);
    }
}

// An output that goes with rows up or columns up, and not with both or none, leaves two rectangles of ranks.
static void what_outputs_say_of_both_numbers_is_kept(void **state) {
    (void)state;
    const kg_fractional dims[2] = {{10, 2, 6}, {10, 2, 6}};
    bool either[2][2] = {{false, true}, {true, false}};
    int rows_up = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        const double random[2] = {uniform(5, n), uniform(6, n)};
        double rank[2];
        kg_rank_pairs p;
        assert_int_equal(kg_rank_pairs_make(&p, dims, 0, plain), 0);
        kg_rank_pairs_note(&p, 1, 1, either);
        assert_int_equal(kg_rank_pairs_draw(&p, random, rank), 1);
        kg_rank_pairs_free(&p);
        assert_true((rank[0] >= 0.5) != (rank[1] >= 0.5));
        rows_up += rank[0] >= 0.5;
    }
    assert_in_range(rows_up, 500 - 79, 500 + 79);  // five standard deviations
}

// As kernels in float32 have it, whose numbers lie on and next to the places where windows move.
static void float32_starts_are_in_keeping_with_a_number(void **state) {
    (void)state;
    static const kg_fractional pools[] = {{4096, 3, 2048}, {4096, 2, 2048}, {1025, 5, 1021}, {512, 2, 171},
                                          {7, 2, 4},       {2047, 4, 700},  {9, 3, 7},       {300, 1, 300}};
    static int64_t starts[2048], all[2048];
    for (size_t k = 0; k < sizeof pools / sizeof *pools; k++) {
        const kg_fractional dims[2] = {pools[k], {6, 2, 3}};
        const float a = (float)(pools[k].in - pools[k].kernel) / (float)(pools[k].out - 1);
        int plainly = 0;
        for (uint64_t n = 0; n < 200; n++) {
            float u = (float)(uniform(7, n) * (1 - 0x1p-24));
            if (n % 2) u = roundf(u * a * (float)(pools[k].out - 1)) / (a * (float)(pools[k].out - 1));
            for (uint64_t m = 0; m < n % 7; m++) u = nextafterf(u, n % 4 < 2 ? 0 : 1);
            if (!(u < 1)) u = 1 - 0x1p-24f;
            for (int64_t i = 0; i < pools[k].out - 1; i++) starts[i] = (int)(((float)i + u) * a) - (int)(u * a);
            starts[pools[k].out - 1] = pools[k].in - pools[k].kernel;
            for (int64_t i = 0; i < 3; i++) all[i] = kg_fractional_start(&dims[1], 0, i);
            int found = 0;
            double rank[2];
            for (int kind = 0; kind < KG_START_KINDS && !found; kind++) {
                const kg_start_kind kinds[2] = {(kg_start_kind)kind, KG_START_PLAIN};
                found = ranks_of(dims, starts, all, 0x1p-24, kinds, (double[]){0.5, 0.5}, rank);
                plainly += found && kind == 0;
            }
            assert_int_equal(found, 1);
        }
        assert_true(plainly >= 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_start_at_the_multiples),
        cmocka_unit_test(the_fraction_is_not_uniform),
        cmocka_unit_test(drawn_ranks_make_the_same_starts_and_are_uniform),
        cmocka_unit_test(starts_of_no_number_are_found),
        cmocka_unit_test(what_outputs_say_of_both_numbers_is_kept),
        cmocka_unit_test(float32_starts_are_in_keeping_with_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
