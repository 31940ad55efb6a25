#!/usr/bin/env python3
"""Seeds mistakes into right kernels and counts how many kgate catches, beside the check most evaluators make.

  bench_mutation.py                         every kernel of examples/kbx and examples/gap22, quick cases
  bench_mutation.py --per-category 0        every mutant there is, not two a kernel and category
  bench_mutation.py --full                  those that quick cases let pass, on the full cases too
  bench_mutation.py --full=small            the same, but nobody is asked with 2^31 elements, which takes minutes a mutant
  bench_mutation.py --only softmax,relu     these tasks; --category race: these mistakes; --no-usual-check: kgate alone
  bench_mutation.py --list                  the mutants' numbers, without judging

Writes OUT/mutants.jsonl (a candidate a line), OUT/records.jsonl, OUT/survivors.txt and a table. OUT/asked.jsonl keeps
what was asked already: an interrupted run goes on there.

What is no mistake counts for neither side: a mutant that does not compile, one of which the compiler makes the honest
kernel's own machine code (a loop of one turn, a branch never built: Papadakis et al., ICSE 2015), and one that
equivalent.txt lists with the reason. A 32-bit counter goes wrong only where its own loop takes more than 2^31 turns, in
full cases made for it (src/task/large_cases.c), which take a minute each. So a kgate that is built with
KG_INDEX_BITS=15 has those cases at 2^15 elements (--small-index), and the mutants count, and compute offsets,
in 16 bits there. Those that it lets pass are asked with 2^31 elements.
Every survivor is run beside its honest kernel on all cases (mutant_differs), so that survivors.txt says whether a case is missing (nothing tells them apart) or the bound covers the difference.
Exits 1 when a mutant survives for which none of this holds.
"""
import argparse
import fnmatch
import glob
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from c_text import Source  # noqa: E402
from operators import OPERATORS  # noqa: E402

CAUGHT = ("incorrect", "broken", "tampered")
NARROW = "32-bit index"
NARROWED = re.compile(r"\bint(?:32|64)_t\b")
CANDIDATE = ("task", "code", "language", "method", "round")


def kernels(only):
    for path in sorted(glob.glob(os.path.join(ROOT, "examples/kbx/*/*.c")) + glob.glob(os.path.join(ROOT, "examples/gap22/*.c"))):
        text = open(path).read()
        said = re.search(r"kgate: task=(\S+)", text)
        task = said.group(1) if said else os.path.basename(path)[:-2]
        if not only or task in only:
            yield task, text, os.path.basename(os.path.dirname(path))


def mutants(only, categories, per_category):
    """Candidates as kgate's lists have them; method: the category, round: what was changed."""
    for task, text, folder in kernels(only):
        source = Source(text, task, folder)
        for category, operator in OPERATORS:
            if categories and category not in categories:
                continue
            seen, found = {text}, []
            for what, line, changed in operator(source):
                if changed not in seen:
                    seen.add(changed)
                    found.append((what, line, changed))
            if per_category and len(found) > per_category:
                found = random.Random("%s %s" % (task, category)).sample(found, per_category)
            for what, line, changed in found:
                yield {"task": task, "code": changed, "language": "c", "method": category, "round": "line %d: %s" % (line, what),
                       "honest": text}


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


class Asked:
    """What programs said about mutants: asked `jobs` at a time, and kept in a file, so that an interrupted run goes on and
    a second one asks about what is new."""
    BATCH = 20

    def __init__(self, folder, jobs):
        self.jobs, self.path, self.answers = jobs, os.path.join(folder, "asked.jsonl"), {}
        for line in open(self.path) if os.path.exists(self.path) else ():
            if line.endswith("}\n"):  # else the run ended while it wrote
                self.answers.update(json.loads(line))

    def answer(self, program, keys, listed, ask, *options, jobs=None):
        """ask(program, text, *options) for batches of lines with these keys; the answers in the order of `listed`."""
        stat = os.stat(program)
        lines = [json.dumps({k: m[k] for k in keys}) + "\n" for m in listed]
        names = [hashlib.sha256(repr((program, stat.st_mtime_ns, options, line)).encode()).hexdigest() for line in lines]
        new = [i for i, name in enumerate(names) if name not in self.answers]
        batches = [new[k:k + self.BATCH] for k in range(0, len(new), self.BATCH)]
        with ThreadPoolExecutor(jobs or self.jobs) as pool, open(self.path, "a") as f:
            for batch, said in zip(batches, pool.map(lambda b: ask(program, "".join(lines[i] for i in b), *options), batches)):
                fresh = {names[i]: s for i, s in zip(batch, said)}
                self.answers.update(fresh)
                f.write("".join(json.dumps({k: v}) + "\n" for k, v in fresh.items()))
                f.flush()
        return [self.answers.get(name) for name in names]


