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
    bool resumed;  // the run was begun by an earlier command
    size_t judged, kept, below, no_device, no_task, failed;
    char *first_no_device, *first_no_task, *first_failed;  // one example each
    int code;                                              // the worst exit code so far
    size_t at;                                             // candidates seen
    char *now;                                             // the one being judged, for progress
} kg_judging;

// ---- resume.c
// Begins a run in the store, or with --resume takes up the last one that did not end.
int kg_judging_begin(kg_judging *j, const char *command, kg_error *err);
// The record this candidate got before the run was interrupted, or NULL.
json_t *kg_judging_kept(kg_judging *j, const kg_candidate *c);

// ---- case.c
// Whether --case names a case of this task; 0 when it does or was not given.
int kg_judging_check_case(const kg_options *o, const kg_task *t, kg_error *err);

#endif
