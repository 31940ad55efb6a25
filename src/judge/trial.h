// One candidate on its way through the judge: what was found so far. Shared by the files of this room only.
#ifndef KG_TRIAL_H
#define KG_TRIAL_H

#include "diagnose/diagnose.h"
#include "judge/ahead.h"
#include "judge/judge.h"
#include "judge/steps.h"

// A correctness case or a timed size, judged.
typedef struct {
    const kg_case *c;
    bool timed;
    bool ok;
    bool answered;  // false: the call itself failed
    kg_precision rung;
    double error_over_bound;  // INFINITY when no number says how wrong
    char *why;                // owned; NULL when ok
    kg_likeness likeness;     // NAN: none
    const char *reading;      // that its outputs follow; static; NULL: the task has one, or the case is wrong
} kg_case_result;

// Times of one size.
typedef struct {
    const kg_case *c;
    kg_samples cand, base;
    double host_s;  // median host cost of a call; NAN unknown
    bool held;
    kg_sol sol;
    double bytes;                // that a call cannot do without, read and written
    kg_samples memory, compute;  // grants of a device that others use too, seen beside the batches (unit: 1)
    double floor_s;
    kg_interval time, lre, util;  // NAN where not measured
    const char *baseline;         // name, static or owned by the judge; NULL: none
    char *no_baseline;            // why there is none; owned
    int batches, rounds;
    bool left_out;  // a call is checked there, none is timed; not_timed says why
} kg_case_times;

typedef struct {
    char *family, *evidence;  // owned
} kg_violation;

typedef struct kg_baseline kg_baseline;

typedef struct {
    kg_judge *judge;
    const kg_candidate *cand;
    const kg_task *task;
    uint64_t seed;    // of the correctness cases' values; the record names it
    uint64_t secret;  // of all that is timed and of what is looked at; never written anywhere
    kg_artifact artifact;
    bool built;
    kg_session *session;
    char *sandbox, *entry;  // as the session said
    kg_ceilings ceilings;   // that it is held to; owned; NAN until it is timed
    bool granted_only;      // and at each size only to what of them the device gave meanwhile
    kg_cases cases, sizes;  // correctness cases, timed sizes
    kg_case_result *results;
    size_t n_results, not_run;  // not_run: cases left out once enough had failed
    kg_case_times *times;
    size_t n_times;
    kg_violation *violations;
    bool busy;  // others kept the processors so busy that the library's times suffered
    size_t n_violations;
    json_t *not_timed;    // [{case, why}]
    json_t *not_checked;  // the same, of correctness cases: memory does not allow them, or the kernel refused them
    char *broken;         // why it is broken; NULL when it is not
    bool broke_in_case;   // and the last result is the case in which it broke
    kg_precision precision;
    const char *baseline_settings;
    char *no_baseline;     // why no size has one; owned
    kg_overhead overhead;  // of the candidate's session
    json_t *findings;      // as the record has them; NULL: it was not diagnosed
    bool explained;        // they explain why it misses a screen
    json_t *counters;      // {"case", ...}: what the device counted there; NULL: nothing
    kg_steps steps;
} kg_trial;

struct kg_judge {
    kg_launcher *launcher;
    kg_device *device;
    kg_device_info info;
    kg_ceilings_source ceilings_from;
    kg_ceilings ceilings;  // owned; NAN until known
    bool known, raised;    // raised: measured again in this run
    kg_judge_options o;
    kg_baseline *baseline;   // kept for the next candidate of the same task
    kg_ahead *ahead, *next;  // builds: of this candidate, begun while the one before was judged, and of the next
    bool ahead_of_next;      // this one's was taken already
    struct kg_diagnoser *diagnoser;  // NULL until the first candidate is diagnosed
    bool uncounted;                  // hardware counters cannot be read here: not tried again
    bool apart;                      // candidates cannot reach each other's folders here
};

