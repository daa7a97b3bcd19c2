"""What people bring with them: numbers of other languages, descriptors of other programs, scripts of other systems."""
import fcntl
import os
import subprocess
import termios

import pytest

from conftest import BIN, until


@pytest.mark.parametrize("number", ["6e+07", "60000000.0", "6.0E7"])
def test_numbers_of_other_languages(shared, number):
    r = shared.submit("-w", "-f", "-", input='{"argv":["true"],"timeout_usec":%s,"success_codes":[0.0],'
                      '"array":{"first":1.0,"last":2e0}}\n' % number)
    assert r.code == 0, r
    spec = shared.job(r.lines[0])["spec"]
    assert spec["timeout_usec"] == 60000000 and spec["array"] == {"first": 1, "last": 2}, spec


@pytest.mark.parametrize("number", ["1.5", "6e+99", '"60000000"'])
def test_numbers_that_are_none(shared, number):
    r = shared.submit("-f", "-", input='{"argv":["true"]}\n{"argv":["true"],"timeout_usec":%s}\n' % number)
    assert r.code == 125 and "line 2: timeout_usec: must be an integer" in r.err, r


def nonblocking(fd):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)


def is_empty(pipe):
    return fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4)


@pytest.mark.parametrize("words", [("voltctl", "logs", "1"), ("volt-submit", "-F", "--quiet", "--shell", "seq 100000"),
                                   ("voltctl", "list", "-e", "2", "--json")])
def test_output_that_does_not_block(private, words):
    """A program beside us has made the pipe so. Its reader is slow, and has all of it; the pipe stays as it is."""
    private.start()
    private.submit("-w", "--shell", "seq 100000")
    private.submit("-w", "--quiet", "--array=1-1000", "-n", "n" * 200, "--kind=noop")
    r, w = os.pipe()
    nonblocking(w)
    p = subprocess.Popen([BIN / words[0], *words[1:]], env=private.env, cwd=private.dir, stdin=subprocess.DEVNULL,
                         stdout=w, stderr=subprocess.PIPE, text=True)
    until(lambda: not is_empty(r) or p.poll() is not None)
    with open(r, "rb", 0) as reader:
        data = reader.read(4096)
        assert fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK
        os.close(w)
        while piece := reader.read(4096):
            data += piece
    assert p.communicate()[1] == "" and p.returncode == 0
    whole = "".join(f"{n}\n" for n in range(1, 100001)) if words[1] != "list" else private.ctl(*words[1:]).out
    assert data.decode() == whole


@pytest.mark.parametrize("words, pieces, want", [
    (("-F", "--stdin=-", "--", "wc", "-l"), ("a\n", "b\n"), ["2"]),
    (("-w", "-f", "-"), ('{"argv":["true"]}\n', '{"argv":["true"]}\n'), None),
    (("-w", "--each-line=-", "--", "true"), ("a\n", "b\n"), None)])
def test_input_that_does_not_block(shared, words, pieces, want):
    r, w = os.pipe()
    nonblocking(r)
    p = subprocess.Popen([BIN / "volt-submit", "--quiet", *words], env=shared.env, cwd=shared.dir, stdin=r,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for piece in pieces:
        os.write(w, piece.encode())
        until(lambda: is_empty(r) or p.poll() is not None)
    os.close(r)
    os.close(w)
    out, err = p.communicate()
    assert p.returncode == 0 and err == "", err
    assert out.split() == want if want else len(out.split()) == 2, out
