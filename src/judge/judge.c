#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "diagnose/diagnose.h"
#include "judge/check.h"
#include "judge/scope.h"
#include "judge/trial.h"

static uint64_t fresh(void) {
    uint64_t v;
    return getrandom(&v, sizeof v, 0) == (ssize_t)sizeof v ? v : (uint64_t)(kg_now() * 1e9);
}

// 48 bits: a number that every JSON reader keeps exactly. One for each candidate: what is known of the last one's is of
// no use to the next.
static uint64_t fresh_seed(void) {
    const uint64_t seed = fresh() & 0xFFFFFFFFFFFFu;
    return seed ? seed : 1;
}

int kg_judge_open(kg_launcher *l, kg_device *d, kg_ceilings_source from, const kg_judge_options *o, kg_judge **out,
                  kg_error *err) {
    kg_judge *j = kg_alloc(sizeof *j);
    j->launcher = l;
    j->device = d;
    j->ceilings_from = from;
    j->ceilings = kg_ceilings_unknown();
    j->known = from.known(from.ctx, &j->ceilings);
    j->o = *o;
    if (!j->o.baseline) j->o.baseline = "auto";
    j->o.seed &= INT64_MAX;  // JSON integers are signed
    if (d->ops->describe(d, &j->info, err)) {
        kg_ceilings_free(&j->ceilings);
        free(j);
        return -1;
    }
    *out = j;
    return 0;
}

void kg_judge_close(kg_judge *j) {
    if (!j) return;
    kg_ahead_drop(j->ahead);
    kg_ahead_drop(j->next);
    kg_baseline_close(j->baseline);
    kg_diagnoser_close(j->diagnoser);
    kg_device_info_free(&j->info);
    kg_ceilings_free(&j->ceilings);
    free(j);
}

void kg_judge_compare(kg_judge *j, const char *baseline, const char *case_only) {
    j->o.baseline = baseline ? baseline : "auto";
    j->o.case_only = case_only;
    kg_baseline_close(j->baseline);
    j->baseline = NULL;
}

const kg_ceilings *kg_judge_ceilings(const kg_judge *j, bool *raised) {
    *raised = j->raised;
    return j->known ? &j->ceilings : NULL;
}

// ---- notes on the way ------------------------------------------------------------------------------

void kg_trial_progress(const kg_trial *t, const char *fmt, ...) {
    if (!t->judge->o.progress) return;
    char line[256];  // a progress line is cut, never lost
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    t->judge->o.progress(line, t->judge->o.progress_ctx);
}

void kg_trial_violation(kg_trial *t, const char *family, char *evidence) {
    t->violations = kg_realloc(t->violations, (t->n_violations + 1) * sizeof *t->violations);
    t->violations[t->n_violations++] = (kg_violation){kg_strdup(family), evidence};
}

void kg_trial_result(kg_trial *t, const kg_case *c, bool timed, const kg_check *check, char *why) {
    t->results = kg_realloc(t->results, (t->n_results + 1) * sizeof *t->results);
    kg_case_result *r = &t->results[t->n_results++];
    *r = (kg_case_result){.c = c,
                          .timed = timed,
                          .ok = !why,
                          .answered = check != NULL,
                          .rung = KG_PREC_NONE,
                          .error_over_bound = check ? check->error_over_bound : INFINITY,
                          .why = why};
    r->likeness = check ? check->likeness : (kg_likeness){NAN, NAN, NAN};
    r->reading = check && !why ? check->reading : NULL;
    if (check) r->rung = kg_check_rung(check, kg_check_required(t->task, c));
}

void kg_trial_broke(kg_trial *t, const kg_case *c, bool timed, char *why) {
    kg_trial_result(t, c, timed, NULL, kg_strdup(why));
    t->broken = why;
    t->broke_in_case = true;
}

size_t kg_trial_failed(const kg_trial *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_results; i++) n += !t->results[i].ok;
    return n;
}

