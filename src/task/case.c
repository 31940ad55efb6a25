// Cases: adding them, setting their arguments, and everything that follows from the arguments.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/large_cases.h"
#include "task/long_cases.h"
#include "task/option_cases.h"
#include "task/strided_cases.h"

// A task that names a parameter it does not have is a bug of kgate, found by the first run of any test.
static void task_bug(const kg_task *t, const char *param, const char *what) {
    fprintf(stderr, "kgate: task %s, parameter %s: %s (a bug in the task's file)\n", t->name, param, what);
    abort();
}

static int find_param(const kg_task *t, const char *name) {
    for (int i = 0; t->params[i].name; i++)
        if (strcmp(t->params[i].name, name) == 0) return i;
    return -1;
}

bool kg_is_seed(const kg_param *p) { return p->native_only && p->kind == KG_P_INT && strcmp(p->name, "seed") == 0; }

kg_case *kg_case_add(kg_cases *b) {
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 16;
        b->items = kg_realloc(b->items, b->cap * sizeof *b->items);
    }
    kg_case *c = &b->items[b->n++];
    memset(c, 0, sizeof *c);
    c->calls = 1;
    c->timed = b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA;
    for (int i = 0; b->task->params[i].name; i++) {
        const kg_param *p = &b->task->params[i];
        kg_arg *a = &c->args[c->n_args++];
        a->kind = p->kind;
        a->absent = true;  // also until a required one is set
        a->none = p->nullable && !p->has_default;
        a->f = p->number;
        a->i = (int64_t)p->number;
        a->s = p->text;
        if (p->kind == KG_P_INTS && p->has_default) {
            a->n = 1;
            a->scalar = true;
            a->ints[0] = a->i;
        }
    }
    return c;
}

static kg_arg *arg_to_set(kg_case *c, const kg_task *t, const char *param, kg_param_kind kind) {
    const int i = find_param(t, param);
    if (i < 0) {
        task_bug(t, param, "no such parameter");
        return NULL;
    }
    if (t->params[i].kind != kind) task_bug(t, param, "set as another kind than declared");
    kg_arg *a = &c->args[i];
    a->absent = a->none = a->scalar = false;
    return a;
}

void kg_set_strided(kg_case *c, const kg_task *t, const char *param, kg_tensor desc, kg_fill fill) {
    kg_arg *a = arg_to_set(c, t, param, KG_P_TENSOR);
    a->tensor = desc;
    a->fill = fill;
    if (t->params[a - c->args].role == KG_OUT_ARG) a->fill = (kg_fill){.kind = KG_FILL_POISON};
    if (t->params[a - c->args].role == KG_STATE) a->fill = (kg_fill){.kind = KG_FILL_ZERO};
}

void kg_set_tensor(kg_case *c, const kg_task *t, const char *param, kg_dtype d, int ndim, const int64_t *shape,
                   kg_fill fill) {
    kg_set_strided(c, t, param, kg_tensor_contiguous(d, ndim, shape), fill);
}

void kg_set_number(kg_case *c, const kg_task *t, const char *param, double value) {
    kg_arg *a = arg_to_set(c, t, param, KG_P_TENSOR);
    a->scalar = true;
    a->f = value;
    a->tensor = kg_tensor_contiguous(KG_F64, 0, NULL);
    a->fill = (kg_fill){.kind = KG_FILL_CONST, .a = value};
}

void kg_set_int(kg_case *c, const kg_task *t, const char *param, int64_t v) {
    arg_to_set(c, t, param, KG_P_INT)->i = v;
}

void kg_set_float(kg_case *c, const kg_task *t, const char *param, double v) {
    arg_to_set(c, t, param, KG_P_FLOAT)->f = v;
}

void kg_set_bool(kg_case *c, const kg_task *t, const char *param, bool v) { arg_to_set(c, t, param, KG_P_BOOL)->i = v; }

void kg_set_str(kg_case *c, const kg_task *t, const char *param, const char *v) {
    arg_to_set(c, t, param, KG_P_STR)->s = v;
}

void kg_set_dtype(kg_case *c, const kg_task *t, const char *param, kg_dtype v) {
    arg_to_set(c, t, param, KG_P_DTYPE)->s = kg_dtype_name(v);
}

void kg_set_ints(kg_case *c, const kg_task *t, const char *param, int n, const int64_t *v) {
    if (n > KG_MAX_INTS) task_bug(t, param, "too many ints");
    kg_arg *a = arg_to_set(c, t, param, KG_P_INTS);
    a->n = n;
    for (int i = 0; i < n; i++) a->ints[i] = v[i];
}

void kg_set_floats(kg_case *c, const kg_task *t, const char *param, int n, const double *v) {
    if (n > KG_MAX_INTS) task_bug(t, param, "too many floats");
    kg_arg *a = arg_to_set(c, t, param, KG_P_FLOATS);
    a->n = n;
    for (int i = 0; i < n; i++) a->floats[i] = v[i];
}

