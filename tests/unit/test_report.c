// Records to text: within 100 columns, safe for a terminal, and valid in each format.
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

static const char slow_record[] =
    "{\"schema\":1,\"id\":\"abcdefgh\",\"candidate\":{\"path\":\"%s\",\"sha256\":\"00\",\"language\":\"c\"},"
    "\"task\":\"softmax\",\"suite\":\"kbx\",\"verdict\":\"slow\",\"class\":\"structural-residual\","
    "\"correctness\":{\"ok\":true,\"cases\":9,\"failed\":0,\"precision\":\"bf16/fp16\"},"
    "\"performance\":{\"lre\":0.1234,\"utilization\":0.0312,\"cases\":["
    "{\"case\":\"f32[64]\",\"time_us\":1.5,\"bound\":\"latency\",\"lre\":0.01},"
    "{\"case\":\"f32[4096,4096]\",\"time_us\":1466.2,\"ci_us\":[1460,1470],\"samples\":40,\"baseline\":\"onednn\","
    "\"baseline_us\":180.9,\"sol_us\":45.7,\"bound\":\"memory\",\"lre\":0.1234,\"utilization\":0.0312}]},"
    "\"screens\":{\"library\":\"fail\",\"roofline\":\"fail\"},\"seconds\":1.5}";

static json_t *record_named(const char *json_path) {
    char *text = kg_format(slow_record, json_path);
    json_t *r = json_loads(text, 0, NULL);
    assert_non_null(r);
    free(text);
    return r;
}

// What the format makes of these records; owned by the caller.
static char *written(const char *format, size_t n, json_t *const *records) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    kg_report *r;
    assert_int_equal(kg_report_open(format, f, false, &r, NULL), 0);
    for (size_t i = 0; i < n; i++) assert_int_equal(kg_report_add(r, records[i]), 0);
    assert_int_equal(kg_report_close(r), 0);
    fclose(f);
    return text;
}

static void expect_lines_within(const char *text, size_t columns) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        char *line = kg_format("%.*s", (int)n, p);
        if (kg_columns(line) > columns) fail_msg("%zu columns: %s", kg_columns(line), line);
        free(line);
        p += n + (p[n] == '\n');
    }
}

static void the_table_tells_the_story_in_100_columns(void **state) {
    (void)state;
    json_t *r = record_named("a/very/long/path/to/some/kernels/of/mine/that/never/ends/softmax_with_a_long_name.c");
    char *text = written("table", 1, &r);
    expect_lines_within(text, 100);
    static const char *const parts[] = {"softmax ",
                                        "long_name.c ",
                                        "slow ",
                                        "bf16/fp16 ",
                                        "1.47 ms",
                                        " 0.123 ",
                                        " 3.1% ",
                                        "structural-residual",
                                        "worst f32[4096,4096]: 1.47 ms, 181 us in onednn (LRE 0.123),",
                                        "abcdef softmax ",
                                        "LRE and class: beside onednn.",
                                        "1 candidate: 1 slow; 1.5 s"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) fail_msg("no \"%s\" in\n%s", parts[i], text);
    free(text);
    json_decref(r);
}

static void records_may_lack_anything(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{}",
        "{\"verdict\":null,\"candidate\":null,\"performance\":{\"cases\":[null,{}]},\"findings\":[{}],\"screens\":{}}",
        "{\"verdict\":\"broken\",\"candidate\":{\"path\":7},\"correctness\":[],\"device\":{\"name\":\"x\"}}",
        "{\"verdict\":\"incorrect\",\"correctness\":{\"worst\":null}}",
        "{\"verdict\":\"tampered\",\"integrity\":{\"violations\":[{}]}}",
        "{\"verdict\":\"slow\"}",
        "{\"verdict\":\"unheard of\",\"class\":\"new\"}"};
    static const char *const formats[] = {"table", "json", "jsonl", "csv", "junit", "words"};
    enum { N = sizeof texts / sizeof *texts };
    json_t *records[N];
    for (size_t i = 0; i < N; i++) assert_non_null(records[i] = json_loads(texts[i], 0, NULL));
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) free(written(formats[k], N, records));
    FILE *null = fopen("/dev/null", "w");
    for (size_t i = 0; i + 1 < N; i++) kg_report_diff(records[i], records[i + 1], null, false);
    fclose(null);
    for (size_t i = 0; i < N; i++) json_decref(records[i]);
}

static void names_cannot_move_the_cursor(void **state) {
    (void)state;
    json_t *r = record_named("a\\n\\u001b[2Jb\\u202ec.c");
    static const char *const formats[] = {"table", "words", "junit"};
    for (size_t i = 0; i < 3; i++) {
        char *text = written(formats[i], 1, &r);
        assert_non_null(strstr(text, "a\\n\\x1b[2Jb\\u202ec.c"));
        assert_null(strchr(text, '\033'));
        free(text);
    }
    json_decref(r);
}

