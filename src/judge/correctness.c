#include <math.h>
#include <stdlib.h>

#include "judge/check.h"
#include "judge/trial.h"

// Each case is called on two sets of values, in the same memory: an answer kept from the first call is wrong on the
// second.
#define CALLS_PER_CASE 2
#define MAX_STEPS      8
// A wrong candidate needs no more cases to be called so when they take long (compiled or autotuned for every shape):
// one that is often wrong after a while, one that is wrong at all after a longer one.
#define OFTEN           3
#define PATIENCE_S      2.0
#define LONG_PATIENCE_S 4.0

// Faults after which the process or its device context is of no more use.
static bool ends_session(const kg_trial *t, const kg_error *e) {
    return e->code == KG_ERR_DIED || e->code == KG_ERR_TIMEOUT || !kg_session_alive(t->session);
}

int kg_trial_call_case(kg_trial *t, kg_session *s, const kg_case *c, int slot, uint64_t first_call, uint64_t *seeds,
                       int *n_seeds, kg_error *err) {
    int steps = c->calls > 1 ? c->calls : 1;
    if (steps > MAX_STEPS) return kg_fail(err, KG_ERR_INTERNAL, "case %s asks for %d calls", c->name, steps);
    if (steps > 1 && kg_session_reset_state(s, err)) return -1;
    const kg_step before = kg_steps_to(&t->steps, s == t->session ? KG_STEP_CALLS : KG_STEP_LIBRARY);
    for (int k = 0; k < steps; k++) {
        seeds[k] = kg_trial_seed(t, c, first_call * MAX_STEPS + (uint64_t)k);
        if (kg_session_fill(s, seeds[k], slot, 1, err) || kg_session_call(s, slot, 1, err)) return -1;
    }
    *n_seeds = steps;
    kg_steps_to(&t->steps, before);
    return 0;
}

static bool wrong(const kg_check *k) { return k->error_over_bound > 1 || k->unwritten || k->guard_broken; }

// A case past 32 bits that is no part of the verdict, and is named: the judge has no memory for it, or the kernel says
// that it cannot, as libraries do and a grid's size makes it. It may not be wrong, and may not write beside its outputs
// before it says so: then *why tells that too.
static bool excused(kg_trial *t, const kg_case *c, kg_error *why) {
    bool beside = false;
    if (!kg_case_is_large(c) || ends_session(t, why) || kg_session_wrong_result(t->session)) return false;
    if (why->code == KG_ERR_MEMORY) {
        kg_trial_not_asked(t->not_checked, c, kg_strdup(why->text));
        return true;
    }
    if (why->code != KG_ERR_CANDIDATE || kg_session_wrote_beside(t->session, 1, &beside, NULL)) return false;
    if (!beside) {
        kg_trial_not_asked(t->not_checked, c, kg_format("refused: %s", why->text));
        return true;
    }
    char *said = kg_strdup(why->text);
    kg_error_clear(why);
    kg_fail(why, KG_ERR_CANDIDATE, "%s; and memory beside an output was written", said);
    free(said);
    return false;
}

