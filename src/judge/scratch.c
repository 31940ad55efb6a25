#include "judge/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "kgate-run-"

static const char *parent(void) {
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

static void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

int kg_scratch_make(kg_scratch *out, kg_error *err) {
    *out = (kg_scratch){kg_format("%s/" PREFIX "XXXXXX", parent()), -1};
    if (mkdtemp(out->path)) {
        out->lock = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (out->lock >= 0) flock(out->lock, LOCK_EX | LOCK_NB);
        return 0;
    }
    kg_fail(err, KG_ERR_CANNOT, "cannot make a scratch folder %s: %s; set TMPDIR to a writable folder", out->path,
            strerror(errno));
    free(out->path);
    out->path = NULL;
    return -1;
}

void kg_scratch_remove(kg_scratch *s) {
    if (s->path) remove_tree(s->path);
    if (s->lock >= 0) close(s->lock);
    free(s->path);
    *s = (kg_scratch){NULL, -1};
}

// Old enough that its judge has had the time to lock it.
static bool is_left_behind(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    bool left = fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_ctime + 10 < time(NULL) &&
                flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return left;
}

void kg_scratch_sweep(void) {
    DIR *d = opendir(parent());
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
        char *path = kg_format("%s/%s", parent(), e->d_name);
        if (is_left_behind(path)) remove_tree(path);
        free(path);
    }
    if (d) closedir(d);
}
