"""What people type who know other tools: it works, or the answer is what works here."""
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time

import pytest

from conftest import BIN, LIMIT, needs_root, until
from test_terminal import on_terminal, width
from test_users import start_for_all



# --- @last ----------------------------------------------------------------------------

def ids_of(daemon, *words):
    r = daemon.ctl("list", "--no-legend", "-o", "id", *words)
    assert r.code == 0, r
    return r.lines


def test_the_last_list_is_all_of_its_jobs(private):
    private.start()
    private.submit("true")
    for words, given in ((["--each-line", "-", "--", "echo", "got"], "a\nb\nc\n"),
                         (["-f", "-"], '{"argv":["echo","got","a"]}\n{"argv":["echo","got","b"]}\n')):
        listed = private.submit("-w", *words, input=given).lines
        assert len(listed) > 1 and ids_of(private, "@last") == listed
        for verb in ("status", "show", "wait", "logs"):
            assert private.ctl(verb, "@last").code == 0
        assert private.ctl("logs", "--no-prefix", "@last").lines[:2] == ["got a", "got b"]
        assert len(private.ctl("status", "-n0", "@last").out.split("\n\n")) == len(listed)
    held = private.submit("--hold", "--each-line", "-", "true", input="a\nb\n").lines
    assert private.ctl("cancel", "@last").err == "voltctl: 2 jobs asked to end\n"
    assert ids_of(private, "--result=cancelled") == held


def test_what_is_submitted_after_a_list_is_the_last(private):
    """By whatever client. An element is one of the newest job."""
    private.start()
    listed = private.submit("-w", "--each-line", "-", "true", input="a\nb\n").lines
    with private.connect() as v:
        newer = v.ok("org.voltd.jobs.Submit", {"spec": {"kind": "noop"}})["id"]
    assert ids_of(private, "@last") == [newer]
    array = private.submit("-w", "--array=1-2", "true").out.strip()
    assert ids_of(private, "@last") == [array] and ids_of(private, "@last_2") == [f"{array}_2"]
    more = private.submit("--each-line", "-", "true", input="a\nb\n").lines
    assert ids_of(private, "@last") == more and not set(more) & set(listed)


def test_a_list_of_another_voltd_or_none_at_all(private):
    """What the file says counts for one voltd; without it @last is the newest job."""
    private.start()
    kept = private.dir / ".local/state/voltd/last"
    listed = private.submit("-w", "--each-line", "-", "true", input="a\nb\n").lines
    lines = kept.read_text().splitlines()
    assert lines == [str(private.socket), f"{listed[0]}-{listed[-1]}"] and kept.stat().st_mode & 0o777 == 0o600
    for text in ("", "\n", f"/other.sock\n{lines[1]}\n", f"{lines[0]}\n", f"{lines[0]}\nx\n", f"{lines[0]}\n{lines[1]}\n9\n"):
        kept.write_text(text)
        assert ids_of(private, "@last") == listed[-1:], text
    kept.write_text("\n".join(lines) + "\n")
    assert ids_of(private, "@last") == listed
    private.env["HOME"] = "/none"
    assert ids_of(private, "@last") == listed[-1:]
    assert private.submit("--each-line", "-", "true", input="a\nb\n").code == 0
    assert len(ids_of(private, "@last")) == 1


@pytest.mark.parametrize("made", ["", ".local/state/voltd"])
@needs_root
def test_a_list_leaves_nothing_in_the_home_of_another(private, made):
    """As sudo may keep the HOME."""
    private.start()
    home = private.dir / "home"
    (home / made).mkdir(parents=True)
    for directory in (home, *home.rglob("*")):
        os.chown(directory, 12345, 12345)
    private.env["HOME"] = str(home)
    before = sorted(home.rglob("*"))
    assert private.submit("--each-line", "-", "true", input="a\nb\n").code == 0
    assert sorted(home.rglob("*")) == before


def test_entries_that_are_one_job(private):
    """By a key that each of them has: the job is named once."""
    private.start()
    r = private.submit("--hold", "--key=k", "--if-exists=coalesce", "--each-line", "-", "--", "echo", input="a\na\na\n")
    assert r.code == 0 and len(set(r.lines)) == 1 and ids_of(private, "@last") == r.lines[:1]


# --- filters and signals --------------------------------------------------------------

def as_user(daemon, uid, *words):
    """voltctl or volt-submit as another user."""
    r = subprocess.run([daemon.dir / "bin" / words[0], *words[1:]], env=daemon.env, capture_output=True, text=True,
                       user=uid, group=uid, extra_groups=[], cwd="/", timeout=LIMIT, stdin=subprocess.DEVNULL)
    return r.returncode, r.stdout, r.stderr


