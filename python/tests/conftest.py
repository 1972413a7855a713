"""Data shared by several tests."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices, for which its threads only wait for each other

import numpy as np
import parley
import pytest

ESTIMATORS = {
    name: getattr(parley, name) for name in parley.__all__ if hasattr(getattr(parley, name), "get_params")
}  # fmt: skip
OTHERS = ("LatentDirichletAllocation", "MLPClassifier", "MLPRegressor")
LINEAR = {name: kind for name, kind in ESTIMATORS.items() if name not in OTHERS}
CLASSIFIERS = [name for name, kind in ESTIMATORS.items() if hasattr(kind, "decision_function")]

POSITIVE = ("PoissonRegressor", "GammaRegressor")


@pytest.fixture(scope="session")
def small():
    """Rows, a target, and labels of three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    value = X @ rng.normal(size=6) + 0.3 * rng.normal(size=120)
    return X, value, np.digitize(value, [-1.0, 1.0])


def target(name, small):
    """The target that an estimator can be fitted to."""
    _, value, classes = small
    return classes if name in CLASSIFIERS else np.exp(value / 4) if name in POSITIVE else value
