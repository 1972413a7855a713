"""Estimators that choose the strength of the penalty by cross-validation. Each fold runs one path of the core."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.extmath import safe_sparse_dot

from . import _run
from ._classifiers import LogisticRegression, Probable, l1_share
from ._compat import check_labels
from ._data import framed
from ._documented import documented
from ._estimator import Linear, Regressor, checked_weight, numbered, several, total
from ._library import make
from ._regressors import _Sparse, free

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST = 128  # lambdas of one path, because the text of a setting has a limited length


def _rows(X: Any, y: Any, weight: Any, part: Any) -> tuple[Any, Any, Any]:
    return X[part], y[part], None if weight is None else weight[part]


def _folds(cv: Any, X: Any, y: np.ndarray) -> list:
    """Folds of a classifier. By default there are five, or as many as the largest class has rows."""
    if cv is None:
        cv = max(2, min(5, int(np.unique(y, return_counts=True)[1].max())))
    return list(check_cv(cv, y, classifier=True).split(X, y))


def _counted(cv: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Removes rows of weight 0 if `cv` is a number of folds, so that such rows do not affect the folds."""
    if weight is None or weight.all() or not (cv is None or isinstance(cv, Integral)):
        return X, y, weight
    return _rows(X, y, weight, weight > 0)


