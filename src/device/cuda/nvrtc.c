#include "device/cuda/nvrtc.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/api/library.h"

typedef struct nvrtc_program *program;

typedef struct {
    int (*create)(program *p, const char *source, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(program p, int n, const char *const *options);
    int (*destroy)(program *p);
    int (*ptx_size)(program p, size_t *n);
    int (*ptx)(program p, char *out);
    int (*cubin_size)(program p, size_t *n);
    int (*cubin)(program p, char *out);
    int (*log_size)(program p, size_t *n);
    int (*log)(program p, char *out);
    const char *(*error)(int r);
} nvrtc_api;

static int open_nvrtc(nvrtc_api *a, kg_error *err) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
    void *library;
    if (kg_cuda_library_open(names, &library, err) != 0) return -1;
    const kg_cuda_symbol symbols[] = {
        {&a->create, "nvrtcCreateProgram"},
        {&a->compile, "nvrtcCompileProgram"},
        {&a->destroy, "nvrtcDestroyProgram"},
        {&a->ptx_size, "nvrtcGetPTXSize"},
        {&a->ptx, "nvrtcGetPTX"},
        {&a->cubin_size, "nvrtcGetCUBINSize"},
        {&a->cubin, "nvrtcGetCUBIN"},
        {&a->log_size, "nvrtcGetProgramLogSize"},
        {&a->log, "nvrtcGetProgramLog"},
        {&a->error, "nvrtcGetErrorString"},
    };
    return kg_cuda_library_resolve(library, "libnvrtc", symbols, sizeof symbols / sizeof *symbols, err);
}

static char *read_log(const nvrtc_api *a, program p) {
    size_t n = 0;
    if (a->log_size(p, &n) != 0 || n <= 1) return NULL;
    char *log = kg_alloc(n + 1);
    a->log(p, log);
    return log;
}

// The line that says "error", else the first.
static char *error_line(const char *log) {
    const char *at = strstr(log, "error");
    if (!at) at = log;
    while (at > log && at[-1] != '\n') at--;
    return kg_format("%.*s", (int)strcspn(at, "\n"), at);
}

static int read_image(const nvrtc_api *a, program p, bool cubin, void **image, size_t *size, kg_error *err) {
    size_t n = 0;
    int r = cubin ? a->cubin_size(p, &n) : a->ptx_size(p, &n);
    if (r == 0 && n > 0) {
        *image = kg_alloc(n + 1);
        r = cubin ? a->cubin(p, *image) : a->ptx(p, *image);
    }
    if (size) *size = n;
    if (r == 0 && n > 0) return 0;
    free(*image);
    *image = NULL;
    return kg_fail(err, KG_ERR_INTERNAL, "NVRTC gave no image: %s", a->error(r));
}

int kg_nvrtc_compile(const char *source, const char *name, const char *arch, const char *include_dir, void **image,
                     size_t *size, char **log, kg_error *err) {
    nvrtc_api a = {0};
    program p = NULL;
    *image = NULL;
    if (log) *log = NULL;
    if (open_nvrtc(&a, err) != 0) return -1;
    int r = a.create(&p, source, name, 0, NULL, NULL);
    if (r != 0) return kg_fail(err, KG_ERR_INTERNAL, "NVRTC does not take the source: %s", a.error(r));
    char *arch_option = kg_format("--gpu-architecture=%s", arch);
    char *include = include_dir ? kg_format("--include-path=%s", include_dir) : NULL;
    const char *options[] = {arch_option, "--std=c++17", "--device-as-default-execution-space", include};
    r = a.compile(p, include ? 4 : 3, options);
    char *text = read_log(&a, p);
    int rc;
    if (r != 0) {
        char *line = error_line(text ? text : "");
        rc = kg_fail(err, KG_ERR_CANDIDATE, "NVRTC: %s", *line ? line : a.error(r));
        free(line);
    } else {
        rc = read_image(&a, p, strncmp(arch, "sm_", 3) == 0, image, size, err);
    }
    a.destroy(&p);
    free(arch_option);
    free(include);
    if (log) *log = text;
    else free(text);
    return rc;
}
