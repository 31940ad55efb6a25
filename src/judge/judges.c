// Which device judges which candidate, and the judges opened so far.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judges.h"

// Importing torch and Triton takes seconds, from a cold disk many.
enum { START_TIMEOUT_S = 120 };

typedef struct {
    kg_judges *of;
    char *spec;             // what was asked: "auto", "cpu", "cuda:1"
    bool interpret;         // Triton's interpreter on the CPU stands in for the device
    kg_launcher *launcher;  // its own where it interprets, else the run's
    kg_device *device;      // NULL: not here, and `why` says so
    bool raised;
    kg_judge *judge;  // NULL until the first candidate
    kg_error why;
} bench;

struct kg_judges {
    kg_judges_options o;
    kg_launcher *launcher;
    bench **benches;
    size_t n;
};

static int copy_error(const kg_error *from, kg_error *to) { return kg_fail(to, from->code, "%s", from->text); }

static bool has_triton(kg_launcher *l) {
    const char *text = kg_launcher_python_info(l, NULL);
    json_t *info = text ? json_loads(text, 0, NULL) : NULL;
    bool has = json_is_string(json_object_get(info, "torch")) && json_is_string(json_object_get(info, "triton"));
    json_decref(info);
    return has;
}

static int open_interpreter(kg_judges *j, bench *b) {
    kg_launcher_options launch = {.python = j->o.python, .start_timeout_s = START_TIMEOUT_S, .interpret = true};
    if (kg_launcher_open(&launch, &b->launcher, &b->why)) return -1;
    if (has_triton(b->launcher)) return 0;
    return kg_fail(&b->why, KG_ERR_CANNOT,
                   "no GPU here, and no Python with torch and Triton to interpret it: see --python");
}

// What is absent is looked for once in a run.
static bench *bench_of(kg_judges *j, const char *spec, bool interpret) {
    for (size_t i = 0; i < j->n; i++)
        if (!strcmp(j->benches[i]->spec, spec) && j->benches[i]->interpret == interpret) return j->benches[i];
    j->benches = kg_realloc(j->benches, (j->n + 1) * sizeof *j->benches);
    bench *b = j->benches[j->n++] = kg_alloc(sizeof *b);
    b->of = j;
    b->spec = kg_strdup(spec);
    b->interpret = interpret;
    b->launcher = interpret ? NULL : j->launcher;
    if ((interpret && open_interpreter(j, b)) || kg_device_open(spec, &b->device, &b->why)) b->device = NULL;
    return b;
}

static bench *bench_for(kg_judges *j, kg_language l, kg_error *err) {
    const char *wanted = kg_language_device(l), *named = j->o.device;
    bool by_language = !strcmp(named, "auto");
    bench *b = bench_of(j, by_language && wanted ? wanted : named, false);
    bool fits = b->device && (!wanted || !strcmp(wanted, b->device->ops->kind));
    if (!fits && l == KG_LANG_TRITON && (by_language || !strcmp(named, "cpu")))
        b = bench_of(j, "cpu", true), fits = true;
    if (!b->device) copy_error(&b->why, err);
    else if (!fits)
        kg_fail(err, KG_ERR_CANNOT, "a %s candidate runs on %s, not on --device %s: leave --device out",
                kg_language_name(l), wanted, named);
    return b->device && fits ? b : NULL;
}

int kg_judges_open(const kg_judges_options *o, kg_judges **out, kg_error *err) {
    kg_judges *j = kg_alloc(sizeof *j);
    j->o = *o;
    kg_launcher_options launch = {.python = o->python, .start_timeout_s = START_TIMEOUT_S};
    int failed = kg_launcher_open(&launch, &j->launcher, err);
    bench *named = !failed && strcmp(o->device, "auto") != 0 ? bench_of(j, o->device, false) : NULL;
    if (failed || (named && !named->device && copy_error(&named->why, err))) {
        kg_judges_close(j);
        return -1;
    }
    *out = j;
    return 0;
}

