"""Jobs that wait are edited: what they ask for changes, durably, and nothing else of them."""

import time

import pytest

from conftest import needs_root, until
from jobs import JOBS, ended, get, listed, sh, submit, wait
from protocol import error
from test_hold import events, now, release, restart, waits_for
from test_queues import queue
from test_users import speak_as, start_for_all

ONE_SLOT = "[Queue]\nSlots=1\n\n[Queue night]\nMaxTimeoutSec=60\nDefaultTimeoutSec=30\n"


def edit(v, *idents, first=False, **changes):
    return v.ok(JOBS + "Edit", {"ids": list(idents), "changes": changes, "first": first})["count"]


def refusal(v, ident, **changes):
    reply = v.call(JOBS + "Edit", {"ids": [ident], "changes": changes})
    assert reply.get("error"), reply
    return reply["parameters"]["reason"]


def busy(v, daemon):
    """A job that has the only slot until there is the file."""
    gate = daemon.dir / "gate"
    runs = submit(v, waits_for(gate))
    until(lambda: get(v, runs)["state"] == "running", "it to run")
    return runs, gate


def tells(daemon):
    return sh(f"echo $VOLT_JOB_ID >>{daemon.dir}/order")


def order_of(v, daemon, ids):
    """In which they have run."""
    wait(v, *ids)
    return [i for i in (daemon.dir / "order").read_text().split() if i in ids]


@pytest.fixture
def daemon(private):
    return private.start(config=ONE_SLOT)


@pytest.mark.parametrize("over_restart", [False, True])
def test_what_is_more_urgent_by_an_edit_starts_before(daemon, over_restart):
    with daemon.connect() as v:
        runs, gate = busy(v, daemon)
        early = [submit(v, sh("true")) for _ in range(3)]  # may be about to start
        a, b, c = (submit(v, tells(daemon), hold=True, key=k) for k in "abc")
        assert edit(v, c, priority=7) == 1 and edit(v, b, queue="default", priority=-3) == 1
        assert get(v, c)["priority"] == 7 and get(v, c)["edited"] == ["priority"]
        assert get(v, b)["edited"] == ["priority"] and "edited" not in get(v, a)
    if over_restart:
        restart(daemon)
    with daemon.connect() as v:
        assert get(v, c)["priority"] == 7 and get(v, c)["edited"] == ["priority"]
        # The key is that of what was submitted.
        assert submit(v, tells(daemon), hold=True, key="c") == c
        assert release(v, a, b, c) == 3
        gate.touch()
        assert order_of(v, daemon, [a, b, c]) == [c, a, b]
        ended(v, runs)
        wait(v, *early)


def test_edits_of_several_fields_over_a_restart(daemon):
    """Of each field the latest counts; one to what is so already is counted, and no event."""
    with daemon.connect() as v:
        after = now(daemon)
        ids = submit(v, sh("true"), hold=True), submit(v, sh("true"), hold=True, array={"first": 3, "last": 5})
        for changes in {"priority": 7}, {"queue": "night", "priority": 3}, {"priority": -8}, {"priority": -8}:
            assert edit(v, *ids, **changes) == 2
    restart(daemon)
    with daemon.connect() as v:
        for i in ids:
            shown = get(v, i)
            assert (shown["priority"], shown["queue"]) == (-8, "night"), shown
            assert edit(v, i, priority=-8) == 1
        assert release(v, *ids) == 2
        wait(v, *ids)
    assert events(daemon, ids[0], after).count("edit") == 3


def test_history_has_what_was_edited(private):
    private.start(config=ONE_SLOT + "[Store]\nKeepEndedJobs=0\n")
    with private.connect() as v:
        job = submit(v, sh("true"), hold=True)
        array = submit(v, sh("true"), hold=True, array={"first": 3, "last": 5})
        for changes in {"priority": 7}, {"queue": "night"}, {"priority": -8}:
            assert edit(v, job, array, **changes) == 2
        assert release(v, job, array) == 2
        wait(v, job, array)
        wait(v, submit(v, kind="noop"))  # these have left memory
        for ident in job, array, array + "_4":
            shown = get(v, ident)
            assert (shown["priority"], shown["queue"]) == (-8, "night"), shown
            assert v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]["timeout_usec"] == 30000000
        assert get(v, array)["edited"] == ["queue", "priority"]
        assert [j["id"] for j in listed(v, queue="night")] == [job, array]


