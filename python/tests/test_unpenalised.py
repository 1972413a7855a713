"""LinearRegression against scikit-learn's, which solves by LAPACK and by non-negative least squares."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from sklearn import linear_model


def rows(n, columns, dependent=False):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, columns))
    X[:, 0] += 10.0
    if dependent:
        X[:, 3] = X[:, 1] - X[:, 2]
    y = np.column_stack([X @ rng.normal(size=columns) + rng.normal(size=n), rng.normal(size=n)])
    return X, y, rng.uniform(0, 2, n)


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("n", "columns"), [(100, 5), (30, 60), (90, 70)])
def test_coefficients_are_scikit_learns(n, columns, form, fit_intercept, dependent):
    X, y, weight = rows(n, columns, dependent)
    for target, weights in ((y, None), (y[:, 0], weight)):
        oracle = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(X, target, weights)
        mine = parley.LinearRegression(fit_intercept=fit_intercept).fit(form(X), target, weights)
        close = {"rtol": 0, "atol": 1e-9 * np.abs(oracle.coef_).max()}
        np.testing.assert_allclose(mine.coef_, oracle.coef_, **close)
        np.testing.assert_allclose(mine.intercept_, oracle.intercept_, rtol=1e-7)
        assert mine.rank_ == oracle.rank_
        assert 0 <= mine.gap_ <= 1e-12 * np.square(y).sum()
    assert np.shape(mine.intercept_) == ()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_positive_coefficients_are_scikit_learns(fit_intercept):
    X, y, weight = rows(100, 5)
    X[:, 0] -= 10.0
    how = {"fit_intercept": fit_intercept, "positive": True}
    oracle = linear_model.LinearRegression(**how).fit(X, y, weight)
    mine = parley.LinearRegression(**how).fit(X, y, weight)
    assert (mine.coef_ >= 0).all() and (mine.coef_ == 0).any()
    np.testing.assert_allclose(mine.coef_, oracle.coef_, atol=1e-6)


def test_the_core_solves_what_is_too_large_to_be_dense():
    X = sp.random(20000, 60, density=0.05, format="csr", random_state=0)
    y = np.asarray(X @ np.arange(60.0)).ravel() + np.random.default_rng(0).normal(size=20000)
    oracle = linear_model.LinearRegression().fit(X.toarray(), y)
    mine = parley.LinearRegression(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(mine.coef_, oracle.coef_, rtol=1e-5, atol=1e-4)
    assert not hasattr(mine, "rank_")


def test_a_file_keeps_the_model(tmp_path):
    X, y, _ = rows(50, 4)
    model = parley.LinearRegression().fit(X, y[:, 0])
    parley.save(model, tmp_path / "model.safetensors")
    np.testing.assert_allclose(parley.load(tmp_path / "model.safetensors").predict(X), model.predict(X), rtol=1e-4)
