"""What jobs print: how much it may be, where it is kept, how long, and how it is followed."""

import base64
import contextlib
import ctypes
import errno
import json
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

import pytest

from conftest import LIMIT, SANITIZER, until
from jobs import ended_with, get, sh, submit, wait
from protocol import LOGS, SERVICE, error
from test_jobs import switches
from test_store import check_store

ENDLESS = "while :; do echo 0123456789; done"  # megabytes until it is looked at, not gigabytes


# --- output_limit ----------------------------------------------------------------------------


def test_who_prints_too_much_is_killed(shared):
    r = shared.submit("--wait", "--output-limit=100K", "--shell", ENDLESS)
    assert r.code == 125 and "output_limit: it printed more than it may" in r.err, r
    job = shared.ctl("list", "--json", "--all", r.out.strip()).json[0]
    assert (job["result"], ended_with(job), job["state"]) == ("output_limit", "SIGKILL", "done")
    size = len(shared.ctl("logs", r.out.strip()).out)
    assert size > 100 << 10
    # By how much, in KiB that are rounded up; here and where people look.
    assert job["overshoot_bytes"] == (size - (100 << 10) + 1023) // 1024 * 1024
    text = f"more than it may ({job['overshoot_bytes'] / 2**20:.{3 if size < 1 << 20 else 1}f} MiB more)"
    assert text in r.err and text in shared.ctl("status", r.out.strip()).out, (text, r)


def test_the_tree_is_killed_and_both_streams_count(shared):
    """Neither of the two alone is too much. What ignores TERM is killed as well."""
    r = shared.submit("--wait", "--output-limit=150K", "--error=file", "--shell",
                      "trap '' TERM; head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; "
                      "sleep 1000 & sleep 1000")
    assert r.code == 125 and "output_limit" in r.err, r
    assert shared.ctl("list", "--json", "--all", r.out.strip()).json[0].get("survivors", 0) == 0


def test_a_job_that_fills_the_disk_is_stopped_soon(private):
    """It ends although nothing else would end it. What it printed is known after a restart, too."""
    private.start()
    r = private.submit("--wait", "--output-limit=1M", "--", "cat", "/dev/zero")
    assert r.code == 125, r
    over = private.job(r.out.strip())["overshoot_bytes"]
    assert over > 0
    private.stop(9)
    private.start()
    assert private.job(r.out.strip())["overshoot_bytes"] == over


def test_who_prints_less_is_left_alone(shared):
    """Over more than one look."""
    r = shared.submit("--wait", "--output-limit=100K", "--shell",
                      "head -c 100000 /dev/zero; sleep 2.1; exit 3")
    assert r.code == 3, r


def test_blocks_behind_the_end_count_and_are_given_back(private):
    """fallocate() makes no file longer and fills the disk. Less than file systems reserve by
    themselves does not count, and is given back as well."""
    private.start(config="[Store]\nFoldOutput=0\n")
    reserve = "echo hi; fallocate -n -o 4096 -l {} /dev/stdout && {}"
    r = private.submit("--wait", "--output-limit=1M", "--shell",
                       reserve.format("200M", "exec sleep 1000"))
    assert r.code == 125 and "output_limit" in r.err, r
    assert "overshoot_bytes" not in private.job(r.out.strip())     # of what is left of it
    some = private.submit("--wait", "--output-limit=1M", "--shell", reserve.format("32M", "exit 7"))
    assert some.code == 7, some
    for ident in r.out.strip(), some.out.strip():
        assert private.ctl("logs", ident).out == "hi\n"
        found = [p for p in (private.state / "output").rglob("*") if p.is_file()]
        assert found and sum(p.stat().st_blocks for p in found) * 512 < 1 << 20, found


