"""Limits of the cgroup of a job: what is typed, stored, shown and edited, and where they are refused. What the kernel
makes of them needs cgroups: tests/systemd."""

import json

import pytest

import activator
from activator import ALICE, BOB, call, start, submit
from conftest import needs_root

GIVEN = ["--mem=4G", "--mem-high=3000M", "--swap=0", "--pids-max=100", "--cpu-max=250%", "--cpu-weight=50", "--io-weight=7"]
LIMITS = {"memory_max": 4 << 30, "memory_high": 3000 << 20, "swap_max": 0, "pids_max": 100, "cpu_max": 250,
          "cpu_weight": 50, "io_weight": 7}


@pytest.fixture
def system(private):
    with activator.system(private) as daemon:
        yield daemon


def shown(daemon, ident, uid=ALICE):
    """The limits of the job, but for those of the process."""
    done = call(daemon, uid, "voltctl", "show", "--json", ident)
    assert done.returncode == 0, done
    limits = json.loads(done.stdout)["spec"].get("limits", {})
    limits.pop("rlimits", None)
    return limits


@needs_root
def test_they_are_kept_shown_and_edited(system):
    held = submit(system, ALICE, "--hold", *GIVEN, "--", "true")
    array = submit(system, ALICE, "--hold", "--array=1-3", "--mem=1M", "--", "true")
    assert shown(system, held) == LIMITS and shown(system, f"{array}_2") == {"memory_max": 1 << 20}
    status = call(system, ALICE, "voltctl", "status", held).stdout
    assert ("    Limits: --mem=4G --mem-high=3000M --swap=0 --pids-max=100 --cpu-max=250% --cpu-weight=50 "
            "--io-weight=7\n") in status
    done = call(system, ALICE, "voltctl", "edit", held, array, "--mem=2G", "--swap=none", "--pids-max=9")
    assert (done.returncode, done.stderr) == (0, "voltctl: 2 jobs edited\n"), done
    changed = {**LIMITS, "memory_max": 2 << 30, "pids_max": 9}
    del changed["swap_max"]
    for restart in False, True:
        if restart:
            assert system.ctl("shutdown").code == 0
            system.process.wait()
            start(system)
        assert shown(system, held) == changed and shown(system, array) == {"memory_max": 2 << 30, "pids_max": 9}
    assert "Edited: limits\n" in call(system, ALICE, "voltctl", "status", held).stdout
    assert call(system, ALICE, "voltctl", "edit", held, "--mem=4G").returncode == 0
    copy = call(system, ALICE, "voltctl", "show", "--json", held)
    assert json.loads(copy.stdout)["spec"]["limits"]["memory_max"] == 4 << 30
    done = call(system, ALICE, "voltctl", "edit", held, "--cpu-max=2")
    assert done.returncode == 2 and "--cpu-max: 2 is not a percentage of one CPU like 50% or 250%" in done.stderr
    assert call(system, ALICE, "voltctl", "cancel", held, array).returncode == 0


@needs_root
def test_a_keeper_without_a_cgroup_starts_no_job_that_has_limits(system):
    done = call(system, ALICE, "volt-submit", "-w", "--pids-max=7", "--", "true")
    assert done.returncode == 125, done
    assert "could not be started: cgroup: there is none that has the limits of its spec" in done.stderr, done


@needs_root
def test_a_key_stands_for_its_limits_too(system):
    first = submit(system, ALICE, "--hold", "--key=k", "--mem=1G", "--", "true")
    assert submit(system, ALICE, "--hold", "--key=k", "--mem=1024M", "--", "true") == first
    done = call(system, ALICE, "volt-submit", "--hold", "--key=k", "--mem=2G", "--", "true")
    assert done.returncode == 125
    assert f"limits.memory_max: {2 << 30} here, {1 << 30} in job {first}" in done.stderr, done
    assert call(system, ALICE, "voltctl", "cancel", first).returncode == 0


