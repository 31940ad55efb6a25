"""Mistakes that machines and people make in kernels, one function each: a Source to (what, line, changed text)."""
import re

OPERATORS = []


def mistake(category):
    def register(f):
        OPERATORS.append((category, f))
        return f
    return register


def lines(text, at):
    return text.count("\n", 0, at) + 1


def patterns(s, *pairs):
    """Every match of each pattern replaced alone; not in comments."""
    for pattern, new in pairs:
        for m in re.finditer(pattern, s.text):
            before = s.text[:m.start()]
            if before.rfind("/*") > before.rfind("*/") or "//" in before[before.rfind("\n") + 1:]:
                continue
            changed = m.expand(new)
            if changed != m.group():
                yield "%s -> %s" % (m.group().strip(), changed.strip()), lines(s.text, m.start()), \
                    s.text[:m.start()] + changed + s.text[m.end():]


def with_head(s, head, text=None):
    """Text with lines behind the last #include."""
    text = text or s.text
    at = max((m.end() for m in re.finditer(r"^#include[^\n]*\n", text, re.M)), default=0)
    return text[:at] + head + text[at:]


def wrapped(s, body):
    """The entry renamed, and another in its place that may call it as honest(...)."""
    name, first, last, brace = s.entry()
    entry = s.tokens[name].text
    parameters = s.span(first, last)
    renamed = s.text[:s.tokens[name].start] + "honest" + s.text[s.tokens[name].end:]
    at = renamed.rfind("\nint honest(")
    renamed = renamed[:at] + "\nstatic int honest(" + renamed[at + len("\nint honest("):]
    call = "honest(%s)" % ", ".join(n for _, n in s.parameters())
    return renamed + "\nint %s%s {\n%s\n}\n" % (entry, parameters, body.replace("CALL", call))


def outputs(s):
    """Names of tensors that the entry writes. Indices are left out: a call that is not asked for them has no such argument."""
    return [n for d, n in s.parameters() if d.startswith("DLTensor *") and n != "indices"]


def if_asked_for(s, output):
    """Of several outputs, one that is not wanted is NULL, or has no data."""
    return "if (%s && %s->data) " % (output, output) if len(outputs(s)) > 1 else ""


def changed_outputs(s, what, value):
    """The honest kernel, and then every number v of its floating and complex outputs replaced by `value`: whichever way
    the kernel stores. `what`: C to stand before."""
    return with_head(s, "#include <math.h>\n" + what + """
static inline double other_value(double v) { return %s; }
static void other_values(DLTensor *t) {
    if (t->dtype.code != kDLFloat && t->dtype.code != kDLBfloat && t->dtype.code != kDLComplex) return;
    for (int64_t i = 0; i < kg_elements(t); i++) {
        const int64_t at = kg_element(t, i);
        double re, im;
        kg_get_complex_at(t, at, &re, &im);
        if (t->dtype.code == kDLComplex) kg_put_complex_at(t, at, other_value(re), other_value(im));
        else kg_put_at(t, at, other_value(re));
    }
}
""" % value, wrapped(s, "    const int rc = CALL;\n" + "".join("    %sother_values(%s);\n" % (if_asked_for(s, o), o) for o in outputs(s)) + "    return rc;"))


# Loops over dimensions, over a pair of ints, over a filter's window or taps, over matrices of a batch are too short for it.
WINDOW = re.compile(r"kg_dim\((weight|w|conv_weight), -?[1-3]\)|kernel_size")
BATCH = re.compile(r"^(matrices|count)$")
SHORT = re.compile(r"ndim|(->|\.)n\b|pairs|^\d+$|rank|nearest|\.to\b|^(sweeps?|steps)$|%s|%s" % (WINDOW.pattern, BATCH.pattern))

