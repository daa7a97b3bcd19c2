"""Lists that voltd takes in part: the first jobs are taken, and the client says where to go on."""
import json

import pytest

JOBS = "org.voltd.jobs."
HELD = {"kind": "noop", "hold": True}


def large(letter):
    return {"argv": [letter * 100_000] * 8, "hold": True}


def array(elements):
    return {**HELD, "array": {"first": 1, "last": elements}}


def jobs(daemon):
    return daemon.ctl("list", "--no-legend", "-o", "id").lines


def ndjson(specs):
    return "".join(json.dumps(spec) + "\n" for spec in specs)


# --- one message ----------------------------------------------------------------------

@pytest.mark.parametrize("limit, specs, taken, why", [
    ("MaxJobsPerUser=5", [HELD, array(5), HELD, HELD], [0], "(MaxJobsPerUser)"),
    ("MaxBytesPerUser=1M", [HELD, large("x"), large("y"), HELD],
     [0, 1], "(MaxBytesPerUser)"),
    ("MaxKeysPerUser=1", [HELD, {**HELD, "key": "a"}, {**HELD, "key": "b"}, HELD, {**HELD, "key": "c"}],
     [0, 1], "(MaxKeysPerUser)"),
])
def test_none_behind_a_limit(private, limit, specs, taken, why):
    private.start(config=f"[Limits]\n{limit}\n")
    with private.connect() as v:
        got = v.ok(JOBS + "SubmitBatch", {"specs": specs})
        assert [i for i, ident in enumerate(got["ids"]) if ident] == taken, got
        first, *others = got["rejected"]
        assert first["position"] == len(taken) and why in first["reason"] and first["temporary"] is True
        assert [r["position"] for r in others] == list(range(len(taken) + 1, len(specs)))
        assert others[0]["reason"] == "an earlier spec of this batch met a limit"
        assert len(jobs(private)) == len(taken)
        # What was booked for the others is given back, and their keys are free.
        ids = [ident for ident in got["ids"] if ident]
        assert private.ctl("cancel", *ids).code == 0 and private.ctl("clean", *ids).code == 0
        again = v.ok(JOBS + "SubmitBatch", {"specs": specs})["ids"]
        assert [i for i, ident in enumerate(again) if ident] == taken, again


def test_a_refusal_of_one_spec_alone_refuses_no_other(private):
    private.start()
    with private.connect() as v:
        taken = v.ok(JOBS + "Submit", {"spec": {**HELD, "key": "a"}})["id"]
        got = v.ok(JOBS + "SubmitBatch", {"specs": [HELD, {**HELD, "key": "a", "name": "other"}, {"argv": []}, HELD,
                                                    {**HELD, "key": "a"}]})
        assert [bool(ident) for ident in got["ids"]] == [True, False, False, True, True] and got["ids"][4] == taken
        assert not any("temporary" in r for r in got["rejected"])


# --- several messages -----------------------------------------------------------------

LIMIT = "[Limits]\nMaxJobsPerUser=6000\n"


def list_with_a_large_one(at, entries):
    """None of them ends, and behind the one that meets the limit there are smaller ones."""
    return [array(2000) if i == at else HELD for i in range(entries)]


@pytest.mark.parametrize("at", [4998, 5500])
def test_none_is_sent_behind_a_limit(private, at):
    private.start(config=LIMIT)
    (private.dir / "jobs").write_text("\n" + ndjson(list_with_a_large_one(at, 11_000)))
    r = private.submit("-f", "jobs")
    assert r.code == 125 and len(r.lines) == at, r.err
    assert r.err == (
        f"volt-submit: jobs: line {at + 2}: more than 6000 jobs that have not ended (MaxJobsPerUser)\n"
        f"volt-submit: {at} jobs were taken, and none from line {at + 2} on; the rest can be submitted later: "
        f"tail -n +{at + 2} jobs | volt-submit -f - ...\n"), r.err
    assert len(jobs(private)) == at
    rest = (private.dir / "jobs").read_text().split("\n")[at + 1:]
    assert json.loads(rest[0]) == array(2000) and len(rest) == 11_000 - at + 1


def test_where_the_rest_begins(private):
    """Of each form of a list; the command that is shown takes the rest."""
    private.start(config=LIMIT)
    specs = list_with_a_large_one(5000, 5100)
    r = private.submit("-f", "-", input=json.dumps(specs, indent=0))
    assert "later: ... | jq '.[5000:]' | volt-submit -f - ...\n" in r.err, r.err
    assert private.ctl("cancel", *r.lines).code == 0
    lines = "".join(f"{i}\n" for i in range(1, 6201))
    r = private.submit("--hold", "--each-line", "-", "true", input=lines)
    assert len(r.lines) == 6000 and "later: ... | tail -n +6001 | volt-submit --each-line - ...\n" in r.err, r.err
    assert private.ctl("cancel", *r.lines).code == 0
    (private.dir / "my list").write_text(lines.replace("\n", "\0"))
    r = private.submit("--hold", "-0", "--each-line", "my list", "true")
    assert "none from entry 6001 on" in r.err
    assert "later: tail -z -n +6001 'my list' | volt-submit -0 --each-line - ...\n" in r.err, r.err
    r = private.submit("--hold", "--each-line", "-", "true", input=lines)
    assert r.lines == [] and r.err.splitlines()[1:] == ["volt-submit: no job was taken"], r.err
