// Evaluating a stated launch for a case.
#include <string.h>

#include "kgate/kernel.h"
#include "runner/loader/launch_tree.h"
#include "task/task.h"

typedef struct {
    const kg_launch_spec *s;
    const kg_run_case *c;
    kg_error *err;
} scope;

static const kg_run_arg *find_arg(const kg_run_case *c, const char *name) {
    for (int i = 0; i < c->n_args; i++)
        if (c->args[i].name && !strcmp(c->args[i].name, name)) return &c->args[i];
    return NULL;
}

static const kg_run_tensor *find_output(const kg_run_case *c, const char *name) {
    if (strncmp(name, "out", 3) != 0) return NULL;
    if (name[3] == 0) return c->n_outs > 0 ? &c->outs[0] : NULL;
    const int i = name[3] - '0';
    return name[4] == 0 && i >= 0 && i < c->n_outs ? &c->outs[i] : NULL;
}

// NULL with *none set when the tensor is None or not given.
static const kg_run_tensor *find_tensor(const scope *k, const char *name, bool *none) {
    const kg_run_arg *a = find_arg(k->c, name);
    *none = false;
    if (a && a->kind == KG_P_TENSOR && a->role != KG_OUT_ARG) {
        *none = a->none || a->absent || a->scalar;
        return *none ? NULL : &a->tensor;
    }
    const kg_run_tensor *t = find_output(k->c, name);
    if (!t) kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: no tensor `%s` in this task", name);
    return t;
}

static int64_t dlpack_code(kg_dtype t) {
    if (t == KG_BF16) return kDLBfloat;
    if (kg_dtype_is_complex(t)) return kDLComplex;
    if (kg_dtype_is_float(t)) return kDLFloat;
    return t == KG_BOOL ? kDLBool : t == KG_U8 ? kDLUInt : kDLInt;
}

static int tensor_value(const scope *k, const node *n, int64_t i, int64_t *v) {
    bool none;
    const kg_run_tensor *t = find_tensor(k, n->name, &none);
    if (none) return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: `%s` is no tensor in this case", n->name);
    if (!t) return -1;
    const kg_tensor *d = &t->desc;
    if (n->op == OP_NUMEL) return *v = kg_numel(d), 0;
    if (n->op == OP_NDIM) return *v = d->ndim, 0;
    if (n->op == OP_CODE) return *v = dlpack_code(d->dtype), 0;
    if (n->op == OP_BITS) return *v = (int64_t)kg_dtype_size(d->dtype) * 8, 0;
    if (i >= d->ndim)
        return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: `%s` has %d dimensions, not one numbered %lld",
                       n->name, d->ndim, (long long)i);
    if (i < -d->ndim) return *v = n->op == OP_SIZE, 0;  // as broadcasting sees it: size 1, stride 0
    if (i < 0) i += d->ndim;
    *v = n->op == OP_SIZE ? d->shape[i] : d->stride[i];
    return 0;
}

static int parameter_value(const scope *k, const char *name, int64_t *v) {
    const kg_run_arg *a = find_arg(k->c, name);
    if (!a || (a->kind != KG_P_INT && a->kind != KG_P_BOOL))
        return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: no integer parameter `%s` in this task", name);
    if (a->none) return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: `%s` is None in this case", name);
    *v = a->i;
    return 0;
}

static int combine(const scope *k, op o, int64_t a, int64_t b, int64_t *v) {
    bool over = false;
    if ((o == OP_DIVIDE || o == OP_REMAINDER || o == OP_CEILDIV) && (b == 0 || (a == INT64_MIN && b == -1)))
        return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: division of %lld by %lld", (long long)a, (long long)b);
    switch (o) {
    case OP_ADD: over = __builtin_add_overflow(a, b, v); break;
    case OP_SUBTRACT: over = __builtin_sub_overflow(a, b, v); break;
    case OP_MULTIPLY: over = __builtin_mul_overflow(a, b, v); break;
    case OP_DIVIDE: *v = a / b; break;
    case OP_REMAINDER: *v = a % b; break;
    case OP_CEILDIV: *v = a / b + (a % b != 0 && (a < 0) == (b < 0)); break;
    case OP_MIN: *v = a < b ? a : b; break;
    default: *v = a > b ? a : b; break;
    }
    return over ? kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: a number beyond 64 bits") : 0;
}

