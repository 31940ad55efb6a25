#include "judge/placement.h"
#include "judge/session_private.h"

// Stopped threads are waited for that long: one in the middle of a system call may take its time.
#define STOP_S 0.05

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/check.h"

// ---- conversation --------------------------------------------------------------------------------

static int died(kg_session *s, kg_error *err) {
    char *how = kg_launcher_reap(s->launcher, s->pid, true);
    s->pid = 0;
    s->killed = how && strcmp(how, "killed by SIGKILL") == 0;
    kg_fail(err, KG_ERR_DIED, "the candidate's process ended: %s", how ? how : "unknown");
    free(how);
    return -1;
}

int kg_session_receive(kg_session *s, double timeout_s, json_t **answer, kg_error *err) {
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
        s->wrong_result = fault && strcmp(fault, "result") == 0;
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
    if (!s->pid || s->paused) return;
    s->paused = kill(-s->pid, SIGSTOP) == 0;
    kg_wait_stopped(s->pid, STOP_S);
    s->paused_at = kg_now();
    s->worked_at = kg_worked_seconds(s->pid);
}

int kg_session_ran_paused(const kg_session *s) { return s->ran_paused; }
double kg_session_worked(const kg_session *s) {
    const bool all = !s->python && s->sandbox && strstr(s->sandbox, "\"seccomp\"");
    return all ? kg_worked_seconds(s->pid) : NAN;
}
bool kg_session_wrong_result(const kg_session *s) { return s->wrong_result; }

// A virtual machine's own pauses may be counted as its threads' work, so a little is nobody's doing.
static void look_at_pause(kg_session *s) {
    double ran = kg_worked_seconds(s->pid) - s->worked_at;
    s->ran_paused += ran > 10e-3 && ran > 0.5 * (kg_now() - s->paused_at);
}

void kg_session_resume(kg_session *s) {
    if (s->paused && s->pid) {
        look_at_pause(s);
        kill(-s->pid, SIGCONT);
    }
    s->paused = false;
}

int kg_session_ask(kg_session *s, json_t *request, const int *fds, int n, double timeout_s, json_t **answer,
                   kg_error *err) {
    if (answer) *answer = NULL;
    if (!s->pid) {
        json_decref(request);
        return kg_fail(err, KG_ERR_DIED, "the candidate's process has ended");
    }
    kg_session_resume(s);
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
    if (kg_session_receive(s, timeout_s, &reply, err)) return -1;
    if (answer) *answer = reply;
    else json_decref(reply);
    return 0;
}

// ---- opening and closing ---------------------------------------------------------------------------

static int hello(kg_session *s, kg_error *err) {
    // Of a GPU's driver nobody knows what it starts.
    const bool cpu = strcmp(s->device->ops->kind, "cpu") == 0, processes = s->python || !cpu;
    json_t *request = json_pack("{s:s,s:i,s:s,s:i,s:s,s:b}", "op", "hello", "version", KG_PROTOCOL_VERSION, "device",
                                s->device->ops->kind, "ordinal", s->device->ordinal, "scratch", s->scratch.path,
                                "processes", processes);
    json_t *answer;
    if (kg_session_ask(s, request, &s->control_fd, 1, s->o.timeout_s < 30 ? 30 : s->o.timeout_s, &answer, err))
        return -1;
    json_t *sandbox = json_object_get(answer, "sandbox");
    s->sandbox = json_is_array(sandbox) ? json_dumps(sandbox, JSON_COMPACT) : kg_strdup("[]");
    json_decref(answer);
    kg_placement_free(s->pid);
    return 0;
}