@needs_root
def test_jobs_of_a_user(private):
    """Root sees those of all, others their own alone, whatever they ask for."""
    start_for_all(private)
    for program in ("volt-submit", "voltctl"):
        shutil.copy(BIN / program, private.dir / "bin")
    mine = private.submit("--kind=noop", "-w").out.strip()
    code, theirs, _ = as_user(private, 12345, "volt-submit", "--kind=noop", "-w")
    assert code == 0
    theirs = theirs.strip()
    assert ids_of(private, "--all") == [mine, theirs]
    for user, expected in (("12345", [theirs]), ("root", [mine]), ("0", [mine]), ("54321", [])):
        assert ids_of(private, "-u", user) == expected, user
        assert ids_of(private, f"--owner={user}") == expected, user
    r = private.ctl("list", "-u", "no-such-user")
    assert r.code == 2 and r.err == "voltctl: --owner: must be a uid, or the name of a user of this machine\n"
    for user, expected in (("12345", f"{theirs}\n"), ("0", ""), ("root", "")):
        assert as_user(private, 12345, "voltctl", "list", "--no-legend", "-o", "id", "-u", user)[:2] == (0, expected)
    assert as_user(private, 12345, "voltctl", "cancel", "-u", "0")[2] == (
        "voltctl: 0 jobs asked to end: jobs of other users are for administrators, with --all-users\n")
    assert as_user(private, 12345, "voltctl", "cancel", "-u", "12345")[2] == "voltctl: 0 jobs asked to end\n"
    held = private.submit("--hold", "true").out.strip()
    assert private.ctl("cancel", "-u", "root", "--state=queued").err == "voltctl: 1 job asked to end\n"
    assert private.job(held)["result"] == "cancelled"


@pytest.mark.parametrize("words, answer", [
    (["list", "--user=root"], "option --user takes no value; use --owner=USER (-u) for the jobs of a user"),
    (["list", "-r"], "unknown option -r; use --state=running"),
    (["list", "-t", "R"], "unknown option -t; use --state=STATE, or --result=RESULT of those that have ended"),
    (["list", "--state=failed"], "--state: failed is no state; use --result: it is how a job has ended"),
    (["cancel", "--state=PENDING"], "--state: PENDING is no state; use --state=queued; what a job waits for is the column "
                                    "WAIT, and `voltctl why ID`"),
    (["list", "--limit=2"], "unknown option --limit; use --newest -n N: the latest N"),
    (["list", "-l"], "unknown option -l; use --output=wide, or json"),
    (["list", "--format=%i"], "unknown option --format; use --json, or --output=COL,COL: the columns to show"),
    (["logs", "--tail=3", "1"], "unknown option --tail; use --lines=N (-n)"),
    (["list", "--no-header"], "unknown option --no-header; use --no-legend"),
    (["wait", "--timeout", "1"], "unknown option --timeout; use `timeout 10 voltctl wait ID`"),
    (["show", "-o", "state"], "unknown option -o; use --property=NAME (-p)"),
    (["logs", "--all"], "unknown option --all; use a filter, such as --since=today"),
    (["cancel", "-s", "KILL", "1"], "unknown option -s; use `voltctl kill -s SIGNAL ID`"),
    (["-u", "root"], "unknown option -u; use `voltctl list --owner=USER`; for a job that is urgent, `voltctl first ID`"),
    (["--failed"], "unknown option --failed; use `voltctl list --failed`"),
])
def test_options_of_others(shared, words, answer):
    r = shared.ctl(*words)
    assert r.code == 2 and r.err == f"voltctl: {answer}\n", r


def test_failed_is_a_result(shared):
    name = ["--name=failed one"]
    bad = shared.submit("-w", "-n", "failed one", "false").out.strip()
    shared.submit("-w", "-n", "failed one", "true")
    assert ids_of(shared, "--failed", *name) == ids_of(shared, "--result=failed", *name) == [bad]
    assert shared.ctl("wait", "--failed", *name).code == 1


def test_signals_are_listed(shared):
    r = shared.ctl("kill", "-l")
    assert r.code == 0 and r.err == ""
    listed = dict(line.split() for line in r.out.splitlines())
    assert listed["9"] == "SIGKILL" and listed["15"] == "SIGTERM" and len(listed) == 62
    for name in listed.values():
        assert shared.submit("--dry-run", f"--stop-signal={name}", "true").code == 0, name


def test_signal_0_asks(shared):
    """Nothing is sent."""
    job = shared.submit("sleep", "600").out.strip()
    until(lambda: shared.job(job)["state"] == "running")
    for words in (["-0", job], ["-s", "0", job]):
        r = shared.ctl("kill", *words)
        assert (r.code, r.out, r.err) == (0, "", ""), r
    assert shared.job(job)["state"] == "running"
    shared.ctl("cancel", job)
    assert shared.ctl("wait", job).code == 125
    r = shared.ctl("kill", "-0", job)
    assert r.code == 1 and r.err == f"voltctl: job {job} is not running (done)\n"
    assert shared.ctl("kill", "-0", "4000000000").code == 4


# --- lists ----------------------------------------------------------------------------

def test_a_limit_is_said_once(private):
    private.start(config="[Limits]\nMaxJobsPerUser=5\n")
    r = private.submit("--hold", "--each-line", "-", "true", input="".join(f"{i}\n" for i in range(60)))
    assert r.code == 125 and r.lines == [] and r.err == (
        "volt-submit: standard input: line 6: more than 5 jobs that have not ended (MaxJobsPerUser)\n"
        "volt-submit: no job was taken: a list is taken as a whole, or not\n"), r


def test_refusals_of_single_lines_are_said_ten_times(shared):
    r = shared.submit("--hold", "--queue", "no-such-queue", "--each-line", "-", "true", input="a\n" * 60)
    lines = r.err.splitlines()
    assert r.code == 125 and r.lines == [] and "no job was taken" in lines[-2], r
    assert [re.match(r"volt-submit: standard input: line (\d+): ", line)[1] for line in lines[:-2]] == \
        [str(i) for i in range(1, 11)]
    assert lines[-1] == "volt-submit: and 50 more were refused, 60 of 60 in all"
    r = shared.submit("--hold", "--queue", "no-such-queue", "--each-line", "-", "true", input="a\n" * 5)
    assert len(r.err.splitlines()) == 6 and "more were refused" not in r.err  # five, and that none was taken


