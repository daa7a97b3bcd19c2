"""Scripts that bring their options: #VOLT lines, and those of Slurm that have an equal."""
import os
import pwd
import subprocess

import pytest

from conftest import BIN


def write(daemon, name, text, mode=0o755):
    path = daemon.dir / name
    path.write_text(text)
    path.chmod(mode)
    return path


def dry(daemon, *words):
    r = daemon.submit("--dry-run", *words)
    assert r.code == 0, r
    return r.json


def test_options_of_a_script(shared):
    write(shared, "job.sh", """#!/bin/sh
# what it is for
#VOLT --name "night ly" --label=a='b c'   # said
#VOLT --array=1-2

#VOLT --timeout 2h
echo "$1 $VOLT_ARRAY_INDEX"
#VOLT --name=late
""")
    spec = dry(shared, "job.sh", "word")
    assert spec["name"] == "night ly" and spec["labels"] == {"a": "b c"}
    assert spec["timeout_usec"] == 7200_000_000 and spec["argv"] == [f"{shared.dir}/job.sh", "word"]
    assert dry(shared, "-n", "mine", "--", "./job.sh")["name"] == "mine"
    assert dry(shared, "--shell", "./job.sh").get("name") is None
    r = shared.submit("-w", "job.sh", "word")
    assert r.code == 0 and shared.ctl("logs", "--no-prefix", r.lines[0]).out == "word 1\nword 2\n"


def test_one_that_is_not_executable(shared):
    write(shared, "plain.sh", "#! /bin/sh -e\n#VOLT -n plain\nfalse\necho never\n", 0o644)
    assert dry(shared, "plain.sh", "x")["argv"] == [f"{shared.dir}/plain.sh", "x"]
    assert dry(shared, "--by-path", "plain.sh", "x")["argv"] == ["/bin/sh", "-e", f"{shared.dir}/plain.sh", "x"]
    r = shared.submit("-w", "./plain.sh")
    assert r.code == 1
    write(shared, "bare.sh", "#VOLT -n bare\n", 0o644)
    r = shared.submit("bare.sh")
    assert r.code == 125 and "no first line like #!/bin/sh" in r.err, r


def test_in_the_directory_of_the_job(shared):
    (shared.dir / "sub").mkdir()
    write(shared, "sub/there.sh", "#!/bin/sh\n#VOLT -n there\npwd\n")
    r = shared.submit("-w", "-d", "sub", "there.sh")
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == f"{shared.dir}/sub\n"
    assert shared.ctl("list", "--all", "-o", "name", "--no-legend", r.lines[0]).out.strip() == "there"


@pytest.mark.parametrize("mode", [0o755, 0o644])
@pytest.mark.parametrize("line", ["#VOLT --chdir=/", "#SBATCH -D /"])
@pytest.mark.parametrize("words", [["away.sh"], ["./away.sh"], ["-d", "under", "--", "deep.sh"]])
def test_a_script_that_names_another_directory(shared, words, line, mode):
    (shared.dir / "under").mkdir(exist_ok=True)
    for name in "away.sh", "under/deep.sh":
        write(shared, name, f"#!/bin/sh\n{line}\npwd\n", mode)
    r = shared.submit("-w", *words)
    expect = f"{shared.dir}/under" if "-d" in words else "/"
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == expect + "\n", r


