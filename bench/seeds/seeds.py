#!/usr/bin/env python3
"""Honest kernels on many seeds: does kgate ever call one wrong?

    bench/seeds/seeds.py --kgate build/kgate                    20 seeds each, 200 where bounds depend on the values
    bench/seeds/seeds.py --kgate build/kgate --seeds 1 --many 3 --only softmax,matmul

Judges every kernel of examples/kbx and examples/gap22 on the CPU, check only. Bounds that depend on how well conditioned
the values are (norms, the softmax family, losses, products and what is fused from them) get --many seeds. Prints a line
for every false alarm, then a table: judgements, false alarms, and the largest error in units of its bound. Exits 1 when
there was a false alarm.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CATEGORIES = {"Loss", "MatrixMultiply", "Normalization", "Convolution"}
NAMES = re.compile("softmax|norm|attention|linear|matmul|bmm|conv|cosine|logsumexp|entropy|dot|_mv|mm_|matrix_vector|tensordot|"
                   "std|var|transformer|ffn|swiglu|loss")


def kernels(only):
    for suite in ("kbx", "gap22"):
        for folder, _, files in os.walk(os.path.join(ROOT, "examples", suite)):
            for name in sorted(files):
                if name.endswith(".c") and (not only or name[:-2] in only):
                    yield os.path.join(folder, name)


def tasks(kgate):
    done = subprocess.run([kgate, "task", "list", "--format", "json"], check=True, capture_output=True, text=True)
    return {t["task"]: t for t in json.loads(done.stdout)}


def by_values(path, known):
    name = os.path.basename(path)[:-2]
    task = known.get(name) or known.get("gap22/" + name) or {}
    return task.get("category") in CATEGORIES or NAMES.search(name) is not None


def judge(kgate, cases, seed, files, cache, until=None):
    if until and time.time() > until:
        return seed, []
    env = dict(os.environ, CC=os.path.join(HERE, "cached_cc.sh"), CACHED_CC=cache)
    done = subprocess.run([kgate, "run", "--no-db", "--check-only", "--device", "cpu", "--cases", cases, "--scope", "small",
                           "--seed", str(seed), "--format", "jsonl", *files], capture_output=True, text=True, env=env)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    if len(records) != len(files):
        sys.exit("seed %d: %d records of %d files: %s" % (seed, len(records), len(files), done.stderr[-500:]))
    return seed, records


def worst_of(record):
    worst = record["correctness"] and record["correctness"]["worst"]
    return worst and worst["error_over_bound"] or 0


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"))
    a.add_argument("--seeds", type=int, default=20)
    a.add_argument("--many", type=int, default=200)
    a.add_argument("--first", type=int, default=1000, help="the first seed (1000)")
    a.add_argument("--cases", default="quick", choices=("quick", "full"))
    a.add_argument("--only", default="")
    a.add_argument("--budget", type=float, help="begin no seed after so many seconds")
    a.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    o = a.parse_args()
    known, only = tasks(o.kgate), set(filter(None, o.only.split(",")))
    files = list(kernels(only))
    careful = [f for f in files if by_values(f, known)]
    counts, alarms, worst, begun, done = {}, 0, {}, time.time(), {"values": 0, "others": 0}
    with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        judge(o.kgate, o.cases, o.first, files, cache)  # builds them all
        until = o.budget and begun + o.budget
        jobs = [pool.submit(judge, o.kgate, o.cases, o.first + s, files if s < o.seeds else careful, cache, until)
                for s in range(max(o.seeds, o.many))]
        for n, job in enumerate(concurrent.futures.as_completed(jobs)):
            seed, records = job.result()
            done["values"] += bool(records)
            done["others"] += len(records) == len(files)
            for r in records:
                group = "values" if any(r["candidate"]["path"] == f for f in careful) else "others"
                counts[group, r["verdict"]] = counts.get((group, r["verdict"]), 0) + 1
                if worst_of(r) > worst.get(r["task"], (0, 0))[0]:
                    worst[r["task"]] = (worst_of(r), seed)
                if r["verdict"] != "right":
                    alarms += 1
                    print("seed %d: %s is %s: %s" % (seed, r["task"], r["verdict"], r.get("error") or json.dumps(
                        r["correctness"].get("failures"))[:300]), flush=True)
            if n % 10 == 9 and sys.stderr.isatty():
                print("%d of %d seeds" % (n + 1, len(jobs)), file=sys.stderr, flush=True)
    print("honest kernels, --cases %s, seeds from %d, %.0f s" % (o.cases, o.first, time.time() - begun))
    print("%-52s %7s %6s %12s %12s" % ("", "kernels", "seeds", "judgements", "false alarms"))
    for group, title, n in (("values", "norms, softmax family, losses, products", len(careful)),
                            ("others", "the rest", len(files) - len(careful))):
        total = sum(c for (g, _), c in counts.items() if g == group)
        print("%-52s %7d %6d %12d %12d" % (title, n, done[group], total, total - counts.get((group, "right"), 0)))
    print("largest errors, in units of the bound:")
    for task, (w, seed) in sorted(worst.items(), key=lambda x: -x[1][0])[:10]:
        print("  %-50s %.3f (seed %d)" % (task, w, seed))
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
