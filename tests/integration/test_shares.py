"""A user's share: what many calls, streams and connections of one user leave to that user, to others
and to root. What waits gets an answer, or an error that names the limit."""

import contextlib
import os
import select
import socket
import time

import pytest

from conftest import LIMIT, Varlink, needs_root, until
from protocol import CONTROL, JOBS, LOGS, SERVICE, error, wait_done
from users import as_user, connect_as, open_to_all

USERS = range(64310, 64320)
SLEEP = {"kind": "sleep", "duration_usec": 600_000_000}


@pytest.fixture
def service(private):
    """A voltd that others than its own account may reach."""
    def start(config, files=None, mode="--user"):
        private.as_service()
        private.mode = mode
        if files:
            program = private.bin / "voltd"
            program.rename(f"{program}-with-less")
            program.write_text(f"#!/bin/sh\nulimit -n {files}; exec {program}-with-less \"$@\"\n")
            program.chmod(0o755)
        private.start(config=config)
        open_to_all(private)
        return private
    return start


def shutdown(daemon, v):
    v.ok(CONTROL + "Shutdown", {"cancel": True})
    assert daemon.process.wait(LIMIT) == 0
    daemon.process = None


def many_ids(v, n):
    array = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"],
                                            "array": {"first": 0, "last": n - 1}}})["id"]
    return [f"{array}_{i}" for i in range(n)]


def test_waits_with_many_ids_leave_room_for_other_calls(private):
    private.start()
    with contextlib.ExitStack() as stack:
        v = stack.enter_context(private.connect())
        ids = many_ids(v, 19900)
        for _ in range(35):
            w = stack.enter_context(private.connect())
            w.send(JOBS + "Wait", {"ids": ids}, more=True)
            assert w.recv() == {"continues": True, "parameters": {"total": 19900, "left": 19900, "failed": 0}}
        # On a new connection, on one that waits no more, and a call that is long itself.
        with private.connect() as another:
            assert another.ok(JOBS + "Get", {"id": ids[0]})["job"]["state"]
            assert another.ok(JOBS + "Wait", {"ids": ids})["left"] == 19900
        assert v.ok(JOBS + "Submit", {"spec": {"kind": "noop"}})["id"]
        # Each of them is told of its jobs.
        v.ok(JOBS + "Cancel", {"ids": [ids[-1]]})
        assert w.recv()["parameters"] == {"total": 19900, "left": 19899, "failed": 0, "cancelled": 1}
        shutdown(private, stack.enter_context(private.connect_control()))


def test_what_streams_keep_is_limited(private):
    private.start(config="[Limits]\nMaxStreamMemoryPerUser=1M\n")
    with private.connect() as v, private.connect() as first, private.connect() as second:
        ids = many_ids(v, 15000)
        got = error(v.call(JOBS + "Wait", {"ids": ids}, more=True), JOBS + "LimitReached")
        assert got["key"] == "MaxStreamMemoryPerUser" and got["limit"] == 1 << 20
        assert "MaxStreamMemoryPerUser=" in got["reason"]
        first.send(JOBS + "Wait", {"ids": ids[:8000]}, more=True)
        assert first.recv()["continues"]
        error(second.call(JOBS + "Wait", {"ids": ids[:8000]}, more=True), JOBS + "LimitReached")
        # The connection goes on, and what ends gives back what it kept.
        assert second.ok(JOBS + "Cancel", {"filter": {}})["count"] == 1
        wait_done(second, ids[0].split("_")[0])
        while first.recv().get("continues"):
            pass
        ids = many_ids(v, 8000)
        second.send(JOBS + "Wait", {"ids": ids}, more=True)
        assert second.recv()["continues"]
        r = private.ctl("wait", *ids[:8000])
        assert "MaxStreamMemoryPerUser= allows" in r.err and r.code == 125, r


