"""Locks and semaphores that jobs claim: who has them, who waits, and that no two have what only one
may have, whatever is killed."""

import json
import os
import signal
import sqlite3

import pytest

from conftest import needs_root, until, written
from jobs import alive, ended, get, listed, main_of, sh, submit, wait
from test_adopted import kill_shim, shim_of
from test_store import config
from test_survivors import fleeing, number_in, stubborn  # noqa: F401 (a fixture)

JOBS = "org.voltd.jobs."
# One that has something alone says when it begins and ends, and when another is there.
ALONE = "mkdir {dir} || echo two >>{log}; echo b $VOLT_JOB_ID >>{log}; {then}; echo e >>{log}; rmdir {dir}"


def lock(name, **more):
    return {"claims": [{"name": name, **more}]}


def alone(daemon, then=":", **more):
    return {**sh(ALONE.format(dir=daemon.dir / "alone", log=daemon.dir / "log", then=then)), **more}


def lines(daemon):
    return (daemon.dir / "log").read_text().split("\n")[:-1]


def gated(daemon):
    return f"until [ -e {daemon.dir}/gate ]; do sleep 0.01; done"


def open_gate(daemon):
    (daemon.dir / "gate").touch()


def waits_for(v, ident, name):
    until(lambda: get(v, ident).get("wait_lock") == name, f"{ident} to wait for {name}")
    assert get(v, ident)["wait"] == "lock"


def results(v, *idents):
    wait(v, *idents)
    return {get(v, ident)["result"] for ident in idents}


def refused(v, spec):
    reply = v.call(JOBS + "Submit", {"spec": {**sh(":"), **spec}})
    return reply["error"].rsplit(".", 1)[1], reply["parameters"].get("reason", "")


def test_a_lock_is_had_by_one_at_a_time_in_order_of_submission(private):
    private.start(config=config(8))
    with private.connect() as v:
        first = submit(v, alone(private, gated(private), **lock("db")))
        until(lambda: get(v, first)["state"] == "running")
        rest = [submit(v, alone(private, **lock("db"))) for _ in range(5)]
        for ident in rest:
            waits_for(v, ident, "db")
        assert "queued, waiting for lock db" in private.ctl("status", rest[0]).out
        other = submit(v, sh(":", **lock("other")))
        assert ended(v, other)["result"] == "success"
        open_gate(private)
        assert results(v, first, *rest) == {"success"}
    assert lines(private) == [line for i in (first, *rest) for line in (f"b {i}", "e")]


def test_those_that_share_run_together_and_do_not_pass_one_that_waits_for_it_alone(private):
    private.start(config=config(8))
    with private.connect() as v:
        readers = [submit(v, sh(gated(private), **lock("db", mode="shared"))) for _ in range(3)]
        for ident in readers:
            until(lambda: get(v, ident)["state"] == "running")
        writer = submit(v, alone(private, **lock("db")))
        waits_for(v, writer, "db")
        late = submit(v, sh(":", **lock("db", mode="shared")))
        waits_for(v, late, "db")
        open_gate(private)
        wait(v, *readers, writer, late)
        assert get(v, late)["started_at_usec"] >= get(v, writer)["ended_at_usec"]


def test_a_semaphore_has_so_many_permits(private):
    private.start(config=config(8))

    def sem(**more):
        return lock("tape", mode="permits", **more)

    with private.connect() as v:
        two = submit(v, sh(gated(private), **sem(permits=2, capacity=3)))
        one = submit(v, sh(gated(private), **sem()))
        for ident in two, one:
            until(lambda: get(v, ident)["state"] == "running")
        more = submit(v, sh(":", **sem()))
        waits_for(v, more, "tape")
        assert refused(v, sem(permits=4)) == \
            ("Refused", "semaphore tape has 3 permits, and 4 are claimed")
        assert refused(v, {"claims": 2 * sem(permits=2)["claims"]})[1] == \
            "semaphore tape has 3 permits, and 4 are claimed"
        assert refused(v, {"claims": 5 * sem(permits=10**9)["claims"]})[1] == \
            "semaphore tape has 3 permits, and 5000000000 are claimed"
        assert refused(v, sem(capacity=4)) == \
            ("Refused", "semaphore tape is in use with 3 permits, not 4")
        assert refused(v, lock("tape"))[1] == "tape is in use as a semaphore"
        open_gate(private)
        wait(v, two, one, more)
        # Nobody uses it any more: it is new.
        until(lambda: ended(v, submit(v, sh(":", **sem(capacity=4))))["result"] == "success")


