"""The library's own answer as a callable: PyTorch eager or torch.compile, at their best ordinary
settings, which the name it goes by states."""
import math

import torch

EAGER, COMPILE = "torch-eager", "torch-compile"


def settings(tf32):
    """cuDNN's search on; products of float32 in full precision unless TF32 is asked for."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    return "cudnn.benchmark on, float32 products in %s" % ("tf32" if tf32 else "float32")


def evaluate(expression):
    """`torch` and `F` are in scope; the expression is the task's own, not the candidate's."""
    scope = {"torch": torch, "F": torch.nn.functional, "math": math}
    return eval(expression, scope)  # pylint: disable=eval-used


class Baseline:
    """fresh() gives the callable for the next case: compiled anew, for its shapes alone."""

    def __init__(self, kind, expression):
        tf32 = expression.startswith("tf32:")
        if kind not in (EAGER, COMPILE):
            raise ValueError("no baseline %r: known are %s and %s" % (kind, EAGER, COMPILE))
        self.expression = expression[5:] if tf32 else expression
        self.function = evaluate(self.expression)
        self.compiled = kind == COMPILE
        note = settings(tf32)
        if self.compiled and not hasattr(torch, "compile"):
            self.compiled = False
            note = "eager, since this torch has no torch.compile; " + note
        if self.compiled:
            note = "max-autotune-no-cudagraphs, one compilation a case; " + note
        self.name = "%s %s %s (%s)" % (kind, torch.__version__, self.expression, note)

    def fresh(self):
        if not self.compiled:
            return self.function
        torch._dynamo.reset()
        return torch.compile(self.function, mode="max-autotune-no-cudagraphs", dynamic=False)
