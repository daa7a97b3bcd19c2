"""The protocol on the socket of a real daemon: each rule with its negative, and that one
bad client is nobody else's trouble."""

import array
import contextlib
import fcntl
import json
import os
import re
import resource
import select
import signal
import socket
import termios
import threading
import time

import pytest

from conftest import LIMIT, SANITIZER, Varlink, until
from protocol import (CONTROL, INFO, INTERFACES, JOBS, LOGS, SERVICE, ended, error, invalid, is_fine,
                      job_to_talk_about, wait_done)


# --- messages, order, flags -----------------------------------------------------------------


def test_one_write_many_calls_in_order(shared):
    with shared.connect() as v:
        methods = ["GetInfo", "Nope", "GetInterfaceDescription"] * 50
        v.send_raw(b"".join(json.dumps({"method": SERVICE + m}).encode() + b"\0"
                            for m in methods))
        for m in methods:
            reply = v.recv()
            if m == "GetInfo":
                assert reply["parameters"]["vendor"]
            elif m == "Nope":
                assert error(reply, SERVICE + "MethodNotFound")["method"] == SERVICE + m
            else:
                assert invalid(reply, "interface") == "is missing"


def test_byte_by_byte(shared):
    with shared.connect() as v:
        for byte in INFO * 3:
            v.send_raw(bytes([byte]))
        for _ in range(3):
            assert v.recv()["parameters"]["product"] == "voltd"


def test_no_parameters_null_and_empty_are_the_same(shared):
    with shared.connect() as v:
        for header in ("", ',"parameters":null', ',"parameters":{}'):
            v.send_raw(f'{{"method":"{SERVICE}GetInfo"{header}}}'.encode() + b"\0")
            assert v.recv()["parameters"]["product"] == "voltd"


@pytest.mark.parametrize("message", [
    b"", b"nonsense", b"{", b"[]", b"7", b"null", b'"x"', b"{}", b'{"method":7}',
    b'{"parameters":{}}', b'{"method":"a.B","parameters":[]}',
    b'{"method":"org.varlink.service.GetInfo","extra":1}',
    b'{"method":"org.varlink.service.GetInfo","oneway":1}',
    b'{"method":"org.varlink.service.GetInfo","more":"true"}',
    b'{"method":"org.varlink.service.GetInfo","upgrade":null}',
    b'{"method":"org.varlink.service.GetInfo","oneway":true,"more":true}',
    b'{"method":"org.varlink.service.GetInfo","oneway":true,"upgrade":true}',
    b'{"method":"org.varlink.service.GetInfo","more":true,"upgrade":true}',
    b'{"method":"org.varlink.service.GetInfo","method":"org.varlink.service.GetInfo"}',
    b'{"method":"org.varlink.service.GetInfo","parameters":{"a":"\xff"}}',
    b'{"method":"org.varlink.service.GetInfo"} {}',
])
def test_what_is_no_call_closes(shared, message):
    with shared.connect() as v:
        v.send_raw(INFO + message + b"\0" + INFO)
        assert v.recv()["parameters"]["product"] == "voltd"
        assert ended(v)
    is_fine(shared)


@pytest.mark.parametrize("message, why", [
    (b'{"method":\0', "near end of file"),
    (b'{"method":"a.B","parameters":{"a":"\\ud800"}}\0', "invalid Unicode"),
    (b'{"method":"org.varlink.service.GetInfo","parameters":[]}\0', "it has no method, or members"),
    (b'{"method":"org.varlink.service.GetInfo"}\n', "it ends with a line end, where a NUL byte has to be"),
])
def test_what_is_no_call_is_said(private, message, why):
    """Once, however often it comes; stats count all."""
    private.start()
    for _ in range(3):
        with private.connect() as v:
            v.send_raw(message)
            v.sock.shutdown(socket.SHUT_WR)
            assert ended(v)
    with private.connect_control() as v:
        assert v.ok(CONTROL + "Stats")["turns"]["malformed"] == 3
    said = [line for line in private.log.read_text().splitlines() if "its message is no call" in line]
    assert len(said) == 1 and why in said[0] and f"uid {os.getuid()} (pid {os.getpid()})" in said[0], said


