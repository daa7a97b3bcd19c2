"""Standard input that a job brings with it: kept, whole, and within its limit."""
import base64
import contextlib
import os
import sqlite3
import subprocess

import pytest

from conftest import BIN, LIMIT, until


def submit(daemon, data, *words):
    return subprocess.run([BIN / "volt-submit", *words], input=data, env=daemon.env, cwd=daemon.dir,
                          capture_output=True, timeout=LIMIT)


def test_what_comes_through_a_pipe(shared):
    for data in (b"a", b"", bytes(range(256)) * 300):
        r = submit(shared, data, "-F", "--stdin=-", "cat")
        assert (r.returncode, r.stdout) == (0, data), r.stderr
        assert b"note" not in r.stderr


def test_each_element_reads_all_of_it(shared):
    r = submit(shared, b"one\ntwo\n", "-w", "--array=1-20", "--stdin=-", "--shell", "wc -l")
    assert r.returncode == 0, r
    out = shared.ctl("logs", "--no-prefix", r.stdout.decode().strip()).out
    assert out == "2\n" * 20


def test_nobody_can_change_it(shared):
    r = submit(shared, b"mine", "-F", "--stdin=-", "--shell", "(echo x >/proc/self/fd/0) 2>/dev/null || cat")
    assert (r.returncode, r.stdout) == (0, b"mine"), r


def test_it_is_there_after_a_restart(private):
    """It waits; the one that waits before it holds the only slot. And the store has one copy."""
    private.start(config="[Queue]\nSlots=1\n")
    gate = private.dir / "gate"
    first = private.submit("--shell", f"until [ -e {gate} ]; do sleep 0.05; done").lines[0]
    data = os.urandom(100_000)
    (private.dir / "input").write_bytes(data)
    ids = [submit(private, data, "--stdin=-", "--output", f"copy.{i}", "cat").stdout.decode().strip()
           for i in range(3)]
    assert private.stop() == 0
    with contextlib.closing(sqlite3.connect(next(private.state.glob("jobs.*.db")))) as db:
        assert db.execute("SELECT count(*) FROM content WHERE length(body) >= 100000").fetchone() == (1,)
    private.start()
    gate.touch()
    assert private.ctl("wait", first, *ids).code == 0
    for i in range(3):
        assert (private.dir / f"copy.{i}").read_bytes() == data
    with private.connect() as v:
        spec = v.ok("org.voltd.jobs.Get", {"id": ids[0], "with_spec": True})["job"]["spec"]
    assert base64.b64decode(spec["stdin_data"]) == data


def test_the_limit(private):
    private.start(config="[Limits]\nMaxStdin=1K\n")
    assert submit(private, b"x" * 1024, "-w", "--stdin=-", "cat").returncode == 0
    r = submit(private, b"x" * 1025, "--stdin=-", "cat")
    assert r.returncode == 125 and r.stdout == b""
    assert b"--stdin: has 1025 bytes, MaxStdin= allows 1024: keep it in a file" in r.stderr, r
    r = submit(private, b"x" * 500_000, "--stdin=-", "cat")
    assert r.returncode == 125 and b"--stdin: has more than the 1024 bytes of MaxStdin=: keep it" in r.stderr, r
    assert private.ctl("list", "--no-legend").out == ""


def test_more_than_a_call_may_be(private):
    """It goes beside the call, and MaxStdin= alone is its bound."""
    private.start(config="[Limits]\nMaxStdin=3M\n")
    for size in (65536, 65537, 3 << 20):
        data = os.urandom(size)
        r = submit(private, data, "-F", "--stdin=-", "cat")
        assert r.returncode == 0 and r.stdout == data, (size, r.stderr)
    r = submit(private, b"x" * ((3 << 20) + 1), "--stdin=-", "cat")
    assert r.returncode == 125 and b"MaxStdin=" in r.stderr, r
    private.env["LONG"] = "x" * 100_000  # which leaves no room in the call
    r = submit(private, data[:120_000], "-F", "--stdin=-", "cat")
    assert r.returncode == 0 and r.stdout == data[:120_000], r.stderr


@pytest.mark.parametrize("words, why", [
    (["-f", "-", "--stdin=-"], b"--stdin=- is for one command"),
    (["--kind=noop", "--stdin=-"], b"--stdin is for kind exec"),
])
def test_not_with_everything(shared, words, why):
    r = submit(shared, b"{}", *words)
    assert r.returncode == 125 and why in r.stderr, r


def test_the_field_is_checked(shared):
    with shared.connect() as v:
        for spec, field in (({"argv": ["cat"], "stdin_data": "%"}, "spec.stdin_data"),
                            ({"argv": ["cat"], "stdin_data": "YQ==", "stdin": "/dev/null"}, "spec.stdin_data"),
                            ({"kind": "noop", "stdin_data": "YQ=="}, "spec.stdin_data")):
            reply = v.call("org.voltd.jobs.Submit", {"spec": spec})
            assert reply["parameters"]["parameter"] == field, reply
        ident = v.ok("org.voltd.jobs.Submit", {"spec": {"argv": ["cat"], "stdin_data": "YQ=="}})["id"]
        until(lambda: shared.job(ident)["state"] == "done")
        assert shared.ctl("logs", ident).out == "a"
