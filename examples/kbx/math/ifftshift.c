// ifftshift: along each chosen dimension out[i] = input[(i + n / 2) mod n].
#include <kgate/kernel.h>

static bool chosen(const kg_ints *dim, int d, int ndim) {
    if (!dim || dim->n == 0) return true;
    for (int64_t k = 0; k < dim->n; k++)
        if ((dim->v[k] < 0 ? dim->v[k] + ndim : dim->v[k]) == d) return true;
    return false;
}

int ifftshift(const DLTensor *input, const kg_ints *dim, DLTensor *out) {
    const int64_t elements = kg_elements(out);
    for (int64_t i = 0; i < elements; i++) {
        int64_t rest = i, at = 0;
        for (int d = out->ndim - 1; d >= 0; d--) {
            const int64_t n = kg_dim(out, d), shift = chosen(dim, d, out->ndim) ? n / 2 : 0;
            at += (rest % n + shift) % n * kg_stride(input, d);
            rest /= n;
        }
        kg_put(out, i, kg_get_at(input, at));
    }
    return 0;
}
