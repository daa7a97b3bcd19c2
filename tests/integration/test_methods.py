"""The methods on the socket of a real daemon, one by one: what they answer, and what they
refuse."""

import json
import os
import re

import pytest

from conftest import LIMIT, Varlink, until
from jobs import ended_with
from protocol import (CONTROL, INFO, JOBS, LOGS, SERVICE, ended, error, invalid,
                      job_to_talk_about, wait_done)


def test_open_passes_a_descriptor(shared):
    with shared.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"shell": "echo out; echo err >&2; exit 3"}})[
            "id"]
        assert wait_done(v, ident)["exit_code"] == 3
        # In the middle of a pipeline: with the first byte of its reply. (The kernel may hand
        # out earlier bytes together with it, so those are read exactly.)
        v.send_raw(INFO)
        length = len(json.dumps({"parameters": v.recv()["parameters"]},
                                separators=(",", ":"))) + 1
        v.send_raw(INFO)
        v.send(LOGS + "Open", {"id": ident})
        v.send_raw(INFO)
        data, ancillary, _, _ = v.sock.recvmsg(length, 64)
        assert data.endswith(b"\0") and not ancillary
        got = v.recv()["parameters"]
        assert got == {"size_bytes": 8, "ended": True}
        assert len(v.fds) == 1
        assert os.pread(v.fds[0], 100, 0) == b"out\nerr\n"
        with pytest.raises(OSError):
            os.write(v.fds[0], b"x")
        assert v.recv()["parameters"]["product"] == "voltd"
        assert len(v.fds) == 1
        assert error(v.call(LOGS + "Open", {"id": "77777777"}), LOGS + "NoSuchJob") == {
            "id": "77777777"}
        got = error(v.call(LOGS + "Open", {"id": ident, "stream": "stderr"}),
                    LOGS + "NoOutput")
        assert got["id"] == ident and got["reason"]


def test_read_follows_to_the_end(shared):
    import base64
    with shared.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {
            "shell": "for i in 1 2 3; do echo line $i; sleep 0.1; done"}})["id"]
        text, offset = b"", 0
        for piece in v.stream(LOGS + "Read", {"id": ident, "max_bytes": 4}):
            text += base64.b64decode(piece["data"])
            assert piece["next_offset"] == len(text)
        assert piece["end"] and text == b"line 1\nline 2\nline 3\n"
        got = v.ok(LOGS + "Read", {"id": ident, "offset": 7, "max_bytes": 6})
        assert base64.b64decode(got["data"]) == b"line 2" and not got["end"]
        got = v.ok(LOGS + "Read", {"id": ident, "offset": 1000})
        assert got["data"] == "" and got["end"]


def test_batch_rejects_by_position(shared):
    specs = [{"kind": "noop"}, {"argv": []}, {"kind": "noop"}, {"kind": "noop", "x": 1}, 7]
    with shared.connect() as v:
        got = v.ok(JOBS + "SubmitBatch", {"specs": specs})
        assert [bool(i) for i in got["ids"]] == [True, False, True, False, False]
        assert [(r["position"], r["parameter"]) for r in got["rejected"]] == [
            (1, "argv"), (3, "x"), (4, "")]
        before = v.ok(JOBS + "List", {"newest_first": True, "limit": 1})["jobs"][0]["id"]
        got = v.ok(JOBS + "SubmitBatch", {"specs": specs, "atomic": True})
        assert got["ids"] == [""] * 5 and len(got["rejected"]) == 3
        after = v.ok(JOBS + "List", {"newest_first": True, "limit": 1})["jobs"][0]["id"]
        assert before == after
        assert v.ok(JOBS + "SubmitBatch", {"specs": []})["ids"] == []


def test_get_says_what_was_submitted(shared):
    spec = {"argv": ["true"], "name": "n", "labels": {"a": "b"}, "env": {"X": "1"},
            "timeout_usec": 5_000_000, "stop_signal": "SIGINT"}
    with shared.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": spec})["id"]
        job = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]
        assert job["id"] == ident and job["name"] == "n" and job["spec"] == spec
        assert "spec" not in v.ok(JOBS + "Get", {"id": ident})["job"]
        assert error(v.call(JOBS + "Get", {"id": "77777777_3"}), JOBS + "NoSuchJob") == {
            "id": "77777777_3"}


