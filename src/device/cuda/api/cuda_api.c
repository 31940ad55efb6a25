#include "device/cuda/api/cuda_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// dlsym gives a data pointer; POSIX says it may be stored through a function pointer's address.
static int resolve(kg_cuda_api *api, void *field, const char *symbol, const char *older, kg_error *err) {
    void *p = dlsym(api->library, symbol);
    if (!p && *older) p = dlsym(api->library, older);
    if (!p)
        return kg_fail(err, KG_ERR_CANNOT, "libcuda lacks %s: the driver is too old, CUDA 12.0 or newer is needed",
                       symbol);
    memcpy(field, &p, sizeof p);
    return 0;
}

int kg_cuda_api_resolve(const char *path, kg_cuda_api *api, kg_error *err) {
    memset(api, 0, sizeof *api);
    api->library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!api->library) return kg_fail(err, KG_ERR_CANNOT, "no NVIDIA driver here: %s", dlerror());
#define KG_CUDA_LOAD(name, symbol, older, params)            \
    if (resolve(api, &api->name, symbol, older, err) != 0) { \
        dlclose(api->library);                               \
        memset(api, 0, sizeof *api);                         \
        return -1;                                           \
    }
    KG_CUDA_FUNCTIONS(KG_CUDA_LOAD)
#undef KG_CUDA_LOAD
    return 0;
}

int kg_cuda_api_open(const char *path, kg_cuda_api *api, kg_error *err) {
    if (kg_cuda_api_resolve(path, api, err) != 0) return -1;
    kcu_result r = api->Init(0);
    if (r == 0) return 0;
    return kg_fail(err, KG_ERR_CANNOT, "the NVIDIA driver does not start: %s", kg_cuda_error_name(api, r));
}

const char *kg_cuda_error_name(const kg_cuda_api *api, kcu_result r) {
    const char *text = NULL;
    if (api->GetErrorName && api->GetErrorName(r, &text) == 0 && text) return text;
    return "unknown CUDA error";
}

int kg_cuda_check(const kg_cuda_api *api, kcu_result r, kg_code code, const char *what, kg_error *err) {
    if (r == 0) return 0;
    if (r == KCU_ERROR_OUT_OF_MEMORY) code = KG_ERR_MEMORY;
    return kg_fail(err, code, "%s: %s", what, kg_cuda_error_name(api, r));
}

int kg_cuda_module_load(const kg_cuda_api *api, const void *image, const char *what, kcu_module *out, kg_code code,
                        kg_error *err) {
    enum { LOG = 8192 };
    char *log = kg_alloc(LOG);
    int options[2] = {KCU_JIT_ERROR_LOG_BUFFER, KCU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)(LOG - 1)};  // sizes travel inside the pointer's value
    kcu_result r = api->ModuleLoadDataEx(out, image, 2, options, values);
    int rc = 0;
    if (r != 0) {
        for (char *p = log; *p; p++) {
            if (*p == '\n' || *p == '\r') *p = ' ';
        }
        rc = kg_fail(err, code, "the driver does not load %s: %s%s%s", what, kg_cuda_error_name(api, r),
                     *log ? ": " : "", log);
    }
    free(log);
    return rc;
}
