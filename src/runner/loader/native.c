// Arguments of a destination-passing entry, built once for every slot: a call is then one ffi_call.
#include <dlfcn.h>
#include <ffi.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "kgate/kernel.h"
#include "runner/runner.h"
#include "task/task.h"

// ---- the function -----------------------------------------------------------------------------------
// dlsym also searches what the object was linked with: `abs` would be the C library's.
static void *find_own(void *library, const char *name) {
    struct link_map *own = NULL, *owner = NULL;
    Dl_info where;
    void *f = dlsym(library, name);
    if (!f || dlinfo(library, RTLD_DI_LINKMAP, &own) != 0) return NULL;
    return dladdr1(f, &where, (void **)&owner, RTLD_DL_LINKMAP) && owner == own ? f : NULL;
}

// A task named as a function of the C library has NAME_kernel for its entry (kg_task_c_entry).
void *kg_native_find(void *library, const kg_load_request *r, const char *how, char **name, kg_error *err) {
    char *other = kg_format("%s_kernel", r->task ? r->task : "");
    const char *const any[] = {r->task, other, r->function, "kernel_function"};
    const char *const *names = r->entry ? &r->entry : any;
    void *f = NULL;
    for (size_t i = 0; i < (r->entry ? 1 : sizeof any / sizeof *any) && !f; i++) {
        f = names[i] ? find_own(library, names[i]) : NULL;
        if (f) *name = kg_strdup(names[i]);
    }
    free(other);
    if (!f)
        kg_fail(err, KG_ERR_CANDIDATE,
                "no function `%s` in it: define it%s, or name another with a comment `kgate: entry=NAME`",
                r->entry  ? r->entry
                : r->task ? r->task
                          : "kernel_function",
                how);
    return f;
}

// ---- its arguments ------------------------------------------------------------------------------------
#define MOST (KG_RUN_MAX_ARGS + KG_RUN_MAX_OUTS + 1)

// What one argument's pointer points at, on one slot.
typedef struct {
    DLTensor tensor;
    double number;  // a Python number in a tensor's place, or a float
    int64_t integer;
    uint8_t boolean;
    kg_ints ints;
    kg_floats floats;
    void *pointer;  // the argument itself where it is a pointer
} cell;

typedef struct {
    cell cells[MOST];
    void *values[MOST];  // for ffi_call
    int64_t call;        // calls on this slot since it was prepared
} slot_args;

struct kg_native {
    kg_run_case c;  // shapes, strides and lists live here
    ffi_cif cif;
    ffi_type *types[MOST];
    int n;
    int call_number;  // index of the argument that counts calls; -1: none
    int seed;         // index of the argument that a random kernel gets; -1: none
    int64_t first_seed;
    uint64_t calls;  // on all slots
    slot_args *slots;
    int device_type, ordinal;
    void *stream;
};

static DLDataType dl_dtype(kg_dtype t) {
    static const uint8_t codes[KG_ALL_DTYPES] = {kDLFloat, kDLFloat, kDLFloat, kDLBfloat, kDLInt,     kDLInt,    kDLInt,
                                                 kDLInt,   kDLUInt,  kDLBool,  0,         kDLComplex, kDLComplex};
    return (DLDataType){codes[t], (uint8_t)(kg_dtype_size(t) * 8), 1};
}

static void fill_tensor(const kg_native *n, kg_run_tensor *t, int slot, DLTensor *out) {
    *out = (DLTensor){.device = {(DLDeviceType)n->device_type, n->ordinal},
                      .ndim = t->desc.ndim,
                      .dtype = dl_dtype(t->desc.dtype),
                      .shape = t->desc.shape,
                      .strides = t->desc.stride};
    if (t->base) out->data = (char *)t->base + t->offset + (size_t)slot * t->slot_stride;
}

static void fill_scalar(kg_run_arg *a, cell *c) {
    c->number = a->f;
    c->tensor = (DLTensor){.data = &c->number,
                           .device = {kDLCPU, 0},
                           .dtype = dl_dtype(KG_F64),
                           .shape = a->tensor.desc.shape,
                           .strides = a->tensor.desc.stride};
}

static void *tensor_arg(kg_native *n, kg_run_arg *a, int slot, cell *c) {
    if (a->none || a->absent) return NULL;
    if (a->scalar) fill_scalar(a, c);
    else fill_tensor(n, &a->tensor, slot, &c->tensor);
    return &c->tensor;
}

// A nullable number is passed by address. The address of what ffi should pass.
static void *maybe_pointer(const kg_run_arg *a, cell *c, void *value) {
    if (!a->nullable) return value;
    c->pointer = a->none ? NULL : value;
    return &c->pointer;
}

static void *fill_arg(kg_native *n, kg_run_arg *a, int slot, cell *c) {
    c->integer = a->i;
    c->boolean = a->i != 0;
    switch ((kg_param_kind)a->kind) {
    case KG_P_INT: return maybe_pointer(a, c, &c->integer);
    case KG_P_FLOAT: c->number = a->f; return maybe_pointer(a, c, &c->number);
    case KG_P_BOOL: return &c->boolean;
    case KG_P_TENSOR: c->pointer = tensor_arg(n, a, slot, c); break;
    case KG_P_STR:
    case KG_P_DTYPE: c->pointer = a->none ? NULL : a->s; break;
    case KG_P_INTS:
        c->ints = (kg_ints){a->n, a->ints};
        c->pointer = a->none ? NULL : &c->ints;
        break;
    case KG_P_FLOATS:
        c->floats = (kg_floats){a->n, a->floats};
        c->pointer = a->none ? NULL : &c->floats;
        break;
    }
    return &c->pointer;
}

