"""voltctl list --since, --until: jobs by the time of their submission, of now and of the store."""

import datetime
import json

import pytest

CONFIG = "[Store]\nKeepEndedJobs=3\n"


def listed(daemon, *args):
    r = daemon.ctl("list", "--json", *args)
    assert r.code == 0 and r.err == "", r
    return [job["id"] for job in json.loads(r.out)]


@pytest.fixture
def house(private):
    """Twenty jobs, of which memory keeps three; their ids, and times of submission."""
    private.start(config=CONFIG)
    for _ in range(20):
        assert private.submit("--wait", "--kind=noop").code == 0
    r = json.loads(private.ctl("list", "--all", "--json").out)
    yield private, [job["id"] for job in r], [job["submitted_at_usec"] for job in r]


def at(usec):
    return f"@{usec // 10**6}.{usec % 10**6:06}"


def test_of_the_store_and_of_memory(house):
    daemon, ids, times = house
    for i in (0, 1, 10, 18, 19):
        assert listed(daemon, "--since", at(times[i])) == ids[i:]
        assert listed(daemon, "--until", at(times[i])) == ids[:i + 1]
        assert listed(daemon, "--since", at(times[i] + 1), "-n", "5") == ids[i + 1:][-5:]
        assert listed(daemon, "--since", at(times[i]), "--newest") == ids[i:][::-1]
    assert listed(daemon, "--since", at(times[3]), "--until", at(times[7])) == ids[3:8]
    assert listed(daemon, "--since", at(times[3]), "--name=nobody") == []
    assert listed(daemon, "--since", at(times[3]), *ids[:6]) == ids[3:6]


def test_in_words(house):
    daemon, ids, _ = house
    now = datetime.datetime.now(datetime.timezone.utc)  # somewhere it is noon: no day ends soon
    ahead = 12 - now.hour
    daemon.env["TZ"] = f"NOON{-ahead:+}"
    today = (now + datetime.timedelta(hours=ahead)).strftime("%Y-%m-%d")
    for since in ("today", "yesterday", "-1h", "-1 hour", "1h ago", "2020-01-01 10:00", "2020-01-01", "Wed 2020-01-01",
                  "2020-01-01T00:00:00Z"):
        assert listed(daemon, "--since", since, "--until", "tomorrow") == ids, since
        assert listed(daemon, f"--until={since}") == ([] if since != "today" else listed(daemon, "--until=today"))
    for since in ("now", "+1h", "tomorrow"):
        assert listed(daemon, "--since", since) == []
    assert listed(daemon, "--until", "now", "--since", f"{today} 00:00") == ids


@pytest.mark.parametrize("args, text", [
    (["--since=soon"], '--since: "soon" is not a time such as "2026-11-20 10:00", -1h'),
    (["--until="], "--until: a value is needed"),
    (["--since=2026-02-30"], '"2026-02-30" is not a time'),
    (["--since=Mon 2026-11-20"], "is not a time"),
    (["--since=-99999y"], "is too far away"),
    (["--since=now", "--until=-1h"], "--since is later than --until: nothing would match"),
    (["--until=-1h", "--since=now"], "--since is later than --until"),
])
def test_bad_times(shared, args, text):
    r = shared.ctl("list", *args)
    assert r.code == 2 and text in r.err and r.out == "", r


def test_cancel_and_clean_by_time(house):
    daemon, ids, times = house
    waiting = daemon.submit("--kind=sleep", "--duration=1h").out.strip()
    later = json.loads(daemon.ctl("show", "--json", waiting).out)["submitted_at_usec"]
    assert daemon.ctl("cancel", "--until", at(later - 1)).err == "voltctl: 0 jobs asked to end\n"
    assert daemon.ctl("cancel", "--since", at(later)).err == "voltctl: 1 job asked to end\n"
    assert daemon.ctl("clean", "--until", at(times[4])).err == "voltctl: 5 jobs removed\n"
    assert listed(daemon, "--all", "--until", at(times[-1])) == ids[5:]


def test_a_watch_of_what_is_submitted_from_now_on(house):
    daemon, _, times = house
    with daemon.connect() as v:
        v.send("org.voltd.jobs.Watch", {"filter": {"submitted_since_usec": times[-1] + 1}}, more=True)
        assert v.recv()["parameters"]["jobs"] == []
        new = daemon.submit("--kind=noop").out.strip()
        events = []
        while not events or events[-1]["event"] != "exited":
            events += v.recv()["parameters"].get("events", [])
        assert {e["id"] for e in events} == {new}
