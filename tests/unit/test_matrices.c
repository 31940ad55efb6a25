// Systems, determinants, Cholesky factors, singular values and eigenvalues of small matrices, against answers worked by
// hand or published; error bounds hold float32 eliminations.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/matrices.h"

static kg_matrix of(int64_t rows, int64_t cols, const double *v) {
    kg_matrix m = kg_matrix_make(rows, cols);
    for (int64_t i = 0; i < rows * cols; i++) m.at[i] = v[i];
    return m;
}
static void near(double a, double b) { assert_true(fabs(a - b) <= 1e-13 * (1 + fabs(b))); }

// Strang, Introduction to Linear Algebra, 2.2: 2x+4y-2z=2, 4x+9y-3z=8, -2x-3y+7z=10 has x=-1, y=2, z=2; pivots 2, 1, 4.
static void strang(void **state) {
    (void)state;
    kg_matrix a = of(3, 3, (double[]){2, 4, -2, 4, 9, -3, -2, -3, 7}), b = of(3, 1, (double[]){2, 8, 10});
    for (int pivot = 0; pivot < 2; pivot++) {
        kg_lu f = kg_lu_of(&a, pivot);
        kg_matrix x = kg_lu_solve(&f, &b), unit = kg_matrix_product(&a, &f.inverse);
        near((double)x.at[0], -1);
        near((double)x.at[1], 2);
        near((double)x.at[2], 2);
        for (int i = 0; i < 9; i++) near((double)unit.at[i], i % 4 == 0);
        if (!pivot) near((double)(KG_AT(&f.lu, 0, 0) * KG_AT(&f.lu, 1, 1) * KG_AT(&f.lu, 2, 2)), 8);
        // Columns' norms 24, 106, 62; running sums of the last element: 7, 7 - 2, 5 - 1, products 2 and 1.
        if (!pivot) near((double)KG_AT(&f.spread, 2, 2), 62 + 49 + 25 + 4 + 16 + 1);
        kg_lu_free(&f);
        kg_matrix_free(&x);
        kg_matrix_free(&unit);
    }
    kg_matrix_free(&a);
    kg_matrix_free(&b);
}

// The example of Wikipedia, "Cholesky decomposition" (2026).
static void cholesky(void **state) {
    (void)state;
    static const double factor[] = {2, 0, 0, 6, 1, 0, -8, 5, 3};
    kg_matrix a = of(3, 3, (double[]){4, 12, -16, 12, 37, -43, -16, -43, 98}), l, e;
    assert_true(kg_cholesky_of(&a, &l, &e));
    for (int i = 0; i < 9; i++) {
        near((double)l.at[i], factor[i]);
        assert_true(factor[i] != 0 ? e.at[i] > 0 : e.at[i] == 0);
    }
    kg_matrix_free(&l);
    kg_matrix_free(&e);
    a.at[8] = 1;
    assert_false(kg_cholesky_of(&a, &l, &e));
    kg_matrix_free(&a);
    kg_matrix_free(&l);
    kg_matrix_free(&e);
}

static kg_matrices batch(const double *data, int64_t n, bool complex) {
    const int64_t shape[] = {1, n, n, 2};
    const kg_view v = {kg_tensor_contiguous(KG_F64, complex ? 4 : 3, shape), data};
    return kg_matrices_of(&v, complex, 2);
}

// |1+i 2; 3 4-i| = (1+i)(4-i) - 6 = 5 + 3i - 6.
static void determinants(void **state) {
    (void)state;
    static const double complex[] = {1, 1, 2, 0, 3, 0, 4, -1}, real[] = {0, 2, 3, 4}, singular[] = {1, 2, 2, 4};
    kg_matrices b = batch(complex, 2, true);
    kg_determinant d = kg_determinant_of(&b, 0, true, 0x1p-53);
    near(d.re, -1);
    near(d.im, 3);
    b = batch(real, 2, false);
    d = kg_determinant_of(&b, 0, true, 0x1p-53);
    near(d.re, -6);
    assert_true(d.error > 6 && d.error < 60);
    // Singular values 5 and 0, and S 5 + 1, 20 + 4, 5 + 4 (+ 2 + 0), 20 + 16 (+ 16 + 0) at most: |d det| <= 5 ||E||.
    b = batch(singular, 2, false);
    d = kg_determinant_of(&b, 0, true, 0x1p-53);
    assert_true(d.re == 0 && d.error > 5 * 5 && d.error < 5 * 12);
}

