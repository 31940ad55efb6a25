// The runner's loop: one judge, one request at a time, one answer each.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/runner.h"

#define PAGE      4096
#define MAX_CALLS 1000000

typedef struct {
    int socket;
    const kg_loader *const *extra;
    kg_control *control;
    kg_rt *rt;
    kg_arenas arenas;
    const kg_loader *loader;
    void *self;
    kg_run_case c;
    bool has_case;
} runner;

static void empty_call(void) { __asm__ volatile(""); }

// ---- what a request says ------------------------------------------------------------------------
static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static int64_t int_of(const json_t *o, const char *key, int64_t least, int64_t most, int64_t otherwise) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v)) return otherwise;
    int64_t n = json_integer_value(v);
    return n < least ? least : n > most ? most : n;
}

static int answer(runner *r, json_t *body) {
    if (!body) body = json_object();
    json_object_set_new(body, "ok", json_true());
    int failed = kg_packet_send(r->socket, body, NULL, 0, -1, NULL);
    json_decref(body);
    return failed;
}

static int answer_error(runner *r, const kg_error *e) {
    const char *fault = e->code == KG_ERR_CANDIDATE ? "candidate" : e->code == KG_ERR_RESULT ? "result" : "runner";
    // A compiler's or an interpreter's words may be any bytes, and of any length.
    json_t *text = json_stringn_nocheck(e->text ? e->text : "", e->text ? strnlen(e->text, KG_PACKET / 8) : 0);
    json_t *body = json_pack("{s:b, s:o, s:s}", "ok", 0, "error", text, "fault", fault);
    int failed = !body || kg_packet_send(r->socket, body, NULL, 0, -1, NULL);
    json_decref(body);
    if (failed) {
        body = json_pack("{s:b, s:s, s:s}", "ok", 0, "error", "failed with a text that is not UTF-8", "fault", fault);
        failed = kg_packet_send(r->socket, body, NULL, 0, -1, NULL);
        json_decref(body);
    }
    return failed;
}

// ---- hello, arenas ------------------------------------------------------------------------------
static int map_control(runner *r, kg_packet *p, kg_error *err) {
    int fd = kg_packet_take_fd(p, 0);
    if (fd < 0) return kg_fail(err, KG_ERR_INTERNAL, "hello without the control page");
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED) return kg_fail(err, KG_ERR_INTERNAL, "mapping the control page: %s", strerror(errno));
    r->control = page;
    return 0;
}

static const kg_rt_ops *find_rt(const char *kind) {
    static const kg_rt_ops *const all[] = {&kg_cpu_rt_ops, &kg_cuda_rt_ops, NULL};
    for (size_t i = 0; all[i]; i++)
        if (kind && !strcmp(all[i]->kind, kind)) return all[i];
    return NULL;
}

static int enter_sandbox(const json_t *o, const char *kind, char **holds, kg_error *err) {
    char *here = getcwd(NULL, 0);
    const char *scratch = text_of(o, "scratch");
    size_t memory = (size_t)int_of(o, "memory_bytes", 0, INT64_MAX, 0);
    if (memory == 0) memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
    // A judge that does not say refuses none.
    const bool processes = !json_is_false(json_object_get(o, "processes"));
    int failed =
        kg_sandbox_limits(kind, memory, err) || kg_sandbox_enter(scratch ? scratch : here, kind, processes, holds, err);
    free(here);
    return failed ? -1 : 0;
}

static int do_hello(runner *r, kg_packet *p, kg_error *err) {
    const char *kind = text_of(p->json, "device");
    const kg_rt_ops *ops = find_rt(kind);
    if (r->rt) return kg_fail(err, KG_ERR_INTERNAL, "hello twice");
    if (!ops) return kg_fail(err, KG_ERR_CANNOT, "this runner has no device kind `%s`", kind ? kind : "");
    char *holds = NULL;
    // The sandbox comes first: a device context must not hold more rights than the candidate may have.
    if (map_control(r, p, err) || enter_sandbox(p->json, kind, &holds, err)) return -1;
    int ordinal = (int)int_of(p->json, "ordinal", 0, 1024, 0);
    json_t *list = json_loads(holds, 0, NULL);
    free(holds);
    if (ops->open(ordinal, r->control, &r->rt, err)) return json_decref(list), -1;
    return answer(r, json_pack("{s:o, s:i, s:i}", "sandbox", list ? list : json_array(), "pid", (int)getpid(),
                               "protocol", KG_PROTOCOL_VERSION));
}