# ---- loops ------------------------------------------------------------------------------------------
@mistake("off-by-one bound")
def one_more_or_less(s):
    for loop in s.loops():
        b = loop.bound()
        if not b:
            continue
        operator, first, last = b
        text = s.span(first, last)
        other = "<=" if s.tokens[operator].text == "<" else "<"
        yield "bound %s: %s" % (text, other), s.line(first), s.replaced(operator, operator, other)
        yield "bound %s - 1" % text, s.line(first), s.replaced(first, last, "(%s) - 1" % text)
        init = s.span(*loop.init)
        if re.search(r"= 0$", init):
            yield "begins at 1", s.line(first), s.replaced(loop.init[1], loop.init[1], "1")


@mistake("missing tail")
def whole_vectors_only(s):
    loops = list(s.loops())
    for loop in loops:
        b = loop.bound()
        if b and not SHORT.search(s.span(b[1], b[2])) and not any(o.encloses(loop) for o in loops):
            text = s.span(b[1], b[2])
            yield "bound rounded down to 4", s.line(b[1]), s.replaced(b[1], b[2], "(%s) / 4 * 4" % text)
            yield "bound rounded down to 32", s.line(b[1]), s.replaced(b[1], b[2], "(%s) / 32 * 32" % text)


# Factorisations: their matrices are small.
FACTORS = re.compile(r"solve|svd|eig|det(erminant)?_|^det$|^lu$|(^|_)qr(_|$)|cholesky|ldl|invert|inverse")


def most_of(s, bound):
    """Where a loop may end early: a table of 8, a block of 128 or 1,024 threads, a grid of four such blocks, a warp."""
    if WINDOW.search(bound):
        return 8,
    if BATCH.search(bound) or not SHORT.search(bound):
        return (8, 32) if FACTORS.search(s.task) and not BATCH.search(bound) else \
            (128, 4096) if re.search(r"kg_elements|lines|rows", bound) else (8, 128, 1024)
    return ()


@mistake("truncated loop")
def stops_early(s):
    """What a block of threads leaves out of a line or a batch, a grid out of a whole tensor, and a table out of a window."""
    for loop in s.loops():
        b = loop.bound()
        if not b:
            continue
        text = s.span(b[1], b[2])
        most = most_of(s, text)
        if most:
            yield "seven eighths of it", s.line(b[1]), s.replaced(b[1], b[2], "(%s) - (%s) / 8" % (text, text))
        for n in most:
            yield "%s at most %d" % (text, n), s.line(b[1]), s.replaced(b[1], b[2], "((%s) < %d ? (%s) : %d)" % (text, n, text, n))


# ---- shapes and strides -------------------------------------------------------------------------------
@mistake("wrong axis or stride")
def another_dimension(s):
    yield from patterns(s, (r"(kg_dim|kg_stride)\((\w+), 0\)", r"\1(\2, -1)"), (r"(kg_dim|kg_stride)\((\w+), -1\)", r"\1(\2, 0)"),
                        (r"(kg_dim|kg_stride)\((\w+), 1\)", r"\1(\2, 0)"), (r"(kg_dim|kg_stride)\((\w+), -2\)", r"\1(\2, -1)"),
                        (r"kg_stride\([^()]+\)", "1"), (r"(kg_dim|kg_stride)\((\w+), \*?dim\)", r"\1(\2, -1)"),
                        (r"shape\[d\]", "shape[0]"))
    for k, t in enumerate(s.tokens):
        if t.text in ("/", "%") and s.depth(k) and (t.text == "%" or s.whole(s.operand_before(k), k - 1) and s.whole(k + 1, s.operand_after(k))):
            other = "%" if t.text == "/" else "/"
            yield "%s for %s" % (other, t.text), s.line(k), s.replaced(k, k, other)


@mistake("strides ignored")
def reads_as_contiguous(s):
    for d, name in s.parameters():
        if d.startswith("const DLTensor *"):
            yield "%s read as contiguous" % name, 1, wrapped(
                s, "    DLTensor flat = %s ? *%s : (DLTensor){0};\n    flat.strides = 0;\n"
                "    if (%s) %s = &flat;\n    return CALL;" % (name, name, name, name))


