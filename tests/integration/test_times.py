"""Jobs that begin later, after a delay or at a date, and those that have to begin by one; voltd may
die meanwhile."""

import signal
import time

import pytest

from conftest import until
from jobs import JOBS, ended, get, sh, submit, submitted, wait
from test_hold import held, hold, release, restart

SECOND = 1000000


def now():
    return int(time.time() * SECOND)


def waits(v, ident):
    job = get(v, ident)
    return job["state"] == "queued" and job.get("wait") == "time" and "wait_position" not in job


def first_start(v, ident, spec):
    """Of an array: when the first of it began."""
    job = ended(v, ident)
    assert job["result"] == "success", job
    return job.get("started_at_usec", job["ended_at_usec"])


KINDS = [
    {"kind": "noop"}, {"kind": "sleep", "duration_usec": 1}, {"shell": "true"},
    {"kind": "noop", "array": {"first": 1, "last": 3}},
    {"shell": "true", "array": {"first": 1, "last": 3}}]


@pytest.mark.parametrize("spec", KINDS)
@pytest.mark.parametrize("kind", ["delay", "date"])
@pytest.mark.parametrize("end", ["go on", signal.SIGKILL])
def test_it_begins_when_it_is_time(private, spec, kind, end):
    """With free slots, which others take meanwhile; a delay goes on while voltd is dead."""
    private.start()
    soon, late = 3 * SECOND // 10, 3600 * SECOND

    def begin(after):
        return {"delay_usec": after} if kind == "delay" else {"at_usec": now() + after}

    with private.connect() as v:
        date = now() + soon
        ident, never = submit(v, spec, **begin(soon)), submit(v, spec, **begin(late))
        wait(v, submit(v, kind="noop"), submit(v, sh("true")))
    if end == signal.SIGKILL:
        restart(private)
    with private.connect() as v:
        assert waits(v, never)
        earliest = get(v, ident)["submitted_at_usec"] + soon if kind == "delay" else date
        assert first_start(v, ident, spec) >= earliest
        assert "wait" not in get(v, ident)


def test_what_is_past_does_not_wait(private):
    private.start()
    with private.connect() as v:
        for begin in {"at_usec": 1}, {"at_usec": now() - SECOND}, {"delay_usec": 0}, {"at_usec": 0}:
            assert ended(v, submit(v, sh("true"), **begin))["result"] == "success"


def test_the_delay_that_has_passed_while_voltd_was_dead(private):
    """Also all of it."""
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("true"), delay_usec=SECOND // 2)
        submitted_at = get(v, ident)["submitted_at_usec"]
    private.stop(signal.SIGKILL)
    until(lambda: now() > submitted_at + SECOND // 2, "the delay to be over")
    private.start()
    with private.connect() as v:
        assert ended(v, ident)["result"] == "success"


def test_each_condition_counts(private):
    """A hold beside a delay, and a delay beside a date: in any order."""
    private.start()
    with private.connect() as v:
        both = submit(v, sh("true"), delay_usec=1, at_usec=now() + 3600 * SECOND)
        one, two = (submit(v, kind="noop", delay_usec=d, hold=True) for d in (1, 3600 * SECOND))
        assert waits(v, both) and held(v, two)
        until(lambda: get(v, one)["wait"] == "hold", "the delay to be over")
        assert release(v, one, two) == 2
        assert ended(v, one)["result"] == "success"
        assert waits(v, two) and waits(v, both)
        assert hold(v, both) == 1 and held(v, both)
    restart(private)
    with private.connect() as v:
        assert waits(v, two) and held(v, both)
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == 2
        assert ended(v, two)["result"] == "cancelled"


@pytest.mark.parametrize("spec", KINDS)
@pytest.mark.parametrize("end", ["go on", signal.SIGKILL])
def test_one_that_has_not_started_in_time_expires(private, spec, end):
    """Held or not; also while voltd is dead. One that starts in time is not concerned."""
    private.start(config="[Queue]\nSlots=1\n")
    go, soon = private.dir / "go", {"start_by_usec": now() + 3 * SECOND // 10}
    with private.connect() as v:
        first = submit(v, sh(f"until [ -e {go} ]; do sleep 0.01; done", start_by_usec=now() + 3600 * SECOND))
        until(lambda: get(v, first)["state"] == "running", "it to run")
        late = submit(v, spec, **soon, hold=True)
        later = submit(v, spec, **soon, delay_usec=3600 * SECOND)
        behind = submit(v, sh("true"), **soon)
    if end == signal.SIGKILL:
        restart(private)
    with private.connect() as v:
        for ident in late, later, behind:
            job = ended(v, ident)
            assert (job["result"], job["exit_code"]) == ("expired", 125), job
            assert "started_at_usec" not in job and job["ended_at_usec"] >= soon["start_by_usec"]
            if "array" in spec and ident != behind:
                assert get(v, f"{ident}_2")["result"] == "expired"
        go.touch()
        assert ended(v, first)["result"] == "success"
    restart(private)
    with private.connect() as v:
        assert get(v, late)["result"] == get(v, behind)["result"] == "expired"
        assert len(v.ok(JOBS + "List", {"filter": {"results": ["expired"]}})["jobs"]) == 3


def test_an_array_that_has_started_does_not_expire(private):
    private.start(config="[Queue]\nSlots=1\n")
    go = private.dir / "go"
    with private.connect() as v:
        by = now() + 5 * SECOND
        ident = submit(v, sh(f"until [ -e {go} ]; do sleep 0.01; done"), start_by_usec=by,
                       array={"first": 1, "last": 2})
        until(lambda: get(v, f"{ident}_1")["state"] == "running", "it to run")
        until(lambda: now() > by, "the time to be over")
        other = submit(v, sh("true"), start_by_usec=now() + 1)
        assert ended(v, other)["result"] == "expired"
        go.touch()
        assert ended(v, ident)["result"] == "success"


def test_many_expire_at_once(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        spec = sh("true", start_by_usec=now() + SECOND // 2, hold=True)
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * 1000})["ids"]
        assert wait(v, *ids)["failed"] == 1000
        assert {j["result"] for j in v.ok(JOBS + "List", {})["jobs"]} == {"expired"}


def test_many_at_the_same_time_in_the_order_of_their_submission(private):
    private.start(config="[Queue]\nSlots=1\n")
    ran = private.dir / "ran"
    with private.connect() as v:
        date = now() + SECOND // 2
        spec = sh(f"echo $VOLT_JOB_ID >>{ran}", at_usec=date)
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * 200})["ids"]
        wait(v, *ids)
        assert ran.read_text().split() == ids


