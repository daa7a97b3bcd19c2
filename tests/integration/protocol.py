"""What most tests of the protocol say and expect: names of interfaces, errors, the end of a
connection."""

import json

SERVICE = "org.varlink.service."
JOBS = "org.voltd.jobs."
LOGS = "org.voltd.logs."
CONTROL = "org.voltd.control."
INFO = b'{"method":"org.varlink.service.GetInfo"}\0'
LOCKS = "org.voltd.locks."
QUEUES = "org.voltd.queues."
INTERFACES = ["org.varlink.service", "org.voltd.jobs", "org.voltd.locks", "org.voltd.logs",
              "org.voltd.queues", "org.voltd.control"]


def message(method, parameters=None, **header):
    return json.dumps({"method": method, "parameters": parameters or {}, **header}).encode() + b"\0"


def error(reply, name):
    """The parameters of this error."""
    assert reply is not None and reply.get("error") == name, reply
    assert set(reply) == {"error", "parameters"}
    return reply["parameters"]


def invalid(reply, parameter):
    got = error(reply, SERVICE + "InvalidParameter")
    assert got["parameter"] == parameter, got
    return got["reason"]


def is_fine(daemon):
    with daemon.connect() as v:
        assert v.ok(SERVICE + "GetInfo")["product"] == "voltd"


def ended(v):
    """The other end has closed, without a further word."""
    return v.recv() is None


def wait_done(v, ident):
    *_, last = v.stream(JOBS + "Wait", {"ids": [ident]})
    return last


def job_to_talk_about(v):
    return v.ok(JOBS + "Submit", {"spec": {"shell": "echo here; exec sleep 600"}})["id"]