# Tasks whose outputs are whole numbers or truth values: nothing to round, and no NaN.
WHOLE = re.compile(r"(^|/)(argmax|argmin|bitwise_\w+|signbit\w*|gelu_int8|mul_int8|fused_index_select_eq)$")


# ---- numbers ------------------------------------------------------------------------------------------
@mistake("eps missing or misplaced")
def eps(s):
    e = r"(\*?eps\w*)"
    yield from patterns(s, (r" \+ %s\b" % e, ""), (r"\beps\b(?= *[-+*/)])", "0.0"), (r"fmax\(([^(),]+), \*?eps\w*\)", r"(\1)"),
                        (r"sqrt\(([^;()]+?(?:\([^()]*\))?[^;()]*?) \+ %s\)" % e, r"(sqrt(\1) + \2)"))


@mistake("biased for unbiased")
def degrees_of_freedom(s):
    yield from patterns(s, (r"- \(?(double\))?correction\b", "- 0"), (r"\(double\)\((\w+) - 1\)", r"(double)(\1)"),
                        (r"/ \((n|count) - 1\)", r"/ (\1)"), (r"= (count|n) - 1;(?! \w+ >=?)", r"= \1;"), (r"\bcorrection\b(?=[;)])", "1"))


@mistake("wrong first maximum")
def starts_elsewhere(s):
    yield from patterns(s, (r"= -INFINITY", "= 0"), (r"= INFINITY", "= 0"), (r"= -INFINITY", "= -1e30"), (r"= -INFINITY", "= 2.3e-308"),
                        (r"\b(largest|most|best|least|max|min|m) = kg_get\w*\((?:[^()]|\([^()]*\))*\)", r"\1 = 0"))


@mistake("no maximum subtracted")
def raw_exponent(s):
    largest = r"(largest|most|best|max\w*|m)\b"
    yield from patterns(s, (r"exp\((.+?) - %s(\[\w+\])?\)" % largest, r"exp(\1)"))
    if re.search(r"exp\(.+? - %s" % largest, s.text):
        yield "maximum 0 throughout", 1, re.sub(r"- %s" % largest, "- 0.0", re.sub(r"%s \+ log" % largest, "log", s.text))


@mistake("lower-precision accumulation")
def low_accumulator(s):
    for k in range(len(s.tokens)):
        if s.tokens[k].text != "+=" or s.depth(k) == 0:
            continue
        first = s.operand_before(k)
        end = k
        while s.tokens[end].text != ";" and end < len(s.tokens) - 1:
            end = s.partner[end] if s.tokens[end].text in "([{" and end in s.partner else end
            end += 1
            if s.tokens[end].text == ")":
                break
        if first is None or s.tokens[end].text != ";":
            continue
        target, value = s.span(first, k - 1), s.span(k + 1, end - 1)
        if not re.search(r"kg_get|\*|sum|\.|exp|x|y", value) or re.search(r"stride|shape|step", value):
            continue
        for kind, call in (("half", "(double)(_Float16)(%s)"), ("float", "(double)(float)(%s)")):
            yield "%s kept in %s" % (target, kind), s.line(k), s.replaced(first, end - 1, "%s = %s" % (
                target, call % ("%s + (%s)" % (target, value))))


@mistake("low-precision result")
def result_rounded(s):
    """To fewer bits than the outputs have. bfloat16 and half are one rung of precision."""
    to_bits = """
static inline double to_bits(double v, int bits) {
    union { double d; uint64_t u; } x = {v};
    const uint64_t unit = (uint64_t)1 << (52 - bits);
    if (v - v == 0) x.u = (x.u + unit / 2 - 1 + (x.u / unit & 1)) & ~(unit - 1);
    return x.d;
}
"""
    kinds = (("half", "(double)(_Float16)v"), ("tf32", "to_bits(v, 10)"), ("bfloat16", "to_bits(v, 7)"))
    if re.search(r"_(bf16|fp16|w4a16)\b", s.task):
        kinds = (("fp8", "to_bits(v, 3)"),)
    for kind, value in kinds if not WHOLE.search(s.task) else ():
        yield "results rounded to " + kind, 1, changed_outputs(s, to_bits, value)


