#!/usr/bin/python3
"""Makes operator mutants (operators.py) of the rooms of the daemon, one at a time, and runs what
must find each: the unit programs that reach its file, then the simulator. REACH says which these are:
tests/mutants/reach writes it.

Usage: run_operators.py --reach REACH [--count N] [--seed S] [--room ROOM] [--jobs N] [FILE...]

The seed gives an order of the mutants of each room, and the place of one does not change with code
elsewhere; the first are made, of one room after another, N in all. Nothing but the changed object is compiled, without
optimisation, and linked before the libraries of build/plain. A mutant whose optimised object is that
of the source is none: it is left out, as is one that does not compile.

A machine with other work may be too slow for all that must find one: it is not judged, and the next
one is made.

survivors.txt lists those that nothing can find, with the reason. Exit status 1 when one survives that
is not listed, or a unit program finds one that is."""
import argparse
import functools
import itertools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

import mutants
import operators
from mutants import BUILD, TREE

HERE = pathlib.Path(__file__).resolve().parent
ROOMS = ("job", "core", "admit", "run", "link", "log", "store", "keeper", "call", "server", "method",
         "lease")
LIMIT = 30  # seconds of a program; one that takes longer hangs
BUDGET = 60  # seconds of one mutant, within which it is to be found
SIM = f"{BUILD}/tests/sim/sim"
SIM_SECS = 12
KEEPER = "build/bin/voltd-keeper"


# ---- lists ----------------------------------------------------------------------------------------

def sources(rooms=ROOMS):
    return sorted(str(p.relative_to(TREE)) for r in rooms for p in (TREE / "daemon" / r).glob("*.c")
                  if p.name != "main.c")


def read_reach(path):
    """{file: [program, ...]}, those first that reach most of it in the least time."""
    rows = (line.partition(": ") for line in path.read_text().splitlines())
    return {file: names.split() for file, _, names in rows}


CHANCE = "by chance: "


def read_survivors():
    """{key of a mutant: reason}. An entry is a head line with file and function, then the line of the
    source, what the mutant makes of it, and the reason; the reason of one that is found by chance begins
    with CHANCE."""
    found, head, old, new = {}, None, "", ""
    for number, line in enumerate((HERE / "survivors.txt").read_text().splitlines(), 1):
        mark, text = line[:2], line[2:].strip()
        if mark == "- ":
            old = text
        elif mark == "+ ":
            new = text
        elif mark in ("! ", "? "):
            found[head + (old, new)] = (CHANCE if mark == "? " else "") + text
        elif line and not line.startswith("#"):
            head = tuple(line.split())
            if len(head) != 2:
                sys.exit(f"survivors.txt:{number}: not a file and a function")
    return found


def stale():
    """Entries of survivors.txt that are no mutants of the sources any more."""
    known = read_survivors()
    made = {m.key for m in operators.of_files(TREE, sorted({k[0] for k in known if
                                                             (TREE / k[0]).is_file()}))}
    return [f"{k[0]} {k[1]}: no mutant makes of this line: {k[2]}" for k in known if k not in made]


# ---- building -------------------------------------------------------------------------------------

