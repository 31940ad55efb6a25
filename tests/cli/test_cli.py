"""kgate as a user meets it: every bad input gets one clear line and the right exit code, and the rest is judged.

KGATE names the program; without it, build/kgate beside this tree.
"""

import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KGATE = os.environ.get("KGATE", os.path.join(ROOT, "build", "kgate"))

HEAD = "// kgate: task=relu\n#include <kgate/kernel.h>\n#include <stdlib.h>\n"
ENTRY = "int relu(const DLTensor *input, bool inplace, DLTensor *out) {\n    (void)input, (void)inplace, (void)out;\n"
LOOP = "    for (int64_t i = 0; i < kg_elements(out); i++) { double x = kg_get(input, i); kg_put(out, i, %s); }\n"
RIGHT = HEAD + ENTRY + LOOP % "x > 0 || x != x ? x : 0" + "    return 0;\n}\n"
WRONG = HEAD + ENTRY + LOOP % "x" + "    return 0;\n}\n"
NO_BUILD = HEAD + "int relu( {\n"
CRASH = HEAD + ENTRY + "    *(volatile int *)0 = 1;\n    return 0;\n}\n"
ENDLESS = HEAD + ENTRY + "    for (volatile int i = 0;; i++) ;\n}\n"
NO_ENTRY = HEAD + "int other(void) { return 0; }\n"
RETURNS_7 = HEAD + ENTRY + "    return 7;\n}\n"
WRONG_SIGNATURE = "// kgate: task=relu\nint relu(int a, int b) { return a + b + 1; }\n"
DIES_LATER = HEAD + "static int n;\n" + ENTRY + "    if (++n > 9) abort();\n" + LOOP % "x > 0 || x != x ? x : 0" + "    return 0;\n}\n"
FIELDS = {"schema", "id", "candidate", "task", "suite", "category", "device", "verdict", "class", "build", "correctness",
          "integrity", "performance", "screens", "findings", "started", "seconds"}


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kgate-cli-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.addCleanup(self.leaves_nothing)
        os.mkdir(self.path("tmp"))
        self.env = dict(os.environ, KGATE_DB=self.path("results.db"), XDG_CACHE_HOME=self.path("cache"),
                        TMPDIR=self.path("tmp"))
        self.env.pop("NO_COLOR", None)

    KEEPS_SCRATCH = ()  # tests that kill kgate itself, which then cannot tidy up

    def leaves_nothing(self):
        """After every test here: no scratch folder, and no process that was given one."""
        if self._testMethodName not in self.KEEPS_SCRATCH:
            self.assertEqual(os.listdir(self.path("tmp")), [])
        deadline = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(left, [])

    def processes(self):
        """Command lines of those whose working folder or environment names this test's folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as e, open(f"/proc/{pid}/cmdline", "rb") as c:
                    if self.folder.encode() in e.read() + os.fsencode(os.readlink(f"/proc/{pid}/cwd")):
                        found.append(c.read())
            except OSError:
                continue  # gone, or another user's
        return found

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return name

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def kgate(self, *args, code=0, stdin="", env=None):
        done = subprocess.run([KGATE, *args], cwd=self.folder, env=env or self.env, input=stdin, text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}\n{done.stderr}")
        return done

    def refused(self, *args, code=2, says=()):
        """Nothing on stdout, exactly one line on stderr (but for the one that says so of a busy machine), with these parts."""
        done = self.kgate(*args, code=code)
        self.assertEqual(done.stdout, "")
        self.assertRegex(re.sub(r"kgate: the machine is busy: [^\n]+\n", "", done.stderr), r"\Akgate: [^\n]+\n\Z")
        for part in (says,) if isinstance(says, str) else says:
            self.assertIn(part, done.stderr)
        return done

    def judge(self, *args, code=0, stdin=""):
        """Records of `kgate run --check-only --format jsonl`, and what stderr said."""
        done = self.kgate("run", "--check-only", "--format", "jsonl", *args, code=code, stdin=stdin)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def list_of(self, name, sources):
        lines = [s if isinstance(s, str) and s.startswith("!") else json.dumps({"task": "relu", "code": s}) for s in sources]
        return self.write(name, "".join(line.lstrip("!") + "\n" for line in lines))


class Usage(Cli):
    def test_help_teaches_with_examples(self):
        self.assertIn("kgate run softmax.c", self.kgate("--help").stdout)
        for command in ("run", "gate", "task", "device", "explain", "results", "fix", "screen"):
            text = self.kgate(command, "--help").stdout
            self.assertIn("usage: kgate " + command, text)
            self.assertIn("\n  kgate " + command, text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100, command)
        self.assertRegex(self.kgate("--version").stdout, r"\Akgate \d+\.\d+\.\d+\n\Z")

    def test_no_or_unknown_command(self):
        self.assertIn("usage:", self.kgate(code=2).stderr)
        self.refused("rum", says=("rum", "run"))
        self.write("relu.c", RIGHT)
        self.refused("relu.c", says="kgate run relu.c")

    def test_bad_values_name_the_option_and_what_it_takes(self):
        self.write("relu.c", RIGHT)
        for args, says in {
            ("--jobs", "0"): "--jobs 0", ("--jobs", "two"): "whole number", ("--seed", "-1"): "--seed",
            ("--seed", "99999999999999999999"): "--seed", ("--timeout", "0"): "--timeout", ("--timeout", "nan"): "number",
            ("--lre-min", "x"): "--lre-min", ("--util-min", "1.5"): "--util-min", ("--util-min", "disk=1"): "memory=",
            ("--format", "xml"): "junit", ("--cases", "all"): "quick, full or float64", ("--cache", "warm"): "cold or hot",
            ("--device", "gpu"): "cuda:N", ("--device", "cpu:1"): "cuda:N", ("--baseline", "magic"): "torch-eager",
            ("--lang", "rust"): "triton", ("--task", "relu2"): "did you mean relu", ("--task", ""): "empty",
            ("--frob",): "--frob", ("--seed",): "needs a value", ("-x",): "-x", ("--require", "slow"): "--require",
        }.items():
            with self.subTest(args=args):
                self.refused("run", "relu.c", *args, says=says)

    def test_contradictions(self):
        self.write("relu.c", RIGHT)
        for args in (("--no-db", "--resume"), ("--no-db", "--db", "x.db"), ("--task", "relu", "--task", "gelu"),
                     ("--check-only", "--lre-min", "1"), ("--check-only", "--cache", "hot"), ("-o", "relu.c")):
            with self.subTest(args=args):
                self.refused("run", "relu.c", *args)
        self.assertEqual(self.read("relu.c"), RIGHT)

    def test_a_case_that_is_none(self):
        self.write("relu.c", RIGHT)
        self.refused("run", "--check-only", "--case", "f32[nowhere]", "relu.c", says=("f32[nowhere]", "`kgate task show relu -f json`"))

    def test_nothing_to_judge(self):
        os.mkdir(self.path("none"))
        self.write("none.jsonl", "\n")
        self.refused("run", says="no candidate")
        self.refused("run", "none", says="none")
        self.refused("run", "none.jsonl", says="none.jsonl")


    def test_output_never_destroys_what_is_read(self):
        self.write("k/relu.c", RIGHT)
        self.list_of("list.jsonl", [RIGHT])
        self.write("base.c", RIGHT)
        self.judge("k/relu.c")
        for name in ("results.db-wal", "results.db-shm"):
            self.write(name, "") if not os.path.exists(self.path(name)) else None
        os.symlink("results.db", self.path("link"))
        os.link(self.path("results.db"), self.path("hard"))
        names = ("results.db", "link", "hard", "results.db-wal", "results.db-shm", "k/relu.c", "list.jsonl", "base.c")
        before = {n: os.stat(self.path(n)).st_size for n in names}
        for name in names:
            for command in ("run", "gate"):
                with self.subTest(name=name, command=command):
                    self.refused(command, "--baseline", "base.c", "-o", name, "k", "list.jsonl:1", says=("-o " + name, "written over"))
        self.assertEqual({n: os.stat(self.path(n)).st_size for n in names}, before)
        self.refused("run", "--check-only", "--db", "new.db", "-o", "./new.db", "k", says="database")
        self.refused("run", "--check-only", "-o", "k/new.jsonl", "k", says="k/new.jsonl")
        self.assertFalse(os.path.exists(self.path("k/new.jsonl")))
        self.refused("results", "-o", "results.db", says="database")
        self.refused("task", "list", "-o", "results.db", says="database")
        self.refused("task", "new", "relu", "--lang", "c", "--force", "-o", "results.db", says="database")
        self.assertEqual(len(json.loads(self.kgate("results", "-f", "json").stdout)), 1)

    def test_an_earlier_output_stays_until_there_is_a_result(self):
        self.write("relu.c", RIGHT)
        self.write("relu.cl", "__kernel void relu() {}\n// kgate: task=relu\n")
        for form in ("table", "json", "jsonl", "csv", "junit"):
            self.write("out", "earlier " * 4000)
            for args, code in ((("absent.c",), 2), (("--device", "cuda:9", "relu.c"), 3), (("relu.cl",), 3)):
                for path, text in (("out", "earlier " * 4000), ("fresh", None)):
                    with self.subTest(form=form, args=args, path=path):
                        self.refused("run", "--check-only", "-f", form, "-o", path, *args, code=code)
                        self.assertEqual(self.read(path) if os.path.exists(self.path(path)) else None, text)
            self.kgate("run", "--check-only", "-f", form, "-o", "out", "relu.c")
            self.assertNotIn("earlier", self.read("out"))
            self.assertIn("relu.c", self.read("out"))
        self.write("out", "earlier")
        self.kgate("results", "--verdict", "tampered", "-o", "out")
        self.assertEqual(self.read("out"), "")
        self.refused("results", "show", "zzzzzzzz", "-o", "fresh", says="zzzzzzzz")
        self.assertFalse(os.path.exists(self.path("fresh")))

    def test_a_format_is_honoured_or_refused(self):
        self.write("relu.c", RIGHT)
        ids = [self.judge("relu.c")[0][0]["id"] for _ in range(2)]
        self.refused("results", "diff", *ids, "-f", "json", says="--format json")
        shown = json.loads(self.kgate("task", "show", "relu", "-f", "json").stdout)
        self.assertEqual((shown["task"], shown["torch_baseline"]), ("relu", "F.relu"))
        self.assertEqual(shown["cases"]["float64"][0], "f64[3]")
        self.assertEqual((shown["timed"]["cpu"][0], shown["timed"]["cuda"][-1]), ("f32[16384]", "f32[134217728]"))
        self.refused("task", "show", "relu", "-f", "csv", says="--format csv")
        self.refused("task", "new", "relu", "--lang", "c", "-f", "json", "-o", "new.c", says="--format json")

    def test_one_prefix_and_one_name_an_error(self):
        self.write("relu.c", RIGHT)
        self.judge("relu.c")
        for args in (("results", "show"), ("task", "show"), ("device", "list"), ("task", "new", "relu")):
            self.assertEqual(self.refused(*args).stderr.count("kgate"), 1 + (args[0] == "device") * 2, args)
        self.refused("results", "-t", "nope", says="unknown task")
        for args in (("",), ("explain", ""), ("results", "show", ""), ("task", "show", ""), ("run", "")):
            self.refused(*args, says="''")
        self.assertIn("--version", self.kgate("--help").stdout)
        self.assertEqual(self.kgate("help", "run").stdout, self.kgate("run", "--help").stdout)
        self.refused("help", "rum", says="rum")


class Devices(Cli):
    def test_a_device_that_is_not_here(self):
        self.write("relu.c", RIGHT)
        self.refused("run", "--device", "cuda:9", "relu.c", code=3, says=("cuda:9", "cpu"))
        self.refused("device", "--device", "opencl:7", code=3, says="opencl")

    def test_a_language_on_the_wrong_device(self):
        self.write("relu.cu", "// kgate: task=relu\n__global__ void k() {}\n")
        self.refused("run", "--device", "cpu", "relu.cu", code=3, says=("relu.cu", "cuda", "--device"))

    def test_listing(self):
        devices = json.loads(self.kgate("device", "--format", "json").stdout)
        self.assertIn("cpu", [d["kind"] for d in devices["devices"]])
        self.assertIn("sandbox", devices)

    def test_ceilings_that_a_busy_machine_gave_are_called_so(self):
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
        try:
            done = self.kgate("device", "measure", "--device", "cpu", "--no-db", "-f", "json")
        finally:
            for p in busy:
                p.kill()
                p.wait()
        source = json.loads(done.stdout)["devices"][0]["ceilings"]["source"]
        said = "kgate: the machine is busy: these ceilings are too low, and not kept; measure again when it is quiet\n"
        self.assertEqual(done.stderr, said if "busy machine" in source else "")

    def test_candidates_of_absent_devices(self):
        self.write("k/a.cl", "__kernel void relu() {}\n// kgate: task=relu\n")
        self.write("k/relu.c", RIGHT)
        records, notes = self.judge("k")
        self.assertEqual([r["candidate"]["path"] for r in records], ["k/relu.c"])
        self.assertRegex(notes, r"\Akgate: 1 skipped[^\n]*k/a\.cl[^\n]*\nkgate: 1 of 2 candidates not judged\n\Z")
        self.refused("run", "--check-only", "k/a.cl", code=3, says="k/a.cl")
        gate = self.kgate("gate", "--check-only", "--require", "right", "k", code=3)
        self.assertRegex(gate.stderr, r"\Akgate: skipped: k/a\.cl: [^\n]+\nkgate: gate not decided: 1 of 2 candidates not judged\n\Z")
        self.write("k/wrong.c", WRONG)
        gate = self.kgate("gate", "--check-only", "--require", "right", "k", code=1)
        self.assertIn("gate not met: 1 of 2 candidates below --require right; 1 not judged\n", gate.stderr)


class Database(Cli):
    def test_unusable_databases(self):
        self.write("relu.c", RIGHT)
        self.write("text.db", "no database " * 1000)
        os.mkdir(self.path("folder.db"))
        for db in ("text.db", "folder.db", "text.db/x.db", "/proc/x.db"):
            with self.subTest(db=db):
                self.refused("run", "--check-only", "--db", db, "relu.c", code=3, says=(db, "--db"))
        self.assertEqual(len(self.judge("--no-db", "relu.c")[0]), 1)

    def test_a_newer_schema(self):
        self.write("relu.c", RIGHT)
        self.judge("relu.c")
        db = sqlite3.connect(self.path("results.db"))
        db.execute("PRAGMA user_version=99")
        db.close()
        self.refused("run", "--check-only", "relu.c", code=3, says=("99", "newer"))
        self.refused("results", code=3, says="newer")

    def test_results(self):
        self.write("right.c", RIGHT)
        self.write("wrong.c", WRONG)
        first = self.judge("right.c", "wrong.c")[0]
        table = self.kgate("results").stdout
        self.assertRegex(table, r"\n%s \d{4}-\d\d-\d\d \d\d:\d\d +relu +right\.c " % first[0]["id"])
        self.assertEqual(json.loads(self.kgate("results", "--format", "json").stdout), first[::-1])
        only = json.loads(self.kgate("results", "--verdict", "incorrect", "--format", "json").stdout)
        self.assertEqual([r["candidate"]["path"] for r in only], ["wrong.c"])
        self.assertIn("incorrect:", self.kgate("results", "show", first[1]["id"][:6]).stdout)
        self.assertEqual(json.loads(self.kgate("results", "show", first[1]["id"], "--format", "jsonl").stdout), first[1])
        self.assertRegex(self.kgate("results", "diff", first[0]["id"], first[1]["id"]).stdout, r"verdict +right +incorrect +changed")
        self.refused("results", "show", "zzzzzzzz", says="zzzzzzzz")
        self.refused("results", "diff", first[0]["id"], says="diff ID ID")

    def test_nothing_stored_yet(self):
        self.refused("results", code=3, says="results.db")


    def test_a_broken_list_counts_in_the_exit_code(self):
        self.write("l.jsonl", json.dumps({"task": "relu", "code": RIGHT}) + "\n" + json.dumps({"task": "nope", "code": RIGHT.replace("task=relu", "")}) + "\n")
        self.assertIn("1 of 2 candidates not judged", self.judge("l.jsonl", code=2)[1])

    @unittest.skipIf(os.getuid(), "needs another user")
    def test_a_database_that_cannot_be_written(self):
        self.write("relu.c", RIGHT)
        record = self.judge("relu.c")[0][0]
        os.mkdir(self.path("shared"))
        shutil.copy(KGATE, self.path("kgate"))
        shutil.copy(self.path("results.db"), self.path("shared/results.db"))
        os.chmod(self.folder, 0o755)

        def as_nobody(*args):
            done = subprocess.run([self.path("kgate"), *args, "--db", "shared/results.db"], cwd=self.folder, env=self.env, text=True,
                                  capture_output=True, timeout=120, user=65534, check=False)
            return done.returncode, done.stdout, done.stderr

        for args in (("results",), ("results", "show", record["id"]), ("explain", record["id"]), ("results", "diff", record["id"], record["id"])):
            with self.subTest(args=args):
                code, out, said = as_nobody(*args)
                self.assertEqual((code, said), (0, ""))
                self.assertIn("relu.c", out)
        self.assertEqual(os.listdir(self.path("shared")), ["results.db"])
        self.write("shared/results.db-wal", b"\x37\x7f\x06\x82" * 100)
        code, out, said = as_nobody("results")
        self.assertEqual((code, out), (3, ""))
        self.assertRegex(said, r"\Akgate: database shared/results\.db: [^\n]*results\.db-wal[^\n]*--db FILE\n\Z")


class Terminal(Cli):
    """What a person sees: standard error is a terminal of 40 columns."""

    def seen(self, *args):
        """What is written on the terminal, and what a pipe gets of standard output."""
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 40))
        with subprocess.Popen([KGATE, *args], cwd=self.folder, env=dict(self.env, TERM="xterm"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=slave) as p:
            os.close(slave)
            written = b""
            try:
                while chunk := os.read(master, 4096):
                    written += chunk
            except OSError:
                pass  # how a terminal without a writer ends
            out = p.stdout.read().decode()
        os.close(master)
        return written.decode().replace("\r\n", "\n"), out

    def test_messages_stand_whole_on_lines_of_their_own(self):
        self.list_of("l.jsonl", [RIGHT, "![]", RIGHT, "!{"])
        written, out = self.seen("run", "--check-only", "l.jsonl", "absent.c")
        lines = [line.split("\r\033[K")[-1] for line in written.split("\n")]
        self.assertEqual([line for line in lines if line],
                         ["kgate: l.jsonl:2: not a JSON object, as a line of a list must be",
                          "kgate: l.jsonl:4: bad JSON at column 1: string or '}' expected near end of file",
                          "kgate: absent.c: no such file: check the path", "kgate: 3 of 5 candidates not judged"])
        self.assertIn("case 1 of ", written)
        self.assertNotIn("\033[K", out)

    def test_progress_stays_on_its_line(self):
        self.write("k/" + "日本語" * 9 + ".c", RIGHT)
        written, _ = self.seen("run", "--check-only", "k")
        shown = [part for part in re.split(r"\r\033\[K|\n", written) if part]
        self.assertGreater(len(shown), 2)
        for part in shown:
            self.assertLess(sum(1 + (unicodedata.east_asian_width(c) == "W") for c in part), 40, part)

    def test_a_pipe_gets_messages_and_no_progress(self):
        self.list_of("l.jsonl", [RIGHT, "![]"])
        said = self.kgate("run", "--check-only", "l.jsonl", code=2).stderr
        self.assertEqual(said, "kgate: l.jsonl:2: not a JSON object, as a line of a list must be\nkgate: 1 of 2 candidates not judged\n")


class Tasks(Cli):
    def test_list_and_show(self):
        names = [t["task"] for t in json.loads(self.kgate("task", "list", "--format", "json").stdout)]
        self.assertIn("relu", names)
        self.assertIn("relu", self.kgate("task", "list").stdout)
        self.assertIn("int relu(", self.kgate("task", "show", "relu").stdout)
        self.refused("task", "show", "rellu", says="relu")
        self.refused("task", "shwo", says="list")

    def test_new_never_overwrites(self):
        self.kgate("task", "new", "relu", "--lang", "c")
        self.assertIn("int relu(", self.read("relu.c"))
        self.write("relu.c", "mine")
        self.refused("task", "new", "relu", "--lang", "c", says="--force")
        self.assertEqual(self.read("relu.c"), "mine")
        self.kgate("task", "new", "relu", "--lang", "c", "--force")
        self.assertIn("int relu(", self.read("relu.c"))
        self.refused("task", "new", "relu", says="--lang")
        self.refused("task", "new", "relu", "--lang", "c", "-o", "no/where.c", code=3, says="no/where.c")

    def test_new_names_only_languages_it_can_write(self):
        text = self.kgate("task", "--help").stdout
        named = re.search(r"--lang LANGUAGE +what to write: ([a-z, ]+)", text).group(1).replace(" or ", ", ").split(", ")
        self.assertEqual(named, ["c", "cuda", "triton", "tilelang", "python"])
        for language in named:
            self.kgate("task", "new", "relu", "--lang", language, "-o", "new." + {"c": "c", "cuda": "cu"}.get(language, "py"), "--force")
        for language in ("opencl", "ptx", "cubin"):
            self.refused("task", "new", "relu", "--lang", language, says="use c, cuda, triton, tilelang or python")
            self.assertNotIn(language, text.replace("PTX can be judged", ""))
        self.refused("task", "new", "relu", says="--lang c, cuda, triton, tilelang or python")

    def test_names_stand_whole_in_the_list(self):
        names = [t["task"] for t in json.loads(self.kgate("task", "list", "-f", "json").stdout)]
        self.assertEqual([line.split()[0] for line in self.kgate("task", "list").stdout.splitlines()], names)

    def test_a_skeleton_is_right(self):
        self.kgate("task", "new", "relu", "--lang", "c")
        self.assertEqual(self.judge("relu.c")[0][0]["verdict"], "right")


class BadCandidates(Cli):
    def test_no_such_file_and_the_rest_is_judged(self):
        self.write("relu.c", RIGHT)
        records, said = self.judge("absent.c", "relu.c", code=2)
        self.assertEqual([r["verdict"] for r in records], ["right"])
        self.assertEqual(said, "kgate: absent.c: no such file: check the path\nkgate: 1 of 2 candidates not judged\n")
        table = self.kgate("run", "--check-only", "absent.c", "relu.c", code=2).stdout
        self.assertIn("\n2 candidates: 1 right, 1 not judged; ", table)

    def test_unknown_task_names_near_ones(self):
        self.write("rellu.c", RIGHT.replace("task=relu", ""))
        self.refused("run", "rellu.c", says=("rellu", "relu", "--task"))
        self.write("k/rellu.c", RIGHT.replace("task=relu", ""))
        self.write("k/relu.c", RIGHT)
        records, said = self.judge("k", code=2)
        self.assertEqual(len(records), 1)
        self.assertIn("1 skipped, task not known", said)
        gate = self.kgate("gate", "--check-only", "--require", "right", "-f", "junit", "k", code=3)
        self.assertIn("skipped: k/rellu.c: unknown task rellu", gate.stderr)
        for text in (gate.stdout, self.kgate("run", "--check-only", "-f", "junit", "k", code=2).stdout):
            suite = ElementTree.fromstring(text).find("testsuite")
            self.assertEqual([suite.get(k) for k in ("tests", "failures", "skipped")], ["2", "0", "1"])
            self.assertEqual([c.get("name") for c in suite if c.find("skipped") is not None], ["k/rellu.c"])

    def test_files_that_are_no_kernels_are_broken(self):
        self.write("k/a/relu.c", b"int\0\1\2")
        self.write("k/b/relu.c", "")
        self.write("k/relu.c", RIGHT)
        records, _ = self.judge("k")
        self.assertEqual([r["verdict"] for r in records], ["broken", "broken", "right"])
        self.assertIn("binary", records[0]["error"])
        self.assertIn("empty", records[1]["error"])
        self.assertIn("broken k/b/relu.c: empty: nothing", self.kgate("run", "--check-only", "k/b/relu.c").stdout)

    def test_files_that_are_no_kernels_and_name_no_task(self):
        self.write("empty.c", "")
        self.write("binary.c", b"int\0\1\2")
        for name, task in {"empty.c": "empty", "binary.c": "binary", "/dev/null": "null"}.items():
            self.refused("run", name, says=f"{name}: unknown task {task}: ")
        self.assertEqual(self.judge("-t", "relu", "/dev/null")[0][0]["verdict"], "broken")
        self.refused("run", "", says="kgate: '': an empty name")
        self.refused("run", "-", says="kgate: -: empty")

    @unittest.skipUnless(os.getuid(), "root reads everything")
    def test_an_unreadable_file(self):
        os.chmod(self.path(self.write("relu.c", RIGHT)), 0)
        self.refused("run", "relu.c", code=3, says="relu.c")

    def test_one_bad_line_among_many(self):
        self.list_of("many.jsonl", [RIGHT] * 12 + ["!{\"task\": oops", "!{\"task\":\"relu\"}", "![]"] + [RIGHT] * 12)
        records, said = self.judge("many.jsonl", code=2)
        self.assertEqual([r["verdict"] for r in records], ["right"] * 12 + ["broken"] + ["right"] * 12)
        self.assertEqual(records[12]["candidate"]["path"], "many.jsonl:14")
        self.assertRegex(said, r"\Akgate: many\.jsonl:13: bad JSON [^\n]+\nkgate: many\.jsonl:15: not a JSON object[^\n]+\n"
                               r"kgate: 2 of 27 candidates not judged\n\Z")
        self.write("bad.jsonl", "{\n[]\n")
        records, said = self.judge("bad.jsonl", code=2)
        self.assertEqual((records, said.count("kgate: bad.jsonl:")), ([], 2))
        self.assertEqual(len(json.loads(self.kgate("results", "-f", "json").stdout)), 25)
        self.refused("run", "bad.jsonl:2", says="bad.jsonl:2")

    def test_a_huge_line(self):
        with open(self.path("huge.jsonl"), "w") as f:
            f.write('{"task":"relu","code":"')
            for _ in range(70):
                f.write("x" * (1 << 20))
            f.write('"}\n' + json.dumps({"task": "relu", "code": RIGHT}) + "\n")
        records, said = self.judge("huge.jsonl", code=2)
        self.assertEqual([r["verdict"] for r in records], ["right"])
        self.assertIn("huge.jsonl:1: a line above 64 MiB", said)

    def test_lists_keep_method_and_round(self):
        self.write("l.jsonl", json.dumps({"task": "relu", "code": RIGHT, "method": "geak", "round": 2}) + "\n" +
                   json.dumps({"file": "../../relu.c", "predict": RIGHT.replace("task=relu", "")}) + "\n")
        records, _ = self.judge("l.jsonl")
        self.assertEqual((records[0]["candidate"]["method"], records[0]["candidate"]["round"]), ("geak", "2"))
        self.assertEqual([r["task"] for r in records], ["relu", "relu"])
        self.assertEqual(self.judge("l.jsonl:2")[0][0]["candidate"]["path"], "l.jsonl:2")

    def test_scratch_of_other_runs_is_no_candidate(self):
        for folder in ("kgate-run-aBcDeF", "kernels"):
            os.mkdir(self.path(folder))
            self.write(folder + "/relu.c", RIGHT)
        self.assertEqual([r["candidate"]["path"] for r in self.judge(".")[0]], ["./kernels/relu.c"])

    def test_odd_names(self):
        names = ["a b.c", "it's \"q\".c", "new\nline.c", "-dash.c", "日本.c", "sub/../up.c", "$(touch pwned).c"]
        os.mkdir(self.path("sub"))
        for name in names:
            self.write(name, RIGHT)
        records, _ = self.judge("--", *names)
        paths = [n.replace("-dash", "./-dash") for n in names]  # what a command line can repeat
        self.assertEqual([(r["candidate"]["path"], r["verdict"]) for r in records], [(p, "right") for p in paths])
        self.write("-wrong.c", WRONG)
        replay = self.judge("--", "-wrong.c")[0][0]["correctness"]["worst"]["replay"]
        self.assertRegex(replay, r"\Akgate run '?[./]")
        self.assertFalse(os.path.exists(self.path("pwned")))
        with open(os.path.join(os.fsencode(self.folder), b"bad\xff.c"), "w") as f:
            f.write(RIGHT)
        self.assertEqual([r["candidate"]["path"] for r in self.judge(".")[0] if "bad" in r["candidate"]["path"]], ["./bad\\xff.c"])

    def test_standard_input(self):
        self.assertEqual(self.judge("-", stdin=RIGHT)[0][0]["verdict"], "right")
        self.assertEqual(self.judge("-", stdin=json.dumps({"task": "relu", "code": RIGHT}))[0][0]["candidate"]["path"], "-:1")
        _, said = self.judge("-", stdin="Sorry, I cannot.", code=2)
        self.assertIn("--lang", said)

    def test_no_compiler(self):
        self.write("relu.c", RIGHT)
        env = dict(self.env, PATH="/nonexistent", CC="")
        done = self.kgate("run", "--check-only", "relu.c", code=3, env=env)
        self.assertRegex(done.stderr, r"\Akgate: relu\.c: [^\n]*compiler[^\n]*\n\Z")

    def test_no_python(self):
        self.write("relu.py", "import torch\ndef relu(input, inplace=False):\n    return torch.relu(input)\n")
        done = self.kgate("run", "--check-only", "--device", "cpu", "--python", "/nonexistent/python", "relu.py", code=3)
        self.assertRegex(done.stderr, r"\Akgate: relu\.py: [^\n]*/nonexistent/python[^\n]*\n\Z")


class Verdicts(Cli):
    def test_each_fault_costs_its_own_verdict(self):
        for name, (source, _, _) in (faults := {
            "a_right": (RIGHT, "right", ""), "b_wrong": (WRONG, "incorrect", ""), "c_no_build": (NO_BUILD, "broken", "compile"),
            "d_crash": (CRASH, "broken", "SIGSEGV"), "e_endless": (ENDLESS, "broken", "2 s"),
            "f_signature": (WRONG_SIGNATURE, None, ""), "g_no_entry": (NO_ENTRY, "broken", "relu"),
            "h_returns": (RETURNS_7, "broken", "7"), "i_dies": (DIES_LATER, "broken", "SIGABRT"), "j_right": (RIGHT, "right", ""),
        }).items():
            self.write(f"k/{name}.c", source)
        records, _ = self.judge("--timeout", "2", "k")
        self.assertEqual(len(records), len(faults))
        for record, (name, (_, verdict, says)) in zip(records, faults.items()):
            with self.subTest(name=name):
                self.assertLessEqual(FIELDS, set(record))
                if verdict:
                    self.assertEqual(record["verdict"], verdict)
                else:
                    self.assertIn(record["verdict"], ("broken", "incorrect"))
                self.assertIn(says, (record["error"] or "") + (record["correctness"].get("why") or ""))
                self.assertNotIn("\n", record["error"] or "")
        dies = records[8]["correctness"]
        self.assertGreater(dies["cases"], 1, "the cases it answered are kept")
        self.assertFalse(dies["ok"])

    def test_the_gate(self):
        self.write("right.c", RIGHT)
        self.write("wrong.c", WRONG)
        check = ("gate", "--check-only", "--require", "right")
        self.assertEqual(self.kgate(*check, "right.c").stderr, "kgate: gate met: 1 candidate, --require right\n")
        said = self.kgate(*check, "right.c", "wrong.c", code=1).stderr
        self.assertRegex(said, r"\Akgate: not met: wrong\.c: incorrect: \d+ of [^\n]+\n"
                               r"kgate: gate not met: 1 of 2 candidates below --require right\n\Z")
        self.kgate("run", "--check-only", "right.c", "wrong.c")
        said = self.kgate("gate", "--check-only", "right.c", code=1).stderr
        self.assertRegex(said, r"\Akgate: gate not met \(--require efficient\): right\.c: right, not timed: --check-only[^\n]*\n\Z")

    def test_a_gate_says_when_no_screen_applied(self):
        """The verdict is put into the database: no real kernel is sure to be at the launch floor of this machine."""
        self.write("relu.c", RIGHT)
        record = self.judge("relu.c")[0][0]
        record["verdict"] = "efficient"
        record["performance"]["cases"] = [{"case": "f32[9]", "time_us": 2.0, "bound": "latency"}]
        db = sqlite3.connect(self.path("results.db"))
        db.execute("UPDATE results SET record = ?", (json.dumps(record),))
        db.execute("""UPDATE runs SET finished = NULL, settings = replace(settings, '"check_only":true', '"check_only":false')""")
        db.commit()
        db.close()
        done = self.kgate("gate", "--resume", "relu.c")
        why = "relu.c: no screen applied: every timed case is at the launch floor"
        self.assertIn(f"kgate: gate met: 1 candidate, --require efficient; but 1 unscreened (first: {why})\n", done.stderr)
        self.assertIn("\nefficient " + why + "\n", done.stdout)
        self.assertNotIn("kgate explain", done.stdout)

    def test_junit_fails_what_the_gate_fails(self):
        self.write("right.c", RIGHT)
        self.write("wrong.c", WRONG)
        for require, failures in {"efficient": ["right.c", "wrong.c"], "right": ["wrong.c"], "slow": ["wrong.c"]}.items():
            done = self.kgate("gate", "--check-only", "--require", require, "-f", "junit", "right.c", "wrong.c", code=1)
            suite = ElementTree.fromstring(done.stdout).find("testsuite")
            failed = {c.get("name"): c.find("failure").text for c in suite if c.find("failure") is not None}
            self.assertEqual(list(failed), failures)
            self.assertEqual(suite.get("failures"), str(len(failures)))
            self.assertIn("cases wrong", failed["wrong.c"])
            if require == "efficient":
                self.assertIn("right, not timed: --check-only", failed["right.c"])

    def test_a_failure_replays_from_its_command_line(self):
        self.write("it's wrong.c", WRONG)
        record = self.judge("it's wrong.c")[0][0]
        worst = record["correctness"]["worst"]
        line = worst["replay"].replace("kgate ", KGATE + " ", 1) + " --no-db --format json"
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.env, capture_output=True, text=True, check=True)
        again = json.loads(done.stdout)[0]
        self.assertEqual(again["correctness"]["cases"], 1)
        self.assertEqual(again["correctness"]["worst"]["case"], worst["case"])
        self.assertEqual(again["correctness"]["why"], record["correctness"]["why"])

    def test_every_wrong_case_is_in_the_record(self):
        self.write("wrong.c", WRONG)
        correctness = self.judge("--cases", "float64", "wrong.c")[0][0]["correctness"]
        self.assertEqual(len(correctness["wrong"]), correctness["failed"])
        self.assertIn(correctness["worst"]["case"], [w["case"] for w in correctness["wrong"]])
        self.assertTrue(all(w["case"].startswith(("f64[", "i")) and w["why"] for w in correctness["wrong"]))
        self.assertIn("--cases float64", correctness["worst"]["replay"])


class Formats(Cli):
    def setUp(self):
        super().setUp()
        self.write("right.c", RIGHT)
        self.write("<wrong> & \"co\".c", WRONG)
        self.args = ("run", "--check-only", "right.c", "<wrong> & \"co\".c")

    def test_table(self):
        text = self.kgate(*self.args).stdout
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertRegex(text, r"\n[a-z2-7]{6} relu +right\.c +right +fp32 ")
        self.assertRegex(text, r"\nincorrect <wrong>[^\n]*: \d+ of \d+ cases wrong")
        self.assertRegex(text, r"2 candidates: 1 right, 1 incorrect; [\d.]+ s")
        command = re.search(r"\n  kgate run (?:[^\n]*\\\n)*[^\n]*", text).group()
        self.assertIn("--seed ", command)
        again = subprocess.run(["bash", "-c", command.replace("kgate", KGATE, 1) + " --no-db -f json"], cwd=self.folder, env=self.env,
                               capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(again.stdout)[0]["verdict"], "incorrect")
        self.assertIn("kgate explain", text)
        self.assertNotIn("kgate explain", self.kgate("run", "--check-only", "right.c").stdout)
        self.assertNotIn("\033", text)

    def test_machine_formats(self):
        whole = json.loads(self.kgate(*self.args, "--format", "json").stdout)
        self.assertEqual([r["verdict"] for r in whole], ["right", "incorrect"])
        rows = list(csv.DictReader(io.StringIO(self.kgate(*self.args, "--format", "csv").stdout)))
        self.assertEqual([r["path"] for r in rows], ["right.c", "<wrong> & \"co\".c"])
        suite = ElementTree.fromstring(self.kgate(*self.args, "--format", "junit").stdout).find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
        self.assertEqual([c.get("name") for c in suite], ["right.c", "<wrong> & \"co\".c"])

    def test_to_a_file(self):
        done = self.kgate(*self.args, "--format", "jsonl", "-o", "out.jsonl")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertEqual(len(self.read("out.jsonl").splitlines()), 2)
        explained = self.kgate("explain", "out.jsonl").stdout
        self.assertIn("right: ", explained)
        self.assertIn("incorrect: ", explained)
        self.refused("run", "right.c", "-o", "no/where.json", code=3, says="no/where.json")
        full = self.kgate(*self.args, "-o", "/dev/full", code=3)
        self.assertIn("could not be written", full.stderr)

    def test_a_number_not_measured_is_null(self):
        performance = json.loads(self.kgate("run", "--check-only", "right.c", "--format", "json").stdout)[0]["performance"]
        self.assertIsNone(performance["lre"])
        self.assertIsNone(performance["utilization"])
        self.assertEqual(performance["cases"], [])

    def judge_slow(self, body):
        """A kernel that takes 125 ns for each element of a timed size."""
        sleeps = "    const int64_t n = kg_elements(out);\n    if (n > 100000) usleep((unsigned)(n / 8));\n"
        self.write("slow.c", HEAD.replace("stdlib", "unistd") + ENTRY + sleeps + LOOP % "x > 0 || x != x ? x : 0" + body +
                   "    return 0;\n}\n")
        return json.loads(self.kgate("run", "--no-db", "--baseline", "none", "--format", "jsonl", "slow.c").stdout)

    def test_a_slow_kernels_largest_sizes_are_checked_and_not_timed(self):
        performance = self.judge_slow("")["performance"]
        left_out = [c["case"] for c in performance["not_timed"] if "no speed there" in c["why"]]
        self.assertIn("f32[16777216]", left_out)
        self.assertFalse({c["case"] for c in performance["cases"]} & set(left_out))

    def test_what_is_wrong_at_a_size_that_is_not_timed_is_incorrect(self):
        record = self.judge_slow("    if (n > 10000000) kg_put(out, 7, 1e9);\n")
        self.assertEqual(record["verdict"], "incorrect")
        self.assertIn("f32[16777216]", record["correctness"]["worst"]["case"])

    def test_a_profile_adds_up(self):
        self.write("right.c", RIGHT)
        record = json.loads(self.kgate("run", "--no-db", "--check-only", "--profile", "--format", "jsonl", "right.c").stdout)
        self.assertAlmostEqual(sum(record["profile"].values()), record["seconds"], delta=0.05)
        self.assertGreater(record["profile"]["build"], 0)
        self.assertIn("Where the time went: ", self.kgate("run", "--no-db", "--check-only", "--profile", "right.c").stdout)

    def test_a_wrong_kernel_needs_no_ceilings(self):
        self.write("wrong.c", WRONG)
        self.kgate("run", "--device", "cpu", "wrong.c")
        self.assertIn("not measured yet", self.kgate("device").stdout)

    def test_explain_a_candidate(self):
        text = self.kgate("explain", "--check-only", "right.c").stdout
        self.assertTrue(text.startswith("relu: right.c"), text)
        self.refused("explain", "absent.c", says="absent.c")

    def test_explaining_a_candidate_says_that_it_is_judged_again(self):
        self.assertIn("judged anew", self.kgate("explain", "--help").stdout)
        done = self.kgate("explain", "--check-only", "right.c")
        new = json.loads(self.kgate("results", "-n", "1", "-f", "json").stdout)[0]
        when = new["started"].replace("T", " ").replace("Z", " UTC")
        self.assertIn(f"\nresult {new['id']}, judged {when}\n", done.stdout)
        self.assertEqual(done.stderr, f"kgate: right.c: judged now; `kgate explain {new['id']}` says this again without judging\n")
        os.unlink(self.path("right.c"))  # nothing is left to judge
        stored = self.kgate("explain", new["id"])
        self.assertEqual((stored.stdout, stored.stderr), (done.stdout, ""))

    def test_the_table_names_the_result_of_each_row(self):
        done = self.kgate(*self.args)
        ids = re.findall(r"^([a-z2-7]{6}) relu ", done.stdout, re.M)
        paths = ["right.c", "<wrong> & \"co\".c"]
        self.assertEqual([json.loads(self.kgate("explain", i, "-f", "json").stdout)[0]["candidate"]["path"] for i in ids], paths)
        self.assertIn("`kgate explain ID`", done.stdout)
        unstored = self.kgate(*self.args, "--no-db").stdout
        self.assertRegex(unstored, r"\n- +relu +right\.c ")
        self.assertIn("`kgate explain FILE` judges one again", unstored)

    def test_a_wrong_kernel_has_no_precision(self):
        """Right in float32, so its errors fit the fp32 rung there; wrong in half."""
        self.write("half.c", HEAD + ENTRY + LOOP % "x > 0 || x != x ? x : input->dtype.bits == 16" + "    return 0;\n}\n")
        record = self.judge("half.c")[0][0]
        self.assertEqual((record["verdict"], record["correctness"]["precision"]), ("incorrect", None))
        self.assertNotIn("fp32", self.kgate("results").stdout)
        self.assertNotIn("precision", self.kgate("explain", record["id"]).stdout)

    def test_every_table_fits_100_columns(self):
        long = "kernels/of/a/method/with/a/long/name/" + "relu_" * 12 + ".c"
        self.write(long, WRONG)
        records, _ = self.judge("right.c", long)
        ids = [r["id"] for r in records]
        for args, code in ((("run", "--check-only", "right.c", long), 0), (("gate", "--check-only", "right.c", long), 1),
                           (("run", "--check-only", "--no-db", long), 0), (("results",), 0), (("results", "list", "-n", "1"), 0),
                           (("results", "show", ids[1]), 0), (("results", "diff", *ids), 0), (("explain", *ids), 0),
                           (("explain", *ids, "-f", "table"), 0), (("task", "list"), 0), (("device",), 0)):
            with self.subTest(args=args):
                lines = self.kgate(*args, code=code).stdout.splitlines()
                self.assertTrue(lines)
                self.assertEqual([line for line in lines if len(line) > 100], [])

    def test_names_are_cut_where_they_are_alike(self):
        for name in ("one", "two"):
            self.write(f"kernels/of/a/method/with/a/long/name/relu_{name}.c", RIGHT)
        self.judge("kernels")
        for args in (("run", "--check-only", "kernels"), ("results",)):
            for name in ("one", "two"):
                self.assertRegex(self.kgate(*args).stdout, rf"relu +\.\.\.\S*/relu_{name}\.c ")


class Interrupted(Cli):
    ARGS = ("run", "--check-only", "--format", "jsonl")
    KEEPS_SCRATCH = ("test_a_killed_run_resumes", "test_what_was_judged_is_in_the_file_after_a_kill")

    def test_what_was_judged_is_in_the_file_after_a_kill(self):
        self.list_of("list.jsonl", [RIGHT] * 40)
        self.write("out.jsonl", "earlier\n")
        with subprocess.Popen([KGATE, *self.ARGS, "-o", "out.jsonl", "list.jsonl"], cwd=self.folder, env=self.env,
                              start_new_session=True) as p:
            while self.read("out.jsonl").count("\n") < 3:
                time.sleep(0.01)
            os.killpg(p.pid, signal.SIGKILL)
        lines = self.read("out.jsonl").splitlines()
        self.assertTrue(3 <= len(lines) < 40, len(lines))
        self.assertEqual({json.loads(line)["verdict"] for line in lines}, {"right"})

    def start_and_stop(self, after, number):
        with subprocess.Popen([KGATE, *self.ARGS, "list.jsonl"], cwd=self.folder, env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as p:
            for _ in range(after):
                p.stdout.readline()
            os.killpg(p.pid, number)  # as the keyboard does: the runner gets it too
            return len(p.stdout.readlines()) + after, p.stderr.read(), p.wait()

    def test_who_writes_a_list_may_wait_for_each_verdict(self):
        with subprocess.Popen([KGATE, *self.ARGS, "-"], cwd=self.folder, env=self.env, text=True, bufsize=1,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
            for source, verdict in ((RIGHT, "right"), (NO_BUILD, "broken"), (WRONG, "incorrect")):
                p.stdin.write(json.dumps({"task": "relu", "code": source}) + "\n")
                self.assertEqual(json.loads(p.stdout.readline())["verdict"], verdict)
            p.stdin.close()
            self.assertEqual(p.wait(), 0)

    def test_one_file_twice_that_is_judged_again(self):
        kills = HEAD + ENTRY + "    raise(SIGKILL);\n    return 0;\n}\n"
        for name, source in (("wrong.c", WRONG), ("kills.c", kills.replace("stdlib", "signal")), ("right.c", RIGHT)):
            self.write(name, source)
        done = self.kgate(*self.ARGS, "wrong.c", "kills.c", "kills.c", "right.c", "right.c")
        records = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["verdict"] for r in records], ["incorrect", "broken", "broken", "right", "right"])
        # What the record of one says of its values is of no use to the next.
        self.assertEqual(len({r["correctness"]["seed"] for r in records}), len(records))

    def test_builds_ahead_change_no_verdict(self):
        kinds = [RIGHT, RIGHT, NO_BUILD, NO_BUILD, WRONG, RETURNS_7, RIGHT, CRASH, WRONG]
        self.list_of("list.jsonl", kinds)
        verdicts = [json.loads(line)["verdict"] for line in self.kgate(*self.ARGS, "list.jsonl").stdout.splitlines()]
        self.assertEqual(verdicts, ["right", "right", "broken", "broken", "incorrect", "broken", "right", "broken",
                                    "incorrect"])

    def test_a_killed_run_resumes(self):
        self.list_of("list.jsonl", [RIGHT, WRONG] * 8)
        shown, _, _ = self.start_and_stop(5, signal.SIGKILL)
        self.assertLess(shown, 16)
        done = self.kgate(*self.ARGS, "--resume", "list.jsonl")
        records = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["verdict"] for r in records], ["right", "incorrect"] * 8)
        kept = int(re.search(r"(\d+) taken from the interrupted run", done.stderr).group(1))
        self.assertIn(kept, (shown, shown + 1))
        self.assertEqual(len({r["id"] for r in records}), 16)
        again = self.kgate(*self.ARGS, "--resume", "list.jsonl")
        self.assertIn("nothing to resume", again.stderr)

    def test_interrupting_says_how_to_go_on(self):
        self.list_of("list.jsonl", [RIGHT] * 12)
        shown, said, code = self.start_and_stop(2, signal.SIGINT)
        self.assertEqual(code, 128 + signal.SIGINT)
        self.assertIn("--resume", said)
        self.assertLess(shown, 12)
        records = json.loads(self.kgate("results", "--format", "json").stdout)
        self.assertEqual({r["verdict"] for r in records}, {"right"})

    def test_interrupting_does_not_wait_for_an_endless_kernel(self):
        self.list_of("list.jsonl", [RIGHT, ENDLESS])
        with subprocess.Popen([KGATE, *self.ARGS, "list.jsonl"], cwd=self.folder, env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as p:
            p.stdout.readline()
            time.sleep(2)  # it builds and hangs
            begun = time.monotonic()
            p.send_signal(signal.SIGINT)
            said, code = p.stderr.read(), p.wait()
        self.assertEqual(code, 128 + signal.SIGINT)
        self.assertIn("interrupted after 1", said)
        self.assertLess(time.monotonic() - begun, 20)  # a call's limit is 60 s

    def runners(self, parent):
        """Processes that `parent` started and that run the candidate by now."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as words:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == parent and "kgate-runner" in words.read():
                        found.append(int(pid))
            except OSError:
                continue
        return found

    def kill_runners(self, times):
        """Judges a kernel that takes a while; kills its runner so often. Its record."""
        slow = HEAD.replace("stdlib", "unistd") + ENTRY + "    usleep(40000);\n" + LOOP % "x > 0 || x != x ? x : 0"
        self.list_of("list.jsonl", [slow + "    return 0;\n}\n"])
        with subprocess.Popen([KGATE, *self.ARGS, "list.jsonl"], cwd=self.folder, env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            killed = set()
            while len(killed) < times and p.poll() is None:
                for pid in set(self.runners(p.pid)) - killed:
                    time.sleep(1)
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
                time.sleep(0.02)
            self.assertEqual(len(killed), times)
            return json.loads(p.stdout.read())

    def test_a_runner_killed_from_outside_costs_nothing(self):
        self.assertEqual(self.kill_runners(1)["verdict"], "right")

    def test_one_killed_twice_is_broken(self):
        record = self.kill_runners(2)
        self.assertEqual(record["verdict"], "broken")
        self.assertIn("killed by SIGKILL, as it was", record["error"])

    def test_two_runs_share_a_database(self):
        self.list_of("list.jsonl", [RIGHT] * 6)
        runs = [subprocess.Popen([KGATE, *self.ARGS, "list.jsonl"], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL)
                for _ in range(2)]
        self.assertEqual([r.wait() for r in runs], [0, 0])
        self.assertEqual(len(json.loads(self.kgate("results", "--format", "json").stdout)), 12)


if __name__ == "__main__":
    if not os.access(KGATE, os.X_OK):
        sys.exit(f"{KGATE} is not there: build it, or set KGATE")
    unittest.main()
