// The error bounds hold honest float32 kernels and reject dishonest ones: sums, moments, activations.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "oracle/oracle.h"
#include "oracle/special.h"
#include "task/division.h"
#include "task/pointwise.h"

static const double u32 = 0x1p-24;

// s_k = 1, 2, 3 and q_k = 1, 2, 3: 8 sqrt(1 + 4 + 9 + 1 + 2 + 3); local 2 sqrt(3) + 1.
static void sum_by_hand(void **state) {
    (void)state;
    kg_sum_t s = {0};
    kg_sum_add(&s, 1);
    assert_true(kg_sum_acc(&s) == 0);
    kg_sum_add(&s, 1);
    kg_sum_add(&s, 1);
    assert_true(fabs(kg_sum_acc(&s) - 8 * sqrt(20)) < 1e-12);
    assert_true(fabs(kg_sum_local(&s) - (2 * sqrt(3) + 1)) < 1e-12);
    assert_true(kg_sum_value(&s) == 3);
}

static void sums_are_exact_beyond_double(void **state) {
    (void)state;
    kg_sum_t s = {0}, d = {0};
    kg_sum_add(&s, 1e16);
    kg_sum_add(&s, 1);
    kg_sum_add(&s, -1e16);
    assert_true(kg_sum_value(&s) == 1);
    kg_dot_add(&d, 1 + 0x1p-52, 1 - 0x1p-52);  // 1 - 2^-104
    kg_dot_add(&d, -1, 1);
    assert_true(kg_sum_value(&d) == -0x1p-104);
    kg_sum_t inf = {0};
    kg_sum_add(&inf, INFINITY);
    kg_sum_add(&inf, 1);
    assert_true(kg_sum_value(&inf) == INFINITY);
    kg_sum_add(&inf, -INFINITY);
    assert_true(isnan(kg_sum_value(&inf)));
}

static float tree(const float *v, int n) { return n == 1 ? v[0] : tree(v, n / 2) + tree(v + n / 2, n - n / 2); }
static float bf16(float v) {
    uint16_t h;
    kg_store(KG_BF16, &h, 0, v);
    return (float)kg_load(KG_BF16, &h, 0);
}

static void honest_sums_pass(void **state) {
    (void)state;
    enum { N = 1 << 17 };
    float *v = malloc(N * sizeof *v);
    for (int mean = 0; mean < 2; mean++) {
        const kg_fill f = {KG_FILL_NORMAL, mean, 1};
        kg_fill_range(&f, KG_F32, 3, 0, N, v);
        kg_sum_t s = {0};
        float serial = 0, half_inputs = 0;
        for (int i = 0; i < N; i++) {
            kg_sum_add(&s, v[i]);
            serial += v[i];
            half_inputs += bf16(v[i]);
        }
        const double bound = u32 * (fabs(kg_sum_value(&s)) + kg_sum_local(&s) + kg_sum_acc(&s));
        assert_true(fabs(serial - kg_sum_value(&s)) <= bound);
        assert_true(fabs(tree(v, N) - kg_sum_value(&s)) <= bound);
        if (mean) assert_true(bound < 0.01 * kg_sum_value(&s));  // zeros fail, and by far
        // Inputs rounded to bfloat16 fit the bound at bfloat16's roundoff.
        const double coarse = 0x1p-8 * kg_sum_local(&s) + u32 * (fabs(kg_sum_value(&s)) + kg_sum_acc(&s));
        assert_true(fabs(half_inputs - kg_sum_value(&s)) <= coarse);
    }
    free(v);
}

