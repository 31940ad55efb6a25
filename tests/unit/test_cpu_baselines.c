// The CPU baselines compute what their tasks say: each against a few lines of C, through the loader that the runner
// uses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/runner.h"
#include "task/task.h"

// ---- cases by hand --------------------------------------------------------------------------------
static kg_run_arg *add(kg_run_case *c, const char *name, int kind) {
    kg_run_arg *a = &c->args[c->n_args++];
    a->name = (char *)name;
    a->kind = kind;
    return a;
}

static float *values(int64_t n, uint64_t seed) {
    float *v = malloc((size_t)(n + 1) * sizeof *v);
    kg_fill f = {KG_FILL_NORMAL, 0.25, 1};
    kg_fill_range(&f, KG_F32, seed, 0, n, v);
    return v;
}

static kg_run_tensor tensor_at(void *data, int ndim, const int64_t *shape) {
    return (kg_run_tensor){.desc = kg_tensor_contiguous(KG_F32, ndim, shape), .base = data};
}

static float *add_tensor(kg_run_case *c, const char *name, int ndim, const int64_t *shape) {
    const kg_tensor t = kg_tensor_contiguous(KG_F32, ndim, shape);
    float *v = values(kg_numel(&t), (uint64_t)c->n_args + 11);
    add(c, name, KG_P_TENSOR)->tensor = tensor_at(v, ndim, shape);
    return v;
}

static float *add_out(kg_run_case *c, int ndim, const int64_t *shape) {
    const kg_tensor t = kg_tensor_contiguous(KG_F32, ndim, shape);
    float *v = values(kg_numel(&t), 99);
    c->outs[c->n_outs++] = tensor_at(v, ndim, shape);
    c->slots = c->calls = 1;
    return v;
}

static void add_ints(kg_run_case *c, const char *name, int n, const int64_t *v) {
    kg_run_arg *a = add(c, name, KG_P_INTS);
    a->n = n;
    memcpy(a->ints, v, (size_t)n * sizeof *v);
}

static void release(kg_run_case *c) {
    for (int i = 0; i < c->n_args; i++) free(c->args[i].tensor.base);
    for (int i = 0; i < c->n_outs; i++) free(c->outs[i].base);
}

// 0 after a call; 1 when refused in prepare. Skips the test where the library is absent.
static int run(const char *library, const char *task, const kg_run_case *c) {
    kg_load_request r = {.language = "baseline", .path = library, .task = task};
    kg_error err = {0};
    void *self = NULL;
    char *entry = NULL;
    if (kg_baseline_loader.load(&r, &self, &entry, &err)) {
        print_message("%s\n", err.text);
        kg_error_clear(&err);
        skip();
    }
    free(entry);
    int refused = kg_baseline_loader.prepare(self, c, &err) != 0;
    if (refused) print_message("refused: %s\n", err.text);
    if (!refused) assert_int_equal(kg_baseline_loader.call(self, 0, &err), 0);
    kg_baseline_loader.unload(self);
    kg_error_clear(&err);
    return refused;
}

static void close_to(const float *got, const double *want, int64_t n, double tolerance) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("element %lld: %g, expected %g", (long long)i, (double)got[i], want[i]);
}

#define DIMS(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

// ---- products -------------------------------------------------------------------------------------
// [2,3,5,7] x [3,7,4]: the right operand is broadcast over the first batch dimension.
static void batched(const char *library) {
    kg_run_case c = {0};
    float *a = add_tensor(&c, "input", DIMS(2, 3, 5, 7)), *b = add_tensor(&c, "other", DIMS(3, 7, 4));
    float *out = add_out(&c, DIMS(2, 3, 5, 4));
    double want[120];
    for (int k = 0; k < 120; k++) {
        const int j = k % 4, i = k / 4 % 5, q = k / 20 % 3, p = k / 60;
        want[k] = 0;
        for (int m = 0; m < 7; m++) want[k] += (double)a[((p * 3 + q) * 5 + i) * 7 + m] * b[(q * 7 + m) * 4 + j];
    }
    assert_int_equal(run(library, "matmul", &c), 0);
    close_to(out, want, 120, 1e-5);
    release(&c);
}
static void openblas_multiplies_broadcast_batches(void **s) { (void)s, batched("openblas"); }
static void onednn_multiplies_broadcast_batches(void **s) { (void)s, batched("onednn"); }