def test_what_cannot_be_claimed_is_refused(shared):
    with shared.connect() as v:
        for spec in (lock("/db"), lock("x" * 129), lock(""), lock("a", permits=2), {"claims": []},
                     lock("a", mode="permits", permits=0), {**lock("a"), "kill_mode": "main"},
                     {"claims": [{"name": str(i)} for i in range(17)]}):
            assert refused(v, spec)[0] == "InvalidParameter", spec
    r = shared.submit("--lock=/db", "true")
    assert (r.code, "names that begin with a slash" in r.err) == (125, True), r


def test_all_claims_are_had_at_once_or_none(private):
    """One that waits for a second lock does not keep the first from others."""
    private.start(config=config(8))
    with private.connect() as v:
        holder = submit(v, sh(gated(private), **lock("b")))
        until(lambda: get(v, holder)["state"] == "running")
        both = submit(v, {**sh(":"), "claims": [{"name": "a", "mode": "shared"}, {"name": "b"},
                                                {"name": "a"}]})
        waits_for(v, both, "b")
        assert get(v, both)["state"] == "queued"
        open_gate(private)
        wait(v, holder, both)


def test_elements_of_an_array_claim_for_themselves(private):
    private.start(config=config(8))
    with private.connect() as v:
        ident = submit(v, alone(private, array={"first": 1, "last": 6}, **lock("db")))
        assert ended(v, ident)["result"] == "success"
    assert "two" not in lines(private) and lines(private).count("e") == 6


@pytest.mark.parametrize("kind", [{"kind": "sleep", "duration_usec": 1000000000}, sh("exec sleep 1000")],
                         ids=["sleep", "exec"])
def test_a_lock_is_kept_over_the_death_of_voltd(private, kind):
    private.start(config=config(8))
    with private.connect() as v:
        holder = submit(v, {**kind, **lock("db")})
        until(lambda: get(v, holder)["state"] == "running")
        urgent = submit(v, sh(":", priority=1000, **lock("db")))
        noop = submit(v, {"kind": "noop", **lock("db")})
        waits_for(v, urgent, "db")
        waits_for(v, noop, "db")
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        waits_for(v, urgent, "db")
        waits_for(v, noop, "db")
        assert get(v, holder)["state"] == "running"
        assert private.ctl("cancel", holder).code == 0
        wait(v, holder, urgent, noop)
        assert get(v, urgent)["started_at_usec"] >= get(v, holder)["ended_at_usec"]


def test_a_holder_that_ends_while_there_is_no_voltd_gives_its_lock_back(private):
    private.start(config=config(8))
    with private.connect() as v:
        holder = submit(v, alone(private, gated(private), **lock("db")))
        until(lambda: get(v, holder)["state"] == "running")
        main = main_of(v, holder)
        after = submit(v, alone(private, **lock("db")))
        waits_for(v, after, "db")
    private.stop(signal.SIGKILL)
    open_gate(private)
    until(lambda: not alive(main), "the holder to end")
    private.start()
    with private.connect() as v:
        assert results(v, holder, after) == {"success"}
    assert "two" not in lines(private)


def test_the_capacity_of_a_semaphore_outlives_the_job_that_said_it(private):
    private.start(config=config(8))
    with private.connect() as v:
        first = submit(v, sh(":", **lock("tape", mode="permits", capacity=2)))
        gate = gated(private)
        two = [submit(v, sh(gate, **lock("tape", mode="permits"))) for _ in range(2)]
        ended(v, first)
        for ident in two:
            until(lambda: get(v, ident)["state"] == "running")
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        for ident in two:  # that it had started need not have been kept
            until(lambda: get(v, ident)["state"] == "running")
        assert refused(v, lock("tape", mode="permits", capacity=3))[1] == \
            "semaphore tape is in use with 2 permits, not 3"
        open_gate(private)
        wait(v, *two)


@pytest.mark.parametrize("how", ["kept", "cleared"])
def test_a_child_that_flees_is_gone_before_the_lock_is_had_again(private, how):
    """By setsid, and a fork in between; with its environment or without."""
    private.start(config=config(8))
    left, met = private.dir / "left", private.dir / "met"
    with private.connect() as v:
        first = submit(v, sh(fleeing(private, how, left, ":"), **lock("db")))
        after = submit(v, sh(f"[ -e /proc/$(cat {left}) ]; echo $? >{met}", **lock("db")))
        assert results(v, first, after) == {"success"}
    assert met.read_text() == "1\n"


