// Messages, and which database.
#include <stdlib.h>
#include <string.h>
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

int kg_cli_unknown_task(const char *before, const char *name, kg_error *err) {
    char *near = kg_task_suggest(name);
    kg_fail(err, KG_ERR_USAGE, "%s%s: unknown task: %s", before, *name ? name : "''",
            near ? near : "`kgate task list` names all");
    free(near);
    return -1;
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

bool kg_cli_noted(const char *progress) {
    const size_t n = strlen(KG_NOTE);
    if (strncmp(progress, KG_NOTE, n) != 0) return false;
    kg_cli_note("%s", progress + n);
    return true;
}

bool kg_cli_color(FILE *to) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}

int kg_cli_store(const kg_options *o, bool read_only, kg_database **out, kg_error *err) {
    char *path = o->db ? kg_strdup(o->db) : kg_store_default_path();
    int result = kg_store_open(path, read_only, out, err);
    free(path);
    return result;
}
