#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/check.h"
#include "judge/trial.h"
#include "judge/verdict.h"

#define MOST_CALLS 32
#define FIRST_CALL 1000  // seeds apart from those of the correctness cases
// While a screen's interval straddles its threshold, every size is measured again, at most this often.
#define ROUNDS 3
// In one size, batches that are run again because the machine disturbed them.
#define AGAIN   10
#define AGAIN_S 0.5
// A batch in which one of the runner's threads waited longer than this share of it is disturbed.
#define CROWDED 0.1
// Pauses in which a stopped runner worked, from which on it has continued itself.
#define RAN_PAUSED 3
// After a batch, calls of it are looked at with this chance, drawn when it is over; after the first and the last
// always.
#define LOOK_CHANCE      0.5
#define LOOK_CHANCE_SLOW 0.2  // where one look takes more than SLOW_LOOK_S
#define SLOW_LOOK_S      1.0
#define LOOKS            4  // calls looked at, while they take less than LOOK_S together
#define LOOK_S           0.1
#define COPY_START_S     3e-6  // one copy's launch
// A size at which one call is expected to take longer is not timed where no speed at it could change the verdict.
#define LONG_CALL_S 0.5
// First calls that take longer are not followed by more than one before it counts.
#define LONG_FIRST_S 0.25

// How much is measured, and how far the clocks may part on honest kernels (see docs/trust.md for the measurements).
typedef struct {
    double batch_s, budget_s;
    double slack_call_s, slack_batch_s, slack_rel;
} pace;
static const pace cpu_pace = {0.05, 0.6, 2e-6, 0.5e-3, 0.02};
// A Python callable's results are copied on the CPU by torch's own threads, between the calls and within our clock: on
// a busy machine that takes as long as the calls. So these are clocked loosely (docs/trust.md).
static const pace cpu_python_pace = {0.05, 0.6, 1e-3, 20e-3, 0.50};
static const pace gpu_pace = {0.02, 0.2, 2.5e-6, 60e-6, 0.05};
// A candidate that synchronises pays host time between its kernels, which both clocks see, and pauses that only ours
// does.
static const pace gpu_unheld_pace = {0.02, 0.2, 60e-6, 200e-6, 0.10};

static const pace *pace_of(const kg_trial *t) {
    if (strcmp(t->judge->info.kind, "cpu") == 0) return kg_session_is_python(t->session) ? &cpu_python_pace : &cpu_pace;
    return kg_session_synchronises(t->session) ? &gpu_unheld_pace : &gpu_pace;
}

typedef struct {
    kg_session *s, *other;  // other: stands still while this one is timed
    kg_samples *samples;
    bool suspect;                            // a kernel's file as the baseline: it may spoil the candidate's memory
    int batches, parted;                     // parted: batches in which the two clocks disagree
    int crowded;                             // batches in which threads had to share processors
    double again_s;                          // and for how long
    int again;                               // how often a disturbed batch may still be run again
    double most, most_reported, most_judge;  // the one in which they do most, seconds
    double host_s;
    uint64_t seeds[2];  // of the batch's calls
    int n_seeds;
} side;

// ---- one batch ---------------------------------------------------------------------------------------

// Stateful tasks: every slot makes a first step on other values, so that the timed step is one among many.
static int first_steps(kg_trial *t, side *x, const kg_case *c, int calls, uint64_t number, kg_error *err) {
    x->n_seeds = 0;
    if (c->calls <= 1) return 0;
    uint64_t seed = kg_trial_batch_seed(t, c, number);
    if (kg_session_reset_state(x->s, err) || kg_session_fill(x->s, seed, 0, calls, err)) return -1;
    for (int slot = 0; slot < calls; slot++)
        if (kg_session_call(x->s, slot, 1, err)) return -1;
    x->seeds[x->n_seeds++] = seed;
    return 0;
}

