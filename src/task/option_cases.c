// Options together, for kernels in which one is a path of its own that forgets another: alpha where out is given,
// keepdim of strided inputs, a stride in half precision, any dim but the last.
//
// The task's own quick cases are changed at random, many times: in options, strides and dtype, only where the task says
// that it is one of its cases (infer), and only those with ordinary values: what overflows or is NaN has bounds that
// its own cases were made for. Then, one by one, that case is taken in which most levels of attributes
// (option_levels.h) meet, two or three at once, that never met before.
#include "task/option_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task/option_levels.h"
#include "task/resize.h"
#include "task/strided_cases.h"

#define QUICK    40  // added to a task
#define FULL     120
#define DRAWS    3000
#define ELEMENTS 5000  // of each tensor
#define LARGEST  100   // mean and deviation: what overflows is not ordinary
#define NUDGE    1.01  // numbers that float32 holds do not tell whether a kernel rounded them to it

// ---- what has met -----------------------------------------------------------------------------------
// Two levels that meet are a number below TWOS, three one below MEETINGS.
#define TWOS     ((uint32_t)KG_PLACES * KG_PLACES)
#define MEETINGS (TWOS + TWOS * KG_PLACES)
#define MOST     4000  // of one case: all twos and threes of its attributes

_Static_assert(KG_ATTRIBUTES *(KG_ATTRIBUTES - 1) / 2 * (KG_ATTRIBUTES + 1) / 3 <= MOST, "twos and threes");

typedef struct {
    const kg_task *t;
    kg_level_names names;
    kg_cases own;  // quick ones
    // What a level of an option is chosen by; has[i][l] where there is one.
    kg_arg value[KG_MAX_ARGS][KG_LEVELS];
    bool has[KG_MAX_ARGS][KG_LEVELS];
    bool has_dtype[KG_ALL_DTYPES + 1];  // of floating inputs
    bool is_random;                     // what it draws is tested in the cases that were made for that
    uint8_t met[MEETINGS / 8 + 1];
} options;

// Half precision hides what an option does to the last digits, and C has no out: a case with one of these speaks of
// meetings with it alone.
static int marks_of(const options *o, const kg_profile *p, bool *marks) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        marks[i] = (o->has_dtype[KG_F32] && kg_is_coarse(p->place[i])) || kg_is_python_only(o->t, p->place[i]);
        n += marks[i];
    }
    return n;
}

// Where at least one could be chosen; of three, two.
static int meetings_of(const options *o, const kg_profile *p, uint32_t *all) {
    bool chosen[KG_ATTRIBUTES], marks[KG_ATTRIBUTES];
    const int marked = marks_of(o, p, marks);
    int n = 0;
    for (int i = 0; i < p->n; i++) chosen[i] = kg_is_chosen(o->t, p->place[i]);
    for (int i = 0; i < p->n; i++)
        for (int j = i + 1; j < p->n; j++) {
            const uint32_t two = (uint32_t)(p->place[i] * KG_PLACES + p->place[j]);
            if (marks[i] + marks[j] == marked && (chosen[i] || chosen[j])) all[n++] = two;
            for (int k = j + 1; k < p->n; k++)
                if (marks[i] + marks[j] + marks[k] == marked && chosen[i] + chosen[j] + chosen[k] > 1)
                    all[n++] = TWOS + two * KG_PLACES + (uint32_t)p->place[k];
        }
    return n;
}

static bool has_met(const options *o, uint32_t m) { return o->met[m / 8] >> m % 8 & 1; }

// What is left out is the other path of a kernel that has two; the one that forgets is more often that of what is
// given.
static int worth_of_one(uint32_t m) {
    if (m >= TWOS) return 1;
    return kg_is_left_out((int)(m / KG_PLACES)) || kg_is_left_out((int)(m % KG_PLACES)) ? 16 : 64;
}

static int worth_of(const options *o, const kg_profile *p) {
    uint32_t all[MOST];
    const int n = meetings_of(o, p, all);
    int worth = 0;
    for (int i = 0; i < n; i++)
        if (!has_met(o, all[i])) worth += worth_of_one(all[i]);
    return worth;
}

static void note(options *o, const kg_profile *p) {
    uint32_t all[MOST];
    const int n = meetings_of(o, p, all);
    for (int i = 0; i < n; i++) o->met[all[i] / 8] |= (uint8_t)(1u << all[i] % 8);
}

