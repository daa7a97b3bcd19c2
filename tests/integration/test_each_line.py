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


def test_the_other_places_of_the_line(shared):
    """Each job has values, claims and files of its own; what is only passed on stays as it is."""
    words = ["--hold", "--label", "k={}", "--label", "same=1", "-E", "V=<{}>", "-E", "PASSED", "--lock", "l-{}",
             "--lock-shared", "all", "--sem", "s-{}:1/2", "--rate", "r-{}=5/min", "--output", "out-{}.txt",
             "--error", "{}.err"]
    r = shared.submit(*words, "--each-line=-", "--", "true", input="a\nb/c\n..\n", env={"PASSED": "{}"})
    assert r.code == 0 and len(r.lines) == 3, r
    for ident, line, name in zip(r.lines, ["a", "b/c", ".."], ["a", "b_c", "__"]):
        spec = shared.ctl("show", "--json", ident).json["spec"]
        assert spec["labels"] == {"k": line, "same": "1"}
        assert spec["env"]["V"] == f"<{line}>" and spec["env"]["PASSED"] == "{}"
        assert [c["name"] for c in spec["claims"]] == [f"l-{line}", "all", f"s-{line}", f"r-{line}"]
        assert spec["output_path"] == str(shared.dir / f"out-{name}.txt")
        assert spec["error_path"] == str(shared.dir / f"{name}.err")
    assert shared.ctl("cancel", *r.lines).code == 0


def test_each_has_a_file_of_its_own(shared):
    r = shared.submit("-F", "--output", "own-{}.txt", "--each-line=-", "--", "echo", input="a\nb\n")
    assert r.code == 0 and "which are not followed where {} is in their path" in r.err, r
    assert [(shared.dir / f"own-{x}.txt").read_text() for x in "ab"] == ["a\n", "b\n"]
    assert not (shared.dir / "own-{}.txt").exists()


@pytest.mark.parametrize("token", ["{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"])
def test_a_replacement_of_parallel_is_named(shared, token):
    r = shared.submit("-w", "--each-line=-", "--", "echo", f"x{token}", "{}", input="a\n")
    assert r.code == 0 and f"note: {token} is of GNU parallel, and stays as it is" in r.err, r
    assert shared.ctl("logs", r.lines[0]).out == f"x{token} a\n"
    r = shared.submit("-w", "--each-line=-", "--", "echo", f"${token}", "{}", input="a\n")
    assert "GNU parallel" not in r.err, r


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
    (["--stdin={}", "--no-check", "true"], "a", "--stdin has {}, which is the line only in"),
    (["--chdir=in/{}", "--no-check", "true"], "a", "--chdir has {}, which"),
    (["--queue=q-{}", "true"], "a", "--queue has {}, which"),
    (["--label={}=x", "true"], "a", "--label has {}, which"),
    (["--env={}=x", "true"], "a", "--env has {}, which"),
    (["--kind=noop"], "a", "--each-line is for kind exec"),
    (["no-such-program"], "a", "no-such-program: not found in PATH"),
    (["--stdin=-", "true"], "a", "both read standard input"),
    ([], "a", "a command is needed"),
])
def test_refused(shared, words, data, why):
    r = shared.submit("--each-line=-", *words, input=data)
    assert r.code in (125, 127) and why in r.err and r.out == "", r
