// fused_avg_pool2d_cosine_similarity(x1: Tensor, x2: Tensor, kernel_size: int, stride: int = None, padding: int = 0,
//     eps: float = 1e-8) -> Tensor
//
// avg_pool2d(cosine_similarity(x1, x2, dim=1, eps=eps).unsqueeze(1), kernel_size, stride, padding): at each pixel of
// (N, C, H, W) the product of the C channels over max(norm, eps) of each, then means over windows, (N, 1, P, Q). stride
// None is kernel_size. The zeros of padding, at most half of kernel_size, count: a window is divided by kernel_size^2.
// x1 and x2 broadcast.
//
// Bounds: the product's sum and the norms' (src/oracle/stages.c); a kernel that divides each factor first, as PyTorch
// does, rounds each term three times more, which the sum's bound has room for. Then the window's sum. In half precision
// unfused kernels store the norms, the factors over them, their products and the similarity.
#include <stdlib.h>

#include "oracle/stages.h"
#include "oracle/windows.h"
#include "task/activations.h"

static const kg_param params[] = {
    {.name = "x1", .kind = KG_P_TENSOR},
    {.name = "x2", .kind = KG_P_TENSOR},
    {.name = "kernel_size", .kind = KG_P_INT},
    {.name = "stride", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    {.name = "padding", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = 0},
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-8},
    {.name = NULL}};
enum { X1, X2, SIZE, STRIDE, PADDING, EPS };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor x1, kg_tensor x2, int64_t size) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "x1", x1, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "x2", x2, KG_NORMAL(0.75, 1));
    kg_set_int(c, b->task, "kernel_size", size);
    return c;
}
static kg_case *alike(kg_cases *b, kg_tensor x, int64_t size) { return add(b, x, x, size); }
static kg_case *with(kg_cases *b, kg_case *c, const char *name, int64_t v) {
    kg_set_int(c, b->task, name, v);
    return c;
}
static kg_case *at_least(kg_cases *b, kg_case *c, double eps) {
    kg_set_float(c, b->task, "eps", eps);
    return c;
}
static kg_case *filled(kg_case *c, int arg, double v) {
    c->args[arg].fill = (kg_fill){KG_FILL_CONST, v, 0};
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    kg_dtype t = KG_F32;
    alike(b, DENSE(2, 5, 9, 11), 2);
    alike(b, DENSE(2, 5, 9, 11), 3);
    alike(b, DENSE(1, 1, 1, 1), 1);
    alike(b, DENSE(3, 64, 7, 5), 1);
    alike(b, DENSE(3, 2, 101, 64), 2);  // more than 4096 outputs
    alike(b, DENSE(2, 129, 4, 6), 2);
    alike(b, DENSE(2, 1, 6, 6), 3);  // one channel: the signs' product
    alike(b, DENSE(2, 3, 5, 5), 5);
    alike(b, DENSE(2, 3, 11, 22), 11);
    with(b, alike(b, DENSE(2, 5, 9, 11), 3), "stride", 1);
    with(b, alike(b, DENSE(2, 5, 9, 11), 2), "stride", 3);
    with(b, alike(b, DENSE(2, 5, 9, 11), 2), "padding", 1);
    with(b, with(b, alike(b, DENSE(2, 5, 9, 11), 3), "padding", 1), "stride", 2);
    with(b, with(b, alike(b, DENSE(1, 4, 3, 3), 4), "padding", 2), "stride", 1);
    at_least(b, alike(b, DENSE(2, 5, 9, 11), 2), 2);  // between the norms
    at_least(b, alike(b, DENSE(2, 5, 9, 11), 2), 20);
    filled(alike(b, DENSE(2, 5, 6, 6), 2), X1, 0);
    filled(filled(alike(b, DENSE(2, 5, 6, 6), 2), X1, 3), X2, -2);  // opposite
    filled(alike(b, DENSE(2, 5, 6, 6), 2), X1, NAN);
    filled(alike(b, DENSE(2, 5, 6, 6), 2), X2, INFINITY);
    alike(b, DENSE(2, 33, 8, 8), 3)->args[X1].fill = KG_OUTLIERS(0, 1);
    alike(b, DENSE(2, 33, 8, 8), 2)->args[X1].fill = KG_NORMAL(0, 1e-12);  // eps decides
    add(b, kg_tensor_transposed(t, KG_SHAPE(2, 5, 9, 11), 1, 3), DENSE(2, 5, 9, 11), 2);
    add(b, DENSE(2, 5, 8, 9), kg_tensor_stepped(t, KG_SHAPE(2, 5, 8, 9), 2), 3);
    add(b, DENSE(3, 5, 8, 9), DENSE(1, 5, 8, 9), 2);
    add(b, DENSE(1, 5, 8, 9), DENSE(3, 5, 8, 9), 2);
    for (int d = 1; d < 4; d++) {  // any dimension of either
        const kg_tensor thin = DENSE(2, d == 1 ? 1 : 5, d == 2 ? 1 : 8, d == 3 ? 1 : 9);
        add(b, thin, DENSE(2, 5, 8, 9), 3);
        add(b, DENSE(2, 5, 8, 9), thin, 3);
    }
    for (size_t i = 0; i < 3; i++) {
        t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        alike(b, DENSE(2, 33, 9, 11), 3);
        with(b, alike(b, DENSE(2, 5, 9, 11), 2), "padding", 1);
    }
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    alike(b, DENSE(2, 1025, 7, 6), 2);
    alike(b, DENSE(1, 17, 65, 63), 7);
    with(b, alike(b, DENSE(2, 5, 9, 11), 4), "stride", 7);
    alike(b, DENSE(4, 64, 16, 16), 2);
    alike(b, kg_tensor_expanded(t, KG_SHAPE(3, 5, 8, 9), 0), 2);
}