// ---- values of options ------------------------------------------------------------------------------
// A number that follows from the sizes of its case means nothing in another.
static bool is_a_size(const kg_case *c, const kg_arg *a) {
    for (int i = 0; a->kind == KG_P_INT && i < c->n_outs; i++)
        for (int d = 0; d < c->outs[i].ndim; d++)
            if (a->i > 4 && c->outs[i].shape[d] == a->i) return true;
    return false;
}

// 0 switches off what it multiplies, 1 drops everything or changes nothing, and what is far from them hides the rest.
static bool is_modest(const kg_arg *a) {
    if (a->kind == KG_P_FLOAT) return (a->f != 0 && a->f != 1 && fabs(a->f) < 4) || isinf(a->f);
    if (a->kind == KG_P_INT) return a->i > -8 && a->i < 8;
    return a->kind != KG_P_TENSOR && !(a->kind == KG_P_INTS && a->s);
}

// Of two that could stand for a level, the one that shows more.
static double weight_of(const kg_param *p, const kg_arg *a) {
    return a->kind == KG_P_FLOAT ? fabs(a->f - (p->has_default ? p->number : 0)) : 0;
}

static void keep_value(options *o, int i, int level, const kg_arg *a) {
    if (o->has[i][level] && weight_of(&o->t->params[i], a) <= weight_of(&o->t->params[i], &o->value[i][level])) return;
    o->value[i][level] = *a;
    o->has[i][level] = true;
}

static void keep_values(options *o, const kg_case *c) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (!kg_is_option(&o->t->params[i])) continue;
        if (a->absent || a->none || (is_modest(a) && !is_a_size(c, a)))
            keep_value(o, i, kg_level_of(&o->names, c, i), a);
    }
}

// ---- cases that others are made of --------------------------------------------------------------------
static bool is_ordinary(const kg_fill *f) {
    if (f->kind == KG_FILL_LOGSCALE) return f->a >= -4 && f->b <= 4;
    if (f->kind == KG_FILL_NORMAL) return fabs(f->a) <= LARGEST && f->b <= LARGEST;
    return kg_fill_is_random(f) || f->kind == KG_FILL_CHOICE || kg_fill_is_matrix(f->kind);
}

static bool is_start(const kg_task *t, const kg_case *c) {
    bool any = false;
    if (c->name || c->alias_first_out || c->large) return false;
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (!kg_arg_is_tensor(a) || a->scalar) continue;
        const int64_t n = kg_numel(&a->tensor);
        if ((n < 4 && !(any && a->tensor.ndim == 0)) || n > ELEMENTS) return false;
        const bool stands = any && a->fill.kind == KG_FILL_CONST && fabs(a->fill.a) <= 4;  // a target
        if (kg_is_plain_input(&t->params[i], a) && t->params[i].role != KG_STATE && !is_ordinary(&a->fill) && !stands)
            return false;
        any = true;
    }
    return any;
}

// Indices that count along an axis stay within it.
static bool is_within(const kg_task *t, const kg_case *c, int64_t axis) {
    const kg_tensor *first = kg_first_tensor(c);
    const int64_t size = first->ndim ? first->shape[axis < 0 ? axis + first->ndim : axis] : 1;
    for (int i = 1; i < c->n_args; i++) {
        const kg_fill *f = &c->args[i].fill;
        if (!kg_is_plain_input(&t->params[i], &c->args[i]) || f->kind != KG_FILL_INT) continue;
        if (f->b >= (double)size || f->a < (double)-size) return false;
    }
    return true;
}

// out is of the result's shape and dtype.
static void fit_out(const kg_task *t, kg_case *c) {
    for (int i = 0; i < c->n_args; i++)
        if (t->params[i].role == KG_OUT_ARG && kg_arg_is_tensor(&c->args[i]))
            c->args[i].tensor = kg_tensor_contiguous(c->outs[0].dtype, c->outs[0].ndim, c->outs[0].shape);
}

// The task has it, there is something in its outputs, and its indices stay within their axes.
static bool is_legal(const kg_task *t, kg_case *c) {
    if (t->infer(t, c) || c->alias_first_out) return false;
    fit_out(t, c);
    for (int i = 0; i < c->n_outs; i++)
        if (kg_numel(&c->outs[i]) == 0) return false;
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (!kg_is_axis(&t->params[i]) || a->none || a->absent) continue;
        if (a->kind == KG_P_INT ? !is_within(t, c, a->i) : a->n == 1 && !is_within(t, c, a->ints[0])) return false;
    }
    return true;
}

