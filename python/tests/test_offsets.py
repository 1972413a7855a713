"""Offsets against statsmodels, and what they need at predict."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from parley import (
    GammaRegressor,
    HuberRegressor,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 4)) + [0, 3, 100, 0]
    offset = np.log(random.uniform(0.1, 9.0, 500))
    return X, X @ [0.3, -0.2, 0.01, 0.1] + offset - 0.5, offset, random


def distance(model, X, y, family, offset):
    fitted = sm.GLM(y, sm.add_constant(X), family=family, offset=offset).fit(tol=1e-14, maxiter=100)
    return np.abs(np.append(model.intercept_, model.coef_) - fitted.params).max()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_models_are_those_of_statsmodels(data, kind):
    X, eta, offset, random = data
    links = sm.families.links
    counts, sizes = random.poisson(np.exp(eta)), random.gamma(2.0, np.exp(eta) / 2)
    labels = (random.random(500) < 1 / (1 + np.exp(-eta))).astype(int)
    model = PoissonRegressor(alpha=0, tol=1e-12).fit(kind(X), counts, offset=offset)
    assert distance(model, X, counts, sm.families.Poisson(), offset) < 1e-6
    model = GammaRegressor(alpha=0, tol=1e-12).fit(kind(X), sizes, offset=offset)
    assert distance(model, X, sizes, sm.families.Gamma(link=links.Log()), offset) < 1e-6
    model = TweedieRegressor(power=1.5, alpha=0, tol=1e-12).fit(kind(X), sizes, offset=offset)
    assert distance(model, X, sizes, sm.families.Tweedie(var_power=1.5), offset) < 1e-6
    model = LogisticRegression(penalty=None, tol=1e-12).fit(kind(X), labels, offset=offset)
    assert distance(model, X, labels, sm.families.Binomial(), offset) < 1e-5


def test_losses_of_the_residual_shift_the_labels(data):
    X, eta, offset, random = data
    y = eta + random.normal(size=500)
    for model in (Ridge(), HuberRegressor(), QuantileRegressor(alpha=0.01), TweedieRegressor(power=0)):
        shifted = type(model)(**model.get_params()).fit(X, y - offset)
        model.fit(X, y, offset=offset)
        np.testing.assert_array_equal(model.coef_, shifted.coef_)
        np.testing.assert_allclose(model.predict(X, offset=offset), shifted.predict(X) + offset)
    one, both = (Ridge().fit(X, target, offset=offset) for target in (y, np.column_stack([y, 2 * y])))
    np.testing.assert_allclose(both.predict(X, offset=offset)[:, 0], one.predict(X, offset=offset))


def test_an_offset_of_a_constant_moves_the_intercept(data):
    X, eta, _, random = data
    labels = np.where(eta + random.logistic(size=500) > 0, "yes", "no")
    one = LogisticRegression(tol=1e-12).fit(X, labels)
    other = LogisticRegression(tol=1e-12, warm_start=True).fit(X, labels, offset=2.0)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-6)
    np.testing.assert_allclose(other.intercept_, one.intercept_ - 2, atol=1e-5)
    np.testing.assert_allclose(other.predict_proba(X, offset=2.0), one.predict_proba(X), atol=1e-6)
    assert (other.predict(X, offset=2.0) == one.predict(X)).all()
    again = other.fit(X, labels, offset=2.0)
    assert again.n_iter_[0] <= 2
    assert LinearSVC().fit(X, labels, offset=np.zeros(500)).coef_.shape == (1, 4)


def test_predictions_need_offsets(data):
    X, eta, offset, random = data
    y = random.poisson(np.exp(eta))
    model = PoissonRegressor(alpha=0, tol=1e-10).fit(X, y, offset=offset)
    assert model.has_offset_ and model.n_features_in_ == 4 and model.coef_.shape == (4,)
    np.testing.assert_allclose(model.predict(X, offset=offset), np.exp(X @ model.coef_ + model.intercept_ + offset))
    assert model.score(X, y, offset=offset) > model.score(X, y, offset=0.0)
    with pytest.raises(ValueError, match="was fitted with offsets, so each row needs one: give offset="):
        model.predict(X)
    with pytest.raises(ValueError, match=r"offset has shape \(3,\), expected \(500,\): one offset per row"):
        model.predict(X, offset=offset[:3])
    with pytest.raises(ValueError, match="offset contains NaN"):
        model.fit(X, y, offset=np.full(500, np.nan))
    model.fit(X, y)
    with pytest.raises(ValueError, match="was fitted without offsets; leave offset out"):
        model.predict(X, offset=offset)


def test_offsets_that_cannot_be_are_refused(data):
    X, eta, offset, _ = data
    with pytest.raises(ValueError, match="not LogisticRegression with 3 classes"):
        LogisticRegression().fit(X, np.digitize(eta, [-1, 1]), offset=offset)
    with pytest.raises(ValueError, match="not RidgeClassifier with 2 classes"):
        RidgeClassifier().fit(X, eta > 0, offset=offset)
