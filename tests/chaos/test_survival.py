"""Running jobs do not notice: voltd and keeper are killed under all of them at once, and
every status and every byte is exact."""


from house import House, SANITIZER
from survival import survive
from test_chaos import passed

JOBS = 60 if SANITIZER else 200


def test_running_jobs_survive_voltd_and_keeper():
    house = House(slots=JOBS).start()
    figures, found = survive(house, JOBS)
    assert figures["exact"] == JOBS
    passed(house, found)
