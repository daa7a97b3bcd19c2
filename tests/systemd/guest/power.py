"""The half of check-vm-power that runs in the VM: clients of a voltd whose disk is logged, and what a
voltd makes of the disk of each power cut."""
import base64
import concurrent.futures
import json
import mmap
import os
import pathlib
import random
import socket
import subprocess
import threading
import time

from vm import LIMIT, run, until

USER = "tester"
BLOCK, SECTOR = 4096, 512
BACKLOG = 30
JOBS, LOGS = "org.voltd.jobs.", "org.voltd.logs."
TOLD = "id", "state", "result", "exit_status", "step"
OPEN_STATES = ["queued", "starting", "running", "paused", "stopping"]


def spec_of(key):
    """Of a key "CLIENT.NUMBER.KIND.CODE": always the same."""
    _, _, kind, code = key.split(".")
    r = random.Random(key)
    if kind == "noop":
        return {"key": key, "kind": "noop"}
    spec = {"key": key, "argv": ["/test/mark", key, str(r.choice([0, 0, 0, 20_000, 400_000])), code]}
    if kind == "array":
        spec["array"] = {"first": 0, "last": r.randrange(1, 4)}
    if kind == "held":
        spec["hold"] = True
    return spec


class Connection:
    def __init__(self, path):
        self.sock, self.data = socket.socket(socket.AF_UNIX), b""
        self.sock.settimeout(LIMIT * 4)
        self.sock.connect(str(path))

    def send(self, method, parameters, **header):
        self.sock.sendall(json.dumps({"method": method, "parameters": parameters, **header}).encode() + b"\0")

    def receive(self):
        while b"\0" not in self.data:
            data = self.sock.recv(1 << 16)
            if not data:
                raise ConnectionResetError
            self.data += data
        message, self.data = self.data.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, interface=JOBS, **parameters):
        self.send(interface + method, parameters)
        reply = self.receive()
        if reply.get("error") == JOBS + "ShuttingDown":
            raise ConnectionResetError
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply}")
        return reply["parameters"]

    def list(self, **filters):
        found, more = [], {}
        while more is not None:
            reply = self.call("List", filter=filters, with_spec=True, spec_fields=["key"], **more)
            found += reply["jobs"]
            more = {"cursor": reply["cursor"]} if reply.get("cursor") else None
        return found

    def output(self, job):
        """That of a job that has ended."""
        return base64.b64decode(self.call("Read", LOGS, id=job)["data"]).decode()


class Voltd:
    """That of one disk: its file system is /mnt/N, its sockets and its ledger are in /run/power/N."""

    def __init__(self, number, preload=None):
        self.disk = f"/dev/vd{chr(ord('a') + number)}"
        self.mount, self.dir = pathlib.Path(f"/mnt/{number}"), pathlib.Path(f"/run/power/{number}")
        for path in (self.mount, self.dir):
            path.mkdir(parents=True)
        os.chown(self.dir, 1000, 1000)
        until(lambda: os.path.exists(self.disk))
        os.chmod(self.disk, 0o666)
        (self.dir / "ledger").symlink_to(self.disk)
        self.socket, self.preload, self.process = self.dir / "voltd.sock", preload, None

    def mount_it(self):
        """None, or why it cannot be."""
        status, _, err = run("mount", "-t", "ext4", self.disk, str(self.mount))
        return err if status else None

    def start(self):
        """None, or why it does not serve."""
        with open(self.dir / "stderr", "ab") as err:
            self.process = subprocess.Popen(
                ("setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "env", "-i", "PATH=/usr/bin:/bin",
                 "HOME=/tmp", *([f"LD_PRELOAD={self.preload}"] if self.preload else []), "voltd", "--user",
                 "--workers", "1", "--runtime-dir", str(self.dir), "--state-dir", str(self.mount / "state")),
                stdin=subprocess.DEVNULL, stdout=err, stderr=err, cwd="/")
        if until(lambda: self.process.poll() is not None or self.serves(), LIMIT * 4) and self.process.poll() is None:
            return None
        return f"voltd does not serve ({self.process.poll()}): {(self.dir / 'stderr').read_text()[-2000:]}"

    def serves(self):
        try:
            return Connection(self.socket)
        except OSError:
            return None

    def stop(self, signal="TERM"):
        run("kill", f"-{signal}", str(self.process.pid))
        self.process.wait()


