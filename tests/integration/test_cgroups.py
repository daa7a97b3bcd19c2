"""Jobs of a keeper that has a delegated cgroup, as the unit voltd-jobs@UID gives it: each has one of its own."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import activator
from activator import ALICE, BOB, call, output, running, start, state, submit
from conftest import needs_root, until

pytestmark = needs_root

# A process of root's, one that has left session, parent and environment, and one in a cgroup below.
FLEEING = ("{dir}/rootsleep 1000 & (setsid env -i sleep 1000 &); mkdir {cgroup}/$VOLT_JOB_ID.1/a.b; "
           "sh -c 'echo 0 >{cgroup}/'$VOLT_JOB_ID'.1/a.b/cgroup.procs; exec sleep 1000' & ")


class Cgroups:
    """One with keeper/ and jobs/ for each user. The keeper sees the unified hierarchy where systemd has it."""

    def __init__(self):
        mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
        self.mount = next((pathlib.Path(m[1]) for m in mounts if m[2] == "cgroup2"), None)
        own = next(line[len("0::/"):] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                   if line.startswith("0::/"))
        if self.mount is None or not os.access(self.mount / own, os.W_OK):
            pytest.skip("no cgroup of version 2 to make one in")
        self.place = self.mount / own / f"volt-test-{os.getpid()}"
        self.place.mkdir()

    def of(self, uid):
        return self.place / str(uid)

    def job(self, uid, ident):
        return self.of(uid) / "jobs" / f"{ident}.1"

    def entering(self, uid):
        """The command before that of the keeper."""
        place = self.of(uid)
        for part in place, place / "keeper", place / "jobs":
            part.mkdir(exist_ok=True)
            for file in part, part / "cgroup.procs", part / "cgroup.subtree_control":
                os.chown(file, uid, uid)
        return ["unshare", "--mount", "sh", "-c", 'echo 0 >"$1/keeper/cgroup.procs" && '
                '{ [ "$2" = /sys/fs/cgroup ] || mount --bind "$2" /sys/fs/cgroup; } && shift 2 && exec "$@"',
                "sh", place, self.mount]

    def close(self):
        (self.place / "cgroup.kill").write_text("1")
        until(lambda: "populated 0" in (self.place / "cgroup.events").read_text(), "all to end")
        for path, _, _ in os.walk(self.place, topdown=False):
            os.rmdir(path)


@pytest.fixture
def cgroups():
    made = Cgroups()
    yield made
    made.close()


@pytest.fixture
def system(private, cgroups):
    with activator.system(private, cgroups) as daemon:
        shutil.copy("/bin/sleep", daemon.dir / "rootsleep")
        (daemon.dir / "rootsleep").chmod(0o4755)
        yield daemon


def members(cgroup):
    return sorted(int(pid) for file in cgroup.rglob("cgroup.procs") for pid in file.read_text().split())


def events(cgroup):
    return (cgroup / "cgroup.events").read_text()


def start_fleeing(system, cgroups, *options):
    """A job of four processes that runs: its id, their pids."""
    script = FLEEING.format(dir=system.dir, cgroup=f"/sys/fs/cgroup/{cgroups.of(ALICE).relative_to(cgroups.mount)}/jobs")
    job = submit(system, ALICE, *options, "--", "sh", "-c", f"{script} exec sleep 1000")
    cgroup = cgroups.job(ALICE, job)
    until(lambda: cgroup.exists() and len(members(cgroup)) == 4 and (cgroup / "a.b").exists() and
          len(members(cgroup / "a.b")) == 1, "four to run")
    return job, members(cgroup)


def alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def gone(cgroup):
    until(lambda: not cgroup.exists(), f"{cgroup.name} to be removed")


def test_a_job_is_born_in_its_cgroup_and_takes_it_along(system, cgroups):
    assert output(system, ALICE, "sed", "-n", "s/^0:://p", "/proc/self/cgroup").endswith(f"/{ALICE}/jobs/1.1\n")
    assert output(system, BOB, "sed", "-n", "s/^0:://p", "/proc/self/cgroup").endswith(f"/{BOB}/jobs/2.1\n")
    gone(cgroups.job(ALICE, 1))
    gone(cgroups.job(BOB, 2))


def test_a_cancel_ends_all_of_it_whoever_it_is(system, cgroups):
    job, pids = start_fleeing(system, cgroups)
    until(lambda: sorted(pathlib.Path(f"/proc/{pid}").stat().st_uid for pid in pids) == [0, ALICE, ALICE, ALICE],
          "the set-uid program to be executed")
    assert call(system, ALICE, "voltctl", "cancel", job).returncode == 0
    until(lambda: "cancelled" in state(system, ALICE, job), "its end")
    assert not any(map(alive, pids))
    gone(cgroups.job(ALICE, job))


def test_what_is_left_of_a_job_ends_with_it(system, cgroups):
    job, pids = start_fleeing(system, cgroups)
    os.kill(running(system, ALICE, job), signal.SIGKILL)
    until(lambda: '"done"' in state(system, ALICE, job), "its end")
    assert not any(map(alive, pids))
    gone(cgroups.job(ALICE, job))


def test_kill_mode_main_leaves_the_rest_and_the_cgroup_with_it(system, cgroups):
    job, pids = start_fleeing(system, cgroups, "--kill-mode=main")
    main = running(system, ALICE, job)
    os.kill(main, signal.SIGKILL)
    until(lambda: '"done"' in state(system, ALICE, job), "its end")
    left = [pid for pid in pids if pid != main]
    assert members(cgroups.job(ALICE, job)) == left
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    gone(cgroups.job(ALICE, job))


def test_without_its_shim_all_of_a_job_is_found(system, cgroups):
    job, pids = start_fleeing(system, cgroups)
    main = running(system, ALICE, job)
    stat = pathlib.Path(f"/proc/{main}/stat").read_text()
    os.kill(int(stat.rsplit(")")[1].split()[1]), signal.SIGKILL)
    until(lambda: '"lost"' in state(system, ALICE, job), "its end")
    assert not any(map(alive, pids))
    gone(cgroups.job(ALICE, job))


def test_a_pause_is_seen_by_nobody_in_the_job(system, cgroups):
    job, pids = start_fleeing(system, cgroups)
    cgroup = cgroups.job(ALICE, job)
    assert call(system, ALICE, "voltctl", "pause", job).returncode == 0
    assert "frozen 1" in events(cgroup)
    assert "T" not in [pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] for pid in pids]
    system.stop(signal.SIGKILL)
    start(system)
    until(lambda: '"paused"' in state(system, ALICE, job), "it to be known as paused")
    assert "frozen 1" in events(cgroup)
    assert call(system, ALICE, "voltctl", "resume", job).returncode == 0
    assert "frozen 0" in events(cgroup)
    assert call(system, ALICE, "voltctl", "pause", job).returncode == 0
    assert call(system, ALICE, "voltctl", "cancel", job).returncode == 0
    until(lambda: "cancelled" in state(system, ALICE, job), "its end")
    assert not any(map(alive, pids))
    gone(cgroup)


def test_who_was_moved_into_the_cgroup_of_a_job_ends_with_it(system, cgroups):
    """By its user: it is no child of the job's."""
    other = submit(system, ALICE, "--", "sleep", "1000")
    job = submit(system, ALICE, "--", "sleep", "1000")
    moved = running(system, ALICE, other)
    running(system, ALICE, job)
    (cgroups.job(ALICE, job) / "cgroup.procs").write_text(str(moved))
    assert call(system, ALICE, "voltctl", "cancel", job).returncode == 0
    until(lambda: '"done"' in state(system, ALICE, other), "both to end")
    gone(cgroups.job(ALICE, job))
    gone(cgroups.job(ALICE, other))


