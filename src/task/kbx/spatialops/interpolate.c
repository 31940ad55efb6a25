// interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None) -> Tensor
//
// input (N, C, D0[, D1[, D2]]), floating. Modes: nearest, nearest-exact and area for one to three dimensions, linear
// for one, bilinear and bicubic for two, trilinear for three. Either size or scale_factor is given, as a tuple, or size
// as an int: the output has size, or floor(D scale_factor) elements. C gets both as they were given, and the size in
// out's shape. align_corners has a meaning for linear to cubic alone; None is False.
//
// Output o lies at o (D - 1) / (size - 1) with align_corners (0 when size is 1), else at s (o + 1/2) - 1/2, for linear
// not below 0, where s is 1 / scale_factor where that is given (PyTorch's recompute_scale_factor=None) and D / size
// where it is not. nearest reads floor(s o), nearest-exact floor(s (o + 1/2)), area averages as adaptive pooling does,
// wherefore a scale_factor only counts for its size. Elements outside are the nearest ones inside.
//
// Bounds: a position is rounded four times (s, its product, the subtraction): resample.c has what follows from that.
// Half precision: PyTorch on the CPU keeps cubic weights in it, so they may be. nearest: PyTorch computes s in float32,
// so where s o is an integer but s no float32 either neighbour is right.
#include <string.h>

#include "oracle/reduce.h"
#include "oracle/resample.h"
#include "oracle/windows.h"
#include "task/activations.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "size", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "scale_factor", .kind = KG_P_FLOATS, .optional = true, .nullable = true, .keyword = true},
    {.name = "mode", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "nearest"},
    {.name = "align_corners", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, SIZE, SCALE, MODE, ALIGN };

typedef enum { NEAREST, NEAREST_EXACT, AREA, LINEAR, CUBIC } method;
static const struct {
    const char *mode;
    method m;
    int least, most;  // spatial dimensions
} modes[] = {{"nearest", NEAREST, 1, 3}, {"nearest-exact", NEAREST_EXACT, 1, 3},
             {"area", AREA, 1, 3},       {"linear", LINEAR, 1, 1},
             {"bilinear", LINEAR, 2, 2}, {"trilinear", LINEAR, 3, 3},
             {"bicubic", CUBIC, 2, 2}};

static int mode_of(const kg_case *c) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].mode, c->args[MODE].s) == 0) return (int)i;
    return -1;
}

// ---- cases ------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, const char *mode) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    if (mode) kg_set_str(c, b->task, "mode", mode);
    return c;
}
static kg_case *sized(kg_cases *b, kg_tensor input, const char *mode, int n, const int64_t *size) {
    kg_case *c = add(b, input, mode);
    kg_set_ints(c, b->task, "size", n, size);
    return c;
}
static kg_case *bare(kg_cases *b, kg_tensor input, const char *mode, int64_t size) {
    kg_case *c = sized(b, input, mode, 1, &size);
    c->args[SIZE].scalar = true;
    return c;
}
static kg_case *scaled(kg_cases *b, kg_tensor input, const char *mode, double f0, double f1, double f2) {
    kg_case *c = add(b, input, mode);
    kg_set_floats(c, b->task, "scale_factor", input.ndim - 2, (const double[]){f0, f1, f2});
    return c;
}
static kg_case *aligned(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "align_corners", true);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
// Up, down, both; to one element and from one; with align_corners where that has a meaning.
static void mode_cases(kg_cases *b, const char *mode, bool aligns) {
    sized(b, F32(2, 3, 9, 11), mode, KG_INTS(18, 22));
    sized(b, F32(2, 3, 17, 31), mode, KG_INTS(11, 40));
    sized(b, F32(1, 2, 16, 12), mode, KG_INTS(5, 3));
    sized(b, F32(1, 2, 5, 1), mode, KG_INTS(1, 7));
    scaled(b, F32(2, 3, 9, 11), mode, 1.7, 0.6, 0);
    if (!aligns) return;
    aligned(b, sized(b, F32(2, 3, 17, 31), mode, KG_INTS(11, 40)));
    aligned(b, sized(b, F32(1, 2, 5, 1), mode, KG_INTS(1, 7)));
    aligned(b, scaled(b, F32(2, 3, 9, 11), mode, 1.7, 0.6, 0));
}

