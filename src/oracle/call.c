// Reading a call: parameters by name, views, coordinates.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"

static void task_bug(const kg_task *t, const char *what) {
    fprintf(stderr, "kgate: task %s: %s (a bug in the task's file)\n", t->name, what);
    abort();
}

int kg_oracle(const kg_call *call, kg_ref *ref) {
    const kg_task *t = call->task;
    kg_call whole = *call;
    void *own = NULL;
    if (!whole.reading) whole.reading = t->readings;
    if (t->prepare && !whole.prepared) {
        whole.prepared = own = t->prepare(&whole);
        if (!own) return -1;
    }
    const int rc = t->oracle(&whole, ref);
    if (own) t->release(own);
    return rc;
}

int kg_param_index(const kg_task *t, const char *param) {
    for (int i = 0; t->params[i].name; i++)
        if (strcmp(t->params[i].name, param) == 0) return i;
    fprintf(stderr, "kgate: parameter %s: ", param);
    task_bug(t, "no such parameter");
    return -1;
}

const kg_arg *kg_call_arg(const kg_call *call, const char *param) {
    return &call->c->args[kg_param_index(call->task, param)];
}

kg_view kg_call_view(const kg_call *call, const char *param) {
    const int i = kg_param_index(call->task, param);
    const kg_arg *a = &call->c->args[i];
    if (a->none || a->absent) return (kg_view){0};
    if (a->scalar) return (kg_view){.desc = {.dtype = KG_F64}, .data = &a->f};
    return call->args[i];
}

bool kg_call_has(const kg_call *call, const char *param) {
    const kg_arg *a = kg_call_arg(call, param);
    return !a->none && !a->absent;
}

kg_view kg_view_expand(const kg_view *v, const kg_tensor *shape_of) {
    kg_view r = *v;
    const char *what = "an input does not broadcast with the output";
    switch (kg_expand(&v->desc, shape_of, &r.desc)) {
    case 0: return r;
    default: fprintf(stderr, "kgate: %s: infer() should have refused (a bug in the task's file)\n", what); abort();
    }
}

int kg_wrap_dim(int64_t dim, int ndim) {
    const int64_t n = ndim ? ndim : 1;
    if (dim < -n || dim >= n) return -1;
    return (int)(dim < 0 ? dim + n : dim);
}

void kg_coords(const kg_tensor *t, int64_t logical, int64_t *coord) {
    for (int i = t->ndim - 1; i >= 0; i--) {
        coord[i] = logical % t->shape[i];
        logical /= t->shape[i];
    }
}

int64_t kg_offset_at(const kg_tensor *t, const int64_t *coord) {
    int64_t at = 0;
    for (int i = 0; i < t->ndim; i++) at += coord[i] * t->stride[i];
    return at;
}

kg_line_t kg_line_of(const kg_tensor *t, int dim, int64_t line) {
    if (t->ndim == 0) return (kg_line_t){.start = 0, .step = 1, .n = 1};
    kg_line_t r = {.start = 0, .step = t->stride[dim], .n = t->shape[dim]};
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (i == dim) continue;
        r.start += line % t->shape[i] * t->stride[i];
        line /= t->shape[i];
    }
    return r;
}

int64_t kg_line_index(const kg_tensor *t, int dim, int64_t logical) {
    int64_t inner = 1;
    for (int i = dim + 1; i < t->ndim; i++) inner *= t->shape[i];
    if (t->ndim == 0) return 0;
    return logical / (inner * t->shape[dim]) * inner + logical % inner;
}
