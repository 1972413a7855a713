"""SGDClassifier and SGDRegressor: the problems of scikit-learn's estimators, solved to the optimum by `fit` or learned
in batches by `partial_fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from . import _run
from ._classifiers import Probable, l1_share
from ._compat import check_labels
from ._documented import documented
from ._estimator import OneVersusRest, Regressor, checked_weight
from ._library import call, ffi, lib, make, settings
from ._regressors import free

if TYPE_CHECKING:
    from typing_extensions import Self

_RATES = "fit converges to the optimum and partial_fit adapts its own rates"
_PENALTIES = {"penalty": (("l2", "l1", "elasticnet", None), "there are no other penalties")}


class _Learning:
    """Online learners of the core, one per binary problem or one for a regression. They are pickled as bytes."""

    _exact = 0.0

    _metric = ""

    def _stopping(self) -> dict[str, Any]:
        if not self.early_stopping:
            return {}
        return {
            "validation_fraction": self.validation_fraction,
            "patience": self.n_iter_no_change,
            "metric": self._metric,
        }

    def _method(self) -> dict[str, Any]:
        return {**super()._method(), **self._stopping()}

    def _penalty(self) -> dict[str, Any]:
        strength = 0.0 if self.penalty is None else self.alpha
        return {"lambda": strength, "l1_ratio": l1_share(self.penalty, self.l1_ratio, type(self).__name__)}

    def _begin(self, count: int, labels: Any) -> None:
        problem = {"loss": self._loss(), **self._penalty(), "intercept": free(self.fit_intercept), **self._extra()}
        pair = ffi.NULL if labels is None else ffi.new("double[2]", labels)
        values = {key: value for key, value in problem.items() if not (key == "l1_ratio" and value == 0)}
        self._learners = [make("learner", "parley_learner_new", settings(values), pair) for _ in range(count)]

    def _learn(self, X: Any, targets: list[np.ndarray], weights: list[Any]) -> None:
        for learner, y, weight in zip(self._learners, targets, weights, strict=True):
            data = self._data(X, y, weight)  # the variable keeps the arrays of the handle alive
            call("parley_learner_learn", learner, data.handle)
        models = [_run.coefficients(make("model", "parley_learner_model", learner)) for learner in self._learners]
        coef = np.concatenate([model[0] for model in models])
        self.coef_ = np.zeros((len(models), X.shape[1]))
        self.coef_[:, : coef.shape[1]] = coef
        self.intercept_ = np.concatenate([model[1] for model in models])
        self.n_iter_, self.objective_, self.gap_, self.run_ = 1, np.nan, np.nan, np.zeros(0, _run.ROW)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__().copy()
        if "_learners" in state:
            state["_learners"] = [_packed(learner) for learner in state["_learners"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_learners" in state:
            self._learners = [
                make("learner", "parley_learner_from_bytes", ffi.from_buffer(one), len(one))
                for one in state["_learners"]
            ]


def _packed(learner: Any) -> bytes:
    out, count = ffi.new("void **"), ffi.new("uint64_t *")
    call("parley_learner_to_bytes", learner, out, count)
    try:
        return bytes(ffi.buffer(out[0], count[0]))
    finally:
        lib.parley_bytes_free(out[0])


def _only(learning_rate: str, power_t: float) -> dict[str, Any]:
    return {
        **_PENALTIES,
        "learning_rate": ((learning_rate,), _RATES),
        "eta0": ((0.01, 0.0), _RATES),
        "power_t": ((power_t,), _RATES),
        "average": ((False,), "the optimum needs no averaging"),
        "shuffle": ((True,), "rows are visited in random order"),
    }


@documented
class SGDClassifier(_Learning, OneVersusRest):
    """Linear classifiers with scikit-learn's objective of this name: ``mean loss + alpha penalty``.

    `fit` converges to the optimum that stochastic gradient descent approaches; `partial_fit` learns from batches of
    rows. A row of weight 2 counts as two rows. With more than two classes, each is fitted against the rest.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from parley import SGDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGDClassifier(loss="log_loss", alpha=1e-3).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> online = SGDClassifier(loss="log_loss")
    >>> for i in range(5):
    ...     online = online.partial_fit(X[i::5], y[i::5], classes=[0, 1, 2])
    >>> online.predict(X[:1])
    array([0])
    """

    _metric = "accuracy"
    _losses = {"hinge": "hinge", "log_loss": "logistic", "squared_hinge": "squared-hinge"}
    _texts = {"loss": "'hinge', 'log_loss' or 'squared_hinge'.", "epsilon": "Only the default: no loss uses it."}
    _only = {
        **_only("optimal", 0.5),
        "loss": (("hinge", "log_loss", "squared_hinge"), "Parley has no such loss for classification"),
        "epsilon": ((0.1,), "no loss of this estimator uses it"),
    }

    def __init__(
        self, loss: str = "hinge", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio: float =
        0.15, fit_intercept: bool = True, max_iter: int | None = 10000, tol: float | None = 1e-3, shuffle:
        bool = True, verbose: int = 0, epsilon: float = 0.1, n_jobs: int | None = None, random_state: Any =
        None, learning_rate: str = "optimal", eta0: float = 0.01, power_t: float = 0.5, early_stopping: bool =
        False, validation_fraction: float = 0.1, n_iter_no_change: int = 5, class_weight: Any = None,
        warm_start: bool = False, average: bool = False, preset: str = "auto", workers: int | None = None,
        local_steps: int | str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _extra(self) -> dict[str, Any]:
        return {}

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        penalty = self._penalty()
        penalty["lambda"] *= own / weights
        return {"loss": self._losses[self.loss], **penalty, "intercept": free(self.fit_intercept)}

    def _rest(self) -> bool:
        return True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.__dict__.pop("_learners", None)
        return super().fit(X, y, sample_weight)

    fit.__doc__ = OneVersusRest.fit.__doc__

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows in one pass. The first call after `fit` starts a new model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will occur; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The estimator.
        """
        self._refuse()
        first = not hasattr(self, "_learners")
        X, y = self._checked(X, y, reset=first)
        check_labels(y)
        if first:
            if classes is None and not hasattr(self, "classes_"):
                raise ValueError("classes must be passed on the first call to partial_fit")
            self.classes_ = self.classes_ if classes is None else np.unique(classes)
            if len(self.classes_) < 2:
                raise ValueError(f"there is one class, {self.classes_[0]!r}; a classifier needs at least 2 classes")
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes={classes!r} is not the same as on the last call to partial_fit: {self.classes_!r}"
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows, which partial_fit does not see; give weights by label"
            )
        if not np.isin(y, self.classes_).all():
            raise ValueError(f"y has labels that are not among the classes {self.classes_!r}")
        if first:
            self._begin(1 if len(self.classes_) == 2 else len(self.classes_), [0.0, 1.0])
        codes = np.searchsorted(self.classes_, y)
        weight = checked_weight(sample_weight, X.shape[0])
        by_class = self._weigh(codes, self.classes_, None)
        if len(self.classes_) == 2:
            targets = [codes]
            weights = [weight if by_class is None else by_class[codes] * (1.0 if weight is None else weight)]
        else:
            targets = [codes == number for number in range(len(self.classes_))]
            weights = [weight] * len(targets)
            if by_class is not None:
                each = zip(targets, by_class)
                weights = [np.where(mine, one, 1.0) * (1.0 if weight is None else weight) for mine, one in each]
        self._learn(X, targets, weights)
        return self

    def _probable(self) -> bool:
        if self.loss != "log_loss":
            raise AttributeError(f"the loss {self.loss!r} has no probabilities; use log_loss")
        return True

    predict_proba = available_if(_probable)(Probable.predict_proba)
    predict_log_proba = available_if(_probable)(Probable.predict_log_proba)


