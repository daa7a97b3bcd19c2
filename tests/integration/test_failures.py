"""Which of many jobs failed, and why: told in the end, asked for later, waited for."""

import json
import os
import re

import pytest

from conftest import takes_interrupts, until

FAILS = "case $VOLT_ARRAY_INDEX in 3|17|18) echo searching; echo in/$VOLT_ARRAY_INDEX: no such file; exit 4;; esac"


@pytest.fixture(scope="module")
def array(shared):
    """A thousand elements, of which three fail: what its submission said, and its id."""
    r = shared.submit("-w", "-n", "steps", "--array", "1-1000", "--shell", FAILS)
    return r, r.lines[0]


def test_an_array_tells_which_failed(array):
    r, ident = array
    said = [f"job {ident}_{i}: exit status 4: in/{i}: no such file" for i in (3, 17, 18)]
    said.append("1000 jobs ended: 997 succeeded, 3 failed")
    assert r.code == 4 and r.err.splitlines() == [f"volt-submit: {s}" for s in said], r


def test_status_of_an_array(shared, array):
    _, ident = array
    r = shared.ctl("status", ident)
    assert "   Results: 997 success, 3 exit 4\n    Failed: 3,17-18\n" in r.out, r
    told = shared.ctl("status", "--json", ident).json
    assert told["results"] == {"success": 997, "exit": 3}
    assert told["failed_indexes"] == "3,17-18"
    line = r.out.split("Failed:")[1].splitlines()[1].split()
    assert line[0] == "voltctl"
    r = shared.ctl(*line[1:], "--no-legend")
    assert [row.split()[0] for row in r.lines] == [f"{ident}_{i}" for i in (3, 17, 18)]


def test_elements_are_listed(shared, array):
    _, ident = array
    assert len(shared.ctl("list", "-e", "--no-legend", ident).lines) == 1000
    r = shared.ctl("list", "-e", "--json", "--result=success", "-n", "2", ident)
    assert [j["id"] for j in r.json] == [f"{ident}_999", f"{ident}_1000"]
    r = shared.ctl("list", "-e", "--no-legend", "--newest", "-n", "2", ident)
    assert [row.split()[0] for row in r.lines] == [f"{ident}_1000", f"{ident}_999"]
    r = shared.ctl("list", "--no-legend", f"{ident}_17-20")
    assert [row.split()[0][-2:] for row in r.lines] == ["17", "18", "19", "20"]


def test_elements_of_an_array_that_runs(shared):
    """It has no result yet, its elements have."""
    r = shared.submit("--array", "1-2", "--shell", "[ $VOLT_ARRAY_INDEX = 1 ] && exit 1; sleep 600")
    ident = r.lines[0]
    until(lambda: shared.ctl("list", "-e", "--result=failed", "--no-legend", ident).lines)
    r = shared.ctl("list", "-e", "--state=running", "--no-legend", ident)
    assert [row.split()[0] for row in r.lines] in ([], [f"{ident}_2"])
    assert shared.ctl("cancel", ident).code == 0


def test_a_batch_tells_ten_and_where_the_rest_is(shared):
    specs = "".join(json.dumps({"shell": f"echo out {i}; exit 3", "name": "batch"}) + "\n" for i in range(13))
    r = shared.submit("-w", "-f", "-", input=specs)
    lines = [line.removeprefix("volt-submit: ") for line in r.err.splitlines()]
    first, last = r.lines[0], r.lines[-1]
    assert lines[:10] == [f"job {int(first) + i}: exit status 3: out {i}" for i in range(10)], r
    assert lines[10] == f"and 3 more: voltctl list --result=failed {first}-{last}"
    assert lines[11] == "13 jobs ended: 0 succeeded, 13 failed"
    assert shared.ctl("list", "--no-legend", "--result=failed", f"{first}-{last}", "999998-999999").code == 0
    assert len(shared.ctl("list", "--no-legend", "--result=failed", f"{first}-{last}").lines) == 13
    assert len(shared.ctl("list", "--no-legend", "--name=batch").lines) == 13  # ended ones too
    r = shared.submit("-w", "--quiet", "-f", "-", input=specs)
    assert r.code == 3 and r.err == ""


