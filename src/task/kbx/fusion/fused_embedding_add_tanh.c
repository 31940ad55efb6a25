// fused_embedding_add_tanh(input_indices, weight, other, *, padding_idx=None, max_norm=None, norm_type=2.0,
//     scale_grad_by_freq=False, sparse=False, out=None) -> Tensor
//
// tanh(weight[input_indices] + other); other broadcasts with the looked-up rows. max_norm: a row whose norm_type-norm
// is larger counts scaled to it, as row * max_norm / (norm + 1e-7) in PyTorch. padding_idx, scale_grad_by_freq and
// sparse speak of gradients and change nothing.
//
// PyTorch's embedding writes the scaled rows back into weight; the task's text asks for the result alone. So weight may
// be written to, and afterwards each of its rows must be what it was or, where max_norm applies, scaled.
//
// Bounds. The scaled row has the norm's error (src/task/p_norms.c), three roundings and PyTorch's 1e-7, which a kernel
// may leave out; also where the norm is max_norm within its error. The sum rounds once, tanh bends it (kg_term_map).
#include <stdlib.h>

#include "oracle/holds.h"
#include "oracle/stages.h"
#include "task/families.h"
#include "task/p_norms.h"

static const kg_param params[] = {
    {.name = "input_indices", .kind = KG_P_TENSOR},
    {.name = "weight", .kind = KG_P_TENSOR, .role = KG_INOUT},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "padding_idx", .kind = KG_P_INT, .optional = true, .nullable = true, .keyword = true},
    {.name = "max_norm", .kind = KG_P_FLOAT, .optional = true, .nullable = true, .keyword = true},
    {.name = "norm_type", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 2},
    {.name = "scale_grad_by_freq", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "sparse", .kind = KG_P_BOOL, .optional = true, .keyword = true},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
enum { INDICES, WEIGHT, OTHER, PADDING, MAX_NORM, NORM_TYPE };
enum { OUT_RESULT, OUT_WEIGHT };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor indices, kg_dtype t, int64_t rows, int64_t d) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input_indices", indices, KG_INTEGERS(0, (double)(rows - 1)));
    kg_set_tensor(c, b->task, "weight", t, KG_SHAPE(rows, d), KG_NORMAL(0.2, 0.8));
    kg_tensor other = indices;
    other.shape[other.ndim++] = d;
    kg_set_tensor(c, b->task, "other", t, other.ndim, other.shape, KG_NORMAL(-0.2, 0.8));
    return c;
}
static kg_case *plus(kg_cases *b, kg_case *c, kg_tensor other) {
    kg_set_strided(c, b->task, "other", other, KG_NORMAL(-0.2, 0.8));
    return c;
}
// Rows of norms about sqrt(0.7 d): some above and some below.
static kg_case *limited(kg_cases *b, kg_case *c, double norm_type, double max_norm) {
    kg_set_float(c, b->task, "max_norm", max_norm);
    if (norm_type != 2) kg_set_float(c, b->task, "norm_type", norm_type);
    return c;
}

