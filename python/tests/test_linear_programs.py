"""Losses with kinks without an L2 penalty are linear programs. HiGHS, in scikit-learn and scipy, is the oracle."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor

CLOSE = 1e-6


def rows(n, columns, kind="normal"):
    rng = np.random.default_rng(n + columns)
    X = {
        "normal": lambda: rng.normal(size=(n, columns)),
        "uneven": lambda: rng.normal(size=(n, columns)) * 10.0 ** rng.uniform(-2, 2, columns),
        "ties": lambda: rng.integers(0, 3, (n, columns)).astype(float),
    }[kind]()
    X = X.astype(np.float32).astype(float)
    w = rng.normal(size=columns) * (rng.random(columns) < 0.5) / X.std(axis=0)
    y = X @ w + rng.standard_t(3, n) * (1 + 0.5 * np.abs(X[:, 0]) / X[:, 0].std())
    return X, np.round(y) if kind == "ties" else y


def objective(model, X, y, weight=None):
    off = y - X @ model.coef_ - model.intercept_
    pinball = np.maximum(model.quantile * off, (model.quantile - 1) * off)
    return np.average(pinball, weights=weight) + model.alpha * np.abs(model.coef_).sum()


SIZES = [(50, 1), (50, 40), (200, 10)]


@pytest.mark.parametrize("kind", ["normal", "uneven", "ties"])
@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.8])
@pytest.mark.parametrize(("n", "columns"), SIZES)
def test_quantile_regression_reaches_the_optimum(n, columns, quantile, alpha, kind):
    X, y = rows(n, columns, kind)
    mine = parley.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
    oracle = QuantileRegressor(quantile=quantile, alpha=alpha, solver="highs").fit(X, y)
    best = objective(oracle, X, y)
    assert abs(objective(mine, X, y) - best) <= CLOSE * best
    assert mine.objective_ - mine.gap_ <= best * (1 + 1e-9)  # the certificate holds


def test_quantile_regression_of_many_rows():
    X, y = rows(20000, 10)
    mine = parley.QuantileRegressor(quantile=0.95, alpha=0.001).fit(X, y)
    assert 0 <= mine.gap_ <= 1e-7 * np.abs(y).mean()
    assert abs((y < mine.predict(X)).mean() - 0.95) < 0.01


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_quantile_regression_with_weights(form, fit_intercept):
    X, y = rows(200, 5)
    weight = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    how = {"quantile": 0.3, "alpha": 0.02, "fit_intercept": fit_intercept}
    mine = parley.QuantileRegressor(**how).fit(form(X), y, weight)
    best = objective(QuantileRegressor(**how).fit(X, y, weight), X, y, weight)
    assert abs(objective(mine, X, y, weight) - best) <= CLOSE * best


def test_the_l1_penalty_leaves_the_oracles_zeros():
    X, y = rows(200, 30)
    mine = parley.QuantileRegressor(alpha=0.1).fit(X, y)
    oracle = QuantileRegressor(alpha=0.1).fit(X, y)
    assert 0 < np.count_nonzero(mine.coef_) < 30
    np.testing.assert_array_equal(mine.coef_ != 0, oracle.coef_ != 0)
    np.testing.assert_allclose(mine.coef_, oracle.coef_, atol=1e-6)


def lowest(loss, X, y, strength):
    """The optimum by scipy, in both parts of w and b, and the losses of the rows."""
    n, columns = X.shape
    one, each = np.ones((n, 1)), np.eye(n)
    if loss == "hinge":
        table = np.hstack([-y[:, None] * X, y[:, None] * X, -y[:, None], y[:, None], -each])
        limit = -np.ones(n)
    else:
        both = np.hstack([X, -X, one, -one])
        table = np.vstack([np.hstack([both, -each]), np.hstack([-both, -each])])
        limit = np.concatenate([y + 0.1, 0.1 - y])
    cost = np.concatenate([np.full(2 * columns, strength), [0.0, 0.0], np.full(n, 1 / n)])
    return linprog(cost, A_ub=table, b_ub=limit, bounds=(0, None), method="highs").fun


@pytest.mark.parametrize("strength", [0.0, 0.003, 0.1])
@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
def test_other_losses_reach_the_optimum(loss, strength):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 15)).astype(np.float32).astype(float)
    z = X[:, 0] + 0.5 * rng.normal(size=300)
    y = np.where(z > 0, 1.0, -1.0) if loss == "hinge" else z
    how = {"l1_ratio": 1.0} if strength else {}
    model = parley.train(X, y, loss=loss, lambda_=strength, gap=1e-8, **how)
    best = lowest(loss, X, y, strength)
    assert model.summary["stop"] == "converged"
    assert abs(model.summary["objective"] - best) <= CLOSE * best


def test_too_many_columns_are_refused_with_a_remedy():
    X = sp.random(50, 2100, density=0.2, format="csr", random_state=0)
    with pytest.raises(ValueError, match=r"more than 2000 columns and without an L2 penalty; use"):
        parley.train(X, np.arange(50.0), loss="quantile", l1_ratio=1.0)
