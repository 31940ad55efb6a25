// fused_add_mean(input, other, dim=None, alpha=1, keepdim=False, dtype=None, out=None) -> Tensor
//
// Mean over dim (None: all) of input + alpha * other, broadcast; other is a tensor or a Number. dtype: of the mean; the
// terms may be added before or after the cast to it, both are right, so the coarser of the two is charged. Integers
// have no mean: they ask for a floating dtype (or give a Number, which makes float32 of them).
#include "task/activations.h"
#include "task/folds.h"
#include "task/scaled.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "dim", .kind = KG_P_INTS, .optional = true, .nullable = true, .keyword = true},
    {.name = "alpha", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .number = 1},
    {.name = "keepdim", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INPUT, OTHER, DIM, ALPHA, KEEPDIM, DTYPE };

// ---- cases ------------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    kg_set_tensor(c, b->task, "other", input.dtype, input.ndim, input.shape, KG_NORMAL(0.25, 1));
    return c;
}

// other's shape, and how much of it counts.
static kg_case *with(kg_cases *b, kg_dtype t, kg_tensor other, double alpha, int64_t dim) {
    kg_case *c = kg_over(b, add(b, kg_tensor_contiguous(t, KG_SHAPE(9, 65))), KG_INTS(dim));
    kg_set_strided(c, b->task, "other", other, KG_NORMAL(0.25, 1));
    kg_set_float(c, b->task, "alpha", alpha);
    return c;
}

static void dtypes(kg_cases *b) {
    static const struct {
        kg_dtype from, to;
    } casts[] = {{KG_F32, KG_F64}, {KG_F16, KG_F32}, {KG_F32, KG_F16}, {KG_F64, KG_F32}, {KG_BF16, KG_F32}};
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        kg_set_dtype(with(b, casts[i].from, kg_tensor_contiguous(casts[i].from, KG_SHAPE(9, 65)), 0.75, 1), b->task,
                     "dtype", casts[i].to);
    kg_case *c = kg_over(b, add(b, kg_tensor_contiguous(KG_I32, KG_SHAPE(9, 65))), KG_INTS(1));
    kg_set_dtype(c, b->task, "dtype", KG_F32);
    c->args[INPUT].fill = c->args[OTHER].fill = KG_INTEGERS(-10, 30);
    c = kg_over(b, add(b, kg_tensor_contiguous(KG_I64, KG_SHAPE(9, 65))), KG_INTS(1));
    kg_set_number(c, b->task, "other", 2.5);
    c->args[INPUT].fill = KG_INTEGERS(-10, 30);
}

#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static int cases(kg_cases *b) {
    const kg_fold_family f = {.add = add, .tuples = true, .empty = true, .out = true};
    kg_fold_cases(b, &f);
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) return 0;
    with(b, KG_F32, OF(KG_F32, 65), -1.75, 1);
    with(b, KG_F32, OF(KG_F32, 9, 1), 2, 0);
    with(b, KG_F32, OF(KG_F32, 5, 9, 65), 0.5, 0);  // input is broadcast
    with(b, KG_F32, OF(KG_F32, 5, 9, 65), 0.5, -1);
    for (int all = 0; all < 2; all++) {  // dim None and ()
        kg_case *c = with(b, KG_F32, OF(KG_F32, 5, 9, 65), 0.5, 0);
        if (all) kg_set_ints(c, b->task, "dim", 0, NULL);
        else kg_set_none(c, b->task, "dim");
    }
    with(b, KG_F32, OF(KG_F32, 9, 65), 0, 1);
    with(b, KG_F32, kg_tensor_transposed(KG_F32, KG_SHAPE(9, 65), 0, 1), 1.5, 1);
    with(b, KG_F32, OF(KG_F16, 65), 0.5, 1);
    with(b, KG_F16, OF(KG_F16, 65), 0.5, 1);
    kg_set_number(with(b, KG_F32, OF(KG_F32, 1), 3, 1), b->task, "other", 0.375);
    kg_set_number(with(b, KG_F16, OF(KG_F16, 1), 1, 1), b->task, "other", 0.375);
    with(b, KG_F32, OF(KG_F32, 9, 65), 1, 1)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    with(b, KG_F32, OF(KG_F32, 9, 65), 1, 1)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    with(b, KG_F32, OF(KG_F32, 9, 65), -1, 1)->args[OTHER].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};
    dtypes(b);
    return 0;
}
#undef OF

// ---- shapes -----------------------------------------------------------------------------------------
// What is reduced: both operands broadcast and promoted.
static int terms_of(const kg_case *c, kg_tensor *terms) {
    const kg_arg *const in[] = {&c->args[INPUT], &c->args[OTHER]};
    if (kg_broadcast(&in[0]->tensor, &in[1]->tensor, terms)) return -1;
    *terms = kg_tensor_contiguous(kg_promote_args(in, 2), terms->ndim, terms->shape);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    kg_tensor terms;
    if (terms_of(c, &terms) || !kg_may_scale(c->args[ALPHA].f, terms.dtype)) return -1;
    return kg_fold_infer(t, c, &terms, c->args[DTYPE].none ? terms.dtype : (kg_dtype)kg_dtype_parse(c->args[DTYPE].s));
}

