"""Calls that fail: the n-th of keeper, shim, child and voltd, one after the other; storms of
EINTR and of one-byte transfers; a clock that jumps. Each failure has a clear end, and none
that did not happen."""

import base64
import errno
import os
import pathlib
import random

import pytest

from client import Load
from faults import BIRTH, CHILD, KEEPER, KILLER, MEMORY, SHIM, SLOW, VOLTD, WATCH
from house import Gate, each_job, until
from ledger import ENTRY
from sweeps import LARGE, faulty_house, finish, run_job
from test_chaos import SEED, passed
from test_link import all_right, submit
from torture import judge

KEPT = (errno.EIO, errno.ENOMEM, errno.EMFILE)
MOST = 400  # calls of one process on the way of one job: a sweep ends before


@pytest.fixture
def faulty():
    house = faulty_house()
    yield house
    house.stop_guard()
    house.kill_rest()


def sweep(house, role, error, judge_one, argv=None, **spec):
    """Fails the n-th call of the role for n = 1, 2, 3, ... until no n-th call is made. Each time
    in a new shim: what one does after its job may come after the end has been seen."""
    house.faults.late_births()
    for n in range(1, MOST):
        until(lambda: not house.pids("volt-shim"), "the shims to go")
        house.faults.nth(role, n, error)
        view = run_job(house, n, argv, **spec)
        fired, pid, call = house.faults.fired()
        house.faults.disarm()
        if not fired:
            return n - 1
        if role == SHIM:
            house.history.shims.add(pid)
        wrong = judge_one(view, call)
        assert not wrong, f"call {n}, {call}, failed with {errno.errorcode[error]}: {view}, {wrong}"
    raise AssertionError("the sweep has no end")


@pytest.mark.parametrize("again", [False, True], ids=["new", "again"])
@pytest.mark.parametrize("role", [KEEPER, SHIM, CHILD], ids=["keeper", "shim", "child"])
def test_nth_call_of_one_process(faulty, role, again):
    """The checker judges the statuses; here: a failure names its step. For a shim's first job, and
    for one that has had another."""
    def named(view, call):
        return view["result"] == "exec_failed" and not view["step"] and "no step"

    calls, key = 0, 0
    for error in KEPT:
        base = key
        for n in range(1, MOST):
            if again:
                key += 1
                assert run_job(faulty, key)["result"] in ("success", "exit")
            else:
                until(lambda: not faulty.pids("volt-shim"), "the shims to go")
            key += 1
            faulty.faults.nth(role, n, error)
            view = run_job(faulty, key)
            fired, pid, call = faulty.faults.fired()
            faulty.faults.disarm()
            if not fired:
                break
            calls += 1
            if role == SHIM:
                faulty.history.shims.add(pid)
            assert not named(view, call), (call, view)
            assert view["result"] != "lost" or role == SHIM, (n, call, view)
        assert base + 5 < key < base + MOST - 1
    passed(faulty, finish(faulty))


def test_nth_call_of_a_child_with_files(faulty):
    """Input and outputs by path, which the job's own process opens."""
    (faulty.dir / "in").write_text("words")
    paths = {"cwd": str(faulty.dir), "stdin": str(faulty.dir / "in"),
             "output": "path", "output_path": str(faulty.dir / "out")}
    steps = set()

    def wrong(view, _):
        steps.add(view["step"])
        return view["result"] != ("exec_failed" if view["step"] else "success")

    sweep(faulty, CHILD, errno.EIO, wrong, ["/bin/cat"],
          **paths)
    assert steps >= {"stdin", "stdout", "cwd"}
    passed(faulty, [])


@pytest.mark.parametrize("role", [SHIM, CHILD], ids=["shim", "child"])
def test_nth_call_when_the_command_does_not_exist(faulty, role):
    """No exit status of a command that never ran."""
    def right(view, call):
        if view["result"] == "lost" and role == SHIM:
            return None
        ok = view["result"] == "exec_failed" and view["step"] and \
            view["code"] in (errno.ENOENT, errno.EIO)
        return None if ok else "that is not what happened"

    assert sweep(faulty, role, errno.EIO, right, ["/nonexistent/command"]) > 5
    passed(faulty, [])


@pytest.mark.parametrize("env", [{}, LARGE], ids=["small", "large"])
def test_no_memory_for_a_job(faulty, env):
    """For the stack it begins on, or for its words where they are too long for a message."""
    for role, step in (SHIM, "fork"), (CHILD, "launch block"):
        until(lambda: not faulty.pids("volt-shim"), "the shims to go")
        faulty.faults.nth(role, 1, errno.ENOMEM, MEMORY)
        view = run_job(faulty, 1, ["/bin/true"], env=env)
        fired = faulty.faults.fired()[0]
        faulty.faults.disarm()
        if role == CHILD and not env:
            assert not fired and view["result"] == "success", view
        else:
            assert fired and (view["result"], view["step"], view["code"]) == \
                ("exec_failed", step, errno.ENOMEM), view
    passed(faulty, [])


def test_no_process_to_signal_with(faulty):
    """For a moment: the job is asked to end all the same, and has its time for it."""
    up = faulty.dir / "up"
    with faulty.connect() as v:
        job = v.ok("org.voltd.jobs.Submit", {"spec": {
            "shell": f"trap 'exit 7' TERM; touch {up}; while :; do sleep 0.02; done",
            "kill_after_usec": 1000000000}})["id"]
        until(lambda: up.exists() and v.ok("org.voltd.jobs.Get", {"id": job})["job"]["state"] ==
              "running", "the job to run")
        faulty.faults.nth(KEEPER, 1, errno.EAGAIN, BIRTH)
        v.ok("org.voltd.jobs.Cancel", {"ids": [job]})
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
    assert faulty.faults.fired()[0] == 1
    assert (last["jobs"][0]["result"], last["jobs"][0]["exit_status"]) == ("cancelled", 7), last
    passed(faulty, [])


