// Bounds of the stages of fused operations (src/oracle/stages.h): float32 evaluations of inputs that are off by what is
// said of them stay below the bound, and come within a hundredth of it; and values that anyone can check.
#include "bounds.h"

#include "oracle/stages.h"

// ---- evaluations in float32 -----------------------------------------------------------------------------
static float sum_of(const float *x, int64_t n) {
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}
static void f_add(float *x, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) x[i] += x[n / 2 + i];
}
static void f_sub(float *x, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) x[i] -= x[n / 2 + i];
}
static void f_mul(float *x, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) x[i] *= x[n / 2 + i];
}
static void f_div(float *x, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) x[i] /= x[n / 2 + i];
}
static void f_affine(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = x[i] * 1.75f - 0.625f;
}
static void f_sigmoid(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = 1 / (1 + expf(-x[i]));
}
static void f_exp(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = expf(x[i]);
}
static void f_sum(float *x, int64_t n) { x[0] = sum_of(x, n); }
static void f_mean(float *x, int64_t n) { x[0] = sum_of(x, n) / (float)n; }
static float square_of(const float *x, int64_t n, float mean) {
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += (x[i] - mean) * (x[i] - mean);
    return s;
}
static void f_norm2(float *x, int64_t n) { x[0] = sqrtf(square_of(x, n, 0)); }
static void f_norm3(float *x, int64_t n) {
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += powf(fabsf(x[i]), 3);
    x[0] = powf(s, 1 / 3.0f);
}
static void f_norm1(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = fabsf(x[i]);
    x[0] = sum_of(x, n);
}
static void f_dot(float *x, int64_t n) {
    float s = 0;
    for (int64_t i = 0; i < n / 2; i++) s += x[i] * x[n / 2 + i];
    x[0] = s;
}
static float largest_of(const float *x, int64_t n) {
    float m = x[0];
    for (int64_t i = 1; i < n; i++) m = fmaxf(m, x[i]);
    return m;
}
static float exponentials(float *x, int64_t n, float largest) {
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += expf(x[i] - largest);
    return s;
}
static void f_softmax(float *x, int64_t n) {
    const float m = largest_of(x, n), s = exponentials(x, n, m);
    for (int64_t i = 0; i < n; i++) x[i] = expf(x[i] - m) / s;
}
static void f_log_softmax(float *x, int64_t n) {
    const float m = largest_of(x, n), s = logf(exponentials(x, n, m));
    for (int64_t i = 0; i < n; i++) x[i] = x[i] - m - s;
}
static void f_layer_norm(float *x, int64_t n) {
    const float mean = sum_of(x, n) / (float)n, by = 1 / sqrtf(square_of(x, n, mean) / (float)n + 1e-5f);
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - mean) * by;
}
static void f_rms_norm(float *x, int64_t n) {
    const float by = 1 / sqrtf(square_of(x, n, 0) / (float)n + 1e-5f);
    for (int64_t i = 0; i < n; i++) x[i] = x[i] * by * 1.5f;
}

// ---- the stages -------------------------------------------------------------------------------------------
static kg_point sigmoid_at(double x, const void *ctx) { return (void)ctx, kg_sigmoid_point(x); }
static kg_point exp_at(double x, const void *ctx) { return (void)ctx, kg_exp_point(x); }

#define PAIRWISE(name)                                                                        \
    static void s_##name(const kg_rung *r, kg_stage *s) {                                     \
        const int64_t n = s->n / 2;                                                           \
        for (int64_t i = 0; i < n; i++) s->at[i] = kg_term_##name(r, s->at[i], s->at[n + i]); \
        s->n = n;                                                                             \
    }
PAIRWISE(add)
PAIRWISE(sub)
PAIRWISE(mul)
PAIRWISE(div)
static void s_affine(const kg_rung *r, kg_stage *s) {
    for (int64_t i = 0; i < s->n; i++) s->at[i] = kg_term_affine(r, s->at[i], 1.75, -0.625, true);
}
static void s_sigmoid(const kg_rung *r, kg_stage *s) { kg_stage_map(r, s, sigmoid_at, NULL); }
static void s_exp(const kg_rung *r, kg_stage *s) { kg_stage_map(r, s, exp_at, NULL); }
#define REDUCED(name)                                     \
    static void s_##name(const kg_rung *r, kg_stage *s) { \
        s->at[0] = kg_stage_##name(r, s);                 \
        s->n = 1;                                         \
    }
