"""Scripts that are stored with their jobs: what was submitted runs, as a file of its own that is
gone when the job has ended."""

import os
import pathlib
import signal
import stat
import subprocess

import pytest

from conftest import BIN, LIMIT, SERVICE_UID, Gate, needs_root, until, written
from jobs import JOBS, alive, ended, get, keeper_of, main_of, wait
from test_adopted import shim_of


def write(daemon, name, text, mode=0o755):
    path = daemon.dir / name
    path.write_text(text)
    path.chmod(mode)
    return path


def files(daemon):
    """What there is of scripts."""
    scripts = daemon.state / "scripts"
    return [p for p in scripts.rglob("*")] if scripts.exists() else []


def piped(daemon, data, *words):
    return subprocess.run([BIN / "volt-submit", *words], input=data, env=daemon.env, cwd=daemon.dir,
                          capture_output=True, timeout=LIMIT)


def test_one_that_is_edited_runs_as_it_was(private):
    private.start()
    path = write(private, "job.sh", "#!/bin/sh\n#VOLT --hold\necho as it was, $1\n")
    ident = private.submit("job.sh", "one").lines[0]
    other = private.submit("--by-path", "job.sh", "two").lines[0]
    path.write_text("#!/bin/sh\necho edited, $1\n")
    assert private.stop(signal.SIGKILL) is not None
    private.start()
    assert private.ctl("release", ident, other).code == 0
    assert private.ctl("wait", ident, other).code == 0
    assert private.ctl("logs", ident).out == "as it was, one\n"
    assert private.ctl("logs", other).out == "edited, two\n"
    path.unlink()
    assert private.ctl("show", "--script", ident).out == "#!/bin/sh\n#VOLT --hold\necho as it was, $1\n"
    again = private.ctl("retry", ident).lines[0].split()[-1]
    private.ctl("release", again)
    assert private.ctl("wait", again).code == 0 and private.ctl("logs", again).out == "as it was, one\n"
    assert files(private) == []


def test_what_it_sees_of_itself(shared):
    write(shared, "my job.sh", "#!/bin/bash -e\n#VOLT -n x\nstat -c %a,%n \"$0\" \"$(dirname \"$0\")\" \"$(dirname \"$0\")/..\"\n"
          "ps -o args= -p $$; cat; echo $#: $*; ls -l /proc/$$/fd | grep -c scripts\n", 0o644)
    r = shared.submit("-wF", "my job.sh", "a b", "c")
    folder = f"{shared.state}/scripts"
    modes, own, up, shown, words, opened = r.out.splitlines()
    assert modes.startswith(f"500,{folder}/") and modes.endswith(".1/my job.sh"), r
    assert own.startswith("500,") and up.startswith("700,"), r
    assert shown.startswith(f"/bin/bash -e {folder}/") and words == "2: a b c" and opened == "1", r
    assert "line 3: it is stored with the job and runs from another folder" in r.err, r
    assert "another folder" not in shared.submit("-w", "--by-path", "my job.sh").err
    assert until(lambda: files(shared) == [])


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_nothing_is_lost_beside_it(shared):
    r = piped(shared, b"#!/bin/sh\necho x >\"$(dirname \"$0\")/y\"\n", "-w", "-")
    assert r.returncode == 2, r


def test_an_array(shared):
    r = piped(shared, b"#!/bin/sh\necho $1 {i} $VOLT_ARRAY_INDEX\n", "-w", "--array=1-20", "-", "in/{i}")
    assert r.returncode == 0, r
    ident = r.stdout.decode().strip()
    out = shared.ctl("logs", "--no-prefix", ident).out
    assert out == "".join(f"in/{i} {{i}} {i}\n" for i in range(1, 21))
    until(lambda: files(shared) == [])


