/* kgate: task=fused_qr_solve */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

/* Householder's reflections, one a column, of a (m x width, of which the first n columns become R). */
static void reflect(double *a, int64_t m, int64_t n, int64_t width) {
    for (int64_t c = 0; c < n; c++) {
        double norm = 0;
        for (int64_t r = c; r < m; r++) norm += a[r * width + c] * a[r * width + c];
        norm = a[c * width + c] > 0 ? -sqrt(norm) : sqrt(norm);
        const double head = a[c * width + c] - norm, size = -head * norm;
        for (int64_t j = c + 1; j < width; j++) {
            double dot = head * a[c * width + j];
            for (int64_t r = c + 1; r < m; r++) dot += a[r * width + c] * a[r * width + j];
            a[c * width + j] -= dot / size * head;
            for (int64_t r = c + 1; r < m; r++) a[r * width + j] -= dot / size * a[r * width + c];
        }
        a[c * width + c] = norm;
    }
}

int fused_qr_solve(const DLTensor *A, const DLTensor *b, DLTensor *out) {
    const int64_t m = kg_dim(A, 0), n = kg_dim(A, 1), k = kg_dim(b, 1), width = n + k;
    double *a = malloc((size_t)(m * width + 1) * sizeof *a);
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < width; c++) a[r * width + c] = c < n ? kg_get(A, r * n + c) : kg_get(b, r * k + c - n);
    reflect(a, m, n, width);
    for (int64_t j = n; j < width; j++)
        for (int64_t r = n - 1; r >= 0; r--) {
            for (int64_t c = r + 1; c < n; c++) a[r * width + j] -= a[r * width + c] * a[c * width + j];
            a[r * width + j] /= a[r * width + r];
            kg_put(out, r * k + j - n, a[r * width + j]);
        }
    free(a);
    return 0;
}
