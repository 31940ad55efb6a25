/* kgate: task=SGD */
#include <kgate/kernel.h>

int SGD(DLTensor *params, const DLTensor *grads, DLTensor *momentum_buffer, int64_t call_number, double lr,
        double momentum, double weight_decay, double dampening, bool nesterov, bool maximize, bool foreach,
        bool differentiable, bool fused) {
    (void)foreach, (void)differentiable, (void)fused;
    for (int64_t i = 0; i < kg_elements(params); i++) {
        const double p = kg_get(params, i);
        double g = kg_get(grads, i);
        if (maximize) g = -g;
        if (weight_decay != 0) g += weight_decay * p;
        double direction = g;
        if (momentum != 0) {
            double buffer = g; /* the first call's, not dampened */
            if (call_number > 1) buffer = momentum * kg_get(momentum_buffer, i) + (1 - dampening) * g;
            kg_put(momentum_buffer, i, buffer);
            direction = nesterov ? g + momentum * buffer : buffer;
        }
        kg_put(params, i, p - lr * direction);
    }
    return 0;
}
