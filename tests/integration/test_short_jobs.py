"""Short jobs in a row, of which the next start early: never more at a time than there are slots,
each once, whatever is cancelled, killed or reloaded in between."""

import contextlib
import os
import pathlib
import random
import signal
import threading
import time

import pytest
from conftest import SANITIZER, SEED, processes, until
from jobs import JOBS, ended, get, keeper_of, sh, submit, wait

FEW = 40  # jobs of each client
# Whoever finds the lock taken says so; it goes with the process, however that ends.
ALONE = ("exec 9>lock; flock -n 9 || echo $VOLT_JOB_ID >>two; sleep 0.001;"
         "echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>ran")


def words(path):
    return path.read_text().split() if path.exists() else []


def reload(daemon, slots=None):
    if slots is not None:
        daemon.config.write_text(f"[Queue]\nSlots={slots}\n")
    with daemon.connect_control() as v:
        v.ok("org.voltd.control.Reload")


def short_ones(v, n=40):
    """After some of these the next start early."""
    return v.ok(JOBS + "SubmitBatch", {"specs": [sh(":")] * n})["ids"]


class Client(threading.Thread):
    """Submits jobs and cancels some of them, also where voltd goes and comes again."""

    def __init__(self, daemon, seed):
        super().__init__()
        self.daemon, self.random = daemon, random.Random(SEED * 100 + seed)
        self.ids, self.cancelled = [], set()

    def step(self, v):
        on_lost = "retry" if self.random.random() < 0.5 else "fail"
        self.ids.append(submit(v, sh(ALONE, cwd=str(self.daemon.dir), on_lost=on_lost,
                                     priority=self.random.choice([0, 0, 0, 1, 2]))))
        if self.random.random() < 0.15:
            victim = self.random.choice(self.ids[-8:])
            self.cancelled.add(victim)
            v.send(JOBS + "Cancel", {"ids": [victim]})
            v.recv()  # it may have ended

    def run(self):
        while len(self.ids) < FEW:
            try:
                with self.daemon.connect() as v:
                    while len(self.ids) < FEW:
                        self.step(v)
            except (OSError, AssertionError):  # the daemon is away
                threading.Event().wait(0.01)


def a_shim(daemon):
    """Not a job before its exec, which has the name of its parent."""
    for pid in processes(str(daemon.dir)):
        with contextlib.suppress(OSError):
            parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
            names = [pathlib.Path(f"/proc/{p}/comm").read_text() for p in (pid, parent)]
            if names[0] == "volt-shim\n" != names[1]:
                return pid
    return None


def kill(pid):
    try:
        if pid:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def test_one_slot_is_a_lock(private):
    private.start(config="[Queue]\nSlots=1\n")
    ran = private.dir / "ran"
    with private.connect() as v:
        wait(v, *short_ones(v))
    clients = [Client(private, seed) for seed in range(3)]
    for c in clients:
        c.start()
    total = 3 * FEW

    def go_on_to(share):
        """Reloads change nothing, at any moment."""
        until(lambda: reload(private) or len(words(ran)) >= share * total
              or not any(c.is_alive() for c in clients), "the jobs to go on")

    for share in (0.1, 0.2):
        go_on_to(share)
        kill(a_shim(private))
    go_on_to(0.3)
    kill(keeper_of(private))
    go_on_to(0.4)
    private.stop(signal.SIGKILL)
    private.start()
    for share in (0.5, 0.6):
        go_on_to(share)
        kill(a_shim(private))
    for c in clients:
        c.join()
    with private.connect() as v:
        ids = [i for c in clients for i in c.ids]
        cancelled = set().union(*(c.cancelled for c in clients))
        wait(v, *ids)
        jobs = {i: get(v, i) for i in ids}
    attempts = words(ran)
    assert words(private.dir / "two") == []
    assert len(attempts) == len(set(attempts))  # nothing twice
    for ident, job in jobs.items():
        assert job["result"] in ("success", "lost") or \
            (job["result"] == "cancelled" and ident in cancelled), job
        if job["result"] == "success":
            assert f"{ident}.{job['attempt']}" in attempts
    # four shims were killed: no more than that have been lost
    assert sum(j["result"] == "lost" for j in jobs.values()) <= 4


def test_the_time_of_one_that_starts_early_runs_from_its_own_start(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        for _ in range(3):
            short_ones(v)
            job = ended(v, submit(v, sh("exec sleep 1000", timeout_usec=100000)))
            assert job["result"] == "timeout", job
            assert job["ended_at_usec"] - job["started_at_usec"] >= 99000  # by two clocks


def test_fewer_and_more_slots_in_the_middle_of_a_stream(private):
    """Soon after a reload no more run than there are slots."""
    private.start(config="[Queue]\nSlots=3\n")
    log = private.dir / "log"
    reloads, soon = [1, 3] * (2 if SANITIZER else 4), 40  # more than are ahead and run: 16 + 3

    def begun():
        return words(log).count("+")

    with private.connect() as v, private.connect_control() as control:
        spec = sh("echo + >>log; /bin/true", cwd=str(private.dir))
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * (70 * (len(reloads) + 1))})["ids"]
        for slots in reloads:
            after = begun() + 20
            until(lambda: begun() >= after or begun() == len(ids), "the jobs")
            reload(private, slots)
            after = begun() + soon
            until(lambda: begun() >= after or begun() == len(ids), "more jobs")
            assert control.ok("org.voltd.control.Stats")["jobs"]["slots_used"] <= slots
        wait(v, *ids)


@pytest.mark.parametrize("array", [False, True])
def test_a_more_urgent_job_gets_the_next_slot(private, array):
    """Whatever starts early waits in the line as the others do. Before the urgent one there is at
    most the one with the slot, if it was about to begin."""
    private.start(config="[Queue]\nSlots=1\n[Store]\nSync=off\n")
    spec, n = {"argv": ["/bin/true"]}, 60
    with private.connect() as v:
        for _ in range(2 if SANITIZER else 6):
            if array:
                many = submit(v, {**spec, "array": {"first": 1, "last": n}})
                ids = [f"{many}_{i}" for i in range(1, n + 1)]
            else:
                ids = v.ok(JOBS + "SubmitBatch", {"specs": [spec] * n})["ids"]
            until(lambda: get(v, ids[n // 3])["state"] == "done", "some to be through")
            urgent = submit(v, {**spec, "priority": 1})
            entered = time.time() * 1e6
            begun = ended(v, urgent)["started_at_usec"]
            wait(v, *([many] if array else ids))
            starts = [get(v, i)["started_at_usec"] for i in ids]
            assert sum(entered < start < begun for start in starts) <= 1


def test_never_more_than_slots_in_a_plain_stream(private):
    private.start(config="[Queue]\nSlots=3\n")
    spec = sh("echo + >>log; /bin/true; echo - >>log", cwd=str(private.dir))
    with private.connect() as v:
        wait(v, *v.ok(JOBS + "SubmitBatch", {"specs": [spec] * (200 if SANITIZER else 800)})["ids"])
    running = 0
    for word in words(private.dir / "log"):
        running += 1 if word == "+" else -1
        assert 0 <= running <= 3
    assert running == 0
