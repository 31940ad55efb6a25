// Fractional max pooling judged by what must hold: where the windows of a plane lie is its own affair, that outputs are
// their largest values, and that the numbers behind the places are random, is not.
//   - All outputs of a plane are, exactly, what some pair of numbers makes them, one for rows and one for columns.
//     Windows may be misplaced where rounding may do so (oracle/fractional.h), at float32's roundoff or, for
//     half-precision inputs, at theirs: PyTorch on the CPU computes places in the input's type.
//   - These numbers are uniform on [0, 1) and correlate with each other at no distance, nor with those of the case's
//     other call. Outputs do not give them away, so from those that make a plane what it is one pair is drawn: if they
//     were uniform and independent to begin with, these are too, and error rates are exact (oracle/chance.h).
// In planes of more outputs than there is time for, some are looked at, the corners among them; of more planes than
// there is time for, the first, the last and windows of others (oracle/chance.h).
#ifndef KG_FRACTIONAL_POOLS_H
#define KG_FRACTIONAL_POOLS_H

#include "oracle/fractional.h"
#include "oracle/holds.h"

// Judges output 0 and, where there is one, output 1: each one's place, as row * width + column of its plane; of several
// largest elements, any. The last two dimensions of input and output are dims[0] and dims[1]. Elements are before(x),
// which rounds nothing. -1: no memory.
int kg_fractional_pool_holds(const kg_answer *a, kg_holds *h, const kg_view *input, const kg_fractional dims[2],
                             double (*before)(double x));

#endif
