// lu(A, *, pivot=True, out=None) -> (Tensor, Tensor, Tensor)
//
// A = P L U for matrices of m x n, k = min(m, n): P m x m, L m x k, U k x n, all of A's dtype. P is a permutation
// matrix, L has ones on the diagonal and zeros above it, U zeros below it. Partial pivoting: no element of L is larger
// than 1; which of equal pivots is taken is free. Complex pivots are compared by |re| + |im| in LAPACK, so sqrt(2) is
// the limit for them. pivot=False: A = L U, and P is an empty tensor of one dimension (PyTorch, on CUDA; it refuses
// this on the CPU). Left out: out=, three tensors.
//
// Bound: L U = P^T A + E with |E| <= gamma |L| |U|, element by element, with or without pivoting: how much the elements
// grow is in |L| |U| (Higham, theorem 9.3). Element (i, j) takes min(i, j) + 1 steps, each of which rounds a number no
// larger than (|L| |U|)_ij twice, at random: |E_ij| <= 8 sqrt(min(i, j) + 2) u (|L| |U|)_ij (Higham and Mary, SISC 41,
// 2019). A random combination of columns errs by no more than the sum of their bounds. Of a matrix with a NaN, L or U
// has one too.
#include "task/decomposed.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "pivot", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = NULL}};
enum { A, PIVOT };
static const char *const outputs[] = {"P", "L", "U", NULL};

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    int64_t m, n;
    const kg_tensor *a = &c->args[A].tensor;
    if (kg_decomposed_size(c, &m, &n)) return -1;
    const int64_t k = m < n ? m : n;
    c->n_outs = 3;
    c->outs[0] =
        c->args[PIVOT].i ? kg_decomposed_shape(a, a->dtype, m, m) : kg_tensor_contiguous(a->dtype, KG_SHAPE(0));
    c->outs[1] = kg_decomposed_shape(a, a->dtype, m, k);
    c->outs[2] = kg_decomposed_shape(a, a->dtype, k, n);
    return 0;
}

// ---- cases ------------------------------------------------------------------------------------------
// Values around 4: the first pivot is never 0, and those after it as good as never.
static void unpivoted(kg_cases *b, kg_tensor a) {
    kg_set_bool(kg_decomposed_case(b, a, KG_NORMAL(4, 1)), b->task, "pivot", false);
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static int cases(kg_cases *b) {
    static const int64_t cpu[] = {64, 256, 512};
    static const int64_t cuda[] = {256, 384, 512, 640, 768, 896, 1024, 1152, 1280, 1408, 1536};
    static const kg_dtype dtypes[] = {KG_F32, KG_C64, KG_F64, KG_C128};
    if (b->level == KG_TIMED_CPU) kg_decomposed_timed(b, 3, cpu);
    else if (b->level == KG_TIMED_CUDA) kg_decomposed_timed(b, 11, cuda);
    else {
        kg_decomposed_cases(b);
        kg_set_bool(kg_decomposed_case(b, OF(KG_F32, 9, 9), KG_NORMAL(0, 1)), b->task, "pivot", true);
        for (int i = 0; i < (b->level == KG_CASES_FULL ? 4 : 2); i++) {
            const kg_dtype t = dtypes[i];
            unpivoted(b, OF(t, 12, 12));
            unpivoted(b, OF(t, 5, 8));
            unpivoted(b, OF(t, 2, 8, 5));
            unpivoted(b, kg_tensor_transposed(t, KG_SHAPE(7, 7), 0, 1));
            // Singular: zero pivots, below which there is nothing to divide.
            kg_decomposed_case(b, OF(t, 12, 9), (kg_fill){KG_FILL_CONST, 1.5, 0});
            kg_decomposed_case(b, OF(t, 4, 6), (kg_fill){KG_FILL_ZERO, 0, 0});
            kg_decomposed_case(b, OF(t, 9, 9), (kg_fill){KG_FILL_TIES, 0, 0});
            kg_decomposed_case(b, OF(t, 6, 5), (kg_fill){KG_FILL_CONST, NAN, 0});
        }
        unpivoted(b, OF(KG_F32, 0, 3));
        if (b->level == KG_CASES_FULL) unpivoted(b, OF(KG_F32, 70, 40));
        if (b->level == KG_CASES_FULL) unpivoted(b, OF(KG_F64, 3, 2, 31, 33));
    }
    return 0;
}
#undef OF

// ---- what must hold -----------------------------------------------------------------------------------
static void hold_permutation(kg_holds *h, const kg_factor *p) {
    for (int64_t i = 0; i < p->rows; i++) {
        int64_t in_row = 0, in_column = 0;
        for (int64_t j = 0; j < p->cols; j++) {
            const kg_complex x = kg_factor_get(p, i, j);
            if (x != 0 && x != 1)
                kg_hold_true(h, false, "P[%lld,%lld] is %g, neither 0 nor 1", (long long)i, (long long)j, creal(x));
            in_row += x == 1;
            in_column += kg_factor_get(p, j, i) == 1;
        }
        kg_hold_true(h, in_row == 1, "P: row %lld has %lld ones", (long long)i, (long long)in_row);
        kg_hold_true(h, in_column == 1, "P: column %lld has %lld ones", (long long)i, (long long)in_column);
    }
}

static void hold_lower(kg_holds *h, const kg_factor *l, bool pivot) {
    kg_hold_triangle(h, l, false, "L");
    for (int64_t j = 0; j < l->cols; j++)
        kg_hold_true(h, kg_factor_get(l, j, j) == 1, "L[%lld,%lld] is %.9g, not 1", (long long)j, (long long)j,
                     creal(kg_factor_get(l, j, j)));
    const double most = l->is_complex ? sqrt(2) : 1;
    for (int64_t i = 0; pivot && i < l->rows; i++)
        for (int64_t j = 0; j < l->cols && j < i; j++) {
            const double x = cabs(kg_factor_get(l, i, j));
            kg_hold(h, l->part, x, x <= most ? x : most, KG_LAMBDA, 0, "|L[%lld,%lld]|, a quotient by the pivot",
                    (long long)i, (long long)j);
        }
}

// |m| x for a panel that is not negative.
static int absolute_times(const kg_factor *m, const kg_panel *x, kg_panel *y) {
    if (kg_panel_make(y, m->rows, x->s)) return -1;
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) {
            const double a = cabs(kg_factor_get(m, i, j));
            for (int64_t c = 0; a > 0 && c < x->s; c++) y->x[i * x->s + c] += a * creal(x->x[j * x->s + c]);
        }
    return 0;
}

