"""voltctl clean: ended jobs go, with their output, their keys and their rows; others stay."""

import contextlib
import os
import signal
import sqlite3

import pytest

from conftest import until
from jobs import JOBS, sh, submit, wait


def ids(v, **filter):
    return [j["id"] for j in v.ok(JOBS + "List", {"filter": filter})["jobs"]]


def sound(daemon):
    """The store of a stopped daemon."""
    r = daemon.run("voltd", "--user", "--check-store", f"--state-dir={daemon.state}",
                   f"--runtime-dir={daemon.runtime}")
    assert r.code == 0, r


def size(path):
    try:
        return os.stat(path).st_size
    except FileNotFoundError:   # it goes just now
        return 0


def output(daemon):
    """The files with something in them."""
    return [path for folder, _, names in os.walk(daemon.state / "output") for name in names
            if size(path := os.path.join(folder, name))]


def test_all_that_has_ended(private):
    private.start(config="[Queue]\nSlots=2\n")
    with private.connect() as v:
        done = [submit(v, **sh("head -c 100000 /dev/zero; exit 3", key="k")),
                submit(v, kind="noop"),
                submit(v, **sh("echo $VOLT_ARRAY_INDEX; head -c 100000 /dev/zero"),
                       array={"first": 1, "last": 20})]
        wait(v, *done)
        live = [submit(v, **sh("echo up; exec sleep 1000")) for _ in range(3)]
        until(lambda: len(ids(v, states=["running"])) == 2)
        assert len(output(private)) > 20
        r = private.ctl("clean", "--all")
        assert r.code == 0 and "3 jobs removed" in r.err and r.out == "", r
        assert ids(v) == live
        for ident in done:
            assert v.call(JOBS + "Get", {"id": ident})["error"] == JOBS + "NoSuchJob"
        until(lambda: len(output(private)) <= 2, "the output to go")
        assert private.ctl("clean", "--all", "--json").json == {"count": 0}
        again = v.ok(JOBS + "Submit", {"spec": sh("exit 4", key="k")})  # another job, free key
        assert again["created"]
        v.ok(JOBS + "Cancel", {"filter": {}})
        wait(v, *live)
    private.stop(signal.SIGKILL)
    sound(private)
    private.start()
    with private.connect() as v:
        assert ids(v) == [*live, again["id"]]


def test_what_is_kept(private):
    """Of memory and of what only the store has."""
    private.start(config="[Store]\nKeepEndedJobs=5\n")
    with private.connect() as v:
        specs = [{"kind": "noop", "name": f"n{i % 3}"} for i in range(300)]
        idents = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wait(v, *idents)
        failed = submit(v, **sh("exit 1"))
        wait(v, failed)

        def clean(*args, count):
            assert private.ctl("clean", "--json", *args).json == {"count": count}, args
        clean("--older-than=1h", count=0)
        clean("--state=queued", count=0)
        clean("--result=signal", count=0)
        clean("--name=n1", "--keep=90", count=10)
        assert ids(v, name="n1") == idents[31::3][-90:]
        clean("--name=n1", "--result=success", count=90)
        clean(idents[0], idents[2], failed, count=3)
        clean("--keep=150", count=48)
        left = ids(v)
        assert left == [i for k, i in enumerate(idents) if k % 3 != 1][-150:]
        private.stop(signal.SIGKILL)
        sound(private)
        private.start()
    with private.connect() as v:
        assert ids(v) == left
        assert private.ctl("clean", "-a", "--quiet").err == "" and ids(v) == []


def test_what_cannot_be_forgotten(private):
    private.start(config="[Queue]\nSlots=2\n")
    with private.connect() as v:
        running = submit(v, **sh("exec sleep 1000"))
        array = submit(v, kind="noop", array={"first": 1, "last": 3})
        wait(v, array)
        for ident, why in ((running, "has not ended"), (f"{array}_2", "as a whole")):
            r = private.ctl("clean", array, ident)
            assert r.code == 1 and why in r.err, r
        assert private.ctl("clean", array, "999").code == 4
        assert array in ids(v)  # one that cannot be changes nothing
        for args, code in (["--older-than=x"], 2), (["--keep=-1"], 2), (["job"], 4):  # nor the name of one
            assert private.ctl("clean", *args).code == code
        assert private.ctl("clean", array).code == 0


def test_nothing_else_is_lost_when_voltd_dies(private):
    private.start()
    with private.connect() as v:
        specs = [{"kind": "noop", "key": f"k{i}"} for i in range(2000)]
        idents = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wait(v, *idents)
        keep = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop", "name": "keep"}] * 50})["ids"]
        wait(v, *keep)
        v.send(JOBS + "Forget", {"keep": 50})
        until(lambda: kept(private) < 2050, "the first of them to be gone for good")
    private.stop(signal.SIGKILL)
    sound(private)
    private.start()
    with private.connect() as v:
        assert ids(v, name="keep") == keep
        left = len(ids_of(private))
        assert 50 <= left < 2050
        assert v.ok(JOBS + "Forget", {"keep": 50})["count"] == left - 50


def kept(daemon):
    """The jobs that the store has now: more may be gone from memory."""
    with contextlib.closing(sqlite3.connect(daemon.state / "jobs.1.db")) as db:
        return db.execute("SELECT count(*) FROM job").fetchone()[0]


def ids_of(daemon):
    with daemon.connect() as v:
        found, cursor = [], {}
        while cursor is not None:
            page = v.ok(JOBS + "List", cursor)
            found += page["jobs"]
            cursor = {"cursor": page["cursor"]} if page.get("cursor") else None
        return found
