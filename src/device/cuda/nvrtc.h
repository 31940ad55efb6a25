// CUDA C++ to machine code at run time, through NVRTC where it is installed.
#ifndef KG_CUDA_NVRTC_H
#define KG_CUDA_NVRTC_H

#include "base/base.h"

// arch: "sm_90" for a cubin, "compute_80" for PTX. include_dir: one folder for #include, may be NULL. name: what the
// log calls the source. *image: owned, `*size` bytes (PTX is NUL-terminated). *log: the compiler's words, owned, NULL
// when it had none; set on failure too. log, size may be NULL.
// Errors: KG_ERR_CANNOT (no NVRTC), KG_ERR_CANDIDATE (does not compile: the first error line).
int kg_nvrtc_compile(const char *source, const char *name, const char *arch, const char *include_dir, void **image,
                     size_t *size, char **log, kg_error *err);

#endif