@documented
class SGDRegressor(_Learning, Regressor):
    """Linear regressions with scikit-learn's objective of this name: ``mean loss + alpha penalty``.

    `fit` converges to the optimum that stochastic gradient descent approaches; `partial_fit` learns from batches of
    rows. A row of weight 2 counts as two rows.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from parley import SGDRegressor
    >>> X, y = make_regression(n_features=4, random_state=0)
    >>> SGDRegressor(alpha=1e-6).fit(X, y).score(X, y) > 0.99
    True
    """

    _array = True
    _metric = "r2"
    _losses = {
        "squared_error": "squared", "huber": "huber", "epsilon_insensitive": "epsilon-insensitive",
        "squared_epsilon_insensitive": "squared-epsilon-insensitive",
    }  # fmt: skip
    _texts = {
        "loss": "'squared_error', 'huber', 'epsilon_insensitive' or 'squared_epsilon_insensitive'.",
        "epsilon": "Residual from which the loss is linear (huber) or above 0 (the others).",
    }
    _only = {
        **_only("invscaling", 0.25),
        "loss": (tuple(_losses), "Parley has no such loss for regression"),
    }

    def __init__(
        self, loss: str = "squared_error", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio:
        float = 0.15, fit_intercept: bool = True, max_iter: int | None = 10000, tol: float | None = 1e-3,
        shuffle: bool = True, verbose: int = 0, epsilon: float = 0.1, random_state: Any = None, learning_rate:
        str = "invscaling", eta0: float = 0.01, power_t: float = 0.25, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 5, warm_start: bool = False, average: bool =
        False, n_jobs: int | None = None, preset: str = "auto", workers: int | None = None, local_steps: int |
        str | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _loss(self) -> str:
        return self._losses[self.loss]

    def _extra(self) -> dict[str, Any]:
        if self.loss == "squared_error":
            return {}
        return {"huber_width" if self.loss == "huber" else "epsilon": self.epsilon}

    def _problem(self, weights: float) -> dict[str, Any]:
        return {"loss": self._loss(), **self._penalty(), "intercept": free(self.fit_intercept), **self._extra()}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.__dict__.pop("_learners", None)
        return super().fit(X, y, sample_weight)

    fit.__doc__ = Regressor.fit.__doc__

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows in one pass. The first call after `fit` starts a new model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The estimator.
        """
        self._refuse()
        first = not hasattr(self, "_learners")
        X, y = self._checked(X, y, y_numeric=True, reset=first)
        weight = checked_weight(sample_weight, X.shape[0])
        if first:
            self._begin(1, None)
        self._learn(X, [y], [weight])
        self.coef_ = self.coef_[0]
        return self
