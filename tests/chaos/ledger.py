"""What really happened: the ledgers of the jobs and of the clients, as one history.

The jobs' ledger is a file of 64-byte entries, written by ledger_job.c. The clients' ledger
holds what they sent, what was acknowledged, what they asked for and what they were told.
A history is both, with what the daemon says in the end and what the nemesis did: all that
checker.py needs, in plain data that can be kept, read again and altered.
"""

import dataclasses
import json
import struct
import zlib

ENTRY = struct.Struct("<4sIQQqIiIIQII")
MAGIC, START, END = b"LEDG", 1, 2
CODES = 41


def code_of(job):
    """f(id): the exit code of a job, and the number of lines it prints."""
    number, index = job
    h = (number * 2654435761 + (index + 1) * 40503) & 0xFFFFFFFF
    return (h >> 8) % CODES


def name_of(job):
    number, index = job
    return str(number) if index < 0 else f"{number}_{index}"


def parse_id(text):
    number, _, index = text.partition("_")
    return int(number), int(index) if index else -1


def output_of(job, attempt):
    """All that a job prints."""
    return b"".join(b"%s %d %d\n" % (name_of(job).encode(), attempt, n)
                    for n in range(1, code_of(job) + 1))


@dataclasses.dataclass
class Mark:
    """An entry of the jobs' ledger."""
    type: int
    key: int
    job: tuple
    attempt: int
    code: int
    pid: int
    parent: int
    mono_ns: int

    def pack(self):
        body = ENTRY.pack(MAGIC, self.type, self.key, *self.job, self.attempt, self.code,
                          self.pid, self.parent, self.mono_ns, 0, 0)[:-4]
        return body + struct.pack("<I", zlib.crc32(body))


def read_marks(data):
    """(marks, what is wrong with the bytes)."""
    marks, wrong = [], []
    if len(data) % ENTRY.size:
        wrong.append(f"torn: the ledger ends with {len(data) % ENTRY.size} stray bytes")
    for at in range(0, len(data) - ENTRY.size + 1, ENTRY.size):
        piece = data[at:at + ENTRY.size]
        magic, kind, key, number, index, attempt, code, pid, parent, ns, zero, crc = \
            ENTRY.unpack(piece)
        if magic != MAGIC or zero or zlib.crc32(piece[:-4]) != crc or kind not in (START, END):
            wrong.append(f"torn: entry {at // ENTRY.size} of the ledger is damaged")
            continue
        marks.append(Mark(kind, key, (number, index), attempt, code, pid, parent, ns))
    return marks, wrong


@dataclasses.dataclass
class Sent:
    """One submission: `count` elements from index 0 on, or -1 for a job that is no array."""
    key: int
    count: int = -1
    timeout: bool = False   # may end by its timeout
    attempts: int = 1       # how many the spec allows


@dataclasses.dataclass
class History:
    sent: list = dataclasses.field(default_factory=list)        # Sent
    acks: list = dataclasses.field(default_factory=list)        # [key, id, durable, life]
    cancels: set = dataclasses.field(default_factory=set)       # job ids (numbers) asked to end
    told: list = dataclasses.field(default_factory=list)        # [job, result, code] seen by clients
    ledger: bytes = b""
    lives: list = dataclasses.field(default_factory=list)       # what ended each life of voltd
    shims: set = dataclasses.field(default_factory=set)         # pids of killed shims
    mains: set = dataclasses.field(default_factory=set)         # pids of killed jobs
    children: set = dataclasses.field(default_factory=set)      # pids killed before their exec
    errors: set = dataclasses.field(default_factory=set)        # errno that were injected
    jobs: dict = dataclasses.field(default_factory=dict)        # job -> what voltd says of it
    outputs: dict = dataclasses.field(default_factory=dict)     # job -> bytes
    unique_keys: bool = False   # the daemon knows keys: one job per key
    slots: int = 0              # 0: not checked
    left: list = dataclasses.field(default_factory=list)        # what outlived the end


class ClientLedger:
    """Appends what clients do, line by line, and keeps it in memory as well. Any thread: one
    append to a list or file is atomic under the interpreter's lock."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.history = History()

    def note(self, what, *values):
        self.file.write(json.dumps([what, *values]) + "\n")

    def sent(self, sent):
        self.note("sent", sent.key, sent.count)
        self.history.sent.append(sent)

    def ack(self, key, number, durable, life):
        self.note("ack", key, number, durable, life)
        self.history.acks.append([key, number, durable, life])

    def cancel(self, number):
        self.note("cancel", number)
        self.history.cancels.add(number)

    def told(self, job, result, code):
        self.note("told", name_of(job), result, code)
        self.history.told.append([job, result, code])
