// fused_gelu_min(input, approximate='none', dim=None, keepdim=False, out=None) -> Tensor or (Tensor, LongTensor)
//
// Smallest GELU over everything, or along dim with its index: the first of equal ones, NaN before all. Without dim
// there is no second output, and a C kernel's `indices` holds nothing. (The published reference has x erf(x / sqrt 2) /
// 2 for GELU; the definition beside it, x Phi(x), is what counts.)
//
// Bounds. Element k's GELU lies within e_k of y_k, so the least one computed lies between min (y_k - e_k) and
// min (y_k + e_k). Any k with y_k - e_k below the latter may be the one found: GELU is flat about its minimum at -0.75
// and in the left tail. Where there are several, an index between the first and the last of them is accepted. Equal
// inputs give equal values, so among those the first alone is right.
#include <string.h>

#include "task/folds.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "approximate", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "none"},
    {.name = "dim", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, APPROXIMATE, DIM, KEEPDIM };
static const char *const outputs[] = {"values", "indices", NULL};

// Mean 1: the flat parts hold a fraction of the elements only.
static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(1, 2));
    return c;
}
static kg_case *rows(kg_cases *b, kg_dtype t, kg_fill fill, const char *approximate) {
    kg_case *c = kg_over(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(65, 33))), KG_INTS(1));
    c->args[INPUT].fill = fill;
    kg_set_str(c, b->task, "approximate", approximate);
    return c;
}

static int cases(kg_cases *b) {
    const kg_fold_family f = {.add = add};
    kg_fold_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    rows(b, KG_F32, KG_NORMAL(1, 2), "tanh");
    rows(b, KG_F64, KG_NORMAL(1, 2), "tanh");
    rows(b, KG_F16, KG_NORMAL(1, 2), "tanh");
    rows(b, KG_F32, KG_UNIFORM(-2.5, -1.75), "tanh");  // the forms differ most there
    rows(b, KG_F32, KG_UNIFORM(-2.5, -1.75), "none");
    rows(b, KG_F32, KG_UNIFORM(0.5, 9), "none");             // all positive
    rows(b, KG_F32, (kg_fill){KG_FILL_TIES, 0, 0}, "none");  // 0 many times: the first
    rows(b, KG_F32, (kg_fill){KG_FILL_CONST, NAN, 0}, "none");
    rows(b, KG_F32, KG_OUTLIERS(5, 1), "none");
    kg_set_str(add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1025))), b->task, "approximate", "tanh");
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (kg_fold_infer(t, c, in, in->dtype)) return -1;
    if (kg_numel(in) == 0 && kg_numel(&c->outs[0]) > 0) return -1;  // PyTorch refuses too
    if (c->args[DIM].none) return c->args[KEEPDIM].i ? -1 : 0;      // torch.min has no keepdim there
    c->outs[1] = c->outs[0];
    c->outs[1].dtype = KG_I64;
    c->n_outs = 2;
    return 0;
}

typedef struct {
    bool tanh_form, nan;
    double stored, u;  // an element's error: stored * |y| + u * local
    double best, best_x, low, high;
    int64_t at, seen, first, last;
} search;

static double error_of(const search *s, double x, double *y) {
    double local;
    *y = kg_gelu_of(x, s->tanh_form, &local);
    return s->stored * fabs(*y) + s->u * local;
}

static void least(const double *x, int64_t n, void *ctx) {
    search *s = ctx;
    for (int64_t k = 0; k < n && !s->nan; k++) {
        double y;
        const double e = error_of(s, x[k], &y);
        s->nan = isnan(y);
        if (s->nan || y < s->best) s->best = y, s->best_x = x[k], s->at = s->seen + k;
        s->low = fmin(s->low, y - e);
        s->high = fmin(s->high, y + e);
    }
    s->seen += n;
}

static void rivals(const double *x, int64_t n, void *ctx) {
    search *s = ctx;
    for (int64_t k = 0; k < n; k++) {
        double y;
        const double e = error_of(s, x[k], &y);
        if (x[k] == s->best_x || !(y - e <= s->high)) continue;
        s->first = s->seen + k < s->first ? s->seen + k : s->first;
        s->last = s->seen + k > s->last ? s->seen + k : s->last;
    }
    s->seen += n;
}

static void put(const search *s, kg_ref *ref, size_t k) {
    const bool value = ref->out == 0;
    ref->value[k] = value ? s->best : 0.5 * (double)(s->first + s->last);
    ref->local[k] = value ? 0 : 0.5 * (double)(s->last - s->first);
    ref->acc[k] = 0;
    // The whole error is charged at the output's own roundoff.
    if (value && isfinite(s->best)) ref->local[k] = fmax(s->best - s->low, s->high - s->best) / fmax(s->u, s->stored);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_groups g;
    const kg_view in = kg_fold_input(call, &g);
    const bool tanh_form = strcmp(call->c->args[APPROXIMATE].s, "tanh") == 0;
    const double stored = kg_dtype_unit(in.desc.dtype), u = fmin(stored, 0x1p-24);
    for (size_t k = 0; k < ref->n; k++) {
        search s = {
            .tanh_form = tanh_form, .stored = stored, .u = u, .best = INFINITY, .low = INFINITY, .high = INFINITY};
        (ref->out == 0 ? kg_group_fold : kg_group_each)(&in, &g, ref->index[k], least, &s);
        s.first = s.last = s.at;
        s.seen = 0;
        if (ref->out == 1 && !s.nan) kg_group_each(&in, &g, ref->index[k], rivals, &s);
        put(&s, ref, k);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_fold_work(t, c, w, 3, 1); }

const kg_task kg_task_kbx_fused_gelu_min = {
    .name = "fused_gelu_min",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_gelu_min(input, approximate='none', dim=None, keepdim=False, out=None) -> Tensor or (Tensor, "
        "LongTensor)",
    .summary = "The smallest of all elements' GELUs; or with dim, the smallest along it and its index.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_fold_reach,
    .torch_baseline =
        "lambda input, approximate='none', dim=None, keepdim=False, out=None: "
        "(lambda y: torch.min(y) if dim is None else tuple(torch.min(y, dim, keepdim)))"
        "(F.gelu(input, approximate=approximate))",
    .c_items = "kg_elements(values)",
    .c_body =
        "const int64_t n = dim ? kg_dim(input, *dim) : kg_elements(input);\n"
        "const int64_t from = dim ? kg_line(input, *dim, i) : 0, step = dim ? kg_stride(input, *dim) : 0;\n"
        "const bool by_tanh = kg_same(approximate, \"tanh\");\n"
        "double least = INFINITY;\n"
        "int64_t at = 0;\n"
        "for (int64_t k = 0; k < n && least == least; k++) {\n"
        "    const double x = dim ? kg_get_at(input, from + k * step) : kg_get(input, k);\n"
        "    const double z = 0.7978845608028654 * (x + 0.044715 * x * x * x);\n"
        "    const double y = 0.5 * x * (by_tanh ? 1.0 + tanh(z) : erfc(-x * 0.7071067811865476));\n"
        "    if (y != y || y < least) {\n"
        "        least = y;\n"
        "        at = k;\n"
        "    }\n"
        "}\n"
        "kg_put(values, i, least);\n"
        "if (dim) kg_put(indices, i, (double)at);\n",
};
