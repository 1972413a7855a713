"""Several classes. Optima come from scikit-learn's multinomial LogisticRegression and, with an L1 penalty, from scipy. For
one against the rest, they are the sums of the optima of the binary problems (oracle.py).

    P(W,b) = sum_i q_i loss(x_i W + b, y_i) + lambda [(1-rho)/2 |W|^2 + rho |W|_1]
"""

import itertools
import warnings
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import scipy.sparse as sparse
from safetensors import safe_open
from scipy.special import logsumexp, softmax, xlogy
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from oracle import columns, descend, optimum, remembered, soft, strength  # also finds evaluate
from product import CERTAIN, EQUAL, OPTIMAL, ROUNDING, demand, start, train, write_svm
from evaluate import Problem, loss_values, null_objective, penalty

PRESETS = {
    "auto": [],
    "cocoa+ lanes": ["--preset", "cocoa+", "--lanes", 2],
    "cocoa+ workers": ["--preset", "cocoa+", "--workers", 3],
    "newton": ["--preset", "newton", "--workers", 2],
}
TRUNCATED = {
    "truncated": ["--preset", "newton", "--combine", "truncated", "--workers", 2, "--lanes", 2],
    "truncated alone": ["--preset", "newton", "--combine", "truncated", "--lanes", 2],
}


def targets(problem):
    """One-hot labels."""
    labels = np.unique(problem.y)
    return (problem.y[:, None] == labels).astype(float)


def values(problem, z):
    """The loss of each row at its margins."""
    own = targets(problem)
    if problem.loss == "softmax":
        return logsumexp(z, axis=1) - (z * own).sum(1)
    return sum(loss_values(problem.loss, z[:, c], 2 * own[:, c] - 1) for c in range(own.shape[1]))


def class_objective(problem, w, b):
    penalised = np.append(w, b[:, None], axis=1) if problem.intercept == "penalised" else w
    return problem.share @ values(problem, problem.x @ w.T + b) + penalty(problem, penalised.ravel())


def class_null(problem):
    """P at W = 0 with the best free intercepts."""
    own = targets(problem)
    means = problem.share @ own
    if problem.loss == "softmax":
        return -(means @ np.log(means)) if problem.free else np.log(len(means))
    return sum(null_objective(replace(problem, y=2 * own[:, c] - 1)) for c in range(own.shape[1]))


def softmax_dual(problem, z):
    """D at the probabilities of the margins. With free intercepts, they are blended so that their mean is the class
    frequencies."""
    q, own, p = problem.share, targets(problem), softmax(z, axis=1)
    l1, l2 = problem.lam * problem.rho, problem.lam * (1 - problem.rho)
    if problem.free:
        wanted, mean = q @ own, q @ p
        tau = max(0.0, 1.0 - (wanted / mean).min())
        if tau > 0:
            p = (1 - tau) * p + (wanted - (1 - tau) * mean)
    u = columns(problem).T @ (q[:, None] * (own - p))
    if problem.lam == 0:  # without a dual, the gradient bounds the error
        return q @ (logsumexp(z, axis=1) - (z * own).sum(1)) - np.abs(u).max()
    if l2 == 0:  # finite only inside the ball
        p = own + min(1.0, l1 / np.abs(u).max()) * (p - own)
        return -(q @ xlogy(p, p).sum(1))
    return -(q @ xlogy(p, p).sum(1)) - (soft(u, l1) ** 2).sum() / (2 * l2)


def solve_softmax(problem):
    x, own, q = columns(problem), targets(problem), problem.share
    classes, d = own.shape[1], x.shape[1]
    if problem.rho == 0:
        model = LogisticRegression(
            C=strength(problem), fit_intercept=problem.free, solver="newton-cholesky", tol=1e-12, max_iter=1000
        )
        model.fit(x, problem.y, sample_weight=problem.sample_weights)
        return model.coef_, model.intercept_ if problem.free else np.zeros(classes)
    l1, l2, size = problem.lam * problem.rho, problem.lam * (1 - problem.rho), classes * d

    def value(v):
        w, b = (v[:size] - v[size : 2 * size]).reshape(d, classes), v[2 * size :] if problem.free else 0.0
        z = x @ w + b
        slope = q[:, None] * (softmax(z, axis=1) - own)
        down = q @ (logsumexp(z, axis=1) - (z * own).sum(1)) + l2 / 2 * (w**2).sum() + l1 * v[: 2 * size].sum()
        g = (x.T @ slope + l2 * w).ravel()
        parts = [g + l1, l1 - g] + ([slope.sum(0)] if problem.free else [])
        return down, np.concatenate(parts)

    bounds = [(0, None)] * (2 * size) + [(None, None)] * (classes if problem.free else 0)
    found = descend(value, np.zeros(len(bounds)), bounds)
    w = (found[:size] - found[size : 2 * size]).reshape(d, classes).T
    return w, found[2 * size :] if problem.free else np.zeros(classes)


