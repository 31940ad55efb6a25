// The CUDA backend on a real device: both sides, judge and runner, in two processes, each function proven by what it
// leaves behind. Prints a line a check; exits 1 when one failed, 77 (skipped, to ctest) without a device. --baselines:
// cuBLASLt and cuDNN instead.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_baselines.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/nvrtc.h"
#include "device/device.h"
#include "runner/loader/launch_spec.h"
#include "runner/runner.h"
#include "task/task.h"

static int failures;

static bool check(bool ok, const char *what, const kg_error *err) {
    printf("%s  %s%s%s\n", ok ? "ok  " : "FAIL", what, !ok && err && err->text ? ": " : "",
           !ok && err && err->text ? err->text : "");
    fflush(stdout);
    failures += !ok;
    return ok;
}

// ---- the runner's side ----------------------------------------------------------------------------
#define CALLS      8
#define ELEMENTS   ((int64_t)1 << 22)
#define SLOT_BYTES ((size_t)ELEMENTS * 4)

static const char plus_one[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry plus_one(.param .u64 a, .param .u64 b, .param .u64 n)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<3>;\n"
    "ld.param.u64 %rd1,[a];\nld.param.u64 %rd2,[b];\nld.param.u64 %rd3,[n];\n"
    "mov.u32 %r1,%ctaid.x;\nmov.u32 %r2,%ntid.x;\nmov.u32 %r3,%tid.x;\nmad.lo.s32 %r4,%r1,%r2,%r3;\n"
    "cvt.u64.u32 %rd4,%r4;\nsetp.ge.u64 %p,%rd4,%rd3;\n@%p bra END;\n"
    "shl.b64 %rd5,%rd4,2;\nadd.s64 %rd6,%rd1,%rd5;\nadd.s64 %rd7,%rd2,%rd5;\n"
    "ld.global.f32 %f1,[%rd6];\nadd.f32 %f2,%f1,0f3F800000;\nst.global.f32 [%rd7],%f2;\nEND:\nret;\n}\n";

typedef struct {
    int socket;
    kg_control *control;
    kg_rt *rt;
    void *in, *out, *candidate;
} child;

static void reply(child *c, int failed, kg_error *err, json_t *body) {
    if (!body) body = json_object();
    json_object_set_new(body, "ok", json_boolean(!failed));
    if (failed && err->text) json_object_set_new(body, "error", json_string(err->text));
    kg_packet_send(c->socket, body, NULL, 0, -1, NULL);
    json_decref(body);
    kg_error_clear(err);
}

static kg_run_case plus_one_case(child *c, bool swapped) {
    static char name[] = "input";
    kg_run_case rc = {.n_args = 1, .n_outs = 1, .slots = CALLS, .calls = 1};
    const kg_tensor desc = kg_tensor_contiguous(KG_F32, 1, (int64_t[]){ELEMENTS});
    rc.args[0] = (kg_run_arg){.name = name, .kind = KG_P_TENSOR};
    rc.args[0].tensor = (kg_run_tensor){.desc = desc, .base = swapped ? c->out : c->in, .slot_stride = SLOT_BYTES};
    rc.outs[0] =
        (kg_run_tensor){.desc = desc, .base = swapped ? c->in : c->out, .slot_stride = SLOT_BYTES, .writable = true};
    return rc;
}

static int child_load(child *c, kg_error *err) {
    char path[] = "/tmp/kgate-selftest-XXXXXX", *entry = NULL;
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, plus_one, sizeof plus_one) != (ssize_t)sizeof plus_one)
        return kg_fail(err, KG_ERR_CANNOT, "no temporary file");
    close(fd);
    const kg_load_request r = {.language = "ptx",
                               .path = path,
                               .rt = c->rt,
                               .task = "plus_one",
                               .launch =
                                   "kernel=plus_one grid=ceildiv(numel(input),256) block=256 "
                                   "args=input,out,i64(numel(out))"};
    int rc = kg_cuda_loader.load(&r, &c->candidate, &entry, err);
    free(entry);
    unlink(path);
    return rc;
}

