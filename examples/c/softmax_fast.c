/* kgate: task=softmax
 *
 * Rows go to cores; a row is walked three times (maximum, exponentials and their sum, scaling), the last two out of
 * cache. The exponential is a polynomial, so that the compiler can make vectors of it; libm's is a call per element.
 */
#include <kgate/kernel.h>
#include <math.h>

/* e^x for x <= 0. x = n ln2 + r, |r| <= ln2 / 2; e^r by its Taylor polynomial to r^7 (the next term is below 2^-27);
 * then n goes into the exponent. Where n is below -126 the answer would be denormal: 0. ln2 is split in two so that r
 * is exact enough (Cody and Waite, Software Manual for the Elementary Functions, 1980). That choice is made on
 * integers: one between floats may raise a flag, so that gcc makes a branch of it, and no vectors without AVX-512's
 * masks. */
static inline float exp_below_zero(float x) {
    union {
        float f;
        uint32_t u;
    } n = {.f = x * 1.44269504f + 12582912.0f}, power, answer; /* 1.5 * 2^23: adding it rounds to an integer */
    uint32_t exponent = n.u - (0x4b400000u - 127);             /* n + 127; anything above 127 where n is out of range */
    power.u = exponent << 23;
    n.f -= 12582912.0f;
    float r = x - n.f * 0.693359375f + n.f * 2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    answer.f = p * power.f;
    answer.u &= -(uint32_t)(exponent - 1 < 127);
    return answer.f;
}

static void row(const float *x, float *y, int64_t n) {
    float most = -INFINITY, total = 0, odd = 0;
#pragma omp simd reduction(max : most) reduction(+ : odd)
    for (int64_t i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
        odd += x[i] - x[i]; /* NaN when there is a NaN or an infinity, else 0 */
    }
    if (odd != 0) { /* not for the polynomial: libm knows what to do */
        for (int64_t i = 0; i < n; i++) most = x[i] != x[i] ? x[i] : most;
        for (int64_t i = 0; i < n; i++) total += y[i] = expf(x[i] - most);
    } else {
#pragma omp simd reduction(+ : total)
        for (int64_t i = 0; i < n; i++) {
            y[i] = exp_below_zero(x[i] - most);
            total += y[i];
        }
    }
    float scale = 1 / total;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] *= scale;
}

/* Any strides and dtypes: one line along `dim`, in double. */
static void line(const DLTensor *input, int64_t dim, DLTensor *out, int64_t number) {
    int64_t n = kg_dim(input, dim), x = kg_line(input, dim, number), y = kg_line(out, dim, number);
    int64_t xs = kg_stride(input, dim), ys = kg_stride(out, dim);
    double most = -INFINITY, total = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, kg_get_at(input, x + i * xs));
    for (int64_t i = 0; i < n; i++) total += exp(kg_get_at(input, x + i * xs) - most);
    for (int64_t i = 0; i < n; i++) kg_put_at(out, y + i * ys, exp(kg_get_at(input, x + i * xs) - most) / total);
}

int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out) {
    (void)dtype; /* `out` already has that type */
    int64_t n = kg_dim(input, dim), elements = kg_elements(out);
    if (elements == 0) return 0;
    bool last = dim == -1 || dim == input->ndim - 1;
    bool f32 = input->dtype.code == kDLFloat && input->dtype.bits == 32 && out->dtype.code == kDLFloat;
    if (f32 && out->dtype.bits == 32 && last && input->ndim > 0 && kg_contiguous(input) && kg_contiguous(out)) {
        const float *x = (const float *)((const char *)input->data + input->byte_offset);
        float *y = (float *)((char *)out->data + out->byte_offset);
#pragma omp parallel for schedule(static) if (elements > 8192)
        for (int64_t r = 0; r < elements / n; r++) row(x + r * n, y + r * n, n);
        return 0;
    }
#pragma omp parallel for if (elements > 8192)
    for (int64_t r = 0; r < elements / n; r++) line(input, dim, out, r);
    return 0;
}