def test_extensions_with_a_dot_are_ignored(shared):
    with shared.connect() as v:
        v.ok(SERVICE + "GetInfo", **{"com.example.trace": {"deep": [1, 2]}})


def test_oneway_gets_nothing(shared):
    with shared.connect() as v:
        v.send(SERVICE + "GetInfo", oneway=True)
        v.send(SERVICE + "Nope", oneway=True)
        v.send("no.such.Interface", oneway=True)
        v.send(JOBS + "Watch", oneway=True)
        v.send(JOBS + "Submit", {"spec": {}}, oneway=True)
        v.send(JOBS + "Submit", {"spec": {"kind": "noop", "name": "oneway"}}, oneway=True)
        jobs = v.ok(JOBS + "List", {"filter": {"name": "oneway"}})["jobs"]
        assert len(jobs) == 1


def test_more(shared):
    with shared.connect() as v:
        for method in (JOBS + "Watch",):
            assert error(v.call(method), SERVICE + "ExpectedMore") == {}
        # A method that answers once may be called with it, and answers once.
        reply = v.call(SERVICE + "GetInfo", more=True)
        assert "continues" not in reply
        ident = v.ok(JOBS + "Submit", {"spec": {"kind": "noop"}})["id"]
        v.send(JOBS + "Wait", {"ids": [ident]}, more=True)
        while (reply := v.recv()).get("continues"):
            assert set(reply) == {"parameters", "continues"}
        assert set(reply) == {"parameters"} and reply["parameters"]["left"] == 0
        # The connection is free again.
        v.ok(SERVICE + "GetInfo")


def test_upgrade_is_refused_and_the_connection_stays(shared):
    with shared.connect() as v:
        assert "takes the connection over" in invalid(
            v.call(SERVICE + "GetInfo", upgrade=True), "upgrade")
        v.ok(SERVICE + "GetInfo")


def test_not_found(shared):
    with shared.connect() as v:
        got = error(v.call("org.nobody.here.Method"), SERVICE + "InterfaceNotFound")
        assert got == {"interface": "org.nobody.here"}
        got = error(v.call(JOBS + "Levitate"), SERVICE + "MethodNotFound")
        assert got == {"method": JOBS + "Levitate"}
        error(v.call("Bare"), SERVICE + "MethodNotFound")


# --- introspection, sockets -----------------------------------------------------------------


def test_introspection(shared):
    with shared.connect() as v:
        info = v.ok(SERVICE + "GetInfo")
        assert set(info) == {"vendor", "product", "version", "url", "interfaces"}
        assert info["interfaces"] == INTERFACES
        for name in INTERFACES:
            text = v.ok(SERVICE + "GetInterfaceDescription", {"interface": name})[
                "description"]
            assert re.search(rf"^interface {re.escape(name)}$", text, re.M)
            assert text.startswith("# ")
        error(v.call(SERVICE + "GetInterfaceDescription", {"interface": "org.nope"}),
              SERVICE + "InterfaceNotFound")
        invalid(v.call(SERVICE + "GetInterfaceDescription", {"interface": 7}), "interface")


def test_streams_say_so_in_the_description(shared):
    with shared.connect_control() as v:
        for name in INTERFACES:
            text = v.ok(SERVICE + "GetInterfaceDescription", {"interface": name})[
                "description"]
            for method, flag in re.findall(
                    r"# \[(?:Requires|Supports) '(more)' flag\]\nmethod (\w+)", text):
                assert method == "more" and flag


def test_both_sockets_answer_all(shared):
    """What a caller may do is said by who it is, not by where it asks."""
    for connect in shared.connect, shared.connect_control:
        with connect() as v:
            assert v.ok(SERVICE + "GetInfo")["interfaces"] == INTERFACES
            assert v.ok(CONTROL + "Stats")["workers"]
            v.ok(JOBS + "List", {"limit": 1})


