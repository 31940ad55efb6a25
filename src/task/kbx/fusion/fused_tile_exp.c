// fused_tile_exp(input, dims, *, out=None) -> Tensor
//
// exp of torch.tile(input, dims): the shorter of input's shape and dims is filled up with ones in front. Condition |x|.
#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dims", .kind = KG_P_INTS},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIMS };

static kg_case *add(kg_cases *b, kg_tensor input, int n, const int64_t *dims) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_dtype_is_float(input.dtype) ? KG_NORMAL(0.5, 1) : KG_INTEGERS(-5, 5));
    kg_set_ints(c, b->task, "dims", n, dims);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64};
    add(b, F32(3), KG_INTS(2));
    add(b, F32(1), KG_INTS(1));
    add(b, F32(1), KG_INTS(1025));
    add(b, F32(1023), KG_INTS(3));
    add(b, F32(17), KG_INTS(1));
    add(b, F32(0), KG_INTS(3));
    add(b, F32(5), KG_INTS(0));
    add(b, F32(33, 65), KG_INTS(2, 3));
    add(b, F32(33, 65), KG_INTS(3, 1));
    add(b, F32(33, 65), KG_INTS(1, 3));
    add(b, F32(33, 65), KG_INTS(2));  // the last dimension
    add(b, F32(7), KG_INTS(3, 2));    // a new dimension in front
    add(b, F32(5, 7), KG_INTS(2, 1, 3));
    add(b, F32(5, 7, 3), KG_INTS(2, 3));
    add(b, F32(2, 3, 5, 7), KG_INTS(1, 2, 1, 2));
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), KG_INTS(4));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), KG_INTS(2, 2));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), KG_INTS(2));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 31)), KG_INTS(2, 3));
    add(b, F32(515), KG_INTS(2))->args[INPUT].fill = KG_SPECIALS(0, 2);
    add(b, F32(515), KG_INTS(2))->args[INPUT].fill = KG_LOGSCALE(-12, 7);
    kg_set_tensor(add(b, F32(3, 43), KG_INTS(2, 1)), b->task, "out", KG_F32, KG_SHAPE(6, 43), (kg_fill){0});
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1) add(b, F32(n), KG_INTS(3));
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), KG_INTS(2, 3));
    add(b, F32(2, 3, 4, 5, 6), KG_INTS(2, 1, 3, 1, 2));
    add(b, F32(1, 5, 1), KG_INTS(3, 1, 7));
    add(b, F32(5, 7), KG_INTS(2, 0));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), KG_INTS(2, 1));
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(515)), KG_INTS(3))->args[INPUT].fill = KG_SPECIALS(0, 2);
}
#undef F32

// The public benchmark's sizes are the input's: doubled here.
static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, KG_NORMAL(0.5, 1));
    kg_set_ints(c, t, "dims", KG_INTS(2));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 3, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    c->n_outs = 1;
    return kg_tiled_shape(in, &c->args[DIMS], kg_float_of(in->dtype), &c->outs[0]);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    for (size_t k = 0; k < ref->n; k++) {
        const kg_point p = kg_exp_point(kg_tiled(&in, &call->c->outs[0], ref->index[k]));
        ref->value[k] = p.value;
        ref->local[k] = p.local;
        ref->acc[k] = 0;
    }
    return 0;
}

// Each input element's exponential is needed once.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    const double n = fmin((double)kg_numel(&c->args[INPUT].tensor), (double)kg_numel(&c->outs[0]));
    w->ops[kg_plain_unit(c->outs[0].dtype)] = n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_fused_tile_exp = {
    .name = "fused_tile_exp",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_tile_exp(input, dims, *, out=None) -> Tensor",
    .summary = "Exponentials of input repeated dims[d] times along each dimension.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input, dims, *, out=None: torch.exp(torch.tile(input, dims), out=out)",
    .c_body =
        "// dims counts from the last dimension, and out's shape has it in already.\n"
        "(void)dims;\n"
        "int64_t at = 0, rest = i;\n"
        "for (int d = out->ndim - 1, k = input->ndim - 1; d >= 0; d--, k--) {\n"
        "    if (k >= 0) at += rest % out->shape[d] % input->shape[k] * kg_stride(input, k);\n"
        "    rest /= out->shape[d];\n"
        "}\n"
        "kg_put(out, i, exp(kg_get_at(input, at)));\n",
};
