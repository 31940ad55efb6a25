// bessel_j1(input, *, out=None) -> Tensor
//
// PyTorch has it for float32 and float64 (2.11), and gives NaN at the infinities, where the limit is 0: no case has
// them. Its float64 is wrong by up to 1e-6 of the value between 2 and 30 (at 5.1: -0.33709752 for -0.33709719).
// Condition: kernels take a cosine of x - 3 pi / 4, so a change of x moves the phase (oracle/special.c).
#include "oracle/special.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F64, KG_I32, KG_I64, KG_U8, KG_BOOL, KG_DTYPES};
    kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(1, 5), .wide = KG_LOGSCALE(-12, 8), .no_specials = true};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    kg_constant_case(b, "input", KG_F32, NAN);
    kg_constant_case(b, "input", KG_F64, NAN);
    kg_constant_case(b, "input", KG_F32, -0.0);
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F64, KG_SHAPE(1031), KG_UNIFORM(-40, 40));
    return 0;
}

static kg_point at(const double *x, const void *ctx) { return kg_j1_point(*x, *(const kg_dtype *)ctx); }

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &call->c->outs[ref->out].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 20, 2); }

const kg_task kg_task_kbx_bessel_j1 = {
    .name = "bessel_j1",
    .suite = "kbx",
    .category = "Math",
    .signature = "bessel_j1(input, *, out=None) -> Tensor",
    .summary = "Bessel function of the first kind of order 1.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.special.bessel_j1",
    .c_body = "kg_put(out, i, j1(kg_get(input, i)));\n",
};
