// Full cases for kernels that count or address elements in 32 bits. A task that has nothing of the kind among its own
// cases gets
//
// - one whose first output has more than 2^31 elements. A quick case is grown along one of its dimensions: every axis
//   of that size, in all tensors, becomes as long as it takes, and inputs are expanded there (stride 0), so that they
//   take no memory. Only where this is more of the same: no output depends on more inputs than before (reach), so that
//   batches, rows and elements grow, and neither a sum's length nor a matrix's order. A single dimension passes 2^31
//   where outputs depend on one element each; elsewhere each stays below, as grids and library calls count in int.
//
// - one whose only output is made of more than 2^31 elements (a sum of everything, its largest value): few rows of
//   memory, the last of them NaN, each as long as it takes (stride 0). The first NaN stands past 2^31, and with it the
//   answer is NaN (or NaN's place) in whatever precision 2^31 elements are added up; without it, it is not.
//
// - one in which inputs have few elements, but more than 2^31 apart (no stride is as large: libraries take those as
//   int). Only pages that hold one are ever touched.
#include "task/large_cases.h"

#include <math.h>
#include <string.h>

#include "task/families.h"
#include "task/resize.h"

#define MOST_BYTES    ((size_t)30 << 30)  // of all tensors: an 80 GB card takes twice as much
#define MOST_REACH    16                  // inputs an output depends on: for the time that it takes
#define RANDOM_REACH  6
#define MOST_PREPARED (1 << 24)  // elements that an oracle looks at before it looks at outputs
#define FAR           (KG_INDEX_MAX + 4099)

static int64_t span(const kg_tensor *t) { return (int64_t)(kg_span_bytes(t) / kg_dtype_size(t->dtype)); }

bool kg_is_sparse(const kg_tensor *t) { return span(t) > KG_INDEX_MAX && span(t) > 64 * kg_numel(t); }

bool kg_case_is_large(const kg_case *c) { return c->large || kg_case_largest(c) > INT32_MAX; }

static void add(kg_cases *b, const kg_case *c) {
    kg_case *to = kg_case_add(b);
    *to = *c;
    to->large = true;
}

// ---- more than 2^31 elements -----------------------------------------------------------------------------
// Of random answers only those that are made element by element, of products of two terms at most; no factors of
// matrices.
static double most_reach(const kg_task *t) {
    bool random = false;
    for (int i = 0; t->params[i].name; i++) random |= kg_is_seed(&t->params[i]);
    return !(t->held & 1) ? MOST_REACH : random ? RANDOM_REACH : 0;
}

static bool is_one_dimensional(const kg_case *c) {
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && c->args[i].tensor.ndim > 1) return false;
    return true;
}

// Grows *c along x->grown, with a length that makes the output pass 2^31 elements. false: there is no such case, or it
// is not affordable.
static bool grow(const kg_task *t, kg_case *c, kg_resize *x) {
    const kg_case start = *c;
    for (int k = 0; k < x->n; k++)
        if (x->grown[k] < 2 || kg_is_named_size(c, x->grown[k])) return false;
    x->longer = 11;  // twice, to see what it does; no output may depend on more for it
    if (!kg_resize_case(t, c, x)) return false;
    const double reach = kg_reach(t, c);
    const int64_t power = x->n > 1 ? 121 : 11, elements = kg_principal_elements(c, t), rest = elements / power;
    if (rest < 1 || elements % power || reach > most_reach(t)) return false;
    x->longer =
        x->n > 1 ? (int64_t)ceil(sqrt((double)KG_PAST_32_BITS / (double)rest)) : (KG_PAST_32_BITS + rest - 1) / rest;
    if (x->longer > KG_INDEX_MAX && (reach > 1 || !is_one_dimensional(c))) return false;
    *c = start;
    return kg_resize_case(t, c, x) && kg_principal_elements(c, t) == rest * (x->n > 1 ? x->longer : 1) * x->longer &&
           kg_reach(t, c) <= reach && kg_case_input_bytes(c, t) + kg_case_output_bytes(c, t) <= MOST_BYTES;
}

static void make_half(kg_case *c) {
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && c->args[i].tensor.dtype == KG_F32) c->args[i].tensor.dtype = KG_F16;
}