static const char *const two[] = {"nearest", "nearest-exact", "area", "bilinear", "bicubic"};
static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
static void quick(kg_cases *b) {
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) mode_cases(b, two[i], two[i][0] == 'b');
    bare(b, F32(2, 3, 9, 11), NULL, 20);  // the default mode
    bare(b, F32(2, 3, 9, 11), "bilinear", 20);
    sized(b, F32(2, 3, 13), NULL, KG_INTS(31));
    sized(b, F32(2, 3, 13), "linear", KG_INTS(31));
    aligned(b, sized(b, F32(2, 3, 13), "linear", KG_INTS(31)));
    scaled(b, F32(2, 3, 130), "linear", 0.3, 0, 0);
    sized(b, F32(2, 3, 13), "area", KG_INTS(5));
    sized(b, F32(1, 2, 5, 7, 4), "nearest", KG_INTS(9, 3, 8));
    sized(b, F32(1, 2, 5, 7, 4), "trilinear", KG_INTS(9, 3, 8));
    aligned(b, sized(b, F32(1, 2, 5, 7, 4), "trilinear", KG_INTS(9, 3, 8)));
    scaled(b, F32(1, 2, 5, 7, 4), "trilinear", 1.5, 0.5, 2.3);
    for (size_t i = 0; i < 2; i++) {  // one over the factor is not the sizes' ratio
        scaled(b, F32(2, 3, 131), two[i], 0.37, 0, 0);
        scaled(b, F32(1, 2, 5, 7, 9), two[i], 1.7, 0.6, 2.3);
    }
    sized(b, F32(1, 2, 5, 7, 4), "area", KG_INTS(3, 4, 2));
    sized(b, F32(2, 3, 9, 11), "bilinear", KG_INTS(9, 11));  // the identity
    sized(b, F32(1, 1, 1, 1), "bilinear", KG_INTS(1, 1));
    sized(b, F32(0, 3, 9, 11), "bilinear", KG_INTS(18, 22));
    sized(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 9, 11), 2, 3), "bilinear", KG_INTS(13, 7));
    sized(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 11, 9, 11), 1, 3), "bicubic", KG_INTS(13, 7));
    sized(b, kg_tensor_stepped(KG_F32, KG_SHAPE(2, 3, 9, 11), 2), "nearest", KG_INTS(13, 7));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        sized(b, OF(others[i], 2, 3, 9, 11), "bilinear", KG_INTS(18, 7));
        sized(b, OF(others[i], 2, 3, 9, 11), "bicubic", KG_INTS(18, 7));
    }
    sized(b, OF(KG_F64, 1, 2, 9, 11), "bilinear", KG_INTS(18, 7))->args[INPUT].fill = KG_WIDE_INTEGERS;
    sized(b, F32(1, 1, 2, 5003), "bilinear", KG_INTS(3, 4500));
    sized(b, F32(1, 1, 2, 5003), "area", KG_INTS(1, 1));
    sized(b, F32(1, 1, 5003, 2), "nearest", KG_INTS(5003, 3));
    sized(b, OF(KG_F16, 2, 3, 9, 11), "nearest", KG_INTS(18, 7));
    sized(b, OF(KG_F16, 2, 3, 33, 41), "area", KG_INTS(3, 2));
    sized(b, F32(1, 3, 40, 40), "nearest", KG_INTS(57, 33))->args[INPUT].fill = KG_SPECIALS(0, 1);
    sized(b, F32(1, 3, 40, 40), "bilinear", KG_INTS(57, 33))->args[INPUT].fill = KG_OUTLIERS(0, 1);
}

static void full(kg_cases *b) {
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        for (int64_t n = 1; n <= 300; n = n * 3 + 2) sized(b, F32(1, 2, 23, 37), two[i], KG_INTS(n, 301 - n));
        bare(b, F32(1, 1, 128, 130), two[i], 257);
        scaled(b, F32(2, 2, 31, 29), two[i], 3, 1.0 / 3, 0);
        sized(b, kg_tensor_expanded(KG_F32, KG_SHAPE(3, 2, 9, 11), 0), two[i], KG_INTS(5, 12));
    }
    sized(b, F32(1, 2, 4099), "linear", KG_INTS(1000));
    scaled(b, F32(1, 2, 1000), "nearest", 2.7, 0, 0);
    aligned(b, sized(b, OF(KG_F64, 1, 2, 5, 7, 4), "trilinear", KG_INTS(9, 3, 8)));
    aligned(b, sized(b, OF(KG_F16, 2, 3, 9, 11), "bicubic", KG_INTS(18, 7)));
    for (size_t i = 1; i < sizeof others / sizeof *others; i++) {
        sized(b, OF(others[i], 2, 3, 9, 11), "nearest", KG_INTS(18, 7));
        sized(b, OF(others[i], 2, 3, 33, 41), "area", KG_INTS(3, 2));
    }
    sized(b, F32(1, 3, 40, 40), "area", KG_INTS(20, 13))->args[INPUT].fill = KG_NORMAL(1000, 1);
}
#undef F32
#undef OF

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 32; n <= 256; n *= 2)  // doubled, as the public benchmark has it
        sized(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(2, 3, n, n)), "bilinear", KG_INTS(2 * n, 2 * n));
    return 0;
}

