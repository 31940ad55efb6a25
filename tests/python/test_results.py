"""A wrong result is one clear line: what came, and what the task says."""
import unittest

import support  # noqa: F401
from kgate_abi import TensorSpec
from kgate_results import WrongResult, as_outputs, check_output


class Plain:
    """Has what check_output looks at, as torch.Tensor has."""

    def __init__(self, shape=(2, 3), dtype="torch.float32", device="cuda:0",
                 layout="torch.strided"):
        self.shape, self.dtype, self.device, self.layout = shape, dtype, device, layout


class Lazy(Plain):
    """A subclass could compute its values when the judge looks."""


SPEC = TensorSpec("float32", (2, 3), (3, 1), 4096)


def check(value):
    check_output(value, SPEC, "cuda:0", (Plain,), "the output")


class Results(unittest.TestCase):
    def wrong(self, text, work, *args):
        with self.assertRaises(WrongResult) as caught:
            work(*args)
        self.assertEqual(str(caught.exception), text)

    def test_right_one_passes(self):
        check(Plain())

    def test_shape(self):
        self.wrong("wrong shape: the output is [3,2], expected [2,3]", check, Plain((3, 2)))
        self.wrong("wrong shape: the output is [], expected [2,3]", check, Plain(()))

    def test_dtype(self):
        self.wrong("wrong dtype: the output is float64, expected float32", check,
                   Plain(dtype="torch.float64"))

    def test_device(self):
        self.wrong("wrong device: the output is on cpu, expected cuda:0", check,
                   Plain(device="cpu"))

    def test_not_a_tensor(self):
        self.wrong("not a tensor: the output is float, expected a torch.Tensor float32 [2,3]",
                   check, 3.0)
        self.wrong("not a tensor: the output is None, expected a torch.Tensor float32 [2,3]",
                   check, None)

    def test_subclass(self):
        self.wrong("lazy or wrapped output: the output is a Lazy, a subclass of torch.Tensor; "
                   "return a plain torch.Tensor", check, Lazy())

    def test_sparse(self):
        self.wrong("not a dense tensor: the output has layout torch.sparse_coo", check,
                   Plain(layout="torch.sparse_coo"))

    def test_number_of_outputs(self):
        self.assertEqual(as_outputs(5, 1), [5])
        self.assertEqual(as_outputs((5, 6), 2), [5, 6])
        self.wrong("returned 1 of 2 outputs: return a tuple of 2 tensors, not Plain",
                   as_outputs, Plain(), 2)
        self.wrong("returned 3 of 2 outputs: return a tuple of 2 tensors", as_outputs,
                   [1, 2, 3], 2)
        self.wrong("not a tensor: returned a tuple of 1, return the tensor itself", as_outputs,
                   (5,), 1)


if __name__ == "__main__":
    unittest.main()