def test_standard_error_of_its_own_is_what_tells(shared):
    r = shared.submit("-w", "--error=file", "--array", "1-2", "--shell", "echo out; echo why >&2; exit 1")
    assert r.err.count("exit status 1: why\n") == 2


@pytest.mark.parametrize("option", ["--name=ended-job", "--name=e*-job", "--label=ended=yes", "--label=ended",
                                    "--queue=default"])
def test_every_filter_finds_ended_jobs(shared, option):
    ident = shared.submit("-w", "-n", "ended-job", "--label", "ended=yes", "true").lines[0]
    assert ident in [row.split()[0] for row in shared.ctl("list", option, "--no-legend").lines]


def test_failed_is_a_group(shared):
    good, bad = (shared.submit("-w", "-n", "group", word).lines[0] for word in ("true", "false"))
    r = shared.ctl("list", "--name=group", "--result=failed", "--no-legend")
    assert [row.split()[0] for row in r.lines] == [bad]
    r = shared.ctl("list", "--name=group", "--result=exit,failed,success", "--no-legend")
    assert [row.split()[0] for row in r.lines] == [good, bad]
    r = shared.ctl("list", "--result=bad")
    assert r.code == 2 and '"failed"' in r.err, r
    assert shared.ctl("clean", "--name=group", "--result=failed").code == 0
    assert shared.ctl("list", "--name=group", "--no-legend").lines[0].split()[0] == good


def test_wait_by_filter(shared):
    r = shared.ctl("wait", "--name=nobody")
    assert (r.code, r.err) == (4, "voltctl: no job matches\n"), r
    assert "no such job waits or runs" in shared.ctl("wait", "--all").err
    shared.submit("-w", "-n", "filtered", "--shell", "exit 9")
    ident = shared.submit("-n", "filtered", "--shell", "until [ -e go ]; do sleep 0.01; done; exit 3").lines[0]
    waits = [shared.popen("voltctl", "wait", how) for how in ("--name=filtered", "--all")]
    ended = shared.popen("voltctl", "wait", "--name=filtered", "--since=-1h")
    until(lambda: all(map(takes_interrupts, (*waits, ended))), "them to have found their jobs")
    (shared.dir / "go").touch()
    assert [p.wait() for p in waits] == [3, 3] and ended.wait() == 9
    for p in (*waits, ended):
        p.communicate()
    assert shared.ctl("wait", "--all", ident).code == 2


def counted(r):
    """The closing line, as total, succeeded and failed."""
    return tuple(int(n) for n in re.findall(r"\d+", r.err.splitlines()[-1]))


def test_wait_counts_elements(shared):
    """Never arrays as such; also those that had ended before."""
    bad = [shared.submit("-w", "--array", f"1-{n}", "--shell", "[ $VOLT_ARRAY_INDEX -gt 3 ]").lines[0] for n in (8, 4)]
    one = shared.submit("-w", "false").lines[0]
    assert counted(shared.ctl("wait", bad[0])) == (8, 5, 3)
    r = shared.ctl("wait", *bad, one)
    assert (r.code, counted(r)) == (1, (13, 6, 7)), r
    last = [json.loads(line) for line in shared.ctl("wait", "--json", bad[0]).lines][-1]
    assert last == {"event": "finished", "total": 8, "failed": 3, "exit_code": 1}
    half = shared.submit("--array", "1-8", "--shell",
                         "[ $VOLT_ARRAY_INDEX -le 4 ] || until [ -e half ]; do sleep 0.01; done").lines[0]
    until(lambda: shared.job(half)["counts"]["done"] == 4)
    waits = [shared.popen("voltctl", "wait", *ids) for ids in ((half,), (half, bad[1]))]
    (shared.dir / "half").touch()
    said = [p.communicate()[1].splitlines()[-1] for p in waits]
    assert said == ["voltctl: 8 jobs ended: 8 succeeded, 0 failed", "voltctl: 12 jobs ended: 9 succeeded, 3 failed"]
    specs = json.dumps({"shell": "[ $VOLT_ARRAY_INDEX -gt 3 ]", "array": {"first": 1, "last": 4}}) + "\n"
    r = shared.submit("-w", "--json", "-f", "-", input=specs * 2)
    assert json.loads(r.lines[-1]) == {"event": "finished", "total": 8, "failed": 6, "exit_code": 1}


