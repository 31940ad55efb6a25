#!/usr/bin/env python3
"""Hardware counters as evidence: are they read, are they ncu's, do they leave the next candidate's times alone?

    bench/counters/counters.py KGATE OUT [QUESTION ...]

On a machine with a GPU, from the root of a checkout. KGATE: the program of `make dist`, beside which kgate-counters lies.
OUT: a folder for what is made. QUESTION, all without one:

    tool       kgate-counters by hand: an idle device, then one that relu_twice.cu works on, whose bytes are known (needs nvcc)
    facts      slow kernels judged: what was counted, which rules speak; bench/counters/relu_twice.cu must show a dram_ratio of 2
    ncu        the same numbers of the same kernel by ncu (needs nvcc and ncu)
    times      relu_fast.cu judged three times in one run, a slow kernel between the second and the third: the small sizes' times
"""
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TWICE = os.path.join(HERE, "relu_twice.cu")
FAST = os.path.join(ROOT, "examples/cuda/relu_fast.cu")
SLOW = [TWICE, os.path.join(ROOT, "examples/cuda/matmul_slow.cu"), os.path.join(ROOT, "examples/triton/layer_norm_slow.py")]
RULES = ("excess-traffic", "misses-l2", "low-occupancy", "barrier-stalls", "scattered-loads")
FLOATS = 1 << 27
SMALL_US = 12
METRICS = ("dram__bytes.sum,lts__t_sectors.sum,lts__t_sector_hit_rate.pct,sm__warps_active.avg.pct_of_peak_sustained_active")


def output(command, seconds):
    """What a command prints, stderr included; says so when it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as e:
        return "%s: %s\n" % (command[0], e)
    text = done.stdout.decode("utf-8", "replace")
    return text if done.returncode == 0 else text + "%s ended with %d\n" % (command[0], done.returncode)


def judged(kgate, out, name, candidates):
    path = os.path.join(out, name + ".jsonl")
    print(output([kgate, "run", "--device", "cuda", "--profile", "--db", os.path.join(out, "counters.db"), "--format", "jsonl",
                  "-o", path] + candidates, 60), end="")
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def alone(out):
    """relu_twice.cu as a program; None: it does not build."""
    program = os.path.join(out, "relu_twice")
    said = output(["nvcc", "-O2", "-arch=native", "-DALONE", "-I", os.path.join(ROOT, "include"), TWICE, "-o", program], 60)
    print(said, end="")
    return program if os.access(program, os.X_OK) else None


def tool(kgate, out):
    counters = os.path.join(os.path.dirname(os.path.abspath(kgate)), "kgate-counters")
    print("idle:\n" + output([counters, "--seconds", "0.1", "--verbose"], 30))
    program = alone(out)
    if not program:
        return
    with subprocess.Popen([program, str(FLOATS), "4"], stdout=subprocess.PIPE) as busy:
        time.sleep(1.5)
        start = time.monotonic()
        said = output([counters, "--seconds", "0.5", "--verbose"], 30)
        print("busy (%.2f s):\n%s" % (time.monotonic() - start, said))
        print(busy.communicate()[0].decode(), end="")
    line = said.strip().splitlines()[-1]
    if line.startswith("{"):
        print("counted: %.4g bytes a second, if sampling took 0.5 s" % (json.loads(line).get("dram_bytes", 0) / 0.5))


def facts(kgate, out):
    for r in judged(kgate, out, "facts", SLOW):
        rules = [f["rule"] for f in r["findings"]]
        print("%-40s %-10s %s" % (os.path.relpath(r["candidate"]["path"], ROOT), r["verdict"], r["performance"]["worst_case"]))
        print("    counters  %s" % json.dumps(r.get("counters")))
        print("    rules     %s (of counters: %s)" % (" ".join(rules), " ".join(x for x in rules if x in RULES) or "none"))
        print("    diagnosis %.2f s of %.2f" % (r["profile"]["diagnosis"], r["seconds"]))


def ncu(_, out):
    program = alone(out)
    if program:
        print("per kernel (two kernels a call, %d bytes each), then the mean of a call's two passes is ours:" % (8 * FLOATS))
        print(output(["ncu", "--clock-control", "none", "--cache-control", "none", "--launch-count", "4", "--metrics", METRICS,
                      program, str(FLOATS)], 60))


def times(kgate, out):
    order = []
    for name, source in (("a", FAST), ("b", FAST), ("slow", TWICE), ("c", FAST)):
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)
        order.append(shutil.copy(source, os.path.join(folder, "relu.cu")))
    records = judged(kgate, out, "times", order)
    a, b, slow, c = ({x["case"]: x for x in r["performance"]["cases"]} for r in records)
    print("verdicts %s; counted beside the slow one: %s" % (" ".join(r["verdict"] for r in records),
                                                          "yes" if records[2].get("counters") else "NO"))
    for name, case in a.items():
        if case["time_us"] < SMALL_US and name in b and name in c:
            first, second, third = (x[name]["time_us"] for x in (a, b, c))
            print("%-40s %7.3f %7.3f %7.3f us: %+.2f %% without, %+.2f %% with counters before" % (
                name, first, second, third, 100 * (second / first - 1), 100 * (third / second - 1)))


def main(kgate, out, questions):
    os.makedirs(out, exist_ok=True)
    known = {"tool": tool, "facts": facts, "ncu": ncu, "times": times}
    for q in questions or known:
        start = time.monotonic()
        print("== %s" % q, flush=True)
        try:
            known[q](kgate, out)
        except (OSError, ValueError, KeyError, TypeError) as e:
            print("%s: %s: %s" % (q, type(e).__name__, e))
        print("== %s took %.1f s\n" % (q, time.monotonic() - start), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