// ---- shapes -----------------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const kg_arg *size = &c->args[SIZE], *scale = &c->args[SCALE];
    const int dims = in->ndim - 2, mode = mode_of(c);
    int64_t shape[KG_MAX_NDIM];
    if (mode < 0 || dims < modes[mode].least || dims > modes[mode].most || size->none == scale->none) return -1;
    const kg_arg *lengths = size->none ? scale : size;
    if (lengths->n != dims && !(lengths->scalar && lengths->n == 1)) return -1;
    const method m = modes[mode].m;
    if (!c->args[ALIGN].none && !c->args[ALIGN].absent && m != LINEAR && m != CUBIC)
        return -1;  // as PyTorch refuses it
    for (int d = 0; d < in->ndim; d++) {
        shape[d] = in->shape[d];
        if (d < 2) continue;
        if (size->none) shape[d] = (int64_t)floor((double)in->shape[d] * scale->floats[d - 2]);
        else shape[d] = size->ints[size->n == 1 ? 0 : d - 2];
        if (shape[d] < 1 || in->shape[d] < 1) return -1;
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, shape);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
static kg_taps taps_of(const kg_case *c, method m, int d, int64_t o) {
    const int64_t n = c->args[INPUT].tensor.shape[d], size = c->outs[0].shape[d];
    const bool given = !c->args[SCALE].none;
    const double s = given ? 1 / c->args[SCALE].floats[d - 2] : (double)n / (double)size;
    kg_taps t;
    if (m == NEAREST || m == NEAREST_EXACT) {
        const double at = s * ((double)o + (m == NEAREST ? 0 : 0.5));
        t = kg_taps_floor(at, at == 0 || (double)(float)s == s ? 0 : kg_slack(at));
    } else {
        kg_position p = {.at = s * ((double)o + 0.5) - 0.5};
        if (c->args[ALIGN].i) p.at = size > 1 ? (double)o * (double)(n - 1) / (double)(size - 1) : 0;
        else if (m == LINEAR) p.at = fmax(0, p.at);
        p.error = 4 * (fabs(p.at) + 1);
        p.slack = kg_slack(p.at);
        t = m == LINEAR ? kg_taps_linear(p) : kg_taps_cubic(p);
    }
    kg_taps_clamp(&t, n);
    return t;
}

static void put_area(const kg_view *in, const kg_tensor *out, const int64_t *at, int64_t start, kg_ref *ref, size_t k) {
    kg_span w[3] = {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}};
    int64_t step[3] = {0};
    const int dims = out->ndim - 2;
    for (int d = 0; d < dims; d++) {
        w[d] = kg_adaptive_span(in->desc.shape[d + 2], out->shape[d + 2], at[d + 2]);
        step[d] = in->desc.stride[d + 2];
    }
    kg_sum_t s = {0};
    for (int64_t x = w[0].from; x < w[0].from + w[0].n; x++)
        for (int64_t y = w[1].from; y < w[1].from + w[1].n; y++)
            for (int64_t z = w[2].from; z < w[2].from + w[2].n; z++)
                kg_sum_add(&s, kg_at_offset(in, start + x * step[0] + y * step[1] + z * step[2]));
    const double n = (double)s.n, mean = kg_sum_value(&s) / n;
    // The division, by n or by each length in turn, rounds up to six times.
    kg_ref_put(ref, k, kg_is_half(out->dtype), mean, 6 * fabs(mean), fabs(mean), kg_sum_acc(&s) / n);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_tensor *out = &call->c->outs[0];
    const method m = modes[mode_of(call->c)].m;
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM];
        kg_taps taps[3];
        kg_coords(out, ref->index[k], at);
        const int64_t start = at[0] * in.desc.stride[0] + at[1] * in.desc.stride[1];
        if (m == AREA) {
            put_area(&in, out, at, start, ref, k);
            continue;
        }
        for (int d = 2; d < out->ndim; d++) taps[d - 2] = taps_of(call->c, m, d, at[d]);
        if (m == LINEAR || m == CUBIC) {
            const kg_weighted p = kg_taps_weighted(&in, start, out->ndim - 2, taps);
            const double weights = m == CUBIC ? 2 * p.magnitude : 0;
            kg_ref_put(ref, k, kg_is_half(out->dtype), p.value, p.local, fabs(p.value) + weights, 0);
        } else {
            const kg_point p = kg_taps_picked(&in, start, out->ndim - 2, taps);
            kg_ref_put(ref, k, false, p.value, p.local, 0, 0);
        }
    }
    return 0;
}

