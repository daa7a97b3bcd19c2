"""Running jobs do not notice: voltd and keeper are killed under all of them at once, or
upgraded, and every status and every byte is exact."""

import shutil
import signal

import pytest

from house import BIN, BUILD, House, SANITIZER, until
from survival import kill_both, own_programs, replace_programs, survive, upgrade, versions
from test_chaos import passed

JOBS = 60 if SANITIZER else 200


@pytest.mark.parametrize("attack", [kill_both, upgrade])
def test_running_jobs_survive_voltd_and_keeper(attack):
    house = House(slots=JOBS)
    own_programs(house)
    figures, found = survive(house.start(), JOBS, attack=attack)
    assert figures["exact"] == JOBS
    passed(house, found)


def upgrade_both(house):
    upgrade(house, BIN)


def upgrade_voltd(house):
    """The keeper that has handed the records on goes on."""
    replace_programs(house, BIN, "voltd")
    house.kill_voltd(signal.SIGTERM)
    until(house.up.is_set, "voltd to come back")


@pytest.mark.parametrize("attack", [upgrade_both, upgrade_voltd])
def test_jobs_of_an_older_voltd_survive_the_upgrade(attack):
    """Their records are of version 1, and are locked in another way."""
    def under_way(house):
        assert versions(house) == [1] * JOBS
        attack(house)

    house = House(slots=JOBS)
    own_programs(house)
    shutil.copy(BUILD / "tests/chaos/old/voltd", house.bin / "voltd")
    figures, found = survive(house.start(), JOBS, attack=under_way)
    assert figures["exact"] == JOBS
    passed(house, found)
