"""Which Triton or TileLang kernels of a call the device's time goes to.

Calls more, outside of every clock: one whole between two events, and one with an event on either side
of every launch. Both wait behind a hold until the host has put all of it into the queue, so that events
see the device and not the host; only a call that waits for the device itself is taken without. The judge
takes the times for hints only.
"""
import ast
import contextlib
import inspect
import json
import os
import sys
import time

from kgate_observe import places, replaced

HOLD_LEAST_S, HOLD_MOST_S = 1e-3, 0.2
CLOCK_HZ = 2e9  # faster than any: a hold may be longer than asked for, not much shorter
MOST_LAUNCHES = 4096
LONG_CALL_S = 0.5  # longer ones are not repeated for this


def device():
    """torch.cuda where this process uses it and it can hold its queue; None."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() and hasattr(cuda, "_sleep") else None


def event(cuda):
    e = cuda.Event(enable_timing=True)
    e.record()
    return e


def held(cuda, seconds, call):
    """The call behind a hold of some `seconds`; the events before and after it, done."""
    while True:
        cuda.synchronize()
        cuda._sleep(int(seconds * CLOCK_HZ))  # pylint: disable=protected-access
        begin = event(cuda)
        call()
        end = event(cuda)
        late = begin.query()  # the hold was over before the host was
        cuda.synchronize()
        if not late or seconds >= HOLD_MOST_S:
            return begin, end
        seconds = min(8 * seconds, HOLD_MOST_S)


def lines_of(function, path):
    """(first, last) line of a Triton function that this file holds; None."""
    plain = getattr(function, "fn", None)
    try:
        if os.path.realpath(plain.__code__.co_filename) != os.path.realpath(path):
            return None
        source, first = inspect.getsourcelines(plain)
    except (AttributeError, OSError, TypeError, ValueError):
        return None
    return first, first + len(source) - 1


def of_triton(function, path):
    """The lines of a Triton function and, of this file, of those that it calls, which are compiled into it."""
    todo, done, lines = [function], [], []
    while todo:
        f = todo.pop()
        own = lines_of(f, path)
        if own is None or any(f is d for d in done):
            continue
        done.append(f)
        lines.append(own)
        known = getattr(f.fn, "__globals__", {})
        todo += [known[name] for name in f.fn.__code__.co_names if hasattr(known.get(name), "fn")]
    return tuple(lines)


def of_tilelang(kernel, path):
    """The lines of the functions of this file that have the kernel's name."""
    name = str(kernel.prim_func.attrs["global_symbol"])
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    lines = tuple((node.lineno, node.end_lineno) for node in ast.walk(tree)
                  if isinstance(node, ast.FunctionDef) and node.name == name)
    if not lines:
        raise LookupError(name)  # made in another way: then what is this file's kernel is not known
    return lines


def times(cuda, call, path, seconds):
    """What launches.json holds, of a call that keeps the host for `seconds`; None: it launches nothing of these."""
    launchers = list(places())
    if not launchers:
        return None
    seconds = min(max(3 * seconds, HOLD_LEAST_S), HOLD_MOST_S)
    begin, end = held(cuda, seconds, call)
    total, seen, kernels = 1e3 * begin.elapsed_time(end), [], {}

    def again():
        seen.clear()
        call()

    def timed(original, kernel, *args, **kwargs):
        if len(seen) == MOST_LAUNCHES:
            return original(kernel, *args, **kwargs)
        begin = event(cuda)
        result = original(kernel, *args, **kwargs)
        seen.append((kernel, begin, event(cuda)))
        return result

    with contextlib.ExitStack() as stack:
        for owner, name in launchers:
            stack.enter_context(replaced(owner, name, timed))
        held(cuda, 2 * seconds, again)
    known = {}
    for kernel, begin, end in seen:
        if id(kernel) not in known:
            known[id(kernel)] = of_tilelang(kernel, path) if hasattr(kernel, "prim_func") else of_triton(kernel, path)
        lines = known[id(kernel)]
        if lines:
            kernels[lines] = kernels.get(lines, 0) + 1e3 * begin.elapsed_time(end)
    return {"total_us": total, "kernels": [{"lines": lines, "us": us} for lines, us in sorted(kernels.items())]}


def write(call, folder, path):
    """Leaves launches.json in the folder; a call that cannot be timed so leaves none."""
    cuda = device()
    if cuda is None:
        return
    try:
        cuda.synchronize()
        start = time.perf_counter()
        call()
        host_s = time.perf_counter() - start
        cuda.synchronize()
        if time.perf_counter() - start > LONG_CALL_S:
            return
        found = times(cuda, call, path, host_s)
    except Exception:  # pylint: disable=broad-except
        return
    if found:
        with open(os.path.join(folder, "launches.json"), "w", encoding="ascii") as f:
            json.dump(found, f)
