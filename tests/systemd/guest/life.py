"""PID 1 anew under jobs, the order of a shutdown, what a reboot leaves, and what is left when voltd is
removed."""
import json
import os
import pathlib
import pwd
import shutil
import signal

from keepers import ALICE, cgroup_of, jobs_unit, keeper, members, sockets
from vm import alive, check, output_of, run, show, start_long_job, status_of, until

# What outlives a boot: the disk, and on it the state of voltd and what the next boot is to find.
DISK, STATE = pathlib.Path("/mnt/disk"), pathlib.Path("/var/lib/voltd")
NOTES, ENDED = DISK / "notes.json", DISK / "ended"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


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


PROGRAMS = {"voltd": pathlib.Path("/usr/bin/voltd"), "voltd-keeper": pathlib.Path("/usr/libexec/voltd/voltd-keeper")}


def put_in_place(folder):
    """As a package does it: another file takes the name of each program, of which some run."""
    for name, path in PROGRAMS.items():
        new = path.with_name(name + ".new")
        shutil.copy(f"{folder}/{name}", new)
        new.chmod(path.stat().st_mode)
        new.rename(path)


def submit(script, *options):
    return run("volt-submit", *options, "--", "sh", "-c", script, user="alice")[1].strip()


def end_of(job):
    """The exit code of whoever waits for it."""
    return run("voltctl", "wait", job, user="alice")[0]


def journal():
    """What voltd and systemd have said of it."""
    run("journalctl", "--sync")
    return run("journalctl", "-u", "voltd", "-o", "cat")[1]


def check_other_keeper():
    """voltd and keeper of another version of their protocol take the place of those that run, and these of
    them again. Jobs of before end exactly, and are steered by whoever is there."""
    os.makedirs("/test/before", exist_ok=True)
    for name, path in PROGRAMS.items():
        shutil.copy(path, f"/test/before/{name}")
    for folder, which in (("/test/next", "a later"), ("/test/before", "the former")):
        upgrade_to(folder, which)


def upgrade_to(folder, which):
    run("voltctl", "queue", "set", "default", "slots=9")
    gone = pathlib.Path("/tmp/go-on")
    gone.unlink(missing_ok=True)
    ends = submit(f"until [ -e {gone} ]; do sleep 0.05; done; exit 7")
    ticks = pathlib.Path("/tmp/ticks")
    ticks.unlink(missing_ok=True)
    paused = submit(f"while :; do echo >>{ticks}; sleep 0.05; done")
    frozen, cancelled = submit("sleep 300"), submit("trap 'exit 9' TERM; while :; do sleep 0.05; done")
    jobs = [ends, paused, frozen, cancelled]
    until(lambda: all(status_of(job).get("state") == "running" for job in jobs) and ticks.exists())
    run("voltctl", "pause", frozen, user="alice")
    pids = [status_of(job).get("pid") for job in jobs]
    if not check(f"four jobs run before {which} version", all(pids), pids):
        return
    keeper_before, said = show(keeper(), "MainPID"), journal()
    put_in_place(folder)
    status, out, err = run("systemctl", "restart", "voltd")
    check(f"voltd is restarted as {which} version", status == 0, err)
    check("the jobs of before did not notice", all(map(alive, pids)) and
          [status_of(job).get("state") for job in jobs] == ["running", "running", "paused", "running"],
          [status_of(job).get("state") for job in jobs])
    check("a new one starts", output_of("echo 1") == "1\n")
    check("by another keeper, the earlier one has left", show(keeper(), "MainPID") not in ("0", keeper_before) and
          not alive(keeper_before), keeper_before)
    status, out, err = run("voltctl", "pause", paused, user="alice")
    events = cgroup_of(paused) / "cgroup.events"
    check("a job of before is paused by it", status == 0 and "frozen 1" in events.read_text(), err)
    size = ticks.stat().st_size
    status, out, err = run("voltctl", "resume", paused, frozen, user="alice")
    check("and resumed, also one that was paused before", status == 0 and until(lambda: ticks.stat().st_size > size) and
          "frozen 0" in (cgroup_of(frozen) / "cgroup.events").read_text(), err)
    status, out, err = run("voltctl", "cancel", cancelled, paused, user="alice")
    end_of(cancelled), end_of(paused)
    done = status_of(cancelled)
    check("a cancel comes to jobs of before", (done.get("result"), done.get("exit_status")) == ("cancelled", 9) and
          status_of(paused).get("result") == "cancelled", done)
    gone.touch()
    os.kill(pids[2], signal.SIGTERM)
    check("the ends of the others are known exactly", (end_of(ends), end_of(frozen)) == (7, 128 + signal.SIGTERM),
          (status_of(ends), status_of(frozen)))
    check("their cgroups have gone", until(lambda: not any(cgroup_of(job).exists() for job in jobs)))
    said = journal().removeprefix(said)
    check("the journal asks for no restart that has just been", "restart voltd" not in said, said)
    run("voltctl", "queue", "reset", "default")


def check_half_an_upgrade():
    """The programs are there, and voltd was not restarted: what runs goes on, the next job waits and says why."""
    job, pid = start_long_job()
    put_in_place("/test/next")
    run("systemctl", "stop", keeper())
    before = journal()
    waiting = submit("exit 5")
    check("without a restart jobs wait for a keeper, and the journal says what is to be done", until(
        lambda: f"(/run/voltd-keeper/{ALICE}): it is of another version, restart voltd" in journal().removeprefix(before)),
        journal().removeprefix(before))
    said = run("voltctl", "why", waiting, user="alice")[1]
    check("their users are told whom to ask", "systemctl status voltd-keeper@2000" in said, said)
    check("what runs goes on", pid and alive(pid))
    run("systemctl", "restart", "voltd")
    check("after it they run", end_of(waiting) == 5)
    put_in_place("/test/before")
    run("systemctl", "restart", "voltd")
    os.kill(pid, signal.SIGTERM)
    check("the end of what ran is known exactly", end_of(job) == 128 + signal.SIGTERM)


