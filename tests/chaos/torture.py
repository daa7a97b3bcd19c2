"""Load and attacks, then peace and judgement."""

import random
import time

from checker import check
from client import Load
from house import reap_orphans, until
from nemesis import Nemesis


def torture(house, seed, secs, say=lambda text: None, pace=1.0, clients=3):
    """Load and attacks for `secs`, and until somebody has been killed; then peace, and the
    judgement: (kills, jobs, findings)."""
    moments = random.Random(seed)
    load = Load(house, seed, clients=clients).start()
    nemesis = Nemesis(house, seed)
    end = time.monotonic() + secs
    told = time.monotonic()
    while (time.monotonic() < end or not nemesis.kills) and not house.findings:
        time.sleep(min(moments.expovariate(1 / pace), 4 * pace))
        nemesis.step()
        reap_orphans({house.process.pid})
        if time.monotonic() - told > 10:
            told = time.monotonic()
            say(f"{end - told:4.0f} s left, {nemesis.kills} kills, {load.submitted} jobs, "
                f"life {house.life}")
    load.end()
    return nemesis, load, judge(house, load)


def judge(house, load):
    h = house.history
    if not house.findings:
        try:
            until(house.up.is_set, "voltd to come back")
            until(house.quiet, "every job to end")
        except AssertionError as e:
            house.findings.append(f"late: {e}")
    if house.up.is_set():
        house.collect()
        h.left += house.leftovers()
    h.slots = house.slots if load.durable else 0
    found = house.findings + load.findings + check(h)
    late = any(finding.startswith("late:") for finding in found)
    return [finding for finding in found if not (late and finding.endswith("for ever"))]
