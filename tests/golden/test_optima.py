#!/usr/bin/env python3
"""Golden optima: test_optima.py build/parley [words]. Runs the cases whose names contain all of the words.

Every case is a function that returns nothing, raises Failed, or raises Skipped. Optima come from oracle.py or,
for real data sets, from LIBLINEAR with the command beside the number.
"""

import gzip
import hashlib
import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from functools import lru_cache, partial
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # cases run in parallel
sys.dont_write_bytecode = True

import numpy as np
import scipy.sparse as sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_svmlight_file
from sklearn.linear_model import QuantileRegressor

from classes import class_cases
from oracle import fingerprint, loss_slopes, optimum, solve_smooth
from around import around_cases
from inference import inference_cases
from limits import limit_cases
from matrix import FLAGS, WIDTHS, listed, listed_losses, matrix_cases, rows, write_rows
from product import (
    CERTAIN,
    OPTIMAL,
    Failed,
    Skipped,
    check_certificate,
    check_optimum,
    demand,
    start,
    train,
    write_svm,
)
from metrics import metric_cases
from offsets import offset_cases
from refusals import refusal_cases
from evaluate import LOG_LINK, REAL_LOSSES, Problem, null_objective, objective, read_liblinear

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
LOSSES = ("squared", "logistic", "hinge", "squared-hinge", "huber", "epsilon-insensitive", "squared-epsilon-insensitive", "quantile", "poisson", "gamma", "tweedie")
KINKED = ("hinge", "epsilon-insensitive", "quantile")


# Data sets of scikit-learn, and sparse ones with empty rows. Values are float32, as Parley stores them.


def as_stored(x):
    x = sparse.csr_matrix(x).astype(np.float32).astype(np.float64)
    x.eliminate_zeros()
    x.sort_indices()
    return x


@lru_cache
def breast_cancer(scaled):
    x, y = load_breast_cancer(return_X_y=True)
    return as_stored((x - x.mean(0)) / x.std(0) if scaled else x), np.where(y > 0, 1.0, -1.0)


@lru_cache
def diabetes():
    x, y = load_diabetes(return_X_y=True)
    return as_stored(x), y


@lru_cache
def noisy():
    """Two labels that no hyperplane separates."""
    x, y = diabetes()
    return x, np.where(y + 60 * np.random.default_rng(4).normal(size=len(y)) > 150, 1.0, -1.0)


@lru_cache
def sparse_rows(real):
    """300 rows, of which ten are empty, and 400 columns, more than those for which Newton's method is chosen."""
    random = np.random.default_rng(5)
    x = sparse.random(300, 400, 0.05, random_state=2, format="lil")
    x[::30] = 0
    x[0, 399] = 1.0
    x = as_stored(x)
    z = x @ random.normal(size=400) + 0.5 + 0.3 * random.normal(size=300)
    return x, z if real else np.where(z > 0.5, 1.0, -1.0)


@lru_cache
def table(loss):
    """Two columns of categories, most of which have few rows, and numbers of very different scale."""
    random = np.random.default_rng(11)
    count, cities, jobs = 450, 230, 12
    city, job = random.integers(0, cities, count), random.integers(0, jobs, count)
    numbers = np.column_stack((random.normal(size=count), random.normal(size=count), 5e3 * random.random(count)))
    score = numbers @ [1.0, -0.5, 3e-4] + 0.4 * np.sin(city) + 0.3 * (job % 3) + random.normal(size=count)
    one = np.ones(count)
    indicators = [sparse.csr_matrix((one, (range(count), which)), (count, size)) for which, size in ((city, cities), (job, jobs))]
    x = sparse.hstack([*indicators, as_stored(numbers)]).tocsr()
    binary = loss in ("logistic", "hinge", "squared-hinge")
    return x, np.where(score > np.median(score), 1.0, -1.0) if binary else np.round(score - score.min(), 3)


def positive(name, loss):
    """Labels whose mean depends on the rows, up to 50 for the sparse rows and 1000 for the others: counts, sizes, or sums
    of sizes, some of them 0."""
    x, y = sparse_rows(True) if name == "sparse" else diabetes()
    mean = np.exp(y + 1.0) if name == "sparse" else np.exp(y / 50.0)
    random = np.random.default_rng(6)
    if loss == "gamma":
        return x, random.gamma(2.0, mean / 2.0)
    labels = random.poisson(mean).astype(float)
    return x, labels if loss == "poisson" else random.gamma(2.0 * labels) / 2.0


