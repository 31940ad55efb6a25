// The next candidate's build, while this one is judged.
#ifndef KG_AHEAD_H
#define KG_AHEAD_H

#include "build/build.h"

typedef struct kg_ahead kg_ahead;
// Keeps what a build needs; dev is borrowed. NULL: it needs no compiler.
kg_ahead *kg_ahead_plan(const kg_candidate *c, const kg_device_info *dev, double timeout_s);
// Starts a thread that builds it in a folder of its own.
void kg_ahead_start(kg_ahead *a);
// Until it is built: nothing may be timed beside a compiler. a may be NULL.
void kg_ahead_wait(kg_ahead *a);
// True when this is the candidate: then *failed, *out and err are as kg_build's, with the artifact moved into
// `scratch`.
bool kg_ahead_take(kg_ahead *a, const kg_candidate *c, const char *scratch, kg_artifact *out, int *failed,
                   kg_error *err);
void kg_ahead_drop(kg_ahead *a);

#endif
