"""What people bring with them: numbers of other languages, descriptors of other programs, scripts of other systems."""
import fcntl
import json
import os
import subprocess
import termios

import pytest

from conftest import BIN, LIMIT, until


@pytest.mark.parametrize("number", ["6e+07", "60000000.0", "6.0E7"])
def test_numbers_of_other_languages(shared, number):
    r = shared.submit("-w", "-f", "-", input='{"argv":["true"],"timeout_usec":%s,"success_codes":[0.0],'
                      '"array":{"first":1.0,"last":2e0}}\n' % number)
    assert r.code == 0, r
    spec = shared.job(r.lines[0])["spec"]
    assert spec["timeout_usec"] == 60000000 and spec["array"] == {"first": 1, "last": 2}, spec


@pytest.mark.parametrize("number", ["1.5", "6e+99", '"60000000"'])
def test_numbers_that_are_none(shared, number):
    r = shared.submit("-f", "-", input='{"argv":["true"]}\n{"argv":["true"],"timeout_usec":%s}\n' % number)
    assert r.code == 125 and "line 2: timeout_usec: must be an integer" in r.err, r


def nonblocking(fd):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)


def is_empty(pipe):
    return fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4)


@pytest.mark.parametrize("words", [("voltctl", "logs", "1"), ("volt-submit", "-F", "--quiet", "--shell", "seq 100000"),
                                   ("voltctl", "list", "-e", "2", "--json")])
def test_output_that_does_not_block(private, words):
    """A program beside us has made the pipe so. Its reader is slow, and has all of it; the pipe stays as it is."""
    private.start()
    private.submit("-w", "--shell", "seq 100000")
    private.submit("-w", "--quiet", "--array=1-1000", "-n", "n" * 200, "--kind=noop")
    r, w = os.pipe()
    nonblocking(w)
    p = subprocess.Popen([BIN / words[0], *words[1:]], env=private.env, cwd=private.dir, stdin=subprocess.DEVNULL,
                         stdout=w, stderr=subprocess.PIPE, text=True)
    until(lambda: not is_empty(r) or p.poll() is not None)
    with open(r, "rb", 0) as reader:
        data = reader.read(4096)
        assert fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK
        os.close(w)
        while piece := reader.read(4096):
            data += piece
    assert p.communicate()[1] == "" and p.returncode == 0
    whole = "".join(f"{n}\n" for n in range(1, 100001)) if words[1] != "list" else private.ctl(*words[1:]).out
    assert data.decode() == whole


@pytest.mark.parametrize("words, pieces, want", [
    (("-F", "--stdin=-", "--", "wc", "-l"), ("a\n", "b\n"), ["2"]),
    (("-w", "-f", "-"), ('{"argv":["true"]}\n', '{"argv":["true"]}\n'), None),
    (("-w", "--each-line=-", "--", "true"), ("a\n", "b\n"), None)])
