"""A case becomes the call that a person would write."""
import unittest

import support  # noqa: F401
from kgate_abi import ArgSpec, CaseSpec, TensorSpec
import kgate_values


def tensor(dtype="float32"):
    return TensorSpec(dtype, (3,), (1,), 4096)


def call(args, **case):
    return kgate_values.call_arguments(CaseSpec(args, [], **case), lambda k, a: "T%d" % k,
                                       lambda name: "torch." + name)


class Arguments(unittest.TestCase):
    def test_required_go_by_position_and_optional_by_name(self):
        args = [ArgSpec("input", "tensor", tensor=tensor()), ArgSpec("dim", "int", -1),
                ArgSpec("keepdim", "bool", True, optional=True)]
        self.assertEqual(call(args), (["T0", -1], {"keepdim": True}))

    def test_absent_is_left_out_and_none_is_passed(self):
        args = [ArgSpec("input", "tensor", tensor=tensor()),
                ArgSpec("weight", "tensor", optional=True, none=True),
                ArgSpec("eps", "float", 1e-5, optional=True, absent=True)]
        self.assertEqual(call(args), (["T0"], {"weight": None}))

    def test_native_only_and_state_never_reach_python(self):
        args = [ArgSpec("params", "tensor", tensor=tensor(), role="inout"),
                ArgSpec("step", "int", 3, native_only=True),
                ArgSpec("exp_avg", "tensor", tensor=tensor(), role="state")]
        self.assertEqual(call(args), (["T0"], {}))

    def test_listed_tensors_come_in_one_list(self):
        args = [ArgSpec("tensors", "tensor", tensor=tensor(), listed=True),
                ArgSpec("tensors_2", "tensor", tensor=tensor(), optional=True, listed=True),
                ArgSpec("tensors_3", "tensor", optional=True, listed=True, absent=True),
                ArgSpec("divisor", "tensor", 2.0, scalar=True)]
        self.assertEqual(call(args), ([["T0", "T1"], 2.0], {}))

    def test_required_keyword(self):
        args = [ArgSpec("input", "tensor", tensor=tensor()), ArgSpec("n", "int", 2, keyword=True)]
        self.assertEqual(call(args), (["T0"], {"n": 2}))

    def test_dtype_text_and_tuples(self):
        args = [ArgSpec("t", "dtype", "float16"), ArgSpec("mode", "str", "mean"),
                ArgSpec("size", "ints", (2, 3)), ArgSpec("one", "ints", (7,)),
                ArgSpec("bare", "ints", (7,), scalar=True), ArgSpec("none", "ints", ()),
                ArgSpec("betas", "floats", (0.9, 0.999))]
        self.assertEqual(call(args)[0],
                         ["torch.float16", "mean", (2, 3), (7,), 7, (), (0.9, 0.999)])

    def test_a_factor_is_an_int_only_among_integer_tensors(self):
        def alpha(dtype, value):
            got = call([ArgSpec("input", "tensor", tensor=tensor(dtype)),
                        ArgSpec("alpha", "float", value)])[0][1]
            return got, type(got)
        self.assertEqual(alpha("float32", 2.0), (2.0, float))
        self.assertEqual(alpha("int64", 2.0), (2, int))
        self.assertEqual(alpha("int64", 2.5), (2.5, float))

    def test_a_number_for_a_tensor_stays_a_float(self):
        # int64 tensor + 2.0 is float32, + 2 would be int64.
        got = call([ArgSpec("input", "tensor", tensor=tensor("int64")),
                    ArgSpec("other", "tensor", 2.0, scalar=True)])[0][1]
        self.assertIs(type(got), float)


class Optimizer(unittest.TestCase):
    def setUp(self):
        self.args = [ArgSpec("params", "tensor", tensor=tensor(), role="inout"),
                     ArgSpec("grads", "tensor", tensor=tensor(), native_only=True),
                     ArgSpec("exp_avg", "tensor", tensor=tensor(), role="state", native_only=True),
                     ArgSpec("step", "int", 1, native_only=True),
                     ArgSpec("lr", "float", 0.5, optional=True),
                     ArgSpec("eps", "float", 1e-8, optional=True, absent=True)]

    def test_state_makes_it_one(self):
        self.assertTrue(kgate_values.is_optimizer(CaseSpec(self.args, [])))
        self.assertFalse(kgate_values.is_optimizer(CaseSpec(self.args[:2], [])))

    def test_parameters_meet_their_gradients(self):
        self.assertEqual(kgate_values.optimizer_tensors(CaseSpec(self.args, [])), [(0, 1)])
        with self.assertRaisesRegex(ValueError, "got 0 and 1"):
            kgate_values.optimizer_tensors(CaseSpec(self.args[:1], []))

    def test_constructor_gets_what_the_case_gives(self):
        self.assertEqual(kgate_values.optimizer_arguments(CaseSpec(self.args, []), str),
                         {"lr": 0.5})


if __name__ == "__main__":
    unittest.main()
