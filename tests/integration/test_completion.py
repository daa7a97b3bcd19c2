"""Completion in bash, zsh and fish: verbs, options and values as the programs have them."""

import os
import pty
import subprocess

import pytest

from conftest import BIN, ROOT

SCRIPT = """. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
case $1 in voltctl) _voltctl ;; *) _volt_submit ;; esac
printf '%s\\n' "${COMPREPLY[@]}" """


COMPLETION = ROOT / "client/completion"


def complete(daemon, *words, cwd=None, **env):
    r = subprocess.run(["bash", "-c", SCRIPT, "-", COMPLETION / "volt.bash", *words],
                       capture_output=True, text=True, check=True, cwd=cwd,
                       env={**daemon.env, **env, "PATH": f"{BIN}:/usr/bin:/bin"})
    assert r.stderr == ""
    return r.stdout.split()


@pytest.fixture(scope="module")
def some_of_each(shared):
    shared.ctl("queue", "create", "gpu")
    shared.ctl("locks", "resize", "tape", "4")
    shared.submit("--kind=noop", "-n", "another-name")
    return shared


@pytest.mark.parametrize("words, expected", [
    (["voltctl", "sh"], {"show", "shutdown"}),
    (["voltctl", "list", "--si"], {"--since"}),
    (["voltctl", "list", "--state", "=", "r"], {"running"}),
    (["voltctl", "cancel", "--result", "ti"], {"timeout"}),
    (["volt-submit", "--if-exists", "=", ""], {"coalesce", "replace", "reject"}),
    (["volt-submit", "--time"], {"--timeout"}),
    (["voltctl", "nonsense", "--x"], set()),
    (["voltctl", "list", "--output", "=", "w"], {"wait", "wide"}),
    (["voltctl", "list", "--sort", "=", "r"], {"result", "runtime"}),
    (["voltctl", "--address", "/x/y", "sh"], {"show", "shutdown"}),
    (["voltctl", "--address", "=", "/x/y", "list", "--si"], {"--since"}),
    (["volt-submit", "--output", ""], {"file", "null", "data", "deep"}),
    (["volt-submit", "-f", "d"], {"data", "deep"}),
    (["volt-submit", "--stdin", "=", "da"], {"data"}),
    (["volt-submit", "-d", "d"], {"deep"}),
    (["volt-submit", "-n", "sort", "--", "sha256su"], {"sha256sum"}),
    (["volt-submit", "-n", "sort", "--wait", "cat", "d"], {"data", "deep"}),
    (["volt-submit", "--", "cat", "--qu"], set()),
    (["volt-submit", "--label", "=", "a", "=", "b", "--time"], {"--timeout"}),
    (["volt-submit", "--address", "unix", ":", "/x/y", "--time"], {"--timeout"}),
    (["voltctl", "help", "sh"], {"show", "shutdown"}),
    (["voltctl", "edit", "--lock", "=", "t"], {"tape"}),
    (["voltctl", "edit", "--old-queue", "=", "g"], {"gpu"}),
    (["voltctl", "edit", "--old-name", "an"], {"another-name"}),
    (["voltctl", "queue", "re"], {"resume", "reset"}),
    (["voltctl", "queue", "pause", ""], {"default", "gpu"}),
    (["voltctl", "queue", "set", "gpu", "m"], {"max=", "max-per-user=", "max-timeout="}),
    (["voltctl", "queue", "pause", "gpu", ""], set()),
    (["voltctl", "queue", "delete", "--address", "=", "/x/y", ""], set()),
    (["voltctl", "locks", "re"], {"resize", "reset"}),
    (["voltctl", "locks", "resize", "t"], {"tape"}),
    (["voltctl", "list", "--queue", "=", "g"], {"gpu"}),
    (["volt-submit", "--queue", "g"], {"gpu"}),
    (["volt-submit", "-q", "g"], {"gpu"}),
    (["volt-submit", "-n", "an"], {"another-name"}),
    (["voltctl", "logs", "name", ":", "an"], {"another-name"}),
    (["volt-submit", "--after", "=", "name", ":", "an"], {"another-name"}),
    (["volt-submit", "--retry-on", "ex"], {"exit", "exec_failed"}),
    (["volt-submit", "--label", ""], set()),
])
def test_words(some_of_each, tmp_path, words, expected):
    (tmp_path / "data").touch()
    (tmp_path / "deep").mkdir()
    assert set(complete(some_of_each, *words, cwd=tmp_path)) == expected


