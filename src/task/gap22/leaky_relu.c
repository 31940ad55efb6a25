// leaky_relu(input, other, negative_slope=0.01) -> Tensor
//
// leaky ReLU of input @ other: the study's operator of that name.
//
// Bounds: an error of the product passes through with the slope of its side; where it reaches the kink, with the larger
// slope of the two.
#include "task/products.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "other", .kind = KG_P_TENSOR},
                                  {.name = "negative_slope",
                                   .kind = KG_P_FLOAT,
                                   .optional = true,
                                   .keyword = true,
                                   .has_default = true,
                                   .number = 0.01},
                                  {.name = NULL}};
enum { INPUT, OTHER };

static kg_case *add(kg_cases *b, kg_dtype t, int64_t m, int64_t k, int64_t n) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(m, k), KG_FACTORS);
    kg_set_tensor(c, b->task, "other", t, KG_SHAPE(k, n), KG_FACTORS);
    return c;
}

static bool special(const kg_arg *a) { return a->fill.kind == KG_FILL_SPECIALS; }

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CUDA) {
        for (int64_t n = 4096; n <= 8192; n *= 2) add(b, KG_F16, n, n, n);
        return 0;
    }
    if (b->level == KG_TIMED_CPU) {
        for (int64_t n = 256; n <= 1024; n *= 2) add(b, KG_F32, n, n, n);
        return 0;
    }
    static const double slopes[] = {0.01, 0.25, 0, 1, -0.5, 2};
    static const kg_dtype dtypes[] = {KG_F32, KG_F16, KG_BF16, KG_F64};
    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++)
        kg_set_float(add(b, dtypes[i % 4], 33, 65, 17), b->task, "negative_slope", slopes[i]);
    kg_matmul_cases(b, KG_DTYPES);
    // A half-precision product that overflows where it is stored would be finite where it is not, unless the slope
    // is 1.
    for (size_t i = 0; i < b->n; i++)
        if (special(&b->items[i].args[INPUT]) || special(&b->items[i].args[OTHER]))
            kg_set_float(&b->items[i], b->task, "negative_slope", 1);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const double slope = kg_call_arg(call, "negative_slope")->f;
    kg_matmul_oracle(call, ref);
    for (size_t k = 0; k < ref->n; k++) {
        const double v = ref->value[k], near = 0x1p-4 * ref->local[k] + 0x1p-11 * ref->acc[k];
        const double side = v < 0 ? fabs(slope) : 1, through = fabs(v) <= near ? fmax(1, fabs(slope)) : side;
        ref->value[k] = v < 0 ? slope * v : v;
        ref->local[k] = through * ref->local[k] + (v < 0 ? fabs(slope * v) : 0);
        ref->acc[k] *= through;
    }
    return 0;
}

const kg_task kg_task_gap22_leaky_relu = {
    .name = "leaky_relu",
    .suite = "gap22",
    .category = "MatrixMultiply",
    .signature = "leaky_relu(input, other, negative_slope=0.01) -> Tensor",
    .summary = "input @ other, its negative elements scaled by negative_slope.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = kg_matmul_infer,
    .oracle = oracle,
    .work = kg_matmul_work,
    .reach = kg_matmul_reach,
    .torch_baseline =
        "lambda input, other, negative_slope=0.01: F.leaky_relu(torch.matmul(input, other), negative_slope)",
    .c_body = KG_MATMUL_SUM "kg_put(out, i, sum < 0 ? negative_slope * sum : sum);\n",
};
