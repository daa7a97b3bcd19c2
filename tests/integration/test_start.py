"""Starting voltd: directories, configuration, what it inherits; and its end."""

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import BIN, LIMIT, needs_root, until


def start(private, *args, env=None, program=BIN / "voltd", **kw):
    """voltd with these arguments only, which is to refuse: its exit code and its words."""
    done = subprocess.run([program, *args], env=private.env if env is None else env,
                          cwd=private.dir, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT, **kw)
    return done.returncode, done.stderr


@pytest.mark.parametrize("closed", [[2], [0, 1, 2]])
def test_closed_descriptors_are_not_taken_for_sockets(private, closed):
    private.config.write_text("")
    private.process = subprocess.Popen(
        [BIN / "voltd", "--user", f"--runtime-dir={private.runtime}",
         f"--state-dir={private.state}", f"--config={private.config}"],
        env=private.env, cwd=private.dir,
        preexec_fn=lambda: [os.close(fd) for fd in closed])
    until(private.answers, "voltd to answer")
    for fd in closed:
        assert os.readlink(f"/proc/{private.process.pid}/fd/{fd}") == "/dev/null"
    private.process.send_signal(signal.SIGHUP)  # is logged
    assert private.submit("--wait", "--shell", "ls -l /proc/self/fd; exit 3").code == 3


def test_a_limit_of_file_sizes_is_a_full_disk(private):
    """LimitFSIZE=, ulimit -f: said, and no sudden death. Jobs meet it as ever."""
    def limit(size):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    code, err = start(private, "--user", f"--runtime-dir={private.runtime}",
                      f"--state-dir={private.state}", preexec_fn=limit(8192))
    assert code == 1 and str(private.state) in err, (code, err)
    private.config.write_text("")
    private.process = subprocess.Popen(
        [BIN / "voltd", "--user", f"--runtime-dir={private.runtime}",
         f"--state-dir={private.state}", f"--config={private.config}"],
        env=private.env, cwd=private.dir, preexec_fn=limit(16 << 20))
    until(private.answers, "voltd to answer")
    r = private.submit("--wait", "--", "head", "-c", "20000000", "/dev/zero")
    assert r.code == 128 + signal.SIGXFSZ, r


@pytest.mark.parametrize("name", ["link", "link/below"])
def test_a_state_directory_behind_a_symbolic_link(private, name):
    """As a home is that lies on another disk."""
    (private.dir / "real").mkdir(mode=0o700)
    (private.dir / "link").symlink_to(private.dir / "real")
    private.state = private.dir / name
    private.start()
    ident = private.submit("--wait", "--", "echo", "x").out.strip()
    private.stop(signal.SIGKILL)
    private.start()
    assert private.ctl("logs", ident).out == "x\n"
    private.stop()
    code, out = start(private, "--check-store", "--user", f"--runtime-dir={private.runtime}",
                      f"--state-dir={private.state}")
    assert code == 0, out


def test_too_few_descriptors_are_called_so(private):
    """Whichever is the one too many, also that of a library: voltd runs or says it. Its threads open
    files for a moment while others start, so that the lowest limit that suffices differs by a few."""
    private.config.write_text("")
    for n in range(4, 41):
        def limit(n=n):
            resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        shutil.rmtree(private.state, ignore_errors=True)
        with open(private.log, "w") as said:
            private.process = subprocess.Popen(
                [BIN / "voltd", "--user", f"--runtime-dir={private.runtime}",
                 f"--state-dir={private.state}", f"--config={private.config}"],
                env=private.env, cwd=private.dir, preexec_fn=limit, stdin=subprocess.DEVNULL,
                stderr=said)
            until(lambda: private.process.poll() is not None or
                  "listening on" in private.log.read_text(), "it to run, or to end")
            text = private.log.read_text()
        runs = private.process.poll() is None
        if runs:
            private.stop()
        else:
            assert private.process.returncode == 1, (n, text)
            last = text.splitlines()[-1]
            assert last.endswith(": Too many open files"), (n, text)
    assert runs  # with the highest of them


@needs_root
def test_account_nobody_is_refused_at_the_start(private):
    """Its number stands for users of other namespaces: voltd would refuse its own user."""
    nobody = int(pathlib.Path("/proc/sys/kernel/overflowuid").read_text())
    private.as_service()
    os.chown(private.dir, nobody, nobody)
    code, err = start(private, "--user", f"--runtime-dir={private.runtime}", f"--state-dir={private.state}",
                      program=private.bin / "voltd", user=nobody, group=nobody, extra_groups=[])
    assert code == 2 and f"uid {nobody} stands for users of other namespaces" in err, (code, err)
    assert not private.state.exists()


