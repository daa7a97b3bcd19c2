"""voltctl list: what is shown of jobs, in which order, and how much of it."""

import json
import os
import pwd
import threading

import pytest

from conftest import LIMIT, until
from test_terminal import on_terminal, width


@pytest.fixture
def some(private):
    """Two that have ended, an array, and one that waits: one slot, which is taken."""
    private.start(config="[Queue]\nSlots=1\n")
    (private.dir / "x").mkdir()
    for args in (["-n", "first", "--label=a=b", "--label=c=d", "--", "true"],
                 ["-d", "x", "--", "sh", "-c", "exit 3"]):
        private.submit("--wait", "--no-env", *args)
    private.submit("--no-env", "--array=1-3", "--", "sh", "-c", "sleep 600", "it's", "{i}")
    private.submit("--no-env", "-p", "-5", "--shell", "echo one\n\techo \"two  $HOME\"\n")
    until(lambda: private.job("3_1")["state"] == "running", "an element to run")
    yield private
    private.ctl("cancel", "--all")


def rows(daemon, *args):
    r = daemon.ctl("list", "--no-legend", *args)
    assert r.code == 0 and r.err == "", r
    return r.lines


def test_columns_by_name(some):
    assert rows(some, "-o", "ID", "-a") == ["1", "2", "3", "4"]
    assert rows(some, "-o", "id,command", "-a") == [
        "1   true", "2   sh -c 'exit 3'", "3   sh -c 'sleep 600' 'it'\\''s' {i}",
        "4   echo one echo \"two  $HOME\""]
    assert rows(some, "-o", "labels", "-a") == ["a=b,c=d", "-", "-", "-"]
    assert rows(some, "-o", "user", "1") == [pwd.getpwuid(os.getuid()).pw_name]
    assert rows(some, "-o", "directory", "2") == [str(some.dir / "x")]
    assert rows(some, "-o", "result,done", "-a") == [
        "success     -", "exit 3      -", "-         0/3", "-           -"]
    assert rows(some, "-o", "prio,queue,attempt", "4") == ["  -5  default        -"]
    head, *_ = some.ctl("list", "-a", "-o", "wide").lines
    assert head.split() == ["ID", "NAME", "USER", "STATE", "WAIT", "PLACE", "RESULT", "DONE", "QUEUE", "PRIO",
                            "RUNTIME", "SUBMITTED", "STARTED", "ENDED", "LABELS", "COMMAND"]
    waits = some.submit("--no-env", "-p", "-6", "--", "true").lines[0]
    until(lambda: rows(some, "-o", "id,place") == ["3       -", "4       2", f"{waits}       3"], "both to wait")
    some.ctl("cancel", waits)
    pid = rows(some, "-o", "pid", "3_1")[0]
    assert pid == str(some.job("3_1")["pid"])


def test_one_column_has_no_blanks(private):
    """What a script reads into a variable is the value."""
    private.start()
    for args in (["true"], ["--shell", "kill -9 $$"], ["--timeout=10ms", "sleep", "600"], ["--no-check", "/no/such"]):
        private.submit("--wait", *args)
    assert private.ctl("list", "-a", "-o", "code").out == "CODE\n0\n137\n124\n127\n"
    assert private.ctl("list", "-a", "-o", "exit").out == "EXIT\n0\n-\n-\n-\n"
    assert rows(private, "-a", "-o", "id", "--sort=-code") == ["2", "4", "3", "1"]
    held = private.submit("--hold", "--array=1-2", "true").lines[0]
    assert rows(private, "-o", "code", held) == ["-"]


def test_sorted(some):
    def ids(*args):
        return " ".join(rows(some, "-o", "id", *args))
    assert ids("-a", "--sort=-id") == "4 3 2 1"
    assert ids("-a", "--sort=prio") == "4 1 2 3"
    assert ids("-a", "--sort=-prio,-id") == "3 2 1 4"
    assert ids("-a", "--sort=name") == "1 2 3 4"
    assert ids("-a", "--sort=state,-id") == "4 3 2 1"
    assert ids("-a", "--sort=result", "1", "2") == "2 1"
    assert ids("-a", "--sort=command", "1", "3", "4") == "4 3 1"
    assert ids("-e", "--sort=-pid", "3") == "3_1 3_2 3_3"
    assert ids("-n", "2", "--sort=id") == "3 4"
    by_json = some.ctl("list", "-a", "--json", "--sort=-id").json
    assert [j["id"] for j in by_json] == ["4", "3", "2", "1"]


def test_json_is_whole_in_one_call(some):
    """Each job as Get answers it with its spec; arrays, elements and ended ones too."""
    for args in ["-a"], ["-e", "3"], ["1", "3_2"]:
        jobs = some.ctl("list", "--json", *args).json
        again = [json.loads(line) for line in some.ctl("list", "-o", "ndjson", *args).lines]
        assert len(jobs) == len(again) > 1
        for job, twin in zip(jobs, again):
            get = some.job(job["id"])
            assert job["spec"] == twin["spec"] == get["spec"] and job["id"] == twin["id"]
            assert set(job) <= set(get) | {"wait", "wait_position"}
    assert some.ctl("list", "--json", "--name=nothing").json == []
    assert some.ctl("list", "-o", "ndjson", "--name=nothing").out == ""


