"""Queues, changed by hand: what runs, what waits, what is refused, and what a restart knows of it."""

import json
import os
import signal

from conftest import needs_root, until
from jobs import ended, get, listed, sh, submit, wait
from protocol import error
from test_locks import gated, open_gate
from test_store import config
from test_users import speak_as, start_for_all

JOBS = "org.voltd.jobs."


def queue(daemon, *words):
    r = daemon.ctl("queue", *words)
    assert r.code == 0, r


def queues(daemon):
    return {found["name"]: found for found in json.loads(daemon.ctl("queues", "--json").out)}


def default(daemon):
    return queues(daemon)["default"]


def running(v, *idents):
    return sum(get(v, ident)["state"] == "running" for ident in idents)


def test_slots_that_are_set_count_at_once_and_after_a_restart(private):
    private.start(config=config(1))
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private))) for _ in range(4)]
        until(lambda: running(v, *jobs) == 1)
        queue(private, "set", "default", "slots=3")
        until(lambda: running(v, *jobs) == 3)
        found = default(private)
        assert found["settings"]["slots"] == 3 and found["overridden"] == {"slots": 1}, found
        assert (found["used"], found["waiting"]) == (3, 1), found
        assert private.ctl("queues").lines[1].split() == [
            "default", "open", "3", "-", "-", "1", "3", "1", "-", "-", "slots=3", "(1)"]
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        until(lambda: running(v, *jobs) == 3)
        assert default(private)["settings"]["slots"] == 3
        queue(private, "reset", "default")
        assert default(private)["settings"]["slots"] == 1 and default(private)["overridden"] == {}
        open_gate(private)
        wait(v, *jobs)
    assert private.ctl("queues").lines[0].split() == [
        "NAME", "STATE", "SLOTS", "NOMINAL", "MAX", "WEIGHT", "USED", "WAITING", "USERS", "GROUPS", "SET", "(CONFIGURED)"]


def test_a_new_configuration_wins_over_what_was_set(private):
    private.start(config=config(1))
    queue(private, "set", "default", "slots=3")
    assert private.ctl("reload").code == 0
    assert default(private)["settings"]["slots"] == 3
    private.stop()
    private.start(config=config(2))
    assert default(private)["settings"]["slots"] == 2 and default(private)["overridden"] == {}
    private.stop()
    private.start(config=config(1))
    assert default(private)["settings"]["slots"] == 1


def test_a_paused_queue_starts_nothing_until_it_is_resumed(private):
    private.start(config=config(2))
    with private.connect() as v:
        first = submit(v, sh(gated(private)))
        until(lambda: running(v, first) == 1)
        queue(private, "pause", "default")
        queue(private, "pause", "default")
        waiting = [submit(v, sh("exit 3")), submit(v, kind="noop"),
                   submit(v, sh("exit 4", array={"first": 1, "last": 2}))]
        open_gate(private)
        assert ended(v, first)["result"] == "success"
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        for ident in waiting:
            assert get(v, ident)["state"] == "queued" and get(v, ident)["wait"] == "paused"
            assert get(v, ident)["attempt"] == 0
        assert default(private)["paused"] and default(private)["waiting"] == 3
        assert "its queue is paused" in private.ctl("status", waiting[0]).out
        assert "queue default is paused" in private.ctl("why", waiting[0]).out
        assert "paused" in private.ctl("queues").lines[1]
        queue(private, "resume", "default")
        assert [ended(v, ident)["exit_code"] for ident in waiting] == [3, 0, 4]
    assert not default(private)["paused"]


def test_short_jobs_stop_starting_as_well(private):
    """Those that start early, or after others, are called back."""
    private.start(config=config(2))
    with private.connect() as v:
        ident = submit(v, {"argv": ["/bin/true"], "array": {"first": 1, "last": 1000}})
        until(lambda: get(v, ident)["counts"]["done"] > 200)
        queue(private, "pause", "default")
        until(lambda: default(private)["used"] == 0 and get(v, ident)["counts"]["running"] == 0)
        counts = get(v, ident)["counts"]
        assert counts["done"] < 1000 and counts["failed"] == 0, counts
        assert default(private)["waiting"] == 1
        assert get(v, ident)["counts"]["done"] == counts["done"]
        queue(private, "resume", "default")
        assert ended(v, ident)["result"] == "success"


