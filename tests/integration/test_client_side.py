"""volt-submit and voltctl on their own: usage, help, dry runs, and a scripted daemon."""

import base64
import json
import os
import resource
import signal
import subprocess
import threading

import pytest

from conftest import BIN, LIMIT, until

VERBS = ["list", "status", "show", "logs", "wait", "events", "cancel", "kill", "stats",
         "config", "reload", "shutdown", "version"]


@pytest.fixture
def alone(private):
    """No daemon anywhere."""
    private.env["VOLT_ADDRESS"] = f"unix:{private.dir}/nobody.sock"
    return private


# ---- usage ---------------------------------------------------------------------------


def test_help(alone):
    for args in (["--help"], ["-h"]):
        r = alone.submit(*args)
        assert r.code == 0 and r.err == ""
        assert r.out.startswith("Usage: volt-submit")
        for word in ("--timeout", "--array", "Examples:", "Exit codes", "124"):
            assert word in r.out
    r = alone.ctl("--help")
    assert r.code == 0 and r.err == ""
    for verb in VERBS:
        assert f"\n  {verb}" in r.out
        a, b = alone.ctl(verb, "--help"), alone.ctl("help", verb)
        assert a.code == b.code == 0 and a.out == b.out and a.err == ""
        assert a.out.startswith(f"Usage: voltctl {verb}") and "Exit codes" in a.out


def test_help_fits_90_columns(alone):
    for out in [alone.submit("--help").out, alone.ctl("--help").out,
                *(alone.ctl(v, "--help").out for v in VERBS)]:
        for line in out.splitlines():
            assert len(line) <= 90, line


@pytest.mark.parametrize("args, text", [
    (["--tmeout=3", "true"], "did you mean --timeout"),
    (["--frobnicate", "true"], "unknown option --frobnicate"),
    (["-Z", "true"], "unknown option -Z"),
    (["--timeout"], "--timeout needs a value"),
    (["--wait=1", "true"], "--wait takes no value"),
    ([], "a command is needed"),
    (["--timeout", "soon", "true"], "soon is not a time"),
    (["--array", "9-1", "true"], "9-1 is not a list"),
    (["--priority", "high", "true"], "high is not a number"),
    (["--umask", "9", "true"], "9 is not an octal number"),
    (["--stop-signal", "SIGNOPE", "true"], "SIGNOPE is not a signal"),
    (["--label", "x", "true"], "a value is needed"),
    (["-E", "CERTAINLY_NOT_SET", "true"], "not set here"),
    (["-f", "x", "true"], "a command besides --file"),
    (["--shell", "true", "true"], "a command besides --shell"),
    (["-f", "/nonexistent/x"], "/nonexistent/x: No such file"),
    (["-f", "/"], "/: Is a directory"),
    (["--umask", "1777", "true"], "1777 is not an octal number from 0 to 777"),
    (["--umask", "-1", "true"], "-1 is not an octal number from 0 to 777"),
    (["--stop-signal", "RTMAX+1", "true"], "RTMAX+1 is not a signal"),
    (["--stop-signal", "65", "true"], "65 is not a signal"),
    (["--kind", "noop", "true"], "kind noop runs no command, but there is one: true"),
    (["--label", "=x", "true"], "a name is needed before ="),
    (["-n", b"\xff", "true"], "--name: not UTF-8"),
    (["-d", b"\xff", "true"], "--chdir: "),
    (["--timeout=", "true"], "--timeout: a value is needed"),
    (["-d", "", "true"], "--chdir: a value is needed"),
    (["-p", "9" * 30, "true"], "is not a number from -1000 to 1000"),
    (["true", b"\xff"], "argument 1 is not UTF-8"),
])
def test_submit_usage(fake, args, text):
    """Mistakes of usage are 125 with a message, and nothing on standard output."""
    d = fake(lambda *_: [None])
    r = d.submit(*args)
    assert r.code == 125 and r.out == "" and text in r.err, r
    assert r.err.startswith("volt-submit: ")


