// The "case" object of the protocol to a kg_run_case. The judge's own words, yet every count and size is checked:
// a runner that misreads one must say so and not crash.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner/runner.h"
#include "task/task.h"

static int bad(kg_error *err, const char *what) { return kg_fail(err, KG_ERR_INTERNAL, "case packet: %s", what); }

static int index_in(const char *s, const char *const *names, int n) {
    for (int i = 0; s && i < n; i++)
        if (!strcmp(s, names[i])) return i;
    return -1;
}

static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }
static bool flag(const json_t *o, const char *key) { return json_is_true(json_object_get(o, key)); }

static int size_of(const json_t *o, const char *key, size_t *out) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0) return -1;
    *out = (size_t)json_integer_value(v);
    return 0;
}

static int number(const json_t *v, double *out) {
    if (json_is_number(v)) return *out = json_number_value(v), 0;
    const char *s = json_string_value(v);
    if (s && !strcmp(s, "nan")) return *out = NAN, 0;
    if (s && !strcmp(s, "inf")) return *out = INFINITY, 0;
    if (s && !strcmp(s, "-inf")) return *out = -INFINITY, 0;
    return -1;
}

static int list(const json_t *v, int64_t *ints, double *floats, int most) {
    if (!json_is_array(v) || json_array_size(v) > (size_t)most) return -1;
    int n = (int)json_array_size(v);
    for (int i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, (size_t)i);
        if (ints && !json_is_integer(e)) return -1;
        if (ints) ints[i] = json_integer_value(e);
        else if (number(e, &floats[i])) return -1;
    }
    return n;
}

// Shapes and strides are not negative, and the whole span of every slot lies inside the arena.
static int check_place(const kg_run_tensor *t, int slots, size_t arena, kg_error *err) {
    unsigned __int128 span = 1;
    for (int d = 0; d < t->desc.ndim; d++) {
        if (t->desc.shape[d] < 0 || t->desc.stride[d] < 0) return bad(err, "a negative shape or stride");
        if (t->desc.shape[d] == 0) return 0;
        span += (unsigned __int128)(t->desc.shape[d] - 1) * (uint64_t)t->desc.stride[d];
        if (span > SIZE_MAX / 16) return bad(err, "a tensor larger than memory");
    }
    unsigned __int128 end =
        (unsigned __int128)t->slot_stride * (unsigned)(slots - 1) + t->offset + span * kg_dtype_size(t->desc.dtype);
    if (end > arena) return bad(err, "a tensor outside its arena");
    return 0;
}

static int parse_desc(const json_t *o, kg_tensor *t, kg_error *err) {
    const char *dtype = text_of(o, "dtype");
    int d = dtype ? kg_dtype_parse(dtype) : -1;
    t->ndim = list(json_object_get(o, "shape"), t->shape, NULL, KG_MAX_NDIM);
    int strides = list(json_object_get(o, "strides"), t->stride, NULL, KG_MAX_NDIM);
    if (d < 0 || t->ndim < 0 || strides != t->ndim) return bad(err, "a tensor without dtype, shape or strides");
    t->dtype = (kg_dtype)d;
    return 0;
}

static int parse_tensor(const json_t *o, const kg_arenas *a, int slots, kg_run_tensor *t, kg_error *err) {
    static const char *const arenas[] = {"in", "out"};
    if (parse_desc(o, &t->desc, err)) return -1;
    int arena = index_in(text_of(o, "arena"), arenas, 2);
    if (arena < 0 || size_of(o, "offset", &t->offset) || size_of(o, "slot_stride", &t->slot_stride))
        return bad(err, "a tensor without a place");
    t->writable = arena == 1;
    t->base = arena ? a->out : a->in;
    return check_place(t, slots, arena ? a->out_bytes : a->in_bytes, err);
}

static int parse_value(const json_t *v, kg_run_arg *a, kg_error *err) {
    const char *s = json_string_value(v);
    switch ((kg_param_kind)a->kind) {
    case KG_P_TENSOR: return number(v, &a->f) ? bad(err, "a number that is none") : 0;
    case KG_P_INT:
        if (!json_is_integer(v)) return bad(err, "an int that is none");
        a->i = json_integer_value(v);
        return 0;
    case KG_P_BOOL:
        if (!json_is_boolean(v)) return bad(err, "a bool that is none");
        a->i = json_is_true(v);
        return 0;
    case KG_P_FLOAT: return number(v, &a->f) ? bad(err, "a float that is none") : 0;
    case KG_P_STR:
    case KG_P_DTYPE:
        if (!s) return bad(err, "a text that is none");
        a->s = kg_strdup(s);
        return 0;
    case KG_P_INTS: a->n = list(v, a->ints, NULL, KG_MAX_INTS); break;
    case KG_P_FLOATS: a->n = list(v, NULL, a->floats, KG_MAX_INTS); break;
    }
    return a->n < 0 ? bad(err, "a list that is none or too long") : 0;
}

