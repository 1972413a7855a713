"""Coefficients agree with those of scikit-learn's estimators of the same names."""

import numpy as np
import parley
import pytest
import scipy.sparse as sp
from conftest import CLASSIFIERS, target
from sklearn import linear_model, svm

CASES = [
    ("Ridge", {"alpha": 3.0}), ("Ridge", {"fit_intercept": False}), ("Lasso", {"alpha": 0.05}),
    ("ElasticNet", {"alpha": 0.1}),
    ("ElasticNet", {"alpha": 0.1, "l1_ratio": 0.2, "fit_intercept": False}), ("PoissonRegressor", {"alpha": 0.1}),
    ("LinearSVC", {"C": 0.5, "dual": False}), ("LinearSVC", {"class_weight": {0: 3.0, 1: 0.5}, "dual": False}),
    ("LinearSVC", {"penalty": "l1", "dual": False}),
    ("LogisticRegression", {"C": 0.3}), ("LogisticRegression", {"class_weight": "balanced"}),
    ("HuberRegressor", {"alpha": 0.1}), ("LassoCV", {"cv": 3}), ("ElasticNetCV", {"cv": 3, "l1_ratio": [0.3, 0.7]}),
    ("LinearSVR", {"epsilon": 0.2, "C": 0.5}), ("GammaRegressor", {"alpha": 0.1}), ("TweedieRegressor", {"alpha": 0.1}),
    ("RidgeClassifier", {}), ("RidgeClassifier", {"class_weight": "balanced", "alpha": 20.0}),
    ("Lasso", {"alpha": 0.05, "positive": True}), ("ElasticNet", {"alpha": 0.1, "positive": True}),
]  # fmt: skip
TIGHT = {
    "LinearSVC": 1e-12,
    "LinearSVR": 1e-10,
    "LogisticRegression": 1e-10,
    "PoissonRegressor": 1e-10,
    "GammaRegressor": 1e-10,
    "TweedieRegressor": 1e-10,
}


def theirs(name):
    return getattr(linear_model, name, None) or getattr(svm, name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name, parameters", CASES)
@pytest.mark.filterwarnings("ignore")
def test_coefficients_agree(name, parameters, sparse, weighted, small):
    X, y = small[0], target(name, small)
    weight = {"sample_weight": np.random.default_rng(1).uniform(0.2, 3.0, len(y))} if weighted else {}
    ours = getattr(parley, name)(tol=1e-12, **parameters)
    other = theirs(name)(tol=TIGHT.get(name, 1e-12), max_iter=200000, **parameters)
    if "random_state" in other.get_params():
        other.set_params(random_state=0)  # LIBLINEAR drops a column for good with one seed in eighty
    given = sp.csr_matrix(X) if sparse else X
    ours.fit(given, y, **weight)
    other.fit(X, y, **weight)
    close = {"rtol": 1e-5, "atol": 1e-5 * np.abs(other.coef_).max()}
    np.testing.assert_allclose(ours.coef_, other.coef_, **close)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, **close)
    assert ours.coef_.shape == other.coef_.shape and np.shape(ours.intercept_) == np.shape(other.intercept_)
    np.testing.assert_allclose(ours.predict(given[:5]), other.predict(X[:5]), rtol=1e-4, atol=1e-4)
    for attribute in ("alpha_", "l1_ratio_", "scale_", "mse_path_", "alphas_"):
        if hasattr(other, attribute):
            np.testing.assert_allclose(getattr(ours, attribute), getattr(other, attribute), rtol=1e-4)
    if name in CLASSIFIERS and hasattr(other, "predict_proba"):
        np.testing.assert_allclose(ours.predict_proba(given), other.predict_proba(X), atol=1e-5)


def test_logistic_regression_takes_either_spelling_of_its_penalty(small):
    X, _, y = small
    old = parley.LogisticRegression(penalty="l1", tol=1e-10).fit(X, y)
    new = parley.LogisticRegression(l1_ratio=1.0, tol=1e-10).fit(X, y)
    assert np.array_equal(old.coef_, new.coef_)
    free = parley.LogisticRegression(penalty=None, tol=1e-10).fit(X, y)
    assert np.array_equal(free.coef_, parley.LogisticRegression(C=np.inf, tol=1e-10).fit(X, y).coef_)