// 2^-25 is below half of 1's last bit, so that 100 of them are lost: 50 u. s_k and q_k are 1 to within 1e-5.
static void lost_terms_by_hand(void **state) {
    (void)state;
    kg_sum_t s = {0};
    kg_sum_add(&s, 1);
    for (int i = 0; i < 100; i++) kg_sum_add(&s, 0x1p-25);
    assert_true(fabs(kg_sum_acc(&s) - (4 * sqrt(2 * 101) + 2 * 50 + 100.0 / 4)) < 1e-3);
    kg_sum_t few = {0};  // at most u / 2, and as much to both sides: a walk
    kg_sum_add(&few, 1);
    for (int i = 0; i < 4; i++) kg_sum_add(&few, i % 2 ? -0x1p-25 : 0x1p-25);
    assert_true(fabs(kg_sum_acc(&few) - 8 * sqrt(2 * 5)) < 1e-3);
}

// One by one in float32, squares below the last bit of their sum are lost: no zero-mean error, and honest.
static void a_million_squares_pass(void **state) {
    (void)state;
    enum { N = 1 << 20 };
    float *v = malloc(N * sizeof *v);
    const kg_fill f = {KG_FILL_NORMAL, 0, 2};
    kg_fill_range(&f, KG_F32, 3, 0, N, v);
    kg_sum_t s = {0};
    float serial = 0;
    for (int i = 0; i < N; i++) {
        kg_dot_add(&s, v[i], v[i]);
        serial += v[i] * v[i];
    }
    const double value = kg_sum_value(&s), rest = value + kg_sum_local(&s);
    assert_true(value - serial > u32 * (rest + 8 * sqrt(s.partial)));
    assert_true(value - serial <= u32 * (rest + kg_sum_acc(&s)));
    assert_true(u32 * kg_sum_acc(&s) < 0.005 * value);
    free(v);
}

// A running mean is rounded n times, and every square feels it: no float32 case shows that, where n e^2 is larger.
static void welford_passes_in_double(void **state) {
    (void)state;
    enum { N = 4096 };
    static double v[N];
    const kg_fill f = {KG_FILL_NORMAL, 10000, 1};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        kg_fill_range(&f, KG_F64, seed, 0, N, v);
        const kg_view view = {.desc = kg_tensor_contiguous(KG_F64, 1, (int64_t[]){N}), .data = v};
        const kg_moments_t m = kg_moments(&view, (kg_line_t){0, 1, N});
        double mean = 0, m2 = 0, sum = 0, square = 0;
        for (int i = 0; i < N; i++) {
            const double d = v[i] - mean;
            mean += d / (i + 1);
            m2 += d * (v[i] - mean);
            sum += v[i], square += v[i] * v[i];
        }
        const double bound = 0x1p-53 * (2 * m.m2 + m.m2_acc);
        assert_true(fabs(m2 - m.m2) <= bound);
        assert_true(bound < 1e-9 * m.m2);
        assert_true(fabs(square - sum * (sum / N) - m.m2) > bound);
    }
}

// Near the largest double a condition overflows before the value does: it is no less for that.
static void conditions_may_overflow(void **state) {
    (void)state;
    const kg_point i0 = kg_i0_point(709, KG_F64);
    assert_true(fabs(i0.value / 1.231547706701654e306 - 1) < 1e-12);  // mpmath.besseli(0, 709)
    assert_true(i0.local == DBL_MAX);
    const kg_division cut = {KG_DIV_TRUNC, KG_F64};
    const kg_point q = kg_quotient(-DBL_MAX, 1.0625, &cut);
    assert_true(fabs(q.value / (-DBL_MAX / 1.0625) - 1) < 1e-15 && q.local == DBL_MAX);
}

// By mpmath: Ai(2) is the difference of two numbers whose sum is Bi(2) / sqrt(3); then 2 |Ai'(2)|, and Ai(2) itself.
static void airy_counts_both_series(void **state) {
    (void)state;
    const kg_point p = kg_airy_ai_point(2, KG_F32);
    assert_true(fabs(p.value - 0.034924130423274379) < 1e-16);
    assert_true(fabs(p.local - KG_LAMBDA * (1.904156036050381 + 0.106180768867307 + 0.034924130423274)) < 1e-9);
}

