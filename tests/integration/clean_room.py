"""What a job has from whom started it: the same however voltd was started. clean_room.c says what
it is; here is what it has to be, in both modes."""

import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).with_suffix(".c")
NO_SIGNALS = "0" * 16
# In both modes, whoever the user is.
GOLDEN = {
    "Umask": "0022",
    **dict.fromkeys(("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"), NO_SIGNALS),
    "NoNewPrivs": "0",
    "fds": "0 1 2",
    "session": "own",
    "nice": "0",
    "scheduler": "0",
    "oom_score_adj": "0",
    "subreaper": "0",
    "death_signal": "0",
    "dumpable": "1",
}
# What a job knows of itself.
OWN_NAMES = ["VOLT_ADDRESS", "VOLT_ATTEMPT", "VOLT_JOB", "VOLT_JOB_ID"]


def built(path):
    """The probe, a program that needs no library."""
    subprocess.run(["cc", "-O1", "-static", "-o", path, SOURCE], check=True, stdin=subprocess.DEVNULL)
    return path


def found(text):
    """{name: value} of what it prints."""
    return dict(line.partition(" ")[::2] for line in text.splitlines())


def differences(has, expected):
    """What a job has and should not, as {name: (has, should have)}."""
    return {name: (has.get(name), expected.get(name)) for name in sorted({*has, *expected})
            if has.get(name) != expected.get(name)}