@pytest.mark.parametrize("args, text", [
    (["sbatch"], "no verb sbatch; use `volt-submit COMMAND`"),
    (["stop", "1"], "no verb stop; use `voltctl cancel ID`"),
    (["ps"], "no verb ps; use `voltctl list`"),
    (["lsit"], "did you mean list"),
    (["frobnicate"], "unknown verb frobnicate"),
    (["list", "--sate=x"], "did you mean --state"),
    (["--adress", "x", "list"], "did you mean --address"),
    (["status"], "an id is needed"),
    (["logs", "-f", "1-20000"], "--follow: at most 15000 ids"),
    (["logs", "-n", "x", "1"], "x is not a number"),
    (["cancel"], "ids, a filter or --all"),
    (["clean"], "ids, a filter, --older-than, --keep or --all"),
    (["clean", "--quiet"], "ids, a filter, --older-than, --keep or --all"),
    (["clean", "--all", "3"], "--all and ids are too much"),
    (["kill", "-s", "NOPE", "1"], "NOPE is not a signal"),
    (["stats", "1"], "nothing is expected"),
    (["list", "-o", "xml"], '--output: "xml" is neither table, wide, json nor ndjson'),
    (["list", "-o", "id,,state"], '--output: "" is neither'),
    (["list", "-o", "id,state,ID"], '--output: "ID" is neither'),
    (["list", "-o", "-id"], '--output: "-id" is neither'),
    (["list", "--sort=id,colour"], '--sort: "colour" is not one of the columns, each once: id, index'),
    (["list", "--sort=id,-id"], '--sort: "-id" is not'),
    (["help", "me"], "unknown verb me"),
    (["shutdown", "12"], "12: nothing is expected"),
    (["reload", "x"], "x: nothing is expected"),
    (["config", "x"], "x: nothing is expected"),
    (["version", "x"], "x: nothing is expected"),
    (["status", "1nightly"], "1nightly is not a job id, such as 17, 17_3, 17_[1-3,7], 12-40, @last or @last_3"),
    (["status", "17_[1-3"], "17_[1-3: [1-3 is not a list of indexes, such as [1-3,7] or [1-9:2]"),
    (["hold", "17_[]"], "17_[]: [] is not a list of indexes"),
    (["hold", "17_["], "17_[: [ is not a list of indexes"),
    (["cancel", "17_[1-3%2]"], "[1-3%2] is not a list of indexes"),
    (["cancel", "17_[3-1]"], "[3-1] is not a list of indexes"),
    (["cancel", "12-40_[1,2]"], "12-40_[1,2] is not a job id"),
    (["list", "1x_[1,2]"], "1x_[1,2] is not a job id"),
    (["list", "_[1]"], "_[1] is not a job id"),
    (["pause", "1_[2,3]4"], "[2,3]4 is not a list of indexes"),
    (["logs", "1_[1-2],2"], "2 behind an element"),
    (["logs", "2", "1_[1-1000000]"], "1_[1-1000000]: more than 1000000 jobs"),
    (["show", ""], "an empty word is not a job id"),
    (["--address=", "list"], "--address: a value is needed"),
    (["list", "--name", ""], "--name: a value is needed"),
    (["stats", "--watch="], "--watch: a value is needed"),
    ([""], "a verb is needed"),
    (["logs", "017"], "017 is not a job id"),
    (["wait", "1", "1_x"], "1_x is not a job id"),
    (["list", "1_-1"], "1_-1 is not a job id"),
    (["events", "1x"], "1x is not a job id"),
    (["cancel", b"\xff"], "is not a job id"),
    (["kill", "1 "], "1  is not a job id"),
    (["status", "18446744073709551616"], "18446744073709551616 is not a job id"),
    (["wait", "1", "9" * 99], "is not a job id"),
    (["list", "1_9223372036854775808"], "1_9223372036854775808 is not a job id"),
    (["list", "--name", b"\xff"], "--name: not UTF-8"),
    (["cancel", "--state", b"\xff"], "--state: not UTF-8"),
    (["cancel", "--state", ""], "--state: a value is needed"),
    (["list", "--result=,"], "--result: a value is needed"),
    (["list", "-n", " -1"], " -1 is not a number"),
    (["list", "-n", "+1"], "+1 is not a number"),
    (["stats", "--watch=0"], "0 is not a time from 100ms to 15s"),
    (["stats", "--watch=1min"], "1min is not a time from 100ms to 15s"),
])
def test_ctl_usage(alone, args, text):
    r = alone.ctl(*args)
    assert r.code == 2 and r.out == "" and text in r.err, r


def test_long_names_are_not_called_missing(alone):
    name = "X" * 300
    assert json.loads(alone.submit("--dry-run", "-E", name + "=1", "true").out)["env"][name]
    assert json.loads(alone.submit("--dry-run", "--label", name + "=1", "true").out)["labels"][name]


def test_signals_by_every_name(alone):
    for text, name in (("9", "SIGKILL"), ("sigkill", "SIGKILL"), ("RTMIN", "SIGRTMIN+0"),
                       ("rtmin+3", "SIGRTMIN+3"), ("RTMAX", "SIGRTMIN+30"),
                       ("SIGRTMAX-1", "SIGRTMIN+29"), ("40", "SIGRTMIN+6")):
        r = alone.submit("--dry-run", "--stop-signal", text, "true")
        assert r.json["stop_signal"] == name, r


def test_version(alone):
    assert alone.submit("--version").out.startswith("volt-submit 0.")
    assert alone.ctl("--version").out.startswith("voltctl 0.")


# ---- no daemon -----------------------------------------------------------------------


def test_no_daemon_names_every_path(alone):
    del alone.env["VOLT_ADDRESS"]
    alone.env["XDG_RUNTIME_DIR"] = str(alone.dir)
    r = alone.submit("--wait", "--no-autostart", "true")
    assert r.code == 125 and r.out == ""
    assert f"{alone.dir}/voltd/voltd.sock" in r.err and "volt-submit starts one" in r.err
    if not os.path.exists("/run/voltd/voltd.sock"):
        assert "/run/voltd/voltd.sock" in r.err
    r = alone.ctl("--user", "stats")
    assert r.code == 3 and f"{alone.dir}/voltd/control.sock" in r.err
    assert "/run/voltd" not in r.err
    for verb in (["list"], ["status", "1"], ["wait", "nightly"], ["cancel", "x_[1,2]"], ["config"], ["shutdown"]):
        assert alone.ctl("--user", *verb).code == 3


def test_address_forms(alone):
    for form in (f"unix:{alone.dir}/n.sock", f"{alone.dir}/n.sock"):
        r = alone.ctl("--address", form, "list")
        assert r.code == 3 and f"{alone.dir}/n.sock" in r.err
    r = alone.ctl("list", "--address", "tcp:localhost:80")
    assert r.code == 3 and "neither unix:PATH nor a path" in r.err
    r = alone.ctl("list", "--address", "/" + "x" * 107)
    assert r.code == 3 and "108 bytes" in r.err
    for path in alone.dir, "/etc/passwd":
        r = alone.ctl("--address", path, "list")
        assert r.code == 3 and f"{path}: it is no socket" in r.err
    assert "/a/control.sock" in alone.ctl("--address", "/a/j.sock", "stats").err
    r = alone.ctl("--control-address=/b/c.sock", "stats")
    assert "/b/c.sock" in r.err


def test_tmp_directory_of_others_is_not_trusted(alone):
    """/tmp/voltd-<uid> counts only when it is ours and closed to others."""
    path = f"/tmp/voltd-{os.getuid()}"
    del alone.env["VOLT_ADDRESS"]
    alone.env.pop("XDG_RUNTIME_DIR", None)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pytest.skip(f"{path} is in use")
    try:
        os.chmod(path, 0o755)
        r = alone.submit("--user", "true")
        assert r.code == 125 and "is not trusted" in r.err
    finally:
        os.rmdir(path)


