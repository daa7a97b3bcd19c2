"""Seeded clients: they submit, batch, cancel, wait, follow, vanish in the middle of a frame,
and tell the ledger. A client that loses its connection connects again; where the daemon
knows keys it repeats what it had sent, and must get the same id.
"""

import base64
import json
import random
import re
import socket
import threading
import time

from house import LEDGER_JOB, Varlink, code_told
from ledger import Sent, output_of, parse_id


class Load:
    """What the clients may do; shared by all of them."""

    def __init__(self, house, seed, clients=3, backlog=200, faults=True, timeouts=0.03,
                 errors=False, stopper=False, first=0, patience=(5000, 200000)):
        self.house, self.seed, self.backlog, self.faults = house, seed, backlog, faults
        self.timeouts = timeouts        # share of jobs that are ended by theirs,
        self.patience = patience        # which is so many microseconds
        self.errors = errors            # the disk fails: what needs it may be refused
        self.stop = threading.Event()
        self.gate = threading.Event()   # open: submit
        self.findings = []
        self.cut = 0                    # next length of a frame that is cut short
        self.submitted = self.waits = 0     # waits that came to their end
        self.durable = self.keys = False
        # Their numbers make their keys: who comes later begins elsewhere.
        everyone = [Client(self, first + i) for i in range(clients)]
        if stopper:
            everyone.append(Stopper(self, first + clients))
        self.threads = [threading.Thread(target=c.run, daemon=True) for c in everyone]

    def start(self):
        with self.house.connect() as v:
            idl = v.ok("org.varlink.service.GetInterfaceDescription",
                       {"interface": "org.voltd.jobs"})["description"]
            self.durable = self.house.stats()["durable"]
        spec = re.search(r"type Spec \((.*?)\n\)", idl, re.S).group(1)
        self.keys = self.durable and re.search(r"\bkey: \?string", spec) is not None
        self.house.history.unique_keys = self.keys
        self.gate.set()
        for t in self.threads + [threading.Thread(target=self.pace, daemon=True)]:
            t.start()
        return self

    def pace(self):
        """Closes the gate while the daemon has more than `backlog` jobs."""
        while not self.stop.is_set():
            try:
                jobs = self.house.stats()["jobs"]
                waiting = sum(jobs[s] for s in ("queued", "starting", "running"))
                if waiting > self.backlog:
                    self.gate.clear()
                else:
                    self.gate.set()
            except (OSError, AssertionError):
                pass
            self.stop.wait(0.02)

    def end(self):
        self.stop.set()
        self.gate.set()
        for t in self.threads:
            t.join()
        if self.waits >= 5 and not self.house.history.told:
            self.findings.append(f"invented: {self.waits} waits have told no end")


# What an act may be answered: its job has been purged, or forgotten with its daemon, has printed
# nothing, or voltd ends.
ALLOWED = {"org.voltd.jobs.NoSuchJob", "org.voltd.logs.NoOutput", "org.voltd.jobs.ShuttingDown"}
# Where the disk fails.
OF_ERRORS = {"org.voltd.logs.OutputUnreadable", "org.voltd.jobs.StoreUnavailable"}


class Gone(Exception):
    """The connection is over."""


