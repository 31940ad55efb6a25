/* kgate: task=relu
 *
 * One pass, all cores, vectors: the compiler turns the branch into a maximum. NaN stays NaN, as PyTorch has it.
 */
#include <kgate/kernel.h>

int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    int64_t n = kg_elements(out);
    (void)inplace; /* then `out` is the input's own memory, and each element is read before it is written */
    if (input->dtype.code == kDLFloat && input->dtype.bits == 32 && kg_contiguous(input) && kg_contiguous(out)) {
        const float *x = (const float *)((const char *)input->data + input->byte_offset);
        float *y = (float *)((char *)out->data + out->byte_offset);
#pragma omp parallel for simd if (n > 32768)
        for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = kg_get(input, i);
        if (x < 0) kg_put(out, i, 0);
        else kg_put(out, i, x);
    }
    return 0;
}
