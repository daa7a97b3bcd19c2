#!/usr/bin/python3
"""A program that drives jobs of voltd over its socket, and may be killed at any moment.

    agent.py [-v] NAME BUILD SERVER

It runs the shell command BUILD and waits for its end. If that succeeds it starts SERVER, and ends
it, with all processes that it has started, as soon as it has printed "ready". What they print goes
to NAME.build.ID.log and NAME.server.ID.log, with the ids of the jobs. Called again with the same
words in the same directory, it goes on where it was, as long as voltd remembers the jobs: nothing
runs twice, and no output is missing. At the end it prints how both have ended, as JSON; -v shows
each message on standard error. volt-agent(7) goes through it."""
import base64
import json
import os
import pathlib
import socket
import sys
import time

JOBS, LOGS = "org.voltd.jobs.", "org.voltd.logs."
VERBOSE = "-v" in sys.argv[1:2]


class Failed(Exception):
    """What voltd answered is an error."""


def address():
    """What VOLT_ADDRESS says, else where the user's voltd listens, else that of the system."""
    xdg = os.environ.get("XDG_RUNTIME_DIR")
    own = f"{xdg}/voltd/voltd.sock" if xdg else ""
    path = os.environ.get("VOLT_ADDRESS") or (own if os.path.exists(own) else "/run/voltd/voltd.sock")
    return path.removeprefix("unix:")


def inside():
    """Where this is a job of the same voltd itself, it lends its slot to those that it waits for."""
    ident, _, socket_path = os.environ.get("VOLT_JOB", "").partition(" ")
    return {"inside_job": ident} if ident and socket_path == address() else {}


def show(mark, message):
    if VERBOSE:
        print(mark, message.decode(), file=sys.stderr, flush=True)


def messages(s):
    """What comes, message by message."""
    data = b""
    while got := s.recv(65536):
        *whole, data = (data + got).split(b"\0")
        yield from whole
    raise ConnectionResetError("voltd has closed the connection")


def connected():
    """A connection to voltd. That no voltd is there is an error of its own."""
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(address())
    except (ConnectionRefusedError, FileNotFoundError):
        s.close()
        raise ConnectionRefusedError(f"no voltd listens at {address()}") from None
    return s


def replies(method, parameters, more=True):
    """Makes a call, on a connection of its own, and yields each reply."""
    with connected() as s:
        call = json.dumps({"method": method, "parameters": parameters, "more": more}).encode()
        show("C:", call)
        s.sendall(call + b"\0")
        for message in messages(s):
            show("S:", message)
            reply = json.loads(message)
            if reply.get("error") == JOBS + "ShuttingDown":
                raise ConnectionResetError("voltd is about to end")
            if "error" in reply:
                raise Failed(reply["error"], reply["parameters"])
            yield reply["parameters"]
            if not reply.get("continues"):
                return


def insist(step, *args):
    """Makes a step again when voltd goes away meanwhile: it has a minute to come back."""
    for again in range(600, -1, -1):
        try:
            return step(*args)
        except ConnectionError as gone:
            if not again:
                raise
            if again == 600:
                print(f"agent.py: {gone}; trying for a minute", file=sys.stderr, flush=True)
            time.sleep(0.1)


def call(method, **parameters):
    return insist(lambda: list(replies(method, parameters, more=False)))[0]


def submit(key, **spec):
    """The id of the job that has this key. It is submitted once, however often this is called."""
    return call(JOBS + "Submit", spec={"key": key, "name": key, "cwd": os.getcwd(), **spec})["id"]


def wait(ident):
    """How a job has ended: the last of what voltd tells of it."""
    *_, last = replies(JOBS + "Wait", {"ids": [ident], **inside()})
    return last["jobs"][0]


def copy_output(ident, path, look=lambda ident, path: None):
    """Appends what a job prints to a file, from the offset on at which that ends."""
    with open(path, "ab") as copy:
        look(ident, path)
        for reply in replies(LOGS + "Read", {"id": ident, "offset": copy.tell(), **inside()}):
            if reply["data"]:
                copy.write(base64.b64decode(reply["data"]))
                copy.flush()
                look(ident, path)


def end_when_ready(ident, path):
    if b"ready\n" in path.read_bytes():
        call(JOBS + "Cancel", ids=[ident])


def main(name, build, server):
    build = submit(f"{name}.build", shell=build)
    server = submit(f"{name}.server", shell=server, hold=True, claims=[{"name": "port-8080"}])
    built = insist(wait, build)
    insist(copy_output, build, pathlib.Path(f"{name}.build.{build}.log"))
    if built["result"] == "success":
        call(JOBS + "Release", filter={"ids": [server]})
        insist(copy_output, server, pathlib.Path(f"{name}.server.{server}.log"), end_when_ready)
    else:
        call(JOBS + "Cancel", ids=[server])
    served = insist(wait, server)
    print(json.dumps({"build": built["result"], "server": served["result"]}))
    return 0 if served["result"] == "cancelled" and built["result"] == "success" else 1


if __name__ == "__main__":
    words = sys.argv[1 + VERBOSE:]
    if len(words) != 3 or "/" in words[0]:
        sys.exit("usage: agent.py [-v] NAME BUILD SERVER, with no / in NAME")
    try:
        sys.exit(main(*words))
    except (Failed, OSError) as error:
        sys.exit(f"agent.py: {error}")