def _each(estimator: Linear, work: Callable, parts: list[tuple]) -> list[Any]:
    """Calls `work` on all parts, in parallel threads. An exception, such as Ctrl-C, stops all of them."""
    count = _run.threads(estimator.n_jobs) or _run.cores()
    workers, stopped, shown = min(count, len(parts)), threading.Event(), _run.progress(estimator.verbose)
    with ThreadPoolExecutor(workers) as pool, closing(shown) if shown else nullcontext():
        watch = {"threads": max(1, count // workers), "ask": lambda _: stopped.is_set()}
        found = [pool.submit(work, *part, **watch) for part in parts]
        try:
            for done, one in enumerate(as_completed(found), 1):
                one.result()
                if shown:
                    shown.count(done, len(parts))
            return [one.result() for one in found]
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise


def _path(
    estimator: Linear, rows: tuple, problem: dict, lambdas: np.ndarray, watch: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (lambdas x outputs x columns) and intercepts for decreasing lambdas."""
    X, y, weight = rows
    frame = framed(X, y, problem["loss"], problem["intercept"])
    values = {**problem, **estimator._method(), "threads": watch["threads"], "full_path": True}
    values["gap"] = min(estimator.tol, max(estimator._gap(), 1e-10))
    data, parts = estimator._data(frame.X, frame.y, weight), []
    for part in np.array_split(lambdas, -(-len(lambdas) // _MOST)):
        path, _, _ = _run.path(data, {**values, "lambda_list": part}, _run.Watch(0, watch["ask"]))
        parts += [_run.coefficients(make("model", "parley_path_model", path, i)) for i in range(len(part))]
    coefs, intercepts = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
    return coefs, frame.outside(coefs, intercepts)


class _PathCV(_Sparse):
    """Base of LassoCV and ElasticNetCV."""

    _several = False
    _exact = 0.0

    def _grid(self, X: Any, y: np.ndarray, weight: np.ndarray | None, l1_ratio: float) -> np.ndarray:
        """The alphas of scikit-learn: geometric, downwards from the smallest at which all coefficients are 0."""
        count = self.alphas if self.n_alphas is None else self.n_alphas
        if not isinstance(count, Integral):
            return np.sort(np.asarray(count, float))[::-1]
        if not l1_ratio > 0:
            raise ValueError("with l1_ratio=0 no alpha makes all coefficients 0; give alphas as a list")
        weights = np.ones(len(y)) if weight is None else weight
        off = weights * (y - np.average(y, weights=weights)) if self.fit_intercept else weights * y
        slope = safe_sparse_dot(X.T, off)
        if self.fit_intercept:
            slope = slope - np.asarray(safe_sparse_dot(X.T, weights)).ravel() / weights.sum() * off.sum()
        largest = float(np.abs(slope).max()) / (weights.sum() * l1_ratio)
        tiny = np.finfo(float).resolution
        return np.full(count, tiny) if largest <= tiny else np.geomspace(largest, largest * self.eps, num=count)

    def _errors(self, rows: tuple, fold: tuple, l1_ratio: float, alphas: np.ndarray, **watch: Any) -> np.ndarray:
        """The mean squared error on a fold's test rows, by alpha."""
        problem = {"loss": "squared", "l1_ratio": l1_ratio, "intercept": free(self.fit_intercept)}
        problem["non_negative"] = self.positive
        different, inverse = np.unique(-alphas, return_inverse=True)
        coefs, intercepts = _path(self, _rows(*rows, fold[0]), problem, -different, watch)
        X, y, weight = _rows(*rows, fold[1])
        off = safe_sparse_dot(X, coefs[:, 0].T) + intercepts[:, 0] - y[:, None]
        return np.average(off**2, axis=0, weights=weight)[inverse]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._refuse()
        X, y = self._checked(X, y, finite=True, y_numeric=True)
        X, y, weight = _counted(self.cv, X, y, checked_weight(sample_weight, X.shape[0]))
        ratios = np.atleast_1d(self.l1_ratio).astype(float)
        grids = np.array([self._grid(X, y, weight, ratio) for ratio in ratios])
        folds = list(check_cv(self.cv).split(X, y))
        parts = [((X, y, weight), fold, *one) for one in zip(ratios, grids) for fold in folds]
        errors = np.reshape(_each(self, self._errors, parts), (len(ratios), len(folds), -1))
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        means = errors.mean(axis=1)
        which = int(means.min(axis=1).argmin())
        self.alpha_ = float(grids[which, means[which].argmin()])
        self.alphas_ = grids[0] if len(ratios) == 1 or not isinstance(self.alphas, Integral) else grids
        if np.ndim(self.l1_ratio) or "l1_ratio" in self.get_params():
            self.l1_ratio_ = float(ratios[which])
        problem = {"loss": "squared", "l1_ratio": ratios[which], "intercept": free(self.fit_intercept)}
        problem["non_negative"] = self.positive
        fit = self._solve(X, y, weight, {**problem, "lambda": self.alpha_})
        self.coef_, self.intercept_ = fit.coef[0], float(fit.intercept[0])
        self._take(fit)
        return self

    fit.__doc__ = Regressor.fit.__doc__


_CV = {
    "alpha_": ("float", "The alpha of the least mean error."),
    "alphas_": ("ndarray", "The alphas tried, falling; a row for each of several `l1_ratio`."),
    "mse_path_": ("ndarray", "Mean squared errors: alphas x folds, for each of several `l1_ratio`."),
}


@documented
class LassoCV(_PathCV):
    """`Lasso` with alpha chosen by cross-validation.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from parley import LassoCV
    >>> X, y = make_regression(noise=4, random_state=0)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.999
    """

    l1_ratio = 1.0
    _texts = _CV

    def __init__(
        self, *, eps: float = 1e-3, n_alphas: int | None = None, alphas: Any = 100, fit_intercept: bool =
        True, precompute: bool | str = "auto", max_iter: int | None = 10000, tol: float = 1e-4, copy_X: bool =
        True, cv: Any = None, verbose: int = 0, n_jobs: int | None = None, positive: bool = False,
        random_state: Any = None, selection: str = "cyclic", preset: str = "auto", workers: int | None = None,
        local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())


@documented
class ElasticNetCV(_PathCV):
    """`ElasticNet` with alpha, and l1_ratio if it is a list, chosen by cross-validation.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from parley import ElasticNetCV
    >>> X, y = make_regression(n_features=2, random_state=0)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9], cv=5).fit(X, y)
    >>> model.l1_ratio_
    0.9
    """

    _texts = {
        **_CV,
        "l1_ratio": "The L1 share of the penalty, or a list of shares to try.",
        "l1_ratio_": ("float", "The L1 share with the smallest mean error."),
    }

    def __init__(
        self, *, l1_ratio: Any = 0.5, eps: float = 1e-3, n_alphas: int | None = None, alphas: Any = 100,
        fit_intercept: bool = True, precompute: bool | str = "auto", max_iter: int | None = 10000, tol: float
        = 1e-4, cv: Any = None, copy_X: bool = True, verbose: int = 0, n_jobs: int | None = None, positive:
        bool = False, random_state: Any = None, selection: str = "cyclic", preset: str = "auto", workers: int
        | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())


@documented
class LogisticRegressionCV(Probable):
    """`LogisticRegression` with C, and the L1 share if several are given, chosen by cross-validation.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from parley import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(cv=5).fit(X, y)
    >>> model.scores_.shape, round(model.score(X, y), 2)
    ((5, 1, 10), 0.98)
    """

    _texts = {
        "penalty": "'l2', 'l1' or 'elasticnet', which needs `l1_ratios`.",
        "C_": ("float", "The C with the best mean score."),
        "Cs_": ("ndarray of shape (n_cs,)", "The values of C that were tried."),
        "l1_ratio_": ("float", "The L1 share with the best mean score."),
        "l1_ratios_": ("ndarray of shape (n_l1_ratios,)", "The L1 shares that were tried."),
        "scores_": ("ndarray of shape (n_folds, n_l1_ratios, n_cs)", "Scores on the folds."),
    }
    _only = {
        **LogisticRegression._only,
        "intercept_scaling": ((1,), "the intercept of a path is the coefficient of a column of ones"),
    }
    _exact = 1e-13

    def __init__(
        self, *, Cs: Any = 10, l1_ratios: Any = None, fit_intercept: bool = True, cv: Any = None, dual: bool =
        False, penalty: str = "l2", scoring: Any = None, solver: str = "lbfgs", tol: float = 1e-4, max_iter:
        int | None = 10000, class_weight: Any = None, n_jobs: int | None = None, verbose: int = 0, refit: bool
        = True, intercept_scaling: float = 1, random_state: Any = None, preset: str = "auto", workers: int |
        None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _one(self, C: float = 1.0, l1_ratio: float = 0.0) -> LogisticRegression:
        """The estimator without cross-validation, for these values."""
        shared = {name: value for name, value in self.get_params().items() if name in LogisticRegression().get_params()}
        return LogisticRegression(**{**shared, "penalty": "elasticnet", "C": C, "l1_ratio": l1_ratio})

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        return self._one(getattr(self, "C_", 1.0), getattr(self, "l1_ratio_", 0.0))._problem(weights, classes, own)

    def _fold(self, rows: tuple, by_class: Any, fold: tuple, ratio: float, **watch: Any) -> tuple:
        """Scores on a fold's test rows, coefficients and intercepts, by C."""
        Xt, yt, wt = _rows(*rows, fold[0])
        codes = np.searchsorted(self.classes_, yt)
        if by_class is not None:
            wt = by_class[codes] * (1.0 if wt is None else wt)
        weights = total(wt, len(yt))
        problem = self._one(1.0, ratio)._problem(weights, len(self.classes_), weights)
        problem.pop("lambda")
        order = np.argsort(self.Cs_)
        coefs, intercepts = _path(self, (Xt, codes, wt), problem, 1.0 / (self.Cs_[order] * weights), watch)
        X, y, weight = _rows(*rows, fold[1])
        model = self._one(1.0, ratio)
        model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
        score = (
            get_scorer("accuracy" if self.scoring is None else self.scoring)
            if not callable(self.scoring)
            else self.scoring
        )
        scores, given = np.empty(len(order)), {} if weight is None else {"sample_weight": weight}
        for at, model.coef_, model.intercept_ in zip(order, coefs, intercepts):
            scores[at] = score(model, X, y, **given)
        back = np.argsort(order)
        return scores, coefs[back], intercepts[back]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._refuse()
        X, y = self._checked(X, y, finite=True)
        check_labels(y)
        X, y, weight = _counted(self.cv, X, y, checked_weight(sample_weight, X.shape[0]))
        self.classes_, codes = numbered(y)
        several(codes, weight)
        by_class = self._weigh(codes, y, weight)
        self.Cs_ = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.asarray(self.Cs, float)
        if self.l1_ratios is None and self.penalty == "elasticnet":
            raise ValueError("penalty='elasticnet' needs l1_ratios: a list of L1 shares to try")
        ratios = self.l1_ratios if self.l1_ratios is not None else [l1_share(self.penalty, 0.0, "LogisticRegressionCV")]
        self.l1_ratios_ = np.array([0.0 if ratio is None else ratio for ratio in ratios], float)
        folds = _folds(self.cv, X, y)
        parts = [((X, y, weight), by_class, fold, ratio) for fold in folds for ratio in self.l1_ratios_]
        found = _each(self, self._fold, parts)
        self.scores_ = np.reshape([one[0] for one in found], (len(folds), len(ratios), -1))
        ratio, best = np.unravel_index(self.scores_.mean(axis=0).argmax(), self.scores_.shape[1:])
        self.C_, self.l1_ratio_ = float(self.Cs_[best]), float(self.l1_ratios_[ratio])
        fit = self._classify(X, codes, weight, by_class)
        self.coef_, self.intercept_ = fit.coef, fit.intercept
        if not self.refit:
            of_best = found[ratio :: len(ratios)]
            self.coef_, self.intercept_ = (np.mean([fold[i][best] for fold in of_best], axis=0) for i in (1, 2))
        self._take(fit)
        return self

    fit.__doc__ = Probable.fit.__doc__

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score given by `scoring`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Accuracy by default.
        """
        if self.scoring is None:
            return super().score(X, y, sample_weight)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return (self.scoring if callable(self.scoring) else get_scorer(self.scoring))(self, X, y, **given)
