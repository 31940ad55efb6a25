// The result record: DESIGN.md's schema 1. A number that was not measured is null, never 0.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/check.h"
#include "judge/trial.h"
#include "judge/verdict.h"

static json_t *number(double v) { return isfinite(v) ? json_real(v) : json_null(); }
static json_t *text(const char *s) {
    json_t *j = s ? json_string(s) : json_null();
    return j ? j : json_string("(not valid UTF-8)");
}

static void set(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }

static json_t *candidate_part(const kg_trial *t) {
    const kg_candidate *c = t->cand;
    json_t *o = json_object();
    set(o, "path", text(c->path));
    set(o, "sha256", text(c->sha256));
    set(o, "language", text(kg_language_name(c->language)));
    set(o, "entry", text(t->entry ? t->entry : c->entry));
    set(o, "method", text(c->method));
    set(o, "round", text(c->round));
    return o;
}

static json_t *device_part(const kg_trial *t) {
    const kg_device_info *i = &t->judge->info;
    json_t *o = json_object();
    set(o, "kind", text(i->kind));
    set(o, "name", text(i->name));
    set(o, "driver", text(i->driver));
    set(o, "notes", text(i->notes));
    return o;
}

static json_t *build_part(const kg_trial *t) {
    json_t *o = json_object();
    set(o, "ok", json_boolean(t->built));
    set(o, "seconds", t->built ? number(t->artifact.seconds) : json_null());
    set(o, "log", text(t->artifact.log && *t->artifact.log ? t->artifact.log : NULL));
    return o;
}

static const kg_case_result *worst_of(const kg_trial *t) {
    const kg_case_result *w = NULL;
    if (t->broke_in_case) return &t->results[t->n_results - 1];
    for (size_t i = 0; i < t->n_results; i++) {
        const kg_case_result *r = &t->results[i];
        bool more = !w || (w->ok && !r->ok) || (w->ok == r->ok && r->error_over_bound > w->error_over_bound);
        if (more) w = r;
    }
    return w;
}

// Every wrong case, in the order they were judged.
static json_t *wrong_cases(const kg_trial *t) {
    json_t *list = json_array();
    const kg_case_result *end = t->results + t->n_results;
    for (const kg_case_result *r = t->results; r != end; r++) {
        if (r->ok) continue;
        json_t *o = json_object();
        set(o, "case", text(r->c->name));
        set(o, "answered", json_boolean(r->answered));
        set(o, "error_over_bound", number(r->error_over_bound));
        set(o, "why", text(r->why));
        json_array_append_new(list, o);
    }
    return list;
}

// The reading that most right cases follow: small ones often fit several, of which the first was taken.
static const char *reading_of(const kg_trial *t) {
    const char *most = NULL;
    size_t n = 0;
    for (size_t i = 0; i < t->n_results; i++) {
        size_t same = 0;
        for (size_t k = 0; t->results[i].reading && k < t->n_results; k++)
            same += t->results[k].reading == t->results[i].reading;
        if (same > n) n = same, most = t->results[i].reading;
    }
    return most;
}

static json_t *likeness(const kg_likeness *l) {
    return json_pack("{s:o,s:o,s:o}", "rmse", number(l->rmse), "l1_relative", number(l->l1_relative), "cosine_sim",
                     number(l->cosine));
}

// What a public benchmark asks, how many cases with an output have it, and the worst of each number.
static json_t *public_part(const kg_trial *t) {
    const kg_likeness *asked = t->task->public_limits;
    kg_likeness worst = {0, 0, 1};
    int cases = 0, met = 0;
    for (size_t i = 0; i < t->n_results; i++) {
        const kg_likeness *l = &t->results[i].likeness;
        if (isnan(l->rmse)) continue;
        cases++;
        met += l->rmse <= asked->rmse && l->l1_relative <= asked->l1_relative && l->cosine >= asked->cosine;
        worst.rmse = fmax(worst.rmse, l->rmse);
        worst.l1_relative = fmax(worst.l1_relative, l->l1_relative);
        worst.cosine = fmin(worst.cosine, l->cosine);
    }
    return json_pack("{s:o,s:i,s:i,s:o}", "asked", likeness(asked), "cases", cases, "met", met, "worst",
                     cases ? likeness(&worst) : json_null());
}

