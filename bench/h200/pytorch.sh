#!/usr/bin/env bash
# PyTorch itself as a candidate, on the GPU: a folder of .py files, one a task, each with the task's torch_baseline.
#     bench/h200/pytorch.sh KGATE FOLDER OUTDIR [SECONDS]
set -u
kgate=$1 folder=$2 out=$3
export PYTHONUNBUFFERED=1
timeout "${4:-400}" "$kgate" run --no-db --device cuda --check-only --timeout 30 --format jsonl -o "$out/pytorch.jsonl" "$folder"
python3 - "$out/pytorch.jsonl" <<'P'
import json, sys
from collections import Counter
verdicts = Counter()
for line in open(sys.argv[1]):
    r = json.loads(line)
    verdicts[r["verdict"]] += 1
    if r["verdict"] != "right":
        c = r.get("correctness") or {}
        worst = c.get("worst") or {}
        print("%-44s %-10s %s of %s wrong; %s: %s" % (r["task"], r["verdict"], c.get("failed"), c.get("cases"), worst.get("case"),
                                                     (c.get("why") or r.get("error") or "")[:160]))
print(dict(verdicts))
P