def test_input_that_does_not_block(shared, words, pieces, want):
    r, w = os.pipe()
    nonblocking(r)
    p = subprocess.Popen([BIN / "volt-submit", "--quiet", *words], env=shared.env, cwd=shared.dir, stdin=r,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for piece in pieces:
        os.write(w, piece.encode())
        until(lambda: is_empty(r) or p.poll() is not None)
    os.close(r)
    os.close(w)
    out, err = p.communicate()
    assert p.returncode == 0 and err == "", err
    assert out.split() == want if want else len(out.split()) == 2, out


def script(daemon, name, text, mode=0o755):
    path = daemon.dir / name
    path.write_bytes(text.encode())
    path.chmod(mode)


@pytest.mark.parametrize("text, why", [
    ("#!/bin/bash\r\nx=7\r\necho $x\r\n", "CR LF"), ("#!/usr/bin/env bash\r\necho a\r\n", "CR LF"),
    ("#!/bin/sh -e\r\necho a\r\n", "CR LF"), ("#!/bin/bash\r\n#SBATCH --time=5\r\necho a\r\n", "CR LF"),
    ("\ufeff#!/bin/sh\necho a\n", "byte order mark")])
def test_scripts_of_other_systems(shared, text, why):
    """Refused before they run half, however they are run."""
    script(shared, "dos.sh", text)
    for words in (["./dos.sh"], ["bash", "dos.sh"], ["--", "sh", "-e", "./dos.sh"]):
        r = shared.submit(*words)
        assert r.code == 126 and why in r.err and r.out == "", (words, r)
    script(shared, "dos.sh", text, 0o644)
    r = shared.submit("./dos.sh")
    assert r.code in (125, 126) and r.out == "" and (why in r.err or "SBATCH" not in text), r
    assert shared.submit("-w", "--", "sh", "-c", "true", "dos.sh").code == 0


def test_lists_of_other_systems(shared):
    r = shared.submit("--each-line=-", "--", "echo", input="a\nb\r\n")
    assert r.code == 125 and "line 2: it ends with CR LF" in r.err and r.out == "", r
    r = shared.submit("-w", "--each-line=-", "--", "echo", input="\ufeffa\nb\n")
    assert r.code == 0 and shared.ctl("logs", "--no-prefix", *r.lines).out == "a\nb\n", r
    r = shared.submit("-w", "-0", "--each-line=-", "--shell", "printf %s {} | wc -c", input="a\r\0")
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == "2\n", r


@pytest.mark.parametrize("line", ["#PBS -N x", "#$ -cwd", "#BSUB -J x", "#HQ --cpus 4", "#flux: -n4", "# flux: -N1"])
def test_directives_of_other_schedulers(shared, line):
    script(shared, "pbs.sh", f"#!/bin/sh\n{line}\n{line}\ntrue\n")
    r = shared.submit("-w", "./pbs.sh")
    assert r.code == 0 and r.err.count("of another scheduler") == 1 and "line 2" in r.err, r
    script(shared, "pbs.sh", f"#!/bin/sh\n{line.split()[0]} is what others write\ntrue\n")
    assert shared.submit("-w", "./pbs.sh").err == ""


def test_options_are_not_abbreviated(shared):
    """--tim was --timeout, in seconds, where others have minutes."""
    for program, word, why in (("volt-submit", "--tim=20", "did you mean --timeout?"), ("volt-submit", "--time=20", "use --timeout=TIME"),
                               ("volt-submit", "--arr", "did you mean --array?"), ("volt-submit", "--qui", "did you mean --quiet?"),
                               ("voltctl", "--jso", "did you mean --json?")):
        words = [word, "--", "true"] if program == "volt-submit" else ["list", word]
        r = shared.run(program, *words)
        assert r.code in (2, 125) and f"unknown option {word.split('=')[0]}; {why}" in r.err, r
    assert shared.submit("--name=x", "-wF", "--quiet", "--", "echo", "a").out == "a\n"


def test_more_clients_than_there_may_be(private):
    """Submissions wait for a place, one after the other; short calls have places of their own."""
    private.start(config="[Queue]\nSlots=1\n[Limits]\nMaxConnectionsPerUser=4\n")
    gate = private.dir / "gate"
    held = [private.popen("volt-submit", "-w", "--quiet", "--shell", f"until [ -e {gate} ]; do sleep 0.05; done") for _ in range(4)]
    until(lambda: len(private.ctl("list", "--no-legend").lines) == 4)
    late = [private.popen("volt-submit", "-w", "--quiet", "--reconnect=10min", "--", "true") for _ in range(6)]
    assert private.ctl("status", "1").code == 0 and private.ctl("list", "--no-legend").code == 0
    full = private.submit("--reconnect=0", "true")
    assert full.code == 125 and "MaxConnectionsPerUser= allow" in full.err, full
    gate.touch()
    assert [p.wait() for p in held + late] == [0] * 10
    assert len(private.ctl("list", "--all", "--no-legend").lines) == 10


@pytest.mark.parametrize("args, text", [(["true"], None), (["-f", "-"], '{"argv":["true"]}')])
def test_a_submission_waits_for_a_place(fake, args, text):
    """One job, or a list: on a connection of its own each time, for as long as --reconnect says."""
    full = {"error": "org.voltd.jobs.LimitReached", "parameters": {"key": "MaxConnections", "reason": "1 connection"}}
    taken = {"parameters": {"id": "1", "created": True, "ids": ["1"], "rejected": [], "durable": True}}
    d = fake(lambda *_: [full if d.fake.connections < 3 else taken])
    r = d.submit(*args, input=text)
    assert (r.code, r.out, r.err) == (0, "1\n", "") and len(d.fake.calls) == d.fake.connections == 3, r
    d = fake(lambda *_: [full])
    r = d.submit("--reconnect=0", *args, input=text)
    assert (r.code, r.err) == (125, "volt-submit: refused: 1 connection\n") and d.fake.connections == 1, r


def test_many_clients_wait(private):
    """for i in ...; do volt-submit -w ... & done"""
    private.start(config="[Queue]\nSlots=1\n")
    gate = private.dir / "gate"
    private.submit("--shell", f"until [ -e {gate} ]; do sleep 0.05; done")
    waits = [private.popen("volt-submit", "-w", "--quiet", "--kind=noop", "--after=1") for _ in range(300)]
    until(lambda: len(private.ctl("list", "--no-legend", "-n", "1000").lines) == 301)
    gate.touch()
    assert [p.wait() for p in waits] == [0] * 300


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("array", [[], ["--array=1-2"]])
def test_an_output_that_its_job_truncates(private, array, waits):
    """tee /dev/stderr does so: who follows is told, and goes on with what is there."""
    private.start(config="[Queue]\nSlots=2\n")
    if waits:
        blockers = [private.submit("sleep", "600").out.strip() for _ in range(2)]
    script(private, "job.sh", "#!/bin/sh\necho before the cut of $VOLT_JOB_ID\nuntil [ -e cut ]; do sleep 0.01; done\n"
           "echo cut >/dev/stderr\nuntil [ -e go ]; do sleep 0.01; done\necho after\n")
    p = private.popen("volt-submit", "-F", *array, "./job.sh")
    ident = p.stderr.readline().split()[-1]
    if waits:
        private.ctl("cancel", *blockers)
    for _ in range(2 if array else 1):
        assert "before the cut" in p.stdout.readline()
    (private.dir / "cut").touch()
    until(lambda: "cut\n" in private.ctl("logs", f"{ident}_1" if array else ident).out)
    lines = [p.stdout.readline() for _ in range(2 if array else 1)]
    (private.dir / "go").touch()
    out, err = p.communicate()
    assert p.returncode == 0 and all(line.endswith("cut\n") for line in lines) and out.count("after\n") == len(lines), (lines, out)
    assert "was truncated" in err and "tee -a" in err, err


@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0"])
def test_what_comes_through_standard_input(shared, path):
    """A pipe or a file: it is the job's, not what voltd has there."""
    r = shared.submit("-F", "--quiet", f"--stdin={path}", "--", "cat", input="a line\n")
    assert (r.code, r.out, r.err) == (0, "a line\n", ""), r
    (shared.dir / "input").write_text("from a file\n")
    with open(shared.dir / "input") as file:
        p = subprocess.run([BIN / "volt-submit", "-F", "--quiet", f"--stdin={path}", "--", "cat"], env=shared.env, stdin=file,
                           capture_output=True, text=True)
    assert (p.returncode, p.stdout) == (0, "from a file\n"), p


@pytest.mark.parametrize("words", [["--stdin=/dev/fd/63"], ["--stdin=/proc/self/fd/0"], ["--output=/dev/stdout"],
                                   ["--error=/dev/stderr"], ["--output=/proc/self/fd/1"], ["--no-check", "--output=/dev/fd/1"]])
def test_descriptors_of_this_process_are_not_those_of_the_job(shared, words):
    r = shared.submit(*words, "--", "true")
    assert r.code == 125 and "is another file in each process" in r.err and r.out == "", r


def test_a_list_with_a_mistake_submits_nothing(shared):
    before = shared.ctl("list", "--all", "--no-legend").lines
    for wrong, why in (('{"argv":["true"],"cwd":"here"}', "line 2: cwd: an absolute path"), ('{"argvx":["true"]}', "line 2: argvx"),
                       ('{"argv":["true"],"priority":9999}', "line 2: priority")):
        r = shared.submit("-w", "-f", "-", input='{"argv":["true"]}\n%s\n{"argv":["true"]}\n' % wrong)
        assert r.code == 125 and r.out == "" and why in r.err and "no job was taken" in r.err, r
    assert shared.ctl("list", "--all", "--no-legend").lines == before


def test_labels_of_the_command_line_and_of_a_file(shared):
    r = shared.submit("-w", "--label=batch=7", "--label=a=1", "-f", "-",
                      input='{"argv":["true"],"labels":{"a":"2","b":"3"}}\n{"argv":["true"]}\n')
    assert [shared.job(ident)["spec"]["labels"] for ident in r.lines] == [
        {"a": "2", "b": "3", "batch": "7"}, {"a": "1", "batch": "7"}], r
    assert set(shared.ctl("list", "--all", "--no-legend", "-o", "id", "--label=batch=7").lines) == set(r.lines)


def test_a_name_where_an_id_is_asked_for(shared):
    """It is the newest of one's jobs of that name, which is said."""
    shared.submit("-w", "-n", "nightly", "--shell", "echo old")
    ident = shared.submit("-w", "-n", "nightly", "--shell", "echo new; exit 3").lines[0]
    r = shared.ctl("logs", "nightly")
    assert (r.out, r.err) == ("new\n", f"voltctl: nightly: job {ident}\n"), r
    assert shared.ctl("wait", "nightly").code == 3
    assert f"● {ident} - nightly" in shared.ctl("status", "-n0", "nightly").out
    held = shared.submit("--hold", "-n", "nightly", "true").lines[0]
    assert shared.ctl("cancel", "nightly").code == 0 and shared.job(held)["result"] == "cancelled"
    r = shared.ctl("cancel", "nightl")
    assert r.code == 4 and "nor the name of a job of yours" in r.err, r


def test_a_shutdown_says_what_waits(private):
    private.start(config="[Queue]\nSlots=1\n")
    assert private.ctl("shutdown", "--wait").err == ""
    private.start()
    gate = private.dir / "gate"
    running = private.submit("--shell", f"until [ -e {gate} ]; do sleep 0.05; done").lines[0]
    until(lambda: private.job(running)["state"] == "running")
    for words in ([], ["--wait"]):
        r = private.ctl("shutdown", *words)
        assert (r.code, r.err) == (0, "voltctl: 1 job runs on\n"), r
        assert private.process.wait(LIMIT) == 0
        private.start()
    private.submit("--quiet", "--array=1-3", "true")
    r = private.ctl("shutdown", "--wait")
    assert r.code == 0 and "3 jobs wait until the next voltd starts" in r.err and r.err.endswith("; 1 runs on\n"), r
    gate.touch()
    private.start()
    assert private.ctl("wait", "--all").code == 0
    assert len(private.ctl("list", "-e", "--all", "--no-legend", "--result=success").lines) == 4


@pytest.mark.parametrize("spec, field", [({"argv": ["echo", "a" * 131072]}, "argv"), ({"shell": "a" * 140000}, "shell"),
                                         ({"argv": ["true"], "env": {"BIG": "a" * 131068}}, "env.BIG")])
def test_words_that_no_program_can_be_started_with(shared, spec, field):
    r = shared.submit("-f", "-", input=json.dumps(spec))
    assert r.code == 125 and f"line 1: {field}: has" in r.err and "keep it in a file" in r.err, r
    longest = {"argv": {"argv": ["true", "a" * 131071]}, "shell": {"shell": ": " + "a" * 131069},
               "env.BIG": {"argv": ["true"], "env": {"BIG": "a" * 131067}}}[field]
    assert shared.submit("-w", "--no-env", "-f", "-", input=json.dumps(longest)).code == 0


@pytest.mark.parametrize("option, path", [("chdir", "~/build"), ("stdin", "~/in.txt"), ("output", "~/new/out"), ("error", "~bob/err")])
def test_a_tilde_that_no_shell_has_expanded(shared, option, path):
    r = shared.submit("--no-env", f"--{option}={path}", "true")
    assert r.code == 125 and r.err.splitlines()[1] == f"volt-submit: a shell expands ~ only where a word begins with it: --{option} {path}", r
