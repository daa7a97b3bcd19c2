#!/usr/bin/python3
"""Applies each mutant of mutants.txt to a copy of the tree and runs its models, which must
find it. Usage: mutants.py [ID...]   Exit status 1 when one survives or no longer applies."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(TREE, "build", "mutants")
# All scenarios at their quick bounds, then again for longer.
SEARCHES = (
    ["--first"],
    ["--first", "--dfs", "0", "--random", "20000", "--pct", "10000"],
    ["--first", "--random", "100000", "--pct", "50000", "--dfs", "300000"],
)


class Mutant:
    def __init__(self, head):
        m = re.match(r"(\S+) (\S+) (\S+)\s+(.+)$", head)
        if not m:
            sys.exit(f"mutants.txt: not a head line: {head}")
        self.id, models, self.file, self.what = m.groups()
        self.models = models.split(",")
        self.old, self.new, self.equivalent = [], [], ""


def read(path):
    mutants = []
    with open(path) as f:
        for line in f:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("- "):
                mutants[-1].old.append(line[2:])
            elif line.startswith("+ "):
                mutants[-1].new.append(line[2:])
            elif line.startswith("= "):
                mutants[-1].equivalent = line[2:]
            else:
                mutants.append(Mutant(line))
    return mutants


def mutate(mutant):
    """The changed source, or None when the text is not there exactly once."""
    with open(os.path.join(TREE, mutant.file)) as f:
        source = f.read()
    tokens = re.findall(r"\w+|[^\w\s]", " ".join(mutant.old))
    pattern = r"\s*".join(re.escape(t) for t in tokens)
    hits = list(re.finditer(pattern, source))
    if len(hits) != 1:
        print(f"{mutant.id:6} STALE     {mutant.file}: its text occurs {len(hits)} times")
        return None
    hit = hits[0]
    return source[: hit.start()] + "\n".join(mutant.new) + source[hit.end() :]


def prepare(mutant, source):
    """A tree of links with one file replaced."""
    tree = os.path.join(WORK, mutant.id)
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    for part in ("lib", "tests/model", "Makefile"):
        os.makedirs(os.path.dirname(os.path.join(tree, part)), exist_ok=True)
        subprocess.run(["cp", "-rs", os.path.join(TREE, part), os.path.join(tree, part)], check=True)
    path = os.path.join(tree, mutant.file)
    os.unlink(path)
    with open(path, "w") as f:
        f.write(source)
    return tree


def search(tree, program):
    """What the model found, or None."""
    for bounds in SEARCHES:
        run = subprocess.run([program] + bounds, cwd=tree, capture_output=True, text=True)
        hit = re.search(r"^(\S+) +FAIL +(\d+) executions.*\n +(.*)$", run.stdout, re.M)
        if hit:
            return f"{hit.group(1)} after {hit.group(2)}: {hit.group(3)}"
    return None


def find(mutant):
    source = mutate(mutant)
    if source is None:
        return False
    tree = prepare(mutant, source)
    for model in mutant.models:
        program = f"build/model/{model}"
        # A mutant may leave something unused.
        build = subprocess.run(
            ["make", "-s", program, "WARN=-w"], cwd=tree, capture_output=True, text=True
        )
        if build.returncode != 0:
            print(f"{mutant.id:6} UNBUILT   {mutant.what}\n{build.stderr}")
            return False
        hit = search(tree, program)
        if hit:
            verdict = "EQUIVALENT?" if mutant.equivalent else "found    "
            print(f"{mutant.id:6} {verdict} {mutant.what}: {hit}")
            shutil.rmtree(tree)
            return not mutant.equivalent
    if mutant.equivalent:
        print(f"{mutant.id:6} survives  {mutant.what}: {mutant.equivalent}")
        return True
    print(f"{mutant.id:6} SURVIVES  {mutant.what} ({', '.join(mutant.models)})")
    return False


def main():
    mutants = read(os.path.join(HERE, "mutants.txt"))
    wanted = sys.argv[1:]
    chosen = [m for m in mutants if not wanted or m.id in wanted]
    found = 0
    for m in chosen:
        found += find(m)
        sys.stdout.flush()
    print(f"mutants passed={found} failed={len(chosen) - found}")
    sys.exit(0 if found == len(chosen) and chosen else 1)


main()
