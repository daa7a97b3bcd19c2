"""Clients that follow go on over a restart of voltd: nothing twice, nothing missing."""

import json
import random
import select
import signal
import time

import pytest

from conftest import LIMIT, SEED, until

# Writes a line per file that appears, so that the test decides when.
LINES = "for i in 1 2 3 4; do while ! [ -e %s/$i ]; do sleep 0.02; done; echo line $i; done; exit 4"


def step(daemon, i):
    (daemon.dir / str(i)).touch()


def restart(daemon, how):
    daemon.stop(how)
    daemon.start()


def await_said(p, text):
    """Reads what a client says on standard error, up to the line with that."""
    while text not in (line := p.stderr.readline()):
        assert line, f"it ended before it said: {text}"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("args", [["voltctl", "logs", "-f"], ["volt-submit", "--follow"]])
def test_output_is_followed_over_a_restart(private, args, how):
    private.start()
    text = LINES % private.dir
    if args[0] == "voltctl":
        ident = private.submit("--shell", text).out.strip()
        p = private.popen(*args, ident)
    else:
        p = private.popen(*args, "--shell", text)
    step(private, 1)
    assert p.stdout.readline() == "line 1\n"
    restart(private, how)
    await_said(p, "connected again")
    step(private, 2)
    assert p.stdout.readline() == "line 2\n"
    restart(private, how)
    await_said(p, "connected again")
    step(private, 3)
    step(private, 4)
    out, err = p.communicate(timeout=LIMIT)
    assert out == "line 3\nline 4\n", (out, err)
    assert p.returncode == (0 if args[0] == "voltctl" else 4)


def test_output_through_read_goes_on_at_its_offset(fake):
    """Where no descriptor comes."""
    calls = []

    def answer(method, parameters):
        if method.endswith(".Open"):
            return [{"parameters": {"size_bytes": 8, "ended": False}}]
        if method.endswith(".Get"):
            return [{"parameters": {"job": {"id": "1", "state": "running"}}}]
        calls.append(parameters["offset"])
        if len(calls) == 1:
            return [{"continues": True, "parameters": {"data": "b25lCg==", "next_offset": 4,
                                                       "end": False}}, None]
        return [{"parameters": {"data": "dHdvCg==", "next_offset": 8, "end": True}}]
    r = fake(answer).ctl("logs", "-f", "1")
    assert r.code == 0 and r.out == "one\ntwo\n" and calls == [0, 4], r


def test_events_resume_at_their_cursor(fake):
    asked = []

    def event(i):
        return {"cursor": i, "at_usec": 1, "id": str(i), "event": "submit", "state": "queued"}

    def answer(method, parameters):
        asked.append(parameters.get("after"))
        if len(asked) == 1:
            return [{"continues": True, "parameters": {"cursor": 6, "jobs": []}},
                    {"continues": True, "parameters": {"cursor": 8, "events": [event(7)]}}, None]
        if len(asked) == 2:
            return [{"continues": True, "parameters": {"cursor": 9, "events": [event(9)]}}, None]
        if len(asked) == 3:  # another voltd
            return [{"error": "org.varlink.service.InvalidParameter",
                     "parameters": {"parameter": "after", "reason": "is another's"}}]
        return [{"continues": True, "parameters": {"cursor": 100, "jobs": []}},
                {"continues": True, "parameters": {"cursor": 101, "events": [event(101)]}}]
    r = fake(answer).ctl("events", "--json", "-n3")
    assert r.code == 0 and asked == [None, 8, 9, None], r
    assert [json.loads(line)["cursor"] for line in r.lines] == [7, 9, 101]
    assert "events in between are not known" in r.err


def watch(daemon, *args):
    """`voltctl events`, standing: nothing that happens from now on is before its beginning."""
    p = daemon.popen("voltctl", "events", "--json", *args)

    def told():
        daemon.submit("--kind=noop", "--label=run=1")
        return select.select([p.stdout], [], [], 0.1)[0]
    until(told)
    return p


def events_until(p, name):
    """All events up to the end of the job of that name."""
    events = []
    while not events or (events[-1]["id"], events[-1]["event"]) != (name, "exited"):
        line = p.stdout.readline()
        assert line, p.stderr.read()
        events.append(json.loads(line))
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=LIMIT)
    return events, err


