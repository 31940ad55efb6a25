"""Past 2^31 elements a kernel may say that it cannot; it may not be wrong."""
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))
START = "    const int64_t n = kg_elements(input);\n"
FAR = "f32[5] strides [536871937]"  # the task's one large case


def judge(inserted, *options):
    """A right kernel of fused_sum_std with something before its first line: its record, or what kgate said."""
    with open(os.path.join(ROOT, "examples", "kbx", "fusion", "fused_sum_std.c"), encoding="utf-8") as f:
        text = f.read()
    assert text.count(START) == 1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fused_sum_std.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(START, inserted + START))
        done = subprocess.run([KGATE, "run", "--no-db", "--check-only", "--device", "cpu", "--cases", "full", "--format",
                               "jsonl", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False)
    return done, json.loads(done.stdout) if done.stdout.strip() else None


class Refused(unittest.TestCase):
    def test_a_large_case_refused_is_named_and_no_mistake(self):
        _, record = judge("    if (input->ndim && input->strides[0] > 1 << 28) return 22;\n")
        self.assertEqual(record["verdict"], "right")
        self.assertEqual([c["case"] for c in record["correctness"]["not_checked"]], [FAR])
        self.assertRegex(record["correctness"]["not_checked"][0]["why"], r"\Arefused: .*22")

    def test_a_small_case_refused_is_a_mistake(self):
        _, record = judge("    if (kg_elements(input) == 5 && input->strides[0] == 1) return 22;\n")
        self.assertEqual(record["verdict"], "incorrect")
        self.assertNotIn("not_checked", record["correctness"])

    def test_a_large_case_that_crashes_or_is_wrong_is_a_mistake(self):
        _, record = judge("    if (input->ndim && input->strides[0] > 1 << 28) *(volatile int *)8 = 1;\n")
        self.assertEqual(record["verdict"], "broken")
        _, record = judge("    if (input->ndim && input->strides[0] > 1 << 28) return kg_put(out, 0, 1), 0;\n")
        self.assertEqual((record["verdict"], record["correctness"]["worst"]["case"]), ("incorrect", FAR))

    def test_refusing_all_that_was_asked_gives_no_verdict(self):
        done, record = judge("    if (input->ndim && input->strides[0] > 1 << 28) return 22;\n", "--case", FAR)
        self.assertEqual((done.returncode, record), (3, None))
        self.assertRegex(done.stderr, r"no case was checked: f32\[5\] strides \[536871937\] refused: [^\n]*22")

    def test_a_case_of_another_language_gives_no_verdict(self):
        done = subprocess.run([KGATE, "run", "--no-db", "--check-only", "--device", "cpu", "--cases", "full", "--case",
                               "f32[9,43] dim=0 out=given", os.path.join(ROOT, "examples", "c", "std_fast.c")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no case that was asked for is one for this language", done.stderr)


if __name__ == "__main__":
    unittest.main()
