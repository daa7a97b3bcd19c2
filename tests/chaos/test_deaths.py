"""Who is killed where: each process of the service in each of its calls, and the keeper while one
that signals for it is in each of its own. What they were about is done by somebody else, and what
nobody asked to end does not end."""

import pytest

from client import Load
from faults import CHILD, KEEPER, KILLER, SHIM
from house import LEDGER_JOB, until
from ledger import Sent, parse_id
from sweeps import finish, run_job
from test_chaos import SEED, passed
from test_faults import MOST, faulty  # noqa: F401 (fixture)
from torture import judge


@pytest.mark.parametrize("role", [KEEPER, SHIM, CHILD], ids=["keeper", "shim", "child"])
def test_in_each_call(faulty, role):  # noqa: F811
    """The checker judges what the jobs have come to."""
    h = faulty.history
    dead = {KEEPER: set(), SHIM: h.shims, CHILD: h.children}
    for n in range(1, MOST):
        until(lambda: not faulty.pids("volt-shim"), "the shims to go")
        faulty.faults.die(role, n)
        view = run_job(faulty, n)
        fired, pid, call = faulty.faults.fired()
        faulty.faults.disarm()
        if not fired:
            break
        dead[role].add(pid)
        assert view["result"] in ("success", "exit") or role != KEEPER, (n, call, view)
    assert 5 < n < MOST - 1
    passed(faulty, finish(faulty))


def long_job(house, key):
    """One that is ended with SIGKILL, and runs: its id."""
    house.clients.sent(Sent(key))
    with house.connect() as v:
        p = v.ok("org.voltd.jobs.Submit", {"spec": {
            "argv": [str(LEDGER_JOB), str(house.ledger), str(key), "60000000"], "name": f"k{key}",
            "stop_signal": "KILL", "priority": 100}})
        house.clients.ack(key, parse_id(p["id"])[0], p["durable"], house.life)
        until(lambda: v.ok("org.voltd.jobs.Get", {"id": p["id"]})["job"]["state"] == "running",
              "the job to run")
    return p["id"]


@pytest.mark.parametrize("parent", [False, True], ids=["itself", "keeper"])
def test_in_each_call_of_what_signals(faulty, parent):  # noqa: F811
    """The tree is killed all the same; among short jobs, some of which begin after one another."""
    load = Load(faulty, SEED, clients=2, backlog=20, timeouts=0, first=1).start()
    fired = 0
    for n in range(1, 60):
        job = long_job(faulty, n)
        faulty.faults.die(KILLER, n, parent=parent)
        faulty.clients.cancel(parse_id(job)[0])
        with faulty.connect() as v:
            v.ok("org.voltd.jobs.Cancel", {"ids": [job]})
            *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
        assert last["jobs"][0]["result"] == "cancelled", last
        fired += faulty.faults.fired()[0]
        faulty.faults.disarm()
    load.end()
    assert fired > 10
    passed(faulty, judge(faulty, load))


def test_again_and_again(faulty):  # noqa: F811
    """Keepers and those that signal for them, while many jobs run out of time."""
    load = Load(faulty, SEED, backlog=60, timeouts=0.3, patience=(300, 4000)).start()
    faulty.faults.die(KEEPER, every=400)
    faulty.faults.die(KILLER, every=40, slot=1)
    until(lambda: faulty.faults.fired(0)[0] > 8 and faulty.faults.fired(1)[0] > 8 and
          load.submitted > 300, "deaths enough")
    faulty.faults.disarm(0)
    faulty.faults.disarm(1)
    load.end()
    passed(faulty, judge(faulty, load))
