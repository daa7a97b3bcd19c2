"""A service that the OOM killer spares, whose jobs it must not; and what its jobs, which run as the
same account, may not open of its keeper and shims at any moment."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import needs_root, until
from jobs import ended, get, keeper_of, main_of, sh, submit
from test_adopted import shim_of
from test_store import config

LOWERED, RAISED = "-500", "500"

# Tries to open what only a tracer may, of each of the latest processes that is a shim or a keeper
# before and after that, until its first argument is there. It prints what it could open, and makes
# its second argument when it has tried a hundred times. The third is how the keeper is called.
INTRUDER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_service(int pid, const char *keeper)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    (void)!read(fd, name, sizeof(name) - 1);
    close(fd);
    name[strcspn(name, "\n")] = 0;
    return strcmp(name, "volt-shim") == 0 || strcmp(name, keeper) == 0;
}

static int newest_process(void)
{
    int pid = 0;
    FILE *f = fopen("/proc/loadavg", "r");
    if (fscanf(f, "%*s %*s %*s %*s %d", &pid) != 1)
        exit(2);
    fclose(f);
    return pid;
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"mem", "fd", "environ"};
    long tries = 0;
    while (argc == 4 && access(argv[1], F_OK) != 0) {
        int newest = newest_process();
        for (int pid = newest - 200; pid < newest + 20; pid++) {
            if (!is_service(pid, argv[3]))
                continue;
            for (int i = 0; i < 3; i++, tries++) {
                char path[64];
                snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
                int fd = open(path, i == 0 ? O_RDWR : O_RDONLY);
                if (fd >= 0 && is_service(pid, argv[3]))
                    printf("%s\n", path);
                close(fd);
            }
        }
        if (tries > 100)
            close(open(argv[2], O_CREAT | O_WRONLY, 0600));
    }
    return 0;
}
"""


def raise_score(daemon):
    """A keeper whose own score is above that of its jobs, as anybody may have it: what is lowered
    for them is restored all the same."""
    real = daemon.bin / "voltd-keeper.real" / "keeper"
    real.parent.mkdir()
    wrapper = daemon.bin / "voltd-keeper"
    wrapper.rename(real)
    wrapper.write_text(f"#!/bin/sh\nexec 4<>/proc/self/oom_score_adj; echo {RAISED} >&4\n"
                       f"exec {real} --spared \"$@\"\n")
    wrapper.chmod(0o755)


@pytest.fixture(params=[LOWERED, RAISED])
def spared(request, private):
    """A service whose keeper has that score. Lowered: as systemd does with OOMScoreAdjust=, by
    root, before the account is taken."""
    private.as_service()
    private.dir.chmod(0o755)
    own = pathlib.Path("/proc/self/oom_score_adj")
    before = own.read_text()
    try:
        private.keeper_name = "voltd-keeper" if request.param == LOWERED else "keeper"
        if request.param == LOWERED:
            own.write_text(LOWERED)
        else:
            raise_score(private)
        private.score = request.param
        yield private
    except PermissionError:
        pytest.skip("may not lower an OOM score")
    finally:
        own.write_text(before)


def score_of(pid):
    return pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text().strip()


@needs_root
@pytest.mark.parametrize("more", [{}, {"kill_mode": "main"}], ids=["tree", "main"])
def test_jobs_are_not_spared(spared, more):
    """The keeper is, before and after; also the next one."""
    spared.start(config=config())
    with spared.connect() as v:
        for _ in range(2):
            job = submit(v, sh("cat /proc/self/oom_score_adj; exec sleep 1000", **more))
            until(lambda: spared.ctl("logs", job).out, "its score")
            shim = shim_of(main_of(v, job))
            keeper = keeper_of(spared)
            assert spared.ctl("logs", job).out == "0\n"
            assert (score_of(shim), score_of(keeper)) == ("0", spared.score)
            os.kill(keeper, signal.SIGKILL)
            until(lambda: keeper_of(spared) not in (None, keeper), "the next keeper")


@needs_root
def test_nothing_of_keeper_and_shims_can_be_opened_at_any_moment(spared):
    """While jobs start and keepers follow each other."""
    program = spared.dir / "intruder"
    subprocess.run(["cc", "-O2", "-x", "c", "-o", program, "-"], input=INTRUDER, text=True,
                   check=True)
    spared.start(config=config(slots=8))
    over, tries = spared.dir / "over", spared.dir / "tries"
    with spared.connect() as v:
        intruder = submit(v, argv=[str(program), str(over), str(tries),
                                  spared.keeper_name])
        until(lambda: get(v, intruder)["state"] == "running")
        rounds = 0
        while rounds < 10 or not tries.exists():
            rounds += 1
            jobs = submit(v, {**sh("exit 3"), "array": {"first": 1, "last": 40}})
            assert ended(v, jobs)["counts"]["failed"] == 40
            with contextlib.suppress(ProcessLookupError, TypeError):  # there may be none just now
                os.kill(keeper_of(spared), signal.SIGKILL)
        over.touch()
        job = ended(v, intruder)
    assert (job["result"], spared.ctl("logs", intruder).out) == ("success", "")