def test_liblinear_stands_for_a_penalised_intercept(small):
    X, _, y = small
    ours = parley.LogisticRegression(solver="liblinear", tol=1e-13).fit(X, y > 0)
    other = linear_model.LogisticRegression(solver="liblinear", tol=1e-10, max_iter=100000).fit(X, y > 0)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, rtol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge"])
@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_sgd_finds_the_optimum_of_its_objective(loss, penalty, small):
    X, _, y = small
    alpha, ratio = 0.05, 0.15 if penalty == "elasticnet" else 0.0
    sign = np.where(y > 1, 1.0, -1.0)
    losses = {
        "hinge": lambda m: np.maximum(0, 1 - m), "log_loss": lambda m: np.logaddexp(0, -m),
        "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    }  # fmt: skip

    def objective(w, b):
        return losses[loss](sign * (X @ w + b)).mean() + alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w)

    model = parley.SGDClassifier(loss=loss, penalty=penalty, alpha=alpha, tol=1e-10, preset="auto").fit(X, y > 1)
    w, b = model.coef_[0], model.intercept_[0]
    best = objective(w, b)
    assert best == pytest.approx(model.objective_, rel=1e-6)
    rng = np.random.default_rng(0)
    for step in (1e-2, 1e-3):
        for _ in range(50):
            assert objective(w + step * rng.normal(size=w.shape), b + step * rng.normal()) > best - 1e-9


@pytest.mark.parametrize("name", ["Ridge", "Lasso", "ElasticNet"])
def test_several_columns_of_targets_are_fitted_one_by_one(name, small):
    X, value, _ = small
    y = np.column_stack([value, -value, X[:, 0]])
    ours = getattr(parley, name)(alpha=0.1, tol=1e-12).fit(X, y)
    other = theirs(name)(alpha=0.1, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=1e-5)


@pytest.mark.parametrize("name", ["Ridge", "LinearRegression"])
@pytest.mark.parametrize("free", [True, False])
def test_some_hundreds_of_correlated_columns_are_solved_from_products(name, free):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 300)).cumsum(axis=1) + 1.0
    y = X[:, :5].sum(axis=1) + rng.normal(size=700)
    ours, other = (kind(fit_intercept=free).fit(X, y) for kind in (getattr(parley, name), theirs(name)))
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=1e-8)
    assert ours._summary["preset"] == "exact"


def halves(X):
    """Stores every entry as two duplicates with half its value."""
    X = sp.csr_matrix(X)
    return sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_array, halves])
@pytest.mark.parametrize("name, parameters", [("Ridge", {"alpha": 1e-3}), ("ElasticNet", {"alpha": 0.01})])
def test_columns_far_from_zero_keep_their_digits(name, parameters, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) + [0.0, 2e6, -5e4, 0.0]
    X[X[:, 3] < 1, 3] = 0.0
    y = X @ [1.0, 2.0, -3.0, 1.0]
    other = theirs(name)(tol=1e-12, **parameters).fit(X, y)
    ours = getattr(parley, name)(tol=1e-12, warm_start=True, **parameters).fit(form(X), y)
    for _ in range(2):
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-5)
        np.testing.assert_allclose(ours.predict(form(X)), other.predict(X), atol=1e-2)
        ours.fit(form(X), y)


@pytest.mark.parametrize("power", [1, 1.2, 1.5, 1.9, 2])
def test_tweedie_agrees_for_every_power(power, small):
    X, y = small[0], np.exp(small[1] / 4)
    ours = parley.TweedieRegressor(power=power, alpha=0.1, tol=1e-12).fit(X, y)
    other = linear_model.TweedieRegressor(power=power, alpha=0.1, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.score(X, y), other.score(X, y), rtol=1e-6)


@pytest.mark.parametrize("parameters", [{}, {"fit_intercept": False}, {"alpha_per_target": True}, {"cv": 4},
                                        {"store_cv_results": True}, {"scoring": "r2"}])  # fmt: skip
