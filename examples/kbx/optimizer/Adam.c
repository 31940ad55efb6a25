/* kgate: task=Adam */
#include <kgate/kernel.h>
#include <math.h>

int Adam(DLTensor *params, const DLTensor *grads, DLTensor *exp_avg, DLTensor *exp_avg_sq, DLTensor *max_exp_avg_sq,
         int64_t call_number, double lr, const kg_floats *betas, double eps, double weight_decay, bool amsgrad,
         bool foreach, bool maximize, bool capturable, bool differentiable, bool fused) {
    (void)foreach, (void)capturable, (void)differentiable, (void)fused;
    const double beta1 = betas->v[0], beta2 = betas->v[1];
    const double correction1 = 1 - pow(beta1, (double)call_number), correction2 = 1 - pow(beta2, (double)call_number);
    for (int64_t i = 0; i < kg_elements(params); i++) {
        const double p = kg_get(params, i);
        double g = kg_get(grads, i);
        if (maximize) g = -g;
        if (weight_decay != 0) g += weight_decay * p;
        const double m = beta1 * kg_get(exp_avg, i) + (1 - beta1) * g;
        const double v = beta2 * kg_get(exp_avg_sq, i) + (1 - beta2) * g * g;
        kg_put(exp_avg, i, m);
        kg_put(exp_avg_sq, i, v);
        double top = v;
        if (amsgrad) {
            top = fmax(v, kg_get(max_exp_avg_sq, i));
            kg_put(max_exp_avg_sq, i, top);
        }
        kg_put(params, i, p - lr / correction1 * m / (sqrt(top / correction2) + eps));
    }
    return 0;
}