def test_the_same_key(private):
    private.start()
    with private.connect() as v:
        first = submitted(v, sh("true"), key="k", delay_usec=3600 * SECOND)
        assert submitted(v, sh("true"), key="k", delay_usec=3600 * SECOND)["id"] == first["id"]
        reply = v.call(JOBS + "Submit", {"spec": sh("true", key="k", delay_usec=1)})
        assert reply["error"] == JOBS + "KeyTaken", reply


def test_status_says_what_it_asks_for(private):
    """Also while something else is in the way, such as that it is held."""
    private.start()
    options = ["--hold", "--at=2030-01-02 03:04:05", "--in=1h", "--start-by=2031-02-03 04:05:06", "--timeout=90",
               "--lock=backup", "--lock-shared=disk", "--sem=gpu:2/4", "--rate=api=10/min,burst=3",
               "--label=team=blue", "--label=kind=test"]
    ident = private.submit(*options, "--", "true", env={"TZ": "UTC"}).out.strip()
    said = private.ctl("status", ident, env={"TZ": "UTC"}).out
    for line in ("Not before: Wed 2030-01-02 03:04:05 UTC", "  Start by: Mon 2031-02-03 04:05:06 UTC",
                 "   Timeout: 1min 30s",
                 "     Locks: backup, disk (shared), gpu (2 of 4), api (a start each 6.0s)",
                 "    Labels: kind=test, team=blue"):
        assert f"\n{line}\n" in said, said
    plain = private.ctl("status", private.submit("--", "true").out.strip()).out
    for title in ("Not before", "Start by", "Timeout", "Locks", "Labels", "After", "Array"):
        assert f"{title}:" not in plain, plain


def test_the_commands(private):
    private.start()
    r = private.submit("--in=2h", "--", "true")
    assert "queued until" in private.ctl("status", r.out.strip()).out
    r = private.submit("--at=+1h", "--", "true")
    assert "queued until" in private.ctl("status", r.out.strip()).out
    assert private.submit("-w", "--in=0.01", "--", "true").code == 0
    for args, text in ((["--in=soon"], "--in: soon is not a time"), (["--at=soon"], "--at: soon is not a time"),
                       (["--at=2001-01-01"], "--at: 2001-01-01 is past")):
        r = private.submit(*args, "--", "true")
        assert r.code == 125 and text in r.err, r
    r = private.submit("-w", "--hold", "--start-by=+0.1s", "--", "true")
    assert r.code == 125 and "expired: it had not started in time" in r.err, r
    for begin in "--at=+2h", "--in=2h":
        r = private.submit(begin, "--start-by=+1h", "--", "true")
        assert r.code == 125 and "start-by" in r.err and "it could never start" in r.err, r
    clock = time.strftime("%H:%M", time.localtime(time.time() - 120))
    with private.connect() as v:
        r = private.submit(f"--at={clock}", "--", "true")
        ident = r.out.strip()
        at = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]["at_usec"]
        assert at > now() and waits(v, ident)
