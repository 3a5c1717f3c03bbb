# SPDX-License-Identifier: GPL-2.0
"""What pytest knows of the tests here: where the packages are; --tap, as tests/check wants it."""

import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, folder) for folder in (
    "tools/cli", ".", "tools/examples", "tests/lab", "tests/cases")]


def pytest_addoption(parser):
    """Options of ours."""
    parser.addoption("--tap", action="store_true", help="print TAP; with -s, as the tests go")
    parser.addoption("--update", action="store_true",
                     help="write anew what test_sim_golden.py compares with, and say what moved")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """TAP in place of pytest's own words."""
    if config.option.tap:
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(Tap())


class Tap:
    """A line for each test; a test's subtests count as one."""

    def __init__(self):
        self.ended = 0
        self.outcomes = {}

    def pytest_collectreport(self, report):
        """What cannot be collected is a failure."""
        if report.failed:
            self.say("not ok", "collecting %s" % report.nodeid, str(report.longrepr))

    def pytest_runtest_logreport(self, report):
        """A test has come through its set-up, itself, or what follows it."""
        kept = self.outcomes.setdefault(report.nodeid, {"failed": "", "skipped": "", "missed": ""})
        if report.failed:
            kept["failed"] += report.longreprtext + "\n"
        elif report.skipped and hasattr(report, "wasxfail"):
            kept["missed"] = report.wasxfail
        elif report.skipped:
            kept["skipped"] = report.longrepr[2].partition("Skipped: ")[2] or "skipped"

    def pytest_runtest_logfinish(self, nodeid):
        """It is over."""
        kept = self.outcomes.pop(nodeid)
        name = nodeid.partition("::")[2].replace("::", ".")
        if kept["failed"]:
            self.say("not ok", name, kept["failed"])
        elif kept["missed"]:
            self.say("not ok", "%s # MISSED %s" % (name, kept["missed"]))
        else:
            self.say("ok", name + (" # SKIP " + kept["skipped"] if kept["skipped"] else ""))

    def say(self, word, name, why=""):
        """One TAP line, after what explains it."""
        for line in why.splitlines():
            print("# " + line)
        print("%s %s" % (word, name), flush=True)
        self.ended += 1

    def pytest_sessionfinish(self, exitstatus):
        """No plan, which is a failure, where pytest did not come to its end."""
        if exitstatus <= pytest.ExitCode.TESTS_FAILED:
            print("1..%d" % self.ended)
