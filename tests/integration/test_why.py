"""voltctl why: what a job waits for, in words; of others numbers alone."""

import json
import os
import re
import subprocess
import sys


from conftest import needs_root, until
from jobs import JOBS, get, sh, submit, wait
from protocol import LOCKS, INTERFACES, SERVICE
from test_users import speak_as, start_for_all

ONE_SLOT = "[Queue]\nSlots=1\n"
HOUR = 3600 * 1000000


def why(v, ident=None):
    return v.ok(JOBS + "Why", {"id": ident} if ident else {})


def texts(v, ident):
    return [(r["wait"], r["text"]) for r in why(v, ident)["reasons"]]


def runs(v, go, **more):
    """A job that has a slot."""
    ident = submit(v, sh(f"until [ -e {go} ]; do sleep 0.01; done", **more))
    until(lambda: get(v, ident)["state"] == "running", "it to run")
    return ident


def test_each_reason(private):
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    with private.connect() as v:
        first = runs(v, go, claims=[{"name": "l"}], key="k")
        one, two = submit(v, sh("true")), submit(v, sh("true"))
        assert texts(v, one) == [("slot", "1 of 1 slots in use (0 by others)")]
        assert texts(v, two) == [("turn", "1 of 1 slots in use (0 by others); 1 in front")]
        held = submit(v, sh("true"), hold=True)
        assert texts(v, held) == [("hold", "held by its user")]
        later = submit(v, kind="noop", delay_usec=HOUR, hold=True)
        (time, when), hold = sorted(texts(v, later), reverse=True)
        assert time == "time" and re.fullmatch(r"begins in (59min \d+s|1h 0min)", when)
        assert hold == ("hold", "held by its user")
        locked = submit(v, kind="noop", claims=[{"name": "l", "mode": "shared"}])
        ((lock, text),) = texts(v, locked)
        assert lock == "lock" and re.fullmatch(rf"lock l: held by job {first} for [^,]+, wanted shared", text), text
        array = submit(v, sh("true"), array={"first": 1, "last": 3}, hold=True)
        assert texts(v, array) == texts(v, f"{array}_2") == [("hold", "held by its user")]
        nothing = why(v, first)
        assert nothing == {"state": "running", "reasons": []}
        done = submit(v, kind="noop")
        wait(v, done)
        assert why(v, done) == {"state": "done", "reasons": []}
        assert v.call(JOBS + "Why", {"id": "99"})["error"] == JOBS + "NoSuchJob"
        v.ok(JOBS + "Cancel", {"ids": [two]})
        go.touch()
        v.ok(JOBS + "Cancel", {"filter": {}})


def test_most_of_them(private):
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    with private.connect() as v:
        assert why(v) == {"reasons": []}
        runs(v, go)
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [sh("true")] * 700})["ids"]
        held = v.ok(JOBS + "SubmitBatch", {"specs": [sh("true", hold=True)] * 3})["ids"]
        submit(v, sh("true"), delay_usec=HOUR)
        most, *others = why(v)["reasons"]
        assert most == {"wait": "slot", "text": "1 of 1 slots in use (0 by others)", "count": 700, "id": ids[0],
                        "uid": os.geteuid()}
        assert [(r["wait"], r["count"]) for r in others] == [("hold", 3), ("time", 1)]
        assert others[0]["id"] == held[0]
        lines = private.ctl("why").lines
        assert lines[0] == f"700 jobs, such as {ids[0]}: 1 of 1 slots in use (0 by others)"
        assert lines[1] == f"3 jobs, such as {held[0]}: held by its user"
        v.ok(JOBS + "Cancel", {"filter": {}})
        go.touch()


def test_rates_are_told_apart(private):
    private.start()
    with private.connect() as v:
        for name, n in ("a", 2), ("b", 3):
            for _ in range(n):
                submit(v, kind="noop", claims=[{"name": name, "mode": "rate", "interval_usec": HOUR}])
        until(lambda: [r["count"] for r in why(v)["reasons"]] == [2, 1], "one of each to have begun")
        assert [r["text"].split()[:2] for r in why(v)["reasons"]] == [["rate", "b:"], ["rate", "a:"]], why(v)


