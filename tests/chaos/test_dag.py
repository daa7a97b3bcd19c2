"""A thousand jobs that wait for each other and are tried again, while voltd is killed at each of its steps: each
job ends once, in its order, after as many attempts and with the result that what it waited for gives it."""

import collections
import contextlib
import os
import random
import signal

import pytest

from house import SANITIZER, until
from points import crash_house, hit_by
from test_chaos import SEED, passed

JOBS = 100 if SANITIZER else 1000
TIMES = 2  # further attempts
SUBMITS = ["submit-appended", "submit-committed", "submit-entered"]
STEPS = ["start-appended", "start-committed", "start-answered", "started-seen", "end-seen", "end-appended", "end-committed",
         "end-applied", "record-remove", "record-removed", "store-begun", "store-written", "store-committed", "store-told"]
WHEN = ["ok"] * 5 + ["any"] * 3 + ["start"] * 2 + ["notok"]


def edges(chance, i):
    some = chance.sample(range(max(0, i - 40), i), min(i, chance.randrange(4)))
    return [(j, chance.choice(WHEN)) for j in some]


def spec(house, i, after, fails):
    text = f"echo start {i} $VOLT_ATTEMPT >>ledger; echo end {i} $VOLT_ATTEMPT >>ledger; [ $VOLT_ATTEMPT -gt {fails} ] || exit 3"
    return {"shell": text, "env": {"PATH": os.environ["PATH"]}, "cwd": str(house.dir), "local": str(i), "key": f"dag-{i}",
            "retry": {"times": TIMES, "backoff_usec": 1000}, **({"after": [{"local": str(j), "when": w} for j, w in after]} if after else {})}


def met(result, when):
    return when == "any" or (when == "start" and result[1] > 0) or (when in ("ok", "notok") and (result[0] == "success") == (when == "ok"))


def expected(after, fails):
    """(result, attempts) of each."""
    results = []
    for i, some in enumerate(after):
        if not all(met(results[j], when) for j, when in some):
            results.append(("dependency", 0))
        else:
            results.append(("success" if fails[i] <= TIMES else "exit", min(fails[i], TIMES) + 1))
    return results


def call(house, method, parameters):
    """The answer, from whichever life of voltd gives one."""
    def ask():
        with contextlib.suppress(OSError), house.connect() as v:
            reply = v.call("org.voltd.jobs." + method, parameters)
            return reply["parameters"] if reply and "error" not in reply else None
    return until(ask, "voltd to answer")


def die_at(house, point, n):
    """voltd begins anew, and is killed when it comes there so often."""
    house.env["VOLT_CRASH_AT"] = f"{point}#{len(hit_by(house, point)) + n}"
    house.kill_voltd(signal.SIGKILL)


def order(ledger):
    """Of each job and attempt the lines at which it began and ended; each is there once."""
    at = {}
    for n, line in enumerate(ledger.read_text().splitlines()):
        assert line not in at, line
        at[line] = n
    return at


def check_order(at, jobs, after):
    """By the ledger; of what waited for a start by the times of the latest attempts."""
    attempts = collections.Counter(line.split()[1] for line in at if line.startswith("start"))
    assert [attempts[str(i)] for i in range(JOBS)] == [job["attempt"] for job in jobs]
    for i, some in enumerate(after):
        for j, when in some if jobs[i]["attempt"] else ():
            if when == "start":
                assert jobs[j]["attempt"] > 1 or jobs[j]["started_at_usec"] <= jobs[i]["started_at_usec"], (i, j)
            elif jobs[j]["attempt"]:
                assert at[f"end {j} {jobs[j]['attempt']}"] < at[f"start {i} 1"], (i, j, when)


@pytest.fixture
def house():
    house = crash_house(slots=2).start()
    yield house
    house.stop_guard()
    house.kill_rest()


def test_voltd_dies_at_each_step_of_a_dag(house):
    chance = random.Random(SEED)
    after = [edges(chance, i) for i in range(JOBS)]
    fails = [chance.choice([0, 0, 0, 1, 2, 3]) for _ in range(JOBS)]
    results = expected(after, fails)
    assert {r[0] for r in results} == {"success", "exit", "dependency"}
    specs = [spec(house, i, after[i], fails[i]) for i in range(JOBS)]
    for point in SUBMITS:
        die_at(house, point, 1)
        ids = call(house, "SubmitBatch", {"specs": specs})["ids"]
    live = {"filter": {"states": ["queued", "starting", "running"]}, "limit": 1, "fields": []}
    died = collections.Counter()
    while call(house, "List", live)["jobs"]:
        point, n = chance.choice(STEPS), chance.randrange(1, 10)
        before = len(hit_by(house, point))
        die_at(house, point, n)
        until(lambda: len(hit_by(house, point)) >= before + n or not call(house, "List", live)["jobs"],
              f"somebody to come to {point}")
        died[point] += len(hit_by(house, point)) >= before + n
    jobs = [call(house, "Get", {"id": i})["job"] for i in ids]
    assert [(j["result"], j["attempt"]) for j in jobs] == results
    check_order(order(house.dir / "ledger"), jobs, after)
    print(f"{JOBS} jobs, {sum(died.values())} deaths: {dict(died)}")
    passed(house, house.findings)
