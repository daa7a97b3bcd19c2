"""Jobs of one batch that wait for each other by local names."""

import json
import signal

import pytest

from conftest import until
from jobs import JOBS, ended, get, sh, submit, wait
from protocol import CONTROL
from test_after import after, causes, gated, waits
from test_hold import release, restart


def local(*names, when="ok"):
    return [{"local": name, "when": when} for name in names]


def batch(v, *specs, **more):
    return v.ok(JOBS + "SubmitBatch", {"specs": list(specs), **more})


def refused(v, *specs):
    reply = v.call(JOBS + "SubmitBatch", {"specs": list(specs)})
    assert reply["error"] == "org.varlink.service.InvalidParameter", reply
    return reply["parameters"]["parameter"], reply["parameters"]["reason"]


def edges(v, ident):
    spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
    assert "local" not in spec
    return [(e["job"], e["when"]) for e in spec.get("after", [])]


def ndjson(*specs):
    return "".join(json.dumps(spec) + "\n" for spec in specs)


@pytest.mark.parametrize("end", [None, signal.SIGTERM, signal.SIGKILL])
def test_names_of_earlier_and_later_ones(private, end):
    """Each job comes behind those that it waits for; the answer has the order of the specs. An
    array, and kinds without a process, have names as well."""
    private.start()
    with private.connect() as v:
        before = submit(v, sh("true"), hold=True)
        got = batch(
            v, sh("true", local="last", after=local("left", "right")),
            sh("true", local="left", after=local("first") + local("first", when="start")),
            sh(gated(private, "go", "exit 3"), local="first"),
            sh("true", after=after((before, "any")) + local("bad", when="notok")),
            {"kind": "noop", "local": "right", "after": local("first", when="any")},
            sh("exit 4", local="bad", array={"first": 1, "last": 3}),
            sh("true"))
        ids = [int(i) for i in got["ids"]]
        assert got["rejected"] == [] and sorted(ids) == list(range(int(before) + 1, int(before) + 8))
        last, left, first, both, right, bad, alone = got["ids"]
        assert ids[2] < ids[1] < ids[0] and ids[4] < ids[0] and ids[5] < ids[3]
        assert edges(v, last) == [(left, "ok"), (right, "ok")]
        assert edges(v, left) == [(first, "ok"), (first, "start")] and edges(v, right) == [(first, "any")]
        assert edges(v, both) == [(before, "any"), (bad, "notok")] and not edges(v, first)
        wait(v, bad, alone)
        assert waits(v, last) and waits(v, left) and waits(v, right) and waits(v, both)
    if end:
        private.stop(end)
        private.start()
    with private.connect() as v:
        release(v, before)
        (private.dir / "go").touch()
        wait(v, *got["ids"])
        assert get(v, right)["result"] == get(v, both)["result"] == "success"
        assert (get(v, left)["result"], get(v, left)["cause"]) == ("dependency", {"id": first, "result": "exit"})
        assert get(v, last)["cause"] == {"id": left, "result": "dependency"}


def test_what_is_refused(private):
    """All of it, and nothing is left."""
    private.start()
    with private.connect() as v:
        assert refused(v, sh("true"), sh("true", local="a", after=local("c")), sh("true", local="b", after=local("a")),
                       sh("true", local="c", after=local("b"))) == (
            "specs[2].after", "jobs that wait for each other: a -> b -> c -> a")
        assert refused(v, sh("true", after=local("b")), sh("true", local="a", after=local("a"))) == (
            "specs[0].after", '"b" is the local name of no job here')
        assert refused(v, sh("true", local="a", after=local("a"))) == (
            "specs[0].after", "jobs that wait for each other: a -> a")
        assert refused(v, sh("true", local="a"), sh("true"), sh("false", local="a")) == (
            "specs[2].local", "is the local name of an earlier one as well")
        long = ["€" * 60, "x" + "€" * 60]  # cut within a character
        assert refused(v, *[sh("true", local=name, after=local(other)) for name, other in (long, long[::-1])])[1] == (
            f"jobs that wait for each other: {'€' * 6}? -> x{'€' * 6}? -> {'€' * 6}?")
        assert refused(v, sh("true", after=local(long[0])))[1] == f'"{"€" * 33}?" is the local name of no job here'
        reply = v.call(JOBS + "Submit", {"spec": sh("true", after=[{"key": "€" * 80}])})
        assert reply["parameters"]["reason"] == f'after: none of your jobs has the key "{"€" * 66}?"', reply
        ring = [sh("true", local=f"n{i}", after=local(f"n{(i - 1) % 1000}")) for i in range(1000)]
        assert refused(v, *ring)[1] == ("jobs that wait for each other: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 "
                                        "-> ... -> n0")
        for edge in {"local": ""}, {"local": 3}, {"local": "a", "job": "1"}, {}:
            got = batch(v, sh("true", local="a"), sh("true", after=[edge]))
            assert got["ids"] == ["", ""] and [r["position"] for r in got["rejected"]] == [1], got
            assert got["rejected"][0]["parameter"].startswith("after[0]")
        got = batch(v, sh("true", local="a"), sh("true", after=after(("99999", "ok"))), {"kind": "noop"})
        assert got["ids"] == ["", "", ""] and [r["position"] for r in got["rejected"]] == [0, 1, 2]
        assert got["rejected"][1]["reason"] == "after: job 99999 is not known"
        got = batch(v, sh("true", local="a", key="k"), sh("true", key="k", after=local("a")))
        assert got["ids"] == ["", ""] and "belongs to an earlier one of this batch" in got["rejected"][1]["reason"]
        assert v.ok(JOBS + "List", {})["jobs"] == []
        for spec, name in (sh("true", after=local("a")), "spec.after"), (sh("true", local=""), "spec.local"):
            reply = v.call(JOBS + "Submit", {"spec": spec})
            assert reply["parameters"]["parameter"] == name, reply


