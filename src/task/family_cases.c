// Cases that tasks of one family share.
#include <math.h>

#include "task/families.h"

void kg_timed_sizes(kg_cases *b, kg_dtype t, int tensors,
                    void (*set)(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx),
                    const void *ctx) {
    static const int cpu[] = {14, 17, 20, 22, 23, 24};
    if (b->level == KG_TIMED_CUDA)
        for (int e = 12; e <= 27; e++) set(kg_case_add(b), b->task, t, (int64_t)1 << e, ctx);
    else
        for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++) {
            const int64_t n = (int64_t)1 << cpu[i];
            if ((size_t)n * kg_dtype_size(t) * (size_t)tensors > 256000000u) return;
            set(kg_case_add(b), b->task, t, n, ctx);
        }
}

// Ordinary values in dtype t: integers where it is an integer type.
static kg_fill fill_for(kg_dtype t, kg_fill f) {
    if (kg_dtype_is_float(t)) return f;
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : t == KG_U8 ? KG_INTEGERS(0, 100) : KG_INTEGERS(-100, 100);
}

// ---- one tensor -------------------------------------------------------------------------------------
static void one(kg_cases *b, kg_tensor desc, kg_fill fill) {
    kg_set_strided(kg_case_add(b), b->task, "input", desc, fill);
}
static void one_contiguous(kg_cases *b, kg_dtype t, int ndim, const int64_t *shape, kg_fill fill) {
    one(b, kg_tensor_contiguous(t, ndim, shape), fill);
}

static void with_out(kg_cases *b, kg_dtype t, kg_fill fill) {
    if (!kg_case_arg(kg_case_add(b), b->task, "out")) {
        b->n--;
        return;
    }
    kg_case *c = &b->items[b->n - 1];
    kg_set_tensor(c, b->task, "input", t, KG_SHAPE(3, 43), fill);
    kg_set_tensor(c, b->task, "out", t, KG_SHAPE(3, 43), fill);
}

static void unary_shapes(kg_cases *b, const kg_unary_family *f, kg_dtype t) {
    // Not empty at first: the first call is checked by its values.
    static const int64_t quick[] = {3, 0, 1, 17, 1023, 1025, 65537}, full[] = {2, 31, 255, 257, 4096, 1048577};
    const kg_fill fill = fill_for(t, f->fill);
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) one_contiguous(b, t, 1, &quick[i], fill);
    one_contiguous(b, t, 0, NULL, fill);
    one_contiguous(b, t, KG_SHAPE(2, 3, 5, 7), fill);
    one(b, kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1), fill);
    one(b, kg_tensor_stepped(t, KG_SHAPE(257), 3), fill);
    if (b->level != KG_CASES_FULL) return;
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) one_contiguous(b, t, 1, &full[i], fill);
    one_contiguous(b, t, KG_SHAPE(4, 0, 3), fill);
    one_contiguous(b, t, KG_SHAPE(2, 1, 3, 1, 5, 7), fill);
    one(b, kg_tensor_transposed(t, KG_SHAPE(5, 64, 31), 0, 2), fill);
    one(b, kg_tensor_expanded(t, KG_SHAPE(19, 129), 0), fill);
    one(b, kg_tensor_stepped(t, KG_SHAPE(7, 1000), 2), fill);
}

static void unary_values(kg_cases *b, const kg_unary_family *f, kg_dtype t) {
    one_contiguous(b, t, KG_SHAPE(1027), KG_OUTLIERS(f->fill.kind == KG_FILL_NORMAL ? f->fill.a : 0, 1));
    one_contiguous(b, t, KG_SHAPE(4099), f->wide);
    if (!f->no_specials) one_contiguous(b, t, KG_SHAPE(1024), KG_SPECIALS(0, 2));
}

// Not int32: oneDNN's elementwise functions, which tests hold to every case, make the detour themselves.
static bool beyond_float(kg_dtype t) { return kg_exceeds_float(t) && t != KG_I32; }

