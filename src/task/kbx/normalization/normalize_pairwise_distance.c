// normalize_pairwise_distance(x1, x2, p_distance=2.0, eps_distance=1e-6, keepdim=False, p_norm=2, dim_norm=1,
//     eps_norm=1e-12) -> Tensor
//
// As F.normalize(F.pairwise_distance(x1, x2, p_distance, eps_distance, keepdim), p_norm, dim_norm, eps_norm): the
// p-norm of x1 - x2 + eps over the last dimension (eps is added to every difference, not to the distance), and those
// distances over max(their p-norm along dim_norm, eps_norm). x1 and x2 have one shape.
//
// Bounds: src/task/p_norms.c. The difference rounds, and so does adding eps to it.
#include <stdlib.h>

#include "task/families.h"
#include "task/p_norms.h"

static const kg_param params[] = {
    {.name = "x1", .kind = KG_P_TENSOR},
    {.name = "x2", .kind = KG_P_TENSOR},
    {.name = "p_distance", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 2},
    {.name = "eps_distance",
     .kind = KG_P_FLOAT,
     .optional = true,
     .keyword = true,
     .has_default = true,
     .number = 1e-6},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "p_norm", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 2},
    {.name = "dim_norm", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "eps_norm", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-12},
    {.name = NULL}};
enum { X1, X2, P_DISTANCE, EPS_DISTANCE, KEEPDIM, P_NORM, DIM_NORM, EPS_NORM };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor x1, kg_tensor x2) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "x1", x1, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "x2", x2, KG_NORMAL(0, 1));
    return c;
}
static kg_case *alike(kg_cases *b, kg_tensor x) { return add(b, x, x); }
static kg_case *with(kg_cases *b, kg_case *c, const char *name, double v) {
    kg_set_float(c, b->task, name, v);
    return c;
}
static kg_case *along(kg_cases *b, kg_case *c, int64_t dim, bool keepdim) {
    kg_set_int(c, b->task, "dim_norm", dim);
    if (keepdim) kg_set_bool(c, b->task, "keepdim", true);
    return c;
}
static kg_case *filled(kg_case *c, double x1, double x2) {
    c->args[X1].fill = (kg_fill){KG_FILL_CONST, x1, 0};
    c->args[X2].fill = (kg_fill){KG_FILL_CONST, x2, 0};
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    alike(b, F32(5, 7, 3));
    alike(b, F32(1, 1, 1));
    alike(b, F32(3, 33, 65));
    alike(b, F32(0, 3, 4));
    alike(b, F32(2, 129, 5));
    alike(b, F32(400, 3, 2));
    alike(b, F32(2, 3, 4099));
    alike(b, F32(2, 4099, 2));
    along(b, alike(b, F32(5, 7, 3)), 0, false);
    along(b, alike(b, F32(5, 7, 3)), -2, false);
    along(b, alike(b, F32(9, 33)), 0, false);
    along(b, alike(b, F32(9, 33)), 1, true);  // one distance each: 1
    along(b, alike(b, F32(5, 7, 3)), 1, true);
    along(b, alike(b, F32(5, 7, 3)), -1, true);
    along(b, alike(b, F32(2, 3, 4, 5)), 2, false);
    with(b, alike(b, F32(4, 9, 33)), "p_distance", 1);
    with(b, alike(b, F32(4, 9, 33)), "p_distance", 3);
    with(b, alike(b, F32(4, 9, 33)), "p_distance", 0.5);
    with(b, alike(b, F32(4, 9, 33)), "p_distance", INFINITY);
    with(b, alike(b, F32(4, 9, 33)), "p_norm", 1);
    with(b, alike(b, F32(4, 9, 33)), "p_norm", 3.5);
    with(b, alike(b, F32(4, 9, 33)), "p_norm", INFINITY);
    with(b, along(b, alike(b, F32(9, 33)), 0, false), "p_norm", 1);
    with(b, along(b, alike(b, F32(9, 33)), 0, true), "p_norm", 3.5);
    with(b, along(b, with(b, alike(b, F32(4, 9, 33)), "p_norm", 1), 0, true), "p_distance", 1.5);
    with(b, alike(b, F32(4, 9, 33)), "eps_distance", 0.5);
    with(b, with(b, alike(b, F32(4, 9, 33)), "eps_distance", 0.25), "p_distance", 1);
    with(b, with(b, alike(b, F32(4, 9, 33)), "eps_distance", 0), "p_norm", 1);
    with(b, alike(b, F32(4, 9, 33)), "eps_norm", 100);
    with(b, along(b, alike(b, F32(9, 33)), 0, false), "eps_norm", 100);
    with(b, with(b, alike(b, F32(4, 9, 33)), "eps_norm", 100), "p_norm", 1);
    with(b, with(b, alike(b, F32(4, 9, 33)), "eps_norm", 100), "p_norm", INFINITY);
    filled(alike(b, F32(3, 5, 7)), 0, 0);  // eps alone
    filled(with(b, alike(b, F32(3, 5, 7)), "eps_distance", 0), 0.5, 0.5);
    filled(alike(b, F32(3, 5, 7)), NAN, 1);
    filled(alike(b, F32(3, 5, 7)), 1, INFINITY);
    filled(with(b, alike(b, F32(3, 5, 7)), "p_distance", INFINITY), 1, NAN);
    alike(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 7, 9), 0, 2));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(3, 17, 9), 2), kg_tensor_transposed(KG_F32, KG_SHAPE(3, 17, 9), 1, 2));
    alike(b, F32(3, 9, 257))->args[X1].fill = KG_OUTLIERS(0, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        alike(b, kg_tensor_contiguous(others[i], KG_SHAPE(4, 9, 33)));
        with(b, along(b, alike(b, kg_tensor_contiguous(others[i], KG_SHAPE(4, 9, 33))), 0, false), "p_distance", 1);
    }
}

