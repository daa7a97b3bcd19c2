"""What belongs to the whole process stays as it is while voltd's threads run. With a umask set
for an instant, files made by another thread in that instant have no permissions at all, which
root does not notice: voltd runs as an account of its own here."""

import os
import stat

from conftest import until
from jobs import JOBS, sh

RESTARTS = int(os.environ.get("RESTARTS", "25"))
WAITING = 24


def modes(daemon):
    """{mode: number} of everything below the state directory that is a file."""
    found = {}
    for where, _, names in os.walk(daemon.state / "output"):
        for name in names:
            mode = oct(stat.S_IMODE(os.stat(os.path.join(where, name)).st_mode))
            found[mode] = found.get(mode, 0) + 1
    return found


def test_outputs_of_jobs_that_waited_over_a_restart_can_be_read(private):
    """RESTARTS=1000 is the long run: make check-restarts."""
    private.as_service().start(config="[Store]\nFoldOutput=0\n[Queue]\nSlots=64\n")
    for _ in range(RESTARTS):
        with private.connect() as v:
            v.ok(JOBS + "SubmitBatch", {"specs": [sh("echo here")] * WAITING})
        assert private.stop() == 0
        private.start()

    def over():
        with private.connect() as v:
            waiting = {"states": ["queued", "starting", "running"]}
            return v.ok(JOBS + "List", {"filter": waiting})["jobs"] == []

    until(over, "the jobs to end")
    found = modes(private)
    print(f"\nrestarts: {RESTARTS}, files of output by mode: {found}")
    assert found == {"0o622": RESTARTS * WAITING}
