#include "task/bmm_dropout.h"

#include <string.h>

// ---- cases ------------------------------------------------------------------------------------------------
kg_case *kg_bmm_pair(kg_cases *b, kg_tensor input1, kg_tensor input2) {
    kg_case *c = kg_case_add(b);
    // Of mean 0, so that partial sums stay small beside the terms; a third of GELU's values is far from 0.
    const double deviation = 1.5 / sqrt(sqrt((double)(input1.shape[2] > 1 ? input1.shape[2] : 1)));
    kg_set_strided(c, b->task, "input1", input1, KG_NORMAL(0.05, deviation));
    kg_set_strided(c, b->task, "input2", input2, KG_NORMAL(0.05, deviation));
    return c;
}

static kg_case *of(kg_cases *b, kg_bmm_add add, kg_dtype t, int64_t batch, int64_t n, int64_t m, int64_t p) {
    return add(b, kg_tensor_contiguous(t, KG_SHAPE(batch, n, m)), kg_tensor_contiguous(t, KG_SHAPE(batch, m, p)));
}

kg_case *kg_bmm_case(kg_cases *b, kg_bmm_add add, int64_t batch, int64_t n, int64_t m, int64_t p) {
    return of(b, add, KG_F32, batch, n, m, p);
}

void kg_bmm_cases(kg_cases *b, kg_bmm_add add) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    const kg_dtype t = KG_F32;
    kg_bmm_case(b, add, 3, 65, 33, 63);  // first what no constant answers
    kg_bmm_case(b, add, 1, 1, 1, 1);
    kg_bmm_case(b, add, 2, 3, 4, 5);
    kg_bmm_case(b, add, 0, 3, 4, 5);
    kg_bmm_case(b, add, 2, 0, 4, 5);
    kg_bmm_case(b, add, 2, 33, 0, 17);  // no terms: zeros
    kg_bmm_case(b, add, 1, 3, 4099, 5);
    kg_bmm_case(b, add, 1, 2, 3, 4099);
    kg_bmm_case(b, add, 2, 17, 129, 255);
    kg_bmm_case(b, add, 5, 31, 7, 127);
    kg_bmm_case(b, add, 1, 257, 16, 40);
    add(b, kg_tensor_transposed(t, KG_SHAPE(2, 65, 33), 1, 2), kg_tensor_transposed(t, KG_SHAPE(2, 33, 64), 1, 2));
    add(b, kg_tensor_expanded(t, KG_SHAPE(4, 33, 17), 0), kg_tensor_stepped(t, KG_SHAPE(4, 17, 65), 2));
    // The same values in both calls.
    kg_case *c = kg_bmm_case(b, add, 2, 65, 4, 63);
    c->args[0].fill = c->args[1].fill = (kg_fill){KG_FILL_CONST, 0.5, 0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) of(b, add, others[i], 2, 65, 33, 63);
    // The two forms of GELU differ by less than tf32's bound.
    kg_set_str(of(b, add, KG_F64, 2, 33, 20, 31), b->task, "approximate", "tanh");
    if (b->level != KG_CASES_FULL) return;
    kg_bmm_case(b, add, 2, 100, 300, 200);
    kg_bmm_case(b, add, 16, 64, 32, 64);
    kg_bmm_case(b, add, 3, 1, 65, 1025);
    kg_bmm_case(b, add, 3, 1025, 20, 2);
    kg_bmm_case(b, add, 2, 33, 20, 63)->args[0].fill = KG_OUTLIERS(0, 0.5);
    of(b, add, KG_F16, 1, 16, 2048, 64);
}

void kg_bmm_timed(kg_cases *b, kg_bmm_add add) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 256 : 64; n <= (cuda ? 2432 : 256); n += cuda ? 128 : 64)
        kg_bmm_case(b, add, cuda ? 32 : 4, n, n, n);
}

// ---- the product ------------------------------------------------------------------------------------------
int kg_bmm_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[0].tensor, *y = &c->args[1].tensor;
    if (x->ndim != 3 || y->ndim != 3 || x->dtype != y->dtype || x->shape[0] != y->shape[0]) return -1;
    c->n_outs = 1;
    return kg_matmul_shape(x, y, &c->outs[0]);
}