def test_the_default_limit_is_of_the_configuration(private):
    private.start(config="[Jobs]\nOutputLimit=64K\n")
    assert private.submit("--wait", "--shell", ENDLESS).code == 125
    job = private.submit("--wait", "--output-limit=1G", "--", "head", "-c", "200K", "/dev/zero")
    assert job.code == 0
    spec = private.ctl("show", "--json", job.out.strip()).json["spec"]
    assert spec["limits"]["output_bytes"] == 1 << 30


def test_the_limit_holds_over_a_restart(private):
    """Of a job that has been adopted; and an end that was on its way stays what it is."""
    private.start()
    ident = private.submit("--output-limit=100K", "--shell",
                           f"while ! [ -e {private.dir}/go ]; do sleep 0.02; done; "
                           + ENDLESS).out.strip()
    private.stop(9)
    private.start()
    (private.dir / "go").touch()
    r = private.ctl("wait", ident)
    assert r.code == 125 and "output_limit" in r.err, r
    private.stop()
    private.start()
    assert private.ctl("list", "--json", "--all", ident).json[0]["result"] == "output_limit"


@pytest.mark.parametrize("much", [False, True], ids=["little", "endless"])
def test_who_is_followed_and_prints_too_much(private, much):
    """Followers have all that it printed, and end with it: by descriptor, by Read, and the one who
    submitted it. Also of an end that goes into the store."""
    private.start(config="[Store]\nFoldOutput=4K\n")
    gate = private.dir / "gate"
    os.mkfifo(gate)
    text = ENDLESS if much else "head -c 2000 /dev/zero | tr '\\0' x; echo; exec sleep 1000"
    ahead = private.popen("volt-submit", "--follow", "--output-limit=1K", "--shell",
                          f"read x <{gate}; {text}")
    until(lambda: private.ctl("list", "--json").json)
    ident = private.ctl("list", "--json").json[0]["id"]
    follower = private.popen("voltctl", "logs", "-f", ident)
    with private.connect() as v:
        until(lambda: get(v, ident)["state"] == "running")
        v.send("org.voltd.logs.Read", {"id": ident}, more=True)
        os.close(os.open(gate, os.O_WRONLY))
        read = b""
        while not (r := v.recv())["parameters"]["end"]:
            read += base64.b64decode(r["parameters"]["data"])
        read += base64.b64decode(r["parameters"]["data"])
    outs = [p.communicate(timeout=LIMIT) for p in (ahead, follower)]
    assert (ahead.returncode, follower.returncode) == (125, 0), outs
    assert "output_limit: it printed more than it may" in outs[0][1], outs[0][1]
    whole = private.ctl("logs", ident).out
    assert whole == read.decode() == outs[0][0] == outs[1][0] and len(whole) > 1024
    assert private.ctl("list", "--json", "--all", ident).json[0]["result"] == "output_limit"


def end_of(v, ident):
    job = get(v, ident)
    return job["result"], ended_with(job)


def test_the_limit_and_the_end_at_once(private):
    """Jobs end by themselves, are cancelled, or run into a timeout about when they are looked at:
    each end is one of those that it may be, and stays that one."""
    private.start(config="[Queue]\nSlots=80\n")
    over = ("output_limit", "SIGKILL")
    may, cancels = {}, []
    with private.connect() as v:
        look = math.ceil(time.monotonic()) + 1
        while time.monotonic() < look - 0.9:
            time.sleep(0.005)   # all of it is submitted behind the look before
        for i in range(24):
            when = look + (i - 12) * 0.006
            late = max(when - time.monotonic(), 0.001)  # it may have been held up so long

            def job(then, i=i, **spec):
                return submit(v, sh(f"head -c 200000 /dev/zero; {then}",
                                    limits={"output_bytes": 100 << 10}, **spec))

            itself = {("exit" if i else "success", i), ("output_limit", i)}  # too late to be killed
            may[job(f"sleep {late}; exit {i}")] = {*itself, over}
            timed = job("exec sleep 1000", timeout_usec=int(late * 1e6))
            may[timed] = {("timeout", "SIGTERM"), over}
            cancels.append((when, job("exec sleep 1000")))
            may[cancels[-1][1]] = {("cancelled", "SIGTERM"), over}
        for when, ident in sorted(cancels):
            time.sleep(max(0, when - time.monotonic()))
            v.ok("org.voltd.jobs.Cancel", {"ids": [ident]})
        wait(v, *may)
        first = {i: end_of(v, i) for i in may}
    for ident, end in first.items():
        assert end in may[ident], (ident, end, may[ident])
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert {i: end_of(v, i) for i in may} == first
        assert wait(v, submit(v, sh("exit 4")))["exit_code"] == 4


