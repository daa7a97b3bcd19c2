#!/usr/bin/python3
"""Operator mutants of C sources in the style of this repository: every place in a function's body
where one operator, number, condition, statement or result may be another one.

    compare    < is <= or >=, == is != ...      logic      && is ||, || is &&
    arithmetic + is -, += is -=, ++ is -- ...   constant   n is n + 1 or n - 1
    condition  if (x) is if (!(x)), while too   statement  a call or an assignment is left out
    result     return x is return 0 ...

Left alone are assertions and log lines, whose text or absence no test looks at; calls that take and give
back a lock, free or close, whose absence the sanitizers find; preprocessor lines, tables outside of
functions, and declarations.

Usage: operators.py [--self-test | FILE...]: how many of each there are."""
import collections
import dataclasses
import hashlib
import pathlib
import re
import sys

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>\d[\w.]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
""", re.X | re.S | re.M)
# A function's body ends with a brace in the first column.
FUNCTION = re.compile(r"^\w[^\n;]*?\b(\w+)\([^;{}]*?\)\n\{\n(.*?)^\}$", re.M | re.S)
COMPARE = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
           "==": ("!=",), "!=": ("==",)}
LOGIC = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++"}
TYPES = {"const", "static", "struct", "enum", "union", "unsigned", "signed", "int", "char", "long",
         "short", "void", "bool", "double", "float", "size_t", "ssize_t", "_Static_assert"}
HEADS = {"if", "while", "for", "switch"}
JUMPS = {"return", "break", "continue", "goto", "case", "default", "else", "do"}
# Calls that stay where they are: what the sanitizers find in the same tests.
KEPT = re.compile(r"\w+_(un)?lock|free|close|fclose|\w+_(free|unref|decref|mutex_init|mutex_destroy)"
                  r"|pthread_mutexattr_\w+")
SILENT = re.compile(r"assert\w*|log_\w+|sd_\w+|vlog\w*")


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    function: str
    operator: str
    start: int
    end: int
    text: str  # instead of what stands there
    old: str  # the lines, white space folded
    new: str
    count: int  # of those with the same lines before it in the function

    @property
    def key(self):
        """What it is known by: the same when code around it changes."""
        return self.file, self.function, self.old, self.new

    def order(self, seed):
        """Its place in the order that a seed gives."""
        words = (str(seed), *self.key, str(self.count))
        return hashlib.sha256("\0".join(words).encode()).digest()

    def apply(self, source):
        return source[: self.start] + self.text + source[self.end:]


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokens(source, start, end):
    found = []
    for m in TOKEN.finditer(source, start, end):
        if m.lastgroup != "skip":
            found.append(Token(m.lastgroup, m.group(), m.start(), m.end()))
    return found


def closing(ts, i):
    """The index of the bracket that closes the one at i."""
    pairs, depth = {"(": ")", "[": "]", "{": "}"}, 0
    for j in range(i, len(ts)):
        if ts[j].text == ts[i].text:
            depth += 1
        elif ts[j].text == pairs[ts[i].text]:
            depth -= 1
            if depth == 0:
                return j
    raise ValueError("an unclosed bracket")


def ends_value(ts, i):
    """Whether a value ends with this token, so that an operator behind it has two sides."""
    t = ts[i]
    if t.text == ")":
        j = i
        depth = 0
        while j >= 0:  # a cast is no value
            depth += (ts[j].text == ")") - (ts[j].text == "(")
            if depth == 0:
                break
            j -= 1
        inside = [x.text for x in ts[j + 1: i]]
        return not (inside and all(x in TYPES or x == "*" or x.endswith("_t") for x in inside))
    return t.kind in ("number", "text") or t.text == "]" or (
        t.kind == "name" and t.text not in JUMPS and t.text != "sizeof")


def is_declaration(ts):
    """Of a statement's tokens."""
    if ts[0].text in TYPES or ts[0].text.endswith("_t"):
        return True
    return ts[0].kind == "name" and len(ts) > 2 and (
        ts[1].kind == "name" or (ts[1].text == "*" and ts[2].kind == "name"))


