"""The keeper alone, spoken to by a test: its start with the n-th call failing, peers that do
not read, that send too much, that are somebody else; and what it does when nobody is left."""

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import types

import pytest

from faults import CALLS, FILE, KEEPER, PROCESS, SLOW, Faults
from house import ROOT, TEST_BIN, integration, until

HEADER = (ROOT / "daemon/keeper/protocol.h").read_text()
MAGIC, VERSION = (int(re.search(rf"KEEPER_{name} +UINT32_C\((\w+)\)", HEADER)[1], 0)
                  for name in ("MAGIC", "VERSION"))
HELLO, START, SIGNAL, _, BYE, REPLY, WELCOME = range(1, 8)
HEAD = struct.Struct("<IIQ")
HELLO_BODY, BYE_BODY, KEY = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<QqII")
START_BODY, SIGNAL_BODY = struct.Struct("<IIIIQII7Q"), struct.Struct("<II")
NO_LIMITS = 7 * (2**64 - 1,)
RECORD_HEADER, RECORD_MAGIC = struct.Struct("<IIQqII16sQI"), 0x44524356
LAUNCH_HEAD, LAUNCH_MAGIC = struct.Struct("<IIQIIII"), 0x484e4c56


class Keeper:
    """A keeper of a test's own, below a directory."""

    def __init__(self, path, *args, faults=None, descriptor=None):
        self.path = path
        self.records = path / "rec"
        self.records.mkdir(exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (path / "sock").unlink(missing_ok=True)
        self.listener.bind(str(path / "sock"))
        self.listener.listen(8)
        fd = self.listener.fileno() if descriptor is None else descriptor
        self.process = subprocess.Popen(
            [TEST_BIN / "voltd-keeper", *args], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=path,
            env={**os.environ, **(faults.env if faults else {})},
            preexec_fn=lambda: (os.dup2(fd, 3), os.closerange(4, 64)), close_fds=False)
        self.listener.close()   # whoever connects is told when the keeper has gone

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=integration.LIMIT)

    def connect(self, hello=True):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(integration.LIMIT)
        s.connect(str(self.path / "sock"))
        if hello:
            s.send(HEAD.pack(MAGIC, HELLO, 7) + HELLO_BODY.pack(VERSION, os.getpid()))
        return s

    def end(self):
        """(exit status, what it said)."""
        out, err = self.process.communicate(timeout=integration.LIMIT)
        return self.process.returncode, (out + err).decode()


def receive(s):
    """(op, serial, status, the rest); None: the keeper has closed."""
    try:
        data = s.recv(65536)
    except ConnectionResetError:
        return None
    if not data:
        return None
    magic, op, serial = HEAD.unpack_from(data)
    assert magic == MAGIC
    return op, serial, struct.unpack_from("<i", data, HEAD.size)[0], data[HEAD.size + 4:]


def greet(keeper):
    """The answer to HELLO; None: there is nobody, or no connection any more."""
    try:
        with keeper.connect() as s:
            return receive(s)
    except (ConnectionError, BrokenPipeError):
        return None


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def make_record(keeper, job):
    """As voltd makes it: (descriptor, what its slots are sealed with). Whoever has the descriptor
    holds its lock."""
    boot = bytes.fromhex(pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", ""))
    header = RECORD_HEADER.pack(RECORD_MAGIC, 2, job, -1, 1, 0, boot, 0, 0)
    fd = os.open(keeper.records / f"{job}.1", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, (header + struct.pack("<I", crc32c(header))).ljust(4096, b"\0"))
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, integration.whole_file(fcntl.F_WRLCK))
    return fd, crc32c(header)


def launch(script):
    strings = b"\0" * 4 + b"\0".join([b"/bin/sh", b"-c", script.encode(), b""])
    tables = bytes((3 + 1 + 1) * struct.calcsize("P"))
    size = LAUNCH_HEAD.size + len(tables) + len(strings)
    return LAUNCH_HEAD.pack(LAUNCH_MAGIC, VERSION, size, 3, 0, 0, 0) + tables + strings


def start(serial, script, inline=True, seed=0):
    """A shell script as a job that the serial names."""
    block = launch(script)
    return HEAD.pack(MAGIC, START, serial) + KEY.pack(serial, -1, 1, 0) + \
        START_BODY.pack(0, 0o022, 0, int(inline), len(block), seed, 0, *NO_LIMITS) + block * inline


def send_start(keeper, s, serial, script, launch_fd=None):
    """Its record goes with it, and nobody else has that any more."""
    record, seed = make_record(keeper, serial)
    fds = [record] if launch_fd is None else [record, launch_fd]
    socket.send_fds(s, [start(serial, script, launch_fd is None, seed)], fds)
    os.close(record)


def kill(serial, job):
    return HEAD.pack(MAGIC, SIGNAL, serial) + KEY.pack(job, -1, 1, 0) + \
        SIGNAL_BODY.pack(signal.SIGKILL, 0)


