"""Completion in bash: verbs, options and values as the programs have them."""

import subprocess

import pytest

from conftest import BIN, ROOT

SCRIPT = """. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
case $1 in voltctl) _voltctl ;; *) _volt_submit ;; esac
printf '%s\\n' "${COMPREPLY[@]}" """


def complete(daemon, *words, cwd=None):
    r = subprocess.run(["bash", "-c", SCRIPT, "-", ROOT / "client/completion/volt.bash", *words],
                       capture_output=True, text=True, check=True, cwd=cwd,
                       env={**daemon.env, "PATH": f"{BIN}:/usr/bin:/bin"})
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
    (["voltctl", "list", "--output", "="], {"table", "json"}),
    (["voltctl", "--address", "/x/y", "sh"], {"show", "shutdown"}),
    (["voltctl", "--address", "=", "/x/y", "list", "--si"], {"--since"}),
    (["volt-submit", "--output", ""], {"file", "null", "data", "deep"}),
    (["volt-submit", "-f", "d"], {"data", "deep"}),
    (["volt-submit", "--stdin", "=", "da"], {"data"}),
    (["volt-submit", "-d", "d"], {"deep"}),
    (["volt-submit", "-n", "sort", "--", "sha256su"], {"sha256sum"}),
    (["volt-submit", "-n", "sort", "--wait", "cat", "d"], {"data", "deep"}),
    (["volt-submit", "--", "cat", "--qu"], set()),
])
def test_words(shared, tmp_path, words, expected):
    (tmp_path / "data").touch()
    (tmp_path / "deep").mkdir()
    assert set(complete(shared, *words, cwd=tmp_path)) == expected


def test_ids(shared):
    ident = shared.submit("--kind=noop").out.strip()
    assert ident in complete(shared, "voltctl", "status", "")