static ffi_type *type_of(const kg_run_arg *a) {
    if (a->kind == KG_P_BOOL) return &ffi_type_uint8;
    if (a->kind == KG_P_INT && !a->nullable) return &ffi_type_sint64;
    if (a->kind == KG_P_FLOAT && !a->nullable) return &ffi_type_double;
    return &ffi_type_pointer;
}

static void fill_slot(kg_native *n, int slot, bool with_stream) {
    slot_args *s = &n->slots[slot];
    int at = 0;
    for (int i = 0; i < n->c.n_args; i++)
        if (n->c.args[i].role != KG_OUT_ARG) {
            s->values[at] = fill_arg(n, &n->c.args[i], slot, &s->cells[at]);
            at++;
        }
    for (int i = 0; i < n->c.n_outs; i++, at++) {
        fill_tensor(n, &n->c.outs[i], slot, &s->cells[at].tensor);
        s->cells[at].pointer = &s->cells[at].tensor;
        s->values[at] = &s->cells[at].pointer;
    }
    if (with_stream) s->values[at] = &n->stream;
}

static void set_types(kg_native *n, bool with_stream) {
    n->call_number = n->seed = -1;
    for (int i = 0; i < n->c.n_args; i++) {
        const kg_run_arg *a = &n->c.args[i];
        if (a->role == KG_OUT_ARG) continue;
        if (a->kind == KG_P_INT && !strcmp(a->name, "call_number")) n->call_number = n->n;
        if (a->kind == KG_P_INT && a->native_only && !strcmp(a->name, "seed")) {
            n->seed = n->n;
            n->first_seed = a->i;
        }
        n->types[n->n++] = type_of(a);
    }
    for (int i = 0; i < n->c.n_outs; i++) n->types[n->n++] = &ffi_type_pointer;
    if (with_stream) n->types[n->n++] = &ffi_type_pointer;
}

// Nothing is known of dimensions past the last: a kernel that reads them, a loop that takes one too many, must not find
// zeros there, by which it would come out right.
static void spoil_behind(kg_tensor *t) {
    for (int d = t->ndim; d < KG_MAX_NDIM; d++) t->shape[d] = t->stride[d] = 0x5a5a5a5a5a5a5a5a;
}

// The case outlives its packet: its texts are copied.
static void copy_case(const kg_run_case *from, kg_run_case *to) {
    *to = *from;
    to->json = NULL;
    for (int i = 0; i < from->n_args; i++) {
        to->args[i].name = kg_strdup(from->args[i].name);
        to->args[i].s = from->args[i].s ? kg_strdup(from->args[i].s) : NULL;
        spoil_behind(&to->args[i].tensor.desc);
    }
    for (int i = 0; i < to->n_outs; i++) spoil_behind(&to->outs[i].desc);
}

int kg_native_prepare(const kg_run_case *c, int device_type, int ordinal, bool with_stream, void *stream,
                      kg_native **out, kg_error *err) {
    kg_native *n = kg_alloc(sizeof *n);
    n->device_type = device_type;
    n->ordinal = ordinal;
    n->stream = stream;
    copy_case(c, &n->c);
    set_types(n, with_stream);
    n->slots = kg_alloc(sizeof *n->slots * (size_t)c->slots);
    if (ffi_prep_cif(&n->cif, FFI_DEFAULT_ABI, (unsigned)n->n, &ffi_type_sint, n->types) != FFI_OK) {
        kg_native_free(n);
        return kg_fail(err, KG_ERR_INTERNAL, "libffi refused a call with %d arguments", c->n_args + c->n_outs);
    }
    for (int s = 0; s < c->slots; s++) fill_slot(n, s, with_stream);
    *out = n;
    return 0;
}

static int64_t next_seed(kg_native *n) {
    const kg_philox r = kg_philox4x32((uint64_t)n->first_seed, n->calls++, 0);
    return (int64_t)(((uint64_t)r.v[0] << 32 | r.v[1]) >> 1);
}

int kg_native_call(kg_native *n, int slot, void (*entry)(void), kg_error *err) {
    slot_args *s = &n->slots[slot];
    s->call++;
    if (n->call_number >= 0) s->cells[n->call_number].integer = s->call;
    if (n->seed >= 0) s->cells[n->seed].integer = next_seed(n);
    ffi_arg result = 0;
    ffi_call(&n->cif, entry, &result, s->values);
    if ((int)result == 0) return 0;
    return kg_fail(err, KG_ERR_CANDIDATE, "the kernel returned %d: return 0 when all went well", (int)result);
}

void kg_native_free(kg_native *n) {
    if (!n) return;
    kg_run_case_free(&n->c);
    free(n->slots);
    free(n);
}
