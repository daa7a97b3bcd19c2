"""Power cuts, replayed: what a disk may have kept at any moment of a recorded run.

recorder.c writes down every write, sync, rename and exec while clients submit. Here the log
is cut anywhere, and a state directory is made of what had been synced by then and of any part
of what had not: nothing, all, or sectors at random, also of the middle of a write; names
likewise, in their order. voltd's own loader reads it, and

    lost      an acknowledged submission, or an end that was told, is not in it; or the
              loader takes it for damaged
    twice     a job that had begun to run would be started again
    refused   it is taken for one that is not the one it was: below its witness

To show that the witness is not blind, the stores of earlier cuts are also put beside the
witness of later ones: where this has seen more, the store must be refused.

Whether the replay can see a loss is tried with the same log and a disk that lies: its syncs
mean nothing, and only what is older than LAG entries is there for sure. That must lose jobs
that were acknowledged, otherwise the zeros of the honest disk do not count.
"""

import argparse
import collections
import errno
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from client import Load
from faults import FLUSH, VOLTD, Faults
from house import BUILD, TEST_BIN, House, until
from ledger import ClientLedger, name_of

RECORDER = BUILD / "tests/chaos/recorder.so"
DUMP = BUILD / "tests/chaos/store-dump"
ENTRY = struct.Struct("<QIIQqQ")
MAGIC = (0x9d3fa1c7be52e648).to_bytes(8, "little")
MADE, WROTE, CUT, RENAMED, REMOVED, SYNCING, SYNCED, EXEC, FOUND, UNSYNCED = range(1, 11)
DIRECTORY = (1 << 64) - 1
SECTOR = 512
LAG = 100
OLDER = 10     # cuts from one store that is put back to the next
SUBMIT, STARTING, _, _, CANCEL, EXITED = range(6)    # enum job_event_type

Entry = collections.namedtuple("Entry", "kind file at other data end")


class Clients(ClientLedger):
    """Notes how long the log was when a client heard something: a cut behind that must not
    undo it."""

    def __init__(self, path, log):
        super().__init__(path)
        self.log = log
        self.acked, self.ends = [], []

    def ack(self, key, number, durable, life):
        self.acked.append((self.log.stat().st_size, number))
        super().ack(key, number, durable, life)

    def told(self, job, result, code):
        self.ends.append((self.log.stat().st_size, job, result, code))
        super().told(job, result, code)


def begin(seed):
    """A house that is recorded, and clients: (house, load)."""
    house = House(bin=TEST_BIN)
    house.faults = Faults(house)
    log = house.dir / "log"
    log.touch()
    house.env.update(VOLT_RECORD=str(log), VOLT_RECORD_ROOT=str(house.state))
    house.env["LD_PRELOAD"] += f":{RECORDER}"
    house.clients = Clients(house.dir / "clients", log)
    house.history = house.clients.history
    house.start()
    return house, Load(house, seed, backlog=60, errors=True).start()


def record(seed, secs, restarts=2):
    """A run with a failing disk and restarts in it, after a kill and after a stop in turn:
    (house, load). The house has ended its jobs and is up."""
    house, load = begin(seed)
    load.stop.wait(secs / 3)
    life = house.life
    house.faults.rate([VOLTD], FLUSH, errno.EIO, 1)  # not what a job's record needs too
    until(lambda: house.life != life, "a sync to fail, and voltd to end of it")
    house.faults.disarm()
    until(house.up.is_set, "voltd to come back")
    load.stop.wait(secs / 3)
    for i in range(restarts):
        house.kill_voltd(signal.SIGTERM if i % 2 else signal.SIGKILL)
        until(house.up.is_set, "voltd to come back")
        load.stop.wait(secs / 3 / restarts)
    until(lambda: len(house.clients.acked) > 50, "submissions to be acknowledged")
    load.end()
    until(house.quiet, "every job to end")
    return house, load


