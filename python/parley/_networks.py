"""Small networks, with the parameters, attributes and methods of scikit-learn's estimators."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _backprop, _data, _limits, _run
from ._compat import Tagged, check_labels, validate
from ._estimator import FLOATS, SMALL, checked_weight, numbered, seed, several
from ._library import call, ffi, lib, make
from ._run import Watch, threads

if TYPE_CHECKING:
    from typing_extensions import Self

_ACTIVATIONS = {
    "identity": lambda z: z,
    "logistic": lambda z: 0.5 * (1.0 + np.tanh(0.5 * z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
}
_LEAST_RATE = 1e-6  # of learning_rate='adaptive', as in scikit-learn


_OVERFLOW = (
    "Solver produced non-finite parameter weights. The input data may contain large values and need to be preprocessed;"
    " or give a smaller learning_rate_init."
)


class _Network(Tagged, BaseEstimator):
    """What the classifier and the regressor share. The core gets numbers of classes, or targets as further columns."""

    _labels_together = False  # rows have several labels
    _dtype: Any = np.float64

    def __init__(
        self, hidden_layer_sizes: Any = (100,), activation: str = "relu", *, solver: str = "adam", alpha: float =
        0.0001, batch_size: Any = "auto", learning_rate: str = "constant", learning_rate_init: float = 0.001, power_t:
        float = 0.5, max_iter: int = 200, shuffle: bool = True, random_state: Any = None, tol: float = 1e-4, verbose:
        int = 0, warm_start: bool = False, momentum: float = 0.9, nesterovs_momentum: bool = True, early_stopping: bool
        = False, validation_fraction: float = 0.1, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-8,
        n_iter_no_change: int = 10, max_fun: int = 15000, n_jobs: int | None = None, dropout: float = 0, preset: str =
        "auto", workers: int | None = 1,
    ) -> None:  # fmt: skip
        for name, value in {**locals()}.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags

    def _hidden(self) -> list[int]:
        sizes = self.hidden_layer_sizes
        sizes = [sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
        if any(size <= 0 for size in sizes):
            raise ValueError(f"hidden_layer_sizes must be > 0, got {self.hidden_layer_sizes}")
        return sizes

    def _refuse(self, partial: bool = False) -> None:
        _limits.check(self)
        if partial and self.early_stopping:
            raise ValueError("partial_fit does not support early_stopping=True")

    def _in_numpy(self, X: Any, weight: np.ndarray | None, again: bool) -> bool:
        """Whether numpy trains this: what the core does not, and small tables that are one batch, where a row of weight
        2 equals two rows. `partial_fit` goes on where it began."""
        falling = self.solver == "sgd" and self.learning_rate == "invscaling" and self.power_t != 0.5
        own = self.solver == "lbfgs" or not self.shuffle or falling or self.out_activation_ == "exp"
        if own or weight is not None or self._labels_together:
            if self.dropout:
                raise ValueError("dropout needs the core: solver='adam' or 'sgd', shuffle=True, and no weights of rows")
            return True
        if again and hasattr(self, "coefs_"):
            return getattr(self, "_steps", None) is not None
        by_core = self.dropout or self.preset != "auto" or self.workers not in (1, None)
        return not by_core and X.shape[0] <= self._batch(X.shape[0]) and X.shape[0] * X.shape[1] <= SMALL

    def _backprop(self, X: Any, y: np.ndarray, weight: np.ndarray | None, again: bool, passes: int | None) -> None:
        """Trains in numpy, like `_train`; `passes` None: one pass of `partial_fit`."""
        random = check_random_state(1 if self.random_state is None else self.random_state)
        output, keep = self.out_activation_, again and hasattr(self, "coefs_")
        if keep:
            copies = ([array.astype(X.dtype) for array in arrays] for arrays in (self.coefs_, self.intercepts_))
            layers = _backprop.Layers(*copies, self.activation, output)
        else:
            sizes = [X.shape[1], *self._hidden(), y.shape[1]]
            layers = _backprop.Layers.drawn(sizes, self.activation, output, random, X.dtype)
        y, rows = y.astype(X.dtype, copy=False), []

        def ask(step: int, loss: float) -> None:
            rows.append((step, float(step), 0.0, loss, np.nan, np.nan, np.nan))
            if self.verbose:
                print(f"Iteration {step}, loss = {loss:.8f}", file=sys.stderr)

        if self.solver == "lbfgs":
            done, self.loss_, converged = _backprop.by_lbfgs(layers, X, y, weight, self, ask)
            self.n_iter_ += done
            self.best_loss_, self.best_validation_score_, self._steps = self.loss_, None, None
        else:
            converged = self._descend(layers, X, y, weight, random, passes, ask)
        self.coefs_, self.intercepts_ = layers.coefs, layers.intercepts
        if not all(np.isfinite(array).all() for array in self.coefs_ + self.intercepts_):
            raise ValueError(_OVERFLOW)
        self.n_layers_, self.n_outputs_, self._memory = len(self.coefs_) + 1, y.shape[1], None
        self.run_ = np.array(rows, dtype=_run.ROW)
        if not converged and passes is not None:
            text = f"{self.solver}: Maximum iterations ({self.max_iter}) reached and the loss still improves."
            warnings.warn(text, ConvergenceWarning, 4)

    def _held_out(self, y: np.ndarray, random: Any) -> tuple[np.ndarray, np.ndarray]:
        stratify = y if isinstance(self, ClassifierMixin) and y.shape[1] == 1 else None  # as scikit-learn does
        return train_test_split(
            np.arange(len(y)), random_state=random, test_size=self.validation_fraction, stratify=stratify
        )

    def _descend(
        self, layers: Any, X: Any, y: np.ndarray, weight: Any, random: Any, passes: int | None, ask: Any
    ) -> bool:
        """Makes passes of descent in numpy. Returns whether the loss, or the score, has stopped to improve."""
        rows = held = np.arange(len(y))
        if self.early_stopping:
            rows, held = self._held_out(y, random)
        order, best, worse, kept = np.arange(len(rows)), np.inf, 0, None
        if passes is not None or getattr(self, "_steps", None) is None:
            self._steps = _backprop.Steps(self)
        self._steps.own = self
        table = X[rows], y[rows], None if weight is None else weight[rows]
        batch = self._batch(len(rows))
        for step in range(1, (passes or 1) + 1):
            order = _backprop.shuffled(order, self, random)
            self.loss_ = _backprop.one_pass(layers, self._steps, *table, order, batch)
            self.n_iter_ += 1
            self.t_ += len(rows)
            self.loss_curve_.append(self.loss_)
            ask(step, self.loss_)
            now = self.loss_
            if self.early_stopping:
                now = -self._score_of(layers, X[held], y[held], None if weight is None else weight[held])
                self.validation_scores_.append(-now)
            worse = worse + 1 if now > best - self.tol else 0
            if now < best:
                best, kept = now, layers.packed() if self.early_stopping else None
            self._no_improvement_count = worse
            self._steps.end_pass(self.t_)
            if worse > self.n_iter_no_change:
                if not self._steps.slower():
                    break
                worse = 0
        if kept is not None:
            layers.unpack(kept)
        self._steps.own = None
        self.best_loss_ = None if self.early_stopping else min(self.loss_curve_)
        self.best_validation_score_ = max(self.validation_scores_) if self.validation_scores_ else None
        return worse > self.n_iter_no_change

    def _score_of(self, layers: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Accuracy or R2 of rows that are held out."""
        found = layers.forward(X)[-1]
        if not isinstance(self, ClassifierMixin):
            return float(r2_score(y, found, sample_weight=weight)) if np.isfinite(found).all() else np.nan
        if layers.output == "softmax":
            return float(np.average(found.argmax(axis=1) == y.argmax(axis=1), weights=weight))
        return float(np.average(((found > 0.5) == (y > 0.5)).all(axis=1), weights=weight))

    def _weights(self, sample_weight: Any, rows: int) -> np.ndarray | None:
        """The weights of rows, or None if they are equal."""
        weight = checked_weight(sample_weight, rows)
        if self.early_stopping and np.ceil(self.validation_fraction * rows) < 2:
            raise ValueError(
                "The validation set is too small. Increase 'validation_fraction' or the size of your dataset."
            )
        return None if weight is None or np.ptp(weight) == 0 else weight

    def _batch(self, rows: int) -> int:
        return min(200, rows) if self.batch_size == "auto" else int(min(max(1, self.batch_size), rows))

    def _optimiser(self) -> dict[str, Any]:
        if self.solver == "adam":
            return {
                "optimiser": "adam", "beta1": self.beta_1, "beta2": self.beta_2, "optimiser_epsilon": self.epsilon,
                "schedule": "constant",
            }  # fmt: skip
        schedule = "inverse-sqrt" if self.learning_rate == "invscaling" else "constant"
        if not self.momentum > 0:
            return {"optimiser": "sgd", "schedule": schedule}
        name = "nesterov" if self.nesterovs_momentum else "momentum"
        return {"optimiser": name, "momentum": self.momentum, "schedule": schedule}

    def _settings(self, rows: int) -> dict[str, Any]:
        batch = self._batch(rows)
        hidden = self._hidden()
        values = {
            "problem": "network", "hidden": ",".join(map(str, hidden or [0])), "activation": self.activation,
            "threads": threads(self.n_jobs), "network_lambda": self.alpha / batch, "batch": batch,
            "rate": self.learning_rate_init, "seed": seed(self.random_state), "preset": self.preset,
            "workers": self.workers, "dropout": self.dropout, **self._optimiser(),
        }  # fmt: skip
        return {name: value for name, value in values.items() if value is not None}

    def _patience(self, passes: int) -> dict[str, Any]:
        values: dict[str, Any] = {"passes": passes}
        if self.early_stopping:
            patience = int(min(self.n_iter_no_change, 2**31 - 2)) + 1  # scikit-learn ends one pass later
            values |= {"validation_fraction": self.validation_fraction, "patience": patience, "metric": self._metric}
        return values

    def _until(self, patience: int, targets: int) -> Any:
        """Tells the core to stop when the loss has not improved by `tol` in `patience` passes, as in scikit-learn."""
        state = {"best": np.inf, "worse": 0, "passes": 0.0}

        def ask(row: dict[str, Any]) -> bool:
            if row["epochs"] < state["passes"] + 1 - 1e-9:
                return False
            state["passes"] = row["epochs"]
            if self.early_stopping:
                self.validation_scores_.append(row["validation"])
            loss = row["objective"] / targets
            state["worse"] = 0 if loss <= state["best"] - self.tol else state["worse"] + 1
            self._no_improvement_count = state["worse"]
            state["best"] = min(state["best"], loss)
            return not self.early_stopping and state["worse"] > patience

        return ask

    def _run(self, data: Any, values: dict[str, Any], start: Any, patience: int, targets: int) -> tuple[Any, dict, Any]:
        """Runs the core, whose objective has the sum over targets; scikit-learn tells their mean."""
        watch = Watch(self.verbose, self._until(patience, targets))
        try:
            result = _run.train(data, values, start, watch)
        except ValueError as failed:
            if "diverged" in str(failed):
                raise ValueError(_OVERFLOW) from failed
            raise
        rows = result[2]
        last = {int(round(row["epochs"])): row["objective"] / targets for row in rows if row["epochs"] >= 1 - 1e-9}
        self.loss_curve_ += list(last.values())
        self.run_ = rows
        if watch.caught:
            self._take(result[0])
            raise watch.caught
        return result

    def _train(self, X: Any, y: np.ndarray, extra: dict[str, Any], start: Any, passes: int) -> None:
        """Trains on checked arrays: `y` has a column for each target."""
        rows = X.shape[0]
        columns = X.shape[1]
        if y.shape[1] > 1:
            stack = sp.hstack([X, y[:, 1:]], format="csr") if sp.issparse(X) else np.hstack([X, y[:, 1:]])
            extra = {**extra, "targets": ",".join(str(columns + i) for i in range(1, y.shape[1]))}
            X = stack.astype(X.dtype, copy=False)
        data = _data.from_arrays(X, np.ascontiguousarray(y[:, 0], float), threads=threads(self.n_jobs) or 0)
        values = {**self._settings(rows), **extra}
        done, adaptive = 0.0, self.solver == "sgd" and self.learning_rate == "adaptive"
        patience = 2 if adaptive else self.n_iter_no_change
        while True:
            own = {**values, **self._patience(passes - int(done))}
            handle, summary, _ = self._run(data, own, start, patience, y.shape[1])
            done += summary["epochs"]
            if summary["stop"] == "diverged" or not adaptive or done >= passes - 0.5 or values["rate"] < _LEAST_RATE:
                break
            values["rate"] /= 5.0
            start = handle
        self._steps = None
        self._take(handle)
        self.n_iter_ += int(round(done))
        self.t_ += int(round(done)) * rows
        self.loss_ = self.loss_curve_[-1] if self.loss_curve_ else summary["objective"] / y.shape[1]
        self.best_loss_ = None if self.early_stopping else min(self.loss_curve_, default=self.loss_)
        self.best_validation_score_ = max(self.validation_scores_) if self.validation_scores_ else None
        if summary["stop"] == "diverged":
            text = (
                f"Training diverged with learning_rate_init={self.learning_rate_init}; the best model before is kept."
            )
            warnings.warn(text, ConvergenceWarning, 4)
        elif summary["stop"] == "passed" and passes == self.max_iter > 1:
            text = f"Stochastic Optimizer: Maximum iterations ({self.max_iter}) reached and the loss still improves."
            warnings.warn(text, ConvergenceWarning, 4)

    def _descends(self) -> bool:
        if self.solver == "lbfgs":
            raise AttributeError("partial_fit is only available for stochastic optimizers, not solver='lbfgs'")
        return True

    def _reset(self) -> None:
        self.loss_curve_: list[float] = []
        self.validation_scores_: list[float] | None = [] if self.early_stopping else None
        self.n_iter_ = self.t_ = 0

    def _take(self, handle: Any) -> None:
        """Copies the arrays of a model of the core."""
        found = ffi.new("parley_network *")
        if not lib.parley_model_network(handle, found):
            raise ValueError("this is not a network; load it with parley.load")
        self.coefs_, self.intercepts_ = [], []
        for layer in range(found.layers):
            shape = found.width[layer + 1], found.width[layer]
            weight = np.frombuffer(ffi.buffer(found.weight[layer], 4 * shape[0] * shape[1]), np.float32)
            bias = np.frombuffer(ffi.buffer(found.bias[layer], 4 * shape[0]), np.float32)
            self.coefs_.append(weight.reshape(shape).T.astype(self._dtype))
            self.intercepts_.append(bias.astype(self._dtype))
        if found.labels != ffi.NULL and found.width[found.layers] == 2:  # one logistic output, as in scikit-learn
            self.coefs_[-1] = self.coefs_[-1][:, 1:] - self.coefs_[-1][:, :1]
            self.intercepts_[-1] = self.intercepts_[-1][1:] - self.intercepts_[-1][:1]
        self._memory = None
        if found.steps:
            size = sum(found.width[i + 1] * (found.width[i] + 1) for i in range(found.layers))
            first, second = (np.frombuffer(ffi.buffer(array, 8 * size)).copy() for array in (found.first, found.second))
            self._memory = found.steps, found.optimiser, first, second
        self.n_layers_ = found.layers + 1
        self.n_outputs_ = self.coefs_[-1].shape[1]

    def _model(self, labels: np.ndarray | None = None, *, remember: bool = False) -> Any:
        """The fitted network as a model of the core; with `remember`, a run that begins there keeps the momentum."""
        coefs, intercepts = list(self.coefs_), list(self.intercepts_)
        if labels is not None and len(labels) == 2:
            coefs[-1] = np.hstack([-0.5 * coefs[-1], 0.5 * coefs[-1]])
            intercepts[-1] = np.hstack([-0.5 * intercepts[-1], 0.5 * intercepts[-1]])
        given = ffi.new("parley_network *")
        activation = ffi.new("char[]", self.activation.encode())
        kept = []
        given.layers, given.activation = len(coefs), activation
        given.width[0] = coefs[0].shape[0]
        for layer, (coef, intercept) in enumerate(zip(coefs, intercepts)):
            arrays = np.ascontiguousarray(coef.T, np.float32), np.ascontiguousarray(intercept, np.float32)
            kept += arrays
            given.width[layer + 1] = coef.shape[1]
            given.weight[layer], given.bias[layer] = (ffi.cast("float *", array.ctypes.data) for array in arrays)
        if labels is None:
            given.targets = coefs[-1].shape[1] - 1
        else:
            numbers = np.ascontiguousarray(labels, float)
            kept.append(numbers)
            given.labels = ffi.cast("double *", numbers.ctypes.data)
        if remember and getattr(self, "_memory", None):
            given.steps, given.optimiser, *arrays = self._memory
            given.first, given.second = (ffi.cast("double *", array.ctypes.data) for array in arrays)
        return make("model", "parley_network_new", given)

    def _outputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        a = X
        for layer, (coef, intercept) in enumerate(zip(self.coefs_, self.intercepts_)):
            a = safe_sparse_dot(a, coef, dense_output=True) + intercept
            if layer + 2 < self.n_layers_:
                a = _ACTIVATIONS[self.activation](a)
        return a

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model for `parley predict` and `eval`, and for PyTorch's `load_state_dict`."""
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        numbers = None if classes is None else classes if classes.dtype.kind in "iuf" else np.arange(len(classes))
        if self._labels_together or self.out_activation_ == "exp":
            raise ValueError("the core has no networks of several labels or with Poisson loss; pickle the estimator")
        call("parley_model_save", self._model(numbers), os.fsencode(path))


