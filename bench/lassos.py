"""Tables of L1 penalties: the lasso and L1 logistic regression at one lambda, and the path over a hundred."""

import json
import re
import statistics
import subprocess
from pathlib import Path

import numpy as np
import scipy.io
from safetensors.numpy import load_file

from evaluate import null_objective, objective
from harness import RACE_HEAD, markdown, median_ratio, race_rows, ratio, spread
from peers import LADDER, TARGET, Liblinear, Outcome, Parley, PythonPeer, clocked

GLMNET = Path(__file__).with_name("glmnet_peer.R")
BELOW = 20  # lambda is the smallest at which the solution is zero, divided by this
LAMBDAS = 100
FEW = 3  # repetitions: the peers are slow
LASSOS = [("dorothea", "squared", 1.5), ("ratings", "squared", 4.0)]
LOGISTICS = [("imdb", "logistic", 2.0), ("dorothea", "logistic", 2.0)]


class Glmnet:
    """glmnet in R with the matrix in memory. Its threshold comes from a ladder."""

    name, ordered = "glmnet", True
    ladder = "1e-5 1e-7 1e-9 1e-11 1e-13".split()

    def __init__(self, data, loss, lambdas, folder):
        self.family = "gaussian" if loss == "squared" else "binomial"
        self.matrix, self.labels, self.lambdas = (folder / f"{data.name}.{end}" for end in ("mtx", "y", "lambdas"))
        self.out = folder / "glmnet.mtx"
        x, y = data.rows
        if not self.matrix.exists():
            scipy.io.mmwrite(self.matrix, x)
            np.savetxt(self.labels, y)
        np.savetxt(self.lambdas, lambdas)

    def run(self, setting):
        files = [self.matrix, self.labels, self.lambdas, self.out]
        _, text = clocked(["Rscript", "--vanilla", GLMNET, self.family, setting, *files])
        coefs = np.asarray(scipy.io.mmread(self.out).todense()).T
        return Outcome(None, coefs[0] if len(coefs) == 1 else coefs, None, float(re.search(r"seconds (\S+)", text)[1]))

    def label(self, setting):
        return f"thresh {setting}"


class ParleyPath:
    """`parley path` on the given lambdas."""

    name = "Parley"

    def __init__(self, binary, data, loss, lambdas, folder, gap):
        self.model, self.setting = folder / "path.safetensors", f"--gap {gap:g}"
        self.command = [binary, "path", data.path, "--loss", loss, "--l1-ratio", 1, "--intercept", "none"]
        self.command += ["--threads", 2, "--gap", gap, "--lambda-list", ",".join(f"{value:.17g}" for value in lambdas)]
        self.command += ["--full-path", "--model", self.model, "--json", "--quiet"]

    def run(self, setting=None):
        total, text = clocked(self.command)
        seconds = json.loads(text)["seconds"]
        solve = sum(seconds[part] for part in ("setup", "compute", "exchange", "wait", "evaluate"))
        return Outcome(total, load_file(self.model)["coef"], seconds["read"], solve)


def race_l1(bench, name, loss):
    data = bench.data(name)
    lam = data.lambda_max(loss) / BELOW
    strength = 1.0 / (lam * data.rows[0].shape[0])  # C

    def peer(title, system, value):
        return PythonPeer(title, f"{system}:{value:.17g}", data.path, bench.folder, LADDER)

    def parley(*flags):
        flags = ("--threads", 2, "--lambda", f"{lam:.17g}", "--l1-ratio", 1, *flags)
        return Parley(bench.parley, data.path, loss, bench.folder, flags)

    if loss == "squared":
        peers = [peer("celer", "celer-lasso", lam), peer("scikit-learn", "lasso", lam)]
    else:
        peers = [
            Liblinear(data.path, data.rows[0].shape[1], 6, bench.folder, ("-c", f"{strength:.17g}")),
            peer("scikit-learn liblinear", "liblinear-l1", strength),
            peer("celer", "celer-logistic", strength),
        ]
    peers.append(Glmnet(data, loss, [lam], bench.folder))
    ours = parley("--gap", TARGET)
    ours.setting = f"--gap {TARGET}"
    strict = [parley("--gap", 1e-10, "--seconds", 30).run]
    return bench.race((name, loss, "l1"), data.problem(loss, lam, 1.0), ours, peers, strict, FEW, warm=True)


