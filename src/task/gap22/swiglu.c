// swiglu(xy) -> Tensor
//
// x and y are the halves of xy's last dimension: silu(x) * y, silu(x) = x / (1 + exp(-x)).
//
// Condition: |x| |y| |silu'(x)|, silu'(x) = s (1 + x (1 - s)) with s the sigmoid. In half precision silu(x) may be
// stored before y comes to it, or be made of half-precision steps as the sigmoid may (src/task/activations.c): the
// exponential, whose two units the sum damps, the sum, and the quotient that is silu(x).
#include "oracle/reduce.h"
#include "task/activations.h"

static const kg_param params[] = {{.name = "xy", .kind = KG_P_TENSOR}, {.name = NULL}};

static void add(kg_cases *b, kg_tensor xy, kg_fill fill) { kg_set_strided(kg_case_add(b), b->task, "xy", xy, fill); }

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    const kg_fill fill = KG_NORMAL(0.5, 2);
    add(b, F32(3, 4), fill);
    add(b, F32(1, 2), fill);
    add(b, F32(2), fill);
    add(b, F32(34), fill);
    add(b, F32(33, 66), fill);
    add(b, F32(5, 2050), fill);
    add(b, F32(2, 3, 5, 14), fill);
    add(b, F32(0, 4), fill);
    add(b, F32(4, 0), fill);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 66), 0, 1), fill);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 258), 3), fill);
    add(b, F32(17, 130), KG_OUTLIERS(0, 1));
    add(b, F32(17, 130), KG_SPECIALS(0, 2));
    add(b, F32(9, 514), KG_LOGSCALE(-20, 6));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 514)), fill);
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(3, 5, 14)), fill);
    }
}

static void full(kg_cases *b) {
    const kg_fill fill = KG_NORMAL(0.5, 2);
    for (int64_t n = 2; n <= 8192; n *= 8) add(b, F32(7, n), fill);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 30), 0, 2), fill);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 130), 0), fill);
    add(b, F32(17, 258), KG_UNIFORM(-12, 12));
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(9, 130)), KG_SPECIALS(0, 2));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    if (b->level == KG_TIMED_CUDA) {  // the published sizes: data/gap22_published.csv
        add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(512, 8192)), KG_NORMAL(0.5, 2));
        add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(4096, 32768)), KG_NORMAL(0.5, 2));
    } else
        for (int64_t n = 16; n <= 4096; n *= 4) add(b, F32(n, 8192), KG_NORMAL(0.5, 2));
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_tensor out = c->args[0].tensor;
    if (out.ndim < 1 || out.shape[out.ndim - 1] % 2 || !kg_dtype_is_float(out.dtype)) return -1;
    out.shape[out.ndim - 1] /= 2;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(out.dtype, out.ndim, out.shape);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view xy = kg_call_view(call, "xy");
    const int64_t n = call->c->outs[0].shape[call->c->outs[0].ndim - 1];
    const bool half = kg_is_half(xy.desc.dtype);
    // A stored silu(x) may be denormal: an absolute error, in units of the dtype's roundoff.
    const double least = half ? kg_dtype_tiny(xy.desc.dtype) / kg_dtype_unit(xy.desc.dtype) : 0;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t at = ref->index[k] / n * 2 * n + ref->index[k] % n;
        const double x = kg_at(&xy, at), y = kg_at(&xy, at + n), s = kg_sigmoid(x), v = x * s * y;
        const double condition = fabs(v * (1 + x * (1 - s)));  // not x y first, which may overflow
        if (isfinite(v))
            kg_ref_put(ref, k, half, v, KG_LAMBDA * (condition + fabs(v)), 2 * (2 - s) * fabs(v) + fabs(y) * least, 0);
        else kg_ref_put(ref, k, false, v, 0, 0, 0);
    }
    return 0;
}

// exp; negation, sum, division and product.
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 4, 1); }

const kg_task kg_task_gap22_swiglu = {
    .name = "swiglu",
    .suite = "gap22",
    .category = "Activation",
    .signature = "swiglu(xy) -> Tensor",
    .summary = "silu(x) * y for the halves x and y of the last dimension.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda xy: (lambda x, y: F.silu(x) * y)(*xy.chunk(2, dim=-1))",
    .c_body =
        "const int64_t n = kg_dim(out, -1), at = i / n * 2 * n + i % n;\n"
        "const double x = kg_get(xy, at);\n"
        "kg_put(out, i, x / (1.0 + exp(-x)) * kg_get(xy, at + n));\n",
};
