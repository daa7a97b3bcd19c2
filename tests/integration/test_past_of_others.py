"""What has ended of one user's jobs is there, whatever others do: its place in the history, its
output, its key."""

import signal

import pytest

from conftest import needs_root, until
from protocol import JOBS, LOGS
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


def ended(v, *ids, **more):
    *_, last = v.stream(JOBS + "Wait", {"ids": list(ids), **more})
    assert last["left"] == 0
    return last


def known(v):
    return [job["id"] for job in v.ok(JOBS + "List", {"limit": 1000})["jobs"]]


def noops(v, n):
    ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * n})["ids"]
    ended(v, *ids, forgotten=True)  # more of them than the history keeps
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
            assert len(left) >= 500 and left[1:] == ids[1 - len(left):]  # memory may have one that is older


def test_the_same_submission_never_runs_twice(users):
    """Whatever another user does, and also after a restart: the key answers by the id, and so do
    Get and Wait of that, when nothing else is left of the job."""
    mark = users.daemon.dir / "mark"
    mark.mkdir()
    mark.chmod(0o777)
    spec = {"shell": f"echo once >> {mark}/runs; exit 7", "key": "nightly"}
    with users.speaks(ONE) as one, users.speaks(TWO) as two:
        first = submit(one, **spec)
        assert first["created"] and ended(one, first["id"])["exit_code"] == 7
        array = submit(one, shell="exit $VOLT_ARRAY_INDEX", key="array", array={"first": 1, "last": 5})["id"]
        ended(one, array)
        noops(two, 900)
        noops(one, 2000)
        until(lambda: first["id"] not in known(one), "the history to let it go")
    for _ in range(2):
        users.begin_again()
        with users.speaks(ONE) as one, users.speaks(TWO) as two:
            assert submit(one, **spec) == {**first, "created": False}
            assert error_of(one, "Submit", spec={**spec, "shell": "another"}) == JOBS + "KeyTaken"
            job = one.ok(JOBS + "Get", {"id": first["id"]})["job"]
            assert (job["state"], job["result"], job["exit_code"]) == ("done", "exit", 7) and job["forgotten"]
            assert ended(one, first["id"])["exit_code"] == 7
            assert one.ok(JOBS + "Get", {"id": array})["job"]["exit_code"] == 5
            assert error_of(two, "Get", id=first["id"]) == JOBS + "NoSuchJob"
            assert error_of(two, "Forget", filter={"ids": [first["id"]]}) == JOBS + "NoSuchJob"
            assert first["id"] not in known(one)
            refused = one.call(LOGS + "Read", {"id": first["id"]})
            assert refused["error"] == LOGS + "NoOutput" and "only the end is known" in refused["parameters"]["reason"]
            other = submit(two, kind="noop", key="nightly")
            ended(two, other["id"])
            two.ok(JOBS + "Forget", {})
    assert (mark / "runs").read_text() == "once\n"


def error_of(v, method, **parameters):
    return v.call(JOBS + method, parameters)["error"]


def test_keys_are_freed_by_their_owner(users):
    """By id, or with all that has ended: also those of which nothing else is left."""
    def gone(one):
        for n in range(3):
            ended(one, submit(one, kind="noop", key=f"k{n}")["id"])
        ids = [submit(one, kind="noop", key=f"k{n}")["id"] for n in range(3)]
        noops(one, 1500)
        until(lambda: ids[2] not in known(one), "the history to let them go")
        return ids

    with users.speaks(ONE) as one, users.speaks(TWO) as two:
        ids = gone(one)
        theirs = submit(two, kind="noop", key="k0")["id"]
        ended(two, theirs)
        assert one.ok(JOBS + "Forget", {"filter": {"ids": ids[:1]}})["count"] == 1
        assert error_of(one, "Get", id=ids[0]) == JOBS + "NoSuchJob"
        assert submit(one, kind="noop", key="k0")["created"]
        assert not submit(one, kind="noop", key="k1")["created"]
    users.begin_again()
    with users.speaks(ONE) as one, users.speaks(TWO) as two:
        assert submit(one, kind="noop", key="k1") == {"id": ids[1], "created": False, "durable": True}
        assert one.ok(JOBS + "Forget", {})["count"] > 500
        assert all(submit(one, kind="noop", key=f"k{n}")["created"] for n in range(3))
        assert submit(two, kind="noop", key="k0") == {"id": theirs, "created": False, "durable": True}


def test_keys_of_a_user_are_limited(private):
    daemon = Users(private)
    daemon.daemon.stop()
    daemon.begin(config=CONFIG + "[Limits]\nMaxKeysPerUser=3\n")
    with daemon.speaks(ONE) as one, daemon.speaks(TWO) as two:
        ids = [submit(one, kind="noop", key=f"k{n}")["id"] for n in range(3)]
        ended(one, *ids)
        r = one.call(JOBS + "Submit", {"spec": {"kind": "noop", "key": "more"}})
        assert "MaxKeysPerUser" in str(r)
        assert submit(one, kind="noop", key="k1")["id"] == ids[1] and submit(two, kind="noop", key="more")["created"]
        one.ok(JOBS + "Forget", {"filter": {"ids": ids[:1]}})
        assert submit(one, kind="noop", key="more")["created"]