@pytest.mark.parametrize("line, why", [
    ("#VOLT --nmae=x", "unknown option --nmae; did you mean --name?"),
    ("#VOLT --name", "option --name needs a value"),
    ("#VOLT word", "word in a #VOLT line of it is no option"),
    ("#VOLT -n 'x", "line 2: a quote is not closed"),
    ("#VOLT --timeout=soon", "--timeout: soon is not a time"),
    ("#SBATCH --dependency=expand:17", "--dependency=expand:17 of Slurm has no equal here, and without it the job would "
     "start too early; expand is none of afterok, afternotok, afterany, after, aftercorr with ids, and singleton"),
    ("#SBATCH --depend=afterok:17?afterany:18", "too early; ? in it: a job waits for all that it names"),
    ("#SBATCH -d afterany:3,after:17+5", "start too early; + in it: it has no delay, so name the job alone"),
    ("#SBATCH -d afterok:17_3", "start too early; _ in it: of an array it waits for the whole, or with aftercorr"),
    ("#SBATCH --open-mode=write -o x", "--open-mode=write is no value of this option"),
    ("#SBATCH --dependency=afterok:JID", "bad.sh: line 2: --dependency=afterok:JID: the id of a job is a number, such as 17"),
    ("#SBATCH -d afterok:", "bad.sh: line 2: -d afterok:: the id of a job is a number"),
    ("#SBATCH -d afterany:17:name:x", "line 2: -d afterany:17:name:x: the id of a job is a number"),
    ("#SBATCH --begin=teatime", "--at: teatime is not a time"),
])
def test_mistakes(shared, line, why):
    write(shared, "bad.sh", f"#!/bin/sh\n{line}\n")
    r = shared.submit("-w", "bad.sh")
    assert r.code == 125 and why in r.err and r.out == "", r


@pytest.mark.parametrize("line, edges", [
    ("--dependency=afterok:17:18,afternotok:19", [("17", "ok"), ("18", "ok"), ("19", "notok")]),
    ("-d afterany:17", [("17", "any")]), ("--depend=after:17", [("17", "start")])])
def test_what_it_waits_for_in_slurm(shared, line, edges):
    write(shared, "after.sh", f"#!/bin/sh\n#SBATCH {line}\n")
    r = shared.submit("--dry-run", "after.sh")
    assert [(e["job"], e["when"]) for e in r.json["after"]] == edges, r


@pytest.mark.parametrize("line, field, value", [
    ("-H", "hold", True), ("--hold", "hold", True), ("--begin=now+2hours", "delay_usec", 7200_000_000),
    ("-b now+90", "delay_usec", 90_000_000), ("--begin=now", "delay_usec", None),
    ("--begin=2100-01-02T10:00:00", "at_usec", 4102567200_000_000),
    ("--deadline=2100-01-02T10:00:00", "start_by_usec", 4102567200_000_000)])
def test_when_slurm_would_start_it(shared, line, field, value):
    write(shared, "later.sh", f"#!/bin/sh\n#SBATCH {line}\n")
    r = shared.submit("--dry-run", "later.sh", env={"TZ": "UTC"})
    assert r.json.get(field) == value, r


def test_alone_on_the_machine_in_slurm(shared):
    write(shared, "alone.sh", "#!/bin/sh\n#SBATCH --exclusive\n")
    r = shared.submit("--dry-run", "alone.sh")
    assert r.code == 0 and "claims" not in r.json and r.err.splitlines()[0] == (
        "volt-submit: note: alone.sh: line 2: --exclusive of Slurm is a lock here, and is left out; to run alone of those "
        "that claim it, say #VOLT --lock=machine"), r
    write(shared, "alone.sh", "#!/bin/sh\n#VOLT --lock=machine\n")
    assert shared.submit("--dry-run", "alone.sh").json["claims"][0]["name"] == "machine"


def test_slurm(shared):
    write(shared, "slurm.sh", """#!/bin/bash
#SBATCH --job-name=train
#SBATCH -t 1-02:30:00 --mem=4G
#SBATCH -o out/%x.%A_%a.log -e 'out/%x.%a.err'
#SBATCH --array=1-3%2 --cpus-per-task 4
#SBATCH --export=NONE,A=1
#SBATCH --requeue
SLURM_X=1 # is set here
echo $VOLT_ARRAY_INDEX $A $SLURM_ARRAY_TASK_ID ${SLURM_MEM_PER_NODE:-} $SLURM_CPUS_PER_TASK $SLURM_MEM_PER_NODE
""")
    (shared.dir / "out").mkdir()
    r = shared.submit("--dry-run", "slurm.sh")
    spec = r.json
    assert spec["name"] == "train" and spec["timeout_usec"] == 95_400_000_000
    assert spec["output_path"].endswith("/out/{name}.{id}.log")
    assert spec["error_path"].endswith("/out/{name}.{i}.err") and spec["open_mode"] == "truncate"
    assert spec["array"] == {"first": 1, "last": 3, "at_once": 2} and spec["env"]["A"] == "1" and spec["slurm"]
    assert spec["on_lost"] == "retry"
    assert [line.split(" of Slurm")[0].split(": ")[-1] for line in r.err.splitlines() if "no equal" in line] == ["--mem=4G"]
    assert "--cpus-per-task 4 of Slurm sets $SLURM_CPUS_PER_TASK here; it claims and limits no CPUs" in r.err
    assert [line.split("line ")[1] for line in r.err.splitlines() if "is not set" in line] == [
        "9: $SLURM_MEM_PER_NODE of Slurm is not set here"]
    ident = shared.submit("-w", "slurm.sh").lines[0]
    assert (shared.dir / f"out/train.{ident}_2.log").read_text() == "2 1 2 4\n"


