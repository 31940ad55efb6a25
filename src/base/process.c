#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// This process's environment with `extra` in front: of two entries with one name, getenv finds the first. The list is
// owned by the caller, its texts are not.
static char **environment(char *const *extra) {
    size_t own = 0, added = 0;
    while (environ[own]) own++;
    while (extra && extra[added]) added++;
    char **all = kg_alloc((own + added + 1) * sizeof *all);
    if (added) memcpy(all, extra, added * sizeof *all);
    size_t n = added;
    for (size_t i = 0; i < own; i++) {
        size_t name = strcspn(environ[i], "=") + 1;
        bool replaced = false;
        for (size_t k = 0; k < added; k++) replaced |= strncmp(environ[i], extra[k], name) == 0;
        if (!replaced) all[n++] = environ[i];
    }
    return all;
}

// Runs in the child between fork and exec: nothing here may allocate or lock.
static void become(const kg_process *p, char **env, pid_t parent, int report) {
    int null = open("/dev/null", O_RDWR);
    // Above the numbers that dup2 overwrites below.
    int out = fcntl(p->out, F_DUPFD, 16), control = p->control >= 0 ? fcntl(p->control, F_DUPFD, 16) : -1;
    int back = fcntl(report, F_DUPFD, 16);
    setpgid(0, 0);
    if (!p->ends_itself) prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool ready = getppid() == parent && (!p->folder || chdir(p->folder) == 0);
    dup2(null, 0);
    dup2(out, 1);
    dup2(out, 2);
    if (control >= 0) dup2(control, 3);
    dup2(back, 4);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, 5, ~0u, 0);
    if (control < 0) close(3);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    // Last, because a sanitizer's runtime still maps memory of its own until here.
    if (p->memory_bytes) setrlimit(RLIMIT_AS, &(struct rlimit){p->memory_bytes, p->memory_bytes});
    if (ready && p->search_path) execvpe(p->argv[0], p->argv, env);
    else if (ready) execve(p->argv[0], p->argv, env);
    int code = errno;
    ssize_t n = write(4, &code, sizeof code);
    (void)n;
    _exit(127);
}

ssize_t kg_read(int fd, void *to, size_t n) {
    ssize_t got;
    do got = read(fd, to, n);
    while (got < 0 && errno == EINTR);
    return got;
}

int kg_wait(int pid, int *status) {
    int ended;
    do ended = waitpid(pid, status, 0);
    while (ended < 0 && errno == EINTR);
    return ended;
}

int kg_process_start(const kg_process *p, int *pid, kg_error *err) {
    int report[2];
    if (pipe2(report, O_CLOEXEC)) return kg_fail(err, KG_ERR_CANNOT, "pipe: %s", strerror(errno));
    char **env = environment(p->env);
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) become(p, env, parent, report[1]);
    int fork_error = errno;
    free(env);
    close(report[1]);
    int code = 0;
    ssize_t n = child > 0 ? kg_read(report[0], &code, sizeof code) : 0;  // end of file: exec went well
    close(report[0]);
    if (child < 0) return kg_fail(err, KG_ERR_CANNOT, "starting %s: %s", p->argv[0], strerror(fork_error));
    if (n == 0) return setpgid(child, child), *pid = child, 0;
    kill(child, SIGKILL);
    kg_wait(child, NULL);
    return kg_fail(err, KG_ERR_CANNOT, "starting %s: %s", p->argv[0], strerror(code));
}

char *kg_process_describe(int status) {
    if (WIFEXITED(status)) return kg_format("exited with status %d", WEXITSTATUS(status));
    if (!WIFSIGNALED(status)) return kg_strdup("stopped");
    const char *name = sigabbrev_np(WTERMSIG(status));
    return name ? kg_format("killed by SIG%s", name) : kg_format("killed by signal %d", WTERMSIG(status));
}

bool kg_process_is_child(int pid) {
    siginfo_t info;
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// True when the child ended within the time; it is not yet waited for, so its number and group stay its own.
static bool ended(int pid, double patience_s) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double deadline = kg_now() + patience_s;
        while (poll(&p, 1, (int)(patience_s * 1e3)) < 0 && errno == EINTR && kg_now() < deadline) continue;
        close(fd);
        return p.revents & POLLIN;
    }
    for (double deadline = kg_now() + patience_s;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid) return true;
        if (kg_now() > deadline) return false;
        usleep(1000);
    }
}

char *kg_process_end(int pid, bool kill_first, double patience_s) {
    bool gone = !kill_first && ended(pid, patience_s);
    kill(-pid, SIGKILL);  // the rest of the group too
    if (!gone && !ended(pid, patience_s)) return kg_strdup("killed, and still there: stuck in the kernel");
    int status = 0;
    if (kg_wait(pid, &status) != pid) return kg_strdup("unknown");
    return kg_process_describe(status);
}

#define LOOK_S 0.2  // how often somebody who waits for a child sees that he was interrupted

// Reads until the end of file or of the time; keeps `limit` bytes and drops the rest. True: the end of file came.
static bool read_output(int fd, double deadline, size_t limit, kg_text *t) {
    char buffer[4096];
    for (;;) {
        double left = deadline - kg_now();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left <= 0 || kg_interrupted()) return false;
        int ready = poll(&p, 1, (int)((left < LOOK_S ? left : LOOK_S) * 1e3) + 1);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        if (ready < 0) return false;
        ssize_t n = kg_read(fd, buffer, sizeof buffer);
        if (n <= 0) return true;
        size_t keep = limit - t->len < (size_t)n ? limit - t->len : (size_t)n;
        kg_text_add_bytes(t, buffer, keep);
    }
}

int kg_process_run(const kg_process *p, double timeout_s, size_t limit, kg_process_result *out, kg_error *err) {
    int ends[2], pid = 0;
    if (pipe2(ends, O_CLOEXEC)) return kg_fail(err, KG_ERR_CANNOT, "pipe: %s", strerror(errno));
    kg_process with_pipe = *p;
    with_pipe.out = ends[1];
    double start = kg_now();
    int failed = kg_process_start(&with_pipe, &pid, err);
    close(ends[1]);
    kg_text t = {0};
    if (!failed) {
        bool finished = read_output(ends[0], start + timeout_s, limit, &t);
        double left = start + timeout_s - kg_now();
        *out = (kg_process_result){.timed_out = !finished || !ended(pid, left > 0 ? left : 0)};
        kill(-pid, SIGKILL);
        kg_wait(pid, &out->status);
        out->seconds = kg_now() - start;
        out->output = t.data ? t.data : kg_strdup("");
    }
    close(ends[0]);
    return failed;
}

char *kg_install_folder(void) {
    const char *given = getenv("KGATE_LIBEXEC");
    char path[PATH_MAX];
    // Absolute: compilers and runners are started in folders of their own.
    if (given && *given) return realpath(given, path) ? kg_strdup(path) : kg_strdup(given);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return kg_strdup(".");
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash && slash != path) *slash = '\0';
    return kg_strdup(path);
}
