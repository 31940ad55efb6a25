"""bench/crosscheck with kgate itself: -j, --within and --records, on real records.

C candidates need no torch: the same way of judging, on kernels whose answer is known. With an interpreter that has torch
($KGATE_PYTHON, python3, /usr/bin/python3) the whole command compares two tasks on the CPU too.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))
SCRIPT = os.path.join(ROOT, "bench", "crosscheck", "crosscheck.py")
sys.path.insert(0, os.path.dirname(SCRIPT))
import crosscheck  # noqa: E402

RELU = """// kgate: task=relu
#include <kgate/kernel.h>
int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace;
    for (int64_t i = 0; i < kg_elements(out); i++) { double x = kg_get(input, i); kg_put(out, i, %s); }
    return 0;
}
"""
RIGHT = RELU % "x > 0 || x != x ? x : 0"
WRONG = RELU % "x"
CRASH = RELU % "*(volatile double *)0"
ENDLESS = RELU.replace("    for (", "    for (volatile int i = 0;; i++) ;\n    for (") % "x"
# kgate, and a line a run with when it began and when it ended.
TIMED = """#!/bin/sh
began=$(date +%%s.%%N)
%s "$@"
code=$?
[ "$1" != run ] || echo "$began $(date +%%s.%%N)" >> %s
exit $code
"""


class Crosscheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kgate-make-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kgate = self.write("kgate", TIMED % (shlex.quote(KGATE), shlex.quote(self.path("runs"))))
        os.chmod(self.kgate, 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def records(self):
        with open(self.path("records"), encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def runs(self):
        """(when it began, when it ended) of every `kgate run` that came to its end."""
        with open(self.path("runs"), encoding="utf-8") as f:
            return [tuple(map(float, line.split())) for line in f]


class Judging(Crosscheck):
    """judge(), with C candidates in the place of PyTorch's callables."""

    def judge(self, *words, kgate=None, **sources):
        options = crosscheck.arguments(["--kgate", kgate or self.kgate, "--scope", "small", "--records",
                                        self.path("records"), *words])
        options.python = sys.executable  # asked for, and not needed by C
        options.until = time.monotonic() + options.within
        shown, _ = crosscheck.show_all(KGATE, ["relu"] * len(sources))
        tasks = dict(zip(sources, shown))
        for name, task in tasks.items():
            task.path = self.write(name + ".c", sources[name])
        crosscheck.judge(options, "full", list(tasks.values()), options.seed, lambda t: t.schema)
        return tasks

    def test_what_a_record_says_is_what_the_table_says(self):
        tasks = self.judge(right=RIGHT, wrong=WRONG, crash=CRASH)
        by_path = {r["candidate"]["path"]: r["correctness"] for r in self.records()}
        self.assertEqual(set(by_path), {t.path for t in tasks.values()})
        right, wrong, crash = (tasks[n].schema for n in ("right", "wrong", "crash"))
        self.assertEqual(right.pairs, by_path[tasks["right"].path]["cases"])
        self.assertGreater(right.pairs, 20)
        self.assertEqual((right.wrong, right.unanswered), ([], []))
        self.assertLessEqual(right.worst, 1)
        self.assertTrue(wrong.wrong)
        self.assertTrue(all(w["seed"] == 1 and w["case"] and w["why"] for w in wrong.wrong), wrong.wrong)
        self.assertGreater(wrong.worst, 1)
        self.assertTrue(crash.wrong)
        self.assertEqual([crosscheck.explain(tasks[n], [])[1] != [] for n in tasks], [False, True, True])

    def test_jobs_judge_at_once_and_few_tasks_are_shared_out(self):
        self.judge("-j", "2", one=RIGHT, two=RIGHT)
        (a, b), (c, d) = sorted(self.runs())
        self.assertLess(c, b)  # the second began before the first had ended
        self.assertEqual(len(self.records()), 2)

    def test_one_job_is_one_kgate(self):
        self.judge(one=RIGHT, two=RIGHT)
        self.assertEqual(len(self.runs()), 1)

    def test_nothing_goes_on_past_the_time_limit(self):
        began = time.monotonic()
        tasks = self.judge("--within", "5", kgate=KGATE, endless=ENDLESS, after=RIGHT)
        self.assertLess(time.monotonic() - began, 120)  # the candidate's own limit is 300 s
        self.assertEqual([crosscheck.pairs_of(t) for t in tasks.values()], [0, 0])

    def test_records_are_added_to_the_file(self):
        self.write("records", '{"of": "a run before"}\n')
        self.judge(one=RIGHT)
        self.assertEqual([r.get("of", r.get("task")) for r in self.records()], ["a run before", "relu"])


@unittest.skipIf(os.environ.get("KGATE_SANITIZE"), "a sanitizer's runner cannot be loaded by Python")
class WithTorch(Crosscheck):
    def setUp(self):
        super().setUp()
        try:
            self.python, _ = crosscheck.find_torch(os.environ.get("KGATE_PYTHON"))
        except crosscheck.Unable as e:
            self.skipTest("no Python with torch: %s" % e)

    def run_it(self, *args):
        done = subprocess.run([sys.executable, SCRIPT, "--kgate", self.kgate, "--python", self.python, "--pairs", "1", *args,
                               "asin", "min"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_two_tasks_by_two_kgates(self):
        self.assertEqual(self.run_it("-j", "2", "--records", self.path("records"), "-o", self.path("table")), "")
        with open(self.path("table"), encoding="utf-8") as f:
            table = f.read()
        self.assertIn("2 tasks, ", table)
        self.assertEqual(len(self.runs()), 4)  # each task in its own dtypes, and in float64
        for name in ("asin", "min"):
            # As they are written: in its own dtypes first.
            schema, double = [r["correctness"] for r in self.records() if r["task"] == name]
            answered = [c["cases"] - len(c.get("wrong", ())) for c in (schema, double)]  # this PyTorch may lack float16
            self.assertGreater(min(answered), 20)
            self.assertLessEqual(double["worst"]["error_over_bound"], 1)
            self.assertRegex(table, r"kbx/%s +%d +(\d\.\d{3}|up to 1) +%d +%.3f +agrees" % (
                name, answered[0], answered[1], double["worst"]["error_over_bound"]))

    def test_what_there_was_no_time_for_is_named(self):
        table = self.run_it("--within", "0")
        self.assertIn("0 tasks, 0 pairs", table)
        self.assertIn("Not reached, or without a case in this scope: asin min", table)


if __name__ == "__main__":
    unittest.main()
