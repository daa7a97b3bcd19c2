"""Lists of elements: what Get tells of each, once and in order; of arrays that wait, run, have ended, or
are in the store alone."""

import pytest

from conftest import until
from protocol import CONTROL, JOBS, invalid

RANGES = [{"first": 2, "last": 8, "step": 3}, {"first": 900, "last": 1400}]
FAILS = "case $VOLT_ARRAY_INDEX in 5|1000|1001) exit 4;; esac"


def walk(v, limit, more=False, **given):
    """Every job of a list, by answers of so many; or of a stream."""
    if more:
        return [j for page in v.stream(JOBS + "List", given) for j in page["jobs"]]
    jobs, cursor = [], {}
    while True:
        got = v.ok(JOBS + "List", {"limit": limit, **given, **cursor})
        assert len(got["jobs"]) <= limit
        jobs += got["jobs"]
        if "cursor" not in got:
            return jobs
        cursor = {"cursor": got["cursor"]}


def submit(v, **spec):
    return v.ok(JOBS + "Submit", {"spec": spec})["id"]


def wait(v, *ids, **more):
    *_, last = v.stream(JOBS + "Wait", {"ids": list(ids), **more})
    assert last["left"] == 0


def expected(v, ids):
    """What there is of the elements of these, by Get."""
    rows = []
    for ident in ids:
        job = v.ok(JOBS + "Get", {"id": ident, "with_spec": True})["job"]
        array = job["spec"].get("array")
        if not array:
            rows.append(job)
            continue
        for r in array.get("ranges", [array]):
            for i in range(r["first"], r["last"] + 1, r.get("step", 1)):
                rows.append(v.ok(JOBS + "Get", {"id": f"{ident}_{i}", "with_spec": True})["job"])
    return rows


def check(v, rows, **filter):
    """Answers of every size have these, in order, both ways."""
    filter["elements"] = True
    for limit, more in ((1000, False), (7, False), (1, False), (0, True)):
        if limit == 1 and len(rows) > 600:
            continue
        assert walk(v, limit, more, filter=filter, with_spec=True) == rows, (limit, more)
        assert walk(v, limit, more, filter=filter, with_spec=True, newest_first=True) == rows[::-1], (limit, more)


def check_all(v, ids, ended):
    rows = expected(v, ids)
    failed = [r for r in rows if r.get("exit_code") and r["result"] != "cancelled"]
    check(v, rows)
    check(v, [r for r in rows if r["state"] == "done"], states=["done"])
    check(v, failed, results=["failed"])
    check(v, [r for r in rows if r["state"] != "done"], states=["queued", "running"])
    check(v, [r for r in failed if r["name"] == "some"], name="some", results=["exit"])
    some = [ids[0], ids[2], f"{ids[2]}_5", f"{ids[1]}_3", "99999"]
    keys = {i: n for n, i in enumerate(i for i in some)}
    check(v, [r for r in rows if r["id"] in keys or r["id"].split("_")[0] in keys], ids=some)
    assert {r["id"] for r in failed} >= {f"{ended}_{i}" for i in (5, 1000, 1001)}


def test_what_get_tells_of_each(private):
    config = "[Store]\nKeepEndedJobs=1000\n[Queue]\nSlots=4\n"
    private.start(config=config)
    with private.connect() as v:
        one = submit(v, shell="exit 3", name="some")
        noops = submit(v, kind="noop", array={"first": 0, "last": 299})
        array = {"first": 2, "last": 1400, "ranges": RANGES}
        ended = submit(v, shell=FAILS, array=array, name="some", env={"PATH": "/bin:/usr/bin"})
        wait(v, one, noops, ended)
        runs = submit(v, argv=["sleep", "600"], array={"first": 1, "last": 400})
        assert v.ok(JOBS + "Cancel", {"ids": [f"{runs}_{i}" for i in (390, 391, 7)]})["count"] == 3

        def four_run():
            elements = [v.ok(JOBS + "Get", {"id": f"{runs}_{i}"})["job"]["state"] for i in range(1, 401)]
            return elements.count("running") == 4 and elements.count("starting") == 0
        until(four_run, "four to run, and nothing to start")
        ids = [one, noops, ended, runs]
        check_all(v, ids, ended)
        before = walk(v, 0, True, filter={"elements": True, "ids": ids[:3]}, with_spec=True)
    private.stop()
    private.start(config=config.replace("1000", "1"))
    with private.connect() as v:  # the ended ones are in the store alone
        assert walk(v, 0, True, filter={"elements": True, "ids": ids[:3]}, with_spec=True) == before
        check_all(v, ids, ended)
        assert v.ok(JOBS + "Cancel", {"ids": [runs]})["count"] == 1


