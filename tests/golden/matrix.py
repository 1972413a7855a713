"""Every loss with {no, L2, L1, elastic net} penalty x {free, penalised, no} intercept x {weights, none}, for two classes
and for several, with the method that auto chooses. Each reaches the optimum of an independent oracle. glmnet and celer
are compared where they support the problem.
"""

import itertools
import shutil
import subprocess
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from sklearn.datasets import load_diabetes

from classes import class_null, class_objective, class_optimum, read_classes
from oracle import columns, optimum
from product import CERTAIN, OPTIMAL, ROUNDING, Skipped, demand, train, write_svm
from refusals import SEVERAL
from evaluate import REAL_LOSSES, Problem, null_objective, objective

RATIOS = {"none": 0.0, "l2": 0.0, "l1": 1.0, "elastic net": 0.5}
LAMBDAS = {"squared": 1.0, "huber": 1.0, "squared-epsilon-insensitive": 1.0, "poisson": 0.1}  # others 0.01, as the slopes of their losses are
WIDTHS = {"huber": 40.0, "epsilon-insensitive": 20.0, "squared-epsilon-insensitive": 20.0, "quantile": 0.8, "tweedie": 1.6}
FLAGS = {"huber": "--huber-width", "epsilon-insensitive": "--epsilon", "squared-epsilon-insensitive": "--epsilon", "quantile": "--quantile", "tweedie": "--power"}
INTERCEPTS = ("free", "penalised", "none")
FAMILIES = {"squared": "gaussian", "logistic": "binomial", "poisson": "poisson", "softmax": "multinomial"}


@lru_cache
def rows(loss, several):
    """442 rows of 10 columns with about unit variance. No hyperplane separates the classes, so there is an optimum
    without a penalty."""
    x, y = load_diabetes(return_X_y=True)
    random = np.random.default_rng(4)
    noisy = y + 60 * random.normal(size=len(y))
    if several:
        y = np.searchsorted(np.quantile(noisy, [0.3, 0.7]), noisy).astype(float)
    elif loss == "poisson":
        y = random.poisson(np.exp(y / 100.0)).astype(float)
    elif loss == "gamma":
        y = random.gamma(2.0, np.exp(y / 100.0) / 2.0)
    elif loss == "tweedie":  # sums of a random number of sizes, some of them 0
        y = random.gamma(2.0 * random.poisson(np.exp(y / 150.0)))
    elif loss not in REAL_LOSSES:
        y = np.where(noisy > 150, 1.0, -1.0)
    x = sparse.csr_matrix((x * 20).astype(np.float32)).astype(float)
    x.sort_indices()
    return x, y


def cell(loss, several, penalty, intercept, weighted):
    x, y = rows(loss, several)
    weights = np.random.default_rng(3).integers(0, 4, len(y)) * 0.75 if weighted else None
    lam = 0.0 if penalty == "none" else LAMBDAS.get(loss, 1e-2)
    return Problem(x, y, loss, lam, RATIOS[penalty], intercept, weights, WIDTHS.get(loss, 0.0))


def write_cell(problem, folder):
    """Writes the data file; returns the flags that define the problem."""
    folder.mkdir(exist_ok=True)
    write_svm(folder / "data.svm", problem.x, problem.y)
    flags = ["--loss", problem.loss, "--lambda", repr(problem.lam), "--intercept", problem.intercept]
    if problem.lam > 0:
        flags += ["--l1-ratio", str(problem.rho)]
    if problem.width:
        flags += [FLAGS[problem.loss], str(problem.width)]
    if problem.weights is not None:
        np.savetxt(folder / "weights.txt", problem.weights)
        flags += ["--weights", str(folder / "weights.txt")]
    return folder / "data.svm", flags


def null_value(problem, several):
    return class_null(problem) if several else null_objective(problem)


def found_objective(problem, several, folder, run):
    if not several:
        return objective(problem, run.w, run.b)
    w, b, _ = read_classes(folder / "model.safetensors")
    return class_objective(problem, w, b)


def is_near(parley, folder, problem, several, best, oracle):
    """Trains the cell and compares the objective with the oracle's, relative to that at w = 0."""
    scale = null_value(problem, several)
    data, flags = write_cell(problem, folder)
    run = train(parley, data, folder, *flags, "--gap", 1e-6)
    found = found_objective(problem, several, folder, run)
    demand((found - best) / scale <= OPTIMAL, f"{run.command}: {(found - best) / scale:.2e} above {oracle}")
    if problem.lam > 0:
        demand(found - best <= run.summary["gap"] + ROUNDING * scale, f"{run.command}: its gap is too small")
        demand(run.summary["relative_gap"] <= 1e-6, f"{run.command}: gap {run.summary['relative_gap']:.1e}")
    return run, found


def reaches_the_optimum(parley, folder, problem, several):
    best, bound = class_optimum(problem) if several else optimum(problem)
    scale = null_value(problem, several)
    demand(best - bound <= CERTAIN * scale, f"the oracle is not certain: {(best - bound) / scale:.1e}")
    is_near(parley, folder, problem, several, best, "the oracle")


# Other packages, for the cells that they support


