"""The durable store: what was acknowledged is there after kill -9, queued jobs run, running
ones are adopted with their exact ends, nothing runs twice, and damage is refused by name."""

import ctypes
import errno
import fcntl
import os
import pathlib
import shutil
import signal
import sqlite3
import struct
import subprocess
import time

import pytest

from conftest import BIN, LIMIT, until
from jobs import JOBS, ended, get, keeper_of, listed, records, sh, submit, submitted, wait


SQLITE = "[Store]\nBackend=sqlite\n[Queue]\nSlots={slots}\n"


def config(slots=2):
    return SQLITE.format(slots=slots)


def lose_machine(daemon):
    """As a reboot does it: its processes and its records are gone."""
    daemon.stop(signal.SIGKILL)
    daemon.kill_rest()
    shutil.rmtree(daemon.state / "rec")


def refused(daemon):
    """Starts a daemon that must not: its exit status and what it said."""
    before = len(daemon.log.read_text()) if daemon.log.exists() else 0
    daemon.start(wait=False)
    code = daemon.process.wait(LIMIT)
    daemon.process = None
    return code, daemon.log.read_text()[before:]


# --- queued --------------------------------------------------------------------------------


def test_acknowledged_is_durable(private):
    private.start(config=config())
    with private.connect() as v:
        assert submitted(v, {"kind": "noop"})["durable"] is True
        assert v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}]})["durable"] is True


def test_a_free_slot_is_taken_with_the_submission(private):
    """Whoever finds a slot is starting when the answer comes; who finds none, or others before it, is queued."""
    private.start(config=config(slots=2))
    with private.connect() as v:
        for state in ("starting", "running", "stopping"), ("queued",):
            ids = [submit(v, sh("sleep 1000")) for _ in range(2)]
            assert all(get(v, i)["state"] in state for i in ids)
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        v.ok(JOBS + "Cancel", {"filter": {}})
        assert [ended(v, str(i))["result"] for i in range(1, 5)] == ["cancelled"] * 4


def test_queued_jobs_are_there_after_kill_and_run_once(private):
    private.start(config=config(slots=1))
    ran = private.dir / "ran"
    with private.connect() as v:
        first = submit(v, sh(f"until [ -e {private.dir}/go ]; do sleep 0.02; done"))
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID >>{ran}; exit {i}", name=f"n{i}", priority=i,
                            labels={"i": str(i)})) for i in range(20)]
        array = submit(v, {**sh(f"echo $VOLT_JOB_ID >>{ran}; exit $VOLT_ARRAY_INDEX"),
                           "array": {"first": 1, "last": 10}})
        before = [v.ok(JOBS + "Get", {"id": i, "with_spec": True})["job"]["spec"] for i in ids]
        until(lambda: get(v, first)["state"] == "running")
    for _ in range(3):
        private.stop(signal.SIGKILL)
        private.start()
    with private.connect() as v:
        after = [v.ok(JOBS + "Get", {"id": i, "with_spec": True})["job"]["spec"] for i in ids]
        assert after == before
        assert all(get(v, i)["state"] == "queued" for i in [*ids, array])
        (private.dir / "go").touch()
        for i, ident in enumerate(ids):
            assert ended(v, ident)["exit_code"] == i
        assert ended(v, array)["exit_code"] == 10
        counts = get(v, array)["counts"]
        assert (counts["total"], counts["done"], counts["failed"]) == (10, 10, 10)
    lines = ran.read_text().split()
    # Priority first, in the order of submission then: as before.
    assert lines == [*reversed(ids), *(f"{array}_{i}" for i in range(1, 11))] or \
        sorted(lines) == sorted([*ids, *(f"{array}_{i}" for i in range(1, 11))])
    assert len(lines) == len(set(lines)) == 30
    until(lambda: records(private) == [], "the records to go")


