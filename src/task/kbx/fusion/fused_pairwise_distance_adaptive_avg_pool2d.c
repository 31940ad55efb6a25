// fused_pairwise_distance_adaptive_avg_pool2d(x1: Tensor, x2: Tensor, output_size: int or tuple, p: float = 2.0,
//     eps: float = 1e-6, keepdim: bool = False) -> Tensor
//
// pairwise_distance(adaptive_avg_pool2d(x1, output_size), adaptive_avg_pool2d(x2, output_size), p, eps, keepdim): the
// p-norm of the pooled rows' difference plus eps (eps is added to every difference, not to the distance), over the last
// dimension, the columns. Images of x1 and x2 may differ in size; images and channels broadcast. p is positive or
// infinite: p = 0 would count the differences that rounding leaves exactly 0.
//
// Bounds: those of both means (src/oracle/sum.c and the division), the difference and the sum with eps, through the
// norm (kg_stage_p_norm). In half precision unfused kernels store the means, the difference and its sum with eps.
#include <stdlib.h>

#include "task/activations.h"
#include "task/adaptive_pools.h"

static const kg_param params[] = {
    {.name = "x1", .kind = KG_P_TENSOR},
    {.name = "x2", .kind = KG_P_TENSOR},
    {.name = "output_size", .kind = KG_P_INTS},
    {.name = "p", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 2},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-6},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = NULL}};
enum { X1, X2, SIZE, P, EPS, KEEPDIM };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *pair(kg_cases *b, kg_tensor x1, kg_tensor x2, int n, int64_t s0, int64_t s1) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "x1", x1, KG_NORMAL(1, 1));
    kg_set_strided(c, b->task, "x2", x2, KG_NORMAL(0.25, 1));
    kg_set_ints(c, b->task, "output_size", n, (int64_t[]){s0, s1});
    c->args[SIZE].scalar = n == 1;
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor x, int n, int64_t s0, int64_t s1) { return pair(b, x, x, n, s0, s1); }

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *plain(kg_cases *b, kg_dtype t) { return add(b, DENSE(2, 3, 11, 13), 2, 4, 7); }
static kg_case *with(kg_cases *b, kg_case *c, const char *name, double v) {
    kg_set_float(c, b->task, name, v);
    return c;
}
static kg_case *kept(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "keepdim", true);
    return c;
}
static kg_case *filled(kg_case *c, double x1, double x2) {
    c->args[X1].fill = (kg_fill){KG_FILL_CONST, x1, 0};
    c->args[X2].fill = (kg_fill){KG_FILL_CONST, x2, 0};
    return c;
}

static void distances(kg_cases *b) {
    const kg_dtype t = KG_F32;
    static const double powers[] = {1, 3, 0.5, 2.5, INFINITY};
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) with(b, plain(b, t), "p", powers[i]);
    with(b, plain(b, t), "eps", 0.5);
    with(b, with(b, plain(b, t), "eps", 0), "p", 1);
    kept(b, plain(b, t));
    kept(b, with(b, add(b, DENSE(3, 11, 13), 1, 5, 0), "p", 1));
    filled(plain(b, t), 0.5, 0.5);  // eps alone
    filled(plain(b, t), NAN, 1);
    filled(with(b, plain(b, t), "p", INFINITY), 1, NAN);
    filled(plain(b, t), 1, INFINITY);
    pair(b, DENSE(2, 3, 11, 13), DENSE(2, 3, 16, 9), 2, 4, 5);  // images of different sizes
    with(b, pair(b, DENSE(2, 3, 11, 13), DENSE(2, 3, 16, 9), 2, 4, 5), "p", 1);
    with(b, pair(b, DENSE(2, 3, 11, 13), DENSE(2, 3, 16, 9), 2, 4, 5), "eps", 0.5);
    with(b, pair(b, DENSE(2, 3, 11, 13), DENSE(1, 3, 11, 13), 2, 4, 5), "p", 3);
    pair(b, DENSE(2, 3, 11, 13), DENSE(1, 3, 11, 13), 2, 4, 5);
    pair(b, DENSE(1, 3, 11, 13), DENSE(2, 3, 11, 13), 2, 4, 5);
    add(b, DENSE(1, 2100, 3, 4), 2, 2, 3);
    with(b, plain(b, KG_F64), "p", 3);
    with(b, plain(b, KG_F16), "p", 1);
    with(b, plain(b, KG_BF16), "eps", 0.25);
}

static int cases(kg_cases *b) {
    const kg_dtype t = KG_F32;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_adaptive_cases(b, add);
        distances(b);
        if (b->level == KG_CASES_QUICK) return 0;
        pair(b, DENSE(2, 1, 11, 13), DENSE(2, 4, 8, 8), 1, 6, 0);
        pair(b, kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 31), 2, 3), DENSE(2, 3, 17, 31), 2, 5, 7);
        with(b, add(b, DENSE(1, 2, 40, 1050), 2, 3, 1025), "p", 1.5);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t side = 16; side <= (cuda ? 4096 : 512); side *= 2)
        add(b, DENSE(cuda ? 16 : 4, 3, side, side), 2, side / 2, side / 2);
    return 0;
}
#undef DENSE