@mistake("wrong rounding mode")
def rounding(s):
    yield from patterns(s, (r"\brint\(", "floor("), (r"\brint\(", "trunc("), (r"\bfloor\(", "trunc("), (r"\btrunc\(", "floor("),
                        (r"\bfloor\(", "ceil("), (r"\bround\(", "trunc("), (r"\brint\(", "ceil("))


@mistake("wrong padding")
def padding(s):
    yield from patterns(s, (r"- (of\(padding, \d\)|padding\b)", r"- \1 + 1"), (r"\+ 2 \* padding", "+ padding"), (r"\? (kg_get\w*\([^:;]+) : 0\b", r"? \1 : 1"),
                        (r"\b(\w+) < 0 \|\| ", ""), (r"\|\| \w+ >= (?:[^|()]|\([^()]*\))+", ""))


# ---- arithmetic ---------------------------------------------------------------------------------------
@mistake("swapped operands")
def swapped(s):
    for k, t in enumerate(s.tokens):
        if t.kind != "sign" or t.text not in ("-", "/") or s.depth(k) == 0:
            continue
        first, last = s.operand_before(k), s.operand_after(k)
        if first is None or last is None or s.tokens[first - 1].text == t.text:  # x - a - b is x - b - a
            continue
        a, b = s.span(first, k - 1), s.span(k + 1, last)
        if a != b:
            yield "%s %s %s" % (b, t.text, a), s.line(k), s.replaced(first, last, "%s %s %s" % (b, t.text, a))
    yield from patterns(s, (r"\b(pow|fmod|atan2|kg_get_broadcast)\(([^(),]+), ([^(),]+)\)", r"\1(\3, \2)"))
    for k in (k for k, t in enumerate(s.tokens) if t.text == "?"):
        colon = s.until(k + 1, (":", "?", ";"))
        end = s.until(colon + 1, (";", ",", "?", ":"))
        if s.tokens[colon].text == ":" and s.tokens[end].text not in "?:" and s.span(k + 1, colon - 1) != s.span(colon + 1, end - 1):
            a, b = s.span(k + 1, colon - 1), s.span(colon + 1, end - 1)
            yield "? %s : %s" % (b, a), s.line(k), s.replaced(k + 1, end - 1, "%s : %s" % (b, a))


@mistake("ignored argument")
def ignored(s):
    _, _, _, brace = s.entry()
    at = s.tokens[brace].end
    for d, name in s.parameters():
        if d.startswith("DLTensor"):
            continue
        values = {"double": ("0", "1"), "int64_t": ("0", "1"), "bool": ("false", "true")}.get(d.rsplit(" ", 1)[0])
        tested = re.search(r"!?\b%s \?|\b%s &&|if \(!?%s\)|!%s\b|kg_same\(%s" % ((name,) * 5), s.text[at:])
        if not values and "*" in d and (tested or "char" in d):
            values = ("NULL",)
        for v in values or ():
            yield "%s = %s" % (name, v), 1, s.text[:at] + "\n    %s = %s;" % (name, "0" if v == "NULL" else v) + s.text[at:]


@mistake("one-pass variance")
def one_pass(s):
    square = r"\((\w+(?:\[[^]]+\]|\([^()]*\))?) - (mean\w*(?:\[[^]]+\])?)\) \* \(\1 - \2\)"
    yield from patterns(s, (square, r"((float)\1 * (float)\1 - (float)\2 * (float)\2)"))
    yield from patterns(s, (r"\bconst double d = (.+?) - (\w*mean\w*);\s*(\w+) \+= d \* d;", r"const float d = \1; \3 += d * d - (float)\2 * (float)\2;"))


