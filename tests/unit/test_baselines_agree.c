// Every task that names a CPU baseline: the baseline's answers are right by the task's own oracle, wherever it does not
// refuse the case, and it takes the cases that are timed.
#include "bounds.h"
#include "runner/runner.h"

static kg_run_tensor place(const kg_tensor *t, void *data) { return (kg_run_tensor){.desc = *t, .base = data}; }

// The runner's view of a case. Tensors are the call's own memory.
static void describe(const kg_task *t, const kg_case *c, const kg_call *call, void *out, kg_run_case *r) {
    *r = (kg_run_case){
        .n_args = c->n_args, .n_outs = c->n_outs, .slots = 1, .calls = 1, .alias_first_out = c->alias_first_out};
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        kg_run_arg *to = &r->args[i];
        *to = (kg_run_arg){.name = (char *)t->params[i].name,
                           .kind = t->params[i].kind,
                           .role = t->params[i].role,
                           .none = a->none,
                           .absent = a->absent,
                           .scalar = a->scalar,
                           .i = a->i,
                           .f = a->f,
                           .s = (char *)a->s,
                           .n = a->n};
        memcpy(to->ints, a->ints, sizeof to->ints);
        memcpy(to->floats, a->floats, sizeof to->floats);
        if (call->args[i].data) to->tensor = place(&a->tensor, (void *)call->args[i].data);
        else to->tensor.desc = a->tensor;
    }
    for (int i = 0; i < c->n_outs; i++) r->outs[i] = place(&c->outs[i], out);
}

static void *stored(const kg_tensor *t, const kg_fill *f, uint64_t seed) {
    const size_t bytes = kg_span_bytes(t);
    void *data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    kg_fill_range(f, t->dtype, seed, 0, (int64_t)(bytes / kg_dtype_size(t->dtype)), data);
    return data;
}

static kg_precision answer_rung(const kg_call *call, const void *out) {
    const kg_tensor *desc = &call->c->outs[0];
    reference ref = reference_make(desc->dtype, (size_t)kg_numel(desc));
    int64_t *index = malloc((ref.n + 1) * sizeof *index);
    double *got = malloc((ref.n + 1) * sizeof *got);
    const kg_view view = {*desc, out};
    for (size_t i = 0; i < ref.n; i++) index[i] = (int64_t)i;
    kg_ref r = {0, ref.n, index, ref.value, ref.local, ref.acc};
    assert_int_equal(call->task->oracle(call, &r), 0);
    for (size_t i = 0; i < ref.n; i++) {
        got[i] = kg_at(&view, (int64_t)i);
        const double v = ref.value[i];
        // What check.c lets pass besides the bound.
        if ((isnan(v) && isnan(got[i])) || got[i] == v ||
            (isinf(got[i]) && fabs(v) >= 0.999 * kg_dtype_max(desc->dtype)))
            got[i] = ref.value[i] = 0;
    }
    const kg_precision p =
        desc->dtype == KG_F64 && misses(&ref, got, KG_PREC_FP64) == 0 ? KG_PREC_FP64 : rung(&ref, got);
    free(index);
    free(got);
    reference_free(&ref);
    return p;
}

typedef struct {
    int right, refused, wrong;
} tally;

static void judge(const kg_loader *l, void *self, const kg_task *t, const kg_case *c, tally *sum) {
    kg_call call = {.task = t, .c = c};
    kg_error err = {0};
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (a->kind == KG_P_TENSOR && !a->none && !a->absent && !a->scalar)
            call.args[i] = (kg_view){a->tensor, stored(&a->tensor, &a->fill, (uint64_t)i + 5)};
    }
    // What a library does with NaN and infinities is its own affair (oneDNN's relu of NaN is 0).
    bool special = false;
    for (int i = 0; i < c->n_args; i++) special |= c->args[i].fill.kind == KG_FILL_SPECIALS;
    void *out = stored(&c->outs[0], &(kg_fill){.kind = KG_FILL_POISON}, 0);
    kg_run_case r;
    describe(t, c, &call, out, &r);
    if (special || c->alias_first_out || kg_numel(&c->outs[0]) == 0 || l->prepare(self, &r, &err)) sum->refused++;
    else {
        assert_int_equal(l->call(self, 0, &err), 0);
        const kg_dtype d = c->outs[0].dtype;
        const kg_precision least = d == KG_F64 ? KG_PREC_FP64 : d == KG_F32 ? t->lowest : KG_PREC_FP16;
        const kg_precision p = answer_rung(&call, out);
        sum->right += p <= least, sum->wrong += p > least;
        if (p > least) print_message("%s \"%s\": only %s\n", t->name, c->name, kg_precision_name(p));
    }
    kg_error_clear(&err);
    for (int i = 0; i < c->n_args; i++) free((void *)call.args[i].data);
    free(out);
}

static tally judge_task(const kg_task *t) {
    kg_load_request request = {.language = "baseline", .path = t->cpu_baseline, .task = t->name};
    kg_error err = {0};
    void *self = NULL;
    char *entry = NULL;
    tally sum = {0};
    if (kg_baseline_loader.load(&request, &self, &entry, &err)) {
        print_message("%s: %s\n", t->name, err.text);
        kg_error_clear(&err);
        return sum;
    }
    free(entry);
    kg_cases b;
    assert_int_equal(kg_task_cases(t, KG_CASES_QUICK, &b, &err), 0);
    for (size_t i = 0; i < b.n; i++) judge(&kg_baseline_loader, self, t, &b.items[i], &sum);
    kg_cases_free(&b);
    assert_int_equal(kg_task_cases(t, KG_TIMED_CPU, &b, &err), 0);
    judge(&kg_baseline_loader, self, t, &b.items[0], &sum);
    kg_cases_free(&b);
    kg_baseline_loader.unload(self);
    print_message("%-30s %-8s %3d right, %d wrong, %d refused\n", t->name, t->cpu_baseline, sum.right, sum.wrong,
                  sum.refused);
    return sum;
}

static void baselines_are_right(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < kg_task_count(); i++)
        if (kg_task_at(i)->cpu_baseline) wrong += judge_task(kg_task_at(i)).wrong;
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(baselines_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
