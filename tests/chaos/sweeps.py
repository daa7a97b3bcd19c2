"""The n-th call fails, for n = 1, 2, 3, ... until there is no n-th call any more."""

import errno

from checker import check
from faults import DISK, ERRORS, FILE, FLUSH, IO, MEMORY, PROCESS, VOLTD, Faults
from house import LEDGER_JOB, TEST_BIN, House, until, view_of
from ledger import Sent, parse_id

LARGE = {"PAD": "x" * 20000}    # does not fit into the keeper's message
OF_VOLTD = {"memory": (errno.ENOMEM, MEMORY), "descriptors": (errno.EMFILE, FILE | PROCESS),
            "io": (errno.EIO, IO | FILE)}
OF_A_LIFE = {"full": (errno.ENOSPC, DISK), "write": (errno.EIO, DISK), "sync": (errno.EIO, FLUSH)}


def faulty_house(**kwargs):
    house = House(bin=TEST_BIN, **kwargs)
    house.faults = Faults(house)
    house.history.errors.update(ERRORS)
    return house.start()


def run_job(house, key, argv=None, **spec):
    """One job to its end; what voltd says of it."""
    if argv is None:
        house.clients.sent(Sent(key))
        argv = [str(LEDGER_JOB), str(house.ledger), str(key)]
    spec = {"argv": argv, "name": f"k{key}", "env": LARGE if key % 2 else {}, **spec}
    with house.connect() as v:
        p = v.ok("org.voltd.jobs.Submit", {"spec": spec})
        if argv[0] == str(LEDGER_JOB):
            house.clients.ack(key, parse_id(p["id"])[0], p["durable"], house.life)
        for answer in v.stream("org.voltd.jobs.Wait", {"ids": [p["id"]]}):
            if answer.get("jobs") and not answer["left"]:
                return view_of(answer["jobs"][0])
    return None


def ask_all(house):
    """Once through all that a client may want."""
    run_job(house, len(house.history.sent) + 1, env=LARGE, output_split=True)
    job = str(house.history.acks[-1][1])
    with house.connect() as v:
        for stream in "stdout", "stderr":
            v.ok("org.voltd.logs.Read", {"id": job, "stream": stream})
        v.ok("org.voltd.jobs.Get", {"id": job})
        v.ok("org.voltd.jobs.List", {"limit": 10})
    house.stats()


def asked(house, n, error, groups):
    """(whether the n-th call failed, whether all was answered as it should be); None: neither.
    Then voltd is still about what an earlier failure has left, as its own start."""
    house.faults.nth(VOLTD, n, error, groups)
    try:
        ask_all(house)
        whole = True
    except TimeoutError:
        raise           # a call is refused or its connection ends: it never stays unanswered
    except (OSError, AssertionError, TypeError):
        whole = False   # the connection or the call was the price
    hit = house.faults.fired()[0]
    house.faults.disarm()
    return (hit, whole) if hit or whole else None


def sweep_voltd(house, error, groups, step=1):
    """Returns how many calls have failed: each n-th of voltd, or one in `step`."""
    fired = unhurt = n = 0
    while unhurt < 3 and not house.findings:
        n += step
        hit, _ = until(lambda: asked(house, n, error, groups), "voltd to go on")
        fired += hit
        if hit:
            unhurt = 0
        else:
            unhurt += 1
    return fired


def sweep_lives(house, error, groups, step=1):
    """As above, from the first write of a start to the last of two jobs: a start that fails is
    made again, a submission is kept or refused."""
    fired = 0
    for n in range(1, 1000, step):
        house.faults.nth(VOLTD, n, error, groups)
        house.kill_voltd()
        until(house.up.is_set, "voltd to come back")
        for env in {}, {**LARGE, "N": str(n)}:
            try:
                run_job(house, len(house.history.sent) + 1, env=env)
            except TimeoutError:
                raise
            except (OSError, AssertionError, TypeError):
                pass    # refused; the judge knows what was acknowledged
        hit = house.faults.fired()[0]
        house.faults.disarm()
        fired += hit
        if not hit:
            return fired
    raise AssertionError("the sweep has no end")


def finish(house):
    """Findings when voltd has come back from its store."""
    until(house.quiet, "every job to end")
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back from its store")
    until(house.quiet, "what was kept and not acknowledged to end")
    house.collect()
    return house.findings + check(house.history)
