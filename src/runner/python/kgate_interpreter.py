"""Mends what Triton's interpreter computes otherwise than a GPU does, which would judge honest
kernels wrong and wrong ones right.

Triton 3.x keeps a bfloat16 as its bits in a uint16 and hands them to NumPy: sums, products,
comparisons, minima and matrix products of bfloat16 are those of the bits. Its conversions to
bfloat16 and float8 cut or carry badly, and lose denormals. Half-precision sums it adds up in
float32, where a GPU rounds each. argmax over NaNs alone raises, and so does a mask that holds the
comparison of two scalars. A number given to a kernel stays one of Python's.

mend() replaces those parts, and then asks the interpreter what it knows the answer of, since another
version may be built otherwise: bfloat16 cases are refused where it still fails, rather than judged.
"""
import numpy as np

# Formats by name: fraction bits, exponent bits, bias, whether the largest exponent holds
# infinities, whether a value out of reach becomes the largest one (the float8 conversions of CUDA).
FORMATS = {"fp16": (10, 5, 15, True, False), "bf16": (7, 8, 127, True, False),
           "fp32": (23, 8, 127, True, False), "fp64": (52, 11, 1023, True, False),
           "fp8e5": (2, 5, 15, True, True), "fp8e4nv": (3, 4, 7, False, True)}
NATIVE = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}
BITS = {"fp16": np.uint16, "bf16": np.uint16, "fp32": np.uint32, "fp64": np.uint64,
        "fp8e5": np.uint8, "fp8e4nv": np.uint8}