static void full(kg_cases *b) {
    alike(b, F32(3, 257, 129));
    alike(b, F32(2, 4, 1025));
    along(b, alike(b, F32(65, 31, 4)), 0, true);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(4, 9, 12), 0), F32(4, 9, 12));
    along(b, with(b, alike(b, F32(2, 3, 4, 5)), "p_norm", 4), -3, true);
    with(b, alike(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(4, 9, 33))), "p_norm", 2.5);
    with(b, alike(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(4, 9, 33))), "p_norm", INFINITY);
    along(b, alike(b, F32(2, 0, 3)), 0, false);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 16; n <= (cuda ? 32768 : 4096); n *= cuda ? 2 : 4) alike(b, F32(16, n, 128));
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[X1].tensor, *y = &c->args[X2].tensor;
    kg_tensor view, out = *x;
    if (x->ndim < 2 || !kg_dtype_is_float(x->dtype) || x->dtype != y->dtype || x->ndim != y->ndim) return -1;
    if (kg_expand(y, x, &view) || kg_numel(x) != kg_numel(y)) return -1;
    if (c->args[KEEPDIM].i) out.shape[out.ndim - 1] = 1;
    else out.ndim--;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, out.ndim, out.shape);
    return kg_wrap_dim(c->args[DIM_NORM].i, out.ndim) < 0 ? -1 : 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static kg_length distance(const kg_call *call, int64_t row) {
    const kg_view *x = &call->args[X1], *y = &call->args[X2];
    const kg_line_t a = kg_line_of(&x->desc, x->desc.ndim - 1, row), b = kg_line_of(&y->desc, y->desc.ndim - 1, row);
    const double eps = call->c->args[EPS_DISTANCE].f;
    kg_p_norm n = kg_p_norm_start(call->c->args[P_DISTANCE].f);
    for (int64_t k = 0; k < a.n; k++) {
        const double d = kg_at_offset(x, a.start + k * a.step) - kg_at_offset(y, b.start + k * b.step);
        kg_p_norm_add(&n, (kg_point){d + eps, 2 * fabs(d + eps) + fabs(d) + fabs(eps)}, 0);
    }
    return kg_p_norm_end(&n);
}