static int cases(kg_cases *b) {
    const kg_dtype t = KG_F32;
    const bool cuda = b->level == KG_TIMED_CUDA;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    // The last of the published sizes is left out: inputs of 4.3 GB each.
    for (int64_t side = 16; side <= (cuda ? 512 : 128); side *= 2) alike(b, DENSE(cuda ? 16 : 2, 64, side, side), 2);
    return 0;
}
#undef DENSE

// ---- shapes ---------------------------------------------------------------------------------------
static kg_window window_of(const kg_case *c) {
    const kg_arg *size = &c->args[SIZE], *stride = &c->args[STRIDE];
    return (kg_window){size->i, stride->none || stride->absent ? size->i : stride->i, c->args[PADDING].i, 1, false};
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[X1].tensor, *y = &c->args[X2].tensor;
    const kg_window w = window_of(c);
    kg_tensor all;
    if (x->ndim != 4 || y->ndim != 4 || x->dtype != y->dtype || !kg_dtype_is_float(x->dtype)) return -1;
    if (kg_broadcast(x, y, &all) || 2 * w.padding > w.size || all.shape[1] < 1) return -1;
    const int64_t shape[4] = {all.shape[0], 1, kg_window_count(&w, all.shape[2]), kg_window_count(&w, all.shape[3])};
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, 4, shape);
    return shape[2] < 1 || shape[3] < 1 ? -1 : 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_rung rung;
    kg_view x, y;  // both of the broadcast shape
    kg_window window;
    double eps;
    kg_stage a, b;   // channels of a pixel
    kg_term *space;  // similarities of a window
} layer;

static void channels(kg_stage *s, const kg_view *v, int64_t n, int64_t row, int64_t column) {
    const int64_t *step = v->desc.stride;
    for (int64_t c = 0; c < s->n; c++)
        s->at[c] = kg_term_exact(kg_at_offset(v, n * step[0] + c * step[1] + row * step[2] + column * step[3]));
}

static kg_term length(const layer *l, const kg_stage *s) {
    const kg_term norm = kg_term_stored(&l->rung, kg_stage_norm2(&l->rung, s));
    return norm.value < l->eps ? kg_term_stored(&l->rung, (kg_term){l->eps, l->eps, 0}) : norm;
}

static kg_term similarity(layer *l, int64_t n, int64_t row, int64_t column) {
    const kg_rung *r = &l->rung;
    channels(&l->a, &l->x, n, row, column);
    channels(&l->b, &l->y, n, row, column);
    kg_term dot = kg_stage_dot(r, &l->a, &l->b);
    for (int64_t c = 0; r->half && c < l->a.n; c++) dot.local += 3 * fabs(l->a.at[c].value * l->b.at[c].value);
    return kg_term_stored(r, kg_term_div(r, kg_term_div(r, dot, length(l, &l->a)), length(l, &l->b)));
}

