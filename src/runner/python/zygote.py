"""The warm parent of Python runners: imports torch and Triton once (and TileLang when asked), then
forks a runner on request.

    PYTHON zygote.py --lib /path/libkgate-runner.so --control-fd 3 [--interpret]

Importing takes seconds, a fork milliseconds. CUDA is never started in here, so each child makes a
context of its own. The control socket is SOCK_SEQPACKET, one JSON object a packet:

    {"op":"info"}                   {"ok":true,"python","torch","triton","interpret","error"}
    {"op":"import","name":"tilelang"}
                                    {"ok":true,"version":"0.1.15"}: children have it from now on
    {"op":"spawn","scratch":DIR}    one descriptor attached, the runner's end of its socket
                                    {"ok":true,"pid":N}
    {"op":"reap","pid":N,"kill":B}  how that child ended, killed first when B:
                                    {"ok":true,"running":false,"how":"killed by SIGSEGV"}
                                    or {"ok":true,"running":true} while it lives
    anything else                   {"ok":false,"error":"one line"}

It ends when the control socket does, and its children with it. What a child prints goes to
DIR/output.log, at most 64 KiB. --interpret: Triton's interpreter, for a machine without a GPU.
"""
import argparse
import array
import contextlib
import ctypes
import gc
import glob
import importlib
import json
import os
import platform
import selectors
import signal
import socket
import sys
import traceback
import warnings

PACKET = 192 * 1024  # KG_PACKET
LOG_LIMIT = 64 * 1024
REAP_WAIT_S = 10.0
KEPT_ENDINGS = 4096
PR_SET_PDEATHSIG = 1

# Everything that caches compiled code starts empty in a folder of the candidate's own: what one
# candidate leaves behind must never be what another one runs.
FOLDERS = {"HOME": "home", "TMPDIR": "tmp", "XDG_CACHE_HOME": "home/.cache",
           "TRITON_HOME": "triton", "TRITON_CACHE_DIR": "triton/cache",
           "TILELANG_CACHE_DIR": "tilelang", "TVM_FFI_CACHE_DIR": "tvm",
           "TORCHINDUCTOR_CACHE_DIR": "inductor", "CUDA_CACHE_PATH": "cuda",
           "TORCH_EXTENSIONS_DIR": "extensions"}


def import_libraries():
    """What is here: {"python", "torch", "triton", "error"}."""
    info = {"python": platform.python_version(), "torch": None, "triton": None, "error": None}
    for name in ("torch", "triton"):
        try:
            info[name] = str(__import__(name).__version__)
        except Exception as e:  # pylint: disable=broad-except
            if name == "torch":
                info["error"] = ("%s cannot import torch (%s): pip install torch there, or name "
                                 "another interpreter with --python" % (sys.executable, first(e)))
    if info["torch"]:
        import runner  # noqa: F401  pylint: disable=unused-import,import-outside-toplevel
    return info


# What candidates of one language alone import: the others need not wait for it.
ON_REQUEST = ("tilelang",)


def sees_gpu():
    """By its device nodes: asking the driver would start it."""
    import torch  # pylint: disable=import-outside-toplevel
    return bool(torch.version.cuda and (glob.glob("/dev/nvidia[0-9]*") or glob.glob("/dev/dxg")))


@contextlib.contextmanager
def driver_at_rest():
    """TileLang asks torch.cuda.is_available() while it is imported. That starts the CUDA driver, and
    no process forked after that could."""
    import torch  # pylint: disable=import-outside-toplevel
    real, torch.cuda.is_available = torch.cuda.is_available, sees_gpu
    try:
        yield
    finally:
        torch.cuda.is_available = real


def import_on_request(name):
    """The version of a package that children are to have."""
    if name not in ON_REQUEST:
        raise ValueError("no package %r to import: known are %s" % (name, ", ".join(ON_REQUEST)))
    try:
        with driver_at_rest():
            version = str(importlib.import_module(name).__version__)
    except Exception as e:  # pylint: disable=broad-except
        raise ValueError("%s cannot import %s (%s): pip install %s there, or name another "
                         "interpreter with --python" % (sys.executable, name, first(e), name))
    gc.collect()
    gc.freeze()
    return version


def first(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def enter_scratch(scratch):
    os.chdir(scratch)
    for name, folder in FOLDERS.items():
        path = os.path.join(scratch, folder)
        os.makedirs(path, exist_ok=True)
        os.environ[name] = path
    # One process a candidate: a pool of compile workers would outlive the runner's clock.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    import tempfile  # pylint: disable=import-outside-toplevel
    tempfile.tempdir = None


def close_all_but(kept):
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # the listing's own descriptor


def child(args, sock, log, scratch, parent):
    """The runner: never returns."""
    status = 1
    try:
        os.setsid()
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, onto in ((null, 0), (log, 1), (log, 2)):
            os.dup2(fd, onto)
        close_all_but({0, 1, 2, sock})
        enter_scratch(scratch)
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
        sys.dont_write_bytecode = True
        sys.argv = ["kgate"]
        status = sys.modules["runner"].serve(args.lib, sock, args.interpret)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status & 255)


