// bitwise_and_binomial(input, other, total_count, probs=None, logits=None) -> Tensor
//
// A number drawn from Binomial(n, p), n the element of input & other, p that of probs, or 1 / (1 + exp(-logits)); one
// of the two is given. So says the description ("each element representing the number of trials"); total_count, which
// the signature calls the number of trials too, then has nothing to say but its shape: all arguments broadcast. No case
// has a negative n. The result has the dtype of probs or logits, as torch.distributions' has.
//
// What must hold (error rates: oracle/chance.h): a whole number from 0 to n, n where p is 1; and the numbers
//     u = F(x - 1) + v (F(x) - F(x - 1)),
// F the distribution function of the element's own binomial and v the judge's own uniform number, which for a binomial
// x are uniform and independent: tested for both, and for independence of the other call. Distribution functions that
// are within 2^-10 pass, so that a sampler in float32 may be rounded, and a normal approximation not.
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "oracle/chance.h"
#include "oracle/oracle.h"
#include "task/families.h"

#define GRID 0x1p-10
#define MOST (1 << 17)  // elements looked at

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "total_count", .kind = KG_P_TENSOR},
    {.name = "probs", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    {.name = "logits", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},
    KG_SEED_PARAM,
    {.name = NULL}};
enum { INPUT, OTHER, COUNT, PROBS, LOGITS };
static const char *const outputs[] = {"out", NULL};

// ---- cases ----------------------------------------------------------------------------------------
static kg_fill whole(kg_dtype t, double most) {
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : KG_INTEGERS(0, fmin(most, t == KG_I8 ? 127 : 255));
}

static kg_case *add(kg_cases *b, kg_tensor input, kg_tensor other, double most) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, whole(input.dtype, most));
    kg_set_strided(c, b->task, "other", other, whole(other.dtype, most));
    kg_set_tensor(c, b->task, "total_count", KG_F32, 0, NULL, (kg_fill){KG_FILL_CONST, 10, 0});
    return c;
}
static kg_case *with(kg_cases *b, kg_case *c, const char *param, kg_tensor t) {
    kg_set_strided(c, b->task, param, t, *param == 'p' ? KG_UNIFORM(0, 1) : KG_NORMAL(0, 2));
    return c;
}
#define OF(t, ...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *line(kg_cases *b, kg_dtype t, int64_t n, double most, const char *param, kg_dtype real) {
    return with(b, add(b, OF(t, n), OF(t, n), most), param, OF(real, n));
}

