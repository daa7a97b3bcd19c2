"""The durable store: what was acknowledged is there after kill -9, queued jobs run once, keys are
known, and damage is refused by name."""

import contextlib
import os
import signal
import sqlite3
import subprocess

from conftest import BIN, LIMIT, until, written
from jobs import JOBS, ended, get, listed, locked_by_nobody, records, sh, submit, submitted, wait


SQLITE = "[Queue]\nSlots={slots}\n"


def config(slots=2):
    return SQLITE.format(slots=slots)


def refused(daemon):
    """Starts a daemon that must not: its exit status and what it said."""
    before = len(daemon.log.read_text()) if daemon.log.exists() else 0
    daemon.start(wait=False)
    code = daemon.process.wait(LIMIT)
    daemon.process = None
    return code, daemon.log.read_text()[before:]


# --- queued --------------------------------------------------------------------------------


def test_acknowledged_is_durable(private):
    private.start(config=config())
    with private.connect() as v:
        assert submitted(v, {"kind": "noop"})["durable"] is True
        assert v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}]})["durable"] is True


def test_a_free_slot_is_taken_with_the_submission(private):
    """Whoever finds a slot is starting when the answer comes; who finds none, or others before it, is queued."""
    private.start(config=config(slots=2))
    with private.connect() as v:
        for state in ("starting", "running", "stopping"), ("queued",):
            ids = [submit(v, sh("sleep 1000")) for _ in range(2)]
            assert all(get(v, i)["state"] in state for i in ids)
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        v.ok(JOBS + "Cancel", {"filter": {}})
        assert [ended(v, str(i))["result"] for i in range(1, 5)] == ["cancelled"] * 4


def test_queued_jobs_are_there_after_kill_and_run_once(private):
    private.start(config=config(slots=1))
    ran = private.dir / "ran"
    with private.connect() as v:
        first = submit(v, sh(f"until [ -e {private.dir}/go ]; do sleep 0.02; done"))
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID >>{ran}; exit {i}", name=f"n{i}", priority=i,
                            labels={"i": str(i)})) for i in range(20)]
        array = submit(v, {**sh(f"echo $VOLT_JOB_ID >>{ran}; exit $VOLT_ARRAY_INDEX"),
                           "array": {"first": 1, "last": 10}})
        before = [v.ok(JOBS + "Get", {"id": i, "with_spec": True})["job"]["spec"] for i in ids]
        until(lambda: get(v, first)["state"] == "running")
    for _ in range(3):
        private.stop(signal.SIGKILL)
        private.start()
    with private.connect() as v:
        after = [v.ok(JOBS + "Get", {"id": i, "with_spec": True})["job"]["spec"] for i in ids]
        assert after == before
        assert all(get(v, i)["state"] == "queued" for i in [*ids, array])
        (private.dir / "go").touch()
        for i, ident in enumerate(ids):
            assert ended(v, ident)["exit_code"] == i
        assert ended(v, array)["exit_code"] == 10
        counts = get(v, array)["counts"]
        assert (counts["total"], counts["done"], counts["failed"]) == (10, 10, 10)
    lines = ran.read_text().split()
    # Priority first, in the order of submission then: as before.
    assert lines == [*reversed(ids), *(f"{array}_{i}" for i in range(1, 11))] or \
        sorted(lines) == sorted([*ids, *(f"{array}_{i}" for i in range(1, 11))])
    assert len(lines) == len(set(lines)) == 30
    until(lambda: records(private) == [], "the records to go")


def test_ids_go_on(private):
    """After a stop in order with the next number, after any other end with a higher one."""
    private.start(config=config())
    last = 0

    def life(how, next):
        nonlocal last
        with private.connect() as v:
            before, last = last, int(submit(v, {"kind": "noop"}))
            assert last == before + 1 if next else last > before, (before, last)
            ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 2000})["ids"]
            assert [int(i) for i in ids] == list(range(last + 1, last + 2001))
            last += 2000
        private.stop(how)
        private.start()

    life(signal.SIGTERM, True)
    life(signal.SIGTERM, True)
    life(signal.SIGKILL, True)
    life(signal.SIGKILL, False)
    (private.state / "ids.new").mkdir()  # what is in the way of the next file
    private.stop()
    (private.state / "ids.new").rmdir()
    private.start()
    life(signal.SIGTERM, False)
    life(signal.SIGTERM, True)