static uint64_t hash_of(const kg_case *c) {
    uint64_t h = 0xcbf29ce484222325u;  // FNV-1a over the case's name
    for (const char *p = c->name; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return h;
}

uint64_t kg_trial_seed(const kg_trial *t, const kg_case *c, uint64_t call) {
    kg_philox r = kg_philox4x32(t->seed, hash_of(c), call);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

uint64_t kg_trial_secret(const kg_trial *t, uint64_t counter) {
    kg_philox r = kg_philox4x32(t->secret, t->n_results, counter);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

uint64_t kg_trial_batch_seed(const kg_trial *t, const kg_case *c, uint64_t number) {
    kg_philox r = kg_philox4x32(t->secret ^ 0x6261746368u, hash_of(c), number);
    return (uint64_t)r.v[0] << 32 | r.v[1];
}

// ---- the steps ---------------------------------------------------------------------------------------

// A fault of the candidate becomes the reason it is broken; anything else is the judge's own failure.
static int theirs_or_ours(kg_trial *t, const char *step, kg_error *why, kg_error *err) {
    bool theirs = why->code == KG_ERR_CANDIDATE || why->code == KG_ERR_TIMEOUT || why->code == KG_ERR_DIED;
    if (theirs) t->broken = kg_format("%s: %s", step, why->text);
    else kg_fail(err, why->code, "%s", why->text);
    kg_error_clear(why);
    return theirs ? 1 : -1;
}

static void keep_named(kg_cases *b, const char *name) {
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->items[i].name, name) == 0) b->items[kept++] = b->items[i];
        else free(b->items[i].name);
    b->n = kept;
}

// --case: that one, whether it is a correctness case or a timed size.
static int keep_only(kg_trial *t, const char *name, kg_error *err) {
    keep_named(&t->cases, name);
    keep_named(&t->sizes, name);
    if (t->cases.n) keep_named(&t->sizes, "");
    if (t->cases.n || t->sizes.n) return 0;
    return kg_fail(err, KG_ERR_USAGE,
                   "task %s has no case '%s' here: `kgate run --cases full` prints the names it fails", t->task->name,
                   name);
}

static void keep_scope(kg_cases *b, const kg_scope *scope) {
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++)
        if (kg_scope_allows(scope, &b->items[i])) b->items[kept++] = b->items[i];
        else free(b->items[i].name);
    b->n = kept;
}

// A kernel that is right from its second call on must not pass because the first one asked for next to nothing.
static void begin_with_work(const kg_task *task, kg_cases *b) {
    size_t at = 0;
    while (at < b->n && kg_case_output_bytes(&b->items[at], task) < 64 * sizeof(float)) at++;
    if (at == 0 || at >= b->n) return;
    kg_case first = b->items[at];
    memmove(b->items + 1, b->items, at * sizeof *b->items);
    b->items[0] = first;
}

static int list_cases(kg_trial *t, kg_error *err) {
    const kg_judge_options *o = &t->judge->o;
    bool cpu = strcmp(t->judge->info.kind, "cpu") == 0;
    const kg_case_level level = o->float64 ? KG_CASES_FLOAT64 : o->full ? KG_CASES_FULL : KG_CASES_QUICK;
    if (kg_task_cases(t->task, level, &t->cases, err)) return -1;
    if (!o->check_only && kg_task_cases(t->task, cpu ? KG_TIMED_CPU : KG_TIMED_CUDA, &t->sizes, err)) return -1;
    for (size_t i = 0; i < t->sizes.n; i++) t->sizes.items[i].timed = true;
    kg_scope scope;
    if (kg_scope_parse(o->scope, &scope, err)) return -1;
    keep_scope(&t->cases, &scope);
    keep_scope(&t->sizes, &scope);
    if (t->cases.n + t->sizes.n == 0)
        return kg_fail(err, KG_ERR_USAGE, "--scope %s leaves no case of task %s", o->scope, t->task->name);
    if (o->case_only && keep_only(t, o->case_only, err)) return -1;
    kg_trial_choose_cases(t);
    begin_with_work(t->task, &t->cases);
    const json_t *left_out = json_array_get(t->not_checked, 0);
    if (o->case_only && left_out)
        return kg_fail(err, KG_ERR_CANNOT, "case %s %s", o->case_only,
                       json_string_value(json_object_get(left_out, "why")));
    if (!o->case_only) kg_trial_choose_sizes(t);
    return 0;
}

static void forget_start(kg_trial *t) {
    kg_artifact_free(&t->artifact);
    free(t->sandbox);
    free(t->entry);
    t->sandbox = t->entry = NULL;
}