@pytest.mark.parametrize("restarted", [False, True], ids=["up", "restarted"])
def test_what_a_killed_shim_leaves_is_gone_before_the_lock_is_had_again(private, restarted):
    private.start(config=config(8))
    left, met = private.dir / "left", private.dir / "met"
    with private.connect() as v:
        first = submit(v, sh(fleeing(private, "cleared", left), **lock("db")))
        after = submit(v, sh(f"[ -e /proc/$(cat {left}) ]; echo $? >{met}", **lock("db")))
        until(lambda: written(left))
        if not restarted:
            kill_shim(v, first)
        else:
            shim = shim_of(main_of(v, first))
    if restarted:
        private.stop(signal.SIGKILL)
        os.kill(shim, signal.SIGKILL)
        private.start()
    with private.connect() as v:
        assert [job["result"] for job in (ended(v, first), ended(v, after))] == ["lost", "success"]
    assert met.read_text() == "1\n"


@needs_root
@pytest.mark.parametrize("array", [{}, {"array": {"first": 1, "last": 1}}], ids=["job", "array"])
@pytest.mark.parametrize("restarted", [False, True], ids=["up", "restarted"])
def test_what_sigkill_does_not_end_keeps_the_lock(private, stubborn, restarted, array):  # noqa: F811
    path = private.dir / "pid.1"
    private.start(config=config(8))
    with private.connect() as v:
        first = submit(v, sh(f"{stubborn} child {path}", **lock("db"), **array))
        pid = number_in(path)
        assert ended(v, first)["result"] == "success"
        after = submit(v, sh(":", **lock("db")))
        waits_for(v, after, "db")
    for _ in range(2 if restarted else 0):
        private.stop(signal.SIGKILL)
        private.start()
        with private.connect() as v:
            waits_for(v, after, "db")
            assert get(v, first)["state"] == "done"
    with private.connect() as v:
        assert alive(pid) and get(v, after)["state"] == "queued"
        os.kill(pid, signal.SIGKILL)
        assert ended(v, after)["result"] == "success"
    private.stop()
    private.start()
    with private.connect() as v:
        assert ended(v, submit(v, sh(":", **lock("db"))))["result"] == "success"


def test_options(shared):
    """Of volt-submit, and what voltctl shows of them."""
    r = shared.submit("--dry-run", "--lock=a", "--lock-shared=b", "--sem=c:2/3", "--sem=d/4", "--sem=e",
                      "--singleton", "-n", "job", "true")
    assert json.loads(r.out)["claims"] == [
        {"name": "a", "mode": "exclusive"}, {"name": "b", "mode": "shared"},
        {"name": "c", "mode": "permits", "permits": 2, "capacity": 3},
        {"name": "d", "mode": "permits", "permits": 1, "capacity": 4},
        {"name": "e", "mode": "permits", "permits": 1},
        {"name": "job", "mode": "exclusive"}]
    assert json.loads(shared.submit("--dry-run", "--singleton", "/bin/true").out)["claims"][0]["name"] == "true"
    for text in ("a:1/99999999999999999999", "a:0/4", "a:-1/2", "a:1/0", "a:", "a/", "a:two/4", "a:1/2/3", "a:1 /2",
                 "a:1000000001"):
        r = shared.submit("--dry-run", f"--sem={text}", "true")
        assert r.code == 125 and f"--sem: {text} is not NAME[:TAKE][/CAPACITY], of numbers" in r.err, r
    assert shared.submit(b"--lock=\xff", "true").err == "volt-submit: --lock: not UTF-8\n"
    for wrong in (["--lock=", "true"], ["--sem=", "true"], ["--sem=:1/2", "true"], ["--singleton", "--shell", ":"],
                  ["--singleton", "-f", "/dev/null"]):
        assert shared.submit("--dry-run", *wrong).code == 125, wrong
    ident = shared.submit("--lock=a", "--sem=c/2", "true").out.strip()
    with shared.connect() as v:
        spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
        assert spec["claims"] == [{"name": "a", "mode": "exclusive"},
                                  {"name": "c", "mode": "permits", "permits": 1, "capacity": 2}]
        assert ended(v, ident)["result"] == "success"


