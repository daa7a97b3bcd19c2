"""List with `more`: answers that follow each other; and fields, which leave the others out."""

import json

import pytest

from conftest import LIMIT
from test_list import job

JOBS = "org.voltd.jobs."
N = 2500


@pytest.fixture(scope="module")
def ended(shared):
    """Ids of noops, of a label of their own."""
    with shared.connect() as v:
        ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop", "labels": {"of": "streams"}}] * N})["ids"]
        *_, last = v.stream(JOBS + "Wait", {"ids": ids})
        assert last["left"] == 0
    return ids


def pages(v, **parameters):
    found = [*v.stream(JOBS + "List", {"filter": {"labels": {"of": "streams"}}, **parameters})]
    return [[j["id"] for j in answer["jobs"]] for answer in found], found[-1].get("cursor")


def test_answers_follow_each_other(shared, ended):
    with shared.connect() as v:
        got, cursor = pages(v)
        assert sum(got, []) == ended and max(map(len, got)) <= 1000 and len(got) >= 3 and cursor is None
        got, cursor = pages(v, newest_first=True)
        assert sum(got, []) == ended[::-1] and cursor is None


def test_a_limit_is_for_all_of_them(shared, ended):
    with shared.connect() as v:
        got, cursor = pages(v, limit=1500)
        assert sum(got, []) == ended[:1500] and cursor == ended[1499]
        got, cursor = pages(v, cursor=cursor)
        assert sum(got, []) == ended[1500:] and cursor is None


def test_without_more_a_thousand_are_the_most(shared):
    with shared.connect() as v:
        r = v.call(JOBS + "List", {"limit": 1001})
        assert r["error"] == "org.varlink.service.InvalidParameter" and r["parameters"]["parameter"] == "limit", r
        assert "more" in r["parameters"]["reason"]


def test_who_reads_slowly_holds_up_nobody(shared, ended):
    """Nor is anything left out that it had not read."""
    with shared.connect() as slow, shared.connect() as v:
        slow.send(JOBS + "List", {"filter": {"labels": {"of": "streams"}}, "with_spec": True}, more=True)
        first = slow.recv()
        for _ in range(20):
            assert v.ok(JOBS + "Get", {"id": ended[-1]})["job"]["state"] == "done"
        got, reply = [], first
        while True:
            got += [j["id"] for j in reply["parameters"]["jobs"]]
            if not reply.get("continues"):
                break
            reply = slow.recv()
        assert got == ended


def test_fields(shared, ended):
    with shared.connect() as v:
        wanted = {"filter": {"ids": ended[:2]}}
        for fields in ([], ["state"], ["state", "result", "exit_code"]):
            for j in v.ok(JOBS + "List", {**wanted, "fields": fields})["jobs"]:
                assert set(j) == {"id", *fields}, j
        j = v.ok(JOBS + "List", {**wanted, "fields": ["id"], "spec_fields": ["labels"]})["jobs"][0]
        assert j == {"id": ended[0], "spec": {"labels": {"of": "streams"}}}
        whole = v.ok(JOBS + "List", wanted)["jobs"][0]
        assert whole == v.ok(JOBS + "List", {**wanted, "fields": [*whole]})["jobs"][0]
        r = v.call(JOBS + "List", {"fields": ["stat"]})
        assert r["error"] == "org.varlink.service.InvalidParameter" and "state" in r["parameters"]["reason"], r
        first = next(v.stream(JOBS + "Watch", {**wanted, "fields": ["state"]}))
        assert first["jobs"] == [{"id": i, "state": "done"} for i in ended[:2]]


def test_voltctl_asks_once(fake):
    """It reads a stream, and of the jobs only what it shows."""
    asked = []

    def answer(method, parameters):
        asked.append(parameters)
        return [{"parameters": {"jobs": [job(1)], "cursor": "1"}, "continues": True},
                {"parameters": {"jobs": [], "cursor": "7"}, "continues": True},
                {"parameters": {"jobs": [job(8)]}}]
    p = fake(answer).popen("voltctl", "list", "-o", "id,state", "--no-legend")
    assert p.communicate(timeout=LIMIT) == ("1   queued\n8   queued\n", "") and p.returncode == 0
    assert [a["fields"] for a in asked] == [["state"]] and "limit" not in asked[0]
    p = fake(answer).popen("voltctl", "list", "-o", "ndjson")
    assert [json.loads(line)["id"] for line in p.communicate(timeout=LIMIT)[0].splitlines()] == ["1", "8"]
    assert "fields" not in asked[1]
