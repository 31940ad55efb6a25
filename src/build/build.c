// What is compiled here, and what a runner loads as it is.
#include <stdlib.h>

#include "build/internal.h"

void kg_artifact_free(kg_artifact *a) {
    free(a->artifact);
    free(a->log);
    free(a->ptx);
    free(a->cubin);
    *a = (kg_artifact){0};
}

static int write_source(const kg_build_job *j, const char *name, kg_artifact *out, kg_error *err) {
    return kg_build_write(j, name, j->c->source, j->c->source_len, &out->artifact, err);
}

static int build(const kg_build_job *j, kg_artifact *out, kg_error *err) {
    switch (j->c->language) {
    case KG_LANG_C: return kg_build_c(j, out, err);
    case KG_LANG_CUDA: return kg_build_cuda(j, out, err);
    case KG_LANG_PTX: return write_source(j, "candidate.ptx", out, err);
    case KG_LANG_CUBIN: return write_source(j, "candidate.cubin", out, err);
    case KG_LANG_TRITON:
    case KG_LANG_TILELANG:
    case KG_LANG_PYTHON: return write_source(j, "candidate.py", out, err);
    case KG_LANG_OPENCL:
    case KG_LANG_UNKNOWN: break;
    }
    return kg_fail(err, KG_ERR_CANNOT, "%s: nothing here builds %s", j->c->path, kg_language_name(j->c->language));
}

int kg_build(const kg_candidate *c, const kg_device_info *dev, const char *scratch, double timeout_s, kg_artifact *out,
             kg_error *err) {
    kg_build_job j = {c, dev, scratch, timeout_s};
    *out = (kg_artifact){0};
    double start = kg_now();
    int failed = build(&j, out, err);
    out->seconds = kg_now() - start;  // the log of a failed build is the caller's too
    return failed;
}
