// Every task judged by its own C skeleton: it compiles, gives the oracle's answer on every quick case to float32's
// roundoff (it computes in double), and lazy answers (zeros, a constant, the input) fail. KG_TEST_FULL=1: full cases.
// A task name as argument: that one alone, and its failures in words.
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/in_process.h"
#include "oracle/holds.h"
#include "oracle/oracle.h"

static void *copy_of(const void *p, size_t n) { return memcpy(kg_alloc(n), p, n); }

// ---- comparing ----------------------------------------------------------------------------------------
// The rule of task.h, for one element.
static bool within(kg_dtype t, double got, double value, double local, double acc, double u) {
    if (local == KG_ANY_ANSWER) return true;
    if (isnan(value) || isnan(got)) return isnan(value) && isnan(got);
    if (!kg_dtype_is_float(t)) return fabs(got - value) <= local + acc;  // the allowed difference itself
    const double u_acc = u < 0x1p-24 ? u : 0x1p-24;
    double bound = kg_dtype_unit(t) * fabs(value) + u * local + (acc > 0 ? u_acc * acc : 0) + kg_dtype_tiny(t);
    if (isnan(bound)) bound = INFINITY;
    if (isinf(got))
        return got == value || (fabs(value) + bound >= kg_dtype_max(t) && (isinf(bound) || got * value > 0));
    return got == value || fabs(got - value) <= bound;
}

typedef struct {
    const kg_task *t;
    const kg_case *c;
    kg_ref ref;
    kg_tensor desc;
} answer;

static answer reference(const kg_call *call, int which) {
    answer r = {.t = call->task, .c = call->c};
    if (which < call->c->n_outs) r.desc = kg_tensor_parts(&call->c->outs[which]);
    int k = call->c->n_outs;
    for (int i = 0; i < call->c->n_args && which >= call->c->n_outs; i++)
        if (call->task->params[i].role == KG_INOUT && kg_has_memory(&call->c->args[i]) && k++ == which)
            r.desc = call->c->args[i].tensor;
    const size_t n = (size_t)kg_numel(&r.desc);
    int64_t *index = kg_alloc(n * sizeof *index);
    for (size_t i = 0; i < n; i++) index[i] = (int64_t)i;
    r.ref = (kg_ref){.out = which,
                     .n = n,
                     .index = index,
                     .value = kg_alloc(n * 8),
                     .local = kg_alloc(n * 8),
                     .acc = kg_alloc(n * 8)};
    for (size_t i = 0; i < n; i++)
        r.ref.value[i] = r.ref.local[i] = r.ref.acc[i] = -12345;  // an oracle that skips shows
    assert_int_equal(kg_oracle(call, &r.ref), 0);
    return r;
}
static void answer_free(answer *a) {
    free((void *)a->ref.index);
    free(a->ref.value);
    free(a->ref.local);
    free(a->ref.acc);
}

static size_t wrong(const answer *a, double u, double (*got)(const void *ctx, size_t k), const void *ctx, bool loud) {
    size_t bad = 0;
    for (size_t k = 0; k < a->ref.n; k++) {
        const double v = got(ctx, k);
        if (within(a->desc.dtype, v, a->ref.value[k], a->ref.local[k], a->ref.acc[k], u)) continue;
        if (loud && bad++ < 3)
            fprintf(stderr, "%s %s: out %d [%zu] got %.17g, expected %.17g (local %g, acc %g)\n", a->t->name,
                    a->c->name, a->ref.out, k, v, a->ref.value[k], a->ref.local[k], a->ref.acc[k]);
        bad += !loud;
    }
    return bad;
}

static double from_view(const void *ctx, size_t k) { return kg_at(ctx, (int64_t)k); }
static double zero(const void *ctx, size_t k) {
    (void)ctx;
    (void)k;
    return 0;
}
static double constant(const void *ctx, size_t k) {
    (void)k;
    return *(const double *)ctx;
}

