"""Output to a path: what stands in it for the job, and that nothing is lost."""
import re

from conftest import LIMIT
from test_client_side import submit_then


def test_elements_have_files_of_their_own(shared):
    r = shared.submit("-w", "-n", "step/one", "--array", "7-9", "--output", "{name}.{i}.log",
                      "--shell", "echo out $VOLT_ARRAY_INDEX; echo err >&2")
    assert r.code == 0, r
    for i in (7, 8, 9):
        assert (shared.dir / f"step_one.{i}.log").read_text() == f"out {i}\nerr\n"


def test_a_name_is_no_folder_above(shared):
    folder = shared.dir / "above/below"
    folder.mkdir(parents=True)
    for name in (".", ".."):
        r = shared.submit("-w", "-n", name, "--output", "above/below/{name}/x", "echo", "a")
        assert r.code in (125, 126) and "could not be started: stdout" in r.err, r
        assert shared.submit("-w", "-n", name, "--output", "above/below/{name}", "echo",
                             name).code == 0
    assert sorted(p.name for p in folder.iterdir()) == ["_", "__"]
    assert [p.name for p in folder.parent.iterdir()] == ["below"]
    assert (folder / "__").read_text() == "..\n"


def test_the_id_is_the_one_that_was_printed(shared):
    folder = shared.dir / "ids"
    folder.mkdir()
    one = shared.submit("-w", "--output", "ids/{id}-{id}", "echo", "one").lines[0]
    array = shared.submit("-w", "--array", "3", "--output", "ids/{id}", "echo", "three").lines[0]
    assert (folder / f"{one}-{one}").read_text() == "one\n"
    assert (folder / f"{array}_3").read_text() == "three\n"


def test_the_rest_of_a_path_stays(shared):
    """{i} of what is no element, other braces, and a path that grows too long."""
    assert shared.submit("-w", "--output", "{i}{x}{", "echo", "a").code == 0
    assert shared.submit("-w", "--output", "{i}{x}{", "echo", "b").code == 0
    assert (shared.dir / "{i}{x}{").read_text() == "a\nb\n"  # appended to
    r = shared.submit("-w", "-n", "n" * 250, "--output", "{name}" * 40, "true")
    assert r.code in (125, 126) and "could not be started: stdout" in r.err, r


def test_standard_error_in_a_file_of_its_own(shared):
    """Beside the output that voltd keeps, beside another file, and beside none."""
    both = "echo out; echo err >&2"
    for where, out in [((), None), (("--output", "o.{i}"), "o.7"), (("--output=null",), None)]:
        error = shared.dir / "e.7"
        error.unlink(missing_ok=True)
        r = shared.submit("-w", "--array=7", *where, "--error", "e.{i}", "--shell", both)
        assert r.code == 0 and error.read_text() == "err\n", (where, r)
        if out:
            assert (shared.dir / out).read_text() == "out\n"
        elif not where:
            assert shared.ctl("logs", "--no-prefix", r.lines[0]).out == "out\n"
    r = shared.submit("-w", "--error=null", "--shell", both)
    assert shared.ctl("logs", r.lines[0]).out == "out\n"
    r = shared.ctl("logs", "--stderr", r.lines[0])
    assert r.code == 1 and "--error=PATH (a file of yours)" in r.err, r


def test_the_last_place_that_is_given_counts(shared):
    r = shared.submit("--dry-run", "--output=x", "--output=null", "--error=file", "--error", "y", "true")
    assert r.json["output"] == "null" and r.json["error_path"].endswith("/y"), r
    assert "output_path" not in r.json and "output_split" not in r.json


def test_what_is_there_stays_or_goes(shared):
    """append is the default; truncate empties both files, /dev/null stays what it is."""
    out, err = shared.dir / "mode.out", shared.dir / "mode.err"
    line = ("--output", out, "--error", err, "--shell", "echo out; echo err >&2")
    for mode, times in [((), 1), (("--open-mode=append",), 2), (("--open-mode=truncate",), 1)]:
        assert shared.submit("-w", *mode, *line).code == 0
        assert (out.read_text(), err.read_text()) == ("out\n" * times, "err\n" * times), mode
    r = shared.submit("-w", "--open-mode=truncate", "--output=/dev/null", "--error", out, "--shell",
                      "echo long enough; echo e >&2")
    assert r.code == 0 and out.read_text() == "e\n"
    r = shared.submit("-w", "--open-mode=truncate", "--output", out, "--error", out, "--shell",
                      "echo one; echo two >&2; echo three")
    assert r.code == 0 and out.read_text() == "one\ntwo\nthree\n"


def test_a_file_is_followed(shared):
    """What it held before the submission is not printed, but where it is emptied."""
    def submit(*words):
        return shared.submit("-F", *words)
    line = ("--output=followed", "--shell", "echo new; until [ -e go ]; do sleep 0.01; done; echo end")
    p = shared.popen("volt-submit", "-F", *line)
    assert p.stdout.readline() == "new\n"
    (shared.dir / "go").touch()
    assert p.communicate(timeout=LIMIT)[0] == "end\n" and p.returncode == 0
    assert submit(*line).out == "new\nend\n"
    assert submit("--open-mode=truncate", *line).out == "new\nend\n"
    assert (shared.dir / "followed").read_text() == "new\nend\n"
    assert submit("--output=/dev/null", "echo", "x").out == ""
    r = submit("--no-check", "--output=none/x", "true")
    assert r.out == "" and "could not be started: stdout" in r.err


