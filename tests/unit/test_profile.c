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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_samples_their_callers_and_where_they_were_inlined),
        cmocka_unit_test(the_librarys_vectors_are_vectors), cmocka_unit_test(waits_for_other_threads_are_no_samples),
        cmocka_unit_test(too_few_or_of_other_files_are_no_profile), cmocka_unit_test(any_bytes_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