void kg_trial_progress(const kg_trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kg_trial_violation(kg_trial *t, const char *family, char *evidence);  // takes evidence
// Records a case's result; takes why (NULL: right). check: NULL when the call itself failed.
void kg_trial_result(kg_trial *t, const kg_case *c, bool timed, const kg_check *check, char *why);
// The candidate crashed or hung in this case, which so has no answer; takes why.
void kg_trial_broke(kg_trial *t, const kg_case *c, bool timed, char *why);
size_t kg_trial_failed(const kg_trial *t);

// Sets precision from the results so far: the lowest rung over the cases of the dtype that is timed.
void kg_trial_find_precision(kg_trial *t);

// Seed of call `call` of a case: the same for candidate, baseline and replay.
uint64_t kg_trial_seed(const kg_trial *t, const kg_case *c, uint64_t call);

// A number that even who knows the run's seed cannot foresee.
uint64_t kg_trial_secret(const kg_trial *t, uint64_t counter);

// Seed of a timed batch: as hidden.
uint64_t kg_trial_batch_seed(const kg_trial *t, const kg_case *c, uint64_t number);

// correctness.c: all cases, each called at least twice on different values.
int kg_trial_correctness(kg_trial *t, kg_error *err);
// The calls a case needs before the one judged (stateful tasks), then that one. seeds gets what was filled.
int kg_trial_call_case(kg_trial *t, kg_session *s, const kg_case *c, int slot, uint64_t first_call, uint64_t *seeds,
                       int *n_seeds, kg_error *err);
// timing.c
int kg_trial_timing(kg_trial *t, kg_error *err);
// memory.c: bytes that one session may lay out for this case, and what the arenas need over all cases and sizes.
size_t kg_trial_limit(const kg_trial *t, const kg_case *c);
void kg_trial_arena_bytes(const kg_trial *t, size_t *in_bytes, size_t *out_bytes);
// Drops timed sizes that do not fit this device (noting them), and those a quick run leaves out.
// Notes in not_timed or not_checked that a case is not part of the verdict, and why; takes why.
void kg_trial_not_asked(json_t *list, const kg_case *c, char *why);
// Leaves out what memory does not allow, with a word in not_checked and not_timed; and of a quick run's sizes some.
void kg_trial_choose_cases(kg_trial *t);
void kg_trial_choose_sizes(kg_trial *t);

// ceilings.c: measures the ceilings again, once a run, and keeps the higher ones. True: they may have changed.
bool kg_trial_raise_ceilings(kg_trial *t);
// On a device that others use too: from now on each size is held to what the device gave while it was timed. False: the
// same as before.
bool kg_trial_lower_ceilings(kg_trial *t);
// Looks at what the device gives now, for this size. While candidate and library stand still.
void kg_trial_glance(kg_trial *t, kg_case_times *ct);
// What a size is held to. A view.
kg_ceilings kg_trial_ceilings_at(const kg_trial *t, const kg_case_times *ct);

// baseline.c: whether --baseline names one, rather than auto or none.
bool kg_baseline_named(const kg_judge *j);
// Before a candidate is judged: fails when the baseline that was named cannot be used for the task, as far as that can
// be told without timing.
int kg_baseline_prepare(kg_trial *t, kg_error *err);
// A library's implementation, or the file that was named, in a session of its own, set up for the task. *out stays the
// judge's. Fails when there is none, and err says why.
int kg_baseline_get(kg_trial *t, kg_precision precision, kg_baseline **out, kg_error *err);
kg_session *kg_baseline_session(const kg_baseline *b);
bool kg_baseline_is_file(const kg_baseline *b);
const char *kg_baseline_name(const kg_baseline *b);
const char *kg_baseline_settings(const kg_baseline *b);
void kg_baseline_close(kg_baseline *b);

// diagnosis.c: after timing; sets findings and explained.
void kg_trial_diagnose(kg_trial *t);

// counters.c: more calls at this size, untimed, while another process reads the device's hardware counters; sets facts
// and counters. Where they cannot be read it does nothing.
void kg_trial_count(kg_trial *t, const kg_case_times *ct, kg_facts *f);

// replay.c: the command line that shows a case again; NULL when its source is in no file. Owned by the caller.
char *kg_trial_replay(const kg_trial *t, const kg_case *c);

// record.c
json_t *kg_trial_record(const kg_trial *t, const char *started, double seconds);

#endif