def table_lasso(bench):
    """Lasso and L1 logistic regression"""
    rows = []
    for name, loss, wanted in LASSOS + LOGISTICS:
        race, title = race_l1(bench, name, loss), f"{bench.data(name).title} {loss}"
        rows += race_rows(title + ", solve", race, "solve")
        if loss == "logistic":
            rows += race_rows(title + ", file to model", {key: race[key] for key in ("Parley", "LIBLINEAR -s 6")}, "total")
            bench.aim(
                f"{name} L1 logistic, file to model, against LIBLINEAR -s 6",
                median_ratio(race, "LIBLINEAR -s 6", "total"),
                wanted,
            )
        else:
            bench.aim(f"{name} lasso, solve, against celer", median_ratio(race, "celer", "solve"), wanted)
    text = (
        f"lambda is 1/{BELOW} of the smallest at which the solution is zero; no intercept, no standardisation. Solving alone as "
        "above. Parley's time includes transposing the matrix, the peers' times do not. glmnet runs as "
        "`glmnet(x, y, lambda = ...)` with a threshold from a ladder. Each is timed right after an uncounted warm-up run.\n\n"
    )
    return text + markdown(RACE_HEAD, rows)


def worst(problem, lambdas, best, coefs):
    """The largest sub-optimality over a path, relative to the objective at w = 0."""
    found = []
    for lam, low, w in zip(lambdas, best, coefs, strict=True):
        problem.lam = lam
        found.append((objective(problem, w) - low) / null_objective(problem))
    return max(found)


def best_of_path(problem, lambdas, coefs):
    values = []
    for lam, w in zip(lambdas, coefs, strict=True):
        problem.lam = lam
        values.append(objective(problem, w))
    return values


def race_path(bench, name, loss):
    """Races the paths. Parley's gap is the largest power of ten with which it comes as near as glmnet at its default."""
    data = bench.data(name)
    top = data.lambda_max(loss)
    lambdas = top * np.logspace(0, -2, LAMBDAS + 1)[1:]
    problem = data.problem(loss, top, 1.0)
    glmnet = Glmnet(data, loss, lambdas, bench.folder)
    strict = ParleyPath(bench.parley, data, loss, lambdas, bench.folder, 1e-9).run()
    best = best_of_path(problem, lambdas, strict.w)
    reached = worst(problem, lambdas, best, glmnet.run("1e-7").w)
    for gap in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        ours = ParleyPath(bench.parley, data, loss, lambdas, bench.folder, gap)
        if worst(problem, lambdas, best, ours.run().w) <= reached:
            break
    runs = bench.repeat({"Parley": ours.run, "glmnet": lambda: glmnet.run("1e-7")}, warm=True, most=FEW)
    labels = {"Parley": ours.setting, "glmnet": glmnet.label("1e-7")}
    return {key: (labels[key], found, worst(problem, lambdas, best, found[-1].w)) for key, found in runs.items()}


def table_path(bench):
    """A path of a hundred lambdas"""
    rows = []
    for name, loss in (("dorothea", "squared"), ("ratings", "squared"), ("imdb", "logistic")):
        race = race_path(bench, name, loss)
        ours = [run.solve for run in race["Parley"][1]]
        for system, (label, runs, reached) in race.items():
            times = [run.solve for run in runs]
            title = f"{bench.data(name).title} {loss}"
            rows.append([title, system, label, f"{reached:.0e}", spread(times), ratio(times, ours)])
        bench.aim(f"{name} {loss}, path of {LAMBDAS} lambdas, against glmnet", median_ratio(race, "glmnet", "solve"), 3)
    text = (
        f"{LAMBDAS} lambdas from the smallest with a zero solution down to a hundredth of it, data in memory. glmnet has its default "
        "threshold, Parley the largest power of ten as gap that comes as near. *Reached* is the worst over the path. Each "
        "is timed right after an uncounted warm-up run.\n\n"
    )
    return text + markdown(RACE_HEAD, rows)