def test_entries_that_end_with_a_nul_byte(shared):
    """Also names with a line end; without --null the answer says how."""
    names = ["one", "two\nlines", "'$x' \"y\""]
    (shared.dir / "names0").write_text("\0".join([*names, "", ""]))
    for null in ("-0", "--null"):
        r = shared.submit("-w", null, "--each-line=names0", "--", "printf", "%s")
        assert r.code == 0 and [shared.ctl("logs", i).out for i in r.lines] == names, r
    r = shared.submit("--each-line=names0", "true")
    assert r.code == 125 and r.err == \
        "volt-submit: names0: line 1: a NUL byte; --null (-0) takes what find -print0 prints\n"
    (shared.dir / "bad0").write_bytes(b"a\0\xff\0")
    r = shared.submit("-0", "--each-line=bad0", "true")
    assert r.code == 125 and r.err == "volt-submit: bad0: entry 2: not UTF-8, as all texts of a job have to be\n"
    r = shared.submit("-0", "true")
    assert r.code == 125 and r.err == "volt-submit: --null is for the entries of --each-line\n"


# --- what a job cannot be -------------------------------------------------------------

@pytest.mark.parametrize("words", [["gzip", *(f"file-{i}" for i in range(20001))], ["gzip", *("x" * 1000 for _ in range(300))]],
                         ids=["many words", "many bytes"])
def test_a_command_line_that_is_too_long(shared, words):
    """It is to blame, and not the environment, and what is advised has room."""
    r = shared.submit(*words)
    assert r.code == 125 and r.out == "", r
    assert re.search(r"^volt-submit: its command line has 20002 words, \d+ KiB: too much for a job$" if len(words) > 1000 else
                     r"^volt-submit: its command line has 301 words, 2\d\d KiB: too much for a job$", r.err, re.M), r.err
    assert "--shell 'COMMAND *.txt'" in r.err and "--no-env" not in r.err


def test_an_environment_that_is_too_large(shared):
    r = shared.submit("true", env={f"BIG{i}": "x" * 100000 for i in range(4)})
    assert r.code == 125 and "--no-env leaves it out" in r.err and "command line" not in r.err, r


def test_bytes_that_are_no_utf_8(shared):
    """What is advised gives them to the command."""
    r = shared.submit("od", b"\xffname")
    assert r.code == 125 and r.err.splitlines()[0] == \
        "volt-submit: argument 1 is not UTF-8, as all texts of a job have to be"
    assert r.err.splitlines()[1].endswith("volt-submit --stdin=- -- xargs -0 COMMAND")
    (shared.dir / os.fsdecode(b"\xffname")).write_text("found\n")
    script = f"printf '%s\\0' ?name | {shlex.quote(str(BIN))}/volt-submit -w --stdin=- -- xargs -0 cat"
    job = subprocess.run(["sh", "-c", script], env=shared.env, cwd=shared.dir, capture_output=True, text=True,
                         timeout=LIMIT, check=True).stdout.strip()
    assert shared.ctl("logs", job).out == "found\n"


@pytest.mark.parametrize("words, line", [
    (["ls", "|", "wc", "-l"], "'ls | wc -l'"), (["ls", "a b", ">", "out"], "'ls '\\''a b'\\'' > out'"),
    (["true", "&&", "true"], "'true && true'"), (["sleep", "0", "&"], "'sleep 0 &'"),
])
def test_operators_of_a_shell(shared, words, line):
    """They are said to be arguments, with the line that is meant."""
    r = shared.submit("-n", "x", *words)
    assert r.code == 0 and r.err.splitlines()[1] == f"volt-submit: try: volt-submit -n x --shell {line}", r
    assert "is an argument of the command, and does nothing else without a shell" in r.err
    assert shared.submit("--quiet", *words).err == ""


@pytest.mark.parametrize("words", [["grep", "|", "x"], ["/usr/bin/expr", "1", "|", "2"], ["find", ".", "-exec", "ls", ";"],
                                   ["ls", "a|b"], ["-w", "--shell", "true && true"]])
def test_operators_that_are_arguments(shared, words):
    assert shared.submit(*words).err == ""


def test_words_that_mean_standard_input_or_output(shared):
    r = shared.submit("-", input="echo hi\n")
    assert r.code == 125 and "what a shell is to read: volt-submit --stdin=- -- sh" in r.err, r
    for option in ("output", "error"):
        r = shared.submit(f"--{option}=-", "true")
        assert r.code == 125 and r.err == (f"volt-submit: --{option}: - is no file: --follow prints the output here; "
                                           "a file of this name is ./-\n"), r
    assert not (shared.dir / "-").exists()
    assert shared.submit("-w", "--output=./-", "echo", "x").code == 0 and (shared.dir / "-").read_text() == "x\n"


def test_a_label_that_is_given_twice(shared):
    r = shared.submit("--label=a=b", "--label=c=d", "--label=a=b=c", "--label=c=d", "true")
    assert r.code == 0 and r.err == "volt-submit: --label: a is given twice: b=c counts, and not b\n"
    assert shared.ctl("show", "--json", r.lines[0]).json["spec"]["labels"] == {"a": "b=c", "c": "d"}


