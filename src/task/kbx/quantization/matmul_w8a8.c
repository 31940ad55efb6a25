// matmul_w8a8(input: Tensor, weight: Tensor) -> Tensor
//
// input (M, K), weight (K, N), float32. A contract of arithmetic, not a tolerance against the float product:
//     s_i = max_k |input[i,k]| / 127        qx = round(input[i,k] / s_i)       symmetric int8 per input row
//     t_j = max_k |weight[k,j]| / 127       qw = round(weight[k,j] / t_j)      symmetric int8 per output channel
//     out[i,j] = s_i t_j sum_k qx qw                                           accumulated exactly, in int32
// A row of zeros gives zeros. The text leaves open what absmax is divided by: 127, 127.5 or 128, values clamped, are
// right, and both ways of rounding ties. It does not leave the scales' grain open: those of whole tensors are wrong.
// Half precision inputs it does not mention, and they would leave the scales' own precision open.
//
// Bounds: src/oracle/quantise.h.
#include "task/quantised.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "weight", .kind = KG_P_TENSOR}, {.name = NULL}};

#define DESIGNS(scale, grid) KG_QUANT_READING(scale, grid, "scales by row and output channel", KG_BY_LINE, KG_BY_LINE)
#define WHOLE_TENSOR(what)   what " has one scale: the task asks for one for each input row and each output channel"
static const kg_reading readings[] = {
    KG_INT8_READINGS(DESIGNS),
    KG_WRONG_READING("float", KG_NO_QUANTISATION("the product", "int8"), KG_NOT_QUANTISED),
    KG_WRONG_READING("scales by tensor", WHOLE_TENSOR("each whole tensor"), KG_BY_TENSOR, KG_BY_TENSOR),
    KG_WRONG_READING("scale of input by tensor", WHOLE_TENSOR("the whole input"), KG_BY_TENSOR, KG_BY_LINE),
    KG_WRONG_READING("scale of weight by tensor", WHOLE_TENSOR("the whole weight"), KG_BY_LINE, KG_BY_TENSOR),
    KG_WRONG_READING("float sums", KG_FLOAT_SUMS, KG_BY_LINE, KG_BY_LINE, true),
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor weight) {
    kg_case *c = kg_case_add(b);
    const kg_fill fill = input.shape[1] < 8 ? KG_NOT_SMALL : KG_FACTORS;
    kg_set_strided(c, b->task, "input", input, fill);
    kg_set_strided(c, b->task, "weight", weight, fill);
    return c;
}

static kg_case *sized(kg_cases *b, int64_t m, int64_t k, int64_t n) {
    return add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(m, k)), kg_tensor_contiguous(KG_F32, KG_SHAPE(k, n)));
}

#define TURNED(m, n) kg_tensor_transposed(KG_F32, KG_SHAPE(m, n), 0, 1)
static void quick(kg_cases *b) {
    sized(b, 17, 33, 9);
    sized(b, 1, 1, 1);
    sized(b, 64, 128, 48);
    sized(b, 33, 1023, 17);
    sized(b, 129, 64, 65);
    sized(b, 1, 256, 31);
    sized(b, 31, 256, 1);
    sized(b, 4099, 9, 2);
    sized(b, 0, 16, 8);
    sized(b, 16, 2048, 16);
    // Sums past 2^24, where adding in float32 loses the last integers.
    kg_case *c = sized(b, 3, 8193, 5);
    c->args[0].fill = c->args[1].fill = KG_NORMAL(5, 1);
    sized(b, 4, 16, 8)->args[0].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 4, 16, 8)->args[1].fill = (kg_fill){.kind = KG_FILL_ZERO};
    sized(b, 33, 1, 21)->args[0].fill = (kg_fill){.kind = KG_FILL_TIES};  // rows of 0 between others
    sized(b, 33, 1, 21)->args[1].fill = (kg_fill){.kind = KG_FILL_TIES};
    // One value in 64 is a thousand times the others: they all quantise to 0, and the answer is the outliers' alone.
    sized(b, 17, 256, 19)->args[0].fill = KG_OUTLIERS(0, 1);
    sized(b, 17, 256, 19)->args[1].fill = KG_OUTLIERS(0, 1);
    // Rows of very different size: a scale for the whole tensor loses the small ones.
    sized(b, 33, 7, 21)->args[0].fill = KG_LOGSCALE(-8, 8);
    sized(b, 33, 7, 21)->args[1].fill = KG_LOGSCALE(-8, 8);
    sized(b, 31, 96, 40)->args[0].fill = KG_UNIFORM(-1, 1);
    for (int i = 0; i < 2; i++) sized(b, 9, 96, 20)->args[i].fill = KG_SMALL;
    sized(b, 32, 511, 32)->args[0].fill = KG_NORMAL(5, 1);  // not centred: half of the integers are not used
    add(b, TURNED(33, 65), TURNED(65, 18));
}

static void full(kg_cases *b) {
    for (int64_t k = 1; k <= 5; k++) sized(b, 5, k, 6);
    sized(b, 128, 256, 128);
    sized(b, 8, 8192, 8);
    sized(b, 32, 512, 32)->args[1].fill = KG_OUTLIERS(0, 1);
    sized(b, 32, 512, 32)->args[1].fill = KG_NORMAL(5, 1);
    sized(b, 32, 64, 32)->args[0].fill = KG_INTEGERS(-127, 127);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(31, 40), 2), kg_tensor_stepped(KG_F32, KG_SHAPE(40, 21), 3));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(12, 45), 0), TURNED(45, 10));
}
#undef TURNED

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

const kg_task kg_task_kbx_matmul_w8a8 = {
    .name = "matmul_w8a8",
    .signature = "matmul_w8a8(input: Tensor, weight: Tensor) -> Tensor",
    .summary = "Product through int8: scales absmax/127 by input row and weight column, exact sums.",
    KG_QUANTISED_TASK,
    .params = params,
    .lowest = KG_PREC_FP32,
    .readings = readings,
    .public_limits = &(const kg_likeness){0.1, 0.05, 0.95},
    .cases = cases,
    // The library's int8 product wants the right operand column by column.
    .torch_baseline =
        "lambda input, weight: (lambda s, t: torch._int_mm((input / s).round().to(torch.int8), "
        "(weight / t).round().to(torch.int8).t().contiguous().t()).float() * s * t)("
        "(input.abs().amax(1, keepdim=True) / 127).clamp(min=1e-30), "
        "(weight.abs().amax(0, keepdim=True) / 127).clamp(min=1e-30))",
    .c_items = "kg_dim(out, 0)",
    .c_body =
        "// Item i is a row.\n"
        "const int64_t terms = kg_dim(weight, 0), columns = kg_dim(weight, 1);\n"
        "double s = 0;\n"
        "for (int64_t k = 0; k < terms; k++) s = fmax(s, fabs(kg_get(input, i * terms + k)));\n"
        "s /= 127.0;\n"
        "for (int64_t j = 0; j < columns; j++) {\n"
        "    double t = 0;\n"
        "    for (int64_t k = 0; k < terms; k++) t = fmax(t, fabs(kg_get(weight, k * columns + j)));\n"
        "    t /= 127.0;\n"
        "    int64_t sum = 0;\n"
        "    for (int64_t k = 0; s > 0 && t > 0 && k < terms; k++)\n"
        "        sum += (int64_t)rint(kg_get(input, i * terms + k) / s) *\n"
        "               (int64_t)rint(kg_get(weight, k * columns + j) / t);\n"
        "    kg_put(out, i * columns + j, (double)sum * s * t);\n"
        "}\n",
};