def make(*arguments, **more):
    """As from a shell: what this one was called by has no say in how many jobs."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", "-s", *arguments], cwd=TREE, env=env, check=True, text=True, **more)


def make_says(*arguments):
    return make("V=1", *arguments, capture_output=True).stdout


class Build:
    """How the objects are compiled and the programs linked: as make says."""

    def __init__(self, programs):
        targets = [f"{BUILD}/tests/unit/{p}" for p in programs] + [SIM, KEEPER]
        make("all", *targets, stdout=subprocess.DEVNULL)
        self.flags = shlex.split(make_says("--eval", "show-flags: ; @:$(info $(ALLC))", "show-flags"))
        self.flags = [f for f in self.flags if f != "-Werror" and not re.match("-(O|g|MMD|MP)", f)]
        self.links = self.link_commands(targets)

    @staticmethod
    def link_commands(targets):
        new = [arg for t in targets for arg in ("-W", Build.main_object(t))]
        out = make_says("-n", *new, *targets).replace("\\\n", " ")
        links = {}
        for line in out.splitlines():
            words = shlex.split(line) if " -o " in line and " -c " not in line else []
            if "-o" in words:
                links[words[words.index("-o") + 1]] = words
        return {pathlib.Path(t).name: links[t] for t in targets}

    @staticmethod
    def main_object(target):
        return {SIM: f"{BUILD}/tests/sim/main.o",
                KEEPER: f"{BUILD}/daemon/keeper/main.o"}.get(target, target + ".o")

    def compile(self, source, file, out, optimise):
        """Whether it compiles."""
        command = ["gcc", *self.flags, "-w", optimise, "-iquote", os.path.dirname(file), "-x", "c",
                   "-c", "-o", str(out), "-"]
        return subprocess.run(command, cwd=TREE, input=source, text=True,
                              capture_output=True).returncode == 0

    def link(self, name, changed, out):
        """Its own objects come before those of libraries. False: it has something else in its place."""
        words = list(self.links[name])
        words[words.index("-o") + 1] = str(out)
        i = words.index("-o") + 2
        r = subprocess.run([*words[:i], str(changed), *words[i:]], cwd=TREE, text=True,
                           capture_output=True)
        if "multiple definition" in r.stderr:
            return False
        if r.returncode != 0:
            raise RuntimeError(f"{name} does not link: {r.stderr[-400:]}")
        return True


@functools.cache
def alone():
    """What a program is started with, so that it sees no process but its own: a mutant of the keeper may
    take any for one of its job, and kill what runs it, up to the session of the whole machine. Nothing,
    where that is not allowed."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else []


# ---- one mutant -----------------------------------------------------------------------------------

class Worker(mutants.Place):
    """Builds and tests one mutant at a time."""

    def __init__(self, number, build, reach, proved):
        super().__init__(number)
        self.build, self.reach, self.proved = build, reach, proved
        self.bin = self.tree / "bin"
        self.bin.mkdir(parents=True)
        self.env |= {"VOLT_BIN": str(self.bin), "VOLT_BUILD": str(TREE / BUILD),
                     "HISTORIES": "400", "CONTAIN_GRACE": "2"}
        self.optimised = {}  # objects of unchanged sources

    def is_other(self, mutant, source):
        """It is not the same program."""
        plain, changed = self.tree / "plain.o", self.tree / "changed.o"
        if mutant.file not in self.optimised:
            if not self.build.compile(source, mutant.file, plain, "-O2"):
                raise RuntimeError(f"{mutant.file} does not compile")
            self.optimised[mutant.file] = plain.read_bytes()
        return (not self.build.compile(mutant.apply(source), mutant.file, changed, "-O2")
                or changed.read_bytes() != self.optimised[mutant.file])

    def programs(self, changed):
        """The programs that jobs and tests start by their names, with the changed object."""
        for path in (TREE / "build/bin").iterdir():
            link = self.bin / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(path)
        if changed:
            (self.bin / "voltd-keeper").unlink()
            self.build.link("voltd-keeper", changed, self.bin / "voltd-keeper")

    def try_program(self, program, limit):
        """None: it passes. Otherwise what is wrong."""
        status, out = self.run([*alone(), "timeout", str(limit), TREE / "tests/tools/contain", program],
                               limit + 30)
        if status == 0:
            return None
        if status in (None, 124):
            return "hangs"
        found = re.search(r"^\[  FAILED  \] (\w+)$", out, re.M)
        return found.group(1) if found else f"ended with status {status}"

    def is_sound(self, name):
        """Whether the program passes without a mutant: it would find each otherwise."""
        if name not in self.proved:
            self.programs(None)
            self.proved[name] = self.try_program(TREE / BUILD / "tests/unit" / name, LIMIT) is None
        return self.proved[name]

    def look(self, mutant):
        """(verdict, what was found or None)"""
        source = (TREE / mutant.file).read_text()
        changed, program = self.tree / "mutant.o", self.tree / "program"
        if not self.build.compile(mutant.apply(source), mutant.file, changed, "-O0"):
            return "none", None
        self.programs(changed if mutant.file.startswith("daemon/keeper/") else None)
        end = time.monotonic() + BUDGET - SIM_SECS
        late = []
        for name in self.reach.get(mutant.file, []):
            if time.monotonic() > end:
                late.append(name)
                continue
            found = (self.build.link(name, changed, program)
                     and self.try_program(program, LIMIT))
            if found and self.is_sound(name):
                return "killed", f"{name}: {found}"
            if found:
                late.append(name)
        if not self.is_other(mutant, source):
            return "none", None
        verdict, found = self.simulate(mutant, changed)
        if verdict == "survives" and late:
            return "unjudged", f"there was no time for {' '.join(late)}"
        return verdict, found

    def simulate(self, mutant, changed):
        program = self.tree / "program"
        if mutant.file.startswith("daemon/keeper/") or not self.build.link("sim", changed, program):
            return "survives", None
        status, out = self.run([str(program), "--seed", "1", "--secs", str(SIM_SECS), "--jobs", "1",
                                "--no-shrink"], 3 * SIM_SECS)
        if status == 0:
            return "survives", None
        found = re.search(r"^sim: (.*)$", re.sub(r"(?m)^sim: SEED.*$", "", out), re.M)
        return "killed", f"sim: {found.group(1)[:80] if found else status}"


