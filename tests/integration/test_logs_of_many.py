"""Output of arrays and of several jobs: in order, by line, followed all at once."""

import json
import signal
import subprocess

import pytest

from conftest import LIMIT, until


@pytest.fixture(scope="module")
def array(shared):
    """Elements that end in an unfinished line; the third says nothing."""
    r = shared.submit("-w", "--array", "8-11", "--shell",
                      "[ $VOLT_ARRAY_INDEX = 10 ] || { echo one; printf 'two '; printf $VOLT_ARRAY_INDEX; }")
    assert r.code == 0, r
    return r.lines[0]


@pytest.mark.parametrize("words", [[], ["-f"], ["-fk"], ["-f", "--keep-order"]])
def test_an_array_in_order(shared, array, words):
    r = shared.ctl("logs", *words, array)
    assert r.out == "".join(f"{array}_{i}: one\n{array}_{i}: two {i}\n" for i in (8, 9, 11)), r
    assert r.code == 0 and r.err == ""
    r = shared.ctl("logs", *words, "--no-prefix", array)
    assert r.out == "one\ntwo 8one\ntwo 9one\ntwo 11"  # every byte, and no other
    r = shared.ctl("logs", *words, "-n", "1", f"{array}_11", f"{array}_8-9")
    assert r.out == "".join(f"{array}_{i}: two {i}\n" for i in (11, 8, 9))


def test_one_job_has_no_prefix(shared, array):
    assert shared.ctl("logs", f"{array}_8").out == shared.ctl("logs", "-f", f"{array}_8").out == "one\ntwo 8"


def test_what_has_no_output_is_said(shared, array):
    silent = shared.submit("-w", "--output=null", "true").lines[0]
    r = shared.ctl("logs", silent, f"{array}_8", "999999")
    assert r.code == 4 and r.out == f"{array}_8: one\n{array}_8: two 8\n", r
    assert f"job {silent}" in r.err or "output" in r.err
    r = shared.ctl("logs", "-f", silent, f"{array}_8")
    assert r.code == 1 and r.out == f"{array}_8: one\n{array}_8: two 8\n", r


def test_an_array_of_which_nothing_is_kept_says_so(shared):
    """Once: what there is of some elements is printed without a word of the others."""
    array = shared.submit("-w", "--array=1-3", "--shell", "echo out; echo err >&2").lines[0]
    r = shared.ctl("logs", "--stderr", array)
    assert r.code == 1 and r.out == "" and r.err.count("no output here") == 1 and "--error=file" in r.err, r
    array = shared.submit("-w", "--array=1-3", "--output=here.{i}", "--shell", "echo out").lines[0]
    r = shared.ctl("logs", array)
    assert r.code == 1 and r.err == f"voltctl: job {array}_1 prints to a file that voltd does not keep: " \
        f"tail -f {shared.dir}/here.1\n", r
    other = shared.submit("-w", "echo", "kept").lines[0]
    for words in [], ["-f"]:
        both = shared.ctl("logs", *words, array, other)
        assert (both.code, both.out, both.err) == (1, f"{other}: kept\n", r.err), both


def test_lines_of_running_jobs_never_mix(shared):
    """Two write halves of their lines by turns; what is printed are whole lines of each."""
    text = "until [ -e {0} ]; do sleep 0.01; done; printf end-; echo {0}"
    jobs = [shared.submit("--shell", "printf 'begin '; echo more; printf 'half '; : >ready." + name + "; " +
                          text.format(name)).lines[0] for name in ("a", "b")]
    until(lambda: all((shared.dir / f"ready.{n}").exists() for n in "ab"))
    p = shared.popen("voltctl", "logs", "-f", *jobs)
    assert {p.stdout.readline() for _ in jobs} == {f"{j}: begin more\n" for j in jobs}
    (shared.dir / "b").touch()
    assert p.stdout.readline() == f"{jobs[1]}: half end-b\n"
    (shared.dir / "a").touch()
    assert p.stdout.readline() == f"{jobs[0]}: half end-a\n"
    out, err = p.communicate(timeout=LIMIT)
    assert (p.returncode, out, err) == (0, "", "")


