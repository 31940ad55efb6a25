// normalized_cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps_similarity: float = 1e-8, p_norm: float = 2,
//     eps_norm: float = 1e-12) -> Tensor
//
// x1 and x2 over max(their p-norm along dim, eps_norm), and the cosine similarity of these along dim: their product's
// sum over max(2-norm, eps_similarity) of each. The other dimensions broadcast.
//
// Bounds. Terms of the sum round independently, six times each; the norms' errors (src/task/p_norms.c) move the whole
// sum by their share of it.
#include "task/families.h"
#include "task/p_norms.h"

static const kg_param params[] = {
    {.name = "x1", .kind = KG_P_TENSOR},
    {.name = "x2", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "eps_similarity",
     .kind = KG_P_FLOAT,
     .optional = true,
     .keyword = true,
     .has_default = true,
     .number = 1e-8},
    {.name = "p_norm", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 2},
    {.name = "eps_norm", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-12},
    {.name = NULL}};
enum { X1, X2, DIM, EPS_SIMILARITY, P_NORM, EPS_NORM };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor x1, kg_tensor x2) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "x1", x1, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "x2", x2, KG_NORMAL(0.75, 1));
    return c;
}
static kg_case *alike(kg_cases *b, kg_tensor x) { return add(b, x, x); }
static kg_case *with(kg_cases *b, kg_case *c, const char *name, double v) {
    kg_set_float(c, b->task, name, v);
    return c;
}
static kg_case *along(kg_cases *b, kg_case *c, int64_t dim) {
    kg_set_int(c, b->task, "dim", dim);
    return c;
}
static kg_case *filled(kg_case *c, int arg, double v) {
    c->args[arg].fill = (kg_fill){KG_FILL_CONST, v, 0};
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    alike(b, F32(5, 7));
    alike(b, F32(1, 1));
    alike(b, F32(33, 65));
    alike(b, F32(9, 1025));
    alike(b, F32(3, 4099));
    alike(b, F32(0, 5));
    alike(b, F32(1031, 3));
    alike(b, F32(3, 4, 1027));
    along(b, alike(b, F32(33, 65)), 0);
    along(b, alike(b, F32(5, 7, 11)), -1);
    along(b, alike(b, F32(5, 7, 11)), 0);
    along(b, alike(b, F32(257)), 0);
    add(b, F32(4, 5, 6), F32(1, 5, 6));
    add(b, F32(4, 5, 1), F32(1, 5, 6));
    along(b, add(b, F32(1, 3, 9), F32(2, 1, 9)), 2);
    with(b, alike(b, F32(17, 33)), "p_norm", 1);
    with(b, alike(b, F32(17, 33)), "p_norm", 3);
    with(b, alike(b, F32(17, 33)), "p_norm", 0.5);
    with(b, alike(b, F32(17, 33)), "p_norm", INFINITY);
    // Norms of about 7 below eps_norm: the vectors are a thousandth of themselves, and eps_similarity is larger still.
    with(b, with(b, alike(b, F32(17, 33)), "eps_norm", 1000), "eps_similarity", 0.5);
    with(b, with(b, alike(b, F32(17, 33)), "p_norm", 1), "eps_similarity", 0.4);
    with(b, with(b, alike(b, F32(17, 33)), "p_norm", 1), "eps_norm", 100);
    with(b, alike(b, F32(17, 33)), "eps_similarity", 2);
    filled(alike(b, F32(5, 7)), X1, 0);  // no direction: 0
    filled(filled(alike(b, F32(5, 7)), X1, 0), X2, 0);
    filled(alike(b, F32(5, 7)), X1, NAN);
    filled(alike(b, F32(5, 7)), X2, INFINITY);
    with(b, filled(alike(b, F32(5, 7)), X2, NAN), "p_norm", INFINITY);
    filled(filled(alike(b, F32(5, 7)), X1, 3), X2, -2);  // opposite: -1
    alike(b, F32(33, 65))->args[X1].fill = KG_OUTLIERS(0, 1);
    alike(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 33), 3), kg_tensor_transposed(KG_F32, KG_SHAPE(9, 33), 0, 1));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        alike(b, kg_tensor_contiguous(others[i], KG_SHAPE(33, 65)));
        along(b, with(b, alike(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 33))), "p_norm", 1), 0);
    }
}

static void full(kg_cases *b) {
    alike(b, F32(2, 50257));
    alike(b, F32(129, 257));
    along(b, alike(b, F32(2, 3, 4, 5)), -2);
    along(b, alike(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0)), 0);
    with(b, add(b, F32(1, 9, 12), F32(4, 9, 1)), "p_norm", 4);
    alike(b, F32(4, 0, 3));  // the sum of nothing: 0
    with(b, alike(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(9, 33))), "p_norm", 2.5);
    alike(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(5, 2051)));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 64; n <= (cuda ? 32768 : 8192); n *= cuda ? 2 : 4) alike(b, F32(n, 1024));
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[X1].tensor, *y = &c->args[X2].tensor;
    kg_tensor all;
    const int d = kg_wrap_dim(c->args[DIM].i, x->ndim);
    if (x->ndim != y->ndim || x->ndim < 1 || d < 0 || x->dtype != y->dtype || !kg_dtype_is_float(x->dtype)) return -1;
    if (x->shape[d] != y->shape[d] || kg_broadcast(x, y, &all)) return -1;
    for (int i = d; i + 1 < all.ndim; i++) all.shape[i] = all.shape[i + 1];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, all.ndim - 1, all.shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_line_t line;
    double scale;          // an element times this is a coordinate of the unit vector
    double relative, acc;  // error of scale
} direction;

