// Each case is called once as a warm-up and once behind a hold with other values, as a session does it: a library that
// waits for the device in a call hangs here, and the alarm says so.
#include "cuda_baselines.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "../unit/run_case.h"
#include "runner/cuda/cuda_rt.h"

#define SLOTS     2
#define ALIGN     512  // as the judge lays out
#define PATIENCE  120  // seconds a task may take
#define MOST_WORK 3e8  // of the oracle, on one timed case

typedef struct {
    kg_rt *rt;
    const kg_cuda_api *api;
    kg_control *control;
    uint32_t seq;
    void *self;
    bool tf32;
    int right, refused, wrong;
} bench;

static void hung(int signal) {
    static const char text[] = "FAIL  a call waited for the device behind the hold, or took too long\n";
    (void)signal;
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}

// ---- device memory --------------------------------------------------------------------------------
static int make_room(const bench *b, kg_run_tensor *t, kg_error *err) {
    kcu_ptr p = 0;
    t->slot_stride = (kg_span_bytes(&t->desc) + ALIGN) / ALIGN * ALIGN;
    if (kg_cuda_check(b->api, b->api->MemAlloc(&p, SLOTS * t->slot_stride), KG_ERR_MEMORY, "room for a tensor", err))
        return -1;
    t->base = (void *)(uintptr_t)p;
    return 0;
}

static int upload(const bench *b, const kg_run_tensor *t, int slot, const void *from, kg_error *err) {
    const kcu_ptr to = (uintptr_t)t->base + (size_t)slot * t->slot_stride;
    const size_t bytes = kg_span_bytes(&t->desc);
    if (bytes == 0) return 0;
    if (kg_cuda_check(b->api, b->api->MemcpyHtoDAsync(to, from, bytes, NULL), KG_ERR_CANNOT, "uploading", err))
        return -1;
    return b->rt->ops->sync(b->rt, err);
}

static int download(const bench *b, const kg_run_tensor *t, int slot, void *to, kg_error *err) {
    const kcu_ptr from = (uintptr_t)t->base + (size_t)slot * t->slot_stride;
    if (kg_cuda_check(b->api, b->api->MemcpyDtoHAsync(to, from, kg_span_bytes(&t->desc), NULL), KG_ERR_CANNOT,
                      "downloading", err))
        return -1;
    return b->rt->ops->sync(b->rt, err);
}

// Slot 0 gets values that nobody looks at, the last slot those of the call that is judged.
static int fill(const bench *b, const kg_case *c, kg_run_case *r, kg_call *call, kg_error *err) {
    for (int i = 0; i < c->n_args; i++) {
        const kg_arg *a = &c->args[i];
        if (!is_tensor(a)) continue;
        void *decoy = stored(&a->tensor, &a->fill, (uint64_t)i + 100);
        call->args[i] = (kg_view){a->tensor, stored(&a->tensor, &a->fill, (uint64_t)i + 5)};
        int failed = make_room(b, &r->args[i].tensor, err) || upload(b, &r->args[i].tensor, 0, decoy, err) ||
                     upload(b, &r->args[i].tensor, SLOTS - 1, call->args[i].data, err);
        free(decoy);
        if (failed) return -1;
    }
    void *poison = stored(&c->outs[0], &(kg_fill){.kind = KG_FILL_POISON}, 0);
    int failed = make_room(b, &r->outs[0], err);
    for (int slot = 0; slot < SLOTS && !failed; slot++) failed = upload(b, &r->outs[0], slot, poison, err);
    free(poison);
    return failed ? -1 : 0;
}

static void release(const bench *b, kg_run_case *r, kg_call *call) {
    for (int i = 0; i < r->n_args; i++) {
        free((void *)call->args[i].data);
        if (r->args[i].tensor.base) b->api->MemFree((uintptr_t)r->args[i].tensor.base);
    }
    if (r->outs[0].base) b->api->MemFree((uintptr_t)r->outs[0].base);
}

// ---- judging --------------------------------------------------------------------------------------
static int held_call(bench *b, kg_error *err) {
    const kg_rt_ops *ops = b->rt->ops;
    double seconds;
    if (kg_baseline_loader.call(b->self, 0, err) || ops->sync(b->rt, err)) return -1;
    if (ops->begin(b->rt, 1, ++b->seq, true, 0, err)) return -1;
    int failed =
        ops->before(b->rt, 0, err) || kg_baseline_loader.call(b->self, SLOTS - 1, err) || ops->after(b->rt, 0, err);
    if (ops->end(b->rt, b->seq, failed ? NULL : err)) failed = -1;
    atomic_store(&b->control->go, b->seq);
    return failed || ops->times(b->rt, 1, &seconds, err) ? -1 : 0;
}

