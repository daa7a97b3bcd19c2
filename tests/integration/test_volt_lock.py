"""volt-lock: a lock of voltd's around a command outside of jobs. Who has it, who waits, and that no
two have what only one may have, whatever is killed."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys

import pytest

from conftest import BIN, LIMIT, until, written
from jobs import alive, ended, get, sh, submit
from test_locks import lock, waits_for
from test_store import config, refused

LOCKS = "org.voltd.locks."


def locks(v):
    return {one["name"]: one for one in v.ok(LOCKS + "List")["locks"]}


def held_by_lease(v, name="db"):
    """The one lease that has it, and whose process knows so: a voltd that dies before has told nothing."""
    return until(lambda: [h for h in locks(v).get(name, {}).get("holders", []) if "lease" in h and "since_at_usec" in h],
                 f"{name} to be had by a lease")[0]


def gate(daemon, name="gate"):
    return f"until [ -e {daemon.dir}/{name} ]; do sleep 0.01; done"


def open_gate(daemon, name="gate"):
    (daemon.dir / name).touch()


def holder(daemon, *options, name="db", then=None):
    """A volt-lock that has the lock until the gate opens."""
    return daemon.popen("volt-lock", *options, name, "-c", then or gate(daemon))


def finish(process):
    out, err = process.communicate()
    return process.returncode, out, err


def test_a_command_runs_while_it_has_the_lock(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v:
        lease = held_by_lease(v)
        assert (lease["pid"], lease["command"], lease["mode"]) == (first.pid, gate(private), "exclusive")
        assert locks(v)["db"]["exclusive"] is True and lease["since_at_usec"] > 0
        job = submit(v, sh(":", **lock("db")))
        waits_for(v, job, "db")
        assert f"lock db: held by volt-lock (pid {first.pid}) for " in private.ctl("why", job).out
        second = holder(private, "-s", then=f"cat {private.dir}/no; echo $?")
        waits = until(lambda: locks(v)["db"].get("leases_waiting"))[0]
        assert (waits["pid"], waits["mode"], locks(v)["db"]["waiting"]) == (second.pid, "shared", 2)
        table = private.ctl("locks").lines[-1]
        assert f"pid {first.pid} ({gate(private)})"[:30] in table, table
        assert first.poll() is None and get(v, job)["state"] == "queued"
        open_gate(private)
        assert finish(first)[0] == 0
        assert ended(v, job)["result"] == "success"
        assert finish(second)[:2] == (0, "1\n")
        until(lambda: "db" not in locks(v), "the lock to go")
    until(lambda: not os.listdir(private.state / "leases"), "the files to go")


def test_exit_codes(private):
    private.start(config=config(4))

    def code(*args):
        return private.run("volt-lock", *args).code

    assert code("db", "--", "sh", "-c", "exit 7") == 7
    assert code("db", "sh", "-c", "kill -TERM $$") == 128 + signal.SIGTERM
    assert code("db", "-c", "exit 9") == 9
    assert code("-c", "exit 9", "db") == 9
    assert code("-F", "db", "-c", "exit 9") == 9
    assert code("db", "--", "./no-such-command") == 127
    assert code("db", "--", "/") == 126
    for args in ((), ("db",), ("-c", "true", "db", "true"), ("-o", "-F", "db", "true"), ("-E", "256", "db", "true"),
                 ("--permits", "0", "db", "true"), ("--permits", "1/", "db", "true"), ("-w", "x", "db", "true"),
                 ("--no-such", "db", "true"), ("/db", "true"), ("x" * 129, "true"),
                 ("-n", "-w", "1", "db", "true"), ("-w", "1", "-n", "db", "true")):
        assert code(*args) == 125, args
    first = holder(private)
    with private.connect() as v:
        held_by_lease(v)
    assert code("-n", "db", "true") == 1
    assert code("-n", "-E", "75", "db", "true") == 75
    r = private.run("volt-lock", "-w", "0.01", "-E", "0", "db", "false")
    assert r.code == 0, r
    assert code("-n", "-s", "db", "true") == 1
    assert code("-n", "other", "true") == 0
    said = private.run("volt-lock", "--verbose", "-w", "0", "db", "true")
    assert said.code == 1 and re.fullmatch(
        rf"volt-lock: db is not free: lock db: held by volt-lock \(pid {first.pid}\) for \S+, wanted exclusive",
        said.err.splitlines()[-1]), said
    assert private.run("volt-lock", "-n", "db", "true").err == ""
    open_gate(private)
    assert finish(first)[0] == 0
    said = private.run("volt-lock", "--verbose", "db", "true")
    assert said.code == 0 and said.err.splitlines()[-1].startswith("volt-lock: got db after "), said


def test_shared_together_and_not_past_one_that_waits_for_it_alone(private):
    private.start(config=config(4))
    readers = [holder(private, "-s") for _ in range(2)]
    with private.connect() as v:
        until(lambda: locks(v).get("db", {}).get("used") == 2, "both to share it")
        writer = holder(private, then=f"echo writer >>{private.dir}/log")
        until(lambda: locks(v)["db"]["waiting"] == 1)
        late = holder(private, "-s", then=f"echo late >>{private.dir}/log")
        until(lambda: locks(v)["db"]["waiting"] == 2)
        assert private.run("volt-lock", "-n", "-s", "db", "true").code == 1
        open_gate(private)
        assert [finish(p)[0] for p in (*readers, writer, late)] == [0] * 4
    assert written(private.dir / "log") == "writer\nlate\n"


def test_a_semaphore_of_permits(private):
    private.start(config=config(4))
    two = holder(private, "--permits", "2/3", name="tape")
    with private.connect() as v:
        held_by_lease(v, "tape")
        assert private.run("volt-lock", "-n", "--permits", "2", "tape", "true").code == 1
        assert private.run("volt-lock", "-n", "--permits", "1", "tape", "true").code == 0
        r = private.run("volt-lock", "--permits", "1/4", "tape", "true")
        assert (r.code, "semaphore tape is in use with 3 permits, not 4" in r.err) == (125, True), r
        r = private.run("volt-lock", "--permits", "4", "tape", "true")
        assert (r.code, "semaphore tape has 3 permits, and 4 are claimed" in r.err) == (125, True), r
        assert (locks(v)["tape"]["used"], locks(v)["tape"]["capacity"]) == (2, 3)
        assert "holders_left_out" not in locks(v)["tape"]
        private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert (locks(v)["tape"]["used"], locks(v)["tape"]["capacity"]) == (2, 3)
    open_gate(private)
    assert finish(two)[0] == 0


def test_what_cannot_be_asked_for_is_refused(shared):
    with shared.connect() as v:
        for bad in ({}, {"name": ""}, {"name": "/db"}, {"name": "x" * 129}, {"name": "a", "permits": 2},
                    {"name": "a", "capacity": 2}, {"name": "a", "mode": "rate"}, {"name": "a", "timeout_usec": 5},
                    {"name": "a", "mode": "permits", "permits": 0}, {"name": "a", "command": "x" * 256}):
            assert v.call(LOCKS + "Acquire", bad)["error"] == "org.varlink.service.InvalidParameter", bad
        assert not v.fds


@pytest.mark.parametrize("restarted", [False, True], ids=["up", "restarted"])
def test_the_command_of_one_that_was_killed_has_the_lock_still(private, restarted):
    private.start(config=config(4))
    first = holder(private, then=f"echo $$ >{private.dir}/pid; {gate(private)}")
    with private.connect() as v:
        lease = held_by_lease(v)["lease"]
        pid = int(until(lambda: written(private.dir / "pid")))
        first.kill()
        first.wait()
        job = submit(v, sh(f"[ -e {private.dir}/gate ]", **lock("db")))
        waits_for(v, job, "db")
    if restarted:
        private.stop(signal.SIGKILL)
        private.start()
    with private.connect() as v:
        assert alive(pid) and held_by_lease(v)["lease"] == lease
        waits_for(v, job, "db")
        assert private.run("volt-lock", "-n", "db", "true").code == 1
        open_gate(private)
        assert ended(v, job)["result"] == "success"
    first.communicate()


def test_a_child_that_flees_has_the_lock_unless_it_was_closed(private):
    private.start(config=config(4))
    flees = f"setsid -f sh -c '{gate(private)}' >/dev/null 2>&1 </dev/null"
    assert private.run("volt-lock", "db", "-c", flees).code == 0
    r = private.run("volt-lock", "-n", "--verbose", "db", "true")
    assert r.code == 1 and re.search(r"volt-lock \(pid (\d+)\) for .*; \1 has ended, what it has left has it", r.err), r
    assert private.run("volt-lock", "-o", "free", "-c", flees).code == 0
    with private.connect() as v:
        until(lambda: "free" not in locks(v), "the lock to be free")
        open_gate(private)
        until(lambda: "db" not in locks(v), "the lock to be free")


def test_what_a_killed_one_has_left_gives_its_lock_back_by_hand(private):
    private.start(config=config(4))
    first = holder(private, "-s", then=f"echo $$ >{private.dir}/pid; {gate(private)}")
    other = holder(private, "-s")
    with private.connect() as v:
        until(lambda: sum("since_at_usec" in h for h in locks(v).get("db", {}).get("holders", [])) == 2)
        r = private.ctl("locks", "free", "db")
        assert (r.code, "nothing that is left of an ended job or volt-lock has it" in r.err) == (1, True), r
        until(lambda: written(private.dir / "pid"))
        first.kill()
        first.wait()
        left = until(lambda: [h for h in locks(v)["db"]["holders"] if h.get("survivors")])
        assert [h["pid"] for h in left] == [first.pid] and f"survivors of pid {first.pid} (" in private.ctl("locks").out
        assert private.ctl("locks", "free", "db").out == "given back by what was left of 1 holder\n"
        assert [h["pid"] for h in locks(v)["db"]["holders"]] == [other.pid]
        private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert [h["pid"] for h in locks(v)["db"]["holders"]] == [other.pid]
    open_gate(private)
    first.communicate()
    assert finish(other)[0] == 0


# A process that waits with a child, and goes: the child has the descriptor.
LEAVES_A_CHILD = """
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.send(b'{"method":"org.voltd.locks.Acquire","more":true,"parameters":{"name":"db"}}\\0')
assert len(socket.recv_fds(s, 4096, 1)[1]) == 1
if os.fork() == 0:
    s.close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