# --- parameters -----------------------------------------------------------------------------


@pytest.mark.parametrize("spec, parameter, reason", [
    ({}, "spec.argv", "give argv or shell"),
    ({"argv": []}, "spec.argv", "give argv or shell"),
    ({"argv": ["a", 1]}, "spec.argv[1]", "must be a string"),
    ({"argv": ["a"], "shell": "b"}, "spec.shell", "either argv or shell"),
    ({"argv": ["a\0b"]}, "spec.argv[0]", "NUL"),
    ({"argv": ["a"], "colour": "red"}, "spec.colour", "known are: kind, argv"),
    ({"argv": ["a"], "priority": 1.5}, "spec.priority", "integer from -1000 to 1000"),
    ({"argv": ["a"], "priority": 2**64}, "spec.priority", "integer from -1000 to 1000"),
    ({"argv": ["a"], "timeout_usec": -1}, "spec.timeout_usec", "integer from 0"),
    ({"argv": ["a"], "kind": "http"}, "spec.kind", '"exec", "sleep", "noop"'),
    ({"argv": ["a"], "array": {"first": "1", "last": 2}}, "spec.array.first", "integer"),
    ({"argv": ["a"], "array": {"first": 1}}, "spec.array.last", "is missing"),
    ({"argv": ["a"], "env": {"A": 1}}, "spec.env.A", "string"),
    ({"argv": ["a"], "cwd": "relative"}, "spec.cwd", "absolute"),
    ([], "spec", "object"),
])
def test_wrong_specs_are_named(shared, spec, parameter, reason):
    with shared.connect() as v:
        assert reason in invalid(v.call(JOBS + "Submit", {"spec": spec}), parameter)
        is_alive = v.ok(SERVICE + "GetInfo")
        assert is_alive


@pytest.mark.parametrize("method, parameters, parameter", [
    (SERVICE + "GetInfo", {"x": 1}, "x"),
    (JOBS + "Submit", {}, "spec"),
    (JOBS + "Submit", {"spec": {"kind": "noop"}, "now": True}, "now"),
    (JOBS + "SubmitBatch", {"specs": {}}, "specs"),
    (JOBS + "SubmitBatch", {"specs": [], "atomic": 1}, "atomic"),
    (JOBS + "Get", {}, "id"),
    (JOBS + "Get", {"id": 1}, "id"),
    (JOBS + "Get", {"id": "01"}, "id"),
    (JOBS + "Get", {"id": "1.1"}, "id"),
    (JOBS + "Get", {"id": "99999999999999999999999"}, "id"),
    (JOBS + "List", {"filter": {"states": ["asleep"]}}, "filter.states[0]"),
    (JOBS + "List", {"filter": {"colour": 1}}, "filter.colour"),
    (JOBS + "List", {"limit": 0}, "limit"),
    (JOBS + "List", {"limit": 1001}, "limit"),
    (JOBS + "List", {"cursor": "x"}, "cursor"),
    (JOBS + "Wait", {"ids": ["1", "x"]}, "ids[1]"),
    (JOBS + "Cancel", {}, "ids"),
    (JOBS + "Cancel", {"ids": "1"}, "ids"),
    (JOBS + "Signal", {"id": "1", "signal": "HUGE"}, "signal"),
    (JOBS + "Signal", {"id": "1", "signal": "TERM", "whom": "all"}, "whom"),
    (LOGS + "Open", {"id": "1", "stream": "stdlog"}, "stream"),
    (LOGS + "Read", {"id": "1", "offset": -1}, "offset"),
    (LOGS + "Read", {"id": "1", "max_bytes": 2**20 + 1}, "max_bytes"),
    (CONTROL + "Stats", {"x": 1}, "x"),
    (CONTROL + "Tasks", {"x": 1}, "x"),
    (CONTROL + "Config", {"x": 1}, "x"),
    (CONTROL + "Reload", {"x": 1}, "x"),
    (CONTROL + "Shutdown", {"cancel": "yes"}, "cancel"),
])
def test_wrong_parameters_are_named(shared, method, parameters, parameter):
    with shared.connect_control() as v:
        assert invalid(v.call(method, parameters), parameter)
        v.ok(SERVICE + "GetInfo")


