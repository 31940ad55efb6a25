// Samples of a C kernel and objdump's listing of it make a profile by lines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/internal.h"

// kg_get of a header, inlined at line 7; a call at 1020; vectors at line 12.
static const char code[] =
    "\n/s/candidate.so:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
    "0000000000001000 <k>:\nk():\n/s/candidate.c:5\n"
    "    1000:\tpush   %rbp\n"
    "kg_get():\n/usr/include/kgate/kernel.h:92 (discriminator 2)\n"
    "inlined by /s/candidate.c:7 (k)\n"
    "    1004:\tvcvtss2sd -0x4(%r12),%xmm6,%xmm0\n"
    "    100b:\tvmulss %xmm1,%xmm0,%xmm0\n"
    "k():\n/s/candidate.c:8 (discriminator 3)\n"
    "    1020:\tcall   1030 <tanh@plt>\n"
    "    1025:\tmov    %rax,%rbx\n"
    "    1028:\tcall   1036 <GOMP_parallel@plt>\n"
    "    102d:\tcall   1038 <pthread_join@plt>\n"
    "/s/candidate.c:12\n"
    "    1040:\tvmulps %zmm1,%zmm0,%zmm0\n"
    "/s/other_candidate.c:3\n"
    "    1050:\tvaddps %zmm1,%zmm0,%zmm0\n";

static char *repeat(const char *line, int n, char *to) {
    for (int i = 0; i < n; i++) to += sprintf(to, "%s\n", line);
    return to;
}

static double share(const kg_profile *p, uint32_t from, uint32_t to) {
    const kg_lines where = {from, to};
    return kg_profile_share(p, &where, 1);
}

static void lines_are_those_of_the_samples_their_callers_and_where_they_were_inlined(void **state) {
    (void)state;
    char samples[4096], *end = samples;
    end = repeat("@100b", 10, end);
    end = repeat("libm.so.6 1024", 20, end);
    end = repeat("@1040", 5, end);
    end = repeat("libgomp.so.1 1025", 4, end);
    end = repeat("libc.so.6", 1, end);
    kg_facts f = {0};
    kg_profile *p = kg_profile_read(samples, code, "candidate.c", &f);
    assert_non_null(p);
    assert_int_equal(p->n, 40);
    assert_float_equal(share(p, 7, 7), 10.0 / 40, 1e-9);
    assert_float_equal(share(p, 8, 8), 24.0 / 40, 1e-9);
    assert_float_equal(share(p, 7, 12), 39.0 / 40, 1e-9);
    assert_float_equal(share(p, 92, 92), 0, 1e-9);
    assert_float_equal(kg_profile_share(p, (const kg_lines[]){{7, 7}, {12, 20}, {12, 13}}, 3), 15.0 / 40, 1e-9);
    // Of those at work: not the ones that wait in libgomp.
    assert_float_equal(kg_facts_get(&f, "scalar_share"), 10.0 / 35, 1e-9);
    assert_float_equal(kg_facts_get(&f, "vector_share"), 5.0 / 35, 1e-9);
    assert_float_equal(kg_facts_get(&f, "math_share"), 20.0 / 35, 1e-9);
    kg_facts_free(&f);
    kg_profile_free(p);
}

// glibc's exp of eight numbers at once is no call for each element.
static void the_librarys_vectors_are_vectors(void **state) {
    (void)state;
    char samples[4096], *end = samples;
    end = repeat("libm-2.31.so 1024", 10, end);
    end = repeat("libmvec.so.1 1024", 20, end);
    end = repeat("libmimalloc.so 1024", 5, end);
    end = repeat("@100b", 10, end);
    kg_facts f = {0};
    kg_profile_free(kg_profile_read(samples, code, "candidate.c", &f));
    assert_float_equal(kg_facts_get(&f, "math_share"), 10.0 / 40, 1e-9);
    assert_float_equal(kg_facts_get(&f, "vector_share"), 20.0 / 40, 1e-9);
    assert_float_equal(kg_facts_get(&f, "scalar_share"), 10.0 / 40, 1e-9);
    kg_facts_free(&f);
}

