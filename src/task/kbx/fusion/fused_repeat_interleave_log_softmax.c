// fused_repeat_interleave_log_softmax(input, repeats, dim=None, *, output_size=None, dtype=None, out=None) -> Tensor
//
// log_softmax(repeat_interleave(input, repeats, dim), dim): each slice along dim comes repeats[i] times in a row, some
// not at all; dim None takes input as one line. repeats is an int64 tensor with an entry for each slice, or with one
// for all (PyTorch takes a plain int as well). dtype: the input is cast to it before the log_softmax. output_size only
// repeats what repeats adds up to, and spares a device that knows it the sum.
//
// How long out is depends on repeats's values: cases have a constant, a shuffle of 0..n-1, or zeros and ones of which a
// stated number is one. Bounds: kg_log_softmax_put, for the repeated line.
#include <stdlib.h>

#include "oracle/reduce.h"
#include "task/activations.h"
#include "task/selection.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "repeats", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    {.name = "output_size", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, REPEATS, DIM, OUTPUT_SIZE, DTYPE };

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, int64_t n, kg_fill repeats) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0, 2));
    kg_set_tensor(c, b->task, "repeats", KG_I64, 1, &n, repeats);
    return c;
}
// All alike; one number for all; each another number, 0 among them; some out, some in.
static kg_case *alike(kg_cases *b, kg_tensor input, int64_t n, double repeats) {
    return add(b, input, n, (kg_fill){KG_FILL_CONST, repeats, 0});
}
static kg_case *once(kg_cases *b, kg_tensor input, double repeats) { return alike(b, input, 1, repeats); }
static kg_case *shuffled(kg_cases *b, kg_tensor input, int64_t n) { return add(b, input, n, KG_SHUFFLE(n, 1)); }
static kg_case *chosen(kg_cases *b, kg_tensor input, int64_t n, int64_t ones) {
    return add(b, input, n, KG_CHOICE(n, ones));
}
static kg_case *along(kg_cases *b, kg_case *c, int64_t dim) {
    kg_set_int(c, b->task, "dim", dim);
    return c;
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define F32(...)   OF(KG_F32, __VA_ARGS__)
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    along(b, once(b, F32(17), 2), 0);
    along(b, shuffled(b, F32(17), 17), 0);
    along(b, shuffled(b, F32(33, 9), 9), 1);
    along(b, shuffled(b, F32(9, 33), 9), 0);
    along(b, shuffled(b, F32(9, 9), 9), -1);
    along(b, shuffled(b, F32(9, 9), 9), -2);
    along(b, shuffled(b, F32(5, 7, 9), 7), 1);
    along(b, chosen(b, F32(33, 65), 65, 40), 1);
    along(b, chosen(b, F32(33, 65), 65, 40), 1)->args[INPUT].fill =
        KG_NORMAL(0, 1e4);  // those left out are not looked at
    along(b, once(b, F32(33, 65), 3), 1);
    along(b, once(b, F32(33, 65), 3), 0);
    along(b, once(b, F32(1031, 5), 2), 0);
    along(b, once(b, F32(33, 65), 1), 1);  // nothing is repeated
    along(b, alike(b, F32(33, 9), 9, 2), 1);
    along(b, once(b, F32(4099, 2), 2), 1);
    along(b, once(b, F32(2, 3), 1031), 1);
    once(b, F32(5, 7), 2);  // dim None: one line
    once(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17), 3), 2);
    shuffled(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 7), 0, 1), 35);
    kg_set_none(shuffled(b, F32(5, 7), 35), b->task, "dim");
    along(b, once(b, F32(1), 1), 0);
    along(b, once(b, F32(1), 5), 0);  // log of a fifth
    along(b, once(b, F32(5, 7), 0), 1);
    along(b, once(b, F32(0, 7), 2), 1);
    along(b, once(b, F32(2, 8193), 2), 1);
    kg_set_int(along(b, shuffled(b, F32(33, 9), 9), 1), b->task, "output_size", 36);
    kg_set_int(along(b, once(b, F32(33, 9), 4), 1), b->task, "output_size", 36);
    along(b, shuffled(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 9), 0, 1), 9), 1);
    along(b, shuffled(b, kg_tensor_stepped(KG_F32, KG_SHAPE(17, 9), 3), 9), 1);
    kg_set_strided(along(b, shuffled(b, F32(33, 9), 9), 1), b->task, "repeats",
                   kg_tensor_stepped(KG_I64, KG_SHAPE(9), 3), KG_SHUFFLE(9, 3));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) along(b, shuffled(b, OF(others[i], 9, 33), 33), 1);
    kg_set_dtype(along(b, shuffled(b, OF(KG_F16, 17, 9), 9), 1), b->task, "dtype", KG_F32);
    kg_set_dtype(along(b, shuffled(b, F32(17, 9), 17), 0), b->task, "dtype", KG_F64);
    along(b, shuffled(b, F32(17, 29), 29), 1)->args[INPUT].fill = KG_NORMAL(1000, 3);   // exp overflows
    along(b, shuffled(b, F32(17, 29), 29), 1)->args[INPUT].fill = KG_NORMAL(-1000, 3);  // and underflows
    along(b, shuffled(b, F32(17, 29), 29), 1)->args[INPUT].fill = KG_OUTLIERS(0, 1);
    for (size_t i = 0; i < KG_HARD_LOGITS; i++)
        along(b, once(b, kg_tensor_contiguous(KG_F32, 2, kg_hard_logits[i].shape), 2), 1)->args[INPUT].fill =
            kg_hard_logits[i].fill;
    along(b, once(b, F32(200, 3), 2), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);
    along(b, chosen(b, F32(200, 9), 9, 2), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);  // nor are their NaNs
    along(b, chosen(b, F32(200, 9), 9, 1), 1)->args[INPUT].fill = KG_SPECIALS(0, 1);
    kg_set_tensor(along(b, shuffled(b, F32(3, 9), 9), 1), b->task, "out", KG_F32, KG_SHAPE(3, 36), (kg_fill){0});
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 513; n = n * 4 + 1) along(b, shuffled(b, F32(3, n), n), 1);
    along(b, once(b, F32(1, 65537), 2), 1);
    along(b, chosen(b, F32(65537), 65537, 30000), 0);
    once(b, kg_tensor_contiguous(KG_F32, 0, NULL), 3);
    along(b, shuffled(b, F32(2, 3, 4, 5, 6), 4), -3);
    along(b, shuffled(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 9), 0), 9), 1);
    once(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 7), 0, 1), 2);
    kg_set_dtype(along(b, shuffled(b, OF(KG_BF16, 17, 9), 9), 1), b->task, "dtype", KG_F32);
}
#undef F32
#undef OF

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    // Twice each, as the public benchmark has it. output_size is given, so that no library need ask the device for it.
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4096 : 16384; n <= (cuda ? 8388608 : 4194304); n *= cuda ? 2 : 4) {
        kg_case *c = along(b, once(b, kg_tensor_contiguous(KG_F32, 1, &n), 2), 0);
        kg_set_int(c, b->task, "output_size", 2 * n);
    }
    return 0;
}

