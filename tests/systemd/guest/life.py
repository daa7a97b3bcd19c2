"""PID 1 anew under jobs, the order of a shutdown, and what is left when voltd is removed."""
import os
import pathlib
import pwd
import signal

from keepers import jobs_unit, keeper, sockets
from vm import alive, check, output_of, run, show, start_long_job, until


def check_reexec():
    """PID 1 is executed anew, as an upgrade of systemd does."""
    job, pid = start_long_job()
    if not check("a long job runs before daemon-reexec", pid):
        return
    before = [show(unit, "MainPID") for unit in ("voltd", keeper())]
    status, out, err = run("systemctl", "daemon-reexec")
    check("systemctl daemon-reexec", status == 0, err)
    check("voltd, keeper and job did not notice",
          [show(unit, "MainPID") for unit in ("voltd", keeper())] == before and alive(pid))
    check("the next job starts, in the unit that there was", jobs_unit() in output_of("cat /proc/self/cgroup"))
    status, out, err = run("systemctl", "restart", "voltd.service", keeper())
    check("voltd and keeper are restarted after it", status == 0 and alive(pid), err)
    check("the next keeper comes into that unit", jobs_unit() in output_of("cat /proc/self/cgroup"))
    os.kill(pid, signal.SIGTERM)
    status, out, err = run("voltctl", "wait", job, user="alice")
    check("the end of the job is known exactly after daemon-reexec", status == 128 + signal.SIGTERM, err)


def check_shutdown_order():
    """Who comes later in the order of starts stops first."""
    job, pid = start_long_job()
    after = show("voltd", "After").split()
    check("when the machine stops, voltd stops before the jobs that run", pid and jobs_unit() in after, after)
    check("and before its sockets", {"voltd.socket", "voltd-control.socket"} <= set(after), after)
    check("a keeper stops before the jobs as well", jobs_unit() in show(keeper(), "After").split())
    os.kill(pid, signal.SIGTERM)
    run("voltctl", "wait", job, user="alice")


def ours():
    """Processes of our programs, and of account voltd."""
    uid, found = pwd.getpwnam("voltd").pw_uid, []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "comm").read_text().strip()
            if path.stat().st_uid == uid or name in ("voltd", "voltd-keeper", "volt-shim"):
                found.append(f"{path.name} {name}")
        except OSError:
            pass
    return found


def check_removal():
    """What voltd(8) says of a removal, line by line."""
    jobs = [start_long_job("alice"), start_long_job("bob")]
    check("jobs of two users run before the removal", all(pid for _, pid in jobs))
    for line in (("disable", "--now", "voltd.service", "voltd.socket", "voltd-control.socket"),
                 ("stop", "voltd-users.path", "voltd-keeper@*.socket"),
                 ("kill", "--signal=KILL", "voltd-jobs@*.service")):
        # A cgroup that goes while systemd looks into it is an error, and the rest is killed all the same.
        check(f"systemctl {' '.join(line)}", until(lambda: run("systemctl", *line)[0] == 0))
    check("no process of ours is left", until(lambda: ours() == []), ours())
    check("nor a job", not any(pid and alive(pid) for _, pid in jobs))
    check("nor a socket", sockets() == [], sockets())
    check("nor a unit", until(lambda: run("systemctl", "list-units", "--plain", "--no-legend", "--state=active",
                                          "voltd*.service", "voltd*.socket", "voltd*.path")[1] == ""))
    left = [path for path in ("/var/lib/voltd", "/var/cache/voltd-scripts", "/run/voltd-rec", "/run/voltd-keeper")
            if os.path.isdir(path) and os.listdir(path)]
    check("what stays is state, folders of scripts, and records until the next boot",
          left == ["/var/lib/voltd", "/var/cache/voltd-scripts", "/run/voltd-rec"], left)
    run("systemctl", "start", "voltd.socket", "voltd-control.socket", "voltd.service")
    for job, _ in jobs:
        check("started again, it knows what became of the jobs",
              run("voltctl", "wait", job, user=("alice", "bob")[job == jobs[1][0]])[0] != 0)