static void vector_times_transposed(const char *library) {
    kg_run_case c = {0};
    float *a = add_tensor(&c, "input", DIMS(6)), *b = add_tensor(&c, "other", DIMS(6, 5));
    kg_tensor *t = &c.args[1].tensor.desc;
    t->stride[0] = 1, t->stride[1] = 6;  // stored as [5,6]
    float *out = add_out(&c, DIMS(5));
    double want[5] = {0};
    for (int j = 0; j < 5; j++)
        for (int m = 0; m < 6; m++) want[j] += (double)a[m] * b[j * 6 + m];
    assert_int_equal(run(library, "matmul", &c), 0);
    close_to(out, want, 5, 1e-5);
    release(&c);
}
static void openblas_takes_vectors_and_transposes(void **s) { (void)s, vector_times_transposed("openblas"); }
static void onednn_takes_vectors_and_transposes(void **s) { (void)s, vector_times_transposed("onednn"); }

static void openblas_addmm_scales_and_broadcasts(void **state) {
    (void)state;
    kg_run_case c = {0};
    float *bias = add_tensor(&c, "input", DIMS(4)), *a = add_tensor(&c, "mat1", DIMS(3, 5));
    float *b = add_tensor(&c, "mat2", DIMS(5, 4));
    add(&c, "beta", KG_P_FLOAT)->f = 0.5;
    add(&c, "alpha", KG_P_FLOAT)->f = -2;
    float *out = add_out(&c, DIMS(3, 4));
    double want[12];
    for (int k = 0; k < 12; k++) {
        want[k] = 0.5 * bias[k % 4];
        for (int m = 0; m < 5; m++) want[k] -= 2.0 * a[k / 4 * 5 + m] * b[m * 4 + k % 4];
    }
    assert_int_equal(run("openblas", "addmm", &c), 0);
    close_to(out, want, 12, 1e-5);
    bias[0] = NAN;  // beta 0 ignores it
    c.args[3].f = 0;
    assert_int_equal(run("openblas", "addmm", &c), 0);
    assert_false(isnan(out[0]));
    release(&c);
}

static void conv_case(int64_t groups, int64_t stride, int64_t pad, int64_t dilation) {
    enum { N = 2, C = 4, H = 7, W = 6, O = 6, K = 3 };
    kg_run_case c = {0};
    float *x = add_tensor(&c, "input", DIMS(N, C, H, W)), *w = add_tensor(&c, "weight", DIMS(O, C / groups, K, K));
    float *bias = add_tensor(&c, "bias", DIMS(O));
    add_ints(&c, "stride", 1, &stride);
    add_ints(&c, "padding", 1, &pad);
    add_ints(&c, "dilation", 1, &dilation);
    add(&c, "groups", KG_P_INT)->i = groups;
    const int64_t oh = (H + 2 * pad - dilation * (K - 1) - 1) / stride + 1;
    const int64_t ow = (W + 2 * pad - dilation * (K - 1) - 1) / stride + 1;
    float *out = add_out(&c, DIMS(N, O, oh, ow));
    double *want = calloc((size_t)(N * O * oh * ow), sizeof *want);
    for (int64_t k = 0; k < N * O * oh * ow; k++) {
        const int64_t q = k % ow, p = k / ow % oh, o = k / (ow * oh) % O, n = k / (ow * oh * O), g = o / (O / groups);
        want[k] = bias[o];
        for (int64_t i = 0; i < C / groups * K * K; i++) {
            const int64_t s = i % K, r = i / K % K, ch = i / (K * K);
            const int64_t y = p * stride - pad + r * dilation, z = q * stride - pad + s * dilation;
            if (y < 0 || y >= H || z < 0 || z >= W) continue;
            want[k] += (double)x[((n * C + g * (C / groups) + ch) * H + y) * W + z] *
                       w[(o * (C / groups) + ch) * K * K + r * K + s];
        }
    }
    assert_int_equal(run("onednn", "conv2d", &c), 0);
    close_to(out, want, N * O * oh * ow, 1e-5);
    free(want);
    release(&c);
}
static void onednn_convolves(void **state) {
    (void)state;
    conv_case(1, 1, 0, 1);
    conv_case(2, 2, 1, 1);
    conv_case(1, 1, 2, 2);
}

static void onednn_normalises_a_linear_layer(void **state) {
    (void)state;
    kg_run_case c = {0};
    float *x = add_tensor(&c, "input", DIMS(2, 3, 5)), *w = add_tensor(&c, "weight", DIMS(4, 5));
    float *bias = add_tensor(&c, "bias", DIMS(4));
    float *out = add_out(&c, DIMS(2, 3, 4));
    double want[24];
    for (int r = 0; r < 6; r++) {
        double h[4], mean = 0, var = 0;
        for (int j = 0; j < 4; j++) {
            h[j] = bias[j];
            for (int m = 0; m < 5; m++) h[j] += (double)x[r * 5 + m] * w[j * 5 + m];
            if (h[j] < 0) h[j] = 0;
            mean += h[j] / 4;
        }
        for (int j = 0; j < 4; j++) var += (h[j] - mean) * (h[j] - mean) / 4;
        for (int j = 0; j < 4; j++) want[r * 4 + j] = (h[j] - mean) / sqrt(var + 1e-5);
    }
    assert_int_equal(run("onednn", "fused_layer_norm_relu_linear", &c), 0);
    close_to(out, want, 24, 1e-4);
    release(&c);
}

