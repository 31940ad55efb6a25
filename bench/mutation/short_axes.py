#!/usr/bin/env python3
"""Axes that are short in every case of a task: a kernel that stops there is not found out.

    bench/mutation/short_axes.py KGATE [LONGEST]

For each task the arguments' axes, counted from the last, that are LONGEST (128) elements at most in all of its full cases,
read from the cases' names. Cases past 2^31 elements do not count: few are asked for them. Some axes are short by nature: a
filter's window, the two numbers of a pair.
"""
import json
import re
import subprocess
import sys

TENSOR = re.compile(r"(?:(\w+)=)?(?:f|bf|i|u|c|bool)\d*\[([\d,]+)\]")
LARGE = 30000  # a size of two that make more than 2^31


def said(kgate, *arguments):
    return json.loads(subprocess.run([kgate, "task", *arguments, "-f", "json"], stdout=subprocess.PIPE, check=True).stdout)


def longest_axes(names):
    """(argument, axis from the last) to its largest size."""
    longest = {}
    for name in names:
        for m in TENSOR.finditer(name):
            sizes = [int(v) for v in m.group(2).split(",")]
            if len(sizes) > 1 and max(sizes) > LARGE:
                continue
            for axis, size in enumerate(reversed(sizes), 1):
                at = (m.group(1) or "first", axis)
                longest[at] = max(longest.get(at, 0), size)
    return longest


def main(kgate, most=128):
    short, n = 0, 0
    for task in said(kgate, "list"):
        axes = longest_axes(said(kgate, "show", task["task"])["cases"]["full"])
        few = ["%s[-%d] %d" % (*at, size) for at, size in sorted(axes.items()) if size <= int(most)]
        n, short = n + 1, short + bool(few)
        if few:
            print("%-44s %s" % (task["task"], ", ".join(few)))
    print("%d of %d tasks have an axis that is nowhere longer than %s" % (short, n, most))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
