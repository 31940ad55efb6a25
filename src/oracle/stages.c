#include "oracle/stages.h"

#include <stdlib.h>

#include "oracle/norm.h"

kg_rung kg_rung_of(const kg_task *t, kg_dtype d) {
    const kg_precision p = kg_required_precision(t, d);
    return (kg_rung){kg_precision_unit(p, d), kg_accumulation_unit(p), kg_is_half(d)};
}

double kg_term_error(const kg_rung *r, kg_term x) { return r->u * x.local + r->u_acc * x.acc; }

// ---- one value --------------------------------------------------------------------------------------
// What computing a value rounds, `size` units: float32's in half precision and around tf32's products.
static kg_term rounded(const kg_rung *r, kg_term x, double size) {
    if (r->half || r->u > r->u_acc) x.acc += size;
    else x.local += size;
    return x;
}

kg_term kg_term_input(const kg_rung *r, double v) {
    return r->half ? kg_term_exact(v) : rounded(r, kg_term_exact(v), fabs(v));
}

kg_term kg_term_number(const kg_rung *r, double v) { return rounded(r, kg_term_exact(v), fabs(v)); }

kg_term kg_term_stored(const kg_rung *r, kg_term x) {
    if (r->half) x.local += fabs(x.value);
    return x;
}

kg_term kg_term_add(const kg_rung *r, kg_term a, kg_term b) {
    const double v = a.value + b.value;
    return rounded(r, (kg_term){v, a.local + b.local, a.acc + b.acc}, fabs(v));
}

kg_term kg_term_sub(const kg_rung *r, kg_term a, kg_term b) {
    b.value = -b.value;
    return kg_term_add(r, a, b);
}

// (a + da)(b + db) - ab = (b + db) da + a db.
kg_term kg_term_mul(const kg_rung *r, kg_term a, kg_term b) {
    const double v = a.value * b.value, by = fabs(b.value) + kg_term_error(r, b), size = fabs(a.value);
    return rounded(r, (kg_term){v, by * a.local + size * b.local, by * a.acc + size * b.acc}, fabs(v));
}

// (a + da)/(b + db) - q = (da - q db)/(b + db).
kg_term kg_term_div(const kg_rung *r, kg_term a, kg_term b) {
    const double v = a.value / b.value, size = fabs(v), over = fabs(b.value) - kg_term_error(r, b);
    if (!(over > 0)) return (kg_term){v, INFINITY, INFINITY};  // b may be 0 as well
    return rounded(r, (kg_term){v, (a.local + size * b.local) / over, (a.acc + size * b.acc) / over}, 4 * size);
}

kg_term kg_term_scale(kg_term x, double factor) {
    return (kg_term){x.value * factor, x.local * fabs(factor), x.acc * fabs(factor)};
}

// In half precision a kernel may store the product before the bias is added, and the sum once more.
kg_term kg_term_affine(const kg_rung *r, kg_term x, double weight, double bias, bool any) {
    if (!any) return x;
    const double size = fabs(x.value * weight), y = x.value * weight + bias;
    kg_term t = {y, fabs(weight) * x.local, fabs(weight) * x.acc};
    if (r->half) t.local += size + fabs(y);
    return rounded(r, t, size + fabs(bias) + fabs(y));
}

kg_term kg_term_cast(const kg_rung *from, const kg_rung *to, kg_term x) {
    return (kg_term){x.value, x.local * (from->u / to->u), x.acc * (from->u_acc / to->u_acc)};
}

// How far f moves when x does by e. A side on which f has no value does not count: a task's cases keep away from the
// ends of f's domain.
static double moved(double v, double x, double e, kg_point (*f)(double x, const void *ctx), const void *ctx) {
    const double up = fabs(f(x + e, ctx).value - v), down = fabs(f(x - e, ctx).value - v);
    return isnan(up) ? (isnan(down) ? 0 : down) : isnan(down) ? up : fmax(up, down);
}

