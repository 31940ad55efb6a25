// Hardware counters: what is taken from the helper's line, and that whatever it does instead costs no more than time.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "device/cuda/api/cupti.h"
#include "diagnose/diagnose.h"
#include "judge/counting.h"

#define SIZE ((size_t)10 << 20)

static kg_facts facts_of(const char *json, double compulsory) {
    kg_facts f = {0};
    kg_facts_from_counters(&f, json, strlen(json), 10, compulsory);
    return f;
}

static void expect(kg_facts *f, const char *name, double value) {
    const double got = kg_facts_get(f, name);
    if (isnan(value) ? !isnan(got) : !(fabs(got - value) < 1e-9 * fabs(value)))
        fail_msg("%s is %g, not %g", name, got, value);
}

// 10 calls that need 100 MB each moved 3 GB of 24 GB that multiprocessors asked for; 12 of 64 warps.
#define WARPS "\"warps\": 1.2e7, \"cycles\": 1e6, \"most_warps\": 64"
static void counts_become_facts(void **state) {
    (void)state;
    kg_facts f = facts_of("{\"samples\": 300, \"dram_bytes\": 3e9, \"l2_sectors\": 7.5e8, " WARPS "}", 1e8);
    expect(&f, "dram_bytes", 3e8);
    expect(&f, "dram_ratio", 3);
    expect(&f, "l2_hit", 87.5);
    expect(&f, "occupancy", 18.75);
    kg_facts_free(&f);
}

static void what_was_not_counted_is_absent(void **state) {
    (void)state;
    kg_facts f = facts_of("{\"dram_bytes\": 3e9}", NAN);
    expect(&f, "dram_bytes", 3e8);
    expect(&f, "dram_ratio", NAN);
    expect(&f, "l2_hit", NAN);
    expect(&f, "occupancy", NAN);
    kg_facts_free(&f);
    f = facts_of("{" WARPS "}", 1e8);
    assert_int_equal(f.n, 1);
    kg_facts_free(&f);
}

static void impossible_counts_are_no_facts(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "}",
                                        "null",
                                        "7",
                                        "[1, 2]",
                                        "\"dram_bytes\"",
                                        "{\"dram_bytes\": 3e9",
                                        "{\"dram_bytes\": NaN}",
                                        "{\"dram_bytes\": -1}",
                                        "{\"dram_bytes\": 1e400}",
                                        "{\"dram_bytes\": 1e300}",
                                        "{\"dram_bytes\": \"3e9\"}",
                                        "{\"dram_bytes\": [3]}",
                                        "{\"dram_bytes\": null}",
                                        "{\"dram_bytes\": true}",
                                        "{\"l2_sectors\": 250}",
                                        "{\"l2_sectors\": 0, \"dram_bytes\": -3}",
                                        "{\"l2_sectors\": {}}",
                                        "{\"warps\": 1e7, \"cycles\": 0, \"most_warps\": 64}",
                                        "{\"warps\": 0, \"cycles\": 1e6, \"most_warps\": 64}",
                                        "{\"warps\": 1e9, \"cycles\": 1e6, \"most_warps\": 64}",
                                        "{\"warps\": 1e7, \"cycles\": 1e6, \"most_warps\": -64}",
                                        "{\"warps\": 1e7, \"cycles\": 1e6}",
                                        "{\"warps\": 1e7, \"cycles\": 1e6, \"most_warps\": \"64\"}",
                                        "{\"dram_bytes\": 1} {\"dram_bytes\": 2}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kg_facts f = facts_of(texts[i], 1e8);
        if (f.n) fail_msg("%s gave %s", texts[i], f.items[0].name);
        kg_facts_free(&f);
    }
}

static void ten_megabytes_are_no_facts(void **state) {
    (void)state;
    char *text = kg_alloc(SIZE + 1);
    for (const char *c = "[{\"a"; *c; c++) {
        memset(text, *c, SIZE);
        kg_facts f = facts_of(text, 1e8);
        assert_int_equal(f.n, 0);
        kg_facts_free(&f);
    }
    free(text);
}

// ---- the conversation ---------------------------------------------------------------------------

static int rounds, give_up_in;
static int run(void *ctx) {
    (void)ctx;
    return ++rounds == give_up_in;
}