// The roundoff that a lazy answer is tested at: the coarsest that the task calls right.
static double coarsest(const kg_task *t, kg_dtype d) {
    if (d == KG_BF16) return 0x1p-8;
    if (d == KG_F16) return 0x1p-11;
    return t->lowest == KG_PREC_TF32 || t->lowest == KG_PREC_FP16 ? 0x1p-11 : d == KG_F64 ? 0x1p-53 : 0x1p-24;
}

typedef struct {
    size_t cases, bad, zeros, constants, inputs;
    double earlier;  // a case's answer: where an output is one number, the constant that another case may not pass with
} tally;

static void judge_answer(const kg_call *call, const kg_memory *m, int which, tally *sum, bool *caught) {
    answer a = reference(call, which);
    kg_view got = {.desc = a.desc, .data = NULL};
    int k = call->c->n_outs;
    if (which < k) got.data = m->outs[which];
    for (int i = 0; i < call->c->n_args && which >= call->c->n_outs; i++)
        if (call->task->params[i].role == KG_INOUT && kg_has_memory(&call->c->args[i]) && k++ == which)
            got.data = m->args[i];
    const double u = coarsest(call->task, a.desc.dtype), one = a.ref.n > 1 ? a.ref.value[0] : sum->earlier;
    // Halves at their own roundoff: a skeleton may keep steps in the output's storage.
    const bool half = a.desc.dtype == KG_F16 || a.desc.dtype == KG_BF16;
    sum->bad += wrong(&a, half ? u : a.desc.dtype == KG_F64 ? 0x1p-53 : 0x1p-24, from_view, &got, true) > 0;
    if (which == 0 && a.ref.n) {
        caught[0] |= wrong(&a, u, zero, NULL, false) > 0;
        caught[1] |= wrong(&a, u, constant, &one, false) > 0;
        const kg_view in = call->args[0];
        caught[2] |= !in.data || kg_numel(&in.desc) != (int64_t)a.ref.n || wrong(&a, u, from_view, &in, false) > 0;
    }
    if (which == 0 && a.ref.n) sum->earlier = a.ref.value[0];
    answer_free(&a);
}

// Outputs judged by what must hold: the skeleton's, and the same outputs all 0 and all 1.
static double found(const kg_call *call, const kg_answer *a, bool loud) {
    kg_holds h = {.task = call->task, .lock = PTHREAD_MUTEX_INITIALIZER, .at_required = -1};
    assert_int_equal(call->task->holds(call, a, &h), 0);
    if (h.where && loud) fprintf(stderr, "%s %s: %s\n", call->task->name, call->c->name, h.where);
    free(h.where);
    return h.at_required;
}

static void judge_held(const kg_call *call, const kg_memory *m, tally *sum, bool *caught) {
    const kg_case *c = call->c;
    kg_answer a = {.n = c->n_outs}, lazy = a;
    int64_t elements = 0;
    for (int i = 0; i < c->n_outs; i++) {
        a.out[i] = lazy.out[i] = (kg_view){kg_tensor_parts(&c->outs[i]), m->outs[i]};
        elements += kg_numel(&c->outs[i]);
    }
    for (int i = 0; i < c->n_args; i++)
        if (call->task->params[i].role == KG_INOUT && kg_has_memory(&c->args[i]))
            a.out[a.n++] = (kg_view){kg_tensor_parts(&c->args[i].tensor), m->args[i]};
    for (int i = c->n_outs; i < a.n; i++) lazy.out[i] = a.out[i];
    lazy.n = a.n;
    sum->bad += found(call, &a, true) > 1;
    for (int value = 0; value < 2 && elements; value++) {
        void *copies[KG_MAX_OUTS];
        for (int i = 0; i < c->n_outs; i++) {
            lazy.out[i].data = copies[i] = kg_alloc(kg_span_bytes(&c->outs[i]) + 8);
            for (int64_t k = 0; k < kg_numel(&lazy.out[i].desc); k++)
                kg_store(lazy.out[i].desc.dtype, copies[i], k, value);
        }
        caught[value] |= found(call, &lazy, false) > 1;
        for (int i = 0; i < c->n_outs; i++) free(copies[i]);
    }
    caught[2] |= caught[0];
}

