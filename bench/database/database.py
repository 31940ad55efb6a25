#!/usr/bin/env python3
"""100,000 results in one database: how long does `kgate results` take, how fast are results added, how large is it?

    bench/database/database.py                                  # build/kgate, 100,000 results, this machine's CPU
    bench/database/database.py --kgate dist/kgate-*/kgate --results 1000000 --folder /var/tmp

1. kgate judges six example kernels (right, slow and wrong ones, timed) into a fresh database: these records are real.
2. Their rows are copied by SQL, each with an id, a run and a date of its own, until there are enough: kgate has no
   import, and 100,000 judgements would take a day. What is in a row is what kgate wrote.
3. Each of kgate's reading commands is timed as a user would: the whole process, from fork to exit, the median of --repeats
   runs and the worst. The first run, when no page of the file is in memory yet, stands beside them where the page cache
   can be dropped for the file (posix_fadvise).
4. Adding: real `kgate run`s of cheap candidates (one that does not build) into the large database, into a fresh one and with
   --no-db; and the store's own statements, one transaction a result with synchronous=FULL, by Python's sqlite3.

Exits 1 when `kgate results list` takes longer than --limit seconds (0.3).
"""
import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = ["examples/c/%s_%s.c" % (task, kind) for task in ("relu", "softmax") for kind in ("fast", "slow", "wrong")]
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"  # of ids, as src/store/results.c makes them
COLUMNS = ("id, run, started, task, verdict, class, device, device_kind, lre, util, path, sha256, record")
BROKEN = "// kgate: task=relu\n#error candidate %d of the insert test\n"


def say(text=""):
    print(text, flush=True)


class Late(Exception):
    """The budget is spent."""


class Clock:
    def __init__(self, budget):
        self.until = time.monotonic() + budget

    def left(self):
        return self.until - time.monotonic()

    def run(self, command, most=300):
        """(seconds, standard output) of a command that has to end well within the budget."""
        if self.left() < 1:
            raise Late
        start = time.monotonic()
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=min(most, self.left()))
        except subprocess.TimeoutExpired:
            raise Late from None
        took = time.monotonic() - start
        if done.returncode:
            sys.exit("%s ended with %d: %s" % (" ".join(command), done.returncode, done.stderr.decode()[-500:]))
        return took, done.stdout.decode()