def test_those_that_have_ended_are_on_a_terminal_too(some):
    text = on_terminal(some, "voltctl", "list", columns=100)
    live, ended, closing = text.split("\n\n")
    assert [row.split()[0] for row in live.splitlines()[1:]] == ["3", "4"]
    said, head, *ends = ended.splitlines()
    assert said == "Ended:" and [row.split()[0] for row in ends] == ["1", "2"]
    assert "RESULT" in head and "exit 3" in ends[1]
    assert closing == "2 jobs listed: 1 running (3), 1 queued. All that have ended: voltctl list --all\n"
    assert [row.split()[0] for row in rows(some)] == ["3", "4"]  # a pipe has what was asked for
    assert "Ended" not in on_terminal(some, "voltctl", "list", "3")
    some.ctl("cancel", "--all")
    until(lambda: some.ctl("list", "--json").json == [], "all to have ended")
    text = on_terminal(some, "voltctl", "list", columns=100)
    assert text.startswith("Ended:\n") and "\n\nNo job waits or runs. All that" in text


def test_what_has_nothing_to_tell_is_left_out_on_a_terminal(some):
    """Until a row has something there; what is named is always shown."""
    head = on_terminal(some, "voltctl", "list", "4").splitlines()[0]
    assert head.split() == ["ID", "NAME", "STATE", "WAIT", "SUBMITTED", "COMMAND"]
    head = on_terminal(some, "voltctl", "list", "-o", "id,done,result", "4").splitlines()[0]
    assert head.split() == ["ID", "DONE", "RESULT"]
    assert "RESULT" in some.ctl("list", "4").lines[0]  # a pipe has all of them


def paged(answers):
    """A voltd that answers with these pages, and says how it was asked."""
    def answer(method, parameters):
        at = int(parameters.get("cursor", 0))
        more = {"cursor": str(at + 1)} if at + 1 < len(answers) else {}
        return [{"parameters": {"jobs": answers[at], **more}}]
    return answer


def job(ident, **also):
    return {"id": str(ident), "name": "n", "state": "queued", "uid": 0, **also}


def test_widths_are_those_of_the_first_page(fake):
    """What is wider later makes its column wider from there on."""
    pages = [[job(i) for i in range(1, 1001)], [job(1001), job(123456), job(1002, name="long" * 9)]]
    lines = fake(paged(pages)).ctl("list", "-o", "id,name,state").lines
    assert lines[:2] == ["ID    NAME  STATE", "1     n     queued"]
    assert lines[1001:] == ["1001  n     queued", "123456  n     queued",
                            f"1002    {'long' * 9}  queued"]


def test_a_column_comes_back(fake):
    pages = [[job(i) for i in range(1, 1001)],
             [job(1001), job(1002, state="done", result="exit", code=3), job(1003)]]
    lines = on_terminal(fake(paged(pages)), "voltctl", "list", "-a").splitlines()
    assert lines[0].split() == ["ID", "NAME", "STATE", "SUBMITTED", "COMMAND"]
    assert lines[1002].split() == ["ID", "NAME", "STATE", "RESULT", "SUBMITTED", "COMMAND"]
    assert lines[1003].split()[:5] == ["1002", "n", "done", "exit", "3"]
    assert lines[1004].split()[:4] == ["1003", "n", "queued", "-"]


def test_a_program_and_a_terminal_get_the_same_json(private):
    """One as it came from voltd, the other parsed and written again."""
    private.start()
    text = 'a,b"]}\\ \u202eend [{'
    for i in range(3):
        assert private.submit("-w", "--kind=noop", "-n", text, "--label", f"k={text}{i}").code == 0
    plain = private.ctl("list", "-a", "--json")
    shown = on_terminal(private, "voltctl", "list", "-a", "--json", columns=80)
    assert json.loads(shown) == plain.json and len(plain.json) == 3
    assert plain.json[0]["name"] == text and "\u202e" not in plain.out and len(plain.lines) == 3


def test_pages_are_printed_as_they_come(fake):
    """The first one is there before the last is answered."""
    pages = [[job(i) for i in range(1, 1001)], [job(2)]]
    asked, read = [], threading.Event()

    def answer(method, parameters):
        asked.append(parameters)
        return paged(pages)(method, parameters) if len(asked) == 1 or read.wait(LIMIT) else []
    p = fake(answer).popen("voltctl", "list", "-o", "ndjson")
    first = p.stdout.readline()
    read.set()
    out = [first, *p.stdout.read().splitlines()]
    assert [json.loads(line)["id"] for line in out] == [*(str(i) for i in range(1, 1001)), "2"]
    assert p.stderr.read() == "" and p.wait(LIMIT) == 0 and asked[0]["with_spec"]


def test_json_that_fails_is_no_list(fake):
    """Nobody takes the beginning for all there is."""
    pages = [[job(1)], []]

    def answer(method, parameters):
        return paged(pages)(method, parameters) if "cursor" not in parameters else [
            {"error": "org.voltd.jobs.Refused", "parameters": {"reason": "no"}}]
    r = fake(answer).ctl("list", "--json")
    assert r.code == 1 and r.out.startswith("[{") and "]" not in r.out, r


@pytest.mark.parametrize("columns", range(20, 101, 5))
def test_a_list_fits(fake, columns):
    """In any width; commands and names give way, then whole columns do."""
    jobs = [job(i, name="x" * 60, spec={"argv": ["y" * 500, "z"]}, submitted_at_usec=1) for i in
            (1, 20, 30000)]
    text = on_terminal(fake(paged([jobs])), "voltctl", "list", "-a", columns=columns)
    head, *lines = text.split("\n\n")[0].splitlines()
    assert len(lines) == 3 and all(width(line) <= columns for line in lines), text
    assert head.split()[:1] == ["ID"] and "STATE" in head
    if columns >= 65:
        assert head.split() == ["ID", "NAME", "STATE", "SUBMITTED", "COMMAND"]
        assert width(lines[0]) == columns
