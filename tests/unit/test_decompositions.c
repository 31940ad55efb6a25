// What holds() says of decompositions that are right and of those that are wrong in one way, on matrices small enough
// to check by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "oracle/holds.h"
#include "task/families.h"

// Error over bound of the answer `outs` (one array an output) to a case of float64 or complex128 A with numbers `a`.
static double judged(const char *task, kg_dtype t, int64_t m, int64_t n, const double *a, const void *const *outs) {
    const kg_task *k = kg_task_find(task);
    kg_cases b = {.task = k, .level = KG_CASES_QUICK};
    kg_case *c = kg_case_add(&b);
    kg_set_tensor(c, k, "A", t, KG_SHAPE(m, n), KG_NORMAL(0, 1));
    assert_int_equal(k->infer(k, c), 0);
    kg_call call = {.task = k, .c = c};
    call.args[0] = (kg_view){kg_tensor_parts(&c->args[0].tensor), a};
    kg_answer answer = {.n = c->n_outs};
    for (int i = 0; i < c->n_outs; i++) answer.out[i] = (kg_view){kg_tensor_parts(&c->outs[i]), outs[i]};
    kg_holds h = {.task = k, .lock = PTHREAD_MUTEX_INITIALIZER, .at_required = -1};
    assert_int_equal(k->holds(&call, &answer, &h), 0);
    free(h.where);
    kg_cases_free(&b);
    return h.at_required;
}
#define JUDGED(task, t, m, n, a, ...) judged(task, t, m, n, a, (const void *const[]){__VA_ARGS__})
#define REAL(...) \
    (const double[]) { __VA_ARGS__ }
#define assert_right(x) assert_true((x) <= 1)
#define assert_wrong(x) assert_true((x) > 1)

// [3 5; 4 10] = [0.6 -0.8; 0.8 0.6] [5 11; 0 2].
static void qr(void **state) {
    (void)state;
    const double *a = REAL(3, 5, 4, 10), *q = REAL(0.6, -0.8, 0.8, 0.6), *r = REAL(5, 11, 0, 2);
    assert_right(JUDGED("qr", KG_F64, 2, 2, a, q, r));
    assert_right(JUDGED("qr", KG_F64, 2, 2, a, REAL(-0.6, -0.8, -0.8, 0.6), REAL(-5, -11, 0, 2)));  // any sign
    assert_wrong(JUDGED("qr", KG_F64, 2, 2, a, REAL(-0.6, -0.8, -0.8, 0.6), r));
    assert_wrong(JUDGED("qr", KG_F64, 2, 2, a, q, REAL(5, 11, 1e-300, 2)));                  // no exact triangle
    assert_wrong(JUDGED("qr", KG_F64, 2, 2, a, REAL(3, -0.8, 4, 0.6), REAL(1, 2.2, 0, 2)));  // no unit column
    assert_wrong(JUDGED("qr", KG_F64, 2, 2, a, q, REAL(5, 11, 0, 2 + 1e-12)));
}

// [1 2; 4 4] exchanges its rows: [0 1; 1 0] [1 0; 0.25 1] [4 4; 0 1].
static void lu(void **state) {
    (void)state;
    const double *a = REAL(1, 2, 4, 4), *p = REAL(0, 1, 1, 0), *l = REAL(1, 0, 0.25, 1), *u = REAL(4, 4, 0, 1);
    assert_right(JUDGED("lu", KG_F64, 2, 2, a, p, l, u));
    assert_wrong(JUDGED("lu", KG_F64, 2, 2, a, REAL(1, 0, 0, 1), l, u));
    assert_wrong(JUDGED("lu", KG_F64, 2, 2, a, REAL(1, 0, 0, 1), REAL(1, 0, 4, 1), REAL(1, 2, 0, -4)));  // unpivoted
    assert_wrong(JUDGED("lu", KG_F64, 2, 2, a, p, REAL(4, 0, 1, 1), REAL(1, 1, 0, 1)));                  // L's diagonal
    // P of three rows that is not its own inverse: A = [0 0 1; 1 0 0; 0 1 0] is P itself, L = U = I.
    const double *cycle = REAL(0, 0, 1, 1, 0, 0, 0, 1, 0), *one = REAL(1, 0, 0, 0, 1, 0, 0, 0, 1);
    assert_right(JUDGED("lu", KG_F64, 3, 3, cycle, cycle, one, one));
    assert_wrong(JUDGED("lu", KG_F64, 3, 3, cycle, REAL(0, 1, 0, 0, 0, 1, 1, 0, 0), one, one));
}

