// What repairs make of a source, and what they leave alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
//
#include <cmocka.h>

#include "diagnose/internal.h"

// The repaired source, or "why it was not"; owned by the caller.
static char *repaired(const char *id, size_t variant, kg_language l, const char *source) {
    for (size_t i = 0; kg_repair(i); i++) {
        if (strcmp(kg_repair(i)->id, id) != 0) continue;
        char *why, *made = kg_repair_apply(i, variant, l, source, strlen(source), &why);
        return made ? made : why;
    }
    fail_msg("no repair %s", id);
    return NULL;
}

static void expect(const char *id, size_t variant, kg_language l, const char *source, const char *wanted) {
    char *got = repaired(id, variant, l, source);
    assert_string_equal(got, wanted);
    free(got);
}

#define HEAD "@triton.jit\ndef k(x, out, n, M):\n"

static void serial_loop_goes_in_blocks(void **state) {
    (void)state;
    expect("triton-blocks", 0, KG_LANG_TRITON,
           HEAD
           "    row = tl.program_id(0) * n\n"
           "    total = 0.0\n"
           "    most = -float(\"inf\")\n"
           "    for j in range(n):\n"
           "        v = tl.load(x + row + j)\n"
           "        total += v * v\n"
           "        most = tl.maximum(most, v)\n"
           "    for j in range(0, n):\n"
           "        tl.store(out + row + j, total)\n",
           HEAD
           "    row = tl.program_id(0) * n\n"
           "    total = 0.0\n"
           "    most = -float(\"inf\")\n"
           "    for j_block in range(0, n, 1024):\n"
           "        j = j_block + tl.arange(0, 1024)\n"
           "        j_in = j < n\n"
           "        v = tl.load(x + row + j, mask=j_in, other=0.0)\n"
           "        total += tl.sum(tl.where(j_in, v * v, 0.0))\n"
           "        most = tl.maximum(most, tl.max(tl.where(j_in, v, -float(\"inf\"))))\n"
           "    for j_block in range(0, n, 1024):\n"
           "        j = j_block + tl.arange(0, 1024)\n"
           "        j_in = j < n\n"
           "        tl.store(out + row + j, total, mask=j_in)\n");
}

// A value that goes from turn to turn as anything but a sum or an extreme cannot be taken apart.
static void what_the_turns_hand_on_is_left_alone(void **state) {
    (void)state;
    expect("triton-blocks", 0, KG_LANG_TRITON,
           HEAD
           "    y = 0.0\n"
           "    for j in range(n):\n"
           "        y = y * 0.5 + tl.load(x + j)\n"
           "    tl.store(out, y)\n",
           "the loop carries a value that is no sum, maximum or minimum");
    expect("triton-blocks", 0, KG_LANG_TRITON,
           HEAD
           "    y = 0.0\n"
           "    for j in range(0, n, 128):\n"
           "        y += tl.sum(tl.load(x + j + tl.arange(0, 128)))\n"
           "    tl.store(out, y)\n",
           "no loop that goes through memory one element a turn");
}

static void tiles_are_grouped(void **state) {
    (void)state;
    expect("triton-grouped-order", 0, KG_LANG_TRITON,
           HEAD
           "    pid_m = tl.program_id(axis=0)\n"
           "    pid_n = tl.program_id(axis=1)\n"
           "    c = tl.dot(tl.load(x + pid_m), tl.load(x + pid_n))\n",
           HEAD
           "    pid_m = tl.program_id(axis=0)\n"
           "    pid_n = tl.program_id(axis=1)\n"
           "    pid_n, pid_m = tl.swizzle2d(pid_n, pid_m, tl.num_programs(1), tl.num_programs(0), 8)\n"
           "    c = tl.dot(tl.load(x + pid_m), tl.load(x + pid_n))\n");
    expect("triton-grouped-order", 2, KG_LANG_TRITON,
           HEAD
           "    pid = tl.program_id(0)\n"
           "    wide = tl.cdiv(n, 64)\n"
           "    i = pid // wide\n"
           "    j = pid % wide\n"
           "    c = tl.dot(tl.load(x + i), tl.load(x + j))\n",
           HEAD
           "    pid = tl.program_id(0)\n"
           "    wide = tl.cdiv(n, 64)\n"
           "    i = pid // wide\n"
           "    j = pid % wide\n"
           "    i, j = tl.swizzle2d(i, j, tl.num_programs(0) // wide, wide, 4)\n"
           "    c = tl.dot(tl.load(x + i), tl.load(x + j))\n");
}

