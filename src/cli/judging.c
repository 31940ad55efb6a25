// The loop over candidates that run, gate and explain share. Each candidate costs its own verdict and nothing else.
#include "cli/judging.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void on_signal(int number) {
    kg_interrupted_by = number;
    signal(number, SIG_DFL);  // the second one ends it at once
}

void kg_judging_listen(bool on) {
    signal(SIGINT, on ? on_signal : SIG_DFL);
    signal(SIGTERM, on ? on_signal : SIG_DFL);
}

static void worst(kg_judging *j, int code) {
    if (code > j->code) j->code = code;
}

static void on_progress(const char *what, void *ctx) {
    const kg_judging *j = ctx;
    if (!kg_cli_noted(what)) kg_progress("%zu %s: %s", j->at, j->now ? j->now : "", what);
}

kg_judges_options kg_judging_options(const kg_options *o, kg_database *store,
                                     void (*progress)(const char *what, void *ctx), void *ctx) {
    kg_judges_options r = {.device = o->device, .python = o->python, .store = store};
    r.judge = (kg_judge_options){.seed = o->seed,
                                 .full = o->full,
                                 .float64 = o->float64,
                                 .hot = o->hot,
                                 .check_only = o->check_only,
                                 .profile = o->profile,
                                 .timeout_s = o->timeout,
                                 .baseline = o->baseline,
                                 .thresholds = o->thresholds,
                                 .scope = o->scope,
                                 .case_only = o->case_only,
                                 .progress = progress,
                                 .progress_ctx = ctx};
    return r;
}

// A candidate's explanation is of another result every time.
static void say_judged_now(const json_t *record) {
    const char *id = json_string_value(json_object_get(record, "id"));
    const char *path = json_string_value(json_object_get(json_object_get(record, "candidate"), "path"));
    if (id) kg_cli_note("%s: judged now; `kgate explain %s` says this again without judging", path, id);
    else kg_cli_note("%s: judged now, and not stored", path);
}

static void report(kg_judging *j, const json_t *record) {
    if (j->gate) kg_gate_weigh(j, record);
    kg_progress_clear();
    if (j->explains) say_judged_now(record);
    kg_report_add(j->report, record);
}

static void refuse(kg_judging *j, const kg_candidate *c, kg_error *why) {
    j->refused++;
    kg_report_skip(j->report, c->path ? c->path : "-", c->task, why->text);
    worst(j, kg_cli_error(why));
}

// One candidate that cannot be judged here: in a list it is skipped and counted, named by itself it is an error. A
// gate names each: it was to decide on all.
static void skip(kg_judging *j, const kg_candidate *c, size_t *count, char **example, int code, char *why) {
    kg_error e = {0};
    if (!c->listed) {
        kg_fail(&e, (kg_code)code, "%s", why);
        refuse(j, c, &e);
        free(why);
        return;
    }
    kg_report_skip(j->report, c->path ? c->path : "-", c->task, why);
    if (j->gate) kg_cli_note("skipped: %s", why);
    if (!(*count)++) *example = why;
    else free(why);
}

// It is no candidate, so no record says what was wrong with it: each gets its line.
static void malformed(kg_judging *j, const kg_candidate *c) {
    j->malformed++;
    kg_report_skip(j->report, c->path, c->task, c->problem.text);
    kg_cli_note("%s", c->problem.text);
    if (!c->listed) worst(j, 2);
}

char *kg_judging_unknown_task(const kg_candidate *c) {
    if (!c->task)
        return kg_format("%s: no task: say --task NAME, or put `kgate: task=NAME` into a comment at its head", c->path);
    char *near = kg_task_suggest(c->task);
    char *why = kg_format("%s: unknown task %s: %s (--task NAME, or a comment `kgate: task=NAME`)", c->path, c->task,
                          near ? near : "`kgate task list` names all");
    free(near);
    return why;
}

// 0 when the candidate can be judged.
static int unjudgeable(kg_judging *j, const kg_candidate *c) {
    kg_error e = {0};
    bool faulty = c->problem.code == KG_ERR_CANDIDATE;
    if (c->malformed) {
        malformed(j, c);
        return -1;
    }
    if (c->problem.code && !faulty) {
        kg_fail(&e, c->problem.code, "%s", c->problem.text);
        refuse(j, c, &e);
        return -1;
    }
    if (!c->task || !kg_task_find(c->task)) {
        char *why = faulty && !c->task ? kg_strdup(c->problem.text) : kg_judging_unknown_task(c);
        skip(j, c, &j->no_task, &j->first_no_task, KG_ERR_USAGE, why);
        return -1;
    }
    if (kg_judging_check_case(j->o, kg_task_find(c->task), &e)) {
        refuse(j, c, &e);
        return -1;
    }
    if (faulty) return 0;
    if (!kg_judges_can(j->judges, c->language, &e)) {
        skip(j, c, &j->no_device, &j->first_no_device, KG_ERR_CANNOT, kg_format("%s: %s", c->path, e.text));
        kg_error_clear(&e);
        return -1;
    }
    return 0;
}

// The judge's own failure: no compiler, no Python. One line a candidate, or one for a whole list.
static void not_judged(kg_judging *j, const kg_candidate *c, kg_error *e) {
    int code = e->code == KG_ERR_USAGE ? 2 : 3;
    worst(j, code);
    skip(j, c, &j->failed, &j->first_failed, code, kg_format("%s: %s", c->path, e->text));
    kg_error_clear(e);
}

