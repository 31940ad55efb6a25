"""What kernels a call launches: Triton's and TileLang's own compilers say what they made.

One call, outside of every clock, with the launching functions wrapped; what ran goes into a folder
that the judge reads: N.ptx and N.cubin as the compiler has them, N.sass from nvdisasm where there is
one (Triton brings it), N.json with the compiler's numbers. The judge takes them for hints only: a
candidate may write there whatever it likes.
"""
import contextlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import time

MOST = 32  # different kernels of one call
DISASSEMBLE_S = 1.5  # for all of them


@contextlib.contextmanager
def replaced(owner, name, instead):
    """Calls of owner.name go to instead(original, self, ...), where it is a plain function; else nothing is replaced."""
    own, original = vars(owner).get(name), getattr(owner, name, None)
    if not inspect.isfunction(original) or isinstance(own, staticmethod):
        yield
        return

    def launch(self, *args, **kwargs):
        return instead(original, self, *args, **kwargs)

    setattr(owner, name, launch)
    try:
        yield
    finally:
        if vars(owner).get(name) is launch:  # else the call has put its own there
            if own is None:
                delattr(owner, name)  # it was a base class's
            else:
                setattr(owner, name, own)


def class_of(module, name):
    """sys.modules[module].name if that is a class, and one that can be changed; None."""
    owner = getattr(sys.modules.get(module), name, None)
    return owner if type(owner) is type else None


def places():
    """(owner, function name) of what launches kernels, for the languages that are imported."""
    for module, name, function in (("triton.runtime.jit", "JITFunction", "run"),
                                   ("tilelang.jit.kernel", "JITKernel", "__call__")):
        owner = class_of(module, name)
        if owner is not None:
            yield owner, function


def number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def first(*getters):
    """The first that gives something; compilers of other versions lack some."""
    for get in getters:
        try:
            value = get()
        except Exception:  # pylint: disable=broad-except
            continue
        if value is not None:
            return value
    return None


def of_triton(kernel):
    meta, asm = kernel.metadata, kernel.asm
    numbers = {"registers": first(lambda: kernel.n_regs), "local_bytes": first(lambda: 4 * kernel.n_spills),
               "warps": first(lambda: meta.num_warps), "stages": first(lambda: meta.num_stages),
               "shared_bytes": first(lambda: meta.shared)}
    return asm.get("ptx"), asm.get("cubin"), numbers


def shared_of_tilelang(kernel):
    """Bytes of shared memory that a launch asks for; the most of a kernel's parts."""
    parts = [f.attrs for _, f in kernel.artifact.device_mod.functions.items() if f.attrs is not None]
    return max(int(attrs["dyn_shared_memory_buf"]) for attrs in parts if "dyn_shared_memory_buf" in attrs)


def of_tilelang(kernel):
    numbers = {"registers": first(lambda: kernel.n_regs), "local_bytes": first(lambda: 4 * kernel.n_spills),
               "shared_bytes": first(lambda: shared_of_tilelang(kernel))}
    return first(kernel._get_ptx), None, numbers  # pylint: disable=protected-access


def disassembler():
    """nvdisasm: $PATH's, the toolkit's, or Triton's; None."""
    file = getattr(sys.modules.get("triton"), "__file__", None)
    own = os.path.join(os.path.dirname(file), "backends", "nvidia", "bin", "nvdisasm") if isinstance(file, str) else ""
    return shutil.which("nvdisasm") or next(
        (p for p in ("/usr/local/cuda/bin/nvdisasm", own) if os.access(p, os.X_OK)), None)


def disassemble(tool, cubin, seconds):
    if not tool or seconds <= 0:
        return None
    try:
        done = subprocess.run([tool, "-c", cubin], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds,
                              check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def write(folder, name, data):
    mode = "wb" if isinstance(data, bytes) else "w"
    with open(os.path.join(folder, name), mode) as f:
        f.write(data)


def observe(call, folder):
    """Makes the call and writes what it launched; the call's result."""
    seen = []

    def noted(original, launcher, *args, **kwargs):
        returned = original(launcher, *args, **kwargs)
        seen.append((launcher, returned))
        return returned

    with contextlib.ExitStack() as stack:
        for owner, name in places():
            stack.enter_context(replaced(owner, name, noted))
        result = call()
    os.makedirs(folder, exist_ok=True)
    done, tool, until = set(), disassembler(), time.monotonic() + DISASSEMBLE_S
    for launcher, returned in seen:
        try:
            triton = hasattr(returned, "asm")
            kernel = returned if triton else launcher
            if id(kernel) in done or len(done) == MOST:
                continue
            done.add(id(kernel))
            ptx, cubin, numbers = of_triton(kernel) if triton else of_tilelang(kernel)
            stem = str(len(done))
            if ptx:
                write(folder, stem + ".ptx", ptx)
            if cubin:
                write(folder, stem + ".cubin", cubin)
                sass = disassemble(tool, os.path.join(folder, stem + ".cubin"), until - time.monotonic())
                if sass:
                    write(folder, stem + ".sass", sass)
            write(folder, stem + ".json", json.dumps({k: v for k, v in numbers.items() if number(v) is not None}))
        except Exception:  # pylint: disable=broad-except
            continue  # a kernel that cannot be looked at is not diagnosed
    return result
