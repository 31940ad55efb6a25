// kgate-runner: loads and calls one candidate for the judge that started it. Not for people to start.
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runner/runner.h"

typedef struct {
    int fd;
    bool probe;
} arguments;

static const struct argp_option options[] = {
    {"control-fd", 'c', "N", 0, "the judge's socket (default 3)", 0},
    {"probe-sandbox", 'p', NULL, 0, "print what the sandbox can hold here, and end", 0},
    {0}};

static error_t parse_option(int key, char *value, struct argp_state *state) {
    arguments *a = state->input;
    char *end = NULL;
    if (key == 'p') a->probe = true;
    else if (key == 'c') {
        a->fd = (int)strtol(value, &end, 10);
        if (end == value || *end || a->fd < 0) argp_error(state, "--control-fd takes a descriptor's number");
    } else return ARGP_ERR_UNKNOWN;
    return 0;
}

// In a sanitizer's build: a candidate's crash must end the process as it ends it elsewhere, its leaks are its own, and
// the sandbox refuses the leak check's ptrace. OpenMP's runtime is not built for the thread sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEP_SIGNALS "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:handle_abort=0"
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0:" KEEP_SIGNALS; }
const char *__tsan_default_options(void) { return "report_bugs=0:" KEEP_SIGNALS; }
#endif

int main(int argc, char **argv) {
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .doc = "Runs one candidate for kgate, in a sandbox. kgate starts it."};
    arguments a = {.fd = 3};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.probe) {
        char *text = kg_sandbox_probe();
        puts(text);
        free(text);
        return 0;
    }
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(a.fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET) {
        fprintf(stderr, "kgate-runner: descriptor %d is no judge's socket: kgate starts this program itself\n", a.fd);
        return 2;
    }
    return kg_runner_serve(a.fd, NULL);
}
