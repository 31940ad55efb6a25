#!/usr/bin/env python3
"""One candidate judged as most evaluators of the field do it, in a process of its own: what that costs.

    bench/throughput/plain_harness.py WORK.json

Imports torch, Triton and the candidate, calls it and the reference on every case, asks torch.allclose, and times both with
triton.testing.do_bench (warm-up 100 ms, repeats for 1,000 ms) at every size. WORK.json, which throughput.py writes:

    {"task", "path": of the candidate's source, "signature", "torch_baseline", "cases": [...], "timed": [...],
     "device": "cuda"}

Prints one JSON object a step, as it comes: {"step": "import"|"check"|"time", "what", "seconds", ...}. A case whose words it
does not know is left out, and said: {"step": "left out"}. It is no judge: inputs are torch.rand, one set a case, in the
candidate's own process, and the candidate could answer anything that it remembers.

With "device": "cpu" (through Triton's interpreter, to try this program) calls are timed by the host's clock, five of each.
"""
import importlib.util
import inspect
import json
import math
import re
import sys
import time

WARM_UP_MS, REPEATS_MS = 100, 1000
TENSOR = re.compile(r"(f64|f32|f16|bf16|i64|i32|i8|u8|bool)\[([\d,]*)\]$")
# Words of kgate's cases that say no more than which values: any will do here.
VALUES = {"rank-one", "raised", "const", "outliers", "logscale", "distinct", "symmetric"}


class Unknown(Exception):
    """A case that is not understood; its word."""


def tell(step, what, seconds, **more):
    print(json.dumps(dict({"step": step, "what": what, "seconds": seconds}, **more)), flush=True)


# ---- cases ------------------------------------------------------------------------------------------
def parse(case):
    """[(name or None, text)] of `f32[4096,128] dim=0 index=i32[512] other=0`."""
    found = []
    for word in case.split():
        name, equals, value = word.partition("=")
        if equals:
            found.append((name, value))
        elif TENSOR.match(word) and not found:
            found.append((None, word))
        elif word not in VALUES:
            raise Unknown(word)
    return found


def parameters(signature):
    """([names], [names after the `*`]) of `relu(input, inplace=False) -> Tensor`."""
    inside = signature[signature.index("(") + 1:signature.rindex(")")]
    depth, words = 0, [""]
    for c in inside:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            words.append("")
        else:
            words[-1] += c
    names = [re.split(r"[=:]", w, maxsplit=1)[0].strip() for w in words]
    star = names.index("*") if "*" in names else len(names)
    return names[:star], names[star + 1:]


def value_of(text, others, device):
    import torch
    types = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
             "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
    t = TENSOR.match(text)
    if not t:
        return {"None": None, "True": True, "False": False}[text] if text in ("None", "True", "False") else literal(text)
    shape, dtype = [int(d) for d in t.group(2).split(",") if d], types[t.group(1)]
    if dtype.is_floating_point:
        return torch.rand(shape, device=device).to(dtype)
    if not others:
        return torch.randint(0, 100, shape, device=device).to(dtype)
    # Whole numbers are indices here: into the dimension that is named, else into the smallest.
    first = others[0]
    dim = next((v for v in others[1:] if isinstance(v, int) and not isinstance(v, bool)), None)
    limit = first.shape[dim] if dim is not None else min(first.shape)
    return torch.randint(0, max(1, limit), shape, device=device).to(dtype)


def literal(text):
    if re.fullmatch(r"[-+\d.e(),inf]+", text):
        return eval(text, {"__builtins__": {}}, {"inf": math.inf})  # numbers and tuples of them
    if re.fullmatch(r"[a-z_]+", text):
        return text
    raise Unknown(text)


def arguments(signature, case, device):
    """(positional, by name) of a call."""
    ordered, named_only = parameters(signature)
    given, values = parse(case), {}
    for name, text in given:
        name = name or ordered[0]
        if name not in ordered + named_only or name == "out":
            raise Unknown(name)
        values[name] = value_of(text, list(values.values()), device)
    positional = []
    for name in ordered:
        if name not in values:
            break
        positional.append(values.pop(name))
    return positional, values


# ---- the harness ------------------------------------------------------------------------------------
def load(path, task):
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    f = getattr(module, "kernel_function", None) or getattr(module, task.split("/")[-1])
    assert callable(f), inspect.getfile(module)
    return f


def same(a, b):
    import torch
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a.shape == b.shape and torch.allclose(a.to(b.dtype), b, rtol=1e-3, atol=1e-3, equal_nan=True)


def copy_of(args):
    import torch
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in args]


def timed(call, device):
    """Microseconds a call."""
    if device == "cuda":
        from triton.testing import do_bench
        return 1e3 * do_bench(call, warmup=WARM_UP_MS, rep=REPEATS_MS)
    start = time.perf_counter()
    for _ in range(5):
        call()
    return 2e5 * (time.perf_counter() - start)


def harness(work):
    start = time.monotonic()
    import torch
    import torch.nn.functional as F
    device = work["device"]
    reference = eval(work["torch_baseline"], {"torch": torch, "F": F, "math": math})  # pylint: disable=eval-used
    candidate = load(work["path"], work["task"])
    torch.zeros(1, device=device)
    tell("import", work["task"], time.monotonic() - start)
    for step, names in (("check", work["cases"]), ("time", work["timed"])):
        for case in names:
            start = time.monotonic()
            try:
                positional, named = arguments(work["signature"], case, device)
            except Unknown as e:
                tell("left out", case, 0, word=str(e))
                continue
            try:
                with torch.no_grad():
                    if step == "check":
                        right = same(candidate(*copy_of(positional), **named), reference(*copy_of(positional), **named))
                        tell(step, case, time.monotonic() - start, right=right)
                        continue
                    ours = timed(lambda: candidate(*positional, **named), device)
                    theirs = timed(lambda: reference(*positional, **named), device)
                    tell(step, case, time.monotonic() - start, candidate_us=ours, reference_us=theirs)
            except Exception as e:  # pylint: disable=broad-except
                tell(step, case, time.monotonic() - start, right=False, error="%s: %s" % (type(e).__name__, str(e)[:200]))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as work_file:
        harness(json.load(work_file))
