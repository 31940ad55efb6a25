// solve(A, B, *, left=True, out=None) -> Tensor
//
// The public benchmark's signature leaves out the name and the default of `left`: torch.linalg.solve's. A is (*, n, n);
// B is (*, n, k), or a vector (n,) or a batch of vectors (*, n), which is what PyTorch takes it for where its shape is
// A's without the last dimension. Batch dimensions broadcast. left=False solves X A = B, of B (*, k, n), and takes no
// vectors. Singular matrices, which PyTorch refuses, are no cases, nor those with a NaN, which it refuses on a GPU.
// NaN in a column of B reaches the whole of what is computed from it.
//
// Bound: src/oracle/matrices.h. Cyclic matrices have small leading pivots: elimination without pivoting fails there.
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "B", .kind = KG_P_TENSOR},
    {.name = "left", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, B, LEFT };

static const kg_fill_kind kinds[] = {KG_FILL_RAISED, KG_FILL_CYCLIC, KG_FILL_NORMAL};
static const kg_system_family family = {
    .a = "A", .b = "B", .kinds = kinds, .complex = kinds, .n_kinds = 3, .vectors = true, .batches = true};

static kg_systems systems_of(const kg_case *c) {
    return (kg_systems){.a = A, .b = B, .vectors = c->args[LEFT].i != 0, .right = c->args[LEFT].i == 0, .pivot = true};
}

static void shaped_as(kg_cases *b, kg_dtype t, int na, const int64_t *a, int nb, const int64_t *rhs) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "A", t, na, a, kg_matrix_fill(KG_FILL_CYCLIC, t, a[na - 1]));
    kg_set_tensor(c, b->task, "B", t, nb, rhs, KG_NORMAL(0.25, 1));
}

static void shaped(kg_cases *b, int na, const int64_t *a, int nb, const int64_t *rhs) {
    shaped_as(b, KG_F32, na, a, nb, rhs);
}

static void right(kg_cases *b, kg_dtype t, int64_t n, int64_t k) {
    kg_case *c = kg_system_add(b, &family, KG_FILL_CYCLIC, t, 0, NULL, n, k);
    kg_set_tensor(c, b->task, "B", t, KG_SHAPE(k, n), KG_NORMAL(0.25, 1));
    kg_set_bool(c, b->task, "left", false);
}

static void right_transposed(kg_cases *b, kg_dtype t, int64_t n, int64_t k) {
    right(b, t, n, k);
    for (int i = A; i <= B; i++) {
        kg_tensor *x = &b->items[b->n - 1].args[i].tensor;
        *x = kg_tensor_transposed(t, 2, x->shape, 0, 1);
    }
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_system_timed(b, &family, (int64_t[]){16, 32, 64, 128, 256, 512, 1024, 2048, 0}, 256, 1);
        return 0;
    }
    kg_system_cases(b, &family);
    shaped(b, KG_SHAPE(2, 1, 5, 5), KG_SHAPE(3, 5, 2));
    shaped(b, KG_SHAPE(4, 4), KG_SHAPE(3, 4, 2));
    shaped(b, KG_SHAPE(3, 5, 5), KG_SHAPE(3, 5));  // vectors
    shaped_as(b, KG_C64, KG_SHAPE(3, 5, 5), KG_SHAPE(3, 5));
    shaped_as(b, KG_F64, KG_SHAPE(2, 3, 4, 4), KG_SHAPE(2, 3, 4));
    shaped(b, KG_SHAPE(3, 5, 5), KG_SHAPE(5, 2));  // one matrix
    kg_system_add(b, &family, KG_FILL_RAISED, KG_F32, 0, NULL, 4, 2)->args[B].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_system_add(b, &family, KG_FILL_NORMAL, KG_F64, 0, NULL, 6, 2)->args[A].fill = KG_WIDE_INTEGERS;
    right(b, KG_F32, 17, 3);
    right(b, KG_F32, 2, 2);
    right(b, KG_C64, 6, 4);
    right(b, KG_F64, 9, 1);
    right_transposed(b, KG_F32, 7, 3);
    right_transposed(b, KG_C64, 5, 2);
    kg_give_out(b, kg_system_add(b, &family, KG_FILL_CYCLIC, KG_F32, 0, NULL, 12, 3));
    kg_set_bool(kg_system_add(b, &family, KG_FILL_CYCLIC, KG_F32, 0, NULL, 11, 3), b->task, "left", true);
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
    kg_systems_work(t, c, w, &s, 2.0 / 3);
}

const kg_task kg_task_kbx_solve = {
    .name = "solve",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "solve(A, B, *, left=True, out=None) -> Tensor",
    .summary = "The solution X of A X = B, or of X A = B.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "torch.linalg.solve",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * (" KG_BODY_VECTOR(
        "A", "B") " && left ? 1 : kg_dim(B, left ? -1 : -2)) + (kg_elements(out) == 0))",
    .c_body = KG_BODY_SYSTEM("A", "B", KG_BODY_VECTOR("A", "B") " && left",
                             "if (!left) {\n"
                             "    k = kg_dim(B, -2);\n"
                             "    ar = kg_stride(A, -1), ac = kg_stride(A, -2);\n"
                             "    br = kg_stride(B, -1), bc = kg_stride(B, -2);\n"
                             "    xr = kg_stride(out, -1), xc = kg_stride(out, -2);\n"
                             "}\n",
                             KG_BODY_ELEMENT("A"), KG_BODY_SIDE("B")),
};
