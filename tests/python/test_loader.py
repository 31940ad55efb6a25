"""Real torch callables through the real runner library, on the CPU: what they get, what they may
return, what their authors are told. Needs torch, and KGATE_RUNNER_LIB=.../libkgate-runner.so."""
import importlib.util
import os
import struct
import unittest

import support  # noqa: F401
from judge import Parent, Runner, argument, tensor

try:
    import torch  # noqa: F401
    HAVE_TORCH = True
except ImportError:
    HAVE_TORCH = False

LIBRARY = os.environ.get("KGATE_RUNNER_LIB", "")
ROW = [-2.0, -1.0, 0.5, 3.0]
UNARY = {"args": [argument("input", tensor=tensor("float32", [4]))],
         "outs": [tensor("float32", [4], 512, "out")]}
COMPILES = """import tilelang, torch
import tilelang.language as T
from tvm.target import Target

def f(input):
    @T.prim_func
    def main(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                Y[i] = X[i] * 2
    with Target({"kind": "cuda", "arch": "sm_90"}):
        tilelang.compile(main)
    return torch.zeros(4)
"""


@unittest.skipUnless(HAVE_TORCH and LIBRARY, "needs torch and KGATE_RUNNER_LIB")
class Loader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parent = Parent(LIBRARY)

    @classmethod
    def tearDownClass(cls):
        assert cls.parent.close() == 0

    def setUp(self):
        self.runner = Runner(self.parent)
        self.addCleanup(self.runner.close)
        self.runner.inputs[4096:4112] = struct.pack("4f", *ROW)

    def run_source(self, body, case=None, name="f", **options):
        source = "import torch\ndef %s(input):\n    %s\n" % (name, body)
        return self.runner.run(source, name, case or UNARY, **options)

    def floats(self, offset, n=4):
        return list(struct.unpack_from("%df" % n, self.runner.outputs, 4096 + offset))

    def test_result_reaches_the_judges_memory(self):
        self.assertIsNone(self.run_source("return input * 2"))
        self.assertEqual(self.floats(512), [-4.0, -2.0, 1.0, 6.0])

    def test_strides_and_dtypes(self):
        case = {"args": [argument("t", tensor=tensor("bfloat16", [4, 3], strides=[1, 4])),
                         argument("mask", tensor=tensor("bool", [5])),
                         argument("zero", tensor=tensor("float16", [0, 4])),
                         argument("point", tensor=tensor("float64", []))],
                "outs": [tensor("float32", [4], 512, "out")]}
        source = ("import torch\ndef f(*a):\n"
                  "    print([(str(t.dtype), list(t.shape), t.stride()) for t in a])\n"
                  "    return torch.zeros(4)\n")
        self.assertIsNone(self.runner.run(source, "f", case))
        self.assertEqual(self.runner.end_and_log().strip(),
                         "[('torch.bfloat16', [4, 3], (1, 4)), ('torch.bool', [5], (1,)), "
                         "('torch.float16', [0, 4], (4, 1)), ('torch.float64', [], ())]")

    def test_inputs_are_read_only(self):
        self.assertEqual(self.run_source("return input.mul_(2)"), "killed by SIGSEGV")

    def test_out_is_the_callers(self):
        case = {"args": UNARY["args"] + [argument("out", role="out_arg", keyword=True,
                                                  tensor=tensor("float32", [4], 1024, "out"))],
                "outs": UNARY["outs"]}
        source = "import torch\ndef f(input, *, out=None):\n    torch.neg(input, out=out)\n"
        self.assertIsNone(self.runner.run(source, "f", case))
        self.assertEqual(self.floats(1024), [2.0, 1.0, -0.5, -3.0])
        self.assertEqual(self.floats(512), self.floats(1024))

    def test_in_place_is_not_mended_by_a_copy(self):
        case = {"args": [argument("input", tensor=tensor("float32", [4], 2048, "out"))],
                "outs": [{"dtype": "float32", "shape": [4], "strides": [1]}],
                "alias_first_out": True}
        self.runner.outputs[6144:6160] = struct.pack("4f", *ROW)
        self.assertIsNone(self.run_source("return torch.relu(input)", case))
        self.assertEqual(self.floats(2048), ROW)

    def test_optimizer_keeps_its_state_between_calls(self):
        case = {"calls": 2, "outs": [], "args": [
            argument("params", role="inout", tensor=tensor("float32", [4], 2048, "out")),
            argument("grads", native_only=True, tensor=tensor("float32", [4])),
            argument("momentum_buffer", role="state", native_only=True,
                     tensor=tensor("float32", [4], 3072, "out")),
            argument("lr", "float", value=0.5, optional=True),
            argument("momentum", "float", value=0.5, optional=True)]}
        self.assertIsNone(self.runner.run("from torch.optim import SGD", "SGD", case, calls=2))
        # p = 0; buffer = g, p = -g/2; buffer = 1.5 g, p = -g/2 - 3g/4
        self.assertEqual(self.floats(2048), [-1.25 * g for g in ROW])

    def test_wrong_results_are_one_line(self):
        body = "return [input[:3], input.half(), input.to('meta'), 1.0][int(input[3])]"
        for value, error in (
                (0, "wrong shape: the output is [3], expected [4]"),
                (1, "wrong dtype: the output is float16, expected float32"),
                (2, "wrong device: the output is on meta, expected cpu"),
                (3, "not a tensor: the output is float, expected a torch.Tensor float32 [4]")):
            self.runner.inputs[4108:4112] = struct.pack("f", value)
            if value == 0:
                self.assertEqual(self.run_source(body), error)
            answer = self.runner.ask({"op": "call", "slot": 1, "n": 1})
            self.assertEqual(answer["error"], error)
            self.assertEqual(answer["fault"], "result")

    def test_exception(self):
        self.assertEqual(self.run_source("raise ValueError('no')"),
                         "ValueError: no (line 3 of candidate.py)")

    def test_exit_costs_only_the_child(self):
        self.assertEqual(self.run_source("import os; os._exit(4)"), "exited with status 4")
        self.assertTrue(self.parent.ask({"op": "info"})["ok"])

    def test_output_is_kept_and_capped(self):
        self.assertIsNone(self.run_source("print('x' * 1000000); return input * 2"))
        self.assertEqual(self.runner.end_and_log(), "x" * 65536)

    def test_baseline_states_its_settings(self):
        answer = self.runner.ask({"op": "load", "language": "torch", "path": "torch-eager",
                                  "task": "f", "entry": "tf32:F.relu"})
        self.assertIn("F.relu", answer["entry"])
        self.assertIn("products in tf32", answer["entry"])

    def test_triton_needs_a_gpu_or_the_interpreter(self):
        self.assertIn("interpreter", self.run_source("return input", language="triton"))

    def test_tilelang_needs_a_gpu(self):
        self.assertIn("run on a GPU", self.run_source("return input", language="tilelang"))

    @unittest.skipUnless(importlib.util.find_spec("tilelang"), "needs tilelang")
    def test_tilelang_compiles_in_the_sandbox_with_a_cache_of_its_own(self):
        # For a GPU that is not here: nvcc runs, and what it makes stays in the candidate's scratch.
        self.assertTrue(self.parent.ask({"op": "import", "name": "tilelang"})["version"])
        self.assertIsNone(self.runner.run(COMPILES, "f", UNARY))
        self.assertEqual(self.floats(512), [0.0, 0.0, 0.0, 0.0])
        found = [f for _, _, files in os.walk(os.path.join(self.runner.scratch, "tilelang"))
                 for f in files]
        self.assertIn("kernel.cubin", found)


if __name__ == "__main__":
    unittest.main()