# --- where it is kept ------------------------------------------------------------------------


def files(daemon):
    """Output files of jobs: names and sizes. Some may be removed meanwhile."""
    found = {}
    for where, _, names in os.walk(base := daemon.state / "output"):
        for path in (pathlib.Path(where, name) for name in names if not where.endswith("/spare")):
            with contextlib.suppress(FileNotFoundError):
                found[str(path.relative_to(base))] = path.stat().st_size
    return found


def spare(daemon):
    return list((daemon.state / "output" / "spare").iterdir())


def log(daemon, ident, *args):
    r = daemon.ctl("logs", *args, ident)
    assert r.code == 0, r
    return r.out


def test_many_jobs_are_few_files(private):
    private.start(config="[Queue]\nSlots=3\n")
    ident = private.submit("--wait", "--array=1-300", "--shell",
                           "echo $VOLT_ARRAY_INDEX; [ $VOLT_ARRAY_INDEX != 7 ] || seq 1 10000").out.strip()
    ident = ident.splitlines()[0]
    silent = private.submit("--wait", "--array=1-100", "--", "true").out.splitlines()[0]
    until(lambda: list(files(private)) == [f"0/{ident}/7.out"])
    assert len(spare(private)) < 200  # of 400 jobs: a slot is free before its file is
    assert all(p.stat().st_size == 0 for p in spare(private))
    for life in range(2):
        for i in (1, 150, 300):
            assert log(private, f"{ident}_{i}") == f"{i}\n"
        assert log(private, f"{ident}_7") == "7\n" + "".join(f"{i}\n" for i in range(1, 10001))
        assert log(private, f"{silent}_50") == ""
        if life == 0:
            private.stop(9)
            private.start()


def test_a_kept_output_has_offsets_and_lines(shared):
    ident = shared.submit("--wait", "--error=file", "--shell",
                          "seq 1 20; echo wrong >&2").out.strip()
    assert log(shared, ident, "-n", "2") == "19\n20\n"
    assert log(shared, ident, "--stderr") == "wrong\n"
    assert log(shared, ident, "-f") == "".join(f"{i}\n" for i in range(1, 21))
    with shared.connect() as v:
        r = v.ok("org.voltd.logs.Read", {"id": ident, "offset": 2, "max_bytes": 4})
        assert base64.b64decode(r["data"]) == b"2\n3\n" and r["next_offset"] == 6 and not r["end"]
        r = v.ok("org.voltd.logs.Open", {"id": ident})
        assert r == {"size_bytes": 51, "ended": True}
        with pytest.raises(OSError):
            os.write(v.fds[-1], b"x")


def test_what_a_grandchild_prints_later_is_there(shared):
    """And no other job gets its file."""
    done = shared.dir / "printed"
    ident = shared.submit("--wait", "--kill-mode=main", "--shell",
                          f"echo first; (while ! [ -e {shared.dir}/go ]; do sleep 0.02; done; "
                          f"echo second; touch {done}) &").out.strip()
    assert log(shared, ident) == "first\n"
    others = [shared.submit("--wait", "echo", "other").out.strip() for _ in range(5)]
    (shared.dir / "go").touch()
    until(done.exists)
    assert log(shared, ident) == "first\nsecond\n"
    assert [log(shared, i) for i in others] == ["other\n"] * 5


