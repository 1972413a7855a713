"""SGDClassifier and SGDRegressor: stochastic gradient descent a row at a time, as scikit-learn's estimators do it, or
the optimum of their objectives by the core's other methods."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from . import _limits, _run
from ._classifiers import Probable, l1_share
from ._compat import check_labels
from ._documented import documented
from ._estimator import SMALL, OneVersusRest, Regressor, checked_weight, dense
from ._library import call, ffi, lib
from ._regressors import free

if TYPE_CHECKING:
    from typing_extensions import Self

_FEW = 40  # rows that are solved to the optimum, unless the descent has parameters of its own
_MOST = np.iinfo(np.int32).max  # seeds are below it, as in scikit-learn
_BIAS = 0.01  # factor of steps of the intercept with sparse data, in which it has an entry in more rows than columns
_OF_DESCENT = (
    "learning_rate", "eta0", "power_t", "average", "shuffle", "early_stopping", "validation_fraction",
    "n_iter_no_change", "warm_start",
)  # fmt: skip
_KINDS = ("void *", "int64_t *", "int32_t *")
_TEXTS = {
    "tol": "The descent ends when the mean objective of `n_iter_no_change` passes did not fall by this much, or with "
    "`early_stopping` the score did not rise; None: after `max_iter` passes.",
    "max_iter": "Maximum number of passes over the rows.",
    "random_state": "Seed of the order of rows, which is scikit-learn's for the same seed; None: a fixed seed.",
    "warm_start": "Begin at the model of the last fit.",
    "preset": "'sgd': gradient descent; another preset, such as 'auto', finds the optimum.",
    "n_iter_no_change": "Passes without improvement after which the descent ends.",
    "t_": ("float", "Number of the next step of the descent."),
    "n_iter_": ("int", "Passes over the rows."),
}  # fmt: skip
_REGRESSIONS = {
    "squared_error": ("squared", 0.0), "huber": ("huber", 0.1), "epsilon_insensitive": ("epsilon-insensitive", 0.1),
    "squared_epsilon_insensitive": ("squared-epsilon-insensitive", 0.1),
}  # fmt: skip
_CLASSES = {
    "hinge": ("hinge", 1.0), "log_loss": ("logistic", 0.0), "modified_huber": ("modified-huber", 0.0),
    "squared_hinge": ("squared-hinge", 1.0), "perceptron": ("perceptron", 0.0),
}  # fmt: skip


def _rows(X: Any) -> tuple[dict[str, Any], Any]:
    """The fields of the core's struct that hold the rows, and the arrays to keep alive."""
    if not sp.issparse(X):
        X = np.ascontiguousarray(X)
        kept = (X,)
        fields = {"value": ffi.cast("void *", X.ctypes.data)}
    else:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        kept = X.data, X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        value, start, index = (ffi.cast(kind, one.ctypes.data) for kind, one in zip(_KINDS, kept))
        fields = {"value": value, "start": start, "index": index}
    kind = lib.PARLEY_FLOAT32 if X.dtype == np.float32 else lib.PARLEY_FLOAT64
    return {**fields, "type": kind, "rows": X.shape[0], "columns": X.shape[1]}, kept


def _doubles(array: Any) -> tuple[Any, Any]:
    array = np.ascontiguousarray(array, np.float64)
    return ffi.cast("double *", array.ctypes.data), array