@pytest.mark.parametrize("words, answer", [
    (["--retries=3"], "--retries; use --retry=N: so many attempts more than the first one"),
    (["--property=MemoryMax=1G"], "--property; use --mem=1G"), (["--property", "CPUQuota=50%"], "--property; use --cpu-max=50%"),
    (["--property=ProtectHome=yes"], "--property; use --timeout, --mem, --cpu-max, --umask and others by name"),
    (["--slice=x"], "--slice; leave it out: a job has a cgroup of its own where systemd starts voltd, and --mem, --cpu-max and "
                    "others limit it"),
    (["--machine=x"], "--machine; leave it out: jobs run on this machine"),
    (["-l"], "-l; use `voltctl list`"),
    (["--user=root"], None), (["--requeue"], "--requeue; use --on-lost=retry, where the machine fails; --retry=N, where the job does"),
    (["--cwd=/"], "--cwd; use --chdir=DIR"), (["--print-task-id"], "--print-task-id; leave it out: it is the default"),
    (["-C", "/"], "-C; use --chdir=DIR; where all jobs that have ended are to be forgotten: `voltctl clean --all`"),
    (["-k", "1"], "-k; use `voltctl kill ID`"),
    (["-H"], "-H; use --hold"), (["--kill-on-invalid-dep=yes"], "--kill-on-invalid-dep; leave it out: it is the default"),
    (["--resume-failed"], "--resume-failed; use `voltctl retry --all --failed`"),
])
def test_options_of_others_when_submitting(shared, words, answer):
    r = shared.submit(*words, "true")
    said = f"unknown option {answer}" if answer else \
        "option --user takes no value; use the voltd of that user: jobs run as its account"
    assert r.code == 125 and r.err == f"volt-submit: {said}\n", r


@pytest.mark.parametrize("words, answer", [
    (["-W"], "-W; use --wait; where it is the job to wait for: --after=ID"),
    (["-D", "4"], "-D; use --chdir=DIR; where it is the job to wait for: --after=ID"),
    (["-a", "3"], "-a; use --array=INDEXES; where it is the job to wait for: --after=ID"),
    (["-t", "10"], "-t; use --timeout=TIME, as 10m or 2h: a number alone is seconds, not minutes"),
    (["--after-corr=1"], "--after-corr; use --after-ok-each=ID"),
    (["--nodes=1"], "--nodes; leave it out: jobs run on this machine"),
    (["-N", "1"], "-N; use --sem=NAME:TAKE/CAPACITY: so many of what you count at a time"),
    (["--cpus-per-task=2"], "--cpus-per-task; use --sem=NAME:TAKE/CAPACITY: so many of what you count at a time"),
])
def test_options_that_mean_two_things(shared, words, answer):
    r = shared.submit(*words, "true")
    assert r.code == 125 and r.err == f"volt-submit: unknown option {answer}\n", r


@pytest.mark.parametrize("words, code, said", [
    (["-d", "ls"], 125, ["a command is needed; try --help",
                         "ls is the directory of -d here; behind the job before: volt-submit --after @last -- COMMAND"]),
    (["-n", "ls"], 125, ["a command is needed; try --help",
                         "ls is the name of -n here; without output: volt-submit --output=null -- COMMAND"]),
    (["--after", "17", "19", "--", "ls"], 127, [
        "19: not found in PATH", "is it the id of a job? several stand behind one option, as --after 17,18; "
                                 "`voltctl status 19` shows it"]),
])
def test_letters_and_ids_of_others(shared, words, code, said):
    r = shared.submit(*words)
    assert r.code == code and r.out == "" and r.err.splitlines() == [f"volt-submit: {line}" for line in said], r


def test_a_letter_of_others_takes_the_command_as_a_directory(shared):
    r = shared.submit("-d", "sleep", "1")
    assert r.code == 125 and "sleep is the directory of -d here" in r.err, r
    assert "is the directory" not in shared.submit("-d", "no program", "true").err


def test_a_script_is_no_file_of_jobs(shared):
    (shared.dir / "no jobs").write_text("#!/bin/sh\nls\n")
    r = shared.submit("-f", "no jobs")
    assert r.code == 125 and "line 1: no JSON, but a script: volt-submit ./FILE runs it" in r.err, r


def test_zero_jobs_asked_to_end(shared):
    job = shared.submit("-w", "true").out.strip()
    assert shared.ctl("cancel", job).err == "voltctl: 0 jobs asked to end: what is named has ended\n"
    assert shared.ctl("cancel", f"--name=no job {job}").err == "voltctl: 0 jobs asked to end\n"


@pytest.mark.parametrize("text", ["now+2h", "now + 2 hours", "+2h"])
def test_times_from_now(shared, text):
    at = shared.submit("--dry-run", f"--at={text}", "true").json["at_usec"]
    assert time.time() + 7000 < at / 1000000 <= time.time() + 7200


@pytest.mark.parametrize("given", ["\n".join, ", ".join, " ".join, lambda ids: "\n".join(ids) + "\n", ",\n".join])
def test_ids_as_they_were_printed(private, given):
    """By --each-line, one a line, are ids to wait for."""
    private.start()
    ids = private.submit("--hold", "--each-line", "-", "true", input="a\nb\nc\n").lines
    r = private.submit("--dry-run", "--after", given(ids), "true")
    assert r.code == 0 and [edge["job"] for edge in r.json["after"]] == ids, r


