"""A store that is not the one it was is refused, until somebody chooses."""

import os
import shutil
import signal
import sqlite3
import subprocess

import pytest

from conftest import BIN, LIMIT, until
from jobs import ended, get, listed, records, sh, submit, wait

SQLITE = "[Queue]\nSlots=1\n"


def refused(private):
    """Starts a voltd that must not start: its exit status and what it said."""
    before = len(private.log.read_text())
    private.start(wait=False)
    code = private.process.wait(LIMIT)
    private.process = None
    return code, private.log.read_text()[before:]


def voltd(private, option):
    return subprocess.run([BIN / "voltd", "--user", f"--runtime-dir={private.runtime}",
                           f"--state-dir={private.state}", option],
                          capture_output=True, text=True, env=private.env, timeout=LIMIT)


def accept(private):
    r = voltd(private, "--accept-store")
    assert r.returncode == 0 and r.stderr == "", r
    return r.stdout


def files(private):
    """Of the store; the index of the journal is made anew."""
    return [p for p in sorted(private.state.glob("jobs.*")) if not p.name.endswith("-shm")]


def copy(private, name):
    """Of the store as it is, also of one in use."""
    saved = private.dir / name
    saved.mkdir()
    for p in files(private):
        shutil.copy(p, saved)
    return saved


def put_back(private, saved):
    for p in private.state.glob("jobs.*"):
        p.unlink()
    for p in saved.iterdir():
        shutil.copy(p, private.state)


def seen(private):
    """What the witness says: starts and facts."""
    return tuple(int(n) for n in (private.state / "witness").read_text().split()[2:4])


def jobs_that_run(private, v, n):
    """Each leaves a line in a file, which is returned, and has ended."""
    ran = private.dir / "ran"
    ids = [submit(v, sh(f"echo $VOLT_JOB_ID >>{ran}")) for _ in range(n)]
    wait(v, *ids)
    return ran


def contents(private):
    """An empty journal is none."""
    return {p.name: p.read_bytes() for p in [*files(private), private.state / "witness"]
            if p.stat().st_size or p.suffix != ".db-wal"}


def traces(private):
    """Of the store, its journal and the index of that: bytes, and when they were written."""
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns, p.stat().st_ino)
            for p in private.state.glob("jobs.*")}


def is_refused(private, *words):
    """By a start, which touches nothing, and by --check-store."""
    before, untouched = contents(private), traces(private)
    code, said = refused(private)
    assert code == 2, said
    for word in ["voltd --accept-store", "jobs may be missing", "may run twice", *words]:
        assert word in said, (word, said)
    assert traces(private) == untouched
    r = voltd(private, "--check-store")
    assert r.returncode == 1 and words[-1] in r.stdout, r
    assert traces(private) == untouched and contents(private) == before


def is_sound(private):
    private.start()
    with private.connect() as v:
        assert ended(v, submit(v, {"kind": "noop"}))["result"] == "success"
    private.stop()
    assert voltd(private, "--check-store").stdout == f"{private.state}: sound\n"


def test_a_store_that_was_removed(private):
    private.start(config=SQLITE)
    with private.connect() as v:
        jobs_that_run(private, v, 3)
    private.stop()
    saved = copy(private, "right")
    starts, facts = seen(private)
    assert starts == 1 and facts >= 9, (starts, facts)
    for p in private.state.glob("jobs.*"):
        p.unlink()
    is_refused(private, f"seen start 1, fact {facts}: the store was removed")
    assert files(private) == []  # none is begun
    put_back(private, saved)
    is_sound(private)
    for p in private.state.glob("jobs.*"):
        p.unlink()
    assert f"accepted an empty store (start 0, fact 0) in the place of that which its witness " \
        f"has seen (start 2, fact " in accept(private)
    private.start()
    with private.connect() as v:
        assert listed(v) == []
        assert int(submit(v, {"kind": "noop"})) > 4  # ids are not given again


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_an_older_copy(private, end):
    """Jobs that wait in it have run since. The right one is taken, and so is what somebody
    accepts; then it is the other one that is refused."""
    private.start(config=SQLITE)
    go = private.dir / "go"
    with private.connect() as v:
        submit(v, sh(f"until [ -e {go} ]; do sleep 0.02; done"))
        ran = private.dir / "ran"
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID >>{ran}")) for _ in range(5)]
        saved = copy(private, "older")
        go.touch()
        wait(v, *ids)
    if end == "crash":
        private.stop(signal.SIGKILL)
        private.start()
        # Beside a record the job would not run again.
        until(lambda: not records(private), "records of ended jobs to go")
        private.stop(signal.SIGKILL)
    else:
        private.stop()
    right = copy(private, "right")
    starts, facts = seen(private)
    put_back(private, saved)
    is_refused(private, "the store has come to start 1, fact ",
               f"its witness has seen start {starts}, fact {facts}: an older copy was put there")
    put_back(private, right)
    private.start()
    with private.connect() as v:
        assert get(v, ids[4])["result"] == "success"
    private.stop()
    right = copy(private, "right now")
    put_back(private, saved)
    assert "accepted the store (start 1, fact " in accept(private)
    assert "nothing to accept" in accept(private)
    private.start()
    with private.connect() as v:
        wait(v, *ids)
    assert sorted(ran.read_text().split()) == sorted(2 * ids)  # as it was said
    private.stop()
    put_back(private, right)
    is_refused(private, "another store was put there")


