// -o FILE: never over what the command reads, and nothing of an earlier file is lost before there is a result.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

struct kg_output {
    FILE *stream;
    int fd;           // -1: standard output
    char *path;       // to take away again what was made for nothing
    bool made;        // the file was not there before
    bool cut, leave;  // its earlier content is gone; it is to stay
};

// The folder's real name and the file's: also for a file that is not there yet. Owned by the caller.
static char *place_of(const char *path) {
    char *real = realpath(path, NULL);
    if (real) return real;
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? kg_strdup(".") : kg_format("%.*s", slash == path ? 1 : (int)(slash - path), path);
    real = realpath(folder, NULL);
    char *place = kg_format("%s/%s", real ? real : folder, slash ? slash + 1 : path);
    free(real);
    free(folder);
    return place;
}

static bool same_place(const char *a, const char *b) {
    struct stat x, y;
    if (!stat(a, &x) && !stat(b, &y)) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    char *p = place_of(a), *q = place_of(b);
    bool same = !strcmp(p, q);
    free(p);
    free(q);
    return same;
}

static bool is_database(const kg_options *o, const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char *db = o->db ? kg_strdup(o->db) : kg_store_default_path();
    bool is = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !is; i++) {
        char *file = kg_format("%s%s", db, ends[i]);
        is = same_place(file, path);
        free(file);
    }
    free(db);
    return is;
}

int kg_cli_may_write(const kg_options *o, const char *path, kg_error *err) {
    const char *what = is_database(o, path)                                   ? "the database of results"
                       : o->baseline && kg_candidate_reads(o->baseline, path) ? "the baseline"
                                                                              : NULL;
    for (size_t i = 0; i < o->n_args && !what; i++)
        if (kg_candidate_reads(o->args[i], path)) what = "a candidate, or a list of them";
    if (!what) return 0;
    return kg_fail(err, KG_ERR_USAGE, "-o %s: that is %s: it would be written over", path, what);
}

static ssize_t write_bytes(void *self, const char *bytes, size_t n) {
    kg_output *o = self;
    if (o->leave) return (ssize_t)n;
    struct stat st;
    if (!o->cut && !fstat(o->fd, &st) && S_ISREG(st.st_mode) && ftruncate(o->fd, 0)) return 0;
    o->cut = true;
    ssize_t written;
    do written = write(o->fd, bytes, n);
    while (written < 0 && errno == EINTR);
    return written < 0 ? 0 : written;
}

static int open_file(kg_output *o, kg_error *err) {
    struct stat st;
    o->made = stat(o->path, &st) != 0;
    o->fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (o->fd < 0) return kg_fail(err, KG_ERR_CANNOT, "-o %s: cannot be written: %s", o->path, strerror(errno));
    o->stream = fopencookie(o, "w", (cookie_io_functions_t){.write = write_bytes});
    return o->stream ? 0 : kg_fail(err, KG_ERR_CANNOT, "-o %s: %s", o->path, strerror(errno));
}

static void output_free(kg_output *o) {
    if (o->fd >= 0) close(o->fd);
    free(o->path);
    free(o);
}

int kg_cli_output(const kg_options *o, kg_output **out, kg_error *err) {
    bool to_file = o->output && strcmp(o->output, "-") != 0;
    if (to_file && kg_cli_may_write(o, o->output, err)) return -1;
    *out = kg_alloc(sizeof **out);
    **out = (kg_output){.stream = to_file ? NULL : stdout, .fd = -1};
    if (!to_file) return 0;
    (*out)->path = kg_strdup(o->output);
    // A new file in a folder of candidates would be judged with them.
    if (!open_file(*out, err) && (!(*out)->made || !kg_cli_may_write(o, o->output, err))) return 0;
    if ((*out)->stream) fclose((*out)->stream);
    if ((*out)->made && (*out)->fd >= 0) unlink((*out)->path);
    output_free(*out);
    *out = NULL;
    return -1;
}

FILE *kg_output_stream(kg_output *out) { return out->stream; }

void kg_output_leave(kg_output *out) { out->leave = out->fd >= 0 && !out->cut; }

int kg_output_close(kg_output *o, kg_error *err) {
    bool failed = ferror(o->stream) != 0, file = o->fd >= 0;
    if (fflush(o->stream)) failed = true;
    int why = errno;
    if (file && !o->cut && !o->leave) write_bytes(o, "", 0);  // a result that is empty
    if (file) fclose(o->stream);
    if (file && o->leave && o->made) unlink(o->path);
    if (file && close(o->fd)) failed = true, why = errno;
    o->fd = -1;
    output_free(o);
    return failed ? kg_fail(err, KG_ERR_CANNOT, "the results could not be written: %s", strerror(why)) : 0;
}
