#include "task/resize.h"

#include <math.h>

#define MODEST 4096  // sizes of images and filters that cases are made of: what is longer is there for its own sake
#define SHORT  (KG_INDEX_MAX >> 5)  // elements that a vector may well have in memory

bool kg_fill_is_anywhere(const kg_fill *f) {
    switch (f->kind) {
    case KG_FILL_ZERO:
    case KG_FILL_CONST:
    case KG_FILL_NORMAL:
    case KG_FILL_UNIFORM:
    case KG_FILL_LOGSCALE:
    case KG_FILL_TIES:
    case KG_FILL_INT: return true;
    default: return false;
    }
}

static bool is_constant(const kg_fill *f) { return f->kind == KG_FILL_ZERO || f->kind == KG_FILL_CONST; }

bool kg_fill_is_random(const kg_fill *f) { return kg_fill_is_anywhere(f) && !is_constant(f); }

// A text that says numbers which follow from sizes, as padding="same"; lists are as they stand.
static bool follows_from_sizes(const kg_arg *a) {
    return a->kind == KG_P_INTS && !a->none && !a->absent && a->s && a->s[0] != '[';
}

bool kg_is_start(const kg_task *t, const kg_case *c, bool (*fits)(const kg_fill *f)) {
    bool any = false;
    if (c->name || c->alias_first_out) return false;
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (follows_from_sizes(a)) return false;
        if (!kg_arg_is_tensor(a)) continue;
        const int64_t n = kg_numel(&a->tensor);
        if (t->params[i].role == KG_OUT_ARG || n == 0 || n > KG_FEW_ELEMENTS || !kg_is_contiguous(&a->tensor))
            return false;
        for (int d = 0; a->tensor.ndim > 2 && d < a->tensor.ndim; d++)
            if (a->tensor.shape[d] > MODEST) return false;
        if (!fits(&a->fill) && t->params[i].role != KG_STATE) return false;
        if (!any && is_constant(&a->fill)) return false;
        any = true;
    }
    return any;
}

double kg_reach(const kg_task *t, const kg_case *c) { return t->reach ? t->reach(t, c) : 1; }

// Of a fill that makes matrices; 0: it does not.
static int64_t order_of(const kg_fill *f) { return kg_fill_is_matrix(f->kind) ? (int64_t)fabs(f->a) : 0; }

bool kg_is_named_size(const kg_case *c, int64_t size) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (a->none || a->absent) continue;
        if (a->kind == KG_P_INT && a->i == size) return true;
        if (kg_arg_is_tensor(a) && order_of(&a->fill) == size) return true;
        for (int k = 0; a->kind == KG_P_INTS && k < a->n; k++)
            if (a->ints[k] == size) return true;
    }
    return false;
}

static bool is_grown(const kg_resize *x, int64_t size) {
    return size == x->grown[0] || (x->n > 1 && size == x->grown[1]);
}

static int64_t changed_size(const kg_case *c, const kg_resize *x, int64_t size) {
    if (is_grown(x, size)) return x->longer;
    return x->most && size > x->most && !kg_is_named_size(c, size) ? x->most : size;
}

static bool is_written(const kg_param *p) { return p->role == KG_INOUT || p->role == KG_STATE; }

// Inputs are expanded where they grow, so that they take no memory: along the first of two dimensions, and along a
// very long one. What is written is not. false: one tensor would grow twice along one size.
static bool change_tensor(const kg_case *c, const kg_resize *x, kg_tensor *t, bool written) {
    const kg_tensor was = *t;
    int64_t memory[KG_MAX_NDIM];
    int times[2] = {0}, first = -1;
    for (int d = was.ndim - 1; d >= 0; d--)
        for (int k = 0; k < x->n; k++)
            if (was.shape[d] == x->grown[k]) times[k]++, first = d;
    if (times[0] > 1 || times[1] > 1) return false;
    const bool both = times[0] + times[1] > 1;
    for (int d = 0; d < was.ndim; d++) memory[d] = changed_size(c, x, was.shape[d]);
    const kg_tensor dense = kg_tensor_contiguous(was.dtype, was.ndim, memory);
    bool expanded[KG_MAX_NDIM];
    for (int d = 0; d < was.ndim; d++) {
        expanded[d] =
            !written && is_grown(x, was.shape[d]) && ((both && d == first) || x->expanded || x->longer > SHORT);
        if (expanded[d]) memory[d] = 1;
    }
    *t = kg_tensor_contiguous(was.dtype, was.ndim, memory);
    for (int d = 0; d < was.ndim; d++)
        if (expanded[d]) t->shape[d] = dense.shape[d], t->stride[d] = 0;
    return true;
}

// A mask with its number of true elements keeps their share.
static void change_choice(kg_fill *f, int64_t was, int64_t n) {
    if (f->kind != KG_FILL_CHOICE || (int64_t)f->a != was) return;
    f->b = ceil(f->b * (double)n / (double)was);
    f->a = (double)n;
}

bool kg_resize_case(const kg_task *t, kg_case *c, const kg_resize *x) {
    const kg_case was = *c;
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *a = &c->args[i];
        if (!kg_arg_is_tensor(a)) continue;
        if (is_grown(x, order_of(&a->fill)) || !change_tensor(&was, x, &a->tensor, is_written(&t->params[i])))
            return false;
        change_choice(&a->fill, kg_numel(&was.args[i].tensor), kg_numel(&a->tensor));
    }
    return t->infer(t, c) == 0 && !c->alias_first_out;
}

int64_t kg_principal_elements(const kg_case *c, const kg_task *t) {
    if (c->n_outs) return kg_numel(&c->outs[0]);
    for (int i = 0; i < c->n_args; i++)
        if (t->params[i].role == KG_INOUT && kg_arg_is_tensor(&c->args[i])) return kg_numel(&c->args[i].tensor);
    return 0;
}

bool kg_may_shrink(const kg_case *c) {
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && !kg_dtype_is_float(kg_dtype_part(c->args[i].tensor.dtype))) return false;
    return true;
}

int kg_sizes(const kg_case *c, int64_t *sizes) {
    int n = 0;
    for (int i = 0; i < c->n_args; i++)
        for (int d = 0; kg_arg_is_tensor(&c->args[i]) && d < c->args[i].tensor.ndim; d++) {
            int k = 0;
            while (k < n && sizes[k] != c->args[i].tensor.shape[d]) k++;
            sizes[k] = c->args[i].tensor.shape[d];
            if (k == n) n++;
        }
    return n;
}
