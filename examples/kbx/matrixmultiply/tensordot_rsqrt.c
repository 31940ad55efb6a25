/* kgate: task=tensordot_rsqrt
 *
 * dims is one int (how many last dimensions of a meet as many first ones of b), or two lists in one: a's, then b's.
 * Every output walks the dimensions that meet like the digits of a counter.
 */
#include <kgate/kernel.h>
#include <math.h>

typedef struct {
    int pairs, left[8], right[8];
    int64_t terms;
} meeting;

static meeting meet(const DLTensor *a, const DLTensor *b, const kg_ints *dims) {
    int one = dims->n == 1;
    meeting m = {.pairs = one ? (int)dims->v[0] : (int)dims->n / 2, .terms = 1};
    for (int i = 0; i < m.pairs; i++) {
        m.left[i] = one ? a->ndim - m.pairs + i : (int)dims->v[i];
        m.right[i] = one ? i : (int)dims->v[m.pairs + i];
        if (m.left[i] < 0) m.left[i] += a->ndim;
        if (m.right[i] < 0) m.right[i] += b->ndim;
        m.terms *= kg_dim(a, m.left[i]);
    }
    return m;
}

/* Storage offset of the element whose kept dimensions have the row-major number *rest, which loses them. */
static int64_t kept(const DLTensor *t, const int *met, int n, int64_t *rest) {
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int is_met = 0;
        for (int i = 0; i < n; i++) is_met |= met[i] == d;
        if (is_met) continue;
        at += *rest % kg_dim(t, d) * kg_stride(t, d);
        *rest /= kg_dim(t, d);
    }
    return at;
}

static int64_t walk(const DLTensor *t, const int *met, int n, int64_t term) {
    int64_t at = 0;
    for (int i = n - 1; i >= 0; i--) {
        at += term % kg_dim(t, met[i]) * kg_stride(t, met[i]);
        term /= kg_dim(t, met[i]);
    }
    return at;
}

int tensordot_rsqrt(const DLTensor *a, const DLTensor *b, const kg_ints *dims, DLTensor *out) {
    meeting m = meet(a, b, dims);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        int64_t rest = i;
        int64_t y = kept(b, m.right, m.pairs, &rest), x = kept(a, m.left, m.pairs, &rest);
        double sum = 0;
        for (int64_t k = 0; k < m.terms; k++)
            sum += kg_get_at(a, x + walk(a, m.left, m.pairs, k)) * kg_get_at(b, y + walk(b, m.right, m.pairs, k));
        kg_put(out, i, 1 / sqrt(sum));
    }
    return 0;
}