def data_for(name, loss):
    if loss in LOG_LINK:
        return positive(name, loss)
    if name == "sparse":
        return sparse_rows(loss in REAL_LOSSES)
    return diabetes() if loss in REAL_LOSSES else breast_cancer(True)


def width_for(name, loss):
    """In units of the labels: where about half of the rows are beyond it. A level or a power
    has no unit."""
    return WIDTHS.get(loss, 0.0) * (1.0 if name == "small" or loss in ("quantile", "tweedie") else 0.01)


def draw_weights(count):
    """Random weights, a quarter of them zero."""
    return np.random.default_rng(3).integers(0, 4, count) * 0.75


def write_problem(problem, folder):
    """Writes the data file; returns the flags that define the problem."""
    write_svm(folder / "data.svm", problem.x, problem.y)
    flags = ["--loss", problem.loss, "--lambda", repr(problem.lam), "--intercept", problem.intercept]
    flags += ["--l1-ratio", problem.rho]
    if problem.width:
        flags += [FLAGS[problem.loss], problem.width]
    if problem.weights is not None:
        np.savetxt(folder / "weights.txt", problem.weights)
        flags += ["--weights", folder / "weights.txt"]
    return folder / "data.svm", flags


# Cases


def methods(problem):
    """The methods that solve every problem."""
    yield "auto", []
    yield "cocoa+ lanes", ["--preset", "cocoa+", "--local", "sdca", "--lanes", 2]
    yield "cocoa+ workers", ["--preset", "cocoa+", "--local", "sdca", "--workers", 3]
    yield "newton", ["--preset", "newton", "--workers", 2]
    if problem.loss not in KINKED and problem.rho == 0:
        yield "truncated", ["--preset", "newton", "--combine", "truncated", "--workers", 2, "--lanes", 2]
    if problem.loss not in KINKED:
        yield "lbfgs", ["--preset", "lbfgs", "--workers", 3]


def reaches_the_oracles_optimum(parley, folder, problem, flags):
    best, bound = optimum(problem)
    demand(best - bound <= CERTAIN * null_objective(problem), f"the oracle is not certain: {best - bound:.1e}")
    data, common = write_problem(problem, folder)
    run = train(parley, data, folder, *common, *flags, "--gap", 1e-6)
    check_optimum(run, problem, best)


def reaches_the_unpenalised_optimum(parley, folder, problem):
    best, _ = optimum(problem)
    data, common = write_problem(problem, folder)
    run = train(parley, data, folder, *common, "--gap", 1e-6)
    relative = (objective(problem, run.w, run.b) - best) / null_objective(problem)
    demand(relative <= OPTIMAL, f"{run.command}: {relative:.2e} above the optimum, relative")


def comes_near_the_optimum(parley, folder, problem, flags, within):
    """Averaged steps come within `within` of the optimum, relative to P at w = 0, after 200 rounds."""
    best, _ = optimum(problem)
    data, common = write_problem(problem, folder)
    run = train(parley, data, folder, *common, *flags, "--gap", 1e-6, "--rounds", 200, codes=(0, 3))
    relative = (objective(problem, run.w, run.b) - best) / null_objective(problem)
    demand(relative <= within, f"{run.command}: {relative:.2e} above the optimum, relative")


def bounds_the_distance_every_round(parley, folder, problem, flags):
    best, _ = optimum(problem)
    data, common = write_problem(problem, folder)
    run = train(
        parley,
        data,
        folder,
        *common,
        *flags,
        "--gap",
        1e-6,
        "--rounds",
        40,
        "--evaluate-every",
        1,
        codes=(0, 3),
    )
    check_certificate(run, problem, best)
    demand(len(run.rounds) <= 40, f"{run.command}: {len(run.rounds)} rounds")