static int child_map(child *c, kg_packet *p, kg_error *err) {
    if (kg_cuda_rt_ops.open(0, c->control, &c->rt, err) != 0) return -1;
    int in = kg_packet_take_fd(p, 0), out = kg_packet_take_fd(p, 1);
    int rc = kg_cuda_rt_ops.map(c->rt, in, CALLS * SLOT_BYTES, false, &c->in, err) != 0 ||
             kg_cuda_rt_ops.map(c->rt, out, CALLS * SLOT_BYTES, true, &c->out, err) != 0;
    close(in);
    close(out);
    if (rc != 0 || child_load(c, err) != 0) return -1;
    const kg_run_case rc1 = plus_one_case(c, false);
    if (kg_cuda_loader.prepare(c->candidate, &rc1, err) != 0) return -1;
    return kg_cuda_loader.call(c->candidate, 0, err) != 0 ? -1 : kg_cuda_rt_ops.sync(c->rt, err);
}

static int child_batch(child *c, const json_t *o, kg_error *err) {
    const uint32_t seq = (uint32_t)json_integer_value(json_object_get(o, "seq"));
    const bool held = json_is_true(json_object_get(o, "held")), empty = json_is_true(json_object_get(o, "empty"));
    const size_t flush = (size_t)json_integer_value(json_object_get(o, "flush"));
    const kg_rt_ops *ops = &kg_cuda_rt_ops;
    double times[CALLS];
    if (ops->begin(c->rt, CALLS, seq, held, flush, err) != 0) return -1;
    for (int i = 0; i < CALLS; i++)
        if (ops->before(c->rt, i, err) != 0 ||
            (empty ? ops->empty(c->rt, err) : kg_cuda_loader.call(c->candidate, i, err)) != 0 ||
            ops->after(c->rt, i, err) != 0)
            return -1;
    if (ops->end(c->rt, seq, err) != 0) return -1;
    if (held) reply(c, 0, err, NULL);
    if (ops->times(c->rt, CALLS, times, err) != 0) return -1;
    json_t *list = json_array();
    for (int i = 0; i < CALLS; i++) json_array_append_new(list, json_real(times[i]));
    reply(c, 0, err, json_pack("{s:o}", "times", list));
    return 0;
}

// Writes where only reading is allowed.
static int child_violate(child *c, kg_error *err) {
    const kg_run_case rc = plus_one_case(c, true);
    if (kg_cuda_loader.prepare(c->candidate, &rc, err) != 0) return -1;
    return kg_cuda_loader.call(c->candidate, 0, err) != 0 ? -1 : kg_cuda_rt_ops.sync(c->rt, err);
}

static int child_main(int socket, kg_control *control) {
    child c = {.socket = socket, .control = control};
    kg_error err = {0};
    kg_packet p;
    while (kg_packet_receive(socket, -1, &p, NULL) == 0) {
        const char *step = json_string_value(json_object_get(p.json, "step"));
        if (step && !strcmp(step, "map")) {
            reply(&c, child_map(&c, &p, &err), &err, NULL);
        } else if (step && !strcmp(step, "batch")) {
            if (child_batch(&c, p.json, &err) != 0) reply(&c, -1, &err, NULL);
        } else if (step && !strcmp(step, "violate")) {
            reply(&c, child_violate(&c, &err), &err, NULL);
        }
        kg_packet_free(&p);
    }
    return 0;
}

// ---- the judge's side -------------------------------------------------------------------------------
typedef struct {
    kg_device *d;
    const kg_device_ops *ops;
    int socket, page_fd;
    kg_control *control;
    kg_error err;
} judge;

