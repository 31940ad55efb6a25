/* kgate: task=AdamW */
#include <kgate/kernel.h>
#include <math.h>

int AdamW(DLTensor *param, const DLTensor *grad, DLTensor *exp_avg, DLTensor *exp_avg_sq, int64_t step, double lr,
          double beta1, double beta2, double eps, double weight_decay) {
    const double rate = lr / (1 - pow(beta1, (double)step)), correction = 1 - pow(beta2, (double)step);
    for (int64_t i = 0; i < kg_elements(param); i++) {
        const double p = kg_get(param, i) * (1 - lr * weight_decay), g = kg_get(grad, i);
        const double m = beta1 * kg_get(exp_avg, i) + (1 - beta1) * g;
        const double v = beta2 * kg_get(exp_avg_sq, i) + (1 - beta2) * g * g;
        kg_put(exp_avg, i, m);
        kg_put(exp_avg_sq, i, v);
        kg_put(param, i, p - rate * m / (sqrt(v / correction) + eps));
    }
    return 0;
}
