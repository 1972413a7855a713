"""Estimators that choose the strength of the penalty by cross-validation. Each fold runs one path of the core."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, nullcontext
from inspect import signature
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_method_params

from . import _run
from ._classifiers import LogisticRegression, Probable, among, centred, l1_share, scattered
from ._compat import check_labels, checked_strengths
from ._data import framed
from ._documented import documented
from ._estimator import Fit, Linear, Regressor, checked_weight, numbered, several, total, widened
from ._library import ffi, lib, make
from ._regressors import _Sparse

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST = 128  # lambdas of one path, because the text of a setting has a limited length


def _rows(X: Any, y: Any, weight: Any, part: Any) -> tuple[Any, Any, Any]:
    return X[part], y[part], None if weight is None else weight[part]


def _folds(cv: Any, X: Any, y: np.ndarray, given: dict[str, Any]) -> list:
    """Folds of a classifier. By default there are five, or as many as the largest class has rows."""
    if cv is None:
        cv = max(2, min(5, int(np.unique(y, return_counts=True)[1].max())))
    return list(check_cv(cv, y, classifier=True).split(X, y, **given))


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
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients (lambdas x outputs x columns), intercepts and rounds for decreasing lambdas."""
    X, y, weight = rows
    frame = framed(X, y, problem["loss"], problem["intercept"])
    values = {**problem, **estimator._method(), "threads": watch["threads"], "full_path": True}
    values["gap"] = min(estimator.tol, max(estimator._gap(), min(1e-10, estimator.tol**2)))
    data, parts, rounds = estimator._data(frame.X, frame.y, weight), [], []
    for part in np.array_split(lambdas, -(-len(lambdas) // _MOST)):
        path, _, _ = _run.path(data, {**values, "lambda_list": part}, _run.Watch(0, watch["ask"]))
        parts += [_run.coefficients(make("model", "parley_path_model", path, i)) for i in range(len(part))]
        points = lib.parley_path_points(path, ffi.new("uint64_t *"))
        rounds += [points[i].rounds for i in range(len(part))]
    coefs, intercepts = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
    return coefs, frame.outside(coefs, intercepts), np.array(rounds)


class Routed:
    """Passes further arguments of `fit` to the splitter, as scikit-learn's metadata routing wants it."""

    def _routed(self, method: str, params: dict[str, Any]) -> Any:
        """Arguments for the splitter and the scorer. Without routing, only weights may be given."""
        if _routing_enabled():
            return process_routing(self, method, **{name: value for name, value in params.items() if value is not None})
        given = {} if params.get("sample_weight") is None else {"sample_weight": params["sample_weight"]}
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=given))

    def get_metadata_routing(self) -> Any:
        """Where the arguments of `fit` go.

        Returns
        -------
        routing : MetadataRouter
            scikit-learn's description of it.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="split")
        return router.add(splitter=check_cv(self.cv), method_mapping=mapping)


class _PathCV(Routed, _Sparse):
    """Base of LassoCV and ElasticNetCV."""

    _several = False
    _exact = 0.0

    def _grid(self, X: Any, y: np.ndarray, weight: np.ndarray | None, l1_ratio: float) -> np.ndarray:
        """The alphas of scikit-learn: geometric, downwards from the smallest at which all coefficients are 0."""
        count = self.alphas if self.n_alphas is None else self.n_alphas
        if not isinstance(count, Integral):
            return np.sort(checked_strengths(count, "left"))[::-1]
        if not l1_ratio > 0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing "
                "your estimator with the appropriate `alphas=` argument."
            )
        weights = np.ones(len(y)) if weight is None else weight
        off = weights * (y - np.average(y, weights=weights)) if self.fit_intercept else weights * y
        slope = safe_sparse_dot(X.T, off)
        if self.fit_intercept:
            slope = slope - np.asarray(safe_sparse_dot(X.T, weights)).ravel() / weights.sum() * off.sum()
        largest = float(slope.max() if self.positive else np.abs(slope).max()) / (weights.sum() * l1_ratio)
        tiny = np.finfo(float).resolution
        return np.full(count, tiny) if largest <= tiny else np.geomspace(largest, largest * self.eps, num=count)

    def _errors(self, rows: tuple, fold: tuple, l1_ratio: float, alphas: np.ndarray, **watch: Any) -> np.ndarray:
        """The mean squared error on a fold's test rows, by alpha."""
        different, inverse = np.unique(-alphas, return_inverse=True)
        train, above = _rows(*rows, fold[0]), -different[different < 0]
        coefs, intercepts = np.zeros((0, 1, train[0].shape[1])), np.zeros((0, 1))
        if len(above):
            problem = self._problem(1.0, 1.0, l1_ratio)
            del problem["lambda"]
            coefs, intercepts, _ = _path(self, train, problem, above, watch)
        if len(above) < len(different):
            last = self._penalised(*train, 0.0, l1_ratio)
            coefs, intercepts = np.append(coefs, [last.coef], axis=0), np.append(intercepts, [last.intercept], axis=0)
        X, y, weight = _rows(*rows, fold[1])
        off = safe_sparse_dot(X, coefs[:, 0].T) + intercepts[:, 0] - y[:, None]
        return np.average(off**2, axis=0, weights=weight)[inverse]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        _raise_for_params(params, self, "fit")
        self._refuse()
        given = self._routed("fit", params).splitter.split
        X, y = self._checked(X, y, finite=True, y_numeric=True)
        X, y, weight = _counted(self.cv, X, y, checked_weight(sample_weight, X.shape[0]))
        ratios = np.atleast_1d(self.l1_ratio).astype(float)
        grids = np.array([self._grid(X, y, weight, ratio) for ratio in ratios])
        folds = list(check_cv(self.cv).split(X, y, **given))
        parts = [((X, y, weight), fold, *one) for one in zip(ratios, grids) for fold in folds]
        errors = np.reshape(_each(self, self._errors, parts), (len(ratios), len(folds), -1))
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        means = errors.mean(axis=1)
        which = int(means.min(axis=1).argmin())
        self.alpha_ = float(grids[which, means[which].argmin()])
        self.alphas_ = grids[0] if len(ratios) == 1 or not isinstance(self.alphas, Integral) else grids
        if np.ndim(self.l1_ratio) or "l1_ratio" in self.get_params():
            self.l1_ratio_ = float(ratios[which])
        fit = self._penalised(X, y, weight, self.alpha_, float(ratios[which]))
        self._keep_model(fit.coef[0], fit.intercept[0])
        self._take(fit)
        return self

    fit.__doc__ = Regressor.fit.__doc__.replace(
        "None: all are 1.\n",
        "None: all are 1.\n        **params : dict\n            Arguments of the splitter, if routing is enabled.\n",
    )


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
class LogisticRegressionCV(Routed, Probable):
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

    _zero = False
    _texts = {
        "penalty": "'l2', 'l1' or 'elasticnet', which needs `l1_ratios`.",
        "use_legacy_attributes": "Whether the attributes have the shapes that they had in scikit-learn before 1.10.",
        "C_": ("float", "The C with the best mean score."),
        "Cs_": ("ndarray of shape (n_cs,)", "The values of C that were tried."),
        "l1_ratio_": ("float", "The L1 share with the best mean score."),
        "l1_ratios_": ("ndarray of shape (n_l1_ratios,)", "The L1 shares that were tried."),
        "scores_": ("ndarray of shape (n_folds, n_l1_ratios, n_cs)", "Scores on the folds."),
        "coefs_paths_": (
            "ndarray of shape (n_folds, n_l1_ratios, n_cs, 1 or n_classes, n_features + 1)",
            "Coefficients on the folds, with the intercept last if there is one.",
        ),
        "n_iter_": ("ndarray of shape (n_folds, n_l1_ratios, n_cs)", "Rounds on the folds."),
    }
    _only = {"solver": LogisticRegression._only["solver"]}
    _exact = 1e-13
    __metadata_request__score = {"sample_weight": UNUSED}  # it goes to the scorer

    def __init__(
        self, *, Cs: Any = 10, l1_ratios: Any = None, fit_intercept: bool = True, cv: Any = None, dual: bool =
        False, penalty: str = "l2", scoring: Any = None, solver: str = "lbfgs", tol: float = 1e-4, max_iter:
        int | None = 10000, class_weight: Any = None, n_jobs: int | None = None, verbose: int = 0, refit: bool
        = True, intercept_scaling: float = 1, random_state: Any = None, use_legacy_attributes: bool = False, preset:
        str = "auto", workers: int | None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _one(self, C: float = 1.0, l1_ratio: float = 0.0) -> LogisticRegression:
        """The estimator without cross-validation, for these values."""
        shared = {name: value for name, value in self.get_params().items() if name in LogisticRegression().get_params()}
        return LogisticRegression(**{**shared, "penalty": "elasticnet", "C": C, "l1_ratio": l1_ratio})

    def _best(self) -> LogisticRegression:
        best = [float(np.ravel(getattr(self, name, one))[0]) for name, one in (("C_", 1.0), ("l1_ratio_", 0.0))]
        return self._one(*best)

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        return self._best()._problem(weights, classes, own)

    def _solve(self, X: Any, y: Any, weight: Any, problem: dict, outputs: int = 1, labels: Any = None) -> Fit:
        one = self._best()
        one._values = self._values
        return one._solve(X, y, weight, problem, outputs, labels)

    def _iterations(self, rounds: int) -> Any:
        return self._rounds

    def _fold(self, rows: tuple, by_class: Any, fold: tuple, ratio: float, **watch: Any) -> tuple:
        """Coefficients, intercepts and rounds of the training rows of a fold, by C. Classes may be missing there."""
        X, y, weight = _rows(*rows, fold[0])
        codes, count = np.searchsorted(self.classes_, y), len(self.classes_)
        if by_class is not None:
            weight = by_class[codes] * (1.0 if weight is None else weight)
        weights, order = total(weight, len(y)), np.argsort(self.Cs_)
        back, lambdas = np.argsort(order), 1.0 / (self.Cs_[order] * weights)
        present = np.flatnonzero(np.bincount(codes, weight, count))
        if len(present) == 1:
            nothing = np.zeros((len(order), 1, X.shape[1])), np.zeros((len(order), 1))
            return *scattered(*nothing, present, count), np.zeros(len(order), int)
        problem = self._one(1.0, ratio)._problem(weights, len(present), weights)
        if len(present) < count:
            kept = among({**problem, "lambda": 1.0}, count)
            problem, lambdas = kept, lambdas * kept["lambda"]
            rows = np.isin(codes, present)
            X, codes, weight = _rows(X, np.searchsorted(present, codes), weight, rows)
        scale = float(self.intercept_scaling) if problem["intercept"] == "penalised" else 1.0
        X, problem = widened(X, problem, scale)
        del problem["lambda"]
        coefs, intercepts, rounds = _path(self, (X, codes, weight), problem, lambdas, watch)
        if scale != 1.0:
            coefs, intercepts = coefs[:, :, :-1], scale * coefs[:, :, -1]
        if len(present) < count:
            coefs, intercepts = scattered(coefs, intercepts, present, count)
        coefs, intercepts = centred(coefs, intercepts, {**problem, "loss": "softmax" if count > 2 else "logistic"})
        return coefs[back], intercepts[back], rounds[back]

    def _get_scorer(self) -> Any:
        return self.scoring if callable(self.scoring) else get_scorer(self.scoring or "accuracy")

    def _labelled_scorer(self) -> Any:
        """The scorer, which knows all classes also where a fold's test rows lack some."""
        score = self._get_scorer()
        if "labels" not in signature(getattr(score, "_score_func", len)).parameters:
            return score
        known = {"labels": self.classes_}
        if len(self.classes_) == 2 and "pos_label" in signature(score._score_func).parameters:
            known["pos_label"] = self.classes_[1]
        return make_scorer(
            score._score_func, greater_is_better=score._sign == 1, response_method=score._response_method,
            **{**known, **score._kwargs},
        )  # fmt: skip

    def _scores(self, X: Any, y: Any, test: Any, given: dict, coefs: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Scores of models on a fold's test rows."""
        model, score = self._one(), self._labelled_scorer()
        model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
        given = _check_method_params(X, given, indices=test)
        found = np.empty(len(coefs))
        for at, (model.coef_, model.intercept_) in enumerate(zip(coefs, intercepts)):
            found[at] = score(model, X[test], y[test], **given)
        return found

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        _raise_for_params(params, self, "fit")
        self._refuse()
        X, y = self._checked(X, y, finite=True)
        check_labels(y)
        X, y, weight = _counted(self.cv, X, y, checked_weight(sample_weight, X.shape[0]))
        given = self._routed("fit", {"sample_weight": weight, **params})
        self.classes_, codes = numbered(y)
        several(codes, weight)
        by_class = self._weigh(codes, y, weight)
        self.Cs_ = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.asarray(self.Cs, float)
        if self.l1_ratios is None and self.penalty == "elasticnet":
            raise ValueError("penalty='elasticnet' needs l1_ratios: a list of L1 shares to try")
        ratios = self.l1_ratios if self.l1_ratios is not None else [l1_share(self.penalty, 0.0, "LogisticRegressionCV")]
        self.l1_ratios_ = np.array([0.0 if ratio is None else ratio for ratio in ratios], float)
        folds = _folds(self.cv, X, y, given.splitter.split)
        parts = [((X, y, weight), by_class, fold, ratio) for fold in folds for ratio in self.l1_ratios_]
        found = _each(self, self._fold, parts)
        shape = (len(folds), len(ratios), len(self.Cs_))
        tests = [part[2][1] for part in parts]
        scores = [self._scores(X, y, test, given.scorer.score, *one[:2]) for test, one in zip(tests, found)]
        self.scores_, self._rounds = np.reshape(scores, shape), np.reshape([one[2] for one in found], shape)
        paths = [np.dstack([one[0], one[1][:, :, None]][: 1 + bool(self.fit_intercept)]) for one in found]
        self.coefs_paths_ = np.reshape(paths, (*shape, *paths[0].shape[1:]))
        self._conclude(X, codes, weight, by_class)
        return self

    def _conclude(self, X: Any, codes: np.ndarray, weight: Any, by_class: Any) -> None:
        """The model of the best values; without `refit`, the mean of the best one of each fold."""
        ratio, best = np.unravel_index(self.scores_.mean(axis=0).argmax(), self.scores_.shape[1:])
        self.C_, self.l1_ratio_ = float(self.Cs_[best]), float(self.l1_ratios_[ratio])
        fit = self._classify(X, codes, weight, by_class)
        coef, intercept = fit.coef, fit.intercept
        if not self.refit:
            each = [np.unravel_index(scores.argmax(), scores.shape) for scores in self.scores_]
            mean = np.mean([path[at] for path, at in zip(self.coefs_paths_, each)], axis=0)
            coef, intercept = mean[:, : X.shape[1]], mean[:, -1] if self.fit_intercept else intercept
            self.C_ = float(np.mean([self.Cs_[at[1]] for at in each]))
            self.l1_ratio_ = float(np.mean([self.l1_ratios_[at[0]] for at in each]))
        self._keep_model(coef, intercept)
        self._take(fit)
        if self.use_legacy_attributes:
            self._use_legacy_shapes()

    def _use_legacy_shapes(self) -> None:
        """Attributes by class, with C before the L1 share, which is left out if there is no list of shares."""
        classes, count = self.classes_[-len(self.coef_) :].tolist(), len(self.coef_)
        one = 0 if self.l1_ratios is None else slice(None)
        paths, scores = np.swapaxes(self.coefs_paths_, 1, 2), np.swapaxes(self.scores_, 1, 2)
        self.coefs_paths_ = {name: paths[:, :, one, number] for number, name in enumerate(classes)}
        self.scores_ = {name: scores[:, :, one].copy() for name in classes}
        self.n_iter_ = np.swapaxes(self.n_iter_, 1, 2)[None][..., one]
        self.C_, self.l1_ratio_ = np.full(count, self.C_), np.full(count, self.l1_ratio_)

    fit.__doc__ = Probable.fit.__doc__.replace(
        "None: all are 1.\n",
        "None: all are 1.\n        **params : dict\n            Arguments of splitter and scorer, with routing.\n",
    )

    def get_metadata_routing(self) -> Any:
        """Where the arguments of `fit` and `score` go.

        Returns
        -------
        routing : MetadataRouter
            scikit-learn's description of it.
        """
        mapping = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        return super().get_metadata_routing().add(scorer=self._get_scorer(), method_mapping=mapping)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """The score given by `scoring`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **params : dict
            Arguments of the scorer, if routing is enabled.

        Returns
        -------
        score : float
            Accuracy by default.
        """
        _raise_for_params(params, self, "score")
        given = self._routed("score", {"sample_weight": sample_weight, **params})
        return self._get_scorer()(self, X, y, **given.scorer.score)