def test_wrong_parameters_of_streams_are_named(shared):
    with shared.connect_control() as v:
        assert invalid(v.call(JOBS + "Watch", {"after": "x"}, more=True), "after")
        assert invalid(v.call(JOBS + "Watch", {"after": 2**60}, more=True), "after")
        assert invalid(v.call(CONTROL + "WatchStats", {"interval_usec": 1}, more=True),
                       "interval_usec")
        v.ok(SERVICE + "GetInfo")


# --- limits ---------------------------------------------------------------------------------


def lift_limits(daemon):
    """Those of the test are over: what follows, its own end too, is not to meet them by being
    slow or early. By signal, for there may be no place for one more connection."""
    daemon.config.write_text("")
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "configuration reloaded" in daemon.log.read_text(), "the reload")


def test_too_large_is_said_and_closes(shared):
    with shared.connect() as v:
        big = {"spec": {"argv": ["x" * 300_000]}}
        try:
            v.send(JOBS + "Submit", big)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it closed before it had all
        assert "too many bytes; the limit is 262144" in invalid(v.recv(), "parameters")
        assert ended(v)
    is_fine(shared)


def test_the_same_size_is_fine_for_a_batch(shared):
    with shared.connect() as v:
        got = v.ok(JOBS + "SubmitBatch",
                   {"specs": [{"kind": "noop", "name": "n" * 200}] * 3000})
        assert len(got["ids"]) == 3000 and got["rejected"] == []


@pytest.mark.parametrize("value, what", [
    ("[" * 40 + "]" * 40, "too deeply"),
    ('{"a":' * 2000 + "1" + "}" * 2000, "too deeply"),
    ("[" + ",".join(["1"] * 20_001) + "]", "too many values"),
])
def test_too_much_is_said_and_closes(shared, value, what):
    with shared.connect() as v:
        v.send_raw(f'{{"method":"a.B","parameters":{{"a":{value}}}}}'.encode() + b"\0")
        assert what in invalid(v.recv(), "parameters")
        assert ended(v)
    is_fine(shared)


def test_memory_of_a_parse_is_bounded(private):
    private.start(config="[Limits]\nMaxParseMemory=64K\n")
    with private.connect() as v:
        v.send(JOBS + "Get", {"a": [{}] * 2000})
        assert "bytes of memory; the limit is 65536" in invalid(v.recv(), "parameters")
        assert ended(v)
    is_fine(private)


def test_memory_of_a_batch_is_that_of_one_job(private):
    private.start(config="[Limits]\nMaxParseMemory=64K\n")
    noop, large = {"kind": "noop"}, {"kind": "noop", "labels": [{}] * 2000}
    with private.connect() as v:
        assert len(v.ok(JOBS + "SubmitBatch", {"specs": [noop] * 5000})["ids"]) == 5000
        v.send(JOBS + "SubmitBatch", {"specs": [noop, large, noop]})
        assert "more memory" in invalid(v.recv(), "specs[1]")
        assert len(v.ok(JOBS + "SubmitBatch", {"specs": [noop]})["ids"]) == 1
    is_fine(private)


def test_unread_oneway_refusal_is_silent(shared):
    with shared.connect() as v:
        v.send_raw(b'{"oneway":true,"method":"a.B","parameters":{"a":' + b"[" * 40)
        assert ended(v)


