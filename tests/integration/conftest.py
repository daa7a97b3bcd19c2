"""Integration tests: real programs on private sockets.

VOLT_BIN names the directory of the programs (make check-integration sets it). Each daemon
of a test lives in a temporary directory of its own. At the end of a test a daemon that
runs is shut down, with its jobs, and has to go with status 0 and to leave no process: they
are found by that directory in their environment, command line or working directory.

Nothing sleeps to be "surely" late enough: what is waited for is looked at again and again
under one generous limit, which only ends a test that hangs.
"""

import array
import contextlib
import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("VOLT_BIN", ROOT / "build/bin"))
SANITIZER = os.environ.get("VOLT_SAN", "")
LIMIT = 600  # seconds, a bound for hangs alone: no wait is shorter
SANITIZER_OPTIONS = "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"
# The account of a voltd that a test run by root starts as a service (Daemon.as_service): no name
# is needed. Root itself serves nobody else.
SERVICE_UID = 61617
# What must not help who is late, words: "heartbeats" are an hour away, except in tests that set
# them; "rescues" by sentinels are failures; "starts": no job is marked as starting before there is
# a slot for it.
LATE = os.environ.get("VOLT_LATE", "").split()
# Of what is random; make gives another each time.
SEED = int(os.environ.get("SEED", "1"))
# Shells start what they put into the background with interrupts ignored, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a test has started ends first


# A test with this mark runs where root runs it: make check-root.
needs_root = pytest.mark.needs_root


class Unsafe(AssertionError):
    """Something that must never happen, on however busy a machine: such a test is not repeated."""


def until(condition, what="the condition", limit=LIMIT):
    """Looks again until condition() is true, and returns its value: after 10 ms, later after 100, as
    a look may start a process. Time in which the tests themselves are stopped does not count."""
    end, pause = time.monotonic() + limit, 0.01
    while True:
        value = condition()
        if value:
            return value
        before = time.monotonic()
        assert before < end, f"{what}: not within {limit} s"
        time.sleep(pause)
        pause = min(pause * 1.2, 0.1)
        stopped = time.monotonic() - before
        end += stopped if stopped > 1 else 0


def written(path):
    """What is in a file, nothing while there is none: a shell makes it before it writes to it."""
    try:
        return pathlib.Path(path).read_text()
    except FileNotFoundError:
        return ""


class Gate:
    """A path that jobs open and wait at until the test lets them through. It is a FIFO that the test
    holds open, and then a file: a job that comes late goes through as well."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.fd = pathlib.Path(path), os.open(path, os.O_RDWR)

    def let_through(self, jobs, line=""):
        """Each of so many jobs reads the line, or the end."""
        other = self.path.with_suffix(".open")
        other.write_text(line)
        os.replace(other, self.path)
        os.write(self.fd, line.encode() * jobs)
        os.close(self.fd)


def takes_interrupts(process):
    """A client that waits for jobs, and knows for which: until then an interrupt ends it without a
    word."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    blocked = next(line for line in status.splitlines() if line.startswith("SigBlk:"))
    return int(blocked.split()[1], 16) >> signal.SIGINT - 1 & 1


def word(arg):
    """An argument as it is: bytes need not be UTF-8."""
    return arg if isinstance(arg, bytes) else str(arg)


