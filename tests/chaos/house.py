"""A private voltd under attack: its processes, its lives, its end.

The keeper and the shims are found in /proc by their name and by the directory of this house
in their environment, and are signalled through a pidfd that was opened before the look: never
a recycled pid, never somebody else's process.
"""

import ctypes
import errno
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ledger import ClientLedger, name_of, parse_id

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("volt_integration",
                                               ROOT / "tests/integration/conftest.py")
integration = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(integration)
Gate, Unsafe, Varlink, until = integration.Gate, integration.Unsafe, integration.Varlink, integration.until

BIN = integration.BIN
BUILD = pathlib.Path(os.environ.get("VOLT_BUILD", ROOT / "build/plain"))
CRASH_BIN = pathlib.Path(os.environ.get("VOLT_CRASH_BIN", ROOT / "build/chaos/bin"))
LEDGER_JOB = BUILD / "tests/chaos/ledger-job"
SANITIZER = integration.SANITIZER
# Programs into which faults can be preloaded: the keeper of the plain build is static.
TEST_BIN = BIN if SANITIZER else CRASH_BIN
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What loses its parent comes to this process, which reaps it: where nobody else does,
    zombies would count as survivors."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans(known):
    """Reaps ended children but those that a Popen waits for."""
    children = pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    for pid in map(int, children.read_text().split()):
        if pid in known:
            continue
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