static void describe(judge *j) {
    kg_device_info i;
    if (!check(j->ops->describe(j->d, &i, &j->err) == 0, "describe", &j->err)) return;
    printf("      %s, driver %s, %s, %d multiprocessors, %.1f of %.1f GB free, L2 %.1f MB, clock %.0f MHz, notes: %s\n",
           i.name, i.driver, i.arch, i.units, (double)i.free_bytes * 1e-9, (double)i.memory_bytes * 1e-9,
           (double)i.cache_bytes * 1e-6, i.clock_hz * 1e-6, i.notes ? i.notes : "none");
}

static const struct {
    kg_fill f;
    const char *name;
} fills[] = {
    {{KG_FILL_ZERO, 0, 0}, "zero"},
    {{KG_FILL_CONST, -2.7, 0}, "const"},
    {{KG_FILL_NORMAL, 0, 1}, "normal(0,1)"},
    {{KG_FILL_NORMAL, 10000, 0.01}, "normal(10000,0.01)"},
    {{KG_FILL_NORMAL, 0, 1e-7}, "normal(0,1e-7)"},
    {{KG_FILL_NORMAL, 0, 1e5}, "normal(0,1e5)"},
    {{KG_FILL_NORMAL, 0, 1e-40}, "normal(0,1e-40): denormals"},
    {{KG_FILL_UNIFORM, -1, 1}, "uniform(-1,1)"},
    {{KG_FILL_UNIFORM, 0.1, 300}, "uniform(0.1,300)"},
    {{KG_FILL_INT, -128, 127}, "int(-128,127)"},
    {{KG_FILL_INT, 0, 4294967295.0}, "int(0,2^32-1)"},
    {{KG_FILL_INT, -70000, 70000}, "int(-70000,70000)"},
    {{KG_FILL_INT, 3, 3}, "int(3,3)"},
    {{KG_FILL_OUTLIERS, 0, 1}, "outliers(0,1)"},
    {{KG_FILL_SPECIALS, 0.5, 2}, "specials(0.5,2)"},
    {{KG_FILL_LOGSCALE, -30, 30}, "logscale(-30,30)"},
    {{KG_FILL_LOGSCALE, -126, 128}, "logscale(-126,128)"},
    {{KG_FILL_TIES, 0, 0}, "ties"},
    {{KG_FILL_SHUFFLE, 1000, 1}, "shuffle(1000)"},
    {{KG_FILL_SHUFFLE, 131, 33}, "shuffle(131), stride 33"},
    {{KG_FILL_SHUFFLE, 2147483648.0, 1}, "shuffle(2^31)"},
    {{KG_FILL_CHOICE, 100003, 50000}, "choice(50000 of 100003)"},
    {{KG_FILL_CHOICE, 7, 3}, "choice(3 of 7)"},
    {{KG_FILL_POISON, 0, 0}, "poison"},
    {{KG_FILL_RAISED, 17, 9}, "raised"},
    {{KG_FILL_CYCLIC, -5, 9}, "cyclic"},
    {{KG_FILL_SYMMETRIC, 33, 20}, "symmetric"},
    {{KG_FILL_SYMMETRIC, -7, 3}, "symmetric, complex"},
    {{KG_FILL_HERMITIAN, -7, 3}, "hermitian"},
    {{KG_FILL_LOWER, 6, 2}, "lower"},
    {{KG_FILL_UPPER, -6, 2}, "upper"},
    {{KG_FILL_EXCHANGED, -7, 3}, "exchanged"},
    {{KG_FILL_RANK_ONE, 12, 0.1}, "rank-one"},
};

