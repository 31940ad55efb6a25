// fused_hardshrink_dropout(input, p=0.5, training=True, inplace=False, lambd=0.5) -> Tensor
//
// hardshrink(dropout(input, p)): x / (1 - p) or 0, and of that 0 where it lies within [-lambd, lambd]. Judged as
// src/task/dropout.h says. Within rounding of lambd a value may be shrunk or not; with 1 - p a power of two nothing
// rounds, and lambd itself is shrunk.
//
// inplace: PyTorch drops in place and shrinks into a new tensor; others leave the result in the input. Both are the
// same where nothing but zeros is shrunk, and the cases' values are such: input holds the result.
#include "oracle/oracle.h"
#include "task/activations.h"
#include "task/dropout.h"

static const kg_param params[] = {{.name = "input", .kind = KG_P_TENSOR},
                                  KG_P_PARAM("p", 0.5),
                                  KG_FLAG_PARAM("training", 1),
                                  KG_FLAG_PARAM("inplace", 0),
                                  KG_P_PARAM("lambd", 0.5),
                                  KG_SEED_PARAM,
                                  {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, fill);
    return c;
}
static kg_case *with(kg_cases *b, kg_case *c, double p, double lambd) {
    if (p >= 0) kg_set_float(c, b->task, "p", p);
    kg_set_float(c, b->task, "lambd", lambd);
    return c;
}
static void still(kg_cases *b, kg_case *c) { kg_set_bool(c, b->task, "training", false); }
static void inplace(kg_cases *b, kg_case *c) { kg_set_bool(c, b->task, "inplace", true); }

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    static const int64_t lengths[] = {0, 1, 3, 31, 1024, 20011};
    kg_dtype t = KG_F32;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) add(b, DENSE(lengths[i]), KG_NORMAL(1, 1));
    add(b, DENSE(20011), KG_NORMAL(0, 0.5));  // many that are shrunk only before they are scaled
    add(b, DENSE(257, 65), KG_NORMAL(1, 1));
    add(b, DENSE(3, 0, 5), KG_NORMAL(1, 1));
    add(b, DENSE(5, 33, 65), KG_NORMAL(1, 1));
    add(b, kg_tensor_transposed(t, KG_SHAPE(129, 65), 0, 1), KG_NORMAL(1, 1));
    add(b, kg_tensor_stepped(t, KG_SHAPE(65, 33), 3), KG_NORMAL(1, 1));
    add(b, kg_tensor_expanded(t, KG_SHAPE(129, 65), 0), KG_NORMAL(1, 1));
    add(b, DENSE(8209), (kg_fill){KG_FILL_CONST, 2, 0});  // the same values in both calls
    with(b, add(b, DENSE(20011), KG_NORMAL(1, 1)), 0.1, 0.5);
    with(b, add(b, DENSE(20011), KG_NORMAL(1, 1)), 0.9, 2.5);
    with(b, add(b, DENSE(8209), KG_INTEGERS(-3, 3)), 0.75, 8);  // lambd itself, exactly
    with(b, add(b, DENSE(8209), KG_NORMAL(1, 1)), 0.5, 0);
    with(b, add(b, DENSE(4099), KG_NORMAL(1, 1)), 0, 1);
    with(b, add(b, DENSE(4099), KG_NORMAL(1, 1)), 1, 0.25);
    still(b, add(b, DENSE(4099), KG_NORMAL(0.5, 1)));
    still(b, with(b, add(b, DENSE(4099), KG_SPECIALS(0.5, 1)), 0.3, 0.75));
    with(b, add(b, DENSE(4099), KG_SPECIALS(1, 1)), -1, 0.25);
    inplace(b, add(b, DENSE(20011), KG_UNIFORM(1, 3)));
    inplace(b, with(b, add(b, kg_tensor_transposed(t, KG_SHAPE(129, 65), 0, 1), KG_UNIFORM(1, 3)), 0.2, 0.5));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        t = others[i];
        with(b, add(b, DENSE(8209), KG_NORMAL(1, 1)), 0.3, 0.5);
        still(b, add(b, DENSE(515), KG_NORMAL(0.5, 1)));
    }
}

static void full(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(1048577), KG_NORMAL(1, 1));
    add(b, DENSE(1023, 511), KG_NORMAL(1, 1));
    add(b, DENSE(16384, 3), KG_NORMAL(1, 1));
    with(b, add(b, DENSE(65537), KG_LOGSCALE(-20, 20)), 0.25, 1);
    t = KG_F16;
    inplace(b, add(b, DENSE(20011), KG_UNIFORM(1, 3)));
    with(b, add(b, DENSE(65537), KG_NORMAL(1, 1)), 0.1, 0.25);
}
#undef DENSE

static void set_timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", d, KG_SHAPE(n), KG_NORMAL(1, 1));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 2, set_timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level == KG_CASES_FULL) full(b);
    return 0;
}

// ---- what must hold -------------------------------------------------------------------------------
static kg_point itself(const double *x, const void *ctx) {
    (void)ctx;
    return kg_point_exact(*x);
}
static int before(const kg_call *call, kg_ref *ref) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, itself, NULL);
}

static kg_term shrink(const kg_rung *r, kg_term x, int64_t index, const void *ctx) {
    (void)index;
    const double lambd = *(const double *)ctx, size = fabs(x.value);
    const double error = kg_term_error(r, x);
    // Either side of lambd: 0 and x are both right, and with them what lies between.
    if (error > 0 && fabs(size - lambd) <= error) x.local += size / r->u;
    if (size <= lambd) x.value = 0, x.local = fabs(size - lambd) <= error ? x.local : 0, x.acc = 0;
    return x;
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_dropout d = {
        .p = kg_dropout_p(call, "p"), .before = before, .after = shrink, .ctx = &kg_call_arg(call, "lambd")->f};
    return kg_dropout_holds(call, a, h, &d);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 3, 0); }

const kg_task kg_task_kbx_fused_hardshrink_dropout = {
    .name = "fused_hardshrink_dropout",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_hardshrink_dropout(input, p=0.5, training=True, inplace=False, lambd=0.5) -> Tensor",
    .summary = "Dropout, then 0 for everything within [-lambd, lambd].",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = kg_infer_same,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline =
        "lambda input, p=0.5, training=True, inplace=False, lambd=0.5: "
        "F.hardshrink(F.dropout(input, p, training, inplace), lambd)",
    .c_body =
        "const bool kept = !training || kg_uniform(seed, i) >= p;\n"
        "const double x = kept ? kg_get(input, i) / (training ? 1.0 - p : 1.0) : 0.0;\n"
        "kg_put(out, i, x >= -lambd && x <= lambd ? 0.0 : x);\n",
};
