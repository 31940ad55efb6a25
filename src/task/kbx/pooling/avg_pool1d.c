// avg_pool1d(input, kernel_size, stride=None, padding=0) -> Tensor
//
// input (N, C, L) or (C, L), floating. stride None: kernel_size. The padding, at most half a window at each end, is
// zeros that count: every average divides by kernel_size. Windows that would reach past the padding are left out.
// PyTorch takes a tuple of one for each of the three as well; here they are ints.
#include "task/activations.h"
#include "task/pool1d.h"

static const kg_param params[] = {KG_POOL1D_PARAMS, {.name = NULL}};

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_DTYPES};
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_pool1d_cases(b, dtypes);
        return 0;
    }
    for (int64_t n = 1024; n <= 32768; n *= b->level == KG_TIMED_CUDA ? 2 : 4) {
        kg_case *c = kg_pool1d_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(2, 64, n)), 3);
        kg_set_int(c, b->task, "stride", 2);
        kg_set_int(c, b->task, "padding", 1);
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pool1d_oracle(call, ref, NULL); }
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_pool1d_work(t, c, w, 0, 0); }

const kg_task kg_task_kbx_avg_pool1d = {
    .name = "avg_pool1d",
    .suite = "kbx",
    .category = "Pooling",
    .signature = "avg_pool1d(input, kernel_size, stride=None, padding=0) -> Tensor",
    .summary = "Averages over windows of kernel_size elements along the last dimension; zeros outside count.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_pool1d_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_pool1d_reach,
    .torch_baseline = "F.avg_pool1d",
    .c_body = KG_POOL1D_BODY("x", "true"),
};