def harass(daemon, rounds, randoms):
    """Jobs of all kinds, and voltd killed at any moment: with answers and ends on their way,
    or after them."""
    specs = [{"kind": "noop", "labels": {"run": "1"}},
             {"kind": "sleep", "duration_usec": 20000, "labels": {"run": "1"}},
             {"argv": ["true"], "labels": {"run": "1"}},
             {"argv": ["sleep", "0.05"], "labels": {"run": "1"}},
             {"argv": ["true"], "array": {"first": 1, "last": 3}, "labels": {"run": "1"}},
             {"kind": "noop", "array": {"first": 1, "last": 3}, "labels": {"run": "1"}},
             {"argv": ["true"], "labels": {"run": "2"}}]
    for _ in range(rounds):
        with daemon.connect() as v:
            for i in range(20):
                v.send("org.voltd.jobs.Submit", {"spec": specs[i % len(specs)]})
                if i % 10 == 9:
                    v.send("org.voltd.jobs.SubmitBatch", {"specs": specs})
                    v.send("org.voltd.jobs.Cancel", {"filter": {"states": ["queued"]}})
            for _ in range(randoms.randrange(24)):
                v.recv()
            time.sleep(randoms.random() * randoms.choice([0.003, 0.1]))
            restart(daemon, signal.SIGKILL)


def happened(daemon, run):
    """Every event that there has been of the jobs of a run: (id, event)."""
    all_of_them = set()
    with daemon.connect() as v:
        ids = [j["id"] for j in v.ok("org.voltd.jobs.List",
                                     {"filter": {"labels": {"run": run}} if run else {}})["jobs"]]
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": ids})
        assert last["left"] == 0
        for job in v.ok("org.voltd.jobs.List", {"filter": {"ids": ids}})["jobs"]:
            counts = job.get("counts", {"total": 0})
            all_of_them.add((job["id"], "submit"))
            elements = [f"{job['id']}_{i + 1}" for i in range(counts["total"])]
            for ident in elements or [job["id"]]:
                one = v.ok("org.voltd.jobs.Get", {"id": ident})["job"]
                if one["attempt"]:
                    all_of_them |= {(ident, "starting"), (ident, "exited")}
                    if "started_at_usec" in one:  # not cancelled before
                        all_of_them.add((ident, "started"))
                elif not elements:
                    all_of_them.add((ident, "cancel"))
                else:
                    all_of_them.add((job["id"], "cancel"))
            if elements:
                all_of_them.add((job["id"], "exited"))
    return all_of_them


@pytest.mark.parametrize("run, seed", [(None, 1), ("1", 2), ("2", 3)])
def test_events_over_kill(private, run, seed):
    """Each event that there has been, once, in the order of their numbers: of all jobs, and of
    those with a label."""
    private.start(config="[Queue]\nSlots=3\n")
    p = watch(private, *([f"--label=run={run}"] if run == "1" else []))
    if run == "2":  # from another beginning: its cursor, in hand
        cursor = json.loads(p.stdout.readline())["cursor"]
        p.kill()
        p.communicate()
    harass(private, 6, random.Random(SEED * 100 + seed))
    if run == "2":
        p = private.popen("voltctl", "events", "--json", "--after", str(cursor),
                          f"--label=run={run}")
    want = happened(private, run)
    last = private.submit("--kind=noop", f"--label=run={run or 1}").out.strip()
    told, err = events_until(p, last)
    told = [e for e in told if e["id"] != last]
    assert "not known" not in err and "lost here" not in err, err
    cursors = [e["cursor"] for e in told]
    assert cursors == sorted(set(cursors))
    names = []
    for e in told:
        if e["event"] == "deferred":  # it was not started after all, and will be once more
            names.remove((e["id"], "starting"))
        else:
            names.append((e["id"], e["event"]))
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, [e for e in told if (e["id"], e["event"]) in twice]
    first = min(int(i.split("_")[0]) for i, _ in names)
    want = {n for n in want if int(n[0].split("_")[0]) > first}
    names = {n for n in names if int(n[0].split("_")[0]) > first}
    # A running job that Cancel met by chance has a "cancel" more.
    assert want - names == set() and {e for _, e in names - want} <= {"cancel"}, (
        want - names, names - want)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_statistics_go_on_over_a_restart(private, how):
    private.start()
    p = private.popen("voltctl", "stats", "--watch=100ms", "--json")
    pids = [json.loads(p.stdout.readline())["pid"]]
    restart(private, how)
    while (pid := json.loads(p.stdout.readline())["pid"]) == pids[0]:
        pass
    assert pid == private.process.pid
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=LIMIT)
    assert "trying again for 30 s" in err and "connected again" in err, err


