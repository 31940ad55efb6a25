// Dropout, alone or between other stages: which elements a kernel dropped is its own affair, that it dropped as it
// should is not.
//
// Every output has two right answers, what follows from the element dropped (0) and from it kept (value / (1 - p)),
// each with its error bound; an answer that is neither is wrong. Where the two bounds do not meet, the answer also
// tells which it was, and the mask so found is tested (oracle/chance.h, error rates there):
//   - the number kept is Binomial(n, 1 - p), exactly, with p rounded to 24 bits or better;
//   - the mask correlates with itself at no distance: per row, per column, per block, repeated after any number of
//     elements (sums over all pairs at every distance, so repeated patterns shorter than half of what is looked at);
//   - the masks of a case's two calls correlate at no distance: constant masks, masks of the position alone, masks
//     shifted from call to call. The inputs differ in the two calls, but for cases of one constant value, where a mask
//     made from the input's values is either one value or that of the call before.
// Nothing is asked about distances beyond linear correlation, nor between more than two elements.
//
// p = 0 and training = False leave one right answer, and so does p = 1. An element whose value is NaN or infinite may
// be dropped to 0, or to NaN (PyTorch multiplies by the mask).
//
// Whole results to 2^18 elements make the statistics, of longer ones windows (kg_windows); values are checked in all
// elements while that is within the judge's budget, and in full runs to 2^31 of them.
#ifndef KG_DROPOUT_H
#define KG_DROPOUT_H

#include "oracle/holds.h"
#include "oracle/stages.h"

typedef struct {
    double p;  // 0 when not training
    // What is dropped or kept, as kg_task.oracle gives it; where an unfused half-precision kernel stores it, with that.
    int (*before)(const kg_call *call, kg_ref *ref);
    // What becomes of it behind the dropout. NULL: it is the output. ctx is the task's.
    kg_term (*after)(const kg_rung *r, kg_term x, int64_t index, const void *ctx);
    const void *ctx;
    bool whole;  // before() makes much at once: it is called once
    // Where not all can be looked at and outputs of one part cost little more than one of them: the part's shape, and
    // which output its element i is. NULL: windows of the whole result.
    const kg_tensor *part;
    int64_t (*of_part)(int64_t i, uint64_t seed, const void *ctx);
} kg_dropout;

// Judges output 0. -1: no memory.
int kg_dropout_holds(const kg_call *call, const kg_answer *a, kg_holds *h, const kg_dropout *d);
// x / (1 - p) as kernels compute it: p and the factor rounded, and the product. Exact where 1 - p is a power of two.
kg_term kg_dropout_kept(const kg_rung *r, kg_term x, double p);
// p of a call: 0 where `training` is false.
double kg_dropout_p(const kg_call *call, const char *p);

// The mask of a result, as found otherwise: 1 kept, 0 dropped, -1 not known; n elements in an order that is the same
// for both calls of a case. -1: no memory.
int kg_mask_holds(kg_holds *h, const kg_answer *a, const signed char *mask, size_t n, double p);

#define KG_P_PARAM(NAME, DEFAULT) \
    { .name = NAME, .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = DEFAULT }
#define KG_FLAG_PARAM(NAME, DEFAULT) \
    { .name = NAME, .kind = KG_P_BOOL, .optional = true, .keyword = true, .has_default = true, .number = DEFAULT }

#endif
