"""volt-agent(7): its program is killed and called again, voltd as well, and the messages are those of
the page. What a line of the page says `...` of is not compared, nor are times and pids."""

import base64
import json
import re
import shlex
import signal
import subprocess
import sys

from conftest import LIMIT, ROOT, Gate, until, written
from jobs import alive, get, listed

AGENT = ROOT / "client/examples/agent.py"
PAGE = (ROOT / "client/man/volt-agent.7").read_text().replace("\\-", "-").replace("\\e", "\\")
BLOCKS = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed$", PAGE, re.M | re.S)
VARIES = re.compile(r"(\w+_)?at_usec|cursor|pid|uid")


def same(page, real, name=""):
    """Whether what is real is what the page has."""
    if VARIES.fullmatch(name):
        return type(page) is type(real)
    if isinstance(page, dict) and isinstance(real, dict):
        names = page.keys() - {"..."}
        return names <= real.keys() and ("..." in page or names == real.keys()) and \
            all(same(page[n], real[n], n) for n in names)
    if isinstance(page, list) and isinstance(real, list):
        return len(page) == len(real) and all(map(same, page, real))
    return page == real and type(page) is type(real)


def exchanges(text):
    """Each call with its replies, in the order of the calls. A call inside of another one's stream is
    answered before that goes on."""
    all_of_them, open_ones = [], []
    for side, message in re.findall(r"^([CS]): (.*(?:\n .*)*)", text, re.M):
        message = json.loads(message.replace("...", '"...":0'))
        if side == "C":
            open_ones.append((message, []))
            all_of_them.append(open_ones[-1])
            continue
        open_ones[-1][1].append(message)
        if not message.get("continues"):
            open_ones.pop()
    return all_of_them


def summed_up(exchange):
    """However the output is divided into replies; and without heartbeats."""
    call, replies = exchange
    replies = [r for r in replies if not r["parameters"].get("heartbeat")]
    if replies and call["method"] == "org.voltd.logs.Read":
        data = b"".join(base64.b64decode(r["parameters"]["data"]) for r in replies)
        replies = [data.decode(), replies[-1]["parameters"]["next_offset"], replies[-1]["parameters"]["end"]]
    return [call, replies]


def agent(daemon, life):
    """The program, called as the page says; life: where it shows its messages."""
    with open(life, "wb") as messages:
        return subprocess.Popen([sys.executable, AGENT, "-v", "demo", "./build", "./server"], cwd=daemon.dir,
                                env=daemon.env, stdout=subprocess.PIPE, stderr=messages, text=True)


def script(path, text):
    path.write_text(f"#!/bin/sh\necho {path.name} >>runs\n{text}\n")
    path.chmod(0o755)


def kill(process):
    process.kill()
    process.wait()
    process.stdout.close()


def events(v, call):
    """What a Watch of the page tells, up to the end of the second job."""
    found = []
    for reply in v.stream(call["method"], call["parameters"]):
        found += reply.get("events", [])
        if sum(event["event"] == "exited" for event in found) == 2:
            return found


