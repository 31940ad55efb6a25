// grid_sample_with_affine(input, theta, size, mode='bilinear', padding_mode='zeros', align_corners=False) -> Tensor
//
// grid_sample(input, affine_grid(theta, size)): input (N, C, H, W), theta (N, 2, 3), size (N, C, Ho, Wo) with the N and
// C of input. Output pixel (y, x) has the coordinates v = (2 y + 1) / Ho - 1 and u = (2 x + 1) / Wo - 1, with
// align_corners 2 y / (Ho - 1) - 1 and 2 x / (Wo - 1) - 1 (0 where the length is 1), and reads input at theta (u, v,
// 1): first along W, then along H. From there on as grid_sample (grids.c).
//
// A coordinate theta_0 u + theta_1 v + theta_2 rounds at each of its steps, those of u and v among them: 6 u (|theta_0
// u|
// + |theta_1 v| + |theta_2|). In half precision PyTorch stores the grid, so a kernel may: u and v, made in a few steps
// of half precision, by 4 u of the largest, and the sum.
#include "oracle/reduce.h"
#include "task/activations.h"
#include "task/grids.h"
#include "task/selection.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "theta", .kind = KG_P_TENSOR},
                                  {.name = "size", .kind = KG_P_INTS},
                                  KG_GRID_PARAMS,
                                  {.name = NULL}};
enum { INPUT, THETA, SIZE };

// ---- cases ------------------------------------------------------------------------------------------
static kg_case *of(kg_cases *b, kg_tensor input, kg_tensor theta, int64_t height, int64_t width) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "theta", theta, KG_UNIFORM(-1, 1));
    kg_set_ints(c, b->task, "size", KG_INTS(input.shape[0], input.shape[1], height, width));
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor input, int64_t height, int64_t width) {
    return of(b, input, kg_tensor_contiguous(input.dtype, KG_SHAPE(input.shape[0], 2, 3)), height, width);
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
static const char *const paddings[] = {"zeros", "border", "reflection"};
static void quick(kg_cases *b) {
    add(b, F32(2, 3, 17, 31), 13, 11);
    for (int m = 0; m < 3; m++)
        for (int p = 0; p < 3; p++)
            for (int align = 0; align < 2; align++)
                kg_grid_set(b, add(b, F32(3, 2, 7, 12), 9, 10), modes[m], paddings[p], align);
    add(b, OF(KG_F64, 1, 2, 7, 9), 5, 6)->args[INPUT].fill = KG_WIDE_INTEGERS;
    add(b, F32(2, 1, 2, 5003), 9, 11);
    add(b, F32(2, 1, 5003, 2), 9, 11);
    add(b, F32(1, 1, 3, 5), 1, 4099);
    add(b, F32(1, 1, 3, 5), 4099, 1);
    add(b, F32(1, 1, 1, 1), 1, 1);
    add(b, F32(1031, 1, 2, 2), 1, 3);
    add(b, F32(1, 1031, 2, 2), 2, 1);
    kg_grid_set(b, add(b, F32(2, 3, 1, 7), 5, 6), modes[2], paddings[2], true);  // one row, and no length to turn in
    kg_grid_set(b, add(b, F32(3, 2, 5, 6), 1, 7), modes[0], paddings[1], true);  // one row: its coordinate is 0
    kg_grid_set(b, add(b, F32(3, 2, 5, 6), 7, 1), modes[0], paddings[1], false);
    kg_grid_set(b, add(b, F32(2, 3, 9, 9), 9, 9), modes[2], paddings[2], false)->args[THETA].fill = KG_UNIFORM(-5, 5);
    for (int m = 0; m < 3; m++)
        for (int p = 0; p < 3; p++)
            kg_grid_set(b, add(b, F32(2, 2, 5, 6), 7, 8), modes[m], paddings[p], m != 1)->args[THETA].fill =
                KG_UNIFORM(-5, 5);
    for (int m = 0; m < 2; m++)
        kg_grid_set(b, add(b, F32(2, 2, 5, 6), 7, 8), modes[m], paddings[2], m == 1)->args[THETA].fill =
            KG_UNIFORM(-5, 5);
    of(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 31), 2, 3), F32(2, 2, 3), 13, 11);
    of(b, F32(2, 3, 17, 31), kg_tensor_transposed(KG_F32, KG_SHAPE(2, 2, 3), 1, 2), 13, 11);
    of(b, F32(2, 3, 17, 31), kg_tensor_expanded(KG_F32, KG_SHAPE(2, 2, 3), 0), 13, 11);
    add(b, OF(KG_F64, 2, 3, 17, 31), 13, 11);
    kg_grid_set(b, add(b, OF(KG_F64, 2, 3, 17, 31), 13, 11), modes[2], paddings[2], true);
    add(b, OF(KG_F16, 2, 3, 9, 7), 13, 11);
    add(b, OF(KG_BF16, 2, 3, 9, 7), 13, 11);
    kg_grid_set(b, add(b, OF(KG_F16, 2, 3, 9, 7), 13, 11), modes[2], paddings[1], false);
    kg_grid_set(b, add(b, OF(KG_F16, 2, 3, 9, 7), 13, 11), modes[1], paddings[1], true);
    kg_grid_set(b, add(b, F32(2, 3, 40, 40), 13, 31), modes[1], paddings[1], false)->args[INPUT].fill =
        KG_SPECIALS(0, 1);
}

