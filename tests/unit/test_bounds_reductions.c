// Bounds of sum, argmax, softmax and the losses: honest float32 kernels pass, the usual mistakes fail.
#include "bounds.h"

static float tree(const float *x, int n) { return n == 1 ? x[0] : tree(x, n / 2) + tree(x + n / 2, n - n / 2); }
static float serial(const float *x, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}
static float in_half(const float *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s = rounded(KG_F16, s + (double)x[i]);
    return (float)s;
}
static float tail_dropped(const float *x, int n) { return serial(x, n - 1); }
static float nothing(const float *x, int n) { return (void)x, (void)n, 0; }
typedef float (*adder)(const float *x, int n);

static bool sums_pass(const trial *r, adder f, int n) {
    double y[64];
    for (size_t i = 0; i < r->ref.n; i++) y[i] = (double)f(r->values[0][0] + i * (size_t)n, n);
    return rung(&r->ref, y) == KG_PREC_FP32;
}

static void sums(void **state) {
    (void)state;
    static const int lengths[] = {3, 33, 1025, 65537};
    for (int i = 0; i < 4; i++) {
        const int n = lengths[i];
        trial r = trial_start("sum");
        kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(7, n), KG_NORMAL(0.5, 1));
        kg_set_ints(r.c, r.t, "dim", KG_INTS(1));
        trial_run(&r);
        assert_true(sums_pass(&r, serial, n) && sums_pass(&r, tree, n));
        assert_false(sums_pass(&r, nothing, n));
        assert_false(sums_pass(&r, in_half, n));
        if (n <= 1025) assert_false(sums_pass(&r, tail_dropped, n));
        trial_free(&r);
    }
}

// Groups over dimensions 0 and 2 of [2,3,2]: by hand.
static void integers_sum_exactly_over_several_dimensions(void **state) {
    (void)state;
    const kg_task *t = kg_task_find("sum");
    kg_cases b = {.task = t, .level = KG_CASES_QUICK};
    kg_case *c = kg_case_add(&b);
    kg_set_tensor(c, t, "input", KG_I32, KG_SHAPE(2, 3, 2), KG_INTEGERS(0, 1));
    kg_set_ints(c, t, "dim", KG_INTS(0, -1));
    kg_set_bool(c, t, "keepdim", true);
    assert_int_equal(t->infer(t, c), 0);
    assert_int_equal(c->outs[0].dtype, KG_I64);
    assert_int_equal(c->outs[0].ndim, 3);
    const int32_t x[12] = {1, 2, 3, 4, 5, 6, 70, 80, 90, 100, 110, 120};
    const kg_call call = {.task = t, .c = c, .args[0] = {c->args[0].tensor, x}};
    double v[9];
    kg_ref ref = {0, 3, (int64_t[]){0, 1, 2}, v, v + 3, v + 6};
    assert_int_equal(kg_oracle(&call, &ref), 0);
    assert_true(v[0] == 153 && v[1] == 197 && v[2] == 241 && v[3] == 0 && v[6] == 0);
    kg_cases_free(&b);
}

static double argmax_of(const float *x, int64_t n) {
    const kg_task *t = kg_task_find("argmax");
    kg_cases b = {.task = t, .level = KG_CASES_QUICK};
    kg_case *c = kg_case_add(&b);
    kg_set_tensor(c, t, "input", KG_F32, 1, &n, KG_NORMAL(0, 1));
    kg_set_int(c, t, "dim", 0);
    assert_int_equal(t->infer(t, c), 0);
    const kg_call call = {.task = t, .c = c, .args[0] = {c->args[0].tensor, x}};
    double v[3];
    kg_ref ref = {0, 1, (int64_t[]){0}, v, v + 1, v + 2};
    assert_int_equal(kg_oracle(&call, &ref), 0);
    kg_cases_free(&b);
    return v[0];
}

// torch.argmax of the same lists.
static void argmax_takes_the_first_and_nan(void **state) {
    (void)state;
    assert_true(argmax_of((float[]){1, 3, 3, 2}, 4) == 1);
    assert_true(argmax_of((float[]){1, NAN, 3, NAN}, 4) == 1);
    assert_true(argmax_of((float[]){-INFINITY, -INFINITY}, 2) == 0);
    assert_true(argmax_of((float[]){1, INFINITY, NAN}, 3) == 2);
    assert_true(argmax_of((float[]){-5, -4, -6}, 3) == 1);
}

// ---- softmax ------------------------------------------------------------------------------------------
static void softmax(const float *x, int n, adder add, float shift, double *y) {
    float e[1025] = {0}, most = x[0];
    for (int k = 1; k < n; k++) most = fmaxf(most, x[k]);
    for (int k = 0; k < n; k++) e[k] = expf(x[k] - shift * most);
    const float sum = add(e, n);
    for (int k = 0; k < n; k++) y[k] = (double)(e[k] / sum);
}

static bool softmax_passes(const trial *r, int n, adder add, float shift) {
    double *y = malloc((r->ref.n + 1) * sizeof *y);
    for (size_t i = 0; i < r->ref.n; i += (size_t)n) softmax(r->values[0][0] + i, n, add, shift, y + i);
    const bool right = rung(&r->ref, y) == KG_PREC_FP32;
    free(y);
    return right;
}

