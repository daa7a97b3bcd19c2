"""One keeper for each user: the units voltd-keeper@UID, voltd-jobs@UID and voltd-users."""
import json
import os
import pathlib
import pwd
import re
import signal
import socket
import stat
import subprocess
import threading

from vm import CGROUPS, LIMIT, alive, check, output_of, run, show, start_long_job, status_of, until

ALICE, BOB, CAROL, MALLORY = 2000, 2001, 2002, 2003
SOCKETS = pathlib.Path("/run/voltd-keeper")


def keeper(uid=ALICE):
    return f"voltd-keeper@{uid}.service"


def jobs_unit(uid=ALICE):
    return f"voltd-jobs@{uid}.service"


def cgroup_of(job, uid=ALICE):
    """That of the first attempt."""
    return pathlib.Path(f"{CGROUPS}{show(jobs_unit(uid), 'ControlGroup')}/jobs/{job}.1")


def sockets():
    """The users of whom a socket is active."""
    out = run("systemctl", "list-units", "--plain", "--no-legend", "--state=active", "voltd-keeper@*.socket")[1]
    return sorted(int(uid) for uid in re.findall(r"voltd-keeper@(\d+)\.socket", out))


def set_group(members, name="volt"):
    """As usermod does it: another file takes the place of /etc/group."""
    path, new = pathlib.Path("/etc/group"), pathlib.Path("/etc/group+")
    new.write_text(re.sub(rf"(?m)^({name}:.*:).*$", rf"\g<1>{','.join(members)}", path.read_text()))
    new.rename(path)


def refused(uid, path):
    """Whether this user may not connect there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        os.seteuid(uid)
        try:
            s.connect(str(path))
        except PermissionError:
            return True
        finally:
            os.seteuid(0)
    return False


def check_units():
    status, out, err = run("systemd-analyze", "--man=no", "verify", "voltd-keeper@2000.socket", keeper(), jobs_unit(),
                           "voltd-users.service", "voltd-users-again.service", "voltd-users.path", "voltd.slice",
                           "voltd-2000.slice")
    check("systemd-analyze verify finds nothing in the units of keepers", status == 0 and "voltd" not in err, err)


def check_sockets():
    """Of the members, and voltd's alone."""
    check("each member has a socket, nobody else", sockets() == [ALICE, BOB, CAROL], sockets())
    st, folder = (SOCKETS / str(ALICE)).stat(), SOCKETS.stat()
    check("it is 0600 of voltd", stat.S_IMODE(st.st_mode) == 0o600 and st.st_uid == pwd.getpwnam("voltd").pw_uid,
          oct(st.st_mode))
    check("in a directory of root", stat.S_IMODE(folder.st_mode) == 0o755 and folder.st_uid == 0, oct(folder.st_mode))
    check("its user may not connect, nor may others", refused(ALICE, SOCKETS / str(ALICE)) and
          refused(MALLORY, SOCKETS / str(ALICE)))


def check_identity():
    """A job has what its submitter has from a login: ids, limits.conf, login uid; and no more."""
    words = output_of("id -u; id -g; id -G; cat /proc/self/loginuid; echo; sed -n s/^0:://p /proc/self/cgroup; "
                      "grep -E '^(Cap(Eff|Prm|Inh|Amb|Bnd)|NoNewPrivs)' /proc/self/status").split()
    check("a job has the ids of its submitter", words[:5] == ["2000", "2000", "2000", words[3], "2000"], words)
    place = re.compile(f"/voltd.slice/voltd-2000.slice/{jobs_unit()}/jobs/[0-9]+[.]1")
    check("it has a cgroup of its own in the unit of its user", any(map(place.fullmatch, words)), words)
    caps = dict(zip(words[6::2], words[7::2]))
    bound = next(line.split()[1] for line in pathlib.Path("/proc/1/status").read_text().splitlines()
                 if line.startswith("CapBnd"))
    none = "0" * 16
    check("it has no capability, and may gain what a login may", caps == {
        "CapInh:": none, "CapPrm:": none, "CapEff:": none, "CapBnd:": bound, "CapAmb:": none, "NoNewPrivs:": "0"}, caps)
    words = output_of("echo $HOME $USER $LOGNAME $SHELL; pwd", "-E", "A=1", "--chdir=/", user="bob").split()
    check("it has the variables of its account", words == ["/tmp", "bob", "bob", "/bin/sh", "/"], words)
    words = output_of("ulimit -Sn; ulimit -Hn", "--no-limits", user="bob").split()
    check("limits.conf counts", words == ["512", "512"], words)


def members(cgroup):
    return [int(pid) for file in cgroup.rglob("cgroup.procs") for pid in file.read_text().split()]