def test_ids_go_on(private):
    """After a stop in order with the next number, after any other end with a higher one."""
    private.start(config=config())
    last = 0

    def life(how, next):
        nonlocal last
        with private.connect() as v:
            before, last = last, int(submit(v, {"kind": "noop"}))
            assert last == before + 1 if next else last > before, (before, last)
            ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 2000})["ids"]
            assert [int(i) for i in ids] == list(range(last + 1, last + 2001))
            last += 2000
        private.stop(how)
        private.start()

    life(signal.SIGTERM, True)
    life(signal.SIGTERM, True)
    life(signal.SIGKILL, True)
    life(signal.SIGKILL, False)
    (private.state / "ids.new").mkdir()  # what is in the way of the next file
    private.stop()
    (private.state / "ids.new").rmdir()
    private.start()
    life(signal.SIGTERM, False)
    life(signal.SIGTERM, True)


def test_an_acknowledged_cancel_survives(private):
    private.start(config=config(slots=1))
    with private.connect() as v:
        runs = submit(v, sh("exec sleep 1000"))
        queued = submit(v, sh(f"touch {private.dir}/ran"))
        array = submit(v, {**sh(f"touch {private.dir}/ran"), "array": {"first": 1, "last": 5}})
        until(lambda: get(v, runs)["state"] == "running")
        assert v.ok(JOBS + "Cancel", {"ids": [queued, f"{array}_2", array]})["count"] >= 2
        private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert get(v, queued)["result"] == "cancelled"
        assert get(v, array)["counts"]["done"] == 5
        assert get(v, f"{array}_2")["result"] == get(v, f"{array}_4")["result"] == "cancelled"
        v.ok(JOBS + "Cancel", {"ids": [runs]})
        assert ended(v, runs)["result"] == "cancelled"
    assert not (private.dir / "ran").exists()


# --- keys -------------------------------------------------------------------------------------


def test_the_same_key_is_the_same_job(private):
    private.start(config=config())
    ran = private.dir / "ran"
    spec = sh(f"echo x >>{ran}", key="k1")
    with private.connect() as v:
        first = submitted(v, spec)
        assert first["created"] is True
        again = submitted(v, spec)
        assert (again["id"], again["created"], again["durable"]) == (first["id"], False, True)
        other = v.call(JOBS + "Submit", {"spec": sh("true", key="k1")})
        assert other["error"] == JOBS + "KeyTaken" and first["id"] in other["parameters"]["reason"]
        assert submit(v, sh("true", key="k2")) != first["id"]
        assert submit(v, sh("true")) != submit(v, sh("true"))
        assert v.ok(JOBS + "Get", {"id": first["id"], "with_spec": True})["job"]["spec"]["key"] == "k1"
        wait(v, first["id"])
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        again = submitted(v, spec)
        assert (again["id"], again["created"]) == (first["id"], False)
        assert v.call(JOBS + "Submit", {"spec": sh("true", key="k1")})["error"] == JOBS + "KeyTaken"
    assert ran.read_text() == "x\n"


def test_keys_in_batches(private):
    private.start(config=config())
    noop = {"kind": "noop"}
    with private.connect() as v:
        r = v.ok(JOBS + "SubmitBatch", {"specs": [{**noop, "key": f"b{i % 3}"} for i in range(9)]})
        assert r["rejected"] == [] and len(set(r["ids"])) == 3 and r["ids"][0] == r["ids"][3]
        r2 = v.ok(JOBS + "SubmitBatch", {"specs": [
            {**noop, "key": "b0"}, {**noop, "key": "b1", "name": "other"}, {**noop, "key": "b9"}]})
        assert r2["ids"][0] == r["ids"][0] and r2["ids"][1] == "" and r2["ids"][2]
        assert [x["position"] for x in r2["rejected"]] == [1]
        r3 = v.ok(JOBS + "SubmitBatch", {"atomic": True, "specs": [
            {**noop, "key": "new"}, {**noop, "key": "b1", "name": "other"}]})
        assert r3["ids"] == ["", ""]
        assert submitted(v, {**noop, "key": "new", "name": "free"})["created"] is True