static json_t *correctness_part(const kg_trial *t) {
    json_t *o = json_object(), *worst = json_object();
    size_t failed = kg_trial_failed(t);
    set(o, "ok", t->n_results && !t->broken ? json_boolean(failed == 0) : failed ? json_false() : json_null());
    set(o, "cases", json_integer((json_int_t)t->n_results));
    set(o, "failed", json_integer((json_int_t)failed));
    if (json_array_size(t->not_checked)) set(o, "not_checked", json_incref(t->not_checked));
    if (t->not_run) set(o, "not_run", json_integer((json_int_t)t->not_run));
    set(o, "seed", json_integer((json_int_t)t->seed));
    bool right = t->n_results && !failed && !t->broken;  // a wrong kernel works at no precision
    set(o, "precision", right && t->precision != KG_PREC_NONE ? text(kg_precision_name(t->precision)) : json_null());
    if (t->task->public_limits) set(o, "public", public_part(t));
    if (t->task->readings) set(o, "reading", text(reading_of(t)));
    const kg_case_result *w = worst_of(t);
    if (w) {
        set(worst, "case", text(w->c->name));
        set(worst, "error_over_bound", number(w->error_over_bound));
        char *line = w->ok ? NULL : kg_trial_replay(t, w->c);  // of a right case there is nothing to see again
        set(worst, "replay", text(line));
        free(line);
        if (!w->ok) set(o, "why", text(w->why));
    }
    set(o, "worst", w ? worst : json_null());
    if (failed) set(o, "wrong", wrong_cases(t));
    if (!w) json_decref(worst);
    return o;
}

static json_t *integrity_part(const kg_trial *t) {
    json_t *o = json_object(), *list = json_array();
    for (size_t i = 0; i < t->n_violations; i++)
        json_array_append_new(
            list, json_pack("{s:s,s:s}", "family", t->violations[i].family, "evidence", t->violations[i].evidence));
    json_t *sandbox = t->sandbox ? json_loads(t->sandbox, 0, NULL) : NULL;
    set(o, "ok", json_boolean(t->n_violations == 0));
    set(o, "sandbox", sandbox ? sandbox : json_array());
    set(o, "violations", list);
    return o;
}

static json_t *interval(kg_interval i, double scale) {
    return isfinite(i.lo) && isfinite(i.hi) ? json_pack("[f,f]", i.lo * scale, i.hi * scale) : json_null();
}

static json_t *times_part(const kg_case_times *ct) {
    json_t *o = json_object();
    set(o, "case", text(ct->c->name));
    set(o, "time_us", number(ct->time.mid * 1e6));
    set(o, "ci_us", interval(ct->time, 1e6));
    set(o, "samples", json_integer((json_int_t)ct->cand.n));
    set(o, "batches", json_integer(ct->batches));
    set(o, "held", json_boolean(ct->held));
    set(o, "host_us", number(ct->host_s * 1e6));
    set(o, "baseline", text(ct->baseline));
    if (!ct->baseline) set(o, "no_baseline", text(ct->no_baseline));
    set(o, "baseline_us", number(ct->base.n ? kg_median(ct->base.v, ct->base.n) * 1e6 : NAN));
    set(o, "sol_us", number(ct->sol.seconds * 1e6));
    set(o, "bound", isfinite(ct->sol.seconds) ? text(kg_bound_name(ct->sol.bound)) : json_null());
    set(o, "lre", number(ct->lre.mid));
    set(o, "lre_ci", interval(ct->lre, 1));
    set(o, "utilization", number(ct->util.mid));
    return o;
}