def verdicts(kgate, text, *options):
    """A record a line, None for one that is not judged: its task has no such case."""
    done = subprocess.run([kgate, "run", "--no-db", "--device", "cpu", "--check-only", "--seed", "1", "--format", "jsonl", *options, "-"],
                          input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = [None] * len(text.splitlines())
    for line in done.stdout.splitlines():
        r = json.loads(line)
        said[int(r["candidate"]["path"].rsplit(":", 1)[1]) - 1] = {k: r.get(k) for k in ("task", "verdict", "class", "error", "correctness")}
    return said


def said(program, text):
    """What usual_check or mutant_differs writes about each mutant."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.write(text)
        f.flush()
        done = subprocess.run([program, f.name], stdout=subprocess.PIPE, text=True, errors="replace")
    return [line.split(" ", 1)[1].strip() for line in done.stdout.splitlines()]


def machine_code(text):
    """What the compiler makes of a kernel, without names of files in it; None: it does not compile."""
    with tempfile.TemporaryDirectory() as d:
        done = subprocess.run(["cc", "-std=gnu17", "-O2", "-w", "-fopenmp", "-c", "-I" + os.path.join(ROOT, "include"), "-x", "c", "-",
                               "-o", "k.o"], input=text, text=True, cwd=d, stderr=subprocess.DEVNULL)
        if done.returncode:
            return None
        subprocess.run(["strip", "--strip-unneeded", "k.o"], cwd=d)
        return hashlib.sha256(open(os.path.join(d, "k.o"), "rb").read()).digest()


def in_16_bits(mutant):
    """The mutant with counters of 16 bits where it has its 32-bit ones, and with what is computed of them, which is int in C."""
    honest, code = NARROWED.findall(mutant["honest"]), NARROWED.findall(mutant["code"])
    assert len(honest) == len(code)
    pairs = iter(zip(honest, code))
    narrow = NARROWED.sub(lambda _: (lambda h, c: c if h == c else "int16_t")(*next(pairs)), mutant["code"])
    return dict(mutant, code=Source(narrow, mutant["task"], "").with_terms_cut("int16_t"))


def not_built(record):
    return record and record["verdict"] == "broken" and re.search(r"compil|undefined symbol|does not build|^build:", record.get("error") or "")


def percent(part, whole):
    return "%.1f %%" % (100.0 * part / whole) if whole else "-"


def table(rows, full):
    """Of the mistakes that count: caught with quick cases, with full ones, and by the usual check of what it compares."""
    line = "%-30s %8s %11s %8s %8s %9s %9s %12s"
    print(line % ("mistake", "mutants", "equivalent", "caught", "missed", "quick", "full", "usual check"))
    total, wide = defaultdict(int), defaultdict(int)
    for category, r in rows.items():
        for k, v in r.items():
            total[k] += v
            wide[k] += v * (category != NARROW)
    sums = [("all", total)] + ([("all but " + NARROW, wide)] if len(rows) > 1 and NARROW in rows else [])
    for category, r in list(rows.items()) + sums:
        real = r["caught"] + r["missed"]
        print(line % (category, r["mutants"], r["equivalent"], r["caught"], r["missed"], percent(r["quick"], real),
                      percent(r["caught"], real) if full else "-", percent(r["usual"], r["usual_of"])))


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"))
    p.add_argument("--usual-check", default=os.path.join(ROOT, "build", "usual_check"))
    p.add_argument("--small-index", default=os.path.join(ROOT, "build", "small-index", "kgate"))
    p.add_argument("--mutant-differs", default=os.path.join(ROOT, "build", "mutant_differs"))
    p.add_argument("--no-usual-check", action="store_true")
    p.add_argument("--out", default=os.path.join(ROOT, "build", "mutation"))
    p.add_argument("--only", default="", help="task names, separated by commas")
    p.add_argument("--category", default="", help="kinds of mistakes, separated by commas")
    p.add_argument("--per-category", type=int, default=2, help="mutants of a kernel and category (2; 0: all)")
    p.add_argument("--full", nargs="?", const="all", choices=("small", "all"), help="full cases too; small: 16-bit counters for 32-bit ones")
    p.add_argument("--list", action="store_true")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    return p.parse_args()


def some(text):
    return set(filter(None, text.split(",")))


def judged_on_full_cases(o, asked, listed, records, survivors):
    """Those once more, narrow counters on the cases that are meant for them."""
    narrow = [i for i in survivors if listed[i]["method"] == NARROW]
    others = [i for i in survivors if listed[i]["method"] != NARROW]
    large = ("--cases", "full", "--scope", "large", "--timeout")
    again = asked.answer(o.kgate, CANDIDATE, [listed[i] for i in others], verdicts, "--cases", "full", "--scope", "small", "--timeout", "60")
    records.update(zip(others, again))
    if narrow and o.full == "small" and not os.path.exists(o.small_index):
        sys.exit("no %s: `make bench-mutation` builds it" % o.small_index)
    if narrow and os.path.exists(o.small_index):
        records.update(zip(narrow, asked.answer(o.small_index, CANDIDATE, [in_16_bits(listed[i]) for i in narrow], verdicts, *large, "10")))
        narrow = [i for i in narrow if not is_caught(records[i])]
    if o.full == "all":
        records.update(zip(narrow, asked.answer(o.kgate, CANDIDATE, [listed[i] for i in narrow], verdicts, *large, "60", jobs=1)))


def same_programs(listed, survivors, jobs):
    """Survivors of which the compiler makes what it makes of the honest kernel."""
    with ThreadPoolExecutor(jobs) as pool:
        texts = sorted({listed[i]["honest"] for i in survivors})
        honest = dict(zip(texts, pool.map(machine_code, texts)))
        codes = pool.map(machine_code, [listed[i]["code"] for i in survivors])
        return {i for i, code in zip(survivors, codes) if code and code == honest[listed[i]["honest"]]}


def is_caught(record):
    return bool(record) and record["verdict"] in CAUGHT


def outcomes(o, asked, listed):
    """(records, what became of each mutant, which of them quick cases catch, why it is equivalent where it is)"""
    records = dict(enumerate(asked.answer(o.kgate, CANDIDATE, listed, verdicts, "--cases", "quick", "--timeout", "10")))
    late = [i for i, r in records.items() if not_built(r) and "did not end" in r["error"]]  # a busy machine
    for i, r in zip(late, asked.answer(o.kgate, CANDIDATE, [listed[i] for i in late], verdicts, "--cases", "quick", "--timeout", "60")):
        records[i] = r
    survivors = [i for i, r in records.items() if not is_caught(r)]
    quick = set(range(len(records))) - set(survivors)
    known = known_equivalents()
    why = {i: why_equivalent(known, listed[i]) for i in survivors}
    same = same_programs(listed, [i for i in survivors if not why[i]], o.jobs)
    open_ones = [i for i in survivors if i not in same and not why[i]]
    if o.full:
        judged_on_full_cases(o, asked, listed, records, open_ones)
    outcome = {}
    for i, r in records.items():
        outcome[i] = ("not built" if not_built(r) else "caught" if is_caught(r) else "same" if i in same
                      else "equivalent" if why[i] else "missed")
    return records, outcome, quick, why


def worst_ratio(record):
    worst = (((record or {}).get("correctness") or {}).get("worst") or {}).get("error_over_bound")
    return "" if worst is None else "; error at most %.3g of the bound" % worst


def main():
    o = options()
    os.makedirs(o.out, exist_ok=True)
    listed = list(mutants(some(o.only), some(o.category), o.per_category))
    path = os.path.join(o.out, "mutants.jsonl")
    with open(path, "w") as f:
        f.writelines(json.dumps({k: m[k] for k in CANDIDATE}) + "\n" for m in listed)
    print("%d mutants of %d kernels in %s" % (len(listed), len({m["task"] for m in listed}), path), file=sys.stderr)
    if o.list:
        return 0
    asked = Asked(o.out, o.jobs)
    records, outcome, quick, why = outcomes(o, asked, listed)

    def ask(program, keys, *wanted):
        chosen = [i for i in outcome if outcome[i] in wanted and os.path.exists(program)]
        return dict(zip(chosen, asked.answer(program, keys, [listed[i] for i in chosen], said))) if chosen else {}

    differs = ask(o.mutant_differs, ("task", "code", "honest"), "missed")
    others = {} if o.no_usual_check else ask(o.usual_check, ("task", "code"), "caught", "missed")
    with open(os.path.join(o.out, "records.jsonl"), "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in records.values())
    with open(os.path.join(o.out, "survivors.txt"), "w") as f:
        for i, m in enumerate(listed):
            if outcome[i] in ("equivalent", "missed"):
                told = why[i] or differs.get(i, "") + worst_ratio(records[i])
                f.write("%s | %s | %s | %s | %s\n" % (m["task"], m["method"], m["round"], outcome[i], told))
    rows = defaultdict(lambda: defaultdict(int))
    for i, m in enumerate(listed):
        row = rows[m["method"]]
        row[outcome[i]] += 1
        row["mutants"] += outcome[i] not in ("not built", "same")
        row["quick"] += outcome[i] == "caught" and i in quick
        row["usual_of"] += others.get(i) in ("passed", "caught")
        row["usual"] += others.get(i) == "caught"
    table(rows, o.full)
    ends = list(outcome.values())
    print("no mistake at all: %d that do not compile, %d of the honest kernel's own machine code" % (ends.count("not built"), ends.count("same")))
    print("survivors: %s (%d missed)" % (os.path.join(o.out, "survivors.txt"), ends.count("missed")))
    return 1 if ends.count("missed") else 0


if __name__ == "__main__":
    sys.exit(main())
