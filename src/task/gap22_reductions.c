// Reductions (input, dim, keepdim=False).
#include "task/gap22_reductions.h"

const kg_param kg_params_reduction[] = {{.name = "input", .kind = KG_P_TENSOR},
                                        {.name = "dim", .kind = KG_P_INTS},
                                        {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                        {.name = NULL}};

static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    const kg_fill ints = input.dtype == KG_U8 ? KG_INTEGERS(0, 255) : KG_INTEGERS(-1000, 1000);
    kg_set_strided(c, b->task, "input", input, kg_dtype_is_float(input.dtype) ? fill : ints);
    kg_set_ints(c, b->task, "dim", KG_INTS(dim));
    c->args[KG_RED_DIM].scalar = true;
    return c;
}

static kg_case *over(kg_cases *b, kg_tensor input, int n, const int64_t *dims, kg_fill fill) {
    kg_case *c = add(b, input, 0, fill);
    kg_set_ints(c, b->task, "dim", n, dims);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b, const kg_reduction_family *f) {
    const kg_fill fill = f->fill;
    add(b, F32(3), 0, fill);
    add(b, F32(1), 0, fill);
    add(b, F32(33, 65), 0, fill);
    add(b, F32(33, 65), 1, fill);
    kg_set_bool(add(b, F32(33, 65), -1, fill), b->task, "keepdim", true);
    kg_set_bool(add(b, F32(5, 7, 9), 1, fill), b->task, "keepdim", true);
    add(b, F32(65, 1025), -1, fill);
    add(b, F32(2, 65537), 1, fill);
    add(b, F32(4111, 3), 1, fill);
    add(b, F32(1031, 5), 0, fill);
    add(b, F32(0, 5), 1, fill);
    over(b, F32(7, 33, 5), KG_INTS(0, 2), fill);
    over(b, F32(7, 33, 5), KG_INTS(-1, 1), fill);
    over(b, F32(7, 33, 5), KG_INTS(1), fill);
    over(b, F32(33, 65), KG_INTS(0, 1), fill);  // everything
    if (f->empty) add(b, F32(4, 0), 1, fill);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1, fill);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), -1, fill);
    add(b, F32(33, 129), 1, KG_OUTLIERS(0, 1));
    add(b, F32(300, 3), 1, KG_SPECIALS(0, 1));  // infinities decide
    add(b, F32(64, 33), 1, KG_NORMAL(-1000, 1));
    add(b, F32(300, 3), 1, KG_LOGSCALE(100, 120));  // below any number that stands for -infinity
    add(b, F32(5, 7), 1, (kg_fill){KG_FILL_CONST, -INFINITY, 0});
    if (f->logarithm) {
        add(b, F32(64, 33), 1, KG_NORMAL(1000, 3));
        for (size_t i = 0; i < KG_HARD_LOGITS; i++)
            add(b, kg_tensor_contiguous(KG_F32, 2, kg_hard_logits[i].shape), 1, kg_hard_logits[i].fill);
    }
    for (const kg_dtype *t = f->dtypes + 1; *t != KG_DTYPES; t++) {
        add(b, kg_tensor_contiguous(*t, KG_SHAPE(67, 257)), 1, fill);
        add(b, kg_tensor_contiguous(*t, KG_SHAPE(67, 31)), 0, fill);
        if (!kg_dtype_is_float(*t) && kg_exceeds_float(*t))
            add(b, kg_tensor_contiguous(*t, KG_SHAPE(33, 67)), 1, fill)->args[KG_RED_INPUT].fill = KG_BEYOND_FLOAT;
    }
}

static void full(kg_cases *b, const kg_reduction_family *f) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        add(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]), 0, f->fill);
    add(b, F32(70001, 5), 1, f->fill);  // more lines than a grid has in its second and third dimension
    add(b, F32(5, 70001), 0, f->fill);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0, f->fill);
    over(b, F32(2, 3, 4, 5, 6), KG_INTS(0, 2, 4), f->fill);
    kg_set_bool(over(b, F32(2, 3, 4, 5, 6), KG_INTS(-4, 3), f->fill), b->task, "keepdim", true);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0, f->fill);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1, f->fill);
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(5, 4099)), 1, f->fill);
    add(b, F32(129, 65), 1, KG_SPECIALS(0, 1));  // nearly every row holds a NaN
}

int kg_reduction_cases(kg_cases *b, const kg_reduction_family *f) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b, f);
        if (b->level == KG_CASES_FULL) full(b, f);
        return 0;
    }
    if (b->level == KG_TIMED_CUDA)  // the published sizes: data/gap22_published.csv
        for (int i = 0; i < 2; i++) add(b, kg_tensor_contiguous(f->timed, 2, f->sizes[i]), 1, f->fill);
    else
        for (int64_t n = 16; n <= 16384; n *= 4) add(b, F32(n, 1024), 1, f->fill);
    return 0;
}
#undef F32

int kg_reduction_infer_empty(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[KG_RED_INPUT].tensor;
    const int mask = kg_reduced_dims(&c->args[KG_RED_DIM], in->ndim);
    if (mask < 0) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_reduced_shape(in, mask, c->args[KG_RED_KEEPDIM].i, in->dtype);
    return 0;
}

int kg_reduction_infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[KG_RED_INPUT].tensor;
    const int mask = kg_reduced_dims(&c->args[KG_RED_DIM], in->ndim);
    return mask < 0 || kg_groups_of(in, mask).count == 0 ? -1 : kg_reduction_infer_empty(t, c);
}

kg_groups kg_reduction_groups(const kg_call *call) {
    const kg_tensor *in = &call->c->args[KG_RED_INPUT].tensor;
    return kg_groups_of(in, kg_reduced_dims(&call->c->args[KG_RED_DIM], in->ndim));
}

double kg_reduction_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[KG_RED_INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}
