"""Jobs that run are paused and go on: all of their processes stand still meanwhile, and so does
their timeout, also over the death of voltd and of voltd-keeper."""

import os
import pathlib
import signal
import time

import pytest

from conftest import until, written
from jobs import JOBS, ended, ended_with, get, keeper_of, listed, main_of, sh, submit, wait
from test_hold import events, now, refused, restart
from test_store import config


@pytest.fixture
def daemon(private):
    return private.start(config=config(slots=4))


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def stand_still(*pids):
    """Stopped, or a shell that waits in vfork(2) for a child that is."""
    until(lambda: {state_of(p) for p in pids} <= {"T", "D"}, "them to stand still")


def go_on(*pids):
    until(lambda: "T" not in [state_of(p) for p in pids], "them to go on")


def pause(v, *idents, **more):
    return v.ok(JOBS + "Pause", {"ids": list(idents), **more})["count"]


def resume(v, *idents, **more):
    return v.ok(JOBS + "Resume", {"ids": list(idents), **more})["count"]


def running(v, daemon, mark="family", **more):
    """A job of three processes that ends when the file MARK.go is there, and their pids."""
    file = daemon.dir / mark
    ident = submit(v, sh(f"sleep 3600 & a=$!; (sleep 3600 & echo $! >{file}.c; wait) & "
                         f"until [ -s {file}.c ]; do sleep 0.01; done; echo $a $(cat {file}.c) $$ >{file}.new; "
                         f"mv {file}.new {file}; until [ -e {file}.go ]; do sleep 0.01; done; exit 3", **more))
    return ident, [int(p) for p in until(lambda: written(file), "it to be up").split()]


def test_all_processes_stand_still_and_go_on(daemon):
    with daemon.connect() as v:
        job, pids = running(v, daemon)
        began = now(daemon)
        assert pause(v, job) == 1
        stand_still(*pids)
        shown = get(v, job)
        assert shown["state"] == "paused" and shown["paused_at_usec"] >= shown["started_at_usec"]
        assert shown["pid"] == pids[2]
        assert [j["id"] for j in listed(v, states=["paused"])] == [job]
        assert listed(v, states=["running"]) == []
        assert v.ok("org.voltd.jobs.List", {"filter": {"states": ["queued", "starting"]}})["jobs"] == []
        assert pause(v, job) == 1  # is so already
        assert resume(v, job) == 1
        go_on(*pids)
        assert get(v, job)["state"] == "running" and "paused_at_usec" not in get(v, job)
        assert "is not paused" in refused(v, "Resume", job)
        (daemon.dir / "family.go").touch()
        assert ended_with(ended(v, job)) == 3
    told = events(daemon, job, began)
    assert [e for e in told if e not in ("starting", "started")] == ["pause", "resume", "exited"]


def test_what_is_resumed_before_it_stands_still_goes_on(daemon):
    """Over another connection, while its pause is on its way into the store, or to its processes."""
    with daemon.connect() as v, daemon.connect() as other:
        job, pids = running(v, daemon)
        for _ in range(20):
            v.send(JOBS + "Pause", {"ids": [job]})
            until(lambda: "error" not in other.call(JOBS + "Resume", {"ids": [job]}), "it to be resumed")
            assert v.recv()["parameters"]["count"] == 1
            go_on(*pids)
        (daemon.dir / "family.go").touch()
        assert ended_with(ended(v, job)) == 3


@pytest.mark.parametrize("dies", ["voltd", "keeper", "both"])
def test_a_pause_outlives_voltd_and_keeper(daemon, dies):
    with daemon.connect() as v:
        job, pids = running(v, daemon)
        again, others = running(v, daemon, "others")
        pause(v, job, again)
        resume(v, again)
        keeper = keeper_of(daemon)
    if dies != "voltd":
        os.kill(keeper, signal.SIGKILL)
    if dies != "keeper":
        restart(daemon)
    with daemon.connect() as v:
        until(lambda: get(v, job)["state"] == "paused", "it to be found")
        assert get(v, again)["state"] == "running"
        stand_still(*pids)
        go_on(*others)
        (daemon.dir / "others.go").touch()
        assert ended_with(ended(v, again)) == 3
        (daemon.dir / "family.go").touch()
        assert resume(v, job) == 1
        assert ended_with(ended(v, job)) == 3


def test_what_was_resumed_as_voltd_died_goes_on(daemon):
    """The process was stopped behind voltd's back, as if SIGCONT had not come to it."""
    with daemon.connect() as v:
        job, pids = running(v, daemon)
        pause(v, job)
        resume(v, job)
    daemon.stop(signal.SIGKILL)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    daemon.start()
    (daemon.dir / "family.go").touch()
    with daemon.connect() as v:
        assert ended_with(ended(v, job)) == 3


