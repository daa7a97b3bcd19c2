"""Jobs that stop their shim, lock their own record, or are stopped themselves: they end as asked,
with what is exactly known, and their slot is given back."""

import os
import pathlib
import signal
import sys
import threading

import pytest

from conftest import Gate, LIMIT, processes, until
from jobs import JOBS, ended, ended_with, get, keeper_of, main_of, records, sh, submit
from test_adopted import shim_of
from test_store import config

# Longer than any test: what does not end at once does not end.
NEVER = 3600 * 1000000
STOPPER = "while :; do kill -STOP $PPID; done"
# Waits for the lock of the record of its job, like the shim's, and keeps it.
LOCKER = """
import fcntl, os, pathlib, signal, struct, sys
record = open(sys.argv[1], "r+b")
pathlib.Path(sys.argv[2]).write_text(f"{os.getpid()}\\n")
fcntl.fcntl(record, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
fcntl.flock(record, fcntl.LOCK_EX)
pathlib.Path(sys.argv[2] + ".locked").touch()
signal.pause()
"""


@pytest.fixture
def daemon(private):
    return private.start(config=config(slots=4))


def state_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return stat.rsplit(")", 1)[1].split()[0]


def stopped(v, ident):
    """The pid of the main process of a job that has stopped itself."""
    pid = main_of(v, ident)
    until(lambda: state_of(pid) == "T", "the job to stop")
    return pid


def test_a_job_that_stops_its_shim_ends_exactly(daemon):
    with daemon.connect() as v:
        jobs = [submit(v, sh(f"kill -STOP $PPID; echo {i}; exit {i}")) for i in range(10)]
        assert [ended(v, j)["exit_code"] for j in jobs] == list(range(10))
    assert [daemon.ctl("logs", j).out for j in jobs] == [f"{i}\n" for i in range(10)]


@pytest.mark.parametrize("more", [{}, {"kill_mode": "main"}])
def test_a_timeout_ends_what_stops_its_shim_again_and_again(daemon, more):
    with daemon.connect() as v:
        job = ended(v, submit(v, sh(STOPPER, timeout_usec=100000, **more)))
        assert (job["result"], ended_with(job)) == ("timeout", "SIGTERM")


def test_a_cancel_ends_what_stops_its_shim_and_ignores_it(daemon):
    with daemon.connect() as v:
        job = submit(v, sh(f"trap '' TERM; touch up; {STOPPER}", kill_after_usec=1000,
                           cwd=str(daemon.dir)))
        until((daemon.dir / "up").exists, "the job to be deaf")
        v.ok(JOBS + "Cancel", {"ids": [job]})
        done = ended(v, job)
        assert (done["result"], ended_with(done)) == ("cancelled", "SIGKILL")


def test_a_cancel_ends_what_an_earlier_keeper_started(daemon):
    """The keeper of today is not the parent of its shim."""
    with daemon.connect() as v:
        job = submit(v, sh(f"touch up; {STOPPER}", cwd=str(daemon.dir)))
        until((daemon.dir / "up").exists, "the job to run")
        shim = shim_of(main_of(v, job))
        os.kill(keeper_of(daemon), signal.SIGKILL)
        assert ended(v, submit(v, sh("exit 3")))["exit_code"] == 3     # there is another
        until(lambda: state_of(shim) == "T", "its shim to stand still")
        v.ok(JOBS + "Cancel", {"ids": [job]})
        assert ended(v, job)["result"] == "cancelled"


def test_one_that_has_ended_under_a_stopped_shim_of_an_earlier_keeper(daemon):
    """Nobody continues the shim, until somebody asks for the end of the job."""
    with daemon.connect() as v:
        os.mkfifo(daemon.dir / "gate")
        job = submit(v, sh("read x <gate; exit 5", cwd=str(daemon.dir)))
        pid = main_of(v, job)
        shim = shim_of(pid)
        os.kill(keeper_of(daemon), signal.SIGKILL)
        assert ended(v, submit(v, sh("exit 3")))["exit_code"] == 3
        os.kill(shim, signal.SIGSTOP)
        until(lambda: state_of(shim) == "T", "the shim to stand still")
        (daemon.dir / "gate").write_text("\n")
        until(lambda: state_of(pid) == "Z", "the job to end")
        assert get(v, job)["state"] == "running"
        v.ok(JOBS + "Cancel", {"ids": [job]})
        assert ended_with(ended(v, job)) == 5


def test_shutdown_ends_what_stops_its_shim(daemon):
    for _ in range(4):
        daemon.submit("--kill-after=1ms", "--shell", f"trap '' TERM; {STOPPER}")
    until(lambda: daemon.ctl("list", "--state=running").out.count("running") == 4)
    done = daemon.ctl("shutdown", "--cancel", "--wait")
    assert (done.code, done.out) == (0, "")
    assert daemon.process.wait(LIMIT) == 0
    assert processes(str(daemon.dir)) == []


@pytest.mark.parametrize("more", [{}, {"kill_mode": "main"}])
def test_a_job_that_is_stopped_ends_at_once(daemon, more):
    """Its stop signal reaches it: SIGKILL would come in an hour."""
    with daemon.connect() as v:
        job = submit(v, sh("trap 'exit 6' TERM; kill -STOP $$; :", kill_after_usec=NEVER, **more))
        stopped(v, job)
        v.ok(JOBS + "Cancel", {"ids": [job]})
        done = ended(v, job)
        assert (done["result"], ended_with(done)) == ("cancelled", 6)


def test_a_signal_of_a_user_leaves_a_job_stopped(daemon):
    with daemon.connect() as v:
        job = submit(v, sh("kill -STOP $$; exit 4"))
        pid = stopped(v, job)
        assert daemon.ctl("kill", job, "--signal=SIGURG").code == 0
        assert state_of(pid) == "T"
        assert daemon.ctl("kill", job, "--signal=SIGCONT").code == 0
        assert ended(v, job)["exit_code"] == 4


