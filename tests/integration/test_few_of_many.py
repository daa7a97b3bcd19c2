"""Questions about few of many jobs: by state, by name, by label. They look at those few, which counters
of voltd say, and their pages are right while jobs change."""
import pytest

from conftest import until
from protocol import CONTROL, JOBS

MANY = 200_000


def divided(daemon):
    """Turns that ended with more to do: a list that looks at all of many has hundreds."""
    with daemon.connect_control() as v:
        return v.ok(CONTROL + "Stats")["turns"]["divided"]


@pytest.fixture
def blocked(private):
    """Its only slot is taken: what is submitted stays queued."""
    private.start(config="[Queue]\nSlots=1\n[Limits]\nMaxJobsPerUser=1000000\nMaxBytesPerUser=4G\n")
    with private.connect() as v:
        first = v.ok(JOBS + "Submit", {"spec": {"argv": ["sleep", "100000"], "name": "many"}})["id"]
        until(lambda: v.ok(JOBS + "Get", {"id": first})["job"]["state"] == "running")
    private.first = first
    return private


def ids_of(got):
    return [j["id"] for j in got["jobs"]]


def test_few_of_many_are_looked_at(blocked):
    many = {"argv": ["sleep", "1"], "name": "many", "labels": {"a": "c"}}
    with blocked.connect() as v:
        for _ in range(MANY // 20_000):
            assert all(v.ok(JOBS + "SubmitBatch", {"specs": [many] * 20_000})["ids"])
        named = v.ok(JOBS + "Submit", {"spec": many | {"name": "X"}})["id"]
        labelled = v.ok(JOBS + "Submit", {"spec": many | {"labels": {"a": "b"}}})["id"]

    def lists():
        return [(blocked.ctl("list", "--no-legend", "-o", "id", *words).lines, expected) for words, expected in (
            (["--state", "running"], [blocked.first]), (["--name", "X"], [named]), (["--label", "a=b"], [labelled]),
            (["--name", "many", "--label", "a=b", "--state", "queued"], [labelled]), (["--name", "none"], []))]

    def check():
        before = divided(blocked)
        for got, expected in lists():
            assert got == expected
        with blocked.connect() as v:
            for newest_first in False, True:
                got = v.ok(JOBS + "List", {"filter": {"states": ["running", "stopping"]}, "newest_first": newest_first})
                assert ids_of(got) == [blocked.first]
            assert v.ok(JOBS + "Cancel", {"filter": {"name": "none"}})["count"] == 0
            assert v.ok(JOBS + "Forget", {"filter": {}})["count"] == 0
        assert divided(blocked) == before

    check()
    blocked.stop()
    blocked.start()
    until(lambda: blocked.job(blocked.first)["state"] == "running")
    check()
    with blocked.connect() as v:
        before = divided(blocked)
        assert v.ok(JOBS + "Cancel", {"filter": {"name": "X"}})["count"] == 1
        assert divided(blocked) == before
        assert ids_of(v.ok(JOBS + "List", {"filter": {"states": ["done"]}})) == [named]


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_while_jobs_change(blocked, newest_first):
    """What is wanted all the time is told once, in order; what was not when the list began is not told."""
    spec = {"argv": ["sleep", "1"]}
    specs = [spec | {"name": f"n{i % 2}", "labels": {"of": str(i % 3)}} for i in range(3000)]
    filters = {"name": "n1"}, {"labels": {"of": "2"}}, {"states": ["queued"]}, {"states": ["queued", "running"], "name": "n0"}
    with blocked.connect() as v:
        for f in filters:
            ids = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
            wanted = [i for i, s in zip(ids, specs) if s["name"] == f.get("name", s["name"])
                      and s["labels"].items() >= f.get("labels", {}).items()]
            gone = set(ids[10:3000:7])
            before, during = sorted(gone, key=int)[::2], sorted(gone, key=int)[1::2]
            f = f | {"states": f.get("states", ["queued", "running"])}
            assert v.ok(JOBS + "Cancel", {"ids": before})["count"] == len(before)
            told, cursor = [], {}
            while cursor is not None:
                got = v.ok(JOBS + "List", {"filter": f, "limit": 50, "newest_first": newest_first, **cursor})
                told += ids_of(got)
                cursor = {"cursor": got["cursor"]} if "cursor" in got else None
                some, during = during[-10:], during[:-10]
                if some:
                    v.ok(JOBS + "Cancel", {"ids": some})
                v.ok(JOBS + "SubmitBatch", {"specs": specs[:3]})
            assert told == sorted(set(told), key=int, reverse=newest_first)
            assert not set(told) & set(before)
            assert [i for i in sorted(ids, key=int) if i in told and i not in gone] == [i for i in wanted if i not in gone]
            v.ok(JOBS + "Cancel", {"filter": {"states": ["queued"]}})