class Client:
    def __init__(self, load, number):
        self.load, self.house, self.ledger = load, load.house, load.house.clients
        self.random = random.Random(load.seed * 1000 + number)
        self.number, self.count = number, 0
        self.v = None
        self.life = 0
        self.mine = []      # (key, id, count) that were acknowledged

    def acts(self):
        """[(what it may do, how often)]"""
        acts = [(self.submit, 60), (self.batch, 8), (self.array, 6), (self.cancel, 4),
                (self.wait, 8), (self.follow, 6)]
        if self.load.faults:
            acts += [(self.cut_frame, 8), (self.vanish, 4)]
        return acts

    def run(self):
        acts = self.acts()
        while not self.load.stop.is_set():
            self.load.gate.wait()
            act = self.random.choices([a for a, _ in acts], [w for _, w in acts])[0]
            try:
                act()
            except (OSError, Gone):
                self.drop()
            except Exception as e:  # a thread that dies in silence would test nothing
                self.load.findings.append(f"invented: client {self.number}: {e!r}")
                self.drop()
        self.drop()

    def drop(self):
        if self.v:
            self.v.close()
        self.v = None

    def connection(self):
        while self.v is None:
            if self.load.stop.is_set():
                raise Gone
            self.house.up.wait(0.05)
            self.life = self.house.life
            try:
                self.v = Varlink(self.house.socket, timeout=30)
            except OSError:
                self.load.stop.wait(0.005)
        return self.v

    def call(self, method, parameters, **header):
        reply = self.connection().call(f"org.voltd.{method}", parameters, **header)
        if reply is None:
            raise Gone
        return reply

    # --- specs

    def new_key(self):
        self.count += 1
        return self.number << 32 | self.count

    def spec(self, key, count=-1, timeout=False):
        r = self.random
        usec = r.choices([0, r.randrange(1000, 50000), r.randrange(100000, 1500000)],
                         [70, 25, 5])[0]
        if timeout:
            usec = 3_000_000
        spec = {"argv": [str(LEDGER_JOB), str(self.house.ledger), str(key), str(usec)],
                "name": f"k{key}", "priority": r.randrange(-2, 3)}
        if timeout:
            spec["timeout_usec"] = r.randrange(*self.load.patience)
            spec["kill_after_usec"] = 200000
            spec["stop_signal"] = r.choice(["TERM", "KILL"])
        if count >= 0:
            spec["array"] = {"first": 0, "last": count - 1}
        if self.load.keys:
            spec["key"] = f"k{key}"
        return spec

    def announce(self, count=-1, timeout=False):
        key = self.new_key()
        self.ledger.sent(Sent(key, count, timeout))
        self.load.submitted += max(count, 1)
        return key, self.spec(key, count, timeout)

    def acknowledged(self, key, text, durable, count=-1):
        self.ledger.ack(key, parse_id(text)[0], durable, self.life)
        self.mine.append((key, parse_id(text)[0], count))

    # --- acts

    def again(self, send):
        """send(), and where keys make that safe once more on every new connection."""
        while True:
            try:
                return send()
            except (OSError, Gone):
                self.drop()
                if not self.load.keys or self.load.stop.is_set():
                    raise Gone from None

    def submit_one(self, count=-1, timeout=False):
        key, spec = self.announce(count, timeout)

        def send():
            reply = self.call("jobs.Submit", {"spec": spec})
            if self.refused(reply):
                return
            p = reply["parameters"]
            self.acknowledged(key, p["id"], p["durable"], count)
        self.again(send)

    def refused(self, reply):
        error = reply.get("error")
        if error and not self.load.errors and error != "org.voltd.jobs.ShuttingDown":
            self.load.findings.append(f"invented: a submission was refused: {reply}")
        return error is not None

    def failed(self, method, reply):
        error = reply.get("error")
        if error and error not in ALLOWED | (OF_ERRORS if self.load.errors else set()):
            self.load.findings.append(f"invented: {method} was refused: {reply}")
        return error is not None

    def submit(self):
        self.submit_one(timeout=self.random.random() < self.load.timeouts)

    def array(self):
        self.submit_one(count=self.random.randrange(1, 20))

    def batch(self):
        several = [self.announce() for _ in range(self.random.randrange(2, 50))]

        def send():
            reply = self.call("jobs.SubmitBatch", {"specs": [spec for _, spec in several]})
            if self.refused(reply):
                return
            p = reply["parameters"]
            for (key, _), text in zip(several, p["ids"]):
                if text:
                    self.acknowledged(key, text, p["durable"])
        self.again(send)

    def cancel(self):
        if not self.mine:
            return
        _, number, _ = self.random.choice(self.mine[-50:])
        self.ledger.cancel(number)
        self.failed("Cancel", self.call("jobs.Cancel", {"ids": [str(number)]}))

    def note(self, job):
        if job["state"] == "done" and "counts" not in job and not job.get("forgotten"):
            self.ledger.told(parse_id(job["id"]), job["result"], code_told(job))

    def wait(self):
        """Some jobs to their end; what is told then must stay true."""
        chosen = {str(n) for _, n, _ in self.random.sample(self.mine[-20:], min(3, len(self.mine)))}
        if not chosen:
            return
        v = self.connection()
        v.send("org.voltd.jobs.Wait", {"ids": sorted(chosen)}, more=True)
        while True:
            reply = v.recv()
            if reply is None or self.load.stop.is_set():
                raise Gone
            if self.failed("Wait", reply):
                return
            for job in reply["parameters"].get("jobs", []):
                self.note(job)
            if not reply.get("continues"):
                self.load.waits += 1
                return

    def follow(self):
        """The output of one job while it runs, from an offset in the middle on."""
        alone = [m for m in self.mine[-20:] if m[2] < 0]
        if not alone:
            return
        _, number, _ = self.random.choice(alone)
        whole = output_of((number, -1), 1)
        at = self.random.randrange(len(whole) + 1)
        v = self.connection()
        v.send("org.voltd.logs.Read", {"id": str(number), "offset": at, "max_bytes": 7}, more=True)
        while True:
            reply = v.recv()
            if reply is None or self.load.stop.is_set():
                raise Gone
            if self.failed("Read", reply):
                return
            p = reply["parameters"]
            data = base64.b64decode(p["data"])
            if whole[at:at + len(data)] != data or p["next_offset"] != at + len(data):
                self.load.findings.append(f"output: follower of {number} at {at} got {data!r}")
            at = p["next_offset"]
            if not reply.get("continues"):
                return

    def frame(self):
        key, spec = self.announce()
        return json.dumps({"method": "org.voltd.jobs.Submit", "parameters": {"spec": spec}}) \
            .encode() + b"\0"

    def cut_frame(self):
        """A client that is gone after n bytes of a frame, n = 0, 1, 2, ..., also from inside
        a reply."""
        data = self.frame()
        n = self.load.cut % (len(data) + 1)
        self.load.cut += 1
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(30)
            s.connect(str(self.house.socket))
            s.sendall(data[:n])
            if n == len(data):
                s.recv(self.random.randrange(1, 40))

    def vanish(self):
        """Sends all of it one byte at a time, and never reads the answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(30)
            s.connect(str(self.house.socket))
            for byte in self.frame():
                s.send(bytes([byte]))
            if self.random.random() < 0.5:
                time.sleep(0.01)


class Stopper(Client):
    """Sees that somebody comes to every crash point, whatever the others happen to do: one job
    to its end with what it printed, one cancelled while it runs; again and again."""

    def acts(self):
        return [(self.stop_one, 1)]

    def stop_one(self):
        number = self.urgent(0)
        self.until_state(number, "done")
        number = self.urgent(5_000_000)
        self.until_state(number, "running", "stopping", "done")
        self.ledger.cancel(number)
        self.call("jobs.Cancel", {"ids": [str(number)]})
        self.until_state(number, "done")

    def urgent(self, usec):
        """A job that does not wait behind those of the others: its number."""
        key, spec = self.announce()
        spec["argv"][3] = str(usec)
        spec["priority"] = 100
        self.again(lambda: self.took(key, self.call("jobs.Submit", {"spec": spec})))
        return self.mine[-1][1]

    def took(self, key, reply):
        if self.refused(reply):
            raise Gone
        self.acknowledged(key, reply["parameters"]["id"], reply["parameters"]["durable"])

    def until_state(self, number, *states):
        def state():
            return self.call("jobs.Get", {"id": str(number)})["parameters"]["job"]["state"]
        while self.again(state) not in states:
            self.load.stop.wait(0.01)