def test_wait_tells_which_failed_before_it(shared):
    ident = shared.submit("-w", "--array", "1-20", "--shell", FAILS).lines[0]
    r = shared.ctl("wait", ident)
    said = [f"job {ident}_{i}: exit status 4: in/{i}: no such file" for i in (3, 17, 18)]
    said.append("20 jobs ended: 17 succeeded, 3 failed")
    assert r.code == 4 and r.err.splitlines() == [f"voltctl: {s}" for s in said], r


def test_wait_for_any(shared):
    slow = shared.submit("sleep", "600").lines[0]
    r = shared.submit("--array", "5-6", "--shell", "until [ -e any ]; do sleep 0.01; done; exit $VOLT_ARRAY_INDEX")
    p = shared.popen("voltctl", "wait", "--any", slow, r.lines[0])
    until(lambda: shared.job(r.lines[0])["counts"]["running"] > 0)
    (shared.dir / "any").touch()
    out, err = p.communicate()
    assert (p.returncode, out) == (6, r.lines[0] + "\n"), err
    again = shared.ctl("wait", "--any", "--json", slow, r.lines[0])  # ended before
    assert again.code == 6 and again.json["id"] == r.lines[0]
    assert shared.ctl("wait", "--any", slow, "999999").code == 4
    assert shared.ctl("cancel", slow).code == 0


def test_an_array_ended_with_its_last_element(shared):
    """Its place among others that ended before the wait: neither the first nor that of any element."""
    before = shared.submit("-w", "--array", "1-2", "false").lines[0]
    late = shared.submit("--array", "1-3", "--shell",
                         "[ $VOLT_ARRAY_INDEX != 2 ] || until [ -e late ]; do sleep 0.01; done").lines[0]
    until(lambda: shared.job(late)["counts"]["done"] == 2)
    job = shared.submit("-w", "true").lines[0]
    (shared.dir / "late").touch()
    assert shared.ctl("wait", late).code == 0
    for ids, first in (((late, job), job), ((late, job, before), before), ((late,), late)):
        assert shared.ctl("wait", "--any", *ids).out == first + "\n", ids


def test_wait_for_any_of_many(private):
    """Of those that have ended the first, although it is not on the first page that voltd tells."""
    private.start()
    spec = json.dumps({"kind": "sleep", "duration_usec": 600_000_000}) + "\n"
    slow = private.submit("-f", "-", input=spec * 600).lines
    first = private.submit("-w", "--kind=noop").lines[0]
    assert private.ctl("cancel", f"{slow[0]}-{slow[-1]}").code == 0
    assert private.ctl("wait", "-q", f"{slow[0]}-{slow[-1]}").code != 0
    r = private.ctl("wait", "--any", f"{slow[0]}-{first}")
    assert (r.code, r.out) == (0, first + "\n"), r


def test_wait_for_any_over_a_lost_connection(fake):
    job = {"id": "2", "state": "done", "result": "exit", "exit_status": 3, "exit_code": 3}
    left = {"parameters": {"total": 2, "left": 2, "failed": 0}, "continues": True}
    end = {"parameters": {"total": 2, "left": 1, "failed": 1, "jobs": [job], "exit_code": 3}}
    waits = iter([[left, None], [left, end]])

    def answer(method, parameters):
        if method.endswith(".Wait"):
            assert parameters["any"]
            return next(waits)
        return [{"parameters": {"job": job}}]
    r = fake(answer).ctl("wait", "--any", "1", "2")
    assert (r.code, r.out) == (3, "2\n") and "connected again" in r.err, r


def test_the_last_one(shared):
    ident = shared.submit("--kind=noop").lines[0]
    assert shared.ctl("list", "--no-legend", "@last").lines[0].split()[0] == ident
    assert shared.ctl("wait", "@last").code == 0


def test_nobody_has_submitted(private):
    private.start()
    r = private.ctl("status", "@last")
    assert r.code == 4 and "you have no job" in r.err