// ---- shapes -----------------------------------------------------------------------------------------
// input as repeat_interleave sees it, and the dimension; -1: not a legal choice.
static int seen(const kg_case *c, kg_tensor *t, int *dim) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    *t = c->args[DIM].none ? kg_tensor_contiguous(in->dtype, KG_SHAPE(kg_numel(in))) : *in;
    *dim = c->args[DIM].none ? 0 : kg_wrap_dim(c->args[DIM].i, in->ndim);
    return *dim < 0 || t->ndim == 0 ? -1 : 0;  // PyTorch takes no number without dimensions along one
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_arg *repeats = &c->args[REPEATS], *size = &c->args[OUTPUT_SIZE];
    kg_tensor in;
    int dim;
    if (seen(c, &in, &dim) || repeats->tensor.ndim != 1 || repeats->tensor.dtype != KG_I64) return -1;
    const int64_t n = kg_numel(&repeats->tensor), sum = kg_known_sum(repeats);
    if (sum < 0 || (n != in.shape[dim] && n != 1)) return -1;
    in.shape[dim] = n == 1 ? in.shape[dim] * sum : sum;
    if (!size->none && size->i != in.shape[dim]) return -1;
    const kg_dtype d = c->args[DTYPE].none ? in.dtype : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s);
    if (!kg_dtype_is_float(d)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(d, in.ndim, in.shape);
    return 0;
}

// ---- oracle -----------------------------------------------------------------------------------------
typedef struct {
    kg_view in;
    kg_tensor as;  // in's shape as `seen` has it
    bool flat;     // without dim: in's elements are counted row-major
    int dim;
    int64_t length;  // of a repeated line
    int64_t *from;   // which slice of input each of its elements is
    double *space;   // a repeated line
} lines;

static int find_origins(lines *l, const kg_view *repeats) {
    const int64_t n = kg_numel(&repeats->desc);
    l->from = malloc((size_t)(l->length + 1) * sizeof *l->from);
    for (int64_t j = 0, slice = 0; l->from && j < l->length; slice++) {
        const int64_t times = kg_index_at(repeats, n == 1 ? 0 : kg_offset(&repeats->desc, slice));
        for (int64_t k = 0; k < times; k++) l->from[j++] = slice;
    }
    return l->from ? 0 : -1;
}

