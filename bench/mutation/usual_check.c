// The check that most evaluators of kernels make, on the same mutants as kgate's: the kernel in the checker's process,
// a few fixed shapes of ordinary values, one call each, and torch.allclose's rule with rtol = atol = 1e-5.
//
//     usual_check LIST.jsonl      a line for each mutant: its number, then passed, caught or not-built
//
// The shapes are the task's own first dtype's: of the quick cases whose tensors are contiguous, not empty and of
// ordinary values, the first, the middle one and the largest. The reference is the task's oracle in fp64. For half
// precision the tolerance is one unit of its roundoff, which no published threshold is below. Held outputs (a
// decomposition's factors, random numbers) it cannot compare: "not-judged".
#include <dlfcn.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tests/support/in_process.h"
#include "oracle/oracle.h"

#define TOLERANCE 1e-5
#define SHAPES    3

static bool ordinary(const kg_case *c, kg_dtype d) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (!kg_has_memory(a)) continue;
        const kg_fill_kind k = a->fill.kind;
        if (!kg_is_contiguous(&a->tensor) || kg_numel(&a->tensor) == 0 || k == KG_FILL_SPECIALS || k == KG_FILL_CONST ||
            k == KG_FILL_OUTLIERS || k == KG_FILL_LOGSCALE || k == KG_FILL_TIES)
            return false;
        if (kg_dtype_is_float(a->tensor.dtype) && a->tensor.dtype != d) return false;
    }
    return true;
}

static bool close_enough(double got, double value, double tolerance) {
    if (isnan(got) || isnan(value) || isinf(got) || isinf(value)) return got == value;  // allclose: equal_nan=False
    return fabs(got - value) <= tolerance + tolerance * fabs(value);
}

// 1: as the reference has it.
static int output_is_close(const kg_call *call, const kg_memory *m, int which) {
    const kg_tensor desc = kg_tensor_parts(&call->c->outs[which]);
    const size_t n = (size_t)kg_numel(&desc);
    int64_t *index = kg_alloc(n * sizeof *index + 8);
    double *v = kg_alloc(3 * n * sizeof *v + 8);
    for (size_t i = 0; i < n; i++) index[i] = (int64_t)i;
    kg_ref ref = {which, n, index, v, v + n, v + 2 * n};
    int close = kg_oracle(call, &ref) == 0;
    const kg_view out = {desc, m->outs[which]};
    const double unit = kg_dtype_is_float(desc.dtype) ? kg_dtype_unit(desc.dtype) : 0;
    const double tolerance = unit > TOLERANCE ? 2 * unit : TOLERANCE;
    for (size_t i = 0; i < n && close; i++) close = close_enough(kg_at(&out, (int64_t)i), v[i], tolerance);
    free(index);
    free(v);
    return close;
}

static bool case_passes(const kg_task *t, kg_case *c, kg_adapter fn) {
    kg_memory m, before;
    kg_memory_make(t, c, &m);
    kg_memory_make(t, c, &before);
    kg_memory_fill(t, c, &m, 0);
    kg_call call = {.task = t, .c = c};
    for (int i = 0; i < c->n_args; i++) {
        if (!kg_has_memory(&c->args[i])) continue;
        memcpy(before.args[i], m.args[i], kg_span_bytes(&c->args[i].tensor));
        call.args[i] = (kg_view){kg_tensor_parts(&c->args[i].tensor), before.args[i]};
    }
    bool passes = kg_in_process_call(t, c, &m, fn, 0) == 0;
    for (int i = 0; i < c->n_outs && passes; i++) passes = output_is_close(&call, &m, i);
    return passes;  // memory goes with the process
}

static void pick(kg_cases *b, kg_case **chosen, int *n) {
    kg_case *fit[512];
    int count = 0;
    kg_dtype d = KG_DTYPES;
    for (int i = 0; i < b->items[0].n_args && d == KG_DTYPES; i++)
        if (kg_has_memory(&b->items[0].args[i]) && kg_dtype_is_float(b->items[0].args[i].tensor.dtype))
            d = b->items[0].args[i].tensor.dtype;
    for (size_t i = 0; i < b->n && count < 512; i++)
        if (ordinary(&b->items[i], d)) fit[count++] = &b->items[i];
    *n = 0;
    if (!count) return;
    int largest = 0;
    for (int i = 0; i < count; i++)
        if (kg_case_input_bytes(fit[i], b->task) > kg_case_input_bytes(fit[largest], b->task)) largest = i;
    const int places[SHAPES] = {0, count / 2, largest};
    for (int i = 0; i < SHAPES; i++) chosen[(*n)++] = fit[places[i]];
}

static const char *check(const kg_task *t, const char *source, const char *folder) {
    if (t->held || !t->oracle) return "not-judged";
    void *handle;
    const kg_adapter fn = kg_in_process_build(t, source, folder, "-w -fopenmp", true, &handle);
    if (!fn) return "not-built";
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(5);
        kg_cases b;
        kg_case *chosen[SHAPES];
        int n = 0;
        if (kg_task_cases(t, KG_CASES_QUICK, &b, NULL)) _exit(2);
        pick(&b, chosen, &n);
        for (int i = 0; i < n; i++)
            if (!case_passes(t, chosen[i], fn)) _exit(1);
        _exit(n ? 0 : 2);
    }
    int status = 1;
    waitpid(child, &status, 0);
    dlclose(handle);
    if (!WIFEXITED(status)) return "caught";
    return WEXITSTATUS(status) == 0 ? "passed" : WEXITSTATUS(status) == 1 ? "caught" : "not-judged";
}

int main(int argc, char **argv) {
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f) {
        fprintf(stderr, "usage: usual_check LIST.jsonl\n");
        return 2;
    }
    char folder[] = "/tmp/kg_usual_XXXXXX", *line = NULL;
    if (!mkdtemp(folder)) return 3;
    size_t room = 0;
    for (int number = 0; getline(&line, &room, f) > 0; number++) {
        json_t *j = json_loads(line, 0, NULL);
        const kg_task *t = kg_task_find(json_string_value(json_object_get(j, "task")));
        printf("%d %s\n", number, t ? check(t, json_string_value(json_object_get(j, "code")), folder) : "not-judged");
        json_decref(j);
    }
    free(line);
    fclose(f);
    rmdir(folder);
    return 0;
}
