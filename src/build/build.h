// Turns a candidate's source into what a runner can load. Runs the compiler in a child of its own with limits.
#ifndef KG_BUILD_H
#define KG_BUILD_H

#include "candidate/candidate.h"
#include "device/device.h"

typedef struct {
    char *artifact;     // file to load: .so, .cubin, .ptx, .py; in `scratch`; owned
    char *log;          // compiler output, at most 64 KiB; owned, may be NULL
    char *ptx, *cubin;  // CUDA: what nvcc made on the way, for the diagnosis; owned, NULL when there is none
    size_t ptx_size, cubin_size;
    double seconds;
    bool host_entry;  // CUDA: a shared object with a host function (nvcc), else a device image with a stated launch
} kg_artifact;
void kg_artifact_free(kg_artifact *a);

// scratch: an existing folder only this candidate uses. timeout_s bounds the compiler.
// Errors: KG_ERR_CANDIDATE (does not compile: the text names the first error line), KG_ERR_CANNOT (no compiler here).
int kg_build(const kg_candidate *c, const kg_device_info *dev, const char *scratch, double timeout_s, kg_artifact *out,
             kg_error *err);

// The machine code of a cubin as nvdisasm prints it, where there is one (beside nvcc, in $PATH); *text is owned by the
// caller, NUL-terminated. scratch: as above. -1: no nvdisasm, or it has nothing to say of these bytes within timeout_s.
int kg_disassemble(const void *cubin, size_t size, const char *scratch, double timeout_s, char **text);
// A shared object's instructions with the lines they are of, as objdump prints them, where there is one. As above.
int kg_list_code(const char *object, const char *scratch, double timeout_s, char **text);

#endif