// A Python callable's result is copied into our memory within the batch, outside the calls: as many bytes read as
// written. On the CPU one thread may do it, through Python each time.
static double copying_s(const kg_trial *t, const kg_session *s, const kg_case *c, int calls) {
    const kg_ceilings *l = &t->judge->ceilings;
    bool cpu = strcmp(t->judge->info.kind, "cpu") == 0;
    double rate = cpu ? l->one_core_copy_bytes_s / 3 : l->copy_bytes_s, start = cpu ? 50e-6 : COPY_START_S;
    if (!kg_session_is_python(s) || !(rate > 0)) return 0;
    return calls * (start + 2 * (double)kg_case_output_bytes(c, t->task) / rate);
}

// What of a batch's time the runner's account leaves out, beyond what the clocks of honest kernels part by.
typedef struct {
    double missing_s;
    bool waited;   // nobody's doing: the runner or the judge waited for a processor that long
    bool crowded;  // threads had to share their processors, with others or with each other
} account;

static account compare_clocks(const kg_trial *t, side *x, const kg_batch *b, double copying) {
    const pace *p = pace_of(t);
    kg_overhead o = kg_session_overhead(x->s);
    // Threads that wait say nothing of a device that has its own clock.
    account a = {.crowded = t->judge->device->ops->glance && b->crowded_s > CROWDED * b->judge_s};
    double reported = 0;
    for (int i = 0; i < b->calls; i++) reported += b->times[i] > o.event_s ? b->times[i] - o.event_s : 0;
    double overhead = o.per_batch_s + o.per_call_s * b->calls + copying;
    kg_clocks k =
        kg_clocks_compare(reported, b->judge_s, overhead, b->calls, p->slack_call_s, p->slack_batch_s, p->slack_rel);
    if (k.agree) return a;
    a.missing_s = k.excess_s - k.allowed_s;
    // Where the kernel does not tell who waited, nothing can be held against the runner.
    a.waited = !(a.missing_s > b->waited_s);
    if (a.missing_s > x->most && !a.waited) {
        x->most = a.missing_s;
        x->most_reported = reported;
        x->most_judge = b->judge_s - overhead;
    }
    return a;
}

// What is left out is charged to the calls: a time talked down gains nothing. Not so for the library, which has no
// reason to talk its times down: charged, it would make the candidate look good. But a machine so busy that the clocks
// part again and again is charged to both.
static void add_samples(kg_trial *t, side *x, const kg_batch *b, account a, int batch) {
    double event_s = kg_session_overhead(x->s).event_s;
    double missing = a.waited || x->s == t->session ? a.missing_s / b->calls : 0;
    for (int i = 0; i < b->calls; i++)
        kg_samples_add(x->samples, missing + (b->times[i] > event_s ? b->times[i] - event_s : 0), batch);
    if (!(x->host_s <= b->host_s)) x->host_s = b->host_s;  // the least disturbed batch
    x->batches++;
    x->parted += a.missing_s > 0 && !a.waited;
    x->crowded += a.crowded;
}

// *done: false when the batch was disturbed and is to be run again.
static int try_batch(kg_trial *t, side *x, const kg_case *c, int calls, int batch, uint64_t try, bool *done,
                     kg_error *err) {
    // The baseline's values are others, so that its answers, in the same memory, are of no use to the candidate.
    const uint64_t side_of = x->s == t->session ? 0 : (uint64_t)1 << 62;
    uint64_t number = side_of + 2 * ((uint64_t)batch + (try << 32));
    if (first_steps(t, x, c, calls, number + 1, err)) return -1;
    uint64_t seed = kg_trial_batch_seed(t, c, number);
    x->seeds[x->n_seeds++] = seed;
    kg_batch b;
    if (kg_session_batch(x->s, calls, seed, &b, err)) return -1;
    account a = compare_clocks(t, x, &b, copying_s(t, x->s, c, calls));
    *done = !(a.waited || a.crowded) || x->again == 0 || x->again_s <= 0;
    if (*done) add_samples(t, x, &b, a, batch);
    x->again -= !*done;
    x->again_s -= *done ? 0 : b.judge_s;
    kg_batch_free(&b);
    return 0;
}