def test_ids_with_commas(private):
    """As for --after; what follows an element is named in full."""
    private.start()
    ids = private.submit("--hold", "--each-line", "-", "true", input="a\nb\nc\n").lines
    array = private.submit("--hold", "--array=1-3", "true").lines[0]
    words = f"{ids[0]},{ids[1]}-{ids[2]}"
    assert ids_of(private, words) == ids
    assert ids_of(private, f"{array}_1,{array}_3") == [f"{array}_1", f"{array}_3"]
    for wrong in (f"{array}_1,3", f"{ids[0]},", ","):
        r = private.ctl("cancel", wrong)
        assert r.code == 2 and r.out == "", r
    assert "elements are written 17_3,17_5" in private.ctl("cancel", f"{array}_1,3").err
    assert private.ctl("cancel", words).err == "voltctl: 3 jobs asked to end\n"


@pytest.mark.parametrize("words, said", [
    (["-d", "afterok:1"], "afterok:1 of Slurm is --after-ok=1 here"),
    (["-d", "singleton"], "singleton of Slurm is --singleton here"),
    (["--dependency=afterok:1:2,afterany:3"], "afterok:1:2,afterany:3 of Slurm is --after-ok=1,2 --after-any=3 here"),
    (["--dependency", "after:1"], "after:1 of Slurm is --after-start=1 here"),
    (["--after", "afternotok:1"], "afternotok:1 of Slurm is --after-notok=1 here"),
    (["--dependency=afterok:x"], "afterok:x: the id of a job is a number, such as 17"),
    (["-d", "aftercorr:1"], "aftercorr:1 of Slurm is --after-ok-each=1 here"),
    (["-d", "afterok:1?afterany:2"],
     "afterok:1?afterany:2 of Slurm has no equal here; ? in it: a job waits for all that it names, so separate them by commas"),
    (["--dependency=17"], "unknown option --dependency; use --after=ID, or --after-any=ID"),
    (["--dependency"], "unknown option --dependency; use --after=ID, or --after-any=ID"),
])
def test_dependencies_of_slurm(shared, words, said):
    """The line that works has the ids that were given."""
    r = shared.submit(*words, *(["true"] if words[-1] != "--dependency" else []))
    assert r.code == 125 and r.out == "" and r.err == f"volt-submit: {said}\n", r


@pytest.mark.parametrize("words, said", [
    (["--lock", "--", "true"], "--lock: a value is needed, and not --"),
    (["-n", "--", "true"], "--name: a value is needed, and not --"),
    (["--lock=", "true"], "--lock: a value is needed"),
    (["--after-fail", "1", "true"], "unknown option --after-fail; use --after-notok=ID"),
    (["--after-done", "1", "true"], "unknown option --after-done; use --after-any=ID"),
    (["--after-success=1", "true"], "unknown option --after-success; use --after-ok=ID"),
])
def test_no_value_and_no_such_condition(shared, words, said):
    """Nothing is submitted that waits for something else, or takes a lock of the name --."""
    r = shared.submit(*words)
    assert r.code == 125 and r.out == "" and r.err == f"volt-submit: {said}\n", r


def test_a_name_that_ends_options_as_a_word(shared):
    """-- with its option is a value."""
    ids = [shared.submit(option, "true").lines[0] for option in ("--name=--", "-n--")]
    r = shared.ctl("list", "--all", "--no-legend", "-o", "id", "--sort=id", "--name=--")
    assert r.code == 0 and r.lines == ids, r
    r = shared.ctl("list", "--name", "--")
    assert r.code == 2 and r.err == "voltctl: --name: a value is needed, and not --\n", r


def test_a_directory_that_is_called_as_a_dependency(shared):
    (shared.dir / "singleton").mkdir()
    try:
        assert shared.submit("--dry-run", "-d", "singleton", "true").json["cwd"] == f"{shared.dir}/singleton"
    finally:
        (shared.dir / "singleton").rmdir()


def test_commas_in_the_name_of_a_lock(shared):
    for option in ("--lock", "--lock-shared", "--sem"):
        r = shared.submit("--dry-run", f"{option}=a,b", "true")
        assert [c["name"] for c in r.json["claims"]] == ["a,b"]
        assert r.err == f"volt-submit: note: {option}: a,b is one name; for several give {option} several times\n"
    assert shared.submit("--dry-run", "--lock=a", "--rate=api=1/s,burst=2", "true").err == ""


@pytest.mark.parametrize("word, said", [
    ("--sem=tape=2", "--sem: tape=2 is one name; permits of a semaphore are --sem=tape:2"),
    ("--sem=tape=2/4", "--sem: tape=2 is one name; permits of a semaphore are --sem=tape:2/4"),
    ("--sem=2", "--sem: 2 is the name; permits stand behind one, as --sem=NAME:2"),
    ("--sem=2/4", "--sem: 2 is the name; permits stand behind one, as --sem=NAME:2/4"),
    ("--lock=db:2", "--lock: db:2 is one name; permits of a semaphore are --sem=db:2"),
    ("--lock-shared=db=2", "--lock-shared: db=2 is one name; permits of a semaphore are --sem=db:2"),
    ("--lock=db/2", "--lock: db/2 is one name; permits of a semaphore are --sem=db:2"),
    ("--lock=host:/dev/sda1", None), ("--lock=2", None), ("--sem=2:1/3", None), ("--sem=a=b:2/4", None),
])
def test_a_name_that_looks_like_permits(shared, word, said):
    """What is taken is a name of its own, which protects nothing of what was meant."""
    r = shared.submit("--dry-run", word, "true")
    assert r.code == 0 and r.err == (f"volt-submit: note: {said}\n" if said else ""), r