def test_an_acknowledged_cancel_survives(private):
    private.start(config=config(slots=1))
    with private.connect() as v:
        runs = submit(v, sh("exec sleep 1000"))
        queued = submit(v, sh(f"touch {private.dir}/ran"))
        array = submit(v, {**sh(f"touch {private.dir}/ran"), "array": {"first": 1, "last": 5}})
        until(lambda: get(v, runs)["state"] == "running")
        assert v.ok(JOBS + "Cancel", {"ids": [queued, f"{array}_2", array]})["count"] >= 2
        private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert get(v, queued)["result"] == "cancelled"
        assert get(v, array)["counts"]["done"] == 5
        assert get(v, f"{array}_2")["result"] == get(v, f"{array}_4")["result"] == "cancelled"
        v.ok(JOBS + "Cancel", {"ids": [runs]})
        assert ended(v, runs)["result"] == "cancelled"
    assert not (private.dir / "ran").exists()


# --- keys -------------------------------------------------------------------------------------


def test_the_same_key_is_the_same_job(private):
    private.start(config=config())
    ran = private.dir / "ran"
    spec = sh(f"echo x >>{ran}", key="k1")
    with private.connect() as v:
        first = submitted(v, spec)
        assert first["created"] is True
        again = submitted(v, spec)
        assert (again["id"], again["created"], again["durable"]) == (first["id"], False, True)
        other = v.call(JOBS + "Submit", {"spec": sh("true", key="k1")})
        assert other["error"] == JOBS + "KeyTaken" and first["id"] in other["parameters"]["reason"]
        assert submit(v, sh("true", key="k2")) != first["id"]
        assert submit(v, sh("true")) != submit(v, sh("true"))
        assert v.ok(JOBS + "Get", {"id": first["id"], "with_spec": True})["job"]["spec"]["key"] == "k1"
        wait(v, first["id"])
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        again = submitted(v, spec)
        assert (again["id"], again["created"]) == (first["id"], False)
        assert v.call(JOBS + "Submit", {"spec": sh("true", key="k1")})["error"] == JOBS + "KeyTaken"
    assert ran.read_text() == "x\n"


def test_keys_in_batches(private):
    private.start(config=config())
    noop = {"kind": "noop"}
    with private.connect() as v:
        r = v.ok(JOBS + "SubmitBatch", {"specs": [{**noop, "key": f"b{i % 3}"} for i in range(9)]})
        assert r["rejected"] == [] and len(set(r["ids"])) == 3 and r["ids"][0] == r["ids"][3]
        r2 = v.ok(JOBS + "SubmitBatch", {"specs": [
            {**noop, "key": "b0"}, {**noop, "key": "b1", "name": "other"}, {**noop, "key": "b9"}]})
        assert r2["ids"][0] == r["ids"][0] and r2["ids"][1] == "" and r2["ids"][2]
        assert [x["position"] for x in r2["rejected"]] == [1]
        r3 = v.ok(JOBS + "SubmitBatch", {"atomic": True, "specs": [
            {**noop, "key": "new"}, {**noop, "key": "b1", "name": "other"}]})
        assert r3["ids"] == ["", ""]
        assert submitted(v, {**noop, "key": "new", "name": "free"})["created"] is True


def test_large_batches_with_the_same_keys(private):
    """At the same moment, in opposite orders: each waits for the other, none for ever."""
    private.start(config=config())
    specs = [{"kind": "noop", "key": f"k{i}"} for i in range(2000)]
    conns = [private.connect() for _ in range(4)]
    for i, v in enumerate(conns):
        v.send(JOBS + "SubmitBatch", {"specs": specs[::-1] if i % 2 else specs})
    answers = [v.recv()["parameters"]["ids"] for v in conns]
    answers = [a[::-1] if i % 2 else a for i, a in enumerate(answers)]
    assert all(a == answers[0] for a in answers) and len(set(answers[0])) == 2000
    for v in conns:
        v.close()


def test_many_at_once_with_the_same_keys(private):
    """All of them at the same moment: each key is one job."""
    private.start(config=config())
    conns = [private.connect() for _ in range(8)]
    for i in range(50):
        for v in conns:
            v.send(JOBS + "Submit", {"spec": {"kind": "noop", "key": f"c{i}"}})
    answers = [[v.recv()["parameters"] for _ in range(50)] for v in conns]
    for i in range(50):
        assert len({a[i]["id"] for a in answers}) == 1
        assert sum(a[i]["created"] for a in answers) == 1
    for v in conns:
        v.close()


