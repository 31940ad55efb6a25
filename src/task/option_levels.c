#include "task/option_levels.h"

#include <math.h>
#include <string.h>

enum { LAYOUT = KG_MAX_ARGS, FLOATS, INTEGERS, DIMENSIONS };
_Static_assert(DIMENSIONS == KG_ATTRIBUTES - 1, "all of them");

enum { LEFT_OUT, NONE, GIVEN, NEGATIVE, ZERO, INFINITE };  // of most options
enum { FIRST = GIVEN, LAST, BETWEEN, LAST_FROM_END, FROM_END, NO_AXIS, SEVERAL };
enum { TUPLE = NEGATIVE, UNEQUAL, NUMBER, POINT };  // of lists and tensors
enum { CONTIGUOUS, STRIDED, OTHERS_DIFFER = 2, FIRST_IS_NOT_LARGEST = 4 };
enum { OTHER = KG_LEVELS - 2, MIXED };  // of dtypes

// ---- inputs -----------------------------------------------------------------------------------------
bool kg_is_plain_input(const kg_param *p, const kg_arg *a) {
    return p->kind == KG_P_TENSOR && p->role != KG_OUT_ARG && !p->native_only && kg_arg_is_tensor(a) && !a->scalar;
}

const kg_tensor *kg_first_tensor(const kg_case *c) {
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && !c->args[i].scalar) return &c->args[i].tensor;
    return NULL;
}

