"""The calls of org.voltd.jobs that most tests make, and what is seen of jobs on the machine."""

import os
import pathlib

from conftest import is_locked, until

JOBS = "org.voltd.jobs."


def sh(text, **more):
    """A spec: a text for the shell."""
    return {"shell": text, "env": {"PATH": os.environ["PATH"]}, **more}


def submitted(v, spec=None, **more):
    """What is answered to a submission."""
    return v.ok(JOBS + "Submit", {"spec": {**(spec or {}), **more}})


def submit(v, spec=None, **more):
    """The id of the new job."""
    return submitted(v, spec, **more)["id"]


def get(v, ident):
    return v.ok(JOBS + "Get", {"id": ident})["job"]


def wait(v, *idents):
    """The last answer of Wait: all of them have ended."""
    *_, last = v.stream(JOBS + "Wait", {"ids": list(idents)})
    return last


def ended(v, ident):
    """The job, once it has ended."""
    wait(v, ident)
    return get(v, ident)


def ended_with(job):
    """How its main process ended: with a number, its exit status; or the name of a signal, or of
    the error that kept it from running; None: neither."""
    told = [job[member] for member in ("exit_status", "signal", "error") if member in job]
    assert len(told) <= 1 and "code" not in job, job
    return told[0] if told else None


def main_of(v, ident):
    """The main process, once voltd knows of it: later than what the job has done by then."""
    until(lambda: get(v, ident)["state"] == "running", "the job to run")
    return get(v, ident)["pid"]


def listed(v, **filter):
    return v.ok(JOBS + "List", {"filter": filter})["jobs"]


def records(daemon):
    """The files of the exit records that are there."""
    return [p for p in (daemon.state / "rec").iterdir() if p.name[0].isdigit()]


def begun(record):
    """Whether slot 1 of it has been written: before that nothing of its job runs."""
    return any(record.read_bytes()[512:1024])


def alive(pid):
    """Not dead; who is dead may not have been reaped yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # also between its opening and its reading
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def keeper_of(daemon):
    """The keeper is a child of the voltd that started it. None: there is none."""
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and b"voltd-keeper" in (p / "cmdline").read_bytes() and \
                    f"\nPPid:\t{daemon.process.pid}\n" in (p / "status").read_text():
                return int(p.name)
        except OSError:
            pass
    return None


def locked_by_nobody(daemon, ident):
    with open(daemon.state / "rec" / f"{ident}.1", "rb") as f:
        return not is_locked(f)