def test_who_has_moved_away_is_found_by_its_parent(system, cgroups):
    job, pids = start_fleeing(system, cgroups)
    (cgroups.of(ALICE) / "keeper/cgroup.procs").write_text(str(next(
        pid for pid in pids if pathlib.Path(f"/proc/{pid}").stat().st_uid == ALICE)))
    assert call(system, ALICE, "voltctl", "cancel", job).returncode == 0
    until(lambda: "cancelled" in state(system, ALICE, job), "its end")
    assert not any(map(alive, pids))
    gone(cgroups.job(ALICE, job))


def test_its_end_says_that_it_was_contained(system, cgroups):
    """There is a hierarchy, and mostly none of its controllers: then a limit is in vain, and said."""
    job = submit(system, ALICE, "--wait", "--", "true")
    assert json.loads(call(system, ALICE, "voltctl", "status", "--json", job).stdout)["contained"] is True
    if "pids" not in (cgroups.of(ALICE) / "cgroup.controllers").read_text().split():
        done = call(system, ALICE, "volt-submit", "--wait", "--pids-max=7", "--", "true")
        assert done.returncode == 125 and "cgroup: there is none that has the limits of its spec" in done.stderr, done


def test_status_says_what_a_running_job_uses(system, cgroups):
    """As root, who sees the hierarchy in the place where systemd has it."""
    job = submit(system, ALICE, "--", "sh", "-c", "while :; do :; done")
    until(lambda: cgroups.job(ALICE, job).exists() and "\nuser_usec 0\n" not in
          (cgroups.job(ALICE, job) / "cpu.stat").read_text(), "some CPU time")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", '[ "$1" = /sys/fs/cgroup ] || mount --bind "$1" '
                           '/sys/fs/cgroup; shift && exec "$@"', "sh", cgroups.mount, system.bin / "voltctl", "status", job],
                          env=system.env, capture_output=True, text=True)
    assert re.search(r"(?m)^ +CPU: \S+ user, .* so far$", done.stdout), done
    # Without one of its own there is nothing to say.
    (cgroups.of(ALICE) / "keeper/cgroup.procs").write_text(str(running(system, ALICE, job)))
    assert "CPU:" not in call(system, ALICE, "voltctl", "status", job).stdout
