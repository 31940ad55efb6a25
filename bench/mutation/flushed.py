#!/usr/bin/env python3
"""Honest kernels as a device runs them that takes denormals for zero: they must stay right.

  flushed.py [--kgate PROGRAM] [--cases quick|full] [--seed N] [TASK...]

Writes each kernel of examples/kbx and examples/gap22 anew, so that it gets its float32 inputs with every denormal
replaced by a zero of the same sign, and its outputs are flushed likewise; kgate judges them. Exits 1 when one is not
right: the task holds something against flushing to zero, which GPUs' fast square roots, logarithms and quotients do.
"""
import argparse
import json
import os
import subprocess
import sys

from bench_mutation import ROOT, kernels
from c_text import Source
from operators import outputs, with_head, wrapped

HEAD = """#include <math.h>
#include <stdlib.h>
#include <string.h>
static inline int is_float(const DLTensor *t) { return t && t->data && t->dtype.code == kDLFloat && t->dtype.bits == 32; }
static inline float flushed(float v) { return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v; }
static inline int64_t last_of(const DLTensor *t) {
    int64_t last = 0;
    if (kg_elements(t) == 0) return -1;
    for (int d = 0; d < t->ndim; d++) last += (t->shape[d] - 1) * kg_stride(t, d);
    return last;
}
static inline float *first_of(const DLTensor *t) { return (float *)((char *)t->data + t->byte_offset); }
static inline DLTensor flushed_copy(const DLTensor *t) {
    if (!is_float(t)) return t ? *t : (DLTensor){0};
    DLTensor u = *t;
    const int64_t last = last_of(t);
    float *copy = malloc((size_t)(last + 2) * sizeof *copy);
    for (int64_t i = 0; i <= last; i++) copy[i] = flushed(first_of(t)[i]);
    u.data = copy;
    u.byte_offset = 0;
    return u;
}
static inline void flush_output(DLTensor *t) {
    for (int64_t i = 0; is_float(t) && i < kg_elements(t); i++) first_of(t)[kg_element(t, i)] = flushed(first_of(t)[kg_element(t, i)]);
}
"""


def on_a_flushing_device(text):
    s = Source(text)
    before, after = "", ""
    for declared, name in s.parameters():
        if declared.startswith("const DLTensor *"):
            before += "    DLTensor flushed_%s = flushed_copy(%s);\n    if (%s) %s = &flushed_%s;\n" % ((name,) * 5)
            after += "    if (is_float(%s)) free(flushed_%s.data);\n" % (name, name)
    for name in outputs(s):
        after += "    flush_output(%s);\n" % name
    return with_head(s, HEAD, wrapped(s, before + "    const int rc = CALL;\n" + after + "    return rc;"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tasks", nargs="*", metavar="TASK")
    p.add_argument("--kgate", default=os.path.join(ROOT, "build", "kgate"))
    p.add_argument("--cases", default="quick")
    p.add_argument("--seed", default="1")
    o = p.parse_args()
    lines = [json.dumps({"task": task, "language": "c", "code": on_a_flushing_device(text)}) + "\n" for task, text, *_ in kernels(set(o.tasks))]
    command = [o.kgate, "run", "--no-db", "--device", "cpu", "--check-only", "--scope", "small", "--cases", o.cases, "--seed", o.seed,
               "--format", "jsonl", "-"]
    done = subprocess.run(command, input="".join(lines), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [r for r in records if r["verdict"] != "right"]
    for r in failed:
        c = r["correctness"]
        print("%-40s %-10s %s: %s" % (r["task"], r["verdict"], (c["worst"] or {}).get("case"), c.get("why") or r.get("error")))
    print("%d kernels, %d not right" % (len(records), len(failed)))
    return 1 if failed or len(records) != len(lines) else 0


if __name__ == "__main__":
    sys.exit(main())
