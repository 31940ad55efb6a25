// fused_bmm_dropout_gelu(input1, input2, p=0.5, training=True, inplace=False, approximate='none', *, out=None) ->
// Tensor
//
// gelu(dropout(input1 @ input2, p)) of (B, N, M) and (B, M, P). Judged as src/task/dropout.h says: an element dropped
// is gelu(0) = 0, one kept gelu(z / (1 - p)); the mask is known where that is not nearly 0. inplace drops in the
// product's own memory, which nobody else sees: it changes nothing.
//
// Bounds: z as a product (oracle/product.c), divided, and through GELU's slope (oracle/stages.h); in half precision z
// and z / (1 - p) may be stored.
#include "task/bmm_dropout.h"

static const kg_param params[] = {{.name = "input1", .kind = KG_P_TENSOR},
                                  {.name = "input2", .kind = KG_P_TENSOR},
                                  KG_P_PARAM("p", 0.5),
                                  KG_FLAG_PARAM("training", 1),
                                  KG_FLAG_PARAM("inplace", 0),
                                  KG_APPROXIMATE_PARAM,
                                  KG_OUT_PARAM,
                                  KG_SEED_PARAM,
                                  {.name = NULL}};

static kg_case *plain(kg_cases *b) { return kg_bmm_case(b, kg_bmm_pair, 2, 65, 33, 67); }

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_bmm_timed(b, kg_bmm_pair);
        return 0;
    }
    kg_bmm_cases(b, kg_bmm_pair);
    static const double p[] = {0, 0.1, 0.25, 0.9, 1};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) kg_set_float(plain(b), b->task, "p", p[i]);
    kg_set_bool(plain(b), b->task, "training", false);
    kg_set_bool(plain(b), b->task, "inplace", true);
    kg_set_str(plain(b), b->task, "approximate", "tanh");
    kg_case *c = plain(b);
    kg_set_str(c, b->task, "approximate", "tanh");
    kg_set_bool(c, b->task, "training", false);
    kg_set_float(c, b->task, "p", 0.3);
    c->args[0].fill = KG_NORMAL(-0.5, 0.2);
    c->args[1].fill = KG_NORMAL(0.1, 0.2);  // where the two forms of GELU differ
    c = plain(b);
    kg_set_str(c, b->task, "approximate", "none");
    kg_set_bool(c, b->task, "training", false);
    c->args[0].fill = KG_NORMAL(-0.5, 0.2);
    c->args[1].fill = KG_NORMAL(0.1, 0.2);
    kg_set_tensor(plain(b), b->task, "out", KG_F32, KG_SHAPE(2, 65, 67), KG_FACTORS);
    kg_set_bool(plain(b), b->task, "training", false);  // what is dropped need not stay NaN
    b->items[b->n - 1].args[1].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    kg_set_bool(plain(b), b->task, "training", false);
    b->items[b->n - 1].args[0].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    return 0;
}

static kg_term after(const kg_rung *r, kg_term x, int64_t index, const void *ctx) {
    (void)index;
    return kg_gelu_term(r, x, ctx);
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const kg_dropout d = {.p = kg_dropout_p(call, "p"),
                          .before = kg_bmm_oracle,
                          .after = after,
                          .ctx = kg_call_arg(call, "approximate")->s};
    return kg_dropout_holds(call, a, h, &d);
}

const kg_task kg_task_kbx_fused_bmm_dropout_gelu = {
    .name = "fused_bmm_dropout_gelu",
    .suite = "kbx",
    .category = "Fusion",
    .signature =
        "fused_bmm_dropout_gelu(input1, input2, p=0.5, training=True, inplace=False, approximate='none', *, out=None) "
        "-> Tensor",
    .summary = "A batched matrix product, dropout, then GELU.",
    .params = params,
    .outputs = kg_outputs_product,
    .lowest = KG_PREC_TF32,
    .cases = cases,
    .infer = kg_bmm_infer,
    .held = 1,
    .holds = holds,
    .work = kg_bmm_work,
    .reach = kg_bmm_reach,
    .torch_baseline =
        "lambda input1, input2, p=0.5, training=True, inplace=False, approximate='none', out=None: (lambda y: y if "
        "out is None else out.copy_(y))(F.gelu(F.dropout(torch.bmm(input1, input2), p, training, inplace), "
        "approximate=approximate))",
    .c_body =
        "const int64_t c = i % kg_dim(out, 2), r = i / kg_dim(out, 2) % kg_dim(out, 1), b = i / (kg_dim(out, 2) * kg_dim(out, 1));\n" KG_BMM_Z
        "const double q = training ? 1.0 - p : 1.0;\n"
        "const double y = training && kg_uniform(seed, i) < p ? 0.0 : z / q;\n" KG_GELU_G "kg_put(out, i, g);\n",
};