def test_a_voltd_that_has_no_place_is_tried_again(fake):
    """The clients of before have connected again, and are as many as may be."""
    waits = []

    def answer(method, parameters):
        if method.endswith(".Submit"):
            return [{"parameters": {"id": "1", "created": True, "durable": True}}]
        waits.append(method)
        return [None] if len(waits) == 1 else [{"parameters": {"left": 0, "failed": 1, "exit_code": 7}}]
    daemon = fake(answer)
    daemon.fake.full = 3
    r = daemon.run("volt-submit", "-w", "--", "true")
    assert r.code == 7 and daemon.fake.full == 0, r
    assert r.err.count("connected again") == 1 and "refused" not in r.err, r


@pytest.mark.parametrize("args, code", [
    (["voltctl", "logs", "-f", "--reconnect=0", "1"], 3),
    (["voltctl", "events", "--reconnect=100ms"], 3),
    (["voltctl", "stats", "--watch", "--reconnect=100ms"], 3),
    (["volt-submit", "--follow", "--reconnect=100ms", "--", "true"], 125)])
def test_the_time_to_reconnect_ends(fake, args, code):
    def answer(method, parameters):
        if method.endswith(".Submit"):
            return [{"parameters": {"id": "1", "created": True, "durable": False}}]
        daemon.fake.close()
        daemon.fake.path.unlink(missing_ok=True)
        return [None]
    daemon = fake(answer)
    r = daemon.run(*args)
    assert r.code == code and "voltd" in r.err, r


def test_it_ends_also_beside_a_voltd_that_is_stopped(fake):
    def answer(method, parameters):
        daemon.fake.still = True
        return [None]
    daemon = fake(answer)
    r = daemon.ctl("events", "--reconnect=100ms")
    assert r.code == 3 and "did not come back" in r.err, r


def test_without_follow_a_lost_connection_is_the_end(fake):
    r = fake(lambda *_: [None]).ctl("logs", "1")
    assert r.code == 1 and "closed the connection" in r.err


def test_a_voltd_that_stands_still_is_spoken_of(private):
    """Whoever asks it waits, and is told for what; nobody else is."""
    private.start()
    ident = private.submit("--kind=noop").out.strip()
    private.stand_still()
    asking = [private.popen("voltctl", "list"), private.popen("volt-submit", "--", "true"),
              private.popen("voltctl", "wait", ident), private.popen("voltctl", "wait", ident)]
    for p in asking:
        assert "has not answered for 5 s" in p.stderr.readline()
    p = asking.pop()
    p.send_signal(signal.SIGTERM)
    assert "interrupted" in p.communicate(timeout=LIMIT)[1] and p.returncode == 130
    private.process.send_signal(signal.SIGCONT)
    for p in asking:
        out, err = p.communicate(timeout=LIMIT)
        assert (p.returncode, err) == (0, ""), err
    assert private.ctl("list").err == ""


def test_a_lock_is_not_waited_for_longer_than_was_said(private):
    """Also where voltd stands still. What could not be asked is not run."""
    private.start()
    private.stand_still()
    locks = [private.popen("volt-lock", how, "a", "touch", private.dir / "ran") for how in ("-n", "-w1")]
    for p in locks:
        _, err = p.communicate(timeout=LIMIT)
        assert p.returncode == 125 and "has not answered in time" in err, err
    private.process.send_signal(signal.SIGCONT)
    assert private.run("volt-lock", "a", "true").code == 0  # nothing of them is left
    assert not (private.dir / "ran").exists()


def test_one_of_several_that_is_not_there(private):
    """Nothing is cancelled then, which is said."""
    private.start()
    ident = private.submit("--kind=sleep", "--duration=1000").out.strip()
    r = private.ctl("cancel", ident, "999")
    assert r.code == 4 and r.err.splitlines() == [
        "voltctl: no such job: 999", "voltctl: none of the 2 has been asked to end"], r
    assert private.ctl("list", "--json", ident).json[0]["state"] != "done"


@pytest.mark.parametrize("args, text, safe", [
    (["--key=a", "true"], None, True),
    (["--key=a", "--if-exists=reject", "true"], None, True),
    (["--key=a", "--if-exists=replace", "true"], None, False),
    (["true"], None, False),
    (["-f", "-"], '{"argv":["true"],"key":"a"}\n{"argv":["true"],"key":"b"}', True),
    (["-f", "-"], '{"argv":["true"],"key":"a"}\n{"argv":["true"]}', False),
    (["--each-line=-", "--key=k{}", "--", "echo", "{}"], "a\nb", True),
])
def test_what_to_do_when_the_answer_was_lost(fake, args, text, safe):
    """Where each job has a key that makes one job of it, the same command can be given again."""
    d = fake(lambda *_: [None])
    r = d.submit(*args, input=text)
    assert r.code == 125 and "may have been accepted" in r.err, r
    assert ("submit again with the same command, which is safe" in r.err) == safe, r
    assert ("see `voltctl list`" in r.err) != safe, r
