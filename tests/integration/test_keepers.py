"""A voltd for several users (--keepers): each has a voltd-keeper of its own, which runs its jobs as itself.
What systemd does of that, the tests do: they listen, and start a keeper when somebody connects."""

import pathlib
import signal

import pytest

import activator
from activator import ALICE, BOB, NOBODYS, call, output, owner_of, running, start, state, submit
from conftest import LIMIT, SERVICE_UID, needs_root, until
from users import connect_as

pytestmark = needs_root


@pytest.fixture
def system(private):
    with activator.system(private) as daemon:
        yield daemon


def test_each_job_runs_as_who_has_submitted_it(system):
    for uid in ALICE, BOB, ALICE:
        assert output(system, uid, "id", "-u").strip() == str(uid)
    assert system.keepers.starts == {ALICE: 1, BOB: 1}


def test_its_output_can_be_opened_again(system):
    assert output(system, ALICE, "sh", "-c", "echo once >/dev/stdout; echo more >>/dev/stderr") == "once\nmore\n"


def test_root_and_who_has_no_keeper_are_refused(system):
    done = call(system, 0, "volt-submit", "--", "true")
    assert done.returncode == 125 and "voltd runs no jobs as root" in done.stderr and "sudo -u USER" in done.stderr
    done = call(system, NOBODYS, "volt-submit", "--", "true")
    assert done.returncode == 125
    assert f"user {NOBODYS} may not run jobs here: voltd-keeper@{NOBODYS}.socket is not active" in done.stderr


def test_cancel_and_pause_reach_the_job_of_their_user(system):
    job = submit(system, ALICE, "--", "sleep", "1000")
    pid = running(system, ALICE, job)
    assert owner_of(pid) == ALICE
    assert call(system, BOB, "voltctl", "cancel", job).returncode != 0
    assert call(system, ALICE, "voltctl", "pause", job).returncode == 0
    until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "T", "it to be stopped")
    assert call(system, ALICE, "voltctl", "resume", job).returncode == 0
    until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "S", "it to go on")
    assert call(system, ALICE, "voltctl", "cancel", job).returncode == 0
    until(lambda: "cancelled" in state(system, ALICE, job), "its end")


def test_jobs_of_both_go_on_without_voltd_and_end_as_they_do(system):
    gate = system.dir / "gate"
    jobs = {uid: submit(system, uid, "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 7")
            for uid in (ALICE, BOB)}
    for uid, job in jobs.items():
        running(system, uid, job)
    system.stop(signal.SIGKILL)
    start(system)
    gate.touch()
    for uid, job in jobs.items():
        assert call(system, uid, "voltctl", "wait", job).returncode == 7


def test_a_keeper_that_is_killed_is_followed_by_another_and_its_jobs_go_on(system):
    gate = system.dir / "gate"
    job = submit(system, ALICE, "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 7")
    running(system, ALICE, job)
    system.keepers.lives[ALICE].kill()
    assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    assert system.keepers.starts[ALICE] == 2
    gate.touch()
    assert call(system, ALICE, "voltctl", "wait", job).returncode == 7


def test_a_keeper_that_its_user_has_stopped_keeps_nobody_else_waiting(system):
    assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    keeper = system.keepers.lives[ALICE]
    keeper.send_signal(signal.SIGSTOP)
    job = submit(system, ALICE, "--", "true")
    for _ in range(3):
        assert output(system, BOB, "id", "-u").strip() == str(BOB)
    until(lambda: '"keeper"' in state(system, ALICE, job), "it to be said that the keeper does not answer")
    assert f"systemctl status voltd-keeper@{ALICE} says why" in call(system, ALICE, "voltctl", "why", job).stdout
    keeper.send_signal(signal.SIGCONT)
    assert call(system, ALICE, "voltctl", "wait", job).returncode == 0


def test_jobs_of_a_user_without_keeper_hold_no_slot(system):
    """More of them than there are slots, also after a restart; when the keeper comes they run."""
    system.keepers.mute.add(BOB)
    waiting = [submit(system, BOB, "--", "true") for _ in range(8)]
    for _ in range(3):
        assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    for job in waiting:
        assert '"queued"' in state(system, BOB, job)
    assert f"systemctl status voltd-keeper@{BOB} says why" in call(system, BOB, "voltctl", "why", waiting[0]).stdout
    system.stop(signal.SIGKILL)
    start(system)
    assert output(system, ALICE, "id", "-u").strip() == str(ALICE)
    system.keepers.mute.clear()
    for job in waiting:
        assert call(system, BOB, "voltctl", "wait", job).returncode == 0


def test_who_has_lost_the_right_to_run_jobs_is_refused_until_it_comes_back(system):
    (system.keepers.dir / str(BOB)).rename(system.keepers.dir / "away")
    assert call(system, BOB, "volt-submit", "--", "true").returncode == 125
    (system.keepers.dir / "away").rename(system.keepers.dir / str(BOB))
    assert output(system, BOB, "id", "-u").strip() == str(BOB)


def test_who_may_run_jobs_since_a_moment_ago_need_not_try_again(system):
    """The socket comes while the submission waits for it: calls that came later are answered by then."""
    with connect_as(system, NOBODYS) as asked, connect_as(system, NOBODYS) as other:
        asked.send("org.voltd.jobs.Submit", {"spec": {"argv": ["/bin/true"], "cwd": "/", "env": {}}})
        for _ in range(3):
            assert other.ok("org.varlink.service.GetInfo")
        system.keepers.listen(NOBODYS)
        job = asked.recv()["parameters"]["id"]
    assert call(system, NOBODYS, "voltctl", "wait", job).returncode == 0


@pytest.fixture
def own(private):
    """A user's voltd whose keeper others start."""
    private.as_service()
    private.keepers = activator.Activator(private, [SERVICE_UID])
    try:
        yield private
    finally:
        private.keepers.close()


def test_a_users_own_voltd_has_one_keeper_there(own):
    own.start(f"--keepers={own.keepers.dir}")
    assert own.submit("-w", "--", "sh", "-c", "exit 7").code == 7
    assert own.keepers.starts == {SERVICE_UID: 1}
    own.keepers.lives[SERVICE_UID].kill()
    assert own.submit("-w", "--", "sh", "-c", "exit 8").code == 8
    assert own.keepers.starts == {SERVICE_UID: 2}


def test_a_users_own_voltd_does_not_start_without_that_socket(own):
    (own.keepers.dir / str(SERVICE_UID)).unlink()
    own.start(f"--keepers={own.keepers.dir}", wait=False)
    assert own.process.wait(LIMIT) != 0
    assert f"cannot reach or start {own.keepers.dir}/{SERVICE_UID}: No such file or directory" in own.log.read_text()
    own.process = None
