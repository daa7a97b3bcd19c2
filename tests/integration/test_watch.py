"""A snapshot of several pages, told while the jobs in it change: nothing is missing, and no
event comes twice."""

import pytest

from jobs import JOBS, sh, submit

PAGES, PAGE = 8, 500
# A connection whose client does not read holds up the snapshot in its midst.
CONFIG = "[Daemon]\nHeartbeatSec=40s\n[Store]\nBackend={}\n[Queue]\nSlots=1\n[Limits]\nMaxOutputBacklog=64K\n"
NAME = 200 * "n"


def cancel(v, *idents):
    assert v.ok(JOBS + "Cancel", {"ids": idents})["count"] == len(idents)


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
@pytest.mark.parametrize("named", [False, True])
def test_changes_while_a_snapshot_is_told(private, backend, named):
    private.start(config=CONFIG.format(backend))
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
