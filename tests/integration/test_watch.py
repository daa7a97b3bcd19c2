"""A snapshot of several pages, told while the jobs in it change: nothing is missing, and no
event comes twice."""
import json

import pytest

from jobs import JOBS, ended_with, main_of, sh, submit, wait

PAGES, PAGE = 8, 500
# A connection whose client does not read holds up the snapshot in its midst.
CONFIG = "[Daemon]\nHeartbeatSec=40s\n[Queue]\nSlots=1\n[Limits]\nMaxOutputBacklog=64K\n"
NAME = 200 * "n"


def cancel(v, *idents):
    assert v.ok(JOBS + "Cancel", {"ids": idents})["count"] == len(idents)


@pytest.mark.parametrize("named", [False, True])
def test_changes_while_a_snapshot_is_told(private, named):
    private.start(config=CONFIG)
    with private.connect() as v, private.connect() as w:
        submit(v, sh("exec sleep 1000", name="blocker"))
        spec = sh("true", name=NAME)
        idents = [i for _ in range(PAGES)
                  for i in v.ok(JOBS + "SubmitBatch", {"specs": [spec] * PAGE})["ids"]]
        w.sock.settimeout(39)   # its task wakes for a heartbeat, too, and then sees all news
        w.send(JOBS + "Watch", {"filter": {"ids": idents} if named else {}}, more=True)
        first = w.recv()["parameters"]
        # The watcher reads no more for now. These are in what it has, some in each later page,
        # the last ones of all, and new.
        early, late, marker = idents[:50], idents[-50:], idents[-51]
        middle = idents[PAGE:-51:50]
        gone = {*early, *middle, *late}
        cancel(v, *early)
        cancel(v, *late, *middle)
        new = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * 3})["ids"]
        cancel(v, *new)

        snapshot, events, cursors, asked = first["jobs"], [], [first["cursor"]], False
        while not events or events[-1]["id"] != marker:
            p = w.recv()["parameters"]
            assert "lagged" not in p
            cursors.append(p["cursor"])
            assert not (events and "jobs" in p), "the snapshot comes first"
            snapshot += p.get("jobs", [])
            events += p.get("events", [])
            if not asked and snapshot[-1]["id"] in (idents[-1], *new):
                cancel(v, marker)   # its event comes behind all others
                asked = True

    at_first = {j["id"]: j["state"] for j in snapshot}
    assert len(at_first) == len(snapshot), "a job is in it once"
    assert {*idents} <= {*at_first}
    # What was told already has changed since; the rest was read when it had.
    assert {at_first[i] for i in early} == {"queued"}
    assert {at_first[i] for i in late} == {"done"}
    numbers = [e["cursor"] for e in events]
    assert numbers == sorted({*numbers}) and cursors == sorted(cursors)
    ends = [e["id"] for e in events if e["state"] == "done"]
    assert len(ends) == len({*ends})
    assert {*ends} == gone | {marker} | ({*new} if not named else set())


def told(w, ident, last="exited"):
    """The events of a job, up to its last one."""
    events = []
    while not events or (events[-1]["id"], events[-1]["event"]) != (ident, last):
        events += [e for e in w.recv()["parameters"].get("events", []) if e["id"].split("_")[0] == ident]
    return events


