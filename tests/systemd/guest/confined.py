"""What a voltd that somebody has taken over reaches: a program in its place, in its unit."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

from vm import check, run, start_long_job

STATE = pathlib.Path("/var/lib/voltd")
REPORT = STATE / "taken.json"
ROOT_CAT = pathlib.Path("/usr/bin/root-cat")
UNIT = pathlib.Path("/run/systemd/system/voltd-taken.service")


def connect(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(path)


def write(path):
    with open(path, "w") as f:
        f.write("1")


def made_set_user_id():
    write(STATE / "taken")
    os.chmod(STATE / "taken", 0o4755)


def given_away():
    write(STATE / "taken")
    os.chown(STATE / "taken", 0, 0)


def command(*argv):
    def attempt():
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if p.returncode:
            raise PermissionError(p.stderr.strip() or p.returncode)
    return attempt


def attempts(pid):
    """Name: whether it succeeds, and how it is tried."""
    return {
        "connects to the keeper of a member": (True, lambda: connect("/run/voltd-keeper/2000")),
        "writes to /var/lib/voltd": (True, lambda: write(STATE / "taken")),
        "writes to /run/voltd-rec": (True, lambda: write("/run/voltd-rec/.taken")),
        "writes to a /tmp": (True, lambda: write("/tmp/taken")),
        "connects to a keeper of root": (False, lambda: connect("/run/voltd-keeper/0")),
        "connects to a keeper of an outsider": (False, lambda: connect("/run/voltd-keeper/2003")),
        "starts one": (False, command("systemctl", "--no-ask-password", "start", "voltd-keeper@2003.socket")),
        "starts a unit of its own": (False, command("systemd-run", "--no-ask-password", "true")),
        "becomes root": (False, lambda: os.setuid(0)),
        "becomes a member": (False, lambda: os.setuid(2000)),
        "reads the home of a member": (False, lambda: os.listdir("/home/alice")),
        "sees any home": (False, lambda: os.stat("/home/alice")),
        "reads /etc/shadow": (False, lambda: open("/etc/shadow")),
        "writes to /etc/voltd": (False, lambda: write("/etc/voltd/taken")),
        "writes to /run": (False, lambda: write("/run/taken")),
        "writes to /run/voltd-keeper": (False, lambda: write("/run/voltd-keeper/taken")),
        "sees the /var/tmp of others": (False, lambda: os.stat("/var/tmp/of-others")),
        "writes to a cgroup": (False, lambda: write("/sys/fs/cgroup/voltd.slice/cgroup.freeze")),
        "sets a variable of the kernel": (False, lambda: write("/proc/sys/kernel/core_pattern")),
        "reads the log of the kernel": (False, lambda: os.open("/dev/kmsg", os.O_RDONLY)),
        "opens a terminal": (False, lambda: os.open("/dev/ttyS1", os.O_RDWR)),
        "has an internet socket": (False, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
        "has a netlink socket": (False, lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
        "signals a job": (False, lambda: os.kill(pid, signal.SIGCONT)),
        "sees a job in /proc": (False, lambda: os.stat(f"/proc/{pid}")),
        "signals PID 1": (False, lambda: os.kill(1, signal.SIGCONT)),
        "makes a file set-user-id": (False, made_set_user_id),
        "gives a file away": (False, given_away),
        "makes a namespace": (False, command("unshare", "--user", "true")),
        "mounts": (False, command("mount", "-t", "tmpfs", "none", str(STATE))),
        "gains a privilege by a program that is set-user-id": (False, command("/usr/bin/root-cat", "/etc/shadow")),
    }


def tried(attempt):
    """None, or what went wrong, of a child: what the filter of system calls forbids is its end."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except Exception as e:
            os.write(w, repr(e).encode()[:300])
        os._exit(0)
    os.close(w)
    said = b""
    while part := os.read(r, 1000):
        said += part
    os.close(r)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return said.decode() or None


def check_security():
    """The figures of systemd, of voltd and, for what a job's keeper is in, of a login of a user."""
    def figure(unit):
        out = run("systemd-analyze", "security", "--no-pager", unit)[1]
        return float(re.search(r"exposure level for .*: ([0-9.]+)", out)[1]), out
    (voltd, table), (keeper, _), (login, _) = map(figure, ("voltd.service", "voltd-keeper@2000.service",
                                                           "user@2000.service"))
    check(f"systemd-analyze security: voltd {voltd}, at most 0.6 (a keeper {keeper}, a login by user@.service {login})",
          voltd <= 0.6 and keeper <= login + 0.3, "\n".join(line for line in table.splitlines() if "✗" in line))


def check_confined():
    """Of a program in the place of voltd, run by its unit. Jobs of others run meanwhile."""
    job, pid = start_long_job()
    text = pathlib.Path("/usr/lib/systemd/system/voltd.service").read_text()
    text = re.sub(r"(?m)^(Requires|After|Type|Exec\w+|Restart\w*|WatchdogSec|Wants)=.*\n", "", text)
    UNIT.write_text(text.split("[Install]")[0].replace("[Service]\n", "[Service]\nType=oneshot\n"
                    f"ExecStart=/usr/bin/python3 /test/confined.py {pid}\n"))
    pathlib.Path("/var/tmp/of-others").touch()
    os.makedirs("/home/alice", exist_ok=True)
    shutil.copy("/usr/bin/cat", ROOT_CAT)
    ROOT_CAT.chmod(0o4755)
    run("systemctl", "daemon-reload")
    status, out, err = run("systemctl", "start", UNIT.name)
    if not check("a program runs in the place of voltd", status == 0 and REPORT.exists(),
                 err + run("journalctl", "-u", UNIT.name, "-n", "20")[1]):
        return
    found = json.loads(REPORT.read_text())
    for name, (may, _) in attempts(pid).items():
        check(f"a voltd that is taken over {name}: {found[name] or 'yes'}", (found[name] is None) == may)
    check("its /tmp is its own", not os.path.exists("/tmp/taken"))
    for path in (UNIT, REPORT, STATE / "taken", pathlib.Path("/run/voltd-rec/.taken"), ROOT_CAT):
        path.unlink(missing_ok=True)
    run("systemctl", "daemon-reload")
    os.kill(pid, signal.SIGTERM)
    run("voltctl", "wait", job, user="alice")


CONFINED = (check_security, check_confined)

if __name__ == "__main__":
    REPORT.write_text(json.dumps({name: tried(attempt) for name, (_, attempt) in attempts(int(sys.argv[1])).items()}))
