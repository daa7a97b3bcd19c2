"""What the cgroup of a job costs: the same jobs with and without one, in turns. A figure, no check: it is run
by name alone, make check-vm T="check_install check_start show_cost", with nothing else on the machine."""
import os
import statistics
import subprocess
import time

from keepers import ALICE, jobs_unit, keeper
from vm import CGROUPS, output_of, run, show

JOBS, TURNS = 100, 12


def settle(contained):
    """Jobs of alice have a cgroup each from now on, or none."""
    unit = CGROUPS / show(jobs_unit(), "ControlGroup").lstrip("/")
    if contained:
        (unit / "jobs").mkdir(exist_ok=True)
        os.chown(unit / "jobs", ALICE, ALICE)
        for name in "cgroup.procs", "cgroup.subtree_control":
            os.chown(unit / "jobs" / name, ALICE, ALICE)
        controllers = (unit / "cgroup.controllers").read_text().split()
        (unit / "jobs/cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))
    else:
        (unit / "jobs").rmdir()
    run("systemctl", "stop", keeper())
    output_of("true")  # another keeper looks


def seconds():
    """Of an array, two at a time."""
    begun = time.monotonic()
    status, out, err = run("volt-submit", "-w", f"--array=1-{JOBS}", "--", "/bin/true", user="alice")
    return time.monotonic() - begun if status == 0 else None


def show_cost():
    run("voltctl", "queue", "set", "default", "slots=2")
    output_of("true")
    # Between two keepers the unit stays.
    stays = subprocess.Popen(["sleep", "1000"])
    (CGROUPS / show(jobs_unit(), "ControlGroup").lstrip("/") / "keeper/cgroup.procs").write_text(str(stays.pid))
    ratios = []
    for _ in range(TURNS):
        took = {}
        for contained in (False, True):
            settle(contained)
            took[contained] = seconds()
        ratios.append(took[True] / took[False])
    ratios.sort()
    print(f"a cgroup for each job: {statistics.median(ratios):.2f} of the time without ({ratios[0]:.2f} to {ratios[-1]:.2f}, "
          f"{TURNS} pairs of {JOBS} jobs, two at a time)", flush=True)
    stays.kill()
    stays.wait()
    run("voltctl", "queue", "reset", "default")