static void softmaxes(void **state) {
    (void)state;
    for (int n = 33; n <= 1025; n += 992) {
        for (int mean = 0; mean <= 1000; mean += 1000) {
            trial r = trial_start("softmax");
            kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(9, n), KG_NORMAL(mean, 2));
            kg_set_int(r.c, r.t, "dim", 1);
            trial_run(&r);
            assert_true(softmax_passes(&r, n, serial, 1) && softmax_passes(&r, n, tree, 1));
            assert_false(softmax_passes(&r, n, in_half, 1));
            assert_false(softmax_passes(&r, n, tail_dropped, 1));
            if (mean) assert_false(softmax_passes(&r, n, serial, 0));  // overflows
            double *y = calloc(r.ref.n, sizeof *y);
            assert_int_equal(rung(&r.ref, y), KG_PREC_NONE);  // zeros
            for (size_t i = 0; i < r.ref.n; i++) y[i] = 1.0 / n;
            assert_int_equal(rung(&r.ref, y), KG_PREC_NONE);
            free(y);
            trial_free(&r);
        }
    }
}

// No output of a softmax over 131,072 values is above 4e-4: zeros still fail, element by element.
static void zeros_fail_in_a_long_softmax(void **state) {
    (void)state;
    trial r = trial_start("softmax");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(1, 131072), KG_NORMAL(0, 1));
    kg_set_int(r.c, r.t, "dim", 1);
    trial_run(&r);
    double *zeros = calloc(r.ref.n, sizeof *zeros);
    assert_true(misses(&r.ref, zeros, KG_PREC_FP32) == r.ref.n);
    free(zeros);
    trial_free(&r);
}

// ---- losses -------------------------------------------------------------------------------------------
// Two samples of three classes, weights 1, 2, 4: logits 0, 0, log 2 give probabilities 1/4, 1/4, 1/2.
static double cross_entropy(const char *reduction, int64_t ignore, double *bound) {
    const kg_task *t = kg_task_find("cross_entropy");
    kg_cases b = {.task = t, .level = KG_CASES_QUICK};
    kg_case *c = kg_case_add(&b);
    kg_set_tensor(c, t, "input", KG_F64, KG_SHAPE(2, 3), KG_NORMAL(0, 1));
    kg_set_tensor(c, t, "target", KG_I64, KG_SHAPE(2), KG_INTEGERS(0, 2));
    kg_set_tensor(c, t, "weight", KG_F64, KG_SHAPE(3), KG_UNIFORM(1, 4));
    kg_set_str(c, t, "reduction", reduction);
    kg_set_int(c, t, "ignore_index", ignore);
    assert_int_equal(t->infer(t, c), 0);
    const double x[] = {0, 0, M_LN2, 0, 0, M_LN2}, w[] = {1, 2, 4};
    const int64_t target[] = {1, 2};
    const kg_call call = {
        .task = t, .c = c, .args = {{c->args[0].tensor, x}, {c->args[1].tensor, target}, {c->args[2].tensor, w}}};
    double v[3];
    kg_ref ref = {0, 1, (int64_t[]){0}, v, v + 1, v + 2};
    assert_int_equal(kg_oracle(&call, &ref), 0);
    kg_cases_free(&b);
    *bound = v[1] + v[2];
    return v[0];
}

static bool near(double a, double b) { return fabs(a - b) < 1e-14; }

static void cross_entropy_by_hand(void **state) {
    (void)state;
    double bound;
    assert_true(near(cross_entropy("none", -100, &bound), 4 * M_LN2));      // 2 log 4
    assert_true(near(cross_entropy("sum", -100, &bound), 8 * M_LN2));       // 2 log 4 + 4 log 2
    assert_true(near(cross_entropy("mean", -100, &bound), 8 * M_LN2 / 6));  // over 2 + 4
    assert_true(bound > 1 && bound < 200);                                  // units of u
    assert_true(near(cross_entropy("mean", 2, &bound), 2 * M_LN2));         // 2 log 4 over 2
    assert_true(near(cross_entropy("none", 1, &bound), 0));
}

static void smooth_l1(void **state) {
    (void)state;
    for (int beta = 0; beta < 2; beta++) {
        trial r = trial_start("smooth_l1_loss");
        kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(1025), KG_NORMAL(0.5, 1));
        kg_set_tensor(r.c, r.t, "target", KG_F32, KG_SHAPE(1025), KG_NORMAL(0, 1));
        kg_set_float(r.c, r.t, "beta", beta);
        trial_run(&r);
        float l1[1025], smooth[1025];
        for (int i = 0; i < 1025; i++) {
            l1[i] = fabsf(r.values[0][0][i] - r.values[0][1][i]);
            smooth[i] = l1[i] < 1 ? 0.5f * l1[i] * l1[i] : l1[i] - 0.5f;
        }
        const float *right = beta ? smooth : l1, *wrong = beta ? l1 : smooth;
        double y = (double)(serial(right, 1025) / 1025);
        assert_int_equal(rung(&r.ref, &y), KG_PREC_FP32);
        y = (double)(tree(right, 1025) / 1025);
        assert_int_equal(rung(&r.ref, &y), KG_PREC_FP32);
        const double mistakes[] = {(double)(serial(wrong, 1025) / 1025), (double)serial(right, 1025), 0,
                                   (double)(in_half(right, 1025) / 1025), (double)(serial(right, 1024) / 1025)};
        for (int i = 0; i < 5; i++) assert_int_not_equal(rung(&r.ref, &mistakes[i]), KG_PREC_FP32);
        trial_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums),
                                       cmocka_unit_test(integers_sum_exactly_over_several_dimensions),
                                       cmocka_unit_test(argmax_takes_the_first_and_nan),
                                       cmocka_unit_test(softmaxes),
                                       cmocka_unit_test(zeros_fail_in_a_long_softmax),
                                       cmocka_unit_test(cross_entropy_by_hand),
                                       cmocka_unit_test(smooth_l1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
