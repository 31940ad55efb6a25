// Fractional max pooling (Graham, arXiv:1412.6071; PyTorch's form of it): where its windows start, and which random
// numbers may have given the outputs of a plane.
//
// Along one dimension of `in` elements, window i of `out` starts at
//     floor((i + u) a) - floor(u a) = floor(f + i a),   a = (in - kernel) / (out - 1),  f = u a - floor(u a),
// u uniform on [0, 1), and the last at in - kernel. So f alone decides, and each window has two starts: the upper one
// where f is at least 1 - frac(i a). f is not uniform: its rank, its distribution function at f, is, and stands for it.
//
// Kernels round i + u, a and their product, so near that limit both starts are right, within 4 unit roundoffs of
// (i + 2) a; and where u a is near an integer, a window with i a an integer may start one before or behind (its two
// floors are rounded apart): KG_START_BEFORE, KG_START_BEHIND.
#ifndef KG_FRACTIONAL_H
#define KG_FRACTIONAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t in, kernel, out;  // out >= 1, in - kernel >= out - 1
} kg_fractional;

int64_t kg_fractional_start(const kg_fractional *d, double u, int64_t i);
double kg_fractional_rank(const kg_fractional *d, double f);

// A window starts at `lower` for ranks below `to`, at lower + 1 from rank `from` on; between `from` and `to` at either.
typedef struct {
    int64_t lower;
    double from, to;
} kg_start;

typedef enum { KG_START_PLAIN, KG_START_BEFORE, KG_START_BEHIND, KG_START_KINDS } kg_start_kind;
// Of window i, in arithmetic of this unit roundoff.
kg_start kg_fractional_window(const kg_fractional *d, int64_t i, double unit, kg_start_kind kind);

// ---- what outputs say of the two ranks --------------------------------------------------------------------
// Ranks allowed: [least, most).
typedef struct {
    double least, most;
} kg_ranks;

// The pairs of ranks, of rows and columns, that are in keeping with all outputs noted.
typedef struct {
    int64_t n_rows, n_columns;
    kg_start *rows, *columns;  // of each window
    kg_ranks *column_of[2];    // columns' ranks, where the rows' have row window i start at its lower or upper place
    kg_ranks row, column;      // whatever the other is
    bool none;                 // some output goes with no start at all
} kg_rank_pairs;

int kg_rank_pairs_make(kg_rank_pairs *p, const kg_fractional dims[2], double unit, const kg_start_kind kinds[2]);
void kg_rank_pairs_free(kg_rank_pairs *p);
// Output (i, j) is what it is where row window i starts at its lower (0) or upper (1) place, column window j likewise,
// if may[row][column].
void kg_rank_pairs_note(kg_rank_pairs *p, int64_t i, int64_t j, bool may[2][2]);
// A pair of ranks drawn uniformly from those that are left; `random` are two numbers in [0, 1). False: none is left;
// -1: no memory. So where outputs follow from uniform ranks, these are uniform too, and as independent as those.
int kg_rank_pairs_draw(const kg_rank_pairs *p, const double random[2], double rank[2]);

#endif
