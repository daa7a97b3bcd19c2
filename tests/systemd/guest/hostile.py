"""A member who attacks, and what others notice of it: each with its figure."""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

import keepers
from keepers import ALICE, BOB, keeper
from vm import CGROUPS, LIMIT, alive, check, output_of, run, show, status_of, until

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


def check_silent_keeper():
    """A user stops his keeper for good, with as many jobs on their way to it as there are slots."""
    run("voltctl", "queue", "set", "default", "slots=2")
    output_of("echo 1")
    os.kill(int(show(keeper(), "MainPID")), signal.SIGSTOP)
    runs, cancelled = (run("volt-submit", "--shell", "exit 7", user="alice")[1].strip() for _ in range(2))
    check("what was sent to a stopped keeper has its slots",
          until(lambda: {status_of(job).get("state") for job in (runs, cancelled)} == {"starting"}), status_of(runs))
    other = run("volt-submit", "--", "true", user="bob")[1].strip()
    run("voltctl", "--all-users", "cancel", cancelled)
    run("systemctl", "restart", keeper())
    check("a restart of that keeper gives them back", run("voltctl", "wait", other, user="bob")[0] == 0)
    status = run("voltctl", "wait", runs, user="alice")[0]
    check("what was on its way runs then, once", (status, status_of(runs).get("attempt")) == (7, 1), status_of(runs))
    run("voltctl", "wait", cancelled, user="alice")
    check("but for what was cancelled", status_of(cancelled).get("result") == "cancelled", status_of(cancelled))
    run("voltctl", "queue", "reset", "default")


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


def say(job):
    return run("voltctl", "status", job, user="alice")[1]


# Of a cancelled job; and of one that ends, whose result counts as far as 255.
ESCAPERS, LEFT = 1000, 300


def owner_of(pid):
    """The uid of a process, or None when it has gone."""
    try:
        return pathlib.Path(f"/proc/{pid}").stat().st_uid
    except FileNotFoundError:
        return None


def check_escapers():
    """Processes that have forked twice and left their session, every fourth of root's: nothing of them is left."""
    run("install", "-m", "4755", "/bin/sleep", "/tmp/rootsleep")
    job = run("volt-submit", "--stop-signal=KILL", "--", "/test/escapers", str(ESCAPERS), "stay", "/tmp/rootsleep", user="alice")[1].strip()
    cgroup = keepers.cgroup_of(job)
    until(lambda: status_of(job).get("state") == "running")
    many = until(lambda: int((cgroup / "pids.current").read_text()) > ESCAPERS, 3 * LIMIT)
    pids = keepers.members(cgroup)
    roots = sum(owner_of(pid) == 0 for pid in pids)
    if not check(f"a job has {len(pids)} processes that flee, {roots} of them root's", many and roots >= ESCAPERS // 4,
                 (len(pids), roots)):
        return
    main = status_of(job).get("pid")
    run("voltctl", "cancel", job, user="alice")
    until(lambda: not alive(main))
    begun = time.monotonic()
    until(lambda: not any(map(alive, pids)))
    seconds = time.monotonic() - begun
    run("voltctl", "wait", job, user="alice")
    done = status_of(job)
    check(f"its cancel ends all of them, {seconds:.1f} s after the first", not any(map(alive, pids)) and
          done.get("result") == "cancelled" and "survivor_count" not in done, done)
    check("its cgroup goes, and its slot comes back", until(lambda: not cgroup.exists()) and output_of("echo 1") == "1\n")
    begun = time.monotonic()
    job = run("volt-submit", "--wait", "--", "/test/escapers", str(LEFT), "leave", "/tmp/rootsleep", user="alice")[1].strip()
    seconds = time.monotonic() - begun
    done = status_of(job)
    check(f"what flees from a job that ends is killed with it ({seconds:.1f} s in all)", done.get("result") == "success" and
          keepers.members(CGROUPS / "voltd.slice/voltd-2000.slice/voltd-jobs@2000.service/jobs") == [], done)
    check("and counted in its result", done.get("left_killed") == 255 and "255 or more processes, killed" in say(job), say(job))


# Each way to fill a disk by the descriptor that a job has. The last but one makes no file longer; 64 MiB of such
# blocks are allowed, voltd.conf(5). The last takes none.
FILLS = {
    "prints without end": "while head -c 256K /dev/zero; do sleep 0.05; done",
    "opens its output again": "while head -c 256K /dev/zero >>/dev/stdout; do sleep 0.05; done",
    "reserves blocks behind its end": "python3 -c 'import ctypes; print(ctypes.CDLL(None).fallocate(1, 1, ctypes.c_long(0), "
                                      "ctypes.c_long(80 << 20)), flush=True)'; sleep 300",
    "makes it long": "truncate -s 64M /dev/stdout && sleep 300",
}
# Takes a descriptor, and writes to it when the job that had it has ended.
KEEPS = """
import os, socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("/tmp/keeps.sock")
s.listen()
fd = socket.recv_fds(s.accept()[0], 1, 1)[1][0]
while not os.path.exists("/tmp/keeps.go"):
    time.sleep(0.05)
os.write(fd, b"x" * (1 << 20))
os.rename("/tmp/keeps.sock", "/tmp/keeps.done")
time.sleep(300)
"""
GIVES = ("import os, socket, time\ns = socket.socket(socket.AF_UNIX)\n"
         "while s.connect_ex('/tmp/keeps.sock'):\n    time.sleep(0.05)\nsocket.send_fds(s, [b'x'], [1])")


