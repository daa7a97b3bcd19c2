"""A voltd for several users (--keepers): each has a voltd-keeper of its own, which runs its jobs as itself.
What systemd does of that, the tests do: they listen, and start a keeper when somebody connects."""

import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import threading

import pytest

from conftest import BIN, LIMIT, SERVICE_UID, needs_root, until
from users import connect_as

pytestmark = needs_root

ALICE, BOB, NOBODYS = 12345, 12346, 12347


class Activator:
    """Listens for each user, and has a keeper for whom somebody connects and none lives."""

    def __init__(self, daemon, users):
        self.daemon = daemon
        self.dir = daemon.dir / "keepers"
        self.dir.mkdir()
        self.dir.chmod(0o755)
        self.listening, self.lives, self.starts = {}, {}, {}
        self.mute = set()   # for these none is started
        self.over = threading.Event()
        for uid in users:
            self.listen(uid)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def listen(self, uid):
        path = self.dir / str(uid)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(str(path))
        os.chown(path, SERVICE_UID, SERVICE_UID)
        path.chmod(0o600)
        s.listen(16)
        (self.daemon.dir / f"scripts-{uid}").mkdir(mode=0o700)
        os.chown(self.daemon.dir / f"scripts-{uid}", uid, uid)
        self.starts[uid] = 0
        self.listening[uid] = s

    def start(self, uid):
        listener = self.listening[uid].fileno()

        def as_third():
            os.dup2(listener, 3)
            os.set_inheritable(3, True)  # where it was that already
        self.starts[uid] += 1
        self.lives[uid] = subprocess.Popen(
            [self.daemon.dir / "bin/voltd-keeper", f"--peer-uid={SERVICE_UID}",
                  f"--scripts={self.daemon.dir}/scripts-{uid}"],
            env=self.daemon.env, user=uid, group=uid, extra_groups=[], stdin=subprocess.DEVNULL,
            close_fds=False, preexec_fn=as_third)

    def serve(self):
        while not self.over.is_set():
            idle = {s: uid for uid, s in list(self.listening.items())
                    if uid not in self.mute and (uid not in self.lives or self.lives[uid].poll() is not None)}
            for s in select.select(list(idle), [], [], 0.05)[0]:
                if idle[s] not in self.mute:
                    self.start(idle[s])

    def close(self):
        self.over.set()
        self.thread.join()
        for s in self.listening.values():
            s.close()
        for keeper in self.lives.values():
            if keeper.poll() is None:
                keeper.kill()
            keeper.wait(LIMIT)


@pytest.fixture
def system(private):
    private.as_service()
    private.dir.chmod(0o755)
    private.mode = "--system"
    private.keepers = Activator(private, [ALICE, BOB])
    for name in "volt-submit", "voltctl":
        shutil.copy(BIN / name, private.bin)
    try:
        start(private)
        yield private
        assert (ended := private.ctl("shutdown", "--cancel")).code == 0, (ended, private.log.read_text(), private.process.poll())
        private.process.wait(LIMIT)
    finally:
        private.keepers.close()


def start(daemon):
    daemon.start(f"--keepers={daemon.keepers.dir}", config="[Queue]\nSlots=4\n")
    daemon.runtime.chmod(0o755)
    daemon.socket.chmod(0o666)


def call(daemon, uid, program, *args):
    return subprocess.run([daemon.bin / program, *map(str, args)], env=daemon.env, cwd="/", user=uid, group=uid,
                          extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)


def submit(daemon, uid, *args):
    done = call(daemon, uid, "volt-submit", *args)
    assert done.returncode == 0, done
    return done.stdout.strip()


def output(daemon, uid, *command):
    done = call(daemon, uid, "volt-submit", "--follow", "--", *command)
    assert done.returncode == 0, done
    return done.stdout


def state(daemon, uid, ident):
    return call(daemon, uid, "voltctl", "list", "--json", ident).stdout


def running(daemon, uid, ident):
    """The pid of its main process, once that runs."""
    until(lambda: '"running"' in state(daemon, uid, ident), f"{ident} to run")
    return int(call(daemon, uid, "voltctl", "list", "--no-legend", "-o", "pid", ident).stdout)


def owner_of(pid):
    return pathlib.Path(f"/proc/{pid}").stat().st_uid


def test_each_job_runs_as_who_has_submitted_it(system):
    for uid in ALICE, BOB, ALICE:
        assert output(system, uid, "id", "-u").strip() == str(uid)
    assert system.keepers.starts == {ALICE: 1, BOB: 1}


def test_its_output_can_be_opened_again(system):
    assert output(system, ALICE, "sh", "-c", "echo once >/dev/stdout; echo more >>/dev/stderr") == "once\nmore\n"