// The time that it takes, then memory. Two dimensions of 2^15 or so rather than one of 2^30, which no grid's second
// dimension has; of one-dimensional tensors the one there is.
static double cost_of(const kg_task *t, const kg_case *c, const kg_resize *x) {
    const double bytes = (double)(kg_case_input_bytes(c, t) + kg_case_output_bytes(c, t));
    return (x->n == 1 && !is_one_dimensional(c) ? 100 : 0) + kg_reach(t, c) + bytes * 0x1p-33;
}

static bool has_half(const kg_cases *b) {
    for (size_t i = 0; i < b->n; i++)
        for (int k = 0; k < b->items[i].n_args; k++)
            if (kg_arg_is_tensor(&b->items[i].args[k]) && b->items[i].args[k].tensor.dtype == KG_F16) return true;
    return false;
}

// What an oracle makes of all inputs at once (kg_task.prepare: whole tensors quantised by one scale) is made of each
// element, however few there are in memory.
static bool is_prepared_in_time(const kg_task *t, const kg_case *c) {
    double elements = 0;
    for (int i = 0; t->prepare && i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i])) elements += (double)kg_numel(&c->args[i].tensor);
    return elements <= MOST_PREPARED;
}

typedef struct {
    const kg_task *t;
    kg_case c;
    double cost;
} best_case;

static void consider(best_case *best, const kg_case *start, kg_resize x) {
    static const int64_t most[] = {2, 3, 0};
    for (int k = kg_may_shrink(start) ? 0 : 2; k < 3; k++) {
        kg_case c = *start;
        x.most = most[k];
        if (!grow(best->t, &c, &x) || !is_prepared_in_time(best->t, &c) || cost_of(best->t, &c, &x) >= best->cost)
            continue;
        best->cost = cost_of(best->t, &c, &x);
        best->c = c;
    }
}

// Every size there is, and every two of them.
static void consider_all(best_case *best, const kg_case *start) {
    int64_t sizes[KG_MAX_ARGS * KG_MAX_NDIM];
    const int n = kg_sizes(start, sizes);
    for (int i = 0; i < n; i++) {
        consider(best, start, (kg_resize){.n = 1, .grown = {sizes[i]}});
        for (int k = i + 1; k < n; k++) consider(best, start, (kg_resize){.n = 2, .grown = {sizes[i], sizes[k]}});
    }
}

static bool has_large_output(const kg_cases *b) {
    for (size_t i = 0; i < b->n; i++) {
        kg_case c = b->items[i];
        if (b->task->infer(b->task, &c) == 0 && kg_principal_elements(&c, b->task) > INT32_MAX) return true;
    }
    return false;
}

static void add_large(kg_cases *b, const kg_cases *quick) {
    const bool half = has_half(quick);
    best_case best = {.t = b->task, .cost = INFINITY};
    for (size_t k = 0; k < quick->n; k++) {
        kg_case c = quick->items[k];
        if (!kg_is_start(b->task, &c, kg_fill_is_anywhere)) continue;
        consider_all(&best, &c);
        if (!half) continue;
        make_half(&c);
        consider_all(&best, &c);
    }
    if (best.cost < INFINITY) add(b, &best.c);
}

// ---- one output of more than 2^31 elements ---------------------------------------------------------------
// Tasks that say what a NaN makes of the answer have a case with one.
static bool bears_nan(const kg_cases *b, int param) {
    for (size_t i = 0; i < b->n; i++) {
        const kg_fill *f = &b->items[i].args[param].fill;
        if (f->kind == KG_FILL_SPECIALS || (f->kind == KG_FILL_CONST && isnan(f->a))) return true;
    }
    return false;
}

// Rows of the first tensor, each of one element in memory; 0: it has none.
static int64_t rows_of(const kg_tensor *t) { return t->ndim > 1 ? kg_numel(t) / t->shape[t->ndim - 1] : 0; }

// All inputs are floating, and a loss is one of elements, not of rows of classes.
static bool is_of_elements(const kg_task *t, const kg_case *c) {
    kg_case whole = *c;
    for (int i = 0; i < c->n_args; i++) {
        if (t->params[i].kind != KG_P_STR || strcmp(t->params[i].name, "reduction") != 0) continue;
        whole.args[i].absent = false;
        whole.args[i].s = "none";
        if (t->infer(t, &whole) || kg_numel(&whole.outs[0]) != kg_numel(&c->args[0].tensor)) return false;
    }
    return kg_may_shrink(c);
}