class Varlink:
    """One connection that speaks Varlink, and can also speak it badly."""

    def __init__(self, path, timeout=LIMIT):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(str(path))
        self.data = b""
        self.fds = []

    def close(self):
        self.sock.close()
        for fd in self.fds:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send_raw(self, data):
        self.sock.sendall(data)

    def send(self, method, parameters=None, **header):
        call = {"method": method, **header}
        if parameters is not None:
            call["parameters"] = parameters
        self.send_raw(json.dumps(call).encode() + b"\0")

    def recv(self):
        """The next reply; None when the other end has closed."""
        while b"\0" not in self.data:
            try:
                data, anc, _, _ = self.sock.recvmsg(1 << 16, socket.CMSG_SPACE(64))
            except ConnectionResetError:
                return None
            for level, kind, payload in anc:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds = array.array("i")
                    fds.frombytes(payload[: len(payload) // fds.itemsize * fds.itemsize])
                    self.fds.extend(fds)
            if not data:
                return None
            self.data += data
        message, self.data = self.data.split(b"\0", 1)
        return json.loads(message)

    def has_reply(self):
        """Whether a whole one is here that recv() has read with another: select does not see it."""
        return b"\0" in self.data

    def call(self, method, parameters=None, **header):
        self.send(method, parameters, **header)
        return self.recv()

    def ok(self, method, parameters=None, **header):
        """The parameters of a reply that is no error."""
        reply = self.call(method, parameters, **header)
        assert reply is not None and "error" not in reply, reply
        return reply.get("parameters", {})

    def stream(self, method, parameters=None):
        """The parameters of each reply to a `more` call, to its end. Heartbeats alone are as good
        as silence."""
        self.send(method, parameters, more=True)
        told = time.monotonic()
        while True:
            reply = self.recv()
            assert reply is not None and "error" not in reply, reply
            if not reply.get("parameters", {}).get("heartbeat"):
                told = time.monotonic()
            assert time.monotonic() - told < LIMIT, f"{method} has no end"
            yield reply.get("parameters", {})
            if not reply.get("continues"):
                return


class Result:
    """What a program printed, and its exit code. That voltd has not answered for 5 s is a matter of
    the machine: the line is not in `err`."""

    def __init__(self, done):
        self.code, self.out = done.returncode, done.stdout
        self.err = re.sub(r"^[\w-]+: voltd has the call and has not answered for 5 s; .*\n", "", done.stderr, flags=re.M)

    def __repr__(self):
        return f"code {self.code}\nstdout: {self.out}\nstderr: {self.err}"

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return self.out.splitlines()


def whole_file(kind):
    """What fcntl() takes for a lock of that kind on all of a file."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)


def is_locked(file):
    """Whether somebody holds the lock of an exit record that is open."""
    lock = fcntl.fcntl(file, fcntl.F_OFD_GETLK, whole_file(fcntl.F_RDLCK))
    return struct.unpack_from("h", lock)[0] != fcntl.F_UNLCK


def mine(pid, mark):
    """Does a process carry the mark in its environment, command line or directories? Of a keeper
    and a shim only the command line may be read."""
    for look in (lambda: mark.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(),
                 lambda: mark.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes(),
                 lambda: os.readlink(f"/proc/{pid}/cwd").startswith(mark)):
        try:
            if look():
                return True
        except OSError:
            pass
    return False


def processes(mark):
    pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
    return [pid for pid in pids if mine(pid, mark)]


def is_shim(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text() == "volt-shim\n"
    except OSError:
        return False


class Daemon:
    """A private voltd: its directories, its process, its clients."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.runtime, self.state = self.dir / "run", self.dir / "state"
        self.config = self.dir / "voltd.conf"
        self.socket, self.control = self.runtime / "voltd.sock", self.runtime / "control.sock"
        self.log = self.dir / "voltd.log"
        self.process = None
        self.bin = BIN
        self.mode = "--user"
        self.uid = None  # as whom voltd runs; None: as the tests
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("VOLT_")}
        self.env.update(VOLT_ADDRESS=f"unix:{self.socket}", NO_COLOR="1", LC_ALL="C.UTF-8",
                        HOME=str(self.dir), TEST_VOLT_DIR=str(self.dir))

    def as_service(self):
        """voltd will run as an account of its own, where the tests may choose: as root. It gets
        its programs in its own directory, for those of the build may lie where only their owner
        may look."""
        if os.getuid() == 0:
            self.uid = SERVICE_UID
            self.bin = self.dir / "bin"
            self.bin.mkdir()
            for program in ("voltd", "voltd-keeper"):
                shutil.copy(BIN / program, self.bin)
            (self.bin / "voltd-keeper").chmod(0o711)  # as make install leaves it
            os.chown(self.dir, self.uid, self.uid)
            for name in SANITIZER_OPTIONS:  # where it may write; close() looks there
                self.env[name] = self.env.get(name, "") + f":log_path={self.dir}/report"
        return self

    def lose_store(self):
        """What somebody does who removes all that voltd knows of jobs; their records stay."""
        for path in [*self.state.glob("jobs.*"), *self.state.glob("witness*")]:
            path.unlink()

    def take_help_away(self):
        """What VOLT_LATE says, unless the test says how much of it there is."""
        text = self.config.read_text()
        for late, key, lines in (("heartbeats", "HeartbeatSec", "[Daemon]\nHeartbeatSec=1h\n"),
                                 ("starts", "StartAhead", "[Queue]\nStartAhead=0\n")):
            if late in LATE and key not in text:
                self.config.write_text(f"{text}\n{lines}")

    def start(self, *args, config=None, workers=2, wait=True):
        if config is not None:
            self.config.write_text(config)
        elif not self.config.exists():
            self.config.write_text("")
        self.take_help_away()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "voltd", self.mode, f"--runtime-dir={self.runtime}",
                 f"--state-dir={self.state}", f"--config={self.config}",
                 f"--workers={workers}", *args],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.dir, user=self.uid, group=self.uid,
                extra_groups=None if self.uid is None else [])
        if wait:
            until(self.answers, "voltd to answer")
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise Unsafe(f"voltd ended: {self.log.read_text()}")
        try:
            with Varlink(self.socket) as v:
                return v.call("org.varlink.service.GetInfo") is not None
        except OSError:
            return False

    def connect(self):
        return Varlink(self.socket)

    def connect_control(self):
        return Varlink(self.control)

    def run(self, program, *args, input=None, env=None, cwd=None):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run([BIN / program, *map(word, args)], env={**self.env, **(env or {})},
                                  input=input, stdin=None if input else subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace",
                                  timeout=LIMIT, cwd=cwd or self.dir)
        except subprocess.TimeoutExpired as late:
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            pytest.fail(f"{program} {args}: not within {LIMIT} s, of which it computed for "
                        f"{after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime:.0f}; "
                        f"stdout {late.stdout!r}, stderr {late.stderr!r}, log {self.log.read_text()[-2000:]!r}")
        return Result(done)

    def submit(self, *args, **kw):
        return self.run("volt-submit", *args, **kw)

    def ctl(self, *args, **kw):
        return self.run("voltctl", *args, **kw)

    def popen(self, program, *args, before=(), **kw):
        """before: the command that executes the program, if there is one."""
        return subprocess.Popen([*before, BIN / program, *map(word, args)], env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.dir, **kw)

    def job(self, ident):
        return self.ctl("show", "--json", ident).json

    def rescues(self):
        """How often a worker slept although a task waited, and nothing but a sentinel woke it."""
        with self.connect_control() as v:
            return v.ok("org.voltd.control.Stats")["totals"]["rescues"]

    def stop(self, how=signal.SIGTERM):
        """Ends the daemon alone; running jobs go on. Returns its exit status."""
        if self.process is None:
            return None
        self.process.send_signal(how)
        code = self.process.wait(LIMIT)
        self.process = None
        return code

    def stand_still(self):
        """Until SIGCONT. A signal alone stops nothing yet: each thread does, when it runs next."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def close(self):
        """Ends a daemon that runs, and its jobs. None, or what was wrong with its end."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            if "rescues" in LATE and (n := self.rescues()) != 0:
                return f"{n} rescues by sentinels"
            if self.mode == "--system" and os.getuid() != 0:  # root alone may ask it
                self.process.terminate()
            elif (asked := self.ctl("shutdown", "--cancel")).code != 0:
                return f"voltctl shutdown: {asked}"
        code = self.process.wait(LIMIT)
        self.process = None
        for report in self.dir.glob("report.*"):
            return report.read_text()
        left = self.left() if code == 0 else []
        if code == 0 and not left:
            return None
        return f"voltd ended with {code}, processes left {left}:\n{self.log.read_text()}"

    def left(self):
        """Its processes, those that do not end by themselves."""
        with contextlib.suppress(AssertionError):
            until(lambda: not processes(str(self.dir)))
        return processes(str(self.dir))

    def kill_rest(self):
        """What tests that killed a daemon left, and after a failure."""
        while rest := processes(str(self.dir)):
            for pid in rest:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if self.process is not None:
                self.process.wait()


