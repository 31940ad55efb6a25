// cholesky_solve(B, L, upper=False, *, out=None) -> Tensor
//
// X of L L^H X = B, or of U^H U X = B with upper. B is (*, n, k), L (*, n, n); batch dimensions broadcast. L is
// triangular, as the signature says: the other triangle holds zeros in all cases.
//
// Bound: src/oracle/matrices.h, of the elimination of L L^H, whose factors are L and L^H but for a scaling: the two
// triangular solves err by what kg_lu_error charges for its own.
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "B", .kind = KG_P_TENSOR},
    {.name = "L", .kind = KG_P_TENSOR},
    {.name = "upper", .kind = KG_P_BOOL, .optional = true, .has_default = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { RHS, FACTOR, UPPER };

static const kg_fill_kind lower[] = {KG_FILL_LOWER}, upper[] = {KG_FILL_UPPER};
static const kg_system_family family = {
    .a = "L", .b = "B", .kinds = lower, .complex = lower, .n_kinds = 1, .batches = true};

static kg_systems systems_of(const kg_case *c) {
    return (kg_systems){
        .a = FACTOR, .b = RHS, .kind = c->args[UPPER].i ? KG_SYSTEM_UPPER_FACTOR : KG_SYSTEM_LOWER_FACTOR};
}

static void uppers(kg_cases *b, kg_dtype t, int64_t n, int64_t k) {
    kg_set_bool(kg_system_add(b, &family, upper[0], t, 0, NULL, n, k), b->task, "upper", true);
}

static void upper_transposed(kg_cases *b, kg_dtype t, int64_t n, int64_t k) {
    kg_case *c = kg_system_add(b, &family, lower[0], t, 0, NULL, n, k);
    c->args[FACTOR].tensor = kg_tensor_transposed(t, KG_SHAPE(n, n), 0, 1);
    kg_set_bool(c, b->task, "upper", true);
}

static void broadcast(kg_cases *b, int na, const int64_t *a, int nb, const int64_t *rhs) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "L", KG_F32, na, a, kg_matrix_fill(KG_FILL_LOWER, KG_F32, a[na - 1]));
    kg_set_tensor(c, b->task, "B", KG_F32, nb, rhs, KG_NORMAL(0.25, 1));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        // The benchmark's largest, 16384 and 32768, do not fit the memory that a timed case may take.
        kg_system_timed(b, &family, (int64_t[]){16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 0}, 512, 10);
        return 0;
    }
    kg_system_cases(b, &family);
    uppers(b, KG_F32, 17, 3);
    uppers(b, KG_F32, 2, 1);
    uppers(b, KG_C64, 9, 2);
    uppers(b, KG_F64, 33, 4);
    upper_transposed(b, KG_F32, 9, 2);
    upper_transposed(b, KG_C64, 7, 3);
    if (b->level == KG_CASES_FULL) uppers(b, KG_F32, 257, 2);
    broadcast(b, KG_SHAPE(2, 1, 5, 5), KG_SHAPE(3, 5, 2));
    broadcast(b, KG_SHAPE(4, 4), KG_SHAPE(3, 4, 2));
    kg_give_out(b, kg_system_add(b, &family, lower[0], KG_F32, 0, NULL, 12, 3));
    kg_case *c = kg_system_add(b, &family, lower[0], KG_F32, 0, NULL, 11, 3);
    kg_set_bool(c, b->task, "upper", false);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_systems s = systems_of(c);
    return kg_systems_infer(c, &s);
}
static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_systems s = systems_of(call->c);
    return kg_systems_hold(call, a, h, &s);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const kg_systems s = systems_of(c);
    kg_systems_work(t, c, w, &s, 0);
}

const kg_task kg_task_kbx_cholesky_solve = {
    .name = "cholesky_solve",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "cholesky_solve(B, L, upper=False, *, out=None) -> Tensor",
    .summary = "The solution X of L L^H X = B (or U^H U X = B), from a Cholesky factor.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.cholesky_solve",
    .c_items = "kg_elements(out) / (kg_dim(L, -1) * kg_dim(B, -1) + (kg_elements(out) == 0))",
    .c_body = KG_BODY_SYSTEM(
        "L", "B", "false", "",
        "            double a, b, d, e;\n"
        "            re = im = 0;\n"
        "            for (int64_t q = 0; q <= (r < c ? r : c); q++) {\n"
        "                kg_get_complex_at(L, at_a + (upper ? q * ar + r * ac : r * ar + q * ac), &a, &b);\n"
        "                kg_get_complex_at(L, at_a + (upper ? q * ar + c * ac : c * ar + q * ac), &d, &e);\n"
        "                re += a * d + b * e;\n"
        "                im += upper ? a * e - b * d : b * d - a * e;\n"
        "            }\n",
        KG_BODY_SIDE("B")),
};
