#!/usr/bin/env python3
"""The published points of "Correct but Slow" as `kgate screen calibrate` takes them.

  published.py gap22_repaired.csv > points.csv

Each of the twelve kernels that were repaired gives two points a GPU: as first written (slow) and repaired. The roofline
fraction of the first is the repaired one's times the ratio of the two times. A repaired kernel counts as slow where it is
residual: the study names argmax in TileLang, matmul and conv2d in Triton and conv2d in TileLang, and the portability trap,
softmax and log_softmax in TileLang on an A100.
"""
import csv
import sys

RESIDUAL = {("argmax", "tilelang"), ("matmul", "triton"), ("conv2d", "triton"), ("conv2d", "tilelang")}
TRAP = {"softmax", "log_softmax"}


def main(path):
    out = csv.writer(sys.stdout)
    out.writerow(["operator", "bound", "lre", "utilization", "label"])
    for r in csv.DictReader(open(path, newline="")):
        library, naive, repaired = float(r["library_ms"]), float(r["naive_ms"]), float(r["repaired_ms"])
        share = float(r["roofline_fraction_repaired"])
        trap = r["operator"] in TRAP and r["gpu"].startswith("A100")
        label = "residual" if trap or (r["operator"], r["dsl"]) in RESIDUAL else "clean"
        out.writerow([r["operator"], r["bound"], library / naive, share * repaired / naive, "authoring"])
        out.writerow([r["operator"], r["bound"], library / repaired, share, label])


if __name__ == "__main__":
    main(sys.argv[1])