def send_kill(keeper, s, serial, job):
    """Its record goes with it."""
    fd = os.open(keeper.records / f"{job}.1", os.O_RDONLY)
    socket.send_fds(s, [kill(serial, job)], [fd])
    os.close(fd)


def bye(serial, settled=0):
    return HEAD.pack(MAGIC, BYE, serial) + BYE_BODY.pack(settled, 0)


@pytest.fixture
def faults(tmp_path):
    return faults_in(tmp_path)


def faults_in(path):
    place = types.SimpleNamespace(dir=path, env={})
    faults = Faults(place)
    faults.env = place.env
    return faults


@pytest.mark.parametrize("args, status, text", [
    (["--help"], 0, "Usage"), (["--version"], 0, "voltd-keeper"), (["--nonsense"], 2, "Usage"),
    (["a", "b"], 2, "Usage"), (["--peer-uid", "no such account"], 2, "a uid is needed"),
    (["--peer-uid=-1"], 2, "a uid is needed"), (["--peer-uid", "1x"], 2, "a uid is needed"),
    (["--peer-uid", "4294967295"], 2, "a uid is needed"), (["--peer-uid", "9" * 30], 2, "a uid is needed")])
def test_words(tmp_path, args, status, text):
    with Keeper(tmp_path, *args) as k:
        code, said = k.end()
    assert code == status and text in said


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_words_that_nobody_takes(word):
    with open("/dev/full", "w") as full:
        assert subprocess.run([TEST_BIN / "voltd-keeper", word], stdout=full).returncode == 1


def test_what_is_no_listening_socket(tmp_path):
    with open("/dev/null") as f, Keeper(tmp_path, descriptor=f.fileno()) as k:
        code, said = k.end()
    assert code == 1 and "descriptor 3" in said


@pytest.mark.parametrize("error", [errno.EIO, errno.EINTR, errno.EEXIST])
def test_nth_call_of_its_start(tmp_path, faults, error):
    """It serves, or it says why not."""
    for n in range(1, 300):
        faults.nth(KEEPER, n, error, CALLS | FILE)
        with Keeper(tmp_path, faults=faults) as k:
            answer = greet(k) or greet(k)   # the call may have been one of the connection
            hit, _, call = faults.fired()
            faults.disarm()
            if answer is None:
                code, said = k.end()
                assert code == 1 and said.startswith("voltd-keeper: "), (n, call, said)
            else:
                assert answer[:3] == (WELCOME, 7, 0), (n, call)
        if not hit:
            break
    assert 10 < n < 299


NOBODY = 65534


