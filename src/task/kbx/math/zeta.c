// zeta(input, other, *, out=None) -> Tensor
//
// Hurwitz' zeta(x, q) = sum of (k + q)^-x, k = 0, 1, ...; x is input, q is other, broadcast; q may be a Number. As in
// Cephes and PyTorch: inf at x = 1 and where q is 0 or a negative integer, NaN for x < 1 and where q < 0 and x is no
// integer. float32, float64 and integers, as PyTorch has it (2.11).
//
// Condition x |d/dx| + |q d/dq|, and each of the first powers rounds (oracle/special.c).
#include "oracle/special.h"
#include "task/activations.h"

static const char *const operands[] = {"input", "other", NULL};

static void add(kg_cases *b, kg_tensor x, kg_fill fx, kg_tensor q, kg_fill fq) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", x, fx);
    kg_set_strided(c, b->task, "other", q, fq);
}
static void alike(kg_cases *b, kg_tensor d, kg_fill fx, kg_fill fq) { add(b, d, fx, d, fq); }
static kg_tensor of(kg_dtype t, int64_t n) { return kg_tensor_contiguous(t, 1, &n); }

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void values(kg_cases *b, kg_dtype t) {
    alike(b, of(t, 1031), KG_UNIFORM(1, 1.25), KG_UNIFORM(0.5, 4));   // the pole at 1
    alike(b, of(t, 1031), KG_UNIFORM(5, 30), KG_UNIFORM(0.75, 12));   // the first term alone
    alike(b, of(t, 1031), KG_UNIFORM(1.5, 4), KG_UNIFORM(0, 0.125));  // the pole at 0
    alike(b, of(t, 1031), KG_INTEGERS(2, 7), KG_UNIFORM(-5.5, 3));    // negative q
    alike(b, of(t, 257), KG_UNIFORM(1.5, 4), KG_UNIFORM(-4, -0.5));   // and no integer x: NaN
    alike(b, of(t, 257), KG_UNIFORM(-4, 0.875), KG_UNIFORM(0.5, 4));  // x < 1: NaN
    alike(b, of(t, 257), KG_INTEGERS(0, 4), KG_INTEGERS(-3, 3));      // poles
    alike(b, of(t, 1031), KG_UNIFORM(1.5, 6), KG_LOGSCALE(-6, 12));
}

static void quick(kg_cases *b) {
    static const kg_dtype ints[] = {KG_I32, KG_I64, KG_U8, KG_BOOL};
    const kg_fill x = KG_UNIFORM(1.25, 8), q = KG_UNIFORM(0.25, 8);
    alike(b, F32(17), x, q);
    alike(b, F32(0), x, q);
    alike(b, F32(1), x, q);
    alike(b, F32(1023), x, q);
    alike(b, F32(65537), x, q);
    alike(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), x, q);
    add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), x, F32(257), q);
    add(b, F32(33, 65), x, F32(65), q);
    add(b, F32(33, 1), x, F32(1, 65), q);
    add(b, F32(65), x, F32(33, 1), q);
    add(b, kg_tensor_contiguous(KG_F32, 0, NULL), x, F32(65), q);
    add(b, F32(65), x, kg_tensor_contiguous(KG_F32, 0, NULL), q);
    values(b, KG_F32);
    values(b, KG_F64);
    alike(b, of(KG_F64, 1025), x, q);
    add(b, of(KG_F32, 515), x, of(KG_F64, 515), q);
    add(b, of(KG_F32, 515), x, kg_tensor_contiguous(KG_F64, 0, NULL), q);
    add(b, of(KG_I64, 515), KG_INTEGERS(2, 6), of(KG_F32, 515), q);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        alike(b, of(ints[i], 515), KG_INTEGERS(1, ints[i] == KG_BOOL ? 1 : 6),
              KG_INTEGERS(ints[i] == KG_BOOL ? 0 : 1, ints[i] == KG_BOOL ? 1 : 20));
    kg_set_number(kg_constant_case(b, "input", KG_F32, 3.5), b->task, "other", 2.5);
    add(b, of(KG_F32, 131), x, F32(1), (kg_fill){KG_FILL_CONST, NAN, 0});
    add(b, of(KG_F32, 131), (kg_fill){KG_FILL_CONST, NAN, 0}, F32(1), q);
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, "input", KG_F32, KG_SHAPE(3, 43), x);
    kg_set_tensor(c, b->task, "other", KG_F32, KG_SHAPE(3, 43), q);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(3, 43), q);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 262147};
    const kg_fill x = KG_UNIFORM(1.25, 8), q = KG_UNIFORM(0.25, 8);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) alike(b, of(KG_F32, lengths[i]), x, q);
    add(b, F32(2, 1, 5, 1), x, F32(3, 1, 7), q);
    add(b, F32(4, 0), x, F32(4, 1), q);
    add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), x, F32(19, 129), q);
}
#undef F32

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, KG_UNIFORM(1.25, 8));
    kg_set_tensor(c, t, "other", d, 1, &n, KG_UNIFORM(0.25, 8));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 3, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    if (kg_infer_broadcast(t, c)) return -1;
    c->outs[0].dtype = kg_float_of(c->outs[0].dtype);
    return 0;
}

static kg_point at(const double *x, const void *ctx) { return kg_zeta_point(x[0], x[1], *(const kg_dtype *)ctx); }

static int oracle(const kg_call *call, kg_ref *ref) {
    return kg_map(call, ref, 2, operands, at, &call->c->outs[ref->out].dtype);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 40, 10); }

const kg_task kg_task_kbx_zeta = {
    .name = "zeta",
    .suite = "kbx",
    .category = "Math",
    .signature = "zeta(input, other, *, out=None) -> Tensor",
    .summary = "Hurwitz zeta function of x = input and q = other, broadcast.",
    .params = kg_params_mul,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.special.zeta",
    .c_body =
        "const double s = kg_get_broadcast(input, out, i);\n"
        "double q = kg_get_broadcast(other, out, i), sum = 0;\n"
        "if (s != s || q != q || s < 1 || s == 1 || (q <= 0 && q == floor(q)) || (q < 0 && s != floor(s))) {\n"
        "    const bool pole = s >= 1 && q == q && (s == 1 || (q <= 0 && q == floor(q)));\n"
        "    kg_put(out, i, pole ? INFINITY : NAN);\n"
        "    return;\n"
        "}\n"
        "// Steps to the right, then Euler and Maclaurin's formula.\n"
        "for (; q < s + 12; q += 1) sum += pow(q, -s);\n"
        "const double b[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};\n"
        "double t = pow(q, -s), tail = q * t / (s - 1) + 0.5 * t;\n"
        "t *= s / q;\n"
        "for (int k = 0; k < 6; k++) {\n"
        "    tail += b[k] * t;\n"
        "    t *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);\n"
        "}\n"
        "kg_put(out, i, sum + tail);\n",
};
