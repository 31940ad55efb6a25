#include "device/cuda/kernels.h"

#include <stdlib.h>

#include "device/cuda/nvrtc.h"

// kernels.cu numbers dtypes and kinds as base.h does.
_Static_assert(KG_F64 == 0 && KG_F32 == 1 && KG_F16 == 2 && KG_BF16 == 3 && KG_I64 == 4 && KG_I32 == 5, "dtypes");
_Static_assert(KG_I16 == 6 && KG_I8 == 7 && KG_U8 == 8 && KG_BOOL == 9 && KG_DTYPES == 10, "dtypes");
_Static_assert(KG_FILL_ZERO == 0 && KG_FILL_CONST == 1 && KG_FILL_NORMAL == 2 && KG_FILL_UNIFORM == 3, "kinds");
_Static_assert(KG_FILL_INT == 4 && KG_FILL_OUTLIERS == 5 && KG_FILL_SPECIALS == 6 && KG_FILL_LOGSCALE == 7, "kinds");
_Static_assert(KG_FILL_TIES == 8 && KG_FILL_SHUFFLE == 9 && KG_FILL_CHOICE == 10 && KG_FILL_POISON == 11, "kinds");
_Static_assert(KG_FILL_RAISED == 12 && KG_FILL_CYCLIC == 13 && KG_FILL_SYMMETRIC == 14, "kinds");
_Static_assert(KG_FILL_HERMITIAN == 15 && KG_FILL_LOWER == 16 && KG_FILL_UPPER == 17, "kinds");
_Static_assert(KG_FILL_EXCHANGED == 18 && KG_FILL_RANK_ONE == 19, "kinds");
_Static_assert(sizeof(kg_fill_args) == 80, "layout as in kernels.cu");

static const char *const names[KG_K_COUNT] = {
    [KG_K_FILL_8] = "kg_fill_8",
    [KG_K_FILL_16] = "kg_fill_16",
    [KG_K_FILL_32] = "kg_fill_32",
    [KG_K_FILL_64] = "kg_fill_64",
    [KG_K_FILL_WORD] = "kg_fill_word",
    [KG_K_GATHER] = "kg_gather",
    [KG_K_COUNT_BITS] = "kg_count_bits",
    [KG_K_RATE_READ] = "kg_rate_read",
    [KG_K_RATE_WRITE] = "kg_rate_write",
    [KG_K_RATE_COPY] = "kg_rate_copy",
    [KG_K_RATE_COPY_CACHED] = "kg_rate_copy_cached",
    [KG_K_EMPTY] = "kg_empty",
    [KG_K_RATE_FP32] = "kg_rate_fp32",
    [KG_K_RATE_FP64] = "kg_rate_fp64",
    [KG_K_RATE_INT] = "kg_rate_int",
    [KG_K_RATE_SPECIAL] = "kg_rate_special",
    [KG_K_TO_E4M3] = "kg_to_e4m3",
    [KG_K_MMA_BF16] = "kg_mma_bf16",
    [KG_K_MMA_FP16] = "kg_mma_fp16",
    [KG_K_MMA_TF32] = "kg_mma_tf32",
    [KG_K_MMA_INT8] = "kg_mma_int8",
    [KG_K_MMA_FP8] = "kg_mma_fp8",
};

static int find_functions(const kg_cuda_api *api, kg_cuda_kernels *k, kg_error *err) {
    for (int i = 0; i < KG_K_COUNT; i++) {
        kcu_result r = api->ModuleGetFunction(&k->fn[i], k->module, names[i]);
        if (r == 0) continue;
        k->fn[i] = NULL;
        if (i < KG_K_MMA_BF16)
            return kg_fail(err, KG_ERR_INTERNAL, "device code lacks %s: %s", names[i], kg_cuda_error_name(api, r));
    }
    return 0;
}

static int load_compiled(const kg_cuda_api *api, int cc, kg_cuda_kernels *k, kg_error *err) {
    void *image;
    char *arch = kg_format("sm_%d", cc);
    int rc = kg_nvrtc_compile(kg_cuda_source, "kernels.cu", arch, NULL, &image, NULL, NULL, err);
    free(arch);
    if (rc != 0) {
        if (err && err->code == KG_ERR_CANDIDATE) err->code = KG_ERR_INTERNAL;  // our own source
        return -1;
    }
    rc = kg_cuda_module_load(api, image, "kgate's device code", &k->module, KG_ERR_CANNOT, err);
    free(image);
    k->from = "NVRTC";
    return rc;
}

int kg_cuda_kernels_load(const kg_cuda_api *api, int cc, kg_cuda_kernels *k, kg_error *err) {
    const char *ptx = cc >= 80 ? kg_cuda_ptx_80 : kg_cuda_ptx_75;
    k->from = "embedded PTX";
    if (*ptx && cc >= 75 && kg_cuda_module_load(api, ptx, "kgate's device code", &k->module, KG_ERR_CANNOT, err) == 0)
        return find_functions(api, k, err);
    if (load_compiled(api, cc, k, err) != 0) return -1;
    kg_error_clear(err);  // the refused PTX is history
    return find_functions(api, k, err);
}
