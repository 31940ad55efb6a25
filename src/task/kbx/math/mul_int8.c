// mul_int8(input, other) -> Tensor
//
// The task comes from KernelBench-X's candidates; it is not among its 176.
//
// int8 tensors, broadcast. A product that int8 does not hold wraps around, as torch.mul's does: the low 8 bits count.
// The candidates clamp it instead, which is known and wrong: no text asks for it, and PyTorch decides. Exact.
#include "oracle/oracle.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "other", .kind = KG_P_TENSOR}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};
enum { INPUT, OTHER };
enum { WRAPPED, CLAMPED };
static const kg_reading readings[] = {
    {.name = "products wrap around", .choice = {WRAPPED}},
    {.name = "products are clamped",
     .wrong = "products beyond int8 are clamped to -128..127: torch.mul keeps their low 8 bits",
     .choice = {CLAMPED}},
    {.name = NULL}};

static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor other) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_INTEGERS(-128, 127));
    kg_set_strided(c, b->task, "other", other, KG_INTEGERS(-128, 127));
    return c;
}
static kg_case *alike(kg_cases *b, kg_tensor t) { return add(b, t, t); }
static kg_case *filled(kg_case *c, kg_fill input, kg_fill other) {
    c->args[INPUT].fill = input;
    c->args[OTHER].fill = other;
    return c;
}

#define I8(...) kg_tensor_contiguous(KG_I8, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    const kg_tensor number = kg_tensor_contiguous(KG_I8, 0, NULL);
    alike(b, I8(17));
    alike(b, I8(0));
    alike(b, I8(1));
    alike(b, number);
    alike(b, I8(1023));
    alike(b, I8(1025));
    alike(b, I8(65537));
    alike(b, I8(2, 3, 5, 7));
    filled(alike(b, I8(1027)), KG_INTEGERS(-11, 11), KG_INTEGERS(-11, 11));    // nothing wraps
    filled(alike(b, I8(129)), KG_INTEGERS(-128, -128), KG_INTEGERS(-3, 3));    // -128 * -1 = -128
    filled(alike(b, I8(33, 31)), KG_INTEGERS(12, 127), KG_INTEGERS(12, 127));  // everything wraps
    alike(b, kg_tensor_transposed(KG_I8, KG_SHAPE(33, 65), 0, 1));
    add(b, kg_tensor_transposed(KG_I8, KG_SHAPE(33, 65), 0, 1), I8(33, 65));
    alike(b, kg_tensor_stepped(KG_I8, KG_SHAPE(257), 3));
    add(b, I8(9, 257), kg_tensor_stepped(KG_I8, KG_SHAPE(9, 257), 2));
    add(b, I8(33, 65), I8(65));
    add(b, I8(33, 65), I8(33, 1));
    add(b, I8(33, 1), I8(1, 65));
    add(b, I8(65), I8(33, 65));
    add(b, I8(33, 65), number);
    add(b, number, I8(515));
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) alike(b, kg_tensor_contiguous(KG_I8, 1, &lengths[i]));
    add(b, I8(2, 1, 5, 1), I8(3, 1, 7));
    add(b, I8(4, 0), I8(4, 1));
    alike(b, kg_tensor_expanded(KG_I8, KG_SHAPE(19, 129), 0));
    add(b, kg_tensor_transposed(KG_I8, KG_SHAPE(5, 64, 31), 0, 2), I8(64, 1));
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 256; n <= (b->level == KG_TIMED_CUDA ? 8192 : 4096); n *= 2) alike(b, I8(n, n));
    return 0;
}
#undef I8

static kg_point at(const double *x, const void *ctx) {
    const int product = (int)x[0] * (int)x[1];
    if (ctx) return kg_point_exact(fmin(fmax(product, INT8_MIN), INT8_MAX));
    return kg_point_exact(((product & 0xff) ^ 0x80) - 0x80);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    static const char *const factors[] = {"input", "other"};
    const kg_reading *r = call->reading;
    return kg_map(call, ref, 2, factors, at, r && r->choice[0] == CLAMPED ? r : NULL);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 1, 0); }

const kg_task kg_task_kbx_mul_int8 = {
    .name = "mul_int8",
    .suite = "kbx",
    .category = "Math",
    .signature = "mul_int8(input, other) -> Tensor",
    .summary = "Elementwise product of two broadcast int8 tensors, in int8: what does not fit wraps around.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .readings = readings,
    .cases = cases,
    .infer = kg_infer_broadcast,
    .oracle = oracle,
    .work = work,
    .torch_baseline = "torch.mul",
    .c_body =
        "const int product = (int)kg_get_broadcast(input, out, i) * (int)kg_get_broadcast(other, out, i);\n"
        "kg_put(out, i, ((product & 0xff) ^ 0x80) - 0x80);  // the low 8 bits, with their sign\n",
};
