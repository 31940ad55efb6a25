// fused_log_softmax_linear(input, weight, bias=None, dim=-1, dtype=None) -> Tensor
//
// log_softmax over dim of input @ weight.T + bias. dtype: the layer's result is cast to it before the softmax
// (PyTorch's log_softmax does so); a kernel may as well work in it from the start, so the layer's errors are charged at
// the input's precision.
//
// Bounds: src/task/linears.c, then kg_stage_log_softmax.
#include <stdlib.h>

#include "task/linears.h"

static const kg_param params[] = {
    KG_LINEAR_PARAMS,
    {.name = "dim", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = -1},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { DIM = KG_LINEAR_OWN, DTYPE };

static kg_case *over(kg_cases *b, kg_tensor input, int64_t out_features, int64_t dim) {
    kg_case *c = kg_linear_case(b, input, out_features, true);
    kg_set_int(c, b->task, "dim", dim);
    return c;
}
static kg_case *as(kg_cases *b, kg_dtype from, kg_dtype to) {
    kg_case *c = kg_linear_case(b, kg_tensor_contiguous(from, KG_SHAPE(17, 33)), 25, true);
    kg_set_dtype(c, b->task, "dtype", to);
    return c;
}

static int cases(kg_cases *b) {
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_linear_cases(b);
        over(b, F32(33, 17), 9, 0);
        over(b, F32(1031, 7), 5, 0);
        over(b, F32(33, 17), 9, 1);
        over(b, F32(4, 5, 7), 6, 1);
        over(b, F32(4, 5, 7), 6, -3);
        over(b, F32(3, 33), 260, 1)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(2000, 5);  // exp overflows
        over(b, F32(3, 33), 260, 1)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(-2000, 5);
        over(b, F32(3, 33), 26, 1)->args[KG_LINEAR_BIAS].fill = KG_NORMAL(-1e33, 1e31);  // where -1e30 is no -infinity
        over(b, F32(65, 5), 3, 1)->args[KG_LINEAR_INPUT].fill = KG_LARGE_LOGITS;
        over(b, F32(9, 2), 8193, 1)->args[KG_LINEAR_INPUT].fill = KG_LARGE_LOGITS;
        as(b, KG_F16, KG_F32);
        as(b, KG_BF16, KG_F32);
        as(b, KG_F32, KG_F64);
        as(b, KG_F32, KG_F16);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 16; n <= (cuda ? 16384 : 1024); n *= 2) kg_linear_case(b, F32(32, n), n, true);
    return 0;
#undef F32
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_linear_infer(t, c) || kg_wrap_dim(c->args[DIM].i, c->outs[0].ndim) < 0) return -1;
    if (!c->args[DTYPE].none) c->outs[0].dtype = (kg_dtype)kg_dtype_parse(c->args[DTYPE].s);
    return kg_dtype_is_float(c->outs[0].dtype) ? 0 : -1;
}

typedef struct {
    const kg_call *call;
    kg_rung from, to;
    int64_t inner;
    bool cast;
} rows;

static int layer(kg_ref *ref, void *ctx) { return kg_linear_ref(((const rows *)ctx)->call, ref); }

static int row(int64_t block, kg_stage *s, void *ctx) {
    const rows *r = ctx;
    if (kg_stage_from(s, kg_stage_index(block, s->n, r->inner, 0), r->inner, layer, ctx)) return -1;
    for (int64_t i = 0; i < s->n && r->cast; i++)
        s->at[i] = kg_term_stored(&r->to, kg_term_cast(&r->from, &r->to, s->at[i]));
    kg_stage_log_softmax(&r->to, s);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_dtype from = call->c->args[KG_LINEAR_INPUT].tensor.dtype;
    const int dim = kg_wrap_dim(call->c->args[DIM].i, out->ndim);
    rows r = {call, kg_rung_of(call->task, from), kg_rung_of(call->task, out->dtype), 1, from != out->dtype};
    for (int d = dim + 1; d < out->ndim; d++) r.inner *= out->shape[d];
    return kg_stage_each(ref, out->shape[dim], r.inner, row, &r);
}

static double reach(const kg_task *t, const kg_case *c) {
    const kg_tensor *out = &c->outs[0];
    return kg_linear_reach(t, c) * fmax(1, (double)out->shape[kg_wrap_dim(c->args[DIM].i, out->ndim)]);
}

static const char body[] =
    "// Item i is a line along dim; its largest value and sum of exponentials, and then the line itself.\n"
    "const int64_t features = kg_dim(weight, 0), n = kg_dim(out, dim), first = kg_line(out, dim, i);\n"
    "double largest = 0, sum = 0;\n"
    "for (int64_t e = 0; e < n; e++) {\n"
    "    const int64_t at = first + e * kg_stride(out, dim), column = at % features, row = kg_line(input, -1, at / features);\n"
    "    double z = bias ? kg_get(bias, column) : 0.0;\n"
    "    for (int64_t k = 0; k < kg_dim(weight, 1); k++)\n"
    "        z += kg_get_at(input, row + k * kg_stride(input, -1)) *\n"
    "             kg_get_at(weight, column * kg_stride(weight, 0) + k * kg_stride(weight, 1));\n"
    "    if (e == 0 || z > largest) {\n"
    "        sum = e == 0 ? 1 : sum * exp(largest - z) + 1;\n"
    "        largest = z;\n"
    "    } else {\n"
    "        sum += exp(z - largest);\n"
    "    }\n"
    "    kg_put_at(out, at, z);\n"
    "}\n"
    "for (int64_t e = 0; e < n; e++) {\n"
    "    const int64_t at = first + e * kg_stride(out, dim);\n"
    "    kg_put_at(out, at, kg_get_at(out, at) - largest - log(sum));\n"
    "}\n";

const kg_task kg_task_kbx_fused_log_softmax_linear = {
    .name = "fused_log_softmax_linear",
    KG_LINEAR_OPERATION,
    .infer = infer,
    .reach = reach,
    .signature = "fused_log_softmax_linear(input, weight, bias=None, dim=-1, dtype=None) -> Tensor",
    .summary = "Logarithm of the softmax along dim of a linear layer.",
    .cases = cases,
    .oracle = oracle,
    .torch_baseline =
        "lambda input, weight, bias=None, dim=-1, dtype=None: F.log_softmax(F.linear(input, weight, bias), dim, "
        "dtype=dtype)",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, dim) : 0",
    .c_body = body,
};
