#include "task/folds.h"

enum { CHUNK = 1024 };

// ---- cases ------------------------------------------------------------------------------------------
kg_case *kg_over(kg_cases *b, kg_case *c, int n, const int64_t *dims) {
    if (n && kg_case_arg(c, b->task, "dim")->kind == KG_P_INT) {
        kg_set_int(c, b->task, "dim", dims[0]);
        return c;
    }
    kg_set_ints(c, b->task, "dim", n, dims);
    c->args[kg_param_index(b->task, "dim")].scalar = n == 1;
    return c;
}

static kg_case *kept(kg_cases *b, kg_case *c) {
    kg_set_bool(c, b->task, "keepdim", true);
    return c;
}

#define F32(...) kg_tensor_contiguous(KG_F32, KG_SHAPE(__VA_ARGS__))
static void quick(kg_cases *b, const kg_fold_family *f) {
    static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
    f->add(b, F32(5));
    f->add(b, F32(1));
    f->add(b, F32(1025));
    f->add(b, F32(33, 65));
    f->add(b, F32(65537));
    kg_over(b, f->add(b, F32(33, 65)), KG_INTS(0));
    kg_over(b, f->add(b, F32(33, 65)), KG_INTS(1));
    kept(b, kg_over(b, f->add(b, F32(33, 65)), KG_INTS(-1)));
    kept(b, kg_over(b, f->add(b, F32(33, 65)), KG_INTS(-2)));
    kg_over(b, f->add(b, F32(5, 7, 11)), KG_INTS(1));
    if (f->tuples) kg_over(b, f->add(b, F32(5, 7, 11)), KG_INTS(0, 2));
    if (f->tuples) kept(b, kg_over(b, f->add(b, F32(5, 7, 11)), KG_INTS(-1, 1)));
    if (f->tuples) kg_over(b, f->add(b, F32(9, 31)), 0, NULL);  // () is all of them, as None is
    if (f->empty) kg_over(b, f->add(b, F32(0, 5)), KG_INTS(0));
    kg_over(b, f->add(b, F32(0, 5)), KG_INTS(1));
    kg_over(b, f->add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1)), KG_INTS(1));
    f->add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1));
    kg_over(b, f->add(b, kg_tensor_stepped(KG_F32, KG_SHAPE(9, 257), 3)), KG_INTS(-1));
    kg_over(b, f->add(b, F32(3, 4099)), KG_INTS(1));
    kg_over(b, f->add(b, F32(4099, 3)), KG_INTS(1));
    kg_over(b, f->add(b, F32(1031, 5)), KG_INTS(0));
    f->add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(17, 257)));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        kg_over(b, f->add(b, kg_tensor_contiguous(others[i], KG_SHAPE(17, 257))), KG_INTS(1));
    if (f->out)
        kg_set_tensor(kg_over(b, f->add(b, F32(9, 43)), KG_INTS(0)), b->task, "out", KG_F32, KG_SHAPE(43),
                      (kg_fill){0});
}

static void full(kg_cases *b, const kg_fold_family *f) {
    static const int64_t lengths[] = {2, 31, 255, 257, 4096, 1048577};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        f->add(b, kg_tensor_contiguous(KG_F32, 1, &lengths[i]));
    f->add(b, kg_tensor_contiguous(KG_F32, 0, NULL));
    kg_over(b, f->add(b, F32(2, 3, 4, 5, 6)), KG_INTS(-3));
    if (f->tuples) kg_over(b, f->add(b, F32(2, 3, 4, 5, 6)), KG_INTS(-4, 3));
    if (f->tuples) kept(b, f->add(b, F32(9, 31)));
    kg_over(b, f->add(b, kg_tensor_expanded(KG_F32, KG_SHAPE(19, 129), 0)), KG_INTS(1));
    kg_over(b, f->add(b, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2)), KG_INTS(1));
    kg_over(b, f->add(b, kg_tensor_contiguous(KG_F16, KG_SHAPE(5, 4099))), KG_INTS(1));
    kg_over(b, f->add(b, kg_tensor_contiguous(KG_BF16, KG_SHAPE(43, 129))), KG_INTS(0));
    kg_over(b, f->add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(5, 65537))), KG_INTS(1));
}
#undef F32

void kg_fold_cases(kg_cases *b, const kg_fold_family *f) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        quick(b, f);
        if (b->level == KG_CASES_FULL) full(b, f);
        return;
    }
    static const int cpu[] = {14, 17, 20, 22, 24, 25};
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int i = 0; i < (cuda ? 16 : 6); i++) {
        const int64_t n = (int64_t)1 << (cuda ? 12 + i : cpu[i]);
        f->add(b, kg_tensor_contiguous(KG_F32, 1, &n));
    }
}

int kg_fold_mask(const kg_arg *dim, int ndim) {
    if (dim->kind != KG_P_INT) return kg_reduced_dims(dim, ndim);
    const int d = dim->none ? 0 : kg_wrap_dim(dim->i, ndim);
    return d < 0 ? -1 : dim->none ? (1 << (ndim ? ndim : 1)) - 1 : 1 << d;
}