static bool fill_agrees(judge *j, kg_arena *a, const kg_fill *f, kg_dtype t, int64_t count, uint64_t seed) {
    const size_t bytes = (size_t)count * kg_dtype_size(t);
    char *mine = kg_alloc(bytes), *theirs = kg_alloc(bytes);
    kg_fill_range(f, t, seed, 0, count, mine);
    bool ok = j->ops->fill(a, (kg_extent){512, t, count}, f, seed, &j->err) == 0 &&
              j->ops->download(a, 512, theirs, bytes, &j->err) == 0;
    for (int64_t i = 0; ok && i < count; i++) {
        const size_t size = kg_dtype_size(t), at = (size_t)i * size;
        if (memcmp(mine + at, theirs + at, size) == 0) continue;
        kg_fail(&j->err, KG_ERR_INTERNAL, "%s, element %lld of %lld: CPU %.17g, device %.17g", kg_dtype_name(t),
                (long long)i, (long long)count, kg_load(t, mine, i), kg_load(t, theirs, i));
        ok = false;
    }
    free(mine);
    free(theirs);
    return ok;
}

static void fills_agree(judge *j) {
    static const int64_t counts[] = {1, 2, 7, 1000, 100003};
    kg_arena *a;
    if (!check(j->ops->arena_create(j->d, 1 << 20, true, &a, &j->err) == 0, "arena of 1 MiB", &j->err)) return;
    for (size_t k = 0; k < sizeof fills / sizeof *fills; k++) {
        bool ok = true;
        for (int t = 0; t < KG_DTYPES; t++)
            for (size_t n = 0; ok && n < sizeof counts / sizeof *counts; n++)
                ok = fill_agrees(j, a, &fills[k].f, (kg_dtype)t, counts[n], 0x123456789abcdef0u + (uint64_t)t * 77 + n);
        char *what = kg_format("fill %s equals the CPU's, ten dtypes, five sizes", fills[k].name);
        check(ok, what, &j->err);
        free(what);
    }
    j->ops->arena_destroy(a);
}

static void fill_rate(judge *j) {
    const int64_t n = (int64_t)1 << 28;
    const kg_fill f = {KG_FILL_NORMAL, 0, 1};
    kg_arena *a;
    if (!check(j->ops->arena_create(j->d, (size_t)n * 4, true, &a, &j->err) == 0, "arena of 1 GiB", &j->err)) return;
    double best = 1e9;
    for (int i = 0; i < 4; i++) {
        const double start = kg_now();
        if (j->ops->fill(a, (kg_extent){0, KG_F32, n}, &f, 1, &j->err) != 0 || j->ops->finish(j->d, &j->err) != 0)
            break;
        if (kg_now() - start < best) best = kg_now() - start;
    }
    printf("      fill normal f32: %.0f GB/s\n", (double)n * 4 / best * 1e-9);
    j->ops->arena_destroy(a);
}

static void gather_and_poison(judge *j) {
    const int64_t n = 3000001;
    const kg_fill f = {KG_FILL_INT, 0, 1e9}, poison = {KG_FILL_POISON, 0, 0};
    const kg_extent e = {1024, KG_I32, n};
    kg_arena *a;
    if (!check(j->ops->arena_create(j->d, 1024 + (size_t)n * 4, true, &a, &j->err) == 0, "arena", &j->err)) return;
    const size_t m = 1500000;
    int64_t *index = kg_alloc(m * sizeof *index);
    int32_t *got = kg_alloc(m * sizeof *got);
    for (size_t i = 0; i < m; i++) index[i] = (int64_t)i * 2;
    bool ok = j->ops->fill(a, e, &f, 99, &j->err) == 0 && j->ops->gather(a, e, m, index, got, &j->err) == 0;
    for (size_t i = 0; ok && i < m; i++) ok = got[i] == (int32_t)kg_fill_value(&f, KG_I32, 99, index[i]);
    check(ok, "gather of 1,500,000 elements", &j->err);
    index[0] = n;
    check(j->ops->gather(a, e, 1, index, got, &j->err) == -1, "gather outside the extent is refused", NULL);
    const int32_t seven[3] = {7, 7, 7};
    uint64_t left = 0;
    ok = j->ops->fill(a, e, &poison, 0, &j->err) == 0 && j->ops->count_poison(a, e, &left, &j->err) == 0 &&
         left == (uint64_t)n && j->ops->upload(a, 1024 + 400, seven, sizeof seven, &j->err) == 0 &&
         j->ops->count_poison(a, e, &left, &j->err) == 0 && left == (uint64_t)n - 3;
    check(ok, "count_poison: all, then all but three", &j->err);
    free(index);
    free(got);
    j->ops->arena_destroy(a);
    kg_arena *large;
    check(j->ops->arena_create(j->d, (size_t)1 << 45, true, &large, &j->err) == -1 && j->err.code == KG_ERR_MEMORY,
          "an arena larger than the card is KG_ERR_MEMORY", &j->err);
    printf("      says: %s\n", j->err.text ? j->err.text : "");
}

