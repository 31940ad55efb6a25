// A record in words speaks of no screen that was not applied, and says when it was judged in part.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

// library, roofline: JSON values; more: further members, with a comma before them.
static char *explained(const char *library, const char *roofline, const char *more) {
    char *json = kg_format(
        "{\"task\":\"log1p\",\"candidate\":{\"path\":\"x.c\"},\"verdict\":\"slow\",\"class\":\"structural-residual\","
        "\"correctness\":{\"ok\":true,\"cases\":1,\"failed\":0},\"screens\":{\"library\":%s,\"roofline\":%s,"
        "\"library_why\":\"no library on the CPU has log1p\"}%s}",
        library, roofline, more);
    json_t *record = json_loads(json, 0, NULL);
    assert_non_null(record);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    kg_report_explain(record, f, false);
    fclose(f);
    for (char *p = text; *p; p++)
        if (*p == '\n') *p = ' ';  // lines may break anywhere
    json_decref(record);
    free(json);
    return text;
}

static void expect(char *text, const char *says, const char *never) {
    if (!strstr(text, says) || (never && strstr(text, never))) fail_msg("%s", text);
    free(text);
}

static void a_class_speaks_of_the_screens_that_were_applied(void **state) {
    (void)state;
    expect(explained("\"fail\"", "\"fail\"", ""), "behind the roofline and the library, and no finding", NULL);
    expect(explained("null", "\"fail\"", ""), "behind the roofline (no library was measured)", "behind the library");
    expect(explained("\"fail\"", "null", ""), "behind the library (there is no limit", "and the roofline");
}

static void a_screen_that_was_not_applied_says_why(void **state) {
    (void)state;
    expect(explained("null", "\"fail\"", ""), "library: not applied: no library on the CPU has log1p", NULL);
}

// --baseline FILE: there is no library then.
static void what_was_compared_with_is_named(void **state) {
    (void)state;
    static const char beside[] =
        ",\"performance\":{\"lre\":0.9,\"cases\":[{\"case\":\"f32[9]\",\"baseline\":\"%s\"}],"
        "\"baseline_settings\":\"%s\"}";
    static const char *const of[][3] = {
        {"onednn", "oneDNN, all cores", "behind the roofline and the library (onednn), and"},
        {"old.c", "a candidate given with --baseline", "behind the roofline and old.c (--baseline), and"}};
    for (size_t i = 0; i < 2; i++) {
        char *more = kg_format(beside, of[i][0], of[i][1]);
        expect(explained("\"fail\"", "\"fail\"", more), of[i][2], i ? "the library" : NULL);
        free(more);
    }
}

// A wrong kernel works at no precision, whatever a record of an earlier kgate says.
static void a_wrong_kernel_has_no_precision(void **state) {
    (void)state;
    json_t *r = json_loads("{\"correctness\":{\"ok\":false,\"precision\":\"fp32\"}}", 0, NULL);
    assert_null(kg_precision_of(r));
    json_object_set_new(json_object_get(r, "correctness"), "ok", json_true());
    assert_string_equal(kg_precision_of(r), "fp32");
    json_decref(r);
}

static char *why_of(const char *json) {
    json_t *r = json_loads(json, 0, NULL);
    assert_non_null(r);
    char *why = kg_why(r);
    json_decref(r);
    return why;
}

// 8 ms of 10 is an LRE of 0.8: the mean that fails stands apart from the case.
static void each_number_belongs_to_what_it_is_said_of(void **state) {
    (void)state;
    char *why = why_of(
        "{\"verdict\":\"slow\",\"performance\":{\"lre\":0.5,\"utilization\":0.3,\"worst_case\":\"f32[9]\","
        "\"cases\":[{\"case\":\"f32[9]\",\"time_us\":10000,\"baseline\":\"onednn\",\"baseline_us\":8000,"
        "\"sol_us\":1000,\"bound\":\"memory\",\"lre\":0.8,\"utilization\":0.1}]},"
        "\"screens\":{\"library\":\"fail\",\"roofline\":\"fail\",\"lre_min\":0.8,"
        "\"util_min\":{\"memory\":0.35,\"compute\":0.6}}}");
    assert_string_equal(why,
                        "worst f32[9]: 10.0 ms, 8.00 ms in onednn (LRE 0.800), limit 1.00 ms by memory "
                        "(utilisation 10%); means over the screened sizes: LRE 0.500 < 0.800, utilisation 30% < 35%");
    free(why);
}

static void one_case_is_one(void **state) {
    (void)state;
    expect(explained("null", "\"fail\"", ""), "1 case, 0 without", "1 cases");
}

static void a_part_of_the_schema_is_called_so(void **state) {
    (void)state;
    expect(explained("null", "\"fail\"", ",\"scope\":\"f32,finite\""), "judged in part: --scope f32,finite", NULL);
    expect(explained("null", "\"fail\"", ",\"case_only\":\"f32[3]\""), "judged in part: --case f32[3]", NULL);
    expect(explained("null", "\"fail\"", ""), "log1p", "judged in part");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_speaks_of_the_screens_that_were_applied),
        cmocka_unit_test(a_screen_that_was_not_applied_says_why),
        cmocka_unit_test(what_was_compared_with_is_named),
        cmocka_unit_test(a_wrong_kernel_has_no_precision),
        cmocka_unit_test(each_number_belongs_to_what_it_is_said_of),
        cmocka_unit_test(one_case_is_one),
        cmocka_unit_test(a_part_of_the_schema_is_called_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
