"""volt-submit and voltctl against a real voltd."""

import json
import os
import pathlib
import resource
import signal
import subprocess

import pytest

from conftest import BIN, LIMIT, Result, processes, takes_interrupts, until


def ids(result):
    """The ids that volt-submit printed: all of standard output is ids."""
    assert all(line.isdigit() for line in result.lines), result
    return result.lines


def submit(daemon, *args, **kw):
    r = daemon.submit(*args, **kw)
    assert r.code == 0 and r.err == "", r
    [ident] = ids(r)
    return ident


def log(daemon, ident, *args):
    r = daemon.ctl("logs", *args, ident)
    assert r.code == 0, r
    return r.out


# ---- exit codes ----------------------------------------------------------------------


@pytest.mark.parametrize("args, code, text", [
    (["--", "true"], 0, ""),
    (["--", "sh", "-c", "exit 7"], 7, "exit status 7"),
    (["--", "sh", "-c", "kill -9 $$"], 137, "killed by signal 9 (SIGKILL)"),
    (["--", "sh", "-c", "kill -TERM $$"], 143, "killed by signal 15 (SIGTERM)"),
    (["--timeout=200ms", "--", "sleep", "600"], 124, "timeout"),
    (["--no-check", "--", "/nonexistent/program"], 127, "could not be started"),
    (["--no-check", "--", "no-such-program-anywhere"], 127, "could not be started"),
    (["--no-check", "--", "/etc/passwd"], 126, "could not be started"),
    (["--no-check", "--", "/"], 126, "could not be started"),
    (["--kind=noop"], 0, ""),
    (["--kind=sleep", "--duration=1ms"], 0, ""),
    (["--array", "1-5", "--", "sh", "-c", "exit $VOLT_ARRAY_INDEX"], 5, "5 jobs ended: 0 succeeded, 5 failed"),
])
def test_wait_exit_codes(shared, args, code, text):
    r = shared.submit("--wait", *args)
    assert r.code == code, r
    assert len(ids(r)) == 1
    assert text in r.err if text else r.err == "", r
    again = shared.ctl("wait", r.lines[0])
    assert again.code == code and again.out == "", again


def test_reasons_of_elements(shared):
    """Those of an array are named, the first ten of them."""
    r = shared.submit("--wait", "--array", "1-2", "--shell",
                      "[ $VOLT_ARRAY_INDEX = 2 ] && kill -9 $$; exit 1")
    said = [f"job {r.lines[0]}_1: exit status 1",
            f"job {r.lines[0]}_2: killed by signal 9 (SIGKILL)",
            "2 jobs ended: 0 succeeded, 2 failed"]
    assert r.code == 137 and r.err.splitlines() == [f"volt-submit: {s}" for s in said], r
    r = shared.submit("--wait", "--array", "1-1100", "--kind=noop")
    assert r.code == 0 and len(r.err.splitlines()) == 1, r
    r = shared.submit("--wait", "--array", "7-18", "--", "/nonexistent/{i}/x{i}")
    assert r.code == 127 and len(r.err.splitlines()) == 12, r
    for i in range(7, 17):
        assert f"_{i}: could not be started: exec: /nonexistent/{i}/x{i}: No such file" in r.err
    assert "volt-submit: and 2 more: voltctl list --elements --result=failed " in r.err
    r = shared.ctl("list", "--no-legend", "--result=exec_failed", *(f"{r.lines[0]}_{i}" for i in (1, 8, 9)))
    assert [line.split()[0][-2:] for line in r.lines] == ["_8", "_9"] and r.code == 4


def test_timeout_kills_what_ignores_term(shared):
    r = shared.submit("--wait", "--timeout=100ms", "--kill-after=100ms", "--", "sh", "-c",
                      "trap '' TERM; while :; do sleep 1000; done")
    assert r.code == 124


def test_no_daemon(private):
    assert private.submit("--wait", "true").code == 125
    assert private.ctl("list").code == 3


def test_cancelled_is_125(shared):
    p = shared.popen("volt-submit", "--wait", "--", "sleep", "600")
    ident = p.stdout.readline().strip()
    until(lambda: shared.job(ident)["state"] == "running", "the job to run")
    r = shared.ctl("cancel", ident)
    assert r.code == 0 and r.out == "" and "1 job asked" in r.err
    _, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 125 and f"job {ident}: cancelled" in err
    assert shared.job(ident)["result"] == "cancelled"


