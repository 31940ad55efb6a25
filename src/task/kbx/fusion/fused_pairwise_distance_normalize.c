// fused_pairwise_distance_normalize(x1, x2, p_norm=2.0, eps_norm=1e-12, eps_distance=1e-6, keepdim=False) -> Tensor
//
// As F.pairwise_distance(F.normalize(x1, p_norm, -1, eps_norm), F.normalize(x2, ...), eps=eps_distance,
// keepdim=keepdim): rows over max(their p_norm-norm, eps_norm), and the 2-norm of the rows' differences, to each of
// which eps_distance is added. x1 and x2 are (N, D), or one of them (1, D). (The public benchmark's reference takes all
// pairs of rows, and p_norm for the distance too, which the text does not say.)
//
// Bounds: kg_stage_normalize, two roundings of the difference, kg_stage_norm2.
#include <stdlib.h>

#include "task/families.h"
#include "task/p_norms.h"

#define NUMBER(param, value) \
    { .name = param, .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = value }
static const kg_param params[] = {{.name = "x1", .kind = KG_P_TENSOR},
                                  {.name = "x2", .kind = KG_P_TENSOR},
                                  NUMBER("p_norm", 2),
                                  NUMBER("eps_norm", 1e-12),
                                  NUMBER("eps_distance", 1e-6),
                                  {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                  {.name = NULL}};
enum { X1, X2, P_NORM, EPS_NORM, EPS_DISTANCE, KEEPDIM };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor x1, kg_tensor x2) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "x1", x1, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "x2", x2, KG_NORMAL(0, 1));
    return c;
}
static kg_case *alike(kg_cases *b, kg_tensor x) { return add(b, x, x); }
static kg_case *with(kg_cases *b, kg_case *c, const char *name, double v) {
    kg_set_float(c, b->task, name, v);
    return c;
}
static kg_case *filled(kg_case *c, kg_fill x1, kg_fill x2) {
    c->args[X1].fill = x1, c->args[X2].fill = x2;
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
#define CONST(v) ((kg_fill){KG_FILL_CONST, v, 0})
static void quick(kg_cases *b) {
    alike(b, F32(5, 7));
    alike(b, F32(1, 1));
    alike(b, F32(33, 65));
    alike(b, F32(3, 1025));
    alike(b, F32(3, 4099));
    alike(b, F32(257, 3));
    alike(b, F32(4099, 2));
    alike(b, F32(0, 4));
    add(b, F32(9, 33), F32(1, 33));
    add(b, F32(1, 33), F32(9, 33));
    kg_set_bool(alike(b, F32(6, 33)), b->task, "keepdim", true);
    for (int i = 0; i < 5; i++)
        with(b, alike(b, F32(6, 33 + i)), "p_norm", (const double[]){1, 3, 0.5, 2.5, INFINITY}[i]);
    with(b, alike(b, F32(6, 33)), "eps_distance", 0.25);
    with(b, with(b, alike(b, F32(6, 33)), "eps_distance", 0), "p_norm", 1);
    with(b, alike(b, F32(6, 33)), "eps_norm", 100);
    with(b, alike(b, F32(16, 33)), "eps_norm", 6);    // more than some norms
    filled(alike(b, F32(3, 7)), CONST(0), CONST(0));  // eps alone
    filled(alike(b, F32(3, 7)), CONST(2), CONST(3));  // the same direction: eps alone, nearly
    filled(alike(b, F32(3, 7)), CONST(NAN), CONST(1));
    filled(alike(b, F32(3, 7)), CONST(INFINITY), CONST(1));
    filled(alike(b, F32(9, 33)), KG_OUTLIERS(0, 1), KG_NORMAL(0, 1));
    filled(alike(b, F32(9, 33)), KG_NORMAL(1e-3, 1e-3), KG_NORMAL(1e3, 1e3));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(34, 65), 0, 1), kg_tensor_stepped(KG_F32, KG_SHAPE(34, 65), 3));
    for (size_t i = 0; i < 3; i++) {
        const kg_dtype t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        alike(b, kg_tensor_contiguous(t, KG_SHAPE(9, 65)));
        with(b, alike(b, kg_tensor_contiguous(t, KG_SHAPE(9, 65))), "p_norm", 1);
    }
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 8; n++) alike(b, F32(9 - n, n));
    alike(b, F32(129, 257));
    alike(b, F32(2, 16385));
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(9, 33), 0), F32(9, 33));
    with(b, with(b, alike(b, F32(5, 33)), "p_norm", 1.5), "eps_distance", -0.5);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 64; n <= 8192; n *= 2) alike(b, F32(n, 128));
    return 0;
}
#undef F32
#undef CONST

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[X1].tensor, *y = &c->args[X2].tensor;
    if (x->ndim != 2 || y->ndim != 2 || x->dtype != y->dtype || !kg_dtype_is_float(x->dtype)) return -1;
    if (x->shape[1] != y->shape[1]) return -1;
    if (x->shape[0] != y->shape[0] && x->shape[0] != 1 && y->shape[0] != 1) return -1;
    const int64_t rows = x->shape[0] == 1 ? y->shape[0] : x->shape[0];
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, c->args[KEEPDIM].i ? 2 : 1, (const int64_t[]){rows, 1});
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
static void unit_row(const kg_call *call, const kg_rung *r, int arg, int64_t row, kg_stage *s) {
    const kg_view *x = &call->args[arg];
    const kg_line_t line = kg_line_of(&x->desc, 1, x->desc.shape[0] == 1 ? 0 : row);
    for (int64_t i = 0; i < s->n; i++) s->at[i] = kg_term_exact(kg_at_offset(x, line.start + i * line.step));
    kg_stage_normalize(r, s, call->c->args[P_NORM].f, call->c->args[EPS_NORM].f);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    const int64_t d = call->c->args[X1].tensor.shape[1];
    const kg_term eps = kg_term_number(&r, call->c->args[EPS_DISTANCE].f);
    kg_term *space = malloc(2 * (size_t)d * sizeof *space + 1);
    if (!space) return -1;
    kg_stage a = {d, space}, b = {d, space + d};
    for (size_t k = 0; k < ref->n; k++) {
        unit_row(call, &r, X1, ref->index[k], &a);
        unit_row(call, &r, X2, ref->index[k], &b);
        for (int64_t i = 0; i < d; i++) {
            const kg_term difference = kg_term_stored(&r, kg_term_sub(&r, a.at[i], b.at[i]));
            a.at[i] = kg_term_stored(&r, kg_term_add(&r, difference, eps));
        }
        kg_term_put(ref, k, kg_stage_norm2(&r, &a));
    }
    free(space);
    return 0;
}