def test_a_full_read_that_ends_inside_a_line(shared):
    """256 KiB, which is what voltctl reads at once, and the last of it has no line end yet."""
    text = "until [ -e {0} ]; do sleep 0.01; done; echo {0}"
    full = 256 << 10
    jobs = [shared.submit("--shell", f"yes 1234567 | head -c {full - 8}; printf 'half ___'; : >full; " +
                          text.format("full.a")).lines[0],
            shared.submit("--shell", text.format("full.b")).lines[0]]
    until((shared.dir / "full").exists)
    p = shared.popen("voltctl", "logs", "-f", *jobs)
    assert {p.stdout.readline() for _ in range((full - 8) // 8)} == {f"{jobs[0]}: 1234567\n"}
    (shared.dir / "full.b").touch()
    assert p.stdout.readline() == f"{jobs[1]}: full.b\n"
    (shared.dir / "full.a").touch()
    assert p.communicate(timeout=LIMIT) == (f"{jobs[0]}: half ___full.a\n", "") and p.returncode == 0


# A user namespace of its own has so many inotify watches, and no more.
FEW_WATCHES = ["unshare", "--user", "--map-root-user", "sh", "-c",
               'echo "$1" >/proc/sys/user/max_inotify_watches && shift && exec "$@"', "sh"]


@pytest.mark.parametrize("watched", [0, 1])
def test_without_watches_the_daemon_sends(private, watched):
    """This user's watches are used up, for the first of them or for the second."""
    private.start()
    text = ("echo begin {0}; printf half-; : >begun.{0}; until [ -e {0} ]; do sleep 0.01; done; echo {0}; "
            "until [ -e {0}2 ]; do sleep 0.01; done; echo {0}2")
    ended = private.submit("-w", "echo", "ended").lines[0]
    jobs = [private.submit("--shell", text.format(n)).lines[0] for n in "ab"]
    until(lambda: all((private.dir / f"begun.{n}").exists() for n in "ab"))
    few = [*FEW_WATCHES, str(watched)]
    if subprocess.run([*few, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespace to be had, and so no limit for voltctl alone")
    alone = private.popen("voltctl", "logs", "-f", jobs[0], before=few)
    assert alone.stdout.readline() == "begin a\n"
    p = private.popen("voltctl", "logs", "-f", ended, *jobs, before=few)
    assert [p.stdout.readline() for _ in range(2)] == [f"{ended}: ended\n", f"{jobs[0]}: begin a\n"]
    (private.dir / "a").touch()     # it grows, and its state is the same
    assert p.stdout.readline() == f"{jobs[0]}: half-a\n" and alone.stdout.readline() == "half-a\n"
    for name in ("a2", "b", "b2"):
        (private.dir / name).touch()
    out, err = p.communicate(timeout=LIMIT)
    assert (p.returncode, err) == (0, "")
    assert alone.communicate(timeout=LIMIT) == ("a2\n", "") and alone.returncode == 0
    assert out.splitlines() == [f"{jobs[0]}: a2", *(f"{jobs[1]}: {line}" for line in ("begin b", "half-b", "b2"))]


def test_what_waits_is_followed_too(shared):
    """Four elements for two slots; one of them is cancelled before it starts."""
    ident = shared.submit("--array", "1-4", "--shell", "until [ -e all ]; do sleep 0.01; done; echo $VOLT_ARRAY_INDEX").lines[0]
    until(lambda: shared.job(ident)["counts"]["running"] == 2)
    p = shared.popen("voltctl", "logs", "-f", ident)
    assert shared.ctl("cancel", f"{ident}_4").code == 0
    (shared.dir / "all").touch()
    out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 0 and err == "", err
    assert sorted(out.splitlines()) == [f"{ident}_{i}: {i}" for i in (1, 2, 3)]


def test_following_goes_on_over_a_restart(private):
    private.start()
    jobs = [private.submit("--shell", f"echo before; until [ -e go ]; do sleep 0.01; done; echo after {i}").lines[0]
            for i in range(2)]
    p = private.popen("voltctl", "logs", "-f", *jobs)
    assert {p.stdout.readline() for _ in jobs} == {f"{j}: before\n" for j in jobs}
    private.stop()
    private.start()
    (private.dir / "go").touch()
    out, err = p.communicate(timeout=LIMIT)
    assert p.returncode == 0 and "connected again" in err
    assert sorted(out.splitlines()) == [f"{j}: after {i}" for i, j in enumerate(jobs)]


def test_submit_follows_arrays_and_files(shared):
    r = shared.submit("-F", "--array", "1-3", "--shell", "echo $VOLT_ARRAY_INDEX; exit $VOLT_ARRAY_INDEX")
    ident = r.err.splitlines()[0].split()[-1]
    assert r.code == 3 and sorted(r.lines) == [f"{ident}_{i}: {i}" for i in (1, 2, 3)], r
    specs = "".join(json.dumps({"shell": f"echo {i}"}) + "\n" for i in range(3))
    r = shared.submit("-F", "-f", "-", input=specs)
    first = int(r.err.splitlines()[0].split()[-1])
    assert r.code == 0 and sorted(r.lines) == sorted(f"{first + i}: {i}" for i in range(3)), r


def test_nobody_reads_any_more(shared, array):
    slow = shared.submit("sleep", "600").lines[0]
    p = shared.popen("voltctl", "logs", "-f", array, slow)
    assert p.stdout.readline() == f"{array}_8: one\n"
    p.stdout.close()
    assert p.wait(LIMIT) in (1, -signal.SIGPIPE)
    p.stderr.close()
    assert shared.ctl("cancel", slow).code == 0


def test_standard_error_of_several(shared):
    r = shared.submit("-w", "--error=file", "--array", "1-2", "--shell", "echo out; echo err >&2")
    ident = r.lines[0]
    assert shared.ctl("logs", "--stderr", ident).out == f"{ident}_1: err\n{ident}_2: err\n"
    assert shared.ctl("logs", "--stdout", ident).out == f"{ident}_1: out\n{ident}_2: out\n"