static kg_length norm_of(const kg_call *call, kg_line_t line) {
    kg_p_norm n = kg_p_norm_start(call->c->args[P_NORM].f);
    for (int64_t k = 0; k < line.n; k++) {
        const kg_length d = distance(call, line.start + k * line.step);
        kg_p_norm_add(&n, (kg_point){d.value, d.local}, d.value > 0 ? d.acc / d.value : 0);
    }
    return kg_at_least(kg_p_norm_end(&n), call->c->args[EPS_NORM].f);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const int dim = kg_wrap_dim(call->c->args[DIM_NORM].i, out->ndim);
    const int64_t lines = kg_numel(out) / (out->shape[dim] ? out->shape[dim] : 1);
    kg_length *norm = calloc((size_t)lines + 1, sizeof *norm);  // value 0: not yet known
    if (!norm) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t line = kg_line_index(out, dim, ref->index[k]);
        if (norm[line].value == 0) norm[line] = norm_of(call, kg_line_of(out, dim, line));
        const kg_length d = distance(call, ref->index[k]), n = norm[line];
        const double y = d.value / n.value, size = fabs(y) / n.value;
        const bool finite = isfinite(y);
        ref->value[k] = y;
        ref->local[k] = finite ? d.local / n.value + size * n.local + 3 * fabs(y) : 0;
        ref->acc[k] = finite ? d.acc / n.value + size * n.acc : 0;
    }
    free(norm);
    return 0;
}

static double features(const kg_case *c) {
    const kg_tensor *x = &c->args[X1].tensor;
    return (double)x->shape[x->ndim - 1];
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 3 + 4 * features(c), 1); }

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *out = &c->outs[0];
    return 2 * features(c) * (1 + (double)out->shape[kg_wrap_dim(c->args[DIM_NORM].i, out->ndim)]);
}

const kg_task kg_task_kbx_normalize_pairwise_distance = {
    .name = "normalize_pairwise_distance",
    .suite = "kbx",
    .category = "Normalization",
    .signature =
        "normalize_pairwise_distance(x1, x2, p_distance=2.0, eps_distance=1e-6, keepdim=False, p_norm=2, dim_norm=1, "
        "eps_norm=1e-12) -> Tensor",
    .summary = "p-norm distances of the rows of x1 and x2, over their own p-norm along a dimension.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x1, x2, p_distance=2.0, eps_distance=1e-6, keepdim=False, p_norm=2, dim_norm=1, eps_norm=1e-12: "
        "F.normalize(F.pairwise_distance(x1, x2, p_distance, eps_distance, keepdim), p_norm, dim_norm, eps_norm)",
    .c_body =
        "// j < 0: the distance of output i itself; else the j-th along dim_norm, for the norm.\n"
        "const int64_t n = kg_dim(out, dim_norm), step = kg_stride(out, dim_norm);\n"
        "const int64_t first = i - i / step % n * step;\n"
        "const int64_t rows = kg_stride(x1, -1), others = kg_stride(x2, -1);\n"
        "double own = 0, norm = 0;\n"
        "for (int64_t j = -1; j < n; j++) {\n"
        "    const int64_t row = j < 0 ? i : first + j * step, a = kg_line(x1, -1, row), b = kg_line(x2, -1, row);\n"
        "    double d = 0;\n"
        "    for (int64_t k = 0; k < kg_dim(x1, -1); k++) {\n"
        "        const double e = fabs(kg_get_at(x1, a + k * rows) - kg_get_at(x2, b + k * others) + eps_distance);\n"
        "        if (p_distance == INFINITY) d = e > d || e != e ? e : d;\n"
        "        else d += pow(e, p_distance);\n"
        "    }\n"
        "    if (p_distance != INFINITY) d = pow(d, 1.0 / p_distance);\n"
        "    if (j < 0) own = d;\n"
        "    else if (p_norm == INFINITY) norm = d > norm || d != d ? d : norm;\n"
        "    else norm += pow(d, p_norm);\n"
        "}\n"
        "if (p_norm != INFINITY) norm = pow(norm, 1.0 / p_norm);\n"
        "kg_put(out, i, own / (norm < eps_norm ? eps_norm : norm));\n",
};