def test_each_under_its_own_reason(private):
    """Not under that of others, though the word for both is the same."""
    private.start(config="[Queue]\nSlots=2\n[Queue mine]\nMaxPerUser=1\n[Queue own]\nNominal=1\nLend=no\n[Queue still]\n")
    go = private.dir / "go"
    assert private.ctl("queue", "pause", "still").code == 0
    with private.connect() as v:
        first = runs(v, go, queue="mine", claims=[{"name": "l"}])
        mine = submit(v, sh("true", queue="mine"))
        kept = [submit(v, sh("true")) for _ in range(3)]
        still = submit(v, sh("true", queue="still"))
        locked = submit(v, sh("true", claims=[{"name": "l"}]))
        got = why(v)["reasons"]
        assert [(r["count"], r["id"]) for r in got] == [(3, kept[0]), (1, mine), (1, still), (1, locked)], got
        assert [r["text"] for r in got[:3]] == [
            "1 of 2 slots in use, and the others are kept for other queues",
            "user has 1 of 1 slots in its queue mine", "queue still is paused"]
        assert got[3]["text"].startswith(f"lock l: held by job {first} for ")
        states = {j["id"]: (j["wait"], j.get("wait_lock")) for j in v.ok(
            JOBS + "List", {"filter": {"states": ["queued"]}})["jobs"]}
        assert states[locked] == ("lock", "l") and states[mine] == ("slot", None), states
        go.touch()
        v.ok(JOBS + "Cancel", {"filter": {"states": ["queued"]}})


def test_when_it_starts(private):
    """From jobs of its name; of no name enough: unknown. What is held has no estimate."""
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    with private.connect() as v:
        first = runs(v, go, name="own")
        waits_, held = submit(v, sh("true", name="own")), submit(v, sh("true", hold=True))
        assert "estimate" not in why(v, waits_) and "estimate" not in why(v, held)
        assert private.ctl("why", waits_).lines[-1] == f"job {waits_}: when it starts is unknown"
        assert private.ctl("why", held).lines == [f"job {held}: held by its user"]
        go.touch()
        wait(v, waits_)
        go.unlink()
        for _ in range(3):
            wait(v, submit(v, sh("sleep 0.1", name="own")))
        first = runs(v, go, name="own", claims=[{"name": "l"}])
        ahead, last = [submit(v, sh("true", name="own")) for _ in range(9)], submit(v, sh("true", name="own"))
        locked = submit(v, kind="noop", claims=[{"name": "l"}])
        e = why(v, last)["estimate"]
        assert e["least_usec"] <= e["in_usec"] <= e["most_usec"] and e["runs"] == 5, e
        assert why(v, ahead[0])["estimate"]["in_usec"] < e["in_usec"]
        assert why(v, locked)["estimate"]["runs"] == 5
        line = private.ctl("why", last).lines[-1]
        assert re.fullmatch(rf"job {last}: starts in about \S+ \(\S+ to \S+, from 5 earlier runs\)", line), line
        assert "estimate" not in why(v, first)
        go.touch()
        v.ok(JOBS + "Cancel", {"filter": {"states": ["queued"]}})