def test_a_singleton_runs_once_at_a_time(private):
    private.start(config=config(8))
    log = private.dir / "log"
    script = ALONE.format(dir=private.dir / "alone", log=log, then="sleep 0.05")
    ids = [private.submit("--singleton", "-n", "nightly", "--", "/bin/sh", "-c", script).out.strip()
           for _ in range(4)]
    with private.connect() as v:
        assert results(v, *ids) == {"success"}
    assert "two" not in lines(private)


def test_short_jobs_do_not_pass_one_that_has_a_lock_to_get(private):
    """Also where they begin one after another at the keeper, without a way through voltd."""
    private.start(config=config(1))
    with private.connect() as v:
        before = [submit(v, argv=["/bin/true"]) for _ in range(60)]
        claimant = submit(v, sh(":", **lock("db")))
        behind = [submit(v, argv=["/bin/true"]) for _ in range(60)]
        wait(v, *before, claimant, *behind)
        jobs = {job["id"]: job for job in listed(v, ids=[*before, claimant, *behind])}
    passed = [i for i in behind if jobs[i]["started_at_usec"] < jobs[claimant]["started_at_usec"]]
    assert passed == []


def locks(v, **parameters):
    return v.ok("org.voltd.locks.List", parameters)


def test_list(private):
    """What has them, how, since when; how many wait; and nothing when nothing has."""
    private.start(config=config(8))
    with private.connect() as v:
        assert locks(v) == {"locks": []}
        assert "NAME" not in private.ctl("locks").out or private.ctl("locks").lines[1:] == []
        gate = gated(private)
        writer = submit(v, sh(gate, **lock("db")))
        readers = submit(v, {**sh(gate, **lock("files", mode="shared")), "array": {"first": 1, "last": 2}})
        tape = submit(v, sh(gate, **lock("tape", mode="permits", permits=3, capacity=4)))
        for ident in writer, readers + "_1", readers + "_2", tape:
            until(lambda: get(v, ident)["state"] == "running")
        for _ in range(3):
            waits_for(v, submit(v, sh(":", **lock("db"))), "db")
        since = {i: get(v, i)["started_at_usec"] for i in (writer, tape, readers + "_1", readers + "_2")}
        got = locks(v)["locks"]
        got[1]["holders"].sort(key=lambda h: h["id"])
        assert got == [
            {"name": "db", "kind": "lock", "used": 1, "exclusive": True, "waiting": 3,
             "holders": [{"id": writer, "mode": "exclusive", "since_at_usec": since[writer]}]},
            {"name": "files", "kind": "lock", "used": 2, "waiting": 0,
             "holders": [{"id": f"{readers}_{i}", "mode": "shared", "since_at_usec": since[f"{readers}_{i}"]}
                         for i in (1, 2)]},
            {"name": "tape", "kind": "semaphore", "capacity": 4, "used": 3, "waiting": 0,
             "holders": [{"id": tape, "mode": "permits", "permits": 3, "since_at_usec": since[tape]}]}]
        rows = [line.split() for line in private.ctl("locks").lines]
        assert rows[0] == ["NAME", "KIND", "USED", "WAITING", "SINCE", "HOLDERS"]
        assert rows[1][:4] == ["db", "lock", "exclusive", "3"] and rows[1][-1] == writer
        assert rows[2][:5] == ["files", "lock", "shared", "by", "2"]
        assert rows[3][:5] == ["tape", "semaphore", "3", "of", "4"]
        assert [x["name"] for x in private.ctl("locks", "--json").json] == ["db", "files", "tape"]
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        again = locks(v)["locks"]
        again[1]["holders"].sort(key=lambda h: h["id"])
        assert again == got
        open_gate(private)
        until(lambda: locks(v) == {"locks": []}, "all to be given back")


def test_what_was_cancelled_before_its_start_has_nothing(private):
    """Some wait for their start with what they claimed, and never run."""
    private.start(config=config(64))
    for _ in range(4):
        private.submit("--array=1-60", "--lock-shared=db", "--", "sleep", "30")
        assert private.ctl("cancel", "--all").code == 0
        assert private.ctl("wait", "--all").code in (0, 125)
        r = private.ctl("locks", "--json")
        assert r.code == 0 and '"holders":[{' not in r.out.replace(" ", ""), r