@pytest.mark.parametrize("broken", [
    {"local": "x", "nosuch": 1}, {"local": "x", "timeout_usec": -1}, {"local": 7}, {"local": ""}, {"local": "x", "kind": "none"},
    {"after": [{"local": "x", "nosuch": 1}]}, {"after": [{"local": 7}]}, {"after": {"local": "x"}}])
def test_one_that_cannot_be_read_is_in_all_or_none(private, broken):
    """Where it alone has a name, or what is meant for one."""
    private.start()
    with private.connect() as v:
        got = batch(v, {"kind": "noop", "local": None}, {"kind": "noop", **broken}, {"kind": "noop"})
        assert got["ids"] == ["", "", ""] and [r["position"] for r in got["rejected"]] == [1], got
        got = batch(v, {"kind": "noop", "local": None}, {**broken, "local": None, "after": [{"local": None}]})
        assert got["ids"][0] and [r["position"] for r in got["rejected"]] == [1], got
        wait(v, got["ids"][0])
        assert [j["id"] for j in v.ok(JOBS + "List", {})["jobs"]] == got["ids"][:1]


def test_keys(private):
    """The same batch is the same jobs, before and after a restart; what waits for a new one is
    another job than what waited for an earlier one."""
    specs = [sh("true", key="c", after=local("b"), hold=True), {"kind": "noop", "local": "b", "key": "b", "after": local("a")},
             sh("true", local="a", key="a", hold=True)]
    private.start(config="[Store]\nKeepEndedJobs=1\n")
    with private.connect() as v:
        ids = batch(v, *specs)["ids"]
        assert batch(v, *specs)["ids"] == ids
    restart(private)
    with private.connect() as v:
        assert batch(v, *specs)["ids"] == ids
        assert [submit(v, spec) for spec in (specs[2], {**specs[1], "after": after((ids[2], "ok"))})] == ids[2:0:-1]
        got = batch(v, {**specs[0], "key": "new"}, *specs[1:])
        assert got["ids"][1:] == ids[1:] and edges(v, got["ids"][0]) == [(ids[1], "ok")] and got["ids"][0] not in ids
        got = batch(v, specs[1], {**specs[2], "key": "another"})
        assert got["ids"] == ["", ""] and f'key "b" belongs to job {ids[1]}, whose spec differs' in [
            r["reason"] for r in got["rejected"]]
        release(v, *ids[::2])
        wait(v, *ids)
        wait(v, *[submit(v, kind="noop") for _ in range(5)])
        assert batch(v, *specs)["ids"] == ids
        got = batch(v, {**specs[0], "key": "now", "hold": False}, *specs[1:])["ids"]
        assert got[1:] == ids[1:] and ended(v, got[0])["result"] == "success"
        other = batch(v, {**specs[0], "key": "never", "hold": False, "after": local("b", when="notok")}, *specs[1:])["ids"]
        assert ended(v, other[0])["cause"] == {"id": ids[1], "result": "success"}