"""


def test_what_came_to_a_place_that_a_killed_one_has_left_is_given_back_by_hand(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v:
        held_by_lease(v)
        subprocess.run([sys.executable, "-c", LEAVES_A_CHILD, private.socket, private.dir / "child"], check=True)
        open_gate(private)
        assert finish(first)[0] == 0
        until(lambda: [h for h in locks(v)["db"]["holders"] if h.get("survivors") and h["lease"] > 1])
        assert private.ctl("locks", "free", "db").out == "given back by what was left of 1 holder\n"
        assert "db" not in locks(v)
        open_gate(private, "child")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_it_is_kept_over_a_restart_of_voltd(private, how):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v:
        lease = held_by_lease(v)
    waiting = holder(private, then=f"[ -e {private.dir}/gate ]")
    with private.connect() as v:
        until(lambda: locks(v)["db"]["waiting"] == 1)
    private.stop(how)
    assert first.poll() is None and waiting.poll() is None
    private.start()
    with private.connect() as v:
        assert held_by_lease(v) == lease and locks(v)["db"]["exclusive"] is True
        until(lambda: locks(v)["db"]["waiting"] == 1, "the other one to come back")
        job = submit(v, sh(":", **lock("db")))
        assert int(job) > lease["lease"]
        waits_for(v, job, "db")
        open_gate(private)
        assert finish(first)[0] == 0 and finish(waiting)[0] == 0
        assert ended(v, job)["result"] == "success"


def ids_of_files(daemon):
    return sorted(int(name) for name in os.listdir(daemon.state / "leases"))


def has_place(daemon, process):
    """What it keeps over the end of voltd has come to it."""
    fds = pathlib.Path(f"/proc/{process.pid}/fd")
    return any(os.readlink(fd).startswith(f"{daemon.state}/leases/") for fd in fds.iterdir() if os.path.lexists(fd))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_those_that_wait_keep_their_order_over_a_restart(private, how):
    """Whichever of them comes back first; and one that has gone keeps nothing back."""
    private.start(config=config(4))
    writes = [holder(private)]
    with private.connect() as v:
        held_by_lease(v)
        for n, options in enumerate([[], ["-s"], [], []], 1):
            writes.append(holder(private, *options, then=f"echo {n} >>{private.dir}/log"))
            until(lambda: has_place(private, writes[n]))
        job = submit(v, sh(f"echo job >>{private.dir}/log", **lock("db")))
        waits_for(v, job, "db")
    private.stop(how)
    assert len(ids_of_files(private)) == 5
    writes[3].kill()
    writes[3].wait()
    writes[1].send_signal(signal.SIGSTOP)
    open_gate(private)
    assert finish(writes[0])[0] == 0
    private.start()
    with private.connect() as v:
        until(lambda: [h["pid"] for h in locks(v)["db"]["holders"]] == [writes[1].pid], "the first to be given it")
        until(lambda: [h["pid"] for h in locks(v)["db"]["leases_waiting"]] == [writes[2].pid, writes[4].pid])
        assert not written(private.dir / "log")
        writes[1].send_signal(signal.SIGCONT)
        assert [finish(writes[n])[0] for n in (1, 2, 4)] == [0] * 3
        assert ended(v, job)["result"] == "success"
    writes[3].communicate()
    assert written(private.dir / "log").split() == ["1", "2", "4", "job"]
    until(lambda: not ids_of_files(private), "the files to go")


def test_a_place_is_named_by_a_caller_that_has_lost_its_connection(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v, private.connect() as lost:
        lease = held_by_lease(v)["lease"]
        place = lost.call(LOCKS + "Acquire", {"name": "db"}, more=True)
        assert place.get("continues") and len(lost.fds) == 1
        place = place["parameters"]["lease"]
        assert ids_of_files(private) == [lease, place] and "since_at_usec" in locks(v)["db"]["leases_waiting"][0]
        with private.connect() as other:  # a call waits for it still: this one is behind
            assert other.call(LOCKS + "Acquire", {"name": "db", "lease": place}, more=True)["parameters"]["lease"] > place
        until(lambda: ids_of_files(private) == [lease, place], "the one behind to have gone")
        fd = lost.fds.pop()

    def resumed():
        again = private.connect()
        if again.call(LOCKS + "Acquire", {"name": "db", "lease": place}, more=True)["parameters"]["lease"] == place:
            return again
        again.close()
        return None

    with private.connect() as v, until(resumed, "voltd to know that the connection is lost") as again:
        bad = v.call(LOCKS + "Acquire", {"name": "db", "lease": place})
        assert bad["error"] == "org.varlink.service.InvalidParameter", bad
        assert not again.fds
        open_gate(private)
        assert finish(first)[0] == 0
        assert again.recv() == {"parameters": {"lease": place}} and not again.fds
        assert held_by_lease(v)["lease"] == place
        assert v.call(LOCKS + "Acquire", {"name": "db", "lease": place}, more=True) == {"parameters": {"lease": place}}
        os.close(fd)
        until(lambda: "db" not in locks(v), "the lock to be free")
        assert v.call(LOCKS + "Acquire", {"name": "db", "lease": place}, more=True)["parameters"]["lease"] > place
        assert len(v.fds) == 1


def test_one_that_has_closed_its_file_before_it_is_given_the_lock_does_not_keep_it(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v, private.connect() as waits:
        held_by_lease(v)
        assert waits.call(LOCKS + "Acquire", {"name": "db"}, more=True)["continues"]
        os.close(waits.fds.pop())
        v.call(LOCKS + "Acquire", {"name": "later"}, more=True)
        os.close(v.fds.pop())
        until(lambda: "later" not in locks(v), "what was closed later, and so what was before, to have been seen")
        open_gate(private)
        assert finish(first)[0] == 0
        assert "lease" in waits.recv()["parameters"] and not waits.fds
        until(lambda: "db" not in locks(v), "the lock to be free")


def test_a_call_that_comes_back_changes_nothing_of_what_was_asked_for(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v, private.connect() as lost:
        held_by_lease(v)
        place = lost.call(LOCKS + "Acquire", {"name": "db"}, more=True)["parameters"]["lease"]
        fd = lost.fds.pop()
    other = {"name": "other", "mode": "permits", "permits": 5, "capacity": 7, "lease": place}

    def resumed():
        again = private.connect()
        if again.call(LOCKS + "Acquire", other, more=True)["parameters"]["lease"] == place:
            return again
        again.close()
        return None

    with until(resumed, "voltd to know that the connection is lost") as again:
        open_gate(private)
        assert finish(first)[0] == 0
        assert again.recv() == {"parameters": {"lease": place}}
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert list(locks(v)) == ["db"] and held_by_lease(v)["lease"] == place
        os.close(fd)
        until(lambda: not locks(v), "the lock to be free")


def test_one_that_has_waited_for_long_enough_keeps_no_place(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v:
        lease = held_by_lease(v)["lease"]
        answer = v.call(LOCKS + "Acquire", {"name": "db", "timeout_usec": 1}, more=True)
        if answer.get("continues"):
            answer = v.recv()
        assert answer["error"] == LOCKS + "Busy" and ids_of_files(private) == [lease]
    open_gate(private)
    assert finish(first)[0] == 0


def test_one_that_ends_while_there_is_no_voltd_gives_its_lock_back(private):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v:
        held_by_lease(v)
        job = submit(v, sh(":", **lock("db")))
        waits_for(v, job, "db")
    private.stop(signal.SIGKILL)
    open_gate(private)
    assert finish(first)[0] == 0
    private.start()
    with private.connect() as v:
        assert ended(v, job)["result"] == "success"
    assert not os.listdir(private.state / "leases")


@pytest.mark.parametrize("at, said", [(5, "it is held, and a newer voltd has made it"), (100, "it is held, and damaged")])
def test_voltd_does_not_start_while_a_file_that_it_cannot_read_is_held(private, at, said):
    private.start(config=config(4))
    first = holder(private)
    with private.connect() as v:
        lease = held_by_lease(v)["lease"]
    private.stop()
    file = private.state / "leases" / str(lease)
    text = bytearray(file.read_bytes())
    text[at] ^= 1
    file.write_bytes(text)
    code, text = refused(private)
    assert code == 1 and f"the file leases/{lease} of the state: {said}" in text
    open_gate(private)
    assert finish(first)[0] == 0
    private.start()
    assert not os.listdir(private.state / "leases")


def test_one_that_waits_and_goes_leaves_its_place(private):
    private.start(config=config(4))
    first, second = holder(private), None
    with private.connect() as v:
        held_by_lease(v)
        second = holder(private)
        until(lambda: locks(v)["db"]["waiting"] == 1)
        third = holder(private, "-s", then="true")
        until(lambda: locks(v)["db"]["waiting"] == 2)
        second.kill()
        second.communicate()
        until(lambda: locks(v)["db"]["waiting"] == 1, "its place to be free")
        open_gate(private)
        assert finish(first)[0] == 0 and finish(third) == (0, "", "")


def test_a_descriptor_that_nobody_takes_is_no_lease(private):
    """The client has gone before the answer comes, or keeps it without the descriptor."""
    private.start(config=config(4))
    with private.connect() as v:
        v.send(LOCKS + "Acquire", {"name": "db"})
    with private.connect() as v:
        until(lambda: v.call(LOCKS + "Acquire", {"name": "db"})["parameters"].get("lease"), "the lock to be free")
        assert v.call(LOCKS + "Acquire", {"name": "db"})["error"] == LOCKS + "Busy"
        os.close(v.fds.pop())
        until(lambda: "db" not in locks(v), "the lock to be free")


def test_many_of_one_name_have_it_one_at_a_time(private):
    private.start(config=config(4))
    alone = f"mkdir {private.dir}/alone || echo two >>{private.dir}/log; rmdir {private.dir}/alone"
    with private.connect() as v:
        processes = [holder(private, then=alone) for _ in range(8)]
        jobs = [submit(v, sh(alone, **lock("db"))) for _ in range(8)]
        private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert {ended(v, job)["result"] for job in jobs} == {"success"}
    assert [finish(p)[0] for p in processes] == [0] * 8
    assert not written(private.dir / "log")


@pytest.mark.parametrize("together", [False, True])
def test_the_descriptor_is_found_whichever_reply_it_seems_to_come_with(fake, tmp_path, together):
    """The kernel gives what was sent with a descriptor in one piece with what was sent before it."""
    waits, given = {"parameters": {"lease": 5}, "continues": True}, {"parameters": {"lease": 5}}

    def answer(method, parameters):
        assert (method, parameters["name"]) == (LOCKS + "Acquire", "db")
        replies = [waits, {**given, "fd": os.open(tmp_path, os.O_RDONLY)}]
        return replies if together else iter(replies)

    made = fake(answer)
    assert made.run("volt-lock", "db", "-c", "echo $VOLT_LEASE").out == f"5 {made.fake.path}\n"


def test_what_a_paused_queue_keeps_back_is_not_called_held(private):
    """And said without --verbose: what is skipped for that is skipped until the queue is resumed."""
    private.start()
    assert private.ctl("queue", "pause", "default").code == 0
    for wait in ["-n"], ["-w", "0.01"]:
        r = private.run("volt-lock", *wait, "-E", "9", "db", "true")
        assert (r.code, r.err) == (9, "volt-lock: db is given to nothing now: queue default is paused; "
                                   "see `voltctl queue resume default`\n"), r
    with private.connect() as v:
        answer = v.call(LOCKS + "Acquire", {"name": "db"})
        assert answer["parameters"] == {"name": "db", "reason": "queue default is paused", "paused": True}, answer
        assert "db" not in locks(v)
    told = private.popen("volt-lock", "--verbose", "db", "true")
    ours, theirs = pty.openpty()
    watched = subprocess.Popen([BIN / "volt-lock", "db", "true"], env=private.env, cwd=private.dir, stderr=theirs)
    os.close(theirs)
    waits = "volt-lock: waiting for db: queue default is paused; see `voltctl queue resume default`"
    assert told.stderr.readline() == waits + "\n"
    with os.fdopen(ours, encoding="utf-8") as screen:
        assert screen.readline() == waits + "\n"
        assert private.ctl("queue", "resume", "default").code == 0
        assert finish(told)[0] == watched.wait(LIMIT) == 0
    until(lambda: private.run("volt-lock", "-n", "db", "true").code == 0, "the latest lease to end")


def test_what_comes_without_a_descriptor_is_no_lease(fake):
    r = fake(lambda *_: [{"parameters": {"lease": 5}}]).run("volt-lock", "db", "true")
    assert (r.code, r.err) == (125, "volt-lock: what came over the socket is not the protocol of voltd\n")


def test_a_cycle_is_told_in_words(fake):
    r = fake(lambda *_: [{"error": LOCKS + "Deadlock", "parameters": {"reason": "it would wait for ever"}}]).run(
        "volt-lock", "db", "true")
    assert (r.code, r.err) == (125, "volt-lock: refused: it would wait for ever\n"), r


def test_a_lost_connection_is_tried_again_for_as_long_as_there_was_to_wait(fake):
    told = []

    def answer(_, parameters):
        told.append(parameters.get("timeout_usec"))
        return [None] if len(told) < 3 else [{"error": LOCKS + "Busy", "parameters": {"name": "db"}}]

    r = fake(answer).run("volt-lock", "-w", "50s", "-E", "7", "db", "true")
    assert r.code == 7 and told[0] <= 50000000 and sorted(told, reverse=True) == told and len(set(told)) == 3
    r = fake(lambda *_: [None]).run("volt-lock", "--reconnect=0", "db", "true")
    assert r.code == 125 and "closed the connection" in r.err


def test_where_no_voltd_is_the_first_connection_is_not_tried_again(private):
    r = private.run("volt-lock", "--no-autostart", f"--address=unix:{private.dir}/no", "db", "true")
    assert r.code == 125 and "no voltd answers" in r.err


def deadlocks(result, *said):
    """It is refused, with these parts of the reason in their order."""
    at = [result.err.find(part) for part in ("it would wait for ever: ", *said)]
    return result.code == 125 and -1 not in at and at == sorted(at)


def test_a_lock_inside_of_itself_is_refused(private):
    private.start(config=config(4))
    r = private.run("volt-lock", "db", BIN / "volt-lock", "db", "true")
    assert deadlocks(r, "lock db: volt-lock (pid ", "has it, and waits for this"), r
    r = private.run("volt-lock", "a", BIN / "volt-lock", "b", BIN / "volt-lock", "-s", "a", "true")
    assert deadlocks(r, "lock a: volt-lock (pid "), r
    assert private.run("volt-lock", "-s", "db", BIN / "volt-lock", "-s", "db", "-c", "exit 3").code == 3
    sem = "--permits", "1/2", "tape"
    assert private.run("volt-lock", *sem, BIN / "volt-lock", *sem, "-c", "exit 3").code == 3
    r = private.run("volt-lock", *sem, BIN / "volt-lock", *sem, BIN / "volt-lock", *sem, "true")
    assert deadlocks(r, "semaphore tape: volt-lock (pid "), r
    assert private.run("volt-lock", "db", BIN / "volt-lock", "-n", "db", "true").code == 1


@pytest.mark.parametrize("restarted", [False, True], ids=["up", "restarted"])
def test_a_cycle_of_jobs_and_commands_is_refused_with_its_members(private, restarted):
    """Job 1 has a and wants b, which a command has that wants a."""
    private.start(config=config(4))
    with private.connect() as v:
        job = submit(v, sh(f"{gate(private)}; {BIN}/volt-lock b true", **lock("a")))
        until(lambda: get(v, job)["state"] == "running")
        outer = holder(private, name="b", then=f"{gate(private, 'second')}; {BIN}/volt-lock a true")
        held_by_lease(v, "b")
        if restarted:
            private.stop(signal.SIGKILL)
            private.start()
    with private.connect() as v:
        open_gate(private)
        until(lambda: locks(v)["b"]["waiting"] == 1, "the job to wait for b")
        open_gate(private, "second")
        code, _, err = finish(outer)
        assert code == 125
        assert f"it would wait for ever: lock a: job {job} has it, and waits for lock b: volt-lock (pid {outer.pid}) " \
               "has it, and waits for this" in err
        assert ended(v, job)["result"] == "success"


def test_what_is_inside_of_a_holder_passes_the_line(private):
    """A job that waits for a and b would keep the holder of a from b, if it had its turn first."""
    private.start(config=config(4))
    outer = holder(private, name="a", then=f"{gate(private)}; {BIN}/volt-lock b -c 'exit 5'")
    with private.connect() as v:
        held_by_lease(v, "a")
        first = holder(private, name="b", then=gate(private, "second"))
        held_by_lease(v, "b")
        both = submit(v, {**sh(":"), "claims": [{"name": "a"}, {"name": "b"}]})
        until(lambda: locks(v)["b"]["waiting"] == 1)
        open_gate(private)
        until(lambda: locks(v)["b"]["waiting"] == 2)
        open_gate(private, "second")
        assert finish(first)[0] == 0 and finish(outer)[0] == 5
        assert ended(v, both)["result"] == "success"


def test_what_is_of_another_voltd_or_user_is_not_what_it_is_inside_of(private):
    private.start(config=config(4))
    with private.connect() as v:
        job = submit(v, sh(gate(private), **lock("a")))
        until(lambda: get(v, job)["state"] == "running")
        assert v.call(LOCKS + "Acquire", {"name": "a", "inside_job": job}, more=True)["error"] == LOCKS + "Deadlock"
        assert v.call(LOCKS + "Acquire", {"name": "a", "inside_job": "99999"}, more=True).get("continues") is True
    env = {"VOLT_JOB": f"{job} /other", "VOLT_JOB_ID": job, "VOLT_LEASE": f"{job} /other"}
    r = private.run("volt-lock", "-w", "0.1", "a", "true", env=env)
    assert r.code == 1, r
    r = private.run("volt-lock", "-w", "0.1", "a", "true", env={"VOLT_JOB": f"{job} {private.socket}"})
    assert deadlocks(r, f"lock a: job {job} has it"), r
    open_gate(private)
