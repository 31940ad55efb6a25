#include "device/cuda/api/cublaslt.h"

#include "device/cuda/api/library.h"

int kg_cublaslt_open(kg_cublaslt_api *a, kg_error *err) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
    void *library;
    if (kg_cuda_library_open(names, &library, err) != 0) return -1;
    const kg_cuda_symbol symbols[] = {
        {&a->create, "cublasLtCreate"},
        {&a->destroy, "cublasLtDestroy"},
        {&a->version, "cublasLtGetVersion"},
        {&a->desc_create, "cublasLtMatmulDescCreate"},
        {&a->desc_destroy, "cublasLtMatmulDescDestroy"},
        {&a->desc_set, "cublasLtMatmulDescSetAttribute"},
        {&a->layout_create, "cublasLtMatrixLayoutCreate"},
        {&a->layout_destroy, "cublasLtMatrixLayoutDestroy"},
        {&a->layout_set, "cublasLtMatrixLayoutSetAttribute"},
        {&a->pref_create, "cublasLtMatmulPreferenceCreate"},
        {&a->pref_destroy, "cublasLtMatmulPreferenceDestroy"},
        {&a->pref_set, "cublasLtMatmulPreferenceSetAttribute"},
        {&a->heuristic, "cublasLtMatmulAlgoGetHeuristic"},
        {&a->matmul, "cublasLtMatmul"},
    };
    return kg_cuda_library_resolve(library, "libcublasLt", symbols, sizeof symbols / sizeof *symbols, err);
}
