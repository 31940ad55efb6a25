"""The kernels of examples/gap22: each is labelled, and what Triton makes of them for an H200 is what
their labels say, as far as a compiler can tell: who spills, who uses the matrix units."""
import csv
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import support

try:
    import torch  # noqa: F401
    import triton  # noqa: F401
    HAVE_TRITON = True
except ImportError:
    HAVE_TRITON = False

FOLDER = os.path.join(support.ROOT, "examples", "gap22")


def labels():
    with open(os.path.join(FOLDER, "labels.csv"), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


class StudySet(unittest.TestCase):
    def test_every_kernel_is_labelled_once(self):
        files = sorted(os.path.relpath(p, FOLDER) for p in glob.glob(os.path.join(FOLDER, "*", "*.*")))
        self.assertEqual(sorted(row["file"] for row in labels()), files)

    def test_labels(self):
        for row in labels():
            with self.subTest(row["file"]):
                with open(os.path.join(FOLDER, row["file"]), encoding="utf-8") as f:
                    head = f.readline()
                self.assertIn("kgate: task=gap22/" + row["operator"], head)
                self.assertEqual(os.path.dirname(row["file"]), row["language"])
                self.assertIn(row["form"], ("as-written", "repaired", "control"))
                self.assertIn(row["label"], ("clean", "authoring", "residual"))
                self.assertEqual(bool(row["cause"]), row["label"] != "clean")

    def test_all_operators(self):
        written = {r["operator"] for r in labels() if (r["language"], r["form"]) == ("triton", "as-written")}
        tasks = glob.glob(os.path.join(support.ROOT, "src", "task", "gap22", "*.c"))
        self.assertEqual(written, {os.path.basename(p)[:-2] for p in tasks})
        repaired = {r["operator"] for r in labels() if (r["language"], r["form"]) == ("triton", "repaired")}
        slow = {r["operator"] for r in labels() if (r["language"], r["label"]) == ("triton", "authoring")}
        self.assertLessEqual(slow, repaired)

    @unittest.skipUnless(HAVE_TRITON, "needs torch and triton")
    def test_compiled_for_an_h200(self):
        files = [os.path.join(FOLDER, "triton", n + ".py")
                 for n in ("softmax", "log_softmax", "log_softmax_repaired", "matmul")]
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(
                [sys.executable, os.path.join(os.path.dirname(__file__), "compile_triton.py"), *files],
                capture_output=True, text=True, timeout=300, check=False,
                env=dict(os.environ, TRITON_CACHE_DIR=cache))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in done.stdout.splitlines() if "bytes local" in line]
        local = {line.split()[0]: int(re.search(r"(\d+) bytes local", line).group(1)) for line in lines}
        self.assertGreater(local["log_softmax.py"], 256)  # of 256 values a thread
        self.assertEqual(local["log_softmax_repaired.py"], 0)
        self.assertEqual(local["softmax.py"], 0)
        self.assertIn("wgmma", "".join(line for line in lines if " matmul_kernel " in line))
        self.assertNotIn("wgmma", "".join(line for line in lines if line.startswith("softmax")))


if __name__ == "__main__":
    unittest.main()