// ---- shapes ---------------------------------------------------------------------------------------
// The pooled shapes, and the one they broadcast to.
static int pooled_shapes(const kg_case *c, kg_tensor *a, kg_tensor *b, kg_tensor *all) {
    const kg_tensor *x = &c->args[X1].tensor, *y = &c->args[X2].tensor;
    if (x->ndim != y->ndim || x->dtype != y->dtype || !kg_dtype_is_float(x->dtype)) return -1;
    if (kg_adaptive_shape(x, &c->args[SIZE], a) || kg_adaptive_shape(y, &c->args[SIZE], b)) return -1;
    return kg_broadcast(a, b, all);
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_tensor a, b, out;
    if (pooled_shapes(c, &a, &b, &out)) return -1;
    if (c->args[KEEPDIM].i) out.shape[out.ndim - 1] = 1;
    else out.ndim--;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a.dtype, out.ndim, out.shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
// The pooled element of x that meets element `index` of the broadcast ones.
static kg_term mean(const kg_rung *r, const kg_view *x, const kg_tensor *pooled, const kg_tensor *all, int64_t index) {
    kg_tensor view;
    int64_t own = index;
    if (!kg_expand(pooled, all, &view)) own = kg_offset(&view, index);
    return kg_term_stored(r, kg_adaptive_mean(r, x, pooled, own));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_tensor a, b, all;
    if (pooled_shapes(call->c, &a, &b, &all)) return -1;
    const kg_rung r = kg_rung_of(call->task, a.dtype);
    const int64_t columns = all.shape[all.ndim - 1];
    const kg_stage row = {columns, malloc((size_t)columns * sizeof(kg_term) + 1)};
    if (!row.at) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        for (int64_t i = 0; i < columns; i++) {
            const kg_term x = mean(&r, &call->args[X1], &a, &all, ref->index[k] * columns + i);
            const kg_term y = mean(&r, &call->args[X2], &b, &all, ref->index[k] * columns + i);
            const kg_term d = kg_term_stored(&r, kg_term_sub(&r, x, y));
            row.at[i] = kg_term_stored(&r, kg_term_add(&r, d, kg_term_exact(call->c->args[EPS].f)));
        }
        kg_term_put(ref, k, kg_stage_p_norm(&r, &row, call->c->args[P].f));
    }
    free(row.at);
    return 0;
}

static double windows(const kg_case *c) {
    kg_tensor a, b, all;
    if (pooled_shapes(c, &a, &b, &all)) return 1;
    const double both = kg_adaptive_window(&c->args[X1].tensor, &a) + kg_adaptive_window(&c->args[X2].tensor, &b);
    return both * (double)all.shape[all.ndim - 1];
}
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * windows(c);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2 * windows(c), 1); }

const kg_task kg_task_kbx_fused_pairwise_distance_adaptive_avg_pool2d = {
    .name = "fused_pairwise_distance_adaptive_avg_pool2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_pairwise_distance_adaptive_avg_pool2d(x1: Tensor, x2: Tensor, output_size: int or tuple, p: float = "
        "2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor",
    .summary = "p-norm distances of the rows of x1 and x2, both average pooled to the given height and width first.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x1, x2, output_size, p=2.0, eps=1e-6, keepdim=False: F.pairwise_distance("
        "F.adaptive_avg_pool2d(x1, output_size), F.adaptive_avg_pool2d(x2, output_size), p, eps, keepdim)",
    .c_body =
        "// Output i is row y of a plane; images and channels broadcast.\n"
        "const int64_t height = output_size->v[0], width = output_size->v[output_size->n - 1], y = i % height;\n"
        "const int64_t c1 = kg_dim(x1, -3), c2 = kg_dim(x2, -3), channels = c1 > c2 ? c1 : c2;\n"
        "const int64_t channel = i / height % channels, image = i / (height * channels);\n"
        "double norm = 0;\n"
        "for (int64_t x = 0; x < width; x++) {\n"
        "    double mean[2];\n"
        "    for (int v = 0; v < 2; v++) {\n"
        "        const DLTensor *const in = v ? x2 : x1;\n"
        "        const int64_t n = in->ndim < 4 || in->shape[0] == 1 ? 0 : image, of = kg_dim(in, -3);\n"
        "        const int64_t plane = n * of + (of == 1 ? 0 : channel);\n"
        KG_ADAPTIVE_SUM("in", "sum")
        "        mean[v] = sum / (double)((y_end - y0) * (x_end - x0));\n"
        "    }\n"
        "    const double e = fabs(mean[0] - mean[1] + eps);\n"
        "    if (p == INFINITY) norm = e > norm || e != e ? e : norm;\n"
        "    else norm += pow(e, p);\n"
        "}\n"
        "kg_put(out, i, p == INFINITY ? norm : pow(norm, 1.0 / p));\n",
};
