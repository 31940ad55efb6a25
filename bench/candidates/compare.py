#!/usr/bin/env python3
"""Our verdicts beside the recorded ones.

    kgate run candidates.jsonl --format jsonl -o ours.jsonl
    kgate run candidates.jsonl --scope f32,contiguous,nonempty,finite --check-only --format jsonl -o scoped.jsonl
    bench/candidates/compare.py candidates.jsonl ours.jsonl [scoped.jsonl]

Prints one line a candidate that was judged, marks where the two differ, and ends with counts and seconds a candidate.
With a second file: the verdict within that scope beside it, and its reason where it is still another than the recorded one.
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


def reason(record):
    correctness = record.get("correctness") or {}
    worst = (correctness.get("worst") or {}).get("case") or ""
    return record.get("error") or (worst + ": " + correctness["why"] if correctness.get("why") else "")


def agree(word, verdict):
    """Whether it is right; in which way a wrong one fails is no disagreement."""
    return (word == "right") == (our_word(verdict) == "right")


def line_of(record):
    return int(record["candidate"]["path"].rsplit(":", 1)[1])


def main(candidates_path, ours_path, scoped_path=None):
    lines = read_lines(candidates_path)
    scoped = {line_of(r): r for r in read_lines(scoped_path)} if scoped_path else {}
    differ, still, seconds = 0, 0, []
    print("%-28s %-8s %-8s %-10s %-9s %6s %6s %6s %-10s %s" % (
        "task", "round", "recorded", "ours", "precision", "LRE", "util", "sec", "in scope" if scoped else "", "why"))
    for ours in read_lines(ours_path):
        if ours.get("suite") is None:
            continue   # no such task here
        theirs, narrow = lines[line_of(ours) - 1], scoped.get(line_of(ours))
        word, verdict = recorded_word(theirs["recorded"]), ours["verdict"]
        same = agree(word, verdict)
        same_narrow = narrow is None or agree(word, narrow["verdict"])
        differ += not same
        still += not same and not same_narrow
        seconds.append(ours["seconds"])
        correctness, performance = ours.get("correctness") or {}, ours.get("performance") or {}
        print("%-28s %-8s %-8s %-10s %-9s %6s %6s %6.1f %-10s %s%s" % (
            ours["task"], theirs["round"], word, verdict, correctness.get("precision") or "-",
            number(performance.get("lre"), "%.2f"), number(performance.get("utilization"), "%.2f"), ours["seconds"],
            narrow["verdict"] if narrow else "", "  " if same else "* ", reason(ours)[:200]))
        if not same and not same_narrow:
            print("%100s %s" % ("in scope:", reason(narrow)[:200]))
    if seconds:
        seconds.sort()
        print("%d judged, %d differ (*)%s, %.1f s a candidate (median %.1f, most %.1f)" % (
            len(seconds), differ, ", %d of them in scope too" % still if scoped else "", sum(seconds) / len(seconds),
            seconds[len(seconds) // 2], seconds[-1]))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