def test_an_event_says_of_what_it_is(private):
    """What people ask of one, without a Get for each."""
    private.start()
    with private.connect() as v, private.connect() as w:
        w.send(JOBS + "Watch", {}, more=True)
        w.recv()
        one = submit(v, sh("exit 3", name="one"))
        events = told(w, one)
        assert {e["name"] for e in events} == {"one"}
        assert [(e["event"], e["attempt"]) for e in events] == \
            [("submit", 0), ("starting", 1), ("started", 1), ("exited", 1)]
        assert [e.get("exit_code") for e in events] == [None, None, None, 3]
        assert ended_with(events[-1]) == 3
        gone = told(w, submit(v, {"argv": ["/does/not/exist"]}))[-1]
        assert (gone["name"], gone["exit_code"], ended_with(gone)) == ("exist", 127, "ENOENT")
        many = submit(v, {**sh("exit $VOLT_ARRAY_INDEX; kill -9 $$"), "name": "many",
                          "array": {"first": 1, "last": 2}})
        events = []
        while (many, "exited") not in [(e["id"], e["event"]) for e in events]:
            events += told(w, many)
        assert {e["name"] for e in events} == {"many"}
        ends = {e["id"]: e["exit_code"] for e in events if e["event"] == "exited"}
        assert ends == {f"{many}_1": 1, f"{many}_2": 2, many: 2}
        other = submit(v, sh("exec sleep 1000"))
        main_of(v, other)
        v.ok(JOBS + "Cancel", {"ids": [other]})
        end = told(w, other)[-1]
        assert (end["result"], end["exit_code"], ended_with(end)) == ("cancelled", 125, "SIGTERM")
        after = end["cursor"]
        last = submit(v, sh("exit 5", name="last"))
        wait(v, last)
    private.stop()
    private.start()
    with private.connect() as w:
        w.send(JOBS + "Watch", {"after": after}, more=True)
        events = told(w, last)
        assert [(e["name"], e["attempt"], e.get("exit_code")) for e in events] == \
            [("last", 0, None), ("last", 1, None), ("last", 1, None), ("last", 1, 5)]
    with private.connect() as w:  # of an earlier voltd, too
        w.send(JOBS + "Watch", {"after": 0}, more=True)
        events = []
        while not events or (events[-1]["id"], events[-1]["event"]) != (last, "exited"):
            events += w.recv()["parameters"].get("events", [])
        assert (events[0]["id"], events[0]["event"]) == ("1", "submit"), events[0]
        assert {"exist", "many", "last"} <= {e["name"] for e in events}
    kept = private.ctl("events", "--after=0", "-n", str(len(events)), "--json")
    assert [json.loads(line)["cursor"] for line in kept.lines] == [e["cursor"] for e in events], kept


def test_the_snapshot_has_specs_where_they_are_asked_for(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        for i in range(3):
            submit(v, sh(f"exec sleep 100{i}", env={"A": "b"}))

        def snapshot(**more):
            with private.connect() as w:
                w.send(JOBS + "Watch", more, more=True)
                return [j.get("spec") for j in w.recv()["parameters"]["jobs"]]
        assert snapshot() == [None] * 3
        assert [s["shell"] for s in snapshot(spec_fields=["shell"])] == \
            [f"exec sleep 100{i}" for i in range(3)]
        assert all("env" not in s for s in snapshot(spec_fields=["shell"]))
        assert [s["env"] for s in snapshot(with_spec=True)] == [{"A": "b"}] * 3
        v.ok(JOBS + "Cancel", {"filter": {}})


@pytest.mark.parametrize("pattern", ["b[!a]*", "b[!a]*" + "*" * 40])
def test_events_of_names_that_match(private, pattern):
    """Also where the pattern is so long that no worker compares."""
    private.start()
    with private.connect() as v, private.connect() as w:
        w.send(JOBS + "Watch", {"filter": {"name_glob": pattern}}, more=True)
        assert w.recv()["parameters"]["jobs"] == []
        idents = [submit(v, {"kind": "noop", "name": name}) for name in ("big", "small", "bag", "b", "bigger")]
        told = []
        while idents[-1] not in told:
            told += [e["id"] for e in w.recv()["parameters"].get("events", [])]
        assert set(told) == {idents[0], idents[-1]}


def test_a_filter_of_jobs_that_have_left_memory(private):
    """Who comes back late gets the events of all jobs that the filter wants, and no others."""
    config = "[Store]\nKeepEndedJobs=0\n"
    private.start(config=config)
    with private.connect() as v, private.connect() as w:
        w.send(JOBS + "Watch", {}, more=True)
        after = w.recv()["parameters"]["cursor"]
        specs = [{"kind": "noop", "name": name, "labels": {"of": name}} for name in ("wanted", "other") * 100]
        idents = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wait(v, *idents)
    private.stop()
    private.start(config=config)
    for of in {"name": "wanted"}, {"name_glob": "w*"}, {"labels": {"of": "wanted"}}:
        with private.connect() as w:
            w.send(JOBS + "Watch", {"after": after, "filter": of}, more=True)
            ended = []
            while len(ended) < 100:
                p = w.recv()["parameters"]
                assert "lagged" not in p
                ended += [e["id"] for e in p.get("events", []) if e["state"] == "done"]
            assert sorted(ended) == sorted(idents[::2])