@contextlib.contextmanager
def daemon_for_a_test():
    daemon = Daemon(tempfile.mkdtemp(prefix="volt-test-"))
    try:
        yield daemon
        if wrong := daemon.close():
            raise Unsafe(wrong)
    finally:
        daemon.kill_rest()
        shutil.rmtree(daemon.dir)


@pytest.fixture
def private():
    """A daemon that the test starts itself."""
    with daemon_for_a_test() as daemon:
        yield daemon


@pytest.fixture(scope="module")
def shared():
    """A running daemon for all tests of a file that do not mind each other."""
    with daemon_for_a_test() as daemon:
        yield daemon.start()


@pytest.fixture(autouse=True)
def slots_for_the_next(request):
    """Jobs that a test leaves in a shared daemon, as one that has failed does, go with it and have ended:
    a dry run of the next test says what it would wait for."""
    yield
    if "shared" in request.fixturenames:
        live = {"filter": {"states": ["queued", "starting", "running", "paused", "stopping"]}}
        with request.getfixturevalue("shared").connect() as v:
            v.ok("org.voltd.jobs.Cancel", live)
            until(lambda: v.ok("org.voltd.jobs.List", live)["jobs"] == [], "the jobs of this test to end")


class Fake:
    """Answers like a voltd that does what the test says: answer(method, parameters) gives
    replies (dicts), or None to close the connection. Those of a list leave in one write.
    "fd" in a reply is a descriptor to go with it."""

    def __init__(self, directory, answer):
        self.dir = pathlib.Path(directory)
        self.path = self.dir / "fake.sock"
        self.answer = answer
        self.calls = []
        self.connections = 0
        self.deaf = 0       # connections that are closed before what has come is read
        self.full = 0       # connections after the first for which there is no place
        self.still = False  # nothing is answered
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        data = b""
        with sock:
            if self.deaf:
                self.deaf -= 1
                sock.recv(1, socket.MSG_PEEK)
                return
            while True:
                try:
                    more = sock.recv(1 << 16)
                except OSError:
                    return
                if not more:
                    return
                data += more
                while b"\0" in data:
                    message, data = data.split(b"\0", 1)
                    if not self.reply(sock, json.loads(message)):
                        return

    def reply(self, sock, call):
        if self.still:
            return True
        if self.connections > 1 and call["method"] == "org.varlink.service.GetInfo":
            refused = self.full > 0     # who has connected again asks whether there is a place
            self.full -= refused
            error = {"error": "org.voltd.jobs.LimitReached"} if refused else {}
            sock.sendall(json.dumps({"parameters": {"key": "MaxConnections"}, **error}).encode() + b"\0")
            return not refused
        self.calls.append(call)
        replies = self.answer(call["method"], call.get("parameters", {}))
        pending = b""
        for reply in replies:
            if reply is None:
                break
            fds = [reply.pop("fd")] if "fd" in reply else []
            pending += json.dumps(reply).encode() + b"\0"
            if fds or not isinstance(replies, list):
                socket.send_fds(sock, [pending], fds)
                pending = b""
        else:
            reply = {}
        if pending:  # who has all it wants may have gone
            sock.sendall(pending)
        return reply is not None

    def close(self):
        self.listener.close()


@pytest.fixture
def fake():
    """Makes fake daemons: fake(answer).run("voltctl", ...)."""
    made = []

    def make(answer):
        directory = tempfile.mkdtemp(prefix="volt-fake-")
        daemon = Daemon(directory)
        server = Fake(directory, answer)
        daemon.fake = server
        daemon.env["VOLT_ADDRESS"] = f"unix:{server.path}"
        daemon.env["VOLT_CONTROL_ADDRESS"] = f"unix:{server.path}"
        made.append((daemon, server))
        return daemon

    yield make
    for daemon, server in made:
        server.close()
        daemon.kill_rest()
        shutil.rmtree(daemon.dir)


if not (BIN / "volt-submit").exists():
    sys.exit(f"no programs in {BIN}: run make first")
