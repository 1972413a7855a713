"""The contestants. Each solves one problem in a new process and returns its time and result."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evaluate import read_liblinear, read_parley

PYTHON_PEER = Path(__file__).with_name("python_peer.py")
TARGET = 1e-6  # P - P* over P at w = 0
PATIENCE = 60  # seconds in which a peer must start, read and fit twice
# Half decades, from looser than any default. A coarser ladder would make peers do more work than needed.
LADDER = "1e-1 1e-2 3e-3 1e-3 3e-4 1e-4 3e-5 1e-5 3e-6 1e-6 1e-7 1e-8 1e-9".split()
LIBLINEAR_LADDER = "3 1 3e-1 1e-1 3e-2 1e-2 3e-3 1e-3 3e-4 1e-4 3e-5 1e-5 1e-6 1e-7".split()
SNAPML_LADDER = "1e-1 3e-2 1e-2 3e-3 1e-3 3e-4 1e-4 1e-5 1e-6 3e-7 1e-7 1e-8".split()


@dataclass
class Outcome:
    total: float  # seconds, file to model
    w: np.ndarray
    read: float | None = None
    solve: float | None = None
    summary: dict = field(default_factory=dict)


def clocked(command, limit=None):
    """Runs a new process; returns its wall time and standard output. Raises TimeoutExpired after `limit` seconds."""
    began = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return seconds, done.stdout


class Parley:
    """`parley train` with two threads and a relative gap of 1e-6."""

    name, ladder = "Parley", None

    def __init__(self, binary, data, loss, folder, flags=("--threads", 2, "--gap", TARGET)):
        self.model = folder / "parley.safetensors"
        self.command = [
            binary,
            "train",
            data,
            "--loss",
            loss,
            "--intercept",
            "none",
            *flags,
            "--json",
            "--quiet",
            "--model",
            self.model,
        ]
        self.setting = " ".join(str(flag) for flag in flags)

    def run(self, setting=None):
        total, text = clocked(self.command)
        summary = json.loads(text)
        seconds = summary["seconds"]
        solve = sum(seconds[part] for part in ("setup", "compute", "exchange", "wait", "evaluate"))
        return Outcome(total, read_parley(self.model)[0], seconds["read"], solve, summary)


class Liblinear:
    """`liblinear-train -s SOLVER` with a tolerance from a ladder."""

    ladder, ordered = LIBLINEAR_LADDER, True

    def __init__(self, data, columns, solver, folder, flags=("-c", 1)):
        self.name, self.data, self.columns = f"LIBLINEAR -s {solver}", data, columns
        self.model, self.flags = folder / "liblinear.model", ["-s", solver, *flags]

    def run(self, setting):
        total, _ = clocked(["liblinear-train", *self.flags, "-e", setting, "-q", self.data, self.model])
        return Outcome(total, read_liblinear(self.model, self.columns))

    def label(self, setting):
        return f"-e {setting}"


class PythonPeer:
    """Snap ML or scikit-learn, with scikit-learn's reader."""

    def __init__(self, name, system, data, folder, ladder, word="tol"):
        """`word` names the setting that the ladder varies. Tolerances come loosest first."""
        self.name, self.system, self.data, self.ladder, self.word = name, system, data, ladder, word
        self.out, self.ordered = folder / "peer.npy", word == "tol"

    def run(self, setting):
        _, text = clocked([sys.executable, PYTHON_PEER, self.system, self.data, self.out, setting], PATIENCE)
        times = json.loads(text)
        fit = times["fits"][0]
        total = times["read"] + fit["first"]
        return Outcome(total, np.load(self.out)[0], times["read"], min(fit["first"], fit["second"]))

    def label(self, setting):
        return f"{self.word} {setting}"


def tune(peer, reached):
    """Chooses the setting to race with: the loosest of an ordered ladder, or the fastest of an unordered one, that
    reaches the target, or else the one that comes nearest. `reached` returns the relative sub-optimality of a w.
    """
    tried = []
    for setting in peer.ladder:
        try:
            outcome = peer.run(setting)
        except subprocess.TimeoutExpired:
            break
        tried.append((reached(outcome.w), outcome.solve or outcome.total, setting))
        if peer.ordered and tried[-1][0] <= TARGET:
            break
    good = [row for row in tried if row[0] <= TARGET]
    return min(good, key=lambda row: row[1])[2] if good else min(tried)[2]


def reading_liblinear(data, folder):
    """Seconds that LIBLINEAR takes to read: an invalid tolerance ends it right after reading. The time for a file of one
    line, which is its start-up, is subtracted."""
    line = folder / "line.svm"
    with open(data) as whole:
        line.write_text(whole.readline())

    def seconds(path):
        began = time.perf_counter()
        done = subprocess.run(["liblinear-train", "-e", "-1", path, folder / "none"], capture_output=True, text=True)
        if "eps <= 0" not in done.stderr:
            raise RuntimeError(f"liblinear-train did not stop after reading: {done.stderr}")
        return time.perf_counter() - began

    return seconds(data) - seconds(line)
