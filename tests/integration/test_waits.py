"""Wait: who waits for a job hears of its end, whichever way it ends, and of nothing else."""

import pytest

from protocol import message

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


def wait_begun(daemon, *ids):
    """The same, and nothing is known yet of whether the jobs are there."""
    v = daemon.connect()
    v.send(JOBS + "Wait", {"ids": list(ids)}, more=True)
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


def test_any_of_them(house):
    daemon, v = house
    jobs = [sleeping(v) for _ in range(40)]
    first = daemon.connect()
    first.send(JOBS + "Wait", {"ids": jobs, "any": True}, more=True)
    assert first.recv()["parameters"]["left"] == 40
    for job in (jobs[30], jobs[7]):
        v.ok(JOBS + "Cancel", {"ids": [job]})
        end(wait_begun(daemon, job))
    said = end(first)
    assert ([job["id"] for job in said["jobs"]], said["exit_code"]) == ([jobs[30]], 125)
    for more in False, True:  # of those that have ended
        v.send(JOBS + "Wait", {"ids": jobs, "any": True}, more=more)
        said = v.recv()["parameters"]
        assert ([job["id"] for job in said["jobs"]], said["left"]) == ([jobs[30]], 38), said
    v.send(JOBS + "Wait", {"ids": jobs[:2], "any": True})
    assert "jobs" not in v.recv()["parameters"]


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


def test_news_of_many_elements_are_told_at_once(private):
    """Each element has news; its waiter is woken once for all that were ready together."""
    private.start(config=CONFIG + "[Store]\nSync=off\n", workers=1)
    with private.connect() as v:
        before = polled(private)
        array = str(int(submit(v, kind="noop")) + 1)
        spec = {"kind": "noop", "array": {"first": 1, "last": 200000}}
        v.sock.sendall(message(JOBS + "Submit", {"spec": spec}) +
                       message(JOBS + "Wait", {"ids": [array]}, more=True))
        assert v.recv()["parameters"]["id"] == array
        assert end(v)["exit_code"] == 0
    assert polled(private) - before < 2.7 * 200000  # 2.2 for each; one more when it is woken for each


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
    assert end(one)["cancelled"] == 1
    while True:
        progress = whole.recv()
        assert progress["continues"]
        if progress["parameters"]["left"] == 3:
            break
    v.ok(JOBS + "Cancel", {"ids": [array]})
    assert end(whole)["cancelled"] == 4


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


def forgets(v, ident):
    """False: it has not ended."""
    reply = v.call(JOBS + "Forget", {"filter": {"ids": [ident]}})
    return "error" not in reply and reply["parameters"]["count"] == 1


def gone(daemon, ident):
    """Somebody else has it forgotten."""
    with daemon.connect() as v:
        assert forgets(v, ident)
        assert v.call(JOBS + "Get", {"id": ident})["error"] == JOBS + "NoSuchJob"


def told_left(w, left):
    """The progress of a Wait, once it tells that so many are left."""
    while True:
        reply = w.recv()
        assert reply["continues"], reply
        if reply["parameters"]["left"] == left:
            return reply["parameters"]


@pytest.mark.parametrize("array", [None, {"first": 1, "last": 3}])
def test_a_job_that_is_forgotten_while_it_is_waited_for(house, array):
    """What was known of its end counts, and the answer is of those that are there."""
    daemon, v = house
    left = 3 if array else 1
    go = daemon.dir / "go"
    failing = submit(v, argv=["sh", "-c", f"until [ -e {go} ]; do sleep 0.02; done; exit 7"],
                     **({"array": array} if array else {}))
    job = sleeping(v)
    w = wait(daemon, failing, job)
    go.touch()
    assert told_left(w, 1)["failed"] == left
    gone(daemon, failing)
    with daemon.connect() as late:
        assert late.call(JOBS + "Wait", {"ids": [failing]})["error"] == JOBS + "NoSuchJob"
    v.ok(JOBS + "Cancel", {"ids": [job]})
    got = end(w)
    assert (got["total"], got["left"], got["exit_code"]) == (left + 1, 0, 125)
    assert [j["id"] for j in got["jobs"]] == [job]


def test_a_job_that_is_forgotten_before_the_wait_looks(house):
    """Of a program that could not be executed only the job itself says how it ended: where it has
    gone, nobody knows, and the answer comes all the same."""
    daemon, v = house
    for _ in range(50):
        job = submit(v, argv=["/nonexistent/program"], env={})
        w = wait_begun(daemon, job)
        with daemon.connect() as other:
            while not forgets(other, job):
                pass
        last = w.recv()
        while last.get("continues"):
            last = w.recv()
        if "error" in last:     # it had gone before
            assert last["error"] == JOBS + "NoSuchJob", last
        else:
            last = last["parameters"]
            assert (last["left"], last["failed"]) == (0, 1) and last["exit_code"] in (125, 127), last
            assert [j["id"] for j in last["jobs"]] in ([], [job])
        w.close()
