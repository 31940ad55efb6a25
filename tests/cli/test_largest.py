"""Functions of exponentials take the largest value off first: of all values, whatever they are.

The example of every task with a softmax in it is right; the same file is incorrect when its largest value is that of the
first elements alone, or starts at -1e4 in place of -infinity. So is attention whose mask is -1e4.
"""
import json
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))
# The variable that counts the elements, and how many of them the mistaken kernel looks at.
EXAMPLES = {
    "gap22/cross_entropy.c": ("c", 1024),
    "gap22/log_softmax.c": ("k", 1024),
    "gap22/logsumexp.c": ("k", 1024),
    "gap22/softmax.c": ("k", 1024),
    "kbx/fusion/attention.c": ("s", 256),
    "kbx/fusion/fused_cross_entropy_log_softmax.c": ("c", 1024),
    "kbx/fusion/fused_cross_entropy_softmax_layernorm.c": ("c", 1024),
    "kbx/fusion/fused_log_softmax_linear.c": ("k", 1024),
    "kbx/fusion/fused_mul_add_logsoftmax_dropout_bmm.c": ("i", 1024),
    "kbx/fusion/fused_mv_logsoftmax_dropout.c": ("i", 1024),
    "kbx/fusion/fused_repeat_interleave_log_softmax.c": ("k", 1024),
    "kbx/fusion/fused_transformer_block.c": ("k", 1024),
    "kbx/loss/cross_entropy.c": ("c", 1024),
    "kbx/math/softmax.c": ("k", 1024),
}
START = re.compile(r"(double|float) largest = [^;]*?, sum = 0")
TAKE = re.compile(r"(?<!double )(?<!float )\blargest = (?=fmax|x\b|isnan)")


def kernels():
    """name -> text of each example, and of its mistakes."""
    for path, (variable, part) in EXAMPLES.items():
        with open(os.path.join(ROOT, "examples", path), encoding="utf-8") as f:
            text = f.read()
        assert START.search(text) and TAKE.search(text), path
        yield path, "right", text
        yield path, "starts at -1e4", START.sub(r"\1 largest = -1e4, sum = 0", text)
        yield path, "first %d" % part, TAKE.sub("if (%s < %d) largest = " % (variable, part), text)
        if path == "kbx/fusion/attention.c":
            masked = text.replace("seen = causal ? i % rows + 1 : keys", "seen = keys")
            masked = masked.replace("p[s] *= scale;", "p[s] *= scale;\n            if (causal && s > i % rows) p[s] = -1e4;")
            assert "-1e4" in masked and "seen = keys" in masked
            yield path, "mask of -1e4", masked


class Largest(unittest.TestCase):
    def test_of_all_values(self):
        rows = list(kernels())
        with tempfile.TemporaryDirectory() as folder:
            for i, (path, _, text) in enumerate(rows):
                os.mkdir(os.path.join(folder, "%03d" % i))
                with open(os.path.join(folder, "%03d" % i, os.path.basename(path)), "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([KGATE, "run", "--no-db", "--check-only", "--device", "cpu", "--format", "jsonl", folder],
                                  capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = {int(r["candidate"]["path"].split("/")[-2]): r["verdict"]
                    for r in map(json.loads, done.stdout.splitlines())}
        for i, (path, what, _) in enumerate(rows):
            with self.subTest(kernel=path, what=what):
                self.assertEqual(verdicts.get(i), "right" if what == "right" else "incorrect")


if __name__ == "__main__":
    unittest.main()