// Their work is not seen, so that the wait for it says nothing of where time goes.
static void waits_for_other_threads_are_no_samples(void **state) {
    (void)state;
    char samples[4096], *end = samples;
    kg_facts f = {0};
    end = repeat("libgomp.so.1 102c", 30, end);
    end = repeat("libc.so.6 1031", 30, end);
    end = repeat("@100b 102c", 15, end);
    assert_null(kg_profile_read(samples, code, "candidate.c", &f));
    end = repeat("libgomp.so.1 1024", 5, end);
    kg_profile *p = kg_profile_read(samples, code, "candidate.c", &f);
    assert_non_null(p);
    assert_int_equal(p->n, 20);
    assert_float_equal(share(p, 7, 7), 15.0 / 20, 1e-9);
    kg_facts_free(&f);
    kg_profile_free(p);
}

static void too_few_or_of_other_files_are_no_profile(void **state) {
    (void)state;
    char samples[4096];
    kg_facts f = {0};
    repeat("@100b", 19, samples);
    assert_null(kg_profile_read(samples, code, "candidate.c", &f));
    repeat("@1050", 30, samples);
    assert_null(kg_profile_read(samples, code, "candidate.c", &f));
    repeat("?", 30, samples);
    assert_null(kg_profile_read(samples, code, "candidate.c", &f));
    assert_null(kg_profile_read("", "", "candidate.c", &f));
    assert_int_equal(f.n, 0);
}

// The file is the candidate's: it may hold anything.
static void any_bytes_are_read(void **state) {
    (void)state;
    static const char *const odd[] = {"@",           "@zz",   "@ffffffffffffffffffff 1", " ", "  ", "1004 ", "@1004  ",
                                      "@1004 x y z", "@-1 -1"};
    char samples[4096], *end = samples;
    kg_facts f = {0};
    for (size_t i = 0; i < 45; i++) end = repeat(odd[i % 9], 1, end);
    kg_profile_free(kg_profile_read(samples, code, "candidate.c", &f));
    kg_profile_free(kg_profile_read(samples, "1004:\n:\n inlined by \n/candidate.c:\n    :\t\n", "candidate.c", &f));
    kg_facts_free(&f);
}

// 60 us of launches at lines 3 to 9, 10 at 20 to 30, of a call of 100.
static void launches_are_parts_of_a_call(void **state) {
    (void)state;
    static const char json[] =
        "{\"total_us\": 100, \"kernels\": [{\"lines\": [[3, 9]], \"us\": 60}, {\"lines\": [[20, 30]], \"us\": 10}]}";
    kg_facts f = {0};
    kg_profile *p = kg_launches_read(json, sizeof json - 1, &f);
    assert_non_null(p);
    assert_true(p->launches);
    assert_float_equal(share(p, 4, 5), 0.6, 1e-9);
    assert_float_equal(share(p, 1, 3), 0.6, 1e-9);
    assert_float_equal(share(p, 10, 19), 0, 1e-9);
    assert_float_equal(share(p, 1, 40), 0.7, 1e-9);
    assert_float_equal(kg_facts_get(&f, "other_share"), 0.3, 1e-9);
    kg_facts_free(&f);
    kg_profile_free(p);
}

// Events cost time of their own: of short launches the sum is more than the call was.
static void launches_of_more_than_the_call_leave_nothing(void **state) {
    (void)state;
    static const char json[] = "{\"total_us\": 10, \"kernels\": [{\"lines\": [[1, 2]], \"us\": 12}]}";
    kg_facts f = {0};
    kg_profile *p = kg_launches_read(json, sizeof json - 1, &f);
    assert_float_equal(share(p, 1, 1), 1, 1e-9);
    assert_float_equal(kg_facts_get(&f, "other_share"), 0, 1e-9);
    kg_facts_free(&f);
    kg_profile_free(p);
}

