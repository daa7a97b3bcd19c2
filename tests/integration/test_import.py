"""volt-submit --import: what other tools have, as specs that can be submitted."""
import base64
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import LIMIT, processes, until

TOOLS = {
    "crontab": """[ "$1" = -l ] && cat <<'X'
# comment
MAILTO=""
PATH = /usr/bin:/bin
WORD='two words'

*/5 0 * * 1-5 echo "$WORD" \\% done
@daily cat%one%two\\%
nonsense
X""",
    "atq": "printf '12\\tMon Nov 23 10:00:00 2026 a user\\n13\\tMon Nov 23 10:00:00 2026 = user\\n'",
    "at": """[ "$*" = '-c 12' ] && printf '#!/bin/sh\\ncd /\\necho from at\\n'""",
    "tsp": """case "$*" in
"-i 4") printf 'Command: sh -c echo queued\nSlots required: 1\nEnqueue time: now\n'; exit ;;
"-i 5") printf 'Command: make\ntest\nSlots required: 1\n'; exit ;;
"-i 6") printf 'Command: [4]&& make install\nSlots required: 1\n'; exit ;;
"-i 7") exit 1 ;;
esac
cat <<'X'
ID   State      Output               E-Level  Times(r/u/s)   Command [run=1/1]
3    running    /tmp/ts-out.a                                sleep 5
4    queued     (file)                                       sh -c echo queued
5    queued     (file)                                       [lab]make
test
6    queued     (file)                                       [4]&& [lab]make install
7    queued     stdout                                       gone
1    finished   /tmp/ts-out.b        0        0.00/0.00/0.00 true
X""",
}


@pytest.fixture
def tools(shared):
    folder = shared.dir / "tools"
    folder.mkdir(exist_ok=True)
    for name, text in TOOLS.items():
        (folder / name).write_text("#!/bin/sh\n" + text + "\n")
        (folder / name).chmod(0o755)
    (folder / "socket").touch()  # of the server of tsp
    return {"PATH": f"{folder}:/usr/bin:/bin", "TS_SOCKET": str(folder / "socket")}


def test_crontab(shared, tools):
    r = shared.submit("--import=crontab", env=tools)
    first, second = [json.loads(line) for line in r.lines]
    assert r.code == 125 and "left out: nonsense" in r.err and "times are not taken over" in r.err
    assert first["shell"] == 'echo "$WORD" % done' and first["labels"] == {"crontab": "*/5 0 * * 1-5"}
    assert first["env"] == {"MAILTO": "", "PATH": "/usr/bin:/bin", "WORD": "two words"}
    assert first["cwd"] == str(shared.dir) and first["env_adds"]
    assert second["shell"] == "cat" and second["labels"] == {"crontab": "@daily"}
    assert base64.b64decode(second["stdin_data"]) == b"one\ntwo%\n"
    r = shared.submit("-w", "-f", "-", input=r.out)
    assert r.code == 0 and [shared.ctl("logs", i).out for i in r.lines] == ["two words % done\n", "one\ntwo%\n"]


def test_a_line_with_a_nul_byte_is_left_out(shared, tools):
    pathlib.Path(shared.dir / "tools" / "crontab").write_text(
        "#!/bin/sh\nprintf '@daily echo before\\n@daily rm -r /srv/a\\0b\\n@daily echo behind\\n'\n")
    r = shared.submit("--import=crontab", env=tools)
    assert [json.loads(line)["shell"] for line in r.lines] == ["echo before", "echo behind"]
    assert r.code == 125 and "line 2 of `crontab -l` has a NUL byte, and is left out" in r.err, r


def test_a_job_of_at_with_a_nul_byte_is_left_out(shared, tools):
    (pathlib.Path(shared.dir) / "tools" / "at").write_text("#!/bin/sh\nprintf 'echo a\\0b\\n'\n")
    r = shared.submit("--import=at", env=tools)
    assert r.code == 125 and not r.lines and "job 12 of at has a NUL byte, and is left out" in r.err, r


def test_at(shared, tools):
    r = shared.submit("--import=at", env=tools)
    assert "job 13 of at runs already" in r.err
    assert r.code == 0 and r.json["labels"] == {"at": "Mon Nov 23 10:00:00 2026"}
    r = shared.submit("-w", "-f", "-", input=r.out)
    assert shared.ctl("logs", r.lines[0]).out == "from at\n"