kg_term kg_term_map(const kg_rung *r, kg_term x, kg_point (*f)(double x, const void *ctx), const void *ctx) {
    const kg_point p = f(x.value, ctx);
    if (!isfinite(x.value)) return kg_term_exact(p.value);
    const double e = kg_term_error(r, x);
    const double slope = e > 0 && isfinite(e) ? moved(p.value, x.value, e, f, ctx) / e : 0;
    return rounded(r, (kg_term){p.value, slope * x.local, slope * x.acc}, p.local);
}

// Kernels that fold the constants into x * scale + shift cancel what the subtraction would have.
static double normalising(double z, double by, double x, double mean) {
    return KG_LAMBDA * fabs(z) + 2 * by * (fabs(x) + fabs(mean));
}

kg_term kg_term_normalise(const kg_rung *r, kg_term x, double mean, double spread2) {
    const double by = 1 / sqrt(spread2), z = (x.value - mean) * by;
    return rounded(r, (kg_term){z, by * x.local, by * x.acc}, normalising(z, by, x.value, mean));
}

void kg_term_put(kg_ref *ref, size_t k, kg_term x) {
    const bool finite = isfinite(x.value);
    ref->value[k] = x.value;
    ref->local[k] = finite ? x.local : 0;
    ref->acc[k] = finite ? x.acc : 0;
}

// ---- a block of values --------------------------------------------------------------------------------
void kg_stage_map(const kg_rung *r, kg_stage *s, kg_point (*f)(double x, const void *ctx), const void *ctx) {
    for (int64_t i = 0; i < s->n; i++) s->at[i] = kg_term_map(r, s->at[i], f, ctx);
}

void kg_stage_stored(const kg_rung *r, kg_stage *s) {
    for (int64_t i = 0; i < s->n; i++) s->at[i] = kg_term_stored(r, s->at[i]);
}

kg_term kg_stage_sum(const kg_rung *r, const kg_stage *s) {
    (void)r;
    kg_sum_t sum = {0};
    double local = 0, acc = 0;
    for (int64_t i = 0; i < s->n; i++) {
        kg_sum_add(&sum, s->at[i].value);
        local += s->at[i].local;
        acc += s->at[i].acc;
    }
    return (kg_term){kg_sum_value(&sum), local, acc + kg_sum_acc(&sum)};
}

kg_term kg_stage_mean(const kg_rung *r, const kg_stage *s) {
    const kg_term sum = kg_stage_sum(r, s);
    const double n = (double)s->n, v = sum.value / n;
    return rounded(r, (kg_term){v, sum.local / n, sum.acc / n}, 2 * fabs(v));
}

kg_term kg_stage_dot(const kg_rung *r, const kg_stage *a, const kg_stage *b) {
    kg_sum_t sum = {0};
    double local = 0, acc = 0, path = 0, largest = 0;
    for (int64_t i = 0; i < a->n; i++) {
        const double x = a->at[i].value, y = b->at[i].value;
        kg_dot_add(&sum, x, y);
        const double by = fabs(y) + kg_term_error(r, b->at[i]), size = fabs(x);
        local += by * a->at[i].local + size * b->at[i].local;
        acc += by * a->at[i].acc + size * b->at[i].acc;
        path += fabs(sum.hi);
        largest = fmax(largest, fabs(x * y));
    }
    const double v = kg_sum_value(&sum), spread = sqrt(sum.square);
    if (a->n > 1) acc += kg_sum_acc(&sum) + path / 8;
    if (r->u > r->u_acc && !r->half) local += 4 * spread + 2 * largest + 2 * fabs(v);
    return rounded(r, (kg_term){v, local, acc}, spread);
}

