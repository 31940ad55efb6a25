#include "judge/verdict.h"

#include <math.h>
#include <stdlib.h>

// Sizes that a screen looks at, as the arrays measure.h takes.
typedef struct {
    const kg_samples **cand, **base;
    double *share;  // SOL, or SOL over the threshold of its bound
    size_t n;
} selection;

static selection select_sizes(const kg_trial *t, bool (*pick)(const kg_case_times *),
                              double (*share)(const kg_trial *, const kg_case_times *)) {
    selection s = {0};
    size_t room = t->n_times ? t->n_times : 1;
    s.cand = kg_alloc(room * sizeof *s.cand);
    s.base = kg_alloc(room * sizeof *s.base);
    s.share = kg_alloc(room * sizeof *s.share);
    for (size_t i = 0; i < t->n_times; i++) {
        const kg_case_times *ct = &t->times[i];
        if (!ct->cand.n || !pick(ct)) continue;
        s.cand[s.n] = &ct->cand;
        s.base[s.n] = &ct->base;
        s.share[s.n++] = share ? share(t, ct) : 0;
    }
    return s;
}

static void selection_free(selection *s) {
    free(s->cand);
    free(s->base);
    free(s->share);
}

static bool with_baseline(const kg_case_times *ct) { return ct->base.n > 0; }
// Sizes at the launch floor say nothing about how well a kernel is written: timed, not screened.
static bool screened(const kg_case_times *ct) {
    return !(isfinite(ct->sol.seconds) && ct->sol.bound == KG_BOUND_LATENCY);
}
static bool for_library(const kg_case_times *ct) { return with_baseline(ct) && screened(ct); }
static bool for_roofline(const kg_case_times *ct) { return isfinite(ct->sol.seconds) && screened(ct); }

static double sol(const kg_trial *t, const kg_case_times *ct) {
    (void)t;
    return ct->sol.seconds;
}
// Utilisation in units of its threshold, so that memory-bound and compute-bound sizes can be averaged.
static double sol_by_threshold(const kg_trial *t, const kg_case_times *ct) {
    return ct->sol.seconds / t->judge->o.thresholds.util_min[ct->sol.bound];
}

static const kg_interval nothing = {NAN, NAN, NAN};

static kg_interval lre_over(const kg_trial *t, bool (*pick)(const kg_case_times *)) {
    selection s = select_sizes(t, pick, NULL);
    kg_interval r = nothing;
    if (s.n) r = kg_widened(kg_geomean_interval(s.base, s.cand, s.n), t->judge->device->ops->between_processes);
    selection_free(&s);
    return r;
}

static kg_interval util_over(const kg_trial *t, double (*share)(const kg_trial *, const kg_case_times *)) {
    selection s = select_sizes(t, for_roofline, share);
    kg_interval r = s.n ? kg_geomean_fixed(s.share, s.cand, s.n) : nothing;
    selection_free(&s);
    return r;
}

static const char *lowest(const kg_trial *t, bool by_lre) {
    const char *name = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < t->n_times; i++) {
        const kg_case_times *ct = &t->times[i];
        if (!ct->cand.n || !(by_lre ? for_library(ct) : for_roofline(ct))) continue;
        double v = by_lre ? ct->lre.mid : sol_by_threshold(t, ct) / ct->time.mid;
        if (v < least) {
            least = v;
            name = ct->c->name;
        }
    }
    return name;
}

static void apply_screens(const kg_trial *t, kg_verdict *v) {
    bool sure_library = true, sure_roofline = true;
    v->lre = lre_over(t, for_library);
    v->util = util_over(t, sol);
    kg_interval all = lre_over(t, with_baseline), by_threshold = util_over(t, sol_by_threshold);
    v->speedup = all.mid;
    v->library = v->roofline = KG_SCREEN_NONE;
    if (isfinite(v->lre.mid)) v->library = kg_screen_decide(v->lre, t->judge->o.thresholds.lre_min, &sure_library);
    if (isfinite(by_threshold.mid)) v->roofline = kg_screen_decide(by_threshold, 1, &sure_roofline);
    v->sure = sure_library && sure_roofline;
    v->class_name = kg_class_of(v->library, v->roofline, t->explained);
    bool by_lre = v->library == KG_SCREEN_FAIL || (v->roofline != KG_SCREEN_FAIL && v->library != KG_SCREEN_NONE);
    v->worst_case = lowest(t, by_lre);
}

// A candidate that never gave an answer, because every call failed, is broken rather than wrong.
static bool answered(const kg_trial *t) {
    for (size_t i = 0; i < t->n_results; i++)
        if (t->results[i].answered) return true;
    return t->n_results == 0;
}

kg_verdict kg_verdict_of(const kg_trial *t) {
    kg_verdict v = {.library = KG_SCREEN_NONE,
                    .roofline = KG_SCREEN_NONE,
                    .lre = nothing,
                    .util = nothing,
                    .speedup = NAN,
                    .sure = true};
    size_t failed = kg_trial_failed(t);
    if (t->n_times && !failed && !t->broken) apply_screens(t, &v);
    if (t->broken || !answered(t)) v.verdict = "broken";
    else if (t->n_violations) v.verdict = "tampered";
    else if (failed) v.verdict = "incorrect";
    else if (v.library == KG_SCREEN_FAIL || v.roofline == KG_SCREEN_FAIL) v.verdict = "slow";
    else v.verdict = t->n_times ? "efficient" : "right";
    if (v.verdict[0] != 's' && v.verdict[0] != 'e') v.class_name = NULL;
    return v;
}
