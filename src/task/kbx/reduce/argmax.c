// argmax(input, dim, keepdim=False) -> LongTensor
//
// Index of the largest value along dim; None: in the flattened input. NaN is larger than everything; of equal values
// the first counts. Exact.
#include "oracle/reduce.h"
#include "task/shared.h"

const kg_param kg_argmax_params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                     {.name = "dim", .kind = KG_P_INT, .nullable = true},
                                     {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
                                     {.name = NULL}};
enum { INPUT, DIM, KEEPDIM };
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input, int64_t dim) {
    kg_case *c = kg_case_add(b);
    const bool small = input.dtype == KG_U8;
    kg_set_strided(
        c, b->task, "input", input,
        kg_dtype_is_float(input.dtype) ? KG_NORMAL(0, 1) : KG_INTEGERS(small ? 0 : -1000, small ? 255 : 1000));
    kg_set_int(c, b->task, "dim", dim);
    return c;
}
static kg_case *flat(kg_cases *b, kg_tensor input) {
    kg_case *c = add(b, input, 0);
    kg_set_none(c, b->task, "dim");
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_U8};
    const kg_fill ties = {KG_FILL_TIES, 0, 0};
    add(b, F32(1), 0);
    add(b, F32(33, 65), 0);
    add(b, F32(33, 65), 1);
    kg_set_bool(add(b, F32(33, 65), -1), b->task, "keepdim", true);
    add(b, F32(65, 1025), -1);
    flat(b, F32(65, 129));
    flat(b, F32(65537));
    add(b, F32(7, 33, 5), 1);
    add(b, F32(0, 5), 1);
    add(b, F32(5003, 3), 1);
    add(b, F32(5003, 33), 0);  // a sixth of what is found lies past 4096
    add(b, F32(3, 4, 1027), 1);
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), 1);
    flat(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    add(b, F32(65, 1025), 1)->args[INPUT].fill = ties;
    add(b, F32(129, 33), 0)->args[INPUT].fill = ties;
    flat(b, F32(4099))->args[INPUT].fill = ties;
    add(b, F32(129, 65), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);  // nearly every row holds a NaN
    add(b, F32(65, 129), 0)->args[INPUT].fill = KG_SPECIALS(0, 1);
    flat(b, F32(300))->args[INPUT].fill = KG_SPECIALS(0, 1);
    add(b, F32(300, 3), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);        // infinities decide
    add(b, F32(17, 321), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);       // four NaNs a row
    add(b, F32(64, 33), 1)->args[INPUT].fill = KG_NORMAL(-1000, 1);      // all negative
    add(b, F32(33, 9), 1)->args[INPUT].fill = KG_UNIFORM(-3e38, -1e36);  // below any number that stands for -infinity
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
    flat(b, kg_tensor_contiguous(KG_F32, 0, NULL));
    add(b, F32(2, 3, 4, 5, 6), -3);
    kg_set_bool(add(b, F32(2, 3, 4, 5, 6), 0), b->task, "keepdim", true);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0);  // every value equal: 0
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), -1);
    flat(b, F32(3000))->args[INPUT].fill = KG_SPECIALS(0, 1);
    add(b, kg_tensor_contiguous(KG_U8, KG_SHAPE(KG_PAST_32_BITS / 64, 64)), 1)->large = true;
}
#undef F32

int kg_argmax_cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    static const int cpu[] = {14, 17, 20, 22, 24, 25};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 18 : 6); i++) {
        const int64_t n = (int64_t)1 << (cuda ? 12 + i : cpu[i]);
        add(b, kg_tensor_contiguous(KG_F32, 1, &n), 0);
    }
    return 0;
}

static int mask_of(const kg_case *c) {
    const int ndim = c->args[INPUT].tensor.ndim;
    if (c->args[DIM].none) return (1 << (ndim ? ndim : 1)) - 1;
    const int d = kg_wrap_dim(c->args[DIM].i, ndim);
    return d < 0 ? -1 : 1 << d;
}

int kg_argmax_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    const int mask = mask_of(c);
    if (mask < 0 || kg_groups_of(in, mask).count == 0) return -1;  // PyTorch refuses too
    c->n_outs = 1;
    c->outs[0] = kg_reduced_shape(in, mask, c->args[KEEPDIM].i, KG_I64);
    return 0;
}

typedef struct {
    double best;
    int64_t at, seen;
} search;

static void search_chunk(const double *x, int64_t n, void *ctx) {
    search *s = ctx;
    double best = s->best;
    for (int64_t k = 0; k < n; k++) {
        if (x[k] <= best || isnan(best)) continue;  // false for a first NaN
        best = x[k];
        s->at = s->seen + k;
    }
    s->best = best;
    s->seen += n;
}

int kg_argmax_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_groups g = kg_groups_of(&in.desc, mask_of(call->c));
    for (size_t k = 0; k < ref->n; k++) {
        search s = {.best = -INFINITY};
        kg_group_each(&in, &g, ref->index[k], search_chunk, &s);
        ref->value[k] = (double)s.at;
        ref->local[k] = ref->acc[k] = 0;
    }
    return 0;
}

double kg_argmax_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[INPUT].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

void kg_argmax_work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->args[INPUT].tensor.dtype)] = (double)kg_numel(&c->args[INPUT].tensor);
}

const char kg_argmax_body[] =
    "const int64_t n = dim ? kg_dim(input, *dim) : kg_elements(input);\n"
    "double best = 0;\n"
    "int64_t found = 0;\n"
    "for (int64_t k = 0; k < n; k++) {\n"
    "    const int64_t at = dim ? kg_line(input, *dim, i) + k * kg_stride(input, *dim) : kg_element(input, k);\n"
    "    const double x = kg_get_at(input, at);\n"
    "    if (k > 0 && (x <= best || best != best)) continue;\n"
    "    best = x;\n"
    "    found = k;\n"
    "}\n"
    "kg_put(out, i, (double)found);\n";

const kg_task kg_task_kbx_argmax = {
    .name = "argmax",
    .suite = "kbx",
    .category = "Reduce",
    .signature = "argmax(input, dim, keepdim=False) -> LongTensor",
    .summary =
        "Where the largest value along dim stands (None: in the flattened input); NaN is largest, the first of equals counts.",
    KG_OPERATION(argmax),
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = kg_argmax_cases,
    .reach = kg_argmax_reach,
    .torch_baseline = "torch.argmax",
};
