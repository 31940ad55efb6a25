// scaled_add_dot(y, x, alpha) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// y += alpha * x in place, for lines y and x of one length and dtype; the result is the dot product of the new y with
// itself, 0-dimensional, in y's dtype. Both are checked.
//
// Bounds. y: alpha, x, their product and the sum are each rounded once; an unfused half-precision kernel stores alpha
// and the product. The dot product's terms move by 2 |y_k| times that (which alpha's rounding does to all of them at
// once, so that they are added up whole) and by their own rounding, and their sum errs as src/oracle/sum.c has it.
#include "oracle/product.h"
#include "oracle/stages.h"
#include "task/families.h"

static const kg_param params[] = {{.name = "y", .kind = KG_P_TENSOR, .role = KG_INOUT},
                                  {.name = "x", .kind = KG_P_TENSOR},
                                  {.name = "alpha", .kind = KG_P_FLOAT},
                                  {.name = NULL}};
enum { Y, X, ALPHA };
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor y, kg_tensor x, double alpha) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "y", y, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "x", x, KG_NORMAL(0.25, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}
static kg_case *line(kg_cases *b, kg_dtype t, int64_t n, double alpha) {
    const kg_tensor desc = kg_tensor_contiguous(t, 1, &n);
    return add(b, desc, desc, alpha);
}

static void quick(kg_cases *b) {
    line(b, KG_F32, 3, 0.5);
    line(b, KG_F32, 0, 0.5);
    line(b, KG_F32, 1, -1.5);
    line(b, KG_F32, 17, 2);
    line(b, KG_F32, 1023, 0.3);
    line(b, KG_F32, 1024, -0.7);
    line(b, KG_F32, 1025, 1);
    line(b, KG_F32, 1027, 0);
    line(b, KG_F32, 4099, -1);
    line(b, KG_F32, 65537, 0.1);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), kg_tensor_contiguous(KG_F32, KG_SHAPE(257)), 0.3);
    add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(259)), kg_tensor_stepped(KG_F32, KG_SHAPE(259), 2), -0.3);
    add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(131)), kg_tensor_expanded(KG_F32, KG_SHAPE(131), 0), 0.3);
    line(b, KG_F32, 1027, 0.3)->args[X].fill = KG_OUTLIERS(0, 1);
    line(b, KG_F32, 515, 0.3)->args[Y].fill = KG_LOGSCALE(-20, 10);
    line(b, KG_F32, 515, 3e-3)->args[X].fill = KG_NORMAL(1000, 1);
    kg_case *c = line(b, KG_F32, 259, 0.5);  // one of the two is special, and the other makes nothing overflow
    c->args[Y].fill = KG_SPECIALS(0, 1);
    c->args[X].fill = KG_INTEGERS(-1, 1);
    line(b, KG_F32, 259, 0.5)->args[X].fill = KG_SPECIALS(0, 1);
    line(b, KG_F16, 1025, -1.5);
    line(b, KG_F16, 33, 0.5);
    line(b, KG_BF16, 1025, -1.5);
    line(b, KG_BF16, 33, 0.5);
    line(b, KG_F64, 1025, 0.3);
    line(b, KG_F64, 33, -0.7);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) line(b, KG_F32, lengths[i], 0.3);
    line(b, KG_F32, 4099, 1)->args[X].fill = (kg_fill){KG_FILL_CONST, 0.1, 0};
    line(b, KG_F32, 100003, 1e4)->args[Y].fill = KG_NORMAL(0, 1e4);
    line(b, KG_F16, 4099, 0.5);
    line(b, KG_BF16, 100003, 0.5);
    line(b, KG_F64, 100003, 0.3);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    static const int cpu[] = {14, 17, 20, 22, 24};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 15 : 5); i++) line(b, KG_F32, (int64_t)1 << (cuda ? 12 + i : cpu[i]), 0.5);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *y = &c->args[Y].tensor, *x = &c->args[X].tensor;
    if (y->ndim != 1 || x->ndim != 1 || y->dtype != x->dtype || y->shape[0] != x->shape[0]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(y->dtype, 0, NULL);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static kg_term updated(const kg_rung *r, kg_term alpha, double x, double y) {
    const kg_term step = kg_term_stored(r, kg_term_mul(r, alpha, kg_term_input(r, x)));
    kg_term sum = kg_term_add(r, kg_term_input(r, y), step);
    sum.value = fma(alpha.value, x, y);
    return sum;
}

static kg_term squared_norm(const kg_rung *r, kg_term alpha, const kg_view *x, const kg_view *y) {
    kg_total total = {.exact = y->desc.dtype == KG_F64};
    kg_term whole = {0};
    double step[KG_TILE], base[KG_TILE];
    for (int64_t at = 0, n; at < y->desc.shape[0]; at += n) {
        n = y->desc.shape[0] - at < KG_TILE ? y->desc.shape[0] - at : KG_TILE;
        kg_load_line(x, at * x->desc.stride[0], x->desc.stride[0], n, step, 1);
        kg_load_line(y, at * y->desc.stride[0], y->desc.stride[0], n, base, 1);
        for (int64_t k = 0; k < n; k++) {
            const kg_term term = kg_term_stored(r, updated(r, alpha, step[k], base[k]));
            const kg_term square = kg_term_mul(r, term, kg_term_exact(term.value));
            base[k] = square.value;
            whole.local += square.local + fabs(term.value) * term.local;  // both factors are the same
            whole.acc += square.acc + fabs(term.value) * term.acc;
        }
        kg_total_add(&total, base, n);
    }
    return (kg_term){kg_total_value(&total), whole.local, whole.acc + kg_total_acc(&total)};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view y = kg_call_view(call, "y"), x = kg_call_view(call, "x");
    const kg_rung r = kg_rung_of(call->task, y.desc.dtype);
    const kg_term alpha = kg_term_stored(&r, kg_term_number(&r, call->c->args[ALPHA].f));
    for (size_t k = 0; k < ref->n; k++)
        kg_term_put(ref, k,
                    ref->out == 0 ? squared_norm(&r, alpha, &x, &y)
                                  : updated(&r, alpha, kg_at(&x, ref->index[k]), kg_at(&y, ref->index[k])));
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 4 * (double)kg_numel(&c->args[Y].tensor);
}

const kg_task kg_task_kbx_scaled_add_dot = {
    .name = "scaled_add_dot",
    .suite = "kbx",
    .category = "MatrixMultiply",
    .signature = "scaled_add_dot(y, x, alpha) -> Tensor",
    .summary = "y becomes y + alpha * x in place; the result is the dot product of the new y with itself.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda y, x, alpha: (lambda z: torch.dot(z, z))(y.add_(x, alpha=alpha))",
    .c_items = "1",
    .c_body =
        "double dot = 0;\n"
        "for (int64_t k = 0; k < kg_dim(y, 0); k++) {\n"
        "    const double z = kg_get(y, k) + alpha * kg_get(x, k);\n"
        "    kg_put(y, k, z);\n"
        "    dot += z * z;\n"
        "}\n"
        "kg_put(out, i, dot);\n",
};