REDUCED(sum)
REDUCED(mean)
REDUCED(norm2)
static void s_norm3(const kg_rung *r, kg_stage *s) {
    s->at[0] = kg_stage_p_norm(r, s, 3);
    s->n = 1;
}
static void s_norm1(const kg_rung *r, kg_stage *s) {
    s->at[0] = kg_stage_p_norm(r, s, 1);
    s->n = 1;
}
static void s_dot(const kg_rung *r, kg_stage *s) {
    const kg_stage a = {s->n / 2, s->at}, b = {s->n / 2, s->at + s->n / 2};
    s->at[0] = kg_stage_dot(r, &a, &b);
    s->n = 1;
}
static void s_softmax(const kg_rung *r, kg_stage *s) { kg_stage_softmax(r, s); }
static void s_log_softmax(const kg_rung *r, kg_stage *s) { kg_stage_log_softmax(r, s); }
static void s_layer_norm(const kg_rung *r, kg_stage *s) { kg_stage_layer_norm(r, s, (double)1e-5f, NULL, NULL); }
static void s_rms_norm(const kg_rung *r, kg_stage *s) {
    double weight[1024];
    for (int i = 0; i < 1024; i++) weight[i] = 1.5;
    kg_stage_rms_norm(r, s, (double)1e-5f, weight);
}

typedef struct {
    const char *name;
    void (*bound)(const kg_rung *r, kg_stage *s);
    void (*single)(float *x, int64_t n);
    double centre, width;
} stage;
static const stage stages[] = {
    {"add", s_add, f_add, 0.5, 2},
    {"sub", s_sub, f_sub, 0.5, 2},
    {"mul", s_mul, f_mul, 0.5, 2},
    {"div", s_div, f_div, 3, 2},
    {"affine", s_affine, f_affine, 0, 3},
    {"sigmoid", s_sigmoid, f_sigmoid, 0, 8},
    {"exp", s_exp, f_exp, 0, 10},
    {"sum", s_sum, f_sum, 0.5, 2},
    {"mean", s_mean, f_mean, 5, 2},
    {"norm2", s_norm2, f_norm2, 0.5, 2},
    {"norm1", s_norm1, f_norm1, 0.5, 2},
    {"norm3", s_norm3, f_norm3, 0.5, 2},
    {"dot", s_dot, f_dot, 0.5, 2},
    {"softmax", s_softmax, f_softmax, 0, 6},
    {"softmax, large", s_softmax, f_softmax, 500, 20},
    {"log_softmax", s_log_softmax, f_log_softmax, 0, 6},
    {"log_softmax, large", s_log_softmax, f_log_softmax, 500, 20},
    {"layer_norm", s_layer_norm, f_layer_norm, 0.5, 2},
    {"layer_norm, far", s_layer_norm, f_layer_norm, 100, 1},
    {"layer_norm, eps", s_layer_norm, f_layer_norm, 0, 1e-3},
    {"rms_norm", s_rms_norm, f_rms_norm, 0.5, 2},
};

// ---- trials -------------------------------------------------------------------------------------------------
static double uniform(unsigned short *state) { return 2 * erand48(state) - 1; }

enum { MOST = 1000 };
typedef enum { RANDOM, SIGNS, UPWARDS, ALTERNATING, PATTERNS } pattern;
static double shift_of(pattern p, int64_t i, unsigned short *state) {
    switch (p) {
    case RANDOM: return uniform(state);
    case SIGNS: return uniform(state) < 0 ? -1 : 1;
    case UPWARDS: return 1;
    default: return i % 2 ? -1 : 1;
    }
}

// Largest error over its bound of one block.
static double block_ratio(const stage *st, const kg_rung *r, int64_t n, pattern p, unsigned short *state) {
    static kg_term at[MOST];
    static float x[MOST];
    const double noise = 4 * erand48(state);
    kg_stage s = {n, at};
    for (int64_t i = 0; i < n; i++) {
        const double v = st->centre + st->width * uniform(state);
        const double local = noise * erand48(state) * fabs(v), acc = noise * erand48(state) * fabs(v);
        x[i] = (float)(v + shift_of(p, i, state) * (r->u * local + r->u_acc * acc));
        at[i] = (kg_term){v, local + 1.01 * fabs(v), acc};  // what the conversion to float rounds
    }
    st->bound(r, &s);
    st->single(x, n);
    double worst = 0;
    for (int64_t i = 0; i < s.n; i++) {
        const double bound = kg_term_error(r, at[i]) + 0x1p-24 * fabs(at[i].value);
        worst = fmax(worst, fabs((double)x[i] - at[i].value) / bound);
    }
    return worst;
}