// Centred sum of squares of n values around `mean`: two passes in float are honest, one pass is not.
static void two_passes_pass_and_one_fails(void **state) {
    (void)state;
    enum { N = 4096 };
    static float v[N];
    static const double means[] = {0, 1000, 10000};
    for (int k = 0; k < 3; k++) {
        const kg_fill f = {KG_FILL_NORMAL, means[k], 1};
        kg_fill_range(&f, KG_F32, 5, 0, N, v);
        const kg_view view = {.desc = kg_tensor_contiguous(KG_F32, 1, (int64_t[]){N}), .data = v};
        const kg_moments_t m = kg_moments(&view, (kg_line_t){0, 1, N});
        float sum = 0, square = 0, centred = 0, mean_w = 0, m2_w = 0;
        for (int i = 0; i < N; i++) sum += v[i], square += v[i] * v[i];
        const float mean = sum / N;
        for (int i = 0; i < N; i++) {
            centred += (v[i] - mean) * (v[i] - mean);
            const float d = v[i] - mean_w;
            mean_w += d / (float)(i + 1);
            m2_w += d * (v[i] - mean_w);
        }
        const double bound = u32 * (2 * m.m2 + m.m2_acc);
        assert_true(fabs(mean - m.mean) <= u32 * (fabs(m.mean) + m.mean_acc));
        assert_true(fabs(centred - m.m2) <= bound);
        assert_true(fabs(m2_w - m.m2) <= bound);
        if (k > 0) assert_true(fabs(square - sum * mean - m.m2) > bound);
        if (k < 2) assert_true(bound < 0.05 * m.m2);
    }
}

