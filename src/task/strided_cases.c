// Strided inputs for parameters that a task's own cases give contiguous ones alone: a kernel that takes the strides of
// its second operand or of a weight for granted is wrong, and nothing else would show it. The same for those that are
// only ever transposed with their last stride 1, or spread evenly.
//
// The task's first quick case that gives most of them more than a few ordinary values is added once more, with all of
// these as every second element of a tensor whose dimensions lie the other way round; until every parameter has had
// its turn. So neither the last stride is 1 nor any other the product of the sizes behind it. The full cases get the
// same ones: they hold all quick cases.
#include "task/strided_cases.h"

#define MOST 100000  // elements of a tensor to be spread

static bool is_input(const kg_param *p) {
    return p->kind == KG_P_TENSOR && (p->role == KG_IN || p->role == KG_INOUT) && !p->native_only;
}

static bool given(const kg_arg *a) { return !a->none && !a->absent && !a->scalar; }

// Values drawn element by element, so that their place in memory says nothing.
static bool scatters(const kg_fill *f) {
    switch (f->kind) {
    case KG_FILL_NORMAL:
    case KG_FILL_UNIFORM:
    case KG_FILL_LOGSCALE: return true;
    case KG_FILL_INT: return f->b > f->a;
    default: return false;
    }
}

kg_tensor kg_tensor_scattered(kg_dtype t, int ndim, const int64_t *shape) {
    kg_tensor r = kg_tensor_contiguous(t, ndim, shape);
    int64_t stride = 2;
    for (int i = 0; i < ndim; i++) {
        r.stride[i] = stride;
        stride *= shape[i] > 1 ? shape[i] : 1;
    }
    return r;
}

// The last dimension with anything to step over is not 1 apart.
static bool is_apart(const kg_tensor *t) {
    for (int d = t->ndim - 1; d >= 0; d--)
        if (t->shape[d] > 1) return t->stride[d] != 1;
    return false;
}

// Nor does one stride tell the others.
static bool is_turned(const kg_tensor *t) {
    int64_t inner = 0;  // what the next stride is in a tensor every so many elements of which count
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->shape[d] <= 1) continue;
        if (inner && t->stride[d] != inner) return true;
        inner = t->stride[d] * t->shape[d];
    }
    return false;
}

// Bit i for parameter i.
static unsigned never_strided(const kg_cases *b) {
    unsigned lacking = 0;
    for (int i = 0; b->task->params[i].name; i++) {
        if (!is_input(&b->task->params[i])) continue;
        bool apart = false, turned = false, flat = true;
        for (size_t k = 0; k < b->n; k++) {
            const kg_arg *a = &b->items[k].args[i];
            if (!given(a) || kg_numel(&a->tensor) < 2) continue;
            apart |= is_apart(&a->tensor);
            turned |= is_turned(&a->tensor);
            flat &= a->tensor.ndim < 2;
        }
        if (!apart || (!turned && !flat)) lacking |= 1u << i;
    }
    return lacking;
}

// What a case is worth as a start: which of the lacking ones it can show, matrices before vectors, and how plain it is.
typedef struct {
    unsigned mask;
    int worth;
} start;

static bool is_plain(const kg_arg *a) { return scatters(&a->fill) && kg_is_contiguous(&a->tensor); }

static start start_of(const kg_task *t, const kg_case *c, unsigned lacking) {
    start s = {0};
    int plain = 1 | 2 | 4;
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (t->params[i].kind != KG_P_TENSOR || !given(a)) continue;
        const int64_t n = kg_numel(&a->tensor);
        if (t->params[i].role == KG_OUT_ARG || n == 0 || n > MOST || c->name || c->alias_first_out) return (start){0};
        if (!is_plain(a)) plain &= ~2;
        if (a->tensor.dtype == KG_F16 || a->tensor.dtype == KG_BF16 || a->tensor.dtype == KG_F64) plain &= ~4;
        // Strides that are not plain already may be there to say something of the values: that they are symmetric.
        if (!(lacking >> i & 1) || n < 2 || !is_plain(a)) continue;
        s.mask |= 1u << i;
        s.worth += a->tensor.ndim > 1 ? 24 : 16;
        if (n < 12) plain &= ~1;
    }
    s.worth += plain;
    return s;
}

static unsigned add_one(kg_cases *b, const kg_cases *quick, unsigned lacking) {
    start best = {0};
    size_t from = 0;
    for (size_t k = 0; k < quick->n; k++) {
        const start s = start_of(b->task, &quick->items[k], lacking);
        if (s.mask && s.worth > best.worth) best = s, from = k;
    }
    if (!best.mask) return 0;
    kg_case *c = kg_case_add(b);
    *c = quick->items[from];
    for (int i = 0; i < c->n_args; i++) {
        kg_tensor *x = &c->args[i].tensor;
        if (best.mask >> i & 1) *x = kg_tensor_scattered(x->dtype, x->ndim, x->shape);
    }
    if (b->task->infer(b->task, c)) b->n--;  // the task's kernels need not bear it
    return best.mask;
}

int kg_add_strided_cases(kg_cases *b) {
    kg_cases quick = {.task = b->task, .level = KG_CASES_QUICK};
    const int rc = b->task->cases(&quick);
    unsigned lacking = rc ? 0 : never_strided(&quick), added;
    while (lacking && (added = add_one(b, &quick, lacking)) != 0) lacking &= ~added;
    kg_cases_free(&quick);
    return rc;
}
