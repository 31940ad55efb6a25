// Every task that names a CPU baseline: the baseline's answers are right by the task's own oracle, wherever it does not
// refuse the case, and it takes the cases that are timed.
#include "run_case.h"

typedef struct {
    int right, refused, wrong;
} tally;

static void judge(const kg_loader *l, void *self, const kg_task *t, const kg_case *c, tally *sum) {
    kg_call call = {.task = t, .c = c};
    kg_error err = {0};
    kg_run_case r = run_case(t, c, 1);
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (!is_tensor(a)) continue;
        r.args[i].tensor.base = stored(&a->tensor, &a->fill, (uint64_t)i + 5);
        call.args[i] = (kg_view){a->tensor, r.args[i].tensor.base};
    }
    void *out = stored(&c->outs[0], &(kg_fill){.kind = KG_FILL_POISON}, 0);
    r.outs[0].base = out;
    const bool skip = has_specials(c) || c->alias_first_out || kg_numel(&c->outs[0]) == 0;
    if (skip || l->prepare(self, &r, &err)) sum->refused++;
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