def solve_glmnet(folder, problems):
    """Solves all problems in one process; returns {name: [intercept, coefficients]} with a row per output."""
    if not shutil.which("Rscript"):
        raise Skipped("there is no Rscript")
    folder.mkdir()
    for name, problem in problems.items():
        np.savetxt(folder / f"{name}.x", problem.x.toarray(), fmt="%.17g")
        np.savetxt(folder / f"{name}.y", (problem.y + 1) / 2 if problem.loss == "logistic" else problem.y, fmt="%.17g")
        np.savetxt(folder / f"{name}.weights", problem.sample_weights)
        words = f"{FAMILIES[problem.loss]} {problem.lam!r} {problem.rho} {problem.intercept}\n"
        (folder / f"{name}.how").write_text(words)
    script = Path(__file__).with_name("oracle_glmnet.R")
    done = subprocess.run(["Rscript", "--vanilla", script, folder], capture_output=True, text=True, timeout=300)
    if "there is no package" in done.stderr:
        raise Skipped("R has no package glmnet")
    demand(done.returncode == 0, f"glmnet: {done.stderr}")
    return {name: np.loadtxt(folder / f"{name}.coef", ndmin=2) for name in problems}


def unit_labels(problem):
    """Scales labels to unit variance. glmnet does so too, and scales L1 but not L2 with them, which then has no effect."""
    mean = problem.share @ problem.y if problem.free else 0.0
    scale = np.sqrt(problem.share @ (problem.y - mean) ** 2)
    return replace(problem, y=problem.y / scale, lam=float(problem.lam / scale))


def agrees_with_glmnet(parley, folder, loss):
    several, problems = loss == "softmax", {}
    for penalty, intercept, weighted in itertools.product(("l2", "l1", "elastic net"), ("free", "none"), (False, True)):
        name = f"{penalty.replace(' ', '_')}_{intercept}_{weighted}"
        problem = cell(loss, several, penalty, intercept, weighted)
        problems[name] = unit_labels(problem) if loss == "squared" else problem
    for name, rows_found in solve_glmnet(folder / "glmnet", problems).items():
        problem, scale = problems[name], null_value(problems[name], several)
        w, b = rows_found[:, 1:], rows_found[:, 0]
        best = class_objective(problem, w, b) if several else objective(problem, w[0], b[0])
        run, found = is_near(parley, folder / name, problem, several, best, "glmnet")
        demand((best - found) / scale <= OPTIMAL, f"{run.command}: glmnet is {(best - found) / scale:.1e} above")


def solve_celer(problem):
    """celer takes no weights. For squared loss without a free intercept, rows are scaled instead."""
    try:
        import celer  # imported here because it takes a second
    except ImportError:
        raise Skipped("there is no celer") from None
    x, y, exact = columns(problem), problem.y, {"tol": 1e-12, "max_iter": 1000, "max_epochs": 100000}
    if problem.weights is not None:
        root = np.sqrt(problem.share * len(y))
        x, y = sparse.diags(root) @ x, root * y
    if problem.loss == "logistic":
        model = celer.LogisticRegression(C=1 / (problem.lam * len(y)), **exact)
    elif problem.rho == 1:
        model = celer.Lasso(alpha=problem.lam, fit_intercept=problem.free, **exact)
    else:
        model = celer.ElasticNet(alpha=problem.lam, l1_ratio=problem.rho, fit_intercept=problem.free, **exact)
    model.fit(sparse.csc_matrix(x).toarray(order="F"), y)
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if problem.free else 0.0


def agrees_with_celer(parley, folder, loss):
    for penalty, intercept, weighted in itertools.product(("l1", "elastic net"), INTERCEPTS, (False, True)):
        if weighted and (intercept == "free" or loss != "squared"):
            continue
        if loss == "logistic" and (intercept == "free" or penalty != "l1"):
            continue
        problem = cell(loss, False, penalty, intercept, weighted)
        w, b = solve_celer(problem)
        scale, size = null_objective(problem), problem.x.shape[1]
        best = objective(problem, w[:size], w[size] if intercept == "penalised" else b)
        run, found = is_near(parley, folder / f"{penalty}{intercept}{weighted}", problem, False, best, "celer")
        demand((best - found) / scale <= OPTIMAL, f"{run.command}: celer is {(best - found) / scale:.1e} above")


def matrix_cases(losses):
    """`losses` are those that the binary lists, each with a flag for several classes."""
    for (loss, several), penalty, intercept, weighted in itertools.product(losses, RATIOS, INTERCEPTS, (False, True)):
        problem = cell(loss, several, penalty, intercept, weighted)
        words = f"{loss}{' several' if several else ''} {penalty} intercept {intercept}{' weights' if weighted else ''}"
        yield f"matrix: {words}: auto", partial(reaches_the_optimum, problem=problem, several=several)
    for loss in FAMILIES:
        yield f"matrix: {loss} against glmnet", partial(agrees_with_glmnet, loss=loss)
    for loss in ("squared", "logistic"):
        yield f"matrix: {loss} against celer", partial(agrees_with_celer, loss=loss)


def listed(parley, kind):
    done = subprocess.run([parley, "list", kind], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def listed_losses(parley):
    """Pairs of a loss and a flag for several classes. Losses for two labels occur with both."""
    names = listed(parley, "losses")
    return [(name, False) for name in names if name != "softmax"] + [(name, True) for name in names if name in SEVERAL]


def write_rows(folder, loss, several):
    """Writes the rows for a loss to a file, once per folder."""
    path = folder / f"{loss}{' several' if several else ''}.svm"
    if not path.exists():
        write_svm(path, *rows(loss, several))
    return path