static int hold_product(kg_holds *h, const kg_sketch *k, const kg_factor *a, const kg_factor *p, const kg_factor *l,
                        const kg_factor *u) {
    kg_panel want = {0}, got = {0}, sizes, ux = {0}, lux = {0};
    const kg_factor p_t = kg_factor_adjoint(p ? p : a);
    int failed = kg_panel_make(&sizes, k->x.n, k->x.s) ||
                 (p ? kg_panel_times2(&p_t, a, &k->x, &want) : kg_panel_times(a, &k->x, &want)) ||
                 kg_panel_times2(l, u, &k->x, &got);
    for (int64_t i = 0; !failed && i < sizes.n * sizes.s; i++) sizes.x[i] = fabs(creal(k->x.x[i]));
    failed = failed || absolute_times(u, &sizes, &ux) || absolute_times(l, &ux, &lux);
    for (int64_t i = 0; !failed && i < got.n; i++)
        for (int64_t c = 0; c < got.s; c++) {
            const double steps = (double)(k->group > 1 || i < c ? i : c) + 2;
            const int64_t at = i * got.s + c;
            kg_hold(h, l->part, cabs(got.x[at] - want.x[at]), 0, 8 * sqrt(steps) * creal(lux.x[at]), 0,
                    "|L U - P^T A| at [%lld,%lld]", (long long)i, (long long)c);
        }
    kg_panel_free(&want);
    kg_panel_free(&got);
    kg_panel_free(&sizes);
    kg_panel_free(&ux);
    kg_panel_free(&lux);
    return failed ? -1 : 0;
}

static int hold_one(const kg_call *call, const kg_answer *answer, kg_holds *h, int64_t which) {
    const kg_view view = kg_call_view(call, "A");
    const kg_case *c = call->c;
    const bool pivot = c->args[PIVOT].i;
    const kg_factor a = kg_factor_of(&view, &c->args[A].tensor, which);
    const kg_factor l = kg_factor_of(&answer->out[1], &c->outs[1], which);
    const kg_factor u = kg_factor_of(&answer->out[2], &c->outs[2], which);
    kg_factor p = a;
    if (kg_factor_has_nan(&a)) {  // where else it goes depends on the order of the steps
        kg_hold_true(h, kg_factor_has_nan(&l) || kg_factor_has_nan(&u), "A has a NaN, and neither L nor U has one");
        return 0;
    }
    hold_lower(h, &l, pivot);
    kg_hold_triangle(h, &u, true, "U");
    if (pivot) {
        p = kg_factor_of(&answer->out[0], &c->outs[0], which);
        hold_permutation(h, &p);
    }
    kg_sketch k;
    if (kg_sketch_make(&k, a.cols, a.rows, answer)) return -1;
    const int failed = hold_product(h, &k, &a, pivot ? &p : NULL, &l, &u);
    kg_panel_free(&k.x);
    return failed;
}