// [3 0; 4 5] has singular values sqrt(45) and sqrt(5) (Strang, 7.2); [2 1; 1 2] has eigenvalues 3 and 1; a rotation has
// +-i, of condition number 1.
static void values(void **state) {
    (void)state;
    kg_matrix a = of(2, 2, (double[]){3, 0, 4, 5}), s = of(2, 2, (double[]){2, 1, 1, 2}),
              r = of(2, 2, (double[]){0, -1, 1, 0});
    kg_svd d;
    kg_eigen e;
    assert_int_equal(kg_svd_of(&a, &d), 0);
    near(d.s[0], sqrt(45));
    near(d.s[1], sqrt(5));
    kg_svd_free(&d);
    assert_true(kg_matrix_norm_bound(&a) >= sqrt(45) && kg_matrix_norm_bound(&a) < 7.2);
    assert_int_equal(kg_eigen_of(&s, &e), 0);
    near(fmax(e.value[0], e.value[2]), 3);
    near(fmin(e.value[0], e.value[2]), 1);
    kg_eigen_free(&e);
    assert_int_equal(kg_eigen_of(&r, &e), 0);
    near(fabs(e.value[1]), 1);
    near(e.value[0], 0);
    kg_eigen_free(&e);
    kg_matrix_free(&a);
    kg_matrix_free(&s);
    kg_matrix_free(&r);
}

// The real form of a complex matrix: its solution's is that of the complex system. (1+i) x = 2: x = 1 - i.
static void complex_as_real(void **state) {
    (void)state;
    static const double data[] = {1, 1};
    kg_matrices b = batch(data, 1, true);
    kg_matrix a = kg_matrix_load(&b, 0), rhs = of(2, 2, (double[]){2, 0, 0, 2});
    kg_lu f = kg_lu_of(&a, true);
    kg_matrix x = kg_lu_solve(&f, &rhs);
    near((double)x.at[0], 1);
    near((double)x.at[1], 1);
    near((double)x.at[2], -1);
    near((double)x.at[3], 1);
    kg_lu_free(&f);
    kg_matrix_free(&a);
    kg_matrix_free(&rhs);
    kg_matrix_free(&x);
}

// Float elimination without pivoting of a matrix that needs none, against the bound: inside, and not far below.
static void float_solutions_pass(void **state) {
    (void)state;
    enum { N = 40 };
    float v[N * N], b[N];
    double most = 0, error[N];
    for (uint64_t seed = 0; seed < 30; seed++) {
        kg_matrix a = kg_matrix_make(N, N), rhs = kg_matrix_make(N, 1);
        kg_fill_range(&(kg_fill){KG_FILL_RAISED, N, 30}, KG_F32, seed, 0, (int64_t)N * N, v);
        kg_fill_range(&(kg_fill){KG_FILL_NORMAL, 0, 1}, KG_F32, seed + 1000, 0, N, b);
        for (int i = 0; i < N * N; i++) a.at[i] = v[i];
        for (int i = 0; i < N; i++) rhs.at[i] = b[i];
        kg_lu f = kg_lu_of(&a, true);
        kg_matrix x = kg_lu_solve(&f, &rhs);
        kg_lu_error(&f, &x, &rhs, 0, error);
        for (int k = 0; k < N; k++)
            for (int i = k + 1; i < N; i++) {
                const float l = v[i * N + k] / v[k * N + k];
                for (int j = k + 1; j < N; j++) v[i * N + j] -= l * v[k * N + j];
                b[i] -= l * b[k];
            }
        for (int i = N - 1; i >= 0; i--) {
            for (int j = i + 1; j < N; j++) b[i] -= v[i * N + j] * b[j];
            b[i] /= v[i * N + i];
            most = fmax(most, fabs(b[i] - (double)x.at[i]) / (0x1p-24 * KG_SPREAD * error[i]));
        }
        kg_lu_free(&f);
        kg_matrix_free(&a);
        kg_matrix_free(&rhs);
        kg_matrix_free(&x);
    }
    assert_true(most < 0.5 && most > 0.01);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strang),          cmocka_unit_test(cholesky), cmocka_unit_test(determinants),
        cmocka_unit_test(complex_as_real), cmocka_unit_test(values),   cmocka_unit_test(float_solutions_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