def test_bad_spec_is_125(shared):
    r = shared.submit("--priority=99999", "true")
    assert r.code == 125 and r.out == "" and "priority" in r.err
    r = shared.submit("--queue=none-of-that-name", "true")
    assert r.code == 125 and "queue" in r.err


def test_list_of_ids_that_are_not_there(shared):
    """Named, with the code of that, after what there is; not those that a filter leaves out."""
    a = wait(shared, "--array", "1-2", "--", "true")
    b = wait(shared, "-n", "b", "--", "true")
    r = shared.ctl("list", "--no-legend", "999999997", a, f"{a}_3", b, "999999998", a)
    assert r.code == 4 and [line.split()[0] for line in r.lines] == [a, b], r
    assert r.err == "".join(f"voltctl: no such job: {i}\n"
                            for i in ("999999997", f"{a}_3", "999999998"))
    r = shared.ctl("list", "--json", "999999997")
    assert r.code == 4 and r.json == [] and "999999997" in r.err
    for args in (["--name=b", a, b], ["-n", "1", a, b], ["--state=running", a], [f"{a}_1", a]):
        r = shared.ctl("list", *args)
        assert r.code == 0 and r.err == "", (args, r)
    assert shared.ctl("list", "--state=running", a, "999999997").code == 4


def test_no_such_job(shared):
    for verb in (["status"], ["show"], ["logs"], ["wait"], ["kill"]):
        r = shared.ctl(*verb, "999999999")
        assert r.code == 4 and r.out == "" and "no such job: 999999999" in r.err, (verb, r)


# ---- what the job gets ---------------------------------------------------------------


def test_environment_directory_umask(shared):
    sub = shared.dir / "sub dir"
    sub.mkdir(exist_ok=True)
    out = log(shared, wait(shared, "-d", "sub dir", "--umask=077", "-E", "TEST_X=a b", "--",
                           "sh", "-c", "pwd; umask; echo $TEST_X; echo $TEST_VOLT_DIR"))
    assert out.splitlines() == [str(sub), "0077", "a b", str(shared.dir)]
    out = log(shared, wait(shared, "--no-env", "-E", "ONLY=1", "--", "/usr/bin/env"))
    names = {line.split("=")[0] for line in out.splitlines()}
    assert names - {"LANG"} == {"ONLY", "VOLT_JOB_ID", "VOLT_ATTEMPT", "VOLT_ADDRESS", "VOLT_JOB", "HOME", "LOGNAME",
                                "USER", "SHELL", "PATH"}
    out = log(shared, wait(shared, "--", "env", "-i", "ONLY=1", "env"))
    assert out == "ONLY=1\n"


def test_the_limits_of_the_submitter(shared):
    """Not those of voltd; but its hard ones hold."""
    script = "ulimit -Sn; ulimit -Hn; ulimit -Sc"
    theirs = " ".join(map(str, resource.getrlimit(resource.RLIMIT_NOFILE)))
    r = limited(shared, "--wait", "--shell", script)
    assert log(shared, r.lines[0]).split() == ["300", "900", "0"], r
    out = shared.ctl("show", r.lines[0]).lines
    assert {"spec.limits.rlimits.nofile=300:900", "spec.limits.rlimits.core=0"} <= set(out)
    r = limited(shared, "--wait", "--no-limits", "--shell", script)
    assert " ".join(log(shared, r.lines[0]).split()[:2]) == theirs, r
    own = json.dumps({"shell": script, "limits": {"rlimits": {"nofile": "200:infinity"}}})
    r = limited(shared, "--wait", "-f", "-", input=own)
    assert log(shared, r.lines[0]).split() == ["200", theirs.split()[1], "0"], r
    r = shared.submit("-f", "-", input=own.replace("200", "infinity").replace(":infinity", ":1"))
    assert r.code == 125 and "limits.rlimits.nofile" in r.err, r


def limited(daemon, *args, input=None):
    return Result(subprocess.run(["prlimit", "--nofile=300:900", "--core=0", BIN / "volt-submit",
                                  *args], env=daemon.env, cwd=daemon.dir, input=input,
                                 capture_output=True, text=True, timeout=LIMIT))