void kg_judges_close(kg_judges *j) {
    if (!j) return;
    for (size_t i = 0; i < j->n; i++) {
        bench *b = j->benches[i];
        if (b->judge) kg_judge_close(b->judge);
        if (b->device) b->device->ops->close(b->device);
        if (b->interpret && b->launcher) kg_launcher_close(b->launcher);
        kg_error_clear(&b->why);
        free(b->spec);
        free(b);
    }
    free(j->benches);
    if (j->launcher) kg_launcher_close(j->launcher);
    free(j);
}

// Any callable on torch tensors needs an interpreter that has torch: without one, as with an absent device, what needs
// it is skipped in a list and refused when named.
static bool has_torch(kg_launcher *l, kg_error *err) {
    const char *text = kg_launcher_python_info(l, err);
    json_t *info = text ? json_loads(text, 0, NULL) : NULL;
    bool has = json_is_string(json_object_get(info, "torch"));
    const char *why = json_string_value(json_object_get(info, "error"));
    if (text && !has) kg_fail(err, KG_ERR_CANNOT, "%s", why ? why : "this Python has no torch: see --python");
    json_decref(info);
    return has;
}

// TileLang is imported for its own candidates alone: it costs the others a second.
static bool has_packages(kg_launcher *launcher, kg_language l, kg_error *err) {
    if (!kg_language_is_python(l)) return true;
    return has_torch(launcher, err) && (l != KG_LANG_TILELANG || !kg_launcher_import(launcher, "tilelang", err));
}

bool kg_judges_can(kg_judges *j, kg_language l, kg_error *err) {
    bench *b = bench_for(j, l, err);
    return b && has_packages(b->launcher, l, err);
}

static bool known_ceilings(void *ctx, kg_ceilings *out) {
    const bench *b = ctx;
    return kg_ceilings_kept(b->device, b->of->o.store, out);
}

static int measure_ceilings(void *ctx, kg_ceilings *out, kg_error *err) {
    const bench *b = ctx;
    const kg_judge_options *o = &b->of->o.judge;
    return kg_ceilings_measure(b->device, b->of->o.store, o->progress, o->progress_ctx, out, err);
}

static int open_judge(kg_judges *j, bench *b, kg_error *err) {
    kg_judge_options o = j->o.judge;
    o.check_only |= b->interpret;
    return kg_judge_open(b->launcher, b->device, (kg_ceilings_source){known_ceilings, measure_ceilings, b}, &o,
                         &b->judge, err);
}

static void label(json_t *record, const char *text) {
    if (!json_is_array(json_object_get(record, "labels"))) json_object_set_new(record, "labels", json_array());
    json_array_append_new(json_object_get(record, "labels"), json_string(text));
}

int kg_judges_candidate(kg_judges *j, const kg_candidate *c, json_t **record, kg_error *err) {
    if (c->problem.code) {
        *record = kg_record_of_problem(c);
        return 0;
    }
    bench *b = bench_for(j, c->language, err);
    if (!b || !has_packages(b->launcher, c->language, err) || (!b->judge && open_judge(j, b, err)) ||
        kg_judge_candidate(b->judge, c, record, err))
        return -1;
    bool raised;
    const kg_ceilings *ceilings = kg_judge_ceilings(b->judge, &raised);
    if (ceilings && raised && !b->raised && j->o.store) kg_ceilings_keep(b->device, j->o.store, ceilings);
    b->raised = raised;
    if (b->interpret) label(*record, "triton-interpreter: judged on the CPU for correctness, not timed");
    return 0;
}

void kg_judges_compare(kg_judges *j, const char *baseline, const char *case_only) {
    j->o.judge.baseline = baseline;
    j->o.judge.case_only = case_only;
    for (size_t i = 0; i < j->n; i++)
        if (j->benches[i]->judge) kg_judge_compare(j->benches[i]->judge, baseline, case_only);
}

void kg_judges_ahead(kg_judges *j, const kg_candidate *next) {
    if (next->problem.code || next->language == KG_LANG_UNKNOWN) return;
    bench *b = bench_for(j, next->language, NULL);
    if (b && b->judge) kg_judge_ahead(b->judge, next);
}
