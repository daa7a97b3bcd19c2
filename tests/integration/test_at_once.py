"""Arrays with a limit, --array 1-200%4: never more of them run at once, whatever happens to voltd."""

import signal

from conftest import until

SLOTS = "[Queue]\nSlots=16\n"


def counts(daemon, ident):
    return daemon.job(ident)["counts"]


def array(daemon, indexes):
    """Each element writes how many run when it has begun, and runs while there is no file `gate`."""
    (daemon.dir / "runs").mkdir()
    (daemon.dir / "seen").touch()
    return daemon.submit("--array", indexes, "--shell",
                         "mkdir runs/$VOLT_ARRAY_INDEX; ls runs | wc -l >>seen; until [ -e gate ]; do sleep 0.01; done;"
                         " rmdir runs/$VOLT_ARRAY_INDEX").lines[0]


def seen(daemon):
    return [int(n) for n in (daemon.dir / "seen").read_text().split()]


def test_never_more_than_the_limit(private):
    private.start(config=SLOTS)
    ident = array(private, "1-200%4")
    until(lambda: len(seen(private)) == 4)
    private.stop(signal.SIGKILL)
    private.start()
    until(lambda: counts(private, ident)["running"] == 4)
    assert private.submit("-w", "true").code == 0, "slots are free for others"
    assert len(seen(private)) == 4
    (private.dir / "gate").touch()
    for done in (30, 80, 130):
        until(lambda done=done: counts(private, ident)["done"] >= done)
        private.stop(signal.SIGKILL)
        private.start()
    assert private.ctl("wait", ident).code == 0
    assert max(seen(private)) == 4 and len(seen(private)) == 200
    assert counts(private, ident)["done"] == 200 and counts(private, ident)["failed"] == 0


def test_very_short_ones(private):
    """They do not start early either."""
    private.start(config=SLOTS)
    (private.dir / "gate").touch()
    ident = array(private, "1-200%3")
    assert private.ctl("wait", ident).code == 0
    assert max(seen(private)) <= 3 and len(seen(private)) == 200


def test_what_is_shown(private):
    private.start(config=SLOTS)
    ident = array(private, "1-9:2,20%2")
    until(lambda: len(seen(private)) == 2)
    assert private.job(f"{ident}_20")["wait"] == "array"
    assert "queued, as many of its array run as may at once" in private.ctl("status", f"{ident}_20").out
    assert "Array: at most 2 at once" in private.ctl("status", ident).out
    assert private.job(ident)["spec"]["array"]["at_once"] == 2
    assert private.ctl("cancel", f"{ident}_1").code == 0
    until(lambda: len(seen(private)) == 3, "another one in its place")
    (private.dir / "gate").touch()
    assert private.ctl("wait", ident).code == 125  # one was cancelled
    assert max(seen(private)) <= 3  # what the cancelled one had made stays
    assert "wait" not in private.job(f"{ident}_20")
