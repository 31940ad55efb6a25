#include "judge/check.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "judge/inputs.h"
#include "judge/sample.h"
#include "oracle/holds.h"
#include "oracle/oracle.h"

#define CHUNK 16384

// One output, or one argument overwritten in place.
typedef struct {
    int out;  // as kg_ref counts them
    const char *name;
    kg_tensor desc;  // of the parts, where it is complex
    const kg_place *place;
    bool poisoned;  // held poison before the call
} target;

// Sums over outputs got and values expected.
typedef struct {
    double difference, difference2, got2, expected, expected2, product;
} likeness_sums;

typedef struct {
    const kg_check_request *r;
    const kg_call *call;
    const target *t;
    const int64_t *index;  // NULL: all of them, in order
    const char *dense;     // values of `index` one after the other, or the whole storage when index is NULL
    kg_precision required;
    pthread_mutex_t lock;
    // Worst so far.
    double worst[KG_PREC_NONE];
    double at_required;
    int64_t at;
    double got, expected;
    likeness_sums sums;
} comparison;

// ---- one element -----------------------------------------------------------------------------------

static double element(const comparison *c, size_t i, int64_t logical) {
    kg_dtype t = c->t->desc.dtype;
    int64_t at = c->index ? (int64_t)i : kg_offset(&c->t->desc, logical);
    return kg_dtype_is_float(t) ? kg_load(t, c->dense, at) : (double)kg_load_int(t, c->dense, at);
}

// ---- a range of elements ---------------------------------------------------------------------------

static void add_likeness(likeness_sums *s, double got, double expected) {
    s->difference += fabs(got - expected);
    s->difference2 += (got - expected) * (got - expected);
    s->got2 += got * got;
    s->expected += fabs(expected);
    s->expected2 += expected * expected;
    s->product += got * expected;
}

static void merge_likeness(likeness_sums *s, const likeness_sums *more) {
    s->difference += more->difference;
    s->difference2 += more->difference2;
    s->got2 += more->got2;
    s->expected += more->expected;
    s->expected2 += more->expected2;
    s->product += more->product;
}

static void merge(comparison *c, const double *worst, double at_required, int64_t at, double got, double expected,
                  const likeness_sums *sums) {
    pthread_mutex_lock(&c->lock);
    merge_likeness(&c->sums, sums);
    for (int p = 0; p < KG_PREC_NONE; p++)
        if (worst[p] > c->worst[p]) c->worst[p] = worst[p];
    // Of equals the first, whichever thread comes first: a replay says the same.
    if (at >= 0 && (at_required > c->at_required || (at_required == c->at_required && at < c->at))) {
        c->at_required = at_required;
        c->at = at;
        c->got = got;
        c->expected = expected;
    }
    pthread_mutex_unlock(&c->lock);
}

static void judge_range(comparison *c, const kg_ref *ref, size_t first) {
    kg_dtype t = c->t->desc.dtype;
    double worst[KG_PREC_NONE] = {0}, max = kg_dtype_max(t), most = 0, got_most = 0, value_most = 0;
    int64_t at = -1;
    bool exact = !kg_dtype_is_float(t);
    likeness_sums sums = {0};
    for (size_t i = 0; i < ref->n; i++) {
        double got = element(c, first + i, ref->index[i]), value = ref->value[i], here = 0;
        if (c->r->task->public_limits) add_likeness(&sums, got, value);
        for (int p = exact ? KG_PREC_EXACT : KG_PREC_FP64; p <= (exact ? KG_PREC_EXACT : KG_PREC_FP8); p++) {
            double bound = kg_error_bound((kg_precision)p, t, value, ref->local[i], ref->acc[i]);
            double q = kg_error_ratio(got, value, bound, max);
            if (q > worst[p]) worst[p] = q;
            if (p == (int)c->required) here = q;
        }
        if (here > most || at < 0) {
            most = here;
            at = ref->index[i];
            got_most = got;
            value_most = value;
        }
    }
    merge(c, worst, most, at, got_most, value_most, &sums);
}