@pytest.mark.parametrize("word", ["7-3", "1_2-", "-", "1-2000000", "01-2", "@first", "1_5-1_6"])
def test_no_ranges(shared, word):
    assert shared.ctl("status", "--", word).code == 2


def test_a_filter_of_what_has_ended_is_no_success(shared):
    """A wait that comes too late does not say that all is well."""
    for how in ("true", "false"):
        shared.submit("-w", "--label=late=1", how)
    shared.submit("-w", "--label=late=1", "--array=1-2", "sh", "-c", "exit $VOLT_ARRAY_INDEX")
    held = shared.submit("--hold", "--label=late=1", "true").lines[0]
    shared.ctl("cancel", held)
    r = shared.ctl("wait", "--label=late=1")
    assert r.code == 4 and "5 jobs ended: 1 succeeded, 3 failed, 1 cancelled." in r.err, r
    assert "voltctl list --all" in r.err and "--state=done" in r.err
    assert shared.ctl("wait", "--label=late=1", "--state=done").code == 125  # one was cancelled
    for words in (["--label=late=2"], ["--name=late"], ["--since=-1h", "--label=late=2"], ["--quiet", "--label=late=2"]):
        r = shared.ctl("wait", *words)
        assert (r.code, r.err) == (4, "voltctl: no job matches\n"), (words, r)


# --- cancelled is not failed ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed(shared):
    """A job that failed, one that was cancelled, and an array that was cancelled after its first element had failed: their ids."""
    failed = shared.submit("-w", "-n", "mixed", "false").lines[0]
    cancelled = shared.submit("--hold", "-n", "mixed", "true").lines[0]
    array = shared.submit("-n", "mixed", "--array", "1-9", "--shell", "[ $VOLT_ARRAY_INDEX = 1 ] && exit 7; exec sleep 1000").lines[0]
    until(lambda: shared.ctl("list", "-e", "--failed", "--no-legend", array).lines, "an element to have failed")
    assert shared.ctl("cancel", cancelled, array).code == 0
    assert shared.ctl("wait", "--quiet", array).code == 125
    return failed, cancelled, array


def test_the_summary_counts_apart(shared, mixed):
    failed, cancelled, array = mixed
    r = shared.ctl("wait", *mixed)
    assert r.code == 125 and r.err.splitlines() == [
        f"voltctl: job {failed}: exit status 1",
        f"voltctl: job {array}_1: exit status 7",
        "voltctl: 11 jobs ended: 0 succeeded, 2 failed, 9 cancelled"], r
    r = shared.ctl("wait", "--name=mixed")
    assert r.code == 4 and "; 11 jobs ended: 0 succeeded, 2 failed, 9 cancelled. " in r.err, r
    r = shared.ctl("wait", "--json", *mixed)
    assert json.loads(r.lines[-1]) == {"event": "finished", "total": 11, "failed": 2, "cancelled": 9, "exit_code": 125}
    r = shared.ctl("wait", cancelled)  # of one job its end is said: the code is not its own
    assert (r.code, r.err) == (125, f"voltctl: job {cancelled}: cancelled\n"), r


def test_the_group_failed_leaves_them_out(shared, mixed):
    failed, cancelled, array = mixed

    def names(*words):
        return [row.split()[0] for row in shared.ctl("list", "--name=mixed", "--no-legend", *words).lines]
    assert names("--failed") == [failed, array]
    assert names("--result=cancelled") == [cancelled, array]
    assert names("--result=failed,cancelled") == [*mixed]
    assert names("--result=success") == []
    assert names("-e", "--failed") == [failed, f"{array}_1"]
    assert names("-e", "--result=cancelled") == [cancelled, *(f"{array}_{i}" for i in range(2, 10))]


def test_status_counts_them_apart(shared, mixed):
    array = mixed[2]
    r = shared.ctl("status", array)
    assert "9 of 9 done, 1 failed, 8 cancelled, 0 running" in r.out, r
    assert "   Results: 8 cancelled, 1 exit 7\n    Failed: 1\n" in r.out, r
    told = shared.ctl("status", "--json", array).json
    assert (told["counts"]["failed"], told["counts"]["cancelled"], told["failed_indexes"]) == (1, 8, "1")
    assert told["results"] == {"cancelled": 8, "exit": 1}
    assert "1 failed" in shared.ctl("list", "-o", "result", array).out


