"""A baseline that the user names is used or refused in one line; a replay line works from any folder.

KGATE names the program; without it, build/kgate beside this tree.
"""

import json
import os
import sqlite3
import subprocess
import sys
import unittest

import test_cli
from test_cli import CRASH, ENDLESS, HEAD, KGATE, NO_BUILD, NO_ENTRY, RIGHT, WRONG

SIZE = "f32[16384]"  # one that is timed on the CPU, and soon


class Baselines(test_cli.Cli):
    def setUp(self):
        super().setUp()
        self.write("relu.c", RIGHT)

    def timed(self, baseline):
        done = self.kgate("run", "--case", SIZE, "--baseline", baseline, "--format", "jsonl", "relu.c")
        return json.loads(done.stdout)

    def test_a_file_that_cannot_be_used_is_an_error_of_the_run(self):
        for name, source, code, says in (
            ("builds_not.c", NO_BUILD, 3, ("builds_not.c", "does not compile")),
            ("no_entry.c", NO_ENTRY, 3, ("no_entry.c", "relu")),
            ("wrong.c", WRONG, 3, ("wrong.c", "wrong on " + SIZE)),
            ("crashes.c", CRASH, 3, ("crashes.c", "SIGSEGV")),
            ("other.c", HEAD.replace("relu", "softmax"), 2, ("other.c", "softmax", "relu")),
            ("empty.c", "", 3, ("empty.c", "empty")),
            ("gpu.cu", RIGHT, 3, ("gpu.cu", "cuda")),
        ):
            with self.subTest(name=name):
                self.write(name, source)
                self.refused("run", "--case", SIZE, "--baseline", name, "relu.c", code=code, says=("baseline", *says))

    def test_a_folder_or_a_list_is_no_baseline(self):
        self.write("k/relu.c", RIGHT)
        self.list_of("l.jsonl", [RIGHT])
        for name in ("k", "l.jsonl"):
            self.refused("run", "--case", SIZE, "--baseline", name, "relu.c", says=(name, "name a file"))

    def test_it_is_refused_before_the_candidate_is_judged(self):
        self.write("old.c", NO_BUILD)
        self.write("relu.c", ENDLESS)
        self.refused("run", "--baseline", "old.c", "relu.c", code=3, says="old.c")

    def test_a_file_that_writes_past_its_outputs_is_named_and_not_the_candidate(self):
        beside = "    static int n;\n    if (++n > 4) ((float *)out->data)[kg_elements(out)] = 1;\n    return 0;\n}\n"
        self.write("old.c", RIGHT[:RIGHT.rindex("    return 0;")] + beside)
        self.refused("run", "--case", SIZE, "--baseline", "old.c", "relu.c", code=3, says=("old.c", "wrote beside its outputs"))

    def test_names(self):
        for name, code in (("cudnn", 3), ("torch-eager", 3), ("openblas", 3), ("cudn", 2), ("absent.c", 2)):
            with self.subTest(name=name):
                self.refused("run", "--device", "cpu", "--case", SIZE, "--baseline", name, "relu.c", code=code, says=name)

    def test_a_file_that_can_be_used(self):
        self.write("old.c", RIGHT)
        record = self.timed("old.c")
        self.assertEqual(record["performance"]["cases"][0]["baseline"], "old.c")
        self.assertGreater(record["performance"]["speedup"], 0)
        self.assertRegex(self.kgate("explain", record["id"]).stdout, r"; old\.c [\d.]+ [mun]s, LRE ")
        self.assertEqual(record["screens"]["lre_min"], 0.8)
        self.assertEqual(record["screens"]["util_min"], {"memory": 0.35, "compute": 0.6})

    def test_the_table_says_what_was_compared_with(self):
        self.write("old.c", RIGHT)
        self.assertIn("LRE and class: beside old.c.", self.kgate("run", "--case", SIZE, "--baseline", "old.c", "relu.c").stdout)

    def test_none_says_so(self):
        record = self.timed("none")
        self.assertIsNone(record["screens"]["library"])
        self.assertIn("none was asked for", record["screens"]["library_why"])
        self.assertEqual(record["case_only"], SIZE)

    def test_a_task_that_no_library_has(self):
        self.kgate("task", "new", "log1p", "--lang", "c")
        record = json.loads(self.kgate("run", "--case", SIZE, "--format", "jsonl", "log1p.c").stdout)
        self.assertIsNone(record["screens"]["library"])
        self.assertIn("no library on the CPU has log1p", record["screens"]["library_why"])
        self.assertIn("log1p", record["performance"]["no_baseline"])


