"""A member who attacks, and what others notice of it: each with its figure."""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

import keepers
from keepers import ALICE, BOB, keeper
from vm import CGROUPS, check, output_of, run, show, status_of, until

JOBS = 8


def attack(signal_name):
    """A process of alice's that sends the signal until it is killed."""
    pathlib.Path("/tmp/hits").unlink(missing_ok=True)
    script = LOOP.replace("SIGNAL", signal_name)
    return subprocess.Popen(["setpriv", "--reuid", "alice", "--regid", "alice", "--init-groups", "sh", "-c", script],
                            stdin=subprocess.DEVNULL, start_new_session=True)


def end(attacker):
    """How many it has sent, at least one."""
    hits = pathlib.Path("/tmp/hits")
    until(hits.exists)
    os.killpg(attacker.pid, signal.SIGKILL)
    attacker.wait()
    return hits.stat().st_size if hits.exists() else 0


def runs_jobs(user):
    """How many jobs of that user succeed of JOBS."""
    return sum(output_of(f"echo {i}", user=user) == f"{i}\n" for i in range(JOBS))


def starts():
    """How often PID 1 has started a keeper of alice, or the unit of her jobs."""
    run("journalctl", "--sync")
    said = run("journalctl", "-o", "cat", "-u", keeper(), "-u", keepers.jobs_unit())[1]
    return sum(line.startswith("Starting ") for line in said.splitlines())


# His keeper and his shims get the signal, again and again.
OF = f"{CGROUPS}/voltd.slice/voltd-{ALICE}.slice/voltd-"
LOOP = (f"while :; do for p in $(cat {OF}keeper@*/cgroup.procs {OF}jobs@*/keeper/cgroup.procs); do "
        "read -r name </proc/$p/comm; case $name in voltd-keeper | volt-shim) ;; *) continue ;; esac; "
        "kill -SIGNAL $p && echo >>/tmp/hits; done; done 2>/dev/null")


def check_killed_keeper():
    """A user kills his own keeper as soon as he sees it, while he has jobs to start."""
    output_of("echo 1", user="bob")
    other, before, begun = show(keeper(BOB), "MainPID"), starts(), time.monotonic()
    attacker = attack("KILL")
    jobs = [run("volt-submit", "--", "true", user="alice")[1].strip() for _ in range(JOBS)]
    good = runs_jobs("bob")
    hits = end(attacker)
    seconds = time.monotonic() - begun
    rate = (starts() - before) / seconds
    check(f"a user kills keeper and shims of his own in a loop, {hits} times: {rate:.1f} starts a second, at most 10",
          hits and rate <= 10)
    check(f"meanwhile {good} of {JOBS} jobs of another ran", good == JOBS)
    check("the other's keeper is the same", show(keeper(BOB), "MainPID") == other != "0", other)
    done = [run("voltctl", "wait", job, user="alice")[0] for job in jobs]
    check("his own run when he stops that", output_of("echo 1") == "1\n" and len(done) == JOBS, done)


def check_stopped_keeper():
    """A user stops his own keeper as soon as it goes on."""
    output_of("echo 1")
    attacker = attack("STOP")
    job = run("volt-submit", "--", "true", user="alice")[1].strip()
    good = runs_jobs("bob")
    hits = end(attacker)
    check(f"a user stops keeper and shims of his own, {hits} times: meanwhile {good} of {JOBS} jobs of another ran",
          hits and good == JOBS)
    run("systemctl", "kill", "--signal=CONT", keeper(), keepers.jobs_unit())
    status, out, err = run("voltctl", "wait", job, user="alice")
    check("his own run when it goes on", status == 0, err)


def names_in(cgroup):
    """Of all processes below it."""
    found = []
    for path in cgroup.rglob("cgroup.procs"):
        with contextlib.suppress(OSError):  # a process, or a cgroup, that has just gone
            found += [pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in path.read_text().split()]
    return found


def check_fork_bomb():
    """Of bob, whose slice may have 60 tasks."""
    run("systemctl", "set-property", "--runtime", f"voltd-{BOB}.slice", "TasksMax=60")
    cgroup = CGROUPS / f"voltd.slice/voltd-{BOB}.slice"
    job = run("volt-submit", "--shell", "b() { b | b & }; b; sleep 300", user="bob")[1].strip()

    def refused():
        return sum(int(path.read_text().split()[1]) for path in cgroup.rglob("pids.events"))
    check("a fork bomb reaches the limit of its user", until(refused), status_of(job, "bob"))
    good = runs_jobs("alice")
    most = int((cgroup / "pids.current").read_text())
    check(f"a fork bomb: {most} tasks of 60, {refused()} forks refused, {good} of {JOBS} jobs of another ran",
          most <= 60 and good == JOBS)
    status, out, err = run("voltctl", "cancel", job, user="bob")
    run("voltctl", "wait", job, user="bob")
    check("a cancel ends all of it", status == 0 and "sh" not in names_in(cgroup), (err, names_in(cgroup)))
    run("systemctl", "set-property", "--runtime", f"voltd-{BOB}.slice", "TasksMax=33%")
    check("its user runs jobs again", output_of("echo 1", user="bob") == "1\n")


def check_no_socket():
    """A member whose socket an administrator has masked."""
    run("systemctl", "stop", f"voltd-keeper@{BOB}.socket")
    run("systemctl", "mask", f"voltd-keeper@{BOB}.socket")
    status, out, err = run("volt-submit", "--", "true", user="bob")
    check("a user without a socket is refused, and told of it", status == 125 and
          f"user {BOB} may not run jobs here: voltd-keeper@{BOB}.socket is not active" in err, (status, out, err))
    good = runs_jobs("alice")
    check(f"meanwhile {good} of {JOBS} jobs of another ran", good == JOBS)
    run("systemctl", "unmask", f"voltd-keeper@{BOB}.socket")
    run("systemctl", "start", "voltd-users.service")
    check("he runs jobs when he has it again", output_of("echo 1", user="bob") == "1\n")


HOSTILE = (check_killed_keeper, check_stopped_keeper, check_fork_bomb, check_no_socket)