# --- what would be meant -------------------------------------------------------------------------


def test_a_cancel_that_is_tried(shared):
    """It lists what would be cancelled, and cancels nothing."""
    ended = shared.submit("-w", "-n", "tried", "true").lines[0]
    waits = [shared.submit("--hold", "-n", "tried", "true").lines[0] for _ in range(2)]
    r = shared.ctl("cancel", "--dry-run", "--name=tried")
    assert r.code == 0 and r.err == "voltctl: 2 jobs would be asked to end; nothing was changed\n", r
    assert [row.split()[0] for row in r.lines] == ["ID", *waits], r
    r = shared.ctl("cancel", "--dry-run", "--json", waits[0], ended)
    assert (r.code, r.json) == (0, {"count": 1}), r
    assert shared.ctl("cancel", "--dry-run", waits[0], "999999").code == 4
    assert shared.ctl("cancel", "--dry-run").code == 2
    assert len(shared.ctl("list", "--name=tried", "--state=queued", "--no-legend").lines) == 2
    assert shared.ctl("cancel", "--name=tried").err == "voltctl: 2 jobs asked to end\n"


def test_a_clean_that_is_tried(shared):
    """It counts as the clean that follows it does."""
    idents = [shared.submit("-w", "-n", "swept", "true").lines[0] for _ in range(4)]
    held = shared.submit("--hold", "-n", "swept", "true").lines[0]
    for words in (["--keep=1"], ["--older-than=1h"], []):
        tried = shared.ctl("clean", "--dry-run", "--name=swept", *words)
        rows = [row.split()[0] for row in tried.lines[1:]]
        assert tried.code == 0 and rows == {"--keep=1": idents[2::-1], "--older-than=1h": []}.get(*words or [""], idents[::-1]), tried
        assert tried.err == f"voltctl: {len(rows)} job{'s' * (len(rows) != 1)} would be removed; nothing was changed\n"
    r = shared.ctl("clean", "--name=swept", "--keep=1")
    assert r.err == "voltctl: 3 jobs removed\n", r
    assert [row.split()[0] for row in shared.ctl("list", "--name=swept", "--no-legend").lines] == [idents[3], held]
    for refused in (held, "999999"):
        r, tried = shared.ctl("clean", refused), shared.ctl("clean", "--dry-run", refused)
        assert r.code != 0 and (tried.code, tried.err) == (r.code, r.err), (r, tried)
    shared.ctl("cancel", held)


def test_a_range_has_gaps(shared):
    """A lock took a number, a job was forgotten: every verb takes the others, and says how many are no jobs."""
    first, gone, last = (shared.submit("--hold", "-n", "gappy", "true").lines[0] for _ in range(3))
    shared.ctl("cancel", gone)
    assert shared.ctl("clean", gone).err == "voltctl: 1 job removed\n"
    n = int(last) - int(first) + 1
    ids, note = f"{first}-{last}", f"voltctl: note: {n - 2} of the {n} ids are no jobs\n"
    for words in (["cancel", "--dry-run"], ["hold"], ["cancel"], ["wait"], ["clean", "--dry-run"], ["clean"]):
        r = shared.ctl(*words, ids)
        assert r.err.startswith(note) and " 2 jobs " in r.err, r
    for verb in ("cancel", "hold", "release", "pause", "resume", "wait", "clean"):
        r = shared.ctl(verb, ids)
        assert (r.code, r.err) == (4, f"voltctl: none of these {n} is a job\n"), r


@pytest.mark.parametrize("words", [
    ["wait"], ["cancel"], ["cancel", "--dry-run"], ["hold"], ["release"], ["pause"], ["resume"], ["kill", "-s", "0"], ["retry"],
    ["logs"], ["show"], ["status"], ["why"], ["list"], ["list", "--json"], ["graph"], ["events", "-n1"], ["clean", "--dry-run"],
    ["clean"], ["edit", "-p", "1"], ["first"]])