class Ceilings(test_cli.Cli):
    """Ceilings kept from a better day: out of reach, so no kernel is slow for them."""

    def test_a_kernel_is_not_slow_for_ceilings_that_nobody_reaches_now(self):
        self.write("relu.c", RIGHT)
        size, device = "f32[8388608]", json.loads(self.kgate("device", "--device", "cpu", "--format", "json").stdout)["devices"][0]
        rates = {name + "_bytes_s": 5e12 for name in ("read", "write", "copy", "one_core_copy", "cache")}
        high = dict(rates, launch_s=1e-6, one_core_fp32_ops_s=1e14, source="a better day",
                    ops_s=dict.fromkeys(("fp64", "fp32", "tf32", "fp16", "int8"), 1e14))
        self.judge("--check-only", "relu.c")  # makes the database
        with sqlite3.connect(self.env["KGATE_DB"]) as db:
            db.execute("INSERT OR REPLACE INTO ceilings VALUES(?, ?, '2026-01-01T00:00:00Z', ?)",
                       (device["name"], device["driver"], json.dumps(high)))
        db.close()
        run = ("run", "--device", "cpu", "--case", size, "--baseline", "none", "--format", "jsonl", "relu.c")
        performance = json.loads(self.kgate(*run).stdout)["performance"]
        self.assertIn("a better day; beside this kernel", performance["ceilings"])
        bytes_moved = 2 * 4 * 8388608
        self.assertGreater(performance["cases"][0]["sol_us"], 2 * bytes_moved / 5e12 * 1e6)


class Replay(test_cli.Cli):
    def replayed(self, line, code=0):
        """The record that a replay line gives, from a folder of its own."""
        os.makedirs(self.path("elsewhere"), exist_ok=True)
        line = line.replace("kgate ", KGATE + " ", 1) + " --no-db --format json"
        done = subprocess.run(["bash", "-c", line], cwd=self.path("elsewhere"), env=self.env, capture_output=True, text=True,
                              check=False, timeout=120)
        self.assertEqual(done.returncode, code, line + done.stdout + done.stderr)
        return json.loads(done.stdout)[0]

    def test_from_any_folder_and_with_any_name(self):
        for name in ("wrong.c", "sub/../wr'ong $(x) \\.c", "new\nline.c", "日本.c", "-dash.c"):
            os.makedirs(self.path("sub"), exist_ok=True)
            self.write(name, WRONG)
            record = self.judge("--", name)[0][0]
            again = self.replayed(record["correctness"]["worst"]["replay"])
            self.assertEqual(again["correctness"]["cases"], 1)
            self.assertEqual(again["correctness"]["why"], record["correctness"]["why"])

    def test_a_line_of_a_list(self):
        self.list_of("l.jsonl", [RIGHT, WRONG])
        record = self.judge("l.jsonl")[0][1]
        self.assertEqual(self.replayed(record["correctness"]["worst"]["replay"])["verdict"], "incorrect")

    def test_a_name_that_hides_its_language(self):
        self.write("wrong.txt", WRONG)
        record = self.judge("--lang", "c", "wrong.txt")[0][0]
        self.assertEqual(self.replayed(record["correctness"]["worst"]["replay"])["verdict"], "incorrect")

    def test_there_is_none_without_a_file_or_a_wrong_case(self):
        self.write("relu.c", RIGHT)
        self.assertIsNone(self.judge("relu.c")[0][0]["correctness"]["worst"]["replay"])
        wrong = self.judge("-", stdin=WRONG)[0][0]
        self.assertEqual(wrong["verdict"], "incorrect")
        self.assertIsNone(wrong["correctness"]["worst"]["replay"])
        listed = self.judge("-", stdin=json.dumps({"task": "relu", "code": WRONG}))[0][0]
        self.assertIsNone(listed["correctness"]["worst"]["replay"])

    def test_a_crash_and_a_hang(self):
        for source, says in ((CRASH, "SIGSEGV"), (ENDLESS, "2 s")):
            self.write("bad.c", source)
            record = self.judge("--timeout", "2", "bad.c")[0][0]
            self.assertEqual((record["verdict"], record["correctness"]["ok"]), ("broken", False))
            worst = record["correctness"]["worst"]
            self.assertIn(worst["case"], record["error"])
            again = self.replayed(worst["replay"])
            self.assertEqual(again["correctness"]["worst"]["case"], worst["case"])
            self.assertIn(says, again["error"])

    def test_the_interpreter_is_named(self):
        fake = self.path("python with torch")
        for python in (sys.executable, "/usr/bin/python3"):
            with open(fake, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\nexec {python} \"$@\"\n")
            os.chmod(fake, 0o755)
            if not subprocess.run([fake, "-c", "import torch"], capture_output=True, check=False).returncode:
                break
        else:
            self.skipTest("no Python with torch")
        self.write("wrong.py", "# kgate: task=relu\nimport torch\ndef relu(input, inplace=False):\n    return input * 1\n")
        record = self.judge("--device", "cpu", "--python", "./python with torch", "wrong.py")[0][0]
        self.assertIn(f"--python '{fake}'", record["correctness"]["worst"]["replay"])
        self.assertEqual(self.replayed(record["correctness"]["worst"]["replay"])["verdict"], "incorrect")


class Libexec(test_cli.Cli):
    def test_a_relative_folder(self):
        self.write("relu.c", RIGHT)
        os.symlink(os.path.dirname(KGATE), self.path("lib"))
        done = self.kgate("run", "--check-only", "--format", "jsonl", "relu.c", env=dict(self.env, KGATE_LIBEXEC="lib"))
        self.assertEqual(json.loads(done.stdout)["verdict"], "right")


if __name__ == "__main__":
    unittest.main()
