// tile_clamp(input, dims, min, max) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// torch.clamp(torch.tile(input, dims), min, max). dims is a tuple, filled up with ones in front as torch.tile does; a
// bare int, which the two candidates read in two ways, is no case. min and max are Numbers or tensors of input's dtype
// that broadcast to the tiled shape. Where min is above max the answer is max. NaN stays NaN; bounds are not NaN.
// Exact: a Number is rounded as the output is.
#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "dims", .kind = KG_P_INTS},
                                  {.name = "min", .kind = KG_P_TENSOR},
                                  {.name = "max", .kind = KG_P_TENSOR},
                                  {.name = NULL}};
enum { INPUT, DIMS, LOW, HIGH };

// Values of deviation 1: a quarter lies below the bounds of deviation 0.5 around -0.5, a quarter above those around
// 0.5, and in places they cross.
static kg_case *add(kg_cases *b, kg_tensor input, int n, const int64_t *dims, kg_tensor low, kg_tensor high) {
    const bool real = kg_dtype_is_float(input.dtype), u8 = input.dtype == KG_U8;
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input,
                   real ? KG_NORMAL(0, 1)
                   : u8 ? KG_INTEGERS(0, 255)
                        : KG_INTEGERS(-99, 99));
    kg_set_ints(c, b->task, "dims", n, dims);
    kg_set_strided(c, b->task, "min", low, real ? KG_NORMAL(-0.5, 0.5) : u8 ? KG_INTEGERS(0, 99) : KG_INTEGERS(-99, 9));
    kg_set_strided(c, b->task, "max", high,
                   real ? KG_NORMAL(0.5, 0.5)
                   : u8 ? KG_INTEGERS(90, 250)
                        : KG_INTEGERS(-9, 99));
    return c;
}
static kg_case *numbers(kg_cases *b, kg_tensor input, int n, const int64_t *dims, double low, double high) {
    const kg_tensor scalar = kg_tensor_contiguous(input.dtype, 0, NULL);
    kg_case *c = add(b, input, n, dims, scalar, scalar);
    kg_set_number(c, b->task, "min", low);
    kg_set_number(c, b->task, "max", high);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static void bounded(kg_cases *b) {
    const kg_tensor one = kg_tensor_contiguous(KG_F32, 0, NULL);
    add(b, F32(33, 65), KG_INTS(2, 3), one, one);
    add(b, F32(33, 65), KG_INTS(2, 3), F32(1), F32(195));
    add(b, F32(33, 65), KG_INTS(2, 3), F32(66, 1), F32(1, 195));
    add(b, F32(33, 65), KG_INTS(3, 2), F32(99, 130), F32(130));  // the bounds are not tiled
    add(b, F32(5, 7, 3), KG_INTS(2, 3), F32(14, 1), F32(5, 1, 9));
    add(b, F32(17), KG_INTS(3), F32(51), F32(51));
    add(b, F32(33, 65), KG_INTS(2, 1), kg_tensor_transposed(KG_F32, KG_SHAPE(66, 65), 0, 1), F32(65));
    add(b, F32(9, 31), KG_INTS(1, 2), F32(62), kg_tensor_stepped(KG_F32, KG_SHAPE(62), 3));
    kg_set_number(add(b, F32(33, 65), KG_INTS(1, 2), one, F32(130)), b->task, "min", -0.25);
    kg_set_number(add(b, F32(33, 65), KG_INTS(1, 2), F32(33, 1), one), b->task, "max", 0.1);
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_I8, KG_U8};
    numbers(b, F32(3), KG_INTS(2), -0.5, 0.5);
    numbers(b, F32(1), KG_INTS(1025), -0.5, 0.5);
    numbers(b, F32(1023), KG_INTS(3), -0.5, 0.5);
    numbers(b, F32(17), KG_INTS(1), -0.5, 0.1);
    numbers(b, F32(0), KG_INTS(3), -0.5, 0.5);
    numbers(b, F32(5), KG_INTS(0), -0.5, 0.5);
    numbers(b, F32(33, 65), KG_INTS(3, 1), -0.3, 1.25);
    numbers(b, F32(33, 65), KG_INTS(2), -1, 0);    // the last dimension
    numbers(b, F32(7), KG_INTS(3, 2), -0.5, 0.5);  // a new dimension in front
    numbers(b, F32(5, 7), KG_INTS(2, 1, 3), -0.5, 0.5);
    numbers(b, F32(2, 3, 5, 7), KG_INTS(1, 2, 1, 2), 0.25, 0.5);
    numbers(b, F32(33, 31), KG_INTS(2, 2), 0.75, -0.75);  // min above max
    numbers(b, F32(515), KG_INTS(2), -INFINITY, 0.5);
    numbers(b, kg_tensor_contiguous(KG_F32, 0, NULL), KG_INTS(4), -0.5, 0.5);
    numbers(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), KG_INTS(2, 2), -0.5, 0.5);
    numbers(b, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), KG_INTS(2), -0.5, 0.5);
    bounded(b);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kg_case *c = add(b, OF(others[i], 17, 31), KG_INTS(2, 3), OF(others[i], 34, 1), OF(others[i], 93));
        if (kg_exceeds_float(others[i])) c->args[INPUT].fill = c->args[HIGH].fill = KG_BEYOND_FLOAT;
    }
    numbers(b, OF(KG_F16, 131), KG_INTS(3), -0.5, 0.1);
    numbers(b, F32(515), KG_INTS(2), -0.5, 0.5)->args[INPUT].fill = KG_SPECIALS(0, 2);
    add(b, F32(515), KG_INTS(2), F32(1030), F32(1030))->args[INPUT].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1) numbers(b, F32(n), KG_INTS(3), -0.5, 0.5);
    numbers(b, kg_tensor_contiguous(KG_F32, 0, NULL), KG_INTS(2, 3), -0.1, 0.1);
    add(b, F32(2, 3, 4, 5, 6), KG_INTS(2, 1, 3, 1, 2), F32(12, 1, 1), F32(3, 1, 5, 12));
    add(b, F32(1, 5, 1), KG_INTS(3, 1, 7), F32(3, 5, 7), F32(3, 1, 1));
    numbers(b, F32(5, 7), KG_INTS(2, 0), -0.5, 0.5);
    numbers(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), KG_INTS(2, 1), -0.5, 0.5);
    add(b, F32(33, 65), KG_INTS(2, 1), kg_tensor_expanded(KG_F32, KG_SHAPE(66, 65), 0), F32(65));
    numbers(b, OF(KG_F16, 515), KG_INTS(3), -0.5, 0.5)->args[INPUT].fill = KG_SPECIALS(0, 2);
}
#undef F32
#undef OF

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    const int64_t width = n < 4096 ? n : 4096;
    kg_set_tensor(c, t, "input", d, KG_SHAPE(n / width, width), KG_NORMAL(0, 1));
    kg_set_ints(c, t, "dims", KG_INTS(2, 2));
    kg_set_number(c, t, "min", -0.5);
    kg_set_number(c, t, "max", 0.5);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 5, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_arg *const values[] = {&c->args[INPUT], &c->args[LOW], &c->args[HIGH]};
    if (kg_tiled_shape(&c->args[INPUT].tensor, &c->args[DIMS], kg_promote_args(values, 3), &c->outs[0])) return -1;
    c->n_outs = 1;
    for (int k = LOW; k <= HIGH; k++) {
        kg_tensor seen;
        if (kg_expand(&c->args[k].tensor, &c->outs[0], &seen)) return -1;
    }
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view in = kg_call_view(call, "input"), min = kg_call_view(call, "min"), max = kg_call_view(call, "max");
    const kg_view low = kg_view_expand(&min, out), high = kg_view_expand(&max, out);
    for (size_t k = 0; k < ref->n; k++) {
        const double x = kg_tiled(&in, out, ref->index[k]);
        const double clamped = fmin(fmax(x, kg_at(&low, ref->index[k])), kg_at(&high, ref->index[k]));
        kg_ref_exact(ref, k, isnan(x) ? x : clamped);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 0); }

const kg_task kg_task_kbx_tile_clamp = {
    .name = "tile_clamp",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "tile_clamp(input, dims, min, max) -> Tensor",
    .summary =
        "input repeated dims[d] times along each dimension, clamped to the Numbers or broadcast tensors min, max.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline =
        "lambda input, dims, min, max: (lambda of: torch.clamp(torch.tile(input, dims), of(min, max), of(max, min)))"
        "(lambda v, other: other.new_tensor(v) if torch.is_tensor(other) and not torch.is_tensor(v) else v)",
    .c_body =
        "// dims counts from the last dimension, and out's shape has it in already.\n"
        "(void)dims;\n"
        "int64_t at = 0, rest = i;\n"
        "for (int d = out->ndim - 1, k = input->ndim - 1; d >= 0; d--, k--) {\n"
        "    if (k >= 0) at += rest % out->shape[d] % input->shape[k] * kg_stride(input, k);\n"
        "    rest /= out->shape[d];\n"
        "}\n"
        "const double low = kg_get_broadcast(min, out, i), high = kg_get_broadcast(max, out, i);\n"
        "double x = kg_get_at(input, at);\n"
        "if (x < low) x = low;\n"
        "if (x > high) x = high;\n"
        "kg_put(out, i, x);\n",
};