// Element j of a repeated line (lines row-major over the other dimensions).
static double repeated(const lines *l, int64_t line, int64_t j) {
    if (l->flat) return kg_at(&l->in, l->from[j]);
    const kg_line_t at = kg_line_of(&l->as, l->dim, line);
    return kg_at_offset(&l->in, at.start + l->from[j] * at.step);
}

static kg_softmax softmax_of(const lines *l, int64_t line) {
    for (int64_t j = 0; j < l->length; j++) l->space[j] = repeated(l, line, j);
    const kg_view v = {kg_tensor_contiguous(KG_F64, 1, &l->length), l->space};
    const kg_groups g = kg_groups_of(&v.desc, 1);
    kg_softmax s = kg_softmax_of(&v, &g, 0);
    s.line = line;
    return s;
}

static void put_all(const lines *l, const kg_tensor *out, kg_softmax_cache *cache, kg_ref *ref) {
    for (size_t k = 0; k < ref->n; k++) {
        int64_t at[KG_MAX_NDIM];
        const int64_t line = kg_line_index(out, l->dim, ref->index[k]);
        kg_softmax *s = &cache->line[line % cache->n];
        if (s->line != line) *s = softmax_of(l, line);
        kg_coords(out, ref->index[k], at);
        kg_log_softmax_put(ref, k, kg_is_half(l->in.desc.dtype), s, repeated(l, line, at[l->dim]));
    }
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view repeats = kg_call_view(call, "repeats");
    const kg_tensor *out = &call->c->outs[0];
    lines l = {.in = kg_call_view(call, "input"), .flat = call->c->args[DIM].none};
    kg_softmax_cache cache = {0};
    if (seen(call->c, &l.as, &l.dim)) return -1;
    l.length = out->shape[l.dim];
    l.space = malloc((size_t)(l.length + 1) * sizeof *l.space);
    const int failed = !l.space || find_origins(&l, &repeats) || kg_softmax_cache_make(&cache, ref->n);
    if (!failed) put_all(&l, out, &cache, ref);
    kg_softmax_cache_free(&cache);
    free(l.space);
    free(l.from);
    return failed ? -1 : 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    kg_tensor as;
    int dim;
    return seen(c, &as, &dim) ? 1 : fmax(1, (double)c->outs[0].shape[dim]);
}

// An exponential for each element of input, weighted with its repeats; a subtraction for each of out.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[INPUT].tensor);
    kg_work_map(t, c, w, 1, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] += 3 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_fused_repeat_interleave_log_softmax = {
    .name = "fused_repeat_interleave_log_softmax",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_repeat_interleave_log_softmax(input, repeats, dim=None, *, output_size=None, dtype=None, out=None) "
        "-> Tensor",
    .summary =
        "Repeats each slice along dim repeats[i] times, then takes the logarithm of the softmax along dim." KG_SOFTMAX_NAN,
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, repeats, dim=None, *, output_size=None, dtype=None, out=None: "
        "(lambda y: y if out is None else out.copy_(y))"
        "(F.log_softmax(torch.repeat_interleave(input, repeats, dim=dim, output_size=output_size), "
        "dim=0 if dim is None else dim, dtype=dtype))",
    .c_items = "kg_elements(out) ? kg_elements(out) / kg_dim(out, dim ? *dim : 0) : 0",
    .c_body =
        "// A line of out. Without dim, input is one line in row-major order.\n"
        "const bool flat = !dim;\n"
        "const int64_t along = dim ? *dim : 0, slices = flat ? kg_elements(input) : kg_dim(input, along);\n"
        "const int64_t from = flat ? 0 : kg_line(input, along, i), step = flat ? 1 : kg_stride(input, along);\n"
        "const int64_t to = kg_line(out, along, i), to_step = kg_stride(out, along);\n"
        "double largest = -INFINITY, sum = 0;\n"
        "(void)output_size, (void)dtype;  // they are in out's shape and dtype\n"
        "for (int pass = 0; pass < 3; pass++) {\n"
        "    int64_t j = 0;\n"
        "    for (int64_t k = 0; k < slices; k++) {\n"
        "        const double x = flat ? kg_get(input, k) : kg_get_at(input, from + k * step);\n"
        "        const int64_t times = (int64_t)kg_get(repeats, kg_elements(repeats) == 1 ? 0 : k);\n"
        "        if (pass == 0 && times > 0) largest = x > largest || x != x ? x : largest;\n"
        "        if (pass == 1 && times > 0) sum += (double)times * exp(x - largest);\n"
        "        for (int64_t r = 0; pass == 2 && r < times; r++)\n"
        "            kg_put_at(out, to + j++ * to_step, x - largest - log(sum));\n"
        "    }\n"
        "}\n",
};
