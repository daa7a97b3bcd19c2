"""What people read: each thing once, places from 1, masks in octal, letters that mislead."""
import re

from conftest import until


def test_a_result_is_said_once(shared):
    def state(*words):
        ident = shared.submit("-w", *words).lines[0]
        return shared.ctl("status", "-n0", ident).out.split("State: ")[1].split("\n")[0]
    assert state("true") == "done, success"
    assert state("--shell", "exit 3") == "done, exit status 3"
    assert state("--shell", "kill -9 $$") == "done, killed by signal 9 (SIGKILL); exit code 137"
    assert state("--timeout=1ms", "sleep", "600") == "done, timeout; exit code 124"
    assert state("--array=1-2", "--shell", "exit 3").endswith("; exit code 3")


def test_places_are_counted_from_one(private):
    private.start(config="[Queue]\nSlots=1\n")
    gate = private.dir / "gate"
    first, *waiting = [private.submit("--shell", f"until [ -e {gate} ]; do sleep 0.05; done").lines[0]
                       for _ in range(4)]
    until(lambda: private.job(first)["state"] == "running")
    for place, ident in enumerate(waiting, 1):
        assert f"(place {place})" in private.ctl("status", "-n0", ident).out
    gate.touch()
    assert private.ctl("wait", first, *waiting).code == 0


def test_masks_are_octal(shared):
    ident = shared.submit("-w", "--umask=27", "--shell", "umask").lines[0]
    assert shared.ctl("logs", ident).out == "0027\n"
    assert "spec.umask=027" in shared.ctl("show", ident).lines
    with shared.connect() as v:
        for umask in (18, "8", "1000", ""):
            reply = v.call("org.voltd.jobs.Submit", {"spec": {"argv": ["true"], "umask": umask}})
            assert reply["parameters"]["parameter"] == "spec.umask", umask


def test_letters_that_mean_something_else_elsewhere(shared):
    text = shared.submit("--help").out
    part = text[text.index("Letters that mean something else"):]
    for letter in "dFnpqw":
        assert f"-{letter} (" in part, letter


def test_help_fits_a_terminal(shared):
    texts = [shared.submit("--help").out, shared.ctl("--help").out]
    texts += [shared.ctl(verb, "--help").out for verb in re.findall(r"^  ([a-z]+) ", texts[1], re.M) if verb != "help"]
    assert len(texts) > 10
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []


def test_a_file_for_errors_that_cannot_be_opened_is_named(shared):
    r = shared.submit("-w", "--no-check", "--error=/none/err", "true")
    assert "could not be started: stderr: /none/err: No such file" in r.err, r
