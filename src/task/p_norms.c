// Bounds. S = sum |x|^p has its terms' errors and a sum's (src/oracle/sum.c); N = S^(1/p) errs by N/(p S) of that,
// and pow() as kg_power_roundings() says.
#include "task/p_norms.h"

void kg_p_norm_add(kg_p_norm *n, kg_point x, double acc_relative) {
    const double size = fabs(x.value);
    if (acc_relative > n->acc_relative) n->acc_relative = acc_relative;
    if (isinf(n->p)) {
        if (!(size <= n->most) && !isnan(n->most)) n->most = size;
        n->local = fmax(n->local, x.local);
        return;
    }
    const double term = n->p == 1 ? size : n->p == 2 ? size * size : pow(size, n->p);
    const double local = size > 0 ? term * (n->p * x.local / size + kg_power_roundings(n->p, size)) : 0;
    kg_sum_add_point(&n->powers, (kg_point){term, isfinite(local) ? local : 0});
}

kg_length kg_p_norm_end(const kg_p_norm *n) {
    if (isinf(n->p)) return (kg_length){n->most, n->local, n->most * n->acc_relative};
    const double s = kg_sum_value(&n->powers);
    if (!(s > 0)) return (kg_length){s, 0, 0};
    const double value = n->p == 1 ? s : n->p == 2 ? sqrt(s) : pow(s, 1 / n->p), slope = value / (n->p * s);
    return (kg_length){value, slope * kg_sum_local(&n->powers) + value * kg_power_roundings(1 / n->p, s),
                       slope * kg_sum_acc(&n->powers) + value * n->acc_relative};
}

kg_length kg_at_least(kg_length norm, double eps) {
    return norm.value >= eps || isnan(norm.value) ? norm : (kg_length){eps, eps, 0};
}

// In half precision the norm is computed in float32 and may be stored, and so may the quotients.
void kg_stage_normalize(const kg_rung *r, kg_stage *s, double p, double eps) {
    kg_p_norm n = kg_p_norm_start(p);
    for (int64_t i = 0; i < s->n; i++) kg_p_norm_add(&n, kg_point_exact(s->at[i].value), 0);
    const kg_length l = kg_at_least(kg_p_norm_end(&n), eps);
    kg_term norm = kg_term_exact(l.value);
    if (isfinite(l.value) && r->half) norm.local = l.value, norm.acc = l.acc + l.local;
    else if (isfinite(l.value)) norm.local = l.local, norm.acc = l.acc;
    for (int64_t i = 0; i < s->n; i++) {
        const kg_term y = kg_term_stored(r, kg_term_div(r, s->at[i], norm));
        s->at[i] = isfinite(l.value) ? y : kg_term_exact(y.value);
    }
}
