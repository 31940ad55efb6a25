#!/usr/bin/env python3
"""Seeds mistakes into right kernels and counts how many kgate catches, beside the check most evaluators make.

  bench_mutation.py                         every kernel of examples/kbx and examples/gap22, quick cases
  bench_mutation.py --per-category 0        every mutant there is, not two a kernel and category
  bench_mutation.py --full                  those that quick cases let pass, on the full cases too
  bench_mutation.py --only softmax,relu     these tasks
  bench_mutation.py --list                  the mutants' numbers, without judging

Writes OUT/mutants.jsonl (a candidate a line), OUT/records.jsonl, OUT/survivors.txt and a table. A mutant that does not
compile, or that kgate's record cannot tell from the kernel it was made of (listed in equivalent.txt with the reason),
counts for neither side. Exits 1 when a mutant survives that is not listed there.
"""
import argparse
import fnmatch
import glob
import json
import os
import random
import re
import subprocess
import sys
import threading
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from c_text import Source  # noqa: E402
from operators import OPERATORS  # noqa: E402

CAUGHT = ("incorrect", "broken", "tampered")


def kernels(only):
    for path in sorted(glob.glob(os.path.join(ROOT, "examples/kbx/*/*.c")) + glob.glob(os.path.join(ROOT, "examples/gap22/*.c"))):
        text = open(path).read()
        said = re.search(r"kgate: task=(\S+)", text)
        task = said.group(1) if said else os.path.basename(path)[:-2]
        if not only or task in only:
            yield task, text


def mutants(only, per_category):
    """Candidates as kgate's lists have them; method: the category, round: what was changed."""
    for task, text in kernels(only):
        source = Source(text)
        for category, operator in OPERATORS:
            seen, found = {text}, []
            for what, line, changed in operator(source):
                if changed not in seen:
                    seen.add(changed)
                    found.append((what, line, changed))
            if per_category and len(found) > per_category:
                found = random.Random("%s %s" % (task, category)).sample(found, per_category)
            for what, line, changed in found:
                yield {"task": task, "code": changed, "language": "c", "method": category, "round": "line %d: %s" % (line, what)}


def known_equivalents():
    """Lines of equivalent.txt: task pattern, category, pattern of the change, why; separated by ` | `."""
    known = []
    for line in open(os.path.join(HERE, "equivalent.txt")):
        if line.strip() and not line.startswith("#"):
            known.append([part.strip() for part in line.split(" | ")])
    return known


def why_equivalent(known, mutant):
    for task, category, what, why in known:
        if fnmatch.fnmatch(mutant["task"], task) and fnmatch.fnmatch(mutant["method"], category) and re.search(what, mutant["round"]):
            return why
    return None


def judge(kgate, listed, cases, jobs):
    """Records of the mutants, in their order; several kgates side by side, each on a share."""
    shares = [listed[i::jobs] for i in range(jobs)]
    running = []
    for share in shares:
        p = subprocess.Popen([kgate, "run", "--no-db", "--device", "cpu", "--check-only", "--cases", cases, "--seed", "1", "--timeout", "10",
                              "--format", "jsonl", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        running.append(p)
    results = [None] * jobs

    def feed(i):
        results[i] = running[i].communicate("".join(json.dumps(m) + "\n" for m in shares[i]))[0]

    threads = [threading.Thread(target=feed, args=(i,)) for i in range(jobs)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    records = [None] * len(listed)
    for i in range(jobs):
        for k, line in enumerate(results[i].splitlines()):
            records[i + k * jobs] = json.loads(line)
    return records


def usual(program, path):
    done = subprocess.run([program, path], stdout=subprocess.PIPE, text=True)
    return [line.split()[1] for line in done.stdout.splitlines()]


def not_built(record):
    return record and record["verdict"] == "broken" and re.search(r"compil|undefined symbol|does not build", record.get("error") or "")


def table(rows):
    print("%-32s %8s %8s %11s %9s %9s %11s" % ("mistake", "mutants", "caught", "equivalent", "missed", "caught %", "usual check"))
    total = defaultdict(int)
    for category, r in rows.items():
        for k, v in r.items():
            total[k] += v
    for category, r in list(rows.items()) + [("all", total)]:
        real = r["mutants"] - r["equivalent"]
        usual_part = "%9.1f %%" % (100.0 * r["usual"] / r["usual_of"]) if r["usual_of"] else "-"
        print("%-32s %8d %8d %11d %9d %7.1f %% %11s" % (category, r["mutants"], r["caught"], r["equivalent"], r["missed"],
                                                        100.0 * r["caught"] / real if real else 100, usual_part))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"))
    p.add_argument("--usual-check", default=os.path.join(ROOT, "build", "usual_check"))
    p.add_argument("--out", default=os.path.join(ROOT, "build", "mutation"))
    p.add_argument("--only", default="", help="task names, separated by commas")
    p.add_argument("--per-category", type=int, default=2, help="mutants of a kernel and category (2; 0: all)")
    p.add_argument("--full", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    o = p.parse_args()
    os.makedirs(o.out, exist_ok=True)
    listed = list(mutants(set(filter(None, o.only.split(","))), o.per_category))
    path = os.path.join(o.out, "mutants.jsonl")
    with open(path, "w") as f:
        f.writelines(json.dumps(m) + "\n" for m in listed)
    print("%d mutants of %d kernels in %s" % (len(listed), len({m["task"] for m in listed}), path), file=sys.stderr)
    if o.list:
        return 0
    records = judge(o.kgate, listed, "quick", o.jobs)
    if o.full:
        left = [i for i, r in enumerate(records) if r and r["verdict"] == "right"]
        for i, r in zip(left, judge(o.kgate, [listed[i] for i in left], "full", o.jobs)):
            records[i] = r
    with open(os.path.join(o.out, "records.jsonl"), "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)
    others = usual(o.usual_check, path) if os.path.exists(o.usual_check) else []
    known, rows, survivors = known_equivalents(), defaultdict(lambda: defaultdict(int)), []
    for i, (m, r) in enumerate(zip(listed, records)):
        row = rows[m["method"]]
        if not_built(r):
            continue
        row["mutants"] += 1
        caught = r is not None and r["verdict"] in CAUGHT
        row["caught"] += caught
        why = None if caught else why_equivalent(known, m)
        row["equivalent"] += why is not None
        if not caught:
            survivors.append((i, m, r, why))
            row["missed"] += why is None
        if i < len(others) and others[i] in ("passed", "caught") and why is None:
            row["usual_of"] += 1
            row["usual"] += others[i] == "caught"
    with open(os.path.join(o.out, "survivors.txt"), "w") as f:
        for i, m, r, why in survivors:
            f.write("%d | %s | %s | %s | %s\n" % (i, m["task"], m["method"], m["round"], why or (r or {}).get("verdict")))
    table(rows)
    missed = sum(why is None for _, _, _, why in survivors)
    print("survivors: %s (%d not explained)" % (os.path.join(o.out, "survivors.txt"), missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
