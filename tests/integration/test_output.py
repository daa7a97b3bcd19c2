"""What jobs print: how much it may be, where it is kept, how long, and how it is followed."""

YES = ("yes", "0123456789")


# --- output_limit ----------------------------------------------------------------------------


def test_who_prints_too_much_is_killed(shared):
    r = shared.submit("--wait", "--output-limit=100K", "--", *YES)
    assert r.code == 125 and "output_limit: it printed more than it may" in r.err, r
    job = shared.ctl("list", "--json", "--all", r.out.strip()).json[0]
    assert (job["result"], job["code"], job["state"]) == ("output_limit", 9, "done")
    size = len(shared.ctl("logs", r.out.strip()).out)
    assert size > 100 << 10


def test_the_tree_is_killed_and_both_streams_count(shared):
    """Neither of the two alone is too much. What ignores TERM is killed as well."""
    r = shared.submit("--wait", "--output-limit=150K", "--split-output", "--shell",
                      "trap '' TERM; head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; "
                      "sleep 1000 & sleep 1000")
    assert r.code == 125 and "output_limit" in r.err, r
    assert shared.ctl("list", "--json", "--all", r.out.strip()).json[0].get("survivors", 0) == 0


def test_who_prints_less_is_left_alone(shared):
    """Over more than one look."""
    r = shared.submit("--wait", "--output-limit=100K", "--shell",
                      "head -c 100000 /dev/zero; sleep 2.1; exit 3")
    assert r.code == 3, r


def test_the_default_limit_is_of_the_configuration(private):
    private.start(config="[Jobs]\nOutputLimit=64K\n")
    assert private.submit("--wait", "--", *YES).code == 125
    job = private.submit("--wait", "--output-limit=1G", "--", "head", "-c", "200K", "/dev/zero")
    assert job.code == 0
    spec = private.ctl("show", "--json", job.out.strip()).json["spec"]
    assert spec["limits"] == {"output_bytes": 1 << 30}


def test_the_limit_holds_over_a_restart(private):
    """Of a job that has been adopted; and an end that was on its way stays what it is."""
    private.start()
    ident = private.submit("--output-limit=100K", "--shell",
                           f"while ! [ -e {private.dir}/go ]; do sleep 0.02; done; "
                           "exec yes").out.strip()
    private.stop(9)
    private.start()
    (private.dir / "go").touch()
    r = private.ctl("wait", ident)
    assert r.code == 125 and "output_limit" in r.err, r
    private.stop()
    private.start()
    assert private.ctl("list", "--json", "--all", ident).json[0]["result"] == "output_limit"