# ---- values of their own -----------------------------------------------------------------------------
@mistake("NaN swallowed")
def no_nan(s):
    for what, value in (("0", "v != v ? 0 : v"), ("-inf", "v != v ? -INFINITY : v")) if not WHOLE.search(s.task) else ():
        yield "NaN stored as " + what, 1, changed_outputs(s, "", value)
    yield from patterns(s, (r" \|\| (\w+) != \1", ""), (r"!\((\w+) >= (\w+)\)", r"\1 < \2"), (r"!\((\w+) <= (\w+)\)", r"\1 > \2"), (r" && (\w+) == \1", ""),
                        (r"isnan\(([^()]|\([^()]*\))*\)", "false"), (r"(\w+) != \1 \?", r"false ?"))


@mistake("sign of zero")
def plain_zero(s):
    yield "-0 stored as 0", 1, changed_outputs(s, "", "v == 0 ? 0.0 : v")


def plain(text):
    """An operand without spaces, brackets around it, and the .0 of a whole number."""
    text = re.sub(r"\s+", "", text)
    while text.startswith("(") and text.endswith(")") and ")" not in text[1:-1].split("(")[0]:
        text = text[1:-1]
    return re.sub(r"^(-?\d+)\.0$", r"\1", text)


def cut(text, stops):
    """(text up to the first of the signs `stops` outside brackets, or a bracket that closes more than opened; the rest)"""
    depth = 0
    for i, c in enumerate(text):
        if depth == 0 and (c == ")" or any(text.startswith(x, i) for x in stops)):
            return text[:i], text[i:]
        depth += (c in "([") - (c in ")]")
    return text, ""


def tie_is_indifferent(s, k):
    """a < b ? a : b, a > b ? a - b : 0, if (a < b) a = b: where a == b both ways give the same."""
    t = s.tokens[k]
    before = re.sub(r"\s+", "", re.split(r"[;{}]|\breturn\b", s.text[:t.start])[-1])
    after = s.text[t.end:].split(";")[0]
    right, rest = cut(after, ("||", "&&", "?"))
    if "?" in rest:
        yes, other = cut(rest[rest.index("?") + 1:], (":",))
        pair = plain(yes), plain(cut(other[1:], (",",))[0])
    elif re.match(r"[^;]*\)\s*[\w>.*-]+ = ", rest):
        pair = tuple(plain(x) for x in rest[rest.index(")"):].lstrip(") ").split(" = ", 1))
    else:
        return False
    left = {x for x in pair if x != plain(right)} or {plain(right)}
    if plain(right) in pair and len(left) == 1:
        x = left.pop()
        return bool(re.search(r"(^|[^\w.])\(*%s\)*$" % re.escape(x), before))
    return pair[1] == "0" and pair[0].endswith("-" + plain(right)) and before.endswith(pair[0][:-len("-" + plain(right))])


@mistake("ties the other way")
def ties(s):
    conditions = set()
    for loop in s.loops():
        conditions.update(range(loop.condition[0], loop.condition[1] + 1))
    for k, t in enumerate(s.tokens):
        if t.text in ("<", ">", "<=", ">=") and k not in conditions and s.depth(k) and not tie_is_indifferent(s, k):
            other = {"<": "<=", ">": ">=", "<=": "<", ">=": ">"}[t.text]
            yield "%s for %s" % (other, s.around(k)), s.line(k), s.replaced(k, k, other)


# ---- memory -------------------------------------------------------------------------------------------
@mistake("input overwritten")
def writes_input(s):
    for d, name in s.parameters():
        if d.startswith("const DLTensor *"):
            yield name, 1, wrapped(s, "    int rc = CALL;\n    if (%s && kg_elements(%s)) kg_put((DLTensor *)%s, 0, kg_get(%s, 0) + 1);\n    return rc;"
                                   % ((name,) * 4))


@mistake("race")
def race(s):
    for loop in s.loops():
        body = s.span(*loop.body)
        sums = [k for k in loop.accumulates() if s.tokens[k - 1].kind == "name"]
        own = r"\b(?:double|int(?:32|64)_t|float|int)\s[^;{]*?(?<!\w)%s\s*[=,;[]"
        outside = [k for k in sums if not re.search(own % s.tokens[k - 1].text, body)]
        if outside and loop.counts() and "kg_get" in body:
            yield "%s shared by threads" % s.tokens[outside[0] - 1].text, s.line(loop.i), \
                s.text[:s.tokens[loop.i].start] + "\n#pragma omp parallel for num_threads(4) schedule(static, 1)\n" + s.text[s.tokens[loop.i].start:]