def test_a_copy_of_before_the_latest_start(private):
    """Though no fact has followed: it did not see that start."""
    private.start(config=SQLITE)
    private.submit("--wait", "true")
    private.stop()
    saved = copy(private, "older")
    facts = seen(private)[1]
    private.start()
    private.stop(signal.SIGKILL)
    put_back(private, saved)
    is_refused(private, f"come to start 1, fact {facts}; its witness has seen start 2, fact {facts}")


def test_a_copy_of_before_the_latest_block_of_ids(private):
    """Of a voltd that did not stop in order. What is behind the latest witness is not seen."""
    private.start(config=SQLITE)
    with private.connect() as v:
        submit(v, {"kind": "noop", "array": {"first": 1, "last": 10}})
        wait(v, "1")
        saved = copy(private, "older")
        first = seen(private)
        for _ in range(3):
            v.ok("org.voltd.jobs.SubmitBatch", {"specs": [{"kind": "noop"}] * 1000})
        starts, facts = seen(private)
        assert starts == first[0] and facts > first[1]
        later = copy(private, "later")
        wait(v, submit(v, {"kind": "noop"}))
    private.stop(signal.SIGKILL)
    put_back(private, saved)
    is_refused(private, f"its witness has seen start 1, fact {facts}: an older copy")
    put_back(private, later)
    is_sound(private)


@pytest.mark.parametrize("text", [b"", b"x", b"1", None])
def test_a_damaged_witness(private, text):
    """An older store may be behind it. One that is missing refuses none, and is made."""
    private.start(config=SQLITE)
    private.submit("--wait", "true")
    private.stop()
    path = private.state / "witness"
    sound = path.read_bytes()
    path.write_bytes(text if text is not None else sound.replace(b"1 ", b"2 ", 1))
    is_refused(private, "witness is damaged")
    assert "accepted the store" in accept(private)
    is_sound(private)
    path.unlink()
    is_sound(private)
    assert path.exists()


def test_a_store_of_an_earlier_version(private):
    """It has neither an id nor a witness. It gets both; a copy of it is another store then."""
    private.start(config=SQLITE)
    private.submit("--wait", "true")
    private.stop()
    db = sqlite3.connect(private.state / "jobs.1.db")
    db.execute("DELETE FROM meta WHERE name='store'")
    db.commit()
    db.close()
    is_refused(private, "another store was put there")
    (private.state / "witness").unlink()
    saved = copy(private, "before")
    is_sound(private)
    put_back(private, saved)
    is_refused(private, "another store was put there")


def test_a_witness_that_cannot_be_written(private):
    """It is said, once; jobs do not wait for it; the next one is written."""
    private.state.mkdir(mode=0o700)
    (private.state / "witness.new").mkdir()
    private.start(config=SQLITE)
    for _ in range(2):
        with private.connect() as v:
            v.ok("org.voltd.jobs.SubmitBatch", {"specs": [{"kind": "noop"}] * 2000})
    assert private.log.read_text().count(
        f"{private.state}/witness.new: Is a directory: an older copy") == 1
    (private.state / "witness.new").rmdir()
    private.stop()
    assert seen(private)[1] >= 4000
    is_sound(private)


@pytest.mark.parametrize("mode", ["--user", "--system"])
def test_the_line_to_run_is_said(private, mode):
    """With mode, directories and account; it does what is needed as it stands."""
    directory = private.dir / "it's here"  # a shell has its own opinion of that
    private.runtime, private.state = directory / "run", directory / "state"
    private.socket, private.control = (private.runtime / name for name in ("voltd.sock", "control.sock"))
    private.env["VOLT_ADDRESS"] = f"unix:{private.socket}"
    private.mode = mode
    if mode == "--system":
        private.as_service()
    private.start(config=SQLITE)
    private.stop()
    for p in files(private):
        p.unlink()
    code, said = refused(private)
    assert code == 2
    line = said.split("jobs may run twice: ")[1].splitlines()[0]
    if mode == "--system" and os.getuid() != 0:
        assert line.startswith(("runuser -u ", "setpriv --reuid="))
        line = line.split(" -- " if line.startswith("runuser") else "--clear-groups ", 1)[1]
    r = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=LIMIT,
                       cwd=private.dir)
    assert r.returncode == 0 and "accepted an empty store" in r.stdout, (line, r)
    private.start()


def test_the_options_exclude_each_other(private):
    r = subprocess.run([BIN / "voltd", "--check-store", "--accept-store"], capture_output=True,
                       text=True, env=private.env, timeout=LIMIT)
    assert r.returncode == 2 and "exclude each other" in r.stderr
    r = voltd(private, "--accept-store")
    assert r.returncode == 1 and "No such file" in r.stderr
    private.start(config=SQLITE)
    r = voltd(private, "--accept-store")
    assert r.returncode == 3 and f"another voltd (pid {private.process.pid})" in r.stderr
