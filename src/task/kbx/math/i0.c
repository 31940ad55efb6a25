// i0(input, *, out=None) -> Tensor
//
// Condition |x I1(x)|: exp(|x|) is in every formula but the power series. Where exp(|x|) overflows and I0(x) does not,
// an infinity passes too. PyTorch (2.11) gives NaN at the infinities, where the limit is inf: no case has them.
#include "oracle/special.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_U8, KG_BOOL, KG_DTYPES};
    kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(1, 3), .wide = KG_LOGSCALE(-12, 7), .no_specials = true};
    kg_unary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    for (size_t i = 0; i < 4; i++) kg_constant_case(b, "input", dtypes[i], NAN);
    kg_constant_case(b, "input", KG_F32, 0);
    kg_constant_case(b, "input", KG_F32, -0x1p127);
    // Past 8 Cephes' form changes.
    kg_set_tensor(kg_case_add(b), b->task, "input", KG_F64, KG_SHAPE(1023), KG_UNIFORM(-60, 60));
    return 0;
}

static kg_point at(const double *x, const void *ctx) { return kg_i0_point(*x, *(const kg_dtype *)ctx); }

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &call->c->outs[ref->out].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 20, 1); }

const kg_task kg_task_kbx_i0 = {
    .name = "i0",
    .suite = "kbx",
    .category = "Math",
    .signature = "i0(input, *, out=None) -> Tensor",
    .summary = "Modified Bessel function of the first kind of order 0.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.i0",
    .c_body =
        "// The power series: every term is positive.\n"
        "const double x = kg_get(input, i), y = 0.25 * x * x;\n"
        "double term = 1, sum = 1;\n"
        "for (int k = 1; term > 1e-18 * sum; k++) {\n"
        "    term *= y / ((double)k * k);\n"
        "    sum += term;\n"
        "}\n"
        "kg_put(out, i, y == y ? sum : y);\n",
};
