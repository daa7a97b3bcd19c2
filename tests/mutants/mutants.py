#!/usr/bin/python3
"""Applies each mutant of a list (daemon.txt, runtime.txt) to a copy of the tree, builds what depends on it and runs the
tests that are named for it, of which one must fail.

Usage: mutants.py [--list daemon|runtime] [--jobs N] [ID...]

Exit status 1 when one survives without a reason, no longer applies, or is found though it has a
reason."""
import argparse
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path.insert(0, str(TREE / "tests/tools"))
import mutant_list  # noqa: E402
WORK = TREE / "build" / "mutants" / str(os.getpid())
BUILD = "build/plain"
LIMIT = 150  # seconds of one test; who takes longer hangs, and is found


class Mutant(mutant_list.Mutant):
    HEAD = r"(?P<id>\S+) (?P<tests>\S+) (?P<file>\S+) (?P<function>\S+)\s+(?P<what>.+)$"

    def bounds(self, source):
        """Where the definition of its function begins and ends: its closing brace stands in the
        first column. "-": the whole file. (0, 0): there is none, or more than one."""
        if self.function == "-":
            return 0, len(source)
        found = [m for m in re.finditer(rf"^\w[^\n;]*\b{self.function}\([^;]*?\)\n\{{$.*?^\}}$",
                                        source, re.M | re.S)]
        return found[0].span() if len(found) == 1 else (0, 0)


