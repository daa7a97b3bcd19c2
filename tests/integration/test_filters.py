"""Which jobs a filter wants: in memory, in the history, in events, and for what follows from it."""

import os
import pwd

import pytest

from conftest import needs_root
from jobs import JOBS, listed, sh, submit, wait
from test_users import speak_as, start_for_all

KINDS = [
    ({"user": str(os.getuid())}, "bad good plain"),
    ({"user": pwd.getpwuid(os.getuid()).pw_name}, "bad good plain"),
    ({"user": "4294967294"}, ""),
    ({"name": "*"}, ""),
    ({"name_glob": "*"}, "bad good plain"),
    ({"name_glob": "?oo[a-d]"}, "good"),
    ({"name_glob": "*d"}, "bad good"),
    ({"name_glob": "*D"}, ""),
    ({"name_glob": ""}, ""),
    ({"has_labels": ["a"]}, "bad good"),
    ({"has_labels": ["a", "b"]}, "good"),
    ({"has_labels": ["a"], "labels": {"a": "2"}}, "bad"),
    ({"has_labels": []}, "bad good plain"),
    ({"results": ["failed"]}, "bad"),
    ({"results": ["failed", "success"]}, "bad good plain"),
    ({"results": ["failed"], "states": ["queued"]}, ""),
]


def submit_three(v):
    for name, text, labels in (("good", "exit 0", {"a": "1", "b": ""}), ("bad", "exit 3", {"a": "2"}),
                               ("plain", "exit 0", {})):
        wait(v, submit(v, sh(text, name=name, labels=labels)))


@pytest.mark.parametrize("kept", [1000, 1])
def test_what_it_wants(private, kept):
    """kept: so many ended jobs are in memory; the others are read from the store."""
    private.start(config=f"[Store]\nKeepEndedJobs={kept}\n")
    with private.connect() as v:
        submit_three(v)
        for wanted, names in KINDS:
            assert " ".join(sorted(j["name"] for j in listed(v, **wanted))) == names, wanted


def test_what_it_wants_of_events(private):
    private.start()
    with private.connect() as v:
        after = None
        with private.connect() as w:
            w.send(JOBS + "Watch", {}, more=True)
            after = w.recv()["parameters"]["cursor"]
        submit_three(v)
        marker = submit(v, sh("exit 9", name="marker", labels={"a": "2"}))
        wait(v, marker)
        for wanted, names in KINDS:
            if "marker" not in [j["name"] for j in listed(v, **wanted)]:
                continue
            with private.connect() as w:
                w.send(JOBS + "Watch", {"filter": wanted, "after": after}, more=True)
                seen, last = set(), None
                while last != (marker, "exited"):
                    for e in w.recv()["parameters"].get("events", []):
                        last = e["id"], e["event"]
                        seen.add(e["name"])
            assert seen == {*names.split(), "marker"}, wanted


@pytest.mark.parametrize("wanted, field, words", [
    ({"user": "no such user"}, "filter.user", "must be a uid, or the name"),
    ({"user": "-1"}, "filter.user", "must be a uid, or the name"),
    ({"user": "4294967295"}, "filter.user", "must be a uid, or the name"),
    ({"user": 0}, "filter.user", "must be a string"),
    ({"name_glob": 256 * "*"}, "filter.name_glob", "255 bytes"),
    ({"has_labels": {"a": "b"}}, "filter.has_labels", "must be an array"),
    ({"has_labels": [1]}, "filter.has_labels", "must be a string"),
    ({"results": ["bad"]}, "filter.results[0]", "failed"),
])
def test_what_it_is_told(shared, wanted, field, words):
    with shared.connect() as v:
        for method in "List", "Watch", "Cancel", "Forget", "Wait":
            got = v.call(JOBS + method, {"filter": wanted}, more=True) if method == "Watch" else \
                v.call(JOBS + method, {"filter": wanted})
            assert got["error"] == "org.varlink.service.InvalidParameter", got
            assert got["parameters"]["parameter"] == field and words in got["parameters"]["reason"], got


