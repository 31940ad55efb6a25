// Sums with a running error analysis.
//
// A kernel that adds n terms in floating point of unit roundoff u commits a rounding of at most u |s_k| at each partial
// sum s_k, whatever the order: the error is sum_k s_k d_k with |d_k| <= u (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., section 4.2: the running error bound). The worst case u sum |s_k| is attained by nothing real:
// with roundings that are independent and of mean zero the error is at most lambda u sqrt(sum_k s_k^2) except with
// probability 2 exp(-lambda^2/2) (Higham & Mary, "A new approach to probabilistic rounding error analysis", SIAM J.
// Sci. Comput. 41, 2019, theorem 2.4): lambda = 8 makes that 3e-14.
//
// The partial sums depend on the order that a kernel takes, which the judge does not know. A random order has
// E s_k^2 <= (k/n s_n)^2 + q_k, with q_k the sum of the first k squared terms; a tree has fewer partial sums, each
// smaller. So the bound takes the natural order's s_k and adds q_k at each k: where the natural order cancels luckily,
// q_k covers others.
//
//     acc = 8 sqrt(sum_k (s_k^2 + q_k))                                   zero for one term: nothing is rounded
//
// Roundings have a mean where terms are as small as the last bit h <= 2 u |s_k| of the partial sum and not spread
// evenly at that scale: what is below h / 2 is lost, equal terms round alike. Squares, whose density is c / sqrt(t) at
// 0, lose h^1.5 c eta(3/2) / (2 pi) each on average (Fourier series of the sawtooth round(t / h) h - t), 0.061 h times
// the share of them below h: a million, one by one in float32, 4e-4 of their sum. Two terms of acc stand for it.
//   - For every term below 4 h: h / 8, with its sign, since terms of both signs lose alike. That is twice what squares
//     lose, three times what absolute values do (h / 24 times the share below h).
//   - s_k is a multiple of h, so that t_k alone says how it is rounded, and summing the terms in float32 shows it.
//   Evenly
//     spread roundings are a walk of size u sqrt(P / 3), P = sum_k (s_k^2 + q_k); where the sum strays past 2 u
//     sqrt(P), 3.5 times as far, that is charged twice, and half the walk's bound.
//
//     acc = max(8 sqrt(P), 4 sqrt(P) + 2 max_k |fl32(s_k) - s_k| / u) + |sum_k sign(t_k) |s_k| over |t_k| < 8 u |s_k||
//     / 4
//
// For n equal terms c this is 8 c sqrt(n^3/3 + n^2/2); for n random ones of mean 0 and deviation c, about 8 c n.
#include "oracle/oracle.h"

// Neumaier's compensated summation: hi + lo carries about 106 bits.
static void add_exactly(kg_sum_t *s, double term) {
    const double t = s->hi + term;
    if (isfinite(t)) s->lo += fabs(s->hi) >= fabs(term) ? (s->hi - t) + term : (term - t) + s->hi;
    s->hi = t;
}

static void note_partial(kg_sum_t *s, double term, double local) {
    s->n++;
    s->square += term * term;
    s->partial += s->hi * s->hi + s->square;
    kg_serial_add(&s->serial, term, s->hi);
    s->local2 += local * local;
    if (local > s->largest) s->largest = local;
}

void kg_sum_add_point(kg_sum_t *s, kg_point term) {
    add_exactly(s, term.value);
    note_partial(s, term.value, term.local);
}

void kg_sum_add(kg_sum_t *s, double term) {
    // Rounding the input to the rung's precision costs u |term|.
    add_exactly(s, term);
    note_partial(s, term, fabs(term));
}

void kg_dot_add(kg_sum_t *s, double a, double b) {
    const double p = a * b;
    add_exactly(s, p);
    const double e = fma(a, b, -p);
    if (isfinite(e)) s->lo += e;
    note_partial(s, p, fabs(p));
}

double kg_sum_value(const kg_sum_t *s) { return s->hi + s->lo; }

double kg_sum_local(const kg_sum_t *s) { return 2.0 * sqrt(s->local2) + s->largest; }

double kg_sum_acc(const kg_sum_t *s) { return s->n < 2 ? 0 : kg_acc_of(s->partial, &s->serial, 0x1p-24); }