def test_keys_outlive_the_history(private):
    config = "[Store]\nKeepEndedJobs=1\nKeepHistoryJobs=20\n"
    private.start(config=config)
    with private.connect() as v:
        ids = [submit(v, {"kind": "noop", "key": f"d{i}"}) for i in range(10)]
        wait(v, *ids)
        assert [submit(v, {"kind": "noop", "key": f"d{i}"}) for i in range(10)] == ids
        wait(v, *(submit(v, {"kind": "noop", "key": f"e{i}"}) for i in range(40)))
        assert submitted(v, {"kind": "noop", "key": "d0"}) == {"id": ids[0], "created": False, "durable": True}
    private.stop(signal.SIGKILL)
    private.start(config=config)
    with private.connect() as v:
        assert [submit(v, {"kind": "noop", "key": f"d{i}"}) for i in range(10)] == ids


def test_history_counts_the_elements_of_arrays(private):
    """The store keeps 1,500: one array of a thousand and not two. They go as a whole."""
    config = "[Store]\nKeepEndedJobs=0\nKeepHistoryJobs=1500\n"
    private.start(config=config)
    thousand = {"kind": "noop", "array": {"first": 1, "last": 1000}}

    def known():
        with private.connect() as v:
            return [job["id"] for job in v.ok(JOBS + "List", {"limit": 1000})["jobs"]]

    with private.connect() as v:
        ids = []
        for _ in range(3):
            ids.append(submit(v, thousand))
            wait(v, ids[-1])
        until(lambda: known() == ids[2:], "the older ones to go")
        private.stop()
    private.start(config=config)
    assert known() == ids[2:]
    with private.connect() as v:
        ids.append(submit(v, {"kind": "noop", "array": {"first": 1, "last": 5000}}))
        wait(v, ids[-1])
        until(lambda: known() == ids[3:], "the one from before the restart to go")
        ids.append(submit(v, {"kind": "noop"}))
        wait(v, ids[-1])
        until(lambda: known() == ids[4:], "the large one, which is no longer the newest, to go")


# --- what is shown -------------------------------------------------------------------------


def test_what_has_ended_is_known_after_a_restart(private):
    private.start(config=config())
    with private.connect() as v:
        good = submit(v, sh("echo out; exit 0", name="good"))
        bad = submit(v, {"argv": ["/does/not/exist"]})
        noop = submit(v, {"kind": "noop"})
        late = submit(v, {"kind": "sleep", "duration_usec": 10**9, "timeout_usec": 1000})
        before = [ended(v, i) for i in (good, bad, noop, late)]
    private.stop()
    private.start()
    with private.connect() as v:
        assert [get(v, i) for i in (good, bad, noop, late)] == before
        counts = private.connect_control().ok("org.voltd.control.Stats")["jobs"]
        assert counts["ended"] == 4
    assert private.ctl("logs", good).out == "out\n"


# --- check -----------------------------------------------------------------------------------


def check_store(daemon):
    return subprocess.run([BIN / "voltd", "--user", f"--runtime-dir={daemon.runtime}",
                           f"--state-dir={daemon.state}", "--check-store"],
                          capture_output=True, text=True, env=daemon.env, timeout=LIMIT)


def test_check_store(private):
    r = check_store(private)
    assert r.returncode == 1 and "No such file" in r.stderr, r
    private.start(config=config())
    with private.connect() as v:
        for i in range(10):
            wait(v, submit(v, sh("exit 1", env={"I": str(i), "PATH": os.environ["PATH"]})))
        wait(v, submit(v, {"kind": "noop", "array": {"first": 1, "last": 100}}))
        submitted(v, sh("exec sleep 1000"))
    r = check_store(private)
    assert r.returncode == 3 and r.stdout == "", r
    assert f"pid {private.process.pid}" in r.stderr and "nothing was looked at: stop it first" in r.stderr, r
    private.stop(signal.SIGKILL)
    before = (private.state / "jobs.1.db").read_bytes()
    r = check_store(private)
    assert (r.returncode, r.stdout, r.stderr) == (0, f"{private.state}: sound\n", ""), r
    assert (private.state / "jobs.1.db").read_bytes() == before


def test_check_store_names_all_damage(private):
    private.start(config=config())
    with private.connect() as v:
        ids = [submit(v, sh("exit 1", name=f"name-of-{i}")) for i in range(3)]
        wait(v, *ids)
    private.stop()
    path = private.state / "jobs.1.db"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"name-of-0", b"name-0f-0").replace(b"name-of-2", b"name-0f-2"))
    db = sqlite3.connect(path)
    db.execute("DELETE FROM event WHERE job=?", (int(ids[1]),))
    db.commit()
    db.close()
    r = check_store(private)
    assert r.returncode == 1, r
    for what in (f"job {ids[0]}: checksum", f"job {ids[2]}: checksum", "table job: 1 rows",
                 "table event: "):
        assert what in r.stdout, r
    assert f"job {ids[1]}: checksum" not in r.stdout


