"""Jobs that wait for other jobs, to start or to end; voltd may die meanwhile."""

import re
import signal

import pytest

from conftest import until
from jobs import JOBS, ended, get, sh, submit, wait
from test_hold import held, hold, release, restart


def after(*edges):
    """Of (id, when)."""
    return [{"job": ident, "when": when} for ident, when in edges]


def waits(v, ident):
    job = get(v, ident)
    return job["state"] == "queued" and job.get("wait") == "dependency" and "wait_position" not in job


def why(v, ident):
    return [r["text"] for r in v.ok(JOBS + "Why", {"id": ident})["reasons"]]


def gated(private, name, then="true"):
    """A command that ends as `then` when the file is there."""
    path = private.dir / name
    return f"until [ -e {path} ]; do sleep 0.01; done; touch {path}ne; {then}"


KINDS = [
    {"kind": "noop"}, {"kind": "sleep", "duration_usec": 1}, {"shell": "true"},
    {"kind": "noop", "array": {"first": 1, "last": 3}},
    {"shell": "true", "array": {"first": 1, "last": 3}}]
# How an antecedent ends, and which of ok, notok, any, start is met by that.
ENDS = [("true", "ok any start"), ("exit 3", "notok any start"), ("kill -9 $$", "notok any start")]


@pytest.mark.parametrize("spec", KINDS)
@pytest.mark.parametrize("then,met", ENDS)
@pytest.mark.parametrize("end", ["go on", signal.SIGKILL, "ended while voltd was dead"])
def test_each_kind_of_edge(private, spec, then, met, end):
    private.start()
    with private.connect() as v:
        first = submit(v, shell=gated(private, "go", then))
        until(lambda: get(v, first)["state"] == "running", "it to run")
        ids = {when: submit(v, spec, after=after((first, when))) for when in ("ok", "notok", "any", "start")}
        assert ended(v, ids["start"])["result"] == "success" # it runs already
        for when in "ok", "notok", "any":
            assert waits(v, ids[when])
        if end == "go on":
            assert why(v, ids["ok"]) == [f"until job {first} succeeds"]
            assert why(v, ids["any"]) == [f"until job {first} ends"]
    if end != "go on":
        private.stop(signal.SIGKILL)
        if end != signal.SIGKILL:
            (private.dir / "go").touch()
            until((private.dir / "gone").exists, "it to end")
        private.start()
    with private.connect() as v:
        (private.dir / "go").touch()
        ran = ended(v, first)
        for when, ident in ids.items():
            job = ended(v, ident)
            if when in met.split():
                assert job["result"] == "success", (when, job)
                if when != "start":
                    assert job.get("started_at_usec", job["ended_at_usec"]) >= ran["ended_at_usec"]
                continue
            assert (job["result"], job["exit_code"]) == ("dependency", 125), job
            assert job["cause"] == {"id": first, "result": ran["result"]}
            assert "started_at_usec" not in job
            if "array" in spec:
                assert get(v, f"{ident}_2")["result"] == "dependency"
    restart(private)
    with private.connect() as v:
        assert {when for when, ident in ids.items() if get(v, ident)["result"] == "success"} == set(met.split())
        for when in set(ids) - set(met.split()):
            assert get(v, ids[when])["cause"] == {"id": first, "result": ran["result"]}


def test_what_has_ended_before_is_looked_up(private):
    """In memory, in the store, and what the store knows no more."""
    private.start(config="[Store]\nKeepEndedJobs=2\n")
    with private.connect() as v:
        good, bad = submit(v, sh("true")), submit(v, sh("false"))
        array = submit(v, sh("[ $VOLT_ARRAY_INDEX != 2 ]"), array={"first": 1, "last": 3})
        never = submit(v, sh("true"), hold=True)
        v.ok(JOBS + "Cancel", {"ids": [never]})
        wait(v, good, bad, array, never)

        def look():
            for ident, met in (good, "ok any start"), (bad, "notok any start"), (array, "notok any start"), (
                    never, "notok any"):
                for when in "ok", "notok", "any", "start":
                    job = ended(v, submit(v, sh("true"), after=after((ident, when))))
                    assert job["result"] == ("success" if when in met.split() else "dependency"), (ident, when, job)

        look()
        wait(v, *[submit(v, kind="noop") for _ in range(9)])
        look()
    restart(private)
    with private.connect() as v:
        look()
        kept = submit(v, sh("true"), after=after((good, "ok")), hold=True)
        doomed = submit(v, sh("true"), after=after((good, "notok")), hold=True)
        assert ended(v, doomed)["cause"] == {"id": good, "result": "success"}
        v.ok(JOBS + "Forget", {"filter": {"ids": [good]}})
        refused = v.call(JOBS + "Submit", {"spec": sh("true", after=after((good, "any")))})
        assert refused["error"] == JOBS + "Refused" and f"job {good} is not known" in refused["parameters"]["reason"]
    restart(private)
    with private.connect() as v:
        assert release(v, kept) == 1
        assert ended(v, kept)["result"] == "success"


