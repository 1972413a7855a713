"""Classifiers: LogisticRegression and LinearSVC."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import _offsets
from ._documented import documented
from ._estimator import Classifier, Fit, OneVersusRest, several, total
from ._links import probabilities

_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")


def l1_share(penalty: str | None, l1_ratio: float | None, name: str) -> float:
    """The L1 share of the penalty, from `penalty` and `l1_ratio`."""
    if penalty not in ("l1", "l2", "elasticnet", None):
        raise ValueError(f"{name}: penalty={penalty!r} is unknown; use 'l1', 'l2', 'elasticnet' or None")
    return 1.0 if penalty == "l1" else float(l1_ratio or 0.0) if penalty == "elasticnet" else 0.0


def inverse(C: float, weights: float) -> float:
    """Converts C, which weighs the summed loss, to lambda of the mean loss."""
    if not C > 0:
        raise ValueError(f"C is {C}; it must be above 0")
    return 1.0 / (C * weights)


_ABSENT = 30.0  # how much lower than the others the intercept of a class without rows is: e^-30 of their probability


def scattered(
    coef: np.ndarray, intercept: np.ndarray, present: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (models x outputs x columns) and intercepts of all classes, from those of the classes present."""
    models, _, columns = coef.shape
    if count == 2:
        return np.zeros((models, 1, columns)), np.full((models, 1), _ABSENT if present[0] else -_ABSENT)
    all_coef, all_intercept = np.zeros((models, count, columns)), np.zeros((models, count))
    if len(present) == 2:
        coef, intercept = np.concatenate([-coef, coef], axis=1) / 2, np.concatenate([-intercept, intercept], axis=1) / 2
    if len(present) > 1:
        all_coef[:, present], all_intercept[:, present] = coef, intercept
    absent = np.setdiff1d(np.arange(count), present)
    all_intercept[:, absent] = all_intercept[:, present].min(axis=1, keepdims=True) - _ABSENT
    return all_coef, all_intercept


def among(problem: dict[str, Any], count: int) -> dict[str, Any]:
    """The problem of two present ones of more classes: their coefficients are w / 2 and -w / 2, of which the L2 penalty
    is half that of w."""
    if problem["loss"] != "logistic" or count == 2:
        return problem
    share = problem["l1_ratio"] or 0.0
    half = share + (1 - share) / 2
    return {**problem, "lambda": problem["lambda"] * half, "l1_ratio": share / half}


