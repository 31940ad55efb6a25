#!/usr/bin/env python3
"""The study set's table, from records of `kgate run` and the labels beside the kernels.

  table.py labels.csv records.jsonl...

Times are those of the size that decides (the largest that is screened); library: PyTorch eager, compiled: torch.compile.
Prints what the screens flag, whether the classes agree with the labels, the slowest kernel's factor over the library
beside the published ones, and the share repaired.
"""
import csv
import json
import os
import sys

LINE = "%-28s %-9s %-10s %-10s %-20s %11s %11s %11s %7s %6s %-8s %-5s %-5s %s"
PUBLISHED = "published: layer_norm in TileLang, 307 times on an A100 and 1,293 times on a GH200"


def labels_of(path):
    return {row["file"]: row for row in csv.DictReader(open(path, newline=""))}


def deciding(record):
    cases = [c for c in (record["performance"] or {}).get("cases", []) if c["bound"] in ("memory", "compute")]
    return max(cases, key=lambda c: c["sol_us"] or 0) if cases else None


def is_compiled(record):
    """Judged beside torch.compile: its time is a column of the operator's other rows."""
    return any(c["baseline"] == "torch-compile" for c in (record["performance"] or {}).get("cases", []))


def number(x, form="%.3g"):
    return "-" if x is None else form % x


def mark(screen):
    return {"pass": "pass", "fail": "FAIL"}.get(screen, "-")


def class_fits(label, record):
    """Whether a kernel's class is what its label asks for."""
    verdict, kind = record["verdict"], record["class"]
    if label == "clean":
        return verdict == "efficient"
    if label == "authoring":  # near the roofline a class is library-ahead, whatever the findings say
        named = any(f.get("cause") == "authoring" for f in record["findings"])
        return kind == "authoring-defect" or (kind == "library-ahead" and named)
    return kind in ("structural-residual", "library-gap", "library-ahead")


def main(labels_path, *paths):
    labels, rows, compiled = labels_of(labels_path), [], {}
    for path in paths:
        for line in open(path):
            record = json.loads(line)
            if is_compiled(record):
                compiled[record["task"]] = (deciding(record) or {}).get("baseline_us")
                continue
            name = "/".join(record["candidate"]["path"].split("/")[-2:])
            label = labels.get(name) or labels.get(os.path.basename(name)) or {}
            rows.append((name, label, record, deciding(record)))
    rows.sort(key=lambda r: (r[0].split("/")[-1], r[0]))
    print(LINE % ("kernel", "form", "label", "verdict", "class", "us", "library us", "compiled us", "LRE", "util", "bound", "lib.",
                  "roof.", "first finding"))
    for name, label, record, case in rows:
        c = case or {}
        findings = [f for f in record["findings"] if f.get("cause") != "hazard"]
        why = (record["correctness"] or {}).get("why") or record["error"] or ""
        print(LINE % (name, label.get("form", "?")[:9], label.get("label", "?"), record["verdict"], record["class"] or "-",
                      number(c.get("time_us"), "%.1f"), number(c.get("baseline_us"), "%.1f"),
                      number(compiled.get(record["task"]), "%.1f"), number(c.get("lre")),
                      number(c.get("utilization"), "%.2f"), c.get("bound") or "-", mark(record["screens"]["library"]),
                      mark(record["screens"]["roofline"]),
                      findings[0]["rule"] if findings else why[:90].replace("\n", " ")))
    summary(rows)


def summary(rows):
    timed = [(n, l, r, c) for n, l, r, c in rows if c and c["lre"]]
    slow = [(c["baseline_us"], c["time_us"], n) for n, l, r, c in timed if l.get("form") == "as-written"]
    if slow:
        base, time, name = min(slow, key=lambda s: s[0] / s[1])
        print("\nslowest as written: %s, %.0f times the library's time (%s)" % (name, time / base, PUBLISHED))
    labelled = [(l["label"], r) for _, l, r, _ in timed if "label" in l]
    for label in ("clean", "authoring", "residual"):
        of = [r for k, r in labelled if k == label]
        flagged = sum("fail" in (r["screens"]["library"], r["screens"]["roofline"]) for r in of)
        fits = sum(class_fits(label, r) for r in of)
        print("%-10s %3d kernels, %3d flagged by a screen, %3d with the class the label asks for" % (label, len(of), flagged, fits))
    repaired = [r for _, l, r, _ in timed if l.get("form") == "repaired"]
    print("repaired   %3d kernels, %3d efficient" % (len(repaired), sum(r["verdict"] == "efficient" for r in repaired)))
    wrong = [(n, r["verdict"]) for n, _, r, _ in rows if r["verdict"] in ("incorrect", "broken", "tampered")]
    print("not right  %3d: %s" % (len(wrong), ", ".join("%s (%s)" % w for w in wrong) or "none"))


if __name__ == "__main__":
    main(*sys.argv[1:])
