"""Just enough of C's grammar to change a kernel in one place: tokens, brackets, loops, the entry's parameters."""
import re

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*) | (?P<directive>^\#[^\n]*) | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*) | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>->|\+\+|--|<<=|>>=|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|<<|>>|[^\s\w])""", re.X | re.S | re.M)
OPEN, CLOSE = "([{", ")]}"


class Token:
    def __init__(self, kind, text, start):
        self.kind, self.text, self.start, self.end = kind, text, start, start + len(text)

    def __repr__(self):
        return self.text


class Source:
    """A kernel's text, its tokens without comments and directives, and where brackets meet."""

    def __init__(self, text, task="", folder=""):
        self.text, self.task, self.folder = text, task, folder
        self.tokens = [Token(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(text)
                       if m.lastgroup not in ("comment", "directive")]
        self.partner = {}
        stack = []
        for i, t in enumerate(self.tokens):
            if t.kind == "sign" and t.text in OPEN:
                stack.append(i)
            elif t.kind == "sign" and t.text in CLOSE and stack:
                j = stack.pop()
                self.partner[i], self.partner[j] = j, i

    def line(self, i):
        return self.text.count("\n", 0, self.tokens[i].start) + 1

    def span(self, first, last):
        """Text of tokens first to last, both included."""
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def around(self, i):
        """The operator i with its operands, as far as they are simple."""
        first, last = self.operand_before(i), self.operand_after(i)
        return self.span(i if first is None else first, i if last is None else last)

    def replaced(self, first, last, new):
        return self.text[:self.tokens[first].start] + new + self.text[self.tokens[last].end:]

    def find(self, *texts):
        """First token of each place where these tokens follow each other."""
        n = len(texts)
        for i in range(len(self.tokens) - n + 1):
            if all(self.tokens[i + k].text == texts[k] for k in range(n)):
                yield i

    def operand_before(self, i):
        """First token of the operand that ends before token i, or None."""
        j = i - 1
        if j < 0:
            return None
        t = self.tokens[j]
        if t.text in (")", "]"):
            j = self.partner.get(j)
            while j is not None and j > 0 and (self.tokens[j - 1].text in (")", "]") or self.tokens[j - 1].kind == "name"
                                               and self.tokens[j - 1].text not in ("return", "sizeof")):
                k = j - 1
                if self.tokens[k].kind == "name":
                    j = k
                    break
                j = self.partner[k]
        elif t.kind not in ("name", "number") or t.text == "return":
            return None
        while j is not None and j >= 2 and self.tokens[j - 1].text in (".", "->"):
            j = self.operand_before(j - 1)
        return j

    def operand_after(self, i):
        """Last token of the operand that begins behind token i, or None."""
        j = i + 1
        if j >= len(self.tokens):
            return None
        t = self.tokens[j]
        if t.text == "(":
            j = self.partner.get(j)
        elif t.kind not in ("name", "number"):
            return None
        while j is not None and j + 1 < len(self.tokens):
            n = self.tokens[j + 1].text
            if n in ("(", "["):
                j = self.partner.get(j + 1)
            elif n in (".", "->"):
                j += 2
            else:
                break
        return j

    def until(self, i, stops):
        """First token from i on that is one of `stops`, outside brackets, or closes a bracket opened before i."""
        while i < len(self.tokens) - 1 and self.tokens[i].text not in stops and self.tokens[i].text not in CLOSE:
            i = self.partner.get(i, i) + 1 if self.tokens[i].text in OPEN else i + 1
        return i

    def whole(self, first, last):
        """The operand is a whole number, as far as its last name tells."""
        if first is None or last is None:
            return False
        text = self.span(first, last)
        name = re.sub(r"[\[(].*", "", text, flags=re.S)
        return bool(re.match(r"kg_(dim|elements|stride)$|\d+$", name)
                    or re.search(r"\b(int64_t|int)\b(?![^;{}]*\bdouble\b)[^;{}]*\b%s\b" % re.escape(name or "?"), self.text))

    def functions(self):
        """(the `{`, the `}`) of each function."""
        i = 0
        while i < len(self.tokens):
            if self.tokens[i].text == "{":
                if self.tokens[i - 1].text == ")":
                    yield i, self.partner[i]
                i = self.partner[i]
            i += 1

    def declared(self, kind, first, last):
        """Names of the variables that tokens first to last declare as `kind`."""
        names = set()
        for i in self.find(kind):
            j = i + 1
            while first < j < last and self.tokens[j].kind == "name":
                names.add(self.tokens[j].text)
                j = self.until(j, (",", ";"))
                j += self.tokens[j].text == ","
        return names

    def term(self, k, signs):
        """(first token, last one) of what is computed up to the operand behind the sign k by signs that bind as it does,
        and stronger; or None."""
        first, last = self.operand_before(k), self.operand_after(k)
        while first and last and self.tokens[first - 1].text in signs and self.operand_before(first - 1) is not None:
            first = self.operand_before(first - 1)
        while last and self.tokens[k].text in "+-" and self.tokens[last + 1].text in ("*", "/", "%"):
            last = self.operand_after(last + 1)
        return (first, last) if first is not None and last is not None else None

    def with_terms_cut(self, kind):
        """The text with every product, sum and difference of variables of this type, and of numbers, converted to it: in
        C it is an int."""
        before, behind = {}, {}
        for brace, end in self.functions():
            names = self.declared(kind, brace, end)
            for k in range(brace + 2, end):
                sign = self.tokens[k].text
                p = self.term(k, "*/%" if sign == "*" else "*/%+-") if sign in ("*", "+", "-") else None
                if not p or not all(t.text in names for t in self.tokens[p[0]:p[1] + 1] if t.kind == "name"):
                    continue
                first, last = self.tokens[p[0]].start, self.tokens[p[1]].end
                before[first] = before.get(first, "") + "(%s)(" % kind
                behind[last] = behind.get(last, "") + ")"
        text = self.text
        for at in sorted({*before, *behind}, reverse=True):
            text = text[:at] + behind.get(at, "") + before.get(at, "") + text[at:]
        return text

    def loops(self):
        """Loops as (for token, first token behind `(`, the two semicolons, `)`, first and last of the body, depth)."""
        for i, t in enumerate(self.tokens):
            if t.text != "for" or self.tokens[i + 1].text != "(":
                continue
            close = self.partner[i + 1]
            semicolons = []
            j = i + 2
            while j < close:
                if self.tokens[j].text in OPEN:
                    j = self.partner[j]
                elif self.tokens[j].text == ";":
                    semicolons.append(j)
                j += 1
            if len(semicolons) == 2:
                yield Loop(self, i, semicolons, close)

    def statement_end(self, i):
        """Last token of the statement that begins with token i."""
        text = self.tokens[i].text
        if text == "{":
            return self.partner[i]
        if text in ("for", "while", "if", "switch"):
            end = self.statement_end(self.partner[i + 1] + 1)
            return self.statement_end(end + 2) if self.tokens[end + 1:] and self.tokens[end + 1].text == "else" else end
        if text == "do":
            i = self.statement_end(i + 1) + 1
        while self.tokens[i].text != ";":
            i = self.partner[i] if self.tokens[i].text in OPEN else i
            i += 1
        return i

    def entry(self):
        """The function the judge calls: the last one that is not static, as (name token, `(`, `)`, `{`)."""
        found = None
        for i in self.find("int"):
            if self.tokens[i + 1].kind != "name" or self.tokens[i + 2].text != "(" or self.depth(i) != 0:
                continue
            if i and self.tokens[i - 1].text in ("static", "inline"):
                continue
            close = self.partner[i + 2]
            if self.tokens[close + 1].text == "{":
                found = (i + 1, i + 2, close, close + 1)
        return found

    def depth(self, i):
        return sum(t.text == "{" for t in self.tokens[:i]) - sum(t.text == "}" for t in self.tokens[:i])

    def parameters(self):
        """The entry's parameters as (declaration, name)."""
        _, first, last, _ = self.entry()
        parts, start = [], first + 1
        for i in range(first + 1, last + 1):
            if i == last or self.tokens[i].text == ",":
                if i > start:
                    parts.append((self.span(start, i - 1), self.tokens[i - 1].text))
                start = i + 1
        return parts


class Loop:
    def __init__(self, source, i, semicolons, close):
        self.source, self.i, self.close = source, i, close
        self.init = (i + 2, semicolons[0] - 1)
        self.condition = (semicolons[0] + 1, semicolons[1] - 1)
        self.body = (close + 1, source.statement_end(close + 1))

    def bound(self):
        """(operator, first, last) of `i < bound`, or None."""
        s = self.source
        for k in range(self.condition[0], self.condition[1]):
            if s.tokens[k].text in ("<", "<="):
                last = k + 1
                while last < self.condition[1] and s.tokens[last + 1].text != "&&":
                    last = s.partner[last] if s.tokens[last].text in OPEN else last
                    if last < self.condition[1] and s.tokens[last + 1].text != "&&":
                        last += 1
                return k, k + 1, last
        return None

    def counts(self):
        """`for (one = ...; one < bound; one++)`: what OpenMP takes."""
        s = self.source
        b = self.bound()
        steps = s.tokens[self.condition[1] + 2:self.close]
        return bool(b) and b[0] == self.condition[0] + 1 and b[2] == self.condition[1] and not any(t.text == "," for t in steps) \
            and not re.search(r",", s.span(*self.init))

    def accumulates(self):
        return [k for k in range(*self.body) if self.source.tokens[k].text in ("+=", "-=", "*=")]

    def encloses(self, other):
        return self.body[0] <= other.i <= self.body[1]
