"""RidgeCV, RidgeClassifier and RidgeClassifierCV. Without folds, the strength is chosen by leave-one-out errors, which
follow from one eigendecomposition for all strengths."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import type_of_target

from . import _limits
from ._compat import check_labels, checked_strengths
from ._direct import Decomposed, decomposed, is_cheap, mean_of, prepared, solved
from ._documented import documented
from ._estimator import Classifier, Fit, checked_weight, numbered, several, together
from ._regressors import Ridge

if TYPE_CHECKING:
    from typing_extensions import Self

_SOLVERS = Ridge._only["solver"]


def _factors(X: Any, weight: np.ndarray | None, free: bool) -> Decomposed:
    """Singular values and vectors of the table. Those of a large one are found from products of its rows or columns."""
    if is_cheap(X):
        return decomposed(X, weight, free)
    unit, table, mean, root = prepared(X, weight, free)
    wide = table.shape[0] < table.shape[1]
    squares, vectors = np.linalg.eigh(table @ table.T if wide else table.T @ table)
    kept = squares > max(X.shape) * np.finfo(float).eps * squares.max(initial=0.0)
    used, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    left, right = (vectors, (table.T @ vectors / used).T) if wide else (table @ vectors / used, vectors.T)
    return Decomposed(unit, table, mean, root, left, used, right, np.sqrt(np.maximum(squares, 0.0)))


def _leave_one_out(parts: Decomposed, y: np.ndarray, alphas: np.ndarray, free: bool) -> tuple:
    """Residuals of each row by a model of the other rows, and their predictions: alphas x rows x targets.

    With rows scaled by the roots of their weights and U s^2 U' = X X' of the centred table, the residuals r and 1 - h
    of the hat matrix are sums over the columns of U with the factor alpha / (s^2 + alpha), and over what is orthogonal
    to them and to the means. A row's residual without it is r / (1 - h)."""
    root, left = parts.root[:, None], parts.left
    middle = mean_of(y, parts.root**2) if free else np.zeros(y.shape[1])
    target = root * (y - middle)
    products = left.T @ target
    own = parts.level if free else np.zeros(len(y))
    complete = parts.rank + bool(free) >= np.count_nonzero(root)
    rest = 0.0 if complete else target - left @ products
    alone = 0.0 if complete else 1.0 - own - np.square(left).sum(axis=1)
    off = np.empty((len(alphas), *y.shape))
    for at, alpha in enumerate(alphas):
        shrunk = 1.0 / (1.0 + (parts.used / np.sqrt(alpha) * parts.unit) ** 2)
        kept = np.square(left) @ shrunk + alone
        off[at] = (left @ (shrunk[:, None] * products) + rest) / np.maximum(kept, np.finfo(float).tiny)[:, None]
    off = np.where(root > 0, off / np.where(root > 0, root, 1.0), 0.0)
    return off, y - off