@contextlib.contextmanager
def own_disk():
    """A file system of 160 MiB for the state of voltd."""
    units = ("voltd.service", "voltd.socket", "voltd-control.socket")
    run("systemctl", "stop", *units)
    run("mount", "-t", "tmpfs", "-o", "size=160M,mode=0700,uid=voltd,gid=voltd", "none", "/var/lib/voltd")
    try:
        run("systemctl", "start", "voltd.service")
        run("voltctl", "queue", "set", "default", "slots=9")
        yield
    finally:
        run("systemctl", "stop", *units)
        run("umount", "/var/lib/voltd")
        run("systemctl", "start", "voltd.service")


def check_descriptors():
    """What a job has open, and how far it comes with that."""
    words = output_of("readlink $(seq -f /proc/self/fd/%g 0 99); true").split()
    check("a job has three descriptors, none of them its record", len(words) == 3 and words[0] == "/dev/null" and
          words[1].startswith("/var/lib/voltd/output/") and words[1] == words[2], words)
    words = output_of("(ls /var/lib/voltd/output; ls /proc/$PPID/fd; ls /run/voltd-rec) 2>&1 | grep -c 'denied'")
    check("it has no way to outputs of others, nor to a record, its shim's included", words == "3\n", words)
    conf = pathlib.Path("/etc/voltd/voltd.conf.d/fills.conf")
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text("[Jobs]\nOutputLimit=1M\n")
    with own_disk():
        for name, script in FILLS.items():
            status, out, err = run("volt-submit", "--wait", "--shell", script, user="alice")
            done = status_of(out.strip())
            check(f"a job that {name} is ended by OutputLimit=", (status, done.get("result")) == (125, "output_limit"), (err, done))
    conf.unlink()
    run("voltctl", "reload")


def check_kept_descriptor():
    """Nobody can take a descriptor back that a job has given away: what it does after the end of the job."""
    keeps = subprocess.Popen(["setpriv", "--reuid", "alice", "--regid", "alice", "--init-groups", "python3", "-c", KEEPS],
                             stdin=subprocess.DEVNULL, cwd="/tmp")
    job = run("volt-submit", "--wait", "--", "python3", "-c", GIVES, user="alice")[1].strip()
    others = [run("volt-submit", "--shell", "until [ -e /tmp/keeps.done ]; do sleep 0.1; done; echo mine", user="bob")[1].strip()
              for _ in range(3)]
    pathlib.Path("/tmp/keeps.go").touch()
    check("what has left a job with its descriptor writes on after its end", until(pathlib.Path("/tmp/keeps.done").exists),
          keeps.poll())
    run("voltctl", "wait", *others, user="bob")
    said = {run("voltctl", "logs", other, user="bob")[1] for other in others}
    check("to the file of that job alone, which no other gets", said == {"mine\n"}, said)
    check("where its user finds it", len(run("voltctl", "logs", job, user="alice")[1]) == 1 << 20)
    run("voltctl", "clean", job, user="alice")
    keeps.kill()
    keeps.wait()


def refused():
    """Whether bob's submission of 100 kB is refused: what is said."""
    path = pathlib.Path("/tmp/input")
    path.write_text("x" * 100000)
    status, out, err = run("volt-submit", f"--stdin={path}", "--hold", "--", "true", user="bob")
    return err if status == 125 else ""


def check_full_disk():
    """A disk that one user has filled by what his job prints."""
    gate = pathlib.Path("/tmp/fill-gate")
    gate.unlink(missing_ok=True)
    with own_disk():
        running = run("volt-submit", "--shell", f"until [ -e {gate} ]; do sleep 0.1; done; exit 7", user="bob")[1].strip()
        filler = run("volt-submit", "--wait", "--", "cat", "/dev/zero", user="alice")[1].strip()
        said = []
        until(lambda: said.append(refused()) or said[-1], 3 * LIMIT)
        check(f"when one job has filled the disk, submissions of others are refused and told why, after {len(said) - 1}",
              "full" in said[-1], said[-1])
        gate.touch()
        check("what runs is not concerned, and its end is known exactly", run("voltctl", "wait", running, user="bob")[0] == 7)
        said = run("voltctl", "list", "--all-users", "--sort=-id", "--state=done", user="carol")[1]
        check("an administrator sees whose jobs there are", "USER" in said and "alice" in said, said)
        status, out, err = run("voltctl", "clean", "--all-users", filler, user="carol")
        check("and makes room", status == 0 and until(lambda: output_of("echo 1", user="bob") == "1\n"), err)


HOSTILE = (check_killed_keeper, check_stopped_keeper, check_silent_keeper, check_fork_bomb, check_no_socket,
           check_escapers, check_descriptors, check_kept_descriptor, check_full_disk)
