"""No power cut takes away what was acknowledged; a disk that lies is seen to lose it."""

import pytest

from power import (DIRECTORY, ENTRY, MADE, MAGIC, SYNCING, WROTE, cuts, power_cuts, read_log,
                   record, record_killed)
from test_chaos import SEED, passed
from torture import judge


@pytest.mark.fault_random
def test_power_cuts():
    house, load = record(SEED, 0.9)
    found = judge(house, load)
    done, lost, _, _ = power_cuts(house, SEED, 200)
    assert done == 200
    passed(house, found + lost)


@pytest.mark.fault_random
def test_power_cuts_behind_a_commit_that_was_killed():
    """It was written and not synced when voltd was killed; the next voltd commits behind it.
    Cut at each of the entries that follow, several times."""
    house, load, moment = record_killed(SEED)
    found = judge(house, load)
    entries = read_log(house.dir / "log")
    first = next(i for i, entry in enumerate(entries) if entry.end >= moment)
    lost, _ = cuts(entries, house.clients, SEED,
                   [i for i in range(first, first + 40) for _ in range(10)])
    passed(house, found + lost)


def test_an_entry_whose_writer_was_killed(tmp_path):
    """A write that a kill ends early leaves a part of its entry; all others are read."""
    def entry(kind, inode, body=b"", other=0):
        return ENTRY.pack(int.from_bytes(MAGIC, "little"), kind, len(body), inode, 0, other) + body
    log = tmp_path / "log"
    torn = entry(WROTE, 7, b"x" * 1000)
    before, behind = entry(MADE, 7, b"ids"), entry(SYNCING, DIRECTORY, other=3)
    whole = [(MADE, b"ids"), (SYNCING, b"")]
    for n in [*range(0, ENTRY.size + 9), 500, len(torn) - 1]:
        log.write_bytes(before + torn[:n] + behind)
        assert [(e.kind, e.data) for e in read_log(log)] == whole, n
        log.write_bytes(before + behind + torn[:n])
        assert [(e.kind, e.data) for e in read_log(log)] == whole, n
    log.write_bytes(before + torn + behind)
    assert [e.kind for e in read_log(log)] == [MADE, WROTE, SYNCING]
