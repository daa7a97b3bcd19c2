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
    """Of the environment its variables count, not their order, nor what a shell notes for itself."""
    private.start()
    line = ("unset OLDPWD; $S --key k true; SHLVL=9 $S --key k true; "
            "cd /; cd ~-; export OLDPWD; $S --key k true; A=1 $S --key k true; :")
    r = private.run("/bin/bash", "-c", line, env={"S": BIN / "volt-submit"})
    first, second, third = r.lines
    assert first == second == third and f'key "k" belongs to job {first}, whose spec differs' in r.err, r


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