static int compare_range(size_t first, size_t last, void *ctx) {
    comparison *c = ctx;
    size_t n = last - first;
    double *v = malloc(3 * n * sizeof *v);
    int64_t *own = c->index ? NULL : malloc(n * sizeof *own);
    int failed = !v || (!c->index && !own);
    if (!failed) {
        memset(v, 0, 3 * n * sizeof *v);
        for (size_t i = 0; own && i < n; i++) own[i] = (int64_t)(first + i);
        kg_ref ref = {c->t->out, n, own ? own : c->index + first, v, v + n, v + 2 * n};
        failed = kg_oracle(c->call, &ref);
        if (!failed) judge_range(c, &ref, first);
    }
    free(v);
    free(own);
    return failed;
}

// ---- a whole output --------------------------------------------------------------------------------

kg_precision kg_check_required(const kg_task *t, const kg_case *c) {
    return kg_required_precision(t, kg_case_principal(c, t));
}

kg_precision kg_check_rung(const kg_check *k, kg_precision required) {
    if (required == KG_PREC_EXACT) return k->error_over_bound <= 1 ? KG_PREC_EXACT : KG_PREC_NONE;
    // A half-precision task cannot show more than half precision, nor a float one more than float.
    int best = required == KG_PREC_FP16 ? KG_PREC_FP16 : required == KG_PREC_FP64 ? KG_PREC_FP64 : KG_PREC_FP32;
    for (int p = best; p <= KG_PREC_FP8; p++)
        if (k->worst[p] <= 1) return (kg_precision)p;
    return KG_PREC_NONE;
}

static int targets_of(const kg_check_request *r, target *list) {
    int n = 0, next = r->c->n_outs;
    for (int i = 0; i < r->c->n_outs; i++) {
        bool alias = i == 0 && r->c->alias_first_out;
        list[n++] = (target){i, r->task->outputs[i], kg_tensor_parts(&r->c->outs[i]),
                             alias ? &r->layout->args[0] : &r->layout->outs[i], !alias};
    }
    for (int i = 0; i < r->c->n_args; i++) {
        const kg_param *p = &r->task->params[i];
        if (p->role == KG_INOUT) {
            if (r->layout->args[i].present)
                list[n++] = (target){next, p->name, kg_tensor_parts(&r->c->args[i].tensor), &r->layout->args[i], false};
            next++;
        } else if (p->role == KG_OUT_ARG && r->layout->args[i].present && !r->native) {
            list[n++] = (target){0, p->name, kg_tensor_parts(&r->c->args[i].tensor), &r->layout->args[i], true};
        }
    }
    return n;
}

static void say_where(const comparison *c, const char *wrong, kg_check *out) {
    kg_text t = {0};
    kg_text_add(&t, "%s", c->t->name);
    if (c->t->desc.ndim) {
        int64_t rest = c->at, pos[KG_MAX_NDIM];
        for (int d = c->t->desc.ndim - 1; d >= 0; d--) {
            pos[d] = rest % c->t->desc.shape[d];
            rest /= c->t->desc.shape[d];
        }
        for (int d = 0; d < c->t->desc.ndim; d++) kg_text_add(&t, "%s%lld", d ? "," : "[", (long long)pos[d]);
        kg_text_add(&t, "]");
    }
    kg_text_add(&t, isnan(c->got) ? ": got nan" : ": got %.9g", c->got);
    kg_text_add(&t, isnan(c->expected) ? ", expected nan" : ", expected %.9g", c->expected);
    if (isfinite(c->at_required)) kg_text_add(&t, " (error %.3g times the bound)", c->at_required);
    if (wrong) kg_text_add(&t, "; %s", wrong);
    free(out->where);
    out->where = t.data;
}

