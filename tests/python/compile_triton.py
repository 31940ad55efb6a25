"""Compiles the Triton kernels of a file for an H200 (sm_90) on a machine without a GPU, as its own
wrapper launches them, and prints what each needs:

    python compile_triton.py [--dtype float16] examples/gap22/triton/softmax.py ...

The wrapper is called with tensors that have shapes and no memory (torch's device "meta"), at the
large timed size of the task; a driver that knows only its target stands in for CUDA's, and a launch
compiles. So what is compiled is what would run: the same constants, warps, alignments.
"""
import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction


def empty(*shape, dtype=torch.float16):
    return torch.empty(shape, dtype=dtype, device="meta")


def integers(*shape):
    return empty(*shape, dtype=torch.int64)


# The large timed sizes of src/task/gap22, in a dtype that may be chosen.
CALLS = {
    "add": lambda t: (empty(1 << 26, dtype=t), empty(1 << 26, dtype=t)),
    "argmax": lambda t: (empty(8192, 32768, dtype=t), 1),
    "attention": lambda t: [empty(8, 32, 2048, 128, dtype=t) for _ in range(3)],
    "batched_matmul": lambda t: (empty(128, 2048, dtype=t), empty(128, 2048, 2048, dtype=t)),
    "conv2d": lambda t: (empty(32, 256, 128, 128, dtype=t), empty(256, 256, 3, 3, dtype=t), None, 1, 1),
    "cross_entropy": lambda t: (empty(4096, 32768, dtype=t), integers(4096)),
    "embedding": lambda t: (integers(131072), empty(131072, 1024, dtype=t)),
    "index_select": lambda t: (empty(65536, 2048, dtype=t), 0, integers(4096)),
    "layer_norm": lambda t: (empty(8192, 8192, dtype=t), (8192,)),
    "leaky_relu": lambda t: (empty(8192, 8192, dtype=t), empty(8192, 8192, dtype=t)),
    "linear_activation": lambda t: (empty(1, 2048, 4096, dtype=t), empty(16384, 4096, dtype=t),
                                    empty(16384, 4096, dtype=t), empty(4096, dtype=t)),
    "log_softmax": lambda t: (empty(4096, 32768, dtype=t), 1),
    "logsumexp": lambda t: (empty(8192, 16384, dtype=t), 1),
    "matmul": lambda t: (empty(16384, 16384, dtype=t), empty(16384, 16384, dtype=t)),
    "matrix_transpose": lambda t: (empty(16384, 16384, dtype=t),),
    "max_reduction": lambda t: (empty(8192, 32768, dtype=t), 1),
    "mean_reduction": lambda t: (empty(8192, 32768, dtype=t), 1),
    "mul": lambda t: (empty(1 << 26, dtype=t),),
    "relu": lambda t: (empty(16384, 16384, dtype=t),),
    "rms_norm": lambda t: (empty(8192, 8192, dtype=t), (8192,), empty(8192, dtype=t), 1e-5),
    "softmax": lambda t: (empty(4096, 32768, dtype=t), 1),
    "swiglu": lambda t: (empty(4096, 32768, dtype=t),),
}
TIMED = {"attention": torch.float32, "cross_entropy": torch.float32, "layer_norm": torch.bfloat16,
         "logsumexp": torch.float32, "mean_reduction": torch.float32}


class Target:
    """As much of a driver as compiling asks for."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, _device):
        return 0

    def get_active_torch_device(self):
        return torch.device("meta")


def resources(kernel):
    """(registers, bytes of local memory a thread) of the machine code."""
    tool = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "cuobjdump")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as f:
        f.write(kernel.asm["cubin"])
        f.flush()
        text = subprocess.run([tool, "--dump-resource-usage", f.name], capture_output=True,
                              text=True, timeout=60, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", text)
    return int(found.group(1)), int(found.group(2))


def operator_of(path):
    with open(path, encoding="utf-8") as f:
        return re.search(r"task=(?:gap22/)?(\w+)", f.read()).group(1)


def compile_launches(path, args, options=None):
    """[(kernel's name, its constants, CompiledKernel or the error)] of one call of the file's wrapper."""
    done = []
    plain, tuned = JITFunction.run, Autotuner.run

    def compile_only(self, *args, grid, warmup=False, **kwargs):
        words = {k: v for k, v in kwargs.items() if isinstance(v, int) and k.isupper() or
                 k in ("num_warps", "num_stages")}
        try:
            done.append((self.fn.__name__, words,
                         plain(self, *args, grid=(1,), warmup=True, **kwargs)))
        except Exception as e:  # pylint: disable=broad-except
            done.append((self.fn.__name__, words, e))

    def compile_all(self, *args, **kwargs):
        names = dict(zip(self.arg_names, args))
        for config in self.configs:
            if config.pre_hook:
                config.pre_hook({**names, **kwargs, **config.all_kwargs()})
            self.fn.run(*args, **kwargs, **config.all_kwargs())

    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernels"] = module
    JITFunction.run, Autotuner.run = compile_only, compile_all
    try:
        spec.loader.exec_module(module)
        getattr(module, operator_of(path))(*args, **(options or {}))
    finally:
        JITFunction.run, Autotuner.run = plain, tuned
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", help="instead of the timed one")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    driver.set_active(Target())
    failed = False
    for path in args.files:
        operator = operator_of(path)
        dtype = getattr(torch, args.dtype) if args.dtype else TIMED.get(operator, torch.float16)
        for name, words, kernel in compile_launches(path, CALLS[operator](dtype)):
            head = "%s %s %s" % (os.path.basename(path), name,
                                 " ".join("%s=%s" % item for item in sorted(words.items())))
            if isinstance(kernel, Exception):
                failed = True
                print("%s: %s" % (head, " ".join(str(kernel).split())[-300:]))
                continue
            registers, local = resources(kernel)
            matrix = re.search(r"wgmma|mma(?=\.sync)", kernel.asm["ptx"])
            print("%s: %d registers, %d bytes local, %d shared%s" % (
                head, registers, local, kernel.metadata.shared,
                ", " + matrix.group() if matrix else ""))
    sys.exit(failed)


if __name__ == "__main__":
    main()
