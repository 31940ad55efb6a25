// fused_sigmoid_batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1,
//     eps=1e-05) -> Tensor
//
// The sigmoid of batch_norm, over (N, C) or (N, C, ...). As src/task/batch_norms.h says. Bounds: src/oracle/norm.h,
// then sigmoid's.
#include "task/batch_norms.h"

static const kg_param params[] = {KG_BATCH_NORM_PARAMS("input"), {.name = NULL}};

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_batch_norm_cases(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 128; n <= (cuda ? 4194304 : 65536); n *= cuda ? 2 : 4)
        kg_batch_norm_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(32, n)), false, true);
    return 0;
}

static kg_point at(double x, const void *ctx) {
    (void)ctx;
    return kg_sigmoid_point(x);
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_batch_norm_ref(call, ref, at); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_batch_norm_work(t, c, w, 2, 1); }

const kg_task kg_task_kbx_fused_sigmoid_batch_norm = {
    .name = "fused_sigmoid_batch_norm",
    KG_BATCH_NORM_TASK,
    .category = "Fusion",
    .signature =
        "fused_sigmoid_batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, "
        "momentum=0.1, eps=1e-05) -> Tensor",
    .summary = "Sigmoid of a batch normalisation, which moves the running statistics in training.",
    .torch_baseline =
        "lambda input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5: "
        "torch.sigmoid(F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps))",
    .c_items = "kg_dim(input, 1)",
    .c_body = KG_BATCH_NORM_BODY("input", "1.0 / (1.0 + exp(-y))"),
};
