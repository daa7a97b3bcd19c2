"""Jobs whose keeper, or shim, is away for a while: they wait, and none of them has failed."""

import errno
import itertools
import os
import pathlib
import signal
import threading
import time

import pytest

from checker import check
from faults import FILE, IO, KEEPER, VOLTD, Faults
from house import House, LEDGER_JOB, SANITIZER, TEST_BIN, until
from ledger import ENTRY, Sent, parse_id
from points import crash_house, hit_by
from survival import EXACT, own_programs
from test_chaos import passed
from test_keeper import MAGIC, VERSION, WELCOME

AWAY = "waiting for voltd-keeper, which does not answer"
# Answers HELLO, and dies of the first START.
FATAL = f"""#!/usr/bin/python3
import os, socket, struct
there = socket.socket(fileno=3).accept()[0]
serial = struct.unpack_from("<Q", there.recv(65536), 8)[0]
there.send(struct.pack("<IIQiIII32s", {MAGIC}, {WELCOME}, serial, 0, {VERSION}, os.getpid(), 0, b""))
there.recv(65536)
with open("%s", "ab") as f:
    f.write(b".")
"""


@pytest.fixture
def ended():
    """Houses that are given to it are ended, whatever becomes of the test."""
    houses = []
    yield lambda house: houses.append(house) or house
    for house in houses:
        house.stop_guard()
        house.kill_rest()


@pytest.fixture
def house(ended):
    house = ended(House(slots=8, bin=TEST_BIN))
    own_programs(house)
    return house.start()


@pytest.fixture
def hanging(ended):
    """A house whose keeper can be made to hang: house.faults.stick([KEEPER], IO)."""
    house = ended(House(slots=8, bin=TEST_BIN))
    house.faults = Faults(house)
    house.start()
    del house.env["LD_PRELOAD"]     # of the clients
    yield house
    house.faults.disarm()


def submit(house, keys, *args):
    """The numbers of as many jobs of the ledger."""
    specs = []
    for key in keys:
        house.clients.sent(Sent(key))
        specs.append({"argv": [str(LEDGER_JOB), str(house.ledger), str(key), *map(str, args)],
                      "name": f"k{key}"})
    with house.connect() as v:
        p = v.ok("org.voltd.jobs.SubmitBatch", {"specs": specs})
    for key, text in zip(keys, p["ids"]):
        house.clients.ack(key, parse_id(text)[0], p["durable"], house.life)
    return p["ids"]


def job(house, ident):
    with house.connect() as v:
        return v.ok("org.voltd.jobs.Get", {"id": ident})["job"]


def replace_keeper(house, text=None):
    """Another program, or none, in the place of the keeper's. Returns how to undo it."""
    program, real = house.bin / "voltd-keeper", house.bin / "the-keeper"
    program.rename(real)
    if text:
        new = house.bin / "new"
        new.write_text(text)
        new.chmod(0o755)
        new.rename(program)
    return lambda: real.rename(program)


def all_right(house):
    """Every job has ended by itself, and once."""
    until(house.quiet, "every job to end")
    house.collect()
    house.history.left += house.leftovers()
    wrong = [f"{j}: {view}" for j, view in house.history.jobs.items()
             if view["result"] not in EXACT]
    passed(house, house.findings + wrong + check(house.history))


def test_a_keeper_that_dies_of_every_start(house):
    deaths = house.dir / "deaths"
    undo = replace_keeper(house, FATAL % deaths)
    assert house.kill_keeper()
    first, *_ = submit(house, range(1, 21))
    until(lambda: deaths.exists() and deaths.stat().st_size > 3, "it to die again and again")
    until(lambda: job(house, first).get("wait") == "keeper", "voltd to say what it waits for")
    assert AWAY in house.ctl("status", first).out
    undo()
    all_right(house)


