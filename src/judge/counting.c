// It writes "ready" for every round, goes on when it gets a byte, and ends with a line of JSON (src/counters/main.c).
#include "judge/counting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/process.h"

#define MOST_BYTES  65536  // of all it says
#define MOST_ROUNDS 8
#define LOOK_S      0.2  // how often an interruption is seen
#define END_S       2.0  // it has to end by itself, before it is killed

typedef struct {
    int out, control, pid;
    double deadline;
    kg_text said;
    size_t read;  // of it, up to the next line
} talk;

// 1: more came; 0: nothing will.
static int hear(talk *t) {
    char buffer[4096];
    while (kg_now() < t->deadline && !kg_interrupted() && t->said.len < MOST_BYTES) {
        struct pollfd p = {.fd = t->out, .events = POLLIN};
        const int ready = poll(&p, 1, (int)(LOOK_S * 1e3));
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t n = ready > 0 ? kg_read(t->out, buffer, sizeof buffer) : 0;
        if (n <= 0) return 0;
        kg_text_add_bytes(&t->said, buffer, (size_t)n);
        return 1;
    }
    return 0;
}

// The next whole line; false: there is none.
static bool next_line(talk *t, kg_line *line) {
    for (;;) {
        const char *from = t->said.data ? t->said.data + t->read : NULL;
        const char *end = from ? memchr(from, '\n', t->said.len - t->read) : NULL;
        if (end) {
            *line = (kg_line){from, (size_t)(end - from)};
            t->read += line->n + 1;
            return true;
        }
        if (!hear(t)) return false;
    }
}

static int start(const kg_counting *c, talk *t) {
    int out[2], control[2];
    if (pipe2(out, O_CLOEXEC)) return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control)) return close(out[0]), close(out[1]), -1;
    kg_process p = {.argv = c->argv, .env = c->env, .out = out[1], .control = control[1]};
    const int failed = kg_process_start(&p, &t->pid, NULL);
    close(out[1]);
    close(control[1]);
    t->out = out[0];
    t->control = control[0];
    return failed;
}

static char *converse(const kg_counting *c, talk *t) {
    static const char ready[] = "ready";
    kg_line line;
    for (int rounds = 0; next_line(t, &line);) {
        if (line.n && line.p[0] == '{') return kg_format("%.*s", (int)line.n, line.p);
        if (line.n != sizeof ready - 1 || memcmp(line.p, ready, line.n) != 0) continue;  // a library's words
        if (++rounds > MOST_ROUNDS || c->run(c->ctx) || send(t->control, "\n", 1, MSG_NOSIGNAL) != 1) return NULL;
    }
    return NULL;
}

char *kg_count_with(const kg_counting *c) {
    talk t = {.out = -1, .control = -1, .deadline = kg_now() + c->limit_s};
    char *answer = start(c, &t) ? NULL : converse(c, &t);
    if (t.control >= 0) close(t.control);
    if (t.pid > 0) free(kg_process_end(t.pid, !answer, END_S));
    if (t.out >= 0) close(t.out);
    kg_text_free(&t.said);
    return answer;
}