class Recorder:
    """Clients of one voltd; each tells the disk what it has sent and heard."""

    def __init__(self, voltd):
        self.voltd = voltd
        self.stopping, self.lock = threading.Event(), threading.Lock()
        self.acknowledged = self.ended = 0
        self.errors = []
        self.fd = os.open(voltd.disk, os.O_WRONLY | os.O_DIRECT)
        self.place = os.lseek(self.fd, 0, os.SEEK_END) - BLOCK
        self.sector = mmap.mmap(-1, SECTOR)

    def note(self, *words):
        with self.lock:
            self.sector[:] = (" ".join(words) + "\n").encode().ljust(SECTOR, b"\0")
            os.pwrite(self.fd, self.sector, self.place)

    def again(self, act):
        """act(connection) again and again, on a new connection where voltd goes."""
        connection = None
        while not self.stopping.is_set():
            try:
                connection = connection or Connection(self.voltd.socket)
                act(connection)
            except OSError:
                connection = None
                time.sleep(0.02)
            except Exception as e:  # a thread that dies in silence would test nothing
                self.errors.append(repr(e))
                return

    def client(self, number):
        r, count, left, held = random.Random(number), 0, [], []

        def act(connection):
            nonlocal count
            if self.acknowledged - self.ended > BACKLOG:
                time.sleep(0.02)
                return
            if held and r.random() < 0.05:
                connection.call("Cancel", ids=[held.pop()])
            if not left:
                for _ in range(r.choice([1, 1, 1, 1, 5])):
                    count += 1
                    kind = r.choices(["exec", "noop", "array", "held"], [70, 12, 8, 10])[0]
                    left.append(f"{number}.{count}.{kind}.{r.choice([0, 0, 0, 7])}")
                    self.note("sent", left[-1])
            if len(left) == 1:      # what was sent to a voltd that is gone is sent again
                ids = [connection.call("Submit", spec=spec_of(left[0]))["id"]]
            else:
                ids = connection.call("SubmitBatch", specs=[spec_of(key) for key in left])["ids"]
            if not all(ids):
                raise RuntimeError(f"refused in part: {ids}")
            for key, job in zip(left, ids):
                self.note("ack", key, job)
            held.extend(job for key, job in zip(left, ids) if ".held." in key)
            with self.lock:
                self.acknowledged += sum(".held." not in key for key in left)
            left.clear()
        self.again(act)

    def watcher(self):
        cursor = {}

        def act(connection):
            connection.send(JOBS + "Watch", cursor, more=True)
            while not self.stopping.is_set():
                reply = connection.receive()["parameters"]
                for event in reply.get("events") or []:
                    if event["state"] == "done":
                        self.note("end", event["id"], event["result"], str(event.get("exit_status", "-")))
                        with self.lock:
                            self.ended += "_" not in event["id"]
                cursor["after"] = reply["cursor"]
        self.again(act)


def record(secs, *preload):
    voltd = Voltd(0, *preload)
    # What nobody has synced comes to the disk soon, and while clients work.
    for name, value in (("dirty_writeback", 20), ("dirty_expire", 100)):
        pathlib.Path(f"/proc/sys/vm/{name}_centisecs").write_text(str(value))
    recorder = Recorder(voltd)
    wrong = voltd.mount_it() or voltd.start()
    threads = [threading.Thread(target=recorder.client, args=(i,), daemon=True) for i in range(3)]
    threads.append(threading.Thread(target=recorder.watcher, daemon=True))
    for t in threads:
        t.start()
    for signal in ("KILL", "TERM", None):
        recorder.stopping.wait(float(secs) / 3)
        wrong = wrong or (voltd.process.poll() is not None and f"voltd ended: {voltd.process.poll()}")
        if signal:
            voltd.stop(signal)
            wrong = voltd.start() or wrong
    recorder.stopping.set()
    recorder.note("over")
    os.fsync(recorder.fd)   # of which the log has a flush at its end, whatever voltd does
    print(f"recorded: {recorder.acknowledged} acknowledged, {recorder.ended} ended", flush=True)
    for line in filter(None, [wrong, *recorder.errors]):
        print(f"FAILED recording: {line}", flush=True)
    return 1 if wrong or recorder.errors else 0


def look(number):
    """What a voltd makes of the disk: what is wrong with it, its jobs, and what a submitter who sends all of
    them again is told."""
    voltd, facts = Voltd(number), {"jobs": {}, "again": {}, "elements": {}, "outputs": {}}
    wrong = voltd.mount_it() or voltd.start()
    if wrong:
        return {**facts, "wrong": wrong}
    connection = Connection(voltd.socket)
    keys = [job["spec"]["key"] for job in connection.list()]
    if keys:
        reply = connection.call("SubmitBatch", specs=[spec_of(key) for key in keys])
        facts["again"] = dict(zip(keys, reply["ids"]))
    until(lambda: all(job.get("wait") == "hold" for job in connection.list(states=OPEN_STATES)), LIMIT * 4)
    for job in connection.list():
        facts["jobs"][job["spec"]["key"]] = {name: job[name] for name in TOLD if name in job}
    for job in connection.list(elements=True):
        if "_" in job["id"]:
            facts["elements"][job["id"]] = {name: job[name] for name in TOLD if name in job}
    for key, job in random.Random(number).sample(sorted(facts["jobs"].items()), min(len(facts["jobs"]), 20)):
        if job.get("result") in ("success", "exit") and ".exec." in key:
            facts["outputs"][key] = connection.output(job["id"])
    voltd.stop()
    with open(voltd.disk, "r+b") as disk:
        os.fsync(disk)
    return facts


def replay(disks):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        facts = list(pool.map(look, range(int(disks))))
    damage = [line for line in run("dmesg")[1].splitlines() if "EXT4-fs error" in line]
    pathlib.Path("/test/out/facts.json").write_text(json.dumps({"facts": facts, "damage": damage}))
    print(f"looked at {len(facts)} disks", flush=True)
    return 0


def main(what, *arguments):
    for module in ("virtio_pci", "virtio_blk"):
        run("modprobe", module)
    return {"record": record, "replay": replay}[what](*arguments)