def wait(daemon, *args):
    r = daemon.submit("--wait", *args)
    assert r.code == 0, r
    return r.lines[0]


def test_volt_variables(shared):
    ident = wait(shared, "--array", "4-5", "--", "sh", "-c",
                 "echo $VOLT_JOB_ID $VOLT_ARRAY_ID $VOLT_ARRAY_INDEX $VOLT_ATTEMPT $VOLT_ARRAY_INDEX")
    assert log(shared, f"{ident}_4") == f"{ident}_4 {ident} 4 1 4\n"
    assert log(shared, f"{ident}_5") == f"{ident}_5 {ident} 5 1 5\n"
    job = wait(shared, "--shell", "echo $VOLT_JOB_ID; echo $VOLT_ADDRESS")
    assert log(shared, job) == f"{job}\nunix:{shared.socket}\n"


def test_stdin_and_output(shared):
    (shared.dir / "in.txt").write_text("from a file\n")
    ident = wait(shared, "--stdin=in.txt", "--output=out.txt", "--", "cat")
    assert (shared.dir / "out.txt").read_text() == "from a file\n"
    assert shared.ctl("logs", ident).code == 1
    assert log(shared, wait(shared, "--", "cat")) == ""
    assert shared.ctl("logs", wait(shared, "--output=null", "--", "echo", "x")).code == 1
    both = wait(shared, "--error=file", "--shell", "echo out; echo err >&2")
    assert log(shared, both) == "out\n" and log(shared, both, "--stderr") == "err\n"
    fifo = shared.dir / "fifo"
    os.mkfifo(fifo)
    for args in ["--output=/dev/full"], [f"--output={fifo}"], [f"--stdin={fifo}"]:
        r = shared.submit(*args, "--wait", "--", "echo", "x")
        assert r.code == 125 and ": neither a regular file nor /dev/null" in r.err, r
    together = wait(shared, "--shell", "echo out; echo err >&2; echo out")
    r = shared.ctl("logs", "--stderr", together)
    assert r.code == 1 and "part of the output, except with --error=file" in r.err
    assert log(shared, together) == "out\nerr\nout\n"


def test_labels_name_priority_in_show(shared):
    ident = submit(shared, "-n", "named", "--label=a=b", "-p", "7", "--", "true")
    job = shared.job(ident)
    assert job["name"] == "named" and job["priority"] == 7
    assert job["spec"]["labels"] == {"a": "b"} and job["spec"]["argv"] == ["true"]
    lines = shared.ctl("show", ident).lines
    assert f"id={ident}" in lines and "spec.labels.a=b" in lines
    assert 'spec.argv=["true"]' in lines


def test_stop_signal(shared):
    p = shared.popen("volt-submit", "--wait", "--stop-signal=INT", "--shell",
                     "trap 'echo got INT; exit 3' INT; echo ready; while :; do sleep 0.05; done")
    ident = p.stdout.readline().strip()
    until(lambda: shared.ctl("logs", ident).out == "ready\n", "the job to be ready")
    assert shared.ctl("cancel", ident, "--quiet").err == ""
    p.communicate(timeout=LIMIT)
    assert log(shared, ident) == "ready\ngot INT\n"


# ---- many ----------------------------------------------------------------------------


def test_array_of_2000(shared):
    r = shared.submit("--array", "1-2000", "--wait", "--output=null", "--", "/bin/true")
    assert r.code == 0 and len(ids(r)) == 1, r
    assert "2000 jobs ended: 2000 succeeded, 0 failed" in r.err
    counts = shared.job(r.lines[0])["counts"]
    assert counts["total"] == counts["done"] == 2000 and counts["failed"] == 0
    stats = shared.ctl("stats", "--json").json
    totals, jobs = stats["totals"], stats["jobs"]
    assert totals["spawned"] == totals["completed"] + totals["live"]
    assert jobs["submitted"] == jobs["ended"] + sum(
        jobs[s] for s in ("queued", "starting", "running", "stopping"))

    def adds_up():
        stats = shared.ctl("stats", "--json").json
        return sum(w["polled"] for w in stats["workers"]) == stats["totals"]["polled"]

    until(adds_up, "no poll while the workers are asked one after the other")


