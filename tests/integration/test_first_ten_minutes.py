"""What four people type in their first ten minutes, in order, and what they see.

Somebody with a laptop who knows task-spooler, an administrator, a Slurm user, a programmer. Each
line works, or says the one that does; screens are those of terminals of 80 and of 200 columns."""
import json
import os
import shlex
import subprocess

import pytest

from conftest import BIN, LIMIT, daemon_for_a_test, until
from test_terminal import watched


@pytest.fixture
def newcomer():
    """Nobody has started a voltd for this user yet."""
    with daemon_for_a_test() as daemon:
        (daemon.dir / "runtime").mkdir(mode=0o700)
        del daemon.env["VOLT_ADDRESS"]
        daemon.env.update(XDG_RUNTIME_DIR=str(daemon.dir / "runtime"), XDG_STATE_HOME=str(daemon.dir / "state"),
                          XDG_CONFIG_HOME=str(daemon.dir / "config"), PATH=f"{BIN}:/usr/bin:/bin")
        yield daemon
        daemon.ctl("--user", "shutdown", "--cancel", "--wait")


def typed(daemon, line):
    """A line in a shell: exit code, standard output, standard error."""
    r = subprocess.run(["bash", "-c", line], env=daemon.env, cwd=daemon.dir, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=LIMIT)
    return r.returncode, r.stdout, r.stderr


def advised(err):
    (line,) = [x for x in err.splitlines() if x.startswith("volt-submit: try: ")]
    return line.split("try: ", 1)[1]


def on_screen(daemon, columns, line):
    """What stands on a terminal of so many columns and 24 lines, and above it, when the line has run in
    a shell; no line is wrapped."""
    def tmux(*words):
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", daemon.dir / f"tmux{columns}", *words], env=env,
                              cwd=daemon.dir, check=True, capture_output=True, text=True, timeout=LIMIT).stdout
    env = {k: v for k, v in daemon.env.items() if k not in ("COLUMNS", "LINES", "TMUX")}
    # tmux starts the shell of the account if SHELL is not set, which may be nologin.
    env.update(PATH=f"{BIN}:/usr/bin:/bin", LANG="C.UTF-8", SHELL="/bin/sh")
    end = "(end of it)"
    tmux("new-session", "-d", "-x", str(columns), "-y", "24", f"bash -c '{line}; echo \"{end}\"; read'")
    server = tmux("display-message", "-p", "#{pid}").strip()
    try:
        until(lambda: end in tmux("capture-pane", "-p"), "the line to have run")
        text, joined = (tmux("capture-pane", "-p", "-S", "-", *j) for j in ((), ("-J",)))
        assert [x.rstrip() for x in text.splitlines()] == [x.rstrip() for x in joined.splitlines()]
        return text.split(end)[0]
    finally:
        tmux("kill-server")
        until(lambda: not os.path.exists(f"/proc/{server}"), "tmux to have gone")


def screens(daemon, line):
    """The same on a narrow and on a wide terminal."""
    return [on_screen(daemon, columns, line) for columns in (80, 200)]


