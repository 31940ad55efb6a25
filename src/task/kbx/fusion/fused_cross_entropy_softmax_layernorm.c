// fused_cross_entropy_softmax_layernorm(logits, targets, normalized_shape, weight=None, ignore_index=-100,
//     reduction='mean', label_smoothing=0.0, eps=1e-5, *, out=None) -> Tuple[Tensor, Tensor]
//
// The cross entropy of logits (N, C) and targets, classes (N) or probabilities (N, C), as in
// fused_cross_entropy_log_softmax; and layer_norm of softmax(logits) over normalized_shape, the last dimensions: C, or
// (N, C). weight are the classes', in the loss alone. Only (N, C) is asked: of (N, C, ...) the text has the softmax
// over the classes, the public benchmark's reference over the last dimension. out is not asked either: it is for the
// second result alone.
//
// Bounds: src/task/cross_entropies.c; kg_stage_softmax and kg_stage_layer_norm.
#include "oracle/stages.h"
#include "task/losses.h"

static const kg_param params[] = {
    {.name = "logits", .kind = KG_P_TENSOR},
    {.name = "targets", .kind = KG_P_TENSOR},
    {.name = "normalized_shape", .kind = KG_P_INTS},
    KG_LOSS_WEIGHT,
    KG_LOSS_IGNORE_INDEX,
    KG_LOSS_REDUCTION,
    KG_LOSS_SMOOTHING,
    {.name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5},
    {.name = NULL}};
enum { LOGITS, TARGETS, NORMALIZED };
static const char *const outputs[] = {"loss", "normalized", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *over(kg_cases *b, kg_case *c, bool all) {
    const kg_tensor *in = &c->args[LOGITS].tensor;
    kg_set_ints(c, b->task, "normalized_shape", all ? 2 : 1, all ? in->shape : in->shape + 1);
    return c;
}

static int cases(kg_cases *b) {
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
    const kg_fill fill = KG_NORMAL(0, 2);
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_class_loss_cases(b, fill, KG_LOSS_PROBABILITIES | KG_LOSS_SMOOTHED | KG_LOSS_FLAT);
        for (size_t i = 0; i < b->n; i++) {
            over(b, &b->items[i], false);
            b->items[i].args[NORMALIZED].scalar = i % 2;  // C itself, or (C,)
        }
        over(b, kg_class_loss_case(b, fill, F32(7, 33)), true);
        over(b, kg_class_loss_case(b, fill, F32(65, 9)), true);
        kg_set_float(over(b, kg_class_loss_case(b, fill, F32(9, 33)), false), b->task, "eps", 0.01);
        kg_set_float(over(b, kg_class_loss_case(b, fill, F32(9, 34)), false), b->task, "eps", 1e-12);
        return 0;
    }
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 256 : 64; n <= (cuda ? 524288 : 8192); n *= 2)
        over(b, kg_class_loss_case(b, fill, F32(n, 1024)), false)->args[NORMALIZED].scalar = true;
    return 0;
#undef F32
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[LOGITS].tensor;
    const kg_arg *over_shape = &c->args[NORMALIZED];
    if (in->ndim != 2 || over_shape->n < 1 || over_shape->n > 2 || kg_class_loss_infer(t, c)) return -1;
    for (int d = 0; d < over_shape->n; d++)
        if (over_shape->ints[d] != in->shape[2 - over_shape->n + d]) return -1;
    c->n_outs = 2;
    c->outs[1] = kg_tensor_contiguous(in->dtype, 2, in->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view logits;
    kg_rung rung;
    double eps;
} probabilities;

static int block_of(int64_t block, kg_stage *s, void *ctx) {
    const probabilities *p = ctx;
    const int64_t classes = p->logits.desc.shape[1];
    for (int64_t first = 0; first < s->n; first += classes) {
        kg_stage row = {classes, s->at + first};
        for (int64_t i = 0; i < classes; i++) row.at[i] = kg_term_exact(kg_at(&p->logits, block * s->n + first + i));
        kg_stage_softmax(&p->rung, &row);
    }
    kg_stage_stored(&p->rung, s);
    kg_stage_layer_norm(&p->rung, s, p->eps, NULL, NULL);
    return 0;
}