@pytest.mark.parametrize("args, said", [
    (["--priority=1001", "true"], "--priority: must be an integer from -1000 to 1000"),
    (["--queue=x", "true"], "refused: there is no queue x; there are for you: default"),
    (["--kill-mode=x", "true"], '--kill-mode: must be one of "tree", "main"'),
    (["--if-exists=coalesce", "true"], "--if-exists: only with a key"),
    (["--label=a=" + "x" * 300, "true"], "--label: must have a name of 1 to 255 bytes"),
    (["--array=1-2000000", "true"], "--array: at most 1000000 elements"),
    (["--kind=sleep"], "--duration: kind sleep needs a duration"),
    (["--kind=sleep", "--duration=0"], "--duration: kind sleep needs a duration of more than"),
    ([""], "command: the command is empty"),
])
def test_a_refusal_names_the_option(shared, args, said):
    r = shared.submit(*args)
    assert r.code == 125 and r.err.startswith("volt-submit: " + said), r


def test_a_misspelt_field_is_named_with_the_nearest(shared):
    r = shared.submit("-f", "-", input='{"argv": ["true"]}\n{"argv": ["true"], "prioritty": 3}\n')
    assert r.code == 125 and "line 2: prioritty: is not known here; did you mean priority?" in r.err
    r = shared.submit("-f", "-", input='{"argv": ["true"], "array": {"first": 1, "lst": 3}}')
    assert "array.lst: is not known here; did you mean last?" in r.err, r


def test_an_option_that_is_given_twice(shared):
    """The last one counts, which is said; not where several are meant, or one is said twice."""
    r = shared.submit("--dry-run", "--name=a", "-n", "b", "-f", "-", input='{"argv": ["true"]}')
    assert r.json["name"] == "b"
    assert r.err == "volt-submit: --name is given twice: b counts, and not a\n"
    r = shared.submit("--dry-run", "--name=a", "-n", "a", "--label=a=1", "--label=b=2", "-E", "A=1",
                      "-E", "B=2", "true")
    assert r.code == 0 and r.err == "", r


def test_batch_file(shared):
    (shared.dir / "jobs.ndjson").write_text("".join(
        json.dumps({"argv": ["sh", "-c", f"exit {i % 3}"], "name": "batch"}) + "\n"
        for i in range(30)))
    r = shared.submit("-f", "jobs.ndjson", "--wait")
    assert r.code == 2 and len(set(ids(r))) == 30
    assert "30 jobs ended: 10 succeeded, 20 failed" in r.err
    jobs = shared.ctl("list", "--name=batch", "--result=exit", "--json").json
    assert len(jobs) == 20 and {j["exit_status"] for j in jobs} == {1, 2}


def test_batch_errors_name_the_line(shared):
    text = '{"kind":"noop"}\n\n{"kind":"noop","nonsense":1}\n{"argv":[]}\n{"kind":"noop"}\n'
    r = shared.submit("-f", "-", input=text)
    assert r.code == 125 and r.out == "" and "no job was taken" in r.err, r
    assert "standard input: line 3: " in r.err and "nonsense" in r.err
    assert "standard input: line 4: " in r.err and "argv" in r.err


def test_a_list_with_an_entry_that_is_too_large_is_refused_whole(shared):
    """The entry is named by its line. Beyond MaxBatch= voltd ends the connection."""
    def with_huge(mib):
        huge = '{"shell":"%s"}\n' % ("x" * (mib << 20))
        r = shared.submit("--no-env", "-f", "-", input=small * 2 + huge + small * 3)
        assert r.code == 125 and r.out == "" and "standard input: line 3: " in r.err, r
        return r

    small = '{"kind":"noop","name":"besides"}\n'
    r = with_huge(3)
    assert "MaxParseMemory=" in r.err and "no job was taken" in r.err, r
    r = with_huge(17)
    assert "the limit is 16777216" in r.err and "closed the connection" in r.err, r
    assert shared.ctl("list", "--json", "--all", "--name=besides").json == []


def test_batch_of_9000_noops(shared):
    r = shared.submit("-f", "-", "--wait", "--quiet", input='{"kind":"noop"}\n' * 9000)
    assert r.code == 0 and len(ids(r)) == 9000 and r.err == "", r


