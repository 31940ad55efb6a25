// Where the seconds of a judgement go. One step is on at a time, so the parts add up to the whole.
#ifndef KG_STEPS_H
#define KG_STEPS_H

#include <jansson.h>

typedef enum {
    KG_STEP_OTHER,
    KG_STEP_START,     // the runner's process, its memory, its calibration
    KG_STEP_BUILD,     // compiling, or waiting for what is compiled ahead
    KG_STEP_LOAD,      // into the runner: importing, linking
    KG_STEP_CALLS,     // untimed calls, with the values filled in before
    KG_STEP_ORACLE,    // outputs compared with the oracle
    KG_STEP_CEILINGS,  // of the device, where they are not known
    KG_STEP_LIBRARY,   // the baseline: its process, its calls, its batches
    KG_STEP_BATCHES,   // of the candidate
    KG_STEP_LOOKS,     // at outputs of timed calls
    KG_STEP_DIAGNOSIS,
    KG_STEPS
} kg_step;

typedef struct {
    kg_step now;
    double since, spent[KG_STEPS];  // seconds
} kg_steps;

void kg_steps_begin(kg_steps *s);
// Ends the step that is on and begins another; returns the one before, to go back to.
kg_step kg_steps_to(kg_steps *s, kg_step next);
json_t *kg_steps_to_json(kg_steps *s);  // {"start": seconds, ...}

#endif