def test_elements_that_come_and_go_meanwhile(private):
    """Each is listed once, whatever becomes of it and of its array between the answers."""
    private.start(config="[Store]\nKeepEndedJobs=1\n")
    with private.connect() as v:
        first = submit(v, kind="sleep", duration_usec=3600 * 10**6, array={"first": 1, "last": 300})
        second = submit(v, kind="noop", array={"first": 1, "last": 300})
        given = {"limit": 100, "filter": {"elements": True, "ids": [first, second]}, "fields": ["state"]}
        wait(v, second)
        got, seen = {"cursor": None}, []
        for step in range(7):
            got = v.ok(JOBS + "List", {**given, "cursor": got.get("cursor")})
            seen += got["jobs"]
            if step == 1:
                v.ok(JOBS + "Cancel", {"ids": [first]})
                wait(v, first)
            if step == 2:
                wait(v, *v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 9})["ids"])
            if "cursor" not in got:
                break
        assert [j["id"] for j in seen] == [f"{a}_{i}" for a in (first, second) for i in range(1, 301)]
        assert all(j["state"] == "done" for j in seen[200:])
        # The array goes in the middle of it.
        got = v.ok(JOBS + "List", given)
        assert v.ok(JOBS + "Forget", {"filter": {"ids": [first]}})["count"] == 1
        rest = walk(v, 100, **{k: given[k] for k in ("filter", "fields")}, cursor=got["cursor"])
        assert [j["id"] for j in rest] == [f"{second}_{i}" for i in range(1, 301)]


def test_what_is_forgotten_has_no_elements(private):
    private.start(config="[Store]\nKeepEndedJobs=1\nKeepHistoryJobs=1\n")
    with private.connect() as v:
        ident = submit(v, kind="noop", array={"first": 1, "last": 3}, key="its end is kept with that")
        wait(v, ident)
        wait(v, *v.ok(JOBS + "SubmitBatch", {"specs": [{"kind": "noop"}] * 600})["ids"], forgotten=True)

        def rows():
            return [(j["id"], j["result"], j.get("forgotten"))
                    for j in walk(v, 10, filter={"ids": [ident], "elements": True})]
        until(lambda: rows() == [(ident, "success", True)], "it to be forgotten")


def test_cursors_and_other_methods(shared):
    with shared.connect() as v:
        ident = submit(v, kind="noop", array={"first": 1, "last": 3})
        wait(v, ident)
        for cursor in ("x", "1_", f"{ident}_2_1", f"{ident}.1"):
            invalid(v.call(JOBS + "List", {"cursor": cursor, "filter": {"elements": True}}), "cursor")
        invalid(v.call(JOBS + "List", {"cursor": f"{ident}_1"}), "cursor")
        for cursor in (f"{ident}_9", f"{2**63}_1", "99999999_5"):  # places that there are not
            got = v.ok(JOBS + "List", {"cursor": cursor, "filter": {"elements": True}})
            assert not [j for j in got["jobs"] if j["id"].startswith(f"{ident}_")]
        for cursor in ("1_1", "7_1"):  # of a list by ids the cursor is a place among these
            v.ok(JOBS + "List", {"cursor": cursor, "filter": {"elements": True, "ids": []}})
        for method, params in (("Watch", {}), ("Wait", {}), ("Cancel", {}), ("Forget", {})):
            v.send(JOBS + method, {"filter": {"elements": True, "ids": [ident]}, **params}, more=method == "Watch")
            invalid(v.recv(), "filter.elements")
        v.ok(JOBS + "Wait", {"filter": {"elements": False, "ids": [ident]}})


