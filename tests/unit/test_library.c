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
#include <stdlib.h>
#include <string.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_context_judges_many),
        cmocka_unit_test(errors_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
