// (x - mean) / sqrt(variance + eps) * weight + bias: what batch and layer norm share.
#ifndef KG_NORM_H
#define KG_NORM_H

#include "oracle/reduce.h"

typedef struct {
    double mean, mean_acc;  // errors in units of u_acc
    double var, var_acc;
    double eps;
    // Half precision: mean and 1 / sqrt(variance + eps) may be stored before they are used, as PyTorch's batch norm
    // does on the CPU (save_mean and save_invstd have the input's dtype).
    bool saved;
} kg_norm;

// Statistics of a group, biased variance; errors of two-pass and Welford kernels (src/oracle/moments.c).
static inline kg_norm kg_norm_of(const kg_spread *s, double eps) {
    const double n = (double)s->n;
    return (kg_norm){s->mean, s->mean_acc, s->m2 / n, kg_spread_variance_acc(s, n), eps, false};
}
// What storing them moves an output by: that of the variance counts half, and so of 1 / sqrt() once more.
static inline double kg_norm_saved(double mean, double scale, double size) { return fabs(mean) * scale + 1.5 * size; }

// The four steps round: KG_LAMBDA. Kernels that fold the constants into x * scale + shift cancel what the subtraction
// would have: u (|x| + |mean|) scale. Errors of the mean move y as they are, over the deviation; those of the variance
// by half their share of it. Half precision: z = (x - mean) r may be stored before weight and bias are applied.
static inline void kg_norm_put(kg_ref *ref, size_t k, bool half, const kg_norm *m, double x, double weight,
                               double bias) {
    const double spread2 = m->var + m->eps, r = 1 / sqrt(spread2), z = (x - m->mean) * r, y = z * weight + bias;
    const double size = fabs(z * weight), scale = fabs(weight) * r;
    if (!isfinite(y)) {
        kg_ref_put(ref, k, false, y, 0, 0, 0);
        return;
    }
    const double folded = scale * (fabs(x) + fabs(m->mean));
    const double saved = half && m->saved ? kg_norm_saved(m->mean, scale, size) : 0;
    kg_ref_put(ref, k, half, y, KG_LAMBDA * (size + fabs(bias)) + 2 * folded, 2 * size + fabs(bias) + fabs(y) + saved,
               scale * m->mean_acc + size * m->var_acc / (2 * spread2));
}

#endif