static int map_arena(runner *r, kg_packet *p, int i, size_t bytes, bool writable, void **base, kg_error *err) {
    int fd = kg_packet_take_fd(p, i);
    if (fd < 0 && bytes > 0) return kg_fail(err, KG_ERR_INTERNAL, "arenas without descriptors");
    int failed = bytes > 0 ? r->rt->ops->map(r->rt, fd, bytes, writable, base, err) : 0;
    if (fd >= 0) close(fd);
    return failed;
}

static void drop_arenas(runner *r) {
    void (*unmap)(kg_rt *, void *, size_t) = r->rt->ops->unmap;
    if (unmap && r->arenas.in) unmap(r->rt, r->arenas.in, r->arenas.in_bytes);
    if (unmap && r->arenas.out) unmap(r->rt, r->arenas.out, r->arenas.out_bytes);
    r->arenas = (kg_arenas){0};
    if (r->has_case) kg_run_case_free(&r->c);
    r->has_case = false;  // its addresses are gone
}

static int do_arenas(runner *r, kg_packet *p, kg_error *err) {
    kg_arenas a = {.in_bytes = (size_t)int_of(p->json, "in_bytes", 0, INT64_MAX, 0),
                   .out_bytes = (size_t)int_of(p->json, "out_bytes", 0, INT64_MAX, 0)};
    drop_arenas(r);
    if (map_arena(r, p, 0, a.in_bytes, false, &a.in, err) || map_arena(r, p, 1, a.out_bytes, true, &a.out, err))
        return -1;
    r->arenas = a;
    return answer(r, NULL);
}

// ---- load, case, call ---------------------------------------------------------------------------
static bool same_language(const char *loader, const char *wanted) {
    if (!strcmp(loader, wanted)) return true;
    bool image = !strcmp(wanted, "ptx") || !strcmp(wanted, "cubin");
    bool python = !strcmp(wanted, "triton") || !strcmp(wanted, "tilelang");
    return (image && !strcmp(loader, "cuda")) || (python && !strcmp(loader, "python"));
}

static const kg_loader *find_loader(const runner *r, const char *language) {
    for (size_t i = 0; r->extra && r->extra[i]; i++)
        if (same_language(r->extra[i]->language, language)) return r->extra[i];
    static const kg_loader *const all[] = {&kg_c_loader, &kg_cuda_loader, &kg_baseline_loader, NULL};
    for (size_t i = 0; all[i]; i++)
        if (same_language(all[i]->language, language)) return all[i];
    return NULL;
}

static int do_load(runner *r, kg_packet *p, kg_error *err) {
    const json_t *o = p->json;
    const char *language = text_of(o, "language");
    const kg_loader *loader = language ? find_loader(r, language) : NULL;
    if (r->loader) return kg_fail(err, KG_ERR_INTERNAL, "load twice");
    if (!loader) return kg_fail(err, KG_ERR_CANNOT, "this runner loads no `%s`", language ? language : "");
    kg_load_request q = {.language = language,
                         .path = text_of(o, "path"),
                         .entry = text_of(o, "entry"),
                         .task = text_of(o, "task"),
                         .function = text_of(o, "function"),
                         .launch = text_of(o, "launch"),
                         .host_entry = json_is_true(json_object_get(o, "host_entry")),
                         .rt = r->rt};
    char *entry = NULL;
    double start = kg_now();
    if (loader->load(&q, &r->self, &entry, err)) return -1;
    r->loader = loader;
    json_t *body = json_pack("{s:s*, s:f}", "entry", entry, "seconds", kg_now() - start);
    free(entry);
    return answer(r, body);
}

