// matmul_w8a8(input: Tensor, weight: Tensor) -> Tensor
//
// input (M, K), weight (K, N), float32. A contract of arithmetic, not a tolerance against the float product:
//     s_i = max_k |input[i,k]| / 127        qx = round(input[i,k] / s_i)       symmetric int8 per input row
//     t_j = max_k |weight[k,j]| / 127       qw = round(weight[k,j] / t_j)      symmetric int8 per output channel
//     out[i,j] = s_i t_j sum_k qx qw                                           accumulated exactly, in int32
// A row of zeros gives zeros. Values beyond 127 cannot occur; both ways of rounding ties are right.
//
// Bounds. An honest kernel's scale and quotient are float32: x / s errs by at most 8 u |x / s| (division, reciprocal
// and fast division alike). So its integer is ours, except where x / s lies that near to a tie; there it may be one
// off, which moves the sum by the other factor's integer. About one element in 10^5 is that near. So
//     |error| <= s t (sum of |qw| over the row's near ties + of |qx| over the column's + number of both at once)
// and a few roundings: for most outputs the roundings alone, 1e-6 of the value. A float product differs from the
// quantised one by one per cent, a truncating quantiser by more: both fail nearly everywhere.
#include <stdlib.h>

#include "task/products.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "weight", .kind = KG_P_TENSOR}, {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor weight) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_FACTORS);
    kg_set_strided(c, b->task, "weight", weight, KG_FACTORS);
    return c;
}

static kg_case *sized(kg_cases *b, int64_t m, int64_t k, int64_t n) {
    return add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(m, k)), kg_tensor_contiguous(KG_F32, KG_SHAPE(k, n)));
}

static void quick(kg_cases *b) {
    sized(b, 17, 33, 9);
    sized(b, 1, 1, 1);
    sized(b, 64, 128, 48);
    sized(b, 33, 1023, 17);
    sized(b, 129, 64, 65);
    sized(b, 1, 256, 31);
    sized(b, 0, 16, 8);
    sized(b, 16, 2048, 16);
    sized(b, 4, 16, 8)->args[0].fill = (kg_fill){.kind = KG_FILL_ZERO};
    // One value in 64 is a thousand times the others: they all quantise to 0, and the answer is the outliers' alone.
    sized(b, 17, 256, 19)->args[0].fill = KG_OUTLIERS(0, 1);
    // Rows of very different size: a scale for the whole tensor loses the small ones.
    sized(b, 33, 7, 21)->args[0].fill = KG_LOGSCALE(-8, 8);
    sized(b, 33, 7, 21)->args[1].fill = KG_LOGSCALE(-8, 8);
    sized(b, 31, 96, 40)->args[0].fill = KG_UNIFORM(-1, 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), kg_tensor_transposed(KG_F32, KG_SHAPE(65, 18), 0, 1));
}

static void full(kg_cases *b) {
    for (int64_t k = 1; k <= 5; k++) sized(b, 5, k, 6);
    sized(b, 128, 256, 128);
    sized(b, 8, 8192, 8);
    sized(b, 32, 512, 32)->args[1].fill = KG_OUTLIERS(0, 1);
    sized(b, 32, 512, 32)->args[0].fill = KG_NORMAL(5, 1);  // not centred: half of the integers are not used
    sized(b, 32, 64, 32)->args[0].fill = KG_INTEGERS(-127, 127);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const int64_t most = b->level == KG_TIMED_CUDA ? 1024 : 256;
    for (int64_t m = 128; m <= most; m *= 2) sized(b, m, 2 * m, 4 * m);
    if (b->level == KG_TIMED_CPU) sized(b, 192, 384, 768);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[0].tensor, *w = &c->args[1].tensor;
    c->n_outs = 1;
    if (x->ndim != 2 || w->ndim != 2 || x->dtype != KG_F32 || w->dtype != KG_F32) return -1;
    return kg_matmul_shape(x, w, &c->outs[0]);
}

// ---- oracle ---------------------------------------------------------------------------------------
#define QUOTIENT_ERROR (8 * 0x1p-24)

// One row or column: its integers, and where they might be one off.
typedef struct {
    double scale;
    int16_t *q;
    unsigned char *near_tie;
} line;