int kg_session_open(kg_launcher *l, kg_device *d, bool python, const kg_session_options *o, kg_session **out,
                    kg_error *err) {
    kg_session *s = kg_alloc(sizeof *s);
    s->launcher = l;
    s->device = d;
    s->python = python;
    s->o = *o;
    s->socket = s->control_fd = s->scratch.lock = -1;
    if (kg_scratch_make(&s->scratch, err) || kg_control_create(&s->control_fd, &s->control, err) ||
        kg_launcher_spawn(l, python, s->scratch.path, &s->socket, &s->pid, err) || hello(s, err)) {
        kg_session_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

static void drop_arenas(kg_session *s) {
    if (s->in && !s->borrowed) s->device->ops->arena_destroy(s->in);
    if (s->out && !s->borrowed) s->device->ops->arena_destroy(s->out);
    s->in = s->out = NULL;
    s->borrowed = false;
}

void kg_session_close(kg_session *s) {
    if (!s) return;
    if (s->pid) {
        json_t *bye = json_pack("{s:s}", "op", "bye");
        kg_packet_send(s->socket, bye, NULL, 0, 1.0, NULL);
        json_decref(bye);
        free(kg_launcher_reap(s->launcher, s->pid, true));
    }
    drop_arenas(s);
    if (s->control) kg_control_destroy(s->control_fd, s->control);
    if (s->socket >= 0) close(s->socket);
    kg_scratch_remove(&s->scratch);
    free(s->sandbox);
    free(s->entry);
    free(s);
}

const char *kg_session_sandbox(const kg_session *s) { return s->sandbox; }
const char *kg_session_entry(const kg_session *s) { return s->entry; }
const char *kg_session_scratch(const kg_session *s) { return s->scratch.path; }
bool kg_session_is_python(const kg_session *s) { return s->python; }
bool kg_session_alive(const kg_session *s) { return s->pid != 0; }
bool kg_session_killed(const kg_session *s) { return s->killed; }
bool kg_session_synchronises(const kg_session *s) { return s->unheld; }

static int map_arenas(kg_session *s, kg_error *err) {
    const kg_device_ops *ops = s->device->ops;
    kg_arena_info in = ops->arena_info(s->in), out = ops->arena_info(s->out);
    int fds[2] = {in.fd, out.fd};
    json_t *request = json_pack("{s:s,s:I,s:I}", "op", "arenas", "in_bytes", (json_int_t)in.bytes, "out_bytes",
                                (json_int_t)out.bytes);
    return kg_session_ask(s, request, fds, 2, s->o.timeout_s, NULL, err);
}

int kg_session_arenas(kg_session *s, size_t in_bytes, size_t out_bytes, kg_error *err) {
    const kg_device_ops *ops = s->device->ops;
    drop_arenas(s);
    // An arena is never empty, so that a task without inputs needs no special case.
    if (ops->arena_create(s->device, in_bytes ? in_bytes : 512, false, &s->in, err) ||
        ops->arena_create(s->device, out_bytes ? out_bytes : 512, true, &s->out, err))
        return -1;
    return map_arenas(s, err);
}

int kg_session_share(kg_session *s, kg_session *of, kg_error *err) {
    drop_arenas(s);
    s->in = of->in;
    s->out = of->out;
    s->borrowed = true;
    return map_arenas(s, err);
}

// ---- loading -----------------------------------------------------------------------------------------

int kg_session_load(kg_session *s, const kg_task *t, const char *language, const char *artifact, const char *entry,
                    const char *launch, bool host_entry, kg_error *err) {
    s->task = t;
    s->native = !s->python;
    char *function = kg_task_function(t);
    json_t *request =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s?,s:s?,s:b,s:s}", "op", "load", "language", language, "path", artifact,
                  "task", t->name, "function", function, "entry", entry, "launch", launch, "host_entry", host_entry,
                  "convention", t->convention == KG_CALL_OPTIMIZER ? "optimizer" : "function");
    free(function);
    if (!request) return kg_fail(err, KG_ERR_CANDIDATE, "its path, entry or launch line is not valid UTF-8: rename it");
    json_t *answer;
    if (kg_session_ask(s, request, NULL, 0, s->o.timeout_s, &answer, err)) return -1;
    const char *found = json_string_value(json_object_get(answer, "entry"));
    free(s->entry);
    s->entry = found ? kg_strdup(found) : NULL;
    kg_placement_free(s->pid);
    json_decref(answer);
    return 0;
}

// ---- cases -------------------------------------------------------------------------------------------

