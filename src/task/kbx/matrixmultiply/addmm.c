// addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor
//
// beta * input + alpha * (mat1 @ mat2); input broadcasts to the product's shape. With beta 0 input is not looked at: a
// NaN in it does not show.
#include "oracle/reduce.h"
#include "task/products.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "mat1", .kind = KG_P_TENSOR},
    {.name = "mat2", .kind = KG_P_TENSOR},
    {.name = "beta", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .number = 1},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor mat1, kg_tensor mat2) {
    kg_case *c = kg_case_add(b);
    // As large as a product of some dozen terms, so that leaving it out or doubling it shows.
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 4));
    kg_set_strided(c, b->task, "mat1", mat1, KG_FACTORS);
    kg_set_strided(c, b->task, "mat2", mat2, KG_FACTORS);
    return c;
}

static kg_case *scaled(kg_cases *b, kg_dtype t, double beta, double alpha) {
    kg_case *c = add(b, kg_tensor_contiguous(t, KG_SHAPE(33, 17)), kg_tensor_contiguous(t, KG_SHAPE(33, 65)),
                     kg_tensor_contiguous(t, KG_SHAPE(65, 17)));
    kg_set_float(c, b->task, "beta", beta);
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}

// Strided matrices, and an input that is not to be read.
static void unread(kg_cases *b, kg_dtype t) {
    kg_case *c = scaled(b, t, 0, 1.5);
    c->args[0].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    c->args[1].tensor = kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1);
    c->args[2].tensor = kg_tensor_stepped(t, KG_SHAPE(65, 17), 2);
}

#define DENSE(...)   kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define TURNED(m, n) kg_tensor_transposed(t, KG_SHAPE(m, n), 0, 1)
static void quick(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(17, 9), DENSE(17, 33), DENSE(33, 9));
    add(b, DENSE(1, 1), DENSE(1, 1), DENSE(1, 1));
    add(b, DENSE(9), DENSE(17, 33), DENSE(33, 9));      // a row
    add(b, DENSE(17, 1), DENSE(17, 33), DENSE(33, 9));  // a column
    add(b, kg_tensor_contiguous(t, 0, NULL), DENSE(17, 33), DENSE(33, 9));
    add(b, TURNED(65, 31), TURNED(65, 129), TURNED(129, 31));
    add(b, DENSE(5, 4), DENSE(5, 0), DENSE(0, 4));  // beta * input alone
    add(b, DENSE(0, 4), DENSE(0, 3), DENSE(3, 4));
    add(b, DENSE(130, 66), DENSE(130, 257), DENSE(257, 66));
    add(b, DENSE(5, 3), DENSE(5, 5003), DENSE(5003, 3));
    add(b, DENSE(4099, 2), DENSE(4099, 5), DENSE(5, 2));
    add(b, DENSE(4099), DENSE(2, 5), DENSE(5, 4099));
    scaled(b, t, 0.5, -2);
    scaled(b, t, 0, 1)->args[0].fill = KG_SPECIALS(0, 1);
    scaled(b, t, -1.5, 0);
    unread(b, t);
    unread(b, KG_F64);
    scaled(b, KG_F16, 0.5, 2);
    scaled(b, KG_F16, 0, 1)->args[0].fill = KG_SPECIALS(0, 1);
    scaled(b, KG_BF16, 0.5, 2);
    scaled(b, KG_F64, 0.3, -0.7);
    for (int i = 0; i < 3; i++) scaled(b, KG_F64, 0.3, -0.7)->args[i].fill = KG_WIDE_INTEGERS;
    // At most one special value a product, and factors of which none makes a finite one overflow: 0 * inf is NaN.
    for (int i = 0; i < 3; i++) {
        kg_case *c = add(b, DENSE(65, 33), DENSE(65, 4), DENSE(4, 33));
        for (int k = 0; k < 3; k++) c->args[k].fill = k == i ? KG_SPECIALS(0, 1) : KG_INTEGERS(-1, 1);
    }
    kg_set_tensor(add(b, DENSE(34, 17), DENSE(34, 65), DENSE(65, 17)), b->task, "out", t, KG_SHAPE(34, 17), KG_FACTORS);
}

