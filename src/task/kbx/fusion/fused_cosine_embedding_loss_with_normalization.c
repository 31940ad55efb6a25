// fused_cosine_embedding_loss_with_normalization(input1, input2, target, margin=0, reduction='mean') -> Tensor
//
// F.cosine_embedding_loss(F.normalize(input1), F.normalize(input2), target, margin, reduction) of (N, D) and N targets:
// with cos that of the angle of two rows, 1 - cos where the target is 1, max(cos - margin, 0) where it is -1. Rows are
// divided by max(their 2-norm, 1e-12), and PyTorch's loss adds 1e-12 to each square before it divides once more: that
// matters to rows of zeros (cos 0), and may be left out otherwise.
//
// Bounds. cos = sum a b / (|a| |b|): each product errs by the two quotients' roundings and its own, all together by
// 8 u sum |a b| / (|a| |b|); both norms are taken twice, of the rows and of what is nearly a unit row. The sums'
// errors: src/oracle/sum.c. Half precision may store quotients, products, sums and what follows.
#include "oracle/stages.h"
#include "task/losses.h"

static const kg_param params[] = {
    {.name = "input1", .kind = KG_P_TENSOR},
    {.name = "input2", .kind = KG_P_TENSOR},
    {.name = "target", .kind = KG_P_TENSOR},
    {.name = "margin", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 0},
    KG_LOSS_REDUCTION,
    {.name = NULL}};
enum { X1, X2, TARGET, MARGIN };
#define EPS 1e-12

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *with(kg_cases *b, kg_tensor x1, kg_tensor x2, kg_dtype target) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input1", x1, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "input2", x2, KG_NORMAL(0.4, 1));
    kg_set_tensor(c, b->task, "target", target, KG_SHAPE(x1.shape[0]), (kg_fill){KG_FILL_CONST, 1, 0});
    return c;
}
static kg_case *reduced(kg_cases *b, kg_case *c, const char *reduction) {
    kg_set_str(c, b->task, "reduction", reduction);
    return c;
}
static kg_case *apart(kg_cases *b, kg_case *c, double margin) {
    c->args[TARGET].fill = (kg_fill){KG_FILL_CONST, -1, 0};
    if (margin != 0) kg_set_float(c, b->task, "margin", margin);
    return c;
}
// Both kinds of target in one case, as integers: magnitudes from 0.5 to 1, of either sign, rounded. (0.5 itself, once
// in eight millions, gives 0, of which nothing is asked.)
static kg_case *mixed(kg_case *c) {
    c->args[TARGET].fill = KG_LOGSCALE(-1, 0);
    return c;
}
static kg_case *add(kg_cases *b, kg_tensor x) { return mixed(with(b, x, x, KG_I64)); }
static kg_case *filled(kg_case *c, double x1, double x2) {
    c->args[X1].fill = (kg_fill){KG_FILL_CONST, x1, 0}, c->args[X2].fill = (kg_fill){KG_FILL_CONST, x2, 0};
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const char *const reductions[] = {"none", "mean", "sum"};
    for (int i = 0; i < 3; i++) {
        reduced(b, add(b, F32(33, 17)), reductions[i]);
        reduced(b, with(b, F32(9, 33), F32(9, 33), KG_F32), reductions[i]);
        reduced(b, apart(b, with(b, F32(9, 33), F32(9, 33), KG_F32), 0), reductions[i]);
        kg_set_float(reduced(b, add(b, F32(21, 3)), reductions[i]), b->task, "margin", 0.25);
    }
    add(b, F32(1, 1));
    add(b, F32(257, 65));
    add(b, F32(3, 4099));
    add(b, F32(4099, 5));
    reduced(b, add(b, F32(0, 5)), "sum");
    reduced(b, add(b, F32(0, 5)), "none");
    reduced(b, with(b, F32(9, 33), F32(9, 33), KG_I64), "none");
    reduced(b, apart(b, with(b, F32(9, 33), F32(9, 33), KG_I64), -0.5), "none");
    reduced(b, apart(b, with(b, F32(40, 2), F32(40, 2), KG_I32), 0.5), "none");
    filled(reduced(b, with(b, F32(3, 7), F32(3, 7), KG_F32), "none"), 0, 1);                  // a zero: 1
    filled(reduced(b, apart(b, with(b, F32(3, 7), F32(3, 7), KG_F32), -0.5), "none"), 0, 1);  // -margin
    filled(reduced(b, apart(b, with(b, F32(3, 7), F32(3, 7), KG_F32), 0), "none"), 2, 3);     // the same direction
    filled(reduced(b, with(b, F32(3, 7), F32(3, 7), KG_F32), "none"), NAN, 3);
    filled(apart(b, with(b, F32(3, 7), F32(3, 7), KG_F32), 0), 1, NAN);
    add(b, F32(9, 34))->args[X1].fill = KG_OUTLIERS(0.5, 1);
    add(b, F32(9, 35))->args[X1].fill = KG_NORMAL(1e-4, 1e-4);
    mixed(with(b, kg_tensor_transposed(KG_F32, KG_SHAPE(34, 65), 0, 1), kg_tensor_stepped(KG_F32, KG_SHAPE(34, 65), 2),
               KG_I32));
    kg_case *c = reduced(b, add(b, F32(19, 33)), "none");
    kg_set_strided(c, b->task, "target", kg_tensor_stepped(KG_I64, KG_SHAPE(19), 3), KG_LOGSCALE(-1, 0));
    for (size_t i = 0; i < 3; i++) {
        const kg_dtype t = (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i];
        add(b, kg_tensor_contiguous(t, KG_SHAPE(65, 33)));
        const kg_tensor x = kg_tensor_contiguous(t, KG_SHAPE(17, 129));
        reduced(b, apart(b, with(b, x, x, t), 0.125), "none");
    }
}