def test_settings_of_queues(shared):
    """All that there are, and no other."""
    words = complete(shared, "voltctl", "queue", "set", "default", "")
    said = shared.ctl("queue", "--help").out
    assert len(words) == 10 and all(w[:-1] in said for w in words), words
    for word in words:
        assert "no such setting" not in shared.ctl("queue", "set", "nowhere", word + "1").err


def test_jobs_that_are_waited_for(shared):
    ident = shared.submit("--kind=noop").out.strip()
    for option in ("--after", "--after-any", "--after-start"):
        assert ident in complete(shared, "volt-submit", option, "")


def test_columns_to_sort_by(shared):
    """All that there are, and no other."""
    said = shared.ctl("list", "--sort=x").err
    assert set(complete(shared, "voltctl", "list", "--sort", "=", "")) == set(
        said.rsplit(": ", 1)[1].strip().split(", "))


def test_names(shared):
    """One that is one word; options with any value have none that is known."""
    shared.submit("--kind=noop", "-n", "one-of-these")
    shared.submit("--kind=noop", "-n", "of two")
    names = complete(shared, "voltctl", "list", "--name", "=", "")
    assert "one-of-these" in names and not {"of", "two"} & set(names)
    assert complete(shared, "volt-submit", "--name", "one-") == ["one-of-these"]
    for option in ("--label", "--lines", "--owner"):
        assert complete(shared, "voltctl", "list", option, "=", "") == [], option


def test_signals(shared):
    """Those that the programs know."""
    names = complete(shared, "voltctl", "kill", "--signal", "=", "")
    assert "KILL" in names and "RTMIN+3" in names
    for name in names:
        assert shared.submit("--dry-run", f"--stop-signal={name}", "true").code == 0, name


def test_ids(shared):
    ident = shared.submit("--kind=noop").out.strip()
    assert ident in complete(shared, "voltctl", "status", "")


def test_ids_of_the_voltd_that_is_named(shared):
    """Wherever and however it stands on the line; readline breaks words at = and :."""
    ident = shared.submit("--kind=noop").out.strip()
    path, home = str(shared.socket), {"HOME": str(shared.dir)}
    short = f"~/{shared.socket.relative_to(shared.dir)}"
    del shared.env["VOLT_ADDRESS"]
    try:
        for words in (["--address", path, "status", ""],
                      ["--address", "=", path, "status", ""],
                      ["--address", "=", "unix", ":", path, "status", ""],
                      ["--address", "unix", ":", path, "status", ""],
                      ["--address", f"unix:{path}", "status", ""],
                      ["--address", short, "status", ""],
                      ["show", "--address", "=", path, "--json", ""],
                      ["logs", "-n", "5", "--address", path, ident[:1]]):
            assert ident in complete(shared, "voltctl", *words, **home), words
        assert complete(shared, "voltctl", "--address", "=", path + "x", "status", "") == []
        shared.env["VOLT_ADDRESS"] = f"unix:{path}"
        shared.env["XDG_RUNTIME_DIR"] = str(shared.dir)  # there is none
        assert complete(shared, "voltctl", "--user", "status", "") == []
        assert complete(shared, "voltctl", "--address", "=", "unix", ":", path[:-2]) == [path]
    finally:
        shared.env.pop("XDG_RUNTIME_DIR", None)
        shared.env["VOLT_ADDRESS"] = f"unix:{path}"


