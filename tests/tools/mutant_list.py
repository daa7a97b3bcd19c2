"""Lists of mutants (tests/model/mutants.txt, tests/mutants/daemon.txt): deliberate errors in
the sources, each with a head line and

    - a text of the source, matched without regard to white space, there exactly once
    + what stands there instead (no + line: nothing); may be followed by another pair
    ! why nothing can find it

Lines of one kind that follow each other are one text."""
import re
import sys


class Mutant:
    """One of the list. HEAD, of the subclass: a pattern with the groups id, tests, file, what."""

    def __init__(self, head, path):
        m = re.match(self.HEAD, head)
        if not m:
            sys.exit(f"{path}: not a head line: {head}")
        for name, value in m.groupdict().items():
            setattr(self, name, value)
        self.tests = self.tests.split(",")
        self.changes = []  # of [old, new]
        self.reason = ""

    def line(self, kind, text):
        if kind == "!":
            self.reason += text + "\n"
            return
        if kind == "-" and (not self.changes or self.changes[-1][1]):
            self.changes.append(["", ""])
        self.changes[-1][kind == "+"] += text + "\n"

    def bounds(self, source):
        """Where its texts are looked for."""
        return 0, len(source)

    def apply(self, source):
        """The changed source, or None when a text is not there exactly once."""
        for old, new in self.changes:
            hits = list(pattern(old).finditer(source, *self.bounds(source)))
            if len(hits) != 1:
                return None
            source = source[: hits[0].start()] + new.rstrip("\n") + source[hits[0].end():]
        return source


def pattern(text):
    """The text, whatever its white space."""
    return re.compile(r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", text))))


def read(path, kind):
    """The mutants of a list, of that subclass."""
    mutants = []
    for line in path.read_text().splitlines():
        if re.match(r"[-+!]( |$)", line):
            mutants[-1].line(line[0], line[2:])
        elif line and not line.startswith("#"):
            mutants.append(kind(line, path))
    ids = [m.id for m in mutants]
    if len(set(ids)) < len(ids):
        sys.exit(f"{path}: used twice: {[i for i in ids if ids.count(i) > 1]}")
    return mutants
