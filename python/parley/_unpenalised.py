"""LinearRegression: least squares without a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import svd
from sklearn.utils import assert_all_finite

from . import _run
from ._documented import documented
from ._estimator import Fit, Regressor

_INDEPENDENT = 1e-10  # square of a singular value relative to the largest: below, products have lost too many digits

_ENTRIES = 1_000_000  # of a sparse table that is made dense


def _by_singular_values(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, free: bool) -> tuple[Fit, int, Any]:
    """The fit of smallest norm, the rank and the singular values, from those of the table."""
    w = np.ones(len(y)) if weight is None else weight
    total = w.sum()
    mean = np.append(w @ X, w @ y) / total if free else np.zeros(X.shape[1] + 1)
    root = np.sqrt(w)
    table, target = root[:, None] * (X - mean[:-1]), root * (y - mean[-1])
    left, singular, right = svd(table, full_matrices=False, check_finite=False)
    rank = int((singular > max(X.shape) * np.finfo(float).eps * singular.max(initial=0.0)).sum())
    left, used, right = left[:, :rank], singular[:rank], right[:rank]
    coef = right.T @ ((left.T @ target) / used)
    off = target - table @ coef
    coef += right.T @ ((left.T @ off) / used)
    off = target - table @ coef
    null, objective = target @ target / (2 * total), float(off @ off / (2 * total))
    gap = float(np.sum((left.T @ off) ** 2) / (2 * total))
    summary = {"stop": "converged", "rounds": 1, "objective": objective, "dual": objective - gap, "gap": gap}
    summary["relative_gap"] = gap / null if null > 0 else 0.0
    log = np.array([(1, 1.0, 0.0, objective, objective - gap, gap, summary["relative_gap"])], dtype=_run.ROW)
    intercept = float(mean[-1] - coef @ mean[:-1])
    return Fit(coef[None], np.array([intercept]), summary, log), rank, singular


@documented
class LinearRegression(Regressor):
    """Linear regression without a penalty: ``|y - X w - b|^2``.

    The core solves it. Of a dense table, or a sparse one of up to a million entries, whose columns are many or nearly
    dependent, the singular values are computed here, by LAPACK, because products of columns have too few digits then.
    If columns depend on each other, the coefficients are those of smallest norm. Of dependent columns of larger sparse
    tables, the core finds one of the solutions.

    {parameters}

    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from parley import LinearRegression
    >>> X = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [2.0, 3.0]])
    >>> model = LinearRegression().fit(X, X @ [1.0, 2.0] + 3.0)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([1., 2.]), 3.0)
    """

    _several = True
    _exact = 1e-10
    _texts = {
        "rank_": ("int", "Rank of the centred table. Not with `positive`, nor of large sparse tables."),
        "singular_": (
            "ndarray",
            "Singular values of the centred table. Not with `positive`, nor of large sparse tables.",
        ),
    }

    def __init__(
        self, *, fit_intercept: bool = True, copy_X: bool = True, tol: float = 1e-6, n_jobs: int | None = None,
        positive: bool = False, max_iter: int | None = 10000, verbose: int = 0, random_state: Any = None,
        preset: str = "auto", workers: int | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _problem(self, weights: float) -> dict[str, Any]:
        intercept = "free" if self.fit_intercept else "none"
        return {"loss": "squared", "lambda": 0.0, "intercept": intercept, "non_negative": self.positive}

    def _regress(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit:
        for name in ("rank_", "singular_"):
            self.__dict__.pop(name, None)
        by_core = self.positive or (self.preset, self.workers, self.local_steps) != ("auto", None, None)
        if by_core or (sp.issparse(X) and X.shape[0] * X.shape[1] > _ENTRIES):
            return super()._regress(X, y, weight)
        X = X.toarray() if sp.issparse(X) else X
        if 0 < 2 * X.shape[1] <= X.shape[0]:
            fit, model = self._solve_table(X, y, weight, self._problem(1.0))
            products = _run.products(model)
            squares = np.zeros(1) if products is None else np.maximum(np.linalg.eigvalsh(products)[::-1], 0.0)
            if squares[-1] > _INDEPENDENT * squares[0]:
                self.rank_, self.singular_ = X.shape[1], np.sqrt(squares)
                return fit
        assert_all_finite(X, input_name="X")
        fit, self.rank_, self.singular_ = _by_singular_values(X, y, weight, self.fit_intercept)
        return fit
