// oneDNN: finds how a task is computed with it and keeps the plan of the case at hand.
#include <stdlib.h>
#include <string.h>

#include "runner/baseline/dnnl_plan.h"

typedef struct {
    dn_plan plan;
    const dn_task *task;
} onednn;

// relu_fp16 is relu: the dtype is the case's.
static bool names(const char *task, const char *name) {
    const size_t n = strlen(task);
    return !strncmp(task, name, n) && (!name[n] || !strcmp(name + n, "_fp16") || !strcmp(name + n, "_bf16"));
}

static const dn_task *find(const char *name) {
    const dn_task *const tables[] = {kg_dnnl_pointwise, kg_dnnl_reductions, kg_dnnl_products};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const dn_task *t = tables[i]; t->task; t++)
            if (names(t->task, name)) return t;
    return NULL;
}

static int open_library(const kg_load_request *r, int threads, void **self, kg_error *err) {
    const dn_task *t = find(r->task);
    if (!t) return kg_baseline_refuse(err, "onednn", r->task);
    onednn *s = kg_alloc(sizeof *s);
    s->task = t;
    if (kg_dnnl_open(&s->plan.api, threads, err)) {
        free(s);
        return -1;
    }
    if (s->plan.api.engine_create(&s->plan.engine, DN_CPU, 0) ||
        s->plan.api.stream_create(&s->plan.stream, s->plan.engine, DN_STREAM_DEFAULT)) {
        free(s);
        return kg_fail(err, KG_ERR_CANNOT, "onednn: no CPU engine: this processor is not supported");
    }
    *self = s;
    return 0;
}

static int prepare(void *self, const kg_run_case *c, kg_error *err) {
    onednn *s = self;
    kg_dnnl_plan_reset(&s->plan);
    if (!s->task->prepare(&s->plan, s->task->task, c, err)) return 0;
    kg_dnnl_plan_reset(&s->plan);
    return -1;
}

static int call(void *self, int slot, kg_error *err) {
    onednn *s = self;
    return kg_dnnl_plan_call(&s->plan, slot, err);
}

static void close_library(void *self) {
    onednn *s = self;
    kg_dnnl_plan_reset(&s->plan);
    s->plan.api.stream_destroy(s->plan.stream);
    s->plan.api.engine_destroy(s->plan.engine);
    free(s);
}

const kg_baseline_lib kg_baseline_onednn = {"onednn", open_library, prepare, call, close_library};