def test_who_reads_while_it_ends_keeps_what_he_has(shared):
    with shared.connect() as v:
        ident = shared.submit("--shell", f"echo text; while ! [ -e {shared.dir}/end ]; "
                              "do sleep 0.02; done").out.strip()
        until(lambda: shared.job(ident)["state"] == "running" and log(shared, ident) == "text\n")
        v.ok("org.voltd.logs.Open", {"id": ident})
        (shared.dir / "end").touch()
        assert shared.ctl("wait", ident).code == 0
        for _ in range(5):
            shared.submit("--wait", "echo", "other")
        assert os.pread(v.fds[-1], 100, 0) == b"text\n"
        assert log(shared, ident) == "text\n"


def test_fold_output_is_a_key(private):
    private.start(config="[Store]\nFoldOutput=0\n")
    ident = private.submit("--wait", "echo", "x").out.strip()
    empty = private.submit("--wait", "true").out.strip()
    until(lambda: files(private) == {f"0/{ident}.out": 2})
    assert log(private, ident) == "x\n" and log(private, empty) == ""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_output_of_a_job_that_ends_without_voltd(private, how):
    private.start()
    ident = private.submit("--shell", f"echo one; while ! [ -e {private.dir}/go ]; "
                           "do sleep 0.02; done; echo two").out.strip()
    until(lambda: private.job(ident)["state"] == "running" and log(private, ident) == "one\n")
    private.stop(how)
    (private.dir / "go").touch()
    private.start()
    assert private.ctl("wait", ident).code == 0
    assert log(private, ident) == "one\ntwo\n"
    until(lambda: files(private) == {})


# --- followed --------------------------------------------------------------------------------


def follow_by_read(v, ident):
    """Begins to follow on its own connection: Read as a stream."""
    v.send("org.voltd.logs.Read", {"id": ident}, more=True)


def bytes_of(replies):
    return b"".join(base64.b64decode(r["parameters"]["data"]) for r in replies)


def read_until(v, data):
    got = b""
    while got != data:
        r = v.recv()
        got += bytes_of([r])
        assert data.startswith(got), (got, data)
    return r


def steps(directory, count, then=""):
    """A command that prints a line for each file that appears."""
    return (f"for i in $(seq 1 {count}); do while ! [ -e {directory}/$i ]; do sleep 0.02; done; "
            f"echo line $i; done; {then}")


def test_what_is_printed_is_pushed(private):
    """Piece by piece, to more than one follower, from before the start to the end."""
    private.start(config="[Queue]\nSlots=1\n")
    blocker = private.submit("--shell", steps(private.dir, 1)).out.strip()
    ident = private.submit("--shell", steps(private.dir, 3, "printf rest")).out.strip()
    with private.connect() as a, private.connect() as b:
        follow_by_read(a, ident)
        follow_by_read(b, ident)
        (private.dir / "1").touch()
        for v in (a, b):
            assert read_until(v, b"line 1\n")["continues"]
        (private.dir / "2").touch()
        for v in (a, b):
            assert read_until(v, b"line 2\n")["continues"]
        (private.dir / "3").touch()
        for v in (a, b):
            got, last = b"", {"continues": True}
            while last.get("continues"):
                last = v.recv()
                got += bytes_of([last])
            assert got == b"line 3\nrest" and last["parameters"]["end"]
    assert log(private, ident) == "line 1\nline 2\nline 3\nrest"
    assert log(private, blocker) == "line 1\n"


def test_following_ends_with_a_job_that_never_starts(private):
    private.start(config="[Queue]\nSlots=1\n")
    private.submit("--shell", steps(private.dir, 1))
    idents = [private.submit("true").out.strip(),
              private.submit("--array=1-3", "true").out.splitlines()[0] + "_2"]
    for ident in idents:
        with private.connect() as v:
            follow_by_read(v, ident)
            assert private.ctl("cancel", ident.partition("_")[0]).code == 0
            assert v.recv()["error"].endswith("NoOutput")