// d norm = sum x e / norm, and never more than the norm of e.
kg_term kg_stage_norm2(const kg_rung *r, const kg_stage *s) {
    kg_sum_t squares = {0};
    double local = 0, acc = 0, local2 = 0, acc2 = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        kg_dot_add(&squares, x.value, x.value);
        local += fabs(x.value) * x.local;
        acc += fabs(x.value) * x.acc;
        local2 += x.local * x.local;
        acc2 += x.acc * x.acc;
    }
    const double norm = sqrt(kg_sum_value(&squares));
    kg_term v = {norm, sqrt(local2), sqrt(acc2)};
    if (norm > 0) {
        v.local = fmin(v.local, local / norm);
        v.acc = fmin(v.acc, acc / norm) + kg_sum_acc(&squares) / (2 * norm);
    }
    return rounded(r, v, 4 * norm);
}

kg_term kg_stage_max(const kg_rung *r, const kg_stage *s) {
    kg_term most = {-INFINITY, 0, 0};
    double least = -INFINITY;  // what the largest is at least
    for (int64_t i = 0; i < s->n; i++) {
        const double v = s->at[i].value, e = kg_term_error(r, s->at[i]);
        if (!(v <= most.value) && !isnan(most.value)) most.value = v;
        if (v - e > least) least = v - e;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        if (!(x.value + kg_term_error(r, x) >= least)) continue;
        most.local = fmax(most.local, x.local);
        most.acc = fmax(most.acc, x.acc);
    }
    return most;
}

// A term t = |x|^p moves as far as |x| +- e says, their sum by all of that, and its root as far as the sum. pow()
// rounds as kg_power_roundings() says.
static double farthest(double v, double up, double down) { return fmax(up - v, v - down); }

kg_term kg_stage_p_norm(const kg_rung *r, const kg_stage *s, double p) {
    kg_sum_t powers = {0};
    kg_term sum = {0}, most = {0};
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        const double size = fabs(x.value), e = kg_term_error(r, x), t = pow(size, p);
        if (!(size <= most.value) && !isnan(most.value)) most.value = size;
        most.local = fmax(most.local, x.local), most.acc = fmax(most.acc, x.acc);
        const double by = e > 0 ? farthest(t, pow(size + e, p), pow(fmax(0, size - e), p)) / e : 0;
        kg_sum_add(&powers, t);
        sum = rounded(r, (kg_term){0, sum.local + by * x.local, sum.acc + by * x.acc},
                      t > 0 ? t * kg_power_roundings(p, size) : 0);
    }
    if (isinf(p)) return most;
    sum.value = kg_sum_value(&powers), sum.acc += kg_sum_acc(&powers);
    const double e = kg_term_error(r, sum), v = pow(sum.value, 1 / p);
    const double by = e > 0 ? farthest(v, pow(sum.value + e, 1 / p), pow(fmax(0, sum.value - e), 1 / p)) / e : 0;
    return rounded(r, (kg_term){v, by * sum.local, by * sum.acc}, v > 0 ? v * kg_power_roundings(1 / p, sum.value) : 0);
}

// ---- softmax ------------------------------------------------------------------------------------------
typedef struct {
    double largest, sum, sum_acc,
        spread;         // of exp(x - largest); spread: mean of largest - x, weighted with the softmax
    double local, acc;  // mean of the errors, weighted so
    double most;        // and the largest
} soft;

// (exp(e) - 1) / e or a little more.
static double bent(double e) { return e < 1e-3 ? 1 + e : expm1(e) / e; }

// log sum exp(x + e) rises by log sum y exp(e) when every x does by its e, and falls by no more than sum y e (Jensen).
static double rise(const kg_rung *r, const kg_stage *s, const soft *m) {
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double y = exp(s->at[i].value - m->largest) / m->sum;
        if (y > 0) sum += y * expm1(kg_term_error(r, s->at[i]));
    }
    return fmin(log1p(sum), m->most);
}