def test_streams_that_are_read_leave_room_for_other_calls(private):
    """Together they have far more to tell than the user may hold."""
    private.start(config="[Limits]\nMaxBuffersPerUser=1M\n")
    with contextlib.ExitStack() as stack:
        v = stack.enter_context(private.connect())
        ident = v.ok(JOBS + "Submit", {"spec": {
            "shell": "head -c 4000000 /dev/zero; exec sleep 600"}})["id"]
        until(lambda: v.ok(LOGS + "Read", {"id": ident, "offset": 3999999})["next_offset"] == 4000000)
        streams = {}
        for _ in range(40):
            s = stack.enter_context(private.connect())
            s.send(LOGS + "Read", {"id": ident, "max_bytes": 1 << 20}, more=True)
            streams[s.sock] = s, 0
        # Each of them comes to the end of what there is, with calls of the same user in between.
        answers = 0
        while any(at < 4000000 for _, at in streams.values()):
            ready = [sock for sock, (s, _) in streams.items() if s.has_reply()] \
                or select.select(list(streams), [], [], LIMIT)[0]
            assert ready, "no stream goes on"
            for sock in ready:
                s, at = streams[sock]
                got = s.recv()["parameters"]
                assert got["next_offset"] > at or got.get("heartbeat")
                streams[sock] = s, got["next_offset"]
            with private.connect() as another:
                assert another.ok(JOBS + "Get", {"id": ident})["job"]["state"] == "running"
            answers += 1
        assert answers > 40
        shutdown(private, stack.enter_context(private.connect_control()))


def test_a_call_without_room_is_refused_with_the_limit(private):
    """Replies that nobody reads take up all there is: whatever comes then is told so. Nobody
    waits for a deadline of theirs."""
    private.start(config="[Limits]\nMaxBuffersPerUser=1M\nDrainTimeoutSec=1h\n")
    with contextlib.ExitStack() as stack:
        v = stack.enter_context(private.connect())
        v.ok(JOBS + "SubmitBatch", {"specs": [dict(SLEEP, name="n" * 200)] * 1000})
        refused = False
        while not refused:
            s = stack.enter_context(private.connect())
            s.send(JOBS + "List")
            refused = b'"error"' in s.sock.recv(20, socket.MSG_PEEK)    # and the rest is not read
        got = error(s.recv(), JOBS + "LimitReached")
        assert got["key"] == "MaxBuffersPerUser" and got["limit"] == 1 << 20
        # So is a client; admins have a way around.
        r = private.ctl("list")
        assert r.code == 1 and "MaxBuffersPerUser= allows" in r.err, r
        shutdown(private, stack.enter_context(private.connect_control()))


@needs_root
def test_when_all_connections_are_taken(service):
    """The newest one of the user with the most goes for one of a user with less; others are
    refused; root gets through in any case."""
    daemon = service("[Limits]\nMaxConnections=64\nMaxConnectionsPerUser=16\n")
    with contextlib.ExitStack() as stack:
        crowd = {uid: [stack.enter_context(connect_as(daemon, uid)) for _ in range(16)]
                 for uid in USERS[:4]}
        for connections in crowd.values():
            for v in connections:
                v.ok(SERVICE + "GetInfo")
        got = error(until(lambda: refusal(daemon, USERS[0])), JOBS + "LimitReached")
        assert got["key"] == "MaxConnectionsPerUser" and got["limit"] == 16
        # Two others: each of their connections takes the place of one of theirs, until all have
        # as many.
        late = {uid: [] for uid in USERS[4:6]}
        for uid in list(late) * 10:
            v = stack.enter_context(connect_as(daemon, uid))
            v.ok(SERVICE + "GetInfo")
            late[uid].append(v)
        for uid in late:
            got = error(refusal(daemon, uid), JOBS + "LimitReached")
            assert got["key"] == "MaxConnections" and got["limit"] == 64
        left = {uid: [is_served(v) for v in connections] for uid, connections in (crowd | late).items()}
        assert sum(map(sum, left.values())) == 64
        assert all(sum(those) in (10, 11, 12) for those in left.values()), left
        for uid in crowd:  # the newest have gone
            assert left[uid] == sorted(left[uid], reverse=True)
        # Root, on either socket, and more than once.
        for _ in range(4):
            root = stack.enter_context(connect_as(daemon, 0, control=True))
            root.ok(CONTROL + "Config")
            stack.enter_context(connect_as(daemon, 0)).ok(SERVICE + "GetInfo")
        shutdown(daemon, root)