class Body:
    """The mutants of one function."""

    def __init__(self, file, source, function, start, end):
        self.file, self.source, self.function = file, source, function
        self.ts = tokens(source, start, end)
        self.found = []
        self.seen = collections.Counter()

    def add(self, operator, start, end, text):
        left = self.source.rfind("\n", 0, start) + 1
        right = self.source.find("\n", end)
        old = " ".join(self.source[left:right].split())
        new = " ".join((self.source[left:start] + text + self.source[end:right]).split())
        self.found.append(Mutant(self.file, self.function, operator, start, end, text, old, new,
                                 self.seen[old, new]))
        self.seen[old, new] += 1

    def walk(self):
        i = 0
        while i < len(self.ts):
            i = self.statement(i)
        return sorted(self.found, key=lambda m: (m.start, m.end, m.text))

    def statement(self, i):
        """The one that begins at i; where the next begins."""
        t = self.ts[i]
        if t.text in "{};":
            return i + 1
        if t.text in ("else", "do"):
            return i + 1
        if t.text in ("case", "default") or self.is_label(i):
            while self.ts[i].text != ":":
                i += 1
            return i + 1
        if t.text in HEADS:
            return self.head(i)
        if t.kind == "name" and self.text(i + 1) == "(":
            j = closing(self.ts, i + 1)
            if self.text(j + 1) == "{":  # a loop by a macro
                self.expressions(i + 2, j)
                return j + 1
        return self.simple(i)

    def text(self, i):
        return self.ts[i].text if i < len(self.ts) else ""

    def is_label(self, i):
        return self.ts[i].kind == "name" and self.text(i + 1) == ":"

    def head(self, i):
        if self.text(i + 1) != "(":
            raise ValueError(f"{self.function}: no ( behind {self.ts[i].text}")
        j = closing(self.ts, i + 1)
        self.expressions(i + 2, j)
        if self.ts[i].text in ("if", "while"):
            start, end = self.ts[i + 1].end, self.ts[j].start
            self.add("condition", start, end, f"!({self.source[start:end]})")
        return j + 1

    def simple(self, i):
        j = i
        while self.text(j) != ";":
            if j >= len(self.ts):
                raise ValueError(f"{self.function}: a statement without an end")
            j = closing(self.ts, j) + 1 if self.ts[j].text in ("(", "{", "[") else j + 1
        ts = self.ts[i:j]
        silent = any(t.kind == "name" and SILENT.fullmatch(t.text) for t in ts[:4])
        if silent:
            return j + 1
        self.expressions(i, j)
        if ts[0].text == "return":
            self.result(ts)
        elif (ts[0].text not in JUMPS and not is_declaration(ts)
              and not any(t.kind == "name" and KEPT.fullmatch(t.text) for t in ts[:4])):
            self.add("statement", ts[0].start, self.ts[j].end, ";")
        return j + 1

    def result(self, ts):
        if len(ts) < 2:
            return
        start, end = ts[1].start, ts[-1].end
        now = self.source[start:end]
        other = {"0": "-1", "false": "true", "true": "false", "NULL": None}.get(now, "0")
        if other:
            self.add("result", start, end, other)

    def expressions(self, i, j):
        for k in range(i, j):
            t = self.ts[k]
            if t.kind == "number":
                self.number(t)
            elif t.text in COMPARE:
                for other in COMPARE[t.text]:
                    self.add("compare", t.start, t.end, other)
            elif t.text in LOGIC:
                self.add("logic", t.start, t.end, LOGIC[t.text])
            elif t.text in ("++", "--", "+=", "-=") or (
                    t.text in ("+", "-") and k > i and ends_value(self.ts, k - 1)):
                self.add("arithmetic", t.start, t.end, ARITHMETIC[t.text])

    def number(self, t):
        if not re.fullmatch(r"(0x[\da-fA-F]+|\d+)[uUlL]*", t.text):
            return
        self.add("constant", t.start, t.end, f"({t.text} + 1)")
        if re.match(r"0x0*[1-9a-fA-F]|0*[1-9]", t.text):
            self.add("constant", t.start, t.end, f"({t.text} - 1)")


