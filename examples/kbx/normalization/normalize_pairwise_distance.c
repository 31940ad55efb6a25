/* kgate: task=normalize_pairwise_distance */
#include <kgate/kernel.h>
#include <math.h>

/* One more element of a p-norm; finished by root(). */
static double gather(double sum, double x, double p) {
    if (isinf(p)) return x > sum || x != x ? x : sum;
    return sum + pow(x, p);
}
static double root(double sum, double p) { return isinf(p) ? sum : pow(sum, 1 / p); }

static double distance(const DLTensor *x1, const DLTensor *x2, int64_t row, double p, double eps) {
    const int64_t a = kg_line(x1, -1, row), b = kg_line(x2, -1, row);
    double sum = 0;
    for (int64_t k = 0; k < kg_dim(x1, -1); k++) {
        const double d = kg_get_at(x1, a + k * kg_stride(x1, -1)) - kg_get_at(x2, b + k * kg_stride(x2, -1));
        sum = gather(sum, fabs(d + eps), p);
    }
    return root(sum, p);
}

int normalize_pairwise_distance(const DLTensor *x1, const DLTensor *x2, double p_distance, double eps_distance,
                                bool keepdim, double p_norm, int64_t dim_norm, double eps_norm, DLTensor *out) {
    (void)keepdim; /* out has that shape already; its elements are the rows of x1 either way */
    const int64_t n = kg_dim(out, dim_norm), step = kg_stride(out, dim_norm);
    for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, distance(x1, x2, i, p_distance, eps_distance));
    for (int64_t line = 0; line * n < kg_elements(out); line++) {
        const int64_t first = kg_line(out, dim_norm, line);
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum = gather(sum, kg_get_at(out, first + k * step), p_norm);
        const double norm = root(sum, p_norm), by = norm < eps_norm ? eps_norm : norm;
        for (int64_t k = 0; k < n; k++) kg_put_at(out, first + k * step, kg_get_at(out, first + k * step) / by);
    }
    return 0;
}