def test_the_same_key(private):
    """It is the same job also when what it waited for is known no more."""
    private.start()
    with private.connect() as v:
        first = submit(v, sh("true"))
        wait(v, first)
        spec = sh("true", key="k", after=after((first, "ok")))
        one = submit(v, spec)
        wait(v, one)
        v.ok(JOBS + "Forget", {"filter": {"ids": [first]}})
        assert v.ok(JOBS + "Submit", {"spec": spec}) == {"id": one, "created": False, "durable": True}
        assert submit(v, {**spec, "on_exists": "coalesce", "key": "other", "after": after((one, "ok"))}) != one
        for more, error in (({"name": "n"}, "KeyTaken"), ({"key": "new"}, "Refused"), ({"on_exists": "replace"}, "Refused"),
                            ({"on_exists": "coalesce"}, "Refused"), ({"on_exists": "reject"}, "KeyTaken")):
            reply = v.call(JOBS + "Submit", {"spec": {**spec, **more}})
            assert reply["error"] == JOBS + error, (more, reply)
            assert (error == "KeyTaken") != (f"job {first} is not known" in reply["parameters"]["reason"])
        assert submit(v, sh("true", key="new")) not in (first, one)


def test_what_was_met_stays_so_when_its_job_is_forgotten(private):
    private.start()
    with private.connect() as v:
        first, second = submit(v, sh("true"), hold=True), submit(v, shell=gated(private, "go"))
        ident = submit(v, sh("true"), after=after((first, "ok"), (second, "ok")))
        assert sorted(why(v, ident)) == sorted([f"until job {first} succeeds", f"until job {second} succeeds"])
        release(v, first)
        ended(v, first)
        until(lambda: why(v, ident) == [f"until job {second} succeeds"], "one to be met")
        v.ok(JOBS + "Forget", {"filter": {"ids": [first]}})
    restart(private)
    with private.connect() as v:
        assert waits(v, ident) and why(v, ident) == [f"until job {second} succeeds"]
        (private.dir / "go").touch()
        assert ended(v, ident)["result"] == "success"


def test_a_cancel_goes_down_a_chain(private):
    """What waits for the end of one whose own wait was in vain goes on."""
    private.start()
    with private.connect() as v:
        first = last = submit(v, sh("true"), hold=True)
        chain = [last := submit(v, sh("true"), after=after((last, "ok"))) for _ in range(300)]
        behind = submit(v, sh("true"), after=after((last, "any")))
        on_failure = submit(v, sh("true"), after=after((last, "notok")))
        assert v.ok(JOBS + "Cancel", {"ids": [first]})["count"] == 1
        wait(v, *chain, behind, on_failure)
        assert {get(v, c)["result"] for c in chain} == {"dependency"}
        assert get(v, chain[0])["cause"] == {"id": first, "result": "cancelled"}
        assert get(v, chain[-1])["cause"] == {"id": chain[-2], "result": "dependency"}
        assert get(v, behind)["result"] == get(v, on_failure)["result"] == "success"


def test_a_wide_fan(private):
    private.start()
    with private.connect() as v:
        first = submit(v, sh("true"), hold=True)
        specs = [{"kind": "noop", "after": after((first, "ok" if i % 2 else "notok"))} for i in range(2000)]
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        release(v, first)
        assert wait(v, *ids)["failed"] == 1000
        assert {get(v, i)["result"] for i in ids[::2]} == {"dependency"}
        one = submit(v, sh("true"), after=after(*[(i, "any") for i in ids[:256]]))
        assert ended(v, one)["result"] == "success"
        reply = v.call(JOBS + "Submit", {"spec": sh("true", after=after(*[(i, "any") for i in ids[:257]]))})
        assert reply["parameters"]["parameter"] == "spec.after", reply


