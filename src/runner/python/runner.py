"""The Python loader: calls one candidate (or PyTorch itself) for libkgate-runner's loop.

The library calls back through kg_loader (src/runner/runner.h). No exception crosses into C: each
becomes one line for the candidate's author. Everything here runs on the thread that serves the
socket, on torch's current stream, which is the legacy default stream that the runner times.
"""
import ctypes as C

import torch

import kgate_abi as abi
import kgate_baseline
import kgate_entry
import kgate_errors
import kgate_launches
import kgate_observe
import kgate_results
import kgate_tensors
import kgate_values

interpreter_fault = None  # why Triton's interpreter may not be asked a bfloat16 case; the zygote knows
EXACT_TYPES = (torch.Tensor, torch.nn.Parameter)


class CannotRun(Exception):
    """This machine lacks something; the text says what to do."""


def dtype_of(name):
    return getattr(torch, name)


def cuda_ordinal(kind):
    """The GPU whose context the runner made current, or None on the CPU."""
    if kind != "cuda":
        return None
    if not torch.cuda.is_available():
        raise CannotRun("torch %s sees no GPU: install a CUDA build of torch for this Python"
                        % torch.__version__)
    torch.cuda.init()
    return torch.cuda.current_device()


def refuse_on_cpu(kind, language, interpret):
    if kind == "cpu" and language == "tilelang":
        raise CannotRun("TileLang kernels run on a GPU, and there is none here")
    if kind == "cpu" and language == "triton" and not interpret:
        raise CannotRun("Triton kernels run on a GPU; on the CPU only Triton's interpreter can "
                        "check them")


class FunctionCall:
    """One slot of a function task."""

    def __init__(self, function, case, tensor_of):
        self.function = function
        self.out = None  # the tensor given as out=

        def remember(k, arg):
            tensor = tensor_of(k, arg)
            if arg.role == "out_arg":
                self.out = tensor
            return tensor

        self.args, self.kwargs = kgate_values.call_arguments(case, remember, dtype_of)

    def __call__(self):
        return self.function(*self.args, **self.kwargs)


class OptimizerCall:
    """One slot of an optimizer task: an optimizer of its own over the slot's parameters."""

    def __init__(self, make, case, tensor_of):
        self.pairs = [(torch.nn.Parameter(tensor_of(p, case.args[p])), tensor_of(g, case.args[g]))
                      for p, g in kgate_values.optimizer_tensors(case)]
        for parameter, gradient in self.pairs:
            parameter.grad = gradient
        self.optimizer = make([parameter for parameter, _ in self.pairs],
                              **kgate_values.optimizer_arguments(case, dtype_of))

    def __call__(self):
        for parameter, gradient in self.pairs:
            parameter.grad = gradient
        self.optimizer.step()


class Session:
    """A loaded callable and its case; results[slot] is what calls[slot]() gave last."""

    def __init__(self, name, path, fresh, ordinal):
        self.name, self.path, self.fresh, self.ordinal = name, path, fresh, ordinal
        self.device = "cpu" if ordinal is None else "cuda:%d" % ordinal
        self.case, self.calls, self.outs, self.results = None, [], [], []
        self.interpreted = False

    def tensor(self, spec, slot):
        address = spec.address + slot * spec.slot_stride if spec.address else 0
        return kgate_tensors.wrap(spec, address, self.ordinal)

    def prepare(self, case):
        if self.interpreted and interpreter_fault and case.holds("bfloat16"):
            raise CannotRun(interpreter_fault)
        self.calls, self.outs, self.results = [], [], [None] * case.slots
        self.case = case
        if self.ordinal is not None:
            torch.cuda.empty_cache()  # what earlier cases took goes back to the device
        optimizer = kgate_values.is_optimizer(case)
        entry = self.fresh()
        if not optimizer:
            entry = kgate_entry.as_function(entry)
        torch.set_grad_enabled(False)
        for slot in range(case.slots):
            def tensor_of(_, arg, slot=slot):
                return self.tensor(arg.tensor, slot)
            make = OptimizerCall if optimizer else FunctionCall
            self.calls.append(make(entry, case, tensor_of))
            self.outs.append([self.tensor(out, slot) for out in case.outs])

    def collect(self, slot):
        """Copies what the callable allocated to where the judge looks, without waiting for it."""
        result, self.results[slot] = self.results[slot], None
        wanted = self.outs[slot]
        if not wanted:
            return
        if result is None:
            result = getattr(self.calls[slot], "out", None)
        values = kgate_results.as_outputs(result, len(wanted))
        for k, (value, out, spec) in enumerate(zip(values, wanted, self.case.outs)):
            name = kgate_results.output_name(k, len(wanted))
            kgate_results.check_output(value, spec, self.device, EXACT_TYPES, name)
            # inplace=True: the judge looks at the argument, which a copy would put right.
            in_place = k == 0 and self.case.alias_first_out
            if not in_place and not spec.empty():
                out.copy_(value)


