"""Attempts that follow failed ones: how many, after what, when; each element by itself; voltd may die
meanwhile."""

import json
import re
import signal
import time

import pytest

from conftest import until
from jobs import JOBS, ended, get, sh, submit
from test_hold import now, restart

SECOND = 1000000
FAST = {"backoff_usec": 1000}
LONG = {"times": 3, "backoff_usec": 3600 * SECOND}


def waits(v, ident):
    """For its next attempt."""
    job = get(v, ident)
    return job["state"] == "queued" and job.get("wait") == "time" and job["attempt"] > 0


@pytest.mark.parametrize("spec, attempts, result", [
    (sh("exit 7", retry={"times": 2, **FAST}), 3, "exit"),
    (sh("exit 7", retry={"times": 2, "backoff_usec": 0}), 3, "exit"),
    (sh("exit 7", retry={"times": 2, **FAST, "exit_codes": [7]}), 3, "exit"),
    (sh("exit 8", retry={"times": 2, **FAST, "exit_codes": [7]}), 1, "exit"),
    (sh("[ $VOLT_ATTEMPT = 2 ]", retry={"times": 5, **FAST}), 2, "success"),
    (sh("kill -9 $$", retry={"times": 1, **FAST}), 2, "signal"),
    (sh("kill -9 $$", retry={"times": 1, **FAST, "on": ["exit"]}), 1, "signal"),
    (sh("sleep 600", timeout_usec=1000, retry={"times": 1, **FAST}), 2, "timeout"),
    (sh("sleep 600", timeout_usec=1000, retry={"times": 1, **FAST, "on": ["signal"]}), 1, "timeout"),
    ({"argv": ["/nowhere/at all"], "retry": {"times": 1, **FAST}}, 1, "exec_failed"),
    ({"argv": ["/nowhere/at all"], "retry": {"times": 1, **FAST, "on": ["exec_failed"]}}, 2, "exec_failed"),
    (sh("exit 3", success_codes=[3], retry={"times": 1, **FAST}), 1, "success"),
    (sh("true", success_codes=[3], retry={"times": 1, **FAST}), 2, "exit"),
    (sh("exit 7", retry={"times": 9, "backoff_usec": 3600 * SECOND, "max_total_usec": SECOND}), 1, "exit")])
def test_how_many(shared, spec, attempts, result):
    with shared.connect() as v:
        job = ended(v, submit(v, spec))
        assert (job["attempt"], job["result"]) == (attempts, result), job
        if result == "exit":
            assert job["exit_code"] == (job["exit_status"] or 1)


def test_what_an_attempt_leaves_behind_would_run_beside_the_next(shared):
    r = shared.submit("--retry=1", "--kill-mode=main", "true")
    assert r.code == 125 and "retry: not with kill_mode" in r.err, r


def test_elements_by_themselves(shared):
    with shared.connect() as v:
        ident = submit(v, sh("[ $VOLT_ATTEMPT = $VOLT_ARRAY_INDEX ]"), array={"first": 1, "last": 3},
                       retry={"times": 2, **FAST})
        assert ended(v, ident)["result"] == "success"
        assert [get(v, f"{ident}_{i}")["attempt"] for i in (1, 2, 3)] == [1, 2, 3]


def test_the_next_one_is_later(shared):
    """It shows that, and why; its slot is free meanwhile, and what waits for it waits for the last."""
    with shared.connect() as v:
        begin = now(shared)
        ident = submit(v, sh("[ $VOLT_ATTEMPT = 2 ]"), retry={"times": 1, "backoff_usec": SECOND // 2})
        after = submit(v, sh("true"), after=[{"job": ident}])
        assert ended(v, after)["result"] == "success"
        events = told(shared, ident, begin)
        first = next(e for e in events if e["event"] == "exited")
        second = [e for e in events if e["event"] == "starting"][1]
        assert (first["state"], first["result"], first["exit_status"], first["attempt"]) == ("queued", "exit", 1, 1)
        assert SECOND // 2 <= first["again_in_usec"] <= SECOND // 8 * 5 and "cause" not in first
        assert "again_in_usec" not in events[-1]
        assert second["at_usec"] >= first["at_usec"] + SECOND // 2 - 1


def test_status_says_what_it_waits_for(private):
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("exit 7"), delay_usec=1, retry=LONG)
        until(lambda: waits(v, ident), "its first attempt to fail")
        assert re.search(r"State: queued, attempt 2 of 4 in (59min \d+s|1h \d+min)\n", private.ctl("status", ident).out)
        job = get(v, ident)
        assert job["wait_ends_at_usec"] >= job["submitted_at_usec"] + LONG["backoff_usec"]
        waits_too = private.popen("voltctl", "wait", ident)
        assert re.fullmatch(r"voltctl: queued, attempt 2 of 4 in (59min \d+s|1h \d+min)\n", waits_too.stderr.readline())
        assert private.ctl("cancel", ident).code == 0
        waits_too.communicate()
        assert waits_too.returncode == 125


def test_an_array_that_backs_off_does_not_run(private):
    """It says how many of it back off, and when the first of them goes again; also behind a restart."""
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("[ $VOLT_ARRAY_INDEX = 1 ] || exit 7"), array={"first": 1, "last": 4}, retry=LONG)
        counts = {"total": 4, "queued": 3, "running": 0, "done": 1, "failed": 0, "backing_off": 3}
        until(lambda: get(v, ident)["counts"] == counts, "all of them to back off, or to have ended")
        for _ in range(2):
            with private.connect() as v:
                job = get(v, ident)
                assert job["counts"] == counts
                least = min(get(v, f"{ident}_{i}")["wait_ends_at_usec"] for i in (2, 3, 4))
                assert job["wait"] == "time" and abs(job["wait_ends_at_usec"] - least) < SECOND
                assert "0 running, 3 queued (3 until the next attempt)" in private.ctl("status", ident).out
                (line,) = private.ctl("why", ident).lines
                assert re.fullmatch(rf"job {ident}: 3 elements back off; {ident}_[234]: next attempt in \S+( \S+)?", line)
                (reason,) = v.ok(JOBS + "Why")["reasons"]
                assert (reason["wait"], reason["count"]) == ("time", 1) and "next attempt in" in reason["text"], reason
            restart(private)
        with private.connect() as v:
            v.ok(JOBS + "Cancel", {"ids": [ident]})


