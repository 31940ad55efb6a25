"""Triton's interpreter, mended: bfloat16 arithmetic, conversions and reductions are those of PyTorch
on every bit pattern; and a bfloat16 case is refused when an interpreter cannot be mended."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401
from judge import Parent, Runner, argument, tensor

try:
    import torch
    import triton  # noqa: F401
    HAVE_TRITON = True
except ImportError:
    HAVE_TRITON = False

LIBRARY = os.environ.get("KGATE_RUNNER_LIB", "")

# Runs in a process of its own: Triton reads TRITON_INTERPRET when it is imported.
KERNELS = '''
import sys
sys.path.insert(0, %r)
import torch, triton
import triton.language as tl
import kgate_interpreter
if "plain" not in sys.argv:
    assert kgate_interpreter.mend() is None

@triton.jit
def points(x_ptr, y_ptr, out_ptr, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=(at < n) & (tl.program_id(0) * BLOCK < n))
    y = tl.load(y_ptr + at)
    if KIND == "relu":
        z = tl.where(x < 0, tl.zeros_like(x), x)
    elif KIND == "add":
        z = x + y
    elif KIND == "mul":
        z = x * y
    elif KIND == "negate":
        z = -x
    elif KIND == "maximum":
        z = tl.maximum(x, y)
    elif KIND == "either":
        z = tl.where((x > y) | (x != x), x, y)
    elif KIND == "wide":
        z = x.to(tl.float32) * 1.00390625
    else:
        z = x
    tl.store(out_ptr + at, z)

@triton.jit
def rows(x_ptr, out_ptr, KIND: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    if KIND == "sum":
        z = tl.sum(x, 0)
    elif KIND == "max":
        z = tl.max(x, 0)
    else:
        z = tl.argmax(x, 0)
    tl.store(out_ptr + tl.program_id(0), z)

@triton.jit
def square(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, x))

def same(a, b, what):
    a, b = a.double(), b.double()
    wrong = ~((a == b) & (torch.signbit(a) == torch.signbit(b)) | a.isnan() & b.isnan())
    assert not wrong.any(), (what, int(wrong.sum()), a[wrong][:4], b[wrong][:4])

every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
other = every[torch.randperm(65536, generator=torch.Generator().manual_seed(1))]
expected = {"relu": torch.where(every < 0, torch.zeros_like(every), every), "add": every + other,
            "mul": every * other, "negate": -every, "copy": every,
            "maximum": torch.where(every.isnan(), other, torch.where(
                other.isnan(), every, torch.maximum(every, other))), "either": torch.where((every > other) | every.isnan(), every, other),
            "wide": (every.float() * 1.00390625).bfloat16()}
for kind, right in expected.items():
    out = torch.empty_like(every)
    points[(16,)](every, other, out, 65536, KIND=kind, BLOCK=4096)
    keep = ~((every == 0) & (other == 0)) if kind == "maximum" else slice(None)  # of two zeros, either
    same(out[keep], right[keep], kind)

single = torch.arange(65536, dtype=torch.int64) * 65537 %% (1 << 32)
single = (single - (1 << 31)).to(torch.int32).view(torch.float32)  # every upper half, ties off
for kind in (torch.bfloat16, torch.float16):
    out = torch.empty(65536, dtype=kind)
    points[(16,)](single, single, out, 65536, KIND="copy", BLOCK=4096)
    same(out, single.to(kind), kind)

x = torch.randn(64, 256, generator=torch.Generator().manual_seed(2)).bfloat16()
out = torch.empty(64, dtype=torch.bfloat16)
rows[(64,)](x, out, KIND="max", N=256)
same(out, x.amax(1), "max")
where = torch.empty(64, dtype=torch.int32)
rows[(64,)](x, where, KIND="argmax", N=256)
same(where, x.argmax(1), "argmax")
rows[(64,)](x * float("nan"), where, KIND="argmax", N=256)  # some element
rows[(64,)](x, out, KIND="sum", N=256)
assert (out.double() - x.double().sum(1)).abs().max() < 1  # eight roundings of sums below 64

# Every partial sum is rounded: the first halvings lose what they would add to the 1.
tiny = torch.full((1, 4096), 2.0 ** -12, dtype=torch.float16)
tiny[0, 0] = 1
half = torch.empty(1, dtype=torch.float16)
rows[(1,)](tiny, half, KIND="sum", N=4096)
assert half.item() == 2 - 2.0 ** -10, half  # added up in float32 it would be 2

@triton.jit
def gather(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.atomic_add(out_ptr + at // 2, tl.load(x_ptr + at), mask=at < N - 2)

out = torch.zeros(2, dtype=torch.bfloat16)
gather[(3,)](torch.tensor([1.0, 2.5, 4, 8], dtype=torch.bfloat16), out, N=4)
assert out.tolist() == [10.5, 0], out

@triton.jit
def scaled(x_ptr, out_ptr, factor, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * factor)

for kind in (torch.float16, torch.bfloat16, torch.float64):  # as torch multiplies by a float32
    factor = torch.tensor(0.1, dtype=torch.float32)
    out = torch.empty(4, dtype=torch.float64)
    values = torch.tensor([1.0, 3.0, 1000.0, 60000.0], dtype=kind)
    scaled[(1,)](values, out, 0.1, N=4)
    wide = torch.promote_types(kind, torch.float32)
    same(out, values.to(wide) * factor.to(wide), (kind, "times a number"))

x = x[:16, :16].contiguous()
out = torch.empty(16, 16)
square[(1,)](x, out, N=16)
assert (out - x.float() @ x.float()).abs().max() < 1e-5
print("the interpreter is right")
''' % support.PYTHON


@unittest.skipUnless(HAVE_TRITON, "needs torch and triton")
class Interpreter(unittest.TestCase):
    def run_kernels(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernels.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(KERNELS)
            done = subprocess.run([sys.executable, path, *words], capture_output=True, text=True,
                                  env=dict(os.environ, TRITON_INTERPRET="1"), timeout=300, check=False)
        return done.stdout + done.stderr

    def test_mended(self):
        self.assertIn("the interpreter is right", self.run_kernels())

    def test_encoding_is_pytorchs(self):
        import kgate_interpreter as mended
        bits = torch.randint(-2 ** 31, 2 ** 31, (200000,), dtype=torch.int64).to(torch.int32)
        values = torch.cat([bits.view(torch.float32), torch.randn(100000) * 100])
        values = values[~values.isnan()]
        for name, dtype, most in (("bf16", torch.bfloat16, None), ("fp16", torch.float16, None),
                                  ("fp8e5", torch.float8_e5m2, 57344), ("fp8e4nv", torch.float8_e4m3fn, 448)):
            expected = (values.clamp(-most, most) if most else values).to(dtype)
            got = mended.encode(values.double().numpy(), name)
            whole = expected.view(torch.uint8 if most else torch.int16).numpy().view(got.dtype)
            self.assertTrue((got == whole).all(), name)
            self.assertTrue((mended.decode(got, name) == expected.double().numpy()).all(), name)

    def test_bfloat16_is_refused_where_it_stays_wrong(self):
        import kgate_abi
        import runner

        def prepare(dtype, interpreted):
            session = runner.Session("f", "f.py", lambda: abs, None)
            session.interpreted = interpreted
            spec = kgate_abi.TensorSpec(dtype, (0,), (1,), 0)
            session.prepare(kgate_abi.CaseSpec([kgate_abi.ArgSpec("x", "tensor", tensor=spec)], [spec]))

        self.addCleanup(setattr, runner, "interpreter_fault", None)
        runner.interpreter_fault = "wrong sums"
        prepare("float32", True)
        prepare("bfloat16", False)
        with self.assertRaisesRegex(runner.CannotRun, "wrong sums"):
            prepare("bfloat16", True)

    @unittest.skipUnless(LIBRARY, "needs KGATE_RUNNER_LIB")
    def test_the_loader_interprets(self):
        parent = Parent(LIBRARY, "--interpret")
        runner = Runner(parent)
        runner.inputs[4096:4104] = struct.pack("4H", 0xbf80, 0x3f80, 0xff80, 0x7f80)
        case = {"args": [argument("input", tensor=tensor("bfloat16", [4]))],
                "outs": [tensor("bfloat16", [4], 512, "out")]}
        source = ("import torch, triton\nimport triton.language as tl\n@triton.jit\n"
                  "def k(x, o):\n    at = tl.arange(0, 4)\n    v = tl.load(x + at)\n"
                  "    tl.store(o + at, tl.where(v < 0, tl.zeros_like(v), v))\n"
                  "def f(x):\n    o = torch.empty_like(x)\n    k[(1,)](x, o)\n    return o\n")
        self.assertIsNone(runner.run(source, "f", case, language="triton"))
        self.assertEqual(struct.unpack_from("4H", runner.outputs, 4096 + 512), (0, 0x3f80, 0, 0x7f80))
        runner.close()
        self.assertEqual(parent.close(), 0)


if __name__ == "__main__":
    unittest.main()