# A process of root's, one that has left session, parent and environment, and one in a cgroup of its own.
FLEEING = ("/tmp/rootsleep 300 & (setsid env -i sleep 300 &); "
           "own=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); mkdir $own/a.b; "
           "sh -c 'echo 0 >'$own'/a.b/cgroup.procs; exec sleep 300' & ")


def start_fleeing(*options):
    """A job of four processes that runs: its id, their pids."""
    job = run("volt-submit", *options, "--", "sh", "-c", FLEEING + "exec sleep 300", user="alice")[1].strip()
    cgroup = cgroup_of(job)
    until(lambda: len(members(cgroup)) == 4 and len(members(cgroup / "a.b")) == 1)
    return job, members(cgroup)


def check_contained():
    """Whatever a job does, its end is that of all that it has started."""
    run("install", "-m", "4755", "/bin/sleep", "/tmp/rootsleep")
    job, pids = start_fleeing()
    owners = [pathlib.Path(f"/proc/{pid}").stat().st_uid for pid in pids]
    check("all of a job is in its cgroup, also what is root's", len(pids) == 4 and 0 in owners, (pids, owners))
    run("voltctl", "cancel", job, user="alice")
    run("voltctl", "wait", job, user="alice")
    check("a cancel ends all of it", not any(map(alive, pids)), pids)
    check("and its cgroup, with what the job has made there", until(lambda: not cgroup_of(job).exists()))
    job, pids = start_fleeing("--kill-mode=main")
    main = status_of(job).get("pid")
    os.kill(main, signal.SIGKILL)
    run("voltctl", "wait", job, user="alice")
    left = [pid for pid in pids if pid != main]
    check("kill mode main leaves the others, and the cgroup with them", all(map(alive, left)) and
          sorted(members(cgroup_of(job))) == sorted(left), (pids, main))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    check("it goes with the last of them", until(lambda: not cgroup_of(job).exists()))
    job, pids = start_fleeing()
    shim = next(int(pid) for pid in members(cgroup_of(job).parents[1] / "keeper") if status_of(job).get("pid") in
                map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    os.kill(shim, signal.SIGKILL)
    run("voltctl", "wait", job, user="alice")
    check("without its shim a job is lost, and all of it ended", status_of(job).get("result") == "lost" and
          not any(map(alive, pids)), (status_of(job), pids))
    check("its cgroup has gone", until(lambda: not cgroup_of(job).exists()))


def check_limits_of_jobs():
    """Limits of a job are those of its cgroup, and its end tells of them."""
    job = run("volt-submit", "--mem=64M", "--mem-high=60M", "--swap=0", "--pids-max=20", "--cpu-max=50%", "--cpu-weight=7",
              "--io-weight=9", "--", "sleep", "300", user="alice")[1].strip()
    until(lambda: status_of(job).get("state") == "running")
    files = {"memory.max": str(64 << 20), "memory.high": str(60 << 20), "memory.swap.max": "0", "pids.max": "20",
             "cpu.max": "50000 100000", "cpu.weight": "7"}
    found = {name: (cgroup_of(job) / name).read_text().strip() for name in files}
    check("limits of a job are in its cgroup", found == files, found)
    said = run("voltctl", "status", job, user="alice")[1]
    check("status says what it uses", re.search(r"(?m)^ +CPU: .* so far\n +Memory: \d+\.\d MiB of all its processes, "
                                                r"peak \d+\.\d MiB, limit 64M$", said), said)
    run("voltctl", "cancel", job, user="alice")
    # tail keeps what it is to print at the end.
    status, out, err = run("volt-submit", "-w", "--mem=32M", "--swap=0", "--", "sh", "-c",
                           "head -c 64M /dev/zero | tail -c 63M | wc -c", user="alice")
    job = out.strip()
    end = status_of(job)
    check("what needs twice its memory ends as oom", status == 137 and end.get("result") == "oom" and
          end.get("step") == "job" and end.get("contained") and end.get("oom_kills", 0) > 0, (status, err, end))
    check("and says its peak", 16 << 20 < end.get("memory_peak_bytes", 0) <= 32 << 20, end)
    said = run("voltctl", "status", job, user="alice")[1]
    check("and whose limit it was", "it needed more than --mem=32M" in said and "limit 32M" in said, said)
    status, out, err = run("volt-submit", "-w", "--mem=32M", "--", "sh", "-c", "kill -9 $$", user="alice")
    end = status_of(out.strip())
    check("another SIGKILL is none", status == 137 and end.get("result") == "signal" and "oom_kills" not in end, end)
    status, out, err = run("volt-submit", "-w", "--pids-max=1", "--", "sh", "-c", "(true) && (true)", user="alice")
    check("a job has no more processes than it may", status not in (0, 125), (status, err))


def check_walls():
    """What one user's job can see of another's, of voltd and of its keeper, and take of what all have."""
    most = (CGROUPS / f"voltd.slice/voltd-{ALICE}.slice/cgroup.max.descendants").read_text()
    check("a user has 4,096 cgroups of the machine's 65,535", most == "4096\n", most)
    words = output_of(f"ls /run/voltd-rec /var/lib/voltd /var/cache/voltd-scripts/{BOB} 2>&1; "
                      f"echo 1 >/sys/fs/cgroup/voltd.slice/voltd-{ALICE}.slice/pids.max; "
                      f"kill -0 $(cat /tmp/long.pid); exit 0").split("\n")
    check("a job reads neither records nor store nor scripts of others",
          len([w for w in words if "Permission denied" in w]) == 4, words)


def check_keeper_ends():
    """Jobs do not notice the end of their keeper, and the next start has another one."""
    job, pid = start_long_job()
    if not check("a long job runs in its user's unit", pid and jobs_unit() in
                 pathlib.Path(f"/proc/{pid}/cgroup").read_text(), pid):
        return
    before = show(keeper(), "MainPID")
    status, out, err = run("systemctl", "restart", keeper())
    check("systemctl restart of a keeper", status == 0 and show(keeper(), "MainPID") != before, err)
    check("the next job starts", output_of("echo 1") == "1\n")
    os.kill(int(show(keeper(), "MainPID")), signal.SIGKILL)
    check("and after kill -9 of the keeper", output_of("echo 2") == "2\n")
    status, out, err = run("systemctl", "stop", jobs_unit())
    check("the unit of jobs is not stopped by hand", status != 0, err)
    run("systemctl", "restart", "voltd*")
    check("the job did not notice, nor a restart of 'voltd*'", alive(pid))
    check("the sockets are there", until(lambda: sockets() == [ALICE, BOB, CAROL]), sockets())
    check("the next job starts after it", output_of("echo 3") == "3\n")
    os.kill(pid, signal.SIGTERM)
    status, out, err = run("voltctl", "wait", job, user="alice")
    check("the end of the long job is known exactly", status == 128 + signal.SIGTERM, err)


class Connects(threading.Thread):
    """Connects to voltd again and again, until it is stopped."""

    def __init__(self):
        super().__init__()
        self.made, self.refused, self.stopped = 0, [], threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(0.02):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                try:
                    s.connect("/run/voltd/voltd.sock")
                    self.made += 1
                except OSError as e:
                    self.refused.append(e)

    def stop(self):
        self.stopped.set()
        self.join()


def kill_keepers():
    for uid in sockets():
        run("systemctl", "kill", "--signal=KILL", keeper(uid))


def kill_voltd():
    before = show("voltd", "MainPID")
    run("systemctl", "kill", "--signal=KILL", "voltd.service")
    until(lambda: show("voltd", "MainPID") not in (before, "0") and show("voltd", "ActiveState") == "active")


def kill_both():
    kill_keepers()
    kill_voltd()


DISTURBANCES = {
    "a restart of voltd and all keepers": lambda: run("systemctl", "restart", "voltd.service", "voltd-keeper@*.service"),
    "kill -9 of voltd": kill_voltd, "kill -9 of all keepers": kill_keepers, "kill -9 of both": kill_both,
    "daemon-reload": lambda: run("systemctl", "daemon-reload"), "daemon-reexec": lambda: run("systemctl", "daemon-reexec")}


def check_restart_all():
    """200 running jobs of five users, while what runs them comes and goes."""
    users, gate, each = ("alice", "bob", "carol", "dave", "erin"), "/tmp/gate", range(1, 41)
    subprocess.run(["systemd-sysusers", "-"], input="u dave 2004 - /tmp /bin/sh\nu erin 2005 - /tmp /bin/sh\n", text=True)
    set_group(users)
    run("voltctl", "queue", "set", "default", "slots=250")
    os.mkfifo(gate)
    os.chmod(gate, 0o666)
    arrays = [(user, run("volt-submit", f"--array=1-{len(each)}", "--shell", f": <{gate}; exit $VOLT_ARRAY_INDEX",
                         user=user)[1].strip()) for user in users]
    check("200 jobs of five users run", until(lambda: all(
        status_of(job, user).get("counts", {}).get("running") == len(each) for user, job in arrays), limit=180))
    connects = Connects()
    for name, disturb in DISTURBANCES.items():
        disturb()
        check(f"after {name} the next job of each runs", [output_of("id -un", user=user).strip() for user in users] == [*users])
    writer = os.open(gate, os.O_RDWR)
    for user, job in arrays:
        run("voltctl", "wait", job, user=user)
        ends = json.loads(run("voltctl", "list", "--json", *(f"{job}_{i}" for i in each), user=user)[1] or "[]")
        check(f"each end of {user} is known exactly", [j.get("exit_code") for j in ends] == list(each), ends)
    os.close(writer)
    connects.stop()
    check(f"none of {connects.made} connects to voltd was refused meanwhile", connects.made and not connects.refused,
          connects.refused)
    run("voltctl", "queue", "reset", "default")
    set_group(users[:3])
    until(lambda: sockets() == [ALICE, BOB, CAROL])


def check_kill_unit():
    """An administrator ends all of a user without voltd."""
    job, pid = start_long_job()
    run("systemctl", "kill", "--signal=KILL", jobs_unit())
    check("systemctl kill ends all of a user", until(lambda: pid and not alive(pid)), pid)
    status, out, err = run("voltctl", "wait", job, user="alice")
    check("whose job is lost, or killed", status_of(job).get("result") in ("lost", "signal"), status_of(job))
    check("the next job has the unit afresh", output_of("echo 1") == "1\n")


def check_group():
    """Who leaves the group has no keeper, and who comes has one; no other job notices."""
    run("voltctl", "queue", "set", "default", "slots=9")
    job, pid = start_long_job()
    other, other_pid = start_long_job("bob")
    set_group(["bob", "carol"])
    check("who leaves the group loses his socket", until(lambda: not (SOCKETS / str(ALICE)).exists()
                                                         and sockets() == [BOB, CAROL]), sockets())
    check("and his keeper", until(lambda: show(keeper(), "ActiveState") == "inactive"))
    check("his job runs on", pid and alive(pid))
    set_group(["alice", "bob", "carol"])
    check("who comes into the group gets one", until(lambda: (SOCKETS / str(ALICE)).exists()))
    check("he runs jobs again", output_of("echo 1") == "1\n")
    for name, one, user in (("his", (job, pid), "alice"), ("another's", (other, other_pid), "bob")):
        os.kill(one[1], signal.SIGTERM)
        status, out, err = run("voltctl", "wait", one[0], user=user)
        check(f"the end of {name} job is known exactly", status == 128 + signal.SIGTERM, err)
    run("voltctl", "queue", "reset", "default")
    for pause in (0, 0.02, 0.05, 0.1):  # a path unit looks away while what it has started runs
        for members in (["alice", "bob"], ["bob"], ["alice", "bob", "carol"]):
            set_group(members)
            until(lambda: False, pause)
        check(f"of changes {pause} s apart the last counts", until(lambda: sockets() == [ALICE, BOB, CAROL]), sockets())


def check_by_hand():
    run("systemctl", "mask", "--now", f"voltd-keeper@{BOB}.socket")
    run("systemctl", "enable", "--now", f"voltd-keeper@{MALLORY}.socket")
    status, out, err = run("systemctl", "start", "voltd-users.service")
    check("what is masked stays so, and what was enabled by hand", status == 0 and sockets() == [ALICE, CAROL, MALLORY],
          (sockets(), err))
    run("systemctl", "unmask", f"voltd-keeper@{BOB}.socket")
    run("systemctl", "disable", f"voltd-keeper@{MALLORY}.socket")
    run("systemctl", "start", "voltd-users.service")
    check("until it is not any more", sockets() == [ALICE, BOB, CAROL], sockets())


def check_account():
    """PAM refuses an account: its jobs wait, and say why, until it does not."""
    shadow = pathlib.Path("/etc/shadow")
    before = shadow.read_text()
    run("systemctl", "stop", keeper(CAROL))
    shadow.write_text(re.sub(r"(?m)^(carol(?::[^:]*){6}:)[^:]*", r"\g<1>1", before))
    job = run("volt-submit", "--", "true", user="carol")[1].strip()
    check("a job of an expired account waits", until(lambda: f"systemctl status voltd-keeper@{CAROL}" in
                                                         run("voltctl", "why", job, user="carol")[1]),
          run("voltctl", "why", job, user="carol"))
    check("the journal says why", until(lambda: "expired" in run("journalctl", "-u", keeper(CAROL))[1]))
    check("its socket stays", CAROL in sockets())
    shadow.write_text(before)
    check("it runs when PAM lets it", until(lambda: status_of(job, "carol").get("result") == "success", 3 * LIMIT),
          status_of(job, "carol"))


KEEPERS = (check_units, check_sockets, check_identity, check_contained, check_limits_of_jobs, check_walls, check_keeper_ends, check_restart_all,
           check_kill_unit, check_group, check_by_hand, check_account)
