#!/usr/bin/env python3
"""A kernel against itself, again and again: does the interval of LRE hold 1, does a verdict change? And a kernel that is 3 or
5 % slower by its own making: is that seen?

    bench/aa/aa.py --kgate dist/kgate-*/kgate -o OUT                       # an H200, until the budget of 560 s is spent
    bench/aa/aa.py --kgate dist/kgate-*/kgate -o OUT                       # again: goes on with what OUT holds
    bench/aa/aa.py --device cpu -o OUT --comparisons 20 --planted 10       # this machine's CPU
    bench/aa/aa.py -o OUT --report                                         # the tables again, nothing is run

A/A: `kgate run --baseline FILE FILE FILE ...`: --comparisons of them, shared out over the kernels. --each of them are judged
by one command, beside one process of the baseline, each candidate in a process of its own; so what one process gets for its
whole life (where its code lies, how many launches it made) is drawn anew for the candidate each time and for the baseline once
a command.

On CUDA most kernels are stated.cu's, in PTX that is made once, so that a comparison costs no compiler's time.

Planted: relu_work (on the CPU work.c) does 1000 (400) rounds of arithmetic an element; its variants do so many more that they take 3 and
5 % longer, and are judged against it, --planted times each. How many that are, and what they make of the time, is measured
first, by hand and without kgate: of calls in turn, the median (on CUDA of event pairs, truth.cu's, in --checks turns; on the
CPU of calls through ctypes). Seen: the whole interval of LRE is below 1. The wrong way: it is above.

All kinds go in turn, so that a spent budget leaves each its share. Records are added to OUT/aa.jsonl as they come.
"""
import argparse
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What is compared with itself, and its share of the comparisons. A file costs a compiler's run each time.
KERNELS = {
    "cuda": {"plain": 50, "parts": 40, "work": 50, "examples/cuda/sum_fast.cu": 30, "bench/truth/softmax_two.cu": 30},
    "cpu": {"examples/c/relu_fast.c": 1, "examples/c/sum_fast.c": 1, "examples/c/softmax_fast.c": 1, "bench/aa/work.c": 1},
}
# How those of stated.cu are launched; %(rounds)d: of relu_work.
LAUNCHES = {
    "plain": "kernel=relu_plain grid=ceildiv(numel(out),256) block=256 args=input,out,i64(numel(out))",
    "parts": "kernel=relu_part grid=ceildiv(numel(out)/2,256) block=256 args=input,out,i64(0),i64(numel(out)/2);"
             "kernel=relu_part grid=ceildiv(numel(out)-numel(out)/2,256) block=256 args=input,out,i64(numel(out)/2),i64(numel(out))",
    "work": "kernel=relu_work grid=ceildiv(numel(out),256) block=256 args=input,out,i64(numel(out)),i32(%(rounds)d)",
}
WORK = {"cuda": "bench/aa/work.cu", "cpu": "bench/aa/work.c"}  # with a function, to be measured by hand
PERCENTS = (3, 5)
ROUNDS = {"cuda": 1000, "cpu": 400}  # of work.cu, work.c
SCOPE = "f32,contiguous,nonempty,finite"


class Failed(Exception):
    """One line."""


def say(text=""):
    print(text, flush=True)


def note(text):
    print("aa: " + text, file=sys.stderr, flush=True)


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def path_of(kernel):
    return os.path.join(ROOT, kernel)


# ---- records ----------------------------------------------------------------------------------------
class Kept:
    """OUT/aa.jsonl: what earlier calls and this one found."""

    def __init__(self, path):
        self.path, self.records = path, []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.records = [json.loads(line) for line in f if line.endswith("}\n")]

    def add(self, record):
        self.records.append(record)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(record) + "\n")

    def of(self, kind, name, device):
        return [r for r in self.records if (r["kind"], r["name"], r["device"]) == (kind, name, device)]


def kept_part(kind, name, device, r):
    p = r["performance"] or {}
    keys = ("case", "time_us", "baseline_us", "lre", "lre_ci", "bound")
    return {"kind": kind, "name": name, "device": device, "verdict": r["verdict"], "why": r["error"] or (r["correctness"] or {}).get("why"),
            "screens": [r["screens"]["library"], r["screens"]["roofline"]], "lre": p.get("lre"), "lre_ci": p.get("lre_ci"), "sure": p.get("sure"),
            "cases": [{k: c[k] for k in keys} for c in p.get("cases", ())], "seconds": r["seconds"], "started": r["started"]}


