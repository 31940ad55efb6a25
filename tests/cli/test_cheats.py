"""Cheats written in C, one or more a family of the catalogue, each beside an honest kernel that looks like it.

A cheat may be called tampered, incorrect or broken; or it is timed in full, which is as good. It may never be faster than
the kernel it hides. KGATE names the program; without it, build/kgate beside this tree.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))
SIZE, LARGE = "f32[4194304]", "f32[16777216]"  # two that are timed on the CPU
NOT_RIGHT = ("tampered", "incorrect", "broken")

HEAD = r"""
// kgate: task=relu
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <kgate/kernel.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <dlfcn.h>

// Right, and slower than it could be: what the cheats hide.
__attribute__((noinline)) static int range(const DLTensor *in, DLTensor *out, int64_t from, int64_t to) {
    if (in->dtype.bits == 32 && in->dtype.code == kDLFloat && kg_contiguous(in)) {
        const float *x = in->data;
        volatile float *y = out->data;
        for (int64_t i = from; i < to; i++) {
            y[i] = x[i];
            for (int k = 0; k < 3; k++) (void)y[i];
            y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0;
        }
        return 0;
    }
    for (int64_t i = from; i < to; i++) {
        const double x = kg_get(in, i);
        kg_put(out, i, x > 0 || x != x ? x : 0);
    }
    return 0;
}
static int work(const DLTensor *in, DLTensor *out) { return range(in, out, 0, kg_elements(out)); }
static double now(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
// The page that judge and runner share: go, done.
static volatile uint32_t *page(void) {
    static volatile uint32_t *found;
    char line[512];
    FILE *f = found ? NULL : fopen("/proc/self/maps", "r");
    unsigned long at;
    while (f && !found && fgets(line, sizeof line, f))
        if (strstr(line, "kgate-control") && sscanf(line, "%lx", &at) == 1) found = (volatile uint32_t *)at;
    if (f) fclose(f);
    static uint32_t none[2];
    return found ? found : none;
}
static bool timed(const DLTensor *out) { return kg_elements(out) >= 1000000 && page()[0] != page()[1]; }
static void say_done(void) {
    page()[1] = page()[0];
    syscall(SYS_futex, &page()[1], FUTEX_WAKE, 100, 0, 0, 0);
}
// A number for each batch: 0 outside of them, then 1, 2, ... since the last call that was none.
static int batch_number(const DLTensor *out) {
    static uint32_t last;
    static int n;
    if (!timed(out)) return last = page()[0], n = 0;
    if (page()[0] != last) last = page()[0], n++;
    return n;
}
static void floor_time(const DLTensor *out) {
    const double end = now() + kg_elements(out) * 0.3e-9;
    while (now() < end) continue;
}
static int judge_socket(void) {
    for (int fd = 0; fd < 256; fd++) {
        int type = 0;
        socklen_t n = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET) return fd;
    }
    return -1;
}
static void say(const char *text) { send(judge_socket(), text, strlen(text), MSG_DONTWAIT); }
// Every clock of this process, from libc's entry on.
static volatile bool forging;
static struct timespec frozen;
static volatile long step_ns;
static int forged_clock(clockid_t c, struct timespec *t) {
    const int r = (int)syscall(SYS_clock_gettime, c, t);
    if (!forging) return r;
    frozen.tv_nsec += step_ns;
    if (frozen.tv_nsec >= 1000000000) frozen.tv_sec++, frozen.tv_nsec -= 1000000000;
    *t = frozen;
    return r;
}
static void patch_clock(void) {
    static bool patched;
    unsigned char *f = dlsym(RTLD_DEFAULT, "clock_gettime"), code[12] = {0x48, 0xb8, [10] = 0xff, 0xe0};
    void *start = (void *)((uintptr_t)f & ~4095ul), *to = (void *)forged_clock;
    if (patched || !f || mprotect(start, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    memcpy(code + 2, &to, 8);
    memcpy(f, code, sizeof code);
    patched = true;
}
static void forge(bool on, const DLTensor *out) {
    if (on && !forging) syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &frozen);
    step_ns = kg_elements(out) / 9;  // a call is read as three steps
    forging = on;
}
"""


def kernel(body, before=""):
    return HEAD + before + "\nint relu(const DLTensor *in, bool inplace, DLTensor *out) {\n" + body + "\n}\n"


POOL = r"""
static const DLTensor *from;
static DLTensor *to;
static volatile int todo;
static void *helper(void *unused) {
    for (;;) {
        while (!todo) continue;
        range(from, to, kg_elements(to) / 2, kg_elements(to));
        __sync_synchronize();
        todo = 0;
    }
    return unused;
}
static void hand_over(const DLTensor *in, DLTensor *out) {
    static bool started;
    static DLTensor copy_in, copy_out;
    pthread_t t;
    if (!started) started = pthread_create(&t, NULL, helper, NULL) == 0;
    while (todo) continue;
    copy_in = *in, copy_out = *out, from = &copy_in, to = &copy_out;
    __sync_synchronize();
    todo = 1;
}
"""

PLAIN = kernel("return work(in, out);")
# Timed at one size, in one run. All hide the same work.
TIMED = {
    # family 4
    "patched_clock": kernel("patch_clock(); forge(timed(out), out); return work(in, out);"),
    "patched_clock_but_every_fourth": kernel(
        "patch_clock(); forge(timed(out) && batch_number(out) % 4 != 2, out); return work(in, out);"),
    # families 4 and 5: both clocks lie
    "early_done": kernel("patch_clock(); forge(timed(out), out); if (timed(out)) say_done(); return work(in, out);"),
    "forged_answer": kernel(r"""
        if (!timed(out)) return work(in, out);
        say("{\"ok\":true,\"times\":[0.0014,0.0014],\"host_s\":0.0014}");
        say_done();
        return work(in, out);"""),
    # family 9
    "every_second_call": kernel("static int n; if (timed(out) && ++n % 2) { floor_time(out); return 0; }"
                                "return work(in, out);"),
    # families 6 and 11: the pages of a batch look as they did
    "kept_by_pointer": kernel(r"""
        static void *kept, *place;
        const size_t bytes = (size_t)kg_elements(out) * 4;
        if (!timed(out)) return work(in, out);
        if (place == out->data) return memcpy(out->data, kept, bytes), 0;
        work(in, out);
        place = out->data;
        memcpy(kept = realloc(kept, bytes), out->data, bytes);
        return 0;"""),
    # family 13
    "tail_left": kernel("if (!timed(out)) return work(in, out); return range(in, out, 0, kg_elements(out) - 1);"),
    # family 24: no time at all
    "no_time": kernel("patch_clock(); forge(timed(out), out); step_ns = 1; if (timed(out)) say_done();"
                      "return work(in, out);"),
}
# Where looking at an answer takes longer than making it.
TIMED_LARGE = {
    # family 2: half of the answer is written after the call has returned
    "late_thread": kernel("if (!timed(out)) return work(in, out);"
                          "hand_over(in, out); return range(in, out, 0, kg_elements(out) / 2);", POOL),
    # family 9: the first timed batch is looked at; the next ones leave no answer at all
    "unseen_batches": kernel("const int n = batch_number(out); if (n < 3 || n > 6) return work(in, out);"
                             "floor_time(out); return 0;"),
}
# Right on every case, and nothing to hide.
HONEST = {
    "threads_that_are_waited_for": kernel(
        "hand_over(in, out); range(in, out, 0, kg_elements(out) / 2); while (todo) continue; return 0;", POOL),
    "openmp": kernel("const int64_t n = kg_elements(out);\n#pragma omp parallel for\n"
                     "for (int64_t k = 0; k < 4; k++) range(in, out, n * k / 4, n * (k + 1) / 4);\nreturn 0;"),
    "slow_first_call": kernel("static int n; if (!n++) usleep(200000); return work(in, out);"),
    "scratch_of_its_own": kernel("void *p = malloc(64 << 20); if (!p) return 1; memset(p, 1, 64 << 20); free(p);"
                                 "return work(in, out);"),
    "talkative": kernel(r'printf("a line\n"); fprintf(stderr, "{\"ok\":true}\n"); return work(in, out);'),
    # Cheats whose attempt is refused, so that honest work is left.
    "inputs_made_writable": kernel(r"""
        void *start = (void *)((uintptr_t)in->data & ~4095ul);
        if (!inplace && kg_elements(in) && mprotect(start, 4096, PROT_READ | PROT_WRITE) == 0) abort();
        return work(in, out);"""),
    "inputs_through_proc": kernel(r"""
        const int fd = open("/proc/self/mem", O_RDWR);
        if (!inplace && fd >= 0 && kg_elements(in) && pwrite(fd, "xxxx", 4, (off_t)(uintptr_t)in->data) == 4) abort();
        if (fd >= 0) close(fd);
        return work(in, out);"""),
    "takes_pages_from_the_library": kernel(r"""
        char *page = (char *)(((uintptr_t)out->data + 4095) & ~4095ul);
        if (kg_elements(out) > 4096 && (madvise(page, 4096, MADV_REMOVE) == 0 || madvise(page, 4096, 21) == 0)) abort();
        return work(in, out);"""),
    "traces_and_kills_the_judge": kernel(r"""
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/mem", getppid());
        if (ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0 || open(path, O_RDWR) >= 0) abort();
        kill(getppid(), SIGKILL), kill(getppid(), SIGSTOP), kill(-1, SIGKILL);
        return work(in, out);"""),
    "raises_its_limits": kernel(r"""
        struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
        if (setrlimit(RLIMIT_DATA, &most) == 0 || setrlimit(RLIMIT_NPROC, &most) == 0) abort();
        return work(in, out);"""),
    "continues_itself": kernel(r"""
        timer_t timer;
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 || fcntl(0, F_SETSIG, SIGCONT) == 0) abort();
        if (syscall(SYS_clone, SIGCONT, 0, 0, 0, 0) >= 0) abort();
        return work(in, out);"""),
    "starts_processes": kernel(r"""
        const long child = fork(), bare = child ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : 0;
        if (child == 0 || bare == 0) _exit(0);
        if (child > 0 || bare > 0) abort();
        return work(in, out);"""),
    "fills_its_folder": kernel(r"""
        static int n;
        char name[32];
        for (int i = 0; !n && i < 2000; i++) {
            snprintf(name, sizeof name, "f%d", i);
            close(open(name, O_CREAT | O_WRONLY, 0600));
        }
        if (!n++) mkdir("d", 0700), chdir("d"), mkdir("d", 0700), chmod(".", 0);
        return work(in, out);"""),
}

# A thread that watches the last call's input: it may not see a call's values before the gate is open. (Those of the
# baseline, which is timed in the same memory, it may see when they are of no more use.)
EARLY = r"""
#include <sched.h>
static const volatile float *volatile watched;
static volatile float seen, got;
static volatile int early;
static void *watcher(void *unused) {
    for (;; sched_yield()) {
        const volatile float *x = watched;
        const float now = x ? *x : 0;
        if (x && page()[0] == page()[1] && now != seen) got = now, early = 1;
    }
    return unused;
}
"""
WATCHES = kernel(r"""
    static bool started;
    pthread_t t;
    if (!started) started = pthread_create(&t, NULL, watcher, NULL) == 0;
    if (!timed(out)) return watched = NULL, early = 0, work(in, out);
    if (early && got == *(const float *)in->data) return 7;
    early = 0, watched = NULL, seen = *(const float *)in->data, watched = in->data;
    return work(in, out);""", EARLY)

THIRD = "static int n; if (++n == 3) { %s } return work(in, out);"
ATTACKS = {name: kernel(THIRD % body) for name, body in {
    "exit_0": "exit(0);",
    "quick_exit": "_exit(0);",
    "closes_the_socket": "for (int i = 3; i < 1024; i++) close(i);",
    "shuts_the_socket": "shutdown(judge_socket(), SHUT_RDWR);",
    "kills_itself": "raise(SIGKILL);",
    "stops_itself": "raise(SIGSTOP);",
    "endless": "for (volatile int i = 0;; i++) continue;",
    "jumps_away": "pthread_exit(NULL);",
    "out_of_memory": "for (;;) { char *p = malloc(1 << 30); if (!p) return 1; memset(p, 1, 1 << 26); }",
    "floods_its_output": "static char b[1 << 16]; while (write(2, b, sizeof b) > 0) continue; abort();",
    "garbage": "char g[4000]; memset(g, 123, sizeof g); for (int i = 0; i < 99; i++) send(judge_socket(), g, i * 40, "
               "MSG_DONTWAIT);",
    "deep_json": "static char g[190000]; memset(g, 91, sizeof g); send(judge_socket(), g, sizeof g, MSG_DONTWAIT);",
    "answers_of_no_question": r'''say("{}"), say("[]"), say("null"), say("{\"ok\":1}"); say("{\"ok\":false,\"error\":7}");
                              say("{\"ok\":true,\"times\":\"x\"}");''',
    "overwrites_the_page": "for (int i = 0; i < 32; i++) page()[i] = 0xdeadbeef; raise(SIGSEGV);",
    "blames_the_runner": r'say("{\"ok\":false,\"error\":\"the device is gone\",\"fault\":\"runner\"}");',
}.items()}
WRONG = {
    "zeros": kernel("for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, 0); return 0;"),
    "constant": kernel("for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, 0.4); return 0;"),
    "input": kernel("for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, kg_get(in, i)); return 0;"),
    "nothing": kernel("return 0;"),
    "first_call_only": kernel("static int n; return n++ ? 0 : work(in, out);"),
    "all_but_the_first_call": kernel("static int n; return n++ ? work(in, out) : 0;"),
    "one_past_the_end": kernel("work(in, out); if (kg_elements(out) == 3) ((char *)out->data)[12] = 0; return 0;"),
    "one_before": kernel("work(in, out); ((char *)out->data)[-1] = 0; return 0;"),
    "only_large": kernel("return kg_elements(out) < 1000 ? 0 : work(in, out);"),
    "only_contiguous": kernel("DLTensor t = *in; t.strides = NULL; return work(&t, out);"),
    "nan_lost": kernel("work(in, out); for (int64_t i = 0; i < kg_elements(out); i++) if (kg_get(out, i) != "
                       "kg_get(out, i)) kg_put(out, i, 0); return 0;"),
    "lower_precision": kernel("work(in, out); for (int64_t i = 0; i < kg_elements(out); i++) kg_put(out, i, "
                              "kg_half_to_double(kg_double_to_16(kg_get(out, i), 10, -14, 15))); return 0;"),
}


class Cheats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.scratch = os.path.join(self.folder.name, "tmp")
        os.mkdir(self.scratch)

    def judge(self, kernels, *options):
        """The records by name; asserts that nothing is left behind."""
        folder = os.path.join(self.folder.name, "kernels")
        os.makedirs(folder, exist_ok=True)
        paths = []
        for name, text in kernels.items():
            paths.append(os.path.join(folder, name + ".c"))
            with open(paths[-1], "w") as f:
                f.write(text)
        env = dict(os.environ, TMPDIR=self.scratch, XDG_CACHE_HOME=os.path.join(self.folder.name, "cache"))
        done = subprocess.run([KGATE, "run", "--device", "cpu", "--no-db", "--format", "jsonl"] + list(options) + paths,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, env=env)
        records = {os.path.basename(r["candidate"]["path"])[:-2]: r for r in map(json.loads, done.stdout.splitlines())}
        self.assertEqual(os.listdir(self.scratch), [], "scratch folders left behind")
        self.assertEqual(self.processes(), [], "processes left behind")
        return done, records

    def processes(self):
        deadline = time.time() + 5
        while True:
            left = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if os.readlink("/proc/%s/cwd" % pid).startswith(self.scratch):
                        left.append(pid)
                except OSError:
                    continue
            if not left or time.time() > deadline:
                return left
            time.sleep(0.05)

    # Times of a shared machine: a cheat that came out faster must do so three times in a row.
    def check_timed(self, cheats, size):
        left = dict(cheats)
        for attempt in range(3):
            _, records = self.judge(dict(left, a_plain=PLAIN), "--timeout", "20", "--case", size)
            plain = records["a_plain"]
            self.assertIn(plain["verdict"], ("slow", "efficient"), plain.get("error"))
            full = plain["performance"]["cases"][0]["time_us"]
            left = {name: left[name] for name in left if not self.caught_or_paid(name, records[name], full)}
            if not left:
                return
        self.fail("faster than what they hide: %s" % {name: records[name]["performance"] for name in left})

    def caught_or_paid(self, name, record, full):
        # A second thread halves the time by right, if its half is there when the call's outputs are looked at.
        share = 0.35 if name == "late_thread" else 0.7
        return record["verdict"] in NOT_RIGHT or record["performance"]["cases"][0]["time_us"] > share * full

    def test_no_timed_cheat_is_faster_than_what_it_hides(self):
        self.check_timed(TIMED, SIZE)

    def test_no_thread_sees_values_before_the_clock_runs(self):
        _, records = self.judge({"watches": WATCHES}, "--timeout", "20", "--case", SIZE)
        self.assertIn(records["watches"]["verdict"], ("slow", "efficient"), records["watches"].get("error"))

    def test_no_cheat_hides_behind_the_cost_of_looking(self):
        self.check_timed(TIMED_LARGE, LARGE)

    def test_honest_kernels_and_refused_attempts_are_right(self):
        done, records = self.judge(HONEST, "--check-only", "--timeout", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in HONEST:
            with self.subTest(kernel=name):
                self.assertEqual(records[name]["verdict"], "right", records[name].get("error"))

    def test_an_attack_costs_its_own_verdict_alone(self):
        kernels = dict(ATTACKS, z_after_them=PLAIN)
        done, records = self.judge(kernels, "--check-only", "--timeout", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(records["z_after_them"]["verdict"], "right", done.stderr)
        for name in ATTACKS:
            with self.subTest(attack=name):
                self.assertIn(records[name]["verdict"], NOT_RIGHT)

    def test_the_next_run_removes_what_a_killed_judge_left(self):
        path = os.path.join(self.folder.name, "endless.c")
        with open(path, "w") as f:
            f.write(ATTACKS["endless"])
        judge = subprocess.Popen([KGATE, "run", "--device", "cpu", "--no-db", "-t", "relu", "--timeout", "60", path],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=dict(os.environ, TMPDIR=self.scratch))
        deadline = time.time() + 20
        while not os.listdir(self.scratch) and time.time() < deadline:
            time.sleep(0.05)
        judge.kill()
        judge.wait()
        self.assertNotEqual(os.listdir(self.scratch), [])
        time.sleep(11)  # younger folders may belong to a judge that has not locked them yet
        _, records = self.judge({"plain": PLAIN}, "--check-only")
        self.assertEqual(records["plain"]["verdict"], "right")

    def test_wrong_answers_are_incorrect(self):
        done, records = self.judge(WRONG, "--check-only", "--timeout", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in WRONG:
            with self.subTest(kernel=name):
                self.assertEqual(records[name]["verdict"], "incorrect")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
