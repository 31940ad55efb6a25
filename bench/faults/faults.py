#!/usr/bin/env python3
"""Ten candidates, three of them deadly: the other seven are judged as without them.

    bench/faults/faults.py KGATE cpu|cuda [--check-only]

Writes ten candidates of the task `relu` into a folder: seven honest ones, one with an endless loop, one with an
illegal address, one that kills its own runner with SIGKILL in the middle of a timed batch. Judges the honest ones
alone, then all ten in one run, and compares verdicts. Exits 1 when any honest verdict differs or a deadly one passes.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

C_HEAD = """// kgate: task=relu
#include <kgate/kernel.h>
#include <signal.h>
#include <unistd.h>
static int calls;
int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace;
    int64_t n = kg_elements(input);
    calls++;
    %s
    for (int64_t i = 0; i < n; i++) { double v = kg_get(input, i); kg_put(out, i, v > 0 || v != v ? v : 0); }
    return 0;
}
"""
C_DEADLY = {
    "endless": "if (n > 1000) for (volatile int go = 1; go;) continue;",
    "address": "if (n > 1000) *(volatile int *)8 = 1;",
    "sigkill": "if (calls > %d) raise(SIGKILL);",
}
CUDA_DEADLY = {
    "endless": "__device__ volatile int going = 1; __global__ void bad() { while (going) continue; }",
    "address": "__global__ void bad() { *(volatile int *)8 = 1; }",
    "sigkill": "__global__ void bad() {}",
}


def write(folder, device, kill_after):
    if device == "cpu":
        for i in range(7):
            with open(os.path.join(folder, "honest%d.c" % i), "w") as f:
                f.write(C_HEAD % ("/* %d */" % i))
        for name, line in C_DEADLY.items():
            with open(os.path.join(folder, "%s.c" % name), "w") as f:
                f.write(C_HEAD % (line % kill_after if "%d" in line else line))
        return
    with open(os.path.join(ROOT, "bench", "clocks", "relu_plain.cu")) as f:
        plain = f.read()
    for i in range(7):
        with open(os.path.join(folder, "honest%d.cu" % i), "w") as f:
            f.write(plain + "// %d\n" % i)
    for name, kernel in CUDA_DEADLY.items():
        kill = "static int calls; if (++calls > %d) raise(SIGKILL);" % kill_after if name == "sigkill" else ""
        body = plain.replace('extern "C" int relu', "#include <signal.h>\n" + kernel + '\nextern "C" int relu')
        body = body.replace("if (n == 0) return 0;", "if (n == 0) return 0; %s if (n > 1000) bad<<<1, 1, 0, stream>>>();" % kill)
        with open(os.path.join(folder, "%s.cu" % name), "w") as f:
            f.write(body)


def judge(kgate, device, paths, folder, options):
    command = [kgate, "run", "--device", device, "--timeout", "5"] + options + ["--format", "jsonl", "--seed", "7", "--db",
               os.path.join(folder, "faults.db")] + paths
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=550)
    if done.returncode:
        sys.exit("kgate run ended with %d: %s" % (done.returncode, done.stderr.decode()))
    return {os.path.basename(r["candidate"]["path"]): r for r in map(json.loads, done.stdout.decode().splitlines())}


def main(kgate, device, options):
    # The correctness cases alone are some fifty calls; with timing, the kill comes in the middle of a timed batch.
    kill_after = 20 if options else 70
    with tempfile.TemporaryDirectory() as folder:
        write(folder, device, kill_after)
        files = sorted(f for f in os.listdir(folder) if f.endswith((".c", ".cu")))
        # Deadly ones between honest ones.
        honest = [f for f in files if f.startswith("honest")]
        deadly = [f for f in files if not f.startswith("honest")]
        mixed = honest[:2] + deadly[:1] + honest[2:4] + deadly[1:2] + honest[4:5] + deadly[2:] + honest[5:]
        alone = judge(kgate, device, [os.path.join(folder, f) for f in honest], folder, options)
        together = judge(kgate, device, [os.path.join(folder, f) for f in mixed], folder, options)
        failed = 0
        for name in mixed:
            verdict = together[name]["verdict"] if name in together else "missing"
            wanted = alone[name]["verdict"] if name in alone else "broken"
            failed += verdict != wanted
            print("faults %-14s %-10s wanted %-10s %s" % (
                name, verdict, wanted, (together.get(name) or {}).get("error") or ""))
        print("faults: %d of %d as wanted" % (len(mixed) - failed, len(mixed)))
        return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("cpu", "cuda") or sys.argv[3:] not in ([], ["--check-only"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