def test_first_goes_before_all_others_of_its_user(daemon):
    with daemon.connect() as v:
        runs, gate = busy(v, daemon)
        ids = [submit(v, tells(daemon), hold=True) for _ in range(5)]
        assert edit(v, ids[3], first=True) == 1
        assert edit(v, ids[2], ids[4], first=True) == 2
        assert daemon.ctl("first", ids[4], ids[2]).code == 0
        assert get(v, ids[4])["edited"] == ["first"]
    restart(daemon)
    with daemon.connect() as v:
        assert edit(v, ids[1], first=True) == 1  # before those of the voltd before
        assert release(v, *ids) == 5
        gate.touch()
        assert order_of(v, daemon, ids) == [ids[i] for i in (1, 4, 2, 3, 0)]
        ended(v, runs)


def test_command_line(daemon):
    with daemon.connect() as v:
        runs, gate = busy(v, daemon)
        ids = [submit(v, sh("true"), hold=True) for _ in range(3)]
        r = daemon.ctl("edit", ids[0], ids[1], "-p", "-4", "--queue=night")
        assert (r.code, r.err) == (0, "voltctl: 2 jobs edited\n"), r
        r = daemon.ctl("status", ids[0])
        assert "Queue: night, priority -4" in r.out and "Edited: queue, priority\n" in r.out
        r = daemon.ctl("first", ids[2], ids[0], "--json")
        assert (r.code, r.out) == (0, '{"count":2}\n'), r
        assert daemon.ctl("edit", ids[0], "-p", "1", "--quiet").err == ""
        r = daemon.ctl("first", ids[1], runs, ids[0])
        assert (r.code, r.err) == (1, f"voltctl: refused: job {runs} has started: only what waits can be edited\n"), r
        assert [get(v, i)["edited"] for i in ids[:2]] == [["first", "queue", "priority"], ["queue", "priority"]]
        for words, err, code in (
                ((ids[0],), "what is to be changed: queue, priority, name, times, what it waits for, claims or limits", 2),
                ((ids[0], "--label=a=b"), "--label says which jobs are edited; labels stay what they were", 2),
                ((ids[0], "--priority=1", "--", "make", "-k"), "the command of a job stays what it was; cancel the job, and", 2),
                ((ids[0], "--command=make"), "it cannot be changed once the job is submitted", 2),
                ((ids[0], "-p", "much"), "--priority: much is not a number", 2),
                ((ids[0], "-p", "1001"), "--priority: must be an integer from -1000 to 1000", 2),
                ((ids[0], "-q", "nowhere"), f"job {ids[0]}: there is no queue nowhere; there are for you: default, night", 1),
                (("4711", "-p", "1"), "no such job", 4)):
            r = daemon.ctl("edit", *words)
            assert err in r.err and r.code == code, (words, r)
        gate.touch()


def test_what_waits_for_a_further_attempt_is_refused(daemon):
    with daemon.connect() as v:
        busy(v, daemon)[1].touch()
        tried = submit(v, sh("exit 3"), retry={"times": 1, "backoff_usec": 3600 * 1000000})
        until(lambda: get(v, tried).get("wait") == "time", "its first attempt to fail, and the next to wait")
        for words in ("edit", tried, "-p", "1"), ("first", tried):
            r = daemon.ctl(*words)
            assert r.code == 1 and f"job {tried} has been tried: only what has never started can be edited" in r.err, r
        assert v.ok(JOBS + "Edit", {"filter": {"ids": [tried]}, "changes": {"priority": 1}})["count"] == 0
        assert daemon.ctl("hold", tried).code == 0 and get(v, tried)["wait"] == "hold"


def test_what_does_not_wait_is_refused(daemon):
    with daemon.connect() as v:
        runs, gate = busy(v, daemon)
        array = submit(v, sh("true"), hold=True, array={"first": 1, "last": 2})
        before = get(v, array)
        assert "has started: only what waits can be edited" in refusal(v, runs, priority=1)
        assert "an array is edited as a whole" in refusal(v, array + "_1", priority=1)
        assert "nothing that is to be changed" in refusal(v, array)
        assert get(v, array) == before
        reply = v.call(JOBS + "Edit", {"ids": [array, runs], "changes": {"priority": 1}})
        assert f"job {runs} has started" in reply["parameters"]["reason"]
        assert get(v, array) == before  # all are looked at before the first is touched
        reply = v.call(JOBS + "Edit", {"filter": {}, "first": True})
        assert reply["parameters"]["parameter"] == "first"
        gate.touch()
        ended(v, runs)
        assert "has ended" in refusal(v, runs, priority=1)
        assert release(v, array) == 1
        wait(v, array)
        assert "has ended" in refusal(v, array, priority=1)