def test_a_job_that_is_missing_beside_a_range(private, words):
    """An id that is named by itself is an error, what a range lacks is a note."""
    private.start()
    lives = {"pause": [], "resume": []}.get(words[0], ["--hold"] if words[0] in ("hold", "release", "edit", "first") else None)
    for _ in range(2):
        assert private.submit(*(["--wait", "true"] if lives is None else [*lives, "sleep", "1000"])).code == 0
    if words[0] == "resume":
        until(lambda: private.ctl("pause", "1", "2").code == 0, "both to run")
    elif words[0] == "pause":
        until(lambda: all(private.job(i)["state"] == "running" for i in "12"), "both to run")
    missing, none = "voltctl: no such job: 999999\n", "voltctl: none of these 6 is a job\n"
    for ids in (["1-2", "999999"], ["1-2,999999"], ["999999", "1-3"]):
        r = private.ctl(*words, *ids)
        assert r.code == 4 and missing in r.err, (ids, r)
    is_waiting = words[0] in ("edit", "first")
    r = private.ctl(*words, "999990-999995")
    assert (r.code, r.err) == (4, "voltctl: no job matches\n" if is_waiting else none), r
    assert r.out == {"list": "ID  NAME  STATE  WAIT  RESULT  DONE  RUNTIME  SUBMITTED  COMMAND\n",
                     "list --json": "[]\n"}.get(" ".join(words), r.out), r


def test_a_job_that_is_missing_beside_a_filter(private):
    """It is an error there as well, and nothing is done."""
    private.start()
    assert private.submit("--wait", "--each-line", "-", "true", input="1\n2\n").code == 0
    held = private.submit("--hold", "true").lines[0]
    for words in (["cancel"], ["cancel", "--dry-run"], ["release"], ["retry"], ["logs"], ["show"], ["status"], ["list"],
                  ["kill"], ["clean"], ["edit", "-p", "1"]):
        r = private.ctl(*words, "--owner", os.getuid(), "1-2", "999999")
        assert r.code == 4 and "voltctl: no such job: 999999\n" in r.err, (words, r)
    job = private.job(held)
    assert (job["state"], job["priority"]) == ("queued", 0), job
    for words in (["clean", "--dry-run"], ["logs"], ["list"]):
        r = private.ctl(*words, "--result=success", "1-2", "7-9")
        assert r.code == 0 and "voltctl: note: 3 of the 5 ids are no jobs\n" in r.err, (words, r)


def test_a_queue_that_is_missing(private):
    private.start()
    note = "there is no queue nope; `voltctl queues` lists them"
    for words in (["list"], ["list", "--json"], ["list", "-o", "id"]):
        r = private.ctl(*words, "--queue=nope")
        assert (r.code, r.err) == (0, f"voltctl: note: {note}\n"), r
    for words, done in ((["cancel"], "0 jobs asked to end"), (["clean"], "0 jobs removed"), (["logs"], "no job matches")):
        r = private.ctl(*words, "--queue=nope")
        assert r.err == f"voltctl: {done}: there is no such queue; `voltctl queues` lists them\n", r
    assert private.ctl("list", "--queue=default").err == ""
    r = private.ctl("edit", "--old-queue=nope", "-p", "1")
    assert r.code == 0 and r.err.startswith("voltctl: 0 jobs edited: there is no such queue"), r


def test_a_property_that_is_missing(private):
    """What no job has is an error, what this one lacks is not."""
    private.start()
    assert private.submit("-w", "true").code == 0
    for names, why in (("staet", 'staet: "staet" is not known here; did you mean state?'), ("id,foo", "foo: no job has that"),
                       ("spec.nmae", "did you mean name?"), ("spec.argv,spec.foo.bar", "spec.foo: no job has that")):
        r = private.ctl("show", "-p", names, "1")
        assert (r.code, r.out) == (2, "") and "--property: " in r.err and why in r.err, r
    for names in ("survivors", "signal,spec.labels.x", "cause.id", "spec"):
        r = private.ctl("show", "-p", names, "1")
        assert (r.code, r.err) == (0, ""), r
    assert sorted(private.ctl("show", "-p", "state,spec.argv", "1").lines) == ['spec.argv=["true"]', "state=done"]


