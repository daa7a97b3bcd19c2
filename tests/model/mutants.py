#!/usr/bin/python3
"""Applies each mutant of mutants.txt to a copy of the tree and runs its models, which must
find it. Usage: mutants.py [--table] [ID...]   --table prints the rows of README.md, too.
Exit status 1 when one survives or no longer applies."""
import os
import re
import sys

import variant

# All scenarios at their quick bounds, then again for longer.
SEARCHES = (
    [],
    ["--dfs", "0", "--random", "50000", "--pct", "20000"],
    ["--random", "100000", "--pct", "50000", "--dfs", "100000"],
)


class Mutant:
    def __init__(self, head):
        m = re.match(r"(\S+) (\S+) (\S+)\s+(.+)$", head)
        if not m:
            sys.exit(f"mutants.txt: not a head line: {head}")
        self.id, models, self.file, self.what = m.groups()
        self.models = models.split(",")
        self.changes = []  # of [old, new]

    def line(self, kind, text):
        if kind == "-" and (not self.changes or self.changes[-1][1]):
            self.changes.append(["", ""])
        self.changes[-1][kind == "+"] += text + "\n"

    def apply(self):
        """The changed source, or None when a text is not there exactly once."""
        source = variant.read_source(self.file)
        for old, new in self.changes:
            tokens = re.findall(r"\w+|[^\w\s]", old)
            hits = list(re.finditer(r"\s*".join(map(re.escape, tokens)), source))
            if len(hits) != 1:
                return None
            source = source[: hits[0].start()] + new.rstrip("\n") + source[hits[0].end() :]
        return source


def read(path):
    mutants = []
    with open(path) as f:
        for line in f.read().splitlines():
            if re.match(r"[-+]( |$)", line):
                mutants[-1].line(line[0], line[2:])
            elif line and not line.startswith("#"):
                mutants.append(Mutant(line))
    ids = [m.id for m in mutants]
    if len(set(ids)) < len(ids):
        sys.exit(f"mutants.txt: used twice: {[i for i in ids if ids.count(i) > 1]}")
    return mutants


def look(mutant):
    """(verdict, scenario, executions, what was found)"""
    source = mutant.apply()
    if source is None:
        return "STALE", f"its text is not there exactly once in {mutant.file}", "", ""
    tree = variant.Variant(mutant.id, {mutant.file: source})
    for model in mutant.models:
        error = tree.build(model.partition("/")[0])
        if error:
            return "UNBUILT", error, "", ""
    for bounds in SEARCHES:
        for model in mutant.models:
            hit = tree.search(model, bounds)
            if hit:
                tree.remove()
                return ("killed",) + hit
    return "SURVIVES", ", ".join(mutant.models), "", ""


def main():
    wanted = [a for a in sys.argv[1:] if a != "--table"]
    mutants = [m for m in read(os.path.join(variant.HERE, "mutants.txt"))
               if not wanted or m.id in wanted]
    rows, survived = [], 0
    for m, (verdict, where, executions, what) in zip(mutants, variant.each(look, mutants)):
        if verdict == "killed":
            print(f"{m.id:5} killed    {where} after {executions}: {m.what}")
            print(f"{'':15} {what}")
            rows.append(f"| {m.id} | {m.what} | {where} | {executions} |")
        else:
            survived += 1
            print(f"{m.id:5} {verdict:9} {m.what}: {where}")
        sys.stdout.flush()
    if "--table" in sys.argv:
        print("\n".join(rows))
    print(f"mutants killed={len(mutants) - survived} survived={survived}")
    sys.exit(1 if survived or not mutants else 0)


if __name__ == "__main__":
    main()