def test_why_of_what_backs_off_and_is_held(private):
    """It keeps the elements when their back-off is over. Also behind a restart."""
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("exit 7"), array={"first": 1, "last": 2}, retry=LONG)
        alone = submit(v, sh("exit 7"), retry=LONG)
        until(lambda: get(v, ident)["counts"].get("backing_off") == 2 and get(v, alone).get("wait") == "time", "all to back off")
    assert private.ctl("hold", ident, alone).code == 0
    for _ in range(2):
        for i in ident, f"{ident}_2", alone:
            hold, time = sorted(private.ctl("why", i).lines, key=lambda line: "held" not in line)
            assert hold == f"job {i}: held by its user" and "next attempt in" in time, (hold, time)
        assert private.ctl("why").lines == [f"2 jobs, such as {ident}: held by its user"]
        restart(private)
    assert private.ctl("release", ident, alone).code == 0
    for i in ident, f"{ident}_2", alone:
        (time,) = private.ctl("why", i).lines
        assert "next attempt in" in time, time
    assert private.ctl("cancel", ident, alone).code == 0


@pytest.mark.parametrize("array", [None, {"first": 1, "last": 1}])
def test_what_backs_off_has_started(private, array):
    """What waits for its start starts then, and after its end: also behind restarts."""
    def after_start(v):
        return ended(v, submit(v, sh(":"), after=[{"job": ident, "when": "start"}]))["result"]

    private.start()
    with private.connect() as v:
        ident = submit(v, sh("exit 7", retry=LONG, **({"array": array} if array else {})))
        one = f"{ident}_1" if array else ident
        until(lambda: get(v, one)["attempt"] == 1 and waits(v, one), "its back-off")
        assert after_start(v) == "success"
    restart(private)
    with private.connect() as v:
        assert after_start(v) == "success"
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        assert ended(v, ident)["result"] == "cancelled"
        assert after_start(v) == "success"
    restart(private)
    with private.connect() as v:
        assert after_start(v) == "success"


def told(daemon, ident, after):
    """What watchers are told of a job behind a cursor, to its end."""
    with daemon.connect() as watch:
        watch.send(JOBS + "Watch", {"after": after, "filter": {"ids": [ident]}}, more=True)
        events = []
        while not events or events[-1]["state"] != "done":
            events += watch.recv()["parameters"].get("events", [])
        return events


@pytest.mark.parametrize("array", [None, {"first": 1, "last": 2}])
@pytest.mark.parametrize("dies", [False, True])
def test_cancel_while_it_waits(private, array, dies):
    """Also behind a restart, which begins no attempt before its time."""
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("exit 7"), retry=LONG, **({"array": array} if array else {}))
        one = f"{ident}_2" if array else ident
        until(lambda: waits(v, one), "its first attempt to fail")
    if dies:
        restart(private)
    with private.connect() as v:
        assert waits(v, one) and get(v, one)["attempt"] == 1
        (why,) = v.ok(JOBS + "Why", {"id": one})["reasons"]
        assert why["wait"] == "time" and why["text"].startswith("next attempt in "), why
        v.ok(JOBS + "Cancel", {"ids": [ident]})
        assert ended(v, ident)["result"] == "cancelled"
        assert get(v, one)["attempt"] == 1


def test_an_element_that_has_not_failed_waits_with_its_array(shared):
    with shared.connect() as v:
        ident = submit(v, sh("true"), array={"first": 1, "last": 2}, delay_usec=3600 * SECOND, retry=LONG)
        for one in ident, f"{ident}_1":
            (why,) = v.ok(JOBS + "Why", {"id": one})["reasons"]
            assert why["wait"] == "time" and why["text"].startswith("begins in "), why
        v.ok(JOBS + "Cancel", {"ids": [ident]})


@pytest.mark.parametrize("array", [None, {"first": 1, "last": 2}])
def test_time_passes_while_voltd_is_dead(private, array):
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("[ $VOLT_ATTEMPT = 2 ]"), retry={"times": 1, "backoff_usec": 2 * SECOND},
                       **({"array": array} if array else {}))
        one = f"{ident}_2" if array else ident
        until(lambda: waits(v, one) or get(v, one)["attempt"] == 2, "its first attempt to fail")
        least = time.time()
    private.stop(signal.SIGKILL)
    until(lambda: time.time() > least + 2.5, "the time to be over")
    private.start()
    with private.connect() as v:
        assert ended(v, ident)["result"] == "success"
        assert get(v, one)["attempt"] == 2


