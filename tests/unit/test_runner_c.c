// A C candidate through the real socket: kgate-runner started by the launcher, arenas of the CPU device, the protocol
// spoken by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "judge/session.h"
#include "runner/protocol.h"

#define N      1000
#define SLOTS  4
#define MEMORY (600 << 20)

static const char source[] =
    "#include <kgate/kernel.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    // out = x * alpha + (beta or 0); mode picks a misbehaviour
    "int axpb(const DLTensor *x, double alpha, const double *beta, int64_t mode, int64_t call_number, "
    "int64_t seed, DLTensor *out) {\n"
    "    float *o = out->data; const float *in = x->data;\n"
    "    if (mode == 1) ((float *)x->data)[0] = 1;\n"
    "    if (mode == 2) for (;;) __asm__ volatile(\"\");\n"
    "    if (mode == 3) exit(0);\n"
    "    if (mode == 4) return 7;\n"
    "    if (mode == 5) return o[0] = (float)call_number, 0;\n"
    "    if (mode == 7) return memcpy(o, &seed, sizeof seed), 0;\n"
    "    if (mode == 6) for (size_t n = 1 << 28;;) { char *p = malloc(n); if (!p) return 8; memset(p, 1, n); }\n"
    "#pragma omp parallel for\n"
    "    for (int64_t i = 0; i < kg_elements(x); i++) o[i] = (float)(in[i] * alpha + (beta ? *beta : 0));\n"
    "    return 0;\n"
    "}\n";

typedef struct {
    kg_device *device;
    kg_launcher *launcher;
    kg_arena *in, *out;
    kg_control *control;
    int control_fd, socket, pid;
    char scratch[64];
    char *library;
} world;

static void ok(int r, const kg_error *e) {
    if (r) print_error("%s\n", e->text ? e->text : "?");
    assert_int_equal(r, 0);
}

static json_t *ask(world *w, json_t *request, const int *fds, int n) {
    kg_error e = {0};
    kg_packet p;
    ok(kg_packet_send(w->socket, request, fds, n, 5, &e), &e);
    ok(kg_packet_receive(w->socket, 20, &p, &e), &e);
    json_decref(request);
    json_t *answer = json_incref(p.json);
    kg_packet_free(&p);
    return answer;
}

static json_t *ask_ok(world *w, json_t *request, const int *fds, int n) {
    json_t *a = ask(w, request, fds, n);
    if (!json_is_true(json_object_get(a, "ok"))) print_error("%s\n", json_dumps(a, 0));
    assert_true(json_is_true(json_object_get(a, "ok")));
    return a;
}

static json_t *tensor(const char *arena) {
    return json_pack("{s:s, s:[i], s:[i], s:s, s:i, s:i}", "dtype", "float32", "shape", N, "strides", 1, "arena", arena,
                     "offset", 512, "slot_stride", 8192);
}

static json_t *the_case(int mode, json_t *beta) {
    json_t *x = json_pack("{s:s, s:s, s:s, s:o}", "name", "x", "kind", "tensor", "role", "in", "tensor", tensor("in"));
    json_t *alpha = json_pack("{s:s, s:s, s:s, s:f}", "name", "alpha", "kind", "float", "role", "in", "value", 2.0);
    json_t *b = json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", "beta", "kind", "float", "role", "in", "nullable", 1,
                          json_is_null(beta) ? "ignored" : "value", beta);
    if (json_is_null(beta)) json_object_set_new(b, "none", json_true());
    json_t *m = json_pack("{s:s, s:s, s:s, s:i}", "name", "mode", "kind", "int", "role", "in", "value", mode);
    json_t *n = json_pack("{s:s, s:s, s:s, s:i}", "name", "call_number", "kind", "int", "role", "in", "value", 1);
    json_t *seed = json_pack("{s:s, s:s, s:s, s:b, s:i}", "name", "seed", "kind", "int", "role", "in", "native_only", 1,
                             "value", 12345);
    json_t *c = json_pack("{s:i, s:i, s:[o,o,o,o,o,o], s:[o]}", "calls", 1, "slots", SLOTS, "args", x, alpha, b, m, n,
                          seed, "outs", tensor("out"));
    return json_pack("{s:s, s:o}", "op", "case", "case", c);
}