@pytest.mark.parametrize("spec, said", [
    ({"retry": 3}, 'retry: must be an object, such as {"times": 3}'),
    ({"array": "1-10%3"}, 'array: must be an object, such as {"first": 1, "last": 10, "at_once": 3}'),
    ({"claims": ["db"]}, 'claims[0]: must be an object, such as {"name": "db"}'),
    ({"claims": "db"}, 'claims: must be a list of 1 to 16 claims, such as [{"name": "db"}]'),
    ({"limits": "1G"}, 'limits: must be an object, such as {"memory_max": 1073741824}'),
    ({"array": {"first": 1, "last": 3, "ranges": ["1-3"]}},
     'array.ranges[0]: must be an object, such as {"first": 1, "last": 10}'),
])
def test_what_is_no_object(shared, spec, said):
    r = shared.submit("-f", "-", input=json.dumps({"argv": ["true"], **spec}))
    assert r.code == 125 and r.out == "" and said in r.err, r


@pytest.mark.parametrize("words, said", [
    (["--at=+2h", "--start-by=+1h"], "--start-by: that is before the time of --at: it could never start"),
    (["--in=2h", "--start-by=+1h"], "--start-by: that is before the time of --in has passed: it could never start"),
    (["--depends-on=3"], "unknown option --depends-on; use --after=ID, or --after-any=ID"),
    (["--semaphore=x"], "unknown option --semaphore; use --sem=NAME[:TAKE][/CAPACITY]"),
    (["--mutex=x"], "unknown option --mutex; use --lock=NAME"),
    (["--rate-limit=9"], "unknown option --rate-limit; use --rate=NAME=N/UNIT"),
    (["--mem-limit=9G"], "unknown option --mem-limit; use --mem=SIZE"),
    (["--after=bad"], "--after: bad is no id: try name:bad, your newest job of that name"),
    (["--after-any=17,bad"], "--after-any: bad is no id: try name:bad, your newest job of that name"),
])
def test_errors_name_what_to_type(shared, words, said):
    r = shared.submit(*words, "true")
    assert r.code == 125 and r.out == "" and r.err == f"volt-submit: {said}\n", r


def test_elements_of_a_job_by_its_name(private):
    """As of @last; a job whose whole name is that is meant before."""
    private.start()
    array = private.submit("--hold", "--array=1-5", "-n", "arr", "true").lines[0]
    for words, elements in (("arr_5", [5]), ("arr_2-3", [2, 3]), ("arr_[1-2,4]", [1, 2, 4])):
        assert ids_of(private, words) == [f"{array}_{i}" for i in elements], words
        assert f"arr: job {array}" in private.ctl("list", words).err
    named = private.submit("--hold", "-n", "arr_5", "true").lines[0]
    assert ids_of(private, "arr_5") == [named]
    for words, code in ("arr_9", 4), ("ar_5", 4), ("arr_[", 2):
        r = private.ctl("hold", words)
        assert r.code == code and r.out == "", (words, r)
    assert "ar_5 is not a job id" in private.ctl("hold", "ar_5").err


def test_a_queue_is_no_job(private):
    private.start()
    assert private.ctl("queue", "create", "gpu").code == 0
    for verb in "pause", "resume":
        r = private.ctl(verb, "gpu")
        assert r.code == 4 and r.err == (
            f"voltctl: {verb}: no job of yours is called gpu; of the queue: `voltctl queue {verb} gpu`\n"), r
    assert "nor the name of a job of yours" in private.ctl("pause", "cpu").err
    assert "nor the name of a job of yours" in private.ctl("hold", "gpu").err
    for option in "-g", "--group":
        assert private.ctl("list", option, "gpu").err == f"voltctl: unknown option {option}; use --queue=QUEUE\n"


def test_one_property(shared):
    job = shared.submit("-w", "-n", "one", "--label=k=v", "true").lines[0]
    assert shared.ctl("show", "-p", "state", job).out == "state=done\n"
    assert shared.ctl("show", "--property=state,result", job).lines == ["state=done", "result=success"]
    assert sorted(shared.ctl("show", "-p", "spec.labels,spec.name", job).lines) == ["spec.labels.k=v", "spec.name=one"]
    assert shared.ctl("show", "-p", "stat", job).out == ""
    assert set(shared.ctl("show", "-p", "spec", job).lines) < set(shared.ctl("show", job).lines)
    assert shared.ctl("show", "--json", "-p", "state", job).code == 2


def test_words_that_are_no_signal(shared):
    r = shared.ctl("kill", "-FOO", "1")
    assert r.code == 2 and r.err == "voltctl: kill: FOO is no signal (see `voltctl kill -l`); try `voltctl kill --help`\n", r