def test_a_pattern_cancels(private):
    private.start(config="[Queue]\nSlots=1\n")
    with private.connect() as v:
        jobs = [submit(v, sh("exec sleep 1000", name=name)) for name in ("a1", "a2", "b1")]
        assert v.ok(JOBS + "Cancel", {"filter": {"name_glob": "a*"}}) == {"count": 2}
        assert {j["id"] for j in listed(v, results=["failed"])} <= {*jobs[:2]}
        assert v.ok(JOBS + "Cancel", {"filter": {"has_labels": ["x"]}}) == {"count": 0}
        assert v.ok(JOBS + "Cancel", {"filter": {"name": "b1"}}) == {"count": 1}


@needs_root
def test_root_asks_for_others_and_they_for_themselves(private):
    start_for_all(private)
    for uid in 64321, 64322:
        assert "id" in speak_as(private, uid, JOBS + "Submit", {"spec": {"kind": "noop"}})["parameters"]

    def uids(asker, **wanted):
        answer = speak_as(private, asker, JOBS + "List", {"filter": wanted})
        return [j["uid"] for j in answer["parameters"]["jobs"]]
    assert uids(0) == [64321, 64322]
    assert uids(0, user="64322") == [64322]
    assert uids(64321, user="64321") == [64321]
    assert uids(64321, user="64322") == uids(64321, user="root") == []


# --- Wait --------------------------------------------------------------------------------------


def test_wait_for_what_matches(private):
    """What matches when the call is made; what comes later is not waited for."""
    private.start(config="[Queue]\nSlots=4\n")
    with private.connect() as v, private.connect() as w:
        ended = submit(v, sh("exit 7", name="ended"))
        wait(v, ended)
        array = submit(v, {**sh("until [ -e go ]; do sleep 0.02; done; exit $VOLT_ARRAY_INDEX", cwd=str(private.dir)), "name": "some",
                           "array": {"first": 1, "last": 2}})
        active = {"states": ["queued", "starting", "running", "stopping"]}
        now = v.ok(JOBS + "Wait", {"filter": active})
        assert (now["total"], now["left"]) == (2, 2)
        w.send(JOBS + "Wait", {"filter": active}, more=True)
        assert w.recv()["parameters"]["left"] == 2
        later = submit(v, sh("exec sleep 1000", name="later"))
        (private.dir / "go").touch()
        answer = {"left": 2}
        while answer["left"]:
            answer = w.recv()["parameters"]
        assert (answer["total"], answer["failed"], answer["exit_code"]) == (2, 2, 2)
        assert [j["id"] for j in answer["jobs"]] == [array]
        # Ended ones count where the filter wants them, and ids with what it finds, each once.
        both = v.ok(JOBS + "Wait", {"ids": [ended, array], "filter": {"results": ["failed"]}})
        assert (both["total"], both["left"], both["exit_code"]) == (3, 0, 7)
        assert v.ok(JOBS + "Wait", {"filter": {"name": "none"}}) == \
            {"total": 0, "left": 0, "failed": 0, "exit_code": 0, "jobs": []}
        got = v.call(JOBS + "Wait", {"ids": ["999"], "filter": {}})
        assert got["error"] == JOBS + "NoSuchJob" and got["parameters"] == {"id": "999"}
        got = v.call(JOBS + "Wait", {})
        assert got["parameters"]["parameter"] == "ids"
        v.ok(JOBS + "Cancel", {"ids": [later]})


def test_wait_for_many_that_match(private):
    """More than are found at once, some of them only in the store."""
    private.start(config="[Store]\nKeepEndedJobs=100\n")
    with private.connect() as v:
        for _ in range(3):
            ids = v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop", "name": "n"}] * 700})["ids"]
            wait(v, *ids)
        v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop", "name": "m"}] * 700})
        *_, last = v.stream(JOBS + "Wait", {"filter": {"name": "n"}})
        assert (last["total"], last["left"], last["failed"], last["exit_code"]) == (2100, 0, 0, 0)
        assert len(last["jobs"]) == 1000
