// C: the system compiler, optimised for this machine. No -ffast-math: a kernel that wants it can say so by pragma.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "build/internal.h"

#define MAX_CC_WORDS 8  // "ccache gcc -m64"

// argv of $CC (split at spaces, as make does) followed by ours. `words` holds its text.
static char **command(char *words, char *const *ours) {
    size_t n = 0, m = 0;
    while (ours[m]) m++;
    char **argv = kg_alloc((MAX_CC_WORDS + m + 1) * sizeof *argv), *rest = NULL;
    for (char *w = strtok_r(words, " ", &rest); w && n < MAX_CC_WORDS; w = strtok_r(NULL, " ", &rest)) argv[n++] = w;
    memcpy(argv + n, ours, m * sizeof *argv);
    return argv;
}

// A missing compiler is this machine's fault, and the user wants to know what to install.
static int explain_missing(const char *cc, kg_error *err) {
    return kg_fail(err, KG_ERR_CANNOT, "no C compiler `%s` here: install gcc or set CC", cc);
}

int kg_build_c(const kg_build_job *j, kg_artifact *out, kg_error *err) {
    char *source = NULL;
    if (kg_build_write(j, "candidate.c", j->c->source, j->c->source_len, &source, err)) return -1;
    free(source);
    const char *given = getenv("CC");
    char *words = kg_strdup(given && *given ? given : "cc"), *folder = kg_install_folder();
    char *include = kg_format("-I%s/include", folder);
    // -g1: which line an instruction is of, for the diagnosis.
    char *ours[] = {"-O3",         "-g1", "-march=native", "-fopenmp", "-std=gnu17", "-shared", "-fPIC", include,
                    "candidate.c", "-o",  "candidate.so",  "-lm",      NULL};
    char **argv = command(words, ours);
    kg_error why = {0};
    int failed = kg_build_compile(j, argv, "candidate.so", out, &why);
    if (failed && why.code == KG_ERR_CANNOT) explain_missing(argv[0], err);
    else if (failed) kg_fail(err, why.code, "%s", why.text);
    kg_error_clear(&why);
    free(argv);
    free(include);
    free(folder);
    free(words);
    return failed;
}
