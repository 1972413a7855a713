"""Deviances of all powers and links against scikit-learn's estimators, and what ends a fit."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_tweedie_deviance


def rows(count=300, columns=4):
    rng = np.random.default_rng(2)
    X = rng.uniform(0.1, 1.0, size=(count, columns))
    mean = np.exp(X @ rng.uniform(0.1, 0.6, size=columns))
    return X, mean * rng.gamma(5.0, 0.2, size=count), rng.integers(0, 3, count).astype(float)


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 1.5, 2.0, 3.0, 4.5])
@pytest.mark.parametrize("link", ["auto", "log", "identity"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_powers_and_links_are_scikit_learns(power, link, fit_intercept):
    X, y, weight = rows()
    how = {"power": power, "link": link, "alpha": 0.01, "fit_intercept": fit_intercept}
    found = parley.TweedieRegressor(**how, tol=1e-10).fit(X, y, sample_weight=weight)
    if not fit_intercept and power != 0 and (link == "identity" or (link == "auto" and power < 0)):

        def objective(w):  # scikit-learn's estimator begins at means of 0, from which it does not get away
            return mean_tweedie_deviance(y, X @ w, sample_weight=weight, power=power) / 2 + 0.005 * w @ w

        steps = 1e-3 * np.random.default_rng(0).normal(size=(50, 4))
        assert all(objective(found.coef_ + step) > objective(found.coef_) for step in steps)
        return
    wanted = linear_model.TweedieRegressor(**how, tol=1e-9, max_iter=10000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-5)
    assert found.score(X, y, weight) == pytest.approx(wanted.score(X, y, weight), abs=1e-6)


def test_sparse_and_wide_tables_of_losses_that_the_core_lacks():
    X, y, _ = rows()
    dense = parley.TweedieRegressor(power=3, alpha=0.1, tol=1e-9).fit(X, y)
    sparse = parley.TweedieRegressor(power=3, alpha=0.1, tol=1e-9).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    wide = np.hstack([X, np.zeros((len(y), 1100))])
    model = parley.TweedieRegressor(power=3, alpha=0.1, tol=1e-8).fit(wide, y)
    np.testing.assert_allclose(model.coef_[:4], dense.coef_, rtol=1e-4)
    assert not model.coef_[4:].any()


def test_coefficients_of_small_tables_have_the_digits_of_float64():
    X, y, weight = rows(100)
    for name in ("PoissonRegressor", "GammaRegressor"):
        found = getattr(parley, name)(alpha=0.5, tol=1e-6).fit(X, y, sample_weight=weight)
        how = {"alpha": 0.5, "tol": 1e-13, "solver": "newton-cholesky"}
        wanted = getattr(linear_model, name)(**how).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-10)
        assert found.intercept_ == pytest.approx(wanted.intercept_, rel=1e-10)
        assert 0 <= found.gap_ < 1e-5


def test_dependent_columns_without_a_penalty_have_the_least_norm():
    X, y, _ = rows(100)
    one = parley.PoissonRegressor(alpha=0, tol=1e-8).fit(X, y)
    two = parley.PoissonRegressor(alpha=0, tol=1e-8).fit(np.hstack([X, X]), y)
    np.testing.assert_allclose(two.coef_, np.tile(one.coef_ / 2, 2), rtol=1e-8)


def test_what_cannot_be_is_told():
    X, y, _ = rows(50)
    with pytest.raises(ValueError, match="it must be 0 or less, or 1 or more"):
        parley.TweedieRegressor(power=0.5).fit(X, y)
    with pytest.raises(ValueError, match="out of the valid range of the loss"):
        parley.TweedieRegressor(power=3).fit(X, y - y.min())
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        assert parley.TweedieRegressor(power=3, max_iter=1).fit(X, y).n_iter_ == 1
    model = parley.TweedieRegressor(power=3, warm_start=True, tol=1e-8).fit(X, y)
    assert model.n_iter_ > 1 and model.fit(X, y).n_iter_ == 1
    with pytest.raises(ValueError, match="is no model of the core"):
        model._model()


def test_offsets_of_losses_that_the_core_lacks():
    sm = pytest.importorskip("statsmodels.api")
    X, y, _ = rows()
    offset = np.random.default_rng(1).normal(size=len(y)) / 4
    family = sm.families.InverseGaussian(link=sm.families.links.Log())
    wanted = sm.GLM(y, sm.add_constant(X), family=family, offset=offset).fit(tol=1e-14, maxiter=200).params
    model = parley.TweedieRegressor(power=3, alpha=0, tol=1e-12).fit(X, y, offset=offset)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="each row needs one"):
        model.predict(X)


@pytest.mark.parametrize("power", [0, 1.5, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, np.float32])
def test_columns_of_years_and_of_any_unit_need_no_scaling(power, kind):
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(1995, 2020, 300), rng.normal(size=300)]
    y = np.exp(0.05 * (X[:, 0] - 2007) + 0.3 * X[:, 1]) * rng.gamma(5.0, 0.2, 300)
    how = {"power": power, "alpha": 0, "link": "log", "tol": 1e-9}
    found = parley.TweedieRegressor(**how).fit(kind(X), y)
    near = X - [2007, 0]
    wanted = linear_model.TweedieRegressor(**how, max_iter=10000).fit(near, y)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-4)
    assert found.score(kind(X), y) == pytest.approx(wanted.score(near, y), abs=1e-6)
    assert power != 3 or found.score(kind(X), y) == pytest.approx(0.510, abs=5e-4)
    if kind is np.asarray:
        units = parley.TweedieRegressor(**how).fit(X * [1, 1e7], y)
        np.testing.assert_allclose(units.coef_ * [1, 1e7], wanted.coef_, rtol=1e-4)
