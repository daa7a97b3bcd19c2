"""The first command that somebody types works, or is refused with the one that would."""
import os
import shlex
import subprocess

import pytest

from conftest import BIN, LIMIT, until


@pytest.mark.parametrize("words, code, instead", [
    (["sleep 0; echo done"], 127, "--shell 'sleep 0; echo done'"),
    (["FOO=1", "env"], 127, "-E FOO=1 -- env"),
    (["cd", "/tmp"], 127, "--chdir=/tmp -- COMMAND"),
    (["job.sh", "a b"], 127, "-- sh ./job.sh 'a b'"),
    (["./job.sh"], 126, "-- sh ./job.sh"),
    (["export", "A=1"], 127, "--shell 'export A=1'"),
])
def test_refused_with_what_works(shared, words, code, instead):
    job = shared.dir / "job.sh"
    job.write_text("echo hi\n")
    job.chmod(0o644)
    r = shared.submit("-n", "first word", *words, cwd=shared.dir)
    assert r.code == code and r.out == "", r
    assert r.err.splitlines()[-1] == f"volt-submit: try: volt-submit -n 'first word' {instead}", r
    assert shared.ctl("list", "--all", "--no-legend", "--name=first word").lines == []


def test_what_is_advised_works(shared):
    """The line that a refusal prints is pasted, and its job does what was meant."""
    (shared.dir / "hello.sh").write_text("echo \"hello $1\"\n")
    for words, output in ((["echo one; echo two"], "one\ntwo\n"), (["WORD=x", "printenv", "WORD"], "x\n"),
                          (["hello.sh", "you  there"], "hello you  there\n")):
        r = shared.submit("-w", *words, cwd=shared.dir)
        line = r.err.splitlines()[-1].split("try: volt-submit ", 1)[1]
        r = shared.submit(*shlex.split(line), cwd=shared.dir)
        assert r.code == 0, r
        assert shared.ctl("logs", r.lines[0]).out == output


def test_nothing_to_advise(shared):
    r = shared.submit("no-such-program")
    assert (r.code, r.out) == (127, "") and "no-such-program: not found in PATH" in r.err, r
    assert "--no-check" in r.err
    r = shared.submit("-w", "--no-check", "no-such-program")
    assert r.code == 127 and len(r.lines) == 1, r


def test_what_the_job_would_search(shared):
    """PATH and the directory are those of the job."""
    folder = shared.dir / "bin"
    folder.mkdir(exist_ok=True)
    tool = folder / "tool-of-the-job"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert shared.submit("-w", "-E", f"PATH={folder}:/bin", "tool-of-the-job").code == 0
    assert shared.submit("-E", f"PATH={folder}", "ls").code == 127
    assert shared.submit("-w", "-d", folder, "./tool-of-the-job").code == 0
    assert shared.submit("--no-env", "-w", "true").code == 0
    r = shared.submit("--no-env", "no-such-program")  # in the default path of the system
    assert r.code == 127 and "-E PATH" in r.err, r


def test_alone_it_lists(shared):
    assert shared.ctl().out == shared.ctl("list").out != ""


def test_kill_as_everywhere(shared):
    for words, name in ((["-9"], "SIGKILL"), (["-USR1"], "SIGUSR1"), (["-SIGTERM", "--main"], "SIGTERM")):
        job = shared.submit("--", "sleep", "600").lines[0]
        with shared.connect() as v:
            until(lambda: v.ok("org.voltd.jobs.Get", {"id": job})["job"]["state"] == "running")
        assert shared.ctl("kill", *words, job).code == 0
        r = shared.ctl("wait", job)
        assert name in r.err, r


def submit_with_pipe(daemon, data, *words):
    """What volt-submit says that has a pipe with data as its standard input."""
    reading, writing = os.pipe()
    with open(reading) as pipe:
        os.write(writing, data)
        os.close(writing)
        p = subprocess.run([BIN / "volt-submit", *words], stdin=pipe, env=daemon.env, cwd=daemon.dir,
                           capture_output=True, text=True, timeout=LIMIT)
    assert p.returncode == 0, p
    return p.stderr