// 0: judged (right or wrong), -1: the session is over or the judge cannot go on.
static int judge_case(kg_trial *t, const kg_case *c, kg_error *err) {
    int slots = 1;
    kg_error why = {0};
    kg_check worst = {0};
    char *text = NULL;
    void *kept = NULL;
    int rc = kg_session_case(t->session, c, &slots, kg_trial_limit(t, c), &why);
    // A case past 32 bits takes its time, and is about offsets: one call says it.
    const uint64_t calls = kg_case_is_large(c) ? 1 : CALLS_PER_CASE;
    for (uint64_t call = 0; !rc && call < calls && !text; call++) {
        uint64_t seeds[MAX_STEPS];
        int n = 0;
        kg_check k = {0};
        rc = kg_trial_call_case(t, t->session, c, 0, call, seeds, &n, &why);
        const kg_step before = kg_steps_to(&t->steps, KG_STEP_ORACLE);
        if (!rc)
            rc = kg_session_check(t->session, seeds, n, 0, t->judge->o.full ? KG_EFFORT_FULL : KG_EFFORT_USUAL, &kept,
                                  &k, &why);
        kg_steps_to(&t->steps, before);
        if (rc) break;
        for (int p = 0; p < KG_PREC_NONE; p++)
            if (k.worst[p] > worst.worst[p]) worst.worst[p] = k.worst[p];
        worst.reading = k.reading;
        worst.likeness = k.likeness;
        if (k.error_over_bound > worst.error_over_bound) worst.error_over_bound = k.error_over_bound;
        if (wrong(&k)) {
            const char *what = k.where ? k.where : "wrong answer";
            text = call ? kg_format("call %d: %s", (int)call + 1, what) : kg_strdup(what);
            if (k.guard_broken) worst.error_over_bound = INFINITY;
        }
        kg_check_free(&k);
    }
    free(kept);
    if (rc && excused(t, c, &why)) {
        kg_error_clear(&why);
        free(text);
        return 0;
    }
    if (rc && (ends_session(t, &why) || why.code != KG_ERR_CANDIDATE)) {
        kg_fail(err, why.code, "case %s: %s", c->name, why.text);
        kg_error_clear(&why);
        free(text);
        return -1;
    }
    if (rc) {  // the call itself failed: a case without an answer is a failed case
        free(text);
        text = kg_strdup(why.text);
    }
    kg_trial_result(t, c, false, rc ? NULL : &worst, text);
    // An answer of another dtype or shape is a wrong one.
    if (rc) t->results[t->n_results - 1].answered = kg_session_wrong_result(t->session);
    kg_error_clear(&why);
    return 0;
}

static bool enough(const kg_trial *t, double spent_s) {
    const size_t failed = kg_trial_failed(t);
    return (failed >= OFTEN && spent_s > PATIENCE_S) || (failed && spent_s > LONG_PATIENCE_S);
}

// C and CUDA candidates get their outputs as parameters, so a case about out= says nothing new to them.
static bool applies(const kg_trial *t, const kg_case *c, bool native) {
    for (int i = 0; native && i < c->n_args; i++)
        if (t->task->params[i].role == KG_OUT_ARG && !c->args[i].none && !c->args[i].absent) return false;
    return true;
}

int kg_trial_correctness(kg_trial *t, kg_error *err) {
    bool native = t->cand->language == KG_LANG_C || t->cand->language == KG_LANG_CUDA ||
                  t->cand->language == KG_LANG_PTX || t->cand->language == KG_LANG_CUBIN;
    double start = kg_now();
    for (size_t i = 0; i < t->cases.n; i++) {
        const kg_case *c = &t->cases.items[i];
        if (!applies(t, c, native)) continue;
        if (enough(t, kg_now() - start)) {
            t->not_run++;
            continue;
        }
        if (kg_interrupted()) return kg_fail(err, KG_ERR_CANNOT, "interrupted");
        kg_trial_progress(t, "case %zu of %zu: %s", i + 1, t->cases.n, c->name);
        kg_error why = {0};
        if (judge_case(t, c, &why) == 0) continue;
        bool theirs = why.code == KG_ERR_DIED || why.code == KG_ERR_TIMEOUT;
        if (theirs) kg_trial_broke(t, c, false, kg_strdup(why.text));
        else kg_fail(err, why.code, "%s", why.text);
        kg_error_clear(&why);
        return theirs ? 0 : -1;
    }
    if (t->n_results || t->sizes.n) return 0;
    const json_t *left_out = json_array_get(t->not_checked, 0);  // a verdict on nothing is none
    if (!left_out) return kg_fail(err, KG_ERR_CANNOT, "no case that was asked for is one for this language");
    return kg_fail(err, KG_ERR_CANNOT, "no case was checked: %s %s",
                   json_string_value(json_object_get(left_out, "case")),
                   json_string_value(json_object_get(left_out, "why")));
}