// ---- changes ----------------------------------------------------------------------------------------
// Numbers at random, the same in every run: a case is found again by its name.
typedef struct {
    uint64_t key, drawn;
} dice;

static int roll(dice *d, int sides) {
    const kg_philox r = kg_philox4x32(d->key, d->drawn++, 0);
    return (int)(r.v[0] % (uint32_t)sides);
}

static void change_axis(kg_case *c, int i, dice *d) {
    const kg_tensor *first = kg_first_tensor(c);
    kg_arg *a = &c->args[i];
    if (!first || !first->ndim || a->none || a->absent || (a->kind == KG_P_INTS && a->n != 1)) return;
    const int64_t axis = roll(d, 2 * first->ndim) - first->ndim;
    if (a->kind == KG_P_INT) a->i = axis;
    else a->ints[0] = axis;
}

static void change_level(const options *o, kg_case *c, int i, dice *d) {
    const int level = roll(d, KG_LEVELS);
    if (o->has[i][level]) c->args[i] = o->value[i][level];
}

// The case's values were made for it, or what random tasks do is tested with it.
static bool is_of_values(const options *o, const kg_param *p) {
    static const char *const of_inputs[] = {"pivot", "hermitian", "ignore_index", NULL};
    static const char *const of_chance[] = {"p", "dropout_p", "training", NULL};
    for (const char *const *name = of_inputs; *name; name++)
        if (strcmp(p->name, *name) == 0) return true;
    for (const char *const *name = of_chance; *name && o->is_random; name++)
        if (strcmp(p->name, *name) == 0) return true;
    return false;
}

static void change_option(const options *o, kg_case *c, int i, dice *d) {
    const kg_param *p = &o->t->params[i];
    if (!kg_is_option(p) || is_of_values(o, p)) return;
    for (int k = 0; k < 4; k++) change_level(o, c, i, d);  // not all levels are there
    if (kg_is_axis(p)) change_axis(c, i, d);
}

static void change_strides(const options *o, kg_case *c) {
    if (kg_is_strided(o->t, c)) return;
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *a = &c->args[i];
        if (!kg_is_plain_input(&o->t->params[i], a)) continue;
        // Matrices and masks are made in storage order.
        if (kg_fill_is_matrix(a->fill.kind) || a->fill.kind == KG_FILL_CHOICE) continue;
        a->tensor = kg_tensor_scattered(a->tensor.dtype, a->tensor.ndim, a->tensor.shape);
    }
}

static bool is_small(const kg_fill *f) { return f->kind == KG_FILL_NORMAL && f->b < 0.05 && fabs(f->a) < 0.05; }

// Numbers far from 1, which bring half precision to the ends of its range.
static bool has_extremes(const options *o, const kg_case *c) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (kg_is_plain_input(&o->t->params[i], a) && is_small(&a->fill)) return true;
        if (a->kind == KG_P_FLOAT && !a->absent && !a->none && isfinite(a->f) && fabs(a->f) >= 8 &&
            kg_is_option(&o->t->params[i]))
            return true;
    }
    return false;
}

// Floating inputs in another dtype that the task's cases have, where all are in one.
static void change_dtype(const options *o, kg_case *c, dice *d) {
    static const kg_dtype those[] = {KG_F16, KG_BF16, KG_F64};
    const kg_dtype t = those[roll(d, 3)];
    if (o->is_random || !o->has_dtype[t] || has_extremes(o, c) || kg_floating_dtype(o->t, c) != KG_F32) return;
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *a = &c->args[i];
        if (a->kind == KG_P_TENSOR && !a->scalar && a->tensor.dtype == KG_F32) a->tensor.dtype = t;
    }
}

static void change(const options *o, kg_case *c, int what, dice *d) {
    if (what < c->n_args) change_option(o, c, what, d);
    else if (what == c->n_args) change_strides(o, c);
    else change_dtype(o, c, d);
}

static void nudge(const options *o, kg_case *c) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_param *p = &o->t->params[i];
        if (c->args[i].absent || c->args[i].none) continue;
        if (p->kind == KG_P_FLOAT && kg_is_option(p) && !is_of_values(o, p) && is_modest(&c->args[i]) &&
            !(p->has_default && c->args[i].f == p->number))
            c->args[i].f *= NUDGE;
    }
}