@needs_root
def test_a_script_of_slurm_has_its_limit(system):
    script = system.dir / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH --mem=4G\ntrue\n")
    script.chmod(0o755)
    assert shown(system, submit(system, ALICE, "--hold", script)) == {"memory_max": 4 << 30}
    assert shown(system, submit(system, ALICE, "--hold", "--mem=1G", script)) == {"memory_max": 1 << 30}
    script.write_text("#!/bin/sh\n#VOLT --mem 2G --cpu-weight=5\n#SBATCH --mem 512\n")
    assert shown(system, submit(system, ALICE, "--hold", script)) == {"memory_max": 2 << 30, "cpu_weight": 5}
    for text, limits in ("512", 512 << 20), ("2048K", 2 << 20), ("1tb", 1 << 40), ("0", None):
        script.write_text(f"#!/bin/sh\n#SBATCH --mem {text}\n")
        assert shown(system, submit(system, ALICE, "--hold", script)) == ({"memory_max": limits} if limits else {})
    script.write_text("#!/bin/sh\n#SBATCH --mem=much\n")
    done = call(system, ALICE, "volt-submit", script)
    assert done.returncode == 125 and "--mem=much is no value of this option, for sbatch neither" in done.stderr
    assert call(system, ALICE, "voltctl", "cancel", "--all").returncode == 0


@pytest.mark.parametrize("option, err", [
    ("--mem=100", "--mem: 100 is less than 1M, in which no program runs: give the unit as well, as 100M or 4G"),
    ("--mem=x", "--mem: x is not a size like 500M or 4G"), ("--mem-high=-1", "--mem-high: -1 is not a size"),
    ("--swap=1P", "--swap: 1P is not a size"), ("--pids-max=0", "--pids-max: 0 is not from 1 to 4194304"),
    ("--cpu-max=50", "--cpu-max: 50 is not a percentage of one CPU like 50% or 250%"),
    ("--cpu-max=0%", "--cpu-max: 0% is not from 1 to 100000%"), ("--cpu-weight=x", "--cpu-weight: x is not a number"),
    ("--io-weight=10001", "--io-weight: 10001 is not from 1 to 10000")])
def test_what_is_no_limit(shared, option, err):
    r = shared.submit("--dry-run", option, "--", "true")
    assert r.code == 125 and r.err.startswith(f"volt-submit: {err}"), r


def test_a_voltd_with_a_keeper_of_its_own_refuses_them(shared):
    why = "needs a cgroup for the job, which a voltd has only where systemd starts it"
    for option in GIVEN:
        r = shared.submit(option, "--", "true")
        assert r.code == 125 and r.err.startswith(f"volt-submit: {option.split('=')[0]}: {why}"), r
        assert ("`ulimit -v`" in r.err) == option.startswith("--mem"), r  # the nearest to it, and nothing else
    assert "Without one `nice COMMAND` runs behind others" in shared.submit("--cpu-weight=10", "--", "true").err
    r = shared.submit("-f", "-", input='{"argv": ["true"], "limits": {"pids_max": 7}}\n')
    assert r.code == 125 and f"limits.pids_max: {why}" in r.err, r
    job = shared.submit("--hold", "--", "true").out.strip()
    r = shared.ctl("edit", job, "--pids-max=7")
    assert r.code == 2 and f"--pids-max: {why}" in r.err, r
    assert shared.ctl("cancel", job).code == 0
    script = shared.dir / "slurm.sh"
    script.write_text("#!/bin/sh\n#SBATCH --mem=4G\ntrue\n")
    script.chmod(0o755)
    r = shared.submit("-w", script)  # as scripts of Slurm are to run as they are
    assert r.code == 0 and "--mem=4G of Slurm has no equal with this voltd" in r.err, r


def ended(step, limits=None, **also):
    """A voltd whose job 9 was ended for want of memory."""
    job = {"id": "9", "name": "n", "state": "done", "result": "oom", "signal": "SIGKILL", "step": step, "exit_code": 137,
           "attempt": 1, "uid": 1000, "queue": "default", "priority": 0, "durable": True, "contained": True,
           "memory_peak_bytes": 3 << 20, "oom_kills": 2, "submitted_at_usec": 1, "started_at_usec": 2, "ended_at_usec": 3,
           "usage": {"user_usec": 1, "system_usec": 2, "max_rss_bytes": 4096},
           "spec": {"argv": ["x"], "output": "null", "limits": limits or {}}, **also}

    def answer(method, parameters):
        if method.endswith(".Get"):
            return [{"parameters": {"job": job}}]
        return [{"error": "org.varlink.service.MethodNotImplemented", "parameters": {"method": method}}]
    return answer


def test_what_is_said_of_want_of_memory(fake):
    r = fake(ended("job", {"memory_max": 2 << 20})).ctl("status", "9")
    assert "State: done, oom: killed for want of memory, by its own limit; exit code 137\n" in r.out, r
    assert "    Memory: peak 3.0 MiB of all its processes, limit 2M\n" in r.out, r
    assert "       OOM: it needed more than --mem=2M: submit it with a higher one\n" in r.out, r
    r = fake(ended("user or machine")).ctl("status", "9")
    assert "by the limit of its user, or that of the machine" in r.out, r
    assert "    Memory: peak 3.0 MiB of all its processes\n" in r.out and "voltd-1000.slice MemoryMax=SIZE" in r.out, r
    r = fake(ended("cgroup", result="exec_failed", error="EOPNOTSUPP")).ctl("status", "9")
    assert "could not be started: cgroup: there is none that has the limits of its spec" in r.out, r
    assert "OOM" not in r.out


