"""Keys of several users: what one user calls a job is nothing to another, live and after a restart."""

import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import needs_root, until
from jobs import JOBS, ended, get, sh

pytestmark = needs_root

ONE, TWO = 12344, 12345  # ONE ^ TWO == ord("b") ^ ord("c")

SPEAK_AS = """
import json, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[2])
s.sendall(sys.stdin.buffer.read() + b"\\0")
data = b""
while not data.endswith(b"\\0") and (more := s.recv(65536)):
    data += more
print(data.rstrip(b"\\0").decode())
"""


@pytest.fixture
def service(private):
    private.as_service()
    start(private, config="[Queue]\nSlots=8\n")
    return private


def start(daemon, **more):
    daemon.start(**more)
    daemon.dir.chmod(0o755)
    daemon.runtime.chmod(0o755)
    daemon.socket.chmod(0o666)


def restart(daemon):
    daemon.stop(signal.SIGKILL)
    start(daemon)


def ok(daemon, uid, method, parameters):
    call = json.dumps({"method": JOBS + method, "parameters": parameters})
    out = subprocess.run([sys.executable, "-c", SPEAK_AS, str(uid), daemon.socket], input=call,
                         check=True, capture_output=True, text=True).stdout
    reply = json.loads(out)
    assert "error" not in reply, reply
    return reply["parameters"]


def submitted(daemon, uid, **spec):
    return ok(daemon, uid, "Submit", {"spec": spec})


def state(daemon, ident):
    with daemon.connect() as v:
        return get(v, ident)["state"]


FOR_LONG = {"kind": "sleep", "duration_usec": 600_000_000}


def test_forty_numbers_of_two_users(service):
    """Numbers as keys, and users whose own numbers differ in the bits in which digits do."""
    users = [ONE, TWO, ONE + 2, ONE ^ 7]
    specs = [[{**FOR_LONG, "key": str(i), "name": f"{uid} {i}"} for i in range(40)] for uid in users]
    ids = []
    for uid, mine in zip(users, specs):
        got = ok(service, uid, "SubmitBatch", {"specs": mine})
        assert not got["rejected"], got
        ids += got["ids"]
    assert len(set(ids)) == 40 * len(users)

    def again():
        for n, (uid, mine) in enumerate(zip(users, specs)):
            got = ok(service, uid, "SubmitBatch", {"specs": mine})
            assert not got["rejected"] and got["ids"] == ids[40 * n:40 * n + 40]
    again()
    restart(service)
    again()


@pytest.mark.parametrize("how", ["coalesce", "reject", "replace"])
def test_a_key_of_one_user_is_free_for_another(service, how):
    """Keys that differ from the other user's, and the same key: a job of its own, which runs, and
    the other's goes on; the next voltd, which reads all of it from the store, changes nothing."""
    more = {"on_exists": how}
    mine = submitted(service, ONE, **FOR_LONG, key="backup")["id"]
    until(lambda: state(service, mine) == "running")
    others = [submitted(service, TWO, **FOR_LONG, key=key, **more) for key in ("cackup", "backup")]
    assert all(o["created"] for o in others) and len({mine, *(o["id"] for o in others)}) == 3
    for _ in range(2):
        for ident in (mine, *(o["id"] for o in others)):
            until(lambda: state(service, ident) == "running")
        restart(service)
    for key in ("cackup", "backup"):
        ident = submitted(service, TWO, kind="noop", key=key, on_exists="replace")["id"]
        with service.connect() as v:
            assert ended(v, ident)["result"] == "success"
    assert state(service, mine) == "running"


def test_a_replacement_goes_on_after_a_restart(service):
    """The predecessor outlives voltd: for the next one, too, its successor waits."""
    path = service.dir / "out"
    path.mkdir()
    path.chmod(0o777)
    first = submitted(service, ONE, key="k", kill_after_usec=300_000_000, **sh(
        f"trap 'until [ -e {path}/go ]; do sleep 0.02; done; exit 1' TERM;"
        f"touch {path}/up; while :; do sleep 0.02; done"))["id"]
    until((path / "up").exists)
    second = submitted(service, ONE, key="k", on_exists="replace", **sh("exit 5"))["id"]
    until(lambda: state(service, first) == "stopping")
    assert state(service, second) == "queued"
    restart(service)
    until(lambda: state(service, first) == "stopping", "it to be asked to end again")
    assert state(service, second) == "queued"
    (path / "go").touch()
    with service.connect() as v:
        assert ended(v, second)["exit_code"] == 5 and get(v, first)["result"] == "cancelled"
