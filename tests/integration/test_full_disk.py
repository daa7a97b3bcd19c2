"""A disk that is full: submissions are refused, ends find room, voltd starts and ends on it."""

import os
import signal
import subprocess

import pytest

from conftest import LIMIT, needs_root, until
from jobs import JOBS, ended, get, sh, submit


def config(slots=2):
    return f"[Queue]\nSlots={slots}\n"


@pytest.fixture
def small(private):
    """A daemon whose state is on a file system of 24 MiB."""
    private.state.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "none", private.state],
                          capture_output=True)
    assert done.returncode == 0, done
    yield private
    private.close()
    private.kill_rest()
    subprocess.run(["umount", "-l", private.state], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as f:
        with pytest.raises(OSError):
            while True:
                f.write(bytes(4096))


@needs_root
def test_a_full_disk(small):
    small.start(config=config(slots=4))
    ballast = small.state / "ballast"
    with small.connect() as v:
        ids = [submit(v, sh(f"until [ -e {small.dir}/go ]; do sleep 0.02; done; exit {i}",
                            output="null")) for i in range(4)]
        queued = [submit(v, sh(f"exit {i}", output="null")) for i in range(20)]
        until(lambda: all(get(v, i)["state"] == "running" for i in ids))
        fill(ballast)
        filler = {"kind": "noop", "env": {"A": "x" * 100000}}

        def refusal():
            filler["env"]["B"] = str(len(seen))
            seen.append(v.call(JOBS + "Submit", {"spec": filler}))
            return "error" in seen[-1]

        seen = []
        until(refusal, "the disk to be full")
        assert seen[-1]["error"] == JOBS + "StoreUnavailable"
        assert "full" in seen[-1]["parameters"]["reason"]
        # What had been taken goes on: ends are kept, waiting jobs start, questions are answered.
        (small.dir / "go").touch()
        assert [ended(v, i)["exit_code"] for i in ids] == [0, 1, 2, 3]
        assert [ended(v, i)["exit_code"] for i in queued] == list(range(20))
        accepted = [a["parameters"]["id"] for a in seen if "error" not in a]
        small.stop(signal.SIGKILL)
        small.start()
    with small.connect() as v:
        assert [get(v, i)["exit_code"] for i in ids] == [0, 1, 2, 3]
        assert [get(v, i)["exit_code"] for i in queued] == list(range(20))
        for i in accepted:
            assert ended(v, i)["result"] == "success"
        ballast.unlink()
        until(lambda: "error" not in v.call(JOBS + "Submit", {"spec": {"kind": "noop"}}))


@needs_root
def test_a_disk_that_is_full_at_the_start(small):
    """The log says so, and how much room is asked for; with that room jobs are taken."""
    ballast = small.state / "ballast"
    with open(ballast, "wb") as f:
        os.posix_fallocate(f.fileno(), 0, 20 << 20)
    small.start(config=config())
    r = small.submit("true")
    assert r.code == 125 and "the disk of the store is full; the log of voltd says where" in r.err, r
    said = f"the disk of {small.state} is full: no jobs are taken until 8 MiB are free there"
    assert said in small.log.read_text()
    ballast.unlink()
    until(lambda: small.submit("--wait", "true").code == 0)
    until(lambda: "there is room on the disk again: jobs are taken" in small.log.read_text())


@needs_root
def test_the_reserve_is_enough_to_start(small):
    """Others have filled the disk while there was no voltd: what it holds back is for this."""
    small.start(config=config())
    ident = small.submit("--shell", f"until [ -e {small.dir}/go ]; do sleep 0.02; done; exit 7",
                         "--output=null").out.strip()
    until(lambda: small.job(ident)["state"] == "running")
    small.stop()
    fill(small.state / "ballast")
    small.start()
    assert "are free there" in small.log.read_text()
    assert small.submit("true").code == 125
    (small.dir / "go").touch()
    assert small.ctl("wait", ident).code == 7
    small.stop(signal.SIGKILL)
    small.start()
    assert small.ctl("wait", ident).code == 7
    (small.state / "ballast").unlink()
    until(lambda: small.submit("--wait", "true").code == 0)


@needs_root
def test_no_room_to_open_the_store(small):
    """It is the disk that is full, not an error of it."""
    small.start(config=config())
    small.stop()
    (small.state / "reserve").unlink()
    fill(small.state / "ballast")
    small.start(wait=False)
    assert small.process.wait(LIMIT) == 1
    assert "jobs.1.db: the disk is full" in small.log.read_text()
