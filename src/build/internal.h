// Parts of the build room.
#ifndef KG_BUILD_INTERNAL_H
#define KG_BUILD_INTERNAL_H

#include "build/build.h"

typedef struct {
    const kg_candidate *c;
    const kg_device_info *dev;
    const char *scratch;
    double timeout_s;
} kg_build_job;

int kg_build_c(const kg_build_job *j, kg_artifact *out, kg_error *err);
int kg_build_cuda(const kg_build_job *j, kg_artifact *out, kg_error *err);

// Where a program of the CUDA toolkit is; owned by the caller, NULL when there is none.
char *kg_find_cuda_tool(const char *name);
// Writes scratch/name; *path is owned by the caller.
int kg_build_write(const kg_build_job *j, const char *name, const void *data, size_t size, char **path, kg_error *err);
// Runs a compiler in scratch. 0: it made scratch/`made`, and *out names it. argv[0] not found: KG_ERR_CANNOT.
int kg_build_compile(const kg_build_job *j, char *const *argv, const char *made, kg_artifact *out, kg_error *err);
// The first line of a log that tells an error; "" when there is none. Owned by the caller.
char *kg_build_first_error(const char *log);

#endif
