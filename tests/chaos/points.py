"""Every named crash point, one after the other.

For each point that the sources name, the daemon runs under load with VOLT_CRASH_AT set until
the process that comes there is killed, then goes on with the next. Needs a build with crash
points (make CHAOS=1).
"""

import random
import re
import signal
import time

from house import CRASH_BIN, ROOT, House, reap_orphans, until

CALL = re.compile(r'CRASH_POINT\("([^"]+)"\)')
LINE = 16   # bytes of one hit in its file
RARE = 2    # hits of a point below which the next one is waited for


def all_points():
    names = [name for d in ("lib", "daemon") for path in sorted((ROOT / d).rglob("*.c"))
             for name in CALL.findall(path.read_text())]
    assert len(names) == len(set(names)), "a name stands for one place"
    return names


def crash_house(**kw):
    house = House(bin=CRASH_BIN, **kw)
    house.hits = house.dir / "hits"
    house.hits.mkdir()
    house.env["VOLT_CRASH_DIR"] = str(house.hits)
    return house


def hit_by(house, point):
    """The pids that came to the point, in order."""
    try:
        return [int(line) for line in (house.hits / point).read_text().split()]
    except FileNotFoundError:
        return []


def expected(house, point, pid):
    """Tells the judge who was killed."""
    h = house.history
    if point.startswith("shim-"):
        h.shims.add(pid)
    elif point.startswith("child-"):
        h.children.add(pid)
    elif not point.startswith("keeper-"):
        house.intended.add(pid)


def kill_both(house):
    house.kill_voltd(signal.SIGKILL)
    house.kill_keeper()


def crash_at(house, point, moments):
    """Starts voltd and keeper anew, so that someone dies at the point; waits for it."""
    seen = hit_by(house, point)
    n = len(seen) + (1 if len(seen) < RARE else moments.randrange(1, 6))
    house.env["VOLT_CRASH_AT"] = f"{point}#{n}"
    kill_both(house)
    patience, kick = 2, time.monotonic() + 1

    def arrived():
        nonlocal kick, patience
        if len(hit_by(house, point)) >= n:
            return True
        if time.monotonic() > kick:     # a point on the way up: once more, but let them live
            kill_both(house)
            kick = time.monotonic() + patience
            patience *= 2
        return False
    until(arrived, f"somebody to come to {point}", 30)
    expected(house, point, hit_by(house, point)[n - 1])
    reap_orphans({house.process.pid})


def crash_everywhere(house, seed, limit=None):
    """Crashes at each point, or at `limit` of them. Returns the points, in their order."""
    moments = random.Random(seed)
    points = all_points()
    moments.shuffle(points)
    chosen = points[:limit]
    for point in chosen:
        crash_at(house, point, moments)
        time.sleep(moments.uniform(0, 0.05))
    return chosen


def visit_everywhere(house):
    """Nobody is killed any more, and somebody comes to every point that was not reached yet:
    the load has a Stopper."""
    del house.env["VOLT_CRASH_AT"]
    kill_both(house)
    missing = set(all_points())

    def came():
        missing.difference_update([p for p in missing if hit_by(house, p)])
        return not missing
    try:
        until(came)
    except AssertionError:
        raise AssertionError(f"nobody came to {sorted(missing)}") from None
