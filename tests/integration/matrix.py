"""Who may do what: each method by each relation of the caller to what it is about. The cells are
daemon/auth/operations.def by hand once more:

    y  it is done, or refused for what it is about
    -  as if there were no such thing: byte for byte what is said of one that there is not
    n  PermissionDenied, with who may

For the tests of a voltd that they start themselves (test_matrix.py), and of that of a VM
(tests/systemd/guest)."""

import collections
import json
import re
import socket
import time

from protocol import CONTROL, INTERFACES, JOBS, LOCKS, LOGS, QUEUES, SERVICE
from users import as_user

RELATIONS = ("owner", "other", "admin", "root")
NO_JOB = "77777777"
JOB, LOCK, QUEUE, OPEN = "y-yy", "y-yy", "nnyy", "yyyy"
# A job by its id, a lock as whose it is, or what is nobody's.
MATRIX = {
    SERVICE + "GetInfo": (OPEN, lambda at: {}),
    SERVICE + "GetInterfaceDescription": (OPEN, lambda at: {"interface": "org.voltd.jobs"}),
    JOBS + "Submit": (OPEN, lambda at: {"spec": {"kind": "noop"}}),
    JOBS + "SubmitBatch": (OPEN, lambda at: {"specs": [{"kind": "noop"}]}),
    JOBS + "Get": (JOB, lambda at: {"id": at.job}),
    JOBS + "List": (JOB, lambda at: {"filter": {"ids": [at.job]}}),
    JOBS + "Watch": (JOB, lambda at: {"filter": {"ids": [at.job]}}),
    JOBS + "Wait": (JOB, lambda at: {"ids": [at.job]}),
    JOBS + "Why": (JOB, lambda at: {"id": at.job}),
    JOBS + "Attempts": (JOB, lambda at: {"id": at.job}),
    LOGS + "Open": (JOB, lambda at: {"id": at.job}),
    LOGS + "Read": (JOB, lambda at: {"id": at.job}),
    JOBS + "Hold": (JOB, lambda at: {"ids": [at.job]}),
    JOBS + "Release": (JOB, lambda at: {"ids": [at.job]}),
    JOBS + "Edit": (JOB, lambda at: {"ids": [at.job], "changes": {"priority": -1}}),
    JOBS + "Pause": (JOB, lambda at: {"ids": [at.job]}),
    JOBS + "Resume": (JOB, lambda at: {"ids": [at.job]}),
    JOBS + "Signal": (JOB, lambda at: {"id": at.job, "signal": "CONT"}),
    JOBS + "Cancel": (JOB, lambda at: {"ids": [at.job]}),
    JOBS + "Forget": (JOB, lambda at: {"filter": {"ids": [at.job]}}),
    LOCKS + "List": (LOCK, lambda at: {"user": at.user}),
    LOCKS + "Free": (LOCK, lambda at: {"user": at.user, "name": "backup"}),
    # Of the caller's own names: nobody can name another's.
    LOCKS + "Resize": (OPEN, lambda at: {"name": "tape", "capacity": 2}),
    LOCKS + "Reset": (OPEN, lambda at: {"name": "tape"}),
    LOCKS + "Acquire": (OPEN, lambda at: {"name": "mine"}),
    QUEUES + "List": (OPEN, lambda at: {}),
    QUEUES + "Set": (QUEUE, lambda at: {"name": "default", "slots": 9}),
    QUEUES + "Pause": (QUEUE, lambda at: {"name": "night"}),
    QUEUES + "Drain": (QUEUE, lambda at: {"name": "night"}),
    QUEUES + "Resume": (QUEUE, lambda at: {"name": "night"}),
    QUEUES + "Reset": (QUEUE, lambda at: {"name": "default"}),
    QUEUES + "Create": (QUEUE, lambda at: {"name": "night"}),
    QUEUES + "Delete": (QUEUE, lambda at: {"name": "night"}),
    CONTROL + "Stats": (OPEN, lambda at: {}),
    CONTROL + "WatchStats": (OPEN, lambda at: {}),
    CONTROL + "Tasks": ("nnyy", lambda at: {}),
    CONTROL + "Config": ("nnyy", lambda at: {}),
    CONTROL + "Reload": ("nnny", lambda at: {}),
    CONTROL + "Shutdown": ("nnny", lambda at: {"cancel": True}),
}
STREAMS = {JOBS + "Watch", JOBS + "Wait", CONTROL + "WatchStats"}
At = collections.namedtuple("At", "job user")  # what is asked about


