// The judges of a run: one for each device its candidates need, opened when the first of them comes.
#ifndef KG_JUDGES_H
#define KG_JUDGES_H

#include "judge/judge.h"
#include "store/store.h"

typedef struct {
    const char *device;  // "auto": by the candidate's language; else the one device that judges all
    const char *python;  // as kg_launcher_options
    kg_database *store;  // where ceilings are kept; NULL: measured anew
    kg_judge_options judge;
} kg_judges_options;

typedef struct kg_judges kg_judges;
// Fails with KG_ERR_CANNOT when a device that was named is not here. What the options point to is borrowed.
int kg_judges_open(const kg_judges_options *o, kg_judges **out, kg_error *err);
void kg_judges_close(kg_judges *j);
// Whether a device that can judge this language is here; err says why not.
bool kg_judges_can(kg_judges *j, kg_language l, kg_error *err);
// The record of one candidate, problems included; *record is owned by the caller.
int kg_judges_candidate(kg_judges *j, const kg_candidate *c, json_t **record, kg_error *err);

// As kg_judge_compare, for all judges.
void kg_judges_compare(kg_judges *j, const char *baseline, const char *case_only);
// As kg_judge_ahead, where its judge is open already.
void kg_judges_ahead(kg_judges *j, const kg_candidate *next);

// The record of a candidate that cannot be run at all: broken, with c->problem as its error.
json_t *kg_record_of_problem(const kg_candidate *c);

// What begins so is no step on the way but to be kept: whoever shows progress writes it on a line of its own.
#define KG_NOTE "note: "
// Ceilings kept for this device and its driver. store may be NULL: none.
bool kg_ceilings_kept(kg_device *d, kg_database *store, kg_ceilings *out);
// Measured now and, unless the machine was busy, kept.
int kg_ceilings_measure(kg_device *d, kg_database *store, void (*progress)(const char *what, void *ctx), void *ctx,
                        kg_ceilings *out, kg_error *err);
// Keeps ceilings that were measured on the way. A database that cannot be written says so when the result is added.
void kg_ceilings_keep(kg_device *d, kg_database *store, const kg_ceilings *c);

#endif
