"""What people see on a terminal: widths, characters that would steer it, hints."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import unicodedata

import pytest

from conftest import BIN, LIMIT, until

NASTY = "a\tb\r\n\x1b[31mred\x7f\u009b31m\u0085\u202eevil\u2066\u2028end"


CLEAR = b"\033[H\033[2J"


def on_terminal(daemon, program, *args, columns=80, typed=b""):
    """What the program writes to a terminal of this width, where this is typed; line ends as they were."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    env = {k: v for k, v in daemon.env.items() if k != "COLUMNS"}
    p = subprocess.Popen([BIN / program, *map(str, args)], env=env, stdin=theirs,
                         stdout=theirs, stderr=theirs, cwd=daemon.dir)
    os.close(theirs)
    os.write(ours, typed)
    data = b""
    while True:
        try:
            more = os.read(ours, 1 << 16)
        except OSError:  # the other end has closed
            break
        if not more:
            break
        data += more
    os.close(ours)
    assert p.wait(LIMIT) >= 0
    return data.decode()


def watched(daemon, columns, lines):
    """The first screen of voltctl stats --watch."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    env = {k: v for k, v in daemon.env.items() if k not in ("COLUMNS", "LINES")}
    p = subprocess.Popen([BIN / "voltctl", "stats", "--watch=0.1"], env=env, stdin=theirs,
                         stdout=theirs, stderr=theirs, cwd=daemon.dir)
    os.close(theirs)
    data = b""
    while data.count(CLEAR) < 2:
        data += os.read(ours, 1 << 16)
    p.terminate()
    p.wait(LIMIT)
    os.close(ours)
    return data.split(CLEAR)[1].decode().replace("\r\n", "\n")


def width(text):
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def harmful(text):
    return [c for c in text if c != "\n" and
            (unicodedata.category(c) in ("Cc", "Zl", "Zp") or
             unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF",
                                              "LRI", "RLI", "FSI", "PDI"))]


@pytest.fixture(scope="module")
def nasty(shared):
    """A job whose every text would steer a terminal, its output too."""
    r = shared.submit("--wait", "-n", NASTY, "--label", f"{NASTY}={NASTY}", "-E",
                      f"N={NASTY}", "--", "printf", "%s", NASTY + "tail")
    assert r.code == 0
    return r.out.strip()


@pytest.mark.parametrize("args", [["list", "--all"], ["list", "--json"], ["status"], ["logs"],
                                  ["logs", "-f"], ["show"], ["show", "--json"],
                                  ["events", "-n1", "--after"],
                                  ["events", "--json", "-n1", "--after"]])
def test_nothing_steers_the_terminal(shared, nasty, args):
    if args[0] == "events":
        with shared.connect() as v:
            v.send("org.voltd.jobs.Watch", {}, more=True)
            last = str(v.recv()["parameters"]["cursor"] - 1)
    out = on_terminal(shared, "voltctl", *args, last if args[0] == "events" else nasty,
                      columns=133)
    if args[0] != "events":
        assert "evil" in out and "end" in out
    if args[0] in ("status", "logs"):
        head, _, tail = out.rpartition("\n\n")
        out = head + tail.replace("\t", "").replace("\r", "")  # may shift, but not steer
    assert harmful(out) == [], repr(out)


def test_logs_are_as_they_were_written_elsewhere(shared, nasty):
    """To a pipe, and on a terminal when that is asked for."""
    assert on_terminal(shared, "voltctl", "logs", "--raw", nasty) == NASTY + "tail"
    assert "\\x1b[31mred\\x7f\\u009b31m" in on_terminal(shared, "voltctl", "logs", nasty)
    for args, tail in (["status"], NASTY.split("\n")[1]), (["logs"], NASTY):
        done = subprocess.run([BIN / "voltctl", *args, nasty], env=shared.env,
                              stdout=subprocess.PIPE, timeout=LIMIT)
        assert done.stdout.endswith((tail + "tail").encode())


def test_following_a_submission_does_not_steer(shared):
    """Its output is shown as `voltctl logs` shows it, unless raw; a pipe gets it as it was."""
    args = ("--quiet", "--", "printf", "%s", NASTY + "tail")
    out = on_terminal(shared, "volt-submit", "-F", *args)
    assert "\\x1b[31mred\\x7f\\u009b31m" in out
    assert harmful(out.replace("\t", "").replace("\r", "")) == [], repr(out)
    assert on_terminal(shared, "volt-submit", "-F", "--raw", *args) == NASTY + "tail"
    done = subprocess.run([BIN / "volt-submit", "-F", *args], env=shared.env, stdout=subprocess.PIPE, timeout=LIMIT)
    assert done.stdout.decode() == NASTY + "tail"
    r = shared.submit("--raw", "true")
    assert r.code == 125 and "--raw is for the output that --follow prints" in r.err, r


def test_json_carries_no_control_characters_anywhere(shared, nasty):
    """A pipe may end in a terminal: `voltctl list --json | head`."""
    for args in ["list", "--json"], ["show", "--json"], ["show"]:
        out = shared.ctl(*args, nasty)
        assert harmful(out.out) == [], args
        if "--json" in args:
            job = out.json[0] if args[0] == "list" else out.json
            assert job["name"] == NASTY


def test_what_voltd_says_does_not_steer(fake):
    """Errors and configuration are texts of others as well."""
    def answer(method, parameters):
        return [{"error": "org.voltd.jobs.Refused" + NASTY, "parameters": {"reason": NASTY}}]
    out = on_terminal(fake(answer), "voltctl", "cancel", "1")
    assert "evil" in out and harmful(out.replace("\n", "")) == [], repr(out)


def test_show_is_lines_that_can_be_read_back(shared, nasty):
    text = shared.ctl("show", nasty).out
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert lines["id"] == nasty
    for value in (lines["name"], lines["spec.env.N"]):
        assert value.encode("ascii").decode("unicode_escape") == NASTY
    (label,) = [k for k in lines if k.startswith("spec.labels.")]
    assert label[12:].encode("ascii").decode("unicode_escape") == NASTY
    ident = shared.submit("--wait", "-n", "back\\slash \u65e5", "-E", "A" * 400 + "=1",
                          "--label", "a=b", "true").out.strip()
    text = shared.ctl("show", ident).out
    assert "\nname=back\\\\slash \u65e5\n" in text
    assert f"\nspec.env.{'A' * 400}=1\n" in text


@pytest.mark.parametrize("columns", [20, 21, 30, 40, 50, 64, 80, 133])
def test_tables_keep_their_columns(shared, columns):
    names = ["plain", "\u65e5\u672c\u8a9e" * 20, "e\u0301" * 30, "x" * 200, "\U0001f600\U0001f600"]
    ids = [shared.submit("--wait", "--kind=noop", "-n", n).out.strip() for n in names]
    out = on_terminal(shared, "voltctl", "list", *ids, columns=columns)
    head, *rows = out.split("\n\n")[0].splitlines()
    assert len(rows) == len(names)
    for row in rows:
        state = width(row[:(row + " ").index("done ")])
        assert state == width(head[:head.index("STATE")]), out
        assert width(row) <= columns, out


def test_queues_have_their_whole_names(private):
    """What is typed is not cut as long as something else can be."""
    private.start()
    for name in "nightly-builds-of-all", "gpu":
        assert private.ctl("queue", "create", name, "nominal=1", "max=2", "weight=3", "default-timeout=1h").code == 0
    out = on_terminal(private, "voltctl", "queues", columns=80)
    assert "nightly-builds-of-all " in out and max(map(width, out.splitlines())) <= 80, out


@pytest.mark.parametrize("columns", [20, 21, 22, 40, 80])
def test_stats_fit(shared, columns):
    out = on_terminal(shared, "voltctl", "stats", columns=columns)
    assert out.startswith("voltd ")  # without --watch nothing is cleared
    workers = out.split("\n\n")[1].splitlines()
    assert max(map(width, workers)) <= max(columns, 22 + 2 * 7)
    assert [line.split()[0] for line in workers[1:5]] == ["polled", "stolen", "parked", "lifo_hits"]


@pytest.mark.parametrize("columns, lines", [(80, 24), (200, 50), (64, 24), (40, 24)])
def test_stats_that_are_watched_fit_the_screen(shared, columns, lines):
    """Title and numbers of the four that tell most are on it, and nothing has scrolled away."""
    screen = watched(shared, columns, lines)
    rows = screen.split("\n")
    assert rows[0].startswith("voltd ") and rows[-1] == "" and len(rows) <= lines, screen
    assert max(map(width, rows[1:])) <= columns
    words = [row.split()[0] for row in rows if row]
    assert words[2:6] == ["polled", "stolen", "parked", "lifo_hits"]
    assert "slots" in words and (columns < 65 or "tasks" in words), screen


def test_progress_leaves_one_line(shared):
    out = on_terminal(shared, "volt-submit", "--wait", "--kind=noop", "--array=1-500")
    assert "500/500" in out and out.count("\n") == 3  # id, progress, sum
    assert "succeeded, 0 failed" in out.splitlines()[-1]


def test_what_could_not_be_started_is_named(shared):
    for args, text in (
            (["-d", "/none/x", "true"], "cwd: /none/x: No such file"),
            (["--stdin", "/none/in", "true"], "stdin: /none/in: No such file"),
            (["--output", "/none/out", "true"], "stdout: /none/out: No such file"),
            (["/none/program"], "exec: /none/program: No such file"),
            (["/etc/passwd"], "exec: /etc/passwd: Permission denied")):
        r = shared.submit("--wait", "--no-check", *args)
        assert text in r.err, r
        assert text in shared.ctl("status", r.out.strip()).out


def test_orphans_are_hinted_at(private):
    private.start()
    assert "earlier voltd" not in on_terminal(private, "voltctl", "list")
    private.submit("--shell", f"while ! [ -e {private.dir}/go ]; do sleep 0.05; done")
    until(lambda: private.job("1")["state"] == "running")
    private.stop(signal.SIGKILL)
    private.lose_store()
    private.start()
    assert "voltctl list --orphans" in on_terminal(private, "voltctl", "list")
    assert "voltctl list --orphans" not in private.ctl("list").out
    assert on_terminal(private, "voltctl", "status", "1").splitlines()[0] == "\u25cf 1"
    (private.dir / "go").touch()
    assert private.ctl("wait", "1").code == 0
    assert "earlier voltd" not in on_terminal(private, "voltctl", "list")


def test_cancel_shows_how_far_it_is(private):
    """One line, which is gone in the end."""
    private.start(config="[Queue]\nSlots=1\n")
    jobs = 20_000
    private.submit("-f", "-", input='{"argv": ["sleep", "600"]}\n' * jobs)
    until(lambda: private.job("1")["state"] == "running", "the first to run")
    shown = on_terminal(private, "voltctl", "cancel", "--all")
    counts = [int(c) for c in re.findall(r"\r(\d+) asked to end\x1b\[K", shown)]
    assert counts == sorted(counts) and counts and 0 < counts[0] <= jobs, shown
    assert shown.endswith(f"\r\x1b[Kvoltctl: {jobs} jobs asked to end\n"), shown[-200:]
    assert private.ctl("cancel", "--all").err == "voltctl: 0 jobs asked to end\n"


def test_many_ids_are_several_messages(private):
    """Their progress is one; one that is no job stops all that were named, and is a gap in a range."""
    private.start(config="[Queue]\nSlots=1\n")
    jobs = 20_000
    private.submit("-f", "-", input='{"argv": ["sleep", "600"]}\n' * jobs)
    until(lambda: private.job("1")["state"] == "running", "the first to run")
    r = private.ctl("cancel", *map(str, range(1, jobs + 2)))
    assert r.code == 4 and r.err == f"voltctl: no such job: {jobs + 1}\n" \
        f"voltctl: none of the {jobs + 1} has been asked to end\n", r
    shown = on_terminal(private, "voltctl", "cancel", f"1-{jobs + 1}")
    counts = [int(c) for c in re.findall(r"\r(\d+) asked to end\x1b\[K", shown)]
    assert counts == sorted(counts) and all(0 < c <= jobs for c in counts), shown  # how many, time decides
    assert f"note: 1 of the {jobs + 1} ids are no jobs" in shown, shown
    assert shown.endswith(f"\r\x1b[Kvoltctl: {jobs} jobs asked to end\n"), shown[-200:]
    assert private.ctl("cancel", "--json", f"1-{jobs}").json == {"count": 0}
    assert private.ctl("wait", "--quiet", f"1-{jobs}").code == 125
    assert private.ctl("clean", f"1-{jobs}").err.endswith(f"voltctl: {jobs} jobs removed\n")


def test_events_say_that_they_wait(shared):
    """There may be none for long; what is piped has no such line."""
    over = threading.Event()

    def submit():
        while not over.is_set():
            shared.submit("--kind=noop")
    thread = threading.Thread(target=submit)
    thread.start()
    try:
        first, event = on_terminal(shared, "voltctl", "events", "-n1").splitlines()
        piped = shared.ctl("events", "-n1")
    finally:
        over.set()
        thread.join()
    assert first == "voltctl: what happens from now on; an interrupt ends it" and event
    assert piped.err == "" and len(piped.lines) == 1


@pytest.mark.parametrize("several", [False, True])
def test_what_is_waited_for(private, several):
    """After a while a person is told; a file is not. Of several jobs `wait` shows how far they are."""
    private.start(config="[Queue]\nSlots=1\n")
    os.mkfifo(private.dir / "go")
    first = private.submit("--shell", "read go <go").lines[0]
    waits = [private.submit("echo", "begun").lines[0] for _ in range(1 + several)]
    silent = subprocess.Popen([BIN / "voltctl", "logs", "-f", *waits], env=private.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ours, theirs = pty.openpty()
    p = subprocess.Popen([BIN / "voltctl", "logs", "-f", *waits], env=private.env,
                         stdout=subprocess.PIPE, stderr=theirs, text=True)
    one, its = pty.openpty()
    alone = subprocess.Popen([BIN / "voltctl", "wait", waits[0]], env=private.env, stderr=its)
    os.close(theirs)
    os.close(its)
    for side in ours, one:
        said = b""
        while b"\n" not in said:
            said += os.read(side, 1 << 16)
        assert f"waiting for {waits[0]} (queued, waiting for a slot (place 1))".encode() in said, said
    (private.dir / "go").write_text("\n")
    lines = sorted(f"{i}: begun" for i in waits) if several else ["begun"]
    assert sorted(p.communicate()[0].splitlines()) == lines and p.returncode == 0
    assert alone.wait() == 0
    os.close(ours)
    os.close(one)
    assert silent.communicate()[1] == "" and silent.returncode == 0
    assert private.ctl("wait", first).code == 0


@pytest.mark.parametrize("words, typed, what", [
    (["-"], b"#!/bin/sh\ntrue\n\4", "script"),
    (["--each-line", "-", "true"], b"a\n\4", "list"),
    (["-f", "-"], b'{"kind":"noop"}\n\4', "list"),
    (["--stdin=-", "cat"], b"a\n\4", "standard input of the job"),
])
def test_what_is_read_from_the_terminal(shared, words, typed, what):
    said = on_terminal(shared, "volt-submit", *words, typed=typed)
    assert said.count(f"volt-submit: the {what} is read from the terminal; Ctrl-D ends it\n") == 1, said
