/* kgate: task=fused_lu_solve */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

static void swap_rows(double *a, int64_t n, int64_t i, int64_t k) {
    for (int64_t j = 0; j < n; j++) {
        const double t = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = t;
    }
}

int fused_lu_solve(const DLTensor *A, const DLTensor *b, DLTensor *out) {
    const int64_t n = kg_dim(A, 0);
    double *a = malloc((size_t)(n * n + n + 1) * sizeof *a), *x = a + n * n;
    for (int64_t i = 0; i < n * n; i++) a[i] = kg_get(A, i);
    for (int64_t i = 0; i < n; i++) x[i] = kg_get(b, i);
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[p * n + k])) p = i;
        swap_rows(a, n, k, p);
        swap_rows(x, 1, k, p);
        for (int64_t i = k + 1; i < n; i++) {
            a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) x[i] -= a[i * n + j] * x[j];
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) x[i] -= a[i * n + j] * x[j];
        x[i] /= a[i * n + i];
        kg_put(out, i, x[i]);
    }
    free(a);
    return 0;
}
