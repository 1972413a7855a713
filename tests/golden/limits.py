"""Penalty factors by column and coefficients that must not be negative, against L-BFGS-B, which has bounds, and where it
takes the problem against scikit-learn's positive=True. glmnet has the same factors (penalty.factor), which it scales so
that they sum to the number of columns.

    P(w,b) = sum_i q_i loss(x_i.w + b, y_i) + lambda sum_j f_j [(1-rho)/2 w_j^2 + rho |w_j|],   w_j >= 0 on request
"""

import itertools
from functools import partial

import numpy as np
from scipy.optimize import nnls
from sklearn.linear_model import ElasticNet

from classes import read_classes
from evaluate import loss_values, null_objective, objective
from matrix import cell, write_cell
from oracle import columns, descend, loss_slopes
from product import OPTIMAL, ROUNDING, demand, start, train

FACTORS = {"none": None, "uneven": np.array([1, 0.2, 3, 1, 0.5, 2, 1, 1, 7, 0.1]), "free": np.array([1, 0, 3, 1, 0, 2, 1, 1, 7, 0.1])}


def factored(problem, w, b, factor):
    """P with the factors, where an intercept that is penalised has factor 1."""
    plain = objective(problem, w, b)
    l1, l2 = problem.lam * problem.rho, problem.lam * (1 - problem.rho)
    return plain if factor is None else plain + (factor - 1) @ (l1 * np.abs(w) + l2 / 2 * w**2)


def solve(problem, factor, positive):
    """L-BFGS-B with w split into positive and negative parts."""
    x, y, q, d = columns(problem), problem.y, problem.share, columns(problem).shape[1]
    f = np.ones(d)
    f[: problem.x.shape[1]] = 1.0 if factor is None else factor
    l1, l2 = problem.lam * problem.rho * f, problem.lam * (1 - problem.rho) * f

    def value(v):
        w, b = v[:d] - v[d : 2 * d], v[-1] if problem.free else 0.0
        z = x @ w + b
        slope = q * loss_slopes(problem.loss, z, y, problem.width)
        p = q @ loss_values(problem.loss, z, y, problem.width) + l2 / 2 @ w**2 + l1 @ (v[:d] + v[d : 2 * d])
        g = x.T @ slope + l2 * w
        gradient = np.concatenate([g + l1, l1 - g])
        return p, np.append(gradient, slope.sum()) if problem.free else gradient

    down = [(0, 0 if positive and j < problem.x.shape[1] else None) for j in range(d)]
    bounds = [(0, None)] * d + down + [(None, None)] * problem.free
    found = descend(value, np.zeros(len(bounds)), bounds)
    w, b = found[:d] - found[d : 2 * d], found[-1] if problem.free else 0.0
    return (w[:-1], w[-1]) if problem.intercept == "penalised" else (w, b)


def write_flags(problem, folder, factor, positive):
    data, flags = write_cell(problem, folder)
    if factor is not None:
        words = ",".join(f"{j + 1}={f}" for j, f in enumerate(factor))
        if problem.weights is not None:  # both forms are used
            words = folder / "factors.txt"
            np.savetxt(words, factor)
        flags += ["--penalty-factors", str(words)]
    return data, flags + (["--non-negative"] if positive else [])


def reaches_the_optimum(parley, folder, problem, factor, positive, method=()):
    w, b = solve(problem, factor, positive)
    best, scale = factored(problem, w, b, factor), null_objective(problem)
    data, flags = write_flags(problem, folder, factor, positive)
    run = train(parley, data, folder, *flags, *method, "--gap", 1e-6)
    found = factored(problem, run.w, run.b, factor)
    demand(not positive or run.w.min() >= 0, f"{run.command}: a coefficient is {run.w.min()}")
    demand((found - best) / scale <= OPTIMAL, f"{run.command}: {(found - best) / scale:.2e} above the oracle")
    if problem.lam > 0 and (factor is None or factor.min() > 0):
        demand(found - best <= run.summary["gap"] + ROUNDING * scale, f"{run.command}: its gap is too small")
        demand(run.summary["relative_gap"] <= 1e-6, f"{run.command}: gap {run.summary['relative_gap']:.1e}")


