"""torch tensors over the judge's memory, through DLPack capsules built from bare addresses."""
import ctypes as C

import torch
from torch.utils import dlpack

CPU, CUDA = 1, 2  # DLDeviceType
CODES = {"float": 2, "int": 0, "uint": 1, "bfloat": 4, "complex": 5}  # DLDataTypeCode


class DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device_type", C.c_int32), ("device_id", C.c_int32),
                ("ndim", C.c_int32), ("code", C.c_uint8), ("bits", C.c_uint8),
                ("lanes", C.c_uint16), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class Managed(C.Structure):
    pass


Deleter = C.CFUNCTYPE(None, C.POINTER(Managed))
Managed._fields_ = [("tensor", DLTensor), ("context", C.c_void_p), ("deleter", Deleter)]

new_capsule = C.pythonapi.PyCapsule_New
new_capsule.restype = C.py_object
new_capsule.argtypes = [C.c_void_p, C.c_char_p, C.c_void_p]

# Structs that tensors still point to; a tensor's end removes its own. The memory itself is the
# judge's and is not freed here.
alive = {}


@Deleter
def forget(managed):
    alive.pop(C.addressof(managed.contents), None)


def split(dtype):
    """("float", 32) for float32; bool travels as uint8, which every torch imports."""
    if dtype == "bool":
        return "uint", 8
    name = dtype.rstrip("0123456789")
    return name, int(dtype[len(name):])


def wrap(spec, address, cuda_device=None):
    """A tensor of spec's dtype, shape and strides at `address`; on the CPU, or on that GPU."""
    dtype = getattr(torch, spec.dtype)
    if spec.empty() or not address:
        where = "cpu" if cuda_device is None else "cuda:%d" % cuda_device
        return torch.empty_strided(spec.shape, spec.strides, dtype=dtype, device=where)
    n = len(spec.shape)
    code, bits = split(spec.dtype)
    shape, strides = (C.c_int64 * max(n, 1))(*spec.shape), (C.c_int64 * max(n, 1))(*spec.strides)
    managed = Managed(DLTensor(address, CPU if cuda_device is None else CUDA, cuda_device or 0, n,
                               CODES[code], bits, 1, shape, strides, 0), None, forget)
    alive[C.addressof(managed)] = (managed, shape, strides)
    tensor = dlpack.from_dlpack(new_capsule(C.addressof(managed), b"dltensor", None))
    return tensor.view(torch.bool) if spec.dtype == "bool" else tensor