static int parse_arg(const json_t *o, const kg_arenas *arenas, int slots, kg_run_arg *a, kg_error *err) {
    static const char *const kinds[] = {"tensor", "int", "float", "bool", "str", "dtype", "ints", "floats"};
    static const char *const roles[] = {"in", "inout", "state", "out_arg"};
    const char *name = text_of(o, "name");
    a->kind = index_in(text_of(o, "kind"), kinds, 8);
    a->role = index_in(text_of(o, "role"), roles, 4);
    if (!name || a->kind < 0 || a->role < 0) return bad(err, "an argument without name, kind or role");
    a->name = kg_strdup(name);
    a->optional = flag(o, "optional");
    a->nullable = flag(o, "nullable");
    a->keyword = flag(o, "keyword");
    a->native_only = flag(o, "native_only");
    a->listed = flag(o, "listed");
    a->none = flag(o, "none");
    a->absent = flag(o, "absent");
    a->scalar = flag(o, "scalar");
    const json_t *value = json_object_get(o, "value");
    if (a->kind == KG_P_INTS && text_of(o, "text")) a->s = kg_strdup(text_of(o, "text"));
    if (a->kind != KG_P_TENSOR) return a->none ? 0 : parse_value(value, a, err);
    if (a->none || a->absent) return 0;
    if (a->scalar) return parse_value(value, a, err);
    return parse_tensor(json_object_get(o, "tensor"), arenas, slots, &a->tensor, err);
}

static int parse_outs(const json_t *outs, const kg_arenas *arenas, kg_run_case *c, kg_error *err) {
    for (int i = 0; i < c->n_outs; i++) {
        const json_t *o = json_array_get(outs, (size_t)i);
        if (i > 0 || !c->alias_first_out) {
            if (parse_tensor(o, arenas, c->slots, &c->outs[i], err)) return -1;
            if (!c->outs[i].writable) return bad(err, "an output among the inputs");
            continue;
        }
        if (c->n_args < 1 || c->args[0].kind != KG_P_TENSOR || !c->args[0].tensor.writable)
            return bad(err, "an output in place of an argument that is not writable");
        c->outs[0] = c->args[0].tensor;
        if (parse_desc(o, &c->outs[0].desc, err) || check_place(&c->outs[0], c->slots, arenas->out_bytes, err))
            return -1;
    }
    return 0;
}

static int parse_counts(const json_t *o, const json_t *args, const json_t *outs, kg_run_case *c, kg_error *err) {
    size_t slots, calls;
    if (size_of(o, "slots", &slots) || slots < 1 || slots > KG_RUN_MAX_SLOTS)
        return bad(err, "a number of slots outside 1..256");
    if (size_of(o, "calls", &calls) || calls < 1 || calls > 1000000) return bad(err, "a number of calls out of range");
    if (!json_is_array(args) || json_array_size(args) > KG_RUN_MAX_ARGS) return bad(err, "too many arguments");
    if (!json_is_array(outs) || json_array_size(outs) > KG_RUN_MAX_OUTS) return bad(err, "too many outputs");
    c->slots = (int)slots;
    c->calls = (int)calls;
    c->n_args = (int)json_array_size(args);
    c->n_outs = (int)json_array_size(outs);
    c->alias_first_out = flag(o, "alias_first_out");
    return 0;
}

static int parse_all(const json_t *o, const kg_arenas *arenas, kg_run_case *c, kg_error *err) {
    const json_t *args = json_object_get(o, "args"), *outs = json_object_get(o, "outs");
    if (!json_is_object(o)) return bad(err, "no case");
    if (parse_counts(o, args, outs, c, err)) return -1;
    for (int i = 0; i < c->n_args; i++)
        if (parse_arg(json_array_get(args, (size_t)i), arenas, c->slots, &c->args[i], err)) return -1;
    if (parse_outs(outs, arenas, c, err)) return -1;
    c->json = json_dumps(o, JSON_COMPACT);
    return c->json ? 0 : bad(err, "not writable as JSON");
}

int kg_parse_case(const json_t *o, const kg_arenas *arenas, kg_run_case *out, kg_error *err) {
    *out = (kg_run_case){0};
    int r = parse_all(o, arenas, out, err);
    if (r) kg_run_case_free(out);
    return r;
}

void kg_run_case_free(kg_run_case *c) {
    for (int i = 0; i < KG_RUN_MAX_ARGS; i++) {
        free(c->args[i].name);
        free(c->args[i].s);
    }
    free(c->json);
    *c = (kg_run_case){0};
}
