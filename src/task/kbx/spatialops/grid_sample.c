// grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=False) -> Tensor
//
// input (N, C, H, W), grid (N, Ho, Wo, 2), out (N, C, Ho, Wo), or with a depth: (N, C, D, H, W), (N, Do, Ho, Wo, 3).
// The last entry of a grid point is its place along D (or H), the first its place along W. Modes: bilinear (with a
// depth: trilinear), nearest, and without one bicubic. Padding: zeros, border, reflection. grids.c says where a point
// lies, and what it may err by. Grids hold no NaN and no infinity: PyTorch's own versions disagree on where those lie.
//
// Half precision: positions are computed in float32, as PyTorch does on CUDA. Its CPU version (2.15) computes them in
// half precision, is off by hundredths of a pixel and picks wrong ones: no right answer.
#include "task/activations.h"
#include "task/grids.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "grid", .kind = KG_P_TENSOR}, KG_GRID_PARAMS, {.name = NULL}};
enum { INPUT, GRID };

// ---- cases ------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor grid, double reach) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "grid", grid, KG_UNIFORM(-reach, reach));
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
static const char *const paddings[] = {"zeros", "border", "reflection"};
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(2, 3, 17, 31), F32(2, 13, 11, 2), 1.2);
    for (int m = 0; m < 3; m++)
        for (int p = 0; p < 3; p++)
            for (int align = 0; align < 2; align++)
                kg_grid_set(b, add(b, F32(2, 2, 7, 12), F32(2, 9, 10, 2), 1.6), modes[m], paddings[p], align);
    for (int m = 0; m < 3; m++)  // turned back many times
        kg_grid_set(b, add(b, F32(1, 2, 5, 4), F32(1, 9, 10, 2), 13), modes[m], paddings[2], m == 1);
    kg_grid_set(b, add(b, F32(1, 2, 1, 5), F32(1, 6, 7, 2), 3), modes[0], paddings[2], true);  // one row to turn in
    kg_grid_set(b, add(b, F32(1, 2, 1, 5), F32(1, 6, 7, 2), 3), modes[0], paddings[2], false);
    kg_grid_set(b, add(b, F32(1, 2, 1, 5), F32(1, 6, 7, 2), 3), modes[2], paddings[2], true);
    for (int p = 0; p < 3; p++)
        for (int k = 0; k < 4; k++)
            kg_grid_set(b, add(b, F32(2, 2, 4, 5, 7), F32(2, 3, 5, 4, 3), 1.5), modes[k / 2], paddings[p], k % 2);
    add(b, OF(KG_F64, 1, 2, 7, 9), OF(KG_F64, 1, 5, 6, 2), 1.2)->args[INPUT].fill = KG_WIDE_INTEGERS;
    add(b, F32(1, 1, 2, 5003), F32(1, 9, 11, 2), 1);
    add(b, F32(1, 1, 5003, 2), F32(1, 9, 11, 2), 1);
    add(b, F32(1, 1, 3, 5), F32(1, 1, 4099, 2), 1);
    add(b, F32(1, 1, 3, 5), F32(1, 4099, 1, 2), 1);
    add(b, F32(1, 4099, 2, 2), F32(1, 1, 2, 2), 1);
    add(b, F32(1, 1, 1, 1), F32(1, 1, 1, 2), 0.5);
    add(b, F32(0, 3, 7, 9), F32(0, 5, 6, 2), 1);
    add(b, F32(2, 3, 7, 9), F32(2, 0, 6, 2), 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 31), 2, 3), F32(2, 13, 11, 2), 1.2);
    add(b, F32(2, 3, 17, 31), kg_tensor_transposed(KG_F32, KG_SHAPE(2, 13, 11, 2), 1, 3), 1.2);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 3), 1, 3),
        kg_tensor_stepped(KG_F32, KG_SHAPE(2, 3, 4, 2), 2), 1.2);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, OF(others[i], 2, 3, 17, 31), OF(others[i], 2, 13, 11, 2), 1.2);
        kg_grid_set(b, add(b, OF(others[i], 2, 3, 17, 31), OF(others[i], 2, 9, 11, 2), 1.2), modes[i % 2 ? 2 : 1],
                    paddings[i], true);
    }
    kg_grid_set(b, add(b, F32(1, 2, 40, 40), F32(1, 20, 30, 2), 1.2), "nearest", "border", false)->args[INPUT].fill =
        KG_SPECIALS(0, 1);
}

