"""The first command that somebody types works, or is refused with the one that would."""
import json
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
    (["export", "A=1"], 127, "--shell 'export A=1; COMMAND'"),
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


def test_paths_that_are_missing(shared):
    """Not those that are filled in when the job starts."""
    for words, text in ((["-d", "none"], "--chdir: {}/none: No such file or directory"),
                        (["-d", "a file"], "--chdir: {}/a file: Not a directory"),
                        (["--stdin=none"], "--stdin: {}/none: No such file or directory"),
                        (["--stdin=/dev/tty"], "--stdin: /dev/tty: neither a regular file nor /dev/null"),
                        (["--output=none/x"], "--output: {}/none: No such file or directory"),
                        (["--output=a file/x"], "--output: {}/a file: Not a directory"),
                        (["--array=1-2", "--error=none/{i}"], "--error: {}/none: No such file or directory")):
        (shared.dir / "a file").touch()
        r = shared.submit(*words, "true")
        assert r.code == 125 and r.out == "" and r.err.splitlines() == [
            "volt-submit: " + text.format(shared.dir), "volt-submit: --no-check submits it all the same"], r
        assert shared.submit("--no-check", *words, "true").code == 0
    assert shared.submit("--error=none-{id}/x", "true").code == 0
    assert shared.submit("-w", "--stdin=/dev/null", "--output=here", "true").code == 0


def test_what_is_closed_to_oneself(shared):
    """A voltd of one's own may no more."""
    if os.getuid() == 0:
        pytest.skip("root may go everywhere")
    (shared.dir / "closed").mkdir(mode=0o500)
    for name, mode in (("secret", 0), ("read-only", 0o400)):
        (shared.dir / name).touch()
        (shared.dir / name).chmod(mode)
    for words, path in (("--output=closed/new", "closed"), ("--error=read-only", "read-only"), ("--stdin=secret", "secret")):
        r = shared.submit(words, "true")
        assert r.code == 125 and r.out == "", r
        assert f"{words.split('=')[0]}: {shared.dir}/{path}: Permission denied" in r.err, r
    assert shared.submit("-w", "--stdin=read-only", "--output=new", "true").code == 0


def test_without_a_path(shared):
    """A program that execs with an environment of its own may have none."""
    env = {k: v for k, v in shared.env.items() if k != "PATH"}
    for words in (["true"], ["--no-env", "-w", "true"], ["--import=tsp"]):
        p = subprocess.run([BIN / "volt-submit", *words], env=env, cwd=shared.dir, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=LIMIT)
        assert p.returncode in (0, 125) and "Segmentation" not in p.stderr, (words, p)


def test_outputs_that_cannot_be_opened(shared):
    os.symlink("x", shared.dir / "link")
    for words, text in ((["--output=."], "Is a directory"), (["--output=/dev/full"], "neither a regular file nor"),
                        (["--error=link"], "link: is a symbolic link, which voltd does not follow")):
        r = shared.submit(*words, "true")
        assert r.code == 125 and r.out == "" and text in r.err, r


def test_outputs_of_an_array_that_are_files(shared):
    """Said once, of the first of them."""
    ident = shared.submit("-w", "--array=1-3", "--output=oo-{i}.txt", "--", "echo", "{i}").lines[0]
    for words in (["logs"], ["logs", "-f"], ["logs", "-fk"]):
        r = shared.ctl(*words, ident)
        assert r.code == 1 and r.out == "" and r.err.splitlines() == [
            f"voltctl: job {ident}_1 prints to a file that voltd does not keep: tail -f {shared.dir}/oo-1.txt"], (words, r)
    r = shared.submit("-F", "--array=1-3", "--output=null", "true")
    assert r.code == 0 and "has no output" not in r.err, r


def test_killed_at_once(shared):
    """Also while it is starting."""
    for _ in range(20):
        job = shared.submit("sleep", "600").lines[0]
        r = shared.ctl("kill", "-9", job)
        assert r.code == 0 or "(queued)" in r.err, r
        assert r.code == 0 or shared.ctl("cancel", job).code == 0


