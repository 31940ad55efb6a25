// Cases, shapes and oracles of the operations of extremes.h.
#include "task/extremes.h"

#include "oracle/reduce.h"
#include "task/families.h"

const kg_param kg_params_extreme[] = {{.name = "input", .kind = KG_P_TENSOR},
                                      {.name = "dim", .kind = KG_P_INT},
                                      {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                      {.name = NULL}};
enum { INPUT, DIM, KEEPDIM };

static kg_fill values(kg_dtype t) {
    if (kg_dtype_is_float(t)) return KG_NORMAL(0, 1);
    if (t == KG_BOOL) return KG_INTEGERS(0, 1);
    return t == KG_U8 ? KG_INTEGERS(0, 255) : KG_INTEGERS(t == KG_I8 ? -128 : -1000, t == KG_I8 ? 127 : 1000);
}

static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, values(input.dtype));
    kg_set_int(c, b->task, "dim", dim);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_I8, KG_U8, KG_BOOL};
    const kg_fill ties = {KG_FILL_TIES, 0, 0}, zeros = KG_INTEGERS(0, 0);
    add(b, F32(1), 0);
    add(b, F32(33, 65), 0);
    add(b, F32(33, 65), 1);
    kg_set_bool(add(b, F32(33, 65), -1), b->task, "keepdim", true);
    add(b, F32(65, 1025), -1);
    add(b, F32(65537), 0);
    add(b, F32(7, 33, 5), 1);
    add(b, F32(1031, 3), 1);
    add(b, F32(5003, 33), 0);  // a sixth of what is found lies past 4096
    add(b, F32(3, 4, 1027), 1);
    add(b, F32(0, 5), 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), -1);
    add(b, F32(65, 1025), 1)->args[INPUT].fill = ties;
    add(b, F32(129, 33), 0)->args[INPUT].fill = ties;
    add(b, F32(17, 129), 1)->args[INPUT].fill = zeros;
    add(b, F32(129, 65), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);  // nearly every row holds a NaN
    add(b, F32(65, 129), 0)->args[INPUT].fill = KG_SPECIALS(0, 1);
    add(b, F32(300, 3), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);   // infinities decide
    add(b, F32(17, 321), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);  // four NaNs a row
    for (int sign = -1; sign <= 1; sign += 2) {  // nothing but values on one side of 0, or of what a search starts with
        add(b, F32(64, 33), 1)->args[INPUT].fill = KG_NORMAL(1000 * sign, 1);
        add(b, F32(33, 9), 1)->args[INPUT].fill = KG_UNIFORM(sign * 3e38, sign * 1e36);
        add(b, F32(33, 9), 1)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, sign * (double)INFINITY, 0};
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(67, 257)), i % 2 ? 0 : 1);
        if (kg_exceeds_float(others[i]))
            add(b, kg_tensor_contiguous(others[i], KG_SHAPE(33, 67)), 1)->args[INPUT].fill = KG_BEYOND_FLOAT;
    }
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        add(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]), 0);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), 0);
    add(b, F32(2, 3, 4, 5, 6), -3);
    kg_set_bool(add(b, F32(2, 3, 4, 5, 6), 0), b->task, "keepdim", true);
    kg_set_bool(add(b, F32(4, 0, 3), 2), b->task, "keepdim", true);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0);  // every value equal: 0
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2), 1);
    add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(129, 17)), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);
    add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(129, 17)), 0)->args[INPUT].fill = KG_SPECIALS(0, 1);
}
#undef F32

int kg_extreme_cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 64; n <= (cuda ? 131072 : 16384); n *= cuda ? 2 : 4)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, 1024)), 1);
    return 0;
}

int kg_extreme_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const int d = kg_wrap_dim(c->args[DIM].i, in->ndim);
    if (d < 0 || kg_groups_of(in, 1 << d).count == 0) return -1;  // PyTorch refuses too
    c->n_outs = 2;
    c->outs[0] = kg_reduced_shape(in, 1 << d, c->args[KEEPDIM].i, in->dtype);
    c->outs[1] = kg_reduced_shape(in, 1 << d, c->args[KEEPDIM].i, KG_I64);
    return 0;
}

typedef struct {
    double best;
    int64_t at, seen;
    double sign;  // -1: the largest is the smallest of the negated values
} search;

static void search_chunk(const double *x, int64_t n, void *ctx) {
    search *s = ctx;
    for (int64_t k = 0; k < n; k++, s->seen++) {
        const double v = s->sign * x[k];
        if (s->seen > 0 && (v >= s->best || isnan(s->best))) continue;  // false for a first NaN
        s->best = v;
        s->at = s->seen;
    }
}

static int extreme(const kg_call *call, kg_ref *ref, double sign) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_groups_of(&in.desc, 1 << kg_wrap_dim(call->c->args[DIM].i, in.desc.ndim));
    for (size_t k = 0; k < ref->n; k++) {
        search s = {.sign = sign};
        kg_group_each(&in, &g, ref->index[k], search_chunk, &s);
        ref->value[k] = ref->out == 0 ? sign * s.best : (double)s.at;
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

int kg_min_oracle(const kg_call *call, kg_ref *ref) { return extreme(call, ref, 1); }
int kg_max_oracle(const kg_call *call, kg_ref *ref) { return extreme(call, ref, -1); }

double kg_extreme_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

void kg_extreme_work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->args[INPUT].tensor.dtype)] = (double)kg_numel(&c->args[INPUT].tensor);
}
