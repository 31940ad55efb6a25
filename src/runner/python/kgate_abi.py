"""The C structs that pass between libkgate-runner and Python, as ctypes sees them.

They mirror src/runner/runner.h and src/base/base.h. kg_python_abi (abi.c) holds the sizes the
library was compiled with; check() compares.
"""
import ctypes as C
import json

OK, CANNOT, CANDIDATE, INTERNAL, RESULT = 0, 3, 4, 8, 9  # kg_code

DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "bool", None, "complex64", "complex128")  # kg_dtype
KINDS = ("tensor", "int", "float", "bool", "str", "dtype", "ints", "floats")  # kg_param_kind
ROLES = ("in", "inout", "state", "out_arg")  # kg_role

MAX_NDIM, MAX_ARGS, MAX_OUTS = 8, 24, 6


class Tensor(C.Structure):
    _fields_ = [("dtype", C.c_int), ("ndim", C.c_int), ("shape", C.c_int64 * MAX_NDIM),
                ("stride", C.c_int64 * MAX_NDIM)]


class RunTensor(C.Structure):
    _fields_ = [("desc", Tensor), ("base", C.c_void_p), ("offset", C.c_size_t),
                ("slot_stride", C.c_size_t), ("writable", C.c_bool)]


class RunArg(C.Structure):
    _fields_ = [("name", C.c_char_p), ("kind", C.c_int), ("role", C.c_int),
                ("optional", C.c_bool), ("nullable", C.c_bool), ("keyword", C.c_bool),
                ("native_only", C.c_bool), ("listed", C.c_bool), ("none", C.c_bool),
                ("absent", C.c_bool), ("scalar", C.c_bool), ("tensor", RunTensor),
                ("i", C.c_int64), ("f", C.c_double), ("s", C.c_char_p), ("n", C.c_int),
                ("ints", C.c_int64 * 8), ("floats", C.c_double * 8)]


class RunCase(C.Structure):
    _fields_ = [("n_args", C.c_int), ("args", RunArg * MAX_ARGS), ("n_outs", C.c_int),
                ("outs", RunTensor * MAX_OUTS), ("slots", C.c_int), ("calls", C.c_int),
                ("alias_first_out", C.c_bool), ("json", C.c_char_p)]


class RuntimeOps(C.Structure):  # the head of kg_rt_ops
    _fields_ = [("kind", C.c_char_p)]


class Runtime(C.Structure):
    _fields_ = [("ops", C.POINTER(RuntimeOps))]


class LoadRequest(C.Structure):
    _fields_ = [("language", C.c_char_p), ("path", C.c_char_p), ("entry", C.c_char_p),
                ("task", C.c_char_p), ("function", C.c_char_p), ("launch", C.c_char_p),
                ("host_entry", C.c_bool), ("rt", C.POINTER(Runtime))]


ErrorPointer = C.c_void_p
Load = C.CFUNCTYPE(C.c_int, C.POINTER(LoadRequest), C.POINTER(C.c_void_p), C.POINTER(C.c_void_p),
                   ErrorPointer)
Prepare = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(RunCase), ErrorPointer)
OnSlot = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_int, ErrorPointer)
Unload = C.CFUNCTYPE(None, C.c_void_p)
Observe = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_int, C.c_char_p, ErrorPointer)


class Loader(C.Structure):
    _fields_ = [("language", C.c_char_p), ("load", Load), ("prepare", Prepare), ("call", OnSlot),
                ("collect", OnSlot), ("unload", Unload), ("observe", Observe)]


def sizes():
    return [C.sizeof(Tensor), C.sizeof(RunTensor), C.sizeof(RunArg), C.sizeof(RunCase),
            RunCase.outs.offset, C.sizeof(LoadRequest), LoadRequest.rt.offset, C.sizeof(Loader)]


def open_library(path):
    """The runner library, its functions declared; ImportError when it is of another version."""
    lib = C.CDLL(path)
    theirs = list((C.c_size_t * 8).in_dll(lib, "kg_python_abi"))
    if theirs != sizes():
        raise ImportError("%s and kgate's Python files are of different versions (%s, %s): "
                          "install both from one build" % (path, theirs, sizes()))
    lib.kg_fail.restype = C.c_int
    lib.kg_fail.argtypes = [ErrorPointer, C.c_int, C.c_char_p, C.c_char_p]
    lib.kg_strdup.restype = C.c_void_p
    lib.kg_strdup.argtypes = [C.c_char_p]
    lib.kg_runner_serve.restype = C.c_int
    lib.kg_runner_serve.argtypes = [C.c_int, C.POINTER(C.POINTER(Loader))]
    return lib


def text(value, default=None):
    return default if value is None else value.decode("utf-8", "replace")


# ---- plain Python views, which the rest of the loader works on ----
class TensorSpec:
    """One tensor of a case: slot k lies at address + k * slot_stride (bytes)."""

    def __init__(self, dtype, shape, strides, address, slot_stride=0):
        self.dtype, self.shape, self.strides = dtype, tuple(shape), tuple(strides)
        self.address, self.slot_stride = address, slot_stride

    @classmethod
    def read(cls, t):
        d = t.desc
        return cls(DTYPES[d.dtype], d.shape[:d.ndim], d.stride[:d.ndim],
                   (t.base or 0) + t.offset if t.base else 0, t.slot_stride)

    def empty(self):
        return 0 in self.shape


class ArgSpec:
    """One argument of a case; value holds what is not a tensor."""

    def __init__(self, name, kind, value=None, tensor=None, role="in", **flags):
        self.name, self.kind, self.value, self.tensor, self.role = name, kind, value, tensor, role
        for flag in ("optional", "keyword", "native_only", "listed", "none", "absent", "scalar"):
            setattr(self, flag, bool(flags.pop(flag, False)))
        if flags:
            raise TypeError("unknown flags %s" % sorted(flags))

    @classmethod
    def read(cls, a):
        kind = KINDS[a.kind]
        n = max(0, min(a.n, 8))
        value = {"int": a.i, "float": a.f, "bool": bool(a.i), "str": text(a.s),
                 "dtype": text(a.s), "ints": tuple(a.ints[:n]),
                 "floats": tuple(a.floats[:n]), "tensor": a.f}[kind]
        if kind == "ints" and a.s:  # conv2d's padding='same', tensordot's [[1],[0]]: C alone gets the ints
            value = json.loads(text(a.s)) if text(a.s).startswith("[") else text(a.s)
        given = kind == "tensor" and not (a.none or a.absent or a.scalar)
        return cls(text(a.name), kind, value, TensorSpec.read(a.tensor) if given else None,
                   ROLES[a.role], optional=a.optional, keyword=a.keyword,
                   native_only=a.native_only, listed=a.listed, none=a.none, absent=a.absent,
                   scalar=a.scalar)


class CaseSpec:
    def __init__(self, args, outs, slots=1, alias_first_out=False):
        self.args, self.outs, self.slots = args, outs, slots
        self.alias_first_out = alias_first_out

    @classmethod
    def read(cls, c):
        return cls([ArgSpec.read(c.args[k]) for k in range(c.n_args)],
                   [TensorSpec.read(c.outs[k]) for k in range(c.n_outs)],
                   c.slots, bool(c.alias_first_out))

    def holds(self, dtype):
        tensors = [a.tensor for a in self.args if a.tensor is not None] + self.outs
        return any(t.dtype == dtype for t in tensors)