def test_tsp(shared, tools):
    r = shared.submit("--import=tsp", env=tools)
    assert [json.loads(line) for line in r.lines] == [{"shell": "sh -c echo queued"}, {"shell": "make\ntest"}]
    assert r.code == 125 and [line.split(": ", 1)[1] for line in r.err.splitlines()] == [
        "job 6 of tsp waits for another one, and would start too early here; it is left out: [4]&& make install",
        "`tsp -i 7` failed; job 7 of tsp is left out",
        "note: tsp does not keep the quotes of commands: look whether the shell reads each as it was meant"]


def test_shell_and_home_of_a_crontab(shared, tools):
    crontab = shared.dir / "tools/crontab"
    before = crontab.read_text()
    crontab.write_text("""#!/bin/sh
cat <<'X'
@daily one
SHELL=/bin/bash
HOME=/
@daily [[ a == a ]] && pwd && cat%in
X
printf 'B=old\\nB=\\377\\n@daily three\\n'
""")
    r = shared.submit("--import=crontab", env=tools)
    crontab.write_text(before)
    one, two, three = [json.loads(line) for line in r.lines]
    assert one["shell"] == "one" and one["cwd"] == str(shared.dir)
    assert two["argv"] == ["/bin/bash", "-c", "[[ a == a ]] && pwd && cat"] and two["cwd"] == "/" and "shell" not in two
    assert r.code == 125 and "the value of B is not UTF-8, and left out" in r.err and "B" not in three["env"]
    r = shared.submit("-w", "-f", "-", input=json.dumps(two))
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == "/\nin\n"


@pytest.mark.skipif(not shutil.which("tsp"), reason="task-spooler is not installed")
def test_the_real_tsp(shared):
    env = {"PATH": "/usr/bin:/bin", "TS_SOCKET": str(shared.dir / "ts.sock"), "TMPDIR": str(shared.dir)}

    def tsp(*words):
        subprocess.run(["tsp", *words], env=env, cwd=shared.dir, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT)

    tsp("sh", "-c", "until [ -e over ]; do sleep 0.05; done")
    try:
        tsp("-L", "lab", "make", "test")
        tsp("-d", "make", "install")
        tsp("[", "-e", "x", "]")
        r = shared.submit("--import=tsp", env=env)
    finally:
        tsp("-K")
        (shared.dir / "over").touch()
        until(lambda: not processes(env["TS_SOCKET"]), "the end of tsp")
    assert [json.loads(line) for line in r.lines] == [{"shell": "make test"}, {"shell": "[ -e x ]"}]
    assert r.code == 125 and "job 2 of tsp waits for another one" in r.err


def test_what_is_not_there(shared, tools):
    folder = shared.dir / "failing"
    folder.mkdir()
    (folder / "atq").write_text("#!/bin/sh\nexit 1\n")
    (folder / "atq").chmod(0o755)
    r = shared.submit("--import=at", env={"PATH": str(folder)})
    assert r.code == 125 and r.out == "" and "`atq` failed" in r.err
    for env, path in (({"TS_SOCKET": "/none/s"}, "/none/s"), ({"TMPDIR": "/none"}, f"/none/socket-ts.{os.getuid()}")):
        r = shared.submit("--import=tsp", env={**tools, "TS_SOCKET": "", **env})  # whose client would start a server
        assert r.code == 125 and r.err == f"volt-submit: tsp has no queue: there is no {path}\n", r
    assert "neither crontab, at nor tsp" in shared.submit("--import=cron").err


def test_a_command_beside_it(shared, tools):
    r = shared.submit("--import", "crontab", "true", env=tools)
    assert (r.code, r.out) == (125, "")
    assert r.err == "volt-submit: --import prints what crontab has, and takes no command: true\n"


@pytest.mark.parametrize("tool, program", [("crontab", "crontab"), ("at", "atq"), ("tsp", "tsp")])
def test_a_tool_that_is_not_installed(shared, tool, program):
    r = shared.submit(f"--import={tool}", env={"PATH": "/none"})
    assert (r.code, r.out) == (125, "")
    assert r.err == f"volt-submit: {tool} is not installed: there is no {program} in PATH\n"