def reaches_the_optimum_without_a_penalty(parley, folder, problem, flags):
    """There is no dual and no certificate; the gradient of the oracle bounds its error."""
    w, b = solve_smooth(problem)
    z = problem.x @ w + b
    slope = problem.x.T @ (problem.share * loss_slopes(problem.loss, z, problem.y, problem.width))
    demand(np.abs(slope).max() <= 1e-7, f"the oracle is not certain: {np.abs(slope).max():.1e}")
    data, common = write_problem(problem, folder)
    run = train(parley, data, folder, *common, *flags, "--gap", 1e-6)
    demand(run.summary["status"] == "converged" and run.summary["gap"] is None, f"{run.command}: not converged")
    above = (objective(problem, run.w, run.b) - objective(problem, w, b)) / null_objective(problem)
    demand(above <= OPTIMAL, f"{run.command}: {above:.2e} above the optimum, relative")


def comes_near_the_linear_program(parley, folder, level):
    """scikit-learn 1.9.1: QuantileRegressor(quantile=level, alpha=0, solver="highs"). It has no L2 penalty, so Parley's is
    small, and no more than that of scikit-learn's model is lost by it."""
    x, y = rows("quantile", False)
    model = QuantileRegressor(quantile=level, alpha=0, solver="highs").fit(x.toarray(), y)
    problem = Problem(x, y, "quantile", 1e-8, 0.0, "free", width=level)
    data, common = write_problem(problem, folder)
    run = train(parley, data, folder, *common, "--gap", 1e-6)
    found, best = (objective(problem, w, b) for w, b in ((run.w, run.b), (model.coef_, model.intercept_)))
    demand(found - best <= 1e-6 * null_objective(problem), f"{run.command}: {found - best:.2e} above the linear program")


def refuses(parley, folder, problem, flags):
    data, _ = write_problem(problem, folder)
    done = start(parley, ["train", data, "--loss", problem.loss, *flags, "--model", folder / "model.safetensors"])
    demand(done.returncode == 2, f"{' '.join(map(str, flags))}: exit code {done.returncode}, not 2")


def grid_cases():
    for loss, name, kind, weighted, rho in itertools.product(
        LOSSES, ("small", "sparse"), ("free", "penalised", "none"), (False, True), (0.0, 0.5)
    ):
        x, y = data_for(name, loss)
        lam = 1.0 / len(y) if name == "sparse" else 1e-2
        problem = Problem(x, y, loss, lam, rho, kind, draw_weights(len(y)) if weighted else None)
        problem.width = width_for(name, loss)
        words = f"{loss} {name} intercept {kind}{' weights' if weighted else ''}{' elastic net' if rho else ''}"
        for method, flags in methods(problem):
            if name == "small" and method == "auto":
                continue  # covered by the matrix
            yield f"{words}: {method}", partial(reaches_the_oracles_optimum, problem=problem, flags=flags)


def column_cases():
    """Coordinate descent on columns with every smooth loss, penalty and intercept, and various numbers of workers."""
    for loss, name, kind, weighted, rho in itertools.product(
        ("squared", "logistic", "squared-hinge", "huber"),
        ("small", "sparse"),
        ("free", "penalised", "none"),
        (False, True),
        (0.0, 0.5, 1.0),
    ):
        x, y = data_for(name, loss)
        lam = 1.0 / len(y) if name == "sparse" else 1e-2
        problem = Problem(x, y, loss, lam, rho, kind, draw_weights(len(y)) if weighted else None)
        problem.width = width_for(name, loss)
        words = f"columns: {loss} {name} intercept {kind}{' weights' if weighted else ''} l1 ratio {rho}"
        for workers in (1, 4, 7):
            flags = ["--preset", "cocoa+", "--local", "scd", "--workers", workers]
            yield f"{words}: {workers} workers", partial(reaches_the_oracles_optimum, problem=problem, flags=flags)
        for preset in ("cocoa", "minibatch-cd"):
            flags = ["--preset", preset, "--local", "scd", "--workers", 3]
            yield f"{words}: {preset} bounds the distance every round", partial(
                bounds_the_distance_every_round, problem=problem, flags=flags
            )