def test_no_keeper(house):
    """Who is cancelled then does not wait for one."""
    undo = replace_keeper(house)
    assert house.kill_keeper()
    first, *others = submit(house, range(1, 21))
    until(lambda: job(house, first)["state"] == "starting", "it to be about to start")
    with house.connect() as v:
        stopped = v.ok("org.voltd.jobs.Submit", {"spec": {
            "argv": ["/bin/true"], "priority": 1}})["id"]
        v.ok("org.voltd.jobs.Cancel", {"ids": [stopped, others[0]]})
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [stopped, others[0]]})
    assert [j["result"] for j in last["jobs"]] == ["cancelled", "cancelled"]
    until(lambda: AWAY in house.ctl("status", first).out, "voltd to say what it waits for")
    undo()
    until(house.quiet, "every job to end")
    log = house.log.read_text()
    assert "the keeper has gone" in log and "cannot reach or start the keeper" in log
    until(lambda: "the keeper is there" in house.log.read_text(), "voltd to say that it is back")
    assert all(job(house, ident)["result"] in EXACT for ident in (first, *others[1:]))
    passed(house, [])


def test_a_keeper_that_hangs(hanging):
    house = hanging
    house.faults.stick([KEEPER], IO)
    first, *_ = submit(house, range(1, 21))
    until(lambda: AWAY in house.ctl("status", first).out, "voltd to say what it waits for")
    house.faults.disarm()
    all_right(house)


@pytest.mark.parametrize("adopted", [False, True])
def test_a_keeper_that_is_stopped(house, adopted):
    """voltd continues it: at once one that it has started, another one when it does not answer."""
    gate = house.dir / "gate"
    os.mkfifo(gate)
    submit(house, [1], 0, gate)     # for its sake the keeper stays
    until(lambda: house.ledger.stat().st_size == ENTRY.size, "it to run")
    keeper = house.keeper()
    if adopted:
        house.kill_voltd()
        until(house.up.is_set, "voltd to come back")
    for turn in range(10):
        assert house.strike(keeper, signal.SIGSTOP)
        if not adopted:
            until(lambda: state_of(keeper) != "T", "voltd to continue it, with nothing to ask of it")
        submit(house, [10 + turn])
        until(lambda: house.ledger.stat().st_size == ENTRY.size * (3 + 2 * turn), "a job to run")
    assert "has not answered" not in house.log.read_text() and house.keeper() == keeper
    os.close(os.open(gate, os.O_WRONLY))
    all_right(house)


def state_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def test_a_keeper_that_is_stopped_in_a_loop(house):
    """By a job: others start and end meanwhile."""
    keeper = house.keeper()
    over = house.dir / "over"
    with house.connect() as v:
        v.ok("org.voltd.jobs.Submit", {"spec": {
            "shell": f"touch {over}.begun; while ! [ -e {over} ]; do kill -STOP {keeper}; done"}})
    until(pathlib.Path(f"{over}.begun").exists, "the loop to begin")
    submit(house, range(1, 21))
    until(lambda: house.ledger.stat().st_size == 40 * ENTRY.size, "all to end")
    assert house.keeper() == keeper
    over.touch()
    until(house.quiet, "the loop to end")




def test_a_voltd_that_comes_to_a_keeper_that_hangs(hanging):
    """Comes up, takes jobs, says what they wait for, and finds what runs once it answers; also a
    START that the keeper has not read yet when the voltd that sent it dies."""
    house = hanging
    gate = house.dir / "gate"
    os.mkfifo(gate)
    submit(house, [1], 0, gate)
    until(lambda: house.ledger.stat().st_size == ENTRY.size, "it to run")
    house.faults.stick([KEEPER], IO)
    begun, doomed = submit(house, [2, 5])
    until(lambda: job(house, begun).get("wait") == job(house, doomed).get("wait") == "keeper",
          "their START to be sent, and not to be answered")
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    assert "keeper.sock does not answer: jobs wait for it" in house.log.read_text()
    later, cancelled = submit(house, [3, 4])
    until(lambda: AWAY in house.ctl("status", later).out, "voltd to say what it waits for")
    assert job(house, later)["wait"] == job(house, begun)["wait"] == "keeper"
    for ident in cancelled, doomed:
        house.clients.cancel(parse_id(ident)[0])
        assert house.ctl("cancel", ident).code == 0
    # Its START may still be carried out: nothing is claimed of it before the keeper answers.
    until(lambda: job(house, cancelled)["state"] == "done", "one that was never sent to end")
    assert job(house, doomed)["state"] == "stopping"
    house.faults.disarm()
    until(lambda: "the keeper answers again" in house.log.read_text(), "voltd to say so")
    os.close(os.open(gate, os.O_WRONLY))
    until(house.quiet, "every job to end")
    house.collect()
    wrong = [view for view in house.history.jobs.values()
             if view["result"] not in (*EXACT, "cancelled")]
    passed(house, house.findings + wrong + check(house.history))