@pytest.mark.parametrize("script, words, out", [
    (b"#!/bin/sh\necho $# $2", ["a", "b c"], "2 b c\n"),
    (b"#! /usr/bin/env python3 \nimport sys; print(open(__file__).read()[:2], sys.argv[1])\n", ["x"], "#! x\n"),
    (b"#!/bin/cat\nline\n", [], "#!/bin/cat\nline\n"),
    (b"#!/bin/sh\n#SBATCH -J fit\necho $SLURM_JOB_NAME\n", [], "fit\n"),
    ("#!/bin/sh\necho gr\u00fc\u00df\n".encode(), [], "gr\u00fc\u00df\n"),
    (b"#!/bin/sh\n" + b"#" * 100_000 + b"\necho long\n", [], "long\n"),
])
def test_from_standard_input(shared, script, words, out):
    r = piped(shared, script, "-w", "-", *words)
    assert r.returncode == 0, r
    ident = r.stdout.decode().strip()
    assert shared.ctl("logs", ident).out == out
    assert shared.ctl("show", "--script", ident).out == script.decode()


@pytest.mark.parametrize("script, words, why", [
    (b"", ["-"], "no script comes through standard input: volt-submit - < SCRIPT"),
    (b"echo hi\n", ["-"], "has no first line like #!/bin/sh"),
    (b"echo hi\n", ["-"], "volt-submit --stdin=- -- sh"),
    (b"#!/bin/sh\r\necho hi\r\n", ["-"], "standard input has lines that end with CR LF"),
    (b"\xef\xbb\xbf#!/bin/sh\necho hi\n", ["-"], "standard input begins with a byte order mark"),
    (b"#!/bin/sh\necho\n\0\1\2", ["-"], "standard input: line 3 is not text in UTF-8"),
    (b"#!/bin/sh\necho gr\xfc\xdf\n", ["-"], "line 2 is not text in UTF-8"),
    (b"#!/no/such/program\n", ["-"], "its first line names /no/such/program, which is not there"),
    (b"#!python3\n", ["-"], "script: its first line must name what runs it by its path"),
    (b"#!/bin/sh\n", ["--by-path", "-"], "--by-path: standard input has no path"),
    (b"#!/bin/sh\n#VOLT --by-path\n", ["-"], "--by-path: standard input has no path"),
    (b"#!/bin/sh\n", ["--stdin=-", "-"], "which something else reads too"),
    (b"#!/bin/sh\n", ["--each-line=-", "-"], "which something else reads too"),
    (b"#!/bin/sh\n#VOLT --nmae=x\n", ["-"], "did you mean --name?"),
])
def test_what_is_refused(shared, script, words, why):
    r = piped(shared, script, *words)
    assert r.returncode in (125, 126) and r.stdout == b"" and why in r.stderr.decode(), r


@pytest.mark.parametrize("text, why", [
    (b"#VOLT -n x\necho hi\n", "no first line like #!/bin/sh, which names what runs it; --by-path runs the file"),
    (b"#!/bin/sh\r\n#VOLT -n x\r\n", "has lines that end with CR LF"),
    (b"#!/bin/sh\n#VOLT -n x\necho \xff\n", "line 3 is not text in UTF-8, as what is stored with a job has to be; --by-path"),
    (b"#!/no/such\n#VOLT -n x\n", "its first line names /no/such, which is not there"),
])
def test_a_file_that_is_refused(shared, text, why):
    path = write(shared, "bad.sh", "")
    path.write_bytes(text)
    r = shared.submit("bad.sh")
    assert r.code in (125, 126) and r.out == "" and why in r.err, r


def test_one_that_says_by_path_itself(shared):
    write(shared, "path.sh", "#!/bin/sh\n#VOLT --by-path\necho $0\n")
    r = shared.submit("-wF", "./path.sh")
    assert r.out == f"{shared.dir}/path.sh\n", r
    write(shared, "latin.sh", "").write_bytes(b"#!/bin/sh\n#VOLT --by-path\n# gr\xfc\xdf\necho here\n")
    assert shared.submit("-wF", "./latin.sh").out == "here\n"


