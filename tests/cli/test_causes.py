"""Why a C kernel is slow is said of the loop where its time goes, not of one that never ran.

KGATE names the program; without it, build/kgate beside this tree.
"""

import json
import os
import unittest

import test_cli

HEAD = """/* kgate: task=tanh
 * kgate: entry=tanh_kernel
 */
#include <kgate/kernel.h>
#include <math.h>

"""
KERNEL = """int tanh_kernel(const DLTensor *input, DLTensor *out) {
    const int64_t n = kg_elements(out);
    if (input->dtype.code == kDLFloat && input->dtype.bits == 32 && kg_contiguous(input) && kg_contiguous(out)) {
        const float *x = (const float *)((const char *)input->data + input->byte_offset);
        float *y = (float *)((char *)out->data + out->byte_offset);
        PRAGMA
        for (int64_t i = 0; i < n; i++) y[i] = VALUE;  // hot
        return 0;
    }
    for (int64_t i = 0; i < n; i++) kg_put(out, i, tanh(kg_get(input, i)));  // never timed
    return 0;
}
"""
BRANCHES = """static inline float branches(float x) {
    float a = x < 0 ? -x : x, z = x * x;
    if (a < 0.3f) return x * (1 + z * (-0.33333333f + z * (0.13333333f + z * (-0.053968254f + z * 0.021869489f))));
    if (a > 10) return x < 0 ? -1 : 1;
    float n = (float)(int)(a * 2.8853901f + 0.5f), r = 2 * a - n * 0.693147181f, p = 1;
    for (int k = 9; k > 0; k--) p = 1 + r * p / (float)k;
    for (int k = 0; k < (int)n; k++) p += p;
    p = 1 - 2 / (p + 1);
    return x < 0 ? -p : p;
}

"""
THREADS = "#pragma omp parallel for"


# File, what a value is, before the loop, before the kernel, and the findings: rule and basis, most first.
KERNELS = (
    ("calls.c", "tanhf(x[i])", THREADS, "", [("c-library-calls", "sampled")]),
    ("double.c", "(float)tanh((double)x[i])", "", "",
     [("c-library-calls", "sampled"), ("c-no-threads", "modelled"), ("c-double-function", "sampled")]),
    ("macro.c", "TANH(x[i])", THREADS, "#define TANH(v) tanhf(v)\n", [("c-library-time", "counted")]),
    ("exp2.c", "1 - 2 / (exp2f(x[i] * 2.885390082f) + 1)", THREADS, "", [("c-library-calls", "sampled")]),
    # Lines with numbers of its own say nothing of where they stand: as if nothing had been sampled.
    ("renumbered.c", "(float)tanh((double)x[i])", "", '#line 1000 "other.c"\n',
     [("c-no-threads", "modelled"), ("c-double-function", "text")]),
    ("branches.c", "branches(x[i])", THREADS, BRANCHES, [("c-scalar-loop", "sampled")]),
)


class Causes(test_cli.Cli):
    def test_each_has_its_own_and_in_the_loop_that_ran(self):
        for name, value, pragma, before, _ in KERNELS:
            self.write(name, HEAD + before + KERNEL.replace("VALUE", value).replace("PRAGMA", pragma))
        done = self.kgate("run", "--case", "f32[1048576]", "--format", "jsonl", *(k[0] for k in KERNELS))
        records = {os.path.basename(r["candidate"]["path"]): r for r in map(json.loads, done.stdout.splitlines())}
        for name, value, pragma, before, expected in KERNELS:
            with self.subTest(name=name):
                record = records[name]
                self.assertEqual(record["verdict"], "slow", record)
                self.assertEqual([(f["rule"], f["basis"]) for f in record["findings"]], expected)
                with open(os.path.join(self.folder, name), encoding="utf-8") as f:
                    lines = f.read().split("\n")
                for f in record["findings"]:
                    if f["line"]:
                        self.assertIn("// hot", lines[f["line"] - 1])


if __name__ == "__main__":
    unittest.main()
