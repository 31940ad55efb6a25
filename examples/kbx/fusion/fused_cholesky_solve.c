/* kgate: task=fused_cholesky_solve */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

int fused_cholesky_solve(const DLTensor *A, const DLTensor *b, DLTensor *out) {
    const int64_t n = kg_dim(A, 0), k = kg_dim(b, 1);
    double *l = malloc((size_t)(n * n + n + 1) * sizeof *l), *x = l + n * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = kg_get(A, i * n + j);
            for (int64_t c = 0; c < j; c++) s -= l[i * n + c] * l[j * n + c];
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
    for (int64_t c = 0; c < k; c++) {
        for (int64_t i = 0; i < n; i++) {
            x[i] = kg_get(b, i * k + c);
            for (int64_t j = 0; j < i; j++) x[i] -= l[i * n + j] * x[j];
            x[i] /= l[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t j = i + 1; j < n; j++) x[i] -= l[j * n + i] * x[j];
            x[i] /= l[i * n + i];
            kg_put(out, i * k + c, x[i]);
        }
    }
    free(l);
    return 0;
}