def test_when_the_next_element_or_token_comes(private):
    """Of an array at its limit from its own elements; of a rate, while slots are free, from nothing."""
    private.start(config="[Queue]\nSlots=4\n")
    go = private.dir / "go"
    with private.connect() as v:
        for _ in range(3):
            wait(v, submit(v, sh("true", name="element")))
        array = submit(v, sh(f"until [ -e {go} ]; do sleep 0.01; done", name="element"),
                       array={"first": 1, "last": 9, "at_once": 2})
        until(lambda: get(v, array)["counts"]["running"] == 2, "as many as may to run")
        assert texts(v, array) == [("array", "array runs 2 of 2 elements at once")]
        assert why(v, array)["estimate"]["runs"] == why(v, f"{array}_9")["estimate"]["runs"] == 3
        spent, next_, last = (submit(v, sh("true", name=f"new {i}"),
                                     claims=[{"name": "r", "mode": "rate", "interval_usec": HOUR}]) for i in range(3))
        wait(v, spent)
        for ident, hours in (next_, 1), (last, 2):
            e = why(v, ident)["estimate"]
            assert e["runs"] == 0 and e["least_usec"] == e["in_usec"] == e["most_usec"], e
            assert (hours - 0.5) * HOUR < e["in_usec"] <= hours * HOUR, e
        line = private.ctl("why", last).lines[-1]
        assert re.fullmatch(rf"job {last}: starts in about \d+(h|min)", line), line
        full = runs(v, go, name="full")
        assert "estimate" not in why(v, last), "it might wait for a slot then, and no job of its name has ended"
        assert "estimate" in why(v, next_), "there is a slot for it"
        v.ok(JOBS + "Cancel", {"ids": [full, next_, last]})
        v.ok(JOBS + "Pause", {"ids": [f"{array}_1"]})
        assert "estimate" not in why(v, array), "what is paused has its place as long as it likes"
        v.ok(JOBS + "Resume", {"ids": [f"{array}_1"]})
        v.ok(JOBS + "Cancel", {"filter": {}})
        go.touch()


def test_names_that_never_ran(private):
    """What is told follows from the names of those before it: runs of others tell nothing of them."""
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    with private.connect() as v:
        for name in ["x"] * 5 + ["z"] * 3:
            wait(v, submit(v, sh("true", name=name)))
        first = runs(v, go, name="big")
        behind_big = submit(v, sh("true", name="x"))
        assert "estimate" not in why(v, behind_big)
        v.ok(JOBS + "Cancel", {"filter": {}})
        go.touch()
        wait(v, first)
        go.unlink()
        first = runs(v, go, name="x", claims=[{"name": "l"}])
        one, two = submit(v, sh("true", name="z")), submit(v, sh("true", name="new"))
        assert why(v, one)["estimate"]["runs"] == 5
        assert why(v, two)["estimate"]["runs"] == 8
        three = submit(v, sh("true", name="x"))
        assert "estimate" not in why(v, three)
        v.ok(JOBS + "Cancel", {"ids": [two]})
        assert why(v, three)["estimate"]["runs"] == 8
        other = submit(v, sh("true", name="x", priority=5, claims=[{"name": "m"}]))
        assert why(v, other)["estimate"]["runs"] == 5
        assert "estimate" not in why(v, three), "what else of its user's is before it is not looked at"
        v.ok(JOBS + "Cancel", {"ids": [other]})
        v.ok(JOBS + "Pause", {"ids": [first]})
        assert "estimate" not in why(v, three)
        v.ok(JOBS + "Resume", {"ids": [first]})
        v.ok(JOBS + "Cancel", {"filter": {}})
        go.touch()


def test_a_lease_before_it(private):
    """volt-lock has a lock as long as it likes."""
    private.start()
    with private.connect() as v, private.connect() as holder:
        for _ in range(3):
            wait(v, submit(v, sh("true", name="x")))
        holder.ok(LOCKS + "Acquire", {"name": "l"})
        waits_ = submit(v, sh("true", name="x", claims=[{"name": "l"}]))
        until(lambda: why(v, waits_)["reasons"][0]["wait"] == "lock", "it to have been tried")
        assert "estimate" not in why(v, waits_)
        v.ok(JOBS + "Cancel", {"filter": {}})