# ---- dry runs: the spec --------------------------------------------------------------


@pytest.mark.parametrize("replies, code, said", [
    ([{"error": "org.varlink.service.InvalidParameter", "parameters": {"parameter": "dry_run", "reason": "is not known here"}}],
     0, "dry run: this voltd is an older one, and has not checked it\n"),
    ([{"error": "org.voltd.jobs.Refused", "parameters": {"reason": "no"}}], 125, "dry run: it would be refused\n"),
    ([{"error": "org.varlink.service.InvalidParameter", "parameters": {"parameter": "spec.x", "reason": "is odd"}}],
     125, "dry run: it would be refused\n"),
    ([None], 125, "MaxConnectionsPerUser= allow\n")])
def test_what_a_dry_run_is_told(fake, replies, code, said):
    """It asks for no job whatever the answer; what was not asked to the end is not called refused."""
    asked = []

    def answer(method, parameters):
        asked.append((method, parameters.get("dry_run")))
        return replies

    r = fake(answer).submit("--dry-run", "--no-env", "true")
    assert r.code == code and r.err.endswith(said) and r.json["argv"] == ["true"], r
    assert set(asked) == {("org.voltd.jobs.Submit", True)}, asked


def dry(daemon, *args, **kw):
    r = daemon.submit("--dry-run", *args, **kw)
    assert r.code == 0 and r.err == "", r
    return r.json


def test_spec_captures(alone):
    spec = dry(alone, "echo", "a b", "--name=x")
    assert spec["argv"] == ["echo", "a b", "--name=x"]
    assert spec["cwd"] == str(alone.dir)
    assert spec["env"] == {k: v for k, v in alone.env.items()}
    old = os.umask(0o027)
    try:
        assert dry(alone, "true")["umask"] == "027"
    finally:
        os.umask(old)
    names = {"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile",
             "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"}
    limits = dry(alone, "--", "true")["limits"]["rlimits"]
    assert limits.pop("*") == "infinity" and limits.keys() < names
    for name in names - {"locks"}:  # which Python has no name for
        soft, hard = (["infinity" if n == resource.RLIM_INFINITY else str(n) for n in
                       resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))])
        assert limits.get(name, "infinity") == (soft if soft == hard else f"{soft}:{hard}"), name
    assert "limits" not in dry(alone, "--no-limits", "true")
    assert "limits" not in dry(alone, "--kind=noop")


def test_environment_for_the_system(alone):
    """Jobs of the system's voltd are kept where its group can read them: no variable goes there
    that was not named."""
    def env(*args):
        spec = dry(alone, *args, "--", "true")
        assert spec.get("env_adds", False) == ("env" in spec and spec["env"].keys() <= {"A", "HOME"})
        return spec.get("env")

    del alone.env["VOLT_ADDRESS"]
    alone.env["XDG_RUNTIME_DIR"] = str(alone.dir)
    if not os.path.exists("/run/voltd/voltd.sock"):
        assert env() == alone.env
    alone.env["VOLT_ADDRESS"] = "unix:/run/voltd/voltd.sock"
    assert env() is None
    assert env("-E", "HOME", "-E", "A=1") == {"HOME": str(alone.dir), "A": "1"}
    assert env("--all-env", "-E", "A=1") == {**alone.env, "A": "1"}
    assert env("--all-env", "--no-env") is None
    assert env("--no-env", "--all-env") == alone.env
    assert env("--user", "--address", f"unix:{alone.dir}/x.sock") == alone.env


def test_spec_fields(alone):
    spec = dry(alone, "-n", "nm", "-q", "qq", "-p", "-5", "--timeout", "1h30m",
               "--kill-after=2s", "--stop-signal=int", "--kill-mode=main", "-d", "sub",
               "--no-env", "-E", "A=1", "-E", "HOME", "--umask", "077", "--stdin", "in.txt",
               "--output", "out.txt", "--error=file", "--label", "k=v", "--label=l=w=x",
               "--array", "3-9", "--output-limit=10M", "--no-limits", "--no-check", "--", "./step", "{i}")
    assert spec == {
        "name": "nm", "queue": "qq", "priority": -5, "timeout_usec": 5400000000,
        "kill_after_usec": 2000000, "stop_signal": "SIGINT", "kill_mode": "main",
        "cwd": f"{alone.dir}/sub", "env": {"A": "1", "HOME": str(alone.dir)}, "env_adds": True,
        "umask": "077", "stdin": f"{alone.dir}/in.txt", "output": "path",
        "output_path": f"{alone.dir}/out.txt", "output_split": True,
        "labels": {"k": "v", "l": "w=x"}, "array": {"first": 3, "last": 9},
        "limits": {"output_bytes": 10485760},
        "argv": ["./step", "{i}"],
    }
    assert dry(alone, "--output=null", "true")["output"] == "null"
    assert dry(alone, "--shell", "a | b")["shell"] == "a | b"
    assert dry(alone, "--kind=sleep", "--duration=90") == {
        "kind": "sleep", "duration_usec": 90000000}
    assert dry(alone, "--kind", "noop") == {"kind": "noop"}
    assert dry(alone, "--same-dir", "true")["cwd"] == str(alone.dir)


