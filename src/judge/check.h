// Compares what a candidate left in its outputs with the oracle.
#ifndef KG_CHECK_H
#define KG_CHECK_H

#include "device/device.h"
#include "judge/layout.h"
#include "judge/session.h"

typedef struct {
    const kg_task *task;
    const kg_case *c;
    const kg_layout *layout;
    kg_arena *in, *out;
    int slot;
    const uint64_t *seeds;  // fill seeds of the calls on the slot, oldest first; the last made the values judged
    int n_seeds;            // 1 for stateless tasks
    uint64_t draw;          // what is looked at follows from it
    bool native;            // C or CUDA: out= arguments do not exist
    kg_effort effort;
    void **kept;  // what calls of one case share (oracle/holds.h); NULL: this call stands alone
} kg_check_request;

int kg_check_outputs(const kg_check_request *r, kg_check *out, kg_error *err);
// Whether something was written beside the outputs of a slot, and nothing else.
int kg_check_guards(const kg_check_request *r, bool *broken, kg_error *err);

// The rung of the ladder that a case must reach to be right.
kg_precision kg_check_required(const kg_task *t, const kg_case *c);
// The best rung whose bounds the errors keep; KG_PREC_NONE when none does.
kg_precision kg_check_rung(const kg_check *k, kg_precision required);

#endif