def test_an_array_that_has_begun_is_refused(daemon):
    with daemon.connect() as v:
        gate = daemon.dir / "gate"
        array = submit(v, waits_for(gate), array={"first": 1, "last": 9, "at_once": 1})
        until(lambda: get(v, f"{array}_1")["state"] == "running", "one of it to run")
        assert "has started" in refusal(v, array, priority=1)
        assert v.ok(JOBS + "Cancel", {"ids": [array]})["count"] == 1
        gate.touch()
        ended(v, array)


def test_a_filter_passes_over_what_does_not_wait(daemon):
    with daemon.connect() as v:
        runs, gate = busy(v, daemon)
        ids = [submit(v, sh("true"), hold=True, name="some") for _ in range(3)]
        reply = v.ok(JOBS + "Edit", {"filter": {"queue": "default"}, "changes": {"priority": 5}})
        assert reply["count"] == 3
        assert [get(v, i)["priority"] for i in ids] == [5, 5, 5] and get(v, runs)["priority"] == 0
        reply = v.call(JOBS + "Edit", {"filter": {"name": "some"}, "changes": {"queue": "nowhere"}})
        assert "there is no queue nowhere" in reply["parameters"]["reason"]
        gate.touch()


def test_queues_take_or_refuse_what_is_edited(daemon):
    with daemon.connect() as v:
        _, gate = busy(v, daemon)
        job = submit(v, sh("true"), hold=True, timeout_usec=90000000)
        assert "MaxTimeoutSec" in refusal(v, job, queue="night")
        queue(daemon, "drain", "night")
        other = submit(v, sh("true"), hold=True)
        assert "drained" in refusal(v, other, queue="night")
        queue(daemon, "resume", "night")
        queue(daemon, "pause", "night")
        assert edit(v, other, queue="night") == 1
        assert release(v, other) == 1
        gate.touch()
        wait(v, submit(v, sh("true")))
        assert get(v, other)["wait"] == "paused"  # it is in that queue now
        assert edit(v, other, queue="default") == 1
        ended(v, other)


def test_kinds_without_a_process(daemon):
    with daemon.connect() as v:
        for more in ({}, {"array": {"first": 1, "last": 3}}):
            for kind in ({"kind": "noop"}, {"kind": "sleep", "duration_usec": 1}):
                job = submit(v, hold=True, **kind, **more)
                assert edit(v, job, priority=3, queue="night") == 1
                assert release(v, job) == 1
                wait(v, job)
                assert get(v, job)["queue"] == "night"


def test_events_tell_of_it(daemon):
    with daemon.connect() as v:
        job = submit(v, sh("true"), hold=True)
        began = now(daemon)
        edit(v, job, priority=1)
        release(v, job)
        ended(v, job)
    assert events(daemon, job, began)[:2] == ["edit", "release"]


@needs_root
def test_users(private):
    start_for_all(private)
    with private.connect() as v:
        job = submit(v, sh("true"), hold=True)
        call = {"ids": [job], "changes": {"priority": -1}}
        assert speak_as(private, 12345, JOBS + "Edit", call)["error"] == JOBS + "NoSuchJob"
        theirs = speak_as(private, 12345, JOBS + "Submit", {"spec": {"shell": "true", "hold": True}})["parameters"]["id"]
        got = speak_as(private, 12345, JOBS + "Edit", {"ids": [theirs], "changes": {"priority": -5}})
        assert got["parameters"] == {"count": 1}
        assert edit(v, theirs, priority=9) == 1
        assert get(v, theirs)["priority"] == 9 and get(v, job)["priority"] == 0


@needs_root
def test_what_another_user_has_is_not_told(private):
    """A filter that names him makes no edit look at his jobs, but for root."""
    def reason(**edge):
        call = {"filter": {"user": "0"}, "changes": {"after": [edge]}}
        return error(speak_as(private, 12345, JOBS + "Edit", call), JOBS + "Refused")["reason"]

    start_for_all(private)
    with private.connect() as v:
        job = submit(v, sh("true"), hold=True, key="mine")
        assert reason(job=job) == f"after: job {job} is not known"
        assert reason(key="mine") == 'after: none of your jobs has the key "mine"'
        a, b = (speak_as(private, 12345, JOBS + "Submit", {"spec": {"shell": "true", "hold": True}})["parameters"]["id"]
                for _ in range(2))
        call = {"filter": {"user": "12345", "ids": [a]}, "changes": {"after": [{"job": b}]}}
        assert v.ok(JOBS + "Edit", call)["count"] == 1
        assert speak_as(private, 12345, JOBS + "Edit", call)["parameters"] == {"count": 1}