def call_as(path, ids, method, parameters, **header):
    """The first reply to a call of somebody: ids are (uid, gid, groups)."""
    with socket.socket(socket.AF_UNIX) as s:
        with as_user(*ids):
            s.connect(str(path))
        s.sendall(json.dumps({"method": method, "parameters": parameters, **header}).encode() + b"\0")
        data = b""
        while b"\0" not in data and (more := s.recv(65536)):
            data += more
    return json.loads(data.split(b"\0")[0])


class Matrix:
    """ask(relation, method, parameters, **header) is one call; owner: the uid of the relation "owner"."""

    def __init__(self, ask, owner):
        self.ask, self.owner = ask, owner

    def methods(self):
        texts = [(i, self.ask("root", SERVICE + "GetInterfaceDescription", {"interface": i})["parameters"]["description"])
                 for i in INTERFACES]
        return {f"{i}.{m}" for i, text in texts for m in re.findall(r"^method (\w+)", text, re.M)}

    def own(self, method, parameters):
        return self.ask("owner", method, parameters)["parameters"]

    def comes_to(self, job, state):
        while self.own(JOBS + "Get", {"id": job})["job"]["state"] != state:
            time.sleep(0.01)

    def put_job(self, method):
        """A job of the owner in the state that the method takes."""
        waits = method in (JOBS + "Hold", JOBS + "Release", JOBS + "Edit")
        job = self.own(JOBS + "Submit", {"spec": {
            "name": "secret", "shell": "echo secret; exec sleep 600", "cwd": "/",
            "delay_usec": 600_000_000 if waits else 0}})["id"]
        if not waits:
            self.comes_to(job, "running")
        before = {JOBS + "Release": "Hold", JOBS + "Resume": "Pause", JOBS + "Forget": "Cancel"}.get(method)
        if before:
            self.own(JOBS + before, {"ids": [job]})
        if before == "Cancel":
            self.comes_to(job, "done")
        return job

    def say(self, relation, method, at):
        more = {"more": True} if method in STREAMS else {}
        return self.ask(relation, method, MATRIX[method][1](at), **more)

    def cell(self, method, relation, job):
        reply = self.say(relation, method, At(job, str(self.owner)))
        if reply.get("error") == SERVICE + "PermissionDenied":
            return "n" if reply["parameters"]["reason"].startswith("only root") else "?"
        if MATRIX[method][0] not in (JOB, LOCK):
            return "y"
        of_none = self.say(relation, method, At(NO_JOB, "54321"))
        return "-" if without_ids(reply, job) == without_ids(of_none, NO_JOB) else "y"

    def row(self, method):
        cells = ""
        for relation in RELATIONS:
            job = self.put_job(method) if MATRIX[method][0] == JOB else NO_JOB
            cells += self.cell(method, relation, job)
            if job != NO_JOB:
                self.own(JOBS + "Cancel", {"ids": [job]})
        return cells

    def rows(self):
        """(method, cells found, cells expected) of each method; the last one ends voltd."""
        held = self.own(JOBS + "Submit", {"spec": {"shell": "exec sleep 600", "cwd": "/", "claims": [
            {"name": "backup", "mode": "exclusive"}]}})["id"]
        self.comes_to(held, "running")
        for method, (cells, _) in MATRIX.items():
            # Nothing that has ended holds "backup": all who may know of it are told so.
            yield method, self.row(method), "----" if method == LOCKS + "Free" else cells


def without_ids(reply, job):
    return re.sub(r'"(cursor|id|ids)": (\d+|"\d+"|\["\d+"\])', "", json.dumps(reply).replace(f'"{job}"', "ID"))
