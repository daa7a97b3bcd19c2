"""Completion in bash: verbs, options and values as the programs have them."""

import subprocess

import pytest

from conftest import BIN, ROOT

SCRIPT = """. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
case $1 in voltctl) _voltctl ;; *) _volt_submit ;; esac
printf '%s\\n' "${COMPREPLY[@]}" """


def complete(daemon, *words):
    r = subprocess.run(["bash", "-c", SCRIPT, "-", ROOT / "client/completion/volt.bash", *words],
                       capture_output=True, text=True, check=True,
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
])
def test_words(shared, words, expected):
    assert set(complete(shared, *words)) == expected


def test_ids(shared):
    ident = shared.submit("--kind=noop").out.strip()
    assert ident in complete(shared, "voltctl", "status", "")
