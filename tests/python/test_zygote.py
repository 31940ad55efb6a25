"""The warm parent answers every packet, whatever is in it, and tells how a child ended."""
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import support

try:
    import torch  # noqa: F401
    HAVE_TORCH = True
except ImportError:
    HAVE_TORCH = False

LIBRARY = os.environ.get("KGATE_RUNNER_LIB", "")


class Zygote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        cls.sock.settimeout(120)
        command = [sys.executable, os.path.join(support.PYTHON, "zygote.py"), "--lib",
                   LIBRARY or "/nonexistent/libkgate-runner.so", "--control-fd",
                   str(theirs.fileno())]
        cls.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    @classmethod
    def tearDownClass(cls):
        cls.sock.close()
        assert cls.process.wait(30) == 0, "the parent ends when its socket does"

    def ask(self, packet, fds=()):
        data = packet if isinstance(packet, bytes) else json.dumps(packet).encode()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                      b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds))] if fds else []
        self.sock.sendmsg([data], ancillary)
        return json.loads(self.sock.recv(1 << 20).decode())

    def test_info(self):
        info = self.ask({"op": "info"})
        self.assertTrue(info["ok"])
        self.assertEqual(info["python"].split(".")[0], "3")
        self.assertEqual(info["torch"] is not None, HAVE_TORCH)
        if not HAVE_TORCH:
            self.assertIn("pip install torch", info["error"])
            self.assertNotIn("\n", info["error"])

    def test_tilelang_on_request(self):
        answer = self.ask({"op": "import", "name": "tilelang"})
        if HAVE_TORCH and importlib.util.find_spec("tilelang"):
            self.assertTrue(answer["version"])
        else:
            self.assertIn("pip install", answer["error"])
            self.assertNotIn("\n", answer["error"])

    def test_bad_packets(self):
        for packet in (b"\xff\x00", b"{", b"[1]", b"{}", b"7", {"op": "spawn"}, {"op": "reap"},
                       {"op": "spawn", "scratch": 5}, {"op": "spawn", "scratch": "/nonexistent"},
                       {"op": "reap", "pid": []}, {"op": ["info"]}, b"[" * 100000,
                       {"op": "import"}, {"op": "import", "name": "os"}):
            answer = self.ask(packet)
            self.assertFalse(answer["ok"], repr(packet)[:40])
            self.assertNotIn("\n", answer["error"])
        self.assertTrue(self.ask({"op": "info"})["ok"])

    def test_only_own_children_are_killed(self):
        victim = subprocess.Popen(["sleep", "60"])
        try:
            self.assertFalse(self.ask({"op": "reap", "pid": victim.pid, "kill": True})["ok"])
            self.assertIsNone(victim.poll())
        finally:
            victim.kill()
            victim.wait()

    @unittest.skipUnless(HAVE_TORCH and LIBRARY, "needs torch and KGATE_RUNNER_LIB")
    def test_spawn_and_kill(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with tempfile.TemporaryDirectory() as scratch:
            answer = self.ask({"op": "spawn", "scratch": scratch}, [theirs.fileno()])
            theirs.close()
            self.assertTrue(answer["ok"], answer)
            self.assertEqual(self.ask({"op": "reap", "pid": answer["pid"]}),
                             {"ok": True, "running": True})
            ended = self.ask({"op": "reap", "pid": answer["pid"], "kill": True})
            self.assertEqual(ended, {"ok": True, "running": False, "how": "killed by SIGKILL"})
            ours.settimeout(10)
            self.assertEqual(ours.recv(10), b"")
        ours.close()


if __name__ == "__main__":
    unittest.main()
