// fused_mv_logsoftmax_dropout(input, vec, p=0.5, training=True, inplace=False, dim=0, *, out=None) -> Tensor
//
// dropout(log_softmax(input @ vec), p) of (n, m) and (m,). The product has one dimension, so dim is 0 or -1. Judged as
// src/task/dropout.h says: no log-softmax of more than one element is 0, but where one outweighs all others. inplace
// drops in the intermediate result's memory, which nobody else sees: it changes nothing.
//
// Bounds: the product (oracle/product.c), then log-softmax (oracle/stages.h); in half precision both may be stored.
#include "task/bmm_dropout.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "vec", .kind = KG_P_TENSOR},
    KG_P_PARAM("p", 0.5),
    KG_FLAG_PARAM("training", 1),
    KG_FLAG_PARAM("inplace", 0),
    {.name = "dim", .kind = KG_P_INT, .optional = true, .keyword = true, .has_default = true},
    KG_OUT_PARAM,
    KG_SEED_PARAM,
    {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *add(kg_cases *b, kg_tensor input) {
    kg_case *c = kg_case_add(b);
    const double m = (double)input.shape[1], deviation = m > 1 ? 1 / sqrt(sqrt(m)) : 1;
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.02, deviation));
    kg_set_tensor(c, b->task, "vec", input.dtype, KG_SHAPE(input.shape[1]), KG_NORMAL(0.02, 2 * deviation));
    return c;
}

#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *plain(kg_cases *b) {
    const kg_dtype t = KG_F32;
    return add(b, DENSE(4099, 33));
}

static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    static const double p[] = {0, 0.1, 0.25, 0.9, 1};
    kg_dtype t = KG_F32;
    plain(b);  // first what no constant answers
    add(b, DENSE(1, 1));
    add(b, DENSE(2, 3));
    add(b, DENSE(0, 3));
    add(b, DENSE(33, 0));
    add(b, DENSE(1, 65));
    add(b, DENSE(1025, 17));
    add(b, DENSE(4096, 32));
    add(b, DENSE(257, 1023));
    plain(b);
    add(b, kg_tensor_transposed(t, KG_SHAPE(1025, 33), 0, 1));
    add(b, kg_tensor_stepped(t, KG_SHAPE(1025, 33), 2));
    add(b, kg_tensor_expanded(t, KG_SHAPE(1025, 33), 0));
    kg_set_strided(add(b, DENSE(1025, 33)), b->task, "vec", kg_tensor_stepped(t, KG_SHAPE(33), 3), KG_NORMAL(0, 1));
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) kg_set_float(plain(b), b->task, "p", p[i]);
    kg_set_bool(plain(b), b->task, "training", false);
    kg_set_bool(plain(b), b->task, "inplace", true);
    kg_set_int(plain(b), b->task, "dim", -1);
    kg_set_int(add(b, DENSE(129, 9)), b->task, "dim", 0);
    kg_set_tensor(plain(b), b->task, "out", t, KG_SHAPE(4099), KG_FACTORS);
    // A sum of exponentials that overflows without its largest taken off.
    kg_set_bool(add(b, DENSE(515, 33)), b->task, "training", false);
    b->items[b->n - 1].args[1].fill = KG_NORMAL(20, 40);
    for (int sign = -1; sign <= 1; sign += 2) {  // all far above 0, all far below
        kg_set_bool(add(b, DENSE(515, 33)), b->task, "training", false);
        b->items[b->n - 1].args[0].fill = KG_NORMAL(sign, 0.1);
        b->items[b->n - 1].args[1].fill = KG_NORMAL(100, 10);
    }
    kg_set_bool(add(b, DENSE(515, 3)), b->task, "training", false);  // below any number that stands for -infinity
    b->items[b->n - 1].args[0].fill = KG_NORMAL(-1, 0.1);
    b->items[b->n - 1].args[1].fill = KG_NORMAL(1e33, 1e31);
    kg_set_bool(add(b, DENSE(5, 4099)), b->task, "training", false);
    for (int i = 0; i < 5; i++) {  // the largest may be any
        kg_set_bool(add(b, DENSE(8193, 2)), b->task, "training", false);
        b->items[b->n - 1].args[1].fill = KG_LARGE_LOGITS;
    }
    kg_set_bool(add(b, DENSE(33, 5)), b->task, "training", false);
    b->items[b->n - 1].args[1].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_case *c = plain(b);  // the same values in both calls
    c->args[0].fill = c->args[1].fill = (kg_fill){KG_FILL_CONST, 0.5, 0};
    add(b, DENSE(33, 5))->args[1].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        t = others[i];
        add(b, DENSE(4099, 33));
        kg_set_bool(add(b, DENSE(515, 65)), b->task, "training", false);
    }
}