void kg_set_none(kg_case *c, const kg_task *t, const char *param) {
    const int i = find_param(t, param);
    if (i < 0 || !t->params[i].nullable) task_bug(t, param, "cannot be None");
    kg_arg *a = &c->args[i];
    const kg_param_kind kind = a->kind;
    *a = (kg_arg){.kind = kind, .none = true};
}

const kg_arg *kg_case_arg(const kg_case *c, const kg_task *t, const char *param) {
    const int i = find_param(t, param);
    return i < 0 ? NULL : &c->args[i];
}

void kg_cases_free(kg_cases *b) {
    for (size_t i = 0; i < b->n; i++) free(b->items[i].name);
    free(b->items);
    *b = (kg_cases){0};
}

// ---- sizes ------------------------------------------------------------------------------------------
// Distinct elements: an expanded dimension (stride 0) is stored once.
static size_t stored_bytes(const kg_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->stride[i] == 0 && t->shape[i] > 1 ? 1 : t->shape[i];
    return (size_t)n * kg_dtype_size(t->dtype);
}

bool kg_arg_is_tensor(const kg_arg *a) { return a->kind == KG_P_TENSOR && !a->none && !a->absent && !a->scalar; }

size_t kg_case_input_bytes(const kg_case *c, const kg_task *t) {
    size_t n = 0;
    for (int i = 0; i < c->n_args; i++) {
        const kg_role role = t->params[i].role;
        if (kg_arg_is_tensor(&c->args[i]) && (role == KG_IN || role == KG_INOUT)) n += stored_bytes(&c->args[i].tensor);
    }
    return n;
}

size_t kg_case_output_bytes(const kg_case *c, const kg_task *t) {
    size_t n = 0;
    for (int i = 0; i < c->n_outs; i++) n += stored_bytes(&c->outs[i]);
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && t->params[i].role == KG_INOUT) n += stored_bytes(&c->args[i].tensor);
    return n;
}

kg_dtype kg_case_principal(const kg_case *c, const kg_task *t) {
    if (c->n_outs) return c->outs[0].dtype;
    for (int i = 0; i < c->n_args; i++)
        if (t->params[i].role == KG_INOUT && kg_arg_is_tensor(&c->args[i])) return c->args[i].tensor.dtype;
    return KG_F32;  // nothing is written
}

int64_t kg_case_largest(const kg_case *c) {
    int64_t most = 0;
    for (int i = 0; i < c->n_outs; i++)
        if (kg_numel(&c->outs[i]) > most) most = kg_numel(&c->outs[i]);
    for (int i = 0; i < c->n_args; i++)
        if (kg_arg_is_tensor(&c->args[i]) && kg_numel(&c->args[i].tensor) > most) most = kg_numel(&c->args[i].tensor);
    return most;
}

// ---- names ------------------------------------------------------------------------------------------
static const char *fill_word(const kg_fill *f) {
    switch (f->kind) {
    case KG_FILL_ZERO: return "zero";
    case KG_FILL_CONST: return isnan(f->a) ? "nan" : isinf(f->a) ? f->a > 0 ? "inf" : "-inf" : "const";
    case KG_FILL_OUTLIERS: return "outliers";
    case KG_FILL_SPECIALS: return "specials";
    case KG_FILL_LOGSCALE: return "logscale";
    case KG_FILL_TIES: return "ties";
    case KG_FILL_SHUFFLE: return "distinct";
    case KG_FILL_RAISED: return "raised";
    case KG_FILL_CYCLIC: return "cyclic";
    case KG_FILL_SYMMETRIC: return "symmetric";
    case KG_FILL_HERMITIAN: return "hermitian";
    case KG_FILL_LOWER: return "lower";
    case KG_FILL_UPPER: return "upper";
    case KG_FILL_EXCHANGED: return isnan(f->b) ? "last nan" : "exchanged";
    case KG_FILL_RANK_ONE: return "rank-one";
    default: return NULL;
    }
}

static void add_tensor_name(kg_text *out, const kg_arg *a) {
    if (a->scalar) {
        kg_text_add(out, "%g", a->f);
        return;
    }
    kg_tensor_describe(&a->tensor, out);
    const char *word = fill_word(&a->fill);
    if (word) kg_text_add(out, " %s", word);
    if (a->fill.kind == KG_FILL_CHOICE) kg_text_add(out, " %g true", a->fill.b);
    if (a->fill.kind == KG_FILL_NORMAL && (a->fill.a >= 100 || a->fill.a <= -100))
        kg_text_add(out, " mean %g", a->fill.a);
}