static int do_case(runner *r, kg_packet *p, kg_error *err) {
    if (!r->loader) return kg_fail(err, KG_ERR_INTERNAL, "case before load");
    kg_run_case c;
    if (kg_parse_case(json_object_get(p->json, "case"), &r->arenas, &c, err)) return -1;
    // The old case's memory is used until the loader has the new one.
    int failed = r->loader->prepare(r->self, &c, err);
    if (r->has_case) kg_run_case_free(&r->c);
    r->c = c;
    r->has_case = !failed;
    if (failed) kg_run_case_free(&r->c);
    return failed ? -1 : answer(r, NULL);
}

static int do_call(runner *r, kg_packet *p, kg_error *err) {
    if (!r->has_case) return kg_fail(err, KG_ERR_INTERNAL, "call before case");
    int slot = (int)int_of(p->json, "slot", 0, r->c.slots - 1, 0);
    int64_t n = int_of(p->json, "n", 1, MAX_CALLS, 1);
    for (int64_t i = 0; i < n; i++)
        if (r->loader->call(r->self, slot, err)) return -1;
    if (r->loader->collect && r->loader->collect(r->self, slot, err)) return -1;
    return r->rt->ops->sync(r->rt, err) ? -1 : answer(r, NULL);
}

static int do_observe(runner *r, kg_packet *p, kg_error *err) {
    const char *folder = text_of(p->json, "folder");
    if (!r->has_case) return kg_fail(err, KG_ERR_INTERNAL, "observe before case");
    if (!folder) return kg_fail(err, KG_ERR_INTERNAL, "observe without a folder");
    int slot = (int)int_of(p->json, "slot", 0, r->c.slots - 1, 0);
    if (r->loader->observe && r->loader->observe(r->self, slot, folder, err)) return -1;
    return r->rt->ops->sync(r->rt, err) ? -1 : answer(r, NULL);
}

// ---- batches ------------------------------------------------------------------------------------
typedef struct {
    int calls, first_slot;
    bool held, collect, empty, nothing;
    size_t flush_bytes;
    uint32_t seq;
    double host_s;
} batch;

static int one_call(runner *r, const batch *b, int i, kg_error *err) {
    if (!b->empty) return r->loader->call(r->self, b->first_slot + i, err);
    if (b->nothing) return 0;
    if (r->rt->ops->empty) return r->rt->ops->empty(r->rt, err);
    void (*volatile f)(void) = empty_call;
    f();
    return 0;
}

static int make_calls(runner *r, batch *b, kg_error *err) {
    const kg_rt_ops *ops = r->rt->ops;
    for (int i = 0; i < b->calls; i++) {
        if (ops->before(r->rt, i, err)) return -1;
        double start = kg_now();
        if (one_call(r, b, i, err)) return -1;
        b->host_s += kg_now() - start;
        if (ops->after(r->rt, i, err)) return -1;
        // Within the judge's clock: what a callable allocated is copied before the batch ends, so that nothing it puts
        // off until then goes unseen.
        if (b->collect && !b->empty && r->loader->collect && r->loader->collect(r->self, b->first_slot + i, err))
            return -1;
    }
    return 0;
}

static int say_enqueued(runner *r) { return answer(r, json_pack("{s:b}", "enqueued", 1)); }

static int finish_batch(runner *r, const batch *b, kg_error *err) {
    double *times = kg_alloc(sizeof *times * (size_t)b->calls);
    int failed = r->rt->ops->times(r->rt, b->calls, times, err) || (b->collect && r->rt->ops->sync(r->rt, err));
    json_t *list = json_array();
    // A real that JSON cannot hold makes no element: the judge sees a list that is too short.
    for (int i = 0; !failed && i < b->calls; i++) json_array_append_new(list, json_real(times[i]));
    free(times);
    if (failed) return json_decref(list), -1;
    return answer(r, json_pack("{s:o, s:f}", "times", list, "host_s", b->host_s / b->calls));
}