def test_spec_of_files(alone):
    (alone.dir / "j.ndjson").write_text('{"argv":["a"]}\n\n{"kind":"noop"}\n')
    r = alone.submit("--dry-run", "--no-env", "-q", "x", "-f", "j.ndjson")
    one, two = map(json.loads, r.lines)
    assert one["argv"] == ["a"] and one["queue"] == "x" and "env" not in one
    assert two == {"kind": "noop", "queue": "x"}
    soft = {"argv": ["a"], "limits": {"rlimits": {"core": "7"}}}
    limits = dry(alone, "--output-limit=1M", "-f", "-", input=json.dumps(soft))["limits"]
    assert limits["output_bytes"] == 1 << 20 and limits["rlimits"]["core"] == "7"
    assert limits["rlimits"]["*"] == "infinity" and "nofile" in limits["rlimits"]  # the others are ours
    every = {"argv": ["a"], "limits": {"rlimits": {"*": "7"}}}
    assert dry(alone, "-f", "-", input=json.dumps(every))["limits"]["rlimits"] == {"*": "7"}
    for text in ('\ufeff{"kind":"noop"}\n', '\ufeff[{"kind":"noop"}]'):  # as some editors begin
        assert dry(alone, "-f", "-", input=text) == {"kind": "noop"}
    r = alone.submit("--dry-run", "-f", "-", input='[{"kind":"noop"},\n {"kind":"noop"}]')
    assert len(r.lines) == 2


@pytest.mark.parametrize("text, where", [
    ('{"argv":["a"]}\n{"argv":\n', "line 2:"),
    ('{"kind":"noop"}\n{"kind":"noop"}\n[]\n', "line 3: a job is a JSON object"),
    ('[{"kind":"noop"},\n\n 17]', "line 3: a job is a JSON object"),
    ('{"kind":"noop","kind":"noop"}\n', "line 1: duplicate"),
    ('\n', "no job in it"),
    ('{"kind":"noop"}\n{"name":"a\0b"}\n', "line 2: a NUL byte (byte 27 of the file)"),
    ('\0', "line 1: a NUL byte (byte 1 of the file)"),
    ('[{"kind":"noop"}]\n\n\0', "line 3: a NUL byte (byte 20 of the file)"),
    ('{"kind":"noop"}\n{"name":"a\\u0000b"}\n', "line 2: \\u0000: no text of a job"),
    ('[{"name":"a",\n"b\\u0000":""}]', "line 2: \\u0000: no text of a job"),
    ('{\n "kind": "noop"\n}\n', "line 1: the object does not end here: a job is a line"),
    ('{"kind":"noop"} {"kind":"noop"}\n', "line 1: something follows the object"),
    ('[{"kind":"noop"},\n]', "line 2: a job is missing beside a comma"),
])
def test_bad_files_name_the_line(fake, text, where):
    """A slip anywhere submits nothing."""
    d = fake(lambda *_: [None])
    r = d.submit("-f", "-", input=text)
    assert r.code == 125 and r.out == "" and where in r.err and "JSON_" not in r.err, r
    assert [c for c in d.fake.calls if "Submit" in c["method"]] == []


# ---- a scripted daemon ---------------------------------------------------------------


def submit_then(wait):
    def answer(method, parameters):
        if method.endswith(".Submit"):
            return [{"parameters": {"id": "1", "created": True, "durable": False}}]
        if method.endswith(".SubmitBatch"):
            n = len(parameters["specs"])
            return [{"parameters": {"ids": [str(i) for i in range(n)], "rejected": [],
                                    "durable": True}}]
        return wait
    return answer


def test_heartbeats_are_not_the_end(fake):
    d = fake(submit_then([
        {"parameters": {"left": 1, "failed": 0}, "continues": True},
        {"parameters": {"left": 1, "failed": 0, "heartbeat": True}, "continues": True},
        {"parameters": {"left": 0, "failed": 1, "exit_code": 7, "jobs": []}}]))
    r = d.submit("--wait", "true")
    assert (r.code, r.out, r.err) == (7, "1\n", "")


@pytest.mark.parametrize("job, text", [
    ({"result": "lost"}, "job 1: lost: its exit status cannot be known"),
    ({"result": "lost", "step": "reboot"},
     "job 1: lost: its exit status cannot be known (reboot)"),
    ({"result": "cancelled"}, "job 1: cancelled"),
    ({"result": "exec_failed", "error": "ENOENT", "step": "exec"},
     "job 1: could not be started: exec: No such file or directory"),
    ({"result": "signal", "signal": "SIGKILL"}, "job 1: killed by signal 9 (SIGKILL)"),
    ({"result": "signal", "signal": "SIGRTMIN+1"}, "job 1: killed by signal 35 (SIGRTMIN+1)"),
    ({"result": "signal", "signal": "33"}, "job 1: killed by signal 33 (signal 33)"),
    # A voltd of the release before.
    ({"result": "exec_failed", "code": 2, "step": "exec"},
     "job 1: could not be started: exec: No such file or directory"),
    ({"result": "signal", "code": 9}, "job 1: killed by signal 9 (SIGKILL)"),
])
def test_reasons(fake, job, text):
    job = {"id": "1", "state": "done", **job}
    d = fake(submit_then([{"parameters": {"left": 0, "failed": 1, "exit_code": 125,
                                          "jobs": [job]}}]))
    r = d.submit("--wait", "true")
    assert r.code == 125 and r.out == "1\n" and r.err == f"volt-submit: {text}\n"


@pytest.mark.parametrize("said, word", [
    ({"result": "exit", "exit_status": 3}, "exit 3"), ({"result": "signal", "signal": "SIGHUP"}, "SIGHUP"),
    ({"result": "exit", "code": 3}, "exit 3"), ({"result": "signal", "code": 1}, "SIGHUP"),  # the release before
])
def test_words_for_results(fake, said, word):
    job = {"id": "1", "state": "done", **said}
    d = fake(lambda method, parameters: [{"parameters": {"jobs": [job]}}])
    assert d.ctl("list", "--no-legend", "--output=result").lines == [word]


