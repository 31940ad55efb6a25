// bmm_w8a8(input: Tensor, mat2: Tensor) -> Tensor
//
// input (B, M, K), mat2 (B, K, N), float32. A contract of arithmetic: both operands quantised to int8, exact int32
// sums, dequantised. The text calls this one design and does not say what has a scale of its own. So every grain that
// an exact integer sum allows is right: one for the tensor, for each matrix, or for each row of input and column of
// mat2, the two operands alike or not. Symmetric, as matmul_w8a8, where the public suite states it; divided by 127,
// 127.5 or 128 as there. All of a call's outputs must follow one reading.
//
// Bounds: src/oracle/quantise.h.
#include "task/quantised.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "mat2", .kind = KG_P_TENSOR}, {.name = NULL}};

#define DESIGNS(scale, grid)                                                                                       \
    KG_QUANT_READING(scale, grid, "scales by row and column", KG_BY_LINE, KG_BY_LINE),                             \
        KG_QUANT_READING(scale, grid, "scales by tensor", KG_BY_TENSOR, KG_BY_TENSOR),                             \
        KG_QUANT_READING(scale, grid, "scales by matrix", KG_BY_MATRIX, KG_BY_MATRIX),                             \
        KG_QUANT_READING(scale, grid, "scales of input by row, of mat2 by tensor", KG_BY_LINE, KG_BY_TENSOR),      \
        KG_QUANT_READING(scale, grid, "scales of input by row, of mat2 by matrix", KG_BY_LINE, KG_BY_MATRIX),      \
        KG_QUANT_READING(scale, grid, "scales of input by tensor, of mat2 by column", KG_BY_TENSOR, KG_BY_LINE),   \
        KG_QUANT_READING(scale, grid, "scales of input by matrix, of mat2 by column", KG_BY_MATRIX, KG_BY_LINE),   \
        KG_QUANT_READING(scale, grid, "scales of input by tensor, of mat2 by matrix", KG_BY_TENSOR, KG_BY_MATRIX), \
        KG_QUANT_READING(scale, grid, "scales of input by matrix, of mat2 by tensor", KG_BY_MATRIX, KG_BY_TENSOR)
static const kg_reading readings[] = {
    KG_INT8_READINGS(DESIGNS),
    KG_WRONG_READING("float", KG_NO_QUANTISATION("the product", "int8"), KG_NOT_QUANTISED),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_LINE, KG_BY_LINE, true),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_MATRIX, KG_BY_MATRIX, true),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_TENSOR, KG_BY_TENSOR, true),
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor mat2) {
    kg_case *c = kg_case_add(b);
    const kg_fill fill = input.shape[2] < 8 ? KG_NOT_SMALL : KG_FACTORS;
    kg_set_strided(c, b->task, "input", input, fill);
    kg_set_strided(c, b->task, "mat2", mat2, fill);
    return c;
}

static kg_case *sized(kg_cases *b, int64_t n, int64_t m, int64_t k, int64_t columns) {
    return add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, m, k)),
               kg_tensor_contiguous(KG_F32, KG_SHAPE(n, k, columns)));
}

static void quick(kg_cases *b) {
    sized(b, 3, 17, 33, 9);
    sized(b, 1, 1, 1, 1);
    sized(b, 5, 1, 1, 1);
    sized(b, 2, 32, 128, 24);
    sized(b, 2, 9, 1023, 7);
    sized(b, 7, 33, 64, 31);
    sized(b, 1, 1, 256, 31);
    sized(b, 4, 31, 256, 1);
    sized(b, 3, 1367, 9, 2);
    sized(b, 0, 5, 16, 8);
    sized(b, 3, 0, 16, 8);
    sized(b, 2, 8, 2048, 8);
    // Sums past 2^24, where adding in float32 loses the last integers.
    kg_case *c = sized(b, 2, 2, 8193, 3);
    c->args[0].fill = c->args[1].fill = KG_NORMAL(5, 1);
    sized(b, 2, 4, 16, 8)->args[0].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 2, 4, 16, 8)->args[1].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 9, 3, 1, 5)->args[0].fill = (kg_fill){.kind = KG_FILL_TIES};  // rows of 0 between others
    sized(b, 9, 3, 1, 5)->args[1].fill = (kg_fill){.kind = KG_FILL_TIES};
    sized(b, 3, 9, 256, 11)->args[0].fill = KG_OUTLIERS(0, 1);
    sized(b, 3, 9, 256, 11)->args[1].fill = KG_OUTLIERS(0, 1);
    sized(b, 3, 13, 7, 11)->args[0].fill = KG_LOGSCALE(-8, 8);
    sized(b, 3, 13, 96, 20)->args[0].fill = KG_UNIFORM(-1, 1);
    for (int i = 0; i < 2; i++) sized(b, 2, 9, 96, 20)->args[i].fill = KG_SMALL;
    sized(b, 2, 15, 511, 17)->args[0].fill = KG_NORMAL(5, 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(3, 33, 65), 1, 2),
        kg_tensor_transposed(KG_F32, KG_SHAPE(3, 65, 18), 1, 2));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(3, 33, 40), 0, 1),
        kg_tensor_transposed(KG_F32, KG_SHAPE(3, 40, 18), 0, 2));
}