def test_one_who_waits_is_told_why(private):
    """On a terminal, of a job that was asked to begin later."""
    private.start()

    def end():
        until(lambda: ids_of(private, "--name=later", "--state=queued"))
        private.ctl("cancel", "--name=later", "--state=queued")

    for words, said in ((["--hold"], r"held until `voltctl release \d+`"),
                        (["--in=1h"], r"begins at \w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
                        (["--at=2100-01-02 10:00"], r"begins at Sat 2100-01-02 10:00:00")):
        ender = threading.Thread(target=end)
        ender.start()
        shown = on_terminal(private, "volt-submit", "-w", "-n", "later", *words, "true")
        ender.join()
        assert re.search(said, shown), shown


def test_dates_by_name(shared):
    """A weekday with a time is the next one; a time of today that is past is said."""
    env = {"TZ": "UTC"}
    for text in ("tomorrow 06:00", "Mon 10:00", "sunday 23:59"):
        at = shared.submit("--dry-run", f"--at={text}", "true", env=env).json["at_usec"]
        shown = subprocess.run(["date", "-u", "-d", f"@{at // 1000000}", "+%A %H:%M"], capture_output=True, text=True,
                               check=True).stdout.strip().lower()
        day, _, clock = text.lower().partition(" ")
        assert shown.endswith(clock) and (day == "tomorrow" or shown.startswith(day)), (text, shown)
        assert at < (time.time() + 8 * 86400) * 1000000
    assert shared.submit("--at=today 00:00", "true", env=env).err == "volt-submit: --at: today 00:00 is past\n"
    for text in ("noon", "midnight", "9pm", "9:30 am"):
        at = shared.submit("--dry-run", f"--at={text}", "true", env=env).json["at_usec"]
        assert time.time() - 60 < at / 1000000 < time.time() + 86400, text
    for text in ("teatime", "tomorrow", "Mon 25:00"):
        r = shared.submit("--dry-run", f"--at={text}", "true", env=env)
        assert r.code == (0 if text == "tomorrow" else 125)
        assert text == "tomorrow" or '"tomorrow 06:00", "Mon 10:00"' in r.err, r


def test_a_message_is_one_write(shared):
    """What other programs print does not come between its words."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(LIMIT)
    with ours, theirs:
        for program, words, said in (("voltctl", ["status", "17x"], b"17x is not a job id"), ("volt-submit", ["-Z"], b"unknown option -Z")):
            subprocess.run([BIN / program, *words], env=shared.env, cwd=shared.dir, stderr=theirs, check=False, timeout=LIMIT)
            line = ours.recv(65536)
            assert line.startswith(program.encode() + b": ") and said in line and line.endswith(b"\n"), line


def test_places_of_slurm_in_a_path(shared):
    r = shared.submit("--dry-run", "--output=out.%j.txt", "true")
    assert r.err == ("volt-submit: note: --output: %j stays as it is; {id} is the id of the job, {i} the index, "
                     "{name} the name\n"), r
    for path in ("100%", "a%b", "{id}.txt"):
        assert shared.submit("--dry-run", f"--error={path}", "true").err == "", path


@needs_root
def test_a_directory_that_cannot_be_entered(private):
    """It is refused before the job is submitted, by a dry run as well."""
    private.dir.chmod(0o755)
    closed = private.dir / "closed"
    closed.mkdir()
    os.chown(closed, 12345, 12345)
    closed.chmod(0)
    program = shutil.copy(BIN / "volt-submit", private.dir)
    env = {k: v for k, v in private.env.items() if k != "VOLT_ADDRESS"}
    for options in [], ["--dry-run"]:
        r = subprocess.run([program, *options, "-d", closed, "true"], env={**env, "XDG_RUNTIME_DIR": "/none"},
                           capture_output=True, text=True, user=12345, group=12345, extra_groups=[], cwd="/", timeout=LIMIT)
        assert r.returncode == 125 and r.stdout == "", r
        assert r.stderr.splitlines() == [f"volt-submit: --chdir: {closed}: Permission denied",
                                         "volt-submit: --no-check submits it all the same"]


@pytest.mark.parametrize("verb, answer", [
    ("cancel-all", "use `voltctl cancel --all`"), ("stash", "use `voltctl hold ID`: it keeps a job that waits from starting"),
    ("enqueue", "use `voltctl release ID` for a job that is held, `voltctl resume ID` for one that is paused, "
                "`voltctl queue resume QUEUE` for a queue; `volt-submit COMMAND` submits one, and starts voltd for its user; "
                "`systemctl start voltd` starts that of the system"),
    ("stop", "use `voltctl cancel ID`; `voltctl shutdown` or `systemctl stop voltd` ends voltd itself"),
    ("ping", "use `voltctl version`: exit code 3 says that no voltd answers; `voltctl status ID` shows a job"),
    ("scontrol", "use `voltctl status ID` for show job; `voltctl hold ID`, `voltctl release ID`; `voltctl pause ID` for suspend, `voltctl resume ID`; `voltctl edit ID` for update, `voltctl first ID` for top; `voltctl retry ID` for requeue; `voltctl queue` for partitions"), ("pools", "use `voltctl locks`"),
    ("drain", "use `voltctl queue drain default`: it takes no more jobs; `voltctl queue resume default` "
              "is the end of that"),
    ("renice", "use `voltctl edit -p N ID`"),
])
def test_verbs_of_others(shared, verb, answer):
    r = shared.ctl(verb)
    assert r.code == 2 and r.err == f"voltctl: voltctl has no verb {verb}; {answer}\n", r


# --- what a screen shows --------------------------------------------------------------

@needs_root
def test_a_job_that_missed_a_variable(private):
    """Its voltd is another user's: a person is told what went with it, if it failed."""
    private.as_service().start()
    private.env["FOO"] = "1"
    note = "note: the job had the variables of its account, and none of yours"
    failed = ["volt-submit", "-w", "-d", "/", "printenv", "FOO"]
    assert note in on_terminal(private, *failed)
    assert note not in on_terminal(private, "volt-submit", "-w", "-d", "/", "true")
    assert note not in on_terminal(private, failed[0], "--no-env", *failed[1:])
    assert note not in on_terminal(private, failed[0], "-E", "BAR=1", *failed[1:])
    assert private.submit(*failed[1:]).code == 1 and note not in private.submit(*failed[1:]).err
    assert note not in on_terminal(private, failed[0], "-E", "FOO", *failed[1:])


@pytest.mark.parametrize("variables, dot", [({"LC_ALL": "C"}, "*"), ({"LC_ALL": "", "LANG": "POSIX"}, "*"),
                                            ({"LC_ALL": "", "LC_CTYPE": "en_GB.utf8", "LANG": "C"}, "\u25cf"),
                                            ({"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}, "\u25cf")])
def test_a_locale_without_utf_8(shared, variables, dot):
    job = shared.submit("-w", "-n", "long", "--shell", ": " + "x" * 200).out.strip()
    assert shared.ctl("status", job, env=variables).out.startswith(f"{dot} {job} ")
    before = {name: shared.env.get(name) for name in variables}
    shared.env.update(variables)
    try:
        table = on_terminal(shared, "voltctl", "list", job)
    finally:
        for name, value in before.items():
            if value is None:
                del shared.env[name]
            else:
                shared.env[name] = value
    assert ("\u2026" in table) == (dot != "*") and ("~" in table) == (dot == "*"), table
    assert max(map(width, table.splitlines())) <= 80


def test_statistics_of_many_results_fit(private):
    private.start()
    for words in (["true"], ["false"], ["--shell", "kill -9 $$"], ["--timeout=1ms", "sleep", "600"],
                  ["--no-check", "/none"]):
        private.submit("-w", *words)
    private.ctl("cancel", private.submit("--hold", "true").out.strip())
    private.submit("-w", "--output-limit=1K", "yes")
    out = on_terminal(private, "voltctl", "stats")
    assert max(map(width, out.splitlines())) <= 80, out
    told, whole = (" ".join(text.partition("ended as: ")[2].split()) for text in (out, private.ctl("stats").out))
    assert told == whole
    assert set(re.findall(r"[a-z_]+(?= \d)", told)) == {"success", "exit", "signal", "timeout", "exec_failed", "cancelled",
                                                        "output_limit"}


VERBS = (["show"], ["status"], ["list"], ["logs"], ["logs", "-f"], ["wait"], ["retry", "--failed"], ["why"], ["graph"],
         ["edit", "--priority=1"], ["cancel"], ["kill"], ["hold"], ["release"], ["pause"], ["resume"], ["clean", "--dry-run"])


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_names_and_keys_of_jobs(shared, verb):
    """For each verb they are the job that they are for --after."""
    ident = shared.submit("-w", "-n", "7 of_9", "--if-exists=same", "--key=the key", "true").lines[0]
    for word in ("name:7 of_9", "key:the key"):
        r, same = shared.ctl(*verb, word), shared.ctl(*verb, ident)
        said = f"voltctl: {word}: job {ident}\n"
        assert r.err.startswith(said), r
        assert (r.code, r.out.split()[:9], r.err.replace(said, "")) == (same.code, same.out.split()[:9], same.err)
        r = shared.ctl(*verb, word + "x")
        assert (r.code, r.err) == (4, f"voltctl: {verb[0]}: {word}x: you have no such job\n"), r


def test_names_and_keys_in_the_help(shared):
    said = " ".join(shared.ctl("--help").out.split())
    assert "A name, or name:NAME, is your newest job of that name, key:KEY the one with that key" in said


@pytest.mark.parametrize("words, indexes", [
    ("name:by_name_2", [2]), ("key:by_key_[2,3]", [2, 3]), ("key:by_key_1,name:by_name_3", [1, 3])])
def test_elements_of_names_and_keys(private, words, indexes):
    private.start()
    array = private.submit("--hold", "-n", "by_name", "--key=by_key", "--array=1-3", "true").lines[0]
    assert ids_of(private, words) == [f"{array}_{i}" for i in indexes]
    assert private.ctl("list", f"{array}_1,name:by_name").code == 0


def test_keys_where_no_job_is_taken(private):
    """What would keep a new job out is nothing to the job that has the key, and no answer to a key of none."""
    private.start(config="[Limits]\nMaxJobsPerUser=2\n")
    words = "--hold", "--key=k", "--no-env", "true"
    ident = private.submit(*words).lines[0]
    private.submit("--hold", "true")
    for why in ("MaxJobsPerUser", "drained"):
        assert private.submit(*words).lines == [ident] and ids_of(private, "key:k") == [ident]
        r = private.ctl("cancel", "key:typo")
        assert (r.code, r.err) == (4, "voltctl: cancel: key:typo: you have no such job\n"), r
        r = private.submit("--hold", "--key=new", "true")
        assert r.code == 125 and why in r.err, r
        if why == "MaxJobsPerUser":
            assert private.ctl("cancel", "key:k").code == 0 and private.ctl("wait", "key:k").code == 125
            private.ctl("queue", "drain", "default")
