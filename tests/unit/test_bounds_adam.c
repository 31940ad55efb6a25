// The bounds of Adam: a float32 step passes; each well-known mistake does not.
#include "bounds.h"
#include "task/optimizers.h"

enum { N = 2000 };
typedef struct {
    bool no_correction, eps_inside, decoupled, plain_adam, swapped_betas, forgets, minimises, late;
    bool float_betas;  // honest: 1 - beta formed in float32
} mistake;

static void steps(const trial *r, const mistake *m, double *got) {
    const double *betas = kg_case_arg(r->c, r->t, "betas")->floats;
    const float beta1 = (float)betas[m->swapped_betas], beta2 = (float)betas[!m->swapped_betas];
    const float other1 = m->float_betas ? 1 - beta1 : (float)(1 - betas[m->swapped_betas]);
    const float other2 = m->float_betas ? 1 - beta2 : (float)(1 - betas[!m->swapped_betas]);
    const float lr = (float)kg_case_arg(r->c, r->t, "lr")->f, eps = (float)kg_case_arg(r->c, r->t, "eps")->f;
    const float decay = (float)kg_case_arg(r->c, r->t, "weight_decay")->f;
    const bool amsgrad = kg_case_arg(r->c, r->t, "amsgrad")->i && !m->plain_adam;
    const bool maximize = kg_case_arg(r->c, r->t, "maximize")->i && !m->minimises;
    for (int i = 0; i < N; i++) {
        float exp_avg = 0, exp_avg_sq = 0, top = 0, p = 0;
        for (int k = 0; k < r->c->calls; k++) {
            p = r->values[k][0][i];
            float g = maximize ? -r->values[k][1][i] : r->values[k][1][i];
            if (m->forgets) exp_avg = exp_avg_sq = 0;
            if (!m->decoupled) g += decay * p;
            else p *= 1 - lr * decay;
            exp_avg = beta1 * exp_avg + other1 * g;
            exp_avg_sq = beta2 * exp_avg_sq + other2 * g * g;
            top = fmaxf(top, exp_avg_sq);
            const int t = m->late ? k + 2 : k + 1;
            const float c1 = m->no_correction ? 1 : (float)(1 - pow(betas[0], t));
            const float c2 = m->no_correction ? 1 : (float)(1 - pow(betas[1], t));
            const float v = (amsgrad ? top : exp_avg_sq) / c2;
            p -= lr / c1 * exp_avg / (m->eps_inside ? sqrtf(v + eps) : sqrtf(v) + eps);
        }
        got[i] = p;
    }
}

static trial start(double beta1, double beta2) {
    trial r = trial_start("Adam");
    static const char *const tensors[] = {"params", "grads", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    for (int i = 0; i < 5; i++)
        kg_set_tensor(r.c, r.t, tensors[i], KG_F32, KG_SHAPE(N), i ? KG_NORMAL(0.1, 1) : KG_NORMAL(0.5, 1));
    kg_set_floats(r.c, r.t, "betas", 2, (double[]){beta1, beta2});
    kg_set_float(r.c, r.t, "lr", 0.05);
    r.c->calls = 3;
    return r;
}

static void judge(trial *r, mistake wrong, const char *what) {
    static double got[N];
    trial_run(r);
    steps(r, &(mistake){0}, got);
    assert_int_equal(rung(&r->ref, got), KG_PREC_FP32);
    steps(r, &(mistake){.float_betas = true}, got);
    assert_int_equal(rung(&r->ref, got), KG_PREC_FP32);
    steps(r, &wrong, got);
    if (rung(&r->ref, got) <= KG_PREC_FP32) fail_msg("%s passes", what);
    trial_free(r);
}

static void mistakes_show(void **state) {
    (void)state;
    trial r = start(0.9, 0.999);
    judge(&r, (mistake){.no_correction = true}, "no bias correction");
    r = start(0.9, 0.999);
    judge(&r, (mistake){.swapped_betas = true}, "betas swapped");
    r = start(0.9, 0.999);
    judge(&r, (mistake){.forgets = true}, "moments forgotten between calls");
    r = start(0.9, 0.999);
    judge(&r, (mistake){.late = true}, "steps counted from 2");
    r = start(0.9, 0.99);
    kg_set_float(r.c, r.t, "eps", 0.1);
    judge(&r, (mistake){.eps_inside = true}, "eps inside the root");
    r = start(0.9, 0.99);
    kg_set_float(r.c, r.t, "weight_decay", 0.5);
    judge(&r, (mistake){.decoupled = true}, "AdamW's weight decay");
    r = start(0.8, 0.5);
    kg_set_bool(r.c, r.t, "amsgrad", true);
    judge(&r, (mistake){.plain_adam = true}, "amsgrad ignored");
    r = start(0.9, 0.99);
    kg_set_bool(r.c, r.t, "maximize", true);
    judge(&r, (mistake){.minimises = true}, "maximize ignored");
}

// One call: m / (1 - beta1) is g, v / (1 - beta2) is g^2, so the step is lr g / (|g| + eps).
static void first_step_by_hand(void **state) {
    (void)state;
    trial r = start(0.9, 0.999);
    r.c->calls = 1;
    kg_set_float(r.c, r.t, "eps", 1);
    trial_run(&r);
    for (int i = 0; i < N; i++) {
        const double g = r.values[0][1][i];
        assert_true(fabs(r.ref.value[i] - (r.values[0][0][i] - 0.05 * g / (fabs(g) + 1))) < 1e-14);
    }
    double untouched[N];
    for (int i = 0; i < N; i++) untouched[i] = r.values[0][0][i];
    assert_true(misses(&r.ref, untouched, KG_PREC_FP32) > N * 9 / 10);
    trial_free(&r);
}

// old + (1 - beta) (x - old), as lerp has it: with beta 0 the difference's rounding is all that stays of a small x.
static void averages_may_step_towards_the_new_value(void **state) {
    (void)state;
    static const float betas[] = {0, 0.5f, 0.9f, 0.999f};
    for (int b = 0; b < 4; b++)
        for (int i = 1; i <= N; i++) {
            const float old = sinf((float)i), x = 1e-3f * cosf((float)(3 * i)), v = old + (1 - betas[b]) * (x - old);
            const kg_point p = kg_moving_average(kg_point_exact(old), betas[b], kg_point_exact(x));
            assert_true(fabs(v - p.value) <= 0x1p-24 * p.local);
            assert_true(p.local < 8);  // and forgetting one of them shows
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_show),
        cmocka_unit_test(first_step_by_hand),
        cmocka_unit_test(averages_may_step_towards_the_new_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