def test_deadlines_of_a_frame_and_of_idleness(private):
    private.start(config="[Limits]\nFrameTimeoutSec=300ms\nIdleTimeoutSec=1s\n")
    began = time.monotonic()
    with private.connect() as dribble, private.connect() as idle:
        stop = threading.Event()

        def keep_dribbling():
            try:
                while not stop.is_set():
                    dribble.send_raw(b" ")
                    stop.wait(0.02)
            except OSError:
                pass

        thread = threading.Thread(target=keep_dribbling)
        thread.start()
        assert ended(dribble)  # bytes that arrive do not move the deadline
        stop.set()
        thread.join()
        assert time.monotonic() - began >= 0.3
        assert ended(idle)
        assert time.monotonic() - began >= 1.0
    lift_limits(private)
    is_fine(private)


def unread(sock):
    """Bytes that the other end has not read."""
    left = array.array("i", [0])
    fcntl.ioctl(sock, termios.TIOCOUTQ, left)
    return left[0]


@pytest.mark.parametrize("size", [100, 60_000, 250_000])
def test_time_in_which_voltd_is_late_is_not_the_peers(private, size):
    """A message that begins before voltd is stopped, and is in the socket, or as much of it as
    there is room for, long before it goes on."""
    private.start(config="[Limits]\nFrameTimeoutSec=1s\n")
    text = INFO[:-2] + b" " * size + b"}\0"
    with private.connect() as v:
        v.send_raw(text[:20])
        until(lambda: unread(v.sock) == 0, "voltd to read the beginning")
        private.stand_still()
        rest = threading.Thread(target=v.send_raw, args=(text[20:],))
        rest.start()
        begun = time.monotonic()
        until(lambda: time.monotonic() - begun > 2.5)  # the time of that message, and more
        private.process.send_signal(signal.SIGCONT)
        assert "parameters" in v.recv()
        rest.join()


def test_a_stream_outlives_the_idle_deadline(private):
    private.start(config="[Limits]\nIdleTimeoutSec=300ms\n[Daemon]\nHeartbeatSec=1s\n")

    def watch():
        """None: this one was too slow, and cut before it had asked."""
        v = private.connect()
        try:
            v.send(JOBS + "Watch", more=True)
            if v.recv():
                return v
        except BrokenPipeError:
            pass
        v.close()
        return None

    with until(watch, "a watch") as v:
        beats = 0
        while beats < 2:
            beats += v.recv()["parameters"].get("heartbeat", False)
    lift_limits(private)


def test_heartbeats_of_every_stream(private):
    private.start(config="[Daemon]\nHeartbeatSec=1s\n")
    with private.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"]}})["id"]
    for method, parameters in ((JOBS + "Wait", {"ids": [ident]}),
                               (LOGS + "Read", {"id": ident}), (JOBS + "Watch", {})):
        with private.connect() as v:
            beats, begin = 0, time.monotonic()
            for reply in v.stream(method, parameters):
                beats += reply.get("heartbeat", False)
                if beats == 2:
                    break
            assert time.monotonic() - begin > 1.5, f"{method}: one at once after the other"


def connect_if_allowed(daemon):
    v = daemon.connect()
    with contextlib.suppress(ConnectionError):  # what it said before it closed is there
        v.send(SERVICE + "GetInfo")
    reply = v.recv()
    if "error" not in reply:
        return v
    assert error(reply, JOBS + "LimitReached")["key"] == "MaxConnectionsPerUser"
    v.close()
    return None


def test_connections_per_user(private):
    private.start(config="[Limits]\nMaxConnectionsPerUser=5\n")
    # The place of an earlier connection may become free a moment later.
    held = [until(lambda: connect_if_allowed(private), "a place") for _ in range(5)]
    assert connect_if_allowed(private) is None
    # The control socket has some more, for whoever is an admin: here the user.
    with contextlib.ExitStack() as more:
        for _ in range(3):
            more.enter_context(private.connect_control()).ok(SERVICE + "GetInfo")
        assert connect_if_allowed(private) is None
    held.pop().close()
    until(lambda: connect_if_allowed(private), "a freed place").close()
    for v in held:
        v.ok(SERVICE + "GetInfo")
        v.close()
    lift_limits(private)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_no_descriptors_left_does_not_spin(private):
    private.start()
    pid = private.process.pid
    with private.connect() as v:
        v.ok(SERVICE + "GetInfo")
        open_now = len(os.listdir(f"/proc/{pid}/fd"))
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now, hard))
        waiting = [private.connect() for _ in range(3)]
        before = cpu_seconds(pid)
        window = time.monotonic() + 1
        while time.monotonic() < window:
            v.ok(SERVICE + "GetInfo")  # who is connected is served
            time.sleep(0.05)
        assert cpu_seconds(pid) - before < 0.5 * (5 if SANITIZER else 1)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, hard))
        for w in waiting:
            w.ok(SERVICE + "GetInfo")
            w.close()