def test_root_and_who_has_no_keeper_are_refused(system):
    done = call(system, 0, "volt-submit", "--", "true")
    assert done.returncode == 125 and "voltd runs no jobs as root" in done.stderr and "sudo -u USER" in done.stderr
    done = call(system, NOBODYS, "volt-submit", "--", "true")
    assert done.returncode == 125
    assert f"user {NOBODYS} may not run jobs here: voltd-keeper@{NOBODYS}.socket is not active" in done.stderr


def test_cancel_and_pause_reach_the_job_of_their_user(system):
    job = submit(system, ALICE, "--", "sleep", "1000")
    pid = running(system, ALICE, job)
    assert owner_of(pid) == ALICE
    assert call(system, BOB, "voltctl", "cancel", job).returncode != 0
    assert call(system, ALICE, "voltctl", "pause", job).returncode == 0
    until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "T", "it to be stopped")
    assert call(system, ALICE, "voltctl", "resume", job).returncode == 0
    until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "S", "it to go on")
    assert call(system, ALICE, "voltctl", "cancel", job).returncode == 0
    until(lambda: "cancelled" in state(system, ALICE, job), "its end")


def test_jobs_of_both_go_on_without_voltd_and_end_as_they_do(system):
    gate = system.dir / "gate"
    jobs = {uid: submit(system, uid, "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 7")
            for uid in (ALICE, BOB)}
    for uid, job in jobs.items():
        running(system, uid, job)
    system.stop(signal.SIGKILL)
    start(system)
    gate.touch()
    for uid, job in jobs.items():
        assert call(system, uid, "voltctl", "wait", job).returncode == 7


def test_a_keeper_that_is_killed_is_followed_by_another_and_its_jobs_go_on(system):
    gate = system.dir / "gate"
    job = submit(system, ALICE, "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 7")
    running(system, ALICE, job)
    system.keepers.lives[ALICE].kill()
    assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    assert system.keepers.starts[ALICE] == 2
    gate.touch()
    assert call(system, ALICE, "voltctl", "wait", job).returncode == 7


def test_a_keeper_that_its_user_has_stopped_keeps_nobody_else_waiting(system):
    assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    keeper = system.keepers.lives[ALICE]
    keeper.send_signal(signal.SIGSTOP)
    job = submit(system, ALICE, "--", "true")
    for _ in range(3):
        assert output(system, BOB, "id", "-u").strip() == str(BOB)
    until(lambda: '"keeper"' in state(system, ALICE, job), "it to be said that the keeper does not answer")
    assert f"systemctl status voltd-keeper@{ALICE} says why" in call(system, ALICE, "voltctl", "why", job).stdout
    keeper.send_signal(signal.SIGCONT)
    assert call(system, ALICE, "voltctl", "wait", job).returncode == 0


def test_jobs_of_a_user_without_keeper_hold_no_slot(system):
    """More of them than there are slots, also after a restart; when the keeper comes they run."""
    system.keepers.mute.add(BOB)
    waiting = [submit(system, BOB, "--", "true") for _ in range(8)]
    for _ in range(3):
        assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    for job in waiting:
        assert '"queued"' in state(system, BOB, job)
    assert f"systemctl status voltd-keeper@{BOB} says why" in call(system, BOB, "voltctl", "why", waiting[0]).stdout
    system.stop(signal.SIGKILL)
    start(system)
    assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    system.keepers.mute.clear()
    for job in waiting:
        assert call(system, BOB, "voltctl", "wait", job).returncode == 0


def test_who_has_lost_the_right_to_run_jobs_is_refused_until_it_comes_back(system):
    (system.keepers.dir / str(BOB)).rename(system.keepers.dir / "away")
    assert call(system, BOB, "volt-submit", "--", "true").returncode == 125
    (system.keepers.dir / "away").rename(system.keepers.dir / str(BOB))
    assert output(system, BOB, "id", "-u").strip() == str(BOB)


def test_who_may_run_jobs_since_a_moment_ago_need_not_try_again(system):
    """The socket comes while the submission waits for it: calls that came later are answered by then."""
    with connect_as(system, NOBODYS) as asked, connect_as(system, NOBODYS) as other:
        asked.send("org.voltd.jobs.Submit", {"spec": {"argv": ["/bin/true"], "cwd": "/", "env": {}}})
        for _ in range(3):
            assert other.ok("org.varlink.service.GetInfo")
        system.keepers.listen(NOBODYS)
        job = asked.recv()["parameters"]["id"]
    assert call(system, NOBODYS, "voltctl", "wait", job).returncode == 0