def test_list_pages_and_filters(private):
    private.start()
    with private.connect() as v:
        specs = [{"kind": "noop", "name": f"n{i % 2}", "labels": {"k": str(i % 3)}}
                 for i in range(30)]
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        got, cursor = [], None
        while True:
            page = v.ok(JOBS + "List", {"limit": 7, **({"cursor": cursor} if cursor else {})})
            got += [j["id"] for j in page["jobs"]]
            cursor = page.get("cursor")
            if not cursor:
                break
        assert got == ids
        newest = v.ok(JOBS + "List", {"newest_first": True, "limit": 3})["jobs"]
        assert [j["id"] for j in newest] == ids[:-4:-1]
        both = v.ok(JOBS + "List", {"filter": {"name": "n1", "labels": {"k": "2"}}})["jobs"]
        assert [j["id"] for j in both] == [ids[i] for i in range(30)
                                           if i % 2 == 1 and i % 3 == 2]
        some = v.ok(JOBS + "List", {"filter": {"ids": [ids[5], ids[2]]}})["jobs"]
        assert [j["id"] for j in some] == [ids[2], ids[5]]
        assert v.ok(JOBS + "List", {"filter": {"states": []}})["jobs"] == []


def pages(v, **parameters):
    """The jobs of each answer of a list."""
    cursor = {}
    while True:
        got = v.ok(JOBS + "List", {**parameters, **cursor})
        yield got["jobs"]
        if "cursor" not in got:
            return
        cursor = {"cursor": got["cursor"]}


def test_list_with_specs(private):
    """Of jobs in memory and of those that only the store has, whole or only what is named."""
    private.start(config="[Queue]\nSlots=1\n[Store]\nKeepEndedJobs=0\n")
    specs = [{"kind": "noop", "name": "ended", "labels": {"a\n\"": "b"}, "env": {"X\n": "1"}},
             {"kind": "sleep", "duration_usec": 600_000_000},
             {"argv": ["a b", "\u00e4"], "env": {"X": "1"}, "array": {"first": 1, "last": 2},
              "limits": {"rlimits": {"nofile": "9"}}}]
    with private.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        wait_done(v, ids[0])
        assert [j["spec"] for page in pages(v, with_spec=True) for j in page] == specs
        for fields in ["argv"], ["env", "name"], ["array", "limits", "labels"], []:
            want = [{k: s[k] for k in fields if k in s} for s in specs]
            got = [j for page in pages(v, spec_fields=fields) for j in page]
            assert [j.get("spec", {}) for j in got] == want
        assert all("spec" not in j for page in pages(v) for j in page)
        assert invalid(v.call(JOBS + "List", {"spec_fields": ["argv", "what"]}), "spec_fields[1]")


def test_an_answer_with_large_specs_ends_early(private):
    """Far below what a client takes; nothing is left out, in either order."""
    private.start()
    specs = [{"kind": "noop", "env": {name: chr(97 + i % 26) * 100_000 for name in ("BIG", "BIGGER")}} for i in range(70)]
    with private.connect() as v:
        ids = [i for at in (0, 35) for i in
               v.ok(JOBS + "SubmitBatch", {"specs": specs[at:at + 35]})["ids"]]
        for ident in ids:
            wait_done(v, ident)
        for newest in False, True:
            got = list(pages(v, with_spec=True, newest_first=newest))
            jobs = [j for page in got for j in page]
            assert [j["id"] for j in jobs] == (ids[::-1] if newest else ids) and len(got) > 1
            assert [j["spec"] for j in jobs] == (specs[::-1] if newest else specs)


