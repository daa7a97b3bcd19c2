"""Who may do what, on the sockets of a voltd in system mode, with real uids: matrix.py."""

import json
import shutil
import subprocess

import pytest

from conftest import BIN, LIMIT, needs_root
from matrix import MATRIX, RELATIONS, Matrix, call_as
from protocol import JOBS, error

pytestmark = needs_root

UIDS = {"owner": 12345, "other": 12346, "admin": 12347, "root": 0}


@pytest.fixture
def system(private):
    private.mode = "--system"
    private.as_service().start()
    for path, mode in ((private.dir, 0o755), (private.runtime, 0o755), (private.socket, 0o666),
                       (private.control, 0o666)):
        path.chmod(mode)
    return private


def matrix_of(daemon):
    def ask(relation, method, parameters, **header):
        uid = UIDS[relation]
        return call_as(daemon.control if relation == "admin" else daemon.socket, (uid, uid, []), method, parameters,
                       **header)
    return Matrix(ask, UIDS["owner"])


def test_every_cell(system):
    matrix = matrix_of(system)
    assert set(MATRIX) == matrix.methods()
    wrong = []
    for method, found, expected in matrix.rows():
        print(f"{method:45}" + "  ".join(f"{r} {c}" for r, c in zip(RELATIONS, found)))
        if found != expected:
            wrong.append((method, found, expected))
    assert wrong == []
    system.process.wait(LIMIT)  # the last of them was Shutdown


def test_an_admin_sees_and_steers_all(system):
    """By the socket that it has come to, and not by its uid."""
    matrix = matrix_of(system)
    job = matrix.put_job(JOBS + "Get")

    def as_member(method, parameters):  # the same user on the other socket
        uid = UIDS["admin"]
        return call_as(system.socket, (uid, uid, []), JOBS + method, parameters)

    def ids_of(reply):
        return [j["id"] for j in reply["parameters"]["jobs"]]
    of_owner = {"filter": {"user": str(matrix.owner)}}
    assert ids_of(as_member("List", {})) == ids_of(as_member("List", of_owner)) == []
    assert ids_of(matrix.ask("other", JOBS + "List", of_owner)) == []
    assert ids_of(matrix.ask("admin", JOBS + "List", {})) == ids_of(matrix.ask("admin", JOBS + "List", of_owner)) == [job]
    waits = matrix.put_job(JOBS + "Hold")
    for method in "Hold", "Release", "Hold":
        assert matrix.ask("admin", JOBS + method, {"ids": [waits]})["parameters"] == {"count": 1}
    assert "held by an admin" in error(matrix.ask("owner", JOBS + "Release", {"ids": [waits]}), JOBS + "Refused")["reason"]
    first = {"spec": {"kind": "noop", "priority": 7}}
    assert "administrators" in as_member("Submit", first)["parameters"]["reason"]
    assert "id" in matrix.ask("admin", JOBS + "Submit", first)["parameters"]
    assert matrix.ask("admin", JOBS + "Cancel", of_owner)["parameters"] == {"count": 2}


def test_voltctl_finds_the_socket_for_what_its_user_may(system):
    matrix = matrix_of(system)
    job = matrix.put_job(JOBS + "Get")
    program = shutil.copy(BIN / "voltctl", system.dir)

    def ctl(relation, *args):
        uid = UIDS[relation]
        return subprocess.run([program, *args], env=system.env, capture_output=True, text=True, user=uid, group=uid,
                              extra_groups=[], cwd="/", timeout=LIMIT)

    def listed(relation, *args):
        return [j["id"] for j in json.loads(ctl(relation, "list", "--json", f"--owner={matrix.owner}", *args).stdout)]
    assert listed("admin") == listed("other") == [] and listed("admin", "--all-users") == [job]
    assert ctl("admin", "queue", "set", "default", "slots=3").returncode == 0
    # As group volt-admin keeps others out.
    system.control.chmod(0o600)
    assert json.loads(ctl("other", "stats", "--json").stdout)["workers"]
    r = ctl("other", "list", "--all-users")
    assert r.returncode == 3 and f"{system.control}: permission denied" in r.stderr, r
    r = ctl("other", "queue", "set", "default", "slots=4")
    assert r.returncode == 1 and "only root, and administrators through control.sock, may change queues" in r.stderr, r
    assert matrix.ask("root", JOBS + "Cancel", {"ids": [job]})["parameters"] == {"count": 1}


def test_what_the_jobs_of_others_wait_for(system):
    """To root, and to an administrator that asks; whose they are is said where they are not all the caller's."""
    matrix = matrix_of(system)
    job = matrix.put_job(JOBS + "Hold")
    program = shutil.copy(BIN / "voltctl", system.dir)

    def ctl(relation, *args):
        uid = UIDS[relation]
        return subprocess.run([program, *args], env=system.env, capture_output=True, text=True, user=uid, group=uid,
                              extra_groups=[], cwd="/", timeout=LIMIT)

    assert ctl("admin", "hold", job, "--all-users").returncode == 0
    held = f"1 job of {matrix.owner}, such as {job}: held by an admin, until an admin releases it\n"
    assert ctl("admin", "why").stdout == ctl("other", "why").stdout == "none of your jobs waits\n"
    assert ctl("admin", "why", "--all-users").stdout == ctl("root", "why").stdout == held
    assert ctl("owner", "why").stdout == held.replace(f" of {matrix.owner}", "")
    theirs = matrix.ask("other", JOBS + "Submit", {"spec": {"kind": "noop", "hold": True}})["parameters"]["id"]
    assert ctl("admin", "hold", theirs, "--all-users").returncode == 0
    lines = ctl("root", "why").stdout.splitlines()
    assert len(lines) == 2 and {line.split(",")[0] for line in lines} == {
        f"1 job of {matrix.owner}", f"1 job of {UIDS['other']}"}, lines
    assert ctl("root", "cancel", theirs).returncode == 0
    (reason,) = json.loads(ctl("root", "why", "--json").stdout)["reasons"]
    assert (reason["uid"], reason["count"]) == (int(matrix.owner), 1)
    assert "uid" not in json.loads(ctl("owner", "why", "--json").stdout)["reasons"][0]
    # The same words where the job is shown.
    assert "held by an admin, until an admin releases it" in ctl("owner", "status", job).stdout
    assert json.loads(ctl("owner", "list", "--json", job).stdout)[0]["held_by_admin"] is True
    assert "USER" in ctl("admin", "list", "--all-users").stdout and "USER" not in ctl("owner", "list").stdout
    for verb in ("hold", "cancel", "clean"):
        r = ctl("admin", verb, f"--owner={matrix.owner}")
        assert r.returncode == 0 and r.stderr.endswith(
            ": jobs of other users are for administrators, with --all-users\n"), (verb, r)
    assert ctl("admin", "release", job, "--all-users").returncode == 0
    assert ctl("root", "cancel", f"--owner={matrix.owner}").stderr == "voltctl: 1 job asked to end\n"