static void full(kg_cases *b) {
    for (int64_t n = 1; n <= 8; n++) reduced(b, add(b, F32(9 - n, n)), "none");
    add(b, F32(0, 5));  // mean of nothing: NaN
    add(b, F32(2, 16385));
    mixed(with(b, kg_tensor_expanded(KG_F32, KG_SHAPE(9, 33), 0), F32(9, 33), KG_I64));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 4096 : 256; n <= (cuda ? 1048576 : 16384); n *= 2) add(b, F32(n, 256));
    return 0;
}
#undef F32

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *x = &c->args[X1].tensor, *y = &c->args[X2].tensor, *target = &c->args[TARGET].tensor;
    if (x->ndim != 2 || y->ndim != 2 || x->dtype != y->dtype || !kg_dtype_is_float(x->dtype)) return -1;
    if (x->shape[0] != y->shape[0] || x->shape[1] != y->shape[1]) return -1;
    if (target->ndim != 1 || target->shape[0] != x->shape[0]) return -1;
    const bool none = kg_reduction_of(kg_case_arg(c, t, "reduction")) == KG_REDUCE_NONE;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(x->dtype, none ? 1 : 0, x->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x, y, target;
    kg_rung rung;
    double margin;
} rows;

enum { PIECE = 256 };
// A row's sum of products, with its errors.
static kg_total dot_of(const rows *r, const kg_view *x, const kg_view *y, int64_t row, double *size) {
    const kg_line_t a = kg_line_of(&x->desc, 1, row), b = kg_line_of(&y->desc, 1, row);
    kg_total t = {.exact = r->rung.u < 0x1p-40};
    double term[PIECE];
    for (int64_t first = 0; first < a.n; first += PIECE) {
        const int64_t n = a.n - first < PIECE ? a.n - first : PIECE;
        for (int64_t i = 0; i < n; i++) {
            term[i] = kg_at_offset(x, a.start + (first + i) * a.step) * kg_at_offset(y, b.start + (first + i) * b.step);
            if (size) *size += fabs(term[i]);
        }
        kg_total_add(&t, term, n);
    }
    return t;
}