// ---- elementwise ----------------------------------------------------------------------------------
static void onednn_functions_of_one_tensor(void **state) {
    (void)state;
    static const struct {
        const char *task, *approximate;
    } tasks[] = {{"relu", NULL},    {"gelu", "none"}, {"gelu", "tanh"},   {"tanh", NULL},
                 {"sigmoid", NULL}, {"abs", NULL},    {"exp_sqrt", NULL}, {"reciprocal", NULL}};
    for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
        kg_run_case c = {0};
        float *x = add_tensor(&c, "input", DIMS(3, 37));
        if (tasks[k].approximate) add(&c, "approximate", KG_P_STR)->s = (char *)tasks[k].approximate;
        float *out = add_out(&c, DIMS(3, 37));
        double want[111];
        for (int i = 0; i < 111; i++) {
            const double v = x[i];
            const double by_task[] = {v > 0 ? v : 0,
                                      v * 0.5 * erfc(-v / sqrt(2)),
                                      0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))),
                                      tanh(v),
                                      1 / (1 + exp(-v)),
                                      fabs(v),
                                      exp(v / 2),
                                      1 / v};
            want[i] = by_task[k];
        }
        assert_int_equal(run("onednn", tasks[k].task, &c), 0);
        close_to(out, want, 111, 1e-5);
        release(&c);
    }
}

static void onednn_adds_and_multiplies(void **state) {
    (void)state;
    kg_run_case c = {0};
    float *a = add_tensor(&c, "input", DIMS(3, 4)), *b = add_tensor(&c, "other", DIMS(4));
    add(&c, "alpha", KG_P_FLOAT)->f = 2.5;
    float *out = add_out(&c, DIMS(3, 4));
    double want[12];
    for (int i = 0; i < 12; i++) want[i] = a[i] + 2.5 * b[i % 4];
    assert_int_equal(run("onednn", "add", &c), 0);
    close_to(out, want, 12, 1e-6);
    release(&c);

    kg_run_case d = {0};
    float *x = add_tensor(&d, "input", DIMS(3, 4)), *y = add_tensor(&d, "other_mul", DIMS(3, 4));
    float *z = add_tensor(&d, "other_sub", DIMS(4));
    out = add_out(&d, DIMS(3, 4));
    for (int i = 0; i < 12; i++) want[i] = (double)x[i] * y[i] - z[i % 4];
    assert_int_equal(run("onednn", "fused_mul_sub", &d), 0);
    close_to(out, want, 12, 1e-6);
    release(&d);
}

// ---- reductions -----------------------------------------------------------------------------------
static void onednn_softmax_over_either_dimension(void **state) {
    (void)state;
    for (int dim = 0; dim < 2; dim++) {
        kg_run_case c = {0};
        float *x = add_tensor(&c, "input", DIMS(5, 7));
        add(&c, "dim", KG_P_INT)->i = dim - 2;
        float *out = add_out(&c, DIMS(5, 7));
        double want[35];
        for (int i = 0; i < 35; i++) {
            double sum = 0;
            for (int k = 0; k < (dim ? 7 : 5); k++) sum += exp(dim ? x[i / 7 * 7 + k] : x[k * 7 + i % 7]);
            want[i] = exp(x[i]) / sum;
        }
        assert_int_equal(run("onednn", "softmax", &c), 0);
        close_to(out, want, 35, 1e-5);
        release(&c);
    }
}