static int product(kg_ref *ref, void *ctx) {
    const kg_call *call = ctx;
    kg_matmul_ref(&call->args[0], &call->args[1], &call->c->outs[0], ref);
    return 0;
}

int kg_bmm_oracle(const kg_call *call, kg_ref *ref) {
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    product(ref, (void *)call);
    for (size_t k = 0; k < ref->n; k++)
        kg_term_put(ref, k, kg_term_stored(&r, (kg_term){ref->value[k], ref->local[k], ref->acc[k]}));
    return 0;
}

static double terms(const kg_case *c) { return (double)c->args[0].tensor.shape[2]; }

void kg_bmm_work(const kg_task *t, const kg_case *c, kg_work *w) {
    const double n = (double)kg_numel(&c->outs[0]);
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * terms(c) * n;
    w->ops[KG_U_SPECIAL] = n;
}

double kg_bmm_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return 2 * terms(c) + 1;
}

// ---- GELU ---------------------------------------------------------------------------------------------------
static kg_point gelu_at(double x, const void *ctx) { return kg_gelu_point(x, ctx != NULL); }

kg_term kg_gelu_term(const kg_rung *r, kg_term x, const char *approximate) {
    return kg_term_map(r, x, gelu_at, strcmp(approximate, "tanh") == 0 ? approximate : NULL);
}

// ---- RMS norm -------------------------------------------------------------------------------------------------
kg_case *kg_bmm_norm_pair(kg_cases *b, kg_tensor input1, kg_tensor input2) {
    kg_case *c = kg_bmm_pair(b, input1, input2);
    kg_set_ints(c, b->task, "normalized_shape", KG_INTS(input2.shape[2]));
    c->args[kg_param_index(b->task, "normalized_shape")].scalar = true;
    return c;
}

void kg_bmm_norm_shapes(kg_cases *b, kg_bmm_add add) {
    static const int64_t shape[] = {3, 9, 7};
    for (int k = 0; k < 6; k++) {
        const int n = k / 2 + 1;
        kg_case *c = of(b, add, k % 2 ? KG_F16 : KG_F32, 3, 9, 5, 7);
        kg_set_ints(c, b->task, "normalized_shape", n, shape + 3 - n);
        kg_set_float(c, b->task, "eps", 0.5);
        kg_set_bool(c, b->task, "training", false);
    }
}

int kg_bmm_norm_infer(const kg_task *t, kg_case *c) {
    const kg_arg *over = kg_case_arg(c, t, "normalized_shape");
    if (kg_bmm_infer(t, c) || over->n > 3) return -1;
    for (int i = 0; i < over->n; i++)
        if (over->ints[i] != c->outs[0].shape[3 - over->n + i]) return -1;
    return 0;
}

// Elements normalised together.
static int64_t block_of(const kg_task *t, const kg_case *c) {
    const kg_arg *over = kg_case_arg(c, t, "normalized_shape");
    int64_t n = 1;
    for (int i = 0; i < over->n; i++) n *= over->ints[i];
    return n;
}

static int norm_block(int64_t block, kg_stage *s, void *ctx) {
    const kg_call *call = ctx;
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    const char *approximate = kg_call_arg(call, "approximate")->s;
    if (kg_stage_from(s, block * s->n, 1, product, ctx)) return -1;
    kg_stage_stored(&r, s);
    kg_stage_rms_norm(&r, s, kg_call_arg(call, "eps")->f, NULL);
    kg_stage_stored(&r, s);
    for (int64_t i = 0; i < s->n; i++) s->at[i] = kg_gelu_term(&r, s->at[i], approximate);
    kg_stage_stored(&r, s);
    return 0;
}

int kg_bmm_norm_oracle(const kg_call *call, kg_ref *ref) {
    return kg_stage_each(ref, block_of(call->task, call->c), 1, norm_block, (void *)call);
}

double kg_bmm_norm_reach(const kg_task *t, const kg_case *c) {
    return (2 * terms(c) + 1) * (double)(block_of(t, c) > 1 ? block_of(t, c) : 1);
}
