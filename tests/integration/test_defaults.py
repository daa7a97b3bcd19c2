"""SubmitBatch: what its specs have in common is sent once."""

import json

import pytest

from conftest import until
from protocol import JOBS, error


@pytest.fixture
def v(private):
    private.start(config="[Queue]\nSlots=2\n[Limits]\nMaxBatch=1M\n")
    with private.connect() as v:
        yield v


def spec_of(v, ident):
    return v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]


def batch(v, defaults, *specs):
    return v.ok(JOBS + "SubmitBatch", {"specs": list(specs), "defaults": defaults})


def test_each_spec_gets_them(v):
    defaults = {"env": {"A": "1", "B": "2"}, "cwd": "/tmp", "priority": -5}
    got = batch(v, defaults, {"argv": ["true"]}, {"argv": ["true"], "cwd": "/", "env": {"B": "own"}},
                {"kind": "noop", "priority": -7})
    assert got["rejected"] == []
    plain, own, noop = [spec_of(v, i) for i in got["ids"]]
    assert (plain["env"], plain["cwd"], plain["priority"]) == ({"A": "1", "B": "2"}, "/tmp", -5)
    assert (own["env"], own["cwd"]) == ({"A": "1", "B": "own"}, "/")
    assert noop == {"kind": "noop", "priority": -7}


def test_their_environment_is_that_of_specs_without_one(v):
    """Read once: what a spec has of its own is its own all the same."""
    got = batch(v, {"env": {"A": "1"}}, {"argv": ["true"]}, {"argv": ["true"], "env": {}},
                {"argv": ["true"], "env": {"B": "2"}}, {"argv": ["true"], "env": None}, {"kind": "noop"})
    assert got["rejected"] == []
    assert [spec_of(v, i).get("env") for i in got["ids"]] == [
        {"A": "1"}, {"A": "1"}, {"A": "1", "B": "2"}, {"A": "1"}, None]
    got = batch(v, {"env": None, "cwd": "/tmp"}, {"argv": ["true"]}, {"argv": ["true"], "env": {"B": "2"}})
    assert [spec_of(v, i).get("env") for i in got["ids"]] == [None, {"B": "2"}]
    got = batch(v, {"env": {"": "no name"}}, {"argv": ["true"]}, {"argv": ["false"]})
    assert [r["parameter"] for r in got["rejected"]] == ["env", "env"]


def test_their_resource_limits_are_those_of_specs_without_any(v):
    """Read once, too."""
    def limits(**rlimits):
        return {"limits": {"rlimits": rlimits}}

    got = batch(v, limits(core="1:2", nofile="64"), {"argv": ["true"]}, {"argv": ["true"], **limits(core="0")},
                {"argv": ["true"], "limits": {"output_bytes": 9000000}}, {"argv": ["true"], **limits()},
                {"argv": ["true"]}, {"kind": "noop"})
    assert got["rejected"] == []
    common = {"core": "1:2", "nofile": "64"}
    assert [spec_of(v, i).get("limits", {}).get("rlimits") for i in got["ids"]] == [
        common, {"core": "0", "nofile": "64"}, common, common, common, None]
    got = batch(v, limits(core="x"), {"argv": ["true"]}, {"argv": ["false"]})
    assert [r["parameter"] for r in got["rejected"]] == ["limits.rlimits.core"] * 2


def test_a_job_runs_with_them(private, v):
    batch(v, {"argv": ["sh", "-c", 'echo "$A" >out.tmp; mv out.tmp out'], "cwd": str(private.dir)},
          {"env": {"A": "mine"}})
    until(lambda: (private.dir / "out").exists())
    assert (private.dir / "out").read_text() == "mine\n"


def test_a_mistake_in_them_is_named(v):
    got = batch(v, {"cwd": "relative"}, {"argv": ["true"]}, {"argv": ["true"], "cwd": "/"})
    assert [(r["position"], r["parameter"]) for r in got["rejected"]] == [(0, "cwd")]
    assert got["ids"][0] == "" and got["ids"][1]
    assert error(v.call(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}], "defaults": 7}),
                 "org.varlink.service.InvalidParameter")["parameter"] == "defaults"


def test_together_they_are_bounded_like_a_message(v):
    """A hundred times 64 KiB of defaults: the memory of a message of 6 MiB."""
    defaults = {"env": {"A": "x" * 65536}}
    got = error(v.call(JOBS + "SubmitBatch", {"specs": [{"argv": ["true"]}] * 100, "defaults": defaults}),
                "org.varlink.service.InvalidParameter")
    assert got["parameter"] == "defaults" and "MaxBatch=" in got["reason"], got
    assert len(batch(v, defaults, *[{"argv": ["true"]}] * 10)["ids"]) == 10


def lines(n):
    return "".join('{"argv":["true","%d"]}\n' % i for i in range(n))


def test_the_client_sends_them_once(fake):
    ids = iter(range(1, 100000))

    def answer(method, parameters):
        if method.endswith("SubmitBatch"):
            n = len(parameters["specs"])
            return [{"parameters": {"ids": [str(next(ids)) for _ in range(n)], "rejected": [], "durable": True}}]
        return [{"error": "org.varlink.service.MethodNotFound", "parameters": {"method": method}}]

    d = fake(answer)
    done = d.run("volt-submit", "-f", "-", "-E", "COMMON=everywhere", input=lines(12000))
    assert done.code == 0, done
    sent = [c["parameters"] for c in d.fake.calls if c["method"].endswith("SubmitBatch")]
    for checked in (True, None):
        those = [p for p in sent if p.get("dry_run") is checked]
        assert sum(len(p["specs"]) for p in those) == 12000 and len(those) > 2
    for p in sent:
        assert p["defaults"]["env"]["COMMON"] == "everywhere"
        assert all(list(s) == ["argv"] for s in p["specs"])


def test_a_voltd_that_does_not_know_them_is_sent_whole_specs(fake):
    def answer(method, parameters):
        if method.endswith("SubmitBatch") and "defaults" in parameters:
            return [{"error": "org.varlink.service.InvalidParameter",
                     "parameters": {"parameter": "defaults", "reason": "is not a parameter"}}]
        if method.endswith("SubmitBatch"):
            n = len(parameters["specs"])
            return [{"parameters": {"ids": ["1"] * n, "rejected": [], "durable": True}}]
        return [{"error": "org.varlink.service.MethodNotFound", "parameters": {"method": method}}]

    d = fake(answer)
    done = d.run("volt-submit", "-f", "-", "-E", "COMMON=everywhere", input=lines(12000))
    assert done.code == 0 and len(done.lines) == 12000, done
    calls = [json.dumps(c) for c in d.fake.calls if c["method"].endswith("SubmitBatch")]
    assert sum('"defaults"' in c for c in calls) == 1
    assert sum(c.count('"everywhere"') for c in calls) == 2 * 12000 + 1  # checked first