def test_large_batches_with_the_same_keys(private):
    """At the same moment, in opposite orders: each waits for the other, none for ever."""
    private.start(config=config())
    specs = [{"kind": "noop", "key": f"k{i}"} for i in range(2000)]
    conns = [private.connect() for _ in range(4)]
    for i, v in enumerate(conns):
        v.send(JOBS + "SubmitBatch", {"specs": specs[::-1] if i % 2 else specs})
    answers = [v.recv()["parameters"]["ids"] for v in conns]
    answers = [a[::-1] if i % 2 else a for i, a in enumerate(answers)]
    assert all(a == answers[0] for a in answers) and len(set(answers[0])) == 2000
    for v in conns:
        v.close()


def test_many_at_once_with_the_same_keys(private):
    """All of them at the same moment: each key is one job."""
    private.start(config=config())
    conns = [private.connect() for _ in range(8)]
    for i in range(50):
        for v in conns:
            v.send(JOBS + "Submit", {"spec": {"kind": "noop", "key": f"c{i}"}})
    answers = [[v.recv()["parameters"] for _ in range(50)] for v in conns]
    for i in range(50):
        assert len({a[i]["id"] for a in answers}) == 1
        assert sum(a[i]["created"] for a in answers) == 1
    for v in conns:
        v.close()


def test_keys_outlive_what_is_forgotten(private):
    private.start(config="[Store]\nKeepEndedJobs=1\nKeepHistoryJobs=20\n")
    with private.connect() as v:
        ids = [submit(v, {"kind": "noop", "key": f"d{i}"}) for i in range(10)]
        wait(v, *ids)
        assert [submit(v, {"kind": "noop", "key": f"d{i}"}) for i in range(10)] == ids
        wait(v, *(submit(v, {"kind": "noop", "key": f"e{i}"}) for i in range(40)))
        assert submitted(v, {"kind": "noop", "key": "d0"})["created"] is True


# --- running -------------------------------------------------------------------------------


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
            assert (job["result"], job["code"], job["attempt"]) == ("exit", i, 1)
        job = get(v, single)
        assert (job["result"], job["code"]) == ("signal", 9)
        assert listed(v, orphans=True) == []
    assert private.ctl("logs", single).out == "before\nafter\n"
    assert len((private.dir / "ends").read_text().split()) == 51
    until(lambda: records(private) == [], "the records to go")


def test_ends_while_nobody_looked_are_exact(private):
    private.start(config=config(slots=8))
    with private.connect() as v:
        ids = [submit(v, sh(f"touch {private.dir}/up.{i}; until [ -e {private.dir}/go ]; do"
                            f" sleep 0.02; done; touch {private.dir}/end.{i}; exit {i}"))
               for i in range(8)]
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


def test_a_job_without_its_record_is_lost_and_not_run_again(private):
    """The record directory was replaced while nobody looked: nothing is known, so nothing is
    invented and nothing runs twice."""
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh(f"echo x >>{private.dir}/ran; exec sleep 1000"))
        until(lambda: (private.dir / "ran").exists())
    lose_machine(private)
    private.start()
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], job["step"], job["exit_code"]) == ("lost", "record missing", 125)
    assert (private.dir / "ran").read_text() == "x\n"


