"""Runs the binary under test and checks what every run must satisfy."""

import json
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from oracle import objective
from evaluate import null_objective, read_parley

CERTAIN = 3e-7  # largest relative gap of an oracle
OPTIMAL = 1e-6  # largest relative distance of a model from the optimum
EQUAL = 1e-9  # largest relative difference between the reported and the evaluated objective
ROUNDING = 1e-9  # the core rounds values, and differences from the mean of a column, to 32-bit floats


class Failed(AssertionError):
    """A run failed; the message says how."""


class Skipped(Exception):
    """A case could not run; the message says why."""


def demand(truth, sentence):
    if not truth:
        raise Failed(sentence)


@dataclass
class Run:
    code: int
    summary: dict
    rounds: list
    w: np.ndarray
    b: float
    command: str


@lru_cache(maxsize=16)
def svm_text(data, indices, indptr, y):
    """LIBSVM text of rows whose arrays are given as bytes, so that many cases share one text."""
    data, indices = np.frombuffer(data).tolist(), np.frombuffer(indices, np.int32).tolist()
    indptr = np.frombuffer(indptr, np.int32).tolist()
    words = [f"{index + 1}:{value:.9g}" for index, value in zip(indices, data)]
    rows = (" ".join(words[begin:end]) for begin, end in zip(indptr, indptr[1:]))
    return "".join(f"{label:.17g} {row}\n" for label, row in zip(np.frombuffer(y).tolist(), rows))


def write_svm(path, x, y):
    """Writes LIBSVM text with float32 values that read back exactly."""
    arrays = (x.data, float), (x.indices, np.int32), (x.indptr, np.int32), (y, float)
    Path(path).write_text(svm_text(*(np.asarray(array, kind).tobytes() for array, kind in arrays)))


def start(parley, arguments, stdin=None):
    """Runs a command, whose standard output must be empty or one JSON object."""
    return subprocess.run([parley, *map(str, arguments)], stdin=stdin, capture_output=True, text=True, timeout=300)


def train(parley, data, folder, *arguments, codes=(0,), stdin=None):
    """Trains and reads back all output."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model, log = folder / "model.safetensors", folder / "log.jsonl"
    arguments = ["train", data, *arguments, "--json", "--quiet", "--model", model, "--log", log]
    done = start(parley, arguments, stdin)
    command = " ".join(["parley train", Path(data).name, *map(str, arguments[2:-6])])
    reason = done.stderr.strip().splitlines()[-1:] or [done.stdout.strip()[:400]]
    demand(done.returncode in codes, f"{command}: exit code {done.returncode}: {reason[0]}")
    w, b, _ = read_parley(model)
    rounds = [json.loads(line) for line in log.read_text().splitlines()]
    rounds = [line for line in rounds if line["event"] == "round"]
    return Run(done.returncode, json.loads(done.stdout), rounds, w, b, command)


def check_certificate(run, problem, best):
    """Checks that every reported gap bounds the distance to the optimum, and that the summary is right."""
    scale = null_objective(problem)
    for line in run.rounds:
        if line["objective"] is None or line["gap"] is None:
            continue
        above = line["objective"] - best
        demand(
            above <= line["gap"] + ROUNDING * scale,
            f"{run.command}: round {line['round']}: gap {line['gap']:.3e}, but {above:.3e} above the optimum",
        )
    found = objective(problem, run.w, run.b)
    demand(
        abs(found - run.summary["objective"]) <= EQUAL * scale,
        f"{run.command}: reports objective {run.summary['objective']:.12g}, its model has {found:.12g}",
    )
    demand(
        found - best <= run.summary["gap"] + EQUAL * scale,
        f"{run.command}: gap {run.summary['gap']:.3e}, but {found - best:.3e} above the optimum",
    )


def check_optimum(run, problem, best):
    """Checks the certificate, and that the model reaches the target gap."""
    check_certificate(run, problem, best)
    relative = (objective(problem, run.w, run.b) - best) / null_objective(problem)
    demand(
        run.summary["status"] == "converged",
        f"{run.command}: {run.summary['status']} after {run.summary['rounds']} rounds at relative gap "
        f"{run.summary['relative_gap']:.1e}, {relative:.1e} above the optimum",
    )
    demand(relative <= OPTIMAL, f"{run.command}: {relative:.2e} above the optimum, relative")
