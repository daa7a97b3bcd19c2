"""More users than one: what one may do to the jobs of another, and to the daemon that both share."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, LIMIT, SANITIZER, needs_root, until
from protocol import CONTROL, JOBS, LOCKS, LOGS, QUEUES, SERVICE, error, is_fine, wait_done

pytestmark = needs_root


def start_for_all(daemon, config=None):
    """As voltd runs where it serves others: as an account of its own."""
    daemon.as_service().start(config=config)
    daemon.dir.chmod(0o755)
    daemon.runtime.chmod(0o755)
    daemon.socket.chmod(0o666)


SPEAK_AS = """
import json, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[2])
try:
    s.sendall(sys.argv[3].encode() + b"\\0")
    data = b""
    while not data.endswith(b"\\0") and (more := s.recv(65536)):
        data += more
except ConnectionError:
    data = b""
print(data.rstrip(b"\\0").decode())
"""


def speak_as(daemon, uid, method, parameters, socket=None, **header):
    """One call as another user; None when the daemon wants nothing of him."""
    call = json.dumps({"method": method, "parameters": parameters, **header})
    out = subprocess.run([sys.executable, "-c", SPEAK_AS, str(uid), socket or daemon.socket, call],
                         check=True, capture_output=True, text=True).stdout.strip()
    return json.loads(out) if out else None


def test_a_voltd_that_is_root_serves_root_alone(private):
    """The jobs of others would be root's."""
    private.start()
    private.dir.chmod(0o755)
    private.runtime.chmod(0o755)
    private.socket.chmod(0o666)
    private.control.chmod(0o666)
    for socket, method, parameters in (
            (private.socket, JOBS + "Submit", {"spec": {"shell": f"id -u >{private.dir}/ran"}}),
            (private.socket, JOBS + "List", {}), (private.socket, SERVICE + "GetInfo", {}),
            (private.control, CONTROL + "Stats", {}), (private.control, CONTROL + "Shutdown", {})):
        got = speak_as(private, 12345, method, parameters, socket=socket)
        assert "runs as root" in error(got, SERVICE + "PermissionDenied")["reason"], method
    assert "only root is served" in private.log.read_text()
    with private.connect() as v:
        assert v.ok(JOBS + "List", {})["jobs"] == []
        ident = v.ok(JOBS + "Submit", {"spec": {"shell": "exit 3"}})["id"]
        assert wait_done(v, ident)["exit_code"] == 3
    assert not (private.dir / "ran").exists()


@pytest.mark.parametrize("group, reason", [
    (61618, "user 12345 is not in group 61618 (an administrator: adduser USER 61618; then log in again)"),
    (100, "user 12345 is not in group users (an administrator: adduser USER users; then log in again)"),
    (0, "it is for another user")])
def test_a_user_outside_of_the_group_is_told_what_to_do(private, group, reason):
    private.start()
    private.dir.chmod(0o755)
    private.runtime.chmod(0o755)
    private.socket.chmod(0o660)
    os.chown(private.socket, 0, group)
    program = shutil.copy(BIN / "volt-submit", private.dir)
    r = subprocess.run([program, "true"], env=private.env, capture_output=True, text=True, user=12345, group=12345,
                       extra_groups=[], cwd="/", timeout=LIMIT)
    assert r.returncode == 125 and r.stdout == "", r
    first, tried, advice = r.stderr.splitlines()
    assert "may not use the voltd that is here" in first and "`volt-submit --user`" in advice
    assert tried.strip() == f"{private.socket}: permission denied: {reason}"


def test_other_users_and_nobody(private):
    start_for_all(private)
    with private.connect() as v:
        mine = v.ok(JOBS + "Submit", {"spec": {"kind": "sleep",
                                               "duration_usec": 600_000_000}})["id"]
        # Another user's job and one that does not exist: the same answer.
        for ident in (mine, "77777777"):
            for method, more in ((JOBS + "Get", {}), (JOBS + "Signal", {"signal": "TERM"})):
                got = speak_as(private, 12345, method, {"id": ident, **more})
                assert error(got, JOBS + "NoSuchJob") == {"id": ident}
            got = speak_as(private, 12345, JOBS + "Cancel", {"ids": [ident]})
            assert error(got, JOBS + "NoSuchJob") == {"id": ident}
            got = speak_as(private, 12345, LOGS + "Open", {"id": ident})
            assert error(got, LOGS + "NoSuchJob") == {"id": ident}
        got = speak_as(private, 12345, JOBS + "Cancel", {"filter": {}})
        assert got["parameters"] == {"count": 0}
        got = speak_as(private, 12345, JOBS + "List", {})
        assert got["parameters"]["jobs"] == []
        # Who has no name in this user namespace could be anybody.
        overflow = int(open("/proc/sys/kernel/overflowuid").read())
        assert speak_as(private, overflow, SERVICE + "GetInfo", {}) is None
        assert v.ok(JOBS + "Get", {"id": mine})["job"]["state"] != "done"


LISTEN_AS = """
import json, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[2]); s.listen(); print("listening", flush=True)
c, _ = s.accept(); data = b""
while not data.endswith(bytes(1)):
    data += c.recv(65536)
print(json.dumps(json.loads(data[:-1])["parameters"]["spec"]["env"]), flush=True)
c.sendall(b'{"parameters": {"id": "1", "created": true, "durable": true}}' + bytes(1))
c.recv(1)
"""


@pytest.mark.parametrize("uid, args, passed", [
    (12345, [], {"A": "1"}), (12345, ["--all-env"], None), (0, [], None),
    (0, ["--no-env"], {"A": "1"})])
