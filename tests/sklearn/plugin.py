"""A plugin of pytest for run.py: leaves out the tests that it is told to, bounds each of the others by the time that a
processor works for it, and writes how each ended to a file, one JSON list per line."""
import json
import os
import signal
import time

import pytest

SECONDS = 60  # of a processor, for one test

left_out = set()
worst = {}  # by test: passed, skipped or failed, with the last line of why


def pytest_configure(config):
    left_out.update(json.loads(os.environ["PARLEY_LEFT_OUT"]))
    signal.signal(signal.SIGPROF, too_long)


def too_long(_signal, _frame):
    raise TimeoutError(f"a processor worked longer than {SECONDS} s for this test")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    gone = [item for item in items if {item.nodeid, item.nodeid.partition("[")[0]} & left_out]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item not in set(gone)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    with open(os.environ["PARLEY_ENDED"], "a", encoding="utf-8") as file:
        print(json.dumps([item.nodeid, *worst[item.nodeid], time.process_time() - began]), file=file)


def pytest_runtest_logreport(report):
    ended, said = worst.get(report.nodeid, ("passed", ""))
    if report.failed or (report.skipped and ended == "passed"):
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")] if report.failed else []
        ended, said = report.outcome, lines[0][1:].strip() if lines else ""
    worst[report.nodeid] = ended, said
