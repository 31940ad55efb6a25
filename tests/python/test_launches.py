"""Which lines a Triton or TileLang kernel has, and that launches are looked at only where there is a device."""
import os
import tempfile
import types
import unittest

import support  # noqa: F401
import kgate_entry
import kgate_launches

SOURCE = """import functools


def jit(f):
    class Jit:
        fn = f
    return Jit()


@jit
def first(x):
    return x


@jit
@functools.lru_cache
def cached(x):
    return x


@jit
def second(
        x):

    return first(x)


@jit
def third(x):
    return second(x) + third(x) + jit(x)
"""


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "candidate.py")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(SOURCE)
        self.module = kgate_entry.load_module(self.path)

    def test_those_of_its_definition(self):
        self.assertEqual(kgate_launches.lines_of(self.module.first, self.path), (10, 12))
        self.assertEqual(kgate_launches.lines_of(self.module.second, self.path), (21, 25))

    def test_functions_that_it_calls_are_part_of_it(self):
        self.assertEqual(kgate_launches.of_triton(self.module.first, self.path), ((10, 12),))
        self.assertEqual(kgate_launches.of_triton(self.module.third, self.path), ((28, 30), (21, 25), (10, 12)))

    def test_another_files_kernel_has_none(self):
        self.assertIsNone(kgate_launches.lines_of(self.module.first, __file__))

    def test_what_is_no_function_has_none(self):
        for thing in (self.module.cached, None, 7):
            self.assertIsNone(kgate_launches.lines_of(thing, self.path))


class TileLang(unittest.TestCase):
    """Kernels of functions of one name: TileLang says the name alone."""
    SOURCE = """def one(n):
    @T.prim_func
    def main(
            X: T.Tensor((n,))):
        pass


def two(n):
    @T.prim_func
    def main(X: T.Tensor((n,))): pass
    def other(X): pass
"""

    def lines_of(self, name):
        kernel = types.SimpleNamespace(prim_func=types.SimpleNamespace(attrs={"global_symbol": name}))
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write(self.SOURCE)
            f.flush()
            return kgate_launches.of_tilelang(kernel, f.name)

    def test_all_functions_of_its_name(self):
        self.assertEqual(self.lines_of("main"), ((3, 5), (10, 10)))
        self.assertEqual(self.lines_of("other"), ((11, 11),))

    def test_a_name_that_is_not_there_ends_it(self):
        with self.assertRaises(LookupError):
            self.lines_of("gone")


class Device(unittest.TestCase):
    def test_without_one_nothing_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            called = []
            if kgate_launches.device() is None:
                kgate_launches.write(lambda: called.append(1), folder, __file__)
            self.assertEqual((called, os.listdir(folder)), ([], []))


if __name__ == "__main__":
    unittest.main()
