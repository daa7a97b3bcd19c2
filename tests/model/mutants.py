#!/usr/bin/python3
"""Applies each mutant of mutants.txt to a copy of the tree and runs its models, which must
find it. Usage: mutants.py [ID...]
Exit status 1 when one survives or no longer applies."""
import pathlib
import sys

import variant

sys.path.insert(0, str(pathlib.Path(variant.TREE, "tests/tools")))
import mutant_list  # noqa: E402

# All scenarios at their quick bounds, then again for longer.
SEARCHES = (
    [],
    ["--dfs", "0", "--random", "50000", "--pct", "20000"],
    ["--random", "100000", "--pct", "50000", "--dfs", "100000"],
)


class Mutant(mutant_list.Mutant):
    HEAD = r"(?P<id>\S+) (?P<tests>\S+) (?P<file>\S+)\s+(?P<what>.+)$"


def look(mutant):
    """(verdict, scenario, executions, what was found)"""
    source = mutant.apply(variant.read_source(mutant.file))
    if source is None:
        return "STALE", f"its text is not there exactly once in {mutant.file}", "", ""
    tree = variant.Variant(mutant.id, {mutant.file: source})
    for model in mutant.tests:
        error = tree.build(model.partition("/")[0])
        if error:
            return "UNBUILT", error, "", ""
    for bounds in SEARCHES:
        for model in mutant.tests:
            hit = tree.search(model, bounds)
            if hit:
                tree.remove()
                return ("killed",) + hit
    return "SURVIVES", ", ".join(mutant.tests), "", ""


def main():
    wanted = sys.argv[1:]
    mutants = [m for m in mutant_list.read(pathlib.Path(variant.HERE, "mutants.txt"), Mutant)
               if not wanted or m.id in wanted]
    survived = 0
    for m, (verdict, where, executions, what) in zip(mutants, variant.each(look, mutants)):
        if verdict == "killed":
            print(f"{m.id:5} killed    {where} after {executions}: {m.what}")
            print(f"{'':15} {what}")
        else:
            survived += 1
            print(f"{m.id:5} {verdict:9} {m.what}: {where}")
        sys.stdout.flush()
    print(f"mutants killed={len(mutants) - survived} survived={survived}")
    sys.exit(1 if survived or not mutants else 0)


if __name__ == "__main__":
    main()
