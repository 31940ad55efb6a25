#include "judge/session.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/check.h"
#include "judge/cputime.h"
#include "judge/layout.h"
#include "measure/measure.h"
#include "runner/protocol.h"

#define CALIBRATION_CALLS   32
#define CALIBRATION_BATCHES 5
// A candidate that has not enqueued its batch after this long is taken to be waiting for the held queue.
#define HOLD_PATIENCE_S 2.0

struct kg_session {
    kg_launcher *launcher;
    kg_device *device;
    bool python, native;
    kg_session_options o;
    char *scratch, *sandbox, *entry;
    int socket, pid;
    kg_control *control;
    int control_fd;
    kg_arena *in, *out;
    const kg_task *task;
    const kg_case *c;
    kg_layout layout;
    uint32_t seq;
    bool unheld;  // for good: the candidate synchronises
    bool paused;
    double call_overhead_s;   // judge's clock, per empty call
    double batch_overhead_s;  // judge's clock, per empty batch
    double event_s;           // what the runner's own timing adds to a call
    double empty_s;           // a call of a kernel that does nothing, so timed
};

// ---- conversation --------------------------------------------------------------------------------

static int died(kg_session *s, kg_error *err) {
    char *how = kg_launcher_reap(s->launcher, s->pid, true);
    s->pid = 0;
    kg_fail(err, KG_ERR_DIED, "the candidate's process ended: %s", how ? how : "unknown");
    free(how);
    return -1;
}

static int receive(kg_session *s, double timeout_s, json_t **answer, kg_error *err) {
    kg_error why = {0};
    kg_packet packet;
    *answer = NULL;
    if (kg_packet_receive(s->socket, timeout_s, &packet, &why) == 0) {
        *answer = json_incref(packet.json);
        kg_packet_free(&packet);
        if (json_is_true(json_object_get(*answer, "ok"))) return 0;
        const char *text = json_string_value(json_object_get(*answer, "error"));
        const char *fault = json_string_value(json_object_get(*answer, "fault"));
        // Once a candidate is in the process, the blame it shifts is its own.
        bool ours = fault && strcmp(fault, "runner") == 0 && !s->task;
        kg_code code = ours ? KG_ERR_CANNOT : KG_ERR_CANDIDATE;
        kg_fail(err, code, "%s", text ? text : "the runner refused without saying why");
        json_decref(*answer);
        *answer = NULL;
        return -1;
    }
    int rc = -1;
    if (why.code == KG_ERR_DIED) rc = died(s, err);
    else if (why.code == KG_ERR_TIMEOUT) kg_fail(err, KG_ERR_TIMEOUT, "no answer within %.3g s", timeout_s);
    else kg_fail(err, why.code, "%s", why.text);
    kg_error_clear(&why);
    return rc;
}

// The whole process group, so that spinning threads and children stop too.
void kg_session_pause(kg_session *s) {
    if (s->pid && !s->paused) s->paused = kill(-s->pid, SIGSTOP) == 0;
}

static void resume(kg_session *s) {
    if (s->paused && s->pid) kill(-s->pid, SIGCONT);
    s->paused = false;
}

static int ask(kg_session *s, json_t *request, const int *fds, int n, double timeout_s, json_t **answer,
               kg_error *err) {
    if (answer) *answer = NULL;
    if (!s->pid) {
        json_decref(request);
        return kg_fail(err, KG_ERR_DIED, "the candidate's process has ended");
    }
    resume(s);
    kg_error why = {0};
    int rc = kg_packet_send(s->socket, request, fds, n, timeout_s, &why);
    json_decref(request);
    if (rc) {
        if (why.code == KG_ERR_DIED) died(s, err);
        else kg_fail(err, why.code, "%s", why.text);
        kg_error_clear(&why);
        return -1;
    }
    json_t *reply = NULL;
    if (receive(s, timeout_s, &reply, err)) return -1;
    if (answer) *answer = reply;
    else json_decref(reply);
    return 0;
}

// ---- opening and closing ---------------------------------------------------------------------------