# ---- looking -------------------------------------------------------------------------


def test_list(private):
    private.start(config="[Queue]\nSlots=1\n")
    first = submit(private, "-n", "first", "--", "sleep", "600")
    second = submit(private, "-n", "second", "--label=x=y", "--", "true")
    done = wait(private, "--kind=noop")
    until(lambda: private.job(first)["state"] == "running", "the first to run")

    def listed(*args):
        r = private.ctl("list", "--json", *args)
        assert r.code == 0 and r.err == "", r
        return [j["id"] for j in r.json]
    assert listed() == [first, second]
    assert listed("--all") == [first, second, done]
    assert listed("--all", "--newest") == [done, second, first]
    assert listed("--all", "-n", "2") == [second, done]
    assert listed("--state=running") == [first]
    assert listed("--state=queued,done") == [second, done]
    assert listed("--result=success") == [done]
    assert listed("--name=second") == [second]
    assert listed("--label=x=y") == [second]
    assert listed("--label=x=z") == []
    assert listed("--orphans") == []
    assert listed(done) == [done]
    lines = private.ctl("list").lines
    assert lines[0].split()[:3] == ["ID", "NAME", "STATE"] and len(lines) == 3
    assert len(private.ctl("list", "--no-legend").lines) == 2
    assert "\033" not in private.ctl("list").out
    assert private.ctl("list", "--state=nonsense").code == 2
    assert private.job(second)["wait"] in ("slot", "turn")
    assert "queued, waiting for" in private.ctl("status", second).out
    private.ctl("cancel", "--all")


def test_list_is_whole_when_piped(shared):
    name = "n" * 200
    ident = submit(shared, "-n", name, "--kind=noop")
    assert name in shared.ctl("list", "--all", env={"COLUMNS": "40"}).out
    assert shared.ctl("wait", ident).code == 0


def test_pages(shared):
    shared.submit("-f", "-", "--wait", "-n", "paged", input='{"kind":"noop"}\n' * 1500)
    jobs = shared.ctl("list", "--json", "--all", "--name=paged").json
    assert len({j["id"] for j in jobs}) == 1500  # a page holds 1000 at most


def test_status(shared):
    ident = wait(shared, "-n", "shown", "--", "sh", "-c", "seq 1 30")
    r = shared.ctl("status", ident)
    assert r.code == 0 and r.err == ""
    assert f"{ident} - shown" in r.lines[0].replace("\u25cf ", "")
    assert "State: done, success\n" in r.out and "Command: sh -c 'seq 1 30'" in r.out
    assert r.lines[-10:] == [str(i) for i in range(21, 31)]
    assert shared.ctl("status", "-n", "2", ident).lines[-3:] == ["", "29", "30"]
    r = shared.ctl("status", ident, "999999999")
    assert r.code == 4 and "no such job" in r.err and "shown" in r.out


def test_control_characters_in_names(shared):
    ident = wait(shared, "-n", "a\033[31mred", "--kind=noop")
    assert "\033" not in shared.ctl("list", ident).out + shared.ctl("status", ident).out


# ---- output --------------------------------------------------------------------------


def test_logs_lines(shared):
    ident = wait(shared, "--", "seq", "1", "100000")
    everything = "".join(f"{i}\n" for i in range(1, 100001))
    assert log(shared, ident) == everything
    assert log(shared, ident, "-n", "3") == "99998\n99999\n100000\n"
    assert log(shared, ident, "-n", "0") == ""
    assert log(shared, ident, "-f") == everything
    assert log(shared, ident, "-n", "1000000") == everything
    ident = wait(shared, "--", "printf", "a\\nb")
    assert log(shared, ident, "-n", "1") == "b"


def test_logs_follow_to_the_end(private):
    """Also of a job that has not started when following begins."""
    private.start(config="[Queue]\nSlots=1\n")
    fifo = private.dir / "go"
    os.mkfifo(fifo)
    first = submit(private, "--", "sh", "-c", f"echo one; cat '{fifo}'; echo three")
    second = submit(private, "--", "echo", "second")
    follow = private.popen("voltctl", "logs", "-f", first)
    later = private.popen("voltctl", "logs", "-f", second)
    assert follow.stdout.readline() == "one\n"
    fifo.write_text("two\n")
    assert follow.communicate(timeout=LIMIT)[0] == "two\nthree\n"
    assert follow.returncode == 0
    assert later.communicate(timeout=LIMIT) == ("second\n", "") and later.returncode == 0