// As deep as the tree, which the parser bounds: by nesting, and by the length of the text for long sums.
static int evaluate(const scope *k, int at, int64_t *v) {
    const node *n = &k->s->nodes[at];
    int64_t a = 0, b = 0;
    if (n->a >= 0 && evaluate(k, n->a, &a) != 0) return -1;
    if (n->b >= 0 && evaluate(k, n->b, &b) != 0) return -1;
    switch (n->op) {
    case OP_NUMBER: *v = n->number; return 0;
    case OP_PARAMETER: return parameter_value(k, n->name, v);
    case OP_NUMEL:
    case OP_NDIM:
    case OP_SIZE:
    case OP_STRIDE:
    case OP_CODE:
    case OP_BITS: return tensor_value(k, n, a, v);
    case OP_NEGATE: return combine(k, OP_SUBTRACT, 0, a, v);
    default: return combine(k, n->op, a, b, v);
    }
}

static int number_of(const scope *k, const char *name, double *v) {
    const kg_run_arg *a = find_arg(k->c, name);
    if (!a ||
        (a->kind == KG_P_TENSOR ? !a->scalar : a->kind != KG_P_FLOAT && a->kind != KG_P_INT && a->kind != KG_P_BOOL))
        return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: no number parameter `%s` in this case", name);
    if (a->none) return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: `%s` is None in this case", name);
    *v = a->kind == KG_P_INT || a->kind == KG_P_BOOL ? (double)a->i : a->f;
    return 0;
}

static int address_of(const scope *k, const char *name, int slot, uint64_t *v) {
    bool none;
    const kg_run_tensor *t = find_tensor(k, name, &none);
    *v = 0;
    if (none) return 0;  // None is a null pointer
    if (!t) return -1;
    *v = (uint64_t)(uintptr_t)t->base + t->offset + (size_t)slot * t->slot_stride;
    return 0;
}

static int item_value(const scope *k, const item *i, int slot, uint64_t *v) {
    int64_t n = 0;
    double d = 0;
    *v = 0;
    if (i->kind == ITEM_TENSOR) return address_of(k, i->name, slot, v);
    if (i->expression >= 0 ? evaluate(k, i->expression, &n) != 0 : number_of(k, i->name, &d) != 0) return -1;
    if (i->kind == ITEM_I32 && n != (int32_t)n)
        return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: %lld does not fit i32", (long long)n);
    const float f = (float)d;
    switch (i->kind) {
    case ITEM_F32: memcpy(v, &f, sizeof f); break;
    case ITEM_F64: memcpy(v, &d, sizeof d); break;
    default: memcpy(v, &n, sizeof n); break;  // little-endian: an i32 is the first half
    }
    return 0;
}

static int bounded(const scope *k, int expression, const char *what, int64_t least, int64_t most, unsigned missing,
                   unsigned *out) {
    int64_t v = missing;
    if (expression >= 0 && evaluate(k, expression, &v) != 0) return -1;
    if (v < least || v > most)
        return kg_fail(k->err, KG_ERR_CANDIDATE, "kgate: launch: %s of %lld: %lld to %lld are possible", what,
                       (long long)v, (long long)least, (long long)most);
    *out = (unsigned)v;
    return 0;
}

// Limits of grids and blocks: CUDA Programming Guide, table of technical specifications per compute capability.
int kg_launch_eval(const kg_launch_spec *s, size_t i, const kg_run_case *c, int slot, kg_launch *out, kg_error *err) {
    const scope k = {s, c, err};
    const launch *l = &s->launches[i];
    *out = (kg_launch){.n_args = l->n_items};
    for (int d = 0; d < 3; d++) {
        if (bounded(&k, l->grid[d], "a grid", 0, d == 0 ? INT32_MAX : 65535, 1, &out->grid[d]) != 0 ||
            bounded(&k, l->block[d], "a block", 1, d == 2 ? 64 : 1024, 1, &out->block[d]) != 0)
            return -1;
        if (out->grid[d] == 0) out->empty = true;
    }
    if (bounded(&k, l->smem, "shared memory", 0, 1 << 20, 0, &out->smem) != 0) return -1;
    for (int a = 0; a < l->n_items; a++)
        if (item_value(&k, &l->items[a], slot, &out->value[a]) != 0) return -1;
    return 0;
}