static kg_precision wanted(const bench *b, const kg_task *t, kg_dtype d) {
    if (d == KG_F64) return KG_PREC_FP64;
    if (d != KG_F32) return KG_PREC_FP16;
    // Winograd's transforms may cost a convolution some bits; a product has no such excuse.
    return b->tf32 || strcmp(t->cuda_baseline, "cublaslt") ? t->lowest : KG_PREC_FP32;
}

static void judge_case(bench *b, const kg_task *t, const kg_case *c, bool may_refuse) {
    kg_call call = {.task = t, .c = c};
    kg_error err = {0};
    if (has_specials(c) || kg_numel(&c->outs[0]) == 0) return;
    kg_run_case r = run_case(t, c, SLOTS);
    int failed = fill(b, c, &r, &call, &err);
    const bool refused = !failed && kg_baseline_loader.prepare(b->self, &r, &err);
    if (refused && may_refuse) {
        b->refused++;
        printf("      \"%s\": %s\n", c->name, err.text);
    } else {
        void *got = calloc(1, kg_span_bytes(&c->outs[0]) + 1);
        failed = failed || refused || held_call(b, &err) || download(b, &r.outs[0], SLOTS - 1, got, &err);
        const kg_precision p = failed ? KG_PREC_NONE : answer_rung(&call, got), least = wanted(b, t, c->outs[0].dtype);
        b->right += p <= least, b->wrong += p > least;
        if (p > least) printf("      \"%s\": %s\n", c->name, failed ? err.text : kg_precision_name(p));
        free(got);
    }
    kg_error_clear(&err);
    release(b, &r, &call);
}

static int judge_level(bench *b, const kg_task *t, kg_case_level level) {
    kg_cases list;
    if (kg_task_cases(t, level, &list, NULL)) return -1;
    for (size_t i = 0; i < list.n; i++) {
        const kg_case *c = &list.items[i];
        const bool timed = level == KG_TIMED_CUDA;
        if (kg_case_is_large(c)) continue;  // whole outputs are compared here
        if (timed && (double)kg_numel(&c->outs[0]) * t->reach(t, c) > MOST_WORK) continue;
        judge_case(b, t, c, !timed);
    }
    kg_cases_free(&list);
    return 0;
}

// Number of failures.
static int judge_task(bench *b, const kg_task *t, bool tf32) {
    const kg_load_request request = {
        .language = "baseline", .path = t->cuda_baseline, .entry = tf32 ? "tf32:" : "", .task = t->name, .rt = b->rt};
    kg_error err = {0};
    char *entry = NULL;
    b->tf32 = tf32;
    b->right = b->wrong = b->refused = 0;
    alarm(PATIENCE);
    if (kg_baseline_loader.load(&request, &b->self, &entry, &err)) {
        printf("FAIL  %s: %s\n", t->name, err.text);
        kg_error_clear(&err);
        return 1;
    }
    free(entry);
    // The full level holds the quick one.
    int failed = judge_level(b, t, KG_CASES_FULL) || judge_level(b, t, KG_TIMED_CUDA);
    kg_baseline_loader.unload(b->self);
    alarm(0);
    failed = failed || b->wrong || b->right == 0;
    printf("%s  %-12s %-8s %-4s: %d right, %d wrong, %d refused\n", failed ? "FAIL" : "ok  ", t->name, t->cuda_baseline,
           tf32 ? "tf32" : "", b->right, b->wrong, b->refused);
    fflush(stdout);
    return failed;
}

int cuda_baselines(void) {
    bench b = {0};
    kg_error err = {0};
    int page = -1, failures = 0;
    if (kg_control_create(&page, &b.control, &err) || kg_cuda_rt_ops.open(0, b.control, &b.rt, &err)) {
        printf("no CUDA device here: %s\n", err.text);
        kg_error_clear(&err);
        return -1;
    }
    b.api = kg_cuda_rt_api(b.rt);
    signal(SIGALRM, hung);
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        if (!t->cuda_baseline) continue;
        failures += judge_task(&b, t, false);
        if (t->lowest == KG_PREC_TF32) failures += judge_task(&b, t, true);
    }
    b.rt->ops->close(b.rt);
    kg_control_destroy(page, b.control);
    return failures;
}
