"""An environment that was sent before is known by its text, and is what it was."""

import json

import pytest

from conftest import BIN
from protocol import JOBS, error, invalid, is_fine, message

ENV = {"PATH": "/bin", "A": "with \"quotes\" and {brackets}", "EMPTY": "", "LONG": "x" * 3000}


@pytest.fixture
def v(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "600"]}})
        yield v


def env_of(v, ident):
    return v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]["spec"].get("env")


def send(v, spec_text):
    v.send_raw(b'{"method":"org.voltd.jobs.Submit","parameters":{"spec":%s}}\0' % spec_text.encode())
    return v.recv()


def test_the_same_text_again_is_the_same_environment(private, v):
    for _ in range(3):
        with private.connect() as again:
            for spec in ({"argv": ["true"], "env": ENV}, {"env": ENV, "cwd": "/", "argv": ["true"]}):
                assert env_of(v, again.ok(JOBS + "Submit", {"spec": spec})["id"]) == ENV
    for env in ({**ENV, "A": "other"}, {"A": "1"}, {}, {"A": "2"}, {"A": "1"}):
        for _ in range(2):
            assert env_of(v, v.ok(JOBS + "Submit", {"spec": {"argv": ["true"], "env": env}})["id"]) == env
    assert env_of(v, v.ok(JOBS + "Submit", {"spec": {"argv": ["true"]}})["id"]) is None
    assert env_of(v, v.ok(JOBS + "Submit", {"spec": {"argv": ["true"], "env": None}})["id"]) is None


def test_a_known_one_hides_no_mistake(private, v):
    text = json.dumps(ENV)
    good = '{"argv":["true"],"env":%s}' % text
    assert "error" not in send(v, good)
    for spec, field in (('{"env":%s}' % text, "spec.argv"), ('{"argv":["true"],"env":%s,"x":1}' % text, "spec.x"),
                        ('{"argv":["true"],"env":%s,"kind":"noop"}' % text, "spec.argv"),
                        ('{"argv":["true"],"env":{"A":1}}', "spec.env.A"), ('{"argv":["true"],"env":{"A":1}}', "spec.env.A"),
                        ('{"argv":["true"],"env":{"":"no name"}}', "spec.env"),
                        ('{"argv":["true"],"env":["A=1"]}', "spec.env")):
        invalid(send(v, spec), field)
    got = error(v.call(JOBS + "Get", {"id": "1", "spec": {"env": ENV}}), "org.varlink.service.InvalidParameter")
    assert got["parameter"] == "spec"
    for twice in ('{"argv":["true"],"env":%s,"env":%s}' % (text, text), '{"env":%s,"\\u0065nv":{},"argv":["true"]}' % text,
                  '{"argv":["true"],"env":%s]' % text, '{"argv":["true"],"env":%s' % text):
        with private.connect() as bad:
            assert send(bad, twice) is None  # not JSON, or not for us: closed
    assert env_of(v, send(v, good)["parameters"]["id"]) == ENV
    is_fine(private)


def test_pipelined(v):
    spec = {"argv": ["true"], "env": ENV}
    v.send_raw(message(JOBS + "Submit", {"spec": spec}) * 50)
    ids = [v.recv()["parameters"]["id"] for _ in range(50)]
    assert len(set(ids)) == 50 and all(env_of(v, i) == ENV for i in (ids[0], ids[1], ids[-1]))


def test_a_job_runs_with_a_known_one(private):
    private.start()
    with private.connect() as v:
        spec = {"argv": ["/bin/sh", "-c", "test \"$A\" = 'with \"quotes\" and {brackets}' && test ${#LONG} = 3000"],
                "env": ENV}
        ids = [v.ok(JOBS + "Submit", {"spec": spec})["id"] for _ in range(3)]
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert (last["failed"], last["exit_code"]) == (0, 0)