def test_more_reasons_than_are_told(private):
    """And each of them is asked for in a turn that has room for it."""
    names = [f"l{i:02}" for i in range(70)]
    private.start(config="[Queue]\nSlots=8\n")
    go = private.dir / "go"
    with private.connect() as v:
        for i in range(0, 70, 16):
            runs(v, go, claims=[{"name": name} for name in names[i:i + 16]])
        specs = [sh("true", claims=[{"name": name}]) for name in names]
        v.ok(JOBS + "SubmitBatch", {"specs": specs + specs[:3]})
        until(lambda: {j.get("wait") for j in v.ok(JOBS + "List", {"filter": {"states": ["queued"]}})["jobs"]} == {"lock"},
              "each to have been tried")
        got = why(v)
        assert [r["count"] for r in got["reasons"]] == [2] * 3 + [1] * 61
        assert {r["text"].split(":")[0] for r in got["reasons"]} == {f"lock {name}" for name in names[:64]}
        assert got["others"] == 6
        assert private.ctl("why").lines[-1] == "and 6 more, for other reasons"
        v.ok(JOBS + "Cancel", {"filter": {}})
        go.touch()


def test_the_commands(private):
    private.start()
    ident = private.submit("--hold", "--", "true").out.strip()
    assert private.ctl("why", ident).out == f"job {ident}: held by its user\n"
    assert json.loads(private.ctl("why", "--json", ident).out)["reasons"][0]["wait"] == "hold"
    assert private.ctl("list", "-o", "id,wait").lines[1].split() == [ident, "hold"]
    private.ctl("release", ident)
    private.ctl("wait", ident)
    assert private.ctl("why", ident).out == f"job {ident} is done, and waits for nothing\n"
    assert private.ctl("why").out == ("no job waits\n" if os.geteuid() == 0 else "none of your jobs waits\n")
    assert private.ctl("why", "99").code == 4


@needs_root
def test_of_others_numbers_alone(private):
    start_for_all(private, config=ONE_SLOT)
    go = private.dir / "go"

    def theirs(method, **parameters):
        return speak_as(private, 12345, JOBS + method, parameters)

    with private.connect() as v:
        ours = runs(v, go, name="secret")
        submit(v, sh("true", name="secret"))
        ident = theirs("Submit", spec={"shell": "true"})["parameters"]["id"]
        for answer in theirs("Why", id=ident), theirs("Why"):
            (reason,) = answer["parameters"]["reasons"]
            assert "1 of 1 slots in use (1 by others)" in reason["text"]
            assert "secret" not in json.dumps(answer)
        assert theirs("Why", id=ours)["error"] == JOBS + "NoSuchJob"
        go.touch()
        v.ok(JOBS + "Wait", {"filter": {}})


def test_those_that_wait_for_other_jobs(private):
    """One job's name stands for all of them only where each waits for it alone, in the same way."""
    private.start(config=ONE_SLOT)
    with private.connect() as v:
        first, second = (submit(v, sh("true"), hold=True) for _ in range(2))
        one = [submit(v, sh("true"), after=[{"job": first}]) for _ in range(2)]

        def said():
            return [(r["count"], r["text"]) for r in why(v)["reasons"] if r["wait"] == "dependency"]
        assert said() == [(2, f"until job {first} succeeds")]
        for edges in ([{"job": first}, {"job": second}], [{"job": second}, {"job": first}],
                      [{"job": first, "when": "any"}], [{"job": second}]):
            other = submit(v, sh("true"), after=edges)
            assert said() == [(3, "until other jobs have ended or started")], edges
            v.ok(JOBS + "Cancel", {"ids": [other]})
            until(lambda: said() == [(2, f"until job {first} succeeds")], "it to be gone")
        assert private.ctl("why").lines[0] == f"2 jobs, such as {first}: held by its user"
        v.ok(JOBS + "Cancel", {"filter": {}})
        assert one


def dry(daemon, *options):
    """What a dry run says that the job would do."""
    r = daemon.submit("--dry-run", "--no-env", *options, "--", "true")
    assert r.code == 0 and r.json["argv"] == ["true"], r
    return r.err.replace("volt-submit: dry run: ", "").splitlines()