static void unary_other(kg_cases *b, const kg_unary_family *f, kg_dtype t) {
    const kg_fill fill = fill_for(t, f->fill);
    one_contiguous(b, t, KG_SHAPE(1025), fill);
    // A detour through float32 loses these.
    if (b->task->infer == kg_infer_same && beyond_float(t)) one_contiguous(b, t, KG_SHAPE(131), KG_BEYOND_FLOAT);
    if (!kg_dtype_is_float(t)) return;
    if (!f->no_specials) one_contiguous(b, t, KG_SHAPE(259), KG_SPECIALS(0, 2));
    if (b->level != KG_CASES_FULL) return;
    one(b, kg_tensor_transposed(t, KG_SHAPE(17, 129), 0, 1), fill);
    one_contiguous(b, t, KG_SHAPE(2049), t == KG_F16 ? KG_LOGSCALE(-12, 3) : f->wide);
}

static void set_input(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    const kg_unary_family *f = ctx;
    kg_set_tensor(c, t, "input", d, 1, &n, f->fill);
}

void kg_unary_cases(kg_cases *b, const kg_unary_family *f) {
    const kg_dtype main = f->dtypes[0];
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, main, 2, set_input, f);
        return;
    }
    unary_shapes(b, f, main);
    unary_values(b, f, main);
    with_out(b, main, f->fill);
    for (const kg_dtype *t = f->dtypes + 1; *t != KG_DTYPES; t++) unary_other(b, f, *t);
}

// ---- NaN ----------------------------------------------------------------------------------------------
static bool given_float(const kg_arg *a) {
    return a->kind == KG_P_TENSOR && !a->none && !a->absent && !a->scalar && kg_dtype_is_float(a->tensor.dtype);
}

static bool never_special(const kg_cases *b, int param) {
    for (size_t k = 0; k < b->n; k++) {
        const kg_arg *a = &b->items[k].args[param];
        if (given_float(a) && !kg_fill_is_finite(&a->fill)) return false;
    }
    return true;
}

// All its tensors hold a few ordinary numbers, float32 where they are floating.
static bool is_plain(const kg_task *t, const kg_case *c) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (a->kind != KG_P_TENSOR || a->none || a->absent || a->scalar) continue;
        const kg_fill_kind f = a->fill.kind;
        if (f != KG_FILL_NORMAL && f != KG_FILL_UNIFORM && f != KG_FILL_INT && f != KG_FILL_CHOICE) return false;
        if (t->params[i].role == KG_OUT_ARG || (given_float(a) && a->tensor.dtype != KG_F32)) return false;
        if (kg_numel(&a->tensor) < 2 || kg_numel(&a->tensor) > 10000) return false;
    }
    return !c->alias_first_out && !c->name;
}

void kg_nan_cases(kg_cases *b) {
    const kg_task *t = b->task;
    const size_t own = b->n;
    if (b->level != KG_CASES_QUICK && b->level != KG_CASES_FULL) return;
    for (int i = 0; t->params[i].name; i++) {
        if (t->params[i].kind != KG_P_TENSOR || t->params[i].role != KG_IN || !never_special(b, i)) continue;
        for (size_t k = 0; k < own; k++) {
            if (!given_float(&b->items[k].args[i]) || !is_plain(t, &b->items[k])) continue;
            kg_case *c = kg_case_add(b);
            *c = b->items[k];
            c->args[i].fill = (kg_fill){KG_FILL_CONST, NAN, 0};
            break;
        }
    }
}

// Long lines one by one, so that the judge looks at all of each: where the largest was missed, one element shows it.
// The last lie below any number that stands for -infinity.
const kg_logits kg_hard_logits[KG_HARD_LOGITS] = {{{65, 3}, KG_LARGE_LOGITS},   {{1, 6000}, KG_LARGE_LOGITS},
                                                  {{1, 6000}, KG_LARGE_LOGITS}, {{1, 6000}, KG_LARGE_LOGITS},
                                                  {{1, 6000}, KG_LARGE_LOGITS}, {{1, 6000}, KG_LARGE_LOGITS},
                                                  {{1, 6000}, KG_LARGE_LOGITS}, {{17, 3}, KG_NORMAL(-1e33, 1e31)}};