class _Chosen:
    """Chooses alpha, by leave-one-out errors or by folds, and fits a Ridge with it."""

    def _choose(self, X: Any, y: np.ndarray, weight: np.ndarray | None, per_target: bool) -> Any:
        alphas = checked_strengths(self.alphas, "neither")
        targets = y if y.ndim == 2 else y[:, None]
        self._parts = _factors(X, weight, self.fit_intercept)
        off, predicted = _leave_one_out(self._parts, targets, alphas, self.fit_intercept)
        if self.scoring is None:
            errors = off**2 if weight is None else off**2 * weight[:, None]
            scores = -errors.mean(axis=1)
            scores = scores if per_target else scores.mean(axis=1, keepdims=True)
        elif per_target:
            columns = np.moveaxis(predicted, 2, 0)[..., None]
            each = [[self._scored(X, y[:, None], one, weight) for one in of] for y, of in zip(targets.T, columns)]
            scores = np.array(each).T
        else:
            scores = np.array([self._scored(X, targets, one, weight) for one in predicted])[:, None]
        best = scores.argmax(axis=0)
        if self.store_cv_results:
            kept = np.moveaxis(errors if self.scoring is None else predicted, 0, -1).astype(self._dtype)
            self.cv_results_ = kept[:, 0] if y.ndim == 1 else kept
        found = scores[best, np.arange(scores.shape[1])]
        self.best_score_ = found if per_target and y.ndim == 2 else float(found[0])
        return alphas[best] if per_target and y.ndim == 2 else float(alphas[best[0]])

    def _scored(self, X: Any, targets: np.ndarray, predicted: np.ndarray, weight: np.ndarray | None) -> float:
        """The score of leave-one-out predictions."""
        scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring)
        y, values = (targets[:, 0], predicted[:, 0]) if targets.shape[1] == 1 else (targets, predicted)
        given = {} if weight is None else {"sample_weight": weight}
        return scorer(_Known(values), X, y, **given)

    def _search(self, model: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Chooses by folds, with the weights of rows also in the scores."""
        if self.store_cv_results:
            raise ValueError("cv!=None and store_cv_results=True are incompatible; leave-one-out results can be stored")
        alphas, scorer = checked_strengths(self.alphas, "left"), check_scoring(model, scoring=self.scoring)
        folds = list(check_cv(self.cv, y, classifier=is_classifier(model)).split(X, y))
        scores = np.empty((len(alphas), len(folds)))
        for at, alpha in enumerate(alphas):
            model.set_params(alpha=alpha)
            for number, (train, test) in enumerate(folds):
                model.fit(X[train], y[train], None if weight is None else weight[train])
                given = {} if weight is None else {"sample_weight": weight[test]}
                scores[at, number] = scorer(model, X[test], y[test], **given)
        means = scores.mean(axis=1)
        self.best_score_ = float(means.max())
        return float(alphas[means.argmax()])


class _Known:
    """Predicts what is known, for scorers."""

    _estimator_type = "regressor"

    def __init__(self, values: np.ndarray):
        self.values = values

    def predict(self, X: Any) -> np.ndarray:
        return self.values

    def __sklearn_tags__(self) -> Any:
        return Ridge().__sklearn_tags__()


_CHOSEN = {
    "alphas": "Strengths to try.",
    "cv": "None: leave-one-out, which costs one decomposition; otherwise folds as in scikit-learn's ``check_cv``.",
    "scoring": "The score; None: the negative mean squared error (leave-one-out), else the estimator's own score.",
    "alpha_": ("float", "The alpha of the best score."),
    "best_score_": ("float", "The best score."),
    "cv_results_": ("ndarray", "With `store_cv_results`: leave-one-out errors, or predictions if `scoring` is given."),
}


@documented
class RidgeCV(_Chosen, Ridge):
    """`Ridge` with alpha chosen by leave-one-out errors, or by cross-validation if `cv` is given.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from parley import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y).alpha_
    0.01
    """

    positive, solver, tol, max_iter, random_state, warm_start = False, "auto", 1e-10, None, None, False
    verbose, n_jobs, preset, workers, local_steps = 0, None, "auto", None, None
    _texts = {
        **_CHOSEN,
        "alpha_": ("float or ndarray", "The alpha of the best score; with `alpha_per_target`, by target."),
    }
    _only = {"gcv_mode": ((None, "auto", "svd", "eigen"), "it is not a mode of scikit-learn")}

    def __init__(
        self, alphas: Any = (0.1, 1.0, 10.0), *, fit_intercept: bool = True, scoring: Any = None, cv: Any = None,
        gcv_mode: str | None = None, store_cv_results: bool = False, alpha_per_target: bool = False,
    ) -> None:  # fmt: skip
        self._keep(locals())

    @property
    def alpha(self) -> Any:
        """The alpha of the final fit."""
        return self.alpha_

    def _ridge(self) -> Ridge:
        return Ridge(fit_intercept=self.fit_intercept, tol=self.tol)

    def _targets(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> list[Fit]:
        parts = self.__dict__.pop("_parts", None)
        if parts is None or not is_cheap(X):
            return super()._targets(X, y, weight)
        alphas = self._alphas(y.shape[1])
        return [solved(parts, column, alpha, self.fit_intercept) for column, alpha in zip(y.T, alphas)]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        _limits.check(self)
        checked, target = self._checked(X, y, finite=True, y_numeric=True, multi_output=True)
        weight = checked_weight(sample_weight, checked.shape[0])
        if self.gcv_mode == "svd" and sp.issparse(X):
            text = "The 'svd' mode is not supported for sparse X by scikit-learn from 1.11 on; use gcv_mode='auto'"
            warnings.warn(text, FutureWarning, 2)
        if self.cv is None:
            self.alpha_ = self._choose(checked, target, weight, self.alpha_per_target)
        elif self.alpha_per_target:
            raise ValueError("cv!=None and alpha_per_target=True are incompatible; use leave-one-out")
        else:
            self.alpha_ = self._search(self._ridge(), checked, target, weight)
        return super().fit(X, y, sample_weight)

    fit.__doc__ = Ridge.fit.__doc__


class _Signs(Classifier):
    """Classifiers by least squares on targets of -1 and 1: one column per label if rows may have several, one if there
    are two classes, and else one per class."""

    _narrow = True
    _multilabel = False

    _offsets = False

    def _ridge(self) -> Ridge:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        return {**super()._more_tags(), "multilabel": True}

    def _weigh(self, codes: np.ndarray, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        return super()._weigh(codes, y, None)  # scikit-learn's ridge classifiers balance numbers of rows

    def _weights(self, codes: Any, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        """The weight of each row with that of its class."""
        if self._multilabel:
            own = None if self.class_weight is None else compute_sample_weight(self.class_weight, y)
        else:
            several(codes, weight)
            by_class = self._weigh(codes, y, weight)
            own = None if by_class is None else by_class[codes]
        return weight if own is None else own if weight is None else weight * own

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        self._refuse()
        X, y = self._checked(X, y, finite=isinstance(self, _Chosen), multi_output=True)
        self._multilabel, codes = y.ndim == 2 and y.shape[1] > 1, None
        if self._multilabel:
            if type_of_target(y) != "multilabel-indicator":
                raise ValueError(f"y has {y.shape[1]} columns, which must have two values: 1 for rows with the label")
            self.classes_, signs = np.arange(y.shape[1]), np.where(y > 0, 1.0, -1.0)
        else:
            y = column_or_1d(y, warn=True)
            self.classes_, codes = numbered(y, check_labels(y))
            count = len(self.classes_)
            signs = np.where(codes == 1, 1.0, -1.0)[:, None] if count <= 2 else 2.0 * np.eye(count)[codes] - 1.0
        weight = self._weights(codes, y, checked_weight(sample_weight, X.shape[0]))
        if offset is not None:
            self._checked_offset(offset, X.shape[0])
        fit = together(self._fits(X, y, signs, weight))
        self._keep_model(fit.coef[0] if len(fit.coef) == 1 else fit.coef, fit.intercept)
        self._take(fit)
        return self

    fit.__doc__ = Classifier.fit.__doc__

    def _fits(self, X: Any, y: np.ndarray, signs: np.ndarray, weight: np.ndarray | None) -> list[Fit]:
        """The fits of the columns of `signs`."""
        model = self._ridge()
        model._values = self._values
        return model._targets(X, signs, weight)

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        if not self._multilabel:
            return super().predict(X, offset=offset)
        return (self.decision_function(X) > 0).astype(int)

    predict.__doc__ = Classifier.predict.__doc__

    def _loss(self) -> str:
        return "squared-hinge"  # the core keeps decision values and labels of such a model

    def _model(self) -> Any:
        if self._multilabel:
            raise ValueError("a model of several labels per row cannot be saved; fit one model for each label")
        return super()._model()


@documented
class RidgeClassifier(_Signs):
    """Classification by `Ridge` on targets of -1 and 1; with several classes, each against the rest.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from parley import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 3)
    0.96
    """

    _only = {"solver": _SOLVERS}
    workers, preset, local_steps, warm_start = None, "auto", None, False

    def __init__(
        self, alpha: float = 1.0, *, fit_intercept: bool = True, copy_X: bool = True, max_iter: int | None = None,
        tol: float = 1e-4, class_weight: Any = None, solver: str = "auto", positive: bool = False,
        random_state: Any = None, verbose: int = 0, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _ridge(self) -> Ridge:
        names = Ridge().get_params()
        return Ridge(**{name: value for name, value in self.get_params().items() if name in names})


@documented
class RidgeClassifierCV(_Chosen, _Signs):
    """`RidgeClassifier` with alpha chosen by leave-one-out errors, or by cross-validation if `cv` is given.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from parley import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    """

    _texts = _CHOSEN
    tol, verbose, n_jobs = 1e-10, 0, None

    def __init__(
        self, alphas: Any = (0.1, 1.0, 10.0), *, fit_intercept: bool = True, scoring: Any = None, cv: Any = None,
        class_weight: Any = None, store_cv_results: bool = False,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _ridge(self) -> Ridge:
        return Ridge(alpha=self.alpha_, fit_intercept=self.fit_intercept, tol=self.tol)

    def _scored(self, X: Any, targets: np.ndarray, predicted: np.ndarray, weight: np.ndarray | None) -> float:
        scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring)
        if self._multilabel:
            known, truth = _KnownClasses((predicted > 0).astype(int), self.classes_), (targets > 0).astype(int)
            return scorer(known, X, truth, **({} if weight is None else {"sample_weight": weight}))
        at = predicted.argmax(axis=1) if predicted.shape[1] > 1 else (predicted[:, 0] > 0).astype(int)
        of = targets.argmax(axis=1) if targets.shape[1] > 1 else (targets[:, 0] > 0).astype(int)
        known = _KnownClasses(self.classes_[at], self.classes_)
        given = {} if weight is None else {"sample_weight": weight}
        return scorer(known, X, self.classes_[of], **given)

    def _fits(self, X: Any, y: np.ndarray, signs: np.ndarray, weight: np.ndarray | None) -> list[Fit]:
        if self.cv is not None:
            model = RidgeClassifier(fit_intercept=self.fit_intercept, tol=self.tol)
            self.alpha_ = self._search(model, X, y, weight)
            return super()._fits(X, y, signs, weight)
        self.alpha_ = self._choose(X, signs, weight, False)
        parts = self.__dict__.pop("_parts")
        if not is_cheap(X):
            return super()._fits(X, y, signs, weight)
        return [solved(parts, column, self.alpha_, self.fit_intercept) for column in signs.T]


class _KnownClasses(_Known):
    _estimator_type = "classifier"

    def __init__(self, values: np.ndarray, classes: np.ndarray):
        super().__init__(values)
        self.classes_ = classes

    def __sklearn_tags__(self) -> Any:
        return RidgeClassifier().__sklearn_tags__()