static bool ask(judge *j, json_t *o, const int *fds, int n_fds) {
    bool ok = kg_packet_send(j->socket, o, fds, n_fds, 10, &j->err) == 0;
    json_decref(o);
    return ok;
}

// The answer, or NULL with j->err set. Owned by the caller.
static json_t *hear(judge *j) {
    kg_packet p;
    if (kg_packet_receive(j->socket, 60, &p, &j->err) != 0) return NULL;
    json_t *o = json_incref(p.json);
    if (!json_is_true(json_object_get(o, "ok"))) {
        const char *text = json_string_value(json_object_get(o, "error"));
        kg_fail(&j->err, KG_ERR_CANDIDATE, "%s", text ? text : "no reason");
        json_decref(o);
        o = NULL;
    }
    kg_packet_free(&p);
    return o;
}

static bool wait_done(judge *j, uint32_t seq) {
    const double start = kg_now();
    while (atomic_load(&j->control->done) != seq)
        if (kg_now() - start > 10) return false;
    return true;
}

static bool outputs_right(judge *j, kg_arena *out, uint64_t seed) {
    const kg_fill f = {KG_FILL_NORMAL, 0, 1};
    bool ok = true;
    for (int slot = 0; ok && slot < CALLS; slot++) {
        int64_t index[4096];
        float got[4096];
        for (int i = 0; i < 4096; i++) index[i] = (int64_t)i * (ELEMENTS / 4096);
        const kg_extent e = {(size_t)slot * SLOT_BYTES, KG_F32, ELEMENTS};
        ok = j->ops->gather(out, e, 4096, index, got, &j->err) == 0;
        for (int i = 0; ok && i < 4096; i++)
            ok = got[i] == (float)kg_fill_value(&f, KG_F32, seed + (uint64_t)slot, index[i]) + 1.0f;
    }
    return ok;
}

static bool fill_slots(judge *j, kg_arena *in, uint64_t seed) {
    const kg_fill f = {KG_FILL_NORMAL, 0, 1};
    for (int slot = 0; slot < CALLS; slot++)
        if (j->ops->fill(in, (kg_extent){(size_t)slot * SLOT_BYTES, KG_F32, ELEMENTS}, &f, seed + (uint64_t)slot,
                         &j->err) != 0)
            return false;
    return j->ops->finish(j->d, &j->err) == 0;
}

static void print_times(const char *what, const json_t *o, double judge_s) {
    const json_t *list = json_object_get(o, "times");
    double sum = 0;
    printf("      %s: ", what);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const double s = json_real_value(json_array_get(list, i));
        printf("%.2f ", s * 1e6);
        sum += s;
    }
    printf("us; their sum %.1f us, the judge's clock %.1f us\n", sum * 1e6, judge_s * 1e6);
}