def refusal(daemon, uid):
    """The error that a new connection gets; None: it is served."""
    with connect_as(daemon, uid) as v:
        with contextlib.suppress(ConnectionError):
            v.send(SERVICE + "GetInfo")
        reply = v.recv()
        return reply if "error" in reply else None


def is_served(v):
    """One that had to go was told why."""
    with contextlib.suppress(ConnectionError):
        v.send(SERVICE + "GetInfo")
    reply = v.recv()
    if "error" in reply:
        assert error(reply, JOBS + "LimitReached")["key"] == "MaxConnections"
        assert v.recv() is None
    return "error" not in reply


@needs_root
def test_streams_of_a_crowd_go_for_others(service):
    """Also one that has a call in hand, and owes reading."""
    daemon = service("[Limits]\nMaxConnections=8\nMaxConnectionsPerUser=8\n")
    with contextlib.ExitStack() as stack:
        streams = []

        def fill():
            while len(streams) < 8:
                v = stack.enter_context(connect_as(daemon, USERS[0]))
                v.send(JOBS + "Watch", more=True)
                if not v.recv().get("continues"):
                    return False
                streams.append(v)
            return True

        until(fill)
        for uid in USERS[1:4]:
            stack.enter_context(connect_as(daemon, uid)).ok(SERVICE + "GetInfo")
        for v in streams[5:]:
            assert v.recv() is None
        with connect_as(daemon, 0, control=True) as root:
            shutdown(daemon, root)


@needs_root
def test_connections_leave_some_descriptors(service):
    """With as few as there are, others get the places of the user with the most; starting jobs and
    root have a reserve."""
    daemon = service("", files=200)
    with contextlib.ExitStack() as stack:
        served = 0
        while True:
            v = stack.enter_context(connect_as(daemon, USERS[0]))
            with contextlib.suppress(ConnectionError):
                v.send(SERVICE + "GetInfo")
            reply = v.recv()
            if "error" in reply:
                break
            served += 1
        got = error(reply, JOBS + "LimitReached")
        assert got["key"] == "LimitNOFILE" and got["limit"] == 200
        assert 100 < served < 160
        other = stack.enter_context(connect_as(daemon, USERS[1]))
        ident = other.ok(JOBS + "Submit", {"spec": {"shell": "echo hello"}})["id"]
        assert wait_done(other, ident)["exit_code"] == 0
        root = stack.enter_context(connect_as(daemon, 0, control=True))
        root.ok(CONTROL + "Config")
        shutdown(daemon, root)


@needs_root
def test_a_positive_priority_is_for_root_in_system_mode(service):
    def submit(uid, spec, method="Submit"):
        with connect_as(daemon, uid) as v:
            return v.call(JOBS + method, {"spec": spec} if method == "Submit" else {"specs": [spec]})

    daemon = service("", mode="--system")
    high, low = ({"kind": "noop", "priority": n} for n in (1, -1))
    got = error(submit(USERS[0], high), SERVICE + "InvalidParameter")
    assert got["parameter"] == "spec.priority" and "administrators through control.sock, may give it" in got["reason"]
    rejected = submit(USERS[0], high, "SubmitBatch")["parameters"]["rejected"]
    assert [r["parameter"] for r in rejected] == ["priority"] and "only root" in rejected[0]["reason"]
    # The account of the service is that of everybody's jobs.
    error(submit(daemon.uid, high), SERVICE + "InvalidParameter")
    kept = submit(USERS[0], {**low, "hold": True})["parameters"]["id"]
    with connect_as(daemon, USERS[0]) as v:
        got = error(v.call(JOBS + "Edit", {"ids": [kept], "changes": {"priority": 1}}), SERVICE + "InvalidParameter")
        assert got["parameter"] == "changes.priority" and "administrators through control.sock, may give it" in got["reason"]
        v.ok(JOBS + "Cancel", {"ids": [kept]})
    assert "error" not in submit(USERS[0], low) and "error" not in submit(0, high)
    shutdown(daemon, daemon.connect_control())


