// What a candidate cannot do, tried by a child inside the sandbox.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/runner.h"

// The sanitizers' shadow memory is far above any limit, so there is none then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_LIMIT 0
#else
#define MEMORY_LIMIT ((size_t)256 << 20)
#endif

static pid_t judge;

// Each returns 0 when the sandbox holds as it should; `layer` must be among those it says hold for that to be asked.
static int no_internet_socket(void) { return socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM ? 0 : 1; }
static int no_netlink_socket(void) { return socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EPERM ? 0 : 1; }
static int local_sockets_work(void) { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : 1; }
static int no_trace(void) { return ptrace(PTRACE_ATTACH, judge, NULL, NULL) == -1 && errno == EPERM ? 0 : 1; }
static int no_signal(void) { return kill(judge, 0) && errno == EPERM ? 0 : 1; }
static int own_signal_works(void) { return kill(getpid(), 0) ? 1 : 0; }
static int no_new_user_namespace(void) { return unshare(CLONE_NEWUSER) && errno == EPERM ? 0 : 1; }
static int death_with_the_judge_stays(void) { return prctl(PR_SET_PDEATHSIG, 0) && errno == EPERM ? 0 : 1; }

static int no_limits_of_others(void) {
    struct rlimit l = {0, 0};
    return prlimit(judge, RLIMIT_CORE, &l, NULL) && errno == EPERM ? 0 : 1;
}

static int no_memory_of_the_judge(void) {
    char *path = kg_format("/proc/%d/mem", judge);
    int fd = open(path, O_RDONLY);
    free(path);
    return fd < 0 ? 0 : 1;
}

static int no_write_outside(void) {
    const char *paths[] = {"/tmp/kgate-escaped", "/var/tmp/kgate-escaped", "/dev/shm/kgate-escaped",
                           "../kgate-escaped"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (open(paths[i], O_CREAT | O_WRONLY, 0600) >= 0) return 1;
    return 0;
}

static int scratch_is_writable(void) {
    int fd = open("inside", O_CREAT | O_RDWR, 0600);
    return fd >= 0 && write(fd, "x", 1) == 1 && unlink("inside") == 0 && mkdir("folder", 0700) == 0 ? 0 : 1;
}

static int system_is_readable(void) {
    return open("/etc/passwd", O_RDONLY) >= 0 && open("/dev/null", O_RDWR) >= 0 ? 0 : 1;
}

static void *nothing(void *p) { return p; }
static int threads_work(void) {
    pthread_t t[16];
    for (int i = 0; i < 16; i++)
        if (pthread_create(&t[i], NULL, nothing, NULL)) return 1;
    for (int i = 0; i < 16; i++) pthread_join(t[i], NULL);
    return 0;
}

static int programs_start(void) { return system("true") ? 1 : 0; }
static int no_process_starts(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    return child < 0 && errno == EPERM && system("true") != 0 ? 0 : 1;
}

static int memory_is_limited(void) {
    struct rlimit l;
    if (MEMORY_LIMIT == 0) return 77;
    return getrlimit(RLIMIT_DATA, &l) == 0 && l.rlim_cur <= (rlim_t)256 << 20 && malloc((size_t)1 << 30) == NULL ? 0
                                                                                                                 : 1;
}

static int no_core(void) {
    struct rlimit l;
    return getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_max == 0 ? 0 : 1;
}

typedef struct {
    const char *layer, *name;
    int (*fn)(void);
    bool processes;  // may be started
} attempt;
#define TRY(layer, fn) \
    { layer, #fn, fn, true }
#define TRY_ALONE(layer, fn) \
    { layer, #fn, fn, false }

// In a child inside the sandbox: 0 held, 1 did not, 77 the layer is not to be had on this machine.
static int in_sandbox(const attempt *a) {
    char scratch[] = "/tmp/kgate-test-XXXXXX";
    judge = getpid();
    assert_non_null(mkdtemp(scratch));
    pid_t child = fork();
    if (child == 0) {
        char *holds = NULL;
        if (chdir(scratch) || kg_sandbox_limits("cpu", MEMORY_LIMIT, NULL) ||
            kg_sandbox_enter(scratch, "cpu", a->processes, &holds, NULL))
            _exit(99);
        if (!strstr(holds, a->layer)) _exit(77);
        _exit(a->fn());
    }
    int status = 0;
    waitpid(child, &status, 0);
    char *command = kg_format("rm -rf %s", scratch);
    assert_int_equal(system(command), 0);
    free(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void holds(void **state) {
    int r = in_sandbox(*state);
    if (r == 77) skip();
    assert_int_equal(r, 0);
}

// Limits are no choice: every machine has them.
static void says_what_holds(void **state) {
    (void)state;
    char *text = kg_sandbox_probe();
    assert_non_null(strstr(text, "\"rlimits\""));
    assert_non_null(strstr(text, "\"no-new-privileges\""));
    free(text);
}

int main(void) {
    static attempt tries[] = {
        TRY("seccomp", no_internet_socket),
        TRY("seccomp", no_netlink_socket),
        TRY("seccomp", local_sockets_work),
        TRY("seccomp", no_trace),
        TRY("seccomp", no_signal),
        TRY("seccomp", own_signal_works),
        TRY("seccomp", no_new_user_namespace),
        TRY("seccomp", death_with_the_judge_stays),
        TRY("seccomp", no_limits_of_others),
        TRY("landlock", no_memory_of_the_judge),
        TRY("landlock", no_write_outside),
        TRY("mountns", no_write_outside),
        TRY("rlimits", scratch_is_writable),
        TRY("rlimits", system_is_readable),
        TRY("rlimits", threads_work),
        TRY("rlimits", programs_start),
        TRY_ALONE("seccomp", no_process_starts),
        TRY_ALONE("seccomp", threads_work),
        TRY("rlimits", no_core),
        TRY("rlimits", memory_is_limited),
    };
    struct CMUnitTest tests[sizeof tries / sizeof *tries + 1];
    size_t n = 0;
    for (; n < sizeof tries / sizeof *tries; n++)
        tests[n] = (struct CMUnitTest){.name = tries[n].name, .test_func = holds, .initial_state = &tries[n]};
    tests[n] = (struct CMUnitTest){.name = "says_what_holds", .test_func = says_what_holds};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
