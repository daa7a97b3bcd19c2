"""What is left of a job whose shim was killed, and what SIGKILL does not end: it is ended or named,
and no other attempt begins beside it."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from conftest import needs_root, until, written
from jobs import alive, ended, get, keeper_of, main_of, records, sh, submit
from test_adopted import kill_shim, shim_of
from test_store import config


# Forks twice, each time into a session of its own, and says what it is when it is on its own.
FLEE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        how, path = sys.argv[1:]
        env = {"kept": dict(os.environ), "cleared": {},
               "changed": {**os.environ, "VOLT_JOB_ID": "4711"}}[how]
        os.execve("/bin/sh", ["sh", "-c", f"echo $$ >{path}.new; mv {path}.new {path};"
                              "exec sleep 1000"], env)
    os._exit(0)
os.wait()
"""


def fleeing(daemon, how, path, then="exec sleep 1000"):
    """A script that leaves a process of its own behind, once."""
    program = daemon.dir / "flee.py"
    program.write_text(FLEE)
    return (f"[ -e {path} ] || {sys.executable} {program} {how} {path};"
            f"until [ -s {path} ]; do sleep 0.01; done; {then}")


def main_shims(daemon):
    """All shims of the keeper, those of jobs that have ended included."""
    keeper = keeper_of(daemon)
    children = pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    return [int(p) for p in children
            if pathlib.Path(f"/proc/{p}/comm").read_text() == "volt-shim\n"]


@pytest.mark.parametrize("restarted", [False, True], ids=["up", "restarted"])
@pytest.mark.parametrize("how", ["kept", "cleared", "changed"])
def test_what_a_killed_shim_leaves_does_not_meet_the_next_attempt(private, how, restarted):
    """Whatever its environment says."""
    private.start(config=config())
    left, met = private.dir / "left", private.dir / "met"
    script = fleeing(private, how, left,
                     f"[ -e /proc/$(cat {left}) ]; echo $VOLT_ATTEMPT $? >>{met};"
                     "[ $VOLT_ATTEMPT = 2 ] || exec sleep 1000")
    with private.connect() as v:
        ident = submit(v, sh(script, on_lost="retry"))
        until(lambda: written(met), "it to leave something")
        pid = int(left.read_text())
        if not restarted:
            kill_shim(v, ident)
        else:
            shim = shim_of(main_of(v, ident))
    if restarted:
        private.stop(signal.SIGKILL)
        os.kill(shim, signal.SIGKILL)
        private.start()
    with private.connect() as v:
        job = ended(v, ident)
    assert (job["result"], job["attempt"], job.get("survivors")) == ("success", 2, None), job
    assert not alive(pid)
    assert met.read_text() == "1 0\n2 1\n"  # there, and gone


def test_what_other_jobs_have_is_left_alone(private):
    """Also what one of kill mode main has left behind, with or without its environment."""
    private.start(config=config())
    with private.connect() as v:
        left = []
        for how in "kept", "cleared":
            path = private.dir / how
            job = ended(v, submit(v, sh(fleeing(private, how, path, ":"), kill_mode="main")))
            assert job["result"] == "success"
            left.append(int(path.read_text()))
        other = submit(v, sh(fleeing(private, "cleared", private.dir / "other")))
        until(lambda: (private.dir / "other").exists() and get(v, other)["state"] == "running")
        lost = submit(v, sh(fleeing(private, "kept", private.dir / "lost")))
        until(lambda: (private.dir / "lost").exists())
        kill_shim(v, lost)
        job = ended(v, lost)
        assert (job["result"], job["step"], job.get("survivors")) == ("lost", "shim killed", None)
        assert not alive(int((private.dir / "lost").read_text()))
        assert all(map(alive, left)) and alive(int((private.dir / "other").read_text()))
        assert get(v, other)["state"] == "running"
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def test_what_a_job_of_mode_main_has_left_outlives_its_shim_and_others(private):
    """The job has ended as it was to: what names it in its environment was left on purpose, also
    what that starts later. What names nobody may be of the job that was lost."""
    private.start(config=config())
    gate, grandchild = private.dir / "gate", private.dir / "grandchild"
    with private.connect() as v:
        left = {}
        for how in "kept", "cleared":
            path = private.dir / how
            script = fleeing(private, how, path, ":").replace("\n", " ")
            job = ended(v, submit(v, sh(script, kill_mode="main")))
            assert job["result"] == "success"
            left[how] = int(path.read_text())
        forker = ended(v, submit(v, sh(
            f"(until [ -e {gate} ]; do sleep 0.01; done; (sleep 1000 & echo $! >{grandchild})) &",
            kill_mode="main")))
        assert forker["result"] == "success"
        until(lambda: records(private) == [], "the records to go")
        shims = {shim_of(pid) for pid in left.values()} | set(main_shims(private))
        assert len(shims) == 3
        for shim in shims:
            os.kill(shim, signal.SIGKILL)
        until(lambda: not any(map(alive, shims)), "the shims to go")
        gate.touch()
        until(lambda: written(grandchild))
        lost = submit(v, sh(fleeing(private, "kept", private.dir / "lost"), on_lost="retry"))
        until(lambda: (private.dir / "lost").exists())
        kill_shim(v, lost)
        until(lambda: get(v, lost)["attempt"] == 2, "the next attempt")
        assert not alive(int((private.dir / "lost").read_text()))
        assert alive(left["kept"]) and alive(int(grandchild.read_text()))
        assert not alive(left["cleared"])
    os.kill(left["kept"], signal.SIGKILL)
    os.kill(int(grandchild.read_text()), signal.SIGKILL)