static void judge_case(const kg_task *t, kg_case *c, kg_adapter fn, tally *sum, bool *caught) {
    enum { MOST_CALLS = 8 };
    kg_memory m, before[MOST_CALLS] = {0};
    kg_call calls[MOST_CALLS] = {0};
    assert_in_range(c->calls, 1, MOST_CALLS);
    int answers = c->n_outs;
    kg_memory_make(t, c, &m);
    for (int i = 0; i < c->n_args; i++) answers += kg_has_memory(&c->args[i]) && t->params[i].role == KG_INOUT;
    for (int turn = 0; turn < c->calls; turn++) {
        kg_memory_fill(t, c, &m, turn);
        calls[turn] = (kg_call){.task = t, .c = c, .previous = turn ? &calls[turn - 1] : NULL};
        for (int i = 0; i < c->n_args; i++) {
            if (!kg_has_memory(&c->args[i])) continue;
            before[turn].args[i] = copy_of(m.args[i], kg_span_bytes(&c->args[i].tensor) + 8);
            calls[turn].args[i] = (kg_view){kg_tensor_parts(&c->args[i].tensor), before[turn].args[i]};
        }
        assert_int_equal(kg_in_process_call(t, c, &m, fn, turn), 0);
    }
    for (int which = 0; which < answers; which++)
        if (!(t->held >> which & 1)) judge_answer(&calls[c->calls - 1], &m, which, sum, caught);
    if (t->held) judge_held(&calls[c->calls - 1], &m, sum, caught);
    sum->cases++;
    kg_memory_free(c, &m);
    for (int i = 0; i < KG_MAX_ARGS; i++)
        for (int turn = 0; turn < MOST_CALLS; turn++) free(before[turn].args[i]);
}

static size_t judge_task(const kg_task *t, const char *folder) {
    void *handle;
    char *source = kg_task_skeleton(t, "c", NULL);
    if (!source) fail_msg("task %s has no C skeleton", t->name);
    const kg_adapter fn = kg_in_process_build(t, source, folder, "-Wall -Werror", false, &handle);
    if (!fn) fail_msg("the skeleton of %s does not compile", t->name);
    free(source);
    kg_cases b;
    kg_error err = {0};
    if (kg_task_cases(t, getenv("KG_TEST_FULL") ? KG_CASES_FULL : KG_CASES_QUICK, &b, &err)) fail_msg("%s", err.text);
    tally sum = {0};
    for (size_t i = 0; i < b.n; i++) {
        bool caught[3] = {0};
        if (kg_case_is_large(&b.items[i])) continue;  // the judge samples such outputs; here all are compared
        judge_case(t, &b.items[i], fn, &sum, caught);
        sum.zeros += caught[0];
        sum.constants += caught[1];
        sum.inputs += caught[2];
    }
    printf("  %-28s %3zu cases, %zu wrong; caught: zeros %zu, constant %zu, input %zu\n", t->name, sum.cases, sum.bad,
           sum.zeros, sum.constants, sum.inputs);
    // Where every answer is one number, the constant is the answer itself.
    bool numbers = true;
    for (size_t i = 0; i < b.n; i++) numbers = numbers && b.items[i].n_outs == 1 && kg_numel(&b.items[i].outs[0]) <= 1;
    const bool lazy_passes = sum.zeros == 0 || (sum.constants == 0 && !numbers) || sum.inputs == 0;
    kg_cases_free(&b);
    dlclose(handle);
    return sum.bad + lazy_passes;
}

static const char *only;

static void skeletons_are_right_and_lazy_answers_fail(void **state) {
    (void)state;
    char folder[] = "/tmp/kg_skeletons_XXXXXX";
    assert_non_null(mkdtemp(folder));
    size_t bad = 0;
    for (size_t i = 0; i < kg_task_count(); i++)
        if (!only || strcmp(only, kg_task_at(i)->name) == 0) bad += judge_task(kg_task_at(i), folder);
    rmdir(folder);
    assert_int_equal(bad, 0);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(skeletons_are_right_and_lazy_answers_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
