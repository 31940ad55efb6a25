#!/usr/bin/env python3
"""kgate's time of a kernel beside do_bench's, CUPTI's, a plain event pair's and the hardware counter's.

    bench/truth/truth.py --kgate dist/kgate-*/kgate -o OUT                 # everything, some 8 minutes on an H200
    bench/truth/truth.py --kgate ... -o OUT --kernels relu,softmax --runs 1   # one table without the spread, 2 minutes

Four candidates, from 1 us to some 10 ms: relu (one element a thread), sum (one kernel), matmul (tiles in shared memory), and
softmax in two kernels. Each is compiled once and called, at the sizes that kgate timed, by

  kgate      `kgate run`: the median of its record, its overhead calibrated away
  ncu        gpu__time_duration of each kernel, clocks as they are (--clock-control none), caches as they are, five calls;
             of a call of several kernels the sum, which leaves out what lies between them
  do_bench   triton.testing.do_bench on torch tensors, through ctypes, its median, warm-up and repeats as it has them (25 and 100 ms)
  CUPTI      activity records, 200 calls; from the start of a call's first kernel to the end of its last
  event      a pair of events around each of 200 calls, as they come

The L2 cache is cold for all: kgate, ncu, CUPTI and event read twice its size before each call, do_bench clears 256 MB.
`ok`: kgate is within 0.3 us or 1 % of ncu, whichever is larger. A call of two kernels has a gap that ncu does not count, so
it is held against the larger of ncu's sum and CUPTI's span less what CUPTI and ncu differ by in the kernels alone.

Then the spread: --runs runs of kgate (each a candidate judged anew, by a runner of its own) and as many of do_bench: the
largest less the least median, in percent of the middle one.

Everything is printed and written to OUT/truth.jsonl as it comes; after --budget seconds what there is gets its table.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KERNELS = {  # task: file, the kernels' names
    "relu": ("bench/clocks/relu_plain.cu", "relu_plain"),
    "sum": ("examples/cuda/sum_fast.cu", "whole|by_output"),
    "matmul": ("examples/cuda/matmul_slow.cu", "tiles"),
    "softmax": ("bench/truth/softmax_two.cu", "row_parts|row_write"),
}
DEVICE = "cuda"
ONCE = 5  # calls a size under ncu: CALLS_ONCE of truth.cu
SCOPE = "f32,contiguous,nonempty,finite"
UNITS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}


class Failed(Exception):
    """One clock has nothing to say; one line."""


class Bench:
    """What is asked, what was found, and until when."""

    def __init__(self, o):
        self.o = o
        self.until = time.monotonic() + o.budget
        self.folder = tempfile.TemporaryDirectory(prefix="kgate-truth-")  # of what is built
        self.raw = open(os.path.join(o.out, "truth.jsonl"), "a", encoding="utf-8")
        self.sizes = {}   # task: names of its sizes, as kgate has them
        self.clock = {}   # (clock, task, size): [microseconds, one a run]
        self.kernels = {}  # task: kernels a call

    def left(self, most=1e9):
        return max(0.0, min(most, self.until - time.monotonic()))

    def add(self, clock, task, size, us):
        self.clock.setdefault((clock, task, size), []).append(us)
        self.raw.write(json.dumps({"clock": clock, "task": task, "size": size, "us": us}) + "\n")
        self.raw.flush()

    def get(self, clock, task, size):
        found = self.clock.get((clock, task, size))
        return middle(found) if found else None


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def say(text=""):
    print(text, flush=True)


def note(text):
    print("truth: " + text, file=sys.stderr, flush=True)


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1][:300]


def lines_of(command, seconds, env=None):
    """Lines of the command's standard output as they come. It is ended after so many seconds, without a word."""
    if seconds < 1:
        return
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, errors="replace")
    said = []
    reader = threading.Thread(target=lambda: said.append(p.stderr.read()), daemon=True)
    late = threading.Event()
    timer = threading.Timer(seconds, lambda: (late.set(), p.kill()))
    reader.start()
    timer.start()
    try:
        yield from p.stdout
    finally:
        p.wait()
        timer.cancel()
        reader.join(5)
    if late.is_set():
        note("%s: ended after %.0f s" % (os.path.basename(command[0]), seconds))
    elif p.returncode:
        raise Failed("%s ended with %d: %s" % (" ".join(command)[:80], p.returncode, last_line("".join(said))))


