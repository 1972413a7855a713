"""Least squares, with an L2 penalty or none, on a tall dense table, solved from the products of one pass over it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpotrf, dpotrs

from ._data import moments
from ._run import ROW

MOST_COLUMNS = 256  # with more columns, other methods are as fast
_SOLVED = 1e-12  # relative residual of the normal equations


class Solved(NamedTuple):
    """Coef, intercept, summary and log as of a run of the core. Without a penalty also the squares of the table's
    singular values, the largest first."""

    coef: np.ndarray
    intercept: np.ndarray
    summary: dict[str, Any]
    log: np.ndarray
    squares: np.ndarray | None


def least_squares(X: np.ndarray, y: np.ndarray, weight: Any, alpha: float, free: bool, threads: int) -> Solved | None:
    """Returns None if the problem must be solved in another way."""
    rows, columns = X.shape
    if not 0 < columns <= min(MOST_COLUMNS, rows // 2) or not 0 <= alpha < np.inf:
        return None
    shift = np.zeros(columns + 1)
    if free:  # near the means, so that subtracting them loses few digits
        sample = slice(None, None, max(1, rows // 1000))
        shift[:-1], shift[-1] = X[sample].mean(axis=0, dtype=float), y[sample].mean()
        shift[~np.isfinite(shift)] = 0.0
    sums = moments(X, y, weight, shift, threads)
    total = sums[-1, -1]
    mean = sums[-1, :-1] / total if free else np.zeros(columns + 1)
    centred = sums[:-1, :-1] - total * np.outer(mean, mean)
    products, target, null = centred[:-1, :-1], centred[:-1, -1], max(centred[-1, -1], 0.0) / (2 * total)
    factor, failed = dpotrf(products + alpha * np.eye(columns), lower=True)
    if failed:
        return None
    coef = np.zeros(columns)
    for _ in range(2):  # the second step refines the last digits
        coef += dpotrs(factor, target - products @ coef - alpha * coef, lower=True)[0]
    left = target - products @ coef - alpha * coef
    if not np.linalg.norm(left) <= _SOLVED * (np.linalg.norm(target) + np.linalg.norm(products) * np.linalg.norm(coef)):
        return None
    gap = max(0.0, float(left @ dpotrs(factor, left, lower=True)[0]) / (2 * total))
    objective = max(0.0, null + float(coef @ (products @ coef + alpha * coef - 2 * target)) / (2 * total))
    intercept = float(mean[-1] + shift[-1] - coef @ (mean[:-1] + shift[:-1])) if free else 0.0
    summary = {"stop": "converged", "rounds": 1, "objective": objective, "dual": objective - gap, "gap": gap}
    summary["relative_gap"] = gap / null if null > 0 else 0.0
    log = np.array([(1, 1.0, 0.0, objective, objective - gap, gap, summary["relative_gap"])], dtype=ROW)
    squares = np.maximum(eigvalsh(products)[::-1], 0.0) if alpha == 0 else None
    return Solved(coef[None], np.array([intercept]), summary, log, squares)
