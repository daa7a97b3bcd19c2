"""Private voltds, and the clients that load them."""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(tempfile.mkdtemp(prefix="volt-bench-"))


def scratch():
    """A new directory."""
    return pathlib.Path(tempfile.mkdtemp(dir=ROOT))


def output(*command, **kw):
    return subprocess.run([str(x) for x in command], stdout=subprocess.PIPE, check=True, text=True, **kw).stdout


def stat(pid):
    """/proc/PID/stat, behind the name of the program."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def cpu_us(pid, reaped=False):
    """CPU of a process so far, with or without the children that it has reaped."""
    fields = stat(pid)[11:15 if reaped else 13]
    return sum(map(int, fields)) * 1e6 / os.sysconf("SC_CLK_TCK")


def children(parent):
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):  # a process that has just ended
            if entry.isdigit() and int(stat(entry)[1]) == parent:
                yield int(entry)


class Daemon:
    """A private voltd with so many slots."""

    def __init__(self, programs, slots, config=""):
        self.bin, self.dir = programs, scratch()
        self.socket = self.dir / "run" / "voltd.sock"
        self.env = dict(os.environ, VOLT_ADDRESS=f"unix:{self.socket}")
        (self.dir / "voltd.conf").write_text(f"[Queue]\nSlots={slots}\n{config}")
        self.start()

    def start(self):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "voltd", "--user", f"--runtime-dir={self.dir}/run", f"--state-dir={self.dir}/state",
                 f"--config={self.dir}/voltd.conf"], env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        while self.call("voltctl", "version", check=False).returncode != 0:
            if self.process.poll() is not None:
                raise RuntimeError(f"voltd ended: {(self.dir / 'log').read_text()}")
            time.sleep(0.01)

    def restart(self):
        """Seconds from its start until it answers again."""
        self.process.terminate()
        self.process.wait()
        start = time.monotonic()
        self.start()
        return time.monotonic() - start

    def call(self, program, *args, check=True, **kw):
        return subprocess.run([self.bin / program, *map(str, args)], env=self.env, check=check,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)

    def cpu_us(self):
        """CPU of voltd itself so far."""
        return cpu_us(self.process.pid)

    def tree_cpu_us(self):
        """CPU of voltd, keeper, shims and jobs, those that live and those that were reaped."""
        while True:
            keepers = list(children(self.process.pid))
            shims = [pid for keeper in keepers for pid in children(keeper)]
            with contextlib.suppress(OSError):  # one that ends meanwhile is counted anew, as reaped
                return self.cpu_us() + sum(cpu_us(pid, reaped=True) for pid in shims + keepers)

    def resident(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def most_resident(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def open_to_all(self):
        for path, mode in ((ROOT, 0o755), (self.dir, 0o755), (self.dir / "run", 0o755), (self.socket, 0o666)):
            path.chmod(mode)

    def close(self):
        self.call("voltctl", "shutdown", "--cancel", check=False)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def daemon(*args):
    it = Daemon(*args)
    try:
        yield it
    finally:
        it.close()


class Load:
    def __init__(self, tools, d):
        self.tools, self.daemon = tools, d

    def __call__(self, *args):
        return json.loads(output(self.tools / "load", self.daemon.socket, *args))