def test_output_of_all_of_them(shared):
    with shared.connect() as v:
        ident = submit(v, sh("echo $VOLT_ATTEMPT; exit 1"), retry={"times": 2, **FAST})
        assert ended(v, ident)["attempt"] == 3
        assert shared.ctl("logs", ident).out == "1\n2\n3\n"


@pytest.mark.parametrize("dies", [False, True])
def test_attempts_are_listed(private, dies):
    """Also those of an earlier voltd, while the next one is waited for, and behind a cancel."""
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("echo $VOLT_ATTEMPT; [ $VOLT_ATTEMPT = 2 ]"),
                       retry={"times": 2, "backoff_usec": SECOND // 5})
        later = submit(v, sh("exit 9"), retry=LONG)
        until(lambda: waits(v, later), "its first attempt to fail")
        ended(v, ident)
    if dies:
        restart(private)
    text = private.ctl("status", ident).out
    assert re.search(r"Attempts: 1: exit 1 after \S+\n +2: success after \S+\n", text), text
    one, two = private.ctl("status", "--json", ident).json["attempts"]
    assert (one["result"], one["exit_status"], one["stdout_end"]) == ("exit", 1, 2), one
    assert two["attempt"] == 2 and "stdout_end" not in two and one["ended_at_usec"] <= two["started_at_usec"]
    assert "Attempts: 1: exit 9 after" in private.ctl("status", later).out
    assert private.ctl("cancel", later).code == 0
    assert "Attempts: 1: exit 9 after" in private.ctl("status", later).out


@pytest.mark.parametrize("spec, said", [
    (sh("exit 9", retry={"times": 5, **FAST, "exit_codes": [7]}), "1 of 6 was the last: exit 9 is not in --retry-on"),
    (sh("exit 9", retry={"times": 5, **FAST, "on": ["signal"]}), "1 of 6 was the last: exit 9 is not in --retry-on"),
    (sh("[ $VOLT_ATTEMPT = 1 ] || kill -9 $$; exit 7", retry={"times": 5, **FAST, "on": ["exit"]}),
     "2 of 6 was the last: SIGKILL is not in --retry-on"),
    ({"argv": ["/nowhere/at all"], "retry": {"times": 1, **FAST}}, "1 of 2 was the last: exec_failed is not in --retry-on"),
    (sh("exit 7", retry={"times": 5, "backoff_usec": 3600 * SECOND, "max_total_usec": SECOND, "exit_codes": [7]}),
     "1 of 6 was the last: exit 7, and the next would begin later than --max-total"),
    (sh("kill -9 $$", retry={"times": 5, "backoff_usec": 3600 * SECOND, "max_total_usec": SECOND, "exit_codes": [7]}),
     "1 of 6 was the last: SIGKILL, and the next would begin later than --max-total"),
    (sh("sleep 600", timeout_usec=1000, retry={"times": 5, "backoff_usec": 3600 * SECOND, "max_total_usec": SECOND}), None),
    (sh("exit 7", retry={"times": 1, **FAST, "max_total_usec": 3600 * SECOND}), None),
    (sh("exit 0", retry={"times": 1, **FAST, "max_total_usec": SECOND}), None),
    (sh("exit 7"), None)])
def test_why_there_are_no_more(shared, spec, said):
    with shared.connect() as v:
        ident = submit(v, spec)
        ended(v, ident)
        text = shared.ctl("status", ident).out
        assert re.findall(r"\S+ of \d+ was the last.*", text) == [said][: said is not None], text
        if said and said[0] == "1":
            assert f"  Attempts: {said}\n" in text
        array = submit(v, spec, array={"first": 1, "last": 1})
        ended(v, array)
        assert ("was the last" in shared.ctl("status", array + "_1").out) == bool(said)
        assert "was the last" not in shared.ctl("status", array).out


def test_output_of_one_of_them(private):
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("echo out $VOLT_ATTEMPT; echo err $VOLT_ATTEMPT >&2; exit 1"), output_split=True,
                       retry={"times": 2, "backoff_usec": 0})
        ended(v, ident)
    for n in "1", "2", "3":
        assert private.ctl("logs", f"--attempt={n}", ident).out == f"out {n}\n"
        assert private.ctl("logs", f"--attempt={n}", "--stderr", ident).out == f"err {n}\n"
    r = private.ctl("logs", "--attempt=4", ident)
    assert r.code == 1 and "attempt 4 is not known" in r.err and not r.out, r
    for more in ["-f"], ["-n", "1"], [ident + "_1"], ["--attempt=0"]:
        assert private.ctl("logs", "--attempt=1", *more, ident).code == 2, more


def test_of_many_attempts_the_latest_are_kept(private):
    """And the state is that of all of them, for whoever waits and for the next voltd."""
    private.start()
    with private.connect() as v:
        ident = submit(v, sh("echo $VOLT_ATTEMPT; [ $VOLT_ATTEMPT = 100 ]"), retry={"times": 200, "backoff_usec": 0})
        job = ended(v, ident)
    assert (job["attempt"], job["result"]) == (100, "success"), job
    for dies in False, True:
        if dies:
            restart(private)
        told = private.ctl("status", "--json", ident).json
        assert told["attempt"] == 100 and told["result"] == "success", told
        numbers = [a["attempt"] for a in told["attempts"]]
        assert numbers == list(range(65, 101)), numbers
        assert private.ctl("logs", "--attempt=66", ident).out == "66\n"
        assert private.ctl("logs", "--attempt=100", ident).out == "100\n"
        for gone, why in (64, "is not known"), (65, "that of earlier ones"):
            r = private.ctl("logs", f"--attempt={gone}", ident)
            assert r.code == 1 and why in r.err and not r.out, r