@pytest.mark.parametrize("more", [{}, {"kill_mode": "main"}])
def test_what_is_paused_is_cancelled_at_once(daemon, more):
    with daemon.connect() as v:
        job = submit(v, sh("trap 'exit 6' TERM; echo up; while :; do sleep 0.01; done", kill_after_usec=3600000000, **more))
        main_of(v, job)
        until(lambda: daemon.ctl("logs", job).out, "it to be ready")
        pause(v, job)
        v.ok(JOBS + "Cancel", {"ids": [job]})
        done = ended(v, job)
        assert (done["result"], ended_with(done)) == ("cancelled", 6)
        assert "has ended" in refused(v, "Pause", job) and "has ended" in refused(v, "Resume", job)


def test_a_pause_does_not_count_towards_the_timeout(daemon):
    """Neither before a restart of voltd nor behind it: it ends when it has run as long."""
    with daemon.connect() as v:
        job, pids = running(v, daemon, timeout_usec=2000000)
        pause(v, job)
        paused = time.time()
        other = submit(v, sh("sleep 3600", timeout_usec=2500000))
        assert ended(v, other)["result"] == "timeout"  # longer than the timeout of the first
        assert get(v, job)["state"] == "paused"
        resume(v, job)
        lasted = time.time() - paused
    restart(daemon)
    with daemon.connect() as v:
        done = ended(v, job)
        assert done["result"] == "timeout"
        assert done["ended_at_usec"] - done["started_at_usec"] >= 2000000 + (lasted - 0.1) * 1000000
    assert len(pids) == 3


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_pause_over_a_restart_does_not_count_towards_the_timeout(daemon, how):
    with daemon.connect() as v:
        job, pids = running(v, daemon, timeout_usec=3000000)
        pause(v, job)
        stand_still(*pids)
        since = get(v, job)["paused_at_usec"]
    daemon.stop(how)
    until(lambda: time.time() * 1000000 > since + 3000000, "the pause to last as long as the timeout")
    daemon.start()
    with daemon.connect() as v:
        until(lambda: get(v, job)["state"] == "paused", "it to be found")
        assert resume(v, job) == 1
        done = ended(v, job)
        assert done["result"] == "timeout" and done["paused_usec"] >= 3000000
        ran = done["ended_at_usec"] - done["started_at_usec"] - done["paused_usec"]
        assert ran >= 2900000, done


def test_arrays_are_paused_where_they_run(private):
    private.start(config=config(slots=2))
    go = private.dir / "go"
    with private.connect() as v:
        array = submit(v, sh(f"until [ -e {go} ]; do sleep 0.01; done"), array={"first": 1, "last": 4})
        until(lambda: get(v, array)["counts"]["running"] == 2, "two to run")
        pids = [main_of(v, f"{array}_{i}") for i in (1, 2)]
        assert pause(v, f"{array}_2") == 1
        assert [get(v, f"{array}_{i}")["state"] for i in (1, 2, 3)] == ["running", "paused", "queued"]
        assert pause(v, array) == 1
        stand_still(*pids)
        whole = get(v, array)
        assert whole["state"] == "paused" and whole["counts"] == {
            "total": 4, "queued": 2, "running": 2, "done": 0, "failed": 0, "paused": 2}
        assert "0 running, 2 paused, 2 queued" in private.ctl("status", array).out
        assert private.ctl("list", "-o", "id,state", "--no-legend").out.split() == [array, "paused"]
        why = private.ctl("why", array).lines
        assert why == [f"job {array}: 2 of 2 slots in use (0 by others)",
                       f"job {array}: 2 elements of it paused, until `voltctl resume {array}`"], why
        assert "is not running" in refused(v, "Pause", f"{array}_3")
        assert resume(v, array) == 1
        assert "is not paused" in refused(v, "Resume", array)
        go.touch()
        wait(v, array)
        assert get(v, array)["counts"]["done"] == 4


def test_filters_take_what_runs(daemon):
    with daemon.connect() as v:
        jobs = [running(v, daemon, f"n{i}", name=n)[0] for i, n in enumerate(["a", "a", "b"])]
        held = submit(v, sh("true"), name="a", hold=True)
        assert v.ok(JOBS + "Pause", {"filter": {"name": "a"}})["count"] == 2
        assert [get(v, j)["state"] for j in jobs] == ["paused", "paused", "running"]
        assert get(v, held)["state"] == "queued"
        assert v.ok(JOBS + "Resume", {"filter": {}})["count"] == 2
        assert [get(v, j)["state"] for j in jobs] == ["running"] * 3


def test_what_cannot_be_paused(daemon):
    with daemon.connect() as v:
        job, _ = running(v, daemon)
        sleeps, waits = submit(v, kind="sleep", duration_usec=3600000000), submit(v, sh("true"), hold=True)
        until(lambda: get(v, sleeps)["state"] == "running", "it to run")
        assert "has no process" in refused(v, "Pause", sleeps)
        assert "is not running; `voltctl hold`" in refused(v, "Pause", waits)
        assert "is not paused" in refused(v, "Resume", waits)
        assert v.call(JOBS + "Pause", {"ids": ["99"]})["error"] == JOBS + "NoSuchJob"
        # All are looked at before the first is paused.
        reply = v.call(JOBS + "Pause", {"ids": [job, waits]})
        assert reply["error"] == JOBS + "Refused" and get(v, job)["state"] == "running"