def test_the_dialogue_of_the_page(private):
    private.start(config="[Queue]\nSlots=2\n")
    built, ready = Gate(private.dir / "built"), Gate(private.dir / "ready")
    script(private.dir / "build", f"read line <{built.path}; echo built")
    script(private.dir / "server", "sleep 600 & echo $! >>pids; setsid sleep 600 & echo $! >>pids\n"
                                   f"echo starting; read line <{ready.path}; echo ready; wait")
    lives = [private.dir / f"life{n}" for n in range(4)]

    first = agent(private, lives[0])
    until(lambda: '"left":1' in written(lives[0]), "the agent to wait for the build")
    kill(first)
    private.stop(signal.SIGKILL)
    private.start()

    second = agent(private, lives[1])
    until(lambda: '"left":1' in written(lives[1]), "the agent to wait for the build again")
    built.let_through(1)
    until(lambda: written(private.dir / "demo.server.2.log") == "starting\n", "the output of the server")
    kill(second)

    third = agent(private, lives[2])
    until(lambda: '{"id": "2", "offset": 9}' in written(lives[2]), "the agent to read on")
    private.stop(signal.SIGKILL)
    private.start()
    with private.connect() as v:
        until(lambda: get(v, "2")["state"] == "running", "the server to be found")
    for command, shown in [block.split("\n", 1) for block in BLOCKS if block.startswith("$ voltctl")]:
        printed = private.ctl(*shlex.split(command)[2:]).out.replace(str(private.dir), "/srv/demo")
        assert same(json.loads(shown), json.loads(printed)), (command, printed)
    ready.let_through(1)
    said, _ = third.communicate(timeout=LIMIT)
    assert (third.returncode, json.loads(said)) == (0, {"build": "success", "server": "cancelled"})

    fourth = agent(private, lives[3])
    assert (fourth.communicate(timeout=LIMIT)[0], fourth.returncode) == (said, 0)
    assert written(private.dir / "runs") == "build\nserver\n"
    assert [written(private.dir / f"demo.{name}.log") for name in ("build.1", "server.2")] == ["built\n", "starting\nready\n"]
    pids = [int(pid) for pid in written(private.dir / "pids").split()]
    assert len(pids) == 2 and not any(map(alive, pids))

    real = [summed_up(e) for life in lives for e in exchanges(written(life).replace(str(private.dir), "/srv/demo"))]
    with private.connect() as v:
        assert [job["id"] for job in listed(v)] == ["1", "2"]
    for call, replies in map(summed_up, exchanges("".join(BLOCKS))):
        if call["method"] == "org.voltd.jobs.Watch":
            wanted = [event for reply in replies for event in reply["parameters"]["events"]]
            with private.connect() as v:
                told = iter(events(v, call))
            assert wanted and all(any(same(event, e) for e in told) for event in wanted), wanted
            continue
        while real and not same([call, replies], real[0]):
            del real[0]
        assert real, ("not said any more from here on", call, replies)
        del real[0]


def test_keys_that_are_forgotten_in_a_job_with_the_only_slot(private):
    private.start(config="[Queue]\nSlots=1\n")
    for n, build in enumerate(("one", "two; echo more")):
        done = private.submit("--wait", "--", sys.executable, AGENT, "k", f"echo {build}",
                              f"echo {n}; echo ready; exec sleep 600")
        assert done.code == 0, (done, private.ctl("list", "--all").out)
        assert private.ctl("clean", "--all").code == 0
    read = [written(private.dir / f"k.{name}.log") for name in ("build.2", "server.3", "build.5", "server.6")]
    assert read == ["one\n", "0\nready\n", "two\nmore\n", "1\nready\n"]


def test_what_it_cannot_do(private, tmp_path):
    away = subprocess.Popen([sys.executable, AGENT, "k", "true", "true"], cwd=tmp_path, stderr=subprocess.PIPE,
                            env={"VOLT_ADDRESS": f"{tmp_path}/voltd.sock"}, text=True)
    said = away.stderr.readline()
    away.kill()
    away.communicate()
    assert said == f"agent.py: no voltd listens at {tmp_path}/voltd.sock; trying for a minute\n"

    private.start()
    (private.dir / "k.build.1.log").mkdir()
    done = subprocess.run([sys.executable, AGENT, "k", "true", "true"], cwd=private.dir, env=private.env,
                          capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (1, "agent.py: [Errno 21] Is a directory: 'k.build.1.log'\n")
    assert "no / in NAME" in subprocess.run([sys.executable, AGENT, "a/b", "true", "true"], capture_output=True,
                                            text=True).stderr


def test_the_page_has_parts_of_the_program():
    program, parts = AGENT.read_text(), [block for block in BLOCKS if block.startswith("def ")]
    assert len(parts) == 5
    for part in parts:
        assert f"\n{part}\n\n" in program, part
