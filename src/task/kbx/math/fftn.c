// fftn(input, s=None, dim=None, norm=None, *, out=None) -> Tensor
//
// X[k] = scale * sum_j x[j] exp(-2 pi i (j1 k1 / n1 + j2 k2 / n2 + ...)) over the dimensions `dim`: by default all, or
// the last len(s) where s is given. Each is trimmed or padded with zeros to s (-1: as it is). scale is 1 ("backward",
// the default), 1 / sqrt(n) ("ortho") or 1 / n ("forward"). Real and integer inputs are converted; the result is
// complex64, or complex128 for float64 and complex128. Not in the cases: half precision, which PyTorch has on GPUs
// only, and empty tensors, which it refuses.
#include <string.h>

#include "oracle/fourier.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "s", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "norm", .kind = KG_P_STR, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { INPUT, S, DIM, NORM };

// ---- arguments --------------------------------------------------------------------------------------
static bool given(const kg_arg *a) { return !a->none && !a->absent; }

static double scale_of(const kg_arg *norm, double points) {
    if (!given(norm) || strcmp(norm->s, "backward") == 0) return 1;
    return strcmp(norm->s, "ortho") == 0 ? 1 / sqrt(points) : 1 / points;
}

// -1: not a legal choice.
static int fourier_of(const kg_case *c, kg_fourier *f) {
    const kg_arg *s = &c->args[S], *dim = &c->args[DIM];
    const kg_tensor *in = &c->args[INPUT].tensor;
    *f = (kg_fourier){.n = given(dim) ? dim->n : given(s) ? s->n : in->ndim, .points = 1};
    if (f->n > in->ndim || (given(s) && given(dim) && s->n != dim->n)) return -1;
    for (int k = 0; k < f->n; k++) {
        f->dim[k] = given(dim) ? kg_wrap_dim(dim->ints[k], in->ndim) : in->ndim - f->n + k;
        if (f->dim[k] < 0) return -1;
        f->length[k] = given(s) && s->ints[k] != -1 ? s->ints[k] : in->shape[f->dim[k]];
        if (f->length[k] < 1) return -1;
        f->points *= (double)f->length[k];
    }
    f->scale = scale_of(&c->args[NORM], f->points);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    kg_fourier f;
    if (fourier_of(c, &f) || in->ndim == KG_MAX_NDIM) return -1;
    int64_t shape[KG_MAX_NDIM] = {0};
    for (int d = 0; d < in->ndim; d++) shape[d] = in->shape[d];
    for (int k = 0; k < f.n; k++) shape[f.dim[k]] = f.length[k];
    const bool wide = kg_dtype_part(in->dtype) == KG_F64;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(wide ? KG_C128 : KG_C64, in->ndim, shape);
    return 0;
}

// ---- cases ------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor d) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", d,
                   kg_dtype_is_float(kg_dtype_part(d.dtype)) ? KG_NORMAL(0.25, 1)
                   : d.dtype == KG_BOOL || d.dtype == KG_U8  ? KG_INTEGERS(0, d.dtype == KG_BOOL ? 1 : 100)
                                                             : KG_INTEGERS(-100, 100));
    return c;
}
static kg_case *sized(kg_cases *b, kg_case *c, int n, const int64_t *s) {
    kg_set_ints(c, b->task, "s", n, s);
    return c;
}
static kg_case *along(kg_cases *b, kg_case *c, int n, const int64_t *dims) {
    kg_set_ints(c, b->task, "dim", n, dims);
    return c;
}
static kg_case *normed(kg_cases *b, kg_case *c, const char *norm) {
    kg_set_str(c, b->task, "norm", norm);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static void arguments(kg_cases *b, kg_dtype t) {
    along(b, add(b, OF(t, 5, 6, 7)), KG_INTS(0));
    along(b, add(b, OF(t, 5, 6, 7)), KG_INTS(-1));
    along(b, add(b, OF(t, 5, 6, 7)), KG_INTS(2, 0));
    sized(b, add(b, OF(t, 5, 6, 7)), KG_INTS(9));
    sized(b, add(b, OF(t, 5, 6, 7)), KG_INTS(4, 12));
    sized(b, add(b, OF(t, 5, 6, 7)), KG_INTS(-1, 3));
    along(b, sized(b, add(b, OF(t, 5, 6, 7)), KG_INTS(8, 3)), KG_INTS(0, 1));
    along(b, sized(b, add(b, OF(t, 5, 6, 7)), KG_INTS(3, 8)), KG_INTS(-1, 0));
    normed(b, add(b, OF(t, 12, 10)), "ortho");
    normed(b, add(b, OF(t, 12, 10)), "forward");
    normed(b, add(b, OF(t, 12, 10)), "backward");
    along(b, normed(b, add(b, OF(t, 12, 10)), "ortho"), KG_INTS(1));
    along(b, normed(b, sized(b, add(b, OF(t, 12, 10)), KG_INTS(16)), "forward"), KG_INTS(0));
}

static void quick(kg_cases *b) {
    static const int64_t lengths[] = {3, 1, 2, 17, 64, 100, 1024, 1031};
    static const kg_dtype others[] = {KG_C64, KG_F64, KG_C128, KG_I32, KG_I64, KG_U8, KG_BOOL};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
    add(b, OF(KG_F64, 100))->args[INPUT].fill = KG_WIDE_INTEGERS;
    add(b, OF(KG_C128, 60))->args[INPUT].fill = KG_WIDE_INTEGERS;
    add(b, F32(5000));  // 2^3 5^4
    add(b, F32(2, 4500));
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL));
    add(b, F32(33, 65));
    add(b, F32(3, 4, 5, 6));
    add(b, F32(7, 1));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 16), 0, 1));
    along(b, add(b, kg_tensor_transposed(KG_C64, KG_SHAPE(33, 16), 0, 1)), KG_INTS(1));
    add(b, kg_tensor_stepped(KG_C64, KG_SHAPE(9, 20), 3));
    arguments(b, KG_F32);
    arguments(b, KG_C64);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, OF(others[i], 100));
        along(b, add(b, OF(others[i], 11, 24)), KG_INTS(0));
    }
    kg_case *c = add(b, F32(6, 10));
    kg_set_tensor(c, b->task, "out", KG_C64, KG_SHAPE(6, 10), KG_NORMAL(0, 1));
    along(b, add(b, F32(33, 64)), KG_INTS(1))->args[INPUT].fill = KG_NORMAL(100, 1);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {4, 31, 255, 257, 4096, 4099, 16384, 65536};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        add(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
        add(b, kg_tensor_contiguous(KG_C64, 1, &lengths[i]));
    }
    arguments(b, KG_C128);
    add(b, F32(128, 128));
    add(b, F32(2, 1, 3, 1, 5, 7));
    add(b, OF(KG_F64, 4099));
    kg_set_none(kg_case_add(b), b->task, "s");
    kg_case *c = &b->items[b->n - 1];
    kg_set_strided(c, b->task, "input", F32(6, 5), KG_NORMAL(0, 1));
    kg_set_none(c, b->task, "dim");
    kg_set_none(c, b->task, "norm");
    along(b, add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 32), 0)), KG_INTS(0));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int e = 12; e <= (cuda ? 23 : 22); e += cuda ? 1 : 2) add(b, F32((int64_t)1 << e));
    return 0;
}
#undef F32
#undef OF

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    kg_fourier f;
    if (fourier_of(call->c, &f)) return -1;
    return kg_fourier_ref(ref, &in, kg_dtype_is_complex(call->c->args[INPUT].tensor.dtype), &call->c->outs[0], &f);
}

