// Child processes: signals that arrive while one is started, read or waited for change nothing.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"

static volatile sig_atomic_t rings;
static void ring(int number) {
    (void)number;
    rings++;
}

// Without SA_RESTART: every blocking call is interrupted. A start that was once took a running child for one that did
// not start, and waited for its end.
static void interrupted_starts_are_starts(void **state) {
    (void)state;
    struct sigaction a = {.sa_handler = ring};
    sigaction(SIGALRM, &a, NULL);
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    char *const argv[] = {"/bin/echo", "here", NULL};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 100; i++) {
        const kg_process p = {.argv = argv, .control = -1};
        kg_process_result r;
        assert_int_equal(kg_process_run(&p, 60, 4096, &r, NULL), 0);
        assert_false(r.timed_out);
        assert_string_equal(r.output, "here\n");
        assert_int_equal(r.status, 0);
        free(r.output);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(rings > 0);
}

static void what_cannot_start_says_so(void **state) {
    (void)state;
    char *const argv[] = {"/nonexistent/program", NULL};
    const kg_process p = {.argv = argv, .control = -1};
    kg_error err = {0};
    int pid;
    assert_int_equal(kg_process_start(&p, &pid, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/program"));
    assert_non_null(strstr(err.text, "No such file"));
    kg_error_clear(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(interrupted_starts_are_starts),
                                       cmocka_unit_test(what_cannot_start_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