def test_files_of_elements_are_followed(shared):
    for path in "{name}-{i}", "{name}-{i}", "f.{id}":  # those of the second time have something in them
        r = shared.submit("-F", "--array=1-3,7", f"--output={path}", "--shell", "echo is $VOLT_ARRAY_INDEX")
        ident = re.search(r"job (\d+)\n", r.err)[1]
        assert sorted(r.lines) == [f"{ident}_{i}: is {i}" for i in (1, 2, 3, 7)], r
    r = shared.submit("-F", "--each-line=-", "--output={id}.log", "echo", input="a\nb\n")
    assert sorted(line.split(": ")[1] for line in r.lines) == ["a", "b"]
    r = shared.submit("-F", "--array=1-2", "--output=one file", "echo", "x")
    assert r.code == 0 and r.out == "" and "tail -f" in r.err and "{id}" in r.err, r


def test_another_attempt_does_not_empty_the_file(shared):
    """Its shim is killed: what the first one has written is why people look."""
    out = shared.dir / "attempts"
    r = shared.submit("-w", "--on-lost=retry", "--open-mode=truncate", "--output", out, "--shell",
                      'echo $VOLT_ATTEMPT; test $VOLT_ATTEMPT != 1 || kill -9 $PPID; '
                      'test $VOLT_ATTEMPT != 1 || exec sleep 1h')
    assert r.code == 0 and out.read_text() == "1\n2\n", (r, out.read_text())


def test_elements_do_not_empty_the_files_of_each_other(shared):
    r = shared.submit("--array=1-2", "--open-mode=truncate", "--output=all", "true")
    assert r.code == 125 and "--open-mode: each element" in r.err and "{i} or {id}" in r.err, r
    assert shared.submit("--open-mode=truncate", "true").err == (
        "volt-submit: --open-mode: only with output_path or error_path\n")
    assert "open_mode" not in shared.submit("--open-mode=never", "true").err


def test_status_names_the_files(shared):
    """As they are, and of an array as they were given."""
    ident = shared.submit("--wait", f"--output={shared.dir}/{{name}}.{{id}}{{i}}", "--name=a/b",
                          "--error=e {id}", "--", "true").out.strip()
    status = shared.ctl("status", ident).out
    assert f"    Output: {shared.dir}/a_b.{ident}{{i}}\n" in status, status
    assert f"    Errors: {shared.dir}/e {ident}\n" in status, status
    assert (shared.dir / f"a_b.{ident}{{i}}").exists()
    ident = shared.submit("--wait", "--quiet", "--array=4-5", f"--output={shared.dir}/{{id}}.{{i}}",
                          "--", "true").out.strip()
    assert f"    Output: {shared.dir}/{{id}}.{{i}}\n" in shared.ctl("status", ident).out
    assert f"    Output: {shared.dir}/{ident}_5.5\n" in shared.ctl("status", f"{ident}_5").out
    assert "Output:" not in shared.ctl("status", shared.submit("--wait", "true").out.strip()).out


def test_logs_names_the_path(shared):
    """Of what voltd does not keep: also before the job starts, and with -f, at once."""
    folder = shared.dir / "named"
    folder.mkdir()
    where = ["--output", "named/{name} {id}.{i}", "--error", "named/err"]
    done = shared.submit("-w", "-n", "a/b", "--array=7", *where, "true").lines[0]
    waits = shared.submit("-n", "c", *where, "sleep", "600").lines[0]
    try:
        for words, path in [((f"{done}_7",), f"'{folder}/a_b {done}_7.7'"),
                            ((waits,), f"'{folder}/c {waits}.{{i}}'"),
                            (("-f", waits), f"'{folder}/c {waits}.{{i}}'"),
                            (("--stderr", waits), f"{folder}/err"),
                            ((waits, f"{done}_7"), f"'{folder}/c {waits}.{{i}}'")]:
            r = shared.ctl("logs", *words)
            assert r.code == 1 and r.out == "", r
            assert f"prints to a file that voltd does not keep: tail -f {path}" in r.err, r
    finally:
        assert shared.ctl("cancel", waits).code == 0


def test_a_job_that_runs_and_has_no_output_is_followed_to_its_end(fake):
    def answer(method, parameters):
        if method.endswith(".Get"):
            return [{"parameters": {"job": {"id": "1", "state": "running"}}}]
        if method.endswith(".Open"):
            return [{"error": "org.voltd.logs.NoOutput", "parameters": {"id": "1"}}]
        return submit_then([{"parameters": {"total": 1, "left": 0, "failed": 1, "exit_code": 7, "jobs": []}}])(method, parameters)
    r = fake(answer).submit("-F", "--quiet", "--output=/dev/null", "--", "true")
    assert (r.code, r.out) == (7, "")
