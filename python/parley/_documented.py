"""Docstrings of estimators: the sections of parameters are made from the signatures, so that the two agree."""

from __future__ import annotations

import inspect
from textwrap import indent, wrap
from typing import Any

PARAMETERS = {
    "penalty": (
        "str or None",
        "The norm of the penalty: 'l2', 'l1', 'elasticnet' (a mixture, as `l1_ratio` says) or None.",
    ),
    "C": ("float", "Inverse strength of the penalty: smaller is stronger. ``numpy.inf`` is no penalty."),
    "alpha": ("float", "Strength of the penalty, as scikit-learn's estimator of this name scales it."),
    "l1_ratio": ("float", "The L1 share of an elastic-net penalty, from 0 (L2) to 1 (L1)."),
    "l1_ratios": ("list of float or None", "L1 shares to try; None: `penalty` says it."),
    "loss": ("str", "The loss."),
    "epsilon": ("float", "Where the loss changes its form; see scikit-learn's estimator of this name."),
    "dual": ("bool or 'auto'", "Accepted without effect: the optimum is the same in either form."),
    "tol": (
        "float",
        "The relative duality gap at which the run ends: the objective is then certified to be within this share "
        "of its value at w = 0 from the optimum.",
    ),
    "fit_intercept": ("bool", "Whether there is an intercept."),
    "intercept_scaling": ("float", "Only 1: the intercept is one more coefficient, of a column of ones."),
    "class_weight": (
        "dict, 'balanced' or None",
        "Weights of classes by label; 'balanced': every class weighs the same.",
    ),
    "multi_class": ("str", "Only 'ovr': each class against the rest."),
    "random_state": (
        "int, RandomState or None",
        "Seed of the core's random streams; None is always the same one. The same seed and number of threads give the "
        "same model, bit for bit.",
    ),
    "solver": ("str", "Accepted for the problem that it stands for; how that is solved is up to `preset`."),
    "max_iter": ("int or None", "Rounds after which the run ends in any case; None: as the core has it."),
    "verbose": ("int", "Above 0: show progress, by tqdm where it is installed."),
    "warm_start": ("bool", "Begin at the model of the last fit, where it has the same shape."),
    "n_jobs": (
        "int or None",
        "Threads. None: all cores, or ``OMP_NUM_THREADS`` where it is set, as joblib does in its workers.",
    ),
    "preset": ("str", "The method by name; 'auto' chooses by the data's shape and the loss."),
    "workers": ("int or None", "Workers among which the rows are divided; None: as the preset has it."),
    "local_steps": ("int, 'auto' or None", "Steps of a worker between two exchanges; 'auto': moved while training."),
    "copy_X": ("bool", "Accepted without effect: X is never changed."),
    "positive": ("bool", "Only False."),
    "precompute": ("bool", "Accepted without effect: the core decides by the data's shape."),
    "selection": ("str", "Accepted without effect: the optimum does not depend on it."),
    "shuffle": ("bool", "Only True."),
    "learning_rate": ("str", "Only the default: `fit` goes to the optimum, at whatever rate gets there."),
    "eta0": ("float", "Only the default, as `learning_rate`."),
    "power_t": ("float", "Only the default, as `learning_rate`."),
    "early_stopping": ("bool", "End when the score on `validation_fraction` of the rows stops improving."),
    "validation_fraction": ("float", "Share of the rows held out with `early_stopping`."),
    "n_iter_no_change": ("int", "Evaluations without improvement after which `early_stopping` ends the run."),
    "average": ("bool", "Only False."),
    "eps": ("float", "The least alpha of a path over the largest."),
    "alphas": ("int or array-like", "How many alphas, or which."),
    "n_alphas": ("int or None", "How many alphas, in older releases' word."),
    "Cs": ("int or list of float", "How many C, evenly in the logarithm from 1e-4 to 1e4, or which."),
    "cv": ("int, splitter or None", "Folds, as scikit-learn's ``check_cv`` takes them; None: 5."),
    "scoring": ("str, callable or None", "The score; None: accuracy."),
    "refit": ("bool", "Fit again on all rows with the best; else coefficients are the mean of the folds'."),
}

ATTRIBUTES = {
    "coef_": ("ndarray of shape {coef}", "Coefficients."),
    "intercept_": ("{intercept}", "The intercept; 0 without one."),
    "classes_": ("ndarray of shape (n_classes,)", "Labels of the classes, rising."),
    "n_iter_": ("int", "Rounds of the run."),
    "gap_": ("float", "The duality gap: the optimum is at least ``objective_ - gap_``; NaN without a penalty."),
    "objective_": ("float", "Mean loss plus penalty, in the core's scale."),
    "run_": ("ndarray", "The log, a row for each round: round, epochs, seconds, objective, dual, gap, relative_gap."),
    "n_features_in_": ("int", "Number of features in `fit`."),
    "feature_names_in_": (
        "ndarray of shape (n_features_in_,)",
        "Names of features, where X has names that are strings.",
    ),
}


def _entry(name: str, kind: str, text: str) -> str:
    return f"{name} : {kind}\n" + indent("\n".join(wrap(text, 112)), "    ")


def documented(cls: Any) -> Any:
    """Fills ``{parameters}`` and ``{attributes}`` of a class's docstring. The class's `_texts` go before the tables."""
    own = getattr(cls, "_texts", {})
    parameters, attributes = [], []
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        kind, text = PARAMETERS[parameter.name]
        parameters.append(
            _entry(parameter.name, f"{kind}, default={parameter.default!r}", own.get(parameter.name, text))
        )
    classifier = hasattr(cls, "decision_function")
    shapes = {"coef": "(1 or n_classes, n_features)", "intercept": "ndarray of shape (1 or n_classes,)"}
    if not classifier:
        shapes = {"coef": "(n_features,)", "intercept": "float"}
    for name, (kind, text) in {**ATTRIBUTES, **{k: v for k, v in own.items() if k.endswith("_")}}.items():
        if name != "classes_" or classifier:
            attributes.append(_entry(name, kind.format(**shapes), text))
    doc = inspect.cleandoc(cls.__doc__)
    doc = doc.replace("{parameters}", "Parameters\n----------\n" + "\n".join(parameters))
    cls.__doc__ = doc.replace("{attributes}", "Attributes\n----------\n" + "\n".join(attributes))
    return cls
