// The public library: one context, one record a candidate, errors as one line.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <jansson.h>
#include <kgate/kgate.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELU(expression)                                               \
    "#include <kgate/kernel.h>\n"                                      \
    "int relu(const DLTensor *input, bool inplace, DLTensor *out) {\n" \
    "    (void)inplace;\n"                                             \
    "    for (int64_t i = 0; i < kg_elements(out); i++) {\n"           \
    "        double x = kg_get(input, i);\n"                           \
    "        kg_put(out, i, " expression                               \
    ");\n"                                                             \
    "    }\n"                                                          \
    "    return 0;\n"                                                  \
    "}\n"

static kgate_context *opened(void) {
    kgate_options o = kgate_options_default();
    char *error = NULL;
    o.device = "cpu";
    o.database = "";
    o.check_only = 1;
    o.seed = 7;
    kgate_context *k = kgate_open(&o, &error);
    if (!k) fail_msg("%s", error);
    return k;
}

static void expect_verdict(kgate_context *k, const char *source, const char *verdict) {
    char *json = NULL, *error = NULL;
    if (kgate_judge_source(k, "relu", "c", source, &json, &error)) fail_msg("%s", error);
    json_t *record = json_loads(json, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(record, "verdict")), verdict);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(record, "correctness"), "seed")), 7);
    json_decref(record);
    kgate_free(json);
}

static void one_context_judges_many(void **state) {
    (void)state;
    kgate_context *k = opened();
    expect_verdict(k, RELU("x > 0 || x != x ? x : 0"), "right");
    expect_verdict(k, RELU("x"), "incorrect");
    expect_verdict(k, "int relu( {", "broken");
    expect_verdict(k, RELU("x > 0 || x != x ? x : 0"), "right");
    kgate_close(k);
}

static void errors_are_one_line(void **state) {
    (void)state;
    kgate_context *k = opened();
    char *json = NULL, *error = NULL;
    assert_int_equal(kgate_judge_source(k, "rellu", "c", "int x;", &json, &error), -1);
    assert_non_null(strstr(error, "relu"));
    kgate_free(error);
    assert_int_equal(kgate_judge_source(k, "relu", "fortran", "x", &json, &error), -1);
    assert_non_null(strstr(error, "fortran"));
    kgate_free(error);
    assert_int_equal(kgate_judge_file(k, NULL, "/absent/relu.c", &json, &error), -1);
    assert_non_null(strstr(error, "no such file"));
    kgate_free(error);
    assert_null(json);
    kgate_close(k);
    kgate_options o = kgate_options_default();
    o.device = "cuda:99";
    o.database = "";
    assert_null(kgate_open(&o, &error));
    assert_non_null(strstr(error, "cuda:99"));
    assert_null(strchr(error, '\n'));
    kgate_free(error);
}

static void expect_refused(kgate_options o, const char *says) {
    char *error = NULL;
    o.device = "cpu";
    o.database = "";
    assert_null(kgate_open(&o, &error));
    if (!strstr(error, says)) fail_msg("%s does not say %s", error, says);
    assert_null(strchr(error, '\n'));
    kgate_free(error);
}

static void options_are_checked_as_the_command_line_checks_them(void **state) {
    (void)state;
    const kgate_options good = kgate_options_default();
    kgate_options o = good;
    o.timeout_s = 0;
    expect_refused(o, "timeout_s");
    o.timeout_s = NAN;
    expect_refused(o, "timeout_s");
    o = good, o.lre_min = -1;
    expect_refused(o, "lre_min");
    o = good, o.util_min_memory = 1.5;
    expect_refused(o, "util_min_memory");
    o = good, o.util_min_compute = -0.1;
    expect_refused(o, "util_min_compute");
    o = good, o.baseline = "cudn";
    expect_refused(o, "cudn");
    o = good, o.baseline = "/absent/old.c";
    expect_refused(o, "/absent/old.c");
    o = good, o.seed = UINT64_MAX;
    expect_refused(o, "seed");
    char *error = NULL;
    assert_null(kgate_open(NULL, &error));
    assert_non_null(strstr(error, "kgate_options_default"));
    kgate_free(error);
    assert_null(kgate_open(NULL, NULL));
}

static void expect_error(int result, char **json, char **error, const char *says) {
    assert_int_equal(result, -1);
    assert_null(*json);
    if (!*error || !strstr(*error, says)) fail_msg("%s does not say %s", *error ? *error : "nothing", says);
    kgate_free(*error);
    *error = NULL;
}

static void a_null_is_an_error_and_no_crash(void **state) {
    (void)state;
    kgate_context *k = opened();
    char *json = NULL, *error = NULL;
    expect_error(kgate_judge_source(k, "relu", "c", NULL, &json, &error), &json, &error, "source");
    expect_error(kgate_judge_source(k, NULL, "c", RELU("x"), &json, &error), &json, &error, "task");
    expect_error(kgate_judge_source(k, "relu", NULL, RELU("x"), &json, &error), &json, &error, "language");
    expect_error(kgate_judge_source(NULL, "relu", "c", RELU("x"), &json, &error), &json, &error, "context");
    expect_error(kgate_judge_file(k, NULL, NULL, &json, &error), &json, &error, "path");
    expect_error(kgate_judge_file(NULL, NULL, "relu.c", &json, &error), &json, &error, "context");
    expect_error(kgate_judge_source(k, "relu", "c", RELU("x"), NULL, &error), &json, &error, "json");
    expect_error(kgate_judge_file(k, NULL, KG_SOURCE_DIR "/examples/c", &json, &error), &json, &error, "one file");
    assert_int_equal(kgate_judge_source(k, "relu", "c", NULL, &json, NULL), -1);
    kgate_close(k);
    kgate_close(NULL);
}

// The program that uses the library lies elsewhere, and names the folder as a shell would.
static void the_runner_s_folder_may_be_relative(void **state) {
    (void)state;
    char program[PATH_MAX], *before = getcwd(NULL, 0);
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_in_range(n, 1, sizeof program - 2);
    program[n] = 0;
    char *folder = dirname(program), *name = strrchr(folder, '/') + 1;
    setenv("KGATE_LIBEXEC", name, 1);
    assert_int_equal(chdir(dirname(folder)), 0);
    kgate_context *k = opened();
    expect_verdict(k, RELU("x > 0 || x != x ? x : 0"), "right");
    kgate_close(k);
    unsetenv("KGATE_LIBEXEC");
    assert_int_equal(chdir(before), 0);
    free(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_context_judges_many),
        cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(options_are_checked_as_the_command_line_checks_them),
        cmocka_unit_test(a_null_is_an_error_and_no_crash),
        cmocka_unit_test(the_runner_s_folder_may_be_relative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