static void bounds_hold_and_are_near(void **state) {
    (void)state;
    static const kg_rung rungs[] = {{0x1p-24, 0x1p-24, false}, {0x1p-11, 0x1p-24, false}};
    static const int64_t sizes[] = {2, 4, 14, 64, 250, MOST};
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        for (int r = 0; r < 2; r++) {
            double worst = 0;
            for (unsigned short seed = 0; seed < 60; seed++)
                for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
                    for (int p = 0; p < PATTERNS; p++) {
                        unsigned short random[3] = {seed, (unsigned short)n, (unsigned short)p};
                        worst = fmax(worst, block_ratio(&stages[k], &rungs[r], sizes[n], (pattern)p, random));
                    }
            print_message("%-20s %s: largest error %.3f of the bound\n", stages[k].name, r ? "tf32" : "fp32", worst);
            assert_true(worst <= 1);
            assert_true(worst >= 0.01);
        }
    }
}

// ---- values -------------------------------------------------------------------------------------------------
static const kg_rung single = {0x1p-24, 0x1p-24, false}, half = {0x1p-11, 0x1p-24, true};

#define BLOCK(...)                                                                     \
    double v_[] = {__VA_ARGS__};                                                       \
    kg_term at_[sizeof v_ / sizeof *v_];                                               \
    for (size_t i = 0; i < sizeof v_ / sizeof *v_; i++) at_[i] = kg_term_exact(v_[i]); \
    kg_stage s = {sizeof v_ / sizeof *v_, at_}

static void values_by_hand(void **state) {
    (void)state;
    {
        BLOCK(0, log(3));
        kg_stage_softmax(&single, &s);
        assert_true(fabs(s.at[0].value - 0.25) < 1e-15 && fabs(s.at[1].value - 0.75) < 1e-15);
    }
    {
        BLOCK(0, log(3));
        kg_stage_log_softmax(&single, &s);
        assert_true(fabs(s.at[0].value + log(4)) < 1e-15);
    }
    {
        BLOCK(1, 3);
        const double weight[] = {2, 4}, bias[] = {0.5, -1};
        kg_stage_layer_norm(&single, &s, 0, weight, bias);
        assert_true(s.at[0].value == -1.5 && s.at[1].value == 3);
    }
    {
        BLOCK(3, 4);
        assert_true(kg_stage_norm2(&single, &s).value == 5);
        assert_true(kg_stage_sum(&single, &s).value == 7 && kg_stage_mean(&single, &s).value == 3.5);
        assert_true(kg_stage_dot(&single, &s, &s).value == 25);
        assert_true(kg_stage_p_norm(&single, &s, 1).value == 7 && kg_stage_p_norm(&single, &s, INFINITY).value == 4);
        kg_stage_rms_norm(&single, &s, 0, NULL);
        assert_true(fabs(s.at[0].value - 3 / sqrt(12.5)) < 1e-15);
    }
}

// First order, by hand: exp at 0 moves by e, a product by |b| e_a + |a| e_b; the rounding of each is extra.
static void errors_by_hand(void **state) {
    (void)state;
    const kg_term x = {0, 1000, 0}, y = kg_term_map(&single, x, exp_at, NULL);
    assert_true(fabs(y.local - 1000 - kg_exp_point(0).local) < 0.1);
    const kg_term p = kg_term_mul(&single, (kg_term){3, 5, 1}, (kg_term){-2, 7, 0});
    assert_true(fabs(p.local - (2 * 5 + 3 * 7 + 6)) < 1e-4 && fabs(p.acc - 2) < 1e-4);
    // Half precision: what computing rounds is float32's; storing adds one unit of the storage's.
    const kg_term h = kg_term_stored(&half, kg_term_add(&half, kg_term_input(&half, 1.5), kg_term_input(&half, 2)));
    assert_true(h.local == 3.5 && h.acc == 3.5);
    const kg_term c = kg_term_cast(&half, &single, (kg_term){1, 1, 1});
    assert_true(c.local == 0x1p13 && c.acc == 1);
}

