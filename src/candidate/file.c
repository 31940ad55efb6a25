// One file, or standard input, to one candidate.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "candidate/internal.h"

#define PIPE_PATIENCE_MS 10000

void kg_candidate_free(kg_candidate *c) {
    free(c->path);
    free(c->file);
    free(c->source);
    free(c->task);
    free(c->entry);
    free(c->launch);
    free(c->method);
    free(c->round);
    kg_error_clear(&c->problem);
    memset(c, 0, sizeof *c);
}

static void hash(kg_candidate *c) {
    SHA2_CTX ctx;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&ctx);
    SHA256Update(&ctx, (const uint8_t *)c->source, c->source_len);
    SHA256Final(digest, &ctx);
    for (size_t i = 0; i < sizeof digest; i++) {
        c->sha256[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        c->sha256[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
}

static bool blank(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n\f\v", s[i]) || !s[i]) return false;
    return true;
}

// A cubin has no comments: its header is read from the text file FILE.kgate beside it.
static void read_sidecar(kg_candidate *c) {
    char *path = kg_format("%s.kgate", c->file), *text;
    size_t n;
    if (!kg_read_file(path, KG_SOURCE_LIMIT, &text, &n, NULL)) {
        kg_header_read(text, n, c);
        free(text);
    }
    free(path);
}

static int check_bytes(kg_candidate *c) {
    if (blank(c->source, c->source_len))
        return kg_fail(&c->problem, KG_ERR_CANDIDATE, "%s: empty: nothing to judge", c->path);
    if (c->language == KG_LANG_CUBIN && (c->source_len < 4 || memcmp(c->source, "\177ELF", 4) != 0))
        return kg_fail(&c->problem, KG_ERR_CANDIDATE, "%s: not a cubin: no ELF header", c->path);
    if (c->language != KG_LANG_CUBIN && memchr(c->source, 0, c->source_len))
        return kg_fail(&c->problem, KG_ERR_CANDIDATE,
                       "%s: a binary file, not source: give C, CUDA or Python source, PTX, or a .cubin", c->path);
    if (c->language == KG_LANG_UNKNOWN)
        return kg_fail(&c->problem, c->listed ? KG_ERR_CANDIDATE : KG_ERR_USAGE,
                       "%s: its language shows neither in the name nor in the content: say --lang "
                       "c|cuda|ptx|triton|tilelang|python, or \"language\" in the line of a list",
                       c->path);
    return 0;
}

void kg_candidate_finish(kg_candidate *c, const char *task, kg_language language, const char *name) {
    hash(c);
    kg_language hint = language != KG_LANG_UNKNOWN ? language : name ? kg_language_by_extension(name) : KG_LANG_UNKNOWN;
    // A language that was stated stays; .py alone says only that it is Python of some kind.
    c->language = language != KG_LANG_UNKNOWN ? language : kg_language_sniff(c->source, c->source_len, hint);
    char *listed_task = c->task;  // of a JSON line: weaker than a comment in the source
    c->task = task ? kg_utf8(task, strlen(task)) : NULL;
    if (c->language != KG_LANG_CUBIN) kg_header_read(c->source, c->source_len, c);
    else if (c->file) read_sidecar(c);
    if (!c->task && listed_task) c->task = kg_strdup(listed_task);
    if (!c->task && name) c->task = kg_stem(name);
    free(listed_task);
    check_bytes(c);
}

// Everything a stream gives, up to the limit.
static int read_stream(FILE *f, kg_candidate *c) {
    kg_text t = {0};
    char *chunk = kg_alloc(1 << 16);
    for (size_t n; t.len <= KG_SOURCE_LIMIT && (n = fread(chunk, 1, 1 << 16, f));) kg_text_add_bytes(&t, chunk, n);
    free(chunk);
    c->source = t.data ? t.data : kg_strdup("");
    c->source_len = t.len;
    if (ferror(f)) return kg_fail(&c->problem, KG_ERR_CANNOT, "%s: cannot be read: %s", c->path, strerror(errno));
    if (t.len > KG_SOURCE_LIMIT)
        return kg_fail(&c->problem, KG_ERR_CANDIDATE, "%s: longer than 64 MiB: no kernel source is", c->path);
    return 0;
}

FILE *kg_open_pipe(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) return NULL;
    // Named by mistake, a pipe that nobody writes to must not hold up the run.
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool silent = S_ISFIFO(st.st_mode) && poll(&p, 1, PIPE_PATIENCE_MS) <= 0;
    if (silent) errno = ETIMEDOUT;
    if (silent || fcntl(fd, F_SETFL, 0)) {
        close(fd);
        return NULL;
    }
    return fdopen(fd, "r");
}

static int read_pipe(const char *path, kg_candidate *c) {
    FILE *f = kg_open_pipe(path);
    const char *why = errno == ETIMEDOUT ? "nobody writes to this pipe" : strerror(errno);
    if (!f) return kg_fail(&c->problem, KG_ERR_CANNOT, "%s: cannot be read: %s", c->path, why);
    int result = read_stream(f, c);
    fclose(f);
    return result;
}

// A pipe is what a shell's <(command) is: it is waited for, where a plain file is read at once.
static int read_path(const char *path, kg_candidate *c) {
    struct stat st;
    kg_error e = {0};
    if (stat(path, &st)) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return kg_fail(&c->problem, absent ? KG_ERR_USAGE : KG_ERR_CANNOT, "%s: %s", c->path,
                       absent ? "no such file: check the path" : strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) return read_pipe(path, c);
    if (!kg_read_file(path, KG_SOURCE_LIMIT, &c->source, &c->source_len, &e)) return 0;
    kg_fail(&c->problem, KG_ERR_CANNOT, "%s", e.text);
    kg_error_clear(&e);
    return -1;
}

void kg_candidate_from_file(const char *path, const char *task, kg_language language, bool listed, kg_candidate *c) {
    memset(c, 0, sizeof *c);
    c->path = kg_utf8(path, strlen(path));
    c->file = kg_strdup(path);
    c->listed = listed;
    if (!read_path(path, c)) {
        kg_candidate_finish(c, task, language, path);
        return;
    }
    // Keep what is known, so that the record of the run says which task lacks an answer.
    c->task = task ? kg_utf8(task, strlen(task)) : kg_stem(path);
    c->language = language != KG_LANG_UNKNOWN ? language : kg_language_by_extension(path);
}

void kg_candidate_from_stream(FILE *f, const char *task, kg_language language, kg_candidate *c) {
    memset(c, 0, sizeof *c);
    c->path = kg_strdup("-");
    if (!read_stream(f, c)) kg_candidate_finish(c, task, language, NULL);
}

void kg_candidate_from_text(const char *name, const char *task, kg_language language, const char *source,
                            kg_candidate *c) {
    memset(c, 0, sizeof *c);
    c->path = kg_utf8(name, strlen(name));
    c->source = kg_strdup(source);
    c->source_len = strlen(source);
    kg_candidate_finish(c, task, language, NULL);
}