#define LONG(...) kg_tensor_contiguous(KG_I64, KG_SHAPE(__VA_ARGS__))
#define F32(...)  kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    add(b, LONG(4, 8), KG_F32, 40, 8);
    add(b, LONG(1), KG_F32, 1, 1);
    add(b, LONG(33), KG_F32, 129, 17);
    add(b, LONG(3, 5, 7), KG_F32, 11, 33);
    add(b, kg_tensor_contiguous(KG_I64, 0, NULL), KG_F32, 9, 33);
    add(b, LONG(0), KG_F32, 9, 5);
    add(b, LONG(4099), KG_F32, 21, 3);
    add(b, kg_tensor_contiguous(KG_I32, KG_SHAPE(17, 3)), KG_F32, 21, 33);
    plus(b, add(b, LONG(17, 3), KG_F32, 21, 33), F32(33));
    plus(b, add(b, LONG(17, 3), KG_F32, 21, 33), F32(3, 1));
    plus(b, add(b, LONG(17, 3), KG_F32, 21, 33), F32(17, 1, 33));
    plus(b, add(b, LONG(17, 3), KG_F32, 21, 33), F32(1));
    plus(b, add(b, kg_tensor_transposed(KG_I64, KG_SHAPE(9, 7), 0, 1), KG_F32, 30, 20),
         kg_tensor_transposed(KG_F32, KG_SHAPE(9, 7, 20), 0, 2));
    kg_case *c = add(b, kg_tensor_stepped(KG_I64, KG_SHAPE(19), 3), KG_F32, 30, 20);
    kg_set_strided(c, b->task, "weight", kg_tensor_transposed(KG_F32, KG_SHAPE(30, 20), 0, 1), KG_NORMAL(0.2, 0.8));
    kg_set_int(add(b, LONG(40, 3), KG_F32, 5, 9), b->task, "padding_idx", 2);
    kg_set_int(add(b, LONG(40, 3), KG_F32, 5, 9), b->task, "padding_idx", -1);
    limited(b, add(b, LONG(17, 9), KG_F32, 12, 33), 2, 4.5);
    limited(b, add(b, LONG(17, 9), KG_F32, 12, 33), 2, 0.5);
    limited(b, add(b, LONG(17, 9), KG_F32, 12, 33), 1, 20);
    limited(b, add(b, LONG(17, 9), KG_F32, 12, 33), 3, 2.7);
    limited(b, add(b, LONG(17, 9), KG_F32, 12, 33), INFINITY, 1.5);
    limited(b, plus(b, add(b, LONG(17, 9), KG_F32, 12, 33), F32(33)), 2, 2);
    limited(b, plus(b, add(b, LONG(17, 9), KG_F32, 12, 33), F32(17, 1, 33)), 1, 9);
    limited(b, add(b, LONG(17, 9), KG_F16, 12, 33), 2, 2);
    limited(b, add(b, LONG(17, 9), KG_F64, 12, 33), 2, 4.5);
    limited(b, add(b, LONG(17, 9), KG_F64, 12, 33), 3, 2.7);
    c = limited(b, add(b, LONG(40, 2), KG_F32, 7, 9), 2, 1);
    kg_set_int(c, b->task, "padding_idx", 0);
    kg_set_bool(c, b->task, "scale_grad_by_freq", true);
    kg_set_bool(add(b, LONG(40, 2), KG_F32, 7, 10), b->task, "sparse", true);
    kg_set_float(add(b, LONG(40, 2), KG_F32, 7, 9), b->task, "norm_type", 1);  // no max_norm: nothing
    c = add(b, LONG(41, 2), KG_F32, 7, 9);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(41, 2, 9), KG_NORMAL(0, 1));
    add(b, LONG(40, 3), KG_F32, 50, 9)->args[WEIGHT].fill = KG_SPECIALS(0, 1);
    add(b, LONG(40, 3), KG_F32, 50, 9)->args[OTHER].fill = KG_NORMAL(0, 1e-4);
    for (size_t i = 0; i < 3; i++) add(b, LONG(13, 3), (const kg_dtype[]){KG_F16, KG_BF16, KG_F64}[i], 21, 65);
}

static void full(kg_cases *b) {
    add(b, LONG(64, 65), KG_F32, 1000, 33);
    add(b, LONG(5), KG_F32, 50000, 3);
    add(b, LONG(2, 3, 4, 5), KG_F32, 10, 6);
    plus(b, add(b, LONG(17, 3), KG_F32, 21, 33), kg_tensor_expanded(KG_F32, KG_SHAPE(17, 3, 33), 1));
    limited(b, add(b, LONG(33), KG_F32, 8, 1025), 2, 20);
    limited(b, add(b, LONG(33), KG_BF16, 8, 65), 1, 20);
    add(b, kg_tensor_contiguous(KG_I32, KG_SHAPE(33)), KG_F16, 300, 65);
    // More entries than 32 bits count.
    plus(b, add(b, kg_tensor_expanded(KG_I64, KG_SHAPE(KG_SIDE_PAST_32_BITS, KG_SIDE_PAST_32_BITS), 0), KG_F16, 40, 1),
         kg_tensor_contiguous(KG_F16, KG_SHAPE(1)))
        ->large = true;
}

