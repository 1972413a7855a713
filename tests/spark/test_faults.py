"""Processes of a run are killed at random moments. The fit names the cause, or starts again and gives the model of an
undisturbed run; nothing is left behind. SPARK_TEST_FAULTS says how many times (30 in make check-spark)."""
import os
import random
import re
import signal
import threading
import time

import pytest
from conftest import ALL, MASTER, clean, folders, frame, memory_files, processes, ranks, until
from pyspark.errors import PySparkException

import parley.spark

TIMES = int(os.environ.get("SPARK_TEST_FAULTS", "30" if ALL else "2"))
LONG = {"loss": "logistic", "preset": "cocoa", "lambda_": 1e-6, "gap": 0, "workers": 2, "exchange_delay": 0.01}
CAUSES = r"rank \d+ (on \S+ )?was lost|the task.* was lost|Python worker exited|ExecutorLost|ancelled|its process ended"


def natives():
    return [pid for pid in processes("parley", "--row-order content") if "launch" not in words_of(pid)]


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []


VICTIMS = {
    "native process": natives,
    "Python worker": lambda: [int(pid) for pid in set(memory_files()) if "pyspark" in " ".join(words_of(pid))],
    "executor": lambda: processes("CoarseGrainedExecutorBackend"),
}
KINDS = [kind for kind in VICTIMS if kind != "executor" or MASTER != "local[2]"]


class Run(threading.Thread):
    """A fit beside the test."""

    def __init__(self, df, **words):
        super().__init__(daemon=True)
        self.df, self.words, self.model, self.error = df, words, None, None
        self.start()

    def run(self):
        try:
            self.model = parley.spark.train(self.df, **self.words)
        except BaseException as cause:
            self.error = cause

    def end(self, seconds=150):
        self.join(seconds)
        assert not self.is_alive(), "the fit hangs"
        return self


@pytest.fixture(scope="module")
def rows(spark):
    return frame(spark, "two", rows=200)


def strike(draw, kind):
    """Kills a process of this kind, if there is one; returns whether it did."""
    found = VICTIMS[kind]()
    if not found:
        return False
    try:
        os.kill(draw.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def wait_for_executors(spark):
    """A lost executor is replaced."""
    from parley.spark._session import Cluster

    assert until(lambda: Cluster(spark.sparkContext).slots() >= 2, 60), "the executors have not come back"


@pytest.mark.parametrize("number", range(TIMES))
def test_a_killed_process_is_named(spark, rows, number):
    draw = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    wait_for_executors(spark)
    run = Run(rows, **LONG, rounds=100000)
    assert until(lambda: ranks() or memory_files() or run.error, 60)
    struck = False
    time.sleep(2 * draw.random())
    while not struck and run.is_alive():
        struck = strike(draw, kind)
        time.sleep(0.02)
    run.end()
    assert struck and isinstance(run.error, PySparkException), repr(run.error)
    assert re.search(CAUSES, str(run.error)), str(run.error)[:500]
    assert clean() == ([], []), kind


@pytest.mark.parametrize("number", range(max(1, TIMES // 3)))
def test_a_killed_process_is_replaced(spark, rows, number, tmp_path):
    draw = random.Random(100 + number)
    kind = KINDS[number % len(KINDS)]
    wait_for_executors(spark)
    words = {**LONG, "rounds": 150}
    whole = parley.spark.train(rows, **words)
    run = Run(rows, **words, checkpointDir=tmp_path / "checkpoints", checkpointEvery="10r", maxRestarts=4)
    assert until(lambda: list(tmp_path.glob("checkpoints/round-*")) or run.error, 90), repr(run.error)
    struck = until(lambda: strike(draw, kind) or not run.is_alive(), 20)
    run.end()
    assert run.model is not None, repr(run.error)
    assert run.model.to_bytes() == whole.to_bytes() and struck and run.model.parley["restarts"] >= 1
    assert clean() == ([], []), kind


def test_a_cancelled_job_ends(spark, rows):
    run = Run(rows, **LONG, rounds=100000, maxRestarts=3)
    assert until(natives, 60) and folders()
    spark.sparkContext.cancelAllJobs()
    run.end(60)
    assert "ancelled" in str(run.error), repr(run.error)
    assert clean() == ([], [])


def test_strangers_are_turned_away(spark, rows):
    """A connection without the secret costs nothing and learns nothing."""
    import socket

    from parley.spark import _driver

    made = []
    start = _driver.Driver.start

    def noted(self, tasks):
        made.append(self)
        return start(self, tasks)

    _driver.Driver.start = noted
    try:
        run = Run(rows, **LONG, rounds=200)
        assert until(lambda: made, 60)
        answers = []
        for said in (b"GET / HTTP/1.0\r\n\r\n", b"\0" * 64, b""):
            with socket.create_connection(tuple(made[0].plan()["address"]), timeout=10) as stranger:
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
                answers.append(stranger.recv(100))
        assert answers == [b"", b"", b""]
        assert run.end().model is not None, repr(run.error)
    finally:
        _driver.Driver.start = start


@pytest.mark.skipif(not ALL, reason="a long test: make check-spark")
def test_a_stopped_context_ends(spark, rows):
    """The last test of this file, since it stops the session."""
    run = Run(rows, **LONG, rounds=100000)
    assert until(natives, 60)
    spark.stop()
    run.end(60)
    assert run.error is not None and clean() == ([], [])