static int one_batch(kg_trial *t, side *x, const kg_case *c, int calls, int batch, kg_error *err) {
    if (kg_interrupted()) return kg_fail(err, KG_ERR_CANNOT, "interrupted");
    if (x->other) kg_session_pause(x->other);
    const kg_step before = kg_steps_to(&t->steps, x->s == t->session ? KG_STEP_BATCHES : KG_STEP_LIBRARY);
    bool done = false;
    for (uint64_t try = 0; !done; try++)
        if (try_batch(t, x, c, calls, batch, try, &done, err)) return -1;
    bool beside = false;
    if (x->suspect && kg_session_wrote_beside(x->s, calls, &beside, err)) return -1;
    kg_steps_to(&t->steps, before);
    return beside ? kg_fail(err, KG_ERR_CANDIDATE, "on %s it wrote beside its outputs", c->name) : 0;
}

// ---- checking timed outputs --------------------------------------------------------------------------

static int check_slot(kg_trial *t, const side *x, const kg_case *c, int slot, kg_effort effort, const char *when,
                      bool *right, kg_check *worst, kg_error *err) {
    kg_check k = {0};
    const kg_step before = kg_steps_to(&t->steps, effort == KG_EFFORT_LOOK ? KG_STEP_LOOKS : KG_STEP_ORACLE);
    if (kg_session_check(x->s, x->seeds, x->n_seeds, slot, effort, NULL, &k, err)) return -1;
    kg_steps_to(&t->steps, before);
    for (int p = 0; p < KG_PREC_NONE; p++)
        if (k.worst[p] > worst->worst[p]) worst->worst[p] = k.worst[p];
    worst->reading = k.reading;
    worst->likeness = k.likeness;
    if (k.error_over_bound > worst->error_over_bound) worst->error_over_bound = k.error_over_bound;
    *right = !(k.error_over_bound > 1 || k.unwritten || k.guard_broken);
    if (!*right) {
        if (k.guard_broken) worst->error_over_bound = INFINITY;
        kg_trial_result(t, c, true, worst, kg_format("%s: %s", when, k.where ? k.where : "wrong answer"));
    }
    kg_check_free(&k);
    return 0;
}

// ---- one size ----------------------------------------------------------------------------------------

// A library that fails costs the size its baseline: 0. A file that was named must not vanish so: -1.
static int baseline_failed(const kg_baseline *b, kg_case_times *ct, kg_error *why, kg_error *err) {
    int rc = 0;
    if (kg_baseline_is_file(b)) {
        rc = kg_fail(err, KG_ERR_CANNOT, "baseline %s: %s", kg_baseline_name(b), why->text);
    } else {
        free(ct->no_baseline);
        ct->no_baseline = kg_strdup(why->text);
    }
    kg_error_clear(why);
    return rc;
}

// A file's first call at a size is checked as a candidate's is: a wrong kernel's times say nothing.
static int check_baseline(kg_session *s, const kg_case *c, const uint64_t *seeds, int n, kg_error *err) {
    kg_check k = {0};
    int rc = kg_session_check(s, seeds, n, 0, KG_EFFORT_USUAL, NULL, &k, err);
    if (!rc && (k.error_over_bound > 1 || k.unwritten || k.guard_broken))
        rc = kg_fail(err, KG_ERR_CANDIDATE, "it is wrong on %s: %s", c->name, k.where ? k.where : "wrong answer");
    kg_check_free(&k);
    return rc;
}