@pytest.mark.parametrize("args, text", [
    (["--runtime-dir=", "--state-dir=s"], "--runtime-dir: a directory is needed"),
    (["--runtime-dir=r", "--state-dir="], "--state-dir: a directory is needed"),
    (["--config="], "--config: a file is needed"),
    (["--runtime-dir=d", "--state-dir=d"], "runtime and state directory are the same"),
])
def test_directories(private, args, text):
    code, err = start(private, "--user", *args)
    assert code in (1, 2) and text in err


def test_without_a_home(private):
    """The account's own, as for the state."""
    env = {"XDG_STATE_HOME": str(private.dir / "s"), "PATH": os.environ["PATH"]}
    done, err = start(private, "--user", f"--runtime-dir={private.dir}/r", "--workers=x",
                      env=env)
    assert done == 2
    code, err = start(private, "--user", "--runtime-dir=/proc/none", env=env)
    assert code == 1 and "/proc/none" in err and "configuration" not in err


def put(path, what):
    """Something else than a file."""
    if what == "fifo":
        os.mkfifo(path)
    elif what == "directory":
        path.mkdir()
    elif what == "link":
        path.symlink_to("generation")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))


@pytest.mark.parametrize("what", ["fifo", "socket", "directory"])
@pytest.mark.parametrize("name", [
    "state/ids", "state/witness", "state/lock", "run/lock", "state/rec/generation",
    "state/jobs.1.db", "state/jobs.1.db-wal", "state/jobs.1.db-shm", "state/jobs.1.db-journal",
    "voltd.conf", "voltd.conf.d/1.conf"])
def test_what_is_no_file_is_refused_by_its_name(private, name, what):
    """Whatever voltd opens at its start: it does not wait for the other end of a FIFO."""
    private.start(config="")
    private.submit("--wait", "true")
    assert private.stop() == 0
    path = private.dir / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    put(path, what)
    code, err = start(private, "--user", f"--runtime-dir={private.runtime}",
                      f"--state-dir={private.state}", f"--config={private.config}")
    assert code == 1 and (str(path) in err or f'"{path.name}"' in err), err
    reason = "is a directory" if what == "directory" else "it is not a regular file"
    assert reason in err.replace("Is", "is"), err


@pytest.mark.parametrize("what", ["fifo", "socket", "directory", "link"])
def test_what_stands_in_the_place_of_a_record(private, what):
    """It is a damaged record, whose job is lost; it stops no start and no other job."""
    private.start()
    ident = private.submit("--wait", "true").out.strip()
    assert private.stop() == 0
    record = private.state / "rec" / "700.1"
    put(record, what)
    put(private.state / "rec" / f"{ident}.1", what)  # of one that the store knows
    private.start()
    assert f"{record} is a damaged exit record, or none" in private.log.read_text()
    lost, = private.ctl("list", "--orphans", "--json").json
    assert (lost["id"], lost["result"], lost["step"]) == ("700", "lost", "record damaged"), lost
    assert private.job(ident)["result"] == "success"
    assert private.submit("--wait", "--", "sh", "-c", "exit 3").code == 3


def test_a_record_that_cannot_be_read_is_named(private):
    private.as_service().start()
    assert private.stop() == 0
    record = private.state / "rec" / "700.1"
    record.touch(mode=0)
    private.start(wait=False)
    assert private.process.wait(LIMIT) == 1
    private.process = None
    assert f"cannot read the exit record {record}: Permission denied: " in private.log.read_text()


def test_what_is_in_the_way_does_not_hold_up_a_submission(private):
    """Files that voltd makes: they are made anew, or it is said that they are not."""
    private.state.mkdir(mode=0o700)
    for name in "ids.new", "jobs.1.db.new", "reserve":
        os.mkfifo(private.state / name)
    private.start()
    assert private.submit("--wait", "--", "sh", "-c", "exit 3").code == 3
    assert (private.state / "ids").is_file()
    assert "reserve: it is not a regular file" in private.log.read_text()


def test_a_directory_in_the_way_is_named(private):
    """Not the file that was to come of it."""
    made = private.state / "ids.new"
    made.mkdir(mode=0o700, parents=True)
    private.start()
    r = private.submit("true")
    assert r.code == 125 and "cannot reserve job ids: ids.new: Is a directory" in r.err, r
    made.rmdir()
    assert private.submit("--wait", "true").code == 0


def test_the_null_device_is_an_empty_configuration(private):
    private.config = "/dev/null"
    private.process = subprocess.Popen(
        [BIN / "voltd", "--user", f"--runtime-dir={private.runtime}",
         f"--state-dir={private.state}", "--config=/dev/null"], env=private.env, cwd=private.dir)
    until(private.answers, "voltd to answer")
    assert private.ctl("reload").code == 0


