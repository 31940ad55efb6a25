// One run of a compiler: in the candidate's scratch folder, with limits, its words kept.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "build/internal.h"

#define LOG_BYTES    ((size_t)64 << 10)
#define MEMORY_BYTES ((size_t)16 << 30)  // address space: nvcc's front end takes a few GiB on templates

int kg_build_write(const kg_build_job *j, const char *name, const void *data, size_t size, char **path, kg_error *err) {
    *path = kg_format("%s/%s", j->scratch, name);
    int fd = open(*path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t done = 0;
    while (fd >= 0 && done < size) {
        ssize_t n = write(fd, (const char *)data + done, size - done);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) done += (size_t)n;
    }
    int code = errno;
    if (fd >= 0) close(fd);
    if (fd >= 0 && done == size) return 0;
    kg_fail(err, KG_ERR_CANNOT, "%s: %s", *path, strerror(code));
    free(*path);
    *path = NULL;
    return -1;
}

// Compilers say "error:", nvcc's linker "error   :", linkers "undefined reference".
static bool tells_error(const char *line, size_t n) {
    static const char *const signs[] = {"error:", "error :", "error   :", "undefined reference", "fatal   :"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(line, n, signs[i], strlen(signs[i]))) return true;
    return false;
}

char *kg_build_first_error(const char *log) {
    const char *last = "";
    size_t last_length = 0;
    for (const char *line = log; line && *line;) {
        size_t n = strcspn(line, "\n");
        if (tells_error(line, n)) return strndup(line, n);
        if (n) last = line, last_length = n;
        line += n + (line[n] == '\n');
    }
    return strndup(last, last_length);
}

// The compiler saw a copy called candidate.c or candidate.cu: the user's file has another name. Takes line.
static char *named(char *line, const kg_candidate *c) {
    const char *rest = strncmp(line, "candidate.", 10) ? NULL : strpbrk(line, ":(");
    const char *slash = c->file ? strrchr(c->file, '/') : NULL;
    if (!rest || !c->file) return line;
    char *said = kg_format("%s%s", slash ? slash + 1 : c->file, rest);
    free(line);
    return said;
}

static int judge_result(const kg_build_job *j, const kg_process_result *r, const char *compiler, kg_error *err) {
    if (r->timed_out)
        return kg_fail(err, KG_ERR_CANDIDATE, "%s: %s did not end within %g s", j->c->path, compiler, j->timeout_s);
    if (WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0) return 0;
    char *line = named(kg_build_first_error(r->output), j->c), *how = kg_process_describe(r->status);
    kg_fail(err, KG_ERR_CANDIDATE, "does not compile: %s", line && *line ? line : how);
    free(line);
    free(how);
    return -1;
}

int kg_build_compile(const kg_build_job *j, char *const *argv, const char *made, kg_artifact *out, kg_error *err) {
    char *tmp = kg_format("TMPDIR=%s", j->scratch);
    char *env[] = {tmp, "LC_ALL=C", NULL};
    kg_process p = {.argv = argv,
                    .env = env,
                    .folder = j->scratch,
                    .control = -1,
                    .search_path = true,
                    .memory_bytes = MEMORY_BYTES};
    kg_process_result r = {0};
    int failed = kg_process_run(&p, j->timeout_s, LOG_BYTES, &r, err);
    free(tmp);
    if (failed) return -1;
    free(out->log);
    out->log = r.output;
    if (judge_result(j, &r, argv[0], err)) return -1;
    out->artifact = kg_format("%s/%s", j->scratch, made);
    if (access(out->artifact, R_OK) == 0) return 0;
    return kg_fail(err, KG_ERR_CANDIDATE, "%s: %s ended well and made no %s", j->c->path, argv[0], made);
}
