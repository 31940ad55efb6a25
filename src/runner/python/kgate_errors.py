"""Exceptions as one line: what, and where in the candidate's own file."""
import os
import traceback

LIMIT = 400  # characters: a line that still fits a table's footnote


def first_sentence(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    if lines[0].endswith(":") and len(lines) > 1:
        return lines[0] + " " + lines[1]
    return lines[0]


def clip(text):
    text = " ".join(text.split())
    return text if len(text) <= LIMIT else text[:LIMIT - 3] + "..."


def line_in_file(error, path):
    """The last line of the file at `path` that the error passed through; None when none did."""
    if isinstance(error, SyntaxError):
        return error.lineno if error.filename == path else None
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return lines[-1] if lines else None


def line_of_text(path, text, offset):
    """Line `offset` (from 1) of a piece of the file; None when the file does not hold it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            source = f.read()
    except OSError:
        return None
    start = source.find(text.strip())
    return None if start < 0 else source.count("\n", 0, start) + offset


def kernel_error(error, path):
    """(message, line) of a Triton compilation error, whose text ends with the reason and whose
    line counts from the kernel's `def`; None for other errors."""
    source, node = getattr(error, "src", None), getattr(error, "node", None)
    if not isinstance(source, str) or not hasattr(node, "lineno"):
        return None
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else "does not compile"), line_of_text(path, source, node.lineno)


def compiler_error(error, path):
    """(message, line) of nvcc's refusal of what TileLang wrote: the exception's text is the whole
    CUDA source, and after it what nvcc said. The line is the candidate's, where it compiles."""
    _, marker, said = str(error).partition("\nCompilation error:\n")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not marker or not lines:
        return None
    wrong = [line for line in lines if "error" in line.lower()]
    return "the CUDA code does not compile: " + (wrong or lines)[0], line_in_file(error, path)


def advice(error):
    if isinstance(error, ModuleNotFoundError):
        return ": install it for this Python, or do without it"
    return ""


def one_line(error, path):
    """For example: ValueError: bad dim 7 (line 12 of softmax.py)."""
    found = (kernel_error(error, path) or kernel_error(error.__cause__, path)
             or compiler_error(error, path))
    message, line = found or (first_sentence(str(error)), line_in_file(error, path))
    if isinstance(error, SyntaxError):
        message = error.msg
    text = type(error).__name__ + (": " + message if message else "") + advice(error)
    return clip(text) + (" (line %d of %s)" % (line, os.path.basename(path)) if line else "")