static int holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    for (int64_t i = 0; i < kg_factor_count(&call->c->args[A].tensor); i++)
        if (hold_one(call, answer, h, i)) return -1;
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    int64_t m = 0, n = 0;
    kg_decomposed_size(c, &m, &n);
    kg_decomposed_work(t, c, w, kg_elimination((double)m, (double)n));
}

const kg_task kg_task_kbx_lu = {
    .name = "lu",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "lu(A, *, pivot=True, out=None) -> (Tensor, Tensor, Tensor)",
    .summary = "LU decomposition with partial pivoting: a permutation, a unit lower and an upper triangle.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 7,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.lu",
    .c_items = "kg_elements(A) ? kg_elements(A) / (kg_dim(A, -2) * kg_dim(A, -1)) : A->ndim == 2",
    .c_body =
        "// Column by column: each is solved with the columns of L to its left, then the largest of the rest becomes the pivot.\n"
        "#define PUT(t, at, re, im) ((t)->dtype.code == kDLComplex ? kg_put_complex_at(t, at, re, im) : kg_put_at(t, at, re))\n"
        "const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = m < n ? m : n, p0 = i * m * m, l0 = i * m * k, u0 = i * k * n;\n"
        "int64_t a = 0, rest = i;\n"
        "double x, y, u, v;\n"
        "for (int d = A->ndim - 3; d >= 0; d--) {\n"
        "    a += rest % A->shape[d] * kg_stride(A, d);\n"
        "    rest /= A->shape[d];\n"
        "}\n"
        "for (int64_t e = 0; e < m * m && pivot; e++) PUT(P, p0 + e, e % (m + 1) == 0, 0);\n"
        "for (int64_t e = 0; e < m * k; e++) PUT(L, l0 + e, 0, 0);\n"
        "for (int64_t e = 0; e < k * n; e++) PUT(U, u0 + e, 0, 0);\n"
        "for (int64_t j = 0; j < n; j++) {\n"
        "    int64_t best = j;\n"
        "    double largest = -1;\n"
        "    for (int64_t r = 0; r < m; r++) {\n"
        "        int64_t from = r;\n"
        "        while (pivot && kg_get(P, p0 + from % m * m + r) != 1) from++;\n"
        "        kg_get_complex_at(A, a + from % m * kg_stride(A, -2) + j * kg_stride(A, -1), &x, &y);\n"
        "        for (int64_t q = 0; q < r && q < j && q < k; q++) {\n"
        "            double re, im;\n"
        "            kg_get_complex_at(L, l0 + r * k + q, &u, &v);\n"
        "            kg_get_complex_at(U, u0 + q * n + j, &re, &im);\n"
        "            x -= u * re - v * im;\n"
        "            y -= u * im + v * re;\n"
        "        }\n"
        "        if (r < k && r <= j) PUT(U, u0 + r * n + j, x, y);\n"
        "        if (r >= j) PUT(L, l0 + r * k + j, x, y);\n"
        "        if (r >= j && fabs(x) + fabs(y) > largest) {\n"
        "            largest = fabs(x) + fabs(y);\n"
        "            best = r;\n"
        "        }\n"
        "    }\n"
        "    if (j >= k) continue;\n"
        "    for (int64_t q = 0; pivot && best != j && q <= j; q++) {\n"
        "        kg_get_complex_at(L, l0 + best * k + q, &x, &y);\n"
        "        kg_get_complex_at(L, l0 + j * k + q, &u, &v);\n"
        "        PUT(L, l0 + best * k + q, u, v);\n"
        "        PUT(L, l0 + j * k + q, x, y);\n"
        "    }\n"
        "    for (int64_t r = 0; pivot && best != j && r < m; r++) {\n"
        "        const double one = kg_get(P, p0 + r * m + best), other = kg_get(P, p0 + r * m + j);\n"
        "        PUT(P, p0 + r * m + best, other, 0);\n"
        "        PUT(P, p0 + r * m + j, one, 0);\n"
        "    }\n"
        "    kg_get_complex_at(L, l0 + j * k + j, &u, &v);\n"
        "    PUT(U, u0 + j * n + j, u, v);\n"
        "    PUT(L, l0 + j * k + j, 1, 0);\n"
        "    const double size = hypot(u, v);\n"
        "    for (int64_t r = j + 1; r < m && size > 0; r++) {\n"
        "        kg_get_complex_at(L, l0 + r * k + j, &x, &y);\n"
        "        PUT(L, l0 + r * k + j, (x * (u / size) + y * (v / size)) / size, (y * (u / size) - x * (v / size)) / size);\n"
        "    }\n"
        "}\n"
        "#undef PUT\n",
};