class Place:
    """Where one worker runs programs: a directory of its own, and one for temporary files. None of
    their processes is left."""

    def __init__(self, number):
        self.tree = WORK / str(number)
        self.tmp = tempfile.mkdtemp(prefix="volt-mutants-")  # short: sockets have their paths
        os.chmod(self.tmp, 0o711)  # tests with users of their own go through it
        shutil.rmtree(self.tree, ignore_errors=True)
        # One seed: a mistake is found by its tests, not by their chance.
        self.env = {**os.environ, "TMPDIR": self.tmp, "PYTHONDONTWRITEBYTECODE": "1", "SEED": "1"}
        self.env.pop("MAKEFLAGS", None)

    def run(self, command, limit):
        """(status, output); None for a status: it took longer."""
        p = subprocess.Popen(command, cwd=self.tree, env=self.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", start_new_session=True)
        try:
            out, _ = p.communicate(timeout=limit)
            return p.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            return None, ""
        finally:
            self.sweep()

    def sweep(self):
        """Ends what a test has left: all that runs a program of this tree, or was told of it."""
        mark = str(self.tree).encode() + b"/"
        tmp = self.tmp.encode() + b"/"
        for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
            try:
                exe = os.readlink(f"/proc/{pid}/exe").encode()
                told = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
                if exe.startswith(mark) or b"=" + mark in told or tmp in told:
                    os.kill(pid, signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass

    def remove(self):
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.rmtree(self.tmp, ignore_errors=True)


class Copy(Place):
    """A copy of the tree, with the objects of the real one, in which one worker builds and tests."""

    def __init__(self, number):
        super().__init__(number)
        self.env |= {"VOLT_BIN": str(self.tree / "build/bin"), "VOLT_BUILD": str(self.tree / BUILD)}
        names = subprocess.run(["git", "ls-files", "-z"], cwd=TREE, capture_output=True, check=True)
        for name in names.stdout.decode().split("\0"):
            if name and (TREE / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(TREE / name, self.tree / name)
        keep = (".o", ".d", ".a", ".so", ".so.0", ".inc")
        for directory, _, files in os.walk(TREE / BUILD):
            target = self.tree / os.path.relpath(directory, TREE)
            for name in files:
                if name.endswith(keep):
                    target.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(os.path.join(directory, name), target / name)

    def make(self, *targets):
        """None, or what the compiler said. A change may leave something unused: no warnings."""
        command = ["make", "-s", "WARN=-w", "V=1", *targets]
        r = self.run(command, 600)
        return None if r[0] == 0 else r[1]

    def targets(self, tests, files):
        """What has to be built for these tests of these sources: those of libvolt are in each
        test program, and start no other."""
        unit = [f"{BUILD}/tests/unit/{t}" for t in tests if ".py" not in t]
        return unit if all(f.startswith("lib/") for f in files) else ["all"] + unit

    def test(self, name):
        """None: it passes. Otherwise what is wrong."""
        unit = ".py" not in name
        if unit:
            command = [str(self.tree / BUILD / "tests/unit" / name)]
        else:
            file, _, words = name.partition("::")
            command = ["/usr/bin/python3", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
                       f"--basetemp={self.tmp}/pytest", "--tb=line", f"tests/{file}"]
            command += ["-k", words.replace("+", " or ")] if words else []
        status, out = self.run(command, LIMIT)
        if status == 0:
            return None
        if status is None:
            return "hangs"
        if status == 5 and not unit:
            raise RuntimeError(f"{name}: no such test")
        for found in (r"^(?:FAILED|ERROR) (\S+)", r"^\[  FAILED  \] (\w+)$"):
            if why := re.search(found, out, re.M):
                return why.group(1)
        return f"ended with status {status}"

    def look(self, mutant):
        """(verdict, what was found)"""
        path = self.tree / mutant.file
        before = path.read_text()
        source = mutant.apply(before)
        if source is None:
            return "STALE", f"its text is not there exactly once in {mutant.function}()"
        path.write_text(source)
        try:
            error = self.make(*self.targets(mutant.tests, [mutant.file]))
            if error:
                return "UNBUILT", error[-800:]
            for name in mutant.tests:
                found = self.test(name)
                if found:
                    return "killed", f"{name}: {found}"
            return "survives", ", ".join(mutant.tests)
        finally:
            path.write_text(before)


def blind(copy, mutants):
    """The tests that fail without any mutant: they would find each."""
    tests = sorted({t for m in mutants for t in m.tests})
    error = copy.make(*copy.targets(tests, [m.file for m in mutants]))
    if error:
        sys.exit(f"the tree does not build: {error[-800:]}\nmutants passed=0 failed=1")
    failing = {t for t in tests if copy.test(t)}
    for name in sorted(failing):
        print(f"{name} fails without a mutant: it finds nothing", flush=True)
    return failing


def judge(mutant, verdict, found):
    """(line, good)"""
    good = verdict == ("survives" if mutant.reason else "killed")
    text = f"{mutant.id:6} {verdict:9} {mutant.what}: {found}"
    if verdict == "survives" and mutant.reason:
        text += "\n" + "".join(f"{'':17}because {line}\n"
                               for line in mutant.reason.splitlines()).rstrip()
    if verdict == "killed" and mutant.reason:
        text += " -- and its reason says that nothing can find it"
    return text, good


def work(copy, jobs, results):
    while True:
        try:
            mutant = jobs.get_nowait()
        except queue.Empty:
            return
        try:
            results.append((mutant, *copy.look(mutant)))
        except Exception as e:  # of the runner itself: one failure, not the end of the others
            results.append((mutant, "BROKEN", repr(e)))
        line, _ = judge(*results[-1])
        print(line, flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--list", choices=("daemon", "runtime"), default="daemon")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("ids", nargs="*")
    o = options.parse_args()
    mutants = [m for m in mutant_list.read(HERE / f"{o.list}.txt", Mutant) if not o.ids or m.id in o.ids]
    jobs, results = queue.Queue(), []
    for m in mutants:
        jobs.put(m)
    copies = [Copy(n) for n in range(o.jobs)]
    failing = blind(copies[0], mutants)
    for m in mutants:
        m.tests = [t for t in m.tests if t not in failing]
    threads = [threading.Thread(target=work, args=(c, jobs, results)) for c in copies]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for c in copies:
        c.remove()
    shutil.rmtree(WORK)
    bad = [m.id for m, verdict, found in results if not judge(m, verdict, found)[1]]
    bad += sorted(failing)
    survived = sum(verdict == "survives" for _, verdict, _ in results)
    killed = sum(verdict == "killed" for _, verdict, _ in results)
    print(f"{o.list} mutants killed={killed} survived={survived}")
    print(f"mutants-{o.list} passed={max(0, len(results) - len(bad))} failed={len(bad)}"
          + (f" ({' '.join(bad)})" if bad else ""))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