def test_it_waits_for_all_that_it_has_to(private):
    """A hold, a time and a dependency; cancelled meanwhile it leaves nothing."""
    private.start()
    with private.connect() as v:
        first = submit(v, shell=gated(private, "go"))
        ident = submit(v, sh("true"), after=after((first, "any")), delay_usec=1, hold=True)
        gone = submit(v, sh("true"), after=after((first, "any")))
        behind = submit(v, sh("true"), after=after((gone, "any")))
        assert held(v, ident) and waits(v, gone) and waits(v, behind)
        v.ok(JOBS + "Cancel", {"ids": [gone]})
        assert ended(v, behind)["result"] == "success"
        assert release(v, ident) == 1 and waits(v, ident) and hold(v, ident) == 1
        (private.dir / "go").touch()
        ended(v, first)
        assert held(v, ident) and release(v, ident) == 1
        assert ended(v, ident)["result"] == "success"
        assert get(v, gone)["result"] == "cancelled"


def causes(daemon, ident, cursor):
    """What an ended job's events say of others."""
    told = []
    with daemon.connect() as watch:
        watch.send(JOBS + "Watch", {"filter": {"ids": [ident]}, "after": cursor}, more=True)
        while not told or told[-1]["state"] != "done":
            told += watch.recv()["parameters"].get("events", [])
    return [(e["event"], e.get("cause")) for e in told if "cause" in e or e["event"] in ("met", "dependency")]


def test_what_watchers_are_told(private):
    """As it happens, and by the next voltd."""
    private.start()
    with private.connect() as v:
        v.send(JOBS + "Watch", {}, more=True)
        cursor = v.recv()["parameters"]["cursor"]
    with private.connect() as v:
        first = submit(v, sh("false"), hold=True)
        good, bad = submit(v, sh("true"), after=after((first, "any"))), submit(v, sh("true"), after=after((first, "ok")))
        release(v, first)
        wait(v, good, bad)
    for _ in range(2):
        assert causes(private, good, cursor) == [("met", {"id": first})]
        assert causes(private, bad, cursor) == [("dependency", {"id": first, "result": "exit"})]
        restart(private)
    r = private.ctl("events", f"--after={cursor}", "-n", "12")
    assert f"{bad} dependency dependency job {first}" in r.out and f"{good} met job {first}" in r.out, r


def test_what_is_refused(private):
    private.start()
    with private.connect() as v:
        array = submit(v, sh("true"), array={"first": 1, "last": 3})
        for edges, parameter in (([], "spec.after"), ([{"job": f"{array}_1"}], "spec.after[0].job"),
                                 ([{"job": 3}], "spec.after[0].job"), ([{"when": "ok"}], "spec.after[0].job"),
                                 ([{"job": array, "when": "later"}], "spec.after[0].when")):
            reply = v.call(JOBS + "Submit", {"spec": sh("true", after=edges)})
            assert reply["parameters"]["parameter"] == parameter, reply
        reply = v.call(JOBS + "Submit", {"spec": sh("true", after=[{"job": "999999"}])})
        assert "job 999999 is not known" in reply["parameters"]["reason"], reply
        got = v.ok(JOBS + "SubmitBatch", {"specs": [sh("true"), sh("true", after=[{"job": "999999"}])]})
        assert got["ids"][1] == "" and "not known" in got["rejected"][0]["reason"], got
        ident = submit(v, sh("true"), after=[{"job": array}])
        spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
        assert spec["after"] == [{"job": array, "when": "ok"}]


