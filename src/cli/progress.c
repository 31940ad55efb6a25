// One line on stderr that says what is being done, rewritten in place; only where a person looks on.
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

static size_t columns(void) {
    struct winsize w;
    return !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 10 ? w.ws_col - 1u : 79;
}

static bool watched(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void kg_progress(const char *fmt, ...) {
    if (!watched()) return;
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0) text = NULL;
    va_end(ap);
    char *safe = kg_safe(text ? text : "");
    char *line = kg_shorten_end(safe, columns());  // a second line of it would stay
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    free(line);
    free(safe);
    free(text);
}

void kg_progress_clear(void) {
    if (!watched()) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
