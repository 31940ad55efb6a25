// Reading between elements: which elements a position lies between, their weights, and what rounding does to both.
#ifndef KG_RESAMPLE_H
#define KG_RESAMPLE_H

#include "oracle/oracle.h"

// A position along one dimension, in elements; 0 is the first one's middle.
typedef struct {
    double at;
    double error;  // what an honest kernel's position is off by, in units of u
    double slack;  // the same in elements, at the lowest precision that counts: whether it may cross an integer
} kg_position;

// The elements that one output reads along one dimension. An element that is not there (-1) counts as 0.
typedef struct {
    int n;
    int64_t at[6];
    double weight[6], error[6];  // error of the weight, in units of u
} kg_taps;

// Slack of a position that float32 computes from numbers of this size.
static inline double kg_slack(double size) { return 0x1p-21 * (fabs(size) + 1); }

kg_taps kg_taps_linear(kg_position p);
kg_taps kg_taps_cubic(kg_position p);  // Keys' kernel with a = -0.75, as PyTorch has it
// The candidates of a rounding to one element: floor(at), and its neighbour where `at` is that near to an integer. To
// round to nearest: at + 1/2.
kg_taps kg_taps_floor(double at, double slack);

void kg_taps_clamp(kg_taps *t, int64_t n);  // outside 0..n-1: the first or the last element
void kg_taps_drop(kg_taps *t, int64_t n);   // outside: not there

// The dims last dimensions of v from storage offset `start` on, by the taps of each. Weighted: value, local error, and
// the sum of |element weight|. Picked: exact where each dimension has one candidate, else the middle of what the
// candidates hold, and local their half distance in units of v's dtype's u.
typedef struct {
    double value, local, magnitude;
} kg_weighted;
kg_weighted kg_taps_weighted(const kg_view *v, int64_t start, int dims, const kg_taps *taps);
kg_point kg_taps_picked(const kg_view *v, int64_t start, int dims, const kg_taps *taps);

#endif
