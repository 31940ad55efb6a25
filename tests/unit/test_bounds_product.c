// The bounds of products: float kernels, matrix units and their wrong relatives, each on the rung where it belongs.
#include "bounds.h"

enum { COLUMNS = 256, MOST = 8192 };
static float left[MOST], right[MOST][COLUMNS];

// ---- number formats and accumulators ----------------------------------------------------------------
// Keeps `bits` fraction bits of a float: to nearest even, or towards zero as matrix units take a float32 for a tf32.
static float cut(float v, int bits, bool nearest) {
    uint32_t x;
    memcpy(&x, &v, 4);
    const uint32_t drop = 23u - (uint32_t)bits, half = (1u << (drop - 1)) - 1 + (x >> drop & 1);
    if (nearest) x += half;
    x &= ~((1u << drop) - 1);
    memcpy(&v, &x, 4);
    return v;
}
static float plain(float v) { return v; }
static float tf32(float v) { return cut(v, 10, true); }
static float tf32_truncated(float v) { return cut(v, 10, false); }
static float bf16(float v) { return cut(v, 7, true); }

static double toward_zero(double v) {
    float f = (float)v;
    if (fabs((double)f) > fabs(v)) f = nextafterf(f, 0);
    return f;
}

typedef double (*accumulate)(const float *a, const float (*b)[COLUMNS], int column, int n, float (*input)(float));

static double serial(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    float s = 0;
    for (int k = 0; k < n; k++) s += in(a[k]) * in(b[k][j]);
    return s;
}
static double fused(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    float s = 0;
    for (int k = 0; k < n; k++) s = fmaf(in(a[k]), in(b[k][j]), s);
    return s;
}
static double pairwise(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    if (n <= 32) return serial(a, b, j, n, in);
    return (float)(pairwise(a, b, j, n / 2, in) + pairwise(a + n / 2, b + n / 2, j, n - n / 2, in));
}
// A matrix unit: `step` exact products at a time, added to a float32 that is truncated.
static double truncating(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float), int step) {
    double s = 0;
    for (int k = 0; k < n; k += step) {
        double t = 0;
        for (int m = k; m < n && m < k + step; m++) t += (double)in(a[m]) * in(b[m][j]);
        s = toward_zero(s + t);
    }
    return s;
}
static double unit8(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    return truncating(a, b, j, n, in, 8);
}
static double unit16(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    return truncating(a, b, j, n, in, 16);
}
// Accumulators in half precision, rounded after every `16` products, as fp16 matrix units with fp16 accumulators do.
static kg_dtype half;
static double half_sums(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    double s = 0;
    for (int k = 0; k < n; k += 16) {
        double t = 0;
        for (int m = k; m < n && m < k + 16; m++) t += (double)in(a[m]) * in(b[m][j]);
        s = rounded(half, s + t);
    }
    return s;
}
static double one_term_short(const float *a, const float (*b)[COLUMNS], int j, int n, float (*in)(float)) {
    return serial(a, b, j, n - 1, in);
}

// ---- one row times 256 columns ----------------------------------------------------------------------
static void fill(kg_dtype t, int n, kg_fill f) {
    for (int k = 0; k < n; k++) {
        left[k] = (float)kg_fill_value(&f, t, 1, k);
        for (int j = 0; j < COLUMNS; j++) right[k][j] = (float)kg_fill_value(&f, t, 2, k * COLUMNS + j);
        if (t == KG_F32) continue;
        left[k] = (float)rounded(t, left[k]);
        for (int j = 0; j < COLUMNS; j++) right[k][j] = (float)rounded(t, right[k][j]);
    }
}

