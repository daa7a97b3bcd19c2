"""pytest's side of the gate: what needs root, and how each failure is said (tests/run/checks).

A test that raised Unsafe (tests/integration/conftest.py) has seen what voltd must never do: red.
What else a test with the mark fault_random sees is printed and blocks nothing; any other failure
may have met a busy machine: it is repeated once."""
import os
import shlex

import pytest

SEED = int(os.environ.get("SEED", "1"))
AGAIN = os.environ.get("AGAIN", "make check-integration")
failures, liveness, others = [], 0, 0


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: speaks as several users, mounts, or looks into others")
    config.addinivalue_line("markers", "alone: runs after the others, one at a time: needs processors that are free")
    config.addinivalue_line("markers", "fault_random: faults at moments that chance chooses")


def pytest_collection_modifyitems(items):
    for item in items:
        if os.getuid() != 0 and item.get_closest_marker("needs_root"):
            item.add_marker(pytest.mark.skip(reason="needs root: make check-root"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        unsafe = call.excinfo.type.__name__ == "Unsafe"
        random = item.get_closest_marker("fault_random") is not None
        kind = "safety" if unsafe else "liveness" if random else "process-bound"
        report.user_properties.append(("gate", kind))


def pytest_runtest_logreport(report):
    global liveness, others
    if not report.failed or "PYTEST_XDIST_WORKER" in os.environ:
        return
    # A worker that died has no kind.
    kind = dict(report.user_properties).get("gate", "safety")
    liveness, others = liveness + (kind == "liveness"), others + (kind != "liveness")
    failures.append(f"failed ({kind}): {AGAIN} T={shlex.quote(report.nodeid)}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.TESTS_FAILED and liveness and not others:
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"SEED={SEED}")
    for line in dict.fromkeys(failures):
        terminalreporter.write_line(line)
