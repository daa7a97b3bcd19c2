"""Arms the faults of faults.c, which is preloaded into voltd and voltd-keeper, while they run."""

import errno
import mmap
import os
import re
import struct
import subprocess

from house import BUILD, SANITIZER, TEST_BIN

LIBRARY = BUILD / "tests/chaos/faults.so"
VOLTD, KEEPER, SHIM, CHILD, KILLER = range(5)
OFF, NTH, RATE, SHORT, DELAY, STUCK, DIE = range(7)
FILE, IO, SYNC, PROCESS, MEMORY, SLOW, DISK, WATCH, FLUSH, BIRTH, READ, FIND = (
    1 << i for i in range(12))
CALLS = FILE | IO | SYNC | PROCESS      # what the kernel may refuse
RULE = struct.Struct("<IIIIqIII28s")
HEAD = 16
RULES = 4
# errno that such calls fail with in real life
ERRORS = [errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENOSPC, errno.EAGAIN]


def preload(*libraries):
    """The value of LD_PRELOAD: the runtime of a sanitizer has to come first."""
    runtimes = []
    if SANITIZER:
        needs = subprocess.run(["ldd", TEST_BIN / "voltd"], capture_output=True, text=True).stdout
        runtimes = re.findall(r"lib(?:a|t)san\.so\S* => (\S+)", needs)
    return ":".join(map(str, [*runtimes, *libraries]))


class Faults:
    def __init__(self, house):
        path = house.dir / "faults"
        path.write_bytes(bytes(HEAD + RULES * RULE.size))
        fd = os.open(path, os.O_RDWR)
        self.map = mmap.mmap(fd, 0)
        os.close(fd)
        house.env.update(LD_PRELOAD=preload(LIBRARY), VOLT_FAULTS=str(path))

    def at(self, slot):
        return HEAD + slot * RULE.size

    def arm(self, mode, roles, groups, error=0, left=0, every=1, slot=0):
        """The mode goes last: who looks at a rule sees all of it or none."""
        self.disarm(slot)
        bits = sum(1 << r for r in roles)
        RULE.pack_into(self.map, self.at(slot), OFF, bits, groups, error, left, every, 0, 0, b"")
        struct.pack_into("<I", self.map, self.at(slot), mode)

    def nth(self, role, n, error, groups=CALLS):
        self.arm(NTH, [role], groups, error, n)

    def die(self, role, n=0, every=0, parent=False, slot=0):
        """Who makes the n-th call, or one in so many, is killed there, or the parent is."""
        self.arm(DIE, [role], CALLS | SLOW, int(parent), n, every, slot)

    def rate(self, roles, groups, error, every, slot=0):
        self.arm(RATE, roles, groups, error, 0, every, slot)

    def short(self, roles, every, slot=1):
        self.arm(SHORT, roles, IO, 0, 0, every, slot)

    def slow(self, roles, groups, seconds, slot=0):
        self.arm(DELAY, roles, groups, left=int(seconds * 1e9), slot=slot)

    def late_births(self):
        """Each process is born a tick of the clock after it was asked for, and so reads its start
        in /proc: by the clock alone it can tell only now and then, and would make other calls."""
        self.slow([KEEPER, SHIM], BIRTH, 0.011, slot=2)

    def stick(self, roles, groups):
        """Such calls do not return until disarm()."""
        self.arm(STUCK, roles, groups)

    def disarm(self, slot=0):
        struct.pack_into("<I", self.map, self.at(slot), OFF)

    def clock(self, seconds):
        struct.pack_into("<q", self.map, 0, int(seconds * 1e6))

    def fired(self, slot=0):
        """(how often, pid and call of the last time)."""
        *_, fired, pid, name = RULE.unpack_from(self.map, self.at(slot))
        return fired, pid, name.rstrip(b"\0").decode()