static void launches_get_their_warps(void **state) {
    (void)state;
    expect("triton-warps", 2, KG_LANG_TRITON, HEAD "    pass\nk[(1,)](a, b, n=3)\nk[grid](a, num_warps=4)\n",
           HEAD "    pass\nk[(1,)](a, b, n=3, num_warps=8)\nk[grid](a, num_warps=8)\n");
    expect("triton-warps", 0, KG_LANG_TRITON, "@triton.autotune(configs=[], key=[])\n" HEAD "    pass\nk[(1,)](a)\n",
           "no kernel without an autotuner is launched as kernel[grid](...)");
}

static void conversions_move_into_the_kernel(void **state) {
    (void)state;
    expect("convert-in-kernel", 0, KG_LANG_TRITON,
           HEAD
           "    tl.store(out, tl.load(x) * tl.load(x + 1).to(tl.float32))\n"
           "def f(x):\n"
           "    k[(1,)](x.float(), out, 1, 2)\n",
           HEAD
           "    tl.store(out, tl.load(x).to(tl.float32) * tl.load(x + 1).to(tl.float32))\n"
           "def f(x):\n"
           "    k[(1,)](x, out, 1, 2)\n");
    expect("store-native", 0, KG_LANG_TRITON,
           "def f(x):\n"
           "    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)\n"
           "    return out.to(x.dtype)\n",
           "def f(x):\n"
           "    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n"
           "    return out\n");
}

static void outer_loops_run_on_all_cores(void **state) {
    (void)state;
    expect("c-parallel-loops", 0, KG_LANG_C,
           "int f(DLTensor *out) {\n"
           "    for (int64_t i = 0; i < n; i++) {\n"
           "        double sum = 0;\n"
           "        for (int64_t k = 0; k < m; k++) sum += a(i, k);\n"
           "        kg_put(out, i, sum);\n"
           "    }\n"
           "    return 0;\n"
           "}\n",
           "int f(DLTensor *out) {\n"
           "    #pragma omp parallel for\n"
           "    for (int64_t i = 0; i < n; i++) {\n"
           "        double sum = 0;\n"
           "        for (int64_t k = 0; k < m; k++) sum += a(i, k);\n"
           "        kg_put(out, i, sum);\n"
           "    }\n"
           "    return 0;\n"
           "}\n");
    expect("c-parallel-loops", 0, KG_LANG_C,
           "int f(DLTensor *out) {\n"
           "    double last = 0;\n"
           "    for (int64_t i = 0; i < n; i++) { last += a(i); kg_put(out, i, last); }\n"
           "    return 0;\n"
           "}\n",
           "the loop changes last, which is declared outside of it");
    expect("c-parallel-loops", 0, KG_LANG_C, "int f( {", "the source has parts that are no c");
}

// As `diff -u` has it.
static void differences_are_a_patch(void **state) {
    (void)state;
    char *d = kg_unified_diff("a.c", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\nfour\n5\n6\n7\n8\n9\nten\n");
    assert_string_equal(d, "--- a.c\n+++ a.c\n@@ -1,9 +1,10 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n 8\n 9\n+ten\n");
    free(d);
    d = kg_unified_diff("a.c", "x\n1\n2\n3\n4\n5\n6\n7\n8\ny", "X\n1\n2\n3\n4\n5\n6\n7\n8\nY\n");
    assert_string_equal(
        d,
        "--- a.c\n+++ a.c\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-y\n\\ No newline at "
        "end of file\n+Y\n");
    free(d);
    d = kg_unified_diff("a.c", "same\n", "same\n");
    assert_string_equal(d, "");
    free(d);
}

// A repair that answers a rule nobody has would never be tried.
static void answers_name_rules(void **state) {
    (void)state;
    for (size_t i = 0; kg_repair(i); i++) {
        const char *p = kg_repair(i)->answers;
        while (strcmp(p, "*") != 0 && *p) {
            const size_t n = strcspn(p, " ");
            bool known = false;
            for (size_t t = 0; kg_rule_tables(t); t++)
                for (size_t k = 0; k < kg_rule_tables(t)->n; k++) {
                    const char *id = kg_rule_tables(t)->rules[k].id;
                    known |= strlen(id) == n && strncmp(id, p, n) == 0;
                }
            if (!known) fail_msg("%s answers %.*s, which is no rule", kg_repair(i)->id, (int)n, p);
            p += n + strspn(p + n, " ");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_loop_goes_in_blocks),
        cmocka_unit_test(what_the_turns_hand_on_is_left_alone),
        cmocka_unit_test(tiles_are_grouped),
        cmocka_unit_test(launches_get_their_warps),
        cmocka_unit_test(conversions_move_into_the_kernel),
        cmocka_unit_test(outer_loops_run_on_all_cores),
        cmocka_unit_test(differences_are_a_patch),
        cmocka_unit_test(answers_name_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
