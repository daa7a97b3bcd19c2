"""The first submission starts a voltd where none runs; no other one does."""
import contextlib
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import pytest

from conftest import BIN, LIMIT, daemon_for_a_test, until


@pytest.fixture
def nobody():
    """Directories of a user who has no voltd yet."""
    with daemon_for_a_test() as daemon:
        (daemon.dir / "runtime").mkdir(mode=0o700)
        del daemon.env["VOLT_ADDRESS"]
        daemon.env.update(XDG_RUNTIME_DIR=str(daemon.dir / "runtime"), XDG_STATE_HOME=str(daemon.dir / "state"),
                          XDG_CONFIG_HOME=str(daemon.dir / "config"))
        yield daemon
        daemon.ctl("--user", "shutdown", "--cancel", "--wait")


def lock(path):
    """A process that has the lock of a start, as one that was stopped has it."""
    path.parent.mkdir(mode=0o700, parents=True)
    holder = subprocess.Popen([sys.executable, "-c", "import fcntl, sys\n"
                               f"f = open({str(path)!r}, 'w'); fcntl.lockf(f, fcntl.LOCK_EX)\n"
                               "print(flush=True); sys.stdin.read()"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    holder.stdout.readline()
    return holder


def test_the_first_submission(nobody):
    r = nobody.submit("-w", "--user", "--", "sh", "-c", "echo hello; exit 7")
    assert (r.code, r.out) == (7, "1\n") and "started one for this user" in r.err, r
    r = nobody.submit("-w", "--user", "true")
    assert (r.code, r.out, r.err) == (0, "2\n", ""), r
    assert nobody.ctl("--user", "logs", "1").out == "hello\n"
    log = nobody.dir / "runtime/voltd/voltd.log"
    assert "listening on" in log.read_text() and log.stat().st_mode & 0o777 == 0o600
    pid = int(nobody.ctl("--user", "stats", "--json").json["pid"])
    assert os.getsid(pid) == pid and os.readlink(f"/proc/{pid}/cwd") == "/"
    assert nobody.ctl("--user", "shutdown", "--wait").code == 0
    assert nobody.submit("-w", "--quiet", "--user", "true").err == ""  # started again, silently


@pytest.mark.parametrize("mask", [0o177, 0o777])
def test_the_mask_of_the_first_submitter_is_its_own(nobody, mask):
    """What it and voltd make can be used by all that follow; its job has the mask."""
    p = subprocess.run([BIN / "volt-submit", "-F", "--user", "--", "sh", "-c", "umask"], env=nobody.env,
                       cwd=nobody.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                       umask=mask)
    assert (p.returncode, p.stdout) == (0, f"{mask:04o}\n"), p
    modes = {}
    for path in (path for top in ("runtime", "state") for path in (nobody.dir / top).rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # the record of what has ended goes
            if not path.is_symlink():
                modes[path.relative_to(nobody.dir)] = path.lstat().st_mode & 0o700
    assert len(modes) > 5 and all(mode >= 0o600 for mode in modes.values()), modes
    assert nobody.submit("-w", "--user", "true").code == 0


def test_many_at_once_start_one(nobody):
    crowd = [subprocess.Popen([BIN / "volt-submit", "--user", "-w", "true"], env=nobody.env, cwd=nobody.dir,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) for _ in range(8)]
    told = [p.communicate(timeout=LIMIT) for p in crowd]
    assert [p.returncode for p in crowd] == [0] * 8, told
    assert sorted(out.strip() for out, _ in told) == [str(n) for n in range(1, 9)]
    assert sum("started one" in err for _, err in told) == 1


def test_another_one_that_starts_or_ends_is_waited_for(nobody):
    """While it holds the lock there is no answer, and no failure either."""
    runtime = nobody.dir / "runtime/voltd"
    holder = lock(runtime / "lock")
    submit = nobody.popen("volt-submit", "--user", "-w", "--", "sh", "-c", "exit 7")
    log = runtime / "voltd.log"
    until(lambda: log.exists() and f"another voltd (pid {holder.pid})" in log.read_text())
    holder.communicate()
    out, err = submit.communicate(timeout=LIMIT)
    assert (submit.returncode, out) == (7, "1\n") and "started one for this user" in err, err


def test_a_starter_that_is_stopped_holds_nobody(nobody):
    """While it has begun nothing it is waited for, and named; once voltd answers it is not."""
    holder = lock(nobody.dir / "runtime/voltd/voltd.log")
    submits = [nobody.popen("volt-submit", "--user", "-w", "true") for _ in range(2)]
    for submit in submits:
        assert f"waits for process {holder.pid}, which starts voltd" in submit.stderr.readline()
    with open(nobody.log, "ab") as log:
        voltd = subprocess.Popen([BIN / "voltd", "--user"], env=nobody.env, stdout=log, stderr=log)
    told = [submit.communicate(timeout=LIMIT) for submit in submits]
    assert [(submit.returncode, err) for submit, (_, err) in zip(submits, told)] == [(0, "")] * 2
    assert sorted(out for out, _ in told) == ["1\n", "2\n"]
    assert holder.poll() is None
    assert nobody.ctl("--user", "shutdown", "--wait").code == 0
    voltd.wait(LIMIT)
    holder.communicate()


def test_what_another_one_started_is_not_called_ours(nobody):
    """Here the voltd that was started ends at once, and another one answers."""
    programs = nobody.dir / "bin"
    programs.mkdir()
    shutil.copy(BIN / "volt-submit", programs)
    (programs / "voltd").write_text(f'#!/bin/sh\n"{BIN}/voltd" "$@" & sleep 600\n')
    (programs / "voltd").chmod(0o755)
    p = subprocess.run([programs / "volt-submit", "--user", "-w", "--", "sh", "-c", "exit 7"],
                       env=nobody.env, cwd=nobody.dir, capture_output=True, text=True, timeout=LIMIT)
    assert (p.returncode, p.stdout, p.stderr) == (7, "1\n", "volt-submit: job 1: exit status 7\n")


def bounded(nobody, which, soft, hard, *words):
    """A first submission under such a limit."""
    return subprocess.run([BIN / "volt-submit", "--user", *words, "true"], env=nobody.env, cwd=nobody.dir,
                          capture_output=True, text=True, timeout=LIMIT,
                          preexec_fn=lambda: resource.setrlimit(which, (soft, hard)))


def test_limits_of_one_command_are_not_those_of_voltd(nobody):
    for which, what in (resource.RLIMIT_CPU, "CPU time"), (resource.RLIMIT_FSIZE, "file size"):
        r = bounded(nobody, which, 1 << 20, 1 << 20)
        assert r.returncode == 125 and f"the hard limit of {what}" in r.stderr, r
    assert not (nobody.dir / "runtime/voltd/voltd.sock").exists()
    r = bounded(nobody, resource.RLIMIT_FSIZE, 1 << 20, resource.RLIM_INFINITY, "-w")
    assert r.returncode == 0, r
    pid = int(nobody.ctl("--user", "stats", "--json").json["pid"])
    assert resource.prlimit(pid, resource.RLIMIT_FSIZE) == (resource.RLIM_INFINITY,) * 2
    r = nobody.submit("--user", "-w", "--follow", "--", "sh", "-c", "ulimit -Sf")
    assert (r.code, r.out.split()[-1]) == (0, "unlimited"), r


def test_niceness_of_one_command_is_not_that_of_voltd(nobody):
    p = subprocess.run([BIN / "volt-submit", "--user", "-w", "true"], env=nobody.env, cwd=nobody.dir,
                       capture_output=True, text=True, timeout=LIMIT,
                       preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, 7))
    if os.geteuid() != 0:
        assert p.returncode == 125 and "the niceness 7 of this command" in p.stderr, p
        return
    assert p.returncode == 0, p
    pid = int(nobody.ctl("--user", "stats", "--json").json["pid"])
    assert os.getpriority(os.PRIO_PROCESS, pid) == 0


def test_it_has_no_descriptor_of_ours(nobody):
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    p = subprocess.run([BIN / "volt-submit", "--user", "true"], env=nobody.env, cwd=nobody.dir,
                       capture_output=True, text=True, close_fds=False, timeout=LIMIT)
    os.close(writing)
    assert p.returncode == 0 and os.read(reading, 1) == b""  # nobody holds its other end
    os.close(reading)


def test_none_is_started(nobody):
    for words in (["--no-autostart", "--user"], ["--address", nobody.dir / "runtime/voltd/voltd.sock"],
                  ["--system"]):
        r = nobody.submit(*words, "true")
        assert r.code == 125 and "no voltd answers" in r.err, r
    assert nobody.submit("--dry-run", "--user", "true").code == 0
    assert nobody.ctl("--user", "list").code == 3
    assert list((nobody.dir / "runtime").iterdir()) == []


def test_without_the_session_that_started_it(nobody):
    """As jobs of cron are, and what `su -c` starts: the one that runs is found, in both directions."""
    session = nobody.env["XDG_RUNTIME_DIR"]
    other = nobody.dir / "other"
    other.mkdir(mode=0o700)
    for first, second in ((session, str(other)), (str(other), session)):
        nobody.env["XDG_RUNTIME_DIR"] = first
        r = nobody.submit("--user", "-w", "true")
        assert r.code == 0 and "started one" in r.err, r
        nobody.env["XDG_RUNTIME_DIR"] = second
        r = nobody.submit("--user", "-w", "true")
        assert (r.code, r.err) == (0, ""), r
        assert nobody.ctl("--user", "stats").code == 0
        assert not (other / "voltd/voltd.log").exists() or first == str(other)
        assert nobody.ctl("--user", "shutdown", "--wait").code == 0
        assert not (nobody.dir / "state/voltd/runtime").is_symlink()
    r = nobody.ctl("--user", "list")
    assert r.code == 3 and len([x for x in r.err.splitlines() if "voltd.sock" in x]) == 1, r


def test_one_that_does_not_say_where_it_is(nobody):
    """It has the state directory: none is started again and again."""
    holder = lock(nobody.dir / "state/voltd/lock")
    r = nobody.submit("--user", "true")
    assert r.code == 125 and r.out == "", r
    ended, hint = r.err.splitlines()
    assert f"another voltd (pid {holder.pid}) already uses {nobody.dir}/state/voltd (" in ended, r
    assert f"its sockets are not in {nobody.dir}/runtime/voltd: set XDG_RUNTIME_DIR" in hint, r
    assert len((nobody.dir / "runtime/voltd/voltd.log").read_text().splitlines()) <= 6
    holder.communicate()


def test_advice_is_true_where_an_address_was_given(nobody):
    for words, code, text in ((["--system"], 125, "root starts it by `systemctl start voltd`"),
                              (["--address=/none"], 125, "the address was given")):
        r = nobody.submit(*words, "true")
        assert r.code == code and text in r.err and "starts one for this user" not in r.err, r
        r = nobody.ctl(*words, "list")
        assert r.code == 3 and text in r.err and "starts one for this user" not in r.err, r
    r = nobody.ctl("--user", "list")
    assert "volt-submit starts one for this user" in r.err, r


def test_why_it_could_not_be_started(nobody):
    (nobody.dir / "config/voltd").mkdir(parents=True)
    (nobody.dir / "config/voltd/voltd.conf").write_text("[Queue]\nSlot=1\n")
    r = nobody.submit("--user", "true")
    assert r.code == 125 and "ended at once" in r.err and "unknown key Slot=" in r.err, r
    nobody.env["XDG_RUNTIME_DIR"] = str(nobody.dir / "missing")
    r = nobody.submit("--user", "true")
    assert r.code == 125 and "voltd cannot be started" in r.err and "No such file" in r.err, r


@pytest.mark.parametrize("swept", ["sockets", "directory"])
def test_sockets_that_are_swept_away_come_back(nobody, swept):
    """As by what cleans /tmp: the same voltd makes them anew when somebody needs it."""
    assert nobody.submit("--user", "-w", "true").code == 0
    pid = nobody.ctl("--user", "stats", "--json").json["pid"]
    running = nobody.submit("--user", "sleep", "600").lines[0]
    folder = nobody.dir / "runtime/voltd"
    if swept == "directory":
        shutil.rmtree(folder)
    else:
        for name in ("voltd.sock", "control.sock"):
            (folder / name).unlink()
    r = nobody.submit("--user", "-w", "true")
    assert r.code == 0 and "no voltd ran" not in r.err, r
    assert nobody.ctl("--user", "stats", "--json").json["pid"] == pid
    assert nobody.ctl("--user", "list", "--no-legend", "-o", "id").lines == [running]


def test_a_second_start_says_where_the_first_one_listens(nobody):
    assert nobody.submit("--user", "-w", "true").code == 0
    nobody.env["XDG_RUNTIME_DIR"] = str(nobody.dir)
    r = nobody.run("voltd", "--user")
    socket = nobody.dir / "runtime/voltd/voltd.sock"
    assert r.code == 3 and f"it listens on {socket}; `voltctl --address=unix:{socket} shutdown` ends it" in r.err, r
    assert "already uses" in r.err.splitlines()[-1], r


def root_among_others(folder, uid):
    folder.chmod(0o755)
    for name in ("home", "run"):
        (folder / name).mkdir(mode=0o700)
        os.chown(folder / name, uid, uid)
    (folder / "root").mkdir(mode=0o700)
    theirs = {"HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "run"), "PATH": os.environ["PATH"]}
    own = {**theirs, "XDG_RUNTIME_DIR": str(folder / "root"), "XDG_STATE_HOME": str(folder / "root/state")}

    def run(program, *words, **more):
        return subprocess.run([BIN / program, *words], capture_output=True, text=True, timeout=LIMIT, **more)
    tried = run("voltctl", "--user", "list", env={**theirs, "XDG_STATE_HOME": theirs["HOME"]}).stderr
    assert str(folder) not in tried, tried
    assert run("volt-submit", "--user", "-w", "--", "true", env=own).returncode == 0
    assert run("voltctl", "--user", "shutdown", "--wait", env=own).returncode == 0
    assert [path for path in folder.glob("home/**/*") if path.lstat().st_uid == 0] == []
    as_user = {"user": uid, "group": uid, "extra_groups": [], "cwd": "/", "env": theirs}
    assert run("volt-submit", "--user", "-w", "--", "true", **as_user).returncode == 0
    assert run("voltctl", "--user", "shutdown", "--wait", **as_user).returncode == 0


@pytest.mark.needs_root
def test_root_with_the_environment_of_another():
    """sudo keeps HOME, su XDG_RUNTIME_DIR: nothing of root's is left there, and its user goes on as before."""
    with tempfile.TemporaryDirectory() as folder:
        root_among_others(pathlib.Path(folder), 23459)