def test_many_shims_at_once(private):
    """Each is followed by another attempt, none of which finds anything of one before."""
    private.start(config=config(slots=60))
    left = private.dir / "left"
    left.mkdir()
    script = fleeing(private, "cleared", f"{left}/$VOLT_ARRAY_INDEX").replace(
        "exec sleep 1000", f"[ $VOLT_ATTEMPT = 1 ] && exec sleep 1000; [ ! -e "
        f"/proc/$(cat {left}/$VOLT_ARRAY_INDEX) ]").replace("[ -e", "[ -s")
    with private.connect() as v:
        ident = submit(v, {**sh(script, on_lost="retry"), "array": {"first": 1, "last": 50}})
        until(lambda: len([p for p in left.iterdir() if "." not in p.name]) == 50)
        for i in range(1, 51):
            kill_shim(v, f"{ident}_{i}")
        job = ended(v, ident)
        assert job["counts"]["done"] == 50 and job["counts"]["failed"] == 0, job


def test_shim_and_keeper_killed(private):
    """Nobody can tell what is left: no other attempt, and the cause says so."""
    private.start(config=config())
    left = private.dir / "left"
    with private.connect() as v:
        ident = submit(v, sh(fleeing(private, "cleared", left), on_lost="retry"))
        until(lambda: left.exists())
        main = main_of(v, ident)
        shim, keeper = shim_of(main), keeper_of(private)
        os.kill(keeper, signal.SIGKILL)
        until(lambda: keeper_of(private) not in (None, keeper), "the next keeper")
        os.kill(shim, signal.SIGKILL)
        job = ended(v, ident)
    assert (job["result"], job["step"], job["attempt"]) == ("lost", "shim and keeper killed", 1)
    assert job["survivors_unknown"] is True and job["survivors"] == []
    assert "Survivors: unknown" in private.ctl("status", ident).out
    assert not alive(main)
    os.kill(int(left.read_text()), signal.SIGKILL)


# --- what SIGKILL does not end ---------------------------------------------------------------

STUBBORN = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* Becomes root for good, as the service account may not signal it. "main PATH": itself;
 * "child PATH": a child that is on its own. It writes its pid to PATH. */