static void full(kg_cases *b) {
    const kg_dtype t = KG_F32;
    add(b, DENSE(16, 8), DENSE(16, 4096), DENSE(4096, 8));
    add(b, kg_tensor_expanded(t, KG_SHAPE(40, 30), 0), DENSE(40, 50), DENSE(50, 30));
    add(b, DENSE(256, 256), DENSE(256, 256), DENSE(256, 256));
    add(b, kg_tensor_stepped(t, KG_SHAPE(31, 21), 2), kg_tensor_stepped(t, KG_SHAPE(31, 40), 2), DENSE(40, 21));
    scaled(b, t, 1, 1)->args[1].fill = KG_OUTLIERS(0, 1);
    scaled(b, t, 0, 0)->args[0].fill = KG_SPECIALS(0, 1);
    scaled(b, t, 1e-3, 1e3);
    scaled(b, KG_F64, 0, 1)->args[0].fill = KG_SPECIALS(0, 1);
}

static void square(kg_cases *b, int64_t n) {
    const kg_tensor m = kg_tensor_contiguous(KG_F32, KG_SHAPE(n, n));
    add(b, m, m, m);
}
#undef DENSE
#undef TURNED

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_square_sizes(b, square);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *input = &c->args[0].tensor, *a = &c->args[1].tensor, *b = &c->args[2].tensor;
    (void)t;
    c->n_outs = 1;
    if (a->ndim != 2 || b->ndim != 2 || a->dtype != b->dtype || input->dtype != a->dtype) return -1;
    if (kg_matmul_shape(a, b, &c->outs[0])) return -1;
    kg_tensor view;
    return kg_expand(input, &c->outs[0], &view);
}

// ---- oracle ---------------------------------------------------------------------------------------
static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view a = kg_call_view(call, "mat1"), b = kg_call_view(call, "mat2"), given = kg_call_view(call, "input");
    const kg_view input = kg_view_expand(&given, out);
    const double beta = kg_call_arg(call, "beta")->f, alpha = kg_call_arg(call, "alpha")->f;
    const bool half = kg_is_half(out->dtype);
    kg_matmul_ref(&a, &b, out, ref);
    for (size_t k = 0; k < ref->n; k++) {
        const double addend = beta == 0 ? 0 : beta * kg_at(&input, ref->index[k]), product = alpha * ref->value[k];
        ref->value[k] = product + addend;
        // Each part may be rounded before they are added: to scale it, and to store it. Not as tf32, which only the
        // product may be.
        const double rounded = 2 * fabs(product) + 2 * fabs(addend);
        ref->local[k] = fabs(alpha) * ref->local[k] + (half ? rounded : 0);
        ref->acc[k] = fabs(alpha) * ref->acc[k] + rounded + kg_start_acc(addend, a.desc.shape[1]);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]), k = (double)c->args[1].tensor.shape[1];
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * n * k;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->args[1].tensor.shape[1] + 1;
}

const kg_task kg_task_kbx_addmm = {
    .name = "addmm",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor",
    .summary = "beta * input + alpha * (mat1 @ mat2); with beta 0 input is ignored, NaN and all.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "torch.addmm",
    .cpu_baseline = "openblas",
    .cuda_baseline = "cublaslt",
    .c_body =
        "const int64_t n = kg_dim(out, 1), row = i / n, col = i % n;\n"
        "const int64_t a = row * kg_stride(mat1, 0), b = col * kg_stride(mat2, 1);\n"
        "double sum = 0;\n"
        "for (int64_t k = 0; k < kg_dim(mat1, 1); k++)\n"
        "    sum += kg_get_at(mat1, a + k * kg_stride(mat1, 1)) * kg_get_at(mat2, b + k * kg_stride(mat2, 0));\n"
        "kg_put(out, i, alpha * sum + (beta == 0 ? 0.0 : beta * kg_get_broadcast(input, out, i)));\n",
};