def test_watch_tells_snapshot_then_events_and_resumes(private):
    private.start()
    with private.connect() as v, private.connect() as w:
        old = v.ok(JOBS + "Submit", {"spec": {"kind": "noop", "name": "old"}})["id"]
        wait_done(v, old)
        w.send(JOBS + "Watch", {"filter": {"name": "new"}}, more=True)
        assert w.recv()["parameters"]["jobs"] == []
        v.ok(JOBS + "Submit", {"spec": {"kind": "noop", "name": "other"}})
        new = v.ok(JOBS + "Submit", {"spec": {"kind": "noop", "name": "new"}})["id"]
        events = []
        while not events or events[-1]["event"] != "exited":
            events += w.recv()["parameters"].get("events", [])
        assert {e["id"] for e in events} == {new}
        assert [e["event"] for e in events][0] == "submit"
        assert events[-1]["state"] == "done" and events[-1]["result"] == "success"
        cursors = [e["cursor"] for e in events]
        assert cursors == sorted(set(cursors))
        # Again from the middle, on another connection.
        with private.connect() as again:
            again.send(JOBS + "Watch", {"filter": {"name": "new"}, "after": cursors[0]},
                       more=True)
            rest = []
            while len(rest) < len(events) - 1:
                rest += again.recv()["parameters"].get("events", [])
            assert rest == events[1:]


def test_wait_for_jobs_and_arrays(shared):
    with shared.connect() as v:
        a = v.ok(JOBS + "Submit", {"spec": {"shell": "exit 3"}})["id"]
        b = v.ok(JOBS + "Submit", {"spec": {"shell": "exit $((VOLT_ARRAY_INDEX % 2 * 5))",
                                            "array": {"first": 1, "last": 6}}})["id"]
        *_, last = v.stream(JOBS + "Wait", {"ids": [a, b, f"{b}_1", f"{b}_2", a]})
        assert last["left"] == 0 and last["exit_code"] == 5
        assert last["failed"] == 1 + 3 + 1 + 0  # an id that is there twice is one job
        assert [j["id"] for j in last["jobs"]] == sorted(
            [a, b, f"{b}_1", f"{b}_2"], key=lambda i: (int(i.split("_")[0]), i))
        slow = job_to_talk_about(v)
        now = v.ok(JOBS + "Wait", {"ids": [slow, a]})
        assert now["left"] == 1 and "exit_code" not in now
        assert error(v.call(JOBS + "Wait", {"ids": [a, "77777777"]}), JOBS + "NoSuchJob") == {
            "id": "77777777"}
        assert v.ok(JOBS + "Wait", {"ids": []}) == {
            "total": 0, "left": 0, "failed": 0, "jobs": [], "exit_code": 0}
        v.ok(JOBS + "Cancel", {"ids": [slow]})
        got = wait_done(v, slow)
        assert got["jobs"][0]["result"] == "cancelled" and got["exit_code"] == 125


def test_cancel_and_signal(shared):
    with shared.connect() as v:
        ident = job_to_talk_about(v)
        until(lambda: v.ok(JOBS + "Get", {"id": ident})["job"]["state"] == "running")
        # An unknown id among them: nothing happens to the others.
        error(v.call(JOBS + "Cancel", {"ids": [ident, "77777777"]}), JOBS + "NoSuchJob")
        assert v.ok(JOBS + "Get", {"id": ident})["job"]["state"] == "running"
        assert v.ok(JOBS + "Signal", {"id": ident, "signal": "USR1"}) == {}
        got = wait_done(v, ident)["jobs"][0]
        assert (got["result"], ended_with(got)) == ("signal", "SIGUSR1")
        assert v.ok(JOBS + "Cancel", {"ids": [ident]}) == {"count": 0}
        got = error(v.call(JOBS + "Signal", {"id": ident, "signal": "TERM"}),
                    JOBS + "NotRunning")
        assert got == {"id": ident, "state": "done"}
        error(v.call(JOBS + "Signal", {"id": "77777777", "signal": "TERM"}),
              JOBS + "NoSuchJob")
        name = {"filter": {"name": "cancel-me"}}
        v.ok(JOBS + "SubmitBatch", {"specs": [
            {"kind": "sleep", "duration_usec": 600_000_000, "name": "cancel-me"}] * 10})
        assert v.ok(JOBS + "Cancel", name) == {"count": 10}


