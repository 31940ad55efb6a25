// Judges one candidate and makes its result record.
#ifndef KG_JUDGE_H
#define KG_JUDGE_H

#include <jansson.h>

#include "candidate/candidate.h"
#include "device/device.h"
#include "judge/session.h"
#include "screen/screen.h"

typedef struct {
    uint64_t seed;    // 0: a fresh one for each candidate
    bool full;        // --cases full, --cases float64
    bool float64;     // --cases float64
    bool hot;         // --cache hot
    bool check_only;  // no timing
    bool profile;     // the record says where the seconds went
    double timeout_s;
    const char *baseline;  // "auto", "none", "torch-eager", "torch-compile", "cublaslt", "cudnn", "onednn", "openblas",
                           // or a file
    kg_thresholds thresholds;
    const char *scope;                              // see judge/scope.h; NULL: the whole schema
    const char *case_only;                          // replay: only this case; NULL
    void (*progress)(const char *what, void *ctx);  // may be NULL
    void *progress_ctx;
} kg_judge_options;

// Whether a baseline has this name: auto, none, a library, or a file that is there. Fails with KG_ERR_USAGE.
int kg_baseline_known(const char *name, kg_error *err);

// Where a device's ceilings come from: the known ones, else measured when the first candidate is to be timed, for a
// wrong kernel needs none. *out is the caller's.
typedef struct {
    bool (*known)(void *ctx, kg_ceilings *out);
    int (*measure)(void *ctx, kg_ceilings *out, kg_error *err);
    void *ctx;
} kg_ceilings_source;

typedef struct kg_judge kg_judge;
// One judge per device and run; keeps baselines' sessions and ceilings. l and d are borrowed.
int kg_judge_open(kg_launcher *l, kg_device *d, kg_ceilings_source from, const kg_judge_options *o, kg_judge **out,
                  kg_error *err);
void kg_judge_close(kg_judge *j);
// The ceilings it goes by, NULL when none were needed; *raised: they were measured again since the start and are worth
// keeping.
const kg_ceilings *kg_judge_ceilings(const kg_judge *j, bool *raised);
// The record of DESIGN.md (schema 1), whatever happens: a candidate's fault is a verdict. Only a failure that is not
// the candidate's (device lost for good, out of memory in the judge) returns -1.
int kg_judge_candidate(kg_judge *j, const kg_candidate *c, json_t **record, kg_error *err);
// What the next candidate is compared with, and the one case it is judged on (NULL: all); as kg_judge_options has them,
// borrowed.
void kg_judge_compare(kg_judge *j, const char *baseline, const char *case_only);
// The candidate that will be judged next: it is built while others are judged, but not while they are timed.
void kg_judge_ahead(kg_judge *j, const kg_candidate *next);

#endif