def test_a_list_has_a_name_on_a_terminal(shared):
    """That stays true; @last does until the next submission."""
    script = f"printf 'a\\nb\\n' | {BIN}/volt-submit --each-line - -- echo"
    p = subprocess.run(["script", "-qec", script, "/dev/null"], env=shared.env, cwd=shared.dir, text=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    first, last, said = p.stdout.splitlines()
    assert said == f"volt-submit: 2 jobs: voltctl list {first}-{last}", p


def test_a_field_that_is_unknown(shared):
    """Of those that are known no name is cut."""
    r = shared.submit("-f", "-", input='{"argv":["true"],"colour":1}')
    names = r.err.split("known are: ")[1].split(", ")
    assert r.code == 125 and names.pop() == "...\n", r
    for name in names:
        assert "is not known" not in shared.submit("-f", "-", input=json.dumps({name: [[]]})).err, name


def test_an_input_that_is_too_long(shared):
    r = shared.submit("--stdin=-", "cat", input="x" * 300000)
    assert r.code == 125 and r.err.splitlines() == [
        "volt-submit: --stdin: has more than the 131072 bytes of MaxStdin=: keep it in a file, and name that as standard "
        "input"], r


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


def test_an_id_is_no_verb(shared):
    for word in ("168", "@last"):
        r = shared.ctl(word)
        assert r.code == 2 and r.err == f"voltctl: {word} is no verb; use `voltctl status {word}`\n", r


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


def test_a_script_on_standard_input(shared):
    """As at and sbatch take it."""
    r = shared.submit(input="echo from the script\n")
    assert r.code == 125 and r.err.splitlines()[-1].startswith("volt-submit: a script, with a first line like #!/bin/sh: volt-submit -;"), r
    assert shared.submit("-F", "--quiet", "--stdin=-", "sh", input="echo from the script\n").out == "from the script\n"
    assert len(shared.submit().err.splitlines()) == 1  # /dev/null is none


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


def with_input(daemon, file, *words):
    """What volt-submit says with such a standard input."""
    p = subprocess.run([BIN / "volt-submit", *words], stdin=file, env=daemon.env, cwd=daemon.dir, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    assert p.returncode == 0, p
    return p.stderr


def test_a_pipe_that_is_slow_is_noticed(shared):
    """Its writer is alive, and has written nothing."""
    reading, writing = os.pipe()
    with open(reading) as pipe, open(writing, "wb"):
        assert "does not read the pipe" in with_input(shared, pipe, "cat")
    (shared.dir / "some").write_text("some")
    with open(shared.dir / "some") as file:
        assert "does not read the file" in with_input(shared, file, "cat")
        os.lseek(file.fileno(), 0, os.SEEK_END)
        assert with_input(shared, file, "cat") == ""
    (shared.dir / "some").write_text("")
    with open(shared.dir / "some") as file:
        assert with_input(shared, file, "cat") == ""


def test_the_input_of_a_loop_is_the_loops(shared):
    """The shell that runs the loop has it too: nothing is said, not once for each of its lines."""
    for line in ("seq 3 | while read n; do volt-submit echo $n; done",
                 "seq 3 >lines; while read n; do volt-submit echo $n; done <lines"):
        p = subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, cwd=shared.dir, capture_output=True,
                           env={**shared.env, "PATH": f"{BIN}:{os.environ['PATH']}"}, text=True, timeout=LIMIT)
        assert (len(p.stdout.splitlines()), p.stderr) == (3, ""), p


def test_one_that_fails_says_how(shared):
    """As several do; with --follow its output is there already."""
    fails = "echo searching; echo bad >&2; exit 4"
    r = shared.submit("-w", "--shell", fails)
    assert (r.code, r.err) == (4, f"volt-submit: job {r.lines[0]}: exit status 4: bad\n"), r
    assert shared.ctl("wait", r.lines[0]).err == f"voltctl: job {r.lines[0]}: exit status 4: bad\n"
    r = shared.submit("-F", "--shell", fails)
    assert r.code == 4 and r.err.splitlines()[-1].endswith(": exit status 4"), r
    r = shared.submit("-w", "--quiet", "--shell", fails)
    assert (r.code, r.err) == (4, ""), r


def test_the_command_of_an_element_has_its_index(shared):
    r = shared.submit("-w", "--array=1-2", "--", "sh", "-c", "echo f$0; test $0 = 1", "{i}")
    element = r.lines[0] + "_2"
    assert "   Command: sh -c 'echo f$0; test $0 = 1' 2\n" in shared.ctl("status", element).out
    assert "test $0 = 1' 2" in shared.ctl("list", "-e", "--no-legend", element).out
    assert "test $0 = 1' {i}" in shared.ctl("status", r.lines[0]).out


def test_lists_of_commands(shared):
    """As GNU parallel reads them: answered with the line that works, which does."""
    (shared.dir / "commands").write_text("echo one; true\necho two\n")
    works = "--each-line commands -- sh -c {}"
    for words, said in (
            (["--each-line", "commands"], works),
            (["--each-line", "commands", "--", "{}"], "line 1: no program is called"),
            (["-f", "commands"], "--each-line FILE -- sh -c {}"),
            (["echo", "{}", ":::", "a b", "c"], "printf '%s\\n' 'a b' c | volt-submit --each-line - -- echo {}"),
            (["--each-line", "commands", "--", "/bin/bash", "-c", "gzip {}"], "volt-submit --each-line commands --shell 'gzip {}'"),
            (["-n", "x", "gzip", "::::", "list"], "volt-submit -n x --each-line list -- gzip")):
        r = shared.submit(*words, cwd=shared.dir)
        assert r.code in (125, 127) and r.out == "" and said in r.err, r
    r = shared.submit("-w", *shlex.split(works), cwd=shared.dir)
    assert r.code == 0 and len(r.lines) == 2, r
    assert shared.ctl("logs", r.lines[0]).out == "one\n"
    for text, works in (("#!/bin/sh\necho hi\n", "--stdin=- -- sh"), ("true\n", "--each-line - -- sh -c {}")):
        r = shared.submit(input=text)
        assert r.code == 125 and works in r.err, r
    assert shared.submit("-w", "--each-line", "-", "{}", input="/bin/true\n").code == 0
    for words in (["--shell", "printf %s {}"], ["--", "sh", "-c", 'printf %s "$0"', "{}"]):
        r = shared.submit("-w", "--each-line", "-", *words, input="it's; echo no\n")
        assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == "it's; echo no", r


@pytest.mark.parametrize("verb, ours", [
    ("qsub", "volt-submit COMMAND"), ("sbatch", "volt-submit COMMAND"), ("stop", "voltctl cancel ID"),
    ("rm", "voltctl clean ID"), ("reset-failed", "voltctl clean --result=failed"), ("ps", "voltctl list"), ("restart", "voltctl retry ID"),
    ("list-units", "voltctl list"), ("nqtail", "voltctl logs -f ID"), ("head", "voltctl logs ID"),
    ("suspend", "voltctl pause ID"), ("unpause", "voltctl resume ID"), ("scancel", "voltctl cancel ID"),
])
def test_verbs_of_others(shared, verb, ours):
    r = shared.ctl(verb, "1")
    assert r.code == 2 and f"voltctl has no verb {verb}; use `{ours}`" in r.err, r


@pytest.mark.parametrize("words, line", [
    ("parallel 2 --group gpu", "voltctl queue set gpu max=2"), ("parallel 2 -g gpu", "voltctl queue set gpu max=2"),
    ("parallel --group=gpu 3", "voltctl queue set gpu max=3"),
    ("group add gpu --parallel 2", "voltctl queue create gpu max=2"), ("group add gpu -p2", "voltctl queue create gpu max=2"),
    ("group add gpu", "voltctl queue create gpu"), ("group remove gpu", "voltctl queue delete gpu"),
    ("top 6 7", "voltctl first 6 7"), ("create gpu2", "voltctl queue create gpu2"),
    ("create PartitionName=gpu2", "voltctl queue create gpu2"),
    ("scontrol update JobId=6 StartTime=22:00", "voltctl edit 6 --at=22:00"),
    ("scontrol update jobid=6 StartTime=now+1hour Priority=5", "voltctl edit 6 --in=1hour --priority=5"),
    ("scontrol update JobId=6 StartTime=now", "voltctl edit 6 --now"),
    ("scontrol update JobId=6_2 Dependency=afterok:3:4,afterany:5", "voltctl edit 6_2 --after-ok=3,4 --after-any=5"),
    ("scontrol update JobId=6 Dependency=", "voltctl edit 6 --no-after"),
    ("scontrol update JobId=6 Priority=0", "voltctl hold 6"), ("scontrol update JobId=6 Nice=-7", "voltctl edit 6 --priority=7"),
    ("scontrol update JobId=6 TimeLimit=1-0", "voltctl edit 6 --timeout=86400s"),
    ("scontrol update JobId=6 TimeLimit=UNLIMITED", "voltctl edit 6 --timeout=none"),
    ("update JobId=6 Name=x Licenses=tape:2", "voltctl edit 6 --name=x --sem=tape:2"),
    ("scontrol update PartitionName=gpu State=DRAIN", "voltctl queue drain gpu"),
    ("scontrol show job 6", "voltctl status 6"), ("scontrol requeue JobId=6", "voltctl retry 6"),
    ("scontrol write batch_script 6", "voltctl show --script 6"), ("scontrol uhold 6,7", "voltctl hold 6,7"),
])
def test_lines_of_others_with_their_ids(shared, words, line):
    words = words.split()
    r = shared.ctl(*words)
    assert r.code == 2 and r.err == f"voltctl: voltctl has no verb {words[0]}; use `{line}`\n", r


@pytest.mark.parametrize("words, said", [
    ("scontrol update JobId=6 Features=x", "`voltctl edit ID` for update"), ("scontrol update JobId=6", "`voltctl edit ID` for"),
    ("scontrol update JobId=6 Dependency=singleton", "`voltctl edit ID` for"), ("scontrol show config", "`voltctl edit ID` for"),
    ("scontrol update JobId=6 ArrayTaskThrottle=4", "`voltctl locks resize NAME N`"), ("parallel 2", "queue set QUEUE max=N"),
    ("create ./build", "volt-submit COMMAND"), ("create", "volt-submit COMMAND"), ("top", "use `voltctl list`"),
    ("group", "use `voltctl queues`"), ("update", "use `voltctl edit ID`"), ("help parallel", "queue set QUEUE max=N"),
])
def test_lines_of_others_without_a_line_here(shared, words, said):
    r = shared.ctl(*words.split())
    assert r.code == 2 and said in r.err, r


@pytest.mark.parametrize("words, said", [
    (["6", "priority=5"], "priority=5: did you mean --priority=5?"), (["6", "StartTime=22:00"], "did you mean --at=22:00?"),
    (["6", "timeout=5m"], "timeout=5m: did you mean --timeout=5m?"), (["6", "Priority=0"], "did you mean `voltctl hold`?"),
    (["6", "--begin=22:00"], "use --at=TIME, or --in=TIME"), (["6", "--dependency=afterok:3"], "use --after=ID"),
    (["6", "--nice=5"], "use --priority=N, where a higher one"), (["6", "what=x"], "an option is needed"),
])
def test_edits_of_others(shared, words, said):
    r = shared.ctl("edit", *words)
    assert r.code == 2 and said in r.err, r


@pytest.mark.parametrize("words, ours", [(["-l"], "`voltctl list`"), (["-c", "3"], "`voltctl logs ID`, with -f"),
                                         (["-S", "4"], "`voltctl queue set default slots=N`"), (["--json"], "`voltctl list --json`"), (["-Z"], "")])
def test_options_that_are_verbs_here(shared, words, ours):
    r = shared.ctl(*words)
    said = f"use {ours}" if ours else "try --help"
    assert r.code == 2 and f"unknown option {words[0]}; {said}" in r.err, r


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


def test_a_key_that_another_job_has(shared):
    first = shared.submit("--key=once", "true").lines[0]
    assert shared.submit("--key=once", "true").lines == [first]
    r = shared.submit("--key=once", "false")
    assert r.code == 125 and r.out == "" and r.err.splitlines() == [
        f'volt-submit: refused: key "once" belongs to job {first}, whose spec differs',
        f'volt-submit: argv: ["false"] here, ["true"] in job {first}',
        "volt-submit: --if-exists=coalesce prints the id of that job while it is not done; "
        "--if-exists=replace cancels it"], r
    r = shared.submit("--key=once", "--if-exists=reject", "true")
    assert r.err == f'volt-submit: refused: key "once" belongs to job {first}\n', r


@pytest.mark.parametrize("words, ours", [
    (["--parsable"], "--parsable; leave it out: it is the default"),
    (["-J", "x"], "-J; use --name=NAME"), (["--job-name=x"], "--job-name; use --name=NAME"),
    (["-c4"], "-c; use --sem=NAME:TAKE/CAPACITY"), (["--working-directory", "/"], "--working-directory; use --chdir=DIR"),
    (["--nmae=x"], "--nmae; did you mean --name?"), (["--boot=x"], "--boot; try --help"),
    (["--on-active=30"], "--on-active; use --in=TIME"), (["-b", "now+1h"], "-b; use --at=TIME"),
    (["--time=10"], "--time; use --timeout=TIME, as 10m or 2h"), (["--time", "10"], "--time; use --timeout=TIME"),
    (["--wrap=x"], "--wrap; use --shell='TEXT'"), (["--unit=x"], "--unit; use --name=NAME"), (["-Z"], "-Z; try --help"),
])
def test_options_of_others(shared, words, ours):
    r = shared.submit(*words, "true")
    assert r.code == 125 and r.out == "" and f"unknown option {ours}" in r.err, r