// ---- oracle -----------------------------------------------------------------------------------------
// Walks a group of both operands at once: row-major over the reduced dimensions, without a division an element.
typedef struct {
    kg_view x, y;
    int n;  // reduced dimensions
    int64_t shape[KG_MAX_NDIM], x_step[KG_MAX_NDIM], y_step[KG_MAX_NDIM], count;
} pair;

static pair pair_of(const kg_call *call, const kg_tensor *terms, int mask) {
    const kg_view x = kg_call_view(call, "input"), y = kg_call_view(call, "other");
    pair p = {.x = kg_view_expand(&x, terms), .y = kg_view_expand(&y, terms), .count = 1};
    for (int d = 0; d < terms->ndim; d++) {
        if (!(mask >> d & 1)) continue;
        p.shape[p.n] = terms->shape[d];
        p.x_step[p.n] = p.x.desc.stride[d];
        p.y_step[p.n++] = p.y.desc.stride[d];
        p.count *= terms->shape[d];
    }
    return p;
}

// As kg_group_fold.
static bool ends_in_nan(const pair *p, int64_t x_at) {
    for (int d = 0; d < p->n; d++) x_at += (p->shape[d] - 1) * p->x_step[d];
    return p->count && isnan(kg_at_offset(&p->x, x_at));
}

static void add_terms(const pair *p, int64_t x_at, int64_t y_at, double alpha, kg_mean *m) {
    enum { CHUNK = 1024 };
    double term[CHUNK], local[CHUNK];
    int64_t at[KG_MAX_NDIM] = {0}, k = 0;
    if (ends_in_nan(p, x_at)) {
        kg_mean_add(m, 1, &(double){NAN}, &(double){0});
        return;
    }
    for (int64_t i = 0; i < p->count; i++) {
        const double x = kg_at_offset(&p->x, x_at), y = alpha * kg_at_offset(&p->y, y_at);
        term[k] = x + y;
        local[k++] = 2 * (fabs(x) + fabs(y));
        if (k == CHUNK || i == p->count - 1) {
            kg_mean_add(m, k, term, local);
            k = 0;
        }
        for (int d = p->n - 1; d >= 0; d--) {  // an odometer
            x_at += p->x_step[d];
            y_at += p->y_step[d];
            if (++at[d] < p->shape[d]) break;
            x_at -= p->shape[d] * p->x_step[d];
            y_at -= p->shape[d] * p->y_step[d];
            at[d] = 0;
        }
    }
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_tensor terms;
    terms_of(call->c, &terms);
    const int mask = kg_reduced_dims(&call->c->args[DIM], terms.ndim);
    const pair p = pair_of(call, &terms, mask);
    const kg_groups gx = kg_groups_of(&p.x.desc, mask), gy = kg_groups_of(&p.y.desc, mask);
    const kg_dtype to = call->c->outs[0].dtype;
    for (size_t k = 0; k < ref->n; k++) {
        kg_mean m = {.terms.exact = to == KG_F64};
        add_terms(&p, kg_group_start(&gx, ref->index[k]), kg_group_start(&gy, ref->index[k]), call->c->args[ALPHA].f,
                  &m);
        kg_mean_put(&m, ref, k, terms.dtype, to);
    }
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_fold_work(t, c, w, c->args[ALPHA].f == 1 ? 2 : 3, 0);
}

const kg_task kg_task_kbx_fused_add_mean = {
    .name = "fused_add_mean",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_add_mean(input, other, dim=None, alpha=1, keepdim=False, dtype=None, out=None) -> Tensor",
    .summary = "Mean over the dimensions dim (None: all) of input + alpha * other, broadcast.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = kg_fold_reach,
    .torch_baseline =
        "lambda input, other, dim=None, alpha=1, keepdim=False, dtype=None, out=None: "
        "torch.mean(torch.add(input, other, alpha=alpha), dim, keepdim, dtype=dtype, out=out)",
    .c_body =
        "// Shape of the terms: both operands aligned at their last dimensions.\n"
        "const int ndim = input->ndim > other->ndim ? input->ndim : other->ndim;\n"
        "double sum = 0;\n"
        "int64_t count = 1;\n"
        "for (int64_t k = 0; k < count; k++) {\n"
        "    int64_t x = 0, y = 0, r = k, rest = i, all = 1;\n"
        "    for (int d = ndim - 1; d >= 0; d--) {\n"
        "        const int dx = d - (ndim - input->ndim), dy = d - (ndim - other->ndim);\n"
        "        const int64_t nx = dx < 0 ? 1 : input->shape[dx], ny = dy < 0 ? 1 : other->shape[dy];\n"
        "        const int64_t n = nx == 1 ? ny : nx;\n"
        "        bool reduced = !dim || dim->n == 0;\n"
        "        for (int64_t j = 0; dim && j < dim->n; j++)\n"
        "            reduced = reduced || dim->v[j] == d || dim->v[j] + ndim == d;\n"
        "        if (reduced) all *= n;\n"
        "        if (n == 0) continue;\n"
        "        const int64_t at = (reduced ? r : rest) % n;\n"
        "        if (nx > 1) x += at * kg_stride(input, dx);\n"
        "        if (ny > 1) y += at * kg_stride(other, dy);\n"
        "        if (reduced) r /= n;\n"
        "        else rest /= n;\n"
        "    }\n"
        "    count = all;  // known after the first round\n"
        "    if (count) sum += kg_get_at(input, x) + alpha * kg_get_at(other, y);\n"
        "}\n"
        "kg_put(out, i, sum / (double)count);\n",
};