static char *talk(const char *script, double limit_s) {
    char *argv[] = {(char *)"/bin/bash", (char *)"-c", (char *)script, NULL};
    const kg_counting c = {argv, NULL, limit_s, run, NULL};
    rounds = give_up_in = 0;
    return kg_count_with(&c);
}

static void every_round_gets_its_work_and_a_byte(void **state) {
    (void)state;
    char *line = talk("echo a warning; for i in 1 2; do echo ready; read -ru3; done; echo '{\"x\": 1}'; echo", 10);
    assert_non_null(line);
    assert_string_equal(line, "{\"x\": 1}");
    assert_int_equal(rounds, 2);
    free(line);
}

static void who_says_nothing_of_use_counts_nothing(void **state) {
    (void)state;
    static const char *const scripts[] = {"true",
                                          "exit 3",
                                          "kill -9 $$",
                                          "echo ready",
                                          "echo ready; exec 3<&-; kill $$",
                                          "echo kgate-counters: no libcupti.so.13 here >&2; exit 3",
                                          "printf '{\"dram_bytes\": 1}'",
                                          "head -c 10000000 /dev/zero",
                                          "yes",
                                          "yes ready"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const double start = kg_now();
        char *line = talk(scripts[i], 10);
        if (line) fail_msg("%s: %s", scripts[i], line);
        assert_true(kg_now() - start < 5);
        assert_true(rounds <= 8);
    }
}