static int64_t block_size(const kg_case *c) {
    int64_t n = 1;
    for (int d = 0; d < c->args[NORMALIZED].n; d++) n *= c->args[NORMALIZED].ints[d];
    return n;
}

static int oracle(const kg_call *call, kg_ref *ref) {
    if (ref->out == 0) return kg_cross_entropy_ref(call, ref, KG_CROSS_ENTROPY_FUSED);
    const kg_view logits = kg_call_view(call, "logits");
    probabilities p = {logits, kg_rung_of(call->task, logits.desc.dtype), kg_call_arg(call, "eps")->f};
    return kg_stage_each(ref, block_size(call->c), 1, block_of, &p);
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const double n = (double)kg_numel(&c->args[LOGITS].tensor);
    return fmax(1, fmax(4 * (double)block_size(c), n / fmax(1, (double)kg_numel(&c->outs[0]))));
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->args[LOGITS].tensor);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[1].dtype)] = 10 * n;
    w->ops[KG_U_SPECIAL] = n;
}

const kg_task kg_task_kbx_fused_cross_entropy_softmax_layernorm = {
    .name = "fused_cross_entropy_softmax_layernorm",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_cross_entropy_softmax_layernorm(logits, targets, normalized_shape, weight=None, ignore_index=-100, "
        "reduction='mean', label_smoothing=0.0, eps=1e-5, *, out=None) -> Tuple[Tensor, Tensor]",
    .summary =
        "Cross entropy of logits and targets, and the layer-normalised softmax of the logits. NaN where a sample's logits hold NaN or "
        "+infinity.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline =
        "lambda logits, targets, normalized_shape, weight=None, ignore_index=-100, reduction='mean', "
        "label_smoothing=0.0, eps=1e-5: (F.cross_entropy(logits, targets, weight, ignore_index=ignore_index, "
        "reduction=reduction, label_smoothing=label_smoothing), F.layer_norm(torch.softmax(logits, 1), "
        "(normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape), eps=eps))",
    .c_items = "kg_elements(loss) + 1",
    .c_body =
        "if (i == kg_elements(loss)) { // the last item does the normalisation\n"
        "    const int64_t n = kg_dim(logits, 1), all = kg_elements(logits);\n"
        "    int64_t block = 1;\n"
        "    for (int64_t d = 0; d < normalized_shape->n; d++) block *= normalized_shape->v[d];\n"
        "    for (int64_t first = 0; first < all; first += n) {\n"
        "        double largest = kg_get(logits, first), s = 0;\n"
        "        for (int64_t c = 1; c < n; c++) largest = fmax(largest, kg_get(logits, first + c));\n"
        "        for (int64_t c = 0; c < n; c++) s += exp(kg_get(logits, first + c) - largest);\n"
        "        for (int64_t c = 0; c < n; c++) kg_put(normalized, first + c, exp(kg_get(logits, first + c) - largest) / s);\n"
        "    }\n"
        "    for (int64_t first = 0; first < all; first += block) {\n"
        "        double mean = 0, var = 0;\n"
        "        for (int64_t k = first; k < first + block; k++) mean += kg_get(normalized, k) / (double)block;\n"
        "        for (int64_t k = first; k < first + block; k++)\n"
        "            var += (kg_get(normalized, k) - mean) * (kg_get(normalized, k) - mean) / (double)block;\n"
        "        for (int64_t k = first; k < first + block; k++)\n"
        "            kg_put(normalized, k, (kg_get(normalized, k) - mean) / sqrt(var + eps));\n"
        "    }\n"
        "    return;\n"
        "}\n" KG_CROSS_ENTROPY_SUM("logits", "targets", "label_smoothing") "kg_put(loss, i, sum);\n",
};
