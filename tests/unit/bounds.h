// For tests of oracles: a case made by hand, its inputs, the oracle's answer, and the rung that an answer reaches.
#ifndef KG_TEST_BOUNDS_H
#define KG_TEST_BOUNDS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "task/products.h"

typedef struct {
    kg_dtype dtype;
    size_t n;
    double *value, *local, *acc;
} reference;

static inline reference reference_make(kg_dtype t, size_t n) {
    return (reference){t, n, calloc(n + 1, 8), calloc(n + 1, 8), calloc(n + 1, 8)};
}
static inline void reference_free(reference *r) { free(r->value), free(r->local), free(r->acc); }

static inline double rung_unit(kg_precision p, kg_dtype t) {
    static const double units[] = {0x1p-53, 0x1p-24, 0x1p-11, 0x1p-8, 0x1p-4};
    return p == KG_PREC_FP16 && t == KG_F16 ? 0x1p-11 : units[p];
}

// How many elements of got miss the bound of rung p (task.h's rule).
static inline size_t misses(const reference *r, const double *got, kg_precision p) {
    const double u = rung_unit(p, r->dtype), u_acc = p == KG_PREC_FP64 ? 0x1p-53 : 0x1p-24;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const double bound =
            kg_dtype_unit(r->dtype) * fabs(r->value[i]) + u * r->local[i] + u_acc * r->acc[i] + kg_dtype_tiny(r->dtype);
        n += !(fabs(got[i] - r->value[i]) <= bound);
    }
    return n;
}

static inline kg_precision rung(const reference *r, const double *got) {
    for (int p = r->dtype == KG_F32 ? KG_PREC_FP32 : KG_PREC_FP16; p <= KG_PREC_FP8; p++)
        if (misses(r, got, (kg_precision)p) == 0) return (kg_precision)p;
    return KG_PREC_NONE;
}

static inline double rounded(kg_dtype t, double v) {
    unsigned char x[8];
    kg_store(t, x, 0, v);
    return kg_load(t, x, 0);
}

// ---- a case of a task -------------------------------------------------------------------------------
typedef struct {
    const kg_task *t;
    kg_cases cases;
    kg_case *c;
    kg_call calls[4];
    float *values[4][KG_MAX_ARGS];  // float32 tensors of each call
    reference ref;
} trial;

static inline trial trial_start(const char *task) {
    const kg_task *t = kg_task_find(task);
    trial r = {.t = t, .cases = {.task = t, .level = KG_CASES_QUICK}};
    r.c = kg_case_add(&r.cases);
    return r;
}

// Fills the inputs (float32, dense) and asks the oracle.
static inline void trial_run(trial *r) {
    assert_int_equal(r->t->infer(r->t, r->c), 0);
    for (int k = 0; k < r->c->calls; k++) {
        r->calls[k] = (kg_call){.task = r->t, .c = r->c, .previous = k ? &r->calls[k - 1] : NULL};
        for (int i = 0; i < r->c->n_args; i++) {
            const kg_arg *a = &r->c->args[i];
            if (a->kind != KG_P_TENSOR || a->none || a->absent || a->scalar) continue;
            const int64_t n = kg_numel(&a->tensor);
            r->values[k][i] = malloc((size_t)n * sizeof(float) + 1);
            kg_fill_range(&a->fill, KG_F32, (uint64_t)(100 * k + i + 1), 0, n, r->values[k][i]);
            r->calls[k].args[i] = (kg_view){a->tensor, r->values[k][i]};
        }
    }
    const kg_tensor *out = r->c->n_outs ? &r->c->outs[0] : &r->c->args[0].tensor;
    r->ref = reference_make(out->dtype, (size_t)kg_numel(out));
    int64_t *index = malloc((r->ref.n + 1) * sizeof *index);
    for (size_t i = 0; i < r->ref.n; i++) index[i] = (int64_t)i;
    kg_ref ref = {0, r->ref.n, index, r->ref.value, r->ref.local, r->ref.acc};
    assert_int_equal(kg_oracle(&r->calls[r->c->calls - 1], &ref), 0);
    free(index);
}

static inline void trial_free(trial *r) {
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < KG_MAX_ARGS; i++) free(r->values[k][i]);
    reference_free(&r->ref);
    kg_cases_free(&r->cases);
}

#endif
