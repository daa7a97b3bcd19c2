"""Many running jobs, and the death of everything that started them, or its replacement."""

import os
import shutil
import signal
import struct

from checker import check
from house import Gate, LEDGER_JOB, until
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


def replace_programs(house, source, *names):
    """Other files take their place."""
    for name in names or ("voltd", "voltd-keeper"):
        new = house.bin / f"{name}.new"
        shutil.copy(source / name, new)
        new.rename(house.bin / name)


def upgrade(house, source=None):
    """Both programs are replaced, and restarted one after the other; the new voltd starts the
    new keeper."""
    replace_programs(house, source or house.bin)
    old = house.keeper()
    house.kill_voltd(signal.SIGTERM)
    assert house.strike(old, signal.SIGTERM)
    until(lambda: house.up.is_set() and house.keeper() not in (None, old), "another keeper")
    assert os.path.samefile(f"/proc/{house.process.pid}/exe", house.bin / "voltd")
    if os.getuid() == 0:  # nobody else sees into a keeper
        assert os.path.samefile(f"/proc/{house.keeper()}/exe", house.bin / "voltd-keeper")


def versions(house):
    """Of the exit records that are there."""
    return [struct.unpack_from("<4sI", p.read_bytes())[1]
            for p in (house.state / "rec").iterdir() if p.name[0].isdigit()]


def survive(house, jobs, batch=500, attack=kill_both):
    """Starts `jobs` jobs that wait at a gate, attacks, by default kills voltd and keeper with
    -9, and opens the gate. Returns (figures, findings)."""
    gate = Gate(house.dir / "gate")
    specs = []
    for key in range(1, jobs + 1):
        house.clients.sent(Sent(key))
        specs.append({"argv": [str(LEDGER_JOB), str(house.ledger), str(key), "0", str(gate.path)],
                      "name": f"k{key}"})
    with house.connect() as v:
        for at in range(0, jobs, batch):
            p = v.ok("org.voltd.jobs.SubmitBatch", {"specs": specs[at:at + batch]})
            for key, text in enumerate(p["ids"], at + 1):
                house.clients.ack(key, parse_id(text)[0], p["durable"], house.life)
    until(lambda: house.ledger.stat().st_size == jobs * ENTRY.size, "every job to run")
    shims = house.shims()
    figures = {"shims": len(shims)}
    if os.getuid() == 0:  # nobody else sees into a shim
        figures["kib"] = sum(map(pss_kib, shims[:50])) / len(shims[:50])
    attack(house)
    gate.let_through(jobs)
    until(lambda: house.ledger.stat().st_size == 2 * jobs * ENTRY.size, "every job to end")
    until(house.up.is_set, "voltd to come back")
    until(house.quiet, "every end to be known")
    house.collect()
    house.history.left += house.leftovers()
    figures["exact"] = sum(v["result"] in EXACT for v in house.history.jobs.values())
    return figures, check(house.history)