static double features(const kg_case *c) { return (double)c->args[X1].tensor.shape[1]; }

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 10 * features(c), 3); }

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 6 * features(c));
}

const kg_task kg_task_kbx_fused_pairwise_distance_normalize = {
    .name = "fused_pairwise_distance_normalize",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_pairwise_distance_normalize(x1, x2, p_norm=2.0, eps_norm=1e-12, eps_distance=1e-6, keepdim=False) -> "
        "Tensor",
    .summary = "Distances of the rows of x1 and x2, each row over its p_norm-norm.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda x1, x2, p_norm=2.0, eps_norm=1e-12, eps_distance=1e-6, keepdim=False: F.pairwise_distance("
        "F.normalize(x1, p_norm, -1, eps_norm), F.normalize(x2, p_norm, -1, eps_norm), eps=eps_distance, "
        "keepdim=keepdim)",
    .c_body =
        "const DLTensor *const x[2] = {x1, x2};\n"
        "int64_t start[2];\n"
        "double by[2], sum = 0;\n"
        "for (int j = 0; j < 2; j++) {\n"
        "    double norm = 0;\n"
        "    start[j] = kg_dim(x[j], 0) == 1 ? 0 : i * kg_stride(x[j], 0);\n"
        "    for (int64_t k = 0; k < kg_dim(x1, 1); k++) {\n"
        "        const double e = fabs(kg_get_at(x[j], start[j] + k * kg_stride(x[j], 1)));\n"
        "        if (p_norm == INFINITY) norm = e > norm || e != e ? e : norm;\n"
        "        else norm += pow(e, p_norm);\n"
        "    }\n"
        "    if (p_norm != INFINITY) norm = pow(norm, 1.0 / p_norm);\n"
        "    by[j] = norm < eps_norm ? eps_norm : norm;\n"
        "}\n"
        "for (int64_t k = 0; k < kg_dim(x1, 1); k++) {\n"
        "    const double d = kg_get_at(x1, start[0] + k * kg_stride(x1, 1)) / by[0] -\n"
        "                     kg_get_at(x2, start[1] + k * kg_stride(x2, 1)) / by[1] + eps_distance;\n"
        "    sum += d * d;\n"
        "}\n"
        "kg_put(out, i, sqrt(sum));\n",
};