def test_submit_follow(shared):
    r = shared.submit("-F", "--", "sh", "-c", "echo out; exit 5")
    assert r.code == 5 and r.out == "out\n" and r.err.startswith("volt-submit: job ")
    r = shared.submit("-F", "--quiet", "--", "/nonexistent/x")
    assert r.code == 127 and r.out == ""


def test_logs_into_a_closed_pipe(shared):
    ident = wait(shared, "--", "seq", "1", "200000")
    p = shared.popen("voltctl", "logs", ident)
    p.stdout.readline()
    p.stdout.close()
    assert p.stderr.read() == ""
    assert p.wait(LIMIT) in (1, -signal.SIGPIPE)


# ---- steering ------------------------------------------------------------------------


def test_kill(shared):
    p = shared.popen("volt-submit", "--wait", "--", "sleep", "600")
    ident = p.stdout.readline().strip()
    until(lambda: shared.job(ident)["state"] == "running", "the job to run")
    assert shared.ctl("kill", "-s", "USR1", ident).code == 0
    p.communicate(timeout=LIMIT)
    assert p.returncode == 128 + signal.SIGUSR1
    r = shared.ctl("kill", ident)
    assert r.code == 1 and "not running" in r.err


def test_kill_is_for_elements_of_an_array(shared):
    p = shared.popen("volt-submit", "--wait", "--array=1-2", "--", "sleep", "600")
    ident = p.stdout.readline().strip()
    first = until(lambda: next((i for i in "12" if shared.job(f"{ident}_{i}")["state"] ==
                                "running"), None), "an element to run")
    r = shared.ctl("kill", ident)
    assert r.code == 1 and "it is an array: name an element of it, ID_INDEX" in r.err, r
    assert "ID_FIRST-LAST" in r.err
    assert shared.ctl("kill", f"{ident}_{first}-{first}", "-USR1").code == 0
    shared.ctl("wait", f"{ident}_{first}")
    assert shared.ctl("cancel", ident).code == 0
    p.communicate(timeout=LIMIT)
    assert p.returncode == 128 + signal.SIGUSR1
    r = shared.ctl("kill", ident)
    assert r.code == 1 and "not running (done)" in r.err, r


def test_cancel_by_filter(shared):
    r = shared.submit("--array", "1-50", "-n", "doomed", "--", "sleep", "600")
    r2 = shared.ctl("cancel", "--name=doomed", "--json")
    assert r2.code == 0 and r2.json["count"] > 0
    assert shared.ctl("wait", r.lines[0]).code == 125
    assert shared.job(r.lines[0])["counts"]["done"] == 50


def test_cancel_by_ids_and_filter(shared):
    """Both must match: an id does not widen a filter, nor a filter the ids."""
    a, b = (shared.submit("--kind=sleep", "--duration=1h", "-n", n).out.strip() for n in "ab")
    until(lambda: shared.ctl("list", "--no-legend", a, b).out.count("running") == 2)
    assert "0 jobs" in shared.ctl("cancel", "--name=a", b).err
    assert shared.ctl("list", "--no-legend", a, b).out.count("running") == 2
    assert "1 job asked" in shared.ctl("cancel", "--name=a", a, b).err
    assert shared.ctl("wait", a).code == 125
    assert shared.job(b)["state"] == "running"
    assert "1 job asked" in shared.ctl("cancel", b).err


def test_the_same_id_twice_is_one_job(shared):
    ident = shared.submit("--wait", "--", "sh", "-c", "exit 3").out.strip()
    other = wait(shared, "true")
    r = shared.ctl("wait", ident, other, ident, other, ident)
    assert r.code == 3 and "2 jobs ended: 1 succeeded, 1 failed" in r.err
    assert "ended" not in shared.ctl("wait", ident, ident).err
    with shared.connect() as v:
        got = v.ok("org.voltd.jobs.Wait", {"ids": [ident, ident]})
        assert got["failed"] == 1 and len(got["jobs"]) == 1


