"""The values that parameters may have, checked as scikit-learn checks them, with its sentence and its exception."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

_SHARE, _SIZE = Interval(Real, 0, 1, closed="both"), Interval(Real, 0, None, closed="left")
_ABOVE, _COUNT = Interval(Real, 0, None, closed="neither"), Interval(Integral, 1, None, closed="left")
_COUNT_OR_0, _REAL = Interval(Integral, 0, None, closed="left"), Interval(Real, None, None, closed="neither")
_INSIDE, _BELOW_1 = Interval(Real, 0, 1, closed="neither"), Interval(Real, 0, 1, closed="left")
_SGD_LOSSES = {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"}
_SGD_CLASSES = {"hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron"}
_RATES = StrOptions({"constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"})

#: What a parameter may be, wherever an estimator has it.
_ALL = {
    "alpha": [_SIZE], "C": [Interval(Real, 0, None, closed="right")],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "copy_X": ["boolean"], "epsilon": [_SIZE], "fit_intercept": ["boolean"], "intercept_scaling": [_ABOVE],
    "l1_ratio": [_SHARE, None], "max_iter": [_COUNT, None], "n_jobs": [Integral, None], "positive": ["boolean"],
    "random_state": ["random_state"], "selection": [StrOptions({"cyclic", "random"})], "tol": [_SIZE],
    "verbose": ["verbose"], "warm_start": ["boolean"], "quantile": [_INSIDE], "power": [_REAL],
    "link": [StrOptions({"auto", "identity", "log"})], "eps": [_ABOVE], "shuffle": ["boolean"],
    "early_stopping": ["boolean"], "validation_fraction": [_INSIDE], "n_iter_no_change": [_COUNT], "eta0": [_ABOVE],
    "power_t": [_REAL], "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
    "learning_rate": [_RATES], "solver_options": [dict, None],
}  # fmt: skip
_SVM = {"max_iter": [_COUNT_OR_0, None], "C": [_ABOVE], "dual": ["boolean", StrOptions({"auto"})]}
_SGD = {"penalty": [StrOptions({"l2", "l1", "elasticnet"}), None], "tol": [_SIZE, None], "max_iter": [_COUNT]}
_LOGISTIC = {"max_iter": [_COUNT_OR_0, None], "dual": ["boolean"]}
_NET = {
    "activation": [StrOptions({"identity", "logistic", "tanh", "relu"})], "batch_size": [StrOptions({"auto"}), _COUNT],
    "beta_1": [_BELOW_1], "beta_2": [_BELOW_1], "epsilon": [_ABOVE],
    "hidden_layer_sizes": ["array-like", _COUNT], "learning_rate": [StrOptions({"constant", "invscaling", "adaptive"})],
    "learning_rate_init": [_ABOVE], "max_fun": [_COUNT], "max_iter": [_COUNT], "momentum": [_SHARE],
    "n_iter_no_change": [_COUNT, Interval(Real, 1, None, closed="both")], "nesterovs_momentum": ["boolean"],
    "power_t": [_SIZE], "solver": [StrOptions({"lbfgs", "sgd", "adam"})],
}  # fmt: skip

#: Where an estimator differs.
_OWN = {
    "ElasticNetCV": {"l1_ratio": ["array-like", _SHARE]},
    "HuberRegressor": {"epsilon": [Interval(Real, 1, None, closed="left")], "max_iter": [_COUNT_OR_0, None]},
    "LinearSVC": {**_SVM, "penalty": [StrOptions({"l1", "l2"})]},
    "LinearSVR": {**_SVM, "epsilon": [Real]},
    "LogisticRegression": _LOGISTIC,
    "LogisticRegressionCV": {**_LOGISTIC, "l1_ratio": ["no_validation"]},
    "MLPClassifier": _NET,
    "MLPRegressor": {**_NET, "loss": [StrOptions({"squared_error", "poisson"})]},
    "Ridge": {"alpha": [_SIZE, "array-like"]},
    "RidgeClassifier": {"alpha": [_SIZE, "array-like"]},
    "SGDClassifier": {**_SGD, "loss": [StrOptions(_SGD_LOSSES | _SGD_CLASSES)]},
    "SGDRegressor": {**_SGD, "loss": [StrOptions(_SGD_LOSSES)]},
}  # fmt: skip


_GOOD: set[tuple] = set()  # what passed before: a check takes as long as the fit of a small table
_MOST = 1000


def check(estimator: Any) -> None:
    """Raises scikit-learn's InvalidParameterError, which is a ValueError, for a value that a parameter may not have."""
    names = [kind.__name__ for kind in type(estimator).__mro__]  # a subclass has the limits of its base
    limits = {**_ALL, **next((_OWN[name] for name in names if name in _OWN), {})}
    values = {name: value for name, value in estimator.get_params(deep=False).items() if name in limits}
    limits = {name: limit for name, limit in limits.items() if name in values and limit != ["no_validation"]}
    values = {name: values[name] for name in limits}
    key = (type(estimator), *((name, type(value), repr(value)) for name, value in values.items()))
    if key not in _GOOD:
        validate_parameter_constraints(limits, values, type(estimator).__name__)
        if len(_GOOD) >= _MOST:
            _GOOD.clear()
        _GOOD.add(key)