def test_a_long_chain_and_many_names(private):
    """In an order that is the wrong way round."""
    private.start()
    n = 3000
    with private.connect() as v:
        chain = [{"kind": "noop", "local": f"n{i}", "after": local(f"n{i + 1}")} for i in range(n)]
        wide = [{"kind": "noop", "local": f"w{i}"} for i in range(256)]
        got = batch(v, *chain, {"kind": "noop", "local": f"n{n}", "hold": True}, *wide,
                    {"kind": "noop", "after": local(*[f"w{i}" for i in range(256)])})
        ids = got["ids"]
        assert [int(i) for i in ids[:n + 1]] == list(range(int(ids[n]) + n, int(ids[n]) - 1, -1))
        v.ok(JOBS + "Cancel", {"ids": [ids[n]]})
        assert wait(v, *ids)["failed"] == n
        assert causes(private, ids[0], 0) == [("dependency", {"id": ids[1], "result": "dependency"})]
        assert get(v, ids[-1])["result"] == "success"


def test_no_worker_frees_many_names(private):
    """Though all jobs have been answered by then: what is left is a task of its own."""
    private.start()
    with private.connect() as v, private.connect_control() as control:
        def spawned():
            return control.ok(CONTROL + "Stats")["totals"]["spawned"]
        for broken in {"kind": "none"}, {"kind": "noop"}:
            before = spawned()
            got = batch(v, *[{"kind": "noop", "hold": True, "local": f"n{i}"} for i in range(1000)], broken)
            assert len(got["rejected"]) == (broken["kind"] == "none")
            until(lambda: spawned() > before, "the names to be given away")


def test_a_file(private):
    private.start()
    path = private.dir / "dag.ndjson"
    path.write_text(ndjson({"shell": "true", "local": "a", "hold": True}, {"shell": "true", "after": local("a"), "local": "b"},
                           {"shell": "true", "after": local("a", "b", when="any")}))
    a, b, c = private.submit("-f", path).out.split()
    assert private.ctl("graph").out.splitlines() == [
        f"{a} sh: queued", f"  {b} sh: queued", f"    {c} sh (when it ends): queued",
        f"  {c} sh (when it ends): queued, as above"]
    for lines, said in (
            ([{"local": "a", "after": local("c")}, {"local": "b", "after": local("a")}, {"local": "c", "after": local("b")}],
             "line 4: after: jobs that wait for each other: a -> b -> c -> a"),
            ([{}, {"local": "a"}, {"after": local("x")}], 'line 5: after: "x" is the local name of no job here'),
            ([{"local": "a"}, {"local": "a"}], "line 4: local: is the local name of an earlier one as well"),
            ([{}, {"local": "a"}, {"after": after(("9999", "ok"))}], "line 5: after: job 9999 is not known"),
            ([{"local": "a"}, {"argc": 3}], "line 4: argc: "), ([{}, {"local": "a", "timeout_usec": -1}], "line 4: timeout_usec: "),
            ([{}, {"local": 7}], "line 4: local: ")):
        path.write_text("\n\n" + ndjson(*[{"kind": "noop", **line} if "argc" not in line else line for line in lines]))
        r = private.submit("-f", path, "--no-env")
        assert r.code == 125 and r.out == "", r
        told = r.err.splitlines()
        assert len(told) == 2 and said in told[0] and told[1].endswith("a list is taken as a whole, or not"), r
    with private.connect() as v:
        assert len(v.ok(JOBS + "List", {})["jobs"]) == 3
    many = 5500  # more than a message has otherwise
    path.write_text(ndjson(*[{"kind": "noop", "after": local("last")} for _ in range(many)], {"kind": "noop", "local": "last"}))
    ids = private.submit("-f", path, "--no-env").out.split()
    assert len(ids) == many + 1 and min(map(int, ids)) == int(ids[-1])
    private.ctl("wait", ids[-1], ids[0])
    path.write_text(ndjson({"kind": "noop", "local": "a", "labels": {"l": "x"}}, *[{"kind": "noop", "name": "n" * 250}] * 60000))
    r = private.submit("-f", path, "--no-env")
    assert r.code == 125 and "go in one message, which has at most 16 MiB" in r.err, r


def test_a_submission_again_while_it_is_on_its_way(private):
    """Two at a time, over and over: the same ids."""
    private.start()
    with private.connect() as one, private.connect() as two:
        for turn in range(30):
            specs = [{"kind": "noop", "local": f"n{i}", "key": f"{turn} {i}", "after": local(f"n{i + 1}")} for i in range(600)]
            specs += [{"kind": "noop", "local": "n600", "key": f"{turn} last"}]
            for v in one, two:
                v.send(JOBS + "SubmitBatch", {"specs": specs if v is one else specs[::-1]})
            first, second = one.recv()["parameters"], two.recv()["parameters"]
            assert first["rejected"] == second["rejected"] == [], (turn, first["rejected"][:2], second["rejected"][:2])
            assert first["ids"] == second["ids"][::-1]
