"""bench/crosscheck: what agrees, what is known, and what is neither, told by kgate's records alone."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "bench", "crosscheck", "crosscheck.py")

# A kgate that knows three tasks; wrong.json says which cases of which candidate are wrong.
KGATE = '''#!{python}
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
plan = json.load(open(os.path.join(here, "plan.json")))
tasks = {{"sin": ("kbx", "torch.sin"), "gap22/relu": ("gap22", "F.relu"), "and": ("kbx", "torch.and"), "own": ("kbx", None)}}
args = sys.argv[1:]
if args[:2] == ["task", "list"]:
    print(json.dumps([dict(task=t) for t in tasks]))
elif args[:2] == ["task", "show"]:
    suite, expression = tasks[args[2]]
    double = ["i32[3]"] if args[2] == "and" else ["f64[3]", "f64[4]"]
    print(json.dumps(dict(task=args[2], suite=suite, torch_baseline=expression,
                          cases=dict(full=["f32[3]", "f32[4]"], float64=double))))
elif plan.get("fails"):
    sys.exit("kgate: the machine is on fire")
else:
    with open(os.path.join(here, "runs"), "a") as f:
        f.write(args[args.index("--cases") + 1] + "\\n")
    for path in (a for a in args if a.endswith(".py")):
        text = open(path).read()
        name = text.split("task=")[1].split("\\n")[0]
        record = dict(candidate=dict(path=path), verdict="right", error=None, correctness=dict(
            cases=2, seed=int(args[args.index("--seed") + 1]), worst=dict(case="x", error_over_bound=0.25)))
        if name in plan.get("wrong", {{}}):
            record["correctness"]["wrong"] = plan["wrong"][name]
            record["correctness"]["worst"]["error_over_bound"] = None
        if name == plan.get("absent"):
            record = dict(record, verdict="broken", error="load: module 'torch' has no attribute 'sin'",
                          correctness=dict(cases=0))
        print(json.dumps(record))
'''
WRONG = [{"answered": True, "case": "f64[3] strides [2]", "error_over_bound": None, "why": "out[0]: got 1, expected 2"}]


class Crosscheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kgate-make-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kgate = self.program("kgate", KGATE.format(python=sys.executable))
        self.python = self.program("python", "#!/bin/sh\necho 9.9\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def run_it(self, *args, known="", code=0, **plan):
        with open(self.path("plan.json"), "w", encoding="utf-8") as f:
            json.dump(plan, f)
        with open(self.path("known.txt"), "w", encoding="utf-8") as f:
            f.write("# comment\n" + known)
        done = subprocess.run([sys.executable, SCRIPT, "--kgate", self.kgate, "--python", self.python, "--known",
                               self.path("known.txt"), "--pairs", "4", *args], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertLessEqual(max(map(len, (done.stdout + "\n").splitlines() or [""])), 100)
        return done

    def test_every_task_gets_its_pairs(self):
        text = self.run_it().stdout
        self.assertIn("beside PyTorch 9.9", text)
        self.assertRegex(text, r"kbx/sin +2 +0\.250 +4 +0\.250 +agrees")
        self.assertRegex(text, r"kbx/and +4 +0\.250 +- +- +agrees")
        self.assertIn("PyTorch has no callable for: own", text)
        self.assertIn("3 tasks, 16 pairs", text)  # sin and gap22/relu 2 + 4, and 4
        with open(self.path("runs"), encoding="utf-8") as f:
            self.assertEqual(f.read().split(), ["full", "float64", "full", "float64"])

    def test_a_difference_that_nobody_looked_into_fails(self):
        text = self.run_it(code=1, wrong={"gap22/relu": WRONG}).stdout
        self.assertRegex(text, r"gap22/relu +2 +infinite +4 +infinite +DIFFERS")
        self.assertIn("DIFFERS, seed 1, f64[3] strides [2]: out[0]: got 1, expected 2", text)
        self.assertIn("1 differ unexplained", text)

    def test_a_known_one_is_told_with_its_reason(self):
        known = "gap22/relu | f64[3] strides* | PyTorch is wrong: " + "because " * 30 + "\n"
        text = self.run_it(known=known, wrong={"gap22/relu": WRONG}).stdout
        self.assertIn("known, f64[3] strides*: PyTorch is wrong: because", text)
        self.run_it(code=1, known=known.replace("gap22/", "kbx/"), wrong={"gap22/relu": WRONG})
        self.run_it(code=1, known=known.replace("strides*", "*dim*"), wrong={"gap22/relu": WRONG})

    def test_a_case_without_an_answer_is_no_difference(self):
        text = self.run_it(wrong={"sin": [dict(WRONG[0], answered=False, why="RuntimeError: no Half")]}).stdout
        self.assertRegex(text, r"kbx/sin +\d+ +up to 1 +\d+ +up to 1 +agrees")
        self.assertIn("cases without an answer: f64[3] strides [2]: RuntimeError: no Half", text)

    def test_what_this_pytorch_lacks_is_no_difference(self):
        self.assertRegex(self.run_it(absent="sin").stdout, r"kbx/sin +0 +- +- +- +not in this PyTorch")

    def test_what_cannot_be_compared_is_one_line(self):
        self.assertEqual(self.run_it(code=3, fails=True).stderr,
                         "crosscheck: kgate judged 0 of 3 tasks: kgate: the machine is on fire\n")
        self.program("python", "#!/bin/sh\necho no torch here >&2\nexit 1\n")
        done = self.run_it(code=3)
        self.assertRegex(done.stderr, r"\Acrosscheck: [^\n]*no torch here: name an interpreter[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
