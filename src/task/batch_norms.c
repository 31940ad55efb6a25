// Bounds: src/oracle/norm.h; a function behind the normalisation bends them (kg_term_map).
#include "task/batch_norms.h"

#include <stdlib.h>

#include "oracle/norm.h"

enum { INPUT, MEAN, VAR, WEIGHT, BIAS, TRAINING, MOMENTUM, EPS };
const char *const kg_outputs_batch_norm[] = {"out", NULL};

kg_case *kg_batch_norm_case(kg_cases *b, kg_tensor input, bool training, bool affine) {
    kg_case *c = kg_case_add(b);
    const kg_dtype t = input.dtype;
    const int64_t channels = input.shape[1];
    kg_set_strided(c, b->task, b->task->params[INPUT].name, input, KG_NORMAL(0.5, 2));
    kg_set_tensor(c, b->task, "running_mean", t, KG_SHAPE(channels), KG_NORMAL(0.5, 0.5));
    kg_set_tensor(c, b->task, "running_var", t, KG_SHAPE(channels), KG_UNIFORM(0.5, 2));
    if (affine) {
        kg_set_tensor(c, b->task, "weight", t, KG_SHAPE(channels), KG_NORMAL(1, 0.5));
        kg_set_tensor(c, b->task, "bias", t, KG_SHAPE(channels), KG_NORMAL(0, 1));
    }
    if (training) kg_set_bool(c, b->task, "training", true);
    return c;
}

#define add      kg_batch_norm_case
#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    add(b, F32(1, 1, 1, 1), false, true);
    add(b, F32(2, 1), true, true);
    add(b, F32(4, 5, 3, 7), false, true);
    add(b, F32(4, 5, 3, 7), true, true);
    add(b, F32(4, 5, 3, 7), false, false);
    add(b, F32(4, 5, 3, 7), true, false);
    add(b, F32(33, 17), true, true);  // no spatial dimensions
    add(b, F32(3, 9, 129), true, true);
    add(b, F32(0, 5, 3), false, true);
    add(b, F32(7, 33, 17, 19), true, true);
    kg_set_float(add(b, F32(4, 5, 3, 7), true, true), b->task, "momentum", 0.75);
    kg_set_float(add(b, F32(4, 5, 3, 7), true, true), b->task, "eps", 0.5);
    kg_set_float(add(b, F32(4, 5, 3, 7), false, true), b->task, "eps", 0.5);
    for (int training = 0; training < 2; training++) {
        kg_set_float(add(b, F32(2, 3, 4, 5, 6), training, true), b->task, "eps", 0.5);
        kg_set_float(add(b, F32(5, 3, 17), training, true), b->task, "eps", 0.5);
        kg_set_float(add(b, F32(33, 7), training, true), b->task, "eps", 0.5);
    }
    kg_set_none(add(b, F32(4, 5, 3, 7), true, true), b->task, "bias");
    kg_set_none(add(b, F32(4, 5, 3, 7), true, true), b->task, "weight");
    add(b, F32(6, 3, 31, 33), true, true);  // more a channel than a block of threads takes at once
    kg_case *c = add(b, F32(4, 5, 3, 7), true, true);
    kg_set_none(c, b->task, "running_mean");
    kg_set_none(c, b->task, "running_var");
    add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(4, 6, 9, 8), 1, 3), true, true);
    for (int training = 0; training < 2; training++) {
        c = add(b, F32(4, 5, 3, 7), training, true);
        for (int i = MEAN; i <= BIAS; i++) c->args[i].tensor = kg_tensor_stepped(KG_F32, KG_SHAPE(5), 2);
    }
    add(b, F32(5, 3, 17), false, true)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
    add(b, F32(8, 3, 11, 13), true, true)->args[INPUT].fill = KG_NORMAL(1000, 1);
    add(b, F32(8, 3, 11, 13), true, true)->args[INPUT].fill = KG_OUTLIERS(0.5, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(5, 6, 33)), true, true);
        add(b, kg_tensor_contiguous(others[i], KG_SHAPE(5, 6, 33)), false, true);
    }
}

static void full(kg_cases *b) {
    add(b, F32(2, 3, 64, 65), true, true);
    add(b, F32(32, 64, 9, 9), true, true);
    add(b, F32(2, 3, 4, 5, 6), true, true);
    add(b, F32(2, 3, 4, 5, 6), false, true);
    add(b, F32(1, 129, 257), true, false);
    add(b, F32(5, 3, 17), false, true)->args[INPUT].fill = (kg_fill){KG_FILL_CONST, INFINITY, 0};
    add(b, F32(8, 3, 33, 33), true, true)->args[INPUT].fill = KG_NORMAL(10000, 1);
    add(b, F32(8, 3, 9), true, true)->args[INPUT].fill = KG_NORMAL(0, 1e-3);  // eps counts more than the variance
}

