"""Which callable of a file is judged, and what an author is told when there is none."""
import os
import tempfile
import unittest

import support  # noqa: F401
import kgate_entry
import kgate_errors


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "it's a kernel.py")

    def load(self, source):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(source)
        return kgate_entry.load_module(self.path)

    def line(self, source, work=None):
        """The error of loading the source, or of work(module)."""
        try:
            module = self.load(source)
            work(module)
        except BaseException as e:  # pylint: disable=broad-except
            return kgate_errors.one_line(e, self.path)
        raise AssertionError("no error")


class Entry(Files):
    def found(self, source, task, entry=None, function=None):
        return kgate_entry.find(self.load(source), task, function, entry)[0]

    def test_order(self):
        both = "def kernel_function(): pass\ndef relu(): pass\ndef mine(): pass\n"
        self.assertEqual(self.found(both, "relu"), "kernel_function")
        self.assertEqual(self.found(both, "relu", "mine"), "mine")
        self.assertEqual(self.found("def relu(): pass", "relu"), "relu")

    def test_dtype_suffix_is_not_part_of_the_name(self):
        self.assertEqual(self.found("def gelu(): pass", "gelu_bf16"), "gelu")
        self.assertEqual(self.found("def gelu_bf16(): pass\ndef gelu(): pass", "gelu_bf16"),
                         "gelu_bf16")
        with self.assertRaises(kgate_entry.NoEntry):
            self.found("def exp(): pass", "exp_sqrt")

    def test_the_signatures_name(self):
        self.assertEqual(self.found("def lion_step(): pass", "Lion", function="lion_step"),
                         "lion_step")
        self.assertEqual(self.found("def Lion(): pass\ndef lion_step(): pass", "Lion",
                                    function="lion_step"), "Lion")
        with self.assertRaisesRegex(kgate_entry.NoEntry, "kernel_function or Lion or lion_step, f"):
            self.found("def lion(): pass", "Lion", function="lion_step")

    def test_a_kernel_needs_a_grid_and_is_no_entry(self):
        source = ("class Jit:\n    run = None\n    def __call__(self): pass\n"
                  "    def __getitem__(self, grid): pass\nrelu = Jit()\ndef launch(x): pass\n")
        with self.assertRaises(kgate_entry.NoEntry) as caught:
            self.found(source, "relu")
        self.assertEqual(str(caught.exception),
                         "no entry: expected a callable named kernel_function or relu, found Jit, "
                         "launch: rename it, or add `# kgate: entry=NAME`")

    def test_imported_names_are_not_offered(self):
        with self.assertRaisesRegex(kgate_entry.NoEntry, "found none"):
            self.found("from os.path import join", "relu")

    def test_class_without_arguments(self):
        module = self.load("class relu:\n    def __call__(self, x): return x + 1\n")
        self.assertEqual(kgate_entry.as_function(module.relu)(2), 3)


class Errors(Files):
    def test_syntax_error_names_the_line(self):
        self.assertRegex(self.line("x = 1\ny ==\n"), r"^SyntaxError: .* \(line 2 of it's a k")

    def test_missing_module(self):
        self.assertEqual(self.line("\nimport no_such_module_here"),
                         "ModuleNotFoundError: No module named 'no_such_module_here': install it "
                         "for this Python, or do without it (line 2 of it's a kernel.py)")

    def test_the_candidates_line_not_the_librarys(self):
        source = "import json\ndef relu():\n    return json.loads('{')\n"
        self.assertRegex(self.line(source, lambda m: m.relu()), r"\(line 3 of it's a kernel.py\)$")

    def test_many_lines_become_one(self):
        text = self.line("raise ValueError('first\\nsecond')")
        self.assertEqual(text, "ValueError: first (line 1 of it's a kernel.py)")
        self.assertEqual(self.line("raise ValueError('a:\\n  b')"),
                         "ValueError: a: b (line 1 of it's a kernel.py)")
        self.assertLess(len(self.line("raise ValueError('x' * 100000)")), 500)

    def test_exit_is_an_error(self):
        self.assertEqual(self.line("import sys\nsys.exit(3)"),
                         "SystemExit: 3 (line 2 of it's a kernel.py)")

    def test_kernel_that_does_not_compile(self):
        # Triton's CompilationError: .src is the kernel's text, .node.lineno counts from its def.
        source = ("class E(Exception):\n    src = 'def k(x):\\n    y = x.foo'\n"
                  "    class node: lineno = 2\n"
                  "def k(x):\n    y = x.foo\n"
                  "raise E('at 2:4:\\n  y = x.foo\\n  ^\\nno attribute foo')\n")
        self.assertEqual(self.line(source), "E: no attribute foo (line 5 of it's a kernel.py)")

    def test_cuda_code_that_does_not_compile(self):
        # TileLang's nvcc error: the whole source, then what the compiler said.
        source = ("def k():\n    raise RuntimeError('#include <x.h>\\nint k;\\n\\nCompilation error:\\n'\n"
                  "        'k.cu(2): warning: unused\\nk.cu(7): error: no such name\\nCommand: nvcc\\n')\n"
                  "k()\n")
        self.assertEqual(self.line(source), "RuntimeError: the CUDA code does not compile: k.cu(7): error: "
                                            "no such name (line 2 of it's a kernel.py)")


if __name__ == "__main__":
    unittest.main()
