// The public face of libkgate: options in, one record out.
#include <kgate/kgate.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judges.h"

struct kgate_context {
    char *device, *python, *baseline;
    kg_database *store;
    int64_t run;
    kg_judges *judges;
};

kgate_options kgate_options_default(void) {
    kg_thresholds t = kg_thresholds_default();
    kgate_options o = {.device = "auto",
                       .baseline = "auto",
                       .timeout_s = 60,
                       .lre_min = t.lre_min,
                       .util_min_memory = t.util_min[KG_BOUND_MEMORY],
                       .util_min_compute = t.util_min[KG_BOUND_COMPUTE]};
    return o;
}

static int give_error(kg_error *e, char **error) {
    if (error) *error = kg_strdup(e->text ? e->text : "unknown error");
    kg_error_clear(e);
    return -1;
}

static int open_store(kgate_context *k, const kgate_options *o, kg_error *err) {
    if (o->database && !*o->database) return 0;
    char *path = o->database ? kg_strdup(o->database) : kg_store_default_path();
    int result = kg_store_open(path, false, &k->store, err);
    free(path);
    return result ? result : kg_store_begin_run(k->store, "libkgate", "{}", &k->run, err);
}

static int open_judges(kgate_context *k, const kgate_options *o, kg_error *err) {
    kg_thresholds t = kg_thresholds_default();
    t.lre_min = o->lre_min;
    t.util_min[KG_BOUND_MEMORY] = o->util_min_memory;
    t.util_min[KG_BOUND_COMPUTE] = o->util_min_compute;
    kg_judges_options j = {.device = k->device, .python = k->python, .store = k->store};
    j.judge = (kg_judge_options){.seed = o->seed,
                                 .full = o->full_cases != 0,
                                 .check_only = o->check_only != 0,
                                 .timeout_s = o->timeout_s,
                                 .baseline = k->baseline,
                                 .thresholds = t};
    return kg_judges_open(&j, &k->judges, err);
}

static int check_number(const char *name, double value, double lo, double hi, kg_error *err) {
    if (value >= lo && value <= hi) return 0;  // NaN is in no range
    return kg_fail(err, KG_ERR_USAGE, "options: %s is %g: give a number from %g to %g", name, value, lo, hi);
}

// The ranges are the command line's.
static int check_options(const kgate_options *o, kg_error *err) {
    if (!o) return kg_fail(err, KG_ERR_USAGE, "kgate_open: no options: start from kgate_options_default()");
    if (o->seed > INT64_MAX) return kg_fail(err, KG_ERR_USAGE, "options: seed is above 2^63 - 1");
    if (check_number("timeout_s", o->timeout_s, 0.1, 86400, err) || check_number("lre_min", o->lre_min, 0, 100, err) ||
        check_number("util_min_memory", o->util_min_memory, 0, 1, err) ||
        check_number("util_min_compute", o->util_min_compute, 0, 1, err))
        return -1;
    return o->baseline ? kg_baseline_known(o->baseline, err) : 0;
}

kgate_context *kgate_open(const kgate_options *o, char **error) {
    kg_error e = {0};
    if (check_options(o, &e)) {
        give_error(&e, error);
        return NULL;
    }
    kgate_context *k = kg_alloc(sizeof *k);
    k->device = kg_strdup(o->device ? o->device : "auto");
    k->python = o->python ? kg_strdup(o->python) : NULL;
    k->baseline = kg_strdup(o->baseline ? o->baseline : "auto");
    if (!open_store(k, o, &e) && !open_judges(k, o, &e)) return k;
    give_error(&e, error);
    kgate_close(k);
    return NULL;
}

void kgate_close(kgate_context *k) {
    if (!k) return;
    kg_judges_close(k->judges);
    if (k->run) kg_store_finish_run(k->store, k->run, NULL);
    kg_store_close(k->store);
    free(k->device);
    free(k->python);
    free(k->baseline);
    free(k);
}

static int check_task(const kg_candidate *c, kg_error *err) {
    if (c->problem.code) return 0;
    if (!c->task) return kg_fail(err, KG_ERR_USAGE, "%s: no task: name one", c->path);
    if (kg_task_find(c->task)) return 0;
    char *near = kg_task_suggest(c->task);
    kg_fail(err, KG_ERR_USAGE, "%s: unknown task %s%s%s", c->path, c->task, near ? ": " : "", near ? near : "");
    free(near);
    return -1;
}

// What is nobody's kernel is an error of the call; a kernel's own fault is a record.
static int check_candidate(const kg_candidate *c, kg_error *err) {
    if (c->problem.code == KG_ERR_USAGE || c->problem.code == KG_ERR_CANNOT)
        return kg_fail(err, c->problem.code, "%s", c->problem.text);
    if (c->listed) return kg_fail(err, KG_ERR_USAGE, "%s: a folder or a list holds many: name one file", c->path);
    return check_task(c, err);
}

static int judge(kgate_context *k, const kg_candidate *c, char **json, kg_error *err) {
    json_t *record = NULL;
    int result = check_candidate(c, err) || kg_judges_candidate(k->judges, c, &record, err) ||
                 (k->store && kg_store_add(k->store, k->run, record, err));
    if (!result) *json = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(record);
    return result ? -1 : 0;
}

// What no call can do without.
static int check_call(const kgate_context *k, const char *what, const char *given, char **json, kg_error *err) {
    if (json) *json = NULL;
    if (!k) return kg_fail(err, KG_ERR_USAGE, "no context: open one with kgate_open");
    if (!json) return kg_fail(err, KG_ERR_USAGE, "nowhere to put the record: json is NULL");
    return given ? 0 : kg_fail(err, KG_ERR_USAGE, "%s is NULL", what);
}

static int judge_file(kgate_context *k, const char *task, const char *path, char **json, kg_error *err) {
    kg_candidate_source *s = NULL;
    kg_candidate c = {0};
    char *arg = kg_strdup(path);
    int rc = kg_candidates_open(&arg, 1, task, &s, err);
    if (!rc && !kg_candidates_next(s, &c)) rc = kg_fail(err, KG_ERR_USAGE, "%s: no candidate there", path);
    if (!rc) rc = judge(k, &c, json, err);
    kg_candidate_free(&c);
    kg_candidates_close(s);
    free(arg);
    return rc;
}

int kgate_judge_file(kgate_context *k, const char *task, const char *path, char **json, char **error) {
    kg_error e = {0};
    return check_call(k, "path", path, json, &e) || judge_file(k, task, path, json, &e) ? give_error(&e, error) : 0;
}

static int judge_source(kgate_context *k, const char *task, const char *language, const char *source, char **json,
                        kg_error *err) {
    kg_language l = kg_language_parse(language);
    if (l == KG_LANG_UNKNOWN || l == KG_LANG_CUBIN)
        return kg_fail(err, KG_ERR_USAGE, "language %s: use c, cuda, ptx, triton, tilelang or python", language);
    kg_candidate c;
    kg_candidate_from_text("source", task, l, source, &c);
    int rc = judge(k, &c, json, err);
    kg_candidate_free(&c);
    return rc;
}

int kgate_judge_source(kgate_context *k, const char *task, const char *language, const char *source, char **json,
                       char **error) {
    kg_error e = {0};
    int rc = check_call(k, "source", source, json, &e) || check_call(k, "task", task, json, &e) ||
             check_call(k, "language", language, json, &e) || judge_source(k, task, language, source, json, &e);
    return rc ? give_error(&e, error) : 0;
}

void kgate_free(char *text) { free(text); }
