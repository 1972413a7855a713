"""Classifiers: LogisticRegression and LinearSVC."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._documented import documented
from ._estimator import Classifier, OneVersusRest
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


class Probable(Classifier):
    """A classifier whose decision values are log-odds."""

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
        return probabilities(self.decision_function(X, offset=offset), not self._rest())

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
        return np.log(self.predict_proba(X, offset=offset))

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

    _texts = {
        "n_iter_": ("ndarray of shape (1,)", "Rounds of the run."),
        "penalty": "'l1', 'l2', 'elasticnet' or None. By default, `l1_ratio` gives the L1 share, which is 0 (L2).",
        "C": "Inverse strength of the penalty: smaller values penalise more. ``numpy.inf`` means no penalty.",
    }
    _only = {
        "solver": (_SOLVERS, "this is not a solver of scikit-learn"),
    }

    def __init__(
        self, penalty: str | None = "elasticnet", *, C: float = 1.0, l1_ratio: float | None = 0.0, dual: bool
        = False, tol: float = 1e-4, fit_intercept: bool = True, intercept_scaling: float = 1, class_weight:
        Any = None, random_state: Any = None, solver: str = "lbfgs", max_iter: int | None = 10000, verbose:
        int = 0, warm_start: bool = False, n_jobs: int | None = None, preset: str = "auto", workers: int |
        None = None, local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _iterations(self, rounds: int) -> np.ndarray:
        return np.array([rounds])

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        if self.solver == "liblinear" and classes > 2:
            raise ValueError("solver='liblinear' supports two classes; use another solver or OneVsRestClassifier")
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
