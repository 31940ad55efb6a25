// masked_select(input, mask) -> Tensor
//
// The elements of input where mask, a bool tensor, is true, as a line in row-major order; the two broadcast against one
// another. How long the line is depends on mask's values: cases have masks of which a stated number is true, at random
// places (KG_FILL_CHOICE), so that C kernels get an output of the right length. Exact, any dtype.
#include <stdlib.h>

#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "mask", .kind = KG_P_TENSOR}, {.name = NULL}};
enum { INPUT, MASK };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor mask, int64_t chosen) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, kg_values_of(input.dtype));
    kg_set_strided(c, b->task, "mask", mask, KG_CHOICE(kg_numel(&mask), chosen));
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
#define BITS(...)  OF(KG_BOOL, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32, KG_I16, KG_I8, KG_U8, KG_BOOL};
    const kg_tensor scalar = kg_tensor_contiguous(KG_F32, 0, NULL), flag = kg_tensor_contiguous(KG_BOOL, 0, NULL);
    add(b, F32(1000), BITS(1000), 517);
    add(b, F32(1000), BITS(1000), 0);
    add(b, F32(1000), BITS(1000), 1);
    add(b, F32(1000), BITS(1000), 999);
    add(b, F32(1000), BITS(1000), 1000);
    add(b, F32(1), BITS(1), 1);
    add(b, F32(1), BITS(1), 0);
    add(b, F32(0), BITS(0), 0);
    add(b, scalar, flag, 1);
    add(b, F32(33, 65), BITS(33, 65), 1000);
    add(b, F32(33, 65), BITS(65), 31);     // the same columns of every row
    add(b, F32(33, 65), BITS(33, 1), 17);  // whole rows
    add(b, F32(65), BITS(33, 65), 1000);   // input is broadcast
    add(b, F32(33, 1), BITS(1, 65), 30);   // both are
    add(b, F32(5, 1, 7), BITS(3, 1), 2);
    add(b, F32(33, 65), flag, 1);
    add(b, F32(1, 5, 7), BITS(5, 7), 20);
    add(b, F32(5, 7), BITS(1, 5, 7), 20);
    add(b, F32(1, 33, 65), BITS(65), 31);
    add(b, scalar, BITS(9, 7), 30);
    add(b, F32(5, 7, 3, 11), BITS(5, 7, 3, 11), 600);
    add(b, F32(5, 0), BITS(5, 1), 3);
    add(b, F32(65537), BITS(65537), 32000);
    add(b, F32(4097), BITS(4097), 40);  // few
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), BITS(33, 65), 1000);
    add(b, F32(33, 65), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 65), 0, 1), 1000);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 65), 0, 1),
        1000);
    add(b, F32(2, 33, 65), kg_tensor_transposed(KG_BOOL, KG_SHAPE(33, 65), 0, 1), 1000);
    add(b, F32(9, 1, 7), kg_tensor_transposed(KG_BOOL, KG_SHAPE(9, 5, 7), 0, 2), 100);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), BITS(257), 100);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kg_case *c = add(b, OF(others[i], 29, 31), BITS(29, 31), 450);
        if (kg_exceeds_float(others[i])) c->args[INPUT].fill = KG_BEYOND_FLOAT;
    }
    add(b, F32(1031), BITS(1031), 600)->args[INPUT].fill = KG_SPECIALS(0, 2);
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 65537; n = n * 4 + 1) add(b, F32(n), BITS(n), (n + 1) / 2);
    add(b, F32(262147), BITS(262147), 170000);
    add(b, F32(3, 90001), BITS(3, 90001), 1000);
    add(b, F32(2, 1, 3, 1, 5), BITS(4, 1, 6, 1), 11);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), BITS(19, 129), 1200);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2),
        kg_tensor_transposed(KG_BOOL, KG_SHAPE(5, 64, 31), 1, 2), 5000);
    add(b, OF(KG_F16, 1031), BITS(1031), 600)->args[INPUT].fill = KG_SPECIALS(0, 2);
    add(b, kg_tensor_expanded(KG_U8, KG_SHAPE(KG_PAST_32_BITS / 64 + 1, 64), 0), BITS(64), 1)->large = true;
}
static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4096 : 16384; n <= 4194304; n *= cuda ? 2 : 4) add(b, F32(n), BITS(n), n / 2);
    return 0;
}
#undef BITS
#undef F32
#undef OF

// ---- shapes and oracle ------------------------------------------------------------------------------
static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_tensor shape;
    int64_t chosen;
    if (kg_masked_shape(&c->args[INPUT].tensor, &c->args[MASK], &shape, &chosen)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(c->args[INPUT].tensor.dtype, 1, &chosen);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input"), mask = kg_call_view(call, "mask");
    kg_tensor shape;
    if (kg_broadcast(&in.desc, &mask.desc, &shape)) return -1;
    const kg_view seen = kg_view_expand(&in, &shape);
    int64_t *place = malloc((ref->n + 1) * sizeof *place);
    if (!place) return -1;
    kg_masked_places(&mask, &shape, ref->n, ref->index, place);
    for (size_t k = 0; k < ref->n; k++) kg_ref_exact(ref, k, kg_at(&seen, place[k]));
    free(place);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->bytes_read = kg_masked_bytes(&c->args[INPUT].tensor, &c->args[MASK].tensor, (double)kg_numel(&c->outs[0]));
}

const kg_task kg_task_kbx_masked_select = {
    .name = "masked_select",
    .suite = "kbx",
    .category = "Index",
    .signature = "masked_select(input, mask) -> Tensor",
    .summary = "The elements of input where mask is true, in row-major order, as one line.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_masked_reach,
    .torch_baseline = "torch.masked_select",
    .c_items = "1",
    .c_body = KG_MASKED_WALK("(void)i;\n", "kg_put(out, found++, kg_get_at(input, at));\n"),
};