def test_dry_run_says_where_it_would_stand(private):
    """In the words of why; nothing where it would start at once, but to a person. Nothing is submitted."""
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    unknown = "when it would start is unknown"
    assert dry(private) == [] and dry(private, "--lock=l") == []
    begins, held = dry(private, "--hold", "--in=200d")
    assert re.fullmatch(r"it would wait: begins in (199|200)d.*", begins) and held == "it would wait: held by its user"
    assert dry(private, "--array=1-9%2") == []
    with private.connect() as v:
        first = runs(v, go, claims=[{"name": "l"}])
        assert dry(private, "--after", first, "--quiet") == []
        assert dry(private, "--after", first) == [f"it would wait: until job {first} succeeds"]
        full = "it would wait: 1 of 1 slots in use (0 by others)"
        assert dry(private) == [full, unknown]
        waiting = submit(v, sh("true", claims=[{"name": "l"}]))
        said, then = dry(private, "--lock=l", "--lock=m")
        assert said.startswith(f"it would wait: lock l: held by job {first} for ") and then == unknown
        assert said.endswith(", wanted exclusive; 1 in front"), said
        ahead = submit(v, sh("true"))
        assert dry(private) == [full + "; 2 in front", unknown]
        assert private.ctl("queue", "pause", "default").code == 0
        assert dry(private) == ["it would wait: queue default is paused; 2 in front"]
        assert private.ctl("queue", "drain", "default").code == 0
        r = private.submit("--dry-run", "true")
        assert r.code == 125 and "drained" in r.err and r.err.endswith("dry run: it would be refused\n"), r
        assert [j["id"] for j in v.ok(JOBS + "List")["jobs"]] == [first, waiting, ahead]
        go.touch()
        assert private.ctl("queue", "resume", "default").code == 0
        wait(v, waiting, ahead)
        assert v.ok(LOCKS + "List")["locks"] == [], "the names of dry runs have gone"


def test_dry_run_of_elements(private):
    """Of an array behind another one it says what why will say."""
    private.start(config=ONE_SLOT)
    with private.connect() as v:
        array = submit(v, sh("true", hold=True, array={"first": 1, "last": 3}))
        after = {"after": [{"job": array, "each": True}], "array": {"first": 1, "last": 3}}
        for spec in sh("true", **after), {"kind": "noop", **after}:
            said = v.ok(JOBS + "Submit", {"dry_run": True, "spec": spec})["reasons"]
            assert said == why(v, submit(v, spec))["reasons"] and said[0]["wait"] == "dependency", said
        v.ok(JOBS + "Cancel", {"filter": {}})


def test_dry_run_says_when_it_would_start(private):
    """As why does once it is submitted."""
    private.start(config=ONE_SLOT)
    go = private.dir / "go"
    with private.connect() as v:
        for _ in range(3):
            wait(v, submit(v, sh("sleep 0.1", name="own")))
        first = runs(v, go, name="own")
        ahead = [submit(v, sh("true", name="own")) for _ in range(9)]
        answer = v.ok(JOBS + "Submit", {"dry_run": True, "spec": sh("true", name="own")})
        e = answer["estimate"]
        assert e["least_usec"] <= e["in_usec"] <= e["most_usec"] and e["runs"] == 3, e
        assert [r["wait"] for r in answer["reasons"]] == ["turn"] and not answer["never_starts"]
        said = dry(private, "--name=own")
        assert said[0] == "it would wait: 1 of 1 slots in use (0 by others); 9 in front"
        assert re.fullmatch(r"it would start in about \S+ \(\S+ to \S+, from 3 earlier runs\)", said[1]), said
        last = submit(v, sh("true", name="own"))
        assert why(v, last)["estimate"]["runs"] == 3 and why(v, last)["reasons"] == answer["reasons"]
        go.touch()
        wait(v, first, *ahead, last)


