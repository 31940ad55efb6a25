#!/usr/bin/env python3
"""Every oracle beside PyTorch: is the answer that kgate judges by the one that PyTorch gives?

    make crosscheck
    bench/crosscheck/crosscheck.py [options] [TASK...]

Each task's torch_baseline is written out as a Python candidate, and kgate judges them all, on the CPU or with --device
cuda on a GPU (PyTorch's own kernels there), twice over:

  schema   every full case of the task in its own dtypes
  float64  every full case with all its floating tensors in float64, where bounds are some 1e9 times as narrow

A case is called on two sets of values; tasks with few cases are judged under more seeds, until they have --pairs of
case and seed (in float64, where they have that). What this PyTorch does not do (float16 on the CPU, say) is counted,
and no difference.

The table has a line a task: cases and pairs compared, and the largest difference as a share of the bound that an
honest kernel has to keep: above 1 the two disagree. Disagreements that were looked into are in known.txt, with who is
right; exit 1 when there is one that is not.
"""
import argparse
import json
import math
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NAMES = {"full": "schema", "float64": "float64"}  # --cases, as the table calls it
DOUBLE = re.compile(r"\b(f64|c128)\[")
CANDIDATE = """# kgate: task=%s
import math

import torch
import torch.nn.functional as F

kernel_function = (%s)
"""


class Unable(Exception):
    """The comparison cannot be made; one line."""


# ---- tasks ------------------------------------------------------------------------------------------
class Task:
    def __init__(self, description):
        self.name = description["task"]
        self.label = description["suite"] + "/" + self.name.split("/")[-1]
        self.expression = description["torch_baseline"]
        self.double = any(DOUBLE.search(c) for c in description["cases"]["float64"])
        self.path = None
        self.schema, self.float64 = Tally(), Tally()
        self.absent = None  # why this PyTorch does not have it


class Tally:
    """What one kind of run came to: pairs of case and seed, the largest error over bound, the wrong ones."""

    def __init__(self):
        self.pairs, self.worst, self.left_out = 0, 0.0, 0
        self.wrong, self.unanswered, self.not_checked = [], [], []

    def add(self, record):
        correctness = record["correctness"]
        wrong = [dict(w, seed=correctness["seed"]) for w in correctness.get("wrong", ())]
        unanswered = [w for w in wrong if not w["answered"]]
        answered = [w for w in wrong if w["answered"]]
        self.pairs += correctness["cases"] - len(unanswered)
        self.left_out += correctness.get("not_run", 0)
        self.not_checked += correctness.get("not_checked", ())
        self.wrong += answered
        self.unanswered += unanswered
        # Of a record with wrong cases that one is the worst, and how near the others came is not known.
        worst = answered or ([] if unanswered else [correctness["worst"]])
        self.worst = max([self.worst] + [share(w["error_over_bound"]) for w in worst if w])


def share(error_over_bound):
    return math.inf if error_over_bound is None else error_over_bound


def show_all(kgate, names):
    listed = names or [t["task"] for t in json.loads(output([kgate, "task", "list", "--format", "json"]))]
    shown = [json.loads(output([kgate, "task", "show", n, "--format", "json"])) for n in listed]
    return [Task(s) for s in shown if s["torch_baseline"]], [s["task"] for s in shown if not s["torch_baseline"]]


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Unable(done.stderr.strip().split("\n")[-1] or "%s ended with %d" % (" ".join(command), done.returncode))
    return done.stdout


# ---- judging ----------------------------------------------------------------------------------------
def write_candidates(folder, tasks):
    for t in tasks:
        t.path = os.path.join(folder, t.name.replace("/", "_") + ".py")
        with open(t.path, "w", encoding="utf-8") as f:
            f.write(CANDIDATE % (t.name, t.expression))