void kg_large_logits_cases(kg_cases *b) {
    for (size_t i = 0; i < KG_HARD_LOGITS; i++) {
        kg_case *c = kg_case_add(b);
        kg_set_tensor(c, b->task, "input", KG_F32, 2, kg_hard_logits[i].shape, kg_hard_logits[i].fill);
        kg_set_int(c, b->task, "dim", 1);
    }
}

kg_case *kg_constant_case(kg_cases *b, const char *param, kg_dtype t, double value) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, param, t, KG_SHAPE(131), (kg_fill){KG_FILL_CONST, value, 0});
    return c;
}

bool kg_exceeds_float(kg_dtype t) { return t == KG_F64 || t == KG_I32 || t == KG_I64; }

// ---- several tensors ----------------------------------------------------------------------------------
// Every parameter with the same description.
static kg_case *all_alike(kg_cases *b, const kg_nary_family *f, kg_tensor desc, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    for (const char *const *p = f->params; *p; p++) kg_set_strided(c, b->task, *p, desc, fill);
    return c;
}

// The first parameter with one description, the others with another.
static kg_case *first_and_rest(kg_cases *b, const kg_nary_family *f, kg_tensor first, kg_tensor rest) {
    kg_case *c = kg_case_add(b);
    for (const char *const *p = f->params; *p; p++) {
        const kg_tensor *d = p == f->params ? &first : &rest;
        kg_set_strided(c, b->task, *p, *d, fill_for(d->dtype, f->fill));
    }
    return c;
}

static void nary_broadcast(kg_cases *b, const kg_nary_family *f, kg_dtype t) {
    const kg_tensor matrix = kg_tensor_contiguous(t, KG_SHAPE(33, 65)), row = kg_tensor_contiguous(t, KG_SHAPE(65)),
                    column = kg_tensor_contiguous(t, KG_SHAPE(33, 1)), wide = kg_tensor_contiguous(t, KG_SHAPE(1, 65));
    first_and_rest(b, f, matrix, row);
    first_and_rest(b, f, matrix, column);
    first_and_rest(b, f, column, wide);
    first_and_rest(b, f, row, matrix);
    first_and_rest(b, f, matrix, kg_tensor_contiguous(t, 0, NULL));
    if (b->level != KG_CASES_FULL) return;
    first_and_rest(b, f, kg_tensor_contiguous(t, KG_SHAPE(2, 1, 5, 1)), kg_tensor_contiguous(t, KG_SHAPE(3, 1, 7)));
    first_and_rest(b, f, kg_tensor_contiguous(t, KG_SHAPE(4, 0)), kg_tensor_contiguous(t, KG_SHAPE(4, 1)));
    first_and_rest(b, f, matrix, kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1));
}

static void nary_shapes(kg_cases *b, const kg_nary_family *f, kg_dtype t) {
    static const int64_t quick[] = {17, 0, 1, 1023, 65537}, full[] = {3, 255, 1025, 4096, 1048577};
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        all_alike(b, f, kg_tensor_contiguous(t, 1, &quick[i]), f->fill);
    all_alike(b, f, kg_tensor_contiguous(t, KG_SHAPE(2, 3, 5, 7)), f->fill);
    all_alike(b, f, kg_tensor_transposed(t, KG_SHAPE(33, 65), 0, 1), f->fill);
    first_and_rest(b, f, kg_tensor_stepped(t, KG_SHAPE(257), 3), kg_tensor_contiguous(t, KG_SHAPE(257)));
    nary_broadcast(b, f, t);
    if (b->level != KG_CASES_FULL) return;
    all_alike(b, f, kg_tensor_contiguous(t, 0, NULL), f->fill);
    for (size_t i = 0; i < sizeof full / sizeof *full; i++)
        all_alike(b, f, kg_tensor_contiguous(t, 1, &full[i]), f->fill);
    all_alike(b, f, kg_tensor_expanded(t, KG_SHAPE(19, 129), 0), f->fill);
}

