// add(input, other, *, alpha=1, out=None) -> Tensor
//
// Condition |input| + |alpha other|. Integer cases leave alpha out: PyTorch wants an integer there, and C has double.
#include "oracle/oracle.h"
#include "task/scaled.h"
#include "task/shared.h"

const kg_param kg_add_params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
static const char *const operands[] = {"input", "other", NULL};

static void with_alpha(kg_cases *b, kg_dtype t, double alpha) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(33, 65), KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "other", t, KG_SHAPE(65), KG_NORMAL(0.5, 1));
    kg_set_float(c, b->task, "alpha", alpha);
}

int kg_add_cases(kg_cases *b) {
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
    const kg_nary_family f = {
        .params = operands, .dtypes = dtypes, .fill = KG_NORMAL(0.5, 1), .number = 2.5, .mixed = true};
    kg_nary_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    with_alpha(b, KG_F32, -1.75);
    with_alpha(b, KG_F32, 0);
    with_alpha(b, KG_F16, 0.5);
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", KG_F32, KG_SHAPE(515), KG_NORMAL(0.5, 1));
    kg_set_number(c, b->task, "other", 0.375);
    kg_set_float(c, b->task, "alpha", 3);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    const double scaled = *(const double *)ctx * x[1];
    return kg_point_make(x[0] + scaled, fabs(x[0]) + fabs(scaled));
}

int kg_add_oracle(const kg_call *call, kg_ref *ref) {
    if (kg_map(call, ref, 2, operands, at, &kg_call_arg(call, "alpha")->f)) return -1;
    kg_ref_half(call, ref, 1 / KG_LAMBDA);  // alpha * other may be rounded
    return 0;
}

void kg_add_work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, kg_case_arg(c, t, "alpha")->f == 1 ? 1 : 2, 0);
}

int kg_add_infer(const kg_task *t, kg_case *c) { return kg_scaled_infer(t, c); }

const char kg_add_body[] =
    "kg_put(out, i, kg_get_broadcast(input, out, i) + alpha * kg_get_broadcast(other, out, i));\n";

const kg_task kg_task_kbx_add = {
    .name = "add",
    .suite = "kbx",
    .category = "Math",
    .signature = "add(input, other, *, alpha=1, out=None) -> Tensor",
    .summary = "input + alpha * other, broadcast; other is a tensor or a Number.",
    KG_OPERATION(add),
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = kg_add_cases,
    .torch_baseline = "torch.add",
    .cpu_baseline = "onednn",
};