def test_dry_run_is_refused_as_the_submission_is(private):
    """By the same words, and with the spec all the same; what is refused changes nothing."""
    private.start()
    assert private.ctl("queue", "create", "night", "max-timeout=1h").code == 0
    with private.connect() as v:
        array = submit(v, kind="noop", array={"first": 1, "last": 4})
        wait(v, array)
        submit(v, kind="noop", key="taken")
        submit(v, kind="noop", claims=[{"name": "gpu", "mode": "permits", "permits": 1, "capacity": 1}], hold=True)
        before = len(v.ok(JOBS + "List")["jobs"])
        for options in (["--after=9999"], ["--after=key:nope"], ["--after=name:nope"], ["--queue=none"], ["--key=taken"],
                        ["--sem=gpu:2/1"], ["--sem=gpu:1/2"], ["--priority=5000"], ["--queue=night", "--timeout=5h"],
                        ["--start-by=1h", "--in=2h"], [f"--after-ok-each={array}", "--array=1-3"]):
            dry, real = [private.submit(*more, "--no-env", *options, "--", "true") for more in (["--dry-run"], [])]
            assert real.code == dry.code == 125, (options, dry, real)
            if dry.out: # by voltd, and not by the options
                assert dry.json["argv"] == ["true"]
                assert dry.err == real.err + "volt-submit: dry run: it would be refused\n", (dry, real)
        assert len(v.ok(JOBS + "List")["jobs"]) == before


def test_dry_run_of_what_has_ended(private):
    """What is met is not waited for, what can be met no more is told, and a key that is known; no key is kept."""
    private.start()

    def said(*options):
        return dry(private, *options)

    def asked(**spec):
        return v.ok(JOBS + "Submit", {"dry_run": True, "spec": spec})

    with private.connect() as v:
        good, bad = submit(v, kind="noop"), submit(v, sh("exit 3"))
        wait(v, good, bad)
        held = submit(v, kind="noop", hold=True, key="k")
        assert said("--after-ok", good) == said("--after-any", bad) == []
        assert said("--after", f"{good},{held}") == [f"it would wait: until job {held} succeeds"]
        assert said("--after-ok", bad) == ["it would end at once: what it is to wait for can happen no more"]
        assert asked(kind="noop", after=[{"job": held}, {"job": good}]) == {
            "id": "", "created": True, "durable": True, "never_starts": False,
            "reasons": [{"wait": "dependency", "text": f"until job {held} succeeds"}]}
        assert asked(kind="noop", hold=True, key="k") == {"id": held, "created": False, "durable": True}
        assert said("--key=k", "--if-exists=coalesce") == [f"it would be job {held}, which has its key"]
        assert asked(kind="noop", key="new", on_exists="replace")["created"]
        again = asked(kind="noop", key="k", on_exists="replace")
        assert again["id"] == "" and again["reasons"][0]["text"] == f"until job {held}, which it replaces, is gone"
        assert get(v, held)["state"] == "queued"
        for _ in range(3):
            assert asked(**sh("true"))["id"] == "", "no slot is taken"
        other = submit(v, kind="noop", key="new")
        assert int(other) == int(held) + 1, "no id is taken, and no key"
        wait(v, other)
        v.ok(JOBS + "Cancel", {"ids": [held]})


def test_dry_run_beside_leases(private):
    """A lock is what it would wait for then, and no slot."""
    private.start(config=ONE_SLOT)
    with private.connect() as v, private.connect() as holder, private.connect() as second:
        holder.ok(LOCKS + "Acquire", {"name": "l"})
        second.send(LOCKS + "Acquire", {"name": "l"}, more=True)
        until(lambda: v.ok(LOCKS + "List")["locks"][0]["waiting"] == 1, "the second one to wait")
        said, then = dry(private, "--lock=l")
        assert said.startswith("it would wait: lock l: held by volt-lock (pid ") and said.endswith("; 1 in front"), said
        assert then == "when it would start is unknown" and dry(private) == []


def test_a_dry_run_books_nothing(private):
    private.start(config="[Limits]\nMaxJobsPerUser=2\n")
    with private.connect() as v:
        for _ in range(5):
            v.ok(JOBS + "Submit", {"dry_run": True, "spec": {"kind": "noop"}})
        assert submit(v, kind="noop", hold=True) and submit(v, kind="noop", hold=True)
        assert v.call(JOBS + "Submit", {"dry_run": True, "spec": {"kind": "noop"}})["error"] == JOBS + "TooManyJobs"
        v.ok(JOBS + "Cancel", {"filter": {}})


