// Starts and ends runners: kgate-runner by itself, Python runners by forking a parent that has imported torch.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"
#include "judge/scratch.h"
#include "judge/session.h"
#include "runner/protocol.h"

#define REAP_S 5.0  // a killed process that is still there after this is stuck in the kernel

struct kg_launcher {
    char *folder;  // holds kgate-runner, libkgate-runner.so and python/
    char *python;
    double start_timeout_s;
    bool interpret;
    int zygote, zygote_pid;  // socket and process of the Python parent; -1 and 0 until the first Python runner
    int zygote_log;          // what the interpreter says on stderr
    char *info;              // its versions, JSON text
    char *imported;          // what it has imported on request; NULL
};

static const char *first_of(const char *a, const char *b, const char *c) { return a && *a ? a : b && *b ? b : c; }

int kg_launcher_open(const kg_launcher_options *o, kg_launcher **out, kg_error *err) {
    kg_scratch_sweep();
    kg_launcher *l = kg_alloc(sizeof *l);
    l->folder = kg_install_folder();
    l->python = kg_strdup(first_of(o->python, getenv("KGATE_PYTHON"), "python3"));
    l->start_timeout_s = o->start_timeout_s > 0 ? o->start_timeout_s : 120;
    l->interpret = o->interpret;
    l->zygote = l->zygote_log = -1;
    char *runner = kg_format("%s/kgate-runner", l->folder);
    int missing = access(runner, X_OK);
    if (missing)
        kg_fail(err, KG_ERR_CANNOT, "%s: %s: set KGATE_LIBEXEC to the folder that holds kgate-runner", runner,
                strerror(errno));
    free(runner);
    if (missing) return kg_launcher_close(l), -1;
    *out = l;
    return 0;
}

// See placement.h; who set it themselves is left alone. NULL: nothing to add.
static char *bound_threads(void) {
    static char bind[] = "OMP_PROC_BIND=true";
    return getenv("OMP_PROC_BIND") ? NULL : bind;
}

// ---- native runners -----------------------------------------------------------------------------
static int socket_pair(int pair[2], kg_error *err) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) return 0;
    return kg_fail(err, KG_ERR_CANNOT, "socketpair: %s", strerror(errno));
}

static int spawn_native(kg_launcher *l, const char *scratch, int theirs, int *pid, kg_error *err) {
    char *program = kg_format("%s/kgate-runner", l->folder);
    char *output = kg_format("%s/output.log", scratch);
    char *tmp = kg_format("TMPDIR=%s", scratch), *cache = kg_format("CUDA_CACHE_PATH=%s", scratch);
    int log = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    char *argv[] = {program, NULL}, *env[] = {tmp, cache, bound_threads(), NULL};
    kg_process p = {.argv = argv, .env = env, .folder = scratch, .out = log, .control = theirs};
    int failed =
        log < 0 ? kg_fail(err, KG_ERR_CANNOT, "%s: %s", output, strerror(errno)) : kg_process_start(&p, pid, err);
    if (log >= 0) close(log);
    free(program);
    free(output);
    free(tmp);
    free(cache);
    return failed;
}

// ---- the Python parent --------------------------------------------------------------------------
static int start_zygote(kg_launcher *l, int theirs, kg_error *err) {
    char *script = kg_format("%s/python/zygote.py", l->folder), *lib = kg_format("%s/libkgate-runner.so", l->folder);
    // -u -B: nothing is buffered or written beside the scripts.
    char *argv[] = {l->python, "-uB", script, "--lib", lib, "--control-fd", "3", l->interpret ? "--interpret" : NULL,
                    NULL};
    char *env[] = {bound_threads(), NULL};
    kg_process p = {
        .argv = argv, .env = env, .out = l->zygote_log, .control = theirs, .search_path = true, .ends_itself = true};
    kg_error why = {0};
    int failed = kg_process_start(&p, &l->zygote_pid, &why);
    if (failed) kg_fail(err, KG_ERR_CANNOT, "no Python: %s: install it or name one with --python", why.text);
    kg_error_clear(&why);
    free(script);
    free(lib);
    return failed;
}

// The last line that the interpreter wrote on stderr; owned by the caller, NULL when it said nothing.
static char *last_words(int log) {
    char tail[2048];
    off_t size = lseek(log, 0, SEEK_END);
    off_t from = size > (off_t)sizeof tail - 1 ? size - (off_t)sizeof tail + 1 : 0;
    ssize_t n = size > 0 ? pread(log, tail, sizeof tail - 1, from) : 0;
    while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' ')) n--;
    if (n <= 0) return NULL;
    tail[n] = '\0';
    char *line = strrchr(tail, '\n');
    return kg_strdup(line ? line + 1 : tail);
}

static void stop_zygote(kg_launcher *l) {
    if (l->zygote >= 0) close(l->zygote);
    if (l->zygote_pid > 0) free(kg_process_end(l->zygote_pid, true, REAP_S));
    if (l->zygote_log >= 0) close(l->zygote_log);
    l->zygote = l->zygote_log = -1;
    l->zygote_pid = 0;
    free(l->imported);
    l->imported = NULL;
}

// Asks the Python parent; *answer is owned by the caller.
static int ask(kg_launcher *l, json_t *request, int fd, double timeout_s, json_t **answer, kg_error *err) {
    kg_packet p;
    int failed = kg_packet_send(l->zygote, request, &fd, fd >= 0 ? 1 : 0, timeout_s, err) ||
                 kg_packet_receive(l->zygote, timeout_s, &p, err);
    json_decref(request);
    if (failed) return -1;
    *answer = json_incref(p.json);
    kg_packet_free(&p);
    const char *error = json_string_value(json_object_get(*answer, "error"));
    if (!error || !json_is_false(json_object_get(*answer, "ok"))) return 0;
    kg_fail(err, KG_ERR_CANNOT, "%s", error);
    json_decref(*answer);
    return -1;
}