static void full(kg_cases *b) {
    for (int64_t k = 1; k <= 5; k++) sized(b, 3, 5, k, 6);
    sized(b, 4, 64, 256, 32);
    sized(b, 2, 4, 8192, 4);
    sized(b, 2, 16, 512, 16)->args[1].fill = KG_NORMAL(5, 1);
    sized(b, 2, 16, 64, 16)->args[0].fill = KG_INTEGERS(-127, 127);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(2, 31, 40), 2), kg_tensor_stepped(KG_F32, KG_SHAPE(2, 40, 21), 3));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(4, 12, 45), 0), kg_tensor_contiguous(KG_F32, KG_SHAPE(4, 45, 10)));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        // As many elements to be quantised as there are outputs.
        const int64_t side = KG_SIDE_PAST_32_BITS;
        if (b->level == KG_CASES_FULL)
            add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(side, side, 1), 0),
                kg_tensor_contiguous(KG_F32, KG_SHAPE(side, 1, 1)))
                ->large = true;
        return 0;
    }
    const int64_t most = b->level == KG_TIMED_CUDA ? 16 : 4;
    for (int64_t n = 2; n <= most; n *= 2) sized(b, n, 32 * n, 64 * n, 128 * n);
    if (b->level == KG_TIMED_CPU) sized(b, 3, 96, 192, 384);
    return 0;
}

const kg_task kg_task_kbx_bmm_w8a8 = {
    .name = "bmm_w8a8",
    .signature = "bmm_w8a8(input: Tensor, mat2: Tensor) -> Tensor",
    .summary = "Batched product through int8: symmetric scales of any one grain, exact sums.",
    KG_QUANTISED_TASK,
    .params = params,
    .lowest = KG_PREC_FP32,
    .readings = readings,
    .public_limits = &(const kg_likeness){0.1, 0.05, 0.95},
    .cases = cases,
    // The library has no batched int8 product. Integers this small are exact in float32 and tf32 alike, and so are
    // their sums up to 2^24.
    .torch_baseline =
        "lambda input, mat2: (lambda s, t: torch.bmm((input / s).round(), (mat2 / t).round()) * s * t)("
        "(input.abs().amax(2, keepdim=True) / 127).clamp(min=1e-30), "
        "(mat2.abs().amax(1, keepdim=True) / 127).clamp(min=1e-30))",
    .c_items = "kg_dim(out, 0) * kg_dim(out, 1)",
    .c_body =
        "// Item i is a row of one matrix.\n"
        "const int64_t terms = kg_dim(input, 2), columns = kg_dim(mat2, 2), first = i / kg_dim(input, 1) * terms;\n"
        "double s = 0;\n"
        "for (int64_t k = 0; k < terms; k++) s = fmax(s, fabs(kg_get(input, i * terms + k)));\n"
        "s /= 127.0;\n"
        "for (int64_t j = 0; j < columns; j++) {\n"
        "    double t = 0;\n"
        "    for (int64_t k = 0; k < terms; k++) t = fmax(t, fabs(kg_get(mat2, (first + k) * columns + j)));\n"
        "    t /= 127.0;\n"
        "    int64_t sum = 0;\n"
        "    for (int64_t k = 0; s > 0 && t > 0 && k < terms; k++)\n"
        "        sum += (int64_t)rint(kg_get(input, i * terms + k) / s) *\n"
        "               (int64_t)rint(kg_get(mat2, (first + k) * columns + j) / t);\n"
        "    kg_put(out, i * columns + j, (double)sum * s * t);\n"
        "}\n",
};
