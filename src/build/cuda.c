// CUDA C++: nvcc where it is installed, else NVRTC. With a stated launch ("kgate: launch ...") the source is device
// code alone and becomes a cubin; without one nvcc makes a shared object with a host function.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "build/internal.h"
#include "device/cuda/nvrtc.h"

#define MACHINE_CODE_BYTES ((size_t)32 << 20)

static bool executable(const char *path) { return access(path, X_OK) == 0; }

char *kg_find_cuda_tool(const char *name) {
    const char *home = getenv("CUDA_HOME"), *path = getenv("PATH");
    char *found = home && *home ? kg_format("%s/bin/%s", home, name) : kg_strdup("");
    for (const char *p = path; p && *p && !executable(found);) {
        size_t n = strcspn(p, ":");
        free(found);
        found = kg_format("%.*s/%s", (int)n, p, name);
        p += n + (p[n] == ':');
    }
    if (!executable(found)) {
        free(found);
        found = kg_format("/usr/local/cuda/bin/%s", name);
    }
    if (executable(found)) return found;
    free(found);
    return NULL;
}

// From compute capability 9.0 on, some instructions (wgmma, tcgen05) exist only in the architecture-specific target
// "sm_90a" (CUDA C++ Programming Guide, "Architecture-Specific Features").
static char *exact_arch(const char *arch) {
    int number = strncmp(arch, "sm_", 3) ? 0 : atoi(arch + 3);
    bool specific = arch[0] && strchr("af", arch[strlen(arch) - 1]);
    return kg_format(number >= 90 && !specific ? "%sa" : "%s", arch);
}

static bool ends_with(const char *name, const char *suffix) {
    const size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

// nvcc -keep calls them candidate.ptx or, from CUDA 13 on, candidate.compute_90a.ptx. Of several the longest name,
// which is of the most specific architecture. One that is not there is no fault: the kernel runs without.
static void keep_file(const kg_build_job *j, const char *suffix, char **data, size_t *size) {
    char *best = NULL;
    DIR *d = opendir(j->scratch);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, "candidate.", 10) || !ends_with(e->d_name, suffix)) continue;
        if (best && strlen(best) >= strlen(e->d_name)) continue;
        free(best);
        best = kg_strdup(e->d_name);
    }
    if (d) closedir(d);
    char *path = kg_format("%s/%s", j->scratch, best ? best : "");
    if (!best || kg_read_file(path, MACHINE_CODE_BYTES, data, size, NULL)) *data = NULL;
    free(path);
    free(best);
}

static int run_nvcc(const kg_build_job *j, char *nvcc, const char *arch, kg_artifact *out, kg_error *err) {
    bool host = j->c->launch == NULL;
    char *made = host ? "candidate.so" : "candidate.cubin", *folder = kg_install_folder();
    char *target = kg_format("-arch=%s", arch), *include = kg_format("-I%s/include", folder);
    char *host_argv[] = {nvcc,    "-O3",      "-std=c++17", target,         include, "-keep", "-shared", "-Xcompiler",
                         "-fPIC", "--cudart", "static",     "candidate.cu", "-o",    made,    NULL};
    char *device_argv[] = {nvcc,     "-O3",          "-std=c++17", target, include, "-keep",
                           "-cubin", "candidate.cu", "-o",         made,   NULL};
    int failed = kg_build_compile(j, host ? host_argv : device_argv, made, out, err);
    if (!failed) keep_file(j, ".ptx", &out->ptx, &out->ptx_size);
    if (!failed) keep_file(j, ".cubin", &out->cubin, &out->cubin_size);
    out->host_entry = host && !failed;
    free(include);
    free(target);
    free(folder);
    return failed;
}

static int with_nvcc(const kg_build_job *j, char *nvcc, kg_artifact *out, kg_error *err) {
    char *arch = exact_arch(j->dev->arch);
    int failed = run_nvcc(j, nvcc, arch, out, err);
    // An nvcc older than the suffix: the plain target will do.
    if (failed && out->log && strcasestr(out->log, "unsupported gpu architecture") && strcmp(arch, j->dev->arch) != 0)
        failed = run_nvcc(j, nvcc, j->dev->arch, out, err);
    free(arch);
    return failed;
}

static int with_nvrtc(const kg_build_job *j, kg_artifact *out, kg_error *err) {
    if (!j->c->launch)
        return kg_fail(err, KG_ERR_CANNOT,
                       "%s: no nvcc here for its host function: install the CUDA toolkit, set "
                       "CUDA_HOME, or state the launch in a comment `kgate: launch`",
                       j->c->path);
    char *folder = kg_install_folder(), *include = kg_format("%s/include", folder), *arch = exact_arch(j->dev->arch);
    void *image = NULL;
    size_t size = 0;
    int failed = kg_nvrtc_compile(j->c->source, "candidate.cu", arch, include, &image, &size, &out->log, err) ||
                 kg_build_write(j, "candidate.cubin", image, size, &out->artifact, err);
    free(image);
    free(arch);
    free(include);
    free(folder);
    return failed ? -1 : 0;
}

int kg_build_cuda(const kg_build_job *j, kg_artifact *out, kg_error *err) {
    char *nvcc = kg_find_cuda_tool("nvcc");
    if (!nvcc) return with_nvrtc(j, out, err);
    char *source = NULL;
    int failed =
        kg_build_write(j, "candidate.cu", j->c->source, j->c->source_len, &source, err) || with_nvcc(j, nvcc, out, err);
    free(source);
    free(nvcc);
    return failed ? -1 : 0;
}