// Lays out the size on the baseline's side and warms it. 1: ready, 0: no baseline for this size, -1: the one that was
// named cannot be used.
static int baseline_ready(kg_trial *t, kg_baseline *b, kg_case_times *ct, const kg_case *c, int *slots, kg_error *err) {
    if (!b) return 0;
    kg_session *s = kg_baseline_session(b);
    kg_error why = {0};
    uint64_t seeds[8];
    int n = 0;
    const kg_step before = kg_steps_to(&t->steps, KG_STEP_LIBRARY);
    bool ok = kg_session_case(s, c, slots, kg_trial_limit(t, c), &why) == 0 &&
              kg_trial_call_case(t, s, c, 0, FIRST_CALL, seeds, &n, &why) == 0 &&
              (!kg_baseline_is_file(b) || check_baseline(s, c, seeds, n, &why) == 0) &&
              (c->calls > 1 || kg_session_call(s, 0, 3, &why) == 0);
    kg_steps_to(&t->steps, before);
    return ok ? 1 : baseline_failed(b, ct, &why, err);
}

static bool checked_at(const kg_trial *t, const kg_case *c) {
    for (size_t i = 0; i < t->n_results; i++)
        if (t->results[i].c == c) return true;
    return false;
}

// The first call at this size counts as much as the hundredth: it is checked, in earnest unless it was already. *right:
// go on. *took_s: seconds.
static int first_call(kg_trial *t, side *x, const kg_case *c, bool *right, kg_check *worst, double *took_s,
                      kg_error *err) {
    const kg_effort effort = checked_at(t, c) ? KG_EFFORT_LOOK : KG_EFFORT_USUAL;
    double start = kg_now();
    if (kg_trial_call_case(t, x->s, c, 0, FIRST_CALL, x->seeds, &x->n_seeds, err)) return -1;
    *took_s = kg_now() - start;
    return check_slot(t, x, c, 0, effort, "first call", right, worst, err);
}

// Then a few more, untimed, so that what is compiled or tuned on first use is done.
static int warm(kg_trial *t, side *x, const kg_case *c, bool *right, kg_check *worst, kg_error *err) {
    double took = 0;
    if (first_call(t, x, c, right, worst, &took, err)) return -1;
    if (!*right || c->calls > 1) return 0;
    const kg_step before = kg_steps_to(&t->steps, KG_STEP_CALLS);
    int rc = kg_session_call(x->s, 0, took > LONG_FIRST_S ? 1 : 2, err);
    kg_steps_to(&t->steps, before);
    return rc;
}

// Calls that fill one batch's time, judged by a batch of one.
static int calls_per_batch(kg_trial *t, side *x, const kg_case *c, int slots, int *calls, kg_error *err) {
    kg_samples probe = {0};
    side y = *x;
    y.samples = &probe;
    if (one_batch(t, &y, c, 1, 1 << 20, err)) {
        kg_samples_free(&probe);
        return -1;
    }
    double one = kg_median(probe.v, probe.n) + kg_session_overhead(x->s).per_call_s;
    kg_samples_free(&probe);
    double want = one > 0 ? pace_of(t)->batch_s / one : slots;
    *calls = want < 1 ? 1 : want > slots ? slots : (int)want;
    return 0;
}

// A machine that is busy parts the clocks of an honest kernel in a batch now and then, a forged account in most. The
// library's threads crowd only where others do it to them.
static void note_clocks(kg_trial *t, const side *x, const side *base, const kg_case *c) {
    int ran = kg_session_ran_paused(x->s);
    if (ran >= RAN_PAUSED)
        kg_trial_violation(t, "ran-while-stopped",
                           kg_format("%s: it worked in %d pauses in which it was stopped", c->name, ran));
    t->busy |= 2 * base->crowded > base->batches;
    if (2 * x->parted <= x->batches) return;
    kg_trial_violation(
        t, "two-clocks",
        kg_format("%s: in %d of %d batches; in one its calls reported %.3f ms together, our clock saw %.3f ms", c->name,
                  x->parted, x->batches, x->most_reported * 1e3, x->most_judge * 1e3));
}