def restarted(daemon, over_restart):
    if over_restart:
        restart(daemon)
    return daemon.connect()


@pytest.mark.parametrize("over_restart", [False, True])
def test_times_are_edited(daemon, over_restart):
    hour = 3600 * 1000000
    with daemon.connect() as v:
        _, gate = busy(v, daemon)
        later = submit(v, tells(daemon), delay_usec=hour)
        at_once = submit(v, tells(daemon), at_usec=now_usec() + hour, delay_usec=hour)
        never = submit(v, tells(daemon), hold=True)
        kept = submit(v, tells(daemon), hold=True, start_by_usec=now_usec() + 1000)
        wait(v, kept)
        assert get(v, kept)["result"] == "expired"
        kept = submit(v, tells(daemon), hold=True, start_by_usec=now_usec() + hour)
        for changes in {"delay_usec": 2 * hour}, {"delay_usec": 2 * hour, "start_by_usec": now_usec() + hour}:
            assert "could never start" in refusal(v, kept, **changes)
        assert edit(v, at_once, delay_usec=0, at_usec=0) == 1
        assert edit(v, later, at_usec=now_usec() + 2 * hour) == 1
        assert edit(v, kept, start_by_usec=0) == 1
        assert "could never start" in refusal(v, later, start_by_usec=now_usec() + hour)
    with restarted(daemon, over_restart) as v:
        assert get(v, at_once).get("wait") in ("slot", "turn")
        assert get(v, later)["wait"] == "time"
        assert edit(v, never, start_by_usec=now_usec()) == 1
        wait(v, never)
        assert get(v, never)["result"] == "expired"
        before = v.ok(JOBS + "Get", {"id": later, "with_spec": True})["job"]
        assert edit(v, later, delay_usec=2 * hour, at_usec=0) == 1
        after = v.ok(JOBS + "Get", {"id": later, "with_spec": True})["job"]
        # From the edit on, which came after the submission.
        assert after["spec"]["delay_usec"] > 2 * hour and "at_usec" not in after["spec"]
        assert before["spec"]["delay_usec"] == hour
        assert get(v, later)["wait"] == "time" and get(v, later)["edited"] == ["delay_usec", "at_usec"]
        assert edit(v, later, delay_usec=0) == 1
        release(v, kept)
        gate.touch()
        assert order_of(v, daemon, [later, at_once, kept]) == [later, at_once, kept]


def now_usec():
    return time.time_ns() // 1000


@pytest.mark.parametrize("over_restart", [False, True])
def test_claims_are_edited(private, over_restart):
    private.start(config="[Queue]\nSlots=4\n")
    lock = {"name": "db", "mode": "exclusive"}
    with private.connect() as v:
        gate = private.dir / "gate"
        holder = submit(v, waits_for(gate), claims=[lock])
        until(lambda: gate.with_suffix(".ran").exists(), "it to run")
        waits = submit(v, sh("true"), claims=[lock])
        free = submit(v, sh("true"), hold=True)
        assert get(v, waits)["wait"] == "lock"
        assert edit(v, free, claims=[lock, {"name": "tape", "mode": "permits", "capacity": 3}]) == 1
        assert "is in use as a" in refusal(v, free, claims=[{"name": "db", "mode": "permits"}])
        assert edit(v, waits, claims=[]) == 1
        ended(v, waits)
    with restarted(private, over_restart) as v:
        assert release(v, free) == 1
        wait(v, submit(v, sh("true")))
        assert get(v, free)["wait"] == "lock" and get(v, free)["edited"] == ["claims"]
        assert private.ctl("locks").out.count("tape") == 1
        gate.touch()
        ended(v, free)
        ended(v, holder)


