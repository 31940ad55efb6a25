// CUDA candidates: a shared object with a host function (nvcc; the CUDA runtime linked into it uses the same primary
// context), or a device image (PTX, cubin) with a stated launch.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kgate/kernel.h"
#include "runner/cuda/cuda_rt.h"
#include "runner/loader/launch_spec.h"

#define LARGEST_IMAGE ((size_t)256 << 20)

typedef struct {
    kg_launch l;
    kcu_function f;
    void *params[KG_LAUNCH_MAX_ARGS];  // into l.value
} ready_launch;

typedef struct {
    kg_rt *rt;
    // with a host function
    void *library;
    void (*entry)(void);
    kg_native *args;
    // with a stated launch
    kcu_module module;
    kg_launch_spec *spec;
    kcu_function *functions;  // by launch
    ready_launch *launches;   // of all slots, kg_launch_count(spec) a slot
} cuda_candidate;

static void cuda_unload(void *self) {
    cuda_candidate *c = self;
    kg_native_free(c->args);
    if (c->library) dlclose(c->library);
    if (c->module && kg_cuda_rt_enter(c->rt, NULL) == 0) kg_cuda_rt_api(c->rt)->ModuleUnload(c->module);
    kg_launch_free(c->spec);
    free(c->functions);
    free(c->launches);
    free(c);
}

// ---- host functions -----------------------------------------------------------------------------
static int load_host(cuda_candidate *c, const kg_load_request *r, char **entry, kg_error *err) {
    c->library = dlopen(r->path, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return kg_fail(err, KG_ERR_CANDIDATE, "%s", dlerror());
    *(void **)&c->entry = kg_native_find(c->library, r, " as extern \"C\"", entry, err);
    return c->entry ? 0 : -1;
}

// ---- stated launches ----------------------------------------------------------------------------
static int load_image(cuda_candidate *c, const kg_load_request *r, kg_error *err) {
    const kg_cuda_api *api = kg_cuda_rt_api(c->rt);
    char *image;
    size_t size;
    if (kg_cuda_rt_enter(c->rt, err) != 0 || kg_read_file(r->path, LARGEST_IMAGE, &image, &size, err) != 0) return -1;
    int rc = kg_cuda_module_load(api, image, "the kernel's image", &c->module, KG_ERR_CANDIDATE, err);
    free(image);
    return rc;
}

static int find_functions(cuda_candidate *c, kg_error *err) {
    const kg_cuda_api *api = kg_cuda_rt_api(c->rt);
    const size_t n = kg_launch_count(c->spec);
    c->functions = kg_alloc(n * sizeof(kcu_function));
    for (size_t i = 0; i < n; i++) {
        const char *name = kg_launch_kernel(c->spec, i);
        kcu_result r = api->ModuleGetFunction(&c->functions[i], c->module, name);
        if (r != 0)
            return kg_fail(err, KG_ERR_CANDIDATE, "no kernel `%s` in the image (%s): in C++, declare it extern \"C\"",
                           name, kg_cuda_error_name(api, r));
    }
    return 0;
}

static int load_stated(cuda_candidate *c, const kg_load_request *r, char **entry, kg_error *err) {
    if (!r->launch)
        return kg_fail(err, KG_ERR_CANDIDATE,
                       "a device image needs a stated launch: a comment `kgate: launch kernel=NAME "
                       "grid=EXPR block=EXPR args=ITEM,...`");
    if (kg_launch_parse(r->launch, &c->spec, err) != 0 || load_image(c, r, err) != 0 || find_functions(c, err) != 0)
        return -1;
    *entry = kg_strdup(kg_launch_kernel(c->spec, 0));
    return 0;
}

static int cuda_load(const kg_load_request *r, void **self, char **entry, kg_error *err) {
    if (!r->rt || strcmp(r->rt->ops->kind, "cuda") != 0)
        return kg_fail(err, KG_ERR_CANNOT, "a CUDA kernel needs a CUDA device");
    cuda_candidate *c = kg_alloc(sizeof *c);
    c->rt = r->rt;
    if ((r->host_entry ? load_host(c, r, entry, err) : load_stated(c, r, entry, err)) != 0) {
        cuda_unload(c);
        return -1;
    }
    *self = c;
    return 0;
}

// ---- cases and calls ----------------------------------------------------------------------------
// Beyond 48 KiB a kernel must ask for its dynamic shared memory.
static int allow_shared(cuda_candidate *c, const ready_launch *l, kg_error *err) {
    const kg_cuda_api *api = kg_cuda_rt_api(c->rt);
    if (l->l.smem <= 48 * 1024) return 0;
    return kg_cuda_check(api, api->FuncSetAttribute(l->f, KCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->l.smem),
                         KG_ERR_CANDIDATE, "kgate: launch: so much shared memory", err);
}

static int prepare_slot(cuda_candidate *c, const kg_run_case *rc, int slot, kg_error *err) {
    const size_t n = kg_launch_count(c->spec);
    for (size_t i = 0; i < n; i++) {
        ready_launch *l = &c->launches[(size_t)slot * n + i];
        if (kg_launch_eval(c->spec, i, rc, slot, &l->l, err) != 0) return -1;
        l->f = c->functions[i];
        for (int a = 0; a < l->l.n_args; a++) l->params[a] = &l->l.value[a];
        if (slot == 0 && allow_shared(c, l, err) != 0) return -1;
    }
    return 0;
}

static int cuda_prepare(void *self, const kg_run_case *rc, kg_error *err) {
    cuda_candidate *c = self;
    if (c->library) {
        kg_native_free(c->args);
        c->args = NULL;
        kg_rt *rt = c->rt;
        return kg_native_prepare(rc, kDLCUDA, kg_cuda_rt_ordinal(rt), true, rt->ops->stream(rt), &c->args, err);
    }
    if (kg_cuda_rt_enter(c->rt, err) != 0) return -1;
    free(c->launches);
    c->launches = kg_alloc((size_t)rc->slots * kg_launch_count(c->spec) * sizeof *c->launches);
    for (int slot = 0; slot < rc->slots; slot++)
        if (prepare_slot(c, rc, slot, err) != 0) return -1;
    return 0;
}

static int launch_slot(cuda_candidate *c, int slot, kg_error *err) {
    const kg_cuda_api *api = kg_cuda_rt_api(c->rt);
    const size_t n = kg_launch_count(c->spec);
    for (size_t i = 0; i < n; i++) {
        ready_launch *r = &c->launches[(size_t)slot * n + i];
        const kg_launch *l = &r->l;
        if (l->empty) continue;
        kcu_result rc = api->LaunchKernel(r->f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                          l->block[2], l->smem, NULL, r->params, NULL);
        if (rc != 0) return kg_cuda_check(api, rc, KG_ERR_CANDIDATE, "launching the kernel as stated", err);
    }
    return 0;
}

static int cuda_call(void *self, int slot, kg_error *err) {
    cuda_candidate *c = self;
    return c->library ? kg_native_call(c->args, slot, c->entry, err) : launch_slot(c, slot, err);
}

const kg_loader kg_cuda_loader = {
    .language = "cuda", .load = cuda_load, .prepare = cuda_prepare, .call = cuda_call, .unload = cuda_unload};
