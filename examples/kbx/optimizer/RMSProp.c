/* kgate: task=RMSProp */
#include <kgate/kernel.h>
#include <math.h>

int RMSProp(DLTensor *param, const DLTensor *grad, DLTensor *square_avg, double lr, double alpha, double eps,
            double weight_decay) {
    for (int64_t i = 0; i < kg_elements(param); i++) {
        const double p = kg_get(param, i);
        double g = kg_get(grad, i);
        if (weight_decay != 0) g += weight_decay * p;
        const double v = alpha * kg_get(square_avg, i) + (1 - alpha) * g * g;
        kg_put(square_avg, i, v);
        kg_put(param, i, p - lr * g / (sqrt(v) + eps));
    }
    return 0;
}
