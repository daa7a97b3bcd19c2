"""Running jobs when voltd, their shim or the machine is gone: adopted with their exact ends, or
lost with the cause, and run again only if they say so."""

import ctypes
import errno
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import time

import pytest

from conftest import LIMIT, needs_root, until, written
from jobs import (JOBS, alive, ended, ended_with, get, keeper_of, listed, locked_by_nobody, main_of, records,
                  sh, submit, submitted, wait)
from test_store import config


def lose_machine(daemon):
    """As a reboot does it: its processes and its records are gone."""
    daemon.stop(signal.SIGKILL)
    daemon.kill_rest()
    shutil.rmtree(daemon.state / "rec")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_running_jobs_are_adopted_with_exact_ends(private, how):
    private.start(config=config(slots=60))
    script = (f"touch {private.dir}/up.$VOLT_ARRAY_INDEX;"
              f"until [ -e {private.dir}/go ]; do sleep 0.05; done;"
              f"echo $VOLT_JOB_ID >>{private.dir}/ends; exit $VOLT_ARRAY_INDEX")
    with private.connect() as v:
        ident = submit(v, {**sh(script), "array": {"first": 1, "last": 50}})
        single = submit(v, sh("echo before; " + script.replace("exit $VOLT_ARRAY_INDEX",
                                                               "echo after; kill -9 $$")))
        until(lambda: len(list(private.dir.glob("up.*"))) == 51)
    private.stop(how)
    private.start()
    with private.connect() as v:
        until(lambda: get(v, ident)["counts"]["running"] == 50)
        until(lambda: get(v, single)["state"] == "running")
        assert get(v, single)["pid"] > 0
        (private.dir / "go").touch()
        wait(v, ident, single)
        for i in range(1, 51):
            job = get(v, f"{ident}_{i}")
            assert (job["result"], ended_with(job), job["attempt"]) == ("exit", i, 1)
        job = get(v, single)
        assert (job["result"], ended_with(job)) == ("signal", "SIGKILL")
        assert listed(v, orphans=True) == []
    assert private.ctl("logs", single).out == "before\nafter\n"
    assert len((private.dir / "ends").read_text().split()) == 51
    until(lambda: records(private) == [], "the records to go")


def gated(private, i):
    """The script of a job that says that it is up, waits to be let go, and says that it was."""
    return f"touch {private.dir}/up.{i}; until [ -e {private.dir}/go ]; do sleep 0.02; done; " \
           f"touch {private.dir}/end.{i}"


def test_ends_while_nobody_looked_are_exact(private):
    private.start(config=config(slots=8))
    with private.connect() as v:
        ids = [submit(v, sh(f"{gated(private, i)}; exit {i}")) for i in range(8)]
        until(lambda: len(list(private.dir.glob("up.*"))) == 8)
    private.stop(signal.SIGKILL)
    (private.dir / "go").touch()
    until(lambda: len(list(private.dir.glob("end.*"))) == 8)
    private.start()
    with private.connect() as v:
        assert [ended(v, i)["exit_code"] for i in ids] == list(range(8))


def test_a_timeout_goes_on_over_a_restart(private):
    private.start(config=config())
    usec, recovered = 1500000, 0
    while not recovered:  # one whose time was up before voltd died says nothing
        with private.connect() as v:
            ident = submit(v, sh("exec sleep 1000", timeout_usec=usec))
            until(lambda: get(v, ident)["state"] not in ("queued", "starting"))
        private.stop(signal.SIGKILL)
        private.start()
        with private.connect_control() as v:
            job = ended(v, ident)
            assert job["result"] == "timeout"
            assert job["ended_at_usec"] - job["started_at_usec"] >= usec - 100000
            recovered = v.ok("org.voltd.control.Stats")["jobs"]["recovered_running"]
        usec *= 2


