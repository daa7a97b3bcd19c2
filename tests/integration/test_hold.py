"""Jobs that are held: they keep their places in the line and do not start, also when voltd is
killed, until they are released."""

import signal

import pytest

from conftest import needs_root, until, written
from jobs import JOBS, ended, get, listed, sh, submit, wait
from test_jobs import three_elements, three_jobs
from test_users import speak_as, start_for_all

ONE_SLOT = "[Queue]\nSlots=1\n"


def held(v, ident):
    job = get(v, ident)
    return job["state"] == "queued" and job.get("wait") == "hold" and "wait_position" not in job


def hold(v, *idents, **parameters):
    return v.ok(JOBS + "Hold", {"ids": list(idents), **parameters})["count"]


def release(v, *idents):
    return v.ok(JOBS + "Release", {"ids": list(idents)})["count"]


def refused(v, method, ident):
    reply = v.call(JOBS + method, {"ids": [ident]})
    assert reply["error"] == JOBS + "Refused", reply
    return reply["parameters"]["reason"]


def restart(daemon):
    daemon.stop(signal.SIGKILL)
    daemon.start()


def waits_for(path, **more):
    return sh(f"echo $VOLT_JOB_ID >>{path}.ran; until [ -e {path} ]; do sleep 0.01; done", **more)


@pytest.mark.parametrize("spec", [
    {"kind": "noop"}, {"kind": "sleep", "duration_usec": 1}, {"shell": "true"},
    {"kind": "noop", "array": {"first": 1, "last": 3}},
    {"shell": "true", "array": {"first": 1, "last": 3}}])
def test_what_is_submitted_held_waits_for_its_release(private, spec):
    """With free slots, and over two deaths of voltd: each fact is kept when it is answered."""
    private.start()
    with private.connect() as v:
        ident = submit(v, spec, hold=True)
        assert held(v, ident)
        wait(v, submit(v, kind="noop"), submit(v, sh("true")))  # others pass it
        assert held(v, ident)
    restart(private)
    with private.connect() as v:
        assert held(v, ident)
        assert release(v, ident) == 1
    restart(private)
    with private.connect() as v:
        job = ended(v, ident)
        assert job["result"] == "success", job
        assert "wait" not in job


def test_one_that_waits_is_held_and_keeps_its_place(private):
    private.start(config=ONE_SLOT)
    go, begin = private.dir / "go", now(private)
    with private.connect() as v:
        first = submit(v, waits_for(go))
        until(lambda: get(v, first)["state"] == "running", "the first to run")
        one, two, three = (submit(v, sh(f"echo $VOLT_JOB_ID >>{go}.ran")) for _ in range(3))
        assert hold(v, one, two) == 2 and hold(v, one) == 1
        assert held(v, one) and held(v, two) and get(v, three)["wait_position"] == 0
    restart(private)
    with private.connect() as v:
        assert held(v, one) and held(v, two)
        assert release(v, one) == 1
        assert get(v, one)["wait_position"] == 0 and get(v, three)["wait_position"] == 1
        go.touch()
        wait(v, one, three)
        assert written(f"{go}.ran").split() == [first, one, three]
        assert held(v, two)
        assert v.ok(JOBS + "Cancel", {"ids": [two]})["count"] == 1
        assert ended(v, two)["result"] == "cancelled"
        assert events(private, two, begin) == ["submit", "hold", "cancel"]
        assert events(private, one, begin)[:4] == ["submit", "hold", "release", "starting"]


def now(daemon):
    """The cursor of what happens from now on."""
    with daemon.connect() as watch:
        watch.send(JOBS + "Watch", {}, more=True)
        return watch.recv()["parameters"]["cursor"]


def events(daemon, ident, after):
    """What has happened to an ended job."""
    told = []
    with daemon.connect() as watch:
        watch.send(JOBS + "Watch", {"filter": {"ids": [ident]}, "after": after}, more=True)
        while not told or told[-1]["state"] != "done":
            told += watch.recv()["parameters"].get("events", [])
    return [e["event"] for e in told]


def test_what_cannot_be_held_or_released(private):
    private.start(config="[Queue]\nSlots=2\n")
    go = private.dir / "go"
    with private.connect() as v:
        runs, waiting, done = submit(v, waits_for(go)), submit(v, sh("true"), hold=True), submit(v, kind="noop")
        array = submit(v, sh("true"), array={"first": 1, "last": 2}, hold=True)
        wait(v, done)
        until(lambda: get(v, runs)["state"] == "running", "it to run")
        assert "has started; `voltctl pause`" in refused(v, "Hold", runs)
        assert "has ended" in refused(v, "Hold", done)
        assert "an array is held as a whole" in refused(v, "Hold", f"{array}_1")
        assert "is not held" in refused(v, "Release", runs)
        assert "has ended" in refused(v, "Release", done)
        assert "an array is released as a whole" in refused(v, "Release", f"{array}_1")
        assert v.call(JOBS + "Hold", {"ids": ["99"]})["error"] == JOBS + "NoSuchJob"
        free = submit(v, sh("true"), hold=True)
        release(v, free)
        wait(v, free)
        # One that cannot be steered stops all of them.
        reply = v.call(JOBS + "Release", {"ids": [waiting, free]})
        assert reply["error"] == JOBS + "Refused" and held(v, waiting)
        assert v.call(JOBS + "Hold", {})["parameters"]["parameter"] == "ids"
        go.touch()
        wait(v, runs)


