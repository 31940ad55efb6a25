// Cases with one long axis, for kernels that stop early on one that is short wherever else it is asked for: a grid that
// covers the first 128 rows, heads or images, an array of 1,024 places.
//
// A case of the task's own is resized along one of its sizes, or two at once where one needs the other (an operand and
// its partner), and all other sizes become as small as they can. Only where it is more of the same, as in
// large_cases.c: no output depends on more inputs than before. How long a sum or a filter is, is the tasks' own matter:
// kernels hold those whole, unrolled or in shared memory, and may well have a limit.
//
// Quick cases get what costs next to nothing, of the four last axes of each tensor; full ones the rest.
#include "task/long_cases.h"

#include <math.h>

#include "task/resize.h"

#define QUICK_AXES 4       // counted from the last
#define QUICK_COST 0x1p19  // inputs looked at by the oracle
#define FULL_COST  0x1p22

// Past the thread blocks, tiles and tables that kernels are made of. Shorter ones where that costs too much.
static const int64_t lengths[] = {1031, 259, 131};

// Of parameter i with n dimensions, d-th from the last. 0: it has none.
typedef struct {
    int64_t axis[KG_MAX_ARGS][KG_MAX_NDIM + 1][KG_MAX_NDIM];
} longest;

static void note(longest *l, const kg_case *c) {
    for (int i = 0; i < c->n_args && !c->large; i++) {
        const kg_tensor *t = &c->args[i].tensor;
        for (int d = 0; kg_arg_is_tensor(&c->args[i]) && d < t->ndim; d++) {
            int64_t *at = &l->axis[i][t->ndim][t->ndim - 1 - d];
            if (t->shape[d] > *at) *at = t->shape[d];
        }
    }
}

// Matrices of an order too, and masks of a number of true elements: kg_resize_case knows what becomes of them.
static bool fits(const kg_fill *f) {
    return kg_fill_is_anywhere(f) || f->kind == KG_FILL_CHOICE || kg_fill_is_matrix(f->kind);
}

// A few elements that are left out show less in a coarse dtype; float32 is what everything takes.
static double weight_of(kg_dtype t) { return t == KG_F16 || t == KG_BF16 ? 4 : t == KG_F64 ? 2 : 1; }

static double cost_of(const kg_task *t, const kg_case *c) {
    double elements = 0;
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i])) elements += (double)kg_numel(&c->args[i].tensor);
    for (int i = 0; i < c->n_outs; i++) elements += (double)kg_numel(&c->outs[i]);
    return weight_of(kg_case_principal(c, t)) * (elements + kg_reach(t, c) * (double)kg_principal_elements(c, t));
}

// What is looked for: parameter i with n dimensions, axis d from the last, this long and for less than `cost`; and what
// is found.
typedef struct {
    const kg_task *t;
    int i, n, d;
    int64_t length;
    double cost;
    bool found;
    kg_case c;
} wanted;

static int64_t axis_of(const kg_case *c, const wanted *w) { return c->args[w->i].tensor.shape[w->n - 1 - w->d]; }

// No tensor of it is expanded, as those are that grow twice.
static bool is_plain(const kg_case *c) {
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && !kg_is_contiguous(&c->args[i].tensor)) return false;
    return true;
}

// Indices reach the end of what they point into where that is one of the sizes that grow.
static void widen_ranges(kg_case *c, const kg_resize *x) {
    for (int i = 0; i < c->n_args; i++) {
        kg_fill *f = &c->args[i].fill;
        const kg_dtype t = c->args[i].tensor.dtype;
        const double size = f->b + 1;
        if (!kg_arg_is_tensor(&c->args[i]) || (t != KG_I64 && t != KG_I32) || f->kind != KG_FILL_INT || size < 3 ||
            (f->a != 0 && f->a != -size))
            continue;
        if (size != (double)x->grown[0] && (x->n < 2 || size != (double)x->grown[1])) continue;
        f->b = (double)(x->longer - 1);
        if (f->a != 0) f->a = (double)-x->longer;
    }
}

