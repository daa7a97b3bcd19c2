"""Turns: what a call causes is done in portions, with those of others in between. Counters of voltd
say how large they were, and how many went by; no test here looks at a clock."""

import base64
import contextlib
import json
import os
import signal

import pytest

from conftest import SANITIZER, until
from protocol import CONTROL, JOBS, LOGS, message

ENTRIES, BYTES, FACTS = 500, 65536, 64
# A turn ends with the thing that exceeds it: a look into the store counts 8, an entry in a list of
# jobs has a few hundred bytes, the cancel of a job is up to three facts.
ONE_MORE_ENTRY, ONE_MORE_BYTES, ONE_MORE_FACTS = 10, 4096, 2


def turns(daemon):
    with daemon.connect_control() as v:
        return v.ok(CONTROL + "Stats")["turns"]


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def check_turns(daemon):
    """Its turns were within bounds, and so was what it did each time it had the lock on all jobs."""
    got = turns(daemon)
    for what in ("largest", "held"):
        assert got[what + "_entries"] <= ENTRIES + ONE_MORE_ENTRY, got
        assert got[what + "_bytes"] <= BYTES + ONE_MORE_BYTES, got
        assert got[what + "_facts"] <= FACTS + ONE_MORE_FACTS, got
    assert got["told_entries"] <= ENTRIES, got
    assert got["read_rows"] <= ENTRIES and got["read_bytes"] <= BYTES + ONE_MORE_BYTES, got


@pytest.fixture
def daemon(private):
    private.start()
    yield private
    check_turns(private)


@pytest.fixture(params=["on", "off"])
def of_both(private, request):
    """Whether commits wait for the disk or not."""
    private.start(config=f"[Store]\nSync={request.param}\nKeepEndedJobs=1000\n")
    yield private
    check_turns(private)


def array_of(v, n, **spec):
    array = v.ok(JOBS + "Submit", {"spec": spec | {"array": {"first": 0, "last": n - 1}}})["id"]
    return [f"{array}_{i}" for i in range(n)]


def waiting(v, n):
    return array_of(v, n, argv=["sleep", "600"])


def test_a_batch_of_many(of_both):
    """Taken, told to the store and entered in portions, by workers."""
    specs = [{"argv": ["true"], "name": f"job-{i}"} for i in range(1000)]
    with of_both.connect() as v:
        waiting(v, 10)  # the slots are taken
        before = turns(of_both)
        got = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        now = turns(of_both)
        first = int(got[0])
        assert got == [str(first + i) for i in range(1000)]
        assert now["divided"] - before["divided"] >= 1000 // FACTS
        assert now["largest_facts"] >= FACTS
        assert now["aside"] == before["aside"]


def test_a_wait_for_many(daemon):
    with daemon.connect() as v:
        ids = waiting(v, 19000)
        before = turns(daemon)
        assert v.ok(JOBS + "Wait", {"ids": ids}) == {"total": 19000, "left": 19000, "failed": 0}
        now = turns(daemon)
        # Taken, and looked at.
        assert now["divided"] - before["divided"] >= 2 * 19000 // ENTRIES
        assert now["aside"] == before["aside"]
        # In any order, with what is there twice; white space and escapes are for the parser.
        ids = ids[::-1][1000:] + ids[:500]
        left = {"total": 18000, "left": 18000, "failed": 0}
        assert v.ok(JOBS + "Wait", {"ids": ids}) == left
        text = message(JOBS + "Wait", {"ids": ids}).replace(b"_17", b"_\\u00317").replace(b", ", b" ,\n")
        assert text.count(b"u0031") > 1000
        v.send_raw(text)
        assert v.recv()["parameters"] == left
        v.send(JOBS + "Wait", {"ids": ids}, more=True)
        assert v.recv()["parameters"] == left