def test_a_laptop(newcomer):
    code, out, err = typed(newcomer, "volt-submit 'sleep 0; echo done'")
    assert (code, out) == (127, "")  # refused before it is a job
    code, out, err = typed(newcomer, advised(err))
    assert (code, out) == (0, "1\n") and "started one for this user" in err
    assert typed(newcomer, "voltctl wait 1 && voltctl logs @last") == (0, "done\n", "")
    for line, output in (("volt-submit WORD=x printenv WORD", "x\n"),
                         ("volt-submit hello.sh there", "hello there\n")):
        (newcomer.dir / "hello.sh").write_text("echo hello $1\n")
        code, out, err = typed(newcomer, line)
        assert code in (126, 127) and out == "", line
        assert typed(newcomer, f"{advised(err)} && voltctl wait @last && voltctl logs @last")[1].endswith(output)
    code, out, err = typed(newcomer, "volt-submit cd /tmp")
    assert code == 127 and "--chdir=/tmp -- COMMAND" in err
    code, out, err = typed(newcomer, "printf a | volt-submit -w cat")
    assert code == 0 and "--stdin=- gives it what comes through the pipe" in err
    assert typed(newcomer, "printf a | volt-submit -F --quiet --stdin=- cat")[:2] == (0, "a")
    code, out, err = typed(newcomer, "volt-submit -- sleep 600 && voltctl kill -9 @last && voltctl wait @last")
    assert code in (1, 137), err  # it may not have been running yet
    code, out, err = typed(newcomer, "voltctl cancel @last; voltctl ps")
    assert code == 2 and "use `voltctl list`" in err
    code, out, err = typed(newcomer, "seq 2 | volt-submit --each-line - -w -- echo line")
    assert code == 0 and typed(newcomer, "voltctl logs --no-prefix @last") == (0, "line 1\nline 2\n", "")
    code, out, err = typed(newcomer, "volt-submit -w ls '|' wc")
    assert code == 2 and "--shell 'ls | wc'" in advised(err)
    narrow, wide = screens(newcomer, "volt-submit -w --shell \"sleep 600 & echo started\"; voltctl status @last")
    for screen in (narrow, wide):
        assert "State: done, success" in screen and "Left: 1 process, killed: a job ends with its main" in screen
    code, out, err = typed(newcomer, "voltctl remove 1")
    assert code == 2 and "use `voltctl clean ID`" in err
    narrow, wide = screens(newcomer, "voltctl")
    assert "COMMAND" in narrow and "sleep 600" in wide


def test_an_administrator(private):
    private.start(config="[Queue]\nSlots=2\n")
    job = private.submit("--", "sleep", "600").lines[0]
    until(lambda: private.job(job)["state"] == "running")
    private.config.write_text("[Queue]\nSlot=4\n[Limits]\nMaxJobs=many\n")
    r = subprocess.run([BIN / "voltd", "--check-config", "--config", private.config], capture_output=True,
                       text=True, timeout=LIMIT)
    assert r.returncode == 1 and "did you mean Slots=?" in r.stdout and "2 mistakes" in r.stdout
    r = private.ctl("reload")
    assert r.code == 1 and "did you mean Slots=?" in r.err
    private.config.write_text("[Queue]\nSlots=4\n")
    assert private.ctl("reload").code == 0 and "Queue.Slots=4" in private.ctl("config").lines
    screen = watched(private, 80, 24)
    assert len(screen.split("\n")) <= 24 and "lifo_hits" in screen and "slots used 1 of 4" in screen
    private.stop()
    private.start()
    assert private.job(job)["state"] == "running"  # it did not notice
    r = private.ctl("restart", "voltd")
    assert r.code == 2 and "systemctl restart voltd" in r.err
    assert private.ctl("list", "--no-legend", "-o", "id", "-u", str(os.getuid())).lines == [job]
    r = private.ctl("list", "--user=root")
    assert r.code == 2 and "use --owner=USER (-u)" in r.err
    assert private.ctl("kill", "-0", job).code == 0
    assert private.ctl("cancel", job).code == 0 and private.ctl("wait", job).code == 125
    narrow, wide = screens(private, "voltctl list --all")
    assert "cancelled" in narrow and "sleep 600" in wide