static void full(kg_cases *b) {
    kg_dtype t = KG_F32;
    add(b, DENSE(65537, 5));
    add(b, DENSE(20011, 100));
    kg_set_float(add(b, DENSE(1023, 2049)), b->task, "p", 0.3);
    add(b, DENSE(2049, 65))->args[0].fill = KG_OUTLIERS(0, 0.1);
    t = KG_F16;
    add(b, DENSE(257, 2048));
}
#undef DENSE

static int cases(kg_cases *b) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    for (int64_t n = 256; n <= (cuda ? 4096 : 2048); n += cuda ? 128 : 256)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, n)));
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *x = &c->args[0].tensor, *v = &c->args[1].tensor;
    const int64_t dim = kg_case_arg(c, t, "dim")->i;
    if (x->ndim != 2 || v->ndim != 1 || x->dtype != v->dtype || dim < -1 || dim > 0) return -1;
    c->n_outs = 1;
    return kg_matmul_shape(x, v, &c->outs[0]);
}

// ---- what must hold -------------------------------------------------------------------------------
static int product(kg_ref *ref, void *ctx) {
    const kg_call *call = ctx;
    kg_matmul_ref(&call->args[0], &call->args[1], &call->c->outs[0], ref);
    return 0;
}

static int log_softmax(int64_t block, kg_stage *s, void *ctx) {
    const kg_call *call = ctx;
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    if (kg_stage_from(s, block * s->n, 1, product, ctx)) return -1;
    kg_stage_stored(&r, s);
    kg_stage_log_softmax(&r, s);
    kg_stage_stored(&r, s);
    return 0;
}

static int before(const kg_call *call, kg_ref *ref) {
    return kg_stage_each(ref, kg_numel(&call->c->outs[0]), 1, log_softmax, (void *)call);
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_dropout d = {.p = kg_dropout_p(call, "p"), .before = before, .whole = true};
    return kg_dropout_holds(call, a, h, &d);
}

// All outputs need all products, which are made once.
static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * (double)c->args[0].tensor.shape[1] + 1;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 2 * (double)c->args[0].tensor.shape[1] * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_fused_mv_logsoftmax_dropout = {
    .name = "fused_mv_logsoftmax_dropout",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_mv_logsoftmax_dropout(input, vec, p=0.5, training=True, inplace=False, dim=0, *, out=None) -> Tensor",
    .summary = "A matrix times a vector, log-softmax of the result, then dropout.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, vec, p=0.5, training=True, inplace=False, dim=0, out=None: (lambda y: y if out is None else "
        "out.copy_(y))(F.dropout(F.log_softmax(torch.mv(input, vec), dim), p, training, inplace))",
    .c_items = "kg_elements(out) > 0",
    .c_body =
        "const int64_t n = kg_dim(out, 0), m = kg_dim(vec, 0);\n"
        "const double q = training ? 1.0 - p : 1.0;\n"
        "double largest = 0, sum = 0;\n"
        "for (int64_t turn = 0; turn < 3; turn++)\n"
        "    for (int64_t r = 0; r < n; r++) {\n"
        "        double z = 0;\n"
        "        for (int64_t k = 0; k < m; k++) z += kg_get(input, r * m + k) * kg_get(vec, k);\n"
        "        if (turn == 0) largest = r == 0 || z > largest || z != z ? z : largest;\n"
        "        else if (turn == 1) sum += exp(z - largest);\n"
        "        else kg_put(out, r, training && kg_uniform(seed, r) < p ? 0.0 : (z - largest - log(sum)) / q);\n"
        "    }\n",
};