// A baseline that fails is no fault of the candidate: the size goes on without one, unless it is a file.
static int base_batch(kg_trial *t, kg_case_times *ct, const kg_baseline *b, side *base, int calls, int batch,
                      kg_error *err) {
    kg_error e = {0};
    if (!base->s || one_batch(t, base, ct->c, calls, batch, &e) == 0) return 0;
    kg_samples_free(&ct->base);
    base->s = NULL;
    return baseline_failed(b, ct, &e, err);
}

// Looks at outputs of a batch that has just ended: a few of its calls, drawn now, so that which ones cannot be known
// while they run. *cost_s: seconds that one look took.
static int look(kg_trial *t, const side *cand, const kg_case *c, int calls, int batch, bool *right, kg_check *worst,
                double *cost_s, kg_error *err) {
    double start = kg_now();
    for (int k = 0; k < LOOKS && k < calls && *right && (k == 0 || kg_now() - start < LOOK_S); k++) {
        double before = kg_now();
        int slot = (int)(kg_trial_secret(t, (uint64_t)batch * LOOKS + (uint64_t)k) % (uint64_t)calls);
        char *when = kg_format("timed call %d of batch %d", slot + 1, batch + 1);
        int rc = check_slot(t, cand, c, slot, KG_EFFORT_LOOK, when, right, worst, err);
        free(when);
        if (rc) return -1;
        *cost_s = kg_now() - before;
    }
    return 0;
}

static bool look_drawn(const kg_trial *t, int batch, double cost_s) {
    double chance = cost_s > SLOW_LOOK_S ? LOOK_CHANCE_SLOW : LOOK_CHANCE;
    return (double)(kg_trial_secret(t, ~(uint64_t)batch) >> 11) * 0x1p-53 < chance;
}

static int alternate(kg_trial *t, kg_case_times *ct, const kg_baseline *b, side *cand, side *base, int calls,
                     int base_calls, kg_check *worst, bool *right, kg_error *err) {
    const pace *p = pace_of(t);
    kg_stop_rule rule = {.rel_width = 0.02, .min_batches = 5, .max_batches = 40, .budget_s = p->budget_s};
    double spent = 0, cost = 0;
    const int before = ct->batches;  // of earlier rounds
    for (int i = before;; i++) {
        double start = kg_now();
        // Which goes first alternates too, so that neither always finds the device as the other left it.
        if (i & 1 && base_batch(t, ct, b, base, base_calls, i, err)) return -1;
        if (one_batch(t, cand, ct->c, calls, i, err)) return -1;
        kg_trial_glance(t, ct);
        ct->batches = i + 1;
        double looking = kg_now();
        bool last =
            kg_enough(&rule, &ct->cand, base->s ? &ct->base : NULL, NAN, i + 1 - before, spent + looking - start);
        if (i == before || last || look_drawn(t, i, cost)) {
            if (look(t, cand, ct->c, calls, i, right, worst, &cost, err)) return -1;
            if (!*right) return 0;
        }
        double resumed = kg_now();
        if (!(i & 1) && base_batch(t, ct, b, base, base_calls, i, err)) return -1;
        spent += looking - start + kg_now() - resumed;
        if (last) return 0;
    }
}

static int time_size(kg_trial *t, kg_case_times *ct, kg_baseline *b, kg_error *err) {
    const kg_case *c = ct->c;
    kg_check worst = {0};
    bool right = true;
    int slots = MOST_CALLS, base_slots = MOST_CALLS, calls = 1;
    side cand = {.s = t->session, .samples = &ct->cand, .host_s = NAN, .again = AGAIN, .again_s = AGAIN_S};
    side base = {.samples = &ct->base, .host_s = NAN, .again = AGAIN, .again_s = AGAIN_S};
    if (kg_session_case(t->session, c, &slots, kg_trial_limit(t, c), err) || warm(t, &cand, c, &right, &worst, err) ||
        (right && calls_per_batch(t, &cand, c, slots, &calls, err)))
        return -1;
    if (!right) return 0;
    int base_calls = 1, ready = baseline_ready(t, b, ct, c, &base_slots, err);
    if (ready > 0) {
        base.s = cand.other = kg_baseline_session(b);
        base.suspect = kg_baseline_is_file(b);
        base.other = t->session;
        kg_error why = {0};
        if (calls_per_batch(t, &base, c, base_slots, &base_calls, &why)) {
            base.s = NULL;
            ready = baseline_failed(b, ct, &why, err);
        }
    }
    if (ready < 0 || alternate(t, ct, b, &cand, &base, calls, base_calls, &worst, &right, err)) return -1;
    if (!right) return 0;
    note_clocks(t, &cand, &base, c);
    ct->baseline = base.s ? kg_baseline_name(b) : NULL;
    ct->host_s = cand.host_s;
    ct->held = !kg_session_synchronises(t->session);
    if (ct->rounds++ == 0) kg_trial_result(t, c, true, &worst, NULL);
    return 0;
}

