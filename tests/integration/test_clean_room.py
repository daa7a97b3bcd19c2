"""However voltd was started, a job has what its user has from a login, and nothing else."""

import os
import subprocess

import clean_room
from conftest import BIN

# voltd with everything that it might hand on by mistake.
POLLUTED = """#!/usr/bin/python3
import os, resource, signal
for fd in 3, 7, 100:
    os.dup2(0, fd)
for name, most in (("CORE", 4096), ("FSIZE", 1 << 30), ("STACK", 1 << 20), ("MEMLOCK", 4096), ("NOFILE", 64)):
    kind = getattr(resource, "RLIMIT_" + name)
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (min(most, hard) if hard >= 0 else most, hard))
os.umask(0o173)
if os.getuid() == 0:
    os.nice(5)
signals = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
for s in signals:
    signal.signal(s, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, signals)
os.environ.update(POLLUTED="1", SHLVL="9", VOLT_ATTEMPT="9", TMPDIR="/nowhere")
voltd = os.path.realpath(BIN + "/voltd")
os.execv(voltd, [voltd, *os.sys.argv[1:]])
"""


def probe_of(private):
    return clean_room.built(private.dir / "clean_room")


def polluted(private):
    private.bin = private.dir / "polluted"
    private.bin.mkdir()
    (private.bin / "voltd").write_text(POLLUTED.replace("BIN", repr(str(BIN))))
    (private.bin / "voltd").chmod(0o755)
    return private


def as_from_a_login(private, probe):
    """What the probe has when a shell of this user starts it."""
    out = subprocess.run([probe], env=private.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         cwd="/", umask=0o022, start_new_session=True, check=True).stdout
    return {**clean_room.found(out), **clean_room.GOLDEN, "nice": str(0 if os.getuid() == 0 else os.nice(0))}


def test_a_job_has_nothing_of_a_polluted_voltd(private):
    probe = probe_of(private)
    expected = as_from_a_login(private, probe)
    expected["environment"] = " ".join(sorted({*expected["environment"].split(), *clean_room.OWN_NAMES}))
    before = os.umask(0o022)
    try:
        polluted(private).start()
        job = private.submit("--wait", str(probe)).out.strip()
    finally:
        os.umask(before)
    assert clean_room.differences(clean_room.found(private.ctl("logs", job).out), expected) == {}