def test_kept_output_that_is_missing_is_not_said_to_be_empty(private):
    private.start(config=config())
    with private.connect() as v:
        loud, quiet = (submit(v, sh(text)) for text in ("echo out", "true"))
        wait(v, loud, quiet)
    private.stop()
    db = sqlite3.connect(private.state / "jobs.1.db")
    assert db.execute("DELETE FROM output").rowcount == 1
    db.commit()
    db.close()
    private.start()
    r = private.ctl("logs", loud)
    assert r.code == 1 and "the store is damaged" in r.err, r
    r = private.ctl("logs", quiet)
    assert (r.code, r.out) == (0, ""), r


# --- a store that cannot be written --------------------------------------------------------


def test_a_store_that_cannot_be_written(private):
    """Somebody looks into it, and locks it: who submits is told so, questions are answered, what
    ends is kept later, and voltd goes on by itself."""
    private.start(config=config())
    go = private.dir / "go"
    with private.connect() as v:
        runs = submit(v, sh(f"until [ -e {go} ]; do sleep 0.02; done; exit 3"))
        until(lambda: get(v, runs)["state"] == "running")
        other = sqlite3.connect(private.state / "jobs.1.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refusals = [v.call(JOBS + "Submit", {"spec": {"kind": "noop"}}) for _ in range(3)]
        for r in refusals:
            assert r.get("error") == JOBS + "StoreUnavailable", refusals
            assert "cannot be written" in r["parameters"]["reason"]
        r = private.submit("true")
        assert r.code == 125 and "cannot be written" in r.err, r
        go.touch()
        until(lambda: locked_by_nobody(private, runs), "the job to end")
        assert get(v, runs)["state"] == "running"  # nobody has been told otherwise
        assert [j["id"] for j in listed(v)] == [runs]
        other.execute("ROLLBACK")
        other.close()
        assert ended(v, runs)["exit_code"] == 3
        until(lambda: "error" not in v.call(JOBS + "Submit", {"spec": {"kind": "noop"}}))
    for said in "no jobs are taken until it can be written", "can be written again":
        until(lambda: said in private.log.read_text(), "the log")
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert len(listed(v)) == 2 and get(v, runs)["exit_code"] == 3


def store_files(private):
    return sorted(p.name for p in private.state.glob("jobs.*"))


def test_without_waiting_for_the_disk(private):
    """What was submitted is not called durable, and a crash of voltd takes nothing of it."""
    private.start(config="[Store]\nSync=off\n[Queue]\nSlots=1\n")
    with private.connect() as v:
        runs = v.ok(JOBS + "Submit", {"spec": sh("exec sleep 1000")})
        assert runs["durable"] is False
        waits = submit(v, sh("echo second"))
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        assert get(v, runs["id"])["state"] == "running"
        assert get(v, waits)["state"] == "queued"
        v.ok(JOBS + "Cancel", {"ids": [runs["id"]]})
        assert ended(v, waits)["result"] == "success"


def test_a_store_that_somebody_removed(private):
    """Nothing more is acknowledged: voltd says so and ends, its jobs run on, and the next one goes
    on with the files that were put back."""
    private.start(config=config(slots=1))
    with private.connect() as v:
        first = submit(v, sh("exec sleep 1000"))
        second = submit(v, sh("echo second"))
        elsewhere = private.dir / "elsewhere"
        elsewhere.mkdir()
        for name in store_files(private):
            (private.state / name).rename(elsewhere / name)
        assert v.call(JOBS + "Submit", {"spec": sh("echo third")}) is None
    assert private.process.wait(LIMIT) == 1
    private.process = None
    assert (f"cannot write {private.state}: its file has been removed: voltd ends"
            in private.log.read_text())
    code, said = refused(private)
    assert code == 2 and "the store was removed" in said
    for path in elsewhere.iterdir():
        path.rename(private.state / path.name)
    private.start()
    with private.connect() as v:
        assert get(v, first)["state"] == "running"
        v.ok(JOBS + "Cancel", {"ids": [first]})
        assert ended(v, second)["result"] == "success"
    private.stop()
    assert check_store(private).returncode == 0


# --- refusals ------------------------------------------------------------------------------


def test_a_second_daemon_is_refused(private):
    private.start(config=config())
    other = subprocess.run([BIN / "voltd", "--user", f"--runtime-dir={private.dir}/other",
                            f"--state-dir={private.state}", f"--config={private.config}"],
                           capture_output=True, text=True, env=private.env, timeout=LIMIT)
    assert other.returncode == 3
    assert f"another voltd (pid {private.process.pid})" in other.stderr


def test_a_newer_store_is_refused(private):
    private.start(config=config())
    private.stop()
    db = sqlite3.connect(private.state / "jobs.1.db")
    db.execute("PRAGMA user_version=99")
    db.close()
    code, said = refused(private)
    assert code == 1 and "written by a newer voltd" in said and "jobs.1.db" in said


def test_a_downgrade_is_refused_under_load(private):
    """A newer voltd has brought the store up, and is replaced by an older one while jobs run and
    wait: it refuses, also again, and changes nothing; they do not notice."""
    private.start(config=config(slots=4))
    ran, go = private.dir / "ran", private.dir / "go"
    with private.connect() as v:
        ids = [submit(v, sh(f"echo $VOLT_JOB_ID.$VOLT_ATTEMPT >>{ran}; "
                            f"until [ -e {go} ]; do sleep 0.02; done; echo {i}; exit {i}"))
               for i in range(12)]
        until(lambda: len(written(ran).split()) == 4)
        until(lambda: all(get(v, i)["state"] == "running" for i in ids[:4]))
        array = submit(v, {"kind": "noop", "array": {"first": 1, "last": 100}})
    private.stop(signal.SIGKILL)
    path = private.state / "jobs.1.db"
    db = sqlite3.connect(path)
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute("PRAGMA user_version=99")
    db.close()

    def store():
        return {p.name: p.read_bytes() for p in sorted(private.state.glob("jobs.*"))
                if not p.name.endswith("-shm")}

    before = store()
    for at_rest in False, True:
        if at_rest:
            go.touch()
            until(lambda: all(locked_by_nobody(private, i) for i in ids[:4]), "the jobs to end")
        code, said = refused(private)
        assert code == 1 and "written by a newer voltd" in said and "start that one" in said, said
    assert store() == before
    assert sorted(ran.read_text().split()) == sorted(f"{i}.1" for i in ids[:4])
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version={version}")  # the newer one is back
    db.close()
    private.start()
    with private.connect() as v:
        for i, ident in enumerate(ids):
            assert ended(v, ident)["exit_code"] == i
            assert private.ctl("logs", ident).out == f"{i}\n"
        assert ended(v, array)["result"] == "success"
    assert sorted(ran.read_text().split()) == sorted(f"{i}.1" for i in ids)


def rows_of_jobs(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [db.execute(f"SELECT * FROM {table}").fetchall()
                for table in ("content", "job", "event", "ended", "output", "resource")]


def test_a_damaged_store_is_refused_with_the_place(private):
    private.start(config=config())
    with private.connect() as v:
        ident = submit(v, sh("exit 1", name="find-these-bytes"))
        wait(v, ident)
    private.stop()
    path = private.state / "jobs.1.db"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"find-these-bytes", b"find-those-bytes"))
    damaged = rows_of_jobs(path)
    code, said = refused(private)
    assert code == 1 and f"job {ident}: checksum" in said, said
    assert rows_of_jobs(path) == damaged  # what it has of jobs is left as it is
    line = said.split("named by: ")[1].splitlines()[0]
    r = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=private.dir,
                       env=private.env, timeout=LIMIT)
    assert r.returncode == 1 and f"job {ident}: checksum" in r.stdout and "damaged" in r.stdout, r
    path.write_bytes(data)
    private.start()
    with private.connect() as v:
        assert get(v, ident)["exit_code"] == 1


def test_a_damaged_file_of_ids_is_refused(private):
    """Ids of jobs that nobody keeps any more are not given again."""
    private.start(config=config())
    with private.connect() as v:
        last = submit(v, {"kind": "noop"})
        wait(v, last)
    assert private.ctl("clean", "--all", "--json").json == {"count": 1}
    private.stop()
    path = private.state / "ids"
    sound = path.read_bytes()
    path.write_bytes(b"0" + sound[1:])
    code, said = refused(private)
    assert code == 1 and 'file "ids"' in said and "damaged" in said and "at least 2)" in said, said
    r = check_store(private)
    assert r.returncode == 1 and "the file of ids: checksum" in r.stdout, r
    path.write_text("5000\n")  # as it is told to
    assert check_store(private).returncode == 0
    private.start()
    with private.connect() as v:
        wait(v, submit(v, {"kind": "noop"}))
        assert private.ctl("clean", "--all", "--json").json == {"count": 1}
    private.stop()
    path.unlink()
    private.start()
    with private.connect() as v:
        assert submit(v, {"kind": "noop"}) == "5001"
