/* kgate: task=gap22/rms_norm
 *
 * Two passes over a block: its mean square, the results.
 */
#include <kgate/kernel.h>
#include <math.h>

/* Elements normalised together. */
static int64_t block(const kg_ints *shape) {
    int64_t n = 1;
    for (int64_t d = 0; d < shape->n; d++) n *= shape->v[d];
    return n;
}

/* The distance from 1 to the next number. */
static double spacing(DLDataType t) {
    if (t.code == kDLBfloat) return 0x1p-7;
    return t.bits == 64 ? 0x1p-52 : t.bits == 32 ? 0x1p-23 : 0x1p-10;
}

int rms_norm(const DLTensor *input, const kg_ints *normalized_shape, const DLTensor *weight, const double *eps,
             DLTensor *out) {
    int64_t n = block(normalized_shape), elements = kg_elements(input);
    for (int64_t first = 0; first < elements; first += n) {
        double squares = 0;
        for (int64_t k = 0; k < n; k++) squares += kg_get(input, first + k) * kg_get(input, first + k);
        double root = sqrt(squares / (double)n + (eps ? *eps : spacing(input->dtype)));
        for (int64_t k = 0; k < n; k++)
            kg_put(out, first + k, kg_get(input, first + k) / root * (weight ? kg_get(weight, k) : 1));
    }
    return 0;
}
