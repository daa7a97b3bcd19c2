"""voltd and its peers, each called as the others are. What takes a method of Spawners
answers jobs of /bin/true per second, so many at a time."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import time

from private import ROOT, Load, daemon, output, scratch

SLOW = 5  # what starts a client for each job gets so many fewer jobs
POSTGRES = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda p: int(p.parent.name))


def rate(jobs, start):
    return jobs / (time.monotonic() - start)


def shell(script, *args, env):
    """The same shell for all."""
    return output("sh", "-ec", script, "sh", *args, env=env)


class Spawners:
    def __init__(self, programs, tools, jobs):
        self.bin, self.tools, self.jobs = programs, tools, jobs
        self.cpu, self.tree, self.bare = {}, {}, {}  # us per job, by how many at a time

    def spawn(self, at_a_time):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = float(output(self.tools / "reference", "/", self.jobs, at_a_time, "spawn"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        us = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6
        self.bare.setdefault(at_a_time, []).append(us / self.jobs)
        return result

    def reference(self, at_a_time):
        return float(output(self.tools / "reference", scratch(), self.jobs, at_a_time, "record"))

    def voltd(self, at_a_time):
        """Separate jobs, submitted as lines of JSON."""
        specs = "".join(json.dumps({"argv": ["/bin/true"], "cwd": "/"}) + "\n" for _ in range(self.jobs))
        return self.submit(at_a_time, ["-f", "-"], specs)

    def voltd_queues(self, at_a_time):
        """The same, one of each of two queues in turns."""
        specs = "".join(json.dumps({"argv": ["/bin/true"], "cwd": "/", "queue": ("default", "other")[i % 2]}) + "\n"
                        for i in range(self.jobs))
        return self.submit(at_a_time, ["-f", "-"], specs, "[Queue other]\n")

    def voltd_array(self, at_a_time):
        return self.submit(at_a_time, ["-d", "/", "--array", f"1-{self.jobs}", "--", "/bin/true"], "")

    def submit(self, at_a_time, args, text, config=""):
        with daemon(self.bin, at_a_time, config) as d:
            start, cpu, tree = time.monotonic(), d.cpu_us(), d.tree_cpu_us()
            d.call("volt-submit", "--no-env", "--quiet", "--wait", *args, input=text)
            result = rate(self.jobs, start)
            if not config:
                self.cpu.setdefault(at_a_time, []).append((d.cpu_us() - cpu) / self.jobs)
                self.tree.setdefault(at_a_time, []).append((d.tree_cpu_us() - tree) / self.jobs)
            return result

    def xargs(self, at_a_time):
        start = time.monotonic()
        output("xargs", "-P", at_a_time, "-n", 1, "/bin/true", input="x\n" * self.jobs)
        return rate(self.jobs, start)

    def make(self, at_a_time):
        d = scratch()
        goals = " ".join(f"j{i}" for i in range(self.jobs))
        (d / "Makefile").write_text(f"all: {goals}\n{goals}:\n\t@/bin/true\n.PHONY: all {goals}\n")
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        start = time.monotonic()
        output("make", "-s", "-C", d, f"-j{at_a_time}", env=env)
        return rate(self.jobs, start)

    def parallel(self, at_a_time):
        jobs = self.jobs // SLOW
        start = time.monotonic()
        output("parallel", "--will-cite", "-j", at_a_time, "/bin/true", input="x\n" * jobs, stderr=subprocess.DEVNULL)
        return rate(jobs, start)

    # A shell loop of client calls, to the end of all jobs.

    def loop(self, env, submit, wait):
        jobs = self.jobs // SLOW
        start = time.monotonic()
        shell(f'ids=; i=0; while [ $i -lt "$1" ]; do ids="$ids $({submit})"; i=$((i + 1)); done; {wait}', jobs, env=env)
        return rate(jobs, start)

    def voltd_loop(self, at_a_time, options=""):
        with daemon(self.bin, at_a_time) as d:
            env = dict(d.env, PATH=f"{self.bin}:{os.environ['PATH']}")
            return self.loop(env, f"volt-submit {options} -- /bin/true", "voltctl wait --quiet $ids")

    def voltd_no_env_loop(self, at_a_time):
        return self.voltd_loop(at_a_time, "--no-env")

    def voltd_wait_loop(self, at_a_time):
        """One after the other: each call waits for its job."""
        jobs = self.jobs // SLOW
        with daemon(self.bin, at_a_time) as d:
            start = time.monotonic()
            shell('i=0; while [ $i -lt "$1" ]; do "$2" --wait -- true; i=$((i + 1)); done', jobs,
                  self.bin / "volt-submit", env=d.env)
            return rate(jobs, start)

    def task_spooler_loop(self, at_a_time):
        d = scratch()
        env = dict(os.environ, TS_SOCKET=str(d / "socket"), TMPDIR=str(d), TS_MAXFINISHED="10")
        output("tsp", "-S", at_a_time, env=env)
        try:
            return self.loop(env, "tsp /bin/true", "tsp -w")
        finally:
            output("tsp", "-K", env=env)

    def nq_loop(self, _):
        """One at a time: it has no other way."""
        return self.loop(dict(os.environ, NQDIR=str(scratch())), "nq -q /bin/true", "nq -w")


LISTS = {"xargs": "xargs", "make": "make", "parallel": "parallel"}
LOOPS = {"task_spooler_loop": "tsp", "nq_loop": "nq"}


def installed(peers):
    """Those of {name: program} whose program is here; it says which are not."""
    here = [name for name, program in peers.items() if program and shutil.which(program)]
    for name in peers:
        if name not in here:
            print(f"  {name}: not installed")
    return here


class Server:
    """A private queue server, durable: what it has acknowledged is on disk."""

    def __init__(self, tools, name, address):
        self.tools, self.name, self.address = tools, name, address

    def client(self, *args):
        return [str(x) for x in (self.tools / "queues", self.name, self.address, *args)]

    def submit(self, jobs, clients):
        return json.loads(output(*self.client("submit", jobs, clients)))

    def run(self, jobs, size):
        """Jobs per second to their end by two workers, submitted one by one or size in a call."""
        start = time.monotonic()
        workers = [subprocess.Popen(self.client("work", jobs // 2)) for _ in range(2)]
        if size == 1:
            self.submit(jobs, 1)
        else:
            output(*self.client("batch", jobs, size))
        if any(w.wait() for w in workers):
            raise RuntimeError(f"a worker of {self.name} failed")
        return rate(jobs // 2 * 2, start)


class Voltd:
    """The same of a voltd."""

    def __init__(self, d, load):
        self.daemon, self.load = d, load

    def submit(self, jobs, clients):
        return self.load("submit", jobs, clients)

    def run(self, jobs, size):
        return self.load("run", jobs, size)["ended_per_second"]


@contextlib.contextmanager
def started(command, ready, **kw):
    """A server in the foreground, until ready() is true, and ended afterwards."""
    it = subprocess.Popen([str(x) for x in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)
    try:
        while not ready():
            if it.poll() is not None:
                raise RuntimeError(f"{command[0]} ended with {it.returncode}")
            time.sleep(0.01)
        yield
    finally:
        it.terminate()
        it.wait()


@contextlib.contextmanager
def beanstalkd(tools):
    d = scratch()
    with started(["beanstalkd", "-l", f"unix:{d}/socket", "-b", d, "-f0"], (d / "socket").exists):
        yield Server(tools, "beanstalkd", d / "socket")


@contextlib.contextmanager
def redis(tools):
    d = scratch()
    command = ["redis-server", "--port", 0, "--unixsocket", d / "socket", "--dir", d, "--appendonly", "yes",
               "--appendfsync", "always", "--save", ""]
    with started(command, (d / "socket").exists):
        yield Server(tools, "redis", d / "socket")


@contextlib.contextmanager
def postgresql(tools):
    """As its own account where this is root's: it refuses to be root."""
    d = scratch()
    account = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    user = account.get("user", "")
    if account:
        ROOT.chmod(0o755)
        shutil.chown(d, user)
    subprocess.run([POSTGRES / "initdb", "-D", d / "data", "-A", "trust", "-U", "postgres"], check=True,
                   stdout=subprocess.DEVNULL, cwd="/", **account)
    command = [POSTGRES / "postgres", "-D", d / "data", "-c", "listen_addresses=", "-c", f"unix_socket_directories={d}"]

    def ready():
        return subprocess.run([POSTGRES / "pg_isready", "-q", "-h", d], check=False).returncode == 0

    with started(command, ready, cwd="/", **account):
        server = Server(tools, "postgresql", f"host={d} user=postgres dbname=postgres")
        output(*server.client("init"))
        yield server


@contextlib.contextmanager
def voltd(programs, tools):
    with daemon(programs, 2) as d:
        yield Voltd(d, Load(tools, d))


QUEUES = {"beanstalkd": (beanstalkd, "beanstalkd"), "redis": (redis, "redis-server"),
          "postgresql": (postgresql, POSTGRES and POSTGRES / "postgres")}