def test_a_killed_shim_is_lost_with_its_cause(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000"))
        until(lambda: get(v, ident)["state"] == "running")
        pid = get(v, ident)["pid"]
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
    until(lambda: get(v, ident)["state"] == "running")
    pid = get(v, ident)["pid"]
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


@pytest.mark.skipif(os.getuid() != 0, reason="needs to choose the number of a process")
def test_who_has_the_number_of_a_job_by_now_is_left_alone(private):
    """The job and its shim are dead, and so is voltd; their numbers belong to others when the next
    one takes the job for lost and ends what is left of it."""
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 1000"))
        until(lambda: get(v, ident)["state"] == "running")
        pid = get(v, ident)["pid"]
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
        assert states == ["S"] * 4, states
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
        assert not pathlib.Path(f"/proc/{first}").exists()
        assert get(v, ident)["lost_attempts"] == 1
        until(lambda: get(v, ident)["state"] == "running")
        until(lambda: private.ctl("logs", ident).out == "out 1\nout 2\n")
        assert "Attempt: 2 (1 lost)" in private.ctl("status", ident).out
        second = get(v, ident)["pid"]
        shim = shim_of(second)
    private.stop(signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    private.start()
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], job["code"], job["attempt"], job["lost_attempts"]) == \
            ("exit", 9, 3, 2), job
        assert wait(v, whole)["exit_code"] == 9
    assert not pathlib.Path(f"/proc/{second}").exists()
    assert (private.dir / "ran").read_text().split() == [f"{ident}.{i}" for i in (1, 2, 3)]
    assert private.ctl("logs", ident).out == "out 1\nout 2\nout 3\n"
    until(lambda: records(private) == [], "the records to go")


def test_what_was_recovered_is_told(private):
    private.start(config=config(slots=5))
    with private.connect() as v:
        ends = [submit(v, sh(f"touch {private.dir}/up.{i}; until [ -e {private.dir}/go ]; do "
                             f"sleep 0.02; done; touch {private.dir}/end.{i}"))
                for i in range(2)]
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


def locked_by_nobody(daemon, ident):
    with open(daemon.state / "rec" / f"{ident}.1", "rb") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


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
        until(lambda: (private.dir / "ran").exists())
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
        until(lambda: ran.exists() and len(ran.read_text().split()) == attempt)
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
    os.kill(keeper, signal.SIGSTOP)
    with private.connect() as v:
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{private.dir}/ran; exit 4"))
               for _ in range(5)]
        until(lambda: all(get(v, i)["state"] == "starting" for i in ids))
    # Each START lies in the keeper's socket; what lies there is of a connection that is gone.
    private.stop(signal.SIGKILL)
    os.kill(keeper, signal.SIGCONT)
    private.start()
    with private.connect() as v:
        jobs = [ended(v, i) for i in ids]
        assert [j["exit_code"] for j in jobs] == [4] * 5, jobs
    assert sorted((private.dir / "ran").read_text().split()) == sorted(f"{i}.1" for i in ids)


# --- what is shown -------------------------------------------------------------------------


def test_what_has_ended_is_known_after_a_restart(private):
    private.start(config=config())
    with private.connect() as v:
        good = submit(v, sh("echo out; exit 0", name="good"))
        bad = submit(v, {"argv": ["/does/not/exist"]})
        noop = submit(v, {"kind": "noop"})
        late = submit(v, {"kind": "sleep", "duration_usec": 10**9, "timeout_usec": 1000})
        before = [ended(v, i) for i in (good, bad, noop, late)]
    private.stop()
    private.start()
    with private.connect() as v:
        assert [get(v, i) for i in (good, bad, noop, late)] == before
        counts = private.connect_control().ok("org.voltd.control.Stats")["jobs"]
        assert counts["ended"] == 4
    assert private.ctl("logs", good).out == "out\n"


# --- check -----------------------------------------------------------------------------------


def check_store(daemon):
    return subprocess.run([BIN / "voltd", "--user", f"--runtime-dir={daemon.runtime}",
                           f"--state-dir={daemon.state}", "--check-store"],
                          capture_output=True, text=True, env=daemon.env, timeout=LIMIT)


def test_check_store(private):
    r = check_store(private)
    assert r.returncode == 1 and "No such file" in r.stderr, r
    private.start(config=config())
    with private.connect() as v:
        for i in range(10):
            wait(v, submit(v, sh("exit 1", env={"I": str(i), "PATH": os.environ["PATH"]})))
        wait(v, submit(v, {"kind": "noop", "array": {"first": 1, "last": 100}}))
        submitted(v, sh("exec sleep 1000"))
    r = check_store(private)
    assert r.returncode == 1 and f"pid {private.process.pid}" in r.stderr, r
    private.stop(signal.SIGKILL)
    before = (private.state / "jobs.1.db").read_bytes()
    r = check_store(private)
    assert (r.returncode, r.stdout, r.stderr) == (0, f"{private.state}: sound\n", ""), r
    assert (private.state / "jobs.1.db").read_bytes() == before


