// What judging.c and resume.c share.
#ifndef KG_CLI_JUDGING_H
#define KG_CLI_JUDGING_H

#include "cli/cli.h"

// The candidates of one command and what came of them so far.
typedef struct {
    const kg_options *o;
    kg_report *report;
    kg_database *store;  // NULL with --no-db
    kg_judges *judges;
    int64_t run;
    bool resumed;     // the run was begun by an earlier command
    json_t *closing;  // of gate: lines that follow the report; borrowed
    bool gate, explains;
    kg_requirement requirement;
    size_t judged, kept, no_device, no_task, failed;
    size_t malformed, refused;  // lines that are no candidate; named one by one and not to be judged
    size_t unscreened;          // met the requirement, and no screen applied
    char *first_unscreened;     // the first of them and why
    char *first_no_device, *first_no_task, *first_failed;  // one example each
    char **unmet;                                          // of gate: the candidate and why, owned
    size_t n_unmet;
    int code;   // the worst exit code so far
    size_t at;  // candidates seen
    char *now;  // the one being judged, for progress
} kg_judging;

// ---- judging.c
// How candidates are judged, as the options say. What they point to is borrowed.
kg_judges_options kg_judging_options(const kg_options *o, kg_database *store,
                                     void (*progress)(const char *what, void *ctx), void *ctx);
// While on, the first SIGINT or SIGTERM is noted (kg_interrupted) and the second ends the program.
void kg_judging_listen(bool on);
// Why a candidate whose task is not known cannot be judged; owned by the caller.
char *kg_judging_unknown_task(const kg_candidate *c);

// ---- resume.c
// Begins a run in the store, or with --resume takes up the last one that did not end.
int kg_judging_begin(kg_judging *j, const char *command, kg_error *err);
// The record this candidate got before the run was interrupted, or NULL.
json_t *kg_judging_kept(kg_judging *j, const kg_candidate *c);

// ---- gate.c
// Holds a record against the requirement.
void kg_gate_weigh(kg_judging *j, const json_t *record);
// The closing lines and the exit code.
void kg_gate_close(kg_judging *j);

// ---- case.c
// Whether --case names a case of this task; 0 when it does or was not given.
int kg_judging_check_case(const kg_options *o, const kg_task *t, kg_error *err);

#endif