def test_variables_of_slurm(shared):
    """As sbatch sets them; those of a job of Slurm that submits count no more."""
    names = "JOB_ID JOBID JOB_NAME ARRAY_JOB_ID ARRAY_TASK_ID ARRAY_TASK_MIN ARRAY_TASK_MAX ARRAY_TASK_COUNT".split()
    write(shared, "task.sh", "#!/bin/sh\n#SBATCH -J fit --array=3-7:2 -n 2\n"
          "echo " + " ".join(f"$SLURM_{name}" for name in names) + " $SLURM_NTASKS $SLURM_NNODES\n")
    r = shared.submit("-w", "task.sh", env={"SLURM_JOB_ID": "99", "SLURM_ARRAY_TASK_ID": "98", "SLURM_NTASKS": "97"})
    ident = r.lines[0]
    assert shared.ctl("logs", "--no-prefix", f"{ident}_5").out == f"{ident}_5 {ident}_5 fit {ident} 5 3 7 3 2 1\n", r
    assert "not set" not in r.err and "-n 2 of Slurm sets $SLURM_NTASKS here; the script runs once" in r.err, r
    write(shared, "one.sh", "#!/bin/sh\n#SBATCH -J x\necho $SLURM_JOB_ID $SLURM_JOB_NAME ${SLURM_ARRAY_TASK_ID-none}\n")
    ident = shared.submit("-w", "-n", "y", "one.sh").lines[0]
    assert shared.ctl("logs", ident).out == f"{ident} y none\n"
    assert "SLURM" not in shared.submit("-wF", "--", "env").out


@pytest.mark.parametrize("line, hint", [
    ("--partition=big", "#VOLT --queue=NAME"), ("-p big", "#VOLT --queue=NAME"), ("-pbig", "#VOLT --queue=NAME"),
    ("--licenses matlab:2", "#VOLT --sem=NAME:TAKE"), ("-L matlab", "#VOLT --sem=NAME:TAKE")])
def test_what_may_have_another_name_here(shared, line, hint):
    write(shared, "named.sh", f"#!/bin/sh\n#SBATCH {line}\n")
    r = shared.submit("--dry-run", "named.sh")
    assert r.code == 0 and r.err.endswith(f"is left out; if it has, say {hint}\n"), r


@pytest.mark.parametrize("before", ["", "#SBATCH --chdir=/\n"])
def test_the_directory_of_sbatch_is_set(shared, before):
    """Most scripts of Slurm begin with it; not set, they would go on at home."""
    write(shared, "there.sh", f"#!/bin/sh\n#SBATCH -J there\n{before}cd $SLURM_SUBMIT_DIR\n"
                              "echo $PWD ${SLURM_SUBMIT_DIR}\n")
    r = shared.submit("-w", "--follow", "there.sh")
    assert r.out.splitlines()[-1] == f"{shared.dir} {shared.dir}" and "SLURM" not in r.err, r


@pytest.mark.parametrize("text, usec", [
    ("10", 600), ("10:30", 630), ("1:02:03", 3723), ("2-3", 183600), ("2-3:04", 183840), ("1-0:0:1", 86401)])