def test_voltctl(shared):
    ident = shared.submit("-w", "--array", "1-40", "--shell", FAILS.replace("1000", "17")).lines[0]
    r = shared.ctl("list", "--elements", "-o", "index,state,result,exit,started,ended", "--no-legend", ident)
    rows = [line.split() for line in r.lines]
    assert [row[0] for row in rows] == [str(i) for i in range(1, 41)]
    assert [row[1:5] for row in rows if row[2] != "success"] == [["done", "exit", "4", "4"]] * 2
    assert {row[3] for row in rows if row[2] == "success"} == {"0"} and all(":" in row[-1] for row in rows)
    r = shared.ctl("list", "-e", "--sort=-exit,-index", "-n", "30", "-o", "index,exit", "--no-legend", ident)
    assert [line.split() for line in r.lines][:2] == [["17", "4"], ["40", "0"]] and len(r.lines) == 30
    r = shared.ctl("list", "-e", "--json", "--newest", "--result=failed", ident)
    assert [(j["id"], j["exit_status"]) for j in r.json] == [(f"{ident}_17", 4), (f"{ident}_5", 4)]
    assert "usage" in r.json[0] and r.json[0]["spec"]["array"]
    assert [line.split()[0] for line in shared.ctl("list", "-e", "--no-legend", f"{ident}_17").lines] == [f"{ident}_17"]
    assert shared.ctl("list", "-e", "99999999").code == 4


def test_lists_of_indexes(shared):
    """In all verbs that take ids: of one array, beside others, and of the newest one."""
    with shared.connect() as v:
        one = submit(v, kind="noop", hold=True, array={"first": 1, "last": 9})
        other = submit(v, kind="noop", hold=True)
        array = submit(v, kind="noop", hold=True, array={"first": 1, "last": 30})

        def ids(*words):
            return shared.ctl("list", "--no-legend", "-o", "id", "--", *words).out.split()

        assert ids(f"{one}_[7,1-3]") == [f"{one}_{i}" for i in (1, 2, 3, 7)]
        assert ids(f"{one}_[1-9:4]", other) == [f"{one}_1", f"{one}_5", f"{one}_9", other]
        assert ids(f"{other},{one}_[2],@last_[30,1-2]") == [f"{one}_2", other] + [f"{array}_{i}" for i in (1, 2, 30)]
        r = shared.ctl("cancel", f"{array}_[1-10:3,30]")
        assert (r.code, r.err) == (0, "voltctl: 5 jobs asked to end\n"), r
        states = [j["state"] for j in v.ok(JOBS + "List", {"filter": {"ids": [array], "elements": True}})["jobs"]]
        assert [i + 1 for i, s in enumerate(states) if s == "done"] == [1, 4, 7, 10, 30]
        r = shared.ctl("status", f"{one}_[1,77]")
        assert r.code == 0 and f"{one}_1 - " in r.out and "1 of the 2 ids are no jobs" in r.err, r
        assert shared.ctl("cancel", one, other, array).code == 0


def test_turns_of_large_arrays(private):
    """From memory and from the store no turn looks at more than it may, and a list of few of many is short."""
    private.start(config="[Store]\nKeepEndedJobs=1\n")

    def turns():
        with private.connect_control() as c:
            return c.ok(CONTROL + "Stats")["turns"]

    def check_turns():
        got = turns()
        for what in ("largest", "held"):
            assert got[what + "_entries"] <= 510 and got[what + "_bytes"] <= 65536 + 4096, got
        assert got["read_rows"] <= 500 and got["read_bytes"] <= 65536 + 4096, got

    count = 20000
    with private.connect() as v:
        waits = submit(v, kind="noop", array={"first": 1, "last": count})
        wait(v, waits)
        held = submit(v, argv=["sleep", "600"], array={"first": 1, "last": count})
        for states, least in ((["queued"], count // 500), (["starting", "running"], 0)):
            before = turns()["divided"]
            got = walk(v, 0, True, filter={"elements": True, "ids": [held], "states": states}, fields=["state"])
            assert all(j["state"] in states for j in got) and len(got) >= least
            assert turns()["divided"] - before >= least
        check_turns()
    private.stop()
    private.start()
    with private.connect() as v:
        before = turns()["divided"]
        got = walk(v, 0, True, filter={"elements": True, "ids": [waits]}, fields=["result"])
        assert [j["id"] for j in got] == [f"{waits}_{i}" for i in range(1, count + 1)]
        assert turns()["divided"] - before >= count * 8 // 510
        assert walk(v, 1000, filter={"elements": True, "ids": [waits], "results": ["failed"]}) == []
        assert v.ok(JOBS + "Cancel", {"ids": [held]})["count"] == 1
    check_turns()