static void quick(kg_cases *b) {
    static const int64_t lengths[] = {1000, 0, 1, 3, 20011};
    static const kg_dtype ints[] = {KG_I64, KG_I16, KG_I8, KG_U8, KG_BOOL};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) line(b, KG_I32, lengths[i], 63, "probs", KG_F32);
    line(b, KG_I32, 0, 63, "logits", KG_F32);
    line(b, KG_I32, 20011, 63, "logits", KG_F32);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) line(b, ints[i], 8209, 255, "probs", KG_F32);
    line(b, KG_I32, 8209, 3, "probs", KG_F64);
    line(b, KG_I32, 8209, 3, "logits", KG_F64);
    with(b, add(b, OF(KG_I32, 4099), OF(KG_U8, 4099), 255), "probs", OF(KG_F32, 4099));
    with(b, add(b, OF(KG_I32, 129, 65), OF(KG_I32, 65), 31), "probs", OF(KG_F32, 129, 1));
    with(b, add(b, OF(KG_I32, 65), OF(KG_I32, 129, 1), 31), "logits", OF(KG_F32, 65));
    with(b, add(b, OF(KG_I32, 1), OF(KG_I32, 1), 31), "probs", OF(KG_F32, 4099));
    with(b, add(b, kg_tensor_transposed(KG_I32, KG_SHAPE(129, 65), 0, 1), OF(KG_I32, 129, 65), 31), "probs",
         OF(KG_F32, 129, 65));
    with(b, add(b, OF(KG_I32, 4099), kg_tensor_stepped(KG_I32, KG_SHAPE(4099), 3), 31), "probs",
         kg_tensor_stepped(KG_F32, KG_SHAPE(4099), 2));
    kg_case *c = with(b, add(b, OF(KG_I32, 65), OF(KG_I32, 65), 31), "probs", OF(KG_F32, 65));
    kg_set_tensor(c, b->task, "total_count", KG_F32, KG_SHAPE(129, 1), KG_INTEGERS(1, 9));  // only its shape counts
    c = line(b, KG_I32, 8209, 31, "probs", KG_F32);
    kg_set_tensor(c, b->task, "total_count", KG_I32, 0, NULL, (kg_fill){KG_FILL_CONST, 100, 0});
    line(b, KG_I32, 1025, 63, "probs", KG_F32)->args[PROBS].fill = (kg_fill){KG_FILL_CONST, 0, 0};
    line(b, KG_I32, 1025, 63, "probs", KG_F32)->args[PROBS].fill = (kg_fill){KG_FILL_CONST, 1, 0};
    line(b, KG_I32, 32771, 1000, "probs", KG_F32)->args[PROBS].fill = KG_UNIFORM(0, 0.02);
    c = line(b, KG_I32, 8209, 1000, "probs", KG_F32);
    c->args[INPUT].fill = c->args[OTHER].fill = KG_INTEGERS(0, 1000);
    c = line(b, KG_I32, 515, 31, "probs", KG_F32);
    c->args[INPUT].fill = (kg_fill){KG_FILL_CONST, 5003, 0};  // trials, many of them
    c->args[OTHER].fill = (kg_fill){KG_FILL_CONST, 8191, 0};
    // The same values in both calls.
    c = line(b, KG_I32, 8209, 31, "probs", KG_F32);
    c->args[INPUT].fill = c->args[OTHER].fill = (kg_fill){KG_FILL_CONST, 31, 0};
    c->args[PROBS].fill = (kg_fill){KG_FILL_CONST, 0.5, 0};
    kg_set_none(line(b, KG_I32, 515, 63, "probs", KG_F32), b->task, "logits");
}

static void timed(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx) {
    (void)ctx;
    kg_set_tensor(c, t, "input", KG_I32, KG_SHAPE(n), KG_INTEGERS(0, 63));
    kg_set_tensor(c, t, "other", KG_I32, KG_SHAPE(n), KG_INTEGERS(0, 63));
    kg_set_tensor(c, t, "total_count", d, 0, NULL, (kg_fill){KG_FILL_CONST, 10, 0});
    kg_set_tensor(c, t, "probs", d, KG_SHAPE(n), KG_UNIFORM(0, 1));
}

static int cases(kg_cases *b) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_timed_sizes(b, KG_F32, 4, timed, NULL);
        return 0;
    }
    quick(b);
    if (b->level != KG_CASES_FULL) return 0;
    line(b, KG_I32, 300007, 63, "probs", KG_F32);
    with(b, add(b, OF(KG_I64, 33, 1, 17), OF(KG_I64, 129, 1), 100), "logits", OF(KG_F32, 17));
    with(b, add(b, kg_tensor_contiguous(KG_I32, 0, NULL), kg_tensor_contiguous(KG_I32, 0, NULL), 31), "probs",
         kg_tensor_contiguous(KG_F32, 0, NULL));
    line(b, KG_I64, 20011, 1, "probs", KG_F32);
    return 0;
}
#undef OF

static const kg_arg *chance_of(const kg_case *c) { return &c->args[c->args[PROBS].none ? LOGITS : PROBS]; }

static int infer(const kg_task *t, kg_case *c) {
    (void)t;
    if (c->args[PROBS].none == c->args[LOGITS].none) return -1;
    const kg_tensor *all[] = {&c->args[INPUT].tensor, &c->args[OTHER].tensor, &c->args[COUNT].tensor,
                              &chance_of(c)->tensor};
    kg_tensor out = *all[0];
    for (int i = 1; i < 4; i++) {
        const kg_tensor so_far = out;
        if (kg_broadcast(&so_far, all[i], &out)) return -1;
    }
    if (kg_dtype_is_float(all[0]->dtype) || kg_dtype_is_float(all[1]->dtype)) return -1;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(all[3]->dtype, out.ndim, out.shape);
    return 0;
}