def test_the_files_are_what_the_programs_say():
    r = subprocess.run([COMPLETION / "generate", BIN, COMPLETION, "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout


# What is written, and what one press of tab makes of it, where one word is possible.
LINES = [
    ("voltctl shut", "voltctl shutdown"),
    ("voltctl --address /x/y shut", "voltctl --address /x/y shutdown"),
    ("voltctl list --newe", "voltctl list --newest"),
    ("voltctl list --state=runn", "voltctl list --state=running"),
    ("voltctl list --state=queued,runn", "voltctl list --state=queued,running"),
    ("voltctl cancel --result=tim", "voltctl cancel --result=timeout"),
    ("voltctl list --sort=subm", "voltctl list --sort=submitted"),
    ("voltctl list -o wid", "voltctl list -o wide"),
    ("voltctl help shut", "voltctl help shutdown"),
    ("volt-submit --open-mode=tr", "volt-submit --open-mode=truncate"),
    ("volt-submit --output=a_f", "volt-submit --output=a_file"),
    ("volt-submit -f a_f", "volt-submit -f a_file"),
    ("volt-submit -d a_d", "volt-submit -d a_dir/"),
    ("volt-submit -n sort -- sha256su", "volt-submit -n sort -- sha256sum"),
    ("volt-submit -n sort -w cat a_f", "volt-submit -n sort -w cat a_file"),
    ("voltctl queue pau", "voltctl queue pause"),
    ("voltctl queue pause def", "voltctl queue pause default"),
    ("voltctl queue set default wei", "voltctl queue set default weight="),
    ("voltctl locks resi", "voltctl locks resize"),
    ("voltctl locks free tap", "voltctl locks free tape"),
    ("volt-submit --queue=def", "volt-submit --queue=default"),
    ("volt-submit --retry-on=tim", "volt-submit --retry-on=timeout"),
]


@pytest.fixture
def one_job(private):
    private.start()
    private.submit("-w", "--kind=noop", "-n", "a name: b")
    assert private.ctl("locks", "resize", "tape", "4").code == 0
    (private.dir / "a_file").touch()
    (private.dir / "a_dir").mkdir()
    private.env["PATH"] = f"{BIN}:/usr/bin:/bin"
    address = private.env["VOLT_ADDRESS"]
    return private, [*LINES, ("voltctl status ", "voltctl status 1"),
                     (f"voltctl --address={address} logs -n 5 ", f"voltctl --address={address} logs -n 5 1")]


def test_fish(one_job):
    daemon, lines = one_job
    (daemon.dir / "home").mkdir()
    env = {**daemon.env, "HOME": str(daemon.dir / "home")}
    for written, expected in [*lines, ("voltctl list --name=a", "voltctl list --name=a name: b"),
                              ("voltctl logs name:a", "voltctl logs name:a name: b"),
                              ("volt-submit --after=name:a", "volt-submit --after=name:a name: b")]:
        r = subprocess.run(["fish", "-c", f"source {COMPLETION}/volt.fish; complete -C {written!r}"], env=env,
                           cwd=daemon.dir, capture_output=True, text=True, check=True)
        word = expected.split()[-1]
        found = [line.split("\t")[0] for line in r.stdout.splitlines()]
        assert [w for w in found if w == word or written.rsplit(" ", 1)[0] + " " + w == expected] and \
            len(found) == 1 and r.stderr == "", (written, found, r.stderr)


ZSH = r"""PROMPT= TERM=dumb; unsetopt beep
fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D
press() {{ BUFFER=$(<line) CURSOR=$#BUFFER; zle complete-word; print -r -- "$BUFFER" >answer; BUFFER= }}
zle -N press; bindkey '^T' press; print ready >answer
"""


def test_zsh(one_job):
    daemon, lines = one_job
    os.mkfifo(daemon.dir / "answer")
    (daemon.dir / "rc").write_text(ZSH.format(folder=COMPLETION))
    ours, theirs = pty.openpty()
    zsh = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=daemon.dir,
                           env=daemon.env, start_new_session=True)
    os.close(theirs)
    try:
        os.write(ours, b". ./rc\n")
        assert (daemon.dir / "answer").read_text() == "ready\n"
        for written, expected in [*lines, ("voltctl list --name=a", r"voltctl list --name=a\ name:\ b"),
                                  ("voltctl logs name:a", r"voltctl logs name:a\ name:\ b"),
                                  ("volt-submit --after=name:a", r"volt-submit --after=name:a\ name:\ b")]:
            (daemon.dir / "line").write_text(written)
            os.write(ours, b"\x14")
            got = (daemon.dir / "answer").read_text()
            assert got.rstrip(" ,\n") == expected, written  # zsh takes back the comma of a list
    finally:
        zsh.kill()
        zsh.wait()
        os.close(ours)