static char *compile(const char *scratch) {
    char *file = kg_format("%s/axpb.c", scratch), *library = kg_format("%s/axpb.so", scratch);
    FILE *f = fopen(file, "w");
    fputs(source, f);
    fclose(f);
    char *command = kg_format("cc -O1 -fopenmp -shared -fPIC -I%s/include %s -o %s", KG_SOURCE_DIR, file, library);
    assert_int_equal(system(command), 0);
    free(command);
    free(file);
    return library;
}

static void start_as(world *w, const char *task, const char *function) {
    kg_error e = {0};
    ok(kg_launcher_spawn(w->launcher, false, w->scratch, &w->socket, &w->pid, &e), &e);
    json_decref(ask_ok(
        w, json_pack("{s:s, s:s, s:i, s:i}", "op", "hello", "device", "cpu", "ordinal", 0, "memory_bytes", MEMORY),
        &w->control_fd, 1));
    kg_arena_info in = w->device->ops->arena_info(w->in), out = w->device->ops->arena_info(w->out);
    int fds[] = {in.fd, out.fd};
    json_decref(ask_ok(w,
                       json_pack("{s:s, s:I, s:I}", "op", "arenas", "in_bytes", (json_int_t)in.bytes, "out_bytes",
                                 (json_int_t)out.bytes),
                       fds, 2));
    json_t *a = ask_ok(w,
                       json_pack("{s:s, s:s, s:s, s:s, s:s*}", "op", "load", "language", "c", "path", w->library,
                                 "task", task, "function", function),
                       NULL, 0);
    assert_string_equal(json_string_value(json_object_get(a, "entry")), "axpb");
    json_decref(a);
}

static void start(world *w) { start_as(w, "axpb", NULL); }

static void end(world *w, const char *how) {
    close(w->socket);
    char *text = kg_launcher_reap(w->launcher, w->pid, true);
    if (how) assert_string_equal(text, how);
    free(text);
}

static int set_up(void **state) {
    world *w = kg_alloc(sizeof *w);
    kg_error e = {0};
    strcpy(w->scratch, "/tmp/kgate-test-XXXXXX");
    assert_non_null(mkdtemp(w->scratch));
    w->library = compile(w->scratch);
    kg_launcher_options o = {0};
    ok(kg_launcher_open(&o, &w->launcher, &e), &e);
    ok(kg_device_open("cpu", &w->device, &e), &e);
    ok(w->device->ops->arena_create(w->device, 512 + SLOTS * 8192, false, &w->in, &e), &e);
    ok(w->device->ops->arena_create(w->device, 512 + SLOTS * 8192, true, &w->out, &e), &e);
    ok(kg_control_create(&w->control_fd, &w->control, &e), &e);
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    w->device->ops->arena_destroy(w->in);
    w->device->ops->arena_destroy(w->out);
    w->device->ops->close(w->device);
    kg_launcher_close(w->launcher);
    kg_control_destroy(w->control_fd, w->control);
    char *command = kg_format("rm -rf %s", w->scratch);
    assert_int_equal(system(command), 0);
    free(command);
    free(w->library);
    free(w);
    return 0;
}

// Element i of the input on a slot is base + i.
static void give(world *w, int slot, float base) {
    float x[N];
    for (int i = 0; i < N; i++) x[i] = base + (float)i;
    ok(w->device->ops->upload(w->in, 512 + (size_t)slot * 8192, x, sizeof x, NULL), &(kg_error){0});
}

static void expect(world *w, int slot, float first, float step) {
    float y[N];
    ok(w->device->ops->download(w->out, 512 + (size_t)slot * 8192, y, sizeof y, NULL), &(kg_error){0});
    for (int i = 0; i < N; i++) assert_true(y[i] == first + step * (float)i);
}

static void calls_get_their_arguments(void **state) {
    world *w = *state;
    start(w);
    give(w, 3, 10);
    json_decref(ask_ok(w, the_case(0, json_real(0.5)), NULL, 0));
    json_decref(ask_ok(w, json_pack("{s:s, s:i, s:i}", "op", "call", "slot", 3, "n", 2), NULL, 0));
    expect(w, 3, 20.5f, 2);
    json_decref(ask_ok(w, the_case(0, json_null()), NULL, 0));
    json_decref(ask_ok(w, json_pack("{s:s, s:i, s:i}", "op", "call", "slot", 3, "n", 1), NULL, 0));
    expect(w, 3, 20, 2);
    json_decref(ask_ok(w, json_pack("{s:s}", "op", "bye"), NULL, 0));
    char *how = kg_launcher_reap(w->launcher, w->pid, false);
    assert_string_equal(how, "exited with status 0");
    free(how);
    close(w->socket);
}

