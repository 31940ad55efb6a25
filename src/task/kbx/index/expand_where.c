// expand_where(input, target_sizes, cond, other) -> Tensor
//
// where(cond, input.expand(target_sizes), other). target_sizes may have more dimensions than input, in front, and a -1
// that keeps a size of input. cond is bool; it, other and the expanded input broadcast against one another, so the
// result may be larger than target_sizes. dtypes promote as PyTorch has it. Exact but for the promotion.
#include "task/selection.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "target_sizes", .kind = KG_P_INTS},
                                  {.name = "cond", .kind = KG_P_TENSOR},
                                  {.name = "other", .kind = KG_P_TENSOR},
                                  {.name = NULL}};
enum { INPUT, SIZES, COND, OTHER };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, int n, const int64_t *sizes, kg_tensor cond, kg_tensor other) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_ints(c, b->task, "target_sizes", n, sizes);
    kg_set_strided(c, b->task, "cond", cond, KG_RANDOM_MASK);
    kg_set_strided(c, b->task, "other", other, kg_values_apart(other.dtype));
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
#define MASK(...)  OF(KG_BOOL, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    static const kg_dtype mixed[][2] = {{KG_F32, KG_F16},  {KG_I64, KG_F32}, {KG_I32, KG_I64},
                                        {KG_F16, KG_BF16}, {KG_U8, KG_I8},   {KG_F32, KG_F64}};
    const kg_tensor number = kg_tensor_contiguous(KG_F32, 0, NULL), flag = kg_tensor_contiguous(KG_BOOL, 0, NULL);
    add(b, F32(1, 65), KG_INTS(33, 65), MASK(33, 1), F32(33, 65));
    add(b, F32(33, 1), KG_INTS(33, 65), MASK(33, 65), F32(33, 65));
    add(b, F32(33, 65), KG_INTS(33, 65), MASK(33, 65), F32(33, 65));  // nothing to expand
    add(b, F32(65), KG_INTS(33, 65), MASK(65), F32(33, 65));          // a new dimension
    add(b, F32(7), KG_INTS(3, 5, 7), MASK(5, 1), F32(3, 1, 7));
    add(b, F32(1, 5, 1), KG_INTS(4, -1, 7), MASK(4, 5, 7), F32(5, 1));
    add(b, F32(33, 1), KG_INTS(-1, 65), MASK(1, 65), F32(65));
    add(b, F32(33, 1), KG_INTS(-1, -1), MASK(33, 65), F32(33, 1));  // cond is the largest
    add(b, F32(5, 1), KG_INTS(5, 1), MASK(1), F32(3, 1, 7));        // other is
    add(b, F32(1), KG_INTS(1), MASK(1), F32(1));
    add(b, F32(1), KG_INTS(1025), MASK(1025), F32(1025));
    add(b, F32(4099), KG_INTS(2, 4099), MASK(2, 1), F32(4099));
    add(b, F32(4099, 1), KG_INTS(4099, 2), MASK(4099, 2), F32(2));
    add(b, number, KG_INTS(33, 65), MASK(33, 65), F32(33, 65));
    add(b, number, 0, NULL, flag, number);
    add(b, F32(1, 65), KG_INTS(33, 65), flag, F32(33, 65));
    add(b, F32(1, 65), KG_INTS(33, 65), MASK(33, 65), number);
    add(b, F32(1, 5), KG_INTS(0, 5), MASK(1, 5), F32(5));
    add(b, F32(3, 0), KG_INTS(3, 0), MASK(3, 1), F32(1));
    add(b, F32(1, 1023), KG_INTS(65, 1023), MASK(65, 1), F32(65, 1023));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), KG_INTS(2, 33, 65), MASK(33, 65), F32(2, 33, 65));
    add(b, F32(1, 65), KG_INTS(33, 65), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 65), 0, 1), F32(33, 65));
    add(b, F32(1, 65), KG_INTS(33, 65), MASK(33, 1), kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(1, 65), 3), KG_INTS(9, 65),
        kg_tensor_stepped(KG_BOOL, KG_SHAPE(9, 65), 2), kg_tensor_expanded(KG_F32, KG_SHAPE(9, 65), 0));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kg_case *c = add(b, OF(others[i], 1, 31), KG_INTS(9, 31), MASK(9, 31), OF(others[i], 9, 31));
        if (!kg_exceeds_float(others[i])) continue;
        c->args[INPUT].fill = KG_BEYOND_FLOAT;
        add(b, OF(others[i], 1, 31), KG_INTS(9, 31), MASK(9, 31), OF(others[i], 9, 31))->args[OTHER].fill =
            KG_BEYOND_FLOAT;
    }
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        add(b, OF(mixed[i][0], 1, 31), KG_INTS(9, 31), MASK(9, 31), OF(mixed[i][1], 9, 31));
    add(b, F32(1, 31), KG_INTS(9, 31), MASK(9, 31), kg_tensor_contiguous(KG_F64, 0, NULL));  // stays float32
    add(b, kg_tensor_contiguous(KG_F64, 0, NULL), KG_INTS(9, 31), MASK(9, 31), F32(9, 31));  // expanded: float64
    add(b, F32(1, 131), KG_INTS(9, 131), MASK(9, 131), F32(9, 131))->args[INPUT].fill = KG_SPECIALS(0, 2);
    add(b, F32(1, 131), KG_INTS(9, 131), MASK(9, 131), F32(9, 131))->args[OTHER].fill = KG_SPECIALS(0, 2);
    add(b, F32(1, 65), KG_INTS(33, 65), MASK(33, 65), F32(33, 65))->args[COND].fill = (kg_fill){KG_FILL_ZERO, 0, 0};
    add(b, F32(1, 65), KG_INTS(33, 65), MASK(33, 65), F32(33, 65))->args[COND].fill = (kg_fill){KG_FILL_CONST, 1, 0};
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1) add(b, F32(1, n), KG_INTS(3, n), MASK(3, 1), F32(3, n));
    add(b, F32(2, 1, 3, 1, 5), KG_INTS(2, 4, 3, 6, 5), MASK(4, 1, 6, 1), F32(2, 1, 3, 6, 1));
    add(b, F32(1, 1048577), KG_INTS(1, 1048577), MASK(1048577), F32(1));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), KG_INTS(5, 64, 31), MASK(64, 1), F32(31));
    add(b, OF(KG_F16, 1, 131), KG_INTS(9, 131), MASK(9, 131), OF(KG_F16, 9, 131))->args[INPUT].fill = KG_SPECIALS(0, 2);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 1024 : 512; n <= 16384; n *= cuda ? 2 : 4)
        add(b, F32(1, n), KG_INTS(256, n), MASK(256, 1), F32(256, n));
    return 0;
}
#undef MASK
#undef F32
#undef OF

