"""The first ten minutes of an administrator on a machine that never had voltd: what is typed at a
terminal, in the order of README.md and voltd(8), and what is read there. The screens are kept in
out/artifacts/admin.txt."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import termios

from keepers import ALICE, MALLORY, jobs_unit, set_group, sockets
from vm import alive, check, run, show, until

SCREENS = pathlib.Path("/test/out/admin.txt")
CONF = pathlib.Path("/etc/voltd/voltd.conf")


def typed(line, user="root"):
    """What a line does that somebody types at a terminal, in his home: (status, what is on the screen)."""
    home = "/root" if user == "root" else f"/home/{user}"
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 100))
    plain = termios.tcgetattr(slave)
    plain[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, plain)
    become = () if user == "root" else ("setpriv", "--reuid", user, "--regid", user, "--init-groups")
    p = subprocess.Popen((*become, "sh", "-c", line), cwd=home, stdin=slave, stdout=slave, stderr=slave,
                         start_new_session=True, env={
        "PATH": os.environ["PATH"], "HOME": home, "LOGNAME": user, "USER": user, "TERM": "dumb", "LC_ALL": "C.UTF-8",
        "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0", "SYSTEMD_URLIFY": "0"})
    os.close(slave)
    text = b""
    while True:
        if select.select([master], [], [], 0.1)[0]:
            try:
                text += os.read(master, 65536)
                continue
            except OSError:  # nobody has it open any more
                break
        if p.poll() is not None:
            break
    os.close(master)
    status, text = p.wait(), text.decode(errors="replace")
    with SCREENS.open("a") as f:
        f.write(f"{user}@vm:~{'#' if user == 'root' else '$'} {line}\n{text}{f'[{status}]' + chr(10) if status else ''}\n")
    return status, text


def said(name, line, *wanted, user="root", status=0):
    """A check that a line ends with that status, and that all of this is on the screen: texts, or patterns
    of lines in it. Returns the screen."""
    found, text = typed(line, user)
    missing = [w for w in wanted if w not in text and not re.search(w, text, re.M)]
    check(f"admin: {name}", found == status and not missing, (found, missing, text))
    return text


def check_first_job():
    """Installed and enabled as README.md says; then the first jobs of root, a member and an outsider."""
    said("the accounts and directories", "systemd-sysusers && systemd-tmpfiles --create", "Creating group 'volt' with",
         "Creating group 'volt-admin' with", "Creating user 'voltd' (Job execution daemon)")
    for user in ("alice", "bob", "carol", "mallory"):
        os.makedirs(f"/home/{user}", exist_ok=True)
        shutil.chown(f"/home/{user}", user, user)
        os.chmod(f"/home/{user}", 0o700)
    said("it is enabled and started", "systemctl enable --now voltd", "voltd.service", "voltd.socket", "voltd-control.socket")
    said("systemctl status says that it runs, and where", "systemctl status voltd", "active (running)",
         r"Status: .1 worker, listening on /run/voltd/voltd.sock", "voltd.conf: no mistake", "man:voltd(8)")
    said("a job of root is refused, with two ways that work", "volt-submit -- id",
         "voltd runs no jobs as root", "(sudo -u USER volt-submit ...)", "(volt-submit --user ...)", status=125)
    said("to a voltd of root's own it runs", "volt-submit --user --wait -- sh -c 'exit 9'", status=9)
    said("which ends when it is told to", "voltctl --user shutdown --wait")
    said("a member's first job, from a home that is closed", "volt-submit --wait -- sh -c 'pwd; id -un'", r"^[0-9]+$", user="alice")
    said("its output", "voltctl logs @last", "/home/alice\nalice\n", user="alice")
    said("it is listed, and nothing else of hers runs", "voltctl list", r"sh +done +success .* sh -c 'pwd; id -un'",
         "No job waits or runs", user="alice")
    said("an outsider is told which group, and what the administrator types", "volt-submit --wait -- id",
         "mallory is not in group volt (an administrator: adduser mallory volt; then log in again)", user="mallory", status=125)
    set_group(["alice", "bob", "carol", "mallory"])
    until(lambda: MALLORY in sockets())
    said("who has come into the group runs jobs", "volt-submit --wait -- id", user="mallory")
    text = said("an administrator sees whose jobs there are", "voltctl list --all-users", r"^ID +NAME +USER +STATE",
                r"sh +alice +done", r"id +mallory +done", user="carol")
    check("admin: root sees the same", typed("voltctl list")[1] == text)
    set_group(["alice", "bob", "carol"])
    until(lambda: MALLORY not in sockets())


def check_mistake():
    """A configuration with mistakes changes nothing, and each is named with its line."""
    CONF.parent.mkdir(parents=True, exist_ok=True)
    CONF.write_text("[Queue]\nSlots=3\n[Limits user:alice]\nMemoryMax=256M\n[Limits group:volt]\nPidsMax=100\n")
    said("a new configuration", "systemctl reload voltd")
    said("what is in force, with limits of users and groups", "voltctl config", "# /etc/voltd/voltd.conf", "Queue.Slots=3",
         "Limits.PidsMax=infinity", "Limits user:alice.MemoryMax=256M", "Limits group:volt.PidsMax=100")
    CONF.write_text("[Queue]\nSlots=5\n[Limits]\nMemoryMax=lots\nPidMax=4\n")
    said("a broken one is refused", "systemctl reload voltd", "Job for voltd.service failed",
         "journalctl -xeu voltd.service", status=1)
    mistakes = (f"{CONF}:4: MemoryMax=lots: it must be a size from 1M, or infinity",
                f"{CONF}:5: unknown key PidMax= in [Limits]; did you mean PidsMax=?")
    run("journalctl", "--sync")
    said("the journal names each line", "journalctl -u voltd -n 8", *mistakes, "Reload failed")
    said("so does a check by hand", "voltd --system --check-config", *mistakes, "2 mistakes", status=1)
    said("what was in force is so still", "voltctl config | grep Slots", "Queue.Slots=3")
    said("and it runs", "systemctl status voltd", "active (running)", "(code=exited, status=1/FAILURE)")
    CONF.write_text("[Queue]\nSlots=3\n")
    said("the mended one is taken", "systemctl reload voltd")


def check_looks():
    """What runs, what has failed, what is limited; and an upgrade."""
    said("a job with limits", "volt-submit -n long --mem 64M --timeout 1h -- sleep 300", user="alice")
    said("its status has them", "voltctl status long", "State: running", "Timeout: 1h", "Limits: --mem=64M", r"Main PID: [0-9]+",
         "Directory: /home/alice", user="alice")
    job = run("voltctl", "status", "--json", "long", user="alice")[1]
    pid = int(re.search(r'"pid": ?([0-9]+)', job)[1])
    said("the unit of her jobs shows it by id", f"systemctl status voltd-jobs@{ALICE}", "active (running)",
         "running jobs of user 2000", r"jobs$", r"[0-9]+\.1$", f"{pid} sleep 300")
    said("a job that waits, with limits", "volt-submit --hold -n later --mem 1G --cpu-max 50% -- true", user="alice")
    said("why it waits", "voltctl why later", "held by its user", user="alice")
    said("its limits are in its status before it runs", "voltctl status later", "Limits: --mem=1G --cpu-max=50%",
         "held until `voltctl release`", user="alice")
    said("a job that fails", "volt-submit --wait -- sh -c 'echo no such thing; exit 3'", r"job [0-9]+: exit status 3: no such thing",
         user="alice", status=3)
    said("a job that needs more memory than it may have",
         "volt-submit --wait -n eats --mem 32M -- sh -c 'head -c 64M /dev/zero | tail -c 63M | wc -c'",
         "oom: killed for want of memory, by its own limit", user="alice", status=137)
    said("its status says whose limit, and what to do", "voltctl status eats", "limit 32M",
         "OOM: it needed more than --mem=32M: submit it with a higher one", user="alice")
    said("why says that it waits for nothing", "voltctl why eats", "is done, and waits for nothing", user="alice")
    run("journalctl", "--sync")
    said("the journal of all that", f"journalctl -u voltd -u voltd-jobs@{ALICE} -u voltd-keeper@{ALICE}",
         r"voltd.*: job [0-9]+ of alice ended: exit 3$",
         r"voltd.*: job [0-9]+ of alice ended: oom, the kernel killed it for want of memory$",
         "configuration reloaded", f"Started {jobs_unit()}", f"Started voltd-keeper@{ALICE}.service")
    run("journalctl", "--update-catalog")
    said("which explains the end for want of memory", "journalctl -x VOLT_RESULT=oom", "was killed for want of memory",
         "voltctl status ", "systemctl set-property voltd-UID.slice MemoryMax=SIZE", "MaxRunningPerUser=")
    said("an upgrade is a restart", "systemctl restart voltd")
    said("of which the job does not notice", "voltctl status long", "State: running", f"Main PID: {pid}", user="alice")
    check("admin: it is the same process", alive(pid))


def check_leaving():
    """As voltd(8) says, line by line. What stays is removed for what follows."""
    said("voltd and its sockets", "systemctl disable --now voltd.service voltd.socket voltd-control.socket",
         'Removed "/etc/systemd/system/multi-user.target.wants/voltd.service"')
    said("the rights to start jobs", "systemctl stop voltd-users.path 'voltd-keeper@*.socket'")
    check("admin: the jobs run on", "sleep 300" in typed(f"systemctl status voltd-jobs@{ALICE}")[1])
    # Repeated where a cgroup goes meanwhile: voltd(8).
    said("the jobs", "systemctl kill -s KILL 'voltd-jobs@*.service' || systemctl kill -s KILL 'voltd-jobs@*.service'")
    check("admin: no unit is left", until(lambda: run("systemctl", "list-units", "--plain", "--no-legend", "--state=active",
                                                     "voltd*.service", "voltd*.socket", "voltd*.path")[1] == ""))
    said("a client says what is to be done", "voltctl list", "no voltd answers", "`systemctl start voltd`", user="alice", status=3)
    said("or uses one of its own", "volt-submit --wait -- sh -c 'exit 9'", user="alice", status=9)
    said("which ends", "voltctl --user shutdown --wait", user="alice")
    CONF.unlink()
    for path in ("/var/lib/voltd", "/run/voltd-rec"):
        shutil.rmtree(path)


ADMIN = (check_first_job, check_mistake, check_looks, check_leaving)
