"""A disk that is full, fails, and comes back; and calls and allocations of voltd that fail.

What was acknowledged before, meanwhile and afterwards is there; what is refused is refused
in words. Where a sync or a write of the store fails, voltd ends and comes back; otherwise it
stays up."""

import base64
import contextlib
import errno
import os
import shutil
import subprocess

import pytest

from client import Load
from faults import DISK, FIND, FLUSH, READ, SYNC, VOLTD
from house import SANITIZER, until
from sweeps import OF_A_LIFE, OF_VOLTD, faulty_house, finish, run_job, sweep_lives, sweep_voltd
from test_chaos import SEED, passed
from test_faults import faulty  # noqa: F401 (fixture)
from torture import judge


@pytest.mark.fault_random
@pytest.mark.parametrize("error, groups, every", [
    (errno.ENOSPC, DISK, 2), (errno.EIO, SYNC, 3), (errno.EIO, SYNC | DISK, 20)],
    ids=["full", "fsync", "failing"])
def test_bad_disk(faulty, error, groups, every):  # noqa: F811
    load = Load(faulty, SEED, backlog=60, errors=True).start()
    load.stop.wait(0.3)
    for _ in range(3):
        faulty.faults.rate([VOLTD], groups, error, every)
        load.stop.wait(0.3)
        until(lambda: faulty.faults.fired()[0] > 0, "the disk to fail")
        faulty.faults.disarm()
        before = len(faulty.history.acks)
        until(lambda: len(faulty.history.acks) > before + 10, "submissions to be taken again")
    load.end()
    faulty.kill_voltd()
    passed(faulty, judge(faulty, load))


def test_slow_disk(faulty):  # noqa: F811
    """Each sync takes its time, then one does not return at all. Who asks is answered meanwhile;
    groups grow instead."""
    load = Load(faulty, SEED, backlog=60).start()
    load.stop.wait(0.2)
    faulty.faults.slow([VOLTD], SYNC, 0.1)
    until(lambda: faulty.faults.fired()[0] > 8, "some slow syncs")
    faulty.faults.stick([VOLTD], FLUSH)
    until(lambda: faulty.faults.fired()[0] > 0, "a sync that does not return")
    with faulty.connect() as v:
        for _ in range(50):
            v.ok("org.voltd.jobs.List", {"limit": 1})
    faulty.faults.disarm()
    load.end()
    passed(faulty, judge(faulty, load))


@pytest.fixture
def lone():
    """A voltd of one worker, whose calls can be made to hang."""
    house = faulty_house(workers=1)
    yield house
    house.faults.disarm()
    house.stop_guard()
    house.kill_rest()


@contextlib.contextmanager
def stuck(house, groups):
    """Such a call of voltd does not return; others are answered meanwhile."""
    house.faults.stick([VOLTD], groups)
    yield
    until(lambda: house.faults.fired()[0] > 0, "a call that does not return")
    with house.connect() as v:
        for _ in range(50):
            v.ok("org.voltd.jobs.List", {"limit": 1})
    house.faults.disarm()


def test_output_on_a_disk_that_does_not_answer(lone):
    """Who reads it waits: a file, what the store has, what is followed; and the end of a job, whose
    output is read for the store."""
    gates = [lone.dir / name for name in ("gate", "another")]
    for gate in gates:
        os.mkfifo(gate)
    with lone.connect() as v, lone.connect() as reader:
        def submit(text):
            return v.ok("org.voltd.jobs.Submit", {"spec": {"shell": text}})["id"]

        def read(ident):
            reader.send("org.voltd.logs.Read", {"id": ident})

        def text():
            return base64.b64decode(reader.recv()["parameters"]["data"])

        little = submit("echo little")
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [little]})
        large = submit(f"echo large; head -c 9999 /dev/zero; cat {gates[0]}; sleep 600")
        until(lambda: lone.ctl("logs", large).out.startswith("large"), "it to print")
        for ident, begin in (little, b"little"), (large, b"large"):
            for groups in FIND, READ:
                with stuck(lone, groups):
                    read(ident)
                assert text().startswith(begin)
        reader.send("org.voltd.logs.Read", {"id": large}, more=True)
        until(lambda: reader.recv()["parameters"]["next_offset"] == 6 + 9999, "all to be read")
        with stuck(lone, READ):
            gates[0].write_text("so ")
        assert text() == b"so "
        ends = submit(f"cat {gates[1]}; echo the end")
        until(lambda: v.ok("org.voltd.jobs.Get", {"id": ends})["job"]["state"] == "running",
              "it to run")
        with stuck(lone, READ):
            gates[1].write_text("so ")
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [ends]})
        assert last["jobs"][0]["result"] == "success", last
        assert lone.ctl("logs", ends).out == "so the end\n"