def test_a_submission_that_nobody_read_is_made_again(fake):
    """Once; and none that may have been read."""
    d = fake(lambda *_: [{"parameters": {"id": "1", "created": True, "ids": ["1"], "rejected": [], "durable": True}}])
    for args, text in (["-f", "-"], '{"argv":["true"]}'), (["true"], None):
        d.fake.deaf, d.fake.calls = 1, []
        r = d.submit(*args, input=text)
        assert (r.code, r.out, r.err) == (0, "1\n", "") and len(d.fake.calls) == 1, r
    d.fake.deaf = 2
    r = d.submit("true")
    assert r.code == 125 and "may have been" not in r.err and len(d.fake.calls) == 1, r
    d = fake(lambda *_: [None])
    r = d.submit("true")
    assert r.code == 125 and "may have been accepted" in r.err and d.fake.connections == len(d.fake.calls) == 1, r


def test_lost_connection_is_retried_then_given_up(fake):
    d = fake(submit_then([None]))
    p = d.popen("volt-submit", "--wait", "--reconnect=300ms", "true")
    assert p.stdout.readline() == "1\n"
    d.fake.close()
    os.unlink(d.fake.path)
    out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 125
    assert "connection to voltd is lost" in err and "voltctl wait 1" in err


def test_lost_connection_is_retried_and_found_again(fake):
    lost = []

    def wait(method, parameters):
        if method.endswith(".Wait") and not lost:
            lost.append(True)
            return [None]
        if method.endswith(".Wait"):
            return [{"parameters": {"left": 0, "failed": 1, "exit_code": 3}}]
        return submit_then([])(method, parameters)

    r = fake(wait).submit("--wait", "true")
    assert r.code == 3 and r.out == "1\n" and "connected again" in r.err


def test_refusals(fake):
    def answer(error, **p):
        return lambda *_: [{"error": error, "parameters": p}]
    r = fake(answer("org.varlink.service.InvalidParameter", parameter="timeout_usec",
                    reason="too large")).submit("true")
    assert r.code == 125 and r.err == "volt-submit: timeout_usec: too large\n"
    r = fake(answer("org.voltd.jobs.TooManyJobs", limit=5, reason="5 are allowed")).submit("true")
    assert r.code == 125 and "too many jobs: 5 are allowed" in r.err
    r = fake(answer("org.voltd.jobs.NoSuchJob", id="9")).ctl("status", "9")
    assert r.code == 4 and r.err == "voltctl: no such job: 9\n"
    r = fake(answer("org.voltd.jobs.NotRunning", id="9", state="done")).ctl("kill", "9")
    assert r.code == 1 and "not running (done)" in r.err
    r = fake(answer("org.voltd.jobs.Refused", reason="not so")).ctl("kill", "9")
    assert r.code == 1 and r.err == "voltctl: refused: not so\n"
    r = fake(answer("org.voltd.jobs.KeyTaken", reason="by job 7")).submit("true")
    assert r.code == 125 and r.err == "volt-submit: refused: by job 7\n"
    r = fake(answer("org.voltd.jobs.StoreUnavailable", reason="full")).submit("true")
    assert r.code == 125 and r.err == "volt-submit: the store of voltd is out of order: full\n"


def test_a_signal_between_two_states(fake):
    """What voltd saw starting may run by the time it says so; what has ended there is not known to have."""
    states = ["starting", "running", "starting"]

    def answer(*_):
        if states:
            return [{"error": "org.voltd.jobs.NotRunning", "parameters": {"id": "9", "state": states.pop()}}]
        return [{"parameters": {}}]
    r = fake(answer).ctl("kill", "9")
    assert (r.code, r.err, states) == (0, "", []), r


def test_one_verb_of_many_ids(fake):
    """Each is answered for, a lost connection is said once, and the worst is the code."""
    def answer(method, parameters):
        if parameters["id"] == "7":
            return [None]
        if parameters["id"] == "9":
            return [{"error": "org.voltd.jobs.NoSuchJob", "parameters": parameters}]
        return [{"parameters": {"job": {"id": parameters["id"], "state": "queued"}}}]
    d = fake(answer)
    r = d.ctl("show", "9", "1", "9", "2")
    assert (r.code, r.out) == (4, "id=1\nstate=queued\n\nid=2\nstate=queued\n"), r
    assert r.err == "voltctl: no such job: 9\n" * 2
    r = d.ctl("show", "1", "7", "2", "3")
    assert r.code == 1 and r.out == "id=1\nstate=queued\n" and len(r.err.splitlines()) == 1
    d.fake.calls.clear()
    assert d.ctl("kill", "9", "7", "1").code == 4
    assert [c["parameters"]["id"] for c in d.fake.calls] == ["9", "7"]


def test_following_a_job_that_starts_meanwhile(fake):
    """Between the two questions for its state. Without a descriptor voltd sends its output."""
    def answer(method, parameters):
        calls.append(method.split(".")[-1])
        if calls[-1] == "Watch":
            return [{"parameters": {"jobs": [{"id": "1", "state": "running"}], "cursor": 1}, "continues": True}]
        return [{"parameters": {"job": {"id": "1", "state": "queued"}, "ended": False,
                                "data": "aGkK", "next_offset": 3, "end": True}}]
    calls = []
    r = fake(answer).ctl("logs", "-f", "1")
    assert (r.code, r.out, r.err) == (0, "hi\n", ""), (r, calls)
    assert calls == ["Get", "Watch", "Open", "Open", "Read"]


def test_not_a_daemon(fake):
    d = fake(lambda *_: [["not", "an", "object"]])
    r = d.ctl("list")
    assert r.code == 1 and r.out == "" and "not the protocol of voltd" in r.err


def test_batches_are_split_and_pipelined(fake):
    d = fake(submit_then([]))
    text = '{"kind":"noop"}\n' * 12001
    r = d.submit("--no-env", "-f", "-", input=text)
    assert r.code == 0 and len(r.lines) == 12001
    assert [(len(c["parameters"]["specs"]), "dry_run" in c["parameters"]) for c in d.fake.calls] == \
        [(n, dry) for dry in (True, False) for n in (5000, 5000, 2001)]


