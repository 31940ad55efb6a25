// The database: what went in comes out, nothing is lost to a kill, and every unusable file is one clear line.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"

static char *folder;

static int make_folder(void **state) {
    (void)state;
    char name[] = "/tmp/kgate-test-XXXXXX";
    folder = mkdtemp(name) ? strdup(name) : NULL;
    return folder ? chdir(folder) : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char *command = kg_format("rm -rf %s", folder);
    int rc = chdir("/") || system(command);
    free(command);
    free(folder);
    return rc;
}

static kg_database *opened(const char *path) {
    kg_database *s = NULL;
    kg_error e = {0};
    if (kg_store_open(path, false, &s, &e)) fail_msg("%s", e.text);
    return s;
}

static json_t *record(const char *path, const char *task, const char *verdict) {
    return json_pack("{s:i, s:{s:s, s:s}, s:s, s:s, s:{s:s, s:s}, s:{s:f}}", "schema", 1, "candidate", "path", path,
                     "sha256", "00ff", "task", task, "verdict", verdict, "device", "kind", "cpu", "name", "a processor",
                     "performance", "lre", 0.5);
}

static int64_t begun(kg_database *s, const char *settings) {
    int64_t run = 0;
    assert_int_equal(kg_store_begin_run(s, "run", settings, &run, NULL), 0);
    return run;
}

static void a_record_comes_back_whole_by_a_beginning_of_its_id(void **state) {
    (void)state;
    kg_database *s = opened("a/b/one.db");  // folders are made
    json_t *r = record("x.c", "relu", "slow");
    json_object_set_new(r, "later", json_pack("[i, n]", 7));
    assert_int_equal(kg_store_add(s, begun(s, "{}"), r, NULL), 0);
    const char *id = json_string_value(json_object_get(r, "id"));
    assert_int_equal(strlen(id), 6);
    char prefix[5] = {0};
    memcpy(prefix, id, 4);
    json_t *back = kg_store_get(s, prefix, NULL);
    assert_true(json_equal(back, r));
    json_decref(back);
    json_decref(r);
    kg_store_close(s);
}

static int keep_id(const json_t *r, void *ctx) {
    json_array_append((json_t *)ctx, json_object_get(r, "id"));
    return 0;
}

// What a look at every id says: the number that begin so, and the last of them.
static size_t begin_so(const json_t *ids, const char *prefix, const char **one) {
    size_t i, n = 0;
    json_t *id;
    json_array_foreach(ids, i, id) {
        if (strncmp(json_string_value(id), prefix, strlen(prefix)) != 0) continue;
        *one = json_string_value(id);
        n++;
    }
    return n;
}

