#!/usr/bin/env python3
"""Seconds a candidate: kgate with cold caches and warm, beside a plain harness that does the same work.

    bench/throughput/throughput.py KGATE CANDIDATES.jsonl -o OUT                       # an H200: some 7 minutes
    bench/throughput/throughput.py KGATE CANDIDATES.jsonl -o OUT --cases full --parts cold,warm
    bench/throughput/throughput.py KGATE CANDIDATES.jsonl -o OUT --cases full --parts plain      # in a second call
    bench/throughput/throughput.py KGATE CANDIDATES.jsonl -o OUT --parts all           # every candidate, as kgate judges them

The twelve candidates of chosen.txt, in one command:

  cold   a new database (so the device's ceilings are measured), and new folders for every cache there is: Triton's, torch's,
         CUDA's, kgate's. Where a cache is kept is told by environment variables, see CACHES
  warm   the same command again, with what the first one left
  plain  plain_harness.py, one process a candidate: import, reference, allclose on the cases that kgate has within the scope,
         do_bench (100 ms of warm-up, 1,000 ms of repeats) of candidate and reference at each size that kgate timed
  all    all lines of CANDIDATES.jsonl in one command, cold, the whole schema: wall time, the split, and how busy the GPU was
         (nvidia-smi's utilisation, asked five times a second: the share of time in which any kernel ran)

A candidate's seconds are the command's wall time over the number of candidates; `judged` is what the records say, each for
its own, so that start-up and ceilings are what lies between. The split is --profile's.

Results go to OUT/throughput-PART.jsonl as they come; after --budget seconds the tables are of what there is. A later call
with other --parts reads what is there.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import plain_harness  # noqa: E402

SCOPE = "f32,contiguous,nonempty,finite,small"
CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH", "XDG_CACHE_HOME", "KGATE_CACHE")
PARTS = ("cold", "warm", "plain", "all")


def say(text=""):
    print(text, flush=True)


def note(text):
    print("throughput: " + text, file=sys.stderr, flush=True)


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n") and line.strip()]


class Bench:
    def __init__(self, o):
        self.o, self.until = o, time.monotonic() + o.budget
        self.list = os.path.join(o.out, "throughput-chosen.jsonl")

    def left(self):
        return max(0.0, self.until - time.monotonic())

    def file(self, part):
        return os.path.join(self.o.out, "throughput-%s.jsonl" % part)


# ---- the chosen -------------------------------------------------------------------------------------
def choose(b):
    """Writes the list that kgate gets; its lines."""
    wanted = [tuple(line.split()) for line in open(b.o.chosen, encoding="utf-8") if line.strip() and line[0] != "#"]
    wanted = wanted[:b.o.first or None]
    lines = {(c["task"], c["round"]): c for c in read_lines(b.o.candidates)}
    missing = [" ".join(w) for w in wanted if w not in lines]
    if missing:
        sys.exit("%s lacks %s" % (b.o.candidates, ", ".join(missing)))
    with open(b.list, "w", encoding="utf-8") as f:
        for w in wanted:
            f.write(json.dumps(lines[w]) + "\n")
    return [lines[w] for w in wanted]


# ---- kgate ------------------------------------------------------------------------------------------
def environment(b, part, fresh):
    folder = os.path.join(b.o.folder, "all" if part == "all" else "chosen")
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    env = dict(os.environ, KGATE_DB=os.path.join(folder, "kgate.db"))
    for name in CACHES:
        env[name] = os.path.join(folder, name.lower())
        os.makedirs(env[name], exist_ok=True)
    return env


class Busy:
    """How busy the GPU is, by nvidia-smi, while it stands open: the mean of its answers."""

    def __enter__(self):
        self.values = []
        try:
            self.p = subprocess.Popen(["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            self.p = None
            return self
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        return self

    def read(self):
        for line in self.p.stdout:
            word = line.strip().split(",")[0]
            if word.isdigit():
                self.values.append(int(word))

    def __exit__(self, *_):
        if self.p:
            self.p.kill()
            self.p.wait()
            self.reader.join(2)

    def mean(self):
        return sum(self.values) / len(self.values) if self.values else None


def run_kgate(b, part):
    """One command; its records, and a last line {"wall", "busy", "done"}."""
    if b.left() < 5:
        return note("%s: no time left" % part)
    path = b.file(part)
    command = [b.o.kgate, "run", "--device", b.o.device, "--profile", "--timeout", "30", "--format", "jsonl"]
    if b.o.python:
        command += ["--python", b.o.python]
    if part != "all":
        command += ["--scope", b.o.scope, "--cases", b.o.cases]
    command += [b.o.candidates if part == "all" else b.list]
    env = environment(b, part, fresh=part != "warm")
    start = time.monotonic()
    with open(path, "w", encoding="utf-8") as out, open(path + ".err", "w", encoding="utf-8") as err, Busy() as busy:
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True, env=env)
        timer = threading.Timer(b.left(), p.kill)
        timer.start()
        for line in p.stdout:
            out.write(line)
            out.flush()
        p.wait()
        timer.cancel()
        wall = time.monotonic() - start
        out.write(json.dumps({"wall": wall, "busy": busy.mean(), "done": p.returncode == 0}) + "\n")
    note("%s: ended with %d after %.1f s" % (part, p.returncode, wall))
    if p.returncode:
        with open(path + ".err", encoding="utf-8") as err:
            note(err.read()[-400:].strip())


# ---- the plain harness ------------------------------------------------------------------------------
def in_scope(case):
    """Whether the plain harness can ask it, and kgate does within the scope."""
    try:
        words = plain_harness.parse(case)
    except plain_harness.Unknown:
        return False
    tensors = [t for t in (plain_harness.TENSOR.match(v) for _, v in words) if t]
    types = [t.group(1) for t in tensors]
    return "f32" in types and not {"f64", "f16", "bf16"} & set(types) and all("0" not in t.group(2).split(",") for t in tensors)


def sizes_of(b, shown, records, line):
    """The sizes that kgate timed, by its record; without one, those that it would time."""
    for r in records:
        if r["candidate"]["path"].endswith(":%d" % line) and (r["performance"] or {}).get("cases"):
            return [c["case"] for c in r["performance"]["cases"]]
    kind = "cpu" if b.o.device == "cpu" else "cuda"
    return shown["timed"][kind]


def run_plain(b, chosen):
    records = [r for part in ("cold", "warm") for r in read_lines(b.file(part)) if "candidate" in r]
    folder = os.path.join(b.o.folder, "plain")
    os.makedirs(folder, exist_ok=True)
    env = environment(b, "plain", fresh=False)
    env["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    shutil.rmtree(env["TRITON_CACHE_DIR"], ignore_errors=True)
    if b.o.device == "cpu":
        env["TRITON_INTERPRET"] = "1"
    with open(b.file("plain"), "w", encoding="utf-8") as out:
        for i, c in enumerate(chosen):
            if b.left() < 5:
                note("plain: no time left for %d candidates" % (len(chosen) - i))
                break
            shown = json.loads(subprocess.run([b.o.kgate, "task", "show", c["task"], "--format", "json"], stdout=subprocess.PIPE,
                                              check=True, timeout=30).stdout)
            source = os.path.join(folder, "%d.py" % i)
            with open(source, "w", encoding="utf-8") as f:
                f.write(c["code"])
            work = {"task": shown["task"], "path": source, "signature": shown["signature"], "torch_baseline": shown["torch_baseline"],
                    "cases": [x for x in shown["cases"]["quick" if b.o.cases == "quick" else "full"] if in_scope(x) and "2147" not in x],
                    "timed": sizes_of(b, shown, records, i + 1), "device": b.o.device}
            with open(source[:-3] + ".json", "w", encoding="utf-8") as f:
                json.dump(work, f)
            out.write(json.dumps(one_plain(b, source[:-3] + ".json", c, env)) + "\n")
            out.flush()


def one_plain(b, work, c, env):
    start = time.monotonic()
    found = {"task": c["task"], "round": c["round"], "steps": [], "error": None}
    command = [b.o.python or sys.executable, os.path.join(HERE, "plain_harness.py"), work]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=min(b.left(), 150), env=env)
        text, found["error"] = done.stdout, (done.stderr.strip().splitlines() or ["no word"])[-1] if done.returncode else None
    except subprocess.TimeoutExpired as e:
        text, found["error"] = (e.stdout or b"").decode() if isinstance(e.stdout, bytes) else e.stdout or "", "ended after its time"
    found["seconds"] = time.monotonic() - start
    found["steps"] = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    note("plain: %s %s %.1f s%s" % (c["task"], c["round"], found["seconds"], ": " + found["error"] if found["error"] else ""))
    return found


# ---- tables -----------------------------------------------------------------------------------------
def kgate_part(b, part):
    """(records, wall seconds, busy) or None."""
    lines = read_lines(b.file(part))
    last = lines[-1] if lines and "wall" in lines[-1] else None
    records = [r for r in lines if "candidate" in r]
    return (records, last["wall"] if last else None, last["busy"] if last else None) if records else None


def line_of(record):
    return int(record["candidate"]["path"].rsplit(":", 1)[1])


def candidates_table(b, chosen, parts, plain):
    say("%-28s %-2s %-10s %6s %6s %7s %6s  %s" % ("candidate, round", "", "verdict", "cold s", "warm s", "plain s", "times",
                                                   "right, sizes, left out"))
    by_line = {part: {line_of(r): r for r in found[0]} for part, found in parts.items()}
    for i, c in enumerate(chosen, 1):
        records = [by_line[p].get(i) for p in ("cold", "warm") if p in by_line]
        cold, warm = (by_line.get(p, {}).get(i) for p in ("cold", "warm"))
        verdict = next((r["verdict"] for r in records if r), "-")
        p = next((x for x in plain if (x["task"], x["round"]) == (c["task"], c["round"])), None)
        words = ""
        if p:
            checks = [s for s in p["steps"] if s["step"] == "check"]
            words = "%d of %d, %d, %d%s" % (sum(s.get("right") is True for s in checks), len(checks),
                                          sum(s["step"] == "time" and "candidate_us" in s for s in p["steps"]),
                                          sum(s["step"] == "left out" for s in p["steps"]), " " + p["error"][:14] if p["error"] else "")
        say("%-28s %-2s %-10s %6s %6s %7s %6s  %s" % (
            c["task"][:28], c["round"].replace("round_", ""), verdict, *["%.2f" % r["seconds"] if r else "-" for r in (cold, warm)],
            "%.1f" % p["seconds"] if p else "-", "%.1f" % (p["seconds"] / cold["seconds"]) if p and cold else "-", words))


def split_table(parts):
    steps = sorted({s for found in parts.values() for r in found[0] for s in r.get("profile") or {}})
    say("%-10s %s" % ("step", " ".join("%10s s %6s" % (p, "") for p in parts)) + "   (seconds a candidate, share of its judging)")
    sums = {p: {s: sum((r.get("profile") or {}).get(s, 0) for r in found[0]) for s in steps} for p, found in parts.items()}
    for s in sorted(steps, key=lambda x: -max(sums[p][x] for p in parts)):
        say("%-10s %s" % (s, " ".join("%12.3f %5.1f%%" % (sums[p][s] / len(parts[p][0]), 100 * sums[p][s] / (sum(sums[p].values()) or 1))
                                     for p in parts)))


def summary(parts, plain, want):
    each = {}
    for p, (records, wall, busy) in parts.items():
        judged = sum(r["seconds"] for r in records)
        line = "%-6s %d candidates" % (p, len(records))
        if wall:
            each[p] = wall / len(records)
            line += ": %.1f s, %.2f s a candidate; judged %.2f s each, the rest %.1f s" % (wall, each[p], judged / len(records), wall - judged)
        say(line + ("; the GPU was busy %.0f %% of it" % busy if busy is not None else "")
            + ("" if len(records) >= want or p == "all" else "  (cut short)"))
    whole = [p["seconds"] for p in plain if not p["error"]]
    if whole:
        each["plain"] = sum(whole) / len(whole)
        seconds = {}
        for p in plain:
            for s in p["steps"]:
                seconds[s["step"]] = seconds.get(s["step"], 0) + s["seconds"]
        say("plain  %d candidates: %.2f s a candidate; %s" % (len(whole), each["plain"], ", ".join(
            "%s %.2f" % (s, t / len(plain)) for s, t in seconds.items() if t)))
    for p, aim in (("cold", 1.0), ("warm", 0.3)):
        if p in each:
            say("%s: %.2f s a candidate, asked for: %.1f%s" % (p, each[p], aim, "; %.1f times as fast as the plain harness, asked for: 25" % (
                each["plain"] / each[p]) if "plain" in each and p == "cold" else ""))


# ---- the command ------------------------------------------------------------------------------------
def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kgate", metavar="KGATE", help="the program")
    p.add_argument("candidates", metavar="CANDIDATES.jsonl", help="machine-written kernels with recorded verdicts")
    p.add_argument("-o", "--out", default=".", metavar="FOLDER", help="for the records (.)")
    p.add_argument("--parts", default="cold,warm,plain", metavar="LIST", help="of %s (cold,warm,plain)" % ", ".join(PARTS))
    p.add_argument("--cases", default="quick", choices=("quick", "full"), help="as kgate run's: six sizes a task, or all (quick)")
    p.add_argument("--scope", default=SCOPE, metavar="LIST", help="as kgate run's, but for --parts all (%s)" % SCOPE)
    p.add_argument("--device", default="cuda", help="as kgate run's (cuda)")
    p.add_argument("--python", default=None, help="an interpreter with torch and Triton (kgate's own choice; this one)")
    p.add_argument("--chosen", default=os.path.join(HERE, "chosen.txt"), metavar="FILE", help="which candidates (chosen.txt)")
    p.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "kgate-throughput-%d" % os.getuid()), metavar="FOLDER",
                   help="for the caches and the plain harness's files, which are many (%(default)s)")
    p.add_argument("--first", type=int, default=0, metavar="N", help="only the first N of them")
    p.add_argument("--budget", type=float, default=560, metavar="SECONDS", help="stop then (560)")
    p.add_argument("--report", action="store_true", help="run nothing, print what OUT holds")
    o = p.parse_args()
    wanted = o.parts.split(",")
    if [w for w in wanted if w not in PARTS]:
        p.error("--parts: of %s" % ", ".join(PARTS))
    o.kgate, o.candidates = os.path.abspath(o.kgate), os.path.abspath(o.candidates)
    os.makedirs(o.out, exist_ok=True)
    o.out = os.path.abspath(o.out)
    b = Bench(o)
    chosen = choose(b)
    for part in () if o.report else wanted:
        if part == "plain":
            run_plain(b, chosen)
        else:
            run_kgate(b, part)
    parts = {part: found for part, found in ((x, kgate_part(b, x)) for x in ("cold", "warm", "all")) if found}
    plain = read_lines(b.file("plain"))
    candidates_table(b, chosen, {k: v for k, v in parts.items() if k != "all"}, plain)
    say()
    if parts:
        split_table(parts)
        say()
    summary(parts, plain, len(chosen))


if __name__ == "__main__":
    main()