// The file is the candidate's: it may hold anything.
static void launches_of_any_kind_are_read(void **state) {
    (void)state;
    static const char *const none[] = {"",
                                       "[]",
                                       "{}",
                                       "{\"total_us\": 1}",
                                       "{\"total_us\": 0, \"kernels\": []}",
                                       "{\"total_us\": -1, \"kernels\": []}",
                                       "{\"total_us\": 1, \"kernels\": {}}",
                                       "{\"total_us\": 1e300, \"kernels\": []}",
                                       "\xff",
                                       "{\"kernels\": []}"};
    static const char odd[] =
        "{\"total_us\": 5, \"kernels\": [1, [], {}, {\"lines\": [[0, 1]], \"us\": 1}, "
        "{\"lines\": [[5, 4]], \"us\": 1}, {\"lines\": [[1, 1e30]], \"us\": 1}, "
        "{\"lines\": [[1, 2]], \"us\": -1}, {\"lines\": [[\"1\", 2]], \"us\": 1}]}";
    kg_facts f = {0};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_null(kg_launches_read(none[i], strlen(none[i]), &f));
    assert_int_equal(f.n, 0);
    kg_profile *p = kg_launches_read(odd, sizeof odd - 1, &f);
    assert_non_null(p);
    assert_float_equal(share(p, 1, 100), 0, 1e-9);
    assert_float_equal(kg_facts_get(&f, "other_share"), 1, 1e-9);
    kg_facts_free(&f);
    kg_profile_free(p);
}

// A Triton file with two kernels and a function that calls them.
static const char two_kernels[] =
    "import triton\n"
    "import triton.language as tl\n"
    "@triton.jit\n"
    "def slow(x, y, n, BLOCK: tl.constexpr):\n"
    "    for i in range(0, n, BLOCK):\n"
    "        tl.store(y + i, tl.load(x + i).to(tl.float64))\n"
    "@triton.jit(debug=False)\n"
    "def idle(x, y, n, BLOCK: tl.constexpr):\n"
    "    for i in range(0, n, BLOCK):\n"
    "        tl.store(y + i, tl.load(x + i).to(tl.float64))\n"
    "def task(x):\n"
    "    y = x.cpu()\n"
    "    return y\n";

static json_t *findings_of(const kg_profile *p) {
    kg_facts f = {0};
    kg_facts_set(&f, "slow", 1);
    kg_facts_set(&f, "right", 1);
    kg_facts_set(&f, "bits", 16);
    kg_facts_set(&f, "python", 1);
    kg_facts_set(&f, "memory_bound", 1);
    const kg_subject s = {
        .language = KG_LANG_TRITON, .source = two_kernels, .len = sizeof two_kernels - 1, .facts = &f, .profile = p};
    kg_diagnoser *d = kg_diagnoser_open();
    bool explained;
    json_t *found = kg_diagnose(d, &s, &explained);
    kg_diagnoser_close(d);
    kg_facts_free(&f);
    return found;
}

// How many findings point into these lines; all of them of this basis.
static size_t pointing(const json_t *found, int from, int to, const char *basis) {
    size_t i, n = 0;
    const json_t *f;
    json_array_foreach(found, i, f) {
        const int line = (int)json_integer_value(json_object_get(f, "line"));
        if (line < from || line > to) continue;
        assert_string_equal(json_string_value(json_object_get(f, "basis")), basis);
        n++;
    }
    return n;
}

static void kernels_that_hardly_run_have_no_findings(void **state) {
    (void)state;
    static const char json[] = "{\"total_us\": 100, \"kernels\": [{\"lines\": [[3, 6]], \"us\": 97}]}";
    kg_facts f = {0};
    kg_profile *p = kg_launches_read(json, sizeof json - 1, &f);
    json_t *without = findings_of(NULL), *with = findings_of(p);
    assert_true(pointing(without, 3, 6, "text") > 0);
    assert_int_equal(pointing(with, 3, 6, "timed"), pointing(without, 3, 6, "text"));
    assert_int_equal(pointing(with, 7, 10, "timed"), 0);
    // What is written outside of kernels is not what launches tell of.
    assert_true(pointing(without, 11, 13, "text") > 0);
    assert_int_equal(pointing(with, 11, 13, "text"), pointing(without, 11, 13, "text"));
    json_decref(without);
    json_decref(with);
    kg_facts_free(&f);
    kg_profile_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_samples_their_callers_and_where_they_were_inlined),
        cmocka_unit_test(the_librarys_vectors_are_vectors),
        cmocka_unit_test(waits_for_other_threads_are_no_samples),
        cmocka_unit_test(too_few_or_of_other_files_are_no_profile),
        cmocka_unit_test(any_bytes_are_read),
        cmocka_unit_test(launches_are_parts_of_a_call),
        cmocka_unit_test(launches_of_more_than_the_call_leave_nothing),
        cmocka_unit_test(launches_of_any_kind_are_read),
        cmocka_unit_test(kernels_that_hardly_run_have_no_findings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