@pytest.mark.parametrize("word", ["KILL", "SIGKILL", "9", "RTMIN+2", "SIGRTMIN+2", "36"])
def test_a_signal_is_told_by_its_name_however_it_is_given(shared, word):
    name = "SIGKILL" if word in ("KILL", "SIGKILL", "9") else "SIGRTMIN+2"
    with shared.connect() as v:
        spec = {"argv": ["sleep", "600"], "stop_signal": word}
        ident = v.ok(JOBS + "Submit", {"spec": spec})["id"]
        until(lambda: v.ok(JOBS + "Get", {"id": ident})["job"]["state"] == "running")
        assert v.ok(JOBS + "Signal", {"id": ident, "signal": word}) == {}
        assert wait_done(v, ident)["jobs"][0]["signal"] == name
        job = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]
        assert (job["result"], job["spec"]["stop_signal"]) == ("signal", name)


def test_stats_add_up(shared):
    with shared.connect_control() as v:
        got = v.ok(CONTROL + "Stats")
        assert got["totals"]["spawned"] == got["totals"]["completed"] + got["totals"]["live"]
        assert len(got["workers"]) == 2
        jobs = got["jobs"]
        assert jobs["submitted"] == jobs["ended"] + sum(
            jobs[s] for s in ("queued", "starting", "running", "stopping"))
        assert got["pid"] == shared.process.pid
        stream = v.stream(CONTROL + "WatchStats", {"interval_usec": 100_000})
        first, second = next(stream), next(stream)
        assert second["uptime_usec"] - first["uptime_usec"] >= 90_000
        text = re.sub(r"#.*", "", v_description(shared))
        for name, type_ in (("Worker", got["workers"][0]), ("Totals", got["totals"]),
                            ("Jobs", jobs),
                            ("Turns", got["turns"])):
            body = re.search(rf"type {name} \((.*?)\)", text, re.S)[1]
            assert set(re.findall(r"(\w+):", body)) == set(type_), name


def v_description(daemon):
    with daemon.connect_control() as v:
        return v.ok(SERVICE + "GetInterfaceDescription", {"interface": "org.voltd.control"})[
            "description"]


def test_config_and_reload(private):
    private.start(config="[Limits]\nMaxMessage=2K\n")
    big = {"spec": {"kind": "noop", "labels": {str(i): "x" * 200 for i in range(20)}}}
    with private.connect_control() as v:
        got = v.ok(CONTROL + "Config")
        assert got["settings"]["Limits.MaxMessage"] == "2K"
        assert str(private.config) in got["files"]
        with private.connect() as other:
            assert "2048" in invalid(other.call(JOBS + "Submit", big), "parameters")
        private.config.write_text("[Limits]\nMaxMessage=64K\n[Daemon]\nMaxBlockingThreads=7\n")
        assert v.ok(CONTROL + "Reload")["needs_restart"] == ["Daemon.MaxBlockingThreads"]
        assert v.ok(CONTROL + "Config")["settings"]["Limits.MaxMessage"] == "64K"
        # Also for what was sent together with the reload.
        private.config.write_text("[Limits]\nMaxMessage=32K\n")
        v.send(CONTROL + "Reload")
        v.send(CONTROL + "Config")
        assert v.recv() and v.recv()["parameters"]["settings"]["Limits.MaxMessage"] == "32K"
        v.ok(JOBS + "Submit", big)
        private.config.write_text("[Limits]\nMaxMessage=huge\n")
        got = error(v.call(CONTROL + "Reload"), CONTROL + "ReloadFailed")
        assert "MaxMessage" in got["reason"]
        v.ok(JOBS + "Submit", big)


def test_shutdown_answers_and_tells_progress(private):
    private.start()
    with private.connect_control() as v, private.connect() as watcher:
        error(v.call(CONTROL + "Shutdown", {"wait": True}), SERVICE + "ExpectedMore")
        for _ in range(3):
            v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"]}})
        watcher.send(JOBS + "Watch", more=True)
        assert watcher.recv()
        replies = list(v.stream(CONTROL + "Shutdown", {"cancel": True, "wait": True}))
        assert replies[-1] == {"left": 0}
        while watcher.recv() is not None:
            pass
        assert ended(v)
    assert private.process.wait(LIMIT) == 0
    with pytest.raises(OSError):
        Varlink(private.socket)


def test_sigterm_ends_streams_and_answers_what_was_asked(private):
    private.start()
    with private.connect() as v, private.connect() as idle:
        idle.ok(SERVICE + "GetInfo")
        v.send(JOBS + "Watch", more=True)
        assert v.recv()
        assert private.stop() == 0
        assert ended(v) and ended(idle)
