// What a skeleton says of itself is what it is, and its file's name says its language.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "candidate/candidate.h"
#include "task/task.h"

static void a_skeleton_without_a_kernel_says_so(const char *language, kg_language with, const char *mark,
                                                const char *none) {
    size_t kernels = 0, plain = 0;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        char *text = kg_task_skeleton(t, language, NULL);
        if (!text) continue;
        bool kernel = strstr(text, mark) != NULL, says_none = strstr(text, none) != NULL;
        if (kernel == says_none) fail_msg("%s:\n%s", t->name, text);
        kernels += kernel;
        plain += says_none;
        kg_candidate c;
        kg_candidate_from_text("x.py", NULL, KG_LANG_UNKNOWN, text, &c);
        assert_int_equal(c.language, kernel ? with : KG_LANG_PYTHON);
        char *label = kg_task_label(t);
        assert_string_equal(c.task, label);
        free(label);
        kg_candidate_free(&c);
        free(text);
    }
    assert_in_range(kernels, 8, 1000);
    assert_in_range(plain, 8, 1000);
}

static void triton_skeletons(void **state) {
    (void)state;
    a_skeleton_without_a_kernel_says_so("triton", KG_LANG_TRITON, "@triton.jit", "no Triton kernel yet");
}

static void tilelang_skeletons(void **state) {
    (void)state;
    a_skeleton_without_a_kernel_says_so("tilelang", KG_LANG_TILELANG, "@T.prim_func", "no TileLang kernel yet");
    char *text = kg_task_skeleton(kg_task_find("fused_relu_sqrt"), "tilelang", NULL);
    assert_non_null(strstr(text, "T.cast(T.sqrt(T.if_then_else(x < 0, 0.0, x)), result)"));
    free(text);
}

static void expect_path(const char *language, const char *path, bool fits) {
    kg_error err = {0};
    int rc = kg_task_skeleton_check_path(language, path, &err);
    if ((rc == 0) != fits) fail_msg("%s %s: %s", language, path, err.text ? err.text : "accepted");
    if (rc) assert_int_equal(err.code, KG_ERR_USAGE);
    kg_error_clear(&err);
}

static void a_name_of_another_language_is_refused(void **state) {
    (void)state;
    expect_path("python", "x.c", false);
    expect_path("c", "x.cu", false);
    expect_path("cuda", "a.b/x.PY", false);
    expect_path("triton", "x.cl", false);
    expect_path("c", "x.jsonl", false);
    expect_path("c", "x.c", true);
    expect_path("cuda", "x.CU", true);
    expect_path("triton", "x.py", true);
    expect_path("tilelang", "x.cu", false);
    expect_path("python", "-", true);
    expect_path("c", "softmax.v2", true);
    expect_path("c", "a.py/softmax", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triton_skeletons),
        cmocka_unit_test(tilelang_skeletons),
        cmocka_unit_test(a_name_of_another_language_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