static kg_term mean(layer *l, const kg_tensor *out, int64_t index) {
    const int64_t q = index % out->shape[3], p = index / out->shape[3] % out->shape[2];
    const int64_t n = index / (out->shape[3] * out->shape[2]);
    const kg_span rows = kg_window_span(&l->window, l->x.desc.shape[2], p);
    const kg_span columns = kg_window_span(&l->window, l->x.desc.shape[3], q);
    const kg_stage s = {rows.n * columns.n, l->space};
    for (int64_t k = 0; k < s.n; k++)
        s.at[k] = similarity(l, n, rows.from + k / columns.n, columns.from + k % columns.n);
    const double size = (double)l->window.size;
    return kg_term_div(&l->rung, kg_stage_sum(&l->rung, &s), kg_term_exact(size * size));
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = kg_call_view(call, "x1"), y = kg_call_view(call, "x2");
    kg_tensor all;
    if (kg_broadcast(&x.desc, &y.desc, &all)) return -1;
    layer l = {.rung = kg_rung_of(call->task, x.desc.dtype), .window = window_of(call->c), .eps = call->c->args[EPS].f};
    l.x = kg_view_expand(&x, &all), l.y = kg_view_expand(&y, &all);
    const int64_t c = all.shape[1], window = l.window.size * l.window.size;
    l.space = malloc((size_t)(window + 2 * c) * sizeof *l.space);
    if (!l.space) return -1;
    l.a = (kg_stage){c, l.space + window}, l.b = (kg_stage){c, l.space + window + c};
    for (size_t k = 0; k < ref->n; k++) kg_term_put(ref, k, mean(&l, &call->c->outs[0], ref->index[k]));
    free(l.space);
    return 0;
}

static double terms(const kg_case *c) {
    const int64_t size = c->args[SIZE].i, x = c->args[X1].tensor.shape[1], y = c->args[X2].tensor.shape[1];
    return (double)(size * size * (x > y ? x : y));
}
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 4 * terms(c);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double pixels = (double)(c->args[SIZE].i * c->args[SIZE].i);
    kg_work_map(t, c, w, 6 * terms(c) + 3 * pixels, 2 * pixels);
}

const kg_task kg_task_kbx_fused_avg_pool2d_cosine_similarity = {
    .name = "fused_avg_pool2d_cosine_similarity",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_avg_pool2d_cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, kernel_size: int, stride: int = None, "
        "padding: int = 0, eps: float = 1e-8) -> torch.Tensor",
    .summary = "Averages over square windows of the cosine similarity of x1's and x2's channels at each pixel.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x1, x2, kernel_size, stride=None, padding=0, eps=1e-8: F.avg_pool2d("
        "F.cosine_similarity(x1, x2, dim=1, eps=eps).unsqueeze(1), kernel_size, stride, padding)",
    .c_body =
        "// Dimensions of size 1 broadcast: their step is 0.\n"
        "const DLTensor *const in[2] = {x1, x2};\n"
        "int64_t size[4], step[2][4];\n"
        "for (int d = 0; d < 4; d++) {\n"
        "    size[d] = x1->shape[d] != 1 ? x1->shape[d] : x2->shape[d];\n"
        "    for (int v = 0; v < 2; v++) step[v][d] = in[v]->shape[d] != 1 ? kg_stride(in[v], d) : 0;\n"
        "}\n"
        "const int64_t by = stride ? *stride : kernel_size;\n"
        "const int64_t q = i % kg_dim(out, 3), p = i / kg_dim(out, 3) % kg_dim(out, 2);\n"
        "const int64_t n = i / (kg_dim(out, 3) * kg_dim(out, 2));\n"
        "double sum = 0;\n"
        "for (int64_t k = 0; k < kernel_size * kernel_size; k++) {\n"
        "    const int64_t y = p * by - padding + k / kernel_size, x = q * by - padding + k % kernel_size;\n"
        "    if (y < 0 || y >= size[2] || x < 0 || x >= size[3]) continue;\n"
        "    double dot = 0, square[2] = {0, 0};\n"
        "    for (int64_t c = 0; c < size[1]; c++) {\n"
        "        double e[2];\n"
        "        for (int v = 0; v < 2; v++) {\n"
        "            e[v] = kg_get_at(in[v], n * step[v][0] + c * step[v][1] + y * step[v][2] + x * step[v][3]);\n"
        "            square[v] += e[v] * e[v];\n"
        "        }\n"
        "        dot += e[0] * e[1];\n"
        "    }\n"
        "    const double a = sqrt(square[0]), b = sqrt(square[1]);\n"
        "    sum += dot / (a < eps ? eps : a) / (b < eps ? eps : b);\n"
        "}\n"
        "kg_put(out, i, sum / (double)(kernel_size * kernel_size));\n",
};