// ---- what must hold -------------------------------------------------------------------------------
typedef struct {
    kg_view input, other, chance, out;
    bool logits;
} trial;

static trial trial_of(const kg_call *call, const kg_answer *a) {
    const kg_tensor *shape = &call->c->outs[0];
    const kg_view chance = kg_call_view(call, call->c->args[PROBS].none ? "logits" : "probs");
    return (trial){kg_view_expand(&call->args[INPUT], shape), kg_view_expand(&call->args[OTHER], shape),
                   kg_view_expand(&chance, shape), a->out[0], call->c->args[PROBS].none};
}

// u of one element; -1 where it is no possible number.
static double uniform_of(const trial *t, int64_t i, double v, kg_holds *h) {
    const int64_t n = (int64_t)kg_at(&t->input, i) & (int64_t)kg_at(&t->other, i);
    const double given = kg_at(&t->chance, i), p = t->logits ? kg_sigmoid(given) : given, x = kg_at(&t->out, i);
    const bool possible = x >= 0 && x <= (double)n && x == floor(x) && (p > 0 || x == 0) && (p < 1 || x == (double)n);
    kg_hold_true(h, possible, "out[%lld] is %.9g, of %lld trials with probability %.9g", (long long)i, x, (long long)n,
                 p);
    if (!possible) return -1;
    if (n == 0 || p <= 0 || p >= 1) return v;
    const double below = x > 0 ? gsl_cdf_binomial_P((unsigned)x - 1, p, (unsigned)n) : 0;
    const double up_to = x < (double)n ? gsl_cdf_binomial_P((unsigned)x, p, (unsigned)n) : 1;
    return fmin(below + v * (up_to - below), 1 - 0x1p-53);
}

static int holds(const kg_call *call, const kg_answer *a, kg_holds *h) {
    const trial t = trial_of(call, a);
    size_t n = (size_t)kg_numel(&a->out[0].desc);
    int64_t *chosen = NULL;
    if (n == 0) return 0;
    if (n > MOST) {
        n = kg_windows(&a->out[0].desc, MOST, kg_chance_seed(a), &chosen);
        if (!chosen) return -1;
    }
    double *u = malloc(n * sizeof *u);
    bool possible = u != NULL;
    for (size_t i = 0; i < n && possible; i++) {
        const kg_philox r = kg_philox4x32(a->seed, i, 3);
        const double v = ((double)r.v[0] + (double)r.v[1] * 0x1p-32) * 0x1p-32;
        u[i] = uniform_of(&t, chosen ? chosen[i] : (int64_t)i, v, h);
        possible = u[i] >= 0;
    }
    const int rc = u ? possible ? kg_hold_uniform_calls(h, a, u, n, GRID, "binomial numbers") : 0 : -1;
    free(u);
    free(chosen);
    return rc;
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, 8, 2); }

const kg_task kg_task_kbx_bitwise_and_binomial = {
    .name = "bitwise_and_binomial",
    .suite = "kbx",
    .category = "Math",
    .signature = "bitwise_and_binomial(input, other, total_count, probs=None, logits=None) -> Tensor",
    .summary =
        "Binomial numbers of input & other trials each, with probabilities or log-odds; total_count only broadcasts.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .held = 1,
    .holds = holds,
    .work = work,
    .torch_baseline =
        "lambda input, other, total_count, probs=None, logits=None: (lambda p: torch.binomial(*[x.contiguous() for x "
        "in torch.broadcast_tensors((input & other).to(p.dtype), p, total_count)[:2]]))(probs if probs is not None "
        "else torch.sigmoid(logits))",
    .c_body =
        "// One trial after the other.\n"
        "const double odds = probs ? 0.0 : exp(-kg_get_broadcast(logits, out, i));\n"
        "const double p = probs ? kg_get_broadcast(probs, out, i) : 1.0 / (1.0 + odds);\n"
        "const int64_t n = (int64_t)kg_get_broadcast(input, out, i) & (int64_t)kg_get_broadcast(other, out, i);\n"
        "double successes = 0;\n"
        "for (int64_t k = 0; k < n; k++) successes += kg_uniform(seed + i, k) < p;\n"
        "kg_put(out, i, successes);\n",
};