@pytest.mark.parametrize("text, where", [
    ("[Queue\nSlots=3\n", ":1: neither [Section] nor Key=Value"),
    ("Slots=3\n", ":1: Slots= stands before any [Section]; it belongs in [Queue]"),
    ("Foo=3\n", ":1: Foo= stands before any [Section]"),
    ("[Queue]\nSlots=3\n\0\0\0", ":3: a NUL byte: the file is damaged"),
    pytest.param("\0" * 4096, ":1: a NUL byte: the file is damaged", id="NUL bytes"),
    ("[Queue]\nSlots=3\0\n", ":2: a NUL byte: the file is damaged"),
    ("[queue]\nSlots=3\n", ":2: unknown section [queue]; did you mean [Queue]?"),
])
def test_configuration_names_the_line(private, text, where):
    private.config.write_text(text)
    code, err = start(private, "--user", f"--config={private.config}")
    assert code == 1 and f"{private.config}{where}" in err, err


def test_reload_leaves_the_command_line_in_force(private):
    private.start(config="[Daemon]\nWorkers=1\n", workers=2)
    r = private.ctl("reload")
    assert r.code == 0 and r.err == ""
    assert private.ctl("config", "--json").json["settings"]["Daemon.Workers"] == "2"
    private.config.write_text("[Daemon]\nWorkers=1\nMaxBlockingThreads=7\n")
    r = private.ctl("reload")
    assert r.code == 0 and "MaxBlockingThreads waits" in r.err and "Workers" not in r.err


def test_the_first_call_of_all_may_be_a_reload(private):
    """The socket listens before everything behind it is there; calls wait for that."""
    for _ in range(25):
        private.start(wait=False)
        reload = None
        while reload is None:
            try:
                reload = private.connect_control()
            except OSError:
                assert private.process.poll() is None
        with reload:
            reload.ok("org.voltd.control.Reload")
        assert private.stop() == 0


def test_shutdown_wait_is_over_when_voltd_has_gone(private):
    """So that the next one can start at once."""
    for _ in range(5):
        private.start()
        process = private.process
        assert private.ctl("shutdown", "--wait").code == 0
        assert process.poll() == 0 or \
            pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "Z"
        private.process = None


def test_log_prefixes_are_for_the_journal(private):
    """Warnings may come before, as of inotify instances that others have taken."""
    private.start()
    lines = until(lambda: "version 0." in private.log.read_text() and private.log.read_text(),
                  "it to say which it is").splitlines()
    assert any(line.startswith("voltd: version 0.") for line in lines)
    assert not [line for line in lines if line.startswith("<")]


@pytest.fixture
def manager(private):
    """The socket on which a service manager listens to voltd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(private.dir / "notify"))
        sock.settimeout(LIMIT)
        private.env["NOTIFY_SOCKET"] = str(private.dir / "notify")
        yield sock


def told(manager, until):
    """What voltd says, up to that."""
    heard = []
    while not heard or heard[-1] != until:
        heard.append(manager.recv(4096).decode())
    return heard


def test_the_watchdog_hears_of_a_scheduler_that_turns(private, manager):
    private.env["WATCHDOG_USEC"] = "100000"
    private.start()
    told(manager, "READY=1")
    for _ in range(3):
        told(manager, "WATCHDOG=1")
    assert private.stop() == 0
    assert "STOPPING=1" in told(manager, "STOPPING=1")


def test_nobody_is_told_who_does_not_ask(private, manager):
    private.start()
    assert private.stop() == 0
    assert not any("WATCHDOG" in text for text in told(manager, "STOPPING=1"))


@pytest.mark.parametrize("mask", [0, 0o022])
def test_nobody_else_reaches_the_keeper(private, mask):
    """Whatever the umask is: its socket and the folder of that are the service's alone."""
    before = os.umask(mask)
    try:
        private.start()
    finally:
        os.umask(before)
    paths = private.runtime, private.runtime / "keeper.sock"
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o700, 0o600 & ~mask]


def test_a_shutdown_that_waits_says_for_what(private):
    private.start()
    ready = private.dir / "ready"
    ident = private.submit("--kill-after=1h", "--shell", "trap '' TERM; "
                           f"touch {ready}; while :; do sleep 0.02; done").out.strip()
    until(lambda: ready.exists() and private.job(ident)["state"] == "running")
    pid = private.job(ident)["pid"]
    asked = private.popen("voltctl", "shutdown", "--cancel", "--wait")
    assert asked.stderr.readline() == \
        f"voltctl: waiting for the end of 1 job: {ident} (stopping)\n"
    os.kill(pid, signal.SIGKILL)
    asked.communicate(timeout=LIMIT)
    assert asked.returncode == 0
    assert private.process.wait(LIMIT) == 0
    private.process = None