def test_times_of_slurm(shared, text, usec):
    write(shared, "time.sh", f"#!/bin/sh\n#SBATCH --time={text}\n")
    assert dry(shared, "time.sh")["timeout_usec"] == usec * 1_000_000


@pytest.mark.parametrize("line, part", [
    ("-o out-%t.txt", "%t"), ("--output=out-%A+%a.txt", "%A"), ("-e '%4a'", "%4a"), ("-o %", "%")])
def test_a_path_of_slurm_that_is_left_out(shared, line, part):
    write(shared, "path.sh", f"#!/bin/sh\n#SBATCH {line}\n")
    r = shared.submit("-w", "path.sh")
    assert r.code == 0 and f"is left out, as {part} in it has no equal here; `voltctl logs ID` prints the output" in r.err, r
    assert "open-mode" not in r.err, r


def test_user_and_host_in_a_path_of_slurm(shared):
    write(shared, "path.sh", "#!/bin/sh\n#SBATCH -o %u.%N.%x\n")
    user, host = pwd.getpwuid(os.geteuid()).pw_name, os.uname().nodename.split(".")[0]
    assert dry(shared, "path.sh")["output_path"] == f"{shared.dir}/{user}.{host}.{{name}}"


def test_the_mode_of_no_path_of_slurm(shared):
    write(shared, "mode.sh", "#!/bin/sh\n#SBATCH --open-mode=append\n")
    r = shared.submit("--dry-run", "mode.sh")
    assert "open_mode" not in r.json and r.err == (
        "volt-submit: note: mode.sh: --open-mode of Slurm is left out, as no option gives a path of output\n"), r
    r = shared.submit("--dry-run", "--output=./x", "mode.sh")
    assert r.json["open_mode"] == "append" and r.err == "", r


@pytest.mark.parametrize("path", ["out-%A.%a.txt", "out-%A-%a.txt"])
def test_a_path_of_slurm_that_is_nearly_the_same(shared, path):
    """It has the id of the element; the note says how that looks."""
    write(shared, "path.sh", f"#!/bin/sh\n#SBATCH -a 1-2\n#SBATCH -o {path}\n")
    r = shared.submit("--dry-run", "path.sh")
    assert r.json["output_path"] == f"{shared.dir}/out-{{id}}.txt", r
    assert r.err == f"volt-submit: note: --output: {path[4:9]} is {{id}} here, such as 17_3\n"


def test_a_path_of_slurm_that_is_too_long(shared):
    write(shared, "path.sh", f"#!/bin/sh\n#SBATCH -o {'%x' * 5000}\n")
    r = shared.submit("path.sh")
    assert r.code == 125 and "left out" not in r.err and "--output" in r.err, r


def test_the_command_line_takes_a_path_of_slurm_back(shared):
    write(shared, "path.sh", "#!/bin/sh\n#SBATCH -o out.txt\necho here\n")
    assert dry(shared, "path.sh")["open_mode"] == "truncate"
    assert dry(shared, "--open-mode=append", "path.sh")["open_mode"] == "append"
    r = shared.submit("-w", "--output=file", "path.sh")
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == "here\n", r


@pytest.mark.parametrize("text, priority", [
    ("", -100), ("=7", -7), ("=-7", 7), ("=10000", -1000), ("=-10000", 1000), ("=99999999999999999999", -1000)])
def test_nice_of_slurm(shared, text, priority):
    write(shared, "nice.sh", f"#!/bin/sh\n#SBATCH --nice{text}\n")
    r = shared.submit("--dry-run", "nice.sh")
    assert r.code == 0 and r.json["priority"] == priority
    assert ("it goes from -1000 to 1000" in r.err) == (abs(priority) == 1000), r


@pytest.mark.parametrize("text", ["much", "1x", ""])
def test_no_nice_of_slurm(shared, text):
    write(shared, "nice.sh", f"#!/bin/sh\n#SBATCH --nice={text}\n")
    r = shared.submit("--dry-run", "nice.sh")
    assert r.code == 125 and r.out == "" and "no value of this option" in r.err, r