def test_the_answer_of_a_wait_for_many(daemon):
    with daemon.connect() as v:
        ids = array_of(v, 2000, kind="noop")
        v.send(JOBS + "Wait", {"ids": ids}, more=True)
        while (got := v.recv()).get("continues"):
            pass
        before = turns(daemon)
        again = v.ok(JOBS + "Wait", {"ids": ids})
        assert again == got["parameters"] and again["left"] == again["exit_code"] == 0
        assert [j["id"] for j in again["jobs"]] == ids[:1000]
        size = len(message("", again))
        assert turns(daemon)["divided"] - before["divided"] >= size // (BYTES + ONE_MORE_BYTES)


def test_an_id_among_many_that_is_none(daemon):
    with daemon.connect() as v:
        ids = waiting(v, 3000)
        for bad in ("", "x", "1.2", 7, None, ["1"], "1" * 100, "1\n", '"'):
            got = v.call(JOBS + "Wait", {"ids": ids[:2500] + [bad] + ids[2500:]})
            assert got["error"] == "org.varlink.service.InvalidParameter", (bad, got)
            assert got["parameters"]["parameter"] == "ids[2500]", (bad, got)
        got = v.call(JOBS + "Wait", {"ids": ids + ["999999"]})
        assert got["error"] == JOBS + "NoSuchJob" and got["parameters"]["id"] == "999999"
        # Other methods have no such parameter, whatever is in it.
        got = v.call(JOBS + "Get", {"id": ids[0], "ids": ids})
        assert got["parameters"]["parameter"] == "ids", got
    for wrong in (b'",,"', b'" "', b'":"'):
        text = message(JOBS + "Wait", {"ids": ids}).replace(b'", "', wrong, 1)
        with daemon.connect() as v:
            v.send_raw(text)
            assert v.recv() is None, wrong


def test_a_cancel_of_many(daemon):
    with daemon.connect() as v:
        ids = waiting(v, 19000)
        # One that does not exist, at the end: none is cancelled.
        got = v.call(JOBS + "Cancel", {"ids": ids + ["999999"]})
        assert got["error"] == JOBS + "NoSuchJob", got
        assert v.ok(JOBS + "Wait", {"ids": ids})["left"] == 19000
        before = turns(daemon)
        assert v.ok(JOBS + "Cancel", {"ids": ids[::-1]}) == {"count": 19000}
        # Taken, looked at, and asked to end.
        assert turns(daemon)["divided"] - before["divided"] >= 3 * 19000 // ENTRIES
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert last["left"] == 0 and last["cancelled"] == 19000


def asleep(v, n):
    """An array whose elements have all begun: they need neither slots nor processes."""
    array = v.ok(JOBS + "Submit", {"spec": {"kind": "sleep", "duration_usec": 10**10,
                                            "array": {"first": 0, "last": n - 1}}})["id"]
    until(lambda: v.ok(JOBS + "Get", {"id": array})["job"]["counts"]["running"] == n)
    return array


def test_a_cancel_of_arrays_that_have_begun(of_both):
    """Each element has a fact of its own."""
    n = 1500
    with of_both.connect() as v:
        for how in ("ids", "filter"):
            array = asleep(v, n)
            ended = array_of(v, 2000, kind="noop")[0].split("_")[0]
            before = turns(of_both)
            assert v.ok(JOBS + "Cancel", {"ids": [array]} if how == "ids" else {"filter": {}})["count"] >= 1
            assert turns(of_both)["divided"] - before["divided"] >= n // (FACTS + ONE_MORE_FACTS)
            *_, last = v.stream(JOBS + "Wait", {"ids": [array, ended]})
            assert last["left"] == 0 and last["cancelled"] >= n
        assert v.call(JOBS + "Cancel", {"ids": [array]})["parameters"] == {"count": 0}


def test_a_submission_in_the_place_of_arrays_that_have_begun(of_both):
    """Each element of these is cancelled, before the answer."""
    n, arrays = 700, 3
    spec = {"kind": "sleep", "duration_usec": 10**10, "on_exists": "replace"}
    with of_both.connect() as v:
        keyed = [spec | {"key": f"k{i}"} for i in range(arrays)]
        got = v.ok(JOBS + "SubmitBatch", {"specs": [s | {"array": {"first": 0, "last": n - 1}} for s in keyed]})["ids"]
        for array in got:
            until(lambda: v.ok(JOBS + "Get", {"id": array})["job"]["counts"]["running"] == n)
        before = turns(of_both)
        assert all(v.ok(JOBS + "SubmitBatch", {"specs": keyed})["ids"])
        assert turns(of_both)["divided"] - before["divided"] >= arrays * n // (FACTS + ONE_MORE_FACTS)
        *_, last = v.stream(JOBS + "Wait", {"ids": got})
        assert last["left"] == 0 and last["cancelled"] == arrays * n
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == arrays