def test_a_drained_queue_runs_what_it_has_and_takes_no_more(private):
    private.start(config=config(1))
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private))), submit(v, sh("exit 3"))]
        queue(private, "drain", "default")
        private.stop(signal.SIGKILL)
        private.start()
    with private.connect() as v:
        r = private.submit("true")
        assert r.code == 125 and "queue default is drained and takes no jobs" in r.err, r
        reply = v.call(JOBS + "SubmitBatch", {"specs": [sh(":"), sh(":")]})
        assert "drained" in json.dumps(reply), reply
        open_gate(private)
        assert [ended(v, ident)["exit_code"] for ident in jobs] == [0, 3]
        queue(private, "resume", "default")
        assert ended(v, submit(v, sh(":")))["result"] == "success"


def test_what_is_typed_wrongly(private):
    private.start(config=config(1))
    for words, said, code in (
            ([], "expected is set, pause, resume, drain, reset, create or delete", 2),
            (["stop", "default"], "stop: expected is set, pause", 2),
            (["pause"], "pause: expected is NAME", 2),
            (["pause", "default", "night"], "pause: expected is NAME", 2),
            (["set", "default"], "set: expected are NAME and SETTING=VALUE", 2),
            (["set", "default", "slots"], "expected is SETTING=VALUE, as slots=4", 2),
            (["set", "default", "slot=4"], "did you mean slots?", 2),
            (["set", "default", "x" * 40 + "=4"], "expected is SETTING=VALUE", 2),
            (["set", "default", "slots=many"], "slots", 2),
            (["set", "default", "lend=perhaps"], "lend=perhaps: expected is yes or no", 2),
            (["set", "default", "max-timeout=soon"], "max-timeout=soon: expected is a time", 2),
            (["set", "default", b"users=a,\xff"], "expected is names with commas between them", 2),
            (["set", "default", "weight=0"], "weight", 1),
            (["set", "default", "nominal=2"], "more slots of their own (nominal) than there are", 1),
            (["set", "default", "slots=100001"], "slots", 1),
            (["pause", "night"], "no such queue: night; there are: default", 1)):
        r = private.ctl("queue", *words)
        assert r.code == code and said in r.err, (words, r)
    assert private.ctl("queues", "default").code == 2
    assert default(private)["overridden"] == {} and not default(private)["paused"]


NIGHT = """[Queue night]
Nominal=1
Weight=3
"""


def test_jobs_are_in_the_queue_that_they_name(private):
    private.start(config=config(2) + NIGHT)
    with private.connect() as v:
        outer = submit(v, sh(gated(private)))
        inner = [submit(v, sh(gated(private), queue="night")) for _ in range(3)]
        until(lambda: running(v, outer, *inner) == 2)
        assert get(v, outer)["state"] == "running"
        found = queues(private)
        assert (found["default"]["used"], found["default"]["waiting"]) == (1, 0), found
        assert (found["night"]["used"], found["night"]["waiting"]) == (1, 2), found
        assert [job["id"] for job in listed(v, queue="night")] == inner
        assert get(v, inner[0])["queue"] == "night"
        queue(private, "pause", "night")
        assert get(v, inner[2])["wait"] == "paused"
        assert "queue night is paused" in private.ctl("why", inner[2]).out
        assert "paused" in private.ctl("queues").lines[2]
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        found = queues(private)
        assert (found["night"]["used"], found["night"]["waiting"], found["night"]["paused"]) == (1, 2, True)
        queue(private, "resume", "night")
        open_gate(private)
        wait(v, outer, *inner)


def test_a_queue_that_is_not_there_is_refused_with_those_that_are(private):
    private.start(config=config(1) + NIGHT + "AllowUsers=nobody\n")
    r = private.submit("-q", "nigth", "true")
    assert r.code == 125 and "there is no queue nigth; there are for you: default" in r.err, r
    r = private.submit("--queue=night", "true")
    assert r.code == 0 if os.geteuid() == 0 else "you may not use queue night" in r.err, r
    r = private.ctl("queue", "pause", "nigth")
    assert r.code == 1 and "no such queue: nigth; there are: default, night" in r.err, r


