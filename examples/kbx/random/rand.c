/* kgate: task=rand */
/* kgate: entry=rand_kernel */
#include <kgate/kernel.h>

// The first `bits` bits of a random number, as a fraction of 2^bits: a type of as many significant bits holds it.
static double fraction(int64_t seed, int64_t i, int bits) {
    const double scale = (double)((int64_t)1 << bits);
    return (double)(int64_t)(kg_uniform(seed, i) * scale) / scale;
}

int rand_kernel(const kg_ints *size, const char *dtype, int64_t seed, DLTensor *out) {
    (void)size;
    const int64_t n = kg_elements(out);
    if (kg_same(dtype, "complex64") || kg_same(dtype, "complex128")) {
        const int bits = out->dtype.bits == 64 ? 24 : 53;
        for (int64_t i = 0; i < n; i++)
            kg_put_complex_at(out, i, fraction(seed, 2 * i, bits), fraction(seed, 2 * i + 1, bits));
        return 0;
    }
    const int bits = kg_same(dtype, "float64")    ? 53
                     : kg_same(dtype, "float16")  ? 11
                     : kg_same(dtype, "bfloat16") ? 8
                                                  : 24;
    for (int64_t i = 0; i < n; i++) kg_put(out, i, fraction(seed, i, bits));
    return 0;
}