def agrees_with_scikit_learn(parley, folder):
    problem = cell("squared", False, "elastic net", "free", False)
    model = ElasticNet(alpha=problem.lam, l1_ratio=problem.rho, positive=True, tol=1e-12, max_iter=10**6)
    model.fit(problem.x.toarray(), problem.y)
    data, flags = write_flags(problem, folder, None, True)
    run = train(parley, data, folder, *flags, "--gap", 1e-10)
    demand(np.allclose(run.w, model.coef_, atol=1e-4), f"{run.command}: {run.w} is not {model.coef_}")
    problem = cell("squared", False, "none", "none", False)
    data, flags = write_flags(problem, folder / "nnls", None, True)
    run = train(parley, data, folder / "nnls", *flags, "--gap", 1e-8)
    w, _ = nnls(problem.x.toarray(), problem.y)
    demand(np.allclose(run.w, w, rtol=1e-4, atol=1e-4), f"{run.command}: {run.w} is not {w}")


def stays_non_negative(parley, folder):
    """Several classes together."""
    problem = cell("softmax", True, "elastic net", "free", False)
    data, flags = write_flags(problem, folder, FACTORS["uneven"], True)
    run = train(parley, data, folder, *flags, "--gap", 1e-6)
    w = read_classes(folder / "model.safetensors")[0]
    demand(w.min() >= 0 and run.summary["relative_gap"] <= 1e-6, f"{run.command}: {w.min()}")


def refuses(parley, folder, flags, words):
    problem = cell("squared", False, "l2", "free", False)
    data, common = write_cell(problem, folder)
    done = start(parley, ["train", data, *common, *flags, "--model", folder / "model.safetensors"])
    demand(done.returncode == 2 and words in done.stderr, f"{flags}: {done.returncode} {done.stderr}")


def limit_cases():
    losses = ("squared", "logistic", "huber", "poisson", "squared-hinge")
    for loss, penalty, (name, factor), positive in itertools.product(
        losses, ("none", "l2", "l1", "elastic net"), FACTORS.items(), (False, True)
    ):
        if (factor is None and not positive) or (penalty == "none" and factor is not None):
            continue
        for intercept, weighted in (("free", False), ("none", True), ("penalised", False)):
            problem = cell(loss, False, penalty, intercept, weighted)
            words = f"{loss} {penalty} intercept {intercept} factors {name}{' non-negative' if positive else ''}"
            yield f"limits: {words}", partial(reaches_the_optimum, problem=problem, factor=factor, positive=positive)
    for method in (["--preset", "lbfgs", "--workers", 3], ["--preset", "cocoa+", "--local", "scd", "--workers", 3]):
        for penalty, intercept in itertools.product(("l2", "elastic net"), ("free", "penalised")):
            problem = cell("logistic", False, penalty, intercept, True)
            yield f"limits: {penalty} intercept {intercept} by {' '.join(map(str, method))}", partial(
                reaches_the_optimum, problem=problem, factor=FACTORS["uneven"], positive=True, method=method
            )
    yield "limits: non-negative as scikit-learn's", agrees_with_scikit_learn
    yield "limits: several classes, non-negative with factors", stays_non_negative
    for flags, words in (
        (["--preset", "newton", "--non-negative"], "coefficients of both signs"),
        (["--local", "sdca", "--penalty-factors", "1=2"], "the same penalty on all columns"),
        (["--penalty-factors", "11=2"], "has no column 11"),
        (["--penalty-factors", "1=-2"], "must be 0 or more"),
    ):
        yield f"limits: refuses {' '.join(flags)}", partial(refuses, flags=flags, words=words)
