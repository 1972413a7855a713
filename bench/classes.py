"""Several classes, and ridge with many columns."""

import numpy as np

from evaluate import Problem
from harness import RACE_HEAD, markdown, median_ratio, race_rows
from peers import SNAPML_LADDER, Parley, PythonPeer

# Near the values that reach the target, because every rung takes many seconds.
SOFTMAX_LADDERS = {
    "lbfgs": "1e-5 3e-6 1e-6 1e-7".split(),
    "newton-cg": "1e-4 1e-5 3e-6 1e-6".split(),
    "sag": "1e-2 3e-3 1e-3 3e-4 1e-4".split(),
}
RIDGE_LADDER = [f"{solver} {tolerance}" for solver in ("sparse_cg", "lsqr") for tolerance in ("1e-3", "1e-4", "1e-5")]
FEW = 3  # repetitions: the peers are slow


def race_softmax(bench):
    data = bench.data("20news")
    x, y = data.rows
    problem = Problem(x, np.unique(y, return_inverse=True)[1], "softmax", 1.0 / len(y))
    peers = [
        PythonPeer(f"scikit-learn {solver}", f"softmax-{solver}", data.path, bench.folder, ladder)
        for solver, ladder in SOFTMAX_LADDERS.items()
    ]
    ours = Parley(bench.parley, data.path, "softmax", bench.folder)
    strict = Parley(bench.parley, data.path, "softmax", bench.folder, ("--threads", 2, "--gap", 1e-9, "--seconds", 60))
    return bench.race(("20news", "softmax"), problem, ours, peers, [strict.run], FEW)


def race_ridge(bench):
    data = bench.data("ratings")
    peers = [
        PythonPeer("scikit-learn Ridge", "ridge", data.path, bench.folder, RIDGE_LADDER, "solver"),
        PythonPeer("Snap ML", "snapml-ridge", data.path, bench.folder, SNAPML_LADDER),
    ]
    ours = Parley(bench.parley, data.path, "squared", bench.folder)
    strict = Parley(bench.parley, data.path, "squared", bench.folder, ("--threads", 2, "--gap", 1e-10, "--seconds", 60))
    return bench.race(("ratings", "squared"), data.problem("squared"), ours, peers, [strict.run], FEW)


def table_classes(bench):
    """Several classes, and ridge with many columns"""
    softmax, ridge = race_softmax(bench), race_ridge(bench)
    rows = race_rows(f"{bench.data('20news').title} softmax", softmax, "solve")
    rows += race_rows(f"{bench.data('ratings').title} squared", ridge, "solve")
    best = min(median_ratio(softmax, name, "solve") for name in softmax if name != "Parley")
    bench.aim("20news softmax, solve, against scikit-learn's best solver", best, 5)
    text = "Solve alone, two threads, no intercept, lambda = 1/n. A peer that exceeds the time limit on a rung of its ladder skips the rest.\n\n"
    return text + markdown(RACE_HEAD, rows)