def test_those_that_may_use_it_are_set_by_hand(private):
    private.start(config=config(4) + NIGHT + "AllowGroups=root\n")
    assert queues(private)["night"]["settings"]["groups"] == ["root"]
    queue(private, "set", "night", "users=daemon,nobody", "groups=")
    queue(private, "create", "tape", "groups=root")
    r = private.ctl("queue", "set", "night", "users=daemon,no-such-one")
    assert r.code == 1 and "there is no user no-such-one" in r.err, r
    r = private.ctl("queue", "set", "night", "groups=no-such-one")
    assert r.code == 1 and "there is no group no-such-one" in r.err, r
    r = private.ctl("queue", "set", "night", "users=" + "x" * 161)
    assert r.code == 1 and "at most 160 bytes" in r.err, r
    private.stop(signal.SIGKILL)
    private.start()
    found = queues(private)
    assert found["night"]["settings"]["users"] == ["daemon", "nobody"] and "groups" not in found["night"]["settings"]
    assert found["night"]["overridden"] == {"users": [], "groups": ["root"]}, found
    assert found["tape"]["settings"]["groups"] == ["root"] and "users" not in found["default"]["settings"]
    words = [line.split() for line in private.ctl("queues").lines]
    assert words[0][-4:] == ["USERS", "GROUPS", "SET", "(CONFIGURED)"], words
    assert words[2][-6:] == ["daemon,nobody", "-", "users=daemon,nobody", "(-),", "groups=", "(root)"], words
    assert words[3][-4:-2] == ["-", "root"], words
    r = private.submit("--queue=night", "true")
    assert r.code == 0 if os.geteuid() == 0 else "you may not use queue night" in r.err, r
    queue(private, "set", "night", "users=")
    assert private.submit("--queue=night", "true").code == 0
    queue(private, "reset", "night")
    assert queues(private)["night"]["overridden"] == {}


DAEMON, SYS = 1, 3  # users of every Debian, each with a group of that name and number


@needs_root
def test_who_may_use_a_queue(private):
    """Users and groups of the configuration, then those set by hand, before and after a restart."""
    start_for_all(private, config=config(4) + NIGHT + "AllowUsers=daemon\n[Queue tape]\nAllowGroups=sys\n")

    def said(uid, method="Submit", **parameters):
        reply = speak_as(private, uid, JOBS + method, parameters)
        return error(reply, JOBS + "Refused")["reason"] if "error" in reply else reply["parameters"]

    def check(allowed, refused, queue, theirs):
        assert said(allowed, spec=sh("true", queue=queue))["id"]
        assert said(refused, spec=sh("true", queue=queue)) == f"you may not use queue {queue}; there are for you: {theirs}"
        waits = said(refused, spec=sh("true", hold=True))["id"]
        edited = said(refused, "Edit", ids=[waits], changes={"queue": queue})
        assert edited == f"job {waits}: you may not use queue {queue}; there are for you: {theirs}"
        assert said(allowed, "Submit", dry_run=True, spec=sh("true", queue=queue))["created"]
        assert "you may not use" in said(refused, "Submit", dry_run=True, spec=sh("true", queue=queue))

    check(DAEMON, SYS, "night", "default, tape")
    check(SYS, DAEMON, "tape", "default, night")
    assert private.submit("--queue=tape", "true").code == 0  # root may
    waits = said(DAEMON, spec=sh("true", queue="night", hold=True))["id"]
    queue(private, "set", "night", "users=sys")
    for signum in None, signal.SIGKILL:
        if signum:
            private.stop(signum)
            private.start()
            private.socket.chmod(0o666)
            private.runtime.chmod(0o755)
        check(SYS, DAEMON, "night", "default")
    with private.connect() as v:
        # What is in it stays and runs.
        assert said(DAEMON, "Release", ids=[waits])["count"] == 1 and ended(v, waits)["result"] == "success"
        queue(private, "reset", "night")
        check(DAEMON, SYS, "night", "default, tape")
        reply = speak_as(private, DAEMON, "org.voltd.queues.Set", {"name": "night", "settings": {"users": ["daemon", "sys"]}})
        assert "error" in reply, reply
        v.ok(JOBS + "Cancel", {"filter": {}})


def test_settings_by_hand_are_of_their_queue(private):
    private.start(config=config(4) + NIGHT)
    r = private.ctl("queue", "set", "night", "slots=3")
    assert r.code == 1 and "set of the queue default" in r.err, r
    r = private.ctl("queue", "set", "night", "nominal=5")
    assert r.code == 1 and "than there are" in r.err, r
    queue(private, "set", "night", "nominal=2", "max=3", "max-per-user=2", "weight=5", "lend=no",
          "default-timeout=1min", "max-timeout=1h")
    settings = {"nominal": 2, "max": 3, "max_per_user": 2, "weight": 5, "lend": False,
                "default_timeout_usec": 60_000_000, "max_timeout_usec": 3600_000_000}
    private.stop(signal.SIGKILL)
    private.start()
    found = queues(private)["night"]
    assert found["settings"] == settings, found
    assert found["overridden"] == {"nominal": 1, "max": 0, "max_per_user": 0, "weight": 3, "lend": True,
                                   "default_timeout_usec": 0, "max_timeout_usec": 0}, found
    assert private.ctl("queues").lines[2].split(maxsplit=10)[10] == (
        "nominal=2 (1), max=3 (0), max-per-user=2 (0), weight=5 (3), lend=no (yes), default-timeout=1min 0s (0), "
        "max-timeout=1h 0min (0)")
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private), queue="night")) for _ in range(3)]
        until(lambda: running(v, *jobs) == 2)
        assert "user has 2 of 2 slots in its queue night" in private.ctl("why", jobs[2]).out
        others = [submit(v, sh(gated(private))) for _ in range(3)]
        until(lambda: running(v, *others) == 2)
        assert v.ok(JOBS + "Get", {"id": jobs[0], "with_spec": True})["job"]["spec"]["timeout_usec"] == 60_000_000
        reply = v.call(JOBS + "Submit", {"spec": sh(":", queue="night", timeout_usec=3601_000_000)})
        assert "at most 3600 s (MaxTimeoutSec=)" in json.dumps(reply), reply
        open_gate(private)
        wait(v, *jobs, *others)


