"""on_exists: what becomes of a submission whose key an earlier job has."""

import os
import random
import signal
import time

import pytest

from conftest import SEED, until, written
import jobs
from jobs import JOBS, ended, get, submit, submitted


def sh(text, **more):
    return jobs.sh(text, **{"key": "k", **more})


# Says when the one before it is still there.
ALONE = ("read p 2>/dev/null <$D/pid && kill -0 $p 2>/dev/null && echo $VOLT_JOB_ID >>$D/two;"
         "echo $$ >$D/pid; ")


def runs(daemon, ident):
    with daemon.connect() as v:
        until(lambda: get(v, ident)["state"] == "running")


def test_a_key_is_needed(private):
    private.start()
    with private.connect() as v:
        r = v.call(JOBS + "Submit", {"spec": {"kind": "noop", "on_exists": "replace"}})
        assert r["parameters"]["parameter"] == "spec.on_exists", r
    r = private.submit("--if-exists=reject", "--", "true")
    assert r.code == 125 and "only with a key" in r.err


def test_reject(private):
    private.start()
    with private.connect() as v:
        first = submitted(v, sh("exit 3", on_exists="reject"))
        assert first["created"] is True
        for _ in range(2):
            r = v.call(JOBS + "Submit", {"spec": sh("exit 3", on_exists="reject")})
            assert r["error"] == JOBS + "KeyTaken", r
            assert f"job {first['id']}" in r["parameters"]["reason"]
            ended(v, first["id"])  # the same when it has ended
        assert submitted(v, sh("exit 3")) == {**first, "created": False}
        r = v.ok(JOBS + "SubmitBatch", {"specs": [sh("true", key="b", on_exists="reject")] * 2})
        assert r["ids"][0] and not r["ids"][1]
        assert "earlier one of this batch" in r["rejected"][0]["reason"]
    r = private.submit("--key=k", "--if-exists=reject", "--", "true")
    assert r.code == 125 and f"job {first['id']}" in r.err


def test_coalesce(private):
    private.start()
    with private.connect() as v:
        first = submitted(v, sh("exec sleep 1000", on_exists="coalesce"))
        other = submitted(v, sh("true", on_exists="coalesce"))
        assert other == {**first, "created": False}
        v.ok(JOBS + "Cancel", {"ids": [first["id"]]})
        assert ended(v, first["id"])["result"] == "cancelled"
        second = submitted(v, sh("exec sleep 1000", on_exists="coalesce"))
        assert second["created"] and second["id"] != first["id"]
        r = v.ok(JOBS + "SubmitBatch", {"specs": [
            sh("true", on_exists="coalesce"), sh("true", key="b", on_exists="coalesce"),
            sh("false", key="b", on_exists="coalesce")]})
        assert r["ids"][0] == second["id"] and r["ids"][1] == r["ids"][2] and not r["rejected"]
    # The key is that of the second one, also for the next daemon, and after the first is gone.
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert submit(v, sh("true", on_exists="coalesce")) == second["id"]


def test_a_key_taken_over_outlives_its_earlier_job(private):
    private.start(config="[Store]\nKeepEndedJobs=1\nKeepHistoryJobs=5\n")
    with private.connect() as v:
        noop = {"kind": "noop", "on_exists": "coalesce"}
        first = submit(v, {**noop, "key": "k"})
        ended(v, first)
        sleeper = submitted(v, {"kind": "sleep", "duration_usec": 600000000, "key": "k",
                             "on_exists": "coalesce"})
        assert sleeper["created"]
        for i in range(30):  # the first one is forgotten, and its key as long as there are keys
            ended(v, submit(v, {**noop, "key": f"other{i}"}))
        assert submitted(v, {**noop, "key": "k"}) == {**sleeper, "created": False}


@pytest.mark.parametrize("slots", [1, 4])
def test_replace(private, slots):
    """What is replaced, queued or running, is gone before the next one starts."""
    private.start(config=f"[Queue]\nSlots={slots}\n")
    env = {"PATH": os.environ["PATH"], "D": str(private.dir)}
    spec = sh("trap 'until [ -e $D/go ]; do sleep 0.02; done; exit 1' TERM;" + ALONE +
              "touch $D/up.$VOLT_JOB_ID; while :; do sleep 0.02; done",
              on_exists="replace", env=env, kill_after_usec=300000000)
    with private.connect() as v:
        first = submit(v, spec)
        runs(private, first)
        until(lambda: (private.dir / f"up.{first}").exists())
        idents = [first] + [submit(v, spec) for _ in range(4)]
        last = submitted(v, sh(ALONE + "exit 5", on_exists="replace", env=env))
        assert last["created"] and len({*idents, last["id"]}) == 6
        (private.dir / "go").touch()
        assert ended(v, last["id"])["exit_code"] == 5
        assert [get(v, i)["result"] for i in idents] == ["cancelled"] * 5
        # Those in between never began: who replaces them waits for the same one.
        assert [get(v, i)["attempt"] for i in idents[1:]] == [0] * 4
        after = submit(v, sh("exit 6", on_exists="replace"))
        assert ended(v, after)["exit_code"] == 6 and get(v, last["id"])["exit_code"] == 5
        assert not (private.dir / "two").exists()
        # Whoever asks for the same without replacing has the latest.
        assert submit(v, sh("exit 6")) == after


