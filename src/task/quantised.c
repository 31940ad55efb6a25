#include "task/quantised.h"

#include <stdlib.h>

typedef struct {
    kg_maxima side[2];  // of each matrix
} maxima;

void *kg_quantised_prepare(const kg_call *call) {
    maxima *m = calloc(1, sizeof *m);
    int failed = !m;
    for (int i = 0; i < 2 && !failed; i++)
        failed = kg_maxima_of(&m->side[i], &call->args[i], 3 << (call->args[i].desc.ndim - 2));
    if (!failed) return m;
    kg_quantised_release(m);
    return NULL;
}

void kg_quantised_release(void *prepared) {
    maxima *m = prepared;
    for (int i = 0; m && i < 2; i++) kg_maxima_free(&m->side[i]);
    free(m);
}

// ---- oracle ---------------------------------------------------------------------------------------
typedef struct {
    const kg_view *v;
    const kg_maxima *m;
    kg_grain grain;
    const kg_grid *grid;
    kg_quants q;
    double *x;
    int64_t at;  // where the line in q starts; -1: none
} side;

static int side_make(side *s, int64_t n) {
    s->at = -1;
    s->x = malloc(((size_t)n + 1) * sizeof *s->x);
    return kg_quants_make(&s->q, n) || !s->x ? -1 : 0;
}

static void quantise(side *s, int64_t at, int64_t step, int64_t n, int64_t matrix) {
    if (s->at == at) return;
    s->at = at;
    kg_load_line(s->v, at, step, n, s->x, 1);
    kg_quantise(&s->q, s->x, NULL, n, kg_scale_from(s->m, matrix, s->x, n, s->grain), 0, s->grid);
}

static void product(const kg_call *call, side *s, kg_ref *ref) {
    const kg_tensor *out = &call->c->outs[0];
    const int64_t area = out->shape[out->ndim - 2] * out->shape[out->ndim - 1];
    for (size_t k = 0; k < ref->n; k++) {
        const kg_matmul_at at = kg_matmul_locate(&s[0].v->desc, &s[1].v->desc, out, ref->index[k]);
        quantise(&s[0], at.a, at.a_step, at.k, ref->index[k] / area);
        quantise(&s[1], at.b, at.b_step, at.k, ref->index[k] / area);
        const kg_quants *a = &s[0].q, *b = &s[1].q;
        const kg_quant_value v =
            call->reading->choice[3] ? kg_float_product(a, b, at.k) : kg_dequantise(a, b, kg_quant_dot(a, b, at.k));
        ref->value[k] = v.value;
        ref->local[k] = v.arithmetic;
        ref->acc[k] = KG_ABSOLUTE(v.slack);
    }
}

int kg_quantised_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view *a = &call->args[0], *b = &call->args[1];
    const int *choice = call->reading->choice;
    if (choice[1] == KG_NOT_QUANTISED) {
        kg_matmul_ref(a, b, &call->c->outs[0], ref);
        for (size_t k = 0; k < ref->n; k++) ref->local[k] *= KG_ANY_PRECISION;
        return 0;
    }
    const maxima *m = call->prepared;
    const kg_grid *grid = &kg_int8_grids[choice[0]];
    side s[2] = {{.v = a, .m = &m->side[0], .grain = (kg_grain)choice[1], .grid = grid},
                 {.v = b, .m = &m->side[1], .grain = (kg_grain)choice[2], .grid = grid}};
    const int64_t n = a->desc.shape[a->desc.ndim - 1];
    const int failed = side_make(&s[0], n) + side_make(&s[1], n);
    if (!failed) product(call, s, ref);
    for (int i = 0; i < 2; i++) {
        kg_quants_free(&s[i].q);
        free(s[i].x);
    }
    return failed ? -1 : 0;
}

// ---- shapes, work -----------------------------------------------------------------------------------
int kg_quantised_infer(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *x = &c->args[0].tensor, *w = &c->args[1].tensor;
    c->n_outs = 1;
    if (x->ndim != w->ndim || x->ndim < 2 || x->dtype != KG_F32 || w->dtype != KG_F32) return -1;
    return kg_matmul_shape(x, w, &c->outs[0]);
}

void kg_int8_work(const kg_task *t, const kg_case *c, kg_work *w, double terms) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[KG_U_INT8] = 2 * (double)kg_numel(&c->outs[0]) * terms;
}

static double terms(const kg_case *c) {
    const kg_tensor *a = &c->args[0].tensor;
    return (double)a->shape[a->ndim - 1];
}

void kg_quantised_work(const kg_task *t, const kg_case *c, kg_work *w) { kg_int8_work(t, c, w, terms(c)); }

double kg_quantised_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, 8 * terms(c));
}