def test_a_pause_is_as_long_as_it_was(faulty):
    """The clock is set an hour ahead meanwhile: what was left of the timeout is what is left."""
    with faulty.connect() as v:
        def view():
            return v.ok("org.voltd.jobs.Get", {"id": job})["job"]
        job = v.ok("org.voltd.jobs.Submit", {"spec": {
            "argv": ["/bin/sleep", "100000"], "timeout_usec": 1_000_000}})["id"]
        until(lambda: view()["state"] in ("running", "done"), "the job to run")
        v.call("org.voltd.jobs.Pause", {"ids": [job]})  # one that has timed out has done so
        faulty.faults.clock(3600)
        v.call("org.voltd.jobs.Resume", {"ids": [job]})
        until(lambda: view()["state"] == "done", "its timeout")
        assert view()["result"] == "timeout"
    faulty.faults.clock(0)


@pytest.mark.fault_random
def test_storms(faulty):
    """Every third call interrupted, every other transfer one byte, the clock all over."""
    everyone = [VOLTD, KEEPER, KILLER, SHIM, CHILD]
    faulty.faults.rate(everyone, SLOW, errno.EINTR, 3)
    faulty.faults.short([VOLTD], 2)
    load = Load(faulty, SEED, backlog=60).start()
    clock = random.Random(SEED)
    for _ in range(40):
        faulty.faults.clock(clock.choice([0, 1, -1]) * clock.uniform(1, 4e8))
        load.stop.wait(0.05)
    faulty.faults.clock(0)
    until(lambda: load.submitted > 50 and faulty.faults.fired(0)[0] > 100 and
          faulty.faults.fired(1)[0] > 100, "the storm to have raged")
    load.end()
    faulty.faults.disarm(0)
    faulty.faults.disarm(1)
    passed(faulty, judge(faulty, load))


def test_a_storm_while_it_recovers(faulty):
    """Every other call that a signal may interrupt, from the first of each voltd on: it comes up,
    without a word, and knows of every job what the one before knew."""
    def known():
        until(faulty.up.is_set, "voltd to come back")
        with faulty.connect() as v:
            return dict(each_job(v))

    recovered = "recovered 400 waiting, 8 running, 0 ended meanwhile, 0 lost"
    gate = Gate(faulty.dir / "gate")
    submit(faulty, range(1, 9), 200000)    # not so short that others are taken ahead
    until(faulty.quiet, "the first to end")
    submit(faulty, range(11, 19), 0, gate.path)
    until(lambda: faulty.ledger.stat().st_size == 24 * ENTRY.size, "the others to run")
    until(lambda: faulty.stats()["jobs"]["running"] == 8, "voltd to know it")
    submit(faulty, range(21, 421))
    before = known()
    for turn in range(1, 6):
        faulty.faults.rate([VOLTD, KEEPER], SLOW, errno.EINTR, 2)
        faulty.kill_voltd()
        until(lambda: known() == before, "it to know what the one before knew")
        assert faulty.faults.fired()[0] > 20
        until(lambda: faulty.log.read_text().count(recovered) == turn, "it to say so")
    assert "nterrupted" not in faulty.log.read_text()
    faulty.faults.disarm()
    gate.let_through(8)
    all_right(faulty)


def test_nth_call_of_what_signals(faulty):
    """Whatever fails in the process that signals a tree: the job ends all the same."""
    with faulty.connect() as v:
        for n in range(1, 90):
            job = v.ok("org.voltd.jobs.Submit", {"spec": {
                "shell": "trap '' TERM; while :; do sleep 0.02; done",
                "kill_after_usec": 20000}})["id"]
            until(lambda: v.ok("org.voltd.jobs.Get", {"id": job})["job"]["state"] == "running",
                  "the job to run")
            faulty.faults.nth(KILLER, n, errno.EIO)
            v.ok("org.voltd.jobs.Cancel", {"ids": [job]})
            *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
            assert last["jobs"][0]["result"] in ("cancelled", "lost"), last
            faulty.faults.disarm()
    passed(faulty, [])


def test_no_inotify_instance(faulty):
    """Other programs of the user have taken all: ends are found and followers told all the same,
    also by a voltd that comes back to running jobs."""
    faulty.faults.rate([VOLTD], WATCH, errno.EMFILE, 1)
    faulty.kill_voltd()
    until(faulty.up.is_set, "voltd to come back")
    load = Load(faulty, SEED, backlog=60).start()
    load.stop.wait(0.5)
    faulty.kill_voltd()
    until(faulty.up.is_set, "voltd to come back")
    load.stop.wait(0.5)
    load.end()
    found = judge(faulty, load)
    with faulty.connect() as v:
        job = v.ok("org.voltd.jobs.Submit", {"spec": {
            "shell": "for i in 1 2 3; do echo $i; sleep 0.1; done"}})["id"]
        data = [base64.b64decode(p["data"])
                for p in v.stream("org.voltd.logs.Read", {"id": job})]
    assert b"".join(data) == b"1\n2\n3\n"
    text = faulty.log.read_text()
    for what in "exit records", "followed output", "output with a limit", "leases of locks":
        assert text.count(f"no inotify instance for {what}: ") == 2
    assert faulty.faults.fired()[0] == 8
    passed(faulty, found)
