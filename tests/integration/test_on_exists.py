"""on_exists: what becomes of a submission whose key an earlier job has."""

import os
import random
import signal
import time

import pytest

from conftest import until

JOBS = "org.voltd.jobs."


def sh(text, **more):
    return {"shell": text, "env": {"PATH": os.environ["PATH"]}, "key": "k", **more}


# Says when the one before it is still there.
ALONE = ("read p 2>/dev/null <$D/pid && kill -0 $p 2>/dev/null && echo $VOLT_JOB_ID >>$D/two;"
         "echo $$ >$D/pid; ")


def submit(v, spec):
    return v.ok(JOBS + "Submit", {"spec": spec})


def get(v, ident):
    return v.ok(JOBS + "Get", {"id": ident})["job"]


def ended(v, ident):
    *_, _last = v.stream(JOBS + "Wait", {"ids": [ident]})
    return get(v, ident)


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
        first = submit(v, sh("exit 3", on_exists="reject"))
        assert first["created"] is True
        for _ in range(2):
            r = v.call(JOBS + "Submit", {"spec": sh("exit 3", on_exists="reject")})
            assert r["error"] == JOBS + "KeyTaken", r
            assert f"job {first['id']}" in r["parameters"]["reason"]
            ended(v, first["id"])  # the same when it has ended
        assert submit(v, sh("exit 3")) == {**first, "created": False}
        r = v.ok(JOBS + "SubmitBatch", {"specs": [sh("true", key="b", on_exists="reject")] * 2})
        assert r["ids"][0] and not r["ids"][1]
        assert "earlier one of this batch" in r["rejected"][0]["reason"]
    r = private.submit("--key=k", "--if-exists=reject", "--", "true")
    assert r.code == 125 and f"job {first['id']}" in r.err


def test_coalesce(private):
    private.start()
    with private.connect() as v:
        first = submit(v, sh("exec sleep 1000", on_exists="coalesce"))
        other = submit(v, sh("true", on_exists="coalesce"))
        assert other == {**first, "created": False}
        v.ok(JOBS + "Cancel", {"ids": [first["id"]]})
        assert ended(v, first["id"])["result"] == "cancelled"
        second = submit(v, sh("exec sleep 1000", on_exists="coalesce"))
        assert second["created"] and second["id"] != first["id"]
        r = v.ok(JOBS + "SubmitBatch", {"specs": [
            sh("true", on_exists="coalesce"), sh("true", key="b", on_exists="coalesce"),
            sh("false", key="b", on_exists="coalesce")]})
        assert r["ids"][0] == second["id"] and r["ids"][1] == r["ids"][2] and not r["rejected"]
    # The key is that of the second one, also for the next daemon, and after the first is gone.
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert submit(v, sh("true", on_exists="coalesce"))["id"] == second["id"]


def test_a_key_taken_over_outlives_its_earlier_job(private):
    private.start(config="[Store]\nKeepEndedJobs=1\nKeepHistoryJobs=5\n")
    with private.connect() as v:
        noop = {"kind": "noop", "on_exists": "coalesce"}
        first = submit(v, {**noop, "key": "k"})["id"]
        ended(v, first)
        sleeper = submit(v, {"kind": "sleep", "duration_usec": 600000000, "key": "k",
                             "on_exists": "coalesce"})
        assert sleeper["created"]
        for i in range(30):  # the first one is forgotten, and its key as long as there are keys
            ended(v, submit(v, {**noop, "key": f"other{i}"})["id"])
        assert submit(v, {**noop, "key": "k"}) == {**sleeper, "created": False}


@pytest.mark.parametrize("slots", [1, 4])
def test_replace(private, slots):
    """What is replaced, queued or running, is gone before the next one starts."""
    private.start(config=f"[Queue]\nSlots={slots}\n")
    env = {"PATH": os.environ["PATH"], "D": str(private.dir)}
    spec = sh("trap 'sleep 0.2; exit 1' TERM;" + ALONE +
              "touch $D/up.$VOLT_JOB_ID; while :; do sleep 0.02; done",
              on_exists="replace", env=env)
    with private.connect() as v:
        first = submit(v, spec)["id"]
        runs(private, first)
        until(lambda: (private.dir / f"up.{first}").exists())
        idents = [first] + [submit(v, spec)["id"] for _ in range(4)]
        last = submit(v, sh(ALONE + "exit 5", on_exists="replace", env=env))
        assert last["created"] and len({*idents, last["id"]}) == 6
        assert ended(v, last["id"])["exit_code"] == 5
        assert [get(v, i)["result"] for i in idents] == ["cancelled"] * 5
        # Those in between never began: who replaces them waits for the same one.
        assert [get(v, i)["attempt"] for i in idents[1:]] == [0] * 4
        after = submit(v, sh("exit 6", on_exists="replace"))["id"]
        assert ended(v, after)["exit_code"] == 6 and get(v, last["id"])["exit_code"] == 5
        assert not (private.dir / "two").exists()
        # Whoever asks for the same without replacing has the latest.
        assert submit(v, sh("exit 6"))["id"] == after


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
        first = submit(v, {**long, "key": "k"})["id"]
        until(lambda: get(v, first)["state"] == "running")
        second = submit(v, {**short, "key": "k", "on_exists": "replace"})["id"]
        assert ended(v, second)["exit_code"] == (4 if kind == "array" else 0)
        assert get(v, first)["result"] == "cancelled"


def test_cancel_of_one_that_waits_for_the_replaced(private):
    private.start()
    stubborn = f"trap '' TERM; touch {private.dir}/up; while :; do sleep 0.05; done"
    with private.connect() as v:
        first = submit(v, sh(stubborn, kill_after_usec=300000000))["id"]
        until(lambda: (private.dir / "up").exists())
        second = submit(v, sh("exit 1", on_exists="replace"))["id"]
        job = get(v, second)
        assert (job["state"], get(v, first)["state"]) == ("queued", "stopping")
        v.ok(JOBS + "Cancel", {"ids": [second]})
        assert get(v, second)["result"] == "cancelled"
        third = submit(v, sh("exit 2", on_exists="replace"))["id"]  # of a job that is done
        assert submit(v, sh("exit 2"))["id"] == third
        assert (get(v, third)["state"], get(v, first)["state"]) == ("queued", "stopping")
        v.ok(JOBS + "Signal", {"id": first, "signal": "KILL"})
        assert ended(v, third)["exit_code"] == 2
        assert get(v, second)["attempt"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_replace_over_kill(private, seed):
    """voltd dies at any moment of many replacements: never two side by side, never none."""
    private.start(config="[Queue]\nSlots=4\n")
    randoms = random.Random(seed)
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
            assert submit(v, {**spec, "on_exists": "same"}) == {
                "id": live[0], "created": False, "durable": True}
    with private.connect() as v:
        runs(private, live[0])
        v.ok(JOBS + "Cancel", {"filter": {}})
        assert ended(v, live[0])["result"] == "cancelled"
    assert not (private.dir / "two").exists()
    ran = (private.dir / "ran").read_text().split()
    assert len(ran) == len(set(ran))
