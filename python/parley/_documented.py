"""Docstrings of estimators. The parameter sections are generated from the signatures, so that the two agree."""

from __future__ import annotations

import inspect
from textwrap import indent, wrap
from typing import Any

PARAMETERS = {
    "penalty": (
        "str or None",
        "The norm of the penalty: 'l2', 'l1', 'elasticnet' (a mixture given by `l1_ratio`) or None.",
    ),
    "C": ("float", "Inverse strength of the penalty: smaller values penalise more. ``numpy.inf`` means no penalty."),
    "alpha": ("float", "Strength of the penalty, scaled as in scikit-learn's estimator of this name."),
    "l1_ratio": ("float", "The L1 share of an elastic-net penalty, from 0 (L2) to 1 (L1)."),
    "l1_ratios": ("list of float or None", "L1 shares to try; None: the share follows from `penalty`."),
    "loss": ("str", "The loss."),
    "epsilon": ("float", "Threshold of the loss; see scikit-learn's estimator of this name."),
    "dual": ("bool or 'auto'", "Accepted without effect: both forms have the same optimum."),
    "tol": (
        "float",
        "The relative duality gap at which the run ends. The objective is then certified to exceed the optimum by at "
        "most this fraction of its value at w = 0.",
    ),
    "fit_intercept": ("bool", "Whether to fit an intercept."),
    "intercept_scaling": (
        "float",
        "Value of the column whose coefficient makes a penalised intercept: the larger, the less it is penalised.",
    ),
    "class_weight": (
        "dict, 'balanced' or None",
        "Weights of classes by label; 'balanced': all classes get the same total weight.",
    ),
    "multi_class": ("str", "Only 'ovr': each class against the rest."),
    "random_state": (
        "int, RandomState or None",
        "Seed of the core's random streams; None: a fixed seed. The same seed and number of threads give the same "
        "model, bit for bit.",
    ),
    "solver": ("str", "Selects only the problem to solve; `preset` selects the method."),
    "max_iter": ("int or None", "Maximum number of rounds; None: the default of the core."),
    "verbose": ("int", "Above 0: show progress, with tqdm if it is installed."),
    "warm_start": ("bool", "Start from the model of the last fit, if it has the same shape."),
    "n_jobs": (
        "int or None",
        "Number of threads. None: all cores, or ``OMP_NUM_THREADS`` if it is set, as joblib does in its workers.",
    ),
    "preset": ("str", "Name of the method; 'auto': chosen by the shape of the data and the loss."),
    "workers": ("int or None", "Number of workers that share the rows; None: the default of the preset."),
    "local_steps": ("int, 'auto' or None", "Steps of a worker between two exchanges; 'auto': adapted while training."),
    "copy_X": ("bool", "Accepted without effect: X is never changed."),
    "positive": ("bool", "Keep the coefficients at 0 or more."),
    "power": ("float", "Power of the variance."),
    "quantile": ("float", "The quantile."),
    "solver_options": ("dict or None", "Options of the solver."),
    "link": ("str", "The link between x.w + b and the prediction."),
    "gcv_mode": ("str or None", "Accepted without effect: the shape of the data decides."),
    "store_cv_results": ("bool", "Keep the leave-one-out results of all alphas in ``cv_results_``."),
    "alpha_per_target": ("bool", "Choose an alpha for each target."),
    "precompute": ("bool", "Accepted without effect: the core decides by the shape of the data."),
    "selection": ("str", "Accepted without effect: the optimum does not depend on it."),
    "shuffle": ("bool", "Whether each pass has another order of rows."),
    "learning_rate": ("str", "'constant', 'optimal', 'invscaling', 'adaptive', 'pa1' or 'pa2', as in scikit-learn."),
    "eta0": ("float", "First rate; with 'pa1' and 'pa2', the aggressiveness."),
    "power_t": ("float", "Exponent of 'invscaling'."),
    "early_stopping": ("bool", "Stop when the score on `validation_fraction` of the rows stops improving."),
    "validation_fraction": ("float", "Share of the rows held out with `early_stopping`."),
    "n_iter_no_change": ("int", "Evaluations without improvement after which `early_stopping` ends the run."),
    "average": ("bool or int", "Average the models of all steps, or of those from a number on."),
    "eps": ("float", "Ratio of the smallest to the largest alpha of a path."),
    "alphas": ("int or array-like", "Number of alphas, or a list of them."),
    "n_alphas": ("int or None", "Number of alphas, as named in older releases."),
    "Cs": ("int or list of float", "Number of values of C, spaced geometrically from 1e-4 to 1e4, or a list of them."),
    "cv": ("int, splitter or None", "Folds, as in scikit-learn's ``check_cv``; None: 5 folds."),
    "scoring": ("str, callable or None", "The score; None: accuracy."),
    "use_legacy_attributes": ("bool", "Whether attributes have the shapes of older releases."),
    "refit": ("bool", "Fit again on all rows with the best values; otherwise average the coefficients of the folds."),
}

ATTRIBUTES = {
    "coef_": ("ndarray of shape {coef}", "Coefficients."),
    "intercept_": ("{intercept}", "The intercept; 0 if there is none."),
    "classes_": ("ndarray of shape (n_classes,)", "Class labels in increasing order."),
    "n_iter_": ("int", "Rounds of the run."),
    "gap_": ("float", "The duality gap: the optimum is at least ``objective_ - gap_``; NaN without a penalty."),
    "objective_": ("float", "Mean loss plus penalty, as scaled by the core."),
    "run_": ("ndarray", "The log, one row per round: round, epochs, seconds, objective, dual, gap, relative_gap."),
    "n_features_in_": ("int", "Number of features in `fit`."),
    "feature_names_in_": (
        "ndarray of shape (n_features_in_,)",
        "Names of features, if X has names that are strings.",
    ),
}


def _entry(name: str, kind: str, text: str) -> str:
    return f"{name} : {kind}\n" + indent("\n".join(wrap(text, 112)), "    ")


def documented(cls: Any) -> Any:
    """Fills in ``{parameters}`` and ``{attributes}`` of a docstring. `_texts` of the class override the tables."""
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