static int make_scratch(kg_session *s, kg_error *err) {
    const char *tmp = getenv("TMPDIR");
    s->scratch = kg_format("%s/kgate-run-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(s->scratch)) return 0;
    int rc = kg_fail(err, KG_ERR_CANNOT, "cannot make a scratch folder %s: %s; set TMPDIR to a writable folder",
                     s->scratch, strerror(errno));
    free(s->scratch);
    s->scratch = NULL;
    return rc;
}

static int hello(kg_session *s, kg_error *err) {
    json_t *request = json_pack("{s:s,s:i,s:s,s:i,s:s}", "op", "hello", "version", KG_PROTOCOL_VERSION, "device",
                                s->device->ops->kind, "ordinal", s->device->ordinal, "scratch", s->scratch);
    json_t *answer;
    if (ask(s, request, &s->control_fd, 1, s->o.timeout_s < 30 ? 30 : s->o.timeout_s, &answer, err)) return -1;
    json_t *sandbox = json_object_get(answer, "sandbox");
    s->sandbox = json_is_array(sandbox) ? json_dumps(sandbox, JSON_COMPACT) : kg_strdup("[]");
    json_decref(answer);
    return 0;
}

int kg_session_open(kg_launcher *l, kg_device *d, bool python, const kg_session_options *o, kg_session **out,
                    kg_error *err) {
    kg_session *s = kg_alloc(sizeof *s);
    s->launcher = l;
    s->device = d;
    s->python = python;
    s->o = *o;
    s->socket = s->control_fd = -1;
    if (make_scratch(s, err) || kg_control_create(&s->control_fd, &s->control, err) ||
        kg_launcher_spawn(l, python, s->scratch, &s->socket, &s->pid, err) || hello(s, err)) {
        kg_session_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

void kg_session_close(kg_session *s) {
    if (!s) return;
    if (s->pid) {
        json_t *bye = json_pack("{s:s}", "op", "bye");
        kg_packet_send(s->socket, bye, NULL, 0, 1.0, NULL);
        json_decref(bye);
        free(kg_launcher_reap(s->launcher, s->pid, true));
    }
    if (s->in) s->device->ops->arena_destroy(s->in);
    if (s->out) s->device->ops->arena_destroy(s->out);
    if (s->control) kg_control_destroy(s->control_fd, s->control);
    if (s->socket >= 0) close(s->socket);
    if (s->scratch) nftw(s->scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(s->scratch);
    free(s->sandbox);
    free(s->entry);
    free(s);
}

const char *kg_session_sandbox(const kg_session *s) { return s->sandbox; }
const char *kg_session_entry(const kg_session *s) { return s->entry; }
const char *kg_session_scratch(const kg_session *s) { return s->scratch; }
bool kg_session_is_python(const kg_session *s) { return s->python; }
bool kg_session_alive(const kg_session *s) { return s->pid != 0; }
bool kg_session_synchronises(const kg_session *s) { return s->unheld; }

int kg_session_arenas(kg_session *s, size_t in_bytes, size_t out_bytes, kg_error *err) {
    const kg_device_ops *ops = s->device->ops;
    if (s->in) ops->arena_destroy(s->in);
    if (s->out) ops->arena_destroy(s->out);
    s->in = s->out = NULL;
    // An arena is never empty, so that a task without inputs needs no special case.
    if (ops->arena_create(s->device, in_bytes ? in_bytes : 512, false, &s->in, err) ||
        ops->arena_create(s->device, out_bytes ? out_bytes : 512, true, &s->out, err))
        return -1;
    kg_arena_info in = ops->arena_info(s->in), out = ops->arena_info(s->out);
    int fds[2] = {in.fd, out.fd};
    json_t *request = json_pack("{s:s,s:I,s:I}", "op", "arenas", "in_bytes", (json_int_t)in.bytes, "out_bytes",
                                (json_int_t)out.bytes);
    return ask(s, request, fds, 2, s->o.timeout_s, NULL, err);
}

// ---- loading -----------------------------------------------------------------------------------------

int kg_session_load(kg_session *s, const kg_task *t, const char *language, const char *artifact, const char *entry,
                    const char *launch, bool host_entry, kg_error *err) {
    s->task = t;
    s->native = !s->python;
    json_t *request = json_pack("{s:s,s:s,s:s,s:s,s:s?,s:s?,s:b,s:s}", "op", "load", "language", language, "path",
                                artifact, "task", t->name, "entry", entry, "launch", launch, "host_entry", host_entry,
                                "convention", t->convention == KG_CALL_OPTIMIZER ? "optimizer" : "function");
    if (!request) return kg_fail(err, KG_ERR_CANDIDATE, "its path, entry or launch line is not valid UTF-8: rename it");
    json_t *answer;
    if (ask(s, request, NULL, 0, s->o.timeout_s, &answer, err)) return -1;
    const char *found = json_string_value(json_object_get(answer, "entry"));
    free(s->entry);
    s->entry = found ? kg_strdup(found) : NULL;
    json_decref(answer);
    return 0;
}

// ---- cases -------------------------------------------------------------------------------------------

int kg_session_case(kg_session *s, const kg_case *c, int *slots, size_t memory_limit, kg_error *err) {
    s->c = c;
    s->layout = kg_layout_make(s->task, c, *slots, memory_limit);
    if (s->layout.slots < 1)
        return kg_fail(err, KG_ERR_MEMORY, "case %s does not fit in %zu MiB", c->name, memory_limit >> 20);
    kg_arena_info in = s->device->ops->arena_info(s->in), out = s->device->ops->arena_info(s->out);
    if (s->layout.in_bytes > in.bytes || s->layout.out_bytes > out.bytes)
        return kg_fail(err, KG_ERR_INTERNAL, "case %s is larger than the session's memory", c->name);
    *slots = s->layout.slots;
    // Guards hold the byte pattern from here on; outputs get their own poison before every call.
    kg_extent whole = {0, KG_U8, (int64_t)s->layout.out_bytes};
    kg_fill poison = {.kind = KG_FILL_POISON};
    if (whole.count && s->device->ops->fill(s->out, whole, &poison, 0, err)) return -1;
    if (s->device->ops->finish(s->device, err)) return -1;
    json_t *described = kg_case_to_json(s->task, c, &s->layout);
    if (!described) return kg_fail(err, KG_ERR_INTERNAL, "case %s cannot be written as JSON", c->name);
    return ask(s, json_pack("{s:s,s:o}", "op", "case", "case", described), NULL, 0, s->o.timeout_s, NULL, err);
}

static int fill_place(kg_session *s, const kg_place *p, int slot, const kg_fill *f, uint64_t seed, kg_error *err) {
    if (!p->count) return 0;
    return s->device->ops->fill(p->writable ? s->out : s->in, kg_place_extent(p, slot), f, seed, err);
}

static int fill_slot(kg_session *s, uint64_t seed, int slot, kg_error *err) {
    const kg_fill poison = {.kind = KG_FILL_POISON};
    for (int i = 0; i < s->c->n_args; i++) {
        const kg_place *p = &s->layout.args[i];
        if (!p->present || s->task->params[i].role == KG_STATE) continue;
        const kg_fill *f = p->input ? &s->c->args[i].fill : &poison;
        if (fill_place(s, p, slot, f, kg_tensor_seed(seed, slot, i), err)) return -1;
    }
    for (int i = 0; i < s->c->n_outs; i++)
        if (s->layout.outs[i].present && fill_place(s, &s->layout.outs[i], slot, &poison, 0, err)) return -1;
    return 0;
}

int kg_session_fill(kg_session *s, uint64_t seed, int first, int n, kg_error *err) {
    kg_session_pause(s);  // no thread of the candidate sees values before it is called on them
    for (int slot = first; slot < first + n; slot++)
        if (fill_slot(s, seed, slot, err)) return -1;
    return s->device->ops->finish(s->device, err);
}

int kg_session_reset_state(kg_session *s, kg_error *err) {
    const kg_fill zero = {.kind = KG_FILL_ZERO};
    for (int i = 0; i < s->c->n_args; i++)
        for (int slot = 0; s->layout.args[i].present && s->task->params[i].role == KG_STATE && slot < s->layout.slots;
             slot++)
            if (fill_place(s, &s->layout.args[i], slot, &zero, 0, err)) return -1;
    if (s->device->ops->finish(s->device, err)) return -1;
    json_t *described = kg_case_to_json(s->task, s->c, &s->layout);
    return ask(s, json_pack("{s:s,s:o}", "op", "case", "case", described), NULL, 0, s->o.timeout_s, NULL, err);
}

typedef enum { BATCH, EMPTY_CALLS, NOTHING } batch_kind;
static int enqueue(kg_session *s, batch_kind kind, int calls, bool held, kg_error *err);
static int release(kg_session *s, int calls, kg_batch *out, kg_error *err);

// After a failed call: does an empty one still go through? A broken device context answers nothing any more, and then
// the session is as good as dead.
static void check_health(kg_session *s, kg_error *err) {
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

int kg_session_call(kg_session *s, int slot, int n, kg_error *err) {
    json_t *request = json_pack("{s:s,s:i,s:i}", "op", "call", "slot", slot, "n", n);
    if (ask(s, request, NULL, 0, s->o.timeout_s, NULL, err) == 0) return 0;
    check_health(s, err);
    return -1;
}

int kg_session_check(kg_session *s, const uint64_t *seeds, int n_seeds, int slot, bool full, kg_check *out,
                     kg_error *err) {
    kg_session_pause(s);
    kg_check_request r = {s->task, s->c, &s->layout, s->in, s->out, slot, seeds, n_seeds, s->native, full};
    return kg_check_outputs(&r, out, err);
}

// ---- batches -----------------------------------------------------------------------------------------

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
        if (receive(s, s->o.timeout_s, &rest, NULL)) break;
        bool last = json_object_get(rest, "times") != NULL;
        json_decref(rest);
        if (last) break;
    }
}

// Sends a batch request and waits until it is queued. 1: it is not, because the candidate synchronises.
static int enqueue(kg_session *s, batch_kind kind, int calls, bool held, kg_error *err) {
    const char *op = kind == BATCH ? "batch" : "calibrate";
    s->seq++;
    json_t *request = json_pack("{s:s,s:i,s:i,s:b,s:I,s:b,s:I,s:b}", "op", op, "calls", calls, "first_slot", 0, "held",
                                held, "flush_bytes", (json_int_t)s->o.flush_bytes, "collect", kind == BATCH, "seq",
                                (json_int_t)s->seq, "nothing", kind == NOTHING);
    kg_error why = {0};
    json_t *answer = NULL;
    bool may_wait = held && s->device->ops->judge_polls;
    double patience = may_wait && s->o.timeout_s > HOLD_PATIENCE_S ? HOLD_PATIENCE_S : s->o.timeout_s;
    int rc = ask(s, request, NULL, 0, patience, &answer, &why);
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
        if (now > deadline) return false;
        if (polls && now < look) continue;
        look = now + 0.01;
        // The answer follows the write, so look at the word once more.
        if (runner_spoke(s)) return atomic_load_explicit(&s->control->done, memory_order_acquire) == s->seq;
    }
}

// Opens the gate and clocks until the runner's account of the batch has come. The last write of the queue alone would
// not do: on the CPU the runner's own process makes it, and may make it early.
static int release(kg_session *s, int calls, kg_batch *out, kg_error *err) {
    double cpu = kg_cpu_seconds(s->pid), pressure = kg_cpu_pressure_seconds();
    resume(s);
    double start = kg_now();
    kg_control_set(&s->control->go, s->seq);
    bool late = !wait_done(s);
    json_t *answer = NULL;
    // A batch that never ends: the answer will not come either, unless the process died or the call failed.
    if (receive(s, late ? 0.5 : s->o.timeout_s, &answer, err)) {
        if (late && err && err->code == KG_ERR_TIMEOUT)
            kg_fail(err, KG_ERR_TIMEOUT, "%d calls did not end within %.3g s", calls, s->o.timeout_s);
        return -1;
    }
    out->judge_s = kg_now() - start;
    out->cpu_s = kg_cpu_seconds(s->pid) - cpu;
    out->pressure_s = kg_cpu_pressure_seconds() - pressure;
    // Still until it is next asked: nothing is finished behind our back while its outputs are looked at.
    kg_session_pause(s);
    int rc = late ? kg_fail(err, KG_ERR_CANDIDATE, "the batch's last write never came")
                  : read_times(answer, calls, out, err);
    json_decref(answer);
    return rc;
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
    check_health(s, err);
    return -1;
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
