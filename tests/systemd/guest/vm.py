"""What the checks in the VM are written with. The guest is 5 to 20 times slower than the host, so
everything that takes time is polled for, with a generous end."""
import json
import pathlib
import subprocess
import time

passed = failed = 0
LIMIT = 30
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def run(*argv, user=None):
    """(status, stdout, stderr) of a command, as root or as somebody else."""
    if user:
        argv = ("setpriv", "--reuid", user, "--regid", user, "--init-groups", "env", "-i",
                "PATH=/usr/bin:/bin", "HOME=/tmp") + argv
    p = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd="/tmp")
    return p.returncode, p.stdout, p.stderr


def check(name, good, why=""):
    global passed, failed
    if good:
        passed += 1
        print(f"ok {name}", flush=True)
    else:
        failed += 1
        print(f"FAILED {name}: {str(why).strip()[-600:]}", flush=True)
    return good


def until(condition, limit=LIMIT):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def show(unit, prop):
    return run("systemctl", "show", "-P", prop, unit)[1].strip()


def alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def start_long_job(user="alice"):
    """A job that outlives what follows: its id, and its pid, None if it does not run."""
    path = pathlib.Path("/tmp/long.pid")
    path.unlink(missing_ok=True)
    script = f"echo $$ >{path}.new && mv {path}.new {path}; exec sleep 300"
    status, out, err = run("volt-submit", "--", "sh", "-c", script, user=user)
    return out.strip(), int(path.read_text()) if until(path.exists) else None


def status_of(job, user="alice"):
    return json.loads(run("voltctl", "status", "--json", job, user=user)[1] or "{}")


def output_of(script, *options, user="alice"):
    """What a job prints that runs this with a shell."""
    status, out, err = run("volt-submit", "--wait", *options, "--shell", script, user=user)
    return run("voltctl", "logs", out.strip(), user=user)[1] if status == 0 else err