// 5 n log2 n operations, the usual count for a transform of n complex points.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_fourier f;
    kg_work_map(t, c, w, 0, 0);
    if (fourier_of(c, &f)) return;
    w->ops[kg_plain_unit(kg_dtype_part(c->outs[0].dtype))] = 5 * (double)kg_numel(&c->outs[0]) * log2(f.points);
}

// The oracle transforms everything for any piece of the answer, so large ones are looked at in few pieces.
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const double n = (double)kg_numel(&c->outs[0]);
    return n <= 16384 ? 1 : n / 2;
}

const kg_task kg_task_kbx_fftn = {
    .name = "fftn",
    .suite = "kbx",
    .category = "Math",
    .signature = "fftn(input, s=None, dim=None, norm=None, *, out=None) -> Tensor",
    .summary = "Discrete Fourier transform along several dimensions, complex for real inputs too.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "torch.fft.fftn",
    .c_body =
        "// Each output alone: the sum over every element of the transformed dimensions.\n"
        "const int ndim = out->ndim;\n"
        "const int count = (int)(dim ? dim->n : s ? s->n : ndim);\n"
        "int64_t points = 1, rest = i, base = 0, at[8], dims[8];\n"
        "for (int d = ndim - 1; d >= 0; d--) {\n"
        "    at[d] = rest % kg_dim(out, d);\n"
        "    rest /= kg_dim(out, d);\n"
        "    bool fixed = true;\n"
        "    for (int k = 0; k < count; k++) {\n"
        "        dims[k] = dim ? (dim->v[k] + ndim) % ndim : ndim - count + k;\n"
        "        if (dims[k] == d) fixed = false;\n"
        "    }\n"
        "    if (fixed) base += at[d] * kg_stride(input, d);\n"
        "    else points *= kg_dim(out, d);\n"
        "}\n"
        "double re = 0, im = 0;\n"
        "for (int64_t j = 0; j < points; j++) {\n"
        "    int64_t left = j, from = base;\n"
        "    double turns = 0;\n"
        "    bool padding = false;\n"
        "    for (int k = 0; k < count; k++) {\n"
        "        const int d = (int)dims[k];\n"
        "        const int64_t n = kg_dim(out, d), x = left % n;\n"
        "        left /= n;\n"
        "        padding = padding || x >= kg_dim(input, d);\n"
        "        from += x * kg_stride(input, d);\n"
        "        turns += (double)(x * at[d] % n) / (double)n;\n"
        "    }\n"
        "    if (padding) continue;\n"
        "    double a, b;\n"
        "    kg_get_complex_at(input, from, &a, &b);\n"
        "    const double angle = -6.283185307179586477 * (turns - floor(turns)), c = cos(angle), sine = sin(angle);\n"
        "    re += a * c - b * sine;\n"
        "    im += a * sine + b * c;\n"
        "}\n"
        "const double scale = kg_same(norm, \"ortho\") ? 1 / sqrt((double)points) : kg_same(norm, \"forward\") ? 1 / (double)points : 1.0;\n"
        "kg_put_complex_at(out, kg_element(out, i), scale * re, scale * im);\n",
};
