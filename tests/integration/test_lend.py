"""A job lends its slot while it waits for other jobs or for a lock: jobs that wait for jobs end."""

import re
import signal
import sys

from conftest import BIN, Gate, daemon_for_a_test, until, written
from jobs import ended, get, listed, sh, submit
from protocol import LOGS, error
from test_agent import AGENT
from test_locks import lock
from test_volt_lock import held_by_lease, holder, locks, open_gate

SUBMIT, CTL, LOCK = (BIN / program for program in ("volt-submit", "voltctl", "volt-lock"))


def slots(daemon):
    """Used, lent, and how often one came back while none was free."""
    with daemon.connect_control() as control:
        jobs = control.ok("org.voltd.control.Stats")["jobs"]
        return jobs["slots_used"], jobs["slots_lent"], jobs["slots_over"]


def test_two_that_wait_for_two_end_on_two_slots(private):
    """Also when voltd dies meanwhile: who waits calls again."""
    private.start(config="[Queue]\nSlots=2\n")
    begin, end = Gate(private.dir / "begin"), Gate(private.dir / "end")
    outer = sh(f"read line <{begin.path}; exec {SUBMIT} --wait --name=inner -- sh -c 'read line <{end.path}; true'")
    with private.connect() as v:
        both = [submit(v, outer) for _ in range(2)]
        until(lambda: all(get(v, one)["state"] == "running" for one in both), "both to have the slots")
        assert slots(private) == (2, 0, 0)
        begin.let_through(2)
        until(lambda: len(listed(v, name="inner", states=["running"])) == 2, "both inner ones to run")
        assert slots(private) == (2, 2, 0)
        assert all(get(v, one)["lends"] for one in both)
        assert "running (waits for another, and lends its slot)" in private.ctl("status", both[0]).out
        assert "  slots used 2 of 2, and 2 lent by jobs that wait\n" in private.ctl("stats").out
        inner = {one: private.ctl("why", one).lines for one in both}
        waited_for = [re.fullmatch(rf"job {one}: something inside it waits for job (\d+), which is running", lines[0])[1]
                      for one, lines in inner.items()]
        assert sorted(waited_for) == sorted(job["id"] for job in listed(v, name="inner"))
        assert all(lines[1:] == [f"job {one}: its slot is lent to others meanwhile, and comes back at once then, "
                                 "before all that wait for one"] for one, lines in inner.items()), inner
        assert private.ctl("why").lines == [f"2 jobs, such as {both[0]}: something inside it waits for job "
                                            f"{waited_for[0]}, which is running"]
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        until(lambda: slots(private) == (2, 2, 0), "both to lend again")
        end.let_through(2)
        for one in both:
            job = ended(v, one)
            assert (job["result"], "lends" in job) == ("success", False), job
        until(lambda: slots(private)[:2] == (0, 0), "all slots to be free")


