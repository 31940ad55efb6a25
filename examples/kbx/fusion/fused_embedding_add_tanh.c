/* kgate: task=fused_embedding_add_tanh */
#include <kgate/kernel.h>
#include <math.h>

static double norm_of(const DLTensor *weight, int64_t row, double p) {
    double sum = 0;
    for (int64_t k = 0; k < kg_dim(weight, 1); k++) {
        const double x = fabs(kg_get(weight, row * kg_dim(weight, 1) + k));
        if (isinf(p)) sum = fmax(sum, x);
        else sum += pow(x, p);
    }
    return isinf(p) ? sum : pow(sum, 1 / p);
}

int fused_embedding_add_tanh(const DLTensor *input_indices, DLTensor *weight, const DLTensor *other,
                             const int64_t *padding_idx, const double *max_norm, double norm_type,
                             bool scale_grad_by_freq, bool sparse, DLTensor *out) {
    (void)padding_idx, (void)scale_grad_by_freq, (void)sparse; /* they speak of gradients */
    const int64_t d = kg_dim(weight, 1);
    for (int64_t i = 0; i < kg_elements(input_indices); i++) {
        const int64_t row = (int64_t)kg_get(input_indices, i);
        const double norm = max_norm ? norm_of(weight, row, norm_type) : 0;
        const double scale = max_norm && norm > *max_norm ? *max_norm / norm : 1;
        for (int64_t k = 0; k < d; k++) {
            const double e = kg_get(weight, row * d + k) * scale;
            kg_put(out, i * d + k, tanh(e + kg_get_broadcast(other, out, i * d + k)));
        }
    }
    return 0;
}