int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "child") == 0) {
        if (fork() != 0)
            return 0;
        setsid();
        if (fork() != 0)
            return 0;
    }
    if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
        return 1;
    int fd = open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    dprintf(fd, "%d\n", (int)getpid());
    close(fd);
    for (;;)
        pause();
}
"""


@pytest.fixture
def stubborn(private):
    """A program whose processes cannot be killed by the service account that voltd is."""
    private.as_service()
    private.dir.chmod(0o755)
    path = private.dir / "stubborn"
    subprocess.run(["cc", "-x", "c", "-o", path, "-"], input=STUBBORN, text=True, check=True)
    path.chmod(0o4755)
    yield path
    for pid in private.dir.glob("pid.*"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(pid.read_text()), signal.SIGKILL)


def number_in(path):
    until(lambda: written(path), "a process to say its number")
    return int(path.read_text())


@needs_root
@pytest.mark.parametrize("restarted", [False, True], ids=["up", "restarted"])
def test_the_next_attempt_waits_for_survivors(private, stubborn, restarted):
    """They are listed until they have gone."""
    path = private.dir / "pid.1"
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh(f"echo $VOLT_ATTEMPT >>{private.dir}/ran;"
                             f"[ $VOLT_ATTEMPT = 2 ] || {stubborn} child {path}; [ $VOLT_ATTEMPT = 2 ]"
                             "|| exec sleep 1000", on_lost="retry"))
        pid = number_in(path)
        main = kill_shim(v, ident)
        until(lambda: get(v, ident).get("survivors"), "survivors")
        job = private.ctl("status", "--json", ident).json
        job = job[0] if isinstance(job, list) else job
        assert (job["survivors"], job["survivor_count"], job["wait"], job["attempt"]) == \
            ([pid], 1, "survivors", 1), job
        assert f"Survivors: 1 processes of it could not be ended: {pid}" in \
            private.ctl("status", ident).out
        assert not alive(main)
    if restarted:
        private.stop(signal.SIGKILL)
        private.start()
        with private.connect() as v:
            until(lambda: get(v, ident).get("survivors") == [pid], "survivors, once more")
    assert (private.dir / "ran").read_text() == "1\n"
    os.kill(pid, signal.SIGKILL)
    with private.connect() as v:
        job = ended(v, ident)
        assert (job["result"], job["attempt"], job.get("survivors")) == ("success", 2, None), job
    until(lambda: records(private) == [], "the records to go")


@needs_root
def test_a_job_that_is_cancelled_beside_survivors_is_lost_with_them(private, stubborn):
    """Their numbers are kept with the end."""
    path = private.dir / "pid.1"
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh(f"{stubborn} child {path}; exec sleep 1000", on_lost="retry"))
        pid = number_in(path)
        kill_shim(v, ident)
        until(lambda: get(v, ident).get("survivors"), "survivors")
        assert private.ctl("cancel", ident).code == 0
        assert (ended(v, ident)["result"], get(v, ident)["survivors"]) == ("lost", [pid])
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        job = get(v, ident)
        assert (job["state"], job["survivors"], job["survivor_count"]) == ("done", [pid], 1)


@needs_root
def test_a_main_process_that_cannot_be_killed(private, stubborn):
    """It is listed while the job is stopping; and what a job leaves so, with its end."""
    private.start(config=config())
    with private.connect() as v:
        main = submit(v, argv=[str(stubborn), "main", str(private.dir / "pid.1")],
                      stop_signal="KILL")
        child = submit(v, sh(f"{stubborn} child {private.dir}/pid.2"))
        pid, left = number_in(private.dir / "pid.1"), number_in(private.dir / "pid.2")
        job = ended(v, child)
        assert (job["result"], job["survivors"]) == ("success", [left])
        assert private.ctl("cancel", main).code == 0
        until(lambda: get(v, main).get("wait") == "survivors", "the wait reason")
        assert (get(v, main)["state"], get(v, main)["survivors"]) == ("stopping", [pid])
        assert "waiting for processes that SIGKILL does not end" in private.ctl("status", main).out
        assert private.ctl("list", "--json").json[0]["survivors"] == [pid]
        os.kill(pid, signal.SIGKILL)
        assert ended(v, main)["result"] == "cancelled"


@pytest.mark.parametrize("kept", [True, False], ids=["in memory", "in the store"])
def test_what_a_job_leaves_in_the_background_is_killed_and_told(private, kept):
    """Also after a restart, and of one element of an array."""
    private.start(config=f"[Store]\nKeepEndedJobs={100 if kept else 1}\n")
    two = private.submit("-w", "sh", "-c", "sleep 1000 & sleep 1000 & exit 3").out.strip()
    none = private.submit("-w", "--kill-mode=main", "sh", "-c", "sleep 1000 & echo $!")
    rest = int(private.ctl("logs", none.out.strip()).out)
    try:
        array = private.submit("-w", "--array=1-2", "sh", "-c", "if [ $VOLT_ARRAY_INDEX = 2 ]; then sleep 1000 & fi").out.strip()
        for restarted in (False, True):
            if restarted:
                private.stop()
                private.start()
            assert private.job(two)["left_killed"] == 2
            assert private.job(f"{array}_2")["left_killed"] == 1
            for ident in (none.out.strip(), array, f"{array}_1"):
                assert "left_killed" not in private.job(ident), ident
            assert "      Left: 2 processes, killed: " in private.ctl("status", two).out
            assert "      Left: 1 process, killed: " in private.ctl("status", f"{array}_2").out
            assert "Left:" not in private.ctl("status", array, none.out.strip()).out
    finally:
        os.kill(rest, signal.SIGKILL)
