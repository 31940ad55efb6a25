// fused_bmm_rmsnorm_gelu_dropout_sub(input1, input2, other, normalized_shape, dropout_p=0.5, training=True,
// approximate='none', eps=1e-5, *, out=None) -> Tensor
//
// dropout(gelu(rms_norm(input1 @ input2)), dropout_p) - other of (B, N, M) and (B, M, P), normalised over the last
// dimensions of the product that normalized_shape names, without weights: z / sqrt(mean(z^2) + eps). other broadcasts
// to (B, N, P).
//
// Judged as src/task/dropout.h says: an element dropped is -other. Bounds: z as a product (oracle/product.c), then
// stage by stage (oracle/stages.h); in half precision every stage may be stored.
#include "task/bmm_dropout.h"

static const kg_param params[] = {{.name = "input1", .kind = KG_P_TENSOR},
                                  {.name = "input2", .kind = KG_P_TENSOR},
                                  {.name = "other", .kind = KG_P_TENSOR},
                                  {.name = "normalized_shape", .kind = KG_P_INTS},
                                  KG_P_PARAM("dropout_p", 0.5),
                                  KG_FLAG_PARAM("training", 1),
                                  KG_APPROXIMATE_PARAM,
                                  KG_P_PARAM("eps", 1e-5),
                                  KG_OUT_PARAM,
                                  KG_SEED_PARAM,
                                  {.name = NULL}};

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *pair(kg_cases *b, kg_tensor input1, kg_tensor input2) {
    kg_case *c = kg_bmm_norm_pair(b, input1, input2);
    kg_set_tensor(c, b->task, "other", input1.dtype, KG_SHAPE(input1.shape[0], input1.shape[1], input2.shape[2]),
                  KG_NORMAL(0.5, 1));
    return c;
}
static void other_of(kg_cases *b, kg_case *c, int ndim, const int64_t *shape) {
    kg_set_tensor(c, b->task, "other", KG_F32, ndim, shape, KG_NORMAL(0.5, 1));
}
static kg_case *plain(kg_cases *b) { return kg_bmm_case(b, pair, 2, 65, 33, 67); }

static void arguments(kg_cases *b) {
    static const double p[] = {0, 0.1, 0.25, 0.9, 1};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) kg_set_float(plain(b), b->task, "dropout_p", p[i]);
    kg_set_bool(plain(b), b->task, "training", false);
    kg_set_float(plain(b), b->task, "eps", 0.5);
    kg_set_ints(plain(b), b->task, "normalized_shape", KG_INTS(67));
    kg_set_ints(plain(b), b->task, "normalized_shape", KG_INTS(65, 67));
    kg_bmm_norm_shapes(b, pair);
    for (int tanh_form = 0; tanh_form < 2; tanh_form++) {
        kg_case *c = plain(b);
        kg_set_str(c, b->task, "approximate", tanh_form ? "tanh" : "none");
        kg_set_bool(c, b->task, "training", false);
        kg_set_float(c, b->task, "dropout_p", 0.3);
    }
    kg_set_str(plain(b), b->task, "approximate", "tanh");
    kg_set_tensor(plain(b), b->task, "out", KG_F32, KG_SHAPE(2, 65, 67), KG_FACTORS);
    kg_set_bool(plain(b), b->task, "training", false);  // what is dropped need not stay NaN
    b->items[b->n - 1].args[1].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_set_bool(plain(b), b->task, "training", false);
    b->items[b->n - 1].args[0].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_case *c = plain(b);  // so small that eps decides
    c->args[0].fill = KG_NORMAL(0, 1e-3);
    other_of(b, plain(b), KG_SHAPE(67));
    other_of(b, plain(b), KG_SHAPE(2, 1, 67));
    other_of(b, plain(b), KG_SHAPE(65, 1));
    other_of(b, plain(b), 0, NULL);
    kg_set_strided(plain(b), b->task, "other", kg_tensor_transposed(KG_F32, KG_SHAPE(2, 65, 67), 1, 2),
                   KG_NORMAL(0.5, 1));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_bmm_timed(b, pair);
        return 0;
    }
    kg_bmm_cases(b, pair);
    arguments(b);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    const kg_tensor *other = &c->args[2].tensor;
    kg_tensor both;
    if (kg_bmm_norm_infer(t, c) || other->dtype != c->outs[0].dtype || kg_broadcast(other, &c->outs[0], &both))
        return -1;
    return both.ndim == 3 && kg_numel(&both) == kg_numel(&c->outs[0]) ? 0 : -1;
}

static kg_term less_other(const kg_rung *r, kg_term x, int64_t index, const void *ctx) {
    return kg_term_sub(r, x, kg_term_input(r, kg_at(ctx, index)));
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_view other = kg_view_expand(&call->args[2], &call->c->outs[0]);
    const kg_dropout d = {
        .p = kg_dropout_p(call, "dropout_p"), .before = kg_bmm_norm_oracle, .after = less_other, .ctx = &other};
    return kg_dropout_holds(call, a, h, &d);
}

const kg_task kg_task_kbx_fused_bmm_rmsnorm_gelu_dropout_sub = {
    .name = "fused_bmm_rmsnorm_gelu_dropout_sub",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_bmm_rmsnorm_gelu_dropout_sub(input1, input2, other, normalized_shape, dropout_p=0.5, training=True, approximate='none', eps=1e-5, *, out=None) -> Tensor",
    .summary = "A batched matrix product, RMS norm without weights, GELU, dropout, then less another tensor.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = kg_bmm_work,
    .reach = kg_bmm_norm_reach,
    .torch_baseline =
        "lambda input1, input2, other, normalized_shape, dropout_p=0.5, training=True, approximate='none', eps=1e-5, out=None: (lambda y: y if out is None else out.copy_(y))("
        "F.dropout(F.gelu(F.rms_norm(torch.bmm(input1, input2), [normalized_shape] if isinstance(normalized_shape, "
        "int) else list(normalized_shape), eps=eps), approximate=approximate), dropout_p, training) - other)",
    .c_items = "kg_elements(out)",
    .c_body =
        "// The first element of a normalised block does the whole block.\n"
        "const double q = training ? 1.0 - dropout_p : 1.0;\n"
        "int64_t n = 1;\n"
        "for (int64_t d = 0; d < normalized_shape->n; d++) n *= normalized_shape->v[d];\n"
        "if (i % n) return;\n"
        "double squares = 0;\n"
        "for (int64_t turn = 0; turn < 2; turn++)\n"
        "    for (int64_t e = i; e < i + n; e++) {\n"
        "        const int64_t c = e % kg_dim(out, 2), r = e / kg_dim(out, 2) % kg_dim(out, 1), b = e / (kg_dim(out, 2) * kg_dim(out, 1));\n" KG_BMM_Z
        "        if (turn == 0) {\n"
        "            squares += z * z;\n"
        "            continue;\n"
        "        }\n"
        "        const double y = z / sqrt(squares / (double)n + eps);\n" KG_GELU_G
        "        kg_put(out, e, (training && kg_uniform(seed, e) < dropout_p ? 0.0 : g / q) - kg_get_broadcast(other, out, e));\n"
        "    }\n",
};
