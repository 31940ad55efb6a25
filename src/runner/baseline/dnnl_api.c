#include "runner/baseline/dnnl_api.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at;
} functions[] = {
#define DN_ROW(name, params) {"dnnl_" #name, offsetof(dn_api, name)},
    DN_FUNCTIONS(DN_ROW)
#undef DN_ROW
        {"dnnl_primitive_desc_query_md", offsetof(dn_api, primitive_desc_query_md)},
    {"dnnl_memory_desc_equal", offsetof(dn_api, memory_desc_equal)},
    {"dnnl_memory_desc_get_size", offsetof(dn_api, memory_desc_get_size)},
};

// oneDNN runs on the OpenMP runtime it was linked with; its symbols are found through it.
static void set_threads(void *library, int threads) {
    void (*set)(int) = (void (*)(int))dlsym(library, "omp_set_num_threads");
    if (set) set(threads);
}

int kg_dnnl_open(dn_api *api, int threads, kg_error *err) {
    void *lib = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!lib) return kg_fail(err, KG_ERR_CANNOT, "onednn: %s: install libdnnl2", dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(lib, functions[i].name);
        if (!f)
            return kg_fail(err, KG_ERR_CANNOT, "onednn: libdnnl.so.2 lacks %s: install oneDNN 2.6 or a later 2.x",
                           functions[i].name);
        memcpy((char *)api + functions[i].at, &f, sizeof f);
    }
    api->library = lib;
    set_threads(lib, threads);
    return 0;
}
