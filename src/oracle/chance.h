// What must hold of random numbers, each with a bound on the probability that it fails of numbers that are what they
// should be: exact binomial tails, or inequalities that hold for every n (Dvoretzky-Kiefer-Wolfowitz, Bernstein,
// Freedman); no normal approximations, which are off by orders of magnitude where KG_ALARM lies.
#ifndef KG_CHANCE_H
#define KG_CHANCE_H

#include "oracle/decode.h"
#include "oracle/holds.h"

// Of one test. A run makes fewer than 2000 of them (two calls of 60 cases and a few of 20 timed sizes, at most five
// tests each), so that fewer than one run in a million is a false alarm.
#define KG_ALARM 5e-10

// k of n independent events came about, each with a probability between `least` and `most`; false alarm `alarm`.
void kg_hold_count(kg_holds *h, int64_t k, int64_t n, double least, double most, double alarm, const char *what);

// n numbers are uniform on [0, 1), up to a grid: their distribution function may be off by `grid`. Sorts x.
void kg_hold_uniform(kg_holds *h, double *x, size_t n, double grid, const char *what);

// x and y are n numbers each with mean 0 that are independent, but for `known` of them at most all are 0, for reasons
// apart; those have this variance and lie within +-most. No sum over i of x[i] y[i + lag] is larger than chance, at any
// lag of either sign; with y NULL, x against itself at any lag but 0. So a pattern that comes again, at whatever
// distance, is found where it is seen for long enough, as is what is the same along a dimension. -1: no memory.
int kg_hold_uncorrelated(kg_holds *h, const double *x, const double *y, size_t n, size_t known, double variance,
                         double most, const char *what);

// Values found of sums with terms dropped (oracle/decode.h), each of them independent of the others, with an error of
// at most `slack` each: no sum beyond what it can be or far from its mean, their mean, their spread (none too small,
// which is a sum without dropout, nor too large), and no correlation of two that follow each other.
void kg_hold_dropped_sums(kg_holds *h, const double *found, const double *slack, const kg_dropped_sum *expected,
                          size_t n, const char *what);

// ---- a case's calls ---------------------------------------------------------------------------------------
// Numbers with mean 0, as kg_hold_uncorrelated has them, that a call leaves in kg_answer.kept for the next call's test.
typedef struct {
    uint64_t seed;  // what chose the elements looked at
    size_t n, known;
    double x[];
} kg_centred;
// The seed by which to choose elements: the same for all calls of a case.
uint64_t kg_chance_seed(const kg_answer *a);
// No correlation within x, nor with the call before. Takes x: it is freed, or becomes what *kept was. -1: no memory.
int kg_hold_independent(kg_holds *h, const kg_answer *a, kg_centred *x, double variance, double most, const char *what);
// n numbers are uniform on [0, 1) up to a grid, correlate with nothing, and neighbours fall evenly into 16 x 16 cells.
int kg_hold_uniform_calls(kg_holds *h, const kg_answer *a, const double *x, size_t n, double grid, const char *what);

// Indices of [0, total) for tests on part of a long result, ascending: both ends, and windows that lie apart by powers
// of two and by the products of the last dimensions, so that what comes again after so many is seen twice; about `want`
// in all. *index is owned by the caller; NULL: no memory.
size_t kg_windows(const kg_tensor *shape, size_t want, uint64_t seed, int64_t **index);

#endif
