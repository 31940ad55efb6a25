"""Which lines a Triton or TileLang kernel has, and that launches are looked at only where there is a device."""
import functools
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

import support  # noqa: F401
import kgate_entry
import kgate_launches
import kgate_observe

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


class Replaced(unittest.TestCase):
    """Launching functions that a candidate has changed: its calls go on as they were."""

    def setUp(self):
        class Base:
            def run(self, x):
                return x + 1

        class Own(Base):
            def run(self, x):
                return x + 2

        class Inherited(Base):
            pass

        class Static:
            @staticmethod
            def run(x):
                return x + 3

        class Called:
            run = functools.partial(lambda x: x + 4)

        self.classes = {Own: 2, Inherited: 1, Static: 3, Called: 4}

    def test_calls_give_what_they_gave_and_nothing_is_left_behind(self):
        for owner, more in self.classes.items():
            before, seen = dict(vars(owner)), []

            def noted(original, kernel, *args):
                seen.append(kernel)  # pylint: disable=cell-var-from-loop
                return original(kernel, *args)

            with kgate_observe.replaced(owner, "run", noted):
                self.assertEqual(owner().run(1), 1 + more)
            self.assertEqual(len(seen), 1 if more < 3 else 0)
            self.assertEqual((dict(vars(owner)), owner().run(1)), (before, 1 + more))

    def test_what_the_call_puts_there_stays(self):
        owner = next(iter(self.classes))
        with kgate_observe.replaced(owner, "run", lambda original, *args: original(*args)):
            owner.run = lambda self, x: 7
        self.assertEqual(owner().run(1), 7)

    def test_what_is_not_there_is_not_replaced(self):
        with kgate_observe.replaced(object, "run", None):
            self.assertFalse(hasattr(object, "run"))

    def test_modules_without_their_class_launch_nothing(self):
        for stub in (types.ModuleType("triton.runtime.jit"), types.SimpleNamespace(JITFunction=7)):
            with unittest.mock.patch.dict(sys.modules, {"triton.runtime.jit": stub, "tilelang.jit.kernel": stub,
                                                        "triton": types.ModuleType("triton")}):
                self.assertEqual(list(kgate_observe.places()), [])
                with tempfile.TemporaryDirectory() as folder:
                    self.assertEqual(kgate_observe.observe(lambda: 5, folder), 5)


class Device(unittest.TestCase):
    def test_without_one_nothing_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            called = []
            if kgate_launches.device() is None:
                kgate_launches.write(lambda: called.append(1), folder, __file__)
            self.assertEqual((called, os.listdir(folder)), ([], []))


if __name__ == "__main__":
    unittest.main()
