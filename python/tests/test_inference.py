"""Standard errors of models, against the textbook's formulas."""

import numpy as np
import parley
import pytest
from scipy import stats


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32).astype(float)
    return X, X @ [1.0, 0.0, -0.5] + 2.0 + rng.normal(size=200)


def test_least_squares_have_students_t(table):
    X, y = table
    found = parley.train(X, y, loss="squared", lambda_=0.0, inference=True).inference
    ones = np.column_stack([np.ones(200), X])
    inverse = np.linalg.inv(ones.T @ ones)
    coef = inverse @ ones.T @ y
    noise = np.sum((y - ones @ coef) ** 2) / 196
    error = np.sqrt(noise * np.diag(inverse))
    assert found["name"].tolist() == ["(intercept)", "1", "2", "3"]
    np.testing.assert_allclose(found["coefficient"], coef, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found["std_error"], error, rtol=1e-5)
    np.testing.assert_allclose(found["statistic"], coef / error, rtol=1e-4)
    np.testing.assert_allclose(found["p"], 2 * stats.t.sf(np.abs(coef / error), 196), rtol=1e-3, atol=1e-12)
    reach = stats.t.ppf(0.975, 196) * error
    np.testing.assert_allclose(found["high_95"] - found["low_95"], 2 * reach, rtol=1e-5)


def test_logistic_regression_has_z(table, tmp_path):
    X, y = table
    model = parley.train(X, y > 2.0, loss="logistic", lambda_=0.0, intercept="none", inference=True)
    model.save(tmp_path / "model.safetensors")
    found = parley.load(tmp_path / "model.safetensors").inference
    p = 1 / (1 + np.exp(-X @ model.coef[0]))
    error = np.sqrt(np.diag(np.linalg.inv((X * (p * (1 - p))[:, None]).T @ X)))
    assert found["name"].tolist() == ["1", "2", "3"]
    np.testing.assert_allclose(found["std_error"], error, rtol=1e-5)
    np.testing.assert_allclose(found["p"], 2 * stats.norm.sf(np.abs(model.coef[0] / error)), rtol=1e-3, atol=1e-12)


def test_other_models_say_how_to_get_them(table):
    with pytest.raises(ValueError, match="has no standard errors; train it with"):
        parley.train(*table, loss="squared").inference  # noqa: B018
