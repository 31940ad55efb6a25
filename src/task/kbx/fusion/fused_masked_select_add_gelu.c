// fused_masked_select_add_gelu(input, mask, other, *, alpha=1, approximate='none', out=None) -> Tensor
//
// gelu(masked_select(input, mask) + alpha * other). What mask selects is a line in row-major order (masked_select.c
// says how its length is known); other is a Number, or a tensor of one element or of as many as the line. (PyTorch
// would broadcast the line itself as well: nothing in the signature asks for that.) Bounds: scaled.c.
#include <stdlib.h>
#include <string.h>

#include "task/activations.h"
#include "task/scaled.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "mask", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, MASK, OTHER, ALPHA, APPROXIMATE };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor mask, int64_t chosen, kg_tensor other) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1.5));
    kg_set_strided(c, b->task, "mask", mask, KG_CHOICE(kg_numel(&mask), chosen));
    kg_set_strided(c, b->task, "other", other, KG_NORMAL(0.5, 1));
    return c;
}
static kg_case *number(kg_cases *b, kg_case *c, double other) {
    kg_set_number(c, b->task, "other", other);
    return c;
}
static kg_case *with(kg_cases *b, kg_case *c, double alpha, const char *approximate) {
    kg_set_float(c, b->task, "alpha", alpha);
    if (approximate) kg_set_str(c, b->task, "approximate", approximate);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
#define BITS(...)  OF(KG_BOOL, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    const kg_tensor scalar = kg_tensor_contiguous(KG_F32, 0, NULL), flag = kg_tensor_contiguous(KG_BOOL, 0, NULL);
    number(b, add(b, F32(1000), BITS(1000), 517, scalar), 0.5);
    add(b, F32(1000), BITS(1000), 517, F32(517));
    add(b, F32(1000), BITS(1000), 517, F32(1));
    add(b, F32(1000), BITS(1000), 517, scalar);
    add(b, F32(1000), BITS(1000), 1, F32(1));
    number(b, add(b, F32(1000), BITS(1000), 0, scalar), 0.5);
    number(b, add(b, F32(1000), BITS(1000), 1000, scalar), 0.5);
    add(b, F32(1), BITS(1), 1, F32(1));
    add(b, F32(0), BITS(0), 0, F32(0));
    number(b, add(b, scalar, flag, 1, scalar), 0.5);
    add(b, F32(33, 65), BITS(33, 65), 1000, F32(1000));
    add(b, F32(33, 65), BITS(65), 31, F32(33 * 31));
    number(b, add(b, F32(33, 65), BITS(33, 1), 17, scalar), -0.75);
    add(b, F32(65), BITS(33, 65), 1000, F32(1000));
    add(b, F32(5, 7, 3, 11), BITS(5, 7, 3, 11), 600, F32(600));
    add(b, F32(1031, 2, 3), BITS(1031, 2, 3), 3000, F32(3000));
    add(b, F32(33, 1), BITS(33, 65), 1000, F32(1000));
    add(b, F32(1, 65), BITS(65), 31, F32(31));
    add(b, F32(33, 1), BITS(1, 65), 31, F32(33 * 31));
    add(b, F32(1, 33), BITS(65, 33), 1000, F32(1000));
    add(b, F32(65537), BITS(65537), 32000, F32(32000));
    add(b, F32(1000), BITS(1000), 517, F32(517))->args[INPUT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};  // NaN stays
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), BITS(33, 65), 1000, F32(1000));
    add(b, F32(33, 65), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 65), 0, 1), 1000, F32(1000));
    add(b, F32(1000), BITS(1000), 400, kg_tensor_stepped(KG_F32, KG_SHAPE(400), 3));
    with(b, add(b, F32(1000), BITS(1000), 517, F32(517)), -1.75, NULL);
    with(b, add(b, F32(1000), BITS(1000), 517, F32(517)), 0, NULL);
    with(b, number(b, add(b, F32(1000), BITS(1000), 517, scalar), 0.375), 3, "none");
    with(b, add(b, F32(1000), BITS(1000), 517, F32(517)), 1, "tanh");
    with(b, number(b, add(b, F32(1000), BITS(1000), 517, scalar), 0.25), -2, "tanh");
    with(b, add(b, F32(33, 65), BITS(65), 31, F32(33 * 31)), -1.75, "tanh");
    with(b, add(b, F32(65), BITS(33, 65), 1000, F32(1000)), 2, "tanh");
    with(b, add(b, F32(9, 33, 5), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 5), 0, 1), 70, F32(9 * 70)), 0.5, "tanh");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        number(b, add(b, OF(others[i], 29, 31), BITS(29, 31), 450, scalar), 0.5);
        with(b, add(b, OF(others[i], 29, 31), BITS(29, 31), 450, OF(others[i], 450)), 0.75, i % 2 ? "none" : "tanh");
    }
    add(b, F32(29, 31), BITS(29, 31), 450, OF(KG_F16, 450));  // promoted
    add(b, OF(KG_I64, 29, 31), BITS(29, 31), 450, F32(450))->args[INPUT].fill = KG_INTEGERS(-3, 3);
    add(b, F32(1000), BITS(1000), 517, F32(517))->args[INPUT].fill = KG_OUTLIERS(0, 1);
    kg_set_tensor(add(b, F32(1000), BITS(1000), 43, F32(43)), b->task, "out", KG_F32, KG_SHAPE(43), (kg_fill){0});
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1)
        number(b, add(b, F32(n), BITS(n), (n + 1) / 2, kg_tensor_contiguous(KG_F32, 0, NULL)), 0.5);
    add(b, F32(262147), BITS(262147), 170000, F32(170000));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), BITS(19, 129), 1200, F32(1200));
    add(b, F32(1000), BITS(1000), 517, F32(517))->args[INPUT].fill = KG_LOGSCALE(-20, 6);
    number(b, add(b, kg_tensor_expanded(KG_F16, KG_SHAPE(KG_PAST_32_BITS / 64 + 1, 64), 0), BITS(64), 1, OF(KG_F16, 1)),
           0.5)
        ->large = true;
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4096 : 16384; n <= (cuda ? 134217728 : 4194304); n *= cuda ? 2 : 4)
        number(b, add(b, F32(n), BITS(n), n / 2, kg_tensor_contiguous(KG_F32, 0, NULL)), 0.5);
    return 0;
}
#undef BITS
#undef F32
#undef OF