def test_of_several_those_that_go_on_are_passed_over(daemon):
    with daemon.connect() as v:
        first, _ = running(v, daemon)
        second, _ = running(v, daemon)
        ended = submit(v, kind="noop")
        wait(v, ended)
        pause(v, second)
        assert v.call(JOBS + "Resume", {"ids": [first, second, ended]})["parameters"] == {"count": 1}
        assert get(v, second)["state"] == "running"
        for ids, why in (([first, second], f"job {second} is not paused"), ([first, ended], f"job {ended} has ended")):
            reply = v.call(JOBS + "Resume", {"ids": ids})
            assert reply["error"] == JOBS + "Refused" and reply["parameters"]["reason"] == why


def test_a_paused_job_keeps_its_slot(private):
    private.start(config=config(slots=1))
    with private.connect() as v:
        job, _ = running(v, private)
        pause(v, job)
        behind = submit(v, sh("true"))
        wait(v, submit(v, kind="noop"))
        assert get(v, behind)["state"] in ("queued", "starting") and not get(v, behind).get("started_at_usec")
        (private.dir / "family.go").touch()
        resume(v, job)
        wait(v, behind)


def test_the_verbs(daemon):
    with daemon.connect() as v:
        job, _ = running(v, daemon)
    r = daemon.ctl("pause", job)
    assert r.code == 0 and "1 job paused" in r.err
    assert f"State: paused, until `voltctl resume {job}`\n" in daemon.ctl("status", job).out
    assert "Paused:" in daemon.ctl("status", job).out
    assert daemon.ctl("why", job).out == f"job {job}: paused, until `voltctl resume {job}`\n"
    assert f"1 job, such as {job}: paused, until `voltctl resume {job}`" in daemon.ctl("why").lines
    assert daemon.ctl("list", "--state=paused").out.count("paused") == 1
    assert daemon.ctl("kill", "-0", job).code == 0
    r = daemon.ctl("resume", job)
    assert r.code == 0 and "1 job resumed" in r.err
    r = daemon.ctl("resume", job)
    assert r.code == 1 and f"job {job} is not paused" in r.err


@pytest.mark.parametrize("ends", ["resumed", "cancelled"])
def test_a_pause_is_no_runtime(private, ends):
    """Also when it has ended, and behind a restart."""
    private.start()
    go = private.dir / "go"
    with private.connect() as v:
        job = submit(v, sh(f"until [ -e {go} ]; do sleep 0.01; done"))
        until(lambda: get(v, job)["state"] == "running", "it to run")
        assert pause(v, job) == 1
        since = get(v, job)["paused_at_usec"]
        until(lambda: time.time() * 1000000 > since + 300000, "the pause to last")
        if ends == "resumed":
            assert resume(v, job) == 1
            assert get(v, job)["paused_usec"] >= 300000 and "paused_at_usec" not in get(v, job)
            go.touch()
        else:
            v.ok(JOBS + "Cancel", {"ids": [job]})
        done = ended(v, job)
        assert 300000 <= done["paused_usec"] <= done["ended_at_usec"] - done["started_at_usec"]
    restart(private)
    with private.connect() as v:
        assert get(v, job) == done
    shown = private.ctl("list", "--all", "-o", "runtime", "--no-legend").out.strip()
    usec = done["ended_at_usec"] - done["started_at_usec"] - done["paused_usec"]
    assert shown == (f"{usec // 1000}ms" if usec >= 1000 else f"{usec}us") or usec >= 1000000, (shown, done)


@pytest.mark.parametrize("array", [False, True])
def test_an_attempt_behind_a_paused_one_is_paused_anew(daemon, array):
    """The paused one is killed from outside; then there is nothing to resume, until a pause."""
    with daemon.connect() as v:
        job = submit(v, sh("exec sleep 3600", retry={"times": 1, "backoff_usec": 0, "on": ["signal"]},
                           **({"array": {"first": 1, "last": 1}} if array else {})))
        one = f"{job}_1" if array else job
        first = main_of(v, one)
        assert pause(v, job) == 1
        os.kill(first, signal.SIGKILL)
        until(lambda: get(v, one)["attempt"] == 2 and get(v, one)["state"] == "running", "the next")
        assert "is not paused" in refused(v, "Resume", job)
        assert pause(v, job) == 1
        stand_still(get(v, one)["pid"])
        assert resume(v, job) == 1
        go_on(get(v, one)["pid"])
        v.ok(JOBS + "Cancel", {"ids": [job]})
        wait(v, job)
