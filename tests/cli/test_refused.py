"""Past 2^31 elements a kernel may say that it cannot; it may not be wrong."""
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))
START = "    double total = 0;\n"
FAR = "f32[3,5] strides [1073743874,1] C=f32[3,3] strides [1073743874,1] alpha=1 beta=0.5"  # the task's one large case


def judge(inserted, *options):
    """A right kernel of symmetric_mm_and_abs_sum with something before its first line: its record, or what kgate said."""
    with open(os.path.join(ROOT, "examples", "kbx", "matrixmultiply", "symmetric_mm_and_abs_sum.c"), encoding="utf-8") as f:
        text = f.read()
    assert text.count(START) == 1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "symmetric_mm_and_abs_sum.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#include <string.h>\n" + text.replace(START, inserted + START))
        done = subprocess.run([KGATE, "run", "--no-db", "--check-only", "--device", "cpu", "--cases", "full", "--format",
                               "jsonl", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False)
    return done, json.loads(done.stdout) if done.stdout.strip() else None


class Refused(unittest.TestCase):
    def test_a_large_case_refused_is_named_and_no_mistake(self):
        _, record = judge("    if (kg_stride(A, 0) > 1 << 28) return 22;\n")
        self.assertEqual(record["verdict"], "right")
        self.assertEqual([c["case"] for c in record["correctness"]["not_checked"]], [FAR])
        self.assertRegex(record["correctness"]["not_checked"][0]["why"], r"\Arefused: .*22")

    def test_a_small_case_refused_is_a_mistake(self):
        _, record = judge("    if (n > 4 && kg_stride(A, 0) < 1 << 28) return 22;\n")
        self.assertEqual(record["verdict"], "incorrect")
        self.assertNotIn("not_checked", record["correctness"])

    def test_a_large_case_that_crashes_or_is_wrong_is_a_mistake(self):
        _, record = judge("    if (kg_stride(A, 0) > 1 << 28) *(volatile int *)8 = 1;\n")
        self.assertEqual(record["verdict"], "broken")
        _, record = judge("    if (kg_stride(A, 0) > 1 << 28) return kg_put(out, 0, 1), 0;\n")
        self.assertEqual((record["verdict"], record["correctness"]["worst"]["case"]), ("incorrect", FAR))

    def test_writing_beside_the_output_is_a_mistake_whatever_it_says(self):
        _, record = judge("    if (kg_stride(A, 0) > 1 << 28) {\n"
                          "        memset((char *)out->data - 64, 1, 64);\n        return 22;\n    }\n")
        self.assertEqual((record["verdict"], record["correctness"]["worst"]["case"]), ("incorrect", FAR))
        self.assertRegex(record["correctness"]["why"], "22.*memory beside an output was written")

    def test_refusing_all_that_was_asked_gives_no_verdict(self):
        done, record = judge("    if (kg_stride(A, 0) > 1 << 28) return 22;\n", "--case", FAR)
        self.assertEqual((done.returncode, record), (3, None))
        self.assertRegex(done.stderr, r"no case was checked: f32\[3,5\] strides [^\n]* refused: [^\n]*22")

    def test_a_case_of_another_language_gives_no_verdict(self):
        done = subprocess.run([KGATE, "run", "--no-db", "--check-only", "--device", "cpu", "--cases", "full", "--case",
                               "f32[9,43] dim=0 out=given", os.path.join(ROOT, "examples", "c", "std_fast.c")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no case that was asked for is one for this language", done.stderr)


if __name__ == "__main__":
    unittest.main()