def test_what_a_keeper_that_hung_has_started_is_found_without_a_slot(hanging):
    """The keeper carries out a START after the voltd that sent it has died, and the next voltd has
    no slot for that job: it runs, so it does not go back to the queue, where the voltd after that
    would start it once more."""
    house = hanging
    gates = [house.dir / f"gate{i}" for i in (1, 2)]
    for gate in gates:
        os.mkfifo(gate)
    submit(house, [1], 0, gates[0])
    until(lambda: house.ledger.stat().st_size == ENTRY.size, "it to run")
    house.faults.stick([KEEPER], IO)
    begun, = submit(house, [2], 0, gates[1])
    until(lambda: job(house, begun).get("wait") == "keeper", "its START to be sent")
    house.config.write_text(house.config.read_text().replace("Slots=8", "Slots=1"))
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    house.faults.disarm()
    until(lambda: house.ledger.stat().st_size == 2 * ENTRY.size, "the START to be carried out")
    until(lambda: job(house, begun)["state"] != "starting", "voltd to look at its record")
    assert job(house, begun)["state"] == "running"
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    for gate in gates:
        os.close(os.open(gate, os.O_WRONLY))
    all_right(house)


def test_a_keeper_that_hangs_and_is_killed_before_it_answers(hanging):
    """Another one takes its place."""
    house = hanging
    keeper = house.keeper()
    house.faults.stick([KEEPER], IO)
    submit(house, [3])
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    submit(house, [1, 2])
    house.faults.disarm()
    assert house.strike(keeper, signal.SIGKILL)
    all_right(house)


def test_the_log_says_that_a_keeper_hangs(hanging):
    """That it does not answer, what waits and what is done; and that it answers again. A moment
    of silence is nothing to speak of."""
    def said(text):
        return house.log.read_text().count(text)

    house = hanging
    keeper = house.keeper()
    submit(house, range(100, 140))
    assert said("has not answered") == 0
    for turn in (1, 2):
        house.faults.stick([KEEPER], IO)
        submit(house, [turn])
        silent = f"the keeper (pid {keeper}) has not answered for 5 s; requests that wait: "
        until(lambda: said(silent) == turn, "voltd to say that it does not answer")
        house.faults.disarm()
        until(lambda: said("the keeper answers again") == turn, "voltd to say that it does")
    assert said("it is sent SIGCONT in case it was stopped") == said(f"kill -KILL {keeper}") == 2
    assert said("the keeper has gone") == 0
    all_right(house)


def stop_again_and_again(house, shims, over):
    """The keeper continues each, and is as busy with that."""
    while not over.is_set():
        for pid in shims:
            house.strike(pid, signal.SIGSTOP)


def test_shims_that_stand_still(house):
    """Jobs go to shims that hardly come to take one."""
    def at_rest():
        jobs = house.stats()["jobs"]
        return not any(jobs[s] for s in ("queued", "starting", "running"))

    for turn in range(4):
        submit(house, range(1000 * turn, 1000 * turn + 300))
        while not at_rest():    # at once: idle shims stay for a tenth of a second
            pass
        over = threading.Event()
        stopper = threading.Thread(target=stop_again_and_again,
                                   args=(house, house.shims(), over))
        stopper.start()
        submit(house, range(1000 * turn + 300, 1000 * turn + 600))
        time.sleep(0.5)
        over.set()
        stopper.join()
        until(house.quiet, "every job to end")
    all_right(house)


