// A stated launch: what it means for a case, and that no text crashes it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runner/loader/launch_spec.h"
#include "task/task.h"

// x: f32[3,17] with strides [1,3] at address 0x10000 + 64 + slot * 4096; dim = -1; eps = 0.5; out: f32[51].
static kg_run_case the_case(void) {
    static char x[] = "x", dim[] = "dim", eps[] = "eps", mask[] = "mask";
    kg_run_case c = {.n_args = 4, .n_outs = 1, .slots = 2};
    c.args[0] = (kg_run_arg){.name = x, .kind = KG_P_TENSOR};
    c.args[0].tensor = (kg_run_tensor){
        .desc = {KG_F32, 2, {3, 17}, {1, 3}}, .base = (void *)0x10000, .offset = 64, .slot_stride = 4096};
    c.args[1] = (kg_run_arg){.name = dim, .kind = KG_P_INT, .i = -1};
    c.args[2] = (kg_run_arg){.name = eps, .kind = KG_P_FLOAT, .f = 0.5};
    c.args[3] = (kg_run_arg){.name = mask, .kind = KG_P_TENSOR, .none = true};
    c.outs[0] = (kg_run_tensor){.desc = {KG_F32, 1, {51}, {1}}, .base = (void *)0x90000, .slot_stride = 512};
    return c;
}

static int eval(const char *text, size_t i, int slot, kg_launch *l, kg_error *err) {
    const kg_run_case c = the_case();
    kg_launch_spec *s;
    if (kg_launch_parse(text, &s, err) != 0) return -1;
    int rc = i < kg_launch_count(s) ? kg_launch_eval(s, i, &c, slot, l, err) : 99;
    kg_launch_free(s);
    return rc;
}

static int grid_of(const char *expression) {
    kg_launch l;
    char text[256];
    snprintf(text, sizeof text, "kernel=k block=1 grid=%s", expression);
    assert_int_equal(eval(text, 0, 0, &l, NULL), 0);
    return (int)l.grid[0];
}

static void expressions_are_integers(void **state) {
    (void)state;
    assert_int_equal(grid_of("1+2*3"), 7);
    assert_int_equal(grid_of("(1+2)*3"), 9);
    assert_int_equal(grid_of("10-4-3"), 3);
    assert_int_equal(grid_of("17/5 + 17%5"), 5);
    assert_int_equal(grid_of("--5"), 5);
    assert_int_equal(grid_of("7 - -2"), 9);
    assert_int_equal(grid_of("ceildiv(numel(x), 16)"), 4);  // 51 elements
    assert_int_equal(grid_of("min(3,max(1,2))"), 2);
    assert_int_equal(grid_of("size(x,0)*100 + stride(x, 1)"), 303);
    assert_int_equal(grid_of("size(x,dim) + ndim(x)"), 19);
    assert_int_equal(grid_of("numel(out) + numel(out0)"), 102);
    assert_int_equal(grid_of("size(x,-2)*100 + size(x,-3)*10 + stride(x,-3)"), 310);  // no third dimension: 1, 0
    assert_int_equal(grid_of("code(x)*100 + bits(x)"), 232);                          // kDLFloat of 32 bits
}

static void a_launch_has_dimensions_and_values(void **state) {
    (void)state;
    kg_launch l;
    const char *text =
        "kernel=first grid=1,2,3 block=32,4 smem=4*256 args=x,out,mask,i32(0-2),i64(numel(x)),f32(eps),f64(eps)"
        "; kernel=second grid=0 block=64\nkernel=third grid=1 block=1 args=out */";
    assert_int_equal(eval(text, 0, 1, &l, NULL), 0);
    assert_int_equal(l.grid[0] * 100 + l.grid[1] * 10 + l.grid[2], 123);
    assert_int_equal(l.block[0] * 100 + l.block[1] * 10 + l.block[2], 3241);
    assert_int_equal(l.smem, 1024);
    assert_int_equal(l.n_args, 7);
    assert_int_equal(l.value[0], 0x10000 + 64 + 4096);
    assert_int_equal(l.value[1], 0x90000 + 512);
    assert_int_equal(l.value[2], 0);  // None
    assert_int_equal((int32_t)l.value[3], -2);
    assert_int_equal(l.value[4], 51);
    assert_int_equal((uint32_t)l.value[5], 0x3f000000);  // 0.5f
    assert_int_equal(l.value[6], 0x3fe0000000000000);    // 0.5
    assert_false(l.empty);
    assert_int_equal(eval(text, 1, 0, &l, NULL), 0);
    assert_true(l.empty);
    assert_int_equal(eval(text, 2, 0, &l, NULL), 0);
    assert_int_equal(eval(text, 3, 0, &l, NULL), 99);  // three launches
}

