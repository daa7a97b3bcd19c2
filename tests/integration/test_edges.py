"""The edges of what the protocol takes: empty sets, cursors of other lists and other
lives, ids and offsets at their ends, and jobs that an earlier voltd has left."""

import json
import signal

import pytest

from conftest import until
from jobs import JOBS, ended_with, submit


LOGS = "org.voltd.logs."
SLEEP = {"kind": "sleep", "duration_usec": 600000000}
MAX = 2**63 - 1


def invalid(reply, parameter):
    assert reply["error"] == "org.varlink.service.InvalidParameter", reply
    assert reply["parameters"]["parameter"] == parameter, reply
    return reply["parameters"]["reason"]


def listed(v, **filter):
    return [j["id"] for j in v.ok(JOBS + "List", {"filter": filter})["jobs"]]


@pytest.mark.parametrize("filter", [{"ids": []}, {"states": []}, {"results": []},
                                    {"ids": [], "orphans": True}])
def test_an_empty_set_matches_nothing(private, filter):
    """A program that found nothing to cancel must not have cancelled everything."""
    private.start(config="[Daemon]\nHeartbeatSec=1s\n")
    with private.connect() as v:
        ident = submit(v, **SLEEP)
        assert v.ok(JOBS + "Cancel", {"filter": filter}) == {"count": 0}
        assert listed(v, **filter) == []
        assert listed(v) == [ident]
        v.send(JOBS + "Watch", {"filter": filter}, more=True)
        assert v.recv()["parameters"]["jobs"] == []
        with private.connect() as w:
            w.ok(JOBS + "Cancel", {"ids": [ident]})
            after = w.ok(JOBS + "Submit", {"spec": {"kind": "noop"}})["id"]
            *_, _last = w.stream(JOBS + "Wait", {"ids": [ident, after]})
            w.send(JOBS + "Watch", more=True)
            now = w.recv()["parameters"]["cursor"]
        told = {"cursor": 0}
        while told["cursor"] < now:
            told = v.recv()["parameters"]
            assert set(told) == {"cursor", "heartbeat"}


def test_a_list_of_ids_is_paged_whole(shared):
    with shared.connect() as v:
        array = submit(v, kind="noop", array={"first": 0, "last": 9})
        single = submit(v, kind="noop")
        ids = [f"{array}_{i}" for i in range(10)] + [single, array]
        for newest in (False, True):
            for limit in (1, 3, 5, 12):
                got, cursor = [], None
                while True:
                    page = v.ok(JOBS + "List", {"filter": {"ids": ids}, "limit": limit,
                                                "cursor": cursor, "newest_first": newest})
                    got += [j["id"] for j in page["jobs"]]
                    assert len(page["jobs"]) <= limit
                    cursor = page.get("cursor")
                    if cursor is None:
                        break
                assert len(got) == 12 and set(got) == set(ids), (newest, limit, got)


def test_cursors_beyond_the_end(shared):
    with shared.connect() as v:
        submit(v, kind="noop")
        for cursor in (str(2**64 - 1), str(2**63), "99999999999"):
            assert v.ok(JOBS + "List", {"cursor": cursor}) == {"jobs": []}
        assert v.ok(JOBS + "List", {"cursor": str(2**64 - 1), "newest_first": True})["jobs"]
        ids = {"ids": [str(2**64 - 1), "99999999"]}
        assert v.ok(JOBS + "List", {"filter": ids, "cursor": str(2**64 - 1)}) == {"jobs": []}


def test_offsets_at_the_end(shared):
    with shared.connect() as v:
        ident = submit(v, shell="echo hello")
        *_, _last = v.stream(JOBS + "Wait", {"ids": [ident]})
        far = v.ok(LOGS + "Read", {"id": ident, "offset": 2**62})
        assert (far["data"], far["end"]) == ("", True)
        assert "0 to" in invalid(v.call(LOGS + "Read", {"id": ident, "offset": MAX}), "offset")