def test_check_store_names_all_damage(private):
    private.start(config=config())
    with private.connect() as v:
        ids = [submit(v, sh("exit 1", name=f"name-of-{i}")) for i in range(3)]
        wait(v, *ids)
    private.stop()
    path = private.state / "jobs.1.db"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"name-of-0", b"name-0f-0").replace(b"name-of-2", b"name-0f-2"))
    db = sqlite3.connect(path)
    db.execute("DELETE FROM event WHERE job=?", (int(ids[1]),))
    db.commit()
    db.close()
    r = check_store(private)
    assert r.returncode == 1, r
    for what in (f"job {ids[0]}: checksum", f"job {ids[2]}: checksum", "table job: 1 rows",
                 "table event: "):
        assert what in r.stdout, r
    assert f"job {ids[1]}: checksum" not in r.stdout


def test_kept_output_that_is_missing_is_not_said_to_be_empty(private):
    private.start(config=config())
    with private.connect() as v:
        loud, quiet = (submit(v, sh(text)) for text in ("echo out", "true"))
        wait(v, loud, quiet)
    private.stop()
    db = sqlite3.connect(private.state / "jobs.1.db")
    assert db.execute("DELETE FROM output").rowcount == 1
    db.commit()
    db.close()
    private.start()
    r = private.ctl("logs", loud)
    assert r.code == 1 and "the store is damaged" in r.err, r
    r = private.ctl("logs", quiet)
    assert (r.code, r.out) == (0, ""), r


# --- a store that cannot be written --------------------------------------------------------


