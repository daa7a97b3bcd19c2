"""The short chaos: what `make check` can afford of it. The long one is `make chaos`."""

import os

import pytest

from client import Load
from house import House, SANITIZER, Unsafe, output_of, until
from points import crash_everywhere, crash_house, hit_by, visit_everywhere
from torture import judge, torture

SEED = int(os.environ.get("SEED", "1"))
# What the judge must never find (checker.py), and a death of voltd that nobody asked for.
NEVER = ("lost", "twice", "invented", "output", "order", "torn", "voltd ended by itself with",
         "no fault was injected")


def passed(house, found):
    """Removes the traces of a house without findings, keeps the others."""
    found += house.end()
    if found:
        kept = house.keep(found)
        text = "\n".join([*found[:20], f"kept: {kept}", f"SEED={SEED}"])
        if any(finding.startswith(NEVER) for finding in found):
            raise Unsafe(text)
        pytest.fail(text)
    house.remove()


@pytest.mark.fault_random
def test_nothing_is_lost_run_twice_or_invented():
    house = House().start()
    nemesis, load, found = torture(house, SEED, 4, pace=0.25)
    assert nemesis.kills > 0 and load.submitted > 0 and load.keys   # one job per key was judged, too
    passed(house, found)


@pytest.mark.fault_random
@pytest.mark.skipif(bool(SANITIZER), reason="crash points are of the plain build")
def test_crash_points():
    """Somebody comes to each of them, and some of those are killed there."""
    house = crash_house().start()
    load = Load(house, SEED, timeouts=0.2, stopper=True).start()
    try:
        points = crash_everywhere(house, SEED, 8)
        visit_everywhere(house)
    finally:
        load.end()
    found = judge(house, load)
    assert len(points) == 8
    passed(house, found)


@pytest.mark.skipif(bool(SANITIZER), reason="crash points are of the plain build")
def test_the_empty_output_of_an_orphan():
    """Killed between giving up the file of a job that printed nothing and its record."""
    house = crash_house(forgets=True, env={"VOLT_CRASH_AT": "output-given-up#1"}).start()
    with house.connect() as v:
        v.ok("org.voltd.jobs.Submit", {"spec": {"argv": ["/bin/true"]}})
    until(lambda: hit_by(house, "output-given-up"), "the file to be given up")
    until(lambda: not house.up.is_set() or house.life, "voltd to end")
    until(house.up.is_set, "voltd to come back")
    with house.connect() as v:
        job = v.ok("org.voltd.jobs.Get", {"id": "1"})["job"]
        assert job["orphan"] and job["result"] == "success"
        assert output_of(v, (1, -1)) == b""
    passed(house, [])