def test_what_ran_says_whether_it_was_contained(private):
    """No cgroup here, and that is said; of what no keeper has run nobody can say."""
    private.start()
    assert private.submit("-w", "--", "true").code == 0
    assert private.submit("-w", "--kind=noop").code == 0
    job = private.job("1")
    assert job["contained"] is False and "memory_peak_bytes" not in job and "oom_kills" not in job
    assert "contained" not in private.job("2")
    assert private.ctl("shutdown").code == 0
    private.process.wait()
    private.start()
    assert private.job("1")["contained"] is False
    assert private.submit("--retry=1", "--retry-on=oom,signal", "--dry-run", "--", "true").json["retry"]["on"] == [
        "oom", "signal"]




@needs_root
def test_limits_of_the_configuration(system):
    """What a job does not give: by user, by group, by everybody; kept with the job, and not compared."""
    before = submit(system, ALICE, "--hold", "--", "true")
    path = system.config
    path.write_text(f"[Queue]\nSlots=4\n[Limits]\nMemoryMax=4G\nPidsMax=100\nCPUQuota=50%\n[Limits user:{ALICE}]\n"
                    f"MemoryMax=1G\nCPUQuota=infinity\n[Limits group:nobody_has_it]\nPidsMax=1\n")
    r = system.ctl("reload")
    assert r.code == 0, r
    assert "[Limits group:nobody_has_it]: there is no such group" in system.log.read_text()
    said = system.ctl("config").out.splitlines()
    assert [line for line in said if line.startswith(("Limits user", "Limits group", "Limits.PidsMax"))] == [
        "Limits.PidsMax=100", f"Limits user:{ALICE}.MemoryMax=1G", f"Limits user:{ALICE}.CPUQuota=infinity",
        "Limits group:nobody_has_it.PidsMax=1"]
    assert shown(system, before) == {}
    job = submit(system, ALICE, "--hold", "--key=k", "--pids-max=7", "--", "true")
    assert shown(system, job) == {"memory_max": 1 << 30, "pids_max": 7}
    other = submit(system, BOB, "--hold", "--array=1-2", "--", "true")
    assert shown(system, other, BOB) == {"memory_max": 4 << 30, "pids_max": 100, "cpu_max": 50}
    assert shown(system, submit(system, ALICE, "--hold", "--kind=noop")) == {}
    path.write_text("[Queue]\nSlots=4\n[Limits]\nMemoryMax=2G\n")
    assert system.ctl("reload").code == 0
    assert submit(system, ALICE, "--hold", "--key=k", "--pids-max=7", "--", "true") == job
    assert call(system, ALICE, "voltctl", "edit", job, "--mem=3G").returncode == 0
    assert shown(system, job) == {"memory_max": 3 << 30, "pids_max": 7}
    assert call(system, ALICE, "voltctl", "edit", job, "--mem=none", "--cpu-max=5%").returncode == 0
    assert shown(system, job) == {"memory_max": 1 << 30, "pids_max": 7, "cpu_max": 5}
    path.write_text("[Queue]\nSlots=4\n[Limits user:nobody]\nPidsMax=3\n[Limits]\nMemoryMax=2x\n")
    r = system.ctl("reload")
    assert r.code != 0 and "MemoryMax=2x: it must be a size from 1M, or infinity" in r.err, r
    assert "Limits user" not in system.ctl("config").out
    path.write_text("[Queue]\nSlots=4\n")
    assert system.ctl("reload").code == 0
    for uid in ALICE, BOB:
        assert call(system, uid, "voltctl", "cancel", "--all").returncode == 0


def test_limits_of_the_configuration_need_keepers(private):
    why = "MemoryMax= and the other limits of jobs in [Limits] need a cgroup for each job"
    private.start(config="[Queue]\nSlots=2\n")
    private.config.write_text("[Limits]\nPidsMax=10\n")
    r = private.ctl("reload")
    assert r.code != 0 and why in r.err, r
    assert private.submit("-w", "--", "true").code == 0
    assert private.ctl("shutdown").code == 0
    private.process.wait()
