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

#include "kgate/kernel.h"
#include "oracle/holds.h"
#include "task/prototype.h"

// ---- building ---------------------------------------------------------------------------------------
// int kg_adapter(void **a): casts each pointer to the parameter it points at.
static void add_adapter(kg_text *out, const kg_task *t) {
    char *entry = kg_task_c_entry(t);
    int n = 0;
    kg_text_add(out, "\nint kg_adapter(void **a) {\n    return %s(", entry);
    for (const kg_param *p = t->params; p->name; p++) {
        if (!kg_c_gets(p)) continue;
        const char *by_value = p->kind == KG_P_BOOL                    ? "bool"
                               : p->kind == KG_P_INT && !p->nullable   ? "int64_t"
                               : p->kind == KG_P_FLOAT && !p->nullable ? "double"
                                                                       : NULL;
        kg_text_add(out, n ? ", " : "");
        if (by_value) kg_text_add(out, "*(%s *)a[%d]", by_value, n++);
        else kg_text_add(out, "a[%d]", n++);
    }
    for (const char *const *o = t->outputs; *o; o++, n++) kg_text_add(out, "%sa[%d]", n ? ", " : "", n);
    kg_text_add(out, ");\n}\n");
    free(entry);
}

typedef int (*adapter)(void **);

static adapter build(const kg_task *t, const char *folder, void **handle) {
    char *source = kg_task_skeleton(t, "c", NULL);
    if (!source) fail_msg("task %s has no C skeleton", t->name);
    kg_text text = {0};
    kg_text_add(&text, "%s", source);
    add_adapter(&text, t);
    char *path = kg_format("%s/%s_%s.c", folder, t->suite, t->name),
         *so = kg_format("%s/%s_%s.so", folder, t->suite, t->name);
    FILE *f = fopen(path, "w");
    fputs(text.data, f);
    fclose(f);
    const int root = (int)(strstr(__FILE__, "/tests/unit/") - __FILE__);
    char *command = kg_format("cc -std=gnu17 -O2 -Wall -Werror -shared -fPIC -I%.*s/include %s -o %s -lm", root,
                              __FILE__, path, so);
    if (system(command) != 0) fail_msg("the skeleton of %s does not compile", t->name);
    *handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!*handle) fail_msg("%s", dlerror());
    const adapter a = (adapter)dlsym(*handle, "kg_adapter");
    unlink(path);
    unlink(so);
    free(command);
    free(path);
    free(so);
    free(source);
    kg_text_free(&text);
    return a;
}

// ---- a case's memory --------------------------------------------------------------------------------
typedef struct {
    void *args[KG_MAX_ARGS], *outs[KG_MAX_OUTS];
} memory;

static bool has_memory(const kg_arg *a) { return a->kind == KG_P_TENSOR && !a->none && !a->absent && !a->scalar; }
// Numbers: two for a complex element.
static int64_t stored(const kg_tensor *t) {
    return (int64_t)(kg_span_bytes(t) / kg_dtype_size(kg_dtype_part(t->dtype)));
}
static void *copy_of(const void *p, size_t n) { return memcpy(kg_alloc(n), p, n); }

static DLTensor as_dl(const kg_tensor *t, void *data) {
    static const DLDataType types[] = {{kDLFloat, 64, 1},   {kDLFloat, 32, 1}, {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
                                       {kDLInt, 64, 1},     {kDLInt, 32, 1},   {kDLInt, 16, 1},   {kDLInt, 8, 1},
                                       {kDLUInt, 8, 1},     {kDLBool, 8, 1},   {0, 0, 0},         {kDLComplex, 64, 1},
                                       {kDLComplex, 128, 1}};
    DLTensor d = {.data = data, .device = {kDLCPU, 0}, .ndim = t->ndim, .dtype = types[t->dtype]};
    d.shape = (int64_t *)t->shape;
    d.strides = (int64_t *)t->stride;
    return d;
}

// Values of call number `turn`.
static void fill(const kg_task *t, const kg_case *c, memory *m, int turn) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        const kg_role role = t->params[i].role;
        if (!has_memory(a) || (role == KG_STATE && turn > 0)) continue;
        const uint64_t seed = 1000u * (uint64_t)(turn + 1) + (uint64_t)i;
        kg_fill_range(&a->fill, kg_dtype_part(a->tensor.dtype), seed, 0, stored(&a->tensor), m->args[i]);
    }
    const kg_fill poison = {.kind = KG_FILL_POISON};
    for (int i = c->alias_first_out; i < c->n_outs; i++)
        kg_fill_range(&poison, kg_dtype_part(c->outs[i].dtype), 0, 0, stored(&c->outs[i]), m->outs[i]);
}