def test_list_in_pages(private):
    """Each name once, in order, however many there are; holders that are too many are said to be."""
    private.start(config=config(8))
    names = sorted(f"lock-{i}" for i in range(150))
    with private.connect() as v:
        for i in range(0, 150, 10):
            submit(v, {"kind": "sleep", "duration_usec": 1000000000,
                       "claims": [{"name": n, "mode": "shared"} for n in names[i:i + 10]]})
        got, cursor = [], {}
        while True:
            page = locks(v, **cursor)
            got += page["locks"]
            assert len(page["locks"]) <= 64
            if "cursor" not in page:
                break
            cursor = {"cursor": page["cursor"]}
        assert [x["name"] for x in got] == names
        until(lambda: {x["used"] for x in locks(v)["locks"]} == {1})
        many = submit(v, {"kind": "sleep", "duration_usec": 1000000000, "claims": [{"name": "a", "mode": "shared"}],
                          "array": {"first": 1, "last": 300}})
        until(lambda: locks(v)["locks"][0]["used"] == 300)
        first = locks(v)["locks"][0]
        assert first["holders_left_out"] and len(first["holders"]) < 300
        assert {h["id"].split("_")[0] for h in first["holders"]} <= {many}
        line = next(x for x in private.ctl("locks").lines if x.startswith("a "))
        assert line.split()[2:5] == ["shared", "by", "300"] and line.endswith(", ...")
        assert private.ctl("cancel", "--all").code == 0
        until(lambda: locks(v) == {"locks": []}, "all to be given back")
    assert private.ctl("locks", "x").code == 2


@needs_root
def test_survivors_are_holders(private, stubborn):  # noqa: F811
    private.start(config=config(8))
    with private.connect() as v:
        first = submit(v, sh(f"{stubborn} child {private.dir}/pid.1", **lock("db")))
        pid = number_in(private.dir / "pid.1")
        ended(v, first)
        assert locks(v)["locks"][0]["holders"][0]["survivors"]
        assert f"survivors of {first}" in private.ctl("locks").out
        os.kill(pid, signal.SIGKILL)
        until(lambda: locks(v) == {"locks": []}, "the lock to be given back")


@needs_root
def test_what_is_left_of_a_job_is_made_to_give_its_locks_back(private, stubborn):  # noqa: F811
    """Also over a restart; what runs keeps its own."""
    private.start(config=config(8))
    with private.connect() as v:
        both = {"claims": lock("db")["claims"] + lock("tape")["claims"]}
        first = submit(v, sh(f"{stubborn} child {private.dir}/pid.1", **both))
        pid = number_in(private.dir / "pid.1")
        ended(v, first)
        other = submit(v, sh(gated(private), **lock("other")))
        until(lambda: get(v, other)["state"] == "running")
        second = submit(v, sh(":", **lock("db")))
        waits_for(v, second, "db")
        for name in "other", "none":
            r = private.ctl("locks", "free", name)
            assert (r.code, "nothing that is left of an ended job or volt-lock has it" in r.err) == (1, True), r
        assert private.ctl("locks", "free", "db").out == "given back by what was left of 1 holder\n"
        assert ended(v, second)["result"] == "success"
        assert [x["name"] for x in locks(v)["locks"]] == ["other"]
        assert get(v, first)["survivors"] == [pid]
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert [x["name"] for x in locks(v)["locks"]] == ["other"]
        open_gate(private)
        assert ended(v, other)["result"] == "success"
    os.kill(pid, signal.SIGKILL)


def resize(v, name, capacity):
    return v.call("org.voltd.locks.Resize", {"name": name, "capacity": capacity})