_SHARED = """hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of the hidden layers; (): none.
    activation : {'identity', 'logistic', 'tanh', 'relu'}, default='relu'
        Function of the hidden units.
    solver : {'adam', 'sgd', 'lbfgs'}, default='adam'
        Adam, gradient descent with momentum, or L-BFGS for small data.
    alpha : float, default=0.0001
        Strength of the L2 penalty, divided by the rows of a batch, as in scikit-learn.
    batch_size : int or 'auto', default='auto'
        Rows of a step; 'auto': 200, or all if there are fewer.
    learning_rate : {'constant', 'invscaling', 'adaptive'}, default='constant'
        Of 'sgd': constant; divided by the root of the pass; or divided by 5 when the loss stops falling.
    learning_rate_init : float, default=0.001
        The rate.
    power_t : float, default=0.5
        The exponent of 'invscaling'.
    max_iter : int, default=200
        Most passes over the rows.
    shuffle : bool, default=True
        Whether rows are shuffled for each pass.
    random_state : int, RandomState or None, default=None
        Seed; None: a fixed one. The same seed and number of threads give the same network, bit for bit.
    tol : float, default=1e-4
        The loss must fall by this in `n_iter_no_change` passes.
    verbose : int, default=0
        Above 0: show progress.
    warm_start : bool, default=False
        Begin `fit` at the last network.
    momentum : float, default=0.9
        Of 'sgd'.
    nesterovs_momentum : bool, default=True
        Of 'sgd'.
    early_stopping : bool, default=False
        Set rows aside, stop when their score no longer improves, and keep the best network.
    validation_fraction : float, default=0.1
        Share of those rows.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        Of 'adam'.
    n_iter_no_change : int, default=10
        Passes without improvement that end the fit.
    max_fun : int, default=15000
        Most evaluations of 'lbfgs'.
    n_jobs : int or None, default=None
        Number of threads. None: all cores.
    dropout : float, default=0
        Probability with which a hidden unit is left out of a step.
    preset : str, default='auto'
        Method by name, see `parley list presets`.
    workers : int or None, default=1
        Number of workers."""

