"""Clients that follow go on over a restart of voltd: nothing twice, nothing missing."""

import json
import select
import signal

import pytest

from conftest import LIMIT, until

# Writes a line per file that appears, so that the test decides when.
LINES = "for i in 1 2 3 4; do while ! [ -e %s/$i ]; do sleep 0.02; done; echo line $i; done; exit 4"


def step(daemon, i):
    (daemon.dir / str(i)).touch()


def restart(daemon, how):
    daemon.stop(how)
    daemon.start()


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
    step(private, 2)
    assert p.stdout.readline() == "line 2\n"
    restart(private, how)
    step(private, 3)
    step(private, 4)
    out, err = p.communicate(timeout=LIMIT)
    assert out == "line 3\nline 4\n" and err.count("connected again") >= 2, (out, err)
    assert p.returncode == (0 if args[0] == "voltctl" else 4)


def test_output_through_read_goes_on_at_its_offset(fake):
    """Where no descriptor comes."""
    calls = []

    def answer(method, parameters):
        if method.endswith(".Open"):
            return [{"parameters": {"size_bytes": 8, "ended": False}}]
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


def test_events_over_a_restart(private):
    private.start()
    p = private.popen("voltctl", "events", "--json")
    seen = set()

    def told():
        """Submits until one of it is told: the watch may not stand yet."""
        seen.add(private.submit("--kind=noop").out.strip())
        return select.select([p.stdout], [], [], 0.1)[0]
    until(told)
    assert json.loads(p.stdout.readline())["id"] in seen
    restart(private, signal.SIGKILL)
    line = ""
    while "connected again" not in line:
        line = p.stderr.readline()
        assert line
    seen.clear()
    until(told)
    while json.loads(p.stdout.readline())["id"] not in seen:
        pass
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=LIMIT)


@pytest.mark.parametrize("args, code", [
    (["voltctl", "logs", "-f", "--reconnect=0", "1"], 3),
    (["voltctl", "events", "--reconnect=100ms"], 3),
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


def test_without_follow_a_lost_connection_is_the_end(fake):
    r = fake(lambda *_: [None]).ctl("logs", "1")
    assert r.code == 1 and "closed the connection" in r.err