static reference product(kg_dtype t, int n) {
    reference r = reference_make(t, COLUMNS);
    for (int j = 0; j < COLUMNS; j += KG_LANES) {
        kg_lanes l = kg_lanes_start(t);
        for (int k = 0; k < n; k++) {
            double b[1][KG_LANES];
            for (int i = 0; i < KG_LANES; i++) b[0][i] = right[k][j + i];
            kg_lanes_add(&l, &(double){left[k]}, (const double(*)[KG_LANES])b, 1);
        }
        for (int i = 0; i < KG_LANES; i++) {
            r.value[j + i] = kg_lanes_value(&l, i);
            r.local[j + i] = kg_lanes_local(&l, i);
            r.acc[j + i] = kg_lanes_acc(&l, i);
        }
    }
    return r;
}

static kg_precision rung_of(const reference *r, int n, accumulate f, float (*in)(float)) {
    double got[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) got[j] = rounded(r->dtype, f(left, (const float(*)[COLUMNS])right, j, n, in));
    return rung(r, got);
}

// Two terms 3 * 4 and 1 * -2: s = 12, 10; q = 144, 148; |s| sums to 22.
static void product_by_hand(void **state) {
    (void)state;
    kg_lanes l = kg_lanes_start(KG_F32);
    const double a[2] = {3, 1}, b[2][KG_LANES] = {{4, 0}, {-2, 0}};
    kg_lanes_add(&l, a, b, 2);
    assert_true(kg_lanes_value(&l, 0) == 10);
    assert_true(fabs(kg_lanes_acc(&l, 0) - (8 * sqrt(144 + 100 + 144 + 148) + 22.0 / 8)) < 1e-12);
    assert_true(fabs(kg_lanes_local(&l, 0) - (4 * sqrt(148) + 2 * 12 + 2 * 10)) < 1e-12);
    assert_true(kg_lanes_value(&l, 1) == 0 && kg_lanes_acc(&l, 1) == 0);
}

static void float_products_on_their_rungs(void **state) {
    (void)state;
    for (int n = 16; n <= MOST; n *= 2) {
        fill(KG_F32, n, KG_FACTORS);
        reference r = product(KG_F32, n);
        const struct {
            const char *name;
            accumulate f;
            float (*in)(float);
            kg_precision want;
        } c[] = {
            {"serial", serial, plain, KG_PREC_FP32},
            {"fused", fused, plain, KG_PREC_FP32},
            {"pairwise", pairwise, plain, KG_PREC_FP32},
            {"truncating accumulator", unit8, plain, KG_PREC_FP32},
            {"tf32", unit8, tf32, KG_PREC_TF32},
            {"tf32, truncated inputs", unit8, tf32_truncated, KG_PREC_TF32},
            {"bf16", unit16, bf16, KG_PREC_FP16},
        };
        for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
            const kg_precision got = rung_of(&r, n, c[k].f, c[k].in);
            if (got != c[k].want)
                fail_msg("K=%d %s: %s, expected %s", n, c[k].name, kg_precision_name(got),
                         kg_precision_name(c[k].want));
        }
        assert_true(rung_of(&r, n, one_term_short, plain) > KG_PREC_TF32);  // the lowest that is right
        const double zeros[COLUMNS] = {0};
        assert_true(misses(&r, zeros, KG_PREC_TF32) > COLUMNS / 2);
        reference_free(&r);
    }
}

// Terms that are all positive: partial sums grow, and a truncating accumulator is biased.
static void biased_sums_hold(void **state) {
    (void)state;
    for (int n = 256; n <= MOST; n *= 2)
        for (int narrow = 0; narrow < 2; narrow++) {
            fill(KG_F32, n, KG_UNIFORM(1, narrow ? 1.01 : 2));
            reference r = product(KG_F32, n);
            assert_int_equal(rung_of(&r, n, serial, plain), KG_PREC_FP32);
            assert_int_equal(rung_of(&r, n, unit8, plain), KG_PREC_FP32);
            assert_true(rung_of(&r, n, unit8, tf32_truncated) <= KG_PREC_TF32);
            if (!narrow) assert_true(rung_of(&r, n, one_term_short, plain) > KG_PREC_FP32);
            reference_free(&r);
        }
}

