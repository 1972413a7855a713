"""Generalised linear models in float64: the deviances of scikit-learn's powers and links, and Newton's method on tables
that are small, or whose loss the core does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq
from scipy.optimize import minimize

from . import _run
from ._data import Frame, framed
from ._estimator import SMALL, Fit

_WIDE = 1000  # columns from which on a system of all of them is too large
_TINY = 1e-10  # eigenvalue of a system of equations, relative to the largest, below which columns depend on each other


class Deviance(NamedTuple):
    """Half the deviance of a Tweedie distribution, up to a part that depends on y only: the variance is the `power`-th
    power of the mean, which is exp(z) with a `log` link, or z."""

    power: float
    log: bool

    def _integral(self, mean: np.ndarray, exponent: float) -> np.ndarray:
        """The integral of mean ** (exponent - 1)."""
        return np.log(mean) if exponent == 0 else mean**exponent / exponent

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Infinite where there is no such mean."""
        if self.power == 0:
            return 0.5 * ((np.exp(z) if self.log else z) - y) ** 2
        mean = np.exp(z) if self.log else np.where(z > 0, z, np.nan)
        values = self._integral(mean, 2 - self.power) - y * self._integral(mean, 1 - self.power)
        return np.where(np.isfinite(values), values, np.inf)

    def slopes(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The slope, the curvature and the expected curvature, which is positive."""
        p = self.power
        if not self.log:
            return (z - y) * z**-p, (1 - p) * z**-p + p * y * z ** (-p - 1), z**-p
        mean = np.exp(z)
        expected = mean ** (2 - p)
        return mean ** (1 - p) * (mean - y), (2 - p) * expected - (1 - p) * y * mean ** (1 - p), expected


class Problem:
    """The mean deviance plus ``alpha / 2 |w|^2`` of rows. Models are arrays of coefficients, and the intercept last."""

    def __init__(
        self, deviance: Deviance, X: Any, y: np.ndarray, weight: Any, alpha: float, free: bool, offset: Any = None
    ):  # fmt: skip
        self.deviance, self.X, self.y, self.alpha, self.free = deviance, X, y, alpha, free
        self.offset, self.frame = 0.0 if offset is None else offset, Frame(X, y)
        weight = np.ones(len(y)) if weight is None else weight
        self.share = weight / weight.sum()

    def centre(self, v: np.ndarray | None) -> np.ndarray | None:
        """Subtracts the means of columns that are far from 0, such as years, which would be nearly collinear with the
        intercept. Returns the model for the rows that are left; `original` converts it back."""
        self.frame = framed(self.X, self.y, "tweedie", "free" if self.free else "none")
        self.X = self.frame.X
        return None if v is None else np.append(v[:-1], self.frame.inside(v[:-1], v[-1]))

    def original(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients and the intercept for the rows as given."""
        return v[None, :-1], self.frame.outside(v[None, :-1], v[-1:])

    def decide(self, v: np.ndarray) -> np.ndarray:
        return self.X @ v[:-1] + v[-1] + self.offset

    def value(self, v: np.ndarray) -> float:
        with np.errstate(all="ignore"):
            values = self.deviance.value(self.decide(v), self.y)
        return float(self.share[self.share > 0] @ values[self.share > 0]) + self.alpha / 2 * float(v[:-1] @ v[:-1])

    def gradient(self, v: np.ndarray, slope: np.ndarray) -> np.ndarray:
        slope = self.share * slope
        return np.append(self.X.T @ slope + self.alpha * v[:-1], slope.sum() if self.free else 0.0)

    def start(self) -> np.ndarray:
        """A model whose means are possible, and which has the mean label if there is an intercept."""
        v = np.zeros(self.X.shape[1] + 1)
        mean = float(self.share @ self.y)
        if self.free:
            v[-1] = mean if not self.deviance.log else np.log(mean) if mean > 0 else 0.0
            v[-1] -= float(self.share @ np.broadcast_to(self.offset, self.y.shape))
        elif not self.deviance.log and self.deviance.power != 0:
            X = self.X.toarray() if sp.issparse(self.X) else self.X
            v[:-1] = lstsq(X, np.maximum(self.y, 0.1 * mean))[0]
        if not np.isfinite(self.value(v)):
            raise ValueError("there is no model to begin with whose means are all above 0; use link='log'")
        return v

    def step(self, v: np.ndarray, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Newton's step; of least norm, in units of the columns, if columns depend on each other."""
        curvature = self.share * curvature
        rows = np.sqrt(curvature)[:, None] * self.X
        system = np.zeros((len(v), len(v)))
        system[:-1, :-1] = rows.T @ rows
        if self.free:
            system[-1, :-1] = system[:-1, -1] = curvature @ self.X
            system[-1, -1] = curvature.sum()
        system[np.arange(len(v) - 1), np.arange(len(v) - 1)] += self.alpha
        diagonal = system.diagonal()
        unit = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)) if self.alpha == 0 else np.ones(len(v))
        values, vectors = np.linalg.eigh(unit[:, None] * system * unit)
        good = values > _TINY * values[-1] if self.alpha == 0 else values > 0
        return -unit * (vectors[:, good] @ ((vectors[:, good].T @ (unit * gradient)) / values[good]))