// AxPB's signature may be axpb(x, ...). And no name means a function of the C library, which this object is linked
// with.
static void the_signatures_name_is_an_entry(void **state) {
    world *w = *state;
    start_as(w, "AxPB", "axpb");
    end(w, NULL);
    start_as(w, "abs", "axpb");
    end(w, NULL);
}

// The values of a held batch are those that lie there when it is released, not when it was queued.
static void held_batch_waits_for_late_values(void **state) {
    world *w = *state;
    start(w);
    for (int s = 0; s < SLOTS; s++) give(w, s, -1);
    json_decref(ask_ok(w, the_case(0, json_null()), NULL, 0));
    json_t *a = ask_ok(
        w, json_pack("{s:s, s:i, s:i, s:b, s:i}", "op", "batch", "calls", SLOTS, "first_slot", 0, "held", 1, "seq", 9),
        NULL, 0);
    assert_true(json_is_true(json_object_get(a, "enqueued")));
    json_decref(a);
    assert_false(kg_control_wait(&w->control->done, 9, 0.05));
    for (int s = 0; s < SLOTS; s++) give(w, s, (float)(100 * s));
    kg_control_set(&w->control->go, 9);
    assert_true(kg_control_wait(&w->control->done, 9, 10));
    kg_packet p;
    assert_int_equal(kg_packet_receive(w->socket, 5, &p, NULL), 0);
    json_t *times = json_object_get(p.json, "times");
    assert_int_equal(json_array_size(times), SLOTS);
    for (int s = 0; s < SLOTS; s++) {
        double t = json_number_value(json_array_get(times, (size_t)s));
        assert_true(t > 0 && t < 1);
        expect(w, s, (float)(200 * s), 2);
    }
    kg_packet_free(&p);
    end(w, NULL);
}

// Sends a call and says what comes of it: an answer, or the end of the runner.
static kg_code misbehave(world *w, int mode, double timeout_s, json_t **answer) {
    start(w);
    json_decref(ask_ok(w, the_case(mode, json_null()), NULL, 0));
    json_t *request = json_pack("{s:s, s:i, s:i}", "op", "call", "slot", 0, "n", 1);
    kg_error e = {0};
    kg_packet p;
    assert_int_equal(kg_packet_send(w->socket, request, NULL, 0, 5, NULL), 0);
    json_decref(request);
    int r = kg_packet_receive(w->socket, timeout_s, &p, &e);
    if (answer) *answer = r ? NULL : json_incref(p.json);
    if (r == 0) kg_packet_free(&p);
    kg_code code = e.code;
    kg_error_clear(&e);
    return code;
}

static void writing_an_input_kills_only_the_runner(void **state) {
    world *w = *state;
    give(w, 0, 5);
    assert_int_equal(misbehave(w, 1, 10, NULL), KG_ERR_DIED);
    end(w, "killed by SIGSEGV");
    float first;
    ok(w->device->ops->download(w->in, 512, &first, sizeof first, NULL), &(kg_error){0});
    assert_true(first == 5);
}

static void endless_loop_is_timed_out_and_killed(void **state) {
    assert_int_equal(misbehave(*state, 2, 0.3, NULL), KG_ERR_TIMEOUT);
    end(*state, "killed by SIGKILL");
}

static void exit_in_a_candidate_ends_its_runner(void **state) {
    assert_int_equal(misbehave(*state, 3, 10, NULL), KG_ERR_DIED);
    end(*state, "exited with status 0");
}

static void return_code_is_the_candidates_fault(void **state) {
    json_t *a;
    assert_int_equal(misbehave(*state, 4, 10, &a), KG_OK);
    assert_true(json_is_false(json_object_get(a, "ok")));
    assert_string_equal(json_string_value(json_object_get(a, "fault")), "candidate");
    assert_non_null(strstr(json_string_value(json_object_get(a, "error")), "returned 7"));
    json_decref(a);
    end(*state, NULL);
}