static void shortening_counts_columns_not_bytes(void **state) {
    (void)state;
    // Ten columns: each of these characters takes two.
    char *s = kg_shorten_middle("日本語日本語日本語.c", 10);
    assert_true(kg_columns(s) <= 10);
    assert_non_null(strstr(s, ".c"));
    free(s);
    assert_int_equal(kg_columns("e\xcc\x81"), 1);  // e and a combining acute
    s = kg_shorten_middle("exactly ten", 11);
    assert_string_equal(s, "exactly ten");
    free(s);
}

static void json_is_an_array_and_jsonl_a_line_each(void **state) {
    (void)state;
    json_t *r[2] = {record_named("a.c"), record_named("b \\\"q\\\".c")};
    char *text = written("json", 2, r);
    json_t *all = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(all), 2);
    assert_true(json_equal(json_array_get(all, 1), r[1]));
    assert_non_null(strstr(text, "1466.2,"));  // not 1466.2000000000001
    json_decref(all);
    free(text);
    text = written("jsonl", 2, r);
    char *second = strchr(text, '\n') + 1;
    json_t *line = json_loads(second, 0, NULL);
    assert_true(json_equal(line, r[1]));
    assert_null(strchr(second, '\n')[1] ? "more lines" : NULL);
    json_decref(line);
    free(text);
    text = written("json", 0, NULL);
    assert_string_equal(text, "[]\n");
    free(text);
    json_decref(r[0]), json_decref(r[1]);
}

static void csv_quotes_as_rfc_4180_says(void **state) {
    (void)state;
    json_t *r = record_named("a,\\\"b\\\"\\n.c");
    char *text = written("csv", 1, &r);
    assert_int_equal(strncmp(text, "id,path,sha256,language,", 24), 0);
    assert_non_null(strstr(text, "\r\nabcdefgh,\"a,\"\"b\"\"\n.c\",00,c,"));
    assert_non_null(strstr(text, ",0.1234,0.0312,"));
    free(text);
    json_decref(r);
}

static void junit_counts_and_escapes(void **state) {
    (void)state;
    json_t *r[2] = {record_named("<a&\\\"b\\\">.c"), record_named("b.c")};
    json_object_set_new(r[1], "verdict", json_string("efficient"));
    char *text = written("junit", 2, r);
    assert_non_null(strstr(text, "tests=\"2\" failures=\"1\""));
    assert_non_null(strstr(text, "name=\"&lt;a&amp;&quot;b&quot;&gt;.c\""));
    assert_non_null(strstr(text, "message=\"slow (structural-residual)\""));
    free(text);
    json_decref(r[0]), json_decref(r[1]);
}

static void numbers_have_three_digits(void **state) {
    (void)state;
    static const struct {
        double us;
        const char *text;
    } times[] = {{0.4567, "457 ns"}, {2.5, "2.50 us"},   {99.96, "100 us"},
                 {999.6, "1.00 ms"}, {55300, "55.3 ms"}, {12903801.5, "12.9 s"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char *s = kg_show_time(times[i].us);
        assert_string_equal(s, times[i].text);
        free(s);
    }
    static const struct {
        double x;
        const char *text;
    } ratios[] = {{1293.4, "1293"}, {12.94, "12.9"}, {0.9531, "0.953"}, {0.00325, "0.0032"}, {0.0001, "0.0001"}};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        char *s = kg_show_ratio(ratios[i].x);
        assert_string_equal(s, ratios[i].text);
        free(s);
    }
}

static void explanations_say_what_the_numbers_mean(void **state) {
    (void)state;
    json_t *r = record_named("softmax.c");
    char *text = written("words", 1, &r);
    expect_lines_within(text, 100);
    static const char *const parts[] = {
        "slow: right and honest, but a screen fails", "class structural-residual: ", "9 cases, 0 without",
        "95%: 1.46 ms to 1.47 ms, 40 samples",        "library: fail, 0.123. LRE:",  "roofline: fail, 0.031."};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) fail_msg("no \"%s\" in\n%s", parts[i], text);
    free(text);
    json_decref(r);
}

static void a_full_disk_is_noticed(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full) skip();
    kg_report *r;
    json_t *record = record_named("a.c");
    assert_int_equal(kg_report_open("csv", full, false, &r, NULL), 0);
    assert_int_equal(kg_report_add(r, record), -1);
    assert_int_equal(kg_report_close(r), -1);
    json_decref(record);
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_tells_the_story_in_100_columns),
        cmocka_unit_test(records_may_lack_anything),
        cmocka_unit_test(names_cannot_move_the_cursor),
        cmocka_unit_test(shortening_counts_columns_not_bytes),
        cmocka_unit_test(json_is_an_array_and_jsonl_a_line_each),
        cmocka_unit_test(csv_quotes_as_rfc_4180_says),
        cmocka_unit_test(junit_counts_and_escapes),
        cmocka_unit_test(numbers_have_three_digits),
        cmocka_unit_test(explanations_say_what_the_numbers_mean),
        cmocka_unit_test(a_full_disk_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