def record_killed(seed):
    """A run whose voltd is killed between the write and the sync of a commit, and comes back:
    (house, load, how long the log was at the kill)."""
    house, load = begin(seed)
    log = house.dir / "log"
    until(lambda: len(house.clients.acked) > 20, "submissions to be acknowledged")
    killed = house.process
    house.intended.add(killed.pid)
    log.with_name("log.kill").touch()
    until(lambda: killed.poll() is not None, "voltd to be killed")
    moment = log.stat().st_size
    until(lambda: house.process is not killed and house.up.is_set(), "voltd to come back")
    n = len(house.clients.acked)
    until(lambda: len(house.clients.acked) > n, "a submission to be acknowledged")
    load.end()
    until(house.quiet, "every job to end")
    return house, load, moment


def whole_entries(data):
    """(kind, inode, offset, other, body, end) of each. One whose writer was killed in the middle
    of it ends early: what it says was not done yet, or the next process says it again."""
    at = data.find(MAGIC)
    while at >= 0:
        following = data.find(MAGIC, at + 1)
        room = (following if following >= 0 else len(data)) - at - ENTRY.size
        if room >= 0:
            _, kind, size, inode, offset, other = ENTRY.unpack_from(data, at)
            if size <= room:
                end = at + ENTRY.size + size
                yield kind, inode, offset, other, data[at + ENTRY.size:end], end
        at = following


def read_log(path):
    """The entries; a new file has a number of its own, though its inode be an old one's."""
    entries = []
    file_of, inode_of = {DIRECTORY: DIRECTORY}, {}
    for kind, inode, offset, other, body, at in whole_entries(path.read_bytes()):
        if kind == FOUND and inode_of.get(body) != inode:
            # made or renamed by one that was killed before it could say so
            old = next((n for n, i in inode_of.items() if i == inode), None)
            kind, body = (RENAMED, old + b"\0" + body) if old else (MADE, body)
        if kind == MADE:
            file_of[inode] = len(entries)
            inode_of[body] = inode
        elif kind == RENAMED:
            old, new = body.split(b"\0")
            inode_of[new] = inode_of.pop(old)
        elif kind == REMOVED:
            file_of.pop(inode_of.pop(body, None), None)
        elif kind != EXEC and inode not in file_of:
            kind = FOUND    # a file that is none of ours has the inode of one that was
        entries.append(Entry(kind, file_of.get(inode), offset, other, body, at))
    return entries


def put(image, offset, data):
    if len(image) < offset + len(data):
        image.extend(bytes(offset + len(data) - len(image)))
    image[offset:offset + len(data)] = data


def change(image, entry):
    if entry.kind == CUT:
        del image[entry.at:]
        image.extend(bytes(entry.at - len(image)))
    else:
        put(image, entry.at, entry.data)


def rename(names, entry):
    if entry.kind == MADE:
        names[entry.data.decode()] = entry.file
    elif entry.kind == REMOVED:
        names.pop(entry.data.decode(), None)
    else:
        old, new = entry.data.decode().split("\0")
        if old in names:
            names[new] = names.pop(old)


