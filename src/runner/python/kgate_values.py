"""From a case to the positional and keyword arguments of one call. No torch in here.

Required parameters go by position, the others by keyword and only when the case gives them, as a
person would call the function; what only C and CUDA kernels get (native_only) is left out.
"""

INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")


def plain(arg, whole, dtype_of):
    """The Python value of an argument that is not a tensor. whole: all tensors hold integers."""
    if arg.none:
        return None
    if arg.kind == "float" and whole and arg.value.is_integer():
        return int(arg.value)  # PyTorch refuses a float there (add's alpha among integers)
    if arg.kind == "dtype":
        return None if arg.value is None else dtype_of(arg.value)
    if arg.kind == "ints" and arg.scalar:
        return arg.value[0]
    return arg.value


def whole_numbers(case):
    tensors = [a.tensor for a in case.args if a.tensor is not None]
    return bool(tensors) and all(t.dtype in INTEGERS for t in tensors)


def call_arguments(case, tensor_of, dtype_of):
    """(args, kwargs). tensor_of(k, arg) makes the tensor of argument k, dtype_of(name) a dtype."""
    whole = whole_numbers(case)
    args, kwargs = [], {}
    for k, arg in enumerate(case.args):
        if arg.native_only or arg.role == "state" or arg.absent:
            continue
        value = plain(arg, whole, dtype_of) if arg.tensor is None else tensor_of(k, arg)
        if arg.listed:
            if not arg.optional:  # the first of its list
                args.append([])
            if not arg.none:
                args[-1].append(value)
        elif arg.optional or arg.keyword:
            kwargs[arg.name] = value
        else:
            args.append(value)
    return args, kwargs


def is_optimizer(case):
    """Only optimizers keep state between calls, which the case then names for C kernels."""
    return any(a.role == "state" for a in case.args)


def optimizer_tensors(case):
    """Indices of (parameter, gradient) pairs: what is updated in place, and `grad...` inputs."""
    params = [k for k, a in enumerate(case.args) if a.role == "inout" and a.tensor is not None]
    grads = [k for k, a in enumerate(case.args)
             if a.role == "in" and a.tensor is not None and a.name.startswith("grad")]
    if not params or len(params) != len(grads):
        raise ValueError("an optimizer case needs one gradient for each parameter, got %d and %d"
                         % (len(grads), len(params)))
    return list(zip(params, grads))


def optimizer_arguments(case, dtype_of):
    """Keyword arguments of the optimizer's constructor: everything but tensors."""
    return {a.name: plain(a, False, dtype_of) for a in case.args
            if a.kind != "tensor" and not a.native_only and not a.absent}
