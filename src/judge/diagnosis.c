// Why it is slow: what was measured, what it launches and how it is written, put before the rules of src/diagnose.
// Comes after all timing, so that no time is another for it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "judge/check.h"
#include "judge/trial.h"
#include "judge/verdict.h"

// A call that takes longer is not made once more to see what it does.
#define LONG_CALL_S   2.0
#define DISASSEMBLY_S 1.5

static const kg_case_times *deciding(const kg_trial *t, const char *name) {
    for (size_t i = 0; name && i < t->n_times; i++)
        if (strcmp(t->times[i].c->name, name) == 0) return &t->times[i];
    return NULL;
}

// Of the time; NAN stays unknown, which fmin would take for all of it.
static double share(double x) { return x > 1 ? 1 : x; }

static void facts_of_size(const kg_trial *t, const kg_case_times *ct, kg_facts *f) {
    const double time = ct->time.mid;
    const kg_dtype d = kg_dtype_part(kg_case_principal(ct->c, t->task));
    kg_facts_set(f, "bits", 8.0 * (double)kg_dtype_size(d));
    kg_facts_set(f, "time_us", time * 1e6);
    kg_facts_set(f, "sol_us", ct->sol.seconds * 1e6);
    kg_facts_set(f, "memory_us", ct->sol.memory_s * 1e6);
    kg_facts_set(f, "memory_bound", ct->sol.bound == KG_BOUND_MEMORY);
    kg_facts_set(f, "compute_bound", ct->sol.bound == KG_BOUND_COMPUTE);
    kg_facts_set(f, "host_us", ct->host_s * 1e6);
    kg_facts_set(f, "synchronises", !ct->held);
    // Behind the hold the device never waits for the host; in use it does where the host takes as long.
    if (ct->held) kg_facts_set(f, "host_share", share(ct->host_s / time));
    // With all cores at work it takes a core's part of the time, and never less than any kernel could.
    if (strcmp(t->judge->info.kind, "cpu") == 0 && t->judge->info.units > 0)
        kg_facts_set(f, "one_core_share", fmin(1 - 1.0 / t->judge->info.units, fmax(0, 1 - ct->sol.seconds / time)));
    // A pass of its own that widens half-precision data reads 2 bytes and writes 4, and the kernel then reads 4 for 2:
    // 8 bytes an element, twice what one read and one write of it take. One that narrows results adds as much.
    if (kg_dtype_is_float(d) && kg_dtype_size(d) == 2)
        kg_facts_set(f, "recast_share", share(2 * ct->sol.memory_s / time));
}

static void facts_of_verdict(const kg_trial *t, const kg_verdict *v, kg_facts *f) {
    const kg_case_times *ct = deciding(t, v->worst_case);
    kg_facts_set(
        f, "right",
        strcmp(v->verdict, "efficient") == 0 || strcmp(v->verdict, "slow") == 0 || strcmp(v->verdict, "right") == 0);
    kg_facts_set(f, "slow", strcmp(v->verdict, "slow") == 0);
    kg_facts_set(f, "python", t->session && kg_session_is_python(t->session));
    kg_facts_set(f, "product", t->task->lowest == KG_PREC_TF32);
    kg_facts_set(f, "lre", v->lre.mid);
    kg_facts_set(f, "utilization", v->util.mid);
    if (v->library != KG_SCREEN_NONE) kg_facts_set(f, "library_fail", v->library == KG_SCREEN_FAIL);
    if (v->roofline != KG_SCREEN_NONE) kg_facts_set(f, "roofline_fail", v->roofline == KG_SCREEN_FAIL);
    if (strncmp(t->judge->info.arch, "sm_", 3) == 0) kg_facts_set(f, "sm", strtod(t->judge->info.arch + 3, NULL));
    if (t->n_times) kg_facts_set(f, "lre_small", t->times[0].lre.mid);
    if (ct) facts_of_size(t, ct, f);
}

// Calls more at the deciding size, on values of their own. The folder that the runner left, owned by the caller; NULL:
// a candidate that takes too long for it, or fails it, goes without.
static char *observe(kg_trial *t, const kg_case_times *ct) {
    if (!ct || ct->time.mid >= LONG_CALL_S || !kg_session_alive(t->session)) return NULL;
    char *folder = kg_format("%s/observed", kg_session_scratch(t->session));
    uint64_t seeds[8];
    int slots = 1, n = 0;
    kg_error err = {0};
    const bool observed = kg_session_case(t->session, ct->c, &slots, kg_trial_limit(t, ct->c), &err) == 0 &&
                          kg_trial_call_case(t, t->session, ct->c, 0, 0, seeds, &n, &err) == 0 &&
                          kg_session_observe(t->session, folder, &err) == 0;
    kg_error_clear(&err);
    if (observed) return folder;
    free(folder);
    return NULL;
}

