"""What memory has let go is answered from the store: every kept job, exactly as it was, to
every question; beside the work of the daemon, not in its way."""

import sqlite3
import threading

import pytest

JOBS = "org.voltd.jobs."
CONFIG = "[Store]\nKeepEndedJobs=3\n[Queue]\nSlots=2\n"


def ok(v, method, **parameters):
    return v.ok(JOBS + method, parameters)


def batch(v, n, **spec):
    return ok(v, "SubmitBatch", specs=[{"kind": "noop", **spec}] * n)["ids"]


def wait(v, ids):
    *_, last = v.stream(JOBS + "Wait", {"ids": list(ids)})
    return last


def pages(v, limit, **parameters):
    """The ids of a list, page by page."""
    ids, cursor = [], {}
    while True:
        r = ok(v, "List", limit=limit, **parameters, **cursor)
        assert len(r["jobs"]) <= limit
        ids += [job["id"] for job in r["jobs"]]
        if "cursor" not in r:
            return ids
        cursor = {"cursor": r["cursor"]}


@pytest.fixture
def house(private):
    """Many jobs, of which memory keeps three: (daemon, ids of all that have ended)."""
    private.start(config=CONFIG)
    with private.connect() as v:
        ids = [ok(v, "Submit", spec={"shell": "echo out; exit 7", "name": "seven", "labels": {"a": "b"}})["id"]]
        ids.append(ok(v, "Submit", spec={"shell": "exit $VOLT_ARRAY_INDEX", "array": {"first": 0, "last": 4}})["id"])
        ids += batch(v, 300, name="nothing")
        wait(v, ids)
        waiting = ok(v, "Submit", spec={"kind": "sleep", "duration_usec": 10**10})["id"]
        ids += batch(v, 300)
        wait(v, ids)
        yield private, v, ids, waiting


def test_every_kept_job_is_answered(house):
    private, v, ids, waiting = house
    for _ in range(2):
        with private.connect() as v:
            job = ok(v, "Get", id=ids[0], with_spec=True)["job"]
            assert (job["name"], job["exit_code"], job["state"]) == ("seven", 7, "done")
            assert "forgotten" not in job and job["spec"]["labels"] == {"a": "b"} and job["usage"]
            array = ok(v, "Get", id=ids[1])["job"]
            assert array["counts"] == {"total": 5, "queued": 0, "running": 0, "done": 5, "failed": 4}
            assert array["exit_code"] == 4 and array["state"] == "done"
            assert ok(v, "Get", id=ids[1] + "_3")["job"]["exit_code"] == 3
            assert v.call(JOBS + "Get", {"id": ids[1] + "_5"})["error"] == JOBS + "NoSuchJob"
            assert wait(v, [ids[0], ids[1] + "_2", ids[5]])["exit_code"] == 7
            assert v.call(JOBS + "Signal", {"id": ids[0], "signal": "TERM"})["error"] == JOBS + "NotRunning"
            assert ok(v, "Cancel", ids=[ids[0]])["count"] == 0
        private.stop()
        private.start(config=CONFIG)


def test_lists_are_complete_and_in_order(house):
    _, v, ids, waiting = house
    all_ids = sorted([*ids, waiting], key=int)
    for limit in (1000, 50, 7):
        assert pages(v, limit) == all_ids
        assert pages(v, limit, newest_first=True) == all_ids[::-1]
    assert pages(v, 10, filter={"name": "nothing"}) == ids[2:302]
    assert pages(v, 10, filter={"labels": {"a": "b"}}) == [ids[0]]
    assert pages(v, 10, filter={"states": ["queued", "running"]}) == [waiting]
    assert pages(v, 2, filter={"ids": [ids[4], waiting, ids[0], "99999"]}) == sorted([ids[0], ids[4], waiting], key=int)


def test_voltctl(house):
    private, _, ids, waiting = house
    listed = private.ctl("list", "--all", "--no-legend").lines
    assert len(listed) == len(ids) + 1
    assert [line.split()[0] for line in private.ctl("list", "-n", "5", "--all", "--no-legend").lines] == ids[-5:]
    assert "exit status 7" in private.ctl("status", ids[0]).out
    assert "seven" in private.ctl("show", ids[0]).out
    assert private.ctl("wait", ids[0]).code == 7


def test_a_damaged_row_is_named_not_left_out(house):
    private, v, ids, _ = house
    with sqlite3.connect(private.state / "jobs.1.db") as db:
        db.execute("UPDATE job SET body=x'010203' WHERE id=?", (int(ids[9]),))
    assert v.call(JOBS + "Get", {"id": ids[9]})["error"] == JOBS + "StoreUnavailable"
    assert v.call(JOBS + "List", {})["error"] == JOBS + "StoreUnavailable"
    assert ok(v, "Get", id=ids[8])["job"]["state"] == "done"
    assert f"job {ids[9]}: checksum" in private.log.read_text()


def test_readers_hold_up_neither_the_journal_nor_the_work(private):
    private.start(config=CONFIG)
    stalled, stop = [], threading.Event()

    def read_on():
        with private.connect() as v:
            while not stop.is_set():
                pages(v, 1000)

    readers = [threading.Thread(target=read_on) for _ in range(2)]
    try:
        with private.connect() as v:
            batch(v, 1000)
            for _ in range(50):  # they never read what they asked for
                stalled.append(private.connect())
                stalled[-1].send(JOBS + "Watch", {}, more=True)
                stalled[-1].send(JOBS + "List", {})
            for t in readers:
                t.start()
            journal, longest = private.state / "jobs.1.db-wal", 0
            for _ in range(8):
                last = batch(v, 1000)
                longest = max(longest, journal.stat().st_size)
            assert wait(v, last)["exit_code"] == 0
            assert 0 < longest <= 128 << 20
    finally:
        stop.set()
        for t in readers:
            t.join()
        for c in stalled:
            c.close()
