#include "task/dropout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "oracle/chance.h"

#define MOST_WHOLE (1 << 18)  // elements of a result that go into the statistics as a whole
#define WINDOWS    (1 << 17)  // of a longer one
#define BUDGET     4e7        // input elements touched in one check, as the judge has it (judge/sample.c)
#define CHUNK      8192

// ---- one element ----------------------------------------------------------------------------------------
kg_term kg_dropout_kept(const kg_rung *r, kg_term x, double p) {
    const double q = 1 - p, s = 1 / q;
    int exponent;
    kg_term y = kg_term_scale(x, s);
    if (frexp(q, &exponent) == 0.5) return y;
    // 1 - p of a rounded p errs by p / (1 - p); then a quotient and a product. Half precision: PyTorch on the CPU
    // rounds the factor to the storage's.
    const double own = fabs(y.value) * (p / q + 4);
    if (r->half) y.acc += own, y.local += fabs(y.value);
    else y.local += own;
    return y;
}

double kg_dropout_p(const kg_call *call, const char *p) {
    const kg_arg *training = kg_case_arg(call->c, call->task, "training");
    return training && !training->i ? 0 : kg_call_arg(call, p)->f;
}

typedef struct {
    double ratio[KG_PREC_NONE], required, bound;
} distance;

// How far an answer is from one that may be, at every rung.
static distance distance_of(kg_dtype t, kg_precision required, double got, kg_term x) {
    distance d = {.required = INFINITY};
    const bool finite = isfinite(x.value);
    for (int p = KG_PREC_FP64; p <= KG_PREC_FP8; p++) {
        const double bound = kg_error_bound((kg_precision)p, t, x.value, finite ? x.local : 0, finite ? x.acc : 0);
        d.ratio[p] = kg_error_ratio(got, x.value, bound, kg_dtype_max(t));
        if (p == (int)required) d.required = d.ratio[p], d.bound = bound;
    }
    return d;
}

// ---- all elements -----------------------------------------------------------------------------------------
typedef struct {
    const kg_call *call;
    const kg_dropout *d;
    const kg_view *out;
    kg_rung rung;
    kg_precision required;
    const int64_t *index;  // NULL: all
    signed char *mask;
    pthread_mutex_t lock;
    distance worst;
    int64_t at;
    double got, kept, dropped;
} survey;

static void look(const survey *s, const kg_ref *ref, size_t k, signed char *mask, survey *worst) {
    const kg_dropout *d = s->d;
    const kg_dtype t = s->out->desc.dtype;
    const double got = kg_at(s->out, ref->index[k]);
    const kg_term before = {ref->value[k], ref->local[k], ref->acc[k]};
    kg_term kept = d->p < 1 ? kg_dropout_kept(&s->rung, before, d->p) : kg_term_exact(0), dropped = kg_term_exact(0);
    if (d->after) {
        kept = d->after(&s->rung, kg_term_stored(&s->rung, kept), ref->index[k], d->ctx);
        dropped = d->after(&s->rung, dropped, ref->index[k], d->ctx);
    }
    distance one = distance_of(t, s->required, got, kept), other = distance_of(t, s->required, got, dropped);
    if (!isfinite(before.value) && isnan(got)) memset(&other, 0, sizeof other);
    const bool apart =
        isfinite(kept.value) && isfinite(dropped.value) && fabs(kept.value - dropped.value) > one.bound + other.bound;
    const bool is_kept = d->p <= 0 || (d->p < 1 && one.required <= other.required);
    *mask = apart ? is_kept : -1;
    const distance *nearer = is_kept ? &one : &other;
    for (int p = 0; p < KG_PREC_NONE; p++) worst->worst.ratio[p] = fmax(worst->worst.ratio[p], nearer->ratio[p]);
    if (worst->at >= 0 && nearer->required <= worst->worst.required) return;
    worst->worst.required = nearer->required;
    worst->at = ref->index[k];
    worst->got = got, worst->kept = kept.value, worst->dropped = dropped.value;
}

static void merge(survey *s, const survey *part) {
    pthread_mutex_lock(&s->lock);
    for (int p = 0; p < KG_PREC_NONE; p++) s->worst.ratio[p] = fmax(s->worst.ratio[p], part->worst.ratio[p]);
    const bool equal = part->worst.required == s->worst.required;  // then the first, as src/judge/check.c has it
    if (part->at >= 0 && (s->at < 0 || part->worst.required > s->worst.required || (equal && part->at < s->at))) {
        s->worst.required = part->worst.required;
        s->at = part->at;
        s->got = part->got, s->kept = part->kept, s->dropped = part->dropped;
    }
    pthread_mutex_unlock(&s->lock);
}