int kg_fold_infer(const kg_task *t, kg_case *c, const kg_tensor *shape, kg_dtype dtype) {
    const int mask = kg_fold_mask(kg_case_arg(c, t, "dim"), shape->ndim);
    if (mask < 0 || !kg_dtype_is_float(dtype)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_reduced_shape(shape, mask, kg_case_arg(c, t, "keepdim")->i, dtype);
    return 0;
}

double kg_fold_reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return fmax(1, (double)kg_numel(&c->args[0].tensor) / fmax(1, (double)kg_numel(&c->outs[0])));
}

void kg_fold_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special) {
    const double n = (double)kg_numel(&c->args[0].tensor);
    kg_work_map(t, c, w, 0, 0);
    w->ops[kg_plain_unit(c->outs[0].dtype)] = plain * n;
    w->ops[KG_U_SPECIAL] = special * n;
}

kg_view kg_fold_input(const kg_call *call, kg_groups *g) {
    const kg_view in = kg_call_view(call, "input");
    *g = kg_groups_of(&in.desc, kg_fold_mask(kg_call_arg(call, "dim"), in.desc.ndim));
    return in;
}

// ---- a mean -----------------------------------------------------------------------------------------
void kg_mean_add(kg_mean *m, int64_t n, const double *term, const double *local) {
    kg_total_add(&m->terms, term, n);
    for (int64_t k = 0; k < n; k++) m->local += local[k];
}

void kg_mean_put(const kg_mean *m, kg_ref *ref, size_t k, kg_dtype from, kg_dtype to) {
    const double n = (double)m->terms.n, mean = kg_total_value(&m->terms) / n;
    if (!isfinite(mean)) {
        kg_ref_put(ref, k, false, mean, 0, 0, 0);
        return;
    }
    const double coarse = fmax(1, kg_dtype_unit(kg_float_of(from)) / kg_dtype_unit(to));
    kg_ref_put(ref, k, kg_is_half(to), mean, coarse * m->local / n + 2 * fabs(mean),
               coarse * kg_total_local(&m->terms) / n + fabs(mean), kg_total_acc(&m->terms) / n);
}

// ---- a standard deviation -----------------------------------------------------------------------------
static double mean_of(const double *y, int64_t n) {
    double s = 0;
    for (int64_t k = 0; k < n; k++) s += y[k];
    return s / (double)n;
}

static void add_part(kg_deviation *s, int64_t n, const double *y, const double *local, const double *acc) {
    double offset[CHUNK], square[CHUNK];
    if (s->y.n == 0) s->centre = mean_of(y, n);
    for (int64_t k = 0; k < n; k++) {
        const double d = y[k] - s->centre, size = fabs(d);
        offset[k] = d;
        square[k] = d * d;
        s->rounding2 += square[k] * (fabs(s->centre) + size) * (fabs(s->centre) + size);
        s->stored += size * fabs(y[k]);
        if (local) s->local += size * local[k];
        if (acc) s->acc += size * acc[k];
    }
    kg_total_add(&s->y, y, n);
    kg_total_add(&s->offset, offset, n);
    kg_total_add(&s->square, square, n);
}

void kg_deviation_add(kg_deviation *s, int64_t n, const double *y, const double *local, const double *acc) {
    for (int64_t k = 0; k < n; k += CHUNK)
        add_part(s, n - k < CHUNK ? n - k : CHUNK, y + k, local ? local + k : NULL, acc ? acc + k : NULL);
}

void kg_deviation_put(const kg_deviation *s, int64_t correction, kg_ref *ref, size_t k, kg_dtype to) {
    const double n = (double)s->y.n, dof = fmax(0, n - (double)correction), u = to == KG_F64 ? 0x1p-53 : 0x1p-24;
    const double shift = kg_total_value(&s->offset) / n, m2 = kg_total_value(&s->square) - n * shift * shift;
    const double sd = n > 0 ? sqrt(fmax(0, m2) / dof) : NAN;
    if (!isfinite(sd) || isnan(m2)) {
        kg_ref_put(ref, k, false, isnan(m2) ? NAN : sd, 0, 0, 0);
        return;
    }
    const double mean_acc = kg_total_acc(&s->y) / n + fabs(s->centre + shift);
    const double m2_acc = kg_total_acc(&s->square) + 2 * KG_LAMBDA * sqrt(s->rounding2) +
                          kg_welford_acc(s->y.n, s->centre + shift, fmax(0, m2)) + 2 * s->acc;
    const double dv = (m2_acc + n * mean_acc * mean_acc * u) / dof;
    if (sd > 0)
        kg_ref_put(ref, k, kg_is_half(to), sd, KG_LAMBDA * sd + s->local / (sd * dof), sd + s->stored / (sd * dof),
                   fmin(dv / (2 * sd), sqrt(dv / u)));
    else kg_ref_put(ref, k, kg_is_half(to), 0, 0, 0, sqrt(dv / u));
}

// ---- GELU ---------------------------------------------------------------------------------------------
// |x gelu'(x)| <= 1.13 |x|; the rest is tail_slack of functions.c.
double kg_gelu_of(double x, bool tanh_form, double *local) {
    const double z = 1.59576912160573071176 * (x + 0.044715 * x * x * x);  // 2 sqrt(2/pi) (...)
    const double y = isinf(x) ? (x > 0 ? x : NAN) : x * (tanh_form ? kg_sigmoid(z) : kg_normal_cdf(x));
    *local = KG_LAMBDA * (1.13 * fabs(x) + fabs(y)) + 8 * fmin(fabs(x), 16);
    return y;
}