def test_the_commands(private):
    private.start()
    first = private.submit("--hold", "--", "true").out.strip()
    good = private.submit("--after=@last", "--", "true").out.strip()
    both = private.submit(f"--after-any={first},{good}", f"--after-start={first}", "--", "true").out.strip()
    bad = private.submit(f"--after-notok={first}", "--", "true").out.strip()
    said = private.ctl("status", good).out
    assert f"queued, waiting for other jobs (voltctl why {good})" in said and f"After: {first}\n" in said
    assert f"After: {first} (any), {good} (any), {first} (start)\n" in private.ctl("status", both).out
    assert f"until job {first} succeeds" in private.ctl("why", good).out
    assert "dependency" in private.ctl("list").out
    assert f'after=[{{"job":"{first}","when":"ok"}}]' in private.ctl("show", good).out.replace(" ", "")
    assert private.ctl("release", first).code == 0
    r = private.ctl("wait", first, good, both, bad)
    assert r.code == 125 and f"dependency: job {first}, for which it waited, succeeded" in r.err, r
    failed = private.submit("-w", "--after-ok", private.submit("--", "false").out.strip(), "--", "true")
    assert failed.code == 125 and re.search(r"dependency: job \d+, for which it waited, failed$", failed.err.strip()), failed
    assert bad in private.ctl("list", "--all", "--result=dependency").out
    assert private.submit("-w", f"--after={first}", "--", "true").code == 0
    named = [private.submit("-n", "build", "--hold", "--", "true").out.strip() for _ in range(2)][1]
    ident = private.submit("--after-any=name:build", "--", "true").out.strip()
    assert f"After: {named} (any)\n" in private.ctl("status", ident).out
    some = private.submit("--each-line=-", "--", "true", input="1\n2\n").out.split()
    ident = private.submit("--after=@last", "--", "true").out.strip()
    assert f"After: {some[0]}, {some[1]}\n" in private.ctl("status", ident).out
    for args, text in ((["--after=name:no"], "--after: name:no: you have no such job"), (["--after=soon"], "--after: soon is no id: try name:soon"), ([f"--after={first}_1"], "_1 is no job"),
                       (["--after=0"], "--after: 0 is no job"), (["--after=,"], "--after: an empty word is no job"), (["--after=7777"], "job 7777 is not known"),
                       (["--after=1-9999"], "--after: must be a list of 1 to 256 jobs")):
        r = private.submit(*args, "--", "true")
        assert r.code == 125 and text in r.err, r


def test_the_graph(private):
    private.start()
    assert private.ctl("graph").out == "none of your jobs waits for another one\n"
    with private.connect() as v:
        ended_before = submit(v, sh("exit 3", name="fetch"))
        wait(v, ended_before)
        first = submit(v, sh("true", name="build"), hold=True)
        test = submit(v, sh("true", name="test"), after=after((first, "ok"), (ended_before, "any")))
        mail = submit(v, sh("true", name="mail"), after=after((first, "notok")))
        deploy = submit(v, sh("true", name="deploy"), after=after((test, "ok"), (first, "start")))
        submit(v, sh("true"), hold=True)
        last = deploy
        chain = [last := submit(v, kind="noop", after=after((last, "any"))) for _ in range(120)]
    lines = private.ctl("graph").out.splitlines()
    tree = [line for line in lines if "noop" not in line]
    assert tree == [f"{first} build: queued", f"  {test} test: queued", f"    {deploy} deploy: queued",
                    " " * 202 + "...", f"  {mail} mail (if it fails): queued",
                    f"  {deploy} deploy (when it starts): queued, as above", f"{ended_before} fetch: done, exit 3",
                    f"  {test} test (when it ends): queued, as above"], tree
    assert f"      {chain[0]} noop (when it ends): queued" in lines
    alone, other = [private.submit(*a, "--", "true").out.strip() for a in (["--hold"], [f"--after-any={ended_before}", "--hold"])]
    assert private.ctl("graph", mail).out.splitlines() == lines[:lines.index(f"{ended_before} fetch: done, exit 3")]
    assert f"{ended_before} fetch: done, exit 3" in (both := private.ctl("graph", test, mail).out) and f"  {other} true (when it ends): " in both
    said = private.ctl("graph", other).out.splitlines()
    assert said[:2] + said[-1:] == [f"{ended_before} fetch: done, exit 3", f"  {test} test (when it ends): queued",
                                    f"  {other} true (when it ends): queued"], said
    assert private.ctl("graph", alone).out == f"{alone}: none of your jobs waits for it, and it waits for none\n"
    assert private.ctl("clean", ended_before).code == 0
    assert private.ctl("graph", other).out.splitlines()[0] == f"{ended_before}: ended"
    r = private.ctl("graph", "9999999")
    assert r.code == 4 and r.out == "" and "9999999" in r.err, r


def test_no_last_job(private):
    private.start()
    r = private.submit("--after-any=@last", "--", "true")
    assert r.code == 125 and "--after: @last: you have no job" in r.err, r


@pytest.mark.parametrize("wrong, field, reason", [
    ("17", "after", "must be a list, such as"), ({}, "after", "must be a list, such as"),
    ([], "after", "must be a list of 1 to 256 jobs"), (["17"], "after[0]", "must be an object, such as")])
def test_what_is_no_list_of_jobs(private, wrong, field, reason):
    private.start()
    with private.connect() as v:
        reply = v.call(JOBS + "Submit", {"spec": sh("true", after=wrong)})
        assert reply["parameters"]["parameter"] == f"spec.{field}", reply
        assert reply["parameters"]["reason"].startswith(reason), reply


