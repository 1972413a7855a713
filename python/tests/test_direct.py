"""Least squares by one decomposition: norms, shapes, types and scales that scikit-learn's own tests leave out."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from sklearn import linear_model


def rows(n, columns, targets=3):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, columns))
    return X, X[:, :3] @ rng.normal(size=(3, targets)) + rng.normal(size=(n, targets)), rng.uniform(0.2, 2, n)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "columns"), [(60, 8), (20, 50)])
def test_ridge_has_the_digits_of_the_normal_equations(n, columns, fit_intercept, form):
    X, y, weight = rows(n, columns)
    alphas = np.array([0.5, 3.0, 1e-3])
    model = parley.Ridge(alpha=alphas, fit_intercept=fit_intercept).fit(form(X), y, weight)
    shift = weight @ X / weight.sum() if fit_intercept else 0.0
    level = weight @ y / weight.sum() if fit_intercept else np.zeros(3)
    for target, alpha in enumerate(alphas):
        table = (X - shift).T * weight
        want = np.linalg.solve(table @ (X - shift) + alpha * np.eye(columns), table @ (y[:, target] - level[target]))
        np.testing.assert_allclose(model.coef_[target], want, rtol=1e-9, atol=1e-11)
    assert 0 <= model.gap_ < 1e-20 and model.solver_ == ("cholesky" if form is np.asarray else "sparse_cg")


def test_ridge_without_a_penalty_has_the_smallest_norm(recwarn):
    X, y, _ = rows(20, 50, 1)
    model = parley.Ridge(alpha=0.0, fit_intercept=False).fit(X, y[:, 0])
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y[:, 0], rtol=1e-9, atol=1e-12)
    assert model.gap_ < 1e-20 and not recwarn.list


def test_shapes_and_types_are_scikit_learns():
    X, y, _ = rows(30, 4)
    names = ("Ridge", "Lasso", "ElasticNet", "LinearRegression", "RidgeCV")
    for name in names:
        for form in (np.float32, np.float64):
            for target in (y[:, 0], y[:, :1], y):
                ours, other = (getattr(one, name)().fit(X.astype(form), target) for one in (parley, linear_model))
                assert ours.coef_.shape == other.coef_.shape and ours.coef_.dtype == other.coef_.dtype
                assert np.shape(ours.intercept_) == np.shape(other.intercept_)
                assert ours.predict(X.astype(form)).shape == other.predict(X.astype(form)).shape
                assert ours.predict(X.astype(form)).dtype == form


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_units_do_not_matter(unit):
    X, y, _ = rows(30, 4, 1)
    want = parley.Ridge(alpha=0.0).fit(X, y[:, 0]).predict(X)
    np.testing.assert_allclose(parley.Ridge(alpha=0.0).fit(X * unit, y[:, 0]).predict(X * unit), want, rtol=1e-9)


def test_rows_may_have_several_labels():
    X, _, weight = rows(60, 5)
    y = (X[:, :3] > 0).astype(int)
    for name in ("RidgeClassifier", "RidgeClassifierCV"):
        ours, other = (getattr(one, name)().fit(X, y, weight) for one in (parley, linear_model))
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-7, atol=1e-9)
        assert np.array_equal(ours.predict(X), other.predict(X)) and ours.predict(X).shape == (60, 3)
    with pytest.raises(ValueError, match="3 columns"):
        parley.RidgeClassifier().fit(X, y + np.arange(3))
    with pytest.raises(ValueError, match="several labels"):
        parley.save(ours, "nowhere.safetensors")


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.filterwarnings("ignore")
def test_without_a_penalty_they_are_least_squares(name, form):
    X, y, weight = rows(60, 8)
    want = linear_model.LinearRegression().fit(X, y[:, 0], weight)
    with pytest.warns(UserWarning, match="alpha=0"):
        model = getattr(parley, name)(alpha=0).fit(form(X), y[:, 0], weight)
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-9)
    for positive in (False, True):
        chosen = getattr(parley, f"{name}CV")(alphas=[0, 0.1], positive=positive).fit(form(X), y[:, 0], weight)
        other = getattr(linear_model, f"{name}CV")(alphas=[0, 0.1], positive=positive, tol=1e-12, max_iter=10**6)
        other.fit(X, y[:, 0], weight)
        assert chosen.alpha_ == other.alpha_
        np.testing.assert_allclose(chosen.mse_path_, other.mse_path_, rtol=1e-5)


def test_positive_grids_begin_where_a_coefficient_becomes_positive():
    X, y, _ = rows(60, 8)
    for fit_intercept in (True, False):
        ours, other = (
            kind.LassoCV(positive=True, alphas=5, fit_intercept=fit_intercept).fit(X, -y[:, 0])
            for kind in (parley, linear_model)
        )
        np.testing.assert_allclose(ours.alphas_, other.alphas_, rtol=1e-9)


def test_parameters_are_those_that_scikit_learn_takes():
    X, y, _ = rows(30, 4, 1)
    for model in (
        parley.Ridge(fit_intercept="yes"), parley.Lasso(max_iter=-1), parley.Lasso(alpha="a"),
        parley.LogisticRegression(C=-1.0), parley.RidgeCV(fit_intercept="no"), parley.ElasticNet(l1_ratio=2.0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="parameter of"):
            model.fit(X, y[:, 0] > 0)
    parley.Lasso(tol=10).fit(X, y[:, 0])
    parley.RidgeCV(alphas=[0.0, 1.0], cv=3).fit(X, y[:, 0])
    with pytest.raises(ValueError, match="positive"):
        parley.Ridge(positive=True, solver="svd").fit(X, y[:, 0])


def test_a_warm_start_may_be_given_coefficients_alone():
    X, y, _ = rows(30, 4, 1)
    model = parley.Lasso(alpha=0.1, warm_start=True, tol=1e-13)
    model.coef_ = np.ones(4)
    np.testing.assert_allclose(
        model.fit(X, y[:, 0]).coef_, parley.Lasso(alpha=0.1, tol=1e-13).fit(X, y[:, 0]).coef_, rtol=1e-6
    )
