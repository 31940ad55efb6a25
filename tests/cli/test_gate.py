"""Timed verdicts through the command line. Thresholds leave room for a machine that is busy with other tests."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))
EXAMPLES = os.path.join(ROOT, "examples", "c")


def kgate(*arguments):
    return subprocess.run([KGATE] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280)


class Gate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.db = os.path.join(self.folder.name, "results.db")

    def test_slow_kernel_stops_the_gate(self):
        done = kgate("gate", "--device", "cpu", "--db", self.db, os.path.join(EXAMPLES, "relu_slow.c"))
        self.assertEqual(done.returncode, 1, done.stderr)
        why = r"worst .*means over the screened sizes:.* (LRE [\d.]+ < 0\.800|utilisation [\d.]+% < 35%)"
        said = done.stderr.decode()
        self.assertRegex(said, r"gate not met \(--require efficient\): \S+relu_slow\.c: slow: .*" + why)
        self.assertRegex(done.stdout.decode().replace("\n", " "), why)

    def test_fast_kernel_passes_a_generous_gate_and_its_times_stand_in_the_record(self):
        path = os.path.join(EXAMPLES, "sum_fast.c")
        done = kgate("gate", "--device", "cpu", "--db", self.db, "--format", "jsonl", "--lre-min", "0.1", "--util-min",
                     "0.02", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        record = json.loads(done.stdout)
        self.assertEqual(record["verdict"], "efficient")
        for case in record["performance"]["cases"]:
            low, high = case["ci_us"]
            self.assertLessEqual(low, case["time_us"])
            self.assertLessEqual(case["time_us"], high)
            self.assertGreaterEqual(case["samples"], 5)
            self.assertGreater(case["sol_us"], 0)

    # Others may disturb a run on a shared machine, hardly three in a row; a bias shows in all of them.
    def test_kernel_as_its_own_baseline_is_as_fast_as_itself(self):
        path, seen = os.path.join(EXAMPLES, "sum_slow.c"), []
        while len(seen) < 3:
            done = kgate("run", "--device", "cpu", "--db", self.db, "--format", "jsonl", "--baseline", path, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            performance = json.loads(done.stdout)["performance"]
            low, high = performance["lre_ci"]
            seen.append((low, performance["lre"], high))
            if low < 1.1 and high > 0.9 and abs(performance["lre"] - 1) < 0.3:
                return
        self.fail("LRE of a kernel beside itself: %s" % seen)

    def test_deadly_candidates_cost_their_own_verdict_alone(self):
        faults = os.path.join(ROOT, "bench", "faults", "faults.py")
        done = subprocess.run([sys.executable, faults, KGATE, "cpu", "--check-only"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=280)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