def wide_cases():
    """Dense rows and more columns than rows: dual ascent, and lasso whose support is nearly as large as the rows."""
    rng = np.random.default_rng(6)
    x = as_stored(rng.standard_normal((60, 240)))
    z = x @ (rng.standard_normal(240) * (rng.random(240) < 0.3)) + rng.standard_normal(60)
    columns = ["--preset", "cocoa+", "--local", "scd"]
    for kind, rho in itertools.product(("free", "none"), (1.0, 0.9)):
        yield f"squared dense wide l1_ratio {rho} intercept {kind}: scd", partial(
            reaches_the_oracles_optimum, problem=Problem(x, z, "squared", 0.05, rho, kind), flags=columns
        )
    for loss in ("logistic", "squared-hinge"):
        yield f"{loss} dense wide: auto", partial(
            reaches_the_oracles_optimum, problem=Problem(x, np.sign(z), loss, 1e-2, intercept="free"), flags=[]
        )


def heavy_cases():
    """Counts of which a few are far above the mean, and more columns than rows: truncated Newton from w = 0."""
    rng = np.random.default_rng(8)
    x = sparse.random(120, 300, 0.06, random_state=3, format="csr")
    x.data = np.floor(rng.pareto(1.2, x.nnz)) + 1
    x = as_stored(x)
    y = np.where(x @ rng.standard_normal(300) + 5 * rng.standard_normal(120) > 0, 1.0, -1.0)
    for loss, kind, strength in itertools.product(("logistic", "squared-hinge"), ("free", "none"), (0.1, 1.0)):
        problem = Problem(x, y, loss, 1.0 / (strength * len(y)), intercept=kind)
        for words, flags in (("auto", []), ("workers", ["--preset", "newton", "--combine", "truncated", "--workers", 3])):
            yield f"{loss} heavy-tailed counts C {strength} intercept {kind}: {words}", partial(
                reaches_the_oracles_optimum, problem=problem, flags=flags
            )