static void a_beginning_finds_the_one_id_that_begins_so(void **state) {
    (void)state;
    kg_database *s = opened("prefix.db");
    const int64_t run = begun(s, "{}");
    json_t *ids = json_array();
    for (int i = 0; i < 300; i++) {
        json_t *r = record("x.c", "relu", "slow");
        assert_int_equal(kg_store_add(s, run, r, NULL), 0);
        json_decref(r);
    }
    assert_int_equal(kg_store_list(s, &(kg_store_filter){0}, keep_id, ids, NULL), 0);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567{~_%";
    size_t found = 0;
    for (const char *a = letters; *a; a++)
        for (const char *b = letters; *b; b++) {
            const char prefix[] = {*a, *b, 0}, *one = NULL;
            kg_error e = {0};
            json_t *r = kg_store_get(s, prefix, &e);
            const size_t n = begin_so(ids, prefix, &one);
            assert_int_equal(r != NULL, n == 1);
            if (r) assert_string_equal(json_string_value(json_object_get(r, "id")), one);
            else assert_non_null(strstr(e.text, n ? "several results" : "no such result"));
            found += n == 1;
            json_decref(r);
            kg_error_clear(&e);
        }
    assert_true(found > 50);  // of 300 ids in 1,024 such beginnings some 220 stand alone
    json_decref(ids);
    kg_store_close(s);
}

static void ids_of_equal_records_differ(void **state) {
    (void)state;
    kg_database *s = opened("ids.db");
    int64_t run = begun(s, "{}");
    json_t *a = record("x.c", "relu", "slow"), *b = record("x.c", "relu", "slow");
    kg_error e = {0};
    assert_int_equal(kg_store_add(s, run, a, NULL), 0);
    assert_int_equal(kg_store_add(s, run, b, NULL), 0);
    assert_string_not_equal(json_string_value(json_object_get(a, "id")), json_string_value(json_object_get(b, "id")));
    assert_null(kg_store_get(s, "", &e));
    assert_int_equal(e.code, KG_ERR_USAGE);
    kg_error_clear(&e);
    json_decref(a);
    json_decref(b);
    kg_store_close(s);
}

static int count(const json_t *r, void *ctx) {
    json_t *names = ctx;
    json_array_append(names, json_object_get(json_object_get(r, "candidate"), "path"));
    return 0;
}

static void lists_are_newest_first_and_filtered(void **state) {
    (void)state;
    kg_database *s = opened("list.db");
    int64_t run = begun(s, "{}");
    static const char *const rows[][3] = {
        {"1", "relu", "slow"}, {"2", "gelu", "slow"}, {"3", "relu", "broken"}, {"4", "relu", "slow"}};
    for (size_t i = 0; i < 4; i++) {
        json_t *r = record(rows[i][0], rows[i][1], rows[i][2]);
        assert_int_equal(kg_store_add(s, run, r, NULL), 0);
        json_decref(r);
    }
    const struct {
        kg_store_filter f;
        const char *expected;
    } cases[] = {{{0}, "[\"4\",\"3\",\"2\",\"1\"]"},
                 {{.task = "relu", .verdict = "slow"}, "[\"4\",\"1\"]"},
                 {{.task = "relu", .limit = 2}, "[\"4\",\"3\"]"},
                 {{.verdict = "broken"}, "[\"3\"]"},
                 {{.verdict = "slow", .device = "a processor"}, "[\"4\",\"2\",\"1\"]"},
                 {{.device = "cpu", .limit = 1}, "[\"4\"]"},
                 {{.device = "cuda"}, "[]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *names = json_array(), *expected = json_loads(cases[i].expected, 0, NULL);
        assert_int_equal(kg_store_list(s, &cases[i].f, count, names, NULL), 0);
        assert_true(json_equal(names, expected));
        json_decref(names);
        json_decref(expected);
    }
    kg_store_close(s);
}

static int64_t number_of(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    int64_t n = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : -1;
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

// One of a kgate that had no such index: it is read as it is, and the next that writes into it adds the index.
static void a_database_without_the_index_of_lists_is_read_and_gets_it(void **state) {
    (void)state;
    static const char there[] = "SELECT count(*) FROM sqlite_master WHERE name = 'results_listed'";
    kg_database *s = opened("older.db");
    json_t *r = record("x.c", "relu", "slow"), *names = json_array();
    assert_int_equal(kg_store_add(s, begun(s, "{}"), r, NULL), 0);
    kg_store_close(s);
    assert_int_equal(number_of("older.db", there), 1);
    number_of("older.db", "DROP INDEX results_listed");
    assert_int_equal(kg_store_open("older.db", true, &s, NULL), 0);
    assert_int_equal(kg_store_list(s, &(kg_store_filter){.verdict = "slow"}, count, names, NULL), 0);
    assert_int_equal(json_array_size(names), 1);
    kg_store_close(s);
    assert_int_equal(number_of("older.db", there), 0);
    kg_store_close(opened("older.db"));
    assert_int_equal(number_of("older.db", there), 1);
    json_decref(names);
    json_decref(r);
}

static void an_unfinished_run_is_found_by_its_settings(void **state) {
    (void)state;
    kg_database *s = opened("resume.db");
    int64_t a = begun(s, "{\"a\":1}"), found = 0;
    assert_int_equal(kg_store_unfinished_run(s, "{\"a\":2}", &found, NULL), 0);
    assert_int_equal(found, 0);
    json_t *r = record("x.c", "relu", "slow");
    assert_int_equal(kg_store_add(s, a, r, NULL), 0);
    assert_int_equal(kg_store_unfinished_run(s, "{\"a\":1}", &found, NULL), 0);
    assert_int_equal(found, a);
    json_t *kept = kg_store_find(s, a, "x.c", "00ff", "relu");
    assert_true(json_equal(kept, r));
    assert_null(kg_store_find(s, a, "x.c", "00fe", "relu"));
    assert_null(kg_store_find(s, a + 1, "x.c", "00ff", "relu"));
    assert_int_equal(kg_store_finish_run(s, a, NULL), 0);
    assert_int_equal(kg_store_unfinished_run(s, "{\"a\":1}", &found, NULL), 0);
    assert_int_equal(found, 0);
    json_decref(kept);
    json_decref(r);
    kg_store_close(s);
}

static void ceilings_belong_to_a_device_and_its_driver(void **state) {
    (void)state;
    kg_database *s = opened("ceilings.db");
    assert_int_equal(kg_store_put_ceilings(s, "H200", "580", "{\"a\":1}", NULL), 0);
    assert_int_equal(kg_store_put_ceilings(s, "H200", "580", "{\"a\":2}", NULL), 0);
    char *json = kg_store_get_ceilings(s, "H200", "580");
    assert_string_equal(json, "{\"a\":2}");
    assert_null(kg_store_get_ceilings(s, "H200", "590"));
    free(json);
    kg_store_close(s);
}

// Adds records until it is killed; tells the parent of each that was committed.
static void writer(int pipe_end) {
    kg_database *s = opened("kill.db");
    int64_t run = begun(s, "{}");
    for (int i = 0;; i++) {
        json_t *r = record("x.c", "relu", "slow");
        json_object_set_new(r, "pad", json_string(getenv("PATH")));
        if (kg_store_add(s, run, r, NULL) || write(pipe_end, "x", 1) != 1) _exit(1);
        json_decref(r);
    }
}

static void a_writer_killed_in_the_middle_loses_nothing(void **state) {
    (void)state;
    size_t committed = 0;
    for (int round = 0; round < 5; round++) {
        int ends[2];
        char seen[64];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) writer(ends[1]);
        close(ends[1]);
        ssize_t n = read(ends[0], seen, 1);
        assert_int_equal(n, 1);
        usleep(3000 + 1700 * (unsigned)round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (committed += (size_t)n; (n = read(ends[0], seen, sizeof seen)) > 0;) committed += (size_t)n;
        close(ends[0]);
    }
    kg_database *s = opened("kill.db");
    json_t *names = json_array();
    assert_int_equal(kg_store_list(s, &(kg_store_filter){0}, count, names, NULL), 0);
    // The last of a round may be committed and not yet told.
    assert_in_range(json_array_size(names), committed, committed + 5);
    json_decref(names);
    kg_store_close(s);
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open("kill.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(q, 0), "ok");
    sqlite3_finalize(q);
    sqlite3_close(db);
}

static void two_processes_make_and_fill_one_database(void **state) {
    (void)state;
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i]) continue;
        kg_database *s = opened("two.db");
        int64_t run = begun(s, "{}");
        for (int k = 0; k < 25; k++) {
            json_t *r = record("x.c", "relu", "slow");
            if (kg_store_add(s, run, r, NULL)) _exit(1);
            json_decref(r);
        }
        kg_store_close(s);
        _exit(0);
    }
    for (int i = 0; i < 4; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    kg_database *s = opened("two.db");
    json_t *names = json_array();
    assert_int_equal(kg_store_list(s, &(kg_store_filter){0}, count, names, NULL), 0);
    assert_int_equal(json_array_size(names), 100);
    json_decref(names);
    kg_store_close(s);
}

static void sql(const char *path, const char *text) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void expect_refused(const char *path, bool read_only, const char *part) {
    kg_database *s = NULL;
    kg_error e = {0};
    assert_int_equal(kg_store_open(path, read_only, &s, &e), -1);
    assert_int_equal(e.code, KG_ERR_CANNOT);
    assert_non_null(strstr(e.text, part));
    assert_non_null(strstr(e.text, path));
    assert_null(strchr(e.text, '\n'));
    kg_error_clear(&e);
}

static void unusable_databases_are_refused_in_one_line(void **state) {
    (void)state;
    FILE *f = fopen("text.db", "w");
    for (int i = 0; i < 1000; i++) fputs("this is no database ", f);
    fclose(f);
    mkdir("folder.db", 0700);
    kg_store_close(opened("newer.db"));
    sql("newer.db", "PRAGMA user_version=99");
    sql("foreign.db", "CREATE TABLE bookmarks(url TEXT)");
    expect_refused("text.db", false, "not a database");
    expect_refused("folder.db", false, "not a file");
    expect_refused("text.db/inside.db", false, "cannot be made");
    expect_refused("/proc/kgate.db", false, "database");
    expect_refused("newer.db", false, "newer");
    expect_refused("newer.db", true, "newer");
    expect_refused("foreign.db", false, "another program");
    expect_refused("absent.db", true, "no such file");
    // A refused database is left as it was.
    struct stat st;
    assert_int_equal(stat("foreign.db-wal", &st), -1);
}

// Root writes everywhere, so another user tries.
static void a_database_of_another_user_is_refused(void **state) {
    (void)state;
    if (getuid()) skip();
    kg_store_close(opened("mine.db"));
    assert_int_equal(chmod(".", 0755), 0);
    pid_t child = fork();
    if (!child) {
        kg_error e = {0};
        kg_database *s;
        if (setuid(65534)) _exit(2);
        int refused = kg_store_open("mine.db", false, &s, &e) && e.code == KG_ERR_CANNOT && strstr(e.text, "written");
        int made = !kg_store_open("other.db", false, &s, &e);
        _exit(!refused || made);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
}

// 0 when another user reads one result; else what is wrong, on stderr.
static int read_as_another_user(const char *path, const char *refusal) {
    pid_t child = fork();
    if (!child) {
        kg_error e = {0};
        kg_database *s;
        if (setuid(65534)) _exit(2);
        json_t *names = json_array();
        kg_store_filter all = {0};
        int failed = kg_store_open(path, true, &s, &e) || kg_store_list(s, &all, count, names, &e);
        if (refusal) _exit(!failed || !strstr(e.text, refusal));
        if (failed) fprintf(stderr, "%s\n", e.text);
        _exit(failed || json_array_size(names) != 1);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void copy(const char *from, const char *to) {
    char *command = kg_format("cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
    free(command);
}

// Reading in WAL mode makes files beside the database; in a folder that cannot be written it must do without.
static void a_database_that_cannot_be_written_is_read(void **state) {
    (void)state;
    if (getuid()) skip();
    assert_int_equal(mkdir("shared", 0755), 0);
    const char *path = "shared/100% #1?.db";
    kg_database *s = opened(path);
    json_t *r = record("a.c", "relu", "right");
    assert_int_equal(kg_store_add(s, begun(s, "{}"), r, NULL), 0);
    json_decref(r);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(read_as_another_user(path, NULL), 0);  // while another program has it open
    // What a killed program leaves: results in the log alone.
    assert_int_equal(mkdir("left", 0755), 0);
    copy(path, "left/x.db");
    char *log = kg_format("%s-wal", path);
    copy(log, "left/x.db-wal");
    free(log);
    assert_int_equal(read_as_another_user("left/x.db", "left/x.db-wal"), 0);
    kg_store_close(s);
    assert_int_equal(read_as_another_user(path, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_whole_by_a_beginning_of_its_id),
        cmocka_unit_test(a_beginning_finds_the_one_id_that_begins_so),
        cmocka_unit_test(ids_of_equal_records_differ),
        cmocka_unit_test(lists_are_newest_first_and_filtered),
        cmocka_unit_test(a_database_without_the_index_of_lists_is_read_and_gets_it),
        cmocka_unit_test(an_unfinished_run_is_found_by_its_settings),
        cmocka_unit_test(ceilings_belong_to_a_device_and_its_driver),
        cmocka_unit_test(a_writer_killed_in_the_middle_loses_nothing),
        cmocka_unit_test(two_processes_make_and_fill_one_database),
        cmocka_unit_test(unusable_databases_are_refused_in_one_line),
        cmocka_unit_test(a_database_of_another_user_is_refused),
        cmocka_unit_test(a_database_that_cannot_be_written_is_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
