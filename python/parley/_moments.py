"""Least squares on a tall dense table, with any penalty or none, solved from the products of one pass over it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpotrf, dpotrs

from ._data import lasso_products, moments
from ._run import ROW

FEW_COLUMNS = 256  # with more columns, other methods are as fast, unless columns are correlated
MOST_COLUMNS = 1024
MOST_L1_COLUMNS = 512  # with an L1 penalty
MOST_ROUNDS = 6  # of steps towards a smaller gap
_SOLVED = 1e-12  # relative residual of the normal equations


class Solved(NamedTuple):
    """Coef, intercept, summary and log as of a run of the core. Without a penalty also the squares of the table's
    singular values, the largest first."""

    coef: np.ndarray
    intercept: np.ndarray
    summary: dict[str, Any]
    log: np.ndarray
    squares: np.ndarray | None


class _Products(NamedTuple):
    """Sums of products of the columns and the label, less their means if the intercept is free."""

    columns: np.ndarray  # columns x columns
    label: np.ndarray  # each column with the label
    null: float  # half the mean square of the label
    total: float  # of the weights
    mean: np.ndarray  # of the columns and the label

    def intercept(self, coef: np.ndarray) -> np.ndarray:
        return np.array([self.mean[-1] - coef @ self.mean[:-1]])

    def loss(self, coef: np.ndarray) -> float:
        return max(0.0, self.null + float(coef @ (self.columns @ coef - 2 * self.label)) / (2 * self.total))

    def solved(self, coef: np.ndarray, objective: float, gap: float, rounds: int, squares: Any = None) -> Solved:
        summary = {"stop": "converged", "rounds": rounds, "objective": objective, "dual": objective - gap, "gap": gap}
        summary["relative_gap"] = gap / self.null if self.null > 0 else 0.0
        log = np.array([(rounds, 1.0, 0.0, objective, objective - gap, gap, summary["relative_gap"])], dtype=ROW)
        return Solved(coef[None], self.intercept(coef), summary, log, squares)


def _products(X: np.ndarray, y: np.ndarray, weight: Any, free: bool, threads: int, most: int) -> _Products | None:
    """Returns None for a table that is not tall, or has more columns than `most`."""
    rows, columns = X.shape
    if not 0 < columns <= min(most, rows // 2):
        return None
    shift = np.zeros(columns + 1)
    if free:  # near the means, so that subtracting them loses few digits
        sample = slice(None, None, max(1, rows // 1000))
        shift[:-1], shift[-1] = X[sample].mean(axis=0, dtype=float), y[sample].mean()
        shift[~np.isfinite(shift)] = 0.0
    sums = moments(X, y, weight, shift, threads)
    total = sums[-1, -1]
    mean = sums[-1, :-1] / total if free else np.zeros(columns + 1)
    centred = sums[:-1, :-1] - total * np.outer(mean, mean) if free else sums[:-1, :-1]
    null = max(centred[-1, -1], 0.0) / (2 * total)
    return _Products(centred[:-1, :-1], centred[:-1, -1], null, total, mean + shift if free else mean)


def _is_correlated(X: np.ndarray, free: bool) -> bool:
    """Whether columns vary in few directions, by the inner products of a sample of rows. Iterations are slow then."""
    sample = np.asarray(X[:: max(1, len(X) // 64)][:64], float)
    with np.errstate(all="ignore"):  # a value that is not finite is found later
        sample = sample - sample.mean(axis=0) if free else sample
        products = sample @ sample.T
        squares = np.diag(products)
        pairs = (np.sum(products**2) - np.sum(squares**2)) / (len(squares) * (len(squares) - 1))
        return bool(pairs * X.shape[1] > 4 * squares.mean() ** 2)  # directions < columns / 4


def least_squares(X: np.ndarray, y: np.ndarray, weight: Any, alpha: float, free: bool, threads: int) -> Solved | None:
    """Returns None if the problem must be solved in another way."""
    rows, columns = X.shape
    few = alpha > 0 and FEW_COLUMNS < columns <= rows // 2 and not _is_correlated(X, free)
    most = FEW_COLUMNS if few else MOST_COLUMNS
    found = _products(X, y, weight, free, threads, most) if 0 <= alpha < np.inf else None
    if not found:
        return None
    products, target = found.columns, found.label
    factor = np.array(products, order="F")
    factor[np.diag_indices(columns)] += alpha
    factor, failed = dpotrf(factor, lower=True, overwrite_a=True)
    if failed:
        return None
    coef = np.zeros(columns)
    for _ in range(2):  # the second step refines the last digits
        coef += dpotrs(factor, target - products @ coef - alpha * coef, lower=True)[0]
    left = target - products @ coef - alpha * coef
    if not np.linalg.norm(left) <= _SOLVED * (np.linalg.norm(target) + np.linalg.norm(products) * np.linalg.norm(coef)):
        return None
    gap = max(0.0, float(left @ dpotrs(factor, left, lower=True)[0]) / (2 * found.total))
    objective = found.loss(coef) + alpha * float(coef @ coef) / (2 * found.total)
    squares = np.maximum(eigvalsh(products)[::-1], 0.0) if alpha == 0 else None
    return found.solved(coef, objective, gap, 1, squares)


def elastic_net(
    X: np.ndarray, y: np.ndarray, weight: Any, l1: float, l2: float, free: bool, tol: float, threads: int
) -> Solved | None:
    """Minimises the mean squared loss plus ``l1 |w|_1 + l2/2 |w|^2`` to a relative gap of `tol`. Returns None if the
    problem must be solved in another way.

    The L2 penalty is that of further rows sqrt(l2) I with label 0. With all residuals r, the dual point c r is feasible
    if ``c |X'r|_inf <= l1``."""
    found = _products(X, y, weight, free, threads, MOST_L1_COLUMNS)
    if not found or not found.null > 0:
        return None
    coef, target = np.zeros(X.shape[1]), found.label / found.total
    products = found.columns / found.total
    products[np.diag_indices_from(products)] += l2
    for rounds in range(1, MOST_ROUNDS + 1):
        lasso_products(products, target, l1, max(tol, _SOLVED) * found.null * 0.1**rounds, coef)
        bent = products @ coef
        size, along = 2 * found.null - 2 * (target @ coef) + coef @ bent, 2 * found.null - target @ coef
        scale = min(1.0, l1 / max(np.abs(target - bent).max(), np.finfo(float).tiny))
        objective = 0.5 * size + l1 * np.abs(coef).sum()
        gap = max(0.0, float(objective - scale * along + 0.5 * scale**2 * size))
        if gap <= tol * found.null:
            return found.solved(coef, float(objective), gap, rounds)
    return None