@remembered
def class_optimum(problem):
    """Returns (P, D) of the oracle."""
    if problem.loss == "softmax":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w, b = solve_softmax(problem)
        z = columns(problem) @ w.T + b
        return problem.share @ values(problem, z) + penalty(problem, w.ravel()), softmax_dual(problem, z)
    own = targets(problem)
    pairs = [optimum(replace(problem, y=2 * own[:, c] - 1)) for c in range(own.shape[1])]
    return sum(upper for upper, _ in pairs), sum(lower for _, lower in pairs)


def read_classes(path):
    with safe_open(path, framework="numpy") as file:
        return file.get_tensor("coef"), file.get_tensor("intercept"), file.get_tensor("labels")


def reaches_the_optimum(parley, folder, problem, flags):
    best, bound = class_optimum(problem)
    scale = class_null(problem)
    demand(best - bound <= CERTAIN * scale, f"the oracle is not certain: {best - bound:.1e}")
    write_svm(folder / "data.svm", problem.x, problem.y)
    common = ["--loss", problem.loss, "--lambda", repr(problem.lam), "--intercept", problem.intercept]
    common += ["--l1-ratio", problem.rho]
    if problem.weights is not None:
        np.savetxt(folder / "weights.txt", problem.weights)
        common += ["--weights", folder / "weights.txt"]
    run = train(parley, folder / "data.svm", folder, *common, *flags, "--gap", 1e-6)
    w, b, labels = read_classes(folder / "model.safetensors")
    demand((labels == np.unique(problem.y)).all(), f"{run.command}: labels {labels}")
    found = class_objective(problem, w, b)
    demand(
        abs(found - run.summary["objective"]) <= EQUAL * scale,
        f"{run.command}: reports objective {run.summary['objective']:.12g}, its model has {found:.12g}",
    )
    demand((found - best) / scale <= OPTIMAL, f"{run.command}: {(found - best) / scale:.2e} above the optimum")
    for line in run.rounds:
        if line["gap"] is not None and line["objective"] is not None:
            above = line["objective"] - best
            demand(above <= line["gap"] + ROUNDING * scale, f"{run.command}: round {line['round']}: {above:.3e} above")
    if problem.loss == "softmax" and problem.rho == 0:  # the optimum is unique: predictions agree
        done = start(parley, ["predict", folder / "model.safetensors", folder / "data.svm", "--output", "probability"])
        p = np.array([line.split() for line in done.stdout.splitlines()], float)
        demand(np.allclose(p, softmax(problem.x @ w.T + b, axis=1), atol=1e-9), f"{run.command}: probabilities")


@lru_cache
def iris():
    x, y = load_iris(return_X_y=True)
    x = sparse.csr_matrix(((x - x.mean(0)) / x.std(0)).astype(np.float32)).astype(float)
    x.sort_indices()
    return x, y.astype(float)


def class_cases(sparse_rows, draw_weights):
    """Softmax and one against the rest, with all intercepts, weights, penalties and methods."""
    x, z = sparse_rows(True)
    wide = x, np.searchsorted(np.quantile(z, [0.2, 0.5, 0.7]), z).astype(float) * 2 - 1
    for loss, name, kind, weighted, rho in itertools.product(
        ("softmax", "logistic", "hinge", "squared-hinge"),
        ("iris", "sparse"),
        ("free", "penalised", "none"),
        (False, True),
        (0.0, 0.5),
    ):
        if loss != "softmax" and (weighted or rho > 0) and name == "iris":
            continue  # covered by the binary problems
        x, y = iris() if name == "iris" else wide
        lam = 1.0 / len(y) if name == "sparse" else 1e-2
        problem = Problem(x, y, loss, lam, rho, kind, draw_weights(len(y)) if weighted else None)
        words = f"classes {loss} {name} intercept {kind}{' weights' if weighted else ''}{' elastic net' if rho else ''}"
        methods = PRESETS if rho or loss == "hinge" else PRESETS | TRUNCATED
        for method, flags in methods.items():
            yield f"{words}: {method}", partial(reaches_the_optimum, problem=problem, flags=flags)