class _Descending:
    """Gradient descent, one run per binary problem or one for a regression. Between calls the estimator has the models
    after the last step, and their means if they are averaged."""

    loss_functions: dict[str, tuple[str, float]]
    _targets_are_classes = False

    def _penalty(self) -> dict[str, Any]:
        strength = 0.0 if self.penalty is None else self.alpha
        return {"lambda": strength, "l1_ratio": l1_share(self.penalty, self.l1_ratio, type(self).__name__)}

    def _stopping(self) -> dict[str, Any]:
        if not self.early_stopping:
            return {}
        return {
            "validation_fraction": self.validation_fraction,
            "patience": self.n_iter_no_change,
            "metric": "accuracy" if self._targets_are_classes else "r2",
        }

    def _method(self) -> dict[str, Any]:
        preset = "auto" if self.preset == "sgd" else self.preset
        return {**super()._method(), **self._stopping(), "preset": preset}

    def _exact_loss(self) -> bool:
        return self.loss in self._losses

    def _descends(self, rows: int, *starts: Any) -> bool:
        """Whether `fit` descends. A few rows are solved to the optimum, where a row of weight 2 equals two rows, unless
        the descent has parameters of its own."""
        if self.preset != "sgd":
            return False
        defaults = signature(type(self).__init__).parameters
        own = any(name in defaults and getattr(self, name) != defaults[name].default for name in _OF_DESCENT)
        starts_anew = all(start is None for start in starts) and self.tol is not None
        return own or not starts_anew or not self._exact_loss() or rows > _FEW

    def _check_descent(self, first: bool = True, partial: bool = False) -> None:
        if partial and first and self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ValueError("alpha must be > 0 with learning_rate='optimal', which is computed from it")
        loss = "hinge" if self._targets_are_classes else "epsilon_insensitive"
        if self.learning_rate in ("pa1", "pa2") and self.loss != loss:
            raise ValueError(f"Learning rate {self.learning_rate!r} only works with loss {loss!r}.")
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")

    def _begin(self, outputs: int, columns: int, coef: Any, intercept: Any) -> None:
        """Sets the models to begin with, of shape (outputs, columns)."""
        shapes = ((outputs, columns), (outputs,))
        given = []
        for name, value, shape in zip(("coef_init", "intercept_init"), (coef, intercept), shapes):
            value = np.zeros(shape) if value is None else np.asarray(value, float)
            if value.shape != shape and not (outputs == 1 and value.size == np.prod(shape)):
                raise ValueError(f"Provided {name} does not match dataset: its shape is {value.shape}, not {shape}")
            given.append(value.reshape(shape).copy())
        self._standard_coef, self._standard_intercept = given
        self._average_coef, self._average_intercept = (np.zeros_like(one) for one in given)
        self.t_ = 1.0

    def _resume(self) -> None:
        """Continues from the public attributes, which a user or `fit` by another method may have set."""
        if hasattr(self, "_standard_coef"):
            return
        coef, t = dense(self.coef_), getattr(self, "t_", 1.0)
        self._begin(*coef.shape, coef, np.atleast_1d(self.intercept_))
        self.t_ = t

    def _held_out(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Marks the rows whose score ends the descent."""
        if not self.early_stopping:
            return None
        kind = StratifiedShuffleSplit if self._targets_are_classes else ShuffleSplit
        split = kind(test_size=self.validation_fraction, random_state=self.random_state)
        _, held = next(split.split(np.zeros((len(y), 1)), y))
        mask = np.zeros(len(y), np.uint8)
        mask[held] = 1
        if weight is not None and not weight[held].any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different random state."
            )
        return mask

    def _one(self, fields: dict, number: int, target: Any, factors: Any, seed: int, passes: int, log: Any) -> Any:
        """Runs the core on one problem, from and to the models of this estimator."""
        penalty = self._penalty()
        name, _ = self.loss_functions[self.loss]
        target, kept = _doubles(target)
        arrays = [_doubles(self._standard_coef[number]), _doubles(self._average_coef[number])]
        texts = [ffi.new("char[]", text.encode()) for text in (name, self.learning_rate)]
        run = ffi.new("parley_descent *", {
            **fields, "target": target, "loss": texts[0], "rate": texts[1], "epsilon": float(self.epsilon),
            "penalty": penalty["lambda"], "l1_ratio": penalty["l1_ratio"], "alpha": self.alpha, "eta0": self.eta0,
            "power": self.power_t, "positive": factors[0], "negative": factors[1],
            "tolerance": -np.inf if self.tol is None else self.tol, "patience": self.n_iter_no_change,
            "most_passes": passes, "average": int(self.average), "seed": seed, "shuffle": self.shuffle,
            "intercept": self.fit_intercept, "classes": self._targets_are_classes, "coef": arrays[0][0],
            "mean": arrays[1][0] if self.average else ffi.NULL, "bias": self._standard_intercept[number],
            "mean_bias": self._average_intercept[number], "steps": self.t_,
        })  # fmt: skip
        caught = None
        try:
            call("parley_descend", run, log.callback, ffi.NULL)
        except KeyboardInterrupt as stopped:
            caught = stopped
        self._standard_coef[number], self._average_coef[number] = arrays[0][1], arrays[1][1]
        self._standard_intercept[number], self._average_intercept[number] = run.bias, run.mean_bias
        del kept
        return run, caught or log.caught

    def _seeds(self, count: int) -> list[int]:
        """A seed for each problem, drawn as scikit-learn does, so that rows come in the same order."""
        random = check_random_state(1 if self.random_state is None else self.random_state)
        if count > 1:
            states = [check_random_state(seed) for seed in random.randint(_MOST, size=count)]
        else:
            states = [random]
        seeds = []
        for state in states:
            if self._targets_are_classes:
                state.randint(1, _MOST)
            seeds.append(int(state.randint(_MOST)))
        return seeds

    def _descend(
        self, X: Any, targets: list, factors: list, weight: np.ndarray | None, held: np.ndarray | None, passes: int
    ) -> None:
        """Makes passes over the rows, for each problem, and sets the attributes."""
        fields, kept = _rows(X)
        if weight is not None:
            fields["weight"], weight = _doubles(weight)
        if held is not None:
            fields["held_out"] = ffi.cast("unsigned char *", held.ctypes.data)
        fields["bias_rate"] = _BIAS if sp.issparse(X) else 1.0
        logs = [_run.Watch(self.verbose) for _ in targets]
        jobs = [
            partial(self._one, fields, *one, passes, log)
            for *one, log in zip(range(len(targets)), targets, factors, self._seeds(len(targets)), logs)
        ]
        threads = min(len(jobs), _run.threads(self.n_jobs) or _run.cores())
        if threads > 1 and self._values > SMALL and not self.verbose:
            with ThreadPoolExecutor(threads) as pool:
                done = list(pool.map(lambda job: job(), jobs))
        else:
            done = [job() for job in jobs]
        del kept
        self.run_ = np.concatenate([log.close() for log in logs])
        self._finish(X, [run for run, _ in done], next((caught for _, caught in done if caught), None))

    def _finish(self, X: Any, runs: list, caught: Any) -> None:
        self.n_iter_ = max(1, *(int(run.passes) for run in runs))
        self.t_ += float(self.n_iter_ * X.shape[0])
        self.objective_, self.gap_ = float(sum(run.objective for run in runs)), np.nan
        converged = all(run.converged for run in runs)
        self._summary = {
            "stop": "converged" if converged else "rounds", "rounds": self.n_iter_, "objective": self.objective_,
            "gap": np.nan, "relative_gap": np.nan,
        }  # fmt: skip
        means = 0 < self.average <= self.t_ - 1.0
        coef = self._average_coef if means else self._standard_coef
        intercept = self._average_intercept if means else self._standard_intercept
        self.coef_, self.intercept_ = coef.astype(X.dtype), intercept.astype(X.dtype)
        if not self.average:
            for name in ("_standard_coef", "_standard_intercept", "_average_coef", "_average_intercept"):
                delattr(self, name)
        if not self._targets_are_classes:
            self.coef_ = self.coef_[0]
        if caught is not None:
            raise caught

    def _conclude(self) -> None:
        """Warns about a `fit` that did not converge."""
        if self.tol is not None and self._summary["stop"] != "converged" and self.n_iter_ == self.max_iter:
            text = (
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the"
                " fit."
            )
            warnings.warn(text, ConvergenceWarning, 3)
        if self.power_t < 0:
            text = (
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an error in 1.10. Use"
                " values in the range [0.0, inf) instead."
            )
            warnings.warn(text, FutureWarning, 3)

    def _forget(self) -> None:
        for name in ("_standard_coef", "_standard_intercept", "_average_coef", "_average_intercept", "t_"):
            self.__dict__.pop(name, None)

    def _refuse(self) -> None:
        _limits.check(self)
        if self.preset != "sgd":
            super()._refuse()


@documented
class SGDClassifier(_Descending, OneVersusRest):
    """Linear classifiers with scikit-learn's objective of this name: ``mean loss + alpha penalty``.

    `fit` and `partial_fit` make passes of stochastic gradient descent, with scikit-learn's rates, order of rows, ends
    and averages; with more than two classes, each class against the rest. Another `preset` than 'sgd' finds the optimum
    to which `fit` would converge, for the losses of the core; so does `fit` for up to 40 rows, if `learning_rate` and
    the other parameters of the descent are the defaults.

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
    >>> online = SGDClassifier(loss="log_loss", random_state=0)
    >>> for i in range(5):
    ...     online = online.partial_fit(X[i::5], y[i::5], classes=[0, 1, 2])
    >>> online.predict(X[:1]) in (0, 1, 2)
    True
    """

    loss_functions = {**_CLASSES, **_REGRESSIONS}
    _targets_are_classes = True
    _exact = 0.0
    _losses = {"hinge": "hinge", "log_loss": "logistic", "squared_hinge": "squared-hinge"}
    _texts = {
        "loss": "'hinge', 'log_loss', 'modified_huber', 'squared_hinge', 'perceptron', or a loss of `SGDRegressor`.",
        "epsilon": "Parameter of the losses of `SGDRegressor`.",
        **_TEXTS,
    }
    _only = {"loss": (tuple(_losses), "the core's methods have no such loss of classes, but preset='sgd' has")}

    def __init__(
        self, loss: str = "hinge", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio: float | None =
        0.15, fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3, shuffle: bool = True,
        verbose: int = 0, epsilon: float = 0.1, n_jobs: int | None = None, random_state: Any = None, learning_rate:
        str = "optimal", eta0: float = 0.01, power_t: float = 0.5, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 5, class_weight: Any = None, warm_start: bool =
        False, average: bool | int = False, preset: str = "sgd", workers: int | None = None, local_steps: int | str
        | None = None,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def _problem(self, weights: float, classes: int, own: float) -> dict[str, Any]:
        penalty = self._penalty()
        penalty["lambda"] *= own / weights
        return {"loss": self._losses[self.loss], **penalty, "intercept": free(self.fit_intercept)}

    def _loss(self) -> str:
        return self.loss_functions[self.loss][0]

    def _rest(self) -> bool:
        return True

    def _learn(self, X: Any, y: np.ndarray, sample_weight: Any, held: bool, passes: int) -> None:
        """Makes passes over rows whose labels are among `classes_`."""
        codes, count = np.searchsorted(self.classes_, y), len(self.classes_)
        weight = checked_weight(sample_weight, X.shape[0], zeros=held and self.early_stopping)
        mask = self._held_out(codes, weight) if held else None
        by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        upper = [1] if count == 2 else range(count)
        targets = [np.where(codes == number, 1.0, -1.0) for number in upper]
        factors = [(by_class[1], by_class[0])] if count == 2 else [(one, 1.0) for one in by_class]
        self._descend(X, targets, factors, weight, mask, passes)

    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels: numbers or strings.
        coef_init : array-like of shape (n_classes, n_features), default=None
            Coefficients to begin with.
        intercept_init : array-like of shape (n_classes,), default=None
            Intercepts to begin with.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps of rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse()
        self._check_descent()
        table, labels = self._checked(X, y, finite=True)
        if not self._descends(table.shape[0], coef_init, intercept_init):
            _no_start(coef_init, intercept_init)
            self._forget()
            super().fit(X, y, sample_weight)
            self.t_ = 1.0 + self.n_iter_ * table.shape[0]
            return self
        X, y = table, column_or_1d(labels, warn=True)
        begin = self.warm_start and hasattr(self, "coef_")
        coef_init = self.coef_ if begin and coef_init is None else coef_init
        intercept_init = self.intercept_ if begin and intercept_init is None else intercept_init
        classes = check_labels(y)
        self.classes_ = np.unique(y) if classes is None else classes
        _two(self.classes_)
        count = len(self.classes_)
        self._forget()
        self._begin(1 if count == 2 else count, X.shape[1], coef_init, intercept_init)
        self._learn(X, y, sample_weight, True, self.max_iter)
        self._conclude()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over rows, from the model so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will occur; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps of rows.

        Returns
        -------
        self : object
            The estimator.
        """
        _limits.check(self)
        first = not hasattr(self, "coef_")
        self._check_descent(first, partial=True)
        if first and self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use"
                " compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough"
                " sample of the full training set target to properly estimate the class frequency distributions."
                " Pass the resulting weights as the class_weight parameter."
            )
        X, y = self._checked(X, y, finite=True, reset=first)
        check_labels(y)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if first:
            self.classes_ = np.unique(classes)
            _two(self.classes_)
            count = len(self.classes_)
            self._begin(1 if count == 2 else count, X.shape[1], None, None)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes={classes!r} is not the same as on the last call to partial_fit: {self.classes_!r}"
            )
        if not np.isin(y, self.classes_).all():
            raise ValueError(f"y has labels that are not among the classes {self.classes_!r}")
        self._resume()
        self._learn(X, y, sample_weight, False, 1)
        return self

    def _probable(self) -> bool:
        if self.loss not in ("log_loss", "modified_huber"):
            raise AttributeError(f"probability estimates are not available for loss={self.loss!r}")
        return True

    @available_if(_probable)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        if self.loss == "log_loss":
            return Probable.predict_proba(self, X)
        each = (np.clip(self.decision_function(X), -1, 1) + 1) / 2
        if each.ndim == 1:
            return np.column_stack([1 - each, each])
        each[~each.any(axis=1)] = 1.0
        return each / each.sum(axis=1, keepdims=True)

    predict_log_proba = available_if(_probable)(Probable.predict_log_proba)