# --- clients that behave badly, and others ---------------------------------------------------


def test_64_clients_pipelining(shared):
    errors = []

    def client(number):
        try:
            with shared.connect() as v:
                for round_ in range(4):
                    v.send_raw(b"".join(
                        json.dumps({"method": JOBS + "Get",
                                    "parameters": {"id": f"{10**9 + number * 1000 + i}"}}
                                   ).encode() + b"\0" for i in range(50)))
                    for i in range(50):
                        got = error(v.recv(), JOBS + "NoSuchJob")
                        assert got == {"id": f"{10**9 + number * 1000 + i}"}
        except BaseException as e:  # told by the main thread
            errors.append(e)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(64)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


def test_a_slow_reader_is_held_back_alone(private):
    private.start(config="[Limits]\nMaxOutputBacklog=64K\n")
    with private.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch",
                   {"specs": [{"kind": "noop", "name": "n" * 200}] * 1000})["ids"]
        wait_done(v, ids[-1])
    with private.connect() as slow:
        slow.sock.setblocking(False)
        call = json.dumps({"method": JOBS + "List", "x.pad": "x" * 16000}).encode() + b"\0"
        sent, last = 0, time.monotonic()
        while time.monotonic() - last < 0.5:  # until it takes no more
            try:
                sent += slow.sock.send((call * 2)[sent % len(call):][:len(call)])
                last = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
            assert sent < 16 << 20
        memory = int(re.search(r"VmRSS:\s+(\d+)", open(
            f"/proc/{private.process.pid}/status").read())[1])
        assert memory < (64 << 10) * (8 if SANITIZER else 1)
        is_fine(private)
        # It reads at last and gets every answer, whole.
        slow.sock.settimeout(LIMIT)
        for _ in range(sent // len(call)):
            assert len(slow.recv()["parameters"]["jobs"]) == 1000


def test_a_peer_that_never_reads_is_cut(private):
    private.start(config="[Limits]\nMaxOutputBacklog=64K\nDrainTimeoutSec=300ms\n")
    with private.connect() as v:
        v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop", "name": "n" * 200}] * 1000})
        v.send_raw((json.dumps({"method": JOBS + "List"}).encode() + b"\0") * 20)
        hangup = select.poll()
        hangup.register(v.sock, 0)
        assert hangup.poll(LIMIT * 1000) != [], "not cut"
    is_fine(private)


def test_a_slow_watcher_is_told_what_it_missed(private):
    private.start(config="[Limits]\nMaxOutputBacklog=64K\nMaxWatchBacklog=100\n")
    with private.connect() as watcher, private.connect() as v:
        watcher.send(JOBS + "Watch", more=True)
        first = watcher.recv()["parameters"]
        assert first["jobs"] == []
        for _ in range(10):
            ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 3000})["ids"]
            wait_done(v, ids[-1])
        lagged, seen, cursor = 0, 0, first["cursor"]
        last = v.ok(JOBS + "Submit", {"spec": {"kind": "noop"}})["id"]
        while True:
            got = watcher.recv()["parameters"]
            assert got["cursor"] >= cursor
            cursor = got["cursor"]
            lagged += got.get("lagged", 0)
            events = got.get("events", [])
            seen += len(events)
            if any(e["id"] == last and e["event"] == "exited" for e in events):
                break
        assert lagged > 0
        # Nothing is missing but what was said to be.
        assert seen + lagged == cursor - first["cursor"]