def test_the_limit(private):
    private.start(config="[Limits]\nMaxStdin=1K\n")
    text = "#!/bin/sh\n#VOLT -n big\necho $0\n"
    path = write(private, "big.sh", text.ljust(1024, "#"))
    assert private.submit("-w", "./big.sh").code == 0
    path.write_text(text.ljust(1025, "#"))
    r = private.submit("./big.sh")
    assert r.code == 125 and r.out == "", r
    assert "script: has 1025 bytes, MaxStdin= allows 1024" in r.err and "--by-path" in r.err, r
    assert private.submit("-wF", "--by-path", "./big.sh").out == f"{private.dir}/big.sh\n"
    path.write_text(text.ljust(400_000, "#"))
    r = private.submit("./big.sh")
    assert r.code == 125 and "its script has 400000 bytes: --by-path" in r.err, r
    path.write_text(text.ljust((8 << 20) + 1, "#"))
    r = private.submit("./big.sh")
    assert r.code == 125 and "more than 8 MiB is not stored; --by-path" in r.err, r


def test_a_key_compares_the_text(shared):
    def keyed(text):
        return piped(shared, text, "--key=k", "-")

    first = keyed(b"#!/bin/sh\n# one\ntrue\n")
    assert keyed(b"#!/bin/sh\n# one\ntrue\n").stdout == first.stdout
    r = keyed(b"#!/bin/sh\n# two\ntrue\n")
    ident = first.stdout.decode().strip()
    assert r.returncode == 125 and f'script, line 2: "# two" here, "# one" in job {ident}' in r.stderr.decode(), r


def test_what_is_shown(shared):
    write(shared, "shown.sh", "#!/bin/sh\n#VOLT -n shown\n\techo a\n")
    ident = shared.submit("-w", "./shown.sh", "a").lines[0]
    bare = shared.submit("-w", "true").lines[0]
    spec = shared.submit("--dry-run", "./shown.sh").json
    assert spec["script"] == "#!/bin/sh\n#VOLT -n shown\n\techo a\n" and spec["argv"] == [f"{shared.dir}/shown.sh"]
    lines = shared.ctl("show", ident).lines
    assert "spec.script_bytes=33" in lines and not [x for x in lines if x.startswith("spec.script=")]
    assert shared.ctl("show", "-p", "spec.script", ident).out.startswith("spec.script=#!/bin/sh\\n#VOLT")
    assert shared.job(ident)["spec"]["script"] == spec["script"]
    assert f"Script: stored with the job, 33 bytes; voltctl show --script {ident}" in shared.ctl("status", ident).out
    r = shared.ctl("show", "--script", bare)
    assert r.code == 1 and r.out == "" and f"job {bare} has no script" in r.err, r
    assert shared.ctl("show", "--script", "--json", ident).code == 2
    assert f"{shared.dir}/shown.sh a" in shared.ctl("list", "--all", "-o", "command", ident).out


@pytest.mark.parametrize("spec, why", [
    ({"script": "#!/bin/sh\n", "shell": "true"}, "not with shell"),
    ({"script": "true\n"}, "its first line must name what runs it, such as #!/bin/sh"),
    ({"script": "#!/bin/sh\r\n"}, "CR LF"),
    ({"script": "#!sh\n"}, "by its path"),
    ({"script": 7}, "must be a string"),
    ({"script": "#!/bin/sh\n", "kind": "noop"}, "only kind exec"),
])
def test_the_field_is_checked(shared, spec, why):
    with shared.connect() as v:
        reply = v.call(JOBS + "Submit", {"spec": spec})
        assert reply["parameters"]["parameter"] in ("spec.script", "spec.argv") and why in reply["parameters"]["reason"]


def test_the_field_without_a_command(shared):
    with shared.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"script": "#!/bin/sh\ncat\necho $0\n", "stdin_data": "YWIK"}})["id"]
        job = ended(v, ident)
        assert job["result"] == "success" and job["name"] == "script"
        spec = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"]
        assert spec == {"argv": ["script"], "script": "#!/bin/sh\ncat\necho $0\n", "stdin_data": "YWIK"}
    assert shared.ctl("logs", ident).out == f"ab\n{shared.state}/scripts/{ident}.1/script\n"


