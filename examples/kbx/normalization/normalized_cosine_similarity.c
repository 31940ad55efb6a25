/* kgate: task=normalized_cosine_similarity */
#include <kgate/kernel.h>
#include <math.h>

/* Where line `line` along dim of the broadcast shape starts in x. */
static int64_t start(const DLTensor *x, const DLTensor *other, int64_t dim, int64_t line) {
    int64_t at = 0;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (d == (dim + x->ndim) % x->ndim) continue;
        const int64_t size = x->shape[d] != 1 ? x->shape[d] : other->shape[d];
        if (x->shape[d] != 1) at += line % size * kg_stride(x, d);
        line /= size;
    }
    return at;
}

static double norm(const DLTensor *x, int64_t at, int64_t dim, double p) {
    double sum = 0;
    for (int64_t k = 0; k < kg_dim(x, dim); k++) {
        const double e = fabs(kg_get_at(x, at + k * kg_stride(x, dim)));
        if (!isinf(p)) sum += pow(e, p);
        else if (e > sum || e != e) sum = e;
    }
    return isinf(p) ? sum : pow(sum, 1 / p);
}

static double at_least(double x, double eps) { return x < eps ? eps : x; } /* NaN stays */

int normalized_cosine_similarity(const DLTensor *x1, const DLTensor *x2, int64_t dim, double eps_similarity,
                                 double p_norm, double eps_norm, DLTensor *out) {
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t a = start(x1, x2, dim, i), b = start(x2, x1, dim, i);
        const double n1 = at_least(norm(x1, a, dim, p_norm), eps_norm);
        const double n2 = at_least(norm(x2, b, dim, p_norm), eps_norm);
        const double m1 = at_least(norm(x1, a, dim, 2) / n1, eps_similarity);
        const double m2 = at_least(norm(x2, b, dim, 2) / n2, eps_similarity);
        double dot = 0;
        for (int64_t k = 0; k < kg_dim(x1, dim); k++)
            dot += kg_get_at(x1, a + k * kg_stride(x1, dim)) / n1 / m1 *
                   (kg_get_at(x2, b + k * kg_stride(x2, dim)) / n2 / m2);
        kg_put(out, i, dot);
    }
    return 0;
}
