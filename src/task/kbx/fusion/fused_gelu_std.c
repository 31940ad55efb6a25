// fused_gelu_std(input, dim=None, keepdim=False, correction=1, approximate='none', out=None) -> Tensor
//
// Standard deviation of GELU over dim (None: all). Bounds: GELU's errors carried to the spread by folds.h.
#include <string.h>

#include "task/activations.h"
#include "task/folds.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "correction", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, DIM, KEEPDIM, CORRECTION, APPROXIMATE };

static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.25, 2));
    return c;
}
static kg_case *rows(kg_cases *b, kg_dtype t, kg_fill fill, int64_t correction, const char *approximate) {
    kg_case *c = kg_over(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(17, 65))), KG_INTS(1));
    c->args[INPUT].fill = fill;
    kg_set_int(c, b->task, "correction", correction);
    kg_set_str(c, b->task, "approximate", approximate);
    return c;
}

static int cases(kg_cases *b) {
    const kg_fold_family f = {.add = add, .tuples = true, .empty = true, .out = true};
    kg_fold_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    const kg_fill ordinary = KG_NORMAL(0.25, 2);
    rows(b, KG_F32, ordinary, 0, "none");
    rows(b, KG_F32, ordinary, 5, "none");
    rows(b, KG_F32, ordinary, 65, "none");  // nothing left: infinity
    rows(b, KG_F32, ordinary, 1, "tanh");
    rows(b, KG_F64, ordinary, 1, "tanh");
    rows(b, KG_BF16, ordinary, 1, "tanh");
    // The two forms' spreads differ most about -2.
    rows(b, KG_F32, KG_UNIFORM(-2.5, -1.5), 1, "tanh");
    rows(b, KG_F32, KG_UNIFORM(-2.5, -1.5), 1, "none");
    rows(b, KG_F32, KG_NORMAL(1000, 1), 1, "none");  // the identity there: sum of squares minus n mean^2 fails
    rows(b, KG_F32, KG_OUTLIERS(0, 1), 1, "none");
    rows(b, KG_F32, (kg_fill){KG_FILL_CONST, NAN, 0}, 1, "none");
    kg_set_int(add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1))), b->task, "correction", 0);  // 0
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    return kg_fold_infer(t, c, &c->args[INPUT].tensor, c->args[INPUT].tensor.dtype);
}

typedef struct {
    bool tanh_form;
    kg_deviation spread;
} state;

static void chunk(const double *x, int64_t n, void *ctx) {
    state *s = ctx;
    double y[1024], local[1024];
    for (int64_t k = 0; k < n; k++) y[k] = kg_gelu_of(x[k], s->tanh_form, &local[k]);
    kg_deviation_add(&s->spread, n, y, local, NULL);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_groups g;
    const kg_view in = kg_fold_input(call, &g);
    const kg_dtype to = call->c->outs[0].dtype;
    const bool exact = to == KG_F64, tanh_form = strcmp(call->c->args[APPROXIMATE].s, "tanh") == 0;
    for (size_t k = 0; k < ref->n; k++) {
        state s = {tanh_form, {.y.exact = exact, .offset.exact = exact, .square.exact = exact}};
        kg_group_fold(&in, &g, ref->index[k], chunk, &s);
        kg_deviation_put(&s.spread, call->c->args[CORRECTION].i, ref, k, to);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_fold_work(t, c, w, 6, 1); }

const kg_task kg_task_kbx_fused_gelu_std = {
    .name = "fused_gelu_std",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_gelu_std(input, dim=None, keepdim=False, correction=1, approximate='none', out=None) -> Tensor",
    .summary = "Standard deviation over the dimensions dim (None: all) of each element's GELU.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_fold_reach,
    .torch_baseline =
        "lambda input, dim=None, keepdim=False, correction=1, approximate='none', out=None: "
        "torch.std(F.gelu(input, approximate=approximate), dim, correction=correction, keepdim=keepdim, out=out)",
    .c_body = KG_FOLD_WALK(
        "input",
        "double mean = 0, squares = 0;  // Welford's update\n"
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n",
        "    const double x = kg_get_at(input, at), z = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"
        "    const double y = 0.5 * x * (by_tanh ? 1.0 + tanh(z) : erfc(-x * 0.7071067811865476)), d = y - mean;\n"
        "    mean += d / (double)(k + 1);\n"
        "    squares += d * (y - mean);\n",
        "const int64_t freedom = count - correction;\n"
        "if (count == 1) squares *= 0;  // a fused multiply-add leaves the rounding of y in it\n"
        "kg_put(out, i, sqrt((count ? squares : NAN) / (double)(freedom > 0 ? freedom : 0)));\n"),
};