static soft soft_of(const kg_rung *r, const kg_stage *s) {
    soft m = {.largest = -INFINITY};
    for (int64_t i = 0; i < s->n; i++)
        if (!(s->at[i].value <= m.largest) && !isnan(m.largest)) m.largest = s->at[i].value;
    kg_sum_t sum = {0};
    for (int64_t i = 0; i < s->n; i++) {
        const double d = s->at[i].value - m.largest, term = exp(d);
        kg_sum_add(&sum, term);
        if (!(term > 0)) continue;  // an infinity's errors may be infinite
        m.spread -= term * d;
        m.local += term * s->at[i].local;
        m.acc += term * s->at[i].acc;
        m.most = fmax(m.most, kg_term_error(r, s->at[i]));
    }
    m.sum = kg_sum_value(&sum), m.sum_acc = kg_sum_acc(&sum);
    m.spread /= m.sum, m.local /= m.sum, m.acc /= m.sum;
    const double mean = r->u * m.local + r->u_acc * m.acc;
    const double by = m.most < 1e-3 ? 1 + m.most : mean > 0 ? fmax(1, rise(r, s, &m) / mean) : 1;
    m.local *= by, m.acc *= by;
    return m;
}

// What y = 1 / (1 + sum of the others' exp(x_i - x)) lies between when every x moves by its error: the one that is
// largest by far keeps all, the others nothing, however large the errors are.
typedef struct {
    double up, down;  // log of the sum of exp(x - largest), every x raised or lowered by its error
    double others;    // as up, without the one that then is the largest
    int64_t first;    // which that is
} limits;

static limits limits_of(const kg_rung *r, const kg_stage *s, double largest) {
    limits l = {-INFINITY, -INFINITY, -INFINITY, 0};
    double top = -INFINITY, second = -INFINITY, least = -INFINITY;
    for (int64_t i = 0; i < s->n; i++) {
        const double d = s->at[i].value - largest, e = kg_term_error(r, s->at[i]);
        if (d + e > top) second = top, top = d + e, l.first = i;
        else second = fmax(second, d + e);
        least = fmax(least, d - e);
    }
    double sum = 0, lowered = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double d = s->at[i].value - largest, e = kg_term_error(r, s->at[i]);
        if (i != l.first) sum += exp(d + e - second);
        lowered += exp(d - e - least);
    }
    if (second > -INFINITY) l.others = second + log(sum);
    l.up = l.others > top ? l.others + log1p(exp(top - l.others)) : top + log1p(exp(l.others - top));
    l.down = least + log(lowered);
    return l;
}

// How far y moves at most; NaN where infinities meet.
static double shifted(const limits *l, int64_t i, double d, double e, double y) {
    const double least = 1 / (1 + exp((i == l->first ? l->others : l->up) - (d - e)));
    return fmax(y - least, fmin(1, exp(d + e - l->down)) - y);
}

// log y moves by e_j - sum y e, so y by that in an exponent, within limits; the sum's own error and those of x -
// largest are as in the softmax's oracle.
void kg_stage_softmax(const kg_rung *r, kg_stage *s) {
    const soft m = soft_of(r, s);
    const limits between = limits_of(r, s, m.largest);
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        const double d = x.value - m.largest, y = exp(d) / m.sum;
        const double local = x.local + m.local, acc = x.acc + m.acc, e = r->u * local + r->u_acc * acc;
        // Where e is small the difference would be this one's own rounding.
        const double moves = e > 1e-6 ? shifted(&between, i, d, kg_term_error(r, x), y) : INFINITY;
        const double by = e > 0 ? fmin(fmin(y * bent(e), 1 / e), moves / e) : y;
        const double own = y > 0 ? y * (KG_LAMBDA + 2 * fabs(d) + 2 * m.spread) : 0;
        if (y == 0 && !isfinite(d)) s->at[i] = kg_term_exact(0);
        else s->at[i] = rounded(r, (kg_term){y, by * local, by * acc + y * m.sum_acc / m.sum}, own);
    }
}

void kg_stage_log_softmax(const kg_rung *r, kg_stage *s) {
    const soft m = soft_of(r, s);
    const double log_sum = log(m.sum);
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        const double own = KG_LAMBDA + 2 * m.spread + 2 * (fabs(x.value) + fabs(m.largest) + fabs(log_sum));
        const kg_term y = {(x.value - m.largest) - log_sum, x.local + m.local, x.acc + m.acc + m.sum_acc / m.sum};
        s->at[i] = rounded(r, y, own);
    }
}

