"""volt-submit --each-line: a job per line, whatever the line is."""
import pytest


def outputs(daemon, r):
    return [daemon.ctl("logs", ident).out for ident in r.lines]


NASTY = ["two words", "it's", "$HOME", "a;b|c", "*", "{i}", "", "-n", "tab\there", "\u00e4", "{}"]


def test_a_line_is_one_argument(shared):
    text = "\n".join(NASTY)  # the last has no line end
    for words in (["printf", "[%s]"], ["printf", "[%s]", "{}"], ["--shell", "printf '[%s]' {}"]):
        r = shared.submit("-w", "--each-line=-", *words, input=text)
        assert r.code == 0, r
        assert outputs(shared, r) == [f"[{line}]" for line in NASTY if line], words


def test_name_and_key(shared):
    (shared.dir / "lines").write_text("one\n\ntwo\n")
    ids = shared.submit("-n", "n-{}", "--key", "k-{}", "--each-line", "lines", "--", "echo", "a{}b{}").lines
    assert shared.submit("-n", "n-{}", "--key", "k-{}", "--each-line", "lines", "--", "echo", "a{}b{}").lines == ids
    assert shared.ctl("wait", *ids).code == 0
    assert [shared.ctl("logs", i).out for i in ids] == ["aonebone\n", "atwobtwo\n"]
    assert shared.ctl("list", "--all", "--no-legend", "-o", "id", "--name=n-two").out.split() == ids[1:]


def test_quotes_elsewhere_in_a_text(shared):
    """The line is a word of its own, whatever is in it."""
    r = shared.submit("--each-line=-", "-w", "--shell", """echo "it's" \\" {} '"' x{}y""", input="$(touch pwned) 'q'\n")
    assert r.code == 0 and not (shared.dir / "pwned").exists(), r
    assert shared.ctl("logs", r.lines[0]).out == """it's " $(touch pwned) 'q' " x$(touch pwned) 'q'y\n"""


def test_with_an_array(shared):
    r = shared.submit("-w", "--array=1-2", "--each-line=-", "--", "echo", "{}{i}", input="a\nb\n")
    assert r.code == 0 and len(r.lines) == 2
    assert [shared.ctl("logs", "--no-prefix", i).out for i in r.lines] == ["a1\na2\n", "b1\nb2\n"]


def test_what_a_job_cannot_be_is_named_by_its_line(shared):
    before = shared.ctl("list", "--all", "--no-legend").lines
    for data, why in ((b"a\n\nb\0c\n", "bad: line 3: a NUL byte"),
                      (b"a\n\xff\n", "bad: line 2: not UTF-8")):
        (shared.dir / "bad").write_bytes(data)
        r = shared.submit("--each-line", "bad", "true")
        assert r.code == 125 and why in r.err, r
    assert shared.ctl("list", "--all", "--no-legend").lines == before


@pytest.mark.parametrize("words, data, why", [
    (["--shell", "echo"], "a", "--shell needs {} in its text"),
    (["--shell", 'echo "got {}"'], "$(touch pwned)", "--shell has {} within quotes"),
    (["--shell", "echo \\\" 'got {}'"], "a", "--shell has {} within quotes"),
    (["--shell", "echo \\{}"], "a' $(touch pwned) 'b", "or behind a backslash"),
    (["--shell", "echo \\\\\\{}"], "a", "or behind a backslash"),
    (["true"], "\n\n", "no line in it"),
    (["-f", "x", "true"], "a", "choose one"),
    (["--kind=noop"], "a", "--each-line is for kind exec"),
    (["no-such-program"], "a", "no-such-program: not found in PATH"),
    (["--stdin=-", "true"], "a", "both read standard input"),
    ([], "a", "a command is needed"),
])
def test_refused(shared, words, data, why):
    r = shared.submit("--each-line=-", *words, input=data)
    assert r.code in (125, 127) and why in r.err and r.out == "", r