// cos, its errors; the second norms are those of rows that have length 1 or 0.
static kg_term cosine(const rows *r, int64_t row) {
    double size = 0;
    const kg_total ab = dot_of(r, &r->x, &r->y, row, &size), aa = dot_of(r, &r->x, &r->x, row, NULL),
                   bb = dot_of(r, &r->y, &r->y, row, NULL);
    const double a2 = kg_total_value(&aa), b2 = kg_total_value(&bb), by = 1 / sqrt(a2 * b2);
    if (a2 == 0 || b2 == 0) return kg_term_exact(isnan(a2) || isnan(b2) ? NAN : 0);
    const double v = kg_total_value(&ab) * by, turned = size * by;
    if (!isfinite(v)) return kg_term_exact(v);
    const double own = 8 * turned + 16 * fabs(v);
    kg_term c = {v, 0, kg_total_acc(&ab) * by + fabs(v) * (kg_total_acc(&aa) / a2 + kg_total_acc(&bb) / b2)};
    c.acc += own + fabs(v) * EPS / r->rung.u_acc;
    if (r->rung.half) c.local = 3 * turned + 10 * fabs(v);
    return c;
}

static kg_point positive_at(double x, const void *ctx) {
    (void)ctx;
    return kg_relu_point(x);
}

static kg_loss_term term(int64_t row, void *ctx) {
    const rows *r = ctx;
    const kg_term cos = cosine(r, row);
    kg_term t = {0, 0, 0};
    if (kg_at(&r->target, row) == 1) t = kg_term_sub(&r->rung, kg_term_exact(1), cos);
    else t = kg_term_map(&r->rung, kg_term_sub(&r->rung, cos, kg_term_number(&r->rung, r->margin)), positive_at, NULL);
    t = kg_term_stored(&r->rung, t);
    if (kg_at(&r->target, row) == 0) t.local = INFINITY;
    return (kg_loss_term){t.value, t.local, t.acc, 1};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    rows r = {.x = kg_call_view(call, "input1"),
              .y = kg_call_view(call, "input2"),
              .target = kg_call_view(call, "target"),
              .margin = call->c->args[MARGIN].f};
    r.rung = kg_rung_of(call->task, r.x.desc.dtype);
    kg_loss_ref(ref, kg_reduction_of(kg_call_arg(call, "reduction")), false, r.x.desc.shape[0], term, &r);
    return 0;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 6 * (double)kg_numel(&c->args[X1].tensor);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 3 * (double)kg_numel(&c->args[X1].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

const kg_task kg_task_kbx_fused_cosine_embedding_loss_with_normalization = {
    .name = "fused_cosine_embedding_loss_with_normalization",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_cosine_embedding_loss_with_normalization(input1, input2, target, margin=0, reduction='mean') -> Tensor",
    .summary =
        "1 - cos of two rows' angle where the target is 1, max(cos - margin, 0) where it is -1, and their mean or sum.",
    .params = params,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input1, input2, target, margin=0, reduction='mean': F.cosine_embedding_loss(F.normalize(input1), "
        "F.normalize(input2), target, margin, reduction=reduction)",
    .c_body =
        "const bool none = kg_same(reduction, \"none\");\n"
        "const int64_t rows = kg_dim(input1, 0);\n"
        "double sum = 0;\n"
        "for (int64_t r = none ? i : 0; r < (none ? i + 1 : rows); r++) {\n"
        "    double ab = 0, aa = 0, bb = 0;\n"
        "    for (int64_t k = 0; k < kg_dim(input1, 1); k++) {\n"
        "        const double a = kg_get_at(input1, r * kg_stride(input1, 0) + k * kg_stride(input1, 1));\n"
        "        const double b = kg_get_at(input2, r * kg_stride(input2, 0) + k * kg_stride(input2, 1));\n"
        "        ab += a * b;\n"
        "        aa += a * a;\n"
        "        bb += b * b;\n"
        "    }\n"
        "    const double c = aa == 0 || bb == 0 ? ab : ab / sqrt(aa * bb);\n"
        "    sum += kg_get(target, r) == 1 ? 1.0 - c : c - margin < 0 ? 0.0 : c - margin;\n"
        "}\n"
        "kg_put(out, i, kg_same(reduction, \"mean\") ? sum / (double)rows : sum);\n",
};