def centred(coef: np.ndarray, intercept: np.ndarray, problem: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The model of a softmax whose parameters sum to 0 over the classes where the penalty lets them."""
    if problem["loss"] != "softmax":
        return coef, intercept
    if problem["intercept"] == "free":
        intercept = intercept - intercept.mean(axis=-1, keepdims=True)
    if not problem.get("l1_ratio"):
        coef = coef - coef.mean(axis=-2, keepdims=True)
    return coef, intercept


class Probable(Classifier):
    """A classifier whose decision values are log-odds."""

    def _check_classes(self, codes: np.ndarray, weight: np.ndarray | None) -> None:
        several(codes, None)

    def _classify(self, X: Any, codes: np.ndarray, weight: Any, by_class: Any) -> Fit:
        """Fits all classes that have weight in one run."""
        count, own = len(self.classes_), total(weight, X.shape[0])
        if by_class is not None:
            weight = by_class[codes] if weight is None else weight * by_class[codes]
        present = np.arange(count) if weight is None else np.flatnonzero(np.bincount(codes, weight, count))
        weights = total(weight, X.shape[0])
        problem = self._problem(weights, max(2, len(present)), own)
        if len(present) == count or problem["intercept"] == "none":
            several(codes, weight)
            outputs = 1 if count == 2 else count
            fit = self._solve(X, codes, weight, problem, outputs, np.arange(count, dtype=float))
            return fit._replace(**dict(zip(("coef", "intercept"), centred(fit.coef, fit.intercept, problem))))
        if len(present) == 1:
            fit = self._unchanged(X.shape[1], 1)
            fit = fit._replace(summary={**fit.summary, "stop": "converged", "rounds": 1})
        else:
            rows = np.isin(codes, present)
            codes = np.searchsorted(present, codes[rows])
            labels = np.arange(len(present), dtype=float)
            fit = self._solve(X[rows], codes, weight[rows], among(problem, count), len(present), labels)
        coef, intercept = scattered(fit.coef[None], fit.intercept[None], present, count)
        if count > 2:
            intercept = intercept - intercept.mean(axis=1, keepdims=True)
        return fit._replace(coef=coef[0], intercept=intercept[0])

    def predict_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return probabilities(self.decision_function(X, **_offsets.given(offset)), not self._rest())

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        offset : array-like of shape (n_samples,), default=None
            The offsets of the rows, if the model was fitted with offsets.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.log(self.predict_proba(X, **_offsets.given(offset)))

    def _rest(self) -> bool:
        """Whether each class is fitted against the rest instead of all in one softmax."""
        return False


@documented
class LogisticRegression(Probable):
    """Logistic regression, multinomial for more than two classes: ``sum log-loss + penalty / C``.

    The penalty is ``l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2``, without the intercept. ``solver='liblinear'`` selects
    the problem that LIBLINEAR solves: the intercept is penalised too, and there are at most two classes.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from parley import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict(X[:2]), round(model.score(X, y), 2)
    (array([0, 0]), 0.97)
    """

    _zero = False
    _texts = {
        "n_iter_": ("ndarray of shape (1,)", "Rounds of the run."),
        "intercept_scaling": "With 'liblinear': the value of the column whose coefficient is the intercept.",
        "penalty": "'l1', 'l2', 'elasticnet' or None. By default, `l1_ratio` gives the L1 share, which is 0 (L2).",
        "C": "Inverse strength of the penalty: smaller values penalise more. ``numpy.inf`` means no penalty.",
    }
    _only = {"solver": (_SOLVERS, "this is not a solver of scikit-learn")}

    def __init__(
        self, penalty: str | None = "elasticnet", *, C: float = 1.0, l1_ratio: float | None = 0.0, dual: bool
        = False, tol: float = 1e-4, fit_intercept: bool = True, intercept_scaling: float = 1, class_weight:
        Any = None, random_state: Any = None, solver: str = "lbfgs", max_iter: int | None = 10000, verbose:
        int = 0, warm_start: bool = False, n_jobs: int | None = None, preset: str = "auto", workers: int |
        None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    @property
    def _narrow(self) -> bool:
        return self.solver != "liblinear"

    @property
    def _exact(self) -> float:
        return 1e-8 if l1_share(self.penalty, self.l1_ratio, "LogisticRegression") > 0 else 1e-13

    def _refuse(self) -> None:
        super()._refuse()
        share, kind = self.l1_ratio, self.penalty
        if kind is None and self.C != 1.0:
            warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=3)
        elif (kind == "l1" and share not in (None, 0.0, 1.0)) or (kind == "l2" and share not in (None, 0.0)):
            text = f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={kind})"
            warnings.warn(f"{text}. Inconsistent values: penalty={kind} with l1_ratio={share}", stacklevel=3)

    def _iterations(self, rounds: int) -> np.ndarray:
        return np.array([rounds])

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        if self.solver == "liblinear" and classes > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification. Use another solver, or "
                "OneVsRestClassifier around this one"
            )
        bound = "penalised" if self.solver == "liblinear" else "free"
        return {
            "loss": "logistic" if classes == 2 else "softmax",
            "lambda": 0.0 if self.penalty is None else inverse(self.C, weights),
            "l1_ratio": l1_share(self.penalty, self.l1_ratio, "LogisticRegression"),
            "intercept": bound if self.fit_intercept else "none",
        }


@documented
class LinearSVC(OneVersusRest):
    """Linear support vector classification: ``penalty + C sum loss``, with a penalised intercept as in LIBLINEAR.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from parley import LinearSVC
    >>> X, y = make_classification(n_features=4, random_state=0)
    >>> model = LinearSVC(tol=1e-10).fit(X, y)
    >>> model.coef_.round(3)
    array([[0.086, 0.394, 0.498, 0.375]])
    """

    _texts = {"loss": "'squared_hinge' or 'hinge'.", "penalty": "'l2' or 'l1'."}
    _only = {
        "penalty": (("l2", "l1"), "there are no other penalties"),
        "loss": (("squared_hinge", "hinge"), "there are no other losses of this kind"),
        "multi_class": (("ovr",), "each class is fitted against the rest"),
    }

    def __init__(
        self, penalty: str = "l2", loss: str = "squared_hinge", *, dual: bool | str = "auto", tol: float =
        1e-4, C: float = 1.0, multi_class: str = "ovr", fit_intercept: bool = True, intercept_scaling: float =
        1, class_weight: Any = None, verbose: int = 0, random_state: Any = None, max_iter: int | None = 10000,
        n_jobs: int | None = None, preset: str = "auto", workers: int | None = None, local_steps: int | str |
        None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        return {
            "loss": self.loss.replace("_", "-"),
            "lambda": inverse(self.C, weights),
            "l1_ratio": l1_share(self.penalty, None, "LinearSVC"),
            "intercept": "penalised" if self.fit_intercept else "none",
        }