class Disk:
    """What is on it for sure, and what may be."""

    def __init__(self, r, lies=False):
        self.r, self.lies = r, lies
        self.images = collections.defaultdict(bytearray)
        self.pending = collections.defaultdict(list)    # file -> [(number, entry)]
        self.names, self.names_pending = {}, []
        self.begun = {}

    def take(self, number, entry):
        if entry.kind in (WROTE, CUT):
            self.pending[entry.file].append((number, entry))
        elif entry.kind in (MADE, RENAMED, REMOVED):
            self.names_pending.append((number, entry))
        elif entry.kind == SYNCING:
            self.begun[entry.other] = number
        elif entry.kind == SYNCED and not self.lies:
            self.settle(self.begun[entry.other], entry.file)
        elif entry.kind == UNSYNCED and not self.lies and entry.file != DIRECTORY:
            self.leave(self.begun[entry.other], entry.file)
        if self.lies:
            for file in [*self.pending, DIRECTORY]:
                self.settle(number - LAG, file)

    def settle(self, before, file):
        """What was written before that entry is there for sure."""
        if file == DIRECTORY:
            while self.names_pending and self.names_pending[0][0] < before:
                rename(self.names, self.names_pending.pop(0)[1])
            return
        rest = self.pending[file]
        while rest and rest[0][0] < before:
            change(self.images[file], rest.pop(0)[1])

    def leave(self, before, file):
        """A sync has failed: the kernel calls what was written before that entry clean, wherever
        it is. Some sectors of it have come to the disk, the others will not by a later sync."""
        rest = self.pending[file]
        while rest and rest[0][0] < before:
            self.change_some(self.images[file], rest.pop(0)[1], self.r)

    @staticmethod
    def change_some(image, entry, r):
        if entry.kind == CUT:
            return change(image, entry)
        for at in range(0, len(entry.data), SECTOR):
            if r.random() < 0.5:
                put(image, entry.at + at, entry.data[at:at + SECTOR])

    def image(self, file, r):
        """The file as it may be after the cut."""
        image = bytearray(self.images[file])
        luck = r.choice([0, 0, 1, None])    # none of the rest, all of it, some of it
        for _, entry in self.pending[file]:
            if luck is None and entry.kind == WROTE:
                self.change_some(image, entry, r)
            elif luck == 1 or (luck is None and r.random() < 0.5):
                change(image, entry)
        return image

    def write(self, directory, r):
        """The state directory as it may be after the cut."""
        names = dict(self.names)
        for _, entry in self.names_pending[:r.choice([0, len(self.names_pending),
                                                      r.randrange(len(self.names_pending) + 1)])]:
            rename(names, entry)
        for name, file in names.items():
            (directory / name).write_bytes(self.image(file, r))


