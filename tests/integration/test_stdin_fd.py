"""Submit with a descriptor: what is in the file is kept with the job, or the reason why not."""

import contextlib
import os
import socket
import tempfile

import pytest

from conftest import until
from jobs import wait
from protocol import INFO, JOBS, LOGS, SERVICE, error, invalid, message

CAT = {"argv": ["cat"]}


@pytest.fixture
def v(private):
    private.start(config="[Limits]\nMaxStdin=64K\n")
    with private.connect() as v:
        yield v


def send(v, data, *fds):
    assert socket.send_fds(v.sock, [data], list(fds)) == len(data)


def call(v, fd, spec=None, **more):
    send(v, message(JOBS + "Submit", {"spec": spec or CAT, "stdin_fd": 0, **more}), *([] if fd is None else [fd]))
    return v.recv()


def output(v, ident):
    wait(v, ident)
    v.ok(LOGS + "Open", {"id": ident})
    with os.fdopen(v.fds.pop(), "rb") as f:
        return f.read()


@pytest.fixture
def file(private):
    with open(private.dir / "input", "w+b", buffering=0) as f:
        yield f


def test_what_is_in_it_is_the_input(private, v, file):
    file.write(b"first\nsecond\n")
    file.seek(6)
    ident = call(v, file.fileno())["parameters"]["id"]
    assert output(v, ident) == b"second\n" and file.tell() == 6
    file.write(b"later\n")
    spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
    assert spec == {**CAT, "stdin_data": "c2Vjb25kCg=="}
    private.stop()
    private.start()
    with private.connect() as again:  # kept like the rest
        assert again.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"] == spec


@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 16385, 40000, 65535, 65536])
def test_each_byte_of_it(v, file, size):
    data = os.urandom(size)
    file.write(data)
    file.seek(0)
    assert output(v, call(v, file.fileno())["parameters"]["id"]) == data


def test_memory_is_a_file_too(v):
    fd = os.memfd_create("input")
    os.write(fd, b"in memory")
    os.lseek(fd, 0, os.SEEK_SET)
    assert output(v, call(v, fd)["parameters"]["id"]) == b"in memory"
    os.close(fd)


def test_a_file_that_does_not_say_its_size(v):
    with open("/proc/self/status", "rb") as f:  # of this process: it is 0 bytes long
        assert output(v, call(v, f.fileno())["parameters"]["id"]).startswith(b"Name:")


def refused(v, fd, *words, spec=None, **more):
    reason = invalid(call(v, fd, spec, **more), "stdin_fd")
    assert all(w in reason for w in words), reason


def test_what_cannot_be_used_is_refused_with_its_reason(private, v, file):
    r, w = os.pipe()
    a, b = socket.socketpair()
    refused(v, r, "is a pipe", "stdin_data")
    refused(v, a.fileno(), "is a socket")
    master, slave = os.openpty()
    refused(v, slave, "a device or a terminal")
    directory = os.open(private.dir, os.O_RDONLY)
    refused(v, directory, "is a directory")
    only_written = os.open(file.name, os.O_WRONLY)
    refused(v, only_written, "not open for reading")
    only_named = os.open(file.name, os.O_PATH)
    refused(v, only_named, "not open for reading")
    file.write(b"x" * 65537)
    file.seek(0)
    refused(v, file.fileno(), "65536", "MaxStdin=")
    file.truncate(3)
    refused(v, None, "none came with the call")
    refused(v, file.fileno(), "must be 0", stdin_fd=1)
    refused(v, file.fileno(), "not with stdin", spec={**CAT, "stdin": "/dev/null"})
    refused(v, file.fileno(), "not with stdin", spec={**CAT, "stdin_data": ""})
    refused(v, file.fileno(), "only kind exec", spec={"kind": "noop"})
    mem = os.open("/proc/self/mem", os.O_RDONLY)
    refused(v, mem, "cannot be read: Input/output error")
    assert output(v, call(v, file.fileno())["parameters"]["id"]) == b"xxx"
    for fd in (r, w, master, slave, directory, only_written, only_named, mem):
        os.close(fd)


def test_it_goes_with_its_call(private, v, file):
    """Whatever is before and behind it on the connection, and with a call that has no use for it."""
    file.write(b"mine")
    file.seek(0)
    with_it = message(JOBS + "Submit", {"spec": CAT, "stdin_fd": 0})
    send(v, INFO * 3 + with_it, file.fileno())
    v.send_raw(INFO + with_it)
    for _ in range(3):
        assert v.recv()["parameters"]["product"] == "voltd"
    ident = v.recv()["parameters"]["id"]
    assert v.recv()["parameters"]["product"] == "voltd"
    assert "none came" in invalid(v.recv(), "stdin_fd")
    assert output(v, ident) == b"mine"
    send(v, INFO, file.fileno())
    assert v.recv()["parameters"]["product"] == "voltd"
    refused(v, None, "none came")
    send(v, message(SERVICE + "None"), file.fileno())
    error(v.recv(), SERVICE + "MethodNotFound")
    refused(v, None, "none came")
    long = {**CAT, "env": {"LONG": "x" * 100_000}}
    assert output(v, call(v, file.fileno(), long)["parameters"]["id"]) == b"mine"
    send(v, with_it[:20], file.fileno())
    v.send_raw(with_it[20:])
    assert output(v, v.recv()["parameters"]["id"]) == b"mine"


def submitted(v, file):
    """The id, once there is a place: those of calls that have ended come back a little later."""
    while "error" in (got := call(v, file.fileno())):
        assert "none came" in invalid(got, "stdin_fd")
    return got["parameters"]["id"]


def open_files(pid):
    for n in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/{pid}/fd/{n}")


def test_a_hundred_that_nobody_asked_for(private, v, file):
    """They neither stay open, nor take the place of one that is wanted."""
    file.write(b"mine")
    file.seek(0)
    with private.connect() as other, tempfile.TemporaryFile() as junk:
        for _ in range(100):
            send(other, INFO, junk.fileno())
        for _ in range(100):
            other.recv()
        assert output(v, submitted(v, file)) == b"mine"
        name = os.readlink(f"/proc/self/fd/{junk.fileno()}")
        until(lambda: name not in open_files(private.process.pid), "them to be closed")


def test_a_connection_that_ends_before_its_call(private, v, file):
    for _ in range(5):
        with private.connect() as other:
            send(other, message(JOBS + "Submit", {"spec": CAT, "stdin_fd": 0})[:30], file.fileno())
    file.write(b"mine")
    file.seek(0)
    assert output(v, submitted(v, file)) == b"mine"