# ---- judging ----------------------------------------------------------------------------------------
def judge(o, kept, kind, name, base, candidate, n, seconds):
    """n comparisons in one command; ended after so many seconds, with what it had judged until then kept."""
    command = [o.kgate, "run", "--device", o.device, "--scope", SCOPE, "--db", os.path.join(o.out, "aa.db"), "--format", "jsonl",
               "--baseline", base] + [candidate] * n
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    said = []
    reader = threading.Thread(target=lambda: said.append(p.stderr.read()), daemon=True)
    timer = threading.Timer(max(1, seconds), p.kill)
    reader.start()
    timer.start()
    seen = 0
    for line in p.stdout:
        kept.add(kept_part(kind, name, o.device, json.loads(line)))
        seen += 1
    p.wait()
    timer.cancel()
    reader.join(5)
    if p.returncode > 0 and not seen:
        raise Failed("%s ended with %d: %s" % (" ".join(command)[:80], p.returncode, ("".join(said).strip().splitlines() or ["it said nothing"])[-1][:300]))
    return seen


def stated(o, name, rounds=0):
    """A kernel of stated.cu in PTX, launched as LAUNCHES says."""
    image, made = os.path.join(o.out, "stated.ptx"), os.path.join(o.out, "%s%s.ptx" % (name, rounds or ""))
    if not os.path.exists(image):
        done = subprocess.run(["nvcc", "-O3", "-ptx", "-arch=" + o.ptx, "-o", image, os.path.join(HERE, "stated.cu")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if done.returncode:
            raise Failed("nvcc: " + done.stdout[-300:])
    with open(image, encoding="utf-8") as f, open(made, "w", encoding="utf-8") as to:
        to.write("// kgate: task=relu\n// kgate: launch %s\n%s" % (LAUNCHES[name] % {"rounds": rounds or ROUNDS["cuda"]}, f.read()))
    return made


def kernel_file(o, kernel):
    return stated(o, kernel) if kernel in LAUNCHES else path_of(kernel)


def planted_files(o, extra):
    """(the plain one, the one that does so many rounds more)."""
    if o.device == "cuda":
        return stated(o, "work"), stated(o, "work", ROUNDS["cuda"] + extra)
    return path_of(WORK["cpu"]), variant(o, extra)


def variant(o, extra):
    """The file with a function that does so many rounds more."""
    source = path_of(WORK[o.device])
    made = os.path.join(o.out, "work%d%s" % (extra, os.path.splitext(source)[1]))
    with open(source, encoding="utf-8") as f:
        text = re.sub(r"(?m)^#define EXTRA +0$", "#define EXTRA %d" % extra, f.read())
        text = text.replace('#include "stated.cu"', '#include "%s"' % os.path.join(HERE, "stated.cu"))
    with open(made, "w", encoding="utf-8") as f:
        f.write(text)
    return made


def extra_rounds(o, kept):
    """{percent: rounds}: by what was measured, else so many percent of them."""
    found = kept.of("check", "planted", o.device)
    return dict(zip(PERCENTS, found[-1]["extra"])) if found else {p: ROUNDS[o.device] * p // 100 for p in PERCENTS}


def plan(o, kept):
    """[(kind, name, baseline, candidate, how many are wanted)]."""
    weights = {k: 1 for k in o.kernels} if o.kernels else KERNELS[o.device]
    work = []
    for k, weight in weights.items():
        if o.comparisons:
            file = kernel_file(o, k)
            work.append(("aa", k, file, file, math.ceil(o.comparisons * weight / sum(weights.values()))))
    for p, extra in extra_rounds(o, kept).items():
        if o.planted:
            work.append(("planted", "%d %%" % p) + planted_files(o, extra) + (o.planted,))
    return work


def run_all(o, kept, until):
    work, failed = plan(o, kept), {}
    while time.monotonic() < until:
        open_ = [w for w in work if w[1] not in failed and len(kept.of(w[0], w[1], o.device)) < w[4]]
        if not open_:
            return
        # The one that has the least of what it is to have.
        kind, name, base, candidate, wanted = min(open_, key=lambda w: len(kept.of(w[0], w[1], o.device)) / w[4])
        have = len(kept.of(kind, name, o.device))
        start = time.monotonic()
        try:
            seen = judge(o, kept, kind, name, base, candidate, min(o.each, wanted - have), until - time.monotonic())
        except (Failed, OSError, ValueError) as e:
            note("%s %s: %s" % (kind, name, e))
            failed[name] = e
            continue
        if not seen and time.monotonic() < until:
            note("%s %s: no record" % (kind, name))
            failed[name] = None
        note("%s %s: %d of %d, %.1f s" % (kind, name, have + seen, wanted, time.monotonic() - start))


# ---- how much slower the planted ones are -----------------------------------------------------------
def build_c(source, made):
    done = subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-I", os.path.join(ROOT, "include"), "-o", made, source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode:
        raise Failed(done.stdout[-300:])


def check_cpu(o, folder, sources):
    """[{elements: us}] by source, of calls in turn."""
    class Tensor(ctypes.Structure):  # DLTensor of DLPack 0.6
        _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]
    entries = []
    for i, source in enumerate(sources):
        made = os.path.join(folder, "%d.so" % i)
        build_c(source, made)
        entries.append(ctypes.CDLL(made).relu)
    found = [{} for _ in sources]
    for n in (1 << 14, 1 << 17, 1 << 20):
        shape = (ctypes.c_int64 * 1)(n)
        memory = (ctypes.c_float * n)(*([0.25] * n)), (ctypes.c_float * n)()
        x, y = [Tensor(ctypes.addressof(m), 1, 0, 1, 2, 32, 1, shape, None, 0) for m in memory]
        times = [[] for _ in sources]
        for _ in range(100 if n < 1 << 20 else 20):
            for i, entry in enumerate(entries):
                start = time.perf_counter()
                entry(ctypes.byref(x), ctypes.c_bool(False), ctypes.byref(y))
                times[i].append(time.perf_counter() - start)
        for i, t in enumerate(times):
            found[i][n] = 1e6 * middle(t)
    return found


def check_cuda(o, folder, sources):
    sys.path.insert(0, os.path.join(ROOT, "bench", "truth"))
    import truth  # pylint: disable=import-outside-toplevel
    names = ["work%d" % i for i in range(len(sources))]
    truth.KERNELS.update({n: (s, "") for n, s in zip(names, sources)})
    b = truth.Bench(argparse.Namespace(out=folder, kernels=names, arch=o.arch, budget=120))
    made = truth.build(b)
    found = [{} for _ in sources]
    for _ in range(o.checks):
        for i, name in enumerate(names):
            command = [made["truth"], "clocks", made[name], "relu"] + [str(1 << k) for k in (21, 24, 27)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=truth.env_of(b))
            if done.returncode:
                raise Failed("truth: " + done.stderr.strip()[-300:])
            for r in map(json.loads, done.stdout.splitlines()):
                found[i].setdefault(int(r["size"]), []).append(r["event_us"])
    return [{n: middle(t) for n, t in f.items()} for f in found]


def measured(o, extras):
    """[{elements: us}] of the variants with so many rounds more."""
    with tempfile.TemporaryDirectory(prefix="kgate-aa-") as folder:
        return (check_cuda if o.device == "cuda" else check_cpu)(o, folder, [variant(o, e) for e in extras])


def slower(us, base):
    """By what share, over all sizes."""
    return math.exp(sum(math.log(u / b) for u, b in zip(us.values(), base.values())) / len(base)) - 1


def check(o, kept):
    """Finds how many rounds make 3 and 5 %, and measures what they make, unless OUT knows."""
    if kept.of("check", "planted", o.device) or not o.planted:
        return
    fifth = ROUNDS[o.device] // 5
    base, more = measured(o, [0, fifth])
    extra = [round(fifth * p / 100 / slower(more, base)) for p in PERCENTS]
    found = measured(o, [0] + extra)
    kept.add({"kind": "check", "name": "planted", "device": o.device, "sizes": list(found[0]), "extra": extra,
              "us": [list(f.values()) for f in found]})


# ---- tables -----------------------------------------------------------------------------------------
def share(n, of):
    return "%3d of %3d %5.1f%%" % (n, of, 100.0 * n / of) if of else "-"


def holds(ci, at=1.0):
    return ci[0] <= at <= ci[1]


def aa_table(o, kept):
    say("A/A on %s" % o.device)
    say("%-28s %-17s %7s %7s %7s %7s  %s" % ("kernel", "intervals hold 1", "least", "middle", "most", "width", "verdicts"))
    held = total = flips = 0
    everything = [r for r in kept.records if r["kind"] == "aa" and r["device"] == o.device]
    for name in dict.fromkeys(r["name"] for r in everything):
        records = kept.of("aa", name, o.device)
        verdicts = [r["verdict"] for r in records]
        most = max(sorted(set(verdicts)), key=verdicts.count)
        with_lre = [r for r in records if r["lre_ci"]]
        hold = sum(holds(r["lre_ci"]) for r in with_lre)
        flips += len(verdicts) - verdicts.count(most)
        held, total = held + hold, total + len(with_lre)
        words = ", ".join("%d %s" % (verdicts.count(v), v) for v in sorted(set(verdicts)))
        if not with_lre:
            say("%-28s %-17s %31s  %s" % (os.path.basename(name)[:28], "-", "", words))
            continue
        lre = sorted(r["lre"] for r in with_lre)
        say("%-28s %-17s %7.3f %7.3f %7.3f %6.2f%%  %s" % (
            os.path.basename(name)[:28], share(hold, len(with_lre)), lre[0], middle(lre), lre[-1],
            100 * middle(r["lre_ci"][1] - r["lre_ci"][0] for r in with_lre), words))
        for r in records:
            if r["why"] and r["verdict"] in ("broken", "incorrect", "tampered"):
                say("    %s: %s" % (r["verdict"], r["why"][:80]))
                break
    say("all: %s of the intervals hold 1; %d verdict flips" % (share(held, total), flips))
    say()
    say("%-26s %-30s %-7s %-17s %6s %8s" % ("kernel, size by size", "", "bound", "intervals hold 1", "LRE", "time us"))
    for name in dict.fromkeys(r["name"] for r in everything):
        sizes = {}
        for r in kept.of("aa", name, o.device):
            for c in r["cases"]:
                if c["lre"] is not None:
                    sizes.setdefault(c["case"], []).append(c)
        for case, cs in sizes.items():
            say("%-26s %-30s %-7s %-17s %6.3f %8.1f" % (
                os.path.basename(name)[:26], case[:30], cs[0]["bound"] or "-", share(sum(holds(c["lre_ci"]) for c in cs), len(cs)),
                middle(c["lre"] for c in cs), middle(c["time_us"] for c in cs)))


def planted_table(o, kept):
    checks = kept.of("check", "planted", o.device)
    if checks:
        c = checks[-1]
        say("measured by hand, without more rounds: %s" % ", ".join("%d: %.2f us" % x for x in zip(c["sizes"], c["us"][0])))
        for percent, extra, us in zip(PERCENTS, c["extra"], c["us"][1:]):
            say("  %d %%, %d rounds more: %s %% more time" % (percent, extra, ", ".join(
                "%+.2f" % (100 * (u / b - 1)) for u, b in zip(us, c["us"][0]))))
    say("%-12s %-18s %-18s %7s %7s %7s  %s" % ("planted", "seen (LRE < 1)", "the wrong way", "least", "middle", "most",
                                              "LRE (0.971, 0.952)"))
    for percent in PERCENTS:
        records = kept.of("planted", "%d %%" % percent, o.device)
        with_lre = [r for r in records if r["lre_ci"]]
        if not with_lre:
            continue
        lre = sorted(r["lre"] for r in with_lre)  # one that was not timed is not seen
        say("%-12s %-18s %-18s %7.3f %7.3f %7.3f" % (
            "%d %%" % percent, share(sum(r["lre_ci"][1] < 1 for r in with_lre), len(records)),
            share(sum(r["lre_ci"][0] > 1 for r in with_lre), len(records)), lre[0], middle(lre), lre[-1]))


# ---- the command ------------------------------------------------------------------------------------
def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kernels", nargs="*", metavar="KERNEL", help="for A/A: plain, parts, work, or a path from the root of the checkout (five on CUDA, four on the CPU)")
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"), help="the program (build/kgate)")
    p.add_argument("--device", default="cuda", choices=sorted(KERNELS), help="(cuda)")
    p.add_argument("-o", "--out", default=".", metavar="FOLDER", help="for aa.jsonl, the database, the planted variants (.)")
    p.add_argument("--comparisons", type=int, default=200, metavar="N", help="A/A, over all kernels (200; 0: none)")
    p.add_argument("--planted", type=int, default=100, metavar="N", help="for each of %s %%%% (100; 0: none)" % " and ".join(map(str, PERCENTS)))
    p.add_argument("--each", type=int, default=10, metavar="N", help="comparisons a command (10)")
    p.add_argument("--checks", type=int, default=3, metavar="N", help="turns of measuring by hand on CUDA (3)")
    p.add_argument("--budget", type=float, default=560, metavar="SECONDS", help="stop then; call again to go on (560)")
    p.add_argument("--arch", default="native", help="nvcc's, for measuring by hand (native)")
    p.add_argument("--ptx", default="compute_90", help="nvcc's, for PTX (compute_90)")
    p.add_argument("--report", action="store_true", help="run nothing, print what OUT holds")
    o = p.parse_args()
    until = time.monotonic() + o.budget
    os.makedirs(o.out, exist_ok=True)
    kept = Kept(os.path.join(o.out, "aa.jsonl"))
    if not o.report:
        try:
            check(o, kept)
        except (Failed, OSError, subprocess.TimeoutExpired, ValueError) as e:
            note("measuring the planted slowdowns by hand: %s" % e)
        try:
            run_all(o, kept, until)
        except (Failed, OSError, subprocess.TimeoutExpired) as e:
            note(str(e))
    aa_table(o, kept)
    say()
    planted_table(o, kept)


if __name__ == "__main__":
    main()
