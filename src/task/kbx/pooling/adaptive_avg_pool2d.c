// adaptive_avg_pool2d(input, output_size) -> Tensor
//
// input (N, C, H, W) or (C, H, W); output_size (S0, S1) or one int for both. Output row i averages input rows
// floor(i H / S0) up to ceil((i + 1) H / S0), columns alike: windows may overlap, and repeat when S > H. A None in
// output_size means the input's own size; no case gives one, since C has no None inside a tuple: a caller passes H
// or W.
#include "oracle/resample.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "output_size", .kind = KG_P_INTS}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input, int n, int64_t s0, int64_t s1) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    kg_set_ints(c, b->task, "output_size", n, (int64_t[]){s0, s1});
    if (n == 1) c->args[1].scalar = true;
    return c;
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
    add(b, F32(2, 3, 32, 32), 2, 16, 16);
    add(b, F32(1, 3, 17, 31), 2, 5, 7);    // uneven, overlapping windows
    add(b, F32(3, 17, 31), 2, 5, 7);       // no batch
    add(b, F32(2, 5, 19, 23), 1, 4, 0);    // a bare int
    add(b, F32(2, 5, 19, 23), 1, 1, 0);    // global
    add(b, F32(1, 2, 3, 5), 2, 7, 9);      // more outputs than inputs
    add(b, F32(2, 3, 11, 13), 2, 11, 13);  // the identity
    add(b, F32(1, 1, 1, 1), 2, 1, 1);
    add(b, F32(0, 3, 8, 8), 2, 4, 4);
    add(b, F32(1, 1, 257, 1023), 2, 2, 3);
    add(b, F32(3, 65, 1), 2, 8, 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 3, 17, 31), 2, 3), 2, 5, 7);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(2, 4, 9, 4), 1, 3), 2, 3, 2);
    add(b, F32(1, 3, 40, 40), 2, 7, 7)->args[0].fill = KG_OUTLIERS(0.5, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(2, 3, 33, 29)), 2, 6, 5);
}

static void full(kg_cases *b) {
    for (int64_t s = 1; s <= 13; s += 3) add(b, F32(2, 3, 13, 29), 2, s, 14 - s);
    add(b, F32(1, 2, 512, 512), 1, 1, 0);
    add(b, F32(4, 64, 56, 56), 1, 7, 0);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(2, 3, 33, 29), 2), 2, 6, 5);
    add(b, F32(1, 3, 40, 40), 2, 7, 7)->args[0].fill = KG_SPECIALS(0, 1);
    add(b, F32(1, 3, 400, 400), 2, 3, 3)->args[0].fill = KG_NORMAL(1000, 1);
#undef F32
}

static int cases(kg_cases *b) {
    // One image of three planes halved, as the public benchmark has it.
    const int64_t last = b->level == KG_TIMED_CUDA ? 32768 : 4096, first = b->level == KG_TIMED_CUDA ? 256 : 128;
    switch (b->level) {
    case KG_CASES_QUICK: quick(b); return 0;
    case KG_CASES_FULL:
        quick(b);
        full(b);
        return 0;
    default:
        for (int64_t n = first; n <= last; n *= 2)
            add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1, 3, n, n)), 2, n / 2, n / 2);
        return 0;
    }
}

static int64_t size_at(const kg_arg *sizes, int axis) { return sizes->ints[sizes->n == 1 ? 0 : axis]; }

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[0].tensor;
    const kg_arg *sizes = kg_case_arg(c, t, "output_size");
    if (in->ndim < 3 || in->ndim > 4 || sizes->n < 1 || sizes->n > 2) return -1;
    int64_t shape[KG_MAX_NDIM];
    for (int i = 0; i < in->ndim; i++) shape[i] = in->shape[i];
    for (int axis = 0; axis < 2; axis++) {
        shape[in->ndim - 2 + axis] = size_at(sizes, axis);
        if (shape[in->ndim - 2 + axis] < 0 || in->shape[in->ndim - 2 + axis] == 0) return -1;
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, shape);
    return 0;
}

static void pool_one(const kg_view *in, const kg_tensor *out, int64_t logical, kg_ref *ref, size_t k) {
    int64_t coord[KG_MAX_NDIM];
    kg_coords(out, logical, coord);
    const int y = out->ndim - 2, x = out->ndim - 1;
    const kg_window rows = kg_window_of(coord[y], out->shape[y], in->desc.shape[y]);
    const kg_window columns = kg_window_of(coord[x], out->shape[x], in->desc.shape[x]);
    kg_sum_t s = {0};
    for (coord[y] = rows.from; coord[y] < rows.to; coord[y]++)
        for (coord[x] = columns.from; coord[x] < columns.to; coord[x]++)
            kg_sum_add(&s, kg_at_offset(in, kg_offset_at(&in->desc, coord)));
    const double n = (double)s.n;
    ref->value[k] = kg_sum_value(&s) / n;
    // The division, by n or by 1/n or by each side in turn, rounds up to four times.
    ref->local[k] = kg_sum_local(&s) / n + 4 * fabs(ref->value[k]);
    ref->acc[k] = kg_sum_acc(&s) / n;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    for (size_t k = 0; k < ref->n; k++) pool_one(&in, &call->c->outs[0], ref->index[k], ref, k);
    return 0;
}

// Elements in an average window.
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[0].tensor, *out = &c->outs[0];
    double n = 1;
    for (int i = out->ndim - 2; i < out->ndim; i++)
        if (out->shape[i] > 0) n *= fmax(1, ceil((double)in->shape[i] / (double)out->shape[i]));
    return n;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, reach(t, c), 0); }

const kg_task kg_task_kbx_adaptive_avg_pool2d = {
    .name = "adaptive_avg_pool2d",
    .suite = "kbx",
    .category = "Pooling",
    .signature = "adaptive_avg_pool2d(input, output_size) -> Tensor",
    .summary = "Averages over windows chosen so that the output has the given height and width.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.adaptive_avg_pool2d",
    .cpu_baseline = "onednn",
    .c_body =
        "const int64_t height = kg_dim(out, -2), width = kg_dim(out, -1), rows = kg_dim(input, -2),\n"
        "              columns = kg_dim(input, -1);\n"
        "const int64_t x = i % width, y = i / width % height, plane = i / (width * height);\n"
        "const int64_t y0 = y * rows / height, y1 = ((y + 1) * rows + height - 1) / height;\n"
        "const int64_t x0 = x * columns / width, x1 = ((x + 1) * columns + width - 1) / width;\n"
        "double sum = 0;\n"
        "for (int64_t r = y0; r < y1; r++)\n"
        "    for (int64_t k = x0; k < x1; k++) sum += kg_get(input, (plane * rows + r) * columns + k);\n"
        "kg_put(out, i, sum / (double)((y1 - y0) * (x1 - x0)));\n",
};
