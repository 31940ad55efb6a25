// fused_fractional_max_pool2d_with_relu(input, kernel_size, output_size=None, output_ratio=None, return_indices=False)
//     -> Tensor or (Tensor, LongTensor)
//
// max over windows of relu(input), whose places are random: PyTorch's fractional_max_pool2d. Each plane (n, c) draws
// two numbers of its own, uniform on [0, 1), one for its rows and one for its columns; src/oracle/fractional.h has what
// follows from them. Either output_size is given, or output_ratio: floor(D ratio) elements. input has 3 or 4 dimensions
// and, but for N, no empty one. NaN stays NaN. An index is row * W + column of a place in the plane; where several
// elements of a window are the largest (relu's zeros, NaN), any of them. C and CUDA get `seed`, and the output's shape.
//
// What must hold, and its error rates: src/task/fractional_pools.h. relu and max round nothing, so outputs are exact.
#include <math.h>

#include "task/families.h"
#include "task/fractional_pools.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "kernel_size", .kind = KG_P_INTS},
    {.name = "output_size", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "output_ratio", .kind = KG_P_FLOATS, .optional = true, .nullable = true, .keyword = true},
    {.name = "return_indices", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    KG_SEED_PARAM,
    {.name = NULL}};
static const char *const outputs[] = {"out", "indices", NULL};
enum { INPUT, KERNEL, SIZE, RATIO, INDICES };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_fill fill, int64_t rows, int64_t columns) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, fill);
    kg_set_ints(c, b->task, "kernel_size", 2, (int64_t[]){rows, columns});
    return c;
}
static kg_case *square(kg_cases *b, kg_tensor input, int64_t kernel) {
    kg_case *c = add(b, input, KG_NORMAL(0.25, 1), kernel, kernel);
    c->args[KERNEL].scalar = true;
    c->args[KERNEL].n = 1;
    return c;
}
static void sized(kg_cases *b, kg_case *c, int64_t rows, int64_t columns, bool indices) {
    kg_set_ints(c, b->task, "output_size", 2, (int64_t[]){rows, columns});
    if (indices) kg_set_bool(c, b->task, "return_indices", true);
}
static void scaled(kg_cases *b, kg_case *c, double rows, double columns, bool indices) {
    kg_set_floats(c, b->task, "output_ratio", 2, (double[]){rows, columns});
    if (indices) kg_set_bool(c, b->task, "return_indices", true);
}
static kg_tensor planes(kg_dtype t, int64_t n, int64_t c, int64_t rows, int64_t columns) {
    return kg_tensor_contiguous(t, KG_SHAPE(n, c, rows, columns));
}

// Windows that meet, overlap (a = 4/3, 8/5) and leave gaps (a = 5/2, 17/4): few places and many. So many planes that
// a number used twice, or none at all, shows.
static void places(kg_cases *b) {
    const kg_dtype t = KG_F32;
    sized(b, square(b, planes(t, 32, 64, 10, 10), 2), 6, 6, false);
    sized(b, square(b, planes(t, 16, 24, 14, 13), 3), 9, 8, true);
    sized(b, add(b, planes(t, 8, 64, 12, 20), KG_NORMAL(-0.5, 1), 2, 3), 5, 5, false);
    scaled(b, square(b, planes(t, 4, 100, 17, 23), 2), 0.6, 0.45, false);
    scaled(b, add(b, planes(t, 3, 97, 9, 16), KG_NORMAL(0, 1), 3, 1), 0.5, 0.7, true);
    scaled(b, square(b, kg_tensor_contiguous(t, KG_SHAPE(350, 11, 15)), 2), 0.5, 0.5, true);
    sized(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(64, 12, 20)), KG_NORMAL(0, 1), 2, 3), 5, 7, true);
    sized(b, square(b, planes(t, 2, 2, 65, 129), 3), 31, 62, true);
    // One place: a is 1, 2 and 3; no number decides.
    sized(b, square(b, planes(t, 2, 3, 7, 9), 2), 6, 4, true);
    sized(b, square(b, planes(t, 2, 3, 5, 8), 2), 2, 3, false);
    // The whole plane, one row, which is at the end, one element.
    sized(b, square(b, planes(t, 3, 2, 5, 5), 5), 1, 1, true);
    sized(b, add(b, planes(t, 5, 7, 8, 19), KG_NORMAL(0, 1), 3, 2), 1, 11, false);
    sized(b, square(b, planes(t, 2, 3, 12, 13), 11), 1, 2, true);
    sized(b, square(b, planes(t, 1, 1, 1, 1), 1), 1, 1, true);
}

static void layouts(kg_cases *b) {
    const kg_dtype t = KG_F32;
    sized(b, square(b, planes(t, 0, 3, 9, 9), 2), 4, 4, true);
    sized(b, square(b, kg_tensor_transposed(t, KG_SHAPE(20, 17, 11, 12), 2, 3), 2), 6, 8, true);
    sized(b, square(b, kg_tensor_transposed(t, KG_SHAPE(20, 17, 9, 13), 1, 3), 3), 5, 7, false);
    sized(b, square(b, kg_tensor_stepped(t, KG_SHAPE(19, 16, 11, 12), 2), 2), 7, 5, true);
    // Planes of the same values.
    sized(b, square(b, kg_tensor_expanded(t, KG_SHAPE(19, 18, 13, 12), 1), 2), 8, 7, false);
}

