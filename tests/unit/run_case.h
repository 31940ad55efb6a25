// A task's case as the runner sees it, for tests that call a loader themselves, and the rung that an answer reaches.
#ifndef KG_TEST_RUN_CASE_H
#define KG_TEST_RUN_CASE_H

#include "bounds.h"
#include "runner/runner.h"

// All but where the tensors lie.
static inline kg_run_case run_case(const kg_task *t, const kg_case *c, int slots) {
    kg_run_case r = {
        .n_args = c->n_args, .n_outs = c->n_outs, .slots = slots, .calls = 1, .alias_first_out = c->alias_first_out};
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        kg_run_arg *to = &r.args[i];
        *to = (kg_run_arg){.name = (char *)t->params[i].name,
                           .kind = t->params[i].kind,
                           .role = t->params[i].role,
                           .none = a->none,
                           .absent = a->absent,
                           .scalar = a->scalar,
                           .i = a->i,
                           .f = a->f,
                           .s = (char *)a->s,
                           .n = a->n};
        memcpy(to->ints, a->ints, sizeof to->ints);
        memcpy(to->floats, a->floats, sizeof to->floats);
        to->tensor.desc = a->tensor;
    }
    for (int i = 0; i < c->n_outs; i++) r.outs[i].desc = c->outs[i];
    return r;
}

static inline bool is_tensor(const kg_arg *a) { return a->kind == KG_P_TENSOR && !a->none && !a->absent && !a->scalar; }

// What a library does with NaN and infinities is its own affair (oneDNN's relu of NaN is 0).
static inline bool has_specials(const kg_case *c) {
    bool special = false;
    for (int i = 0; i < c->n_args; i++) {
        const kg_fill *f = &c->args[i].fill;
        special |= f->kind == KG_FILL_SPECIALS || (f->kind == KG_FILL_CONST && !isfinite(f->a));
    }
    return special;
}

// A tensor's storage in host memory, filled; freed by the caller.
static inline void *stored(const kg_tensor *t, const kg_fill *f, uint64_t seed) {
    const size_t bytes = kg_span_bytes(t);
    void *data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    kg_fill_range(f, t->dtype, seed, 0, (int64_t)(bytes / kg_dtype_size(t->dtype)), data);
    return data;
}

// The best rung that the first output reaches, every element looked at.
static inline kg_precision answer_rung(const kg_call *call, const void *out) {
    const kg_tensor *desc = &call->c->outs[0];
    reference ref = reference_make(desc->dtype, (size_t)kg_numel(desc));
    int64_t *index = malloc((ref.n + 1) * sizeof *index);
    double *got = malloc((ref.n + 1) * sizeof *got);
    const kg_view view = {*desc, out};
    for (size_t i = 0; i < ref.n; i++) index[i] = (int64_t)i;
    kg_ref r = {0, ref.n, index, ref.value, ref.local, ref.acc};
    kg_precision p = kg_oracle(call, &r) ? KG_PREC_NONE : KG_PREC_FP64;
    for (size_t i = 0; i < ref.n; i++) {
        got[i] = kg_at(&view, (int64_t)i);
        const double v = ref.value[i];
        // What check.c lets pass besides the bound.
        if ((isnan(v) && isnan(got[i])) || got[i] == v ||
            (isinf(got[i]) && fabs(v) >= 0.999 * kg_dtype_max(desc->dtype)))
            got[i] = ref.value[i] = 0;
    }
    if (p != KG_PREC_NONE && (desc->dtype != KG_F64 || misses(&ref, got, KG_PREC_FP64))) p = rung(&ref, got);
    free(index);
    free(got);
    reference_free(&ref);
    return p;
}

#endif
