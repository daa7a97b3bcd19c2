#!/usr/bin/python3
"""Weakens every memory order of lib/ by one step, one at a time, in a copy of the tree, and
runs the models that the source is part of. What they do not find must have its reason in
weaken.txt. Then all survivors of a file are weakened at once: what is excused must be
right together, but for the first of a group whose reason begins with "One is enough".
Usage: weaken.py [--list] [FILE...]

Exit status 1 when a survivor has no reason, weaken.txt has one that is not needed, or a
file's do not hold together."""
import collections
import os
import pathlib
import re
import sys

import mutants
from mutants import mutant_list
import variant

SEARCHES = (["--dfs", "5000"], ["--random", "30000", "--pct", "10000"])
ALTERNATIVES = "One is enough"

LOAD = {"SC": ["ACQ"], "ACQ": ["RLX"]}
STORE = {"SC": ["REL"], "REL": ["RLX"]}
RMW = {"SC": ["AR"], "AR": ["ACQ", "REL"], "ACQ": ["RLX"], "REL": ["RLX"]}

Change = collections.namedtuple("Change", "key file start end text")


def blank_comments(source):
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), source, flags=re.S)


def arguments(source, at):
    """[(start, end)] of the arguments of the call whose parenthesis opens at `at`."""
    depth, start, found = 0, at + 1, []
    for i in range(at, len(source)):
        c = source[i]
        depth += (c == "(") - (c == ")")
        if (c == "," and depth == 1) or depth == 0:
            found.append((start, i))
            start = i + 1
        if depth == 0:
            return found, i + 1
    raise ValueError("unbalanced")


def function_at(source, at):
    """The function whose body holds `at`: the last name before a parenthesis in column 0."""
    heads = re.findall(r"^\w[^;={}#]*?\b(\w+)\((?:[^;{}()]|\([^()]*\))*\)\s*\{", source[:at], re.M)
    return heads[-1] if heads else "?"


def changes_of(path):
    source = blank_comments(variant.read_source(path))
    seen, found = collections.Counter(), []
    for m in re.finditer(r"\bvat_(?:u32|u64|ptr)_(\w+)\(", source):
        op = m.group(1)
        if op == "init":
            continue
        spans, end = arguments(source, m.end() - 1)
        texts = [" ".join(source[a:b].split()) for a, b in spans]
        site = f"{path} {function_at(source, m.start())} {op}({texts[0]})"
        if op == "fence":
            options = [("removed", m.start(), end, f"((void)({texts[0]}))")]
        else:
            tables = {"load": [LOAD], "store": [STORE], "cas": [RMW, LOAD]}.get(op, [RMW])
            roles = ["", " on failure"]
            options = []
            for table, role, text, (a, b) in zip(tables, roles, texts[-len(tables):],
                                                 spans[-len(tables):]):
                for weaker in table.get(text[4:], []):
                    options.append((f"{text[4:]} -> {weaker}{role}", a, b, f" VAT_{weaker}"))
        for what, a, b, text in options:
            key = f"{site} {what}"
            seen[key] += 1
            if seen[key] > 1:
                key += f" #{seen[key]}"
            found.append(Change(key, path, a, b, text))
    return found


def reasons():
    """Key to reason. One reason may follow several keys."""
    result, keys, reason = {}, [], ""
    for line in open(os.path.join(variant.HERE, "weaken.txt")).read().splitlines() + ["end"]:
        if line.startswith("#") or not line:
            continue
        if line[0] == " ":
            reason += line.strip() + " "
            continue
        if reason:
            result.update((k, reason.strip()) for k in keys)
            keys, reason = [], ""
        keys.append(line)
    return result


class Looker:
    def __init__(self):
        self.affected = {}  # file to models
        self.likely = collections.defaultdict(list)
        for m in mutant_list.read(pathlib.Path(variant.HERE, "mutants.txt"), mutants.Mutant):
            self.likely[m.file] += [name.partition("/")[0] for name in m.tests]

    def models(self, path):
        if path not in self.affected:
            source = variant.read_source(path)
            tree = variant.Variant("affected", {path: source})
            found = [m for m in variant.models() if tree.affects(m)]
            tree.remove()
            found.sort(key=lambda m: m not in self.likely[path])
            self.affected[path] = found
        return self.affected[path]

    def look(self, item):
        """What finds these changes of one file, or None."""
        name, changes = item
        path = changes[0].file
        source = variant.read_source(path)
        texts = {}
        for c in changes:
            span = (c.start, c.end)  # AR may lose both: nothing is left then
            texts[span] = " VAT_RLX" if span in texts else c.text
        for (start, end), text in sorted(texts.items(), reverse=True):
            source = source[:start] + text + source[end:]
        tree = variant.Variant(f"weak-{name}", {path: source})
        built = []
        if not self.models(path):
            return "NO MODEL runs this source"
        for bounds in SEARCHES:
            for model in self.models(path):
                error = None if model in built else tree.build(model)
                if error:
                    return f"UNBUILT {error}"
                built.append(model)
                hit = tree.search(model, bounds)
                if hit:
                    tree.remove()
                    return f"{hit[0]} after {hit[1]}: {hit[2]}"
        tree.remove()
        return None


def together(survivors, known):
    """[(name, changes)]: all of a file that may be weakened at once, where those are several."""
    files, kept = collections.defaultdict(list), set()
    for change in survivors:
        reason = known.get(change.key, "")
        if reason.startswith(ALTERNATIVES) and reason not in kept:
            kept.add(reason)
        else:
            files[change.file].append(change)
    return [(f"all-{i}", c) for i, c in enumerate(files.values()) if len(c) > 1]


def main():
    wanted = [a for a in sys.argv[1:] if a != "--list"]
    files = sorted(
        os.path.relpath(os.path.join(d, f), variant.TREE)
        for d, _, names in os.walk(os.path.join(variant.TREE, "lib"))
        for f in names if f.endswith((".c", ".h"))
    )
    files = [f for f in files if f != "lib/base/atomic.h" and (not wanted or f in wanted)]
    changes = [c for f in files for c in changes_of(f)]
    if "--list" in sys.argv:
        print("\n".join(c.key for c in changes))
        return
    known = reasons()
    looker = Looker()
    for f in files:
        looker.models(f) if changes_of(f) else None
    survivors, killed, bad = [], 0, 0
    items = [(i, [c]) for i, c in enumerate(changes)]
    for change, hit in zip(changes, variant.each(looker.look, items)):
        if hit and hit.startswith(("UNBUILT", "NO MODEL")):
            bad += 1
            print(f"BROKEN    {change.key}\n            {hit}")
        elif hit:
            killed += 1
            print(f"killed    {change.key}\n            {hit}")
            if change.key in known:
                bad += 1
                print("            but weaken.txt has a reason for its survival")
        else:
            survivors.append(change)
            bad += change.key not in known
            print(f"survives  {change.key}\n            {known.get(change.key, 'NO REASON')}")
        sys.stdout.flush()
    groups = together(survivors, known)
    for (_, group), hit in zip(groups, variant.each(looker.look, groups)):
        bad += hit is not None
        print(f"{'apart     ' if hit else 'together  '}{group[0].file} {len(group)}")
        if hit:
            print(f"            weakened at once they are found: {hit}")
        sys.stdout.flush()
    for key in sorted(set(known) - {c.key for c in changes}):
        if not wanted or key.split()[0] in wanted:
            bad += 1
            print(f"stale     {key}")
    print(f"weakened={len(changes)} killed={killed} survived={len(survivors)} without-reason={bad}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
