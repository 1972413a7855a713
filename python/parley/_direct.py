"""Least squares with or without an L2 penalty from one decomposition of a table in memory, for all targets at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import svd
from sklearn.utils import assert_all_finite

from . import _run
from ._estimator import SMALL, Fit

_INDEPENDENT = 1e-10  # square of a singular value relative to the largest: below, products have lost too many digits
_ENTRIES = 1_000_000  # of a table that is decomposed, and of a sparse one that is made dense
_PRODUCTS = 200_000_000  # of a decomposition that takes less time than rounds of the core


def is_small(X: Any) -> bool:
    """Whether a table may be decomposed."""
    return X.shape[0] * X.shape[1] <= _ENTRIES


def is_cheap(X: Any) -> bool:
    """Whether a decomposition takes little time."""
    return is_small(X) and X.shape[0] * X.shape[1] * min(X.shape) <= _PRODUCTS


class Decomposed(NamedTuple):
    """The singular value decomposition of a table whose rows are scaled by the roots of their weights and, for a free
    intercept, whose columns are centred. Only the singular values above rounding are in `used`. `unit` is what the
    table was divided by, so that squares neither overflow nor vanish."""

    unit: float
    table: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    left: np.ndarray
    used: np.ndarray
    right: np.ndarray
    singular: np.ndarray

    @property
    def rank(self) -> int:
        return len(self.used)

    @property
    def level(self) -> np.ndarray:
        """The share of each row in the means."""
        return self.root**2 / (self.root @ self.root)


def mean_of(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted mean of rows. A second pass removes the rounding of the first, so that a constant column has its
    value as mean."""
    total = weight.sum()
    first = weight @ values / total
    return first + weight @ (values - first) / total


def prepared(X: Any, weight: np.ndarray | None, free: bool) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The unit, the table in it, the means of its columns in it, and the roots of the weights."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, float)
    most = np.abs(X).max(initial=0.0)
    unit = 1.0 if most == 0 or 1e-100 < most < 1e100 else float(2.0 ** np.floor(np.log2(most)))
    X = X if unit == 1 else X / unit
    w = np.ones(len(X)) if weight is None else weight
    mean, root = mean_of(X, w) if free else np.zeros(X.shape[1]), np.sqrt(w)
    return unit, root[:, None] * (X - mean), mean, root


def decomposed(X: Any, weight: np.ndarray | None, free: bool) -> Decomposed:
    unit, table, mean, root = prepared(X, weight, free)
    left, singular, right = svd(table, full_matrices=False, check_finite=False)
    least = max(X.shape) * np.finfo(float).eps * singular.max(initial=0.0)
    rank = int((singular > least).sum())
    return Decomposed(unit, table, mean, root, left[:, :rank], singular[:rank], right[:rank], singular)


def solved(parts: Decomposed, y: np.ndarray, alpha: float, free: bool) -> Fit:
    """The fit of one target: the solution, of smallest norm where there are several, with one step of refinement. The
    gap is exact, because the objective is quadratic."""
    weights = float(parts.root @ parts.root)
    level = float(mean_of(y, parts.root**2)) if free else 0.0
    target = parts.root * (y - level)
    alpha = alpha / parts.unit / parts.unit
    squares = parts.used**2 + alpha
    coef = parts.right.T @ (parts.used / squares * (parts.left.T @ target))
    for refined in (False, True):
        off = target - parts.table @ coef
        slope = parts.used * (parts.left.T @ off) - alpha * (parts.right @ coef)
        if not refined:
            coef = coef + parts.right.T @ (slope / squares)
    objective = float(off @ off + alpha * (coef @ coef)) / (2 * weights)
    gap = float(np.sum(slope**2 / squares)) / (2 * weights)
    null = float(target @ target) / (2 * weights)
    return fit_of(coef / parts.unit, level - coef @ parts.mean, objective, gap, null)


def fit_of(coef: np.ndarray, intercept: float, objective: float, gap: float, null: float) -> Fit:
    """A fit that the core did not make, with its objective, gap and objective at w = 0."""
    summary = {"stop": "converged", "rounds": 1, "objective": objective, "dual": objective - gap, "gap": gap}
    summary["relative_gap"] = gap / null if null > 0 else 0.0
    log = np.array([(1, 1.0, 0.0, objective, objective - gap, gap, summary["relative_gap"])], dtype=_run.ROW)
    return Fit(coef[None], np.array([float(intercept)]), summary, log)


def _with_gap(fit: Fit, X: np.ndarray, y: np.ndarray, weight: Any, products: np.ndarray, free: bool) -> Fit:
    """The fit with its gap, which the core does not have without a penalty, from the slope and the products."""
    w = np.ones(len(y)) if weight is None else weight
    off = w * (y - X @ fit.coef[0] - fit.intercept[0])
    slope = off @ X - (off.sum() * (w @ X / w.sum()) if free else 0.0)
    gap = max(0.0, float(slope @ np.linalg.solve(products, slope)) / (2 * w.sum()))
    null = float(w @ np.square(y - (mean_of(y, w) if free else 0.0))) / (2 * w.sum())
    summary = {**fit.summary, "gap": gap, "dual": fit.summary["objective"] - gap}
    summary["relative_gap"] = gap / null if null > 0 else 0.0
    return fit._replace(summary=summary)


def unpenalised(
    estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray | None, problem: dict[str, Any]
) -> tuple[list[Fit], int, np.ndarray]:
    """Fits without a penalty, a column of y each, with the rank and the singular values. The core solves tall tables,
    unless products of their columns have too few digits."""
    free = problem["intercept"] == "free"
    X = X.toarray() if sp.issparse(X) else X
    if 0 < 2 * X.shape[1] <= X.shape[0]:
        fits = []
        for column in y.T:
            fit, model = estimator._solve_table(X, column, weight, problem)
            products = _run.products(model)
            squares = np.zeros(1) if products is None else np.maximum(np.linalg.eigvalsh(products)[::-1], 0.0)
            if not squares[-1] > _INDEPENDENT * squares[0]:
                break
            fits.append(_with_gap(fit, X, column, weight, products, free))
        else:
            return fits, X.shape[1], np.sqrt(squares)
    assert_all_finite(X, input_name="X")
    parts = decomposed(X, weight, free)
    return [solved(parts, column, 0.0, free) for column in y.T], parts.rank, parts.singular * parts.unit


def penalised(X: Any, y: np.ndarray, weight: np.ndarray | None, alphas: np.ndarray, free: bool) -> list[Fit]:
    """Fits with an L2 penalty, or none where alpha is 0, a column of y each."""
    assert_all_finite(X.data if sp.issparse(X) else X, input_name="X")
    parts = decomposed(X, weight, free)
    return [solved(parts, column, alpha, free) for column, alpha in zip(y.T, alphas, strict=True)]


def suits(X: Any, alphas: np.ndarray) -> bool:
    """Whether `penalised` should solve a problem. The core is as exact on tall tables, and faster on large ones."""
    tall = not sp.issparse(X) and X.size > SMALL and 2 * X.shape[1] <= X.shape[0]
    return is_cheap(X) and not (tall and (alphas > 0).all())