// What a Triton or TileLang kernel was compiled to, and which of its launches take long (NULL: not known).
static kg_profile *profile_of_kernels(kg_trial *t, const kg_case_times *ct, kg_facts *f) {
    char *folder = observe(t, ct);
    if (folder) kg_facts_from_scratch(f, folder);
    kg_profile *p = folder ? kg_launches_from_scratch(folder, f) : NULL;
    free(folder);
    return p;
}

// Lines that the source gives numbers of its own say nothing of it.
static bool renumbers(const kg_candidate *c) {
    static const char line[] = "#line";
    return memmem(c->source, c->source_len, line, sizeof line - 1) != NULL;
}

// Where a C candidate's time goes; NULL: not known.
static kg_profile *profile_of_lines(kg_trial *t, const kg_case_times *ct, kg_facts *f) {
    char *folder = renumbers(t->cand) ? NULL : observe(t, ct), *code = NULL;
    kg_profile *p = NULL;
    if (folder && kg_list_code(t->artifact.artifact, kg_session_scratch(t->session), DISASSEMBLY_S, &code) == 0)
        p = kg_profile_from_scratch(folder, code, "candidate.c", f);
    free(code);
    free(folder);
    return p;
}

// nvcc compiles every template for every dtype. What only some of a dozen kernels have says nothing of the one that
// ran, so that only a file of few is read.
#define FEW_KERNELS 3
static void facts_of_cubin(const kg_trial *t, const void *cubin, size_t size, bool few, kg_facts *f) {
    char *sass = NULL;
    kg_facts_from_cubin(f, cubin, size);
    if (!few || kg_disassemble(cubin, size, kg_session_scratch(t->session), DISASSEMBLY_S, &sass)) return;
    kg_facts_from_sass(f, sass, strlen(sass));
    kg_facts_prefer_sass(f);
    free(sass);
}

static void facts_of_build(const kg_trial *t, kg_facts *f) {
    const kg_artifact *a = &t->artifact;
    kg_facts all = {0}, made = {0};  // what ptxas made of it counts more than what was asked for
    kg_facts_from_ptx(&all, a->ptx, a->ptx_size);
    const bool few = kg_facts_get(&all, "kernels") <= FEW_KERNELS;
    if (a->cubin) facts_of_cubin(t, a->cubin, a->cubin_size, few, &made);
    for (size_t i = 0; i < made.n; i++) kg_facts_set(&all, made.items[i].name, made.items[i].value);
    kg_facts_free(&made);
    for (size_t i = 0; i < all.n; i++)
        if (few || strcmp(all.items[i].name, "matrix_instructions") == 0)
            kg_facts_set(f, all.items[i].name, all.items[i].value);
    kg_facts_free(&all);
}

static void facts_of_machine(const kg_trial *t, kg_facts *f) {
    const kg_artifact *a = &t->artifact;
    if (a->ptx) facts_of_build(t, f);
    if (t->cand->language == KG_LANG_PTX) kg_facts_from_ptx(f, t->cand->source, t->cand->source_len);
    if (t->cand->language == KG_LANG_CUBIN) facts_of_cubin(t, t->cand->source, t->cand->source_len, true, f);
}

// Runs the candidate once more, or a few times; NULL: not known.
static kg_profile *profile_of(kg_trial *t, const kg_verdict *v, kg_facts *f) {
    const kg_case_times *ct = deciding(t, v->worst_case);
    switch (t->cand->language) {
    case KG_LANG_C: return profile_of_lines(t, ct, f);
    case KG_LANG_TRITON:
    case KG_LANG_TILELANG: return profile_of_kernels(t, ct, f);
    default: return NULL;
    }
}

void kg_trial_diagnose(kg_trial *t) {
    if (!t->task || t->broken || !t->cand->source) return;
    const kg_step before = kg_steps_to(&t->steps, KG_STEP_DIAGNOSIS);
    const kg_verdict v = kg_verdict_of(t);
    const bool slow = strcmp(v.verdict, "slow") == 0 && t->session;
    kg_facts f = {0};
    kg_profile *profile = NULL;
    facts_of_verdict(t, &v, &f);
    if (slow) {
        facts_of_machine(t, &f);
        profile = profile_of(t, &v, &f);
        kg_trial_count(t, deciding(t, v.worst_case), &f);
    }
    if (!t->judge->diagnoser) t->judge->diagnoser = kg_diagnoser_open();
    const kg_subject s = {.language = t->cand->language,
                          .source = t->cand->source,
                          .len = t->cand->source_len,
                          .facts = &f,
                          .profile = profile};
    t->findings = kg_diagnose(t->judge->diagnoser, &s, &t->explained);
    kg_profile_free(profile);
    kg_facts_free(&f);
    kg_steps_to(&t->steps, before);
}
