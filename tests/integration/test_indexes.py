"""Arrays that leave indexes out: which elements there are, everywhere and after a restart."""
import pytest


def indexes(daemon, ident, *words):
    lines = daemon.ctl("list", "--elements", "--no-legend", "-o", "id", *words, ident).lines
    return [line.split("_")[1] for line in lines]


def test_each_of_them_runs_once(shared):
    r = shared.submit("-w", "--array=1-9:2,20,7", "--shell", "echo $VOLT_ARRAY_INDEX; test $VOLT_ARRAY_INDEX != 5")
    ident = r.lines[0]
    assert r.code == 1 and "6 jobs ended: 5 succeeded, 1 failed" in r.err, r
    assert indexes(shared, ident) == ["1", "3", "5", "7", "9", "20"]
    assert shared.ctl("logs", "--no-prefix", ident).out.split() == ["1", "3", "5", "7", "9", "20"]
    out = shared.ctl("status", ident).out
    assert "5 success" in out and "Failed: 5\n" in out
    for missing in (2, 8, 19, 21):
        assert shared.ctl("status", f"{ident}_{missing}").code == 4
    assert shared.ctl("status", "-n0", f"{ident}_20").code == 0


def test_after_a_restart(private):
    private.start(config="[Queue]\nSlots=1\n")
    gate = private.dir / "gate"
    ident = private.submit("--array=3,1000000-1000004:2", "--shell",
                           f"until [ -e {gate} ]; do sleep 0.05; done; echo $VOLT_ARRAY_INDEX").lines[0]
    private.ctl("cancel", f"{ident}_1000002")
    private.stop()
    private.start()
    gate.touch()
    assert private.ctl("wait", ident).code == 125  # one was cancelled
    assert private.ctl("logs", "--no-prefix", ident).out.split() == ["3", "1000000", "1000004"]
    assert indexes(private, ident, "--result=cancelled") == ["1000002"]
    private.stop()
    private.start()
    assert indexes(private, ident) == ["3", "1000000", "1000002", "1000004"]
    assert private.ctl("status", f"{ident}_4").code == 4


def test_what_is_submitted(shared):
    def array(text):
        return shared.submit("--dry-run", "--array", text, "true").json["array"]
    assert array("1-5") == {"first": 1, "last": 5}
    assert array("1-5,6") == {"first": 1, "last": 6}
    assert array("1-9:2,20") == {"first": 1, "last": 20, "ranges": [
        {"first": 1, "last": 9, "step": 2}, {"first": 20, "last": 20}]}
    assert array("1-5%2") == {"first": 1, "last": 5, "at_once": 2}
    assert array("1-9:2,20%4") == array("1-9:2,20") | {"at_once": 4}


@pytest.mark.parametrize("text, why", [
    ("1-", "is not a list of indexes like 1-1000"), ("1-9:0", "is not a list"), ("1,,2", "is not a list"),
    ("1-9%0", "is not a list"), ("1-9%4,10", "is not a list"), ("1-9%1000001", "more than 1000000 elements"),
    ("1-9000000:2", "more than 1000000 elements"),
])
def test_no_list(shared, text, why):
    r = shared.submit("--array", text, "true")
    assert r.code == 125 and why in r.err, r


@pytest.mark.parametrize("array, path", [
    ({"first": 1, "last": 5, "ranges": []}, "spec.array.ranges"),
    ({"first": 1, "last": 5, "ranges": [{"first": 1, "last": 4}]}, "spec.array.ranges"),
    ({"first": 1, "last": 5, "ranges": [{"first": 1, "last": 4, "step": 2}]}, "spec.array.ranges"),
    ({"first": 1, "last": 5, "ranges": [{"first": 1, "last": 3}, {"first": 3, "last": 5}]}, "spec.array.ranges"),
    ({"first": 1, "last": 5, "ranges": [{"first": 1, "last": 3}, {"first": 4}]}, "spec.array.ranges[1].last"),
    ({"first": 1, "last": 5, "ranges": [7]}, "spec.array.ranges[0]"),
])
def test_the_field_is_checked(shared, array, path):
    with shared.connect() as v:
        reply = v.call("org.voltd.jobs.Submit", {"spec": {"argv": ["true"], "array": array}})
        assert reply["parameters"]["parameter"] == path, reply

def test_width_of_a_number_with_zeroes(shared):
    """run_001 to run_012: texts have the width, the variable and ids are numbers."""
    folder = shared.dir / "wide"
    folder.mkdir()
    for n in range(8, 13):
        (folder / f"run_{n:03}").write_text(f"content {n}\n")
    r = shared.submit("-w", "--array=008-012", "--name=job-{i}", "--output={name}.{i}", "--", "cat", "run_{i}", cwd=folder)
    assert r.code == 0, r
    ident = r.lines[0]
    for n in range(8, 13):
        assert (folder / f"job-{n:03}.{n:03}").read_text() == f"content {n}\n"
    assert shared.ctl("list", "--elements", "--no-legend", "-o", "id,name,command", ident).lines[0].split() == [
        f"{ident}_8", "job-008", "cat", "run_008"]
    status = shared.ctl("status", f"{ident}_9").out
    assert "cat run_009\n" in status and f"{folder}/job-009.009\n" in status, status
    ident = shared.submit("-w", "--array=1-3,008", "--shell", "echo $VOLT_ARRAY_INDEX").lines[0]
    assert shared.ctl("logs", "--no-prefix", ident).out.split() == ["1", "2", "3", "8"]


def test_braces_of_a_program_are_its_own(shared):
    """{i} is the index in arguments without blanks; what has blanks, or $ in front, is as it was written."""
    def printed(*words):
        r = shared.submit("-w", "--array=7", *words)
        assert r.code == 0, r
        return shared.ctl("logs", "--no-prefix", r.lines[0]).out, r.err
    note = "{i} stays as it is in the text of a program; $VOLT_ARRAY_INDEX is the index there"
    for words in (("python3", "-c", "for i in (0, 1): print(f'row {i}')"),
                  ("awk", "BEGIN {print \"row {i}\"}"), ("--shell", "echo row '{i}'"), ("--shell", "echo${IFS}{i}")):
        out, err = printed(*words)
        assert "7" not in out and note in err, (words, out, err)
    assert printed("--shell", 'for i in a b; do echo "${i}$VOLT_ARRAY_INDEX"; done') == ("a7\nb7\n", "")
    assert printed("echo", "${i}", "{i}${i}/{i}", "a\tb{i}")[0] == "${i} 7${i}/7 a\tb{i}\n"
    out, err = printed("echo", "a")
    assert out == "a\n" and "neither {i} nor $VOLT_ARRAY_INDEX" in err, err
    (shared.dir / "reads").write_text("echo $VOLT_ARRAY_INDEX\n")
    assert printed("sh", "reads") == ("7\n", "") and printed("--quiet", "true") == ("", "")