def test_an_array_has_the_output_of_its_elements(private):
    """The protocol says so of the array: at once, also where it still waits, and nothing of a
    damaged store."""
    private.start(config="[Queue]\nSlots=1\n")
    done = private.submit("--wait", "--array=1-2", "echo", "{i}").out.strip()
    blocker = private.submit("sleep", "1000").out.strip()
    waits = private.submit("--array=1-2", "true").out.strip()
    for ident in (done, waits):
        with private.connect() as v:
            reply = v.call("org.voltd.logs.Open", {"id": ident})
            assert reply["error"].endswith("NoOutput"), reply
            assert "it is an array: name an element of it, ID_INDEX" in json.dumps(reply), reply
        r = private.ctl("logs", ident)
        assert (r.code, r.err) == (0, "")
    assert private.ctl("logs", done + "_2").out == "2\n"
    assert private.ctl("cancel", blocker).code == 0


@pytest.mark.skipif(SANITIZER != "", reason="sanitizers have threads of their own")
def test_followers_cost_nothing_while_nothing_is_printed(private):
    private.start()
    ident = private.submit("--output-limit=1G", "--shell", "echo begun; sleep 1000").out.strip()
    silent = private.submit("--shell", "echo begun; sleep 1000").out.strip()
    with private.connect() as a, private.connect() as b:
        for v in (a, b):
            follow_by_read(v, silent)
            read_until(v, b"begun\n")
        assert private.ctl("cancel", ident).code == 0   # who has a limit is looked at
        assert private.ctl("wait", ident).code == 125
        seen = [0, -1, -1]

        def quiet():
            time.sleep(1)
            seen.insert(0, switches(private.process.pid))
            return seen[0] == seen[1] == seen[2]
        until(quiet, "two silent seconds")


def test_a_thousand_followers(private):
    """Of a hundred jobs, ten each; nobody misses a byte."""
    private.start(config="[Queue]\nSlots=100\n[Limits]\nMaxConnectionsPerUser=2000\n")
    ident = private.submit("--array=1-100", "--shell", steps(private.dir, 3)).out.splitlines()[0]
    connections = []
    for i in range(1000):
        connections.append(private.connect())
        follow_by_read(connections[-1], f"{ident}_{i % 100 + 1}")
    for i in (1, 2, 3):
        (private.dir / str(i)).touch()
    for v in connections:
        got, last = b"", {"continues": True}
        while last.get("continues"):
            last = v.recv()
            got += bytes_of([last])
        assert got == b"line 1\nline 2\nline 3\n"
        v.close()


