"""Wait: who waits for a job hears of its end, whichever way it ends, and of nothing else."""

import pytest

JOBS = "org.voltd.jobs."
CONFIG = "[Queue]\nSlots=2\n[Limits]\nMaxConnectionsPerUser=1000\n"


def submit(v, **spec):
    return v.ok(JOBS + "Submit", {"spec": spec})["id"]


def sleeping(v, **more):
    return submit(v, kind="sleep", duration_usec=10**10, **more)


def wait(daemon, *ids):
    """A connection on which a Wait is under way."""
    v = daemon.connect()
    v.send(JOBS + "Wait", {"ids": list(ids)}, more=True)
    assert v.recv()["continues"]
    return v


def end(v):
    while True:
        reply = v.recv()
        if not reply.get("continues"):
            v.close()
            return reply["parameters"]


def polled(daemon):
    with daemon.connect_control() as c:
        return c.ok("org.voltd.control.Stats")["totals"]["polled"]


@pytest.fixture
def house(private):
    private.start(config=CONFIG)
    with private.connect() as v:
        yield private, v


def test_others_wake_nobody(house):
    daemon, v = house
    job = sleeping(v)
    waits = [wait(daemon, job) for _ in range(300)]
    before = polled(daemon)
    for _ in range(100):
        submit(v, kind="noop")
    assert polled(daemon) - before < 100 * 100  # with all of them: three times 300 for each
    v.ok(JOBS + "Cancel", {"ids": [job]})
    for w in waits:
        assert end(w)["exit_code"] == 125


def test_each_hears_of_his_own(house):
    daemon, v = house
    go = daemon.dir / "go"
    ids = [submit(v, argv=["sh", "-c", f"until [ -e {go} ]; do sleep 0.02; done; exit {n % 5}"])
           for n in range(60)]
    waits = [(n, wait(daemon, *ids[n:n + 2])) for n in range(0, 60, 2)]
    go.touch()
    for n, w in waits:
        got = end(w)
        assert got["exit_code"] == max(n % 5, (n + 1) % 5)
        assert [job["id"] for job in got["jobs"]] == ids[n:n + 2]


@pytest.mark.parametrize("element", ["1", "40", "50", None])
def test_an_array_that_is_cancelled_before_it_has_begun(house, element):
    """What has not started has no end of its own to be told of."""
    daemon, v = house
    sleeping(v)
    array = submit(v, argv=["sleep", "1000"], array={"first": 1, "last": 50})
    ident = f"{array}_{element}" if element else array
    w = wait(daemon, ident)
    v.ok(JOBS + "Cancel", {"ids": [array]})
    got = end(w)
    assert got["left"] == 0 and got["exit_code"] == 125 and [j["id"] for j in got["jobs"]] == [ident]


def test_one_element_of_a_few(house):
    daemon, v = house
    array = sleeping(v, array={"first": 1, "last": 4})
    one, whole = wait(daemon, f"{array}_2"), wait(daemon, array)
    v.ok(JOBS + "Cancel", {"ids": [f"{array}_2"]})
    assert end(one)["failed"] == 1
    while True:
        progress = whole.recv()
        assert progress["continues"]
        if progress["parameters"]["left"] == 3:
            break
    v.ok(JOBS + "Cancel", {"ids": [array]})
    assert end(whole)["failed"] == 4


def test_more_events_than_are_remembered(house):
    daemon, v = house
    job = sleeping(v)
    w = wait(daemon, job)
    many = submit(v, kind="noop", array={"first": 1, "last": 50000})
    *_, last = v.stream(JOBS + "Wait", {"ids": [many]})
    assert last["left"] == 0
    v.ok(JOBS + "Cancel", {"ids": [job]})
    assert end(w)["exit_code"] == 125


def test_a_program_that_is_not_there(house):
    daemon, v = house
    job = submit(v, argv=["/nonexistent/program"], env={})
    *_, last = v.stream(JOBS + "Wait", {"ids": [job]})
    assert last["exit_code"] == 127