static json_t *performance_part(const kg_trial *t, const kg_verdict *v) {
    json_t *o = json_object(), *cases = json_array();
    for (size_t i = 0; i < t->n_times; i++)
        if (t->times[i].cand.n) json_array_append_new(cases, times_part(&t->times[i]));
    set(o, "lre", number(v->lre.mid));
    set(o, "lre_ci", interval(v->lre, 1));
    set(o, "utilization", number(v->util.mid));
    set(o, "utilization_ci", interval(v->util, 1));
    set(o, "speedup", number(v->speedup));
    set(o, "worst_case", text(v->worst_case));
    set(o, "sure",
        v->library == KG_SCREEN_NONE && v->roofline == KG_SCREEN_NONE
            ? json_null()
            : json_boolean(v->sure && !t->busy && !t->ceilings.disturbed));
    set(o, "cache", text(t->judge->o.hot ? "hot" : "cold"));
    set(o, "baseline_settings", text(t->baseline_settings));
    if (t->no_baseline) set(o, "no_baseline", text(t->no_baseline));
    set(o, "ceilings", text(t->ceilings.source));
    const kg_overhead *c = &t->overhead;
    set(o, "calibration",
        json_pack("{s:f,s:f,s:f,s:f}", "event_us", c->event_s * 1e6, "empty_call_us", c->empty_s * 1e6,
                  "judge_per_call_us", c->per_call_s * 1e6, "judge_per_batch_us", c->per_batch_s * 1e6));
    set(o, "cases", cases);
    set(o, "not_timed", json_incref(t->not_timed));
    return o;
}

// Why a screen says nothing of a kernel that was timed.
static const char *why_no_library(const kg_trial *t) {
    if (t->no_baseline) return t->no_baseline;
    for (size_t i = 0; i < t->n_times; i++)
        if (t->times[i].base.n) return "every size with a baseline is at the launch floor";
    return t->times[0].no_baseline ? t->times[0].no_baseline : "no size has a baseline";
}

static const char *why_no_roofline(const kg_trial *t) {
    for (size_t i = 0; i < t->n_times; i++)
        if (isfinite(t->times[i].sol.seconds)) return "every size is at the launch floor";
    return "this device's ceilings are not known";
}

static json_t *screens_part(const kg_trial *t, const kg_verdict *v) {
    json_t *o = json_object();
    bool timed = t->n_times && t->times[0].cand.n && !t->broken && !kg_trial_failed(t);
    const kg_thresholds *held = &t->judge->o.thresholds;
    set(o, "library", text(kg_screen_name(v->library)));
    if (timed && v->library == KG_SCREEN_NONE) set(o, "library_why", text(why_no_library(t)));
    set(o, "roofline", text(kg_screen_name(v->roofline)));
    if (timed && v->roofline == KG_SCREEN_NONE) set(o, "roofline_why", text(why_no_roofline(t)));
    set(o, "lre_min", number(held->lre_min));
    set(o, "util_min",
        json_pack("{s:f,s:f}", "memory", held->util_min[KG_BOUND_MEMORY], "compute", held->util_min[KG_BOUND_COMPUTE]));
    return o;
}

json_t *kg_trial_record(const kg_trial *t, const char *started, double seconds) {
    kg_verdict v = kg_verdict_of(t);
    json_t *o = json_object();
    set(o, "schema", json_integer(1));
    set(o, "id", json_null());
    set(o, "candidate", candidate_part(t));
    char *label = t->task ? kg_task_label(t->task) : NULL;
    set(o, "task", text(label ? label : t->cand->task));
    free(label);
    set(o, "suite", text(t->task ? t->task->suite : NULL));
    set(o, "category", text(t->task ? t->task->category : NULL));
    set(o, "device", device_part(t));
    set(o, "verdict", text(v.verdict));
    set(o, "class", text(v.class_name));
    set(o, "error", text(t->broken));
    set(o, "build", build_part(t));
    set(o, "correctness", t->task ? correctness_part(t) : json_null());
    set(o, "integrity", integrity_part(t));
    if (t->judge->o.scope) set(o, "scope", text(t->judge->o.scope));
    if (t->judge->o.case_only) set(o, "case_only", text(t->judge->o.case_only));
    set(o, "performance", t->task ? performance_part(t, &v) : json_null());
    set(o, "screens", screens_part(t, &v));
    if (t->counters) set(o, "counters", json_incref(t->counters));
    set(o, "findings", t->findings ? json_incref(t->findings) : json_array());
    set(o, "started", text(started));
    set(o, "seconds", number(seconds));
    return o;
}