// Optimizers count their calls: on each slot, from when the case was prepared.
static void call_number_counts_per_slot(void **state) {
    world *w = *state;
    float first;
    start(w);
    json_decref(ask_ok(w, the_case(5, json_null()), NULL, 0));
    json_decref(ask_ok(w, json_pack("{s:s, s:i, s:i}", "op", "call", "slot", 1, "n", 3), NULL, 0));
    json_decref(ask_ok(w, json_pack("{s:s, s:i, s:i}", "op", "call", "slot", 2, "n", 1), NULL, 0));
    ok(w->device->ops->download(w->out, 512 + 8192, &first, sizeof first, NULL), &(kg_error){0});
    assert_true(first == 3);
    ok(w->device->ops->download(w->out, 512 + 2 * 8192, &first, sizeof first, NULL), &(kg_error){0});
    assert_true(first == 1);
    end(w, NULL);
}

// Random kernels get another number at every call, on whatever slot; the same again where a case is prepared again.
static void seeds_differ_from_call_to_call(void **state) {
    world *w = *state;
    int64_t seeds[2][3];
    start(w);
    for (int turn = 0; turn < 2; turn++) {
        json_decref(ask_ok(w, the_case(7, json_null()), NULL, 0));
        for (int call = 0; call < 3; call++) {
            json_decref(ask_ok(w, json_pack("{s:s, s:i, s:i}", "op", "call", "slot", call / 2, "n", 1), NULL, 0));
            ok(w->device->ops->download(w->out, 512 + (size_t)(call / 2) * 8192, &seeds[turn][call], 8, NULL),
               &(kg_error){0});
            assert_true(seeds[turn][call] >= 0);
            for (int k = 0; k < call; k++) assert_true(seeds[turn][k] != seeds[turn][call]);
        }
    }
    assert_memory_equal(seeds[0], seeds[1], sizeof seeds[0]);
    end(w, NULL);
}

static void memory_ends_at_its_limit(void **state) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();  // shadow memory leaves no limit that makes sense
#endif
    json_t *a;
    assert_int_equal(misbehave(*state, 6, 20, &a), KG_OK);
    assert_non_null(strstr(json_string_value(json_object_get(a, "error")), "returned 8"));
    json_decref(a);
    end(*state, NULL);
}

// A runner that gets nonsense says so and goes on.
static void nonsense_is_answered(void **state) {
    world *w = *state;
    static const char *const packets[] = {
        "{\"op\":\"case\",\"case\":{\"slots\":1000000000000}}", "{\"op\":\"batch\",\"calls\":-1}", "{\"op\":5}",
        "{\"op\":\"case\",\"case\":{\"slots\":1,\"calls\":1,\"args\":[],\"outs\":[{\"dtype\":\"float32\",\"shape\":[9e9],"
        "\"strides\":[1],\"arena\":\"out\",\"offset\":0,\"slot_stride\":0}]}}",
        "{\"op\":\"case\",\"case\":{\"slots\":1,\"calls\":1,\"args\":[],\"outs\":[{\"dtype\":\"float32\",\"shape\":"
        "[9000000000000000000],\"strides\":[9000000000000000000],\"arena\":\"out\",\"offset\":0,\"slot_stride\":0}]}}"};
    start(w);
    for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
        json_t *a = ask(w, json_loads(packets[i], 0, NULL), NULL, 0);
        assert_true(json_is_false(json_object_get(a, "ok")));
        assert_string_equal(json_string_value(json_object_get(a, "fault")), "runner");
        json_decref(a);
    }
    end(w, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_get_their_arguments),
                                       cmocka_unit_test(the_signatures_name_is_an_entry),
                                       cmocka_unit_test(held_batch_waits_for_late_values),
                                       cmocka_unit_test(writing_an_input_kills_only_the_runner),
                                       cmocka_unit_test(endless_loop_is_timed_out_and_killed),
                                       cmocka_unit_test(exit_in_a_candidate_ends_its_runner),
                                       cmocka_unit_test(return_code_is_the_candidates_fault),
                                       cmocka_unit_test(nonsense_is_answered),
                                       cmocka_unit_test(call_number_counts_per_slot),
                                       cmocka_unit_test(seeds_differ_from_call_to_call),
                                       cmocka_unit_test(memory_ends_at_its_limit)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