static bool has_shape(const kg_tensor *x, const kg_tensor *of) {
    return x->ndim == of->ndim && memcmp(x->shape, of->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

static int layout_of(const kg_task *t, const kg_case *c) {
    const kg_tensor *first = kg_first_tensor(c);
    int layout = CONTIGUOUS, shapes = 0;
    for (int i = 0; i < c->n_args; i++) {
        const kg_tensor *x = &c->args[i].tensor;
        if (!kg_is_plain_input(&t->params[i], &c->args[i])) continue;
        if (!kg_is_contiguous(x)) layout |= STRIDED;
        if (has_shape(x, first) || shapes == FIRST_IS_NOT_LARGEST) continue;
        shapes = kg_numel(x) > kg_numel(first) ? FIRST_IS_NOT_LARGEST : OTHERS_DIFFER;
    }
    return layout | shapes;
}

bool kg_is_strided(const kg_task *t, const kg_case *c) { return layout_of(t, c) & STRIDED; }

static int level_of_dtype(kg_dtype t) {
    static const kg_dtype those[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I64, KG_I32};
    for (int k = 0; k < (int)(sizeof those / sizeof *those); k++)
        if (those[k] == t) return k;
    return OTHER;
}

static bool is_floating(kg_dtype t) { return kg_dtype_is_float(kg_dtype_part(t)); }

// -1: no input is floating (or not floating, where those are asked for).
static int level_of_dtypes(const kg_task *t, const kg_case *c, bool floating) {
    int level = -1;
    for (int i = 0; i < c->n_args; i++) {
        const kg_dtype d = c->args[i].tensor.dtype;
        if (!kg_is_plain_input(&t->params[i], &c->args[i]) || is_floating(d) != floating) continue;
        level = level < 0 || level == level_of_dtype(d) ? level_of_dtype(d) : MIXED;
    }
    return level;
}

kg_dtype kg_floating_dtype(const kg_task *t, const kg_case *c) {
    const int level = level_of_dtypes(t, c, true);
    for (int i = 0; i < c->n_args && level >= 0; i++) {
        const kg_dtype d = c->args[i].tensor.dtype;
        if (kg_is_plain_input(&t->params[i], &c->args[i]) && level_of_dtype(d) == level) return d;
    }
    return KG_ALL_DTYPES;
}

// ---- options ----------------------------------------------------------------------------------------
bool kg_is_axis(const kg_param *p) {
    return (p->kind == KG_P_INT || p->kind == KG_P_INTS) && strncmp(p->name, "dim", 3) == 0;
}

bool kg_is_option(const kg_param *p) {
    if (p->native_only || p->role == KG_OUT_ARG) return false;
    return p->optional || kg_is_axis(p) || p->kind == KG_P_BOOL || p->kind == KG_P_STR;
}

static int level_of_axis(int64_t axis, int ndim) {
    if (axis < 0) return axis == -1 ? LAST_FROM_END : FROM_END;
    return axis == ndim - 1 ? LAST : axis == 0 ? FIRST : BETWEEN;
}

static int level_of_list(const kg_param *p, const kg_arg *a, int ndim) {
    if (kg_is_axis(p)) return a->n == 1 ? level_of_axis(a->ints[0], ndim) : a->n == 0 ? NO_AXIS : SEVERAL;
    for (int k = 1; k < a->n; k++)
        if (a->kind == KG_P_INTS ? a->ints[k] != a->ints[0] : a->floats[k] != a->floats[0]) return UNEQUAL;
    return a->scalar ? GIVEN : TUPLE;
}

static int level_of_text(const char **text, const char *s) {
    int k = 0;
    while (k < KG_TEXTS - 1 && text[k] && strcmp(text[k], s) != 0) k++;
    if (!text[k]) text[k] = s;
    return KG_LEVELS - KG_TEXTS + k;
}

static int level_of_number(const kg_param *p, double v) {
    if (p->optional && p->has_default && v == p->number) return LEFT_OUT;
    return isinf(v) ? INFINITE : v < 0 ? NEGATIVE : v == 0 ? ZERO : GIVEN;
}

int kg_level_of(kg_level_names *names, const kg_case *c, int param) {
    const kg_param *p = &names->t->params[param];
    const kg_arg *a = &c->args[param];
    const kg_tensor *first = kg_first_tensor(c);
    if (a->absent) return LEFT_OUT;
    if (a->none) return NONE;
    switch (a->kind) {
    case KG_P_TENSOR: return a->scalar ? NUMBER : a->tensor.ndim == 0 ? POINT : GIVEN;
    case KG_P_STR:
    case KG_P_DTYPE: return level_of_text(names->text[param], a->s);
    case KG_P_INTS:
    case KG_P_FLOATS: return level_of_list(p, a, first ? first->ndim : 0);
    default: break;
    }
    if (kg_is_axis(p)) return level_of_axis(a->i, first ? first->ndim : 0);
    return level_of_number(p, a->kind == KG_P_FLOAT ? a->f : (double)a->i);
}

// ---- profiles ---------------------------------------------------------------------------------------
static void add(kg_profile *p, int attribute, int level) {
    if (level >= 0) p->place[p->n++] = (short)(attribute * KG_LEVELS + level);
}

kg_profile kg_profile_of(kg_level_names *names, const kg_case *c) {
    const kg_tensor *first = kg_first_tensor(c);
    kg_profile p = {0};
    for (int i = 0; i < c->n_args; i++)
        if (!names->t->params[i].native_only) add(&p, i, kg_level_of(names, c, i));
    if (!first) return p;
    add(&p, LAYOUT, layout_of(names->t, c));
    add(&p, FLOATS, level_of_dtypes(names->t, c, true));
    add(&p, INTEGERS, level_of_dtypes(names->t, c, false));
    add(&p, DIMENSIONS, first->ndim);
    return p;
}

bool kg_is_chosen(const kg_task *t, int place) {
    const int attribute = place / KG_LEVELS;
    if (attribute < KG_MAX_ARGS) return kg_is_option(&t->params[attribute]);
    return attribute == LAYOUT || attribute == FLOATS;
}

bool kg_is_left_out(int place) { return place / KG_LEVELS < KG_MAX_ARGS && place % KG_LEVELS == LEFT_OUT; }

bool kg_is_coarse(int place) {
    return place == FLOATS * KG_LEVELS + level_of_dtype(KG_F16) ||
           place == FLOATS * KG_LEVELS + level_of_dtype(KG_BF16);
}

bool kg_is_python_only(const kg_task *t, int place) {
    const int attribute = place / KG_LEVELS;
    return attribute < KG_MAX_ARGS && t->params[attribute].role == KG_OUT_ARG && place % KG_LEVELS != LEFT_OUT;
}