def how_it_ended(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return "killed by %s" % signal.Signals(number).name
        except ValueError:
            return "killed by signal %d" % number
    return "exited with status %d" % os.WEXITSTATUS(status)


def kill_group(pid):
    """A child leads a group of its own, except in its first instant."""
    os.kill(pid, signal.SIGKILL)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Log:
    """One child's output: a pipe read here, so that the file stays under its limit."""

    def __init__(self, scratch):
        path = os.path.join(scratch, "output.log")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self.file = os.open(path, flags, 0o600)
        self.read_end, self.write_end = os.pipe()
        self.left = LOG_LIMIT

    def drain(self):
        """False at the end of the output."""
        data = os.read(self.read_end, 65536)
        kept = data[:self.left]
        self.left -= len(kept)
        try:
            os.write(self.file, kept)
        except OSError:
            self.left = 0  # a full disk ends the log, not the runner
        return bool(data)

    def close_write(self):
        os.close(self.write_end)

    def close(self):
        os.close(self.read_end)
        os.close(self.file)


class Zygote:
    def __init__(self, args, info):
        self.args, self.info = args, info
        self.control = socket.socket(fileno=args.control_fd)
        self.selector = selectors.DefaultSelector()
        self.endings = {}   # pid -> how it ended, for the children that were reaped
        self.children = set()

    def spawn(self, request, fds):
        if self.info["error"]:
            raise ValueError(self.info["error"])
        scratch = request.get("scratch")
        if not isinstance(scratch, str) or not os.path.isdir(scratch):
            raise ValueError("spawn needs \"scratch\", an existing folder")
        if len(fds) != 1:
            raise ValueError("spawn needs one descriptor, got %d" % len(fds))
        if not os.path.isfile(self.args.lib):
            raise ValueError("no runner library at %s" % self.args.lib)
        scratch = os.path.abspath(scratch)
        log = Log(scratch)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            child(self.args, fds[0], log.write_end, scratch, parent)
        log.close_write()
        self.children.add(pid)
        self.endings.pop(pid, None)
        self.selector.register(log.read_end, selectors.EVENT_READ, log)
        return {"ok": True, "pid": pid}

    def collect_ended(self):
        for pid in list(self.children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self.ended(pid, status)

    def ended(self, pid, status):
        self.children.discard(pid)
        if len(self.endings) >= KEPT_ENDINGS:
            self.endings.pop(next(iter(self.endings)))
        self.endings[pid] = how_it_ended(status)

    def reap(self, request):
        pid = request.get("pid")
        if pid in self.children and request.get("kill"):
            kill_group(pid)
            self.wait(pid)  # one that waits for its device may be reaped later
        else:
            self.collect_ended()
        if pid in self.endings:
            return {"ok": True, "running": False, "how": self.endings[pid]}
        if pid in self.children:
            return {"ok": True, "running": True}
        raise ValueError("no child %r" % (pid,))

    def wait(self, pid):
        old = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            left = REAP_WAIT_S
            while True:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    return self.ended(pid, status)
                if left <= 0:
                    return None
                signal.sigtimedwait([signal.SIGCHLD], 0.05)
                left -= 0.05
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def answer(self, packet, fds):
        try:
            request = json.loads(packet.decode("utf-8"))
            if not isinstance(request, dict):
                raise ValueError("a request is a JSON object")
            op = request.get("op")
            if op == "info":
                return dict(self.info, ok=True)
            if op == "import":
                return {"ok": True, "version": import_on_request(request.get("name"))}
            if op == "spawn":
                return self.spawn(request, fds)
            if op == "reap":
                return self.reap(request)
            raise ValueError("unknown op %r" % (op,))
        except Exception as e:  # pylint: disable=broad-except
            return {"ok": False, "error": first(e)}

    def serve_control(self):
        """One request; False when the judge is gone."""
        packet, fds = receive(self.control)
        if not packet:
            return False
        try:
            reply = self.answer(packet, fds)
        finally:
            for fd in fds:
                os.close(fd)
        try:
            self.control.sendall(json.dumps(reply).encode("utf-8"))
        except OSError:
            return False
        return True

    def serve(self):
        self.selector.register(self.control, selectors.EVENT_READ, None)
        wake, alarm = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(alarm, False)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(wake, selectors.EVENT_READ, "wake")
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    if not self.serve_control():
                        return
                elif key.data == "wake":
                    os.read(wake, 4096)
                elif not key.data.drain():
                    self.selector.unregister(key.fd)
                    key.data.close()
            self.collect_ended()


def receive(sock):
    """(packet, descriptors); an empty packet at the end. Works on Python 3.8, unlike recv_fds."""
    room = array.array("i", [0] * 4)
    packet, parts, _, _ = sock.recvmsg(PACKET + 1, socket.CMSG_SPACE(room.itemsize * 4))
    fds = array.array("i")
    for level, kind, data in parts:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
    return packet, list(fds)


def main():
    parser = argparse.ArgumentParser(description="kgate's warm Python parent; started by kgate")
    parser.add_argument("--lib", required=True)
    parser.add_argument("--control-fd", type=int, required=True)
    parser.add_argument("--interpret", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the judge's to act on
    warnings.simplefilter("ignore", DeprecationWarning)
    if args.interpret:
        os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is imported
    info = dict(import_libraries(), interpret=args.interpret)
    if args.interpret and info["triton"]:
        import kgate_interpreter  # pylint: disable=import-outside-toplevel
        sys.modules["runner"].interpreter_fault = kgate_interpreter.mend()
    gc.collect()
    gc.freeze()  # keeps the children from copying pages only to count references
    Zygote(args, info).serve()


if __name__ == "__main__":
    main()