static int build(kg_trial *t, kg_error *err) {
    kg_judge *j = t->judge;
    const char *scratch = kg_session_scratch(t->session);
    int failed = 0;
    if (j->ahead_of_next || !kg_ahead_take(j->ahead, t->cand, scratch, &t->artifact, &failed, err))
        failed = kg_build(t->cand, &j->info, scratch, j->o.timeout_s, &t->artifact, err);
    if (!j->next) return failed;
    kg_ahead_drop(j->ahead);
    j->ahead = j->next;
    j->next = NULL;
    j->ahead_of_next = true;
    kg_ahead_start(j->ahead);
    return failed;
}

// Opens the session and puts the candidate into it. 0: ready, 1: broken, -1: the judge's own failure.
static int start(kg_trial *t, kg_error *err) {
    const kg_judge_options *o = &t->judge->o;
    const kg_candidate *c = t->cand;
    kg_session_options so = {.timeout_s = o->timeout_s,
                             .flush_bytes = o->hot ? 0 : t->judge->info.cache_bytes * 2,
                             .seed = t->seed,
                             .secret = t->secret};
    kg_steps_to(&t->steps, KG_STEP_START);
    if (kg_session_open(t->judge->launcher, t->judge->device, kg_language_is_python(c->language), &so, &t->session,
                        err))
        return -1;
    forget_start(t);
    t->sandbox = kg_strdup(kg_session_sandbox(t->session));
    t->judge->apart = strstr(t->sandbox, "\"landlock\"") || strstr(t->sandbox, "\"mountns\"");
    kg_error why = {0};
    kg_steps_to(&t->steps, KG_STEP_BUILD);
    if (build(t, &why)) return theirs_or_ours(t, "build", &why, err);
    t->built = true;
    kg_steps_to(&t->steps, KG_STEP_START);
    size_t in, out;
    kg_trial_arena_bytes(t, &in, &out);
    if (kg_session_arenas(t->session, in, out, err) || kg_session_calibrate(t->session, err)) return -1;
    t->overhead = kg_session_overhead(t->session);
    kg_steps_to(&t->steps, KG_STEP_LOAD);
    if (kg_session_load(t->session, t->task, kg_language_name(c->language), t->artifact.artifact, c->entry, c->launch,
                        t->artifact.host_entry, &why))
        return theirs_or_ours(t, "load", &why, err);
    kg_steps_to(&t->steps, KG_STEP_OTHER);
    t->entry = kg_session_entry(t->session) ? kg_strdup(kg_session_entry(t->session)) : NULL;
    return 0;
}

// Not beside the candidate, whose process ends before: what it leaves running would lower them, for it and for all that
// come after. 0: ready to be timed, 1: broken, -1: the judge's own failure.
static int take_ceilings(kg_trial *t, kg_error *err) {
    kg_judge *j = t->judge;
    int rc = 0;
    if (!j->known && t->sizes.n) {
        kg_session_close(t->session);
        t->session = NULL;
        kg_steps_to(&t->steps, KG_STEP_CEILINGS);
        if (j->ceilings_from.measure(j->ceilings_from.ctx, &j->ceilings, err)) return -1;
        j->known = true;
        rc = start(t, err);
    }
    t->ceilings = kg_ceilings_copy(&j->ceilings);
    return rc;
}

// The precision it really works at: the lowest rung over the cases of the dtype that is timed.
void kg_trial_find_precision(kg_trial *t) {
    kg_precision required = t->sizes.n   ? kg_check_required(t->task, &t->sizes.items[0])
                            : t->cases.n ? kg_check_required(t->task, &t->cases.items[0])
                                         : KG_PREC_FP32;
    t->precision = KG_PREC_NONE;
    bool seen = false;
    for (size_t i = 0; i < t->n_results; i++) {
        const kg_case_result *r = &t->results[i];
        if (kg_check_required(t->task, r->c) != required || !r->answered) continue;
        if (!seen || r->rung > t->precision) t->precision = r->rung;
        seen = true;
    }
}

static int judge_steps(kg_trial *t, kg_error *err) {
    kg_step before = kg_steps_to(&t->steps, KG_STEP_LIBRARY);
    if (kg_baseline_prepare(t, err)) return -1;
    kg_steps_to(&t->steps, before);
    int rc = start(t, err);
    if (rc) return rc < 0 ? -1 : 0;
    if (kg_trial_correctness(t, err)) return -1;
    kg_trial_find_precision(t);
    if (t->broken || kg_trial_failed(t) || t->judge->o.check_only) return 0;
    kg_ahead_wait(t->judge->ahead);
    if ((rc = take_ceilings(t, err))) return rc < 0 ? -1 : 0;
    if (kg_trial_timing(t, err)) return -1;
    kg_trial_find_precision(t);
    return 0;
}

