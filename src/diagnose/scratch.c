// The machine code that a Python candidate's compiler left: N.ptx, N.cubin, N.sass, and N.json with numbers by the
// names of facts. The folder is the candidate's own: whatever it holds is read with care and believed as far as a hint
// goes.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "diagnose/internal.h"

#define MOST_FILES 256
#define MOST_BYTES (16u << 20)

char *kg_read_plain(int folder, const char *name, size_t *size) {
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return NULL;
    char *data = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 && (size_t)st.st_size <= MOST_BYTES) {
        data = kg_alloc((size_t)st.st_size + 1);
        *size = 0;
        for (ssize_t n; *size < (size_t)st.st_size && (n = kg_read(fd, data + *size, (size_t)st.st_size - *size)) > 0;)
            *size += (size_t)n;
    }
    close(fd);
    return data;
}

static void read_numbers(kg_facts *f, const char *text, size_t size) {
    static const char *const names[] = {"registers", "local_bytes", "shared_bytes", "warps", "stages"};
    json_t *o = json_loadb(text, size, 0, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *v = json_object_get(o, names[i]);
        if (json_is_number(v)) kg_facts_at_least(f, names[i], json_number_value(v));
    }
    json_decref(o);
}

static void read_one(kg_facts *f, int folder, const char *name) {
    const char *dot = strrchr(name, '.');
    size_t size = 0;
    char *data = dot ? kg_read_plain(folder, name, &size) : NULL;
    if (data && !strcmp(dot, ".ptx")) kg_facts_from_ptx(f, data, size);
    if (data && !strcmp(dot, ".cubin")) kg_facts_from_cubin(f, data, size);
    if (data && !strcmp(dot, ".sass")) kg_facts_from_sass(f, data, size);
    if (data && !strcmp(dot, ".json")) read_numbers(f, data, size);
    free(data);
}

void kg_facts_from_scratch(kg_facts *f, const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    for (int n = 0; list && n < MOST_FILES && (e = readdir(list)); n++)
        if (e->d_name[0] != '.') read_one(f, dirfd(list), e->d_name);
    kg_facts_prefer_sass(f);
    if (list) closedir(list);
    else if (fd >= 0) close(fd);
}

kg_profile *kg_profile_from_scratch(const char *folder, const char *code, const char *file, kg_facts *f) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    size_t size = 0;
    char *samples = fd >= 0 ? kg_read_plain(fd, "samples", &size) : NULL;
    kg_profile *p = samples ? kg_profile_read(samples, code, file, f) : NULL;
    free(samples);
    if (fd >= 0) close(fd);
    return p;
}