def open_candidate(request, ordinal):
    path = abi.text(request.path)
    module = kgate_entry.load_module(path)
    name, value = kgate_entry.find(module, abi.text(request.task, ""), abi.text(request.function),
                                   abi.text(request.entry))
    return Session(name, path, lambda: value, ordinal)


def open_baseline(request, ordinal):
    path = abi.text(request.path)
    baseline = kgate_baseline.Baseline(path, abi.text(request.entry, ""))
    return Session(baseline.name, path, baseline.fresh, ordinal)


class Loaders:
    """The kg_loader structs of one process, and what their callbacks need."""

    def __init__(self, lib, interpret):
        self.lib, self.interpret = lib, interpret
        self.sessions, self.serial = {}, 0
        shared = (abi.Prepare(self.prepare), abi.OnSlot(self.call), abi.OnSlot(self.collect),
                  abi.Unload(self.unload), abi.Observe(self.observe))
        candidate, baseline = abi.Load(self.load_candidate), abi.Load(self.load_baseline)
        self.structs = [abi.Loader(b"python", candidate, *shared),
                        abi.Loader(b"triton", candidate, *shared),
                        abi.Loader(b"tilelang", candidate, *shared),
                        abi.Loader(b"torch", baseline, *shared)]
        pointers = [C.pointer(s) for s in self.structs]
        self.array = (C.POINTER(abi.Loader) * (len(pointers) + 1))(*pointers)

    def failed(self, error, path, e):
        """Sets *error to one line; -1. SystemExit and the like are errors too."""
        ours = isinstance(e, (kgate_results.WrongResult, kgate_entry.NoEntry, CannotRun))
        try:
            line = kgate_errors.clip(str(e)) if ours else kgate_errors.one_line(e, path)
        except BaseException:  # pylint: disable=broad-except
            line = "%s, whose text cannot be read" % type(e).__name__  # its __str__ fails too
        code = (abi.CANNOT if isinstance(e, CannotRun) else
                abi.RESULT if isinstance(e, kgate_results.WrongResult) else abi.CANDIDATE)
        return self.lib.kg_fail(error, code, b"%s", line.encode("utf-8", "replace"))

    def load(self, opener, request, self_out, entry_out, error):
        r = request.contents
        try:
            kind = abi.text(r.rt.contents.ops.contents.kind, "cpu") if r.rt else "cpu"
            refuse_on_cpu(kind, abi.text(r.language), self.interpret)
            session = opener(r, cuda_ordinal(kind))
            session.interpreted = self.interpret and abi.text(r.language) == "triton"
            self.serial += 1
            self.sessions[self.serial] = session
            self_out[0] = self.serial
            entry_out[0] = self.lib.kg_strdup(session.name.encode("utf-8", "replace"))
            return 0
        except BaseException as e:  # pylint: disable=broad-except
            return self.failed(error, abi.text(r.path, ""), e)

    def load_candidate(self, request, self_out, entry_out, error):
        return self.load(open_candidate, request, self_out, entry_out, error)

    def load_baseline(self, request, self_out, entry_out, error):
        return self.load(open_baseline, request, self_out, entry_out, error)

    def prepare(self, handle, case, error):
        session = self.sessions[handle]
        try:
            session.prepare(abi.CaseSpec.read(case.contents))
            return 0
        except BaseException as e:  # pylint: disable=broad-except
            return self.failed(error, session.path, e)

    def call(self, handle, slot, error):
        session = self.sessions[handle]
        try:
            session.results[slot] = session.calls[slot]()
            return 0
        except BaseException as e:  # pylint: disable=broad-except
            return self.failed(error, session.path, e)

    def observe(self, handle, slot, folder, error):
        session = self.sessions[handle]
        try:
            kgate_observe.observe(session.calls[slot], abi.text(folder))
            kgate_launches.write(session.calls[slot], abi.text(folder), session.path)
            return 0
        except BaseException as e:  # pylint: disable=broad-except
            return self.failed(error, session.path, e)

    def collect(self, handle, slot, error):
        session = self.sessions[handle]
        try:
            session.collect(slot)
            return 0
        except BaseException as e:  # pylint: disable=broad-except
            return self.failed(error, session.path, e)

    def unload(self, handle):
        self.sessions.pop(handle, None)


def serve(lib_path, socket_fd, interpret=False):
    """Serves one judge until it says bye; the process's exit status."""
    lib = abi.open_library(lib_path)
    loaders = Loaders(lib, interpret)
    return lib.kg_runner_serve(socket_fd, loaders.array)