@pytest.mark.skipif(bool(SANITIZER), reason="crash points are of the plain build")
def test_a_second_start_goes_on_with_the_output(ended):
    """The next attempt's shim dies before it has begun anything: it is started once more, and what
    the first attempt has printed is still there."""
    house = ended(crash_house(env={"VOLT_CRASH_AT": "shim-born#2"})).start()
    with house.connect() as v:
        job = v.ok("org.voltd.jobs.Submit", {"spec": {
            "shell": "echo $VOLT_ATTEMPT; [ $VOLT_ATTEMPT = 2 ] || exec sleep 1000",
            "on_lost": "retry"}})["id"]
        until(lambda: house.ctl("logs", job).out == "1\n", "the first attempt to run")
        shim, = house.shims()
        assert house.strike(shim, signal.SIGKILL)
        *_, last = v.stream("org.voltd.jobs.Wait", {"ids": [job]})
    assert (last["jobs"][0]["result"], last["jobs"][0]["attempt"]) == ("success", 2)
    assert house.ctl("logs", job).out == "1\n2\n"
    assert len(hit_by(house, "shim-born")) == 3


def test_a_record_that_cannot_be_removed_at_once(ended):
    """It goes later, and does not wait for another voltd."""
    house = ended(House(bin=TEST_BIN))
    faults = Faults(house)
    house.start()
    keys = itertools.count(1)

    def in_vain():
        """A record that voltd tries to remove now, and cannot; None: it had gone."""
        ident, = submit(house, [next(keys)])
        record = house.state / "rec" / f"{ident}.1"
        until(lambda: job(house, ident)["state"] == "done", "it to end")
        faults.rate([VOLTD], FILE, errno.EMFILE, 1)
        if record.exists():
            until(lambda: faults.fired()[0] or not record.exists(), "its removal")
        if record.exists():
            return record
        faults.disarm()
        return None

    record = until(in_vain, "a record that is there when its job has ended")
    faults.disarm()
    until(lambda: not record.exists(), "its record to go")
    all_right(house)


@pytest.mark.skipif(bool(SANITIZER), reason="crash points are of the plain build")
def test_what_never_ran_is_queued_without_its_record(ended):
    """The keeper dies with a START in hand, and there is no other; voltd is killed, and the next
    one has no slot for the job: it goes back to the queue, but its record goes first, or the voltd
    after that would know nothing of it."""
    house = ended(crash_house(slots=3, workers=1,
                              env={"VOLT_CRASH_AT": "keeper-start#2"}))
    own_programs(house)
    house.start()
    gate = house.dir / "gate"
    os.mkfifo(gate)
    submit(house, [1], 0, gate)
    until(lambda: house.ledger.stat().st_size == ENTRY.size, "the first to run")
    undo = replace_keeper(house)
    born, = submit(house, [2])
    until(lambda: len(hit_by(house, "keeper-start")) == 2, "the keeper to die")
    unborn, = submit(house, [3])
    until(lambda: job(house, unborn)["state"] == "starting", "it to be about to start")
    submit(house, [4])  # acknowledged: what was to start before is kept as well
    until((house.state / "rec" / f"{born}.1").exists, "the record of the next try")

    del house.env["VOLT_CRASH_AT"]
    house.stand_still()     # or it starts the keeper that is back
    undo()
    house.config.write_text(house.config.read_text().replace("Slots=3", "Slots=1"))
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    until(lambda: job(house, unborn)["state"] == "queued", "it to go back to the queue")
    until(lambda: job(house, born)["state"] == "queued", "the other one, too")
    assert not (house.state / "rec" / f"{born}.1").exists()
    house.kill_voltd()
    until(house.up.is_set, "voltd to come back")
    os.close(os.open(gate, os.O_WRONLY))
    all_right(house)
