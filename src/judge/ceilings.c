// Ceilings measured again. Those that a kernel passed, before anybody is accused: they may have been measured while the
// machine was busy. Those that a kernel stays far below, before it is called slow: the machine may be busy now.
#include <math.h>
#include <stdlib.h>

#include "judge/trial.h"

static double higher(double a, double b) { return isnan(a) || b > a ? b : a; }
static double lower(double a, double b) { return isnan(a) || b < a ? b : a; }

// Takes the faster of the two rates throughout, or the slower.
static void merge(kg_ceilings *to, const kg_ceilings *from, bool faster) {
    double (*rate)(double, double) = faster ? higher : lower, (*time)(double, double) = faster ? lower : higher;
    to->read_bytes_s = rate(to->read_bytes_s, from->read_bytes_s);
    to->write_bytes_s = rate(to->write_bytes_s, from->write_bytes_s);
    to->copy_bytes_s = rate(to->copy_bytes_s, from->copy_bytes_s);
    to->one_core_copy_bytes_s = rate(to->one_core_copy_bytes_s, from->one_core_copy_bytes_s);
    to->one_core_fp32_ops_s = rate(to->one_core_fp32_ops_s, from->one_core_fp32_ops_s);
    to->cache_bytes_s = rate(to->cache_bytes_s, from->cache_bytes_s);
    to->launch_s = time(to->launch_s, from->launch_s);
    for (int u = 0; u < 8; u++) to->ops_s[u] = rate(to->ops_s[u], from->ops_s[u]);
}

// While the candidate and the library stand still.
static bool measure_again(kg_trial *t, const char *because, kg_ceilings *again) {
    kg_judge *j = t->judge;
    kg_trial_progress(t, "measuring the ceilings again: %s %s", t->task->name, because);
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
    if (!measure_again(t, "passed them", &again)) return false;
    if (j->ceilings.disturbed && !again.disturbed) {
        take_source(&j->ceilings, &again);
        take_source(&t->ceilings, &again);
    }
    merge(&j->ceilings, &again, true);
    merge(&t->ceilings, &again, true);
    kg_ceilings_free(&again);
    return true;
}

bool kg_trial_lower_ceilings(kg_trial *t) {
    const kg_device *d = t->judge->device;
    kg_ceilings again = {0};
    if (!d->ops->shared || !measure_again(t, "is far below them", &again)) return false;
    kg_ceilings *c = &t->ceilings;
    double before = c->copy_bytes_s;
    merge(c, &again, false);
    c->disturbed |= again.disturbed;
    char *source =
        kg_format("%s; beside this kernel copy %.3g GB/s of %.3g%s", c->source ? c->source : "source unknown",
                  again.copy_bytes_s * 1e-9, before * 1e-9, again.disturbed ? ", on a busy machine" : "");
    free(c->source);
    c->source = source;
    kg_ceilings_free(&again);
    return true;
}
