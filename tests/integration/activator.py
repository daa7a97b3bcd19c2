"""voltd as the service of the system: what systemd does for keepers, and what users ask."""

import contextlib
import os
import pathlib
import select
import shutil
import socket
import subprocess
import threading

from conftest import BIN, LIMIT, SERVICE_UID, until

ALICE, BOB, NOBODYS = 12345, 12346, 12347


class Activator:
    """Listens for each user, and has a keeper for whom somebody connects and none lives."""

    def __init__(self, daemon, users, cgroups=None):
        """cgroups: where each keeper gets one, as in the unit voltd-jobs@UID; None: nowhere."""
        self.daemon, self.cgroups = daemon, cgroups
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
        into = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        if self.cgroups:
            into = [*self.cgroups.entering(uid), *into]
        self.lives[uid] = subprocess.Popen(
            [*into, self.daemon.dir / "bin/voltd-keeper", f"--peer-uid={SERVICE_UID}",
             f"--scripts={self.daemon.dir}/scripts-{uid}"],
            env=self.daemon.env, stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=as_third)

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


@contextlib.contextmanager
def system(private, cgroups=None):
    """private as the service of the system, for ALICE and BOB."""
    private.as_service()
    private.dir.chmod(0o755)
    private.mode = "--system"
    private.keepers = Activator(private, [ALICE, BOB], cgroups)
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