def newton(problem: Problem, v: np.ndarray, tol: float, most: int, ask: Callable) -> tuple[np.ndarray, int, bool]:
    """Newton's method with a line search, from v. Where the curvature of a row is negative, the expected one takes its
    place. Returns the model, the steps, and whether no entry of the gradient is above `tol`."""
    value, steps = problem.value(v), 0
    while True:
        slope, curvature, expected = problem.deviance.slopes(problem.decide(v), problem.y)
        gradient = problem.gradient(v, slope)
        if np.abs(gradient).max() <= tol or steps >= most or not ask(steps, value):
            break
        step = problem.step(v, gradient, np.where(curvature > 0, curvature, expected))
        slant, length, rounding = gradient @ step, 1.0, 1e-14 * (1.0 + abs(value))
        while length > 1e-10 and not problem.value(v + length * step) <= value + 1e-4 * length * slant + rounding:
            length /= 2
        better = v + length * step
        if length <= 1e-10 or np.array_equal(better, v):
            break
        v, value, steps = better, problem.value(better), steps + 1
    return v, steps, bool(np.abs(gradient).max() <= max(tol, 1e-10))


def least_norm(problem: Problem, v: np.ndarray) -> np.ndarray:
    """The model with the same predictions and the least |w|."""
    X = problem.X - (problem.share @ problem.X if problem.free else 0.0)
    w = lstsq(X, X @ v[:-1], cond=1e-12)[0]
    shift = v[-1] + problem.share @ (problem.X @ (v[:-1] - w)) if problem.free else 0.0
    return np.append(w, shift)


def refined(problem: Problem, fit: Fit, tol: float) -> Fit:
    """The fit of the core with the digits that float64 values allow."""
    v = problem.centre(np.append(fit.coef[0], fit.intercept))
    v, _, done = newton(problem, v, min(tol, 1e-12), 20, lambda *_: True)
    if problem.alpha == 0:
        v = least_norm(problem, v)
    summary = {**fit.summary, "stop": "converged"} if done else fit.summary
    coef, intercept = problem.original(v)
    return fit._replace(coef=coef, intercept=intercept, summary=summary)


def small(X: Any) -> bool:
    return not sp.issparse(X) and X.size <= SMALL and X.shape[1] < _WIDE


def solved(problem: Problem, start: np.ndarray | None, tol: float, most: int, log: _run.Watch) -> Fit:
    """A fit without the core, by Newton's method, or of very many columns by L-BFGS."""
    rows = []

    def ask(steps: int, value: float) -> bool:
        row = (steps, float(steps), 0.0, value, np.nan, np.nan, np.nan)
        rows.append(row)
        if log.progress:
            log.progress.show(row)
        return True

    start = problem.centre(start)
    v = problem.start() if start is None or not np.isfinite(problem.value(start)) else start
    if problem.X.shape[1] < _WIDE:
        if sp.issparse(problem.X):
            problem.X = problem.X.toarray()
        v, steps, done = newton(problem, v, tol, most, ask)
    else:
        found = minimize(
            lambda v: (problem.value(v), problem.gradient(v, problem.deviance.slopes(problem.decide(v), problem.y)[0])),
            v, jac=True, method="L-BFGS-B", options={"maxiter": most, "gtol": tol, "ftol": 0.0, "maxls": 50},
        )  # fmt: skip
        v, steps, done = found.x, int(found.nit), bool(found.success)
    ask(max(1, steps), problem.value(v))
    if problem.alpha == 0 and done and problem.X.shape[1] < _WIDE:
        v = least_norm(problem, v)
    log.close()
    summary = {"stop": "converged" if done else "rounds", "rounds": max(1, steps), "objective": problem.value(v),
               "dual": np.nan, "gap": np.nan, "relative_gap": np.nan}  # fmt: skip
    return Fit(*problem.original(v), summary, np.array(rows, dtype=_run.ROW))
