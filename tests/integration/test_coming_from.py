"""volt-coming-from(7), and the examples that volt-submit(1) and voltctl(1) begin with: each line of its tables does what it says, and what fingers type of the other
tool does nothing here and names the line."""

import re
import shlex
import subprocess

import pytest

from conftest import BIN, LIMIT, ROOT, until
from jobs import get, sh, submit, wait

PAGE = (ROOT / "client/man/volt-coming-from.7").read_text().replace("\\-", "-").replace("\\e", "\\")
TABLES = {name: [re.split(r"  +", line) for line in table.splitlines()]
          for name, table in re.findall(r"^\.Sh ([^\n]+)\n\.Bd -literal\n(.*?)^\.Ed$", PAGE, re.M | re.S)}
# Tools whose words are typed behind volt-submit or voltctl; those of the others name files and pipes.
TYPED = ["PUEUE", "TASK-SPOOLER", "SLURM"]
# What a job is to do for a verb; of others it is held.
RUNS = {"pause", "kill", "resume"}
ENDED = {"clean", "logs", "retry", "wait"}
# What the same letters and verbs are here is another thing; the page says so of the letters.
OTHERS_HERE = {"ts -d", "ts -n", "ts -f", "ts -w", "ts -E", "pueue edit", "pueue kill", "srun"}
LONG = {"-n": "--name", "-q": "--queue", "-p": "--priority", "-F": "--follow", "-w": "--wait"}


@pytest.fixture
def home(private):
    for name in "build", "check", "a", "b", "a.sh", "b.sh":
        (private.dir / name).write_text("#!/bin/sh\n#SBATCH --job-name=script\necho done\n")
        (private.dir / name).chmod(0o755)
    (private.dir / "list").write_text("one\ntwo\n")
    (private.dir / "commands").write_text("./a one\n./b | cat\n")
    private.env["PATH"] = f"{BIN}:/usr/bin:/bin"
    return private.start(config="[Queue]\nSlots=4\n")


def typed(daemon, line):
    return subprocess.run(["bash", "-c", line], env=daemon.env, cwd=daemon.dir, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT)


def job_for(v, daemon, words):
    verb = words[1] if words[0] == "voltctl" and words[1:] else "list"
    if verb in RUNS:
        job = submit(v, sh("trap : USR1; while :; do sleep 0.1; done"))
        until(lambda: get(v, job)["state"] == "running", "it to run")
        if verb == "resume":
            assert daemon.ctl("pause", job).code == 0
        return job
    job = submit(v, sh("echo done"), hold=verb not in ENDED)
    if verb in ENDED:
        wait(v, job)
    return job


def with_ids(line, v, job):
    """The line with ids of jobs that there are."""
    ids = {"ID": job, "OTHER": submit(v, sh("true"), hold=True),
           "ARRAY": submit(v, sh("true"), hold=True, array={"first": 1, "last": 9})}
    return re.sub(r"(?<![a-z])(ID|OTHER|ARRAY)(?![a-z])", lambda m: ids[m[0]], line)


@pytest.mark.parametrize("tool", TABLES)
def test_each_line_works(home, tool):
    assert len(TABLES[tool]) > 20 and set(TABLES) == {*TYPED, "GNU PARALLEL AND AT"}
    for theirs, ours in TABLES[tool]:
        with home.connect() as v:
            line = with_ids(ours, v, job_for(v, home, ours.split()))
        if line == "voltctl wait --all":
            assert home.ctl("cancel", "--all").code == 0
        if line == "voltctl retry --all --failed":  # the cancelled ones that these waited for stay as they are
            home.ctl("clean", "--result=dependency")
        r = typed(home, line)
        assert r.returncode == 0, (theirs, ours, r)
        if "shutdown" in line:
            assert home.process.wait(LIMIT) == 0
            home.start()
        home.ctl("cancel", "--all")


def here(theirs):
    """The same words, as fingers that know of volt-submit and voltctl would type them."""
    tool, *words = shlex.split(theirs)
    if tool == "pueue":
        return ["volt-submit", *words[1:]] if words[0] == "add" else ["voltctl", *words]
    if tool == "sbatch" or (tool == "ts" and words and words[-1].startswith("./")):
        return ["volt-submit", *words]
    return ["voltctl", *words] if tool == "ts" else ["voltctl", tool, *words]


def names(ours, typed):
    """What is to be said of it: the verb, if another one was typed; or the first option."""
    words = shlex.split(ours)
    if words[0] == "voltctl" and words[1:2] != typed[1:2]:
        return " ".join(words[:2])
    (option, *_) = [w.split("=")[0] for w in words if w.startswith("-") and w != "--"]
    return LONG.get(option, option)


def in_full(line):
    """The words of a line, with long options and their values apart."""
    words = [LONG.get(w, w) for w in shlex.split(line)]
    return [part for w in words for part in (w.split("=", 1) if w.startswith("--") else [w])]


@pytest.mark.parametrize("tool", TYPED)
def test_what_fingers_type_works_or_names_the_line(home, tool):
    assert home.ctl("queue", "create", "gpu").code == 0
    for theirs, ours in TABLES[tool]:
        with home.connect() as v:
            both = with_ids(f"{theirs}\n{ours}", v, job_for(v, home, ours.split()))
        line = both.split("\n")[1]
        words = here(both.split("\n")[0])
        r = home.run(words[0], *words[1:])
        if r.code != 0 and not any(theirs.startswith(x) for x in OTHERS_HERE):
            assert r.code in (2, 125, 127) and r.out == "" and names(ours, words) in r.err, (theirs, ours, r)
            if theirs.startswith("scontrol"):  # as it is to be typed, with the id
                (said,) = re.findall(r"use `(.*)`$", r.err, re.M)
                assert in_full(said) == in_full(line), (theirs, ours, r)
        home.ctl("cancel", "--all")


def examples(page):
    text = (ROOT / "client/man" / page).read_text().replace("\\-", "-")
    return re.search(r"^\.Ss Examples\n\.Bd -literal\n(.*?)^\.Ed$", text, re.M | re.S)[1].splitlines()


@pytest.mark.parametrize("page", ["volt-submit.1", "voltctl.1"])
def test_each_example_works(home, page):
    for name in "step", "backup.sh", "summary.sh", "fetch.sh", "migrate.sh", "nightly.sh":
        (home.dir / name).write_text("#!/bin/sh\necho done\n")
        (home.dir / name).chmod(0o755)
    (home.dir / "commands.txt").write_text("echo one\necho two | cat\n")
    (home.dir / "data.txt").write_text("b\na\n")
    assert home.submit("-w", "-n", "build", "./build").code == 0
    assert len(examples(page)) == 12
    for line in examples(page):
        with home.connect() as v:
            ready = with_ids(line, v, job_for(v, home, line.split()))
        r = typed(home, ready)
        assert r.returncode == 0, (line, r)
        assert r.stdout or line.split()[1] in ("cancel", "hold", "retry", "queue", "clean", "wait"), (line, r)