def test_a_list(shared):
    """Each line is an argument of it; it goes with the message once."""
    write(shared, "each.sh", "#!/bin/sh\n#VOLT -n each\necho got $1\n")
    r = shared.run("volt-submit", "-w", "--each-line", "-", "./each.sh", input="a\nb c\n")
    assert r.code == 0, r
    assert sorted(shared.ctl("logs", "--no-prefix", *r.lines).out.splitlines()) == ["got a", "got b c"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_goes_also_where_voltd_was_not_there(private, how):
    private.start()
    gate = Gate(private.dir / "gate")
    script = f"#!/bin/sh\necho up >{private.dir}/up\nread x <{gate.path}\ncat \"$0\" >{private.dir}/copy\n"
    ident = piped(private, script.encode(), "-").stdout.decode().strip()
    until(lambda: written(private.dir / "up"))
    assert len(files(private)) == 2
    private.stop(how)
    gate.let_through(1)
    until(lambda: files(private) == [], "the file to go")
    assert written(private.dir / "copy") == script
    private.start()
    assert private.ctl("wait", ident).code == 0


def test_what_a_killed_shim_has_left(private):
    private.start()
    with private.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"script": "#!/bin/sh\nexec sleep 1000\n"}})["id"]
        os.kill(shim_of(main_of(v, ident)), signal.SIGKILL)
        assert ended(v, ident)["result"] == "lost"
    until(lambda: files(private) == [], "the file to go")


def test_what_a_killed_shim_and_keeper_have_left(private):
    """It goes when the next keeper starts; what lives stays."""
    private.start()
    gate = Gate(private.dir / "gate")
    with private.connect() as v:
        lost = v.ok(JOBS + "Submit", {"spec": {"script": "#!/bin/sh\nexec sleep 1000\n"}})["id"]
        lives = v.ok(JOBS + "Submit", {"spec": {"script": f"#!/bin/sh\nread x <{gate.path}\ncat \"$0\"\n"}})["id"]
        shim, main, other = shim_of(main_of(v, lost)), main_of(v, lost), main_of(v, lives)
        keeper = keeper_of(private)
    private.stop(signal.SIGKILL)
    for pid in keeper, shim, main:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(shim), "the shim to end, which locks its file")
    assert len(files(private)) == 4 and pathlib.Path(f"/proc/{other}").exists()
    private.start()
    until(lambda: [p.name for p in files(private)] in ([f"{lives}.1", "script"], ["script", f"{lives}.1"]))
    gate.let_through(1)
    with private.connect() as v:
        assert ended(v, lost)["result"] == "lost" and ended(v, lives)["result"] == "success"
    assert private.ctl("logs", lives).out.startswith("#!/bin/sh\n")
    until(lambda: files(private) == [], "the file to go")


def test_where_it_cannot_be_written(private):
    private.start()
    (private.state / "scripts").write_text("in its way")
    r = piped(private, b"#!/bin/sh\n", "-w", "-")
    assert r.returncode == 125 and b"could not be started: script: Not a directory" in r.stderr, r
    (private.state / "scripts").unlink()
    assert piped(private, b"#!/bin/sh\n", "-w", "-").returncode == 0


def test_what_runs_it_has_gone_meanwhile(shared):
    program = write(shared, "mine", "")
    program.unlink()
    r = piped(shared, f"#!{program}\n".encode(), "-w", "--no-check", "-")
    assert r.returncode == 127 and f"could not be started: exec: {program}: No such file" in r.stderr.decode(), r


@needs_root
def test_of_two_users(private):
    """Neither another user nor the account of another voltd may read it."""
    private.as_service()
    private.start()
    gate = Gate(private.dir / "gate")
    os.chmod(private.dir, 0o755)
    os.chmod(gate.path, 0o666)
    with private.connect() as v:
        ident = v.ok(JOBS + "Submit", {"spec": {"script": f"#!/bin/sh\nread x <{gate.path}\ntrue\n"}})["id"]
        main_of(v, ident)
        (path,) = [p for p in files(private) if p.name == "script"]
        st = path.stat()
        assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (SERVICE_UID, 0o500)
        assert subprocess.run(["cat", path], user=SERVICE_UID + 1, group=SERVICE_UID + 1, extra_groups=[],
                              capture_output=True, check=False).returncode != 0
        gate.let_through(1)
        assert ended(v, ident)["result"] == "success"