static void nary_values(kg_cases *b, const kg_nary_family *f, kg_dtype t) {
    const kg_tensor d = kg_tensor_contiguous(t, KG_SHAPE(1027));
    all_alike(b, f, d, KG_OUTLIERS(0, 1));
    all_alike(b, f, d, KG_SPECIALS(0, 2));
    all_alike(b, f, d, t == KG_F16 ? KG_LOGSCALE(-7, 7) : KG_LOGSCALE(-30, 30));
}

static void nary_mixed(kg_cases *b, const kg_nary_family *f) {
    static const kg_dtype pairs[][2] = {{KG_F32, KG_F16}, {KG_I64, KG_F32}, {KG_I32, KG_I64}, {KG_F16, KG_BF16}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        first_and_rest(b, f, kg_tensor_contiguous(pairs[i][0], KG_SHAPE(515)),
                       kg_tensor_contiguous(pairs[i][1], KG_SHAPE(515)));
    // A 0-dimensional float64 does not widen a float32 tensor.
    first_and_rest(b, f, kg_tensor_contiguous(KG_F32, KG_SHAPE(129)), kg_tensor_contiguous(KG_F64, 0, NULL));
}

// Neither the values of one parameter, each in turn, nor any sum or product with the others are float32's, and none
// overflows.
static void nary_beyond_float(kg_cases *b, const kg_nary_family *f, kg_dtype t) {
    for (const char *const *beyond = f->params; *beyond; beyond++) {
        kg_case *c = kg_case_add(b);
        for (const char *const *p = f->params; *p; p++)
            kg_set_tensor(c, b->task, *p, t, KG_SHAPE(131),
                          p == beyond ? KG_INTEGERS(16777217, 16777417) : KG_INTEGERS(1, 100));
    }
}

static void nary_numbers(kg_cases *b, const kg_nary_family *f, kg_dtype t) {
    kg_case *c = kg_case_add(b);
    kg_set_tensor(c, b->task, f->params[0], t, KG_SHAPE(1025), fill_for(t, f->fill));
    for (const char *const *p = f->params + 1; *p; p++) kg_set_number(c, b->task, *p, f->number);
}

static void nary_with_out(kg_cases *b, const kg_nary_family *f, kg_dtype t) {
    kg_case *c = all_alike(b, f, kg_tensor_contiguous(t, KG_SHAPE(3, 43)), f->fill);
    if (kg_case_arg(c, b->task, "out")) kg_set_tensor(c, b->task, "out", t, KG_SHAPE(3, 43), f->fill);
}

static void set_all(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    const kg_nary_family *f = ctx;
    for (const char *const *p = f->params; *p; p++) kg_set_tensor(c, t, *p, d, 1, &n, f->fill);
}

void kg_nary_cases(kg_cases *b, const kg_nary_family *f) {
    const kg_dtype main = f->dtypes[0];
    int tensors = 1;
    for (const char *const *p = f->params; *p; p++) tensors++;
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, main, tensors, set_all, f);
        return;
    }
    nary_shapes(b, f, main);
    nary_values(b, f, main);
    nary_with_out(b, f, main);
    if (f->mixed) {
        nary_numbers(b, f, main);
        nary_mixed(b, f);
    }
    for (const kg_dtype *t = f->dtypes + 1; *t != KG_DTYPES; t++) {
        all_alike(b, f, kg_tensor_contiguous(*t, KG_SHAPE(1025)), fill_for(*t, f->fill));
        if (beyond_float(*t)) nary_beyond_float(b, f, *t);
        if (f->mixed && (b->level == KG_CASES_FULL || *t == KG_I32)) nary_numbers(b, f, *t);
        if (b->level == KG_CASES_FULL)
            first_and_rest(b, f, kg_tensor_contiguous(*t, KG_SHAPE(9, 31)), kg_tensor_contiguous(*t, KG_SHAPE(31)));
    }
}
