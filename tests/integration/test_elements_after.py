"""Element to element: element i of an array waits for element i of another one."""

import signal

import pytest

from conftest import until
from jobs import JOBS, ended, get, sh, submit, wait
from test_after import waits, why
from test_hold import hold, release, restart


def each(ident, when="ok"):
    return [{"job": ident, "when": when, "each": True}]


def results(v, ident, first, last):
    return [get(v, f"{ident}_{i}").get("result") for i in range(first, last + 1)]


def by_file(private):
    """Element i ends when there is a file goI: as its first line says."""
    return f"until [ -e {private.dir}/go$VOLT_ARRAY_INDEX ]; do sleep 0.01; done; exit $(cat {private.dir}/go$VOLT_ARRAY_INDEX)"


def let(private, index, code=0):
    path = private.dir / f"now{index}"
    path.write_text(f"{code}\n")
    path.rename(private.dir / f"go{index}")


FOLLOWERS = [sh("true"), {"kind": "noop"}, {"kind": "sleep", "duration_usec": 1}]


@pytest.mark.parametrize("end", [None, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("spec", FOLLOWERS)
def test_each_waits_for_its_own(private, spec, end):
    private.start(config="[Queue]\nSlots=16\n")
    array = {"first": 5, "last": 8}
    with private.connect() as v:
        first = submit(v, sh(by_file(private)), array={"first": 1, "last": 4})
        ok = submit(v, spec, array=array, after=each(first))
        notok = submit(v, spec, array=array, after=each(first, "notok"))
        behind = submit(v, spec, array=array, after=each(ok, "any"))
        start = submit(v, spec, array=array, after=each(first, "start"))
        assert wait(v, start)["failed"] == 0
        assert waits(v, ok), get(v, ok)
        assert waits(v, f"{ok}_6") and waits(v, behind), (get(v, f"{ok}_6"), get(v, behind))
        assert why(v, f"{ok}_6") == [f"until the same element of job {first} succeeds"]
        assert why(v, ok) == [f"until the same element, for each, of job {first} succeeds"]
        let(private, 3)
        let(private, 2, 7)
        wait(v, f"{ok}_7", f"{ok}_6", f"{notok}_7", f"{notok}_6", f"{behind}_6", f"{behind}_7")
        assert results(v, ok, 5, 8) == [None, "dependency", "success", None]
        assert results(v, notok, 5, 8) == [None, "success", "dependency", None]
        assert results(v, behind, 5, 8) == [None, "success", "success", None]
        assert get(v, f"{ok}_6")["cause"] == {"id": first, "result": "exit"}
        assert waits(v, f"{ok}_5")
    if end:
        private.stop(end)
        let(private, 1, 9)
        private.start()
    with private.connect() as v:
        assert results(v, ok, 6, 7) == ["dependency", "success"]
        let(private, 1, 9)
        let(private, 4)
        wait(v, ok, notok, behind)
        assert results(v, ok, 5, 8) == ["dependency", "dependency", "success", "success"]
        assert results(v, notok, 5, 8) == ["success", "success", "dependency", "dependency"]
        assert results(v, behind, 5, 8) == ["success"] * 4
    restart(private)
    with private.connect() as v:
        assert results(v, ok, 5, 8) == ["dependency", "dependency", "success", "success"]
        assert get(v, ok)["result"] == "dependency" and get(v, ok)["counts"]["failed"] == 2


def test_what_has_ended_before(private):
    """In memory, in the store alone, and when voltd has been restarted while others wait."""
    private.start(config="[Store]\nKeepEndedJobs=1\n")
    ten = {"first": 0, "last": 9}
    with private.connect() as v:
        mixed = submit(v, sh("exit $(($VOLT_ARRAY_INDEX % 3))"), array=ten)
        good = submit(v, kind="noop", array=ten)
        wait(v, mixed, good)
        expected = ["success" if i % 3 == 0 else "dependency" for i in range(10)]
        kept = submit(v, kind="noop", array=ten, after=each(mixed), hold=True)
        for _ in range(2):
            one = submit(v, kind="noop", array=ten, after=each(mixed) + each(good))
            two = submit(v, sh("true"), array=ten, after=each(mixed, "notok") + each(good, "start"))
            wait(v, one, two)
            assert results(v, one, 0, 9) == expected
            assert [r != e for r, e in zip(results(v, two, 0, 9), expected)] == [True] * 10
            assert ended(v, submit(v, kind="noop", array=ten, after=each(good)))["result"] == "success"
            wait(v, *[submit(v, kind="noop") for _ in range(5)])
    restart(private)
    with private.connect() as v:
        r = private.ctl("clean", good, mixed)
        assert r.code == 1 and f"job {mixed} is needed: another array waits for it" in r.err, r
        assert get(v, good)["result"] == "success"
        release(v, kept)
        wait(v, kept)
        assert results(v, kept, 0, 9) == expected
        assert private.ctl("clean", good, mixed).err == "voltctl: 2 jobs removed\n"


def test_cancels_and_holds(private):
    private.start(config="[Queue]\nSlots=8\n")
    three = {"first": 1, "last": 3}
    with private.connect() as v:
        first = submit(v, sh(by_file(private)), array=three)
        second = submit(v, sh("true"), array=three, after=each(first))
        third = submit(v, kind="noop", array=three, after=each(second, "any"))
        v.ok(JOBS + "Cancel", {"ids": [f"{second}_2"]})
        wait(v, f"{third}_2")
        assert results(v, second, 1, 3) == [None, "cancelled", None] and results(v, third, 2, 2) == ["success"]
        assert hold(v, second) == 1
        let(private, 1)
        wait(v, f"{first}_1")
        until(lambda: [r["wait"] for r in v.ok(JOBS + "Why", {"id": f"{second}_1"})["reasons"]] == ["hold"], "the hold alone")
        assert release(v, second) == 1
        wait(v, f"{second}_1", f"{third}_1")
        v.ok(JOBS + "Cancel", {"ids": [second]})
        wait(v, second, third)
        assert results(v, third, 1, 3) == ["success"] * 3
        v.ok(JOBS + "Cancel", {"ids": [first]})
        wait(v, first)
        assert v.ok(JOBS + "Forget", {})["count"] == 3


def test_a_batch(private):
    private.start()
    two = {"first": 1, "last": 2}
    with private.connect() as v:
        specs = [{"kind": "noop", "array": two, "key": "b", "after": [{"local": "a", "each": True, "when": "notok"}]},
                 sh("exit $(($VOLT_ARRAY_INDEX - 1))", array=two, local="a", key="a")]
        got = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wait(v, *got)
        assert results(v, got[0], 1, 2) == ["dependency", "success"]
        assert v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"] == got
        more = v.ok(JOBS + "SubmitBatch", {"specs": [{**specs[0], "key": "c"}, specs[1]]})["ids"]
        wait(v, *more)
        assert more[1] == got[1] and results(v, more[0], 1, 2) == ["dependency", "success"]
        got = v.ok(JOBS + "SubmitBatch", {"specs": [{**specs[0], "array": {"first": 1, "last": 3}, "key": "d"}, specs[1]]})
        assert got["rejected"][0]["reason"] == (
            'after: "local" is of a job with 2 elements, and not 3 as this one: element to element takes an array with as many')
        got = v.ok(JOBS + "SubmitBatch", {"specs": [{**specs[0], "array": {"first": 1, "last": 1}, "key": "e"}, sh("true", local="a")]})
        assert "of a job with 0 elements, and not 1" in got["rejected"][0]["reason"], got


def test_what_is_refused(private):
    private.start()
    with private.connect() as v:
        array = submit(v, sh("true"), array={"first": 1, "last": 3}, hold=True)
        one = submit(v, sh("true"), hold=True)
        for spec, text in ((sh("true", array={"first": 1, "last": 4}, after=each(array)),
                            f"job {array} has 3 elements, and not 4 as this one"),
                           (sh("true", array={"first": 1, "last": 1}, after=each(one)), f"job {one} has no elements"),
                           (sh("true", after=each(array)), "element to element is for arrays"),
                           (sh("true", array={"first": 1, "last": 3}, after=each("9999")), "job 9999 is not known")):
            reply = v.call(JOBS + "Submit", {"spec": spec})
            assert text in reply["parameters"]["reason"], reply
        v.ok(JOBS + "Cancel", {"ids": [one]})
        wait(v, one)
        for _ in range(16):
            submit(v, kind="noop", array={"first": 1, "last": 3}, after=each(array))
        reply = v.call(JOBS + "Submit", {"spec": {"kind": "noop", "array": {"first": 1, "last": 3}, "after": each(array)}})
        assert reply["error"] == JOBS + "Refused" and "16 arrays wait for job" in reply["parameters"]["reason"], reply


def test_retries_and_many(private):
    """An element that is tried again is waited for until its last attempt; of many each is looked at."""
    private.start()
    with private.connect() as v:
        first = submit(v, sh("exit $((2 - VOLT_ATTEMPT))"), array={"first": 1, "last": 3}, retry={"times": 2, "backoff_usec": 0})
        second = submit(v, sh("true"), array={"first": 1, "last": 3}, after=each(first))
        assert ended(v, second)["result"] == "success"
        n = {"first": 1, "last": 3000}
        many = submit(v, kind="noop", array=n, hold=True)
        chain = [many := submit(v, kind="noop", array=n, after=each(many)) for _ in range(3)]
        release(v, str(int(chain[0]) - 1))
        assert wait(v, *chain)["failed"] == 0


def test_the_commands(private):
    private.start()
    first = private.submit("--array=1-3", "--hold", "--", "true").out.strip()
    second = private.submit("--array=4-6", f"--after-ok-each={first}", "--", "true").out.strip()
    third = private.submit("--array=1-3", "--after-any-each=@last", f"--after-start-each={first}", "--after-notok-each=17", "--dry-run", "--", "true")
    assert third.out.count('"each": true') + third.out.count('"each":true') == 3, third
    assert f"After: {first} (each element)\n" in private.ctl("status", second).out
    assert private.ctl("graph").out.splitlines() == [
        f"{first} true: queued", f"  {second} true (element to element): queued"]
    assert private.ctl("release", first).code == 0 and private.ctl("wait", second).code == 0


def test_to_try_again(private):
    """What has failed is another array then: it is waited for as a whole."""
    private.start()
    three = {"first": 1, "last": 3}
    with private.connect() as v:
        first = submit(v, sh(f"[ $VOLT_ARRAY_INDEX != 2 ] || [ -e {private.dir}/good ]"), array=three)
        second = submit(v, kind="noop", array=three, after=each(first))
        wait(v, second)
        assert results(v, second, 1, 3) == ["success", "dependency", "success"]
        (private.dir / "good").touch()
    a, b = private.ctl("retry", "--failed", "--with-dependents", first).out.split()
    with private.connect() as v:
        wait(v, a, b)
        got = v.ok(JOBS + "Get", {"id": b, "with_spec": True})["job"]
        assert got["spec"]["after"] == [{"job": a, "when": "ok"}] and got["result"] == "success"
        assert get(v, a)["counts"]["total"] == 1


def test_element_to_element_without_an_array(private):
    """The option that was typed is named."""
    private.start()
    first = private.submit("--hold", "--array=1-2", "--", "true").lines[0]
    for when in "ok", "notok", "any", "start":
        r = private.submit(f"--after-{when}-each", first, "--", "true")
        assert r.code == 125 and r.err == (
            f"volt-submit: --after-{when}-each: element to element is for arrays: give --array as well, or "
            f"--after-{when}, which waits for the whole job\n"), r
    assert private.submit("--after-ok-each", first, "--array=1-2", "--hold", "--", "true").code == 0
