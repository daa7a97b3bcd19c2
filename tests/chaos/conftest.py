"""The modules of the chaos suite find each other. What a test that passed has left in the temporary
folder goes; what one that failed has left stays, to be looked at."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from house import House  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed
    if report.when == "teardown":
        while House.made:
            house = House.made.pop()
            if not item.has_failed:
                house.remove()