// ---- shapes and oracle ------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_arg line = {.kind = KG_P_TENSOR};
    const kg_arg *const both[] = {&line, &c->args[OTHER]};
    kg_tensor shape;
    int64_t chosen;
    if (kg_masked_shape(&c->args[INPUT].tensor, &c->args[MASK], &shape, &chosen)) return -1;
    line.tensor = kg_tensor_contiguous(c->args[INPUT].tensor.dtype, 1, &chosen);
    if (kg_expand(&c->args[OTHER].tensor, &line.tensor, &shape)) return -1;
    c->n_outs = 1;
    c->outs[0] = line.tensor;
    c->outs[0].dtype = kg_promote_args(both, 2);
    return kg_dtype_is_float(c->outs[0].dtype) ? 0 : -1;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), mask = kg_call_view(call, "mask");
    const kg_view given = kg_call_view(call, "other"), other = kg_view_expand(&given, &call->c->outs[0]);
    const bool tanh_form = strcmp(call->c->args[APPROXIMATE].s, "tanh") == 0;
    kg_tensor shape;
    if (kg_broadcast(&in.desc, &mask.desc, &shape)) return -1;
    const kg_view seen = kg_view_expand(&in, &shape);
    int64_t *place = malloc((ref->n + 1) * sizeof *place);
    if (!place) return -1;
    kg_masked_places(&mask, &shape, ref->n, ref->index, place);
    for (size_t k = 0; k < ref->n; k++) {
        const kg_point p = kg_scaled_gelu_point(kg_at(&seen, place[k]), kg_at(&other, ref->index[k]),
                                                call->c->args[ALPHA].f, tanh_form);
        ref->value[k] = p.value, ref->local[k] = p.local, ref->acc[k] = 0;
    }
    free(place);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_tensor shape;
    int64_t chosen = 0;
    kg_work_map(t, c, w, 4, 1);
    if (kg_masked_shape(&c->args[INPUT].tensor, &c->args[MASK], &shape, &chosen)) return;
    w->bytes_read = kg_masked_bytes(&c->args[INPUT].tensor, &c->args[MASK].tensor, (double)chosen);
    if (!c->args[OTHER].scalar) w->bytes_read += kg_own_bytes(&c->args[OTHER].tensor);
}

const kg_task kg_task_kbx_fused_masked_select_add_gelu = {
    .name = "fused_masked_select_add_gelu",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_masked_select_add_gelu(input, mask, other, *, alpha=1, approximate='none', out=None) -> Tensor",
    .summary = "GELU of the elements of input where mask is true, plus alpha times other.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_masked_reach,
    .torch_baseline =
        "lambda input, mask, other, *, alpha=1, approximate='none', out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "(F.gelu(torch.add(torch.masked_select(input, mask), other, alpha=alpha), approximate=approximate))",
    .c_items = "1",
    .c_body =
        KG_MASKED_WALK("(void)i;\n"
                       "const bool by_tanh = kg_same(approximate, \"tanh\");\n",
                       "const double x = kg_get_at(input, at) + alpha * kg_get_broadcast(other, out, found);\n"
                       "    const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"
                       "    const double twice_cdf = by_tanh ? 1.0 + tanh(inner) : erfc(-x * 0.7071067811865476);\n"
                       "    kg_put(out, found++, 0.5 * x * twice_cdf);\n"),
};