@pytest.mark.parametrize("text", ["x", "abc", "1:2:3:4", "1-", "-1", "1:", "2h", ""])
def test_no_times_of_slurm(shared, text):
    write(shared, "time.sh", f"#!/bin/sh\n#SBATCH --time={text}\n")
    r = shared.submit("--dry-run", "time.sh")
    assert r.code == 125 and r.out == "" and "line 2: --time" in r.err and "no value of this option" in r.err, r


def test_a_file_without_a_line_end_is_not_read_whole(shared):
    """A program of gigabytes is looked at, and no more."""
    big = shared.dir / "big"
    with open(big, "wb") as file:
        file.truncate(1 << 30)
    big.chmod(0o755)
    p = subprocess.Popen([BIN / "volt-submit", "--dry-run", "--no-check", "./big"], env=shared.env, cwd=shared.dir,
                         stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0 and used.ru_maxrss < 512 << 10, used
    big.unlink()


BODY = """#SBATCH -J body
# srun ./not
echo "not; srun" 'not; sbatch' # sbatch
srun() { "$@"; }
srun ./own
A=1 scancel 7
if squeue -j 7; then x=$(sacct -j 7) && echo "$(scontrol show job 7)"; fi
date | sinfo; scancel 8
command -v salloc
module load gcc
"""


def noted(r):
    return [line.split("note: ")[1] for line in r.err.splitlines() if "note: " in line]


def test_commands_of_slurm_in_the_body(shared):
    """A shell goes on without them, and the job would succeed."""
    write(shared, "body.sh", "#!/bin/bash\n" + BODY)
    notes = noted(shared.submit("--dry-run", "body.sh"))
    assert [note.split(";")[0] for note in notes[:-1]] == [
        f"body.sh: line {line}: there is no {name} here" for line, name in (
            (7, "scancel"), (8, "squeue"), (8, "sacct"), (8, "scontrol"), (9, "sinfo"))]
    assert notes[4].endswith("; `voltctl queues` does this") and "`voltctl status`, hold" in notes[3]
    assert notes[-1].startswith("body.sh: line 11: module is a function of a shell, which the job has only where its env")
    write(shared, "body.sh", "#!/bin/bash\n#SBATCH -J x\nsrun -n 4 ./step\n")
    assert noted(shared.submit("--dry-run", "body.sh")) == [
        "body.sh: line 3: there is no srun here; a job is one command, so write it without srun"]


@pytest.mark.parametrize("head", ["#!/usr/bin/python3\n" + BODY, "#!/bin/bash -l\n#SBATCH -J x\nmodule load gcc\n",
                                  "#!/bin/sh\n#SBATCH -J x\n. /etc/profile\nmodule load gcc\n",
                                  "#!/bin/sh\n#VOLT -n x\nsrun ./a\n"])
def test_no_commands_of_slurm_in_the_body(shared, head):
    write(shared, "fine.sh", head)
    assert noted(shared.submit("--dry-run", "fine.sh")) == []


def test_commands_of_slurm_that_are_here(shared):
    write(shared, "srun", "#!/bin/sh\n")
    write(shared, "here.sh", "#!/bin/sh\n#SBATCH -J x\nsrun ./a\n")
    assert noted(shared.submit("--dry-run", "here.sh", env={"PATH": f"{shared.dir}:/usr/bin:/bin"})) == []


@pytest.mark.parametrize("term", ["$(( SLURM_JOB_ID % 7 ))", "$(( 1 + $SLURM_JOBID ))", "$(($(date +%s) + SLURM_JOB_ID))"])
def test_the_id_of_an_element_is_no_number(shared, term):
    write(shared, "sum.sh", f"#!/bin/sh\n#SBATCH -J x\necho $SLURM_JOB_ID $(( SLURM_ARRAY_JOB_ID + 1 ))\necho {term}\n")
    assert noted(shared.submit("--dry-run", "sum.sh")) == []
    assert noted(shared.submit("--dry-run", "--array=1-2", "sum.sh")) == [
        "sum.sh: line 4: $SLURM_JOB_ID of an element is no number here, but such as 17_3; "
        "$SLURM_ARRAY_JOB_ID and $SLURM_ARRAY_TASK_ID are numbers"]
