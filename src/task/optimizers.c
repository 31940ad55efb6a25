#include "task/optimizers.h"

// ---- cases ------------------------------------------------------------------------------------------
kg_case *kg_optimizer_case(kg_cases *b, const kg_optimizer_tensor *tensors, kg_tensor param, kg_tensor grad) {
    kg_case *c = kg_case_add(b);
    const kg_tensor dense = kg_tensor_contiguous(param.dtype, param.ndim, param.shape);
    for (int i = 0; tensors[i].name; i++) {
        // State that is given lies as the parameter does (torch.zeros_like keeps that); what a kernel keeps is dense.
        const bool kept = b->task->params[kg_param_index(b->task, tensors[i].name)].role == KG_STATE;
        kg_set_strided(c, b->task, tensors[i].name, i == 1 ? grad : kept ? dense : param, tensors[i].fill);
    }
    return c;
}

kg_case *kg_optimizer_line(kg_cases *b, const kg_optimizer_tensor *tensors, kg_dtype t, int64_t n) {
    const kg_tensor d = kg_tensor_contiguous(t, 1, &n);
    return kg_optimizer_case(b, tensors, d, d);
}

void kg_optimizer_shapes(kg_cases *b, const kg_optimizer_tensor *tensors, kg_case *(*finish)(kg_cases *b, kg_case *c)) {
    const kg_tensor matrix = kg_tensor_contiguous(KG_F32, KG_SHAPE(33, 65)),
                    cube = kg_tensor_contiguous(KG_F32, KG_SHAPE(1031, 2, 3)),
                    turned = kg_tensor_transposed(KG_F32, KG_SHAPE(33, 65), 0, 1),
                    stepped = kg_tensor_stepped(KG_F32, KG_SHAPE(33, 65), 3);
    static const kg_fill nans = {KG_FILL_CONST, NAN, 0}, infinities = {KG_FILL_CONST, -INFINITY, 0};
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 1000));
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 1));
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 0));
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 4099));
    finish(b, kg_optimizer_case(b, tensors, matrix, matrix));
    finish(b, kg_optimizer_case(b, tensors, cube, cube));
    finish(b, kg_optimizer_case(b, tensors, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 7, 9), 0, 2),
                                kg_tensor_transposed(KG_F32, KG_SHAPE(5, 7, 9), 0, 1)));
    finish(b, kg_optimizer_case(b, tensors, turned, matrix));
    finish(b, kg_optimizer_case(b, tensors, matrix, stepped));
    // No mixture of finite and other gradients: squares of the largest finite values overflow in float32 and not in
    // every honest kernel. No infinite parameter: where the decay is 0 some kernels multiply by it and get NaN.
    // Not in the parameter: grad + 0 * param is another way to write that nothing decays.
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 129))->args[1].fill = nans;
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 129))->args[1].fill = infinities;
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 515))->args[1].fill = KG_LOGSCALE(-12, 6);
    finish(b, kg_optimizer_line(b, tensors, KG_F64, 515));
    for (int i = 0; i < 2; i++) finish(b, kg_optimizer_line(b, tensors, KG_F64, 129))->args[i].fill = KG_WIDE_INTEGERS;
    if (b->level != KG_CASES_FULL) return;
    finish(b, kg_optimizer_case(b, tensors, kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 2),
                                kg_tensor_transposed(KG_F32, KG_SHAPE(5, 64, 31), 0, 1)));
    finish(b, kg_optimizer_line(b, tensors, KG_F32, 65537))->args[1].fill = KG_OUTLIERS(0, 1);
    finish(b,
           kg_optimizer_case(b, tensors, kg_tensor_contiguous(KG_F32, 0, NULL), kg_tensor_contiguous(KG_F32, 0, NULL)));
    finish(b, kg_optimizer_case(b, tensors, stepped, turned));
    finish(b, kg_optimizer_line(b, tensors, KG_F64, 33))->args[1].fill = nans;
}

void kg_optimizer_timed(kg_cases *b, const kg_optimizer_tensor *tensors, kg_case *(*finish)(kg_cases *b, kg_case *c)) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = cuda ? 1 << 12 : 1 << 14; n <= (cuda ? 1 << 27 : 1 << 23); n *= cuda ? 2 : 8)
        finish(b, kg_optimizer_line(b, tensors, KG_F32, n));
}

int kg_optimizer_infer(const kg_task *t, kg_case *c) {
    const kg_tensor *p = &c->args[0].tensor;
    c->n_outs = 0;
    for (int i = 1; i < c->n_args; i++) {
        const kg_tensor *x = &c->args[i].tensor;
        kg_tensor view;
        if (t->params[i].kind != KG_P_TENSOR || c->args[i].absent) continue;
        if (x->dtype != p->dtype || x->ndim != p->ndim || kg_expand(x, p, &view) || kg_numel(x) != kg_numel(p))
            return -1;
    }
    return kg_dtype_is_float(p->dtype) ? 0 : -1;
}

// ---- arithmetic -------------------------------------------------------------------------------------
kg_point kg_gradient(double p, double g, double decay, bool maximize) {
    if (maximize) g = -g;
    if (decay == 0) return kg_point_exact(g);
    const double v = g + decay * p;
    return (kg_point){v, fabs(v) + 2 * fabs(decay * p)};
}

kg_point kg_moving_average(kg_point old, double beta, kg_point x) {
    const double v = beta * old.value + (1 - beta) * x.value;
    // old + (1 - beta) (x - old) too: the difference is rounded, whatever of it is left, and so is 1 - beta.
    const double terms = (2 - beta) * (fabs(x.value) + fabs(old.value));
    return (kg_point){v, beta * old.local + (1 - beta) * x.local + terms + 2 * fabs(v)};
}

kg_point kg_square(kg_point x) {
    return (kg_point){x.value * x.value, 2 * fabs(x.value) * x.local + x.value * x.value};
}

kg_point kg_root(kg_point v, double correction, double relative, double eps) {
    const double root = sqrt(v.value / correction);
    const double error = v.value > 0 ? root * (v.local / (2 * v.value) + relative / 2 + 2) : 0;
    return (kg_point){root + eps, error + 2 * eps};
}

kg_point kg_step(kg_point p, double rate, double relative, kg_point m, kg_point denominator) {
    const double d = denominator.value, update = rate * m.value / d;
    const double error =
        fabs(rate) * (m.local / d + fabs(m.value) * denominator.local / (d * d)) + fabs(update) * (relative + 4);
    return (kg_point){p.value - update, 2 * (fabs(p.value) + p.local + error)};
}

double kg_bias_correction(double beta, int64_t t, double *relative) {
    const double power = pow(beta, (double)t), c = 1 - power;
    *relative = 1 + (double)t * power / c;
    return c;
}

kg_point kg_adam_step(const kg_adam *o, kg_point p, kg_point m, kg_point v) {
    double relative1, relative2;
    const double c1 = kg_bias_correction(o->beta1, o->t, &relative1);
    const double c2 = kg_bias_correction(o->beta2, o->t, &relative2);
    return kg_step(p, o->lr / c1, relative1, m, kg_root(v, c2, relative2, o->eps));
}

void kg_put_point(kg_ref *ref, size_t k, kg_point p) {
    ref->value[k] = p.value;
    ref->local[k] = isfinite(p.value) ? p.local : 0;
    ref->acc[k] = 0;
}