def test_the_environment_is_for_a_voltd_of_ones_own(private, uid, args, passed):
    """Any other one keeps it where others can read it."""
    private.dir.chmod(0o777)
    with subprocess.Popen([sys.executable, "-c", LISTEN_AS, str(uid), private.dir / "s.sock"],
                          stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "listening\n"
        (private.dir / "s.sock").chmod(0o666)
        r = private.submit(f"--address={private.dir}/s.sock", "-E", "A=1", *args, "--", "true")
        assert r.code == 0 and r.out == "1\n", r
        assert json.loads(other.stdout.readline()) == (passed or {**private.env, "A": "1"})


def test_a_lock_of_the_same_name_is_each_users_own(private):
    start_for_all(private)
    with private.connect() as v:
        for uid in 12345, 12346:
            ident = speak_as(private, uid, JOBS + "Submit", {"spec": {
                "shell": "exec sleep 600", "claims": [{"name": "backup", "mode": "exclusive"}]}})["parameters"]["id"]
            until(lambda: v.ok(JOBS + "Get", {"id": ident})["job"]["state"] == "running")
            (lock,) = speak_as(private, uid, LOCKS + "List", {})["parameters"]["locks"]
            assert lock["name"] == "backup" and [h["id"] for h in lock["holders"]] == [ident], lock
        assert speak_as(private, 12347, LOCKS + "List", {})["parameters"]["locks"] == []


def test_everybody_sees_the_slots_of_all(private):
    start_for_all(private)
    ident = speak_as(private, 12346, JOBS + "Submit", {"spec": {
        "shell": "exec sleep 600"}})["parameters"]["id"]
    until(lambda: speak_as(private, 12346, JOBS + "Get", {"id": ident})["parameters"]["job"]["state"] == "running")
    (queue,) = speak_as(private, 12345, QUEUES + "List", {})["parameters"]["queues"]
    assert queue["name"] == "default" and queue["used"] == 1, queue


HOSTILE = """
import os, resource, select, socket, sys
os.setgroups([]); os.setgid(12345); os.setuid(12345)
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
path, clients = sys.argv[1], int(sys.argv[2])
call = b'{"method":"org.voltd.jobs.%s","parameters":%s}\\0'
batch = b'{"method":"org.voltd.jobs.SubmitBatch","parameters":{"specs":['
kinds = [b"", b'{"method":"org.varlink.serv', b"{" * 3000, b"\\0" * 100, os.urandom(3000),
         b'{"method":"org.varlink.service.GetInfo"}\\0' * 5000,
         (call % (b"List", b"{}")) * 2000, b'{"a":"' + b"x" * 250000,
         b'{"method":"org.voltd.jobs.Watch","more":true}\\0',
         (call % (b"Submit", b'{"spec":{"kind":"noop","name":"%s"}}' % (b"n" * 200))) * 100,
         batch + b'{"kind":"noop","name":"%s"},' % (b"n" * 200) * 69000]
left, closed, poll = {}, 0, select.poll()
for i in range(clients):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.setblocking(False)
    left[s.fileno()] = s, memoryview(kinds[i % len(kinds)])
    poll.register(s, select.POLLOUT)
while ready := poll.poll(500):
    for fd, _ in ready:
        s, text = left[fd]
        try:
            text = text[s.send(text[:1 << 18]):] if text else text
        except BlockingIOError:
            continue
        except OSError:
            closed += 1
            text = b""
        left[fd] = s, text
        if not text:
            poll.unregister(fd)
print(len(left) - closed, closed, flush=True)    # nobody takes any more
sys.stdin.read()    # until nobody writes there any more
"""


@contextlib.contextmanager
def stopping(process):
    """Closes its input, at which it ends."""
    try:
        yield
    finally:
        process.communicate()


# What bounds a user's buffers is either the number of his connections or their sum. None of
# them is cut for being slow, on however slow a machine.
PATIENT = "[Limits]\nMaxConnectionsPerUser=2000\nFrameTimeoutSec=1h\nDrainTimeoutSec=1h\n"
CROWDS = {
    "small": PATIENT + "MaxOutputBacklog=64K\nMaxMessage=16K\nMaxPipelinedCalls=16\n"
             "MaxJobsPerUser=5000\nMaxWatchBacklog=64\nMaxParseMemory=256K\n",
    "default": "",
    "many": PATIENT,
}


@pytest.mark.parametrize("crowd", CROWDS)
def test_a_thousand_hostile_clients_of_one_user(private, crowd):
    """At once, and none of them reads or ends what it has begun: another user's jobs are taken,
    run and waited for, memory stays bounded, and when they have gone nothing is left."""
    start_for_all(private, CROWDS[crowd])

    def most_memory():
        return int(re.search(r"VmHWM:\s+(\d+)",
                             open(f"/proc/{private.process.pid}/status").read())[1])

    def io_handles():
        with private.connect_control() as v:
            return v.ok(CONTROL + "Stats")["totals"]["io_handles"]

    before = io_handles()
    clients = subprocess.Popen([sys.executable, "-c", HOSTILE, private.socket, "1000"], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with stopping(clients), private.connect() as v:
        held, refused = map(int, clients.stdout.readline().split())
        assert held + refused == 1000
        if crowd != "default":  # the rest was no client and was cut
            until(lambda: io_handles() > before + 400, "the crowd")
        for i in range(20):
            ident = v.ok(JOBS + "Submit", {"spec": {"shell": f"exit {i}"}})["id"]
            assert wait_done(v, ident)["exit_code"] == i
            with private.connect() as another:
                assert another.ok(JOBS + "Get", {"id": ident})["job"]["exit_code"] == i
        most = most_memory()
        assert most < (256 << 10) * (8 if SANITIZER else 1), f"{most} KiB"
        if crowd != "default":
            assert io_handles() > before + 400
    until(lambda: io_handles() <= before, "the connections to go")
    is_fine(private)