// ---- normalisations -----------------------------------------------------------------------------------
typedef struct {
    double mean, variance, mean_acc, variance_acc;  // the statistics' own errors, units of u_acc
} spread;

static spread spread_of(const kg_rung *r, const kg_stage *s) {
    kg_sum_t sum = {0}, centred = {0}, slack2 = {0};
    const double n = (double)s->n;
    for (int64_t i = 0; i < s->n; i++) kg_sum_add(&sum, s->at[i].value);
    spread m = {.mean = kg_sum_value(&sum) / n, .mean_acc = kg_sum_acc(&sum) / n};
    for (int64_t i = 0; i < s->n; i++) {
        const double d = s->at[i].value - m.mean, slack = d * (fabs(m.mean) + fabs(d));
        kg_dot_add(&centred, d, d);
        kg_dot_add(&slack2, slack, slack);
    }
    m.variance = kg_sum_value(&centred) / n;
    m.variance_acc =
        (kg_sum_acc(&centred) + KG_LAMBDA * 2 * sqrt(kg_sum_value(&slack2))) / n + m.mean_acc * m.mean_acc * r->u_acc;
    return m;
}

// Normalised values of n are sqrt(n) large at most, whatever the errors of what they are made of: where these make s
// uncertain altogether (two nearly equal values of a channel), they bound the error. Also for NaN, from inf * 0.
static double within(double error, double n, double size, double u) { return fmin(error, (sqrt(n) + size) / u); }

// z = (x - m) / s moves by (e_j - mean(e)) / s - z mean(z e) / s.
void kg_stage_layer_norm(const kg_rung *r, kg_stage *s, double eps, const double *weight, const double *bias) {
    const spread m = spread_of(r, s);
    const double scale2 = m.variance + eps, by = 1 / sqrt(scale2), n = (double)s->n;
    double local = 0, acc = 0, z_local = 0, z_acc = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double z = fabs(s->at[i].value - m.mean) * by;
        local += s->at[i].local / n, acc += s->at[i].acc / n;
        z_local += z * s->at[i].local / n, z_acc += z * s->at[i].acc / n;
    }
    // s itself may be this much smaller.
    const double own_variance = r->u_acc * m.variance_acc / (2 * scale2);
    const double shrunk = by * (r->u * z_local + r->u_acc * z_acc) + own_variance, bend = 1 / fmax(0, 1 - shrunk);
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        const double z = (x.value - m.mean) * by, size = fabs(z);
        const double own = normalising(z, by, x.value, m.mean);
        const kg_term t = {
            z, within(bend * by * (x.local + local + size * z_local), n, size, r->u),
            within(bend * (by * (x.acc + acc + size * z_acc + m.mean_acc) + size * m.variance_acc / (2 * scale2)), n,
                   size, r->u_acc)};
        s->at[i] = kg_term_affine(r, rounded(r, t, own), weight ? weight[i] : 1, bias ? bias[i] : 0, weight || bias);
    }
}

void kg_stage_batch_norm(const kg_rung *r, kg_stage *s, double eps) {
    const spread m = spread_of(r, s);
    const double by = 1 / sqrt(m.variance + eps);
    kg_stage_layer_norm(r, s, eps, NULL, NULL);
    for (int64_t i = 0; i < s->n && r->half; i++) s->at[i].local += kg_norm_saved(m.mean, by, fabs(s->at[i].value));
}