static void consider(wanted *w, const kg_case *start, kg_resize x) {
    static const int64_t most[] = {2, 3, 0};
    for (int k = kg_may_shrink(start) ? 0 : 2; k < 3; k++) {
        kg_case shorter = *start, c = *start;
        x.most = most[k];
        x.longer = 11;
        if (!kg_resize_case(w->t, &shorter, &x)) continue;
        x.longer = w->length;
        if (!kg_resize_case(w->t, &c, &x) || !is_plain(&c) || axis_of(&c, w) != w->length) continue;
        if (kg_reach(w->t, &c) > kg_reach(w->t, &shorter) || cost_of(w->t, &c) >= w->cost) continue;
        w->cost = cost_of(w->t, &c);
        w->c = c;
        widen_ranges(&w->c, &x);
        w->found = true;
    }
}

static void consider_all(wanted *w, const kg_case *start) {
    int64_t sizes[KG_MAX_ARGS * KG_MAX_NDIM];
    const int n = kg_sizes(start, sizes);
    const int64_t size = axis_of(start, w);
    consider(w, start, (kg_resize){.n = 1, .grown = {size}});
    for (int k = 0; k < n && !w->found; k++)
        if (sizes[k] != size) consider(w, start, (kg_resize){.n = 2, .grown = {size, sizes[k]}});
}

static bool look(wanted *w, const kg_cases *starts) {
    for (size_t k = 0; k < starts->n; k++) {
        const kg_case *c = &starts->items[k];
        if (kg_arg_is_tensor(&c->args[w->i]) && c->args[w->i].tensor.ndim == w->n && kg_is_start(w->t, c, fits))
            consider_all(w, c);
    }
    return w->found;
}

static bool add_one(kg_cases *b, const kg_cases *starts, longest *l, wanted w) {
    const int64_t has = l->axis[w.i][w.n][w.d];
    if (has == 0 || has >= w.length || !look(&w, starts)) return false;
    *kg_case_add(b) = w.c;
    note(l, &w.c);
    return true;
}

// The last axes, each where most dimensions stand before it: kernels treat these alike.
static void add_quick(kg_cases *b, const kg_cases *starts, longest *l, int64_t length) {
    for (int i = 0; b->task->params[i].name; i++)
        for (int d = 0; d < QUICK_AXES; d++) {
            int64_t has = 0;
            for (int n = d + 1; n <= KG_MAX_NDIM; n++) has = l->axis[i][n][d] > has ? l->axis[i][n][d] : has;
            bool added = has >= length;
            for (int n = QUICK_AXES; n > d && !added; n--)
                added = add_one(b, starts, l, (wanted){b->task, i, n, d, length, QUICK_COST, false, {0}});
        }
}

// Of any case there is.
static void add_full(kg_cases *b, longest *l, int64_t length) {
    for (int i = 0; b->task->params[i].name; i++)
        for (int n = 1; n <= KG_MAX_NDIM; n++)
            for (int d = 0; d < n; d++) add_one(b, b, l, (wanted){b->task, i, n, d, length, FULL_COST, false, {0}});
}

int kg_add_long_cases(kg_cases *b) {
    const size_t n = sizeof lengths / sizeof *lengths;
    kg_cases quick = {.task = b->task, .level = KG_CASES_QUICK};
    longest l = {0};
    const int rc = b->task->cases(&quick);
    for (size_t k = 0; k < quick.n; k++) note(&l, &quick.items[k]);
    for (size_t k = 0; k < n && !rc; k++) add_quick(b, &quick, &l, lengths[k]);
    if (b->level == KG_CASES_FULL && !rc) {
        for (size_t k = 0; k < b->n; k++) note(&l, &b->items[k]);
        for (size_t k = 0; k < n; k++) add_full(b, &l, lengths[k]);
    }
    kg_cases_free(&quick);
    return rc;
}
