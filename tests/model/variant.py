"""Changed copies of the tree, built and searched by the models: for mutants.py, weaken.py."""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(TREE, "build", "variants")
JOBS = 2


def models():
    """All models, fast ones first. Their objects in build/model are up to date: see model.mk."""
    names = re.findall(r"^MODEL_([a-z]\w*) ", open(os.path.join(HERE, "model.mk")).read(), re.M)
    slow = ["driver", "runtime", "sched"]
    return [n for n in names if n not in slow and n != "litmus"] + slow


def read_source(path):
    with open(os.path.join(TREE, path)) as f:
        return f.read()


def included():
    """What the Makefile includes, besides the models' own part."""
    found = re.findall(r"^include (\S+\.mk)$", read_source("Makefile"), re.M)
    return [f for f in found if not f.startswith("tests/model/")]


class Variant:
    """A tree of links with some files replaced, and with the objects of the real one, so that
    only what depends on these is compiled."""

    def __init__(self, name, files):
        self.tree = os.path.join(WORK, name)
        shutil.rmtree(self.tree, ignore_errors=True)
        os.makedirs(os.path.join(self.tree, "build"))
        for part in ["lib", "tests/model", "Makefile"] + included():
            target = os.path.join(self.tree, part)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            self.run("cp", "-rs", os.path.join(TREE, part), target)
        self.run("cp", "-a", os.path.join(TREE, "build/model"), os.path.join(self.tree, "build"))
        for path, source in files.items():
            os.unlink(os.path.join(self.tree, path))
            with open(os.path.join(self.tree, path), "w") as f:
                f.write(source)

    def run(self, *command):
        return subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=True)

    def remove(self):
        shutil.rmtree(self.tree)

    def affects(self, model):
        command = ["make", "-q", f"build/model/{model}"]
        r = subprocess.run(command, cwd=self.tree, capture_output=True, text=True)
        if r.returncode > 1:
            raise RuntimeError(r.stderr)
        return r.returncode == 1

    def build(self, model):
        """None, or what the compiler said. A change may leave something unused: no warnings."""
        command = ["make", "-s", f"build/model/{model}", "WARN=-w"]
        r = subprocess.run(command, cwd=self.tree, capture_output=True, text=True)
        return r.stderr if r.returncode != 0 else None

    def search(self, model, bounds):
        """What the model, or MODEL/SCENARIO, found, and for how many executions it looked; or
        None."""
        model, _, scenario = model.partition("/")
        command = [f"build/model/{model}", "--first"] + bounds
        if scenario:
            command += ["--scenario", scenario]
        try:
            r = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return None
        hit = re.search(r"^(\S+) +FAIL +(\d+) executions.*\n +(.*)$", r.stdout, re.M)
        if hit:
            return hit.groups()
        if r.returncode != 0:
            return f"{model}/?", "0", f"ended with status {r.returncode}"
        return None


def each(work, items):
    """work(item) for all items, JOBS at a time; the results in order, as they come."""
    with ThreadPoolExecutor(JOBS) as pool:
        yield from pool.map(work, items)
