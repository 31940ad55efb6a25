/* kgate: task=fused_mul_sub
 *
 * input * other_mul - alpha * other_sub in one pass: three streams in, one out, nothing stored in between.
 */
#include <kgate/kernel.h>

/* Dense float32 of the output's own shape: may be walked as a plain array. */
static const float *plain(const DLTensor *t, const DLTensor *out) {
    if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->ndim != out->ndim || !kg_contiguous(t)) return 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] != out->shape[i]) return 0;
    return (const float *)((const char *)t->data + t->byte_offset);
}

int fused_mul_sub(const DLTensor *input, const DLTensor *other_mul, const DLTensor *other_sub, double alpha,
                  DLTensor *out) {
    int64_t n = kg_elements(out);
    const float *x = plain(input, out), *m = plain(other_mul, out), *s = plain(other_sub, out);
    float *y = (float *)plain(out, out), a = (float)alpha;
    if (x && m && s && y) {
#pragma omp parallel for simd if (n > 32768)
        for (int64_t i = 0; i < n; i++) y[i] = x[i] * m[i] - a * s[i];
        return 0;
    }
    for (int64_t i = 0; i < n; i++)
        kg_put(out, i,
               kg_get_broadcast(input, out, i) * kg_get_broadcast(other_mul, out, i) -
                   alpha * kg_get_broadcast(other_sub, out, i));
    return 0;
}
