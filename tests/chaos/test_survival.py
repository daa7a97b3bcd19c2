"""Running jobs do not notice: voltd and keeper are killed under all of them at once, or
upgraded, and every status and every byte is exact."""

import pytest

from house import House, SANITIZER
from survival import kill_both, own_programs, survive, upgrade
from test_chaos import passed

JOBS = 60 if SANITIZER else 200


@pytest.mark.parametrize("attack", [kill_both, upgrade])
def test_running_jobs_survive_voltd_and_keeper(attack):
    house = House(slots=JOBS)
    own_programs(house)
    figures, found = survive(house.start(), JOBS, attack=attack)
    assert figures["exact"] == JOBS
    passed(house, found)
