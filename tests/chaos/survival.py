"""Many running jobs, and the death of everything that started them."""

import os

from checker import check
from house import LEDGER_JOB, until
from ledger import ENTRY, Sent, parse_id

EXACT = ("exit", "success")


def pss_kib(pid):
    """What a process really costs: its share of the pages it has in common with others."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def survive(house, jobs, batch=500):
    """Starts `jobs` jobs that wait at a gate, kills voltd and keeper with -9, opens the gate.
    Returns (figures, findings)."""
    gate = house.dir / "gate"
    os.mkfifo(gate)
    specs = []
    for key in range(1, jobs + 1):
        house.clients.sent(Sent(key))
        specs.append({"argv": [str(LEDGER_JOB), str(house.ledger), str(key), "0", str(gate)],
                      "name": f"k{key}"})
    with house.connect() as v:
        for at in range(0, jobs, batch):
            p = v.ok("org.voltd.jobs.SubmitBatch", {"specs": specs[at:at + batch]})
            for key, text in enumerate(p["ids"], at + 1):
                house.clients.ack(key, parse_id(text)[0], p["durable"], house.life)
    until(lambda: house.ledger.stat().st_size == jobs * ENTRY.size, "every job to run")
    shims = house.pids("volt-shim")
    figures = {"shims": len(shims), "kib": sum(map(pss_kib, shims[:50])) / len(shims[:50])}
    house.kill_voltd()
    house.kill_keeper()
    os.close(os.open(gate, os.O_WRONLY))
    until(lambda: house.ledger.stat().st_size == 2 * jobs * ENTRY.size, "every job to end")
    until(house.up.is_set, "voltd to come back")
    until(house.quiet, "every end to be known")
    house.collect()
    house.history.left += house.leftovers()
    figures["exact"] = sum(v["result"] in EXACT for v in house.history.jobs.values())
    return figures, check(house.history)