static int look_at_range(size_t first, size_t last, void *ctx) {
    survey *s = ctx;
    const size_t n = last - first;
    double *v = calloc(3 * n, sizeof *v);
    int64_t *index = malloc(n * sizeof *index);
    int failed = !v || !index;
    if (!failed) {
        for (size_t i = 0; i < n; i++) index[i] = s->index ? s->index[first + i] : (int64_t)(first + i);
        kg_ref ref = {0, n, index, v, v + n, v + 2 * n};
        failed = s->d->before(s->call, &ref);
        survey part = {.at = -1};
        for (size_t i = 0; i < n && !failed; i++) look(s, &ref, i, &s->mask[first + i], &part);
        if (!failed) merge(s, &part);
    }
    free(v);
    free(index);
    return failed;
}

static void say_values(const survey *s, kg_holds *h) {
    const char *name = s->call->task->outputs[0];
    const double p = s->d->p;
    if (s->at < 0) return;
    if (p <= 0 || p >= 1)
        kg_hold_worst(h, s->worst.ratio, s->worst.required, "%s[%lld] is %.9g, not %.9g (error %.3g times the bound)",
                      name, (long long)s->at, s->got, p <= 0 ? s->kept : s->dropped, s->worst.required);
    else
        kg_hold_worst(h, s->worst.ratio, s->worst.required,
                      "%s[%lld] is %.9g: neither kept, %.9g, nor dropped, %.9g (error %.3g times the bound)", name,
                      (long long)s->at, s->got, s->kept, s->dropped, s->worst.required);
}

// ---- the mask -----------------------------------------------------------------------------------------------
static void count(kg_holds *h, const signed char *mask, size_t n, double p) {
    int64_t known = 0, kept = 0;
    for (size_t i = 0; i < n; i++) known += mask[i] >= 0, kept += mask[i] > 0;
    kg_hold_count(h, kept, known, 1 - p - 0x1p-24, 1 - p + 0x1p-24, KG_ALARM, "elements kept");
}

// chosen: indices into the mask, NULL for all of it. What is not known counts as the mean.
static int correlations(kg_holds *h, const kg_answer *a, const signed char *mask, const int64_t *chosen, size_t n,
                        double p) {
    kg_centred *x = malloc(sizeof *x + n * sizeof *x->x);
    if (!x) return -1;
    *x = (kg_centred){.n = n};
    for (size_t i = 0; i < n; i++) {
        const signed char m = mask[chosen ? chosen[i] : (int64_t)i];
        x->x[i] = m < 0 ? 0 : (double)m - (1 - p);
        x->known += m >= 0;
    }
    return kg_hold_independent(h, a, x, p * (1 - p), fmax(p, 1 - p), "mask");
}

int kg_mask_holds(kg_holds *h, const kg_answer *a, const signed char *mask, size_t n, double p) {
    if (p <= 0 || p >= 1) return 0;
    count(h, mask, n, p);
    return correlations(h, a, mask, NULL, n, p);
}

static int in_order(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t choose(const kg_dropout *d, const kg_tensor *out, bool all, size_t want, uint64_t seed, int64_t **index) {
    const bool part = !all && d->part;
    const size_t n = kg_windows(part ? d->part : out, want, seed, index);
    for (size_t i = 0; part && i < n; i++) (*index)[i] = d->of_part((*index)[i], seed, d->ctx);
    if (part && n) qsort(*index, n, sizeof **index, in_order);
    return n;
}

int kg_dropout_holds(const kg_call *call, const kg_answer *a, kg_holds *h, const kg_dropout *d) {
    const kg_task *t = call->task;
    const size_t total = (size_t)kg_numel(&a->out[0].desc);
    if (total == 0) return 0;
    const double reach = t->reach ? t->reach(t, call->c) : 1;
    const bool all = (a->full && total <= INT32_MAX) || (double)total * reach <= BUDGET;
    const uint64_t seed = kg_chance_seed(a);
    int64_t *chosen = NULL;
    size_t n = total;
    if (!all || total > MOST_WHOLE) {
        const double afford = all || d->part ? WINDOWS : fmax(256, fmin(WINDOWS, BUDGET / reach));
        n = choose(d, &a->out[0].desc, all, (size_t)afford, seed, &chosen);
        if (!chosen) return -1;
    }
    const kg_dtype dtype = a->out[0].desc.dtype;
    survey s = {.call = call,
                .d = d,
                .out = &a->out[0],
                .rung = kg_rung_of(t, dtype),
                .required = kg_required_precision(t, dtype),
                .index = all ? NULL : chosen,
                .mask = malloc((all ? total : n) + 1),
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .at = -1};
    const size_t looked = all ? total : n, piece = looked / 16 < 16 ? 16 : looked / 16 > CHUNK ? CHUNK : looked / 16;
    int rc = !s.mask || kg_parallel(looked, d->whole ? looked : piece, look_at_range, &s) ? -1 : 0;
    if (!rc) say_values(&s, h);
    if (!rc && d->p > 0 && d->p < 1) {
        count(h, s.mask, looked, d->p);
        rc = correlations(h, a, s.mask, all ? chosen : NULL, n, d->p);
    }
    free(s.mask);
    free(chosen);
    return rc;
}