def test_events_of_what_is_waited_for_by_many(daemon):
    """Of an array that is cancelled each element, by several calls: what is told of an event is told in
    portions. So are those waits that end, or whose callers have gone."""
    n, calls = 19000, 8
    with daemon.connect() as v, contextlib.ExitStack() as stack:
        ids = waiting(v, n)
        array = ids[0].split("_")[0]
        waits = [stack.enter_context(daemon.connect()) for _ in range(calls)]
        for w in waits:
            w.send(JOBS + "Wait", {"ids": [array, *ids]}, more=True)
        for w in waits:
            assert w.recv()["parameters"]["left"] == 2 * n
        for w in waits[calls // 2:]:
            w.close()
        assert v.ok(JOBS + "Cancel", {"ids": [array]}) == {"count": 1}
        for w in waits[:calls // 2]:
            while (got := w.recv()).get("continues"):
                pass
            assert got["parameters"]["left"] == 0 and got["parameters"]["cancelled"] == 2 * n
        assert turns(daemon)["told_entries"] == ENTRIES


def test_events_of_jobs_with_long_commands(daemon):
    """A watcher with a filter: what is unpacked to know whether it wants an event counts."""
    jobs, size = 600, 2000
    spec = dict(argv=["sh", "-c", "exec sleep 600 #" + "x" * size], name="other")
    with daemon.connect() as v, daemon.connect() as w, daemon.connect() as before_all:
        before_all.send(JOBS + "Watch", more=True)
        cursor = before_all.recv()["parameters"]["cursor"]
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * jobs})["ids"]
        that = v.ok(JOBS + "Submit", {"spec": {"kind": "noop", "name": "that"}})["id"]
        before = turns(daemon)
        w.send(JOBS + "Watch", {"filter": {"name": "that"}, "after": cursor}, more=True)
        seen = []
        while "exited" not in [e["event"] for e in seen]:
            seen += w.recv()["parameters"].get("events", [])
        assert {e["id"] for e in seen} == {that}
        assert turns(daemon)["divided"] - before["divided"] >= (jobs - 70) * size // BYTES - 1
        assert v.ok(JOBS + "Cancel", {"ids": ids})["count"] == jobs


def set_slots(daemon, slots):
    (daemon.dir / "voltd.conf").write_text(f"[Queue]\nSlots={slots}\n")
    with daemon.connect_control() as v:
        v.ok(CONTROL + "Reload")


def test_many_slots_that_are_free_at_once(private):
    """An array gets its part at once, and jobs get theirs in portions."""
    slots = 700
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        first = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"]}})["id"]
        until(lambda: v.ok(JOBS + "Get", {"id": first})["job"]["state"] == "running")
        for spec in ({"array": {"first": 0, "last": slots - 1}}, {}):
            specs = [{"argv": ["/no/such/program"], "cwd": "/", **spec}] * (1 if spec else slots)
            ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
            set_slots(private, slots + 1)
            *_, last = v.stream(JOBS + "Wait", {"ids": ids})
            assert last["left"] == 0 and last["failed"] == slots
            set_slots(private, 1)
        assert turns(private)["held_entries"] <= 2 * FACTS + 2
        assert v.ok(JOBS + "Cancel", {"ids": [first]})["count"] == 1
    check_turns(private)


