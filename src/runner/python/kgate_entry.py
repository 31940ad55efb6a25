"""The candidate's file as a module, and the callable in it that is to be judged."""
import importlib.util
import re
import sys

MODULE = "kgate_candidate"
# gelu_bf16's callable may be named gelu: the dtype is part of the task, not of the operation.
DTYPE_SUFFIX = re.compile(r"_(?:bf16|fp16|fp32|fp64|fp8|f16|f32|f64|int8|int4)$")


class NoEntry(Exception):
    """The file holds no callable to judge; the text is one line for its author."""


def load_module(path):
    """Executes the file. It keeps its real name, since Triton reads its kernels' source from it."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise NoEntry("not a Python file: %s (name it something.py)" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    return module


def is_kernel(value):
    """A Triton kernel (or its autotuner) looks callable but only a launch with a grid runs it."""
    return hasattr(value, "run") and hasattr(type(value), "__getitem__")


def usable(value):
    return callable(value) and not is_kernel(value)


def names_for(task, function, entry):
    """The likeliest first. function: what the task's signature calls it."""
    if entry:
        return [entry]
    names = ["kernel_function", task, function, DTYPE_SUFFIX.sub("", task)]
    return list(dict.fromkeys(filter(None, names)))


def own_callables(module):
    return sorted(n for n, v in vars(module).items() if not n.startswith("_") and usable(v)
                  and getattr(v, "__module__", None) == module.__name__)


def find(module, task, function=None, entry=None):
    """(name, callable)."""
    wanted = names_for(task, function, entry)
    for name in wanted:
        value = getattr(module, name, None)
        if usable(value):
            return name, value
    found = own_callables(module)
    listed = ", ".join(found[:8]) + (", ..." if len(found) > 8 else "") if found else "none"
    raise NoEntry("no entry: expected a callable named %s, found %s: rename it, or add "
                  "`# kgate: entry=NAME`" % (" or ".join(wanted), listed))


def as_function(value):
    """A class may stand for a function: an autograd Function, or a module without arguments."""
    if not isinstance(value, type):
        return value
    if hasattr(value, "apply") and hasattr(value, "forward") and hasattr(value, "backward"):
        return value.apply
    return value()