static void half_products_need_float_sums(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        half = which ? KG_BF16 : KG_F16;
        for (int n = 32; n <= 4096; n *= 2) {
            fill(half, n, KG_FACTORS);
            reference r = product(half, n);
            assert_int_equal(rung_of(&r, n, unit16, plain), KG_PREC_FP16);
            assert_int_equal(rung_of(&r, n, serial, plain), KG_PREC_FP16);
            const kg_precision p = rung_of(&r, n, half_sums, plain);
            // From four roundings of the sum on.
            if (n >= 64 && p == KG_PREC_FP16) fail_msg("K=%d: sums in %s pass", n, kg_dtype_name(half));
            assert_true(rung_of(&r, n, one_term_short, plain) > KG_PREC_FP16);
            reference_free(&r);
        }
    }
}

static void doubles_are_exact_beyond_double(void **state) {
    (void)state;
    kg_lanes l = kg_lanes_start(KG_F64);
    const double a[3] = {1e16, 1, -1e16}, b[3][KG_LANES] = {{1}, {1}, {1}};
    kg_lanes_add(&l, a, b, 3);
    assert_true(kg_lanes_value(&l, 0) == 1);
}

// ---- matmul's shapes, addmm ---------------------------------------------------------------------------
static void matmul_shapes(void **state) {
    (void)state;
    const struct {
        int na, nb, n;
        int64_t a[4], b[4], out[4];
    } c[] = {{1, 1, 0, {3}, {3}, {0}},
             {1, 2, 1, {3}, {3, 4}, {4}},
             {2, 1, 1, {5, 3}, {3}, {5}},
             {2, 2, 2, {5, 3}, {3, 4}, {5, 4}},
             {3, 1, 2, {2, 5, 3}, {3}, {2, 5}},
             {1, 3, 2, {3}, {2, 3, 4}, {2, 4}},
             {4, 3, 4, {2, 1, 5, 3}, {7, 3, 4}, {2, 7, 5, 4}}};
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        const kg_tensor a = kg_tensor_contiguous(KG_F32, c[k].na, c[k].a),
                        b = kg_tensor_contiguous(KG_F32, c[k].nb, c[k].b);
        kg_tensor out;
        assert_int_equal(kg_matmul_shape(&a, &b, &out), 0);
        assert_int_equal(out.ndim, c[k].n);
        assert_memory_equal(out.shape, c[k].out, (size_t)c[k].n * 8);
    }
    const kg_tensor a = kg_tensor_contiguous(KG_F32, KG_SHAPE(2, 3)), b = kg_tensor_contiguous(KG_F32, KG_SHAPE(2, 3));
    kg_tensor out;
    assert_int_equal(kg_matmul_shape(&a, &b, &out), -1);
}

static void swapped_operands_fail(void **state) {
    (void)state;
    enum { N = 16 };
    trial r = trial_start("matmul");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(N, N), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "other", KG_F32, KG_SHAPE(N, N), KG_FACTORS);
    trial_run(&r);
    double right_way[N * N] = {0}, swapped[N * N] = {0};
    for (int i = 0; i < N * N * N; i++) {
        const int row = i / (N * N), column = i / N % N, k = i % N;
        right_way[row * N + column] += (double)r.values[0][0][row * N + k] * r.values[0][1][k * N + column];
        swapped[row * N + column] += (double)r.values[0][1][row * N + k] * r.values[0][0][k * N + column];
    }
    assert_int_equal(rung(&r.ref, right_way), KG_PREC_FP32);
    assert_true(misses(&r.ref, swapped, KG_PREC_FP8) > N * N / 2);
    trial_free(&r);
}