def meaning(s, bound, at):
    """A loop's bound, and what it was set to if it is a name: equivalent.txt tells one dimension from a whole tensor."""
    name = re.match(r"\w+$", bound)
    said = re.findall(r"\b%s = ((?:[^;,()]|\((?:[^()]|\([^()]*\))*\))+)[;,]" % bound, s.text[:at]) if name else []
    return bound + (" = " + " ".join(said[-1].split()) if said else "")


@mistake("32-bit index")
def narrow(s):
    for loop in s.loops():
        k = loop.init[0]
        b = loop.bound()
        if s.tokens[k].text == "int64_t" and b and not SHORT.search(s.span(b[1], b[2])):
            yield "counter to " + meaning(s, s.span(b[1], b[2]), s.tokens[k].start), s.line(k), s.replaced(k, k, "int32_t")
    if "int64_t" in s.text:
        yield "every local", 1, re.sub(r"(?<![*(,] )\bint64_t (?=\w+ =)", "int32_t ", s.text)


# ---- cheats and caches --------------------------------------------------------------------------------
def zero_all(s, value="0"):
    return "".join("""    %(if)sfor (int64_t i = 0; i < kg_elements(%(o)s); i++)
        if (%(o)s->dtype.code == kDLComplex) kg_put_complex_at(%(o)s, kg_element(%(o)s, i), %(v)s, 0);
        else kg_put(%(o)s, i, %(v)s);
""" % {"o": o, "v": value, "if": if_asked_for(s, o)} for o in outputs(s))


@mistake("all zeros")
def zeros(s):
    if outputs(s):
        yield "zeros", 1, wrapped(s, "    (void)honest;\n" + zero_all(s) + "    return 0;")
        yield "ones", 1, wrapped(s, "    (void)honest;\n" + zero_all(s, "1") + "    return 0;")


@mistake("another case's answer")
def stale(s):
    out = outputs(s)[-1]
    if any(name == "n" for _, name in s.parameters()):
        return
    yield "the first answer of this size", 1, with_head(s, "#include <stdlib.h>\n#include <string.h>\n", wrapped(s, """    static struct { int64_t n; int bits; char *v; } kept[64];
    static int used;
    const int64_t n = kg_elements(%(o)s), size = %(o)s->dtype.bits / 8;
    char *to = (char *)%(o)s->data + %(o)s->byte_offset;
    for (int k = 0; k < used; k++)
        if (kept[k].n == n && kept[k].bits == %(o)s->dtype.bits) {
            for (int64_t i = 0; i < n; i++) memcpy(to + kg_element(%(o)s, i) * size, kept[k].v + i * size, (size_t)size);
            return 0;
        }
    const int rc = CALL;
    if (used < 64 && (kept[used].v = malloc((size_t)(n * size) + 8))) {
        for (int64_t i = 0; i < n; i++) memcpy(kept[used].v + i * size, to + kg_element(%(o)s, i) * size, (size_t)size);
        kept[used].bits = %(o)s->dtype.bits;
        kept[used++].n = n;
    }
    return rc;""" % {"o": out}))


@mistake("right on some calls only")
def some_calls(s):
    yield "the first call in a process only", 1, wrapped(s, "    static int calls;\n    if (calls++ == 0) return CALL;\n" + zero_all(s) + "    return 0;")
    yield "all calls but the first", 1, wrapped(s, "    static int calls;\n    if (calls++ > 0) return CALL;\n" + zero_all(s) + "    return 0;")
    yield "every other call", 1, wrapped(s, "    static int calls;\n    if (calls++ % 2 == 0) return CALL;\n" + zero_all(s) + "    return 0;")
