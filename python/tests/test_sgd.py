"""SGDClassifier and SGDRegressor against scikit-learn's: for the same seed the rows come in the same order, so that the
models agree to rounding."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

CLASSIFICATIONS = ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"]
REGRESSIONS = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
RATES = {"learning_rate": "invscaling", "eta0": 0.01}  # the first steps of 'optimal' multiply rounding errors


def table(kind="dense", dtype=float):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 7))
    value = X @ rng.normal(size=7) + 0.5 * rng.normal(size=120)
    if kind == "sparse":
        X = sp.csr_matrix(X * (rng.random(X.shape) < 0.4))
    return X.astype(dtype), value, np.digitize(value, [-1.0, 1.0]), rng.integers(0, 3, 120).astype(float)


def both(name, X, y, weight=None, **how):
    found, wanted = (getattr(kind, name)(random_state=3, **how) for kind in (parley, linear_model))
    found.fit(X, y, sample_weight=weight)
    wanted.fit(X, y, sample_weight=weight)
    return found, wanted


def agree(found, wanted, rtol=1e-9):
    assert found.coef_.shape == wanted.coef_.shape and found.intercept_.shape == wanted.intercept_.shape
    assert found.coef_.dtype == wanted.coef_.dtype
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.intercept_, wanted.intercept_, rtol=rtol, atol=rtol)
    assert (found.n_iter_, found.t_) == (wanted.n_iter_, wanted.t_)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
@pytest.mark.parametrize("loss", CLASSIFICATIONS + REGRESSIONS)
def test_classifiers_are_scikit_learns(loss, penalty, kind):
    X, _, y, weight = table(kind)
    how = {"loss": loss, "penalty": penalty, "alpha": 0.01, "max_iter": 4, "tol": None, **RATES}
    agree(*both("SGDClassifier", X, y == 1, weight, class_weight={True: 3.0, False: 0.5}, **how))
    agree(*both("SGDClassifier", X, y, class_weight="balanced", **how))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", REGRESSIONS)
def test_regressors_are_scikit_learns(loss, kind):
    X, y, _, weight = table(kind)
    for penalty in ("l2", "l1", "elasticnet", None):
        agree(*both("SGDRegressor", X, y, weight, loss=loss, penalty=penalty, max_iter=4, tol=None, epsilon=0.3))


@pytest.mark.parametrize(
    "how",
    [
        {"learning_rate": "constant"}, {"learning_rate": "adaptive", "max_iter": 60}, {"average": True},
        {"average": 200}, {"shuffle": False}, {"fit_intercept": False}, {"tol": None, "max_iter": 7},
        {"loss": "epsilon_insensitive", "learning_rate": "pa1"}, {"n_iter_no_change": 2}, {"eta0": 0.1},
        {"loss": "epsilon_insensitive", "learning_rate": "pa2", "eta0": 0.5}, {"early_stopping": True},
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rates_means_and_ends_are_scikit_learns(how):
    X, y, classes, _ = table()
    agree(*both("SGDRegressor", X, y, **how))
    if "loss" in how:
        how = {**how, "loss": "hinge"}
    if "early_stopping" not in how:  # there scikit-learn's score of classes leaves out the scale of the model
        agree(*both("SGDClassifier", X, classes, **{"learning_rate": "invscaling", **how}))


def test_the_default_descent_ends_where_scikit_learns_does():
    X, y = make_classification(2000, 10, random_state=0)
    found, wanted = both("SGDClassifier", X, y)
    agree(found, wanted)
    assert found.n_iter_ < 100 and len(found.run_) == found.n_iter_ and np.isnan(found.gap_)
    assert (both("SGDClassifier", X, y, penalty="l1", alpha=0.02)[0].coef_ == 0).sum() >= 5
    other = parley.SGDClassifier(random_state=4).fit(X, y)
    assert not np.array_equal(other.coef_, found.coef_)
    assert np.array_equal(parley.SGDClassifier(random_state=3).fit(X, y).coef_, found.coef_)


def test_float32_stays_float32():
    X, y, _, _ = table(dtype=np.float32)
    agree(*both("SGDRegressor", X, y, max_iter=5, tol=None), rtol=2e-5)


def test_fit_partial_fit_and_starts_go_on():
    X, _, y, weight = table()
    for kind in (parley, linear_model):  # without an intercept, of which scikit-learn goes on with an older value
        model = kind.SGDClassifier(random_state=3, average=10, fit_intercept=False, **RATES)
        model.fit(X, y > 0, sample_weight=weight)
        first, steps = model.coef_.copy(), model.t_
        model.partial_fit(X[:50], y[:50] > 0)
        assert model.t_ == steps + 50 and not np.array_equal(first, model.coef_)
        if kind is parley:
            found = model
    agree(found, model)
    start = {"coef_init": np.ones((3, 7)), "intercept_init": [1.0, 2.0, 3.0]}
    models = [kind.SGDClassifier(random_state=3, warm_start=True, **RATES) for kind in (parley, linear_model)]
    for _ in range(2):
        agree(*(model.fit(X, y, **start) for model in models))
        start = {}
    with pytest.raises(ValueError, match="Provided coef_init does not match dataset"):
        models[0].fit(X, y, coef_init=np.ones(3))


def test_a_class_of_weight_0_and_one_absent_from_a_batch():
    X, _, y, _ = table()
    agree(*both("SGDClassifier", X, y, class_weight={0: 0.0, 1: 1.0, 2: 2.0}, **RATES))
    model = parley.SGDClassifier(loss="modified_huber").partial_fit(X[y > 0], y[y > 0], classes=[0, 1, 2])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_endings_are_told():
    X, y, classes, _ = table()
    with pytest.warns(ConvergenceWarning, match="increasing max_iter"):
        assert parley.SGDRegressor(max_iter=2).fit(X, y).n_iter_ == 2
    with pytest.raises(ValueError, match="Floating-point under-/overflow occurred at epoch"):
        parley.SGDRegressor(eta0=1e3).fit(1e300 * X, y)
    for how, word in (
        ({"learning_rate": "pa1", "loss": "log_loss"}, "only works with loss 'hinge'"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            parley.SGDClassifier(**how).fit(X, classes)
    with pytest.raises(ValueError, match="preset='sgd'"):
        parley.SGDRegressor(preset="auto").fit(X, y, coef_init=np.zeros(7))


def test_the_optimum_by_another_preset_and_of_a_few_rows():
    X, _, y, _ = table()
    best = parley.SGDClassifier(alpha=0.05, preset="auto", tol=1e-9).fit(X, y > 1)
    assert 0 <= best.gap_ < 1e-8
    mean = parley.SGDClassifier(alpha=0.05, average=True, max_iter=3000, tol=None).fit(X, y > 1)
    np.testing.assert_allclose(mean.coef_, best.coef_, atol=0.01)
    few = parley.SGDClassifier(alpha=0.05).fit(X[:30], y[:30] > 1)
    steps = few.t_
    assert few.gap_ >= 0 and steps == 1 + 30 * few.n_iter_
    assert few.partial_fit(X[30:], y[30:] > 1).t_ == steps + 90
