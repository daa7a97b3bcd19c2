"""Those who wait and follow while voltd is killed under them: nothing is missing, nothing comes
twice, and the exit code is the job's."""

import subprocess
import time

import pytest

from house import BIN, House, until

LINES = 60


@pytest.fixture
def house():
    house = House(slots=4).start()
    yield house
    house.stop_guard()
    house.kill_rest()
    house.remove()


def numbered(house, lines=LINES, code=7):
    """A job that prints numbered lines, slower than voltd is killed."""
    return ["sh", "-c", f"i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo line $i; "
                        f"sleep 0.03; done; exit {code}"]


def harass(house, process, times=3):
    """Kills voltd again and again while the program runs, until it has ended."""
    for _ in range(times):
        time.sleep(0.3)     # somewhere in its middle: any moment will do
        if process.poll() is not None:
            break
        house.kill_voltd()
        until(house.up.is_set, "voltd to come back")
    return process.communicate(timeout=60)


def program(house, name, *args):
    return subprocess.Popen([BIN / name, *args], env=house.env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            cwd=house.dir)


def test_submit_wait(house):
    p = program(house, "volt-submit", "--wait", "--", *numbered(house))
    out, err = harass(house, p)
    assert (p.returncode, out.split()) == (7, ["1"]), err


def test_logs_follow(house):
    job = house.submit("--", *numbered(house)).lines[0]
    p = program(house, "voltctl", "logs", "-f", job)
    out, err = harass(house, p)
    assert out.splitlines() == [f"line {i}" for i in range(1, LINES + 1)], err
    assert p.returncode == 0


def test_wait_of_many(house):
    jobs = [house.submit("--", *numbered(house, 20 + i, i)).lines[0] for i in range(8)]
    p = program(house, "voltctl", "wait", *jobs)
    _, err = harass(house, p)
    assert p.returncode == 7, err
    assert [house.job(j)["code"] if i else 0 for i, j in enumerate(jobs)] == list(range(8))