SPEAK_MANY = """
import json, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
for line in sys.stdin:
    s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[2])
    s.sendall(line.strip().encode() + b"\\0")
    data = b""
    while not data.endswith(b"\\0") and (more := s.recv(65536)):
        data += more
    print(data.rstrip(b"\\0").decode())
"""


@needs_root
def test_no_method_tells_anything_of_others(private):
    """Whatever A asks, of its own jobs, of B's and of nothing, B's words, ids and pids are in no answer."""
    start_for_all(private, config=ONE_SLOT)
    go = private.dir / "go"
    secret = {"name": "bee-name", "key": "bee-key", "labels": {"bee": "bee-label"}, "claims": [{"name": "bee-lock"}]}

    def theirs(method, **parameters):
        return speak_as(private, 12346, JOBS + method, parameters)["parameters"]

    with private.connect() as v:
        for _ in range(3):
            ident = theirs("Submit", spec={"shell": "true", "name": "bee-name"})["id"]
            wait(v, ident)
        running = theirs("Submit", spec=sh(f"until [ -e {go} ]; do sleep 0.01; done", **secret))["id"]
        until(lambda: get(v, running)["state"] == "running", "it to run")
        waiting = theirs("Submit", spec=sh("true", name="bee-name", claims=[{"name": "bee-lock"}]))["id"]
        own = speak_as(private, 12345, JOBS + "Submit", {"spec": sh("true", name="own")})["parameters"]["id"]
        texts = {i: v.ok(SERVICE + "GetInterfaceDescription", {"interface": i})["description"] for i in INTERFACES}
        forms = [{}, *({"id": i} for i in (own, running)), *({"ids": [i]} for i in (own, waiting)), {"filter": {}},
                 {"filter": {"name": "bee-name"}}, {"name": "bee-lock"}, {"name": "default"},
                 {"spec": {"shell": "true", "key": "bee-key", "claims": [{"name": "bee-lock"}]}},
                 {"spec": {"shell": "true", "after": [{"job": running}]}}, {"specs": [{"shell": "true", "name": "own"}]}]
        calls = [{"method": f"{i}.{m}", "parameters": form, **more} for i, text in texts.items()
                 for m in re.findall(r"^method (\w+)", text, re.M) for form in forms
                 for more in ([{}, {"more": True}] if m in ("Watch", "List") else [{}])]
        answers = subprocess.run([sys.executable, "-c", SPEAK_MANY, "12345", private.socket], check=True, text=True,
                                 input="".join(json.dumps(c) + "\n" for c in calls), capture_output=True).stdout.splitlines()
        assert len(answers) == len(calls) > 200
        pid = str(get(v, running)["pid"])
        for call, answer in zip(calls, answers):
            said = {w for w in ("bee-name", "bee-key", "bee-label") if w in answer}
            for word in re.findall(r'"id":"(\d+)"', answer.replace(" ", "")):
                said |= {word} & {running, waiting} if json.loads(answer).get("error") is None else set()
            said |= {pid} & set(re.findall(r"\d+", answer))
            assert not said, (call, answer)
            assert "estimate" not in json.loads(answer).get("parameters", {}), (call, answer)
        assert get(v, running)["state"] == "running"
        go.touch()


def test_dates_that_differ(private):
    """Of jobs that begin at different times the first and the last are told."""
    private.start(config=ONE_SLOT)
    with private.connect() as v:
        submit(v, kind="noop", delay_usec=20 * HOUR)
        first = submit(v, kind="noop", delay_usec=2 * HOUR)
        submit(v, kind="noop", delay_usec=100 * HOUR)
        (reason,) = v.ok(JOBS + "Why")["reasons"]
        assert (reason["count"], reason["id"]) == (3, first)
        assert re.fullmatch(r"begins in (1h 59min|2h 0min), the last in (4d 3h|4d 4h)", reason["text"]), reason