// sum d^2 moves by 2 d e + e^2: the mean's own shift drops out, since the deviations add up to nothing.
kg_term kg_stage_variance(const kg_rung *r, const kg_stage *s, double dof) {
    const spread m = spread_of(r, s);
    const double n = (double)s->n;
    kg_term v = {m.variance * n / dof, 0, m.variance_acc * n / dof};
    for (int64_t i = 0; i < s->n; i++) {
        const double by = (2 * fabs(s->at[i].value - m.mean) + kg_term_error(r, s->at[i])) / dof;
        v.local += by * s->at[i].local, v.acc += by * s->at[i].acc;
    }
    return rounded(r, v, 2 * v.value);
}

void kg_stage_rms_norm(const kg_rung *r, kg_stage *s, double eps, const double *weight) {
    kg_sum_t squares = {0};
    const double n = (double)s->n;
    for (int64_t i = 0; i < s->n; i++) kg_dot_add(&squares, s->at[i].value, s->at[i].value);
    const double scale2 = kg_sum_value(&squares) / n + eps, by = 1 / sqrt(scale2);
    double y_local = 0, y_acc = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double y = fabs(s->at[i].value) * by;
        y_local += y * s->at[i].local / n, y_acc += y * s->at[i].acc / n;
    }
    const double own_square = r->u_acc * kg_sum_acc(&squares) / (2 * n * scale2);
    const double shrunk = by * (r->u * y_local + r->u_acc * y_acc) + own_square, bend = 1 / fmax(0, 1 - shrunk);
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term x = s->at[i];
        const double y = x.value * by, size = fabs(y);
        const kg_term t = {y, within(bend * by * (x.local + size * y_local), n, size, r->u),
                           within(bend * (by * (x.acc + size * y_acc) + size * kg_sum_acc(&squares) / (2 * n * scale2)),
                                  n, size, r->u_acc)};
        s->at[i] = kg_term_affine(r, rounded(r, t, KG_LAMBDA * size), weight ? weight[i] : 1, 0, weight != NULL);
    }
}

// ---- walking --------------------------------------------------------------------------------------------
typedef struct {
    int64_t block, at;
    size_t k;
} wanted;

static int by_block(const void *a, const void *b) {
    const wanted *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block ? 1 : x->k < y->k ? -1 : x->k > y->k;
}

int kg_stage_each(kg_ref *ref, int64_t size, int64_t inner, kg_stage_fn compute, void *ctx) {
    if (ref->n == 0 || size == 0) return 0;
    wanted *list = malloc(ref->n * sizeof *list);
    kg_stage s = {size, malloc((size_t)size * sizeof(kg_term))};
    int rc = !list || !s.at ? -1 : 0;
    for (size_t k = 0; k < ref->n && !rc; k++) {
        const int64_t i = ref->index[k];
        list[k] = (wanted){i / (size * inner) * inner + i % inner, i / inner % size, k};
    }
    if (!rc && inner > 1) qsort(list, ref->n, sizeof *list, by_block);
    for (size_t k = 0; k < ref->n && !rc; k++) {
        if (k == 0 || list[k].block != list[k - 1].block) rc = compute(list[k].block, &s, ctx);
        if (!rc) kg_term_put(ref, list[k].k, s.at[list[k].at]);
    }
    free(list);
    free(s.at);
    return rc ? -1 : 0;
}

int kg_stage_from(kg_stage *s, int64_t first, int64_t step, int (*part)(kg_ref *ref, void *ctx), void *ctx) {
    const size_t n = (size_t)s->n;
    int64_t *index = malloc(n * sizeof *index + 1);
    double *v = calloc(3 * n + 1, sizeof *v);
    int rc = !index || !v ? -1 : 0;
    for (size_t i = 0; i < n && !rc; i++) index[i] = first + (int64_t)i * step;
    kg_ref ref = {0, n, index, v, v ? v + n : NULL, v ? v + 2 * n : NULL};
    if (!rc) rc = part(&ref, ctx);
    for (size_t i = 0; i < n && !rc; i++)
        s->at[i] = isfinite(v[i]) ? (kg_term){v[i], v[n + i], v[2 * n + i]} : kg_term_exact(v[i]);
    free(index);
    free(v);
    return rc ? -1 : 0;
}