def of_source(file, source):
    """All mutants of a source, in their order."""
    found = []
    for m in FUNCTION.finditer(source):
        found += Body(file, source, m.group(1), m.start(2), m.end(2)).walk()
    return found


def of_files(tree, files):
    return [m for f in files for m in of_source(str(f), (tree / f).read_text())]


# ---- self-test ------------------------------------------------------------------------------------

SAMPLE = r'''
#define TWICE(x) ((x) + (x))
static const int table[] = {1, 2};

int take(struct thing *t, size_t n)
{
    const size_t most = 10;
    int r = -EINVAL;

    assert(n < most);
    if (n >= most || !t) /* n > 1 */
        return r;
    for (size_t i = 0; i < n; i++)
        t->sum += i - 1;
    *t = (struct thing){.n = n};
    switch (n) {
    case 2:
        log_line("a + b %d", n);
        break;
    }
    list_for_each(t, &x) {
        call(t, (int)-1);
        core_unlock(t->core);
        (void)close(t->fd);
    }
    return n == 0 ? 0 : r;
}
'''
EXPECTED = """
constant: const size_t most = 10; -> const size_t most = (10 + 1);
constant: const size_t most = 10; -> const size_t most = (10 - 1);
condition: if (n >= most || !t) /* n > 1 */ -> if (!(n >= most || !t)) /* n > 1 */
compare: if (n >= most || !t) /* n > 1 */ -> if (n > most || !t) /* n > 1 */
compare: if (n >= most || !t) /* n > 1 */ -> if (n < most || !t) /* n > 1 */
logic: if (n >= most || !t) /* n > 1 */ -> if (n >= most && !t) /* n > 1 */
result: return r; -> return 0;
constant: for (size_t i = 0; i < n; i++) -> for (size_t i = (0 + 1); i < n; i++)
compare: for (size_t i = 0; i < n; i++) -> for (size_t i = 0; i <= n; i++)
compare: for (size_t i = 0; i < n; i++) -> for (size_t i = 0; i >= n; i++)
arithmetic: for (size_t i = 0; i < n; i++) -> for (size_t i = 0; i < n; i--)
statement: t->sum += i - 1; -> ;
arithmetic: t->sum += i - 1; -> t->sum -= i - 1;
arithmetic: t->sum += i - 1; -> t->sum += i + 1;
constant: t->sum += i - 1; -> t->sum += i - (1 + 1);
constant: t->sum += i - 1; -> t->sum += i - (1 - 1);
statement: *t = (struct thing){.n = n}; -> ;
statement: call(t, (int)-1); -> ;
constant: call(t, (int)-1); -> call(t, (int)-(1 + 1));
constant: call(t, (int)-1); -> call(t, (int)-(1 - 1));
result: return n == 0 ? 0 : r; -> return 0;
compare: return n == 0 ? 0 : r; -> return n != 0 ? 0 : r;
constant: return n == 0 ? 0 : r; -> return n == (0 + 1) ? 0 : r;
constant: return n == 0 ? 0 : r; -> return n == 0 ? (0 + 1) : r;
"""


def self_test():
    """Lines that are wrong."""
    found = of_source("sample.c", SAMPLE)
    said = {f"{m.operator}: {m.old} -> {m.new}" for m in found}
    wanted = set(EXPECTED.strip().splitlines())
    wrong = [f"not made: {x}" for x in sorted(wanted - said)]
    wrong += [f"made: {x}" for x in sorted(said - wanted)]
    moved = of_source("sample.c", "int f(void)\n{\n    g();\n}\n" + SAMPLE)
    if [m.key for m in moved[1:]] != [m.key for m in found]:
        wrong.append("a function before them changes what mutants are known by")
    return wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        wrong = self_test()
        print("\n".join(wrong + [f"operators passed={not wrong:d} failed={len(wrong)}"]))
        sys.exit(bool(wrong))
    counts = collections.Counter(m.operator for m in of_files(pathlib.Path("."), sys.argv[1:]))
    for operator, n in sorted(counts.items()):
        print(f"{operator:10} {n}")
    print(f"{'all':10} {sum(counts.values())}")


if __name__ == "__main__":
    main()
