"""A disk that is full, fails, and comes back; and calls and allocations of voltd that fail.

What was acknowledged before, meanwhile and afterwards is there; what is refused is refused
in words; voltd stays up."""

import errno

import pytest

from client import Load
from faults import DISK, FILE, IO, MEMORY, PROCESS, SYNC, VOLTD
from house import until
from test_chaos import SEED, passed
from test_faults import LARGE, faulty, finish, pytestmark, run_job  # noqa: F401 (fixture, mark)
from torture import judge


@pytest.mark.parametrize("error, groups, every", [
    (errno.ENOSPC, DISK, 2), (errno.EIO, SYNC, 3), (errno.EIO, SYNC | DISK, 20)],
    ids=["full", "fsync", "failing"])
def test_bad_disk(faulty, error, groups, every):  # noqa: F811
    load = Load(faulty, SEED, backlog=60, errors=True).start()
    load.stop.wait(0.3)
    for _ in range(3):
        faulty.faults.rate([VOLTD], groups, error, every)
        load.stop.wait(0.3)
        assert faulty.faults.fired()[0] > 0
        faulty.faults.disarm()
        before = len(faulty.history.acks)
        until(lambda: len(faulty.history.acks) > before + 10, "submissions to be taken again", 20)
    load.end()
    faulty.kill_voltd()
    passed(faulty, judge(faulty, load))


@pytest.mark.parametrize("error, groups", [
    (errno.ENOMEM, MEMORY), (errno.EMFILE, FILE | PROCESS), (errno.EIO, IO | FILE)],
    ids=["memory", "descriptors", "io"])
def test_nth_call_of_voltd(faulty, error, groups):  # noqa: F811
    fired = 0
    for n in range(1, 120):
        faulty.faults.nth(VOLTD, n, error, groups)
        try:
            run_job(faulty, n, env=LARGE, output_split=True)
        except (OSError, AssertionError, TypeError):
            pass    # the connection or the call was the price
        fired += faulty.faults.fired()[0]
        faulty.faults.disarm()
        assert not faulty.findings
    assert fired > 10
    faulty.kill_voltd()     # what the store has must be sound, too
    until(faulty.up.is_set, "voltd to come back from its store", 20)
    passed(faulty, finish(faulty))