void kg_batch_norm_cases(kg_cases *b) {
    quick(b);
    kg_nan_cases(b);
    if (b->level == KG_CASES_FULL) full(b);
}
#undef F32
#undef add

int kg_batch_norm_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (in->ndim < 2 || !kg_dtype_is_float(in->dtype)) return -1;
    const int64_t per_channel = in->shape[1] ? kg_numel(in) / in->shape[1] : 0;
    if (c->args[TRAINING].i ? per_channel < 2 : c->args[MEAN].none || c->args[VAR].none) return -1;
    if (c->args[MEAN].none != c->args[VAR].none) return -1;  // as PyTorch refuses it
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    kg_view x;
    kg_groups groups;
    kg_spread *spread;  // per channel; n == 0 until it is known
} batch;

static const kg_spread *spread_of(batch *b, int64_t channel) {
    kg_spread *s = &b->spread[channel];
    if (s->n == 0) *s = kg_group_spread(&b->x, &b->groups, channel);
    return s;
}

static double or_else(const kg_view *v, int64_t i, double other) { return v->data ? kg_at(v, i) : other; }

static void normalised(const kg_call *call, batch *b, kg_ref *ref) {
    const kg_view weight = kg_call_view(call, "weight"), bias = kg_call_view(call, "bias");
    const kg_view mean = kg_call_view(call, "running_mean"), var = kg_call_view(call, "running_var");
    const double eps = call->c->args[EPS].f;
    const bool half = kg_is_half(b->x.desc.dtype);
    for (size_t k = 0; k < ref->n; k++) {
        int64_t coord[KG_MAX_NDIM];
        kg_coords(&b->x.desc, ref->index[k], coord);
        const int64_t channel = coord[1];
        const bool training = call->c->args[TRAINING].i;
        kg_norm m = training ? kg_norm_of(spread_of(b, channel), eps)
                             : (kg_norm){.mean = kg_at(&mean, channel), .var = kg_at(&var, channel), .eps = eps};
        m.saved = training;
        kg_norm_put(ref, k, half, &m, kg_at(&b->x, ref->index[k]), or_else(&weight, channel, 1),
                    or_else(&bias, channel, 0));
    }
}

static void running(const kg_call *call, batch *b, kg_ref *ref) {
    const bool is_var = ref->out == 2, half = kg_is_half(b->x.desc.dtype);
    const kg_view old = kg_call_view(call, is_var ? "running_var" : "running_mean");
    const double momentum = call->c->args[MOMENTUM].f;
    for (size_t k = 0; k < ref->n; k++) {
        const double was = kg_at(&old, ref->index[k]);
        if (!call->c->args[TRAINING].i) {
            kg_ref_put(ref, k, false, was, 0, 0, 0);
            continue;
        }
        const kg_spread *s = spread_of(b, ref->index[k]);
        const double dof = (double)s->n - 1, now = is_var ? s->m2 / dof : s->mean;
        const double acc = is_var ? kg_spread_variance_acc(s, dof) : s->mean_acc;
        const double sizes = fabs((1 - momentum) * was) + fabs(momentum * now);
        kg_ref_put(ref, k, half, (1 - momentum) * was + momentum * now, KG_LAMBDA * sizes, sizes, momentum * acc);
    }
}

static void behind(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx)) {
    const kg_rung r = kg_rung_of(call->task, call->c->outs[0].dtype);
    for (size_t k = 0; k < ref->n; k++)
        kg_term_put(ref, k, kg_term_map(&r, (kg_term){ref->value[k], ref->local[k], ref->acc[k]}, f, NULL));
}

int kg_batch_norm_ref(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx)) {
    const kg_view x = kg_call_view(call, call->task->params[INPUT].name);
    batch b = {.x = x, .groups = kg_groups_of(&x.desc, ((1 << x.desc.ndim) - 1) & ~2)};
    b.spread = calloc((size_t)x.desc.shape[1] + 1, sizeof *b.spread);
    if (!b.spread) return -1;
    if (ref->out == 0) normalised(call, &b, ref);
    else running(call, &b, ref);
    if (ref->out == 0 && f) behind(call, ref, f);
    free(b.spread);
    return 0;
}

double kg_batch_norm_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[INPUT].tensor;
    if (!c->args[TRAINING].i || !in->shape[1]) return 1;
    const int64_t values = kg_numel(in) / in->shape[1];  // of one channel
    return 2 * (double)values;
}

void kg_batch_norm_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special) {
    const bool training = c->args[TRAINING].i;
    kg_work_map(t, c, w, (training ? 6 : 2) + plain, special);
    // The running statistics are only written in training.
    if (!training) w->bytes_written = (double)(kg_numel(&c->outs[0]) * (int64_t)kg_dtype_size(c->outs[0].dtype));
}
