// Compiling candidates: what comes out, and how failure is told.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "build/build.h"

static char scratch[] = "/tmp/kgate-test-XXXXXX";

static int set_up(void **state) {
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char *command = kg_format("rm -rf %s", scratch);
    int r = system(command);
    free(command);
    return r;
}

static int build(kg_language language, const char *source, double timeout_s, kg_artifact *a, kg_error *e) {
    kg_candidate c = {.path = "x.c", .source = (char *)source, .source_len = strlen(source), .language = language};
    kg_device_info d = {.kind = "cpu", .arch = "x86-64"};
    return kg_build(&c, &d, scratch, timeout_s, a, e);
}

static void c_becomes_a_shared_object(void **state) {
    (void)state;
    kg_artifact a;
    kg_error e = {0};
    const char *source =
        "#include <kgate/kernel.h>\n#include <math.h>\n#include <omp.h>\n"
        "double twice(double x) { return 2 * x + sqrt(0.0) + 0 * omp_get_num_threads(); }\n";
    assert_int_equal(build(KG_LANG_C, source, 30, &a, &e), 0);
    void *library = dlopen(a.artifact, RTLD_NOW);
    assert_non_null(library);
    double (*twice)(double);
    *(void **)&twice = dlsym(library, "twice");
    assert_true(twice(3.5) == 7.0);
    kg_artifact_free(&a);  // the library stays: OpenMP's runtime forgets memory when it goes
}

static void first_error_line_is_the_message(void **state) {
    (void)state;
    kg_artifact a;
    kg_error e = {0};
    assert_int_equal(build(KG_LANG_C, "int f(void) {\n    return g;\n}\nint h(void) { return k; }\n", 30, &a, &e), -1);
    assert_int_equal(e.code, KG_ERR_CANDIDATE);
    assert_non_null(strstr(e.text, "candidate.c:2:12: error:"));
    assert_null(strchr(e.text, '\n'));
    assert_non_null(strstr(a.log, "candidate.c:4"));
    kg_error_clear(&e);
    kg_artifact_free(&a);
}

// Includes itself twice at each of 200 levels: the compiler would be busy for ever.
static void endless_compile_is_ended(void **state) {
    (void)state;
    kg_artifact a;
    kg_error e = {0};
    const char *source = "#if __INCLUDE_LEVEL__ < 190\n#include \"candidate.c\"\n#include \"candidate.c\"\n#endif\n";
    double start = kg_now();
    assert_int_equal(build(KG_LANG_C, source, 0.5, &a, &e), -1);
    assert_true(kg_now() - start < 5);
    assert_int_equal(e.code, KG_ERR_CANDIDATE);
    assert_non_null(strstr(e.text, "did not end within 0.5 s"));
    kg_error_clear(&e);
    kg_artifact_free(&a);
}

static void log_is_bounded(void **state) {
    (void)state;
    char *argv[] = {"sh", "-c", "yes | head -c 1000000; exit 3", NULL};
    kg_process p = {.argv = argv, .control = -1, .search_path = true};
    kg_process_result r;
    assert_int_equal(kg_process_run(&p, 30, 65536, &r, NULL), 0);
    assert_int_equal(strlen(r.output), 65536);
    char *how = kg_process_describe(r.status);
    assert_string_equal(how, "exited with status 3");
    free(how);
    free(r.output);
}

static void missing_compiler_is_the_machines_fault(void **state) {
    (void)state;
    kg_artifact a;
    kg_error e = {0};
    char *old = getenv("CC") ? kg_strdup(getenv("CC")) : NULL;
    setenv("CC", "no-such-compiler -x", 1);
    assert_int_equal(build(KG_LANG_C, "int x;", 30, &a, &e), -1);
    if (old) setenv("CC", old, 1);
    else unsetenv("CC");
    assert_int_equal(e.code, KG_ERR_CANNOT);
    assert_non_null(strstr(e.text, "no C compiler `no-such-compiler` here"));
    free(old);
    kg_error_clear(&e);
    kg_artifact_free(&a);
}

static void python_is_written_as_it_is(void **state) {
    (void)state;
    kg_artifact a;
    char *data;
    size_t size;
    assert_int_equal(build(KG_LANG_TRITON, "import torch\n", 30, &a, NULL), 0);
    assert_int_equal(kg_read_file(a.artifact, 100, &data, &size, NULL), 0);
    assert_string_equal(data, "import torch\n");
    free(data);
    kg_artifact_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(c_becomes_a_shared_object),
                                       cmocka_unit_test(first_error_line_is_the_message),
                                       cmocka_unit_test(endless_compile_is_ended),
                                       cmocka_unit_test(log_is_bounded),
                                       cmocka_unit_test(missing_compiler_is_the_machines_fault),
                                       cmocka_unit_test(python_is_written_as_it_is)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