def test_limits_and_names_are_edited(daemon):
    with daemon.connect() as v:
        job = submit(v, sh("sleep 3600"), hold=True, name="old", labels={"a": "b"}, timeout_usec=3600000000)
        assert edit(v, job, name="new", timeout_usec=1000, kill_after_usec=1000, output_bytes=4096) == 1
        assert [j["id"] for j in listed(v, name="new", labels={"a": "b"})] == [job] and listed(v, name="old") == []
        spec = v.ok(JOBS + "Get", {"id": job, "with_spec": True})["job"]["spec"]
        assert (spec["limits"], spec["kill_after_usec"]) == ({"output_bytes": 4096}, 1000)
        assert edit(v, job, output_bytes=0) == 1
        assert "limits" not in v.ok(JOBS + "Get", {"id": job, "with_spec": True})["job"]["spec"]
        release(v, job)
        assert ended(v, job)["result"] == "timeout"
        night = submit(v, sh("true"), hold=True, queue="night")
        assert "MaxTimeoutSec" in refusal(v, night, timeout_usec=61000000)
        queue(daemon, "drain", "night")
        assert edit(v, night, timeout_usec=60000000) == 1  # it is there already
        noop = submit(v, kind="noop", hold=True)
        assert "without a process" in refusal(v, noop, claims=[{"name": "x"}])
        release(v, night, noop)
        wait(v, night, noop)


def test_what_is_typed_of_times_and_claims(daemon):
    with daemon.connect() as v:
        job = submit(v, sh("true"), hold=True)
        assert daemon.ctl("edit", job, "--in=1h", "--start-by=+3h", "-n", "x", "--lock=a", "--sem=b/3", "--rate=c=1/s",
                          "--timeout=5m", "--kill-after=1s", "--output-limit=1M").code == 0
        shown = v.ok(JOBS + "Get", {"id": job, "with_spec": True})["job"]
        spec = shown["spec"]
        assert shown["name"] == "x" and [c["name"] for c in spec["claims"]] == ["a", "b", "c"]
        assert (spec["timeout_usec"], spec["limits"]["output_bytes"]) == (300000000, 1 << 20)
        assert spec["delay_usec"] >= 3600000000 and spec["start_by_usec"] > now_usec()
        r = daemon.ctl("status", job)
        assert "Edited: name, in, start-by, claims, timeout, kill-after, output-limit\n" in r.out
        assert daemon.ctl("edit", job, "--now", "--start-by=none", "--no-claims", "--timeout=none",
                          "--output-limit=none").code == 0
        spec = v.ok(JOBS + "Get", {"id": job, "with_spec": True})["job"]["spec"]
        assert not {"delay_usec", "at_usec", "start_by_usec", "claims", "timeout_usec", "limits"} & set(spec)
        for words, err in (
                (["--at=yesterday"], "--at: yesterday is past"), (["--in=soon"], "--in: soon is not a time"),
                (["--timeout=x"], "--timeout: x is not a time"), (["--output-limit=x"], "--output-limit: x is not a size"),
                (["--in=2h", "--start-by=+1h"], "--start-by: that is before the time of --in has passed"),
                (["--at=+2h", "--start-by=+1h"], "--start-by: that is before the time of --at"),
                (["--sem=b:x"], "--sem: b:x is not NAME")):
            r = daemon.ctl("edit", job, *words)
            assert err in r.err and r.code == 2, (words, r)
        release(v, job)
        ended(v, job)


@pytest.mark.parametrize("over_restart", [False, True])
def test_the_later_time_replaces_the_earlier(daemon, over_restart):
    """Where both are typed at once both count, as at the submission."""
    def times(v, ident):
        spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
        return {name for name in ("delay_usec", "at_usec") if name in spec}

    with daemon.connect() as v:
        _, gate = busy(v, daemon)
        dated, delayed, begins = (submit(v, tells(daemon), **{name: value}) for name, value in (
            ("at_usec", now_usec() + 3600 * 1000000), ("delay_usec", 3600 * 1000000), ("at_usec", now_usec() + 3600 * 1000000)))
        assert daemon.ctl("edit", dated, "--in=2h").code == 0 and times(v, dated) == {"delay_usec"}
        assert daemon.ctl("edit", delayed, "--at=+2h").code == 0 and times(v, delayed) == {"at_usec"}
        assert daemon.ctl("edit", begins, "--in=1s").code == 0
    with restarted(daemon, over_restart) as v:
        assert (times(v, dated), times(v, delayed), times(v, begins)) == ({"delay_usec"}, {"at_usec"}, {"delay_usec"})
        assert daemon.ctl("edit", dated, "--in=2h", "--at=+3h").code == 0 and times(v, dated) == {"delay_usec", "at_usec"}
        gate.touch()
        ended(v, begins)
        for job, word in (dated, "--in=none"), (delayed, "--at=none"):
            assert daemon.ctl("edit", job, word).code == 0 and times(v, job) == set()
            ended(v, job)