// [0 2; 3 0] = [0 1; 1 0] diag(3, 2) I.
static void svd(void **state) {
    (void)state;
    const double *a = REAL(0, 2, 3, 0), *u = REAL(0, 1, 1, 0), *one = REAL(1, 0, 0, 1), *s = REAL(3, 2);
    assert_right(JUDGED("svd", KG_F64, 2, 2, a, u, s, one));
    assert_right(JUDGED("svd", KG_F64, 2, 2, a, REAL(0, -1, 1, 0), s, REAL(1, 0, 0, -1)));
    assert_wrong(JUDGED("svd", KG_F64, 2, 2, a, REAL(0, -1, 1, 0), s, one));            // a sign in U alone
    assert_wrong(JUDGED("svd", KG_F64, 2, 2, a, one, REAL(2, 3), u));                   // ascending
    assert_wrong(JUDGED("svd", KG_F64, 2, 2, a, REAL(0, -1, 1, 0), REAL(3, -2), one));  // negative
    assert_wrong(JUDGED("svd", KG_F64, 2, 2, a, REAL(0, 2, 3, 0), REAL(1, 1), one));    // U not orthonormal
    // Of rank 0: U must be orthonormal all the same.
    const double *zero = REAL(0, 0, 0, 0);
    assert_right(JUDGED("svd", KG_F64, 2, 2, zero, u, REAL(0, 0), one));
    assert_wrong(JUDGED("svd", KG_F64, 2, 2, zero, zero, REAL(0, 0), one));
}

// [0 1; 1 0] has no 1 x 1 pivot; [4 2; 2 3] = [1 0; 0.5 1] diag(4, 2) [1 0.5; 0 1].
static void ldl_factor(void **state) {
    (void)state;
    const double *a = REAL(4, 2, 2, 3), *swap = REAL(0, 1, 1, 0);
    const int32_t plain[] = {1, 2}, block[] = {-2, -2}, from_zero[] = {0, 1}, odd[] = {-2, 2}, exchanged[] = {2, 2};
    assert_right(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0, 0.5, 2), plain));
    assert_right(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 2, 0.5, 2), plain));  // above: anything
    assert_right(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0, 2, 3), block));
    assert_right(JUDGED("ldl_factor", KG_F64, 2, 2, swap, REAL(0, 0, 1, 0), block));
    assert_wrong(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0, 0.5, 2), block));
    assert_wrong(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0, 0.5, 2), exchanged));
    assert_wrong(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0, 0.5, 2), from_zero));
    assert_wrong(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0, 2, 3), odd));
    assert_wrong(JUDGED("ldl_factor", KG_F64, 2, 2, a, REAL(4, 0.5, 0, 2), plain));  // the upper triangle
}

// [0 -2; 2 0] has the eigenvalues +-2i, with (1, -+i) / sqrt(2).
static void eig(void **state) {
    (void)state;
    const double *a = REAL(0, -2, 2, 0), *w = REAL(0, 2, 0, -2);
    const double r = 0.70710678118654752;
    assert_right(JUDGED("eig", KG_F64, 2, 2, a, w, REAL(r, 0, r, 0, 0, -r, 0, r)));
    assert_right(JUDGED("eig", KG_F64, 2, 2, a, REAL(0, -2, 0, 2), REAL(r, 0, 0, r, 0, r, r, 0)));  // order, phase
    assert_wrong(JUDGED("eig", KG_F64, 2, 2, a, REAL(0, -2, 0, 2), REAL(r, 0, r, 0, 0, -r, 0, r)));
    assert_wrong(JUDGED("eig", KG_F64, 2, 2, a, w, REAL(1, 0, 1, 0, 0, -1, 0, 1)));                  // not normalised
    assert_wrong(JUDGED("eig", KG_F64, 2, 2, a, REAL(0, 2, 0, 2), REAL(r, 0, r, 0, 0, -r, 0, -r)));  // one pair twice
    // The same eigenvector twice for an eigenvalue that A has twice.
    const double *zero = REAL(0, 0, 0, 0);
    assert_right(JUDGED("eig", KG_F64, 2, 2, zero, zero, REAL(1, 0, 0, 0, 0, 0, 1, 0)));
    assert_wrong(JUDGED("eig", KG_F64, 2, 2, zero, zero, REAL(1, 0, 1, 0, 0, 0, 0, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(qr), cmocka_unit_test(lu), cmocka_unit_test(svd),
                                       cmocka_unit_test(ldl_factor), cmocka_unit_test(eig)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
