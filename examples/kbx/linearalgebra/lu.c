/* kgate: task=lu */
#include <complex.h>
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

typedef double complex number;

static number load(const DLTensor *t, int64_t base, int64_t i, int64_t j) {
    double re, im;
    kg_get_complex_at(t, base + i * kg_stride(t, -2) + j * kg_stride(t, -1), &re, &im);
    return re + im * I;
}

static void store(DLTensor *t, int64_t index, number v) {
    const int64_t at = kg_element(t, index);
    if (t->dtype.code == kDLComplex) kg_put_complex_at(t, at, creal(v), cimag(v));
    else kg_put_at(t, at, creal(v));
}

static int64_t matrix_at(const DLTensor *t, int64_t which) {
    int64_t at = 0;
    for (int64_t d = t->ndim - 3; d >= 0; d--) {
        at += which % kg_dim(t, d) * kg_stride(t, d);
        which /= kg_dim(t, d);
    }
    return at;
}

/* x, m x n, becomes U on and above the diagonal and L below it; its row i was A's row order[i]. */
static void eliminate(int64_t m, int64_t n, bool pivot, number *x, int64_t *order) {
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int64_t k = 0; k < m && k < n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; pivot && i < m; i++)
            if (cabs(x[i * n + k]) > cabs(x[p * n + k])) p = i;
        const int64_t was = order[k];
        order[k] = order[p];
        order[p] = was;
        for (int64_t j = 0; p != k && j < n; j++) {
            const number t = x[k * n + j];
            x[k * n + j] = x[p * n + j];
            x[p * n + j] = t;
        }
        for (int64_t i = k + 1; i < m && x[k * n + k] != 0; i++) {
            x[i * n + k] /= x[k * n + k];
            for (int64_t j = k + 1; j < n; j++) x[i * n + j] -= x[i * n + k] * x[k * n + j];
        }
    }
}

int lu(const DLTensor *A, bool pivot, DLTensor *P, DLTensor *L, DLTensor *U) {
    const int64_t m = kg_dim(A, -2), n = kg_dim(A, -1), k = m < n ? m : n;
    int64_t count = 1;
    for (int d = 0; d < A->ndim - 2; d++) count *= kg_dim(A, d);
    number *x = malloc((size_t)(m * n + 1) * sizeof *x);
    int64_t *order = malloc((size_t)(m + 1) * sizeof *order);
    for (int64_t b = 0; b < count; b++) {
        for (int64_t i = 0; i < m * n; i++) x[i] = load(A, matrix_at(A, b), i / n, i % n);
        eliminate(m, n, pivot, x, order);
        for (int64_t i = 0; pivot && i < m * m; i++) store(P, b * m * m + i, i / m == order[i % m]);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < k; j++) store(L, (b * m + i) * k + j, i > j ? x[i * n + j] : i == j);
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < n; j++) store(U, (b * k + i) * n + j, i <= j ? x[i * n + j] : 0);
    }
    free(x);
    free(order);
    return 0;
}