@pytest.mark.parametrize("targets", [1, 2])
def test_ridge_chooses_the_same_strength(parameters, targets, small):
    X, value, _ = small
    y = value if targets == 1 else np.column_stack([value, value[::-1]])
    given = {"alphas": np.logspace(-3, 4, 12), **parameters}
    ours, other = parley.RidgeCV(**given).fit(X, y), linear_model.RidgeCV(**given).fit(X, y)
    stored = ["cv_results_"] if "store_cv_results" in given else []
    for name in ("alpha_", "best_score_", "coef_", "intercept_", *stored):
        np.testing.assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("parameters", [{}, {"class_weight": "balanced"}, {"cv": 3}])
def test_ridge_classifiers_choose_the_same_strength(parameters, small):
    X, _, classes = small
    for y in (classes, classes > 0):
        given = {"alphas": np.logspace(-3, 4, 12), **parameters}
        ours, other = parley.RidgeClassifierCV(**given).fit(X, y), linear_model.RidgeClassifierCV(**given).fit(X, y)
        assert ours.alpha_ == other.alpha_
        np.testing.assert_allclose(np.squeeze(ours.coef_), np.squeeze(other.coef_), rtol=1e-5, atol=1e-8)


def test_every_target_may_have_its_own_strength(small):
    X, value, _ = small
    y = np.column_stack([value, value[::-1]])
    for given in (X, sp.csr_matrix(X)):
        ours = parley.Ridge(alpha=[1.0, 50.0], tol=1e-12).fit(given, y)
        other = linear_model.Ridge(alpha=[1.0, 50.0]).fit(X, y)
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-5, atol=1e-8)
    with pytest.raises(ValueError, match="do not correspond"):
        parley.Ridge(alpha=[1.0, 2.0, 3.0]).fit(X, y)


def test_positive_ridge_agrees(small):
    X, value, _ = small
    ours = parley.Ridge(positive=True, tol=1e-12).fit(X, value)
    other = linear_model.Ridge(positive=True, tol=1e-12).fit(X, value)
    assert (ours.coef_ >= 0).all()
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("columns", [3, 40, 300])
def test_gaps_of_tall_tables_are_those_of_the_definition(columns, ratio):
    """Tall tables are solved from the products of their columns; a sparse matrix of the same values is not."""
    rng = np.random.default_rng(columns)
    X = rng.standard_normal((700, columns)).cumsum(axis=1) / np.sqrt(np.arange(1, columns + 1))
    X = X.astype(np.float32).astype(float)  # the core stores the sparse matrix so
    y = X @ (rng.standard_normal(columns) * (rng.random(columns) < 0.4)) + rng.standard_normal(700)
    alpha = 0.1
    model = parley.ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=False, tol=1e-8).fit(X, y)
    w, l1, l2 = model.coef_, alpha * ratio, alpha * (1 - ratio)
    penalty = l1 * np.abs(w).sum() + l2 / 2 * w @ w
    assert model.objective_ == pytest.approx(((y - X @ w) ** 2).sum() / 1400 + penalty, rel=1e-12)
    assert model.gap_ <= 1e-8 * (y @ y) / 1400
    other = parley.ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=False, tol=1e-8).fit(sp.csr_matrix(X), y)
    assert model.objective_ - model.gap_ <= other.objective_ * (1 + 1e-9)
    assert other.objective_ - other.gap_ <= model.objective_ * (1 + 1e-9)


WITHOUT = [
    "Ridge", "Lasso", "PoissonRegressor", "HuberRegressor", "LinearRegression", "RidgeCV", "LassoCV", "LinearSVR",
    "QuantileRegressor", "LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "LogisticRegression", "SGDClassifier",
]  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT)
@pytest.mark.filterwarnings("ignore")
def test_no_intercept_is_the_0_of_scikit_learn(name, small):
    X, y = small[0], target(name, small)
    found = getattr(parley, name)(fit_intercept=False).fit(X, y)
    wanted = theirs(name)(fit_intercept=False).fit(X, y).intercept_
    assert type(found.intercept_) is type(wanted) and np.array_equal(found.intercept_, wanted)
    assert found.predict(X).shape == y.shape
    if "warm_start" in found.get_params():
        np.testing.assert_allclose(found.set_params(warm_start=True).fit(X, y).intercept_, wanted)