def locker(daemon, after):
    """The spec of a job that leaves something behind which takes the lock of its record."""
    program = daemon.dir / "locker.py"
    program.write_text(LOCKER)
    up = daemon.dir / "locking"
    return sh(f"{sys.executable} {program} {daemon.state}/rec/$VOLT_JOB_ID.1 {up} & "
              f"until [ -s {up} ]; do sleep 0.01; done; {after}", kill_mode="main"), \
        daemon.dir / "locking.locked"


def test_a_leftover_that_locks_the_record_keeps_no_job(daemon):
    """The shim has said how it ended."""
    with daemon.connect() as v:
        spec, _ = locker(daemon, "exit 3")
        assert ended(v, submit(v, spec))["exit_code"] == 3
        until(lambda: records(daemon) == [], "the record to go")
        assert ended(v, submit(v, sh("exit 4")))["exit_code"] == 4
    os.kill(int((daemon.dir / "locking").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("adopted", [False, True])
def test_a_leftover_that_locks_the_record_of_a_killed_shim(daemon, adopted):
    with daemon.connect() as v:
        spec, locked = locker(daemon, "exec sleep 1000")
        job = submit(v, spec)
        until((daemon.dir / "locking").exists, "the leftover to be there")
        shim = shim_of(main_of(v, job))
    if adopted:
        daemon.stop(signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    if adopted:
        until(locked.exists, "the leftover to have the lock")
        daemon.start()
    with daemon.connect() as v:
        done = ended(v, job)
        assert (done["result"], done["step"]) == ("lost", "shim killed")
        until(lambda: records(daemon) == [], "the record to go")


def test_more_stopped_shims_than_are_continued_in_a_row(private):
    """They have all stopped before the keeper looks."""
    n = 100
    private.start(config=config(slots=n))
    gate = Gate(private.dir / "gate")
    with private.connect() as v:
        jobs = [submit(v, sh(f"read x <{gate.path}; kill -STOP $PPID; exit {i}")) for i in range(n)]
        shims = [shim_of(main_of(v, job)) for job in jobs]
        keeper = keeper_of(private)
        private.stand_still()  # it would continue its keeper
        os.kill(keeper, signal.SIGSTOP)
        until(lambda: state_of(keeper) == "T", "the keeper to stand still")
        gate.let_through(n, "\n")
        until(lambda: all(state_of(shim) == "T" for shim in shims), "the shims to stand still")
        private.process.send_signal(signal.SIGCONT)
        assert [ended(v, job)["exit_code"] for job in jobs] == list(range(n))


def test_a_keeper_of_an_earlier_voltd_that_is_stopped_again_and_again(daemon):
    """Nobody is told when it stops: jobs start all the same, and the one that does it can be
    ended."""
    with daemon.connect() as v:
        ended(v, submit(v, sh(":")))  # there is a keeper
        keeper = keeper_of(daemon)
        job = submit(v, sh(f"until [ -e go ]; do sleep 0.02; done; kill -STOP {keeper}; touch stopped; "
                           f"while :; do kill -STOP {keeper}; done", cwd=str(daemon.dir)))
        main_of(v, job)
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert keeper_of(daemon) is None  # that of before serves
    with daemon.connect() as v:
        ended(v, submit(v, sh(":")))
        (daemon.dir / "go").touch()
        until((daemon.dir / "stopped").exists, "the keeper to be stopped")
        assert ended(v, submit(v, sh("exit 3")))["exit_code"] == 3
        v.ok(JOBS + "Cancel", {"ids": [job]})
        assert ended(v, job)["result"] == "cancelled"


def test_a_keeper_that_is_stopped_when_voltd_ends_ends_as_well(daemon):
    """One of an earlier voltd, for which this one hears of no stop."""
    with daemon.connect() as v:
        job = submit(v, sh("until [ -e go ]; do sleep 0.02; done", cwd=str(daemon.dir)))
        main_of(v, job)
        keeper = keeper_of(daemon)
    daemon.stop(signal.SIGKILL)
    daemon.start()
    with daemon.connect() as v:
        (daemon.dir / "go").touch()
        ended(v, job)
    os.kill(keeper, signal.SIGSTOP)
    until(lambda: state_of(keeper) == "T", "the keeper to stand still")
    assert daemon.stop() == 0
    until(lambda: not processes(str(daemon.dir)), "the keeper to end")


@pytest.mark.parametrize("again", [False, True], ids=["once", "again and again"])
def test_a_keeper_that_was_stopped_before_voltd_came(daemon, again):
    """voltd continues it before it knows its pid from an answer; and replaces one that
    gets no further, because it is stopped whenever it could run."""
    with daemon.connect() as v:
        os.mkfifo(daemon.dir / "go")
        gated = submit(v, sh("read go <go", cwd=str(daemon.dir)))
        main_of(v, gated)
    keeper = keeper_of(daemon)
    daemon.stop(signal.SIGKILL)
    over = threading.Event()

    def stop():
        while not over.is_set():
            try:
                os.kill(keeper, signal.SIGSTOP)
            except ProcessLookupError:  # voltd has killed it
                return
            if not again:
                return

    stopper = threading.Thread(target=stop)
    stopper.start()
    until(lambda: state_of(keeper) == "T", "the keeper to stop")
    daemon.start()
    with daemon.connect() as v:
        job = submit(v, sh("exit 3"))
        assert ended(v, job)["exit_code"] == 3
        over.set()
        stopper.join()
        (daemon.dir / "go").write_text("\n")
        assert ended(v, gated)["result"] == "success"