// Two that may be nearer to each other than their errors say nothing; one that is larger by more than them keeps all.
static void softmax_errors_end_where_its_values_do(void **state) {
    (void)state;
    const double e = 50 / single.u;  // moves exp() by 2^72
    BLOCK(0, -1000, -1e6);
    for (int i = 0; i < 3; i++) s.at[i].local = e;
    kg_stage_softmax(&single, &s);
    assert_true(s.at[0].value == 1 && kg_term_error(&single, s.at[0]) < 2e-6);
    assert_true(s.at[1].value == 0 && kg_term_error(&single, s.at[1]) < 1e-300);
    double near[] = {0, -90};
    for (int i = 0; i < 2; i++) s.at[i] = (kg_term){near[i], e, 0};
    s.n = 2;
    kg_stage_softmax(&single, &s);
    assert_true(kg_term_error(&single, s.at[0]) > 0.99 && kg_term_error(&single, s.at[1]) > 0.99);
}

// Half precision: mean 2 of {1, 3}, deviation 1, z = -1 and 1: a stored mean moves z by 2 u, a stored variance and its
// root by 1.5 u more.
static void a_batch_norm_may_store_its_statistics(void **state) {
    (void)state;
    BLOCK(1, 3);
    kg_stage_batch_norm(&half, &s, 0);
    assert_true(s.at[0].value == -1 && s.at[0].local == 3.5 && s.at[1].local == 3.5);
    s.at[0] = kg_term_exact(1), s.at[1] = kg_term_exact(3);
    kg_stage_layer_norm(&half, &s, 0, NULL, NULL);
    assert_true(s.at[0].value == -1 && s.at[0].local == 0);
}

// A saturated function of an infinity is exact; nothing turns NaN that is finite.
static void infinities_have_no_error(void **state) {
    (void)state;
    const kg_term x = {-INFINITY, INFINITY, NAN}, y = kg_term_map(&single, x, sigmoid_at, NULL);
    assert_true(y.value == 0 && y.local == 0 && y.acc == 0);
    BLOCK(0, -INFINITY, 1);
    s.at[1].local = INFINITY;
    kg_stage_softmax(&single, &s);
    for (int i = 0; i < 3; i++) assert_true(isfinite(kg_term_error(&single, s.at[i])));
    assert_true(s.at[1].value == 0 && kg_term_error(&single, s.at[1]) == 0);
    const kg_term q = kg_term_div(&single, (kg_term){0, 0, 0}, (kg_term){0x1p-30, 0, 100});
    assert_true(q.value == 0 && q.acc == INFINITY);
}

// ---- walking ------------------------------------------------------------------------------------------------
static int thousands(int64_t block, kg_stage *s, void *ctx) {
    ++*(int *)ctx;
    for (int64_t i = 0; i < s->n; i++) s->at[i] = kg_term_exact((double)(1000 * block + i));
    return 0;
}

// 12 outputs as (2, 3, 2), blocks along the middle: output 7 = (1, 0, 1) is element 0 of block 3.
static void blocks_are_walked_once(void **state) {
    (void)state;
    int64_t index[12];
    double v[12], local[12], acc[12];
    for (int i = 0; i < 12; i++) index[i] = i;
    kg_ref ref = {0, 12, index, v, local, acc};
    int calls = 0;
    assert_int_equal(kg_stage_each(&ref, 3, 2, thousands, &calls), 0);
    assert_int_equal(calls, 4);
    for (int b = 0; b < 4; b++)
        for (int k = 0; k < 3; k++) assert_true(v[kg_stage_index(b, 3, 2, k)] == 1000 * b + k);
    assert_true(v[7] == 3000);
}

static int squares(kg_ref *ref, void *ctx) {
    (void)ctx;
    for (size_t k = 0; k < ref->n; k++) {
        ref->value[k] = ref->index[k] == 4 ? INFINITY : (double)(ref->index[k] * ref->index[k]);
        ref->local[k] = ref->acc[k] = INFINITY;
    }
    return 0;
}
static void a_part_is_the_first_stage(void **state) {
    (void)state;
    BLOCK(0, 0, 0);
    assert_int_equal(kg_stage_from(&s, 1, 3, squares, NULL), 0);
    assert_true(s.at[0].value == 1 && s.at[2].value == 49 && s.at[0].local == INFINITY);
    assert_true(s.at[1].value == INFINITY && s.at[1].local == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_hold_and_are_near),
                                       cmocka_unit_test(values_by_hand),
                                       cmocka_unit_test(errors_by_hand),
                                       cmocka_unit_test(softmax_errors_end_where_its_values_do),
                                       cmocka_unit_test(a_batch_norm_may_store_its_statistics),
                                       cmocka_unit_test(infinities_have_no_error),
                                       cmocka_unit_test(blocks_are_walked_once),
                                       cmocka_unit_test(a_part_is_the_first_stage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
