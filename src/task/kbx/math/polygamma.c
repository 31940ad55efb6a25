// polygamma(n, input, *, out=None) -> Tensor
//
// n = 0 is digamma. Condition |x psi_(n+1)(x)|, and left of 0 the sum of the parts (oracle/special.c). At the poles, 0
// and the negative integers, PyTorch has (-1)^(n+1) inf for n >= 1; but for n = 1 at negative ones 1.3e15 or so, so
// anything passes there. Its float64 trigamma is right to 2e-10 only. Not in the cases: infinities, where it gives NaN
// for n >= 2. Half-precision cases stay where n! times a zeta that is rounded to half on the way, as in PyTorch, is no
// denormal.
#include "oracle/special.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "n", .kind = KG_P_INT},
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { ORDER, INPUT };

static void add(kg_cases *b, int64_t n, kg_tensor input, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_int(c, b->task, "n", n);
    kg_set_strided(c, b->task, "input", input, fill);
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_U8, KG_BOOL};
    const kg_fill right = KG_UNIFORM(0.125, 12), both = KG_UNIFORM(-6, 10);
    add(b, 1, F32(3), right);
    add(b, 1, F32(0), right);
    add(b, 2, F32(1), right);
    for (int64_t n = 0; n <= 6; n++) add(b, n, F32(1025), both);
    add(b, 1, F32(65537), both);
    add(b, 2, F32(2, 3, 5, 7), both);
    add(b, 3, kg_tensor_contiguous(KG_F32, 0, NULL), right);
    add(b, 1, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), right);
    add(b, 2, kg_tensor_stepped(KG_F32, KG_SHAPE(257), 3), right);
    add(b, 10, F32(1023), right);
    for (int64_t n = 0; n <= 3; n++) add(b, n, F32(257), KG_INTEGERS(-5, 5));
    for (int64_t n = 1; n <= 3; n++) {
        kg_set_int(kg_constant_case(b, "input", KG_F32, 0), b->task, "n", n);
        kg_set_int(kg_constant_case(b, "input", KG_F32, NAN), b->task, "n", n);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int64_t n = 0; n <= 3; n++)
            add(b, n, kg_tensor_contiguous(others[i], KG_SHAPE(515)),
                !kg_dtype_is_float(others[i]) ? KG_INTEGERS(others[i] == KG_BOOL ? 0 : 1, others[i] == KG_BOOL ? 1 : 60)
                                              : KG_UNIFORM(0.25, 6));
    kg_case *c = kg_case_add(b);
    kg_set_int(c, b->task, "n", 1);
    kg_set_tensor(c, b->task, "input", KG_F32, KG_SHAPE(3, 43), right);
    kg_set_tensor(c, b->task, "out", KG_F32, KG_SHAPE(3, 43), right);
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 4096, 262147};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        add(b, (int64_t)i, kg_tensor_contiguous(KG_F32, 1, &lengths[i]), KG_UNIFORM(0.125, 12));
    add(b, 1, F32(4, 0, 3), KG_UNIFORM(1, 2));
    add(b, 3, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), KG_UNIFORM(0.125, 12));
    add(b, 1, F32(4099), KG_UNIFORM(0, 1e6));
    for (int64_t n = 0; n <= 5; n++) add(b, n, kg_tensor_contiguous(KG_F64, KG_SHAPE(1031)), KG_UNIFORM(-5, 20));
}
#undef F32

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_int(c, t, "n", 1);
    kg_set_tensor(c, t, "input", d, 1, &n, KG_UNIFORM(0.125, 12));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 2, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (c->args[ORDER].i < 0) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_float_of(in->dtype), in->ndim, in->shape);
    return 0;
}

static kg_point at(const double *x, const void *ctx) {
    const kg_case *c = ctx;
    return kg_polygamma_point((int)c->args[ORDER].i, *x, c->outs[0].dtype);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, at, call->c);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 40, 2); }

const kg_task kg_task_kbx_polygamma = {
    .name = "polygamma",
    .suite = "kbx",
    .category = "Math",
    .signature = "polygamma(n, input, *, out=None) -> Tensor",
    .summary = "The n-th derivative of the digamma function; n = 0 is digamma itself.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.polygamma",
    .c_body =
        "double x = kg_get(input, i), sum = 0, factorial = 1;\n"
        "if (n == 0) {  // as in digamma\n"
        "    if (x == 0 || x != x || (x < 0 && x == floor(x))) {\n"
        "        kg_put(out, i, x == 0 ? -1.0 / x : NAN);\n"
        "        return;\n"
        "    }\n"
        "    if (x < 0) {\n"
        "        const double angle = 3.14159265358979323846 * (x - rint(x));\n"
        "        sum = -3.14159265358979323846 * cos(angle) / sin(angle);\n"
        "        x = 1 - x;\n"
        "    }\n"
        "    for (; x < 12; x += 1) sum -= 1 / x;\n"
        "    const double y = 1 / (x * x);\n"
        "    const double tail = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));\n"
        "    kg_put(out, i, sum + log(x) - 0.5 / x - tail);\n"
        "    return;\n"
        "}\n"
        "// (-1)^(n+1) n! zeta(n + 1, x): steps to the right, then Euler and Maclaurin's formula.\n"
        "const double s = (double)n + 1;\n"
        "for (int64_t k = 2; k <= n; k++) factorial *= (double)k;\n"
        "for (; x < s + 12; x += 1) sum += x == 0 ? INFINITY : pow(x, -s);\n"
        "const double b[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};\n"
        "double t = pow(x, -s), tail = x * t / (s - 1) + 0.5 * t;\n"
        "t *= s / x;\n"
        "for (int k = 0; k < 6; k++) {\n"
        "    tail += b[k] * t;\n"
        "    t *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);\n"
        "}\n"
        "kg_put(out, i, (n % 2 ? factorial : -factorial) * (sum + tail));\n",
};