// A record of this candidate: kept from before, or judged and stored now. NULL: there is none. *fatal: the database is
// gone, and judging cannot go on.
static json_t *record_of(kg_judging *j, const kg_candidate *c, bool *fatal, kg_error *err) {
    kg_error e = {0};
    json_t *record = kg_judging_kept(j, c);
    if (record) {
        j->kept++;
        return record;
    }
    int failed = kg_judges_candidate(j->judges, c, &record, &e);
    if (kg_interrupted()) {  // the keyboard interrupts the runner too: what it did then says nothing about the
                             // candidate
        kg_error_clear(&e);
        json_decref(record);
        return NULL;
    }
    if (failed) not_judged(j, c, &e);
    else *fatal = j->store && kg_store_add(j->store, j->run, record, err);
    return failed ? NULL : record;
}

static int judge_one(kg_judging *j, const kg_candidate *c, kg_error *err) {
    bool fatal = false;
    json_t *record = unjudgeable(j, c) ? NULL : record_of(j, c, &fatal, err);
    if (record) {
        j->judged++;
        report(j, record);
    }
    json_decref(record);
    return fatal ? -1 : 0;
}

static void judge_now(kg_judging *j, const kg_candidate *c, int *result, kg_error *err) {
    j->at++;
    j->now = c->path;
    kg_progress("%zu %s", j->at, c->path);
    *result = judge_one(j, c, err);
    j->now = NULL;
}

// The next candidate is read, and its build begun, before this one is judged.
static int judge_all(kg_judging *j, kg_candidate_source *s, kg_error *err) {
    const bool at_hand = kg_candidates_at_hand(s);
    kg_candidate c, next;
    int result = 0, more = kg_candidates_next(s, &c);
    while (more && !result && !kg_interrupted()) {
        int another = at_hand && kg_candidates_next(s, &next);
        if (another && !j->resumed && next.task && kg_task_find(next.task)) kg_judges_ahead(j->judges, &next);
        judge_now(j, &c, &result, err);
        kg_candidate_free(&c);
        more = another || (!at_hand && !result && !kg_interrupted() && kg_candidates_next(s, &next));
        c = next;
    }
    if (more) kg_candidate_free(&c);
    kg_progress_clear();
    return result;
}

// DESIGN.md: a candidate of a list that no device here can run is skipped; any other that is given and not judged is
// for the exit code to say. A gate has a line and a code of its own.
static void weigh_skipped(kg_judging *j) {
    const size_t missing = j->no_device + j->no_task + j->failed + j->malformed + j->refused;
    const bool said = j->code != 0;  // one line for one candidate is enough
    if (j->no_task || j->malformed) worst(j, 2);
    if (!j->judged && j->no_device && !said) worst(j, 3);
    if (j->judged && missing) kg_cli_note("%zu of %zu candidates not judged", missing, missing + j->judged);
    else if (missing && !said) kg_cli_note("nothing was judged");
}

static void say_skipped(kg_judging *j) {
    if (j->no_device && !j->gate)
        kg_cli_note("%zu skipped, no device or Python here that runs them (first: %s)", j->no_device,
                    j->first_no_device);
    if (j->no_task && !j->gate) kg_cli_note("%zu skipped, task not known (first: %s)", j->no_task, j->first_no_task);
    if (j->failed && !j->gate) kg_cli_note("%zu could not be judged (first: %s)", j->failed, j->first_failed);
    if (j->kept) kg_cli_note("%zu taken from the interrupted run, not judged again", j->kept);
    if (!j->gate) weigh_skipped(j);
    else if (!j->judged && !j->code && (j->no_device || j->no_task || j->malformed)) worst(j, j->no_device ? 3 : 2);
}

static void finish(kg_judging *j, kg_error *err) {
    say_skipped(j);
    if (kg_interrupted()) {
        kg_cli_note("interrupted after %zu: the same command with --resume goes on from there", j->judged);
        worst(j, 128 + kg_interrupted_by);
    } else if (j->run && kg_store_finish_run(j->store, j->run, err)) worst(j, kg_cli_error(err));
    if (j->gate && !kg_interrupted()) kg_gate_close(j);
}

static int judge_with(kg_judging *j, const char *command, kg_candidate_source *s, kg_error *err) {
    kg_judges_options o = kg_judging_options(j->o, j->store, on_progress, j);
    if (kg_judges_open(&o, &j->judges, err) || kg_judging_begin(j, command, err)) return -1;
    kg_judging_listen(true);
    int result = judge_all(j, s, err);
    kg_judging_listen(false);
    if (!result) finish(j, err);
    return result;
}

int kg_cli_judge(const kg_options *o, const char *command, kg_report *r, json_t *closing, kg_error *err) {
    kg_judging j = {
        .o = o, .report = r, .gate = closing != NULL, .closing = closing, .explains = !strcmp(command, "explain")};
    j.requirement = (kg_requirement){o->require, o->check_only};
    if (j.gate) kg_report_require(r, &j.requirement);
    kg_candidate_source *s = NULL;
    if (!kg_candidates_open(o->args, o->n_args, o->task, &s, err) &&
        (o->no_db || !kg_cli_store(o, false, &j.store, err))) {
        if (o->language) kg_candidates_set_language(s, kg_language_parse(o->language));
        judge_with(&j, command, s, err);
    }
    if (err->code) worst(&j, kg_cli_error(err));
    kg_judges_close(j.judges);
    kg_store_close(j.store);
    kg_candidates_close(s);
    free(j.first_no_device);
    free(j.first_no_task);
    free(j.first_failed);
    for (size_t i = 0; i < j.n_unmet; i++) free(j.unmet[i]);
    free(j.unmet);
    free(j.first_unscreened);
    return j.code;
}