def test_a_pipe_is_not_read(shared):
    assert "--stdin=- gives it" in submit_with_pipe(shared, b"a", "-w", "cat")
    assert "--stdin=- gives it" in submit_with_pipe(shared, b"a", "--shell", "cat")
    (shared.dir / "input").write_text("from the file\n")
    for data, words in ((b"", ["cat"]), (b"a", ["--quiet", "cat"]), (b"a", ["--kind=noop"]),
                        (b"a", ["--stdin=input", "cat"]), (b'{"shell":"true"}', ["-f", "-"])):
        assert submit_with_pipe(shared, data, *words) == "", words


def test_a_pipe_that_is_slow_is_noticed(shared):
    """Its writer begins when the job is over: volt-submit looks once more."""
    reading, writing = os.pipe()
    with open(reading) as pipe, open(writing, "wb", buffering=0) as end:
        p = subprocess.Popen([BIN / "volt-submit", "-w", "--shell", "while ! [ -e written ]; do sleep 0.05; done"],
                             stdin=pipe, env=shared.env, cwd=shared.dir, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        p.stdout.readline()  # the id: the first look is over
        with shared.connect() as v:
            until(lambda: v.ok("org.voltd.jobs.List", {"filter": {"states": ["running"]}})["jobs"])
        end.write(b"late")
        (shared.dir / "written").touch()
        assert "--stdin=- gives it" in p.communicate(timeout=LIMIT)[1] and p.returncode == 0


@pytest.mark.parametrize("verb, ours", [
    ("qsub", "volt-submit COMMAND"), ("sbatch", "volt-submit COMMAND"), ("stop", "voltctl cancel ID"),
    ("rm", "voltctl clean"), ("ps", "voltctl list"), ("restart", "voltctl status ID"),
    ("hold", "voltctl kill -STOP ID"), ("resume", "voltctl kill -CONT ID"), ("scancel", "voltctl cancel ID"),
])
def test_verbs_of_others(shared, verb, ours):
    r = shared.ctl(verb, "1")
    assert r.code == 2 and f"voltctl has no verb {verb}; use `{ours}`" in r.err, r


def test_the_last_job_and_its_elements(shared):
    array = shared.submit("-w", "--array=3-9", "--shell", "echo $VOLT_ARRAY_INDEX; exit $VOLT_ARRAY_INDEX").lines[0]
    assert shared.ctl("logs", "@last_7").out == "7\n"
    assert shared.ctl("wait", "@last_4-5").code == 5
    assert shared.ctl("status", "-n0", "@last").out.startswith(f"\u25cf {array} ")
    assert shared.ctl("status", "@last_99").code == 4
    assert "@lastly is not a job id" in shared.ctl("status", "@lastly").err
    assert "@last_x is not a job id" in shared.ctl("status", "@last_x").err


@pytest.mark.parametrize("words", [
    ["printf", "%s|", "a b", "it's", "", "$HOME", "*", "{i}", "{a,b}", "{1..3}", "tab\there",
     "two\nlines 'of' \\ it", "\x1b[31m1", "\u00e4\u202e2", "\\n"],
    ["--shell", "printf '%s|' \"a 'b\" # said"],
    ["--shell", "printf '%s|' one\n\tprintf '%s|' two\n"],
])
def test_the_command_that_status_prints_can_be_pasted(shared, words):
    job = shared.submit("-w", *words).lines[0]
    out = shared.ctl("status", "-n", "0", job).out
    command = out.split("Command: ")[1].split("\n Directory: ")[0]
    assert "\n" not in command.strip() and "\x1b" not in command
    pasted = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LIMIT)
    assert pasted.stdout == shared.ctl("logs", job).out != ""