@pytest.mark.parametrize("method", [
    SERVICE + "GetInfo", SERVICE + "GetInterfaceDescription", JOBS + "Submit",
    JOBS + "SubmitBatch", JOBS + "Get", JOBS + "List", JOBS + "Watch", JOBS + "Wait",
    JOBS + "Signal", LOGS + "Open", LOGS + "Read", CONTROL + "Stats", CONTROL + "WatchStats",
    CONTROL + "Config", JOBS + "Cancel"])
def test_disconnecting_in_the_middle(shared, method):
    with shared.connect_control() as v:
        ident = job_to_talk_about(v)
        parameters = {
            JOBS + "Submit": {"spec": {"kind": "noop"}},
            JOBS + "SubmitBatch": {"specs": [{"kind": "noop"}] * 2000},
            JOBS + "Get": {"id": ident, "with_spec": True},
            JOBS + "Wait": {"ids": [ident]},
            JOBS + "Cancel": {"ids": [ident]},
            JOBS + "Signal": {"id": ident, "signal": "CONT"},
            LOGS + "Open": {"id": ident},
            LOGS + "Read": {"id": ident},
            SERVICE + "GetInterfaceDescription": {"interface": "org.voltd.jobs"},
        }.get(method, {})
        call = json.dumps({"method": method, "parameters": parameters,
                           "more": True}).encode() + b"\0"
        before = v.ok(CONTROL + "Stats")["totals"]["io_handles"]
        for at in sorted({1, len(call) // 2, len(call) - 1}):
            with shared.connect_control() as other:
                other.send_raw(call[:at])
        for wait in (False, True):
            with shared.connect_control() as other:
                other.send_raw(call)
                if wait:
                    assert other.recv() is not None
        until(lambda: v.ok(CONTROL + "Stats")["totals"]["io_handles"] <= before,
              "the connections to go")
        if method != JOBS + "Cancel":
            v.ok(JOBS + "Cancel", {"ids": [ident]})


def test_half_closed_still_gets_its_answers(shared):
    with shared.connect() as v:
        v.send_raw(INFO * 5)
        v.sock.shutdown(socket.SHUT_WR)
        for _ in range(5):
            assert v.recv()["parameters"]["product"] == "voltd"
        assert ended(v)


def test_malformed_clients_harm_nobody(shared):
    stop, errors = threading.Event(), []

    def bad():
        garbage = [b"\0" * 100, b"{" * 5000, b'{"method":' + b"[" * 100 + b"\0", os.urandom(3000),
                   INFO[:-1] * 9000, b'{"a":"' + b"x" * 300_000]
        while not stop.is_set():
            for g in garbage:
                try:
                    with shared.connect() as v:
                        v.send_raw(g)
                        v.sock.settimeout(0.05)
                        v.recv()
                except (OSError, ValueError):
                    pass

    def good():
        try:
            with shared.connect() as v:
                for _ in range(300):
                    v.ok(JOBS + "Submit", {"spec": {"kind": "noop"}})
        except BaseException as e:
            errors.append(e)

    villains = [threading.Thread(target=bad) for _ in range(3)]
    heroes = [threading.Thread(target=good) for _ in range(3)]
    for t in villains + heroes:
        t.start()
    for t in heroes:
        t.join()
    stop.set()
    for t in villains:
        t.join()
    assert not errors, errors[0]
    is_fine(shared)


def test_who_is_one_too_many_is_told_the_limit(private):
    private.start(config="[Limits]\nMaxConnectionsPerUser=1\n")
    with until(lambda: connect_if_allowed(private), "the place"):
        r = private.submit("--reconnect=0", "true")
        assert r.code == 125 and "MaxConnectionsPerUser= allow" in r.err, r
    until(lambda: private.submit("true").code == 0)
    lift_limits(private)
