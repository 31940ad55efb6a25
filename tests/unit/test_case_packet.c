// A case as the judge writes it is the case that the runner reads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "judge/layout.h"
#include "runner/runner.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true},
                                  {.name = "other", .kind = KG_P_TENSOR},
                                  {.name = "dim", .kind = KG_P_INTS, .nullable = true},
                                  {.name = "limit", .kind = KG_P_FLOAT, .optional = true, .keyword = true},
                                  {.name = "dtype", .kind = KG_P_DTYPE, .optional = true, .nullable = true},
                                  {.name = "keepdim", .kind = KG_P_BOOL, .optional = true},
                                  {.name = "step", .kind = KG_P_TENSOR, .role = KG_STATE, .native_only = true},
                                  {0}};
static const char *const outputs[] = {"out", NULL};
static const kg_task task = {.name = "made_up", .params = params, .outputs = outputs};

static kg_case make_case(void) {
    kg_case c = {.n_args = 8, .n_outs = 1, .calls = 2};
    c.args[0] =
        (kg_arg){.kind = KG_P_TENSOR, .tensor = {.dtype = KG_BF16, .ndim = 2, .shape = {3, 17}, .stride = {1, 3}}};
    c.args[1] = (kg_arg){.kind = KG_P_TENSOR, .none = true};
    c.args[2] = (kg_arg){.kind = KG_P_TENSOR, .scalar = true, .f = -0.1, .tensor = {.dtype = KG_F64}};
    c.args[3] = (kg_arg){.kind = KG_P_INTS, .scalar = true, .n = 1, .ints = {-1}};
    c.args[4] = (kg_arg){.kind = KG_P_FLOAT, .f = -INFINITY};
    c.args[5] = (kg_arg){.kind = KG_P_DTYPE, .absent = true};
    c.args[6] = (kg_arg){.kind = KG_P_BOOL, .absent = true, .i = 1};
    c.args[7] = (kg_arg){.kind = KG_P_TENSOR, .tensor = {.dtype = KG_F32, .ndim = 1, .shape = {4}, .stride = {1}}};
    c.outs[0] = (kg_tensor){.dtype = KG_F32, .ndim = 2, .shape = {3, 17}, .stride = {17, 1}};
    return c;
}

static int read_back(const kg_case *c, const kg_layout *l, kg_run_case *out, kg_error *e) {
    static char in, arena_out;
    kg_arenas a = {&in, &arena_out, l->in_bytes, l->out_bytes};
    json_t *o = kg_case_to_json(&task, c, l);
    int r = kg_parse_case(o, &a, out, e);
    json_decref(o);
    return r;
}

static void values_survive(void **state) {
    (void)state;
    kg_case c = make_case();
    kg_layout l = kg_layout_make(&task, &c, 3, 1 << 20);
    kg_run_case r;
    assert_int_equal(read_back(&c, &l, &r, NULL), 0);
    assert_int_equal(r.slots, 3);
    assert_int_equal(r.calls, 2);
    assert_int_equal(r.args[0].tensor.desc.dtype, KG_BF16);
    assert_int_equal(r.args[0].tensor.desc.stride[1], 3);
    assert_false(r.args[0].tensor.writable);
    assert_true(r.args[1].none && r.args[1].nullable && r.args[1].optional);
    assert_true(r.args[2].scalar && r.args[2].f == -0.1);
    assert_true(r.args[3].scalar && r.args[3].n == 1 && r.args[3].ints[0] == -1);
    assert_true(r.args[4].f == -INFINITY && r.args[4].keyword);
    assert_true(r.args[5].none && r.args[5].absent && r.args[5].s == NULL);
    assert_true(r.args[6].absent && r.args[6].i == 1);
    assert_true(r.args[7].native_only && r.args[7].role == KG_STATE && r.args[7].tensor.writable);
    // The state lies first among what may be written, behind one guard; the output behind it and two more.
    assert_int_equal(r.args[7].tensor.offset, 512);
    assert_int_equal(r.outs[0].offset, 512 + 512 + 2 * 512);
    assert_int_equal(r.outs[0].slot_stride, l.out_bytes / 3);
    assert_string_equal(r.args[4].name, "limit");
    kg_run_case_free(&r);
}

static void an_output_in_place_lies_where_its_input_lies(void **state) {
    (void)state;
    kg_case c = make_case();
    c.alias_first_out = true;
    c.outs[0] = c.args[0].tensor;
    kg_layout l = kg_layout_make(&task, &c, 2, 1 << 20);
    kg_run_case r;
    assert_int_equal(read_back(&c, &l, &r, NULL), 0);
    assert_true(r.outs[0].base == r.args[0].tensor.base && r.outs[0].offset == r.args[0].tensor.offset);
    assert_true(r.outs[0].writable && r.args[0].tensor.writable);
    kg_run_case_free(&r);
}

static void a_tensor_outside_its_arena_is_refused(void **state) {
    (void)state;
    kg_case c = make_case();
    kg_layout l = kg_layout_make(&task, &c, 2, 1 << 20);
    kg_run_case r;
    kg_error e = {0};
    l.in_bytes = l.args[0].stride + 51 * 2 - 1;  // one byte short of the second slot's 3 x 17 bfloat16
    assert_int_equal(read_back(&c, &l, &r, &e), -1);
    assert_non_null(strstr(e.text, "outside its arena"));
    kg_error_clear(&e);
    l.in_bytes++;
    assert_int_equal(read_back(&c, &l, &r, &e), 0);
    kg_run_case_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_survive),
                                       cmocka_unit_test(an_output_in_place_lies_where_its_input_lies),
                                       cmocka_unit_test(a_tensor_outside_its_arena_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