// Makes the rows of *c so long that the last one begins past 2^31. false: something else grows than what one output is
// made of, or they are too few.
static bool lengthen_rows(const kg_task *t, kg_case *c) {
    kg_tensor *first = &c->args[0].tensor;
    const int64_t rows = rows_of(first), row = rows ? first->shape[first->ndim - 1] : 0;
    kg_resize x = {.expanded = true, .n = 1, .grown = {row}};
    if (rows < 32 || row < 2 || kg_is_named_size(c, row) || first->dtype != KG_F32 || !is_of_elements(t, c))
        return false;
    x.longer = (KG_PAST_32_BITS + rows - 2) / (rows - 1);
    if (!kg_resize_case(t, c, &x) || c->n_outs != 1 || kg_numel(&c->outs[0]) != 1) return false;
    if (first->stride[first->ndim - 1] != 0 || span(first) != rows) return false;
    c->args[0].fill = KG_LAST(rows, KG_SAME_NAN);
    return kg_reach(t, c) <= MOST_REACH * (double)kg_numel(first);
}

// Of several the one with most rows: the nearest to 2^31 elements.
static void add_long(kg_cases *b, const kg_cases *quick) {
    kg_case best;
    int64_t most = 0;
    for (size_t k = 0; k < quick->n; k++) {
        kg_case c = quick->items[k];
        if (!kg_is_start(b->task, &c, kg_fill_is_anywhere) || !kg_arg_is_tensor(&c.args[0]) ||
            b->task->params[0].role != KG_IN)
            continue;
        if (!lengthen_rows(b->task, &c) || rows_of(&c.args[0].tensor) <= most) continue;
        most = rows_of(&c.args[0].tensor);
        best = c;
    }
    if (most) add(b, &best);
}

// ---- elements far apart ----------------------------------------------------------------------------------
// Dimension d of an input of three and more is spread. false: none is as long.
static bool spread(kg_tensor *t) {
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] < 3 || kg_numel(t) > FAR >> 8) continue;
        t->stride[d] = FAR / (t->shape[d] - 1) + 1;
        return true;
    }
    return false;
}

// Inputs of more than two elements that are far, as bits.
static unsigned make_far(const kg_task *t, kg_case *c, unsigned lacking) {
    unsigned mask = 0;
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *a = &c->args[i];
        if (kg_arg_is_tensor(a) && t->params[i].role == KG_IN && (lacking >> i & 1) && kg_fill_is_random(&a->fill) &&
            spread(&a->tensor))
            mask |= 1u << i;
    }
    return mask && t->infer(t, c) == 0 && !c->alias_first_out && kg_principal_elements(c, t) <= KG_FEW_ELEMENTS ? mask
                                                                                                                : 0;
}

static unsigned inputs_of(const kg_task *t) {
    unsigned mask = 0;
    for (int i = 0; t->params[i].name; i++)
        if (t->params[i].kind == KG_P_TENSOR && t->params[i].role == KG_IN && !t->params[i].native_only)
            mask |= 1u << i;
    return mask;
}

static int bits_of(unsigned mask) { return mask ? (int)(mask & 1) + bits_of(mask >> 1) : 0; }

static unsigned add_far(kg_cases *b, const kg_cases *quick, unsigned lacking) {
    unsigned most = 0;
    kg_case best;
    for (size_t k = 0; k < quick->n; k++) {
        kg_case c = quick->items[k];
        if (!kg_is_start(b->task, &c, kg_fill_is_anywhere)) continue;
        const unsigned mask = make_far(b->task, &c, lacking);
        if (bits_of(mask) > bits_of(most)) most = mask, best = c;
    }
    if (most) add(b, &best);
    return most;
}

int kg_add_large_cases(kg_cases *b) {
    kg_cases quick = {.task = b->task, .level = KG_CASES_QUICK};
    if (b->level != KG_CASES_FULL) return 0;
    const int rc = b->task->cases(&quick);
    if (!rc && most_reach(b->task) && !has_large_output(b)) add_large(b, &quick);
    if (!rc && !b->task->held && bears_nan(&quick, 0)) add_long(b, &quick);
    unsigned lacking = rc ? 0 : inputs_of(b->task), added;
    while (lacking && (added = add_far(b, &quick, lacking)) != 0) lacking &= ~added;
    kg_cases_free(&quick);
    return rc;
}
