// fused_softmax_log(input, dim=-1, dtype=None) -> Tensor
//
// softmax over dim of log(input), which is each element's share in the sum of its line: 0 for 0, NaN for a line with a
// negative one, a NaN or an infinity, or of zeros alone. Integers are taken for float32. dtype: the signature casts the
// input before the logarithm, PyTorch's softmax casts its argument, the logarithm; both are right.
//
// Bounds. An error e of a logarithm moves the share by e of itself; log rounds, u |log x| and 8 u more, as in log, and
// so does casting before or after it. The rest: kg_stage_softmax.
#include "oracle/stages.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true, .number = -1},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = NULL}};
enum { INPUT, DIM, DTYPE };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input,
                   kg_dtype_is_float(input.dtype) ? KG_UNIFORM(0.05, 9) : KG_INTEGERS(0, 9));
    return c;
}
static kg_case *over(kg_cases *b, kg_tensor input, int64_t dim) {
    kg_case *c = add(b, input);
    kg_set_int(c, b->task, "dim", dim);
    return c;
}
static kg_case *as(kg_cases *b, kg_dtype from, kg_dtype to) {
    kg_case *c = add(b, kg_tensor_contiguous(from, KG_SHAPE(17, 129)));
    kg_set_dtype(c, b->task, "dtype", to);
    return c;
}
static kg_case *filled(kg_case *c, kg_fill fill) {
    c->args[INPUT].fill = fill;
    return c;
}
static kg_case *constant(kg_case *c, double value) { return filled(c, (kg_fill){KG_FILL_CONST, value, 0}); }

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    add(b, F32(1, 1));
    add(b, F32(17));
    add(b, F32(33, 65));
    over(b, F32(33, 65), 0);
    over(b, F32(1031, 5), 0);
    over(b, F32(33, 65), 1);
    over(b, F32(5, 7, 33), 1);
    over(b, F32(5, 7, 33), -3);
    add(b, F32(3, 1025));
    add(b, F32(2, 8193));
    add(b, F32(0, 5));
    add(b, F32(5, 0));
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(34, 65), 0, 1));
    over(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), 0);
    filled(add(b, F32(17, 65)), KG_INTEGERS(0, 2));                                // zeros
    filled(add(b, F32(65, 2)), KG_INTEGERS(0, 1));                                 // and lines of nothing else
    for (int i = 0; i < 3; i++) filled(add(b, F32(1, 6000)), KG_CHOICE(6000, 1));  // one number alone, anywhere
    filled(add(b, F32(33, 3)), KG_NORMAL(1.5, 1));                                 // lines with a negative one
    filled(add(b, F32(17, 65)), KG_LOGSCALE(-30, 30));                             // negative ones in every line
    constant(add(b, F32(3, 9)), 1e-20);
    constant(add(b, F32(3, 9)), 1e30);
    constant(add(b, F32(3, 9)), INFINITY);
    constant(add(b, F32(3, 9)), NAN);
    constant(add(b, F32(3, 9)), 0);
    add(b, kg_tensor_contiguous(KG_I64, KG_SHAPE(9, 33)));
    add(b, kg_tensor_contiguous(KG_I32, KG_SHAPE(9, 33)));
    for (size_t i = 0; i < 3; i++)
        add(b, kg_tensor_contiguous((const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i], KG_SHAPE(17, 1027)));
    as(b, KG_F16, KG_F32);
    as(b, KG_BF16, KG_F32);
    as(b, KG_F32, KG_F64);
    as(b, KG_F32, KG_F16);
    as(b, KG_I64, KG_F64);
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 4097; n = n * 4 + 1) add(b, F32(7, n));
    add(b, F32(1, 65537));
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL));
    over(b, F32(2, 3, 4, 5, 6), 2);
    over(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), 0);
    filled(add(b, F32(17, 65)), KG_UNIFORM(1e-6, 1e-3));
    filled(add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(5, 33))), KG_UNIFORM(1e-200, 1e200));
    add(b, kg_tensor_contiguous(KG_I8, KG_SHAPE(9, 33)));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 16; n <= (cuda ? 524288 : 4096); n *= cuda ? 2 : 4) add(b, F32(1024, n));
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (kg_wrap_dim(c->args[DIM].i, in->ndim) < 0) return -1;
    const kg_dtype d = c->args[DTYPE].none ? kg_float_of(in->dtype) : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s);
    if (!kg_dtype_is_float(d)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(d, in->ndim, in->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view in;
    kg_rung from, to;
    int64_t inner;
    bool cast;
} lines;

static kg_point log_at(double x, const void *ctx) {
    (void)ctx;
    const double v = log(x);
    return isfinite(v) ? kg_point_make(v, 1) : kg_point_exact(v);
}

static int line(int64_t block, kg_stage *s, void *ctx) {
    const lines *l = ctx;
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = kg_term_exact(kg_at(&l->in, kg_stage_index(block, s->n, l->inner, i)));
        s->at[i] = kg_term_stored(&l->from, kg_term_map(&l->from, x, log_at, NULL));
        if (!l->cast) continue;
        s->at[i] = kg_term_cast(&l->from, &l->to, s->at[i]);
        if (isfinite(s->at[i].value)) s->at[i].local += 1 + fabs(s->at[i].value);
    }
    kg_stage_softmax(&l->to, s);
    return 0;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const kg_view in = kg_call_view(call, "input");
    const int dim = kg_wrap_dim(call->c->args[DIM].i, out->ndim);
    const kg_dtype from = kg_float_of(in.desc.dtype);
    lines l = {in, kg_rung_of(call->task, from), kg_rung_of(call->task, out->dtype), 1, from != out->dtype};
    for (int d = dim + 1; d < out->ndim; d++) l.inner *= out->shape[d];
    return kg_stage_each(ref, out->ndim ? out->shape[dim] : 1, l.inner, line, &l);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    return in->ndim ? fmax(1, (double)in->shape[kg_wrap_dim(c->args[DIM].i, in->ndim)]) : 1;
}

// No special function: x over the sum.
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 2, 0); }

const kg_task kg_task_kbx_fused_softmax_log = {
    .name = "fused_softmax_log",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_softmax_log(input, dim=-1, dtype=None) -> Tensor",
    .summary =
        "Softmax along dim of the elements' logarithms: each element's share in its line's sum. NaN in lines "
        "with a negative element, NaN or infinity, or of zeros alone.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, dim=-1, dtype=None: torch.softmax(torch.log(input if dtype is None else input.to(dtype)), dim)",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, dim) : 0",
    .c_body =
        "const int64_t n = kg_dim(input, dim), from = kg_line(input, dim, i), to = kg_line(out, dim, i);\n"
        "const int64_t step = kg_stride(input, dim), to_step = kg_stride(out, dim);\n"
        "double largest = log(kg_get_at(input, from)), sum = 0;\n"
        "for (int64_t k = 1; k < n; k++) largest = fmax(largest, log(kg_get_at(input, from + k * step)));\n"
        "for (int64_t k = 0; k < n; k++) sum += exp(log(kg_get_at(input, from + k * step)) - largest);\n"
        "for (int64_t k = 0; k < n; k++)\n"
        "    kg_put_at(out, to + k * to_step, exp(log(kg_get_at(input, from + k * step)) - largest) / sum);\n",
};