static void find_task(kg_trial *t) {
    const kg_candidate *c = t->cand;
    if (c->problem.code) {
        t->broken = kg_strdup(c->problem.text);
        return;
    }
    t->task = c->task ? kg_task_find(c->task) : NULL;
    if (t->task) return;
    char *near = c->task ? kg_task_suggest(c->task) : NULL;
    t->broken = c->task ? kg_format("no task named %s%s%s; `kgate task list` names them", c->task, near ? ": " : "",
                                    near ? near : "")
                        : kg_strdup("no task is named: give --task, or a comment `kgate: task=NAME`");
    free(near);
}

static void trial_free(kg_trial *t) {
    kg_session_close(t->session);
    for (size_t i = 0; i < t->n_results; i++) free(t->results[i].why);
    for (size_t i = 0; i < t->n_times; i++) {
        kg_samples_free(&t->times[i].cand);
        kg_samples_free(&t->times[i].base);
        kg_samples_free(&t->times[i].memory);
        kg_samples_free(&t->times[i].compute);
        free(t->times[i].no_baseline);
    }
    for (size_t i = 0; i < t->n_violations; i++) {
        free(t->violations[i].family);
        free(t->violations[i].evidence);
    }
    free(t->results);
    free(t->times);
    free(t->violations);
    kg_ceilings_free(&t->ceilings);
    kg_cases_free(&t->cases);
    kg_cases_free(&t->sizes);
    json_decref(t->findings);
    json_decref(t->counters);
    json_decref(t->not_timed);
    json_decref(t->not_checked);
    free(t->broken);
    free(t->no_baseline);
    forget_start(t);
}

static char *timestamp(void) {
    time_t now = time(NULL);
    struct tm tm;
    char text[32];
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return kg_strdup(text);
}

// Nobody's fault for sure: the system takes memory back so, and people stop what seems to hang.
static bool was_killed(const kg_trial *t) { return t->broken && t->session && kg_session_killed(t->session); }

// *again: in, whether it was killed before; out, whether it is worth another try.
static int judge_once(kg_judge *j, const kg_candidate *c, bool *again, json_t **record, kg_error *err) {
    kg_trial t = {.judge = j,
                  .cand = c,
                  .seed = j->o.seed ? j->o.seed : fresh_seed(),
                  .secret = fresh(),
                  .precision = KG_PREC_NONE,
                  .ceilings = kg_ceilings_unknown(),
                  .not_timed = json_array(),
                  .not_checked = json_array()};
    char *started = timestamp();
    double start = kg_now();
    int rc = 0;
    kg_steps_begin(&t.steps);
    find_task(&t);
    if (t.task && !t.broken) rc = list_cases(&t, err) || judge_steps(&t, err) ? -1 : 0;
    if (!rc && !kg_interrupted()) kg_trial_diagnose(&t);
    const bool killed = !rc && was_killed(&t), before = *again;
    *again = killed && !before && !kg_interrupted();
    if (killed && before) {
        char *text = kg_format("%s, as it was when it was judged before", t.broken);
        free(t.broken);
        t.broken = text;
    }
    if (*again) kg_trial_progress(&t, "its process was killed by SIGKILL: once more, for anybody may have done it");
    else if (!rc) *record = kg_trial_record(&t, started, kg_now() - start);
    if (*record && j->o.profile) json_object_set_new(*record, "profile", kg_steps_to_json(&t.steps));
    trial_free(&t);
    free(started);
    return rc;
}

int kg_judge_candidate(kg_judge *j, const kg_candidate *c, json_t **record, kg_error *err) {
    bool again = false;
    *record = NULL;
    j->ahead_of_next = false;
    int rc = judge_once(j, c, &again, record, err);
    return again ? judge_once(j, c, &again, record, err) : rc;
}

void kg_judge_ahead(kg_judge *j, const kg_candidate *next) {
    if (!j->apart) return;
    kg_ahead_drop(j->next);
    j->next = kg_ahead_plan(next, &j->info, j->o.timeout_s);
}