def special_cases():
    x, y = breast_cancer(False)
    for loss in ("logistic", "squared-hinge"):
        yield f"{loss} unscaled columns: auto", partial(
            reaches_the_oracles_optimum, problem=Problem(x, y, loss, 1e-2, intercept="free"), flags=[]
        )
    x, y = diabetes()
    for loss, kind in itertools.product(("huber", "epsilon-insensitive"), ("free", "none")):  # few rows are inside
        yield f"{loss} narrow intercept {kind}: auto", partial(
            reaches_the_oracles_optimum, problem=Problem(x, y, loss, 1e-2, 0.0, kind, width=0.01), flags=[]
        )
    yield from wide_cases()
    yield from heavy_cases()
    kinked = ("hinge", "epsilon-insensitive", "quantile")  # linear programs; other pairs are too hard for the oracle
    curved = itertools.product(("squared", "logistic"), (0.0, 0.5, 1.0))
    ridge = itertools.product(("squared-hinge", "huber", "poisson", "tweedie"), (0.0,))
    for loss, rho in (*itertools.product(kinked, (1.0,)), *curved, *ridge):
        problem = Problem(*table(loss), loss, 1e-2, rho, "free", width=width_for("sparse", loss))
        yield f"{loss} on categories{f' L1 {rho}' if rho else ''}: newton", partial(
            reaches_the_oracles_optimum, problem=problem, flags=["--preset", "newton"]
        )
    slow = {
        "cocoa": ["--workers", 3],
        "minibatch-cd": ["--workers", 3, "--lanes", 2, "--local-steps", 20],
        "gd": [],
        "minibatch-sgd": ["--workers", 2],
        "mllib-sgd": ["--workers", 4],
        "ma-sgd": ["--workers", 3],
        "splash": ["--workers", 2],
        "hogwild": ["--workers", 2],
    }
    for loss, kind, (preset, flags) in itertools.product(LOSSES, ("free", "none"), slow.items()):
        x, y = data_for("sparse", loss)
        problem = Problem(x, y, loss, 0.01, 0.0, kind, draw_weights(len(y)), width_for("sparse", loss))
        yield f"{loss} intercept {kind}: {preset} bounds the distance every round", partial(
            bounds_the_distance_every_round, problem=problem, flags=["--preset", preset, *flags]
        )
    averaged = {"ma-sgd": (1, 1e-3), "ma-sgd ": (4, 1e-2), "ma-sgd --schedule normalised": (1, 3e-2), "hogwild": (2, 1e-2)}
    for loss, rho, (words, (workers, within)) in itertools.product(LOSSES, (0.0, 0.5), averaged.items()):
        x, y = data_for("sparse", loss)
        problem = Problem(x, y, loss, 0.01, rho, "free", draw_weights(len(y)), width_for("sparse", loss))
        within = max(within, {"hinge": 3e-3, "epsilon-insensitive": 3e-3, "quantile": 2e-2, "poisson": 1e-1, "gamma": 2e-1, "tweedie": 2e-1}.get(loss, 0))
        flags = ["--workers", workers, "--preset", *words.split()]
        yield f"{loss} l1_ratio {rho}: {words} with {workers} workers comes near the optimum", partial(
            comes_near_the_optimum, problem=problem, flags=flags, within=within
        )
    for loss, kind, weighted in itertools.product(("huber", "poisson", "gamma", "tweedie"), ("free", "none"), (False, True)):
        x, y = data_for("small", loss)
        weights = draw_weights(len(y)) if weighted else None
        problem = Problem(x, y, loss, 0.0, 0.0, kind, weights, width_for("small", loss))
        yield f"{loss} without penalty, intercept {kind}{' weights' if weighted else ''}: auto", partial(
            reaches_the_unpenalised_optimum, problem=problem
        )
    for loss, name, kind, weighted in itertools.product(
        ("squared", "logistic", "squared-hinge"), ("small", "sparse"), ("free", "penalised", "none"), (False, True)
    ):
        x, y = data_for(name, loss)
        problem = Problem(x, y, loss, 1e-2, 1.0, kind, draw_weights(len(y)) if weighted else None)
        words = f"{loss} {name} intercept {kind}{' weights' if weighted else ''} lasso"
        yield f"{words}: lbfgs", partial(
            reaches_the_oracles_optimum, problem=problem, flags=["--preset", "lbfgs", "--workers", 2]
        )
    for loss, kind, weighted in itertools.product(("squared", "logistic"), ("free", "none"), (False, True)):
        x, y = diabetes() if loss == "squared" else noisy()
        problem = Problem(x, y, loss, 0.0, 0.0, kind, draw_weights(len(y)) if weighted else None)
        words = f"{loss} intercept {kind}{' weights' if weighted else ''} no penalty"
        for flags in (["--preset", "lbfgs"], ["--preset", "newton"], ["--preset", "newton", "--combine", "truncated"]):
            yield f"{words}: {' '.join(flags)}", partial(
                reaches_the_optimum_without_a_penalty, problem=problem, flags=[*flags, "--workers", 2]
            )
    for level in (0.1, 0.5, 0.9):
        yield f"quantile {level}: near the linear program", partial(comes_near_the_linear_program, level=level)
    x, y = data_for("sparse", "hinge")
    for flags in (
        ["--preset", "lbfgs"],
        ["--preset", "cocoa+", "--lambda", 0],
        ["--preset", "cocoa+", "--l1-ratio", 1],
        ["--preset", "cocoa+", "--local", "scd"],
    ):
        problem = Problem(x, y, "hinge", 0.01)
        yield f"hinge: refuses {' '.join(map(str, flags))}", partial(refuses, problem=problem, flags=flags)


# Real data, if available

REAL = {
    "a9a": "a9a/a9a.zst",
    "imdb": "imdb/imdb.train.tfidf.svm.zst",
    "cadata": "cadata/cadata.svm.zst",
    "sgemm": "sgemm/sgemm.logtime.svm.zst",
}
# LIBLINEAR 2.3.0, C = 1, no bias. `-s 3` stops at 1000 passes, so hinge optima come from the same code without that
# limit in scikit-learn 1.9.1: LinearSVC(loss="hinge", C=1, tol=1e-12, fit_intercept=False, max_iter=20000,
# random_state=0).
LIBLINEAR = {"logistic": ["-s", "0", "-e", "1e-9"], "squared-hinge": ["-s", "2", "-e", "1e-9"]}
HINGE_SUM = {"a9a": 11433.807707403, "imdb": 5231.225661943}


def real_path(folder, name):
    path = SHARED / REAL[name]
    if not path.exists():
        raise Skipped(f"{path} is not there")
    text = folder.parent / f"{name}.svm"
    if not text.exists():
        partial_text = folder / "text"
        subprocess.run(["zstd", "-dqf", path, "-o", partial_text], check=True)
        partial_text.rename(text)
    return text