def spec(size):
    """A size as truth.cu takes it: `f32[1024,16] dim=1` is 1024,16@1."""
    shapes, dim = re.findall(r"f32\[([\d,]*)\]", size), re.search(r"\bdim=(\d+)", size)
    return ";".join(shapes) + ("@" + dim.group(1) if dim else "")


def short(task, size):
    return "%s %s" % (task, " ".join(s.strip() for s in re.findall(r"\[([\d,]*)\]", size)))


# ---- building ---------------------------------------------------------------------------------------
def first_folder(file, *folders):
    return next((f for f in folders if os.path.exists(os.path.join(f, file))), folders[0])


def build(b):
    """{task: shared object}, and the program of truth.cu as `truth`."""
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    include = first_folder("cupti.h", cuda + "/extras/CUPTI/include", cuda + "/include")
    b.cupti = first_folder("libcupti.so", cuda + "/extras/CUPTI/lib64", cuda + "/lib64", cuda + "/lib")
    common = ["nvcc", "-O3", "-std=c++17", "-arch=" + b.o.arch, "-I", os.path.join(ROOT, "include")]
    made = {t: os.path.join(b.folder.name, t + ".so") for t in b.o.kernels}
    made["truth"] = os.path.join(b.folder.name, "truth")
    commands = {t: common + ["-shared", "-Xcompiler", "-fPIC", "--cudart", "static", "-o", made[t],
                             os.path.join(ROOT, KERNELS[t][0])] for t in b.o.kernels}
    commands["truth"] = common + ["-I", include, "-L", b.cupti, os.path.join(HERE, "truth.cu"), "-lcupti", "-ldl", "-o",
                                  made["truth"]]

    def one(name):
        try:
            done = subprocess.run(commands[name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        except (OSError, subprocess.TimeoutExpired) as e:
            return "%s: %s" % (name, e)
        return "%s: %s" % (name, done.stdout.strip()[-300:]) if done.returncode else None

    with ThreadPoolExecutor(len(commands)) as pool:
        for failed in pool.map(one, commands):
            if failed:
                note("nvcc: " + failed)
    return made


# ---- kgate ------------------------------------------------------------------------------------------
def by_kgate(b, runs, seconds):
    """`runs` judgements of every kernel in turn, in one command."""
    files = {os.path.join(ROOT, KERNELS[t][0]): t for t in b.o.kernels}
    command = [b.o.kgate, "run", "--device", "cuda", "--baseline", "none", "--scope", SCOPE, "--timeout", "60",
               "--db", os.path.join(b.o.out, "truth.db"), "--format", "jsonl"] + list(files) * runs
    for line in lines_of(command, seconds):
        r = json.loads(line)
        task = files[r["candidate"]["path"]]
        if r["verdict"] in ("incorrect", "broken", "tampered"):
            note("%s is %s: %s" % (task, r["verdict"], r["error"] or r["correctness"].get("why") or r["integrity"]["violations"]))
        cases = (r["performance"] or {}).get("cases", [])
        b.sizes.setdefault(task, [c["case"] for c in cases])
        for c in cases:
            b.add("kgate", task, c["case"], c["time_us"])
            if c["host_us"] is not None:
                b.add("host", task, c["case"], c["host_us"])


# ---- by hand: events and CUPTI, ncu -----------------------------------------------------------------
def env_of(b):
    return dict(os.environ, LD_LIBRARY_PATH=b.cupti + ":" + os.environ.get("LD_LIBRARY_PATH", ""))


def by_hand(b, made, task):
    by_spec = {spec(s): s for s in b.sizes[task]}
    for line in lines_of([made["truth"], "clocks", made[task], task] + list(by_spec), b.left(60), env_of(b)):
        r = json.loads(line)
        size = by_spec[r["size"]]
        b.add("event", task, size, r["event_us"])
        if "cupti_us" in r:
            b.add("cupti", task, size, r["cupti_span_us"])
            b.add("cupti_sum", task, size, r["cupti_us"])
            b.kernels[task] = r["kernels"]


def read_ncu(lines):
    """[(kernel, microseconds)], in order, of `ncu --csv`'s lines."""
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    if not rows or "Metric Value" not in rows[0]:
        raise Failed("ncu printed no table: %s" % " ".join(lines)[-300:])
    name, unit, value = [rows[0].index(k) for k in ("Kernel Name", "Metric Unit", "Metric Value")]
    return [(r[name], float(r[value].replace(",", "")) * UNITS[r[unit]]) for r in rows[1:] if len(r) > value and r[unit] in UNITS]


def by_ncu(b, made, task):
    sizes = b.sizes[task]
    command = [b.o.ncu, "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
               "--metrics", "gpu__time_duration.sum", "--kernel-name", "regex:" + KERNELS[task][1],
               made["truth"], "once", made[task], task] + [spec(s) for s in sizes]
    lines = list(lines_of(command, b.left(120), env_of(b)))
    with open(os.path.join(b.o.out, "truth-ncu-%s.csv" % task), "w", encoding="utf-8") as f:
        f.writelines(lines)
    times = [us for _, us in read_ncu(lines)]
    each = len(times) // (ONCE * len(sizes))
    if not each or each * ONCE * len(sizes) != len(times):
        raise Failed("ncu saw %d kernels in %d calls of %s" % (len(times), ONCE * len(sizes), task))
    b.kernels[task] = each
    for i, size in enumerate(sizes):
        calls = [sum(times[(i * ONCE + k) * each:(i * ONCE + k + 1) * each]) for k in range(ONCE)]
        b.add("ncu", task, size, middle(calls))
        b.raw.write(json.dumps({"clock": "ncu", "task": task, "size": size, "calls_us": calls}) + "\n")


# ---- do_bench ---------------------------------------------------------------------------------------
def by_do_bench(b, made, task, runs, seconds):
    """A process of its own that imports torch and Triton; see do_bench_main."""
    by_spec = {spec(s): s for s in b.sizes[task]}
    command = [b.o.python, os.path.abspath(__file__), "--do-bench", made[task], task, str(runs)] + list(by_spec)
    for line in lines_of(command, seconds):
        r = json.loads(line)
        b.add("do_bench", task, by_spec[r["size"]], r["us"])


def do_bench_main(library, task, runs, sizes):
    """Prints {"size", "us"} for every size, `runs` times."""
    import ctypes as ct
    import torch
    from triton.testing import do_bench

    class Tensor(ct.Structure):  # DLTensor of DLPack 0.6
        _fields_ = [("data", ct.c_void_p), ("device_type", ct.c_int32), ("device_id", ct.c_int32), ("ndim", ct.c_int32),
                    ("code", ct.c_uint8), ("bits", ct.c_uint8), ("lanes", ct.c_uint16), ("shape", ct.POINTER(ct.c_int64)),
                    ("strides", ct.c_void_p), ("byte_offset", ct.c_uint64)]

    class Ints(ct.Structure):
        _fields_ = [("n", ct.c_int64), ("v", ct.POINTER(ct.c_int64))]

    entry = getattr(ct.CDLL(library), task)
    entry.restype = ct.c_int

    def described(t):
        shape = (ct.c_int64 * max(1, t.dim()))(*t.shape)
        return Tensor(t.data_ptr(), 2, 0, t.dim(), 2, 32, 1, shape, None, 0)

    def call_of(size):
        shapes, _, dim = size.partition("@")
        tensors = [torch.rand([int(d) for d in s.split(",")], device=DEVICE) for s in shapes.split(";")]
        x, dim = tensors[0], int(dim or 0)
        out = torch.empty_like(x)
        dims = (ct.c_int64 * 1)(dim)
        middle_args = {"relu": [ct.c_bool(False)], "softmax": [ct.c_int64(dim), None],
                       "sum": [ct.byref(Ints(1, dims)), ct.c_bool(False), None], "matmul": []}[task]
        if task == "sum":
            out = torch.empty([d for i, d in enumerate(x.shape) if i != dim], device=DEVICE)
        if task == "matmul":
            out = torch.empty(x.shape[0], tensors[1].shape[1], device=DEVICE)
        held = [described(t) for t in tensors + [out]]
        args = [ct.byref(h) for h in held[:-1]] + middle_args + [ct.byref(held[-1]), ct.c_void_p(0)]

        def call():
            if entry(*args):
                sys.exit("%s of %s failed" % (task, size))
        call.keep = (tensors, out, held, dims)
        return call, tensors, out

    def check(tensors, out, dim):
        """The very call that is timed gives torch's answer: a wrong argument would time something else."""
        expected = {"relu": lambda: torch.relu(tensors[0]), "softmax": lambda: torch.softmax(tensors[0], dim),
                    "sum": lambda: tensors[0].double().sum(dim).float(), "matmul": lambda: torch.matmul(*tensors)}[task]()
        if not torch.allclose(out, expected, rtol=1e-3, atol=1e-5):
            sys.exit("%s through ctypes gives another answer than torch" % task)

    checked = False
    for _ in range(runs):
        for size in sizes:
            call, tensors, out = call_of(size)
            call()
            torch.cuda.synchronize()
            if not checked:
                check(tensors, out, int(size.partition("@")[2] or 0))
                checked = True
            print(json.dumps({"size": size, "us": 1e3 * do_bench(call, return_mode="median")}), flush=True)


# ---- tables -----------------------------------------------------------------------------------------
def number(x, form="%.2f"):
    return "-" if x is None else form % x


def reference(b, task, size):
    """What kgate is held against: ncu, and for several kernels the gaps between them too."""
    ncu, span, total = [b.get(c, task, size) for c in ("ncu", "cupti", "cupti_sum")]
    if ncu is None or b.kernels.get(task, 1) == 1 or span is None:
        return ncu
    return max(ncu, ncu + span - total)


def table(b):
    say("kernel and size           kgate us     ncu us  diff us  diff %  ok  do_bench us   CUPTI us   event us")
    held = {True: 0, False: 0}
    for task in b.o.kernels:
        for size in b.sizes.get(task, ()):
            ours, ncu = b.get("kgate", task, size), reference(b, task, size)
            off = ours - ncu if ours is not None and ncu else None
            ok = None if off is None else abs(off) <= max(0.3, 0.01 * ncu)
            if ok is not None:
                held[ok] += 1
            say("%-22s %11s %10s %8s %7s %3s %12s %10s %10s" % (
                short(task, size)[:22], number(ours), number(ncu), number(off, "%+.2f"),
                number(None if off is None else 100 * off / ncu, "%+.2f"), {True: "yes", False: "NO", None: "-"}[ok],
                number(b.get("do_bench", task, size)), number(b.get("cupti", task, size)), number(b.get("event", task, size))))
    say("within 0.3 us or 1 %% of ncu: %d of %d%s" % (held[True], held[True] + held[False], "".join(
        "; %s is %d kernels, so with the gap that CUPTI sees between them" % (t, n) for t, n in b.kernels.items() if n > 1)))
    for clock in ("do_bench", "cupti", "event"):
        off = [(b.get(clock, t, s), reference(b, t, s)) for t in b.o.kernels for s in b.sizes.get(t, ())]
        off = [abs(x - y) <= max(0.3, 0.01 * y) for x, y in off if x is not None and y]
        say("  the same for %-9s %d of %d" % (clock + ":", sum(off), len(off)))


def spread_table(b):
    say("%-22s %37s %37s" % ("", "kgate: runs    least     most  spread", "do_bench: runs    least     most  spread"))
    worst, within = {}, {}
    for task in b.o.kernels:
        for size in b.sizes.get(task, ()):
            line = "%-22s" % short(task, size)[:22]
            for clock in ("kgate", "do_bench"):
                v = b.clock.get((clock, task, size), [])
                if len(v) < 2:
                    line += " %11d %8s %8s %7s" % (len(v), "-", "-", "-")
                    continue
                spread = 100 * (max(v) - min(v)) / middle(v)
                worst[clock] = max(spread, worst.get(clock, 0))
                within.setdefault(clock, []).append(spread <= 1)
                line += " %11d %8.2f %8.2f %6.2f%%" % (len(v), min(v), max(v), spread)
            say(line)
    for clock, most in worst.items():
        say("%-9s within 1 %%: %d of %d sizes, worst %.2f %%" % (clock, sum(within[clock]), len(within[clock]), most))


# ---- the command ------------------------------------------------------------------------------------
def attempt(what, f, *args):
    """A clock that fails leaves the others theirs."""
    start = time.monotonic()
    try:
        f(*args)
    except (Failed, OSError, ValueError, KeyError) as e:
        note("%s: %s" % (what, e))
    note("%s took %.1f s" % (what, time.monotonic() - start))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"), help="the program (build/kgate)")
    p.add_argument("-o", "--out", default=".", metavar="FOLDER", help="for truth.jsonl and the database (.)")
    p.add_argument("--kernels", default=",".join(KERNELS), metavar="LIST", help="of %s (all)" % ", ".join(KERNELS))
    p.add_argument("--runs", type=int, default=20, metavar="N", help="of kgate and of do_bench, for the spread (20)")
    p.add_argument("--budget", type=float, default=540, metavar="SECONDS", help="stop then (540)")
    p.add_argument("--python", default=sys.executable, help="an interpreter with torch and Triton (this one)")
    p.add_argument("--ncu", default="ncu", help="NVIDIA Nsight Compute (ncu)")
    p.add_argument("--arch", default="native", help="of the kernels that are not kgate's to build (native)")
    o = p.parse_args()
    o.kernels = o.kernels.split(",")
    unknown = [k for k in o.kernels if k not in KERNELS]
    if unknown:
        p.error("no kernel %s: there are %s" % (", ".join(unknown), ", ".join(KERNELS)))
    os.makedirs(o.out, exist_ok=True)
    b = Bench(o)
    made = {}
    attempt("building", lambda: made.update(build(b)))
    attempt("kgate once", by_kgate, b, 1, b.left(150))
    if not b.sizes:
        sys.exit("kgate timed nothing")
    for task in b.sizes:
        attempt("CUPTI and events, " + task, by_hand, b, made, task)
        attempt("ncu, " + task, by_ncu, b, made, task)
        attempt("do_bench, " + task, by_do_bench, b, made, task, 1, b.left(40))
    table(b)
    say()
    if o.runs > 1:
        for task in b.sizes:
            attempt("do_bench %d times, %s" % (o.runs - 1, task), by_do_bench, b, made, task, o.runs - 1, min(b.left() / 3, 60))
        attempt("kgate %d times" % (o.runs - 1), by_kgate, b, o.runs - 1, b.left())
        spread_table(b)


if __name__ == "__main__":
    if len(sys.argv) > 5 and sys.argv[1] == "--do-bench":
        do_bench_main(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
    else:
        main()
