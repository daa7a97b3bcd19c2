"""Clients that go away at each byte of what they send and of what they are sent, while voltd
moves one byte at a time."""

import json
import socket

import pytest

from faults import VOLTD
from house import LEDGER_JOB
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


def talk(house, data, read=0):
    """Sends the data, reads at most so many bytes of the answer, and is gone."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(str(house.socket))
        s.sendall(data)
        while len(answer) < read and not answer.endswith(b"\0"):
            answer += s.recv(1)
    return answer


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
    passed(house, finish(house))