// A batch as a session makes it: poison, enqueue, values behind the hold, release, clock, look.
static void batch(judge *j, kg_arena *in, kg_arena *out, const char *what, uint32_t seq, bool held, bool empty,
                  int64_t flush) {
    const kg_fill poison = {KG_FILL_POISON, 0, 0};
    bool ok = j->ops->fill(out, (kg_extent){0, KG_F32, CALLS * ELEMENTS}, &poison, 0, &j->err) == 0 &&
              (held || fill_slots(j, in, seq * 1000)) && j->ops->finish(j->d, &j->err) == 0;
    ok = ok && ask(j,
                   json_pack("{s:s, s:i, s:b, s:b, s:I}", "step", "batch", "seq", (int)seq, "held", held, "empty",
                             empty, "flush", (json_int_t)flush),
                   NULL, 0);
    json_t *enqueued = ok && held ? hear(j) : NULL;
    if (held) ok = ok && enqueued && atomic_load(&j->control->done) != seq && fill_slots(j, in, seq * 1000);
    const double start = kg_now();
    if (ok && held) atomic_store(&j->control->go, seq);
    ok = ok && wait_done(j, seq);
    const double judge_s = kg_now() - start;
    json_t *times = ok ? hear(j) : NULL;
    ok = ok && times && (empty || outputs_right(j, out, seq * 1000));
    check(ok, what, &j->err);
    if (times) print_times(what, times, judge_s);
    if (enqueued) json_decref(enqueued);
    if (times) json_decref(times);
}

static void violation(judge *j, kg_arena *in) {
    const kg_fill f = {KG_FILL_NORMAL, 0, 1};
    bool sent = fill_slots(j, in, 4711) && ask(j, json_pack("{s:s}", "step", "violate"), NULL, 0);
    json_t *o = sent ? hear(j) : NULL;
    check(sent && !o && j->err.text && strstr(j->err.text, "CUDA_ERROR"), "a write to an input fails in the runner",
          &j->err);
    printf("      says: %s\n", j->err.text ? j->err.text : "");
    if (o) json_decref(o);
    int64_t index = 5;
    float got = 0;
    bool ok = j->ops->gather(in, (kg_extent){0, KG_F32, ELEMENTS}, 1, &index, &got, &j->err) == 0 &&
              got == (float)kg_fill_value(&f, KG_F32, 4711, 5);
    check(ok, "and leaves the input and the judge's context as they were", &j->err);
}

static void two_processes(judge *j) {
    kg_arena *in, *out;
    if (!check(j->ops->arena_create(j->d, CALLS * SLOT_BYTES, false, &in, &j->err) == 0 &&
                   j->ops->arena_create(j->d, CALLS * SLOT_BYTES, true, &out, &j->err) == 0,
               "two arenas", &j->err))
        return;
    const int fds[2] = {j->ops->arena_info(in).fd, j->ops->arena_info(out).fd};
    json_t *o = ask(j, json_pack("{s:s}", "step", "map"), fds, 2) ? hear(j) : NULL;
    if (check(o != NULL, "the runner maps both, loads PTX with a stated launch, and calls it", &j->err)) {
        json_decref(o);
        batch(j, in, out, "calibration: empty kernels, held, cold", 1, true, true, 128 << 20);
        batch(j, in, out, "held batch, cold: 16 MiB read and written a call", 2, true, false, 128 << 20);
        batch(j, in, out, "held batch, hot", 3, true, false, 0);
        batch(j, in, out, "batch without hold, cold", 4, false, false, 128 << 20);
        violation(j, in);
    }
    j->ops->arena_destroy(in);
    j->ops->arena_destroy(out);
}

static void nvrtc(judge *j) {
    kg_device_info i = {0};
    void *image = NULL;
    size_t size = 0;
    char *log = NULL;
    if (j->ops->describe(j->d, &i, &j->err) != 0) return;
    check(
        kg_nvrtc_compile(kg_cuda_source, "kernels.cu", i.arch, NULL, &image, &size, &log, &j->err) == 0 && size > 1000,
        "NVRTC compiles kgate's device code", &j->err);
    check(kg_nvrtc_compile("extern \"C\" __global__ void f() { int x = y; }", "bad.cu", i.arch, NULL, &image, &size,
                           &log, &j->err) == -1 &&
              j->err.code == KG_ERR_CANDIDATE,
          "and names what is wrong", &j->err);
    printf("      says: %s\n      device code from: %s\n", j->err.text, ((cuda_device *)j->d)->kernels.from);
}

