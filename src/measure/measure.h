// Samples to statements: medians with intervals, ratios with intervals, when to stop.
#ifndef KG_MEASURE_H
#define KG_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double *v;   // seconds; owned
    int *batch;  // which batch each came from; same length
    size_t n, cap;
} kg_samples;
void kg_samples_add(kg_samples *s, double seconds, int batch);
void kg_samples_free(kg_samples *s);

typedef struct {
    double mid, lo, hi;
} kg_interval;  // 95 %

double kg_median(const double *v, size_t n);  // NAN when n == 0
// Median and its interval, resampled over whole batches (samples of one batch drift together): percentile
// bootstrap, 400 resamples, fixed generator so the same samples give the same answer.
kg_interval kg_median_interval(const kg_samples *s);
// Ratio of medians base/cand, batches resampled in pairs (batch i of both ran side by side).
kg_interval kg_ratio_interval(const kg_samples *base, const kg_samples *cand);
// Geometric mean of per-case ratios, each with its own samples: resampled case by case.
kg_interval kg_geomean_interval(const kg_samples *const *base, const kg_samples *const *cand, size_t cases);
// For what resampling cannot see: two processes that run the same kernel differ by some share whatever is averaged, so
// no ratio of two of them is known better.
kg_interval kg_widened(kg_interval i, double by);
// The same for utilisation: fixed numerators sol[i] over candidate samples.
kg_interval kg_geomean_fixed(const double *sol, const kg_samples *const *cand, size_t cases);

typedef struct {
    double rel_width;  // stop when the median's interval is inside this share of it (0.02)
    int min_batches, max_batches;
    double budget_s;  // stop when this much time went into the case
} kg_stop_rule;
// True when enough was measured. threshold: NAN, or a ratio that the interval must not straddle.
bool kg_enough(const kg_stop_rule *r, const kg_samples *cand, const kg_samples *base, double threshold, int batches,
               double spent_s);

// Do the two clocks agree? reported: sum of the per-call times the runner states; judge: the batch by the judge's own
// clock; overhead_s: calibrated cost of an empty batch of as many calls; slack as measured with honest kernels.
typedef struct {
    bool agree;
    double excess_s, allowed_s;
} kg_clocks;
kg_clocks kg_clocks_compare(double reported_s, double judge_s, double overhead_s, int calls, double slack_per_call_s,
                            double slack_per_batch_s, double rel);

#endif