def test_rejected_entries_name_their_lines(fake):
    def answer(method, parameters):
        return [{"parameters": {"ids": ["5", ""], "durable": False, "rejected": [
            {"position": 1, "parameter": "argv", "reason": "is empty"}]}}]
    r = fake(answer).submit("-f", "-", input='{"argv":["x"]}\n\n\n{"argv":[]}\n')
    assert r.code == 125 and r.out == "5\n"
    assert r.err == "volt-submit: standard input: line 4: argv: is empty\n"
    # With a local name too: that none was taken is said where the answer has no id.
    r = fake(answer).submit("-f", "-", input='{"argv":["x"]}\n{"argv":[],"local":"a"}\n')
    assert (r.code, r.out, r.err) == (125, "5\n", "volt-submit: standard input: line 2: argv: is empty\n")


def test_nothing_is_sent_behind_a_refused_batch(fake):
    """A refusal that names an entry leaves the rest to be sent. This voltd is older than dry_run: nothing is checked."""
    def answer(method, parameters):
        if "dry_run" in parameters:
            return [older]
        n = sum("dry_run" not in c["parameters"] for c in d.fake.calls)
        if n == refused:
            return [refusal]
        return [{"parameters": {"ids": [str(n)] * len(parameters["specs"]), "rejected": [], "durable": False}}]

    text = '{"kind":"noop"}\n' * 5000 * 6
    older = {"error": "org.varlink.service.InvalidParameter", "parameters": {"parameter": "dry_run"}}
    refusal = {"error": "org.voltd.jobs.StoreUnavailable", "parameters": {"reason": "full"}}
    refused, d = 2, fake(answer)
    r = d.submit("--no-env", "-f", "-", input=text)
    assert r.code == 125 and "out of order: full" in r.err, r
    assert r.lines == ["1"] * 5000 and "none from line 5001 on" in r.err, r.err
    assert sum("dry_run" not in c["parameters"] for c in d.fake.calls) == 2
    refusal = {**older, "parameters": {"parameter": "specs[7]", "reason": "is too large"}}
    refused, d = 1, fake(answer)
    r = d.submit("--no-env", "-f", "-", input=text)
    assert r.code == 125 and len(r.lines) == 25000, r.err
    said = r.err.splitlines()
    assert said[0].endswith("line 8: is too large")
    assert said[1].endswith("line 1: not taken: line 8, which goes with it, is refused") and len(said) == 11
    assert said[-1] == "volt-submit: and 4990 more were refused, 5000 of 30000 in all"


def test_logs_without_a_descriptor(fake):
    """A daemon that hands no descriptor out is read by Read."""
    data = bytes(range(256)) * 10

    def answer(method, parameters):
        if method.endswith(".Open"):
            return [{"parameters": {"size_bytes": len(data), "ended": True}}]
        offset = parameters.get("offset", 0)
        part = data[offset:offset + 1000]
        return [{"parameters": {"data": base64.b64encode(part).decode(),
                                "next_offset": offset + len(part),
                                "end": offset + len(part) == len(data)}}]
    d = fake(answer)
    done = subprocess.run([BIN / "voltctl", "logs", "1"], env=d.env, capture_output=True,
                          timeout=LIMIT)
    assert done.returncode == 0 and done.stdout == data


@pytest.mark.parametrize("opens", [True, False])
def test_the_end_of_an_output_has_a_limit(fake, tmp_path, opens):
    """By lines and, for status, by bytes, with or without a descriptor."""
    file = tmp_path / "out"

    def answer(method, parameters):
        data = file.read_bytes()
        if method.endswith(".Get"):
            return [{"parameters": {"job": {"id": "1", "state": "done", "result": "exit"}}}]
        if method.endswith(".Open"):
            fd = {"fd": os.open(file, os.O_RDONLY)} if opens else {}
            return [{"parameters": {"size_bytes": len(data), "ended": True}, **fd}]
        offset = parameters.get("offset", 0)
        part = data[offset:offset + parameters.get("max_bytes", 10000)]
        return [{"parameters": {"data": base64.b64encode(part).decode(),
                                "next_offset": offset + len(part),
                                "end": offset + len(part) == len(data)}}]
    d = fake(answer)

    def tail(*args):
        r = d.ctl(*args, "1")
        assert r.code == 0, r
        return r.out.split("\n\n", 1)[-1]
    file.write_text("x" * 300000)
    note = "[the last {} of {} bytes; voltctl logs 1 prints all]\n"
    assert tail("status") == note.format(10240, 300000) + "x" * 10240
    assert tail("status", "-n", "3") == note.format(3072, 300000) + "x" * 3072
    assert tail("status", "-n", "1000") == tail("logs") == tail("logs", "-n", "1") == "x" * 300000
    file.write_text("x" * 300000 + "\n" + "y" * 1023 + "\n")
    assert tail("status", "-n", "1") == tail("logs", "-n1") == "y" * 1023 + "\n"  # just so
    assert tail("logs", "-n2") == file.read_text()
    assert tail("logs", "-n0") == ""
    file.write_text("".join(f"{i}\n" for i in range(100000)))
    assert tail("status") == tail("logs", "-n10") == "".join(f"{i}\n" for i in range(99990, 100000))
    assert tail("logs", "-n", "50000") == "".join(f"{i}\n" for i in range(50000, 100000))


def test_an_end_that_comes_with_another_answer_is_seen(fake, tmp_path):
    (tmp_path / "out").write_text("out\n")

    def answer(method, parameters):
        if method.endswith(".Open"):
            return [{"parameters": {"size_bytes": 4, "ended": False},
                     "fd": os.open(tmp_path / "out", os.O_RDONLY)}]
        if method.endswith(".Get"):
            return [{"parameters": {"job": {"id": "1", "state": "running"}}}]
        return [{"parameters": {"left": 1, "failed": 0}, "continues": True},
                {"parameters": {"left": 0, "failed": 0, "exit_code": 0, "jobs": []}}]
    r = fake(answer).ctl("logs", "-f", "1")
    assert (r.code, r.out, r.err) == (0, "out\n", "")