# --- options of volt-submit ----------------------------------------------------------------------

@pytest.mark.parametrize("options, spec", [
    (["--retry=3"], {"retry": {"times": 3}}),
    (["--retry=0"], {}),
    (["--retry=3", "--backoff=1s..1m"],
     {"retry": {"times": 3, "backoff_usec": SECOND, "backoff_max_usec": 60 * SECOND}}),
    (["--retry=3", "--backoff=500ms"],
     {"retry": {"times": 3, "backoff_usec": SECOND // 2, "backoff_max_usec": SECOND // 2}}),
    (["--retry=1", "--retry-on=timeout,signal,exit:75,100-102", "--max-total=2h"],
     {"retry": {"times": 1, "on": ["timeout", "signal", "exit"], "exit_codes": [75, 100, 101, 102],
                "max_total_usec": 7200 * SECOND}}),
    (["--retry=1", "--retry-on=exit_codes"], "exit_codes is not exit"),
    (["--retry=1", "--retry-on=exit:7,timeout,exec_failed,8"],
     {"retry": {"times": 1, "on": ["exit", "timeout", "exec_failed"], "exit_codes": [7, 8]}}),
    (["--retry=1", "--retry-on=7"], "exit:75"),
    (["--retry=1", "--retry-on=exit:256"], "exit:75"),
    (["--retry=1", "--retry-on=exit:"], "exit:75"),
    (["--retry=1", "--retry-on=,"], "is not exit"),
    (["--retry=1", "--retry-on=exit,lost"], "--on-lost=retry"),
    (["--retry=1", "--retry-on=output_limit"], "--output-limit: it is of all attempts together"),
    (["--retry=-1"], "0 to 1000"),
    (["--retry=1", "--backoff=soon"], "1s..1m"),
    (["--retry=1", "--backoff=1s.."], "1s..1m"),
    (["--retry=1", "--backoff=2s..1s"], "longer"),
    (["--max-total=x"], "10m"),
    (["--success=0,3-5"], {"success_codes": [0, 3, 4, 5]}),
    (["--success=255"], {"success_codes": [255]}),
    (["--success=5-3"], "0,3"),
    (["--success=256"], "0,3"),
    (["--success=0,"], "0,3"),
    (["--success=,"], "0,3"),
    (["--retries=3"], "--retry=N"),
    (["--retry-delay=3"], "--backoff=TIME")])
def test_options(shared, options, spec):
    r = shared.submit("--dry-run", "--no-env", "--no-limits", *options, "true")
    if isinstance(spec, str):
        assert r.code == 125 and spec in r.err, r
    else:
        assert r.code == 0 and {k: v for k, v in r.json.items() if k in ("retry", "success_codes")} == spec, r


@pytest.mark.parametrize("options, said", [
    (["--backoff=1s"], "--retry: needed"),
    (["--retry=1001"], "--retry: "),
    (["--retry=1", "--kind=noop"], "--retry: only kind exec")])
def test_what_voltd_refuses(shared, options, said):
    r = shared.submit(*options, *([] if "--kind=noop" in options else ["true"]))
    assert r.code == 125 and said in r.err, r


def failed(*words):
    """What is said of attempts that failed: N of how many, how, and that another one follows."""
    return [re.compile(rf"volt\w*(?:-submit)?: {w}, the next in \d+\w*") for w in words]


def says(r, *expected):
    """In this order, and nothing else of attempts."""
    lines = [line for line in r.err.splitlines() if "attempt" in line]
    assert len(lines) == len(expected) and all(p.fullmatch(x) for p, x in zip(failed(*expected), lines)), r


@pytest.mark.parametrize("how", ["--wait", "--follow"])
def test_wait_waits_for_the_last_one(shared, how):
    """And says of each attempt that failed that another one follows."""
    third = ("sh", "-c", "echo $VOLT_ATTEMPT; exit $((3 - VOLT_ATTEMPT))")
    r = shared.submit(how, "--retry=2", "--backoff=1ms", "--", *third)
    assert r.code == 0, r
    says(r, r"attempt 1 of 3 failed \(exit 2\)", r"attempt 2 of 3 failed \(exit 1\)")
    assert how == "--wait" or r.out == "1\n2\n3\n"
    r = shared.submit(how, "--quiet", "--retry=2", "--backoff=1ms", "--", *third)
    assert (r.code, r.err) == (0, ""), r
    r = shared.submit(how, "--array=7-8", "--retry=1", "--backoff=0", "--", "sh", "-c", "[ $VOLT_ARRAY_INDEX = 7 ] || kill -9 $$")
    ident = re.search(r"job (\d+)_8: attempt", r.err)[1]
    assert r.code == 137
    says(r, rf"job {ident}_8: attempt 1 of 2 failed \(SIGKILL\)")


def test_jobs_of_a_list_say_how_they_are_tried_again(private):
    """The specs of a file say so for themselves; a wait for jobs of any time looks at their specs."""
    private.start()
    (private.dir / "jobs").write_text("".join(f'{{"shell":"exit {n}","retry":{{"times":1,"backoff_usec":1000}}}}\n' for n in (4, 5)))
    r = private.submit("--wait", "-f", str(private.dir / "jobs"))
    assert r.code == 5
    assert sorted(re.findall(r"job (\d): attempt 1 failed \(exit (\d)\), the next in", r.err)) == [("1", "4"), ("2", "5")], r
    gate = private.dir / "gate"
    with private.connect() as v:
        ident = submit(v, sh(f"[ -e {gate} ] || exit 9"),
                       retry={"times": 1000, "backoff_usec": SECOND // 20, "backoff_max_usec": SECOND // 20})
        held = submit(v, sh("true"), hold=True)
        waiter = private.popen("voltctl", "wait", ident, held)
        assert re.fullmatch(rf"voltctl: job {ident}: attempt \d+ of 1001 failed \(exit 9\), the next in \d+ms\n",
                            waiter.stderr.readline())
        gate.touch()
        v.ok(JOBS + "Release", {"ids": [held]})
        waiter.communicate()
        assert waiter.returncode == 0


@pytest.mark.parametrize("more, watched", [({}, []), ({"on_lost": "retry"}, [{"ids": ["1"], "states": ["queued", "done"]}])])
def test_jobs_that_are_not_tried_again_are_not_watched(fake, more, watched):
    """Events of every job would cost voltd more than their ends do."""
    def answer(method, parameters):
        if method.endswith("SubmitBatch"):
            return [{"parameters": {"ids": ["1"], "rejected": [], "durable": True}}]
        if method.endswith("Wait"):
            return [{"parameters": {"left": 0, "total": 1, "failed": 0, "exit_code": 0}}]
        return [{"error": "org.varlink.service.MethodNotFound", "parameters": {"method": method}}]

    d = fake(answer)
    r = d.submit("--wait", "-f", "-", input=json.dumps({"argv": ["true"], **more}))
    assert r.code == 0, r
    until(lambda: [c["parameters"]["filter"] for c in d.fake.calls if c["method"].endswith("Watch")] == watched)


def test_wait_and_success(shared):
    assert shared.submit("--wait", "--success=0,3", "--", "sh", "-c", "exit 3").code == 0
    assert shared.submit("--wait", "--success=3", "--", "true").code == 1


# --- voltctl retry ---------------------------------------------------------------------------------

def repeated(r):
    """What the verb has told: {old id: new id}."""
    assert r.code == 0, r
    told = dict(re.findall(r"job (\S+) is submitted again as job (\S+)", r.err))
    assert list(told.values()) == r.lines, r
    return told


def test_a_new_job_of_an_ended_one(shared):
    with shared.connect() as v:
        old = submit(v, sh("echo a; exit 7"), key="once", labels={"x": "y"}, name="seven",
                     timeout_usec=600 * SECOND, success_codes=[7])
        ended(v, old)
        new = repeated(shared.ctl("retry", old))[old]
        ended(v, new)
        before, after = shared.ctl("show", "--json", old).json["spec"], shared.ctl("show", "--json", new).json["spec"]
        assert after.pop("labels") == {"x": "y", "retry_of": old} and after.pop("key") == f"voltctl retry {old}"
        assert before.pop("key") == "once" and before.pop("labels") and before == after
        assert get(v, new)["result"] == "success"
        assert shared.ctl("retry", "--failed", old).out == ""
        r = shared.ctl("retry", "--new", "--json", old).json
        assert r["retry_of"] == old and r["created"] and r["id"] not in (old, new)


def test_twice_is_once(shared):
    """The same command about the same job; the new one can be tried again as any other."""
    with shared.connect() as v:
        old, array = submit(v, sh("exit 7")), submit(v, sh("exit $VOLT_ARRAY_INDEX"), array={"first": 0, "last": 2})
        good = submit(v, sh("true"))
        for i in old, array, good:
            ended(v, i)
        told = repeated(shared.ctl("retry", "--failed", old, array, good))
        assert set(told) == {old, array}
        again = shared.ctl("retry", "--failed", old, array)
        assert (again.code, again.lines) == (0, list(told.values())), again
        assert f"job {old} was submitted again before, as job {told[old]}" in again.err
        assert shared.ctl("retry", "--failed", "--json", old).json == {
            "id": told[old], "retry_of": old, "created": False}
        ended(v, told[old])
        third = repeated(shared.ctl("retry", "--failed", told[old]))
        assert set(third) == {told[old]} and third[told[old]] not in told.values()
        assert set(repeated(shared.ctl("retry", "--new", old)).values()).isdisjoint([old, *told.values()])


@pytest.mark.parametrize("first, second, total", [([], ["--failed"], 3), (["--failed"], [], 2)])
def test_an_array_is_once_too(shared, first, second, total):
    """Whole, or what failed of it: one new job for the two, unless another one is asked for."""
    with shared.connect() as v:
        old = submit(v, sh("exit $VOLT_ARRAY_INDEX"), array={"first": 0, "last": 2})
        ended(v, old)
        new = repeated(shared.ctl("retry", *first, old))[old]
        assert get(v, new)["counts"]["total"] == total
        r = shared.ctl("retry", *second, old)
        assert (r.code, r.lines) == (0, [new]), r
        assert f"job {old} was submitted again before, as job {new}; --new" in r.err
        assert shared.ctl("retry", "--json", *second, old).json == {"id": new, "retry_of": old, "created": False}
        other = repeated(shared.ctl("retry", "--new", *second, old))[old]
        assert get(v, other)["counts"]["total"] == 5 - total


def test_a_key_of_another_job(shared):
    """A job of this user that has such a key for another reason is none that was submitted again."""
    with shared.connect() as v:
        old = submit(v, sh("exit 7"))
        ended(v, old)
        submit(v, sh("true"), key=f"voltctl retry {old}")
        r = shared.ctl("retry", old)
        assert (r.code, r.out) == (1, "") and f'key "voltctl retry {old}" belongs to job' in r.err, r


def test_those_that_match(private):
    """What has ended, of this user; ranges have gaps."""
    private.start()
    with private.connect() as v:
        old = [submit(v, sh("exit 7", name=name, labels={"day": "one"})) for name in ("a", "b", "b")]
        good = submit(v, sh("true", name="b"))
        for i in *old, good:
            ended(v, i)
        waits = submit(v, sh("true", name="b"), hold=True)
        for none in ["--failed"], [], ["--all", good]:
            assert private.ctl("retry", *none).code == 2, none
        assert set(repeated(private.ctl("retry", "--failed", "--name=b"))) == set(old[1:])
        r = private.ctl("retry", "--failed", "--label=day=one", "1-3")
        assert len(r.lines) == 3 and [i for i in old if f"job {i} is submitted again" in r.err] == old[:1], r
        r = private.ctl("retry", "--name=nobody")
        assert (r.code, r.out) == (0, "") and "no job matches" in r.err, r
        r = private.ctl("retry", "--all")
        assert f"job {good} is submitted again" in r.err and get(v, waits)["state"] == "queued", r
        r = private.ctl("retry", "900-903")
        assert (r.code, r.out) == (4, "") and "none of these 4 is a job" in r.err, r


def test_status_and_logs_of_those_that_match(private):
    private.start()
    with private.connect() as v:
        jobs = [submit(v, sh(f"echo out {n}; exit {n}", name=f"n{n}")) for n in range(4)]
        for i in jobs:
            ended(v, i)
    heads = [line.split()[1] for line in private.ctl("status", "--failed", "-n0").lines if " - n" in line]
    assert heads == jobs[1:]
    assert private.ctl("logs", "--name=n[02]").lines == [f"{jobs[0]}: out 0", f"{jobs[2]}: out 2"]
    assert private.ctl("logs", "--failed", jobs[0], jobs[3]).lines == ["out 3"]
    assert private.ctl("logs", "--failed", jobs[3], f"{jobs[0]}-{jobs[2]}").lines == [f"{jobs[i]}: out {i}" for i in (3, 1, 2)]
    r = private.ctl("logs", "--name=nobody")
    assert (r.code, r.out) == (0, "") and "no job matches" in r.err, r
    r = private.ctl("logs", f"{jobs[3]}-9")
    assert (r.code, r.lines) == (0, ["out 3"]) and "5 of the 6 ids are no jobs" in r.err, r
    r = private.ctl("show", "-p", "name", f"{jobs[2]}-5")
    assert (r.code, r.lines) == (0, ["name=n2", "", "name=n3"]) and "1 of the 3 ids are no jobs" in r.err, r
    assert private.ctl("why", "900-902").code == 4 and private.ctl("status").code == 2
    assert private.ctl("logs", "--attempt=1", "--failed", jobs[0]).code == 2


def test_nothing_of_these_has_failed(private):
    """It is said: the output would be that of a retry which went wrong."""
    private.start()
    assert private.submit("-w", "true").code == 0
    array = private.submit("--hold", "--array=1-2", "true").lines[0]
    private.ctl("cancel", array)
    for ids in (["1"], [array], ["1", array]):
        r = private.ctl("retry", "--failed", *ids)
        assert (r.code, r.out, r.err) == (0, "", "voltctl: 0 jobs submitted again: nothing of these has failed\n"), r
    private.submit("-w", "false")
    r = private.ctl("retry", "--failed", "1", "3")
    assert (r.code, r.lines) == (0, ["4"]) and "nothing" not in r.err, r


def test_failed_elements_of_an_array(shared):
    with shared.connect() as v:
        old = submit(v, sh("echo $VOLT_ARRAY_INDEX; [ $VOLT_ARRAY_INDEX = 5 ] || [ $VOLT_ARRAY_INDEX = 9 ]"), array={"first": 4, "last": 9, "at_once": 2})
        ended(v, old)
        new = repeated(shared.ctl("retry", "--failed", old))[old]
        ended(v, new)
        array = shared.ctl("show", "--json", new).json["spec"]["array"]
        assert (array["first"], array["last"], array["at_once"]) == (4, 8, 2)
        assert array["ranges"] == [{"first": 4, "last": 4}, {"first": 6, "last": 8}]
        whole = repeated(shared.ctl("retry", "--new", old))[old]
        assert get(v, whole)["counts"]["total"] == 6
        one = repeated(shared.ctl("retry", f"{old}_6"))[f"{old}_6"]
        ended(v, one)
        assert shared.ctl("logs", f"{one}_6").out == "6\n"
        assert get(v, one)["counts"]["total"] == 1


@pytest.mark.parametrize("options, indexes", [
    (["--result=exit"], [1]), (["--result=signal"], [2]), (["--result", "failed"], [1, 2]),
    (["--result=exit,success"], [0, 1, 3]), (["--failed", "--result=exit"], [1])])
def test_elements_of_an_array_with_a_result(shared, options, indexes):
    with shared.connect() as v:
        old = submit(v, sh("case $VOLT_ARRAY_INDEX in 1) exit 1 ;; 2) kill -9 $$ ;; esac"), array={"first": 0, "last": 3})
        ended(v, old)
        array = shared.ctl("show", "--json", repeated(shared.ctl("retry", *options, old))[old]).json["spec"]["array"]
    ranges = array.get("ranges", [array])
    assert [i for r in ranges for i in range(r["first"], r["last"] + 1)] == indexes
    r = shared.ctl("retry", "--result=timeout", old)
    assert (r.code, r.out, r.err) == (0, "", "voltctl: 0 jobs submitted again: nothing of these has ended so\n"), r


def test_those_that_waited_for_it(shared):
    with shared.connect() as v:
        old = submit(v, sh("exit 3"), retry={"times": 1, "backoff_usec": 0})
        two = submit(v, sh("true"), after=[{"job": old}])
        three = submit(v, sh("true"), after=[{"job": two}])
        other = submit(v, sh("true"), after=[{"job": old, "when": "any"}])
        assert [ended(v, i)["result"] for i in (three, other)] == ["dependency", "success"]
        told = repeated(shared.ctl("retry", "--with-dependents", old))
        assert list(told) == [old, two, three]
        spec = shared.ctl("show", "--json", told[three]).json["spec"]
        assert spec["after"] == [{"job": told[two], "when": "ok"}]
        assert ended(v, told[three])["result"] == "dependency"
        assert list(repeated(shared.ctl("retry", other))) == [other]


def after(shared, ident):
    return shared.ctl("show", "--json", ident).json["spec"].get("after")


def chain(v):
    """A job that failed, and one that waited for it."""
    old = submit(v, sh("exit 3"))
    two = submit(v, sh("true"), after=[{"job": old}])
    assert ended(v, two)["result"] == "dependency"
    return old, two


def refused(r, two, old):
    """That job `two` is not passed over job `old`, with what to type."""
    return (r.code, r.out) == (1, "") and r.err == (
        f"voltctl: job {two} is not submitted again: job {old}, for which it waited, was not; "
        f"try `voltctl retry --with-dependents {old}`, or --alone\n")


def test_what_never_began_does_not_pass_the_others(shared):
    """Cancelled, or ended for want of another: neither runs before that has done what it had to."""
    with shared.connect() as v:
        old, two = chain(v)
        r = shared.ctl("retry", two)
        assert refused(r, two, old), r
        alone = repeated(shared.ctl("retry", "--alone", two))[two]
        assert ended(v, alone)["result"] == "success" and after(shared, alone) is None
        # It is the job of before, whatever it would wait for now.
        r = shared.ctl("retry", two)
        assert (r.code, r.lines) == (0, [alone]) and "was submitted again before" in r.err, r
        held = submit(v, sh("true"), hold=True)
        three = submit(v, sh("true"), after=[{"job": held}])
        v.ok(JOBS + "Cancel", {"ids": [three]})
        ended(v, three)
        new = repeated(shared.ctl("retry", three))[three]
        assert after(shared, new) == [{"job": held, "when": "ok"}]
        v.ok(JOBS + "Release", {"ids": [held]})
        assert ended(v, new)["result"] == "success"
        # A job that had begun waits for nothing again.
        began = submit(v, sh("exit 3"), after=[{"job": held}])
        ended(v, began)
        assert after(shared, repeated(shared.ctl("retry", began))[began]) is None


def test_what_was_forgotten_is_not_waited_for(shared):
    with shared.connect() as v:
        old, two = chain(v)
        good, bad = chain(v)
        three = submit(v, sh("true"), after=[{"job": old, "when": "any"}, {"job": good}])
        assert ended(v, three)["result"] == "dependency"
        assert shared.ctl("clean", old).code == 0
        assert set(repeated(shared.ctl("retry", "--with-dependents", good))) == {good, bad, three}
        r = shared.ctl("retry", old, two)
        assert (r.code, r.out) == (4, "") and f"job {two} is not submitted again: job {old}, for which" in r.err, r
        r = shared.ctl("retry", two)
        assert refused(r, two, old), r


@pytest.mark.parametrize("options", [[], ["--new"]])
def test_what_was_submitted_again_before_is_waited_for(shared, options):
    """The latest of it, of whatever command."""
    with shared.connect() as v:
        old, two = chain(v)
        second = repeated(shared.ctl("retry", *options, old))[old]
        ended(v, second)
        third = repeated(shared.ctl("retry", *options, second))[second]
        new = repeated(shared.ctl("retry", two))[two]
        assert after(shared, new) == [{"job": third, "when": "ok"}]
        assert ended(v, new)["result"] == "dependency"
        r = shared.ctl("retry", new)
        assert refused(r, new, third), r


def backwards(v, edges):
    """Ended jobs, the first of which fails, and others before it that wait by an edit: for which, by place."""
    ids = [submit(v, sh("true"), hold=True) for _ in edges]
    bad = submit(v, sh("exit 3"), hold=True)
    for ident, places in zip(ids, edges):
        after = [{"job": [bad, *ids][i]} for i in places]
        assert v.ok(JOBS + "Edit", {"ids": [ident], "changes": {"after": after}})["count"] == 1
    v.ok(JOBS + "Release", {"ids": [*ids, bad]})
    assert {ended(v, i)["result"] for i in ids} == {"dependency"} and ended(v, bad)["result"] == "exit"
    return [bad, *ids]


def test_what_waits_for_a_later_one_is_behind_it(shared):
    """By an edit: the new jobs wait as the old ones did, in whatever order they were submitted."""
    with shared.connect() as v:
        bad, one, two = old = backwards(v, [[2], [0]])
        told = repeated(shared.ctl("retry", *sorted(old, key=int)))
        assert list(told) == [bad, two, one]
        assert after(shared, told[two]) == [{"job": told[bad], "when": "ok"}]
        assert after(shared, told[one]) == [{"job": told[two], "when": "ok"}]
        r = shared.ctl("retry", *old)
        assert (r.code, sorted(r.lines)) == (0, sorted(told.values())), r
        # Those that were not named.
        bad, one, two, three = backwards(v, [[0, 3], [1], [0]])
        told = repeated(shared.ctl("retry", "--with-dependents", bad))
        assert list(told) == [bad, three, one, two]
        assert {e["job"] for e in after(shared, told[one])} == {told[bad], told[three]}


def test_what_waits_for_what_was_submitted_again_is_behind_that(shared):
    with shared.connect() as v:
        old, two = chain(v)
        second = repeated(shared.ctl("retry", old))[old]
        ended(v, second)
        told = repeated(shared.ctl("retry", two, second))
        assert list(told) == [second, two]
        assert after(shared, told[two]) == [{"job": told[second], "when": "ok"}]
        # One that would wait for itself, by a label of somebody else.
        old = submit(v, sh("exit 3"))
        two = submit(v, sh("true"), after=[{"job": old}], labels={"retry_of": old})
        assert ended(v, two)["result"] == "dependency"
        assert list(repeated(shared.ctl("retry", two))) == [two]


def test_what_is_less_than_it_was_is_waited_for_as_a_whole(shared):
    with shared.connect() as v:
        array = {"first": 1, "last": 2}
        old = submit(v, sh("[ $VOLT_ARRAY_INDEX = 1 ]"), array=array)
        two = submit(v, kind="noop", array=array, after=[{"job": old, "each": True}])
        assert ended(v, two)["result"] == "dependency"
        one = repeated(shared.ctl("retry", "--failed", old))[old]
        new = repeated(shared.ctl("retry", two))[two]
        assert after(shared, new) == [{"job": one, "when": "ok"}] and get(v, new)["counts"]["total"] == 2


def test_labels_of_somebody_else(private):
    """A label that makes no sense is passed over."""
    private.start()
    with private.connect() as v:
        old = submit(v, sh("exit 3"), labels={"retry_of": "1"})
        two = submit(v, sh("true"), after=[{"job": old}])
        assert old == "1" and ended(v, two)["result"] == "dependency"
        r = private.ctl("retry", two)
        assert refused(r, two, old), r


def test_dependents_that_were_submitted_again_before(shared):
    """Each is named, and none is submitted twice, whichever command comes first."""
    with shared.connect() as v:
        old, two = chain(v)
        alone = repeated(shared.ctl("retry", "--alone", two))[two]
        r = shared.ctl("retry", "--with-dependents", old)
        assert r.code == 0 and len(r.lines) == 2 and r.lines[1] == alone, r
        assert f"job {two} was submitted again before, as job {alone}; --new submits another one" in r.err, r
        old, two = chain(v)
        told = repeated(shared.ctl("retry", "--with-dependents", old))
        assert after(shared, told[two]) == [{"job": told[old], "when": "ok"}]
        for ids in ([two], [two]), ([two, old], [old, two]):
            r = shared.ctl("retry", *ids[0])
            assert (r.code, r.lines) == (0, [told[i] for i in ids[1]]), r
            assert "is submitted again" not in r.err, r
        told = repeated(shared.ctl("retry", "--new", two, old))
        assert after(shared, told[two]) == [{"job": told[old], "when": "ok"}]


def test_dependents_wait_for_all_else(shared):
    """They were not named: what has failed besides, or has not been submitted again, is not passed over."""
    with shared.connect() as v:
        other, old = submit(v, sh("exit 4")), submit(v, sh("exit 3"))
        two = submit(v, sh("true"), after=[{"job": old}, {"job": other}])
        cause = ended(v, two)["cause"]["id"]
        rest = old if cause == other else other
        told = repeated(shared.ctl("retry", "--with-dependents", cause))
        assert {e["job"] for e in after(shared, told[two])} == {told[cause], rest}
        assert ended(v, told[two])["result"] == "dependency"


def test_what_success_was_waited_for_in_vain(shared):
    """With --failed the one that succeeded stays as it is, and so does what its failure would have been for."""
    with shared.connect() as v:
        good = submit(v, sh("true"))
        alarm = submit(v, sh("true"), after=[{"job": good, "when": "notok"}])
        assert ended(v, alarm)["result"] == "dependency"
        r = shared.ctl("retry", "--failed", good, alarm)
        assert refused(r, alarm, good), r


def test_what_is_refused_is_not_passed(shared):
    """What waited for it would run in spite of it."""
    with shared.connect() as v:
        old, two = chain(v)
        three = submit(v, sh("true"), after=[{"job": two}])
        ended(v, three)
        other = submit(v, sh("true"), key=f"voltctl retry {old}")
        r = shared.ctl("retry", old, two, three)
        assert (r.code, r.out) == (1, "") and f"belongs to job {other}" in r.err, r
        for waits, lacks in (two, old), (three, two):
            assert f"job {waits} is not submitted again: job {lacks}, for which it waited, was not" in r.err, r


def test_what_cannot_be_submitted_again(shared):
    with shared.connect() as v:
        held = submit(v, sh("true"), hold=True)
        r = shared.ctl("retry", held, "99999")
        assert r.code == 4 and f"job {held} has not ended" in r.err and "99999" in r.err and not r.out, r
        v.ok(JOBS + "Cancel", {"ids": [held]})
        new = repeated(shared.ctl("retry", held))[held]
        assert ended(v, new)["result"] == "success"