def test_the_same_key_is_the_same_job_whatever_is_set_of_its_queue(private):
    private.start(config=config(2) + NIGHT + "DefaultTimeoutSec=50\n")
    with private.connect() as v:
        spec = sh(gated(private), queue="night", key="k")
        ident = submit(v, spec)
        timeout = {"timeout_usec": 50_000_000}.items()
        assert timeout <= v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"].items()
        for words in (("set", "night", "default-timeout=20s"), ("set", "night", "max-timeout=10s"),
                      ("drain", "night")):
            queue(private, *words)
            assert submit(v, spec) == ident
        reply = v.call(JOBS + "Submit", {"spec": {**spec, "key": "l"}})
        assert "queue night is drained" in json.dumps(reply), reply
    private.stop(signal.SIGKILL)
    private.start(config=config(2))
    with private.connect() as v:
        assert submit(v, spec) == ident
        assert timeout <= v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"].items()
        reply = v.call(JOBS + "Submit", {"spec": {**spec, "key": "l"}})
        assert "there is no queue night" in json.dumps(reply), reply
        open_gate(private)
        wait(v, ident)


def test_the_time_limit_of_a_queue_ends_what_has_none(private):
    private.start(config=config(2) + NIGHT)
    queue(private, "set", "night", "default-timeout=1ms")
    with private.connect() as v:
        jobs = [submit(v, kind="sleep", duration_usec=3600_000_000, queue="night"),
                submit(v, sh("sleep 3600"), queue="night")]
        assert [ended(v, ident)["result"] for ident in jobs] == ["timeout", "timeout"]
        slept = submit(v, kind="sleep", duration_usec=1, queue="night")
        assert ended(v, slept)["result"] == "success"


def test_slots_that_are_not_lent_are_kept(private):
    private.start(config=config(2) + NIGHT + "Lend=no\n")
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private))) for _ in range(2)]
        until(lambda: running(v, *jobs) == 1)
        assert "are kept for other queues" in private.ctl("why", jobs[1]).out
        night = submit(v, sh(gated(private), queue="night"))
        until(lambda: running(v, night) == 1)
        assert running(v, *jobs) == 1
        open_gate(private)
        wait(v, night, *jobs)


def test_slots_that_nothing_can_have_are_not_kept(private):
    private.start(config=config(2) + "[Queue a]\n[Queue b]\n")
    queue(private, "set", "default", "slots=12")
    for name in "ab":
        queue(private, "set", name, "nominal=5", "lend=no")
    r = private.ctl("queue", "reset", "default")
    assert r.code == 1 and "more slots of their own (nominal) than there are" in r.err, r
    private.config.write_text(config(3) + "[Queue a]\n[Queue b]\n")
    assert private.ctl("reload").code == 0
    assert default(private)["settings"]["slots"] == 3
    assert "queues have 10 slots of their own (nominal), and there are 3" in private.log.read_text()
    with private.connect() as v:
        assert ended(v, submit(v, sh(":")))["result"] == "success"
    private.stop()
    private.start()
    with private.connect() as v:
        assert ended(v, submit(v, sh(":")))["result"] == "success"


