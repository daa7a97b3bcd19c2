"""What has left memory is answered from the store: every kept job, exactly as it was, to
every question; beside the work of the daemon, not in its way."""

import sqlite3
import threading

import pytest

from conftest import until

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
            whole = wait(v, [ids[1]])
            assert (whole["total"], whole["failed"], whole["exit_code"]) == (5, 4, 4)
            assert whole["jobs"] == [array]
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
    # What the stalled ones leave unread is less than their user may hold: by that they hold up nobody.
    private.start(config=CONFIG + "[Limits]\nMaxBuffersPerUser=1G\n")
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


def answers(v, arrays, elements):
    """What is said of ended arrays and their elements, by every method that can be asked."""
    said = [ok(v, "Get", id=i, with_spec=True)["job"] for i in [*arrays, *elements]]
    said += [ok(v, "Wait", ids=[i]) for i in [*arrays, *elements[:9]]]
    said += [ok(v, "Wait", ids=elements), wait(v, [*arrays, *elements])]
    for down in (False, True):
        got, cursor = [], {}
        while True:
            r = ok(v, "List", filter={"ids": elements}, newest_first=down, limit=70, **cursor)
            got += r["jobs"]
            if "cursor" not in r:
                break
            cursor = {"cursor": r["cursor"]}
        said.append(got)
    for i in elements[:9]:
        said.append(v.call(JOBS + "Signal", {"id": i, "signal": "TERM"}))
        said.append(v.call(JOBS + "Forget", {"filter": {"ids": [i]}}))
        said.append(v.call("org.voltd.logs.Read", {"id": i}))
    said.append(ok(v, "Cancel", ids=[*arrays, *elements]))
    for i in arrays:
        last = int(said[arrays.index(i)]["spec"]["array"]["last"])
        said.append(v.call(JOBS + "Get", {"id": f"{i}_{last + 1}"}))
    return said


def test_ended_arrays_are_loaded_as_counts(private):
    """After a restart their elements are in the store alone, and every question has the answer that it
    had before."""
    private.start(config="[Queue]\nSlots=2\n")
    with private.connect() as v:
        spec = {"shell": "echo $VOLT_ARRAY_INDEX; exit $VOLT_ARRAY_INDEX", "array": {"first": 3, "last": 7}}
        arrays = [ok(v, "Submit", spec=spec)["id"]]
        wait(v, arrays)
        arrays.append(ok(v, "Submit", spec={"argv": ["sleep", "600"], "array": {"first": 0, "last": 9}})["id"])
        while ok(v, "Get", id=arrays[1])["job"]["counts"]["running"] < 2:
            pass
        assert ok(v, "Cancel", ids=[arrays[1] + "_5"])["count"] == 1
        assert ok(v, "Cancel", ids=[arrays[1]])["count"] == 1
        wait(v, arrays)
        arrays.append(ok(v, "Submit", spec={"kind": "noop", "array": {"first": 0, "last": 999}})["id"])
        wait(v, arrays)
        elements = [f"{arrays[0]}_{i}" for i in range(3, 8)] + [f"{arrays[1]}_{i}" for i in range(10)]
        elements += [f"{arrays[2]}_{i}" for i in range(1000)]
        before = answers(v, arrays, elements)
    for _ in range(2):
        private.stop()
        private.start(config="[Store]\nKeepEndedJobs=4\n")
        with private.connect() as v:
            after = answers(v, arrays, elements)
            for a, b in zip(before, after):
                assert a == b
            # What is read for one is told for those behind it, in one answer; and in turns.
            got = ok(v, "List", filter={"ids": elements[15:]})
            assert [j["id"] for j in got["jobs"]] == elements[15:]
            with private.connect_control() as c:
                turns = c.ok("org.voltd.control.Stats")["turns"]
            assert turns["largest_entries"] <= 510, turns
            # All of them are in memory, as three jobs.
            v.send(JOBS + "Watch", more=True)
            assert [j["id"] for j in v.recv()["parameters"]["jobs"]] == arrays


@pytest.mark.parametrize("array", [
    {"first": 3, "last": 12, "ranges": [{"first": 3, "last": 3}, {"first": 5, "last": 5}, {"first": 9, "last": 12}]},
    {"first": 1, "last": 9, "ranges": [{"first": 1, "last": 9, "step": 2}]}])
def test_ended_arrays_with_gaps(private, array):
    """Each element has its own end, whether the store is asked for one or for many."""
    private.start()
    with private.connect() as v:
        ident = ok(v, "Submit", spec={"shell": "exit $VOLT_ARRAY_INDEX", "array": array})["id"]
        wait(v, [ident])
        indexes = [i for r in array["ranges"] for i in range(r["first"], r["last"] + 1, r.get("step", 1))]
        names = [f"{ident}_{i}" for i in indexes]
        before = answers(v, [ident], names)
    for _ in range(2):
        with private.connect() as v:
            for newest in False, True:
                got = ok(v, "List", filter={"ids": names}, newest_first=newest)["jobs"]
                assert [(j["id"], j["exit_status"]) for j in got] == [*zip(names, indexes)][::-1 if newest else 1]
            assert answers(v, [ident], names) == before
        private.stop()
        private.start(config="[Store]\nKeepEndedJobs=1\n")


def test_the_times_of_an_array(private):
    """From the first start to the last end, also when it comes from the store."""
    private.start(config="[Queue]\nSlots=1\n")
    ident = private.submit("--wait", "--quiet", "--array=1-3", "sleep", "0.01").out.strip()
    for _ in range(2):
        elements = [private.job(f"{ident}_{i}") for i in (1, 2, 3)]
        array = private.job(ident)
        assert array["started_at_usec"] == min(e["started_at_usec"] for e in elements)
        assert array["ended_at_usec"] == max(e["ended_at_usec"] for e in elements)
        status = private.ctl("status", ident).out
        assert "   Started: " in status and "     Ended: " in status and "   Runtime: " in status
        private.stop(9)
        private.start()
    ident = private.submit("--array=1-2", "sleep", "1000").out.splitlines()[0]
    until(lambda: "started_at_usec" in private.job(ident))
    assert "ended_at_usec" not in private.job(ident)