def test_records_on_a_disk_that_does_not_answer(lone):
    """Where the state is, the records may be: a job starts there later; others are answered."""
    with lone.connect() as v:
        with stuck(lone, FIND):
            ident = v.ok("org.voltd.jobs.Submit", {"spec": {"argv": ["sleep", "600"]}})["id"]
        until(lambda: v.ok("org.voltd.jobs.Get", {"id": ident})["job"]["state"] == "running",
              "it to run")


@pytest.mark.parametrize("what, step", [
    pytest.param("memory", 7, marks=pytest.mark.skipif(
        bool(SANITIZER), reason="sanitizers allocate themselves")),
    ("descriptors", 1), ("io", 1)])
def test_nth_call_of_voltd(faulty, what, step):  # noqa: F811
    """`make chaos` fails every allocation."""
    fired = sweep_voltd(faulty, *OF_VOLTD[what], step)
    passed(faulty, finish(faulty))
    assert fired > 10


@pytest.mark.parametrize("what, step", [("full", 7), ("write", 7), ("sync", 1)])
def test_nth_disk_call_of_a_life(faulty, what, step):  # noqa: F811
    """`make chaos` fails more of them."""
    fired = sweep_lives(faulty, *OF_A_LIFE[what], step)
    passed(faulty, finish(faulty))
    assert fired > 8


def test_what_a_refused_job_had(faulty):  # noqa: F811
    """It had its slot and its output file before the store refused it: both are free again."""
    spec = {"argv": ["sleep", "1000"]}
    with faulty.connect() as v:
        v.ok("org.voltd.jobs.Submit", {"spec": {"kind": "noop"}})   # ids are reserved by the block
        until(faulty.quiet, "it to end")
        faulty.faults.rate([VOLTD], DISK, errno.ENOSPC, 1)
        reply = v.call("org.voltd.jobs.Submit", {"spec": spec})
        assert reply["error"] == "org.voltd.jobs.StoreUnavailable", reply
        until(lambda: not list((faulty.state / "output").rglob("*.out")), "its output file to go")
        faulty.faults.disarm()
        until(lambda: "error" not in v.call("org.voltd.jobs.Submit", {"spec": spec}), "a job to be taken")
        for _ in range(faulty.slots - 1):
            v.ok("org.voltd.jobs.Submit", {"spec": spec})
        until(lambda: faulty.stats()["jobs"]["running"] == faulty.slots, "all slots to be in use")
        v.ok("org.voltd.jobs.Cancel", {"filter": {}})
    until(faulty.quiet, "every job to end")
    passed(faulty, faulty.findings)


def voltd_once(house, *options):
    return subprocess.run([house.bin / "voltd", "--user", f"--runtime-dir={house.runtime}",
                           f"--state-dir={house.state}", *options], env=house.env,
                          capture_output=True, text=True)


@pytest.mark.parametrize("store", ["store", "no store"])
def test_accepting_a_store_when_the_nth_call_fails(faulty, store):  # noqa: F811
    """The store is as it was, so that the right witness finds it right; or it can be accepted
    again. What was told to be accepted is."""
    run_job(faulty, 1)
    faulty.stop_guard()
    faulty.close()
    saved, witness = faulty.dir / "saved", faulty.state / "witness"
    right = witness.read_bytes()
    if store == "no store":
        for path in faulty.state.glob("jobs.*"):
            path.unlink()
    else:
        witness.write_bytes(b"damaged")
    shutil.copytree(faulty.state, saved)
    failed = 0
    for n in range(1, 400):
        shutil.rmtree(faulty.state)
        shutil.copytree(saved, faulty.state)
        faulty.faults.nth(VOLTD, n, errno.EIO)
        first = voltd_once(faulty, "--accept-store")
        fired, _, call = faulty.faults.fired()
        faulty.faults.disarm()
        assert first.returncode in (0, 1), (n, call, first)
        if first.returncode:
            failed += 1
            assert first.stderr, (n, call)
            if store == "no store":
                assert not list(faulty.state.glob("jobs.*.db")), (n, call)
            else:
                left = witness.read_bytes()
                witness.write_bytes(right)
                assert ": sound" in voltd_once(faulty, "--check-store").stdout, (n, call, first)
                witness.write_bytes(left)
            assert "accepted" in voltd_once(faulty, "--accept-store").stdout, (n, call, first)
        assert ": sound" in voltd_once(faulty, "--check-store").stdout, (n, call, first)
        if not fired:
            break
    assert not fired and failed > 10
    shutil.rmtree(faulty.dir)