def _two(classes: np.ndarray) -> None:
    if len(classes) < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class: {classes[0]!r}")


def _no_start(coef: Any, intercept: Any) -> None:
    if coef is not None or intercept is not None:
        raise ValueError("coef_init and intercept_init need preset='sgd'; use warm_start with other presets")


@documented
class SGDRegressor(_Descending, Regressor):
    """Linear regressions with scikit-learn's objective of this name: ``mean loss + alpha penalty``.

    `fit` and `partial_fit` make passes of stochastic gradient descent, with scikit-learn's rates, order of rows, ends
    and averages. Another `preset` than 'sgd' finds the optimum to which `fit` would converge; so does `fit` for up to
    40 rows, if `learning_rate` and the other parameters of the descent are the defaults.

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

    loss_functions = _REGRESSIONS
    _array = True
    _exact = 0.0
    _losses = {name: core for name, (core, _) in _REGRESSIONS.items()}
    _texts = {
        "loss": "'squared_error', 'huber', 'epsilon_insensitive' or 'squared_epsilon_insensitive'.",
        "epsilon": "Residual from which the loss is linear (huber) or above 0 (the others).",
        **_TEXTS,
    }

    def __init__(
        self, loss: str = "squared_error", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio: float |
        None = 0.15, fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3, shuffle: bool =
        True, verbose: int = 0, epsilon: float = 0.1, random_state: Any = None, learning_rate: str = "invscaling",
        eta0: float = 0.01, power_t: float = 0.25, early_stopping: bool = False, validation_fraction: float = 0.1,
        n_iter_no_change: int = 5, warm_start: bool = False, average: bool | int = False, n_jobs: int | None = None,
        preset: str = "sgd", workers: int | None = None, local_steps: int | str | None = None,
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

    def _learn(self, X: Any, y: np.ndarray, sample_weight: Any, held: bool, passes: int) -> None:
        y = column_or_1d(y).astype(float, copy=False)
        weight = checked_weight(sample_weight, X.shape[0], zeros=held and self.early_stopping)
        mask = self._held_out(y, weight) if held else None
        self._descend(X, [y], [(1.0, 1.0)], weight, mask, passes)

    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Target values.
        coef_init : array-like of shape (n_features,), default=None
            Coefficients to begin with.
        intercept_init : array-like of shape (1,), default=None
            Intercept to begin with.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps of rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse()
        self._check_descent()
        table, values = self._checked(X, y, finite=True, y_numeric=True)
        if not self._descends(table.shape[0], coef_init, intercept_init):
            _no_start(coef_init, intercept_init)
            self._forget()
            super().fit(X, y, sample_weight)
            self.t_ = 1.0 + self.n_iter_ * table.shape[0]
            return self
        X, y = table, values
        begin = self.warm_start and hasattr(self, "coef_")
        coef_init = self.coef_ if begin and coef_init is None else coef_init
        intercept_init = self.intercept_ if begin and intercept_init is None else intercept_init
        self._forget()
        self._begin(1, X.shape[1], coef_init, intercept_init)
        self._learn(X, y, sample_weight, True, self.max_iter)
        self._conclude()
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over rows, from the model so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their values.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps of rows.

        Returns
        -------
        self : object
            The estimator.
        """
        _limits.check(self)
        first = not hasattr(self, "coef_")
        self._check_descent(first, partial=True)
        X, y = self._checked(X, y, finite=True, y_numeric=True, reset=first)
        if first:
            self._begin(1, X.shape[1], None, None)
        self._resume()
        self._learn(X, y, sample_weight, False, 1)
        return self
