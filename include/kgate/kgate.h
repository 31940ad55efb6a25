/* libkgate: judge compute kernels from a program of your own. One context, one call a candidate, JSON out.
 *
 *     kgate_options o = kgate_options_default();
 *     char *error = NULL, *json = NULL;
 *     kgate_context *k = kgate_open(&o, &error);
 *     if (k && kgate_judge_source(k, "softmax", "c", source, &json, &error) == 0) puts(json);
 *     kgate_free(json); kgate_free(error); kgate_close(k);
 *
 * The record is the one `kgate run --format jsonl` prints: a kernel that does not build or is wrong has one too.
 * Functions return 0, or -1 and set *error (which may be NULL) to one line the caller frees with kgate_free; *json is
 * NULL then. A context is used by one thread at a time.
 */
#ifndef KGATE_KGATE_H
#define KGATE_KGATE_H

#include <stdint.h>

#define KGATE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kgate_context kgate_context;

typedef struct {
    const char *device;   /* "auto", "cpu", "cuda", "cuda:0"; NULL: "auto" */
    const char *python;   /* interpreter for Python candidates; NULL: $KGATE_PYTHON, else python3 */
    const char *database; /* NULL: the default database; "": none is written */
    const char *baseline; /* "auto", "none", "torch-eager", "torch-compile", "onednn", "openblas", "cublaslt", "cudnn",
                             or a kernel's file; NULL: "auto". One that is named and cannot be used is an error */
    uint64_t seed;        /* 0: fresh; up to 2^63 - 1 */
    int full_cases;       /* 0: quick */
    int check_only;       /* 1: correctness alone, no timing */
    double timeout_s;     /* one step of a candidate: 0.1 to 86400 */
    double lre_min;       /* library screen: 0 to 100 */
    double util_min_memory, util_min_compute; /* roofline screen, by what bounds a size: 0 to 1 */
} kgate_options;

kgate_options kgate_options_default(void);
/* NULL when an option has no such value, the device is not here or the database cannot be used. The options and what
   they point to may go once it returns. */
kgate_context *kgate_open(const kgate_options *o, char **error);
void kgate_close(kgate_context *k);

/* path: one file (c, cu, ptx, cubin, cl, py), or LIST.jsonl:LINE. task: NULL to find it in the file or its name. */
int kgate_judge_file(kgate_context *k, const char *task, const char *path, char **json, char **error);
/* language: "c", "cuda", "ptx", "triton", "tilelang" or "python". Nothing may be NULL but error. */
int kgate_judge_source(kgate_context *k, const char *task, const char *language, const char *source, char **json,
                       char **error);
void kgate_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