static bool draw_plain(const options *o, const kg_case *start, uint64_t number, kg_case *c) {
    dice d = {number, 0};
    const int sides = 2 + roll(&d, 3);  // few changes or many
    const int changes = start->n_args + 2;
    bool wanted[KG_MAX_ARGS + 2] = {false};
    *c = *start;
    for (int i = 0; i < changes; i++)
        if ((wanted[i] = roll(&d, sides) == 0)) change(o, c, i, &d);
    if (is_legal(o->t, c)) return true;
    // What does not go together goes one by one, as far as it does.
    *c = *start;
    for (int i = 0; i < changes; i++) {
        kg_case next = *c;
        if (wanted[i]) change(o, &next, i, &d);
        if (wanted[i] && is_legal(o->t, &next)) *c = next;
    }
    return is_legal(o->t, c);
}

// The number-th case made of this one. false: none is.
static bool draw(const options *o, const kg_case *start, uint64_t number, kg_case *c) {
    if (!draw_plain(o, start, number, c)) return false;
    if (kg_floating_dtype(o->t, c) == KG_F64) nudge(o, c);
    return is_legal(o->t, c);
}

// ---- choice -----------------------------------------------------------------------------------------
typedef struct {
    const kg_case *start;
    uint64_t number;
    kg_profile p;
    int64_t elements;
    int worth;  // what it was when last looked at; it only falls
} drawn;

static int64_t elements_of(const kg_case *c) {
    int64_t n = 0;
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i])) n += kg_numel(&c->args[i].tensor);
    return n;
}

static bool is_better(const drawn *a, const drawn *b) {
    return a->worth > b->worth || (a->worth == b->worth && a->elements < b->elements);
}

static size_t draw_all(options *o, drawn *all) {
    const kg_case *starts[DRAWS];
    size_t n_starts = 0, n = 0;
    kg_case c;
    for (size_t k = 0; k < o->own.n && n_starts < DRAWS; k++)
        if (is_start(o->t, &o->own.items[k])) starts[n_starts++] = &o->own.items[k];
    for (uint64_t k = 0; k < DRAWS && n_starts; k++) {
        const kg_case *start = starts[k % n_starts];
        if (!draw(o, start, k, &c)) continue;
        all[n] = (drawn){start, k, kg_profile_of(&o->names, &c), elements_of(&c), 0};
        all[n].worth = worth_of(o, &all[n].p);
        if (all[n].worth) n++;
    }
    return n;
}

// NULL: nothing new is left.
static const drawn *choose(const options *o, drawn *all, size_t n) {
    drawn *best = NULL;
    for (size_t k = 0; k < n; k++) {
        if (best && !is_better(&all[k], best)) continue;
        all[k].worth = worth_of(o, &all[k].p);
        if (!best || is_better(&all[k], best)) best = &all[k];
    }
    return best && best->worth ? best : NULL;
}

static int add_best(options *o, kg_cases *b) {
    drawn *all = malloc(DRAWS * sizeof *all);
    if (!all) return -1;
    const size_t n = draw_all(o, all);
    const int most = b->level == KG_CASES_FULL ? FULL : QUICK;
    for (int k = 0; k < most; k++) {
        const drawn *best = choose(o, all, n);
        kg_case c;
        if (!best || !draw(o, best->start, best->number, &c)) break;
        *kg_case_add(b) = c;
        note(o, &best->p);
    }
    free(all);
    return 0;
}

static int look_at_own(options *o) {
    if (o->t->cases(&o->own) || kg_add_strided_cases(&o->own)) return -1;
    for (size_t k = 0; k < o->own.n; k++) {
        if (o->t->infer(o->t, &o->own.items[k])) return -1;
        o->has_dtype[kg_floating_dtype(o->t, &o->own.items[k])] = true;
        keep_values(o, &o->own.items[k]);
    }
    for (size_t k = 0; k < o->own.n; k++) {
        const kg_profile p = kg_profile_of(&o->names, &o->own.items[k]);
        note(o, &p);
    }
    for (int i = 0; o->t->params[i].name; i++) o->is_random |= kg_is_seed(&o->t->params[i]);
    return 0;
}

int kg_add_option_cases(kg_cases *b) {
    options *o = calloc(1, sizeof *o);
    if (!o) return -1;
    o->t = o->names.t = b->task;
    o->own = (kg_cases){.task = b->task, .level = KG_CASES_QUICK};
    const int rc = look_at_own(o) || add_best(o, b) ? -1 : 0;
    kg_cases_free(&o->own);
    free(o);
    return rc;
}
