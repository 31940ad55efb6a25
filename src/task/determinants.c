#include "task/determinants.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 192

const char *const kg_outputs_det[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------------
// Normal values of a deviation that gives determinants about 1 in size; the others have a raised diagonal, for small n.
static kg_fill fill_of(kg_fill_kind kind, kg_dtype t, int64_t n) {
    const double order = (double)(n > 0 ? n : 1);
    if (kind == KG_FILL_NORMAL) return KG_NORMAL(0, sqrt(2.7 / order) / (kg_dtype_is_complex(t) ? 1.4 : 1));
    if (kind == KG_FILL_RANK_ONE) return (kg_fill){kind, order, 0.125 / sqrt(order)};
    if (kind == KG_FILL_RAISED || kind == KG_FILL_CYCLIC) return kg_matrix_fill(kind, t, n);
    return (kg_fill){kind, 3, 0};
}

kg_case *kg_det_add(kg_cases *b, kg_fill_kind kind, kg_dtype t, int n_batch, const int64_t *batch, int64_t n) {
    int64_t shape[KG_MAX_NDIM];
    kg_case *c = kg_case_add(b);
    for (int d = 0; d < n_batch; d++) shape[d] = batch[d];
    shape[n_batch] = shape[n_batch + 1] = n;
    kg_set_tensor(c, b->task, "A", t, n_batch + 2, shape, fill_of(kind, t, n));
    return c;
}

#define ONE(kind, t, n)       kg_det_add(b, kind, t, 0, NULL, n)
#define MANY(kind, t, n, ...) kg_det_add(b, kind, t, KG_SHAPE(__VA_ARGS__), n)
static void some(kg_cases *b, kg_dtype t) {
    ONE(KG_FILL_NORMAL, t, 17);
    ONE(KG_FILL_CYCLIC, t, 4);
    ONE(KG_FILL_CYCLIC, t, 9);
    MANY(KG_FILL_NORMAL, t, 3, 2, 3);
    ONE(KG_FILL_NORMAL, t, 12)->args[0].tensor = kg_tensor_stepped(t, KG_SHAPE(12, 12), 2);
    ONE(KG_FILL_NORMAL, t, 12)->args[0].tensor = kg_tensor_transposed(t, KG_SHAPE(3, 12, 12), 0, 2);
}

void kg_det_cases(kg_cases *b) {
    static const int64_t orders[] = {1, 2, 3, 5, 8, 33, 64};
    static const kg_dtype all[] = {KG_F32, KG_F64, KG_C64, KG_C128};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) ONE(KG_FILL_NORMAL, KG_F32, orders[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) some(b, all[i]);
    ONE(KG_FILL_RANK_ONE, KG_F32, 48);
    ONE(KG_FILL_RAISED, KG_F32, 7);
    ONE(KG_FILL_ZERO, KG_F32, 3);
    ONE(KG_FILL_CONST, KG_F32, 2);  // rank one: 0
    ONE(KG_FILL_CONST, KG_F32, 5);
    ONE(KG_FILL_TIES, KG_F32, 3);  // often singular
    ONE(KG_FILL_NORMAL, KG_F64, 4)->args[0].fill = KG_WIDE_INTEGERS;
    ONE(KG_FILL_NORMAL, KG_F32, 0);
    MANY(KG_FILL_NORMAL, KG_F32, 0, 3);
    MANY(KG_FILL_NORMAL, KG_F32, 4, 0);
    MANY(KG_FILL_NORMAL, KG_F32, 1, 5);
    MANY(KG_FILL_NORMAL, KG_F32, 3, 11);
    if (b->level != KG_CASES_FULL) return;
    static const int64_t more[] = {4, 6, 7, 15, 16, 31, 32, 65, 100};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        for (size_t k = 0; k < 3; k++) ONE(KG_FILL_NORMAL, all[k], more[i] < 40 || k == 0 ? more[i] : 24);
    ONE(KG_FILL_RANK_ONE, KG_F32, 191);
    ONE(KG_FILL_RANK_ONE, KG_F32, 200);
    ONE(KG_FILL_RANK_ONE, KG_F32, 257);
    MANY(KG_FILL_TIES, KG_F32, 2, 40);
    MANY(KG_FILL_NORMAL, KG_F32, 6, 2, 1, 7);
    MANY(KG_FILL_NORMAL, KG_C64, 2, 20);
}
#undef ONE
#undef MANY

void kg_det_timed(kg_cases *b, int64_t most) {
    for (int64_t n = 16; n <= (b->level == KG_TIMED_CUDA ? most : 256); n *= 2)
        kg_det_add(b, KG_FILL_RANK_ONE, KG_F32, 0, NULL, n);
}

// ---- shape and work -----------------------------------------------------------------------------------------
int kg_det_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *a = &c->args[0].tensor;
    if (a->ndim < 2 || a->shape[a->ndim - 1] != a->shape[a->ndim - 2]) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(a->dtype, a->ndim - 2, a->shape);
    return 0;
}