def test_a_batch_whose_caller_has_gone(daemon):
    """It is given up, whole and in portions, wherever it was; nothing is left of its keys."""
    jobs = 20_000
    specs = [{"argv": ["sleep", "600"], "key": f"k{i}", "name": "x" * (1 + i % 7)} for i in range(jobs)]
    with daemon.connect() as v:
        text = message(JOBS + "SubmitBatch", {"specs": specs})
        for _ in range(4):
            with daemon.connect() as gone:
                gone.send_raw(text)
        again = v.ok(JOBS + "SubmitBatch", {"specs": specs})
        assert all(again["ids"]) and not again["rejected"]
        assert len(set(again["ids"])) == jobs
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == jobs


def test_a_replacement_of_many_that_have_ended(of_both):
    """A large array ends, and a thousand that have ended before leave memory for it."""
    jobs = 1000
    with of_both.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * jobs})["ids"]
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert last["left"] == 0
        array = array_of(v, 8 * jobs, kind="noop")[0].split("_")[0]
        *_, last = v.stream(JOBS + "Wait", {"ids": [array]})
        assert last["left"] == 0

        def in_memory():
            with of_both.connect() as w:
                w.send(JOBS + "Watch", more=True)
                return [j["id"] for j in w.recv()["parameters"]["jobs"]]

        until(lambda: in_memory() == [array], "those before to leave memory")


def test_a_forget_of_all(of_both):
    jobs = 900
    with of_both.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * jobs})["ids"]
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert last["left"] == 0
        before = turns(of_both)
        assert v.ok(JOBS + "Forget", {"filter": {}})["count"] == jobs
        assert turns(of_both)["divided"] - before["divided"] >= jobs // FACTS


def test_batches_whose_keys_are_taken(daemon):
    """Keys are given back in portions, and so are those found of whom the jobs are the same."""
    jobs = 2000
    specs = [{"kind": "noop", "key": f"k{i}"} for i in range(jobs)]
    with daemon.connect() as v:
        other = specs + [{"kind": "noop", "key": "k0", "name": "other"}]
        got = v.ok(JOBS + "SubmitBatch", {"specs": other, "atomic": True})
        assert not any(got["ids"]) and len(got["rejected"]) == jobs + 1
        twice = v.ok(JOBS + "SubmitBatch", {"specs": specs + specs})["ids"]
        assert all(twice) and twice[:jobs] == twice[jobs:]


def test_lists_that_look_at_long_commands(daemon):
    """They are unpacked to find their queues, which takes more time than to look at the jobs. Of the
    environment nothing is."""
    jobs, size = 600, 2000    # bytes that are looked at of each: a few more
    spec = dict(argv=["sh", "-c", "exec sleep 600 #" + "x" * size], env={"X": "y" * 1500}, name="other")
    with daemon.connect() as v:
        assert all(v.ok(JOBS + "SubmitBatch", {"specs": [spec] * jobs})["ids"])
        before = turns(daemon)
        assert v.ok(JOBS + "List", {"filter": {"queue": "that"}}) == {"jobs": []}
        divided = turns(daemon)["divided"] - before["divided"]
        assert (jobs - 70) * size // BYTES - 1 <= divided <= jobs * (size + 600) // BYTES
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == jobs


def test_reading_ended_jobs_with_long_specs(private):
    """Others may read the store after as many bytes of it as a turn has."""
    jobs, size = 200, 3000
    private.start(config="[Store]\nKeepEndedJobs=1\n")
    with private.connect() as v:
        specs = [{"kind": "noop", "env": {"X": str(i) + "y" * size}} for i in range(jobs)]
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert last["left"] == 0
        got = v.ok(JOBS + "List", {"spec_fields": ["env"], "newest_first": True})["jobs"]
        assert [(j["id"], j["spec"]["env"]) for j in got] == list(zip(ids, [s["env"] for s in specs]))[::-1]
        assert v.ok(JOBS + "Forget", {"filter": {"name": "that"}}) == {"count": 0}
        assert turns(private)["read_bytes"] >= BYTES
    check_turns(private)