static void full(kg_cases *b) {
    for (int m = 0; m < 3; m++)
        for (int p = 0; p < 3; p++) {
            kg_grid_set(b, add(b, F32(1, 3, 129, 257), F32(1, 65, 33, 2), 1.3), modes[m], paddings[p], m == p);
            kg_grid_set(b, add(b, OF(KG_F64, 1, 2, 9, 5), OF(KG_F64, 1, 8, 9, 2), 4), modes[m], paddings[p], m != p);
            kg_grid_set(b, add(b, OF(KG_F16, 1, 2, 9, 5), OF(KG_F16, 1, 8, 9, 2), 2), modes[m], paddings[p], m != p);
        }
    for (int64_t n = 1; n <= 1025; n = n * 4 + 1) add(b, F32(1, 2, n, 3), F32(1, 3, n, 2), 1.1);
    add(b, F32(1, 3, 40, 40), F32(1, 33, 40, 2), 1.1)->args[INPUT].fill = KG_OUTLIERS(0, 1);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(4, 3, 9, 11), 0), F32(4, 5, 6, 2), 1.1);
    kg_grid_set(b, add(b, OF(KG_F64, 2, 2, 4, 5, 7), OF(KG_F64, 2, 3, 5, 4, 3), 1.5), modes[0], paddings[0], true);
}
#undef F32
#undef OF

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 256 : 64; n <= (cuda ? 2048 : 512); n *= 2)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(cuda ? 16 : 2, 3, n, n)),
            kg_tensor_contiguous(KG_F32, KG_SHAPE(cuda ? 16 : 2, n / 2, n / 2, 2)), 1);
    return 0;
}

// ---- shapes -----------------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[INPUT].tensor, *grid = &c->args[GRID].tensor;
    const int dims = in->ndim - 2;
    int64_t shape[KG_MAX_NDIM] = {in->shape[0], in->shape[1]};
    kg_grid g;
    if (dims < 2 || dims > 3 || grid->ndim != in->ndim || grid->dtype != in->dtype || kg_grid_of(t, c, &g)) return -1;
    if (grid->shape[0] != in->shape[0] || grid->shape[dims + 1] != dims || (dims == 3 && g.mode == KG_GRID_CUBIC))
        return -1;
    for (int d = 0; d < dims; d++) {
        if (in->shape[d + 2] < 1) return -1;
        shape[d + 2] = grid->shape[d + 1];
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, shape);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), grid = kg_call_view(call, "grid");
    const int dims = in.desc.ndim - 2;
    kg_grid g;
    if (kg_grid_of(call->task, call->c, &g)) return -1;
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM], from = 0;
        kg_grid_point p[3] = {{0}};
        kg_coords(&call->c->outs[0], ref->index[k], at);
        from = at[0] * grid.desc.stride[0];
        for (int d = 0; d < dims; d++) from += at[d + 2] * grid.desc.stride[d + 1];
        for (int d = 0; d < dims; d++)
            p[d].at = kg_at_offset(&grid, from + (dims - 1 - d) * grid.desc.stride[dims + 1]);
        kg_grid_put(ref, k, &in, at[0] * in.desc.stride[0] + at[1] * in.desc.stride[1], &g, dims, p);
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    const int dims = c->outs[0].ndim - 2;
    return dims + kg_grid_reads(t, c, dims);
}

// The grid of timed cases lies anywhere in the input; each of its points needs the elements around it.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    const double reads = kg_grid_reads(t, c, in->ndim - 2), outs = (double)kg_numel(&c->outs[0]);
    const double met = kg_distinct_draws(outs * reads, (double)kg_numel(in));
    kg_work_map(t, c, w, 2 * reads, 0);
    w->bytes_read =
        kg_own_bytes(&c->args[GRID].tensor) + fmin(met * (double)kg_dtype_size(in->dtype), kg_own_bytes(in));
}

const kg_task kg_task_kbx_grid_sample = {
    .name = "grid_sample",
    .suite = "kbx",
    .category = "SpatialOps",
    .signature = "grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=False) -> Tensor",
    .summary = "Elements of images, or volumes, at the positions of a grid: interpolated, or the nearest ones.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.grid_sample",
    .c_body =
        "const int dims = out->ndim - 2;\n"
        "double at[3] = {0, 0, 0};\n"
        "int64_t rest = i, point = 0;\n"
        "for (int d = dims - 1; d >= 0; d--) {\n"
        "    point += rest % out->shape[d + 2] * kg_stride(grid, d + 1);\n"
        "    rest /= out->shape[d + 2];\n"
        "}\n"
        "const int64_t image = rest / out->shape[1], plane = rest % out->shape[1];\n"
        "const int64_t start = image * kg_stride(input, 0) + plane * kg_stride(input, 1);\n"
        "point += image * kg_stride(grid, 0);\n"
        "for (int d = 0; d < dims; d++) at[d] = kg_get_at(grid, point + (dims - 1 - d) * kg_stride(grid, -1));\n" KG_GRID_SAMPLE
        "kg_put(out, i, sum);\n",
};
