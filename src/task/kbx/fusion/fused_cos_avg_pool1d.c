// fused_cos_avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True) -> Tensor
//
// avg_pool1d(cos(input)): input (minibatch, channels, iW) or without the first; integers are taken as float32. stride
// None: kernel_size. The padding lies around the cosines, so it is 0, not cos(0). ceil_mode may add a window, and
// count_include_pad=False divides by the elements inside the input: pool1d.c.
//
// Condition of a term: x sin x; in half precision it may be stored before it is added.
#include "task/activations.h"
#include "task/pool1d.h"

static const kg_param params[] = {KG_POOL1D_PARAMS,
                                  {.name = "ceil_mode", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = "count_include_pad",
                                   .kind = KG_P_BOOL,
                                   .optional = true,
                                   .keyword = true,
                                   .has_default = true,
                                   .number = 1},
                                  {.name = NULL}};

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_pool1d_cases(b, dtypes);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 1536; n <= 2944; n += cuda ? 128 : 704)
        kg_pool1d_case(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(32, 32, n)), 3);
    return 0;
}

static void cosines(const double *x, int64_t n, double *term, double *local) {
    for (int64_t k = 0; k < n; k++) {
        term[k] = cos(x[k]);
        local[k] = isfinite(x[k]) ? KG_LAMBDA * (fabs(x[k] * sin(x[k])) + fabs(term[k])) : 0;
    }
}

static int oracle(const kg_call *call, kg_ref *ref) { return kg_pool1d_oracle(call, ref, cosines); }
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_pool1d_work(t, c, w, 2, 1); }

const kg_task kg_task_kbx_fused_cos_avg_pool1d = {
    .name = "fused_cos_avg_pool1d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_cos_avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, "
        "count_include_pad=True) -> Tensor",
    .summary = "Averages of the cosines of input over windows of kernel_size elements along the last dimension.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_pool1d_infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_pool1d_reach,
    .torch_baseline = "lambda input, kernel_size, **options: F.avg_pool1d(torch.cos(input), kernel_size, **options)",
    .c_body = "(void)ceil_mode;  // out's shape says how many windows there are\n" KG_POOL1D_BODY("cos(x)",
                                                                                                  "count_include_pad"),
};