def test_a_slurm_user(private):
    private.start()
    script = private.dir / "train.sh"
    script.write_text("""#!/bin/bash
#SBATCH --job-name=train --time=1:00:00
#SBATCH --array=1-1000%8
#SBATCH --mem=4G
#SBATCH -o out/%a.log
echo "step $SLURM_ARRAY_TASK_ID"
case $VOLT_ARRAY_INDEX in 7|500|501) echo "no data for $VOLT_ARRAY_INDEX" >&2; exit 3 ;; esac
""")
    script.chmod(0o755)
    (private.dir / "out").mkdir()
    r = private.ctl("sbatch", "train.sh")
    assert r.code == 2 and "use `volt-submit COMMAND`" in r.err
    r = private.submit("-w", "train.sh")
    assert r.code == 3 and "--mem=4G of Slurm has no equal with this voltd" in r.err
    assert "1000 jobs ended: 997 succeeded, 3 failed" in r.err
    ident = r.lines[0]
    assert (private.dir / "out/500.log").read_text() == "step 500\nno data for 500\n"
    for verb, ours in (("squeue", "voltctl list"), ("scancel", "voltctl cancel ID"), ("sacct", "--state=done"),
                       ("qrls", "voltctl release ID")):
        r = private.ctl(verb, ident)
        assert r.code == 2 and ours in r.err
    out = private.ctl("status", ident).out
    assert "997 success, 3 exit 3" in out and "Failed: 7,500-501\n" in out and "at most 8 at once" in out
    narrow, wide = screens(private, f"voltctl list --elements --result=failed {ident}")
    assert [line.split()[0] for line in narrow.splitlines()[1:4]] == [f"{ident}_{i}" for i in (7, 500, 501)]
    assert "train" in wide
    # The same with what voltd keeps: one command says which failed, and why.
    r = private.submit("-w", "--array=1-9:2", "--shell",
                       "test $VOLT_ARRAY_INDEX -lt 7 || { echo bad $VOLT_ARRAY_INDEX; exit 3; }")
    assert "_7: exit status 3: bad 7" in r.err and "_9: exit status 3: bad 9" in r.err, r


def test_a_programmer(shared):
    with shared.connect() as v:
        text = v.ok("org.varlink.service.GetInterfaceDescription", {"interface": "org.voltd.jobs"})["description"]
        assert "method Submit(\n" in text and "    spec: Spec,\n" in text and "type Result (" in text
        first = v.ok("org.voltd.jobs.Submit", {"spec": {"argv": ["cat"], "stdin_data": "aGVsbG8=", "key": "once"}})
        again = v.ok("org.voltd.jobs.Submit", {"spec": {"argv": ["cat"], "stdin_data": "aGVsbG8=", "key": "once"}})
        assert again["id"] == first["id"] and not again["created"]
    ident = first["id"]
    assert shared.ctl("wait", ident).code == 0 and shared.ctl("logs", ident).out == "hello"
    r = shared.submit("--dry-run", "--umask=027", "--array=3,1", "--", "./a b", "{i}", "--", "it's")
    assert r.code == 127  # ./a b is looked for where it would run
    r = shared.submit("--dry-run", "--no-check", "--umask=027", "--array=3,1", "--", "./a b", "{i}", "it's")
    assert r.json["umask"] == "027" and r.json["array"]["ranges"] == [{"first": 1, "last": 1}, {"first": 3, "last": 3}]
    r = shared.submit("-w", "--json", "-f", "-", input='{"shell": "exit 4"}\n{"argv": ["true"]}\n')
    events = [json.loads(line) for line in r.lines]
    assert r.code == 4 and [e["event"] for e in events[:2]] == ["submitted"] * 2
    r = shared.submit("-w", "--each-line=-", "-n", "word-{}", "echo", input="one\ntwo words\n")
    assert [shared.ctl("logs", i).out for i in r.lines] == ["one\n", "two words\n"]
    jobs = json.loads(shared.ctl("list", "--all", "-o", "json", "--name=word-two words").out)
    assert [job["spec"]["argv"] for job in jobs] == [["echo", "two words"]]
    out = shared.ctl("status", "-n0", r.lines[1]).out
    command = out.split("Command: ")[1].split("\n")[0]
    assert shlex.split(command) == ["echo", "two words"]
    r = shared.submit("--nmae=x", "true")
    assert r.code == 125 and "did you mean --name?" in r.err
