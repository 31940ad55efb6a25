// The loader of baselines: `path` names the library, `task` what it must compute.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runner/baseline/baseline.h"

static const kg_baseline_lib *const libraries[] = {&kg_baseline_onednn, &kg_baseline_openblas, &kg_baseline_cublaslt,
                                                   &kg_baseline_cudnn, NULL};

typedef struct {
    const kg_baseline_lib *lib;
    void *state;
} loaded;

const kg_run_arg *kg_baseline_arg(const kg_run_case *c, const char *name) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_run_arg *a = &c->args[i];
        if (!strcmp(a->name, name)) return a->none || a->absent ? NULL : a;
    }
    return NULL;
}

const kg_run_tensor *kg_baseline_tensor(const kg_run_case *c, const char *name) {
    const kg_run_arg *a = kg_baseline_arg(c, name);
    return a && !a->scalar ? &a->tensor : NULL;
}

int64_t kg_baseline_int(const kg_run_case *c, const char *name, int64_t fallback) {
    const kg_run_arg *a = kg_baseline_arg(c, name);
    return a ? a->i : fallback;
}

double kg_baseline_float(const kg_run_case *c, const char *name, double fallback) {
    const kg_run_arg *a = kg_baseline_arg(c, name);
    return a ? a->f : fallback;
}

const char *kg_baseline_text(const kg_run_case *c, const char *name, const char *fallback) {
    const kg_run_arg *a = kg_baseline_arg(c, name);
    return a && a->s ? a->s : fallback;
}

int64_t kg_baseline_entry(const kg_run_case *c, const char *name, int k, int64_t fallback) {
    const kg_run_arg *a = kg_baseline_arg(c, name);
    if (!a || a->n == 0) return fallback;
    return a->ints[k < a->n ? k : a->n - 1];
}

const kg_run_tensor *kg_baseline_out(const kg_run_case *c) {
    return c->alias_first_out || c->n_outs == 0 ? &c->args[0].tensor : &c->outs[0];
}

int kg_baseline_refuse(kg_error *err, const char *library, const char *what) {
    return kg_fail(err, KG_ERR_CANNOT, "%s: no %s: this case has no baseline", library, what);
}

// Processors this process may use: what the candidate gets too.
static int processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int load(const kg_load_request *r, void **self, char **entry, kg_error *err) {
    for (size_t i = 0; libraries[i]; i++) {
        if (strcmp(libraries[i]->name, r->path)) continue;
        void *state = NULL;
        if (libraries[i]->open(r, processors(), &state, err)) return -1;
        loaded *l = kg_alloc(sizeof *l);
        *l = (loaded){libraries[i], state};
        *self = l;
        *entry = kg_strdup(r->task);
        return 0;
    }
    return kg_fail(err, KG_ERR_CANNOT, "%s: no such baseline: use onednn or openblas, on CUDA cublaslt or cudnn",
                   r->path);
}

static int prepare(void *self, const kg_run_case *c, kg_error *err) {
    loaded *l = self;
    return l->lib->prepare(l->state, c, err);
}

static int call(void *self, int slot, kg_error *err) {
    loaded *l = self;
    return l->lib->call(l->state, slot, err);
}

static void unload(void *self) {
    loaded *l = self;
    if (!l) return;
    l->lib->close(l->state);
    free(l);
}

const kg_loader kg_baseline_loader = {
    .language = "baseline", .load = load, .prepare = prepare, .call = call, .collect = NULL, .unload = unload};
