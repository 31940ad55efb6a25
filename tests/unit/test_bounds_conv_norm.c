// The bounds of conv2d and of the fused linear layer: right kernels pass, near misses do not.
#include "bounds.h"

// ---- conv2d -------------------------------------------------------------------------------------------
enum { C = 4, H = 13, W = 14, O = 6, R = 4, S = 3 };
typedef struct {
    int front[2];
    bool bias, flipped;
    int channels;
} variant;

static void convolve(const trial *r, const variant *v, double *got) {
    const float *x = r->values[0][0], *w = r->values[0][1], *bias = r->values[0][2];
    for (int i = 0; i < O * H * W; i++) {
        const int q = i % W, p = i / W % H, o = i / (W * H);
        float sum = v->bias ? bias[o] : 0;
        for (int c = 0; c < v->channels; c++)
            for (int k = 0; k < R * S; k++) {
                const int y = p - v->front[0] + k / S, z = q - v->front[1] + k % S;
                if (y < 0 || y >= H || z < 0 || z >= W) continue;
                sum += x[(c * H + y) * W + z] * w[(o * C + c) * R * S + (v->flipped ? R * S - 1 - k : k)];
            }
        got[i] = sum;
    }
}

// 'same' with four rows of filter: three zeros, one in front and two behind.
static void convolutions(void **state) {
    (void)state;
    trial r = trial_start("conv2d");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(1, C, H, W), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "weight", KG_F32, KG_SHAPE(O, C, R, S), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "bias", KG_F32, KG_SHAPE(O), KG_NORMAL(1, 4));
    kg_set_ints(r.c, r.t, "padding", KG_INTS(0));
    r.c->args[kg_param_index(r.t, "padding")].s = "same";
    trial_run(&r);
    const kg_arg *padding = kg_case_arg(r.c, r.t, "padding");
    assert_int_equal(padding->n, 2);
    assert_int_equal(padding->ints[0], 1);
    assert_int_equal(padding->ints[1], 1);
    static double got[O * H * W];
    const variant right = {{1, 1}, true, false, C};
    const variant wrong[] = {{{2, 1}, true, false, C},   // the odd zero in front
                             {{1, 1}, false, false, C},  // no bias
                             {{1, 1}, true, true, C},    // a convolution of mathematics: the filter turned round
                             {{1, 1}, true, false, C - 1}};
    convolve(&r, &right, got);
    assert_int_equal(rung(&r.ref, got), KG_PREC_FP32);
    for (int k = 0; k < 4; k++) {
        convolve(&r, &wrong[k], got);
        if (rung(&r.ref, got) <= KG_PREC_TF32) fail_msg("wrong convolution %d passes", k);
    }
    trial_free(&r);
}

static void convolution_shapes(void **state) {
    (void)state;
    // (10 + 2*2 - 2*(3-1) - 1) / 3 + 1 = 4 rows; (11 + 2*1 - (4-1) - 1) / 1 + 1 = 10 columns
    trial r = trial_start("conv2d");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(2, 6, 10, 11), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "weight", KG_F32, KG_SHAPE(8, 3, 3, 4), KG_FACTORS);
    kg_set_ints(r.c, r.t, "padding", KG_INTS(2, 1));
    kg_set_ints(r.c, r.t, "dilation", KG_INTS(2, 1));
    kg_set_ints(r.c, r.t, "stride", KG_INTS(3, 1));
    assert_int_equal(r.t->infer(r.t, r.c), -1);  // 6 channels are not 3
    kg_set_int(r.c, r.t, "groups", 2);
    assert_int_equal(r.t->infer(r.t, r.c), 0);
    assert_memory_equal(r.c->outs[0].shape, ((int64_t[]){2, 8, 4, 10}), 32);
    kg_cases_free(&r.cases);
}

// ---- linear, relu, layer norm ---------------------------------------------------------------------------
enum { ROWS = 8, IN = 96, OUT = 64 };
typedef struct {
    bool bias, relu, one_pass, unbiased, no_mean, norm_first;
    float eps;
} form;

static float tf32(float v) {
    uint32_t x;
    memcpy(&x, &v, 4);
    x = (x + 0xfff + (x >> 13 & 1)) & ~0x1fffu;
    memcpy(&v, &x, 4);
    return v;
}

static void normalise(float *h, const form *f) {
    float sum = 0, squares = 0;
    for (int j = 0; j < OUT; j++) sum += h[j], squares += h[j] * h[j];
    const float mean = f->no_mean ? 0 : sum / OUT;
    float m2 = squares - OUT * mean * mean;
    if (!f->one_pass) {
        m2 = 0;
        for (int j = 0; j < OUT; j++) m2 += (h[j] - mean) * (h[j] - mean);
    }
    const float scale = 1 / sqrtf(m2 / (float)(f->unbiased ? OUT - 1 : OUT) + f->eps);
    for (int j = 0; j < OUT; j++) h[j] = (h[j] - mean) * scale;
}

static void fused(const trial *r, const form *f, float (*in)(float), double *got) {
    const float *x = r->values[0][0], *w = r->values[0][1], *bias = r->values[0][2];
    for (int row = 0; row < ROWS; row++) {
        float h[OUT];
        for (int j = 0; j < OUT; j++) {
            float s = 0;
            for (int k = 0; k < IN; k++) s += in(x[row * IN + k]) * in(w[j * IN + k]);
            h[j] = s + (f->bias ? bias[j] : 0);
        }
        if (f->norm_first) normalise(h, f);
        for (int j = 0; j < OUT && f->relu; j++) h[j] = h[j] > 0 ? h[j] : 0;
        if (!f->norm_first) normalise(h, f);
        for (int j = 0; j < OUT; j++) got[row * OUT + j] = h[j];
    }
}
static float plain(float v) { return v; }

static void fused_linear_layers(void **state) {
    (void)state;
    trial r = trial_start("fused_layer_norm_relu_linear");
    kg_set_tensor(r.c, r.t, "input", KG_F32, KG_SHAPE(ROWS, IN), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "weight", KG_F32, KG_SHAPE(OUT, IN), KG_FACTORS);
    kg_set_tensor(r.c, r.t, "bias", KG_F32, KG_SHAPE(OUT), KG_NORMAL(0, 10));
    kg_set_ints(r.c, r.t, "normalized_shape", KG_INTS(OUT));
    kg_set_float(r.c, r.t, "eps", 2);
    trial_run(&r);
    const form right = {.bias = true, .relu = true, .eps = 2};
    static double got[ROWS * OUT];
    fused(&r, &right, plain, got);
    assert_int_equal(rung(&r.ref, got), KG_PREC_FP32);
    fused(&r, &right, tf32, got);
    assert_int_equal(rung(&r.ref, got), KG_PREC_TF32);
    form one_pass = right;
    one_pass.one_pass = true;
    fused(&r, &one_pass, plain, got);
    assert_int_equal(rung(&r.ref, got), KG_PREC_FP32);
    form wrong[6] = {right, right, right, right, right, right};
    wrong[0].bias = false, wrong[1].relu = false, wrong[2].unbiased = true, wrong[3].no_mean = true;
    wrong[4].norm_first = true, wrong[5].eps = 1e-5f;
    for (int k = 0; k < 6; k++) {
        fused(&r, &wrong[k], plain, got);
        if (rung(&r.ref, got) <= KG_PREC_TF32) fail_msg("wrong form %d passes", k);
    }
    const double zeros[ROWS * OUT] = {0};
    assert_true(misses(&r.ref, zeros, KG_PREC_TF32) > ROWS * OUT / 2);
    trial_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(convolution_shapes),
        cmocka_unit_test(fused_linear_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
