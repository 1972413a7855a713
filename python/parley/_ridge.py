"""RidgeCV, RidgeClassifier and RidgeClassifierCV. Without folds, the strength is chosen by leave-one-out errors, which
follow from one eigendecomposition for all strengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.extmath import safe_sparse_dot

from ._documented import documented
from ._estimator import Classifier, Fit, checked_weight, together
from ._regressors import Ridge

if TYPE_CHECKING:
    from typing_extensions import Self

_SOLVERS = Ridge._only["solver"]


def _leave_one_out(X: Any, y: np.ndarray, weight: np.ndarray | None, alphas: np.ndarray, free: bool) -> tuple:
    """Residuals of each row by a model of the other rows, and their predictions: alphas x rows x targets.

    With rows scaled by the roots of their weights and U s^2 U' = X X' of the centred table, the hat matrix is
    U s^2 / (s^2 + alpha) U', and for a free intercept also that of the means. A row's residual without it is
    r / (1 - h)."""
    rows, columns = X.shape
    w = np.ones(rows) if weight is None else weight
    root = np.sqrt(w)[:, None]
    mean = np.asarray(safe_sparse_dot(X.T, w)).ravel() / w.sum() if free else np.zeros(columns)
    middle = w @ y / w.sum() if free else np.zeros(y.shape[1])
    X = X.toarray() if sp.issparse(X) else X
    table, target = root * (X - mean), root * (y - middle)
    if rows > columns:
        squares, vectors = np.linalg.eigh(table.T @ table)
        scaled = table @ vectors  # U s
    else:
        squares, vectors = np.linalg.eigh(table @ table.T)
        scaled = vectors * np.sqrt(np.maximum(squares, 0.0))
    products = scaled.T @ target
    own = w / w.sum() if free else np.zeros(rows)
    off = np.empty((len(alphas), *y.shape))
    for at, alpha in enumerate(alphas):
        inverse = 1.0 / (np.maximum(squares, 0.0) + alpha)
        left = target - scaled @ (inverse[:, None] * products)
        off[at] = left / np.maximum(1.0 - own - scaled**2 @ inverse, np.finfo(float).tiny)[:, None]
    off = np.where(root > 0, off / np.where(root > 0, root, 1.0), 0.0)
    return off, y - off


def _positive_alphas(alphas: Any) -> np.ndarray:
    found = np.atleast_1d(np.asarray(alphas, float))
    if not (found > 0).all():
        raise ValueError(f"alphas are {alphas}; every alpha must be above 0")
    return found


class _Chosen:
    """Chooses alpha, by leave-one-out errors or by folds, and fits a Ridge with it."""

    def _choose(self, X: Any, y: np.ndarray, weight: np.ndarray | None, per_target: bool) -> Any:
        alphas = _positive_alphas(self.alphas)
        targets = y if y.ndim == 2 else y[:, None]
        off, predicted = _leave_one_out(X, targets, weight, alphas, self.fit_intercept)
        if self.scoring is None:
            errors = off**2 if weight is None else off**2 * weight[:, None]
            scores = -errors.mean(axis=1)
            scores = scores if per_target else scores.mean(axis=1, keepdims=True)
        else:
            scores = np.array([self._scored(X, targets, one, weight) for one in predicted])[:, None]
        best = scores.argmax(axis=0)
        if self.store_cv_results:
            kept = np.moveaxis(errors if self.scoring is None else predicted, 0, -1)
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
        alphas, scorer = _positive_alphas(self.alphas), check_scoring(model, scoring=self.scoring)
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        checked, target = self._checked(X, y, finite=True, y_numeric=True, multi_output=True)
        weight = checked_weight(sample_weight, checked.shape[0])
        if self.cv is None:
            self.alpha_ = self._choose(checked, target, weight, self.alpha_per_target)
        elif self.alpha_per_target:
            raise ValueError("cv!=None and alpha_per_target=True are incompatible; use leave-one-out")
        else:
            self.alpha_ = self._search(self._ridge(), checked, target, weight)
        return super().fit(X, y, sample_weight)

    fit.__doc__ = Ridge.fit.__doc__


class _Signs(Classifier):
    """Classifiers by least squares on targets of -1 and 1, one column per class unless there are two."""

    _offsets = False

    def _ridge(self) -> Ridge:
        raise NotImplementedError

    def _weigh(self, codes: np.ndarray, y: Any, weight: np.ndarray | None) -> np.ndarray | None:
        return super()._weigh(codes, y, None)  # scikit-learn's ridge classifiers balance numbers of rows

    def _signs(self, codes: np.ndarray) -> np.ndarray:
        count = len(self.classes_)
        return np.where(codes == 1, 1.0, -1.0)[:, None] if count == 2 else 2.0 * np.eye(count)[codes] - 1.0

    def _classify(self, X: Any, codes: np.ndarray, weight: Any, by_class: Any) -> Fit:
        if by_class is not None:
            weight = by_class[codes] if weight is None else weight * by_class[codes]
        signs = self._signs(codes)
        self._prepare(X, codes, signs, weight)
        model = self._ridge()
        model._values = self._values
        return together([model._regress(X, column, weight) for column in signs.T])

    def _prepare(self, X: Any, codes: np.ndarray, signs: np.ndarray, weight: Any) -> None:
        """Chooses what the fit needs."""

    def _loss(self) -> str:
        return "squared-hinge"  # the core keeps decision values and labels of such a model


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
        at = predicted.argmax(axis=1) if predicted.shape[1] > 1 else (predicted[:, 0] > 0).astype(int)
        of = targets.argmax(axis=1) if targets.shape[1] > 1 else (targets[:, 0] > 0).astype(int)
        known = _KnownClasses(self.classes_[at], self.classes_)
        given = {} if weight is None else {"sample_weight": weight}
        return scorer(known, X, self.classes_[of], **given)

    def _prepare(self, X: Any, codes: np.ndarray, signs: np.ndarray, weight: Any) -> None:
        if self.cv is None:
            self.alpha_ = self._choose(X, signs, weight, False)
        else:
            model = RidgeClassifier(fit_intercept=self.fit_intercept, tol=self.tol)
            self.alpha_ = self._search(model, X, self.classes_[codes], weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._checked(X, y, finite=True)
        return super().fit(X, y, sample_weight)

    fit.__doc__ = Classifier.fit.__doc__


class _KnownClasses(_Known):
    _estimator_type = "classifier"

    def __init__(self, values: np.ndarray, classes: np.ndarray):
        super().__init__(values)
        self.classes_ = classes

    def __sklearn_tags__(self) -> Any:
        return RidgeClassifier().__sklearn_tags__()