// ---- numbers -----------------------------------------------------------------------------------------

static void default_work(const kg_trial *t, const kg_case *c, kg_work *w) {
    w->bytes_read = (double)kg_case_input_bytes(c, t->task);
    w->bytes_written = (double)kg_case_output_bytes(c, t->task);
    for (int i = 0; i < c->n_outs; i++) w->ops[KG_U_FP32] += (double)kg_numel(&c->outs[i]);
}

static kg_work work_of(const kg_trial *t, const kg_case *c) {
    kg_work w = {0};
    if (t->task->work) t->task->work(t->task, c, &w);
    else default_work(t, c, &w);
    return w;
}

static kg_sol sol_of(const kg_trial *t, const kg_case *c, const kg_ceilings *held) {
    kg_work w = work_of(t, c);
    return kg_roofline_sol(&w, held, t->precision, kg_dtype_part(kg_case_principal(c, t->task)));
}

static void evaluate(kg_trial *t, kg_case_times *ct) {
    const kg_work w = work_of(t, ct->c);
    ct->sol = sol_of(t, ct->c, &t->ceilings);
    ct->bytes = w.bytes_read + w.bytes_written;
    // What a busy device takes longest for is not bound by launches for that.
    const kg_ceilings granted = kg_trial_ceilings_at(t, ct);
    if (ct->sol.bound != KG_BOUND_LATENCY) ct->sol = sol_of(t, ct->c, &granted);
    ct->floor_s = kg_roofline_floor(&w, &t->ceilings, (double)t->judge->info.cache_bytes, !t->judge->o.hot);
    ct->time = kg_median_interval(&ct->cand);
    if (ct->base.n)
        ct->lre = kg_widened(kg_ratio_interval(&ct->base, &ct->cand), t->judge->device->ops->between_processes);
    if (ct->sol.seconds > 0)
        ct->util =
            (kg_interval){ct->sol.seconds / ct->time.mid, ct->sol.seconds / ct->time.hi, ct->sol.seconds / ct->time.lo};
}

// Faster than the ceilings allow, by more than their own error.
static bool passes_ceilings(const kg_case_times *ct) {
    return ct->cand.n && (ct->time.mid < ct->floor_s || (ct->sol.bound == KG_BOUND_MEMORY && ct->util.mid > 1.05));
}

static void check_floors(kg_trial *t) {
    bool any = false;
    for (size_t i = 0; i < t->n_times; i++) any = any || passes_ceilings(&t->times[i]);
    if (any && kg_trial_raise_ceilings(t))
        for (size_t i = 0; i < t->n_times; i++)
            if (t->times[i].cand.n) evaluate(t, &t->times[i]);
    for (size_t i = 0; i < t->n_times; i++) {
        const kg_case_times *ct = &t->times[i];
        if (ct->cand.n && ct->time.mid < ct->floor_s)
            kg_trial_violation(t, "below-floor",
                               kg_format("%s: %.3f us is less than the %.3f us that this device needs for its work",
                                         ct->c->name, ct->time.mid * 1e6, ct->floor_s * 1e6));
    }
}

