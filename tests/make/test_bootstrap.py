"""scripts/bootstrap.sh: asks for what is missing and only for that; as root it installs, else it prints one line."""

import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "bootstrap.sh")


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kgate-make-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "apt.log")
        os.mkdir(os.path.join(self.folder, "bin"))
        self.tool("apt-get", f'echo "$@" >> "{self.log}"')

    def tool(self, name, body):
        path = os.path.join(self.folder, "bin", name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)

    def touch(self, path):
        path = os.path.join(self.folder, "root", path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()

    def run_it(self, uid, what="run"):
        self.tool("id", f"echo {uid}")
        env = {"PATH": os.path.join(self.folder, "bin") + ":/usr/bin:/bin", "KGATE_SYSROOT": os.path.join(self.folder, "root")}
        return subprocess.run([SCRIPT, what], env=env, capture_output=True, text=True, check=False)

    def apt(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as f:
            return f.read().splitlines()

    def test_a_user_is_told_the_one_line_to_run(self):
        done = self.run_it(1000)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("apt-get update && apt-get install -y gcc ", done.stderr)
        self.assertEqual(self.apt(), [])

    def test_only_what_is_missing_is_asked_for(self):
        self.touch("usr/include/jansson.h")
        self.touch("usr/lib/x86_64-linux-gnu/libdnnl.so.2")
        line = self.run_it(1000).stderr
        self.assertNotIn("libjansson-dev", line)
        self.assertNotIn("libdnnl2", line)
        self.assertIn("libsqlite3-dev", line)
        self.assertNotIn("clang-tidy", line)
        self.assertIn("clang-tidy-14", self.run_it(1000, "test").stderr)
        self.assertNotIn("python3-torch", line)
        self.assertIn("python3-torch", self.run_it(1000, "crosscheck").stderr)
        self.touch("usr/lib/python3/dist-packages/torch/__init__.py")
        self.assertNotIn("python3-torch", self.run_it(1000, "crosscheck").stderr)

    def test_root_updates_the_lists_only_when_there_are_none(self):
        self.assertEqual(self.run_it(0).returncode, 0)
        calls = self.apt()
        self.assertEqual([c.split()[0] for c in calls], ["update", "install"])
        self.assertIn(" libjansson-dev", calls[1])
        os.remove(self.log)
        self.touch("var/lib/apt/lists/mirror_main_binary-amd64_Packages.lz4")
        self.assertEqual(self.run_it(0).returncode, 0)
        self.assertEqual([c.split()[0] for c in self.apt()], ["install"])

    def test_lists_older_than_the_archive_are_renewed_once(self):
        self.touch("var/lib/apt/lists/mirror_main_binary-amd64_Packages")
        self.tool("apt-get", f'echo "$@" >> "{self.log}"; [ "$1" = update ] || grep -q update "{self.log}"')
        self.assertEqual(self.run_it(0).returncode, 0)
        self.assertEqual([c.split()[0] for c in self.apt()], ["install", "update", "install"])

    def test_a_failed_install_is_not_hidden(self):
        self.tool("apt-get", "exit 100")
        self.assertNotEqual(self.run_it(0).returncode, 0)


if __name__ == "__main__":
    unittest.main()