static void values(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        sized(b, square(b, planes(others[k], 12, 32, 12, 11), 2), 7, 6, k != 1);
        scaled(b, square(b, planes(others[k], 2, 5, 8, 9), 3), 0.5, 0.5, k == 1);
    }
    sized(b, add(b, planes(KG_F32, 4, 50, 14, 14), KG_SPECIALS(0.5, 1), 2, 2), 9, 9, true);
    sized(b, add(b, planes(KG_F32, 4, 50, 12, 12), (kg_fill){.kind = KG_FILL_TIES}, 3, 3), 6, 6, true);
    sized(b, add(b, planes(KG_F32, 3, 4, 9, 9), KG_UNIFORM(-2, -1), 2, 2), 5, 5, true);
    sized(b, add(b, planes(KG_F32, 3, 4, 9, 9), KG_LOGSCALE(-100, 100), 2, 2), 5, 5, false);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        places(b);
        layouts(b);
        values(b);
        if (b->level == KG_CASES_QUICK) return 0;
        sized(b, square(b, planes(KG_F32, 2, 3, 257, 513), 3), 127, 300, true);
        scaled(b, square(b, planes(KG_F32, 1, 1, 1025, 700), 2), 0.49, 0.73, false);
        scaled(b, square(b, planes(KG_F64, 1, 2, 301, 299), 4), 0.3, 0.31, true);
        scaled(b, square(b, planes(KG_F32, 64, 64, 9, 9), 2), 0.6, 0.6, false);
        return 0;
    }
    const int64_t last = b->level == KG_TIMED_CUDA ? 4096 : 512;
    for (int64_t side = b->level == KG_TIMED_CUDA ? 16 : 32; side <= last; side *= 2)
        scaled(b, square(b, planes(KG_F32, 16, 3, side, side), 3), 0.5, 0.5, false);
    return 0;
}

// ---- shapes ---------------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const kg_arg *kernel = &c->args[KERNEL], *size = &c->args[SIZE], *ratio = &c->args[RATIO];
    if (!kg_dtype_is_float(in->dtype) || in->ndim < 3 || in->ndim > 4) return -1;
    kg_tensor out = *in;
    for (int k = 0; k < 2; k++) {
        int64_t *n = &out.shape[in->ndim - 2 + k];
        const int64_t free = *n - kernel->ints[k < kernel->n ? k : 0];
        *n = size->n ? size->ints[k] : (int64_t)((double)*n * ratio->floats[k]);
        if (*n < 1 || *n - 1 > free) return -1;  // PyTorch refuses too
    }
    c->n_outs = c->args[INDICES].i ? 2 : 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, out.shape);
    c->outs[1] = kg_tensor_contiguous(KG_I64, in->ndim, out.shape);
    return 0;
}

// ---- what must hold ---------------------------------------------------------------------------------
static double relu(double x) { return x > 0 || isnan(x) ? x : 0; }

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_tensor *in = &call->c->args[INPUT].tensor, *out = &call->c->outs[0];
    const kg_arg *kernel = &call->c->args[KERNEL];
    kg_fractional dims[2];
    for (int k = 0; k < 2; k++)
        dims[k] = (kg_fractional){in->shape[in->ndim - 2 + k], kernel->ints[k < kernel->n ? k : 0],
                                  out->shape[in->ndim - 2 + k]};
    return kg_fractional_pool_holds(a, h, &call->args[INPUT], dims, relu);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_arg *k = &c->args[KERNEL];
    return (double)(k->ints[0] * k->ints[k->n - 1]);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, reach(t, c), 0); }

const kg_task kg_task_kbx_fused_fractional_max_pool2d_with_relu = {
    .name = "fused_fractional_max_pool2d_with_relu",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_fractional_max_pool2d_with_relu(input, kernel_size, output_size=None, output_ratio=None, "
        "return_indices=False) -> Tensor or (Tensor, LongTensor)",
    .summary = "The largest value of relu(input) in windows at random places, and where it is.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 3,
    .holds = holds,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, kernel_size, output_size=None, output_ratio=None, return_indices=False: "
        "F.fractional_max_pool2d(F.relu(input), kernel_size, output_size, output_ratio, return_indices)",
    .c_body =
        "// A plane's rows and columns have a random number each, from which every start follows.\n"
        "const int64_t rows = kg_dim(out, -2), columns = kg_dim(out, -1), t = i / (rows * columns);\n"
        "const int64_t height = kg_dim(input, -2), width = kg_dim(input, -1);\n"
        "const int64_t kh = kernel_size->v[0], kw = kernel_size->v[kernel_size->n - 1];\n"
        "const int64_t p = i / columns % rows, q = i % columns;\n"
        "const double u = kg_uniform(seed, 2 * t), v = kg_uniform(seed, 2 * t + 1);\n"
        "const double a = rows > 1 ? (double)(height - kh) / (double)(rows - 1) : 0.0;\n"
        "const double b = columns > 1 ? (double)(width - kw) / (double)(columns - 1) : 0.0;\n"
        "const int64_t y = p == rows - 1 ? height - kh : (int64_t)(((double)p + u) * a) - (int64_t)(u * a);\n"
        "const int64_t x = q == columns - 1 ? width - kw : (int64_t)(((double)q + v) * b) - (int64_t)(v * b);\n"
        "double most = -1.0;\n"
        "int64_t at = 0;\n"
        "for (int64_t k = y; k < y + kh; k++)\n"
        "    for (int64_t l = x; l < x + kw; l++) {\n"
        "        const double value = kg_get(input, (t * height + k) * width + l);\n"
        "        const double r = value > 0.0 || value != value ? value : 0.0;\n"
        "        if (r <= most || most != most) continue;\n"
        "        most = r;\n"
        "        at = k * width + l;\n"
        "    }\n"
        "kg_put(out, i, most);\n"
        "if (return_indices) kg_put(indices, i, (double)at);\n",
};
