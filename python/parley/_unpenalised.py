"""LinearRegression: least squares without a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._direct import is_small, unpenalised
from ._documented import documented
from ._estimator import Fit, Regressor


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
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([1., 2.]), 3.0)
    """

    _several = True
    _narrow = True
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
        return self._targets(X, y[:, None], weight)[0]

    def _targets(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> list[Fit]:
        for name in ("rank_", "singular_"):
            self.__dict__.pop(name, None)
        by_core = self.positive or (self.preset, self.workers, self.local_steps) != ("auto", None, None)
        if by_core or (sp.issparse(X) and not is_small(X)):
            problem = self._problem(1.0)
            return [self._solve(X, column, weight, problem) for column in y.T]
        fits, self.rank_, self.singular_ = unpenalised(self, X, y, weight, self._problem(1.0))
        return fits
