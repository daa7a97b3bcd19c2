"""What has ended of one user's jobs is there, whatever others do: its place in the history, its
output, its key."""

import signal

import pytest

from conftest import needs_root, until
from protocol import JOBS
from users import connect_as, open_to_all

pytestmark = needs_root

ONE, TWO = 64310, 64311
CONFIG = "[Store]\nKeepEndedJobs=0\nKeepHistoryJobs=1000\n"


class Users:
    """A voltd for both."""

    def __init__(self, daemon):
        self.daemon = daemon
        daemon.as_service()
        self.begin()

    def begin(self, config=CONFIG):
        self.daemon.start(config=config)
        open_to_all(self.daemon)

    def begin_again(self, how=signal.SIGKILL):
        self.daemon.stop(how)
        self.begin()

    def speaks(self, uid):
        return connect_as(self.daemon, uid)


@pytest.fixture
def users(private):
    return Users(private)


def submit(v, **spec):
    return v.ok(JOBS + "Submit", {"spec": spec})


def ended(v, *ids):
    *_, last = v.stream(JOBS + "Wait", {"ids": list(ids)})
    assert last["left"] == 0
    return last


def known(v):
    return [job["id"] for job in v.ok(JOBS + "List", {"limit": 1000})["jobs"]]


def noops(v, n):
    ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * n})["ids"]
    ended(v, *ids)
    return ids


def test_an_array_pushes_out_jobs_of_its_owner_alone(users):
    with users.speaks(ONE) as one, users.speaks(TWO) as two:
        mine = [submit(one, kind="noop")["id"] for _ in range(9)]
        ended(one, *mine)
        others = noops(two, 9)
        array = submit(two, kind="noop", array={"first": 1, "last": 100_000})["id"]
        ended(two, array)
        until(lambda: known(two) == [array], "the array to push out what it follows")
        assert known(one) == mine and others
    users.begin_again()
    with users.speaks(ONE) as one, users.speaks(TWO) as two:
        assert known(one) == mine
        last = submit(two, kind="noop")["id"]
        ended(two, last)
        until(lambda: known(two) == [last], "the array to go")
        assert known(one) == mine


def test_users_share_what_is_kept(users):
    """Of two with more than half each has half; what one does not need is the other's."""
    with users.speaks(ONE) as one, users.speaks(TWO) as two:
        noops(one, 900)
        first = known(one)
        second = noops(two, 2000)
        until(lambda: len(known(one)) + len(known(two)) < 1500, "the older ones of both to go")
        for v, ids in (one, first), (two, second):
            left = known(v)
            assert len(left) >= 500 and left == ids[-len(left):]