// Elements read for one output.
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const method m = modes[mode_of(c)].m;
    double n = 1;
    for (int d = 2; d < c->outs[0].ndim; d++) {
        const double ratio = (double)c->args[INPUT].tensor.shape[d] / (double)c->outs[0].shape[d];
        n *= m == AREA ? fmax(1, ceil(ratio)) : m == LINEAR ? 2 : m == CUBIC ? 4 : 1;
    }
    return n;
}

// Shrunk to less than one element in `reach`, an input need not be read whole.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double touched = reach(t, c) * (double)kg_numel(&c->outs[0]), n = (double)kg_numel(&c->args[INPUT].tensor);
    kg_work_map(t, c, w, 2 * reach(t, c), 0);
    if (n > 0) w->bytes_read *= fmin(1, touched / n);
}

const kg_task kg_task_kbx_interpolate = {
    .name = "interpolate",
    .suite = "kbx",
    .category = "SpatialOps",
    .signature = "interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None) -> Tensor",
    .summary = "Resizes the dimensions behind the first two: nearest, linear, cubic, or by averaging areas.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.interpolate",
    .c_body =
        "// Along each dimension first + 0 .. first + taps - 1, with weights, clamped to what is there.\n"
        "const bool nearest = kg_same(mode, \"nearest\"), exact = kg_same(mode, \"nearest-exact\");\n"
        "const bool area = kg_same(mode, \"area\"), cubic = kg_same(mode, \"bicubic\");\n"
        "const int dims = out->ndim - 2;\n"
        "int64_t first[3] = {0, 0, 0}, taps[3] = {1, 1, 1}, n[3] = {1, 1, 1}, step[3] = {0, 0, 0}, rest = i;\n"
        "double at[3] = {0, 0, 0};\n"
        "(void)size;  // it is in out's shape\n"
        "for (int d = dims - 1; d >= 0; d--) {\n"
        "    const int64_t to = out->shape[d + 2], o = rest % to;\n"
        "    rest /= to;\n"
        "    n[d] = input->shape[d + 2];\n"
        "    step[d] = kg_stride(input, d + 2);\n"
        "    const double s = scale_factor ? 1.0 / scale_factor->v[d] : (double)n[d] / (double)to;\n"
        "    if (area) {\n"
        "        first[d] = o * n[d] / to;\n"
        "        taps[d] = ((o + 1) * n[d] + to - 1) / to - first[d];\n"
        "    } else if (nearest || exact) {\n"
        "        first[d] = (int64_t)floor(((double)o + (exact ? 0.5 : 0.0)) * s);\n"
        "    } else {\n"
        "        at[d] = s * ((double)o + 0.5) - 0.5;\n"
        "        if (align_corners) at[d] = to > 1 ? (double)o * (double)(n[d] - 1) / (double)(to - 1) : 0.0;\n"
        "        else if (!cubic) at[d] = fmax(at[d], 0.0);\n"
        "        first[d] = (int64_t)floor(at[d]) - (cubic ? 1 : 0);\n"
        "        taps[d] = cubic ? 4 : 2;\n"
        "    }\n"
        "}\n"
        "const int64_t start = rest / input->shape[1] * kg_stride(input, 0) + rest % input->shape[1] * "
        "kg_stride(input, 1);\n"
        "double sum = 0;\n"
        "for (int64_t k = 0; k < taps[0] * taps[1] * taps[2]; k++) {\n"
        "    int64_t which = k, from = start;\n"
        "    double weight = area ? 1.0 / (double)(taps[0] * taps[1] * taps[2]) : 1.0;\n"
        "    for (int d = 2; d >= 0; d--) {\n"
        "        const int64_t x = first[d] + which % taps[d], far = x < 0 ? 0 : x >= n[d] ? n[d] - 1 : x;\n"
        "        which /= taps[d];\n"
        "        from += far * step[d];\n"
        "        const double s = fabs(at[d] - (double)x);\n"
        "        if (d >= dims || nearest || exact || area) continue;\n"
        "        if (!cubic) weight *= 1.0 - s;\n"
        "        else if (s < 1) weight *= (1.25 * s - 2.25) * s * s + 1.0;\n"
        "        else weight *= ((-0.75 * s + 3.75) * s - 6.0) * s + 3.0;\n"
        "    }\n"
        "    sum += weight * kg_get_at(input, from);\n"
        "}\n"
        "kg_put(out, i, sum);\n",
};