def judge(options, what, tasks, seed, tally):
    """Judges the tasks' candidates, by -j processes of kgate; tally(task) takes what is found."""
    each = -(-len(tasks) // options.jobs)
    size = each if options.jobs == 1 else min(4, each)  # few a process, so that all begin and end together
    parts = queue.SimpleQueue()
    for i in range(0, len(tasks), size):
        parts.put(tasks[i:i + size])
    failed, seen = [], []

    def work():
        while time.monotonic() < options.until:
            try:
                judge_part(options, what, parts.get_nowait(), seed, tally, lambda t: told(t, seen))
            except queue.Empty:
                return
            except Unable as e:
                failed.append(e)

    def told(task, seen):
        seen.append(task)
        progress("%s, seed %d: %d of %d tasks, %s" % (NAMES[what], seed, len(seen), len(tasks), task.name))

    workers = [threading.Thread(target=work) for _ in range(options.jobs)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    progress("")
    if failed:
        raise failed[0]


def judge_part(options, what, tasks, seed, tally, tell):
    command = [options.kgate, "run", "--no-db", "--check-only", "--cases", what, "--device", options.device, "--python",
               options.python, "--timeout", "300", "--seed", str(seed), "--format", "jsonl"]
    if options.scope:
        command += ["--scope", options.scope]
    by_path = {t.path: t for t in tasks}
    seen = 0
    with subprocess.Popen(command + list(by_path), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        late = threading.Timer(max(0, options.until - time.monotonic()), run.kill)
        if options.until < math.inf:
            late.start()
        for line in run.stdout:
            if not line.endswith("\n"):
                break  # the time was up while kgate wrote it
            record = json.loads(line)
            task = by_path[record["candidate"]["path"]]
            seen += 1
            take(task, tally(task), record)
            if options.records:
                with open(options.records, "a", encoding="utf-8") as f:
                    f.write(line)
            tell(task)
        said = run.stderr.read().strip()
        late.cancel()
    for path, why in re.findall(r"^kgate: (\S+): (no case was checked: .*|.* leaves no case of .*)$", said, re.M):
        if path in by_path:
            seen += 1
            tally(by_path[path]).not_checked.append({"case": "-", "why": why})
    if time.monotonic() < options.until and seen != len(tasks):
        raise Unable("kgate judged %d of %d tasks: %s" % (seen, len(tasks), said.split("\n")[0]))


def take(task, tally, record):
    if record["verdict"] == "broken" and not record["correctness"]["cases"]:
        if "has no attribute" in record["error"]:
            task.absent = record["error"]
        else:
            tally.wrong.append({"case": "-", "seed": record["correctness"]["seed"], "why": record["error"]})
        return
    tally.add(record)
    if record["verdict"] == "broken" and record["error"]:  # crashed or hung there
        tally.wrong.append(dict(record["correctness"]["worst"], seed=record["correctness"]["seed"], why=record["error"]))


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text[:100])
        sys.stderr.flush()
    elif text.endswith("tasks") or re.search(r"(\d+) of \1 ", text):
        print(text, file=sys.stderr, flush=True)


def compare(options, tasks):
    judge(options, "full", tasks, options.seed, lambda t: t.schema)
    here = [t for t in tasks if not t.absent]
    for seed in range(options.seed, options.seed + options.pairs):
        wanting = [t for t in here if t.double and t.float64.pairs < options.pairs]
        if wanting:
            judge(options, "float64", wanting, seed, lambda t: t.float64)
        wanting = [t for t in here if not t.double and t.schema.pairs < options.pairs]
        if wanting:
            judge(options, "full", wanting, seed + 1, lambda t: t.schema)
        here = [t for t in here if pairs_of(t)]


# ---- known differences ------------------------------------------------------------------------------
class Known:
    def __init__(self, line):
        self.task, self.pattern, self.why = [part.strip() for part in line.split("|", 2)]
        self.match = re.compile(".*".join(map(re.escape, self.pattern.split("*")))).fullmatch


def read_known(path):
    with open(path, encoding="utf-8") as f:
        return [Known(line) for line in f if line.strip() and not line.startswith("#")]


def explain(task, known):
    """(lines of known.txt that apply, wrong cases that none explains)."""
    applied, unexplained = [], []
    for wrong in task.schema.wrong + task.float64.wrong:
        k = next((k for k in known if k.task == task.label and k.match(wrong["case"])), None)
        if k is None:
            unexplained.append(wrong)
            continue
        if k not in applied:
            applied.append(k)
    return applied, unexplained


# ---- the table --------------------------------------------------------------------------------------
LINE = "%-34s %6s %9s %8s %9s  %s"


def ratio(tally):
    if not tally.pairs:
        return "-"
    if math.isinf(tally.worst):
        return "infinite"
    if tally.unanswered and tally.worst <= 1:
        return "up to 1"  # of a record with failures only those have numbers
    return "%.3f" % tally.worst if tally.worst < 1000 else "%.1e" % tally.worst


def wrapped(text, indent, width=100):
    lines, line = [], " " * indent
    for word in text.split():
        if len(line) + 1 + len(word) > width and line.strip():
            lines.append(line)
            line = " " * indent
        line += (" " if line.strip() else "") + word
    return lines + [line]


def pairs_of(task):
    return task.schema.pairs + task.float64.pairs


def table(tasks, known, to):
    failures = 0
    print(LINE % ("task", "schema", "worst", "float64", "worst", ""), file=to)
    for t in tasks:
        applied, unexplained = explain(t, known)
        unanswered = t.schema.unanswered + t.float64.unanswered
        word = "DIFFERS" if unexplained else "known" if applied else "agrees" if pairs_of(t) else \
            "not in this PyTorch" if t.absent else "not reached"
        print(LINE % (t.label, t.schema.pairs, ratio(t.schema), t.float64.pairs or "-",
                      ratio(t.float64), word), file=to)
        if unanswered and pairs_of(t):
            print("\n".join(wrapped("%d cases without an answer: %s: %s" % (
                len(unanswered), unanswered[0]["case"], unanswered[0]["why"]), 4)), file=to)
        for short in t.schema.not_checked + t.float64.not_checked:
            print("\n".join(wrapped("not checked: %(case)s %(why)s" % short, 4)), file=to)
        left_out = t.schema.left_out + t.float64.left_out
        if left_out:
            print("    %d cases were left out: kgate ends early where much fails and takes long" % left_out, file=to)
        for k in applied:
            print("\n".join(wrapped("known, %s: %s" % (k.pattern, k.why), 4)), file=to)
        for wrong in first_of_each(unexplained):
            print("\n".join(wrapped("DIFFERS, seed %d, %s: %s" % (wrong["seed"], wrong["case"], wrong["why"]), 4)),
                  file=to)
        failures += bool(unexplained)
    return failures


def first_of_each(wrong):
    seen = {}
    for w in wrong:
        seen.setdefault(w["case"], w)
    return seen.values()


def report(options, tasks, without, known, to):
    print("kgate's oracles beside PyTorch %s on %s, seed %d. worst: largest error over bound." %
          (options.torch, options.device, options.seed), file=to)
    print(file=to)
    failures = table(tasks, known, to)
    print(file=to)
    compared = [t for t in tasks if pairs_of(t)]
    pairs = sum(map(pairs_of, compared))
    print("%d tasks, %d pairs of case and seed (each on two sets of values): %d differ unexplained." %
          (len(compared), pairs, failures), file=to)
    rest = [t.name for t in tasks if not pairs_of(t) and not t.absent and not t.schema.wrong]
    if rest:
        print("\n".join(wrapped("Not reached, or without a case in this scope: " + " ".join(rest), 0)), file=to)
    if without:
        print("\n".join(wrapped("PyTorch has no callable for: " + ", ".join(without), 0)), file=to)
    return failures


# ---- the command ------------------------------------------------------------------------------------
def arguments(words=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tasks", nargs="*", metavar="TASK", help="these only (default: all)")
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"), help="the program (build/kgate)")
    p.add_argument("--device", default="cpu", help="as kgate run's (cpu)")
    p.add_argument("--python", default=None, help="an interpreter that has torch ($KGATE_PYTHON, python3, or "
                   "/usr/bin/python3, Debian's)")
    p.add_argument("--pairs", type=int, default=20, metavar="N", help="of case and seed, a task in float64 (20; 0: schema alone)")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="the first seed (1)")
    p.add_argument("--scope", default=None, metavar="LIST", help="kgate run's; on a CPU small, where cases past 2^31 "
                   "elements take minutes")
    p.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="that many kgate at once (1)")
    p.add_argument("--within", type=float, default=math.inf, metavar="SECONDS",
                   help="stop then, and name the tasks that were not reached")
    p.add_argument("--records", metavar="FILE", help="add kgate's records to this file as they come")
    p.add_argument("--known", default=os.path.join(HERE, "known.txt"), metavar="FILE",
                   help="differences that were looked into (known.txt beside this program)")
    p.add_argument("-o", "--output", metavar="FILE", help="write the table there")
    return p.parse_args(words)


def find_torch(named):
    """(interpreter, torch's version)."""
    for python in [named] if named else ["python3", "/usr/bin/python3"]:
        try:
            return python, output([python, "-c", "import torch; print(torch.__version__)"]).strip()
        except (Unable, OSError) as e:
            why = "%s: %s" % (python, e)
    raise Unable(why + ": name an interpreter that has torch with --python")


def main():
    options = arguments()
    options.python, options.torch = find_torch(options.python or os.environ.get("KGATE_PYTHON"))
    if options.scope is None and options.device == "cpu":
        options.scope = "small"
    options.until = time.monotonic() + options.within
    known = read_known(options.known)
    tasks, without = show_all(options.kgate, options.tasks)
    failed = None
    with tempfile.TemporaryDirectory(prefix="kgate-crosscheck-") as folder:
        write_candidates(folder, tasks)
        try:
            compare(options, tasks)
        except Unable as e:  # what was compared is worth its table
            if not any(map(pairs_of, tasks)):
                raise
            failed = e
    if options.output:
        with open(options.output, "w", encoding="utf-8") as to:
            failures = report(options, tasks, without, known, to)
    else:
        failures = report(options, tasks, without, known, sys.stdout)
    if failed:
        raise failed
    return failures


if __name__ == "__main__":
    try:
        sys.exit(1 if main() else 0)
    except Unable as e:
        print("crosscheck: %s" % e, file=sys.stderr)
        sys.exit(3)