# ---- all of them ----------------------------------------------------------------------------------

class Round:
    """The mutants that are made, in their order, until so many were judged."""

    def __init__(self, candidates, count, known):
        self.candidates, self.count, self.known = candidates, count, known
        self.next = self.under_way = 0
        self.killed = self.excused = self.unjudged = 0
        self.bad, self.longest = [], 0.0
        self.lock = threading.Lock()

    def judged(self):
        return self.killed + self.excused + len(self.bad)

    def take(self):
        with self.lock:
            if self.next == len(self.candidates) or self.judged() + self.under_way >= self.count:
                return None
            self.under_way += 1
            self.next += 1
            return self.candidates[self.next - 1]

    def judge(self, mutant, verdict, found, seconds):
        reason = self.known.get(mutant.key)
        with self.lock:
            self.under_way -= 1
            if verdict == "none":
                return
            if verdict == "unjudged":
                self.unjudged += 1
                print(f"unjudged {seconds:4.0f} s  {mutant.file} {mutant.function}  {found}", flush=True)
                return
            self.longest = max(self.longest, seconds)
            by_unit = (verdict == "killed" and not found.startswith("sim")
                       and not found.endswith(": hangs"))  # which a slow machine does as well
            untrue = reason and by_unit and not reason.startswith(CHANCE)
            if verdict == "survives" and reason:
                self.excused += 1
            elif verdict == "killed" and not untrue:
                self.killed += 1
            else:
                self.bad.append(mutant)
            print(f"{verdict:8} {seconds:4.0f} s  {mutant.file} {mutant.function}  {found or reason or ''}\n"
                  f"    - {mutant.old}\n    + {mutant.new}", flush=True)
            if untrue:
                print("    survivors.txt says that nothing can find it", flush=True)

    def work(self, worker):
        while mutant := self.take():
            begin = time.monotonic()
            try:
                verdict, found = worker.look(mutant)
            except Exception as e:  # of the runner itself: one failure, not the end of the others
                verdict, found = "BROKEN", repr(e)
            self.judge(mutant, verdict, found, time.monotonic() - begin)


def choose(o):
    """Mutants in the order of the seed."""
    rooms = [o.files] if o.files else [sources([r]) for r in (o.room.split(",") if o.room else ROOMS)]
    orders = [sorted(operators.of_files(TREE, files), key=lambda m: m.order(o.seed)) for files in rooms]
    return [m for row in itertools.zip_longest(*orders) for m in row if m]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--reach", type=pathlib.Path, required=True)
    options.add_argument("--count", type=int, default=160)
    options.add_argument("--seed", default="1")
    options.add_argument("--room", default="")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("files", nargs="*")
    o = options.parse_args()
    reach, candidates = read_reach(o.reach), choose(o)
    build = Build(sorted({p for f in {m.file for m in candidates} for p in reach.get(f, [])}))
    proved = {}
    workers = [Worker(n, build, reach, proved) for n in range(o.jobs)]
    all_of_it = Round(candidates, o.count, read_survivors())
    threads = [threading.Thread(target=all_of_it.work, args=(w,)) for w in workers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for w in workers:
        w.remove()
    shutil.rmtree(mutants.WORK, ignore_errors=True)
    r = all_of_it
    print(f"operator mutants: the longest took {r.longest:.0f} s, not judged: {r.unjudged}")
    print(f"daemon mutants killed={r.killed} survived={r.judged() - r.killed}")
    print(f"mutants-operators passed={r.killed + r.excused} failed={len(r.bad)}")
    sys.exit(bool(r.bad) or not r.judged())


if __name__ == "__main__":
    main()