static direction direction_of(const kg_call *call, const kg_view *v, int dim, int64_t line) {
    direction r = {.line = kg_line_of(&v->desc, dim, line)};
    kg_p_norm first = kg_p_norm_start(call->c->args[P_NORM].f), second = kg_p_norm_start(2);
    for (int64_t k = 0; k < r.line.n; k++)
        kg_p_norm_add(&first, kg_point_exact(kg_at_offset(v, r.line.start + k * r.line.step)), 0);
    const kg_length n = kg_at_least(kg_p_norm_end(&first), call->c->args[EPS_NORM].f);
    for (int64_t k = 0; k < r.line.n; k++) {
        const double x = kg_at_offset(v, r.line.start + k * r.line.step) / n.value;
        kg_p_norm_add(&second, (kg_point){x, fabs(x)}, 0);
    }
    const kg_length m = kg_at_least(kg_p_norm_end(&second), call->c->args[EPS_SIMILARITY].f);
    r.scale = 1 / (n.value * m.value);
    r.relative = n.local / n.value + m.local / m.value;
    r.acc = n.acc / n.value + m.acc / m.value;
    return r;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = kg_call_view(call, "x1"), y = kg_call_view(call, "x2");
    const int dim = kg_wrap_dim(call->c->args[DIM].i, x.desc.ndim);
    kg_tensor all;
    if (kg_broadcast(&x.desc, &y.desc, &all)) return -1;
    const kg_view a = kg_view_expand(&x, &all), b = kg_view_expand(&y, &all);
    for (size_t k = 0; k < ref->n; k++) {
        const direction p = direction_of(call, &a, dim, ref->index[k]), q = direction_of(call, &b, dim, ref->index[k]);
        kg_sum_t s = {0};
        for (int64_t i = 0; i < p.line.n; i++) {
            const double t = kg_at_offset(&a, p.line.start + i * p.line.step) * p.scale *
                             (kg_at_offset(&b, q.line.start + i * q.line.step) * q.scale);
            kg_sum_add_point(&s, (kg_point){t, 6 * fabs(t)});
        }
        const double v = kg_sum_value(&s);
        const bool finite = isfinite(v);
        ref->value[k] = v;
        ref->local[k] = finite ? kg_sum_local(&s) + fabs(v) * (p.relative + q.relative + 4) : 0;
        ref->acc[k] = finite ? kg_sum_acc(&s) + fabs(v) * (p.acc + q.acc) : 0;
    }
    return 0;
}

static double terms(const kg_case *c) {
    const kg_tensor *x = &c->args[X1].tensor;
    return (double)x->shape[kg_wrap_dim(c->args[DIM].i, x->ndim)];
}

// Three sums of squares or products, and the scaling.
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 8 * terms(c), 4); }

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 6 * fmax(1, terms(c));
}

const kg_task kg_task_kbx_normalized_cosine_similarity = {
    .name = "normalized_cosine_similarity",
    .suite = "kbx",
    .category = "Normalization",
    .signature =
        "normalized_cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps_similarity: float = 1e-8, "
        "p_norm: float = 2, eps_norm: float = 1e-12) -> Tensor",
    .summary = "Cosine similarity along dim of x1 and x2, each divided by its p-norm along dim first.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x1, x2, dim=1, eps_similarity=1e-8, p_norm=2, eps_norm=1e-12: F.cosine_similarity("
        "F.normalize(x1, p_norm, dim, eps_norm), F.normalize(x2, p_norm, dim, eps_norm), dim, eps_similarity)",
    .c_body =
        "const DLTensor *const x[2] = {x1, x2};\n"
        "const int d = (int)(dim < 0 ? dim + x1->ndim : dim);\n"
        "int64_t start[2] = {0, 0}, rest = i;\n"
        "for (int k = x1->ndim - 1; k >= 0; k--) {\n"
        "    if (k == d) continue;\n"
        "    const int64_t size = x1->shape[k] != 1 ? x1->shape[k] : x2->shape[k];\n"
        "    for (int v = 0; v < 2; v++)\n"
        "        if (x[v]->shape[k] != 1) start[v] += rest % size * kg_stride(x[v], k);\n"
        "    rest /= size;\n"
        "}\n"
        "double scale[2];\n"
        "for (int v = 0; v < 2; v++) {\n"
        "    double norm = 0, square = 0;\n"
        "    for (int64_t k = 0; k < kg_dim(x1, dim); k++) {\n"
        "        const double e = fabs(kg_get_at(x[v], start[v] + k * kg_stride(x[v], dim)));\n"
        "        if (p_norm == INFINITY) norm = e > norm || e != e ? e : norm;\n"
        "        else norm += pow(e, p_norm);\n"
        "        square += e * e;\n"
        "    }\n"
        "    if (p_norm != INFINITY) norm = pow(norm, 1.0 / p_norm);\n"
        "    if (norm < eps_norm) norm = eps_norm;\n"
        "    const double length = sqrt(square) / norm;\n"
        "    scale[v] = norm * (length < eps_similarity ? eps_similarity : length);\n"
        "}\n"
        "double dot = 0;\n"
        "for (int64_t k = 0; k < kg_dim(x1, dim); k++)\n"
        "    dot += kg_get_at(x1, start[0] + k * kg_stride(x1, dim)) / scale[0] *\n"
        "           (kg_get_at(x2, start[1] + k * kg_stride(x2, dim)) / scale[1]);\n"
        "kg_put(out, i, dot);\n",
};