def test_a_store_that_cannot_be_written(private):
    """Somebody looks into it, and locks it: who submits is told so, questions are answered, what
    ends is kept later, and voltd goes on by itself."""
    private.start(config=config())
    go = private.dir / "go"
    with private.connect() as v:
        runs = submit(v, sh(f"until [ -e {go} ]; do sleep 0.02; done; exit 3"))
        until(lambda: get(v, runs)["state"] == "running")
        other = sqlite3.connect(private.state / "jobs.1.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refusals = [v.call(JOBS + "Submit", {"spec": {"kind": "noop"}}) for _ in range(3)]
        for r in refusals:
            assert r.get("error") == JOBS + "StoreUnavailable", refusals
            assert "cannot be written" in r["parameters"]["reason"]
        r = private.submit("true")
        assert r.code == 125 and "cannot be written" in r.err, r
        go.touch()
        until(lambda: locked_by_nobody(private, runs), "the job to end")
        assert get(v, runs)["state"] == "running"  # nobody has been told otherwise
        assert [j["id"] for j in listed(v)] == [runs]
        other.execute("ROLLBACK")
        other.close()
        assert ended(v, runs)["exit_code"] == 3
        until(lambda: "error" not in v.call(JOBS + "Submit", {"spec": {"kind": "noop"}}))
    for said in "no jobs are taken until it can be written", "can be written again":
        until(lambda: said in private.log.read_text(), "the log")
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert len(listed(v)) == 2 and get(v, runs)["exit_code"] == 3


# --- refusals ------------------------------------------------------------------------------


def test_a_second_daemon_is_refused(private):
    private.start(config=config())
    other = subprocess.run([BIN / "voltd", "--user", f"--runtime-dir={private.dir}/other",
                            f"--state-dir={private.state}", f"--config={private.config}"],
                           capture_output=True, text=True, env=private.env, timeout=LIMIT)
    assert other.returncode == 1
    assert f"another voltd (pid {private.process.pid})" in other.stderr


def test_a_newer_store_is_refused(private):
    private.start(config=config())
    private.stop()
    db = sqlite3.connect(private.state / "jobs.1.db")
    db.execute("PRAGMA user_version=99")
    db.close()
    code, said = refused(private)
    assert code == 1 and "written by a newer voltd" in said and "jobs.1.db" in said


def test_a_downgrade_is_refused_under_load(private):
    """A newer voltd has brought the store up, and is replaced by an older one while jobs run and
    wait: it refuses, also again, and changes nothing; they do not notice."""
    private.start(config=config(slots=4))
    ran, go = private.dir / "ran", private.dir / "go"
    with private.connect() as v:
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{ran}; "
                            f"until [ -e {go} ]; do sleep 0.02; done; echo {i}; exit {i}"))
               for i in range(12)]
        until(lambda: ran.exists() and len(ran.read_text().split()) == 4)
        until(lambda: all(get(v, i)["state"] == "running" for i in ids[:4]))
        array = submit(v, {"kind": "noop", "array": {"first": 1, "last": 100}})
    private.stop(signal.SIGKILL)
    path = private.state / "jobs.1.db"
    db = sqlite3.connect(path)
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute("PRAGMA user_version=99")
    db.close()

    def store():
        return {p.name: p.read_bytes() for p in sorted(private.state.glob("jobs.*"))
                if not p.name.endswith("-shm")}

    before = store()
    for at_rest in False, True:
        if at_rest:
            go.touch()
            until(lambda: all(locked_by_nobody(private, i) for i in ids[:4]), "the jobs to end")
        code, said = refused(private)
        assert code == 1 and "written by a newer voltd" in said and "start that one" in said, said
    assert store() == before
    assert sorted(ran.read_text().split()) == sorted(f"{i}.1" for i in ids[:4])
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version={version}")  # the newer one is back
    db.close()
    private.start()
    with private.connect() as v:
        for i, ident in enumerate(ids):
            assert ended(v, ident)["exit_code"] == i
            assert private.ctl("logs", ident).out == f"{i}\n"
        assert ended(v, array)["result"] == "success"
    assert sorted(ran.read_text().split()) == sorted(f"{i}.1" for i in ids)


def test_a_damaged_store_is_refused_with_the_place(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exit 1", name="find-these-bytes"))
        wait(v, ident)
    private.stop()
    path = private.state / "jobs.1.db"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"find-these-bytes", b"find-those-bytes"))
    code, said = refused(private)
    assert code == 1 and f"job {ident}: checksum" in said, said
    assert path.read_bytes().count(b"find-those-bytes") == 1  # and is left as it is
    r = check_store(private)
    assert r.returncode == 1 and f"job {ident}: checksum" in r.stdout and "damaged" in r.stdout, r
    path.write_bytes(data)
    private.start()
    with private.connect() as v:
        assert get(v, ident)["exit_code"] == 1


def test_a_damaged_file_of_ids_is_refused(private):
    """Ids of jobs that nobody keeps any more are not given again."""
    private.start(config=config())
    with private.connect() as v:
        last = submit(v, {"kind": "noop"})
        wait(v, last)
    assert private.ctl("clean", "--all", "--json").json == {"count": 1}
    private.stop()
    path = private.state / "ids"
    sound = path.read_bytes()
    path.write_bytes(b"0" + sound[1:])
    code, said = refused(private)
    assert code == 1 and 'file "ids"' in said and "damaged" in said and "at least 2)" in said, said
    r = check_store(private)
    assert r.returncode == 1 and "the file of ids: checksum" in r.stdout, r
    path.write_text("5000\n")  # as it is told to
    assert check_store(private).returncode == 0
    private.start()
    with private.connect() as v:
        wait(v, submit(v, {"kind": "noop"}))
        assert private.ctl("clean", "--all", "--json").json == {"count": 1}
    private.stop()
    path.unlink()
    private.start()
    with private.connect() as v:
        assert submit(v, {"kind": "noop"}) == "5001"