static void call_skeleton(const kg_task *t, kg_case *c, memory *m, adapter fn, int turn) {
    void *a[KG_MAX_ARGS + KG_MAX_OUTS];
    DLTensor tensors[KG_MAX_ARGS + KG_MAX_OUTS];
    kg_ints ints[KG_MAX_ARGS];
    kg_floats floats[KG_MAX_ARGS];
    int n = 0;
    for (int i = 0; i < c->n_args; i++) {
        kg_arg *g = &c->args[i];
        if (!kg_c_gets(&t->params[i])) continue;
        // Optimizers: 1 on the first call on a state, then 2, ...
        if (strcmp(t->params[i].name, "call_number") == 0) g->i = turn + 1;
        void **to = &a[n++];
        // A bool has no None in C: false.
        if (g->kind != KG_P_BOOL && (g->none || (g->absent && g->kind == KG_P_TENSOR))) {
            *to = NULL;
            continue;
        }
        static bool yes = true, no = false;
        switch (g->kind) {
        case KG_P_TENSOR:
            tensors[i] = as_dl(&g->tensor, g->scalar ? (void *)&g->f : m->args[i]);
            *to = &tensors[i];
            break;
        case KG_P_INT: *to = &g->i; break;
        case KG_P_FLOAT: *to = &g->f; break;
        case KG_P_BOOL: *to = g->i ? &yes : &no; break;
        case KG_P_INTS:
            ints[i] = (kg_ints){g->n, g->ints};
            *to = &ints[i];
            break;
        case KG_P_FLOATS:
            floats[i] = (kg_floats){g->n, g->floats};
            *to = &floats[i];
            break;
        default: *to = (void *)g->s; break;
        }
    }
    for (int i = 0; i < c->n_outs; i++) {
        tensors[KG_MAX_ARGS + i] = as_dl(&c->outs[i], m->outs[i]);
        a[n++] = &tensors[KG_MAX_ARGS + i];
    }
    assert_int_equal(fn(a), 0);
}

// ---- comparing ----------------------------------------------------------------------------------------
// The rule of task.h, for one element.
static bool within(kg_dtype t, double got, double value, double local, double acc, double u) {
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
        if (call->task->params[i].role == KG_INOUT && has_memory(&call->c->args[i]) && k++ == which)
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
    assert_int_equal(call->task->oracle(call, &r.ref), 0);
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

static void judge_answer(const kg_call *call, const memory *m, int which, tally *sum, bool *caught) {
    answer a = reference(call, which);
    kg_view got = {.desc = a.desc, .data = NULL};
    int k = call->c->n_outs;
    if (which < k) got.data = m->outs[which];
    for (int i = 0; i < call->c->n_args && which >= call->c->n_outs; i++)
        if (call->task->params[i].role == KG_INOUT && has_memory(&call->c->args[i]) && k++ == which)
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

static void judge_held(const kg_call *call, const memory *m, tally *sum, bool *caught) {
    const kg_case *c = call->c;
    kg_answer a = {.n = c->n_outs}, lazy = a;
    int64_t elements = 0;
    for (int i = 0; i < c->n_outs; i++) {
        a.out[i] = lazy.out[i] = (kg_view){kg_tensor_parts(&c->outs[i]), m->outs[i]};
        elements += kg_numel(&c->outs[i]);
    }
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

static void judge_case(const kg_task *t, kg_case *c, adapter fn, tally *sum, bool *caught) {
    enum { MOST_CALLS = 8 };
    memory m = {0}, before[MOST_CALLS] = {0};
    kg_call calls[MOST_CALLS] = {0};
    assert_in_range(c->calls, 1, MOST_CALLS);
    int answers = c->n_outs;
    for (int i = 0; i < c->n_args; i++)
        if (has_memory(&c->args[i])) {
            m.args[i] = kg_alloc(kg_span_bytes(&c->args[i].tensor) + 8);
            answers += t->params[i].role == KG_INOUT;
        }
    for (int i = 0; i < c->n_outs; i++)
        m.outs[i] = i == 0 && c->alias_first_out ? m.args[0] : kg_alloc(kg_span_bytes(&c->outs[i]) + 8);
    for (int turn = 0; turn < c->calls; turn++) {
        fill(t, c, &m, turn);
        calls[turn] = (kg_call){.task = t, .c = c, .previous = turn ? &calls[turn - 1] : NULL};
        for (int i = 0; i < c->n_args; i++) {
            if (!has_memory(&c->args[i])) continue;
            before[turn].args[i] = copy_of(m.args[i], kg_span_bytes(&c->args[i].tensor) + 8);
            calls[turn].args[i] = (kg_view){kg_tensor_parts(&c->args[i].tensor), before[turn].args[i]};
        }
        call_skeleton(t, c, &m, fn, turn);
    }
    for (int which = 0; which < answers; which++)
        if (!(t->held >> which & 1)) judge_answer(&calls[c->calls - 1], &m, which, sum, caught);
    if (t->held) judge_held(&calls[c->calls - 1], &m, sum, caught);
    sum->cases++;
    for (int i = 0; i < KG_MAX_ARGS; i++) {
        free(m.args[i]);
        for (int turn = 0; turn < MOST_CALLS; turn++) free(before[turn].args[i]);
    }
    for (int i = c->alias_first_out; i < c->n_outs; i++) free(m.outs[i]);
}

static size_t judge_task(const kg_task *t, const char *folder) {
    void *handle;
    const adapter fn = build(t, folder, &handle);
    kg_cases b;
    kg_error err = {0};
    if (kg_task_cases(t, getenv("KG_TEST_FULL") ? KG_CASES_FULL : KG_CASES_QUICK, &b, &err)) fail_msg("%s", err.text);
    tally sum = {0};
    for (size_t i = 0; i < b.n; i++) {
        bool caught[3] = {0};
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
