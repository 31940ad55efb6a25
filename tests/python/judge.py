"""Plays the judge for the Python runner on the CPU: enough of src/runner/protocol.h to call one
candidate. For tests that need torch and the runner library."""
import json
import mmap
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import support

ARENA = 1 << 16


def send(sock, packet, fds=()):
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                  b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds))] if fds else []
    sock.sendmsg([json.dumps(packet).encode()], ancillary)


def tensor(dtype, shape, offset=0, arena="in", strides=None):
    """Slots lie 4096 bytes apart."""
    if strides is None:
        strides, n = [], 1
        for size in reversed(shape):
            strides.insert(0, n)
            n *= size
    return {"dtype": dtype, "shape": list(shape), "strides": strides, "arena": arena,
            "offset": offset, "slot_stride": 4096}


def argument(name, kind="tensor", role="in", **fields):
    return dict(fields, name=name, kind=kind, role=role)


class Parent:
    """The warm parent process."""

    def __init__(self, library, *flags):
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(120)
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(support.PYTHON, "zygote.py"), "--lib", library,
             "--control-fd", str(theirs.fileno())] + list(flags), pass_fds=[theirs.fileno()])
        theirs.close()

    def ask(self, packet, fds=()):
        send(self.sock, packet, fds)
        return json.loads(self.sock.recv(1 << 20).decode())

    def close(self):
        self.sock.close()
        return self.process.wait(30)


class Runner:
    """One child with two slots of 64 KiB of inputs and of outputs."""

    def __init__(self, parent):
        self.parent, self.scratch = parent, tempfile.mkdtemp(prefix="kgate-test-")
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(120)
        self.pid = parent.ask({"op": "spawn", "scratch": self.scratch}, [theirs.fileno()])["pid"]
        theirs.close()
        control = self.memory("control", 4096)[0]
        self.expect({"op": "hello", "device": "cpu", "ordinal": 0, "scratch": self.scratch},
                    [control])
        fd, self.inputs = self.memory("in", ARENA)
        out_fd, self.outputs = self.memory("out", ARENA)
        read_only = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
        self.expect({"op": "arenas", "in_bytes": ARENA, "out_bytes": ARENA}, [read_only, out_fd])
        for each in (control, fd, out_fd, read_only):
            os.close(each)

    @staticmethod
    def memory(name, size):
        fd = os.memfd_create(name)
        os.ftruncate(fd, size)
        return fd, mmap.mmap(fd, size)

    def ask(self, packet, fds=()):
        """The answer; {"ok": False, "error": how it ended} when the child died."""
        try:
            send(self.sock, packet, fds)
            answer = self.sock.recv(1 << 20)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        return json.loads(answer.decode()) if answer else {"ok": False, "error": self.end()}

    def expect(self, packet, fds=()):
        answer = self.ask(packet, fds)
        assert answer["ok"], answer
        return answer

    def run(self, source, task, case, language="python", entry=None, calls=1):
        """Loads the source (for "torch": the baseline's name) and calls it on slot 1; the first
        error, or None."""
        path = source
        if language != "torch":
            path = os.path.join(self.scratch, "candidate.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(source)
        case = dict({"calls": 1, "slots": 2}, **case)
        for packet in ({"op": "load", "language": language, "path": path, "task": task,
                        "entry": entry}, {"op": "case", "case": case},
                       {"op": "call", "slot": 1, "n": calls}):
            answer = self.ask(packet)
            if not answer["ok"]:
                return answer["error"]
        return None

    def end(self):
        return self.parent.ask({"op": "reap", "pid": self.pid, "kill": True}).get("how")

    def end_and_log(self):
        """All that the child printed, once it has ended."""
        self.ask({"op": "bye"})
        self.end()
        path = os.path.join(self.scratch, "output.log")
        text, last = "", None
        while text != last:  # the parent writes what the pipe still holds between our questions
            last = text
            self.parent.ask({"op": "info"})
            with open(path, encoding="utf-8") as f:
                text = f.read()
        return text

    def close(self):
        self.ask({"op": "bye"})
        self.end()
        self.sock.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
