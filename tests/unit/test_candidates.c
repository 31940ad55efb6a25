// What the user typed becomes candidates: files, folders, lists, and what is wrong with each said in it.
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "candidate/candidate.h"

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

static void write_bytes(const char *path, const char *bytes, size_t n) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}
static void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

static kg_candidate_source *source(const char *arg, const char *task) {
    kg_candidate_source *s = NULL;
    assert_int_equal(kg_candidates_open((char *[]){(char *)arg}, 1, task, &s, NULL), 0);
    return s;
}

static kg_candidate only(const char *arg) {
    kg_candidate c, more;
    kg_candidate_source *s = source(arg, NULL);
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_int_equal(kg_candidates_next(s, &more), 0);
    kg_candidates_close(s);
    return c;
}

static void a_file_is_hashed_and_named_by_its_stem(void **state) {
    (void)state;
    write_text("softmax.c", "abc");
    kg_candidate c = only("softmax.c");
    assert_int_equal(c.problem.code, KG_OK);
    assert_string_equal(c.task, "softmax");
    assert_int_equal(c.language, KG_LANG_C);
    assert_false(c.listed);
    // FIPS 180-2, appendix B.1
    assert_string_equal(c.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    kg_candidate_free(&c);
}

static void header_comments_of_any_style_are_read(void **state) {
    (void)state;
    const struct {
        const char *text, *task, *entry, *launch;
    } cases[] = {
        {"// kgate: task=relu entry=my_relu\nint x;", "relu", "my_relu", NULL},
        {"/* kgate: task=gelu */ int x;", "gelu", NULL, NULL},
        {"/*\n * kgate: task=add\n * kgate: launch grid=n/256 block=256\n */", "add", NULL, "grid=n/256 block=256"},
        {"# kgate: task=sum\nimport torch", "sum", NULL, NULL},
        {"\xef\xbb\xbf# kgate: task=sum\nimport torch", "sum", NULL, NULL},  // behind a byte order mark
        {"int y; // see kgate: task=relu\n", "file", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("file.c", cases[i].text);
        kg_candidate c = only("file.c");
        assert_string_equal(c.task, cases[i].task);
        assert_int_equal(c.entry != NULL, cases[i].entry != NULL);
        if (c.entry) assert_string_equal(c.entry, cases[i].entry);
        assert_int_equal(c.launch != NULL, cases[i].launch != NULL);
        if (c.launch) assert_string_equal(c.launch, cases[i].launch);
        kg_candidate_free(&c);
    }
}

static void only_the_first_hundred_lines_are_a_header(void **state) {
    (void)state;
    for (int lines = 99; lines <= 100; lines++) {
        kg_text t = {0};
        for (int i = 0; i < lines; i++) kg_text_add(&t, "\n");
        kg_text_add(&t, "// kgate: task=relu\n");
        write_text("far.c", t.data);
        kg_text_free(&t);
        kg_candidate c = only("far.c");
        assert_string_equal(c.task, lines == 99 ? "relu" : "far");
        kg_candidate_free(&c);
    }
}

static void the_command_line_names_the_task_before_all(void **state) {
    (void)state;
    kg_candidate c;
    write_text("a.c", "// kgate: task=relu\nint x;");
    kg_candidate_source *s = source("a.c", "gelu");
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_string_equal(c.task, "gelu");
    kg_candidate_free(&c);
    kg_candidates_close(s);
}

static void content_tells_the_language(void **state) {
    (void)state;
    const struct {
        const char *path, *text;
        kg_language language;
    } cases[] = {
        {"a.py", "import torch\nimport triton\n", KG_LANG_TRITON},
        {"a.py", "@triton.jit\ndef k(): pass\n", KG_LANG_TRITON},
        {"a.py", "from tilelang import language as T\n", KG_LANG_TILELANG},
        {"a.py", "import torch\nimport tilelang as tl\n", KG_LANG_TILELANG},
        {"a.py", "def f():\n    import tilelang.language as T\n", KG_LANG_TILELANG},
        {"a.py", "import mytilelang\n\"\"\"no tilelang here\"\"\"\n", KG_LANG_PYTHON},
        {"a.py", "import torch\n# no triton here\n", KG_LANG_PYTHON},
        {"a.txt", "#include <stdio.h>\nint f(void);\n", KG_LANG_C},
        {"a.txt", "#include <cuda_fp16.h>\n__global__ void k() {}\n", KG_LANG_CUDA},
        {"a.txt", "import torch\nsource = '''\n__global__ void k() {}\n'''\n", KG_LANG_PYTHON},
        {"a.txt", "//\n.version 8.0\n.target sm_90\n", KG_LANG_PTX},
        {"a.cl", "__kernel void f() {}", KG_LANG_OPENCL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(cases[i].path, cases[i].text);
        kg_candidate c = only(cases[i].path);
        assert_int_equal(c.language, cases[i].language);
        kg_candidate_free(&c);
    }
}

static void bad_files_say_what_is_wrong(void **state) {
    (void)state;
    write_text("empty.c", " \n\t");
    write_bytes("binary.c", "int\0x", 5);
    write_text("prose.txt", "Sorry, I cannot write this kernel.");
    write_text("not.cubin", "text");
    const struct {
        const char *path, *part;
        kg_code code;
    } cases[] = {{"empty.c", "empty", KG_ERR_CANDIDATE},     {"binary.c", "binary", KG_ERR_CANDIDATE},
                 {"prose.txt", "--lang", KG_ERR_USAGE},      {"not.cubin", "ELF", KG_ERR_CANDIDATE},
                 {"absent.c", "no such file", KG_ERR_USAGE}, {"empty.c/x.c", "no such file", KG_ERR_USAGE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kg_candidate c = only(cases[i].path);
        assert_int_equal(c.problem.code, cases[i].code);
        assert_non_null(strstr(c.problem.text, cases[i].part));
        assert_non_null(strstr(c.problem.text, cases[i].path));
        kg_candidate_free(&c);
    }
}

static void folders_are_walked_in_name_order(void **state) {
    (void)state;
    static const char *const expected[] = {"d/a.c", "d/b/c.cu", "d/b/list.jsonl:1", "d/it's \"x\"\n.c", "d/z.py"};
    mkdir("d", 0700), mkdir("d/b", 0700), mkdir("d/.hidden", 0700), mkdir("d/__pycache__", 0700);
    write_text("d/z.py", "import torch\n"), write_text("d/a.c", "int a;"), write_text("d/b/c.cu", "int c;");
    write_text("d/it's \"x\"\n.c", "int x;"), write_text("d/README.md", "no"), write_text("d/.hidden/h.c", "int h;");
    write_text("d/__pycache__/p.py", "no"), write_text("d/b/list.jsonl", "{\"task\":\"relu\",\"code\":\"int f;\"}\n");
    assert_int_equal(symlink("../d", "d/b/loop"), 0);
    kg_candidate_source *s = source("d/", NULL);
    kg_candidate c;
    size_t n = 0;
    for (; kg_candidates_next(s, &c); n++) {
        assert_true(n < 5);
        assert_string_equal(c.path, expected[n]);
        assert_true(c.listed);
        kg_candidate_free(&c);
    }
    assert_int_equal(n, 5);
    kg_candidates_close(s);
}

static void both_forms_of_list_lines_are_read(void **state) {
    (void)state;
    write_text(
        "list.jsonl",
        "\xEF\xBB\xBF{\"file\":\"../../x/softmax.py\",\"predict\":\"import triton\\n\"}\r\n"
        "\n"
        "{\"id\":\"q\",\"task\":\"Adam\",\"round\":\"round_1\",\"method\":\"geak\",\"code\":\"import torch\\n\"}\n"
        "{\"task\":\"relu\",\"round\":2,\"code\":\"# kgate: task=gelu\\nimport torch\\n\"}");
    kg_candidate_source *s = source("list.jsonl", NULL);
    kg_candidate c;
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_string_equal(c.path, "list.jsonl:1");
    assert_string_equal(c.task, "softmax");
    assert_int_equal(c.language, KG_LANG_TRITON);
    assert_null(c.file);
    kg_candidate_free(&c);
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_string_equal(c.path, "list.jsonl:3");
    assert_string_equal(c.task, "Adam");
    assert_string_equal(c.method, "geak");
    assert_string_equal(c.round, "round_1");
    kg_candidate_free(&c);
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_string_equal(c.task, "gelu");
    assert_string_equal(c.round, "2");
    kg_candidate_free(&c);
    assert_int_equal(kg_candidates_next(s, &c), 0);
    kg_candidates_close(s);
}

static void a_bad_line_is_one_candidate_of_many(void **state) {
    (void)state;
    FILE *f = fopen("many.jsonl", "w");
    for (int i = 1; i <= 300; i++)
        fputs(i == 7    ? "{\"task\": broken\n"
              : i == 8  ? "[1]\n"
              : i == 9  ? "{\"task\":\"relu\"}\n"
              : i == 10 ? "\xff\xfe\n"
                        : "{\"task\":\"relu\",\"code\":\"#include <math.h>\\n\"}\n",
              f);
    fclose(f);
    kg_candidate_source *s = source("many.jsonl", NULL);
    kg_candidate c;
    int good = 0, bad = 0;
    while (kg_candidates_next(s, &c)) {
        if (c.problem.code) assert_int_equal(c.problem.code, KG_ERR_CANDIDATE);
        c.problem.code ? bad++ : good++;
        kg_candidate_free(&c);
    }
    assert_int_equal(good, 296);
    assert_int_equal(bad, 4);
    kg_candidates_close(s);
}

static void one_line_of_a_list_can_be_named(void **state) {
    (void)state;
    write_text("l.jsonl", "junk\n{\"task\":\"abs\",\"code\":\"import torch\\n\"}\n");
    kg_candidate c = only("l.jsonl:2");
    assert_string_equal(c.task, "abs");
    assert_string_equal(c.path, "l.jsonl:2");
    assert_false(c.listed);
    kg_candidate_free(&c);
    c = only("l.jsonl:3");
    assert_int_equal(c.problem.code, KG_ERR_USAGE);
    kg_candidate_free(&c);
}

static void a_huge_line_is_passed_over_in_little_memory(void **state) {
    (void)state;
    FILE *f = fopen("huge.jsonl", "w");
    char *block = malloc(1 << 20);
    memset(block, 'x', 1 << 20);
    fputs("{\"code\":\"", f);
    for (int i = 0; i < 400; i++) fwrite(block, 1, 1 << 20, f);
    fputs("\"}\n{\"task\":\"abs\",\"code\":\"import torch\\n\"}\n", f);
    fclose(f);
    free(block);
    kg_candidate_source *s = source("huge.jsonl", NULL);
    kg_candidate c;
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_int_equal(c.problem.code, KG_ERR_CANDIDATE);
    kg_candidate_free(&c);
    assert_int_equal(kg_candidates_next(s, &c), 1);
    assert_string_equal(c.task, "abs");
    kg_candidate_free(&c);
    kg_candidates_close(s);
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    assert_true(r.ru_maxrss < 300 * 1024);  // KiB; the line is 400 MiB
}

static void odd_bytes_in_names_become_text(void **state) {
    (void)state;
    write_text(
        "\xff"
        "a.c",
        "int x;");
    kg_candidate c = only(
        "\xff"
        "a.c");
    assert_string_equal(c.path, "\\xffa.c");
    assert_string_equal(c.file,
                        "\xff"
                        "a.c");
    kg_candidate_free(&c);
}

static void nothing_to_judge_is_said(void **state) {
    (void)state;
    mkdir("none", 0700);
    write_text("none.jsonl", "\n\n");
    static const char *const args[] = {"none", "none.jsonl"};
    for (size_t i = 0; i < 2; i++) {
        kg_candidate c = only(args[i]);
        assert_int_equal(c.problem.code, KG_ERR_USAGE);
        assert_non_null(strstr(c.problem.text, args[i]));
        kg_candidate_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_huge_line_is_passed_over_in_little_memory),
        cmocka_unit_test(a_file_is_hashed_and_named_by_its_stem),
        cmocka_unit_test(header_comments_of_any_style_are_read),
        cmocka_unit_test(only_the_first_hundred_lines_are_a_header),
        cmocka_unit_test(the_command_line_names_the_task_before_all),
        cmocka_unit_test(content_tells_the_language),
        cmocka_unit_test(bad_files_say_what_is_wrong),
        cmocka_unit_test(folders_are_walked_in_name_order),
        cmocka_unit_test(both_forms_of_list_lines_are_read),
        cmocka_unit_test(a_bad_line_is_one_candidate_of_many),
        cmocka_unit_test(one_line_of_a_list_can_be_named),
        cmocka_unit_test(odd_bytes_in_names_become_text),
        cmocka_unit_test(nothing_to_judge_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
