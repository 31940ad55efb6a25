"""What a callable gave back, held against what the task says. No torch in here."""


class WrongResult(Exception):
    """The candidate's result cannot be judged; the text is one line for its author."""


def short(shape):
    return "[" + ",".join(str(n) for n in shape) + "]"


def kind_of(value):
    return "None" if value is None else type(value).__name__


def as_outputs(result, n):
    """The n outputs in a list."""
    if n == 1 and not isinstance(result, (tuple, list)):
        return [result]
    if not isinstance(result, (tuple, list)):
        raise WrongResult("returned 1 of %d outputs: return a tuple of %d tensors, not %s"
                          % (n, n, kind_of(result)))
    if n == 1:
        raise WrongResult("not a tensor: returned a %s of %d, return the tensor itself"
                          % (kind_of(result), len(result)))
    if len(result) != n:
        raise WrongResult("returned %d of %d outputs: return a tuple of %d tensors"
                          % (len(result), n, n))
    return list(result)


def check_output(value, spec, device, exact_types, name):
    """Raises WrongResult unless value is a plain dense tensor as spec says, on `device` (text)."""
    if type(value) not in exact_types:
        if isinstance(value, exact_types):
            raise WrongResult("lazy or wrapped output: %s is a %s, a subclass of torch.Tensor; "
                              "return a plain torch.Tensor" % (name, kind_of(value)))
        raise WrongResult("not a tensor: %s is %s, expected a torch.Tensor %s %s"
                          % (name, kind_of(value), spec.dtype, short(spec.shape)))
    if str(value.layout) != "torch.strided":
        raise WrongResult("not a dense tensor: %s has layout %s" % (name, value.layout))
    if str(value.device) != device:
        raise WrongResult("wrong device: %s is on %s, expected %s" % (name, value.device, device))
    dtype = str(value.dtype).replace("torch.", "")
    if dtype != spec.dtype:
        raise WrongResult("wrong dtype: %s is %s, expected %s" % (name, dtype, spec.dtype))
    if tuple(value.shape) != spec.shape:
        raise WrongResult("wrong shape: %s is %s, expected %s"
                          % (name, short(value.shape), short(spec.shape)))


def output_name(k, n):
    return "the output" if n == 1 else "output %d of %d" % (k + 1, n)