@pytest.mark.alone
def test_without_inotify_the_daemon_sends(private):
    """More clients that follow than a user has instances of inotify; also with -n."""
    private.start()
    ident = private.submit("--shell", "seq 1 100; " + steps(private.dir, 2)).out.strip()
    until(lambda: log(private, ident).endswith("100\n"))
    taken = []
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        while (fd := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
            taken.append(fd)
        assert ctypes.get_errno() == errno.EMFILE
        follow = private.popen("voltctl", "logs", "-f", "-n", "2", ident)
        assert [follow.stdout.readline() for _ in range(2)] == ["99\n", "100\n"]
        (private.dir / "1").touch()
        assert follow.stdout.readline() == "line 1\n"
        private.stop(9)
    finally:
        for fd in taken:
            os.close(fd)
    private.start()
    (private.dir / "2").touch()
    out, err = follow.communicate(timeout=LIMIT)
    assert out == "line 2\n" and follow.returncode == 0, (out, err)


# --- how long --------------------------------------------------------------------------------


def test_output_goes_with_its_job(private):
    config = "[Store]\nKeepEndedJobs=5\nKeepHistoryJobs=20\nFoldOutput=1K\n"
    private.start(config=config)
    large = [private.submit("--wait", "seq", "1", "1000").out.strip() for _ in range(5)]
    array = private.submit("--wait", "--array=1-3", "seq", "1", "1000").out.splitlines()[0]
    assert len(files(private)) == 8
    private.submit("--wait", "--array=1-2", "echo", "x")
    specs = "".join('{"argv": ["echo", "x"]}\n' for _ in range(300))
    ids = private.submit("--wait", "--quiet", "-f", "-", input=specs).out.split()
    until(lambda: files(private) == {})
    for ident in (large[0], f"{array}_1"):
        assert private.ctl("logs", ident).code != 0
    assert log(private, ids[-1]) == log(private, ids[-10]) == "x\n"  # the latter is in the store
    private.stop()
    assert check_store(private).returncode == 0


def test_what_nobody_knows_goes_at_the_start(private):
    """Files that a daemon that was killed had not removed yet."""
    private.start()
    ident = private.submit("--wait", "seq", "1", "3000").out.strip()
    private.stop()
    base = private.state / "output"
    for name in ("0/999.out", "7/8000.err", "8/9000/3.out"):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text("old")
    private.start()
    until(lambda: sorted(p.name for p in base.iterdir()) == ["0", "spare"] and
          list(files(private)) == [f"0/{ident}.out"])


# --- removed by somebody ---------------------------------------------------------------------


def prints(job, much):
    """What it prints, and more than the store takes."""
    return f"echo {job}" + ("; head -c 100000 /dev/zero" if much else "")


def test_output_that_was_removed(private):
    """Whose file has been removed, and who printed nothing or had it folded, are not the same."""
    private.start()
    gate = private.dir / "gate"
    os.mkfifo(gate)
    little, long, nothing = (private.submit("--wait", "--shell", text).out.strip() for text in
                             (prints("little", False), prints("long", True), "true"))
    running = private.submit("--shell", f"echo before; read x <{gate}; echo after").out.strip()
    until(lambda: private.ctl("logs", running).out == "before\n", "it to print")
    shutil.rmtree(private.state / "output")

    def gone(job):
        return f"the output of job {job} is gone: {private.state}/output/0/{job}.out was removed"

    for turn in ("running", "ended", "after a restart"):
        r = private.ctl("logs", "--no-prefix", little, long, nothing, running, little)
        assert (r.code, r.out) == (1, "little\nlittle\n"), (turn, r)
        assert gone(long) in r.err and gone(running) in r.err and r.err.count("gone") == 2, r
        assert gone(long) in private.ctl("status", long, nothing).err
        if turn == "running":
            os.close(os.open(gate, os.O_WRONLY))
            assert private.ctl("wait", running).code == 0
            last = private.submit("--wait", "--shell", prints("new", True)).out.strip()
            assert private.ctl("logs", last).out.startswith("new\n")
            said = private.log.read_text()
            assert said.count(f"{private.state}/output was removed") == 1, said
            assert said.count(f"{private.state}/output/0/{running}.out was removed or") == 1, said
        if turn == "ended":
            private.stop()
            private.start()


@pytest.mark.parametrize("other", ["mkfifo", "mkdir", "ln -s ../../../another"])
def test_what_a_job_puts_in_the_place_of_its_output(private, other):
    """Is not opened: nobody waits for a FIFO, voltd least of all."""
    private.start(workers=1)
    path = private.state / "output/0/1.out"
    another = private.dir / "another"
    another.write_text("of somebody else\n")
    running = private.submit("--shell", f"rm {path}; {other} {path}; touch {private.dir}/up; "
                             f"while ! [ -e {private.dir}/go ]; do sleep 0.02; done").out.strip()
    until(lambda: (private.dir / "up").exists(), "it to be replaced")
    for _ in range(2):
        r = private.ctl("logs", running)
        assert r.code == 1 and f"{path} was removed or replaced" in r.err, r
        (private.dir / "go").touch()
        assert private.ctl("wait", running).code == 0
    assert f"{path} was removed or replaced while its job ran" in private.log.read_text()
    assert private.ctl("clean", "--all").code == 0
    assert private.submit("--wait", "--", "true").code == 0
    assert another.read_text() == "of somebody else\n"


def test_output_that_cannot_be_made(private):
    """The log says which, why, and does not go on about it."""
    private.start()
    (private.state / "output").rename(private.state / "before")
    shutil.rmtree(private.state / "before")
    (private.state / "output").write_text("a file")
    jobs = [private.submit("--wait", "--", "true") for _ in range(3)]
    assert all(r.code == 125 and "output: Not a directory" in r.err for r in jobs), jobs
    said = [line for line in private.log.read_text().splitlines() if "cannot make" in line]
    assert len(said) == 1 and f"{private.state}/output/0/1.out: Not a directory" in said[0], said
    (private.state / "output").unlink()
    assert private.submit("--wait", "--", "true").code == 0


# --- the watch is armed before the look ------------------------------------------------------

# The file grows right before it is watched: a look that came before has not seen it, and no event
# tells of it.
GROWS = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    int (*real)(int, const char *, uint32_t) =
        (int (*)(int, const char *, uint32_t))dlsym(RTLD_NEXT, "inotify_add_watch");
    const char *gate = getenv("GROWS_GATE"), *file = getenv("GROWS_FILE");

    if (gate && unlink(gate) == 0) {
        int out = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (out < 0 || write(out, "late\n", 5) != 5)
            abort();
        close(out);
    }
    return real(fd, path, mask);
}
"""


@pytest.fixture
def grows(private):
    """voltd gets such a file: of job 1, once the gate is there."""
    library = private.dir / "grows.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input=GROWS,
                   text=True, check=True)
    gate = private.dir / "gate"
    private.env.update(LD_PRELOAD=str(library), GROWS_GATE=str(gate),
                       GROWS_FILE=str(private.state / "output/0/1.out"))
    if SANITIZER:
        private.env["ASAN_OPTIONS"] = private.env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("exec sleep 600"))
        assert ident == "1"
        until(lambda: get(v, ident)["state"] == "running")
    gate.touch()
    return gate


def test_voltd_watches_before_it_looks(private, grows):
    with private.connect() as v:
        v.send("org.voltd.logs.Read", {"id": "1"}, more=True)
        reply = v.recv()["parameters"]
        assert base64.b64decode(reply["data"]) == b"late\n" and not grows.exists(), reply


def test_a_meter_watches_before_it_looks(private, grows):
    """What is too much is noticed, although the job prints nothing after it."""
    grows.unlink()
    private.env["GROWS_FILE"] = str(private.state / "output/0/2.out")
    private.stop()
    private.start()
    grows.touch()
    r = private.submit("--wait", "--output-limit=1", "--", "sleep", "600")
    assert r.code == 125 and "output_limit" in r.err, r


@contextlib.contextmanager
def no_descriptor(daemon):
    """voltd can open nothing more than its standard descriptors: what it has open stays."""
    pid = daemon.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_output_that_cannot_be_read_is_not_called_absent(private):
    private.start(config="[Store]\nFoldOutput=0\n")
    ident = private.submit("--wait", "echo", "here").out.strip()
    with private.connect() as v:
        v.ok(SERVICE + "GetInfo")  # the connection is accepted
        with no_descriptor(private):
            for method in "Open", "Read":
                got = error(v.call(LOGS + method, {"id": ident}), LOGS + "OutputUnreadable")
                assert got == {"id": ident, "error": "EMFILE", "reason": os.strerror(errno.EMFILE)}, got
        assert bytes_of([v.call(LOGS + "Read", {"id": ident})]) == b"here\n"


def test_the_client_says_why_output_cannot_be_read(fake):
    reply = {"error": LOGS + "OutputUnreadable",
             "parameters": {"id": "1", "error": "EIO", "reason": "Input/output error"}}
    d = fake(lambda method, _: [reply])
    r = d.run("voltctl", "logs", "1")
    assert r.code == 1 and "the output of job 1 cannot be read: Input/output error" in r.err, r