// ---- shapes and oracle ------------------------------------------------------------------------------
// input.expand(target_sizes); -1: not a legal choice.
static int expanded(const kg_case *c, kg_tensor *out) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    const kg_arg *sizes = &c->args[SIZES];
    const int before = sizes->n - in->ndim;
    int64_t shape[KG_MAX_NDIM];
    for (int d = 0; d < sizes->n; d++) {
        const bool keep = sizes->ints[d] == -1;
        if (keep && d < before) return -1;
        shape[d] = keep ? in->shape[d - before] : sizes->ints[d];
        if (shape[d] < 0) return -1;
    }
    const kg_tensor wanted = kg_tensor_contiguous(in->dtype, sizes->n, shape);
    return kg_expand(in, &wanted, out);
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_arg e = {.kind = KG_P_TENSOR};
    kg_tensor some, all;
    if (expanded(c, &e.tensor) || c->args[COND].tensor.dtype != KG_BOOL) return -1;
    if (kg_broadcast(&e.tensor, &c->args[COND].tensor, &some) || kg_broadcast(&some, &c->args[OTHER].tensor, &all))
        return -1;
    const kg_arg *const both[] = {&e, &c->args[OTHER]};
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_promote_args(both, 2), all.ndim, all.shape);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact(x[1] != 0 ? x[0] : x[2]);
}

// Expanding commutes with broadcasting: the sizes are in the output's shape already.
static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const operands[] = {"input", "cond", "other"};
    return kg_map(call, ref, 3, operands, at, NULL);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_expand_where = {
    .name = "expand_where",
    .suite = "kbx",
    .category = "Index",
    .signature = "expand_where(input, target_sizes, cond, other) -> Tensor",
    .summary = "input, expanded to target_sizes, where cond is true, else other; all broadcast.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "lambda input, target_sizes, cond, other: torch.where(cond, input.expand(target_sizes), other)",
    .c_body =
        "// target_sizes is in out's shape already.\n"
        "(void)target_sizes;\n"
        "const DLTensor *from = kg_get_broadcast(cond, out, i) != 0 ? input : other;\n"
        "kg_put(out, i, kg_get_broadcast(from, out, i));\n",
};
