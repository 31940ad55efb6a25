#!/usr/bin/env python3
"""Our verdicts beside the recorded ones.

    kgate run candidates.jsonl --format jsonl -o ours.jsonl
    bench/candidates/compare.py candidates.jsonl ours.jsonl

Prints one line a candidate that was judged, marks where the two differ, and ends with counts and seconds a candidate.
"""
import json
import sys


def read_lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def recorded_word(recorded):
    if not recorded.get("call_ok"):
        return "no call"
    return "right" if recorded.get("exe_ok") else "wrong"


def our_word(verdict):
    return {"efficient": "right", "slow": "right", "right": "right", "incorrect": "wrong"}.get(verdict, verdict)


def number(value, form):
    return form % value if isinstance(value, (int, float)) else "-"


def main(candidates_path, ours_path):
    lines = read_lines(candidates_path)
    differ, seconds, judged = 0, [], 0
    print("%-28s %-8s %-8s %-10s %-9s %6s %6s %6s  %s" % (
        "task", "round", "recorded", "ours", "precision", "LRE", "util", "sec", "why"))
    for ours in read_lines(ours_path):
        line_number = int(ours["candidate"]["path"].rsplit(":", 1)[1])
        theirs = lines[line_number - 1]
        if ours.get("suite") is None:
            continue   # no such task here yet
        judged += 1
        word, verdict = recorded_word(theirs["recorded"]), ours["verdict"]
        same = our_word(verdict) == word or (word == "no call" and verdict == "broken")
        differ += not same
        seconds.append(ours["seconds"])
        correctness, performance = ours.get("correctness") or {}, ours.get("performance") or {}
        worst = (correctness.get("worst") or {}).get("case") or ""
        why = ours.get("error") or (worst + ": " + correctness["why"] if correctness.get("why") else "")
        print("%-28s %-8s %-8s %-10s %-9s %6s %6s %6.1f %s%s" % (
            ours["task"], theirs["round"], word, verdict, correctness.get("precision") or "-",
            number(performance.get("lre"), "%.2f"), number(performance.get("utilization"), "%.2f"), ours["seconds"],
            "  " if same else "* ", why[:200]))
    if judged:
        seconds.sort()
        print("%d judged, %d differ (*), %.1f s a candidate (median %.1f, most %.1f)" % (
            judged, differ, sum(seconds) / judged, seconds[judged // 2], seconds[-1]))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
