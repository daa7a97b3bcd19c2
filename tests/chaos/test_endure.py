"""The judge of a long run: what it must see, and a short run in which there is nothing."""

import pytest

from endure import Sample, endure, lasting_house, slope, verdict
from test_chaos import SEED, passed

HOUR = [Sample(120 * i, 30, 6, 12000 + (7 * i) % 40, 0) for i in range(30)]


def grown(percent):
    return [s._replace(kib=s.kib + 12000 * percent / 100 * s.at / 3600) for s in HOUR]


def test_what_must_not_be():
    assert verdict(HOUR) == []
    assert verdict(HOUR[:-1] + [HOUR[-1]._replace(fds=31)]) == \
        ["left: 1 fds more than after the first round"]
    assert verdict(HOUR[:-1] + [HOUR[-1]._replace(keeper_fds=9)]) == \
        ["left: 3 keeper_fds more than after the first round"]
    assert verdict(HOUR[:9] + [HOUR[9]._replace(zombies=2)] + HOUR[10:]) == ["left: 2 zombies"]
    assert verdict(grown(0.5)) == []
    assert "memory grows by 2.9 %/h" in verdict(grown(3))[0]
    assert slope(grown(-5))[0] < -4


@pytest.fixture
def house():
    house = lasting_house()
    yield house
    house.stop_guard()
    house.kill_rest()



@pytest.mark.fault_random
@pytest.mark.needs_root  # a keeper shows its descriptors to root alone
def test_a_short_run(house):
    samples, kills, jobs, found = endure(house, SEED, 0, 2, lambda text: None)
    assert len(samples) == 2 and kills and jobs > 20
    passed(house, found + [f for f in verdict(samples) if "memory" not in f])


@pytest.mark.fault_random
@pytest.mark.needs_root  # a keeper shows its descriptors to root alone
def test_who_forgets_to_close_is_seen(house):
    """A connection more after each round, as if voltd had not closed it."""
    held = []
    samples, _, _, found = endure(house, SEED, 0, 1, lambda text: held.append(house.connect()),
                                  storm=False)
    for v in held:
        v.close()
    assert not found and verdict(samples) == ["left: 1 fds more than after the first round"]
