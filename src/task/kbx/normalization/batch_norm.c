// batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05) ->
// Tensor
//
// As src/task/batch_norms.h says. Bounds: src/oracle/norm.h.
#include "task/batch_norms.h"

static const kg_param params[] = {KG_BATCH_NORM_PARAMS("input"), {.name = NULL}};

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_batch_norm_cases(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t h = cuda ? 640 : 2; h <= (cuda ? 1536 : 128); h = cuda ? h + 128 : h * 4)
        kg_batch_norm_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(32, 32, h, cuda ? 128 : 64)), false, true);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_batch_norm_ref(call, ref, NULL); }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_batch_norm_work(t, c, w, 0, 0); }

const kg_task kg_task_kbx_batch_norm = {
    .name = "batch_norm",
    KG_BATCH_NORM_TASK,
    .category = "Normalization",
    .signature =
        "batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
        "eps=1e-05) -> Tensor",
    .summary =
        "Each channel shifted and scaled by its mean and variance: the batch's in training, which also moves the "
        "running ones, else the running ones.",
    .torch_baseline = "F.batch_norm",
    .cpu_baseline = "onednn",
    .c_items = "kg_dim(input, 1)",
    .c_body = KG_BATCH_NORM_BODY("input", "y"),
};