def test_events_after_one_of_another_store(shared):
    r = shared.ctl("events", "--after", "999999999999")
    assert r.code == 2 and r.err.startswith("voltctl: --after: "), r


def test_events_of_a_job_that_is_not_there(shared):
    r = shared.ctl("events", "999999")
    assert r.code == 4 and "no such job: 999999" in r.err


def test_interrupt_leaves_the_job_running(shared):
    p = shared.popen("volt-submit", "--wait", "--", "sleep", "600")
    ident = p.stdout.readline().strip()
    until(lambda: shared.job(ident)["state"] == "running", "the job to run")
    until(lambda: takes_interrupts(p), "volt-submit to wait")
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 130 and f"voltctl wait {ident}" in err
    assert shared.job(ident)["state"] == "running"
    shared.ctl("cancel", ident)


# ---- JSON ----------------------------------------------------------------------------


def test_wait_json_is_ndjson(shared):
    r = shared.submit("--wait", "--json", "--array", "1-3", "--", "sh", "-c", "exit $VOLT_ARRAY_INDEX")
    events = [json.loads(line) for line in r.lines]
    assert r.code == 3 and r.err == ""
    assert events[0]["event"] == "submitted"
    assert events[-1]["event"] == "finished" and events[-1]["exit_code"] == 3
    ident = events[0]["id"]
    ended = {e["id"]: e["exit_status"] for e in events if e["event"] == "exited"}
    assert ended == {f"{ident}_{i}": i for i in (1, 2, 3)} or any(
        e["event"] == "snapshot" for e in events)


def test_json_of_every_verb(shared):
    ident = wait(shared, "--kind=noop")
    for verb in (["list", "--all"], ["list", "-o", "json"], ["show", ident], ["status", ident],
                 ["stats"], ["tasks"], ["config"], ["reload"], ["version"], ["cancel", ident]):
        args = verb if "-o" in verb else [*verb, "--json"]
        r = shared.ctl(*args)
        assert r.code == 0 and r.err == "", (verb, r)
        assert r.json is not None


def test_wait_json_for_what_has_ended(shared):
    ident = wait(shared, "--kind=noop")
    lines = [json.loads(line) for line in shared.ctl("wait", "--json", ident).lines]
    assert [e["event"] for e in lines] == ["snapshot", "finished"]
    assert (lines[-1]["total"], lines[-1]["failed"], lines[-1]["exit_code"]) == (1, 0, 0)


def test_a_submission_that_is_too_large(shared):
    r = shared.submit("true", env={f"BIG{i}": "x" * 100000 for i in range(3)})
    assert r.code == 125 and "262144" in r.err and "--no-env" in r.err, r
    assert shared.submit("--no-env", "--wait", "true",
                         env={f"BIG{i}": "x" * 100000 for i in range(3)}).code == 0


def test_events(shared):
    p = shared.popen("voltctl", "events", "--json", "--name=watched", "-n", "3")
    # The watch has begun when its connection shows an event of a job made after it.
    def submitted():
        submit(shared, "-n", "watched", "--kind=noop")
        return p.poll() is not None
    until(submitted, "three events")
    out, err = p.communicate(timeout=LIMIT)
    events = [json.loads(line) for line in out.splitlines()]
    assert p.returncode == 0 and err == "" and len(events) == 3
    assert [e["cursor"] for e in events] == sorted(e["cursor"] for e in events)


def test_stats_text_and_watch(shared):
    r = shared.ctl("stats")
    assert r.code == 0 and r.err == ""
    for word in ("polled", "stolen", "parked", "lifo_hits", "global_batch_fetches", "total"):
        assert word in r.out
    p = shared.popen("voltctl", "stats", "--watch=0.1", "--json")
    first, second = json.loads(p.stdout.readline()), json.loads(p.stdout.readline())
    assert second["uptime_usec"] > first["uptime_usec"]
    p.terminate()
    p.communicate(timeout=LIMIT)


