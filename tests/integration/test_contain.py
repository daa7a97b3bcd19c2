"""Runs of tests that are ended leave nothing behind: tests/tools/contain."""

import os
import signal
import subprocess
import sys

import pytest

from conftest import BIN, LIMIT, ROOT, processes, until, written

CONTAIN = ROOT / "tests/tools/contain"
# Two that flee, one of them deaf.
FLEEING = "setsid sh -c 'trap \"\" TERM; touch one; while :; do sleep 1000; done' & " \
          "(setsid sh -c '(touch two; exec sleep 1000) & exit' &);"


@pytest.fixture
def marked(private):
    """How to run something in a directory that marks its processes."""
    def run(*words):
        return subprocess.Popen(words, cwd=private.dir, env=private.env,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    run.dir = private.dir
    return run


def fled(marked):
    until(lambda: (marked.dir / "one").exists() and (marked.dir / "two").exists(), "both to flee")


def none_left(marked):
    return processes(str(marked.dir)) == []


@pytest.mark.parametrize("end, status", [("exit 7", 7), ("kill -KILL $$", 137)])
def test_what_a_command_leaves_goes_with_it(marked, end, status):
    run = marked(CONTAIN, "sh", "-c", f"{FLEEING} until [ -e one ] && [ -e two ]; do :; done; {end}")
    _, said = run.communicate(timeout=LIMIT)
    assert run.returncode == status and "has left" in said
    assert none_left(marked)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_run_that_is_told_to_end(marked, sig):
    run = marked(CONTAIN, "sh", "-c", f"{FLEEING} wait")
    fled(marked)
    run.send_signal(sig)
    assert run.wait(LIMIT) == 128 + sig
    assert none_left(marked)


def test_a_run_whose_runner_is_killed(marked):
    run = marked("sh", "-c", f"{CONTAIN} sh -c \"$0\"; :", f"{FLEEING} wait")
    fled(marked)
    run.kill()
    run.wait(LIMIT)
    until(lambda: none_left(marked), "all to end")


def test_a_run_of_tests_that_is_told_to_end(marked):
    """With daemons and jobs of theirs; the tests have time to clean up."""
    test = marked.dir / "test_one.py"
    test.write_text("from conftest import until\n\n\ndef test(private):\n"
                    "    private.start()\n    private.submit('--', 'sleep', '1000')\n"
                    f"    open({str(marked.dir / 'path')!r}, 'w').write(str(private.dir))\n"
                    "    until(lambda: False)\n")
    (marked.dir / "conftest.py").symlink_to(ROOT / "tests/integration/conftest.py")
    run = subprocess.Popen(
        [CONTAIN, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=marked.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "VOLT_BIN": str(BIN), "CONTAIN_GRACE": str(LIMIT)})
    path = marked.dir / "path"
    until(lambda: written(path), "its voltd to run a job")
    run.send_signal(signal.SIGTERM)
    assert run.wait(LIMIT) == 128 + signal.SIGTERM
    assert processes(path.read_text()) == [] and not os.path.exists(path.read_text())