def test_whatever_waits_inside_a_job_lends_its_slot(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        job = submit(v, sh(f"""set -e
            {SUBMIT} --wait -- {SUBMIT} --wait -- true
            {CTL} wait $({SUBMIT} -- true)
            {CTL} wait --any $({SUBMIT} -- true)
            {CTL} logs -f $({SUBMIT} -- echo logs)
            {SUBMIT} --follow -- echo follow
            {SUBMIT} --follow --array=1-2 -- echo array"""))
        assert ended(v, job)["result"] == "success", private.ctl("logs", job)
        said = private.ctl("logs", job).out
        assert all(line in said.splitlines() for line in ("logs", "follow", "8_1: array", "8_2: array")), said


def test_one_that_reads_on_lends_its_slot(private):
    """Until what it reads has ended; before that it is told what there is."""
    private.start(config="[Queue]\nSlots=1\n")
    outer, inner = Gate(private.dir / "outer"), Gate(private.dir / "inner")
    with private.connect() as v, private.connect() as reader:
        first = submit(v, sh(f"echo out; read line <{outer.path}; true"))
        own = {"id": first, "inside_job": first}
        until(lambda: v.call(LOGS + "Read", own)["parameters"].get("data") == "b3V0Cg==", "the outer job to run")
        second = submit(v, sh(f"echo in; read line <{inner.path}; true"))
        said = reader.stream(LOGS + "Read", {"id": second, "inside_job": first})
        assert next(reply["data"] for reply in said if reply["data"]) == "aW4K"
        assert slots(private) == (1, 1, 0)
        inner.let_through(1)
        assert [reply["data"] for reply in said if reply["end"]] == [""]
        until(lambda: slots(private)[:2] == (1, 0), "it to have its slot back")
        reader.send(LOGS + "Read", own, more=True)
        assert reader.recv()["parameters"]["data"] == "b3V0Cg=="
        reason = error(reader.recv(), LOGS + "Deadlock")["reason"]
        assert reason == f"it would wait for ever: job {first}, which waits for this", reason
        assert slots(private)[:2] == (1, 0)
        outer.let_through(1)
        assert ended(v, first)["result"] == "success"


def test_one_that_waits_for_a_lock_lends_its_slot(private):
    """It has it back at once: the other job runs on beside it."""
    private.start(config="[Queue]\nSlots=1\n")
    other = Gate(private.dir / "other")
    first = holder(private)
    with private.connect() as v:
        held_by_lease(v)
        inside = submit(v, sh(f"{LOCK} db -c 'echo it >{private.dir}/has; read line <{other.path}; true'"))
        until(lambda: locks(v)["db"].get("leases_waiting"), "the job to wait")
        second = submit(v, sh(f"read line <{other.path}; true"))
        until(lambda: get(v, second)["state"] == "running", "the other job to run")
        assert slots(private) == (1, 1, 0)
        open_gate(private)
        until(lambda: written(private.dir / "has"), "it to have the lock")
        assert slots(private) == (2, 0, 1)
        assert "  lent slots taken back while none was free: 1 times\n" in private.ctl("stats").out
        other.let_through(2)
        assert [ended(v, one)["result"] for one in (inside, second)] == ["success"] * 2
    assert first.wait() == 0


def test_what_would_wait_for_ever_is_refused(private):
    """With the circle; what was submitted starts when that has ended which has the lock."""
    private.start(config="[Queue]\nSlots=2\n")
    with private.connect() as v:
        for how in ("wait", "follow"):
            outer = submit(v, sh(f"exec {SUBMIT} --{how} --name={how} --lock=db -- true", **lock("db")))
            job = ended(v, outer)
            assert job["exit_status"] == 125, private.ctl("logs", outer)
            one, = (job["id"] for job in listed(v, name=how))
            assert f"refused: it would wait for ever: job {one}, which waits for lock db: job {outer} has it, " \
                "and waits for this" in private.ctl("logs", outer).out
            assert ended(v, one)["result"] == "success"
        r = private.run("volt-lock", "db", SUBMIT, "--wait", "--lock=db", "--", "true")
        assert r.code == 125 and re.search(r"refused: it would wait for ever: job \d+, which waits for lock db: "
                                           r"volt-lock \(pid \d+\) has it, and waits for this", r.err), r
        own = submit(v, sh(f"exec {CTL} wait $VOLT_JOB_ID"))
        assert ended(v, own)["exit_status"] == 125
        assert f"job {own}, which waits for this" in private.ctl("logs", own).out


def test_output_of_what_waits_for_this_is_refused_with_what_there_is(private):
    """A job's own is not: it is waited for by nothing."""
    private.start(config="[Queue]\nSlots=2\n")
    begin, follow = Gate(private.dir / "begin"), Gate(private.dir / "follow")
    with private.connect() as v:
        outer = submit(v, sh(f"read other <{follow.path}; {CTL} logs -f $other; echo $?"))
        other = submit(v, sh(f"echo first; {CTL} wait {outer}; echo second"))
        until(lambda: get(v, other).get("lends"), "it to wait for the other")
        follow.let_through(1, f"{other}\n")
        assert ended(v, outer)["result"] == "success"
        said = private.ctl("logs", outer).lines
        assert said == ["first", f"voltctl: refused: it would wait for ever: job {other}, which waits for job {outer}, "
                        "which waits for this", "1"], said
        assert ended(v, other)["result"] == "success"

        array = submit(v, {**sh(f"{CTL} logs -f $VOLT_ARRAY_ID >/dev/null; echo $?"), "array": {"first": 1, "last": 2}})
        assert ended(v, array)["counts"]["failed"] == 0
        said = private.ctl("logs", "--no-prefix", f"{array}_1").lines
        assert said == [f"voltctl: refused: it would wait for ever: job {array}, which waits for this", "1"], said

        own = submit(v, sh(f"echo one; {CTL} logs -f $VOLT_JOB_ID >{private.dir}/copy & read line <{begin.path}; echo two"))
        until(lambda: written(private.dir / "copy") == "one\n", "it to follow")
        assert "lends" not in get(v, own)
        begin.let_through(1)
        assert ended(v, own)["result"] == "success"


def test_a_job_is_none_of_another_voltd_that_has_one_of_its_id(private):
    """It may be led there by VOLT_ADDRESS."""
    private.start()
    here, agent = Gate(private.dir / "here"), Gate(private.dir / "agent")
    with daemon_for_a_test() as other:
        other.start(config="[Queue]\nSlots=2\n")
        to = f"export VOLT_ADDRESS=unix:{other.socket}; exec"
        with private.connect() as v, other.connect() as there:
            first = submit(there, sh(f"read line <{here.path}; true"))
            second = submit(there, sh(f"echo one; {CTL} wait {first}; echo two"))
            until(lambda: get(there, second).get("lends"), "it to wait for the first")
            job = submit(v, sh(f"{to} {CTL} logs -f {second}"))
            assert job == first
            until(lambda: private.ctl("logs", job).out.startswith("one\n"), "it to follow")
            here.let_through(1)
            assert ended(v, job)["result"] == "success", private.ctl("logs", job)
            assert private.ctl("logs", job).out == "one\ntwo\n"

            assert submit(v, sh("true")) == second
            job = submit(v, sh(f"{to} {sys.executable} {AGENT} -v k 'read line <{agent.path}; true' 'echo ready; sleep 600'"))
            until(lambda: '"left":1' in private.ctl("logs", job).out, "the agent to wait for the build")
            assert get(there, job)["name"] == "k.build"
            agent.let_through(1)
            assert ended(v, job)["result"] == "success", private.ctl("logs", job)