static int explain_zygote(kg_launcher *l, kg_error *err) {
    char *words = last_words(l->zygote_log);
    stop_zygote(l);
    kg_error why = {KG_ERR_CANNOT, err ? err->text : NULL};
    kg_error made = {0};
    kg_fail(&made, KG_ERR_CANNOT, "Python (%s) did not start: %s: see --python", l->python,
            words      ? words
            : why.text ? why.text
                       : "unknown");
    free(words);
    kg_error_clear(err);
    if (err) *err = made;
    else kg_error_clear(&made);
    return -1;
}

static int open_zygote(kg_launcher *l, kg_error *err) {
    if (l->zygote >= 0) return 0;
    int pair[2];
    if (socket_pair(pair, err)) return -1;
    l->zygote = pair[0];
    l->zygote_log = memfd_create("kgate-python", MFD_CLOEXEC);
    int failed = l->zygote_log < 0 ? kg_fail(err, KG_ERR_CANNOT, "memfd_create: %s", strerror(errno))
                                   : start_zygote(l, pair[1], err);
    close(pair[1]);
    if (failed) return stop_zygote(l), -1;
    json_t *answer = NULL;
    if (ask(l, json_pack("{s:s}", "op", "info"), -1, l->start_timeout_s, &answer, err)) return explain_zygote(l, err);
    free(l->info);
    char *text = json_dumps(answer, JSON_COMPACT);
    l->info = text ? text : kg_strdup("{}");
    json_decref(answer);
    return 0;
}

const char *kg_launcher_python_info(kg_launcher *l, kg_error *err) { return open_zygote(l, err) ? NULL : l->info; }

int kg_launcher_import(kg_launcher *l, const char *package, kg_error *err) {
    if (open_zygote(l, err)) return -1;
    if (l->imported && !strcmp(l->imported, package)) return 0;
    json_t *answer = NULL;
    kg_error why = {0};
    if (ask(l, json_pack("{s:s, s:s}", "op", "import", "name", package), -1, l->start_timeout_s, &answer, &why)) {
        kg_fail(err, KG_ERR_CANNOT, "%s", why.text);
        if (why.code != KG_ERR_CANNOT) stop_zygote(l);
        kg_error_clear(&why);
        return -1;
    }
    json_decref(answer);
    free(l->imported);
    l->imported = kg_strdup(package);
    return 0;
}

static int spawn_python(kg_launcher *l, const char *scratch, int theirs, int *pid, kg_error *err) {
    if (open_zygote(l, err)) return -1;
    json_t *answer = NULL;
    kg_error why = {0};
    if (ask(l, json_pack("{s:s, s:s}", "op", "spawn", "scratch", scratch), theirs, l->start_timeout_s, &answer, &why)) {
        kg_fail(err, why.code, "%s", why.text);
        if (why.code != KG_ERR_CANNOT) stop_zygote(l);  // it said nothing: the next candidate gets a fresh one
        kg_error_clear(&why);
        return -1;
    }
    json_int_t n = json_integer_value(json_object_get(answer, "pid"));
    json_decref(answer);
    if (n < 2 || n > INT_MAX) return kg_fail(err, KG_ERR_INTERNAL, "the Python parent gave no process");
    *pid = (int)n;
    return 0;
}

const char *kg_launcher_named_python(const kg_launcher *l) {
    return strcmp(l->python, "python3") != 0 ? l->python : NULL;
}

int kg_launcher_spawn(kg_launcher *l, bool python, const char *scratch, int *socket, int *pid, kg_error *err) {
    int pair[2];
    if (socket_pair(pair, err)) return -1;
    int failed = python ? spawn_python(l, scratch, pair[1], pid, err) : spawn_native(l, scratch, pair[1], pid, err);
    close(pair[1]);
    if (failed) return close(pair[0]), -1;
    *socket = pair[0];
    return 0;
}

// ---- ends ---------------------------------------------------------------------------------------
// Only the Python parent can wait for its children: it is asked how one ended.
static char *reap_python(kg_launcher *l, int pid, bool kill_first) {
    json_t *answer = NULL;
    json_t *request = json_pack("{s:s, s:i, s:b}", "op", "reap", "pid", pid, "kill", (int)kill_first);
    if (l->zygote < 0) {
        json_decref(request);
        return kg_strdup("the Python parent ended");
    }
    // The parent waits up to 10 s for a child to end.
    if (ask(l, request, -1, 3 * REAP_S, &answer, NULL)) return kg_strdup("unknown");
    const char *how = json_string_value(json_object_get(answer, "how"));
    char *text = kg_strdup(how ? how : "still running");
    json_decref(answer);
    return text;
}

char *kg_launcher_reap(kg_launcher *l, int pid, bool kill_first) {
    if (pid < 2) return kg_strdup("not started");
    if (kg_process_is_child(pid)) return kg_process_end(pid, kill_first, REAP_S);
    if (kill_first) kill(-pid, SIGKILL);
    return reap_python(l, pid, kill_first);
}

void kg_launcher_close(kg_launcher *l) {
    if (!l) return;
    stop_zygote(l);
    free(l->folder);
    free(l->python);
    free(l->info);
    free(l);
}
