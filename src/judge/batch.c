// Batches of timed calls: queued behind a hold, filled, released, clocked.
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/placement.h"
#include "judge/session_private.h"

#define CALIBRATION_CALLS   32
#define CALIBRATION_BATCHES 5
// A candidate that has not enqueued its batch after this long is taken to be waiting for the held queue.
#define HOLD_PATIENCE_S 2.0

typedef enum { BATCH, CALLS_ALONE, EMPTY_CALLS, NOTHING } batch_kind;

// Reads the runner's account of a batch. Every number is untrusted: counts must fit, times must be finite.
static int read_times(const json_t *answer, int calls, kg_batch *out, kg_error *err) {
    const json_t *times = json_object_get(answer, "times");
    if (!json_is_array(times) || json_array_size(times) != (size_t)calls)
        return kg_fail(err, KG_ERR_CANDIDATE, "the runner reported %zu times for %d calls", json_array_size(times),
                       calls);
    out->times = kg_alloc((size_t)calls * sizeof *out->times);
    for (int i = 0; i < calls; i++) {
        out->times[i] = json_number_value(json_array_get(times, (size_t)i));
        if (!isfinite(out->times[i]) || out->times[i] < 0)
            return kg_fail(err, KG_ERR_CANDIDATE, "the runner reported an impossible time for call %d", i);
    }
    double host = json_number_value(json_object_get(answer, "host_s"));
    out->host_s = isfinite(host) && host >= 0 ? host : NAN;
    out->calls = calls;
    return 0;
}

// Releases a queue that will not be used, and takes the answers that still come.
static void abandon(kg_session *s) {
    kg_control_set(&s->control->go, s->seq);
    for (int i = 0; i < 2; i++) {
        json_t *rest = NULL;
        if (kg_session_receive(s, s->o.timeout_s, &rest, NULL)) break;
        bool last = json_object_get(rest, "times") != NULL;
        json_decref(rest);
        if (last) break;
    }
}

// Sends a batch request and waits until it is queued. 1: it is not, because the candidate synchronises.
static int enqueue(kg_session *s, batch_kind kind, int calls, bool held, kg_error *err) {
    const char *op = kind == BATCH || kind == CALLS_ALONE ? "batch" : "calibrate";
    const size_t flush = kind == CALLS_ALONE ? 0 : s->o.flush_bytes;
    s->seq++;
    json_t *request = json_pack("{s:s,s:i,s:i,s:b,s:I,s:b,s:I,s:b}", "op", op, "calls", calls, "first_slot", 0, "held",
                                held, "flush_bytes", (json_int_t)flush, "collect", kind == BATCH, "seq",
                                (json_int_t)s->seq, "nothing", kind == NOTHING);
    kg_error why = {0};
    json_t *answer = NULL;
    bool may_wait = held && s->device->ops->judge_polls;
    double patience = may_wait && s->o.timeout_s > HOLD_PATIENCE_S ? HOLD_PATIENCE_S : s->o.timeout_s;
    int rc = kg_session_ask(s, request, NULL, 0, patience, &answer, &why);
    json_decref(answer);
    if (rc && why.code == KG_ERR_TIMEOUT && may_wait) {
        kg_error_clear(&why);
        abandon(s);
        s->unheld = true;
        return 1;
    }
    if (rc) kg_fail(err, why.code, "%s", why.text);
    kg_error_clear(&why);
    return rc;
}