_ATTRIBUTES = """coefs_, intercepts_ : list of ndarray
        Weights (inputs x outputs) and biases of the layers.
    loss_, best_loss_ : float
        Loss of the last pass, and the least; of several targets the mean over them.
    loss_curve_ : list of float
        Loss of each pass.
    validation_scores_, best_validation_score_ : list of float, float
        With early_stopping: the score after each pass (accuracy, or R2), and the best, of the network that is kept.
    n_iter_, t_ : int
        Passes, and rows that were seen.
    n_layers_, n_outputs_ : int
        Layers with the inputs, and outputs.
    out_activation_ : str
        Function of the outputs.
    run_ : ndarray
        A row for each round.
    n_features_in_ : int
        Number of features in `fit`."""


class MLPClassifier(ClassifierMixin, _Network):
    """A network of dense layers that predicts classes, with cross-entropy loss.

    Parameters
    ----------
    {shared}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels. Of two classes the network has one output, as in scikit-learn.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from parley import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> MLPClassifier(hidden_layer_sizes=(20,), learning_rate_init=0.01, max_iter=500).fit(X, y).score(X, y) > 0.9
    True
    """

    _metric = "accuracy"

    @property
    def out_activation_(self) -> str:
        return "logistic" if self._labels_together or len(self.classes_) == 2 else "softmax"

    def _labels(self, X: Any, y: Any, *, reset: bool, partial: bool = False) -> tuple[Any, np.ndarray]:
        self._refuse(partial)
        X, y = validate(self, X, y, accept_sparse="csr", dtype=FLOATS, reset=reset, multi_output=True)
        check_labels(y)
        self._dtype, self._labels_together = X.dtype, type_of_target(y) == "multilabel-indicator"
        return X, y if self._labels_together else column_or_1d(y, warn=True)

    def _classify(self, X: Any, y: np.ndarray, weight: Any, again: bool, passes: int | None) -> None:
        if self._labels_together:
            self._backprop(X, y, weight if self._in_numpy(X, weight, again) else None, again, passes)
            return
        codes = np.searchsorted(self.classes_, y)
        if self._in_numpy(X, weight, again):
            hot = (codes[:, None] == np.arange(len(self.classes_))).astype(float)
            self._backprop(X, hot[:, 1:] if hot.shape[1] == 2 else hot, weight, again, passes)
            return
        extra = {"network_loss": "softmax", "classes": len(self.classes_)}
        start = self._model(np.arange(len(self.classes_)), remember=passes is None) if again else ffi.NULL
        self._train(X, codes.reshape(-1, 1).astype(float), extra, start, 1 if passes is None else passes)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to rows X with labels y, which may have a column for each of several labels (0 or 1)."""
        again = self.warm_start and hasattr(self, "coefs_")
        X, y = self._labels(X, y, reset=True)
        weight = self._weights(sample_weight, X.shape[0])
        if self._labels_together:
            classes = np.arange(y.shape[1])
        else:
            classes, codes = numbered(y)
            several(codes, weight)
        if again and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous call to fit. Previously"
                f" got {self.classes_}, `y` has {classes}"
            )
        self.classes_ = classes
        self._reset()
        self._classify(X, y, weight, again, self.max_iter)
        return self

    @available_if(_Network._descends)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """Make one pass over the rows X with labels y. The first call needs all `classes`. The optimiser remembers the
        calls before, as in scikit-learn."""
        first = not hasattr(self, "coefs_")
        X, y = self._labels(X, y, reset=first, partial=True)
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if first:
            self.classes_ = np.unique(classes)
            self._reset()
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes} is not the same as on the last call to partial_fit: {self.classes_}")
        if not self._labels_together and not np.isin(y, self.classes_).all():
            raise ValueError(f"y has labels that are not in classes, {self.classes_}")
        self._classify(X, y, self._weights(sample_weight, X.shape[0]), not first, None)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of `classes_`; of several labels, of each label."""
        z = self._outputs(X)
        if self._labels_together:
            return _ACTIVATIONS["logistic"](z)
        if self.n_outputs_ > 1:
            return softmax(z, copy=False)
        upper = _ACTIVATIONS["logistic"](z.ravel())
        return np.column_stack([1 - upper, upper])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row; of several labels, 1 for those with a probability above 0.5."""
        found = self.predict_proba(X)
        return (found > 0.5).astype(int) if self._labels_together else self.classes_[found.argmax(axis=1)]


class MLPRegressor(RegressorMixin, _Network):
    """A network of dense layers that predicts one or several numbers, with squared or Poisson loss.

    Parameters
    ----------
    {shared}
    loss : {{'squared_error', 'poisson'}}, default='squared_error'
        The loss; 'poisson' is for counts, and predicts their exponential.

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from parley import MLPRegressor
    >>> X = np.linspace(-1, 1, 200).reshape(-1, 1)
    >>> y = np.sin(3 * X[:, 0])
    >>> MLPRegressor(learning_rate_init=0.01, max_iter=500).fit(X, y).score(X, y) > 0.9
    True
    """

    _metric = "r2"
    _several = True

    def __init__(
        self, hidden_layer_sizes: Any = (100,), activation: str = "relu", *, solver: str = "adam", alpha: float =
        0.0001, batch_size: Any = "auto", learning_rate: str = "constant", learning_rate_init: float = 0.001, power_t:
        float = 0.5, max_iter: int = 200, shuffle: bool = True, random_state: Any = None, tol: float = 1e-4, verbose:
        int = 0, warm_start: bool = False, momentum: float = 0.9, nesterovs_momentum: bool = True, early_stopping: bool
        = False, validation_fraction: float = 0.1, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-8,
        n_iter_no_change: int = 10, max_fun: int = 15000, n_jobs: int | None = None, dropout: float = 0, preset: str =
        "auto", workers: int | None = 1, loss: str = "squared_error",
    ) -> None:  # fmt: skip
        for name, value in {**locals()}.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    @property
    def out_activation_(self) -> str:
        return "exp" if self.loss == "poisson" else "identity"

    def _regress(self, X: Any, y: Any, sample_weight: Any, *, again: bool, passes: int | None) -> Self:
        self._refuse(passes is None)
        reset = passes is not None or not again
        X, y = validate(self, X, y, accept_sparse="csr", dtype=FLOATS, reset=reset, multi_output=True, y_numeric=True)
        weight = self._weights(sample_weight, X.shape[0])
        self._flat, self._dtype = y.ndim == 1, X.dtype
        y = y.reshape(X.shape[0], -1).astype(float)
        if self.loss == "poisson" and (y < 0).any():
            raise ValueError("Some value(s) of y are out of the valid range of the loss: they must be 0 or more")
        if passes is not None or not hasattr(self, "loss_curve_"):
            self._reset()
        if self._in_numpy(X, weight, again):
            self._backprop(X, y, weight, again, passes)
            return self
        start = self._model(remember=passes is None) if again else ffi.NULL
        self._train(X, y, {"network_loss": "squared"}, start, 1 if passes is None else passes)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to rows X with targets y, which may have several columns."""
        again = self.warm_start and hasattr(self, "coefs_")
        return self._regress(X, y, sample_weight, again=again, passes=self.max_iter)

    @available_if(_Network._descends)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over the rows X with targets y. The optimiser remembers the calls before."""
        return self._regress(X, y, sample_weight, again=hasattr(self, "coefs_"), passes=None)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets."""
        z = np.exp(self._outputs(X)) if self.loss == "poisson" else self._outputs(X)
        return z.ravel() if self._flat else z


for _kind in (MLPClassifier, MLPRegressor):
    _kind.__doc__ = _kind.__doc__.format(shared=_SHARED, attributes=_ATTRIBUTES)