@lru_cache(maxsize=1)
def read_real(path, loss):
    x, y = load_svmlight_file(str(path))
    return Problem(as_stored(x), y, loss, 1.0 / len(y))


@lru_cache(maxsize=1)
def liblinear_optimum(name, path, loss):
    problem = read_real(path, loss)
    if loss == "hinge":
        return HINGE_SUM[name] / len(problem.y)
    model = path.with_suffix(f".{loss}.liblinear")
    subprocess.run(["liblinear-train", *LIBLINEAR[loss], "-c", "1", "-q", path, model], check=True)
    return objective(problem, read_liblinear(model, problem.x.shape[1]))


def sweep(parley, folder, name, loss, settings):
    """Solves one problem with each of the settings."""
    path = real_path(folder, name)
    problem, best = read_real(path, loss), liblinear_optimum(name, path, loss)
    failures = []
    for flags in settings:
        try:
            run = train(
                parley,
                path,
                folder,
                "--loss",
                loss,
                "--intercept",
                "none",
                *flags,
                "--gap",
                1e-6,
                codes=(0, 3),
            )
            check_optimum(run, problem, best)
        except Failed as failure:
            failures.append(str(failure))
    demand(not failures, "\n    ".join(failures))


def ridge(parley, folder, name):
    """The exact solution by the normal equations."""
    path = real_path(folder, name)
    problem = read_real(path, "squared")
    x = problem.x.toarray()
    w = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ problem.y)
    run = train(parley, path, folder, "--loss", "squared", "--intercept", "none", "--gap", 1e-6)
    check_optimum(run, problem, objective(problem, w))


def real_cases():
    for name, loss in itertools.product(("imdb", "a9a"), ("hinge", "squared-hinge", "logistic")):
        yield f"{name} {loss}: auto", partial(sweep, name=name, loss=loss, settings=[[]])
        for workers in ((1, 2), (7,)):
            settings = [["--preset", "cocoa+", "--workers", k, "--threads", 1] for k in workers]
            yield f"{name} {loss}: cocoa+ at {' and '.join(map(str, workers))} workers", partial(
                sweep, name=name, loss=loss, settings=settings
            )
    for name in ("cadata", "sgemm"):
        yield f"{name} squared: auto against the normal equations", partial(ridge, name=name)


# The same bytes


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def made_text(parley, folder):
    data = folder / "made.svm"
    made = start(parley, ["generate", "text", data, "--rows", 3000, "--columns", 2000, "--nonzeros", 30, "--quiet"])
    demand(made.returncode == 0, f"parley generate: {made.stderr}")
    return data


def same_for_all_threads(parley, folder, flags, classes=0):
    data, seen = made_text(parley, folder), {}
    if classes:  # their rows in turn
        lines = data.read_text().splitlines()
        data.write_text("".join(f"{i % classes} {line.split(' ', 1)[1]}\n" for i, line in enumerate(lines)))
    for threads in (1, 2, 4):
        arguments = [*flags, "--seed", 7, "--rounds", 20, "--gap", 1e-6, "--threads", threads]
        run = train(parley, data, folder / f"t{threads}", *arguments, codes=(0, 3))
        seen[threads] = digest(folder / f"t{threads}" / "model.safetensors"), run.summary["objective"]
    demand(len(set(seen.values())) == 1, f"{' '.join(map(str, flags))}: threads change the model: {seen}")


def same_for_all_inputs(parley, folder, flags):
    data, seen = made_text(parley, folder), {}
    packed, zipped, cache = folder / "made.zst", folder / "made.svm.gz", folder / "made.parley"
    subprocess.run(["zstd", "-qf", data, "-o", packed], check=True)
    zipped.write_bytes(gzip.compress(data.read_bytes()))
    made = start(parley, ["convert", data, cache, "--quiet"])
    demand(made.returncode == 0, f"parley convert: {made.stderr}")
    for source in (data, packed, zipped, cache):
        train(parley, source, folder / "file", *flags, codes=(0, 3))
        seen[source.name] = digest(folder / "file" / "model.safetensors")
    for source in (data, packed, zipped):
        with open(source) as stream:
            train(parley, "-", folder / "input", *flags, codes=(0, 3), stdin=stream)
        seen[f"input {source.name}"] = digest(folder / "input" / "model.safetensors")
    demand(len(set(seen.values())) == 1, f"the input's form changes the model: {seen}")


