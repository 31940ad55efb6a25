/* kgate: task=fused_dropout_sigmoid_linear */
#include <kgate/kernel.h>
#include <math.h>

int fused_dropout_sigmoid_linear(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, double p,
                                 bool training, bool inplace, int64_t seed, DLTensor *out) {
    (void)inplace;
    const int64_t features = kg_dim(weight, 0), terms = kg_dim(weight, 1), n = kg_elements(out);
    const double scale = training ? 1 / (1 - p) : 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i / features, column = i % features;
        double z = 0;
        for (int64_t k = 0; k < terms; k++)
            z += kg_get(input, row * terms + k) *
                 kg_get_at(weight, column * kg_stride(weight, 0) + k * kg_stride(weight, 1));
        if (bias) z += kg_get(bias, column);
        const bool dropped = training && kg_uniform(seed, i) < p;
        kg_put(out, i, dropped ? 0 : scale / (1 + exp(-z)));
    }
    return 0;
}
