// Facts from nvdisasm's text.
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/diagnose.h"

static const char text[] =
    "\t.target\tsm_90a\n"
    "//--------------------- .text.kernel --------------------------\n"
    ".text.kernel:\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "        /*0010*/                   LDG.E.128 R4, desc[UR8][R2.64] ;\n"
    "        /*0020*/              @!P0 LDG.E.U16.CONSTANT R5, desc[UR8][R2.64] ;\n"
    "        /*0030*/              @!UP0 STG.E.64 desc[UR8][R2.64], R4 ;\n"
    "        /*0040*/                   STG.E desc[UR8][R2.64], R4 ;\n"
    "        /*0050*/                   LDGSTS.E.BYPASS.128 [R7], desc[UR8][R2.64] ;\n"
    "        /*0060*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
    "        /*0070*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0 ;\n"
    "        /*0080*/                   DFMA R2, R4, R6, R2 ;\n"
    "        /*0090*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;\n"
    "        /*00a0*/                   LDL.64 R2, [R1] ;\n"
    "        /*00b0*/                   STL [R1+0x8], R2 ;\n"
    "        /*00c0*/                   EXIT ;\n"
    "        /*00d0*/                   NOP ;\n"
    "        .size           LDG.E.128,(.L_x_0 - kernel)\n";

static void instructions_are_counted_by_what_they_do(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double value;
    } expected[] = {
        {"instructions", 13},       {"loads", 2},        {"load_width", 9},          {"stores", 2},
        {"store_width", 6},         {"async_copies", 1}, {"matrix_instructions", 2}, {"warpgroup_instructions", 1},
        {"double_instructions", 1}, {"barriers", 1},     {"local_accesses", 2}};
    kg_facts f = {0};
    kg_facts_from_sass(&f, text, sizeof text - 1);
    kg_facts_prefer_sass(&f);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (kg_facts_get(&f, expected[i].name) != expected[i].value)
            fail_msg("%s: %g, not %g", expected[i].name, kg_facts_get(&f, expected[i].name), expected[i].value);
    kg_facts_free(&f);
}

// Triton's PTX loads 2 bytes at a time where ptxas makes one load of eight.
static void what_ran_counts_more_than_what_was_asked_for(void **state) {
    (void)state;
    static const char ptx[] =
        ".visible .entry kernel()\n{\n\tld.global.b16 %rs1, [%rd1];\n\tcvt.f32.f16 %f1, %rs1;\n}\n";
    kg_facts f = {0};
    kg_facts_from_sass(&f, text, sizeof text - 1);
    kg_facts_from_ptx(&f, ptx, sizeof ptx - 1);
    assert_true(kg_facts_get(&f, "load_width") == 2);
    kg_facts_prefer_sass(&f);
    assert_true(kg_facts_get(&f, "load_width") == 9);
    assert_true(kg_facts_get(&f, "half_conversions") == 1);
    kg_facts_free(&f);
}

static void kernels_add_up(void **state) {
    (void)state;
    kg_facts f = {0};
    kg_facts_from_sass(&f, text, sizeof text - 1);
    kg_facts_from_sass(&f, text, sizeof text - 1);
    kg_facts_prefer_sass(&f);
    assert_true(kg_facts_get(&f, "loads") == 4);
    assert_true(kg_facts_get(&f, "load_width") == 9);
    kg_facts_free(&f);
}

// A template for float and for double: which one ran is not known.
static void what_only_some_functions_have_is_no_fault(void **state) {
    (void)state;
    static const char as_float[] =
        "\t.section\t.text._Z3addIfEvPT_,\"ax\",@progbits\n        /*0000*/ FADD R1, R1, R2 ;\n",
                      as_double[] =
                          "\t.section\t.text._Z3addIdEvPT_,\"ax\",@progbits\n        /*0000*/ DADD R2, R2, R4 ;\n"
                          "        /*0010*/ STL [R1], R2 ;\n";
    const char *const orders[][2] = {{as_float, as_double}, {as_double, as_float}, {as_double, as_double}};
    for (size_t i = 0; i < 3; i++) {
        char *both = kg_format("%s%s", orders[i][0], orders[i][1]);
        kg_facts f = {0};
        kg_facts_from_sass(&f, both, strlen(both));
        kg_facts_prefer_sass(&f);
        assert_true(kg_facts_get(&f, "double_instructions") == (i == 2 ? 2 : 0));
        assert_true(kg_facts_get(&f, "local_accesses") == (i == 2 ? 2 : 0));
        assert_true(kg_facts_get(&f, "instructions") == (i == 2 ? 4 : 3));
        kg_facts_free(&f);
        free(both);
    }
}

static void any_bytes_do_no_harm(void **state) {
    (void)state;
    static const char *const broken[] = {"",   "/*", "/*0010*/", "/*0010*/ @", "/*0010*/ @!P0", "/*zz*/ LDG.E R1 ;",
                                         "/*0"};
    kg_facts f = {0};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) kg_facts_from_sass(&f, broken[i], strlen(broken[i]));
    for (size_t n = 0; n < sizeof text; n++) {
        kg_facts part = {0};
        kg_facts_from_sass(&part, text, n);
        kg_facts_free(&part);
    }
    kg_facts_prefer_sass(&f);
    assert_int_equal(f.n, 0);
    kg_facts_free(&f);
}

// Sections that all claim the whole file.
static void a_cubin_is_read_a_few_times_over_at_most(void **state) {
    (void)state;
    enum { SECTIONS = 30000 };
    const size_t size = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr) + 16;
    unsigned char *file = calloc(1, size);
    assert_non_null(file);
    const Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                             .e_shoff = sizeof head,
                             .e_shentsize = sizeof(Elf64_Shdr),
                             .e_shnum = SECTIONS,
                             .e_shstrndx = 0};
    memcpy(file, &head, sizeof head);
    Elf64_Shdr *sections = calloc(SECTIONS, sizeof *sections);
    for (int i = 0; i < SECTIONS; i++) sections[i].sh_size = size;
    sections[0].sh_offset = size - 16;
    memcpy(file + sizeof head, sections, SECTIONS * sizeof *sections);
    memcpy(file + size - 16, ".nv.info", 9);
    kg_facts f = {0};
    const double start = kg_now();
    kg_facts_from_cubin(&f, file, size);
    assert_true(kg_now() - start < 5);
    kg_facts_free(&f);
    free(sections);
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_are_counted_by_what_they_do),
        cmocka_unit_test(what_ran_counts_more_than_what_was_asked_for),
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(what_only_some_functions_have_is_no_fault),
        cmocka_unit_test(a_cubin_is_read_a_few_times_over_at_most),
        cmocka_unit_test(any_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