def identity_cases():
    methods = [
        ["--preset", "cocoa+", "--workers", 1, "--lanes", 2],
        ["--preset", "cocoa+", "--workers", 4, "--lanes", 1],
        ["--preset", "cocoa+", "--workers", 3, "--lanes", 2, "--loss", "hinge"],
        ["--preset", "cocoa", "--workers", 3, "--lanes", 1],
        ["--preset", "cocoa+", "--local", "scd", "--workers", 1, "--lanes", 2, "--l1-ratio", 1],
        ["--preset", "cocoa+", "--local", "scd", "--workers", 5, "--lanes", 1, "--l1-ratio", 0.5],
        ["--preset", "newton", "--workers", 2, "--lanes", 2],
        ["--preset", "newton", "--combine", "truncated", "--workers", 3, "--lanes", 2, "--loss", "squared-hinge"],
        ["--preset", "gd", "--workers", 5, "--lanes", 1],
        ["--preset", "minibatch-sgd", "--workers", 4, "--lanes", 1],
        ["--preset", "mllib-sgd", "--workers", 8, "--lanes", 1, "--loss", "squared"],
        ["--preset", "ma-sgd", "--workers", 5, "--lanes", 1],
        ["--preset", "ma-sgd", "--workers", 3, "--lanes", 2, "--schedule", "normalised", "--loss", "hinge"],
        ["--preset", "ma-sgd", "--workers", 4, "--lanes", 1, "--average-iterates"],
    ]
    for flags in methods:
        yield f"same bytes for 1, 2 and 4 threads: {' '.join(map(str, flags))}", partial(
            same_for_all_threads, flags=flags
        )
    forms = (("cocoa+", 2, "softmax"), ("cocoa+", 1, "hinge"), ("gd", 1, "softmax"), ("newton", 2, "softmax"))
    for preset, lanes, loss in forms:
        flags = ["--preset", preset, "--workers", 3, "--lanes", lanes, "--loss", loss]
        yield f"same bytes for 1, 2 and 4 threads: five classes, {' '.join(map(str, flags))}", partial(
            same_for_all_threads, flags=flags, classes=5
        )
    for flags in ([], ["--preset", "cocoa+", "--workers", 4, "--lanes", 1, "--loss", "hinge"]):
        yield f"same bytes from every form of the data: {' '.join(map(str, flags)) or 'auto'}", partial(
            same_for_all_inputs, flags=flags
        )


# The runner


def group(cases):
    """Lists of cases on the same problem, which one process runs, so that its optimum is computed once."""
    groups = {}
    for name, call in cases:
        words = call.keywords if isinstance(call, partial) else {}
        key = fingerprint(words["problem"]) if "problem" in words else (words.get("name", name), words.get("loss"))
        groups.setdefault(key, []).append((name, call))
    return groups.values()


def run_group(cases, parley, root):
    return [run_case(case, parley, root) for case in cases]


def run_case(case, parley, root):
    name, call = case
    folder = Path(root) / hashlib.md5(name.encode()).hexdigest()
    folder.mkdir()
    try:
        call(parley, folder)
        return name, "passed", ""
    except Skipped as skipped:
        return name, "skipped", str(skipped)
    except (Failed, subprocess.SubprocessError) as failure:
        return name, "failed", str(failure)
    except Exception:
        return name, "failed", traceback.format_exc()


def main():
    parley, words = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    cases = [*around_cases(), *limit_cases(), *inference_cases(), *offset_cases(), *real_cases(), *identity_cases(), *special_cases(), *column_cases(), *grid_cases()]
    cases += class_cases(sparse_rows, draw_weights)
    cases += metric_cases()
    cases += matrix_cases(listed_losses(parley))
    cases += refusal_cases(listed(parley, "presets"), listed_losses(parley), write_rows)
    cases = [case for case in cases if all(word in case[0] for word in words)]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as root, multiprocessing.Pool(os.cpu_count()) as pool:
        for outcomes in pool.imap_unordered(partial(run_group, parley=parley, root=root), group(cases)):
            for name, outcome, reason in outcomes:
                counts[outcome] += 1
                if outcome != "passed":
                    print(f"{outcome}: {name}\n    {reason}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count or outcome != "skipped"))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