static int run_batch(runner *r, batch *b, kg_error *err) {
    const kg_rt_ops *ops = r->rt->ops;
    bool say_first = !ops->queues || !b->held;
    if (say_first && say_enqueued(r)) return -1;
    while (!b->held && !kg_control_wait(&r->control->go, b->seq, 60)) continue;
    if (ops->begin(r->rt, b->calls, b->seq, b->held, b->flush_bytes, err)) return -1;
    int failed = make_calls(r, b, err);
    // The end is queued after a failure too, so that the judge never waits for a batch that stopped half-way.
    if (ops->end(r->rt, b->seq, failed ? NULL : err) || failed) return -1;
    if (!say_first && say_enqueued(r)) return -1;
    return finish_batch(r, b, err);
}

static batch read_batch(const json_t *o, bool empty) {
    // As many times as fit a packet: a time takes 25 characters at most.
    return (batch){.calls = (int)int_of(o, "calls", 1, KG_PACKET / 32, 1),
                   .first_slot = (int)int_of(o, "first_slot", 0, KG_RUN_MAX_SLOTS, 0),
                   .held = json_is_true(json_object_get(o, "held")),
                   .collect = json_is_true(json_object_get(o, "collect")),
                   .flush_bytes = (size_t)int_of(o, "flush_bytes", 0, INT64_MAX, 0),
                   .seq = (uint32_t)int_of(o, "seq", 0, UINT32_MAX, 0),
                   .empty = empty};
}

static int do_calibrate(runner *r, kg_packet *p, kg_error *err) {
    batch b = read_batch(p->json, true);
    b.nothing = json_is_true(json_object_get(p->json, "nothing"));
    return run_batch(r, &b, err);
}

static int do_batch(runner *r, kg_packet *p, kg_error *err) {
    batch b = read_batch(p->json, false);
    if (!r->has_case) return kg_fail(err, KG_ERR_INTERNAL, "batch before case");
    if (b.first_slot + b.calls > r->c.slots)
        return kg_fail(err, KG_ERR_INTERNAL, "a batch of %d calls from slot %d on, there are %d slots", b.calls,
                       b.first_slot, r->c.slots);
    return run_batch(r, &b, err);
}

// ---- the loop -----------------------------------------------------------------------------------
typedef struct {
    const char *op;
    int (*run)(runner *r, kg_packet *p, kg_error *err);
    bool before_hello;
} operation;

static const operation operations[] = {{"hello", do_hello, true},          {"arenas", do_arenas, false},
                                       {"calibrate", do_calibrate, false}, {"load", do_load, false},
                                       {"case", do_case, false},           {"call", do_call, false},
                                       {"observe", do_observe, false},     {"batch", do_batch, false}};

static int dispatch(runner *r, kg_packet *p, kg_error *err) {
    const char *op = text_of(p->json, "op");
    for (size_t i = 0; op && i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(op, operations[i].op) != 0) continue;
        if (!r->rt && !operations[i].before_hello) return kg_fail(err, KG_ERR_INTERNAL, "%s before hello", op);
        return operations[i].run(r, p, err);
    }
    return kg_fail(err, KG_ERR_INTERNAL, "unknown request `%s`", op ? op : "");
}

static void runner_free(runner *r) {
    if (r->loader && r->loader->unload) r->loader->unload(r->self);
    if (r->has_case) kg_run_case_free(&r->c);
    if (r->rt) r->rt->ops->close(r->rt);
    if (r->control) munmap(r->control, PAGE);
}

int kg_runner_serve(int socket, const kg_loader *const *extra) {
    runner r = {.socket = socket, .extra = extra};
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        kg_packet p;
        kg_error err = {0};
        if (kg_packet_receive(socket, -1, &p, &err)) {
            bool gone = err.code == KG_ERR_DIED;
            int failed = gone ? 0 : answer_error(&r, &err);
            kg_error_clear(&err);
            if (gone || failed) break;
            continue;
        }
        const char *op = text_of(p.json, "op");
        bool bye = op && !strcmp(op, "bye");
        if (bye) answer(&r, NULL);
        else if (dispatch(&r, &p, &err) && err.code != KG_OK) answer_error(&r, &err);
        kg_error_clear(&err);
        kg_packet_free(&p);
        if (bye) break;
    }
    runner_free(&r);
    return 0;
}
