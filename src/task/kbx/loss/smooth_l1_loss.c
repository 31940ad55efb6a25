// smooth_l1_loss(input, target, beta=1.0, reduction='mean') -> Tensor
//
// With d = |input - target|: 0.5 d^2 / beta below beta, else d - 0.5 beta; beta 0 is d. The two broadcast.
//
// Bounds. d rounds once: condition d f'(d), which is at most d; d - 0.5 beta cancels no more than half. Kernels in half
// precision may round every step to it (PyTorch does), so terms are charged at the working precision there too.
#include "task/losses.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "target", .kind = KG_P_TENSOR},
    {.name = "beta", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1},
    {.name = "reduction", .kind = KG_P_STR, .optional = true, .keyword = true, .has_default = true, .text = "mean"},
    {.name = NULL}};
enum { INPUT, TARGET, BETA, REDUCTION };

static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor target, const char *reduction) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    kg_set_strided(c, b->task, "target", target, KG_NORMAL(0, 1));
    if (reduction) kg_set_str(c, b->task, "reduction", reduction);
    return c;
}
static kg_case *alike(kg_cases *b, kg_tensor d, const char *reduction) { return add(b, d, d, reduction); }
static kg_case *beta(kg_cases *b, kg_case *c, double v) {
    kg_set_float(c, b->task, "beta", v);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    alike(b, F32(1), NULL);
    alike(b, F32(1025), NULL);
    alike(b, F32(1025), "sum");
    alike(b, F32(1025), "none");
    beta(b, alike(b, F32(1025), "none"), 0);
    beta(b, alike(b, F32(1025), NULL), 0.25);
    beta(b, alike(b, F32(33, 65), "none"), 3);
    alike(b, F32(65537), NULL);
    alike(b, F32(33, 65), NULL);
    alike(b, F32(0), "sum");
    alike(b, F32(0), NULL);  // mean of nothing: NaN
    add(b, F32(33, 65), F32(65), "none");
    add(b, F32(33, 1), F32(1, 65), NULL);
    add(b, F32(65), F32(33, 65), "sum");
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), F32(33, 65), "none");
    alike(b, F32(1027), "none")->args[INPUT].fill = KG_SPECIALS(0, 1);
    alike(b, F32(1027), "none")->args[INPUT].fill = KG_OUTLIERS(0, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        alike(b, kg_tensor_contiguous(others[i], KG_SHAPE(1025)), "none");
        alike(b, kg_tensor_contiguous(others[i], KG_SHAPE(33, 65)), NULL);
    }
}

static void full(kg_cases *b) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        alike(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]), NULL);
    alike(b, kg_tensor_contiguous(KG_F32, 0, NULL), "none");
    beta(b, alike(b, F32(3, 100003), "sum"), 0);
    alike(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3), "none");
    alike(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(100003)), NULL);
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b);
        kg_nan_cases(b);
        if (b->level == KG_CASES_FULL) full(b);
        return 0;
    }
    static const int cpu[] = {14, 17, 20, 22, 24};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 13 : 5); i++) alike(b, F32((int64_t)1 << (cuda ? 12 + i : cpu[i])), NULL);
    return 0;
}
#undef F32

static int broadcast(const kg_case *c, kg_tensor *out) {
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (kg_broadcast(in, &c->args[TARGET].tensor, out)) return -1;
    *out = kg_tensor_contiguous(in->dtype, out->ndim, out->shape);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    kg_tensor all;
    if (broadcast(c, &all) || !kg_dtype_is_float(all.dtype) || c->args[TARGET].tensor.dtype != all.dtype) return -1;
    c->n_outs = 1;
    c->outs[0] =
        kg_reduction_of(&c->args[REDUCTION]) == KG_REDUCE_NONE ? all : kg_tensor_contiguous(all.dtype, 0, NULL);
    return 0;
}

typedef struct {
    kg_view x, y;  // broadcast
    bool direct;   // both contiguous: the storage offset is the index
    double beta;
} loss;

static kg_loss_term term(int64_t i, void *ctx) {
    const loss *l = ctx;
    const double x = l->direct ? kg_at_offset(&l->x, i) : kg_at(&l->x, i);
    const double d = fabs(x - (l->direct ? kg_at_offset(&l->y, i) : kg_at(&l->y, i)));
    const bool square = d < l->beta;
    const double v = square ? 0.5 * d * d / l->beta : d - 0.5 * l->beta;
    return (kg_loss_term){.value = v, .local = KG_LAMBDA / 2 * fabs(v) + (square ? 0 : d), .weight = 1};
}

static int oracle(const kg_call *call, kg_ref *ref) {
    kg_tensor all;
    if (broadcast(call->c, &all)) return -1;
    const kg_view x = kg_call_view(call, "input"), y = kg_call_view(call, "target");
    loss l = {.x = kg_view_expand(&x, &all), .y = kg_view_expand(&y, &all), .beta = call->c->args[BETA].f};
    l.direct = kg_is_contiguous(&l.x.desc) && kg_is_contiguous(&l.y.desc);
    kg_loss_ref(ref, kg_reduction_of(&call->c->args[REDUCTION]), false, kg_numel(&all), term, &l);
    return 0;
}

static double elements(const kg_case *c) {
    kg_tensor all;
    return broadcast(c, &all) ? 0 : (double)kg_numel(&all);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, elements(c) / fmax(1, (double)kg_numel(&c->outs[0])));
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = 5 * elements(c);
}

const kg_task kg_task_kbx_smooth_l1_loss = {
    .name = "smooth_l1_loss",
    .suite = "kbx",
    .category = "Loss",
    .signature = "smooth_l1_loss(input, target, beta=1.0, reduction='mean') -> Tensor",
    .summary = "Squared differences below beta and absolute ones above, joined smoothly, and their mean or sum.",
    .params = params,
    .outputs = kg_outputs_loss,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda input, target, beta=1.0, reduction='mean': F.smooth_l1_loss(input, target, beta=beta, "
        "reduction=reduction)",
    .c_body =
        "// Each output alone: its own term, or all of them. Terms are counted over the broadcast shape.\n"
        "const bool none = kg_same(reduction, \"none\"), mean = kg_same(reduction, \"mean\");\n"
        "const int ndim = input->ndim > target->ndim ? input->ndim : target->ndim;\n"
        "int64_t terms = 1;\n"
        "for (int d = 1; d <= ndim; d++) {\n"
        "    const int64_t a = d <= input->ndim ? kg_dim(input, -d) : 1, b = d <= target->ndim ? kg_dim(target, -d) : 1;\n"
        "    terms *= a == 1 ? b : a;\n"
        "}\n"
        "double sum = 0;\n"
        "for (int64_t k = none ? i : 0; k < (none ? i + 1 : terms); k++) {\n"
        "    int64_t rest = k, x_at = 0, y_at = 0;\n"
        "    for (int d = 1; d <= ndim; d++) {\n"
        "        const int64_t a = d <= input->ndim ? kg_dim(input, -d) : 1, b = d <= target->ndim ? kg_dim(target, -d) : 1;\n"
        "        const int64_t n = a == 1 ? b : a;\n"
        "        if (a != 1) x_at += rest % n * kg_stride(input, -d);\n"
        "        if (b != 1) y_at += rest % n * kg_stride(target, -d);\n"
        "        rest /= n;\n"
        "    }\n"
        "    const double d = fabs(kg_get_at(input, x_at) - kg_get_at(target, y_at));\n"
        "    sum += d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;\n"
        "}\n"
        "kg_put(out, i, mean ? sum / (double)terms : sum);\n",
};
