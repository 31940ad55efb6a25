#!/usr/bin/env bash
# Everything the claims about an H200 rest on, in one call. On the GPU machine, from the root of a checkout:
#     bench/h200/run.sh KGATE CANDIDATES.jsonl OUTDIR [QUESTION ...]
# QUESTION: ceilings, clocks, examples, spread, faults, candidates, scoped, pytorch, truth, throughput, aa; all without one, and
# truth, throughput and aa take a call of some nine minutes each (aa goes on where an earlier call with this OUTDIR stopped).
# KGATE: the program of `make dist`. CANDIDATES.jsonl: machine-written kernels with recorded verdicts. Needs nvcc, ncu and a
# python3 with torch and Triton. Writes one text file a question into OUTDIR, and prints them. `scoped` needs what
# `candidates` left there.
set -u
kgate=$1 candidates=$2 out=$3
shift 3
[ -x "$kgate" ] && [ -r "$candidates" ] || { echo "bench/h200/run.sh: no program $kgate, or no candidates $candidates" >&2; exit 2; }
questions=${*:-ceilings clocks examples spread faults candidates scoped pytorch truth throughput aa}
export KGATE_DB=$out/kgate.db PYTHONUNBUFFERED=1
run() { timeout "$1" "$kgate" "${@:2}"; }
wanted() { [[ " $questions " == *" $1 "* ]]; }
section() { echo; echo "== $1"; }

wanted ceilings && {
    date -u
    nvidia-smi --query-gpu=name,driver_version,temperature.gpu,power.limit --format=csv,noheader
    run 120 device measure --device cuda
} 2>&1 | tee "$out/ceilings.txt"

wanted clocks && {
    section "clocks: hand-written event pair, CUPTI, ncu, kgate"
    cupti=/usr/local/cuda/extras/CUPTI
    export LD_LIBRARY_PATH=$cupti/lib64:${LD_LIBRARY_PATH:-}
    nvcc -O2 -arch=native -I include -I $cupti/include -L $cupti/lib64 bench/clocks/clocks.cu -lcupti -o "$out/clocks" &&
        timeout 60 "$out/clocks"
    echo "ncu gpu__time_duration, three calls a size, us:"
    timeout 90 ncu --clock-control none --metrics gpu__time_duration.sum --kernel-name relu_plain "$out/clocks" --once 2>&1 |
        awk '/gpu__time/ {print $3}' | xargs -n3
    rm -f "$out/clocks"
    run 90 run --device cuda --cases full --baseline bench/clocks/relu_plain.cu bench/clocks/relu_plain.cu --format jsonl -o "$out/aa.jsonl"
    python3 - "$out/aa.jsonl" <<'P'
import json, sys
r = json.loads(open(sys.argv[1]).read()); p = r["performance"]
print("kgate, the same kernel as candidate and as baseline: %s, LRE %.4f %s" % (r["verdict"], p["lre"], p["lre_ci"]))
print(p["calibration"])
for c in p["cases"]:
    print("%-16s %8.2f us [%.2f, %.2f]  LRE %.3f [%.3f, %.3f]" % (c["case"], c["time_us"], *c["ci_us"], c["lre"], *c["lre_ci"]))
P
} 2>&1 | tee "$out/clocks.txt"

wanted examples && {
    section "examples"
    run 200 run --device auto examples/triton examples/cuda examples/python --format jsonl -o "$out/examples.jsonl"
    run 20 results --limit 20
} 2>&1 | tee "$out/examples.txt"

wanted spread && {
    section "ten runs of one kernel"
    timeout 200 python3 bench/spread/spread.py 10 "$kgate" run --device cuda examples/cuda/softmax_fast.cu
} 2>&1 | tee "$out/spread.txt"

wanted faults && {
    section "faults"
    timeout 150 python3 bench/faults/faults.py "$kgate" cuda
} 2>&1 | tee "$out/faults.txt"

wanted candidates && {
    section "candidates, the whole schema"
    run 570 run --device cuda "$candidates" --timeout 30 --profile --format jsonl -o "$out/candidates.jsonl"
    python3 bench/candidates/compare.py "$candidates" "$out/candidates.jsonl"
} 2>&1 | tee "$out/candidates.txt"

wanted scoped && {
    scope=f32,contiguous,nonempty,finite
    section "candidates again, right or wrong alone, --scope $scope"
    run 330 run --device cuda "$candidates" --timeout 30 --check-only --scope $scope --format jsonl -o "$out/scoped.jsonl"
    python3 bench/candidates/compare.py "$candidates" "$out/candidates.jsonl" "$out/scoped.jsonl"
} 2>&1 | tee "$out/scoped.txt"

wanted pytorch && {
    section "PyTorch itself as the candidate of every task, all its cases"
    timeout 500 bench/crosscheck/crosscheck.py --kgate "$kgate" --device cuda --pairs 0 --known bench/crosscheck/known-cuda.txt
} 2>&1 | tee "$out/pytorch.txt"

wanted truth && {
    section "truth: kgate beside ncu, CUPTI, do_bench and a plain event pair"
    timeout 585 python3 bench/truth/truth.py --kgate "$kgate" -o "$out" --budget 540
} 2>&1 | tee "$out/truth.txt"

wanted throughput && {
    section "throughput: seconds a candidate"
    timeout 590 python3 bench/throughput/throughput.py "$kgate" "$candidates" -o "$out" --budget 550
} 2>&1 | tee "$out/throughput.txt"

wanted aa && {
    section "does a launch more or less change a time? (bench/clocks/parity.cu)"
    nvcc -O2 -std=c++17 -arch=native -I include bench/clocks/parity.cu -o "$out/parity" && timeout 40 "$out/parity"
    rm -f "$out/parity"
    section "A/A, and planted slowdowns"
    timeout 560 python3 bench/aa/aa.py --kgate "$kgate" -o "$out" --budget 520
} 2>&1 | tee "$out/aa.txt"
exit 0
