"""Completion in bash: verbs, options and values as the programs have them."""

import subprocess

import pytest

from conftest import BIN, ROOT

SCRIPT = """. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
case $1 in voltctl) _voltctl ;; *) _volt_submit ;; esac
printf '%s\\n' "${COMPREPLY[@]}" """


def complete(daemon, *words, cwd=None, **env):
    r = subprocess.run(["bash", "-c", SCRIPT, "-", ROOT / "client/completion/volt.bash", *words],
                       capture_output=True, text=True, check=True, cwd=cwd,
                       env={**daemon.env, **env, "PATH": f"{BIN}:/usr/bin:/bin"})
    assert r.stderr == ""
    return r.stdout.split()


@pytest.mark.parametrize("words, expected", [
    (["voltctl", "sh"], {"show", "shutdown"}),
    (["voltctl", "list", "--si"], {"--since"}),
    (["voltctl", "list", "--state", "=", "r"], {"running"}),
    (["voltctl", "cancel", "--result", "ti"], {"timeout"}),
    (["volt-submit", "--if-exists", "=", ""], {"coalesce", "replace", "reject"}),
    (["volt-submit", "--time"], {"--timeout"}),
    (["voltctl", "nonsense", "--x"], set()),
    (["voltctl", "list", "--output", "="], {"table", "wide", "json", "ndjson"}),
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
])
def test_words(shared, tmp_path, words, expected):
    (tmp_path / "data").touch()
    (tmp_path / "deep").mkdir()
    assert set(complete(shared, *words, cwd=tmp_path)) == expected


def test_columns_to_sort_by(shared):
    """All that there are, and no other."""
    said = shared.ctl("list", "--sort=x").err
    assert set(complete(shared, "voltctl", "list", "--sort", "=", "")) == set(
        said.rsplit(": ", 1)[1].strip().split(", "))


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
