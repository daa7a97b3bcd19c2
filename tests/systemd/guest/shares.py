"""The CPU that jobs of one user have beside each other, and users beside each other: on one CPU, by cpu.stat."""
from keepers import cgroup_of
from vm import CGROUPS, check, run, show, status_of, until

SPIN = "os.sched_setaffinity(0, {0})\nwhile True: pass"
CPU_USEC = 5_000_000  # that both have used together, until they are compared


def spin(user, *options, forks=0):
    script = "import os\n" + forks * "os.fork()\n" + SPIN
    job = run("volt-submit", *options, "--", "/usr/bin/python3", "-c", script, user=user)[1].strip()
    until(lambda: status_of(job, user).get("state") == "running")
    return job


def used(cgroup):
    return int((cgroup / "cpu.stat").read_text().split()[1])


def ratio(one, other):
    """Of the CPU time that the second uses to that of the first, over the same seconds."""
    first = used(one), used(other)
    until(lambda: used(one) - first[0] + used(other) - first[1] > CPU_USEC, limit=120)
    return (used(other) - first[1]) / max(1, used(one) - first[0])


def check_weights():
    light, heavy = spin("alice", "--cpu-weight=50"), spin("alice", "--cpu-weight=200")
    found = ratio(cgroup_of(light), cgroup_of(heavy))
    check(f"CPU weights 1:4 of two jobs give 1:{found:.2f} of one CPU", 3.6 <= found <= 4.4)
    run("voltctl", "cancel", light, heavy, user="alice")


def check_users():
    spin("alice", forks=2)
    spin("bob")
    slices = [CGROUPS / show(f"voltd-{uid}.slice", "ControlGroup").lstrip("/") for uid in (2000, 2001)]
    found = ratio(*slices)
    check(f"four busy processes of a user and one of another have 1:{found:.2f} of one CPU", 0.9 <= found <= 1.1)
    for user in "alice", "bob":
        run("voltctl", "cancel", "--all", user=user)


SHARES = (check_weights, check_users)