void kg_det_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_tensor *a = &c->args[0].tensor;
    const double n = (double)a->shape[a->ndim - 1];
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(kg_dtype_part(a->dtype))] =
        (kg_dtype_is_complex(a->dtype) ? 4 : 1) * 2.0 / 3 * n * (double)kg_numel(a);
}

// ---- large matrices: diagonal plus rank one ---------------------------------------------------------------
static double at(const kg_matrices *a, int64_t i, int64_t j) {
    return kg_at_offset(&a->v, i * a->row_step + j * a->col_step);
}

// Three pairs (row, column), of six different numbers, whose elements are the largest that are left.
static void pick_pairs(const kg_matrices *a, int64_t pair[3][2]) {
    bool used[64] = {false};
    for (int p = 0; p < 3; p++) {
        double most = -1;
        for (int64_t k = 0; k < 64; k++)
            for (int64_t j = 0; j < 64; j++)
                if (k != j && !used[k] && !used[j] && fabs(at(a, k, j)) > most) {
                    most = fabs(at(a, k, j));
                    pair[p][0] = k;
                    pair[p][1] = j;
                }
        used[pair[p][0]] = used[pair[p][1]] = true;
    }
}

// tr(A^-1 dA) with A^-1_ii = (1 - t_i / (1 + s)) / d_i, t_i = u_i v_i / d_i, s their sum: the running sums of the
// diagonal count most, min(i, j) of them as large as d; columns' norms and pivots are about 1.
static kg_determinant rank_one_determinant(const kg_matrices *a) {
    int64_t pair[3][2];
    pick_pairs(a, pair);
    const int64_t n = a->rows;
    double *t = kg_alloc((size_t)n * sizeof *t), s = 0, relative = 5 * (double)n;
    long double product = 1;
    for (int64_t i = 0; i < n; i++) {
        int p = 0;
        while (pair[p][0] == i || pair[p][1] == i) p++;
        const int64_t k = pair[p][0], j = pair[p][1];
        const double uv = at(a, i, j) * at(a, k, i) / at(a, k, j), d = at(a, i, i) - uv;
        product *= d;
        t[i] = uv / d;
        s += t[i];
    }
    for (int64_t i = 0; i < n; i++) relative += (double)(i + 1) * pow(1 - t[i] / (1 + s), 2);
    free(t);
    const double det = (double)(product * (1 + (long double)s));
    return (kg_determinant){det, 0, fabs(det) * sqrt(relative)};
}

int kg_det_holds(const kg_call *call, const kg_answer *answer, kg_holds *h) {
    const kg_arg *arg = &call->c->args[0];
    const kg_dtype t = arg->tensor.dtype;
    const bool complex = kg_dtype_is_complex(t);
    if (kg_numel(&call->c->outs[0]) == 0) return 0;
    const kg_matrices a = kg_matrices_of(&call->args[0], complex, 2);
    for (int64_t k = 0; k < a.count; k++) {
        const kg_determinant d = arg->fill.kind == KG_FILL_RANK_ONE && t == KG_F32 && a.rows > SMALL
                                     ? rank_one_determinant(&a)
                                     : kg_determinant_of(&a, k, true, kg_working_unit(call->task, t));
        const double local = KG_SPREAD * d.error + hypot(d.re, d.im);
        for (int o = 0; o < answer->n; o++)
            for (int p = 0; p < (complex ? 2 : 1); p++)
                kg_hold(h, t, kg_at(&answer->out[o], complex ? 2 * k + p : k), p ? d.im : d.re, local, 0,
                        "det%s of matrix %lld", p ? ".imag" : "", (long long)k);
    }
    return 0;
}

// ---- skeleton -----------------------------------------------------------------------------------------------
const char kg_det_items[] = "kg_elements(out)";
const char kg_det_body[] =
    "const int64_t n = kg_dim(A, -1), width = n;\n"
    "int64_t rest = i, at = 0;\n"
    "for (int d = A->ndim - 3; d >= 0; d--) {\n"
    "    at += rest % A->shape[d] * kg_stride(A, d);\n"
    "    rest /= A->shape[d];\n"
    "}\n"
    "double *w = (double *)malloc((size_t)(2 * n * n + 1) * sizeof *w);\n"
    "for (int64_t r = 0; r < n; r++)\n"
    "    for (int64_t c = 0; c < n; c++) {\n"
    "        double *x = w + 2 * (r * n + c);\n"
    "        kg_get_complex_at(A, at + r * kg_stride(A, -2) + c * kg_stride(A, -1), x, x + 1);\n"
    "    }\n" KG_BODY_ELIMINATE
    "if (out->dtype.code == kDLComplex) kg_put_complex_at(out, kg_element(out, i), det_re, det_im);\n"
    "else kg_put(out, i, det_re);\n"
    "free(w);\n";