static void add_value_name(kg_text *out, const kg_arg *a) {
    switch (a->kind) {
    case KG_P_TENSOR: add_tensor_name(out, a); return;
    case KG_P_INT: kg_text_add(out, "%lld", (long long)a->i); return;
    case KG_P_FLOAT: kg_text_add(out, "%g", a->f); return;
    case KG_P_BOOL: kg_text_add(out, a->i ? "True" : "False"); return;
    case KG_P_STR:
    case KG_P_DTYPE: kg_text_add(out, "%s", a->s); return;
    default: break;
    }
    if (a->s) {  // ints given as a text
        kg_text_add(out, "%s", a->s);
        return;
    }
    if (!a->scalar) kg_text_add(out, "(");
    for (int i = 0; i < a->n; i++) {
        if (i) kg_text_add(out, ",");
        if (a->kind == KG_P_INTS) kg_text_add(out, "%lld", (long long)a->ints[i]);
        else kg_text_add(out, "%g", a->floats[i]);
    }
    if (!a->scalar) kg_text_add(out, a->n == 1 ? ",)" : ")");
}

static char *case_name(const kg_task *t, const kg_case *c) {
    kg_text out = {0};
    bool named_tensor = false;
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        const kg_param *p = &t->params[i];
        if (a->absent || p->role == KG_STATE) continue;
        kg_text_add(&out, out.len ? " " : "");
        if (p->role == KG_OUT_ARG) {
            kg_text_add(&out, "out=given");
            continue;
        }
        if (p->kind != KG_P_TENSOR || named_tensor) kg_text_add(&out, "%s=", p->name);
        named_tensor |= p->kind == KG_P_TENSOR;
        if (a->none) kg_text_add(&out, "None");
        else add_value_name(&out, a);
    }
    if (c->calls > 1) kg_text_add(&out, " calls=%d", c->calls);
    return out.data ? out.data : kg_strdup("no arguments");
}

static void make_unique(kg_cases *b, size_t at) {
    int copy = 1;
    char *base = b->items[at].name;
    char *name = kg_strdup(base);
    for (size_t i = 0; i < at;) {
        if (strcmp(b->items[i].name, name) != 0) {
            i++;
            continue;
        }
        free(name);
        name = kg_format("%s (%d)", base, ++copy);
        i = 0;
    }
    free(base);
    b->items[at].name = name;
}

static int complete(const kg_task *t, kg_case *c, kg_error *err) {
    for (int i = 0; i < c->n_args; i++)
        if (c->args[i].absent && !t->params[i].optional && t->params[i].role != KG_OUT_ARG &&
            t->params[i].role != KG_STATE)
            return kg_fail(err, KG_ERR_INTERNAL, "task %s: a case lacks parameter %s: fix the task's cases", t->name,
                           t->params[i].name);
    if (t->infer(t, c))
        return kg_fail(err, KG_ERR_INTERNAL, "task %s: infer() refuses the case \"%s\": fix the task's cases", t->name,
                       c->name);
    return 0;
}

static kg_dtype widened(kg_dtype t) { return kg_dtype_is_complex(t) ? KG_C128 : kg_dtype_is_float(t) ? KG_F64 : t; }

// Every floating input and dtype argument as float64; names given by the task are of other dtypes. out= is of the
// result's dtype.
static int widen(const kg_task *t, kg_case *c) {
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *a = &c->args[i];
        if (a->kind == KG_P_TENSOR && t->params[i].role != KG_OUT_ARG) a->tensor.dtype = widened(a->tensor.dtype);
        if (a->kind == KG_P_DTYPE && a->s) a->s = kg_dtype_name(widened((kg_dtype)kg_dtype_parse(a->s)));
    }
    if (t->infer(t, c)) return -1;
    for (int i = 0; i < c->n_args; i++)
        if (t->params[i].role == KG_OUT_ARG && kg_dtype_is_float(kg_dtype_part(c->args[i].tensor.dtype)))
            c->args[i].tensor.dtype = c->outs[0].dtype;
    free(c->name);
    c->name = NULL;
    return 0;
}

// Cases that the task does not have in float64 are left out.
static void widen_all(kg_cases *b) {
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        kg_case c = b->items[i];
        if (widen(b->task, &c) == 0) b->items[kept++] = c;
        else free(c.name);
    }
    b->n = kept;
}

int kg_task_cases(const kg_task *t, kg_case_level level, kg_cases *out, kg_error *err) {
    const bool wide = level == KG_CASES_FLOAT64;
    *out = (kg_cases){.task = t, .level = wide ? KG_CASES_FULL : level};
    const bool checked = level != KG_TIMED_CPU && level != KG_TIMED_CUDA;
    if (t->cases(out) ||
        (checked && (kg_add_strided_cases(out) || kg_add_long_cases(out) || kg_add_option_cases(out))) ||
        (!wide && kg_add_large_cases(out))) {
        kg_cases_free(out);
        return kg_fail(err, KG_ERR_INTERNAL, "task %s: cannot make its cases", t->name);
    }
    if (wide) widen_all(out);
    for (size_t i = 0; i < out->n; i++) {
        kg_case *c = &out->items[i];
        if (!c->name) c->name = case_name(t, c);
        make_unique(out, i);
        if (complete(t, c, err)) {
            kg_cases_free(out);
            return -1;
        }
    }
    return 0;
}
