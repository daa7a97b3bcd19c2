"""Many running jobs, and the death of everything that started them, or its replacement."""

import os
import shutil
import signal

from checker import check
from house import LEDGER_JOB, until
from ledger import ENTRY, Sent, parse_id

EXACT = ("exit", "success")


def pss_kib(pid):
    """What a process really costs: its share of the pages it has in common with others."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def kill_both(house):
    house.kill_voltd()
    house.kill_keeper()


def own_programs(house):
    """The house's programs are copies that can be replaced."""
    house.bin = shutil.copytree(house.bin, house.dir / "bin")


def upgrade(house):
    """Other files take the place of both programs, which are restarted one after the other;
    the new voltd starts the new keeper."""
    for name in "voltd", "voltd-keeper":
        new = house.bin / f"{name}.new"
        shutil.copy(house.bin / name, new)
        new.rename(house.bin / name)
    old = house.keeper()
    house.kill_voltd(signal.SIGTERM)
    assert house.strike(old, signal.SIGTERM)
    until(lambda: house.up.is_set() and house.keeper() not in (None, old), "another keeper")
    for pid, name in (house.process.pid, "voltd"), (house.keeper(), "voltd-keeper"):
        assert os.path.samefile(f"/proc/{pid}/exe", house.bin / name)


def survive(house, jobs, batch=500, attack=kill_both):
    """Starts `jobs` jobs that wait at a gate, attacks, by default kills voltd and keeper with
    -9, and opens the gate. Returns (figures, findings)."""
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
    shims = house.shims()
    figures = {"shims": len(shims), "kib": sum(map(pss_kib, shims[:50])) / len(shims[:50])}
    attack(house)
    os.close(os.open(gate, os.O_WRONLY))
    until(lambda: house.ledger.stat().st_size == 2 * jobs * ENTRY.size, "every job to end")
    until(house.up.is_set, "voltd to come back")
    until(house.quiet, "every end to be known")
    house.collect()
    house.history.left += house.leftovers()
    figures["exact"] = sum(v["result"] in EXACT for v in house.history.jobs.values())
    return figures, check(house.history)