// A kernel that keeps up with the library and still is far from the ceilings: on a machine shared with others they may
// have been out of anybody's reach. What was in reach beside the kernel counts before it is called slow.
static void doubt_ceilings(kg_trial *t) {
    kg_verdict v = kg_verdict_of(t);
    if (v.roofline != KG_SCREEN_FAIL || v.library == KG_SCREEN_FAIL || !kg_trial_lower_ceilings(t)) return;
    for (size_t i = 0; i < t->n_times; i++)
        if (t->times[i].cand.n) evaluate(t, &t->times[i]);
}

// *b: NULL when there is none, and t->no_baseline says why. -1: the one that was named cannot be used.
static int baseline_for(kg_trial *t, kg_baseline **b, kg_error *err) {
    kg_error e = {0};
    int rc = 0;
    *b = NULL;
    if (!t->sizes.n) return 0;
    kg_trial_progress(t, "baseline of %s", t->task->name);
    const kg_step before = kg_steps_to(&t->steps, KG_STEP_LIBRARY);
    if (kg_baseline_get(t, t->precision, b, &e) == 0 && kg_session_share(kg_baseline_session(*b), t->session, &e) == 0)
        t->baseline_settings = kg_baseline_settings(*b);
    else if (kg_baseline_named(t->judge)) rc = kg_fail(err, e.code, "%s", e.text);
    else t->no_baseline = kg_strdup(e.text), *b = NULL;
    kg_steps_to(&t->steps, before);
    kg_error_clear(&e);
    return rc;
}

// A library that was named and has none of the sizes must not vanish either.
static int check_served(const kg_trial *t, const kg_baseline *b, kg_error *err) {
    if (!b || !kg_baseline_named(t->judge)) return 0;
    for (size_t i = 0; i < t->n_times; i++)
        if (t->times[i].base.n) return 0;
    const char *why = t->times[0].no_baseline;
    return kg_fail(err, KG_ERR_CANNOT, "baseline %s: %s", kg_baseline_name(b), why ? why : "it could not be timed");
}

static kg_case_times no_times(const kg_case *c) {
    const kg_interval unknown = {NAN, NAN, NAN};
    return (kg_case_times){
        .c = c, .host_s = NAN, .floor_s = NAN, .time = unknown, .lre = unknown, .util = unknown, .sol.seconds = NAN};
}

// Sorts a failure at a size into the candidate's faults (0) and the judge's own (-1); clears e.
static int blame(kg_trial *t, const kg_case *c, kg_error *e, kg_error *err) {
    int rc = 0;
    if (e->code == KG_ERR_DIED || e->code == KG_ERR_TIMEOUT)
        kg_trial_broke(t, c, true, kg_format("size %s: %s", c->name, e->text));
    else if (e->code == KG_ERR_CANDIDATE) kg_trial_result(t, c, true, NULL, kg_strdup(e->text));
    else rc = kg_fail(err, e->code, "size %s: %s", c->name, e->text);
    kg_error_clear(e);
    return rc;
}

static int size_round(kg_trial *t, kg_case_times *ct, kg_baseline *b, kg_error *err) {
    kg_error e = {0};
    int rc = 0;
    if (time_size(t, ct, b, &e) == 0) {
        if (ct->cand.n) evaluate(t, ct);
    } else {
        rc = blame(t, ct->c, &e, err);
    }
    return rc;
}

// ---- sizes that cannot change anything -----------------------------------------------------------------

// Whether the roofline's mean stays below its threshold even if every size from `next` on is as fast as the device
// allows. Only where that is far from close: twice as fast would not do either.
static bool slow_whatever_comes(const kg_trial *t, size_t next) {
    const kg_thresholds *held = &t->judge->o.thresholds;
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->sizes.n; i++) {
        const kg_case_times *ct = &t->times[i];
        kg_sol sol = i < next ? ct->sol : sol_of(t, &t->sizes.items[i], &t->ceilings);
        if (!isfinite(sol.seconds) || sol.bound == KG_BOUND_LATENCY || (i < next && !ct->cand.n)) continue;
        sum += log((i < next ? ct->util.hi : 1) / held->util_min[sol.bound]);
        n++;
    }
    return n && sum / (double)n < log(0.5);
}