def test_what_is_not_told_is_not_unpacked(daemon):
    """A list without specs needs no environments, and a cancel needs no spec at all."""
    jobs, size = 300, 3000
    specs = [dict(argv=["sleep", "600"], env={"X": str(i) + "y" * size}) for i in range(jobs)]
    with daemon.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        v.ok(JOBS + "Cancel", {"filter": {"states": ["running"]}})
        assert turns(daemon)["held_bytes"] == 0
        assert [j["id"] for j in v.ok(JOBS + "List", {"limit": jobs})["jobs"]] == ids
        assert 0 < turns(daemon)["held_bytes"] <= jobs * 200
        got = v.ok(JOBS + "List", {"spec_fields": ["env"], "filter": {"states": ["queued"]}, "limit": 5})["jobs"]
        assert all(j["spec"]["env"]["X"].endswith("y" * size) for j in got)


def test_a_forget_of_many(daemon):
    with daemon.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 5000})["ids"]
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert last["left"] == 0
        waits = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"]}})["id"]
        got = v.call(JOBS + "Forget", {"filter": {"ids": [*ids, waits]}})
        assert got["parameters"]["reason"] == f"job {waits} has not ended"
        before = turns(daemon)
        assert v.ok(JOBS + "Forget", {"filter": {"ids": ids[::-1]}})["count"] == 5000
        assert turns(daemon)["divided"] - before["divided"] >= 5000 // ENTRIES
        assert [j["id"] for j in v.ok(JOBS + "List")["jobs"]] == [waits]
        # It does not look at those that have not ended.
        v.ok(JOBS + "SubmitBatch", {"specs": [{"argv": ["sleep", "600"]}] * 20_000})
        before = turns(daemon)
        assert v.ok(JOBS + "Forget", {"filter": {}})["count"] == 0
        assert turns(daemon)["divided"] == before["divided"]


def test_lists_of_few_of_many(daemon):
    """The filter wants one job in a thousand; the pages together are what there is. Of this name the ids
    are known; for none of that queue each job is looked at."""
    jobs = 20_000
    specs = [dict(argv=["sleep", "600"], name="that" if i % 1000 == 7 else "other") for i in range(jobs)]
    with daemon.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wanted = [i for i, s in zip(ids, specs) if s["name"] == "that"]
        before = turns(daemon)
        got = v.ok(JOBS + "List", {"filter": {"name": "that"}})
        assert [j["id"] for j in got["jobs"]] == wanted and "cursor" not in got
        assert turns(daemon)["divided"] == before["divided"]
        assert v.ok(JOBS + "List", {"filter": {"queue": "that"}}) == {"jobs": []}
        assert turns(daemon)["divided"] - before["divided"] >= jobs // ENTRIES - 1
        got = v.ok(JOBS + "List", {"filter": {"name": "that"}, "newest_first": True, "limit": 20})
        assert [j["id"] for j in got["jobs"]] == wanted[::-1] and got["cursor"]
        got = v.ok(JOBS + "List", {"filter": {"name": "that"}, "limit": 7, "cursor": wanted[3]})
        assert [j["id"] for j in got["jobs"]] == wanted[4:11] and got["cursor"] == wanted[10]
        # A page of full size has more bytes than a turn.
        got = v.ok(JOBS + "List")
        assert [j["id"] for j in got["jobs"]] == ids[:1000] and got["cursor"] == ids[999]
        got = v.ok(JOBS + "List", {"filter": {"ids": ids[:1600][::-1]}, "cursor": "500"})
        assert [j["id"] for j in got["jobs"]] == ids[500:1500]
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == jobs


def test_a_wait_looks_for_what_has_changed_among_many(daemon):
    """The first of them is asked about again, and those behind it are passed by."""
    with daemon.connect() as v, daemon.connect() as w:
        array = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"], "array": {"first": 0, "last": 1}}})["id"]
        ids = waiting(v, 19000)
        w.send(JOBS + "Wait", {"ids": [array, *ids]}, more=True)
        assert w.recv()["parameters"]["left"] == 19002
        before = turns(daemon)
        assert v.ok(JOBS + "Cancel", {"ids": [array + "_1"]})["count"] == 1
        got = w.recv()["parameters"]
        assert (got["left"], got["cancelled"]) == (19001, 1)
        assert turns(daemon)["divided"] - before["divided"] >= 19000 // 16 // ENTRIES