// Float implementations of GPUs and compilers, against the bound at float32; bfloat16 ones must fail it.
static float tanh_by_exp(float x) {
    const float e = expf(2 * x);
    return 1 - 2 / (e + 1);
}
static float gelu_by_erf(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
static float gelu_by_tanh(float x) { return 0.5f * x * (1 + tanh_by_exp(0.79788456f * (x + 0.044715f * x * x * x))); }
static float sigmoid_plain(float x) { return 1 / (1 + expf(-x)); }
static kg_point gelu_point(double x) { return kg_gelu_point(x, false); }
static kg_point gelu_tanh_point(double x) { return kg_gelu_point(x, true); }

static void activations_hold_float_kernels(void **state) {
    (void)state;
    static const struct {
        float (*kernel)(float);
        kg_point (*point)(double);
    } f[] = {{tanh_by_exp, kg_tanh_point},      {tanhf, kg_tanh_point},
             {gelu_by_erf, gelu_point},         {gelu_by_tanh, gelu_tanh_point},
             {sigmoid_plain, kg_sigmoid_point}, {expf, kg_exp_point}};
    for (size_t k = 0; k < sizeof f / sizeof *f; k++) {
        int coarse_fails = 0;
        for (int i = 0; i < 100000; i++) {
            const kg_fill fill = i % 2 ? (kg_fill){KG_FILL_NORMAL, 0, 3} : (kg_fill){KG_FILL_LOGSCALE, -20, 5};
            const float x = (float)kg_fill_value(&fill, KG_F32, 77, i);
            const kg_point p = f[k].point(x);
            const double bound = u32 * (fabs(p.value) + p.local) + kg_dtype_tiny(KG_F32);
            if (fabs(f[k].kernel(x) - p.value) > bound) fail_msg("function %zu at %.9g", k, x);
            coarse_fails += fabs(bf16(f[k].kernel(x)) - p.value) > bound;
        }
        assert_true(coarse_fails > 50000);
    }
}

static void gelu_forms_differ_in_float(void **state) {
    (void)state;
    const kg_point a = kg_gelu_point(2, false), b = kg_gelu_point(2, true);
    assert_true(fabs(a.value - 1.95449973610364) < 1e-13);  // 2 Phi(2)
    assert_true(fabs(a.value - b.value) > 20 * u32 * a.local);
    assert_true(isnan(kg_gelu_point(-INFINITY, false).value));
    assert_true(kg_gelu_point(INFINITY, true).value == INFINITY);
}

// tl.sqrt gives -0 for the largest negative denormal on an H200 (sqrt.approx.ftz): that is right, and so is NaN.
static void flushed_denormals_pass(void **state) {
    (void)state;
    const kg_point tiny = kg_sqrt_point(-0x1.fffffcp-127), negative = kg_sqrt_point(-0x1p-125);
    const double got[] = {-0.0, NAN, -INFINITY};
    for (size_t i = 0; i < sizeof got / sizeof *got; i++) {
        const double bound = kg_error_bound(KG_PREC_FP32, KG_F32, tiny.value, tiny.local, 0);
        assert_true(kg_error_ratio(got[i], tiny.value, bound, kg_dtype_max(KG_F32)) == 0);
        const double ordinary = kg_error_bound(KG_PREC_FP32, KG_F32, negative.value, negative.local, 0);
        assert_true((kg_error_ratio(got[i], negative.value, ordinary, kg_dtype_max(KG_F32)) == 0) == isnan(got[i]));
    }
}

static void lines_and_coordinates(void **state) {
    (void)state;
    const kg_tensor t = kg_tensor_contiguous(KG_F32, 3, (int64_t[]){2, 3, 5});
    const kg_line_t l = kg_line_of(&t, 1, 7);  // line 7 over [2,5] is [1,2]: starts at 15 + 2, steps by 5
    assert_int_equal(l.start, 17);
    assert_int_equal(l.step, 5);
    assert_int_equal(l.n, 3);
    assert_int_equal(kg_line_index(&t, 1, 15 + 5 + 2), 7);  // [1,1,2]
    assert_int_equal(kg_wrap_dim(-1, 3), 2);
    assert_int_equal(kg_wrap_dim(3, 3), -1);
    assert_int_equal(kg_wrap_dim(-1, 0), 0);
}

// A float32 denormal that is taken for zero makes NaN of 0 / x, x / 0 and infinity * x: either answer is right.
static void flushed_denormals_may_make_nan(void **state) {
    (void)state;
    static const double tiny = 0x1p-140, pairs[][2] = {{0, tiny}, {tiny, 0}, {tiny, -tiny}, {-0.0, tiny}};
    for (int r = KG_DIV_TRUE; r <= KG_DIV_FLOOR; r++) {
        const kg_division d = {.rounding = (kg_rounding)r, .dtype = KG_F32};
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            assert_true(kg_quotient(pairs[i][0], pairs[i][1], &d).local == KG_ANY_ANSWER);
        assert_true(kg_quotient(1, 0, &d).local == 0);
        assert_true(kg_quotient(0, 0x1p-126, &d).local == 0);
    }
    const kg_point p = {2, 3};
    assert_true(kg_flushed_factors(p, INFINITY, -tiny).local == KG_ANY_ANSWER);
    assert_true(kg_flushed_factors(p, tiny, -INFINITY).local == KG_ANY_ANSWER);
    assert_true(kg_flushed_factors(p, INFINITY, 0).local == 3 && kg_flushed_factors(p, 0x1p-126, INFINITY).local == 3);
    assert_true(kg_flushed_factors(p, tiny, -0x1p100).local == 3.25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_by_hand),
        cmocka_unit_test(sums_are_exact_beyond_double),
        cmocka_unit_test(honest_sums_pass),
        cmocka_unit_test(lost_terms_by_hand),
        cmocka_unit_test(a_million_squares_pass),
        cmocka_unit_test(welford_passes_in_double),
        cmocka_unit_test(conditions_may_overflow),
        cmocka_unit_test(airy_counts_both_series),
        cmocka_unit_test(two_passes_pass_and_one_fails),
        cmocka_unit_test(activations_hold_float_kernels),
        cmocka_unit_test(gelu_forms_differ_in_float),
        cmocka_unit_test(flushed_denormals_pass),
        cmocka_unit_test(lines_and_coordinates),
        cmocka_unit_test(flushed_denormals_may_make_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
