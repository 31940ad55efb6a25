// The "case" object of the protocol, as src/runner/protocol.h describes it.
#include <math.h>

#include "judge/layout.h"

static json_t *number(double v) {
    if (isnan(v)) return json_string("nan");
    if (isinf(v)) return json_string(v > 0 ? "inf" : "-inf");
    return json_real(v);
}

static json_t *int_list(int n, const int64_t *v) {
    json_t *a = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(a, json_integer(v[i]));
    return a;
}

static json_t *float_list(int n, const double *v) {
    json_t *a = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(a, number(v[i]));
    return a;
}

// p may be absent: outs[0] that lies where args[0] lies.
static json_t *tensor(const kg_tensor *t, const kg_place *p) {
    json_t *o = json_pack("{s:s, s:o, s:o}", "dtype", kg_dtype_name(t->dtype), "shape", int_list(t->ndim, t->shape),
                          "strides", int_list(t->ndim, t->stride));
    if (!p->present) return o;
    json_object_set_new(o, "arena", json_string(p->writable ? "out" : "in"));
    json_object_set_new(o, "offset", json_integer((json_int_t)p->offset));
    json_object_set_new(o, "slot_stride", json_integer((json_int_t)p->stride));
    return o;
}

static json_t *value(const kg_arg *a) {
    switch (a->kind) {
    case KG_P_TENSOR:
    case KG_P_FLOAT: return number(a->f);
    case KG_P_INT: return json_integer(a->i);
    case KG_P_BOOL: return json_boolean(a->i != 0);
    case KG_P_STR:
    case KG_P_DTYPE: return a->s ? json_string(a->s) : NULL;
    case KG_P_INTS: return int_list(a->n, a->ints);
    case KG_P_FLOATS: return float_list(a->n, a->floats);
    }
    return NULL;
}

static void set_flag(json_t *o, const char *name, bool on) {
    if (on) json_object_set_new(o, name, json_true());
}

static json_t *argument(const kg_param *p, const kg_arg *a, const kg_place *place) {
    static const char *const kinds[] = {"tensor", "int", "float", "bool", "str", "dtype", "ints", "floats"};
    static const char *const roles[] = {"in", "inout", "state", "out_arg"};
    json_t *o = json_pack("{s:s, s:s, s:s}", "name", p->name, "kind", kinds[p->kind], "role", roles[p->role]);
    // A text that the case leaves without a value is None, whatever its flags say.
    bool text = p->kind == KG_P_STR || p->kind == KG_P_DTYPE;
    bool none = a->none || (text && !a->s);
    set_flag(o, "optional", p->optional);
    set_flag(o, "nullable", p->nullable);
    set_flag(o, "keyword", p->keyword);
    set_flag(o, "native_only", p->native_only);
    set_flag(o, "listed", p->listed);
    set_flag(o, "none", none);
    set_flag(o, "absent", a->absent);
    set_flag(o, "scalar", a->scalar);
    if (p->kind == KG_P_INTS && a->s) json_object_set_new(o, "text", json_string(a->s));
    if (place->present) json_object_set_new(o, "tensor", tensor(&a->tensor, place));
    else if (!none && (p->kind != KG_P_TENSOR || a->scalar)) json_object_set_new(o, "value", value(a));
    return o;
}

json_t *kg_case_to_json(const kg_task *t, const kg_case *c, const kg_layout *l) {
    json_t *args = json_array(), *outs = json_array();
    for (int i = 0; i < c->n_args; i++) json_array_append_new(args, argument(&t->params[i], &c->args[i], &l->args[i]));
    for (int i = 0; i < c->n_outs; i++) json_array_append_new(outs, tensor(&c->outs[i], &l->outs[i]));
    return json_pack("{s:i, s:i, s:b, s:o, s:o}", "calls", c->calls < 1 ? 1 : c->calls, "slots", l->slots,
                     "alias_first_out", (int)c->alias_first_out, "args", args, "outs", outs);
}