static bool runner_spoke(const kg_session *s) {
    struct pollfd p = {.fd = s->socket, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

// The last write of a batch. A device's write wakes no futex, so there the word is polled. Ends early when the runner
// says something or dies: the write will not come then. False: it did not come.
static bool wait_done(kg_session *s) {
    double deadline = kg_now() + s->o.timeout_s, look = kg_now() + 0.01;
    const bool polls = s->device->ops->judge_polls;
    for (;;) {
        if (polls ? atomic_load_explicit(&s->control->done, memory_order_acquire) == s->seq
                  : kg_control_wait(&s->control->done, s->seq, 0.05))
            return true;
        double now = kg_now();
        if (now > deadline || kg_interrupted()) return false;
        if (polls && now < look) continue;
        look = now + 0.01;
        // The answer follows the write, so look at the word once more.
        if (runner_spoke(s)) return atomic_load_explicit(&s->control->done, memory_order_acquire) == s->seq;
    }
}

// What our clock sees and the calls' does not: the runner's first thread waits for a processor before them, or we do
// after them.
static double waited_s(const kg_session *s) {
    return kg_waited_seconds(s->pid, s->pid) + kg_waited_seconds(getpid(), gettid());
}

// Opens the gate and clocks until the runner's account of the batch has come. The last write of the queue alone would
// not do: on the CPU the runner's own process makes it, and may make it early.
static int release(kg_session *s, int calls, kg_batch *out, kg_error *err) {
    if (!s->device->ops->judge_polls) kg_placement_hold(s->pid);
    double waited = waited_s(s), crowded = kg_most_waited_seconds(s->pid);
    double start = kg_now();
    // The gate first: nothing of the runner's may run before our clock does.
    kg_control_set(&s->control->go, s->seq);
    kg_session_resume(s);
    bool late = !wait_done(s);
    json_t *answer = NULL;
    // A batch that never ends: the answer will not come either, unless the process died or the call failed.
    int unanswered = kg_session_receive(s, late ? 0.5 : s->o.timeout_s, &answer, err);
    out->judge_s = kg_now() - start;
    out->waited_s = waited_s(s) - waited;
    out->crowded_s = kg_most_waited_seconds(s->pid) - crowded;
    kg_placement_free(s->pid);
    if (unanswered) {
        if (late && err && err->code == KG_ERR_TIMEOUT)
            kg_fail(err, KG_ERR_TIMEOUT, "%d calls did not end within %.3g s", calls, s->o.timeout_s);
        return -1;
    }
    // Still until it is next asked: nothing is finished behind our back while its outputs are looked at.
    kg_session_pause(s);
    int rc = late ? kg_fail(err, KG_ERR_CANDIDATE, "the batch's last write never came")
                  : read_times(answer, calls, out, err);
    json_decref(answer);
    return rc;
}

void kg_session_check_health(kg_session *s, kg_error *err) {
    if (!err || err->code != KG_ERR_CANDIDATE || !s->pid) return;
    kg_error why = {0};
    kg_batch b = {0};
    if (enqueue(s, EMPTY_CALLS, 1, true, &why) || release(s, 1, &b, &why)) {
        char *text = kg_format("%s; after it nothing runs any more: %s", err->text, why.text ? why.text : "no answer");
        kg_fail(err, KG_ERR_DIED, "%s", text);
        free(text);
    }
    kg_batch_free(&b);
    kg_error_clear(&why);
}

static int batch_once(kg_session *s, int calls, uint64_t seed, kg_batch *out, kg_error *err) {
    memset(out, 0, sizeof *out);
    out->held = !s->unheld;
    int rc = enqueue(s, BATCH, calls, !s->unheld, err);
    if (rc) return rc;
    // Values arrive only now, behind the hold: whatever ran before saw the last batch's.
    if (kg_session_fill(s, seed, 0, calls, err)) return -1;
    const kg_device_ops *ops = s->device->ops;
    if (s->o.flush_bytes && ops->evict &&
        (ops->evict(s->in, s->layout.in_bytes, err) || ops->evict(s->out, s->layout.out_bytes, err)))
        return -1;
    return release(s, calls, out, err);
}

int kg_session_batch(kg_session *s, int calls, uint64_t seed, kg_batch *out, kg_error *err) {
    int rc = batch_once(s, calls, seed, out, err);
    if (rc == 1) rc = batch_once(s, calls, seed, out, err);  // unheld from now on
    if (rc == 0) return 0;
    kg_batch_free(out);
    kg_session_check_health(s, err);
    return -1;
}

int kg_session_rerun(kg_session *s, int calls, kg_error *err) {
    kg_batch b = {0};
    int rc = enqueue(s, CALLS_ALONE, calls, !s->unheld, err);
    if (rc == 1) rc = enqueue(s, CALLS_ALONE, calls, false, err);
    if (!rc) rc = release(s, calls, &b, err);
    kg_batch_free(&b);
    return rc ? -1 : 0;
}

void kg_batch_free(kg_batch *b) {
    free(b->times);
    b->times = NULL;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, ascending);
    return v[n / 2];
}

// What the judge does to the device between `enqueued` and the release, it does here too: when another process used
// the device last, the queue starts later, and our clock sees that.
static int touch(kg_session *s, kg_error *err) {
    const kg_fill zero = {.kind = KG_FILL_ZERO};
    kg_arena_info in = s->device->ops->arena_info(s->in);
    kg_extent e = {0, KG_U8, (int64_t)(in.bytes < 4096 ? in.bytes : 4096)};
    kg_session_pause(s);
    return s->device->ops->fill(s->in, e, &zero, 0, err) || s->device->ops->finish(s->device, err) ? -1 : 0;
}

// Medians over several batches of `calls` calls: the judge's clock, and the runner's time of one call.
static int calibrate_size(kg_session *s, batch_kind kind, int calls, double *judge_s, double *event_s, kg_error *err) {
    double judge[CALIBRATION_BATCHES], event[CALIBRATION_BATCHES * CALIBRATION_CALLS];
    int events = 0;
    for (int i = 0; i < CALIBRATION_BATCHES; i++) {
        kg_batch b = {0};
        if (enqueue(s, kind, calls, true, err) || touch(s, err) || release(s, calls, &b, err)) {
            kg_batch_free(&b);
            return -1;
        }
        judge[i] = b.judge_s;
        for (int k = 0; k < calls; k++) event[events++] = b.times[k];
        kg_batch_free(&b);
    }
    *judge_s = median(judge, CALIBRATION_BATCHES);
    *event_s = median(event, events);
    return 0;
}

int kg_session_calibrate(kg_session *s, kg_error *err) {
    double one, many, unused;
    if (calibrate_size(s, NOTHING, CALIBRATION_CALLS, &many, &s->event_s, err) ||
        calibrate_size(s, EMPTY_CALLS, 1, &one, &unused, err) ||
        calibrate_size(s, EMPTY_CALLS, CALIBRATION_CALLS, &many, &s->empty_s, err))
        return -1;
    s->call_overhead_s = (many - one) / (CALIBRATION_CALLS - 1);
    if (s->call_overhead_s < 0) s->call_overhead_s = 0;
    s->batch_overhead_s = one - s->call_overhead_s > 0 ? one - s->call_overhead_s : 0;
    return 0;
}

kg_overhead kg_session_overhead(const kg_session *s) {
    return (kg_overhead){s->call_overhead_s, s->batch_overhead_s, s->event_s, s->empty_s};
}