@needs_root
def test_what_one_user_may_run_over_all_queues(private):
    """MaxRunningPerUser= counts the jobs of both queues, of each user alone; reload changes it."""
    start_for_all(private, config=config(9) + "[Queue night]\n[Limits]\nMaxRunningPerUser=2\n")
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private), queue=name)) for name in ("default", "night", "night")]
        until(lambda: running(v, *jobs[:2]) == 2)
        third = private.ctl("why", jobs[2]).lines[0]
        assert third == f"job {jobs[2]}: user has 2 of 2 slots over all queues (MaxRunningPerUser=)", third
        other = speak_as(private, DAEMON, JOBS + "Submit", {"spec": sh("true")})["parameters"]["id"]
        assert ended(v, other)["result"] == "success"
        assert get(v, jobs[2])["state"] == "queued"
        private.config.write_text(config(9) + "[Queue night]\n")
        assert private.ctl("reload").code == 0
        until(lambda: running(v, *jobs) == 3)
        open_gate(private)
        wait(v, *jobs)


def test_a_queue_that_goes_runs_what_it_has(private):
    private.start(config=config(1) + NIGHT)
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private), queue="night")) for _ in range(2)]
        until(lambda: running(v, *jobs) == 1)
    private.stop(signal.SIGKILL)
    private.start(config=config(1))
    with private.connect() as v:
        found = queues(private)["night"]
        assert found["gone"] and found["settings"]["nominal"] == 0, found
        assert "gone" in private.ctl("queues").lines[2]
        assert "there is no queue night" in private.submit("-q", "night", "true").err
        open_gate(private)
        wait(v, *jobs)
        assert {get(v, ident)["result"] for ident in jobs} == {"success"}
        until(lambda: set(queues(private)) == {"default"})
        private.config.write_text(config(1) + NIGHT)
        assert private.ctl("reload").code == 0
        assert "gone" not in queues(private)["night"]
        assert ended(v, submit(v, sh(":", queue="night")))["result"] == "success"


def test_a_queue_that_goes_while_elements_back_off_is_there(private):
    private.start(config=config(1) + "[Queue tape]\n")
    with private.connect() as v:
        ident = submit(v, sh("false", queue="tape", array={"first": 1, "last": 2},
                             retry={"times": 1, "backoff_usec": 3600_000_000}))
        until(lambda: [get(v, f"{ident}_{i}")["attempt"] for i in (1, 2)] == [1, 1]
              and default(private)["used"] == queues(private)["tape"]["used"] == 0)
        private.config.write_text(config(1))
        assert private.ctl("reload").code == 0
        assert queues(private)["tape"]["gone"]
        queue(private, "pause", "tape")
        assert queues(private)["tape"]["paused"]
        queue(private, "resume", "tape")
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        wait(v, ident)
    until(lambda: set(queues(private)) == {"default"})


def test_any_number_of_queues_may_have_been_there(private):
    private.start(config=config(1))
    for i in range(70):
        private.config.write_text(config(1) + f"[Queue q{i}]\n")
        assert private.ctl("reload").code == 0
    assert set(queues(private)) == {"default", "q69"}
    private.config.write_text(config(1) + "".join(f"[Queue r{i}]\n" for i in range(63)))
    assert private.ctl("reload").code == 0
    with private.connect() as v:
        for i in range(63):
            v.ok("org.voltd.queues.Set", {"name": f"r{i}", "max": 2})
    private.config.write_text(config(1) + "[Queue q]\n")
    r = private.ctl("reload")
    assert r.code == 1 and "too many queues, with those that have gone" in r.err, r


def test_a_queue_that_is_made_by_hand(private):
    private.start(config=config(2))
    queue(private, "create", "tape", "max=1", "weight=2")
    with private.connect() as v:
        jobs = [submit(v, sh(gated(private), queue="tape")) for _ in range(2)]
        until(lambda: running(v, *jobs) == 1)
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        until(lambda: running(v, *jobs) == 1)
        found = queues(private)["tape"]
        assert (found["settings"]["max"], found["settings"]["weight"], found["waiting"]) == (1, 2, 1), found
        r = private.ctl("queue", "delete", "tape")
        assert r.code == 1 and "it has jobs: drain it, and delete it when they have ended" in r.err, r
        assert running(v, *jobs) == 1
        queue(private, "drain", "tape")
        assert private.submit("-q", "tape", "true").code == 125
        open_gate(private)
        wait(v, *jobs)
        until(lambda: private.ctl("queue", "delete", "tape").code == 0)
        until(lambda: set(queues(private)) == {"default"})
    for words, said in ((["create", "default"], "there is a queue of this name"),
                        (["create", "-"], "a name has 1 to 32 letters"),
                        (["create", "tape", "slots=3"], "set of the queue default"),
                        (["delete", "default"], "the configuration has it"),
                        (["delete", "tape"], "no such queue: tape; there are: default")):
        r = private.ctl("queue", *words)
        assert r.code == 1 and said in r.err, (words, r)