static void wrong_texts_say_why(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } all[] = {
        {"", "nothing stated"},
        {"grid=1 block=1", "no kernel"},
        {"kernel=k grid=1", "block= are needed"},
        {"kernel=k grid=1 block=1 args=y", "no tensor `y`"},
        {"kernel=k grid=1 block=1 args=u8(1)", "unknown argument kind"},
        {"kernel=k grid=1 block=1 args=f32(x)", "no number parameter `x`"},
        {"kernel=k grid=1 block=1 args=i32(1*65536*65536)", "does not fit i32"},
        {"kernel=k grid=eps block=1", "no integer parameter `eps`"},
        {"kernel=k grid=1/0 block=1", "division"},
        {"kernel=k grid=size(x,2) block=1", "2 dimensions"},
        {"kernel=k grid=1 block=2000", "1 to 1024"},
        {"kernel=k grid=0-1 block=1", "grid of -1"},
        {"kernel=k grid=9223372036854775807+1 block=1", "beyond 64 bits"},
        {"kernel=k grid=99999999999999999999 block=1", "too large"},
        {"kernel=k grid=(1 block=1", "parenthesis"},
        {"kernel=k grid=pow(2,3) block=1", "unknown function"},
        {"kernel=k grid=1,2,3,4 block=1", "too many dimensions"},
        {"kernel=k speed=9", "unknown field"},
        {"kernel=k grid=numel(mask) block=1", "no tensor in this case"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        kg_error err = {0};
        kg_launch l;
        assert_int_equal(eval(all[i].text, 0, 0, &l, &err), -1);
        assert_int_equal(err.code, KG_ERR_CANDIDATE);
        if (!strstr(err.text, all[i].says)) fail_msg("`%s` says: %s", all[i].text, err.text);
        assert_null(strchr(err.text, '\n'));
        kg_error_clear(&err);
    }
}

static void hostile_texts_do_no_harm(void **state) {
    (void)state;
    static const char alphabet[] = "kernel=grid block,args()+-*/%;\n x0 9size(x,1)i32(min(max(ceildiv(numel(out)*/";
    kg_launch l;
    char text[6000];
    for (uint64_t seed = 0; seed < 3000; seed++) {  // words of the language in no order
        size_t n = 0;
        for (int k = 0; k < 40; k++) {
            const kg_philox r = kg_philox4x32(seed, (uint64_t)k, 0);
            const size_t at = r.v[0] % (sizeof alphabet - 1), len = r.v[1] % 9;
            for (size_t j = 0; j < len && at + j < sizeof alphabet - 1; j++) text[n++] = alphabet[at + j];
        }
        text[n] = 0;
        eval(text, 0, 0, &l, NULL);
    }
    for (const char *p = "(-+;,=a1"; *p; p++) {  // depth and length
        memset(text, *p, sizeof text);
        memcpy(text, "kernel=k block=1 grid=", 22);
        text[4000] = 0;
        eval(text, 0, 0, &l, NULL);
        text[4000] = *p, text[sizeof text - 1] = 0;
        assert_int_equal(eval(text, 0, 0, &l, NULL), -1);
    }
    for (int i = 22; i < 4000; i += 2) memcpy(text + i, "1+", 2);
    memcpy(text + 4000, "1", 2);
    assert_int_equal(eval(text, 0, 0, &l, NULL), 0);
    assert_int_equal(l.grid[0], (4000 - 22) / 2 + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_integers),
        cmocka_unit_test(a_launch_has_dimensions_and_values),
        cmocka_unit_test(wrong_texts_say_why),
        cmocka_unit_test(hostile_texts_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