class House(integration.Daemon):
    """A daemon that is started again whenever it dies."""

    made = []   # by the test that runs

    def __init__(self, forgets=False, config="", bin=None, env=None, workers=2, slots=8):
        super().__init__(tempfile.mkdtemp(prefix="volt-chaos-"))
        self.bin, self.workers, self.slots = bin or BIN, workers, slots
        self.forgets = forgets  # its store is lost with each voltd
        self.env.update(env or {})
        self.config.write_text(f"[Store]\nKeepEndedJobs=10000000\n"
                               f"[Queue]\nSlots={slots}\n" + config)
        self.ledger = self.dir / "ledger"
        self.ledger.touch()
        self.clients = ClientLedger(self.dir / "clients")
        self.history = self.clients.history
        self.intended = set()   # pids of voltd that were told to end
        self.findings = []      # deaths that nobody asked for
        self.guard = None
        self.guarding = threading.Event()
        self.up = threading.Event()
        self.lock = threading.Lock()    # of intended and up
        self.first_fds = None
        self.made.append(self)
        adopt_orphans()

    # --- lives of voltd

    @property
    def life(self):
        return len(self.history.lives)

    def launch(self):
        self.take_help_away()
        if self.forgets:
            self.lose_store()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "voltd", "--user", f"--runtime-dir={self.runtime}",
                 f"--state-dir={self.state}", f"--config={self.config}",
                 f"--workers={self.workers}"],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir)

    def answers(self):
        try:
            with Varlink(self.socket, timeout=5) as v:
                return v.call("org.varlink.service.GetInfo") is not None
        except OSError:
            return False

    def start(self, *_, **__):
        """Starts voltd, and again whenever it has ended, until stop_guard()."""
        self.guarding.set()
        self.launch()
        self.guard = threading.Thread(target=self.watch_over, daemon=True)
        self.guard.start()
        until(lambda: self.up.is_set(), "voltd to answer")
        self.first_fds = self.descriptors()
        return self

    def watch_over(self):
        failures = 0
        while self.guarding.is_set():
            if not self.up.is_set() and self.answers():
                failures = 0
                with self.lock:     # one that is being killed may still have answered
                    if self.process.pid not in self.intended:
                        self.up.set()
            code = self.process.poll()
            if code is None:
                time.sleep(0.002)
                continue
            self.up.clear()
            pid = self.process.pid
            if pid not in self.intended and not (code == -signal.SIGKILL and self.crashing):
                failures += 1
                if failures > 20 or code < 0 or code in (66, 99):
                    self.findings.append(f"voltd ended by itself with {code}")
                    if failures > 20:
                        return
                time.sleep(0.2)
            self.history.lives.append(f"{pid} ended with {code}")
            self.launch()

    @property
    def crashing(self):
        return "VOLT_CRASH_AT" in self.env

    def stop_guard(self):
        self.guarding.clear()
        if self.guard:
            self.guard.join()
            self.guard = None

    def descriptors(self):
        """What voltd has open, by kind: a memory of its idle state."""
        kinds = {}
        base = f"/proc/{self.process.pid}/fd"
        for fd in os.listdir(base):
            try:
                what = os.readlink(f"{base}/{fd}")
            except OSError:
                continue
            what = what.split(":")[0] if ":" in what else what
            kinds[what] = kinds.get(what, 0) + 1
        return kinds

    # --- processes

    def each_process(self):
        """(pid, name) of the keeper, its helpers, shims and jobs of this house."""
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/comm") as f:
                    name = f.read().strip()
            except OSError:
                continue
            if name in ("voltd-keeper", "volt-shim", "ledger-job") and \
                    integration.mine(int(entry), str(self.dir)):
                yield int(entry), name

    def pids(self, name):
        return [pid for pid, n in self.each_process() if n == name]

    def first_of(self, name):
        """Those of a name that none of that name has forked: a fork has it until its exec."""
        found = self.pids(name)
        born = []
        for pid in found:
            try:
                with open(f"/proc/{pid}/stat") as f:
                    parent = int(f.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent not in found:
                born.append(pid)
        return born

    def keeper(self):
        """The keeper, not the processes that it forks to send signals; None: there is none."""
        return next(iter(self.first_of("voltd-keeper")), None)

    def shims(self):
        """Not the jobs that are about to be: a signal to one of them would be the job's."""
        return self.first_of("volt-shim")

    def strike(self, pid, sig):
        """Whether the process, still of this house, got the signal."""
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return False
        try:
            if not integration.mine(pid, str(self.dir)):
                return False
            signal.pidfd_send_signal(fd, sig)
            return True
        except OSError:
            return False
        finally:
            os.close(fd)

    def kill_voltd(self, sig=signal.SIGKILL):
        process = self.process
        with self.lock:
            self.intended.add(process.pid)
            self.up.clear()
        try:
            process.send_signal(sig)
            return True
        except ProcessLookupError:
            return False

    def kill_keeper(self):
        pid = self.keeper()
        return pid is not None and self.strike(pid, signal.SIGKILL)

    def kill_shim(self, pid):
        self.history.shims.add(pid)
        if self.strike(pid, signal.SIGKILL):
            return True
        return False

    # --- the end

    def stats(self):
        with Varlink(self.control, timeout=10) as v:
            return v.ok("org.voltd.control.Stats")

    def quiet(self):
        """Nothing waits and nothing runs, records of earlier lives included: those whose
        shim has gone end when voltd has heard of what was left of them."""
        alive = ("queued", "starting", "running", "stopping")
        try:
            jobs = self.stats()["jobs"]
            with self.connect() as v:
                orphans = v.ok("org.voltd.jobs.List", {
                    "limit": 1, "filter": {"orphans": True, "states": alive}})["jobs"]
        except (OSError, AssertionError):
            return False
        return not (orphans or any(jobs[s] for s in alive) or self.pids("volt-shim"))

    def collect(self):
        """What voltd says of every job, and every job's output, into the history."""
        h = self.history
        with self.connect() as v:
            for job, view in each_job(v):
                h.jobs[job] = view
            for job in h.jobs:
                h.outputs[job] = output_of(v, job)
        h.ledger = self.ledger.read_bytes()

    def leftovers(self):
        """What must not be there once all has ended, and goes by itself."""
        end = time.monotonic() + integration.LIMIT
        while self.found_left() and time.monotonic() < end:
            time.sleep(0.05)
        return self.found_left()

    def found_left(self):
        left = [f"process {pid} ({name})" for pid, name in self.each_process()
                if name != "voltd-keeper"]
        for kind, n in sorted(self.descriptors().items()):
            spare = 0 if "/output/" in kind or "/rec/" in kind else 4
            if n > self.first_fds.get(kind, 0) + spare:
                left.append(f"{n} descriptors of {kind}, {self.first_fds.get(kind, 0)} at first")
        known = {name_of(job) for job in self.history.jobs if self.history.jobs[job]["orphan"]}
        for record in (self.state / "rec").iterdir():
            name = record.name
            if name[0] != "." and name != "generation" and name.rpartition(".")[0] not in known:
                left.append(f"record {name}")
        return left

    def close(self):
        """Ends voltd; its keeper may take the seconds after which it leaves by itself."""
        if self.process is None:
            return None
        asked = self.ctl("shutdown", "--cancel")
        code = self.process.wait(integration.LIMIT)
        self.process = None
        end = time.monotonic() + integration.LIMIT
        while (left := integration.processes(str(self.dir))) and time.monotonic() < end:
            time.sleep(0.01)
        return f"voltd ended with {code}, processes left {left}, {asked}" \
            if code or left else None

    def end(self):
        """Ends everything. Returns what is wrong with the end of voltd."""
        self.stop_guard()
        wrong = self.close()
        self.kill_rest()
        reap_orphans(set())
        found = [f"left: {wrong}"] if wrong else []
        return found + self.check_store()

    def check_store(self):
        """What voltd finds in the store that it left."""
        if self.forgets:
            return []
        done = subprocess.run([self.bin / "voltd", "--user", f"--runtime-dir={self.runtime}",
                               f"--state-dir={self.state}", f"--config={self.config}",
                               "--check-store"], capture_output=True, text=True, cwd=self.dir)
        return [f"lost: the store is damaged: {done.stdout}{done.stderr}"] \
            if done.returncode else []

    def keep(self, findings):
        """Where a failure can be looked at."""
        (self.dir / "findings").write_text("\n".join(findings) + "\n")
        h = self.history
        (self.dir / "history.json").write_text(json.dumps({
            "lives": h.lives, "shims": sorted(h.shims), "mains": sorted(h.mains),
            "errors": sorted(h.errors), "jobs": {name_of(j): v for j, v in h.jobs.items()}}))
        return self.dir

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def each_job(v, but=()):
    """(job, view) of everything that voltd knows, elements of arrays and orphans included, but
    for these jobs: voltd is not asked about elements whose array may have been purged."""
    for orphans in (False, True):
        cursor = None
        while True:
            p = {"limit": 1000, **({"cursor": cursor} if cursor else {})}
            if orphans:
                p["filter"] = {"orphans": True}
            answer = v.ok("org.voltd.jobs.List", p)
            for job in answer["jobs"]:
                number, index = parse_id(job["id"])
                if "counts" not in job:
                    if (number, index) not in but:
                        yield (number, index), view_of(job)
                    continue
                for i in range(job["counts"]["total"]):
                    if (number, i) not in but:
                        one = v.ok("org.voltd.jobs.Get", {"id": f"{number}_{i}"})["job"]
                        yield (number, i), view_of(one)
            cursor = answer.get("cursor")
            if not cursor:
                break


def output_of(v, job):
    """What voltd hands out as the output of a job; None: it has none."""
    answer = v.call("org.voltd.logs.Open", {"id": name_of(job)})
    if "error" in answer:
        assert answer["error"].endswith(".NoOutput"), answer
        return None
    with os.fdopen(v.fds.pop(), "rb") as f:
        return f.read()


def code_told(job):
    """What an answer says of the end as one number, as the store has it."""
    if "signal" in job:
        return signal.Signals[job["signal"]].value
    return getattr(errno, job["error"]) if "error" in job else job.get("exit_status", 0)


def view_of(job):
    """The part of an answer that is judged."""
    name = job.get("name", "")
    key = int(name[1:]) if name[:1] == "k" and name[1:].isdigit() else None
    return {"state": job["state"], "result": job.get("result"), "code": code_told(job),
            "attempt": job["attempt"], "key": key, "orphan": job.get("orphan", False),
            "step": job.get("step")}


if __name__ == "__main__":
    sys.exit("this is a library: see chaos")