static int fetch(const kg_check_request *r, const target *t, const int64_t *logical, size_t n, char **dense,
                 kg_error *err) {
    kg_extent e = kg_place_extent(t->place, r->slot);
    size_t size = kg_dtype_size(t->desc.dtype), bytes = (logical ? n : (size_t)e.count) * size;
    *dense = malloc(bytes ? bytes : 1);
    if (!*dense) return kg_fail(err, KG_ERR_MEMORY, "no memory for %zu bytes of outputs on the host", bytes);
    const kg_device_ops *ops = r->out->device->ops;
    if (!logical) return ops->download(r->out, e.offset, *dense, bytes, err);
    int64_t *storage = malloc(n * sizeof *storage);
    if (!storage) return kg_fail(err, KG_ERR_MEMORY, "no memory for %zu indices", n);
    for (size_t i = 0; i < n; i++) storage[i] = kg_offset(&t->desc, logical[i]);
    int rc = ops->gather(r->out, e, n, storage, *dense, err);
    free(storage);
    return rc;
}

// ---- readings ---------------------------------------------------------------------------------------

#define PROBE 32  // outputs by which most readings are told to be another one

// The first n outputs against one reading. -1: no memory.
static int follow(const comparison *blank, const kg_call *call, const kg_reading *reading, size_t n, comparison *c) {
    kg_call read = *call;
    read.reading = reading;
    *c = *blank;
    c->call = &read;
    pthread_mutex_init(&c->lock, NULL);
    // Pieces small enough that every processor gets some, large enough that row statistics are rarely made twice.
    size_t grain = n / 64 + 1 > CHUNK ? CHUNK : n / 64 < 32 ? 32 : n / 64;
    int rc = kg_parallel(n, grain, compare_range, c);
    c->call = NULL;
    pthread_mutex_destroy(&c->lock);
    return rc ? -1 : 0;
}

// The allowed reading that all outputs follow; when there is none, the nearest one.
static int nearest(const comparison *blank, const kg_call *call, size_t n, comparison *best, const kg_reading **which) {
    const kg_reading *first = call->task->readings;
    size_t probe = n < PROBE ? n : PROBE;
    bool compared = false;
    double least = INFINITY;
    comparison c;
    *which = first;
    if (!first) return follow(blank, call, NULL, n, best);
    for (const kg_reading *r = first; r->name; r++) {
        if (r->wrong) continue;
        if (follow(blank, call, r, probe, &c)) return -1;
        if (c.at_required > 1) {
            if (!compared && c.at_required < least) least = c.at_required, *which = r;
            continue;
        }
        if (follow(blank, call, r, n, &c)) return -1;
        if (!compared || c.at_required < best->at_required) *best = c, *which = r;
        compared = true;
        if (c.at_required <= 1) return 0;
    }
    return compared ? 0 : follow(blank, call, *which, n, best);
}

// Why the outputs are wrong, when they follow a reading that is not allowed.
static int explain(const comparison *blank, const kg_call *call, size_t n, const char **why) {
    comparison c;
    for (const kg_reading *r = call->task->readings; r && r->name && !*why; r++) {
        if (!r->wrong) continue;
        if (follow(blank, call, r, n, &c)) return -1;
        if (c.at_required <= 1) *why = r->wrong;
    }
    return 0;
}

static kg_likeness likeness_of(const likeness_sums *s, size_t n) {
    const bool same = s->difference == 0;
    return (kg_likeness){sqrt(s->difference2 / (double)n), same ? 0 : s->difference / s->expected,
                         same ? 1 : s->product / sqrt(s->got2 * s->expected2)};
}

// How near the outputs are to what a public benchmark compares them with.
static int liken(const comparison *blank, const kg_call *call, size_t n, kg_likeness *out) {
    const kg_reading *r = call->task->readings;
    comparison c;
    while (!r->wrong) r++;
    if (follow(blank, call, r, n, &c)) return -1;
    *out = likeness_of(&c.sums, n);
    return 0;
}

