// Tensor descriptions: spans, offsets, broadcasting; and the one-line errors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

#define SHAPE(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static void offsets_follow_strides(void **state) {
    (void)state;
    kg_tensor t = kg_tensor_contiguous(KG_F32, SHAPE(2, 3));
    assert_int_equal(kg_offset(&t, 5), 5);
    assert_int_equal(kg_span_bytes(&t), 24);
    t.stride[0] = 1;
    t.stride[1] = 10;  // element [1,2] lies at 21
    assert_int_equal(kg_offset(&t, 5), 21);
    assert_int_equal(kg_span_bytes(&t), 22 * 4);
    assert_false(kg_is_contiguous(&t));
    const kg_tensor none = kg_tensor_contiguous(KG_F64, 0, NULL), empty = kg_tensor_contiguous(KG_F64, SHAPE(3, 0));
    assert_int_equal(kg_numel(&none), 1);
    assert_int_equal(kg_span_bytes(&none), 8);
    assert_int_equal(kg_offset(&none, 0), 0);
    assert_int_equal(kg_span_bytes(&empty), 0);
}

static void broadcasting_is_pytorchs(void **state) {
    (void)state;
    const kg_tensor a = kg_tensor_contiguous(KG_F32, SHAPE(5, 1, 7)), b = kg_tensor_contiguous(KG_F32, SHAPE(3, 1)),
                    c = kg_tensor_contiguous(KG_F32, SHAPE(2, 7)), e = kg_tensor_contiguous(KG_F32, SHAPE(0));
    kg_tensor out, view;
    assert_int_equal(kg_broadcast(&a, &b, &out), 0);
    assert_int_equal(out.ndim, 3);
    assert_int_equal(kg_numel(&out), 5 * 3 * 7);
    assert_int_equal(kg_expand(&b, &out, &view), 0);
    assert_int_equal(view.stride[0], 0);
    assert_int_equal(view.stride[1], 1);
    assert_int_equal(view.stride[2], 0);
    assert_int_equal(kg_offset(&view, 7 * 2 + 6), 2);  // [0,2,6] reads b[2]
    assert_int_equal(kg_broadcast(&out, &c, &view), -1);
    assert_int_equal(kg_broadcast(&e, &b, &out), 0);
    assert_int_equal(kg_numel(&out), 0);
}

static void descriptions_read_well(void **state) {
    (void)state;
    kg_tensor t = kg_tensor_contiguous(KG_BF16, SHAPE(3, 17));
    kg_text s = {0};
    kg_tensor_describe(&t, &s);
    assert_string_equal(s.data, "bf16[3,17]");
    t.stride[0] = 1;
    t.stride[1] = 3;
    kg_tensor_describe(&t, &s);
    assert_string_equal(s.data, "bf16[3,17]bf16[3,17] strides [1,3]");
    kg_text_free(&s);
}

static void errors_are_one_line(void **state) {
    (void)state;
    kg_error e = {0};
    assert_int_equal(kg_fail(&e, KG_ERR_USAGE, "a\nb %d", 7), -1);
    assert_string_equal(e.text, "a b 7");
    kg_fail(&e, KG_ERR_CANNOT, "outer: %s", e.text);  // quoting the old text is allowed
    assert_string_equal(e.text, "outer: a b 7");
    assert_int_equal(e.code, KG_ERR_CANNOT);
    char *data = NULL;
    assert_int_equal(kg_read_file("/nonexistent/x", 10, &data, NULL, &e), -1);
    assert_non_null(strstr(e.text, "/nonexistent/x"));
    assert_int_equal(kg_read_file("/proc/self/maps", 10, &data, NULL, &e), -1);
    assert_non_null(strstr(e.text, "larger than 10"));
    kg_error_clear(&e);
    assert_int_equal(kg_fail(NULL, KG_ERR_USAGE, "nobody asks"), -1);
}

// view_as_real: a last dimension of 2, strides in parts.
static void complex_by_parts(void **state) {
    (void)state;
    kg_tensor t = kg_tensor_contiguous(KG_C64, 2, (int64_t[]){3, 5});
    t.stride[0] = 7;
    const kg_tensor p = kg_tensor_parts(&t);
    assert_int_equal(p.dtype, KG_F32);
    assert_int_equal(p.ndim, 3);
    assert_int_equal(kg_numel(&p), 30);
    assert_int_equal(kg_offset(&p, 11), 15);  // row 1, column 0, imaginary: 2 * 7 + 1
    assert_int_equal(kg_span_bytes(&p), kg_span_bytes(&t));
    const kg_tensor real = kg_tensor_contiguous(KG_F32, 1, (int64_t[]){4});
    assert_int_equal(kg_tensor_parts(&real).ndim, 1);
    assert_int_equal(kg_dtype_parse("torch.complex128"), KG_C128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_follow_strides), cmocka_unit_test(broadcasting_is_pytorchs),
        cmocka_unit_test(descriptions_read_well), cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(complex_by_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
