// gelu_int8(input: Tensor, approximate: str='none') -> Tensor
//
// int8 in and out: input is taken for float32, and GELU of it cut off towards zero (PyTorch's .to(torch.int8)).
//
// Exact, but for x = 5 to 8: there x - gelu(x) is between 5e-15 and 1.5e-6, so float32 may round to x where GELU lies
// below it, and x - 1 and x are both right. (From 9 on float64 rounds to x too, and up to 4 nothing is near an
// integer.) The two forms give the same integers everywhere: `approximate` can be ignored here.
#include <string.h>

#include "task/activations.h"

enum { DOUBTFUL_FROM = 5, DOUBTFUL_TO = 8 };

static kg_case *add(kg_cases *b, kg_tensor desc) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", desc, KG_INTEGERS(-128, 127));
    return c;
}
static kg_case *near_zero(kg_case *c) {
    c->args[0].fill = KG_INTEGERS(-9, 12);
    return c;
}

#define I8(...) kg_tensor_contiguous(KG_I8, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    add(b, I8(17));
    add(b, I8(0));
    add(b, I8(1));
    near_zero(add(b, I8(1025)));
    add(b, I8(65537));
    add(b, kg_tensor_contiguous(KG_I8, 0, NULL));
    add(b, I8(2, 3, 5, 7));
    add(b, kg_tensor_transposed(KG_I8, KG_SHAPE(33, 65), 0, 1));
    near_zero(add(b, kg_tensor_stepped(KG_I8, KG_SHAPE(257), 3)));
    kg_set_str(near_zero(add(b, I8(4099))), b->task, "approximate", "tanh");
    kg_set_str(add(b, I8(1023)), b->task, "approximate", "none");
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, kg_tensor_contiguous(KG_I8, 1, &lengths[i]));
    add(b, I8(4, 0, 3));
    add(b, kg_tensor_expanded(KG_I8, KG_SHAPE(19, 129), 0));
    kg_set_str(add(b, I8(0)), b->task, "approximate", "tanh");
    kg_set_str(add(b, I8(65537)), b->task, "approximate", "tanh");
    kg_set_str(near_zero(add(b, kg_tensor_transposed(KG_I8, KG_SHAPE(5, 64, 31), 0, 2))), b->task, "approximate",
               "tanh");
}
#undef I8

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, KG_INTEGERS(-128, 127));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_I8, 2, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) { return c->args[0].tensor.dtype == KG_I8 ? kg_infer_same(t, c) : -1; }

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const bool tanh_form = strcmp(kg_call_arg(call, "approximate")->s, "tanh") == 0;
    for (size_t k = 0; k < ref->n; k++) {
        const double x = kg_at(&in, ref->index[k]);
        const bool doubtful = x >= DOUBTFUL_FROM && x <= DOUBTFUL_TO;
        // In float64 9 and more come out as themselves; half way between the two answers where there are two.
        ref->value[k] = doubtful ? x - 0.5 : trunc(kg_gelu_point(x, tanh_form).value);
        ref->local[k] = doubtful ? 0.5 : 0;
        ref->acc[k] = 0;
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 1);
    w->ops[KG_U_FP32] += 2 * (double)kg_numel(&c->outs[0]);
}

const kg_task kg_task_kbx_gelu_int8 = {
    .name = "gelu_int8",
    .suite = "kbx",
    .category = "Activation",
    .signature = "gelu_int8(input: Tensor, approximate: str='none') -> Tensor",
    .summary = "GELU of int8 numbers taken as they are (no scale), cut off towards zero to int8.",
    .params = kg_params_gelu,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_EXACT,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input, approximate='none': F.gelu(input.float(), approximate=approximate).to(torch.int8)",
    .c_body =
        "const double x = kg_get(input, i);\n"
        "const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n"
        "const double twice_cdf = by_tanh ? 1.0 + tanh(inner) : erfc(-x * 0.7071067811865476);\n"
        "kg_put(out, i, 0.5 * x * twice_cdf);\n",
};