def test_words_that_are_nearly_right(private):
    private.start()
    assert private.ctl("list", "--result=fail").err == 'voltctl: --result: "fail" is not known here; did you mean failed?\n'
    r = private.ctl("list", "--format=json")
    assert r.code == 2 and "use --json, or" in r.err, r
    for words in (["help", "help"], ["help", "--help"]):
        r = private.ctl(*words)
        assert r.code == 0 and r.out == private.ctl("--help").out, r


def test_json_says_of_which_job(private):
    private.start()
    first, second = (private.submit("--hold", "true").lines[0] for _ in range(2))
    whys = [json.loads(line) for line in private.ctl("why", "--json", first, second).lines]
    assert [why["id"] for why in whys] == [first, second], whys
    for created in ({}, {"created": False}):
        r = private.submit("--json", "--key=k", "--hold", "true")
        assert r.json == {"event": "submitted", "id": "3", **created}, r
    for words in (["-o", "id", "--json"], ["--json", "-o", "wide"]):
        r = private.ctl("list", *words)
        assert (r.code, r.out) == (2, "") and "--json prints objects with all" in r.err, r
    assert [job["id"] for job in private.ctl("list", "--json", "-o", "json").json] == ["1", "2", "3"]


def test_show_and_kill_by_filter(shared):
    array = shared.submit("-n", "struck", "--array", "1-2", "--shell", "exec sleep 1000").lines[0]
    waits = shared.submit("--hold", "-n", "struck", "true").lines[0]
    until(lambda: len(shared.ctl("list", "-e", "--name=struck", "--state=running", "--no-legend").lines) == 2)
    r = shared.ctl("show", "--name=struck", "-p", "id")
    assert r.lines == [f"id={array}", "", f"id={waits}"], r
    assert shared.ctl("kill", "-9", "--name=struck").code == 0
    assert shared.ctl("wait", "--quiet", array).code == 137
    assert shared.ctl("cancel", waits).code == 0
    r = shared.ctl("kill", "--name=struck")
    assert (r.code, r.err) == (0, "voltctl: no job matches\n"), r
    assert shared.ctl("kill").code == shared.ctl("show").code == 2


# --- a list with a mistake -----------------------------------------------------------------------


@pytest.mark.parametrize("wrong, why", [('{"argv": []}', "argv"), ('{"shell": "true", "timeout_usec": -1}', "timeout_usec")])
def test_a_list_of_several_messages_is_checked_before_the_first(private, wrong, why):
    private.start(config="[Queue]\nSlots=1\n")
    good = '{"kind": "noop", "hold": true}\n'
    r = private.submit("--no-env", "-f", "-", input=good * 5500 + wrong + "\n" + good)
    assert r.code == 125 and r.out == "" and f"standard input: line 5501: {why}" in r.err, r
    assert "no job was taken" in r.err
    assert private.ctl("list", "--no-legend", "--all").lines == []
    r = private.submit("--no-env", "-f", "-", input=good * 5500)
    assert r.code == 0 and len(r.lines) == 5500, r


@pytest.mark.parametrize("words, code, said, quiet", [
    (["--all", "--name=none"], 0, "no such job waits or runs\n", ""),
    (["--name=none"], 4, "no job matches\n", "no job matches\n"),
    (["--name=gone"], 4, "no such job waits or runs; 1 job ended: 0 succeeded, 1 failed. ", "no such job waits or runs\n")])
def test_a_wait_for_nothing(shared, words, code, said, quiet):
    """With --quiet an error remains, without a summary; with JSON the last event tells of none."""
    if "--name=gone" in words:
        shared.submit("-w", "--name=gone", "false")
    r = shared.ctl("wait", *words)
    assert (r.code, r.out) == (code, "") and r.err.startswith(f"voltctl: {said}"), r
    r = shared.ctl("wait", "--quiet", *words)
    assert (r.code, r.out, r.err) == (code, "", f"voltctl: {quiet}" if quiet else ""), r
    r = shared.ctl("wait", "--json", *words)
    assert (r.code, r.json) == (code, {"event": "finished", "total": 0, "failed": 0, "exit_code": code}), r