@contextlib.contextmanager
def activated(owner=NOBODY, fds=1, pid="$$"):
    """A keeper that is started as systemd does it, as an account that is not root: its process, and
    the socket that hears of it. The program is run by a descriptor, as that account has no way to
    where it is."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 and owner else {}
    name = f"volt-test-{os.getpid()}"
    with tempfile.TemporaryDirectory(dir="/tmp") as path, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, \
            open(TEST_BIN / "voltd-keeper", "rb") as program:
        listener.bind(path + "/sock")
        listener.listen(8)
        os.chmod(path, 0o755)
        if who:
            os.chown(path + "/sock", owner, -1)
        notify.bind("\0" + name)
        notify.settimeout(integration.LIMIT)
        high = fcntl.fcntl(program, fcntl.F_DUPFD, 70)
        listening = fcntl.fcntl(listener, fcntl.F_DUPFD, 71)
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"LISTEN_PID={pid} exec /proc/self/fd/4 --activated"], cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "@" + name, "LISTEN_FDS": str(fds)},
            preexec_fn=lambda: (os.dup2(listening, 3), os.dup2(high, 4)), close_fds=False, **who)
        os.close(high)
        os.close(listening)
        try:
            yield process, notify
        finally:
            process.terminate()
            process.communicate(timeout=integration.LIMIT)


def test_activated():
    """It says that it is ready and waits for its place, which nobody gives it here: then it has not
    begun to serve, and SIGTERM ends it as it ends anybody."""
    with activated() as (process, notify):
        assert notify.recv(100) == b"READY=1"
        process.terminate()
        assert process.wait(timeout=integration.LIMIT) == -signal.SIGTERM


@pytest.mark.parametrize("how, text", [
    ({"fds": 2}, "a socket of systemd's"), ({"pid": "1"}, "a socket of systemd's"), ({"owner": 0}, "not as root")])
def test_activated_by_another(how, text):
    if "owner" in how and os.geteuid() != 0:
        pytest.skip("needs root: make check-root")
    with activated(**how) as (process, _):
        _, said = process.communicate(timeout=integration.LIMIT)
        assert process.returncode == 1 and text in said.decode()


def test_poll_fails(tmp_path, faults):
    with Keeper(tmp_path, faults=faults) as k:
        with k.connect() as s:
            assert receive(s)[0] == WELCOME
        faults.rate([KEEPER], SLOW, errno.EIO, 1)
        k.process.send_signal(signal.SIGCHLD)   # so that it comes by poll
        assert k.end()[0] == 1


def test_no_descriptor_to_be_had(tmp_path, faults):
    """It tries again after a pause instead of spinning or leaving."""
    with Keeper(tmp_path, faults=faults) as k:
        assert greet(k)[0] == WELCOME   # its start is over, which must not fail
        faults.rate([KEEPER], PROCESS, errno.EMFILE, 1)
        with k.connect() as s:
            until(lambda: faults.fired()[0] > 2, "it to try again")
            faults.disarm()
            assert receive(s)[0] == WELCOME


def test_somebody_else(tmp_path):
    with Keeper(tmp_path, "--peer-uid", "12345") as k, k.connect(hello=False) as s:
        assert receive(s) is None


def test_a_peer_that_does_not_read(tmp_path):
    """It is not read from either, and nothing is lost."""
    null = os.open("/dev/null", os.O_RDONLY)    # which is no record
    with Keeper(tmp_path) as k, k.connect() as s:
        s.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while True:
                socket.send_fds(s, [start(sent, "exit 0")], [null])
                sent += 1
        s.settimeout(integration.LIMIT)
        assert receive(s)[0] == WELCOME
        for serial in range(sent):
            assert receive(s)[:3] == (REPLY, serial, -errno.EBADMSG)
    os.close(null)


@pytest.mark.parametrize("what", ["long", "descriptors", "nothing", "op"])
def test_what_is_no_request(tmp_path, what):
    """Closes the connection, and serves the next."""
    with Keeper(tmp_path) as k, k.connect() as s:
        assert receive(s)[0] == WELCOME
        if what == "long":
            s.send(kill(1, 1) + bytes(60000))
        elif what == "descriptors":
            socket.send_fds(s, [kill(1, 1)], [0] * 7)
        elif what == "nothing":
            s.send(b"")
        else:
            s.send(HEAD.pack(MAGIC, 77, 1))
        assert receive(s) is None
        with k.connect() as again:
            assert receive(again)[0] == WELCOME


def test_a_launch_block_that_cannot_be_looked_at(tmp_path, faults):
    """Is not one that is damaged: the failure is told with its own errno."""
    fd = os.memfd_create("launch", os.MFD_ALLOW_SEALING)
    os.write(fd, launch("exit 0"))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    with Keeper(tmp_path, faults=faults) as k, k.connect() as s:
        assert receive(s)[0] == WELCOME
        for n in range(1, 4):
            faults.nth(KEEPER, n, errno.EIO, FILE)
            send_start(k, s, n, "exit 0", fd)
            assert receive(s)[:3] == (REPLY, n, -errno.EIO)
            assert faults.fired()[0] == 1
            faults.disarm()
        send_start(k, s, 9, "exit 0", fd)
        assert receive(s)[:3] == (REPLY, 9, 0)
        until(lambda: not held(k, 9), "the job to end")
    os.close(fd)


def test_nth_call_is_interrupted(tmp_path, faults):
    """The job is ended all the same."""
    with Keeper(tmp_path, faults=faults) as k, k.connect() as s:
        assert receive(s)[0] == WELCOME
        for n in range(1, 300):
            faults.nth(KEEPER, n, errno.EINTR, SLOW)
            send_start(k, s, n, "sleep 100")
            assert receive(s)[:3] == (REPLY, n, 0)
            until(lambda: begun(k, n), "the job to run")
            send_kill(k, s, 1000 + n, n)
            assert receive(s)[:3] == (REPLY, 1000 + n, 0)
            until(lambda: not held(k, n), "the job to end")
            hit = faults.fired()[0]
            faults.disarm()
            if not hit:
                break
        assert 5 < n < 299


def begun(keeper, job):
    """Whether slot 1 of its record has been written."""
    return any((keeper.records / f"{job}.1").read_bytes()[512:1024])


def held(keeper, job):
    """Whether somebody has its record, so may still begin it."""
    with open(keeper.records / f"{job}.1", "rb") as f:
        return integration.is_locked(f)


@pytest.mark.parametrize("how", ["bye", "term", "alone", "version", "stay"])
def test_it_leaves(tmp_path, how):
    with Keeper(tmp_path, *["--stay"] * (how in ("stay", "term"))) as k:
        with k.connect() as s:
            assert receive(s)[0] == WELCOME
            if how == "bye":
                s.send(bye(3))
                assert receive(s)[:3] == (REPLY, 3, 0) and receive(s) is None
            if how == "version":
                s.send(HEAD.pack(MAGIC, HELLO, 1) + HELLO_BODY.pack(VERSION + 1, 0))
                assert receive(s)[2] == -errno.EPROTO and receive(s) is None
        if how == "stay":
            with k.connect() as s:
                assert receive(s)[0] == WELCOME
            return
        if how == "term":
            k.process.terminate()
        assert k.end()[0] == 0