def test_cursors_of_another_store(private):
    """Events of a store that is gone are gone: nobody is told those of another instead."""
    private.start()
    with private.connect() as v:
        v.send(JOBS + "Watch", {}, more=True)
        old = v.recv()["parameters"]["cursor"]
    private.stop()
    private.lose_store()
    private.start()
    with private.connect() as v:
        for _ in range(30):
            submit(v, kind="noop")
        for after in (old, 1, MAX):
            assert "another store" in invalid(
                v.call(JOBS + "Watch", {"after": after}, more=True), "after")
        v.send(JOBS + "Watch", {}, more=True)
        now = v.recv()["parameters"]["cursor"]
        assert old < now < 2**53  # also for programs whose numbers are doubles


def test_a_cursor_of_an_earlier_life(private):
    private.start()
    with private.connect() as v:
        v.send(JOBS + "Watch", {}, more=True)
        old = v.recv()["parameters"]["cursor"]
    with private.connect() as v:
        idents = [submit(v, kind="noop") for _ in range(3)]
        *_, last = v.stream(JOBS + "Wait", {"ids": idents})
    private.stop(signal.SIGKILL)
    private.start()
    told = []
    with private.connect() as v:
        v.send(JOBS + "Watch", {"after": old}, more=True)
        while len(told) < 12:
            told += v.recv()["parameters"]["events"]
    assert sorted((e["id"], e["event"]) for e in told) == sorted(
        (i, e) for i in idents for e in ("submit", "starting", "started", "exited"))


def test_watchers_hear_of_it_when_it_happens(private):
    """Not when a heartbeat is due, which would be told as such."""
    private.start(config="[Daemon]\nHeartbeatSec=40s\n")
    with private.connect() as v, private.connect() as another:
        v.send(JOBS + "Watch", {}, more=True)
        v.recv()
        for _ in range(3):
            another.ok(JOBS + "Submit", {"spec": {"shell": "exit 3"}})
            heard = []
            while "exited" not in heard:
                reply = v.recv()["parameters"]
                assert "heartbeat" not in reply, heard
                heard += [e["event"] for e in reply["events"]]


def test_a_running_orphan_can_be_ended(private):
    private.start()
    up = private.dir / "up"
    ident = private.submit("--shell", f"trap 'exit 5' TERM; touch {up}; "
                           "while :; do sleep 0.05; done").out.strip()
    until(lambda: up.exists() and private.job(ident)["state"] == "running")
    private.stop(signal.SIGKILL)
    private.lose_store()
    private.start()
    r = private.ctl("cancel", ident)
    assert r.code == 1 and "earlier voltd" in r.err and f"voltctl kill {ident}" in r.err, r
    until(lambda: private.job(ident)["state"] == "running", "the orphan to be known as running")
    assert private.ctl("list", "--orphans", "--no-legend", ident).out.startswith(ident)
    assert private.ctl("list", "--orphans", "--no-legend", "999").out == ""
    with private.connect() as v:
        v.send(JOBS + "Watch", {"filter": {"orphans": True}}, more=True)
        assert [j["id"] for j in v.recv()["parameters"]["jobs"]] == [ident]
        assert private.ctl("kill", ident).code == 0
        (event,) = v.recv()["parameters"]["events"]
        assert (event["id"], event["result"], ended_with(event)) == (ident, "exit", 5)
    assert private.ctl("wait", ident).code == 5
    assert private.ctl("cancel", ident).code == 0  # has ended: nothing to do


def test_names_come_back_as_they_were(shared):
    name = "a\tb\nc\x1b[31m\u009b\u202e\u65e5\U0001f600"
    with shared.connect() as v:
        ident = submit(v, kind="noop", name=name, labels={name: name})
        job = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]
        assert job["name"] == name and job["spec"]["labels"] == {name: name}
        assert listed(v, name=name, labels={name: name}) == [ident]
    assert json.loads(shared.ctl("show", "--json", ident).out)["name"] == name