def test_a_timeout_does_not_start_anew_with_a_restart(private):
    """Time that ran while there was no voltd counts: a job whose time is up then ends before one
    that begins now and has half as long. Where it comes later by that half there is another try,
    with more time; of one whose time started anew none would come before."""
    private.start(config=config())
    for usec in (3000000, 6000000, 12000000, 24000000):
        with private.connect() as v:
            ident = submit(v, sh("exec sleep 1000", timeout_usec=usec))
            until(lambda: get(v, ident)["state"] == "running")
            begun = get(v, ident)["started_at_usec"]
        private.stop(signal.SIGKILL)
        until(lambda: time.time() * 1e6 > begun + usec, "its time to be up")
        private.start()
        with private.connect() as v:
            other = submit(v, sh("exec sleep 1000", timeout_usec=usec // 2))
            wait(v, ident, other)
            old, new = get(v, ident), get(v, other)
        assert (old["result"], new["result"]) == ("timeout", "timeout")
        if old["ended_at_usec"] < new["ended_at_usec"]:
            return
    raise AssertionError("its time has started anew")


def test_an_adopted_job_can_be_cancelled(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000"))
        until(lambda: get(v, ident)["state"] == "running")
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        assert ended(v, ident)["result"] == "cancelled"


def test_an_adopted_array_can_be_cancelled(private):
    """All its elements run, so nothing of it waits to be started."""
    private.start(config=config(slots=4))
    with private.connect() as v:
        ident = submit(v, {**sh("exec sleep 1000"), "array": {"first": 1, "last": 3}})
        until(lambda: all(get(v, f"{ident}_{i}")["state"] == "running" for i in (1, 2, 3)))
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        assert ended(v, ident)["result"] == "cancelled"
        assert get(v, ident)["counts"]["cancelled"] == 3


def test_a_job_without_its_record_is_lost_and_not_run_again(private):
    """The record directory was replaced while nobody looked: nothing is known, so nothing is
    invented and nothing runs twice."""
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh(f"echo x >>{private.dir}/ran; exec sleep 1000"))
        until(lambda: written(private.dir / "ran"))
    lose_machine(private)
    private.start()
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], job["step"], job["exit_code"]) == ("lost", "record missing", 125)
    assert (private.dir / "ran").read_text() == "x\n"


@pytest.mark.parametrize("while_up", [True, False], ids=["running", "restarted"])
def test_who_has_run_is_not_started_again_for_want_of_a_record(private, while_up):
    """Somebody removes the record of a job that is known to have begun."""
    private.start(config=config())
    watcher = private.popen("voltctl", "events")    # a start that is watched is kept at once
    with private.connect() as v:
        until(lambda: submit(v, {"kind": "noop"}) and
              select.select([watcher.stdout], [], [], 0.1)[0], "the watcher to watch")
        ident = submit(v, sh(f"echo ran >>{private.dir}/ran; exec sleep 1000"))
        assert any("started" in line and f" {ident} " in line for line in watcher.stdout)
        until(lambda: written(private.dir / "ran"))
        pid = get(v, ident)["pid"]
    private.stop(signal.SIGKILL)
    record = private.state / "rec" / f"{ident}.1"
    if not while_up:
        record.unlink()
    private.start()
    if while_up:
        record.unlink()
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], job["step"]) == ("lost", "record missing")
    assert (private.dir / "ran").read_text() == "ran\n"
    os.kill(pid, signal.SIGKILL)
    watcher.kill()
    watcher.wait()
    assert job["started_at_usec"] and "usage" not in job, job
    # Nobody knows when it ended.
    shown = private.ctl("status", ident).out
    assert "   Noticed: " in shown and "Started: " in shown, shown
    assert not re.search("Ended:|Runtime:|CPU:", shown), shown
    assert [ident, "-", "lost"] in [line.split() for line in private.ctl(
        "list", "--all", "-o", "id,runtime,result", "--no-legend").lines]