// The benchmark's sizes double the rows, the width and the columns in turn.
static void timed(kg_cases *b) {
    int64_t shape[3] = {4, 8, 8};
    for (int i = 0; i < (b->level == KG_TIMED_CUDA ? 20 : 14); i++) {
        add(b, LONG(shape[0], shape[1]), KG_F32, 1024, shape[2]);
        shape[(const int[]){0, 2, 1}[i % 3]] *= 2;
    }
}
#undef LONG
#undef F32

static int cases(kg_cases *b) {
    if (b->level != KG_CASES_QUICK && b->level != KG_CASES_FULL) {
        timed(b);
        return 0;
    }
    quick(b);
    kg_nan_cases(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INDICES].tensor, *w = &c->args[WEIGHT].tensor, *other = &c->args[OTHER].tensor;
    if ((in->dtype != KG_I64 && in->dtype != KG_I32) || w->ndim != 2 || !kg_dtype_is_float(w->dtype)) return -1;
    if (in->ndim + 1 > KG_MAX_NDIM || other->dtype != w->dtype) return -1;
    kg_tensor rows = *in, both;
    rows.shape[rows.ndim++] = w->shape[1];
    rows = kg_tensor_contiguous(w->dtype, rows.ndim, rows.shape);
    if (kg_broadcast(&rows, other, &both) || both.ndim != rows.ndim || kg_numel(&both) != kg_numel(&rows)) return -1;
    c->n_outs = 1;
    c->outs[0] = rows;
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    const kg_call *call;
    kg_view weight;
    kg_rung rung;
    int64_t row;    // whose scale this is; -1: none yet
    kg_term scale;  // what an element is multiplied with
} table;

static kg_term scale_of(const table *t, int64_t row) {
    const kg_arg *max_norm = &t->call->c->args[MAX_NORM];
    if (max_norm->none || max_norm->absent) return kg_term_exact(1);
    kg_p_norm n = kg_p_norm_start(t->call->c->args[NORM_TYPE].f);
    const int64_t d = t->weight.desc.shape[1];
    for (int64_t k = 0; k < d; k++) kg_p_norm_add(&n, kg_point_exact(kg_at(&t->weight, row * d + k)), 0);
    const kg_length norm = kg_p_norm_end(&n);
    // Relative: the norm's error, stored once in half precision, the roundings, and 1e-7.
    const kg_term error = {norm.value, norm.local / norm.value + 4 + 1e-7 / norm.value / t->rung.u,
                           norm.acc / norm.value};
    const double slack = kg_term_error(&t->rung, error);
    if (!(norm.value * (1 + slack) > max_norm->f)) return kg_term_exact(1);
    const double by = norm.value > max_norm->f ? max_norm->f / (norm.value + 1e-7) : 1;
    return (kg_term){by, by * error.local, by * error.acc};
}

static kg_term element(table *t, int64_t row, int64_t column) {
    if (row != t->row) t->scale = scale_of(t, row);
    t->row = row;
    const double x = kg_at(&t->weight, row * t->weight.desc.shape[1] + column);
    if (t->scale.value == 1 && t->scale.local == 0) return kg_term_exact(x);
    return kg_term_stored(&t->rung, kg_term_mul(&t->rung, kg_term_exact(x), t->scale));
}

static int64_t row_of(const kg_view *indices, int64_t i) {
    return kg_load_int(indices->desc.dtype, indices->data, kg_offset(&indices->desc, i));
}

