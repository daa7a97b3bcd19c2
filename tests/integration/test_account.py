"""What a job gets that brings no environment and no directory: those of the account it runs as."""

import os
import pwd

from jobs import ended, submit
from protocol import LOGS

OURS = {"VOLT_JOB_ID", "VOLT_ATTEMPT", "VOLT_ADDRESS", "VOLT_JOB"}


def printed(v, spec):
    ident = submit(v, spec)
    assert ended(v, ident)["result"] == "success"
    v.ok(LOGS + "Open", {"id": ident})
    with os.fdopen(v.fds.pop(), "rb") as f:
        return f.read().decode()


def variables(text):
    return {n: value for n, _, value in (line.partition("=") for line in text.splitlines()) if n not in OURS}


def account():
    entry = pwd.getpwuid(os.geteuid())
    login = entry.pw_shell if os.path.basename(entry.pw_shell) not in ("", "nologin", "false") else "/bin/sh"
    sbin = os.geteuid() == 0
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" if sbin else "/usr/local/bin:/usr/bin:/bin"
    return {"LOGNAME": entry.pw_name, "USER": entry.pw_name, "SHELL": login, "PATH": path}


def test_a_spec_without_environment_and_directory(private):
    private.env.update(LANG="xx_YY.UTF-8", OF_THE_DAEMON="1")
    private.start()
    with private.connect() as v:
        got = variables(printed(v, {"argv": ["env"]}))
        assert got == {**account(), "HOME": str(private.dir), "LANG": "xx_YY.UTF-8"}
        assert printed(v, {"argv": ["pwd"]}) == f"{private.dir}\n"
        job = v.ok("org.voltd.jobs.Submit", {"spec": {"argv": ["true"]}})["id"]
        assert v.ok("org.voltd.jobs.Get", {"id": job, "with_spec": True})["job"]["spec"] == {"argv": ["true"]}


def test_what_a_spec_gives_is_all_that_it_gets(private):
    private.start()
    with private.connect() as v:
        assert variables(printed(v, {"argv": ["/usr/bin/env"], "env": {"A": "1"}})) == {"A": "1"}
        assert variables(printed(v, {"argv": ["/usr/bin/env"], "env": {}})) == {}
        got = variables(printed(v, {"argv": ["env"], "env": {"A": "1", "SHELL": "/mine"}, "env_adds": True}))
        assert got.pop("LANG", None) == private.env.get("LANG")
        assert got == {**account(), "HOME": str(private.dir), "A": "1", "SHELL": "/mine"}
        assert printed(v, {"argv": ["pwd"], "cwd": "/usr"}) == "/usr\n"


def test_without_a_home(private):
    """Not what voltd was started with: a directory that is not there, and no language."""
    private.env.update(HOME="/does/not/exist")
    private.env.pop("LANG", None)
    private.start()
    with private.connect() as v:
        assert variables(printed(v, {"argv": ["env"]})) == {**account(), "HOME": "/"}
        assert printed(v, {"argv": ["pwd"]}) == "/\n"


def test_whoever_has_started_voltd(private):
    """What says of another account than it runs as is not believed."""
    private.env.update(LOGNAME="somebody", USER="else", SHELL="/of/theirs")
    private.start()
    with private.connect() as v:
        got = variables(printed(v, {"argv": ["env"]}))
        assert {n: got[n] for n in account()} == account()


def test_without_a_directory_a_job_has_no_pwd_of_the_submitter(private):
    private.start()
    with private.connect() as v:
        spec = {"argv": ["/usr/bin/env"], "env": {"PWD": "/elsewhere", "A": "1"}}
        assert variables(printed(v, spec)) == {"A": "1"}
        assert variables(printed(v, {**spec, "cwd": "/usr"})) == {"A": "1", "PWD": "/usr"}


def test_elements_and_jobs_of_the_store_get_them_too(private):
    private.start(config="[Queue]\nSlots=1\n")
    gate = private.dir / "gate"
    os.mkfifo(gate)
    with private.connect() as v:
        submit(v, {"argv": ["sh", "-c", f"cat '{gate}'"]})
        waits = submit(v, {"argv": ["sh", "-c", "echo $HOME $VOLT_ARRAY_INDEX; pwd"], "array": {"first": 1, "last": 2}})
    private.stop()
    private.start()
    gate.write_text("")
    with private.connect() as v:
        assert ended(v, waits)["result"] == "success"
        for i in 1, 2:
            v.ok(LOGS + "Open", {"id": f"{waits}_{i}"})
            with os.fdopen(v.fds.pop(), "rb") as f:
                assert f.read().decode() == f"{private.dir} {i}\n{private.dir}\n"