@pytest.mark.parametrize("end", ["go on", signal.SIGKILL])
def test_of_an_array_what_has_started_goes_on(private, end):
    private.start(config="[Queue]\nSlots=2\n")
    go = private.dir / "go"
    with private.connect() as v:
        ident = submit(v, waits_for(go, array={"first": 1, "last": 5}))
        ran = go.with_suffix(".ran")  # counts have those that are starting, too
        until(lambda: ran.exists() and len(ran.read_text().split()) == 2, "two to run")
        assert hold(v, ident) == 1
        assert get(v, ident)["state"] == "running" and get(v, ident)["wait"] == "hold"
        assert held(v, f"{ident}_5")
        assert "(held)" in private.ctl("status", ident).out
    if end == signal.SIGKILL:
        restart(private)
    with private.connect() as v:
        go.touch()
        wait(v, f"{ident}_1", f"{ident}_2")
        wait(v, submit(v, sh("true")))
        assert get(v, ident)["counts"]["queued"] == 3
        assert release(v, ident) == 1
        assert ended(v, ident)["result"] == "success"


def test_an_array_that_is_held_is_cancelled_as_others_are(private):
    private.start(config=ONE_SLOT)
    with private.connect() as v:
        ident = submit(v, sh("true"), array={"first": 1, "last": 3}, hold=True)
        v.ok(JOBS + "Cancel", {"ids": [f"{ident}_1", f"{ident}_2", f"{ident}_3"]})
        assert ended(v, ident)["result"] == "cancelled"
        ident = submit(v, sh("true"), array={"first": 1, "last": 3}, hold=True)
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        assert ended(v, ident)["result"] == "cancelled"
    restart(private)
    with private.connect() as v:
        assert get(v, ident)["counts"]["done"] == 3


def test_by_a_filter_those_that_take_it(private):
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    with private.connect() as v:
        first = submit(v, waits_for(go, name="a"))
        until(lambda: get(v, first)["state"] == "running", "the first to run")
        for name in "aab":
            submit(v, sh("true"), name=name)
        r = private.ctl("hold", "--name=a")
        assert (r.code, r.err) == (0, "voltctl: 2 jobs held\n")
        assert [job.get("wait") for job in listed(v)] == [None, "hold", "hold", "slot"]
        r = private.ctl("release", "--all", "--json")
        assert (r.code, r.out) == (0, '{"count":2}\n')
        go.touch()
        v.ok(JOBS + "Wait", {"filter": {}})


def test_the_commands(private):
    private.start()
    r = private.submit("--hold", "--", "true")
    ident = r.out.strip()
    assert "queued, held until `voltctl release`" in private.ctl("status", ident).out
    r = private.ctl("release", ident)
    assert (r.code, r.err) == (0, "voltctl: 1 job released\n")
    assert private.ctl("wait", ident).code == 0
    r = private.ctl("hold", ident)
    assert (r.code, r.err) == (1, f"voltctl: refused: job {ident} has ended\n")
    assert private.ctl("hold", "99").code == 4
    assert private.ctl("hold").code == 2


@needs_root
def test_what_root_holds_only_root_releases(private):
    start_for_all(private, config=ONE_SLOT)

    def theirs(method, **parameters):
        return speak_as(private, 12345, JOBS + method, parameters)

    ident = theirs("Submit", spec={"shell": "true", "hold": True})["parameters"]["id"]
    with private.connect() as v:
        assert hold(v, ident) == 1  # beside its user
        for _ in range(2):
            reply = theirs("Release", ids=[ident])
            assert reply["error"] == JOBS + "Refused" and "held by an admin" in reply["parameters"]["reason"]
            assert theirs("Hold", ids=[ident])["parameters"]["count"] == 1
            assert theirs("Release", filter={})["parameters"]["count"] == 0
            assert held(v, ident)
        ours = submit(v, sh("true"), hold=True)
        reply = theirs("Release", ids=[ours])
        assert reply["error"] == JOBS + "NoSuchJob", reply
        assert release(v, ident, ours) == 2
        assert ended(v, ident)["result"] == "success"


@pytest.mark.alone
@pytest.mark.parametrize("end", ["go on", signal.SIGKILL])
@pytest.mark.parametrize("submit_three", [three_jobs, three_elements])
def test_one_that_was_to_start_soon_is_called_back(private, submit_three, end):
    """Where jobs are short the next one is starting before there is a slot: held, it is queued
    again, and does not run when the slot comes free."""
    private.start(config=ONE_SLOT + "StartAhead=16\n")
    spec = sh(f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{private.dir}/ran; "
              f"until [ -e {private.dir}/go.$VOLT_JOB_ID ]; do sleep 0.01; done")

    def let_go(v, ident):
        until(lambda: get(v, ident)["state"] == "running", "its turn")
        (private.dir / f"go.{ident}").touch()
        assert ended(v, ident)["result"] == "success"

    with private.connect() as v:
        for _ in range(5):
            v.ok(JOBS + "SubmitBatch", {"specs": [sh(":")] * 60})
            three = submit_three(v, spec)
            whole = three[1].split("_")[0]
            until(lambda: get(v, three[0])["state"] == "running", "the first")
            soon = get(v, three[1])["state"] == "starting"
            assert hold(v, whole) == 1
            if soon:
                break
            release(v, whole)  # it was not: other work has the processors
            for ident in three:
                let_go(v, ident)
        else:
            pytest.skip("no job was to start soon: other work has the processors")
        until(lambda: held(v, three[1]), "it to be queued again")
    if end == signal.SIGKILL:
        restart(private)
    with private.connect() as v:
        assert held(v, three[1])
        let_go(v, three[0])
        if submit_three is three_jobs:
            let_go(v, three[2])
        wait(v, submit(v, sh("true")))
        assert held(v, three[1])
        assert release(v, whole) == 1
        let_go(v, three[1])
        assert get(v, three[1])["attempt"] == 1
        assert written(private.dir / "ran").split().count(f"{three[1]}.1") == 1