def test_the_same_submission_when_the_key_that_it_names_has_moved_or_gone(private):
    """It is compared by that key: the same id, whatever job has it by now, also after a restart."""
    private.start()
    with private.connect() as v:
        def first(**more):
            return ended(v, submit(v, sh("true", key="a", **more)))["id"]

        def refused(spec):
            reply = v.call(JOBS + "Submit", {"spec": spec})
            return reply["error"].split(".")[-1], reply["parameters"].get("reason")
        one, other = first(), submit(v, kind="noop", key="other")
        spec = sh("true", key="b", after=[{"key": "a"}, {"key": "other", "when": "any"}])
        second = submit(v, spec)
        again = sh("true", key="c", hold=True, after=[{"key": "a"}])
        third = submit(v, again)

        def check(v):
            assert submit(v, spec) == second and submit(v, again) == third
            got = v.ok(JOBS + "SubmitBatch", {"specs": [again, spec, again]})
            assert got["ids"] == [third, second, third] and got["rejected"] == []
            for edges in ([{"key": "other"}, {"key": "other", "when": "any"}], [{"key": "a"}, {"key": "a", "when": "any"}],
                          [{"key": "a"}, {"job": other, "when": "any"}], [{"key": "a"}], [{"key": "a"}, {"key": "other"}]):
                assert refused({**spec, "after": edges})[0] == "KeyTaken"
        check(v)
        newer = first(on_exists="replace", name="newer")
        check(v)
        wait(v, second)
        v.ok(JOBS + "Forget", {"filter": {"ids": [one, newer]}})
        check(v)
        assert refused({**spec, "key": "new"}) == ("Refused", 'after: none of your jobs has the key "a"')
    restart(private)
    with private.connect() as v:
        check(v)
        first()
        check(v)
        edges = v.ok(JOBS + "Get", {"id": third, "with_spec": True})["job"]["spec"]["after"]
        assert edges == after((one, "ok"))
        release(v, third)
        assert ended(v, third)["result"] == "success"


def test_the_job_with_a_key(private):
    """The one that has it when the other is submitted, also when only the store knows it."""
    private.start(config="[Store]\nKeepEndedJobs=1\n")
    with private.connect() as v:
        def by_key(key, when="ok"):
            return [{"key": key, "when": when}]
        for _ in range(2):
            assert v.call(JOBS + "Submit", {"spec": sh("true", after=by_key("a"))})["parameters"]["reason"] == (
                'after: none of your jobs has the key "a"')
            got = v.ok(JOBS + "SubmitBatch", {"specs": [sh("true", after=by_key("a")), sh("true")]})
            assert got["ids"][0] == "" and got["rejected"][0]["position"] == 0 and got["ids"][1]
        first = submit(v, sh("false", key="a"), hold=True)
        spec = sh("true", key="b", after=by_key("a", "notok") + after((first, "any")))
        second = submit(v, spec)
        shown = v.ok(JOBS + "Get", {"id": second, "with_spec": True})["job"]["spec"]["after"]
        assert shown == after((first, "notok"), (first, "any")) and waits(v, second)
        assert submit(v, spec) == second
        assert v.call(JOBS + "Submit", {"spec": {**spec, "after": shown}})["error"] == JOBS + "KeyTaken"
        newer = submit(v, sh("true", key="a", on_exists="replace"))
        assert submit(v, spec) == second
        assert ended(v, newer)["result"] == ended(v, second)["result"] == "success"
        wait(v, *[submit(v, kind="noop") for _ in range(5)])
        third = submit(v, sh("true", after=by_key("a", "notok")))
        assert ended(v, third)["cause"] == {"id": newer, "result": "success"}
    restart(private)
    ident = private.submit("--after=key:a", "--hold", "--", "true").out.strip()
    assert f"After: {newer}\n" in private.ctl("status", ident).out
    private.submit("--key=a b", "--hold", "--", "true")
    both = private.submit("--after-any=key:a b,@last", "--", "true").out.strip()
    assert private.ctl("status", both).out.count(f"After: {int(both) - 1} (any), {int(both) - 1} (any)\n") == 1
    r = private.submit("--after=key:c", "--", "true")
    assert r.code == 125 and 'none of your jobs has the key "c"' in r.err, r
    assert '"key": "c"' in private.submit("--dry-run", "--after=key:c", "--", "true").out.replace('":"', '": "')