static int compare(const kg_check_request *r, const kg_call *call, const target *t, kg_check *out, kg_error *err) {
    int64_t total = kg_numel(&t->desc);
    if (total == 0) return 0;
    int64_t *index = NULL;
    size_t n = (size_t)total;
    double reach = r->task->reach ? r->task->reach(r->task, r->c) : 1;
    if (kg_sample_needed(total, reach, r->effort)) {
        n = kg_sample_indices(total, reach, r->draw, &index);
        if (!index) return kg_fail(err, KG_ERR_MEMORY, "no memory for sampled indices");
    }
    comparison blank = {.r = r,
                        .t = t,
                        .index = index,
                        .required = kg_required_precision(r->task, t->desc.dtype),
                        .at_required = -1,
                        .at = -1},
               c = blank;
    char *dense = NULL;
    const kg_reading *reading = NULL;
    const char *wrong = NULL;
    int rc = fetch(r, t, index, n, &dense, err);
    blank.dense = dense;
    if (!rc && (nearest(&blank, call, n, &c, &reading) || (c.at_required > 1 && explain(&blank, call, n, &wrong)) ||
                (r->task->public_limits && t->out == 0 && liken(&blank, call, n, &out->likeness))))
        rc = kg_fail(err, KG_ERR_MEMORY, "no memory for the oracle of %s", r->task->name);
    free(dense);
    free(index);
    if (rc) return -1;
    if (reading) out->reading = reading->name;
    for (int p = 0; p < KG_PREC_NONE; p++)
        if (c.worst[p] > out->worst[p]) out->worst[p] = c.worst[p];
    if (c.at_required > out->error_over_bound || !out->where) {
        if (c.at_required > out->error_over_bound) out->error_over_bound = c.at_required;
        if (c.at_required > 1) say_where(&c, wrong, out);
    }
    return 0;
}

// ---- outputs judged by what must hold ----------------------------------------------------------------

static bool is_held(const kg_task *t, int out) { return out < 32 && (t->held >> out & 1); }

static void merge_holds(kg_holds *h, kg_check *out) {
    for (int p = 0; p < KG_PREC_NONE; p++)
        if (h->worst[p] > out->worst[p]) out->worst[p] = h->worst[p];
    if (h->at_required > out->error_over_bound) {
        out->error_over_bound = h->at_required;
        if (h->at_required > 1) {
            free(out->where);
            out->where = h->where;
            h->where = NULL;
        }
    }
    free(h->where);
}

static int judge_held(const kg_check_request *r, const kg_call *call, const target *list, int n, kg_check *out,
                      kg_error *err) {
    kg_answer a = {.n = n,
                   .kept = r->kept,
                   .seed = r->effort == KG_EFFORT_LOOK ? r->draw : r->seeds[r->n_seeds - 1],
                   .full = r->effort == KG_EFFORT_FULL};
    char *dense[KG_MAX_OUTS + KG_MAX_ARGS] = {NULL};
    int rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        a.out[i].desc = list[i].desc;
        if (kg_numel(&list[i].desc) == 0) continue;
        rc = fetch(r, &list[i], NULL, 0, &dense[i], err);
        a.out[i].data = dense[i];
    }
    kg_holds h = {.task = r->task, .lock = PTHREAD_MUTEX_INITIALIZER, .at_required = -1};
    if (!rc && r->task->holds(call, &a, &h))
        rc = kg_fail(err, KG_ERR_MEMORY, "no memory for judging %s", r->task->name);
    merge_holds(&h, out);
    for (int i = 0; i < n; i++) free(dense[i]);
    return rc;
}

// ---- what needs no oracle --------------------------------------------------------------------------

