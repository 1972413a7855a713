"""Regressions: LinearSVR, Ridge, Lasso, ElasticNet, HuberRegressor, and those with a log link."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.extmath import safe_sparse_dot

from . import _run
from ._data import framed
from ._direct import is_small, penalised, suits, unpenalised
from ._documented import documented
from ._estimator import Fit, Regressor, total
from ._glm import Deviance, Problem, refined, small, solved

if TYPE_CHECKING:
    from typing_extensions import Self


class _Scales:
    """Fits with the loss `huber` at given scales, each started from the one before. A call returns the slope of the
    objective in the scale."""

    def __init__(self, estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray | None):
        self.estimator = estimator
        self.frame = framed(X, y, "huber", free(estimator.fit_intercept))
        self.weight = np.ones(len(y)) if weight is None else weight
        self.data = estimator._data(self.frame.X, self.frame.y, weight)
        self.start = estimator._start("huber", self.frame)
        self.fits: list[Fit] = []
        self.rounds = 0
        self.off = np.zeros(0)

    def __call__(self, scale: float) -> float:
        own, weights = self.estimator, self.weight.sum()
        problem = {
            "loss": "huber", "huber_width": own.epsilon * scale, "lambda": own.alpha * scale / weights,
            "intercept": free(own.fit_intercept),
        }  # fmt: skip
        watch, method = _run.Watch(own.verbose), own._method()
        if method["rounds"] is not None:
            method["rounds"] -= self.rounds
        self.start, summary, log = _run.train(self.data, {**problem, **method}, self.start, watch)
        self.rounds += summary["rounds"]
        coef, intercept = _run.coefficients(self.start)
        self.fits.append(Fit(coef, intercept, summary, log, watch.caught))
        self.off = np.abs(safe_sparse_dot(self.frame.X, coef[0]) + intercept[0] - self.frame.y)
        if watch.caught is not None or self.rounds >= (own._most_rounds() or np.inf):
            raise _Stopped
        outside = self.off > own.epsilon * scale
        return float(self.weight @ np.where(outside, 1 - own.epsilon**2, 1 - (self.off / scale) ** 2) / weights)

    def best(self, scale: float) -> float:
        """The optimal scale for the residuals of the last fit."""
        for _ in range(100):
            inside = self.off <= self.estimator.epsilon * scale
            rest = self.weight.sum() - self.estimator.epsilon**2 * self.weight[~inside].sum()
            if rest <= 0:
                scale *= 2
                continue
            last, scale = scale, float(np.sqrt(self.weight[inside] @ self.off[inside] ** 2 / rest))
            if abs(scale - last) <= 1e-6 * last:
                break
        return scale

    def solve(self, scale: float, least: float) -> float:
        """Finds the scale at which the slope is 0, at least `least`, by bracketing and then by the Illinois method."""
        low, high, below, above, step, side = least, np.inf, -1.0, 1.0, 1.01, 0
        bounded = False  # whether the slope is known to be negative at `low`
        close = max(1e-2 * self.estimator._gap(), 1e-10)
        for _ in range(100):
            slope = self(scale)
            if slope == 0 or (slope > 0 and scale <= least):
                return scale
            if slope < 0:
                low, below, above = scale, slope, above / 2 if side < 0 else above
                bounded = True
            else:
                high, above, below = scale, slope, below / 2 if side > 0 else below
            side = -1 if slope < 0 else 1
            if high - low <= close * low:
                break
            if bounded and np.isfinite(high):
                last, scale = scale, (low * above - high * below) / (above - below)
                if abs(scale - last) <= close / 4 * last:  # step over the root, so that the bracket closes
                    scale = min(max(scale - side * close / 2 * scale, low), high)
            else:
                scale = max(
                    least, min(scale, self.best(scale)) / step if side > 0 else max(scale, self.best(scale)) * step
                )
                step *= step
        return scale


class _Stopped(Exception):
    """The last fit was stopped by its callback, or there are no rounds for another one."""


def _scaled(estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> tuple[Fit, float, np.ndarray]:
    """Returns the fit at the optimal scale, the scale and the absolute residuals."""
    scales = _Scales(estimator, X, y, weight)
    spread = float(np.median(np.abs(y - np.median(y)))) or float(np.std(y)) or 1.0
    least = 10 * np.finfo(float).eps * max(spread, float(np.abs(y).max()))
    scale = max(least, getattr(estimator, "scale_", spread) if estimator.warm_start else spread)
    stopped = {}
    try:
        scale = scales.solve(scale, least)
    except _Stopped:
        scale = scales.best(scale)
        stopped = {"stop": "rounds", "relative_gap": np.nan} if scales.fits[-1].caught is None else {}
    fit = scales.fits[-1]
    summary = {**fit.summary, **stopped, "rounds": scales.rounds}
    log = np.concatenate([one.log for one in scales.fits])
    intercept = scales.frame.outside(fit.coef, fit.intercept)
    return Fit(fit.coef, intercept, summary, log, fit.caught), scale, scales.off


def free(fit_intercept: bool) -> str:
    return "free" if fit_intercept else "none"


@documented
class Ridge(Regressor):
    """Linear regression with an L2 penalty: ``|y - X w - b|^2 + alpha |w|^2``.

    {parameters}

    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from parley import Ridge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> Ridge(alpha=1.0, tol=1e-10).fit(X, y).coef_.round(4)
    array([1.3333])
    """

    _several = True
    _flat = True
    _narrow = True
    _exact = 1e-14
    _texts = {
        "alpha": "Strength of the penalty; an array has one for each target. 0: least squares, of smallest norm.",
        "positive": "Keep the coefficients at 0 or more; `solver` must then be 'auto' or 'lbfgs'.",
        "solver_": ("str", "The solver that scikit-learn uses for this problem. Parley has its own."),
    }
    _only = {
        "solver": (
            ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
            "it solves another problem",
        ),
    }

    def __init__(
        self, alpha: Any = 1.0, *, fit_intercept: bool = True, copy_X: bool = True, max_iter: int | None =
        None, tol: float = 1e-4, solver: str = "auto", positive: bool = False, random_state: Any = None,
        warm_start: bool = False, verbose: int = 0, n_jobs: int | None = None, preset: str = "auto", workers:
        int | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _refuse(self) -> None:
        super()._refuse()
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ValueError(f"solver={self.solver!r} does not support positive fitting; use solver='auto' or 'lbfgs'")

    def _gap(self) -> float:
        """scikit-learn's `tol` bounds the slope of the objective, whose square the gap follows."""
        return min(super()._gap(), max(self.tol**2, self._exact))

    def _problem(self, weights: float, alpha: float = 0.0) -> dict[str, Any]:
        return {
            "loss": "squared",
            "lambda": alpha / weights,
            "intercept": free(self.fit_intercept),
            "non_negative": self.positive,
        }

    def _alphas(self, targets: int) -> np.ndarray:
        alphas = np.ravel(np.asarray(self.alpha, float))
        if len(alphas) not in (1, targets):
            raise ValueError(f"Number of targets and number of penalties do not correspond: {len(alphas)} != {targets}")
        if not (alphas >= 0).all():
            raise ValueError(f"alpha is {self.alpha}; it must be 0 or more")
        return np.broadcast_to(alphas, (targets,))

    def _regress(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit:
        return self._targets(X, y[:, None], weight)[0]

    def _targets(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> list[Fit]:
        alphas = self._alphas(y.shape[1])
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = "lbfgs" if self.positive else "sparse_cg" if sp.issparse(X) else "cholesky"
        if not self.positive and (self.preset, self.workers, self.local_steps) == ("auto", None, None):
            if suits(X, alphas):
                return penalised(X, y, weight, alphas, self.fit_intercept)
            if not alphas.any() and is_small(X):
                return unpenalised(self, X, y, weight, self._problem(1.0))[0]
        weights = total(weight, X.shape[0])
        return [
            self._solve(X, column, weight, self._problem(weights, float(alpha))) for column, alpha in zip(y.T, alphas)
        ]


class _Sparse(Regressor):
    """Base of regressors with the mean squared loss and an L1 penalty."""

    _several = True
    _flat = True
    _narrow = True
    _complaint = "Objective did not converge. You might want to increase the number of iterations"

    def _problem(self, weights: float, alpha: float | None = None, l1_ratio: float | None = None) -> dict[str, Any]:
        alpha = float(self.alpha if alpha is None else alpha)
        return {
            "loss": "squared",
            "lambda": alpha,
            "l1_ratio": (self.l1_ratio if l1_ratio is None else l1_ratio) if alpha > 0 else None,
            "intercept": free(self.fit_intercept),
            "non_negative": self.positive,
        }

    def _regress(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit:
        return self._penalised(X, y, weight, float(self.alpha), self.l1_ratio)

    def _penalised(self, X: Any, y: np.ndarray, weight: Any, alpha: float, l1_ratio: float) -> Fit:
        """The fit for a strength. Without one, it is the solution of smallest norm."""
        default = (self.preset, self.workers, self.local_steps) == ("auto", None, None)
        if alpha == 0 and default and not self.positive and is_small(X):
            return unpenalised(self, X, y[:, None], weight, self._problem(1.0, 0.0))[0][0]
        return self._solve(X, y, weight, self._problem(1.0, alpha, l1_ratio))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True, *, offset: Any = None) -> Self:
        if self.alpha == 0:
            text = "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression "
            warnings.warn(text + "estimator, which Parley does here if it can.", stacklevel=2)
        return super().fit(X, y, sample_weight, offset=offset)

    fit.__doc__ = Regressor.fit.__doc__.replace(
        "None: all are 1.\n",
        "None: all are 1.\n        check_input : bool, default=True\n            Accepted without effect.\n",
    )

    @property
    def dual_gap_(self) -> Any:
        """scikit-learn's name for ``gap_``; an array for several targets."""
        return self.gap_ if np.ndim(self.coef_) == 1 else np.array(self._summary["gaps"])

    def _iterations(self, rounds: int) -> Any:
        return rounds if np.ndim(self.coef_) == 1 else list(self._summary["rounds_of_each"])

    @property
    def sparse_coef_(self) -> sp.csr_matrix:
        """Sparse form of ``coef_``."""
        return sp.csr_matrix(self.coef_)


@documented
class ElasticNet(_Sparse):
    """Linear regression with L1 and L2 penalties.

    The objective is ``|y - X w - b|^2 / (2 n) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)``.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from parley import ElasticNet
    >>> X, y = make_regression(n_features=2, random_state=0)
    >>> ElasticNet(tol=1e-10).fit(X, y).coef_.round(3)
    array([18.838, 64.56 ])
    """

    def __init__(
        self, alpha: float = 1.0, *, l1_ratio: float = 0.5, fit_intercept: bool = True, precompute: bool =
        False, max_iter: int | None = 10000, copy_X: bool = True, tol: float = 1e-4, warm_start: bool = False,
        positive: bool = False, random_state: Any = None, selection: str = "cyclic", verbose: int = 0, n_jobs:
        int | None = None, preset: str = "auto", workers: int | None = None, local_steps: int | str | None =
        None,
    ) -> None:  # fmt: skip
        self._keep(locals())


@documented
class Lasso(_Sparse):
    """Linear regression with an L1 penalty: ``|y - X w - b|^2 / (2 n) + alpha |w|_1``.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from parley import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> round(float(model.coef_.sum()), 2)
    0.85
    """

    l1_ratio = 1.0

    def __init__(
        self, alpha: float = 1.0, *, fit_intercept: bool = True, precompute: bool = False, copy_X: bool =
        True, max_iter: int | None = 10000, tol: float = 1e-4, warm_start: bool = False, positive: bool =
        False, random_state: Any = None, selection: str = "cyclic", verbose: int = 0, n_jobs: int | None =
        None, preset: str = "auto", workers: int | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())


class _LogLink(Regressor):
    """Base of regressors whose prediction is ``exp(x.w + b)``, with half the deviance of variance power `_power`."""

    _positive = True
    _only = {"solver": (("lbfgs", "newton-cholesky"), "it solves another problem")}
    _power = 1.0

    def __init__(
        self, *, alpha: float = 1.0, fit_intercept: bool = True, solver: str = "lbfgs", max_iter: int | None =
        10000, tol: float = 1e-4, warm_start: bool = False, verbose: int = 0, random_state: Any = None,
        n_jobs: int | None = None, preset: str = "auto", workers: int | None = None, local_steps: int | str |
        None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _deviance(self) -> Deviance:
        return Deviance(self._power, True)

    def _labels(self, y: np.ndarray) -> None:
        power = self._deviance().power
        if power >= 2 and not (y > 0).all():
            raise ValueError("Some value(s) of y are out of the valid range of the loss: they must be above 0")
        if 1 <= power < 2 and ((y < 0).any() or not y.any()):
            raise ValueError(
                "Some value(s) of y are out of the valid range of the loss: they must be 0 or more, and not all 0"
            )

    def _own_loss(self) -> dict[str, Any] | None:
        """The settings of the loss in the core, or None if it has none."""
        power, log = self._deviance()
        if not log:
            return {"loss": "squared"} if power == 0 else None
        own = {1.0: "poisson", 2.0: "gamma"}.get(power)
        return {"loss": own} if own else {"loss": "tweedie", "power": power} if 1 < power < 2 else None

    def _problem(self, weights: float) -> dict[str, Any]:
        return {**(self._own_loss() or {"loss": "none"}), "lambda": self.alpha, "intercept": free(self.fit_intercept)}

    def _model(self) -> Any:
        if self._own_loss() is None:
            power, log = self._deviance()
            link = "log" if log else "identity"
            raise ValueError(f"{type(self).__name__} with power={power:g} and a link {link!r} is no model of the core")
        return super()._model()

    def _regress(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit:
        deviance = self._deviance()
        problem = Problem(deviance, X, y.astype(float), weight, self.alpha, self.fit_intercept, self._offset)
        if self._own_loss() is None:
            start = None
            if self.warm_start and hasattr(self, "coef_") and len(self.coef_) == X.shape[1]:
                start = np.append(self.coef_, self.intercept_)
            assert_all_finite(X.data if sp.issparse(X) else X, input_name="X")
            fit = solved(problem, start, self.tol, self.max_iter or 10000, _run.Watch(self.verbose))
            if fit.summary["stop"] != "converged":
                text = f"It ended after {fit.summary['rounds']} steps. Increase max_iter or tol, or scale the data."
                warnings.warn(text, ConvergenceWarning, 4)
                fit.summary["relative_gap"] = 0.0
            return fit
        fit = super()._regress(X, y, weight)
        by_auto = (self.preset, self.workers, self.local_steps) == ("auto", None, None)
        ended = fit.summary["stop"] in ("converged", "stalled") and not fit.caught
        return refined(problem, fit, self.tol) if by_auto and small(X) and ended else fit

    def _get_loss(self) -> Any:
        """scikit-learn's loss of this estimator."""
        from sklearn import _loss

        power, log = self._deviance()
        if log:
            own = {1.0: _loss.HalfPoissonLoss, 2.0: _loss.HalfGammaLoss}
            return own[power]() if power in own else _loss.HalfTweedieLoss(power=power)
        return _loss.HalfTweedieLossIdentity(power=power)

    @property
    def _base_loss(self) -> Any:
        return self._get_loss()

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Predict expected values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            ``exp(x.w + b)``, or with an identity link ``x.w + b``.
        """
        decisions = self._decide(X, offset)
        return np.exp(decisions) if self._deviance().log else decisions

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """The share of the deviance explained, D^2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for predicting the mean.
        """
        from sklearn.metrics import d2_tweedie_score

        predictions, power = self.predict(X, offset=offset), self._deviance().power
        return float(d2_tweedie_score(y, predictions, sample_weight=sample_weight, power=power))


@documented
class PoissonRegressor(_LogLink):
    """Poisson regression with a log link: the mean of half the deviance plus ``alpha / 2 |w|^2``.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from parley import PoissonRegressor
    >>> model = PoissonRegressor(tol=1e-8).fit([[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21])
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.121, 0.158]), 2.089)
    """


@documented
class GammaRegressor(_LogLink):
    """Gamma regression with a log link, for labels above 0: the mean of half the deviance plus ``alpha / 2 |w|^2``.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from parley import GammaRegressor
    >>> model = GammaRegressor(tol=1e-8).fit([[1, 2], [2, 3], [3, 4], [4, 3]], [19, 26, 33, 30])
    >>> model.coef_.round(3), round(float(model.intercept_), 2)
    (array([0.073, 0.067]), 2.9)
    """

    _power = 2.0


@documented
class TweedieRegressor(_LogLink):
    """Regression with half the deviance of a Tweedie distribution plus ``alpha / 2 |w|^2``.

    The variance is proportional to the `power`-th power of the mean: 0 is least squares, 1 is Poisson, 2 is gamma, and
    between them are sums of a random number of sizes, such as claims; 3 is the inverse Gaussian distribution. The core
    solves powers 0 with an identity link and from 1 to 2 with a log link, and certifies them. Others are solved by
    Newton's method here, without a certificate.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from parley import TweedieRegressor
    >>> model = TweedieRegressor(power=1.5, tol=1e-8).fit([[1, 2], [2, 3], [3, 4], [4, 3]], [2, 3.5, 5, 5.5])
    >>> model.predict([[1, 1], [3, 4]]).round(2)
    array([2.25, 4.71])
    """

    _texts = {
        "power": "Power of the variance: 0 or less, or 1 or more.",
        "link": "'log', 'identity', or 'auto': log for powers above 0.",
    }

    def __init__(
        self, *, power: float = 0.0, alpha: float = 1.0, fit_intercept: bool = True, link: str = "auto", solver:
        str = "lbfgs", max_iter: int | None = 10000, tol: float = 1e-4, warm_start: bool = False, verbose: int =
        0, random_state: Any = None, n_jobs: int | None = None, preset: str = "auto", workers: int | None = None,
        local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    @property
    def _positive(self) -> bool:
        return self.power >= 1

    def _deviance(self) -> Deviance:
        power = float(self.power)
        if 0 < power < 1:
            raise ValueError(f"power is {self.power}; it must be 0 or less, or 1 or more: no distribution has it")
        if self.link not in ("auto", "log", "identity"):
            raise ValueError(f"link={self.link!r} is not supported; use 'auto', 'log' or 'identity'")
        return Deviance(power, self.link == "log" or (self.link == "auto" and power > 0))


@documented
class LinearSVR(Regressor):
    """Support vector regression: ``|w|^2 / 2 + C sum max(0, |y - x.w - b| - epsilon)``, with b penalised.

    With ``loss='squared_epsilon_insensitive'``, the excess over epsilon is squared.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from parley import LinearSVR
    >>> X, y = make_regression(n_features=4, random_state=0)
    >>> LinearSVR(C=10.0, tol=1e-8).fit(X, y).score(X, y) > 0.99
    True
    """

    _array = True
    _only = {
        "loss": (("epsilon_insensitive", "squared_epsilon_insensitive"), "there are no other losses of this kind"),
    }

    def __init__(
        self, *, epsilon: float = 0.0, tol: float = 1e-4, C: float = 1.0, loss: str = "epsilon_insensitive",
        fit_intercept: bool = True, intercept_scaling: float = 1.0, dual: bool | str = "auto", verbose: int =
        0, random_state: Any = None, max_iter: int | None = 10000, n_jobs: int | None = None, preset: str =
        "auto", workers: int | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _problem(self, weights: float) -> dict[str, Any]:
        intercept = "penalised" if self.fit_intercept else "none"
        return {"loss": self.loss.replace("_", "-"), "epsilon": self.epsilon, "C": self.C, "intercept": intercept}


@documented
class QuantileRegressor(Regressor):
    """Linear regression of a quantile: the mean pinball loss plus ``alpha |w|_1``.

    This is a linear program. The core solves it for up to 2000 columns, and `gap_` bounds how far the objective is from
    its optimum.

    {parameters}

    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from parley import QuantileRegressor
    >>> X = np.arange(11.0).reshape(-1, 1)
    >>> y = np.where(X.ravel() == 10, 100.0, 2 * X.ravel())
    >>> QuantileRegressor(alpha=0.0).fit(X, y).coef_.round(4)
    array([2.])
    """

    _exact = 1e-8
    _texts = {
        "quantile": "The quantile, strictly between 0 and 1.",
        "solver_options": "Accepted without effect: they are of scikit-learn's solvers.",
    }
    _only = {
        "solver": (
            ("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex"),
            "scikit-learn has no other solver",
        ),
    }

    def __init__(
        self, *, quantile: float = 0.5, alpha: float = 1.0, fit_intercept: bool = True, solver: str = "highs",
        solver_options: dict | None = None, tol: float = 1e-7, max_iter: int | None = 10000, warm_start: bool = False,
        verbose: int = 0, random_state: Any = None, n_jobs: int | None = None, preset: str = "auto", workers:
        int | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _problem(self, weights: float) -> dict[str, Any]:
        penalty = {"lambda": self.alpha, "l1_ratio": 1.0} if self.alpha > 0 else {"lambda": 0.0}
        return {"loss": "quantile", "quantile": self.quantile, **penalty, "intercept": free(self.fit_intercept)}


@documented
class HuberRegressor(Regressor):
    """Regression with Huber's loss, which is linear for large residuals, and an estimated scale.

    The objective is ``sum (sigma + H((y - x.w - b) / sigma) sigma) + alpha |w|^2`` with ``H(z) = z^2`` up to `epsilon`
    and ``2 epsilon |z| - epsilon^2`` beyond. At a given scale, this is the core's loss `huber`. The scale is the
    root of the slope of the objective in it, which is increasing, and is found by bracketing.

    {parameters}

    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from parley import HuberRegressor
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> y = 2 * X.ravel() + np.tile([-0.5, 0.5], 10)
    >>> y[3] = 500.0
    >>> model = HuberRegressor(tol=1e-9).fit(X, y)
    >>> model.coef_.round(1), model.outliers_.nonzero()[0]
    (array([2.]), array([3]))
    """

    _exact = 1e-13
    _texts = {
        "epsilon": "Residuals beyond this many scales have a linear loss; at least 1.",
        "scale_": ("float", "The scale sigma."),
        "outliers_": ("ndarray of shape (n_samples,)", "True for rows with a residual above ``epsilon * scale_``."),
    }

    def __init__(
        self, *, epsilon: float = 1.35, max_iter: int | None = 10000, alpha: float = 0.0001, warm_start: bool
        = False, fit_intercept: bool = True, tol: float = 1e-5, verbose: int = 0, random_state: Any = None,
        n_jobs: int | None = None, preset: str = "auto", workers: int | None = None, local_steps: int | str |
        None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _iterations(self, rounds: int) -> int:
        return self._summary["rounds"]

    def _loss(self) -> str:
        return "huber"

    def _settled(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit | None:
        """The model of the last fit, if no slope of the objective is above `tol` there."""
        if not self.warm_start or len(getattr(self, "coef_", ())) != X.shape[1] or not hasattr(self, "run_"):
            return None
        weight = np.ones(len(y)) if weight is None else weight
        z = (y - X @ self.coef_ - self.intercept_) / self.scale_
        slope = -2 * weight * np.clip(z, -self.epsilon, self.epsilon)
        slopes = [*(X.T @ slope + 2 * self.alpha * self.coef_), slope.sum() if self.fit_intercept else 0.0]
        slopes.append(weight @ np.where(np.abs(z) > self.epsilon, 1 - self.epsilon**2, 1 - z**2))
        if not np.abs(slopes).max() <= self.tol:
            return None
        self.outliers_ = np.abs(z) > self.epsilon
        summary = {**self._summary, "rounds": 0, "stop": "converged"}
        return Fit(self.coef_[None], np.array([self.intercept_]), summary, self.run_)

    def _regress(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Fit:
        if (settled := self._settled(X, y, weight)) is not None:
            return settled
        fit, self.scale_, off = _scaled(self, X, y, weight)
        self.outliers_ = off > self.epsilon * self.scale_
        return fit