def test_a_semaphore_is_resized_while_it_is_used(private):
    """At once, and over the death of voltd; what jobs say of its size counts no more."""
    private.start(config=config(8))

    def sem(**more):
        return sh(gated(private), **lock("tape", mode="permits", **more))

    with private.connect() as v:
        jobs = [submit(v, sem(capacity=1)) for _ in range(4)]
        until(lambda: get(v, jobs[0])["state"] == "running")
        for ident in jobs[1:]:
            waits_for(v, ident, "tape")
        assert private.ctl("locks", "resize", "tape", "2").code == 0
        until(lambda: get(v, jobs[1])["state"] == "running")
        assert refused(v, lock("tape", mode="permits", permits=3, capacity=3))[1] == \
            "semaphore tape has 2 permits, and 3 are claimed"
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert [get(v, i)["state"] for i in jobs[:2]] == ["running"] * 2
        waits_for(v, jobs[2], "tape")
        both = submit(v, sem(permits=2, capacity=7))
        assert private.ctl("locks", "resize", "tape", "1").code == 0
        assert locks(v)["locks"][0]["used"] == 2 and locks(v)["locks"][0]["capacity"] == 1
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert locks(v)["locks"][0]["capacity"] == 1
        assert private.ctl("locks", "reset", "tape").err.strip().endswith("jobs claim it")
        open_gate(private)
        assert results(v, *jobs) == {"success"}
        waits_for(v, both, "tape")  # it wants more than there is
        assert resize(v, "tape", 2) == {"parameters": {}}
        assert ended(v, both)["result"] == "success"
        until(lambda: private.ctl("locks", "--json").json == [
            {"name": "tape", "kind": "semaphore", "capacity": 2, "used": 0, "waiting": 0, "holders": []}])
        assert private.ctl("locks", "reset", "tape").code == 0
        assert locks(v) == {"locks": []}
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert locks(v) == {"locks": []}
        r = private.ctl("locks", "reset", "tape")
        assert (r.code, "no size was set of it" in r.err) == (1, True), r


def test_what_cannot_be_resized(private):
    private.start(config=config(8))
    with private.connect() as v:
        holder = submit(v, sh(gated(private), **lock("db")))
        until(lambda: get(v, holder)["state"] == "running")
        reply = resize(v, "db", 2)
        assert (reply["error"], reply["parameters"]) == \
            ("org.voltd.locks.Refused", {"reason": "it is in use as a lock or a rate"})
        for name, capacity in ("", 1), ("/x", 1), ("x" * 129, 1), ("x", 0), ("x", 1000000001):
            assert resize(v, name, capacity)["error"] == "org.varlink.service.InvalidParameter", (name, capacity)
        assert v.call("org.voltd.locks.Reset", {"name": "x"})["error"] == "org.voltd.locks.Refused"
        assert resize(v, "x" * 128, 1000000000) == {"parameters": {"made": True}}
        assert resize(v, "x" * 128, 1) == {"parameters": {}}
        open_gate(private)
        ended(v, holder)
    for words in ["resize"], ["resize", "x"], ["resize", "x", "y"], ["reset"], ["free"], ["free", "x", "y"], ["reset", "x", "y"]:
        assert private.ctl("locks", *words).code == 2, words


def rate(name, interval_usec, **more):
    return lock(name, mode="rate", interval_usec=interval_usec, **more)


HOUR = 3600 * 1000000


def test_a_rate_lets_so_many_start_and_is_spent_over_the_death_of_voltd(private):
    private.start(config=config(8))
    with private.connect() as v:
        jobs = [submit(v, sh(":", **rate("api", HOUR, capacity=2))) for _ in range(4)]
        assert results(v, *jobs[:2]) == {"success"}
        until(lambda: get(v, jobs[2]).get("wait") == "rate")
        assert get(v, jobs[2])["wait_lock"] == "api"
        assert "queued, waiting for rate api" in private.ctl("status", jobs[2]).out
        sleeper = submit(v, {"kind": "noop", **rate("other", HOUR)})
        assert ended(v, sleeper)["result"] == "success"
        assert locks(v)["locks"] == [
            {"name": "api", "kind": "rate", "capacity": 2, "interval_usec": HOUR, "used": 2, "waiting": 2,
             "holders": []},
            {"name": "other", "kind": "rate", "capacity": 1, "interval_usec": HOUR, "used": 1, "waiting": 0,
             "holders": []}]
        assert "2 of 2 tokens spent" in private.ctl("locks").out
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        until(lambda: get(v, jobs[2]).get("wait") == "rate")
        assert [x["used"] for x in locks(v)["locks"]] == [2, 1]
        again = submit(v, {"kind": "noop", **rate("other", HOUR)})
        until(lambda: get(v, again).get("wait") == "rate")
        assert refused(v, rate("api", HOUR, permits=3))[1] == "rate api has 2 tokens, and 3 are claimed"
        assert refused(v, rate("api", HOUR - 1))[1] == "rate api is in use with 1/h and a burst of 2"
        assert refused(v, lock("api"))[1] == "api is in use as a rate"
        assert resize(v, "api", 3)["parameters"] == {"reason": "it is in use as a lock or a rate"}
        assert v.call("org.voltd.locks.Reset", {"name": "other"})["parameters"] == {"reason": "jobs claim it"}
        for wrong in (lock("api", mode="rate"), lock("api", interval_usec=1), rate("api", 24 * HOUR + 1),
                      rate("api", 24 * HOUR, capacity=10**6 + 1)):
            assert refused(v, wrong)[0] == "InvalidParameter", wrong


