#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static void text_reserve(kg_text *t, size_t more) {
    if (t->len + more + 1 <= t->cap) return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap < t->len + more + 1) cap *= 2;
    t->data = kg_realloc(t->data, cap);
    t->cap = cap;
}

void kg_text_addv(kg_text *t, const char *fmt, va_list ap) {
    if (!fmt) return;  // also tells the sanitizers' checks and -Wformat-truncation the same thing
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) return;
    text_reserve(t, (size_t)n);
    vsnprintf(t->data + t->len, (size_t)n + 1, fmt, ap);
    t->len += (size_t)n;
}

void kg_text_add(kg_text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    kg_text_addv(t, fmt, ap);
    va_end(ap);
}

void kg_text_add_bytes(kg_text *t, const char *bytes, size_t n) {
    text_reserve(t, n);
    if (n) memcpy(t->data + t->len, bytes, n);
    t->len += n;
    t->data[t->len] = 0;
}

void kg_text_free(kg_text *t) {
    free(t->data);
    *t = (kg_text){0};
}

char *kg_format(const char *fmt, ...) {
    kg_text t = {0};
    text_reserve(&t, 0);
    t.data[0] = 0;
    va_list ap;
    va_start(ap, fmt);
    kg_text_addv(&t, fmt, ap);
    va_end(ap);
    return t.data;
}

static int read_all(int fd, const char *path, size_t limit, kg_text *t, kg_error *err) {
    char chunk[65536];
    for (;;) {
        const ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return kg_fail(err, KG_ERR_USAGE, "cannot read %s: %s", path, strerror(errno));
        if (n == 0) return 0;
        if (t->len + (size_t)n > limit)
            return kg_fail(err, KG_ERR_USAGE, "%s is larger than %zu bytes: give a smaller file", path, limit);
        kg_text_add_bytes(t, chunk, (size_t)n);
    }
}

int kg_read_file(const char *path, size_t limit, char **data, size_t *size, kg_error *err) {
    // O_NONBLOCK so that opening a FIFO named by mistake does not wait for a writer.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return kg_fail(err, KG_ERR_USAGE, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return kg_fail(err, KG_ERR_USAGE, "%s is a folder: name a file in it", path);
    }
    kg_text t = {0};
    kg_text_add_bytes(&t, "", 0);
    const int rc = read_all(fd, path, limit, &t, err);
    close(fd);
    if (rc) {
        kg_text_free(&t);
        return rc;
    }
    *data = t.data;
    if (size) *size = t.len;
    return 0;
}