static kg_point tanh_at(double x, const void *ctx) {
    (void)ctx;
    return kg_tanh_point(x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view indices = kg_call_view(call, "input_indices"), o = kg_call_view(call, "other");
    const kg_view other = kg_view_expand(&o, &call->c->outs[0]);
    table t = {call, kg_call_view(call, "weight"), kg_rung_of(call->task, call->c->outs[0].dtype), -1,
               kg_term_exact(1)};
    const int64_t d = t.weight.desc.shape[1];
    for (size_t k = 0; k < ref->n; k++) {
        const int64_t i = ref->index[k];
        const kg_term e = element(&t, row_of(&indices, i / d), i % d);
        const kg_term sum = kg_term_add(&t.rung, e, kg_term_input(&t.rung, kg_at(&other, i)));
        kg_term_put(ref, k, kg_term_map(&t.rung, kg_term_stored(&t.rung, sum), tanh_at, NULL));
    }
    return 0;
}

// What weight holds afterwards.
static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_view indices = kg_call_view(call, "input_indices"), *left = &a->out[OUT_WEIGHT];
    table t = {call, kg_call_view(call, "weight"), kg_rung_of(call->task, call->c->outs[0].dtype), -1,
               kg_term_exact(1)};
    const int64_t rows = t.weight.desc.shape[0], d = t.weight.desc.shape[1], n = kg_numel(&indices.desc);
    bool *used = calloc((size_t)rows + 1, sizeof *used);
    if (!used) return -1;
    for (int64_t i = 0; i < n; i++) used[row_of(&indices, i)] = true;
    for (int64_t i = 0; i < rows * d; i++) {
        const double was = kg_at(&t.weight, i), is = kg_at(left, i);
        if (is == was || (isnan(is) && isnan(was))) continue;
        const kg_term e = used[i / d] ? element(&t, i / d, i % d) : kg_term_exact(was);
        kg_hold(h, left->desc.dtype, is, e.value, e.local + fabs(e.value), e.acc, "weight[%lld,%lld]",
                (long long)(i / d), (long long)(i % d));
    }
    kg_hold_true(h, true, "weight");
    free(used);
    return 0;
}

// Of the table only the rows that are looked up, and nothing of it is written.
static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 2, 1);
    const double size = (double)kg_dtype_size(c->outs[0].dtype), d = (double)c->args[WEIGHT].tensor.shape[1];
    const double rows = (double)c->args[WEIGHT].tensor.shape[0], wanted = (double)kg_numel(&c->args[INDICES].tensor);
    w->bytes_read -= (rows - fmin(rows, wanted)) * d * size;
    w->bytes_written = (double)kg_numel(&c->outs[0]) * size;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return c->args[MAX_NORM].none || c->args[MAX_NORM].absent ? 2 : 2 + (double)c->args[WEIGHT].tensor.shape[1];
}

const kg_task kg_task_kbx_fused_embedding_add_tanh = {
    .name = "fused_embedding_add_tanh",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_embedding_add_tanh(input_indices, weight, other, *, padding_idx=None, max_norm=None, norm_type=2.0, "
        "scale_grad_by_freq=False, sparse=False, out=None) -> Tensor",
    .summary =
        "Hyperbolic tangent of rows of weight, by index, plus other; rows with a norm above max_norm are scaled to it, "
        "and may be in weight too.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .held = 1u << OUT_WEIGHT,
    .holds = holds,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input_indices, weight, other, *, padding_idx=None, max_norm=None, norm_type=2.0, "
        "scale_grad_by_freq=False, sparse=False, out=None: torch.tanh(F.embedding(input_indices, weight, padding_idx, "
        "max_norm, norm_type, scale_grad_by_freq, sparse) + other, out=out)",
    .c_body =
        "const int64_t d = kg_dim(weight, 1), row = (int64_t)kg_get(input_indices, i / d);\n"
        "double scale = 1;\n"
        "if (max_norm) {\n"
        "    double norm = 0;\n"
        "    for (int64_t k = 0; k < d; k++) {\n"
        "        const double x = fabs(kg_get(weight, row * d + k));\n"
        "        if (norm_type == INFINITY) norm = fmax(norm, x);\n"
        "        else norm += pow(x, norm_type);\n"
        "    }\n"
        "    if (norm_type != INFINITY) norm = pow(norm, 1.0 / norm_type);\n"
        "    if (norm > *max_norm) scale = *max_norm / norm;\n"
        "}\n"
        "kg_put(out, i, tanh(kg_get(weight, row * d + i % d) * scale + kg_get_broadcast(other, out, i)));\n",
};