static void quantise(const kg_view *v, int64_t at, int64_t step, int64_t n, line *l) {
    double largest = 0;
    for (int64_t k = 0; k < n; k++) largest = fmax(largest, fabs(kg_at_offset(v, at + k * step)));
    l->scale = largest / 127;
    for (int64_t k = 0; k < n; k++) {
        const double r = largest > 0 ? kg_at_offset(v, at + k * step) / l->scale : 0, below = floor(r);
        l->q[k] = (int16_t)rint(r);
        l->near_tie[k] = fabs(r - below - 0.5) <= QUOTIENT_ERROR * fabs(r);
    }
}

static void element(const line *x, const line *w, int64_t n, kg_ref *ref, size_t k) {
    int64_t sum = 0, slack = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x->q[i] * w->q[i];
        if (x->near_tie[i]) slack += llabs(w->q[i]) + w->near_tie[i];
        if (w->near_tie[i]) slack += llabs(x->q[i]);
    }
    const double unit = x->scale * w->scale, value = unit * (double)sum;
    ref->value[k] = value;
    ref->local[k] = KG_LAMBDA * fabs(value);
    ref->acc[k] = unit * (double)slack * 0x1p24;  // charged at 2^-24 on every rung: an allowance of its own
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view x = kg_call_view(call, "input"), w = kg_call_view(call, "weight");
    const int64_t n = x.desc.shape[1], columns = w.desc.shape[1];
    const size_t size = (size_t)n * (sizeof(int16_t) + 1);
    char *space = malloc(2 * size + 1);
    if (!space) return -1;
    int16_t *q = (int16_t *)space;
    line row = {.q = q, .near_tie = (unsigned char *)(q + 2 * n)}, column = {.q = q + n, .near_tie = row.near_tie + n};
    int64_t at_row = -1;
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k] / columns, j = ref->index[k] % columns;
        if (i != at_row) quantise(&x, i * x.desc.stride[0], x.desc.stride[1], n, &row);
        at_row = i;
        quantise(&w, j * w.desc.stride[1], w.desc.stride[0], n, &column);
        element(&row, &column, n, ref, k);
    }
    free(space);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[KG_U_INT8] = 2 * (double)kg_numel(&c->outs[0]) * (double)c->args[0].tensor.shape[1];
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 8 * (double)c->args[0].tensor.shape[1];
}

const kg_task kg_task_kbx_matmul_w8a8 = {
    .name = "matmul_w8a8",
    .suite = "kbx",
    .category = "Quantization",
    .signature = "matmul_w8a8(input: Tensor, weight: Tensor) -> Tensor",
    .summary = "Product through int8: scales absmax/127 by input row and weight column, exact sums.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    // The library's int8 product wants the right operand column by column.
    .torch_baseline =
        "lambda input, weight: (lambda s, t: torch._int_mm((input / s).round().to(torch.int8), "
        "(weight / t).round().to(torch.int8).t().contiguous().t()).float() * s * t)("
        "input.abs().amax(1, keepdim=True) / 127, weight.abs().amax(0, keepdim=True) / 127)",
    .c_items = "kg_dim(out, 0)",
    .c_body =
        "// Item i is a row.\n"
        "double s = 0;\n"
        "for (int64_t k = 0; k < kg_dim(input, 1); k++) s = fmax(s, fabs(kg_get(input, i * kg_dim(input, 1) + k)));\n"
        "s /= 127.0;\n"
        "for (int64_t j = 0; j < kg_dim(weight, 1); j++) {\n"
        "    double t = 0;\n"
        "    for (int64_t k = 0; k < kg_dim(weight, 0); k++)\n"
        "        t = fmax(t, fabs(kg_get(weight, k * kg_dim(weight, 1) + j)));\n"
        "    t /= 127.0;\n"
        "    int64_t sum = 0;\n"
        "    for (int64_t k = 0; s > 0 && t > 0 && k < kg_dim(weight, 0); k++)\n"
        "        sum += (int64_t)rint(kg_get(input, i * kg_dim(input, 1) + k) / s) *\n"
        "               (int64_t)rint(kg_get(weight, k * kg_dim(weight, 1) + j) / t);\n"
        "    kg_put(out, i * kg_dim(weight, 1) + j, (double)sum * s * t);\n"
        "}\n",
};