// The case in the runner's words. What a random kernel gets as its seed follows from the run's seed and the case's
// name, so that a case looked at again behaves as before; the runner makes another of it for every call.
static json_t *describe(const kg_session *s) {
    json_t *o = kg_case_to_json(s->task, s->c, &s->layout);
    uint64_t h = 0;
    for (const char *p = s->c->name; *p; p++) h = h * 0x100000001b3u + (unsigned char)*p;
    const kg_philox r = kg_philox4x32(s->o.seed, h, UINT64_MAX);
    const uint64_t seed = ((uint64_t)r.v[0] << 32 | r.v[1]) >> 1;
    for (int i = 0; o && i < s->c->n_args; i++)
        if (kg_is_seed(&s->task->params[i]))
            json_object_set_new(json_array_get(json_object_get(o, "args"), (size_t)i), "value",
                                json_integer((json_int_t)seed));
    return o;
}

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
    json_t *described = describe(s);
    if (!described) return kg_fail(err, KG_ERR_INTERNAL, "case %s cannot be written as JSON", c->name);
    return kg_session_ask(s, json_pack("{s:s,s:o}", "op", "case", "case", described), NULL, 0, s->o.timeout_s, NULL,
                          err);
}

// Values of an input whose few elements lie far apart.
static int fill_sparse(kg_session *s, const kg_place *p, int slot, const kg_arg *a, uint64_t seed, kg_error *err) {
    const kg_tensor t = kg_tensor_parts(&a->tensor);
    const size_t n = (size_t)kg_numel(&t);
    int64_t *index = kg_alloc(n * sizeof *index);
    for (size_t i = 0; i < n; i++) index[i] = kg_offset(&t, (int64_t)i);
    const int rc = s->device->ops->fill_at(s->in, kg_place_extent(p, slot), n, index, &a->fill, seed, err);
    free(index);
    return rc;
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
        const kg_arg *a = &s->c->args[i];
        const uint64_t own = kg_tensor_seed(seed, slot, i);
        const bool sparse = p->input && !p->writable && s->device->ops->fill_at && kg_is_sparse(&a->tensor);
        if (sparse ? fill_sparse(s, p, slot, a, own, err)
                   : fill_place(s, p, slot, p->input ? &a->fill : &poison, own, err))
            return -1;
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
    json_t *described = describe(s);
    return kg_session_ask(s, json_pack("{s:s,s:o}", "op", "case", "case", described), NULL, 0, s->o.timeout_s, NULL,
                          err);
}

int kg_session_call(kg_session *s, int slot, int n, kg_error *err) {
    json_t *request = json_pack("{s:s,s:i,s:i}", "op", "call", "slot", slot, "n", n);
    // The limit is meant for cases of ordinary size: one of 2^31 elements has 17 times as long.
    const double limit = s->o.timeout_s * (1 + (double)kg_case_largest(s->c) * 0x1p-27);
    if (kg_session_ask(s, request, NULL, 0, limit, NULL, err) == 0) return 0;
    kg_session_check_health(s, err);
    return -1;
}

int kg_session_observe(kg_session *s, const char *folder, kg_error *err) {
    return kg_session_ask(s, json_pack("{s:s,s:i,s:s}", "op", "observe", "slot", 0, "folder", folder), NULL, 0,
                          s->o.timeout_s, NULL, err);
}

int kg_session_check(kg_session *s, const uint64_t *seeds, int n_seeds, int slot, kg_effort effort, void **kept,
                     kg_check *out, kg_error *err) {
    kg_session_pause(s);
    // Which elements are looked at is drawn now, and from what nobody can know: values follow from seeds that the
    // record names.
    const kg_philox d = kg_philox4x32(s->o.secret, 0x6c6f6f6bu, s->drawn++);
    const uint64_t draw = (uint64_t)d.v[0] << 32 | d.v[1];
    kg_check_request r = {s->task, s->c,    &s->layout, s->in,     s->out, slot,
                          seeds,   n_seeds, draw,       s->native, effort, kept};
    return kg_check_outputs(&r, out, err);
}

int kg_session_wrote_beside(kg_session *s, int slots, bool *beside, kg_error *err) {
    kg_session_pause(s);
    *beside = false;
    for (int slot = 0; slot < slots && !*beside; slot++) {
        kg_check_request r = {.task = s->task,
                              .c = s->c,
                              .layout = &s->layout,
                              .in = s->in,
                              .out = s->out,
                              .slot = slot,
                              .native = s->native};
        if (kg_check_guards(&r, beside, err)) return -1;
    }
    return 0;
}