# ---- filling --------------------------------------------------------------------------------------
def copy_rows(path, wanted, seed):
    """Copies the rows that are there until there are `wanted`; seconds."""
    start = time.monotonic()
    db = sqlite3.connect(path)
    rows = db.execute("SELECT %s FROM results ORDER BY row" % COLUMNS).fetchall()
    settings = db.execute("SELECT command, settings, started, finished FROM runs LIMIT 1").fetchone()
    draw = random.Random(seed)
    taken = {r[0] for r in rows}
    here, made = len(rows), []
    while here + len(made) < wanted:
        k = len(made)
        if k % 83 == 0:  # as many candidates a run as candidates.jsonl has
            run = db.execute("INSERT INTO runs(command, settings, started, finished) VALUES(?,?,?,?)", settings).lastrowid
        row = list(rows[k % len(rows)])
        old = row[0]
        while row[0] in taken:
            row[0] = "".join(draw.choice(LETTERS) for _ in range(6))
        taken.add(row[0])
        row[1] = run
        row[2] = "2026-%02d-%02dT%02d:%02d:%02dZ" % (1 + k // 9000 % 12, 1 + k // 320 % 28, k // 13 % 24, k % 60, k * 7 % 60)
        row[12] = row[12].replace('"id":"%s"' % old, '"id":"%s"' % row[0])
        made.append(row)
        if len(made) % 20000 == 0 or here + len(made) == wanted:
            db.executemany("INSERT INTO results(%s) VALUES(%s)" % (COLUMNS, ",".join("?" * 13)), made[-(len(made) % 20000 or 20000):])
            db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return time.monotonic() - start


def out_of_memory(path):
    """Asks the kernel to forget the file's pages, so that the next reader reads the disk."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# ---- reading --------------------------------------------------------------------------------------
def reading(clock, kgate, db, repeats):
    """[(what, seconds from the disk, median, worst)]."""
    con = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
    oldest, newest = [con.execute("SELECT id FROM results ORDER BY row %s LIMIT 1" % way).fetchone()[0] for way in ("ASC", "DESC")]
    con.close()
    commands = [
        ["list"], ["list", "-n", "1000", "--format", "jsonl"], ["list", "--task", "relu"], ["list", "--verdict", "incorrect"],
        ["list", "--task", "softmax", "--verdict", "slow"], ["list", "--device", "cpu"],
        ["list", "--verdict", "tampered"],   # none of these
        ["list", "--device", "cuda"],        # nor of these
        ["show", oldest], ["show", newest[:5]], ["diff", oldest, newest]]
    say("%-54s %9s %9s %9s" % ("kgate results ...", "from disk", "median s", "worst s"))
    table = []
    for c in commands:
        out_of_memory(db)
        command = [kgate, "results"] + c + ["--db", db]
        first = clock.run(command)[0]
        times = sorted(clock.run(command)[0] for _ in range(repeats))
        table.append((" ".join(c), first, times[len(times) // 2], times[-1]))
        say("%-54s %9.3f %9.3f %9.3f" % table[-1])
    return table


# ---- adding ---------------------------------------------------------------------------------------
def adding_by_runs(clock, kgate, folder, db, n):
    """Candidates a second of real runs, by database."""
    path = os.path.join(folder, "cheap.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for i in range(n):
            f.write(json.dumps({"task": "relu", "language": "c", "code": BROKEN % i}) + "\n")
    fresh = os.path.join(folder, "fresh.db")
    ways = (("--no-db", ["--no-db"]), ("a fresh database", ["--db", fresh]), ("the large database", ["--db", db]))
    taken = {name: [] for name, _ in ways}
    for _ in range(3):  # in turn, so that the machine's moods reach all
        for name, options in ways:
            taken[name].append(clock.run([kgate, "run", "--device", "cpu", "--check-only", "--format", "jsonl", "-o", os.devnull]
                                         + options + [path])[0])
    none = min(taken["--no-db"])
    for name, _ in ways:
        best = min(taken[name])
        say("%d real judgements (no build, so cheap), %-20s %6.2f s, %7.1f a second, %+6.2f ms each" % (
            n, name + ":", best, n / best, 1e3 * (best - none) / n))


def adding_by_statements(db, n):
    """Seconds a result of the store's statements (kg_store_add), without JSON."""
    con = sqlite3.connect(db, isolation_level=None)
    con.execute("PRAGMA synchronous=FULL")
    rows = con.execute("SELECT %s FROM results ORDER BY row LIMIT ?" % COLUMNS, (n,)).fetchall()
    draw, times = random.Random(7), []
    for row in rows:
        row = ("".join(draw.choice(LETTERS) for _ in range(7)),) + row[1:]  # seven letters: never one of the others
        start = time.monotonic()
        con.execute("BEGIN IMMEDIATE")
        con.execute("SELECT 1 FROM results WHERE id = ?", (row[0],)).fetchone()
        con.execute("INSERT INTO results(%s) VALUES(%s)" % (COLUMNS, ",".join("?" * 13)), row)
        con.execute("COMMIT")
        times.append(time.monotonic() - start)
    con.execute("DELETE FROM results WHERE length(id) = 7")
    con.close()
    times.sort()
    say("the store's statements alone, one transaction a result: median %.2f ms, worst %.1f ms, %.0f a second" % (
        1e3 * times[n // 2], 1e3 * times[-1], n / sum(times)))


# ---- the command ----------------------------------------------------------------------------------
def judge_examples(clock, kgate, db):
    took, out = clock.run([kgate, "run", "--device", "cpu", "--db", db, "--format", "jsonl"] + [os.path.join(ROOT, e) for e in EXAMPLES])
    records = [json.loads(line) for line in out.splitlines()]
    if len(records) != len(EXAMPLES):
        sys.exit("kgate judged %d of %d examples" % (len(records), len(EXAMPLES)))
    say("%d examples judged in %.1f s: %s" % (len(records), took, ", ".join(
        "%s %s" % (os.path.basename(r["candidate"]["path"]), r["verdict"]) for r in records)))


def measure(o, clock, folder):
    db = os.path.join(folder, "kgate.db")
    judge_examples(clock, o.kgate, db)
    took = copy_rows(db, o.results, o.seed)
    size = os.path.getsize(db)
    con = sqlite3.connect(db)
    n, average = con.execute("SELECT count(*), avg(length(record)) FROM results").fetchone()
    con.close()
    say("%d results (rows copied by SQL in %.1f s): %.1f MB on disk, %.0f bytes each, of which the record %.0f" % (
        n, took, size / 1e6, size / n, average))
    say()
    table = reading(clock, o.kgate, db, o.repeats)
    say()
    adding_by_statements(db, o.inserts)
    adding_by_runs(clock, o.kgate, folder, db, o.inserts)
    say()
    seconds = table[0][2]
    say("kgate results list: %.3f s with %d results, asked for: %.2f s: %s" % (
        seconds, n, o.limit, "held" if seconds <= o.limit else "NOT HELD"))
    return seconds > o.limit


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"), help="the program (build/kgate)")
    p.add_argument("--results", type=int, default=100000, metavar="N", help="how many the database is to hold (100000)")
    p.add_argument("--repeats", type=int, default=9, metavar="N", help="of every reading command (9)")
    p.add_argument("--inserts", type=int, default=100, metavar="N", help="results that are added (100)")
    p.add_argument("--limit", type=float, default=0.3, metavar="SECONDS", help="what `kgate results list` may take (0.3)")
    p.add_argument("--budget", type=float, default=600, metavar="SECONDS", help="stop then (600)")
    p.add_argument("--folder", default=None, metavar="FOLDER", help="where the database is made, and removed again ($TMPDIR)")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="of the copies' ids (1)")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgate-database-", dir=o.folder) as folder:
        try:
            return measure(o, Clock(o.budget), folder)
        except Late:
            say("the budget of %.0f s is spent: what is above was measured, the rest was not" % o.budget)
            return 1


if __name__ == "__main__":
    sys.exit(main())