def test_a_key_is_the_same_from_another_shell(private):
    """What somebody has written counts, not what a shell or a login has put into the environment, nor its limits."""
    private.start()
    line = ("unset OLDPWD; $S --key k true; SHLVL=9 $S --key k true; cd /; cd ~-; export OLDPWD; $S --key k true; "
            "A=1 SSH_TTY=/dev/pts/7 $S --key k true; umask 077; ulimit -c 0; env -i A=2 VOLT_ADDRESS=$VOLT_ADDRESS $S --key k /bin/true; "
            "env -i PATH=/bin:/usr/bin VOLT_ADDRESS=$VOLT_ADDRESS $S --key k true")
    r = private.run("/bin/bash", "-c", line, env={"S": BIN / "volt-submit"})
    assert len(r.lines) == 5 and len(set(r.lines)) == 1, r
    assert r.err.splitlines()[:2] == [
        f'volt-submit: refused: key "k" belongs to job {r.lines[0]}, whose spec differs',
        f'volt-submit: argv: ["/bin/true"] here, ["true"] in job {r.lines[0]}'], r


def test_what_differs_of_a_key_is_named(private):
    private.start()
    first = private.submit("--key=k", "-E", "A=1", "--label=a=1", "--label=b=2", "--timeout=1m", "true").lines
    again = ("--key=k", "--label=b=2", "-E", "A=1", "--label=a=1", "--timeout=60s", "true")
    assert private.submit(*again, env={"A": "9", "B": "1"}).lines == first
    private.stop()
    private.start()
    assert private.submit(*again).lines == first
    for words, said in ((("-E", "A=2"), 'env.A: "2" here, "1" in job'), (("-E", "B=2"), 'env.B: "2" here, nothing in job'),
                        (("--label=b=3",), 'labels: {"a":"1","b":"3"} here, {"a":"1","b":"2"} in job'),
                        (("--timeout=2m",), "timeout_usec: 120000000 here, 60000000 in job"), (("-d", "/"), 'cwd: "/" here'),
                        (("--lock=l",), "claims: [{")):
        r = private.submit("--quiet", *again[:-1], *words, "true")
        assert r.code == 125 and said in r.err and r.err.count(" in job 1\n") == 1, (words, r)


def test_keys_of_a_file(private):
    """What an entry says of its environment is written; what volt-submit passes on is not."""
    private.start()
    entry = {"argv": ["true"], "key": "k", "env": {"A": "1"}, "labels": {"x": "1", "y": "2"}}
    first = private.submit("-f", "-", input=json.dumps(entry)).lines
    other = dict(reversed(entry.items()), labels={"y": "2", "x": "1"})
    assert private.submit("-f", "-", input=json.dumps(other), env={"B": "1", "A": "3"}).lines == first
    r = private.submit("-f", "-", input=json.dumps({**entry, "env": {"A": "2"}}))
    assert r.code == 125 and "whose spec differs" in r.err and r.lines == []
    with private.connect() as v:  # who names none of them has written all
        spec = {"argv": ["true"], "key": "api", "env": {"A": "1", "B": "1"}}
        ident = v.ok(JOBS + "Submit", {"spec": spec})["id"]
        assert v.ok(JOBS + "Submit", {"spec": {**spec, "env": {"B": "1", "A": "1"}}})["id"] == ident
        assert error(v.call(JOBS + "Submit", {"spec": {**spec, "env": {"A": "1"}}}), JOBS + "KeyTaken")["job"] == ident


def test_pwd_is_the_directory_of_the_job(private, tmp_path):
    private.start()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for cwd in (tmp_path / "real", tmp_path / "link"):  # a link is named as it was given
        assert private.submit("--quiet", "--follow", f"--chdir={cwd}", "--", "printenv", "PWD",
                              env={"PWD": str(tmp_path)}).lines == [str(cwd)]
    with private.connect() as v:
        spec = {"argv": ["printenv", "PWD"], "env": {"PWD": "/elsewhere", "PATH": "/bin:/usr/bin"}, "cwd": "/usr"}
        ident = v.ok(JOBS + "Submit", {"spec": spec})["id"]
        assert private.ctl("wait", ident).code == 0
    assert private.ctl("logs", ident).out == "/usr\n"