static void onednn_norms(void **state) {
    (void)state;
    kg_run_case c = {0};
    float *x = add_tensor(&c, "input", DIMS(2, 3, 4));
    add_ints(&c, "normalized_shape", DIMS(3, 4));
    float *w = add_tensor(&c, "weight", DIMS(3, 4)), *b = add_tensor(&c, "bias", DIMS(3, 4));
    float *out = add_out(&c, DIMS(2, 3, 4));
    double want[24];
    for (int i = 0; i < 24; i++) {
        double mean = 0, var = 0;
        for (int k = 0; k < 12; k++) mean += x[i / 12 * 12 + k] / 12.0;
        for (int k = 0; k < 12; k++) var += pow(x[i / 12 * 12 + k] - mean, 2) / 12;
        want[i] = (x[i] - mean) / sqrt(var + 1e-5) * w[i % 12] + b[i % 12];
    }
    assert_int_equal(run("onednn", "layer_norm", &c), 0);
    close_to(out, want, 24, 1e-4);
    release(&c);

    kg_run_case d = {0};
    x = add_tensor(&d, "input", DIMS(2, 3, 4, 5));
    float *mean = add_tensor(&d, "running_mean", DIMS(3)), *var = add_tensor(&d, "running_var", DIMS(3));
    for (int i = 0; i < 3; i++) var[i] = fabsf(var[i]) + 0.1f;
    w = add_tensor(&d, "weight", DIMS(3)), b = add_tensor(&d, "bias", DIMS(3));
    out = add_out(&d, DIMS(2, 3, 4, 5));
    double expected[120];
    for (int i = 0; i < 120; i++) {
        const int ch = i / 20 % 3;
        expected[i] = (x[i] - mean[ch]) / sqrt(var[ch] + 1e-5) * w[ch] + b[ch];
    }
    assert_int_equal(run("onednn", "batch_norm", &d), 0);
    close_to(out, expected, 120, 1e-5);
    add(&d, "training", KG_P_BOOL)->i = 1;
    assert_int_equal(run("onednn", "batch_norm", &d), 1);
    release(&d);
}

static void onednn_sums_and_pools(void **state) {
    (void)state;
    kg_run_case c = {0};
    float *x = add_tensor(&c, "input", DIMS(3, 4, 5));
    add_ints(&c, "dim", DIMS(0, -1));
    float *out = add_out(&c, DIMS(4));
    double want[4] = {0};
    for (int i = 0; i < 60; i++) want[i / 5 % 4] += x[i];
    assert_int_equal(run("onednn", "sum", &c), 0);
    close_to(out, want, 4, 1e-5);
    release(&c);

    kg_run_case d = {0};
    x = add_tensor(&d, "input", DIMS(2, 4, 6));
    add_ints(&d, "output_size", DIMS(2, 3));
    out = add_out(&d, DIMS(2, 2, 3));
    double mean[12] = {0};
    for (int i = 0; i < 48; i++) mean[i / 24 * 6 + i / 6 % 4 / 2 * 3 + i % 6 / 2] += x[i] / 4.0;
    assert_int_equal(run("onednn", "adaptive_avg_pool2d", &d), 0);
    close_to(out, mean, 12, 1e-5);
    release(&d);

    kg_run_case e = {0};
    add_tensor(&e, "input", DIMS(2, 4, 7));
    add_out(&e, DIMS(2, 2, 3));
    assert_int_equal(run("onednn", "adaptive_avg_pool2d", &e), 1);  // 7 is no multiple of 3
    release(&e);
}

static void unknown_libraries_and_tasks_are_said(void **state) {
    (void)state;
    kg_load_request r = {.language = "baseline", .path = "mkl", .task = "matmul"};
    kg_error err = {0};
    void *self = NULL;
    char *entry = NULL;
    assert_int_equal(kg_baseline_loader.load(&r, &self, &entry, &err), -1);
    assert_non_null(strstr(err.text, "mkl"));
    r.path = "openblas", r.task = "argmax";
    assert_int_equal(kg_baseline_loader.load(&r, &self, &entry, &err), -1);
    assert_non_null(strstr(err.text, "argmax"));
    r.path = "cublaslt", r.task = "matmul";
    assert_int_equal(kg_baseline_loader.load(&r, &self, &entry, &err), -1);
    assert_non_null(strstr(err.text, "needs a CUDA device"));
    r.path = "cudnn";
    assert_int_equal(kg_baseline_loader.load(&r, &self, &entry, &err), -1);
    assert_non_null(strstr(err.text, "cudnn: no matmul"));
    kg_error_clear(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openblas_multiplies_broadcast_batches),
        cmocka_unit_test(onednn_multiplies_broadcast_batches),
        cmocka_unit_test(openblas_takes_vectors_and_transposes),
        cmocka_unit_test(onednn_takes_vectors_and_transposes),
        cmocka_unit_test(openblas_addmm_scales_and_broadcasts),
        cmocka_unit_test(onednn_convolves),
        cmocka_unit_test(onednn_normalises_a_linear_layer),
        cmocka_unit_test(onednn_functions_of_one_tensor),
        cmocka_unit_test(onednn_adds_and_multiplies),
        cmocka_unit_test(onednn_softmax_over_either_dimension),
        cmocka_unit_test(onednn_norms),
        cmocka_unit_test(onednn_sums_and_pools),
        cmocka_unit_test(unknown_libraries_and_tasks_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