def records():
    return sorted(name for name in os.listdir("/run/voltd-rec") if name[0].isdigit())


def check_frozen_rest():
    """What a job of kill mode main has left, frozen, when its keeper cannot be had and voltd is killed before
    it could thaw it: the next voltd does. Meanwhile the jobs of others leave nothing."""
    run("voltctl", "queue", "set", "default", "slots=9")
    output_of("echo 1")
    job = submit("sleep 300 & exec sleep 300", "--kill-mode=main")
    cgroup = cgroup_of(job)
    until(lambda: status_of(job).get("state") == "running" and len(members(cgroup)) == 2)
    main, *left = sorted(members(cgroup), key=lambda pid: pid != status_of(job).get("pid"))
    run("voltctl", "pause", job, user="alice")
    if not check("what a job leaves is frozen", left and "frozen 1" in (cgroup / "cgroup.events").read_text(), left):
        return
    run("systemctl", "stop", f"voltd-keeper@{ALICE}.socket")
    os.kill(main, signal.SIGKILL)
    check("its end is known without a keeper", end_of(job) == 128 + signal.SIGKILL, status_of(job))
    other = run("volt-submit", "--wait", "--", "true", user="bob")[1].strip()
    check("the record of another's job goes meanwhile", other and until(lambda: f"{other}.1" not in records()), records())
    check("its own stays until that is thawed", f"{job}.1" in records(), records())
    before = show("voltd", "MainPID")
    os.kill(int(before), signal.SIGKILL)
    until(lambda: show("voltd", "MainPID") not in (before, "0") and show("voltd", "ActiveState") == "active")
    check("it goes on after a crash of voltd", until(lambda: "frozen 0" in (cgroup / "cgroup.events").read_text())
          and alive(left[0]), records())
    check("and then the record goes", until(lambda: f"{job}.1" not in records()), records())
    os.kill(left[0], signal.SIGKILL)
    check("with the last process its cgroup", until(lambda: not cgroup.exists()))
    run("voltctl", "queue", "reset", "default")


UPGRADES = (check_other_keeper, check_half_an_upgrade, check_frozen_rest)


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


def mount_state():
    """/var/lib/voltd on the disk; the account is made before, as at each boot of a machine."""
    for module in ("virtio_pci", "virtio_blk"):
        run("modprobe", module)
    run("systemd-sysusers")
    run("systemd-tmpfiles", "--create", "/usr/lib/tmpfiles.d/voltd.conf")
    until(lambda: os.path.exists("/dev/vda"))
    for path in (DISK, STATE):
        path.mkdir(exist_ok=True)
    status, out, err = run("mount", "-t", "ext4", "/dev/vda", str(DISK))
    (DISK / "voltd").mkdir(exist_ok=True)
    run("mount", "--bind", str(DISK / "voltd"), str(STATE))
    return check("the disk with the state is mounted", status == 0, err)


def own_state():
    run("chown", "-R", "voltd:voltd", str(STATE))
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "voltd.service")


def check_before_reboot():
    """Jobs of two users run, one of which succeeds where it is asked to end, and others wait."""
    ENDED.mkdir(mode=0o777)
    ENDED.chmod(0o777)
    script = (f"trap 'echo >{ENDED}/$VOLT_JOB_ID; exit 0' TERM; touch /tmp/runs.$VOLT_JOB_ID; "
              "while :; do sleep 0.1; done")
    users, notes = ("alice", "bob"), {"running": [], "queued": []}

    def submit(user, *argv):
        return [user, run("volt-submit", "--", *argv, user=user)[1].strip()]
    for user in users:
        notes["running"].append(submit(user, "sh", "-c", script))
    check("a job of each of two users runs", until(lambda: all(
        pathlib.Path(f"/tmp/runs.{job}").exists() for _, job in notes["running"])), notes)
    for user in users * 3:
        notes["queued"].append(submit(user, "cat", BOOT_ID))
    states = [status_of(job, user).get("state") for user, job in notes["queued"]]
    check("others wait", states == ["queued"] * 6, states)
    NOTES.write_text(json.dumps(notes))


def reboot():
    """Does not return: what runs this is stopped with all else, and then does not end the VM by itself."""
    dropin = pathlib.Path("/run/systemd/system/vmtest.service.d/reboot.conf")
    dropin.parent.mkdir(parents=True)
    dropin.write_text("[Unit]\nSuccessAction=none\nFailureAction=none\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "--no-block", "reboot")
    signal.pause()


def check_reboot():
    """What ran is lost by the reboot, whatever it said to the SIGTERM of a shutdown that voltd did not see
    any more; what waited runs now."""
    if not mount_state():
        return
    own_state()
    notes, boot = json.loads(NOTES.read_text()), pathlib.Path(BOOT_ID).read_text()
    for user, job in notes["running"]:
        check(f"a job of {user} ran to the end of the machine, which asked it to end", (ENDED / job).exists())
        run("voltctl", "wait", job, user=user)
        done = status_of(job, user)
        check("it is lost, and why: reboot", (done.get("result"), done.get("step"), done.get("attempt")) ==
              ("lost", "reboot", 1), done)
    for user, job in notes["queued"]:
        status, out, err = run("voltctl", "wait", job, user=user)
        said = run("voltctl", "logs", job, user=user)[1]
        check(f"a job of {user} that waited runs in this boot", (status, said) == (0, boot), (err, said, boot))
