// The registry, and what every task must have at every level of cases.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "task/families.h"

static void names_are_found(void **state) {
    (void)state;
    assert_string_equal(kg_task_find("relu")->name, "relu");
    assert_ptr_equal(kg_task_find("kbx/relu"), kg_task_find("relu"));
    assert_ptr_equal(kg_task_find("ReLU"), kg_task_find("relu"));
    assert_null(kg_task_find("gap22/sigmoid"));
    assert_null(kg_task_find("rel"));
    char *s = kg_task_suggest("sigmiod");
    assert_string_equal(s, "did you mean sigmoid?");
    free(s);
    assert_null(kg_task_suggest("zzzzzzzzzzzzzz"));
    for (size_t i = 1; i < kg_task_count(); i++) {
        const kg_task *a = kg_task_at(i - 1), *b = kg_task_at(i);
        assert_true(strcmp(a->suite, b->suite) < 0 ||
                    (strcmp(a->suite, b->suite) == 0 && strcmp(a->name, b->name) != 0));
        char *label = kg_task_label(b);
        assert_ptr_equal(kg_task_find(label), b);
        free(label);
    }
}

// Eleven operations of gap22 have the name of a kbx task.
static void a_name_of_two_suites_is_kbxs(void **state) {
    (void)state;
    const kg_task *ours = kg_task_find("relu"), *theirs = kg_task_find("gap22/relu");
    assert_string_equal(ours->suite, "kbx");
    assert_string_equal(theirs->suite, "gap22");
    assert_ptr_equal(kg_task_find("gap22_relu"), theirs);  // as a file may be named
    assert_ptr_equal(kg_task_find("kbx_relu"), ours);
    assert_null(kg_task_find("gap22_sigmoid"));
    const struct {
        const kg_task *task;
        const char *label;
    } c[] = {{ours, "relu"}, {theirs, "gap22/relu"}, {kg_task_find("rms_norm"), "rms_norm"}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char *label = kg_task_label(c[i].task);
        assert_string_equal(label, c[i].label);
        free(label);
    }
    char *skeleton = kg_task_skeleton(theirs, "c", NULL), *near = kg_task_suggest("rms_nrom");
    assert_non_null(strstr(skeleton, "kgate: task=gap22/relu\n"));
    assert_non_null(strstr(skeleton, "int relu("));
    assert_string_equal(near, "did you mean rms_norm?");
    free(skeleton);
    free(near);
}

static void prototypes_are_c(void **state) {
    (void)state;
    char *s = kg_task_c_prototype(kg_task_find("gelu"), false);
    assert_string_equal(s, "int gelu(const DLTensor *input, const char *approximate, DLTensor *out);");
    free(s);
    s = kg_task_c_prototype(kg_task_find("abs"), true);
    assert_string_equal(s, "extern \"C\" int abs_kernel(const DLTensor *input, DLTensor *out, cudaStream_t stream);");
    free(s);
}

static void the_signature_names_a_function(void **state) {
    (void)state;
    static const struct {
        const char *signature, *function;
    } c[] = {{"lion_step(param, lr=1e-4) -> tuple", "lion_step"},
             {"relu(input) -> Tensor", "relu"},
             {"torch.linalg.svd(A, *, driver=None)", "svd"}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        const kg_task t = {.signature = c[i].signature};
        char *s = kg_task_function(&t);
        assert_string_equal(s, c[i].function);
        free(s);
    }
}

static void check_level(const kg_task *t, kg_case_level level) {
    kg_cases b;
    kg_error err = {0};
    if (kg_task_cases(t, level, &b, &err)) fail_msg("%s", err.text);
    if (b.n < (level <= KG_CASES_FULL ? 8u : 1u)) fail_msg("%s has only %zu cases of level %d", t->name, b.n, level);
    for (size_t i = 0; i < b.n; i++) {
        const kg_case *c = &b.items[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->name, b.items[k].name) == 0) fail_msg("%s: two cases \"%s\"", t->name, c->name);
        assert_int_equal(c->timed, level >= KG_TIMED_CPU);
        kg_work w;
        if (!t->work) continue;
        t->work(t, c, &w);
        double in = (double)kg_case_input_bytes(c, t), out = (double)kg_case_output_bytes(c, t);
        for (int k = 0; k < c->n_args; k++)
            if (t->params[k].role == KG_STATE && !c->args[k].absent && !c->args[k].none) {
                in += (double)kg_span_bytes(&c->args[k].tensor);
                out += (double)kg_span_bytes(&c->args[k].tensor);
            }
        // Compulsory work is no more than reading and writing everything once.
        if (w.bytes_read > in * 1.0001 || w.bytes_written > out * 1.0001 || w.bytes_written < 0 || w.bytes_read < 0)
            fail_msg("%s \"%s\": %g of %g bytes read, %g of %g written", t->name, c->name, w.bytes_read, in,
                     w.bytes_written, out);
        if (level == KG_TIMED_CPU && in + out > 1.3e9) fail_msg("%s \"%s\" is too large", t->name, c->name);
    }
    kg_cases_free(&b);
}