def test_snapshots_of_many(daemon):
    """Of a few of them, and of all: told in portions, each job once and in order; no reply is larger
    than a turn."""
    jobs = 20_000
    specs = [dict(argv=["sleep", "600"], name="that" if i % 1000 == 7 else 200 * "o") for i in range(jobs)]

    def snapshot(v, last, **how):
        told = []
        v.send(JOBS + "Watch", how, more=True)
        while last not in told[-1:]:
            got = v.recv()["parameters"]
            assert got["jobs"] and len(json.dumps(got, separators=(",", ":"))) <= BYTES + ONE_MORE_BYTES
            told += [j["id"] for j in got["jobs"]]
        return told

    with daemon.connect() as v, daemon.connect() as few, daemon.connect() as every:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wanted = [i for i, s in zip(ids, specs) if s["name"] == "that"]
        before = turns(daemon)
        assert snapshot(few, wanted[-1], filter={"name": "that"}) == wanted
        assert turns(daemon)["divided"] == before["divided"]
        assert snapshot(every, ids[-1]) == ids
        with daemon.connect() as w:
            assert snapshot(w, ids[-1], filter={"ids": ids[-1500:][::-1]}) == ids[-1500:]
        with daemon.connect() as w:   # of none: a single reply says so
            w.send(JOBS + "Watch", {"filter": {"name": "none"}}, more=True)
            assert w.recv()["parameters"]["jobs"] == []
        assert v.ok(JOBS + "Cancel", {"ids": wanted})["count"] == len(wanted)
        seen = set()
        while len(seen) < len(wanted):
            got = few.recv()["parameters"]
            assert "jobs" not in got
            seen |= {e["id"] for e in got["events"] if e["state"] == "done"}
        assert seen == set(wanted)
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == jobs - len(wanted)


def test_a_call_whose_caller_has_gone(daemon):
    """It ends at the end of a turn: neither work nor a connection is kept for nobody."""
    jobs, lost = 20_000, 30
    with daemon.connect() as v:
        v.ok(JOBS + "SubmitBatch", {"specs": [dict(argv=["sleep", "600"], name="other")] * jobs})
        before, pid = turns(daemon), daemon.process.pid
        open_before = descriptors(pid)
        daemon.stand_still()
        try:
            for _ in range(lost):
                with daemon.connect() as gone:
                    gone.send(JOBS + "List", {"filter": {"name": "that"}})
        finally:
            os.kill(pid, signal.SIGCONT)
        with daemon.connect() as last:    # accepted after them
            last.ok(JOBS + "List", {"limit": 1})
        until(lambda: descriptors(pid) <= open_before)
        assert turns(daemon)["divided"] - before["divided"] <= 2 * lost
        assert v.ok(JOBS + "Cancel", {"filter": {}})["count"] == jobs


def test_a_batch(daemon):
    with daemon.connect() as v:
        before = turns(daemon)
        got = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 10_000})
        assert len(got["ids"]) == 10_000 and not got["rejected"]
        assert turns(daemon)["divided"] - before["divided"] >= (8 + 1) * 10_000 // (ENTRIES + 8)


def test_reading_output(daemon):
    """A stream tells as much as a turn has room for; one answer for more is made aside."""
    size = 1 << 20
    with daemon.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"shell": f"head -c {size} /dev/zero"}})["id"]
        *_, last = v.stream(JOBS + "Wait", {"ids": [ident]})
        assert last["exit_code"] == 0
        before = turns(daemon)
        read = {"id": ident, "max_bytes": size}
        pieces = [base64.b64decode(p["data"]) for p in v.stream(LOGS + "Read", read)]
        assert b"".join(pieces) == bytes(size)
        now = turns(daemon)
        assert now["divided"] - before["divided"] >= size // BYTES and now["aside"] == before["aside"]
        assert base64.b64decode(v.ok(LOGS + "Read", read)["data"]) == bytes(size)
        assert turns(daemon)["aside"] == before["aside"] + 1
        # There is little, however much is asked for.
        assert v.ok(LOGS + "Read", read | {"offset": size})["data"] == ""
        assert base64.b64decode(v.ok(LOGS + "Read", read | {"offset": size - 10})["data"]) == bytes(10)
        assert turns(daemon)["aside"] == before["aside"] + 1