static void addmm_scales(void **state) {
    (void)state;
    enum { M = 9, K = 33, N = 7 };
    trial r = trial_start("addmm");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(N), KG_NORMAL(0.5, 4));
    kg_set_tensor(r.c, r.t, "mat1", KG_F32, KG_SHAPE(M, K), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "mat2", KG_F32, KG_SHAPE(K, N), KG_FACTORS);
    kg_set_float(r.c, r.t, "beta", 0.5);
    kg_set_float(r.c, r.t, "alpha", -2);
    trial_run(&r);
    double honest[M * N], no_beta[M * N], no_bias[M * N];
    for (int i = 0; i < M * N; i++) {
        float s = 0;
        for (int k = 0; k < K; k++) s += r.values[0][1][i / N * K + k] * r.values[0][2][k * N + i % N];
        const float bias = r.values[0][0][i % N];
        honest[i] = -2.0f * s + 0.5f * bias, no_beta[i] = -2.0f * s + bias, no_bias[i] = -2.0f * s;
    }
    assert_int_equal(rung(&r.ref, honest), KG_PREC_FP32);
    assert_true(rung(&r.ref, no_beta) > KG_PREC_TF32);
    assert_true(rung(&r.ref, no_bias) > KG_PREC_TF32);
    trial_free(&r);
}

// ---- int8 ---------------------------------------------------------------------------------------------
typedef struct {
    bool truncate, whole, away;
    double largest;
} scheme;

static double quantum(const float *v, int n, int step, const scheme *s) {
    float most = 0;
    for (int k = 0; k < n; k++) most = fmaxf(most, fabsf(v[k * step]));
    return most / (float)s->largest;
}
static float integer(float v, float scale, const scheme *s) {
    const float x = v / scale;
    return s->truncate ? truncf(x) : s->away ? roundf(x) : rintf(x);
}

static void int8_is_a_contract(void **state) {
    (void)state;
    enum { M = 32, K = 512, N = 48 };
    trial r = trial_start("matmul_w8a8");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(M, K), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "weight", KG_F32, KG_SHAPE(K, N), KG_FACTORS);
    trial_run(&r);
    const float *x = r.values[0][0], *w = r.values[0][1];
    const scheme schemes[] = {{.largest = 127},
                              {.largest = 127, .away = true},
                              {.largest = 127, .truncate = true},
                              {.largest = 127, .whole = true},
                              {.largest = 128}};
    static double got[M * N];
    for (int c = 0; c < 5; c++) {
        const scheme *s = &schemes[c];
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                const float sx = (float)(s->whole ? quantum(x, M * K, 1, s) : quantum(x + i * K, K, 1, s));
                const float sw = (float)(s->whole ? quantum(w, K * N, 1, s) : quantum(w + j, K, N, s));
                float sum = 0;
                for (int k = 0; k < K; k++) sum += integer(x[i * K + k], sx, s) * integer(w[k * N + j], sw, s);
                got[i * N + j] = sum * sx * sw;
            }
        if (c < 2) assert_int_equal(rung(&r.ref, got), KG_PREC_FP32);
        else assert_true(misses(&r.ref, got, KG_PREC_FP32) > M * N * 9 / 10);
    }
    // The float product is no int8 product: almost every element shows it.
    for (int i = 0; i < M * N; i++) {
        got[i] = 0;
        for (int k = 0; k < K; k++) got[i] += (double)x[i / N * K + k] * w[k * N + i % N];
    }
    assert_true(misses(&r.ref, got, KG_PREC_FP32) > M * N * 9 / 10);
    trial_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_by_hand),
        cmocka_unit_test(float_products_on_their_rungs),
        cmocka_unit_test(biased_sums_hold),
        cmocka_unit_test(half_products_need_float_sums),
        cmocka_unit_test(doubles_are_exact_beyond_double),
        cmocka_unit_test(matmul_shapes),
        cmocka_unit_test(swapped_operands_fail),
        cmocka_unit_test(addmm_scales),
        cmocka_unit_test(int8_is_a_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