static int guards_hold(const kg_check_request *r, const target *t, bool *broken, kg_error *err) {
    kg_extent e = kg_place_extent(t->place, r->slot);
    size_t bytes = (size_t)e.count * kg_dtype_size(e.dtype);
    size_t at[2] = {e.offset - KG_GUARD, e.offset + bytes};
    unsigned char guard[KG_GUARD];
    for (int side = 0; side < 2; side++) {
        if (r->out->device->ops->download(r->out, at[side], guard, KG_GUARD, err)) return -1;
        for (int i = 0; i < KG_GUARD; i++)
            if (guard[i] != 0xA5) *broken = true;
    }
    return 0;
}

// Poison is told from an answer only where an answer cannot look like it.
static bool poison_tells(kg_dtype t) { return kg_dtype_is_float(t) || kg_dtype_size(t) >= 4; }

static int count_unwritten(const kg_check_request *r, const target *t, kg_check *out, kg_error *err) {
    if (!t->poisoned || !poison_tells(t->desc.dtype) || t->place->count != kg_numel(&t->desc)) return 0;
    uint64_t n = 0;
    if (r->out->device->ops->count_poison(r->out, kg_place_extent(t->place, r->slot), &n, err)) return -1;
    out->unwritten += n;
    return 0;
}

static void say_violations(const target *t, kg_check *out) {
    if (out->error_over_bound > 1 || out->where) return;
    if (out->unwritten) {
        out->where = kg_format("%s: %llu elements were never written", t->name, (unsigned long long)out->unwritten);
        out->error_over_bound = INFINITY;
    } else if (out->guard_broken) {
        out->where = kg_format("%s: memory beside the output was written", t->name);
    }
}

// State is no output, but writing past it is as wrong.
static int state_guards_hold(const kg_check_request *r, kg_check *out, kg_error *err) {
    for (int i = 0; i < r->c->n_args; i++) {
        if (r->task->params[i].role != KG_STATE || !r->layout->args[i].present) continue;
        target t = {.name = r->task->params[i].name, .place = &r->layout->args[i]};
        if (guards_hold(r, &t, &out->guard_broken, err)) return -1;
        say_violations(&t, out);
    }
    return 0;
}

int kg_check_guards(const kg_check_request *r, bool *broken, kg_error *err) {
    target list[KG_MAX_OUTS + KG_MAX_ARGS];
    const int n = targets_of(r, list);
    *broken = false;
    for (int i = 0; i < n && !*broken; i++)
        if (guards_hold(r, &list[i], broken, err)) return -1;
    return 0;
}

int kg_check_outputs(const kg_check_request *r, kg_check *out, kg_error *err) {
    memset(out, 0, sizeof *out);
    out->likeness = (kg_likeness){NAN, NAN, NAN};
    target list[KG_MAX_OUTS + KG_MAX_ARGS];
    int n = targets_of(r, list);
    kg_inputs *in = NULL;
    const kg_device_ops *ops = r->in->device->ops;
    const void *trusted = ops->trusted ? ops->trusted(r->in) : NULL;
    if (kg_inputs_make(r->task, r->c, r->layout, r->slot, r->seeds, r->n_seeds, trusted, &in, err)) return -1;
    kg_call call = *kg_inputs_call(in);
    void *prepared = r->task->prepare ? r->task->prepare(&call) : NULL;
    call.prepared = prepared;
    int rc = 0;
    if (r->task->prepare && !prepared)
        rc = kg_fail(err, KG_ERR_MEMORY, "no memory for the oracle of %s", r->task->name);
    for (int i = 0; i < n && !rc; i++) {
        rc = guards_hold(r, &list[i], &out->guard_broken, err) || count_unwritten(r, &list[i], out, err);
        if (!rc && !is_held(r->task, list[i].out)) rc = compare(r, &call, &list[i], out, err);
        if (!rc) say_violations(&list[i], out);
    }
    if (!rc && r->task->held) rc = judge_held(r, &call, list, n, out, err);
    if (prepared) r->task->release(prepared);
    kg_inputs_free(in);
    if (!rc) rc = state_guards_hold(r, out, err);
    return rc ? -1 : 0;
}

void kg_check_free(kg_check *c) {
    free(c->where);
    c->where = NULL;
}
