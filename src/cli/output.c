// Where results and messages go.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

int kg_cli_error(kg_error *err) {
    int code = err->code == KG_ERR_USAGE ? 2 : 3;
    char *safe = kg_safe(err->text ? err->text : "unknown error");
    kg_progress_clear();
    fprintf(stderr, "kgate: %s\n", safe);
    free(safe);
    kg_error_clear(err);
    return code;
}

void kg_cli_note(const char *fmt, ...) {
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0) text = NULL;
    va_end(ap);
    char *safe = kg_safe(text ? text : "");
    kg_progress_clear();
    fprintf(stderr, "kgate: %s\n", safe);
    free(safe);
    free(text);
}

bool kg_cli_color(FILE *to) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino && S_ISREG(x.st_mode);
}

int kg_cli_output(const kg_options *o, FILE **out, kg_error *err) {
    *out = stdout;
    if (!o->output || !strcmp(o->output, "-")) return 0;
    for (size_t i = 0; i < o->n_args; i++)
        if (same_file(o->output, o->args[i]))
            return kg_fail(err, KG_ERR_USAGE, "-o %s: that is a candidate: it would be written over", o->output);
    *out = fopen(o->output, "we");
    if (*out) return 0;
    return kg_fail(err, KG_ERR_CANNOT, "-o %s: cannot be written: %s", o->output, strerror(errno));
}

int kg_cli_output_close(FILE *f, kg_error *err) {
    bool failed = ferror(f) != 0;
    if (f == stdout) failed |= fflush(f) != 0;
    else failed |= fclose(f) != 0;
    return failed ? kg_fail(err, KG_ERR_CANNOT, "the results could not be written: %s", strerror(errno)) : 0;
}

int kg_cli_store(const kg_options *o, bool read_only, kg_database **out, kg_error *err) {
    char *path = o->db ? kg_strdup(o->db) : kg_store_default_path();
    int result = kg_store_open(path, read_only, out, err);
    free(path);
    return result;
}
