"""One voltd for a long time: its descriptors, its memory and its dead children.

Rounds of load, while keeper, shims and jobs are killed and all of them are stopped, calls
interrupted and streams moved byte by byte; after each round all comes to rest and is looked
at. The history and the keys that voltd keeps are bounded, so that nothing has a reason to grow once the
first rounds have filled it. What must not be: a descriptor more than after the first
round, a child that nobody reaped, memory that grows. The slope of the memory is taken from
the rounds after a third of the time and four minutes, with its standard error: growth is what is
beyond the bound by more than twice that. malloc is to keep nothing for each thread (tcache): up to
230 KB each, which would fill for an hour.
"""

import collections
import errno
import math
import os
import pathlib
import random
import time

from checker import check
from client import Load
from faults import CHILD, KEEPER, KILLER, SHIM, SLOW, VOLTD, Faults
from house import CRASH_BIN, House, each_job, output_of, reap_orphans, until
from nemesis import Nemesis

GROWTH = 1.0    # percent an hour
WARM_UP = 240   # seconds in which rings and caches fill
KEPT = 4000     # jobs that voltd keeps
KEYS_SECS = 60  # and their keys, of 100 bytes each; well beyond a client's repetitions
ROUND = 2000    # jobs of a round, about: voltd is asked about all of them after it
BACKLOG = 60
CLIENTS = 3

Sample = collections.namedtuple("Sample", "at fds keeper_fds kib zombies")


class Spare(Nemesis):
    """Kills everybody but voltd."""

    def step(self):
        self.random.choice([self.kill_keeper, self.kill_shim, self.kill_job, self.stop_voltd,
                            self.stop_keeper, self.stop_shim, self.reload])()


def lasting_house():
    return House(bin=CRASH_BIN, env={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"},
                 config="[Store]\nKeepEndedJobs=500\n"
                 f"KeepHistoryJobs={KEPT}\nKeepKeysSec={KEYS_SECS}\n")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def zombies(parents):
    n = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        n += fields[0] == "Z" and int(fields[1]) in parents
    return n


def least(looks):
    return [*map(min, zip(*looks))]


def sample(house, start):
    """At rest. The dead are reaped when the keeper gets to it, and idle memory is given back
    after a while: the least of some looks counts, the last of which bring nothing less."""
    looks = []
    while len(looks) < 4 or least(looks) != least(looks[:-3]):
        pids = house.process.pid, house.keeper()
        until(lambda: pids[1] or house.keeper(), "a keeper")
        pids = house.process.pid, house.keeper()
        pages = int(pathlib.Path(f"/proc/{pids[0]}/statm").read_text().split()[1])
        looks.append((descriptors(pids[0]), descriptors(pids[1]),
                      pages * os.sysconf("SC_PAGE_SIZE") // 1024, zombies(set(pids))))
        time.sleep(0.25)
    return Sample(time.monotonic() - start, *least(looks))


def collect_new(house):
    """What voltd says of the jobs that it has not been asked about before."""
    h = house.history
    with house.connect() as v:
        for job, view in each_job(v, but=h.jobs):
            h.jobs[job] = view
            h.outputs[job] = output_of(v, job)


def one_round(house, nemesis, seed, number, secs):
    """Load and attacks, until somebody has been killed at least, then rest. Returns how many jobs
    and what is wrong."""
    load = Load(house, seed + number, clients=CLIENTS, backlog=BACKLOG,
                first=number * CLIENTS).start()
    moments = random.Random(seed + number)
    end = time.monotonic() + secs
    while (time.monotonic() < end and load.submitted < ROUND) or not nemesis.kills:
        time.sleep(min(moments.expovariate(2), 1))
        nemesis.step()
        reap_orphans({house.process.pid})
    load.end()
    try:
        until(house.quiet, "every job to end")
    except AssertionError as e:
        return load.submitted, load.findings + [f"lost: {e}"]
    collect_new(house)
    return load.submitted, load.findings


def slope(samples):
    """Growth of the memory in percent an hour, and its standard error."""
    late = [s for s in samples if s.at >= max(samples[-1].at / 3, WARM_UP)]
    n = len(late)
    if n < 4:
        return 0.0, math.inf
    x, y = [s.at / 3600 for s in late], [s.kib for s in late]
    mx, my = sum(x) / n, sum(y) / n
    sxx = sum((a - mx) ** 2 for a in x)
    b = sum((a - mx) * (c - my) for a, c in zip(x, y)) / sxx
    rest = sum((c - my - b * (a - mx)) ** 2 for a, c in zip(x, y))
    return 100 * b / my, 100 * math.sqrt(rest / (n - 2) / sxx) / my


def verdict(samples):
    """What is wrong with them."""
    found = []
    first, last = samples[0], samples[-1]
    for what in "fds", "keeper_fds":
        more = getattr(last, what) - getattr(first, what)
        if more > 0:
            found.append(f"left: {more} {what} more than after the first round")
    worst = max(s.zombies for s in samples)
    if worst:
        found.append(f"left: {worst} zombies")
    growth, error = slope(samples)
    if growth - 2 * error > GROWTH:
        found.append(f"left: memory grows by {growth:.1f} %/h (standard error {error:.1f})")
    return found


def endure(house, seed, secs, round_secs, say, storm=True):
    """(samples, kills, jobs, findings); at least two samples."""
    if storm:
        faults = Faults(house)
        faults.rate([KEEPER, KILLER, SHIM, CHILD], SLOW, errno.EINTR, 5)
        faults.short([VOLTD], 3)
    house.start()
    pid, start = house.process.pid, time.monotonic()
    nemesis, samples, jobs, found = Spare(house, seed), [], 0, []
    while not found and (len(samples) < 2 or time.monotonic() < start + secs):
        n, wrong = one_round(house, nemesis, seed, len(samples), round_secs)
        jobs, found = jobs + n, found + wrong
        if house.process.pid != pid:
            found.append("invented: voltd was to live all the time")
        samples.append(sample(house, start))
        say(f"{samples[-1]} {jobs} jobs, {nemesis.kills} kills")
    if storm and not (faults.fired(0)[0] and faults.fired(1)[0]):
        found.append("no fault was injected")
    house.history.slots = house.slots
    house.history.ledger = house.ledger.read_bytes()
    return samples, nemesis.kills, jobs, found + house.findings + check(house.history)