@needs_root
def test_in_user_mode_priorities_are_free(service):
    daemon = service("")
    for uid in (USERS[0], daemon.uid, 0):
        with connect_as(daemon, uid) as v:
            v.ok(JOBS + "Submit", {"spec": {"kind": "noop", "priority": 1000}})
    with connect_as(daemon, daemon.uid, control=True) as v:
        shutdown(daemon, v)


@needs_root
def test_users_share_slots_whatever_each_has_queued(service):
    """One job of a user waits for at most one of another user for each slot."""
    daemon = service("[Queue]\nSlots=2\n", mode="--system")
    spec = {"argv": ["/bin/sleep", "0.02"]}
    with connect_as(daemon, USERS[0]) as a, connect_as(daemon, USERS[1]) as b:
        many = a.ok(JOBS + "SubmitBatch", {"specs": [spec] * 200})["ids"]
        wait_done(a, many[10])
        for _ in range(5):
            one = b.ok(JOBS + "Submit", {"spec": spec})["id"]
            entered = time.time() * 1e6
            wait_done(b, one)
            begun = b.ok(JOBS + "Get", {"id": one})["job"]["started_at_usec"]
            starts = [a.ok(JOBS + "Get", {"id": i})["job"].get("started_at_usec", 0) for i in many]
            assert sum(entered < start < begun for start in starts) <= 2
        a.ok(JOBS + "Cancel", {"ids": many})
    shutdown(daemon, daemon.connect_control())


def test_cancel_tells_how_far_it_is(private):
    """While it goes on, other calls are answered. A round in which the tests themselves were held
    up says nothing of that."""
    jobs = 200_000
    private.start(config=f"[Store]\nKeepHistoryJobs={4 * jobs}\n[Queue]\nSlots=1\n"
                         "[Limits]\nMaxOutputBacklog=64K\n")
    ran = 0

    def answered_meanwhile():
        nonlocal ran
        before = ran
        counts, asked = a_cancel_of_many(private, jobs)
        # Some had a turn between the end of the first and their own.
        ran = len(private.ctl("list", "--all", "--no-legend", "--result=success").lines)
        assert counts[-1] == jobs + 1 - (ran - before) and counts == sorted(counts)
        return len(counts) > 1 and asked > 1

    until(answered_meanwhile, "other calls to be answered")
    with private.connect() as v:
        assert v.ok(JOBS + "Cancel", {"filter": {}}) == {"count": 0}


def a_cancel_of_many(private, jobs):
    """How many it said that it had asked to end, each time, and how many other calls were answered
    before the last."""
    with private.connect() as v, private.connect() as other:
        ident = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"]}})["id"]
        for _ in range(jobs // 50_000):
            v.ok(JOBS + "SubmitBatch", {"specs": [{"argv": ["true"]}] * 50_000})
        v.send(JOBS + "Cancel", {"filter": {}}, more=True)
        counts, asked, reply = [], 0, {"continues": True}
        while reply.get("continues"):
            while not v.has_reply() and not select.select([v.sock], [], [], 0)[0]:
                assert other.ok(JOBS + "Get", {"id": ident})["job"]["id"] == ident
                asked += 1
            reply = v.recv()
            counts.append(reply["parameters"]["count"])
        return counts, asked