def test_a_rate_that_no_job_claims_is_forgotten_on_demand(private):
    """The name of a rate is free for something else before its tokens are back."""
    private.start(config=config(8))
    with private.connect() as v:
        ended(v, submit(v, {"kind": "noop", **rate("api", HOUR)}))
        for other in lock("api"), rate("api", HOUR - 1):
            assert refused(v, other)[1] == \
                "api is an earlier rate, which no job claims now; voltctl locks reset api forgets it"
        assert private.ctl("locks", "reset", "api").code == 0
        assert locks(v)["locks"] == []
        ended(v, submit(v, {"kind": "noop", **rate("api", HOUR)}))
        assert private.ctl("locks", "reset", "api").code == 0
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert locks(v)["locks"] == []
        ended(v, submit(v, {"kind": "noop", **lock("api")}))


def test_a_size_for_a_new_name_is_told(private):
    private.start(config=config(8))
    for said in ("semaphore nope is new: no job claims it yet; voltctl locks reset nope removes it\n", ""):
        assert private.ctl("locks", "resize", "nope", "8").out == said


def test_each_attempt_spends(private):
    """One that follows a lost attempt waits for its token like any other job."""
    private.start(config=config(8))
    once = "[ $VOLT_ATTEMPT = 2 ] || exec sleep 1000"
    with private.connect() as v:
        first = submit(v, sh(once, on_lost="retry", claims=[*rate("api", HOUR)["claims"], *lock("db")["claims"]]))
        second = submit(v, sh(once, on_lost="retry", **rate("two", HOUR, capacity=3)))
        for ident in first, second:
            until(lambda: get(v, ident)["state"] == "running")
            kill_shim(v, ident)
        assert ended(v, second)["attempt"] == 2
        until(lambda: get(v, first).get("wait") == "rate")
        assert get(v, first)["lost_attempts"] == 1
        assert {x["name"]: (x["used"], x["waiting"]) for x in locks(v)["locks"]} == \
            {"api": (1, 1), "db": (0, 1), "two": (2, 0)}
        assert ended(v, submit(v, sh(":", **lock("db"))))["result"] == "success"
        v.ok(JOBS + "Cancel", {"ids": [first]})


def test_tokens_come_back_and_a_rate_that_is_full_is_forgotten(private):
    private.start(config=config(8))
    with private.connect() as v:
        jobs = [submit(v, {"kind": "noop", **rate("fast", 20000)}) for _ in range(8)]
        array = submit(v, {**sh(":", **rate("fast", 20000)), "array": {"first": 1, "last": 4}})
        assert results(v, *jobs, array) == {"success"}
        until(lambda: locks(v) == {"locks": []}, "all tokens to be back")
    private.stop()
    with sqlite3.connect(next(private.dir.rglob("jobs.*.db"))) as db:
        assert db.execute("SELECT count(*) FROM resource").fetchall() == [(0,)]


def test_rates_as_options(shared):
    r = shared.submit("--dry-run", "--rate=api=30/min", "--rate=b=2/h,burst=5", "--rate=c=1000000/s", "true")
    assert json.loads(r.out)["claims"] == [
        {"name": "api", "mode": "rate", "interval_usec": 2000000},
        {"name": "b", "mode": "rate", "interval_usec": 1800000000, "capacity": 5},
        {"name": "c", "mode": "rate", "interval_usec": 1}]
    for wrong in ("api", "=3/s", "api=0/s", "api=3", "api=3/x", "api=3/s,burst=0", "api=3/s,x=1", "api=3/s,burst=2x",
                  "api=1000001/s", "api=/s"):
        assert shared.submit("--dry-run", f"--rate={wrong}", "true").code == 125, wrong


@pytest.mark.parametrize("typed, other", [("7/s", "8/s"), ("2/min", "5/min"), ("3/h", "4/h"), ("5/d", "6/d")])
def test_a_rate_in_use_is_said_as_it_was_typed(private, typed, other):
    private.start()
    assert private.submit("--hold", f"--rate=api={typed}", "--", "true").code == 0
    r = private.submit("--hold", f"--rate=api={other}", "--", "true")
    assert r.code == 125 and f"rate api is in use with {typed} and a burst of 1" in r.err, r
