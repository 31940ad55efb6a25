#include "in_process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/philox.h"
#include "kgate/kernel.h"
#include "task/prototype.h"

// ---- building ---------------------------------------------------------------------------------------
// int kg_adapter(void **a): casts each pointer to the parameter it points at.
static void add_adapter(kg_text *out, const kg_task *t) {
    char *entry = kg_task_c_entry(t);
    int n = 0;
    kg_text_add(out, "\nint kg_adapter(void **a) {\n    return %s(", entry);
    for (const kg_param *p = t->params; p->name; p++) {
        if (!kg_c_gets(p)) continue;
        const char *by_value = p->kind == KG_P_BOOL                    ? "bool"
                               : p->kind == KG_P_INT && !p->nullable   ? "int64_t"
                               : p->kind == KG_P_FLOAT && !p->nullable ? "double"
                                                                       : NULL;
        kg_text_add(out, n ? ", " : "");
        if (by_value) kg_text_add(out, "*(%s *)a[%d]", by_value, n++);
        else kg_text_add(out, "a[%d]", n++);
    }
    for (const char *const *o = t->outputs; *o; o++, n++) kg_text_add(out, "%sa[%d]", n ? ", " : "", n);
    kg_text_add(out, ");\n}\n");
    free(entry);
}

kg_adapter kg_in_process_build(const kg_task *t, const char *source, const char *folder, const char *flags, bool quiet,
                               void **handle) {
    kg_text text = {0};
    kg_text_add(&text, "%s", source);
    add_adapter(&text, t);
    char *path = kg_format("%s/%s_%s.c", folder, t->suite, t->name),
         *so = kg_format("%s/%s_%s.so", folder, t->suite, t->name);
    FILE *f = fopen(path, "w");
    fputs(text.data, f);
    fclose(f);
    const int root = (int)(strstr(__FILE__, "/tests/support/") - __FILE__);
    char *command = kg_format("cc -std=gnu17 -O2 %s -shared -fPIC -I%.*s/include %s -o %s -lm%s", flags, root, __FILE__,
                              path, so, quiet ? " 2>/dev/null" : "");
    *handle = system(command) == 0 ? dlopen(so, RTLD_NOW | RTLD_LOCAL) : NULL;
    const kg_adapter a = *handle ? (kg_adapter)dlsym(*handle, "kg_adapter") : NULL;
    unlink(path);
    unlink(so);
    free(command);
    free(path);
    free(so);
    kg_text_free(&text);
    return a;
}

// ---- a case's memory --------------------------------------------------------------------------------
bool kg_has_memory(const kg_arg *a) { return a->kind == KG_P_TENSOR && !a->none && !a->absent && !a->scalar; }
// Numbers: two for a complex element.
static int64_t stored(const kg_tensor *t) {
    return (int64_t)(kg_span_bytes(t) / kg_dtype_size(kg_dtype_part(t->dtype)));
}

void kg_memory_make(const kg_task *t, const kg_case *c, kg_memory *m) {
    (void)t;
    *m = (kg_memory){0};
    for (int i = 0; i < c->n_args; i++)
        if (kg_has_memory(&c->args[i])) m->args[i] = kg_alloc(kg_span_bytes(&c->args[i].tensor) + 8);
    for (int i = 0; i < c->n_outs; i++)
        m->outs[i] = i == 0 && c->alias_first_out ? m->args[0] : kg_alloc(kg_span_bytes(&c->outs[i]) + 8);
}

void kg_memory_free(const kg_case *c, kg_memory *m) {
    for (int i = 0; i < KG_MAX_ARGS; i++) free(m->args[i]);
    for (int i = c->alias_first_out; i < c->n_outs; i++) free(m->outs[i]);
}

static DLTensor as_dl(const kg_tensor *t, void *data) {
    static const DLDataType types[] = {{kDLFloat, 64, 1},   {kDLFloat, 32, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
                                       {kDLInt, 64, 1},     {kDLInt, 32, 1},   {kDLInt, 16, 1},   {kDLInt, 8, 1},
                                       {kDLUInt, 8, 1},     {kDLBool, 8, 1},   {0, 0, 0},         {kDLComplex, 64, 1},
                                       {kDLComplex, 128, 1}};
    DLTensor d = {.data = data, .device = {kDLCPU, 0}, .ndim = t->ndim, .dtype = types[t->dtype]};
    d.shape = (int64_t *)t->shape;
    d.strides = (int64_t *)t->stride;
    return d;
}

// Values of call number `turn`.
void kg_memory_fill(const kg_task *t, const kg_case *c, kg_memory *m, int turn) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        const kg_role role = t->params[i].role;
        if (!kg_has_memory(a) || (role == KG_STATE && turn > 0)) continue;
        const uint64_t seed = 1000u * (uint64_t)(turn + 1) + (uint64_t)i;
        kg_fill_range(&a->fill, kg_dtype_part(a->tensor.dtype), seed, 0, stored(&a->tensor), m->args[i]);
    }
    const kg_fill poison = {.kind = KG_FILL_POISON};
    for (int i = c->alias_first_out; i < c->n_outs; i++)
        kg_fill_range(&poison, kg_dtype_part(c->outs[i].dtype), 0, 0, stored(&c->outs[i]), m->outs[i]);
}

static int64_t next_seed(void) {
    static uint64_t calls;
    const kg_philox r = kg_philox4x32(7, calls++, 0);
    return (int64_t)(((uint64_t)r.v[0] << 32 | r.v[1]) >> 1);
}

int kg_in_process_call(const kg_task *t, kg_case *c, kg_memory *m, kg_adapter fn, int turn) {
    void *a[KG_MAX_ARGS + KG_MAX_OUTS];
    DLTensor tensors[KG_MAX_ARGS + KG_MAX_OUTS];
    kg_ints ints[KG_MAX_ARGS];
    kg_floats floats[KG_MAX_ARGS];
    int n = 0;
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *g = &c->args[i];
        if (!kg_c_gets(&t->params[i])) continue;
        // Optimizers: 1 on the first call on a state, then 2, ...
        if (strcmp(t->params[i].name, "call_number") == 0) g->i = turn + 1;
        if (kg_is_seed(&t->params[i])) g->i = next_seed();
        void **to = &a[n++];
        // A bool has no None in C: false.
        if (g->kind != KG_P_BOOL && (g->none || (g->absent && g->kind == KG_P_TENSOR))) {
            *to = NULL;
            continue;
        }
        static bool yes = true, no = false;
        switch (g->kind) {
        case KG_P_TENSOR:
            tensors[i] = as_dl(&g->tensor, g->scalar ? (void *)&g->f : m->args[i]);
            *to = &tensors[i];
            break;
        case KG_P_INT: *to = &g->i; break;
        case KG_P_FLOAT: *to = &g->f; break;
        case KG_P_BOOL: *to = g->i ? &yes : &no; break;
        case KG_P_INTS:
            ints[i] = (kg_ints){g->n, g->ints};
            *to = &ints[i];
            break;
        case KG_P_FLOATS:
            floats[i] = (kg_floats){g->n, g->floats};
            *to = &floats[i];
            break;
        default: *to = (void *)g->s; break;
        }
    }
    for (int i = 0; i < c->n_outs; i++) {
        tensors[KG_MAX_ARGS + i] = as_dl(&c->outs[i], m->outs[i]);
        a[n++] = &tensors[KG_MAX_ARGS + i];
    }
    return fn(a);
}
