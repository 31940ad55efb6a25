#include "task/pair_losses.h"

#include <string.h>

static const kg_arg *named(const kg_task *t, const kg_case *c, const char *name) { return kg_case_arg(c, t, name); }

static int broadcast(const kg_task *t, const kg_case *c, kg_tensor *out) {
    return kg_broadcast(&named(t, c, "input")->tensor, &named(t, c, "target")->tensor, out);
}

// ---- cases ------------------------------------------------------------------------------------------
kg_case *kg_pair_case(kg_cases *b, const kg_pair_family *f, kg_tensor input, kg_tensor target, const char *reduction) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, f->input);
    kg_set_strided(c, b->task, "target", target, f->target);
    if (reduction) kg_set_str(c, b->task, "reduction", reduction);
    return c;
}
static void alike(kg_cases *b, const kg_pair_family *f, kg_tensor d, const char *reduction) {
    kg_pair_case(b, f, d, d, reduction);
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b, const kg_pair_family *f) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    alike(b, f, F32(3), NULL);
    alike(b, f, F32(1), NULL);
    for (const char *const *r = f->reductions; *r; r++) {
        alike(b, f, F32(1025), *r);
        alike(b, f, F32(33, 65), *r);
        alike(b, f, kg_tensor_contiguous(KG_F32, 0, NULL), *r);
        kg_pair_case(b, f, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1), F32(33, 65), *r);
        kg_pair_case(b, f, F32(9, 129), kg_tensor_stepped(KG_F32, KG_SHAPE(9, 129), 3), *r);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            alike(b, f, kg_tensor_contiguous(others[i], KG_SHAPE(17, 61)), *r);
    }
    alike(b, f, F32(65537), NULL);
    alike(b, f, F32(2, 3, 5, 7), NULL);
    alike(b, f, F32(0), "sum");
    alike(b, f, F32(0, 5), "none");
    alike(b, f, F32(0), "mean");  // of nothing: NaN
    if (!f->broadcast) return;
    kg_pair_case(b, f, F32(33, 65), F32(65), "none");
    kg_pair_case(b, f, F32(33, 1), F32(1, 65), NULL);
    kg_pair_case(b, f, F32(33, 65), F32(33, 1), "none");
    kg_pair_case(b, f, F32(65), F32(33, 65), "sum");
}

static void full(kg_cases *b, const kg_pair_family *f) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        alike(b, f, kg_tensor_contiguous(KG_F32, 1, &lengths[i]), NULL);
    alike(b, f, F32(3, 100003), NULL);
    alike(b, f, kg_tensor_contiguous(KG_F16, KG_SHAPE(10007)), "mean");
    alike(b, f, kg_tensor_contiguous(KG_BF16, KG_SHAPE(7, 10007)), "mean");
    alike(b, f, kg_tensor_contiguous(KG_F64, KG_SHAPE(100003)), NULL);
    kg_pair_case(b, f, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0), F32(19, 129), "none");
}
#undef F32

int kg_pair_cases(kg_cases *b, const kg_pair_family *f) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b, f);
        if (b->level == KG_CASES_FULL) full(b, f);
        return 0;
    }
    static const int cpu[] = {14, 17, 20, 22, 24};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 12 : 5); i++) {
        const int64_t n = (int64_t)1 << (cuda ? 12 + i : cpu[i]);
        alike(b, f,
              f->row ? kg_tensor_contiguous(KG_F32, KG_SHAPE(n / f->row, f->row))
                     : kg_tensor_contiguous(KG_F32, KG_SHAPE(n)),
              NULL);
    }
    return 0;
}

int kg_pair_infer(const kg_task *t, kg_case *c) {
    kg_tensor all;
    if (broadcast(t, c, &all)) return -1;
    all.dtype = kg_promote(named(t, c, "input")->tensor.dtype, named(t, c, "target")->tensor.dtype);
    if (!kg_dtype_is_float(all.dtype)) return -1;
    c->n_outs = 1;
    c->outs[0] = strcmp(named(t, c, "reduction")->s, "none") == 0 ? all : kg_tensor_contiguous(all.dtype, 0, NULL);
    return 0;
}

// ---- work -------------------------------------------------------------------------------------------
static double pairs(const kg_task *t, const kg_case *c) {
    kg_tensor all;
    return broadcast(t, c, &all) ? 0 : (double)kg_numel(&all);
}

double kg_pair_reach(const kg_task *t, const kg_case *c) {
    return fmax(1, pairs(t, c) / fmax(1, (double)kg_numel(&c->outs[0])));
}

void kg_pair_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special) {
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = plain * pairs(t, c);
    w->ops[KG_U_SPECIAL] = special * pairs(t, c);
}

// ---- oracle -----------------------------------------------------------------------------------------
typedef struct {
    kg_view x, y, w;  // broadcast
    bool direct, weighted;
    double share;  // of a term in the mean
    kg_pair_fn f;
    const void *ctx;
} terms;

static kg_loss_term term(int64_t i, void *ctx) {
    const terms *t = ctx;
    const double x = t->direct ? kg_at_offset(&t->x, i) : kg_at(&t->x, i),
                 y = t->direct ? kg_at_offset(&t->y, i) : kg_at(&t->y, i), w = t->weighted ? kg_at(&t->w, i) : 1;
    const kg_point p = t->f(x, y, w, t->ctx);
    return (kg_loss_term){.value = p.value, .local = p.local, .weight = t->share};
}

int kg_pair_oracle(const kg_call *call, kg_ref *ref, kg_pair_fn f, const void *ctx) {
    kg_tensor all;
    if (broadcast(call->task, call->c, &all)) return -1;
    const kg_view x = kg_call_view(call, "input"), y = kg_call_view(call, "target");
    const kg_arg *reduction = kg_call_arg(call, "reduction");
    terms t = {.x = kg_view_expand(&x, &all), .y = kg_view_expand(&y, &all), .share = 1, .f = f, .ctx = ctx};
    t.direct = kg_is_contiguous(&t.x.desc) && kg_is_contiguous(&t.y.desc);
    if (kg_case_arg(call->c, call->task, "weight") && kg_call_has(call, "weight")) {
        const kg_view w = kg_call_view(call, "weight");
        t.weighted = true;
        t.w = kg_view_expand(&w, &all);
    }
    const double batch = x.desc.ndim ? (double)x.desc.shape[0] : 1;
    if (strcmp(reduction->s, "batchmean") == 0) t.share = batch / (double)kg_numel(&all);
    kg_loss_ref(ref, kg_reduction_of(reduction), false, kg_numel(&all), term, &t);
    return 0;
}
