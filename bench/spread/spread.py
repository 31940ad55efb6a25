#!/usr/bin/env python3
"""The same kernel judged again and again: how far do the reported medians lie apart, does a verdict change?

    bench/spread/spread.py RUNS KGATE run --device cpu examples/c/matmul_fast.c
    bench/spread/spread.py RUNS KGATE run --device cpu --baseline examples/c/matmul_fast.c examples/c/matmul_fast.c

Runs the command RUNS times (its own output and database are set here) and prints, for every size, the least and the
largest reported median, their spread in percent of the middle one, and in how many runs the interval of each run
covered the middle one; then LRE, utilisation and verdicts.
"""
import json
import os
import subprocess
import sys
import tempfile


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def once(command, database):
    # One database for all, so that the device's ceilings are measured once.
    done = subprocess.run(command + ["--format", "jsonl", "--db", database], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("ended with %d: %s" % (done.returncode, done.stderr.decode()))
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def show(runs):
    first = runs[0]
    print("spread %s %s, %d runs" % (first["task"], first["candidate"]["path"], len(runs)))
    for i, case in enumerate(first["performance"]["cases"]):
        cases = [r["performance"]["cases"][i] for r in runs]
        times = [c["time_us"] for c in cases]
        mid = middle(times)
        covered = sum(c["ci_us"][0] <= mid <= c["ci_us"][1] for c in cases)
        print("  %-44s %10.2f to %10.2f us  spread %5.2f %%  intervals cover the middle in %d" % (
            case["case"][:44], min(times), max(times), 100 * (max(times) - min(times)) / mid, covered))
    for key in ("lre", "utilization"):
        values = [r["performance"][key] for r in runs if r["performance"][key] is not None]
        if values:
            print("  %-12s %.3f to %.3f" % (key, min(values), max(values)))
    if runs[0]["performance"]["baseline_settings"] and "--baseline" in runs[0]["performance"]["baseline_settings"]:
        held = sum(r["performance"]["lre_ci"][0] <= 1 <= r["performance"]["lre_ci"][1] for r in runs)
        print("  A/A          LRE %s; %d of %d intervals hold 1" % (
            " ".join("%.3f" % r["performance"]["lre"] for r in runs), held, len(runs)))
    verdicts = [r["verdict"] for r in runs]
    print("  verdicts     %s" % ", ".join("%d %s" % (verdicts.count(v), v) for v in sorted(set(verdicts))))


def main(runs, command):
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(runs):
            results.append(once(command, os.path.join(folder, "kgate.db")))
            print("run %d of %d" % (i + 1, runs), file=sys.stderr, flush=True)
    for which in range(len(results[0])):
        show([r[which] for r in results])


if __name__ == "__main__":
    if len(sys.argv) < 4 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    main(int(sys.argv[1]), sys.argv[2:])
