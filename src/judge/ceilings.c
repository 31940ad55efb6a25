// Ceilings doubted. Those that a kernel passed are measured again before anybody is accused: they may have been
// measured while the machine was busy. Those that a kernel stays far below, before it is called slow: the machine may
// have been busy while it was timed, which glances between its batches tell.
#include <math.h>
#include <stdlib.h>

#include "judge/trial.h"

// A device that gave less than this of what bounds a kernel was too busy to be sure of it.
#define BUSY 0.75
// Looks at a size that say something, and what a candidate's process may have worked during one.
#define LEAST_LOOKS   3
#define STOOD_STILL_S 1e-4

static double higher(double a, double b) { return isnan(a) || b > a ? b : a; }
static double lower(double a, double b) { return isnan(a) || b < a ? b : a; }

// Takes the faster of the two throughout.
static void merge(kg_ceilings *to, const kg_ceilings *from) {
    to->read_bytes_s = higher(to->read_bytes_s, from->read_bytes_s);
    to->write_bytes_s = higher(to->write_bytes_s, from->write_bytes_s);
    to->copy_bytes_s = higher(to->copy_bytes_s, from->copy_bytes_s);
    to->one_core_copy_bytes_s = higher(to->one_core_copy_bytes_s, from->one_core_copy_bytes_s);
    to->one_core_fp32_ops_s = higher(to->one_core_fp32_ops_s, from->one_core_fp32_ops_s);
    to->cache_bytes_s = higher(to->cache_bytes_s, from->cache_bytes_s);
    to->launch_s = lower(to->launch_s, from->launch_s);
    for (int u = 0; u < 8; u++) to->ops_s[u] = higher(to->ops_s[u], from->ops_s[u]);
}

// While the candidate and the library stand still.
static bool measure_again(kg_trial *t, kg_ceilings *again) {
    kg_judge *j = t->judge;
    kg_trial_progress(t, "measuring the ceilings again: %s passed them", t->task->name);
    const kg_step before = kg_steps_to(&t->steps, KG_STEP_CEILINGS);
    kg_session_pause(t->session);
    if (j->baseline) kg_session_pause(kg_baseline_session(j->baseline));
    bool measured = j->device->ops->measure(j->device, again, NULL, NULL, NULL) == 0;
    kg_steps_to(&t->steps, before);
    return measured;
}

// The machine has calmed down: what the first measurement says of itself holds no more.
static void take_source(kg_ceilings *to, const kg_ceilings *from) {
    free(to->source);
    to->source = from->source ? kg_strdup(from->source) : NULL;
    to->disturbed = false;
}

bool kg_trial_raise_ceilings(kg_trial *t) {
    kg_judge *j = t->judge;
    if (j->raised) return false;
    j->raised = true;  // once a run: a second look in the same minute would say the same
    kg_ceilings again = {0};
    if (!measure_again(t, &again)) return false;
    if (j->ceilings.disturbed && !again.disturbed) {
        take_source(&j->ceilings, &again);
        take_source(&t->ceilings, &again);
    }
    merge(&j->ceilings, &again);
    merge(&t->ceilings, &again);
    kg_ceilings_free(&again);
    return true;
}

void kg_trial_glance(kg_trial *t, kg_case_times *ct) {
    kg_device *d = t->judge->device;
    if (!d->ops->glance) return;
    kg_grant seen = {NAN, NAN};
    bool alone = false;
    kg_error why = {0};  // no memory or no threads for it: then there is none
    const kg_step before = kg_steps_to(&t->steps, KG_STEP_CEILINGS);
    const double worked = kg_session_worked(t->session);
    if (d->ops->glance(d, &t->ceilings, &seen, &alone, &why)) kg_error_clear(&why);
    kg_steps_to(&t->steps, before);
    // What slowed the look may be the candidate's: a stop does not end a system call, nor a child's work.
    if (!alone && !(kg_session_worked(t->session) - worked < STOOD_STILL_S)) return;
    if (isfinite(seen.memory)) kg_samples_add(&ct->memory, seen.memory, ct->batches);
    if (isfinite(seen.compute)) kg_samples_add(&ct->compute, seen.compute, ct->batches);
}

// NAN: too few looks to tell.
static double granted(const kg_samples *seen) { return seen->n >= LEAST_LOOKS ? kg_median(seen->v, seen->n) : NAN; }

static kg_grant grant_at(const kg_case_times *ct) { return (kg_grant){granted(&ct->memory), granted(&ct->compute)}; }

kg_ceilings kg_trial_ceilings_at(const kg_trial *t, const kg_case_times *ct) {
    return t->granted_only ? kg_ceilings_granted(&t->ceilings, grant_at(ct)) : t->ceilings;
}

// The least that a size got, of what bounds it.
static kg_grant least_granted(const kg_trial *t, double *bound) {
    kg_grant least = {1, 1};
    *bound = 1;
    for (size_t i = 0; i < t->n_times; i++) {
        const kg_case_times *ct = &t->times[i];
        const kg_grant g = grant_at(ct);
        if (!ct->cand.n) continue;
        least.memory = fmin(least.memory, g.memory);
        least.compute = fmin(least.compute, g.compute);
        if (ct->sol.bound != KG_BOUND_LATENCY)
            *bound = fmin(*bound, ct->sol.bound == KG_BOUND_MEMORY ? g.memory : g.compute);
    }
    return least;
}

bool kg_trial_lower_ceilings(kg_trial *t) {
    if (!t->judge->device->ops->glance) return false;
    kg_ceilings *c = &t->ceilings;
    double bound;
    const kg_grant least = least_granted(t, &bound);
    t->granted_only = true;
    t->busy |= bound < BUSY;
    const double copy = c->copy_bytes_s * 1e-9, fp32 = c->ops_s[KG_U_FP32] * 1e-9;
    char *source =
        kg_format("%s; beside this kernel down to copy %.3g GB/s of %.3g, fp32 from the caches %.3g Gop/s of %.3g",
                  c->source ? c->source : "source unknown", least.memory * copy, copy, least.compute * fp32, fp32);
    free(c->source);
    c->source = source;
    return true;
}
