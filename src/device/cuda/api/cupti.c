#include "device/cuda/api/cupti.h"

#include "device/cuda/api/library.h"

int kg_cupti_open(kg_cupti_api *a, kg_error *err) {
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    const kg_cuda_symbol symbols[] = {
#define KG_CUPTI_SYMBOL(name, symbol, params) {&a->name, symbol},
        KG_CUPTI_FUNCTIONS(KG_CUPTI_SYMBOL)
#undef KG_CUPTI_SYMBOL
    };
    void *library = NULL;
    if (kg_cuda_library_open(names, &library, err)) return -1;
    return kg_cuda_library_resolve(library, "CUPTI", symbols, sizeof symbols / sizeof *symbols, err);
}

int kg_cupti_check(const kg_cupti_api *a, kcp_result r, const char *what, kg_error *err) {
    const char *name = NULL;
    if (r == 0) return 0;
    if (a->result_name(r, &name) != 0 || !name) name = "unknown CUPTI error";
    return kg_fail(err, KG_ERR_CANNOT, "%s: %s (%d)", what, name, r);
}
