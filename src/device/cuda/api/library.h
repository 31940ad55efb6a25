// NVIDIA's libraries (NVRTC, NVML, cuBLASLt, cuDNN, CUPTI), opened when present, by whichever process needs one.
#ifndef KG_CUDA_LIBRARY_H
#define KG_CUDA_LIBRARY_H

#include "base/base.h"

// Opens the first of `names` (NULL-terminated, newest first) that is found: where the loader looks, beside the program,
// in the toolkit, or among the packages of $KGATE_PYTHON (else python3). The handle is kept until the process ends:
// these libraries do not survive dlclose. KG_ERR_CANNOT when there is none.
int kg_cuda_library_open(const char *const *names, void **library, kg_error *err);

// Fills function pointers by name; fails on the first that is missing.
typedef struct {
    void *field;  // address of the function pointer
    const char *symbol;
} kg_cuda_symbol;
int kg_cuda_library_resolve(void *library, const char *what, const kg_cuda_symbol *symbols, size_t n, kg_error *err);

#endif
