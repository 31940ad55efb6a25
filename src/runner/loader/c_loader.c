// C candidates: a shared object with one destination-passing function.
#include <dlfcn.h>
#include <stdlib.h>

#include "kgate/kernel.h"
#include "runner/loader/sampling.h"
#include "runner/runner.h"

typedef struct {
    void (*entry)(void);
    kg_native *args;
} c_candidate;

static int c_load(const kg_load_request *r, void **self, char **entry, kg_error *err) {
    void *library = dlopen(r->path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return kg_fail(err, KG_ERR_CANDIDATE, "%s", dlerror());
    void *f = kg_native_find(library, r, "", entry, err);
    if (!f) {
        dlclose(library);
        return -1;
    }
    c_candidate *c = kg_alloc(sizeof *c);
    *(void **)&c->entry = f;
    *self = c;
    return 0;
}

static int c_prepare(void *self, const kg_run_case *rc, kg_error *err) {
    c_candidate *c = self;
    kg_native_free(c->args);
    c->args = NULL;
    return kg_native_prepare(rc, kDLCPU, 0, false, NULL, &c->args, err);
}

static int c_call(void *self, int slot, kg_error *err) {
    c_candidate *c = self;
    return kg_native_call(c->args, slot, c->entry, err);
}

typedef struct {
    c_candidate *c;
    int slot;
} slot_call;

static int call_slot(void *ctx, kg_error *err) {
    const slot_call *s = ctx;
    return c_call(s->c, s->slot, err);
}

static int c_observe(void *self, int slot, const char *folder, kg_error *err) {
    c_candidate *c = self;
    slot_call s = {c, slot};
    return kg_sample_calls(call_slot, &s, *(void **)&c->entry, folder, err);
}

// The library stays: threads of its OpenMP runtime may still be in that runtime's code.
static void c_unload(void *self) {
    c_candidate *c = self;
    kg_native_free(c->args);
    free(c);
}

const kg_loader kg_c_loader = {
    .language = "c", .load = c_load, .prepare = c_prepare, .call = c_call, .unload = c_unload, .observe = c_observe};
