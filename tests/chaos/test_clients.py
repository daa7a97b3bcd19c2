"""Clients that go away at each byte of what they send and of what they are sent, while voltd
moves one byte at a time."""

import json
import socket

import pytest

from faults import VOLTD
from house import LEDGER_JOB, until
from ledger import Sent
from sweeps import faulty_house, finish
from test_chaos import passed


@pytest.fixture
def house():
    house = faulty_house()
    yield house
    house.stop_guard()
    house.kill_rest()


def frame(house, key):
    house.clients.sent(Sent(key))
    spec = {"argv": [str(LEDGER_JOB), str(house.ledger), str(key)], "name": f"k{key}"}
    return json.dumps({"method": "org.voltd.jobs.Submit", "parameters": {"spec": spec}},
                      separators=(",", ":")).encode() + b"\0"


def batch_frame(house, key, count=3):
    """One frame with as many jobs, of keys from this one on."""
    specs = []
    for k in range(key, key + count):
        house.clients.sent(Sent(k))
        specs.append({"argv": [str(LEDGER_JOB), str(house.ledger), str(k)], "name": f"k{k}"})
    return json.dumps({"method": "org.voltd.jobs.SubmitBatch", "parameters": {"specs": specs}},
                      separators=(",", ":")).encode() + b"\0"


def talk(house, data, read=0):
    """Sends the data, reads at most so many bytes of the answer, and is gone. It comes when voltd
    has seen that most of those before have gone: a user has only so many places."""
    until(lambda: house.descriptors().get("socket", 0) < 100, "voltd to see who has gone")
    answer = b""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(str(house.socket))
        s.sendall(data)
        while len(answer) < read and not answer.endswith(b"\0"):
            answer += s.recv(1)
    return answer


def settled(house):
    """voltd has seen that clients are gone: there is a place for another of this user."""
    def place():
        with house.connect() as v:
            try:
                return v.call("org.varlink.service.GetInfo")
            except (BrokenPipeError, ConnectionResetError):
                return None

    until(place, "a place among the connections of this user")
    return house


@pytest.mark.parametrize("every", [1, 3], ids=["one-byte", "mixed"])
def test_cut_at_each_byte(house, every):
    house.faults.short([VOLTD], every)
    for n in range(len(frame(house, 1000))):
        assert talk(house, frame(house, 1001 + n)[:n]) == b""
    whole = talk(house, frame(house, 2000), 1000)
    reply = json.loads(whole[:-1])["parameters"]
    house.clients.ack(2000, int(reply["id"]), reply["durable"], house.life)
    for n in range(len(whole)):
        assert len(talk(house, frame(house, 2001 + n), n)) == n
    assert house.faults.fired(1)[0] > 0
    house.faults.disarm(1)
    passed(house, finish(settled(house)))


def test_batch_cut_at_each_byte(house):
    """All of it or nothing: a batch that did not come whole has no jobs, and one whose answer
    nobody read has them all."""
    for n in range(len(batch_frame(house, 1000))):
        assert talk(house, batch_frame(house, 1003 + 3 * n)[:n]) == b""
    with settled(house).connect() as v:
        assert v.ok("org.voltd.jobs.List", {"limit": 1})["jobs"] == []
    whole = talk(house, batch_frame(house, 10000), 1000)
    reply = json.loads(whole[:-1])["parameters"]
    for k, ident in enumerate(reply["ids"], 10000):
        house.clients.ack(k, int(ident), reply["durable"], house.life)
    for n in range(len(whole)):
        assert len(talk(house, batch_frame(house, 10003 + 3 * n), n)) == n
    passed(house, finish(settled(house)))
    assert len(house.history.jobs) == 3 * (1 + len(whole))