static void full(kg_cases *b) {
    for (int m = 0; m < 3; m++)
        for (int p = 0; p < 3; p++) {
            kg_grid_set(b, add(b, F32(2, 3, 129, 257), 65, 66), modes[m], paddings[p], m == p);
            kg_grid_set(b, add(b, OF(KG_F64, 2, 2, 9, 5), 7, 8), modes[m], paddings[p], m != p);
        }
    for (int64_t n = 1; n <= 257; n = n * 4 + 1) add(b, F32(1, 2, n, 3), 3, n);
    add(b, F32(1, 3, 40, 40), 33, 40)->args[INPUT].fill = KG_OUTLIERS(0, 1);
    add(b, OF(KG_F16, 1, 1, 5, 4), KG_SIDE_PAST_32_BITS, KG_SIDE_PAST_32_BITS)->large = true;
}
#undef F32
#undef OF

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 32; n <= 1024; n *= b->level == KG_TIMED_CUDA ? 2 : 4)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1, 3, 256, 256)), n, n);
    return 0;
}

// ---- shapes -----------------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[INPUT].tensor, *theta = &c->args[THETA].tensor;
    const kg_arg *size = &c->args[SIZE];
    kg_grid g;
    if (in->ndim != 4 || theta->ndim != 3 || theta->dtype != in->dtype || size->n != 4 || kg_grid_of(t, c, &g))
        return -1;
    if (theta->shape[0] != in->shape[0] || theta->shape[1] != 2 || theta->shape[2] != 3) return -1;
    for (int d = 0; d < 4; d++)
        if (d < 2 ? size->ints[d] != in->shape[d] : size->ints[d] < 1 || in->shape[d] < 1) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, 4, size->ints);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
static double normalised(int64_t i, int64_t n, bool align) {
    if (n == 1) return 0;
    return align ? 2 * (double)i / (double)(n - 1) - 1 : (2 * (double)i + 1) / (double)n - 1;
}

static kg_grid_point turned(const kg_view *theta, int64_t start, double u, double v) {
    const int64_t step = theta->desc.stride[2];
    const double a = kg_at_offset(theta, start), b = kg_at_offset(theta, start + step);
    const double shift = kg_at_offset(theta, start + 2 * step), sum = a * u + b * v + shift;
    const double stored = 4 * (fabs(a) + fabs(b)) + fabs(sum);
    // u and v are near 0 by cancellation: what they are off by does not shrink with them.
    return (kg_grid_point){sum, 6 * (fabs(a * u) + fabs(b * v) + fabs(shift)) + 4 * (fabs(a) + fabs(b)),
                           kg_is_half(theta->desc.dtype) ? kg_dtype_unit(theta->desc.dtype) * stored : 0};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), theta = kg_call_view(call, "theta");
    const kg_tensor *out = &call->c->outs[0];
    kg_grid g;
    if (kg_grid_of(call->task, call->c, &g)) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM];
        kg_coords(out, ref->index[k], at);
        const double v = normalised(at[2], out->shape[2], g.align), u = normalised(at[3], out->shape[3], g.align);
        const int64_t first = at[0] * theta.desc.stride[0];
        const kg_grid_point p[2] = {turned(&theta, first + theta.desc.stride[1], u, v), turned(&theta, first, u, v)};
        kg_grid_put(ref, k, &in, at[0] * in.desc.stride[0] + at[1] * in.desc.stride[1], &g, 2, p);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) { return 6 + kg_grid_reads(t, c, 2); }

// How much of the input theta's parallelogram covers depends on its values; it may be none.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 2 * kg_grid_reads(t, c, 2), 0);
    w->bytes_read = kg_own_bytes(&c->args[THETA].tensor);
}

const kg_task kg_task_kbx_grid_sample_with_affine = {
    .name = "grid_sample_with_affine",
    .suite = "kbx",
    .category = "SpatialOps",
    .signature =
        "grid_sample_with_affine(input, theta, size, mode='bilinear', padding_mode='zeros', align_corners=False) "
        "-> Tensor",
    .summary = "Images turned, scaled and moved by a matrix each: grid_sample on the grid that affine_grid makes.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, theta, size, mode='bilinear', padding_mode='zeros', align_corners=False: "
        "F.grid_sample(input, F.affine_grid(theta, size, align_corners=align_corners), mode=mode, "
        "padding_mode=padding_mode, align_corners=align_corners)",
    .c_body =
        "const int dims = 2;\n"
        "const int64_t width = kg_dim(out, 3), height = kg_dim(out, 2), plane = i / (width * height);\n"
        "const int64_t image = plane / kg_dim(out, 1);\n"
        "const int64_t start = image * kg_stride(input, 0) + plane % kg_dim(out, 1) * kg_stride(input, 1);\n"
        "const double x = (double)(i % width), y = (double)(i / width % height);\n"
        "double u = (2 * x + 1) / (double)width - 1, v = (2 * y + 1) / (double)height - 1, at[2];\n"
        "(void)size;  // it is out's shape\n"
        "if (align_corners) {\n"
        "    u = width > 1 ? 2 * x / (double)(width - 1) - 1 : 0.0;\n"
        "    v = height > 1 ? 2 * y / (double)(height - 1) - 1 : 0.0;\n"
        "}\n"
        "for (int d = 0; d < 2; d++) {\n"
        "    const int64_t row = (image * 2 + 1 - d) * 3;  // along W first\n"
        "    at[d] = kg_get(theta, row) * u + kg_get(theta, row + 1) * v + kg_get(theta, row + 2);\n"
        "}\n" KG_GRID_SAMPLE "kg_put(out, i, sum);\n",
};
