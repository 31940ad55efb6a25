// A source need not be whole: whatever line is missing, every repair makes its edits or says why not.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/diagnose.h"

static void repair_all(kg_repairer *r, kg_language l, const char *source, size_t len) {
    for (size_t i = 0; kg_repair(i); i++) {
        if (!(kg_repair(i)->languages >> l & 1)) continue;
        char *why, *made = kg_repair_apply(r, i, 0, l, source, len, &why);
        if (!made && !why) fail_msg("%s does neither on\n%s", kg_repair(i)->id, source);
        free(made);
        free(why);
    }
}

// Every fifth line from `first` on, so that all are cut in one file or another.
static void cut_lines(kg_repairer *r, kg_language l, const char *text, size_t len, size_t first) {
    char *cut = kg_alloc(len + 1);
    size_t k = 0;
    for (size_t at = 0, next; at < len; at = next, k++) {
        next = at + strcspn(text + at, "\n");
        next += next < len;
        if (k % 5 != first % 5) continue;
        memcpy(cut, text, at);
        memcpy(cut + at, text + next, len - next + 1);
        repair_all(r, l, cut, len - (next - at));
    }
    free(cut);
}

static void cut_kernels(const char *folder, kg_language l) {
    kg_repairer *r = kg_repairer_open();
    DIR *list = opendir(folder);
    size_t n = 0;
    assert_non_null(list);
    for (const struct dirent *e; (e = readdir(list));) {
        char *path = kg_format("%s/%s", folder, e->d_name), *text;
        size_t len;
        if (e->d_name[0] != '.' && !strstr(e->d_name, "_repaired")) {
            assert_int_equal(kg_read_file(path, 1 << 20, &text, &len, NULL), 0);
            cut_lines(r, l, text, len, n++);
            free(text);
        }
        free(path);
    }
    closedir(list);
    kg_repairer_close(r);
    assert_true(n >= 5);
}

static void cuda(void **state) {
    (void)state;
    cut_kernels(KG_SOURCE_DIR "/examples/gap22/cuda", KG_LANG_CUDA);
    cut_kernels(KG_SOURCE_DIR "/examples/cuda", KG_LANG_CUDA);
}

static void triton(void **state) {
    (void)state;
    cut_kernels(KG_SOURCE_DIR "/examples/gap22/triton", KG_LANG_TRITON);
}

static void tilelang(void **state) {
    (void)state;
    cut_kernels(KG_SOURCE_DIR "/examples/gap22/tilelang", KG_LANG_TILELANG);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuda), cmocka_unit_test(triton), cmocka_unit_test(tilelang)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