@pytest.mark.parametrize("args, said", [
    (["shutdown", "--cancel", "--wait"],
     "waiting for the end of 2 jobs: 12 (stopping, waiting for processes that SIGKILL does not "
     "end), 13 (running)"),
    (["wait", "12", "13"],
     "waiting for 12 (stopping, waiting for processes that SIGKILL does not end)"),
    (["wait", "--any", "12", "13"],
     "waiting for 12 (stopping, waiting for processes that SIGKILL does not end)"),
])
def test_what_is_waited_for_is_said(fake, args, said):
    """Also where standard error is no terminal: of a shutdown all, else what is stuck."""
    go_on = threading.Event()
    jobs = [{"id": "12", "state": "stopping", "wait": "survivors"}, {"id": "13", "state": "running"}]
    left = {"left": 2, "total": 2, "failed": 0}
    ended = [{"id": "12", "state": "done", "result": "success"}]

    def stream(first, last):
        yield {"parameters": first, "continues": True}
        go_on.wait(LIMIT)
        yield {"parameters": last, **({"continues": True} if "events" in last else {})}
        yield None

    def answer(method, parameters):
        name = method.rsplit(".", 1)[-1]
        if name == "Stats":
            return [{"parameters": {"pid": 0}}]
        if name == "GetInfo":
            return [{"parameters": {}}]
        if name == "List":
            if "states" not in parameters["filter"]:  # how many attempts they may have
                return [{"parameters": {"jobs": []}}]
            assert "done" not in parameters["filter"]["states"]
            return [{"parameters": {"jobs": jobs}}]
        if name == "Get":
            return [{"parameters": {"job": ended[0]}}]
        if name == "Watch":
            return stream({"jobs": jobs}, {"events": ended})
        return stream(left, {"left": 0, "total": 2, "failed": 0, "exit_code": 0, "jobs": ended})
    process = fake(answer).popen("voltctl", *args)
    assert process.stderr.readline() == f"voltctl: {said}\n"
    go_on.set()
    process.communicate(timeout=LIMIT)
    assert process.returncode == 0


def test_an_older_voltd(fake):
    """What nobody has asked for is done without; an option that it does not know is named."""
    def answer(method, parameters):
        for unknown in "fields", "spec_fields", "after":
            if unknown in parameters:
                return [{"error": "org.varlink.service.InvalidParameter",
                         "parameters": {"parameter": unknown}}]
        assert parameters["with_spec"]
        last = "cursor" in parameters
        job = {"id": "2" if last else "1", "state": "running",
               "spec": {"argv": ["sleep", "9"], "env": {"A": "1"}}}
        return [{"parameters": {"jobs": [job], **({} if last else {"cursor": "1"})}}]
    d = fake(answer)
    r = d.ctl("list", "--no-legend")
    assert r.code == 0 and r.err == "", r
    assert [row.split()[0] for row in r.lines] == ["1", "2"] and "sleep 9" in r.out, r
    r = d.ctl("events", "--after=5")
    assert r.code == 2 and r.err == "voltctl: --after: this voltd does not know it: it is older\n", r


def test_wait_in_portions(fake):
    """Ids beyond one message are waited for at the same time, so that one slow job does not
    hold up the others; the largest code wins."""
    codes, slow = iter([3, 7, 1]), []

    def answer(method, parameters):
        if not method.endswith(".Wait"):  # which of them failed
            return [{"parameters": {"jobs": []}}]
        slow.append(parameters["ids"])
        code = next(codes)
        until(lambda: len(slow) == 3, "the third portion")
        return [{"parameters": {"left": 0, "failed": 1, "exit_code": code}}]
    d = fake(answer)
    r = d.ctl("wait", *range(1, 35002))
    assert r.code == 7
    assert sorted(map(len, slow)) == [5001, 15000, 15000]
    assert "35001 jobs ended: 34998 succeeded, 3 failed" in r.err


def test_jobs_forgotten_before_the_wait(fake):
    """Results that voltd dropped meanwhile are not made up."""
    waits = []

    def answer(method, parameters):
        if method.endswith(".List"):
            return [{"parameters": {"jobs": []}}]
        if method.endswith(".Wait"):
            waits.append(parameters)
            if len(waits) == 1:
                return [{"error": "org.voltd.jobs.NoSuchJob", "parameters": {"id": "0"}}]
            return [{"parameters": {"total": 3, "left": 0, "failed": 2, "unknown": 2, "exit_code": 125}}]
        return submit_then([])(method, parameters)
    r = fake(answer).submit("--wait", "-f", "-", input='{"kind":"noop"}\n' * 3)
    assert r.code == 125 and waits == [{"ids": ["0", "1", "2"]}, {"ids": ["0", "1", "2"], "forgotten": True}]
    assert "3 jobs ended: 1 succeeded, 0 failed" in r.err and "the results of 2 of them are not known" in r.err


