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
    expect(explained("\"fail\"", "\"fail\"", ""), "behind the library and the roofline", NULL);
    expect(explained("null", "\"fail\"", ""), "behind the roofline (no library was measured)", "behind the library");
    expect(explained("\"fail\"", "null", ""), "behind the library (there is no limit", "and the roofline");
}

static void a_screen_that_was_not_applied_says_why(void **state) {
    (void)state;
    expect(explained("null", "\"fail\"", ""), "library: not applied: no library on the CPU has log1p", NULL);
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
        cmocka_unit_test(one_case_is_one),
        cmocka_unit_test(a_part_of_the_schema_is_called_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
