"""No power cut takes away what was acknowledged; a disk that lies is seen to lose it."""

import pytest

from power import power_cuts, record
from test_chaos import SEED, passed
from torture import judge


def test_power_cuts():
    house, load = record(SEED, 0.9)
    found = judge(house, load)
    done, lost, losses = power_cuts(house, SEED, 200)
    assert done == 200
    passed(house, found + lost)