def test_what_cannot_be_divided_is_parsed_aside(daemon):
    with daemon.connect() as v:
        got = v.call(JOBS + "Submit", {"spec": {"kind": "noop", "labels": {f"l{i}": "x" for i in range(9000)}}})
        assert got["error"] == "org.varlink.service.InvalidParameter"
        assert v.ok(JOBS + "Submit", {"spec": {"argv": ["true", "x" * 100_000]}})["id"]
        assert turns(daemon)["aside"] == 2


def test_pipelined_calls(daemon):
    """As many as there are in what is read at once."""
    calls = 2000
    with daemon.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"kind": "noop"}})["id"]
        before = turns(daemon)
        v.send_raw(message(JOBS + "Get", {"id": ident}) * calls)
        for _ in range(calls):
            assert v.recv()["parameters"]["job"]["id"] == ident
        # Each with values that count as 77 entries: six fit into a turn, and the seventh is for the next.
        v.send_raw(message(JOBS + "Get", {"id": ident, "no": [ident] * 300}) * 40)
        for _ in range(40):
            assert v.recv()["parameters"]["parameter"] == "no"
        assert turns(daemon)["divided"] - before["divided"] >= calls // ENTRIES


def test_why_of_one_behind_many(daemon):
    """Each question looks at many in front of it, and at no spec."""
    lock = [{"name": "l"}]
    with daemon.connect() as v:
        holder = v.ok(JOBS + "Submit", {"spec": {"kind": "sleep", "duration_usec": 3600 * 10**6, "claims": lock}})["id"]
        specs = [dict(argv=["true", "x" * 3000], claims=lock, priority=500 - i) for i in range(450)]
        ids = [i for at in range(0, 450, 50) for i in v.ok(JOBS + "SubmitBatch", {"specs": specs[at:at + 50]})["ids"]]
        until(lambda: v.ok(JOBS + "Why")["reasons"][0]["count"] == 450, "each to have been tried")
        before = turns(daemon)
        v.send_raw(message(JOBS + "Why", {"id": ids[-1]}) * 5)
        for _ in range(5):
            (reason,) = v.recv()["parameters"]["reasons"]
            assert reason["text"].startswith(f"lock l: held by job {holder} for ")
        assert v.ok(JOBS + "Why")["reasons"][0]["count"] == 450
        now = turns(daemon)
        assert now["divided"] - before["divided"] >= 5
        assert now["held_bytes"] == before["held_bytes"]
        v.ok(JOBS + "Cancel", {"filter": {"states": ["queued"]}})
        v.ok(JOBS + "Cancel", {"ids": [holder]})


def test_turns_of_a_crowd_are_one_after_the_other(private):
    """Between two steps of an admin's connection few turns of 64 busy ones of the same user go by.
    One worker: nothing runs beside; and each call is a step of its own."""
    private.start(workers=1, config="[Limits]\nMaxPipelinedCalls=1\nFrameTimeoutSec=1h\nDrainTimeoutSec=1h\n")
    steps, many = 20, 19000 if not SANITIZER else 2000
    with contextlib.ExitStack() as stack:
        v = stack.enter_context(private.connect())
        control = stack.enter_context(private.connect_control())
        text = message(JOBS + "Wait", {"ids": waiting(v, many)})
        crowd = [stack.enter_context(private.connect()) for _ in range(64)]

        def busy_steps():
            for c in crowd:
                c.send_raw(text)
            control.send_raw(message(CONTROL + "Stats") * steps)
            divided = [control.recv()["parameters"]["turns"]["divided"] for _ in range(steps)]
            for c in crowd:
                assert c.recv()["parameters"]["left"] == many
            between = [b - a for a, b in zip(divided, divided[1:])]
            return between if sum(between) >= steps else None

        between = until(busy_steps, "a crowd that is busy all the while")
        assert max(between) <= 8, between