def test_a_record_directory_that_was_removed(private):
    """What runs is lost, what is to start fails, the log says why; and a restart mends it."""
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000"))
        pid = main_of(v, ident)
        shutil.rmtree(private.state / "rec")
        job = ended(v, ident)
        assert (job["result"], job["step"]) == ("lost", "record missing")
        for _ in range(3):
            job = ended(v, submit(v, sh("true")))
            assert (job["result"], job["step"]) == ("exec_failed", "record")
        assert private.log.read_text().count("records was removed") == 1
    private.stop()
    private.start()     # another keeper than the one that the job still has
    with private.connect() as v:
        assert ended(v, submit(v, sh("true")))["result"] == "success"
    os.kill(pid, signal.SIGKILL)


def test_a_killed_shim_is_lost_with_its_cause(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000"))
        pid = main_of(v, ident)
        shim = shim_of(pid)
    private.stop(signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    private.start()
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], job["step"]) == ("lost", "shim killed")
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the job to be ended")


def shim_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rsplit(")", 1)[1].split()[1])


def kill_shim(v, ident):
    """Of an attempt that runs. Returns the pid of its main process."""
    pid = main_of(v, ident)
    os.kill(shim_of(pid), signal.SIGKILL)
    return pid


def fork_as(pid):
    """fork(), and the child gets this number: 0 in the child; -errno, -EEXIST when somebody has it.
    The kernel gives it at once, so nobody else can be faster."""
    clone3, number = 435, ctypes.c_int32(pid)
    args = struct.pack("<10Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(number), 1)
    r = ctypes.CDLL(None, use_errno=True).syscall(clone3, args, len(args))
    return r if r >= 0 else -ctypes.get_errno()


def innocent_with(pid):
    """A process of ours that gets this number, leads a session and has a child there."""
    read, write = os.pipe()
    end = time.monotonic() + LIMIT
    while (r := fork_as(pid)) == -errno.EEXIST and time.monotonic() < end:
        time.sleep(0.01)    # its parent has not reaped it, or a stranger has the number
    if r < 0:
        pytest.skip(f"no process can be given the number {pid}: {os.strerror(-r)}")
    if r == 0:
        os.setsid()
        second = os.fork()
        if second:
            os.write(write, b"%d\n" % second)
        signal.pause()
        os._exit(1)
    with open(read) as f:
        os.close(write)
        return int(f.readline())


@needs_root
def test_who_has_the_number_of_a_job_by_now_is_left_alone(private):
    """The job and its shim are dead, and so is voltd; their numbers belong to others when the next
    one takes the job for lost and ends what is left of it."""
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000"))
        pid = main_of(v, ident)
        shim = shim_of(pid)
    private.stop(signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    innocents = []
    try:
        for number in pid, shim:
            innocents += [innocent_with(number), number]
        private.start()
        with private.connect() as v:
            job = ended(v, ident)
            assert (job["result"], job["step"], job.get("survivors", 0)) == ("lost", "shim killed", 0)
        states = [pathlib.Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()[0]
                  for p in innocents]
        assert set(states) <= {"R", "S"}, states    # neither stopped nor dead
    finally:
        for p in innocents:
            os.kill(p, signal.SIGKILL)
        for p in innocents[1::2]:
            os.waitpid(p, 0)


@pytest.mark.parametrize("array", [None, {"first": 3, "last": 3}])
def test_a_lost_attempt_is_followed_by_another(private, array):
    """While voltd runs, and while it does not; never two attempts side by side."""
    private.start(config=config())
    script = (f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{private.dir}/ran; echo out $VOLT_ATTEMPT;"
              "[ $VOLT_ATTEMPT = 3 ] && exit 9; exec sleep 1000")
    with private.connect() as v:
        whole = ident = submit(v, {**sh(script, on_lost="retry"),
                                   **({"array": array} if array else {})})
        if array:
            ident += "_3"
        until(lambda: private.ctl("logs", ident).out == "out 1\n")
        first = kill_shim(v, ident)
        until(lambda: get(v, ident)["attempt"] == 2)
        assert not alive(first)
        assert get(v, ident)["lost_attempts"] == 1
        until(lambda: get(v, ident)["state"] == "running")
        until(lambda: private.ctl("logs", ident).out == "out 1\nout 2\n")
        said = private.ctl("status", ident).out
        assert re.search(r"\n  Attempts: 1: lost\n +2: has not ended\n", said), said
        second = get(v, ident)["pid"]
        shim = shim_of(second)
    private.stop(signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    private.start()
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], ended_with(job), job["attempt"], job["lost_attempts"]) == \
            ("exit", 9, 3, 2), job
        assert wait(v, whole)["exit_code"] == 9
    assert not alive(second)
    assert (private.dir / "ran").read_text().split() == [f"{ident}.{i}" for i in (1, 2, 3)]
    assert private.ctl("logs", ident).out == "out 1\nout 2\nout 3\n"
    until(lambda: records(private) == [], "the records to go")


def test_what_was_recovered_is_told(private):
    private.start(config=config(slots=5))
    with private.connect() as v:
        ends = [submit(v, sh(gated(private, i))) for i in range(2)]
        runs = [submit(v, sh("exec sleep 1000")) for _ in range(3)]
        waits = [submit(v, sh("true")) for _ in range(4)]
        submitted(v, {"kind": "sleep", "duration_usec": 600000000})
        until(lambda: all(get(v, i)["state"] == "running" for i in ends + runs))
        until(lambda: len(list(private.dir.glob("up.*"))) == 2)
        shim = shim_of(get(v, runs[0])["pid"])
    assert "recovered" not in private.ctl("stats").out
    private.stop(signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    (private.dir / "go").touch()
    until(lambda: all(locked_by_nobody(private, i) for i in (*ends, runs[0])),
          "the records to be left")
    private.start()
    with private.connect_control() as c:
        jobs = c.ok("org.voltd.control.Stats")["jobs"]
    assert {k[10:]: n for k, n in jobs.items() if k.startswith("recovered_")} == {
        "waiting": len(waits) + 1, "running": 2, "ended": 2, "lost": 1}
    said = "5 waiting, 2 running, 2 ended meanwhile, 1 lost"
    assert f"recovered at its start: {said}" in private.ctl("stats").out
    until(lambda: f"recovered {said}" in private.log.read_text(), "the log")
    with private.connect() as v:
        assert [ended(v, i)["result"] for i in ends] == ["success"] * 2


SLOT_1, SLOT_2 = 512, 1024  # of a record: daemon/keeper/record.h


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("while_up", [True, False], ids=["running", "restarted"])
def test_a_damaged_record_is_a_lost_job(private, while_up):
    """Not a status that nobody gave, and not a job that is started again as if it never had
    been; unless it says that it may be."""
    damage = {"magic": lambda p: flip(p, 0), "status": lambda p: flip(p, SLOT_2 + 4),
              "zeros": lambda p: p.write_bytes(bytes(4096)),
              "cut": lambda p: os.truncate(p, SLOT_1), "empty": lambda p: os.truncate(p, 0)}
    at_once = sorted(damage.keys() - {"status"})  # which the end of the job writes over
    damage["retry"] = damage["magic"]
    names = [*at_once, "retry"] if while_up else list(damage)
    private.start(config=config(slots=10))
    ran, go = private.dir / "ran", private.dir / "go"
    text = f"echo $VOLT_ATTEMPT >>{ran}.$NAME; until [ -e {go} ]; do sleep 0.02; done; exit 3"

    def spec(name, **more):
        return sh(text, name=name, **more) | {"env": {"NAME": name, "PATH": os.environ["PATH"]}}

    def runs(name):
        path = private.dir / f"ran.{name}"
        return path.read_text().split() if path.exists() else []

    with private.connect() as v:
        ids = {n: submit(v, spec(n, on_lost="retry" if n == "retry" else "fail")) for n in names}
        whole = submit(v, spec("whole"))
        until(lambda: all(runs(n) for n in (*names, "whole")), "the jobs to run")
        until(lambda: all(get(v, i)["state"] == "running" for i in ids.values()))
    if not while_up:
        private.stop(signal.SIGKILL)
        go.touch()
        until(lambda: all(locked_by_nobody(private, i) for i in (*ids.values(), whole)),
              "the jobs to end")
    for name, ident in ids.items():
        damage[name](private.state / "rec" / f"{ident}.1")
    go.touch()
    if not while_up:
        private.start()
    with private.connect() as v:
        for name, ident in ids.items():
            job = ended(v, ident)
            if name == "retry":
                assert (job["exit_code"], job["attempt"], job["lost_attempts"]) == (3, 2, 1), job
                assert runs(name) == ["1", "2"]
            else:
                assert (job["result"], job["step"]) == ("lost", "record damaged"), (name, job)
                assert runs(name) == ["1"], name
        assert ended(v, whole)["exit_code"] == 3
    private.stop(signal.SIGKILL)
    private.start()  # what is left of them goes now at the latest, and changes nothing
    until(lambda: not records(private), "the records to go")
    with private.connect() as v:
        assert {get(v, i)["result"] for n, i in ids.items() if n != "retry"} == {"lost"}
        assert not listed(v, orphans=True)
        assert runs("magic") == ["1"]


def test_a_job_is_lost_at_last(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000", on_lost="retry"))
        for attempt in range(1, 7):
            until(lambda: get(v, ident)["attempt"] == attempt)
            kill_shim(v, ident)
        job = ended(v, ident)
        assert (job["result"], job["step"], job["attempt"], job["lost_attempts"]) == \
            ("lost", "shim killed", 6, 5), job


def test_a_replaced_record_directory_and_on_lost(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh(f"echo $VOLT_ATTEMPT >>{private.dir}/ran;"
                             "[ $VOLT_ATTEMPT = 2 ] || exec sleep 1000", on_lost="retry"))
        until(lambda: written(private.dir / "ran"))
    lose_machine(private)
    private.start()
    with private.connect() as v:
        assert ended(v, ident)["result"] == "success"
    assert (private.dir / "ran").read_text() == "1\n2\n"


def test_reboot_after_reboot(private):
    """Each takes the machine, its processes and its records; the sixth attempt is the last."""
    private.start(config=config())
    ran = private.dir / "ran"
    with private.connect() as v:
        ident = submit(v, sh(f"echo $VOLT_ATTEMPT >>{ran}; exec sleep 1000", on_lost="retry"))
    for attempt in range(1, 7):
        until(lambda: len(written(ran).split()) == attempt)
        lose_machine(private)
        private.start()
    with private.connect() as v:
        job = ended(v, ident)
    assert (job["result"], job["attempt"], job["lost_attempts"]) == ("lost", 6, 5), job
    assert ran.read_text().split() == list("123456")


def test_a_cancelled_job_is_not_tried_again(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh(f"trap '' TERM; touch {private.dir}/up; while :; do sleep 0.1; done",
                             on_lost="retry", kill_after_usec=1000000000))
        until(lambda: (private.dir / "up").exists() and get(v, ident)["state"] == "running")
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        os.kill(shim_of(get(v, ident)["pid"]), signal.SIGKILL)
        job = ended(v, ident)
        assert (job["result"], job["attempt"]) == ("lost", 1), job


def test_a_start_that_never_came_to_the_keeper_is_made_once(private):
    """STARTING is in the store and there is no record: the same attempt, exactly once."""
    private.start(config=config(slots=8))
    keeper = until(lambda: keeper_of(private))
    private.stop(signal.SIGKILL)
    private.start()     # not the parent of the keeper, which it lets stand still for 0.1 s
    os.kill(keeper, signal.SIGSTOP)
    with private.connect() as v:
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{private.dir}/ran; exit 4"))
               for _ in range(5)]
        until(lambda: all(get(v, i)["state"] != "queued" for i in ids))
    # Each START lies in the keeper's socket; what lies there is of a connection that is gone.
    private.stop(signal.SIGKILL)
    os.kill(keeper, signal.SIGCONT)
    private.start()
    with private.connect() as v:
        jobs = [ended(v, i) for i in ids]
        assert [j["exit_code"] for j in jobs] == [4] * 5, jobs
    assert sorted((private.dir / "ran").read_text().split()) == sorted(f"{i}.1" for i in ids)