@pytest.mark.parametrize("kind", ["sleep", "array", "noops"])
def test_replace_of_and_by_other_kinds(private, kind):
    private.start(config="[Queue]\nSlots=2\n")
    long = {"sleep": {"kind": "sleep", "duration_usec": 600000000},
            "array": {**sh("exec sleep 1000"), "array": {"first": 1, "last": 5}},
            "noops": {"kind": "sleep", "duration_usec": 600000000,
                      "array": {"first": 1, "last": 5}}}[kind]
    short = {"sleep": {"kind": "sleep", "duration_usec": 1000},
             "array": {**sh("exit 4"), "array": {"first": 1, "last": 3}},
             "noops": {"kind": "noop", "array": {"first": 1, "last": 3}}}[kind]
    with private.connect() as v:
        first = submit(v, {**long, "key": "k"})
        until(lambda: get(v, first)["state"] == "running")
        second = submit(v, {**short, "key": "k", "on_exists": "replace"})
        assert ended(v, second)["exit_code"] == (4 if kind == "array" else 0)
        assert get(v, first)["result"] == "cancelled"


def test_cancel_of_one_that_waits_for_the_replaced(private):
    private.start()
    stubborn = f"trap '' TERM; touch {private.dir}/up; while :; do sleep 0.05; done"
    with private.connect() as v:
        first = submit(v, sh(stubborn, kill_after_usec=300000000))
        until(lambda: (private.dir / "up").exists() and get(v, first)["state"] == "running")
        second = submit(v, sh("exit 1", on_exists="replace"))
        job = get(v, second)
        assert (job["state"], get(v, first)["state"]) == ("queued", "stopping")
        v.ok(JOBS + "Cancel", {"ids": [second]})
        assert get(v, second)["result"] == "cancelled"
        third = submit(v, sh("exit 2", on_exists="replace"))  # of a job that is done
        assert submit(v, sh("exit 2")) == third
        assert (get(v, third)["state"], get(v, first)["state"]) == ("queued", "stopping")
        v.ok(JOBS + "Signal", {"id": first, "signal": "KILL"})
        assert ended(v, third)["exit_code"] == 2
        assert get(v, second)["attempt"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_replace_over_kill(private, seed):
    """voltd dies at any moment of many replacements: never two side by side, never none."""
    private.start(config="[Queue]\nSlots=4\n")
    randoms = random.Random(SEED * 100 + seed)
    spec = sh(ALONE + "echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>$D/ran; while :; do sleep 0.01; done",
              on_exists="replace", env={"PATH": os.environ["PATH"], "D": str(private.dir)})
    known = []
    for _ in range(8):
        with private.connect() as v:
            for _ in range(6):
                v.send(JOBS + "Submit", {"spec": spec})
            for _ in range(randoms.randrange(7)):
                known.append(v.recv()["parameters"]["id"])
            time.sleep(randoms.random() * randoms.choice([0.002, 0.05]))
        private.stop(signal.SIGKILL)
        private.start()
        with private.connect() as v:
            live = [j["id"] for j in v.ok(JOBS + "List", {"filter": {
                "states": ["queued", "starting", "running"]}})["jobs"]]
            if not live and not known:
                continue  # it was too early for any
            assert len(live) == 1 and all(int(live[0]) >= int(i) for i in known), (live, known)
            assert submitted(v, {**spec, "on_exists": "same"}) == {
                "id": live[0], "created": False, "durable": True}
    ran = private.dir / "ran"
    until(lambda: f"{live[0]}.1" in written(ran).split(), "the last to run")
    with private.connect() as v:
        v.ok(JOBS + "Cancel", {"filter": {}})
        assert ended(v, live[0])["result"] == "cancelled"
    assert not (private.dir / "two").exists()
    ran = ran.read_text().split()
    assert len(ran) == len(set(ran))


def test_a_refused_replacement_gives_the_key_back(private):
    """Of a batch that is refused as a whole nothing is left: the key is the earlier job's, with
    what that was, and there is room for as many jobs that wait for others as before."""
    private.start()
    first_spec = sh("exec sleep 1000")
    with private.connect() as v:
        first = submit(v, first_spec)
        taken = submit(v, sh("exit 0", key="taken"))
        runs(private, first)
        refused = {"atomic": True, "specs": [
            sh("exit 1", on_exists="replace"), sh("exit 2", key="new"),
            sh("exit 3", key="taken", on_exists="reject")]}
        for _ in range(1100):
            r = v.ok(JOBS + "SubmitBatch", refused)
            assert r["ids"] == ["", "", ""] and len(r["rejected"]) == 3, r
        assert submitted(v, first_spec) == {"id": first, "created": False, "durable": True}
        r = v.call(JOBS + "Submit", {"spec": sh("exit 1")})
        assert r["error"] == JOBS + "KeyTaken" and f"job {first}" in r["parameters"]["reason"], r
        assert submitted(v, sh("exit 4", key="new"))["created"]  # was nobody's, and is free
        assert get(v, first)["state"] == "running"
        second = submitted(v, sh("exit 5", on_exists="replace"))
        assert second["created"] and ended(v, second["id"])["exit_code"] == 5
        assert get(v, first)["result"] == "cancelled" and get(v, taken)["exit_code"] == 0