static void every_level_has_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++)
        for (int l = KG_CASES_QUICK; l <= KG_TIMED_CUDA; l++) check_level(kg_task_at(i), (kg_case_level)l);
}

// An input is float64, if anything; out= is what the result is.
static bool is_float64(const kg_param *p, const kg_case *c, const kg_arg *a) {
    const kg_dtype t = kg_dtype_part(a->tensor.dtype);
    if (a->absent || p->kind != KG_P_TENSOR || !kg_dtype_is_float(t)) return true;
    return p->role == KG_OUT_ARG ? a->tensor.dtype == c->outs[0].dtype : t == KG_F64;
}

static void float64_cases_are_the_full_ones(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        kg_cases full, wide;
        assert_int_equal(kg_task_cases(t, KG_CASES_FULL, &full, NULL), 0);
        assert_int_equal(kg_task_cases(t, KG_CASES_FLOAT64, &wide, NULL), 0);
        assert_true(wide.n <= full.n);
        for (size_t k = 0; k < wide.n; k++) {
            const kg_case *c = &wide.items[k];
            for (int a = 0; a < c->n_args; a++)
                if (!is_float64(&t->params[a], c, &c->args[a]))
                    fail_msg("%s \"%s\": %s is not float64", t->name, c->name, t->params[a].name);
        }
        if (strcmp(t->name, "softmax") == 0) assert_string_equal(wide.items[0].name, "f64[1,1] dim=1");
        kg_cases_free(&full);
        kg_cases_free(&wide);
    }
}

static void every_task_says_what_it_is(void **state) {
    (void)state;
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        assert_non_null(t->category);
        assert_non_null(t->summary);
        assert_true(t->oracle || t->held);
        assert_true(!t->held == !t->holds);
        assert_non_null(strstr(t->signature, "("));
        static const char *const languages[] = {"c", "cuda", "python", "triton", "tilelang"};
        for (size_t l = 0; l < sizeof languages / sizeof *languages; l++) {
            if (l >= 2 && !t->torch_baseline) continue;
            char *s = kg_task_skeleton(t, languages[l], NULL);
            if (!s) fail_msg("%s has no skeleton in %s", t->name, languages[l]);
            assert_non_null(strstr(s, "kgate: task="));
            free(s);
        }
        char *d = kg_task_describe(t);
        assert_non_null(strstr(d, t->signature));
        free(d);
    }
    kg_error err = {0};
    assert_null(kg_task_skeleton(kg_task_find("relu"), "fortran", &err));
    assert_int_equal(err.code, KG_ERR_USAGE);
    kg_error_clear(&err);
}

static kg_arg tensor_arg(kg_dtype t, int ndim) {
    return (kg_arg){.kind = KG_P_TENSOR, .tensor = kg_tensor_contiguous(t, ndim, (int64_t[]){3})};
}

// torch.result_type of the same arguments.
static void types_promote_as_pytorchs(void **state) {
    (void)state;
    const kg_arg f32 = tensor_arg(KG_F32, 1), f16 = tensor_arg(KG_F16, 1), bf16 = tensor_arg(KG_BF16, 1),
                 i32 = tensor_arg(KG_I32, 1), u8 = tensor_arg(KG_U8, 1), i8 = tensor_arg(KG_I8, 1),
                 zero_f64 = tensor_arg(KG_F64, 0), zero_i64 = tensor_arg(KG_I64, 0),
                 number = {.kind = KG_P_TENSOR, .scalar = true};
    const struct {
        const kg_arg *a, *b;
        kg_dtype want;
    } c[] = {{&f32, &f16, KG_F32},      {&f16, &bf16, KG_F32},     {&i32, &f16, KG_F16},    {&f32, &zero_f64, KG_F32},
             {&i32, &zero_f64, KG_F64}, {&i32, &zero_i64, KG_I32}, {&i32, &number, KG_F32}, {&f16, &number, KG_F16},
             {&u8, &i8, KG_I16},        {&zero_i64, &u8, KG_U8}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        assert_int_equal(kg_promote_args((const kg_arg *const[]){c[i].a, c[i].b}, 2), c[i].want);
}

static void strided_descriptions(void **state) {
    (void)state;
    const kg_tensor t = kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1);
    assert_int_equal(t.shape[0], 33);
    assert_int_equal(t.stride[0], 1);
    assert_int_equal(t.stride[1], 33);
    const kg_tensor s = kg_tensor_stepped(KG_F32, KG_SHAPE(4, 5), 3);
    assert_int_equal(s.stride[0], 15);
    assert_int_equal(s.stride[1], 3);
    const kg_tensor e = kg_tensor_expanded(KG_F32, KG_SHAPE(4, 5), 0);
    assert_int_equal(e.stride[0], 0);
    assert_int_equal(kg_span_bytes(&e), 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(a_name_of_two_suites_is_kbxs),
        cmocka_unit_test(prototypes_are_c),
        cmocka_unit_test(the_signature_names_a_function),
        cmocka_unit_test(every_level_has_cases),
        cmocka_unit_test(float64_cases_are_the_full_ones),
        cmocka_unit_test(every_task_says_what_it_is),
        cmocka_unit_test(types_promote_as_pytorchs),
        cmocka_unit_test(strided_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