def test_none_is_no_job_and_no_name(daemon):
    with daemon.connect() as v:
        job = submit(v, sh("true"), hold=True, claims=[{"name": "db", "mode": "exclusive"}])
        other = submit(v, sh("true"), hold=True)
        for option in "--after", "--after-any", "--after-start-each":
            assert daemon.ctl("edit", job, f"--after-any={other}").code == 0 and after_of(v, job) == [(other, "any")]
            assert daemon.ctl("edit", job, f"{option}=none").code == 0 and after_of(v, job) == []
        for words, err in (
                (["--lock=none"], "--lock: none is no name here; `voltctl edit --no-claims ID` gives up what a job claims"),
                (["--sem=none"], "--sem: none is no name"), (["--sem=none:2"], "--sem: none is no name"),
                (["--rate=none"], "--rate: none is no name"), (["--lock-shared=none"], "--lock-shared: none is no name"),
                (["--after=none", f"--after-any={other}"], "--no-after, and a job that it waits for")):
            r = daemon.ctl("edit", job, *words)
            assert err in r.err and r.code == 2, (words, r)
        spec = v.ok(JOBS + "Get", {"id": job, "with_spec": True})["job"]["spec"]
        assert [c["name"] for c in spec["claims"]] == ["db"]
        assert daemon.ctl("edit", job, "--no-claims").code == 0
    r = daemon.submit("--lock=none", "true")
    assert r.code == 125 and r.out == "" and "--lock: none is no name" in r.err, r
    assert daemon.submit("-w", "-n", "none", "--singleton", "true").code == 0


def after_of(v, ident):
    spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
    return [(e["job"], e["when"]) for e in spec.get("after", [])]


@pytest.mark.parametrize("over_restart", [False, True])
def test_which_jobs_it_waits_for_is_edited(private, over_restart):
    """Also jobs that were submitted later; what had been met, and is asked for no more, is nothing."""
    private.start(config="[Queue]\nSlots=4\n")
    with private.connect() as v:
        first, gone, last = (submit(v, tells(private), hold=True) for _ in range(3))
        waits = submit(v, tells(private), after=[{"job": first}, {"job": gone, "when": "any"}])
        release(v, first)
        wait(v, first)  # a fact of an edge that is not there any more after this
        assert edit(v, waits, after=[{"job": last}]) == 1
        assert edit(v, gone, after=[{"job": waits}]) == 1
        ring = f"{last} -> {gone} -> {waits} -> {last}"
        assert f"job {last}: after: jobs that wait for each other: {ring}" in refusal(v, last, after=[{"job": gone}])
    with restarted(private, over_restart) as v:
        assert after_of(v, waits) == [(last, "ok")] and get(v, waits)["wait"] == "dependency"
        assert get(v, waits)["edited"] == ["after"]
        release(v, gone, last)
        assert order_of(v, private, [gone, last, waits]) == [last, waits, gone]
        fails = submit(v, sh("exit 3"))
        wait(v, fails)
        free = submit(v, sh("true"), hold=True)
        assert "has ended as exit: it could never start" in refusal(v, free, after=[{"job": fails}])


@pytest.mark.parametrize("over_restart", [False, True])
def test_elements_wait_for_others_by_an_edit(private, over_restart):
    private.start(config="[Queue]\nSlots=4\n")
    with private.connect() as v:
        pair = {"first": 1, "last": 2}
        first = submit(v, sh("exit $((VOLT_ARRAY_INDEX - 1))"), array=pair, hold=True)
        second = submit(v, sh("true"), array=pair, hold=True)
        r = private.ctl("edit", second, f"--after-ok-each={first}")
        assert r.code == 0, r
        release(v, second)
        assert f"each, of job {first} succeeds" in private.ctl("why", second).out.replace("\n", " ")
    with restarted(private, over_restart) as v:
        release(v, first)
        wait(v, first, second)
        assert [get(v, f"{second}_{i}")["result"] for i in (1, 2)] == ["success", "dependency"]


