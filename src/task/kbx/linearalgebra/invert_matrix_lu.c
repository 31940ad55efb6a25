// invert_matrix_lu(A, *, pivot=True, out=None) -> Tensor
//
// A is (*, n, n). pivot=False factorises without row exchanges (PyTorch's lu_factor has that on GPUs only): the answer
// is the same inverse where no pivot is 0, and the cases have a raised diagonal. Singular matrices, which PyTorch
// refuses, are no cases, nor those with a NaN, which it refuses on a GPU.
//
// Bound: src/oracle/matrices.h, for the identity as the right side; the inverse's own condition is in it
// (Higham, 14.1: |X - A^-1| <= c u |A^-1| |L| |U| |A^-1|).
#include "task/solves.h"

static const kg_param params[] = {
    {.name = "A", .kind = KG_P_TENSOR},
    {.name = "pivot", .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { A, PIVOT };

static const kg_fill_kind kinds[] = {KG_FILL_RAISED, KG_FILL_CYCLIC, KG_FILL_NORMAL};
static const kg_system_family family = {.a = "A", .kinds = kinds, .complex = kinds, .n_kinds = 3, .batches = true};
static const kg_systems systems = {.a = A, .b = -1, .pivot = true};
KG_SYSTEMS_FUNCTIONS(systems, 0)

static void unpivoted(kg_cases *b, kg_dtype t, int64_t n) {
    kg_set_bool(kg_system_add(b, &family, KG_FILL_RAISED, t, 0, NULL, n, 0), b->task, "pivot", false);
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_system_timed(b, &family, (int64_t[]){64, 128, 256, 512, 1024, 2048, 0}, 256, 0);
        return 0;
    }
    kg_system_cases(b, &family);
    kg_system_add(b, &family, KG_FILL_NORMAL, KG_F64, 0, NULL, 6, 0)->args[A].fill = KG_WIDE_INTEGERS;
    unpivoted(b, KG_F32, 17);
    unpivoted(b, KG_F32, 2);
    unpivoted(b, KG_C64, 9);
    unpivoted(b, KG_F64, 33);
    kg_give_out(b, kg_system_add(b, &family, KG_FILL_CYCLIC, KG_F32, 0, NULL, 12, 0));
    kg_set_bool(kg_system_add(b, &family, KG_FILL_CYCLIC, KG_F32, 0, NULL, 11, 0), b->task, "pivot", true);
    return 0;
}

const kg_task kg_task_kbx_invert_matrix_lu = {
    .name = "invert_matrix_lu",
    .suite = "kbx",
    .category = "LinearAlgebra",
    .signature = "invert_matrix_lu(A, *, pivot=True, out=None) -> Tensor",
    .summary = "The inverse of square matrices, by LU factorisation with or without pivoting.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline = "lambda A, *, pivot=True, out=None: torch.linalg.inv(A, out=out)",
    .c_items = "kg_elements(out) / (kg_dim(A, -1) * kg_dim(A, -1) + (kg_elements(out) == 0))",
    .c_body = KG_BODY_SYSTEM("A", "A", "false", "(void)pivot, (void)br, (void)bc;\n", KG_BODY_ELEMENT("A"),
                             "            re = r == c;\n            im = 0;\n"),
};