// What a call at size i is expected to take, from how far below the device the last size timed before it stayed.
static double expected_s(const kg_trial *t, size_t i) {
    size_t before = i;
    while (before > 0 && !t->times[before - 1].cand.n) before--;
    if (before == 0 || !(t->times[before - 1].util.mid > 0)) return 0;
    return sol_of(t, &t->sizes.items[i], &t->ceilings).seconds / t->times[before - 1].util.mid;
}

// A slow kernel's largest sizes take longest and tell least: there one call is checked and none is timed.
static bool needs_no_time(kg_trial *t, size_t i) {
    double s = expected_s(t, i);
    if (!(s > LONG_CALL_S) || !slow_whatever_comes(t, i)) return false;
    char *why = kg_format("about %.1f s a call expected, and no speed there could change the verdict", s);
    json_array_append_new(t->not_timed, json_pack("{s:s,s:s}", "case", t->sizes.items[i].name, "why", why));
    free(why);
    return true;
}

static int check_only(kg_trial *t, const kg_case *c, kg_error *err) {
    side x = {.s = t->session};
    kg_check worst = {0};
    bool right = true;
    int slots = 1;
    double took;
    kg_error e = {0};
    if (checked_at(t, c)) return 0;
    if (kg_session_case(t->session, c, &slots, kg_trial_limit(t, c), &e) ||
        first_call(t, &x, c, &right, &worst, &took, &e))
        return blame(t, c, &e, err);
    if (right) kg_trial_result(t, c, true, &worst, NULL);
    return 0;
}

// Where a lower precision is still right (tf32 for products), which one a candidate works at shows at the sizes that
// are timed: a library may take other kernels there than for small cases. The baseline must be of that precision.
static int precision_at_sizes(kg_trial *t, kg_error *err) {
    for (size_t i = 0; i < t->sizes.n && !t->broken && !kg_trial_failed(t); i++) {
        if (kg_interrupted()) return kg_fail(err, KG_ERR_CANNOT, "interrupted");
        kg_trial_progress(t, "size %zu of %zu: %s", i + 1, t->sizes.n, t->sizes.items[i].name);
        if (check_only(t, &t->sizes.items[i], err)) return -1;
    }
    kg_trial_find_precision(t);
    return 0;
}

int kg_trial_timing(kg_trial *t, kg_error *err) {
    if (t->sizes.n && kg_check_required(t->task, &t->sizes.items[0]) == KG_PREC_TF32) {
        if (precision_at_sizes(t, err)) return -1;
        if (t->broken || kg_trial_failed(t)) return 0;
    }
    t->times = kg_alloc((t->sizes.n ? t->sizes.n : 1) * sizeof *t->times);
    kg_baseline *b;
    if (baseline_for(t, &b, err)) return -1;
    for (size_t i = 0; i < t->sizes.n; i++) {
        t->times[i] = no_times(&t->sizes.items[i]);
        if (t->no_baseline) t->times[i].no_baseline = kg_strdup(t->no_baseline);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < t->sizes.n; i++) {
            kg_trial_progress(t, "timing %zu of %zu: %s", i + 1, t->sizes.n, t->sizes.items[i].name);
            if (round == 0) t->n_times = i + 1;
            if (t->times[i].left_out || (round == 0 && needs_no_time(t, i))) {
                t->times[i].left_out = true;
                if (round == 0 && check_only(t, t->times[i].c, err)) return -1;
            } else if (size_round(t, &t->times[i], b, err)) return -1;
            if (t->broken || kg_trial_failed(t)) return 0;
        }
        if (round == 0 && check_served(t, b, err)) return -1;
        if (t->n_violations || kg_verdict_of(t).sure) break;
    }
    check_floors(t);
    doubt_ceilings(t);
    return 0;
}
