"""Jobs of a real voltd: their ends, timeouts, cancel, arrays, slots; the daemon's own end,
its death, its memory, its silence."""

import io
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import time

import pytest

from conftest import BIN, SANITIZER, is_locked, processes, until
from jobs import JOBS, begun, ended, ended_with, get, keeper_of, records, sh, submit, wait


def stats(daemon):
    with daemon.connect_control() as v:
        return v.ok("org.voltd.control.Stats")


def contents(daemon):
    """Of the exit records, by name."""
    return {p.name: p.read_bytes() for p in records(daemon)}


def is_free(path):
    """Nobody holds the lock on a record any more: its shim has ended."""
    with open(path) as f:
        return not is_locked(f)


def record_end(data):
    """(end, status) of slot 2: record.h."""
    return struct.unpack_from("Ii", data, 1024)


@pytest.fixture
def conn(shared):
    with shared.connect() as v:
        yield v


# --- ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize("spec, result, end, exit_code", [
    (sh("exit 0"), "success", 0, 0),
    (sh("exit 7"), "exit", 7, 7),
    (sh("kill -9 $$"), "signal", "SIGKILL", 137),
    (sh("sleep 100", timeout_usec=50000), "timeout", "SIGTERM", 124),
    ({"argv": ["/does/not/exist"]}, "exec_failed", "ENOENT", 127),
    ({"argv": ["/etc/passwd"]}, "exec_failed", "EACCES", 126),
    (sh("true", cwd="/does/not/exist"), "exec_failed", "ENOENT", 125),
    (sh("true", output="path", output_path="/does/not/exist"), "exec_failed", "ENOENT", 125),
    ({"kind": "noop"}, "success", None, 0),
    ({"kind": "sleep", "duration_usec": 1000}, "success", None, 0),
    ({"kind": "sleep", "duration_usec": 10**9, "timeout_usec": 1000}, "timeout", None, 124),
])
def test_ends(conn, spec, result, end, exit_code):
    job = ended(conn, submit(conn, spec))
    assert (job["state"], job["result"], job["exit_code"]) == ("done", result, exit_code)
    assert ended_with(job) == end
    assert job["attempt"] == 1
    assert job["submitted_at_usec"] <= job["ended_at_usec"]


def timed_out(v, path, trap, **more):
    """The job of a shell whose trap was there before its time was up: a try that got less
    far says nothing about traps."""
    usec = 100000
    while True:
        job = ended(v, submit(v, sh(f"trap {trap} TERM; touch '{path}';"
                                    "while :; do sleep 0.01; done",
                                    timeout_usec=usec, **more)))
        if path.exists():
            return job
        usec *= 2


def test_a_term_handler_that_exits_cleanly_timed_out_all_the_same(shared, conn):
    job = timed_out(conn, shared.dir / "trapped", "'exit 0'")
    assert (job["result"], ended_with(job), job["exit_code"]) == ("timeout", 0, 124)


def test_kill_follows_a_stop_signal_that_is_ignored(shared, conn):
    job = timed_out(conn, shared.dir / "ignoring", "''", kill_after_usec=100000)
    assert (job["result"], ended_with(job)) == ("timeout", "SIGKILL")


def test_cancel_ends_the_whole_tree(shared, conn):
    up = shared.dir / "tree"
    ident = submit(conn, sh(f"(sleep 1000 & sleep 1000 & touch {up}; wait) & wait"))
    until(lambda: up.exists() and get(conn, ident)["state"] == "running")
    pid = get(conn, ident)["pid"]
    conn.ok(JOBS + "Cancel", {"ids": [ident]})
    job = ended(conn, ident)
    assert job["result"] == "cancelled"
    assert job.get("survivors", 0) == 0
    assert not pathlib.Path(f"/proc/{pid}").exists()


FORKS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for i in range(60):         # those that sleep, each in a session of its own
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
        os._exit(0)
for i in range(4):          # those that are never the same process for long
    if os.fork() == 0:
        end = time.monotonic() + 60     # should the test fail
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.002)
        os._exit(0)