class Loader:
    """voltd's loader, asked again and again."""

    def __init__(self):
        self.process = subprocess.Popen([DUMP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def load(self, directory):
        """(facts: job -> [(event, result, code, attempt)], why not or None, their number)."""
        self.process.stdin.write(f"{directory}\n")
        self.process.stdin.flush()
        facts = collections.defaultdict(list)
        for line in self.process.stdout:
            if line.startswith("ok "):
                return facts, None, int(line.split()[1])
            if line.startswith(("error ", "refused ")):
                return facts, line.strip(), 0
            number, index, *rest = map(int, line.split())
            facts[number, index].append(rest)
        raise AssertionError("the loader has died")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def judge_cut(facts, acked, ends, begun):
    """What is wrong with a store of that moment."""
    found = []
    for number in acked:
        if not any(f[0] == SUBMIT for f in facts.get((number, -1), ())):
            found.append(f"lost: job {number} was acknowledged")
    for job, result, code in ends:
        events = facts.get(job, [])
        if result in ("success", "exit"):
            kept = any(f[0] == EXITED and f[2] == code for f in events)
        else:
            kept = any(f[0] in (EXITED, CANCEL) for f in events + facts.get((job[0], -1), []))
        if not kept:
            found.append(f"lost: job {name_of(job)} was said to be {result} {code}")
    for job, runs in begun.items():
        if sum(f[0] == STARTING for f in facts.get(job, ())) < runs:
            found.append(f"twice: job {name_of(job)} has run {runs} times and would again")
    return found


class Older:
    """Stores of earlier cuts, to be put in the place of the one of this cut: the first, which
    each later witness must refuse, and that of a few cuts before."""

    def __init__(self, base):
        self.first, self.recent = base / "first", base / "recent"
        self.facts = {}    # of each
        self.refused = self.cuts = 0

    def put_back(self, loader, directory):
        """What is wrong when they lie beside the witness of that directory."""
        witness = directory / "witness"
        if not witness.exists():
            return
        seen = int(witness.read_text().split()[3])
        for store, facts in self.facts.items():
            shutil.copy(witness, store)
            _, refused, _ = loader.load(store)
            if facts >= seen:
                continue
            self.refused += 1
            if not (refused and refused.startswith("refused ")):
                yield f"twice: a store of {facts} facts was taken, though {seen} were seen"

    def save(self, directory, facts):
        """One of some cuts, which has so many facts."""
        self.cuts += 1
        if facts and self.first not in self.facts:
            self.keep(self.first, directory, facts)
        elif self.cuts % OLDER == 1:
            self.keep(self.recent, directory, facts)

    def keep(self, store, directory, facts):
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(directory, store)
        self.facts[store] = facts


def at_random(entries, seed, count):
    return random.Random(seed).sample(range(len(entries)), min(count, len(entries)))


def cuts(entries, clients, seed, chosen, lies=False):
    """Cuts the log at the chosen entries. Returns (findings, older stores refused)."""
    r = random.Random(seed)
    times = collections.Counter(chosen)
    disk, loader, found = Disk(random.Random(seed), lies), Loader(), []
    begun = collections.Counter()
    acked, ends = sorted(set(clients.acked)), sorted(clients.ends)
    base = pathlib.Path(tempfile.mkdtemp(prefix="volt-power-", dir="/dev/shm"))
    older = Older(base)
    try:
        for number, entry in enumerate(entries):
            disk.take(number, entry)
            if entry.kind == EXEC:
                begun[entry.other, entry.at] += 1
            for _ in range(times[number]):
                directory = base / str(number)
                directory.mkdir()
                disk.write(directory, r)
                if lies:
                    (directory / "witness").unlink(missing_ok=True)     # it sees each loss
                else:
                    found += older.put_back(loader, directory)
                facts, refused, known = loader.load(directory)
                if not lies:
                    older.save(directory, known)
                wrong = [refused.replace("error ", "lost: ")] if refused else judge_cut(
                    facts, {n for at, n in acked if at <= entry.end},
                    [e[1:] for e in ends if e[0] <= entry.end], begun)
                found += [f"{w} (cut behind entry {number} of {len(entries)})" for w in wrong]
                shutil.rmtree(directory)
    finally:
        loader.end()
        shutil.rmtree(base)
    return found, older.refused


def power_cuts(house, seed, count):
    """The honest disk and the one that lies: (cuts, findings, losses of the liar, older stores
    refused)."""
    entries = read_log(house.dir / "log")
    chosen = at_random(entries, seed, count)
    found, refused = cuts(entries, house.clients, seed, chosen)
    lied, _ = cuts(entries, house.clients, seed, chosen[:40], lies=True)
    losses = sum(f.startswith("lost: job") and "acknowledged" in f for f in lied)
    if not losses:
        found.append("lost: the replay does not see the losses of a disk that lies")
    if not refused:
        found.append("lost: no store was older than the witness beside it")
    return len(chosen), found, losses, refused


def main():
    p = argparse.ArgumentParser(description="Random power cuts; the last line is the result.")
    p.add_argument("--cuts", type=int, default=1000)
    p.add_argument("--secs", type=float, default=8)
    p.add_argument("--seed", type=int, default=None)
    a = p.parse_args()
    seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 31)
    house, load = record(seed, a.secs, restarts=6)
    found = load.findings + house.findings
    done, lost, losses, older = power_cuts(house, seed, a.cuts)
    found += lost + house.end()
    for line in found[:40]:
        print(line)
    if found:
        print(f"kept: {house.keep(found)}")
    else:
        house.remove()
    refused = sum(f.startswith("refused ") for f in lost)
    print(f"seed={seed} power cuts={done} refused={refused} findings={len(found)} "
          f"older stores refused={older} losses of a disk that lies={losses}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
