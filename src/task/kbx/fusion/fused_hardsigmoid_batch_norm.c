// fused_hardsigmoid_batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1,
//     eps=1e-05, inplace=False) -> Tensor
//
// hardsigmoid, clamp(y + 3, 0, 6) / 6, of batch_norm as src/task/batch_norms.h says. inplace speaks of the
// normalisation's result, which nobody else sees: it changes nothing.
//
// Bounds: src/oracle/norm.h, then y / 6 + 1/2: both terms round, and cancel near -3. The ends are exact, but for a
// product with a rounded 1/6.
#include "task/batch_norms.h"

static const kg_param params[] = {KG_BATCH_NORM_PARAMS("x"),
                                  {.name = "inplace", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};
enum { X, BIAS = 4 };

// The benchmark's sizes: areas of 64 2^k, of height sqrt.
static void timed(kg_cases *b) {
    static const int64_t sizes[][2] = {{8, 8},     {11, 12},   {16, 16},     {22, 24},    {32, 32},   {45, 46},
                                       {64, 64},   {90, 92},   {128, 128},   {181, 182},  {256, 256}, {362, 363},
                                       {512, 512}, {724, 725}, {1024, 1024}, {1448, 1449}};
    const size_t n = b->level == KG_TIMED_CUDA ? sizeof sizes / sizeof *sizes : 12;
    for (size_t i = 0; i < n; i++)
        kg_batch_norm_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1, 64, sizes[i][0], sizes[i][1])), false, true);
}

static int cases(kg_cases *b) {
    if (b->level != KG_CASES_QUICK && b->level != KG_CASES_FULL) {
        timed(b);
        return 0;
    }
    kg_batch_norm_cases(b);
    for (int training = 0; training < 2; training++) {
        kg_case *c = kg_batch_norm_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(4, 5, 3, 8)), training, true);
        kg_set_bool(c, b->task, "inplace", true);
        // Both ends and what is between.
        kg_batch_norm_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(9, 7, 33)), training, true)->args[BIAS].fill =
            KG_UNIFORM(-4, 4);
    }
    return 0;
}

static kg_point at(double x, const void *ctx) {
    (void)ctx;
    if (x < -3) return kg_point_exact(0);
    if (x > 3) return (kg_point){1, KG_LAMBDA};
    return isnan(x) ? kg_point_exact(x) : kg_point_make(x / 6 + 0.5, fabs(x) / 6 + 0.5);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_batch_norm_ref(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_batch_norm_work(t, c, w, 4, 0); }

const kg_task kg_task_kbx_fused_hardsigmoid_batch_norm = {
    .name = "fused_hardsigmoid_batch_norm",
    KG_BATCH_NORM_TASK,
    .category = "Fusion",
    .signature =
        "fused_hardsigmoid_batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, "
        "momentum=0.1, eps=1e-05, inplace=False) -> Tensor",
    .summary = "clamp(y + 3, 0, 6) / 6 of a batch normalisation y, which moves the running statistics in training.",
    .torch_baseline =
        "lambda x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5, "
        "inplace=False: F.hardsigmoid(F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, "
        "eps), inplace)",
    .c_items = "kg_dim(x, 1)",
    .c_body = KG_BATCH_NORM_BODY("x", "y != y ? y : fmin(fmax(y + 3.0, 0.0), 6.0) / 6.0"),
};