static void say(const char *what, void *ctx) {
    (void)ctx;
    printf("      measuring %s\n", what);
    fflush(stdout);
}

static void ceilings(judge *j) {
    kg_ceilings c;
    const double start = kg_now();
    if (!check(j->ops->measure(j->d, &c, say, NULL, &j->err) == 0, "measure", &j->err)) return;
    const struct {
        const char *what;
        double got, expected;
    } all[] = {
        {"read TB/s", c.read_bytes_s * 1e-12, NAN},
        {"write TB/s", c.write_bytes_s * 1e-12, NAN},
        {"copy TB/s", c.copy_bytes_s * 1e-12, 4.29},
        {"copy in L2 TB/s", c.cache_bytes_s * 1e-12, NAN},
        {"launch floor us", c.launch_s * 1e6, NAN},
        {"fp64 TFLOP/s", c.ops_s[KG_U_FP64] * 1e-12, 55},
        {"fp32 TFLOP/s", c.ops_s[KG_U_FP32] * 1e-12, 51},
        {"tf32 TFLOP/s", c.ops_s[KG_U_TF32] * 1e-12, 410},
        {"bf16/fp16 TFLOP/s", c.ops_s[KG_U_FP16] * 1e-12, 785},
        {"fp8 TFLOP/s", c.ops_s[KG_U_FP8] * 1e-12, 1434},
        {"int8 TOP/s", c.ops_s[KG_U_INT8] * 1e-12, 884},
        {"special TOP/s", c.ops_s[KG_U_SPECIAL] * 1e-12, NAN},
        {"int TOP/s", c.ops_s[KG_U_INT] * 1e-12, NAN},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        printf("      %-18s %9.3f", all[i].what, all[i].got);
        if (!isnan(all[i].expected))
            printf("   H200 through PyTorch: %.2f (%+.1f %%)", all[i].expected,
                   (all[i].got / all[i].expected - 1) * 100);
        printf("\n");
    }
    printf("      %s; %.1f s\n", c.source, kg_now() - start);
}

int main(int argc, char **argv) {
    int ends[2];
    judge j = {.ops = &kg_cuda_device_ops};
    if (argc > 1 && !strcmp(argv[1], "--baselines")) {
        const int failed = cuda_baselines();
        return failed < 0 ? 77 : failed > 0;
    }
    if (kg_control_create(&j.page_fd, &j.control, &j.err) != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        fprintf(stderr, "cuda_selftest: %s\n", j.err.text ? j.err.text : "no socket pair");
        return 1;
    }
    pid_t pid = fork();  // before CUDA starts: a context does not survive fork
    if (pid == 0) {
        close(ends[0]);
        _exit(child_main(ends[1], j.control));
    }
    close(ends[1]);
    j.socket = ends[0];
    if (j.ops->count() == 0) {
        printf("no CUDA device here: nothing to test\n");
        kill(pid, SIGKILL);
        return 77;
    }
    const double start = kg_now();
    if (check(j.ops->open(0, &j.d, &j.err) == 0, "open", &j.err)) {
        describe(&j);
        fills_agree(&j);
        fill_rate(&j);
        gather_and_poison(&j);
        two_processes(&j);
        nvrtc(&j);
        if (argc < 2 || strcmp(argv[1], "--no-ceilings") != 0) ceilings(&j);
        j.ops->close(j.d);
    }
    close(j.socket);
    waitpid(pid, NULL, 0);
    printf("%d failure%s in %.1f s\n", failures, failures == 1 ? "" : "s", kg_now() - start);
    return failures > 0;
}