def widen(bits):
    """float32 values of bfloat16 bits."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrow(values):
    """bfloat16 bits of float32 values, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7fff) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    nan = (bits & np.uint32(0x7fffffff)) > np.uint32(0x7f800000)
    rounded = np.where(nan, (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)
    return rounded.reshape(np.shape(values))


def decode(data, name):
    """float64 values of the bits of a format."""
    bits = np.ascontiguousarray(data).view(BITS[name])
    if name in NATIVE:
        return bits.view(NATIVE[name]).astype(np.float64)
    fraction, exponent, bias, has_infinity, _ = FORMATS[name]
    bits = bits.astype(np.int64)
    e, m = (bits >> fraction) & ((1 << exponent) - 1), bits & ((1 << fraction) - 1)
    value = np.ldexp(m + np.where(e > 0, 1 << fraction, 0).astype(np.float64),
                     np.maximum(e, 1) - bias - fraction)
    if has_infinity:
        value = np.where(e == (1 << exponent) - 1, np.where(m == 0, np.inf, np.nan), value)
    else:  # all ones alone is NaN
        value = np.where((bits & 0x7f) == 0x7f, np.nan, value)
    return np.where(bits >> (fraction + exponent) & 1, -value, value)


def encode(values, name, toward_zero=False):
    """Bits of float64 values in a format; to nearest even unless toward zero."""
    fraction, exponent, bias, has_infinity, saturates = FORMATS[name]
    size = np.abs(values)
    finite = np.where(np.isfinite(size), size, 0)
    e = np.maximum(np.frexp(finite)[1] - 1, 1 - bias)
    scaled = np.ldexp(finite, fraction - e)  # exact
    m = (np.floor(scaled) if toward_zero else np.rint(scaled)).astype(np.int64)
    bits = np.where(m > 0, m + ((e + bias - 1).astype(np.int64) << fraction), 0)
    infinity = ((1 << exponent) - 1) << fraction
    most = infinity - 1 if has_infinity else infinity + (1 << fraction) - 2
    above = most if saturates or toward_zero else infinity
    bits = np.where(bits > most, above, bits)
    bits = np.where(np.isinf(size), most if saturates else infinity, bits)
    nan = infinity | 1 << (fraction - 1) if has_infinity else infinity + (1 << fraction) - 1
    bits = np.where(np.isnan(size), nan, bits)
    return (bits | (np.signbit(values).astype(np.int64) << (fraction + exponent))).astype(BITS[name])


def converter(theirs, toward_zero):
    """Triton's _convert_float, for the formats named above. It returns bits."""

    def convert(data, source, target, rounding):
        a, b = source.scalar.name, target.scalar.name
        if a not in FORMATS or b not in FORMATS or b == "fp64":
            return theirs(data, source, target, rounding)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return encode(decode(data, a), b, rounding == toward_zero).reshape(np.shape(data))

    return convert


def is_bf16(handle):
    return handle.dtype.scalar.name == "bf16"


class Half:
    """How a bfloat16 handle enters NumPy's functions, and how a result leaves them."""

    def __init__(self, module):
        self.make, self.bf16 = module.TensorHandle, module.tl.bfloat16
        self.fp32, self.int1 = module.tl.float32, module.tl.int1

    def wide(self, handle):
        return self.make(widen(handle.data), self.fp32) if is_bf16(handle) else handle

    def back(self, result):
        return self.make(narrow(result.data), self.bf16) if result.data.dtype != bool else result


def mend_arithmetic(builder, half):
    """Methods that take handles and do arithmetic with their data."""

    def around(name, handles):
        theirs = getattr(builder, name)

        def mended(self, *args):
            if any(is_bf16(a) for a in args[:handles]):
                result = half.back(theirs(self, *[half.wide(a) for a in args[:handles]],
                                          *args[handles:]))
            else:
                result = theirs(self, *args)
            # A comparison bears the dtype of what it compared, and would be spread as that.
            return half.make(result.data, half.int1) if result.data.dtype == bool else result

        setattr(builder, name, mended)

    for name, handles in (("binary_op", 2), ("unary_op", 1), ("create_fma", 3), ("create_clampf", 3)):
        around(name, handles)
    product = builder.create_dot

    def create_dot(self, a, b, d, *rest):
        return product(self, half.wide(a), half.wide(b), d, *rest)

    builder.create_dot = create_dot
    mend_atomic_add(builder, half)


def mend_atomic_add(builder, half):
    """The only atomic operation on bfloat16. Programs run one after the other here."""
    theirs = builder.create_atomic_rmw

    def create_atomic_rmw(self, op, ptr, value, mask, *rest):
        if not is_bf16(value):
            return theirs(self, op, ptr, value, mask, *rest)
        where, values, on = np.broadcast_arrays(ptr.data, value.data, mask.data)
        before = np.zeros(where.shape, np.uint16)
        for k in np.ndindex(where.shape):
            at, one = half.make(where[k].reshape(1), ptr.dtype), half.make(on[k].reshape(1), mask.dtype)
            before[k] = self.create_masked_load(at, one, None, None, False).data[0]
            total = narrow(widen(before[k]) + widen(values[k])).reshape(1)
            self.create_masked_store(at, half.make(total, half.bf16), one, None)
        return half.make(before, half.bf16)

    builder.create_atomic_rmw = create_atomic_rmw


# ---- reductions ----
def halves(arrays, axis, combine):
    """Reduces by combining the halves, as threads do."""
    lines = [a.reshape(-1) if axis is None else np.moveaxis(a, axis, 0) for a in arrays]
    while len(lines[0]) > 1:
        n = len(lines[0]) // 2
        lines = combine([a[:n] for a in lines], [a[n:] for a in lines])
    return [a[0] for a in lines]


def picker(better):
    """argmax's combination in triton.language.standard; of NaN it keeps what stands second."""

    def combine(a, b):
        first = better(a[0], b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return [np.where(first, x, y) for x, y in zip(a, b)]

    return combine


def mend_reductions(module, half):
    tl, reduce_ops = module.tl, module.ReduceOps
    standard = tl.standard
    theirs = reduce_ops.apply_impl
    pickers = {}
    for name, better in (("argmax", np.greater), ("argmin", np.less)):
        for tie in ("left", "fast"):
            pickers[getattr(standard, "_%s_combine_tie_break_%s" % (name, tie))] = picker(better)
    extremes = (standard._elementwise_max, standard._elementwise_min)

    def kept(self, value, like):
        if not self.keep_dims:
            return value
        return (np.expand_dims(value, self.axis) if self.axis is not None
                else np.reshape(value, (1,) * like.ndim))

    def finish(self, value, tensor):
        return self.to_tensor(kept(self, value, tensor.handle.data), tensor.dtype)

    def apply_impl(self, tensors):
        data = [t.handle.data for t in tensors]
        bf16 = tensors[0].dtype.scalar.name == "bf16"
        values = widen(data[0]) if bf16 else data[0]
        if self.combine_fn in pickers:
            value, index = halves([values, data[1]], self.axis, pickers[self.combine_fn])
            return finish(self, narrow(value) if bf16 else value, tensors[0]), \
                finish(self, index, tensors[1])
        if self.combine_fn is standard._sum_combine and (bf16 or values.dtype == np.float16):
            def add(a, b):
                total = a[0] + b[0]
                return [widen(narrow(total)) if bf16 else total]
            value, = halves([values], self.axis, add)
            return finish(self, narrow(value) if bf16 else value, tensors[0])
        if self.combine_fn in extremes and bf16:
            pick = np.fmax if self.combine_fn is extremes[0] else np.fmin
            value, = halves([values], self.axis, lambda a, b: [pick(a[0], b[0])])
            return finish(self, narrow(value), tensors[0])
        return theirs(self, tensors)

    reduce_ops.apply_impl = apply_impl
    scan = module.ScanOps
    for name in ("cumsum", "cumprod"):
        mend_scan(scan, name, half)


def mend_scan(scan, name, half):
    theirs = getattr(scan, name)
    add = np.add if name == "cumsum" else np.multiply

    def mended(self, tensor):
        if tensor.dtype.scalar.name != "bf16":
            return theirs(self, tensor)
        lines = np.moveaxis(widen(tensor.handle.data), self.axis, 0).copy()
        for k in range(1, len(lines)):
            lines[k] = widen(narrow(add(lines[k - 1], lines[k])))
        return [self.to_tensor(np.moveaxis(narrow(lines), 0, self.axis), tensor.dtype)]

    setattr(scan, name, mended)


def mend_numbers(module):
    """A number given to a kernel is a float32 there: it loses digits, and half precision times it is
    float32. Left a Python number, it would keep the digits and the product be half precision."""
    theirs = module._implicit_cvt

    def convert(argument):
        if not isinstance(argument, float):
            return theirs(argument)
        data = np.array([argument], np.float64).astype(np.float32)
        return module.tl.tensor(module.TensorHandle(data, module.tl.float32), module.tl.float32)

    module._implicit_cvt = convert


# ---- entering it ----
def mend():
    """Call once, in a process that imported Triton to interpret. What is still wrong, one line that
    says so to who asks a bfloat16 case; or None."""
    import triton  # pylint: disable=import-outside-toplevel
    from triton.runtime import interpreter as module  # pylint: disable=import-outside-toplevel
    try:
        half = Half(module)
        module._convert_float = converter(module._convert_float, module._ir.ROUNDING_MODE.RTZ)
        mend_arithmetic(module.InterpreterBuilder, half)
        mend_reductions(module, half)
        mend_numbers(module)
        wrong = wrong_about(module)
    except Exception as e:  # pylint: disable=broad-except
        wrong = "%s: %s" % (type(e).__name__, e)
    return wrong and "the interpreter of Triton %s gets bfloat16 wrong (%s): judge this on a GPU" % (
        triton.__version__, wrong)


def wrong_about(module):
    """What a bfloat16 kernel would get wrong, by asking with numbers known beforehand; or None."""
    tl, builder = module.tl, module.interpreter_builder

    def bf16(*values):
        return module.TensorHandle(narrow(np.array(values, np.float32)), tl.bfloat16)

    def values(handle):
        return handle.data.tolist() if handle.data.dtype == bool else widen(handle.data).tolist()

    inf, x, y = float("inf"), bf16(-1, 3, -np.inf, 1), bf16(0, 0.5, 2, 256)
    f32 = module.TensorHandle(np.array([1.005859375, -np.inf, 2.0 ** -130], np.float32), tl.float32)
    total = module.ReduceOps(0, tl.standard._sum_combine, False).apply(
        tl.tensor(bf16(1, -2, 0.5, 4), tl.block_type(tl.bfloat16, [4])))
    square = module.TensorHandle(np.zeros((2, 2), np.float32), tl.float32)
    a = module.TensorHandle(bf16(1, -2, 3, 4).data.reshape(2, 2), tl.bfloat16)
    checks = (
        ("less than", values(builder.create_fcmpOLT(x, y)), [True, False, True, True]),
        ("sums", values(builder.create_fadd(x, y)), [-1, 3.5, -inf, 256]),  # 257 is a tie
        ("negation", values(builder.create_fneg(x)), [1, -3, inf, -1]),
        ("maxima", values(builder.create_maxnumf(x, y)), [0, 3, 2, 256]),
        ("rounding", values(builder.cast_impl(f32, tl.bfloat16)), [1.0078125, -inf, 2.0 ** -130]),
        ("reductions", values(total.handle), [3.5]),
        ("products", builder.create_dot(a, a, square, None, 0).data.tolist(), [[-5, -10], [15, 10]]))
    return next((name for name, got, expected in checks if got != expected), None)
