#include "cli/fixing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/scratch.h"

// Below the launch floor two processes of one kernel differ by so much, and a size there may lose this much.
#define FLOOR_LOSS 0.10
#define LOSS       0.01  // elsewhere, beyond the interval

typedef struct {
    const kg_fixing *f;
    const kg_candidate *c;
    char *source;  // the best so far; owned
    kg_scratch folder;
    char *base;   // where it lies, in that folder, for the judge to compare with; owned
    char *worst;  // the size that decides; owned
    json_t *steps;
} fixing;

static const char *extension(kg_language l) { return l == KG_LANG_C ? "c" : l == KG_LANG_CUDA ? "cu" : "py"; }

static int keep_source(fixing *x, kg_error *err) {
    FILE *f = fopen(x->base, "we");
    int failed = !f || fputs(x->source, f) < 0;
    if (f && fclose(f)) failed = 1;
    return failed ? kg_fail(err, KG_ERR_CANNOT, "%s: cannot be written", x->base) : 0;
}

static void say(const fixing *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(const fixing *x, const char *fmt, ...) {
    kg_text t = {0};
    va_list ap;
    va_start(ap, fmt);
    kg_text_addv(&t, fmt, ap);
    va_end(ap);
    if (x->f->progress) x->f->progress(t.data);
    kg_text_free(&t);
}

// An interrupt reaches the runner too: what it did then says nothing about the candidate.
static int judge(const fixing *x, const kg_candidate *c, json_t **record, kg_error *err) {
    const int rc = kg_judges_candidate(x->f->judges, c, record, err);
    if (!kg_interrupted()) return rc;
    json_decref(*record);
    *record = NULL;
    kg_error_clear(err);
    return kg_fail(err, KG_ERR_CANNOT, "interrupted: nothing is said of it");
}

static int judge_source(fixing *x, const char *source, const char *baseline, const char *case_only, json_t **record,
                        kg_error *err) {
    kg_candidate c = {0};
    kg_candidate_from_text(x->c->path, x->c->task, x->c->language, source, &c);
    if (x->c->entry && !c.entry) c.entry = kg_strdup(x->c->entry);
    kg_judges_compare(x->f->judges, baseline, case_only);
    int rc = judge(x, &c, record, err);
    kg_judges_compare(x->f->judges, x->f->baseline, NULL);
    kg_candidate_free(&c);
    return rc;
}

static const char *verdict_of(const json_t *record) { return kg_field_text(record, "verdict"); }
static bool is_right(const json_t *record) {
    const char *v = verdict_of(record);
    return v && (!strcmp(v, "efficient") || !strcmp(v, "slow") || !strcmp(v, "right"));
}

static double edge(const json_t *o, const char *key, size_t which) {
    const json_t *v = json_array_get(json_object_get(o, key), which);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

// Whether every size that both have is at least as fast as before; *why (owned) names the first that is not.
static bool loses_nowhere(const json_t *record, char **why) {
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(json_object_get(record, "performance"), "cases"), i, c) {
        const char *bound = kg_field_text(c, "bound");
        const double hi = edge(c, "lre_ci", 1), allowed = bound && !strcmp(bound, "latency") ? FLOOR_LOSS : LOSS;
        if (!(hi < 1 - allowed)) continue;
        *why = kg_format("slower at %s: %.2f of its speed before", kg_field_text(c, "case"), hi);
        return false;
    }
    return true;
}

// The speed at one size, over what was there before: its interval's lower end; NAN when it is not right there.
static double gain_at(const json_t *record, const char *name) {
    size_t i;
    json_t *c;
    if (!is_right(record)) return NAN;
    json_array_foreach(
        json_object_get(json_object_get(record, "performance"), "cases"), i,
        c) if (kg_field_text(c, "case") && !strcmp(kg_field_text(c, "case"), name)) return edge(c, "lre_ci", 0);
    return NAN;
}

static void note(fixing *x, const kg_repair_info *r, const json_t *record, char *why) {
    const json_t *p = json_object_get(record, "performance");
    json_t *lre = json_object_get(p, "lre"), *ci = json_object_get(p, "lre_ci");
    json_array_append_new(x->steps, json_pack("{s:s,s:s,s:s,s:o,s:O,s:O}", "repair", r->id, "what", r->what, "outcome",
                                              why ? "refused" : "kept", "why", why ? json_string(why) : json_null(),
                                              "lre", lre ? lre : json_null(), "lre_ci", ci ? ci : json_null()));
    free(why);
}

// Of a repair's variants the one that is fastest at the deciding size; its source is owned by the caller. NULL: none
// gains there, and *why (owned) says so.
static int best_variant(fixing *x, size_t repair, char **best, char **why, kg_error *err) {
    const kg_repair_info *r = kg_repair(repair);
    double gain = 1, most = NAN;
    char *refusal = NULL, *wrong = NULL;
    *best = NULL;
    for (size_t v = 0; v < r->variants && !kg_interrupted(); v++) {
        char *no = NULL,
             *source = kg_repair_apply(x->f->repairer, repair, v, x->c->language, x->source, strlen(x->source), &no);
        json_t *record = NULL;
        if (!source && !refusal) refusal = no;
        else free(no);
        if (!source) continue;
        say(x, "%s, %zu of %zu", r->id, v + 1, r->variants);
        if (judge_source(x, source, x->base, x->worst, &record, err)) {
            free(source), free(refusal), free(wrong);
            return -1;
        }
        const double g = gain_at(record, x->worst);
        if (isnan(g) && !wrong) wrong = kg_format("%s on %s", verdict_of(record), x->worst);
        if (g > most || isnan(most)) most = g;
        if (g > gain) {
            gain = g;
            free(*best);
            *best = kg_strdup(source);
        }
        json_decref(record);
        free(source);
    }
    if (!*best)
        *why = refusal                ? kg_strdup(refusal)
               : isnan(most) && wrong ? kg_strdup(wrong)
                                      : kg_format("no gain at %s", x->worst);
    free(refusal);
    free(wrong);
    return 0;
}

// Judges the best variant in full beside what was there before, and keeps it when it is right and loses nowhere.
static int try_repair(fixing *x, size_t repair, kg_error *err) {
    const kg_repair_info *r = kg_repair(repair);
    char *source = NULL, *why = NULL;
    json_t *record = NULL;
    if (best_variant(x, repair, &source, &why, err)) return -1;
    if (!source) {
        note(x, r, NULL, why);
        return 0;
    }
    say(x, "%s: on all cases and sizes", r->id);
    if (judge_source(x, source, x->base, NULL, &record, err)) {
        free(source);
        return -1;
    }
    const double lo = edge(json_object_get(record, "performance"), "lre_ci", 0);
    if (!is_right(record)) why = kg_format("it would not stay right: %s", verdict_of(record));
    else if (!(lo > 1)) why = kg_strdup("no gain over all sizes beyond the interval");
    else loses_nowhere(record, &why);
    int rc = 0;
    if (!why) {
        free(x->source);
        x->source = source;
        source = NULL;
        rc = keep_source(x, err);
    }
    note(x, r, record, why);
    json_decref(record);
    free(source);
    return rc;
}

static bool found(const json_t *findings, const char *rule, size_t len) {
    size_t i;
    json_t *f;
    json_array_foreach(findings, i, f) {
        const char *id = kg_field_text(f, "rule");
        if (id && strlen(id) == len && !memcmp(id, rule, len)) return true;
    }
    return false;
}

static bool answers(const kg_repair_info *r, const json_t *findings) {
    if (!strcmp(r->answers, "*")) return true;
    for (const char *p = r->answers; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        if (found(findings, p, n)) return true;
        p += n;
    }
    return false;
}

static int try_all(fixing *x, const json_t *findings, kg_error *err) {
    for (size_t i = 0; kg_repair(i) && !kg_interrupted(); i++) {
        const kg_repair_info *r = kg_repair(i);
        if (!(r->languages >> x->c->language & 1) || !answers(r, findings)) continue;
        if (try_repair(x, i, err)) return -1;
    }
    return 0;
}

static int open_folder(fixing *x, kg_error *err) {
    if (kg_scratch_make(&x->folder, err)) return -1;
    x->base = kg_format("%s/before.%s", x->folder.path, extension(x->c->language));
    return keep_source(x, err);
}

// Only a slow kernel is repaired: a wrong one is for its author, and an efficient one has no need of it.
static int repair(fixing *x, const json_t *before, json_t **after, kg_error *err) {
    const char *worst = kg_field_text(before, "performance.worst_case");
    if (!verdict_of(before) || strcmp(verdict_of(before), "slow") != 0 || !worst) return 0;
    x->worst = kg_strdup(worst);
    if (open_folder(x, err) || try_all(x, json_object_get(before, "findings"), err)) return -1;
    if (!x->c->source || !strcmp(x->source, x->c->source)) return 0;
    say(x, "as repaired");
    return judge_source(x, x->source, x->f->baseline, NULL, after, err);
}

int kg_fix_candidate(const kg_fixing *f, const kg_candidate *c, json_t **out, kg_error *err) {
    json_t *text = json_string(c->source ? c->source : "");
    if (!text) return kg_fail(err, KG_ERR_CANNOT, "its source is not UTF-8: a repair could not be written down");
    json_decref(text);
    fixing x = {
        .f = f, .c = c, .source = kg_strdup(c->source ? c->source : ""), .folder = {NULL, -1}, .steps = json_array()};
    json_t *before = NULL, *after = NULL;
    int rc = judge(&x, c, &before, err) || repair(&x, before, &after, err) ? -1 : 0;
    if (!rc) {
        const bool offered = after && is_right(after);
        char *diff = offered ? kg_unified_diff(c->path, c->source, x.source) : kg_strdup("");
        *out = json_pack("{s:s,s:O,s:O,s:o,s:s,s:s}", "path", c->path, "before", before, "steps", x.steps, "after",
                         after ? json_incref(after) : json_null(), "diff", diff, "source", offered ? x.source : "");
        free(diff);
        if (!*out) rc = kg_fail(err, KG_ERR_INTERNAL, "what was found is no JSON");
    }
    kg_scratch_remove(&x.folder);
    free(x.base);
    json_decref(before);
    json_decref(after);
    json_decref(x.steps);
    free(x.worst);
    free(x.source);
    return rc;
}