def test_what_is_typed_of_dependencies(daemon):
    with daemon.connect() as v:
        a, b = (submit(v, sh("true"), hold=True, name="some") for _ in range(2))
        assert daemon.ctl("edit", a, "--after=@last", f"--after-start={b}").code == 0
        assert after_of(v, a) == [(b, "ok"), (b, "start")]
        assert f"{b} some: " in (tree := daemon.ctl("graph").out) and tree.index(b) < tree.index(f"{a} some: "), tree
        assert daemon.ctl("edit", b, "--after=name:some").err.endswith(f": {b} -> {b}\n")
        assert daemon.ctl("edit", a, "--no-after", "-p", "-1").code == 0 and after_of(v, a) == []
        for words, err, code in (
                (["--after=name:other"], "name:other: you have no such job", 4),
                (["--after=x"], "--after: x is no id: try name:x", 2),
                (["--after=4711"], "after: job 4711 is not known", 1),
                (["--no-after", "--after-any=1"], "--no-after, and a job that it waits for (--after): one of them", 2),
                (["--now", "--in=1h"], "--now, and a time that it waits for (--in, --at): one of them", 2),
                (["--at=22:00", "--now"], "--now, and a time", 2),
                (["--no-claims", "--sem=x"], "--no-claims, and what it claims", 2)):
            r = daemon.ctl("edit", b, *words)
            assert err in r.err and r.code == code, (words, r)
        release(v, a, b)
        wait(v, a, b)


def test_all_that_are_named_are_edited_or_none(daemon):
    with daemon.connect() as v:
        short, long = submit(v, sh("true"), hold=True), submit(v, sh("true"), hold=True, timeout_usec=90000000)
        r = daemon.ctl("edit", short, long, "-q", "night")
        assert r.code == 1 and f"job {long}: timeout_usec: queue night allows at most" in r.err, r
        assert get(v, short)["queue"] == "default" and "edited" not in get(v, short)
        assert edit(v, short, start_by_usec=0, claims=[], queue="default", priority=0) == 1
        assert "edited" not in get(v, short)  # all that is so already
        release(v, short, long)
        wait(v, short, long)


def test_of_a_range_those_are_edited_that_wait(daemon):
    with daemon.connect() as v:
        ended_one = submit(v, kind="noop")
        wait(v, ended_one)
        a = submit(v, sh("true"), hold=True)
        b = submit(v, sh("true"), hold=True)
        r = daemon.ctl("edit", f"{ended_one}-{int(b) + 3}", "-p", "-2")
        assert r.code == 0 and r.err.endswith("voltctl: 2 jobs edited\n") and "are of no job that waits" in r.err, r
        assert [get(v, i)["priority"] for i in (ended_one, a, b)] == [0, -2, -2]
        r = daemon.ctl("edit", f"{int(b) + 1}-{int(b) + 3}", "-p", "-2")
        assert (r.code, r.err) == (4, "voltctl: no job matches\n"), r
        r = daemon.ctl("first", f"{a}-{b}")
        assert (r.code, r.err) == (0, "voltctl: 2 jobs put first\n"), r
        release(v, a, b)
        wait(v, a, b)


def test_which_jobs_are_edited_by_a_filter(daemon):
    with daemon.connect() as v:
        _, gate = busy(v, daemon)
        a = submit(v, sh("true"), hold=True, name="some", labels={"a": "b"})
        b = submit(v, sh("true"), hold=True, name="other", queue="night")
        for words, changed in ((["--old-queue=night", "-q", "default"], [b]), (["--old-name=so*", "-n", "new"], [a]),
                               (["--label=a=b", "-p", "-1"], [a]), (["--all", "-p", "-2"], [a, b]),
                               ([a, b, "--label=a", "-p", "-3"], [a])):
            r = daemon.ctl("edit", *words, "--json")
            assert (r.code, r.out) == (0, '{"count":%d}\n' % len(changed)), (words, r)
        assert (get(v, a)["name"], get(v, a)["priority"]) == ("new", -3)
        assert (get(v, b)["queue"], get(v, b)["priority"]) == ("default", -2)
        for words, err in ((["-p", "1"], "--old-queue and --old-name say which"), ([a, "--all", "-p", "1"], "--all and ids"),
                           ([a, "--env=A=b"], "leave it out: it cannot be changed once"),
                           ([a, "--hold"], "use `voltctl hold ID`")):
            r = daemon.ctl("edit", *words)
            assert err in r.err and r.code == 2, (words, r)
        gate.touch()
        release(v, a, b)
        wait(v, a, b)
