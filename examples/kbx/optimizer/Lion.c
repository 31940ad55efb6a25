/* kgate: task=Lion */
#include <kgate/kernel.h>

int Lion(DLTensor *param, const DLTensor *grad, DLTensor *exp_avg, double lr, double beta1, double beta2,
         double weight_decay) {
    for (int64_t i = 0; i < kg_elements(param); i++) {
        const double p = kg_get(param, i), g = kg_get(grad, i), m = kg_get(exp_avg, i);
        const double average = beta1 * m + (1 - beta1) * g;
        const int sign = (average > 0) - (average < 0);
        kg_put(param, i, p * (1 - lr * weight_decay) - lr * sign);
        kg_put(exp_avg, i, beta2 * m + (1 - beta2) * g);
    }
    return 0;
}
