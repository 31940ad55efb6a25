// Outputs that have no single right answer are judged by what must hold of them: a decomposition by its residual, its
// factors' orthogonality and shape, a random result by its distribution.
//
// A task lists such outputs in kg_task.held and has a function holds(call, answer, h) that looks at all outputs of a
// call and says, by the functions below, what it found. Every property is either a number that should be another within
// an error bound, of the same form as an oracle's (task.h), so that it places the result on the precision ladder too;
// or true or false.
#ifndef KG_HOLDS_H
#define KG_HOLDS_H

#include <pthread.h>

#include "task/task.h"

// What a call left: its outputs in order, then its KG_INOUT arguments, as kg_ref counts them. Complex ones are seen by
// their parts.
typedef struct kg_answer {
    int n;
    kg_view out[KG_MAX_OUTS + KG_MAX_ARGS];
    // Calls of one case share this: NULL at the first, whatever the task leaves behind (from malloc; freed by the
    // judge). For what must differ, or be independent, from call to call. A NULL pointer: this call stands alone.
    void **kept;
    uint64_t seed;  // for choosing what to look at, where that is not all; the candidate does not know it
    bool full;      // look at all, whatever it costs
} kg_answer;

// What was found; from many threads at once.
typedef struct kg_holds {
    const kg_task *task;
    pthread_mutex_t lock;
    double worst[KG_PREC_NONE];  // largest error over bound at each rung
    double at_required;          // at the rung that the case must reach; -1: nothing was said
    char *where;                 // the worst one at that rung, in words; owned
} kg_holds;

// `got` should be `expected`, within u * local + u_acc * acc + tiny of dtype t (no storing is charged: charge it to
// local). The text, as printf has it, names the property and the place: "U Vh[3,2]".
void kg_hold(kg_holds *h, kg_dtype t, double got, double expected, double local, double acc, const char *text, ...)
    __attribute__((format(printf, 7, 8)));
// The worst of many such, as found by the caller: error over bound at each rung, and at the one that the case must
// reach.
void kg_hold_worst(kg_holds *h, const double worst[KG_PREC_NONE], double at_required, const char *text, ...)
    __attribute__((format(printf, 4, 5)));
// So or not. The text says what is not so: "pivots[3] is 9, of 5 rows".
void kg_hold_true(kg_holds *h, bool so, const char *text, ...) __attribute__((format(printf, 3, 4)));
// A statistic that lies above `limit` with the probability that the text should name, or less.
void kg_hold_below(kg_holds *h, double statistic, double limit, const char *text, ...)
    __attribute__((format(printf, 4, 5)));

#endif
