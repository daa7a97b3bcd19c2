"""What a job has is what a login of its user has, whatever voltd and PID 1 have."""
import os
import pathlib
import pwd
import resource

import clean_room
from keepers import ALICE, jobs_unit, keeper
from vm import check, run, show

# Where the first attempt of a job lives.
CGROUP = f"0::/voltd.slice/voltd-{ALICE}.slice/{jobs_unit()}/jobs/{{}}.1"
POLLUTED = """[Service]
Environment=POLLUTED=1 LD_POLLUTED=1 HOME=/nowhere VOLT_ATTEMPT=9
UMask=0173
Nice=7
OOMScoreAdjust=-500
CPUSchedulingPolicy=batch
IgnoreSIGPIPE=yes
LimitCORE=4096
LimitSTACK=1M
LimitNPROC=100
LimitMEMLOCK=4096
LimitNOFILE=64:4096
"""
NAMES = ("cpu", "fsize", "data", "stack", "core", "rss", "nproc", "nofile", "memlock", "as", "locks", "sigpending",
         "msgqueue", "nice", "rtprio", "rttime")


def limits_of(pid):
    return {f"limit.{name}": "{} {}".format(*resource.prlimit(pid, i)) for i, name in enumerate(NAMES)}


def expected(job):
    """LANG is that of the machine, as PID 1 has it."""
    groups = os.getgrouplist("alice", pwd.getpwnam("alice").pw_gid)
    bound = next(line.split()[1] for line in pathlib.Path("/proc/1/status").read_text().splitlines()
                 if line.startswith("CapBnd"))
    return {
        **clean_room.GOLDEN,
        **dict.fromkeys(("Uid", "Gid"), " ".join([str(ALICE)] * 4)),
        "Groups": " ".join(map(str, sorted(groups))),
        **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb"), "0" * 16),
        "CapBnd": bound,
        "Seccomp": "0",
        "loginuid": str(ALICE),
        "keyring": f"keyring;{ALICE};{ALICE};3f030000;_ses",
        "cgroup": CGROUP.format(job),
        "environment": " ".join(["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER", *clean_room.OWN_NAMES]),
        **limits_of(1),
        **limits_of(int(show(keeper(), "MainPID"))),
    }


def check_clean_room():
    dropin = pathlib.Path("/run/systemd/system/voltd.service.d/polluted.conf")
    dropin.parent.mkdir(parents=True, exist_ok=True)
    dropin.write_text(POLLUTED)
    run("systemctl", "set-environment", "POLLUTED=2", "TMPDIR=/nowhere", "VOLT_QUEUE=nowhere")
    run("systemctl", "daemon-reload")
    run("systemctl", "stop", keeper())
    status, out, err = run("systemctl", "restart", "voltd.service")
    check("voltd starts with a polluted environment, limits, umask and niceness", status == 0, err)
    job = run("volt-submit", "--wait", "--no-limits", "--", "/test/clean_room", user="alice")[1].strip()
    found = clean_room.found(run("voltctl", "logs", job, user="alice")[1])
    wrong = clean_room.differences(found, expected(job))
    check(f"a job has nothing of that: {len(found)} things are as in the golden list", wrong == {}, wrong)
    run("systemctl", "unset-environment", "POLLUTED", "TMPDIR", "VOLT_QUEUE")
    dropin.unlink()
    run("systemctl", "daemon-reload")
    run("systemctl", "stop", keeper())
    run("systemctl", "restart", "voltd.service")
