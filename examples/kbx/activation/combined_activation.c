/* kgate: task=combined_activation */
#include <kgate/kernel.h>
#include <math.h>

int combined_activation(const DLTensor *input, const DLTensor *weight1, const DLTensor *weight2, const DLTensor *bias,
                        DLTensor *out) {
    const int64_t columns = kg_dim(out, -1), terms = kg_dim(weight1, 0);
    for (int64_t i = 0; i < kg_elements(out); i++) {
        const int64_t row = kg_line(input, -1, i / columns), column = i % columns * kg_stride(weight1, 1);
        double z = 0;
        for (int64_t k = 0; k < terms; k++)
            z += kg_get_at(input, row + k * kg_stride(input, -1)) *
                 kg_get_at(weight1, column + k * kg_stride(weight1, 0));
        const double gate = tanh(1 / (1 + exp(-z)));
        kg_put(out, i, gate * kg_get_broadcast(weight2, out, i) + kg_get_broadcast(bias, out, i));
    }
    return 0;
}