open(sys.argv[1], "w").close()
time.sleep(1000)
"""


def test_what_forks_without_end_is_ended(private):
    """Sixty sessions, and four processes that get away by forking, five hundred times a second."""
    private.start()
    with private.connect() as v:
        ident = submit(v, {"argv": [sys.executable, "-c", FORKS, str(private.dir / "up")],
                           "env": {}, "cwd": str(private.dir), "kill_after_usec": 100_000})
        until((private.dir / "up").exists)
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        job = ended(v, ident)
        assert (job["result"], job.get("survivors", 0)) == ("cancelled", 0), job
        ours = {private.process.pid, keeper_of(private)}
        assert not set(processes(str(private.dir / "up"))) - ours


def test_cancelled_in_the_queue_never_runs(private):
    """Nothing short has run in this one, after which the next would be starting already."""
    private.start(config="[Queue]\nSlots=2\n")
    with private.connect() as v:
        blockers = [submit(v, sh("sleep 1000")) for _ in range(2)]
        ident = submit(v, sh(f"touch {private.dir}/ran"))
        job = get(v, ident)
        assert (job["state"], job["wait"]) == ("queued", "slot")
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        job = get(v, ident)
        assert (job["state"], job["result"], job["attempt"]) == ("done", "cancelled", 0)
        v.ok(JOBS + "Cancel", {"ids": blockers})
        wait(v, *blockers)
        assert not (private.dir / "ran").exists()


def test_environment_is_what_was_given_and_ours_wins(shared, conn):
    ident = submit(conn, {"argv": ["/usr/bin/env"],
                          "env": {"A": "1", "VOLT_JOB_ID": "forged"}})
    wait(conn, ident)
    with conn_output(shared, ident) as f:
        env = dict(line.rstrip("\n").split("=", 1) for line in f)
    assert env == {"A": "1", "VOLT_JOB_ID": ident, "VOLT_ATTEMPT": "1",
                   "VOLT_ADDRESS": f"unix:{shared.socket}", "VOLT_JOB": f"{ident} {shared.socket}"}


def conn_output(daemon, ident):
    r = daemon.ctl("logs", ident)
    assert r.code == 0, r
    return io.StringIO(r.out)


def test_jobs_get_the_limit_of_descriptors_that_voltd_was_started_with(private):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard - 1, hard))
    try:
        private.start()
        assert f"{hard} " in next(
            line for line in pathlib.Path(f"/proc/{private.process.pid}/limits").open()
            if line.startswith("Max open files"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with private.connect() as v:
        ident = submit(v, sh("ulimit -Sn"))
        wait(v, ident)
        with conn_output(private, ident) as f:
            assert int(f.read()) == hard - 1


def test_nothing_of_the_daemon_leaks_into_a_job(shared, conn):
    ident = submit(conn, {"argv": ["/bin/sh", "-c",
                                   "ls /proc/self/fd; grep Sig /proc/self/status"],
                          "env": {"PATH": os.environ["PATH"]}})
    wait(conn, ident)
    with conn_output(shared, ident) as f:
        lines = f.read().split("\n")
    assert lines[:3] == ["0", "1", "2"]
    masks = {line.split(":")[0]: int(line.split()[1], 16) for line in lines if "Sig" in line
             and "Q" not in line}
    nptl = 3 << 31  # 32 and 33 belong to libc, which lets nobody change them
    assert masks["SigBlk"] == 0 and masks["SigIgn"] & ~nptl == 0


# --- arrays, slots, priority -----------------------------------------------------------------


def test_array(shared, conn):
    ident = submit(conn, {"argv": ["/bin/sh", "-c", "echo $VOLT_ARRAY_INDEX $VOLT_JOB_ID $VOLT_ARRAY_ID "
                                   "$VOLT_ARRAY_INDEX; exit $(($VOLT_ARRAY_INDEX % 3))"],
                          "array": {"first": 1, "last": 30}})
    last = wait(conn, ident)
    assert last["exit_code"] == 2
    job = get(conn, ident)
    assert job["counts"] == {"total": 30, "queued": 0, "running": 0, "done": 30, "failed": 20}
    assert job["state"] == "done"
    for i in (1, 15, 30):
        element = get(conn, f"{ident}_{i}")
        assert element["exit_code"] == i % 3
        with conn_output(shared, f"{ident}_{i}") as f:
            assert f.read() == f"{i} {ident}_{i} {ident} {i}\n"
    assert conn.call(JOBS + "Get", {"id": f"{ident}_31"})["error"] == JOBS + "NoSuchJob"


def test_slots_bound_what_runs(private):
    private.start(config="[Queue]\nSlots=3\n")
    with private.connect() as v:
        ident = submit(v, {**sh(f"""
            mkdir -p {private.dir}/runs/$VOLT_ARRAY_INDEX
            ls {private.dir}/runs | wc -l
            rmdir {private.dir}/runs/$VOLT_ARRAY_INDEX"""), "array": {"first": 1, "last": 40}})
        wait(v, ident)
        for i in range(1, 41):
            with conn_output(private, f"{ident}_{i}") as f:
                assert 1 <= int(f.read()) <= 3


def three_jobs(v, spec):
    return v.ok(JOBS + "SubmitBatch", {"specs": [spec] * 3})["ids"]


def three_elements(v, spec):
    ident = submit(v, {**spec, "array": {"first": 1, "last": 3}})
    return [f"{ident}_{i}" for i in (1, 2, 3)]


@pytest.mark.alone
@pytest.mark.parametrize("end", ["go on", "cancel", signal.SIGKILL])
@pytest.mark.parametrize("submit_three", [three_jobs, three_elements])
def test_one_that_was_to_start_soon_goes_back_when_no_slot_comes_free(private, submit_three, end):
    """Where jobs are short the next one is starting before there is a slot. Behind one that is
    long it is queued again, first in the line, and runs once, as its first attempt. One that is
    cancelled there has none, and no record to be removed."""
    private.start(config="[Queue]\nSlots=1\nStartAhead=16\n")
    held = sh(f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{private.dir}/ran; "
              f"until [ -e {private.dir}/go.$VOLT_JOB_ID ]; do sleep 0.01; done")
    told, three = set(), []

    def hear_of(*event):
        while event not in told:
            told.update((e["id"], e["event"], e["state"])
                        for e in watch.recv()["parameters"].get("events", ()))

    def let_them_go(v):
        for ident in three:
            until(lambda: get(v, ident)["state"] == "running", "its turn")
            (private.dir / f"go.{ident}").touch()
            assert ended(v, ident)["result"] == "success"
        ran = (private.dir / "ran").read_text().split()
        assert ran[-len(three):] == [f"{i}.1" for i in three] and len(ran) == len(set(ran))

    with private.connect() as v, private.connect() as watch:
        watch.send(JOBS + "Watch", more=True)
        for _ in range(5):
            v.ok(JOBS + "SubmitBatch", {"specs": [sh(":")] * 60})
            three = submit_three(v, held)
            hear_of(three[0], "started", "running")
            soon = get(v, three[1])["state"] == "starting"
            hear_of(submit(v, {"kind": "noop"}), "exited", "done")
            if soon or (three[1], "deferred", "queued") in told:
                break
            let_them_go(v)  # the short ones were not: other work has the processors
        else:
            pytest.skip("no job was to start soon: other work has the processors")
        hear_of(three[1], "deferred", "queued")
        until(lambda: get(v, three[1])["state"] == "queued", "the second to wait")
        if end == "cancel":
            v.ok(JOBS + "Cancel", {"ids": [three[1]]})
            job = ended(v, three.pop(1))
            assert job["result"] == "cancelled" and job["attempt"] == 0
    if end == signal.SIGKILL:
        private.stop(end)
        private.start(config="[Queue]\nSlots=1\nStartAhead=16\n")
    with private.connect() as v:
        let_them_go(v)
        assert get(v, three[1])["attempt"] == 1
    until(lambda: not records(private), "the records to be removed")
    assert "the keeper has gone" not in private.log.read_text()


def test_higher_priority_goes_first_and_equal_ones_in_order(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        blocker = submit(v, sh("sleep 1000"))
        until(lambda: get(v, blocker)["state"] == "running")
        order = private.dir / "order"
        idents = {name: submit(v, sh(f"echo {name} >>{order}", priority=p))
                  for name, p in (("a", 0), ("b", 5), ("c", 0), ("d", -5), ("e", 5))}
        assert get(v, idents["d"])["wait_position"] == 4
        v.ok(JOBS + "Cancel", {"ids": [blocker]})
        wait(v, *idents.values())
        assert order.read_text().split() == ["b", "e", "a", "c", "d"]


# --- the daemon's own end --------------------------------------------------------------------


def start_fifty(daemon, v):
    """50 running jobs that go on until `go` exists and exit with their index."""
    script = (f"touch {daemon.dir}/up.$VOLT_ARRAY_INDEX;"
              f"while ! [ -e {daemon.dir}/go ]; do sleep 0.05; done; exit $VOLT_ARRAY_INDEX")
    ident = submit(v, {**sh(script), "array": {"first": 1, "last": 50}})
    until(lambda: len(list(daemon.dir.glob("up.*"))) == 50)
    return ident


def check_fifty(daemon, ident):
    (daemon.dir / "go").touch()
    until(lambda: all(map(is_free, records(daemon))), "the records")
    found = contents(daemon)
    assert len(found) == 50
    for i in range(1, 51):
        assert record_end(found[f"{ident}_{i}.1"]) == (1, i)


# The store is lost: the records alone outlive the daemon. With the store: test_adopted.py.


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_running_jobs_outlive_the_daemon_with_exact_statuses(private, how):
    private.start(config="[Queue]\nSlots=50\n")
    with private.connect() as v:
        ident = start_fifty(private, v)
    code = private.stop(how)
    assert code == (0 if how == signal.SIGTERM else -9)
    check_fifty(private, ident)
    private.lose_store()

    # The next one knows them as orphans, exactly; never runs them again; ids go on.
    private.start()
    before = contents(private)
    with private.connect() as v:
        jobs = v.ok(JOBS + "List", {"filter": {"orphans": True}, "limit": 1000})["jobs"]
        assert len(jobs) == 50 and all(j["orphan"] for j in jobs)
        assert {j["id"]: ended_with(j) for j in jobs} == {f"{ident}_{i}": i for i in range(1, 51)}
        assert v.ok(JOBS + "List", {})["jobs"] == []
        assert int(submit(v, {"kind": "noop"})) > int(ident)
    assert contents(private) == before
    assert stats(private)["jobs"]["orphans"] == 50


def test_all_orphans_are_listed_however_many_are_of_one_array(private):
    private.start(config="[Queue]\nSlots=80\n")
    hold = sh(f"until [ -e {private.dir}/go ]; do sleep 0.1; done")
    with private.connect() as v:
        ident = submit(v, {**hold, "array": {"first": 1, "last": 70}})
        submit(v, hold)
        until(lambda: len(records(private)) == 71 and all(map(begun, records(private))))
    private.stop(signal.SIGKILL)
    private.lose_store()
    private.start()
    with private.connect() as v:
        for newest in (False, True):
            listed, page = [], {"cursor": None}
            while "cursor" in page:
                page = v.ok(JOBS + "List", {"filter": {"orphans": True}, "limit": 50,
                                            "newest_first": newest, "cursor": page["cursor"]})
                listed += [j["id"] for j in page["jobs"]]
            assert len(set(listed)) == len(listed) == 71
            assert f"{ident}_70" in listed
    (private.dir / "go").touch()
    until(lambda: all(map(is_free, records(private))), "their ends")


def test_an_orphan_that_runs_is_followed_to_its_end(private):
    private.start()
    with private.connect() as v:
        ident = submit(v, sh(f"while ! [ -e {private.dir}/go ]; do sleep 0.05; done; exit 3"))
        until(lambda: get(v, ident)["state"] == "running")
    private.stop(signal.SIGKILL)
    private.lose_store()
    private.start()
    with private.connect() as v:
        assert get(v, ident)["state"] == "running"
        (private.dir / "go").touch()
        job = ended(v, ident)
        assert (job["orphan"], job["result"], ended_with(job)) == (True, "exit", 3)


def parent(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rsplit(")", 1)[1].split()[1])


def test_a_killed_keeper_costs_nothing(private):
    private.start(config="[Queue]\nSlots=10\n")
    with private.connect() as v:
        ident = submit(v, {**sh(f"touch {private.dir}/up.$VOLT_ARRAY_INDEX;"
                                f"while ! [ -e {private.dir}/go ]; do sleep 0.05; done;"
                                "exit $VOLT_ARRAY_INDEX"), "array": {"first": 1, "last": 5}})
        until(lambda: len(list(private.dir.glob("up.*"))) == 5)
        os.kill(keeper_of(private), signal.SIGKILL)
        later = [submit(v, sh(f"exit {i}")) for i in range(5)]
        for i, other in enumerate(later):
            assert ended(v, other)["exit_code"] == i
        (private.dir / "go").touch()
        assert wait(v, ident)["exit_code"] == 5
        for i in range(1, 6):
            assert ended_with(get(v, f"{ident}_{i}")) == i


def test_a_killed_shim_makes_the_job_lost_and_ends_its_tree(private):
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("sleep 1000 & sleep 1000; wait"))
        until(lambda: get(v, ident)["state"] == "running")
        pid = get(v, ident)["pid"]
        os.kill(parent(pid), signal.SIGKILL)
        job = ended(v, ident)
        assert (job["result"], job["exit_code"]) == ("lost", 125)
        until(lambda: not pathlib.Path(f"/proc/{pid}").exists())
        assert ended_with(ended(v, submit(v, sh("exit 4")))) == 4


def test_kill_mode_main_leaves_the_rest_alone(private):
    private.start()
    with private.connect() as v:
        ident = submit(v, sh(f"(touch {private.dir}/up;"
                             f" while ! [ -e {private.dir}/go ]; do sleep 0.05; done;"
                             f" touch {private.dir}/gone) & exec sleep 1000",
                             kill_mode="main"))
        until(lambda: (private.dir / "up").exists())
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        assert ended(v, ident)["result"] == "cancelled"
        (private.dir / "go").touch()
        until(lambda: (private.dir / "gone").exists())


def test_shutdown_cancel_leaves_no_process(private):
    private.start(config="[Queue]\nSlots=8\n")
    with private.connect() as v:
        for i in range(8):
            submit(v, sh(f"sleep 1000 & touch {private.dir}/up.{i}; wait"))
        submit(v, sh("sleep 1000"))
        submit(v, {"kind": "sleep", "duration_usec": 10**12})
        until(lambda: len(list(private.dir.glob("up.*"))) == 8)
        with private.connect_control() as c:
            c.ok("org.voltd.control.Shutdown", {"cancel": True})
    assert private.process.wait(60) == 0
    private.process = None
    assert contents(private) == {}
    marked = [p for p in os.listdir("/proc") if p.isdigit() and cmdline(p) == "sleep 1000"
              and cwd_or_env(p, private)]
    assert marked == []


def cmdline(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def cwd_or_env(pid, daemon):
    try:
        return str(daemon.socket) in pathlib.Path(f"/proc/{pid}/environ").read_text()
    except OSError:
        return False


def test_a_second_daemon_is_refused(private):
    private.start()
    done = subprocess.run([BIN / "voltd", "--user", f"--runtime-dir={private.runtime}",
                           f"--state-dir={private.state}"], env=private.env,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert str(private.process.pid) in done.stderr
    assert private.answers()


@pytest.mark.parametrize("args, text", [
    (["--nonsense"], "--nonsense"), (["--workers", "0"], "--workers"),
    (["--workers", "x"], "--workers"), (["--workers"], "--workers"),
    (["--user", "--system"], "exclude"), (["extra"], "extra"),
])
def test_usage(args, text):
    done = subprocess.run([BIN / "voltd", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert text in done.stderr and done.stdout == ""


def test_bad_configuration_is_named(private):
    private.config.write_text("[Queue]\nSlots=many\n")
    done = subprocess.run([BIN / "voltd", "--user", f"--config={private.config}",
                           f"--runtime-dir={private.runtime}", f"--state-dir={private.state}"],
                          env=private.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Slots" in done.stderr and str(private.config) in done.stderr


def test_sighup_reloads_and_keeps_the_old_on_error(private):
    private.start(config="[Queue]\nSlots=3\n")
    assert stats(private)["jobs"]["slots"] == 3
    private.config.write_text("[Queue]\nSlots=5\n[Daemon]\nMaxBlockingThreads=7\n")
    private.process.send_signal(signal.SIGHUP)
    until(lambda: stats(private)["jobs"]["slots"] == 5)
    until(lambda: "Daemon.MaxBlockingThreads" in private.log.read_text())
    private.config.write_text("[Queue]\nSlots=x\n")
    private.process.send_signal(signal.SIGHUP)
    until(lambda: "not reloaded" in private.log.read_text())
    assert stats(private)["jobs"]["slots"] == 5


# --- many -----------------------------------------------------------------------------------


def status_of(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(name)).split()[1])


def batch(v, spec, n):
    r = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * n})
    assert r["rejected"] == []
    return r["ids"]


def test_counters_add_up_after_many_noops(private):
    n = 100000 if not SANITIZER else 10000
    private.start()
    with private.connect() as v:
        for _ in range(2):
            batch(v, {"kind": "noop"}, n)
    until(lambda: stats(private)["jobs"]["ended"] == 2 * n)
    s = stats(private)
    assert s["jobs"]["submitted"] == 2 * n
    assert s["jobs"]["results"]["success"] == 2 * n
    t = s["totals"]
    assert t["spawned"] == t["completed"] + t["live"]
    assert t["stolen"] > 0 and t["lifo_hits"] > 0
    assert all(w["polled"] > 0 for w in s["workers"])


def listed(private):
    """How many jobs voltd has something to say about."""
    n, cursor = 0, {}
    with private.connect() as v:
        while cursor is not None:
            page = v.ok(JOBS + "List", {"limit": 1000, **cursor})
            n += len(page["jobs"])
            cursor = {"cursor": page["cursor"]} if page.get("cursor") else None
    return n


def sleep_and_cancel(private, n, ids):
    """A round of that many sleeps, submitted and cancelled; afterwards nothing lives."""
    specs = [{"kind": "sleep", "duration_usec": 3600 * 10**6, "name": f"sleep-{i}",
              "labels": {"number": str(i)}} for i in range(n)]
    with private.connect() as v:
        r = v.ok(JOBS + "SubmitBatch", {"specs": specs})
        assert r["rejected"] == []
        ids += r["ids"]
        assert v.ok(JOBS + "Cancel", {"filter": {"states": ["queued", "starting",
                                                            "running"]}})["count"] == n
        until(lambda: stats(private)["jobs"]["ended"] == len(ids), "the end of all")
        ids.append(submit(v, {"kind": "noop"}))
        wait(v, ids[-1])  # its end is in the store, and so are all others


def test_many_sleeps_again_and_again(private):
    """Peaks do not grow, but for what is kept (KeepEndedJobs= small); then memory goes back. A round
    in which the store came late may have had more to keep for it: there are more rounds then, and
    what is lost in each would show in all."""
    n = 100000 if not SANITIZER else 5000
    private.start(config="[Store]\nKeepEndedJobs=100\n")
    pid = private.process.pid
    live = stats(private)["totals"]["live"]
    peaks, ids = [], []
    sleep_and_cancel(private, n // 5, ids)  # from now on the latest events are kept, all that may be

    def steady():
        return SANITIZER or peaks[-1] < peaks[-2] * 1.02 and peaks[-2] < peaks[-3] * 1.02

    while len(peaks) < 3 or not steady() and len(peaks) < 8:
        sleep_and_cancel(private, n, ids)
        until(lambda: stats(private)["totals"]["live"] <= live + 1)
        peaks.append(status_of(pid, "VmHWM"))
    assert stats(private)["jobs"]["results"]["cancelled"] == len(peaks) * n + n // 5
    # KeepHistoryJobs=
    kept = min(len(ids), 100000)
    until(lambda: listed(private) == kept, "the others to be forgotten")
    with private.connect() as v:
        first = v.call(JOBS + "Get", {"id": ids[0]})
    if kept < len(ids):
        assert first["error"] == JOBS + "NoSuchJob"
    else:
        assert first["parameters"]["job"]["result"] == "cancelled"
    assert steady(), peaks
    if not SANITIZER:
        until(lambda: status_of(pid, "VmRSS") < peaks[-1] / 2, "memory to go back")


def switches(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "status").read_text()
        total += sum(int(line.split()[1]) for line in text.splitlines() if "ctxt" in line)
    return total


@pytest.mark.skipif(SANITIZER != "", reason="sanitizers have threads of their own")
def test_idle_means_no_wakeups(private):
    private.start()
    with private.connect() as v:
        ident = submit(v, {"kind": "noop"})
        wait(v, ident)
        wait(v, submit(v, sh("true")))
    pid = private.process.pid
    # Pool threads and the keeper's connection settle first; then nothing moves at all.
    seen = [switches(pid), -1, -1]

    def quiet():
        time.sleep(1)
        seen.insert(0, switches(pid))
        return seen[0] == seen[1] == seen[2]
    until(quiet, "two silent seconds")
