// exp_sqrt(input, out=None) -> Tensor
//
// sqrt(exp(x)) as written overflows at half of exp(x / 2)'s range and loses digits where exp(x) is denormal. Both forms
// are right answers to this definition, so where exp(x) overflows the dtype an infinity passes as well as exp(x / 2),
// and where it is denormal the error of its last bit is charged.
#include "oracle/oracle.h"
#include "task/activations.h"

static int cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_DTYPES};
    const kg_unary_family f = {.dtypes = dtypes, .fill = KG_NORMAL(0.5, 2), .wide = KG_LOGSCALE(-12, 7)};
    kg_unary_cases(b, &f);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    const kg_dtype t = *(const kg_dtype *)ctx;
    if (!isfinite(*x)) return kg_point_exact(*x > 0 ? *x : isnan(*x) ? NAN : 0);
    const double v = exp(0.5 * *x), e = v * v, u = kg_dtype_unit(t);
    kg_point p = kg_point_make(v, *x * v);
    if (e >= kg_dtype_max(t) * (1 - u)) p.local = INFINITY;
    else p.local += fmin(v, kg_dtype_tiny(t) / v) / u;
    return p;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, &call->c->outs[ref->out].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 2); }

const kg_task kg_task_kbx_exp_sqrt = {
    .name = "exp_sqrt",
    .suite = "kbx",
    .category = "Math",
    .signature = "exp_sqrt(input, out=None) -> Tensor",
    .summary = "Square root of the exponential of each element.",
    .params = kg_params_input_out,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_float,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input, out=None: torch.sqrt(torch.exp(input), out=out)",
    .cpu_baseline = "onednn",
    .c_body = "kg_put(out, i, exp(0.5 * kg_get(input, i)));\n",
    .triton_expr = "tl.sqrt(tl.exp(x))",
};