def test_tasks(shared, private):
    """Every voltd says what runs; one with VOLT_DEBUG=leaves also what its tasks wait on."""
    r = shared.ctl("tasks")
    assert r.code == 0 and r.lines[0].split()[:3] == ["COUNT", "TYPE", "STATE"]
    rows = shared.ctl("tasks", "--json").json["tasks"]
    assert all(t["count"] > 0 and t["state"] in ("running", "queued", "waiting") for t in rows)
    assert any(t["state"] == "running" for t in rows)  # the one that answers
    private.env["VOLT_DEBUG"] = "leaves"
    private.start()
    rows = private.ctl("tasks", "--json").json["tasks"]
    assert any(t["waits_on"] == "volt_io (read)" and t["oldest_usec"] >= t["longest_usec"] > 0
               for t in rows), rows
    assert any("volt_io (read)" in line for line in private.ctl("tasks").lines)


def test_config_and_reload(private):
    private.start(config="[Queue]\nSlots=3\n")
    assert "Queue.Slots=3" in private.ctl("config").lines
    private.config.write_text("[Queue]\nSlots=5\n")
    assert private.ctl("reload").code == 0
    assert "Queue.Slots=5" in private.ctl("config").lines
    private.config.write_text("[Queue]\nSlots=many\n")
    r = private.ctl("reload")
    assert r.code == 1 and "Slots" in r.err
    assert "Queue.Slots=5" in private.ctl("config").lines


def test_version(shared):
    r = shared.ctl("version")
    assert r.code == 0 and r.lines[0].startswith("voltctl ") and r.lines[1].startswith("voltd ")


# ---- the end, and after it -----------------------------------------------------------


def test_shutdown_cancel_wait(private):
    private.start()
    ident = submit(private, "--quiet", "--array", "1-20", "--", "sleep", "600")
    until(lambda: private.job(ident)["counts"]["running"] > 0, "one to run")
    r = private.ctl("shutdown", "--cancel", "--wait")
    assert r.code == 0 and r.out == "", r
    assert private.process.wait(LIMIT) == 0
    assert processes(str(private.dir)) == []
    assert not private.socket.exists()


def test_wait_over_a_restart(private):
    """The job survives the daemon, and whoever waits for it gets its exact end."""
    private.start()
    go = private.dir / "go"
    os.mkfifo(go)
    p = private.popen("volt-submit", "--wait", "--", "sh", "-c", f"cat '{go}'; exit 9")
    ident = p.stdout.readline().strip()
    until(lambda: private.job(ident)["state"] == "running", "the job to run")
    private.stop(signal.SIGKILL)
    private.start()
    assert private.job(ident)["state"] in ("starting", "running")
    go.write_text("")
    _, err = p.communicate(timeout=LIMIT)
    assert "connected again" in err
    assert p.returncode == 9, err


def test_wait_over_a_restart_without_the_store(private):
    """The job survives the daemon; whoever waits is told what can be known."""
    private.start()
    go = private.dir / "go"
    os.mkfifo(go)
    p = private.popen("volt-submit", "--wait", "--", "sh", "-c", f"cat '{go}'; exit 9")
    ident = p.stdout.readline().strip()
    until(lambda: private.job(ident)["state"] == "running", "the job to run")
    private.stop(signal.SIGKILL)
    private.lose_store()
    private.start()
    until(lambda: [j for j in private.ctl("list", "--orphans", "--json").json
                   if j["id"] == ident], "the orphan")
    go.write_text("")
    _, err = p.communicate(timeout=LIMIT)
    assert "connected again" in err
    assert p.returncode in (9, 125), err
    if p.returncode == 125:
        assert "--orphans" in err or "lost" in err


@pytest.mark.parametrize("verb", ["list", "cancel", "clean", "events"])
@pytest.mark.parametrize("option, word, why", [
    ("--state", "runing", '"runing" is not known here; did you mean running?'),
    ("--result", "faild", '"faild" is not known here; did you mean failed?'), ("--result", "purple", "must be one of ")])
def test_a_filter_that_is_not_one(shared, verb, option, word, why):
    r = shared.ctl(verb, f"{option}={word}")
    assert r.code == 2 and r.err.startswith(f"voltctl: {option}: {why}") and r.out == "", r


def test_a_submission_of_too_many_words(shared):
    r = shared.submit("--no-env", "--", "true", *map(str, range(60000)))
    assert r.code == 125 and "the message has too many" in r.err, r
