"""Those who wait and follow while voltd is killed under them: nothing is missing, nothing comes
twice, and the exit code is the job's."""

import fcntl
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import uuid

import pytest

from house import BIN, BUILD, House, integration, until
from survival import own_programs
from test_chaos import passed

LINES = 60
RECORD_END = BUILD / "tests/chaos/record-end"


@pytest.fixture
def house():
    house = House(slots=4).start()
    yield house
    house.stop_guard()
    house.kill_rest()
    house.remove()


def numbered(house, lines=LINES, code=7):
    """A job that prints numbered lines, slower than voltd is killed."""
    return ["sh", "-c", f"i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo line $i; "
                        f"sleep 0.03; done; exit {code}"]


def harass(house, process, begun, times=3):
    """Kills voltd again and again while the program runs, until it has ended: from when it has
    begun, as who has never been served does not try again."""
    until(begun, "the program to begin")
    for _ in range(times):
        time.sleep(0.3)     # somewhere in its middle: any moment will do
        if process.poll() is not None:
            break
        house.kill_voltd()
        until(house.up.is_set, "voltd to come back")
    process.wait(timeout=integration.LIMIT)
    return [(house.dir / name).read_text() for name in ("out", "err")]


def program(house, name, *args):
    with open(house.dir / "out", "wb") as out, open(house.dir / "err", "wb") as err:
        return subprocess.Popen([BIN / name, *args], env=house.env, stdin=subprocess.DEVNULL,
                                stdout=out, stderr=err, cwd=house.dir)


def test_submit_wait(house):
    p = program(house, "volt-submit", "--wait", "--", *numbered(house))
    out, err = harass(house, p, (house.dir / "out").read_bytes)
    assert (p.returncode, out.split()) == (7, ["1"]), err


def test_logs_follow(house):
    job = house.submit("--", *numbered(house)).lines[0]
    p = program(house, "voltctl", "logs", "-f", job)
    out, err = harass(house, p, (house.dir / "out").read_bytes)
    assert out.splitlines() == [f"line {i}" for i in range(1, LINES + 1)], err
    assert p.returncode == 0


def test_wait_of_many(house):
    jobs = [house.submit("--", *numbered(house, 20 + i, i)).lines[0] for i in range(8)]
    p = program(house, "voltctl", "wait", *jobs)
    _, err = harass(house, p, lambda: integration.takes_interrupts(p))
    assert p.returncode == 7, err
    assert [house.job(j)["exit_status"] if i else 0 for i, j in enumerate(jobs)] == list(range(8))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def record(house, number, version):
    """The record of a job that has not begun, as the keeper makes it."""
    boot = uuid.UUID(pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    head = struct.pack("<4sIQqII16sQI", b"VCRD", version, number, -1, 1, 0, boot.bytes, 1, 0)
    path = house.state / f"rec/{number}.1"
    path.write_bytes((head + struct.pack("<I", crc32c(head))).ljust(4096, b"\0"))
    return path


def test_an_end_that_was_no_event(house):
    """It is seen when the job is to stop: the keeper finds nothing left to be signalled."""
    with house.connect() as v:
        job = v.ok("org.voltd.jobs.Submit", {"spec": {"shell": "exec sleep 1000"}})["id"]
        until(lambda: v.ok("org.voltd.jobs.Get", {"id": job})["job"]["state"] == "running")
        pid = v.ok("org.voltd.jobs.Get", {"id": job})["job"]["pid"]
        with subprocess.Popen([RECORD_END, house.state / f"rec/{job}.1", "5"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as end:
            assert end.stdout.readline() == b"written\n"    # and not closed before it is seen
            v.ok("org.voltd.jobs.Cancel", {"ids": [job]})
            *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
            end.stdin.close()
        assert last["jobs"][0]["exit_status"] == 5
    os.kill(pid, signal.SIGKILL)


def orphans(house):
    with house.connect() as v:
        return v.ok("org.voltd.jobs.List", {"filter": {"orphans": True}})["jobs"]


def lock_record(file, version):
    if version == 1:
        fcntl.flock(file, fcntl.LOCK_EX)
    else:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, integration.whole_file(fcntl.F_WRLCK))


@pytest.mark.parametrize("version", [1, 2])
def test_who_never_began_is_forgotten(house, version):
    """By a voltd that was killed and does not know the job any more: it is nothing that runs, and
    nothing that is lost. While somebody might still begin it, it runs for all that is known."""
    gone = record(house, 1000, version)
    with open(record(house, 1001, version), "r+") as held:
        lock_record(held, version)
        house.kill_voltd()
        until(house.up.is_set, "voltd to come back")
        assert [(j["id"], j["state"]) for j in orphans(house)] == [("1001", "starting")]
        until(lambda: not gone.exists(), "the record to go")
    until(lambda: orphans(house)[0]["state"] == "done", "the other to be given up")
    assert [orphans(house)[0][k] for k in ("id", "result", "step")] == ["1001", "lost", "never started"]


def test_the_runtime_directory_vanishes(house):
    """As $XDG_RUNTIME_DIR does. Who is connected is served, running jobs go on; without a keeper
    those that wait say why in the log, and start when it is possible again."""
    with house.connect() as v:
        def submit(code):
            return v.ok("org.voltd.jobs.Submit", {"spec": {"shell": f"exit {code}"}})["id"]

        def ended(job):
            *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
            return last["jobs"][0]["exit_status"]

        shutil.rmtree(house.runtime)
        assert ended(submit(5)) == 5
        keeper = house.keeper()
        assert house.kill_keeper()
        job = submit(6)
        until(lambda: "cannot reach or start the keeper" in house.log.read_text(), "a word of it")
        assert v.ok("org.voltd.jobs.Get", {"id": job})["job"]["state"] == "starting"
        house.runtime.mkdir(mode=0o700)
        assert ended(job) == 6 and house.keeper() not in (None, keeper)
        until(lambda: "the keeper is there" in house.log.read_text(), "a word of that")


OTHER_VERSION = """#!/usr/bin/python3
import os, signal, socket, struct
signal.pthread_sigmask(signal.SIG_SETMASK, [])
listener = socket.socket(fileno=3)
listener.setblocking(True)
while True:
    c, _ = listener.accept()
    magic, _, serial = struct.unpack_from("<IIQ", c.recv(4096))
    c.send(struct.pack("<IIQiIII32x", magic, 7, serial, -71, 1 << 30, os.getpid(), 0))
    c.close()
"""


def test_a_keeper_of_another_version_under_a_running_voltd():
    """The programs were replaced, and the keeper ended before voltd was restarted: said in the
    log, and the restart puts it right."""
    house = House()
    own_programs(house)
    house.start()
    program = house.bin / "voltd-keeper"
    program.rename(house.bin / "ours")
    program.write_text(OTHER_VERSION)
    program.chmod(0o755)
    assert house.kill_keeper()
    with house.connect() as v:
        job = v.ok("org.voltd.jobs.Submit", {"spec": {"shell": "exit 6"}})["id"]
        until(lambda: "of another version" in house.log.read_text(), "a word of it")
        assert v.ok("org.voltd.jobs.Get", {"id": job})["job"]["state"] == "starting"
    (house.bin / "ours").rename(program)
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    with house.connect() as v:
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
    assert last["jobs"][0]["exit_status"] == 6
    passed(house, [])