def test_full_disk_is_an_error(fake):
    d = fake(lambda *_: [{"parameters": {"jobs": []}}])
    with open("/dev/full", "w") as full:
        p = subprocess.run([BIN / "voltctl", "list", "--json"], env=d.env, stdout=full,
                           stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    assert p.returncode == 1 and "No space left" in p.stderr


def closed():
    os.close(1)


def reader_gone():
    r, w = os.pipe()
    os.close(r)
    os.dup2(w, 1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


@pytest.mark.parametrize("stdout, why", [("/dev/full", "No space left on device"),
                                         (closed, "Bad file descriptor"),
                                         (reader_gone, "Broken pipe")])
def test_ids_that_standard_output_does_not_take(fake, stdout, why):
    """Who submitted is told them all the same, before anything is waited for."""
    def answer(method, parameters):
        if method.endswith("Batch"):
            ids = [str(7 if s.get("name") else 5 + i) for i, s in enumerate(parameters["specs"])]
            return [{"parameters": {"ids": ids, "rejected": [], "durable": True}}]
        return submit_then([{"parameters": {"left": 0, "failed": 1, "exit_code": 3}}])(
            method, parameters)

    def run(*args, input=None):
        call = {"preexec_fn": stdout} if callable(stdout) else {"stdout": open(stdout, "w")}
        p = subprocess.run([BIN / "volt-submit", *args], env=d.env, stderr=subprocess.PIPE,
                           stdin=None if input else subprocess.DEVNULL, input=input, text=True,
                           timeout=LIMIT, **call)
        assert p.returncode == 125, p
        return p.stderr.replace("volt-submit: ", "")
    d = fake(answer)
    said = f"writing to standard output: {why}\n"
    assert run("true") == said + "accepted all the same: job 1\n"
    assert run("--json", "--quiet", "true") == said + "accepted all the same: job 1\n"
    assert run("--wait", "true") == said + "accepted all the same: job 1\n"
    assert [c["method"][15:] for c in d.fake.calls[-2:]] == ["Submit", "Wait"]
    specs = '{"kind":"noop"}\n' * 3
    assert run("-f", "-", input=specs) == said + "accepted all the same: jobs 5-7\n"
    specs += '{"kind":"noop","name":"a"}\n{"kind":"noop"}\n'
    assert run("-f", "-", input=specs) == said + "accepted all the same: jobs 5-7 7 9\n"
    r = run("-f", "-", input='{"kind":"noop","name":"a"}\n' * 1000)
    assert r.startswith(said + "accepted all the same: jobs 7 7 ") and r.endswith(" 7 ...\n")


def test_a_failed_write_keeps_its_reason(fake):
    """It is found in the middle of the work, and said once, in the words of then."""
    job = {"id": "1", "state": "done", "spec": {"argv": ["x"]}}
    d = fake(lambda m, _: [{"error": "org.voltd.logs.NoOutput"}] if m.endswith("Open")
             else [{"parameters": {"job": job}}])
    with open("/dev/full", "w") as full:
        p = subprocess.run([BIN / "voltctl", "status", "1", "1"], env=d.env, stdout=full,
                           stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    assert p.returncode == 1
    assert p.stderr == "voltctl: writing to standard output: No space left on device\n"


def test_broken_pipe_is_quiet(fake):
    jobs = [{"id": str(i), "name": "x" * 50, "state": "queued"} for i in range(1000)]
    d = fake(lambda *_: [{"parameters": {"jobs": jobs}}])
    p = d.popen("voltctl", "list")
    p.stdout.close()
    assert p.stderr.read() == ""
    assert p.wait(LIMIT) in (-signal.SIGPIPE, 1)


def test_interrupt_leaves_the_job(fake):
    hold = []

    def answer(method, parameters):
        if method.endswith(".Wait"):
            hold.append(method)
            return []
        return submit_then([])(method, parameters)
    d = fake(answer)
    p = d.popen("volt-submit", "--wait", "true")
    until(lambda: hold, "the wait")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 130 and out == "1\n"
    assert "job 1 goes on" in err and "voltctl wait 1" in err
    assert not [c for c in d.fake.calls if "Cancel" in c["method"]]


def test_interrupt_before_the_jobs_are_known(fake):
    """Reading a batch, volt-submit --wait ends like any other program."""
    d = fake(lambda *_: [])
    p = subprocess.Popen([BIN / "volt-submit", "--wait", "-f", "-"], env=d.env,
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: d.fake.connections, "the connection")
    p.send_signal(signal.SIGINT)
    assert p.wait(LIMIT) == -signal.SIGINT
    p.communicate()


def test_an_ignored_interrupt_stays_ignored(fake):
    """In the background of a shell, or under nohup."""
    waiting, go_on = threading.Event(), threading.Event()

    def answer(method, parameters):
        if method.endswith(".Wait"):
            waiting.set()
            assert go_on.wait(LIMIT)
        return submit_then([{"parameters": {"left": 0, "failed": 0, "exit_code": 7}}])(
            method, parameters)
    d = fake(answer)
    p = d.popen("volt-submit", "--wait", "true",
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert waiting.wait(LIMIT)
    p.send_signal(signal.SIGINT)
    go_on.set()
    out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 7 and "interrupted" not in err


@pytest.mark.parametrize("closed", [[0], [1], [0, 1, 2]])
def test_closed_descriptors_are_not_taken_for_sockets(fake, closed):
    d = fake(submit_then([{"parameters": {"left": 0, "failed": 0, "exit_code": 0}}]))
    p = subprocess.Popen([BIN / "volt-submit", "--wait", "true"], env=d.env,
                         preexec_fn=lambda: [os.close(fd) for fd in closed])
    assert p.wait(LIMIT) == (125 if 1 in closed else 0)
    assert [c["method"] for c in d.fake.calls] == ["org.voltd.jobs.Submit",
                                                    "org.voltd.jobs.Wait"]


@pytest.mark.parametrize("args", [["events"], ["stats", "--watch"], ["wait", "--json", "1"]])
def test_a_reader_that_goes_ends_what_would_follow(fake, args):
    """`voltctl events | head -1` ends with head, not with the next event."""
    first = {"continues": True, "parameters": {
        "cursor": 1, "left": 1, "failed": 0, "events": [
            {"cursor": 1, "at_usec": 1, "id": "1", "event": "submit", "state": "queued"}]}}
    d = fake(lambda *_: [first])
    p = d.popen("voltctl", *args)
    assert p.stdout.readline()
    if args[0] == "wait":   # what there is to print of jobs that wait has been printed
        until(lambda: d.fake.calls[-1]["method"] == "org.voltd.jobs.Wait")
    p.stdout.close()
    assert p.wait(LIMIT) in (1, 125, -signal.SIGPIPE) and p.stderr.read() == ""