static void who_hangs_is_ended(void **state) {
    (void)state;
    static const char *const scripts[] = {"sleep 60", "echo ready; sleep 60",
                                          "trap '' TERM; echo ready; sleep 60 & wait",
                                          "while :; do echo; sleep 0.1; done"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const double start = kg_now();
        assert_null(talk(scripts[i], 0.5));
        assert_true(kg_now() - start < 3);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void calls_that_fail_end_it(void **state) {
    (void)state;
    char *argv[] = {(char *)"/bin/bash", (char *)"-c", (char *)"echo ready; read -ru3; echo '{}'", NULL};
    const kg_counting c = {argv, NULL, 10, run, NULL};
    rounds = 0;
    give_up_in = 1;
    assert_null(kg_count_with(&c));
    char *missing[] = {(char *)"/nonexistent/kgate-counters", NULL};
    const kg_counting none = {missing, NULL, 10, run, NULL};
    assert_null(kg_count_with(&none));
}

// ---- the program --------------------------------------------------------------------------------

// fake: how the driver and CUPTI of tests/support/fake_cupti.c behave; NULL: the real ones, if there are any.
static kg_process_result program(const char *option, const char *fake) {
    char *folder = kg_install_folder(), *path = kg_format("%s/kgate-counters", folder);
    char *libraries = kg_format("LD_LIBRARY_PATH=%s/fake", folder), *how = kg_format("FAKE_CUPTI=%s", fake ? fake : "");
    char *argv[] = {path, (char *)option, NULL}, *env[] = {libraries, how, NULL};
    const kg_process p = {.argv = argv, .env = fake ? env : NULL, .control = -1};
    kg_process_result r = {0};
    kg_error err = {0};
    if (kg_process_run(&p, 60, 65536, &r, &err)) fail_msg("%s", err.text);
    free(folder);
    free(path);
    free(libraries);
    free(how);
    return r;
}

static void expect_one_line_and_exit_3(kg_process_result *r) {
    assert_true(WIFEXITED(r->status));
    assert_int_equal(WEXITSTATUS(r->status), 3);
    assert_int_equal(strncmp(r->output, "kgate-counters: ", 16), 0);
    assert_ptr_equal(strchr(r->output, '\n'), r->output + strlen(r->output) - 1);
    free(r->output);
}

static void without_a_device_it_says_so(void **state) {
    (void)state;
    if (access("/dev/nvidiactl", F_OK) == 0) skip();
    kg_process_result r = program("--seconds=0", NULL);
    expect_one_line_and_exit_3(&r);
}

// CUPTI's host side knows its chips without a device: every metric of sm_90 has its name, and all fit one pass.
static void a_chip_that_is_known_counts_all_at_once(void **state) {
    (void)state;
    kg_cupti_api api;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();  // it opens its parts in a way that sanitizers refuse
#endif
    if (kg_cupti_open(&api, NULL)) skip();
    kg_process_result r = program("--chip=GH100", NULL);
    assert_string_equal(r.output,
                        "round 1: dram__bytes.sum lts__t_sectors_srcunit_tex.sum sm__warps_active.sum "
                        "sm__cycles_active.sum\n");
    free(r.output);
    r = program("--chip=GH1000", NULL);
    expect_one_line_and_exit_3(&r);
}

// The fake driver does not say how many warps a multiprocessor holds.
#define SUMS_OF(samples)                                  \
    "{\"samples\": " samples                              \
    ", \"dram_bytes\": 4000000, \"l2_sectors\": 500000, " \
    "\"warps\": 512, \"cycles\": 64}"
#define SUMS SUMS_OF("4")
static void expect_output(const char *fake, const char *output) {
    kg_process_result r = program("--seconds=0", fake);
    if (strcmp(r.output, output) != 0) fail_msg("%s: %s", fake, r.output);
    free(r.output);
}

// Five samples, read two at a time; the first has no beginning, and every other one no sectors.
static void samples_are_summed(void **state) {
    (void)state;
    expect_output("good", "ready\n" SUMS "\n");
    expect_output("wants-context", "ready\n" SUMS "\n");
}

static void what_the_device_does_not_count_together_it_counts_apart(void **state) {
    (void)state;
    expect_output("one-set", "ready\nready\nready\n" SUMS_OF("12") "\n");
}

static void what_fails_is_said_in_one_line(void **state) {
    (void)state;
    expect_output("lost", "ready\nready\nkgate-counters: more samples than the device's buffer holds\n");
    expect_output("empty", "ready\nready\nkgate-counters: the device wrote no sample\n");
    expect_output("forbidden", "kgate-counters: cuptiPmSamplingEnable: FAKE_ERROR (35)\n");
}

static char *asked(const char *fake, double limit_s) {
    char *folder = kg_install_folder(), *path = kg_format("%s/kgate-counters", folder);
    char *libraries = kg_format("LD_LIBRARY_PATH=%s/fake", folder), *how = kg_format("FAKE_CUPTI=%s", fake);
    char *argv[] = {path, (char *)"--control-fd=3", NULL}, *env[] = {libraries, how, NULL};
    const kg_counting c = {argv, env, limit_s, run, NULL};
    rounds = give_up_in = 0;
    char *line = kg_count_with(&c);
    free(folder);
    free(path);
    free(libraries);
    free(how);
    return line;
}

static void the_judge_gets_its_line(void **state) {
    (void)state;
    char *line = asked("good", 10);
    assert_non_null(line);
    assert_string_equal(line, SUMS);
    assert_int_equal(rounds, 1);
    kg_facts f = facts_of(line, 1e5);
    expect(&f, "dram_ratio", 4);
    expect(&f, "l2_hit", 75);
    expect(&f, "occupancy", NAN);
    kg_facts_free(&f);
    free(line);
}

static void a_library_that_crashes_or_hangs_costs_the_facts(void **state) {
    (void)state;
    const double start = kg_now();
    assert_null(asked("crashes", 10));
    assert_null(asked("hangs", 1));
    assert_true(kg_now() - start < 5);
}

int main(void) {
    signal(SIGPIPE, SIG_DFL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_become_facts),
        cmocka_unit_test(what_was_not_counted_is_absent),
        cmocka_unit_test(impossible_counts_are_no_facts),
        cmocka_unit_test(ten_megabytes_are_no_facts),
        cmocka_unit_test(every_round_gets_its_work_and_a_byte),
        cmocka_unit_test(who_says_nothing_of_use_counts_nothing),
        cmocka_unit_test(who_hangs_is_ended),
        cmocka_unit_test(calls_that_fail_end_it),
        cmocka_unit_test(without_a_device_it_says_so),
        cmocka_unit_test(a_chip_that_is_known_counts_all_at_once),
        cmocka_unit_test(samples_are_summed),
        cmocka_unit_test(what_the_device_does_not_count_together_it_counts_apart),
        cmocka_unit_test(what_fails_is_said_in_one_line),
        cmocka_unit_test(the_judge_gets_its_line),
        cmocka_unit_test(a_library_that_crashes_or_hangs_costs_the_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
